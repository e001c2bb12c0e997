# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The block of arguments of a launch, the kernarg segment, as a kernel's metadata lays it out.

The caller passes the explicit arguments. The runtime adds the hidden ones, which code object
version 5 defines ("User Guide for AMDGPU Backend", Code Object V5 Metadata).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from .apertures import PRIVATE_BASE, SHARED_BASE
from .assembly import Kernel
from .dispatch import Dispatch
from .emulation_errors import LaunchError
from .global_memory import GlobalMemory
from .host_calls import HostCalls, calls_host
from .kernel_metadata import KernelArgument

POINTER, VALUE, LDS_POINTER = "global_buffer", "by_value", "dynamic_shared_pointer"
"""The kinds of explicit arguments that the emulator passes."""

# Pointers to what a runtime keeps for kernels; the emulator has nothing like it.
_NULLS = frozenset(
    {
        *("hidden_printf_buffer", "hidden_hostcall_buffer", "hidden_default_queue"),
        *("hidden_completion_action", "hidden_multigrid_sync_arg", "hidden_heap_v1"),
        "hidden_queue_ptr",
    }
)
_DIMENSIONS = 3


def explicit_arguments(kernel: Kernel) -> list[KernelArgument]:
    """Returns the arguments that the caller passes, in the order in which they are passed."""
    return [argument for argument in kernel.arguments if not argument.hidden]


def argument_block(dispatch: Dispatch, values: Sequence[bytes], memory: GlobalMemory) -> bytes:
    """Returns the kernarg segment of a launch.

    Hidden pointers are null, which `memory` is told.

    Args:
        values: the bytes of each explicit argument, as many as it has in the segment.

    Raises:
        LaunchError: a value has another size than its argument, there is not one for each
            argument, or the kernel has a hidden argument that the emulator does not know.
    """
    kernel = dispatch.kernel
    explicit = explicit_arguments(kernel)
    if len(values) != len(explicit):
        raise LaunchError(
            f"kernel '{kernel.name}' takes {len(explicit)} arguments, not {len(values)}"
        )
    for argument in kernel.arguments:
        if argument.offset + argument.size > kernel.kernarg_bytes:
            raise LaunchError(
                f"{kernel.source}:{argument.line}: the argument ends behind the "
                f"{kernel.kernarg_bytes} bytes of arguments of kernel '{kernel.name}'"
            )
    segment = bytearray(kernel.kernarg_bytes)
    for argument, value in zip(explicit, values, strict=True):
        if len(value) != argument.size:
            raise LaunchError(
                f"kernel '{kernel.name}': an argument of {argument.size} bytes, not {len(value)}"
            )
        segment[argument.offset : argument.offset + argument.size] = value
    hidden = _hidden_values(dispatch)
    for argument in kernel.arguments:
        if not argument.hidden or argument.kind == "hidden_none":
            continue
        if argument.kind == "hidden_hostcall_buffer" and calls_host(kernel):
            memory.host_calls = HostCalls(
                memory, prod(dispatch.grid) * dispatch.waves_per_workgroup
            )
            hidden[argument.kind] = memory.host_calls.address
        elif argument.kind in _NULLS:
            memory.name_null(argument.kind)
        elif argument.kind not in hidden:
            raise LaunchError(f"kernel '{kernel.name}' takes a '{argument.kind}' argument")
        value = hidden.get(argument.kind, 0).to_bytes(8, "little")[: argument.size]
        segment[argument.offset : argument.offset + argument.size] = value
    return bytes(segment)


def _hidden_values(dispatch: Dispatch) -> dict[str, int]:
    """Returns the hidden arguments that are numbers.

    A grid is whole workgroups here, so that no workgroup is a partial one.
    """
    values: dict[str, Any] = {
        "hidden_grid_dims": _DIMENSIONS,
        "hidden_dynamic_lds_size": dispatch.dynamic_lds_bytes,
        "hidden_private_base": PRIVATE_BASE >> 32,
        "hidden_shared_base": SHARED_BASE >> 32,
    }
    for axis, count, size in zip("xyz", dispatch.grid, dispatch.workgroup_size, strict=True):
        values[f"hidden_block_count_{axis}"] = count
        values[f"hidden_group_size_{axis}"] = size
        values[f"hidden_remainder_{axis}"] = 0
        values[f"hidden_global_offset_{axis}"] = 0
    return values
