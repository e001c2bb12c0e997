# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed arithmetic (VOP3P): two results per lane, dot products, and mixed f16 and f32 sums.

`op_sel` and `op_sel_hi` say, per source, which half feeds the low and which the high result; halves
are 16 bits of a register, or one register of a pair (`v_pk_*_f32`). By default low feeds low and
high feeds high; constants have rules of their own (`constant_half`). `neg_lo` and `neg_hi` change
the signs of floats on their way to either result.
Semantics: CDNA3 ISA 6.4 and chapter 12.11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from . import floats
from .chips import CHIPS, Isa
from .emulation_errors import UnknownInstructionError
from .encodings import (
    encoded_destination,
    encoded_source,
    encoded_sources,
    half_destination,
    result_form,
)
from .instruction_text import AssemblyError, Instruction, Literal, Operand, Register
from .lane_ops import LANE_OPS, Function, LaneOp, extreme, extreme_or_nan
from .mnemonics import base_name
from .operands import (
    DTYPES,
    Array,
    Destination,
    ResultForm,
    Source,
    bits_of,
    flushed_word,
    literal_bits,
    register_word,
    typed,
    vector_destination,
    vector_source,
)
from .small_floats import fp8_formats
from .step import BuildContext, Step
from .vector_alu import saturating, sources_of
from .wave_state import WaveGroup

# Two results by one lane operation.

_PACKED_LANE_OPS = (
    *("add_f32", "mul_f32", "fma_f32"),
    *("add_f16", "mul_f16", "fma_f16", "min_f16", "max_f16"),
    *("add_u16", "sub_u16", "mul_lo_u16", "mad_u16", "min_u16", "max_u16"),
    *("add_i16", "sub_i16", "mad_i16", "min_i16", "max_i16"),
    *("lshlrev_b16", "lshrrev_b16", "ashrrev_i16"),
)


def _bf16(count: int, function: Function) -> LaneOp:
    """Returns an operation on the bits of `count` bf16, of which `function` gets the values as f64.

    Its result is rounded once. Denormals are kept, which is assumed: no text says whose denormal
    mode bf16 has.
    """

    def compute(*bits: Array) -> Array:
        values = (floats.widen_bf16(each).astype(np.float64) for each in bits)
        return floats.round_f64_to_bf16(function(*values))

    return LaneOp("b16", ("b16",) * count, compute)


PACKED_OPS: Mapping[str, LaneOp] = {
    **{f"v_pk_{name}": LANE_OPS[f"v_{name}"] for name in _PACKED_LANE_OPS},
    "v_pk_minimum3_f16": LaneOp("f16", ("f16",) * 3, extreme_or_nan(larger=False)),
    "v_pk_maximum3_f16": LaneOp("f16", ("f16",) * 3, extreme_or_nan(larger=True)),
    "v_pk_minimum_f16": LaneOp("f16", ("f16",) * 2, extreme_or_nan(larger=False)),
    "v_pk_maximum_f16": LaneOp("f16", ("f16",) * 2, extreme_or_nan(larger=True)),
    **{
        f"v_pk_{name}3_{suffix}": LANE_OPS[f"v_{name}3_{kind}"]
        for name in ("min", "max")
        for suffix, kind in (("num_f16", "f16"), ("i16", "i16"), ("u16", "u16"))
    },
    "v_pk_add_bf16": _bf16(2, floats.sum_to_odd),
    "v_pk_mul_bf16": _bf16(2, np.multiply),
    "v_pk_fma_bf16": _bf16(3, lambda a, b, c: floats.sum_to_odd(a * b, c)),
    "v_pk_min_num_bf16": _bf16(2, lambda a, b: extreme(a, b, False, False)),
    "v_pk_max_num_bf16": _bf16(2, lambda a, b: extreme(a, b, False, True)),
}
"""Packed instructions, by what each half computes."""


def _halves(instruction: Instruction, operand: Operand, number: int, kind: str) -> list[Source]:
    """Reads source `number` for the low and for the high result."""
    if operand.negate or operand.absolute:
        raise UnknownInstructionError(instruction, "sign modifier on a packed operand")
    sources: list[Source] = []
    for part, default in (("lo", 0), ("hi", 1)):
        selector = "op_sel" if part == "lo" else "op_sel_hi"
        half = _modifier(instruction, selector, number, default)
        negate = bool(_modifier(instruction, f"neg_{part}", number, 0))
        if negate and kind[0] not in "fb":
            raise UnknownInstructionError(instruction, f"neg_{part} on an integer operand")
        signed, value = Operand(operand.value, negate), operand.value
        bits = _half_bits(operand, kind, half)
        if kind == "f32" and isinstance(value, Register) and value.file != "s":
            sources.append(flushed_word(value, half, signed))
        else:
            sources.append(typed(bits, signed, kind))
    return sources


