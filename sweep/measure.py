# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures one case of a sweep: compiles it, and emulates a few workgroups of each dispatch."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from ..emulator.counters import Counters, totals
from ..runtime.emulated_device import (
    DispatchRecord,
    EmulatedDevice,
    Workgroup,
    sampled_workgroups,
)
from ..runtime.emulated_run import EmulatedRun, run_emulated
from ..runtime.host_values import DispatchCommand, HostProgramError
from ..runtime.values import parse_values
from .cases import Case, target_flags
from .rows import Row, empty_row, installed_versions, swept_counters

MOST_WORKGROUPS = 32
"""A grid of up to this many workgroups is emulated whole where workgroups differ. Of a larger one
this many are."""


def measure(case: Case) -> Row:
    """Returns the row of one case; a failure is a row too, with the reason."""
    row = empty_row(case, installed_versions())
    started = time.perf_counter()
    try:
        run = _emulate(case)
    except Exception as error:
        # Whatever fails, the other rows are wanted.
        kind = "" if isinstance(error, RuntimeError | ValueError) else f"{type(error).__name__}: "
        message = f"{kind}{error}".strip().replace("<text>", case.kernel.name)
        return replace(row, error=message or type(error).__name__)
    records = run.records
    grid = _summed([_grid(record) for record in records])
    known = [agree for agree in map(_all_agree, records) if agree is not None]
    return replace(
        row,
        dispatches=len(records),
        workgroups=run.workgroups,
        emulated=run.emulated,
        agree=all(known) if known else None,
        lds_bytes=run.lds_bytes,
        workgroup=_summed([_workgroup(record) for record in records]),
        grid=grid,
        measured=_summed([_measured(record) for record in records]) if grid is None else None,
        predicted_microseconds=_predicted(records) if case.timing else None,
        seconds=round(time.perf_counter() - started, 3),
    )


@dataclass
class SamplingDevice(EmulatedDevice):
    """Emulates `sample` workgroups of each dispatch, and more where these differ."""

    def dispatch(self, command: DispatchCommand) -> None:
        """Runs the sample in one launch, which costs little more than one workgroup."""
        grid, total = command.workgroups, math.prod(command.workgroups)
        chosen = spread(grid, self.sample or total)
        record = self.run(command, chosen)
        if _all_agree(record) is False and len(chosen) < total:
            rest = [w for w in spread(grid, MOST_WORKGROUPS) if w not in chosen]
            if rest:
                # The rest stands for the grid better than its first and its last workgroup.
                more = self.run(command, rest)
                each = record.each + more.each
                record = replace(more, each=each, counters=Counters.sum(each))
        self.records.append(record)


def spread(grid: Workgroup, count: int) -> list[Workgroup]:
    """Returns `count` workgroups of a grid from first to last, or all if there are no more."""
    chosen = sampled_workgroups(grid, count)
    if chosen is not None:
        return chosen
    x, y, z = grid
    return [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]


def _emulate(case: Case) -> EmulatedRun:
    """Compiles and calls a kernel.

    Raises:
        RuntimeError, ValueError: it does not compile, or cannot be run; the message says why.
    """
    kernel = case.kernel
    run = run_emulated(
        kernel.source,
        target_flags(case.target),
        case.mode,
        [value for text in kernel.inputs for value in parse_values(text)],
        function=kernel.function,
        device=partial(SamplingDevice, sample=case.sample, timing=case.timing),
    )
    if not run.records:
        raise HostProgramError("the function dispatches no kernel")
    return run


def _all_agree(record: DispatchRecord) -> bool | None:
    """Returns whether all workgroups that ran have equal counters; None where only one ran."""
    first, *others = record.each
    return all(first.equals(other) for other in others) if others else None


def _measured(record: DispatchRecord) -> dict[str, int]:
    """Returns the sums over the workgroups that ran."""
    return totals(record.kernel, record.counters)


def _workgroup(record: DispatchRecord) -> dict[str, int] | None:
    """Returns the counters of every single workgroup; None where the workgroups differ."""
    return None if _all_agree(record) is False else totals(record.kernel, record.each[0])


def _grid(record: DispatchRecord) -> dict[str, int] | None:
    """Returns the counters of the whole grid; None where they are not known.

    They are measured, or extrapolated from workgroups that agree.
    """
    if record.emulated == record.total:
        return _measured(record)
    one = _workgroup(record) if _all_agree(record) else None
    return one and {name: value * record.total for name, value in one.items()}


def _predicted(records: Sequence[DispatchRecord]) -> dict[str, float]:
    """Returns the sums of the dispatches' predicted times, and of their bounds."""
    times = [asdict(record.timing.microseconds) for record in records if record.timing is not None]
    return {name: round(float(sum(time[name] for time in times)), 3) for name in times[0]}


def _summed(parts: Sequence[Mapping[str, int] | None]) -> dict[str, int] | None:
    """Returns the sums of a sweep's counters over all dispatches.

    Returns None where one of them is not known.
    """
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return {name: sum(part[name] for part in known) for name in swept_counters()}
