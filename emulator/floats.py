# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Float operations that NumPy does not have, or has slowly, rounded once as the hardware does.

*Rounding to odd* keeps what a later rounding needs: a sum that is not exact gets an odd last bit.
A number rounded to odd in a format with at least two more bits than the final one, and then to
nearest in the final one, is rounded as if once (Boldo and Melquiond, "Emulation of FMA and
correctly rounded sums: proved algorithms using rounding to odd", IEEE TC 57(4), 2008).

Worked example, decimal with 4 and then 2 digits: 1.2500001 rounds to 1.250 and on to 1.2, though
1.3 is nearer. Rounded to odd it is 1.251 first, then 1.3.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from .select_bits import bits_view, look_up, select

Array = npt.NDArray[Any]
F64 = npt.NDArray[np.float64]
F32 = npt.NDArray[np.float32]
F16 = npt.NDArray[np.float16]

# -- denormals -----------------------------------------------------------------------------------


def _float_constants(kind: type[Any]) -> tuple[Any, Any, Any]:
    """Returns the type of a float type's bits, a mask of its exponent, and one of its sign."""
    width = np.dtype(kind).itemsize * 8
    bits = np.dtype(f"u{width // 8}")
    sign, mantissa = 1 << (width - 1), (1 << np.finfo(kind).nmant) - 1
    # Arrays, because NumPy takes longer to convert its own scalars than to compute.
    return bits, np.array(sign - 1 - mantissa, bits), np.array(sign, bits)


_FLOAT_CONSTANTS = {
    np.dtype(kind): _float_constants(kind) for kind in (np.float16, np.float32, np.float64)
}


def flush_denormals(values: Array) -> Array:
    """Replaces subnormal numbers of f16, f32 or f64 `values` by zeros of their sign.

    Returns `values` itself where there are none.
    """
    kind, exponent, sign = _FLOAT_CONSTANTS[values.dtype]
    bits = values.view(kind)
    exponents = bits & exponent
    # Subnormal numbers and zeros have no exponent.
    if np.count_nonzero(exponents) == values.size:
        return values
    flushed = select(exponents == 0, bits & sign, bits)
    return flushed.view(values.dtype) if np.count_nonzero(flushed != bits) else values


# -- f16: NumPy's own conversions and arithmetic go element by element ---------------------------

_F16_VALUES: F32 = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


def widen_f16(values: F16) -> F32:
    """Returns f16 `values` as f32, exactly."""
    return look_up(_F16_VALUES, values.view(np.uint16))


def round_to_f16(values: F32) -> F16:
    """Returns the f16 nearest to f32 `values`, ties to even; NaNs stay NaNs, quiet.

    A normal number only changes its exponent's bias and loses 13 bits: adding 0xfff, and 1 more if
    the last bit kept is set, carries where the lost part is above one half. Subnormal results are
    counted in units of 2^-24 by adding 0.5, whose last bit has that weight.
    """
    bits = values.view(np.uint32)
    magnitude = bits & np.uint32(0x7FFFFFFF)
    sign = bits >> np.uint32(16) & np.uint32(0x8000)
    bias = np.uint32(((15 - 127) << 23) + 0xFFF & 0xFFFFFFFF)
    half = magnitude + bias + (magnitude >> np.uint32(13) & np.uint32(1)) >> np.uint32(13)
    smallest, beyond = np.uint32(0x38800000), np.uint32(0x47800000)
    unusual = magnitude - smallest >= beyond - smallest
    if bool(unusual.any()):
        half[unusual] = _unusual_f16(magnitude[unusual], smallest, beyond)
    return (half | sign).astype(np.uint16).view(np.float16)


def _unusual_f16(magnitude: Array, smallest: np.uint32, beyond: np.uint32) -> Array:
    """Returns the f16 bits of f32 magnitudes that become subnormal or infinite, or are NaNs."""
    with np.errstate(all="ignore"):
        tiny = (magnitude.view(np.float32) + np.float32(0.5)).view(np.uint32)
    half = np.where(magnitude < smallest, tiny - np.uint32(0x3F000000), np.uint32(0x7C00))
    quiet = magnitude >> np.uint32(13) & np.uint32(0x1FF) | np.uint32(0x7E00)
    return np.where(magnitude > np.uint32(0x7F800000), quiet, half)


# -- fused multiply-add --------------------------------------------------------------------------


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Returns the rounded sum and its exact error (Knuth)."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def two_product(a: F64, b: F64) -> tuple[F64, F64]:
    """Returns the rounded product and its exact error (Dekker) where it does not overflow."""
    splitter = np.float64(2**27 + 1)
    a_big, b_big = splitter * a, splitter * b
    a_high, b_high = a_big - (a_big - a), b_big - (b_big - b)
    a_low, b_low = a - a_high, b - b_high
    product = a * b
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def sum_to_odd(a: Array, b: Array) -> Array:
    """Returns a + b, in f32 or f64, rounded to odd."""
    total, error = two_sum(a, b)
    bits = bits_view(total)
    one = bits.dtype.type(1)
    inexact = (error != 0) & (bits & one == 0) & np.isfinite(total)
    if not inexact.any():
        return total
    # The exact sum lies between the even total and its odd neighbour on the error's side.
    outward = (error > 0) == (total > 0)
    return select(inexact, select(outward, bits + one, bits - one), bits).view(total.dtype)


def fma(a: Array, b: Array, c: Array) -> Array:
    """Returns a * b + c with one rounding, in the operands' type (f16, f32 or f64)."""
    with np.errstate(all="ignore"):
        if a.dtype == np.float64:
            if not all(isinstance(each, np.ndarray) for each in (a, b, c)):
                # A value that becomes machine code (`compiled/traced.py`), which has one rounding.
                return next(x for x in (a, b, c) if not isinstance(x, np.ndarray)).fused(a, b, c)
            return _fma_f64(*np.broadcast_arrays(a, b, c))
        if a.dtype == np.float32:
            return _fma_f32(a, b, c)
        # 11-bit significands: the product is exact in f32, and f32 has the bits to round to odd.
        product = widen_f16(a) * widen_f16(b)
        return round_to_f16(sum_to_odd(product, widen_f16(c)))


def _fma_f32(a: F32, b: F32, c: F32) -> F32:
    """Multiplies and adds in f64, and rounds to f32.

    The product of two 24-bit significands is exact in f64, and the sum is rounded twice. The second
    rounding errs only if the first one made a tie, so that the 29 bits that f32 drops are 1 0...0,
    or if the result is subnormal. Only then the sum is rounded to odd first.
    """
    product = a.astype(np.float64) * b.astype(np.float64)
    total = product + c
    ties = total.view(np.uint64) & np.uint64((1 << 29) - 1) == np.uint64(1 << 28)
    if bool(ties.any()) or _some_subnormal_f32(total):
        total = sum_to_odd(product, c.astype(np.float64))
    return total.astype(np.float32)


def _some_subnormal_f32(values: F64) -> bool:
    """Returns whether some of `values` are not zero and at most 2^-126 in magnitude."""
    magnitude = np.abs(values)
    if magnitude.min() > 2.0**-126:
        return False
    return bool(((magnitude <= 2.0**-126) & (magnitude != 0)).any())


def _fma_f64(a: F64, b: F64, c: F64) -> F64:
    """Computes by Boldo and Melquiond's algorithm.

    Where the algorithm's sums leave the range of f64, rational arithmetic takes its place.
    """
    plain = a * b + c
    high, low = two_product(a, b)
    carried, rest = two_sum(c, low)
    total, error = two_sum(high, carried)
    result = total + sum_to_odd(rest, error)
    result = np.where(np.isfinite(result) & (result != 0), result, plain)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    product = np.abs(a * b)
    safe = (np.abs(a) < 2.0**500) & (np.abs(b) < 2.0**500) & (np.abs(c) < 2.0**1000)
    safe &= (product > 2.0**-900) | (a == 0) | (b == 0)
    for index in zip(*np.nonzero(finite & ~safe), strict=True):
        result[index] = _exact_fma(float(a[index]), float(b[index]), float(c[index]))
    return result


def scaled_fma(a: Array, b: Array, c: Array, power: Array) -> Array:
    """Returns (a * b + c) * 2^power with one rounding, in f32 or f64."""
    with np.errstate(all="ignore"):
        if a.dtype == np.float32:
            product = a.astype(np.float64) * b.astype(np.float64)
            return np.ldexp(sum_to_odd(product, c.astype(np.float64)), power).astype(np.float32)
        a, b, c, power = np.broadcast_arrays(a, b, c, power)
        result = np.ldexp(_fma_f64(a, b, c), power)
        subnormal = np.abs(result) <= np.finfo(np.float64).smallest_normal
        for index in zip(*np.nonzero(subnormal), strict=True):
            first, second, addend = (float(x[index]) for x in (a, b, c))
            result[index] = _exact_fma(first, second, addend, int(power[index]))
        return result


def _exact_fma(a: float, b: float, c: float, power: int = 0) -> float:
    exact = (Fraction(a) * Fraction(b) + Fraction(c)) * Fraction(2) ** power
    if exact == 0:
        return a * b + c if a == 0 or b == 0 or c == 0 else 0.0
    try:
        # Python divides integers with one rounding.
        rounded = exact.numerator / exact.denominator
    except OverflowError:
        rounded = float("inf") if exact > 0 else -float("inf")
    return rounded if rounded or exact > 0 else -0.0


# -- conversions ---------------------------------------------------------------------------------


def round_to_bf16(values: F32) -> npt.NDArray[np.uint16]:
    """Returns the bf16 bits nearest to f32 `values`, ties to even; NaNs stay NaNs, quiet."""
    bits = values.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
    nan = np.isnan(values)
    if bool(nan.any()):
        rounded = select(nan, bits | np.uint32(0x00400000), rounded)
    return (rounded >> np.uint32(16)).astype(np.uint16)


def round_f64_to_bf16(values: F64) -> npt.NDArray[np.uint16]:
    """Returns the bf16 bits nearest to f64 `values`, rounded once, ties to even.

    Between the two lies f32, rounded to odd so that no tie is made.
    """
    near = values.astype(np.float32)
    wide = near.astype(np.float64)
    bits = near.view(np.uint32)
    toward_zero = bits - (np.abs(wide) > np.abs(values)).astype(np.uint32)
    odd = toward_zero | ((wide != values) & ~np.isnan(values)).astype(np.uint32)
    return round_to_bf16(odd.view(np.float32))


def widen_bf16(bits: npt.NDArray[np.uint16]) -> F32:
    """Returns bf16 `bits` as f32, exactly."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def within_f16(values: F16, *sources: Array) -> F16:
    """Returns f16 `values`, where infinities that come from finite `sources` are 65504.

    This is what MODE.FP16_OVFL asks for (CDNA3 ISA, table 4).
    """
    beyond = np.isinf(values)
    for source in sources:
        beyond = beyond & ~np.isinf(source)
    return np.where(beyond, np.copysign(_LARGEST_F16, values), values)


_LARGEST_F16 = np.float16(65504)


def round_to_zero_f16(values: F32) -> F16:
    """Rounds f32 `values` toward zero to f16 (`v_cvt_pkrtz_f16_f32`); overflow gives 65504."""
    nearest = round_to_f16(values)
    # A magnitude that grew goes one step back; f16 bits of one sign are ordered as integers.
    beyond = np.abs(widen_f16(nearest)) > np.abs(values)
    return (nearest.view(np.uint16) - beyond.astype(np.uint16)).view(np.float16)


def to_integer(values: Array, kind: type[np.signedinteger | np.unsignedinteger]) -> Array:
    """Rounds float `values` toward zero and saturates them to `kind`, of up to 32 bits.

    NaN gives 0.
    """
    limits = np.iinfo(kind)
    wide = np.clip(values.astype(np.float64), float(limits.min), float(limits.max))
    nan = np.isnan(wide)
    if bool(nan.any()):
        wide[nan] = 0
    return wide.astype(np.int64).astype(kind)
