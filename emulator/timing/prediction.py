# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The predicted time of a dispatch, what its waves wait for, and how busy the hardware is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dispatch import Dispatch
from ..trace import BLOCK, LINE, BufferUse, WorkgroupTrace
from .clock import clock_loss, part_of_clock
from .compute_unit import UNIT, Log, Tape, Total, Unit, run
from .constants import CHIPS, Chip
from .error_bounds import ErrorBounds, bounds_of
from .instruction_needs import Code, Column, kernel_code
from .memory_levels import MemoryShare, memory_share
from .occupancy import Occupancy, occupancy
from .reasons import IN_WAITS, Reason
from .tape import tape_of
from .uneven_work import Unevenness, unevenness

_STAGGERS = (0.35, 0.8)
"""Workgroups of a unit start together, or spread over these parts of their duration. The time is
the mean of all: how workgroups interleave depends on it."""
_ROUNDS = 6
"""The most rounds of workgroups that are played; more rounds take the mean time of these."""


@dataclass(frozen=True)
class Range:
    """A predicted number, and the bounds that the validation of its kind of kernels gives."""

    low: float
    expected: float
    high: float


@dataclass(frozen=True, eq=False)
class Prediction:
    """What is predicted for one dispatch.

    Attributes:
        product: the GPU that the time is of.
        microseconds: the time from its start to its end.
        cycles: the cycles of the busiest compute unit.
        gigahertz: the clock that is assumed.
        cycles_of_wave: the mean cycles of a wave, from its first instruction to its end.
        spent: the part of the waves' cycles that each reason takes; their sum is 1.
        utilization: the part of the cycles for which the matrix units, the vector ALUs, the LDS and
            the L1 cache of the busiest compute unit are busy, and the part of the bandwidth behind
            the L2 caches that the grid takes.
        counters: counters of the whole grid by the names of rocprof.
        lds_latency: the mean cycles from the issue of an LDS instruction to its end.
        l1_hits: the part of the lines that loads find in the L1 cache.
        stalls: [instructions, reasons], the cycles that the waves of all workgroups spend at each
            instruction.
        issued: [waves, n], when each wave of the first workgroup issued each instruction.
        waited: [waves, n], for how many cycles it waited before that, but for barriers.
        reasons: [waves, n], the `Reason` for which it waited then most of the time.
        instructions: the instructions that each wave of the first workgroup executed.
        bounds: from where the bounds of the time are known.
    """

    product: str
    microseconds: Range
    cycles: float
    gigahertz: float
    cycles_of_wave: float
    spent: Mapping[Reason, float]
    utilization: Mapping[str, float]
    counters: Mapping[str, int]
    lds_latency: float
    l1_hits: float
    occupancy: Occupancy
    memory: MemoryShare
    stalls: npt.NDArray[np.int64]
    issued: npt.NDArray[np.int64]
    waited: npt.NDArray[np.int64]
    reasons: npt.NDArray[np.int64]
    instructions: Sequence[npt.NDArray[np.int32]]
    bounds: ErrorBounds


def predict(
    dispatch: Dispatch,
    traces: Sequence[WorkgroupTrace],
    uses: Sequence[BufferUse],
    chip: Chip | None = None,
    work: Sequence[int] = (),
) -> Prediction:
    """Predicts the time of a dispatch on the chip that its kernel is for.

    Args:
        traces: some of its workgroups, as `trace.py` has recorded them; all others are played as
            if they did what these do, in turn.
        uses: how these use the buffers.
        chip: the constants; those of `CHIPS` by default.
        work: the instructions that each workgroup executed, where the whole grid ran. Workgroups
            are taken to last in proportion to it.

    Raises:
        ValueError: no workgroup was recorded.
        KeyError: nothing is known of the chip, or of a matrix instruction.
    """
    if not traces:
        raise ValueError("no workgroup was recorded")
    kernel = dispatch.kernel
    chip = chip or CHIPS[kernel.arch]
    code = kernel_code(kernel, chip)
    placed = occupancy(dispatch, chip)
    share = memory_share(dispatch, uses, placed, chip)
    tape = tape_of(traces, code)
    runs = [_play(code, tape, placed, new_unit(chip, share), 0)]
    if placed.resident > 1:
        first = runs[0].unit["totals"][Total.WAVE_CYCLES] / len(runs[0].log.ends) / tape.waves
        for part in _STAGGERS:
            stagger = int(part * first / placed.resident)
            runs.append(_play(code, tape, placed, new_unit(chip, share), stagger))
    uneven = Unevenness()
    if len(work) == math.prod(dispatch.grid):
        uneven = unevenness(np.array(work), traces, placed, chip)
    loss = clock_loss(kernel, code, traces, chip)
    return _summary(dispatch, traces, placed, share, chip, runs, uneven, loss)


@dataclass(frozen=True, eq=False)
class _Run:
    """One play on a compute unit with so many slots for workgroups."""

    slots: int
    unit: Unit
    log: Log


def _play(code: Code, tape: Tape, placed: Occupancy, unit: Unit, stagger: int) -> _Run:
    """Plays some rounds of workgroups, whose first ones start `stagger` cycles apart."""
    slots = placed.resident
    count = min(placed.share, _ROUNDS * slots)
    starts = np.arange(slots, dtype=np.int64) * stagger + int(unit["workgroup"])
    longest = int(np.diff(tape.bounds).max())
    shapes = (len(code.table), len(Reason)), (count,), *[(tape.waves, longest)] * 3
    lines = int(code.table[:, Column.LINE].max()) + 1
    log = Log(*(np.zeros(shape, np.int64) for shape in (*shapes, (lines,))))
    run(code, tape, starts, unit, log)
    return _Run(slots, unit, log)


