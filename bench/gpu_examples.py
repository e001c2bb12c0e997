# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bank conflicts of the hand-written examples on an NVIDIA GPU, as written and swizzled.

    python -m bankwise.bench.gpu_examples compile DIR             # where the compiler is
    python -m bench.gpu_examples measure DIR -o examples.json     # where the GPU is

`measure` runs in the root of the repository. It needs Python's standard library, NumPy, Nsight
Compute's `ncu` in PATH, and the wheel of `iree-base-runtime`. An unpacked wheel whose programs are
executable will do, with its folder in PYTHONPATH.

`none` compiles an example as it is written, `auto` swizzles its shared memory. A row fails where
the result is wrong, or where `ncu` counts other conflicts than the bank model has predicted.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from .gpu.kernels import CompiledKernels, TimedKernel, digest
from .gpu.profiler import METRICS, ncu_command, read_launches
from .gpu.runtime_programs import (
    gpu_and_versions,
    module_command,
    output_of,
    run_module,
    runtime_programs,
)
from .gpu.steps import exit_code

MODES = ("none", "auto")
PREDICTIONS_FILE = "predictions.json"
TARGET = "sm_80"
_WAVE, _WARP = "subgroup_size = 64", "subgroup_size = 32"


@dataclass(frozen=True)
class Example:
    """A module in `examples/`, whose function takes one tensor.

    Attributes:
        path: within `examples/`. What is written for waves of 64 is compiled for warps of 32.
        operand: the type of the tensor, such as `1024x256xf16`.
        transposes: whether the result is the transposed tensor.
    """

    path: str
    function: str
    operand: str
    transposes: bool = True

    @property
    def name(self) -> str:
        """Returns the name of the file without its suffix."""
        return Path(self.path).stem

    @property
    def kernel(self) -> TimedKernel:
        """Returns what a machine without the compiler has to know."""
        return TimedKernel(self.name, self.function, (self.operand,), MODES)


EXAMPLES = (
    Example("transpose/row_major.mlir", "transpose", "1024x256xf16"),
    Example("transpose/column_major.mlir", "transpose", "1024x256xf16"),
    Example("transpose/warp_f32.mlir", "transpose", "16x32xf32"),
    Example("transpose/cuda_f16.mlir", "transpose", "1024x256xf16"),
    Example("gemm/ldmatrix_fragments.mlir", "fragments", "16x64xf16", transposes=False),
)


@dataclass(frozen=True)
class Row:
    """One example in one mode.

    Attributes:
        load_conflicts: the conflict cycles of loads from shared memory that `ncu` counted.
        store_conflicts: those of stores to it.
        predicted_conflicts: those of both in the whole grid by the bank model.
        correct: whether the result is right; of an example that does not transpose, whether it has
            the bits that the example has as it is written.
    """

    kernel: str
    mitigation: str
    load_conflicts: int
    store_conflicts: int
    predicted_conflicts: int
    correct: bool

    @property
    def is_as_predicted(self) -> bool:
        """Returns whether the result is right and the model counted what the GPU did."""
        counted = self.load_conflicts + self.store_conflicts
        return self.correct and counted == self.predicted_conflicts


def compile_all(directory: Path, only: str) -> None:
    """Compiles the examples whose names have `only` in them, in both modes, with predictions."""
    # A machine with a GPU need not have the compiler.
    from ..sweep.rows import installed_versions
    from .cuda_attention import compile_observed
    from .hand_written import EXAMPLES_DIR

    directory.mkdir(parents=True, exist_ok=True)
    chosen = [example for example in EXAMPLES if only in example.name]
    predicted: dict[str, int] = {}
    for example in chosen:
        source = (EXAMPLES_DIR / example.path).read_text().replace(_WAVE, _WARP)
        for mode in MODES:
            vmfb, cycles = compile_observed(source, mode)
            example.kernel.module(directory, mode).write_bytes(vmfb)
            predicted[example.kernel.case(mode)] = cycles.conflicts
    kernels = tuple(example.kernel for example in chosen)
    CompiledKernels(TARGET, asdict(installed_versions()), kernels).write(directory)
    (directory / PREDICTIONS_FILE).write_text(json.dumps(predicted, indent=1) + "\n")


