# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a sweep's plot draws what, and that all of it can be read."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import matplotlib.image
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bankwise.passes.mode import modes
from bankwise.sweep.plot import plot, plotted_page
from bankwise.sweep.plot_page import marks_of, plot_style
from bankwise.sweep.rows import Row

from .swept_rows import case, differing_row, failed_row, row

SMALL, LARGE = "attention_1x1024x64", "attention_192x16384x64"
LDS_CYCLES = 40
"""What a grid of `swept_rows.row` has."""


@pytest.fixture
def rows() -> list[Row]:
    """Returns a small and a large shape; `stock` has conflicts in the small one only."""
    return [
        row(case(SMALL, "none"), conflicts=20),
        row(case(SMALL, "stock"), conflicts=1, lds_bytes=2048),
        row(case(SMALL, "auto"), valu=110),
        row(case(LARGE, "none", work=9), conflicts=5),
        row(case(LARGE, "stock", work=9), lds_bytes=2048),
        row(case(LARGE, "auto", work=9), valu=50),
    ]


def drawn(rows: Sequence[Row]) -> Figure:
    """Returns the figure of some rows as it is saved."""
    with plot_style():
        figure = plotted_page(rows).placed()
        FigureCanvasAgg(figure).draw()
    return figure


def points(axes: Axes, mode: str, marks: Sequence[str]) -> list[tuple[int, float]]:
    """Returns the places of the shapes and the heights that a mode's marks are drawn at."""
    mark = marks_of(marks)[mode]
    found = [
        (round(float(x)), float(y))
        for line in axes.lines
        if line.get_marker() == mark.marker and line.get_color() == mark.colour
        for x, y in zip(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()), strict=True)
    ]
    return sorted(found)


MODES = ("none", "stock", "auto")


def test_each_mode_without_conflicts_lies_on_its_zero_line(rows: list[Row]):
    conflicts, zeros, *_ = drawn(rows).axes
    heights = {
        label.get_text(): float(height)
        for height, label in zip(zeros.get_yticks(), zeros.get_yticklabels(), strict=True)
    }
    assert {*heights} == {"none: 0 %", "stock: 0 %", "auto: 0 %"}
    assert len({*heights.values()}) == 3
    assert points(zeros, "none", MODES) == []
    assert points(zeros, "stock", MODES) == [(1, heights["stock: 0 %"])]
    assert points(zeros, "auto", MODES) == [(0, heights["auto: 0 %"]), (1, heights["auto: 0 %"])]
    low, high = sorted(zeros.get_ylim())
    assert all(low < height < high for height in heights.values())
    assert points(conflicts, "auto", MODES) == []
    beside = {text.get_text() for text in zeros.texts}
    assert beside == {"0 in 0 of 2", "0 in 1 of 2", "0 in 2 of 2"}
    # The zero lines lie beneath the logarithmic axis.
    assert zeros.get_position().y1 < conflicts.get_position().y0


def test_conflicts_are_relative_to_stock_of_the_same_shape(rows: list[Row]):
    conflicts, *_ = drawn(rows).axes
    assert conflicts.get_yscale() == "log"
    none = points(conflicts, "none", MODES)
    assert [place for place, _ in none] == [0, 1]
    assert [share for _, share in none] == pytest.approx([80 / LDS_CYCLES, 20 / LDS_CYCLES])
    assert points(conflicts, "stock", MODES) == [(0, pytest.approx(4 / LDS_CYCLES))]
    low, high = conflicts.get_ylim()
    assert low <= 0.1 < 2 <= high
    labels = {label.get_text() for label in conflicts.get_yticklabels()}
    assert {"1 %", "10 %", "100 %"} <= labels
    assert conflicts.get_ylabel() == "bank conflict cycles,\n% of stock's LDS cycles"


def test_a_shape_is_drawn_once_per_mode_and_no_row_is_lost(rows: list[Row]):
    conflicts, zeros, *_ = drawn(rows).axes
    for mode in MODES:
        found = [*points(conflicts, mode, MODES), *points(zeros, mode, MODES)]
        assert sorted(place for place, _ in found) == [0, 1]


def test_bytes_and_ratios_begin_at_zero(rows: list[Row]):
    _, _, kibibytes, lds, valu = drawn(rows).axes
    assert all(axes.get_ylim()[0] == 0 for axes in (kibibytes, lds, valu))
    assert points(kibibytes, "stock", MODES) == [(0, 2.0), (1, 2.0)]
    assert points(kibibytes, "auto", MODES) == [(0, 1.0), (1, 1.0)]
    assert points(valu, "auto", MODES) == [(0, pytest.approx(1.1)), (1, pytest.approx(0.5))]
    assert points(lds, "auto", MODES) == [(0, 1.0), (1, 1.0)]
    # The reference is a line in its colour.
    (line,) = [line for line in lds.lines if line.get_linestyle() == "-"][:1]
    assert line.get_color() == marks_of(MODES)["stock"].colour
    assert {*np.asarray(line.get_ydata())} == {1}


def test_predicted_times_have_a_panel_where_there_are_any(rows: list[Row]):
    assert len(drawn(rows).axes) == 5
    timed = [row(case(SMALL, mode), expected=us) for mode, us in zip(MODES, (9, 6, 3), strict=True)]
    times, conflicts, *_ = drawn(timed).axes
    assert times.get_ylabel() == "predicted time\nover stock's"
    assert times.get_title("left") and not conflicts.get_title("left")
    assert points(times, "none", MODES) == [(0, 1.5)]
    assert points(times, "auto", MODES) == [(0, 0.5)]
    assert "counted on the emulator; predicted times" in " ".join(texts_of(plot(timed)["svg"]))


