# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of vector instructions in which every lane computes for itself.

What most of these instructions compute is a row of `lane_ops.LANE_OPS`, which `_lane_op` makes a
step of. The other functions here make the steps of instructions that read or write a lane mask:
compares, selects, carries and divisions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from . import floats
from .emulation_errors import UnknownInstructionError
from .encodings import encoded_destination, encoded_source, encoded_sources, result_form
from .instruction_text import EXEC, VCC, AssemblyError, Instruction, Operand, Register
from .lane_ops import (
    LANE_OPS,
    LaneOp,
    difference_and_borrow,
    exponent_field,
    multiply_add,
    sum_and_carry,
)
from .mnemonics import base_name
from .operands import (
    DTYPES,
    Array,
    bits_of,
    lane_mask_source,
    vector_destination,
    vector_source,
)
from .rdna_lane_ops import RDNA_LANE_OPS, legacy_fma
from .select_bits import bits_view, select
from .step import BuildContext, Step
from .wave_state import LaneMask, WaveGroup

T = TypeVar("T")

ALL_LANE_OPS: Mapping[str, LaneOp] = {**LANE_OPS, **RDNA_LANE_OPS}
"""What instructions compute of which each lane is on its own, by the names that all chips share."""


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of an instruction whose lanes compute for themselves; None for others."""
    name = base_name(instruction.mnemonic)
    if name in ALL_LANE_OPS:
        return _lane_op(instruction, ALL_LANE_OPS[name])
    if name in COMPARE_MNEMONICS:
        return _compare(instruction, name)
    special = _SPECIAL.get(name)
    return special(instruction) if special else None


def _lane_op(instruction: Instruction, op: LaneOp) -> Step:
    """Returns the step of an instruction that has a row in `LANE_OPS`."""
    sources = sources_of(instruction, op, encoded_source)
    function = op.function
    if op.result[0] != "f" and result_form(instruction, op.result).clamp:
        if not op.saturates:
            raise UnknownInstructionError(instruction, "clamp on an integer result")
        function = saturating(op)
    destination = encoded_destination(instruction, op.result, len(sources), op.keeps_high)

    def step(group: WaveGroup) -> None:
        values = [source(group) for source in sources]
        result = function(*values, group.mode.ieee) if op.ieee else function(*values)
        if group.mode.fp16_overflow:
            result = _without_overflow(op, result, values)
        destination(group, result)

    return step


def _without_overflow(op: LaneOp, result: Array, sources: list[Array]) -> Array:
    """Returns a result in which MODE.FP16_OVFL has replaced infinities of f16."""
    if op.result == "f16":
        floating = [source for source in sources if source.dtype.kind == "f"]
        return floats.within_f16(result, *floating)
    if op is LANE_OPS["v_cvt_pk_f16_f32"]:
        pairs = np.ascontiguousarray(result).view(np.float16).reshape(*result.shape, 2)
        return np.ascontiguousarray(
            floats.within_f16(pairs, np.stack(np.broadcast_arrays(*sources), axis=-1))
        ).view(np.uint32)[..., 0]
    return result


def sources_of(
    instruction: Instruction, op: LaneOp, read: Callable[[Instruction, Operand, int, str], T]
) -> list[T]:
    """Returns what `read` makes of each source of an instruction.

    `read` gets the instruction, the operand, its number and its type.

    Raises:
        AssemblyError: the instruction has other operands than its row says.
    """
    count = len(op.sources)
    if len(instruction.operands) != count + 1:
        raise AssemblyError(f"{len(instruction.operands)} operands where {count + 1} are expected")
    operands = zip(instruction.operands[1:], op.sources, strict=True)
    return [read(instruction, operand, i, kind) for i, (operand, kind) in enumerate(operands)]


def saturating(op: LaneOp) -> Callable[..., Array]:
    """Returns the function of an integer row that saturates its exact result to the result's type.

    Worked example: v_add_u16 with `clamp` adds 0xFFFF and 2 to 0x10001 in 64 bits, and returns
    0xFFFF, where it returns 1 without `clamp`.
    """
    dtype: Any = DTYPES[op.result]
    limits = np.iinfo(dtype)

    def compute(*values: Array) -> Array:
        exact = op.function(*(value.astype(np.int64) for value in values))
        return np.clip(exact, limits.min, limits.max).astype(dtype)

    return compute


def _accumulate(
    instruction: Instruction, kind: str, function: Callable[..., Array] = floats.fma
) -> Step:
    """Returns the step of v_fmac, whose destination is the addend of its multiply-add too."""
    left, right = encoded_sources(instruction, kind, 1, 3)
    # Bit 2 of op_sel, which is that of the destination, names the half of the addend too.
    high = instruction.integers("op_sel", (0, 0, 0))[2:3]
    if high and high[0] and bits_of(kind) == 16:
        whole = instruction.operands[0].register
        addend = vector_source(Operand(replace(whole, half="h")), kind)
    else:
        addend = vector_source(instruction.operands[0], kind)
    destination = encoded_destination(instruction, kind, 2)

    def step(group: WaveGroup) -> None:
        sources = left(group), right(group), addend(group)
        result = function(*sources)
        if kind == "f16" and group.mode.fp16_overflow:
            result = floats.within_f16(result, *sources)
        destination(group, result)

    return step


# Compares.


def _never(a: Array, b: Array) -> Array:
    return np.zeros(np.broadcast_shapes(a.shape, b.shape), bool)


def _always(a: Array, b: Array) -> Array:
    return np.ones(np.broadcast_shapes(a.shape, b.shape), bool)


_RELATIONS: Mapping[str, Callable[..., Any]] = {
    "f": _never,
    "lt": np.less,
    "eq": np.equal,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_INTEGER_RELATIONS: Mapping[str, Callable[..., Any]] = {
    **_RELATIONS,
    "ne": np.not_equal,
    "t": _always,
}
FLOAT_RELATIONS: Mapping[str, Callable[..., Any]] = {
    **_RELATIONS,
    "lg": lambda a, b: (a < b) | (a > b),
    "o": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "u": lambda a, b: np.isnan(a) | np.isnan(b),
    "nge": lambda a, b: ~(a >= b),
    "nlg": lambda a, b: ~((a < b) | (a > b)),
    "ngt": lambda a, b: ~(a > b),
    "nle": lambda a, b: ~(a <= b),
    "neq": np.not_equal,
    "nlt": lambda a, b: ~(a < b),
    "tru": _always,
}
"""What compares of floats ask, by their names."""
_FLOATS = ("f16", "f32", "f64")
_INTEGERS = ("i16", "u16", "i32", "u32", "i64", "u64")

COMPARE_MNEMONICS = frozenset(
    f"v_{form}_{relation}_{kind}"
    for form in ("cmp", "cmpx")
    for relations, kinds in (
        ((*FLOAT_RELATIONS, "class"), _FLOATS),
        (_INTEGER_RELATIONS, _INTEGERS),
    )
    for relation in relations
    for kind in kinds
)
"""Vector compares, by mnemonic without its encoding."""


def _compare(instruction: Instruction, name: str) -> Step:
    """Returns the step of v_cmp_<relation>_<type>, which writes a lane mask to a scalar pair.

    v_cmpx writes the mask to EXEC as well, and since RDNA to nothing else.
    """
    _, form, relation, kind = name.split("_")
    writes_exec = form == "cmpx"
    if writes_exec and instruction.chip.is_rdna:
        exec_ = Operand(replace(EXEC, count=instruction.mask_words))
        instruction = replace(instruction, operands=(exec_, *instruction.operands))
    if relation == "class":
        return _compare_class(instruction, kind, writes_exec)
    function = (FLOAT_RELATIONS if kind in _FLOATS else _INTEGER_RELATIONS)[relation]
    target = instruction.operands[0].scalars(instruction.mask_words)
    left, right = encoded_sources(instruction, kind, 1, 3)

    def step(group: WaveGroup) -> None:
        a, b = left(group), right(group)
        if kind == "f16":
            a, b = floats.widen_f16(a), floats.widen_f16(b)
        with np.errstate(invalid="ignore"):
            _write_mask(group, target, function(a, b), writes_exec)

    return step


def _write_mask(group: WaveGroup, target: Register, mask: LaneMask, writes_exec: bool) -> None:
    """Writes a mask, which broadcasts to [n, 64], to a scalar pair and perhaps to EXEC."""
    lanes = np.broadcast_to(mask, (group.count, group.lanes))
    group.set_lane_mask(target.index, lanes)
    if writes_exec and target.index != EXEC.index:
        group.set_lane_mask(EXEC.index, lanes)


def _compare_class(instruction: Instruction, kind: str, writes_exec: bool) -> Step:
    """Returns the step of v_cmp_class, which asks whether a number is of one of some classes.

    The bits of the second source say which classes these are: bit 3 is set for normal negative
    numbers, for example (`_class_number`).
    """
    target = instruction.operands[0].scalars(instruction.mask_words)
    # The class is that of the number itself, whatever the mode says about denormals.
    value = encoded_source(instruction, instruction.operands[1], 0, kind, flush=False)
    # Since RDNA the classes that are asked for in f16 are 16 bits, which may be half a register.
    width = "u16" if kind == "f16" and instruction.chip.is_rdna else "u32"
    wanted = encoded_source(instruction, instruction.operands[2], 1, width)

    def step(group: WaveGroup) -> None:
        number = _class_number(value(group))
        bits = wanted(group).astype(np.uint32, copy=False)
        _write_mask(group, target, bits >> number & np.uint32(1) != 0, writes_exec)

    return step


def _class_number(a: Array) -> Array:
    """Returns the class of each number, as v_cmp_class counts the classes.

    0 is a signaling NaN and 1 a quiet one. From there on the classes ascend with the numbers: 2 is
    -infinity, 3 a normal negative number, 4 a subnormal one, 5 is -0, 6 is +0, 7 a subnormal
    positive number, 8 a normal one, and 9 is +infinity.
    """
    bits, mantissa = bits_view(a), int(np.finfo(a.dtype).nmant)
    quiet = (bits >> bits.dtype.type(mantissa - 1) & bits.dtype.type(1)).astype(np.uint32)
    tiny = exponent_field(a) == 0
    # The distance from zero is 0 to 3; positive numbers count up from 6, negative ones down from 5.
    size = np.where(tiny, (a != 0).astype(np.uint32), np.where(np.isinf(a), 3, 2)).astype(np.uint32)
    return np.where(
        np.isnan(a), quiet, np.where(np.signbit(a), np.uint32(5) - size, np.uint32(6) + size)
    )


# Selects and carries.


def _select(instruction: Instruction, kind: str) -> Step:
    """Returns the step of v_cndmask_b32, which takes the second source where the mask is set."""
    destination = encoded_destination(instruction, kind, 3)
    no, yes = encoded_sources(instruction, kind, 1, 3)
    mask = lane_mask_source(instruction.operands[3], instruction.lanes)

    def step(group: WaveGroup) -> None:
        destination(group, select(mask(group), yes(group), no(group)))

    return step


def _subtract_reversed(a: Array, b: Array) -> tuple[Array, Array]:
    """Returns the u32 difference b - a and its borrow."""
    return difference_and_borrow(b, a)


def _carrying(
    instruction: Instruction,
    first: Callable[[Array, Array], tuple[Array, Array]],
) -> Step:
    """Returns the step of v_add_co_u32 and its kind, which write a sum and its carry.

    The carry out is a lane mask. v_addc_co_u32 and its kind take another mask as the carry in,
    which is added to the sum or subtracted from the difference. Either of these two operations may
    carry, but never both.
    """
    second = sum_and_carry if first is sum_and_carry else difference_and_borrow
    if result_form(instruction, "u32").clamp:
        raise UnknownInstructionError(instruction, "clamp on a sum with carry")
    carry_out = instruction.operands[1].scalars(instruction.mask_words)
    left, right = encoded_sources(instruction, "u32", 2, 4)
    takes_carry = len(instruction.operands) > 4
    carry_in = lane_mask_source(instruction.operands[4], instruction.lanes) if takes_carry else None
    destination = encoded_destination(instruction, "u32", 2)

    def step(group: WaveGroup) -> None:
        with np.errstate(over="ignore"):
            total, carry = first(left(group), right(group))
            if carry_in is not None:
                total, again = second(total, carry_in(group).astype(np.uint32))
                carry = carry | again
        destination(group, total)
        _write_mask(group, carry_out, carry, writes_exec=False)

    return step


def _mad_64(instruction: Instruction, narrow: str, wide: str) -> Step:
    """Returns the step of v_mad_u64_u32 and v_mad_i64_i32: a product plus a 64-bit addend.

    Bit 64 of the exact sum, to which both terms are extended, goes to a lane mask. For unsigned
    numbers it is the carry out of bit 63. For signed ones both signs, repeated in bit 64, are added
    to that carry. Worked example with 4 bits in place of 64: -8 + -1 is 1000 + 1111, which carries
    out of bit 3. With the signs, bit 4 is 1 ^ 1 ^ 1 = 1: the sum is 10111, which is -9.
    """
    dtype: Any = DTYPES[wide]
    form = result_form(instruction, wide)
    if form.clamp:
        raise UnknownInstructionError(instruction, "clamp on a 64-bit sum")
    destination = vector_destination(instruction.operands[0], form)
    carry_out = instruction.operands[1].scalars(instruction.mask_words)
    a, b = (vector_source(operand, narrow) for operand in instruction.operands[2:4])
    c = vector_source(instruction.operands[4], wide)

    def step(group: WaveGroup) -> None:
        addend = c(group)
        with np.errstate(over="ignore"):
            product = a(group).astype(dtype) * b(group).astype(dtype)
            total = product + addend
        carry = total.view(np.uint64) < np.broadcast_to(addend, total.shape).view(np.uint64)
        if narrow == "i32":
            carry = carry ^ (product < 0) ^ (addend < 0)
        destination(group, total)
        _write_mask(group, carry_out, carry, writes_exec=False)

    return step


# Divisions. Compilers compute a quotient n/d by Newton's method on scaled operands:
#   d' = div_scale(d, d, n), n' = div_scale(n, d, n), q = n'/d' by rcp and fma,
#   div_fixup(div_fmas(...), d, n).
# Worked example in f32: the exponents of n = 2^60 and d = 2^-60 are so far apart that d is scaled,
# by 2^64. The quotient of the scaled operands is 2^56, which div_fmas scales back to 2^120.


def _div_scale(instruction: Instruction, kind: str) -> Step:
    """Returns the step of v_div_scale, which scales an operand of a division out of denormals.

    The sources are the operand to scale, the denominator and the numerator. The mask that is
    written tells v_div_fmas to scale the quotient back.
    """
    destination = vector_destination(instruction.operands[0], result_form(instruction, kind))
    _, flag, *operands = instruction.operands
    mask = flag.scalars(instruction.mask_words)
    s0, s1, s2 = operands
    sources = [vector_source(operand, kind) for operand in (s0, s1, s2)]

    def step(group: WaveGroup) -> None:
        with np.errstate(all="ignore"):
            operands = np.broadcast_arrays(*(source(group) for source in sources))
            result, flags = _scaled_operand(*operands)
        destination(group, result)
        _write_mask(group, mask, flags, writes_exec=False)

    return step


def _scaled_operand(s0: Array, s1: Array, s2: Array) -> tuple[Array, Array]:
    """Returns the scaled `s0`, and whether v_div_fmas is to scale; by the first case that holds.

    AMD's pseudocode cannot be right in two places. It looks for f32 reciprocals that are denormal
    in f64, where they never are. And where both the reciprocal and the quotient are denormal, it
    scales the denominator, which is above 2^126 then, up and out of range instead of down.
    """
    dtype = s0.dtype.type
    far, steps, tiny_numerator = (96, 64, 23) if dtype is np.float32 else (768, 128, 53)

    def denormal(values: Array) -> Array:
        return (values != 0) & (np.abs(values) < np.finfo(dtype).smallest_normal)

    up, down = s0 * dtype(2.0**steps), s0 * dtype(2.0**-steps)
    tiny_reciprocal, tiny_quotient = denormal(dtype(1) / s1), denormal(s2 / s1)
    high = exponent_field(s2)
    cases = [
        ((s2 == 0) | (s1 == 0), np.full_like(s0, np.nan), False),
        (high - exponent_field(s1) >= far, np.where(s0 == s1, up, s0), True),
        (denormal(s1), up, False),
        (tiny_reciprocal & tiny_quotient, np.where(s0 == s1, down, s0), True),
        (tiny_reciprocal, down, False),
        (tiny_quotient, np.where(s0 == s2, up, s0), True),
        (high <= tiny_numerator, up, False),
    ]
    conditions, values, flags = (list(each) for each in zip(*cases, strict=True))
    return np.select(conditions, values, s0).astype(dtype), np.select(conditions, flags, False)


def _div_fmas(instruction: Instruction, kind: str) -> Step:
    """Returns the step of v_div_fmas: a multiply-add whose result is scaled where VCC is set.

    The addend is the quotient so far, and its size tells the direction: v_div_scale has scaled
    large quotients down and small ones up. AMD's pseudocode always scales up, and by half as much,
    with which no quotient comes out right. The sum is scaled before it is rounded, because
    subnormal quotients would be rounded twice otherwise.
    """
    power = 64 if kind == "f32" else 128
    middle = np.finfo(DTYPES[kind]).maxexp - 1  # type: ignore[type-var]
    destination = vector_destination(instruction.operands[0], result_form(instruction, kind))
    _, *factors, addend = instruction.operands
    first, second = factors
    sources = [vector_source(operand, kind) for operand in (first, second, addend)]

    def step(group: WaveGroup) -> None:
        a, b, c = (source(group) for source in sources)
        mask = group.lane_mask(VCC.index)
        if not bool(mask.any()):
            destination(group, floats.fma(a, b, c))
            return
        direction = np.where(exponent_field(c) > middle, power, -power)
        destination(group, floats.scaled_fma(a, b, c, np.where(mask, direction, 0)))

    return step


def _bitop3(instruction: Instruction, kind: str) -> Step:
    """Returns the step of v_bitop3 (CDNA4), which computes any function of three bits.

    Bit 4 a + 2 b + c of the modifier `bitop3` is the result for the bits a, b and c. Worked
    example: 0b10000000 is the conjunction of all three, since only bit 7 = 4 + 2 + 1 is set.
    """
    table = instruction.offset(0, 0xFF, "bitop3")
    # The complement of a table with few zeros has few ones.
    invert = table.bit_count() > 4
    rows = [row for row in range(8) if (table >> row & 1) != invert]
    count = 3 if "bitop2" in instruction.mnemonic else 4
    if len(instruction.operands) != count:
        raise AssemblyError(f"{len(instruction.operands)} operands where {count} are expected")
    sources = encoded_sources(instruction, kind, 1, count)
    if count == 3:
        # Of two operands c is 0.
        sources.append(lambda group: np.zeros((1, 1), DTYPES[kind]))
    destination = encoded_destination(instruction, kind, 3, keeps_high=bits_of(kind) == 16)

    def step(group: WaveGroup) -> None:
        values = [source(group) for source in sources]
        inverses = [~value for value in values]
        result: Array = np.zeros((1, 1), DTYPES[kind])
        for row in rows:
            a, b, c = (
                (values if row >> 2 - source & 1 else inverses)[source] for source in range(3)
            )
            result = result | a & b & c
        destination(group, ~result if invert else result)

    return step


_SPECIAL: Mapping[str, Callable[[Instruction], Step]] = {
    "v_fmac_f32": partial(_accumulate, kind="f32"),
    "v_fmac_f64": partial(_accumulate, kind="f64"),
    "v_fmac_f16": partial(_accumulate, kind="f16"),
    "v_mac_f32": partial(_accumulate, kind="f32", function=multiply_add),
    "v_fmac_dx9_zero_f32": partial(_accumulate, kind="f32", function=legacy_fma),
    "v_cndmask_b32": partial(_select, kind="b32"),
    "v_cndmask_b16": partial(_select, kind="b16"),
    "v_add_co_u32": partial(_carrying, first=sum_and_carry),
    "v_sub_co_u32": partial(_carrying, first=difference_and_borrow),
    "v_subrev_co_u32": partial(_carrying, first=_subtract_reversed),
    "v_addc_co_u32": partial(_carrying, first=sum_and_carry),
    "v_subb_co_u32": partial(_carrying, first=difference_and_borrow),
    "v_subbrev_co_u32": partial(_carrying, first=_subtract_reversed),
    "v_mad_u64_u32": partial(_mad_64, narrow="u32", wide="u64"),
    "v_mad_i64_i32": partial(_mad_64, narrow="i32", wide="i64"),
    "v_div_scale_f32": partial(_div_scale, kind="f32"),
    "v_div_scale_f64": partial(_div_scale, kind="f64"),
    "v_div_fmas_f32": partial(_div_fmas, kind="f32"),
    "v_div_fmas_f64": partial(_div_fmas, kind="f64"),
    "v_bitop3_b32": partial(_bitop3, kind="b32"),
    "v_bitop2_b32": partial(_bitop3, kind="b32"),
    "v_bitop3_b16": partial(_bitop3, kind="b16"),
    "v_nop": lambda instruction: lambda group: None,
}
