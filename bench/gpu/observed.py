# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the bank model says of the shared memory of a kernel that is compiled for a GPU."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ...iree_plugin.python_compile import compile
from ...passes.decisions import DecisionLog
from ...report.conflict_report import FunctionReport
from ...report.observed_compile import Observers, observing_edits
from ...sweep.cases import target_flags
from ...sweep.rows import installed_versions
from ..runs import BIN
from .compiling import TARGET
from .timed_kernels import PREDICTIONS_FILE, CompiledKernels, Predicted, TimedKernel


def compile_all(directory: Path, sources: Mapping[TimedKernel, str]) -> None:
    """Compiles kernels in their modes into `directory`, with a list of them and predictions."""
    directory.mkdir(parents=True, exist_ok=True)
    predictions: dict[str, dict[str, int | None]] = {}
    for kernel, source in sources.items():
        for mode in kernel.modes:
            vmfb, predicted = compile_observed(source, mode)
            kernel.module(directory, mode).write_bytes(vmfb)
            predictions[kernel.case(mode)] = asdict(predicted)
    CompiledKernels(TARGET, asdict(installed_versions()), tuple(sources)).write_list(directory)
    (directory / PREDICTIONS_FILE).write_text(json.dumps(predictions, indent=1) + "\n")


def compile_observed(source: str, mode: str) -> tuple[bytes, Predicted]:
    """Returns a kernel's vmfb, and what the bank model finds in the final IR."""
    flags, log = target_flags(TARGET), DecisionLog()
    vmfb, report = compile_reported(source, mode, TARGET, log)
    conflicts = wavefronts = 0
    for allocation in report.allocations:
        if allocation.standing is None or allocation.unknown:
            raise RuntimeError(f"{report.name}: {allocation.type} cannot be counted")
        conflicts += allocation.standing.conflict_cycles
        wavefronts += allocation.lds_cycles(allocation.standing)
    workgroups = _workgroups(source, flags)
    left = log.conflict_cycles_left() if log.decisions else None
    decided = None if left is None else left * workgroups
    return vmfb, Predicted(conflicts * workgroups, wavefronts * workgroups, decided)


def compile_reported(
    source: str, mode: str, target: str, log: DecisionLog | None = None
) -> tuple[bytes, FunctionReport]:
    """Returns a kernel's vmfb, and the report on its only function."""
    observers = Observers()
    edits = observing_edits(observers)
    vmfb = compile(source, target_flags(target), mode, edits=edits, decisions=log)
    (report,) = observers.reports().values()
    return vmfb, report


def _workgroups(source: str, flags: Sequence[str]) -> int:
    """Returns the workgroups of the only dispatch, from the counts that the export returns."""
    command = [str(BIN / "iree-compile"), "-", *flags, "--compile-to=executable-targets"]
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    (export,) = re.findall(r"hal\.executable\.export.*?hal\.return.*?\n", text, re.DOTALL)
    constants = dict(re.findall(r"(%\w+) = arith\.constant (\d+) : index", export))
    (counts,) = re.findall(r"hal\.return (.*?) : index", export)
    return math.prod(int(constants[name.strip()]) for name in counts.split(","))
