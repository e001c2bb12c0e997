# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel times and counters of attentions and matmuls on a real NVIDIA GPU, for each mode.

    python -m bankwise.bench.cuda_times compile DIR            # where the compiler is
    python bench/cuda_times.py measure DIR -o times.json       # where the GPU is
    python -m bankwise.bench.cuda_times table times.json       # where the compiler is

`measure` needs Python's standard library, Nsight Compute's `ncu` in PATH, and the wheel of
`iree-base-runtime`. An unpacked wheel whose programs are executable will do, with its folder in
PYTHONPATH. Times are those of the kernel alone, read by `ncu`, which by default holds the GPU's
clocks at their base frequency and flushes the caches before each launch.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import hashlib
import importlib.util
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bankwise.sweep.kernels import Kernel

TARGET = "sm_80"
STOCK = "stock"
MODES = (STOCK, "pad", "auto/layout", "auto/exact", "auto/fast")
INEXACT_MODES = ("auto/fast",)
"""The modes whose outputs may differ from stock's in their rounding."""

KERNELS_FILE = "kernels.json"
LAUNCHES = 5

METRICS = {
    "nanoseconds": "gpu__time_duration.sum",
    "instructions": "smsp__inst_executed.sum",
    "ldmatrix": "smsp__inst_executed_op_ldsm.sum",
    "shared_loads": "smsp__inst_executed_op_shared_ld.sum",
    "load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "registers": "launch__registers_per_thread",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
"""The metrics of `ncu`, by the names that they have here."""

_NANOSECONDS = {
    unit: scale
    for scale, units in (
        (1, ("ns", "nsecond")),
        (1e3, ("us", "usecond")),
        (1e6, ("ms", "msecond")),
        (1e9, ("s", "second")),
    )
    for unit in units
}
"""The nanoseconds in each unit of time, as newer and older versions of `ncu` write it."""


@dataclass(frozen=True)
class TimedKernel:
    """What a machine without the compiler has to know of a kernel.

    Attributes:
        function: the function to call in the kernel's module.
        operands: the types of its inputs, such as `2x1024x128xf16`.
    """

    name: str
    function: str
    operands: tuple[str, ...]

    def vmfb(self, directory: Path, mode: str) -> Path:
        """Returns the path of the module that a mode compiles."""
        return directory / f"{self.name}.{mode.replace('/', '_')}.vmfb"


@dataclass(frozen=True)
class Figures:
    """What `ncu` measured of a kernel: the medians of its launches.

    Attributes:
        milliseconds: the time of the kernel alone.
        instructions: the instructions that all warps executed.
        ldmatrix: those of them that are `ldmatrix`.
        shared_loads: those that load from shared memory otherwise.
        load_conflicts: the cycles that bank conflicts of loads cost.
        store_conflicts: the cycles that bank conflicts of stores cost.
        registers: the registers of a thread.
        occupancy: the active warps, in percent of the most that the GPU holds.
    """

    milliseconds: float
    instructions: int
    ldmatrix: int
    shared_loads: int
    load_conflicts: int
    store_conflicts: int
    registers: int
    occupancy: float


@dataclass(frozen=True)
class Row:
    """One kernel in one mode.

    Attributes:
        equal_to_stock: whether the output is bitwise equal to that of the mode `stock`.
        output_digest: the first 16 hexadecimal digits of the SHA-256 of the output's bytes.
    """

    kernel: str
    mode: str
    equal_to_stock: bool
    output_digest: str
    figures: Figures


@dataclass(frozen=True)
class Record:
    """The rows of one run, in the order of the kernels and of `MODES`.

    Attributes:
        device: the name of the GPU.
        target: the architecture that the kernels were compiled for.
        date: the day of the run, as in 2026-11-22.
    """

    device: str
    target: str
    date: str
    rows: tuple[Row, ...]

    def to_json(self) -> str:
        """Returns the record as the text of a JSON file."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @staticmethod
    def from_json(text: str) -> Record:
        """Returns the record that `to_json` wrote."""
        fields: dict[str, Any] = json.loads(text)
        rows = (Row(**{**row, "figures": Figures(**row["figures"])}) for row in fields["rows"])
        return Record(**{**fields, "rows": tuple(rows)})


def timed_kernels() -> list[tuple[TimedKernel, str]]:
    """Returns the measured kernels, each with its MLIR."""
    from bankwise.sweep.kernels import Attention, Matmul

    kernels = (
        Attention(2, 1024, 128, "f16"),
        Attention(16, 4096, 128, "f16"),
        Attention(64, 2048, 64, "f16"),
        Attention(4, 2048, 256, "f16"),
        Attention(2, 1024, 128, "bf16"),
        Matmul(2048, 2048, 2048, "f16"),
        Matmul(2048, 2048, 2048, "f16", transposed=True),
        Matmul(4096, 4096, 4096, "f16", transposed=True),
        Matmul(2048, 2048, 2048, "bf16"),
    )
    return [(_timed(kernel), kernel.source()) for kernel in kernels]


def _timed(kernel: Kernel) -> TimedKernel:
    from bankwise.sweep.kernels import Attention

    if isinstance(kernel, Attention):
        function, shapes = "attention", ((kernel.batch, kernel.seq, kernel.head_dim),) * 3
    else:
        function, shapes = "matmul", kernel.operands
    types = ("x".join([*map(str, shape), kernel.dtype]) for shape in shapes)
    return TimedKernel(kernel.name, function, tuple(types))


def compile_all(directory: Path) -> None:
    """Compiles every kernel in every mode into `directory`, with a file that lists the kernels.

    Raises:
        CompileError: a kernel does not compile.
        OSError: a file cannot be written.
    """
    from bankwise import compile as compile_mlir
    from bankwise.sweep.cases import target_flags

    directory.mkdir(parents=True, exist_ok=True)
    kernels = timed_kernels()
    for kernel, source in kernels:
        for mode in MODES:
            vmfb = compile_mlir(source, target_flags(TARGET), mode)
            kernel.vmfb(directory, mode).write_bytes(vmfb)
    entries = [asdict(kernel) for kernel, _ in kernels]
    (directory / KERNELS_FILE).write_text(json.dumps(entries, indent=1) + "\n")


def compiled_kernels(directory: Path) -> list[TimedKernel]:
    """Returns the kernels that `compile_all` left in `directory`."""
    entries: list[dict[str, Any]] = json.loads((directory / KERNELS_FILE).read_text())
    return [TimedKernel(**{**entry, "operands": tuple(entry["operands"])}) for entry in entries]


def random_bytes(operand: str, seed: str) -> bytes:
    """Returns the bytes of numbers with random signs and magnitudes from 0.125 to 2.

    No sum of their products overflows, and none of them is subnormal. The standard library makes
    them: the machine with the GPU need not have NumPy.

    Args:
        operand: the type of the tensor, such as `2048x2048xbf16`, in f16 or bf16.
        seed: equal seeds give equal numbers.
    """
    *extents, dtype = operand.split("x")
    # The high byte keeps its sign and the two low bits of the exponent, with mantissa bits below
    # them in f16. In bf16 the lowest bit of the exponent is in the low byte.
    kept, exponent = {"f16": (0x8F, 0x30), "bf16": (0x81, 0x3E)}[dtype]
    count = math.prod(map(int, extents))
    data = bytearray(hashlib.shake_256(seed.encode()).digest(2 * count))
    data[1::2] = data[1::2].translate(bytes((byte & kept) | exponent for byte in range(256)))
    return bytes(data)


def read_figures(output: str) -> Figures:
    """Returns the figures in what `ncu --csv` printed of `LAUNCHES` launches of one kernel.

    Lines that are not of the table, such as those of the measured program, are skipped.

    Raises:
        ValueError: the launches are not as many, are of several kernels, or lack a metric.
    """
    table = csv.DictReader(line for line in output.splitlines() if line.startswith('"'))
    values: dict[str, list[float]] = {metric: [] for metric in METRICS.values()}
    kernels: set[str] = set()
    for row in table:
        kernels.add(row["Kernel Name"])
        if row["Metric Name"] in values:
            values[row["Metric Name"]].append(_value(row))
    if len(kernels) != 1:
        raise ValueError(f"ncu measured {len(kernels)} kernels instead of one: {sorted(kernels)}")
    medians: dict[str, float] = {}
    for name, metric in METRICS.items():
        if len(values[metric]) != LAUNCHES:
            raise ValueError(f"ncu gave {len(values[metric])} values of {metric}, not {LAUNCHES}")
        medians[name] = statistics.median(values[metric])
    return figures_of(medians)


def _value(row: dict[str, str]) -> float:
    """Returns the value in a line of ncu's table, times in nanoseconds."""
    text, metric = row["Metric Value"], row["Metric Name"]
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"ncu could not measure {metric}: its value is {text!r}")
    if metric != METRICS["nanoseconds"]:
        return value
    unit = row["Metric Unit"]
    if unit not in _NANOSECONDS:
        raise ValueError(f"ncu gives {metric} in an unknown unit, {unit!r}")
    return value * _NANOSECONDS[unit]


