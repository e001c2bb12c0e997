# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The record of what a search for tiles takes."""

from __future__ import annotations

from bankwise.bench.benchmark import RESULTS
from bankwise.bench.tile_search import KERNELS, NAME, page, read_rows
from bankwise.emulator.chips import CDNA3, CDNA4
from bankwise.emulator.timing.error_bounds import LONG, SHORT, SHORT_MICROSECONDS

ROWS = read_rows()


def test_the_record_has_all_kernels() -> None:
    cases = [(kernel.name, target) for kernel in KERNELS for target in (CDNA3, CDNA4)]
    assert [(row.kernel, row.target) for row in ROWS] == cases


def test_another_tile_saves_more_than_ratios_may_be_off() -> None:
    searched = [row for row in ROWS if row.times]
    assert any(row.taken != next(iter(row.times)) for row in searched)
    for row in searched:
        usual, taken = next(iter(row.times.values())), row.times[row.taken]
        assert usual is not None and taken is not None
        bounds = LONG if min(usual, taken) >= SHORT_MICROSECONDS else SHORT
        assert taken == usual or taken * bounds.ratio < usual


def test_the_page_is_made_of_the_record() -> None:
    assert (RESULTS / f"{NAME}.md").read_text() == page(ROWS)
