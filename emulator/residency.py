# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many workgroups of a launch a chip runs at once.

A workgroup that waits for one that has not started yet waits for ever, so that programs whose
workgroups wait for each other count on this number.
"""

from __future__ import annotations

from typing import NamedTuple

from ..bank_model.lds_tables import lds_of
from .chips import CDNA2, CDNA3, CDNA4
from .dispatch import Dispatch


class ComputeUnits(NamedTuple):
    """The places for waves that a chip has.

    Attributes:
        units: the compute units of a product with the chip.
        simds: the SIMDs of a unit.
        simd_waves: the most waves of a SIMD.
        registers: the vector registers of a SIMD for each of `lanes` lanes.
        granule: the registers of a lane come in blocks of so many.
        lds_granule: the LDS of a workgroup comes in blocks of so many bytes.
        lanes: the lanes for which `registers` and `granule` hold; waves of twice as many lanes
            have half of both.
        dies: the accelerator dies to which the units belong.
    """

    units: int
    simds: int = 4
    simd_waves: int = 8
    registers: int = 512
    granule: int = 8
    lds_granule: int = 512
    lanes: int = 64
    dies: int = 1


def _rdna(units: int, registers: int) -> ComputeUnits:
    """Returns a chip of RDNA3 or later, whose compute units are the halves of a WGP."""
    return ComputeUnits(units, 2, 16, registers, registers // 64, 1024, 32)


COMPUTE_UNITS = {
    CDNA2: ComputeUnits(104),
    CDNA3: ComputeUnits(304, dies=8),
    CDNA4: ComputeUnits(256, lds_granule=1280, dies=8),
    "gfx1100": _rdna(96, 1536),
    "gfx1101": _rdna(60, 1536),
    "gfx1102": _rdna(32, 1024),
    "gfx1103": _rdna(12, 1024),
    "gfx1150": _rdna(16, 1024),
    "gfx1151": _rdna(40, 1536),
    "gfx1200": _rdna(32, 1536),
    "gfx1201": _rdna(64, 1536),
    "gfx1250": ComputeUnits(256, 4, 16, 1024, 16, 1024, 32),
}
"""The places for waves by chip.

Those of a unit are those of LLVM's tables (AMDGPUBaseInfo, `getTotalNumVGPRs`,
`getVGPRAllocGranule`, `getMaxWavesPerEU`). The units are those of a product, by AMD's data sheets:
MI210, MI300X, MI355X, RX 7900 XTX, RX 7800 XT, RX 7600, Radeon 780M, 890M and 8060S, RX 9060 XT and
RX 9070 XT. Of gfx1250 nothing is published; its row is assumed.
"""


class Residency(NamedTuple):
    """How many workgroups run on a compute unit at once, by what limits them."""

    lds: int
    registers: int
    wave_slots: int

    @property
    def workgroups(self) -> int:
        """Returns the most workgroups of a compute unit, at least one."""
        return max(1, min(self))


def residency(dispatch: Dispatch) -> Residency:
    """Returns how many workgroups of a launch a compute unit of its chip holds."""
    kernel, waves = dispatch.kernel, dispatch.waves_per_workgroup
    unit = COMPUTE_UNITS[kernel.arch]
    halves = kernel.lanes // unit.lanes
    granule, registers = unit.granule // halves, unit.registers // halves
    blocks = -(-max(kernel.directives.get("next_free_vgpr", 1), 1) // granule)
    lds = -(-max(dispatch.lds_bytes, 1) // unit.lds_granule) * unit.lds_granule
    return Residency(
        lds_of(kernel.arch).workgroup_bytes // lds,
        unit.simds * (registers // (blocks * granule)) // waves,
        unit.simds * unit.simd_waves // waves,
    )


def resident_workgroups(dispatch: Dispatch) -> int:
    """Returns how many workgroups of a launch run on its chip at once."""
    return COMPUTE_UNITS[dispatch.kernel.arch].units * residency(dispatch).workgroups