def test_without_stock_the_baseline_is_the_reference(rows: list[Row]):
    kept = [each for each in rows if each.mode != "stock"]
    conflicts, _, _, lds, _ = drawn(kept).axes
    assert conflicts.get_ylabel().endswith("% of none's LDS cycles")
    assert lds.get_ylabel() == "LDS instructions\nover none's"


def test_rows_that_cannot_be_drawn_are_counted(rows: list[Row]):
    rows[2] = failed_row(case(SMALL, "auto"))
    rows[3] = differing_row(case(LARGE, "none", work=9))
    conflicts, zeros, *_ = drawn(rows).axes
    title = "gfx942, f16: 2 attention shapes; without totals to compare: 2 rows"
    assert conflicts.get_title("left") == title
    assert [place for place, _ in points(zeros, "auto", MODES)] == [1]


def test_a_mode_of_which_all_rows_failed_leaves_the_others(rows: list[Row]):
    kept = [failed_row(case(r.kernel, "auto")) if r.mode == "auto" else r for r in rows]
    _, _, _, lds, valu = drawn(kept).axes
    assert points(lds, "auto", MODES) == points(valu, "auto", MODES) == []
    assert len(points(lds, "none", MODES)) == 2


def test_conflicts_without_a_reference_are_counted_and_zero_is_zero(rows: list[Row]):
    kept = [each for each in rows if (each.kernel, each.mode) != (SMALL, "stock")]
    conflicts, zeros, *_ = drawn(kept).axes
    assert "without totals to compare: 1 row" in conflicts.get_title("left")
    assert [place for place, _ in points(zeros, "auto", MODES)] == [0, 1]


def texts_of(data: bytes) -> set[str]:
    svg = ElementTree.fromstring(data)
    return {"".join(e.itertext()) for e in svg.iter("{http://www.w3.org/2000/svg}text")}


@pytest.mark.filterwarnings("error")
def test_the_picture_says_what_it_shows(rows: list[Row]):
    rows.append(row(case(SMALL, "none", "f32"), conflicts=3))
    pictures = plot(rows)
    assert texts_of(pictures["svg"]) >= {
        "LDS bank conflicts and instructions of whole grids, counted on the emulator",
        "gfx942, f16: 2 attention shapes",
        "gfx942, f32: 1 attention shape",
        "stock (reference)", "auto",
        "sequence (k: 1024)", "1k", "16k", "batch", "192", "head size", "64",
    }  # fmt: skip
    height, width, _ = matplotlib.image.imread(io.BytesIO(pictures["png"]), format="png").shape
    assert width > 900
    assert height > 1500
    assert plot(rows) == pictures


def test_a_plot_without_figures_says_so():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert b"no kernel has grid totals" in plot([failed_row(case())])["svg"]


def every_text(figure: Figure) -> list[tuple[str, tuple[float, float, float, float]]]:
    """Returns the texts of a figure that are shown, with their edges in pixels."""
    found = []
    for axes in figure.axes:
        titles = [axes.title, getattr(axes, "_left_title")]  # noqa: B009
        low, high = sorted(axes.get_ylim())
        labels = [text for text in axes.get_yticklabels() if low <= text.get_position()[1] <= high]
        found += [*titles, *labels, *axes.get_xticklabels(), axes.yaxis.label, *axes.texts]
    for legend in figure.legends:
        found += [*legend.get_texts(), legend.get_title()]
    return [
        (text.get_text(), inked(*text.get_window_extent().extents))
        for text in found
        if text.get_visible() and text.get_text()
    ]


def inked(
    left: float, bottom: float, right: float, top: float
) -> tuple[float, float, float, float]:
    """Returns a text's box without what a line keeps free above and below its letters."""
    across, up = (0.0, 0.15) if right - left > top - bottom else (0.15, 0.0)
    across, up = across * (right - left), up * (top - bottom)
    return left + across, bottom + up, right - across, top - up


@pytest.mark.parametrize("count", [1, 3, 110])
def test_texts_cover_neither_each_other_nor_marks(count: int):
    every = [m for m in modes() if m.startswith(("auto", "stock"))]
    batches = [f"attention_{n // 5 + 1}x{1024 * 2 ** (n % 5)}x64" for n in range(count)]
    rows = [row(case(name, m), conflicts=m == "stock") for name in batches for m in every]
    figure = drawn(rows)
    for (one, a), (other, b) in combinations(every_text(figure), 2):
        apart = a[2] <= b[0] + 1 or b[2] <= a[0] + 1 or a[3] <= b[1] + 1 or b[3] <= a[1] + 1
        assert apart, (one, other)
    for text, (left, bottom, right, top) in every_text(figure):
        for axes in figure.axes:
            box = axes.get_window_extent()
            beside = right <= box.x0 or left >= box.x1 or top <= box.y0 or bottom >= box.y1
            assert beside, (text, axes.get_ylabel())


def test_modes_differ_in_their_markers_and_not_in_colour_alone():
    marks = marks_of(sorted(modes()))
    assert len({mark.marker for mark in marks.values()}) == len(marks)


def test_a_mode_looks_the_same_in_all_groups(rows: list[Row]):
    added = [replace(each, mode=m) for each in rows[:1] for m in ("stock", "new", "newer")]
    other = [replace(each, target="gfx950") for each in (*added[:1], *added[2:])]
    figure = drawn([*added, *other])
    marks = marks_of(["stock", "new", "newer"])
    first, second = figure.axes[0], figure.axes[5]
    for axes in (first, second):
        assert marks["newer"].marker in [line.get_marker() for line in axes.lines]
    assert marks["new"].marker not in [line.get_marker() for line in second.lines]
