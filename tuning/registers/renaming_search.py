# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search for renamings of indices, before and after the distribution to lanes.

A renaming changes how wide transfers are, and with that what the best layouts of their tiles cost.
Several renamings touch one tile, as that of its rows and that of its columns do. They are decided
in turns until nothing changes, each with the others as they are (coordinate descent).

To cost a choice takes a search for the best layout of each tile. Where a search knows what a choice
costs at least, those that promise most are costed first, and the others not if they cannot be less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from ...bank_model.quick_dataclass import dataclass

_MOST_ROUNDS = 3
"""How often every renaming is decided at most; two that touch one tile settle in two rounds."""

Choice = TypeVar("Choice")

Rank = tuple[int, int, int]
"""What choices are compared by."""


@dataclass(frozen=True)
class RenamingCost:
    """What transfers, and all accesses to the tiles that they touch, cost.

    All figures are of one workgroup, weighted by iterations.
    """

    lds_cycles: int = 0
    lds_instructions: int = 0
    lds_accesses: int = 0
    """LDS instructions with pairs counted twice: `ds_read2_b64` has two addresses' offsets."""
    moves: int = 0
    transactions: int = 0
    """Blocks of global memory that are touched."""
    global_loads: int = 0
    """Loads of operands that no tile holds."""

    def __add__(self, other: RenamingCost) -> RenamingCost:
        return RenamingCost(
            self.lds_cycles + other.lds_cycles,
            self.lds_instructions + other.lds_instructions,
            self.lds_accesses + other.lds_accesses,
            self.moves + other.moves,
            self.transactions + other.transactions,
            self.global_loads + other.global_loads,
        )

    @property
    def rank(self) -> Rank:
        """Less is better; where all else is equal, one wide access is better than a pair."""
        lds = self.lds_cycles + self.lds_instructions
        cost = lds + self.moves + self.transactions + self.global_loads
        return cost, self.lds_cycles, self.lds_accesses

    def becomes(self, after: RenamingCost) -> str:
        """Returns what a renaming changes, in a few words."""
        if self.global_loads:
            return f"loads from global memory {self.global_loads} -> {after.global_loads}"
        return (
            f"LDS instructions {self.lds_instructions} -> {after.lds_instructions}, "
            f"LDS cycles {self.lds_cycles} -> {after.lds_cycles}"
        )


NOTHING = RenamingCost()
"""What no transfer costs."""


@dataclass(frozen=True)
class RenamingSearch(Generic[Choice]):
    """Chooses among renamings by what they cost.

    Attributes:
        plain: the choice to rename nothing.
        candidates: returns the other choices for the renaming of a number.
        cost: returns what all that the renaming of a number touches costs under the choices for all
            renamings; None where they cannot be made together, or not be counted.
        floor: returns what `cost` does not go below in any figure, likewise.
    """

    plain: Choice
    candidates: Callable[[int], Iterable[Choice]]
    cost: Callable[[int, Sequence[Choice]], RenamingCost | None]
    floor: Callable[[int, Sequence[Choice]], RenamingCost | None] = lambda _, choices: NOTHING

    def choices(self, count: int) -> list[Choice]:
        """Returns the choice for each of `count` renamings; `plain` wins ties."""
        choices = [self.plain] * count
        for _ in range(_MOST_ROUNDS):
            before = list(choices)
            for number in range(count):
                choices[number] = self._best(number, choices)
            if choices == before or count == 1:
                break
        return choices

    def change(self, number: int, choices: Sequence[Choice]) -> tuple[RenamingCost, RenamingCost]:
        """Returns the costs without and with one of the choices, beside the others."""
        without = self.cost(number, _with(choices, number, self.plain))
        return without or NOTHING, self.cost(number, choices) or NOTHING

    def _best(self, number: int, choices: Sequence[Choice]) -> Choice:
        ways = [_with(choices, number, each) for each in (self.plain, *self.candidates(number))]
        floors = [self.floor(number, way) for way in ways] if len(ways) > 1 else [None]
        if floors[0] is None:
            return self.plain
        least = sorted((floor.rank, way) for way, floor in enumerate(floors) if floor is not None)
        best: tuple[Rank, int] | None = None
        for floor, way in least:
            if best is not None and (floor, way) > best:
                break
            cost = self.cost(number, ways[way])
            if cost is None and way == 0:
                return self.plain
            if cost is not None and (best is None or (cost.rank, way) < best):
                best = cost.rank, way
        return self.plain if best is None else ways[best[1]][number]


def _with(choices: Sequence[Choice], number: int, choice: Choice) -> list[Choice]:
    return [*choices[:number], choice, *choices[number + 1 :]]
