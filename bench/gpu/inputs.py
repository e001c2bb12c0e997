# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The inputs of timed kernels, made by the standard library alone."""

from __future__ import annotations

import hashlib
import math
import struct
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from statistics import NormalDist
from typing import Any

from .timed_kernels import ATTENTION, TimedKernel

NORMAL, LARGE, EQUAL, BOUNDED = "normal", "large", "equal", "bounded"
INPUTS = {
    NORMAL: "standard normal numbers",
    LARGE: "the same, with queries and keys 4 times and so scores 16 times as large",
    EQUAL: "the same, with keys that are all equal, so that all scores of a row are",
    BOUNDED: "random signs, and magnitudes from 0.125 to 2",
}
"""What the inputs of attentions can be; additive masks are always normal, and those of i1
random. Matmuls always get bounded ones, whose sums of products
are exact so often that a wrong element shows in the digest of the output."""

_LARGE_FACTOR = 4.0
_DRAWN = 1 << 20
"""The most numbers that are drawn for one tensor."""
_SHIFT = 7919
"""How many elements further the next repetition of these begins."""
_QUERIES, _KEYS = 0, 1
"""The numbers of those operands of an attention."""


def operand_type(shape: Sequence[int], dtype: str) -> str:
    """Returns the type of an operand, such as `2x1024x128xf16`."""
    return "x".join([*map(str, shape), dtype])


def input_bytes(kernel: TimedKernel, number: int, inputs: str) -> bytes:
    """Returns the bytes of one input of a kernel; they depend on nothing but the arguments.

    Args:
        number: which input.
        inputs: a key of `INPUTS`, which is that of attentions.
    """
    operand = kernel.operands[number]
    shape, _, dtype = operand.rpartition("x")
    seed = f"{shape}{dtype}{number}"
    if dtype == "i1":
        return bits(math.prod(kernel.shapes[number]), seed)
    if kernel.function != ATTENTION or inputs == BOUNDED:
        return bounded_bytes(operand, seed)
    factor = _LARGE_FACTOR if inputs == LARGE and number in (_QUERIES, _KEYS) else 1.0
    if inputs == EQUAL and number == _KEYS:
        rows, columns = math.prod(kernel.shapes[number][:-1]), kernel.shapes[number][-1]
        return normal_bytes(f"{columns}x{dtype}", seed, factor) * rows
    return normal_bytes(operand, seed, factor)


_HIGH_BYTES = {
    "f16": (2, 0x8F, 0x30),
    "bf16": (2, 0x81, 0x3E),
    "f32": (4, 0x81, 0x3E),
    "i8": (1, 0xFF, 0),
}
"""The bytes of an element, and which bits of the highest stay random and which are set: it keeps
its sign and the two low bits of the exponent, with mantissa bits below them in f16. In bf16 and f32
the lowest bit of the exponent is in the next byte."""


def bounded_bytes(operand: str, seed: str) -> bytes:
    """Returns the bytes of numbers with random signs and magnitudes from 0.125 to 2.

    No sum of their products overflows, and none of them is subnormal. Integers are all those of
    their type.

    Args:
        operand: the type of the tensor, such as `2048x2048xbf16`, in a type of `_HIGH_BYTES`.
        seed: equal seeds give equal numbers.
    """
    size, kept, exponent = _HIGH_BYTES[operand.rpartition("x")[2]]
    count = math.prod(map(int, operand.split("x")[:-1]))
    data = bytearray(_random_bytes(size * count, seed))
    high = slice(size - 1, None, size)
    data[high] = data[high].translate(bytes((byte & kept) | exponent for byte in range(256)))
    return bytes(data)


def bits(count: int, seed: str) -> bytes:
    """Returns bytes that are 0 or 1, as IREE takes elements of i1."""
    return _random_bytes(count, seed).translate(bytes(byte & 1 for byte in range(256)))


def normal_bytes(operand: str, seed: str, factor: float = 1.0, mean: float = 0.0) -> bytes:
    """Returns the bytes of normal numbers with the standard deviation `factor`.

    Each is one of 65,536 equally likely quantiles, the largest of which is 4.3 times `factor` above
    the mean. The standard library draws 5 million a second. So a larger tensor repeats the first
    million, each time rotated further, by a prime number: no two of its rows are equal.

    Args:
        operand: the type of the tensor, such as `2x1024x128xf16`, in f16, bf16 or f32.
        seed: equal seeds give equal numbers.
    """
    count = math.prod(map(int, operand.split("x")[:-1]))
    quantiles = _quantiles(operand.rpartition("x")[2], factor, mean)
    words = array("H", _random_bytes(2 * min(count, _DRAWN), seed))
    drawn = array(quantiles.typecode, map(quantiles.__getitem__, words))
    made = array(drawn.typecode)
    while len(made) < count:
        shift = len(made) // len(drawn) * _SHIFT % len(drawn)
        made += drawn[shift:] + drawn[:shift]
    return made[:count].tobytes()


def _random_bytes(count: int, seed: str) -> bytes:
    """Returns so many random bytes."""
    return hashlib.shake_256(seed.encode()).digest(count)


@cache
def _quantiles(dtype: str, factor: float, mean: float) -> array[Any]:
    """Returns the 65,536 quantiles of a normal distribution as words of a type, or as f32."""
    words: dict[str, Callable[[float], int]] = {"f16": _f16_word, "bf16": _bf16_word}
    quantile = NormalDist(mean, factor).inv_cdf
    numbers = (quantile((number + 0.5) / 65536) for number in range(65536))
    return array("H", map(words[dtype], numbers)) if dtype in words else array("f", numbers)


def _f16_word(value: float) -> int:
    (word,) = struct.unpack("<H", struct.pack("<e", value))
    return word


def _bf16_word(value: float) -> int:
    """Returns the high half of the float32, rounded to the nearest, ties to even."""
    (word,) = struct.unpack("<I", struct.pack("<f", value))
    return (word + 0x7FFF + (word >> 16 & 1)) >> 16
