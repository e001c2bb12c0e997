# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search for the best layout of a tile: `solve` without its arguments."""

from __future__ import annotations

from functools import cached_property
from math import prod

from ..bank_model.accesses import LdsTile
from ..bank_model.issue import LayoutCosts
from ..bank_model.layouts import (
    Layout,
    LayoutKind,
    PaddedLayout,
    PlainLayout,
    SwizzledLayout,
    misaligned_element,
)
from ..bank_model.paddings import padding_amounts, padding_choices
from ..bank_model.solver import LayoutDecision, SolverOptions
from ..bank_model.solver import solve as solve_layout
from ..bank_model.strided_layout import Mode, StridedLayout
from ..bank_model.swizzle_legality import HintRules
from .answers import TileCount, TileSolution
from .counts import Question
from .vector_moves import VectorStarts, WholeVectors

_SWIZZLES = frozenset({LayoutKind.XOR_SHUFFLE, LayoutKind.CHAIN, LayoutKind.ROTATE_ROWS})

_WORTH_PARTING = 7, 8
"""What a layout may cost of the cost of one that keeps vectors whole, for it to part them.

The functions that store and load the parts compute a place for each of them, which is not counted.
"""


class BestLayout:
    """The steps of one answer.

    Layouts keep the vectors of the accesses whole, so that `*(vector *)&tile[place(row, column)]`
    moves them, unless it costs a good deal less to part them.
    """

    def __init__(self, question: Question, costs: LayoutCosts, limit: int) -> None:
        self.question = question
        self.costs = costs
        self.limit = limit
        self.plain = costs.of(PlainLayout())
        self.vectors = [each for each in costs.accesses if each.count > 1 or each.instruction]
        self.starts = VectorStarts(self.vectors)
        self.whole = [access for access in costs.accesses if access.instruction]
        """Accesses that cannot be split."""
        self.parts = True
        """Whether layouts may part other vectors."""
        self.row_paddings: dict[bool, int] = {}
        """`row_padding` where vectors may be parted, and where not."""

    def solution(self) -> TileSolution:
        """Returns the whole answer."""
        decision = self.with_planes(self.decision())
        best = decision.layout
        padding = self.padding()
        swizzle = best if isinstance(best, SwizzledLayout) and not best.padding_elements else None
        if swizzle is None and self.plain.conflict_cycles:
            options = SolverOptions(kinds=_SWIZZLES, claims_minimum=False)
            found = self.solve(options).layout
            swizzle = found if isinstance(found, SwizzledLayout) else None
        return TileSolution(
            question=self.question,
            plain=self.counted(PlainLayout()),
            padded=None if padding is None else self.counted(padding),
            swizzled=None if swizzle is None else self.counted(swizzle),
            best=self.counted(best),
            decision=decision,
            costs=self.costs,
        )

    def decision(self) -> LayoutDecision:
        """Returns the best layout, and decides whether layouts may part vectors."""
        parting = self.solve(SolverOptions())
        self.parts = False
        if self.starts.kept(self.question.tile, parting.layout):
            return parting
        # Swizzles of parts are not among them.
        whole = self.solve(SolverOptions(claims_minimum=False))
        worth, of = _WORTH_PARTING
        saves = self.cost(parting) * of < self.cost(whole) * worth
        self.parts = saves and self.is_written(parting.layout)
        return parting if self.parts else whole

    def with_planes(self, decision: LayoutDecision) -> LayoutDecision:
        """Returns a decision, or that for padded planes where these cost less or take less LDS."""
        spent = decision.lds_bytes > decision.plain_lds_bytes
        planes = self.planes if decision.conflict_cycles or spent else None
        if planes is None or self.rank(decision.layout) <= self.rank(planes.layout):
            return decision
        return planes

    @cached_property
    def planes(self) -> LayoutDecision | None:
        """Returns the best padding of planes, of whatever rank; None without one that helps.

        Elements have the same numbers in a tile whose rows are the planes of this one.
        """
        ranks = range(1, len(self.question.named.tile.shape) - 1)
        found = [each for each in map(self.padded_planes, ranks) if each is not None]
        return min(found, key=lambda each: self.rank(each.layout), default=None)

    def padded_planes(self, rank: int) -> LayoutDecision | None:
        """Returns the decision for padding behind each index of the first `rank` dimensions."""
        question = self.question
        shape, bits = question.named.tile.shape, question.named.tile.element_bits
        planes = LdsTile((prod(shape[:rank]), prod(shape[rank:])), bits)
        amounts = padding_amounts(question.lds, planes, self.limit)
        legal = [
            PaddedLayout(each) for each in amounts if self.is_legal(PaddedLayout(each), planes)
        ]
        if not legal:
            return None
        options = SolverOptions(
            kinds=frozenset({LayoutKind.PADDING}),
            max_lds_bytes=self.limit,
            paddings=tuple(each.padding_elements for each in legal),
        )
        found = solve_layout(question.lds, planes, self.costs.accesses, options)
        if not isinstance(found.layout, PaddedLayout):
            return None
        strides = [prod(shape[dimension + 1 :]) for dimension in range(len(shape))]
        for dimension in range(rank):
            below = prod(shape[dimension + 1 : rank])
            strides[dimension] = below * (planes.row_elements + found.layout.padding_elements)
        modes = tuple((Mode(*each),) for each in zip(shape, strides, strict=True))
        layout = StridedLayout(modes)
        return found._replace(layout=layout, lds_bytes=layout.size_bytes(question.named.tile))

    def rank(self, layout: Layout) -> tuple[int, int, int]:
        """Returns what a layout costs, of which less is better: cycles first, then bytes."""
        return (*self.costs.of(layout).rank, layout.size_bytes(self.question.named.tile))

    def cost(self, decision: LayoutDecision) -> int:
        """Returns LDS cycles and issue slots."""
        return self.costs.of(decision.layout).rank[0]

    def is_written(self, layout: Layout) -> bool:
        """Returns whether there is code that moves all vectors as they are counted."""
        code = self.counted(layout).code
        return all(code.mover(move) for move in code.moves)

    def counted(self, layout: Layout) -> TileCount:
        """Returns the costs of a layout."""
        return TileCount.of(self.question, layout, self.costs.of(layout))

    def solve(self, options: SolverOptions) -> LayoutDecision:
        """Returns the layout that the solver chooses.

        No access that must stay whole or aligned is split or moved to a less aligned address.
        """
        tile, lds = self.question.named.tile, self.question.lds
        options = options._replace(max_lds_bytes=self.limit)
        if self.whole or (self.vectors and not self.parts):
            if self.parts:
                amounts = padding_amounts(lds, tile, self.limit)
                legal = tuple(amount for amount in amounts if self.is_legal(PaddedLayout(amount)))
                rules = HintRules.of(tile, self.whole)
            else:
                legal = (self.row_padding,)
                rules = WholeVectors.of_vectors(tile, self.vectors)
            options = options._replace(rules=rules, paddings=legal)
        return solve_layout(lds, tile, self.costs.accesses, options, self.costs)

    def padding(self) -> Layout | None:
        """Returns the padded rows or planes that cost least, if padding helps at all."""
        rows = PaddedLayout(self.row_padding) if self.row_padding else None
        if self.planes is None or not self.plain.conflict_cycles:
            return rows
        both = [self.planes.layout] if rows is None else [rows, self.planes.layout]
        return min(both, key=self.rank)

    @property
    def row_padding(self) -> int:
        """Returns the elements behind each row that cost least, 0 where padding does not help."""
        if self.parts not in self.row_paddings:
            tile, lds = self.question.named.tile, self.question.lds
            *_, best = padding_choices(
                lds, tile, self.costs.accesses, self.limit, self.is_legal, self.costs
            )
            self.row_paddings[self.parts] = best.padding_elements
        return self.row_paddings[self.parts]

    def is_legal(self, layout: PaddedLayout, tile: LdsTile | None = None) -> bool:
        """Returns whether accesses that need it stay aligned, and vectors whole."""
        tile = tile or self.question.named.tile
        aligned = all(misaligned_element(tile, layout, access) is None for access in self.whole)
        return aligned and (self.parts or self.starts.kept(tile, layout))
