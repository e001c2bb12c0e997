# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notes on functions and allocations about operands that descriptors give.

What chooses a tile predicts its time with `wgmma` (`tuning/costs/tile_cost.py`), and knows of which
operations such times were measured. It notes so on the function; the passes that form `wgmma` leave
others alone.

Allocations have notes for the report, which counts the accesses to them before `wgmma` takes the
place of `ldmatrix`: the number of a tile that is arranged, and whether an allocation holds factors
that are stored for descriptors alone.
"""

from __future__ import annotations

from iree.compiler import ir

from .handed_attributes import ARRANGED, DESCRIBED_TILE, HELD_WORKGROUPS, STORED_FACTORS
from .memory.flow import lds_allocations


def note_described_tile(function: ir.Operation) -> None:
    """Notes that the tile of `function` was chosen for operands that descriptors give."""
    function.attributes[DESCRIBED_TILE] = ir.UnitAttr.get(function.context)


def has_described_tile(function: ir.Operation) -> bool:
    """Returns whether `note_described_tile` has marked `function`."""
    return DESCRIBED_TILE in function.attributes


def forget_described_tile(function: ir.Operation) -> None:
    """Removes the note, if there is one."""
    if has_described_tile(function):
        del function.attributes[DESCRIBED_TILE]


def note_held_workgroups(function: ir.Operation, most: int) -> None:
    """Notes how many workgroups of `function` a multiprocessor is to hold at most."""
    kind = ir.IntegerType.get_signless(64, function.context)
    function.attributes[HELD_WORKGROUPS] = ir.IntegerAttr.get(kind, most)


def has_held_workgroups(function: ir.Operation) -> bool:
    """Returns whether a number was noted."""
    return HELD_WORKGROUPS in function.attributes


def take_held_workgroups(function: ir.Operation) -> int | None:
    """Returns the number that was noted, and forgets it; None where there is none."""
    if not has_held_workgroups(function):
        return None
    most = ir.IntegerAttr(function.attributes[HELD_WORKGROUPS]).value
    del function.attributes[HELD_WORKGROUPS]
    return most


def note_arranged(allocation: ir.Operation, function: ir.Operation) -> None:
    """Notes that an allocation has the layout of descriptors, and gives it the next number."""
    number = sum(ARRANGED in each.attributes for each in lds_allocations(function))
    kind = ir.IntegerType.get_signless(64, function.context)
    allocation.attributes[ARRANGED] = ir.IntegerAttr.get(kind, number)


def arranged_number(allocation: ir.Operation) -> int | None:
    """Returns the number that `note_arranged` has given an allocation; None for others."""
    if ARRANGED not in allocation.attributes:
        return None
    noted = allocation.attributes[ARRANGED]
    return noted.value if isinstance(noted, ir.IntegerAttr) else None


def note_stored_factors(allocation: ir.Operation) -> None:
    """Notes that an allocation, made like another one, holds factors stored for descriptors."""
    if ARRANGED in allocation.attributes:
        del allocation.attributes[ARRANGED]
    allocation.attributes[STORED_FACTORS] = ir.UnitAttr.get(allocation.context)


def has_stored_factors(allocation: ir.Operation) -> bool:
    """Returns whether `note_stored_factors` has marked an allocation."""
    return STORED_FACTORS in allocation.attributes