def figures_of(medians: dict[str, float]) -> Figures:
    """Returns figures from the medians of all `METRICS` by their names."""
    exact = ("nanoseconds", "occupancy")
    counts = {name: round(value) for name, value in medians.items() if name not in exact}
    return Figures(
        milliseconds=medians["nanoseconds"] / 1e6, occupancy=medians["occupancy"], **counts
    )


@dataclass(frozen=True)
class Machine:
    """Runs compiled kernels on the first CUDA device, by IREE's programs and `ncu`.

    Attributes:
        programs: the directory of `iree-run-module` and `iree-benchmark-module`.
        scratch: a directory for inputs and outputs.
    """

    programs: Path
    scratch: Path

    def write_inputs(self, kernel: TimedKernel) -> list[str]:
        """Writes a kernel's inputs to files; returns the options that make programs read them."""
        options: list[str] = []
        for number, operand in enumerate(kernel.operands):
            shape, _, dtype = operand.rpartition("x")
            path = self.scratch / f"input{number}.bin"
            path.write_bytes(random_bytes(operand, f"{shape}{dtype}{number}"))
            options.append(f"--input={operand}=@{path}")
        return options

    def output_digest(self, vmfb: Path, function: str, inputs: Sequence[str]) -> str:
        """Runs a kernel once; returns the digest of its output.

        Raises:
            RuntimeError: the run fails; the message is the program's.
        """
        output = self.scratch / "output.bin"
        output.unlink(missing_ok=True)
        command = self._command("iree-run-module", vmfb, function, inputs)
        _output_of([*command, f"--output=@{output}"])
        return hashlib.sha256(output.read_bytes()).hexdigest()[:16]

    def figures(self, vmfb: Path, function: str, inputs: Sequence[str]) -> Figures:
        """Returns what `ncu` measures of a kernel, after a launch that warms it up.

        Raises:
            RuntimeError: ncu fails, or its table is not as expected.
        """
        command = ["ncu", "--csv", "--kernel-name=regex:dispatch", "--launch-skip=1"]
        command += [f"--launch-count={LAUNCHES}", "--kill=yes"]
        command += [f"--metrics={','.join(METRICS.values())}"]
        command += self._command("iree-benchmark-module", vmfb, function, inputs)
        command += [f"--benchmark_min_time={LAUNCHES + 3}x"]
        # Whether ncu succeeds is read from its table: it kills the program after the last launch.
        run = subprocess.run(command, capture_output=True, text=True)
        try:
            return read_figures(run.stdout)
        except ValueError as error:
            message = (run.stderr + run.stdout).strip()[-2000:]
            raise RuntimeError(f"{vmfb.name}: {error}\n{message}") from error

    def _command(self, program: str, vmfb: Path, function: str, inputs: Sequence[str]) -> list[str]:
        module = ["--device=cuda", f"--module={vmfb}", f"--function={function}"]
        return [str(self.programs / program), *module, *inputs]


