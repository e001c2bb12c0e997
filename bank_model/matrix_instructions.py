# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""AMD's matrix instructions: their shapes, and which lane holds which element.

Where an element lies follows from the shape alone (CDNA3 ISA, chapter 7; the same as AMD's matrix
instruction calculator prints). With `blocks` independent products of M x K by K x N,

* A[i, k] of block b: each lane holds E = M K blocks / 64 consecutive k; lane
  `i + M (b + blocks (k // E))`, element `k % E`. B[k, j] likewise, with j and N.
* D[i, j]: rows come in groups of H = 4 (1 for f64) that a lane holds in consecutive registers.
  R = 64 / (N L) of these groups lie beside each other, L being how many blocks do; with
  G = M / (H R), the register is `i % H + H (i // (H R) + G (b // L))` and the lane
  `j + N (b % L + L (i // H % R))`.

Worked example: v_mfma_f32_32x32x8_f16 has E = 4, so lane 37 holds A[5, 4..7]. L = 1, R = 2, G = 4:
D[9, 3] has i // 4 = 2, which is group 0 of G-row 1; it is register 1 + 4 * 1 = 5 of lane 3.

In the 16x16x128 and 32x32x64 instructions on 8-bit types a lane holds two runs of 16 consecutive k,
half of K apart (AMD, "Matrix Core Programming on CDNA3 and CDNA4"): lane `i + M p` holds A[i, k]
for k = 16 p to 16 p + 15 and for K / 2 + 16 p to K / 2 + 16 p + 15. On types of 6 and 4 bits all 32
are one run.

The shapes of gfx90a are those of AMD's "MI200" ISA; its bf16 ones are those named `_bf16_1k`, and
older ones with half of their k.
"""

from __future__ import annotations

import re

from .features import features_of
from .quick_tuple import NamedTuple

WAVE = 64
"""The lanes of a wave."""


class MatrixShape(NamedTuple):
    """The shape of a matrix instruction's blocks; `result` and `source` name the element types."""

    m: int
    n: int
    k: int
    blocks: int
    result: str
    source: str

    @property
    def row_group(self) -> int:
        """Returns how many rows of D a lane holds in consecutive registers."""
        return 1 if self.result == "f64" else 4

    @property
    def blocks_beside(self) -> int:
        """Returns how many blocks of D have rows beside each other in the lanes."""
        return max(1, WAVE * self.row_group // (self.m * self.n))

    @property
    def groups_beside(self) -> int:
        """Returns how many row groups of one block lie beside each other in the lanes."""
        return WAVE // (self.n * self.blocks_beside)


_CDNA2, _CDNA4 = (2,), (4,)
_SINCE_CDNA2, _SINCE_CDNA3 = (2, 3, 4), (3, 4)
_EIGHT_BITS = ("fp8_fp8", "fp8_bf8", "bf8_fp8", "bf8_bf8")
_Table = tuple[tuple[str, tuple[str, ...], str, tuple[int, ...]], ...]
"""Rows of a result type, source types, shapes, and CDNA generations; a shape is MxNxK and its
number of blocks."""
_DENSE: _Table = (
    ("f32", ("f32",), "32x32x1_2b 16x16x1_4b 4x4x1_16b 32x32x2 16x16x4", _SINCE_CDNA2),
    ("f32", ("f16", "bf16"), "32x32x4_2b 16x16x4_4b 4x4x4_16b 32x32x8 16x16x16", _SINCE_CDNA2),
    ("f32", ("bf16",), "32x32x2_2b 16x16x2_4b 4x4x2_16b 32x32x4 16x16x8", _CDNA2),
    ("f32", ("f16", "bf16"), "16x16x32 32x32x16", _CDNA4),
    ("i32", ("i8",), "32x32x4_2b 16x16x4_4b 4x4x4_16b 32x32x16 16x16x32", _SINCE_CDNA3),
    ("i32", ("i8",), "32x32x4_2b 16x16x4_4b 4x4x4_16b 32x32x8 16x16x16", _CDNA2),
    ("i32", ("i8",), "16x16x64 32x32x32", _CDNA4),
    ("f32", _EIGHT_BITS, "16x16x32 32x32x16", _SINCE_CDNA3),
    ("f32", ("f8f6f4",), "16x16x128 32x32x64", _CDNA4),
    ("f64", ("f64",), "16x16x4 4x4x4_4b", _SINCE_CDNA2),
)
_XF32: _Table = (("f32", ("xf32",), "32x32x4 16x16x8", (3,)),)
_SPARSE: _Table = (
    ("f32", ("f16", "bf16"), "16x16x32 32x32x16", _SINCE_CDNA3),
    ("i32", ("i8",), "16x16x64 32x32x32", _SINCE_CDNA3),
    ("f32", _EIGHT_BITS, "16x16x64 32x32x32", _SINCE_CDNA3),
    ("f32", ("f16", "bf16"), "16x16x64 32x32x32", _CDNA4),
    ("i32", ("i8",), "16x16x128 32x32x64", _CDNA4),
    ("f32", _EIGHT_BITS, "16x16x128 32x32x64", _CDNA4),
)
_SHAPE = re.compile(r"^(\d+)x(\d+)x(\d+)(?:_(\d+)b)?$")


def mfma_shapes(arch: str) -> dict[str, MatrixShape]:
    """Returns the dense matrix instructions of a chip, by mnemonic."""
    return _shapes(arch, "v_mfma", _DENSE)


def xf32_shapes(arch: str) -> dict[str, MatrixShape]:
    """Returns the dense matrix instructions of a chip that round f32 before they multiply."""
    return _shapes(arch, "v_mfma", _XF32)


def smfmac_shapes(arch: str) -> dict[str, MatrixShape]:
    """Returns the sparse matrix instructions of a chip, by mnemonic; K counts the elements of B."""
    return _shapes(arch, "v_smfmac", _SPARSE)


def _shapes(arch: str, prefix: str, table: _Table) -> dict[str, MatrixShape]:
    generation = features_of(arch).matrix_generation
    found: dict[str, MatrixShape] = {}
    for result, sources, sizes, generations in table:
        if generation not in generations:
            continue
        for size in sizes.split():
            match = _SHAPE.match(size)
            assert match is not None
            m, n, k, blocks = (int(part or 1) for part in match.groups())
            for source in sources:
                shape = MatrixShape(m, n, k, blocks, result, source)
                found[f"{prefix}_{result}_{size}_{source}"] = shape
                if source == "bf16" and prefix == "v_mfma":
                    found[f"{prefix}_{result}_{size}_bf16_1k"] = shape
    return found
