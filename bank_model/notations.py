# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The swizzle notations of other frameworks, to and from linear swizzles.

Every notation here moves element `o` of a flat allocation to an offset whose low bits are XORed
with higher bits of `o`, so that it is a `LinearSwizzle` of some form:

=====================  ==========================================================================
CuTe Swizzle<B,M,S>    bits [M, M+B) ^= bits [M+S, M+S+B); units are those of the layout
TMA 32B, 64B, 128B     Swizzle<1,4,3>, <2,4,3>, <3,4,3> on bytes
Triton                 `vec, perPhase, maxPhase` on rows of the innermost dimension
Wave                   `elements_per_thread` on rows, with 8 phases
CK Tile                `KPack, MLdsLayer, RowMul` on rows of KPerBlock elements
=====================  ==========================================================================

Each class has `linear()`, its meaning, and `of(swizzle, ...)`, which returns a linear swizzle in
this notation or says why it is not expressible there. IREE's own attributes are in `swizzles.py`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .accesses import LdsTile
from .errors import (
    InvalidParameterError,
    make_integers,
    require_positive,
    require_power_of_two,
)
from .layouts import Layout
from .linear_swizzle import LinearSwizzle, NotExpressible
from .quick_dataclass import dataclass
from .swizzles import Swizzle

_TMA_LINE_BIT = 7
"""The lowest bit of the number of a line of 128 bytes."""
_MOST_BITS = 31
"""Of an offset; no memory that lanes share has more."""


