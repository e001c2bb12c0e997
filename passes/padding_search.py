# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The best row padding of LDS tiles, by exact count of what every access costs.

Padding appends unused bytes to each row, so that row r starts on another bank than row r - 1.
Which amount is best depends on all readers and writers at once, and there are few amounts to try:
they are counted, all of them.

What makes a padding better. The LDS serves one phase of an instruction per cycle, plus one cycle
for every conflict; so the cycles the LDS is busy are `phases + conflict cycles`, the *wavefronts*.
They are compared first. A padding of 4 bytes can rid a 16-byte access of all conflicts, and yet
break its alignment: it becomes four 4-byte accesses. On gfx942 these have as many phases as the
one they replace (all widths move 128 bytes per cycle); on gfx950 twice as many, which wavefronts
show and conflicts hide. Equal wavefronts are told apart by conflict cycles, then by the number of
machine accesses (an aligned access beats the same access in pieces), then by LDS bytes.

Worked example: a 64 x 64 tile of f16 on gfx942, each lane of a wave reads one element of its own
row, in one column. Rows are 128 bytes = 32 banks apart: all 32 lanes of a phase hit one bank, 31
conflict cycles in each of 2 phases. With 4 bytes of padding the rows are 33 banks apart: none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd, lcm

import numpy as np

from ..bank_model.accesses import LdsAccess, LdsTile
from ..bank_model.layouts import MAX_USEFUL_ALIGNMENT, PaddedLayout, access_cost
from ..bank_model.targets import Target

MAX_PADDING_BYTES = 64


@dataclass(frozen=True, order=True)
class PaddingCost:
    """What all accesses to a tile cost, each weighted by how often it runs; lower is better."""

    wavefronts: int
    """Cycles the LDS is busy."""
    conflict_cycles: int
    machine_accesses: int
    """Machine accesses that one wave issues."""

    def __add__(self, other: PaddingCost) -> PaddingCost:
        return PaddingCost(
            self.wavefronts + other.wavefronts,
            self.conflict_cycles + other.conflict_cycles,
            self.machine_accesses + other.machine_accesses,
        )


@dataclass(frozen=True)
class PaddingChoice:
    """Bytes appended to each row of a tile, and what the tile then costs and occupies."""

    padding_bytes: int
    cost: PaddingCost
    lds_bytes: int

    @property
    def conflict_cycles(self) -> int:
        """Weighted conflict cycles of one workgroup."""
        return self.cost.conflict_cycles

    @property
    def rank(self) -> tuple[PaddingCost, int]:
        """Sorts better choices first."""
        return self.cost, self.lds_bytes


def padding_cost(
    target: Target, tile: LdsTile, accesses: Iterable[LdsAccess], padding_bytes: int
) -> PaddingChoice:
    """Counts one amount of padding; it must be a multiple of the element size.

    Raises InvalidParameterError for accesses that do not fit the target or the tile.
    """
    return _count(target, tile, merge_translates(tile, accesses), padding_bytes)


def padding_choices(
    target: Target,
    tile: LdsTile,
    accesses: Iterable[LdsAccess],
    max_padding_bytes: int = MAX_PADDING_BYTES,
) -> tuple[PaddingChoice, ...]:
    """The choices worth considering, no padding first; each next one is larger and better.

    Tried are the multiples of 4 bytes (a bank) and of the element size up to `max_padding_bytes`.
    Raises as `padding_cost`.
    """
    merged = merge_translates(tile, accesses)
    choices = [_count(target, tile, merged, 0)]
    fewest = _fewest_machine_accesses(target, tile, merged)
    step = lcm(target.bank_width_bytes * 8, tile.element_bits) // 8
    for padding_bytes in range(step, max_padding_bytes + 1, step):
        best = choices[-1]
        if best.conflict_cycles == 0 and best.cost.machine_accesses == fewest:
            break
        choice = _count(target, tile, merged, padding_bytes)
        if choice.cost < best.cost:
            choices.append(choice)
    return tuple(choices)


def best_padding(
    target: Target,
    tile: LdsTile,
    accesses: Iterable[LdsAccess],
    budget_bytes: int,
    max_padding_bytes: int = MAX_PADDING_BYTES,
) -> PaddingChoice:
    """The best padding with which the tile occupies at most `budget_bytes`.

    A tile that exceeds the budget as it is stays unpadded. Raises as `padding_cost`.
    """
    choices = padding_choices(target, tile, accesses, max_padding_bytes)
    return share_budget([choices], budget_bytes)[0]


