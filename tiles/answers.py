# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers about a tile: what its accesses cost in a layout, and in the best ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..bank_model.accesses import LdsAccess
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
from ..bank_model.map_folding import FoldedMap, fold_maps
from ..bank_model.proof import check
from ..bank_model.solver import LayoutDecision
from ..bank_model.targets import LdsInstruction, Status, Target
from .accesses import TileAccesses
from .c_expression import CCode, c_code
from .lanes import Lanes
from .notations import Notation, notations
from .tile_text import NamedTile

if TYPE_CHECKING:
    from .pictures import WholePictures


@dataclass(frozen=True, eq=False)
class Question:
    """A tile and all that accesses it."""

    target: Target
    named: NamedTile
    lanes: Lanes
    accesses: tuple[TileAccesses, ...]

    @property
    def flat(self) -> tuple[LdsAccess, ...]:
        """Returns the accesses of all arguments, one after the other."""
        return tuple(access for each in self.accesses for access in each.accesses)

    def __str__(self) -> str:
        waves = self.lanes.waves
        shown = "1 wave" if waves == 1 else f"{waves} waves"
        return (
            f"{self.named.text} on {self.target.arch}, {self.lanes.threads} lanes in {shown} of "
            f"{self.lanes.wave_size}"
        )

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
        group = self.layout.group_elements(self.question.named.tile)
        count = max((access.count for access in self.accesses.accesses), default=0)
        wide = isinstance(self.layout, SwizzledLayout) and count > group
        return group if wide and not self.is_split else 0

    def machine_accesses(self) -> list[MachineAccess]:
        """Returns the machine instructions that the accesses become, in order."""
        question = self.question
        return [
            machine
            for access in self.accesses.accesses
            for machine in machine_accesses(
                question.target, question.named.tile, self.layout, access
            )
        ]

    def folded_map(self) -> FoldedMap | None:
        """Returns the phase that takes the most cycles, and how all others compare.

        Returns None where no lane is ever active.
        """
        return fold_maps(self.machine_accesses(), self.question.target.bank_width_bytes)

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
class TileCount:
    """What all accesses to a tile cost in one layout, by exact count.

    Attributes:
        layout: where the elements lie.
        lds_bytes: what the tile takes, padding included.
        conflict_cycles: LDS cycles that bank conflicts cost, in all waves of the workgroup.
        cycles: all LDS cycles, conflicts among them.
        instructions: LDS instructions that all waves issue; two that the backend pairs count once.
        accesses: the same per argument.
    """

    question: Question
    layout: Layout
    lds_bytes: int
    conflict_cycles: int
    cycles: int
    instructions: int
    accesses: tuple[AccessCount, ...]

    @staticmethod
    def of(question: Question, layout: Layout, cost: LayoutCost) -> TileCount:
        """Returns the answer for a layout whose `cost` has been counted."""
        tile, target = question.named.tile, question.target
        counts: list[AccessCount] = []
        first = 0
        for each in question.accesses:
            costs = cost.accesses[first : first + len(each.accesses)]
            first += len(costs)
            plain = instruction_names(target, tile, PlainLayout(), each.accesses)
            names = instruction_names(target, tile, layout, each.accesses)
            counts.append(AccessCount(question, each, layout, costs, names, plain))
        return TileCount(
            question,
            layout,
            layout.size_bytes(tile),
            cost.conflict_cycles,
            cost.cycles,
            cost.instructions,
            tuple(counts),
        )

    @property
    def code(self) -> CCode:
        """Returns the layout in C."""
        return c_code(self.layout, self.question.named.tile)

    @property
    def assumed_instructions(self) -> tuple[LdsInstruction, ...]:
        """Returns the instructions whose phases nobody has measured or published."""
        target = self.question.target
        names = dict.fromkeys(name for each in self.accesses for name, _ in each.instructions)
        found = [target.instruction_named(name) for name in names]
        return tuple(each for each in found if each.status is Status.ASSUMED)

    def picture(self, kind: str = "banks") -> WholePictures:
        """Returns pictures of the whole tile, as text, SVG and in a notebook.

        Args:
            kind: `banks`, each element with its bank; `lanes`, each word with its lane.
        """
        from .pictures import whole_pictures

        return whole_pictures({str(self.layout): self}, kind)

    def __str__(self) -> str:
        from .text import count_text

        return count_text(self)

    def __repr__(self) -> str:
        return (
            f"<TileCount of {self.question}: {self.layout}, {self.conflict_cycles:,} conflict "
            f"cycles, {self.lds_bytes:,} bytes>"
        )

    def _repr_html_(self) -> str:
        from .html import count_html

        return count_html(self)


@dataclass(frozen=True, eq=False)
class TileSolution:
    """The best layouts of a tile, and what they cost.

    Attributes:
        plain: row-major without gaps.
        padded: the padding that costs least; None where padding does not help.
        swizzled: the swizzle that costs least; None where no swizzle helps.
        best: one of these, or a swizzle of padded rows: the solver's choice.
        decision: the choice with its proof.
    """

    question: Question
    plain: TileCount
    padded: TileCount | None
    swizzled: TileCount | None
    best: TileCount
    decision: LayoutDecision

    @property
    def layouts(self) -> Mapping[str, TileCount]:
        """Returns the counted layouts by name: `plain`, `padded`, `swizzled`, and `best` where that
        is none of them."""
        named = {"plain": self.plain, "padded": self.padded, "swizzled": self.swizzled}
        found = {name: count for name, count in named.items() if count is not None}
        if all(count.layout != self.best.layout for count in found.values()):
            found["best"] = self.best
        return found

    @property
    def best_name(self) -> str:
        """Returns the name that the best layout has in `layouts`."""
        return next(n for n, c in self.layouts.items() if c.layout == self.best.layout)

    @property
    def notations(self) -> tuple[Notation, ...]:
        """Returns the swizzle in the words of each framework; nothing where there is none."""
        chosen = self.best if isinstance(self.best.layout, SwizzledLayout) else self.swizzled
        if chosen is None or not isinstance(chosen.layout, SwizzledLayout):
            return ()
        return notations(chosen.layout, self.question.named.tile, self.question.target)

    @cached_property
    def proof(self) -> str:
        """Returns what is proven of the best layout, in a sentence, after checking it.

        The check counts again lane by lane, by the definition, and believes no number of the
        solver.

        Raises:
            ProofError: a claim does not hold.
        """
        decision = self.decision
        check(decision.proof, self.question.target, self.question.flat)
        return (
            f"counted again lane by lane: {decision.plain_conflict_cycles:,} conflict cycles in "
            f"the plain layout, {decision.conflict_cycles:,} in this one; "
            f"{decision.optimality.value}"
        )

    def picture(self, kind: str = "banks") -> WholePictures:
        """Returns pictures of the whole tile in the plain layout and in the best one.

        Args:
            kind: `banks`, each element with its bank; `lanes`, each word with its lane.
        """
        from .contents import before_and_after
        from .pictures import whole_pictures

        return whole_pictures(before_and_after(self), kind)

    def __str__(self) -> str:
        from .text import solution_text

        return solution_text(self)

    def __repr__(self) -> str:
        before, best = self.plain.conflict_cycles, self.best
        return (
            f"<TileSolution of {self.question}: {best.layout}, {before:,} -> "
            f"{best.conflict_cycles:,} conflict cycles; print() shows all of it>"
        )

    def _repr_html_(self) -> str:
        from .html import solution_html

        return solution_html(self)
