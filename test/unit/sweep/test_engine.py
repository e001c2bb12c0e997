# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measuring open cases in parallel, and what one measurement says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config, register_parallel_backend
from joblib._parallel_backends import ThreadingBackend

from bankwise.runtime.dispatch_record import DispatchRecord
from bankwise.runtime.emulated_device import EmulatedDevice
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep import engine as sweep_engine
from bankwise.sweep.cases import Case, SweptKernel, attention_kernel, target_flags
from bankwise.sweep.engine import SweepError, Workers, sweep
from bankwise.sweep.measure import SamplingDevice, measure, spread
from bankwise.sweep.rows import Row
from bankwise.sweep.rows_file import RowsFile
from bankwise.sweep.swept_kernels import Attention

from .swept_rows import case, failed_row, row

CASES = [case("a"), case("b"), case("c")]
SERIAL = Workers(jobs=1, backend="sequential")


@pytest.fixture
def file(tmp_path: Path) -> Iterator[RowsFile[Row]]:
    with RowsFile(tmp_path / "rows.jsonl", Row) as opened:
        yield opened


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Case], Row]], list[str]]:
    """Puts a function in place of the measurement; the list names the cases it was called for."""

    def install(function: Callable[[Case], Row]) -> list[str]:
        calls: list[str] = []

        def replacement(of: Case) -> Row:
            calls.append(of.kernel.name)
            return function(of)

        monkeypatch.setattr(sweep_engine, "measure", replacement)
        return calls

    return install


def test_only_open_cases_are_measured(file: RowsFile[Row], measured):
    calls = measured(row)
    file.append(row(CASES[1]))
    file.append(failed_row(CASES[2]))
    seen: list[str] = []
    sweep(CASES, file, SERIAL, lambda r: seen.append(r.kernel))
    assert calls == seen == ["a", "c"]
    sweep(CASES, file, SERIAL, lambda r: seen.append(r.kernel))
    assert calls == ["a", "c"]


def test_there_are_no_more_workers_than_cases(file: RowsFile[Row], measured):
    measured(row)
    finished: list[str] = []
    workers = Workers(10**20, "threading")
    sweep(CASES, file, workers, lambda r: finished.append(r.kernel))
    assert sorted(finished) == ["a", "b", "c"]


