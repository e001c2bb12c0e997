# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions between f32 and the 8-bit floats `fp8` and `bf8`, of which each chip has its own.

Rounding is to nearest, ties to even. What is too large becomes an infinity where the format has
one, else NaN. (MODE.fp16_ovfl would saturate it; a kernel that sets it is refused.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

from .emulation_errors import UnknownInstructionError
from .encodings import encoded_source, encoded_sources
from .instruction_text import Instruction
from .mnemonics import base_name
from .operands import ResultForm, vector_destination, vector_registers
from .select_bits import merge_half, select
from .small_floats import SmallFloat, fp8_formats
from .step import BuildContext, Step
from .wave_state import WaveGroup

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
U32 = npt.NDArray[np.uint32]


def round_to_small(values: F32 | F64, form: SmallFloat) -> U32:
    """Returns the codes of `form` nearest to `values`.

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
    codes = np.where((codes > largest) | np.isinf(values), beyond, codes)
    codes = np.where(np.isnan(values), nan, codes)
    sign = np.signbit(values) * top
    if form.specials == "fnuz":
        # Minus zero does not exist: its code is the NaN's.
        sign = np.where((codes == 0) | (codes == top), 0, sign)
    return (codes | sign).astype(np.uint32)


def _to_float(instruction: Instruction, form: SmallFloat, pair: bool) -> Step:
    """Returns the step of v_cvt_f32_fp8, of one byte, and v_cvt_pk_f32_fp8, of two.

    SDWA picks the byte or the bytes.
    """
    table = form.values().astype(np.float32)
    source = encoded_source(instruction, instruction.operands[1], 0, "b32")
    result = ResultForm("b64" if pair else "f32")
    if set(instruction.modifiers) - {"src0_sel"}:
        raise UnknownInstructionError(instruction, "no model of its modifiers")
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


def _from_floats(instruction: Instruction, form: SmallFloat) -> Step:
    """Returns the step of v_cvt_pk_fp8_f32, which writes two codes to half a register.

    `op_sel` names the half.
    """
    if set(instruction.modifiers) - {"op_sel"}:
        raise UnknownInstructionError(instruction, "no model of its modifiers")
    selects = instruction.integers("op_sel", (0, 0, 0))
    if len(selects) != 3 or any(selects[:2]):
        raise UnknownInstructionError(instruction, "no model of this op_sel")
    plain = Instruction(
        instruction.mnemonic, instruction.operands, {}, instruction.line, instruction.text
    )
    first, second = encoded_sources(plain, "f32", 1, 3)
    register = vector_registers(instruction.operands[0], 1)

    def step(group: WaveGroup) -> None:
        low, high = (round_to_small(source(group), form) for source in (first, second))
        index = group.machine.vector_index(register)
        codes = low | high << np.uint32(8)
        group.set_v(index, merge_half(group.v(index), codes, selects[2]))

    return step


_CONVERSIONS: Mapping[str, tuple[str, Callable[[Instruction, SmallFloat], Step]]] = {
    "v_cvt_f32_fp8": ("fp8", partial(_to_float, pair=False)),
    "v_cvt_f32_bf8": ("bf8", partial(_to_float, pair=False)),
    "v_cvt_pk_f32_fp8": ("fp8", partial(_to_float, pair=True)),
    "v_cvt_pk_f32_bf8": ("bf8", partial(_to_float, pair=True)),
    "v_cvt_pk_fp8_f32": ("fp8", _from_floats),
    "v_cvt_pk_bf8_f32": ("bf8", _from_floats),
}


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of a conversion from or to an 8-bit float, or None if it is none."""
    entry = _CONVERSIONS.get(base_name(instruction.mnemonic))
    if entry is None:
        return None
    if context.kernel.directives.get("fp16_overflow", 0):
        raise UnknownInstructionError(instruction, "no model of fp16_overflow")
    name, make = entry
    return make(instruction, fp8_formats(context.arch)[name])
