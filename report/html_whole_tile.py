# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The whole tile of an allocation in the HTML report, for a reader who asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ..bank_model.layout_counts import LayoutCount
from .columns import chosen_word
from .conflict_report import AllocationReport, shown_layout
from .contents import AccessRow, AllocationRow
from .html_script import whole_tile_choice
from .stripes import svg_map
from .tile_grid import TileGrid, WholeTile
from .tile_grid_picture import tile_grid_drawing

_MOST_ACCESSES = 2
"""So many accesses of an allocation can be looked at; each takes some 15 KB of the page."""
_MOST_ROWS = 24


def whole_tile_section(row: AllocationRow) -> Iterator[str]:
    """Yields a choice of pictures of the whole tile, before beside chosen, and their place.

    Nothing is yielded for an allocation that could not be counted.
    """
    report = row.report
    if report.lds is None or report.tile is None or not report.groups:
        return
    counts = _layouts(report)
    accesses = [access for group in report.groups for access in group.accesses]
    layouts = [count.layout for count in counts.values()]
    whole = WholeTile.of(report.lds, report.tile, layouts, accesses, _MOST_ROWS)
    banks = _figures(report, {name: whole.by_bank(each.layout) for name, each in counts.items()})
    by_lane: list[tuple[str, str]] = []
    for access in _conflicting(row):
        group = access.group
        grids = {
            name: whole.by_lane(
                count.layout, group.accesses, report.phases(group, count.layout), group.issue_name
            )
            for name, count in counts.items()
        }
        name = f"access {access.number} ({group.kind.value})"
        by_lane.append((name, _figures(report, grids)))
    yield whole_tile_choice(banks, by_lane)
    yield '<div class="pair"></div>'


def _conflicting(row: AllocationRow) -> list[AccessRow]:
    """Returns the accesses with conflicts in the plain layout, those with the most of them."""
    before = row.report.before
    assert before is not None
    cycles = {each.number: each.group.conflict_cycles(before) for each in row.accesses}
    conflicting = [each for each in row.accesses if cycles[each.number]]
    conflicting.sort(key=lambda each: -cycles[each.number])
    return conflicting[:_MOST_ACCESSES]


def _layouts(report: AllocationReport) -> dict[str, LayoutCount]:
    """Returns the plain and the chosen layout by their words; one where they are the same."""
    assert report.before is not None
    assert report.chosen is not None
    if report.chosen is report.before:
        return {"before": report.before}
    return {"before": report.before, chosen_word(report): report.chosen}


def _figures(report: AllocationReport, grids: dict[str, TileGrid]) -> str:
    assert report.tile is not None
    figures: list[str] = []
    for name, count in _layouts(report).items():
        grid = grids[name]
        layout = escape(shown_layout(count.layout, report.tile))
        figures.append(
            f"<figure><figcaption><b>{escape(name)}</b>: {layout}<br>"
            f'<span class="soft">{escape(grid.caption)}.</span></figcaption>'
            f"{svg_map(tile_grid_drawing(grid), f'{grid.caption}, {name}')}</figure>"
        )
    return "\n".join(figures)
