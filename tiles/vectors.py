# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which elements of a lane lie side by side, so that one access takes them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..bank_model.layouts import MAX_USEFUL_ALIGNMENT

IntArray = npt.NDArray[np.int64]


def are_neighbours(elements: IntArray, active: npt.NDArray[np.bool_], count: int) -> bool:
    """Returns whether every `count` steps are neighbours, in all lanes that take part.

    Args:
        elements: [steps, ...], the element that each lane touches in each step.
        active: likewise, which lanes take part.
    """
    if len(elements) % count:
        return False
    vectors = elements.reshape(-1, count, *elements.shape[1:])
    masks = active.reshape(vectors.shape)
    if (masks != masks[:, :1]).any():
        return False
    steps = np.arange(count).reshape(1, -1, *[1] * (elements.ndim - 1))
    return not (masks & (vectors != vectors[:, :1] + steps)).any()


def widest_vector(elements: IntArray, active: npt.NDArray[np.bool_], element_bits: int) -> int:
    """Returns how many steps one access of at most 128 bits can take, a power of two.

    The arguments are those of `are_neighbours`. Every vector begins at a multiple of its size, as
    an instruction of its width needs it.
    """
    for count in (32, 16, 8, 4, 2):
        fits = count * element_bits <= MAX_USEFUL_ALIGNMENT * 8
        if fits and are_neighbours(elements, active, count):
            firsts = elements[::count][active[::count]]
            if not (firsts % count).any():
                return count
    return 1
