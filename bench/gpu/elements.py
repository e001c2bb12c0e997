# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The elements of tensors in NumPy.

NumPy has no bf16: arrays of uint16 hold the bits of its numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Elements = npt.NDArray[Any]
"""Floats, integers, booleans, or uint16 that are words of bf16."""
F64 = npt.NDArray[np.float64]

STORAGE: dict[str, type[np.generic]] = {
    "f16": np.float16,
    "bf16": np.uint16,
    "f32": np.float32,
    "i1": np.bool_,
    "i8": np.int8,
    "i32": np.int32,
}
"""What NumPy holds the elements of a type in."""
EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7}
"""The distance from 1 to the next number of a type."""


def values(elements: Elements) -> F64:
    """Returns the numbers that the elements are."""
    if elements.dtype == np.uint16:
        elements = (elements.astype(np.uint32) << 16).view(np.float32)
    return elements.astype(np.float64)


def rounded(numbers: npt.NDArray[np.floating[Any]], dtype: str) -> Elements:
    """Returns numbers rounded to the nearest of `dtype`, ties to even.

    A NaN stays one if it is what arithmetic makes: only the highest bit of its mantissa is set.
    """
    if dtype in ("f16", "f32"):
        return numbers.astype(STORAGE[dtype])
    words = numbers.astype(np.float32).view(np.uint32)
    return ((words + 0x7FFF + (words >> 16 & 1)) >> 16).astype(np.uint16)
