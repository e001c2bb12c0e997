# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which bank maps a report shows: equal ones once, whatever phases and accesses have them.

Every format walks `shown_maps`. An access whose maps are those of an earlier one refers to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..bank_model.bank_map import BankMap
from ..bank_model.layout_counts import LayoutCount
from ..bank_model.map_folding import FoldedMap
from .bank_map_text import folding_caption, phase_caption
from .columns import chosen_word
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
    elif chosen.looks == before.looks:
        folding = _joined({"before": before.folding, word: chosen.folding})
        both = before.by_layout + chosen.by_layout
        yield ShownMap(f"before and {word}", both, before.caption, folding)
    else:
        yield from (before, chosen)


def _shown(layouts: str, count: LayoutCount | None, access: AccessRow) -> ShownMap | None:
    group = access.group
    assert count is not None
    folded = access.allocation.folded_map(group, count.layout)
    if folded is None:
        return None
    issue = f"{group.issue_name} {folded.shown.issue}" if group.issues > 1 else ""
    folding = folding_caption(folded, group.issue_name)
    caption = phase_caption(folded.shown, issue)
    return ShownMap(layouts, ((count, folded),), caption, folding)


def _joined(foldings: Mapping[str, str]) -> str:
    """Returns what maps under several layouts stand for, once if it is the same."""
    first, *others = foldings.values()
    if all(each == first for each in others):
        return first
    return "; ".join(f"{layout}: {folding}" for layout, folding in foldings.items() if folding)