@dataclass(frozen=True)
class CuteSwizzle:
    """CuTe / CUTLASS `Swizzle<B, M, S>`: bits [M, M+B) ^= bits [M+S, M+S+B).

    cute/swizzle.hpp; `shift` S must be at least B in size. A negative S exchanges source and
    target there, which is no unit-triangular map: not in this family.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        make_integers(self)
        if self.bits < 0:
            raise InvalidParameterError("bits", self.bits, "integers >= 0")
        if self.base < 0:
            raise InvalidParameterError("base", self.base, "integers >= 0")
        if self.shift < self.bits:
            raise InvalidParameterError("shift", self.shift, f"integers >= bits ({self.bits})")
        if self.base + self.shift + self.bits > _MOST_BITS:
            last = self.base + self.shift + self.bits
            raise InvalidParameterError("base + shift + bits", last, f"integers up to {_MOST_BITS}")

    def linear(self) -> LinearSwizzle:
        """Returns the swizzle in the units of the CuTe layout."""
        return LinearSwizzle.of(
            {self.base + self.shift + i: 1 << (self.base + i) for i in range(self.bits)}
        )

    @staticmethod
    def of(swizzle: LinearSwizzle) -> CuteSwizzle | NotExpressible:
        """Returns a linear swizzle as one CuTe `Swizzle<B,M,S>`, in the same units."""
        if not swizzle.columns:
            return CuteSwizzle(0, 0, 0)
        step = swizzle.field_step()
        if isinstance(step, NotExpressible):
            return step
        return CuteSwizzle(step.width, step.target, step.distance)


@dataclass(frozen=True)
class TmaSwizzle:
    """The swizzle mode of a TMA descriptor: CU_TENSOR_MAP_SWIZZLE_32B, _64B or _128B, on bytes.

    Chunks of 16 bytes of the span are XORed with the number of the 128-byte line (CUDA driver API,
    PTX ISA "swizzling modes"). In the mode of 128 bytes chunks may have 32 or 64 bytes
    (`_ATOM_32B`, `_ATOM_64B`), and with 32 bytes the halves of 16 bytes may change places in every
    other line (`_FLIP_8B`).
    """

    span_bytes: int
    atom_bytes: int = 16
    flips: bool = False

    def __post_init__(self) -> None:
        make_integers(self)
        if self.span_bytes not in (32, 64, 128):
            raise InvalidParameterError("span_bytes", self.span_bytes, "32, 64, 128")
        atoms = (16, 32, 64) if self.span_bytes == 128 else (16,)
        if self.atom_bytes not in atoms:
            raise InvalidParameterError("atom_bytes", self.atom_bytes, ", ".join(map(str, atoms)))
        if self.flips and self.atom_bytes != 32:
            raise InvalidParameterError(
                "flips", bool(self.flips), "False for chunks of 16 and 64 bytes"
            )

    def linear(self) -> LinearSwizzle:
        """Returns the swizzle of byte offsets."""
        target = self.atom_bytes.bit_length() - 1
        width = self.span_bytes.bit_length() - 1 - target
        source = _TMA_LINE_BIT
        moved = [(source + i, 1 << (target + i)) for i in range(width)]
        return LinearSwizzle.of([*moved, (source, 8)] if self.flips else moved)

    @staticmethod
    def of(swizzle: LinearSwizzle, element_bytes: int) -> TmaSwizzle | NotExpressible:
        """Returns a swizzle of elements of `element_bytes` (a power of two) as a TMA mode."""
        require_power_of_two("element_bytes", element_bytes)
        in_bytes = swizzle.scaled(element_bytes.bit_length() - 1)
        for span in (32, 64, 128):
            if TmaSwizzle(span).linear() == in_bytes:
                return TmaSwizzle(span)
        return NotExpressible("TMA XORs byte bits 4 .. 6 with bits 7 .. 9, or fewer of them")


@dataclass(frozen=True)
class TritonSwizzle:
    """Triton's swizzled shared encoding `vec, perPhase, maxPhase`, on rows of `row_elements`.

    The group of `vec` elements in column block c of row r goes to block
    `c ^ (r / perPhase) % maxPhase` (TritonGPUAttrDefs.td).
    """

    vec: int
    per_phase: int
    max_phase: int
    row_elements: int

    def __post_init__(self) -> None:
        make_integers(self)
        for name in ("vec", "per_phase", "max_phase", "row_elements"):
            require_power_of_two(name, getattr(self, name))
        if self.vec * self.max_phase > self.row_elements:
            raise InvalidParameterError(
                "max_phase", self.max_phase, f"powers of two up to {self.row_elements // self.vec}"
            )

    def linear(self) -> LinearSwizzle:
        """Returns the swizzle of element offsets."""
        target = self.vec.bit_length() - 1
        source = (self.row_elements * self.per_phase).bit_length() - 1
        width = self.max_phase.bit_length() - 1
        return LinearSwizzle.of({source + i: 1 << (target + i) for i in range(width)})

    def in_matrices(self, rows: int) -> LinearSwizzle:
        """Returns the swizzle where each matrix of `rows` rows, a power of two, has own phases.

        0 stands for a single matrix.
        """
        linear = self.linear()
        if not rows:
            return linear
        require_power_of_two("rows", rows)
        return LinearSwizzle.of(
            (s, t) for s, t in linear.columns if 1 << s < rows * self.row_elements
        )

    @staticmethod
    def of(swizzle: LinearSwizzle, row_elements: int) -> TritonSwizzle | NotExpressible:
        """Returns a swizzle as Triton's `vec, perPhase, maxPhase` on rows of `row_elements`."""
        require_power_of_two("row_elements", row_elements)
        row_bit = row_elements.bit_length() - 1
        if not swizzle.columns:
            return TritonSwizzle(1, 1, 1, row_elements)
        step = swizzle.field_step()
        if isinstance(step, NotExpressible):
            return step
        target, width, source = step
        if source < row_bit:
            return NotExpressible(f"offset bit {source} is no row bit of rows of {row_elements}")
        if target + width > row_bit:
            return NotExpressible(f"offset bit {target + width - 1} lies outside the row")
        return TritonSwizzle(1 << target, 1 << (source - row_bit), 1 << width, row_elements)


@dataclass(frozen=True)
class WaveSwizzle:
    """What Wave's pass `gather_to_shared_swizzling` does, on rows of `row_elements`.

    Row r, column c goes to the group `(c / elements_per_thread) ^ (r % 8)` of the same row. A
    thread moves 16 bytes, and nothing of it can be chosen (wave-lang 3.9.1, gather_to_shared.py).
    """

    MAX_PHASE: ClassVar[int] = 8

    elements_per_thread: int
    row_elements: int

    def __post_init__(self) -> None:
        make_integers(self)
        TritonSwizzle(self.elements_per_thread, 1, self.MAX_PHASE, self.row_elements)

    def linear(self) -> LinearSwizzle:
        """Returns the swizzle of element offsets."""
        return TritonSwizzle(
            self.elements_per_thread, 1, self.MAX_PHASE, self.row_elements
        ).linear()


