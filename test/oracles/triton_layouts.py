# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of Triton's: their texts, and the bases that Triton's own `to_linear_layout` gives.

A row of shared memory has `offset` and `gaps`, one of registers `register`, `lane` and `warp`.
Run as a script, it writes the table that CI reads.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

# The extra `oracles`.
from triton._C.libtriton import gluon_ir, ir  # pyright: ignore[reportMissingImports]
from triton.experimental.gluon.language import _layouts as gluon  # pyright: ignore
from triton.experimental.gluon.language.amd import _layouts as amd  # pyright: ignore

Row = dict[str, Any]
TABLE = Path(__file__).parents[1] / "unit" / "tiles" / "recorded" / "triton.json"


class _Triton:
    """Triton's own functions."""

    def __init__(self) -> None:
        self.context = ir.context()
        ir.load_dialects(self.context)
        self.builder = gluon_ir.GluonOpBuilder(self.context)
        self.types = {
            8: self.builder.get_int8_ty(),
            16: self.builder.get_half_ty(),
            32: self.builder.get_float_ty(),
        }

    def shared(self, layout: Any, shape: list[int], bits: int, linear: Any = None) -> Row:
        """Returns a row of shared memory; `linear` is the layout without gaps, if it has any."""
        attribute = layout._to_ir(self.builder)
        kind = self.builder.get_shared_mem_desc_ty(self.types[bits], shape, attribute, shape)
        text = str(kind)
        found = self.builder.to_linear_layout((linear or layout)._to_ir(self.builder), shape)
        return {
            "text": text[text.index("#") : text.index(", #ttg.shared_memory")],
            "gluon": repr(layout),
            "shape": shape,
            "bits": bits,
            "offset": [list(basis) for basis in found.offset_bases],
            "gaps": [list(gap) for gap in getattr(layout, "interval_padding_pairs", [])],
        }

    def lanes(self, layout: Any, shape: list[int], bits: int) -> Row:
        """Returns a row of registers."""
        attribute = layout._to_ir(self.builder)
        text = str(self.builder.get_distributed_ty(self.types[bits], shape, attribute))
        found = self.builder.to_linear_layout(attribute, shape)
        bases = {"register": found.reg_bases, "lane": found.lane_bases, "warp": found.warp_bases}
        return {
            "text": text[text.index("#") : -1],
            "gluon": repr(layout),
            "shape": shape,
            "bits": bits,
            **{name: [list(basis) for basis in each] for name, each in bases.items()},
        }


def rows() -> list[Row]:
    """Returns the rows of all layouts."""
    triton = _Triton()
    return [*_shared(triton), *_lanes(triton)]


