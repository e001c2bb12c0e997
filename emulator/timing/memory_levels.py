# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the lines come from that miss in the L1 cache of a compute unit.

A die has an L2 cache. Behind the dies lie the Infinity Cache, which all share, and HBM. One unit is
played alone, so what the others fetch is known only by numbers:

* a workgroup touches `bytes_of_workgroup` of a buffer, and all workgroups of the grid the buffer;
* each die fetches each line at most once in each round of workgroups, and only once at all where
  workgroups of different rounds share no lines, or where the buffer fits the L2 cache;
* workgroups that share lines run side by side, and all wait for the first one's fetch. So a line
  comes from behind the L2 cache, except where the grid takes several rounds and what a die touches
  fits its L2 cache: then it does so in the first round alone;
* what fits the Infinity Cache comes from there, as it does where a kernel runs again and again.
  What does not is fetched from HBM once for all dies, in each round that needs it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..dispatch import Dispatch
from ..trace import LINE, BufferUse
from .constants import Chip
from .occupancy import Occupancy


@dataclass(frozen=True)
class MemoryShare:
    """What a compute unit gets of the memory behind its L1 cache.

    Attributes:
        far_part: the part of L1 misses that wait for what is behind the L2 cache.
        far_cycles: the latency of these, in cycles.
        far_line: the cycles that a line takes of the unit's share of what is behind the L2 cache.
        l2_line: the cycles that a line takes of the unit's share of the L2 cache.
        fits_mall: whether all that the grid touches fits the Infinity Cache.
        far_bytes: the bytes that all dies fetch.
        bytes: the bytes of memory that the grid touches.
        microseconds: the time that the traffic behind the L2 caches takes at full bandwidth.
    """

    far_part: float
    far_cycles: float
    far_line: float
    l2_line: float
    fits_mall: bool
    far_bytes: float
    bytes: float
    microseconds: float


def memory_share(
    dispatch: Dispatch, uses: Sequence[BufferUse], placed: Occupancy, chip: Chip
) -> MemoryShare:
    """Returns what a unit gets while all units that the grid reaches are busy."""
    grid, dies = math.prod(dispatch.grid), chip.dies.value
    rounds = max(1.0, grid / (chip.units.value * placed.resident))
    touched = [use.bytes_of_workgroup * grid for use in uses]
    distinct = [min(use.size, all_) for use, all_ in zip(uses, touched, strict=True)]
    l2_bytes, mall_bytes = chip.l2_mib.value * 2**20, chip.mall_mib.value * 2**20
    footprint, total = sum(distinct), max(sum(touched), 1.0)
    fits = footprint <= mall_bytes
    far = near = 0.0
    for use, all_, its in zip(uses, touched, distinct, strict=True):
        far += min(all_, its * dies * (rounds if use.shared and its > l2_bytes else 1))
        near += min(all_, its * (rounds if use.shared and its > mall_bytes else 1))
    in_l2 = rounds > 1 and min(footprint, total / dies) <= l2_bytes
    far_part = 1 / rounds if in_l2 else 1.0
    gigahertz = chip.gigahertz.value

    def cycles(moved: float, terabytes: float) -> float:
        """Returns the cycles that a line takes of a unit's share of a memory that has `moved`."""
        bytes_of_unit = terabytes * 1e3 / gigahertz / placed.active_units
        return LINE / bytes_of_unit * min(1.0, moved / (total * far_part))

    mall, hbm = cycles(far, chip.mall_terabytes.value), cycles(near, chip.hbm_terabytes.value)
    nanoseconds = (chip.mall_nanoseconds if fits else chip.hbm_nanoseconds).value
    units_of_die = math.ceil(placed.active_units / dies)
    return MemoryShare(
        far_part,
        nanoseconds * gigahertz,
        mall if fits else max(mall, hbm),
        LINE / min(chip.l1_bytes.value, chip.l2_bytes.value / units_of_die),
        fits,
        far,
        footprint,
        max(
            far / (chip.mall_terabytes.value * 1e6),
            0.0 if fits else near / (chip.hbm_terabytes.value * 1e6),
        ),
    )
