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
    if written[0] == written[1]:
        raise AssemblyError(f"both instructions write v{written[0]}")
    if not _reads(second, written[0]):
        return _in_turn(one, other)
    if not _reads(first, written[1]):
        return _in_turn(other, one)

    def step(group: WaveGroup) -> None:
        old = group.v(written[0]).copy()
        one(group)
        new = group.v(written[0]).copy()
        group.set_v(written[0], old)
        other(group)
        group.set_v(written[0], new)

    return step


def _in_turn(one: Step, other: Step) -> Step:
    def step(group: WaveGroup) -> None:
        one(group)
        other(group)

    return step


def _written(part: Instruction) -> int:
    return vector_registers(part.operands[0], 1).index


def _reads(part: Instruction, index: int) -> bool:
    sources = part.operands[0 if part.mnemonic.startswith(_ACCUMULATING) else 1 :]
    return any(
        isinstance(value := operand.value, Register)
        and value.file == "v"
        and value.index <= index < value.index + value.count
        for operand in sources
    )
