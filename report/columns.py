# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The columns of the report's two tables, of allocations and of accesses.

Every format walks these lists: a column that is added here is in the text, in the Markdown, in the
HTML, and under its own keys in the JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from ..bank_model.layout_counts import LayoutCount
from .conflict_report import AllocationReport
from .contents import AccessRow, AllocationRow, short_location


class Unit(Enum):
    """What the values of a column are, which decides how they are set."""

    COUNT = "a number"
    BYTES = "a number of bytes"
    CYCLES = "a number of LDS cycles"
    CONFLICT_CYCLES = "a number of conflict cycles, marked where it is not 0"
    WORDS = "words"
    CODE = "something of the IR or the assembly"

    @property
    def is_number(self) -> bool:
        """Returns whether the column is aligned to the right."""
        return self not in (Unit.WORDS, Unit.CODE)


class Place(Enum):
    """Where the text shows words, and the figures of an allocation. Figures of an access have a
    column of their own there."""

    HEAD = "in the first line, set off"
    SIDE = "in the first line, behind the head"
    LINE = "on a line of its own, without its title"
    TITLED_LINE = "on a line of its own, behind its title"
    NOWHERE = "not at all: other words say it"


@dataclass(frozen=True)
class OfIdeal:
    """LDS cycles of an allocation as it stands, beside the fewest.

    Attributes:
        figures: the two, empty where they are not known.
        least: whether they are lower bounds.
    """

    figures: Sequence[int]
    least: bool = False

    def __str__(self) -> str:
        shown = " / ".join(f"{figure:,}" for figure in self.figures)
        return f"{'at least ' if self.least else ''}{shown}" if shown else "not known"


@dataclass(frozen=True)
class PerLayout:
    """A figure of an allocation under the plain, the padded and the chosen layout.

    Attributes:
        figures: the three, empty where they are not known.
        otherwise: the words that stand for figures that are not known.
        least: whether they are lower bounds.
        proposed: whether the chosen layout is only a proposal, and the value says it.
    """

    figures: Sequence[int]
    otherwise: str = "not known"
    least: bool = False
    proposed: bool = False

    def parts(self) -> list[tuple[str, int | None]]:
        """Returns the figures one by one, each in words and as a number."""
        if not self.figures:
            return [(self.otherwise, None)] * 3
        least = "at least " if self.least else ""
        proposed = ["", "", " (proposed)" if self.proposed else ""]
        return [
            (f"{least}{figure:,}{suffix}", figure)
            for figure, suffix in zip(self.figures, proposed, strict=True)
        ]

    def __str__(self) -> str:
        if not self.figures:
            return self.otherwise
        shown = " / ".join(f"{figure:,}" for figure in self.figures)
        return f"{'at least ' if self.least else ''}{shown}{' (proposed)' if self.proposed else ''}"


Row = TypeVar("Row", AllocationRow, AccessRow)
Value = int | str | PerLayout | OfIdeal


