# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions of gfx950 from and to floats of 8 and 4 bits, with a scale (`v_cvt_scalef32_*`).

The scale is the exponent of an f32 operand, whose sign and mantissa do not count: 2 ** (e - 127),
or NaN if e is 255. A wider result is the source times the scale, a narrower one the source divided
by it (CDNA4 ISA, VOP3; gem5, `vop3_cvt.hh`). Either is rounded once, to nearest, ties to even.

`op_sel` has a bit for each source and one for the result. Those of the sources name the byte of a
register that pairs of `fp4`, or one float of 8 bits, come from, or the half that pairs of 8-bit
floats come from. Those behind them name the part of the result's register that is written, the
other bits of which stay (LLVM, `gfx950_asm_features.s`). Examples:

    v_cvt_scalef32_pk_f32_fp4 v[2:3], v6, v7 op_sel:[1,0,0]         byte 1 of v6
    v_cvt_scalef32_pk_f16_fp8 v2, v6, v7 op_sel:[1,0,0]             the high half of v6
    v_cvt_scalef32_pk_fp4_f32 v22, v2, v3, v18 op_sel:[0,0,1,0]     to byte 1 of v22
    v_cvt_scalef32_pk_fp8_f32 v6, v2, v3, v4 op_sel:[0,0,0,1]       to the high half of v6
    v_cvt_scalef32_f16_fp8 v2, v6, v7 op_sel:[0,1,1]                byte 2 of v6, to the high half

What is too large becomes an infinity where the format has one, else NaN, and in `fp4`, which has
neither, the largest number; a NaN does too. MODE.FP16_OVFL saturates 8-bit floats as it does in
the conversions without a scale, which is assumed: the CDNA4 ISA has its rule for these alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from . import floats
from .chips import CDNA4
from .emulation_errors import UnknownInstructionError
from .float8 import round_to_small
from .instruction_text import Instruction, Operand
from .operands import vector_registers, vector_source
from .small_floats import E8M0_VALUES, FP4, SmallFloat, fp8_formats
from .step import BuildContext, Step
from .wave_state import WaveGroup

F64 = npt.NDArray[np.float64]
U32 = npt.NDArray[np.uint32]
Values = Callable[[WaveGroup], F64]

