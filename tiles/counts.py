# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the accesses to a tile cost in a layout: the figures that every answer is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from ..bank_model.accesses import LdsAccess, LdsTile
from ..bank_model.bank_map import BankMap
from ..bank_model.issue import LayoutCost
from ..bank_model.layout_counts import instruction_names
from ..bank_model.layouts import (
    AccessCost,
    Layout,
    MachineAccess,
    PlainLayout,
    SwizzledLayout,
    machine_accesses,
)
from ..bank_model.lds_rules import Lds, LdsInstruction, Status
from ..bank_model.map_folding import FoldedMap, fold_maps
from ..bank_model.shown_text import counted
from .c_expression import CCode, c_code
from .lanes import Lanes
from .memory_order import MemoryOrder
from .tile_accesses import TileAccesses
from .tile_text import NamedTile
from .vector_moves import VectorMove, vector_move


@dataclass(frozen=True, eq=False)
class Question:
    """A tile and all that accesses it.

    Attributes:
        named: the tile as the program knows it.
        accesses: of the elements of `tile`.
        order: how the tile lies in memory, in the one layout that is asked about; None where
            elements have their row-major numbers.
    """

    lds: Lds
    named: NamedTile
    lanes: Lanes
    accesses: tuple[TileAccesses, ...]
    order: MemoryOrder | None = None

    @property
    def tile(self) -> LdsTile:
        """Returns the tile whose elements the accesses count: that of memory, if it has another
        order than the program's."""
        return self.order.tile if self.order else self.named.tile

    @property
    def along(self) -> int | None:
        """Returns the dimension of the program's tile along which vectors lie, if one is."""
        tile = self.named.tile
        return self.order.along(tile) if self.order else len(tile.shape) - 1

    def counted(self, layout: Layout) -> Layout:
        """Returns a layout of the program's tile as one of `tile`."""
        return self.order.layout if self.order else layout

    @property
    def flat(self) -> tuple[LdsAccess, ...]:
        """Returns the accesses of all arguments, one after the other."""
        return tuple(access for each in self.accesses for access in each.accesses)

    def __str__(self) -> str:
        lanes, waves = self.lanes, counted(self.lanes.waves, "wave")
        where = f"{lanes.threads} lanes in {waves} of {lanes.wave_size}"
        return f"{self.named.text} on {self.lds.arch}, {where}"

    def __repr__(self) -> str:
        return f"<Question {self}>"


