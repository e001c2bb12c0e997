# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long a contraction takes that is computed tile by tile, predicted from what a step does.

A workgroup owns a tile of the result and goes over the reduction in steps. Each step copies tiles
of the operands to the LDS, reads them, and multiplies. What a step needs is known from the sizes:
matrix instructions, LDS cycles (of 128 bytes each, because the layouts are free of conflicts), and,
up to a few, other instructions. How long it takes is modelled so:

* **Busy units.** With c workgroups on a multiprocessor, a step of all of them keeps the matrix
  units busy for `matrix_cycles` per instruction, the LDS for its cycles, and the issue slots for
  `issue_cycles` per instruction of a scheduler. The units work side by side, so that the longest
  counts most: t = (matrix^4 + lds^4 + issue^4)^(1/4). Two units that are equally busy get in each
  other's way: t is 1.19 times either.
* **Latency.** A step cannot be shorter than what one warp does one after the other: it waits for
  the copies and the barrier (`wait_cycles`; 3 times as long where copies and matrix
  instructions do not overlap; half of it where copies are issued three steps ahead, and another
  workgroup, or the warps of a matmul, compute meanwhile), and it issues its instructions. Neither
  bound is sharp: a step takes (t^2 + latency^2)^(1/2).
* **Waves of workgroups.** c is what registers and LDS allow. A grid is served c workgroups per
  multiprocessor at a time; in the last wave there are fewer, and their steps are shorter. What a
  kernel does before and behind its steps counts as `outer_steps` steps.

* **Matmuls.** Their steps need nothing of each other, so that warps multiply while they wait
  (`tuning/overlap/load_operands_ahead.py`): a step takes (t^4 + latency^4)^(1/4). Before and behind
  all steps a wave of workgroups takes 7 waits, two more where copies overlap, and 0.45 times as
  long as its share of memory takes the result of one workgroup, where a multiprocessor holds one:
  others hide the rest. With one step nothing overlaps. Of f16, 16 batches of 1024x1024x64 (67 MB of
  results), 0.9 times the measured time is predicted for 256 x 128 with two steps and for 128 x 64
  with one. Tiles whose
  results do not fit the registers are not proposed: of 3000x3000x3000, 256 x 160 by 8 warps takes
  2.3 times as long as 192 x 192.

* **Matmuls by descriptors.** `wgmma` reads A and B from the LDS itself: a step takes
  (t^1.95 + latency^1.95)^(1/1.95), and the wait for copies is shared by the steps that they are
  issued ahead. It is never shorter than its copies take at 64 bytes a cycle, nor than that and 870
  cycles, shared by as many steps. So a multiprocessor that holds one workgroup, as with few rows,
  gains by many slots; and narrow tiles keep the LDS busy rather than the matrix units: of 64 x 96
  and 64 summed elements a step moves 40,960 bytes, in 320 cycles, and multiplies in 192.

* **Operands without `ldmatrix`.** AMD's lanes load what is their own side by side. For V these are
  elements of one row, from the columns of 1, 2, 4 or 8 matrix instructions: 80 columns are 5
  instructions, of which no two pair up, so that a lane loads 2 bytes at a time; 96 are 3 pairs,
  with 4 bytes a load. In f16 40x2048x80 on gfx942, tiles of 96 columns have 0.41 times the LDS
  instructions of those with 80, and 0.77 times the LDS cycles.

* **Steps on AMD.** Attentions have the instructions that LLVM makes of their loops: those of the
  vector ALU, where an exponential counts as four, keep it busy, and all of them are latency. Under
  `fast` those on 2-byte floats have fewer (`is_short`). Workgroups drift apart there, so that
  others begin where they end: one more than a unit holds takes its share of a wave. Power takes
  less of the clock where units have no workgroup.

* **What is computed with the results.** GELU of a lane's 144 results is 9,000 instructions behind
  its last step. Each waits for the one before, 6 cycles, while other warps issue theirs. It takes
  registers, too, so that fewer workgroups fit. On an H200, f16 25088x384x96 with GELU takes 41.8 us
  in 64 x 64 by 4 warps, 46.8 in 64 x 128, and 83.9 in 128 x 128; without GELU 16.9, 16.7 and 18.8.

* **Rows that begin anywhere.** `cp.async` brings less in a cycle of rows that begin within sectors
  of memory, and copies narrower pieces. Rows of an odd number of 16-bit elements go through
  registers, by words that are shifted into place, or element by element.

An operand may also go past the LDS: each warp then loads all of it from global memory, over a path
of 64 bytes a cycle, and what it would take of the LDS is free.

Registers beyond what a lane has are spilled: stored and loaded in every step, each for a cycle of
the LDS (its memory is the L1 cache's too), an issue slot, and a wait.

**Without matrix instructions.** A multiply-add of a warp takes `fma_cycles` of the multiprocessor,
and an issue slot in that time, so that other instructions come on top; a warp issues one per cycle
at best. These are the data sheets' rates. f32 matmul 2048x2048x2048, 128 x 128 and 16 summed
elements per step, 8 x 8 a thread, copies not overlapped: 0.81 of the measured time is predicted.

**Worked example.** f16 attention 16x4096x128, 64 rows and 64 keys per step, 4 warps, overlapped
copies. A warp has 16 rows: 64 matrix instructions for the scores, 64 for the output. A workgroup
reads K and V once per warp, 4 x 32,768 bytes, and writes them once: 1,280 LDS cycles. Two
workgroups fit (192 registers). Busy: matrix units 2 x 4 x 128 x 2.0 = 2,048 cycles, LDS 2,560,
issue 2 x 4 x 376 / 4 x 1.26 = 949; together 2,799. Latency: 670 + 128 x 2 + 376 x 1.8 + 16 x 4.4 =
1,674. A step of both takes 3,261 cycles; 1,024 workgroups are 3.9 waves of 264 on 132
multiprocessors, of 64 steps and 2.6 more. That is 1.09 times the measured time.

**Where the constants come from.** They were fitted to 76 kernels of nine attentions and six matmuls
in other tiles, with overlapped copies, sm_80 code on an H200, times of ncu
(`gpu__time_duration.sum`, its default clocks): the root mean square of the logarithmic error is
0.14, and the tile of the least predicted time is at most 10 % slower than the best one measured.
(`_WAIT_ALONE` comes from 33 kernels without overlap.) `bench/tile_model.py` measures that. Of other
chips the data sheets' numbers are used, and nothing was compared: `measured` says so.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...bank_model.descriptor_tiles import (
    CYCLE_BYTES,
    GROUP_WARPS,
    LANES,
    STEP_BYTES,
    TILE_ALIGNMENT,
    ArrangedTile,
)
from ...bank_model.quick_tuple import NamedTuple
from .copy_layouts import LEAST_ASYNC_BYTES, shares_blocks, widest_share
from .processors import Processor

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST_KEPT = 4096
"""The predictions that are kept: several passes, and the layers of a model, ask for the same."""
_COPIED_A_CYCLE = 64
"""The bytes that a multiprocessor gets from global memory in a cycle, at best."""
_ARRIVAL, _NEARLY_A_BOUND = 870.0, 12.0
"""The cycles until the first byte of a step's copies arrives there, where descriptors give A and B,
and how what copies take adds up with what a step takes besides."""
_WITHIN_SECTORS = 0.45
"""What is left of them where rows begin within sectors of memory, which are 32 bytes. f16
3000x3000x3000 takes 168.7 us on an H200 with 192 x 192, 128 a step and 2 slots, and 132.0 with 64
and 4; where rows begin with sectors, both take about as long (384x12288x4096, 75.6 and 78.0)."""
_SPILLED_PER_REGISTER = 1.4
"""Registers that ptxas spills for one that the estimate has too many."""
SAVED_REGISTERS = 8
"""Registers of the estimate that ptxas can do without where descriptors give operands, if it is
asked to (`tuning/overlap/hold_workgroups.py`)."""
_REGISTER_STEP = 8
"""Registers are given out in eights."""
_WAIT_ALONE = 3.1
"""How much longer a step waits whose copies do not overlap with matrix instructions."""
_WAIT_ONCE = 1.3
"""How much longer the only step of an attention waits. f16 16x77x64 on an H200, 32 rows and 2
warps, takes 1.13 times as long with 80 keys in one step as with two steps of 48 that overlap."""
_QUERY_WAITS = 2.5
"""What an attention waits for before its first step where descriptors give Q, in waits for a copy
and besides what others wait for: Q goes through registers to where they have it. f16 on an H200, 64
rows and 2 steps by `wgmma` take 1.21 (16x77x64) and 1.12 times (4x50x320) as long as 32 rows by
`mma.sync`."""


class _Around(NamedTuple):
    """What a wave of workgroups of a matmul does before and behind its steps.

    Attributes:
        waits: how often it waits as long as for a copy.
        overlapped: the same once more where copies overlap with products.
        filled: how many times as long as 64 bytes a cycle take the tiles of the first step.
        stored: how many times as long as their share of memory takes the results, where a
            multiprocessor holds one workgroup: others hide the rest.
    """

    waits: float
    overlapped: float
    filled: float
    stored: float


