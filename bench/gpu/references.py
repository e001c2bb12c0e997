# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel times of PyTorch's attentions, matmuls and convolutions, all in one run of `ncu`.

Importing PyTorch under `ncu` takes long. So one process runs every case, with a launch of a known
kernel behind each run, and the launches of the table are told apart at these marks.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .profiler import LAUNCHES, TIME, Launch, ncu_command, read_launches
from .record import Reference
from .timed_kernels import ATTENTION, CONVOLUTION, MATMUL, TimedKernel

SERIES = {
    "flash": "FlashAttention-2",
    "efficient": "CUTLASS",
    "cudnn": "cuDNN",
    "cublas": "cuBLAS",
}
"""The libraries, by the names that the records have for them."""
FLASH, EFFICIENT, CUDNN, CUBLAS = SERIES

_LIBRARIES = {
    ATTENTION: (FLASH, EFFICIENT, CUDNN),
    MATMUL: (CUBLAS,),
    CONVOLUTION: (CUDNN,),
}
_MARK = "FillFunctor<double>"
"""What the name of the kernel contains that `torch_runs.py` launches behind each run."""
_SCRIPT = Path(__file__).with_name("torch_runs.py")


@dataclass(frozen=True)
class ReferenceCase:
    """A kernel that a library shall run."""

    kernel: TimedKernel
    series: str

    @property
    def fields(self) -> dict[str, Any]:
        """Returns what `torch_runs.py` has to know."""
        kernel = self.kernel
        return {
            "series": self.series,
            "shapes": kernel.shapes,
            "types": kernel.types,
            "transposed": kernel.transposed,
            "channels_last": kernel.channels_last,
            "stride": kernel.stride,
        }


def reference_cases(kernels: Sequence[TimedKernel]) -> list[ReferenceCase]:
    """Returns each kernel with the libraries that have it."""
    return [
        ReferenceCase(kernel, series)
        for kernel in kernels
        for series in _LIBRARIES[kernel.function]
    ]


def has_torch() -> bool:
    """Returns whether PyTorch is installed."""
    return importlib.util.find_spec("torch") is not None


def measure_references(
    cases: Sequence[ReferenceCase], scratch: Path, clocks: str
) -> tuple[list[Reference], dict[str, str]]:
    """Returns the times of all cases, and the versions of the libraries.

    Raises:
        RuntimeError: ncu or PyTorch fails, or the table is not as expected.
    """
    listed, report = scratch / "cases.json", scratch / "report.json"
    listed.write_text(json.dumps([case.fields for case in cases]))
    report.unlink(missing_ok=True)
    command = ncu_command([TIME], clocks, "--profile-from-start=off")
    # Without -P the script's directory, with its own `profiler`, would come first on the path.
    command += [sys.executable, "-P", str(_SCRIPT), str(listed), str(report), str(LAUNCHES)]
    run = subprocess.run(command, capture_output=True, text=True)
    try:
        told = json.loads(report.read_text())
        launched = [case for number, case in enumerate(cases) if str(number) not in told["refused"]]
        times = case_times(read_launches(run.stdout), len(launched), LAUNCHES)
    except (OSError, ValueError) as error:
        message = (run.stderr + run.stdout).strip()[-2000:]
        raise RuntimeError(f"PyTorch's kernels: {error}\n{message}") from error
    known = dict(zip(launched, times, strict=True))
    found = [Reference(case.kernel.name, case.series, known.get(case)) for case in cases]
    return found, told["versions"]


def case_times(launches: Sequence[Launch], cases: int, repeats: int) -> list[float | None]:
    """Returns the milliseconds of each case: the median of its runs, with a mark behind each run.

    A run's time is that of all its kernels: where a grid is too small for the GPU, FlashAttention-2
    splits the keys among workgroups, and a second kernel combines what they give. A case has no
    time if one of its runs launched no kernel.

    Raises:
        ValueError: there are not as many marks.
    """
    runs: list[list[float]] = [[]]
    for launch in launches:
        if _MARK in launch.kernel:
            runs.append([])
        else:
            runs[-1].append(launch.metrics[TIME])
    behind = runs.pop()
    if len(runs) != cases * repeats or behind:
        raise ValueError(f"ncu saw {len(runs)} marks and {len(behind)} kernels behind the last one")
    parts = (runs[start : start + repeats] for start in range(0, len(runs), repeats))
    return [statistics.median(map(sum, part)) / 1e6 if all(part) else None for part in parts]
