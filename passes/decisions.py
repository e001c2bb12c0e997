# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each LDS allocation got, and why: the record behind remarks and decision files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from enum import Enum


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
    """Operands of matrix products are read from the allocation by `ldmatrix`."""
    OVERLAP = "overlap"
    """The allocation got slots that are filled while products run."""
    RELOAD = "reload"
    """Operands are read from the allocation in every trip of a loop."""
    RETILE = "retile"
    """A workgroup of the operation computes another tile."""
    KEEP = "keep"
    """The allocation was left as it is."""


@dataclass(frozen=True)
class Decision:
    """One pass's decision on one allocation.

    `conflict_cycles_before` and `_after` count one execution of every access by one workgroup,
    weighted by the trip counts of the static loops around it; None where no count exists.
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

    def to_json(self) -> dict[str, object]:
        """Returns the decision as JSON-ready data."""
        data: dict[str, object] = asdict(self)
        return data | {"action": self.action.value}


RETILE_PASS = "bankwise-retile"
LDMATRIX_PASS = "bankwise-form-ldmatrix"
RENAME_PASS = "bankwise-rename-registers"
HINT_PASS = "bankwise-hint-vector-allocs"
SWIZZLE_PASS = "bankwise-swizzle-lds-allocs"
PAD_PASS = "bankwise-pad-unhinted-allocs"
WARN_PASS = "bankwise-warn-unhinted-allocs"

_NO_LAYOUTS = (Action.RESOLVE, Action.RENAME, Action.OVERLAP, Action.RELOAD)
_NO_LAYOUT_PASSES = (RETILE_PASS, LDMATRIX_PASS)


@dataclass
class DecisionLog:
    """Decisions in the order in which the passes made them."""

    decisions: list[Decision] = field(default_factory=list)

    def add(self, decision: Decision) -> None:
        """Appends one decision."""
        self.decisions.append(decision)

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.decisions)

    def stands(self, decision: Decision) -> bool:
        """Returns whether `decision` is what its allocation got in the end.

        An allocation without a hint is decided on again by the pass that swizzles what others have
        allocated, and by the padding or the warning pass, of those that run after the decision; the
        resolving of a hint only carries out what was decided, and neither a renaming, nor a slot,
        nor the place or the instruction of a read is a layout. The tile of a workgroup is about no
        allocation.
        """
        if decision.action in _NO_LAYOUTS or decision.pass_name in _NO_LAYOUT_PASSES:
            return False
        if decision.action is Action.KEEP and decision.pass_name in (HINT_PASS, SWIZZLE_PASS):
            later = {PAD_PASS, WARN_PASS}
            if decision.pass_name == HINT_PASS:
                later.add(SWIZZLE_PASS)
            return not any(
                other.pass_name in later and other.function == decision.function
                for other in self.decisions
            )
        return True

    def conflict_cycles_left(self, function: str = "") -> int | None:
        """Returns the conflict cycles that the decisions that stand leave in a workgroup.

        They are those of one function, or of all where none is named. Returns None where a decision
        does not say them.
        """
        left = [
            each.conflict_cycles_after
            for each in self.decisions
            if function in ("", each.function) and self.stands(each)
        ]
        known = [each for each in left if each is not None]
        return sum(known) if len(known) == len(left) else None

    def to_json(self) -> str:
        """Returns the log as a JSON document, `{"version": 1, "decisions": [...]}`."""
        decisions = [d.to_json() | {"stands": self.stands(d)} for d in self.decisions]
        return json.dumps({"version": 1, "decisions": decisions}, indent=2) + "\n"
