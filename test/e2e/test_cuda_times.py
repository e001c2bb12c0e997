# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/cuda_times: what it reads of ncu, what it runs, its table, and the recorded run."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from bankwise.bench import cuda_times
from bankwise.bench.cuda_times import (
    INEXACT_MODES,
    LAUNCHES,
    METRICS,
    MODES,
    Figures,
    Machine,
    Record,
    Row,
    TimedKernel,
    compiled_kernels,
    markdown_table,
    measure_kernel,
    random_bytes,
    read_figures,
    timed_kernels,
    wrong_rows,
)

SCRIPT = Path(cuda_times.__file__)
RECORDED = Record.from_json((SCRIPT.parent / "results" / "cuda_times.json").read_text())

FIGURES = Figures(
    milliseconds=0.05,
    instructions=1_234_567,
    ldmatrix=16,
    shared_loads=32,
    load_conflicts=7,
    store_conflicts=3,
    registers=128,
    occupancy=6.25,
)
KERNEL = TimedKernel("kernel", "matmul", ("4x2xf16", "2x8xf16"))


def ncu_table(
    *,
    launches: int = LAUNCHES,
    unit: str = "us",
    times: Sequence[str] = ("49.0", "51.0", "50.0", "9,000.5", "1.0"),
    others: dict[str, str] | None = None,
    kernels: Sequence[str] = ("matmul_dispatch_0",),
) -> str:
    """Returns what `ncu --csv` prints, between lines of the program and of ncu itself."""
    cells = {
        "instructions": "1,234,567",
        "ldmatrix": "16",
        "shared_loads": "32",
        "load_conflicts": "7",
        "store_conflicts": "3",
        "registers": "128",
        "occupancy": "6.25",
        **(others or {}),
    }
    lines = ["==PROF== Connected to process 1", "BM_matmul 0.1 ms"]
    lines.append('"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"')
    for launch in range(launches):
        kernel = kernels[launch % len(kernels)]
        for name, value in {"nanoseconds": times[launch], **cells}.items():
            its_unit = unit if name == "nanoseconds" else "inst"
            fields = (launch, kernel, "Command line profiler metrics", METRICS[name], its_unit)
            lines.append(",".join(f'"{field}"' for field in (*fields, value)))
    return "\n".join([*lines, "==PROF== Disconnected"])


def test_figures_are_the_medians_of_the_launches():
    assert read_figures(ncu_table()) == FIGURES


@pytest.mark.parametrize(
    ("unit", "milliseconds"),
    [("ns", 5e-5), ("nsecond", 5e-5), ("usecond", 0.05), ("ms", 50), ("msecond", 50), ("s", 5e4)],
)
def test_times_are_read_in_every_unit(unit: str, milliseconds: float):
    assert read_figures(ncu_table(unit=unit)).milliseconds == pytest.approx(milliseconds)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM", "0 kernels instead of one"),
        (ncu_table(kernels=("one", "two")), r"2 kernels instead of one: \['one', 'two'\]"),
        (ncu_table(launches=4), "4 values of gpu__time_duration.sum, not 5"),
        (ncu_table(unit="fortnight"), "unknown unit, 'fortnight'"),
        (ncu_table(others={"ldmatrix": "n/a"}), "op_ldsm.sum: its value is 'n/a'"),
        (ncu_table(others={"ldmatrix": "nan"}), "op_ldsm.sum: its value is 'nan'"),
        (ncu_table().replace(METRICS["registers"], "other"), "0 values of launch__registers"),
    ],
)
def test_a_table_that_lacks_something_is_refused(table: str, message: str):
    with pytest.raises(ValueError, match=message):
        read_figures(table)


