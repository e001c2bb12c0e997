# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The vector registers of gfx1250 above v255, of which an instruction names the low 8 bits.

The two bits above them are those of the operand's role in the MODE register, which
`s_set_vgpr_msb` sets: bits 1:0 for the first source, 3:2 for the second, 5:4 for the third and 7:6
for the result. Its bits 15:8 are what the compiler had set before, and mean nothing to the chip.
LLVM prints the register that is meant behind the name:

    s_set_vgpr_msb 0x41
    v_mov_b32_e32 v0 /*v256*/, v1 /*v257*/

`s_setreg_imm32_b32` of MODE sets these bits too, whichever bits it names: to bits 19:12 of its
number, the result's first. LLVM lets every block of code begin and end with all of them zero, so
that the text alone says which registers are meant; code that does otherwise is refused.

The roles are those of LLVM 22 (AMDGPULowerVGPREncoding.cpp and `getVGPRLoweringOperandTables`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from .chips import Chip, Isa
from .emulation_errors import UnknownInstructionError
from .function_code import BRANCHES, FunctionCode
from .hardware_registers import register_field
from .instruction_text import NAMED_VECTORS, AssemblyError, Instruction, Operand, Register
from .memory_names import returns_value

SET_HIGH_BITS = "s_set_vgpr_msb"
_COMMENT = re.compile(r"/\*(v(?:\d+(?:\.[lh])?|\[\d+:\d+\]))\*/")
_SRC0, _SRC1, _SRC2, _DST = range(4)
_SOURCES = (_SRC0, _SRC1, _SRC2)
_ENDS_BLOCK = (*BRANCHES, "s_setpc", "s_swappc")
# Labels of debug information, to which nothing jumps.
_NO_BLOCK = ".Ltmp"


def named_high_registers(lines: Sequence[str]) -> Mapping[int, tuple[str, ...]]:
    """Returns the registers that comments name, for each line that has such; lines count from 1."""
    numbered = enumerate(lines, 1)
    return {number: tuple(_COMMENT.findall(line)) for number, line in numbered if "/*v" in line}


def with_high_registers(
    code: FunctionCode,
    chip: Chip,
    named: Mapping[int, tuple[str, ...]],
    error: Callable[[int, str], AssemblyError],
) -> None:
    """Puts into the instructions of some code the registers that they mean.

    Args:
        named: what `named_high_registers` returns of the file.
        error: makes an error of a line and a message.

    Raises:
        AssemblyError: comments name other registers, or the text does not say which are meant.
    """
    if chip.isa is not Isa.GFX1250:
        return
    blocks = {at for name, at in code.labels.items() if not name.startswith(_NO_BLOCK)}
    blocks.update(code.functions)
    bits = 0
    for index, instruction in enumerate(code.instructions):
        ends = instruction.mnemonic.startswith(_ENDS_BLOCK)
        if bits and (ends or index in blocks):
            message = (
                f"control flow where {SET_HIGH_BITS} has set bits ({bits:#x}): which registers "
                "are meant is known only if each block of code begins and ends with 0"
            )
            raise error(instruction.line, message)
        try:
            bits = _bits_behind(instruction, bits)
            found = _resolved(instruction, bits)
        except AssemblyError as reason:
            raise error(instruction.line, str(reason)) from None
        code.instructions[index] = found
        comments = named.get(instruction.line, ())
        meant = tuple(str(each) for each in _vectors(found) if each.index >= NAMED_VECTORS)
        if comments and comments != meant:
            message = (
                f"its comments name {', '.join(comments)}, but after {SET_HIGH_BITS} it means "
                f"{', '.join(meant) or 'no register above v255'}"
            )
            raise error(instruction.line, message)


def _bits_behind(instruction: Instruction, bits: int) -> int:
    """Returns the bits that are set behind an instruction before which `bits` were."""
    name = instruction.mnemonic
    if name == "s_endpgm":
        return 0
    if name == SET_HIGH_BITS:
        return _number(instruction, 0) & 0xFF
    if name == "s_setreg_imm32_b32" and _names_mode(instruction):
        mode = _number(instruction, 1) >> 12 & 0xFF
        return (mode >> 2 | mode << 6) & 0xFF
    return bits


def _names_mode(instruction: Instruction) -> bool:
    try:
        return register_field(instruction, instruction.operands[0])[0] == "HW_REG_MODE"
    except UnknownInstructionError:
        # Whoever comes to execute it is told.
        return False


def _number(instruction: Instruction, position: int) -> int:
    try:
        return int(str(instruction.operands[position].value), 0)
    except (IndexError, ValueError):
        raise AssemblyError(f"'{instruction.text}' has no number") from None


def _vectors(instruction: Instruction) -> list[Register]:
    values = (operand.value for operand in instruction.operands)
    return [each for each in values if isinstance(each, Register) and each.file == "v"]


def _resolved(instruction: Instruction, bits: int) -> Instruction:
    """Returns an instruction with the registers that it means where `bits` are set."""
    if not bits:
        return instruction
    if instruction.parts:
        parts = tuple(_resolved(part, bits) for part in instruction.parts)
        operands = tuple(operand for part in parts for operand in part.operands)
        return replace(instruction, parts=parts, operands=operands)
    roles = (*_roles(instruction), *(None,) * len(instruction.operands))
    pairs = zip(instruction.operands, roles, strict=False)
    operands = tuple(_with_bits(instruction, operand, role, bits) for operand, role in pairs)
    return replace(instruction, operands=operands)


def _with_bits(instruction: Instruction, operand: Operand, role: int | None, bits: int) -> Operand:
    register = operand.value
    if not isinstance(register, Register) or register.file != "v":
        return operand
    if role is None:
        raise AssemblyError(f"there is no model of '{instruction.spelled}' after {SET_HIGH_BITS}")
    index = register.index + NAMED_VECTORS * (bits >> 2 * role & 3)
    if index + register.count > instruction.chip.vectors:
        raise AssemblyError(f"the registers from v{index} on end behind the last one")
    return replace(operand, value=replace(register, index=index))


_TWO_RESULTS = re.compile(r"v_(add|addc|sub|subb|subrev|subbrev)_co_|v_div_scale_|v_mad_[iu]64_")
_LDS_RESULT = re.compile(r"ds_(read|load|swizzle|b?permute|append|consume)|ds_\w+_rtn_")


def _roles(instruction: Instruction) -> tuple[int | None, ...]:
    """Returns the roles of an instruction's operands in the order of the text; None for no role."""
    name = instruction.mnemonic
    if name.startswith("v_cmpx_"):
        return _SOURCES
    if name.startswith("v_"):
        return (_DST, *((None,) if _TWO_RESULTS.match(name) else ()), *_SOURCES)
    if name.startswith("ds_"):
        return (_DST, *_SOURCES) if _LDS_RESULT.match(name) else _SOURCES
    if name.startswith("buffer_"):
        return (_DST, _SRC0)
    if name.startswith(("global_", "flat_", "scratch_")):
        loads = "_load_" in name or ("_atomic_" in name and returns_value(instruction))
        return (_DST, _SRC0, _SRC1) if loads else (_SRC0, _SRC1)
    return ()