def _no_data(_row: object) -> dict[str, object]:
    return {}


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column of a table.

    Attributes:
        title: its heading; `{chosen}` in it becomes "chosen" or "proposed".
        value: what a row shows there.
        unit: what the values are.
        data: what the JSON holds of it, by keys.
        place: where the text shows it.
        brief: what the text shows instead of `value`.
    """

    title: str
    value: Callable[[Row], Value]
    unit: Unit = Unit.WORDS
    data: Callable[[Row], dict[str, object]] = _no_data
    place: Place = Place.TITLED_LINE
    brief: Callable[[Row], str] | None = None

    def heading(self, allocation: AllocationReport) -> str:
        """Returns the heading in a table on one allocation."""
        return self.title.format(chosen=chosen_word(allocation))

    def shown(self, row: Row) -> str:
        """Returns the value of a row in words."""
        return shown_value(self.value(row))


def shown_value(value: Value) -> str:
    """Returns a value in words; numbers have separators between thousands."""
    return f"{value:,}" if isinstance(value, int) else str(value)


def chosen_word(allocation: AllocationReport) -> str:
    """Returns the heading of the chosen layout."""
    return "proposed" if allocation.is_proposed else "chosen"


def figure_words(value: PerLayout | OfIdeal, allocation: AllocationReport) -> tuple[str, ...]:
    """Returns the headings of the figures of a value."""
    if isinstance(value, OfIdeal):
        return IDEAL_WORDS
    return "before", "padded", chosen_word(allocation)


IDEAL_WORDS = ("as it stands", "ideal")
"""The headings of the figures of an `OfIdeal`."""


# The columns of an allocation.


def shown_type(allocation: AllocationReport) -> str:
    """Returns the type, with the logical tile where that has another shape."""
    if allocation.tile is None:
        return allocation.type
    shape = "x".join(map(str, allocation.tile.shape))
    if f"<{shape}x" in allocation.type:
        return allocation.type
    return f"{allocation.type} as {shape}"


def _type_data(row: AllocationRow) -> dict[str, object]:
    tile = row.report.tile
    return {
        "type": row.report.type,
        "tile": list(tile.shape) if tile else None,
        "element_bits": tile.element_bits if tile else None,
    }


def _layout_counts(report: AllocationReport) -> list[LayoutCount]:
    counts = (report.before, report.padded, report.chosen)
    return [count for count in counts if count is not None]


def _cycles(row: AllocationRow) -> PerLayout:
    report = row.report
    cycles = [count.conflict_cycles for count in _layout_counts(report)]
    return PerLayout(cycles, least=bool(report.unknown), proposed=report.is_proposed)


def _sizes(row: AllocationRow) -> PerLayout:
    size = row.report.lds_bytes
    sizes = [count.lds_bytes for count in _layout_counts(row.report)]
    return PerLayout(sizes, "not known" if size is None else f"{size:,}")


def _lds_cycles(row: AllocationRow) -> OfIdeal:
    report = row.report
    if report.standing is None:
        return OfIdeal(())
    cycles = report.lds_cycles(report.standing), report.ideal_cycles
    return OfIdeal(cycles, least=bool(report.unknown))


def _lds_cycles_data(row: AllocationRow) -> dict[str, object]:
    known = row.report.standing is not None
    return {"ideal_lds_cycles": row.report.ideal_cycles if known else None}


ALLOCATION_COLUMNS: tuple[Column[AllocationRow], ...] = (
    Column(
        "",
        lambda row: str(row.number),
        Unit.COUNT,
        lambda row: {"number": row.number},
        Place.HEAD,
    ),
    Column(
        "allocation",
        lambda row: shown_type(row.report),
        Unit.CODE,
        _type_data,
        Place.HEAD,
    ),
    Column(
        "at",
        lambda row: short_location(row.report.location, row.inputs),
        data=lambda row: {"location": row.report.location},
        place=Place.SIDE,
    ),
    Column("conflict cycles", _cycles, Unit.CONFLICT_CYCLES, place=Place.NOWHERE),
    Column("LDS cycles", _lds_cycles, Unit.CYCLES, _lds_cycles_data),
    Column("LDS bytes", _sizes, Unit.BYTES, lambda row: {"lds_bytes": row.report.lds_bytes}),
    Column(
        "decision",
        lambda row: row.report.decision,
        data=lambda row: {"decision": row.report.decision},
        place=Place.LINE,
    ),
)


# The columns of an access.


def _place(row: AccessRow) -> str:
    """Returns the first place of the accesses, and how many more there are."""
    locations = row.group.locations
    first = short_location(locations[0], row.inputs) if locations else ""
    more = len(locations) - 1
    return f"{first} +{more}" if more else first


def _access(row: AccessRow) -> str:
    """Returns the kind of an access, with a count such as `read x 32` for several alike."""
    count = len(row.group.members)
    return row.group.kind.value if count == 1 else f"{row.group.kind.value} x {count}"


def _instructions(row: AccessRow) -> str:
    """Returns the machine instructions before, and after where they are others."""
    allocation = row.allocation
    assert allocation.before is not None
    assert allocation.chosen is not None
    before = _names(allocation.instructions(row.group, allocation.before.layout))
    after = _names(allocation.instructions(row.group, allocation.chosen.layout))
    return before if before == after else f"{before} -> {after}"


def _names(instructions: Sequence[tuple[str, int]]) -> str:
    return " + ".join(f"{count} {name}" for name, count in instructions) or "none"


def _pattern_data(row: AccessRow) -> dict[str, object]:
    pattern = row.group.pattern
    formulas = pattern.formulas
    if formulas is not None:
        formulas = dict(zip(pattern.dimensions, formulas, strict=True))
    return {
        "elements_per_lane": row.group.elements_per_lane,
        "pattern": {
            "text": str(pattern),
            "formulas": formulas,
            "ranges": dict(pattern.ranges),
            "active": pattern.active or None,
        },
    }


def _runs_data(row: AccessRow) -> dict[str, object]:
    group = row.group
    return {"weight": group.weight, "issues": group.issues, "runs": group.runs}


def _conflicts(count_of: Callable[[AllocationReport], LayoutCount | None]) -> Callable[..., int]:
    def cycles(row: AccessRow) -> int:
        count = count_of(row.allocation)
        return 0 if count is None else row.group.conflict_cycles(count)

    return cycles


def _cycles_as_it_stands(row: AccessRow) -> int:
    standing = row.allocation.standing
    return 0 if standing is None else row.group.lds_cycles(standing)


ACCESS_COLUMNS: tuple[Column[AccessRow], ...] = (
    Column(
        "",
        lambda row: str(row.number),
        Unit.COUNT,
        lambda row: {"number": row.number},
    ),
    Column(
        "access",
        _access,
        data=lambda row: {"kind": row.group.kind.value, "count": len(row.group.members)},
        place=Place.HEAD,
    ),
    Column(
        "at",
        _place,
        data=lambda row: {"locations": list(row.group.locations)},
        place=Place.SIDE,
    ),
    Column("instructions", _instructions, Unit.CODE, place=Place.HEAD),
    Column(
        "lanes' pattern",
        lambda row: str(row.group.pattern),
        Unit.CODE,
        _pattern_data,
        Place.LINE,
        lambda row: row.group.pattern.short,
    ),
    Column("runs", lambda row: row.group.runs, Unit.COUNT, _runs_data),
    Column("before", _conflicts(lambda a: a.before), Unit.CONFLICT_CYCLES),
    Column("padded", _conflicts(lambda a: a.padded), Unit.CONFLICT_CYCLES),
    Column("{chosen}", _conflicts(lambda a: a.chosen), Unit.CONFLICT_CYCLES),
    Column("cycles", _cycles_as_it_stands, Unit.CYCLES),
    Column(
        "ideal",
        lambda row: row.group.ideal_cycles,
        Unit.CYCLES,
        lambda row: {"ideal_lds_cycles": row.group.ideal_cycles},
    ),
)
