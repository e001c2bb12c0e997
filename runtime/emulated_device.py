# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulator as the device behind a host program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..emulator.assembly import Kernel
from ..emulator.chips import EMULATED_CHIPS
from ..emulator.dispatch import Dispatch
from ..emulator.emulation_errors import LaunchError
from ..emulator.global_memory import GlobalMemory
from ..emulator.kernel_arguments import POINTER, VALUE, argument_block, explicit_arguments
from ..emulator.supervision import Supervision
from .dispatch_record import DispatchRecord, Workgroup, run_dispatch, sampled_workgroups
from .host_values import DispatchCommand, HostProgramError


@dataclass
class EmulatedDevice:
    """Runs dispatches on the emulator, and records what they count.

    Attributes:
        kernels: the kernels by name.
        sample: how many workgroups of each dispatch run, the first and the last among them; None
            runs all. The output of a sample is incomplete.
        supervision: when a run is ended as endless, and who is told how far it is.
        timing: whether the time of each dispatch is predicted.
        records: an entry for each dispatch, in order.
    """

    kernels: Mapping[str, Kernel]
    sample: int | None = None
    supervision: Supervision = field(default_factory=Supervision)
    memory: GlobalMemory = field(default_factory=GlobalMemory)
    records: list[DispatchRecord] = field(default_factory=list)
    timing: bool = False

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

    def statistics(self) -> str:
        """Returns what was allocated and launched, a line each."""
        seconds = sum(record.seconds for record in self.records)
        total, ran = (sum(getattr(each, name) for each in self.records) for name in _WORKGROUPS)
        return (
            f"DEVICE_LOCAL: {self.memory.allocated:,}B allocated in {self.memory.count} buffers\n"
            f"dispatches: {len(self.records)} of {total:,} workgroups, of which {ran:,} were "
            f"emulated in {seconds:.1f} s\n"
        )

    def dispatch(self, command: DispatchCommand) -> None:
        """Runs a kernel, whole or by sample."""
        self.records.append(self.run(command, sampled_workgroups(command.workgroups, self.sample)))

    def run(self, command: DispatchCommand, chosen: Sequence[Workgroup] | None) -> DispatchRecord:
        """Runs some workgroups of a dispatch, or all of them at once where `chosen` is None.

        Raises:
            HostProgramError: the assembly lacks the kernel, or its arguments do not fit.
        """
        if command.kernel not in self.kernels:
            raise HostProgramError(
                f"there is no AMD assembly of the kernel '{command.kernel}': the program names "
                "another device, and the emulator runs code for AMD GPUs "
                f"({' and '.join(EMULATED_CHIPS)}); name no device in the program, or run it there"
            )
        kernel = self.kernels[command.kernel]
        try:
            dispatch = Dispatch.of(kernel, command.workgroups)
        except LaunchError as error:
            raise HostProgramError(str(error)) from None
        arguments = kernel_arguments(dispatch, command, self.memory)
        watched, timed = self.supervision, self.timing
        return run_dispatch(dispatch, arguments, self.memory, chosen, watched, timed)


_WORKGROUPS = ("total", "emulated")


def kernel_arguments(dispatch: Dispatch, command: DispatchCommand, memory: GlobalMemory) -> bytes:
    """Returns the kernarg segment of a dispatch of a host program.

    Its bindings and its constants go to the kernel's pointers and values, each in their order.

    Raises:
        HostProgramError: the kernel takes other arguments.
    """
    kernel = dispatch.kernel
    bindings, constants = iter(command.bindings), iter(command.constants)
    values: list[bytes] = []
    arguments = explicit_arguments(kernel)
    for argument in arguments:
        if argument.kind == POINTER:
            binding = next(bindings, None)
            if binding is None:
                raise HostProgramError(
                    f"kernel '{kernel.name}' takes more buffers than it is given"
                )
            value: int = binding.address
        elif argument.kind == VALUE:
            constant = next(constants, None)
            if constant is None or argument.size != 4:
                raise HostProgramError(
                    f"kernel '{kernel.name}' takes other constants than it is given"
                )
            value = constant
        else:
            raise HostProgramError(f"kernel '{kernel.name}' takes a '{argument.kind}' argument")
        values.append((value & (1 << 8 * argument.size) - 1).to_bytes(argument.size, "little"))
    # A kernel that does nothing is compiled without any.
    if arguments and (next(bindings, None) is not None or next(constants, None) is not None):
        raise HostProgramError(f"kernel '{kernel.name}' takes fewer arguments than it is given")
    try:
        return argument_block(dispatch, values, memory)
    except LaunchError as error:
        raise HostProgramError(str(error)) from None
