# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu_times: its steps, what is compiled, and the recorded times."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bankwise.bench import gpu_times
from bankwise.bench.gpu import compiling
from bankwise.bench.gpu.command_steps import take_step
from bankwise.bench.gpu.compiling import compile_sources
from bankwise.bench.gpu.modes import EXACT, FAST, INEXACT_MODES, MODES, mode_for
from bankwise.bench.gpu.products import products
from bankwise.bench.gpu.record import Record, differing_rows, wrong_rows
from bankwise.bench.gpu.timed_kernels import CompiledKernels
from bankwise.bench.gpu.timed_sets import kernels, model_attentions
from bankwise.iree_plugin.python_compile import CompileError

ROOT = Path(gpu_times.__file__).parents[1]
HOPPER = "sm_90a"
RECORDED = Record.read(ROOT / "bench" / "results" / "gpu_times.json")


TIMES, MODELS, PRODUCTS = "gpu_times", "attentions", "products"
BENCHES = {
    TIMES: kernels(),
    MODELS: model_attentions(),
    PRODUCTS: products(),
}
"""The kernels of each bench, with their MLIR."""


@pytest.mark.parametrize("bench", BENCHES)
def test_each_kernel_is_compiled_in_each_mode(
    bench: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    compiled: list[tuple[str, str]] = []

    def compile_mlir(source: str, flags: Sequence[str], mode: str) -> bytes:
        assert "--iree-cuda-target=sm_80" in flags
        compiled.append((source, mode))
        return f"{mode} {source}".encode()

    monkeypatch.setattr(compiling, "compile", compile_mlir)
    sources = BENCHES[bench]
    compile_sources(tmp_path, sources)
    assert compiled == [(source, mode) for each, source in sources.items() for mode in each.modes]
    listed = CompiledKernels.of_directory(tmp_path)
    assert listed.target == "sm_80" and listed.versions["compiler"]
    assert listed.kernels == tuple(sources)
    for each, source in sources.items():
        assert f"func.func @{each.function}(" in source
        assert all(f"tensor<{operand}>" in source for operand in each.operands)
        assert all(each.module(tmp_path, m).read_text() == f"{m} {source}" for m in each.modes)


def test_times_are_of_all_modes():
    assert all(each.modes == MODES for each in BENCHES[TIMES])


def test_attentions_are_of_the_shapes_that_models_have():
    listed = BENCHES[MODELS]
    assert len({kernel.name for kernel in listed}) == len(listed)
    halves = [kernel for kernel in listed if kernel.dtype == "f16"]
    odd = [kernel for kernel in halves if kernel.modes == ("stock", "auto/fast")]
    assert len(halves) == 47 and len(odd) >= 25
    assert {kernel.types[3] for kernel in halves if len(kernel.types) == 4} == {"f16", "i1"}
    shapes = {kernel.label: kernel.shapes for kernel in halves}
    q, k = (1, 2, 7, 512, 64), (1, 2, 512, 64)
    assert shapes["14x512x64_f16_group7"] == (q, k, k)
    q, k = (16, 2048, 192), (16, 2048, 128)
    assert shapes["16x2048x192_f16_columns128"] == (q, q, k)
    assert shapes["8x4096x40_f16_keys77"] == ((8, 4096, 40), (8, 77, 40), (8, 77, 40))


@pytest.mark.parametrize(
    ("bench", "only", "names"),
    [
        (TIMES, "^attention_(2|8)x.*_bf16", ("2x1024x128_bf16", "8x1024x64_bf16")),
        (MODELS, "16x577x64_f16_mask_i1", ("16x577x64_f16_mask_i1",)),
    ],
)
def test_a_part_of_the_kernels_can_be_compiled(
    bench: str, only: str, names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(compiling, "compile", lambda *_: b"")
    compile_sources(tmp_path, BENCHES[bench], only=only)
    listed = CompiledKernels.of_directory(tmp_path).kernels
    assert [kernel.name for kernel in listed] == [f"attention_{name}" for name in names]
    assert len([*tmp_path.glob("*.vmfb")]) == sum(len(kernel.modes) for kernel in listed)


def test_code_for_another_gpu_stands_beside_in_modes_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(compiling, "compile", lambda _, flags, mode: f"{mode} {flags[1]}".encode())
    command = ["gpu_times", "compile", str(tmp_path), "--only=attention_2x1024x128_f16"]
    monkeypatch.setattr(sys, "argv", [*command, "--also-for=sm_90a", "--jobs=1"])
    assert take_step("", gpu_times.STEPS) == 0
    (kernel,) = CompiledKernels.of_directory(tmp_path).kernels
    assert kernel.modes == (*MODES, "auto/exact@sm_90a", "auto/fast@sm_90a")
    assert kernel.inexact == ("auto/fast", "auto/fast@sm_90a")
    for mode in kernel.modes:
        of, _, target = mode.partition("@")
        assert "@" not in kernel.module(tmp_path, mode).name
        code = kernel.module(tmp_path, mode).read_text()
        assert code == f"{of} --iree-cuda-target={target or 'sm_80'}"


def test_what_does_not_compile_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fails(*_: object) -> bytes:
        raise CompileError("no such op")

    monkeypatch.setattr(compiling, "compile", fails)
    with pytest.raises(RuntimeError, match=r"attention_2x1024x128_f16.stock: no such op"):
        compile_sources(tmp_path, kernels(), only="2x1024x128_f16")


def test_what_is_compiled_has_the_scale_and_the_order_of_operands():
    by_name = {kernel.name: kernel for kernel in kernels()}
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
    today = {kernel.name: kernel.also_for(HOPPER) for kernel in kernels()}
    assert all(today[kernel.name] == kernel for kernel in RECORDED.kernels)
    cases = [(row.kernel, row.mode) for row in RECORDED.rows]
    modes = (*MODES, *(mode_for(mode, HOPPER) for mode in (EXACT, FAST)))
    assert cases == [(kernel.name, mode) for kernel in RECORDED.kernels for mode in modes]
    assert RECORDED.conditions.device == "NVIDIA H200"


def test_the_recorded_outputs_equal_stocks_where_they_must():
    assert wrong_rows(RECORDED.kernels, RECORDED.rows) == []
    different = differing_rows(RECORDED.kernels, RECORDED.rows)
    inexact = {*INEXACT_MODES, *(mode_for(mode, HOPPER) for mode in INEXACT_MODES)}
    assert {row.mode for row in different} == inexact
    attentions = {kernel.name for kernel in RECORDED.kernels if kernel.function == "attention"}
    assert {row.kernel for row in different} == attentions


def command(step: str, directory: Path, *, flags: Sequence[str] = ("-S",)) -> tuple[int, str]:
    """Runs a step as on a machine that has neither packages nor programs: -S leaves these out."""
    words = [sys.executable, *flags, "-m", f"bench.{TIMES}", step, str(directory)]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, env={"PATH": ""})
    return run.returncode, run.stderr


@pytest.mark.parametrize(
    ("step", "flags", "missing"),
    [
        ("measure", ["-S"], "error: Nsight Compute's `ncu` is not in PATH\n"),
        ("repeat", ["-S"], "error: there is no Python package numpy and no iree\n"),
    ],
)
def test_the_machine_with_the_gpu_is_told_what_it_lacks(
    step: str, flags: list[str], missing: str, tmp_path: Path
):
    CompiledKernels("sm_80", {}, ()).write_list(tmp_path)
    assert command(step, tmp_path, flags=flags) == (1, missing)


@pytest.mark.parametrize(("step", "flags"), [("measure", ["-S"]), ("repeat", [])])
def test_kernels_are_compiled_first(step: str, flags: list[str], tmp_path: Path):
    code, message = command(step, tmp_path / "nowhere", flags=flags)
    assert code == 1 and "nowhere has no kernels.json: compile into it" in message


def test_the_table_of_the_recorded_run_is_printed():
    path = ROOT / "bench" / "results" / "gpu_times.json"
    words = [sys.executable, "-m", "bankwise.bench.gpu_times", "table", str(path)]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("NVIDIA H200, sm_80 code, ")
    assert "## Rows that fail" in run.stdout
