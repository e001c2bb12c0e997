# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which bank maps a report shows: equal ones once, whatever phases and accesses have them.

Every format walks `shown_maps`. An access whose maps are those of an earlier one refers to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from ..bank_model.bank_map import BankMap, phase_maps
from ..bank_model.layout_counts import LayoutCount
from ..bank_model.map_folding import FoldedMap
from .bank_map_text import cycles_caption, folding_caption, phase_caption
from .columns import chosen_word
from .conflict_report import AccessGroup
from .contents import AccessRow, AllocationRow


@dataclass(frozen=True, eq=False)
class ShownMap:
    """One bank map of an access, under one layout or under two that make no difference.

    Attributes:
        layouts: the words for the layouts: "before", "chosen", "before and chosen", ...
        by_layout: each of these layouts with its map, and which others that stands for. The maps
            show the same, although their words may lie elsewhere.
        caption: which phase it shows, and how many cycles that takes.
        folding: which other phases it stands for, in words; may be empty.
    """

    layouts: str
    by_layout: tuple[tuple[LayoutCount, FoldedMap], ...]
    caption: str
    folding: str

    @property
    def drawn(self) -> BankMap:
        """Returns the map that is drawn."""
        return self.by_layout[0][1].shown

    @property
    def looks(self) -> tuple[object, ...]:
        """Returns all that is seen of the picture: equal maps look alike."""
        return self.caption, self.drawn.lanes_by_bank


@dataclass(frozen=True, eq=False)
class AccessMaps:
    """What is shown of the bank maps of an access.

    Attributes:
        access: the access.
        maps: the map before and the chosen one; one map where they are equal; none where no lane
            is ever active.
        same_as: the earlier access that has the same maps, which are shown there.
    """

    access: AccessRow
    maps: tuple[ShownMap, ...]
    same_as: AccessRow | None

    @property
    def folding(self) -> str:
        """Returns which other phases all of the maps stand for, in words; may be empty."""
        return _joined({each.layouts: each.folding for each in self.maps}) if self.maps else ""

    @property
    def reference(self) -> str:
        """Returns the sentence that refers to the earlier access; empty without one."""
        if self.same_as is None:
            return ""
        sentence = f"the bank maps are those of {self.same_as.number}"
        return f"{sentence}; {self.folding}" if self.folding else sentence


def shown_maps(allocations: Iterable[AllocationRow]) -> dict[int, AccessMaps]:
    """Returns the maps of all accesses by the numbers of these, in their order."""
    first_with: dict[object, AccessRow] = {}
    found: dict[int, AccessMaps] = {}
    for allocation in allocations:
        for access in allocation.accesses:
            maps = tuple(_maps(access))
            looks = tuple((each.layouts, each.looks) for each in maps)
            first = first_with.setdefault(looks, access) if maps else access
            found[access.number] = AccessMaps(access, maps, None if first is access else first)
    return found


def _maps(access: AccessRow) -> Iterator[ShownMap]:
    allocation = access.allocation
    word = chosen_word(allocation)
    before = _shown("before", allocation.before, access)
    if before is None or allocation.chosen is allocation.before:
        yield from () if before is None else (before,)
        return
    chosen = _shown(word, allocation.chosen, access)
    if chosen is None:
        yield before
    else:
        yield from _joined_maps((before, chosen))


def _shown(layouts: str, count: LayoutCount | None, access: AccessRow) -> ShownMap | None:
    group = access.group
    assert count is not None
    folded = access.allocation.folded_map(group, count.layout)
    if folded is None:
        return None
    return _of_phase(layouts, count, folded, group, folding_caption(folded, group.issue_name))


def _of_phase(
    layouts: str, count: LayoutCount, folded: FoldedMap, group: AccessGroup, folding: str
) -> ShownMap:
    issue = issue_words(group, folded.shown.issue)
    return ShownMap(layouts, ((count, folded),), phase_caption(folded.shown, issue), folding)


