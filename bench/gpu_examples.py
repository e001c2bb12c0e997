# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bank conflicts of hand-written examples and of convolutions on an NVIDIA GPU, by mode.

    python -m bankwise.bench.gpu_examples compile DIR             # where the compiler is
    python -m bench.gpu_examples measure DIR -o examples.json     # where the GPU is

`measure` runs in the root of the repository. It needs Python's standard library, NumPy, Nsight
Compute's `ncu` in PATH, and the wheel of `iree-base-runtime`. An unpacked wheel whose programs are
executable will do, with its folder in PYTHONPATH.

`none` compiles an example as it is written, `auto` swizzles its shared memory. Convolutions, whose
layout is NCHW, come from IREE: there `stock` is counted too, but not predicted, because LLVM joins
some of its narrow stores and others not. A row fails where the result is wrong, or where `ncu`
counts other conflicts than the bank model finds in the final IR, or than the decisions leave.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .gpu.command_steps import Step, modules, only, output, take_step
from .gpu.counted_launches import ComparedRow, counted_runs, record_rows
from .gpu.profiler import METRICS
from .gpu.timed_kernels import CompiledKernels, TimedKernel, digest, predictions

MODES = ("none", "auto")
STOCK, *_ = CONVOLUTION_MODES = ("stock", "auto/layout", "auto/exact")
_WAVE, _WARP = "subgroup_size = 64", "subgroup_size = 32"


@dataclass(frozen=True)
class Example:
    """A kernel, and how its module is made.

    Attributes:
        kernel: what a machine without the compiler has to know.
        source: returns the module.
        transposes: whether the function returns its only tensor transposed.
    """

    kernel: TimedKernel
    source: Callable[[], str]
    transposes: bool = False


def _example(path: str, function: str, operand: str) -> Example:
    """Returns a module in `examples/`; what is written for waves of 64 is compiled for warps."""

    def source() -> str:
        from .runs import EXAMPLES

        return (EXAMPLES / path).read_text().replace(_WAVE, _WARP)

    kernel = TimedKernel(Path(path).stem, function, (operand,), MODES)
    return Example(kernel, source, transposes=function == "transpose")


def _convolution(batch: int, channels: int, size: int, filters: int) -> Example:
    """Returns a 3x3 convolution of square f16 images in the layout NCHW, without margins."""
    image, window = f"{batch}x{channels}x{size}x{size}", f"{filters}x{channels}x3x3"
    name = f"conv_nchw_{image}_{filters}"

    def source() -> str:
        from .program_families.convolutions import NCHW, Windowed

        extents = {"n": batch, "c": channels, "f": filters, "y": 3, "x": 3, "h": size, "w": size}
        return Windowed(name, "conv_2d_nchw_fchw", "f16", *NCHW, extents).program().source

    operands = (f"{image}xf16", f"{window}xf16")
    return Example(TimedKernel(name, "conv", operands, CONVOLUTION_MODES), source)


EXAMPLES = (
    _example("transpose/row_major.mlir", "transpose", "1024x256xf16"),
    _example("transpose/column_major.mlir", "transpose", "1024x256xf16"),
    _example("transpose/warp_f32.mlir", "transpose", "16x32xf32"),
    _example("transpose/cuda_f16.mlir", "transpose", "1024x256xf16"),
    _example("gemm/ldmatrix_fragments.mlir", "fragments", "16x64xf16"),
    _convolution(2, 256, 56, 256),
    _convolution(2, 256, 58, 256),
    _convolution(2, 128, 30, 128),
    _convolution(1, 256, 16, 256),
    _convolution(1, 512, 9, 512),
)


@dataclass(frozen=True)
class Row(ComparedRow):
    """One example in one mode.

    Attributes:
        load_conflicts: the conflict cycles of loads from shared memory that the hardware counted,
            with what other traffic of a large grid adds to them.
        store_conflicts: those of stores to it.
        conflicts: those of both by instruction: the wavefronts that they took and did not need.
        predicted_conflicts: those of both in the whole grid by the bank model, which looks at the
            final IR; None for `stock`.
        decided_conflicts: those that the decisions leave; None where nothing is decided.
        correct: whether the result is right; of an example that does not transpose, whether it has
            the bits that the example has as it is written.
    """

    mode: str
    load_conflicts: int
    store_conflicts: int
    conflicts: int
    predicted_conflicts: int | None
    decided_conflicts: int | None
    correct: bool

    @property
    def is_as_predicted(self) -> bool:
        """Returns whether the result is right, and all counts are that of the GPU."""
        known = {self.predicted_conflicts, self.decided_conflicts}
        return self.correct and known <= {self.conflicts, None}


def compile_all(directory: Path, only: str) -> None:
    """Compiles the examples whose names have `only` in them, in both modes, with predictions."""
    # A machine with a GPU need not have the compiler.
    from .gpu import observed

    chosen = {each.kernel: each.source() for each in EXAMPLES if only in each.kernel.name}
    observed.compile_all(directory, chosen)


def measure_all(directory: Path, output: Path) -> bool:
    """Runs and profiles what was compiled, and writes the rows; returns whether none fails.

    Raises:
        RuntimeError: something that it needs is missing, or a run fails.
    """
    compiled = CompiledKernels.of_directory(directory)
    about = "Examples and convolutions: conflict cycles of shared memory by ncu, whole grids."
    command = "python -m bankwise.bench.gpu_examples"
    return record_rows(compiled, _rows(directory, compiled), output, about, command)


_HARDWARE = METRICS["load_conflicts"], METRICS["store_conflicts"]
_WAVEFRONTS = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
"""The passes over shared memory of all instructions, and how many of them there must be."""


def _rows(directory: Path, compiled: CompiledKernels) -> Iterator[Row]:
    predicted, metrics = predictions(directory), (*_HARDWARE, *_WAVEFRONTS)
    # Of an example that does not transpose, the first mode is as it is written.
    wanted = {
        each.kernel.name: digest(_tensor(each.kernel, 0).T.tobytes())
        for each in EXAMPLES
        if each.transposes
    }
    for run in counted_runs(directory, compiled, _contents, metrics):
        right = wanted.setdefault(run.kernel.name, run.output)
        loads, stores, wavefronts, ideal = (round(run.metrics[each]) for each in metrics)
        known = predicted[run.kernel.case(run.mode)]
        model = None if run.mode == STOCK else known.conflicts
        counted = (loads, stores, wavefronts - ideal)
        yield Row(run.kernel.name, run.mode, *counted, model, known.decided, run.output == right)


def _contents(kernel: TimedKernel, number: int) -> bytes:
    return _tensor(kernel, number).tobytes()


def _tensor(kernel: TimedKernel, number: int) -> Any:
    """Returns an input as a NumPy array whose rows and columns all differ."""
    import numpy as np

    shape = kernel.shapes[number]
    kind = {"f16": np.float16, "f32": np.float32}[kernel.dtype]
    # Whole numbers below 2048 are exact in f16; 1021 is prime, so that no row repeats another.
    return (np.arange(math.prod(shape)) % 1021).reshape(shape).astype(kind)


STEPS = {
    "compile": Step(
        "compile every example in all its modes",
        lambda each: compile_all(each.directory, each.only),
        (modules, only("the examples in whose names this is found")),
    ),
    "measure": Step(
        "count their conflicts on the GPU of this machine",
        lambda each: measure_all(each.directory, each.output),
        (modules, output("gpu_examples.json")),
    ),
}

if __name__ == "__main__":
    sys.exit(take_step(__doc__, STEPS))
