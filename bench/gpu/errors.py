# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of attentions against float64 in each mode, and which are too large. This needs NumPy.

Float64 starts from the rounded inputs, so that errors are those of the kernel alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..documents import Document
from ..reference_attention import F64, added_scores, attention
from .elements import EPSILON, Elements, values
from .error_inputs import made_inputs
from .float64 import errors_of
from .kernels import TimedKernel, digest
from .modes import STOCK
from .ratios import MOST_ERROR, Finding
from .record import Errors

RunKernel = Callable[[TimedKernel, str, Sequence[Elements]], Elements]
"""Runs a kernel, as a mode compiled it, on its operands; returns the output, shaped as q is.

It raises RuntimeError where the run fails.
"""

MOST_STOCK_ERROR = 0.25
"""How many times the root mean square of float64's output the error of stock may be.

Where it is more, the kernel and float64 do not compute the same attention, and comparing errors
says nothing.
"""


@dataclass(frozen=True)
class ErrorRow:
    """One kernel with one kind of inputs.

    Attributes:
        inputs: a key of `error_inputs.ERROR_INPUTS`.
        inexact: the modes whose outputs may differ from stock's in their rounding.
        magnitude: the root mean square of float64's output, without its NaNs.
        unit: one unit in the last place of the largest element of float64's output.
        nans: how many elements of float64's output are NaN.
        outputs: the digest of the output of each mode that ran.
        errors: those of each mode that ran, over the elements that are numbers in float64 and that
            stock does not turn into NaN.
        misplaced: how many elements of each mode that ran are NaN and should be a number, or the
            other way round; those that stock misplaces count for stock alone.
        failures: why the other modes did not run.
    """

    kernel: str
    dtype: str
    inputs: str
    inexact: tuple[str, ...]
    magnitude: float
    unit: float
    nans: int
    outputs: dict[str, str]
    errors: dict[str, Errors]
    misplaced: dict[str, int]
    failures: dict[str, str]

    @property
    def case(self) -> str:
        """Returns the name of the kernel and of its inputs."""
        return f"{self.kernel} {self.inputs}"

    def equals_stock(self, mode: str) -> bool:
        """Returns whether a mode and stock ran and gave the same bits."""
        return self.outputs.get(mode, "") == self.outputs.get(STOCK)

    def findings(self) -> list[Finding]:
        """Returns what is not as it must be."""
        found = [Finding(self.case, mode, message) for mode, message in self.failures.items()]
        if STOCK not in self.outputs:
            return found
        stock = self.errors[STOCK]
        # Conditions are written as "not below", so that an error that is no number is found.
        if not stock.rms <= MOST_STOCK_ERROR * self.magnitude:
            what = f"the rms error is {stock.rms:.2e}, too much for outputs of {self.magnitude:.2e}"
            found.append(Finding(self.case, STOCK, what))
        for mode in self.outputs:
            if mode == STOCK:
                continue
            if mode not in self.inexact and not self.equals_stock(mode):
                what = f"the output differs from that of {STOCK}"
                found.append(Finding(self.case, mode, what))
            found += [Finding(self.case, mode, what) for what in self._excesses(mode)]
        return found

    def _excesses(self, mode: str) -> list[str]:
        """Returns which errors of a mode are above stock's."""
        errors, stock = self.errors[mode], self.errors[STOCK]
        found: list[str] = []
        if not errors.rms <= MOST_ERROR * stock.rms:
            found.append(f"the rms error is {errors.rms:.3e}, that of {STOCK} {stock.rms:.3e}")
        # The largest error is that of one element, which may be rounded the other way.
        if not errors.largest <= MOST_ERROR * stock.largest + self.unit:
            found.append(
                f"the largest error is {errors.largest:.3e}, that of {STOCK} {stock.largest:.3e}, "
                f"and a unit in the last place {self.unit:.3e}"
            )
        if self.misplaced[mode]:
            found.append(f"{self.misplaced[mode]:,} elements are NaN or not, other than float64's")
        return found


@dataclass(frozen=True)
class ErrorRecord(Document):
    """The rows of a run, as a file keeps them.

    Attributes:
        device: the name of the GPU.
        target: the architecture that the kernels were compiled for, such as `sm_80`.
        versions: those of what compiled and of what measured.
    """

    device: str
    target: str
    date: str
    versions: dict[str, str]
    rows: tuple[ErrorRow, ...] = field(default=())

    def findings(self) -> list[Finding]:
        """Returns what is not as it must be; a record without rows is not."""
        if not self.rows:
            return [Finding("all", "all", "nothing was measured")]
        return [finding for row in self.rows for finding in row.findings()]


def measure_row(kernel: TimedKernel, inputs: str, run: RunKernel) -> ErrorRow:
    """Runs a kernel in all its modes; returns how far its outputs are from float64.

    Args:
        inputs: a key of `error_inputs.ERROR_INPUTS` that the kernel can get.
    """
    return measure_operands(kernel, inputs, made_inputs(kernel, inputs), run)


def measure_operands(
    kernel: TimedKernel, inputs: str, operands: Sequence[Elements], run: RunKernel
) -> ErrorRow:
    """Runs a kernel on operands that have a name, `inputs`; returns what `measure_row` does."""
    outputs: dict[str, Elements] = {}
    failures: dict[str, str] = {}
    for mode in kernel.modes:
        try:
            outputs[mode] = run(kernel, mode, operands)
        except RuntimeError as error:
            failures[mode] = str(error)
    exact = exact_attention(kernel, operands)
    numbers = exact[~np.isnan(exact)]
    errors, misplaced = _compared(exact, {mode: values(out) for mode, out in outputs.items()})
    return ErrorRow(
        kernel.name,
        kernel.dtype,
        inputs,
        kernel.inexact,
        magnitude=math.sqrt(np.mean(numbers**2)),
        unit=_unit(float(np.abs(numbers).max()), kernel.dtype),
        nans=exact.size - numbers.size,
        outputs={mode: digest(output.tobytes()) for mode, output in outputs.items()},
        errors=errors,
        misplaced=misplaced,
        failures=failures,
    )


def exact_attention(kernel: TimedKernel, operands: Sequence[Elements]) -> F64:
    """Returns the output of an attention in float64, batch by batch.

    Args:
        operands: q, k and v [batch, seq, head_dim], and maybe a mask [batch, seq, seq].

    Raises:
        ValueError: the kernel is no attention.
    """
    if kernel.scale is None:
        raise ValueError(f"{kernel.name} is no attention")
    found: list[F64] = []
    for batch in zip(*operands, strict=True):
        q, k, v = map(values, batch[:3])
        mask = [values(added_scores(each)) for each in batch[3:]]
        found.append(attention(q, k, v, kernel.scale, *mask))
    return np.stack(found)


def _compared(exact: F64, outputs: Mapping[str, F64]) -> tuple[dict[str, Errors], dict[str, int]]:
    """Returns the errors of each mode, and how many NaNs it has misplaced: see `ErrorRow`."""
    nans = np.isnan(exact)
    wrong = {mode: np.isnan(output) != nans for mode, output in outputs.items()}
    excused = wrong.get(STOCK, np.zeros_like(nans))
    compared = ~nans & ~excused
    errors = {mode: errors_of((out - exact)[compared]) for mode, out in outputs.items()}
    misplaced = {
        mode: int((places if mode == STOCK else places & ~excused).sum())
        for mode, places in wrong.items()
    }
    return errors, misplaced


def _unit(largest: float, dtype: str) -> float:
    """Returns the distance of the numbers of a type at a magnitude above 0."""
    return EPSILON[dtype] * 2.0 ** math.floor(math.log2(largest))
