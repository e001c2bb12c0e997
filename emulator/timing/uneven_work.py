# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grids whose workgroups execute more or fewer instructions than those that were recorded.

Causal attention is such a grid, as are ragged ends. A workgroup is taken to last as long as a
recorded one, times the ratio of their executed instructions.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..trace import WorkgroupTrace
from .constants import Chip
from .occupancy import Occupancy

Work = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Unevenness:
    """How a grid differs from one in which all workgroups are like those that were recorded.

    Attributes:
        time: the ratio of the times that the busiest compute units take.
        work: the ratio of all executed instructions.
    """

    time: float = 1.0
    work: float = 1.0


def unevenness(
    work: Work, traces: Sequence[WorkgroupTrace], placed: Occupancy, chip: Chip
) -> Unevenness:
    """Returns how uneven a grid is.

    Args:
        work: [workgroups], the instructions that the waves of each workgroup of the grid executed,
            in the order of their start.
    """
    recorded = float(np.mean([work[trace.number] for trace in traces]))
    if not recorded or (work == work[0]).all():
        return Unevenness()
    alike = np.full(len(work), recorded)
    times = (_busiest(each, placed, chip) for each in (work.astype(np.float64), alike))
    return Unevenness(next(times) / next(times), float(work.mean()) / recorded)


def _busiest(work: npt.NDArray[np.float64], placed: Occupancy, chip: Chip) -> float:
    """Returns when the last workgroup ends, in units of work.

    Workgroups go to the dies in turn. On a die each goes to the slot that is free first.
    """
    dies = int(chip.dies.value)
    slots = int(chip.units.value) // dies * placed.resident
    ends: list[float] = []
    for die in range(dies):
        free = [0.0] * slots
        for each in work[die::dies].tolist():
            heapq.heapreplace(free, free[0] + each)
        ends.append(max(free))
    return max(ends)
