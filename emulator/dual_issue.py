# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two vector instructions in one (VOPD), `v_dual_mov_b32 v0, v1 :: v_dual_add_f32 v2, v0, v3`.

Both read their sources before either writes its result (RDNA3 ISA, "Dual Issue VALU"). So the one
that reads what the other writes runs first; where each does, the registers that the first one has
changed are put back until the other has read them.
"""

from __future__ import annotations

from collections.abc import Callable

from .instruction_text import AssemblyError, Instruction, Register
from .operands import vector_registers
from .step import Step
from .wave_state import WaveGroup

Builder = Callable[[Instruction], Step]

# Their destination is a source too.
_ACCUMULATING = ("v_fmac_", "v_dot2c_")


def build(instruction: Instruction, build_plain: Builder) -> Step | None:
    """Returns the step of a pair of instructions; None of any other.

    Args:
        build_plain: makes the step of one of the pair.

    Raises:
        AssemblyError: both have the same destination.
    """
    if not instruction.parts:
        return None
    # The pair is asked for its operands, so that its caller sees that all of them are known.
    tuple(instruction.operands)
    first, second = instruction.parts
    one, other = (build_plain(part) for part in instruction.parts)
    written = [_written(part) for part in instruction.parts]
    if both := sorted({*written[0]} & {*written[1]}):
        raise AssemblyError(f"both instructions write v{both[0]}")
    if not _reads(second, written[0]):
        return _in_turn(one, other, second)
    if not _reads(first, written[1]):
        return _in_turn(other, one, first)
    read = [_sources(part) for part in instruction.parts]

    def step(group: WaveGroup) -> None:
        for each in read:
            _expect_defined(group, each)
        old = [group.v(index).copy() for index in written[0]]
        one(group)
        new = [group.v(index).copy() for index in written[0]]
        for index, words in zip(written[0], old, strict=True):
            group.set_v(index, words)
        other(group)
        for index, words in zip(written[0], new, strict=True):
            group.set_v(index, words)

    return step


def _in_turn(one: Step, other: Step, last: Instruction) -> Step:
    """Returns a step that runs two others, of which the second is that of `last`.

    If that one reads undefined bits, it says so before the first one has changed anything: a step
    that reads such bits is run again (`spread.py`).
    """
    sources = _sources(last)

    def step(group: WaveGroup) -> None:
        _expect_defined(group, sources)
        one(group)
        other(group)

    return step


def _sources(part: Instruction) -> list[Register]:
    """Returns the registers that one of a pair reads."""
    operands = part.operands[0 if part.mnemonic.startswith(_ACCUMULATING) else 1 :]
    return [operand.value for operand in operands if isinstance(operand.value, Register)]


def _expect_defined(group: WaveGroup, registers: list[Register]) -> None:
    """Raises UndefinedBits where a register holds undefined bits in a lane that counts."""
    for register in registers:
        read = group.s if register.file == "s" else group.v
        for offset in range(register.count):
            read(register.index + offset)


def _written(part: Instruction) -> range:
    """Returns the vector registers that one of a pair writes: one, or two for f64."""
    register = vector_registers(part.operands[0], part.operands[0].register.count)
    return range(register.index, register.index + register.count)


def _reads(part: Instruction, written: range) -> bool:
    return any(
        value.file == "v"
        and value.index < written.stop
        and written.start < value.index + value.count
        for value in _sources(part)
    )
