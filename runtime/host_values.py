# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a host program computes with, and what it asks of a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from iree.compiler import ir

from .dtypes import ElementTypeError, dtype_of


class HostProgramError(RuntimeError):
    """A module, function or input that cannot be run; the message names it."""


Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Binding:
    """A range of device memory that a kernel is given."""

    address: int
    size: int


@dataclass(frozen=True)
class DispatchCommand:
    """One kernel launch.

    Attributes:
        kernel: the kernel's name in the executable's assembly.
        workgroups: the number of workgroups in x, y and z.
        bindings: the buffers in the order of the kernel's pointer arguments.
        constants: the 32-bit values behind them.
    """

    kernel: str
    workgroups: tuple[int, int, int]
    bindings: tuple[Binding, ...]
    constants: tuple[int, ...]


class Device(Protocol):
    """What a host program needs of a device. Addresses are plain integers."""

    def allocate(self, size: int) -> int:
        """Reserves `size` bytes of undefined content."""
        ...

    def write(self, address: int, data: npt.NDArray[np.uint8]) -> None:
        """Copies host bytes to the device."""
        ...

    def read(self, address: int, size: int) -> npt.NDArray[np.uint8]:
        """Copies device bytes to the host."""
        ...

    def copy(self, source: int, target: int, size: int) -> None:
        """Copies bytes from one place of the device to another."""
        ...

    def dispatch(self, command: DispatchCommand) -> None:
        """Runs a kernel to its end."""
        ...


@dataclass(frozen=True)
class Resource:
    """A buffer on the device, or a part of one."""

    address: int
    size: int

    def part(self, offset: int, size: int) -> Resource:
        if offset < 0 or size < 0 or offset + size > self.size:
            raise HostProgramError(
                f"bytes {offset} .. {offset + size} of a resource of {self.size} bytes"
            )
        return Resource(self.address + offset, size)


@dataclass
class BufferView:
    """An input or output tensor: host data, or a resource with a shape.

    An input has both once the program has imported it. The resource holds its elements then,
    because a kernel may store to the memory of an input, and the program may return that input.
    """

    shape: tuple[int, ...]
    element_type: str
    data: Array | None = None
    resource: Resource | None = None


@dataclass(frozen=True)
class HostBuffer:
    data: npt.NDArray[np.uint8]


TIMEPOINT = object()
"""A stand-in for timepoints, fences and devices: all that was asked for is done already."""


def host_dtype(element_type: str) -> np.dtype[Any]:
    """Returns the dtype of an element type; HostProgramError where there is none."""
    try:
        return dtype_of(element_type)
    except ElementTypeError as error:
        raise HostProgramError(str(error)) from None


def plain_value(attribute: ir.Attribute) -> object:
    """Returns the Python number of a numeric attribute; any other attribute as it is."""
    if isinstance(attribute, ir.BoolAttr):
        return int(attribute.value)
    if isinstance(attribute, ir.IntegerAttr | ir.FloatAttr):
        return attribute.value
    return attribute
