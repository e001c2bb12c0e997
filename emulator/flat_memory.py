# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flat memory instructions, whose addresses may lie in global memory, the LDS, or private memory.

Each lane's address says where (`apertures.py`), so that one instruction may access all three. It is
executed as the three instructions that access one of them, each by the lanes whose address lies
there:

    flat_load_dword v0, v[2:3]     global_load_dword v0, v[2:3], off
                                   ds_read_b32 v0, v2
                                   scratch_load_dword v0, v2, off

The low half of an address is the address in the LDS and in private memory. That a lane's register
is written before another lane's address is read does no harm, for no lane is in two of the three.

The bank conflicts of accesses to the LDS are those of the `ds_*` instruction of the same width. The
instruction itself counts as one of vector memory (`counters.instruction_class`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from . import atomics, lds_instructions, memory_instructions
from .apertures import OFFSET_BITS, PRIVATE_BASE, SHARED_BASE
from .emulation_errors import UnknownInstructionError
from .instruction_text import AssemblyError, Instruction, Name, Operand, Register
from .memory_names import in_shared_names, returns_value
from .step import BuildContext, Step
from .wave_state import LaneMask, WaveGroup


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of a flat memory instruction; None for any other."""
    if not instruction.mnemonic.startswith("flat_"):
        return None
    instruction = in_shared_names(instruction)
    name = instruction.mnemonic.removeprefix("flat_")
    position = _address_position(instruction, name)
    address = instruction.operands[position].register
    if address.file != "v" or address.count != 2:
        raise AssemblyError(f"{address} where 2 address registers are expected")
    in_global = memory_instructions.build_shared(context, _in_global(instruction, name))
    in_lds = lds_instructions.build_shared(context, _in_lds(instruction, name, position))
    in_private = _private_step(context, instruction, name, position)
    if in_global is None or in_lds is None:
        raise UnknownInstructionError(instruction)
    signed = instruction.chip.has_split_counters
    constant = np.int64(memory_instructions.offset_of(instruction, signed=signed))

    def step(group: WaveGroup) -> None:
        low, high = (group.v(address.index + half).astype(np.int64) for half in (0, 1))
        space = (low | high << 32) + constant >> OFFSET_BITS
        shared, private = space == SHARED_BASE >> OFFSET_BITS, space == PRIVATE_BASE >> OFFSET_BITS
        elsewhere = shared | private
        if not elsewhere.any():
            in_global(group)
            return
        for part, lanes in ((in_global, ~elsewhere), (in_lds, shared), (in_private, private)):
            _run_in_lanes(part, group, lanes)

    return step


def _run_in_lanes(step: Step, group: WaveGroup, lanes: LaneMask) -> None:
    """Runs a step in those of the active lanes that are in `lanes`, if there are any."""
    active = group.active
    chosen = lanes if active is None else lanes & active
    if chosen.any():
        group.active = chosen
        step(group)
        group.active = active


# What the parts of names mean to `ds_*`.
_LOADED: Mapping[str, str] = {
    "ubyte": "u8",
    "sbyte": "i8",
    "ushort": "u16",
    "sshort": "i16",
    "short": "u16",
}
_STORED: Mapping[str, str] = {"byte": "b8", "short": "b16"}
_WORDS: Mapping[str, str] = {
    "dword": "b32",
    "dwordx2": "b64",
    "dwordx3": "b96",
    "dwordx4": "b128",
}


def _address_position(instruction: Instruction, name: str) -> int:
    """Returns which operand holds the address: the first one that is not a result."""
    has_result = name.startswith("load_") or (
        name.startswith("atomic_") and returns_value(instruction)
    )
    return 1 if has_result else 0


def _in_global(instruction: Instruction, name: str) -> Instruction:
    off = Operand(Name("off"))
    return replace(instruction, mnemonic=f"global_{name}", operands=(*instruction.operands, off))


def _in_lds(instruction: Instruction, name: str, position: int) -> Instruction:
    """Returns the LDS instruction that does the same at the low half of the address."""
    before = instruction.operands[:position]
    data = instruction.operands[position + 1 :]
    address = Operand(Register("v", instruction.operands[position].register.index))
    verb, _, kind = name.partition("_")
    if verb == "atomic":
        mnemonic = _lds_atomic(instruction, kind)
        if kind.startswith("cmpswap"):
            # One operand holds the new value and then the compared one; the LDS takes them apart,
            # the compared one first.
            both = data[0].register
            half = both.count // 2
            new, compared = (replace(both, index=both.index + i * half, count=half) for i in (0, 1))
            data = Operand(compared), Operand(new)
    else:
        what, separator, rest = kind.partition("_")
        words = {**_WORDS, **(_LOADED if verb == "load" else _STORED)}
        if what not in words:
            raise UnknownInstructionError(instruction)
        mnemonic = f"ds_{'read' if verb == 'load' else 'write'}_{words[what]}{separator}{rest}"
    offset = {lds_instructions.FLAT_OFFSET: instruction.integer("offset")}
    return replace(
        instruction, mnemonic=mnemonic, operands=(*before, address, *data), modifiers=offset
    )


def _lds_atomic(instruction: Instruction, kind: str) -> str:
    """Returns the name of the LDS atomic: `ds_add_rtn_u32` for `add` with `sc0`."""
    name = atomics.IN_MEMORY.get(kind)
    if name is None:
        raise UnknownInstructionError(instruction)
    stem, _, width = name.rpartition("_")
    return f"ds_{stem}_rtn_{width}" if returns_value(instruction) else f"ds_{name}"


def _private_step(
    context: BuildContext, instruction: Instruction, name: str, position: int
) -> Step:
    """Returns the step for lanes whose address lies in their private memory."""
    operands = list(instruction.operands)
    operands[position] = Operand(Register("v", operands[position].register.index))
    operands.append(Operand(Name("off")))
    scratch = replace(instruction, mnemonic=f"scratch_{name}", operands=tuple(operands))
    if name.startswith("atomic_"):
        kind = name.removeprefix("atomic_")
        step = memory_instructions.private_atomic(scratch, kind)
    else:
        step = memory_instructions.build_shared(context, scratch)
    if step is None:
        raise UnknownInstructionError(instruction)
    return step
