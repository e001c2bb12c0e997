# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a renaming of indices is judged by, before and after the distribution to lanes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RenamingCost:
    """What transfers, and all accesses to the tiles that they touch, cost.

    All figures are of one workgroup, weighted by trips.
    """

    lds_cycles: int = 0
    lds_instructions: int = 0
    lds_accesses: int = 0
    """LDS instructions with pairs counted twice: `ds_read2_b64` has two addresses' offsets."""
    moves: int = 0
    transactions: int = 0
    """Blocks of global memory that are touched."""

    def __add__(self, other: RenamingCost) -> RenamingCost:
        return RenamingCost(
            self.lds_cycles + other.lds_cycles,
            self.lds_instructions + other.lds_instructions,
            self.lds_accesses + other.lds_accesses,
            self.moves + other.moves,
            self.transactions + other.transactions,
        )

    @property
    def rank(self) -> tuple[int, int, int]:
        """Less is better; where all else is equal, one wide access is better than a pair."""
        cost = self.lds_cycles + self.lds_instructions + self.moves + self.transactions
        return cost, self.lds_cycles, self.lds_accesses

    def becomes(self, after: RenamingCost) -> str:
        """Returns what a renaming changes, in a few words."""
        return (
            f"LDS instructions {self.lds_instructions} -> {after.lds_instructions}, "
            f"LDS cycles {self.lds_cycles} -> {after.lds_cycles}"
        )


NOTHING = RenamingCost()
"""What no transfer costs."""
