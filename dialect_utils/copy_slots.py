# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Noting on a function how many slots the copies of its loop shall rotate through.

What chooses a tile predicts its time with each number of slots (`tuning/costs/tile_cost.py`);
`bankwise-overlap-copies` makes them, later, when only the loop is left to be seen.
"""

from __future__ import annotations

from iree.compiler import ir

from .gpu_target import gpu_features_of
from .handed_attributes import SLOTS


def note_slots(function: ir.Operation, slots: int) -> None:
    """Notes how many steps' tiles the LDS shall hold."""
    kind = ir.IntegerType.get_signless(64, function.context)
    function.attributes[SLOTS] = ir.IntegerAttr.get(kind, slots)


def has_noted_slots(function: ir.Operation) -> bool:
    """Returns whether a number was noted."""
    return SLOTS in function.attributes


def loads_directly(function: ir.Operation, test_target: str | None) -> bool:
    """Returns whether copies to the LDS shall go without registers in a function.

    Layouts are then chosen once they have this form, behind the distribution of vectors.
    """
    return has_noted_slots(function) and gpu_features_of(function, test_target).direct_loads


def noted_slots(function: ir.Operation) -> int:
    """Returns the number that was noted; 1 where none was."""
    return ir.IntegerAttr(function.attributes[SLOTS]).value if has_noted_slots(function) else 1


def take_noted_slots(function: ir.Operation) -> int:
    """Returns the number that was noted, or 0; forgets it."""
    if not has_noted_slots(function):
        return 0
    slots = noted_slots(function)
    del function.attributes[SLOTS]
    return slots
