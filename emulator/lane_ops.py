# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What vector instructions compute in which every lane is on its own, as rows of `LANE_OPS`.

The semantics are those of "AMD Instinct MI300 CDNA3 Instruction Set Architecture" and "AMD CDNA4
ISA", chapter 12.

`v_exp`, `v_log`, `v_rcp`, `v_rsq`, `v_sqrt`, `v_sin` and `v_cos` are correctly rounded here; the
hardware's last bit may differ (the ISA promises 1 ULP, and far less for f64, where compilers refine
the result). Their f32 forms have no denormals in any mode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from . import floats
from .operands import DTYPES, Array
from .select_bits import bits_view, select

Function = Callable[..., Array]


@dataclass(frozen=True)
class LaneOp:
    """A result of type `result` from sources of types `sources`, lane by lane.

    Attributes:
        function: of one array per source; they broadcast to [n, 64].
        ieee: the function takes the wave's IEEE mode as a last argument.
        saturates: with `clamp` the integer result is computed exactly and saturates.
        keeps_high: a 16-bit result leaves the register's high half as it is. The instructions that
            are new in gfx9 keep it, and older ones clear it (LLVM,
            `GCNSubtarget::zeroesHigh16BitsOfDest`).
    """

    result: str
    sources: tuple[str, ...]
    function: Function
    ieee: bool = False
    saturates: bool = False
    keeps_high: bool = False


def rows(
    kind: str, count: int, functions: Mapping[str, Function], **more: bool
) -> dict[str, LaneOp]:
    """Returns rows of instructions `v_<name>` whose sources and result have one type."""
    return {f"v_{name}": LaneOp(kind, (kind,) * count, f, **more) for name, f in functions.items()}


# Floats. Functions take f16, f32 or f64 arrays.


def _by_f32(function: Function) -> Function:
    """Returns a function whose f16 form may be computed in f32 and rounded again.

    f32 has more than twice the bits of f16, plus two, so that sums, products, quotients and roots
    come out as if rounded once.
    """

    def compute(*sources: Array) -> Array:
        if sources[0].dtype == np.float16:
            return floats.round_to_f16(function(*(floats.widen_f16(a) for a in sources)))
        return function(*sources)

    return compute


def _by_f64(function: Function) -> Function:
    """Returns a function of one f16 or f32, correctly rounded by way of f64."""

    def compute(a: Array) -> Array:
        return function(a.astype(np.float64)).astype(a.dtype)

    return compute


def _without_denormals(function: Function) -> Function:
    """Returns a function whose f32 form takes and returns zeros for denormals in any mode."""

    def compute(a: Array) -> Array:
        if a.dtype != np.float32:
            return function(a)
        return floats.flush_denormals(function(floats.flush_denormals(a)))

    return compute


def _quiet_bit(a: Array) -> Any:
    """Returns the bit that tells a quiet NaN from a signaling one."""
    return bits_view(a).dtype.type(1 << (int(np.finfo(a.dtype).nmant) - 1))


def _signals(a: Array) -> Array:
    """Returns whether a number is a signaling NaN."""
    return np.isnan(a) & (bits_view(a) & _quiet_bit(a) == 0)


def _quieted(a: Array) -> Array:
    """Returns NaNs with their quiet bit set."""
    return (bits_view(a) | _quiet_bit(a)).view(a.dtype)


def extreme(a: Array, b: Array, ieee: bool, larger: bool) -> Array:
    """Returns the larger or smaller: a NaN loses against a number, and +0 is larger than -0.

    In IEEE mode a signaling NaN wins, and becomes quiet.
    """
    if a.dtype == np.float16:
        wide_a, wide_b = floats.widen_f16(a), floats.widen_f16(b)
        result = select(wide_a > wide_b if larger else wide_a < wide_b, a, b)
        nan = np.isnan(wide_a) | np.isnan(wide_b)
    else:
        result = np.maximum(a, b) if larger else np.minimum(a, b)
        nan = np.isnan(result)
    a_bits, b_bits = bits_view(a), bits_view(b)
    sign = a_bits.dtype.type(1 << (8 * a.itemsize - 1))
    zeros = (a_bits | b_bits) == sign
    if np.count_nonzero(zeros):
        zero = (a_bits & b_bits) if larger else (a_bits | b_bits)
        result = select(zeros, zero.view(a.dtype), result)
    if np.count_nonzero(nan):
        result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, result))
        if ieee:
            result = np.where(_signals(b), _quieted(b), result)
            result = np.where(_signals(a), _quieted(a), result)
    return result


def _max(a: Array, b: Array, ieee: bool) -> Array:
    return extreme(a, b, ieee, larger=True)


