# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the times of a record say: ratios, geometric means, and the rows that fail."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from .modes import EXACT, MODES, NOT_SLOWER, STOCK, mode_and_target
from .record import Record, Row, wrong_rows
from .references import CUBLAS, CUDNN, EFFICIENT, FLASH, SERIES
from .timed_kernels import ATTENTION, MATMUL, TimedKernel

NOISE = 1.01
"""How many times another time a time may be without being slower.

Two runs of the same 0.05 ms kernel differ by 1 %, and of longer ones by a tenth of that.
"""
LIBRARY = "library"
"""What a kernel's time is compared with that is compared with its library's, whichever that is."""
MOST_ERROR = 1.1
"""How many times stock's an error of the mode `auto/fast` may be."""
MOST_ERROR_OVER_SCALAR = 1.5
"""The same where stock multiplies element by element.

Scalar kernels keep a row's weights in f32. Matrix instructions take them rounded to the type of V,
whose errors are as large as those of rounding the output: both together are up to 1.41 times one.
"""

RMS_ERROR = "the rms error is "
"""What is said of a row that is too inexact begins with it."""

_GROSS = 10.0
"""From how many times another's an error is no matter of rounding, so that its kernel is wrong."""


@dataclass(frozen=True)
class Ratios:
    """The times of a record's kernels over one another."""

    record: Record
    times: dict[tuple[str, str], float]

    @staticmethod
    def of(record: Record) -> Ratios:
        """Returns the ratios of a record."""
        return Ratios(record, record.milliseconds())

    def family(self, function: str) -> list[TimedKernel]:
        """Returns the kernels that are attentions, or matmuls."""
        return [kernel for kernel in self.record.kernels if kernel.function == function]

    def series(self, function: str) -> list[str]:
        """Returns the modes and libraries with a time of one of these kernels, in fixed order."""
        names = {kernel.name for kernel in self.family(function)}
        known = {series for kernel, series in self.times if kernel in names}
        others = sorted(series for series in known if mode_and_target(series)[1])
        return [series for series in (*MODES, *others, *SERIES) if series in known]

    def library(self, kernel: TimedKernel) -> str | None:
        """Returns the first of the libraries of its family that has a time of a kernel."""
        known = (
            name for name in libraries_of(kernel.function) if (kernel.name, name) in self.times
        )
        return next(known, None)

    def ratio(self, kernel: TimedKernel, series: str, base: str) -> float | None:
        """Returns a time over another of the same kernel, where both are known.

        Args:
            base: a mode, a library, or `LIBRARY` for the kernel's own.
        """
        base = (self.library(kernel) or "") if base == LIBRARY else base
        time, other = (self.times.get((kernel.name, each)) for each in (series, base))
        return None if time is None or other is None else time / other

    def mean(self, kernels: Iterable[TimedKernel], series: str, base: str) -> Mean | None:
        """Returns the geometric mean of the ratios that `ratio` knows; None if it knows none."""
        ratios = [self.ratio(kernel, series, base) for kernel in kernels]
        known = [ratio for ratio in ratios if ratio is not None]
        return Mean(geometric_mean(known), len(known)) if known else None


@dataclass(frozen=True)
class Mean:
    """A geometric mean of the ratios of some kernels."""

    ratio: float
    kernels: int


def libraries_of(function: str) -> tuple[str, ...]:
    """Returns the libraries that kernels are compared with, keys of `SERIES`.

    A later one takes attentions that those before it refuse, such as masked ones.
    """
    return {ATTENTION: (FLASH, EFFICIENT), MATMUL: (CUBLAS,)}.get(function, (CUDNN,))


def is_scalar_in_stock(kernel: TimedKernel) -> bool:
    """Returns whether stock has no matrix instructions for an attention.

    Such attentions are not compiled at `exact`, where they keep stock's code.
    """
    return kernel.function == ATTENTION and EXACT not in kernel.modes


@dataclass(frozen=True)
class Finding:
    """A row that is not as it must be."""

    kernel: str
    mode: str
    what: str


def failing(record: Record) -> list[Finding]:
    """Returns the rows that are wrong, too slow or too inexact, and what did not run."""
    found = [Finding(each.kernel, each.series, each.message) for each in record.failures]
    found += _wrong(record)
    ratios = Ratios.of(record)
    for kernel in record.kernels:
        for series in kernel.modes:
            others = NOT_SLOWER.get(mode_and_target(series)[0], ())
            found += _slower(ratios, kernel, series, others)
    return found + _inexact(record)


def _wrong(record: Record) -> list[Finding]:
    rows = record.by_case()
    found: list[Finding] = []
    for row in wrong_rows(record.kernels, record.rows):
        what = f"the output differs from that of {STOCK}"
        ratio = rms_ratio(rows.get((row.kernel, STOCK)), row)
        if ratio is not None and ratio > _GROSS:
            what += f", whose rms error is {ratio:.0f} times as large"
        found.append(Finding(row.kernel, row.mode, what))
    return found


def _slower(ratios: Ratios, kernel: TimedKernel, mode: str, others: Sequence[str]) -> list[Finding]:
    known = ((other, ratios.ratio(kernel, mode, other)) for other in others)
    return [
        Finding(kernel.name, mode, f"slower than {other}: {ratio:.3f}x")
        for other, ratio in known
        if ratio is not None and ratio > NOISE
    ]


def _inexact(record: Record) -> list[Finding]:
    rows = record.by_case()
    found: list[Finding] = []
    scalar = {kernel.name for kernel in record.kernels if is_scalar_in_stock(kernel)}
    for row in record.rows:
        ratio = rms_ratio(row, rows.get((row.kernel, STOCK)))
        most = MOST_ERROR_OVER_SCALAR if row.kernel in scalar else MOST_ERROR
        if ratio is not None and not ratio <= most:
            found.append(Finding(row.kernel, row.mode, f"{RMS_ERROR}{ratio:.3f}x stock's"))
    return found


def rms_ratio(row: Row | None, other: Row | None) -> float | None:
    """Returns the rms error of a row over that of another; None where one is not known."""
    if row is None or other is None or row.errors is None or other.errors is None:
        return None
    return error_ratio(row.errors.rms, other.errors.rms)


def error_ratio(error: float, other: float) -> float:
    """Returns an error over another."""
    if error == other:
        return 1.0
    return error / other if other else math.inf