_WIDE = "f32|f16|bf16"
_NAME = re.compile(
    rf"v_cvt_scalef32_(?:pk_(?P<wide>{_WIDE})_(?P<of>fp8|bf8|fp4)"
    rf"|(?P<one>f32|f16)_(?P<of_one>fp8|bf8)"
    rf"|pk_(?P<to>fp8|bf8|fp4)_(?P<from>{_WIDE}))(?:_e64)?$"
)


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of a scaled conversion that IREE or Triton emits, or None if it is none."""
    found = _NAME.match(instruction.mnemonic)
    if found is None:
        return None
    if context.arch != CDNA4:
        arch = context.arch
        raise UnknownInstructionError(instruction, f"it does not exist on {arch}")
    formats = {**fp8_formats(CDNA4), "fp4": FP4}
    if found["wide"]:
        return _widen_pair(instruction, formats[found["of"]], found["wide"])
    if found["one"]:
        return _widen_one(instruction, formats[found["of_one"]], found["one"])
    return _narrow_pair(instruction, formats[found["to"]], found["from"])


def _parts(instruction: Instruction, *parts: Sequence[int]) -> list[int]:
    """Returns the numbers that bits of `op_sel` spell, the lowest bit first.

    Each part names the places of its bits. No other bit may be set.
    """
    selects = instruction.integers("op_sel", ())
    places = [place for part in parts for place in part]
    if max(selects, default=0) > 1 or any(
        bit and place not in places for place, bit in enumerate(selects)
    ):
        raise UnknownInstructionError(instruction, "no model of this op_sel")
    bits = dict(enumerate(selects))
    return [sum(bits.get(place, 0) << k for k, place in enumerate(part)) for part in parts]


def _scale(operand: Operand) -> Values:
    words = vector_source(operand, "b32")
    return lambda group: E8M0_VALUES.take(words(group) >> np.uint32(23) & np.uint32(0xFF))


def _widen_pair(instruction: Instruction, form: SmallFloat, wide: str) -> Step:
    destination, source, scale = instruction.operands
    (part,) = _parts(instruction, (0, 1) if form.bits == 4 else (0,))
    shift = np.uint32(2 * form.bits * part)
    words, factor, table = vector_source(source, "b32"), _scale(scale), form.values()
    mask, width = np.uint32((1 << form.bits) - 1), np.uint32(form.bits)
    register = vector_registers(destination, 2 if wide == "f32" else 1)

    def step(group: WaveGroup) -> None:
        pair, by = words(group) >> shift, factor(group)
        low, high = (_bits(table.take(each & mask) * by, wide) for each in (pair, pair >> width))
        index = group.machine.vector_index(register)
        if wide == "f32":
            group.set_v(index, low)
            group.set_v(index + 1, high)
        else:
            group.set_v(index, low | high << np.uint32(16))

    return step


def _widen_one(instruction: Instruction, form: SmallFloat, wide: str) -> Step:
    destination, source, scale = instruction.operands
    octet, half = _parts(instruction, (0, 1), (2,) if wide == "f16" else ())
    shift = np.uint32(8 * octet)
    words, factor, table = vector_source(source, "b32"), _scale(scale), form.values()
    register = vector_registers(destination, 1)

    def step(group: WaveGroup) -> None:
        octets = words(group) >> shift & np.uint32(0xFF)
        result = _bits(table.take(octets) * factor(group), wide)
        index = group.machine.vector_index(register)
        if wide == "f16":
            result = _in_place(group.v(index), result, 16 * half, 16)
        group.set_v(index, result)

    return step


def _narrow_pair(instruction: Instruction, form: SmallFloat, wide: str) -> Step:
    destination, *sources, scale = instruction.operands
    # Pairs of fp4 go to one of four bytes, pairs of 8-bit floats to one of two halves.
    (part,) = _parts(instruction, (2, 3) if form.bits == 4 else (len(sources) + 1,))
    read, factor = _pair(instruction, sources, wide), _scale(scale)
    register, width = vector_registers(destination, 1), 2 * form.bits

    def step(group: WaveGroup) -> None:
        by = factor(group)
        saturates = group.mode.fp16_overflow
        low, high = (round_to_small(values / by, form, saturates) for values in read(group))
        index = group.machine.vector_index(register)
        codes = low | high << np.uint32(form.bits)
        group.set_v(index, _in_place(group.v(index), codes, width * part, width))

    return step


def _pair(
    instruction: Instruction, sources: list[Operand], wide: str
) -> Callable[[WaveGroup], tuple[F64, F64]]:
    """Reads the two numbers that become narrower: of two f32 operands, or of one with halves."""
    if len(sources) != (2 if wide == "f32" else 1):
        raise UnknownInstructionError(instruction, "this number of operands")
    if wide == "f32":
        low, high = (vector_source(source, "f32") for source in sources)
        return lambda group: (low(group).astype(np.float64), high(group).astype(np.float64))
    (source,) = sources
    if source.negate or source.absolute:
        raise UnknownInstructionError(instruction, "sign modifier on a pair of halves")
    words = vector_source(source, "b32")

    def halves(group: WaveGroup) -> tuple[F64, F64]:
        pair = words(group)
        low, high = ((pair >> np.uint32(shift)).astype(np.uint16) for shift in (0, 16))
        if wide == "bf16":
            low, high = floats.widen_bf16(low), floats.widen_bf16(high)
        else:
            low, high = low.view(np.float16), high.view(np.float16)
        return low.astype(np.float64), high.astype(np.float64)

    return halves


def _bits(values: F64, wide: str) -> U32:
    """Returns numbers as the bits of f32, f16 or bf16.

    A number of 8 bits times a power of two is an f32 exactly, or too large for one.
    """
    single = values.astype(np.float32)
    if wide == "f32":
        return single.view(np.uint32)
    if wide == "bf16":
        return floats.round_to_bf16(single).astype(np.uint32)
    return single.astype(np.float16).view(np.uint16).astype(np.uint32)


def _in_place(old: U32, part: U32, shift: int, width: int) -> U32:
    """Returns `old` with `width` bits from `shift` on replaced."""
    mask = np.uint32((1 << width) - 1 << shift)
    return old & ~mask | part << np.uint32(shift) & mask
