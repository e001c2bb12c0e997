# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bench of attentions of models counts what runs, and finds what must not be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bankwise.bench import attention_shapes
from bankwise.bench.attention_shapes import (
    Counts,
    ShapeRow,
    cases,
    least_computed,
    round_shape,
)
from bankwise.bench.gpu.modes import FAST
from bankwise.bench.gpu.timed_sets import ModelAttention, attentions_of_models, model_attention
from bankwise.bench.reference_attention import attention_rows
from bankwise.emulator.counters import Counted
from bankwise.runtime.host_values import HostProgramError

COUNTS = Counts(
    {Counted.MFMA: 8, Counted.LDS: 100, Counted.LDS_CYCLES: 400, Counted.CONFLICTS: 0},
    workgroups=40,
    emulated=2,
    multiplications=1000,
    error=0.001,
    out_of_range=0,
)
ROW = ShapeRow(
    "attention_a",
    "gfx942",
    stock=0,
    round="128x64",
    fast=COUNTS,
    neighbour=COUNTS,
    tolerance=0.01,
)


@pytest.mark.nightly
def test_an_attention_is_measured_beside_its_round_shape() -> None:
    (case,) = cases(["gfx942"], "12x197x64_f16")
    row = ShapeRow.measure(case)
    assert not row.errors
    assert (row.stock, row.round) == (0, "256x64")
    assert row.fast is not None
    assert row.neighbour is not None
    assert row.has_matrix_instructions
    assert row.fast.error < row.tolerance
    assert (row.fast.emulated, row.fast.out_of_range) == (2, 0)
    assert row.fast.multiplications == 12 * 197 * 197 * 128
    assert row.neighbour.multiplications == 12 * 256 * 256 * 128
    assert row.fast.counters[Counted.CONFLICTS] == 0


@pytest.mark.nightly
def test_an_attention_that_stock_has_instructions_for_is_compared_with_none() -> None:
    row = ShapeRow.measure(cases(["gfx950"], "_2x1024x128_f16")[0])
    assert row.stock
    assert (row.round, row.neighbour, row.faults) == ("", None, [])
    assert row.ratio(Counted.LDS) is None


def test_sizes_of_round_shapes_are_the_next_multiples() -> None:
    odd = model_attention(6, 50, 72, keys=129, columns=20, group=3)
    near = round_shape(odd)
    assert near.sizes == {"b": 1, "h": 2, "g": 3, "m": 128, "n": 64, "k1": 128, "k2": 256}
    assert near.name == "128x128, 256 keys, 64 columns"
    assert round_shape(near).sizes == near.sizes


@pytest.mark.parametrize(
    ("attention", "floor"),
    [
        (model_attention(2, 64, 80), 1.0),
        (model_attention(2, 77, 64), (80 / 77) ** 2),
        (model_attention(2, 1, 128, keys=4096), 16.0),
        # 3 heads of Q are rows of one head of K, and 75 columns are 80.
        (model_attention(6, 2, 64, keys=32, columns=75, group=3), 16 / 6 * (64 + 80) / (64 + 75)),
    ],
)
def test_the_floor_is_of_whole_instructions(attention: ModelAttention, floor: float) -> None:
    assert least_computed(attention) == pytest.approx(floor)


def test_counts_are_of_the_whole_grid_for_each_multiplication() -> None:
    assert COUNTS.each(Counted.LDS) == 2.0
    twice = replace(COUNTS, counters={**COUNTS.counters, Counted.LDS: 200})
    assert replace(ROW, fast=twice).ratio(Counted.LDS) == 2.0


def test_a_round_shape_whose_keys_are_split_has_the_tile_of_iree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modes: list[tuple[str, ...]] = []

    def counts(attention: ModelAttention, chip: str, *mode: str) -> Counts:
        modes.append(mode)
        if mode:
            raise HostProgramError("2 dispatches cannot be sampled")
        return COUNTS

    monkeypatch.setattr(attention_shapes, "_counts", counts)
    assert attention_shapes._round_counts(model_attention(2, 128, 64), "gfx950") == COUNTS
    assert modes == [(FAST,), ()]


@pytest.mark.parametrize(
    ("attention", "rows"),
    [
        (model_attention(2, 4, 64, keys=512), 4.0),
        (model_attention(8, 2, 64, keys=512, group=4), 2.0),
        (model_attention(2, 17, 64), 1.0),
    ],
)
def test_rows_of_an_instruction_count_in_ratios(attention: ModelAttention, rows: float) -> None:
    found = ShapeRow.of_case((attention, "gfx950"))
    assert found.rows_counted == rows
    few = replace(ROW, rows_counted=rows)
    assert few.ratio(Counted.LDS) == 1.0 / rows


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"counters": {**COUNTS.counters, Counted.MFMA: 0}}, "no matrix instructions"),
        ({"counters": {**COUNTS.counters, Counted.CONFLICTS: 4}}, "4 conflict cycles"),
        ({"counters": {**COUNTS.counters, Counted.LDS: 126}}, "1.26x the LDS instructions"),
        ({"counters": {**COUNTS.counters, Counted.LDS_CYCLES: 600}}, "1.50x the LDS cycles"),
        ({"error": 0.02}, "results are wrong"),
        ({"error": float("nan")}, "results are wrong"),
        ({"out_of_range": 3}, "3 accesses beyond"),
    ],
)
def test_what_must_not_be_is_a_fault(changed: dict[str, object], fault: str) -> None:
    assert ROW.faults == []
    (found,) = replace(ROW, fast=replace(COUNTS, **changed)).faults
    assert fault in found


@pytest.mark.parametrize("mask", ["f16", "i1"])
def test_rows_of_grouped_and_masked_attentions_are_those_of_the_whole(mask: str) -> None:
    model = model_attention(6, 5, 8, keys=7, columns=3, group=3, mask=mask)
    program = model.program()
    inputs = program.draw_inputs()
    (whole,) = program.expected(inputs)
    part = np.zeros(whole.shape, bool)
    part[0, 1, 2, 3:] = part[0, 0, 0, 1, :2] = True
    q, k, v, added = inputs
    operands = (q, k[:, :, None], v[:, :, None], added)
    found = attention_rows(operands, part, model.score_factor)
    np.testing.assert_allclose(found, whole[part], rtol=1e-12)


def test_the_names_of_all_attentions_differ() -> None:
    names = [each.name for each in attentions_of_models()]
    assert len(names) == len(set(names)) >= 45
