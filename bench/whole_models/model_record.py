# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What was measured of whole models, as a file keeps it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import geometric_mean

from ..documents import Document
from ..gpu.modes import FAST, STOCK, mode_and_target
from ..gpu.ratios import NOISE, Finding
from ..gpu.record import Errors

MOST_ERROR = 1.25
"""How many times stock's an error of `fast` may be, whose roundings differ in every layer."""
MOST_STOCK_ERROR = 0.25
"""How many times the magnitude of the reference the error of stock may be."""

REPETITIONS, CALLS = 15, 4
"""How many times the mean time of so many calls is taken; the median counts."""
TORCH_SERIES = {"eager": "PyTorch", "compiled": "torch.compile"}
"""How PyTorch runs a model, by the names that the records have for it."""
EAGER, COMPILED = TORCH_SERIES


@dataclass(frozen=True)
class ModelRow:
    """One model in one mode.

    Attributes:
        module: the digest of the module that ran.
        output: the digest of its output.
        repeats: whether a second call gave the same bits.
        milliseconds: the median time of a call, from its begin until its output is there; not a
            number where calls were not timed.
        kernels: the milliseconds of each kernel, over all its launches in one call.
        errors: of the output, against PyTorch or JAX in float32.
        magnitude: the root mean square of what it is compared with.
    """

    kernel: str
    mode: str
    module: str
    output: str
    repeats: bool
    milliseconds: float
    kernels: dict[str, float]
    errors: Errors
    magnitude: float

    @property
    def kernel_milliseconds(self) -> float:
        """Returns the time of all kernels together."""
        return math.fsum(self.kernels.values())


@dataclass(frozen=True)
class TorchRow:
    """One model as PyTorch runs it on the same GPU, with the same inputs and weights.

    Attributes:
        series: how it runs, a key of `TORCH_SERIES`.
        milliseconds: the median time of a call; None where it does not run, or is wrong.
        errors: as those of a `ModelRow`; None where it does not run.
        note: why it has no time.
        kernels: the milliseconds of each kernel of one call, where these were measured.
    """

    kernel: str
    series: str
    milliseconds: float | None
    errors: Errors | None
    note: str = ""
    kernels: dict[str, float] = field(default_factory=dict)


Figure = Callable[[ModelRow], float]
"""A time or an error of a row."""


@dataclass(frozen=True)
class ModelRecord(Document):
    """The rows of a run, as a file keeps them.

    Attributes:
        device: the name of the GPU.
        target: the architecture that the models were compiled for, such as `sm_80`.
        clocks: what happens to the clocks, a key of `profiler.CLOCKS`.
        versions: those of what exported, compiled and measured.
        failures: what could not be measured.
        torch: the times of PyTorch.
    """

    device: str
    target: str
    clocks: str
    date: str
    versions: dict[str, str]
    rows: tuple[ModelRow, ...]
    failures: tuple[Finding, ...] = ()
    torch: tuple[TorchRow, ...] = ()

    def models(self) -> list[str]:
        """Returns the names of the models that have rows."""
        return list(dict.fromkeys(row.kernel for row in self.rows))

    def row(self, model: str, mode: str) -> ModelRow | None:
        """Returns the row of a model in a mode, where it was measured."""
        return next((r for r in self.rows if (r.kernel, r.mode) == (model, mode)), None)

    def ratio(self, model: str, mode: str, figure: Figure) -> float | None:
        """Returns a figure of a mode over that of stock, where both are known."""
        row, stock = self.row(model, mode), self.row(model, STOCK)
        # Written as "above", so that a time that is no number is unknown.
        if not (row and stock and figure(row) > 0 and figure(stock) > 0):
            return None
        return figure(row) / figure(stock)

    def mean(self, mode: str, figure: Figure) -> float | None:
        """Returns the geometric mean of the known ratios over all models."""
        return _geometric_mean(self.ratio(model, mode, figure) for model in self.models())

    def torch_ratio(self, model: str, mode: str, series: str) -> float | None:
        """Returns the time of a call in a mode over that of PyTorch, where both are known."""
        row = self.row(model, mode)
        (known,) = [r for r in self.torch if (r.kernel, r.series) == (model, series)] or [None]
        if not (row and known and known.milliseconds and row.milliseconds > 0):
            return None
        return row.milliseconds / known.milliseconds

    def torch_mean(self, mode: str, series: str) -> float | None:
        """Returns the geometric mean of the known ratios to PyTorch's times."""
        return _geometric_mean(self.torch_ratio(model, mode, series) for model in self.models())

    def findings(self) -> list[Finding]:
        """Returns what is not as it must be."""
        found = list(self.failures)
        for row in self.rows:
            found += [Finding(row.kernel, row.mode, what) for what in self._faults(row)]
        return found

    def _faults(self, row: ModelRow) -> Sequence[str]:
        stock = self.row(row.kernel, STOCK)
        found: list[str] = []
        if not row.repeats:
            found.append("a second call gave other bits")
        if _is_wrong(row):
            found.append(f"the rms error is {row.errors.rms:.2e} of {row.magnitude:.2e}")
        if stock is None or row.mode == STOCK:
            return found
        # A wrong output is no measure for one that `exact` or `fast` has mended.
        comparable = not _is_wrong(stock)
        if comparable and mode_and_target(row.mode)[0] != FAST and row.output != stock.output:
            found.append(f"the output differs from that of {STOCK}")
        # Written as "not below", so that an error that is no number is found.
        if comparable and not row.errors.rms <= MOST_ERROR * stock.errors.rms:
            found.append(f"the rms error is {row.errors.rms:.2e}, stock's {stock.errors.rms:.2e}")
        if _time_of(row) > NOISE * _time_of(stock):
            found.append(f"slower than {STOCK}: {_time_of(row) / _time_of(stock):.3f}x")
        return found


def _geometric_mean(ratios: Iterable[float | None]) -> float | None:
    known = [ratio for ratio in ratios if ratio]
    return geometric_mean(known) if known else None


def _time_of(row: ModelRow) -> float:
    """Returns the time of a call, or of its kernels where calls were not timed."""
    return row.kernel_milliseconds if math.isnan(row.milliseconds) else row.milliseconds


def _is_wrong(row: ModelRow) -> bool:
    """Returns whether the error of an output is too large for rounding alone."""
    # Written as "not below", so that an error that is no number is too large.
    return not row.errors.rms <= MOST_STOCK_ERROR * row.magnitude
