# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many workgroups a function is launched with, where its program says that by constants."""

from __future__ import annotations

from itertools import pairwise
from math import prod

from iree.compiler import ir

from .dynamic_sizes import DYNAMIC
from .operations import children, constant_value, is_inside, operations_in, symbol_of

_FORALL = "scf.forall"
_WORKGROUP_ID = "hal.interface.workgroup.id"
_EXPORT = "hal.executable.export"
_MAPPED = ("workgroup_mapping", "split_reduction_mapping")


def workgroups_of(function: ir.Operation) -> int | None:
    """Returns the workgroups of one launch of a function that codegen has tiled.

    They are the iterations of the loops that are mapped to the grid, or what the export of the
    function returns. Returns None where they depend on what is only known when the program runs.
    """
    operations = operations_in(function)
    loops = [each for each in operations if each.name == _FORALL and _is_mapped(each)]
    if loops:
        counts = [_iterations(each) for each in loops]
        known = [each for each in counts if each is not None]
        is_nest = all(is_inside(inner, outer) for outer, inner in pairwise(loops))
        return prod(known) if is_nest and len(known) == len(counts) else None
    exported = _exported_count(function)
    if exported is not None:
        return exported
    return None if any(each.name == _WORKGROUP_ID for each in operations) else 1


def _is_mapped(loop: ir.Operation) -> bool:
    mapping = str(loop.attributes["mapping"]) if "mapping" in loop.attributes else ""
    return any(each in mapping for each in _MAPPED)


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