def _modifier(instruction: Instruction, name: str, number: int, default: int) -> int:
    values = instruction.integers(name, ())
    return values[number] if number < len(values) else default


def _half_bits(operand: Operand, kind: str, half: int) -> Source:
    """Reads half 0 or 1 of a pair of 16-bit numbers, or of a pair of registers."""
    value = operand.value
    wide = bits_of(kind) == 32
    if isinstance(value, Literal):
        bits = constant_half(value, kind, half)
        constant = np.full((1, 1), bits, np.uint32 if wide else np.uint16)
        return lambda group: constant
    if not isinstance(value, Register) or value.count != (2 if wide else 1):
        raise AssemblyError(f"'{value}' where {2 if wide else 1} registers are expected")
    word = register_word(value, half if wide else 0)
    if wide:
        return word
    return lambda group: (word(group) >> np.uint32(16 * half)).astype(np.uint16)


INLINE_FLOATS = frozenset(
    (*(sign * size for sign in (1.0, -1.0) for size in (0.5, 1.0, 2.0, 4.0)), 0.15915494)
)
"""The floats that are no literal, as LLVM writes them for operands of 32 bits."""


def constant_half(literal: Literal, kind: str, half: int) -> int:
    """Returns half 0 or 1 of a constant where two numbers of type `kind` are read.

    f32 has one word for both halves, be it an inline constant or a literal: so do LLVM
    (`hasPKF32InstsReplicatingLower32BitsOfScalarInput`; it ignores `op_sel_hi` where it folds a
    constant) and AMD's emulator (rocjitsu, `read_lane_pair32`, with which IREE's tests pass). Of
    the others a constant is a word of 32 bits: an integer with its sign, or a float, which is of
    f16 for f16 operands and of f32 for all others, so that its high half is the one of bf16 (LLVM,
    `getInlineEncodingV216` and "Select upper 16-bits for inline constants in packed BF16"; CDNA5
    ISA 7.7.2).

    Raises:
        AssemblyError: it is not known what the hardware reads.
    """
    value = literal.value
    if kind == "b32" and half and value != 0:
        # The sources do not agree on whether v_pk_mov_b32 has one word or a number of 64 bits.
        raise AssemblyError(f"the high half of the constant {literal} is taken")
    if kind == "b16" and isinstance(value, float) and value not in (0.0, *INLINE_FLOATS):
        raise AssemblyError(f"no model of the literal {literal} of bf16, which is no word")
    if not -(1 << 31) <= value < 1 << 32:
        raise AssemblyError(f"no model of the constant {literal} of more than 32 bits")
    in_f16 = kind == "f16" and isinstance(value, float)
    word = literal_bits(value, "f16" if in_f16 else "f32")
    return word if bits_of(kind) == 32 else word >> 16 * half & 0xFFFF


def _packed_accumulation(instruction: Instruction) -> Step:
    """Returns the step of v_pk_fmac_f16, whose destination is its addend too."""
    factor = instruction.operands[1].value
    if isinstance(factor, Literal) and isinstance(factor.value, float):
        # RDNA3 repeats it in the high half, older chips do not (LLVM issue 94116).
        raise UnknownInstructionError(instruction, "no model of a float constant on it")
    operands = (*instruction.operands, instruction.operands[0])
    return _packed(replace(instruction, operands=operands), PACKED_OPS["v_pk_fma_f16"])


def _packed(instruction: Instruction, op: LaneOp) -> Step:
    halves = sources_of(instruction, op, _halves)
    low_sources = [low for low, _ in halves]
    high_sources = [high for _, high in halves]
    form = result_form(instruction, op.result)
    function = saturating(op) if form.clamp and op.result[0] != "f" else op.function
    if form.clamp and op.result[0] != "f" and not op.saturates:
        raise UnknownInstructionError(instruction, "clamp on this integer result")
    destination = _pair_destination(instruction.operands[0], form)

    def step(group: WaveGroup) -> None:
        low = [source(group) for source in low_sources]
        high = [source(group) for source in high_sources]
        mode = (group.mode.ieee,) if op.ieee else ()
        results = [function(*low, *mode), function(*high, *mode)]
        if form.kind == "f16" and group.mode.fp16_overflow:
            results = [
                floats.within_f16(result, *sources)
                for result, sources in zip(results, (low, high), strict=True)
            ]
        destination(group, *results)

    return step


