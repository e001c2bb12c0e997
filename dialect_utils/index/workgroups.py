# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers of the workgroups that run a function, as values of all of them.

A value that depends on the workgroup gets an axis of its own in `LaneValues`, before those of
loops, along which the workgroups lie one behind the other:

    scf.forall (%i, %j) in (2, 3)     [6] workgroups, in which %i is 0, 0, 0, 1, 1, 1

Known are the numbers of an `scf.forall` with bounds that are constants, and of ids that state an
`upper_bound`. Of the latter there may be fewer when the program runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np
from iree.compiler import ir

from ..loops import IF
from ..operations import defining_operation, reached_from, terminator
from .index_ops import forall_bounds
from .lane_values import LaneValues, Loop

WORKGROUP_DEPTH = -2
"""The depth of the axis of workgroups, which no loop has; -1 is around what no loop is around."""

_IDS = ("gpu.block_id", "hal.interface.workgroup.id")


def workgroup_numbers(values: Sequence[ir.Value]) -> dict[ir.Value, range]:
    """Returns the known numbers of workgroups that values are computed from, and all they can be.

    They are in the order in which they are found.
    """
    found = ((each, _numbers(each)) for each in reached_from(values, _computed_from))
    return {each: numbers for each, numbers in found if numbers is not None}


def _computed_from(value: ir.Value) -> list[ir.Value]:
    """Returns what a value is computed from, and chosen by; nothing for a workgroup's number."""
    if _numbers(value) is not None:
        return []
    is_argument = isinstance(value, ir.BlockArgument)
    operation = (value.owner.owner if is_argument else value.owner).operation
    ends = map(terminator, operation.regions if operation.name == IF else ())
    return [each for of in (operation, *ends) for each in of.operands]


def _numbers(value: ir.Value) -> range | None:
    """Returns what a number of the workgroup may be; None if it is not known, or no such number."""
    if isinstance(value, ir.BlockArgument):
        lower, upper, step = forall_bounds(value)
        if lower is None or upper is None or not step:
            return None
        return range(lower, upper, step)
    operation = defining_operation(value)
    if operation is None or operation.name not in _IDS or "upper_bound" not in operation.attributes:
        return None
    return range(ir.IntegerAttr(operation.attributes["upper_bound"]).value)


def workgroups(numbers: Mapping[ir.Value, range]) -> int:
    """Returns how many workgroups there are with different numbers."""
    return prod(map(len, numbers.values()))


def parts_of_workgroups(
    numbers: Mapping[ir.Value, range], size: int
) -> Iterator[dict[ir.Value, LaneValues]]:
    """Yields the numbers in at most `size` workgroups at once, of all one after the other."""
    count = workgroups(numbers)
    for first in range(0, count, size):
        part = np.arange(first, min(first + size, count), dtype=np.int64)
        axis, digits = (Loop(WORKGROUP_DEPTH, len(part)),), part
        found: dict[ir.Value, LaneValues] = {}
        for value, span in reversed([*numbers.items()]):
            digits, digit = np.divmod(digits, len(span))
            found[value] = LaneValues((span.start + digit * span.step).reshape(-1, 1, 1), axis)
        yield found