@pytest.mark.parametrize(("dtype", "kind"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_inputs_are_numbers_of_like_magnitude(dtype: str, kind: type):
    values = np.frombuffer(random_bytes(f"64x64x{dtype}", "seed"), kind).astype(np.float64)
    magnitudes = np.abs(values)
    assert values.size == 64 * 64
    assert 0.125 <= magnitudes.min() < 0.13 and 1.9 < magnitudes.max() < 2
    assert 0.4 < (values < 0).mean() < 0.6
    assert len(np.unique(values)) > 500
    assert random_bytes(f"64x64x{dtype}", "seed") != random_bytes(f"64x64x{dtype}", "other")


def program(path: Path, text: str) -> None:
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Programs in place of the real ones: an output is the module's bytes and the inputs'."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    program(
        tmp_path / "iree-run-module",
        "import sys\n"
        "from pathlib import Path\n"
        "options = [option.split('=', 1) for option in sys.argv[1:]]\n"
        "paths = [value.split('@')[-1] for name, value in options if name != '--device']\n"
        "module, function, *inputs, output = paths\n"
        "if not Path(module).exists(): sys.exit('no such module')\n"
        "Path(output).write_bytes(b''.join(Path(p).read_bytes() for p in (module, *inputs)))\n",
    )
    table = tmp_path / "table.csv"
    table.write_text(ncu_table())
    program(
        tmp_path / "ncu",
        "import json, sys\n"
        "from pathlib import Path\n"
        f"Path({str(tmp_path / 'ncu.json')!r}).write_text(json.dumps(sys.argv[1:]))\n"
        f"print(Path({str(table)!r}).read_text())\n",
    )
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return Machine(tmp_path, scratch)


def write_modules(directory: Path, contents: Sequence[str]) -> None:
    for mode, content in zip(MODES, contents, strict=True):
        KERNEL.vmfb(directory, mode).write_text(content)


def test_outputs_are_compared_with_stocks(machine: Machine, tmp_path: Path):
    write_modules(tmp_path, ["same", "same", "other", "same", "third"])
    rows = list(measure_kernel(machine, KERNEL, tmp_path))
    assert [row.mode for row in rows] == list(MODES)
    assert [row.equal_to_stock for row in rows] == [True, True, False, True, False]
    assert len({row.output_digest for row in rows}) == 3
    assert {row.figures for row in rows} == {FIGURES}
    assert [row.mode for row in wrong_rows(rows)] == ["auto/layout"]


def test_a_module_runs_with_all_its_inputs(machine: Machine, tmp_path: Path):
    write_modules(tmp_path, ["same"] * len(MODES))
    stock = next(iter(measure_kernel(machine, KERNEL, tmp_path)))
    inputs = random_bytes("4x2xf16", "4x2f160") + random_bytes("2x8xf16", "2x8f161")
    assert stock.output_digest == hashlib.sha256(b"same" + inputs).hexdigest()[:16]
    profiled = json.loads((tmp_path / "ncu.json").read_text())
    program = profiled.index(str(tmp_path / "iree-benchmark-module"))
    assert f"--metrics={','.join(METRICS.values())}" in profiled[:program]
    assert f"--launch-count={LAUNCHES}" in profiled[:program]
    assert profiled[program + 1 : -1] == [
        "--device=cuda",
        f"--module={KERNEL.vmfb(tmp_path, 'stock')}",
        "--function=matmul",
        f"--input=4x2xf16=@{machine.scratch / 'input0.bin'}",
        f"--input=2x8xf16=@{machine.scratch / 'input1.bin'}",
    ]


def test_a_run_that_fails_says_why(machine: Machine, tmp_path: Path):
    with pytest.raises(RuntimeError, match="no such module"):
        list(measure_kernel(machine, KERNEL, tmp_path))
    write_modules(tmp_path, ["same"] * len(MODES))
    (tmp_path / "table.csv").write_text("==ERROR== ERR_NVGPUCTRPERM")
    with pytest.raises(RuntimeError, match=r"kernel.stock.vmfb: (.|\n)*ERR_NVGPUCTRPERM"):
        list(measure_kernel(machine, KERNEL, tmp_path))


def test_each_kernel_is_compiled_in_each_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    compiled: list[tuple[str, str]] = []

    def compile_mlir(source: str, flags: Sequence[str], mode: str) -> bytes:
        assert "--iree-cuda-target=sm_80" in flags
        compiled.append((source, mode))
        return f"{mode} {source}".encode()

    monkeypatch.setattr("bankwise.compile", compile_mlir, raising=False)
    cuda_times.compile_all(tmp_path)
    kernels = timed_kernels()
    assert compiled == [(source, mode) for _, source in kernels for mode in MODES]
    assert compiled_kernels(tmp_path) == [kernel for kernel, _ in kernels]
    for kernel, source in kernels:
        assert f"func.func @{kernel.function}(" in source
        assert all(f"tensor<{operand}>" in source for operand in kernel.operands)
        for mode in MODES:
            assert kernel.vmfb(tmp_path, mode).read_text() == f"{mode} {source}"


def row(mode: str, milliseconds: float, *, equal: bool = True) -> Row:
    return Row("kernel", mode, equal, "0" * 16, replace(FIGURES, milliseconds=milliseconds))


def test_the_table_has_times_and_ratios_to_stock():
    rows = (row("stock", 0.2), row("pad", 0.25), row("auto/fast", 0.1, equal=False))
    title, _, head, _, line = markdown_table(
        Record("GPU", "sm_80", "2026-11-22", rows)
    ).splitlines()
    assert title == "GPU, sm_80 code, 2026-11-22: milliseconds (ratio to stock)"
    assert head.split(" | ")[2:] == [*MODES[:-1], f"{MODES[-1]} |"]
    assert line == "| kernel | auto/fast | 0.2000 | 0.2500 (1.25x) |  |  | 0.1000 (0.50x) |"


def test_a_record_is_read_as_it_was_written():
    assert Record.from_json(RECORDED.to_json()) == RECORDED
    assert json.loads(RECORDED.to_json())["rows"][0]["figures"]["registers"] == 133


def test_the_recorded_run_has_every_kernel_in_every_mode():
    kernels = [kernel.name for kernel, _ in timed_kernels()]
    cases = [(row.kernel, row.mode) for row in RECORDED.rows]
    assert cases == [(kernel, mode) for kernel in kernels for mode in MODES]
    assert RECORDED.device == "NVIDIA H200"


def test_the_recorded_outputs_equal_stocks_where_they_must():
    stock = {row.kernel: row.output_digest for row in RECORDED.rows if row.mode == "stock"}
    for each in RECORDED.rows:
        assert each.equal_to_stock == (each.output_digest == stock[each.kernel])
    assert wrong_rows(RECORDED.rows) == []
    different = {row.kernel for row in RECORDED.rows if not row.equal_to_stock}
    assert different == {name for name in stock if name.startswith("attention")}
    assert {row.mode for row in RECORDED.rows if not row.equal_to_stock} == {*INEXACT_MODES}


def test_the_machine_with_the_gpu_needs_the_standard_library_alone():
    # -S leaves out the installed packages.
    command = [sys.executable, "-S", str(SCRIPT), "measure", "nowhere"]
    run = subprocess.run(command, capture_output=True, text=True, env={"PATH": ""})
    assert (run.returncode, run.stderr) == (
        1,
        "error: Nsight Compute's `ncu` is not in PATH\n",
    )