def _pair_destination(
    operand: Operand, form: ResultForm
) -> Callable[[WaveGroup, Array, Array], None]:
    register = operand.register
    wide = bits_of(form.kind) == 32
    if register.file == "s" or register.count != (2 if wide else 1):
        raise AssemblyError(f"{register} cannot take a packed {form.kind} result")

    def write(group: WaveGroup, low: Array, high: Array) -> None:
        index = group.machine.vector_index(register)
        if form.kind == "f32":
            low, high = form.finish(group, low), form.finish(group, high)
            group.set_f32(index, low)
            group.set_f32(index + 1, high)
            return
        (low_word,), (high_word,) = form.words(group, low), form.words(group, high)
        if wide:
            group.set_v(index, low_word)
            group.set_v(index + 1, high_word)
        else:
            group.set_v(index, low_word | high_word << np.uint32(16))

    return write


def _packed_move(instruction: Instruction) -> Step:
    """Returns the step of v_pk_mov_b32, which moves one register of each source pair.

    `op_sel[0]` picks the register of the first pair, which goes to the low register of the result.
    """
    first, second = (
        _half_bits(operand, "b32", _modifier(instruction, "op_sel", number, 0))
        for number, operand in enumerate(instruction.operands[1:3])
    )
    destination = _pair_destination(instruction.operands[0], ResultForm("b32"))

    def step(group: WaveGroup) -> None:
        low, high = first(group), second(group)
        destination(group, low.copy(), high.copy())

    return step


# Dot products.


@dataclass(frozen=True)
class DotProduct:
    """A sum of products of the parts of two words, and an addend of type `result`.

    Attributes:
        part: the type of the parts: `f16`, `bf16`, integers of 16, 8 or 4 bits, or pairs of types
            of 8-bit floats. Integers `iu` have signs where `neg_lo` says so.
        addend_first: whether float products are added to the addend one by one; otherwise the
            addend is added to their sum. Each sum is rounded.
    """

    result: str
    part: str
    addend_first: bool = True


DOT_PRODUCTS: Mapping[str, DotProduct] = {
    "v_dot2_f32_f16": DotProduct("f32", "f16"),
    "v_dot2_f32_bf16": DotProduct("f32", "bf16", addend_first=False),
    "v_dot2_i32_i16": DotProduct("i32", "i16"),
    "v_dot2_u32_u16": DotProduct("u32", "u16"),
    "v_dot4_i32_i8": DotProduct("i32", "i8"),
    "v_dot4_u32_u8": DotProduct("u32", "u8"),
    "v_dot8_i32_i4": DotProduct("i32", "i4"),
    "v_dot8_u32_u4": DotProduct("u32", "u4"),
    "v_dot4_i32_iu8": DotProduct("i32", "iu8"),
    "v_dot8_i32_iu4": DotProduct("i32", "iu4"),
    "v_dot2_f16_f16": DotProduct("f16", "f16"),
    "v_dot2_bf16_bf16": DotProduct("b16", "bf16"),
    **{
        f"v_dot4_f32_{a}_{b}": DotProduct("f32", f"{a}_{b}")
        for a in ("fp8", "bf8")
        for b in ("fp8", "bf8")
    },
    # The destination is the addend.
    "v_dot2c_f32_f16": DotProduct("f32", "f16"),
    "v_dot2c_f32_bf16": DotProduct("f32", "bf16"),
    "v_dot2c_i32_i16": DotProduct("i32", "i16"),
    "v_dot4c_i32_i8": DotProduct("i32", "i8"),
    "v_dot8c_i32_i4": DotProduct("i32", "i4"),
}


def _integer_parts(words: Array, part: str) -> list[Array]:
    """Returns the parts of `words` from the low one on, as i64."""
    width = int(part[1:])
    mask, sign = (1 << width) - 1, 1 << width - 1
    wide = words.astype(np.int64)
    fields = [wide >> shift & mask for shift in range(0, 32, width)]
    return [(field ^ sign) - sign for field in fields] if part[0] == "i" else fields


def _float_parts(words: Array, part: str, neg_low: int, neg_high: int) -> list[Array]:
    parts: list[Array] = []
    for shift, negate in ((0, neg_low), (16, neg_high)):
        bits = (words >> np.uint32(shift)).astype(np.uint16)
        if part == "f16":
            value = floats.widen_f16(bits.view(np.float16))
        else:
            value = floats.widen_bf16(bits)
        parts.append(-value if negate else value)
    return parts


