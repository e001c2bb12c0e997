# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The LDS cycles of kernels that copy by `cp.async`: what the report predicts, what `ncu` counts.

    python -m bankwise.bench.async_copies compile DIR             # where the compiler is
    python -m bench.async_copies measure DIR -o async_copies.json # where the GPU is

`measure` runs in the root of the repository. It needs Python's standard library, NumPy, Nsight
Compute's `ncu` in PATH, and the wheel of `iree-base-runtime`. A row fails where a counter differs
from the prediction for all workgroups.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .gpu.counted_launches import ComparedRow, counted_launch, input_paths, record_rows
from .gpu.kernels import CompiledKernels, TimedKernel
from .gpu.runtime_programs import runtime_programs
from .gpu.steps import Step, modules, only, output, take_step

if TYPE_CHECKING:
    from ..sweep.kernels import Attention, Matmul

TARGET = "sm_90a"
FAST, EXACT = "auto/fast", "auto/exact"
_WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op"
_CONFLICTS = "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op"
COUNTERS = {
    "copy_wavefronts": f"{_WAVEFRONTS}_ldgsts.sum",
    "copy_conflicts": f"{_CONFLICTS}_ldgsts.sum",
    "store_wavefronts": f"{_WAVEFRONTS}_st.sum",
    "ldmatrix_wavefronts": f"{_WAVEFRONTS}_ldsm.sum",
    "descriptor_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
}
"""The counters of `ncu`, by the names that they have here."""


@dataclass(frozen=True)
class Row(ComparedRow):
    """One kernel.

    Attributes:
        counted: what `ncu` counts in a launch, by the names of `COUNTERS`.
        predicted: what the report predicts for all workgroups.
        uncounted: which accesses the report does not count.
    """

    mode: str
    workgroups: int
    counted: Mapping[str, int]
    predicted: Mapping[str, int]
    uncounted: tuple[str, ...] = ()

    @property
    def is_as_predicted(self) -> bool:
        """Returns whether all counters are as predicted, as far as something is predicted."""
        return bool(self.uncounted) or self.counted == self.predicted


def _kernels() -> list[tuple[Attention | Matmul, str]]:
    from ..sweep.kernels import Attention, Matmul

    attentions = [Attention(24, 2048, head, "f16") for head in (64, 80, 88, 96, 128, 160, 256)]
    others = [Attention(24, 2048, 96, "bf16"), Attention(16, 1000, 64, "f16")]
    others += [Attention(16, 1024, 72, "f16"), Attention(16, 1024, 100, "f16")]
    matmuls = [
        Matmul(2048, 2048, 2048, "f16"),
        Matmul(2048, 2048, 2048, "f16", transposed=True),
        Matmul(4096, 4096, 512, "bf16"),
        Matmul(4096, 96, 4096, "f16"),
        Matmul(4096, 96, 4096, "f16", transposed=True),
        Matmul(1000, 1000, 1000, "f16"),
    ]
    fast = [(each, FAST) for each in (*attentions, *others)]
    return [*fast, *((each, EXACT) for each in matmuls)]


def compile_all(directory: Path, chosen: str) -> None:
    """Compiles the kernels in whose names `chosen` is found, with what the report predicts."""
    # A machine with a GPU need not have the compiler.
    from ..dialect_utils.memory.copied_addresses import WORST_WORKGROUP
    from ..report.measured.predictions import PREDICTIONS
    from ..sweep.rows import installed_versions
    from .gpu.observed import compile_reported
    from .gpu.timed_sets import timed

    directory.mkdir(parents=True, exist_ok=True)
    kernels: list[TimedKernel] = []
    predicted: dict[str, dict[str, object]] = {}
    for source, mode in _kernels():
        if chosen not in source.name:
            continue
        kernel = timed(source, (mode,), ())
        vmfb, report = compile_reported(source.source(), mode, TARGET)
        kernel.module(directory, mode).write_bytes(vmfb)
        kernels.append(kernel)
        unknown = {each.reason for found in report.allocations for each in found.unknown}
        assumed = {each for found in report.allocations for each in found.assumptions}
        # What is counted of one workgroup is not that of the others then.
        unknown |= assumed & {WORST_WORKGROUP}
        cycles = {name: PREDICTIONS[metric].of(report) for name, metric in COUNTERS.items()}
        predicted[kernel.name] = {"cycles": cycles, "uncounted": sorted(unknown)}
    versions = asdict(installed_versions())
    CompiledKernels(TARGET, versions, tuple(kernels)).write_list(directory)
    _predictions(directory).write_text(json.dumps(predicted, indent=1) + "\n")


def _predictions(directory: Path) -> Path:
    return directory / "cycles.json"


def measure_all(directory: Path, record: Path) -> bool:
    """Counts one launch of every kernel, and writes the rows; returns whether none fails.

    Raises:
        RuntimeError: something that it needs is missing, or a run fails.
    """
    compiled = CompiledKernels.of_directory(directory)
    about = "LDS cycles of kernels that copy by cp.async, by ncu and by the report."
    command = "python -m bankwise.bench.async_copies"
    return record_rows(compiled, _rows(directory, compiled), record, about, command)


def _rows(directory: Path, compiled: CompiledKernels) -> Iterator[Row]:
    predicted = json.loads(_predictions(directory).read_text())
    programs = runtime_programs()
    with tempfile.TemporaryDirectory() as scratch:
        for kernel in compiled.kernels:
            (mode,) = kernel.modes
            operands = input_paths(scratch, kernel)
            for operand, size in zip(operands, _sizes(kernel), strict=True):
                operand.write_bytes(bytes(size))
            vmfb = kernel.module(directory, mode)
            launch = counted_launch(programs, vmfb, kernel, operands, COUNTERS.values())
            known, grid = predicted[kernel.name], launch.workgroups
            yield Row(
                kernel.name,
                mode,
                grid,
                {name: round(launch.metrics[metric]) for name, metric in COUNTERS.items()},
                {name: cycles * grid for name, cycles in known["cycles"].items()},
                tuple(known["uncounted"]),
            )


def _sizes(kernel: TimedKernel) -> list[int]:
    """Returns the bytes of the inputs, whose elements have two bytes."""
    return [2 * math.prod(shape) for shape in kernel.shapes]


STEPS = {
    "compile": Step(
        "compile every kernel",
        lambda each: compile_all(each.directory, each.only),
        (modules, only("the kernels in whose names this is found")),
    ),
    "measure": Step(
        "count their LDS cycles on the GPU of this machine",
        lambda each: measure_all(each.directory, each.output),
        (modules, output("async_copies.json")),
    ),
}

if __name__ == "__main__":
    sys.exit(take_step(__doc__, STEPS))
