# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How well predicted times order tiles, compared with measured times."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """One kernel's tiles.

    Attributes:
        measured, predicted: microseconds by the tiles' labels; the keys are the same.
        taken: what the kernel takes as the compiler chooses its tile; None if that is not known.
    """

    kernel: str
    measured: dict[str, float]
    predicted: dict[str, float]
    taken: float | None

    @property
    def best(self) -> str:
        """Returns the tile of the least measured time."""
        return min(self.measured, key=lambda tile: self.measured[tile])

    @property
    def foreseen(self) -> str:
        """Returns the tile of the least predicted time."""
        return min(self.predicted, key=lambda tile: self.predicted[tile])

    @property
    def foreseen_loss(self) -> float:
        """Returns how many times the least measured time the predicted best tile takes."""
        return self.measured[self.foreseen] / self.measured[self.best]

    @property
    def taken_loss(self) -> float | None:
        """Returns how many times the least measured time the compiler's own choice takes."""
        return None if self.taken is None else self.taken / self.measured[self.best]

    @property
    def correlation(self) -> float:
        """Returns the rank correlation of predicted and measured times."""
        tiles = list(self.measured)
        return rank_correlation(
            [self.predicted[tile] for tile in tiles], [self.measured[tile] for tile in tiles]
        )

    @property
    def deviations(self) -> list[float]:
        """Returns the logarithms of predicted over measured times, where a time is predicted."""
        return [
            math.log(self.predicted[tile] / time)
            for tile, time in self.measured.items()
            if math.isfinite(self.predicted[tile])
        ]


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Returns Spearman's correlation: 1 for the same order, -1 for the opposite one.

    It is the correlation of the ranks, where equal numbers share the mean of their ranks. It is
    not a number where there are fewer than two, or where all of one side are equal.
    """
    ranks = [_ranks(one), _ranks(other)]
    if any(len({*each}) < 2 for each in ranks):
        return math.nan
    return statistics.correlation(*ranks)


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    first = {value: place for place, value in reversed([*enumerate(ordered)])}
    count = {value: ordered.count(value) for value in first}
    return [first[value] + (count[value] - 1) / 2 for value in values]


def correlation(found: Sequence[Comparison]) -> float:
    """Returns the rank correlation of predicted and measured times over all pairs."""
    pairs = [(each.predicted[tile], time) for each in found for tile, time in each.measured.items()]
    return rank_correlation([one for one, _ in pairs], [other for _, other in pairs])


def mean_logarithmic_error(comparisons: Sequence[Comparison]) -> float:
    """Returns the root mean square of the logarithms of predicted over measured times."""
    deviations = [each for comparison in comparisons for each in comparison.deviations]
    return math.sqrt(math.fsum(each**2 for each in deviations) / len(deviations))


def ratio_error(comparisons: Sequence[Comparison]) -> float:
    """Returns the standard deviation of those logarithms among the tiles of one kernel.

    It says how far the ratio of two tiles' times may be off: what is predicted too long by the same
    factor for all tiles of a kernel does not count.
    """
    kernels = [comparison.deviations for comparison in comparisons]
    means = [statistics.fmean(each) for each in kernels]
    squares = [(x - mean) ** 2 for each, mean in zip(kernels, means, strict=True) for x in each]
    return math.sqrt(math.fsum(squares) / (len(squares) - len(kernels)))
