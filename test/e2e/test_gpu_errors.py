# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu_errors: what programs in place of a GPU give, and the modes on the emulator."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bankwise.bench.gpu import error_kernels, error_measuring
from bankwise.bench.gpu.elements import F64, Elements, values
from bankwise.bench.gpu.error_inputs import kinds_of
from bankwise.bench.gpu.error_kernels import MODES, sources
from bankwise.bench.gpu.error_measuring import measure_errors
from bankwise.bench.gpu.errors import ErrorRecord, measure_row
from bankwise.bench.gpu.kernels import CompiledKernels, TimedKernel
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags


@pytest.mark.nightly
@pytest.mark.parametrize("masked", [True, False])
def test_the_modes_are_as_exact_as_they_must_be_on_the_emulator(
    masked: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(error_kernels, "_SHAPES", ((1, 128, 64),))
    kernel, source = [*sources().items()][masked]

    def run(kernel: TimedKernel, mode: str, operands: Sequence[Elements]) -> Elements:
        return run_emulated(source, target_flags("gfx942"), mode, list(operands)).outputs[0]

    for kind in kinds_of(kernel):
        row = measure_row(kernel, kind, run)
        assert row.findings() == []
        assert row.errors["stock"].rms > 0
        assert row.misplaced["stock"] == 0 and (row.nans > 0) == masked


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs in place of the real ones: `iree-run-module` gives q for the output."""
    directory = tmp_path / "programs"
    directory.mkdir()
    texts = {
        "iree-run-module": "import sys\n"
        "from pathlib import Path\n"
        "options = [option.split('=', 1) for option in sys.argv[1:]]\n"
        "(device, cuda), (_, module), _, (_, query), *_, (_, output) = options\n"
        "assert (device, cuda) == ('--device', 'cuda')\n"
        "if not Path(module).read_bytes(): sys.exit('cannot run')\n"
        "Path(output[1:]).write_bytes(Path(query.split('@')[1]).read_bytes())\n",
        "nvidia-smi": "print('NVIDIA H200, 580.1')\n",
    }
    for name, text in texts.items():
        (directory / name).write_text(f"#!{sys.executable}\n{text}")
        (directory / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(directory), prepend=":")
    monkeypatch.setattr(error_measuring, "runtime_programs", lambda: directory)
    return directory


def _queries(kernel: TimedKernel, operands: Sequence[Elements]) -> F64:
    return values(operands[0])


def measured(
    directory: Path, contents: Sequence[bytes], only: str = ""
) -> tuple[bool, ErrorRecord]:
    """Measures one kernel, with these modules."""
    kernel = TimedKernel("a", "attention", ("1x8x4xbf16",) * 3, MODES, ("auto/fast",), 0.5)
    CompiledKernels("sm_80", {"compiler": "1"}, (kernel,)).write_list(directory)
    for mode, content in zip(MODES, contents, strict=True):
        kernel.module(directory, mode).write_bytes(content)
    well = measure_errors(directory, directory / "errors.json", only, jobs=2)
    return well, ErrorRecord.read(directory / "errors.json")


def test_everything_is_measured_and_what_fails_is_said(
    tmp_path: Path, programs: Path, capsys: pytest.CaptureFixture[str]
):
    well, record = measured(tmp_path, [b"a", b"", b"a"])
    assert not well and record.device == "NVIDIA H200" and record.target == "sm_80"
    assert record.versions["NumPy"] == np.__version__ and record.versions["compiler"] == "1"
    assert [row.inputs for row in record.rows] == ["normal", "large", "equal", "tiny"]
    for row in record.rows:
        assert [*row.outputs] == ["stock", "auto/fast"]
        assert "cannot run" in row.failures["auto/exact"]
    printed = capsys.readouterr().out
    assert "a normal stock: the rms error is" in printed
    assert printed.endswith("4 rows, of which 4 fail\n")


def test_a_right_output_is_well(tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch):
    # Where float64 gives the queries too, what the program gives is right.
    monkeypatch.setattr("bankwise.bench.gpu.errors.exact_attention", _queries)
    well, record = measured(tmp_path, [b"a"] * 3)
    assert well and len(record.rows) == 4
    assert all(row.equals_stock("auto/exact") for row in record.rows)
    well, record = measured(tmp_path, [b"a"] * 3, only="^a (large|tiny)$")
    assert well and [row.inputs for row in record.rows] == ["large", "tiny"]
    well, record = measured(tmp_path, [b"a"] * 3, only="nothing")
    assert not well and record.rows == ()
