# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix instructions of RDNA (`v_wmma_*`): D = A B + C on one block, spread over a wave's lanes.

A lane holds E consecutive k of one row of A, and of one column of B. With lane = i + 16 p it is row
or column i, and the k are those from p E on. On RDNA3 a lane has all 16 of them, so that the lanes
above 15 repeat the first 16; that they do is checked. Since RDNA4 E is K / 2. (A and B are read by
the same rule, so another order of k gives the same product.)

Column j of the result lies in the lanes j + 16 h. On RDNA3 register v of such a lane holds row
2 v + h of 32 lanes, or 4 v + h of 64. Since RDNA4 it is row 8 h + v, and results of 16 bits lie in
pairs in a register, the first in the low half. On RDNA3 such a result takes half of a register
alone, which `op_sel` names, and leaves the other half.

Worked example, v_wmma_f32_16x16x16_f16 on RDNA4: lane 19 holds A[3, 8..15], and D[8..15, 3].

Numerics are those of `matrix.py`, which AMD documents for neither: exact products, a sum that is
formed in f64 and rounded once to the type of D (bf16: to f32 first), denormals kept, EXEC ignored.
Integers are exact, and wrap or, with `clamp`, saturate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .chips import Isa
from .emulation_errors import EmulationError, UnknownInstructionError
from .floats import round_to_bf16, widen_bf16
from .instruction_text import AssemblyError, Instruction, Literal, Operand
from .matrix import PLAIN_FORMATS, Format, paired_format, small_format
from .operands import literal_bits, vector_registers
from .small_floats import fp8_formats
from .step import BuildContext, Step
from .wave_state import WaveGroup

U32 = npt.NDArray[np.uint32]
F64 = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

_SIZE = 16
_F16 = ("16x16x16_f16", "f32", "f16"), ("16x16x16_bf16", "f32", "bf16")
_EIGHT_BITS = tuple(f"{a}_{b}" for a in ("fp8", "bf8") for b in ("fp8", "bf8"))
_Table = tuple[tuple[str, ...], ...]
_RDNA3: _Table = (
    *_F16,
    ("16x16x16_iu8", "i32"),
    ("16x16x16_iu4", "i32"),
)
_RDNA4: _Table = (
    *_RDNA3,
    *((f"16x16x16_{pair}", "f32") for pair in _EIGHT_BITS),
    ("16x16x32_iu4", "i32"),
)
_GFX1250: _Table = (
    ("16x16x4_f32", "f32"),
    ("16x16x32_f16", "f32", "f16"),
    ("16x16x32_bf16", "f32", "bf16", "bf16f32"),
    *((f"16x16x64_{pair}", "f32", "f16") for pair in _EIGHT_BITS),
    *((f"16x16x128_{pair}", "f32", "f16") for pair in _EIGHT_BITS),
    ("16x16x64_iu8", "i32"),
)
_TABLES: Mapping[Isa, _Table] = {
    Isa.RDNA3: _RDNA3,
    Isa.RDNA3_5: _RDNA3,
    Isa.RDNA4: _RDNA4,
    Isa.GFX1250: _GFX1250,
}
"""The shape and the types of A and B, and the possible types of the result."""


