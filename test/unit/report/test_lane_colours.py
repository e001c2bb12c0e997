# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Neighbours can be told apart, and black text on all of them can be read."""

from __future__ import annotations

import pytest

from bankwise.report.lane_colours import ramp_colour

from .contrasts import contrast


@pytest.mark.parametrize("places", [1, 8, 32, 64])
def test_black_text_on_every_colour_can_be_read(places: int) -> None:
    colours = [ramp_colour(place, places) for place in range(places)]
    assert all(contrast(colour, "#000000") >= 7 for colour in colours)
    assert len({*colours}) == places


def test_contrast_is_that_of_the_guidelines() -> None:
    assert contrast("#000000", "#ffffff") == contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
