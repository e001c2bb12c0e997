# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What was measured, as a file keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..documents import Document
from .timed_kernels import TimedKernel


@dataclass(frozen=True)
class Figures:
    """What `ncu` measured of a kernel: the medians of its launches.

    Attributes:
        milliseconds: the time of the kernel alone.
        instructions: the instructions that all warps executed.
        ldmatrix: those of them that are `ldmatrix`.
        shared_loads: those that load from shared memory otherwise.
        load_conflicts: the cycles that bank conflicts of loads cost.
        store_conflicts: the cycles that bank conflicts of stores cost.
        registers: the registers of a thread.
        occupancy: the active warps, in percent of the most that the GPU holds.
        workgroups: how many the grid has; None in records that do not say it.
    """

    milliseconds: float
    instructions: int
    ldmatrix: int
    shared_loads: int
    load_conflicts: int
    store_conflicts: int
    registers: int
    occupancy: float
    workgroups: int | None = None


@dataclass(frozen=True)
class Errors:
    """How far an output is from float64, over the elements that were compared.

    Attributes:
        rms: the root mean square of the errors.
        largest: the largest magnitude of an error.
    """

    rms: float
    largest: float


@dataclass(frozen=True)
class Row:
    """One kernel in one mode.

    Attributes:
        module: the digest of the module that ran; empty in records that do not say it.
        output: the digest of the output.
        errors: the errors of the output, where they were taken.
    """

    kernel: str
    mode: str
    module: str
    output: str
    figures: Figures
    errors: Errors | None = None


@dataclass(frozen=True)
class Reference:
    """The time of another library at what a kernel computes.

    Attributes:
        series: which library, a key of `references.SERIES`.
        milliseconds: the time of all its kernels together; None if it refuses the shape.
    """

    kernel: str
    series: str
    milliseconds: float | None


@dataclass(frozen=True)
class Failure:
    """A kernel that could not be measured in a mode, or by another library, and why."""

    kernel: str
    series: str
    message: str


@dataclass(frozen=True)
class Conditions:
    """What times of one record have in common.

    Attributes:
        device: the name of the GPU.
        target: the architecture that the kernels were compiled for.
        inputs: what the inputs of attentions are, a key of `inputs.INPUTS`.
        clocks: what happens to the clocks, a key of `profiler.CLOCKS`.
    """

    device: str
    target: str
    inputs: str
    clocks: str


@dataclass(frozen=True)
class Record(Document):
    """What is known of the kernels of a directory.

    Attributes:
        date: the day of the last run, as in 2026-11-22.
        versions: the versions of what compiled, ran and measured.
        rows: in the order of the kernels and of their modes.
    """

    conditions: Conditions
    date: str
    versions: dict[str, str]
    kernels: tuple[TimedKernel, ...]
    rows: tuple[Row, ...]
    references: tuple[Reference, ...] = ()
    failures: tuple[Failure, ...] = ()

    def by_case(self) -> dict[tuple[str, str], Row]:
        """Returns the rows by kernel and mode."""
        return {(row.kernel, row.mode): row for row in self.rows}

    def milliseconds(self) -> dict[tuple[str, str], float]:
        """Returns the known times by kernel and series: a mode, or another library."""
        times = {case: row.figures.milliseconds for case, row in self.by_case().items()}
        for each in self.references:
            if each.milliseconds is not None:
                times[each.kernel, each.series] = each.milliseconds
        return times


def differing_rows(kernels: Sequence[TimedKernel], rows: Iterable[Row]) -> list[Row]:
    """Returns the rows whose outputs are not bitwise equal to those of the kernel's first mode.

    A row whose first mode was not measured is among them: nothing says that it is right.
    """
    rows = list(rows)
    outputs = {(row.kernel, row.mode): row.output for row in rows}
    first = {kernel.name: outputs.get((kernel.name, kernel.modes[0])) for kernel in kernels}
    return [row for row in rows if row.output != first.get(row.kernel)]


def wrong_rows(kernels: Sequence[TimedKernel], rows: Iterable[Row]) -> list[Row]:
    """Returns the rows whose outputs differ though their mode keeps every bit."""
    inexact = {(kernel.name, mode) for kernel in kernels for mode in kernel.inexact}
    different = differing_rows(kernels, rows)
    return [row for row in different if (row.kernel, row.mode) not in inexact]
