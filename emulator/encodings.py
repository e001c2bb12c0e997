# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a VALU instruction's encoding picks its sources and places its result.

Besides plain registers: `op_sel` picks the high half of a register for a 16-bit operand, SDWA picks
a byte or word of it, DPP another lane. None of this depends on what the instruction computes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .cross_lane import dpp_lanes, uses_dpp
from .emulation_errors import UnknownInstructionError
from .instruction_text import AssemblyError, Instruction, Operand, Register
from .operands import (
    Array,
    Destination,
    ResultForm,
    Source,
    bits_of,
    register_bits,
    typed,
    vector_destination,
    vector_registers,
    vector_source,
)
from .wave_state import WaveGroup

# Sources.


def encoded_source(
    instruction: Instruction, operand: Operand, number: int, kind: str, flush: bool = True
) -> Source:
    """Reads source `number`, counted from 0, of a VALU instruction as `kind`.

    If `flush` is false, a float keeps its denormals in every mode.
    """
    if instruction.mnemonic.endswith("_sdwa"):
        selection = instruction.word(f"src{number}_sel", "DWORD")
        return _sdwa_source(operand, selection, kind, flush)
    if operand.sign_extend:
        raise UnknownInstructionError(instruction, "sext() outside of SDWA")
    if number == 0 and uses_dpp(instruction):
        return _dpp_source(instruction, operand, kind, flush)
    high = instruction.integers("op_sel", ())
    if number < len(high) and high[number]:
        register = operand.value
        if bits_of(kind) != 16 or not isinstance(register, Register) or register.half:
            raise UnknownInstructionError(instruction, f"op_sel on a {kind} operand")
        words = register_bits(register, 32)
        return typed(lambda g: (words(g) >> np.uint32(16)).astype(np.uint16), operand, kind, flush)
    return vector_source(operand, kind, flush)


def encoded_sources(instruction: Instruction, kind: str, first: int, stop: int) -> list[Source]:
    """Reads the operands from `first` up to `stop` of a VALU instruction as sources of `kind`."""
    return [
        encoded_source(instruction, operand, number, kind)
        for number, operand in enumerate(instruction.operands[first:stop])
    ]


def _dpp_source(instruction: Instruction, operand: Operand, kind: str, flush: bool) -> Source:
    if bits_of(kind) == 64:
        raise UnknownInstructionError(instruction, "no model of DPP on 64-bit operands")
    half = operand.register.half
    if half and bits_of(kind) != 16:
        raise AssemblyError(f"{operand.register} where a whole register is expected")
    register = vector_registers(Operand(replace(operand.register, half="")), 1)
    lanes = dpp_lanes(instruction)

    def bits(group: WaveGroup) -> Array:
        index = group.machine.vector_index(register)
        moved = group.v_moved(index, lambda words: lanes.read(group, words), lanes.reads)
        if half == "h":
            moved = moved >> np.uint32(16)
        return moved.astype(np.uint16) if bits_of(kind) == 16 else moved

    return typed(bits, operand, kind, flush)


_SELECTIONS = {
    "DWORD": (0, 32),
    "WORD_0": (0, 16),
    "WORD_1": (16, 16),
    **{f"BYTE_{i}": (8 * i, 8) for i in range(4)},
}


def _selected(selection: str, what: str) -> tuple[int, int]:
    if selection not in _SELECTIONS:
        raise AssemblyError(f"no model of SDWA {what} {selection}")
    return _SELECTIONS[selection]


def _sdwa_source(operand: Operand, selection: str, kind: str, flush: bool) -> Source:
    if bits_of(kind) == 64:
        raise AssemblyError(f"no model of SDWA on {kind} sources")
    shift, width = _selected(selection, "source selection")
    raw = vector_source(Operand(operand.value), "b32")
    left, right = np.int32(32 - shift - width), np.int32(32 - width)

    def bits(group: WaveGroup) -> Array:
        words = raw(group)
        if operand.sign_extend:
            words = (words.view(np.int32) << left >> right).view(np.uint32)
        elif width < 32:
            words = words >> np.uint32(shift) & np.uint32((1 << width) - 1)
        return words.astype(np.uint16) if bits_of(kind) == 16 else words

    return typed(bits, operand, kind, flush)


# Where a result goes.


