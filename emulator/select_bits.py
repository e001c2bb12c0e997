# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choosing between arrays lane by lane, and between halves of words.

`np.where` branches per element, which costs up to ten times an addition when the mask is irregular.
On the bits it is arithmetic: no ^ ((no ^ yes) & mask).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def bits_view(values: Array) -> Array:
    """Returns the bits of `values` as unsigned integers of their width."""
    return values.view(_UNSIGNED[values.dtype.itemsize])


def select(mask: npt.NDArray[np.bool_], yes: Array, no: Array) -> Array:
    """Takes `yes` where `mask` is set, else `no`; both have one type, and all three broadcast."""
    yes_bits, no_bits = bits_view(yes), bits_view(no)
    ones = np.negative(mask.view(np.int8)).astype(f"i{yes_bits.itemsize}").view(yes_bits.dtype)
    return (no_bits ^ ((no_bits ^ yes_bits) & ones)).view(yes.dtype)


def look_up(table: Array, index: Array) -> Array:
    """Returns the elements of a table that `index` names."""
    if isinstance(index, np.ndarray):
        return table.take(index)
    # A value that becomes machine code (`compiled/traced.py`).
    return index.of_table(table)


def merge_half(old: Array, values: Array, half: int) -> Array:
    """Returns u32 `old`, whose low (0) or high (1) half becomes the low half of `values`."""
    if half:
        return old & np.uint32(0xFFFF) | values << np.uint32(16)
    return old & np.uint32(0xFFFF0000) | values & np.uint32(0xFFFF)