def _min(a: Array, b: Array, ieee: bool) -> Array:
    return extreme(a, b, ieee, larger=False)


def _max3(a: Array, b: Array, c: Array, ieee: bool) -> Array:
    return _max(_max(a, b, ieee), c, ieee)


def _min3(a: Array, b: Array, c: Array, ieee: bool) -> Array:
    return _min(_min(a, b, ieee), c, ieee)


def _med3(a: Array, b: Array, c: Array, ieee: bool) -> Array:
    """Returns the median; the smallest number if there is a NaN."""
    largest = _max3(a, b, c, ieee)
    rest = np.where(largest == b, _max(a, c, ieee), _max(a, b, ieee))
    result = np.where(largest == a, _max(b, c, ieee), rest)
    nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
    return np.where(nan, _min3(a, b, c, ieee), result) if bool(nan.any()) else result


def extreme_or_nan(larger: bool) -> Function:
    """Returns `maximum` or `minimum` of some, as in IEEE 754-2019: a NaN wins."""

    def compute(*sources: Array) -> Array:
        result = sources[0]
        for source in sources[1:]:
            result = extreme(result, source, False, larger)
        for source in reversed(sources):
            result = np.where(np.isnan(source), _quieted(source), result)
        return result

    return compute


def _legacy_multiply(a: Array, b: Array) -> Array:
    return np.where((a == 0) | (b == 0), np.float32(0), a * b)


def multiply_add(a: Array, b: Array, c: Array, multiply: Function = np.multiply) -> Array:
    """Returns a * b + c of f32 with two roundings, and zeros for denormals in any mode.

    LLVM selects `v_mad_f32` and its kind for ISD::FMAD, which rounds the product, and only where
    denormals are flushed, because they do not support them (SIISelLowering.cpp).
    """
    a, b, c = (floats.flush_denormals(each) for each in (a, b, c))
    product = floats.flush_denormals(multiply(a, b))
    return floats.flush_denormals(product + c)


def _fract(a: Array) -> Array:
    below_one = np.nextafter(a.dtype.type(1), a.dtype.type(0))
    part = _by_f32(lambda x: x - np.floor(x))(a)
    return np.minimum(part, below_one)


def _turns(function: Function, outside: float) -> Function:
    """Returns the sine or cosine of a number of turns, or `outside` beyond 256 turns.

    The range is the one that the Vega ISA states for `V_SIN_F32`.
    """

    def compute(a: Array) -> Array:
        value = function((a - np.rint(a)) * (2 * np.pi))
        return np.where(np.isfinite(a) & (np.abs(a) > 256), outside, value)

    return compute


def _ldexp(a: Array, exponent: Array) -> Array:
    power = np.clip(exponent.astype(np.int32), -3000, 3000)
    return _by_f32(lambda x: np.ldexp(x, power))(a)


def _frexp_mantissa(a: Array) -> Array:
    finite = np.isfinite(a)
    part = _by_f32(lambda x: np.frexp(x)[0])(np.where(finite, a, a.dtype.type(1)))
    return np.where(finite, part, a)


def _frexp_exponent(a: Array) -> Array:
    finite = np.isfinite(a)
    exponent = np.frexp(np.where(finite, a, 0).astype(np.float64))[1]
    return exponent.astype(np.int16 if a.dtype == np.float16 else np.int32)


def exponent_field(a: Array) -> Array:
    """Returns the biased exponent of f16, f32 or f64 numbers, as int64."""
    bits, mantissa = bits_view(a), int(np.finfo(a.dtype).nmant)
    mask = (1 << (8 * a.itemsize - 1 - mantissa)) - 1
    return (bits >> bits.dtype.type(mantissa)).astype(np.int64) & mask


_BITS_OF_TWO_OVER_PI = 1201


