# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu/errors: stand-ins in NumPy run the kernels; what must fail does, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bankwise.bench.gpu.elements import EPSILON, F64, Elements, rounded, values
from bankwise.bench.gpu.error_inputs import kinds_of
from bankwise.bench.gpu.errors import ErrorRecord, ErrorRow, exact_attention, measure_row
from bankwise.bench.gpu.errors_table import markdown
from bankwise.bench.gpu.kernels import TimedKernel
from bankwise.bench.gpu.record import Errors

from .ncu_tables import section

MODES = ("stock", "auto/exact", "auto/fast")
Outputs = Callable[[F64, str], F64]


def attention(dtype: str = "f16", masked: bool = False) -> TimedKernel:
    operands = (f"2x96x16x{dtype}",) * 3 + (f"2x96x96x{dtype}",) * masked
    name = f"attention_2x96x16_{dtype}{'_masked' * masked}"
    return TimedKernel(name, "attention", operands, MODES, ("auto/fast",), scale=0.25)


def stand_in(change: Callable[[Elements, str], None], factor: float = 1.0):
    """Returns what computes attentions by float64, and then changes some elements in place."""

    def run(kernel: TimedKernel, mode: str, operands: Sequence[Elements]) -> Elements:
        assert kernel.scale is not None
        other = replace(kernel, scale=factor * kernel.scale)
        output = rounded(exact_attention(other, operands), kernel.dtype)
        change(output, mode)
        return output

    return run


def nothing(output: Elements, mode: str) -> None:
    """Leaves an output as it is."""


def only(which: str, change: Callable[[Elements], None]) -> Callable[[Elements, str], None]:
    """Returns a change of one mode's output."""
    return lambda output, mode: change(output) if mode == which else None


def findings(row: ErrorRow) -> list[tuple[str, str]]:
    """Returns the mode and the first words of each finding."""
    assert all(each.kernel == f"{row.kernel} {row.inputs}" for each in row.findings())
    return [(each.mode, each.what.split(" is ")[0].split(" of ")[0]) for each in row.findings()]


RMS = ("auto/fast", "the rms error")
LARGEST = ("auto/fast", "the largest error")
CASES = [
    (attention(dtype, masked), kind)
    for dtype in ("f16", "bf16")
    for masked in (False, True)
    for kind in kinds_of(attention(dtype, masked))
]


@pytest.mark.parametrize(("kernel", "kind"), CASES)
def test_right_outputs_are_well(kernel: TimedKernel, kind: str):
    row = measure_row(kernel, kind, stand_in(nothing))
    assert row.findings() == [] and row.equals_stock("auto/exact")
    assert row.misplaced == dict.fromkeys(MODES, 0)
    assert (row.nans > 0) == (kind == "masked")
    errors = row.errors["auto/fast"]
    assert errors == row.errors["stock"]
    assert 0 < errors.rms < errors.largest <= row.unit / 2
    assert errors.rms < EPSILON[kernel.dtype] * row.magnitude


def test_a_mask_must_be_heeded():
    def run(kernel: TimedKernel, mode: str, operands: Sequence[Elements]) -> Elements:
        return rounded(exact_attention(kernel, operands[:3]), kernel.dtype)

    row = measure_row(attention(masked=True), "masked", run)
    assert ("stock", "the rms error") in findings(row)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_an_error_of_stock_that_is_no_rounding_is_found(factor: float):
    row = measure_row(attention(), "normal", stand_in(nothing, factor))
    assert findings(row) == [("stock", "the rms error")]


def test_the_rms_error_may_be_a_tenth_above_stocks():
    row = measure_row(attention(), "normal", stand_in(nothing))
    stock = row.errors["stock"]
    for factor, found in ((1.09, []), (1.11, [RMS]), (math.inf, [RMS]), (math.nan, [RMS])):
        errors = {**row.errors, "auto/fast": replace(stock, rms=factor * stock.rms)}
        assert findings(replace(row, errors=errors)) == found


