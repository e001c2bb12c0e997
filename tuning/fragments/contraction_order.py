# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The order of the contractions of a segment: which use the results of others, and in which step.

    s0 = mma(q, k0, zero)      stage 0, step 0        e0 = exp2(...)
    s1 = mma(q1, k1, s0)       stage 0, step 1        o = mma(e0, v0, acc)       stage 1, step 0

A contraction that adds to another one is its next step. One that multiplies what others make is in
a later stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.index.index_ops import compute_after_operands
from ...dialect_utils.multiplications import ACCUMULATOR, is_multiplication


@dataclass
class ContractionOrder:
    """The operations of a segment, and what is known of its contractions.

    Operations are told by their places in the segment.

    Attributes:
        sources: for each operation and each of its operands the operation that makes it; None for
            one outside the segment.
        stages: for each operation how many contractions one behind the other it depends on, where a
            chain of contractions that are added up counts as one.
        steps: for each contraction its place in the chain.
    """

    segment: Sequence[ir.Operation]
    sources: list[list[int | None]] = field(default_factory=list)
    stages: list[int] = field(default_factory=list)
    steps: dict[int, int] = field(default_factory=dict)

    @staticmethod
    def of(segment: Sequence[ir.Operation], *, by_lanes: bool = False) -> ContractionOrder:
        """Finds the stages of all operations, and the steps of the contractions.

        Args:
            segment: operations of which none writes memory (`store_free_segments.py`).
            by_lanes: whether lanes that multiply vectors of their own elements contract, too.
        """
        order = ContractionOrder(segment)
        makers: dict[ir.Value, int] = {}
        for place, operation in enumerate(segment):
            sources = [makers.get(operand) for operand in operation.operands]
            is_contraction = is_multiplication(operation, by_lanes=by_lanes)
            order._add(place, sources, is_contraction)
            makers |= dict.fromkeys(operation.results, place)
        return order

    def _add(self, place: int, sources: list[int | None], is_contraction: bool) -> None:
        stage = 0
        for number, source in enumerate(sources):
            if source is None:
                continue
            is_added = is_contraction and number == ACCUMULATOR
            follows = source in self.steps and not is_added
            stage = max(stage, self.stages[source] + follows)
        self.sources.append(sources)
        self.stages.append(stage)
        if is_contraction:
            before = sources[ACCUMULATOR]
            self.steps[place] = 0 if before is None else self.steps.get(before, -1) + 1

    @property
    def contractions(self) -> list[ir.Operation]:
        """Returns the contractions in the order of the text."""
        return [self.segment[place] for place in self.steps]

    @property
    def uses_contractions(self) -> bool:
        """Returns whether the operands of a contraction depend on another contraction."""
        return any(self.stages[contraction] > 0 for contraction in self.steps)

    @property
    def by_steps(self) -> list[int]:
        """Returns the contractions by their stages, and in a stage by their steps."""
        return sorted(self.steps, key=lambda each: (self.stages[each], self.steps[each]))

    @property
    def by_stages(self) -> dict[int, list[int]]:
        """Returns the contractions of each stage by their steps, the first stage first."""
        found: dict[int, list[int]] = {}
        for place in self.by_steps:
            found.setdefault(self.stages[place], []).append(place)
        return found

    def move(self, places: Iterable[int]) -> None:
        """Moves the operations of the segment: these come in this order, each behind its operands.

        The others come right before the first one that needs them, or behind the last one, in
        their old order.
        """
        ordered: dict[int, None] = {}
        for place in (*places, *range(len(self.segment))):
            compute_after_operands(place, ordered, self.operands, lambda *_: None)
        last = len(self.segment) - 1
        for place in ordered:
            # Each goes to the end, so that they stand there in this order at last.
            if place != last:
                self.segment[place].move_after(self.segment[last])
            last = place

    def operands(self, place: int) -> list[int]:
        """Returns the places of what an operation depends on in the segment, the last one first.

        What is missing is visited from the end of the list.
        """
        return [source for source in reversed(self.sources[place]) if source is not None]