_AROUND = _Around(7.0, 2.0, 0.0, 0.45)
"""Fitted to 244 kernels of 44 matmuls with many and few steps, times on an H200: the root mean
square of the logarithmic error is 0.14."""
_FILLED_AHEAD = 1 / 3
"""How far the tiles of later steps delay those of the first one, with which they are copied."""
_AROUND_DESCRIBED = _Around(3.0, 0.0, 2.6, 1.3)
"""Where descriptors give A and B; fitted with `_RUNNING_ON`. The tiles of the first step come from
memory, the others mostly from the L2 cache, where other workgroups have read them."""
SLOTS_TO_SPARE = 4
"""The fewest slots of which one is left to matrix units that still read it in the next step. Copies
are issued a step less ahead then. On an H200 (f16 4096^3, B by columns) 128 x 256 with 8 warps
takes 0.93 times as long with it and 4 slots, but 1.28 times with 3, and 128 x 128 with 8 warps and
3 slots 1.14 times."""
SPARED_SLOTS = 2
"""How many slots an iteration may read, or the matrix units still, where one is left to them."""


class _DescribedCost(NamedTuple):
    """What steps cost whose operands descriptors give.

    Attributes:
        latency: the cycles of a warp's matrix instruction.
        norm: how busy units and latency add up.
        wait: how much of the wait for a copy is left that is issued one step ahead.
        meeting: the cycles in which the warps of a workgroup meet.
        group: how many more these are for each warpgroup but the first.
        transposing: how many more these are for each part of B that the matrix units transpose.
    """

    latency: float
    norm: float
    wait: float
    meeting: float = 0.0
    group: float = 0.0
    transposing: float = 0.0


_B_ALONE = _DescribedCost(3.0, 1.5, 0.5)
"""Where A is in registers. Of the wait, matmuls with more than two slots hide the rest. Fitted to
62 kernels of eight attentions and four matmuls, code for sm_90a, times on an H200. Of these the
tile of the least predicted time is at most 7 % slower than the best one measured. Of tiles of less
than 64 keys up to 1.24 times the measured time is predicted."""
_THROUGH_REGISTERS = _DescribedCost(3.0, 1.5, 1.5)
"""The same where lanes store what they have loaded in the step before, and wait for each other
before they do so and behind it. Fitted with what such copies cost to 19 kernels of eight attentions
of odd heads, on an H200: the root mean square of the logarithmic error is 0.11, and 0.83 to 1.25 of
the measured time is predicted, the least of tiles with 32 keys a step."""
_WAITING = _DescribedCost(0.0, 1.95, 1.55)
"""Where descriptors give A and B of a matmul, and a step waits for its products."""
_RUNNING_ON = _DescribedCost(0.0, 1.95, 0.41, meeting=75.0, group=95.0, transposing=70.0)
"""The same where products run on into the next step. Fitted with `_WAITING`, `_AROUND_DESCRIBED`,
`_ARRIVAL` and `_WITHIN_SECTORS` to 281 kernels of 72 matmuls, 2 to 8 slots and 4 to 12 warps, f16
and bf16, 48 to 5000 rows, B along its rows and along its columns, times of ncu on an H200: the root
mean square of the logarithmic error is 0.08. Of 48 matmuls with several tiles the one of the least
predicted time takes 1.01 times as long as the best one measured in the geometric mean, and 1.14
times at most (f16 420x3584x3584, B by columns: 35.4 us with 208 columns, 31.0 with 224)."""
_LATER_LATENCY = 6.0
"""The cycles for which an instruction waits for the one before where a lane computes with its
results; of a scheduler it takes one. Fitted to 63 kernels of five f16 matmuls with GELU,
SiLU and tanh, by `mma.sync` and by `wgmma`, times on an H200. Of each matmul the tile of the least
predicted time is the best one measured, by either. 1.1 to 2.0 of the measured time is predicted:
workgroups compute with results while others multiply. Where divisions have no branches
(`tuning/arithmetic/native_division.py`), the tiles that are chosen so for seven such matmuls take
1.0 to 1.3 times as long as the best one measured: results are computed side by side there."""
_LATER, _LATER_REGISTERS, _RESULT_REGISTERS = 16.0, 28.0, 2.05
"""From how many instructions an element on lanes need more registers, and how many these are, and
for each result. In 64 x 64, 64 x 128, 128 x 192 and 128 x 128 by 4, 4, 8 and 4 warps ptxas takes
94, 161, 226 and 240 for GELU, and 78, 128, 178 and 210 without it."""
_SLOT_COUNTS = (8, 6, 4, 3, 2)
"""The numbers of slots that are compared. f16 100x4096x4096, B by columns, 64 x 64 by 4 warps, of
which a multiprocessor has one workgroup, takes 0.67 times as long with 6 as with 4, and 0.65 times
with 8; with 12 it takes 0.66 times. 5 are left out: 3000x3000x3000, 128 x 192 with 8 warps, takes
1.06 times as long with 5 as with 4."""
_MANY_SLOTS, _WAIT_AHEAD = 4, 0.5
"""How much of the wait is left with so many slots, where something computes meanwhile."""
SCHEDULERS, _WAIT_FAR = 4, 1.45
"""How much longer a warp waits that has its scheduler to itself, with fewer slots, for pieces of
rows that lie far apart in memory. f16 512x4096x4096, 128 x 128 by 4 warps, 128 summed elements a
step and 2 slots, takes 1.10 times as long where the rows of B lie along them as where its columns
do; with 64 and 4 slots both take the same time."""


_GATHERED, _EARLY_WAIT = _DescribedCost(0.0, 4.3, 1.5), 1.25
_AROUND_GATHERED = _Around(3.3, 0.0, 0.0, 2.8)
_TAKING_TURNS, _TOGETHER_ALONE, _ONE_A_SCHEDULER = 1.65, 1.2, 2.5
"""Where an operand of a matmul is put together of elements or words (`gathered_copies.py`): how
busy units and latency add up there, how long steps wait that are loaded ahead, by descriptors and
by `mma.sync` (`tuning/overlap/keep_loads_early.py`), what comes before and behind them, of which
other workgroups hide nothing, and how busy units add up where a multiprocessor has one workgroup,
whose warps put together and then multiply; the second one where that is one warpgroup, whose warps
multiply together, and the last one where each scheduler has one warp, by `mma.sync`. Fitted to 210
kernels of 56 convolutions, code for sm_80 and sm_90a, times on an H200, half of which were held
out: the root mean square of the logarithmic error is 0.083 (0.086 of those). Of each convolution
the kernel of the least predicted time takes 1.01 times as long as the best of them in the mean, and
1.24 times at most. The kernel that is chosen for sm_90a takes at most 1.02 times as long as that
for sm_80."""


class TileWork(NamedTuple):
    """What one workgroup does.

    Attributes:
        workgroups: how many there are in the grid.
        warps: the warps of a workgroup.
        steps: how often the loop over the reduction runs.
        matrix_instructions: those of a warp per step; one of 32 rows and columns counts as two.
        lds_cycles: LDS cycles of a workgroup per step, reads and writes.
        instructions: other instructions of a warp per step.
        vector: what these take of a vector ALU of its own, in instructions of the usual length; 0
            where they all take issue slots.
        copies: those of them that copy to the LDS.
        registers: registers of a lane, as many as it would need.
        lds_bytes: the LDS of a workgroup, slots of overlapped copies included.
        slots: how many steps' tiles the LDS holds; 1 if copies are not overlapped.
        stages: how many steps the loop works on at a time, where registers hold what the next one
            copies.
        multiply_adds: those of a lane per step that no matrix instruction computes.
        result_bytes: what a workgroup stores behind its steps; 0 where that counts as steps.
        later: the instructions of a lane that compute with its results behind the steps.
        reads_ahead: whether warps multiply while they wait for the next step.
        row_pieces: whether copies read a short piece of each of many rows, as those of a matmul do
            both of whose operands lie along the summed elements.
        memory_cycles: cycles per step of the path from global memory to the registers of a
            workgroup, for operands that do not go by way of the LDS.
        described: whether descriptors give operands to the matrix units.
        rows_described: whether they give operand A, too.
        transposed: how many parts of B the matrix units transpose, each by instructions of its own.
        loaded_registers: those that `registers` leaves out of a step's operands that lanes load
            from memory, all of which the compiler loads before it uses them.
        through_registers: whether lanes store to the LDS what they have loaded a step ahead; of a
            matmul, what they have put together of elements or words (`gathered_copies.py`).
        larger: whether instructions have 32 rows and columns, and not 16.
        within_sectors: whether rows of an operand begin within sectors of memory, where descriptors
            give both.
        narrow_rows: whether rows of a tile are shorter than the LDS writes in a cycle there.
    """

    workgroups: int
    warps: int
    steps: int
    matrix_instructions: float
    lds_cycles: float
    instructions: float
    copies: float
    registers: float
    lds_bytes: int
    slots: int
    stages: int = 1
    multiply_adds: float = 0.0
    result_bytes: float = 0.0
    later: float = 0.0
    reads_ahead: bool = False
    row_pieces: bool = False
    memory_cycles: float = 0.0
    described: bool = False
    rows_described: bool = False
    transposed: int = 0
    through_registers: bool = False
    loaded_registers: float = 0.0
    larger: bool = False
    vector: float = 0.0
    within_sectors: bool = False
    narrow_rows: bool = False

    @property
    def described_cost(self) -> _DescribedCost:
        """Returns what a step costs where descriptors give operands."""
        if self.is_gathered:
            return _GATHERED
        if not self.rows_described:
            return _THROUGH_REGISTERS if self.through_registers else _B_ALONE
        cost = _RUNNING_ON if self.runs_on else _WAITING
        return cost._replace(wait=cost.wait / self.steps_ahead)

    @property
    def is_gathered(self) -> bool:
        """Returns whether an operand of a matmul is put together before it goes to the LDS."""
        return self.through_registers and self.result_bytes > 0

    @property
    def steps_ahead(self) -> int:
        """Returns how many steps before theirs copies are issued that overlap."""
        return max(1, self.slots - (SPARED_SLOTS if self.runs_on else 1))

    @property
    def runs_on(self) -> bool:
        """Returns whether products run on into the next step."""
        return self.rows_described and self.slots >= SLOTS_TO_SPARE


