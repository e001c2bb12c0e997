# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu_examples: what is compiled and predicted, and which rows of a GPU fail."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from bankwise.bench import gpu_examples
from bankwise.bench.gpu import counted_launches
from bankwise.bench.gpu.profiler import METRICS
from bankwise.bench.gpu.timed_kernels import CompiledKernels, TimedKernel, predictions
from bankwise.bench.gpu_examples import EXAMPLES, Row, compile_all, measure_all

RECORD = Path(gpu_examples.__file__).parent / "results" / "gpu_examples.json"
LOADS, STORES = METRICS["load_conflicts"], METRICS["store_conflicts"]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the directory with one example, compiled in both modes."""
    directory = tmp_path_factory.mktemp("examples")
    compile_all(directory, "warp_f32")
    return directory


def transposed(kernel: TimedKernel, inputs: Sequence[Path]) -> bytes:
    (shape,) = kernel.shapes
    return np.fromfile(inputs[0], np.float32).reshape(shape).T.tobytes()


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Returns what puts a GPU in place: its conflicts of loads by mode, and what it computes."""

    def put(
        conflicts: dict[str, int], result: Callable[..., bytes] = transposed, noise: int = 0
    ) -> None:
        def run_module(_: Path, __: Path, kernel: TimedKernel, inputs: Sequence[Path], out: Path):
            out.write_bytes(result(kernel, inputs))

        def output_of(command: Sequence[str]) -> str:
            assert command[0] == "ncu"
            asked = f"--metrics={LOADS},{STORES},{','.join(gpu_examples._WAVEFRONTS)}"
            assert asked in command
            (vmfb,) = (Path(each[9:]) for each in command if each.startswith("--module="))
            loads = conflicts[vmfb.suffixes[0][1:]]
            head = '"ID","Kernel Name","Grid Size","Metric Name","Metric Unit","Metric Value"\n'
            line = '"0","kernel","(1, 1, 1)","{}","","{:,}"\n'
            # The hardware counter may have more than the instructions' own conflicts.
            counted = {LOADS: loads + noise, STORES: 0}
            counted |= dict(zip(gpu_examples._WAVEFRONTS, (100 + loads, 100), strict=True))
            return head + "".join(line.format(*each) for each in counted.items())

        monkeypatch.setattr(counted_launches, "run_module", run_module)
        monkeypatch.setattr(counted_launches, "output_of", output_of)
        monkeypatch.setattr(counted_launches, "runtime_programs", Path)
        monkeypatch.setattr(
            counted_launches, "gpu_and_versions", lambda: ("a GPU", {"driver": "1"})
        )

    return put


def test_an_example_is_compiled_with_the_conflicts_of_its_grid(compiled: Path):
    (kernel,) = CompiledKernels.of_directory(compiled).kernels
    assert kernel.operands == ("16x32xf32",) and kernel.modes == ("none", "auto")
    assert all(kernel.module(compiled, mode).stat().st_size > 1000 for mode in kernel.modes)
    found = {name: (each.conflicts, each.decided) for name, each in predictions(compiled).items()}
    assert found == {"warp_f32 none": (240, None), "warp_f32 auto": (0, 0)}


def test_what_the_gpu_counts_is_recorded(compiled: Path, gpu: Callable[..., None], tmp_path: Path):
    gpu({"none": 240, "auto": 0}, noise=3)
    assert measure_all(compiled, tmp_path / "rows.json")
    record = json.loads((tmp_path / "rows.json").read_text())
    assert record["device"] == "a GPU" and record["versions"]["driver"] == "1"
    assert [Row(**row) for row in record["rows"]] == [
        Row("warp_f32", "none", 243, 0, 240, 240, None, True),
        Row("warp_f32", "auto", 3, 0, 0, 0, 0, True),
    ]


def test_other_conflicts_than_predicted_fail(
    compiled: Path, gpu: Callable[..., None], tmp_path: Path
):
    gpu({"none": 240, "auto": 1})
    assert not measure_all(compiled, tmp_path / "rows.json")


def test_a_wrong_result_fails(compiled: Path, gpu: Callable[..., None], tmp_path: Path):
    gpu({"none": 240, "auto": 0}, lambda kernel, inputs: inputs[0].read_bytes())
    assert not measure_all(compiled, tmp_path / "rows.json")


def test_the_recorded_rows_are_all_examples_as_predicted():
    rows = [Row(**row) for row in json.loads(RECORD.read_text())["rows"]]
    named = [(each.kernel.name, mode) for each in EXAMPLES for mode in each.kernel.modes]
    assert [(row.kernel, row.mode) for row in rows] == named
    assert all(row.is_as_predicted for row in rows)
    assert all(row.predicted_conflicts == 0 for row in rows if row.mode.startswith("auto"))