def wmma_names(isa: Isa) -> list[str]:
    """Returns the matrix instructions of RDNA that an instruction set has and that are modelled."""
    rows = _TABLES.get(isa, ())
    return [f"v_wmma_{result}_{shape}" for shape, *results in rows for result in results]


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of a matrix instruction of RDNA; None for any other.

    Raises:
        UnknownInstructionError: the chip has none of this name, or it is not modelled.
    """
    name, chip = instruction.mnemonic, instruction.chip
    if not name.startswith(("v_wmma_", "v_swmmac_")):
        return None
    if name not in wmma_names(chip.isa):
        raise UnknownInstructionError(
            instruction, f"the emulator does not know '{name}' on {chip.name}"
        )
    if instruction.lanes == 64 and chip.isa >= Isa.RDNA4:
        raise UnknownInstructionError(
            instruction, f"no model of '{name}' on {chip.name} in waves of 64 lanes"
        )
    return _Product(context, instruction).step


@dataclass(frozen=True)
class _Types:
    """The types of an instruction, by its name."""

    k: int
    result: str
    addend: str
    a: str
    b: str

    @classmethod
    def of(cls, name: str) -> _Types:
        match = re.fullmatch(r"v_wmma_(\w+?)_16x16x(\d+)_(\w+)", name)
        assert match is not None
        result, k, source = match.groups()
        a, _, b = source.partition("_")
        # bf16f32 has its result in bf16, and its addend in f32.
        kinds = ("bf16", "f32") if result == "bf16f32" else (result, result)
        return cls(int(k), *kinds, a, b or a)


class _Product:
    def __init__(self, context: BuildContext, instruction: Instruction) -> None:
        self.types = types = _Types.of(instruction.mnemonic)
        self.lanes = instruction.lanes
        self.repeated = instruction.chip.isa < Isa.RDNA4
        signs = instruction.integers("neg_lo", (0, 0, 0))
        others = instruction.integers("neg_hi", (0, 0, 0))
        is_integer = types.result == "i32"
        if any(others[:2]) or (any(signs[:2]) and not is_integer) or (others[2] and is_integer):
            raise UnknownInstructionError(instruction, "no model of these sign modifiers")
        self.negate, self.absolute = bool(signs[2]), bool(others[2])
        self.clamp = bool(instruction.modifiers.get("clamp", False))
        if self.clamp and not is_integer:
            raise UnknownInstructionError(instruction, "no model of clamp on this instruction")
        half = instruction.integers("op_sel", (0, 0, 0))
        if any(half) and not (self.repeated and types.result in ("f16", "bf16")):
            raise UnknownInstructionError(instruction, "no model of op_sel on this instruction")
        self.shift = 16 * half[2]
        # How caches of operands are used has no effect here.
        for hint in ("matrix_a_reuse", "matrix_b_reuse"):
            instruction.modifiers.get(hint)
        destination, a, b, c = instruction.operands
        self.read_a = self.factor(a, _format(context, types.a, signs[0]))
        self.read_b = self.factor(b, _format(context, types.b, signs[1]))
        self.read_c = self.addend(c)
        self.first = vector_registers(destination, self.registers(types.result))

    def step(self, group: WaveGroup) -> None:
        product = np.matmul(self.read_a(group), self.read_b(group).swapaxes(-1, -2))
        self.write(group, self.to_lanes(product) + self.read_c(group))

    def factor(self, operand: Operand, form: Format) -> Callable[[WaveGroup], F64]:
        """Reads A as [n, 16, K], or B transposed, in f64."""
        parts = 1 if self.repeated else self.lanes // _SIZE
        count = self.types.k // parts * form.bits // 32
        register = vector_registers(operand, count)

        def read(group: WaveGroup) -> F64:
            index = group.machine.vector_index(register)
            words = np.moveaxis(group.block(index, count, every_lane=True), 0, -1)
            if self.repeated:
                words = self.without_repetition(words)
            words = np.ascontiguousarray(words)
            values = form.values(words.view(form.kind))
            by_part = values.reshape(len(words), parts, _SIZE, -1).swapaxes(1, 2)
            return by_part.reshape(len(words), _SIZE, -1)

        return read

    def without_repetition(self, words: U32) -> U32:
        """Returns the words [n, 16, registers] that the first lanes have and the others repeat."""
        first = words[:, :_SIZE]
        for start in range(_SIZE, self.lanes, _SIZE):
            if not np.array_equal(words[:, start : start + _SIZE], first):
                raise EmulationError(
                    f"lanes {start} to {start + _SIZE - 1} do not repeat the operands of lanes 0 "
                    f"to {_SIZE - 1}, as {self.lanes} lanes must on RDNA3"
                )
        return first

    def registers(self, kind: str) -> int:
        """Returns the registers of a result or an addend of some type."""
        elements = _SIZE * _SIZE // self.lanes
        return elements if self.repeated or kind in ("f32", "i32") else elements // 2

    def addend(self, operand: Operand) -> Callable[[WaveGroup], Array]:
        """Reads C as it lies in the registers, [elements of a lane, n, lanes] in f64."""
        kind = self.types.addend
        if isinstance(operand.value, Literal):
            bits = literal_bits(operand.value.value, {"i32": "b32", "bf16": "b16"}.get(kind, kind))
            if kind == "bf16" and bits:
                raise AssemblyError("no model of a constant of bf16 but 0")
            dtype = {"f32": np.float32, "i32": np.int32, "f16": np.float16}.get(kind, np.float32)
            raw = np.array([bits], np.uint16 if kind == "f16" else np.uint32)
            number = self.signed(raw.view(dtype).astype(np.float64))
            return lambda group: number
        count = self.registers(kind)
        register = vector_registers(operand, count)

        def read(group: WaveGroup) -> Array:
            index = group.machine.vector_index(register)
            return self.signed(self.elements(group.block(index, count, every_lane=True), kind))

        return read

    def signed(self, values: F64) -> F64:
        values = np.abs(values) if self.absolute else values
        return -values if self.negate else values

    def elements(self, words: U32, kind: str) -> F64:
        """Returns the elements [elements of a lane, n, lanes] of registers."""
        if kind in ("f32", "i32"):
            dtype = np.float32 if kind == "f32" else np.int32
            return words.view(dtype).astype(np.float64)
        if self.repeated:
            halves = (words >> np.uint32(self.shift)).astype(np.uint16)
        else:
            pair = [words.astype(np.uint16), (words >> np.uint32(16)).astype(np.uint16)]
            halves = np.stack(pair, axis=1).reshape(-1, *words.shape[1:])
        if kind == "f16":
            return halves.view(np.float16).astype(np.float64)
        return widen_bf16(halves).astype(np.float64)

    def to_lanes(self, product: F64) -> F64:
        """Rearranges D from [n, 16, 16] to the elements of each lane, [elements, n, lanes]."""
        n, beside = len(product), self.lanes // _SIZE
        if self.repeated:
            rows = product.reshape(n, _SIZE // beside, beside, _SIZE).transpose(1, 0, 2, 3)
        else:
            rows = product.reshape(n, beside, _SIZE // beside, _SIZE).transpose(2, 0, 1, 3)
        return rows.reshape(_SIZE // beside, n, self.lanes)

    def write(self, group: WaveGroup, total: F64) -> None:
        """Rounds the result, and writes it whatever EXEC says."""
        lanes = None if group.active is None else np.ones((group.count, group.lanes), bool)
        index = group.machine.vector_index(self.first)
        kind = self.types.result
        if kind in ("f32", "i32"):
            group.set_block(index, self.whole_words(total), lanes)
            return
        if kind == "f16":
            halves = total.astype(np.float16).view(np.uint16).astype(np.uint32)
        else:
            halves = round_to_bf16(total.astype(np.float32)).astype(np.uint32)
        if not self.repeated:
            group.set_block(index, halves[0::2] | halves[1::2] << np.uint32(16), lanes)
            return
        for number, half in enumerate(halves):
            group.set_half(index + number, half, self.shift, lanes)

    def whole_words(self, total: F64) -> U32:
        if self.types.result == "f32":
            return total.astype(np.float32).view(np.uint32)
        if self.clamp:
            limits = np.iinfo(np.int32)
            total = np.clip(total, limits.min, limits.max)
        return total.astype(np.int64).astype(np.uint32)


def _format(context: BuildContext, name: str, signed: int) -> Format:
    """Returns how the registers of a factor hold its elements.

    Args:
        name: the type of the elements, as the instruction's name has it, such as `iu8`.
        signed: the bit of `neg_lo` for the factor, which makes its integers signed numbers.
    """
    if name in ("fp8", "bf8"):
        return small_format(fp8_formats(context.arch)[name])
    if name == "iu8":
        return Format(8, np.int8 if signed else np.uint8, lambda octets: octets.astype(np.float64))
    if name == "iu4":
        numbers = np.arange(16)
        values = np.where(bool(signed) & (numbers >= 8), numbers - 16, numbers)
        return paired_format(values.astype(np.float64))
    return PLAIN_FORMATS[name]