_WHOLE = {
    "issue": "issue",
    "barrier": "barrier",
    "workgroup": "workgroup_cycles",
    "fetch": "instruction_fetch",
    "commands": "lds_commands",
    "data_rows": "lds_data",
    "ways": "l1_ways",
    **{name: name for name in ("matrix_gap", "matrix_chain", "matrix_result", "scalar_load")},
    **{name: name for name in ("packed_after_matrix", "lds_round_trip", "store_done")},
    **{name: name for name in ("l1_latency", "l2_latency")},
}
"""For each constant of a unit that is a number of cycles or places its name in `Chip`."""


def new_unit(chip: Chip, share: MemoryShare) -> Unit:
    """Returns a compute unit on which nothing has run."""
    unit = np.zeros(1, UNIT)[0]
    for name, constant in _WHOLE.items():
        unit[name] = getattr(chip, constant).value
    unit["sets"] = max(1, int(chip.l1_kib.value * 1024) // LINE // int(chip.l1_ways.value))
    unit["tags"] = -1
    unit["block_cycles"] = BLOCK / chip.l1_bytes.value
    unit["far_latency"] = share.far_cycles
    for name in ("l2_line", "far_line", "far_part"):
        unit[name] = getattr(share, name)
    return unit


def _cycles(run: _Run, share: int) -> float:
    """Returns the cycles that `share` workgroups take, of which the run may have fewer.

    Between the end of the first round and the start of the last workgroup the unit is full. Each
    missing workgroup takes the mean time from end to end there: the last workgroups are not in it,
    which run beside fewer others.
    """
    ends, slots = np.sort(run.log.ends), run.slots
    missing = share - len(ends)
    if missing <= 0:
        return float(ends[-1])
    first, last = slots - 1, len(ends) - 1 - slots
    return float(ends[-1] + missing * (ends[last] - ends[first]) / (last - first))


def _summary(
    dispatch: Dispatch,
    traces: Sequence[WorkgroupTrace],
    placed: Occupancy,
    share: MemoryShare,
    chip: Chip,
    runs: Sequence[_Run],
    uneven: Unevenness,
    loss: float,
) -> Prediction:
    first, grid = runs[0], math.prod(dispatch.grid)
    cycles = uneven.time * float(np.mean([_cycles(run, placed.share) for run in runs]))
    played = sum(len(run.log.ends) for run in runs)
    totals = np.sum([run.unit["totals"] for run in runs], axis=0)
    spent = np.sum([run.unit["spent"] for run in runs], axis=0)
    stalls = np.sum([run.log.stalls for run in runs], axis=0)
    busy = float(sum(run.log.ends.max() for run in runs))
    utilization = _utilization(totals, busy)
    active = placed.active_units / chip.units.value
    kept = part_of_clock(loss, utilization["matrix units"], active)
    gigahertz = chip.gigahertz.value * kept
    played_microseconds = cycles / gigahertz / 1e3
    utilization["memory behind the L2 caches"] = share.microseconds / played_microseconds
    expected = chip.launch_microseconds.value + played_microseconds
    bounds = bounds_of(dispatch.kernel, expected)
    scale = uneven.work * grid / played
    waves = played * dispatch.waves_per_workgroup / uneven.work
    return Prediction(
        product=chip.product,
        microseconds=Range(expected * bounds.low, expected, expected * bounds.high),
        cycles=cycles,
        gigahertz=gigahertz,
        cycles_of_wave=float(totals[Total.WAVE_CYCLES] / waves),
        spent={reason: float(spent[reason] / spent.sum()) for reason in Reason},
        utilization={name: float(part) for name, part in utilization.items()},
        counters=_counters(totals, spent, scale, cycles * uneven.work / uneven.time, placed, grid),
        lds_latency=float(totals[Total.LDS_LATENCY] / max(totals[Total.LDS_INSTRUCTIONS], 1)),
        l1_hits=float(1 - totals[Total.L1_MISSES] / max(totals[Total.LOADED_LINES], 1)),
        occupancy=placed,
        memory=share,
        stalls=np.rint(stalls * scale).astype(np.int64),
        issued=first.log.issued,
        waited=first.log.waited,
        reasons=first.log.reasons,
        instructions=[wave.instructions for wave in traces[0].waves],
        bounds=bounds,
    )


def _utilization(totals: npt.NDArray[np.float64], busy: float) -> dict[str, float]:
    """Returns the part of `busy` cycles for which each part of a unit is busy."""
    return {
        "matrix units": totals[Total.MATRIX_CYCLES] / busy / 4,
        "vector ALUs": totals[Total.VECTOR_CYCLES] / busy / 4,
        "LDS": totals[Total.LDS_CYCLES] / busy,
        "path to the L1 cache": totals[Total.MEMORY_CYCLES] / busy,
    }


_QUAD = 4


def _counters(
    totals: npt.NDArray[np.float64],
    spent: npt.NDArray[np.int64],
    scale: float,
    cycles: float,
    placed: Occupancy,
    grid: int,
) -> dict[str, int]:
    """Returns counters of the whole grid; SQ counts in units of 4 cycles."""
    waits = sum(int(spent[reason]) for reason in IN_WAITS)
    stalled = int(spent.sum() - spent[Reason.ISSUE]) - waits
    of_grid = cycles * grid / placed.share
    return {
        "SQ_WAVE_CYCLES": round(totals[Total.WAVE_CYCLES] * scale / _QUAD),
        "SQ_WAIT_ANY": round(waits * scale / _QUAD),
        "SQ_WAIT_INST_ANY": round(stalled * scale / _QUAD),
        "SQ_ACTIVE_INST_ANY": round(int(spent[Reason.ISSUE]) * scale / _QUAD),
        "SQ_BUSY_CU_CYCLES": round(of_grid / _QUAD),
    }
