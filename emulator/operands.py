# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the operands in the text to arrays, and back.

A *source* is a function of a `WaveGroup` that returns an array which broadcasts to [n, lanes] for
vector instructions, or is [n] for scalar ones. A *destination* takes such an array. Both are made
once per instruction, before it runs.

Types are named as AMD's ISA names them: `u32`, `i32`, `f32`, `b32` (bits, as u32), `u16`, `i16`,
`f16` (the low half of a register), `u64`, `i64`, `f64`, `b64` (a register pair).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .apertures import APERTURE_OPERANDS
from .floats import flush_denormals
from .instruction_text import AssemblyError, Literal, Name, Operand, Register, is_null
from .select_bits import bits_view
from .wave_state import WaveGroup

Array = npt.NDArray[Any]
Source = Callable[[WaveGroup], Array]
Destination = Callable[[WaveGroup, Array], None]

DTYPES: dict[str, type[np.generic]] = {
    "u16": np.uint16, "i16": np.int16, "f16": np.float16, "b16": np.uint16,
    "u32": np.uint32, "i32": np.int32, "f32": np.float32, "b32": np.uint32,
    "u64": np.uint64, "i64": np.int64, "f64": np.float64, "b64": np.uint64,
}  # fmt: skip


def bits_of(kind: str) -> int:
    """Returns the width of a type in bits."""
    return int(kind[1:])


def literal_bits(value: int | float, kind: str) -> int:
    """Returns the bits of a number in the text, as an operand of type `kind`.

    Float constants take the operand's width. Integers are bit patterns, sign-extended, except that
    a 32-bit literal of an f64 operand gives its high half (CDNA3 ISA 6.2, "Literal constants");
    inline integers, -16 to 64, do not, nor do the literals of 64 bits that gfx1250 has.
    """
    width = bits_of(kind)
    if isinstance(value, float):
        container = {16: np.float16, 32: np.float32, 64: np.float64}[width]
        pattern = {16: np.uint16, 32: np.uint32, 64: np.uint64}[width]
        return int(np.array(value, container).view(pattern))
    if kind == "f64" and -(1 << 31) <= value < 1 << 32 and not -16 <= value <= 64:
        return (value & 0xFFFFFFFF) << 32
    return value & ((1 << width) - 1)


def constant_bits(operand: Operand, kind: str) -> int | None:
    """Returns the bits of an operand that is a number or an aperture's address; None for others."""
    value = operand.value
    if isinstance(value, Literal):
        return literal_bits(value.value, kind)
    # As a 32-bit operand such an address has no use: LLVM reads it as 64 bits only.
    if isinstance(value, Name) and bits_of(kind) == 64:
        return APERTURE_OPERANDS.get(value.text)
    return None


def flushes(group: WaveGroup, kind: str) -> bool:
    """Returns whether float operands and results of type `kind` lose their denormals."""
    return group.mode.flush_f32 if kind == "f32" else group.mode.flush_f64_f16


def register_bits(register: Register, width: int) -> Source:
    """Reads the bits of a register as u16, u32 or u64.

    They are [n, lanes] of a vector register, and [n, 1] of a scalar one.
    """
    count = -(-width // 32)
    if is_null(register):
        register = replace(register, count=count)
    if register.count != count:
        raise AssemblyError(f"{register} where {_count(count)} expected")
    if register.half and width != 16:
        raise AssemblyError(f"{register} where a whole register is expected")
    words = [register_word(register, offset) for offset in range(count)]
    if width == 64:
        return lambda group: join_words(words[0](group), words[1](group))
    if register.half == "h":
        return lambda group: (words[0](group) >> np.uint32(16)).astype(np.uint16)
    if width == 16:
        return lambda group: words[0](group).astype(np.uint16)
    return words[0]


def _count(count: int, kind: str = "") -> str:
    """Returns how a message begins to say what is expected."""
    return f"1 {kind}register is" if count == 1 else f"{count} {kind}registers are"


def register_word(register: Register, offset: int = 0) -> Source:
    """Returns one 32-bit word of a vector or scalar register."""
    index = register.index + offset
    if register.file == "s":
        return lambda group: group.s(index)[:, None]
    if register.file == "v":
        return lambda group: group.v(index)
    return lambda group: group.v(group.machine.vector_index(register) + offset)


def join_words(low: Array, high: Array) -> Array:
    """Joins low and high u32 to u64."""
    return low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)


def split_words(values: Array) -> tuple[Array, Array]:
    """Returns the low and high u32 of 64-bit `values`."""
    bits = bits_view(values)
    return bits.astype(np.uint32), (bits >> np.uint64(32)).astype(np.uint32)


def apply_signs(values: Array, operand: Operand) -> Array:
    """Applies the operand's `|x|` and `-x` to floats, or to the sign bit of plain bits."""
    if values.dtype.kind == "u":
        sign = values.dtype.type(1 << (8 * values.itemsize - 1))
        values = values & ~sign if operand.absolute else values
        return values ^ sign if operand.negate else values
    if operand.absolute:
        values = np.abs(values)
    return -values if operand.negate else values


def vector_source(operand: Operand, kind: str, flush: bool = True) -> Source:
    """Returns how a VALU source of type `kind` is read.

    A denormal float becomes zero if the MODE register says so, unless `flush` is false.
    """
    value = operand.value
    number = constant_bits(operand, kind)
    if number is not None:
        container = {16: np.uint16, 32: np.uint32, 64: np.uint64}[bits_of(kind)]
        constant = np.full((1, 1), number, container)
        return typed(lambda group: constant, operand, kind, flush)
    if not isinstance(value, Register):
        raise AssemblyError(f"'{value}' where a register or number is expected")
    bits = register_bits(value, bits_of(kind))
    if kind == "f32" and flush and value.file != "s":
        return flushed_word(value, 0, operand)
    return typed(bits, operand, kind, flush)


