# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls of dynamic sizes as IREE computes them: each element by a workgroup of its own.

    lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32], [0, 1, 2]],
        partial_reduction = [0, 0, 4096], subgroup_basis = [[1, 1, 32], [0, 1, 2]],
        thread = [0, 0, 4], workgroup = [1, 1, 0]}>

With one row, or few, that may be faster than a tile most of whose rows do not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, prod

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.indexing_maps import loops_of, summed_loops
from ...dialect_utils.lowering_config import CONFIG, PARTIAL, WORKGROUP, LoweringConfig
from ..costs.processors import Processor
from ..costs.row_sum_cost import RowSums
from .dynamic_matmuls import ScalarLoops

_COUNTS_AS = 1.25
"""What a time counts as beside those that are predicted of lanes' tiles, which take less where rows
are few: of 16 x 32 of f32, 1.34 to 1.5 times the time measured on an H100 is predicted with 4096 x
4096, 768 x 3072, 3072 x 768 and 1024 x 1024. In doubt IREE's kernel stays, so that no matmul
becomes slower than it."""


def row_sum_logarithms(
    root: ir.Operation, loops: ScalarLoops, sizes: Sequence[int], processor: Processor
) -> list[float]:
    """Returns the logarithms of predicted times, one for each length of the computed loop.

    They compare with those that are predicted of tiles of lanes.

    Args:
        root: a matmul whose rows, or columns, the program computes.
    """
    asked, (_, column, summed) = loops.asked, loops.tiled
    assert asked is not None
    strided = any(each[-1] != summed for each in loops_of(root)[:2])
    found: list[float] = []
    for size in sizes:
        extents = [size if loop == asked else length for loop, length in enumerate(loops.extents)]
        rows = prod(extents) // (extents[column] * extents[summed])
        sums = RowSums(rows, extents[column], extents[summed], strided)
        found.append(log(_COUNTS_AS * sums.microseconds(processor)))
    return found


def row_sum_microseconds(
    root: ir.Operation, shape: tuple[int, int, int], batch: int, processor: Processor
) -> float:
    """Returns what IREE's kernel is predicted to take, to be compared with tiles of lanes.

    Args:
        root: a matmul that `sums_rows`, with any loops.
        shape: its rows, columns and summed elements.
    """
    summed = summed_loops(root)
    strided = any(not summed.intersection(each[-1:]) for each in loops_of(root)[:2])
    sums = RowSums(batch * shape[0], shape[1], shape[2], strided)
    return _COUNTS_AS * sums.microseconds(processor)


def sums_rows(root: ir.Operation) -> bool:
    """Returns whether IREE lets a workgroup compute one element of the result of a matmul."""
    try:
        config = LoweringConfig.of(root.attributes[CONFIG])
        return PARTIAL in config.entries and {*config.numbers(WORKGROUP)} <= {0, 1}
    except Refusal:
        return False
