# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the clock does to the predicted times of the 110 shapes in `timing_sweep.json`.

The clock is a factor of a predicted time, so that the cycles of a row follow from its time, and
from these the time at another clock.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ..emulator.chips import CDNA3
from ..emulator.timing.clock import matrix_loss, part_of_clock
from ..emulator.timing.constants import CHIPS
from ..sweep.rows import Row

RECORDED_LOSS = 0.45
"""What always busy matrix units took of the clock when the record was made, for all types."""
_INSTRUCTION = {"f16": ("v_mfma_f32_16x16x16_f16", 16), "f32": ("v_mfma_f32_16x16x4_f32", 32)}
"""What the attentions of a type multiply with, and the cycles of a SIMD's matrix unit."""
_SIMDS = 4
CHIP = CHIPS[CDNA3]


@dataclass(frozen=True)
class Work:
    """A row's kernel on the compute unit that has most to do.

    Attributes:
        cycles: its cycles.
        matrix: for how many of these its matrix units are busy, in the mean of its four SIMDs.
        active: the part of the compute units that have a workgroup.
    """

    cycles: float
    matrix: float
    active: float

    @classmethod
    def of(cls, row: Row) -> Work:
        """Returns the work of a row with one kernel, from its time at the clock of the record."""
        assert row.predicted_microseconds is not None
        assert row.grid is not None
        units, dies = int(CHIP.units.value), int(CHIP.dies.value)
        share = math.ceil(math.ceil(row.workgroups / dies) / (units // dies))
        executed = row.grid["SQ_INSTS_MFMA"] / row.workgroups * share
        matrix = executed * _INSTRUCTION[row.dtype][1] / _SIMDS
        active = min(row.workgroups, units) / units
        played = row.predicted_microseconds["expected"] - CHIP.launch_microseconds.value
        at_most = played * CHIP.gigahertz.value * 1e3
        # cycles / part_of_clock(loss, matrix / cycles, active) is `at_most`.
        slower = RECORDED_LOSS * active * matrix
        cycles = (at_most + math.sqrt(at_most**2 - 4 * at_most * slower)) / 2
        return cls(cycles, matrix, active)

    def microseconds(self, loss: float) -> float:
        """Returns the time where always busy matrix units take `loss` of the clock."""
        kept = part_of_clock(loss, self.matrix / self.cycles, self.active)
        gigahertz = CHIP.gigahertz.value * kept
        return self.cycles / gigahertz / 1e3 + CHIP.launch_microseconds.value


def loss_of(dtype: str, on_zeros: bool = False) -> float:
    """Returns what always busy matrix units take of the clock with attentions of a type."""
    part = CHIP.clock_on_zeros.value if on_zeros else 1.0
    return part * matrix_loss(_INSTRUCTION[dtype][0], CHIP)


def median_without_layouts(rows: Sequence[Row], dtype: str, loss: float) -> float:
    """Returns the median of the times without layouts over those with padding."""
    times = {
        (row.kernel, row.mode): Work.of(row).microseconds(loss)
        for row in rows
        if row.dtype == dtype and row.mode in ("none", "stock")
    }
    kernels = {kernel for kernel, _ in times}
    return statistics.median(times[each, "none"] / times[each, "stock"] for each in kernels)