def measure_all(directory: Path, output: Path) -> bool:
    """Runs and profiles what was compiled, and writes the rows; returns whether none fails.

    Raises:
        RuntimeError: something that it needs is missing, or a run fails.
    """
    compiled = CompiledKernels.read(directory)
    device, versions = gpu_and_versions()
    rows: list[Row] = []
    for row in _rows(directory, compiled):
        rows.append(row)
        print(json.dumps(asdict(row)), flush=True)
    record = {
        "about": "The hand-written examples: conflict cycles of shared memory by ncu, whole grids.",
        "command": "python -m bankwise.bench.gpu_examples",
        "device": device,
        "target": compiled.target,
        "date": datetime.date.today().isoformat(),
        "versions": compiled.versions | versions,
        "rows": [asdict(row) for row in rows],
    }
    output.write_text(json.dumps(record, indent=1) + "\n")
    return all(row.is_as_predicted for row in rows)


def _rows(directory: Path, compiled: CompiledKernels) -> Iterator[Row]:
    programs = runtime_programs()
    predicted = json.loads((directory / PREDICTIONS_FILE).read_text())
    transposed = {example.name for example in EXAMPLES if example.transposes}
    with tempfile.TemporaryDirectory() as scratch:
        operand, output = Path(scratch, "input.bin"), Path(scratch, "output.bin")
        for kernel in compiled.kernels:
            elements, expected = _tensor(kernel)
            operand.write_bytes(elements)
            wanted = digest(expected) if kernel.name in transposed else ""
            for mode in kernel.modes:
                vmfb = kernel.module(directory, mode)
                run_module(programs, vmfb, kernel, [operand], output)
                found = digest(output.read_bytes())
                wanted = wanted or found
                conflicts = _conflicts(programs, vmfb, kernel, operand)
                known = predicted[kernel.case(mode)]
                yield Row(kernel.name, mode, *conflicts, known, found == wanted)


def _tensor(kernel: TimedKernel) -> tuple[bytes, bytes]:
    """Returns the bytes of a tensor whose rows and columns all differ, and of its transpose."""
    import numpy as np

    (shape,) = kernel.shapes
    kind = {"f16": np.float16, "f32": np.float32}[kernel.dtype]
    # Whole numbers below 2048 are exact in f16; 1021 is prime, so that no row repeats another.
    tensor = (np.arange(shape[0] * shape[1]) % 1021).reshape(shape).astype(kind)
    return tensor.tobytes(), np.ascontiguousarray(tensor.T).tobytes()


def _conflicts(programs: Path, vmfb: Path, kernel: TimedKernel, operand: Path) -> tuple[int, int]:
    """Returns the conflict cycles of loads and of stores that `ncu` counts in one run.

    Raises:
        RuntimeError: ncu is missing or fails, or its table is not as expected.
    """
    metrics = METRICS["load_conflicts"], METRICS["store_conflicts"]
    run = module_command(programs / "iree-run-module", vmfb, kernel, [operand])
    launches = read_launches(output_of([*ncu_command(metrics, "none"), *run, "--output="]))
    if len(launches) != 1:
        raise RuntimeError(f"{vmfb.name}: ncu measured {len(launches)} launches instead of one")
    loads, stores = (round(launches[0].metrics[metric]) for metric in metrics)
    return loads, stores


def arguments_parser() -> argparse.ArgumentParser:
    """Returns the command line: a subcommand for each step."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = parser.add_subparsers(dest="step", required=True)
    compiles = steps.add_parser("compile", help="compile every example in both modes")
    compiles.add_argument("directory", type=Path, metavar="DIR", help="where the modules go")
    compiles.add_argument("--only", default="", help="the examples in whose names this is found")
    measures = steps.add_parser("measure", help="count their conflicts on the GPU of this machine")
    measures.add_argument("directory", type=Path, metavar="DIR", help="where the modules are")
    measures.add_argument(
        "-o", "--output", type=Path, default=Path("gpu_examples.json"), metavar="FILE.json"
    )
    return parser


def run(arguments: argparse.Namespace) -> bool:
    """Takes a step; returns whether nothing failed.

    Raises:
        RuntimeError: something that the step needs is missing.
        OSError: a file cannot be read or written.
    """
    if arguments.step == "measure":
        return measure_all(arguments.directory, arguments.output)
    compile_all(arguments.directory, arguments.only)
    return True


def main() -> int:
    """Compiles or measures; returns 1 when a row fails or a step cannot be taken."""
    arguments = arguments_parser().parse_args()
    return exit_code(lambda: run(arguments))


if __name__ == "__main__":
    sys.exit(main())
