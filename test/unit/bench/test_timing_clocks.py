# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of the public sweep at another clock, against what the model predicts at that clock."""

from __future__ import annotations

import pytest

from bankwise.bench.pages.records import Records
from bankwise.bench.pages.timing import PUBLISHED_MEDIANS
from bankwise.bench.timing_clocks import RECORDED_LOSS, Work, loss_of, median_without_layouts

RECORDS = Records()


@pytest.mark.parametrize("mode", ["none", "stock"])
@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("kernel", ["attention_1x1024x128", "attention_64x2048x64"])
def test_the_clock_of_the_record_gives_its_time(kernel: str, dtype: str, mode: str) -> None:
    row = RECORDS.swept_of(kernel, dtype, mode)
    assert row.predicted_microseconds is not None
    expected = row.predicted_microseconds["expected"]
    work = Work.of(row)
    assert work.microseconds(RECORDED_LOSS) == pytest.approx(expected)
    assert work.microseconds(0.0) < work.microseconds(loss_of(dtype)) < 1.03 * expected


def test_cycles_and_busy_matrix_units_are_those_of_the_model() -> None:
    """The model has predicted these from the compiled kernels, at the record's clock."""
    for mode, cycles, busy in (("none", 3_007_455, 0.229), ("stock", 1_640_974, 0.419)):
        work = Work.of(RECORDS.swept_of("attention_64x1024x128", "f32", mode))
        assert work.cycles == pytest.approx(cycles, rel=0.001)
        assert work.matrix / work.cycles == pytest.approx(busy, abs=0.001)


def test_the_published_median_of_f32_is_predicted_to_6_percent() -> None:
    for zeros in (False, True):
        found = median_without_layouts(RECORDS.swept, "f32", loss_of("f32", on_zeros=zeros))
        assert found == pytest.approx(PUBLISHED_MEDIANS["f32"], rel=0.06)
