# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Segments of a block in which loads may move, because nothing in them writes memory."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from iree.compiler import ir

from ...bank_model.lds_rules import AccessKind
from ..element_moves import is_move
from ..operations import operations_of
from .lds_ops import Access, View, row_of
from .memref_types import is_memref
from .mma_operands import MMA

_PURE_DIALECTS = frozenset({"affine", "arith", "index", "math", "ub", "vector"})
_WITHOUT_MEMORY = frozenset({"arith", "index", "math", "ub"})
"""Dialects of which no operation has a region, and only `_CHOICE` may have a memref."""
_CHOICE = "arith.select"
_PURE = frozenset({MMA, "gpu.lane_id", "gpu.shuffle", "gpu.thread_id", "iree_codegen.index_hint"})


Place = tuple[int, int]
"""The number of a segment, and the place of an operation in a function."""


def store_free_segments(block: ir.Block) -> Iterator[list[ir.Operation]]:
    """Yields the operations of a block in segments without a store or a barrier.

    A load in a segment reads the same wherever in it the load stands. What is not known to leave
    memory alone ends a segment.
    """
    segment: list[ir.Operation] = []
    known: dict[str, bool | None] = {}
    for operation in operations_of(block):
        if _leaves_memory_alone(operation, operation.name, known):
            segment.append(operation)
        elif segment:
            yield segment
            segment = []
    if segment:
        yield segment


def places_in_segments(
    operations: Sequence[ir.Operation], names: Container[str]
) -> dict[ir.Operation, Place]:
    """Returns the places of the operations that have certain names, and the segments they are in.

    Args:
        operations: all of a function, in the order of its text.
        names: those of the operations.
    """
    places: dict[ir.Operation, Place] = {}
    known: dict[str, bool | None] = {}
    number, last = 0, None
    for place, operation in enumerate(operations):
        name = operation.name
        if not (known.get(name) or _leaves_memory_alone(operation, name, known)):
            # It may have regions, whose operations come next.
            number += 1
        elif name in names:
            block = operation.block
            if last is None or block != last:
                number, last = number + 1, block
            places[operation] = number, place
    return places


def _leaves_memory_alone(operation: ir.Operation, name: str, known: dict[str, bool | None]) -> bool:
    """Returns whether an operation writes no memory and ends no segment.

    Args:
        name: its name.
        known: the same of all operations with a name; None where their operands differ in it.
    """
    if name not in known:
        known[name] = _says_by_name(operation, name)
    alone = known[name]
    if alone is not None:
        return alone
    if any(is_memref(operand) for operand in operation.operands):
        return False
    return name in _PURE or name.partition(".")[0] in _PURE_DIALECTS


def leaves_memory_alone(
    operation: ir.Operation, known: dict[str, bool | None] | None = None
) -> bool:
    """Returns whether an operation writes no memory, does not wait, and has no regions.

    Args:
        known: what is known of operations by their names, which a caller keeps that asks of many.
    """
    return _leaves_memory_alone(operation, operation.name, {} if known is None else known)


def _says_by_name(operation: ir.Operation, name: str) -> bool | None:
    """Returns the same of all operations with the name of this one; None if it differs."""
    if len(operation.regions):
        return False
    row = row_of(operation)
    if isinstance(row, Access):
        return row.kind is AccessKind.READ
    return True if isinstance(row, View) or takes_no_memref(operation) else None


def takes_no_memref(operation: ir.Operation) -> bool:
    """Returns whether an operation cannot have a memref, nor a region, as its name says.

    It is False where its name does not say that.
    """
    name = operation.name
    in_dialect = name.partition(".")[0] in _WITHOUT_MEMORY and name != _CHOICE
    return in_dialect or name == MMA or is_move(operation)