def test_rows_before_an_interruption_are_kept(file: RowsFile[Row], measured):
    def interrupted(of: Case) -> Row:
        if of.kernel.name == "b":
            raise KeyboardInterrupt
        return row(of)

    measured(interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(CASES, file, SERIAL, lambda r: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep_engine, "measure", row)
        finished: list[str] = []
        sweep(CASES, file, SERIAL, lambda r: finished.append(r.kernel))
    assert finished == ["b", "c"]


@pytest.mark.parametrize("surrounding", [False, True])
def test_any_backend_of_joblib_is_used(file: RowsFile[Row], measured, surrounding: bool):
    used: list[str] = []

    class Recording(ThreadingBackend):
        def configure(self, *arguments: Any, **options: Any) -> int:
            used.append("recording")
            return super().configure(*arguments, **options)

    measured(row)
    register_parallel_backend("recording", Recording)
    if surrounding:
        with parallel_config(backend="recording"):
            sweep(CASES, file, Workers(jobs=2), lambda r: None)
    else:
        sweep(CASES, file, Workers(jobs=2, backend="recording"), lambda r: None)
    assert used
    assert len(file) == 3


def test_a_worker_with_other_versions_is_refused(file: RowsFile[Row], measured):
    measured(lambda of: replace(row(of), compiler="9.9"))
    with pytest.raises(SweepError, match=r"a worker has iree-base-compiler 9\.9 .* install"):
        sweep(CASES, file, SERIAL, lambda r: None)
    assert len(file) == 0


@pytest.mark.parametrize(
    ("backend", "message"),
    [("frob", "backend 'frob' cannot be used: Invalid backend"), ("dask", "'dask' cannot be used")],
)
def test_a_backend_that_is_not_there(file: RowsFile[Row], backend: str, message: str):
    with pytest.raises(SweepError, match=message):
        sweep(CASES, file, Workers(jobs=1, backend=backend), lambda r: None)


def test_workgroups_are_spread_over_the_grid():
    assert spread((4, 3, 2), 2) == [(0, 0, 0), (3, 2, 1)]
    assert spread((2, 1, 2), 9) == [(0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1)]
    chosen = spread((100, 1, 1), 5)
    assert len(chosen) == 5
    assert chosen[0] == (0, 0, 0)
    assert chosen[-1] == (99, 0, 0)


def one_case(kernel: SweptKernel, mode: str, sample: int = 2) -> Case:
    return Case(kernel, "gfx942", mode, sample)


def test_two_workgroups_stand_for_the_grid():
    """A sample's extrapolation is what the whole grid counts."""
    kernel = attention_kernel(Attention(1, 256, 64, "f16"))
    sample, whole = measure(one_case(kernel, "none")), measure(one_case(kernel, "none", 99))
    assert (sample.workgroups, sample.emulated, sample.agree) == (4, 2, True)
    assert (whole.emulated, whole.extent) == (4, "all 4")
    assert sample.grid == whole.grid
    assert sample.workgroup is not None
    assert sample.grid == {name: 4 * count for name, count in sample.workgroup.items()}
    assert sample.lds_bytes == 24_576


@pytest.mark.nightly
def test_the_predicted_time_is_that_of_a_run():
    kernel = attention_kernel(Attention(1, 128, 64, "f16"))
    times = measure(replace(one_case(kernel, "auto"), timing=True)).predicted_microseconds
    inputs = [np.zeros((1, 128, 64), np.float16)] * 3
    device = partial(EmulatedDevice, sample=2, timing=True)
    run = run_emulated(kernel.source, target_flags("gfx942"), "auto", inputs, device=device)
    (record,) = run.records
    assert record.timing is not None
    assert times == {
        name: pytest.approx(time, abs=5e-4)
        for name, time in asdict(record.timing.microseconds).items()
    }
    assert measure(one_case(kernel, "auto")).predicted_microseconds is None


def test_workgroups_that_differ_are_predicted_by_those_between(monkeypatch: pytest.MonkeyPatch):
    """The first and the last workgroup, of which one has less to do, are 2 of 640."""
    runs: list[DispatchRecord] = []
    run = SamplingDevice.run

    def kept(self: SamplingDevice, command: Any, chosen: Any) -> DispatchRecord:
        runs.append(run(self, command, chosen))
        return runs[-1]

    monkeypatch.setattr(SamplingDevice, "run", kept)
    kernel = SweptKernel("k", "", SQUARE.format(size=40_900), "", ("40900xf32",))
    times = measure(replace(one_case(kernel, "none"), timing=True)).predicted_microseconds
    assert [record.emulated for record in runs] == [2, 30]
    first, between = (record.timing.microseconds for record in runs if record.timing)
    assert times is not None
    assert times["expected"] == pytest.approx(between.expected, abs=5e-4)
    assert times["expected"] != pytest.approx(first.expected, abs=5e-4)


def test_counters_do_not_depend_on_the_data():
    """What lets a sweep feed zeros: the kernel's control flow and addresses do not read them."""
    zeros = attention_kernel(Attention(1, 128, 64, "f16"))
    other = replace(zeros, inputs=tuple(f"1x128x64xf16={x}" for x in ("0.5", "-2.0", "3.0")))
    assert measure(one_case(zeros, "auto")).grid == measure(one_case(other, "auto")).grid


SQUARE = """
func.func @square(%a: tensor<{size}xf32>) -> tensor<{size}xf32> {{
  %r = arith.mulf %a, %a : tensor<{size}xf32>
  return %r : tensor<{size}xf32>
}}
"""
TWO_FUNCTIONS = SQUARE.format(size=8) + SQUARE.format(size=8).replace("@square", "@other")


@pytest.mark.parametrize(
    ("size", "extent"),
    [(900, "all 15"), (40_900, "32 of 640, differ: not extrapolated")],
)
def test_workgroups_that_differ_are_not_extrapolated(size: int, extent: str):
    """The last workgroup's range ends within it: it touches fewer blocks of memory."""
    kernel = SweptKernel("k", "", SQUARE.format(size=size), "", (f"{size}xf32",))
    result = measure(one_case(kernel, "none"))
    assert result.error == ""
    assert result.agree is False
    assert result.extent == extent
    assert result.workgroup is None
    blocks = 2 * -(-4 * size // 64)
    if result.grid is not None:
        assert result.grid["GLOBAL_TRANSACTIONS_64B"] == blocks
        assert result.measured is None
    else:
        assert result.measured is not None
        assert 0 < result.measured["GLOBAL_TRANSACTIONS_64B"] < blocks


@pytest.mark.parametrize(
    ("source", "inputs", "message"),
    [
        ("func.func @f( {\n", (), "broken:1:14: error:"),
        (SQUARE.format(size=8), (), "takes 1 inputs, 0 are given"),
        (SQUARE.format(size=8), ("9xf32",), "9xf32"),
        (SQUARE.format(size=8), ("@gone.npy",), "cannot read 'gone.npy'"),
        (TWO_FUNCTIONS, (), "name a function; the module exports square, other"),
    ],
)
def test_a_failure_is_a_row_with_the_reason(source: str, inputs: tuple[str, ...], message: str):
    result = measure(one_case(SweptKernel("broken", "", source, "", inputs), "auto"))
    assert message in result.error
    assert result.grid is None
    assert result.extent == "failed"


def test_workers_do_not_hear_a_terminal() -> None:
    # In a process of its own: only the first workers of a process start what they share.
    program = """
import signal
from bankwise.sweep.engine import Workers, measured
def blocked(case):
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
print(*measured([1, 2], blocked, Workers(jobs=2)), signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""
    command = [sys.executable, "-P", "-c", program]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "True True set()\n"
