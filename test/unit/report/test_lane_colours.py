# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lanes can be told apart, and the text on them can be read."""

from __future__ import annotations

import pytest

from bankwise.report.lane_colours import contrast, lane_colour


@pytest.mark.parametrize("wave", [1, 32, 64])
def test_text_on_every_lane_can_be_read(wave: int) -> None:
    colours = [lane_colour(lane, wave) for lane in range(wave)]
    for colour in colours:
        ink = "#ffffff" if colour.is_dark else "#000000"
        assert contrast(colour.fill, ink) >= 4.5
    assert len({colour.fill for colour in colours}) == wave


def test_contrast_is_that_of_the_guidelines() -> None:
    assert contrast("#000000", "#ffffff") == contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