def flushed_word(register: Register, offset: int, operand: Operand) -> Source:
    """Returns one word of a vector register as f32, with the operand's sign modifiers.

    The result is that of `typed`, but a register is not searched for denormals twice.
    """

    def read(group: WaveGroup) -> Array:
        values = group.v_f32(group.machine.vector_index(register) + offset)
        return apply_signs(values, operand)

    return read


def typed(bits: Source, operand: Operand, kind: str, flush: bool = True) -> Source:
    """Reads `bits` as `kind`, with the operand's sign modifiers."""
    dtype = np.dtype(DTYPES[kind])
    signed = operand.negate or operand.absolute
    if kind[0] != "f":
        if not signed:
            return lambda group: bits(group).view(dtype)
        if kind[0] != "b":
            raise AssemblyError(f"sign modifier on an integer operand '{operand.value}'")
        return lambda group: apply_signs(bits(group), operand)

    def read(group: WaveGroup) -> Array:
        values = bits(group).view(dtype)
        if signed:
            values = apply_signs(values, operand)
        return flush_denormals(values) if flush and flushes(group, kind) else values

    return read


@dataclass(frozen=True)
class ResultForm:
    """What happens to a result of type `kind` before it is written.

    Attributes:
        clamp: whether floats are clamped to [0, 1]. Integers are not changed here, because their
            operation saturates (`vector_alu`).
        omod: the exponent of the power of two that float results are multiplied with: 1 is
            `mul:2`, and -1 is `div:2`.
    """

    kind: str
    clamp: bool = False
    omod: int = 0

    def finish(self, group: WaveGroup, values: Array) -> Array:
        """Returns `values` as `kind`, with output modifier, clamp and denormal flush of floats."""
        kind = self.kind
        if values.dtype != DTYPES[kind]:
            values = values.astype(DTYPES[kind])
        if kind[0] != "f":
            return values
        if self.omod:
            values = self.scaled(group, values)
        if self.clamp:
            # Comparing lets NaN and -0 become +0.
            low = values > 0
            if not group.mode.dx10_clamp:
                low = low | np.isnan(values)
            values = np.where(low, np.minimum(values, values.dtype.type(1)), values.dtype.type(0))
        return flush_denormals(values) if flushes(group, kind) else values

    def scaled(self, group: WaveGroup, values: Array) -> Array:
        """Returns `values` with the output modifier, which counts where denormals are flushed.

        The rule is that of CDNA3 ISA 6.2.
        """
        if not flushes(group, self.kind):
            return values
        scaled = values * values.dtype.type(2.0**self.omod)
        return scaled + values.dtype.type(0)

    def words(self, group: WaveGroup, values: Array) -> list[Array]:
        """Returns the finished result as u32 registers; a 16-bit one lies in the low half."""
        values = self.finish(group, values)
        if values.itemsize == 8:
            return list(split_words(values))
        bits = bits_view(values)
        return [bits if values.itemsize == 4 else bits.astype(np.uint32)]


def vector_destination(operand: Operand, form: ResultForm) -> Destination:
    """Writes a VALU result, of which a 16-bit one clears the register's high half."""
    register = operand.register
    count = -(-bits_of(form.kind) // 32)
    if register.file == "s":
        raise AssemblyError(f"{register} cannot take a vector result")
    if register.count != count or register.half:
        raise AssemblyError(f"{register} where {_count(count)} expected")

    def write(group: WaveGroup, values: Array) -> None:
        index = group.machine.vector_index(register)
        for offset, word in enumerate(form.words(group, values)):
            group.set_v(index + offset, word)

    def write_f32(group: WaveGroup, values: Array) -> None:
        group.set_f32(group.machine.vector_index(register), form.finish(group, values))

    return write_f32 if form.kind == "f32" else write


def vector_registers(operand: Operand, count: int) -> Register:
    """Returns the vector or accumulation registers that an operand must be.

    Raises:
        AssemblyError: it is something else, or not so many registers.
    """
    register = operand.register
    if register.file == "s" or register.count != count or register.half:
        raise AssemblyError(f"{register} where {_count(count, 'vector ')} expected")
    return register


def lane_mask_source(operand: Operand, lanes: int) -> Callable[[WaveGroup], npt.NDArray[np.bool_]]:
    """Reads a scalar operand of a bit for each of `lanes` lanes as [n, lanes]."""
    value = operand.value
    if isinstance(value, Literal) and isinstance(value.value, int):
        bits = np.array([(value.value >> lane) & 1 for lane in range(lanes)], bool)
        return lambda group: np.broadcast_to(bits, (group.count, lanes))
    register = operand.scalars(lanes // 32)
    return lambda group: group.lane_mask(register.index)


def scalar_source(operand: Operand, kind: str) -> Source:
    """Reads an SALU source, [n] of type `kind` (32 or 64 bits)."""
    dtype = DTYPES[kind]
    number = constant_bits(operand, kind)
    if number is not None:
        container = np.uint64 if bits_of(kind) == 64 else np.uint32
        return lambda group: np.full(group.count, number, container).view(dtype)
    register = operand.scalars(bits_of(kind) // 32)
    if bits_of(kind) == 64:
        return lambda group: group.s64(register.index).view(dtype)
    return lambda group: group.s(register.index).view(dtype)


def scalar_destination(operand: Operand, kind: str) -> Destination:
    """Writes an SALU result [n] of type `kind`."""
    register = operand.scalars(bits_of(kind) // 32)
    if is_null(register):
        return lambda group, values: None
    if bits_of(kind) == 64:
        return lambda group, values: group.set_s64(register.index, values.view(np.uint64))
    return lambda group, values: group.set_s(register.index, values.view(np.uint32))
