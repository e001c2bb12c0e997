# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What accesses to a tile cost at least, whatever its layout.

A layout decides into which instructions an access is split, and on which banks lanes meet. Each
phase in which a lane takes part is a cycle, and each instruction is issued, at best as half of a
pair. So the cheapest way to split an access is a bound, which takes no addresses and is the same
for all accesses of a transfer. Searches count only what may be the best by it.

Example: on gfx942 a wave that reads 16 bytes a lane takes at least 8 cycles and an issue slot, as
one `ds_read_b128` or as the two halves of a `ds_read2_b64`, which take 4 cycles each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from .accesses import LdsAccess, LdsTile, alike
from .conflicts import merged_issues
from .lds_rules import Lds, LdsInstruction
from .least_cycles import least_split
from .quick_tuple import NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt


class CostFloor(NamedTuple):
    """What no layout goes below, as `LayoutCost` counts it."""

    cycles: int = 0
    instructions: int = 0
    accesses: int = 0
    """Machine accesses of all waves, pairs counted twice."""


def cost_floor(lds: Lds, tile: LdsTile, accesses: Sequence[LdsAccess]) -> CostFloor:
    """Returns what accesses cost at least under any layout.

    Of elements that are no whole bytes, and of accesses by an instruction of their own, nothing is
    claimed.
    """
    cycles = halves = pieces = 0
    for group in alike(accesses):
        first = group[0]
        known = not tile.element_bits % 8 and first.elements.shape[1] == lds.wave_size
        if not known or first.instruction or not first.starts.size:
            continue
        size = first.count * tile.element_bits // 8
        weights = np.array([access.weight for access in group], dtype=np.int64)
        form = lds, tile, first.kind, size
        taken = least_split(*form, _phases_of(group))
        cycles += int((weights * taken.sum(axis=-1)).sum())
        issues = int(weights.sum()) * len(first.elements)
        halves += issues * int(least_split(*form, partial(_halves, lds)))
        pieces += issues * int(least_split(*form, lambda *_: 1))
    return CostFloor(cycles, -(-halves // 2), pieces)


def _halves(lds: Lds, instruction: LdsInstruction, _: int) -> int:
    """Returns the issue slots of an instruction, in halves: of a pair it is one."""
    return 1 if lds.pairs(instruction) else 2


def _phases_of(
    group: Sequence[LdsAccess],
) -> Callable[[LdsInstruction, int], npt.NDArray[np.int64]]:
    """Returns what returns the phases [accesses, issues] of an instruction in which lanes take
    part, for accesses with the same mask."""
    active = group[0].active
    shape = (len(group), len(group[0].elements))

    def used(phases: Sequence[Sequence[int]]) -> npt.NDArray[np.int64]:
        if active is None:
            return np.full(shape, len(phases), np.int64)
        return np.broadcast_to(active[:, np.asarray(phases)].any(axis=-1).sum(axis=-1), shape)

    @cache
    def phases(instruction: LdsInstruction) -> npt.NDArray[np.int64]:
        if instruction.merging is None:
            return used(instruction.phases)
        # Which lanes want the same, no layout changes.
        elements = np.stack([access.elements for access in group])
        merged = merged_issues(instruction, elements, active)
        assert merged is not None
        return np.where(merged, used(instruction.merged_phases), used(instruction.phases))

    return lambda instruction, _: phases(instruction)
