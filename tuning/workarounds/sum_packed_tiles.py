# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-sum-packed-tiles`: products of packed matrices are summed over all of their tiles.

A `linalg.mmt4d` multiplies tiles: its loops are those over the rows and columns of tiles, over the
summed tiles, and over the rows, columns and summed elements in a tile. Where no matrix instruction
multiplies them, as f32 on RDNA and on CUDA, IREE 3.13 configures it as if the last three loops but
one were rows, columns and summed elements:

    thread = [1, 1, 1, 16, 0, 0], workgroup = [1, 1, 0, 0, 1, 1], reduction = [0, 0, 0, 0, 0, 1]

The third number gives each thread one of the summed tiles. Threads are for what can be computed in
any order: no loop goes over the others, and the output is the product of a single tile. The last
number shares summed elements out among workgroups alike.

This pass gives a workgroup a tile of the output, of which each thread has neighbours in a row, and
goes over the summed loops in steps.

Runs on the configured function, before its pipeline.

This works around IREE 3.13 (`docs/for_iree.md#products-of-packed-matrices`).
"""

from __future__ import annotations

from math import gcd
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.lowering_config import (
    CONFIG,
    REDUCTION,
    THREAD,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    numbers_attribute,
    roots_in,
)
from ...passes.base import FunctionPass, PassContext

_PACKED = {"linalg.mmt4d": 0, "linalg.batch_mmt4d": 1}
"""The products of packed matrices, and how many loops over batches each has."""
_SUMMED = (2, 5)
"""The summed loops, counted behind those over batches."""
_NEIGHBOURS = 4
"""The elements of a row that a lane has together, if there are as many."""
_LANES = 256
"""The lanes of a workgroup at most."""


class SumPackedTiles(FunctionPass):
    """Configures products of packed matrices whose summed loops IREE shares out."""

    name: ClassVar[str] = "bankwise-sum-packed-tiles"
    summary: ClassVar[str] = "sum products of packed matrices over all tiles, where IREE does not"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has such a product."""
        return bool(_shared_out(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the configuration of `function`.

        Raises:
            Refusal: a tile of the output has no fixed size, so that the code would be wrong.
        """
        function = function.operation
        for product in _shared_out(function):
            lanes = _configure(product)
            launch = WarpLaunch.as_row(function)
            warps = -(-lanes // launch.warp_size)
            function.attributes[TRANSLATION_INFO] = launch.with_warps(warps)
            text = "IREE would sum over one of the packed tiles alone"
            context.sink.remark(product.location, text)


def _shared_out(function: ir.Operation) -> list[ir.Operation]:
    """Returns the products whose summed loops are shared out among threads or workgroups."""
    return [
        each
        for each in roots_in(function)
        if each.name in _PACKED and any(_shares(each, name) for name in (THREAD, WORKGROUP))
    ]


def _shares(product: ir.Operation, entry: str) -> bool:
    try:
        numbers = LoweringConfig.of(product.attributes[CONFIG]).numbers(entry)
    except Refusal:
        return False
    batches = _PACKED[product.name]
    return any(numbers[batches + loop] for loop in _SUMMED if batches + loop < len(numbers))


def _configure(product: ir.Operation) -> int:
    """Gives a product its tiles; returns how many lanes have a part of a tile of the output.

    Raises:
        Refusal: such a tile has no fixed size.
    """
    context, batches = product.context, _PACKED[product.name]
    *_, rows, columns = ir.ShapedType(product.results[0].type).shape
    summed = ir.ShapedType(product.operands[0].type).shape[-1]
    if DYNAMIC in (rows, columns, summed):
        raise Refusal("its packed tiles have no fixed size")
    high, wide = _of_lane(rows, columns)
    outer = (1,) * (batches + 2)
    entries = {
        REDUCTION: (*(0 for _ in outer), 1, 0, 0, gcd(summed, _NEIGHBOURS)),
        THREAD: (*outer, 0, high, wide, 0),
        WORKGROUP: (*outer, 0, rows, columns, 0),
    }
    attributes = {name: numbers_attribute(each, context) for name, each in entries.items()}
    product.attributes[CONFIG] = LoweringConfig(attributes).attribute(context)
    return (rows // high) * (columns // wide)


def _of_lane(rows: int, columns: int) -> tuple[int, int]:
    """Returns how many rows and columns of a tile each lane has, of at most `_LANES`."""
    least = gcd(columns, _NEIGHBOURS)
    return next(
        (high, wide)
        for wide in _divisors(columns)
        for high in _divisors(rows)
        if wide % least == 0 and rows // high * (columns // wide) <= _LANES
    )


def _divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]
