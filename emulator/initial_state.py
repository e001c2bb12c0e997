# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The registers that a wave starts with.

They follow "User Guide for AMDGPU Backend", sections "Initial Kernel Execution State", "Kernel
Dispatch" and "Preloaded Kernel Arguments".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from .buffer_resources import PRIVATE_DESCRIPTOR
from .chips import CDNA3
from .dispatch import Dispatch
from .emulation_errors import LaunchError
from .global_memory import GlobalMemory
from .instruction_text import EXEC, TTMP
from .kernel_metadata import Size
from .wave_state import Machine


@dataclass(frozen=True)
class LaunchState:
    """What all waves of a launch are told in scalar registers.

    Attributes:
        arguments: the kernarg segment.
        kernarg: its address.
        packet: the address of the dispatch packet; 0 if the kernel does not ask for it.
    """

    arguments: bytes
    kernarg: int
    packet: int = 0


def prepare(dispatch: Dispatch, arguments: bytes, memory: GlobalMemory) -> LaunchState:
    """Puts into memory what the scalar registers of a launch point to.

    Raises:
        LaunchError: the kernel asks for state that the emulator does not provide.
    """
    kernel = dispatch.kernel
    for directive, reason in _UNSUPPORTED.items():
        here = kernel.chip.has_private_descriptor and directive in _PRIVATE_BY_DESCRIPTOR
        if kernel.directives.get(directive) and not here:
            raise LaunchError(
                f"kernel '{kernel.name}' asks for .amdhsa_{directive}, which is not emulated: "
                f"{reason}"
            )
    # Some space behind the arguments: compilers load more of them at once than there are.
    padded = arguments + bytes(_BYTES_BEHIND_ARGUMENTS)
    kernarg = memory.allocate(padded, name="the kernel's arguments", read_only=True)
    packet = 0
    if kernel.directives.get("user_sgpr_dispatch_ptr"):
        packet = memory.allocate(
            dispatch_packet(dispatch, kernarg), name="the dispatch packet", read_only=True
        )
    if kernel.directives.get("user_sgpr_queue_ptr"):
        memory.name_null("the queue pointer")
    return LaunchState(arguments, kernarg, packet)


_BYTES_BEHIND_ARGUMENTS = 256
# State that chips with architected flat scratch do not have, or that says what no emulator knows.
_UNSUPPORTED = {
    "user_sgpr_private_segment_buffer": f"{CDNA3} and later address private memory by scratch_*",
    "user_sgpr_flat_scratch_init": f"{CDNA3} and later initialize FLAT_SCRATCH themselves",
    "system_sgpr_workgroup_info": "no known compiler uses it",
}
_PRIVATE_BY_DESCRIPTOR = ("user_sgpr_private_segment_buffer", "user_sgpr_flat_scratch_init")


def dispatch_packet(dispatch: Dispatch, kernarg: int) -> bytes:
    """Returns the `hsa_kernel_dispatch_packet_t` of a launch, 64 bytes.

    Its grid counts work items. The kernel object and the completion signal, which mean nothing to a
    kernel, are 0.
    """
    kernel, size = dispatch.kernel, dispatch.workgroup_size
    items = [count * each for count, each in zip(dispatch.grid, size, strict=True)]
    lds = dispatch.lds_bytes
    return struct.pack(
        "<HHHHHHIIIIIQQQQ",
        *(_KERNEL_DISPATCH, _DIMENSIONS, *size, 0, *items),
        *(kernel.private_bytes, lds, 0, kernarg, 0, 0),
    )


_KERNEL_DISPATCH = 2
_DIMENSIONS = 3


