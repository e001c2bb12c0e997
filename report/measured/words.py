# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured counters beside predicted ones, in the words that all formats share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...bank_model.shown_text import counted, shown_text
from .comparison import MeasuredCounter, MeasuredKernel, Measurements

TITLES = ("counter", "predicted", "measured", "measured / predicted")


def section_title(measurements: Measurements) -> str:
    """Returns what the section is on."""
    return f"Measured and predicted, by {', '.join(map(shown_text, measurements.files))}"


def kernel_title(kernel: MeasuredKernel) -> str:
    """Returns the kernel, its grid, and how often it was measured."""
    count = "1 dispatch" if kernel.dispatches == 1 else f"{kernel.dispatches:,} dispatches"
    parts = [f"@{shown_text(kernel.name)}"]
    if kernel.workgroups is not None:
        parts.append(counted(kernel.workgroups, "workgroup", separator=","))
    return ", ".join((*parts, count))


def cells(counter: MeasuredCounter, kernel: MeasuredKernel) -> tuple[str, str, str, str]:
    """Returns what stands under `TITLES`."""
    predicted = "-" if counter.predicted is None else _figure(counter.predicted, counter.unit)
    if counter.at_most and counter.predicted is not None:
        predicted = f"at most {predicted}"
    elif kernel.least and counter.predicted is not None:
        predicted = f"at least {predicted}"
    measured = _figure(counter.typical, counter.unit)
    if counter.spread is not None:
        least, most = (_figure(each, counter.unit) for each in counter.spread)
        measured = f"{measured} ({least} to {most})"
    ratio = "-" if counter.ratio is None else f"{counter.ratio:.3f}"
    return counter.name, predicted, measured, ratio


def _figure(value: float, unit: str) -> str:
    """Returns a count, or a share with three decimals."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.3f} {unit}".rstrip()


def is_exact(counter: MeasuredCounter) -> bool:
    """Returns whether every dispatch has the predicted count, of shares with four decimals."""
    predicted = counter.predicted
    if predicted is None or counter.at_most or counter.blind:
        return False
    if isinstance(predicted, int):
        return set(counter.measured) == {predicted}
    return all(abs(each - predicted) < 5e-5 for each in counter.measured)


def remarks(kernel: MeasuredKernel) -> Iterator[str]:
    """Yields why counters have no prediction, and what to know of the comparison of others; those
    for the same reason together."""
    names: dict[str, list[str]] = {}
    for counter in kernel.counters:
        for text in filter(None, (counter.why_not, counter.remark)):
            names.setdefault(text, []).append(counter.name)
    yield from (f"{', '.join(each)}: {reason}" for reason, each in names.items())


def measured_data(measurements: Measurements) -> Mapping[str, object]:
    """Returns the section as data for JSON."""
    return {
        "files": list(measurements.files),
        "kernels": [_kernel_data(each) for each in measurements.kernels],
        "notes": list(measurements.notes),
    }


def _kernel_data(kernel: MeasuredKernel) -> Mapping[str, object]:
    return {
        "name": kernel.name,
        "workgroups": kernel.workgroups,
        "dispatches": kernel.dispatches,
        "complete": not kernel.least,
        "counters": [
            {
                "name": each.name,
                "predicted": each.predicted,
                "predicted_at_most": each.at_most,
                "why_not_predicted": each.why_not or None,
                "remark": each.remark or None,
                "unit": each.unit,
                "measured": {
                    "median": each.typical,
                    "least": min(each.measured),
                    "most": max(each.measured),
                },
                "ratio": each.ratio,
            }
            for each in kernel.counters
        ],
    }
