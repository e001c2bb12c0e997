# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What copies cost of images whose pixels begin anywhere or lie apart."""

from __future__ import annotations

import pytest

from bankwise.tuning.costs.gathered_copies import Gather, Words
from bankwise.tuning.costs.processors import processor_of

LANES = 32


@pytest.mark.parametrize("word", [2, 4, 8])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("multiple", [1, 2, 4, 8])
def test_words_that_have_all_elements_wherever_they_begin(
    count: int, step: int, word: int, multiple: int
) -> None:
    begins = range(0, 4 * word, multiple)
    touched = [{(begin + step * each) // word for each in range(count)} for begin in begins]
    words = Words.covering(count, step, word, multiple)
    assert words.number == max(len({*range(min(t), max(t) + 1)}) for t in touched)
    assert words.is_shifted == any(begin % word for begin in begins)


@pytest.mark.parametrize(
    ("gather", "count", "words"),
    [
        (Gather(1, 56, 4), 8, Words(4, 3)),
        (Gather(1, 56, 8), 8, Words(8, 2)),
        (Gather(2, 28, 4), 4, Words(4, 3)),
        (Gather(2, 28, 8), 4, Words(8, 2)),
        # Every second element from a multiple of 8 on: all are in one word.
        (Gather(2, 28, 8, 8), 4, Words(8, 1, is_shifted=False)),
        # Longer words are not fewer.
        (Gather(1, 28, 8), 4, Words(4, 2)),
        # As many words as elements gain nothing.
        (Gather(1, 14, 8), 2, None),
        (Gather(2, 28, 2), 4, None),
        # Elements further apart, and buffers that are no whole words.
        (Gather(3, 56, 8), 8, None),
        (Gather(1, 56, 0), 8, None),
    ],
)
def test_words_that_are_fewer_loads(gather: Gather, count: int, words: Words | None) -> None:
    assert gather.words(count) == words


def test_single_elements_of_neighbouring_lanes_lie_in_few_lines() -> None:
    gather = Gather(1, 7, 4)
    wide, narrow = (gather.copies(256, width, LANES) for width in (8, 1))
    # A load of all lanes touches 512 bytes wherever they begin, and 64; 512 and 64 are stored.
    assert (wide.cycles, narrow.cycles) == (8 * 5.25 + 4, 1.75 + 1)
    assert wide.instructions < 8 * narrow.instructions


def test_rows_that_are_near_lie_in_the_same_lines() -> None:
    # 16 lanes have 32 columns of a row, 2 each: two loads touch 64 bytes in each of two rows.
    apart, near = (Gather(1, 7, 4, near=rows).copies(32, 2, LANES).cycles for rows in (1, 9))
    assert apart == 2 * 2 * 1.75 + 1
    assert near < apart


@pytest.mark.parametrize(
    ("run", "pitch", "step"), [(28, 112, 2), (14, 56, 2), (28, 116, 2), (56, 58, 1), (14, 16, 1)]
)
@pytest.mark.parametrize("lanes", [16, 32])
def test_runs_that_lie_apart_are_in_more_lines(run: int, pitch: int, step: int, lanes: int) -> None:
    """Of an image of 56 x 56 and stride 2, 32 pixels of rows of 28 touch 2.9 lines, not 2.2."""
    pixels = [row * pitch + each * step for row in range(64) for each in range(run)]
    parts = (pixels[begin : begin + lanes] for begin in range(0, len(pixels) - lanes, lanes))
    touched = [len({2 * each // 128 for each in part}) for part in parts]
    mean = sum(touched) / len(touched)
    copy = Gather(step, run, 0, pitch=pitch).copies(lanes, 1, lanes)
    assert copy.cycles - 1 == pytest.approx(mean, abs=0.55)


def test_parts_of_a_copy_have_words_of_their_own() -> None:
    whole, parted = (Gather(1, run, 8).copies(64, 8, LANES) for run in (56, 28))
    assert (whole.registers, parted.registers) == (2 * 4, 2 * 2 * 2)
    assert whole.instructions < parted.instructions


@pytest.mark.parametrize(
    ("gather", "row", "width"),
    [
        # 3x3 windows of rows of 56: words. Of 14: single elements, of which many are few indices.
        (Gather(1, 56, 8, near=9), 64, 8),
        (Gather(1, 14, 8, near=9), 64, 8),
        # Every second pixel of channels that lie apart: four are in a word.
        (Gather(2, 28, 8, 8), 128, 4),
        # What divides rows.
        (Gather(1, 56, 8, near=9), 36, 4),
    ],
)
def test_width_that_takes_the_least_time(gather: Gather, row: int, width: int) -> None:
    processor = processor_of("sm_80")
    assert processor is not None
    assert gather.best(row, processor).width == width
