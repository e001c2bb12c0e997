# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions on a real NVIDIA GPU: equal outputs, hardware conflict counters, times.

    python -m bankwise.bench.cuda_attention compile DIR      # where the compiler is
    python bench/cuda_attention.py run DIR -o rows.json      # where the GPU is

`run` needs `iree-base-runtime`, `ml-dtypes` and NumPy alone, and Nsight Compute's `ncu` for the
counters. Times are ratios to the unmitigated kernel's within the run. The layouts are those of the
level `layout`, which changes nothing but where elements lie in memory.

Two counters say how long shared memory is busy. `..._bank_conflicts_...` also counts cycles in
which an access waits for other users of the L1 data stage, and so grows with what else the
multiprocessor does. `smsp__sass_..._wavefronts_...` are the wavefronts of the instructions alone:
one for each phase and each conflict, the LDS cycles of the bank model. A row fails where these
differ from the model, or an output from the unmitigated one's.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

if not __package__:
    # As `python bench/cuda_attention.py`, where nothing is installed.
    sys.path[0] = str(Path(__file__).parents[1])
    __package__ = "bench"

from .gpu.kernels import CompiledKernels, predictions
from .gpu.profiler import METRICS, ncu_command, read_launches
from .gpu.runtime_programs import output_of
from .gpu.steps import Step, modules, output, take_step

SHAPES = ((1, 1024, 128), (2, 512, 64), (64, 2048, 64), (16, 4096, 128))
DTYPES = ("f16", "bf16")
MITIGATIONS = ("none", "stock", "pad", "auto/layout")
COUNTERS = {
    "load_conflicts": METRICS["load_conflicts"],
    "store_conflicts": METRICS["store_conflicts"],
    "loads": METRICS["shared_loads"],
    "stores": "smsp__inst_executed_op_shared_st.sum",
    "load_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "store_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
}


@dataclass(frozen=True)
class Row:
    """One attention in one mode. What `ncu` counts is 0 where it is missing.

    Attributes:
        equal_to_none: whether the output has the bits of the unmitigated kernel's.
        max_error_of_none: the largest error of the latter; None for large grids.
        time_over_none: the time of a call over the latter's.
    """

    kernel: str
    mitigation: str
    equal_to_none: bool
    max_error_of_none: float | None
    time_over_none: float
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
        """Returns whether shared memory was busy as long as predicted, or nobody counted."""
        return not self.wavefronts or self.wavefronts == self.predicted_wavefronts


def compile_all(directory: Path) -> None:
    """Compiles every shape, type and mitigation for sm_80 into `directory`, with predictions."""
    # A machine with a GPU need not have the compiler.
    from ..sweep.kernels import Attention
    from .gpu import observed
    from .gpu.timed_sets import timed

    attentions = [Attention(*shape, dtype) for shape in SHAPES for dtype in DTYPES]
    sources = {timed(each, MITIGATIONS, ()): each.source() for each in attentions}
    observed.compile_all(directory, sources)


class Kernel:
    """A compiled attention, loaded on the first CUDA device, and its inputs."""

    def __init__(self, vmfb: Path) -> None:
        import iree.runtime as runtime
        import ml_dtypes
        import numpy as np

        _, shape, dtype = vmfb.name.partition(".")[0].split("_")
        kind = np.float16 if dtype == "f16" else ml_dtypes.bfloat16
        random = np.random.default_rng(1)
        extents = tuple(map(int, shape.split("x")))
        self.inputs = [random.standard_normal(extents).astype(kind) for _ in range(3)]
        device = runtime.get_driver("cuda").create_default_device()
        config = runtime.Config(device=device)
        context = runtime.SystemContext(config=config)
        context.add_vm_module(runtime.VmModule.mmap(context.instance, str(vmfb)))
        self._arguments = [runtime.asdevicearray(device, array) for array in self.inputs]
        self._function = context.modules.module["attention"]

    def __call__(self) -> Any:
        """Runs once; the output as an array on the host."""
        return self._function(*self._arguments).to_host()

    def seconds(self, runs: int = 15) -> float:
        """Returns the median time of a call, its output copied to the host included."""
        times: list[float] = []
        for _ in range(runs):
            start = time.perf_counter()
            self()
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    def reference(self) -> Any:
        """Returns the same attention in float64."""
        import numpy as np

        from .reference_attention import attention

        q, k, v = (np.asarray(array, dtype=np.float64) for array in self.inputs)
        return attention(q, k, v, q.shape[-1] ** -0.5)


def counters(vmfb: Path) -> dict[str, int]:
    """Returns the hardware counters of one run, read by ncu; empty where ncu is missing.

    Raises:
        RuntimeError: ncu fails, or measures several launches.
        ValueError: a counter could not be measured.
    """
    if shutil.which("ncu") is None:
        return {}
    command = ncu_command(COUNTERS.values(), "none")
    (launch,) = read_launches(output_of([*command, sys.executable, __file__, "once", str(vmfb)]))
    return {name: round(launch.metrics[metric]) for name, metric in COUNTERS.items()}


def run_all(directory: Path, output: Path) -> bool:
    """Runs everything in `directory`.

    Returns False when an output differs from the unmitigated one's, or what `ncu` counts from what
    was predicted.
    """
    import numpy as np

    rows: list[Row] = []
    predicted = predictions(directory)
    for attention in CompiledKernels.of_directory(directory).kernels:
        kernel = Kernel(attention.module(directory, "none"))
        expected, base_seconds = kernel(), kernel.seconds()
        batch, seq, _ = expected.shape
        error = None
        if batch * seq <= 4096:
            error = float(np.abs(expected.astype(np.float64) - kernel.reference()).max())
        for mitigation in MITIGATIONS:
            known = predicted[attention.case(mitigation)]
            vmfb = attention.module(directory, mitigation)
            variant = Kernel(vmfb)
            same = (variant().view(np.uint16) == expected.view(np.uint16)).all()
            rows.append(
                Row(
                    attention.name,
                    mitigation,
                    equal_to_none=bool(same),
                    max_error_of_none=error,
                    time_over_none=round(variant.seconds() / base_seconds, 3),
                    **counters(vmfb),
                    predicted_conflicts=known.conflicts,
                    predicted_wavefronts=known.wavefronts,
                )
            )
            print(json.dumps(asdict(rows[-1])), flush=True)
    output.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return all(row.equal_to_none and row.is_as_predicted for row in rows)


STEPS = {
    "compile": Step(
        "compile every attention in every mode",
        lambda each: compile_all(each.directory),
        (modules,),
    ),
    "run": Step(
        "run and count them on the GPU of this machine",
        lambda each: run_all(each.directory, each.output),
        (modules, output("cuda_attention.json")),
    ),
    "once": Step(
        "run one module once",
        lambda each: Kernel(each.vmfb)() is not None,
        (lambda parser: parser.add_argument("vmfb", type=Path),),
    ),
}

if __name__ == "__main__":
    sys.exit(take_step(__doc__, STEPS))
