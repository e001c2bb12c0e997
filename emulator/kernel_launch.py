# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches a kernel: workgroups in bounded portions, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..bank_model.targets import Target
from .assembly import Kernel
from .chips import LANES
from .counters import Counters
from .dispatch import Dispatch
from .errors import LaunchError
from .executor import Program
from .global_memory import GlobalMemory
from .initial_state import prepare, set_initial_state
from .instruction_text import AssemblyError
from .kernel_metadata import Size
from .linking import link
from .machine import Machine
from .step import BuildContext

_LDS_BYTES_AT_ONCE = 1 << 24


def launch(
    dispatch: Dispatch,
    target: Target,
    arguments: bytes,
    memory: GlobalMemory,
    workgroups: Sequence[Size] | None = None,
    max_waves: int = 256,
    max_branches: int | None = None,
) -> Counters:
    """Runs workgroups of a kernel and returns what was counted.

    Args:
        dispatch: the kernel, its grid and its workgroups.
        arguments: the kernarg segment.
        workgroups: the ids (x, y, z) of the workgroups to run; all of the grid by default.
        max_waves: the most waves to run at once.
        max_branches: the most branches that each portion may take; a bound on endless loops.

    Raises:
        LaunchError: the kernel is for another chip, needs more LDS than the chip has, wants state
            that the emulator does not provide, or the arguments or workgroups do not fit it.
        EmulationError: the kernel does what a program must not do; the message holds the
            instruction.
    """
    chosen = None if workgroups is None else _chosen_workgroups(dispatch.grid, workgroups)
    runs = _runs(dispatch, target, arguments, memory, chosen, max_waves, max_branches)
    return Counters.sum([machine.counters for machine in runs])


def launch_each(
    dispatch: Dispatch,
    target: Target,
    arguments: bytes,
    memory: GlobalMemory,
    workgroups: Sequence[Size],
    max_waves: int = 256,
) -> list[Counters]:
    """Runs some workgroups of a kernel, as `launch` does, and returns what each of them counted."""
    chosen = _chosen_workgroups(dispatch.grid, workgroups)
    return [
        machine.workgroup_counters.of(index)
        for machine in _runs(dispatch, target, arguments, memory, chosen, max_waves, None)
        for index in range(len(machine.workgroups))
    ]


def _runs(
    dispatch: Dispatch,
    target: Target,
    arguments: bytes,
    memory: GlobalMemory,
    workgroups: npt.NDArray[np.int64] | None,
    max_waves: int,
    max_branches: int | None,
) -> Iterator[Machine]:
    """Runs all portions of workgroups, and yields the machine of each at its end."""
    kernel = dispatch.kernel
    dispatch.check(target)
    if len(arguments) != kernel.kernarg_bytes:
        raise LaunchError(
            f"kernel '{kernel.name}' takes {kernel.kernarg_bytes} bytes of arguments, "
            f"not {len(arguments)}"
        )
    program = Program(BuildContext(_link(kernel, memory), target))
    state = prepare(dispatch, arguments, memory)
    chosen = _all_workgroups(dispatch.grid) if workgroups is None else workgroups
    portions = list(_portions(chosen, dispatch, max_waves))
    lanes = max(map(len, portions)) * dispatch.waves_per_workgroup * LANES
    # The portions run one after the other, in the same private memory.
    private = memory.allocate(lanes * kernel.private_bytes) if kernel.private_bytes else 0
    for portion in portions:
        machine = Machine(dispatch, portion, memory)
        machine.private_segment = private
        set_initial_state(machine, state)
        program.run(machine, max_branches)
        yield machine


def _link(kernel: Kernel, memory: GlobalMemory) -> Kernel:
    try:
        return link(kernel, memory)
    except AssemblyError as error:
        raise LaunchError(str(error)) from None


def _all_workgroups(grid: Size) -> npt.NDArray[np.int64]:
    """Returns the ids [n, 3] of all workgroups in the order in which the hardware starts them.

    x changes fastest.
    """
    z, y, x = np.indices(grid[::-1]).reshape(3, -1)
    return np.stack([x, y, z], axis=1).astype(np.int64)


def _chosen_workgroups(grid: Size, workgroups: Sequence[Size]) -> npt.NDArray[np.int64]:
    chosen = np.array(workgroups, np.int64).reshape(-1, 3)
    outside = (chosen < 0) | (chosen >= np.array(grid))
    if outside.any():
        first = tuple(chosen[outside.any(axis=1)][0].tolist())
        raise LaunchError(f"workgroup {first} is not in the grid of {grid}")
    return chosen


def _portions(
    workgroups: npt.NDArray[np.int64], dispatch: Dispatch, max_waves: int
) -> Iterator[npt.NDArray[np.int64]]:
    """Yields portions of workgroups that fit into `max_waves` and a bound on LDS bytes.

    A portion has at least one workgroup.
    """
    waves, lds_bytes = dispatch.waves_per_workgroup, max(1, dispatch.lds_bytes)
    count = max(1, min(max_waves // waves, _LDS_BYTES_AT_ONCE // lds_bytes))
    for start in range(0, len(workgroups), count):
        yield workgroups[start : start + count]
