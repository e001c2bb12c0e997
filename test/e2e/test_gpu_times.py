# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu_times: its steps as commands, what is compiled, and the recorded run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bankwise.bench import gpu_times
from bankwise.bench.gpu import compiling
from bankwise.bench.gpu.compiling import compile_all, kernels, timed
from bankwise.bench.gpu.kernels import CompiledKernels
from bankwise.bench.gpu.modes import INEXACT_MODES, MODES
from bankwise.bench.gpu.record import Record, differing_rows, wrong_rows

ROOT = Path(gpu_times.__file__).parents[1]
RECORDED = Record.read(ROOT / "bench" / "results" / "gpu_times.json")


def test_each_kernel_is_compiled_in_each_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    compiled: list[tuple[str, str]] = []

    def compile_mlir(source: str, flags: Sequence[str], mode: str) -> bytes:
        assert "--iree-cuda-target=sm_80" in flags
        compiled.append((source, mode))
        return f"{mode} {source}".encode()

    monkeypatch.setattr(compiling, "compile", compile_mlir)
    compile_all(tmp_path)
    assert compiled == [(kernel.source(), mode) for kernel in kernels() for mode in MODES]
    listed = CompiledKernels.read(tmp_path)
    assert listed.target == "sm_80" and listed.versions["compiler"]
    assert listed.kernels == tuple(timed(kernel) for kernel in kernels())
    for each, kernel in zip(listed.kernels, kernels(), strict=True):
        source = kernel.source()
        assert f"func.func @{each.function}(" in source
        assert all(f"tensor<{operand}>" in source for operand in each.operands)
        assert all(each.module(tmp_path, m).read_text() == f"{m} {source}" for m in MODES)


def test_a_part_of_the_kernels_can_be_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compiling, "compile", lambda *_: b"")
    compile_all(tmp_path, only="^attention_(2|8)x.*_bf16")
    names = [kernel.name for kernel in CompiledKernels.read(tmp_path).kernels]
    assert names == ["attention_2x1024x128_bf16", "attention_8x1024x64_bf16"]
    assert len([*tmp_path.glob("*.vmfb")]) == 2 * len(MODES)


def test_what_is_compiled_has_the_scale_and_the_order_of_operands():
    by_name = {kernel.name: timed(kernel) for kernel in kernels()}
    assert len(by_name) == len(kernels())
    # The roots of 1 / 128 in f16 and in bf16.
    assert by_name["attention_2x1024x128_f16"].scale == 0.08837890625
    assert by_name["attention_2x1024x128_bf16"].scale == 0.08837890625
    assert by_name["attention_4x2048x256_bf16"].scale == 0.0625
    assert by_name["matmul_2048x2048x2048_f16"].scale is None
    transposed = {name for name, kernel in by_name.items() if kernel.transposed}
    assert transposed == {name for name in by_name if name.endswith("_transposed")}
    wide = by_name["matmul_8192x1024x4096_f16_transposed"]
    assert wide.shapes == ((8192, 4096), (1024, 4096)) and wide.dtype == "f16"


def test_the_recorded_run_has_kernels_of_today_in_every_mode():
    today = {kernel.name: timed(kernel) for kernel in kernels()}
    assert all(today[kernel.name] == kernel for kernel in RECORDED.kernels)
    cases = [(row.kernel, row.mode) for row in RECORDED.rows]
    assert cases == [(kernel.name, mode) for kernel in RECORDED.kernels for mode in MODES]
    assert RECORDED.conditions.device == "NVIDIA H200"


def test_the_recorded_outputs_equal_stocks_where_they_must():
    assert wrong_rows(RECORDED.kernels, RECORDED.rows) == []
    different = differing_rows(RECORDED.kernels, RECORDED.rows)
    assert {row.mode for row in different} == {*INEXACT_MODES}
    attentions = {kernel.name for kernel in RECORDED.kernels if kernel.function == "attention"}
    assert {row.kernel for row in different} == attentions


def command(*arguments: str) -> tuple[int, str]:
    """Runs a step as on a machine that has neither packages nor programs: -S leaves these out."""
    words = [sys.executable, "-S", "-m", "bench.gpu_times", *arguments]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, env={"PATH": ""})
    return run.returncode, run.stderr


def test_the_machine_with_the_gpu_needs_the_standard_library_alone(tmp_path: Path):
    CompiledKernels("sm_80", {}, ()).write(tmp_path)
    message = "error: Nsight Compute's `ncu` is not in PATH\n"
    assert command("measure", str(tmp_path)) == (1, message)
    code, message = command("measure", str(tmp_path / "nowhere"))
    assert code == 1 and "nowhere has no kernels.json: compile into it" in message


def test_rocm_is_refused():
    message = "error: --backend rocm is not there yet: times are read by NVIDIA's ncu\n"
    for step in ("measure", "compile"):
        assert command(step, "nowhere", "--backend", "rocm") == (1, message)


def test_the_table_of_the_recorded_run_is_printed():
    path = ROOT / "bench" / "results" / "gpu_times.json"
    words = [sys.executable, "-m", "bankwise.bench.gpu_times", "table", str(path)]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("NVIDIA H200, sm_80 code, ")
    assert "## Rows that fail" in run.stdout