def share_budget(
    tiles: Sequence[Sequence[PaddingChoice]], budget_bytes: int
) -> tuple[PaddingChoice, ...]:
    """One choice per tile: the cheapest combination whose LDS bytes fit the budget together.

    All combinations are considered: those of the first tiles that are larger and no better than
    another are dropped before the next tile is added, which loses none that could win. When not
    even the unpadded tiles fit, they stay unpadded.
    """
    empty = PaddingCost(0, 0, 0)
    combinations: list[tuple[int, PaddingCost, tuple[PaddingChoice, ...]]] = [(0, empty, ())]
    for choices in tiles:
        extended = sorted(
            (
                (size + choice.lds_bytes, cost + choice.cost, (*chosen, choice))
                for size, cost, chosen in combinations
                for choice in choices
            ),
            key=lambda combination: combination[:2],
        )
        combinations = []
        for combination in extended:
            if not combinations or combination[1] < combinations[-1][1]:
                combinations.append(combination)
    fitting = [c for c in combinations if c[0] <= budget_bytes]
    return fitting[-1][2] if fitting else tuple(choices[0] for choices in tiles)


def merge_translates(tile: LdsTile, accesses: Iterable[LdsAccess]) -> tuple[LdsAccess, ...]:
    """Represents accesses that differ by a shift of the whole wave by one of them.

    A kernel reads a tile with the same pattern of lanes at many places. Two accesses of which
    one is the other moved by r rows and c columns lie, under every padding, r * pitch + c
    elements apart. Where r is a multiple of 16 and c of 16 bytes, that is a multiple of 16 bytes:
    a rotation of the banks that keeps every alignment, so both cost the same. The representative
    gets the weights of all it stands for.
    """
    if tile.element_bits % 8:
        return tuple(accesses)
    row_period = MAX_USEFUL_ALIGNMENT
    column_period = MAX_USEFUL_ALIGNMENT // gcd(MAX_USEFUL_ALIGNMENT, tile.element_bits // 8)
    merged: dict[tuple[object, ...], LdsAccess] = {}
    for access in accesses:
        active = access.active
        used = access.elements if active is None else access.elements[active]
        if used.size == 0:
            continue
        row, column = int(used.min()) // tile.row_elements, int((used % tile.row_elements).min())
        # A vector over the end of a row is split there, so that its column matters.
        crosses = bool((used % tile.row_elements).max() + access.count > tile.row_elements)
        row -= row % row_period
        column = 0 if crosses else column - column % column_period
        moved = access.elements - (row * tile.row_elements + column)
        if active is not None:
            moved = np.where(active, moved, -1)
        key = (access.kind, access.count, moved.shape, moved.tobytes())
        if key in merged:
            merged[key] = replace(merged[key], weight=merged[key].weight + access.weight)
        else:
            merged[key] = access
    return tuple(merged.values())


def _count(
    target: Target, tile: LdsTile, accesses: Iterable[LdsAccess], padding_bytes: int
) -> PaddingChoice:
    padding_elements, rest = divmod(padding_bytes * 8, tile.element_bits)
    if rest:
        raise ValueError(f"{padding_bytes} bytes are no multiple of {tile.element_bits} bits")
    layout = PaddedLayout(padding_elements)
    total = PaddingCost(0, 0, 0)
    for access in accesses:
        cost = access_cost(target, tile, layout, access)
        total += PaddingCost(
            access.weight * cost.wavefronts,
            access.weight * cost.conflict_cycles,
            access.weight * cost.instructions,
        )
    return PaddingChoice(padding_bytes, total, layout.size_bytes(tile))


def _fewest_machine_accesses(target: Target, tile: LdsTile, accesses: Iterable[LdsAccess]) -> int:
    """Machine accesses if every address were aligned: no padding can need fewer."""
    return sum(
        access.weight
        * len(
            target.legalize(
                access.kind, -(-access.count * tile.element_bits // 8), MAX_USEFUL_ALIGNMENT
            )
        )
        for access in accesses
    )
