# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the bank model says of the shared memory of a kernel that is compiled for a GPU."""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from ...iree_plugin.compile import compile
from ...passes.decisions import DecisionLog
from ...report.observed_compile import ObserveLds, observing_edits
from ...sweep.cases import target_flags
from ..runs import BIN
from .compiling import TARGET


@dataclass(frozen=True)
class Predicted:
    """What shared memory does in a whole grid by the bank model.

    Attributes:
        conflicts: the conflict cycles of all accesses.
        wavefronts: all their cycles, conflicts included.
    """

    conflicts: int
    wavefronts: int


def compile_observed(source: str, mitigation: str) -> tuple[bytes, Predicted, int | None]:
    """Returns a kernel's vmfb, and what shared memory does in its whole grid.

    The latter is what the bank model finds in the final IR, and then the conflict cycles that the
    decisions leave, or None where nothing was decided.
    """
    flags = target_flags(TARGET)
    observer, log = ObserveLds(), DecisionLog()
    vmfb = compile(source, flags, mitigation, edits=observing_edits(observer), decisions=log)
    (report,) = observer.seen.values()
    conflicts = wavefronts = 0
    for allocation in report.allocations:
        if allocation.standing is None or allocation.unknown:
            raise RuntimeError(f"{report.name}: {allocation.type} cannot be counted")
        conflicts += allocation.standing.conflict_cycles
        wavefronts += allocation.lds_cycles(allocation.standing)
    workgroups = _workgroups(source, flags)
    left = log.conflict_cycles_left() if log.decisions else None
    decided = None if left is None else left * workgroups
    return vmfb, Predicted(conflicts * workgroups, wavefronts * workgroups), decided


def _workgroups(source: str, flags: Sequence[str]) -> int:
    """Returns the workgroups of the only dispatch, from the counts that the export returns."""
    command = [str(BIN / "iree-compile"), "-", *flags, "--compile-to=executable-targets"]
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    (export,) = re.findall(r"hal\.executable\.export.*?hal\.return.*?\n", text, re.DOTALL)
    constants = dict(re.findall(r"(%\w+) = arith\.constant (\d+) : index", export))
    (counts,) = re.findall(r"hal\.return (.*?) : index", export)
    return math.prod(int(constants[name.strip()]) for name in counts.split(","))
