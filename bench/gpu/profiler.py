# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Nsight Compute's `ncu` is asked, and what is read of its table."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .record import Figures

if TYPE_CHECKING or __package__.startswith("bankwise."):
    from ...report.measured.ncu_table import Cell, read_ncu_table
else:
    # As `python -m bench...` in the root of the repository, where nothing is installed.
    from report.measured.ncu_table import Cell, read_ncu_table

LAUNCHES = 5
"""How many launches are measured of each kernel; their medians count."""

TIME = "gpu__time_duration.sum"
METRICS = {
    "nanoseconds": TIME,
    "instructions": "smsp__inst_executed.sum",
    "ldmatrix": "smsp__inst_executed_op_ldsm.sum",
    "shared_loads": "smsp__inst_executed_op_shared_ld.sum",
    "load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "registers": "launch__registers_per_thread",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
"""The metrics of `ncu`, by the names that they have here."""

_OF_LONGEST = (METRICS["registers"], METRICS["occupancy"])

CLOCKS = {
    "base": "ncu holds the GPU's clocks at their base frequency, as it does by default",
    "none": "ncu leaves the clocks alone",
}
"""What `--clock-control` can be."""

_NANOSECONDS = {
    unit: scale
    for scale, units in (
        (1, ("ns", "nsecond")),
        (1e3, ("us", "usecond")),
        (1e6, ("ms", "msecond")),
        (1e9, ("s", "second")),
    )
    for unit in units
}
"""The nanoseconds in each unit of time, as newer and older versions of `ncu` write it."""


@dataclass
class Launch:
    """One launch of a kernel.

    Attributes:
        workgroups: how many the grid has.
        metrics: the values by the names of the metrics, times in nanoseconds.
    """

    kernel: str
    workgroups: int
    metrics: dict[str, float] = field(default_factory=dict)


def ncu_command(metrics: Iterable[str], clocks: str, *options: str) -> list[str]:
    """Returns the command that measures the program whose command line follows it."""
    return ["ncu", "--csv", f"--clock-control={clocks}", f"--metrics={','.join(metrics)}", *options]


def read_launches(output: str) -> list[Launch]:
    """Returns the launches in what `ncu --csv` printed, in their order.

    Lines that are not of the table, such as those of the measured program, are skipped.

    Raises:
        ValueError: a value is missing, or is in an unknown unit.
    """
    return [
        Launch(
            launch.kernel,
            launch.workgroups or 0,
            {metric: _value(metric, cell) for metric, cell in launch.metrics.items()},
        )
        for launch in read_ncu_table(output)
    ]


def _value(metric: str, cell: Cell) -> float:
    """Returns the value of a metric in ncu's table, times in nanoseconds."""
    try:
        value = float(cell.text.replace(",", ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"ncu could not measure {metric}: its value is {cell.text!r}")
    if metric != TIME:
        return value
    if cell.unit not in _NANOSECONDS:
        raise ValueError(f"ncu gives {metric} in an unknown unit, {cell.unit!r}")
    return value * _NANOSECONDS[cell.unit]


def calls_of(launches: Sequence[Launch]) -> list[Launch]:
    """Returns each call of a module that launches several kernels as one launch.

    The first call is left out, since it warms the others up. Metrics are summed, but registers and
    occupancy are, as workgroups, those of the kernel that takes longest.
    """
    kernels = launches_of_a_call(launches)
    starts = range(kernels, len(launches) - kernels + 1, kernels)
    return [_joined(launches[start : start + kernels]) for start in starts]


def launches_of_a_call(launches: Sequence[Launch]) -> int:
    """Returns how many launches a call has, told from the names of the kernels, which repeat.

    Where they do not, all are of one call; the least is 1.
    """
    names = [launch.kernel for launch in launches]
    periods = (n for n in range(1, len(names)) if names[n:] == names[:-n])
    return next(periods, len(names) or 1)


def kernel_milliseconds(launches: Iterable[Launch]) -> dict[str, float]:
    """Returns the milliseconds of all launches of each kernel together."""
    times: defaultdict[str, float] = defaultdict(float)
    for launch in launches:
        times[launch.kernel] += launch.metrics[TIME] / 1e6
    return dict(times)


def _joined(launches: Sequence[Launch]) -> Launch:
    longest = max(launches, key=lambda launch: launch.metrics.get(TIME, 0))
    sums = {
        metric: sum(launch.metrics[metric] for launch in launches)
        for metric in longest.metrics
        if metric not in _OF_LONGEST
    }
    names = " + ".join(launch.kernel for launch in launches)
    return Launch(names, longest.workgroups, longest.metrics | sums)


def figures_of(launches: Sequence[Launch]) -> Figures:
    """Returns the medians of `LAUNCHES` launches of one kernel.

    Raises:
        ValueError: the launches are not as many, are of several kernels, or lack a metric.
    """
    kernels = sorted({launch.kernel for launch in launches})
    if len(kernels) != 1:
        raise ValueError(f"ncu measured {len(kernels)} kernels instead of one: {kernels}")
    medians: dict[str, float] = {}
    for name, metric in METRICS.items():
        values = [launch.metrics[metric] for launch in launches if metric in launch.metrics]
        if len(values) != LAUNCHES:
            raise ValueError(f"ncu gave {len(values)} values of {metric}, not {LAUNCHES}")
        medians[name] = statistics.median(values)
    return Figures(
        milliseconds=medians.pop("nanoseconds") / 1e6,
        occupancy=medians.pop("occupancy"),
        workgroups=launches[0].workgroups,
        **{name: round(value) for name, value in medians.items()},
    )
