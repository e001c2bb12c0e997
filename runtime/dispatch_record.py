# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches on the emulator, whole or by sample, and what they count."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..bank_model.lds_tables import lds_of
from ..emulator.assembly import Kernel
from ..emulator.counters import Counters
from ..emulator.dispatch import Dispatch
from ..emulator.emulation_errors import LaunchError
from ..emulator.global_memory import GlobalMemory
from ..emulator.kernel_launch import launch, launch_each
from ..emulator.supervision import Supervision
from ..emulator.timing.constants import TIMED_CHIPS
from ..emulator.trace import TraceRecorder, buffer_uses
from ..iree_plugin.user_cache import UserCache

if TYPE_CHECKING:
    from ..emulator.timing.prediction import Prediction

Workgroup = tuple[int, int, int]


@dataclass(frozen=True)
class DispatchRecord:
    """One emulated dispatch.

    Attributes:
        counters: the sums over the workgroups that ran.
        each: the counters of each workgroup of a sample, from the first to the last; empty where
            the whole grid ran at once.
        timing: the predicted time of the whole grid; None where nobody asked for it.
    """

    dispatch: Dispatch
    counters: Counters
    seconds: float
    each: tuple[Counters, ...] = ()
    timing: Prediction | None = None

    @property
    def kernel(self) -> Kernel:
        """Returns the kernel that ran."""
        return self.dispatch.kernel

    @property
    def workgroups(self) -> tuple[int, int, int]:
        """Returns the size of the whole grid in x, y and z."""
        return self.dispatch.grid

    @property
    def lds_bytes(self) -> int:
        """Returns the LDS bytes of a workgroup."""
        return self.dispatch.lds_bytes

    @property
    def total(self) -> int:
        """Returns the number of workgroups of the whole grid."""
        return math.prod(self.workgroups)

    @property
    def emulated(self) -> int:
        """Returns the number of workgroups that ran."""
        return len(self.each) or self.total

    @property
    def agree(self) -> bool | None:
        """Returns whether the first and the last workgroup of a sample have equal counters.

        Returns None where the whole grid ran at once, or a single workgroup.
        """
        return self.each[0].equals(self.each[-1]) if len(self.each) > 1 else None


def run_dispatch(
    dispatch: Dispatch,
    arguments: bytes,
    memory: GlobalMemory,
    chosen: Sequence[Workgroup] | None = None,
    supervision: Supervision | None = None,
    timing: bool = False,
) -> DispatchRecord:
    """Runs some workgroups of a launch, or all of them at once where `chosen` is None.

    Args:
        arguments: the kernarg segment.
        supervision: when the run is ended as endless, and who is told how far it is.
        timing: whether the time of the whole grid is predicted, from what some workgroups do.

    Raises:
        EmulationError: the kernel cannot be launched, or does what a program must not do.
    """
    if timing and dispatch.kernel.arch not in TIMED_CHIPS:
        raise LaunchError(
            f"{dispatch.kernel.arch} is not modelled: times are predicted for "
            f"{' and '.join(TIMED_CHIPS)}; run without --timing and --timeline"
        )
    started = time.perf_counter()
    place = (dispatch, lds_of(dispatch.kernel.arch), arguments, memory)
    watched = supervision or Supervision()
    recorder = TraceRecorder() if timing else None
    each: tuple[Counters, ...] = ()
    if chosen is not None:
        each = tuple(launch_each(*place, chosen, supervision=watched, recorder=recorder))
    counters = (
        Counters.sum(each) if each else launch(*place, supervision=watched, recorder=recorder)
    )
    seconds = time.perf_counter() - started
    predicted = None if recorder is None else _predicted(dispatch, recorder, memory)
    return DispatchRecord(dispatch, counters, seconds, each, predicted)


def _predicted(dispatch: Dispatch, recorder: TraceRecorder, memory: GlobalMemory) -> Prediction:
    """Returns the predicted time of a dispatch of which some workgroups were recorded."""
    # numba, which compiles the model, takes half a second to import.
    from ..emulator.timing.kept_code import keep_code_in
    from ..emulator.timing.prediction import predict

    keep_code_in(UserCache())
    uses = buffer_uses(recorder.finished, memory)
    return predict(dispatch, recorder.finished, uses, work=recorder.work)


def sampled_workgroups(grid: Workgroup, sample: int | None) -> list[Workgroup] | None:
    """Returns the ids of `sample` workgroups, spread from the first to the last; None for all."""
    total = math.prod(grid)
    if sample is None or sample >= total:
        return None
    x, y, _ = grid
    flat = {round(i * (total - 1) / max(sample - 1, 1)) for i in range(sample)}
    return [(n % x, n // x % y, n // (x * y)) for n in sorted(flat)]