@cache
def _digits_of_two_over_pi() -> int:
    """Returns 2 / pi in units of 2 ** -1201, rounded down, by Machin's formula for pi."""
    guard = 64
    one = 1 << _BITS_OF_TWO_OVER_PI + guard

    def arctangent_of_inverse(number: int) -> int:
        total, term, divisor = 0, one // number, 1
        while term:
            total += term // divisor if divisor % 4 == 1 else -(term // divisor)
            term //= number * number
            divisor += 2
        return total

    pi = 16 * arctangent_of_inverse(5) - 4 * arctangent_of_inverse(239)
    return (2 * one * one // pi) >> guard


def _two_over_pi(value: Array, segment: Array) -> Array:
    """Returns 53 bits of 2 / pi, those that matter to the remainder of a large number by pi / 2.

    This is `V_TRIG_PREOP_F64` of the CDNA3 ISA: the segment counts 53 bits, and the bits begin so
    much further behind as the number's exponent is above 1077. Exponents from 1968 on get a result
    that is 2 ** 128 times as large, which keeps it from being subnormal.
    """
    exponents = exponent_field(value).astype(np.int64)
    shifts = (segment.astype(np.int64) & 31) * 53 + np.maximum(exponents - 1077, 0)
    scales = -53 - shifts + np.where(exponents >= 1968, 128, 0)
    digits = _digits_of_two_over_pi()
    mask = (1 << _BITS_OF_TWO_OVER_PI) - 1
    distinct, which = np.unique(shifts, return_inverse=True)
    parts = [(digits << int(s) & mask) >> _BITS_OF_TWO_OVER_PI - 53 for s in distinct]
    mantissas = np.array(parts, np.float64)[which].reshape(shifts.shape)
    return np.ldexp(mantissas, scales.astype(np.int32))


def _div_fixup(quotient: Array, denominator: Array, numerator: Array) -> Array:
    """Computes v_div_fixup: the special cases of a quotient that Newton's method gave.

    A quotient that came out as NaN though both operands are finite and not 0 has overflowed on the
    way: v_div_scale had to scale the denominator alone. The result is infinite then.
    """
    quotient, denominator, numerator = np.broadcast_arrays(quotient, denominator, numerator)
    kind = quotient.dtype.type
    negative = np.signbit(denominator) ^ np.signbit(numerator)
    # What is too small to be told from zero, by the distance of the exponents.
    limit = {2: 64, 4: 150, 8: 1075}[quotient.dtype.itemsize]
    underflow = exponent_field(numerator) - exponent_field(denominator) < -limit
    infinite_d, infinite_n = np.isinf(denominator), np.isinf(numerator)
    zero_d, zero_n = denominator == 0, numerator == 0
    magnitude = np.select(
        [
            np.isnan(numerator),
            np.isnan(denominator),
            (zero_d & zero_n) | (infinite_d & infinite_n),
            zero_d | infinite_n,
            infinite_d | zero_n | underflow,
            np.isnan(quotient),
        ],
        [numerator + numerator, denominator + denominator, kind(np.nan), kind(np.inf), kind(0),
         kind(np.inf)],
        np.abs(quotient),
    ).astype(quotient.dtype)  # fmt: skip
    return np.where(np.isnan(magnitude), magnitude, np.where(negative, -magnitude, magnitude))


def pack_halves(a: Array, b: Array) -> Array:
    """Returns words of two results of 16 bits, the first in the low half."""
    return a.view(np.uint16).astype(np.uint32) | b.view(np.uint16).astype(np.uint32) << np.uint32(
        16
    )


_F_UNARY: Mapping[str, Function] = {
    "floor": _by_f32(np.floor),
    "ceil": _by_f32(np.ceil),
    "trunc": _by_f32(np.trunc),
    "rndne": _by_f32(np.rint),
    "fract": _fract,
    "frexp_mant": _frexp_mantissa,
    "exp": _without_denormals(_by_f64(np.exp2)),
    "log": _without_denormals(_by_f64(np.log2)),
    "rcp": _without_denormals(_by_f64(lambda a: 1.0 / a)),
    "rsq": _without_denormals(_by_f64(lambda a: 1.0 / np.sqrt(a))),
    "sqrt": _without_denormals(_by_f64(np.sqrt)),
    "sin": _without_denormals(_by_f64(_turns(np.sin, 0.0))),
    "cos": _without_denormals(_by_f64(_turns(np.cos, 1.0))),
    "tanh": _without_denormals(_by_f64(np.tanh)),
}
_F_BINARY: Mapping[str, Function] = {
    "add": _by_f32(np.add),
    "sub": _by_f32(np.subtract),
    "subrev": _by_f32(lambda a, b: b - a),
    "mul": _by_f32(np.multiply),
}


def _float_ops(kind: str) -> dict[str, LaneOp]:
    """Returns the rows of one float type.

    f64 has no transcendental functions, but roots and reciprocals.
    """
    exponent = "i16" if kind == "f16" else "i32"
    unary = {"exp", "log", "sin", "cos", "tanh"} if kind == "f64" else set()
    new = kind == "f16"
    ops = rows(kind, 1, {f"{n}_{kind}": f for n, f in _F_UNARY.items() if n not in unary})
    ops |= rows(kind, 2, {f"max_{kind}": _max, f"min_{kind}": _min}, ieee=True)
    ops |= rows(kind, 3, {f"fma_{kind}": floats.fma}, keeps_high=new)
    ops |= rows(kind, 3, {f"div_fixup_{kind}": _div_fixup}, keeps_high=new)
    ops[f"v_ldexp_{kind}"] = LaneOp(kind, (kind, exponent), _ldexp)
    ops[f"v_frexp_exp_{exponent}_{kind}"] = LaneOp(exponent, (kind,), _frexp_exponent)
    if kind == "f64":
        return ops | rows(kind, 2, {f"{n}_{kind}": _F_BINARY[n] for n in ("add", "mul")})
    three = {f"max3_{kind}": _max3, f"min3_{kind}": _min3, f"med3_{kind}": _med3}
    ops |= rows(kind, 2, {f"{name}_{kind}": f for name, f in _F_BINARY.items()})
    return ops | rows(kind, 3, three, ieee=True, keeps_high=new)


# Integers.


def _integer_ops(kind: str) -> dict[str, LaneOp]:
    two = {f"max_{kind}": np.maximum, f"min_{kind}": np.minimum}
    three: dict[str, Function] = {
        f"max3_{kind}": lambda a, b, c: np.maximum(np.maximum(a, b), c),
        f"min3_{kind}": lambda a, b, c: np.minimum(np.minimum(a, b), c),
        f"med3_{kind}": lambda a, b, c: np.maximum(
            np.minimum(a, b), np.minimum(np.maximum(a, b), c)
        ),
    }
    return rows(kind, 2, two) | rows(kind, 3, three, keeps_high=kind.endswith("16"))


def _reversed_shift(function: Function, width: int) -> Function:
    """Returns a shift whose amount comes first, and counts modulo the width."""
    return lambda amount, value: function(
        value, (amount & amount.dtype.type(width - 1)).astype(value.dtype)
    )


# These take i64 too, for results that saturate.


def _u24(a: Array) -> Array:
    return a & 0xFFFFFF


def _i24(a: Array) -> Array:
    return (a & 0xFFFFFF ^ 0x800000) - 0x800000


def _distance(a: Array, b: Array) -> Array:
    return np.maximum(a, b) - np.minimum(a, b)


def _sum_of_distances(a: Array, b: Array, parts: int, only_nonzero: bool = False) -> Array:
    """Returns the sum of the distances between the parts of two words.

    Each word has `parts` parts. With `only_nonzero`, parts count only where the part of `b` is not
    0. Worked example with two parts: the distances between 0x00050001 and 0x00020003 are 3 and 2,
    and their sum is 5.
    """
    width = 32 // parts
    mask = (1 << width) - 1
    total = np.zeros(np.broadcast_shapes(a.shape, b.shape), a.dtype)
    for part in range(parts):
        x, y = a >> width * part & mask, b >> width * part & mask
        total += _distance(x, y) * (y != 0) if only_nonzero else _distance(x, y)
    return total


def sum_and_carry(a: Array, b: Array) -> tuple[Array, Array]:
    """Returns the u32 sum and its carry. A sum that wrapped around is less than either operand."""
    total = a + b
    return total, total < a


def difference_and_borrow(a: Array, b: Array) -> tuple[Array, Array]:
    """Returns the u32 difference a - b and its borrow."""
    return a - b, a < b


def mul_hi_u32(a: Array, b: Array) -> Array:
    """Returns the upper half of a u32 product."""
    return (a.astype(np.uint64) * b.astype(np.uint64) >> np.uint64(32)).astype(np.uint32)


def mul_hi_i32(a: Array, b: Array) -> Array:
    """Returns the upper half of an i32 product."""
    return (a.astype(np.int64) * b.astype(np.int64) >> 32).astype(np.int32)


def _bfe_u32(a: Array, offset: Array, width: Array) -> Array:
    mask = (np.uint32(1) << (width & np.uint32(31))) - np.uint32(1)
    return a >> (offset & np.uint32(31)) & mask


def _bfe_i32(a: Array, offset: Array, width: Array) -> Array:
    width = (width & np.uint32(31)).astype(np.int32)
    field = a >> (offset & np.uint32(31)).astype(np.int32) & (np.int32(1) << width) - np.int32(1)
    sign = (np.int32(1) << width) >> np.int32(1)
    return (field ^ sign) - sign


def _perm(high: Array, low: Array, selector: Array) -> Array:
    """Computes v_perm_b32: a byte of `selector` picks a byte of {high, low} or a constant.

    Selectors 0 to 7 are bytes; 8 to 11 are the signs of bytes 1, 3, 5 and 7, repeated; 12 is 0 and
    more is 0xff.
    """
    first = int(selector.flat[0])
    if bool((selector == selector.dtype.type(first)).all()):
        return _perm_alike(high, low, first)
    data = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
    result = np.zeros(np.broadcast_shapes(data.shape, selector.shape), np.uint32)
    for position in range(4):
        which = (selector >> np.uint32(8 * position) & np.uint32(0xFF)).astype(np.uint64)
        byte = data >> np.uint64(8) * np.minimum(which, 7) & np.uint64(0xFF)
        sign_at = np.uint64(16) * np.minimum(which - np.uint64(8), 3) + np.uint64(15)
        signs = np.negative(data >> sign_at & np.uint64(1)) & np.uint64(0xFF)
        byte = np.where(
            which < 8, byte, np.where(which < 12, signs, (which > 12) * np.uint64(0xFF))
        )
        result |= byte.astype(np.uint32) << np.uint32(8 * position)
    return result


def _perm_alike(high: Array, low: Array, selector: int) -> Array:
    """Computes v_perm_b32 with one selector for all lanes by a few shifts of whole words."""
    moves: dict[tuple[bool, int], int] = {}
    result: Array = np.zeros((1, 1), np.uint32)
    for position in range(4):
        which = selector >> 8 * position & 0xFF
        byte = np.uint32(0xFF << 8 * position)
        if which < 8:
            key = (which >= 4, 8 * (position - which % 4))
            moves[key] = moves.get(key, 0) | int(byte)
        elif which < 12:
            sign = (low if which < 10 else high) >> np.uint32(15 + 16 * (which % 2)) & np.uint32(1)
            result = result | np.negative(sign) & byte
        elif which > 12:
            result = result | byte
    for (upper, shift), mask in moves.items():
        word = high if upper else low
        word = word << np.uint32(shift) if shift >= 0 else word >> np.uint32(-shift)
        result = result | word & np.uint32(mask)
    return result


def _alignbit(high: Array, low: Array, shift: Array) -> Array:
    data = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
    return (data >> (shift & np.uint32(31)).astype(np.uint64)).astype(np.uint32)


def _alignbyte(high: Array, low: Array, shift: Array) -> Array:
    return _alignbit(high, low, (shift & np.uint32(3)) * np.uint32(8))


def leading_zeros(a: Array) -> Array:
    """Returns the zeros before the highest set bit of u32 or u64 words, as i32; -1 for none."""
    width = 8 * a.itemsize
    filled = a.copy()
    step = 1
    while step < width:
        filled |= filled >> a.dtype.type(step)
        step *= 2
    count = width - np.bitwise_count(filled).astype(np.int32)
    return select(a == 0, np.full_like(count, -1), count)


def leading_copies(a: Array) -> Array:
    """Returns where the first bit from the top differs from the sign, as i32; -1 for none."""
    signs = np.negative(a >> a.dtype.type(8 * a.itemsize - 1))
    return leading_zeros(a ^ signs)


def trailing_zeros(a: Array) -> Array:
    """Returns the index of the lowest set bit of u32 or u64 words, as i32; -1 for none."""
    lowest = a & np.negative(a)
    index = np.bitwise_count(lowest - a.dtype.type(1)).astype(np.int32)
    return select(a == 0, np.full_like(index, -1), index)


def reverse_bits(a: Array) -> Array:
    """Returns u32 or u64 words with the bits in the opposite order."""
    width = 8 * a.itemsize
    step = width // 2
    while step:
        # Blocks of `step` bits change places in pairs.
        low = a.dtype.type(((1 << width) - 1) // ((1 << step) + 1))
        a = (a >> a.dtype.type(step) & low) | (a & low) << a.dtype.type(step)
        step //= 2
    return a


def _saturating_bytes(low: int, high: int) -> Function:
    """Computes v_ashr_pk: two i32 shifted right by one amount and saturated to bytes."""

    def compute(a: Array, b: Array, amount: Array) -> Array:
        shift = (amount & np.uint32(31)).astype(np.int32)
        first, second = (
            np.clip(x >> shift, low, high).astype(np.uint16) & np.uint16(0xFF) for x in (a, b)
        )
        return first | second << np.uint16(8)

    return compute


def _sat_pk_u8_i16(a: Array) -> Array:
    low, high = (
        np.clip(half.astype(np.uint16).view(np.int16), 0, 255).astype(np.uint16)
        for half in (a, a >> np.uint32(16))
    )
    return low | high << np.uint16(8)


# Conversions.


def _convert(to: str, source: str, function: Function) -> dict[str, LaneOp]:
    return {f"v_cvt_{to}_{source}": LaneOp(to, (source,), function)}


def _plain(kind: str) -> Function:
    return lambda a: a.astype(DTYPES[kind])


def saturated(kind: str) -> Function:
    """Returns the conversion of a float to an integer type, toward zero."""
    dtype: Any = DTYPES[kind]
    return lambda a: floats.to_integer(a, dtype)


def _byte(index: int) -> Function:
    return lambda a: (a >> np.uint32(8 * index) & np.uint32(0xFF)).astype(np.float32)


def paired(function: Function) -> Function:
    """Returns a function that makes two conversions to 16 bits, the first in the low half."""
    return lambda a, b: pack_halves(function(a), function(b))


def _clip_to(kind: str) -> Function:
    dtype: Any = DTYPES[kind]
    limits = np.iinfo(dtype)
    return lambda a: np.clip(a, limits.min, limits.max).astype(dtype)


def _off_i4(a: Array) -> Array:
    return _i24(a << np.uint32(20)).astype(np.int32).astype(np.float32) * np.float32(2.0**-24)


_ROWS: dict[str, LaneOp] = {
    **_float_ops("f32"),
    **_float_ops("f64"),
    **_float_ops("f16"),
    "v_rcp_iflag_f32": LaneOp("f32", ("f32",), _F_UNARY["rcp"]),
    "v_fmamk_f32": LaneOp("f32", ("f32",) * 3, floats.fma),
    "v_fmaak_f32": LaneOp("f32", ("f32",) * 3, floats.fma),
    **rows("f32", 3, dict.fromkeys(("mad_f32", "madmk_f32", "madak_f32"), multiply_add)),
    "v_mad_legacy_f32": LaneOp(
        "f32", ("f32",) * 3, partial(multiply_add, multiply=_legacy_multiply)
    ),
    "v_mul_legacy_f32": LaneOp("f32", ("f32",) * 2, _legacy_multiply),
    "v_maximum3_f32": LaneOp("f32", ("f32",) * 3, extreme_or_nan(larger=True)),
    "v_minimum3_f32": LaneOp("f32", ("f32",) * 3, extreme_or_nan(larger=False)),
    **_integer_ops("u32"),
    **_integer_ops("i32"),
    **_integer_ops("u16"),
    **_integer_ops("i16"),
    # Bits.
    "v_mov_b32": LaneOp("b32", ("b32",), lambda a: a),
    "v_mov_b64": LaneOp("b64", ("b64",), lambda a: a),
    "v_accvgpr_read_b32": LaneOp("b32", ("b32",), lambda a: a),
    "v_accvgpr_write_b32": LaneOp("b32", ("b32",), lambda a: a),
    "v_accvgpr_mov_b32": LaneOp("b32", ("b32",), lambda a: a),
    "v_not_b32": LaneOp("b32", ("b32",), np.invert),
    "v_bfrev_b32": LaneOp("b32", ("b32",), reverse_bits),
    "v_ffbh_u32": LaneOp("i32", ("u32",), leading_zeros),
    "v_ffbh_i32": LaneOp("i32", ("u32",), leading_copies),
    "v_ffbl_b32": LaneOp("i32", ("u32",), trailing_zeros),
    "v_and_b32": LaneOp("b32", ("b32",) * 2, np.bitwise_and),
    "v_or_b32": LaneOp("b32", ("b32",) * 2, np.bitwise_or),
    "v_xor_b32": LaneOp("b32", ("b32",) * 2, np.bitwise_xor),
    "v_xnor_b32": LaneOp("b32", ("b32",) * 2, lambda a, b: ~(a ^ b)),
    "v_or3_b32": LaneOp("b32", ("b32",) * 3, lambda a, b, c: a | b | c),
    "v_and_or_b32": LaneOp("b32", ("b32",) * 3, lambda a, b, c: a & b | c),
    "v_bfi_b32": LaneOp("b32", ("b32",) * 3, lambda a, b, c: c ^ ((b ^ c) & a)),
    "v_perm_b32": LaneOp("b32", ("b32",) * 3, _perm),
    # RDNA names half a register for the distance, of which 5 bits at most matter anywhere.
    "v_alignbit_b32": LaneOp("b32", ("b32", "b32", "b16"), _alignbit),
    "v_alignbyte_b32": LaneOp("b32", ("b32", "b32", "b16"), _alignbyte),
    "v_bfe_u32": LaneOp("u32", ("u32",) * 3, _bfe_u32),
    "v_bfe_i32": LaneOp("i32", ("i32", "u32", "u32"), _bfe_i32),
    "v_bfm_b32": LaneOp(
        "u32",
        ("u32",) * 2,
        lambda a, b: (np.uint32(1) << (a & np.uint32(31))) - np.uint32(1) << (b & np.uint32(31)),
    ),
    "v_bcnt_u32_b32": LaneOp(
        "u32", ("u32",) * 2, lambda a, b: np.bitwise_count(a).astype(np.uint32) + b
    ),
    "v_prng_b32": LaneOp(
        "u32", ("u32",), lambda a: a << np.uint32(1) ^ np.uint32(197) * (a >> np.uint32(31))
    ),
    # Shifts.
    "v_lshlrev_b16": LaneOp("u16", ("u16",) * 2, _reversed_shift(np.left_shift, 16)),
    "v_lshrrev_b16": LaneOp("u16", ("u16",) * 2, _reversed_shift(np.right_shift, 16)),
    "v_ashrrev_i16": LaneOp("i16", ("u16", "i16"), _reversed_shift(np.right_shift, 16)),
    "v_lshlrev_b32": LaneOp("u32", ("u32",) * 2, _reversed_shift(np.left_shift, 32)),
    "v_lshrrev_b32": LaneOp("u32", ("u32",) * 2, _reversed_shift(np.right_shift, 32)),
    "v_ashrrev_i32": LaneOp("i32", ("u32", "i32"), _reversed_shift(np.right_shift, 32)),
    "v_lshlrev_b64": LaneOp("u64", ("u32", "u64"), _reversed_shift(np.left_shift, 64)),
    "v_lshrrev_b64": LaneOp("u64", ("u32", "u64"), _reversed_shift(np.right_shift, 64)),
    "v_ashrrev_i64": LaneOp("i64", ("u32", "i64"), _reversed_shift(np.right_shift, 64)),
    "v_add_lshl_u32": LaneOp("u32", ("u32",) * 3, lambda a, b, c: a + b << (c & np.uint32(31))),
    "v_lshl_add_u32": LaneOp("u32", ("u32",) * 3, lambda a, b, c: (a << (b & np.uint32(31))) + c),
    "v_lshl_or_b32": LaneOp("u32", ("u32",) * 3, lambda a, b, c: a << (b & np.uint32(31)) | c),
    "v_lshl_add_u64": LaneOp(
        "u64",
        ("u64", "u32", "u64"),
        lambda a, b, c: (a << (b & np.uint32(7)).astype(np.uint64)) + c,
    ),
    "v_ashr_pk_i8_i32": LaneOp(
        "u16", ("i32", "i32", "u32"), _saturating_bytes(-128, 127), keeps_high=True
    ),
    "v_ashr_pk_u8_i32": LaneOp(
        "u16", ("i32", "i32", "u32"), _saturating_bytes(0, 255), keeps_high=True
    ),
    # Sums and products.
    **rows("u32", 2, {"add_u32": np.add, "sub_u32": np.subtract}, saturates=True),
    **rows("u32", 2, {"subrev_u32": lambda a, b: b - a}, saturates=True),
    **rows("i32", 2, {"add_i32": np.add, "sub_i32": np.subtract}, saturates=True),
    **rows("u16", 2, {"add_u16": np.add, "sub_u16": np.subtract}, saturates=True),
    **rows("u16", 2, {"subrev_u16": lambda a, b: b - a}, saturates=True),
    **rows("i16", 2, {"add_i16": np.add, "sub_i16": np.subtract}, saturates=True, keeps_high=True),
    "v_mul_lo_u16": LaneOp("u16", ("u16",) * 2, np.multiply, saturates=True),
    "v_mad_u16": LaneOp(
        "u16", ("u16",) * 3, lambda a, b, c: a * b + c, saturates=True, keeps_high=True
    ),
    "v_mad_i16": LaneOp(
        "i16", ("i16",) * 3, lambda a, b, c: a * b + c, saturates=True, keeps_high=True
    ),
    "v_mad_legacy_u16": LaneOp("u16", ("u16",) * 3, lambda a, b, c: a * b + c, saturates=True),
    "v_mad_legacy_i16": LaneOp("i16", ("i16",) * 3, lambda a, b, c: a * b + c, saturates=True),
    "v_add3_u32": LaneOp("u32", ("u32",) * 3, lambda a, b, c: a + b + c),
    "v_xad_u32": LaneOp("u32", ("u32",) * 3, lambda a, b, c: (a ^ b) + c),
    "v_mul_lo_u32": LaneOp("u32", ("u32",) * 2, np.multiply),
    "v_mul_hi_u32": LaneOp("u32", ("u32",) * 2, mul_hi_u32),
    "v_mul_hi_i32": LaneOp("i32", ("i32",) * 2, mul_hi_i32),
    "v_mul_u32_u24": LaneOp("u32", ("u32",) * 2, lambda a, b: _u24(a) * _u24(b), saturates=True),
    "v_mul_i32_i24": LaneOp("i32", ("i32",) * 2, lambda a, b: _i24(a) * _i24(b), saturates=True),
    "v_mul_hi_u32_u24": LaneOp("u32", ("u32",) * 2, lambda a, b: mul_hi_u32(_u24(a), _u24(b))),
    "v_mul_hi_i32_i24": LaneOp("i32", ("i32",) * 2, lambda a, b: mul_hi_i32(_i24(a), _i24(b))),
    "v_mad_u32_u24": LaneOp(
        "u32", ("u32",) * 3, lambda a, b, c: _u24(a) * _u24(b) + c, saturates=True
    ),
    "v_mad_i32_i24": LaneOp(
        "i32", ("i32",) * 3, lambda a, b, c: _i24(a) * _i24(b) + c, saturates=True
    ),
    "v_mad_u32_u16": LaneOp(
        "u32",
        ("u16", "u16", "u32"),
        lambda a, b, c: a.astype(c.dtype) * b.astype(c.dtype) + c,
        saturates=True,
    ),
    "v_mad_i32_i16": LaneOp(
        "i32",
        ("i16", "i16", "i32"),
        lambda a, b, c: a.astype(c.dtype) * b.astype(c.dtype) + c,
        saturates=True,
    ),
    "v_sad_u32": LaneOp("u32", ("u32",) * 3, lambda a, b, c: _distance(a, b) + c, saturates=True),
    "v_sad_u16": LaneOp(
        "u32", ("u32",) * 3, lambda a, b, c: _sum_of_distances(a, b, 2) + c, saturates=True
    ),
    "v_sad_u8": LaneOp(
        "u32", ("u32",) * 3, lambda a, b, c: _sum_of_distances(a, b, 4) + c, saturates=True
    ),
    "v_sad_hi_u8": LaneOp(
        "u32", ("u32",) * 3, lambda a, b, c: (_sum_of_distances(a, b, 4) << 16) + c, saturates=True
    ),
    "v_msad_u8": LaneOp(
        "u32", ("u32",) * 3, lambda a, b, c: _sum_of_distances(a, b, 4, True) + c, saturates=True
    ),
    "v_lerp_u8": LaneOp(
        "u32",
        ("u32",) * 3,
        # Averages of bytes, rounded up where the byte of c is odd.
        lambda a, b, c: (
            (a & b)
            + ((a ^ b) >> np.uint32(1) & np.uint32(0x7F7F7F7F))
            + ((a ^ b) & c & np.uint32(0x01010101))
        ),
    ),
    # Conversions.
    **_convert("f16", "f32", floats.round_to_f16),
    **_convert("f32", "f16", floats.widen_f16),
    **_convert("f64", "f32", _plain("f64")),
    **_convert("f32", "f64", _plain("f32")),
    **_convert("f32", "u32", _plain("f32")),
    **_convert("f32", "i32", _plain("f32")),
    **_convert("f64", "u32", _plain("f64")),
    **_convert("f64", "i32", _plain("f64")),
    **_convert("f16", "u16", lambda a: floats.round_to_f16(a.astype(np.float32))),
    **_convert("f16", "i16", lambda a: floats.round_to_f16(a.astype(np.float32))),
    **_convert("u32", "f32", saturated("u32")),
    **_convert("i32", "f32", saturated("i32")),
    **_convert("u32", "f64", saturated("u32")),
    **_convert("i32", "f64", saturated("i32")),
    **_convert("u16", "f16", saturated("u16")),
    **_convert("i16", "f16", saturated("i16")),
    "v_cvt_flr_i32_f32": LaneOp("i32", ("f32",), lambda a: saturated("i32")(np.floor(a))),
    "v_cvt_rpi_i32_f32": LaneOp(
        "i32", ("f32",), lambda a: saturated("i32")(np.floor(a + np.float32(0.5)))
    ),
    "v_cvt_off_f32_i4": LaneOp("f32", ("u32",), _off_i4),
    **{f"v_cvt_f32_ubyte{i}": LaneOp("f32", ("u32",), _byte(i)) for i in range(4)},
    "v_cvt_f32_bf16": LaneOp("f32", ("b16",), floats.widen_bf16),
    "v_trig_preop_f64": LaneOp("f64", ("f64", "u32"), _two_over_pi),
    "v_cvt_pkrtz_f16_f32": LaneOp("b32", ("f32", "f32"), paired(floats.round_to_zero_f16)),
    "v_cvt_pk_f16_f32": LaneOp("b32", ("f32", "f32"), paired(floats.round_to_f16)),
    "v_cvt_pk_bf16_f32": LaneOp("b32", ("f32", "f32"), paired(floats.round_to_bf16)),
    "v_cvt_pk_u16_u32": LaneOp("b32", ("u32", "u32"), paired(_clip_to("u16"))),
    "v_cvt_pk_i16_i32": LaneOp("b32", ("i32", "i32"), paired(_clip_to("i16"))),
    "v_sat_pk_u8_i16": LaneOp("u16", ("u32",), _sat_pk_u8_i16),
    "v_pack_b32_f16": LaneOp("b32", ("f16", "f16"), pack_halves),
}


LANE_OPS: Mapping[str, LaneOp] = _ROWS
"""Instructions whose lanes compute alone, by mnemonic without its encoding."""
