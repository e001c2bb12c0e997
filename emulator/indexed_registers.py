# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registers that an instruction finds at run time, by a number in M0.

`s_set_gpr_idx_on` lets M0[7:0] be added to the vector registers that VALU instructions name, until
`s_set_gpr_idx_off`: to the first, second and third source where M0[12], M0[13] and M0[14] are set,
and to the destination where M0[15] is (CDNA3 ISA, 4.10 and chapter 12). `s_movrels` and `s_movreld`
do the same to one scalar register. A compiler writes

    s_set_gpr_idx_on s0, gpr_idx(SRC0)
    v_mov_b32_e32 v5, v1                    with s0 = 3, a move from v4
    s_set_gpr_idx_off

Each number that M0 takes makes another instruction of the one in the text. It is built when a wave
comes there with that number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from .assembly import Kernel
from .emulation_errors import EmulationError, UnknownInstructionError
from .instruction_text import M0, AssemblyError, Instruction, Literal, Name, Operand, Register
from .lane_ops import LANE_OPS
from .mnemonics import base_name
from .operands import scalar_source
from .spread import execute
from .step import Step
from .wave_state import WaveGroup

Builder = Callable[[Instruction], Step]

_ON, _OFF = "s_set_gpr_idx_on", "s_set_gpr_idx_off"
# What a name in `gpr_idx(...)` lets be indexed, in the order of the bits from M0[12] on.
_PLACES = ("SRC0", "SRC1", "SRC2", "DST")
_FIRST_PLACE_BIT = 12
_INDEX_MASK = 0xFF


def indexed_instructions(kernel: Kernel) -> frozenset[int]:
    """Returns the indices of the instructions between `s_set_gpr_idx_on` and `s_set_gpr_idx_off`.

    Raises:
        AssemblyError: control flow enters or leaves such a run of instructions in its middle; the
            message starts with the file and the line.
    """
    entered = set(kernel.labels.values())
    found: set[int] = set()
    on = False
    for index, instruction in enumerate(kernel.instructions):
        name = instruction.mnemonic
        leaves = name.startswith(("s_branch", "s_cbranch", "s_setpc", "s_swappc"))
        if on and (index in entered or leaves):
            raise AssemblyError(
                f"{kernel.source}:{instruction.line}: there is no model of control flow between "
                f"{_ON} and {_OFF}, where registers are indexed"
            )
        if name in (_ON, _OFF, "s_endpgm"):
            on = name == _ON
        elif on:
            found.add(index)
    return frozenset(found)


def indexed(instruction: Instruction, build: Builder) -> Step:
    """Returns the step of an instruction that runs while registers are indexed.

    Args:
        build: makes the step of an instruction whose registers are those that its text names.

    Raises:
        UnknownInstructionError: its operands are something else than a result and sources.
    """
    if not instruction.mnemonic.startswith("v_"):
        return build(instruction)
    plain = LANE_OPS.get(base_name(instruction.mnemonic))
    if plain is None or len(instruction.operands) != 1 + len(plain.sources):
        raise UnknownInstructionError(
            instruction, f"there is no model of '{instruction.mnemonic}' with indexed registers"
        )

    def moved(word: int) -> Instruction:
        places = [word >> _FIRST_PLACE_BIT + bit & 1 for bit in range(len(_PLACES))]
        # The destination is the first operand of the text, and the last place.
        chosen = (places[-1], *places[:-1])
        operands = (
            _shifted(operand, word & _INDEX_MASK) if flag else operand
            for operand, flag in zip(instruction.operands, chosen, strict=False)
        )
        return replace(instruction, operands=tuple(operands))

    build(instruction)
    return _by_number(instruction, _INDEX_MASK | 0xF << _FIRST_PLACE_BIT, moved, build)


def _shifted(operand: Operand, by: int) -> Operand:
    """Returns an operand whose vector register has a number raised by `by`.

    Any other operand is returned as it is.
    """
    value = operand.value
    if not isinstance(value, Register) or value.file == "s":
        return operand
    return replace(operand, value=replace(value, index=value.index + by))


def _by_number(
    instruction: Instruction, mask: int, moved: Callable[[int], Instruction], build: Builder
) -> Step:
    """Makes a step that runs what the bits `mask` of M0 make of `instruction`.

    Waves that differ in these bits run one set after the other, which is right because no
    instruction here sees another wave.
    """
    steps: dict[int, Step] = {}

    def step(group: WaveGroup) -> None:
        words = group.s_that_decides(M0.index, "The index in M0", mask)
        for number in np.unique(words).tolist():
            if number not in steps:
                chosen = moved(number)
                _check_registers(group, chosen)
                steps[number] = build(chosen)
            holders = words == number
            if holders.all():
                steps[number](group)
                continue
            part = WaveGroup(group.machine, group.waves[holders])
            part.pc = group.pc
            execute(steps[number], part, instruction)

    return step


def _check_registers(group: WaveGroup, instruction: Instruction) -> None:
    machine = group.machine
    for operand in instruction.operands:
        value = operand.value
        if not isinstance(value, Register):
            continue
        if value.file == "s":
            inside = value.index + value.count <= len(machine.sgpr)
        else:
            inside = machine.vector_index(value) + value.count <= len(machine.vgpr)
        if not inside:
            raise EmulationError(f"the index in M0 names {value}, which the kernel does not have")


