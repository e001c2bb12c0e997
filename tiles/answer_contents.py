# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is shown of an answer, in whatever format: a table, lines on the swizzle, bank maps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from ..bank_model.accesses import LdsTile
from ..bank_model.bank_map import BankMap, phase_maps, worst_phase
from ..bank_model.layouts import Layout, PaddedLayout, SwizzledLayout
from ..bank_model.lds_rules import AccessKind
from ..bank_model.readings import shown_readings
from ..bank_model.strided_layout import StridedLayout
from ..report.bank_map_text import cycles_caption, folding_caption, phase_caption
from .counts import AccessCount, CountedLayout, Question

if TYPE_CHECKING:
    from .framework_notations import Notation


@dataclass(frozen=True)
class CostRow:
    """A row of the table of costs: a figure or words for each layout.

    Attributes:
        title: what the row is about.
        cells: one per layout.
        conflicts: the conflict cycles that the cells say, where they do.
    """

    title: str
    cells: tuple[str, ...]
    conflicts: tuple[int, ...] = ()


@dataclass(frozen=True)
class DrawnMap:
    """A bank map, its caption, and in words which other phases it stands for.

    `layout` is the first one of `tile` that has this map.
    """

    caption: str
    drawn: BankMap
    folding: str
    tile: LdsTile
    layout: Layout


MapsShown = tuple[DrawnMap, ...]
"""The maps of an access, under each layout that makes a difference."""


class Contents(ABC):
    """What is shown of an answer, whatever the format.

    Attributes:
        question: what was asked.
    """

    question: Question

    @property
    @abstractmethod
    def layouts(self) -> Mapping[str, CountedLayout]:
        """Returns the columns of the table of costs, by name."""

    @property
    @abstractmethod
    def counted(self) -> CountedLayout:
        """Returns the layout that the answer is about."""

    @property
    @abstractmethod
    def code_title(self) -> str:
        """Returns the heading of the layout that is written in C."""

    @property
    @abstractmethod
    def chosen_title(self) -> str:
        """Returns the name of the layout that the answer is about."""

    @property
    def drawn(self) -> Mapping[str, CountedLayout]:
        """Returns the layouts whose bank maps are shown, by name, the one before first."""
        return self.layouts

    @property
    def written_swizzle(self) -> CountedLayout | None:
        """Returns the swizzle that is written out in `notations` and in C; None without one."""
        return None

    @property
    def notations(self) -> tuple[Notation, ...]:
        """Returns the swizzle in the words of each framework; nothing where there is none."""
        return ()

    def choice(self) -> Iterator[tuple[str, str]]:
        """Yields titles and texts on why a layout was chosen; nothing where none was."""
        yield from ()

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yields titles and texts that stand below the table."""
        yield from self.choice()
        yield from (("note", note) for note in notes(self.counted))

    @property
    def written(self) -> CountedLayout:
        """Returns the layout that is written in C."""
        return self.written_swizzle or self.counted


def layout_title(name: str, count: CountedLayout) -> str:
    """Returns the heading of a layout's column."""
    layout = count.layout
    if isinstance(layout, PaddedLayout):
        return f"padded by {layout.padding_elements}"
    if name in ("padded", "best") and isinstance(layout, StridedLayout):
        return "planes padded"
    if name == "best" and isinstance(layout, SwizzledLayout):
        return "swizzled, padded" if layout.padding_elements else "swizzled"
    return name


def cost_rows(counts: Sequence[CountedLayout]) -> Iterator[CostRow]:
    """Yields the rows of a table with a column for each of `counts`."""
    conflicts = tuple(count.conflict_cycles for count in counts)
    yield CostRow("conflict cycles", tuple(f"{c:,}" for c in conflicts), conflicts)
    yield CostRow("LDS cycles", tuple(f"{count.cycles:,}" for count in counts))
    yield CostRow("LDS instructions issued", tuple(f"{count.instructions:,}" for count in counts))
    yield CostRow("LDS bytes", tuple(f"{count.lds_bytes:,}" for count in counts))
    for number, first in enumerate(counts[0].accesses):
        each = [count.accesses[number] for count in counts]
        found = tuple(access.conflict_cycles for access in each)
        yield CostRow(f"{first.accesses}, conflict cycles", tuple(map(_conflicts, each)), found)
        yield CostRow("   instructions", tuple(map(_instructions, each)))


def _conflicts(access: AccessCount) -> str:
    """Returns the conflict cycles of an argument's accesses, and those of one of them."""
    least, most = access.conflicts_per_access
    number = len(access.costs)
    if number == 1 or not most:
        return f"{access.conflict_cycles:,}"
    one = f"{most:,} each" if least == most else f"{least:,} to {most:,} each"
    return f"{access.conflict_cycles:,}, {one}"


