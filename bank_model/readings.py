# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an answer would be if another source is right about an instruction that sources disagree on.

The table of a chip has one reading of each instruction, by which all is counted and decided, and
with it the other reading (`LdsInstruction.other`). The same code counts both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .accesses import LdsAccess, LdsTile
from .layout_counts import instruction_names
from .layouts import Layout, layout_conflicts
from .lds_rules import Lds, LdsInstruction, Sharing, Status
from .quick_tuple import NamedTuple
from .shown_text import counted

EVIDENCE = {
    Status.MEASURED: "measured by counter",
    Status.TIMED: "measured by latency",
    Status.PUBLISHED: "published",
    Status.DERIVED: "derived",
    Status.ASSUMED: "assumed",
}
"""The classes of evidence in words."""


class OtherReading(NamedTuple):
    """What accesses cost in a layout if another source is right.

    Attributes:
        claim: what it says of which instructions, in a clause.
        conflict_cycles: of one workgroup by the table.
        otherwise: of one workgroup by the other source.
    """

    claim: str
    conflict_cycles: int
    otherwise: int

    def __str__(self) -> str:
        return (
            f"sources disagree: {self.claim}; conflict cycles would be {self.otherwise:,}, "
            f"not {self.conflict_cycles:,}"
        )


def other_readings(
    lds: Lds, tile: LdsTile, layout: Layout, accesses: Iterable[LdsAccess]
) -> Iterator[OtherReading]:
    """Yields each other reading by which the accesses have other conflict cycles in the layout.

    It raises what `layouts.machine_accesses` raises.
    """
    accesses = tuple(accesses)
    for source in lds.other_sources:
        rows = [row for row in lds.rows if row.other and row.other.source == source]
        kinds = {row.kind for row in rows}
        concerned = [each for each in accesses if each.kind in kinds]
        by_row, by_other = (
            layout_conflicts(reading, tile, layout, concerned)
            for reading in (lds, lds.read_by(source))
        )
        if by_row == by_other:
            continue
        names = {name for name, _ in instruction_names(lds, tile, layout, concerned)}
        used = [row for row in rows if row.name in names]
        shown = " and ".join(row.name for row in used)
        now = layout_conflicts(lds, tile, layout, accesses)
        claim = f"by {source}, {shown} {_difference(used[0])}"
        yield OtherReading(claim, now, now - by_row + by_other)


def shown_readings(
    lds: Lds, tile: LdsTile, layout: Layout, accesses: Iterable[LdsAccess]
) -> tuple[str, ...]:
    """Returns `other_readings` in a sentence each."""
    return tuple(map(str, other_readings(lds, tile, layout, accesses)))


def _difference(instruction: LdsInstruction) -> str:
    """Returns what its other reading says of an instruction, as the rest of a clause."""
    other = instruction.other
    assert other is not None
    evidence = EVIDENCE[other.status]
    if other.sharing is not instruction.sharing:
        shares = "serves lanes that want the same word one after the other"
        return f"{shares if other.sharing is Sharing.LANE else 'shares words'} ({evidence})"
    return f"has {served_by(other)} ({evidence}), not {served_by(instruction)}"


def served_by(instruction: LdsInstruction) -> str:
    """Returns the banks and phases of an instruction in a few words."""
    return f"{instruction.banks} banks in {counted(len(instruction.phases), 'phase')}"
