# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many workgroups of a kernel run on a compute unit at once, and what limits that."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..dispatch import Dispatch
from ..residency import COMPUTE_UNITS, residency
from .constants import Chip


@dataclass(frozen=True)
class Occupancy:
    """The workgroups of a dispatch on a compute unit.

    Attributes:
        resident: the most that run at once on one unit.
        limit: what limits them: `LDS`, `registers`, `wave slots` or `grid`.
        waves_of_simd: the mean number of waves of a SIMD while a unit is full.
        share: how many workgroups the busiest unit gets in all.
        active_units: how many units get one.
    """

    resident: int
    limit: str
    waves_of_simd: float
    share: int
    active_units: int


def occupancy(dispatch: Dispatch, chip: Chip) -> Occupancy:
    """Returns how the workgroups of a dispatch lie on the compute units.

    A wave takes registers in blocks of 8 of the 512 that each lane of a SIMD has, a workgroup takes
    LDS in blocks of 512 bytes (gfx950: 1280), and a SIMD has at most 8 waves (LLVM, AMDGPU target).
    Workgroups go to the dies in turn, and on a die to its units in turn.
    """
    waves, simds = dispatch.waves_per_workgroup, COMPUTE_UNITS[dispatch.kernel.arch].simds
    unit = residency(dispatch)
    limits = {"LDS": unit.lds, "registers": unit.registers, "wave slots": unit.wave_slots}
    units, dies = int(chip.units.value), int(chip.dies.value)
    grid = math.prod(dispatch.grid)
    share = math.ceil(math.ceil(grid / dies) / (units // dies))
    limits["grid"] = share
    limit = min(limits, key=lambda name: (limits[name], name != "grid"))
    resident = max(1, limits[limit])
    return Occupancy(resident, limit, resident * waves / simds, share, min(grid, units))
