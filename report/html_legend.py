# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The legend of the HTML report: what a cell, a colour, a row and a figure mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ..bank_model.bank_map import BankMap, bank_map
from ..bank_model.layouts import MachineAccess
from ..bank_model.lds_tables import known_targets, lds_of
from .bank_map_picture import bank_map_drawing
from .lane_colours import ramp_stops
from .stripes import stripes

_TERMS = (
    (
        "conflict cycles",
        "LDS cycles that bank conflicts cost one workgroup, over the whole kernel.",
    ),
    (
        "before, padded, chosen",
        "the plain row-major layout; stock IREE's 64 bits behind every row; what the IR has or the "
        "compile chose, or <em>proposed</em> where nothing is chosen yet.",
    ),
    (
        "cycles, ideal",
        "the LDS cycles of the code as it stands, conflict cycles among them; and the fewest in "
        "which the LDS could deliver what the lanes want, in any layout.",
    ),
    ("runs", "how often a workgroup issues one of the accesses, all waves together."),
    (
        "bank map",
        "one phase: lanes that the LDS serves together. A column is a bank, a row a cycle. The "
        "worst phase is shown; the line below it says which others look the same. Others of its "
        "instruction can be chosen above it.",
    ),
    (
        "cell",
        "a word of 4 bytes, with the number and the colour of the lane that wants it. <b>5+</b>: "
        "lane 5 and others share the word, at no cost. Point at a cell to see them all.",
    ),
    (
        "red frame, 8!",
        "a bank that must deliver several words, here 8. Every row but the first costs a conflict "
        "cycle. The row <b>=</b> counts the words.",
    ),
    (
        "where they lie",
        "the same words as lines of memory; a cell shows the element of the tile that lies there.",
    ),
    (
        "formulas",
        "the first element that each lane touches, in C's integer arithmetic: <b>/</b> cuts off, "
        "<b>^</b> is XOR, <b>i</b> counts the accesses.",
    ),
)


MAP_TERMS = tuple(
    each for each in _TERMS if each[0] in ("bank map", "cell", "red frame, 8!", "where they lie")
)
"""What a bank map shows, and the picture below it, which pages on tiles have, too."""


def legend() -> Iterator[str]:
    """Yields the legend, with a sample of a bank map."""
    colours = f"the lanes of the phase, from the first {ramp()} to the last"
    return legend_with("How to read this page", _TERMS, colours)


def legend_with(title: str, terms: Iterable[tuple[str, str]], colours: str) -> Iterator[str]:
    """Yields a legend: a sample of a bank map, terms and what they mean, and the colours."""
    yield f"<details><summary>{title}</summary>"
    yield '<div class="legend"><figure>'
    yield from _sample_map()
    yield "</figure><dl>"
    yield from (f"<dt>{term}</dt><dd>{text}</dd>" for term, text in (*terms, ("colours", colours)))
    yield "</dl></div></details>"


def _sample_map() -> Iterator[str]:
    """Yields a bank map that has all that bank maps have, and says what that is."""
    yield '<div class="map" role="img" aria-label="a sample of a bank map">'
    # The first stripe is enough of a sample.
    yield next(stripes(bank_map_drawing(_sample())))
    yield "</div><p>Lanes 0 and 1 share a word; 2 and 3 want other words of the same bank: 3 words,"
    yield "2 conflict cycles.</p>"


def _sample() -> BankMap:
    """Returns a map in which lanes share a word, and others conflict with it."""
    instruction = lds_of(known_targets()[0]).instruction_named("ds_read_b32")
    lanes = np.arange(64)
    line = instruction.banks * 4
    words = np.where(lanes < 2, 0, np.where(lanes < 4, (lanes - 1) * line, lanes * 4))
    # Some banks stay idle, as in maps with conflicts.
    active = (lanes < 4) | ((lanes > 5) & (lanes < 12))
    return bank_map(MachineAccess(instruction, words[None], active[None]), 0, 0)


def ramp() -> str:
    """Returns the colours of the lanes, from the first to the last one."""
    return f'<span class="ramp" style="background: linear-gradient(90deg, {_stops()})"></span>'


def _stops() -> str:
    return ", ".join(ramp_stops())