# -- instructions that set M0, and moves of indexed scalar registers -------------------------------


def _places(operand: Operand) -> int:
    """Returns the bits from M0[12] on that a number or `gpr_idx(SRC0,DST)` stands for."""
    value = operand.value
    if isinstance(value, Literal):
        return int(value.value) & 0xF
    text = value.text if isinstance(value, Name) else ""
    if not (text.startswith("gpr_idx(") and text.endswith(")")):
        raise AssemblyError(f"'{value}' where gpr_idx(...) is expected")
    words = [word.strip() for word in text[len("gpr_idx(") : -1].split(",") if word.strip()]
    for word in words:
        if word not in _PLACES:
            raise AssemblyError(f"'{word}' is none of {', '.join(_PLACES)}")
    return sum(1 << _PLACES.index(word) for word in set(words))


def _write_m0(group: WaveGroup, bits: npt.NDArray[np.uint32] | np.uint32, mask: int) -> None:
    group.set_s(M0.index, group.s(M0.index) & np.uint32(~mask & 0xFFFFFFFF) | bits)


def _turn_on(instruction: Instruction, build: Builder) -> Step:
    """Returns the step of s_set_gpr_idx_on, which writes the index and the places to M0.

    The index goes to M0[7:0], and the places to M0[15:12].
    """
    source = scalar_source(instruction.operands[0], "u32")
    places = np.uint32(_places(instruction.operands[1]) << _FIRST_PLACE_BIT)

    def step(group: WaveGroup) -> None:
        old = group.s(M0.index) & np.uint32(0xFFFF0F00)
        group.set_s(M0.index, old | source(group) & np.uint32(_INDEX_MASK) | places)

    return step


def _set_index(instruction: Instruction, build: Builder) -> Step:
    source = scalar_source(instruction.operands[0], "u32")
    return lambda group: _write_m0(group, source(group) & np.uint32(_INDEX_MASK), _INDEX_MASK)


def _set_places(instruction: Instruction, build: Builder) -> Step:
    places = np.uint32(_places(instruction.operands[0]) << _FIRST_PLACE_BIT)
    return lambda group: _write_m0(group, places, 0xF << _FIRST_PLACE_BIT)


def _move_relative(instruction: Instruction, build: Builder) -> Step:
    """Returns the step of a move whose source or destination M0 shifts.

    s_movrels_b32 shifts the source, and s_movreld_b32 the destination.
    """
    position = 1 if instruction.mnemonic.startswith("s_movrels") else 0
    plain = replace(instruction, mnemonic=f"s_mov_{instruction.mnemonic[-3:]}")
    register = instruction.operands[position].register
    build(plain)

    def moved(number: int) -> Instruction:
        operands = list(plain.operands)
        operands[position] = Operand(replace(register, index=register.index + number))
        return replace(plain, operands=tuple(operands))

    return _by_number(instruction, 0xFFFFFFFF, moved, build)


def _move_vectors(instruction: Instruction, build: Builder) -> Step:
    """Returns the step of v_movrels_b32 and its kind, moves of vector registers that M0 shifts.

    `s` shifts the source, `d` the destination, and `sd` both by the same number. `sd_2` shifts the
    source by M0[9:0], and the destination by M0[25:16].
    """
    name = base_name(instruction.mnemonic)
    separate = "_2_" in name
    shifted = ("d" in name[8:10], "s" in name[8:10])
    plain = replace(instruction, mnemonic="v_mov_b32_e32")
    build(plain)

    def moved(number: int) -> Instruction:
        by = (number >> 16 & 0x3FF, number & 0x3FF) if separate else (number, number)
        operands = (
            _shifted(operand, offset) if flag else operand
            for operand, flag, offset in zip(plain.operands, shifted, by, strict=True)
        )
        return replace(plain, operands=tuple(operands))

    return _by_number(instruction, 0x03FF03FF if separate else 0xFFFFFFFF, moved, build)


_VECTOR_MOVES = frozenset(f"v_movrel{way}_b32" for way in ("s", "d", "sd", "sd_2"))
_INSTRUCTIONS: Mapping[str, Callable[[Instruction, Builder], Step]] = {
    _ON: _turn_on,
    _OFF: lambda instruction, build: lambda group: None,
    "s_set_gpr_idx_idx": _set_index,
    "s_set_gpr_idx_mode": _set_places,
    **{f"s_movrel{way}_b{bits}": _move_relative for way in "sd" for bits in (32, 64)},
}


def build(instruction: Instruction, build_plain: Builder) -> Step | None:
    """Returns the step of an instruction that sets or uses the index in M0, or None if it is none.

    Args:
        build_plain: makes the step of an instruction whose registers are those that its text names.
    """
    make = _INSTRUCTIONS.get(instruction.mnemonic)
    if base_name(instruction.mnemonic) in _VECTOR_MOVES:
        make = _move_vectors
    return make(instruction, build_plain) if make else None