def _check_factors(instruction: Instruction, dot: DotProduct) -> None:
    """Refuses inline constants as factors of 16-bit floats.

    Whether one is repeated in the high half differs between chips (RDNA3 ISA 7.2.1). A literal has
    32 bits.
    """
    for operand in instruction.operands[1:3]:
        value = operand.value.value if isinstance(operand.value, Literal) else 0
        is_inline = value != 0 and (isinstance(value, float) or -16 <= value <= 64)
        if is_inline and dot.part in ("f16", "bf16"):
            raise UnknownInstructionError(instruction, "no model of a constant on a dot product")


def _dot(context: BuildContext, instruction: Instruction, name: str, dot: DotProduct) -> Step:
    accumulates = name.startswith(("v_dot2c", "v_dot4c", "v_dot8c"))
    halves = dot.result in ("f16", "b16")
    if not halves and ("op_sel" in instruction.modifiers or "op_sel_hi" in instruction.modifiers):
        raise UnknownInstructionError(instruction, "no model of op_sel on a dot product")
    if halves and any(instruction.integers("op_sel", ())[:2]):
        raise UnknownInstructionError(instruction, "no model of this op_sel on a dot product")
    _check_factors(instruction, dot)
    # Bits 2 and 3 of op_sel name the halves of the addend and of the result.
    whole = [replace(instruction, modifiers={}), instruction][halves]
    left, right = encoded_sources(replace(instruction, modifiers={}), "b32", 1, 3)
    addend = encoded_source(whole, instruction.operands[0 if accumulates else 3], 2, dot.result)
    destination = encoded_destination(instruction, dot.result, 3 if halves else 2)
    lows, highs = (
        [_modifier(instruction, name, i, 0) for i in range(3)] for name in ("neg_lo", "neg_hi")
    )
    if lows[2] or highs[2]:
        raise UnknownInstructionError(instruction, "no model of a negated addend")
    is_integer = dot.result[0] in "iu"
    if dot.part[:2] == "iu" and any(highs):
        raise UnknownInstructionError(instruction, "no model of neg_hi on this instruction")
    parts = [_parts_of(context, dot.part, i, lows[i], highs[i]) for i in range(2)]
    clamp = result_form(instruction, dot.result).clamp

    def integer(group: WaveGroup) -> Array:
        total = addend(group).astype(np.int64)
        for x, y in zip(parts[0](left(group)), parts[1](right(group)), strict=True):
            total = total + x * y
        if clamp:
            limits = np.iinfo(DTYPES[dot.result])  # type: ignore[arg-type]
            total = np.clip(total, limits.min, limits.max)
        return total.astype(DTYPES[dot.result])

    def real(group: WaveGroup) -> Array:
        products = [
            x * y for x, y in zip(parts[0](left(group)), parts[1](right(group)), strict=True)
        ]
        return _float_sum(dot, products, addend(group))

    compute = integer if is_integer else real

    def step(group: WaveGroup) -> None:
        with np.errstate(all="ignore"):
            destination(group, compute(group))

    return step


def _parts_of(
    context: BuildContext, part: str, number: int, low: int, high: int
) -> Callable[[Array], list[Array]]:
    """Returns what makes the parts of source `number` of a dot product of words.

    `low` and `high` are its bits of `neg_lo` and `neg_hi`.
    """
    if part in ("f16", "bf16"):
        return lambda words: _float_parts(words, part, low, high)
    if part[:2] == "iu":
        return lambda words: _integer_parts(words, ("i" if low else "u") + part[2:])
    if "8_" in part:
        table = fp8_formats(context.arch)[part.split("_")[number]].values().astype(np.float32)
        return lambda words: [
            table.take(words >> np.uint32(shift) & np.uint32(0xFF)) for shift in range(0, 32, 8)
        ]
    return lambda words: _integer_parts(words, part)


def _float_sum(dot: DotProduct, products: list[Array], addend: Array) -> Array:
    """Returns the sum of products and an addend, in the order and with the rounding of `dot`."""
    if not dot.addend_first:
        return products[0] + products[1] + addend
    if dot.result == "f32":
        total = addend
        for product in products:
            total = total + product
        return total
    if dot.result == "f16":
        # Products and sums are rounded to f16 each, which is once by way of f32.
        half = floats.widen_f16(addend)
        for product in products:
            rounded = floats.widen_f16(floats.round_to_f16(product))
            half = floats.widen_f16(floats.round_to_f16(half + rounded))
        return floats.round_to_f16(half)
    wide = floats.widen_bf16(addend)
    for product in products:
        rounded = floats.widen_bf16(floats.round_to_bf16(product))
        wide = floats.widen_bf16(floats.round_to_bf16(wide + rounded))
    return floats.round_to_bf16(wide)


