# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long a matmul takes of which each element of the result has a workgroup of its own.

IREE computes matmuls so whose number of rows only the program knows: the lanes of a workgroup share
a sum, and read what they multiply from global memory. Of a row of A all workgroups read the same.
Of B a workgroup reads a column. Where columns are not side by side in memory, that takes a sector
of the memory for each element:

    B [columns, summed]     each element of B is read once for each row of the result
    B [summed, columns]     8 elements of f32 are read for each that is multiplied

So workgroups take a latency of the memory or what their reads take, whichever is longer, and the
kernel takes some latencies to begin and to end:

    waves = workgroups / (multiprocessors * those that one of them holds)
    cycles of a wave = sqrt((2.4 * wait_cycles)^2 + (bytes of a multiprocessor / its share)^2)
    cycles = launch_cycles + 4 * wait_cycles + waves * cycles of a wave

Predicted times of f32 with 1, 4 and 16 rows, over those measured on an H100:

    4096 x 4096, B by columns    0.78, 0.80, 0.82
    768 x 3072, B by columns     0.86, 0.95, 1.03
    1024 x 1024, B by columns    0.98, 1.06, 1.19
    4096 x 4096, B by rows       0.86, 0.85, 0.84
    768 x 3072, B by rows        0.90, 0.92, 0.93
"""

from __future__ import annotations

from math import hypot

from ...bank_model.quick_tuple import NamedTuple
from .processors import Processor

_OUTER_LATENCIES = 4
"""How many latencies of the memory a kernel takes beside those of its waves."""
_LATENCIES = 2.4
"""How many a wave of workgroups takes."""
_SECTOR_BYTES = 32
"""What global memory moves at least (CUDA C++ Best Practices Guide, coalesced access)."""
_READ_AT_ONCE = 4
"""The summed elements that a lane reads at once."""
_MOST_LANES = 1024


class RowSums(NamedTuple):
    """A matmul each element of whose result has a workgroup.

    Attributes:
        rows, columns, summed: its sizes; all elements of a batch count as rows.
        is_strided: whether summed elements of B are not side by side in memory.
    """

    rows: int
    columns: int
    summed: int
    is_strided: bool
    element_bytes: int = 4

    def microseconds(self, processor: Processor) -> float:
        """Returns the predicted time of the kernel."""
        warps = self._warps(processor.lanes)
        held = processor.max_warps // warps
        units = processor.multiprocessors
        element = _SECTOR_BYTES if self.is_strided else self.element_bytes
        moved = held * self.summed * element / (processor.memory_bytes_a_cycle / units)
        wave = hypot(_LATENCIES * processor.wait_cycles, moved)
        waves = self.rows * self.columns / (units * held)
        outer = processor.launch_cycles + _OUTER_LATENCIES * processor.wait_cycles
        return (outer + waves * wave) / processor.megahertz

    def _warps(self, lanes: int) -> int:
        """Returns the warps of a workgroup, whose lanes read the sum at once where they can."""
        wanted = self.summed // _READ_AT_ONCE // lanes
        return max(1, min(wanted, _MOST_LANES // lanes))
