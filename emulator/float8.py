# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions between f32 and the 8-bit floats `fp8` and `bf8`, of which each chip has its own.

Rounding is to nearest, ties to even. What is too large becomes an infinity where the format has
one, else NaN. With MODE.FP16_OVFL it becomes the largest number, and so do infinities (CDNA3 and
CDNA4 ISA, "FP16_OVFL rule" of the conversions).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from .emulation_errors import UnknownInstructionError
from .encodings import encoded_source, encoded_sources
from .instruction_text import Instruction, Operand
from .mnemonics import base_name
from .operands import ResultForm, Source, vector_destination, vector_registers
from .select_bits import select
from .small_floats import SmallFloat, fp8_formats
from .step import BuildContext, Step
from .wave_state import WaveGroup

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
U32 = npt.NDArray[np.uint32]


def round_to_small(values: F32 | F64, form: SmallFloat, saturates: bool = False) -> U32:
    """Returns the codes of `form` nearest to `values`.

    With `saturates` what is too large, or infinite, becomes the largest number.

    With the exponent e of a value, or the smallest one that the format has, codes count units of
    2^(e - mantissa bits); a count that rounds up to the next power of two carries into the exponent
    by itself. Worked example, E4M3 with bias 7: 20 = 1.25 * 2^4 is 10 units of 2, so that its code
    is (4 + 7) * 8 + (10 - 8) = 0x5a.
    """
    mantissa, bias = form.mantissa_bits, form.bias
    size = np.abs(values.astype(np.float64))
    special = ~np.isfinite(size)
    size = select(special, np.zeros_like(size), size)
    exponent = np.where(size == 0, 1 - bias, np.maximum(np.frexp(size)[1] - 1, 1 - bias))
    units = np.rint(np.ldexp(size, mantissa - exponent)).astype(np.int64)
    codes = (exponent.astype(np.int64) + bias << mantissa) + units - (1 << mantissa)
    top = 1 << form.bits - 1
    largest, beyond, nan = {
        "nan": (top - 2, top - 1, top - 1),
        "ieee": (top - (1 << mantissa) - 1, top - (1 << mantissa), top - 1),
        "fnuz": (top - 1, top, top),
        "none": (top - 1, top - 1, top - 1),
    }[form.specials]
    beyond = largest if saturates else beyond
    codes = np.where((codes > largest) | np.isinf(values), beyond, codes)
    codes = np.where(np.isnan(values), nan, codes)
    sign = np.signbit(values) * top
    if form.specials == "fnuz":
        # Minus zero does not exist: its code is the NaN's.
        sign = np.where((codes == 0) | (codes == top), 0, sign)
    return (codes | sign).astype(np.uint32)


def _to_float(instruction: Instruction, form: SmallFloat, pair: bool) -> Step:
    """Returns the step of v_cvt_f32_fp8, of one byte, and v_cvt_pk_f32_fp8, of two."""
    table = form.values().astype(np.float32)
    source = _bytes_source(instruction, pair)
    result = ResultForm("b64" if pair else "f32")
    destination = vector_destination(instruction.operands[0], result)

    def step(group: WaveGroup) -> None:
        words = source(group)
        low = table.take(words & np.uint32(0xFF))
        if not pair:
            destination(group, low)
            return
        high = table.take(words >> np.uint32(8) & np.uint32(0xFF))
        both = np.stack([low, high], axis=-1)
        destination(group, both.view(np.uint64)[..., 0])

    return step


def _bytes_source(instruction: Instruction, pair: bool) -> Source:
    """Reads words whose lowest bytes are those to convert.

    SDWA picks them, and since RDNA4 `byte_sel` for one byte, and for two the half of a register
    that the text or `op_sel` names.
    """
    (operand,) = instruction.operands[1:]
    if not instruction.chip.is_rdna:
        if set(instruction.modifiers) - {"src0_sel"}:
            raise UnknownInstructionError(instruction, "no model of its modifiers")
        return encoded_source(instruction, operand, 0, "b32")
    if pair:
        halves = encoded_source(instruction, operand, 0, "b16")
        return lambda group: halves(group).astype(np.uint32)
    byte = instruction.offset(0, 3, "byte_sel")
    words = encoded_source(instruction, operand, 0, "b32")
    return lambda group: words(group) >> np.uint32(8 * byte)


def _stochastic(instruction: Instruction, form: SmallFloat) -> Step:
    """Returns the step of v_cvt_sr_fp8_f32, which adds random bits to what rounding drops.

    They are bits 31:12 of the second source, and are added to the mantissa, which wraps.
    `byte_sel` names the byte of the result; the others stay.
    """
    byte = instruction.offset(0, 3, "byte_sel")
    bits, random = encoded_sources(instruction, "b32", 1, 3)
    register = vector_registers(instruction.operands[0], 1)
    shift, mantissa = np.uint32(8 * byte), np.uint32((1 << 23) - 1)
    kept = np.uint32(0xFFFFFFFF & ~(0xFF << 8 * byte))

    def step(group: WaveGroup) -> None:
        words = bits(group)
        moved = words & ~mantissa | words + (random(group) >> np.uint32(12)) & mantissa
        code = round_to_small(np.ascontiguousarray(moved).view(np.float32), form)
        index = group.machine.vector_index(register)
        group.set_v(index, group.v(index) & kept | code << shift)

    return step


def _from_floats(instruction: Instruction, form: SmallFloat) -> Step:
    """Returns the step of v_cvt_pk_fp8_f32, which writes two codes to half a register.

    `op_sel` names the half.
    """
    if set(instruction.modifiers) - {"op_sel"}:
        raise UnknownInstructionError(instruction, "no model of its modifiers")
    selects = instruction.integers("op_sel", (0, 0, 0))
    if len(selects) not in (3, 4) or any(selects[:-1]):
        raise UnknownInstructionError(instruction, "no model of this op_sel")
    first, second = encoded_sources(replace(instruction, modifiers={}), "f32", 1, 3)
    target = instruction.operands[0].register
    shift = 16 if selects[-1] or target.half == "h" else 0
    register = vector_registers(Operand(replace(target, half="")), 1)

    def step(group: WaveGroup) -> None:
        low, high = (
            round_to_small(source(group), form, group.mode.fp16_overflow)
            for source in (first, second)
        )
        index = group.machine.vector_index(register)
        codes = low | high << np.uint32(8)
        group.set_half(index, codes, shift)

    return step


_CONVERSIONS: Mapping[str, tuple[str, Callable[[Instruction, SmallFloat], Step]]] = {
    "v_cvt_f32_fp8": ("fp8", partial(_to_float, pair=False)),
    "v_cvt_f32_bf8": ("bf8", partial(_to_float, pair=False)),
    "v_cvt_pk_f32_fp8": ("fp8", partial(_to_float, pair=True)),
    "v_cvt_pk_f32_bf8": ("bf8", partial(_to_float, pair=True)),
    "v_cvt_sr_fp8_f32": ("fp8", _stochastic),
    "v_cvt_sr_bf8_f32": ("bf8", _stochastic),
    "v_cvt_pk_fp8_f32": ("fp8", _from_floats),
    "v_cvt_pk_bf8_f32": ("bf8", _from_floats),
}


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of a conversion from or to an 8-bit float, or None if it is none."""
    entry = _CONVERSIONS.get(base_name(instruction.mnemonic))
    if entry is None:
        return None
    name, make = entry
    return make(instruction, fp8_formats(context.arch)[name])