def encoded_destination(
    instruction: Instruction, kind: str, sources: int, keeps_high: bool = False
) -> Destination:
    """Writes the result, of type `kind`, of a VALU instruction with `sources` sources.

    With `keeps_high` a 16-bit result leaves the other half of its register as it is.
    """
    operand = instruction.operands[0]
    form = result_form(instruction, kind)
    if instruction.mnemonic.endswith("_sdwa") and "dst_sel" in instruction.modifiers:
        shift, width = _selected(instruction.word("dst_sel"), "destination selection")
        return _part_destination(operand, form, shift, width, instruction.word("dst_unused"))
    shift = _half_of_result(instruction, kind, sources, keeps_high)
    if shift is not None:
        operand = Operand(replace(operand.register, half=""))
    if uses_dpp(instruction):
        return _dpp_destination(instruction, operand, form, shift)
    if shift is not None:
        return half_destination(operand, form, shift)
    return vector_destination(operand, form)


def _half_of_result(
    instruction: Instruction, kind: str, sources: int, keeps_high: bool
) -> int | None:
    """Returns the first bit of the half of a register that a result goes to; None if it takes all.

    Since RDNA every 16-bit result leaves the other half as it is (LLVM,
    `GCNSubtarget::zeroesHigh16BitsOfDest`).
    """
    high = instruction.integers("op_sel", ())
    half = instruction.operands[0].register.half
    if (len(high) > sources and high[sources]) or half == "h":
        return 16
    if half or ((keeps_high or instruction.chip.is_rdna) and bits_of(kind) == 16):
        return 0
    return None


def result_form(instruction: Instruction, kind: str) -> ResultForm:
    """Returns the result's type with the instruction's clamp and output modifiers."""
    multiplier, divisor = instruction.integer("mul", 1), instruction.integer("div", 1)
    omod = {1: 0, 2: 1, 4: 2}.get(multiplier)
    if omod is None or divisor not in (1, 2):
        raise AssemblyError(f"no output modifier mul:{multiplier} div:{divisor}")
    clamp = bool(instruction.modifiers.get("clamp", False))
    return ResultForm(kind, clamp, -1 if divisor == 2 else omod)


def _dpp_destination(
    instruction: Instruction, operand: Operand, form: ResultForm, shift: int | None
) -> Destination:
    register = vector_registers(operand, 1)
    lanes = dpp_lanes(instruction)
    if bits_of(form.kind) == 64:
        raise UnknownInstructionError(instruction, "no model of DPP on 64-bit results")

    def write(group: WaveGroup, values: Array) -> None:
        (bits,) = form.words(group, values)
        index = group.machine.vector_index(register)
        if shift is None:
            group.set_v(index, bits, lanes.writes(group))
        else:
            group.set_half(index, bits, shift, lanes.writes(group))

    return write


def half_destination(operand: Operand, form: ResultForm, shift: int) -> Destination:
    """Writes a result of 16 bits to the half of a register that begins with bit `shift`."""
    register = vector_registers(operand, 1)
    if bits_of(form.kind) != 16:
        raise AssemblyError(f"half of {register} cannot take a {form.kind} result")

    def write(group: WaveGroup, values: Array) -> None:
        (bits,) = form.words(group, values)
        group.set_half(group.machine.vector_index(register), bits, shift)

    return write


def _part_destination(
    operand: Operand, form: ResultForm, shift: int, width: int, unused: str
) -> Destination:
    """Writes `width` bits of a register from bit `shift` on.

    `unused` says whether the other bits become 0 or the result's sign, or stay.
    """
    register = vector_registers(operand, 1)
    if unused not in ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"):
        raise AssemblyError(f"no model of dst_unused:{unused}")
    if bits_of(form.kind) == 64:
        raise AssemblyError(f"no model of a part of {register} as a {form.kind} result")
    mask = np.uint32((1 << width) - 1)
    kept = np.uint32(0xFFFFFFFF & ~(int(mask) << shift))
    above = np.uint32(0xFFFFFFFF & ~((1 << shift + width) - 1))

    def write(group: WaveGroup, values: Array) -> None:
        (bits,) = form.words(group, values)
        part = (bits & mask) << np.uint32(shift)
        index = group.machine.vector_index(register)
        if unused == "UNUSED_PRESERVE":
            part = part | group.v(index) & kept
        elif unused == "UNUSED_SEXT":
            negative = bits >> np.uint32(width - 1) & np.uint32(1)
            part = part | np.negative(negative) & above
        group.set_v(index, part)

    return write
