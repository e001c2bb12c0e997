# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/whole_models: what is measured and what is kept, with stubs of the programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bankwise.bench.gpu.record import Conditions
from bankwise.bench.gpu.timed_kernels import CompiledKernels
from bankwise.bench.whole_models import model_runs, torch_times
from bankwise.bench.whole_models.compiled_models import timed
from bankwise.bench.whole_models.exported import ExportedModel, ExportedModels, ModelInput
from bankwise.bench.whole_models.model_record import ModelRecord, ModelRow
from bankwise.bench.whole_models.model_runs import measure_models
from bankwise.bench.whole_models.torch_times import READY, measure_torch

from .gpu.ncu_tables import ncu_table, program

X = ModelInput("x", "4x2xf16")
MODELS = tuple(
    ExportedModel(name, kind, (X,), (ModelInput("w", "2x2xf16"),), "8xf16", 3, (1.0, 1.0, 1.0))
    for name, kind in (("a_f16", "torch"), ("b_f16", "stablehlo"), ("c_f16", "torch"))
)
GPU = Conditions("GPU", "sm_80", "normal", "base")
ONES = np.ones(8, np.float16).tobytes()


def kernel_time(row: ModelRow) -> float:
    return row.kernel_milliseconds


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Exported models, and programs for which a module begins with its output."""
    begin = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "program, *arguments = sys.argv\n"
        "options = dict(each[2:].split('=', 1) for each in arguments if '=' in each)\n"
        "module = Path(options['module'])\n"
        "print(Path(program).name, file=open(module.parent / 'runs', 'a'))\n"
    )
    run = (
        "if module.read_bytes() == b'broken': sys.exit('cannot run')\n"
        "Path(options['output'][1:]).write_bytes(module.read_bytes()[:16])\n"
    )
    time = {"benchmarks": [{"aggregate_name": "median", "real_time": 5e3, "time_unit": "us"}]}
    table = ncu_table(kernels=("_initializer_dispatch_1", *["main_dispatch_0"] * 4))
    program(tmp_path / "iree-run-module", begin + run)
    program(tmp_path / "iree-benchmark-module", f"{begin}print(json.dumps({time}))\n")
    program(tmp_path / "ncu", f"{begin}print({table!r})\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(model_runs, "runtime_programs", lambda: tmp_path)
    monkeypatch.setattr(model_runs, "conditions", lambda *_: (GPU, {"ncu": "1"}))
    ExportedModels({"torch": "2"}, MODELS).write_list(tmp_path)
    return tmp_path


def write_modules(directory: Path, *names: str) -> None:
    kernels = tuple(timed(each) for each in MODELS if each.name in names)
    for kernel in kernels:
        for mode in kernel.modes:
            kernel.module(directory, mode).write_bytes(ONES + mode.encode())
    CompiledKernels("sm_80", {"bankwise": "0"}, kernels).write_list(directory)


def measured(directory: Path, **arguments: Any) -> tuple[bool, ModelRecord, Counter[str]]:
    """Measures models; returns whether all is well, the record, and which programs ran."""
    (directory / "runs").write_text("")
    well = measure_models(directory, directory / "record.json", **arguments)
    runs = Counter((directory / "runs").read_text().split())
    return well, ModelRecord.read(directory / "record.json"), runs


def test_models_are_checked_together_and_timed_one_by_one(directory: Path):
    write_modules(directory, "a_f16", "b_f16", "c_f16")
    well, record, runs = measured(directory, jobs=2)
    assert well and record.models() == ["a_f16", "b_f16", "c_f16"] and len(record.rows) == 12
    assert runs == {"iree-run-module": 24, "iree-benchmark-module": 12, "ncu": 12}
    row = record.rows[0]
    assert (row.milliseconds, row.kernels, row.errors.rms) == (5, {"main_dispatch_0": 0.001}, 0)
    assert not measured(directory)[2]


def test_times_of_kernels_are_added_later(directory: Path):
    write_modules(directory, "a_f16")
    _, record, runs = measured(directory, calls_only=True)
    assert not runs["ncu"] and record.ratio("a_f16", "auto/fast", kernel_time) is None
    assert record.ratio("a_f16", "auto/fast", lambda row: row.milliseconds) == 1
    _, record, runs = measured(directory)
    assert runs == {"ncu": 4} and record.ratio("a_f16", "auto/fast", kernel_time) == 1


@pytest.mark.parametrize("calls_only", [False, True])
def test_modules_that_are_equal_are_timed_once(directory: Path, calls_only: bool):
    write_modules(directory, "a_f16")
    for path in directory.glob("a_f16.auto_*.vmfb"):
        path.write_bytes(ONES)
    runs = measured(directory, calls_only=calls_only)[2] + measured(directory)[2]
    record = ModelRecord.read(directory / "record.json")
    assert (runs["iree-benchmark-module"], runs["ncu"], len(record.rows)) == (2, 2, 4)
    assert all(row.kernels for row in record.rows)


def test_changed_modules_are_measured_again_and_others_are_kept(directory: Path):
    write_modules(directory, "a_f16")
    measured(directory)
    changed = timed(MODELS[0]).module(directory, "auto/fast")
    changed.write_bytes(ONES + b"other")
    assert measured(directory)[2] == {"iree-run-module": 2, "iree-benchmark-module": 1, "ncu": 1}
    changed.write_bytes(b"broken")
    well, record, _ = measured(directory)
    (failure,) = record.failures
    assert not well and (failure.mode, len(record.rows)) == ("auto/fast", 3)


CHILD = f"""
import json, sys, time
from pathlib import Path
_, directory, name, report = sys.argv
if name == "c_f16": sys.exit("no such operation")
print({READY!r}, flush=True)
sys.stdin.readline()
if name == "d_f16": time.sleep(60)
timed = {{"found": [1.0, 1.0, 1.5], "milliseconds": 2.0}}
series = {{"eager": timed, "compiled": {{"note": "Error: unknown"}}}}
told = {{"series": series, "versions": {{"timed torch": "2.11"}}}}
Path(report).write_text(json.dumps(told))
"""


def test_torch_is_timed_beside_what_is_measured(directory: Path, monkeypatch: pytest.MonkeyPatch):
    write_modules(directory, "a_f16", "c_f16")
    measured(directory)
    hanging = replace(MODELS[0], name="d_f16")
    ExportedModels({}, (*MODELS, hanging)).write_list(directory)
    program(directory / "child", CHILD)
    monkeypatch.setattr(torch_times, "PROGRAM", (str(directory / "child"),))
    assert not measure_torch(directory, directory / "record.json", "", 3, 1.0)
    record = ModelRecord.read(directory / "record.json")
    found = {(each.kernel, each.series): (each.milliseconds, each.note) for each in record.torch}
    assert found == {
        ("a_f16", "eager"): (None, "the rms error is 2.89e-01 of 1.00e+00"),
        ("a_f16", "compiled"): (None, "Error: unknown"),
        ("c_f16", "eager"): (None, "no such operation"),
        ("c_f16", "compiled"): (None, "no such operation"),
        ("d_f16", "eager"): (None, "it took longer than 1 s"),
        ("d_f16", "compiled"): (None, "it took longer than 1 s"),
    }
    assert record.versions["timed torch"] == "2.11" and record.versions["ncu"] == "1"
    assert len(record.rows) == 8


def test_torch_is_not_timed_again(directory: Path, monkeypatch: pytest.MonkeyPatch):
    write_modules(directory, "a_f16")
    measured(directory)
    program(
        directory / "child",
        CHILD.replace("1.5", "1.0").replace(
            '"note"', '"found": [1.0, 1.0, 1.0], "milliseconds": 4.0, "_"'
        ),
    )
    monkeypatch.setattr(torch_times, "PROGRAM", (str(directory / "child"),))
    assert measure_torch(directory, directory / "record.json", "a_f16", 1, 30)
    monkeypatch.setattr(torch_times, "PROGRAM", ("no such program",))
    assert measure_torch(directory, directory / "record.json", "a_f16", 1, 30)
    _, record, _ = measured(directory)
    assert [each.milliseconds for each in record.torch] == [2, 4]
