# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The instructions that read and write a wave's MODE register."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from .chips import Isa
from .emulation_errors import UnknownInstructionError
from .hardware_registers import register_field
from .hardware_state import register_reader
from .instruction_text import AssemblyError, Instruction, Literal, Operand
from .mode_register import FloatMode
from .step import BuildContext, Step
from .wave_state import WaveGroup

MODE_CHANGES = frozenset({"s_setreg_b32", "s_setreg_imm32_b32", "s_denorm_mode", "s_round_mode"})
"""Instructions after which the waves of a group may have other modes than before."""


# The upper bits of vector registers on gfx1250, which `high_registers.py` knows from the text.
_HIGH_BITS = 0xFF << 12


def _field(instruction: Instruction, operand: Operand) -> tuple[int, int]:
    """Returns the first bit and the mask of a field of MODE."""
    name, offset, mask = register_field(instruction, operand)
    if name != "HW_REG_MODE":
        raise UnknownInstructionError(
            instruction, f"the emulator has no model of '{operand.value}'"
        )
    return offset, mask


def _changed(
    instruction: Instruction, old: FloatMode, first: int, mask: int, value: int
) -> FloatMode:
    bits = old.bits & ~(mask << first) | (value & mask) << first
    mode = FloatMode.of_bits(bits, instruction.chip)
    if isinstance(mode, str):
        raise UnknownInstructionError(
            instruction, f"the emulator has no model of MODE = {bits:#x}: {mode}"
        )
    return mode


def _set_constant(instruction: Instruction) -> Step:
    """Returns the step of s_setreg_imm32_b32, which sets some bits of MODE to a constant.

    RDNA4 and gfx1250 also have SCHED_MODE: whether waves must wait themselves for what VALU
    instructions write (`s_wait_alu`, LLVM's expert scheduling mode). No result depends on it, and
    whether they do wait is not checked.
    """
    value = int(str(instruction.operands[1].value), 0)
    name = register_field(instruction, instruction.operands[0])[0]
    if name == "HW_REG_SCHED_MODE" and instruction.chip.has_split_counters:
        return lambda group: None
    first, mask = _field(instruction, instruction.operands[0])
    return lambda group: group.set_modes(
        [_changed(instruction, group.mode, first, mask, value)], np.zeros(group.count, np.intp)
    )


def _set_bits(instruction: Instruction, first: int) -> Step:
    """Returns the step of s_round_mode and s_denorm_mode, which set 4 bits of MODE."""
    (operand,) = instruction.operands
    value = operand.value.value if isinstance(operand.value, Literal) else -1
    if value not in range(16):
        raise AssemblyError(f"'{instruction.spelled}' takes one number from 0 to 15")
    return lambda group: group.set_modes(
        [_changed(instruction, group.mode, first, 0xF, int(value))], np.zeros(group.count, np.intp)
    )


def _set_from_register(instruction: Instruction) -> Step:
    """Returns the step of s_setreg_b32, which sets some bits of each wave's MODE."""
    first, mask = _field(instruction, instruction.operands[0])
    source = instruction.operands[1].scalars(1)

    def step(group: WaveGroup) -> None:
        values, which = np.unique(
            group.s_that_decides(source.index, "The new MODE"), return_inverse=True
        )
        modes = [_changed(instruction, group.mode, first, mask, v) for v in values.tolist()]
        group.set_modes(modes, which)

    return step


def _get(instruction: Instruction) -> Step:
    """Returns the step of s_getreg_b32, which reads bits of MODE or of another register."""
    target = instruction.operands[0].scalars(1)
    if register_field(instruction, instruction.operands[1])[0] != "HW_REG_MODE":
        read = register_reader(instruction, instruction.operands[1])
        return lambda group: group.set_s(target.index, read(group))
    first, mask = _field(instruction, instruction.operands[1])
    if instruction.chip.isa is Isa.GFX1250 and mask << first & _HIGH_BITS:
        raise UnknownInstructionError(
            instruction, "the emulator has no model of bits 19:12 of MODE as a number"
        )
    return lambda group: group.set_s(target.index, group.mode.bits >> first & mask)


_INSTRUCTIONS: Mapping[str, Callable[[Instruction], Step]] = {
    "s_setreg_imm32_b32": _set_constant,
    "s_setreg_b32": _set_from_register,
    "s_getreg_b32": _get,
    "s_round_mode": partial(_set_bits, first=0),
    "s_denorm_mode": partial(_set_bits, first=4),
}


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of an instruction that reads or writes MODE; None for any other."""
    make = _INSTRUCTIONS.get(instruction.mnemonic)
    return make(instruction) if make else None
