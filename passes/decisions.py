# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each LDS allocation got, and why: the record behind remarks and decision files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, field
from enum import Enum, IntEnum
from math import prod

from ..bank_model.quick_dataclass import dataclass


class Action(Enum):
    """What a pass did with an allocation."""

    HINT = "hint"
    """A swizzle hint was emitted."""
    RESOLVE = "resolve"
    """The hints of the allocation were resolved into its offsets."""
    DROP = "drop"
    """The hints of the allocation were dropped; its layout stays plain."""
    PAD = "pad"
    """The rows of the allocation were padded."""
    RENAME = "rename"
    """The indices by which it is accessed were renamed."""
    LDMATRIX = "ldmatrix"
    """Operands of contractions are read from the allocation by `ldmatrix`."""
    WGMMA = "wgmma"
    """Operands of contractions are read from the allocation by `wgmma` itself."""
    OVERLAP = "overlap"
    """The allocation got slots that are filled while contractions run."""
    SHARE = "share"
    """The allocation lies in the memory of another one, which is used later."""
    RELOAD = "reload"
    """Operands are read from the allocation in every iteration of a loop."""
    RETILE = "retile"
    """A workgroup of the operation computes another tile."""
    SPLIT = "split"
    """The keys of the operation are shared among workgroups."""
    COPY_HEADS = "copy heads"
    """The operation reads copies of its operands that have longer rows."""
    RAISE = "raise"
    """The operation is part of an attention."""
    STOCK = "stock"
    """Nothing: what stock's layout of the allocation would cost was counted."""
    EXCHANGE = "exchange"
    """Nothing: the LDS instructions by which lanes exchange values were counted."""
    KEEP = "keep"
    """The allocation was left as it is."""

    @property
    def is_layout(self) -> bool:
        """Returns whether the allocation has another layout then, or is said to keep its own."""
        return self in (Action.HINT, Action.DROP, Action.PAD, Action.KEEP)


@dataclass(frozen=True)
class Decision:
    """One pass's decision on one allocation.

    `conflict_cycles_before` and `_after` count one execution of every access by one workgroup,
    weighted by the trip counts of the static loops around it; None where no count exists. So do
    `lds_instructions_before` and `_after`, of all waves of a workgroup, as the backend is expected
    to issue them. "Before" is the plain layout.
    """

    pass_name: str
    function: str
    allocation: str
    """The allocation's memref or tensor type without its memory space."""
    location: str
    action: Action
    reason: str
    detail: str = ""
    """The swizzle attributes or the padding in bytes, in a few words."""
    lds_bytes_before: int | None = None
    lds_bytes_after: int | None = None
    conflict_cycles_before: int | None = None
    conflict_cycles_after: int | None = None
    lds_instructions_before: int | None = None
    lds_instructions_after: int | None = None
    other_readings: tuple[str, ...] = ()
    """What else the conflict cycles afterwards may be, where sources on the chip disagree, in
    sentences."""

    @property
    def memory(self) -> tuple[str, str, int, str]:
        """Returns what tells the allocation also once it is flat, or no tensor any more."""
        _, _, parts = self.allocation.rstrip(">").partition("<")
        *sizes, element = parts.split("x")
        known = sizes if all(map(str.isdecimal, sizes)) else []
        shown = element if known == sizes else parts
        return self.function, self.location, prod(map(int, known)), shown

    def to_json(self) -> dict[str, object]:
        """Returns the decision as JSON-ready data."""
        data: dict[str, object] = asdict(self)
        return data | {"action": self.action.value}


class LayoutRound(IntEnum):
    """In which round a pass decides on the layouts of a function's allocations.

    An allocation that one round keeps as it is may get a layout in a later one.
    """

    NONE = 0
    """The pass decides on something else, or carries out what others have decided."""
    FIRST = 1
    """On what a pipeline allocates before vectors are distributed."""
    SECOND = 2
    """On all that is allocated then."""
    LAST = 3


