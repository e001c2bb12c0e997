# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulator as the device behind a host program."""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..bank_model.targets import target
from ..emulator.assembly import Kernel, KernelArgument
from ..emulator.counters import Counters
from ..emulator.global_memory import GlobalMemory
from ..emulator.kernel_launch import launch, launch_each
from .host_values import DispatchCommand, HostProgramError

Workgroup = tuple[int, int, int]


@dataclass(frozen=True)
class DispatchRecord:
    """One emulated dispatch.

    Attributes:
        workgroups: the size of the whole grid in x, y and z.
        counters: the sums over the workgroups that ran.
        each: the counters of each workgroup of a sample, from the first to the last; empty where
            the whole grid ran at once.
    """

    kernel: Kernel
    workgroups: tuple[int, int, int]
    counters: Counters
    seconds: float
    each: tuple[Counters, ...] = ()

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


@dataclass
class EmulatedDevice:
    """Runs dispatches on the emulator, and records what they count.

    Attributes:
        kernels: the kernels by name.
        sample: how many workgroups of each dispatch run, the first and the last among them; None
            runs all. The output of a sample is incomplete.
        records: an entry for each dispatch, in order.
    """

    kernels: Mapping[str, Kernel]
    sample: int | None = None
    memory: GlobalMemory = field(default_factory=GlobalMemory)
    records: list[DispatchRecord] = field(default_factory=list)

    def allocate(self, size: int) -> int:
        """Reserves `size` bytes of device memory."""
        return self.memory.allocate(size)

    def write(self, address: int, data: npt.NDArray[np.uint8]) -> None:
        """Copies host bytes to the device."""
        self.memory.write(address, data)

    def read(self, address: int, size: int) -> npt.NDArray[np.uint8]:
        """Copies device bytes to the host.

        Raises:
            UndefinedReadError: a kernel stored an undefined value there.
        """
        self.memory.check_defined(address, size, "A result")
        return self.memory.read(address, size)

    def copy(self, source: int, target: int, size: int) -> None:
        """Copies device bytes to another place on the device."""
        self.memory.copy(source, target, size)

    def dispatch(self, command: DispatchCommand) -> None:
        """Runs a kernel, whole or by sample."""
        self.records.append(self.run(command, sampled_workgroups(command.workgroups, self.sample)))

    def run(self, command: DispatchCommand, chosen: Sequence[Workgroup] | None) -> DispatchRecord:
        """Runs some workgroups of a dispatch, or all of them at once where `chosen` is None.

        Raises:
            HostProgramError: the assembly lacks the kernel, or its arguments do not fit.
        """
        if command.kernel not in self.kernels:
            raise HostProgramError(f"the assembly holds no kernel '{command.kernel}'")
        kernel = self.kernels[command.kernel]
        arguments = kernel_arguments(kernel, command)
        started = time.perf_counter()
        place = (kernel, target(kernel.arch), command.workgroups, arguments, self.memory)
        each = () if chosen is None else tuple(launch_each(*place, chosen))
        counters = Counters.sum(each) if each else launch(*place)
        seconds = time.perf_counter() - started
        return DispatchRecord(kernel, command.workgroups, counters, seconds, each)


def sampled_workgroups(grid: Workgroup, sample: int | None) -> list[Workgroup] | None:
    """Returns the ids of `sample` workgroups, spread from the first to the last; None for all."""
    total = math.prod(grid)
    if sample is None or sample >= total:
        return None
    x, y, _ = grid
    flat = {round(i * (total - 1) / max(sample - 1, 1)) for i in range(sample)}
    return [(n % x, n // x % y, n // (x * y)) for n in sorted(flat)]


def kernel_arguments(kernel: Kernel, command: DispatchCommand) -> bytes:
    """Returns the kernarg segment of a dispatch: bindings, then constants, then hidden arguments.

    The kernel's metadata gives their offsets and kinds. The hidden arguments are those of code
    object version 5 ("LLVM AMDGPU usage", kernel argument metadata).
    """
    segment = bytearray(kernel.kernarg_bytes)
    bindings, constants = iter(command.bindings), iter(command.constants)
    hidden = _hidden_values(kernel, command)
    for argument in kernel.arguments:
        if argument.kind == "global_buffer":
            binding = next(bindings, None)
            if binding is None:
                raise HostProgramError(
                    f"kernel '{kernel.name}' takes more buffers than it is given"
                )
            value: int = binding.address
        elif argument.kind == "by_value":
            constant = next(constants, None)
            if constant is None or argument.size != 4:
                raise HostProgramError(
                    f"kernel '{kernel.name}' takes other constants than it is given"
                )
            value = constant
        elif argument.kind in hidden:
            value = hidden[argument.kind]
        elif argument.kind == "hidden_none":
            continue
        else:
            raise HostProgramError(f"kernel '{kernel.name}' takes a '{argument.kind}' argument")
        _store(segment, argument, value)
    if next(bindings, None) is not None or next(constants, None) is not None:
        raise HostProgramError(f"kernel '{kernel.name}' takes fewer arguments than it is given")
    return bytes(segment)


def _store(segment: bytearray, argument: KernelArgument, value: int) -> None:
    code = {2: "<H", 4: "<I", 8: "<Q"}[argument.size]
    mask = (1 << argument.size * 8) - 1
    struct.pack_into(code, segment, argument.offset, value & mask)


def _hidden_values(kernel: Kernel, command: DispatchCommand) -> dict[str, Any]:
    values: dict[str, Any] = {"hidden_grid_dims": 3}
    for axis, count, size in zip("xyz", command.workgroups, kernel.workgroup_size, strict=True):
        values[f"hidden_block_count_{axis}"] = count
        values[f"hidden_group_size_{axis}"] = size
        values[f"hidden_remainder_{axis}"] = 0
        values[f"hidden_global_offset_{axis}"] = 0
    return values
