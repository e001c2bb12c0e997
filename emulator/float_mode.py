# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The part of a wave's MODE register that the emulator models, and the instructions that use it.

MODE belongs to the wave. Every wave has its own number of a mode in `Machine.mode_of`, and the
executor only lets waves of one mode run together as a group. A step therefore finds one mode in
`group.mode`, and pays nothing for the waves of another mode. Where waves write different modes
(`s_setreg_b32` of a scalar register), their group parts as it does at a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .errors import UnknownInstructionError
from .instruction_text import Instruction, Name, Operand

if TYPE_CHECKING:
    from .machine import WaveGroup
    from .step import BuildContext, Step

_FLUSHED, _KEPT = 0, 3


@dataclass(frozen=True)
class FloatMode:
    """What the MODE register says of floats; every mode here rounds to nearest even.

    Bits 3:0 are rounding modes, 5:4 the f32 denormals, 7:6 those of f64 and f16, 8 is DX10_CLAMP
    and 9 is IEEE (CDNA3 ISA, table 4). Denormals are kept (3) or flushed (0).
    """

    flush_f32: bool
    flush_f64_f16: bool
    ieee: bool
    dx10_clamp: bool

    @classmethod
    def of_directives(cls, directives: Mapping[str, int]) -> FloatMode:
        """Returns the mode in which a kernel's waves start, by its `.amdhsa_*` directives."""
        return cls(
            flush_f32=directives.get("float_denorm_mode_32", _FLUSHED) == _FLUSHED,
            flush_f64_f16=directives.get("float_denorm_mode_16_64", _KEPT) == _FLUSHED,
            ieee=bool(directives.get("ieee_mode", 1)),
            dx10_clamp=bool(directives.get("dx10_clamp", 1)),
        )

    @property
    def bits(self) -> int:
        """Returns the bits of the MODE register."""
        f32, others = (
            _FLUSHED if flush else _KEPT for flush in (self.flush_f32, self.flush_f64_f16)
        )
        return f32 << 4 | others << 6 | int(self.dx10_clamp) << 8 | int(self.ieee) << 9

    @classmethod
    def of_bits(cls, bits: int) -> FloatMode | None:
        """Returns the mode of a MODE register; None if there is no model of it."""
        f32, others = bits >> 4 & 3, bits >> 6 & 3
        if bits & 0xF or bits >> 10 or not {f32, others} <= {_FLUSHED, _KEPT}:
            return None
        return cls(f32 == _FLUSHED, others == _FLUSHED, bool(bits >> 9 & 1), bool(bits >> 8 & 1))


MODE_CHANGES = frozenset({"s_setreg_b32", "s_setreg_imm32_b32"})
"""Instructions after which the waves of a group may have other modes than before."""


def _field(instruction: Instruction, operand: Operand) -> tuple[int, int]:
    """Returns the first bit and the mask of `hwreg(HW_REG_MODE, offset, size)`.

    Without offset and size these are all 32 bits.
    """
    text = operand.value.text if isinstance(operand.value, Name) else ""
    name, *numbers = text.removeprefix("hwreg(").removesuffix(")").split(",")
    if not text.startswith("hwreg(") or name != "HW_REG_MODE" or len(numbers) not in (0, 2):
        raise UnknownInstructionError(
            instruction, f"the emulator has no model of '{operand.value}'"
        )
    offset, size = (int(number, 0) for number in numbers) if numbers else (0, 32)
    return offset, (1 << size) - 1


def _changed(
    instruction: Instruction, old: FloatMode, first: int, mask: int, value: int
) -> FloatMode:
    bits = old.bits & ~(mask << first) | (value & mask) << first
    mode = FloatMode.of_bits(bits)
    if mode is None:
        raise UnknownInstructionError(instruction, f"the emulator has no model of MODE = {bits:#x}")
    return mode


def _set_constant(instruction: Instruction) -> Step:
    """Returns the step of s_setreg_imm32_b32, which sets some bits of MODE to a constant."""
    first, mask = _field(instruction, instruction.operands[0])
    value = int(str(instruction.operands[1].value), 0)
    return lambda group: group.set_modes(
        [_changed(instruction, group.mode, first, mask, value)], np.zeros(group.count, np.intp)
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
    """Returns the step of s_getreg_b32, which reads some bits of MODE into a scalar register."""
    target = instruction.operands[0].scalars(1)
    first, mask = _field(instruction, instruction.operands[1])
    return lambda group: group.set_s(target.index, group.mode.bits >> first & mask)


_INSTRUCTIONS: Mapping[str, Callable[[Instruction], Step]] = {
    "s_setreg_imm32_b32": _set_constant,
    "s_setreg_b32": _set_from_register,
    "s_getreg_b32": _get,
}


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of an instruction that reads or writes MODE; None for any other."""
    make = _INSTRUCTIONS.get(instruction.mnemonic)
    return make(instruction) if make else None