def test_the_largest_error_may_be_a_unit_more():
    row = measure_row(attention(), "normal", stand_in(nothing))
    stock = row.errors["stock"]
    limit = 1.1 * stock.largest + row.unit
    for largest, found in ((0.99 * limit, []), (1.01 * limit, [LARGEST]), (math.nan, [LARGEST])):
        errors = {**row.errors, "auto/fast": Errors(stock.rms, largest)}
        assert findings(replace(row, errors=errors)) == found


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_a_unit_is_that_of_the_largest_output(dtype: str):
    row = measure_row(attention(dtype), "normal", stand_in(nothing))
    kernel, outputs = attention(dtype), []

    def kept(output: Elements, mode: str) -> None:
        outputs.append(output)

    measure_row(kernel, "normal", stand_in(kept))
    largest = np.abs(values(outputs[0])).max()
    words = np.uint16 if dtype == "bf16" else np.float16
    at = rounded(np.array([largest]), dtype).view(np.uint16)
    steps = values(np.concatenate([at, at + 1]).astype(np.uint16).view(words))
    assert row.unit == steps[1] - steps[0]


@pytest.mark.parametrize(("kernel", "kind"), CASES)
def test_noise_of_fast_is_found(kernel: TimedKernel, kind: str):
    def noisy(output: Elements) -> None:
        noise = 1 + 0.02 * np.random.default_rng(1).standard_normal(output.shape)
        output[:] = rounded(values(output) * noise, kernel.dtype)

    row = measure_row(kernel, kind, stand_in(only("auto/fast", noisy)))
    assert RMS in findings(row)
    assert {mode for mode, _ in findings(row)} == {"auto/fast"}


@pytest.mark.parametrize(("kernel", "kind"), CASES)
def test_one_wrong_element_of_fast_is_found(kernel: TimedKernel, kind: str):
    def wrong(output: Elements) -> None:
        place = np.flatnonzero(~np.isnan(values(output)))[777]
        output.flat[place] = rounded(values(output).flat[[place]] + 0.5, kernel.dtype)[0]

    row = measure_row(kernel, kind, stand_in(only("auto/fast", wrong)))
    assert LARGEST in findings(row)
    assert {mode for mode, _ in findings(row)} == {"auto/fast"}


@pytest.mark.parametrize(("kernel", "kind"), CASES)
def test_one_wrong_bit_is_found_at_exact_alone(kernel: TimedKernel, kind: str):
    def flipped(output: Elements) -> None:
        output.view(np.uint16)[1, 50, 3] ^= 1

    differs = [("auto/exact", "the output differs from that")]
    row = measure_row(kernel, kind, stand_in(only("auto/exact", flipped)))
    assert findings(row) == differs and not row.equals_stock("auto/exact")
    assert findings(measure_row(kernel, kind, stand_in(only("auto/fast", flipped)))) == []


def with_nan(output: Elements, mode: str = "") -> None:
    output[0, 3, 5] = np.nan


def test_nans_are_found_where_numbers_should_be():
    row = measure_row(attention(), "normal", stand_in(only("auto/fast", with_nan)))
    assert row.errors["auto/fast"] == Errors(math.inf, math.inf)
    what = ("auto/fast", "1 elements are NaN or not, other than float64's")
    assert findings(row) == [RMS, LARGEST, what]


def test_numbers_are_found_where_nans_should_be():
    def filled(output: Elements) -> None:
        np.nan_to_num(output, copy=False)

    kernel = attention(masked=True)
    row = measure_row(kernel, "masked", stand_in(only("auto/fast", filled)))
    what = f"{row.nans} elements are NaN or not, other than float64's"
    assert findings(row) == [("auto/fast", what)]


def test_what_stock_makes_of_hidden_rows_is_allowed_in_all_modes():
    def filled(output: Elements, mode: str) -> None:
        np.nan_to_num(output, copy=False)

    row = measure_row(attention(masked=True), "masked", stand_in(filled))
    assert row.findings() == []
    assert row.misplaced == {"stock": row.nans, "auto/exact": 0, "auto/fast": 0}


