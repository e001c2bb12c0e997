# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An access in the HTML report: its formula, its source line, and its pictures before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from ..bank_model.shown_text import counted, shown_text
from . import columns
from .bank_map_picture import bank_map_drawing, map_in_words
from .conflict_report import shown_layout
from .contents import AccessRow
from .html_page import code
from .html_script import copy_button, picture_choice
from .html_tables import words_of
from .shown_maps import AccessMaps, PhaseChoice, ShownMap
from .source_lines import SourceLines
from .stripes import svg_map
from .tile_picture import TilePicture, tile_picture


def access_section(
    maps: AccessMaps, choices: Sequence[PhaseChoice], sources: SourceLines
) -> Iterator[str]:
    """Yields what is shown of an access; closed where it has conflicts in neither layout.

    `choices` are the other phases that a reader may look at.
    """
    access = maps.access
    state = " open" if any(_cycles(access)) else ""
    yield f'<details id="access-{access.number}"{state}><summary>{_summary(access)}</summary>'
    button = copy_button(str(access.group.pattern), "the formula")
    yield from words_of(columns.ACCESS_COLUMNS, access, button)
    yield from _places(access, sources)
    if maps.same_as is not None:
        number = maps.same_as.number
        folding = f"; {escape(maps.folding)}" if maps.folding else ""
        link = f'<a href="#access-{number}">access {number}</a>'
        yield f"<p>The bank maps are those of {link}{folding}.</p>"
    elif not maps.maps:
        yield "<p>No lane is ever active.</p>"
    else:
        if len(choices) > 1:
            yield _choice(maps, choices)
        yield '<div class="pair">'
        yield from _figures(maps.maps, access)
        yield "</div>"
    yield "</details>"


def _choice(maps: AccessMaps, choices: Sequence[PhaseChoice]) -> str:
    pictures = ("\n".join(_figures(each.maps, maps.access)) for each in choices)
    worst = "the worst phase" if len(maps.maps) == 1 else "the worst phase of each layout"
    return picture_choice("shown:", [worst, *(each.words for each in choices)], pictures)


def _cycles(access: AccessRow) -> tuple[int, int]:
    """Returns the conflict cycles before and in the chosen layout."""
    allocation, group = access.allocation, access.group
    assert allocation.before is not None
    assert allocation.chosen is not None
    return group.conflict_cycles(allocation.before), group.conflict_cycles(allocation.chosen)


def _summary(access: AccessRow) -> str:
    count = len(access.group.members)
    name = access.group.kind.value + (f" x {count}" if count > 1 else "")
    before, chosen = (
        f'<span class="{"bad" if cycles else "good"}">{cycles:,}</span>'
        for cycles in _cycles(access)
    )
    return f"<b>{access.number}. {name}</b>: {before} → {chosen} conflict cycles"


def _places(access: AccessRow, sources: SourceLines) -> Iterator[str]:
    """Yields the source lines of an access, all but the first of them folded."""
    first, *others = access.group.locations or ("",)
    if first:
        yield f"<p>{source_line(first, sources)}</p>"
    if others:
        places = counted(len(others), "more place")
        yield f"<details><summary>and {places}</summary><ul>"
        for each in others:
            yield f"<li>{source_line(each, sources)}</li>"
        yield "</ul></details>"


def source_line(location: str, sources: SourceLines) -> str:
    """Returns a location as `file:line:column`, and the text of its line if it can be read."""
    text = sources.line(location)
    place = f'<span class="soft">{escape(shown_text(location))}</span>'
    return f"{place} {code(text)}" if text else place


def _figures(maps: Sequence[ShownMap], access: AccessRow) -> Iterator[str]:
    """Yields the map before beside the chosen one, each above where its words lie in memory.

    Maps that are equal are one, beside where the words lie.
    """
    first, *others = maps
    if not others:
        yield from ("<figure>", *_bank_map(first, access), "</figure>")
        for lies in _tile_pictures(first, access):
            yield from ("<figure>", *_lies(lies, access), "</figure>")
        return
    for shown in maps:
        (lies,) = _tile_pictures(shown, access)
        yield from ("<figure>", *_bank_map(shown, access), *_lies(lies, access), "</figure>")


def _bank_map(shown: ShownMap, access: AccessRow) -> Iterator[str]:
    tile = access.allocation.tile
    assert tile is not None
    layouts = ", ".join(shown_layout(count.layout, tile) for count, _ in shown.by_layout)
    yield f"<figcaption><b>{escape(shown.layouts)}</b>: {escape(layouts)}<br>"
    yield f'<span class="soft">{escape(shown.caption)}</span></figcaption>'
    title = f"bank map of access {access.number} {shown.layouts}, {shown.caption}"
    label = f"{title}: {map_in_words(shown.drawn)}"
    yield svg_map(bank_map_drawing(shown.drawn), label)
    if shown.folding:
        yield f"<p>{escape(shown.folding[0].upper() + shown.folding[1:])}.</p>"


def _tile_pictures(shown: ShownMap, access: AccessRow) -> list[TilePicture]:
    """Returns where the words lie under each layout of the map, equal pictures once."""
    tile = access.allocation.tile
    assert tile is not None
    found: list[TilePicture] = []
    for count, folded in shown.by_layout:
        lies = tile_picture(folded.shown, tile, count.layout)
        if all(lies.drawing != each.drawing for each in found):
            found.append(lies)
    return found


def _lies(lies: TilePicture, access: AccessRow) -> Iterator[str]:
    yield f"<p>{escape(lies.caption)}.</p>"
    yield svg_map(lies.drawing, f"where the words of access {access.number} lie in memory")