@dataclass(frozen=True, eq=False)
class AccessCount:
    """What the accesses of one argument cost in a layout.

    Attributes:
        accesses: what is counted.
        layout: in which layout.
        costs: for each of the accesses, all waves together.
        instructions: names of machine instructions, and how many of them the code has; a wide
            access that the layout splits is several narrow ones here.
        plain_instructions: those of the plain layout.
    """

    question: Question
    accesses: TileAccesses
    layout: Layout
    costs: tuple[AccessCost, ...]
    instructions: tuple[tuple[str, int], ...]
    plain_instructions: tuple[tuple[str, int], ...]

    def __repr__(self) -> str:
        return f"<AccessCount {self.accesses}: {self.conflict_cycles:,} conflict cycles>"

    @property
    def conflict_cycles(self) -> int:
        """Returns the LDS cycles that bank conflicts cost, in all waves."""
        return self._weighted([cost.conflict_cycles for cost in self.costs])

    @property
    def cycles(self) -> int:
        """Returns all LDS cycles, in all waves."""
        return self._weighted([cost.wavefronts for cost in self.costs])

    @property
    def conflicts_per_access(self) -> tuple[int, int]:
        """Returns the fewest and the most conflict cycles of one access, in all its waves."""
        conflicts = [cost.conflict_cycles for cost in self.costs]
        return min(conflicts, default=0), max(conflicts, default=0)

    @property
    def is_split(self) -> bool:
        """Returns whether the code needs more instructions than in the plain layout."""
        return _number(self.instructions) > _number(self.plain_instructions)

    @property
    def reordered_elements(self) -> int:
        """Returns the elements that stay together in accesses that stay whole but change order.

        The layout permutes the groups of such a vector within it, in all lanes alike, so that it
        can stay one instruction with its registers in another order. 0 where there are none.
        """
        layout = self.question.counted(self.layout)
        group = layout.group_elements(self.question.tile)
        count = max((access.count for access in self.accesses.accesses), default=0)
        wide = isinstance(layout, SwizzledLayout) and count > group
        return group if wide and not self.is_split else 0

    @property
    def moves(self) -> tuple[VectorMove, ...]:
        """Returns how the vectors move, one of each size."""
        question = self.question
        layout = question.counted(self.layout)
        alike: dict[int, list[LdsAccess]] = {}
        for access in self.accesses.accesses:
            if access.count > 1 and not access.instruction:
                alike.setdefault(access.count, []).append(access)
        line = 0 if question.along is None else question.named.tile.shape[question.along]
        return tuple(
            vector_move(question.tile, layout, same, line, self.is_split) for same in alike.values()
        )

    def machine_accesses(self) -> list[MachineAccess]:
        """Returns the machine instructions that the accesses become, in order."""
        question = self.question
        layout = question.counted(self.layout)
        return [
            machine
            for access in self.accesses.accesses
            for machine in machine_accesses(question.lds, question.tile, layout, access)
        ]

    def folded_map(self) -> FoldedMap | None:
        """Returns the phase that takes the most cycles, and how all others compare.

        Returns None where no lane is ever active.
        """
        return fold_maps(self.machine_accesses(), self.question.lds.bank_width_bytes)

    def bank_map(self) -> BankMap | None:
        """Returns the phase that takes the most cycles; None where no lane is ever active."""
        folded = self.folded_map()
        return folded and folded.shown

    def _weighted(self, figures: Sequence[int]) -> int:
        pairs = zip(self.accesses.accesses, figures, strict=True)
        return sum(access.weight * figure for access, figure in pairs)


def _number(instructions: Sequence[tuple[str, int]]) -> int:
    return sum(count for _, count in instructions)


@dataclass(frozen=True, eq=False)
class CountedLayout:
    """What all accesses to a tile cost in one layout, by exact count.

    Attributes:
        layout: where the elements lie.
        lds_bytes: what the tile takes, padding included.
        conflict_cycles: LDS cycles that bank conflicts cost, in all waves of the workgroup.
        cycles: all LDS cycles, conflicts among them.
        instructions: LDS instructions that all waves issue; two that the backend pairs count once.
        accesses: the same per argument.
        remarks: what else to know of how the question was read, a sentence each.
    """

    question: Question
    layout: Layout
    lds_bytes: int
    conflict_cycles: int
    cycles: int
    instructions: int
    accesses: tuple[AccessCount, ...]
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, question: Question, layout: Layout, cost: LayoutCost) -> Self:
        """Returns the figures of a layout whose `cost` has been counted."""
        tile, lds = question.tile, question.lds
        counts: list[AccessCount] = []
        first = 0
        for each in question.accesses:
            costs = cost.accesses[first : first + len(each.accesses)]
            first += len(costs)
            plain = instruction_names(lds, tile, PlainLayout(), each.accesses)
            names = instruction_names(lds, tile, question.counted(layout), each.accesses)
            counts.append(AccessCount(question, each, layout, costs, names, plain))
        return cls(
            question,
            layout,
            layout.size_bytes(question.named.tile),
            cost.conflict_cycles,
            cost.cycles,
            cost.instructions,
            tuple(counts),
        )

    @property
    def code(self) -> CCode:
        """Returns the layout in C, and how the vectors of the accesses move that it parts."""
        question = self.question
        moves = [move for each in self.accesses for move in each.moves]
        return c_code(self.layout, question.named.tile, moves, question.along)

    @property
    def assumed_instructions(self) -> tuple[LdsInstruction, ...]:
        """Returns the instructions whose phases nobody has measured or published."""
        lds = self.question.lds
        names = dict.fromkeys(name for each in self.accesses for name, _ in each.instructions)
        found = [lds.instruction_named(name) for name in names]
        return tuple(each for each in found if each.status is Status.ASSUMED)
