# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stretches of a block in which loads may move, because nothing in them writes memory."""

from __future__ import annotations

from collections.abc import Iterator

from iree.compiler import ir

from ...bank_model.targets import AccessKind
from ..operations import operations_of
from .lds_ops import Access, View, row_of
from .memref_types import is_memref
from .mma_operands import MMA

_PURE_DIALECTS = frozenset({"affine", "arith", "index", "math", "ub", "vector"})
_PURE = frozenset({MMA, "gpu.lane_id", "gpu.shuffle", "gpu.thread_id", "iree_codegen.index_hint"})


def stretches(block: ir.Block) -> Iterator[list[ir.Operation]]:
    """Yields the operations of a block in stretches without a store or a barrier.

    A load in a stretch reads the same wherever in it the load stands. What is not known to leave
    memory alone ends a stretch.
    """
    stretch: list[ir.Operation] = []
    for operation in operations_of(block):
        if _leaves_memory_alone(operation):
            stretch.append(operation)
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _leaves_memory_alone(operation: ir.Operation) -> bool:
    if len(operation.regions):
        return False
    row = row_of(operation)
    if isinstance(row, Access):
        return row.kind is AccessKind.READ
    if isinstance(row, View):
        return True
    if any(is_memref(operand) for operand in operation.operands):
        return False
    return operation.name in _PURE or operation.name.partition(".")[0] in _PURE_DIALECTS
