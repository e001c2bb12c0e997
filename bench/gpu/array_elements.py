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


def values(elements: Elements) -> F64:
    """Returns the numbers that the elements are."""
    if elements.dtype == np.uint16:
        elements = (elements.astype(np.uint32) << 16).view(np.float32)
    return elements.astype(np.float64)