def _shared(triton: _Triton) -> Iterator[Row]:
    for vec, per_phase, max_phase, order, shape, bits in (
        (8, 1, 8, [1, 0], [64, 64], 16),
        (8, 2, 4, [1, 0], [128, 32], 16),
        (8, 1, 8, [0, 1], [64, 128], 16),
        (16, 1, 8, [1, 0], [64, 128], 8),
        (4, 2, 8, [1, 0], [32, 64], 32),
        (1, 1, 1, [1, 0], [64, 64], 16),
        (8, 1, 8, [2, 1, 0], [2, 32, 64], 16),
        (8, 1, 8, [1, 2, 0], [2, 64, 32], 16),
        (16, 1, 16, [1, 0], [64, 64], 16),
    ):
        layout = gluon.SwizzledSharedLayout(vec, per_phase, max_phase, order)
        yield triton.shared(layout, shape, bits)
    for span, bits, transposed, shape in product(
        (0, 32, 64, 128), (8, 16, 32), (False, True), ([64, 128], [512, 64], [16, 256])
    ):
        outer, inner = reversed(shape) if transposed else shape
        if not span or (span * 8 // bits <= inner and outer >= 8):
            layout = gluon.NVMMASharedLayout(span, bits, transposed=transposed)
            yield triton.shared(layout, shape, bits)
    for span, shape, transposed in (
        (128, [4, 64, 128], False),
        (128, [16, 4, 64], False),
        (64, [8, 2, 32], False),
        (128, [64, 2, 64], True),
        (128, [128, 8, 32], True),
    ):
        layout = gluon.NVMMASharedLayout(span, 16, rank=3, transposed=transposed)
        yield triton.shared(layout, shape, 16)
    for shape in ([64, 64], [32, 256]):
        yield triton.shared(gluon.NVMMASharedLayout(128, 8, fp4_padded=True), shape, 8)
    yield from _padded(triton)


def _padded(triton: _Triton) -> Iterator[Row]:
    for gaps, shape, order in (
        ([[512, 8]], [128, 64], [1, 0]),
        ([[128, 8]], [128, 64], [1, 0]),
        ([[64, 4], [256, 16]], [64, 64], [1, 0]),
        ([[32, 8]], [64, 32], [0, 1]),
    ):
        layout = gluon.PaddedSharedLayout.with_identity_for(gaps, shape, order)
        linear = gluon.SharedLinearLayout(layout.offset_bases)
        yield triton.shared(layout, shape, 16, linear)
    source = random.Random(5)
    for number in range(6):
        low = [[0, 1 << bit] for bit in range(3)]
        high = [[0, 1 << bit] for bit in range(3, 6)] + [[1 << bit, 0] for bit in range(6)]
        source.shuffle(high)
        gaps = [[512, 8]] if number % 2 else [[256, 8], [1024, 32]]
        layout = gluon.PaddedSharedLayout(gaps, low + high, [], [64, 64])
        yield triton.shared(layout, [64, 64], 16, gluon.SharedLinearLayout(low + high))
        mixed = [list(basis) for basis in low + high]
        for place, basis in enumerate(mixed):
            for other in mixed[:place]:
                if source.random() < 0.25:
                    basis[:] = [basis[0] ^ other[0], basis[1] ^ other[1]]
        yield triton.shared(gluon.SharedLinearLayout(mixed), [64, 64], 16)


def _lanes(triton: _Triton) -> Iterator[Row]:
    for size, threads, warps, order, shape in (
        ([1, 8], [8, 8], [4, 1], [1, 0], [128, 64]),
        ([1, 4], [4, 16], [2, 2], [1, 0], [64, 128]),
        ([4, 1], [16, 4], [1, 4], [0, 1], [128, 64]),
        ([1, 8], [16, 4], [8, 1], [1, 0], [64, 64]),
        ([1, 8], [8, 8], [4, 1], [1, 0], [16, 32]),
        ([1, 8], [4, 8], [4, 1], [1, 0], [64, 64]),
        ([1, 1, 4], [1, 2, 16], [2, 2, 1], [2, 1, 0], [4, 16, 64]),
    ):
        yield triton.lanes(gluon.BlockedLayout(size, threads, warps, order), shape, 16)
    for version, instruction, transposed, warps, tiles in (
        (3, [32, 32, 8], True, [2, 2], None),
        (3, [16, 16, 16], False, [4, 1], None),
        (4, [16, 16, 32], True, [2, 2], [2, 2]),
        (4, [32, 32, 16], False, [2, 2], [2, 1]),
    ):
        mfma = amd.AMDMFMALayout(version, instruction, transposed, warps, tiles_per_warp=tiles)
        yield triton.lanes(mfma, [128, 128], 32)
        for operand, width in product((0, 1), (4, 8)):
            layout = gluon.DotOperandLayout(operand, mfma, width)
            yield triton.lanes(layout, [128, 64] if operand == 0 else [64, 128], 16)
    for warps in ([2, 2], [4, 1], [1, 4]):
        mma = gluon.NVMMADistributedLayout([2, 0], warps, [16, 8])
        yield triton.lanes(mma, [64, 64], 32)
        for operand, width in product((0, 1), (1, 2, 4)):
            layout = gluon.DotOperandLayout(operand, mma, width)
            yield triton.lanes(layout, [128, 32] if operand == 0 else [32, 128], 32 // width)
    hopper = gluon.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16])
    yield triton.lanes(hopper, [128, 128], 32)
    yield triton.lanes(gluon.DotOperandLayout(0, hopper, 2), [64, 64], 16)
    blocked = gluon.BlockedLayout([1, 4], [8, 8], [4, 1], [1, 0])
    yield triton.lanes(gluon.DotOperandLayout(0, blocked, 0), [64, 32], 32)
    yield triton.lanes(gluon.DotOperandLayout(1, blocked, 0), [32, 64], 32)
    yield triton.lanes(gluon.SliceLayout(1, blocked), [64], 32)
    yield triton.lanes(gluon.SliceLayout(0, blocked), [64], 32)
    lanes = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0]]
    linear = gluon.DistributedLinearLayout(
        [[0, 1], [0, 2]], lanes, [[16, 0], [0, 16]], [], [32, 32]
    )
    yield triton.lanes(linear, [32, 32], 16)


def main() -> None:
    """Writes the table, a row a line."""
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows())
    TABLE.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    sys.exit(main())