def issue_words(group: AccessGroup, issue: int) -> str:
    """Returns which wave or issue it is, such as `wave 2`; empty where there is only one."""
    return f"{group.issue_name} {issue}" if group.issues > 1 else ""


@dataclass(frozen=True, eq=False)
class PhaseChoice:
    """Another phase of an access that a reader may look at.

    Attributes:
        words: which phase it is, and how many cycles it takes under each layout.
        maps: its maps, as those of `AccessMaps`.
    """

    words: str
    maps: tuple[ShownMap, ...]


def phase_choices(shown: AccessMaps, most: int) -> list[PhaseChoice]:
    """Returns the phases of the instruction whose worst phase is shown, at most `most` of them.

    Those of the wave that is shown come first. A layout that splits the access into other
    instructions shows the phase in which the first lane is served.
    """
    if not shown.maps:
        return []
    drawn = {each.layouts: each.by_layout for each in shown.maps}
    before, *others = (pair for pairs in drawn.values() for pair in pairs)
    allocation, group = shown.access.allocation, shown.access.group
    layouts = [("before", before), *((chosen_word(allocation), pair) for pair in others)]
    worst = before[1]
    machines = [
        allocation.machine_access(
            group,
            count.layout,
            (worst if folded.instructions == worst.instructions else folded).instruction,
        )
        for _, (count, folded) in layouts
    ]
    first = worst.shown.issue
    issues = [first, *(issue for issue in range(len(machines[0].addresses)) if issue != first)]
    found = islice(phase_maps(machines, issues), most)
    return [_choice(group, layouts, maps) for maps in found]


Choices = Mapping[int, Sequence[PhaseChoice]]
"""The phases that a reader may choose, by the numbers of accesses."""
_MOST_OF_AN_ACCESS, _MOST_OF_A_REPORT = 8, 400
"""A wave's accesses of 16 bytes have 8 phases on AMD, 4 on NVIDIA; 400 choices take a second."""


def all_phase_choices(shown: Iterable[AccessMaps]) -> Choices:
    """Returns the phases that a report offers, until it offers so many as fit into a page."""
    found: dict[int, Sequence[PhaseChoice]] = {}
    left = _MOST_OF_A_REPORT
    for each in shown:
        if each.same_as is None:
            choices = phase_choices(each, min(left, _MOST_OF_AN_ACCESS))
            found[each.access.number] = choices
            left -= len(choices)
    return found


def _choice(
    group: AccessGroup,
    layouts: Sequence[tuple[str, tuple[LayoutCount, FoldedMap]]],
    maps: Sequence[BankMap],
) -> PhaseChoice:
    shown = [
        _of_phase(word, count, folded._replace(shown=found), group, "")
        for (word, (count, folded)), found in zip(layouts, maps, strict=True)
    ]
    place = f"phase {maps[0].number} of {maps[0].phases}"
    wave = issue_words(group, maps[0].issue)
    words = f"{', '.join(part for part in (wave, place) if part)}: {cycles_caption(maps)}"
    return PhaseChoice(words, tuple(_joined_maps(shown)))


def _joined_maps(maps: Sequence[ShownMap]) -> Iterator[ShownMap]:
    """Yields the maps under several layouts, as one where they look alike."""
    first, *others = maps
    if not others or any(each.looks != first.looks for each in others):
        yield from maps
        return
    foldings = {each.layouts: each.folding for each in maps}
    both = tuple(pair for each in maps for pair in each.by_layout)
    yield ShownMap(" and ".join(foldings), both, first.caption, _joined(foldings))


def _joined(foldings: Mapping[str, str]) -> str:
    """Returns what maps under several layouts stand for, once if it is the same."""
    first, *others = foldings.values()
    if all(each == first for each in others):
        return first
    return "; ".join(f"{layout}: {folding}" for layout, folding in foldings.items() if folding)
