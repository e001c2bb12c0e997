# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The clock that a GPU keeps while its matrix units multiply.

Power limits it: the more of the time the matrix units of all compute units are busy, the lower the
clock. How much lower depends on what they multiply. Products of f32 take less of the clock than
those of f16, and have an eighth of their operations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ..assembly import Kernel
from ..trace import WorkgroupTrace
from .constants import Chip
from .instruction_needs import Code, Column, Kind

_MULTIPLIED = re.compile(r"\d+x\d+x\d+_?(?:\d+b_)?(f16|f32|fp8|bf8|f8f6f4)(?:_|$)")
"""The type of the operands behind the sizes of a matrix instruction, as in `_16x16x4_f32`."""
_LOSSES: Mapping[str, str] = MappingProxyType(
    {
        "f16": "clock_per_half",
        "f32": "clock_per_single",
        **dict.fromkeys(("fp8", "bf8", "f8f6f4"), "clock_per_byte"),
    }
)
"""For each type the field of `Chip`; other types have that of bf16."""


def clock_loss(kernel: Kernel, code: Code, traces: Sequence[WorkgroupTrace], chip: Chip) -> float:
    """Returns the part of the clock that power takes where all matrix units are always busy.

    It is the mean over the matrix instructions that recorded waves executed, by their cycles; 0.0
    where there are none.
    """
    executed = np.zeros(len(code.table), np.int64)
    for trace in traces:
        for wave in trace.waves:
            executed += np.bincount(wave.instructions, minlength=len(executed))
    cycles = executed * code.table[:, Column.FIRST] * (code.kind == Kind.MATRIX)
    busy = np.flatnonzero(cycles)
    losses = [matrix_loss(kernel.instructions[index].mnemonic, chip) for index in busy]
    return float(np.average(losses, weights=cycles[busy])) if len(busy) else 0.0


def matrix_loss(mnemonic: str, chip: Chip) -> float:
    """Returns the part of the clock that power takes of units busy with one instruction alone."""
    found = _MULTIPLIED.search(mnemonic)
    constant = _LOSSES[found[1]] if found else "clock_per_matrix"
    return getattr(chip, constant).value


def part_of_clock(loss: float, busy: float, active: float) -> float:
    """Returns the part of its highest clock that a GPU keeps.

    Args:
        loss: what `clock_loss` returns.
        busy: for which part of the cycles the matrix units of a compute unit are busy.
        active: the part of the compute units that have a workgroup.
    """
    return 1 - loss * busy * active
