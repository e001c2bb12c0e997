# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How `bankwise-run` prints predicted times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..bank_model.shown_text import shown_text

if TYPE_CHECKING:
    from ..emulator.timing.prediction import Prediction
    from ..runtime.dispatch_record import DispatchRecord

_LEAST_SHOWN = 0.005
"""The smallest part of the waves' cycles that is shown."""


def print_timing(records: Sequence[DispatchRecord]) -> None:
    """Prints the predicted time of each dispatch, and what its waves wait for."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    for record in records:
        predicted = record.timing
        if predicted is None:
            continue
        time = predicted.microseconds
        title = (
            f"{shown_text(record.kernel.name)}: predicted {time.expected:,.1f} us on one "
            f"{predicted.product}, from {time.low:,.1f} to {time.high:,.1f}"
        )
        table = Table(title=Text(title), title_justify="left")
        table.add_column("predicted")
        table.add_column("value", justify="right")
        for name, value in _rows(predicted):
            table.add_row(name, value)
        console.print(table)
        console.print(predicted.bounds.source)
    times = [each.timing.microseconds for each in records if each.timing is not None]
    if len(times) > 1:
        total, low, high = (
            sum(getattr(each, name) for each in times) for name in ("expected", "low", "high")
        )
        console.print(
            f"all {len(times)} dispatches: predicted {total:,.1f} us, from {low:,.1f} to "
            f"{high:,.1f}, without what lies between them"
        )


def spent_by_line(predicted: Prediction | None) -> list[tuple[int, str]]:
    """Returns for each instruction the cycles of all waves, and what most of them do meanwhile."""
    if predicted is None:
        return []
    from ..emulator.timing.reasons import LABELS, Reason

    return [(int(row.sum()), LABELS[Reason(int(row.argmax()))]) for row in predicted.stalls]


def _rows(predicted: Prediction) -> Iterator[tuple[str, str]]:
    from ..emulator.timing.reasons import LABELS

    for reason, part in sorted(predicted.spent.items(), key=lambda each: -each[1]):
        if part >= _LEAST_SHOWN:
            yield f"waves {LABELS[reason]}", f"{part:.1%}"
    for name, part in predicted.utilization.items():
        yield f"{name} busy", f"{part:.1%}"
    placed = predicted.occupancy
    yield f"workgroups of a unit, limited by {placed.limit}", f"{placed.resident}"
    yield "waves of a SIMD", f"{placed.waves_of_simd:g}"
    yield "units with workgroups", f"{placed.active_units}"
    yield "clock, GHz", f"{predicted.gigahertz:.2f}"
    yield "cycles of a wave", f"{predicted.cycles_of_wave:,.0f}"
    for name, value in predicted.counters.items():
        yield name, f"{value:,}"
    yield "LdsLatency", f"{predicted.lds_latency:.1f}"