# Mixed sums.


def _mixed_source(
    instruction: Instruction, operand: Operand, number: int, half_kind: str
) -> Source:
    """Reads f32, or with `op_sel_hi` the half of a register that `op_sel` names, widened.

    The half holds f16, or bf16 (`b16`).
    """
    if not _modifier(instruction, "op_sel_hi", number, 0):
        return vector_source(operand, "f32")
    half = _modifier(instruction, "op_sel", number, 0)
    if half and half_kind == "f16" and isinstance(operand.value, Literal) and operand.value.value:
        raise UnknownInstructionError(instruction, "no model of the high half of this constant")
    bits = typed(_half_bits(operand, half_kind, half), operand, half_kind)
    widen = floats.widen_f16 if half_kind == "f16" else floats.widen_bf16
    return lambda group: widen(bits(group))


def _mixed(instruction: Instruction, result: str, high: bool, half_kind: str = "f16") -> Step:
    """Returns the step of v_fma_mix, a fused multiply-add of f32 and f16 or bf16 sources.

    It is computed in f32, and perhaps rounded to the other type.
    """
    sources = [
        _mixed_source(instruction, operand, number, half_kind)
        for number, operand in enumerate(instruction.operands[1:4])
    ]
    form = result_form(instruction, result)
    if form.clamp and result == "b16":
        raise UnknownInstructionError(instruction, "clamp on a result of bf16")
    destination = _mixed_destination(instruction.operands[0], form, high)

    def step(group: WaveGroup) -> None:
        values = [source(group) for source in sources]
        total = floats.fma(*values)
        if result == "f32":
            destination(group, total)
            return
        if result == "b16":
            destination(group, floats.round_to_bf16(total))
            return
        with np.errstate(all="ignore"):
            half = floats.round_to_f16(total)
        if group.mode.fp16_overflow:
            half = floats.within_f16(half, *values)
        destination(group, half)

    return step


def _mixed_destination(operand: Operand, form: ResultForm, high: bool) -> Destination:
    if form.kind == "f32":
        return vector_destination(operand, form)
    return half_destination(operand, form, 16 * int(high))


_SPECIAL: Mapping[str, Callable[[Instruction], Step]] = {
    "v_pk_mov_b32": _packed_move,
    "v_pk_fmac_f16": _packed_accumulation,
    "v_fma_mix_f32": partial(_mixed, result="f32", high=False),
    "v_fma_mixlo_f16": partial(_mixed, result="f16", high=False),
    "v_fma_mixhi_f16": partial(_mixed, result="f16", high=True),
    "v_fma_mix_f32_bf16": partial(_mixed, result="f32", high=False, half_kind="b16"),
    "v_fma_mixlo_bf16": partial(_mixed, result="b16", high=False, half_kind="b16"),
    "v_fma_mixhi_bf16": partial(_mixed, result="b16", high=True, half_kind="b16"),
}


def _check_scalar_pairs(instruction: Instruction, op: LaneOp) -> None:
    """Checks that no high register of a scalar pair is read, as gfx1250 reads only the low one.

    LLVM takes such an operand only with `op_sel` and `op_sel_hi` of 0 ("only one SGPR will be read
    for both the low and high operations", its change 152465).
    """
    for number, (operand, kind) in enumerate(
        zip(instruction.operands[1:], op.sources, strict=False)
    ):
        value = operand.value
        if kind != "f32" or not isinstance(value, Register) or value.file != "s":
            continue
        if _modifier(instruction, "op_sel", number, 0) or _modifier(
            instruction, "op_sel_hi", number, 1
        ):
            raise UnknownInstructionError(instruction, f"the high register of {value} is taken")


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of a packed instruction, or None if it is none."""
    name = base_name(instruction.mnemonic)
    if name in PACKED_OPS:
        if CHIPS[context.arch].isa is Isa.GFX1250:
            _check_scalar_pairs(instruction, PACKED_OPS[name])
        return _packed(instruction, PACKED_OPS[name])
    if name in DOT_PRODUCTS:
        return _dot(context, instruction, name, DOT_PRODUCTS[name])
    special = _SPECIAL.get(name)
    return special(instruction) if special else None
