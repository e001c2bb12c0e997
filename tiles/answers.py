# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers about a tile: what its accesses cost in a layout, and in the best ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..bank_model.issue import LayoutCosts
from ..bank_model.layouts import PlainLayout, SwizzledLayout
from ..bank_model.shown_text import counted
from .answer_contents import Contents, layout_title
from .counts import CountedLayout, Question

if TYPE_CHECKING:
    from ..bank_model.solver import LayoutDecision
    from .framework_notations import Notation
    from .pictures import WholePictures


class Answer(Contents):
    """An answer that prints as text and shows itself in a notebook."""

    def picture(self, kind: str = "banks") -> WholePictures:
        """Returns pictures of the whole tile, as text, SVG and in a notebook.

        They show the layout of a count; of a solution, the plain layout and the best one.

        Args:
            kind: `banks`, each element with its bank; `lanes`, each word with its lane.
        """
        # Few answers are shown with it.
        from .pictures import whole_pictures

        return whole_pictures(self.drawn, kind)

    def __str__(self) -> str:
        from .answer_text import answer_text

        return answer_text(self)

    def _repr_html_(self) -> str:
        from .answer_html import answer_html

        return answer_html(self)


class TileCount(CountedLayout, Answer):
    """What all accesses to a tile cost in one layout, by exact count, as an answer."""

    @property
    def counted(self) -> CountedLayout:
        """Returns this layout."""
        return self

    @property
    def layouts(self) -> Mapping[str, CountedLayout]:
        """Returns this layout alone, by its own words."""
        return {str(self.layout): self}

    @property
    def chosen_title(self) -> str:
        """Returns the layout in words."""
        return str(self.layout)

    @property
    def code_title(self) -> str:
        """Returns the layout in words."""
        return str(self.layout)

    def __repr__(self) -> str:
        return (
            f"<TileCount of {self.question}: {self.layout}, {self.conflict_cycles:,} conflict "
            f"cycles, {self.lds_bytes:,} bytes>"
        )


@dataclass(frozen=True, eq=False)
class TileSolution(Answer):
    """The best layouts of a tile, and what they cost.

    Attributes:
        plain: row-major without gaps.
        padded: the padding of rows or planes that costs least; None where padding does not help.
        swizzled: the swizzle that costs least; None where no swizzle helps.
        best: one of these, or a swizzle of padded rows: the solver's choice.
        decision: the choice with its proof.
        costs: of all layouts that were counted.
    """

    question: Question
    plain: TileCount
    padded: TileCount | None
    swizzled: TileCount | None
    best: TileCount
    decision: LayoutDecision
    costs: LayoutCosts

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
    def counted(self) -> CountedLayout:
        """Returns the best layout."""
        return self.best

    @property
    def chosen_title(self) -> str:
        """Returns the name of the best layout."""
        return layout_title(self.best_name, self.best)

    @property
    def drawn(self) -> Mapping[str, CountedLayout]:
        """Returns the plain layout and the best one, if that is another."""
        if self.best.layout == self.plain.layout:
            return {"plain": self.plain}
        return {"plain": self.plain, self.chosen_title: self.best}

    @property
    def written_swizzle(self) -> TileCount | None:
        """Returns the best layout, if it is a swizzle, or else the best swizzle, if one helps."""
        return self.best if isinstance(self.best.layout, SwizzledLayout) else self.swizzled

    @property
    def notations(self) -> tuple[Notation, ...]:
        """Returns the swizzle in the words of each framework; nothing where there is none."""
        return self._notations

    @cached_property
    def _notations(self) -> tuple[Notation, ...]:
        chosen = self.written_swizzle
        if chosen is None or not isinstance(chosen.layout, SwizzledLayout):
            return ()
        # A count of one layout does not need it.
        from .framework_notations import notations

        tile, lds = self.question.named.tile, self.question.lds
        return notations(chosen.layout, tile, lds, self.costs)

    @property
    def code_title(self) -> str:
        """Returns the heading of the layout that is written in C: a swizzle, where one helps."""
        if self.written_swizzle is not None and self.best_name != "best":
            return "swizzled"
        return self.chosen_title

    @cached_property
    def proof(self) -> str:
        """Returns what is proven of the best layout, in a sentence, after checking it.

        The check counts again lane by lane, by the definition, and believes no number of the
        solver.

        Raises:
            ProofError: a claim does not hold.
        """
        from ..bank_model.proof import check

        decision = self.decision
        check(decision.proof, self.question.lds, self.question.flat)
        return (
            f"counted again lane by lane: {decision.plain_conflict_cycles:,} conflict cycles in "
            f"the plain layout, {decision.conflict_cycles:,} in this one; "
            f"{decision.optimality.value}"
        )

    @property
    def reason(self) -> str:
        """Returns why the best layout was chosen, in a line."""
        if isinstance(self.best.layout, PlainLayout) and self.best.conflict_cycles:
            conflicts = counted(self.best.conflict_cycles, "conflict cycle", separator=",")
            return f"it has {conflicts}, and no padding and no swizzle that was found costs less"
        return self.decision.reason

    def choice(self) -> Iterator[tuple[str, str]]:
        """Yields why the best layout was chosen, and its proof."""
        yield "best", f"{self.chosen_title}: {self.reason}"
        yield "proof", self.proof

    def __repr__(self) -> str:
        before, best = self.plain.conflict_cycles, self.best
        return (
            f"<TileSolution of {self.question}: {best.layout}, {before:,} -> "
            f"{best.conflict_cycles:,} conflict cycles; print() shows all of it>"
        )
