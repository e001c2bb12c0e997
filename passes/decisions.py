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
        """The decision as JSON-ready data."""
        return asdict(self) | {"action": self.action.value}


@dataclass
class DecisionLog:
    """Decisions in the order in which the passes made them."""

    decisions: list[Decision] = field(default_factory=list)

    def add(self, decision: Decision) -> None:
        """Appends one decision."""
        self.decisions.append(decision)

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.decisions)

    def to_json(self) -> str:
        """The log as a JSON document, `{"version": 1, "decisions": [...]}`."""
        document = {"version": 1, "decisions": [d.to_json() for d in self.decisions]}
        return json.dumps(document, indent=2) + "\n"
