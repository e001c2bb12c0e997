# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a matmul or convolution on the emulator, whole or by sample, and finds what was written."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..passes.decisions import DecisionLog
from ..runtime.emulated_device import EmulatedDevice
from ..runtime.emulated_run import run_emulated
from ..runtime.host_program import DispatchCommand, HostProgramError
from ..sweep.cases import target_flags
from ..sweep.kernels import Mask, Product

Array = npt.NDArray[Any]

WHOLE_GRID = 16
"""Of grids with more workgroups only the first and the last run."""

_UNWRITTEN = 0x5A
"""Bytes of fresh memory. Four of them are 1.5e9 as i32 and 1.5e16 as f32: no sum comes near."""


@dataclass(frozen=True)
class Run:
    """What a kernel gives on one chip, under one mitigation.

    Attributes:
        written: the elements of the output that the emulated workgroups wrote.
        counters: summed over these workgroups.
        lds_bytes: of a workgroup, the largest if there are several dispatches.
        workgroups: of the whole grids.
        emulated: how many of them ran.
    """

    output: Array
    written: Mask
    counters: Mapping[str, int]
    lds_bytes: int
    workgroups: int
    emulated: int
    decisions: DecisionLog


@dataclass
class MarkingDevice(EmulatedDevice):
    """Marks fresh memory, and runs small grids whole and two workgroups of large ones."""

    whole_grid: int = WHOLE_GRID

    def allocate(self, size: int) -> int:
        """Reserves memory that holds marks, not zeros."""
        address = super().allocate(size)
        self.write(address, np.full(size, _UNWRITTEN, np.uint8))
        return address

    def dispatch(self, command: DispatchCommand) -> None:
        """Runs a kernel, whole or by sample."""
        self.sample = None if math.prod(command.workgroups) <= self.whole_grid else 2
        super().dispatch(command)


def emulate(
    kernel: Product,
    chip: str,
    mitigation: str,
    operands: Sequence[Array],
    whole_grid: int = WHOLE_GRID,
) -> Run:
    """Compiles and runs a kernel; grids of up to `whole_grid` workgroups run whole.

    Raises:
        RuntimeError, ValueError: it does not compile, or cannot be run; the message says why.
    """
    log = DecisionLog()
    run = run_emulated(
        kernel.source(),
        target_flags(chip),
        mitigation,
        operands,
        decisions=log,
        device=partial(MarkingDevice, whole_grid=whole_grid),
    )
    (output,) = run.outputs
    if len(run.records) > 1 and run.emulated < run.workgroups:
        # A later dispatch would have read what an earlier one did not write.
        raise HostProgramError(f"{len(run.records)} dispatches cannot be sampled")
    marks = np.full(output.itemsize, _UNWRITTEN, np.uint8).view(output.dtype)
    return Run(
        output=output,
        written=output.view(f"u{output.itemsize}") != marks.view(f"u{output.itemsize}"),
        counters=run.counters,
        lds_bytes=run.lds_bytes,
        workgroups=run.workgroups,
        emulated=run.emulated,
        decisions=log,
    )


TOLERANCE = {"i32": 0.0, "f32": 2.0**-20}
"""By the output's type, relative to the sum of the products' magnitudes: integers are exact, sums
in f32 are off by its last few bits."""


def largest_error(kernel: Product, operands: Sequence[Array], run: Run) -> float:
    """Of what was written, against float64; each relative to the sum of its products' magnitudes.

    A term that is missing or wrong is far beyond the tolerance then, however long the sum is.
    """
    a, b = (each.astype(np.float64) for each in operands)
    expected = kernel.product(a, b, run.written)
    magnitude = kernel.product(np.abs(a), np.abs(b), run.written)
    difference = np.abs(run.output[run.written].astype(np.float64) - expected)
    # Where the magnitude is 0 all products are, and so must be the output.
    relative = difference / np.where(magnitude > 0, magnitude, np.finfo(np.float64).tiny)
    return float(relative.max(initial=0.0)) if np.isfinite(relative).all() else math.inf