@dataclass(frozen=True)
class CkTileSwizzle:
    """CK Tile's XOR layout of a tile with rows of `k_per_block` elements.

    `m_lds_layer` rows make one LDS row of `k_per_block * m_lds_layer / k_pack` groups. Group k0 of
    LDS row m goes to group `k0 ^ (m * row_mul) % groups` (lds_index_swapping.rst; `row_mul` is the
    factor that kernels set by hand where one step per row is too little).
    """

    k_per_block: int
    k_pack: int
    m_lds_layer: int = 1
    row_mul: int = 1

    def __post_init__(self) -> None:
        make_integers(self)
        for name in ("k_per_block", "k_pack", "m_lds_layer", "row_mul"):
            require_power_of_two(name, getattr(self, name))
        if self.k_pack > self.k_per_block * self.m_lds_layer:
            raise InvalidParameterError(
                "k_pack", self.k_pack, f"powers of two up to {self.k_per_block * self.m_lds_layer}"
            )

    def linear(self) -> LinearSwizzle:
        """Returns the swizzle of element offsets."""
        row = (self.k_per_block * self.m_lds_layer).bit_length() - 1
        target = self.k_pack.bit_length() - 1
        mul = self.row_mul.bit_length() - 1
        return LinearSwizzle.of(
            {row + i: 1 << (target + mul + i) for i in range(max(row - target - mul, 0))}
        )

    @staticmethod
    def of(swizzle: LinearSwizzle, k_per_block: int) -> CkTileSwizzle | NotExpressible:
        """Returns a swizzle as CK Tile's `KPack, MLdsLayer, RowMul` on rows of `k_per_block`."""
        require_power_of_two("k_per_block", k_per_block)
        step = swizzle.field_step()
        if isinstance(step, NotExpressible):
            return step
        for layer in range(max(swizzle.bits - k_per_block.bit_length() + 2, 1)):
            groups = (k_per_block << layer) >> step.target
            for mul in range(groups.bit_length()):
                candidate = CkTileSwizzle(k_per_block, 1 << step.target, 1 << layer, 1 << mul)
                if candidate.linear() == swizzle:
                    return candidate
        return NotExpressible(
            "CK Tile XORs all groups of a row with consecutive row bits from bit 0"
        )


def picture(
    layout: Swizzle | LinearSwizzle | Layout,
    tile: LdsTile,
    group: int = 1,
    max_rows: int | None = None,
) -> str:
    """Draws the tile as it lies in memory, one character per element, as the attribute docs do.

    Every group of `group` logical elements has its own digit (0-9, A-Z, a-z, then again from 0);
    a dot is padding. Rows are the tile's physical rows.

    `picture(XorShuffle(16, 4), LdsTile((2, 16), 8), 4)` is::

        0000 1111 2222 3333
        5555 4444 7777 6666
    """
    require_positive("group", group)
    elements = np.arange(tile.elements)
    if isinstance(layout, Swizzle | LinearSwizzle):
        offsets, pitch = layout.apply(elements), tile.row_elements
    else:
        offsets = layout.offsets(tile, elements)
        pitch = (
            layout.size_bytes(tile) * 8 // tile.element_bits // (tile.elements // tile.row_elements)
        )
    memory = np.full(max(int(offsets.max()) + 1, tile.elements // tile.row_elements * pitch), -1)
    memory[offsets] = elements // group
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    lines: list[str] = []
    for start in range(0, len(memory), pitch)[: max_rows if max_rows else None]:
        row = "".join("." if g < 0 else digits[g % 62] for g in memory[start : start + pitch])
        lines.append(" ".join(row[i : i + group] for i in range(0, len(row), group)))
    return "\n".join(lines)
