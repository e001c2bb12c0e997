# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar memory instructions: loads, and CDNA's stores and atomics, of a wave's scalar registers.

The semantics of loads are those of "AMD Instinct MI300 CDNA3 Instruction Set Architecture", chapter
8, and of the ISA documents of RDNA3 and RDNA4. Stores and atomics are in LLVM's tables for CDNA,
and hipBLASLt's kernels for CDNA3 count workgroups by them; what they do says `"Vega" Instruction
Set Architecture`, chapter 8.2 and "SMEM Instructions". There is no scalar cache here, which
`s_dcache_wb` would write back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from . import atomics
from .buffer_resources import resource_reader
from .byte_access import Offsets, Words
from .emulation_errors import UnknownInstructionError
from .instruction_text import AssemblyError, Instruction, Literal, Register
from .lds_instructions import Load, extend
from .memory_names import offset_scale, returns_value
from .operands import scalar_source
from .step import Step
from .undefined import Undefined
from .wave_state import LaneMask, WaveGroup

_COUNTS: Mapping[str, int] = {
    f"dword{suffix}": count
    for suffix, count in (("", 1), ("x2", 2), ("x3", 3), ("x4", 4), ("x8", 8), ("x16", 16))
}
_PARTS: Mapping[str, Load] = {
    "u8": Load(1),
    "i8": Load(1, signed=True),
    "u16": Load(2),
    "i16": Load(2, signed=True),
}


def build(instruction: Instruction) -> Step | None:
    """Returns the step of a scalar memory instruction under the emulator's name; None for others.

    Raises:
        UnknownInstructionError: there is no such instruction.
    """
    for prefix, make in _FAMILIES.items():
        if instruction.mnemonic.startswith(prefix):
            return make(instruction, instruction.mnemonic.removeprefix(prefix))
    return None


# -- where waves access ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Access:
    """The access of every wave of a group.

    Attributes:
        addresses: [n, 1], byte addresses.
        space: [n, 1], how many bytes from the address on the descriptor allows; None for no limit.
    """

    addresses: Offsets
    space: Offsets | None

    def word(self, k: int, width: int) -> tuple[Offsets, LaneMask | None]:
        """Returns the addresses of the words or parts of words number k, and which may be
        accessed."""
        inside = None if self.space is None else self.space >= 4 * k + width
        return self.addresses + 4 * k, inside


def _place(instruction: Instruction, base: int, *, words: bool) -> Callable[[WaveGroup], _Access]:
    """Returns where waves access: a base of 2 registers, or a descriptor of 4, and an offset.

    The offset is a sum of the third operand and `offset`: 21 bits with a sign, or from RDNA4 on 24.

    Args:
        words: whether words are accessed, which ignores the address's two low bits.
    """
    register = instruction.operands[1].register
    if register.file != "s" or register.count != base:
        raise AssemblyError(f"{register} where {base} scalar registers are expected")
    offsets = _offsets(instruction)
    low = np.int64(~3 if words else ~0)
    if base == 2:

        def by_address(group: WaveGroup) -> _Access:
            address = group.s64(register.index).astype(np.int64) + offsets(group)
            return _Access((address & low)[:, None], None)

        return by_address
    read = resource_reader(instruction.chip, register.index, None)

    def by_descriptor(group: WaveGroup) -> _Access:
        found = read(group)
        size = (found.records * np.maximum(found.stride, 1)).reshape(-1)
        first = offsets(group) & low
        return _Access((found.base.reshape(-1) + first)[:, None], (size - first)[:, None])

    return by_descriptor


def _offsets(instruction: Instruction) -> Callable[[WaveGroup], Offsets]:
    """Returns the byte offset [n] that a scalar memory instruction adds to its base."""
    offset = instruction.operands[2]
    least = -0x800000 if instruction.chip.has_split_counters else -0x100000
    constant = np.int64(instruction.offset(least, -least - 1))
    if isinstance(offset.value, Literal):
        number = np.int64(offset.value.value) + constant
        if not least <= number < -least:
            raise AssemblyError(f"{number} is not in the range of {least} to {-least - 1}")
        return lambda group: np.full(group.count, number)
    source, scale = scalar_source(offset, "u32"), offset_scale(instruction)
    return lambda group: source(group).astype(np.int64) * scale + constant


def _data_register(instruction: Instruction, count: int) -> Register:
    register = instruction.operands[0].register
    if register.file != "s" or register.count != count:
        raise AssemblyError(f"{register} where {count} registers are expected")
    return register


# -- loads, stores, atomics ------------------------------------------------------------------------


def _load(base: int) -> Callable[[Instruction, str], Step]:
    """Returns what makes the step of a load; words beyond the end of a descriptor are 0."""

    def make(instruction: Instruction, suffix: str) -> Step:
        part = _PARTS.get(suffix)
        if part is None and suffix not in _COUNTS:
            raise UnknownInstructionError(instruction)
        register = _data_register(instruction, _COUNTS.get(suffix, 1))
        place = _place(instruction, base, words=part is None)
        width = 4 if part is None else part.width

        def step(group: WaveGroup) -> None:
            target, memory = place(group), group.machine.memory
            at_once = register.count if target.space is None else 1
            for first in range(0, register.count, at_once):
                addresses, inside = target.word(first, width)
                where = addresses, width * at_once, inside, group.waves
                values, undefined = memory.load(*where), memory.undefined(*where)
                for k in range(at_once):
                    found = None if undefined is None else undefined.at((k, slice(None), 0))
                    _deliver(group, register.index + first + k, values[k, :, 0], found, part)

        return step

    return make


def _deliver(
    group: WaveGroup, index: int, values: Words, undefined: Undefined | None, part: Load | None
) -> None:
    """Puts words [n], or parts of words that are extended, into a register."""
    if part is not None:
        values = extend(values, part)
        if undefined is not None:
            undefined = Undefined(extend(undefined.bits, part), undefined.origins)
    group.set_s_or_undefined(index, values, undefined)


def _data(group: WaveGroup, register: Register) -> tuple[npt.NDArray[np.uint32], Undefined | None]:
    """Returns the words [words, n, 1] of registers, and their undefined bits."""
    found = [group.register("s", register.index + k) for k in range(register.count)]
    words = np.stack([words for words, _ in found])[:, :, None]
    undefined = Undefined.stack([missing for _, missing in found], words.shape[1:2])
    return words, None if undefined is None else undefined.at((..., None))


def _store(base: int) -> Callable[[Instruction, str], Step]:
    """Returns what makes the step of a store; words beyond the end of a descriptor stay."""

    def make(instruction: Instruction, suffix: str) -> Step:
        if suffix not in ("dword", "dwordx2", "dwordx4"):
            raise UnknownInstructionError(instruction)
        register = _data_register(instruction, _COUNTS[suffix])
        place = _place(instruction, base, words=True)

        def step(group: WaveGroup) -> None:
            target = place(group)
            words, undefined = _data(group, register)
            for k in range(register.count):
                addresses, inside = target.word(k, 4)
                part = slice(k, k + 1)
                missing = None if undefined is None else undefined.at(part)
                memory = group.machine.memory
                memory.store(addresses, words[part], 4, inside, group.waves, missing)

        return step

    return make


def _atomic(base: int) -> Callable[[Instruction, str], Step]:
    """Returns what makes the step of an atomic, of which `glc` asks for the value before."""

    def make(instruction: Instruction, suffix: str) -> Step:
        op = atomics.OPS.get(atomics.IN_MEMORY.get(suffix, ""))
        if op is None or np.dtype(op.kind).kind == "f":
            raise UnknownInstructionError(instruction)
        words = op.width // 4
        register = _data_register(instruction, words * op.operands)
        place = _place(instruction, base, words=True)
        returning = returns_value(instruction)

        def step(group: WaveGroup) -> None:
            target, memory = place(group), group.machine.memory
            addresses, inside = target.word(0, op.width)
            data, undefined = atomics.compared_first(op, *_data(group, register))
            before, found = memory.update(op, addresses, data, inside, group.waves, undefined)
            for k in range(words * returning):
                missing = None if found is None else found.at((k, slice(None), 0))
                group.set_s_or_undefined(register.index + k, before[k, :, 0], missing)

        return step

    return make


_FAMILIES: Mapping[str, Callable[[Instruction, str], Step]] = {
    "s_load_": _load(2),
    "s_buffer_load_": _load(4),
    "s_store_": _store(2),
    "s_buffer_store_": _store(4),
    "s_atomic_": _atomic(2),
    "s_buffer_atomic_": _atomic(4),
}
PREFIXES = tuple(_FAMILIES)
"""What the names of scalar memory instructions begin with."""
