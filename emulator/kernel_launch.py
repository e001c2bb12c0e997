# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches a kernel: workgroups in bounded portions, one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..bank_model.lds_rules import Lds
from .assembly import Kernel
from .counters import Counters
from .dispatch import Dispatch
from .emulation_errors import LaunchError
from .executor import Program
from .global_memory import GlobalMemory
from .initial_state import prepare, set_initial_state
from .instruction_text import AssemblyError, Instruction
from .kernel_metadata import Size
from .linking import link
from .step import BuildContext
from .supervision import RunState, Supervision
from .trace import TraceRecorder
from .wave_state import Machine

_LDS_BYTES_AT_ONCE = 1 << 24
_PRIVATE_BYTES_AT_ONCE = 1 << 28
_UNWATCHED = Supervision()


def launch(
    dispatch: Dispatch,
    lds_model: Lds,
    arguments: bytes,
    memory: GlobalMemory,
    workgroups: Sequence[Size] | None = None,
    max_waves: int = 256,
    supervision: Supervision = _UNWATCHED,
    recorder: TraceRecorder | None = None,
) -> Counters:
    """Runs workgroups of a kernel and returns what was counted.

    Args:
        dispatch: the kernel, its grid and its workgroups.
        arguments: the kernarg segment.
        workgroups: the ids (x, y, z) of the workgroups to run; all of the grid by default.
        max_waves: the most waves to run at once.
        supervision: when the run is ended as endless, and who is told how far it is.
        recorder: records what some of the workgroups execute; None records nothing.

    Raises:
        LaunchError: the kernel is for another chip, needs more LDS than the chip has, wants state
            that the emulator does not provide, or the arguments or workgroups do not fit it.
        EmulationError: the kernel does what a program must not do; the message holds the
            instruction.
    """
    chosen = None if workgroups is None else _chosen_workgroups(dispatch.grid, workgroups)
    place = (dispatch, lds_model, arguments, memory)
    runs = _runs(*place, chosen, max_waves, supervision, recorder)
    return Counters.sum([machine.counters for machine in runs])


def launch_each(
    dispatch: Dispatch,
    lds_model: Lds,
    arguments: bytes,
    memory: GlobalMemory,
    workgroups: Sequence[Size],
    max_waves: int = 256,
    supervision: Supervision = _UNWATCHED,
    recorder: TraceRecorder | None = None,
) -> list[Counters]:
    """Runs some workgroups of a kernel, as `launch` does, and returns what each of them counted."""
    chosen = _chosen_workgroups(dispatch.grid, workgroups)
    place = (dispatch, lds_model, arguments, memory)
    return [
        machine.workgroup_counters.of(index)
        for machine in _runs(*place, chosen, max_waves, supervision, recorder)
        for index in range(len(machine.workgroups))
    ]


def _runs(
    dispatch: Dispatch,
    lds_model: Lds,
    arguments: bytes,
    memory: GlobalMemory,
    workgroups: npt.NDArray[np.int64] | None,
    max_waves: int,
    supervision: Supervision,
    recorder: TraceRecorder | None,
) -> Iterator[Machine]:
    """Runs all portions of workgroups, and yields the machine of each at its end."""
    kernel = dispatch.kernel
    dispatch.check(lds_model)
    if len(arguments) != kernel.kernarg_bytes:
        raise LaunchError(
            f"kernel '{kernel.name}' takes {kernel.kernarg_bytes} bytes of arguments, "
            f"not {len(arguments)}"
        )
    program = Program(BuildContext(_link(kernel, memory), lds_model))
    state = prepare(dispatch, arguments, memory)
    total = math.prod(dispatch.grid) if workgroups is None else len(workgroups)
    size = max(1, min(total, _workgroups_at_once(dispatch, max_waves)))
    lanes = size * dispatch.waves_per_workgroup * kernel.lanes
    if recorder is not None:
        recorder.begin_launch(total)
    # The portions run one after the other, in the same private memory.
    private = memory.allocate(lanes * kernel.private_bytes) if kernel.private_bytes else 0
    for start in range(0, total, size):
        numbers = np.arange(start, min(start + size, total))
        portion = _ids(dispatch.grid, numbers) if workgroups is None else workgroups[numbers]
        machine = Machine(dispatch, portion, memory)
        machine.private_segment = private
        set_initial_state(machine, state)
        watch = _watch(supervision, kernel, start, total)
        if recorder is None:
            program.run(machine, supervision.max_steps, watch)
        else:
            machine.recorder = recorder
            with recorder.portion(start, len(portion), machine.waves_per_workgroup):
                program.run(machine, supervision.max_steps, watch)
            recorder.work += machine.workgroup_counters.executions.sum(axis=0).tolist()
        yield machine


def _watch(
    supervision: Supervision, kernel: Kernel, done: int, total: int
) -> Callable[[int, Instruction], None] | None:
    """Returns what is told of a portion; `done` workgroups of `total` have ended before it."""
    told = supervision.watch
    if told is None:
        return None
    return lambda steps, last: told(RunState(kernel, done, total, steps, last))


def _link(kernel: Kernel, memory: GlobalMemory) -> Kernel:
    try:
        return link(kernel, memory)
    except AssemblyError as error:
        raise LaunchError(str(error)) from None


def _ids(grid: Size, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Returns the ids [n, 3] of workgroups by their numbers in the order of their start.

    The hardware starts them with x changing fastest.
    """
    x, y, _ = grid
    return np.stack([numbers % x, numbers // x % y, numbers // (x * y)], axis=1)


def _chosen_workgroups(grid: Size, workgroups: Sequence[Size]) -> npt.NDArray[np.int64]:
    chosen = np.array(workgroups, np.int64).reshape(-1, 3)
    outside = (chosen < 0) | (chosen >= np.array(grid))
    if outside.any():
        first = tuple(chosen[outside.any(axis=1)][0].tolist())
        raise LaunchError(f"workgroup {first} is not in the grid of {grid}")
    return chosen


def _workgroups_at_once(dispatch: Dispatch, max_waves: int) -> int:
    """Returns how many workgroups fit into `max_waves` and bounds on bytes; at least one."""
    waves, lds_bytes = dispatch.waves_per_workgroup, max(1, dispatch.lds_bytes)
    private_bytes = max(1, waves * dispatch.kernel.lanes * dispatch.kernel.private_bytes)
    fitting = _LDS_BYTES_AT_ONCE // lds_bytes, _PRIVATE_BYTES_AT_ONCE // private_bytes
    return max(1, min(max_waves // waves, *fitting))
