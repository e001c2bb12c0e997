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

import argparse
import csv
import json
import math
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SHAPES = ((1, 1024, 128), (2, 512, 64), (64, 2048, 64), (16, 4096, 128))
DTYPES = ("f16", "bf16")
MITIGATIONS = ("none", "stock", "pad", "auto/layout")
COUNTERS = {
    "load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "loads": "smsp__inst_executed_op_shared_ld.sum",
    "stores": "smsp__inst_executed_op_shared_st.sum",
    "load_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "store_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
}


PREDICTIONS = "predictions.json"


@dataclass(frozen=True)
class Predicted:
    """What shared memory does in a whole grid by the bank model.

    Attributes:
        conflicts: the conflict cycles of all accesses.
        wavefronts: all their cycles, conflicts included.
    """

    conflicts: int
    wavefronts: int


def module_name(kernel: str, mitigation: str) -> str:
    """Returns the file of a compiled kernel."""
    return f"{kernel}.{mitigation.replace('/', '_')}.vmfb"


def compile_all(directory: Path) -> None:
    """Compiles every shape, type and mitigation for sm_80 into `directory`, with predictions."""
    from bankwise.sweep.kernels import Attention

    directory.mkdir(parents=True, exist_ok=True)
    predicted: dict[str, dict[str, int]] = {}
    for shape in SHAPES:
        for dtype in DTYPES:
            kernel = Attention(*shape, dtype)
            for mitigation in MITIGATIONS:
                name = module_name(kernel.name, mitigation)
                vmfb, cycles, _ = compile_observed(kernel.source(), mitigation)
                (directory / name).write_bytes(vmfb)
                predicted[name] = asdict(cycles)
    (directory / PREDICTIONS).write_text(json.dumps(predicted, indent=1) + "\n")


def compile_observed(source: str, mitigation: str) -> tuple[bytes, Predicted, int | None]:
    """Returns a kernel's vmfb, and what shared memory does in its whole grid.

    The latter is what the bank model finds in the final IR, and then the conflict cycles that the
    decisions leave, or None where nothing was decided.
    """
    from bankwise import compile as compile_mlir
    from bankwise.passes.decisions import DecisionLog
    from bankwise.report.observed_compile import ObserveLds, observing_edits
    from bankwise.sweep.cases import target_flags

    flags = target_flags("sm_80")
    observer, log = ObserveLds(), DecisionLog()
    edits = observing_edits(observer)
    vmfb = compile_mlir(source, flags, mitigation, edits=edits, decisions=log)
    (report,) = observer.seen.values()
    conflicts = wavefronts = 0
    for allocation in report.allocations:
        if allocation.standing is None or allocation.unknown:
            raise RuntimeError(f"{report.name}: {allocation.type} cannot be counted")
        conflicts += allocation.standing.conflict_cycles
        for group in allocation.groups:
            costs = group.costs(allocation.standing)
            wavefronts += group.weight * sum(cost.wavefronts for cost in costs)
    workgroups = _workgroups(source, flags)
    left = log.conflict_cycles_left() if log.decisions else None
    decided = None if left is None else left * workgroups
    return vmfb, Predicted(conflicts * workgroups, wavefronts * workgroups), decided


def _workgroups(source: str, flags: Sequence[str]) -> int:
    """Returns the workgroups of the only dispatch, from the counts that the export returns."""
    from bankwise.bench.runs import BIN

    command = [str(BIN / "iree-compile"), "-", *flags, "--compile-to=executable-targets"]
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    (export,) = re.findall(r"hal\.executable\.export.*?hal\.return.*?\n", text, re.DOTALL)
    constants = dict(re.findall(r"(%\w+) = arith\.constant (\d+) : index", export))
    (counts,) = re.findall(r"hal\.return (.*?) : index", export)
    return math.prod(int(constants[name.strip()]) for name in counts.split(","))


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

        q, k, v = (np.asarray(array, dtype=np.float64) for array in self.inputs)
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v


def counters(vmfb: Path) -> dict[str, int]:
    """Returns the hardware counters of one run, read by ncu; empty where ncu is missing."""
    if shutil.which("ncu") is None:
        return {}
    command = ["ncu", "--csv", "--clock-control", "none", "--metrics", ",".join(COUNTERS.values())]
    command += [sys.executable, __file__, "once", str(vmfb)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line for line in run.stdout.splitlines() if line.startswith('"')]
    values = {row["Metric Name"]: row["Metric Value"] for row in csv.DictReader(lines)}
    return {name: int(values[metric].replace(",", "")) for name, metric in COUNTERS.items()}


def run_all(directory: Path, output: Path) -> bool:
    """Runs everything in `directory`.

    Returns False when an output differs from the unmitigated one's, or what `ncu` counts from what
    was predicted.
    """
    import numpy as np

    rows: list[dict[str, Any]] = []
    predicted = json.loads((directory / PREDICTIONS).read_text())
    for baseline in sorted(directory.glob("*.none.vmfb")):
        kernel = Kernel(baseline)
        expected, base_seconds = kernel(), kernel.seconds()
        batch, seq, _ = expected.shape
        error = None
        if batch * seq <= 4096:
            error = float(np.abs(expected.astype(np.float64) - kernel.reference()).max())
        for mitigation in MITIGATIONS:
            vmfb = baseline.with_name(module_name(baseline.name.partition(".")[0], mitigation))
            variant = Kernel(vmfb)
            same = (variant().view(np.uint16) == expected.view(np.uint16)).all()
            rows.append(
                {
                    "kernel": baseline.name.partition(".")[0],
                    "mitigation": mitigation,
                    "equal_to_none": bool(same),
                    "max_error_of_none": error,
                    "time_over_none": round(variant.seconds() / base_seconds, 3),
                    **counters(vmfb),
                    "predicted_conflicts": predicted[vmfb.name]["conflicts"],
                    "predicted_wavefronts": predicted[vmfb.name]["wavefronts"],
                }
            )
            print(json.dumps(rows[-1]), flush=True)
    output.write_text(json.dumps(rows, indent=1) + "\n")
    return all(row["equal_to_none"] and is_as_predicted(row) for row in rows)


def is_as_predicted(row: dict[str, Any]) -> bool:
    """Returns whether shared memory was busy as long as predicted; True where nobody counted."""
    if "load_wavefronts" not in row:
        return True
    return row["load_wavefronts"] + row["store_wavefronts"] == row["predicted_wavefronts"]


def main() -> int:
    """Compiles or runs; exits with 1 when outputs or counts differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("compile", "run", "once"))
    parser.add_argument("path", type=Path, help="directory of vmfbs; one vmfb for `once`")
    parser.add_argument("-o", "--output", type=Path, default=Path("cuda_attention.json"))
    arguments = parser.parse_args()
    if arguments.step == "compile":
        compile_all(arguments.path)
    elif arguments.step == "once":
        Kernel(arguments.path)()
    elif not run_all(arguments.path, arguments.output):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
