# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether barriers part the writes of LDS allocations from their reads.

A lane reads from a tile what other lanes have copied there: a barrier must stand between the copies
and the reads, and another one between the reads and the next copies. IREE 3.13 loses the first one
where it loads the copies of an f32 attention a step ahead, whose scores go through the LDS too.

Where one lane reads again what it has written itself, no barrier is needed. That is not known here,
and counts as an error.

Part of it works around IREE 3.13 (`docs/for_iree.md#barriers-of-copies-ahead`).
"""

from __future__ import annotations

from collections.abc import Iterator

from iree.compiler import ir

from ...bank_model.lds_rules import AccessKind
from ..diagnostics import Refusal
from ..loops import IF
from ..operations import operations_of
from .flow import roots_of
from .lds_ops import BARRIER, Access, row_of
from .memref_types import is_workgroup_memref

_FORALL, _MAPPING, _WORKGROUPS = "scf.forall", "mapping", "workgroup_mapping"
_BOTH = frozenset(AccessKind)
_OPPOSITE = {AccessKind.READ: AccessKind.WRITE, AccessKind.WRITE: AccessKind.READ}

Touched = frozenset[tuple[ir.Value, AccessKind]]
"""The allocations that were accessed since the last barrier, and how."""


def check_barriers(function: ir.Operation) -> None:
    """Makes sure that a barrier stands between each write and read of an LDS allocation.

    Raises:
        Refusal: none does, or something accesses the LDS in an unknown way.
    """
    _behind_regions(function, frozenset(), repeats=False)


def _behind_regions(operation: ir.Operation, before: Touched, *, repeats: bool) -> Touched:
    """Returns what may be touched behind an operation whose regions may run.

    Args:
        repeats: whether one may run behind another, or a region again.
    """
    behind = before
    for _ in range(2 if repeats else 1):
        entered = behind if repeats else before
        for region in operation.regions:
            for block in region.blocks:
                behind |= _behind_block(block, entered)
    return behind


def _behind_block(block: ir.Block, touched: Touched) -> Touched:
    for operation in operations_of(block):
        if operation.name == BARRIER and orders_lds(operation):
            touched = frozenset()
        elif len(operation.regions):
            touched = _behind_regions(operation, touched, repeats=not _runs_once(operation))
        for memory, kind in _accesses(operation):
            if (memory, _OPPOSITE[kind]) in touched:
                reason = f"no barrier parts this {kind.value} of the LDS from what was before"
                raise Refusal(reason, operation.location)
            touched |= {(memory, kind)}
    return touched


def _runs_once(operation: ir.Operation) -> bool:
    """Returns whether a workgroup runs the regions of an operation once at most.

    Of a loop that is mapped to the workgroups of a grid each has one iteration.
    """
    return operation.name == IF or (
        operation.name == _FORALL and _WORKGROUPS in str(operation.attributes.get(_MAPPING, ""))
    )


def _accesses(operation: ir.Operation) -> Iterator[tuple[ir.Value, AccessKind]]:
    """Yields the allocations in the LDS that an operation touches, and how.

    Raises:
        Refusal: nothing is known of the operation.
    """
    buffers = [each for each in operation.operands if is_workgroup_memref(each.type)]
    row = row_of(operation) if buffers else None
    if buffers and row is None:
        raise Refusal(f"{operation.name} accesses the LDS in an unknown way", operation.location)
    if not isinstance(row, Access):
        return
    for buffer in buffers:
        for root in roots_of(buffer):
            for kind in _BOTH if row.kind is None else (row.kind,):
                yield root, kind


def orders_lds(barrier: ir.Operation) -> bool:
    """Returns whether a barrier orders the accesses to the LDS, as one for all memory does."""
    if "address_spaces" not in barrier.attributes:
        return True
    return "workgroup" in str(barrier.attributes["address_spaces"])
