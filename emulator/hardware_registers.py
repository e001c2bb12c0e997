# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the text names hardware registers: `hwreg(HW_REG_MODE, 4, 2)`."""

from __future__ import annotations

from collections.abc import Mapping

from .emulation_errors import UnknownInstructionError
from .instruction_text import Instruction, Literal, Name, Operand

_NUMBERS: Mapping[bool, Mapping[int, str]] = {
    False: {1: "HW_REG_MODE", 4: "HW_REG_HW_ID", 20: "HW_REG_XCC_ID"},
    True: {1: "HW_REG_MODE", 23: "HW_REG_HW_ID1", 29: "HW_REG_SHADER_CYCLES"},
}


def register_field(instruction: Instruction, operand: Operand) -> tuple[str, int, int]:
    """Returns the name, the first bit and the mask of `hwreg(HW_REG_MODE, offset, size)`.

    Without offset and size these are all 32 bits. A register may also be named by its number, and
    all three by the number that encodes them: the register in bits 5:0, the offset in 10:6, and the
    size less one in 15:11.
    """
    value, chip = operand.value, instruction.chip
    if isinstance(value, Literal) and isinstance(value.value, int) and 0 <= value.value < 1 << 16:
        bits = value.value
        words = [str(bits & 63), str(bits >> 6 & 31), str((bits >> 11) + 1)]
    else:
        text = value.text if isinstance(value, Name) else ""
        if not (text.startswith("hwreg(") and text.endswith(")")):
            raise no_model(instruction, operand)
        words = [word.strip() for word in text[len("hwreg(") : -1].split(",")]
    name, *numbers = words
    if name.isdecimal():
        name = _NUMBERS[chip.is_rdna].get(int(name), name)
    if chip.has_split_counters:
        # LLVM 20 and later write HW_REG_WAVE_MODE there for what LLVM 19 calls HW_REG_MODE.
        name = name.replace("HW_REG_WAVE_", "HW_REG_")
    if len(numbers) not in (0, 2) or not all(number.isalnum() for number in numbers):
        raise no_model(instruction, operand)
    offset, size = (int(number, 0) for number in numbers) if numbers else (0, 32)
    if offset + size > 32 or size < 1:
        raise no_model(instruction, operand)
    return name, offset, (1 << size) - 1


def no_model(instruction: Instruction, operand: Operand) -> UnknownInstructionError:
    """Returns the error of a register or a field of which there is no model."""
    return UnknownInstructionError(instruction, f"the emulator has no model of '{operand.value}'")