def _instructions(access: AccessCount) -> str:
    names = " + ".join(f"{count} {name}" for name, count in access.instructions) or "none"
    if access.is_split:
        return f"{names} (split)"
    if access.reordered_elements:
        return f"{names} (reordered)"
    return names


def notes(count: CountedLayout) -> Iterator[str]:
    """Yields what else to know of the costs in a layout, a sentence each."""
    yield from count.remarks
    code = count.code
    for each in count.accesses:
        movers = " and ".join(filter(None, map(code.mover, each.moves)))
        if each.is_split:
            before = " + ".join(f"{number} {name}" for name, number in each.plain_instructions)
            after = " + ".join(f"{number} {name}" for name, number in each.instructions)
            done = f"; {movers} does so" if movers else ""
            yield f"{each.accesses} is split by this layout: {before} become {after}{done}"
        elif each.reordered_elements:
            done = (
                f"{movers} writes" if each.accesses.kind is AccessKind.WRITE else f"{movers} reads"
            )
            yield (
                f"{each.accesses} stays whole, but groups of {each.reordered_elements} elements "
                "change their order within a lane's vector, alike in all lanes: "
                f"{done if movers else 'move'} the registers in that order"
            )
    if code.unit_note():
        yield code.unit_note()
    for instruction in count.assumed_instructions:
        yield f"the phases of {instruction.name} are assumed: {instruction.source}"
    question = count.question
    layout = question.counted(count.layout)
    yield from shown_readings(question.lds, question.tile, layout, question.flat)


def code_lines(count: CountedLayout) -> Iterator[tuple[str, str]]:
    """Yields titles and texts of how a layout is written in C."""
    code = count.code
    yield "offset", f"o = {code.offset}"
    yield "place", code.place
    if code.subscript and code.subscript != "column":
        yield "subscript", f"tile[row * {code.pitch} + ({code.subscript})]"


def maps_of(counts: Mapping[str, CountedLayout]) -> Iterator[tuple[DrawnMap, ...]]:
    """Yields for each argument the worst phase of its accesses in each of the layouts.

    Args:
        counts: layouts by name, the first of them the one before. A map that is as before is not
            repeated.
    """
    for number in range(len(next(iter(counts.values())).accesses)):
        named = {name: count.accesses[number] for name, count in counts.items()}
        folded = {name: access.folded_map() for name, access in named.items()}
        maps = {
            name: (each.shown, folding_caption(each, "wave"))
            for name, each in folded.items()
            if each is not None
        }
        yield tuple(_drawn_maps(named, maps))


_MOST_PHASES = 8
"""That a reader may choose from: those of a wave's access of 16 bytes on AMD."""


def phases_of(counts: Mapping[str, CountedLayout], number: int) -> Iterator[tuple[str, MapsShown]]:
    """Yields the phases of the instruction whose worst phase is shown, each in words and as maps.

    Args:
        counts: as in `maps_of`.
        number: which argument of the question.
    """
    named = {name: count.accesses[number] for name, count in counts.items()}
    machines = {name: access.machine_accesses() for name, access in named.items()}
    first, *_ = machines.values()
    worst = worst_phase(first)
    if worst is None:
        return
    index, issue, _ = worst
    # A layout that splits the access has other instructions.
    alike = [found[index if len(found) == len(first) else 0] for found in machines.values()]
    for maps in islice(phase_maps(alike, [issue]), _MOST_PHASES):
        shown = {name: (found, "") for name, found in zip(named, maps, strict=True)}
        words = f"phase {maps[0].number}: {cycles_caption(maps)}"
        yield words, tuple(_drawn_maps(named, shown))


def _drawn_maps(
    named: Mapping[str, AccessCount], maps: Mapping[str, tuple[BankMap, str]]
) -> Iterator[DrawnMap]:
    """Yields the maps of an access in several layouts, equal ones once.

    Args:
        named: the access in each of the layouts, by their names.
        maps: the map in each of them, and which other phases it stands for.
    """
    names: dict[object, list[str]] = {}
    for name, (found, _) in maps.items():
        names.setdefault(found.lanes_by_bank, []).append(name)
    for equal in names.values():
        access, (found, folding) = named[equal[0]], maps[equal[0]]
        question = access.question
        phase = phase_caption(found, f"wave {found.issue}" if question.lanes.waves > 1 else "")
        caption = f"{access.accesses}, {' and '.join(equal)}: {phase}"
        yield DrawnMap(caption, found, folding, question.named.tile, access.layout)