def concurrent_workgroups(work: TileWork, processor: Processor) -> int:
    """Returns how many workgroups a multiprocessor holds at once; 0 if not even one fits."""
    saved = SAVED_REGISTERS if work.described else 0
    least = work.registers + processor.spare_registers - saved
    needed = min(least, _lane_registers(work, processor))
    given = math.ceil(needed / _REGISTER_STEP) * _REGISTER_STEP
    by_registers = processor.registers // (given * processor.lanes * work.warps)
    held = min(by_registers, processor.max_warps // work.warps)
    taken = work.lds_bytes + processor.lds_overhead
    return min(held, processor.lds_bytes // taken) if taken else held


@lru_cache(_MOST_KEPT)
def predicted_microseconds(work: TileWork, processor: Processor) -> float:
    """Returns the predicted time of the kernel; `math.inf` where a workgroup does not fit."""
    held = concurrent_workgroups(work, processor)
    if held < 1 or (work.result_bytes and work.registers > processor.lane_registers):
        return math.inf
    if processor.modelled and work.larger and work.registers > _lane_registers(work, processor):
        # What the compiler spills takes longer than anything that a larger tile gains.
        return math.inf
    whole, rest = divmod(work.workgroups, processor.multiprocessors * held)
    wave = _wave_cycles(work, processor, held, held)
    cycles = processor.launch_cycles + whole * wave
    if rest:
        last = math.ceil(rest / processor.multiprocessors)
        # Where workgroups drift apart, those of the last wave begin while others still run.
        drift = processor.modelled and whole
        cycles += wave * last / held if drift else _wave_cycles(work, processor, last, held)
    if work.described and not work.result_bytes:
        cycles += _QUERY_WAITS * processor.wait_cycles
    return cycles / (processor.megahertz * _clock(work, processor, cycles))


def least_microseconds(work: TileWork, processor: Processor) -> float:
    """Returns what `predicted_microseconds` is never below for workgroups with as much to do.

    They may have other numbers of slots, and share their steps among more workgroups.
    """
    # Other workgroups may let units work side by side that take turns in one alone.
    side_by_side = work._replace(through_registers=False)
    busy = work.workgroups * work.steps * _busy_cycles(side_by_side, processor, 1)
    waits = least_waiting(processor, is_gathered=work.is_gathered) if work.result_bytes else 0.0
    cycles = processor.launch_cycles + waits + busy / processor.multiprocessors
    return cycles / processor.megahertz


def least_microseconds_of_lanes(work: TileWork, processor: Processor) -> npt.NDArray[np.float64]:
    """Returns what `predicted_microseconds` is never below without matrix instructions, in any
    number of slots.

    The numbers of `work` may be arrays of as many works, which takes hardly longer than one.
    """
    instructions = work.multiply_adds * processor.fma_cycles
    instructions += work.instructions / 4 * processor.issue_cycles
    parts = work.lds_cycles, work.warps * instructions
    busy = sum(each**processor.busy_norm for each in parts) ** (1 / processor.busy_norm)
    # A multiprocessor has as many workgroups, one after another or side by side, and each of those
    # that are one after another waits.
    workgroups = -(-work.workgroups // processor.multiprocessors)
    taken = work.lds_bytes // work.slots + processor.lds_overhead
    held = np.minimum(processor.max_warps // work.warps, processor.lds_bytes // taken)
    waves = np.maximum(1, workgroups / np.maximum(1, held))
    latency = work.instructions * processor.issue_latency + work.multiply_adds
    latency += work.copies * (processor.copy_latency + processor.path_latency * work.warps)
    norm = processor.latency_norm
    step = ((workgroups * busy) ** norm + (waves * latency) ** norm) ** (1 / norm)
    return (processor.launch_cycles + work.steps * step) / processor.megahertz


def least_waiting(processor: Processor, *, is_gathered: bool = False) -> float:
    """Returns the cycles that workgroups of a matmul wait at least before and behind their steps.

    Args:
        is_gathered: whether an operand is put together of elements or words.
    """
    # In another number of slots descriptors may give operands.
    around = _AROUND_DESCRIBED if processor.described_cycles else _AROUND
    return (_AROUND_GATHERED if is_gathered else around).waits * processor.wait_cycles


def _clock(work: TileWork, processor: Processor, cycles: float) -> float:
    """Returns which part of its clock a processor keeps while its matrix units are as busy.

    Those of multiprocessors without a workgroup are not.
    """
    active = min(work.workgroups, processor.multiprocessors) / processor.multiprocessors
    workgroups = math.ceil(work.workgroups / processor.multiprocessors)
    instructions = workgroups * work.warps * work.matrix_instructions * work.steps
    busy = min(1.0, instructions * _matrix_cycles(work, processor) / cycles)
    return 1 - processor.clock_per_matrix * busy * active


def _matrix_cycles(work: TileWork, processor: Processor) -> float:
    """Returns the cycles that a matrix instruction takes of a multiprocessor's matrix units."""
    return processor.described_cycles if work.described else processor.matrix_cycles


def _lane_registers(work: TileWork, processor: Processor) -> int:
    """Returns how many registers a lane can have, so that a multiprocessor holds a workgroup."""
    share = processor.registers // (processor.lanes * work.warps)
    return min(processor.lane_registers, share - share % _REGISTER_STEP)


def _wave_cycles(work: TileWork, processor: Processor, workgroups: int, held: int) -> float:
    """Returns the cycles that so many workgroups take, of as many as a multiprocessor holds."""
    step = _step_cycles(work, processor, workgroups)
    later = _later_cycles(work, processor, workgroups) if work.later else 0.0
    if not work.result_bytes:
        return step * (work.steps + processor.outer_steps) + later
    around = _AROUND_DESCRIBED if work.rows_described and work.slots > 1 else _AROUND
    shared = held
    if work.is_gathered:
        around, shared = _AROUND_GATHERED, 1
    rate = processor.memory_bytes_a_cycle / processor.multiprocessors
    stored = around.stored * workgroups * work.result_bytes / rate / shared
    filled = around.filled * workgroups * work.lds_bytes / work.slots / _COPIED_A_CYCLE
    if around.filled:
        filled *= work.steps_ahead**_FILLED_AHEAD
    waits = around.waits + (around.overlapped if work.slots > 1 else 0)
    return step * work.steps + waits * processor.wait_cycles + filled + stored + later


def _later_cycles(work: TileWork, processor: Processor, workgroups: int) -> float:
    """Returns the cycles in which so many workgroups compute with results behind their steps."""
    busy = workgroups * work.warps * work.later / SCHEDULERS
    return _norm(processor.busy_norm, busy, work.later * _LATER_LATENCY)


def _step_cycles(work: TileWork, processor: Processor, workgroups: int) -> float:
    """Returns the cycles that one step of so many workgroups takes on one multiprocessor."""
    spilled = _spilled(work, processor)
    instructions = work.instructions + 2 * spilled
    busy = _busy_cycles(work, processor, workgroups)
    latency = (
        processor.wait_cycles * _wait(work, processor, workgroups)
        + _meeting(work)
        + work.matrix_instructions * _matrix_latency(work, processor)
        + instructions * processor.issue_latency
        + work.multiply_adds
        + work.copies * (processor.copy_latency + processor.path_latency * work.warps)
        + spilled * processor.spill_latency
    )
    step = _norm(_together(work, processor, workgroups), busy, latency)
    arrival = _arrival(work, workgroups)
    return _norm(_NEARLY_A_BOUND, step, arrival) if arrival else step


def _arrival(work: TileWork, workgroups: int) -> float:
    """Returns the least cycles of a step in which the copies of so many workgroups arrive, where
    descriptors give A and B.

    While copies are under way, as many steps are made as they are issued ahead.
    """
    if not work.rows_described or work.is_gathered or work.slots == 1:
        return 0.0
    rate = _COPIED_A_CYCLE * (_WITHIN_SECTORS if work.within_sectors else 1)
    copied = workgroups * work.lds_bytes / work.slots / rate
    return max(copied, (_ARRIVAL + copied) / work.steps_ahead)


def _spilled(work: TileWork, processor: Processor) -> float:
    """Returns what a lane stores and loads again in a step for lack of registers."""
    held = work.registers + work.loaded_registers
    return _SPILLED_PER_REGISTER * max(0.0, held - _lane_registers(work, processor))


def _busy_cycles(work: TileWork, processor: Processor, workgroups: int) -> float:
    """Returns the cycles for which one step of so many workgroups keeps units busy."""
    spilled = _spilled(work, processor)
    warps = workgroups * work.warps
    matrix = warps * work.matrix_instructions * _matrix_cycles(work, processor)
    lds = workgroups * work.lds_cycles + warps * 2 * spilled
    issued = work.vector or work.instructions
    issue = warps * (issued + 2 * spilled) / 4 * processor.issue_cycles
    scalar = warps * work.multiply_adds * processor.fma_cycles
    memory = workgroups * work.memory_cycles
    norm = _turns(work) if work.is_gathered and workgroups == 1 else processor.busy_norm
    return _norm(norm, matrix, lds, memory, scalar + issue)


def _turns(work: TileWork) -> float:
    """Returns how busy units add up of a workgroup alone that puts an operand together."""
    if work.warps > SCHEDULERS:
        return _TAKING_TURNS
    return _TOGETHER_ALONE if work.described else _ONE_A_SCHEDULER


def _matrix_latency(work: TileWork, processor: Processor) -> float:
    """Returns the cycles of a matrix instruction of a warp that waits for its results.

    The warpgroups of a workgroup meet at barriers, so that they wait for each other's.
    """
    if work.described:
        return work.described_cost.latency * work.warps / GROUP_WARPS
    return processor.larger_latency if work.larger else processor.matrix_latency


def _together(work: TileWork, processor: Processor, workgroups: int) -> float:
    """Returns how the time of busy units adds up with the latency of a warp, as norms do."""
    if work.is_gathered:
        # A workgroup alone that loads nothing ahead waits while no unit is busy.
        return 1.0 if work.slots == workgroups == 1 else _GATHERED.norm
    if work.described:
        return work.described_cost.norm
    return processor.busy_norm if work.reads_ahead else processor.latency_norm


def _meeting(work: TileWork) -> float:
    """Returns the cycles in which the warps of a workgroup meet in a step."""
    if not work.described:
        return 0.0
    cost = work.described_cost
    groups = work.warps // GROUP_WARPS
    return cost.meeting + cost.group * (groups - 1) + cost.transposing * work.transposed


def _norm(exponent: float, *cycles: float) -> float:
    """Returns how long parts take together: 1 adds them, and a large exponent takes the longest."""
    return math.fsum(each**exponent for each in cycles) ** (1 / exponent)


def _wait(work: TileWork, processor: Processor, workgroups: int) -> float:
    """Returns how long a step waits for its copies, of `wait_cycles`."""
    if work.stages > 1:
        return 0.0
    if work.slots == 1:
        is_single = work.steps == 1 and not work.result_bytes and processor.described_cycles > 0
        return _WAIT_ONCE if is_single else _WAIT_ALONE
    if work.is_gathered:
        return _GATHERED.wait if work.described else _EARLY_WAIT
    if work.described:
        is_hidden = work.result_bytes and work.slots > _FEW_SLOTS and not work.rows_described
        return 0.0 if is_hidden else work.described_cost.wait
    others_compute = work.reads_ahead or workgroups > 1
    if work.slots >= _MANY_SLOTS and others_compute:
        return _WAIT_AHEAD
    is_alone = work.warps <= SCHEDULERS and work.workgroups <= processor.multiprocessors
    is_far = work.row_pieces and work.steps >= _MANY_SLOTS
    return _WAIT_FAR if is_far and is_alone else 1.0


_FEW_SLOTS = 2
_MANY_STEPS = 16
"""The fewest steps of a matmul with which more slots were measured to gain."""
_INSTRUCTIONS_AHEAD = 128
"""Matrix instructions of a warp that take about as long as a copy from global memory."""
MULTIPLY_ADDS = 8
"""How many multiply-adds of a warp take about as long as a matrix instruction."""


def rotating_slots(
    matrix_instructions: float, steps: int | None, copied_bytes: int, other_bytes: int, limit: int
) -> int:
    """Returns how many steps' tiles the LDS shall hold while copies overlap; 1 if not even two fit.

    A copy takes about 1,000 cycles to arrive, and a matrix instruction at least 8 cycles of a warp.
    So copies are issued so far ahead that 128 matrix instructions of a warp lie between, with 2 or
    4 slots: with powers of two, a step's slot is some bits of its number. 4 slots are taken only
    where a multiprocessor still holds two workgroups. On an H200 (f16 4096^3, tiles of 128x128, 4
    warps) 64 summed elements per step (128 instructions) take 0.98 times as long with 3 slots as
    with 2, and 32 elements (64 instructions) 0.89 times with 4. (An attention with one workgroup
    per multiprocessor does not gain: 16x4096x128 with 128 rows, 32 keys per step and 8 warps, 64
    instructions, takes 1.02 times as long with 4 slots as with 2.)

    Args:
        matrix_instructions: those of a warp per step.
        steps: how many there are; None if that is not known.
        copied_bytes: what a step copies.
        other_bytes: what else a workgroup has in the LDS.
        limit: the LDS that a workgroup may have.
    """
    if other_bytes + _FEW_SLOTS * copied_bytes > limit or steps == 1:
        return 1
    is_long = steps is None or steps >= _MANY_SLOTS
    wants_more = is_long and (_FEW_SLOTS - 1) * matrix_instructions < _INSTRUCTIONS_AHEAD
    if wants_more and 2 * (other_bytes + _MANY_SLOTS * copied_bytes) <= limit:
        return _MANY_SLOTS
    return _FEW_SLOTS


def slot_counts(work: TileWork, copied_bytes: int, limit: int) -> tuple[int, ...]:
    """Returns the numbers of slots that are compared for a tile, the usual one first.

    That is the one of `rotating_slots`. Where it is 2, 4 are compared too: with matmuls of many
    steps, and with attentions whose steps are so long that 2 slots give copies the time they need.
    Of attentions with shorter steps, 16x1024x72 in f16 does not gain: 64 rows and keys by 4 warps
    take the same time with 2 slots and with 4, though 9 % are predicted to be saved. With 4 slots
    a matmul of 16 steps takes 0.95 times as long (f16 1000x1000x1000), and a convolution of 9 steps
    1.11 times (f16 8x58x58x64, 64 filters of 3x3).

    Args:
        work: what a tile does without overlapped copies.
        copied_bytes, limit: as for `rotating_slots`.
    """
    others = work.lds_bytes - copied_bytes
    instructions = work.matrix_instructions + work.multiply_adds / MULTIPLY_ADDS
    usual = rotating_slots(instructions, work.steps, copied_bytes, others, limit)
    fits = others + _MANY_SLOTS * copied_bytes <= limit and work.steps >= _MANY_SLOTS
    if work.result_bytes > 0:
        compared = work.steps >= _MANY_STEPS
    else:
        compared = work.matrix_instructions >= _INSTRUCTIONS_AHEAD
    return (usual, _MANY_SLOTS) if usual == _FEW_SLOTS and fits and compared else (usual,)


def described_slots(
    steps: int, copied_bytes: int, held: int, processor: Processor
) -> tuple[int, ...]:
    """Returns how many steps' tiles a matmul may hold whose operands descriptors give.

    Its steps take half as long as those of `mma.sync`, so that copies are issued as far ahead as
    the LDS allows while a multiprocessor holds as many workgroups as registers allow, and then
    fewer. On an H200 (f16 4096^3, A in registers) 128 x 256 with 8 warps takes 0.87 times as long
    with 4 slots as with 2; 128 x 128 with 8 warps 0.92 times with 3, and 1.10 times with 4, of
    which one workgroup has most of the LDS.

    Args:
        steps: how many there are.
        held: the workgroups that registers allow.
    """
    rooms = (
        processor.lds_bytes // workgroups - processor.lds_overhead
        for workgroups in range(max(1, held), 0, -1)
    )
    most = [min(room // copied_bytes, steps) for room in rooms]
    counts = (next((each for each in _SLOT_COUNTS if each <= n), _FEW_SLOTS) for n in most)
    return tuple(dict.fromkeys(counts))


class AttentionTile(NamedTuple):
    """How an attention is cut.

    Attributes:
        rows: rows of Q of a workgroup; a warp has `rows / warps` of them.
        columns: columns of the output of a workgroup.
        keys: rows of K and V per step.
        warps: warps of a workgroup, which share the rows.
        slots: how many steps' tiles of K and V the LDS holds.
        stages: how many steps the loop works on at a time: with 2, registers hold what the next
            step copies while a step computes. With 2 slots, too, copies go straight to the LDS, on
            AMD GPUs that have such loads.
        staged_queries, staged_keys, staged_values: whether Q, K and V go to registers by way of the
            LDS, and not from memory.
    """

    rows: int
    columns: int
    keys: int
    warps: int
    slots: int = 1
    stages: int = 1
    staged_queries: bool = True
    staged_keys: bool = True
    staged_values: bool = True

    @property
    def is_direct(self) -> bool:
        """Returns whether copies go to the LDS without registers, on AMD GPUs."""
        return self.stages > 1 and self.slots > 1

    @property
    def held_stages(self) -> int:
        """Returns how many steps the loop works on by what registers hold."""
        return 1 if self.is_direct else self.stages

    def copied_elements(self, head: int) -> int:
        """Returns the elements of K and V that a step copies to the LDS."""
        return self.keys * (head * self.staged_keys + self.columns * self.staged_values)

    def __str__(self) -> str:
        text = (
            f"{self.rows} rows x {self.columns} columns, {self.keys} keys a step, "
            f"{self.warps} warps"
        )
        ahead = "go straight to the LDS" if self.is_direct else "are loaded"
        text += "" if self.stages == 1 else f", copies {ahead} a step ahead"
        staged = {"Q": self.staged_queries, "K": self.staged_keys, "V": self.staged_values}
        absent = [name for name, is_staged in staged.items() if not is_staged]
        verb = "does" if len(absent) == 1 else "do"
        return text + (f", {' and '.join(absent)} {verb} not lie in the LDS" if absent else "")


SECTOR_BYTES = 32
"""The bytes of global memory that are moved together."""


class AttentionShape(NamedTuple):
    """The sizes of an attention, and what its arithmetic costs.

    Attributes:
        batch: how many attentions there are.
        queries: rows of Q.
        keys: rows of K and V.
        head: columns of Q and K.
        columns: columns of V and of the output.
        element_bytes: bytes of an element of Q, K and V.
        exponential: instructions of an exponential.
        reloads: whether the kernel can read Q again in every step, where registers are short.
        depth: the summed elements of the scores' matrix instruction, where lanes load operands as
            they lie in the LDS; 0 where `ldmatrix` gives each lane 16 bytes.
        asks_ends: whether each copy asks where K and V end, because the program computes that.
        row_alignment: the bytes at multiples of which rows of K and V begin, up to a sector's.
        short_steps: whether, on 2-byte floats, passes follow that leave sums as they are while no
            maximum grows much, add up probabilities in pairs, let copies transpose V, and join
            products in pairs, as they do on AMD under `fast`.
        word_bytes: the bytes of the words by which lanes read rows that begin at less than 4 of
            them; 0 where they read single elements.
    """

    batch: int
    queries: int
    keys: int
    head: int
    columns: int
    element_bytes: int = 2
    exponential: float = 1.0
    reloads: bool = False
    depth: int = 0
    asks_ends: bool = False
    row_alignment: int = SECTOR_BYTES
    short_steps: bool = False
    word_bytes: int = 0

    @property
    def is_short(self) -> bool:
        """Returns whether steps are as short as those passes make them."""
        return self.short_steps and self.element_bytes == _HALF_BYTES

    @property
    def copied_bytes(self) -> int:
        """Returns the bytes of K and V that a lane copies at once."""
        return _VECTOR_BYTES if self.word_bytes else min(self.row_alignment, _VECTOR_BYTES)


_INSTRUCTION = (16, 8, 16)
"""Rows, columns and summed elements of `mma.sync` of 16-bit types."""
_DESCRIBED_BYTES, _GROUP_ROWS, _LEAST_KEYS = 2, GROUP_WARPS * _INSTRUCTION[0], 64
"""The bytes of an element that descriptors give, the rows that a warpgroup multiplies, and the
fewest keys whose scores cost no more than their share. The last one was set after a measurement,
and why it is so is not known: 64x2048x64 with 128 rows, 32 keys and 4 warps took 1.29 times the
time on an H200 that was predicted without it."""
PATH_BYTES = 64
"""Bytes that come from global memory to a multiprocessor's registers in a cycle."""
_RESULT_BYTES = 4
"""The bytes of an element of a matmul's result."""
_END_REGISTERS = 4
"""Registers of each copy of a step that asks where a dynamic K or V ends; twice as many where slots
are more than two. Taken from what ptxas spills of 19 kernels of f16 16x?x128 and 32x?x64: with 128
rows, 32 keys, 4 warps and a head of 128, 53 registers with 4 slots and 21 with 2. With them, the
tile that is predicted to be the best for 2048 rows is the best one of those measured on an H200.
Without them it takes 1.16 and 1.09 times as long."""
_VECTOR_BYTES, _LEAST_BYTES = 16, 4
"""The bytes that a lane loads at once at most, and those that any load takes of the LDS."""
_REGISTER_BYTES, _HALF_BYTES = 4, 2
_SMALL_ROWS = 16
"""The rows and columns of AMD's smaller matrix instructions."""
_SCORE_REGISTERS = 1.7
"""The registers that a score takes of a lane where `ldmatrix` loads operands."""
_EXPONENTIAL_LENGTH = 4.0
"""The instructions of the usual length in which a vector ALU of AMD's computes an exponential: it
takes 16 cycles, and others take 4 (`emulator/timing/constants.py`)."""
_SHORT_SCORE, _SHORT_ROWS = 1.5, 11.0
"""The vector instructions of a score in a short step, and those of 16 rows beside their scores:
`v_max3`, `v_cvt_pkrtz` and `v_dot2` take two scores each (`tuning/attention/keep_maxima.py`,
`tuning/attention/sum_probabilities.py`). The numbers of instructions are those of the loops that
LLVM makes of the kernels in `bench/results/timing_tiles.md`, and are right to 5 %, but where it
moves sums from registers to registers, once a step, which it does on gfx950 for heads from 128."""
_LONG_SCORE, _ROUNDED_SCORE, _LONG_ROWS = 2.0, 1.5, 18.0
"""The same of other steps: `v_pk_add` subtracts the maximum from two scores, and `v_max3` and
`v_add` reduce them; scores that are multiplied as floats of 2 bytes are rounded and packed. Beside
them `v_pk_mul` rescales two elements of the output."""
_STEP_INSTRUCTIONS, _WAITS_A_LOAD = 20.0, 0.6
"""What a loop has of counters, branches, barriers and waits, and the waits for each load of LDS."""
_PLACED_BY = 3.0
"""The instructions that say where a copy goes which brings 16 bytes a lane to the LDS without
registers: they add to its address, and set `m0`, as LLVM's loops on gfx950 do. They count where
each multiprocessor has one workgroup at most: others hide them, so that f16 64x2048x64 takes 1.09
times as long by the model of `emulator/timing/` with 256 rows, 32 keys and 8 warps, which have a
quarter of the copies, as with 128, 64 and 4."""
_TRANSPOSED_BYTES = 8
"""What a lane gets by a load that transposes."""
_BLOCK_BYTES = 8
"""What a lane stores at once of the V that it has transposed."""
_VECTOR_REGISTERS, _MOVES_BEYOND = 256, 0.5
"""The registers of a lane that vector instructions reach, of twice as many, and the moves of a step
for each of the others that a tile needs: `v_accvgpr_read` and `v_accvgpr_write`. f16 16x2048x256 on
gfx942, 128 rows and 4 warps, has 10, 25 and 27 where it takes 277, 311 and 306 registers."""
_HELD_OPERANDS, _HELD_LONGER = 0.35, 0.5
"""Which part of a step's K and V of 2-byte floats the registers of a lane hold at once, on AMD; the
second where steps are not short."""
_ODD_BYTES_A_CYCLE, _DESCRIBED_ODD_BYTES = 25.0, 32.0
"""What `cp.async` brings to a multiprocessor in a cycle of rows that begin within sectors of global
memory; the second where descriptors give operands. Alone it brings 25 to 29 bytes of rows of 144,
176 and 200, on an H200, and 57, 39, 46 and 42 of rows of 128, 160, 192 and 224. Fitted to 15
kernels of four attentions."""
_LOAD_CYCLES, _SHIFT_INSTRUCTIONS = 6.0, 20.0
"""The cycles of a warp's load of a copy that goes through registers, and the instructions that
choose 16 bytes from the words that they lie in."""
_MOST_LOADED_AHEAD, _SPARED = 64, 32
"""How many registers a lane has for what is loaded a step ahead (`tuning/overlap/load_ahead.py`),
and those beside the estimate that have to be left. That hides the time of loads where descriptors
give operands (`tuning/wgmma/timed_loads.py`); others are made at the end of a step. f16
16x1024x75 on an H200, 128 rows, 64 keys and 8 warps, takes 0.78 times as long by `wgmma` as by
`mma.sync`."""


@lru_cache(_MOST_KEPT)
def attention_work(
    shape: AttentionShape,
    tile: AttentionTile,
    processor: Processor,
    instruction: tuple[int, int, int] = _INSTRUCTION,
) -> TileWork:
    """Returns what a workgroup of an attention does; Q is read anew only where registers are short.

    Args:
        instruction: rows, columns and summed elements of a matrix instruction.
    """
    work = _attention_work(shape, tile, processor, instruction, reloads=False)
    if _describes_attention(shape, tile, processor, instruction):
        work = _described_attention(work, shape, tile, processor)
    elif shape.reloads and work.registers > processor.lane_registers:
        work = _attention_work(shape, tile, processor, instruction, reloads=True)
    is_async = shape.row_alignment >= LEAST_ASYNC_BYTES
    return work if is_async else _copied_by_registers(work, shape, processor.lane_registers)


def _copied_by_registers(work: TileWork, shape: AttentionShape, limit: int) -> TileWork:
    """Returns the work of an attention whose copies go through registers, by elements or words."""
    loads, registers, shifts = 1, 1, 0.0
    if shape.word_bytes:
        loads = 1 + _VECTOR_BYTES // shape.word_bytes
        registers, shifts = loads * shape.word_bytes // _REGISTER_BYTES, _SHIFT_INSTRUCTIONS
    ahead = registers * work.copies
    fits = work.registers + ahead + _SPARED <= limit and ahead <= _MOST_LOADED_AHEAD
    is_ahead = work.described and fits
    return work._replace(
        instructions=work.instructions + (loads + 1 + shifts) * work.copies,
        registers=work.registers + (ahead if fits else 0),
        slots=_FEW_SLOTS if is_ahead else 1,
        through_registers=is_ahead,
        memory_cycles=work.memory_cycles + work.warps * work.copies * loads * _LOAD_CYCLES,
    )


def _attention_work(
    shape: AttentionShape,
    tile: AttentionTile,
    processor: Processor,
    instruction: tuple[int, int, int],
    *,
    reloads: bool,
) -> TileWork:
    rows, size, lanes = tile.rows / tile.warps, shape.element_bytes, processor.lanes
    scores, outputs = rows * tile.keys / lanes, rows * tile.columns / lanes
    query_registers = rows * shape.head * size / (4 * lanes)
    queries, copied = _queries_and_copies(shape, tile)
    direct = tile.keys * (shape.head + tile.columns) * size - copied
    is_odd = LEAST_ASYNC_BYTES <= shape.row_alignment < SECTOR_BYTES
    products = _products(shape, tile, instruction, processor)
    copies = copied / (shape.copied_bytes * lanes * tile.warps)
    loads, read = _operand_loads(shape, tile, instruction, processor)
    larger = shape.depth > 0 and instruction[0] > _SMALL_ROWS
    # AMD's instructions for f32 take twice the cycles of those for f16 (CDNA3 ISA: 32 and 16).
    slowness = 2.0 if shape.depth and (larger or size == _REGISTER_BYTES) else 1.0
    work = TileWork(
        workgroups=shape.batch
        * math.ceil(shape.queries / tile.rows)
        * math.ceil(shape.columns / tile.columns),
        warps=tile.warps,
        steps=math.ceil(shape.keys / tile.keys),
        matrix_instructions=rows * tile.keys * products * slowness,
        lds_cycles=tile.warps * read + (copied + (queries if reloads else 0)) / CYCLE_BYTES,
        # A score is scaled, reduced twice, shifted, raised and converted.
        instructions=scores * (4.2 + shape.exponential)
        + outputs
        + (loads + (queries / tile.warps / _VECTOR_BYTES if reloads else 0)) / lanes
        + 2 * copies
        + 50,
        copies=copies,
        registers=38
        + outputs
        + scores * _SCORE_REGISTERS
        + (8 if reloads else query_registers)
        + _copy_registers(shape, tile, copies)
        + _loaded_ahead(tile.stages, copied, lanes * tile.warps),
        lds_bytes=queries * tile.staged_queries + tile.slots * copied,
        slots=tile.slots,
        stages=tile.stages,
        memory_cycles=tile.warps * direct / PATH_BYTES + is_odd * copied / _ODD_BYTES_A_CYCLE,
        larger=larger,
    )
    return _by_lanes(work, shape, tile, processor, loads / lanes) if shape.depth else work


def _products(
    shape: AttentionShape,
    tile: AttentionTile,
    instruction: tuple[int, int, int],
    processor: Processor,
) -> float:
    """Returns the matrix instructions of a row and a key: those of its score, and of its output.

    An instruction of IREE's that takes more bytes of a lane than the GPU's is several. Where the
    GPU's takes more, short steps have it for the output (`tuning/fragments/join_products.py`).
    """
    rows, columns, summed = instruction
    depth = shape.depth or summed
    if shape.depth:
        most = processor.matrix_bytes // shape.element_bytes * processor.lanes // rows
        depth = min(depth, most)
        if shape.is_short and tile.keys % most == 0:
            summed = most
    return shape.head / (rows * columns * depth) + tile.columns / (rows * columns * summed)


def _transposes_copies(shape: AttentionShape, tile: AttentionTile, processor: Processor) -> bool:
    """Returns whether lanes transpose the V that they copy, of which they share blocks evenly.

    They do so for each other (`tuning/registers/transpose_tiles.py`).
    """
    if not shape.is_short or not tile.staged_values or tile.warps == 1 or tile.is_direct:
        return False
    return shares_blocks(tile.keys, tile.columns, processor.lanes * tile.warps)


class _LaneCopies(NamedTuple):
    """What a lane does in a step to copy K and V by way of its registers.

    Attributes:
        loads, stores: its accesses of global memory and of the LDS.
        lds_cycles: those that the stores of a workgroup take beyond what their bytes do.
    """

    loads: float
    stores: float
    lds_cycles: float

    @staticmethod
    def of(shape: AttentionShape, tile: AttentionTile, processor: Processor) -> _LaneCopies:
        """Returns the copies of lanes that share tiles evenly, by the widest accesses that do.

        Loads of blocks that are transposed count as those of rows: more of them, which are narrower
        and lie side by side, hide behind others.
        """
        threads, size = processor.lanes * tile.warps, shape.element_bytes
        in_blocks = _transposes_copies(shape, tile, processor)
        loads = stores = cycles = 0.0
        for columns, staged, transposed in (
            (shape.head, tile.staged_keys, False),
            (tile.columns, tile.staged_values, in_blocks),
        ):
            copied = staged * tile.keys * columns * size
            width = widest_share(tile.keys, columns, size, threads) or size
            stored = _BLOCK_BYTES if transposed else width
            loads += copied / (threads * width)
            stores += copied / (threads * stored)
            cycles += copied * max(0, _LEAST_BYTES / stored - 1) / CYCLE_BYTES
        return _LaneCopies(loads, stores, cycles)


def _by_lanes(
    work: TileWork, shape: AttentionShape, tile: AttentionTile, processor: Processor, loads: float
) -> TileWork:
    """Returns the work of an attention whose lanes load their elements of K and V themselves.

    Args:
        work: that of an attention whose operands `ldmatrix` loads.
        loads: the loads of a lane that bring it K and V.
    """
    rows, lanes, size = tile.rows / tile.warps, processor.lanes, shape.element_bytes
    scores, outputs = rows * tile.keys / lanes, rows * tile.columns / lanes
    # Two `v_perm_b32` transpose four elements of V, in each warp if not where they are copied. No
    # registers transpose what copies bring to the LDS without them.
    moved = not tile.is_direct
    transposed = moved * tile.keys * tile.columns / lanes if size < _REGISTER_BYTES else 0.0
    copied = _LaneCopies.of(shape, tile, processor) if moved else _LaneCopies(work.copies, 0.0, 0.0)
    copying = copied.loads + copied.stores
    if tile.is_direct and work.workgroups <= processor.multiprocessors:
        copying += _PLACED_BY * work.copies
    if moved and _transposes_copies(shape, tile, processor):
        transposed /= tile.warps
    groups = rows / _SMALL_ROWS
    if shape.is_short:
        arithmetic = _SHORT_SCORE * scores + _SHORT_ROWS * groups
    else:
        score = _LONG_SCORE + _ROUNDED_SCORE * (size < _REGISTER_BYTES)
        arithmetic = score * scores + outputs / 2 + _LONG_ROWS * groups
    exponentials = _EXPONENTIAL_LENGTH * shape.exponential * scores
    vector = arithmetic + exponentials + transposed / 2
    others = (1 + _WAITS_A_LOAD) * loads + copying + _STEP_INSTRUCTIONS
    registers = (
        outputs
        + rows * shape.head * size / (_REGISTER_BYTES * lanes)
        + _step_registers(shape, tile, scores, lanes, larger=work.larger)
        + _loaded_ahead(tile.stages, _queries_and_copies(shape, tile)[1], lanes * tile.warps)
    )
    vector += _MOVES_BEYOND * max(0.0, registers - _VECTOR_REGISTERS)
    return work._replace(
        vector=vector,
        instructions=vector + others,
        registers=registers,
        loaded_registers=_loaded_registers(shape, tile, lanes),
        copies=copied.loads,
        lds_cycles=work.lds_cycles + copied.lds_cycles,
    )


def _step_registers(
    shape: AttentionShape, tile: AttentionTile, scores: float, lanes: int, *, larger: bool
) -> float:
    """Returns the registers of a lane for scores and operands, and what else a step needs.

    The numbers are those of the kernels in `bench/results/timing_tiles.md`, to 9 registers (root
    mean square).
    """
    if shape.element_bytes >= _REGISTER_BYTES:
        return 22 + 1.6 * scores
    operands = tile.keys * (shape.head + tile.columns) * shape.element_bytes
    share = _held_share(shape)
    of_scores = (0.8 if larger else 0.4) * scores
    return (35 if shape.is_short else 50) + of_scores + share * operands / (_REGISTER_BYTES * lanes)


def _held_share(shape: AttentionShape) -> float:
    """Returns the part of a step's operands that registers hold at a time."""
    return _HELD_OPERANDS if shape.is_short else _HELD_LONGER


def _loaded_registers(shape: AttentionShape, tile: AttentionTile, lanes: int) -> float:
    """Returns the registers of operands from memory that `_step_registers` leaves out.

    Copies of f32 to the LDS are all loaded before the first is stored. With them the registers of
    heads of 352 to 416 are those that LLVM takes on gfx942, to 18: 318, 400 and 432.

    Of 256 keys and a head of 640 in bf16, lanes hold 746 registers with 128 keys a step, of which
    LLVM stores 571 to memory on gfx942: the emulator predicts 57 us, and 32 with 64 keys.
    """
    if shape.element_bytes >= _REGISTER_BYTES:
        copied = 0 if tile.is_direct else tile.copied_elements(shape.head) * shape.element_bytes
        return copied / (_REGISTER_BYTES * lanes * tile.warps)
    columns = shape.head * (not tile.staged_keys) + tile.columns * (not tile.staged_values)
    loaded = tile.keys * columns * shape.element_bytes / (_REGISTER_BYTES * lanes)
    return (1 - _held_share(shape)) * loaded


def _copy_registers(shape: AttentionShape, tile: AttentionTile, copies: float) -> float:
    """Returns the registers of a lane for the addresses of its copies of a step."""
    ends = copies * shape.asks_ends * _END_REGISTERS * (2 if tile.slots > _FEW_SLOTS else 1)
    return ends + (4 if tile.slots > 1 else 0)


def _describes_attention(
    shape: AttentionShape, tile: AttentionTile, processor: Processor, instruction: tuple[int, ...]
) -> bool:
    """Returns whether descriptors can give K, V and Q to the matrix units."""
    size = shape.element_bytes
    queries, copied = _queries_and_copies(shape, tile)
    # Q goes through memory of its own to where descriptors have it.
    lds_bytes = 2 * queries + max(tile.slots, _FEW_SLOTS) * copied
    return (
        _may_describe(processor, instruction, size, tile.warps)
        and lds_bytes <= processor.lds_bytes - processor.lds_overhead
        and not any(columns * size % STEP_BYTES for columns in (shape.head, tile.columns))
        and not any(tile.keys * each * size % TILE_ALIGNMENT for each in (shape.head, tile.columns))
    )


def _may_describe(
    processor: Processor, instruction: tuple[int, ...], element_bytes: int, warps: int
) -> bool:
    """Returns whether so many warps that read the same operand make whole warpgroups."""
    known = processor.described_cycles > 0 and instruction == _INSTRUCTION
    return known and element_bytes == _DESCRIBED_BYTES and warps % GROUP_WARPS == 0


def _queries_and_copies(shape: AttentionShape, tile: AttentionTile) -> tuple[int, int]:
    """Returns the bytes of Q of a workgroup, and those of K and V that a step copies to the LDS."""
    queries = tile.rows * shape.head * shape.element_bytes
    return queries, tile.copied_elements(shape.head) * shape.element_bytes


def _described_attention(
    work: TileWork, shape: AttentionShape, tile: AttentionTile, processor: Processor
) -> TileWork:
    """Returns the work of an attention whose operands descriptors give, but for what warps share.

    Args:
        work: that of warps which load their operands.
    """
    queries, copied = _queries_and_copies(shape, tile)
    loads = copied / (_VECTOR_BYTES * processor.lanes)
    lane_rows = tile.rows / (tile.warps * processor.lanes)
    # The scores of fewer keys count as those of `_LEAST_KEYS`.
    idle = max(0, _LEAST_KEYS - tile.keys) * tile.rows / tile.warps * shape.head
    return work._replace(
        memory_cycles=work.memory_cycles * _ODD_BYTES_A_CYCLE / _DESCRIBED_ODD_BYTES,
        matrix_instructions=work.matrix_instructions + idle / math.prod(_INSTRUCTION),
        lds_cycles=(tile.rows / _GROUP_ROWS * copied + queries + copied) / CYCLE_BYTES,
        instructions=work.instructions - loads,
        registers=22 + lane_rows * (tile.columns + 1.5 * tile.keys),
        described=True,
    )


def _loaded_ahead(stages: int, copied: float, threads: int) -> float:
    """Returns the registers of a lane that hold what the next step copies.

    They count where copies go straight to the LDS, too: the compiler holds more operands in them
    instead. On gfx950 the tiles that are chosen so are predicted to take less (f16 64x2048x64 89.1
    us and not 92.8, 4x2048x256 31.6 and not 32.9).
    """
    return copied / (_REGISTER_BYTES * threads) if stages > 1 else 0.0


def _operand_loads(
    shape: AttentionShape,
    tile: AttentionTile,
    instruction: tuple[int, int, int],
    processor: Processor,
) -> tuple[float, float]:
    """Returns the loads of all lanes of a warp that bring it K and V, and their LDS cycles.

    Without `ldmatrix` a lane loads what is its own side by side: elements of K along the head and
    of V along the columns, which belong to consecutive matrix instructions. Of an odd number of
    these it has no two side by side. A load of 2 bytes takes as long as one of 4. Where copies have
    transposed V, a lane's elements lie along the keys. Two loads of 4 bytes or more are one. Those
    that transpose what came to the LDS without registers bring 8 bytes (`ds_read_b64_tr_b16`).
    """
    size = shape.element_bytes
    loads = cycles = 0.0
    # As many lanes share the summed elements as there are for each row of an instruction.
    shared = shape.depth * instruction[0] // processor.lanes
    transposed = _transposes_copies(shape, tile, processor)
    for extent, side_by_side, step, staged in (
        (shape.head, shared, shape.depth, tile.staged_keys),
        (tile.columns, 1, instruction[1], tile.staged_values),
    ):
        width, of_values = _VECTOR_BYTES, side_by_side == 1
        if shape.depth and not (of_values and (transposed or tile.is_direct)):
            width = math.gcd(side_by_side * (extent // step) * size, _VECTOR_BYTES)
        elements = tile.keys * extent * size
        taken = staged * elements * max(1, _LEAST_BYTES / width)
        width = min(2 * width, _VECTOR_BYTES) if width >= _LEAST_BYTES else width
        loads += elements / (_TRANSPOSED_BYTES if of_values and tile.is_direct else width)
        cycles += taken / (processor.read_bytes if width == _VECTOR_BYTES else CYCLE_BYTES)
    return loads, cycles


class MatmulTile(NamedTuple):
    """How a matmul is cut.

    Attributes:
        rows, columns: the part of the result that a workgroup computes.
        summed: summed elements per step.
        row_warps, column_warps: how many warps share the rows, and the columns.
        slots: how many steps' tiles the LDS holds.
    """

    rows: int
    columns: int
    summed: int
    row_warps: int
    column_warps: int
    slots: int = 1

    @property
    def warps(self) -> int:
        """Returns the warps of a workgroup."""
        return self.row_warps * self.column_warps

    @property
    def warp_rows(self) -> int:
        """Returns the rows of a warp's part of the result."""
        return self.rows // self.row_warps

    @property
    def warp_columns(self) -> int:
        """Returns the columns of a warp's part of the result."""
        return self.columns // self.column_warps

    def __str__(self) -> str:
        return (
            f"{self.rows} x {self.columns}, {self.summed} a step, "
            f"{self.row_warps} x {self.column_warps} warps"
        )


@lru_cache(_MOST_KEPT)
def matmul_work(
    shape: tuple[int, int, int],
    tile: MatmulTile,
    processor: Processor,
    element_bytes: int = 2,
    instruction: tuple[int, int, int] = _INSTRUCTION,
    batch: int = 1,
    stages: int = 1,
    columns_along_rows: bool = False,
) -> TileWork:
    """Returns what a workgroup of a matmul does.

    Args:
        shape: rows, columns, and summed elements.
        instruction: rows, columns and summed elements of a matrix instruction.
        stages: how many steps the loop works on at a time.
        columns_along_rows: whether the columns of the result lie along the rows of B.
    """
    lanes = processor.lanes
    copied = (tile.rows + tile.columns) * tile.summed * element_bytes
    loaded = (tile.warp_rows + tile.warp_columns) * tile.summed * element_bytes
    copies = copied / (16 * lanes * tile.warps)
    volume = math.prod(instruction)
    work = TileWork(
        workgroups=batch * math.ceil(shape[0] / tile.rows) * math.ceil(shape[1] / tile.columns),
        warps=tile.warps,
        steps=math.ceil(shape[2] / tile.summed),
        matrix_instructions=tile.warp_rows * tile.warp_columns * tile.summed / volume,
        lds_cycles=tile.warps * loaded / processor.read_bytes + copied / CYCLE_BYTES,
        instructions=loaded / (16 * lanes) + 2.5 * copies + 30,
        copies=copies,
        registers=20
        + 1.6 * tile.warp_rows * tile.warp_columns / lanes
        + _loaded_ahead(stages, copied, lanes * tile.warps),
        lds_bytes=tile.slots * copied,
        slots=tile.slots,
        stages=stages,
        result_bytes=tile.rows * tile.columns * _RESULT_BYTES,
        reads_ahead=tile.slots > 1,
    )
    if not _describes_matmul(tile, processor, instruction, element_bytes):
        return work
    # The rows of the warps follow each other where each has those of one instruction.
    rows_described = tile.warp_rows == instruction[0]
    transposes = rows_described and columns_along_rows
    return _described_matmul(work, tile, element_bytes, transposes)._replace(
        rows_described=rows_described
    )


def with_later(work: TileWork, results: float, instructions: float, most: int) -> TileWork:
    """Returns the work of a matmul with so many instructions behind the steps for each result.

    Args:
        results: those of a lane.
        most: the registers that a lane can have.
    """
    registers = work.registers
    if instructions >= _LATER:
        needed = _LATER_REGISTERS + _RESULT_REGISTERS * results
        registers = max(registers, min(needed, most))
    return work._replace(later=instructions * results, registers=registers)


def _described_matmul(
    work: TileWork, tile: MatmulTile, element_bytes: int, transposes: bool
) -> TileWork:
    """Returns the work of a matmul whose B descriptors give, and perhaps A.

    Warps load A, or a descriptor gives it, and a warpgroup takes B once for each 64 rows. Of
    columns that lie along the rows of B, descriptors give parts: each needs instructions of its
    own, which read A, and `cp.async` writes no more in a cycle of the LDS than a row of the part.

    Args:
        work: that of warps which load their operands.
        transposes: whether the matrix units transpose B.
    """
    column = tile.summed * element_bytes
    a, b = tile.warps * tile.warp_rows * column, tile.columns * column
    read = a + tile.rows // _GROUP_ROWS * b
    written = (tile.rows * column + b) / CYCLE_BYTES
    arranged = None
    if transposes:
        arranged = ArrangedTile.of(tile.summed, tile.columns, element_bytes)
    parts = () if arranged is None else arranged.parts
    for part in parts:
        size = part.columns * column
        written += size / part.mode.row_bytes - size / CYCLE_BYTES
    read += max(0, len(parts) - 1) * a
    return work._replace(
        lds_cycles=read / CYCLE_BYTES + written,
        instructions=work.instructions - tile.warp_columns * column / (16 * LANES),
        described=True,
        transposed=len(parts),
    )


def _describes_matmul(
    tile: MatmulTile, processor: Processor, instruction: tuple[int, ...], element_bytes: int
) -> bool:
    """Returns whether descriptors can give B to warps, which all stand below each other."""
    step = tile.summed * element_bytes
    return (
        _may_describe(processor, instruction, element_bytes, tile.row_warps)
        and tile.column_warps == 1
        and step % STEP_BYTES == 0
        and tile.columns * element_bytes % STEP_BYTES == 0
        and tile.columns * step % TILE_ALIGNMENT == 0
    )


class ScalarTile(NamedTuple):
    """How a matmul is cut whose threads multiply element by element.

    Attributes:
        rows, columns: the part of the result that a workgroup computes.
        summed: summed elements per step.
        thread_rows, thread_columns: the part of a thread.
        slots: how many steps' tiles the LDS holds.
        parts: into how many parts the sums are split, each of which has warps of its own.
    """

    rows: int
    columns: int
    summed: int
    thread_rows: int
    thread_columns: int
    slots: int = 1
    parts: int = 1

    @property
    def numbers(self) -> str:
        """Returns its numbers but for the slots, as options of passes write them."""
        part = (self.thread_rows, self.thread_columns, self.parts)
        return ",".join(map(str, (self.rows, self.columns, self.summed, *part)))

    @property
    def part_threads(self) -> int:
        """Returns the threads that share a part of the sums."""
        return self.rows // self.thread_rows * (self.columns // self.thread_columns)

    @property
    def threads(self) -> int:
        """Returns the threads of a workgroup."""
        return self.part_threads * self.parts

    def __str__(self) -> str:
        parts = f", sums in {self.parts} parts" if self.parts > 1 else ""
        return (
            f"{self.rows} x {self.columns}, {self.summed} a step, "
            f"{self.thread_rows} x {self.thread_columns} a thread{parts}"
        )


AnyTile = AttentionTile | MatmulTile | ScalarTile


_PARTS_ADDED = 150
"""The instructions that store, await and add the sums of parts."""


def scalar_work(
    shape: tuple[int, int, int],
    tile: ScalarTile,
    processor: Processor,
    element_bytes: int = 4,
    batch: int = 1,
) -> TileWork:
    """Returns what a workgroup of a matmul does without matrix instructions.

    Few workgroups with long sums, f32 on an H200 at its own clock, in us:

    | rows x columns x sums | tile, part of a lane, parts of the sums | measured | predicted |
    | --- | --- | ---: | ---: |
    | 256x100x512 | 32 x 32, 2 x 4, 1 | 11.4 | 18.5 |
    | | 16 x 32, 1 x 4, 1 | 8.9 | 15.9 |
    | | 16 x 32, 2 x 4, 4 | 6.6 | 10.8 |
    | | 8 x 32, 2 x 4, 8 | 6.4 | 7.5 |
    | 64x1600x576 | 64 x 64, 8 x 4, 1 | 28.0 | 43.1 |
    | | 32 x 32, 2 x 4, 1 | 14.1 | 20.4 |
    | | 32 x 32, 4 x 4, 4 | 10.3 | 15.7 |
    | 64x100x2304 | 16 x 32, 2 x 4, 4 | 23.2 | 30.0 |
    | | 8 x 32, 2 x 4, 8 | 17.5 | 19.8 |

    The clock is a third faster than that of `Processor`. The order is the same.

    Args:
        shape: rows, columns, and summed elements. All numbers may be arrays, of as many tiles.
    """
    warps = -(-tile.threads // processor.lanes)
    copied = (tile.rows + tile.columns) * tile.summed * tile.parts * element_bytes
    steps = -(-shape[2] // (tile.summed * tile.parts))
    # The sums of all parts go through the LDS, behind the last step.
    added = tile.rows * tile.columns * tile.parts * element_bytes * (tile.parts > 1)
    # A thread reads 16 bytes at a time.
    loaded = (tile.thread_rows + tile.thread_columns) * tile.summed * element_bytes
    copies = copied / (16 * tile.threads)
    results = tile.thread_rows * tile.thread_columns
    return TileWork(
        workgroups=batch * -(-shape[0] // tile.rows) * -(-shape[1] // tile.columns),
        warps=warps,
        steps=steps,
        matrix_instructions=0,
        lds_cycles=(tile.threads * loaded + copied + 2 * added / steps) / CYCLE_BYTES,
        instructions=loaded / 16 + 2.5 * copies + 30 + _PARTS_ADDED * (tile.parts > 1) / steps,
        copies=copies,
        registers=32 + results + 2 * (tile.thread_rows + tile.thread_columns),
        lds_bytes=tile.slots * copied + added,
        slots=tile.slots,
        multiply_adds=results * tile.summed,
    )