def set_initial_state(machine: Machine, state: LaunchState) -> None:
    """Fills the registers that a wave starts with.

    User SGPRs come first, up to the count that the kernel states; behind them the workgroup's ids,
    except where these lie in trap registers. Work item ids are packed in v0, 10 bits each. Lanes
    beyond the workgroup's last work item are off.
    """
    kernel, directives = machine.kernel, machine.kernel.directives
    values = user_scalars(machine.dispatch, state)
    for index, value in enumerate(values):
        machine.define_scalar(index, np.full(machine.waves, value, np.uint32))
    per = machine.waves_per_workgroup
    ids = [
        np.repeat(machine.workgroups[:, axis], per).astype(np.uint32)
        for axis, letter in enumerate("xyz")
        if directives.get(f"system_sgpr_workgroup_id_{letter}", int(letter == "x"))
        or machine.kernel.chip.has_architected_ids
    ]
    if machine.kernel.chip.has_architected_ids:
        x, y, z = ids
        machine.define_scalar(_TTMP_ID_X, x)
        machine.define_scalar(_TTMP_ID_YZ, y | z << np.uint32(16))
        wave = np.arange(machine.waves, dtype=np.uint32) % np.uint32(per)
        machine.define_scalar(_TTMP_WAVE, wave << np.uint32(25), bits=0x1F << 25)
    else:
        first = directives.get("user_sgpr_count", len(values))
        for number, each in enumerate(ids):
            machine.define_scalar(first + number, each)
        if kernel.chip.has_private_descriptor:
            # The offset of the wave: the emulator knows where a wave's private memory lies.
            offset = np.zeros(machine.waves, np.uint32)
            machine.define_scalar(first + len(ids), offset)
    _set_lanes(
        machine, machine.dispatch.workgroup_size, directives.get("system_vgpr_workitem_id", 0)
    )


# TTMP9 holds the id in x; TTMP7 that in y in its low half, and that in z in the other.
_TTMP_ID_X, _TTMP_ID_YZ = TTMP.index + 9, TTMP.index + 7
_TTMP_WAVE = TTMP.index + 8
"""Bits 29:25 are the wave's number in its workgroup (LLVM, `SITargetLowering::lowerWaveID`)."""


def user_scalars(dispatch: Dispatch, state: LaunchState) -> list[int]:
    """Returns the words of the user SGPRs that the kernel asks for, in the order of the ABI.

    These are pointers to the dispatch packet, to the queue, which is null, and to the arguments,
    the dispatch's id, preloaded arguments, and the bytes of private memory of a lane.
    """
    directives = dispatch.kernel.directives
    values: list[int] = []
    if directives.get("user_sgpr_private_segment_buffer"):
        values += PRIVATE_DESCRIPTOR
    for name, value in (
        ("dispatch_ptr", state.packet),
        ("queue_ptr", 0),
        ("kernarg_segment_ptr", state.kernarg),
        ("dispatch_id", 0),
        # Neither the base of private memory nor the bytes of a wave mean anything here.
        ("flat_scratch_init", 0),
    ):
        if directives.get(f"user_sgpr_{name}"):
            values += [value & 0xFFFFFFFF, value >> 32]
    start = directives.get("user_sgpr_kernarg_preload_offset", 0)
    length = directives.get("user_sgpr_kernarg_preload_length", 0)
    padded = state.arguments + bytes(4 * (start + length))
    words = np.frombuffer(padded[: len(padded) // 4 * 4], np.uint32)
    values += words[start : start + length].tolist()
    if directives.get("user_sgpr_private_segment_size"):
        values.append(dispatch.kernel.private_bytes)
    return values


def _set_lanes(machine: Machine, size: Size, dimensions: int) -> None:
    """Fills v0 and EXEC; `dimensions` is the last axis whose ids the kernel asks for."""
    lanes = machine.lanes
    item = np.arange(machine.waves_per_workgroup * lanes)
    inside = item < int(np.prod(size))
    axes = [item % size[0], item // size[0] % size[1], item // (size[0] * size[1])]
    packed = np.zeros(len(item), np.uint32)
    for axis in range(dimensions + 1):
        packed |= (axes[axis] << 10 * axis).astype(np.uint32)
    count = len(machine.workgroups)
    machine.define_vector(0, np.tile(packed.reshape(-1, lanes), (count, 1)))
    bits = np.packbits(inside.reshape(-1, lanes), axis=1, bitorder="little").view(np.uint32)
    for half in range(lanes // 32):
        machine.define_scalar(EXEC.index + half, np.tile(bits[:, half], count))
