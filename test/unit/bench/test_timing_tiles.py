# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How well the formula for tiles agrees with the model of a compute unit."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from bankwise.bench.benchmark import RESULTS
from bankwise.bench.forced_tiles.ranks import Comparison, correlation, ratio_error
from bankwise.bench.timing_tiles import (
    NAME,
    Row,
    cases,
    comparisons,
    page,
    read_rows,
)
from bankwise.tuning.tiles.tiled_operation import MODELLED_GAIN

ROWS = read_rows()


@cache
def found() -> list[Comparison]:
    return comparisons(ROWS)


def test_the_record_has_all_pairs() -> None:
    pairs = [(kernel.kernel.name, target, label) for kernel, target, label, _ in cases()]
    assert [(row.kernel, row.target, row.mode) for row in ROWS] == pairs


@pytest.mark.nightly
def test_the_formula_orders_tiles_as_the_model_does() -> None:
    assert sum(not row.failed for row in ROWS) >= 100
    assert correlation(found()) >= 0.98
    assert max(each.foreseen_loss for each in found()) <= 1.05


def test_tiles_are_taken_where_they_save_more_than_the_formula_may_be_off() -> None:
    assert MODELLED_GAIN - 0.015 < ratio_error(found()) * 2 <= MODELLED_GAIN


def test_the_model_still_predicts_what_the_record_says() -> None:
    row = next(each for each in ROWS if each.kernel == "attention_2x1024x128_f16")
    case = next(each for each in cases() if Row.of_case(each).key[:3] == row.key[:3])
    assert replace(Row.measure(case), code=row.code) == row


def test_the_page_is_made_of_the_record() -> None:
    assert (RESULTS / f"{NAME}.md").read_text() == page(ROWS, found())
