# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches a kernel: workgroups in bounded portions, which run one after the other if they can."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..bank_model.lds_rules import Lds
from .assembly import Kernel
from .counters import Counters
from .dispatch import Dispatch
from .emulation_errors import LaunchError
from .executor import Portion, Program
from .global_memory import GlobalMemory
from .initial_state import LaunchState, prepare, set_initial_state
from .instruction_text import AssemblyError, Instruction
from .kernel_metadata import Size
from .linking import link
from .residency import resident_workgroups
from .step import BuildContext
from .supervision import RunState, Supervision
from .trace import TraceRecorder
from .turns import take_turns
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
    return Counters.sum([portion.machine.counters for portion in runs])


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
    found = {
        portion.first + index: portion.machine.workgroup_counters.of(index)
        for portion in _runs(*place, chosen, max_waves, supervision, recorder)
        for index in range(len(portion.machine.workgroups))
    }
    return [counters for _, counters in sorted(found.items())]


def _runs(
    dispatch: Dispatch,
    lds_model: Lds,
    arguments: bytes,
    memory: GlobalMemory,
    workgroups: npt.NDArray[np.int64] | None,
    max_waves: int,
    supervision: Supervision,
    recorder: TraceRecorder | None,
) -> Iterator[Portion]:
    """Runs all portions of workgroups, and yields each at its end."""
    kernel = dispatch.kernel
    dispatch.check(lds_model)
    if len(arguments) != kernel.kernarg_bytes:
        raise LaunchError(
            f"kernel '{kernel.name}' takes {kernel.kernarg_bytes} bytes of arguments, "
            f"not {len(arguments)}"
        )
    linked = _link(kernel, memory)
    context = BuildContext(linked, lds_model, supervision.waits, supervision.assume_xf32)
    program = Program(context)
    program.hot_code.threshold = supervision.compile_after
    for text in program.warnings:
        supervision.warn(text)
    _keep_freed_memory()
    total = math.prod(dispatch.grid) if workgroups is None else len(workgroups)
    if recorder is not None:
        recorder.begin_launch(total)
    state = prepare(dispatch, arguments, memory)
    resident = resident_workgroups(dispatch)
    size = max(1, min(total, _workgroups_at_once(dispatch, max_waves), resident))
    starts = _Starts(program, dispatch, memory, state, workgroups, total, supervision, recorder)
    waiting = f", while the chip runs {resident} workgroups at once, and others have not started"
    for portion in take_turns(lambda room: starts.next(min(size, room)), resident, memory, waiting):
        starts.end(portion)
        yield portion


@dataclass
class _Starts:
    """Starts the portions of a launch, one after the other.

    Attributes:
        workgroups: [n, 3], the ids of the workgroups that run; None for the whole grid.
        total: how many workgroups run.
    """

    program: Program
    dispatch: Dispatch
    memory: GlobalMemory
    state: LaunchState
    workgroups: npt.NDArray[np.int64] | None
    total: int
    supervision: Supervision
    recorder: TraceRecorder | None

    def __post_init__(self) -> None:
        """Has started nothing."""
        self._started = 0
        # The private memory of portions that have ended, by the workgroups that it is for.
        self._private: list[tuple[int, int]] = []

    def next(self, most: int) -> Portion | None:
        """Starts up to `most` workgroups; returns None if none is left."""
        first = self._started
        numbers = np.arange(first, min(first + most, self.total))
        if not len(numbers):
            return None
        self._started += len(numbers)
        chosen, dispatch = self.workgroups, self.dispatch
        ids = _ids(dispatch.grid, numbers) if chosen is None else chosen[numbers]
        machine = Machine(dispatch, ids, self.memory)
        machine.private_segment = self._private_memory(len(numbers))
        machine.compiles = self.supervision.compile_after > 0
        set_initial_state(machine, self.state)
        if self.recorder is not None:
            per = machine.waves_per_workgroup
            machine.recorder = self.recorder.portion(first, len(numbers), per)
        watch = _watch(self.supervision, dispatch.kernel, first, self.total)
        return Portion(self.program, machine, self.supervision.max_steps, watch, first)

    def _private_memory(self, workgroups: int) -> int:
        """Returns the address of private memory that no running portion has; 0 if none is used."""
        kernel = self.dispatch.kernel
        if not kernel.private_bytes:
            return 0
        for place, (count, address) in enumerate(self._private):
            if count >= workgroups:
                del self._private[place]
                return address
        lanes = workgroups * self.dispatch.waves_per_workgroup * kernel.lanes
        return self.memory.allocate(lanes * kernel.private_bytes)

    def end(self, portion: Portion) -> None:
        """Takes back what a portion that has ended had."""
        machine = portion.machine
        if machine.private_segment:
            self._private.append((len(machine.workgroups), machine.private_segment))
        if self.recorder is not None and machine.recorder is not None:
            work = machine.workgroup_counters.executions.sum(axis=0).tolist()
            self.recorder.end_portion(machine.recorder, work)


def _keep_freed_memory() -> None:
    """Makes the C library keep freed memory for the arrays that come next.

    The arrays of many waves come and go with every instruction. To give their memory back to the
    system and to get it again takes longer than to compute what they hold. glibc keeps as much as
    twice the largest block that was freed, up to 64 MB (mallopt(3), M_MMAP_THRESHOLD), so that one
    large block is freed here. Other C libraries do not learn from it.
    """
    np.empty(_FREED_BYTES, np.uint8)


_FREED_BYTES = 1 << 24


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
