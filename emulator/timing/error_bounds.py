# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far predictions may be off, by what kind of kernel it is.

The factors are the smallest and the largest ratio of published to predicted time among the kernels
of `bench/results/timing_validation.json` to which nothing was fitted.
`test/unit/bench/test_timing_validation.py` holds them to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..assembly import Kernel
from ..counters import instruction_class

SHORT_MICROSECONDS = 100.0
"""Kernels below this predicted time are compared with less certainty: their measured times hold
more of what a call takes besides."""


@dataclass(frozen=True)
class ErrorBounds:
    """The bounds of a predicted time.

    Attributes:
        low: the factor from the expected time to the lower bound.
        high: the factor to the upper bound.
        source: what the bounds rest on, in a sentence.
    """

    low: float
    high: float
    source: str


LONG = ErrorBounds(
    *(0.87, 1.27),
    "The bounds are those of 9 published times of bf16 matmuls on an MI355X; attention was "
    "compared by counters of one kernel alone.",
)
SHORT = ErrorBounds(
    *(0.87, 1.43),
    "The bounds are those of 15 published times of bf16 matmuls on an MI355X, short ones among "
    "them; attention was compared by counters of one kernel alone.",
)
NOT_VALIDATED = ErrorBounds(
    *(0.5, 2.0),
    "No kernel without matrix instructions was compared with a measured time: the bounds are a "
    "guess.",
)


def bounds_of(kernel: Kernel, microseconds: float) -> ErrorBounds:
    """Returns the bounds for a kernel that is expected to take so long."""
    if not any(instruction_class(each) == "MFMA" for each in kernel.instructions):
        return NOT_VALIDATED
    return SHORT if microseconds < SHORT_MICROSECONDS else LONG
