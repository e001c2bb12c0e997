# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which elements of a lane lie side by side, so that one access takes them.

Elements have the numbers in which they follow each other in memory (`memory_order.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..bank_model.layouts import MAX_USEFUL_ALIGNMENT

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


class Vectors(NamedTuple):
    """What each lane touches in each step, steps that follow each other joined to vectors.

    Attributes:
        firsts: [vectors, ...], the first element of each.
        active: likewise, which lanes take part.
        count: the elements of a vector.
    """

    firsts: IntArray
    active: BoolArray
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]


def joined(elements: IntArray, active: BoolArray, count: int) -> Vectors | None:
    """Returns vectors of `count` elements; None where not all lanes have such neighbours.

    Args:
        elements: [steps, waves, lanes], the element that each lane touches in each step.
        active: likewise, which lanes take part.
    """
    for ordered, mask in _orders(elements, active):
        if _are_neighbours(ordered, mask, count):
            return Vectors(ordered[::count], mask[::count], count)
    return None


def widest(elements: IntArray, active: BoolArray, element_bits: int) -> Vectors:
    """Returns vectors of at most 128 bits, of as many elements as possible, a power of two.

    The arguments are those of `joined`. Every vector begins at a multiple of its size, as an
    instruction of its width needs it.
    """
    for count in (32, 16, 8, 4, 2):
        if count * element_bits > MAX_USEFUL_ALIGNMENT * 8:
            continue
        found = joined(elements, active, count)
        if found is not None and not (found.firsts[found.active] % count).any():
            return found
    return Vectors(elements, active, 1)


def _orders(elements: IntArray, active: BoolArray) -> Iterator[tuple[IntArray, BoolArray]]:
    """Yields the steps in their own order, and in that of memory, in which the code may do them."""
    yield elements, active
    whole = np.argwhere(active.all(axis=0))
    if len(whole):
        wave, lane = whole[0]
        steps = np.argsort(elements[:, wave, lane], kind="stable")
        if (np.diff(steps) != 1).any():
            yield elements[steps], active[steps]


def _are_neighbours(elements: IntArray, active: BoolArray, count: int) -> bool:
    if len(elements) % count:
        return False
    vectors = elements.reshape(-1, count, *elements.shape[1:])
    masks = active.reshape(vectors.shape)
    if (masks != masks[:, :1]).any():
        return False
    steps = np.arange(count).reshape(1, -1, *[1] * (elements.ndim - 1))
    return not (masks & (vectors != vectors[:, :1] + steps)).any()