def test_nans_of_stock_itself_are_counted_and_allowed_in_all_modes():
    row = measure_row(attention(), "normal", stand_in(with_nan))
    assert row.findings() == [] and row.errors["stock"].largest <= row.unit / 2
    assert row.misplaced == {"stock": 1, "auto/exact": 0, "auto/fast": 0}


def test_a_stock_without_numbers_is_found():
    def broken(output: Elements, mode: str) -> None:
        output[:] = np.nan

    row = measure_row(attention(), "normal", stand_in(broken))
    assert ("stock", "the rms error") in findings(row)


def test_what_does_not_run_is_found():
    def run(kernel: TimedKernel, mode: str, operands: Sequence[Elements]) -> Elements:
        if mode in broken:
            raise RuntimeError("no device")
        return stand_in(nothing)(kernel, mode, operands)

    broken = {"auto/exact"}
    row = measure_row(attention(), "normal", run)
    assert findings(row) == [("auto/exact", "no device")] and not row.equals_stock("auto/exact")
    broken = {"stock"}
    assert findings(measure_row(attention(), "normal", run)) == [("stock", "no device")]
    broken = {*MODES}
    row = measure_row(attention(), "normal", run)
    assert findings(row) == [(mode, "no device") for mode in MODES]
    assert not row.equals_stock("auto/exact")


def record(*rows: ErrorRow) -> ErrorRecord:
    return ErrorRecord("GPU", "sm_80", "2026-11-22", {"driver": "1"}, rows)


def test_a_record_is_read_as_it_was_written(tmp_path: Path):
    row = measure_row(attention(), "large", stand_in(only("auto/fast", with_nan)))
    record(row).write(tmp_path / "record.json")
    assert ErrorRecord.read(tmp_path / "record.json") == record(row)


def test_a_record_without_rows_is_not_well():
    assert [each.what for each in record().findings()] == ["nothing was measured"]


def test_the_table_has_the_greatest_ratios_and_what_fails():
    good = measure_row(attention(), "normal", stand_in(nothing))
    stock = good.errors["stock"]
    worse = Errors(1.5 * stock.rms, 1.25 * stock.largest)
    bad = replace(good, kernel="other", errors={**good.errors, "auto/fast": worse})
    other = replace(good, dtype="bf16", outputs={**good.outputs, "auto/exact": "0"})
    masked = measure_row(attention(masked=True), "masked", stand_in(nothing))
    text = markdown(record(good, bad, other, masked))
    assert text.startswith("GPU, sm_80 code, 2026-11-22. driver 1\n")
    _, _, *lines = section(text, "Errors against float64")
    assert lines == [
        ["normal", "f16", "2", "2", "1.500x", "1.250x"],
        ["normal", "bf16", "1", "0", "1.000x", "1.000x"],
        ["masked", "f16", "1", "1", "1.000x", "1.000x"],
    ]
    _, _, *lines = section(text, "Rows that fail")
    assert [(line[0], line[1]) for line in lines] == [
        ("other normal", "auto/fast"),
        ("attention_2x96x16_f16 normal", "auto/exact"),
    ]
    _, _, *lines = section(text, "All rows")
    assert [line[:3] for line in lines][1:3] == [
        ["other", "normal", "bitwise stock"],
        ["2x96x16_f16", "normal", "differs"],
    ]
    assert lines[1][5] == "1.500x" and lines[1][7] == "1.250x" and lines[3][8] == f"{masked.nans}"


def test_the_table_shows_what_did_not_run():
    def run(kernel: TimedKernel, mode: str, operands: Sequence[Elements]) -> Elements:
        raise RuntimeError("no device\nat all")

    text = markdown(record(measure_row(attention(), "normal", run)))
    _, _, *lines = section(text, "Rows that fail")
    assert lines == [["attention_2x96x16_f16 normal", mode, "no device"] for mode in MODES]
    (line,) = section(text, "All rows")[2:]
    assert line[2] == "" and line[4:8] == [""] * 4
