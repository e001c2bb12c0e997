# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches a kernel: initial registers of every wave, and workgroups in bounded portions.

The initial state follows "User Guide for AMDGPU Backend", sections "Initial Kernel Execution
State" and "Preloaded Kernel Arguments".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..bank_model.targets import Target
from .assembly import Kernel
from .chips import EMULATED_CHIPS, LANES
from .counters import Counters
from .errors import LaunchError
from .executor import Program
from .global_memory import GlobalMemory
from .instruction_text import EXEC, AssemblyError
from .linking import link
from .machine import Machine
from .step import BuildContext

Grid = tuple[int, int, int]

_LDS_BYTES_AT_ONCE = 1 << 24


def launch(
    kernel: Kernel,
    target: Target,
    grid: Grid,
    arguments: bytes,
    memory: GlobalMemory,
    workgroups: Sequence[Grid] | None = None,
    max_waves: int = 256,
    max_branches: int | None = None,
) -> Counters:
    """Runs workgroups of a kernel and returns what was counted.

    Args:
        grid: the number of workgroups in x, y and z.
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
    chosen = None if workgroups is None else _chosen_workgroups(grid, workgroups)
    runs = _runs(kernel, target, grid, arguments, memory, chosen, max_waves, max_branches)
    return Counters.sum([machine.counters for machine in runs])


def launch_each(
    kernel: Kernel,
    target: Target,
    grid: Grid,
    arguments: bytes,
    memory: GlobalMemory,
    workgroups: Sequence[Grid],
    max_waves: int = 256,
) -> list[Counters]:
    """Runs some workgroups of a kernel, as `launch` does, and returns what each of them counted."""
    chosen = _chosen_workgroups(grid, workgroups)
    return [
        machine.workgroup_counters.of(index)
        for machine in _runs(kernel, target, grid, arguments, memory, chosen, max_waves, None)
        for index in range(len(machine.workgroups))
    ]


def _runs(
    kernel: Kernel,
    target: Target,
    grid: Grid,
    arguments: bytes,
    memory: GlobalMemory,
    workgroups: npt.NDArray[np.int64] | None,
    max_waves: int,
    max_branches: int | None,
) -> Iterator[Machine]:
    """Runs all portions of workgroups, and yields the machine of each at its end."""
    _check(kernel, target, grid, arguments)
    program = Program(BuildContext(_link(kernel, memory), target))
    # Some space behind the arguments, since the hidden ones are not passed.
    kernarg = memory.allocate(arguments + bytes(_HIDDEN_ARGUMENT_BYTES))
    chosen = _all_workgroups(grid) if workgroups is None else workgroups
    portions = list(_portions(chosen, kernel, max_waves))
    waves = max(map(len, portions)) * -(-int(np.prod(kernel.workgroup_size)) // LANES)
    # The portions run one after the other, in the same private memory.
    private = memory.allocate(waves * LANES * kernel.private_bytes) if kernel.private_bytes else 0
    for portion in portions:
        machine = Machine(kernel, portion, memory)
        machine.private_segment = private
        set_initial_state(machine, kernarg, arguments)
        program.run(machine, max_branches)
        yield machine


def _link(kernel: Kernel, memory: GlobalMemory) -> Kernel:
    try:
        return link(kernel, memory)
    except AssemblyError as error:
        raise LaunchError(str(error)) from None


_HIDDEN_ARGUMENT_BYTES = 256


def _check(kernel: Kernel, target: Target, grid: Grid, arguments: bytes) -> None:
    name = f"kernel '{kernel.name}'"
    if target.arch not in EMULATED_CHIPS:
        raise LaunchError(f"{target.arch} cannot be emulated; use {' or '.join(EMULATED_CHIPS)}")
    if kernel.arch != target.arch:
        raise LaunchError(
            f"{name} is for {kernel.arch}: emulate that, or compile for {target.arch}"
        )
    if kernel.lds_bytes > target.lds_bytes:
        raise LaunchError(
            f"{name} needs {kernel.lds_bytes} bytes of LDS; "
            f"a workgroup on {target.arch} has {target.lds_bytes}"
        )
    if len(arguments) != kernel.kernarg_bytes:
        raise LaunchError(
            f"{name} takes {kernel.kernarg_bytes} bytes of arguments, not {len(arguments)}"
        )
    if min(grid) < 1:
        raise LaunchError(f"{name}: a grid of {grid} workgroups is empty")
    for directive in _UNSUPPORTED:
        if kernel.directives.get(directive):
            raise LaunchError(f"{name} asks for .amdhsa_{directive}, which is not emulated")


# State that a host would provide and that compiled kernels here do not ask for.
_UNSUPPORTED = (
    "user_sgpr_private_segment_buffer",
    "user_sgpr_dispatch_ptr",
    "user_sgpr_queue_ptr",
    "user_sgpr_dispatch_id",
    "user_sgpr_flat_scratch_init",
    "user_sgpr_private_segment_size",
    "uses_dynamic_stack",
    "system_sgpr_workgroup_info",
)


def _all_workgroups(grid: Grid) -> npt.NDArray[np.int64]:
    """Returns the ids [n, 3] of all workgroups in the order in which the hardware starts them.

    x changes fastest.
    """
    z, y, x = np.indices(grid[::-1]).reshape(3, -1)
    return np.stack([x, y, z], axis=1).astype(np.int64)


def _chosen_workgroups(grid: Grid, workgroups: Sequence[Grid]) -> npt.NDArray[np.int64]:
    chosen = np.array(workgroups, np.int64).reshape(-1, 3)
    outside = (chosen < 0) | (chosen >= np.array(grid))
    if outside.any():
        first = tuple(chosen[outside.any(axis=1)][0].tolist())
        raise LaunchError(f"workgroup {first} is not in the grid of {grid}")
    return chosen


def _portions(
    workgroups: npt.NDArray[np.int64], kernel: Kernel, max_waves: int
) -> Iterator[npt.NDArray[np.int64]]:
    """Yields portions of workgroups that fit into `max_waves` and a bound on LDS bytes.

    A portion has at least one workgroup.
    """
    waves = -(-int(np.prod(kernel.workgroup_size)) // LANES)
    count = max(1, min(max_waves // waves, _LDS_BYTES_AT_ONCE // max(1, kernel.lds_bytes)))
    for start in range(0, len(workgroups), count):
        yield workgroups[start : start + count]


def set_initial_state(machine: Machine, kernarg: int, arguments: bytes) -> None:
    """Fills the registers that a wave starts with.

    User SGPRs come first: the address of the arguments, then those that are preloaded, up to the
    count that the kernel states; behind them the workgroup's ids. Work item ids are packed in v0,
    10 bits each. Lanes beyond the workgroup's last work item are off.
    """
    kernel, directives = machine.kernel, machine.kernel.directives
    values: list[int] = []
    if directives.get("user_sgpr_kernarg_segment_ptr"):
        values += [kernarg & 0xFFFFFFFF, kernarg >> 32]
    start = directives.get("user_sgpr_kernarg_preload_offset", 0)
    length = directives.get("user_sgpr_kernarg_preload_length", 0)
    padded = arguments + bytes(4 * (start + length))
    words = np.frombuffer(padded[: len(padded) // 4 * 4], np.uint32)
    values += words[start : start + length].tolist()
    for index, value in enumerate(values):
        machine.define_scalar(index, np.full(machine.waves, value, np.uint32))
    next_scalar = directives.get("user_sgpr_count", len(values))
    per = machine.waves_per_workgroup
    for axis, letter in enumerate("xyz"):
        if directives.get(f"system_sgpr_workgroup_id_{letter}", 1 if letter == "x" else 0):
            ids = np.repeat(machine.workgroups[:, axis], per).astype(np.uint32)
            machine.define_scalar(next_scalar, ids)
            next_scalar += 1
    _set_lanes(machine, kernel.workgroup_size, directives.get("system_vgpr_workitem_id", 0))


def _set_lanes(machine: Machine, size: Grid, dimensions: int) -> None:
    """Fills v0 and EXEC; `dimensions` is the last axis whose ids the kernel asks for."""
    item = np.arange(machine.waves_per_workgroup * LANES)
    inside = item < int(np.prod(size))
    axes = [item % size[0], item // size[0] % size[1], item // (size[0] * size[1])]
    packed = np.zeros(len(item), np.uint32)
    for axis in range(dimensions + 1):
        packed |= (axes[axis] << 10 * axis).astype(np.uint32)
    count = len(machine.workgroups)
    machine.define_vector(0, np.tile(packed.reshape(-1, LANES), (count, 1)))
    bits = np.packbits(inside.reshape(-1, LANES), axis=1, bitorder="little").view(np.uint32)
    for half in (0, 1):
        machine.define_scalar(EXEC.index + half, np.tile(bits[:, half], count))
