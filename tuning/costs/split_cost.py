# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long it takes to merge the parts of an attention whose keys were split over workgroups.

With s splits, a workgroup goes over a part of the keys, and writes three things for its rows: the
output that is not divided by the sum of exponentials yet, that sum, and the maximum of the scores,
all of them f32. A second kernel reads the s parts of a row, and writes the output. It does nothing
but that, so that it takes as long as memory does, and as a load takes to arrive.

**Worked example.** 8 x 128 rows of 128 columns in f16, 16 splits, on an H200: the parts are 8.5 MB,
which are written and read, and the output is 0.3 MB. At 3,200 bytes a cycle these are 5,410 cycles,
and with the launch of the kernel and its loads 8,810: 5.9 us of 1,500 MHz.
"""

from __future__ import annotations

from .processors import Processor

_PART_BYTES = 4
_STATISTICS = 2
"""The sum and the maximum of a row."""
_LOAD_CYCLES = 1400.0
"""From the launch of a merging workgroup until its first loads have arrived and it has ended."""


def merge_microseconds(
    rows: int, columns: int, splits: int, element_bytes: int, processor: Processor
) -> float:
    """Returns the predicted time of a merge, and of what was written for it.

    Args:
        rows: all rows of the output, those of all heads and batches.
        columns: the columns of the output.
        splits: the parts of a row.
        element_bytes: the bytes of an element of the output.
    """
    parts = rows * splits * (columns + _STATISTICS) * _PART_BYTES
    return copy_microseconds(2 * parts + rows * columns * element_bytes, processor)


def copy_microseconds(moved: int, processor: Processor) -> float:
    """Returns the predicted time of a kernel that does nothing but read and write so many bytes."""
    cycles = processor.launch_cycles + _LOAD_CYCLES + moved / processor.memory_bytes_a_cycle
    return cycles / processor.megahertz


def memory_microseconds(moved: int, processor: Processor) -> float:
    """Returns the microseconds that memory takes at least to move so many bytes."""
    return moved / processor.memory_bytes_a_cycle / processor.megahertz
