# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu/gpu_machine and measuring: what runs, what is kept, what goes on after a failure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bankwise.bench.gpu import measuring
from bankwise.bench.gpu.gpu_machine import Machine, conditions
from bankwise.bench.gpu.inputs import bounded_bytes
from bankwise.bench.gpu.measuring import Wanted, measure_all
from bankwise.bench.gpu.modes import INEXACT_MODES, MODES
from bankwise.bench.gpu.profiler import LAUNCHES, METRICS
from bankwise.bench.gpu.record import Conditions, Record, Reference, differing_rows, wrong_rows
from bankwise.bench.gpu.references import ReferenceCase
from bankwise.bench.gpu.timed_kernels import CompiledKernels, TimedKernel

from .ncu_tables import FIGURES, ncu_table, program

KERNEL = TimedKernel("matmul_4x8x2_f16", "matmul", ("4x2xf16", "2x8xf16"), MODES, INEXACT_MODES)
ATTENTION = TimedKernel(
    "attention_1x64x4_f16", "attention", ("1x64x4xf16",) * 3, MODES, INEXACT_MODES, 0.5
)
GPU = Conditions("GPU", "sm_80", "normal", "base")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Programs in place of the real ones: an output is the module, its inputs, and zeros."""
    programs = tmp_path / "programs"
    scratch = tmp_path / "scratch"
    programs.mkdir()
    scratch.mkdir()
    program(
        programs / "iree-run-module",
        "import sys\n"
        "from pathlib import Path\n"
        "options = [option.split('=', 1) for option in sys.argv[1:]]\n"
        "paths = [value.split('@')[-1] for name, value in options if name != '--device']\n"
        "module, function, *inputs, output = paths\n"
        "runs = open(Path(module).parent / 'runs.txt', 'a')\n"
        "print(Path(module).name, file=runs, flush=True)\n"
        "if Path(module).read_bytes() == b'broken': sys.exit('cannot run')\n"
        "known = b''.join(Path(p).read_bytes() for p in (module, *inputs))\n"
        "Path(output).write_bytes(known + bytes(128))\n",
    )
    table = tmp_path / "table.csv"
    table.write_text(ncu_table())
    program(
        programs / "ncu",
        "import json, sys\n"
        "from pathlib import Path\n"
        f"Path({str(tmp_path / 'ncu.json')!r}).write_text(json.dumps(sys.argv[1:]))\n"
        f"print('version' if '--version' in sys.argv else Path({str(table)!r}).read_text())\n",
    )
    program(programs / "nvidia-smi", "print('NVIDIA H200, 580.1')\n")
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.setattr(measuring, "runtime_programs", lambda: programs)
    monkeypatch.setattr(measuring, "conditions", lambda *_: (GPU, {"ncu": "1"}))
    monkeypatch.setattr(measuring, "has_torch", lambda: False)
    return Machine(programs, scratch, "normal", "base")


@pytest.fixture
def measure(machine: Machine, tmp_path: Path) -> Callable[..., tuple[bool, Record, list[str]]]:
    """Measures kernels; gives whether all is well, the record, and which modules ran."""

    def measured(only: str = "") -> tuple[bool, Record, list[str]]:
        runs, output = tmp_path / "runs.txt", tmp_path / "times.json"
        runs.write_text("")
        well = measure_all(Wanted(tmp_path, output, only, "normal", "base"))
        ran = [name.removesuffix(".vmfb") for name in runs.read_text().splitlines()]
        return well, Record.read(output), ran

    return measured


def write_modules(directory: Path, contents: Sequence[str], *kernels: TimedKernel) -> None:
    for kernel in kernels or (KERNEL,):
        for mode, content in zip(MODES, contents, strict=True):
            kernel.module(directory, mode).write_text(content)
    CompiledKernels("sm_80", {"bankwise": "0"}, kernels or (KERNEL,)).write_list(directory)


def test_outputs_are_compared_with_stocks(measure: Callable[..., tuple], tmp_path: Path):
    write_modules(tmp_path, ["a", "a", "a", "b", "c", "d"])
    well, record, _ = measure()
    assert [row.mode for row in record.rows] == list(MODES)
    assert {row.figures for row in record.rows} == {FIGURES}
    different = differing_rows(record.kernels, record.rows)
    assert [row.mode for row in different] == ["auto/layout", "auto/exact", "auto/fast"]
    wrong = wrong_rows(record.kernels, record.rows)
    assert [row.mode for row in wrong] == ["auto/layout", "auto/exact"]
    assert not well
    write_modules(tmp_path, ["a", "a", "a", "a", "a", "d"])
    assert measure()[0]


def test_equal_modules_run_once(measure: Callable[..., tuple], tmp_path: Path):
    write_modules(tmp_path, ["a", "a", "a", "b", "a", "b"])
    _, record, ran = measure()
    assert ran == [f"{KERNEL.name}.stock", f"{KERNEL.name}.auto_layout"]
    assert len(record.rows) == len(MODES)
    assert len({(row.module, row.output) for row in record.rows}) == 2


def test_a_module_runs_with_all_its_inputs(machine: Machine, tmp_path: Path):
    write_modules(tmp_path, ["a"] * len(MODES))
    inputs = machine.write_inputs(KERNEL)
    vmfb = KERNEL.module(tmp_path, "stock")
    expected = bounded_bytes("4x2xf16", "4x2f160") + bounded_bytes("2x8xf16", "2x8f161")
    digest = machine.run(vmfb, KERNEL, inputs)
    assert digest == hashlib.sha256(b"a" + expected + bytes(128)).hexdigest()[:16]
    assert machine.figures(vmfb, KERNEL, inputs) == FIGURES
    profiled = json.loads((tmp_path / "ncu.json").read_text())
    start = profiled.index(str(machine.programs / "iree-benchmark-module"))
    assert f"--metrics={','.join(METRICS.values())}" in profiled[:start]
    assert f"--launch-count={LAUNCHES}" in profiled[:start]
    assert "--clock-control=base" in profiled[:start]
    assert profiled[start + 1 : -1] == [
        "--device=cuda",
        f"--module={vmfb}",
        "--function=matmul",
        f"--input=4x2xf16=@{machine.scratch / 'input0.bin'}",
        f"--input=2x8xf16=@{machine.scratch / 'input1.bin'}",
    ]


def test_a_run_goes_on_where_it_stopped(measure: Callable[..., tuple], tmp_path: Path):
    write_modules(tmp_path, ["a", "f", "b", "c", "d", "e"])
    _, first, ran = measure("stock|exact")
    assert ran == [f"{KERNEL.name}.stock", f"{KERNEL.name}.auto_exact"]
    _, second, ran = measure()
    assert ran == [f"{KERNEL.name}.{mode}" for mode in ("none", "pad", "auto_layout", "auto_fast")]
    assert [row.mode for row in second.rows] == list(MODES)
    assert {*first.rows} < {*second.rows}
    assert measure()[2] == []


def test_a_module_that_changed_is_measured_again(measure: Callable[..., tuple], tmp_path: Path):
    write_modules(tmp_path, ["a", "f", "b", "c", "d", "e"])
    measure()
    write_modules(tmp_path, ["a", "f", "b", "c", "new", "e"])
    _, record, ran = measure()
    assert ran == [f"{KERNEL.name}.auto_exact"]
    assert len(record.rows) == len(MODES)


def test_a_failure_is_noted_and_the_next_has_its_turn(
    measure: Callable[..., tuple], tmp_path: Path
):
    write_modules(tmp_path, ["a", "b", "broken", "c", "a", "e"])
    well, record, _ = measure()
    assert not well
    assert [row.mode for row in record.rows] == [mode for mode in MODES if mode != "pad"]
    (failure,) = record.failures
    assert (failure.kernel, failure.series) == (KERNEL.name, "pad")
    assert "cannot run" in failure.message
    write_modules(tmp_path, ["a", "b", "mended", "c", "a", "e"])
    assert measure()[1].failures == ()


def test_what_ncu_says_is_part_of_the_failure(
    measure: Callable[..., tuple], machine: Machine, tmp_path: Path
):
    write_modules(tmp_path, ["a"] * len(MODES))
    (tmp_path / "table.csv").write_text("==ERROR== ERR_NVGPUCTRPERM")
    _, record, _ = measure("stock")
    (failure,) = record.failures
    assert "stock.vmfb: ncu measured 0 kernels" in failure.message
    assert "ERR_NVGPUCTRPERM" in failure.message


def test_a_call_may_launch_several_kernels(
    measure: Callable[..., tuple], machine: Machine, tmp_path: Path
):
    write_modules(tmp_path, ["a"] * len(MODES))
    launches = 2 * (LAUNCHES + 3)
    table = ncu_table(launches=launches, times=["10"] * launches, kernels=("split", "merge"))
    (tmp_path / "table.csv").write_text(table)
    _, record, _ = measure("stock")
    (row,) = record.rows
    assert row.figures.milliseconds == pytest.approx(0.02)
    assert not record.failures


def test_a_record_of_another_gpu_is_not_mixed_in(
    measure: Callable[..., tuple], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_modules(tmp_path, ["a"] * len(MODES))
    measure()
    other = Conditions("Other", "sm_80", "normal", "base")
    monkeypatch.setattr(measuring, "conditions", lambda *_: (other, {}))
    with pytest.raises(RuntimeError, match="device is 'Other' and was 'GPU'"):
        measure()


def test_outputs_are_compared_with_float64(measure: Callable[..., tuple], tmp_path: Path):
    # The output is the module's bytes and the inputs', of which the output's size is compared.
    contents = [letter * 1024 for letter in "xxyxxx"]
    write_modules(tmp_path, contents, ATTENTION, KERNEL)
    _, record, _ = measure()
    for kernel in (ATTENTION, KERNEL):
        rows = [row for row in record.rows if row.kernel == kernel.name]
        assert all(row.errors and row.errors.rms > 0 for row in rows)
        assert rows[0].errors == rows[1].errors != rows[2].errors


def test_an_output_that_is_too_short_is_a_failure(measure: Callable[..., tuple], tmp_path: Path):
    write_modules(tmp_path, "x" * len(MODES), replace(KERNEL, operands=("90x8xf16", "8x90xf16")))
    _, record, _ = measure()
    assert not record.rows
    assert {failure.series for failure in record.failures} == {*MODES}


def test_libraries_are_asked_once_for_what_is_wanted(
    measure: Callable[..., tuple], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[list[str]] = []

    def answered(cases: Sequence[ReferenceCase], *_: object):
        asked.append([case.series for case in cases])
        # cuDNN refuses the shape: that is known then, too.
        times = {"cudnn": None}
        found = [Reference(c.kernel.name, c.series, times.get(c.series, 0.5)) for c in cases]
        return found, {"torch": "2"}

    monkeypatch.setattr(measuring, "has_torch", lambda: True)
    monkeypatch.setattr(measuring, "measure_references", answered)
    write_modules(tmp_path, ["x" * 1024] * len(MODES), ATTENTION, KERNEL)
    measure("cublas|flash")
    _, record, _ = measure()
    measure()
    assert asked == [["flash", "cublas"], ["efficient", "cudnn"]]
    assert record.milliseconds()[ATTENTION.name, "flash"] == 0.5
    assert (ATTENTION.name, "cudnn") not in record.milliseconds()
    assert record.versions == {"bankwise": "0", "ncu": "1", "torch": "2"}


def test_kernels_are_measured_though_pytorch_fails(
    measure: Callable[..., tuple], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def failed(*_: object):
        raise RuntimeError("no libcudart")

    monkeypatch.setattr(measuring, "has_torch", lambda: True)
    monkeypatch.setattr(measuring, "measure_references", failed)
    write_modules(tmp_path, ["a"] * len(MODES))
    well, record, _ = measure()
    assert not well and len(record.rows) == len(MODES)
    assert [each.message for each in record.failures] == ["no libcudart"]


def test_the_machine_says_what_it_is(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    found, versions = conditions("sm_80", "normal", "none")
    assert found == Conditions("NVIDIA H200", "sm_80", "normal", "none")
    assert versions["driver"] == "580.1" and versions["ncu"] == "version"
