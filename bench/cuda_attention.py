# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions on a real NVIDIA GPU: equal outputs, and hardware conflict counters.

    python -m bankwise.bench.cuda_attention compile DIR           # where the compiler is
    python -m bench.cuda_attention measure DIR -o attention.json  # where the GPU is

`measure` runs in the root of the repository. It needs what that of `gpu_examples` does, but NumPy.
The layouts are those of the level `layout`, which changes nothing but where elements lie in memory.

Two counters say how long shared memory is busy. `..._bank_conflicts_...` also counts cycles in
which an access waits for other users of the L1 data stage, and so grows with what else the
multiprocessor does. `smsp__sass_..._wavefronts_...` are the wavefronts of the instructions alone:
one for each phase and each conflict, the LDS cycles of the bank model. A row fails where these
differ from the model, or an output from the unmitigated one's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .gpu.command_steps import Step, modules, output, take_step
from .gpu.counted_launches import ComparedRow, counted_runs, record_rows
from .gpu.inputs import NORMAL, input_bytes
from .gpu.modes import LAYOUT, NONE, PAD, STOCK
from .gpu.profiler import METRICS
from .gpu.timed_kernels import CompiledKernels, TimedKernel, predictions

SHAPES = ((1, 1024, 128), (2, 512, 64), (64, 2048, 64), (16, 4096, 128))
DTYPES = ("f16", "bf16")
MODES = (NONE, STOCK, PAD, LAYOUT)
COUNTERS = {
    "load_conflicts": METRICS["load_conflicts"],
    "store_conflicts": METRICS["store_conflicts"],
    "loads": METRICS["shared_loads"],
    "stores": "smsp__inst_executed_op_shared_st.sum",
    "load_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "store_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
}


@dataclass(frozen=True)
class Row(ComparedRow):
    """One attention in one mode.

    Attributes:
        equal_to_none: whether the output has the bits of the unmitigated kernel's.
    """

    mode: str
    equal_to_none: bool
    load_conflicts: int = 0
    store_conflicts: int = 0
    loads: int = 0
    stores: int = 0
    load_wavefronts: int = 0
    store_wavefronts: int = 0
    predicted_conflicts: int = 0
    predicted_wavefronts: int = 0

    @property
    def conflicts(self) -> int:
        """Returns the cycles that `ncu` counts as bank conflicts, of loads and stores."""
        return self.load_conflicts + self.store_conflicts

    @property
    def wavefronts(self) -> int:
        """Returns the cycles of shared memory that `ncu` counts, conflicts included."""
        return self.load_wavefronts + self.store_wavefronts

    @property
    def instructions(self) -> int:
        """Returns the loads and stores that `ncu` counts."""
        return self.loads + self.stores

    @property
    def is_as_predicted(self) -> bool:
        """Returns whether the output is right, and shared memory was busy as long as predicted."""
        return self.equal_to_none and self.wavefronts == self.predicted_wavefronts


def compile_all(directory: Path) -> None:
    """Compiles every shape and type in every mode for sm_80 into `directory`, with predictions."""
    # A machine with a GPU need not have the compiler.
    from ..sweep.swept_kernels import Attention
    from .gpu import observed
    from .gpu.timed_sets import timed

    attentions = [Attention(*shape, dtype) for shape in SHAPES for dtype in DTYPES]
    sources = {timed(each, MODES, ()): each.source() for each in attentions}
    observed.compile_all(directory, sources)


def measure_all(directory: Path, output: Path) -> bool:
    """Runs and counts what was compiled, and writes the rows; returns whether none fails.

    Raises:
        RuntimeError: something that it needs is missing, or a run fails.
    """
    compiled = CompiledKernels.of_directory(directory)
    about = "Attentions: shared memory by ncu, whole grids."
    command = "python -m bankwise.bench.cuda_attention"
    return record_rows(compiled, _rows(directory, compiled), output, about, command)


def _rows(directory: Path, compiled: CompiledKernels) -> Iterator[Row]:
    predicted, unmitigated = predictions(directory), ""
    metrics = COUNTERS.values()
    for run in counted_runs(directory, compiled, _normal, metrics):
        if run.mode == NONE:
            unmitigated = run.output
        known = predicted[run.kernel.case(run.mode)]
        yield Row(
            run.kernel.name,
            run.mode,
            equal_to_none=run.output == unmitigated,
            **{name: round(run.metrics[metric]) for name, metric in COUNTERS.items()},
            predicted_conflicts=known.conflicts,
            predicted_wavefronts=known.wavefronts,
        )


def _normal(kernel: TimedKernel, number: int) -> bytes:
    return input_bytes(kernel, number, NORMAL)


STEPS = {
    "compile": Step(
        "compile every attention in every mode",
        lambda each: compile_all(each.directory),
        (modules,),
    ),
    "measure": Step(
        "run and count them on the GPU of this machine",
        lambda each: measure_all(each.directory, each.output),
        (modules, output("cuda_attention.json")),
    ),
}

if __name__ == "__main__":
    sys.exit(take_step(__doc__, STEPS))