def _output_of(command: Sequence[str]) -> str:
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {(run.stderr or run.stdout).strip()[-2000:]}")
    return run.stdout


def measure_kernel(machine: Machine, kernel: TimedKernel, directory: Path) -> Iterable[Row]:
    """Yields a kernel's rows in the order of `MODES`, which starts with the mode `stock`."""
    inputs = machine.write_inputs(kernel)
    stock = ""
    for mode in MODES:
        vmfb = kernel.vmfb(directory, mode)
        digest = machine.output_digest(vmfb, kernel.function, inputs)
        stock = stock or digest
        figures = machine.figures(vmfb, kernel.function, inputs)
        yield Row(kernel.name, mode, digest == stock, digest, figures)


def measure_all(directory: Path, output: Path) -> bool:
    """Measures all kernels in `directory`; returns whether outputs equal stock's where they must.

    `output` is written after each kernel, so that an interrupted run leaves what it has.

    Raises:
        RuntimeError: a program is missing or fails.
        OSError: a file cannot be read or written.
    """
    if shutil.which("ncu") is None:
        raise RuntimeError("Nsight Compute's `ncu` is not in PATH")
    device = _output_of(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]).splitlines()[0]
    date = datetime.date.today().isoformat()
    programs = runtime_programs()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="bankwise-cuda-") as scratch:
        machine = Machine(programs, Path(scratch))
        for kernel in compiled_kernels(directory):
            for row in measure_kernel(machine, kernel, directory):
                rows.append(row)
                print(json.dumps(asdict(row)), flush=True)
            output.write_text(Record(device, TARGET, date, tuple(rows)).to_json())
    return not wrong_rows(rows)