@dataclass
class DecisionLog:
    """Decisions in the order in which the passes made them."""

    decisions: list[Decision] = field(default_factory=list)
    _rounds: dict[str, LayoutRound] = field(default_factory=dict, compare=False)
    """The round of each pass that has decided, by the pass's name."""

    def add(self, decision: Decision, layout_round: LayoutRound = LayoutRound.LAST) -> None:
        """Appends one decision, of a pass that decides on layouts in this round."""
        self.decisions.append(decision)
        self._rounds[decision.pass_name] = layout_round

    def extend(self, other: DecisionLog) -> None:
        """Appends the decisions of another log."""
        self.insert(len(self.decisions), other)

    def insert(self, place: int, other: DecisionLog) -> None:
        """Puts the decisions of another log in front of the one at a place."""
        self.decisions[place:place] = other.decisions
        self._rounds |= other._rounds

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.decisions)

    def stands(self, decision: Decision) -> bool:
        """Returns whether `decision` is about a layout, and what its allocation got in the end.

        An allocation that was kept as it is counts as decided on again if a later round has decided
        on the same function. Hints that were dropped are in no code.
        """
        if decision.action is Action.HINT:
            return not self._is_dropped(decision)
        if decision.action is not Action.KEEP:
            return decision.action.is_layout
        made_in = self.round_of(decision)
        return made_in is not LayoutRound.NONE and not any(
            other.function == decision.function and self.round_of(other) > made_in
            for other in self.decisions
            if other.action.is_layout
        )

    def _is_dropped(self, hint: Decision) -> bool:
        """Returns whether its hints were dropped; of equal allocations the first lose theirs."""
        alike = [each for each in self.decisions if each.memory == hint.memory]
        hints = [each for each in alike if each.action is Action.HINT]
        drops = sum(each.action is Action.DROP for each in alike)
        return any(each is hint for each in hints[:drops])

    def round_of(self, decision: Decision) -> LayoutRound:
        """Returns the round in which the pass of a decision decides on layouts."""
        return self._rounds.get(decision.pass_name, LayoutRound.LAST)

    def since(self, first: int) -> DecisionLog:
        """Returns the decisions from a place on, as a log of their own."""
        return DecisionLog(self.decisions[first:], self._rounds)

    def lds_instructions_left(self, function: str) -> int | None:
        """Returns the LDS instructions of a workgroup of one function, by the decisions that stand.

        Those by which lanes exchange values are among them. Returns None where a decision does not
        say them.
        """
        left = [
            each.lds_instructions_after
            for each in self.decisions
            if each.function == function and (self.stands(each) or each.action is Action.EXCHANGE)
        ]
        known = [each for each in left if each is not None]
        return sum(known) if len(known) == len(left) else None

    def stock_costs(self, function: str) -> tuple[int, int] | None:
        """Returns the conflict cycles and the LDS instructions of a workgroup of one function in
        stock's layouts, with exchanges as the function has them; None where they were not all
        counted."""
        stock = [
            (each.conflict_cycles_after, each.lds_instructions_after)
            for each in self.decisions
            if each.function == function and each.action in (Action.STOCK, Action.EXCHANGE)
        ]
        known = [(c, i) for c, i in stock if c is not None and i is not None]
        if len(known) < len(stock):
            return None
        return sum(c for c, _ in known), sum(i for _, i in known)

    def conflict_cycles_left(self, function: str = "") -> int | None:
        """Returns the conflict cycles that the decisions that stand leave in a workgroup.

        They are those of one function, or of all where none is named. Where stores become copies,
        those of the copies take the place of those of the stores. Returns None where a decision
        does not say them.
        """
        of_function = [each for each in self.decisions if function in ("", each.function)]
        left = [self._cycles_left(each) for each in of_function if self.stands(each)]
        for each in of_function:
            if each.action is Action.OVERLAP:
                before, after = each.conflict_cycles_before, each.conflict_cycles_after
                left.append(None if before is None or after is None else after - before)
        known = [each for each in left if each is not None]
        return sum(known) if len(known) == len(left) else None

    def _cycles_left(self, decision: Decision) -> int | None:
        """Returns the conflict cycles that a decision leaves, counted by the pass itself or by the
        one that has found the allocation decided on."""
        if decision.conflict_cycles_after is not None:
            return decision.conflict_cycles_after

        def is_alike(other: Decision) -> bool:
            key = (other.function, other.allocation, other.location)
            return key == (decision.function, decision.allocation, decision.location)

        alike = [each for each in self.decisions if is_alike(each)]
        place = [each for each in alike if each.pass_name == decision.pass_name].index(decision)
        kept = [each for each in alike if each.action is Action.KEEP and not self.stands(each)]
        return kept[place].conflict_cycles_after if place < len(kept) else None

    def to_json(self) -> str:
        """Returns the log as a JSON document, `{"version": 1, "decisions": [...]}`."""
        decisions = [d.to_json() | {"stands": self.stands(d)} for d in self.decisions]
        return json.dumps({"version": 1, "decisions": decisions}, indent=2) + "\n"
