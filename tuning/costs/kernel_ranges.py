# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""For which ranges of sizes a kernel with a tile of its own is worth it.

Each of several tiles takes some time with each of several sizes. One kernel has the tile that is
the best in the geometric mean over all sizes, two kernels those that are the best over the sizes up
to some end and over the others:

    size                     16   64  256 1024 4096
    32 x 32, predicted us    19   22   63  250  987     one kernel: 64 x 64
    64 x 64                  27   27   43  159  621     two: 32 x 32 up to 64, then 128 x 128
    128 x 128                65   65   65  103  409
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations, pairwise
from math import log1p
from typing import TYPE_CHECKING

import numpy as np

from ...bank_model.quick_dataclass import dataclass

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt


Logarithms: TypeAlias = "npt.NDArray[np.float64]"
"""Those of times: one for each size, or for each tile and each size."""


def range_ends(times: Logarithms, most: int, least_gain: float) -> tuple[int, ...]:
    """Returns the ends of the ranges of sizes that have kernels of their own, but for the last one.

    An end counts the sizes before it. There are no ends where one kernel is enough.

    Args:
        times: the logarithms of the times of all tiles (rows) with all sizes (columns).
        most: the most kernels.
        least_gain: the part of the time of a range, in the geometric mean, that another kernel has
            to save.
    """
    ranges, taken = _Ranges(times), tuple[int, ...]()
    for kernels in range(2, min(most, times.shape[1]) + 1):
        ends = ranges.best(kernels)
        if ranges.gain(taken, ends) < -log1p(-least_gain):
            break
        taken = ends
    return taken


@dataclass(frozen=True)
class _Ranges:
    """What the kernels of ranges of sizes take."""

    times: Logarithms

    @cached_property
    def _best(self) -> Mapping[tuple[int, int], int]:
        """Returns the best tile of each range."""
        totals = np.cumsum(np.pad(self.times, ((0, 0), (1, 0))), axis=1)
        parts = combinations(range(totals.shape[1]), 2)
        return {(a, b): int((totals[:, b] - totals[:, a]).argmin()) for a, b in parts}

    def of(self, ends: Sequence[int]) -> Logarithms:
        """Returns what all sizes take with a kernel for each range up to an end, and for others."""
        parts = pairwise((0, *ends, self.times.shape[1]))
        return np.concatenate([self.times[self._best[part], slice(*part)] for part in parts])

    def best(self, kernels: int) -> tuple[int, ...]:
        """Returns the ends of the ranges of so many kernels that take the least in the mean."""
        inner = range(1, self.times.shape[1])
        return min(combinations(inner, kernels - 1), key=lambda ends: float(self.of(ends).sum()))

    def gain(self, before: Sequence[int], ends: Sequence[int]) -> float:
        """Returns what the range saves, in the mean of logarithms, that saves the most."""
        saved = self.of(before) - self.of(ends)
        return max(float(saved[slice(*p)].mean()) for p in pairwise((0, *ends, saved.size)))