def runtime_programs() -> Path:
    """Returns the directory in which the runtime wheel has its programs.

    Raises:
        RuntimeError: the wheel is neither installed nor in PYTHONPATH.
    """
    try:
        spec = importlib.util.find_spec("iree._runtime_libs")
    except ModuleNotFoundError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("iree-base-runtime is neither installed nor in PYTHONPATH")
    return Path(spec.submodule_search_locations[0])


def wrong_rows(rows: Iterable[Row]) -> list[Row]:
    """Returns the rows whose outputs differ from stock's though their mode keeps every bit."""
    return [row for row in rows if not row.equal_to_stock and row.mode not in INEXACT_MODES]


def markdown_table(record: Record) -> str:
    """Returns the times in milliseconds, with ratios to stock's, and which outputs differ.

    Raises:
        KeyError: a kernel has no row in the mode `stock`.
    """
    from bankwise.sweep.tables import markdown_lines

    by_kernel: dict[str, dict[str, Row]] = {}
    for row in record.rows:
        by_kernel.setdefault(row.kernel, {})[row.mode] = row
    lines = [["kernel", "outputs that differ from stock's", *MODES]]
    for kernel, rows in by_kernel.items():
        different = [mode for mode, row in rows.items() if not row.equal_to_stock]
        cells = [_time_cell(rows.get(mode), rows[STOCK]) for mode in MODES]
        lines.append([kernel, ", ".join(different) or "none", *cells])
    title = f"{record.device}, {record.target} code, {record.date}: milliseconds (ratio to stock)"
    return f"{title}\n\n{markdown_lines(lines, text_columns=2)}\n"


def _time_cell(row: Row | None, stock: Row) -> str:
    if row is None:
        return ""
    time = row.figures.milliseconds
    ratio = f" ({time / stock.figures.milliseconds:.2f}x)" if row.mode != STOCK else ""
    return f"{time:.4f}{ratio}"


def main() -> int:
    """Compiles, measures, or prints; exits with 1 when an output is wrong or a run fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = parser.add_subparsers(dest="step", required=True)
    for step in ("compile", "measure"):
        directory = steps.add_parser(step).add_argument("directory", type=Path, metavar="DIR")
        directory.help = "the directory of the compiled kernels"
    steps.choices["measure"].add_argument(
        "-o", "--output", type=Path, default=Path("cuda_times.json"), metavar="FILE.json"
    )
    steps.add_parser("table").add_argument("record", type=Path, metavar="FILE.json")
    arguments = parser.parse_args()
    if arguments.step == "compile":
        compile_all(arguments.directory)
    elif arguments.step == "table":
        print(markdown_table(Record.from_json(arguments.record.read_text())), end="")
    else:
        try:
            return 0 if measure_all(arguments.directory, arguments.output) else 1
        except RuntimeError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
