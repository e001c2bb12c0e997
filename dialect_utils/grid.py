# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What runs a function's loops: how many workgroups, where its program says that by constants, and
which loops are lanes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from iree.compiler import ir

from .dynamic_sizes import DYNAMIC
from .operations import (
    children,
    constant_value,
    has_operation,
    is_inside,
    operations_in,
    parents_of,
    symbol_of,
)

_FORALL = "scf.forall"
_WORKGROUP_ID = "hal.interface.workgroup.id"
_EXPORT = "hal.executable.export"
_MAPPED = ("workgroup_mapping", "split_reduction_mapping")
_LANES = ("gpu.thread", "lane_id")


def workgroups_of(function: ir.Operation) -> int | None:
    """Returns the workgroups of one launch of a function that codegen has tiled.

    They are the iterations of the loops that are mapped to the grid, or what the export of the
    function returns. Returns None where they depend on what is only known when the program runs.
    """
    loops = [each for each in operations_in(function, _FORALL) if _is_mapped(each, _MAPPED)]
    if loops:
        counts = [_iterations(each) for each in loops]
        known = [each for each in counts if each is not None]
        is_nest = all(is_inside(inner, outer) for outer, inner in pairwise(loops))
        return prod(known) if is_nest and len(known) == len(counts) else None
    exported = _exported_count(function)
    if exported is not None:
        return exported
    return None if has_operation(function, _WORKGROUP_ID) else 1


def is_run_by_each_lane(operation: ir.Operation) -> bool:
    """Returns whether an operation stands in a loop whose iterations are lanes."""
    return any(_is_mapped(each, _LANES) for each in parents_of(operation))


def _is_mapped(operation: ir.Operation, kinds: Sequence[str]) -> bool:
    """Returns whether an operation is an `scf.forall` that is mapped to something of some kinds."""
    if operation.name != _FORALL or "mapping" not in operation.attributes:
        return False
    return any(each in str(operation.attributes["mapping"]) for each in kinds)


def _iterations(loop: ir.Operation) -> int | None:
    names = ("staticLowerBound", "staticUpperBound", "staticStep")
    bounds = [list(ir.DenseI64ArrayAttr(loop.attributes[name])) for name in names]
    if any(DYNAMIC in each for each in bounds):
        return None
    return prod(-((low - high) // step) for low, high, step in zip(*bounds, strict=True))


def _exported_count(function: ir.Operation) -> int | None:
    """Returns what the export of a function returns, if these are constants."""
    parent = function.parent
    variant = None if parent is None else parent.operation.parent
    if variant is None:
        return None
    name = symbol_of(function)
    for export in children(variant.operation):
        if export.name != _EXPORT or symbol_of(export) != name:
            continue
        returned = operations_in(export, "hal.return")
        if len(returned) != 1:
            return None
        counts = [constant_value(each) for each in returned[0].operands]
        known = [each for each in counts if each is not None]
        return prod(known) if len(known) == len(counts) else None
    return None
