# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels that a model launches, each of which can be emulated by itself.

A whole model takes the emulator hours. Its host program runs on a device that notes each launch,
and does not execute it: buffers hold the model's weights where the host program writes them, and
normal numbers elsewhere, so that a kernel reads much the same as in the model.
"""

from __future__ import annotations

import copyreg
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from ...emulator.assembly import Kernel
from ...emulator.global_memory import GlobalMemory
from ...iree_plugin.atomic_file import write_output
from ...runtime.dispatch_record import DispatchRecord, sampled_workgroups
from ...runtime.dtypes import dtype_of
from ...runtime.emulated_device import EmulatedDevice
from ...runtime.emulated_module import compile_for_emulation
from ...runtime.host_program import HostProgram
from ...runtime.host_values import DispatchCommand
from ...sweep.cases import target_flags
from .exported import FUNCTION, ExportedModel

_SEED = 7
_FLOAT = np.dtype(np.float32)


def _view(table: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(table)


# Tables of kernels are such views, whose type has no name that `pickle` finds.
copyreg.pickle(MappingProxyType, lambda view: (_view, (dict(view),)))  # pyright: ignore


@dataclass
class NotingDevice(EmulatedDevice):
    """Notes the launches of a host program in place of executing them.

    Attributes:
        commands: the launches, in order.
    """

    commands: list[DispatchCommand] = field(default_factory=list)

    def allocate(self, size: int) -> int:
        """Reserves memory with normal numbers in f32, which depend on its place in the order."""
        random = np.random.default_rng([_SEED, self.memory.count])
        numbers = random.standard_normal(-(-size // _FLOAT.itemsize), _FLOAT)
        return self.memory.allocate(numbers.view(np.uint8)[:size])

    def write(self, address: int, data: npt.NDArray[np.uint8]) -> None:
        """Copies host bytes to the device, but for fills.

        The least number that a maximum begins with would lie where others read numbers later.
        """
        width = _FLOAT.itemsize
        if (
            len(data) % width
            or len(data) == width
            or (data != np.resize(data[:width], len(data))).any()
        ):
            super().write(address, data)

    def read(self, address: int, size: int) -> npt.NDArray[np.uint8]:
        """Copies device bytes to the host."""
        return self.memory.read(address, size)

    def dispatch(self, command: DispatchCommand) -> None:
        """Notes a launch."""
        self.commands.append(command)


@dataclass(frozen=True)
class Launches:
    """What a model launches in one mode.

    Attributes:
        first: the number of launches of initializers, which come before those of a call.
        commands: all launches, in order.
        kernels: each kernel as `pickle` writes it, by its name; reading one of them is fast.
        buffers: the contents of memory before the first launch, by address.
    """

    first: int
    commands: Sequence[DispatchCommand]
    kernels: Mapping[str, bytes]
    buffers: Mapping[int, npt.NDArray[np.uint8]]

    @staticmethod
    def of_model(model: ExportedModel, directory: Path, target: str, mode: str) -> Launches:
        """Compiles a model for an AMD GPU, and returns what a call of it launches.

        Raises:
            CompileError: it does not compile.
            HostProgramError: the host program does what is not supported.
        """
        flags = (*target_flags(target), f"--iree-input-type={model.input_type}")
        with compile_for_emulation(model.source(directory), flags, mode) as module:
            device = NotingDevice(module.kernels)
            host = HostProgram(module.host, device)
            first = len(device.commands)
            host.call(FUNCTION, [_input(each.operand) for each in model.inputs])
            spans = device.memory.spans()
            buffers = {address: device.memory.read(address, size) for address, size in spans}
            kernels = {name: pickle.dumps(each) for name, each in module.kernels.items()}
            return Launches(first, device.commands, kernels, buffers)

    def write(self, path: Path) -> None:
        """Writes the launches to a file that `read` takes."""
        write_output(str(path), pickle.dumps(self))

    @staticmethod
    def read(path: Path) -> Launches:
        """Returns the launches that `write` has written."""
        return pickle.loads(path.read_bytes())

    @property
    def of_a_call(self) -> Sequence[DispatchCommand]:
        """Returns the launches of a call, without those of initializers."""
        return self.commands[self.first :]

    def kernel(self, name: str) -> Kernel:
        """Returns a kernel by its name."""
        return pickle.loads(self.kernels[name])

    def device(self, command: DispatchCommand, timing: bool = False) -> EmulatedDevice:
        """Returns an emulator with the kernel of a launch, and memory as the model has it."""
        memory = GlobalMemory()
        for address, contents in self.buffers.items():
            assert memory.allocate(contents) == address
        kernels = {command.kernel: self.kernel(command.kernel)}
        return EmulatedDevice(kernels, memory=memory, timing=timing)

    def run(self, command: DispatchCommand) -> dict[int, npt.NDArray[np.uint8]]:
        """Executes a launch; returns the contents of the buffers that it is given behind it."""
        device = self.device(command)
        device.run(command, None)
        spans = device.memory.spans()
        bound = {
            address: size
            for address, size in spans
            if any(address <= each.address < address + size for each in command.bindings)
        }
        return {address: device.memory.read(address, size) for address, size in bound.items()}

    def timed(self, command: DispatchCommand, sample: int) -> DispatchRecord:
        """Executes some workgroups of a launch, and returns what is predicted of the whole."""
        device = self.device(command, timing=True)
        return device.run(command, sampled_workgroups(command.workgroups, sample))


def _input(operand: str) -> npt.NDArray[Any]:
    *sizes, kind = operand.split("x")
    random = np.random.default_rng(_SEED)
    return random.standard_normal([int(each) for each in sizes]).astype(dtype_of(kind))
