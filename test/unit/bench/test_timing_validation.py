# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far predicted times are from published ones."""

from __future__ import annotations

import statistics

import pytest

from bankwise.bench.benchmark import RESULTS
from bankwise.bench.timing_points import Point, instruction_points, kernel_points
from bankwise.bench.timing_validation import (
    NAME,
    bounds,
    page,
    read_rows,
    validating,
)
from bankwise.emulator.timing.error_bounds import LONG, SHORT, SHORT_MICROSECONDS

ROWS = {row.name: row for row in read_rows()}
INSTRUCTIONS = instruction_points()


def test_the_record_has_all_points() -> None:
    points = [*kernel_points(), *INSTRUCTIONS]
    assert [point.name for point in points] == list(ROWS)
    for point in points:
        row = ROWS[point.name]
        assert (row.published, row.role, row.source) == (point.published, point.role, point.source)


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("point", INSTRUCTIONS, ids=lambda point: point.name)
def test_instructions_take_what_was_published(point: Point) -> None:
    predicted = point.predict()
    assert predicted == pytest.approx(ROWS[point.name].predicted, abs=1e-3)
    assert predicted == pytest.approx(point.published, rel=0.06)


@pytest.mark.parametrize("family", ["kernels", "counters", "instructions"])
def test_errors_of_points_that_validate_are_small(family: str) -> None:
    errors = [abs(row.error) for row in validating(ROWS.values(), family)]
    assert statistics.median(errors) <= 0.10
    assert max(errors) <= 0.25


@pytest.mark.parametrize(
    ("counter", "most"), [("SQ_WAVE_CYCLES", 0.07), ("SQ_WAIT_INST_ANY", 0.2), ("LdsLatency", 0.2)]
)
def test_the_published_counters_of_attention_are_met(counter: str, most: float) -> None:
    assert abs(ROWS[f"attention 1x1024x128 f32, stock: {counter}"].error) <= most


def test_the_counters_are_still_predicted() -> None:
    for point in kernel_points():
        if point.family == "counters":
            assert point.predict() == pytest.approx(ROWS[point.name].predicted, rel=0.01)


def test_the_bounds_are_those_of_the_record() -> None:
    rows = list(ROWS.values())
    assert bounds(rows) == (SHORT.low, SHORT.high)
    assert bounds(rows, SHORT_MICROSECONDS) == (LONG.low, LONG.high)
    times = [row.predicted for row in validating(rows, "kernels")]
    assert f" {len(times)} published times" in SHORT.source
    long_ones = sum(time - 44.4 >= SHORT_MICROSECONDS for time in times)
    assert f" {long_ones} published times" in LONG.source


def test_the_page_is_made_of_the_record() -> None:
    assert (RESULTS / f"{NAME}.md").read_text() == page(list(ROWS.values()))
