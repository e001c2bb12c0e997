# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plays recorded waves on one compute unit, cycle by cycle where something happens.

A compute unit has four SIMDs. A wave issues its instructions in order, one in 4 cycles at most, to
the part of the hardware that executes them:

* each SIMD has a vector ALU, and a matrix unit that runs beside it;
* two SIMDs share a path to the LDS, with a queue of commands and one of data. The LDS serves both
  paths; an access takes the cycles that the emulator has counted for it;
* all share one path to memory: an L1 cache, whose lines are followed exactly, then the L2 cache of
  the die, of which the unit gets its share, then what lies behind it (`memory_levels.py`).

What an instruction waits for is counted by `Reason`. In every step the wave that can issue first
does so; among several it is the one with the highest priority, then the oldest one.

The functions are compiled by numba when they are first used, and their code is kept. The state of
the unit is one record, which they take by reference.
"""

from __future__ import annotations

import zlib
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .instruction_needs import NO_WAIT, REGISTERS, Code, Column, Kind
from .kept_code import compiled, kept
from .reasons import Reason

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


class Total(IntEnum):
    """What is summed up over a run."""

    LDS_INSTRUCTIONS = 0
    LDS_LATENCY = 1
    LDS_CYCLES = 2
    MATRIX_CYCLES = 3
    VECTOR_CYCLES = 4
    MEMORY_CYCLES = 5
    LOADED_LINES = 6
    L1_MISSES = 7
    WAVE_CYCLES = 8
    INSTRUCTIONS = 9


class Tape(NamedTuple):
    """What recorded waves have executed, one wave after the other.

    Attributes:
        waves: the waves of a workgroup.
        instructions: the indices of the executed instructions, and -1 at the end.
        bounds: [recorded waves + 1], where each wave begins in `instructions`.
        events: [recorded waves + 1], where the accesses to memory of each wave begin.
        cycles: for each access, the cycles of the LDS or the blocks of memory, -1 if not known;
            and -1 at the end.
        bounds_of_lines: [accesses + 2], where the lines of each access begin in `lines`.
        lines: the numbers of the cache lines; negative for those that one recorded workgroup alone
            touches. Another workgroup that does the same touches other lines in their place.
    """

    waves: int
    instructions: I32
    bounds: I64
    events: I64
    cycles: I32
    bounds_of_lines: I64
    lines: I64


class Log(NamedTuple):
    """What a run leaves behind, beside the totals of the unit.

    Attributes:
        stalls: [instructions, reasons], the cycles that waves have spent at each instruction.
        ends: [workgroups], when each workgroup ended.
        issued: [waves, n], when each wave of the first workgroup issued its instructions.
        waited: [waves, n], for how many cycles it waited before that, but for barriers.
        reasons: [waves, n], for what it waited then most of the time.
        fetched: [lines], when each line of the code is there; 0 while nobody has asked for it.
    """

    stalls: I64
    ends: I64
    issued: I64
    waited: I64
    reasons: I64
    fetched: I64


_COMPILED_IN = zlib.crc32(repr([*map(list, (Column, Kind, Reason)), NO_WAIT, REGISTERS]).encode())
"""A digest of what the compiled functions have from other files. Kept code is looked up by this
file and the types of arguments alone, so that the type of the unit holds the digest."""

MOST_WAVES = 32
"""The most waves of a compute unit."""
_SIMDS, _QUEUE, _RING, _SETS, _WAYS = 4, 64, 16, 8, 64
UNIT = np.dtype(
    [
        # The constants of `constants.py`, in cycles.
        *((name, "i8") for name in ("issue", "barrier", "workgroup")),
        *((name, "i8") for name in ("matrix_gap", "matrix_chain", "matrix_result")),
        *((name, "i8") for name in ("packed_after_matrix", "lds_round_trip", "fetch")),
        *((name, "i8") for name in ("l1_latency", "l2_latency", "far_latency")),
        *((name, "i8") for name in ("scalar_load", "store_done")),
        # What a block takes of the L1 cache, and a line of the unit's share of what is behind it.
        *((name, "f8") for name in ("block_cycles", "l2_line", "far_line", "far_part")),
        # The places in the queues of a path to the LDS; the sets and ways of the L1 cache.
        *((name, "i8") for name in ("commands", "data_rows", "sets", "ways")),
        ("slots", "i8"),
        ("waves", "i8"),
        ("recorded_workgroups", "i8"),
        # The waves: when each goes on, its place on the tape, and what it is doing.
        *((name, "i8", (MOST_WAVES,)) for name in ("time", "started", "recorded", "place")),
        *((name, "i8", (MOST_WAVES,)) for name in ("event", "index", "state", "priority")),
        # When registers can be read, and when a matrix instruction can add to them; 0 for always.
        ("ready", "i8", (MOST_WAVES, REGISTERS)),
        ("chain", "i8", (MOST_WAVES, REGISTERS)),
        # When the instructions under way are done that vmcnt and lgkmcnt count.
        ("under_way", "i8", (2, MOST_WAVES, _QUEUE)),
        ("head", "i8", (2, MOST_WAVES)),
        ("tail", "i8", (2, MOST_WAVES)),
        # When the units of each SIMD are free, and when its last matrix instruction ends.
        *((name, "i8", (_SIMDS,)) for name in ("vector", "matrix", "matrix_end", "scalar")),
        # The two paths to the LDS: when each is free, and when places of its queues are.
        ("lds_issue", "i8", (2,)),
        ("lds_path", "i8", (2,)),
        ("command_free", "i8", (2, _RING)),
        ("data_free", "i8", (2, _RING)),
        ("command", "i8", (2,)),
        ("data", "i8", (2,)),
        # When the LDS, the path to memory, and the shares of what is behind it are free.
        *((name, "f8") for name in ("lds_free", "l2_free", "far_free", "far_debt")),
        ("memory_free", "i8"),
        # The L1 cache: lines, when they were last used, and when they are filled.
        *((name, "i8", (_SETS, _WAYS)) for name in ("tags", "used", "filled")),
        # The slots for workgroups: live waves, waves at the barrier, the number of the workgroup.
        *((name, "i8", (MOST_WAVES,)) for name in ("live", "arrived", "number")),
        ("spent", "i8", (len(Reason),)),
        ("totals", "f8", (len(Total),)),
        (f"compiled_in_{_COMPILED_IN:08x}", "u1"),
    ],
    align=True,
)
"""The state of a compute unit; wave w belongs to slot `w // waves` and SIMD `w % 4`."""
Unit = Any
"""A record of `UNIT`."""

_RUNNING, _AT_BARRIER, _ENDED = 0, 1, 2
_VM, _LGKM = 0, 1
_EVER = 1 << 62
_OWN_LINES = 1 << 44
"""How far the lines of repeated workgroups are apart; addresses have 48 bits."""


def run(code: Code, tape: Tape, starts: I64, unit: Unit, log: Log) -> None:
    """Runs workgroups to their end.

    Args:
        starts: [slots], when the first workgroup of each slot starts; one that ends is followed by
            the next one.
        unit: a unit on which nothing has run; it is left with what was counted.
        log: is filled; its `ends` say how many workgroups run.
    """
    unit["waves"], unit["slots"] = tape.waves, min(len(starts), len(log.ends))
    unit["recorded_workgroups"] = (len(tape.bounds) - 1) // tape.waves
    # Kept code outlives these classes, so that it must not know them.
    _play(code.table, code.registers, tuple(tape)[1:], starts, unit, tuple(log))


@kept
def _play(code: I32, registers: I32, tape: Any, starts: I64, unit: Unit, log: Any) -> None:
    """Does what `run` says."""
    instructions, bounds, events, cycles, bounds_of_lines, lines = tape
    stalls, ends, _, _, _, fetched = log
    unit.state[:] = _ENDED
    unit.number[:] = -1
    for slot in range(unit.slots):
        _start(slot, slot, starts[slot], bounds, events, unit)
    while True:
        wave = _first(unit)
        if wave < 0:
            return
        place, event = unit.place[wave], unit.event[wave]
        index = instructions[place]
        unit.index[wave] = index
        row = code[index]
        time, reason = _fetched(wave, row[Column.LINE], unit, fetched)
        if reason == 0:
            time, reason = _earliest(wave, row, registers, unit)
        waits = time - unit.time[wave]
        if waits > 0:
            unit.time[wave] = time
            unit.spent[reason] += waits
            stalls[index, reason] += waits
        _note(wave, time, waits, reason, bounds, log, unit)
        if waits > 0:
            continue
        taken = instructions[place + 1] != index + 1
        its_lines = lines[bounds_of_lines[event] : bounds_of_lines[event + 1]]
        step = _step(wave, row, registers, taken, cycles[event], its_lines, unit)
        unit.spent[Reason.ISSUE] += step
        stalls[index, Reason.ISSUE] += step
        if row[Column.KIND] == Kind.BARRIER or row[Column.KIND] == Kind.END:
            _stop(wave, row[Column.KIND] == Kind.END, bounds, events, stalls, ends, unit)


@compiled
def _note(wave: int, time: int, waits: int, reason: int, bounds: I64, log: Any, unit: Unit) -> None:
    """Notes when a wave of the first workgroup issues its next instruction, and for what it waits.

    What is noted last of an instruction is when it was issued; its reason is that of the longest
    wait.
    """
    if unit.number[wave // unit.waves] != 0:
        return
    _, _, issued, waited, reasons, _ = log
    seat = wave % unit.waves, unit.place[wave] - bounds[unit.recorded[wave]]
    issued[seat] = time
    waited[seat] += waits
    if 2 * waits > waited[seat]:
        reasons[seat] = reason


@compiled
def _step(
    wave: int, row: I32, registers: I32, taken: bool, counted: int, lines: I64, unit: Unit
) -> int:
    """Issues the next instruction of a wave; returns the cycles that this takes the wave.

    Args:
        taken: whether what follows is another instruction than the next one of the text.
        counted: the cycles or the blocks of an access to memory.
        lines: the cache lines of an access to memory.
    """
    kind = row[Column.KIND]
    step = unit.issue
    if kind <= Kind.MATRIX:
        _issue_vector(wave, row, registers, unit)
    elif kind == Kind.LDS:
        _issue_lds(wave, row, counted, unit)
        unit.event[wave] += 1
        step = row[Column.BUSY]
    elif kind == Kind.MEMORY:
        repetition = unit.number[wave // unit.waves] // unit.recorded_workgroups
        _issue_memory(wave, row, counted, lines, repetition, unit)
        unit.event[wave] += 1
    elif kind == Kind.BRANCH:
        unit.scalar[wave % _SIMDS] = unit.time[wave] + unit.issue
        step = row[Column.BUSY] if taken else row[Column.FIRST]
    else:
        step = _issue_other(wave, row, registers, unit)
    unit.time[wave] += step
    unit.place[wave] += 1
    return step


# -- workgroups ----------------------------------------------------------------------------------


@compiled
def _start(slot: int, number: int, time: int, bounds: I64, events: I64, unit: Unit) -> None:
    """Starts a workgroup in a slot; it does what one of the recorded ones does."""
    unit.live[slot] = unit.waves
    unit.arrived[slot] = 0
    unit.number[slot] = number
    for k in range(unit.waves):
        wave = slot * unit.waves + k
        its = (number % unit.recorded_workgroups) * unit.waves + k
        unit.time[wave] = time
        unit.started[wave] = time
        unit.recorded[wave] = its
        unit.place[wave] = bounds[its]
        unit.event[wave] = events[its]
        unit.state[wave] = _RUNNING
        unit.priority[wave] = 0
        unit.ready[wave, :] = 0
        unit.chain[wave, :] = 0
        unit.head[:, wave] = unit.tail[:, wave]


@compiled
def _first(unit: Unit) -> int:
    """Returns the wave that goes on next; -1 if none does."""
    found, time, priority = -1, _EVER, 0
    for wave in range(unit.slots * unit.waves):
        if unit.state[wave] != _RUNNING:
            continue
        its = unit.time[wave]
        if its < time or (its == time and unit.priority[wave] > priority):
            found, time, priority = wave, its, unit.priority[wave]
    return found


@compiled
def _stop(
    wave: int, ended: bool, bounds: I64, events: I64, stalls: I64, ends: I64, unit: Unit
) -> None:
    """Lets a wave wait at a barrier or end, and the others of its workgroup go on if they can."""
    slot = wave // unit.waves
    if ended:
        unit.state[wave] = _ENDED
        unit.live[slot] -= 1
        unit.totals[Total.WAVE_CYCLES] += unit.time[wave] - unit.started[wave]
        unit.totals[Total.INSTRUCTIONS] += unit.place[wave] - bounds[unit.recorded[wave]]
    else:
        unit.state[wave] = _AT_BARRIER
        unit.arrived[slot] += 1
    if unit.live[slot] == 0:
        # The next workgroup takes the slot.
        ends[unit.number[slot]] = unit.time[wave]
        number = unit.number.max() + 1
        if number < len(ends):
            _start(slot, number, unit.time[wave] + unit.workgroup, bounds, events, unit)
    elif unit.arrived[slot] == unit.live[slot]:
        _release(slot, stalls, unit)


@compiled
def _release(slot: int, stalls: I64, unit: Unit) -> None:
    """Lets the waves of a workgroup go on behind a barrier."""
    first, last = slot * unit.waves, (slot + 1) * unit.waves
    time = 0
    for wave in range(first, last):
        if unit.state[wave] == _AT_BARRIER:
            time = max(time, unit.time[wave])
    time += unit.barrier
    for wave in range(first, last):
        if unit.state[wave] == _AT_BARRIER:
            waits = time - unit.time[wave]
            unit.spent[Reason.BARRIER] += waits
            stalls[unit.index[wave], Reason.BARRIER] += waits
            unit.time[wave] = time
            unit.state[wave] = _RUNNING
    unit.arrived[slot] = 0


# -- when an instruction can issue ---------------------------------------------------------------


@compiled
def _fetched(wave: int, line: int, unit: Unit, fetched: I64) -> tuple[int, int]:
    """Returns when a line of code is there for a wave, and the reason for the wait; 0 for none."""
    if fetched[line] == 0:
        fetched[line] = unit.time[wave] + unit.fetch
    if fetched[line] > unit.time[wave]:
        return fetched[line], Reason.FETCH.value
    return unit.time[wave], 0


@compiled
def _earliest(wave: int, row: I32, registers: I32, unit: Unit) -> tuple[int, int]:
    """Returns when the next instruction of a wave can issue, and what it waits for until then."""
    kind, simd = row[Column.KIND], wave % _SIMDS
    if kind == Kind.WAIT:
        return _wait_ends(wave, row[Column.FIRST], row[Column.SECOND], unit)
    time, reason = _registers_ready(wave, row, registers, unit)
    other, its = 0, 0
    if kind <= Kind.MATRIX:
        other, its = unit.vector[simd], Reason.VECTOR_UNIT.value
        if kind == Kind.MATRIX and unit.matrix[simd] > other:
            other, its = unit.matrix[simd], Reason.MATRIX_UNIT.value
        if kind == Kind.PACKED and unit.matrix_end[simd] > 0:
            free = unit.matrix_end[simd] + unit.packed_after_matrix
            if free > other:
                other, its = free, Reason.MATRIX_UNIT.value
    elif kind == Kind.LDS:
        free = max(_lds_free(simd // 2, row[Column.FIRST], unit), _place(_LGKM, wave, unit))
        other, its = free, Reason.LDS_QUEUE.value
    elif kind == Kind.MEMORY:
        other = max(unit.memory_free, _place(_VM, wave, unit))
        its = Reason.MEMORY_QUEUE.value
    elif kind == Kind.SCALAR_MEMORY:
        other, its = _place(_LGKM, wave, unit), Reason.LDS_QUEUE.value
    elif kind == Kind.SCALAR or kind == Kind.BRANCH:
        other, its = unit.scalar[simd], Reason.SCALAR_UNIT.value
    if other > time:
        time, reason = other, its
    return max(time, unit.time[wave]), reason


@compiled
def _registers_ready(wave: int, row: I32, registers: I32, unit: Unit) -> tuple[int, int]:
    """Returns when the registers of an instruction are ready, and the reason for the wait."""
    ready, chain = unit.ready[wave], unit.chain[wave]
    time: Any = 0
    matrix = False
    for k in range(row[Column.READS], row[Column.CHAINS]):
        number = registers[k]
        if ready[number] > time:
            time, matrix = ready[number], chain[number] > 0
    for k in range(row[Column.CHAINS], row[Column.WRITES]):
        number = registers[k]
        its = chain[number] if chain[number] > 0 else ready[number]
        if its > time:
            time, matrix = its, chain[number] > 0
    if row[Column.KIND] != Kind.MATRIX:
        # Nobody may overwrite what the matrix unit has yet to write.
        for k in range(row[Column.WRITES], row[Column.END]):
            number = registers[k]
            if chain[number] > 0 and ready[number] > time:
                time, matrix = ready[number], True
    return time, Reason.MATRIX_RESULT.value if matrix else Reason.DEPENDENCE.value


@compiled
def _wait_ends(wave: int, vm: int, lgkm: int, unit: Unit) -> tuple[int, int]:
    """Returns when at most `vm` and `lgkm` instructions of a wave are under way, and the reason."""
    memory, lds = _done_but(_VM, wave, vm, unit), _done_but(_LGKM, wave, lgkm, unit)
    reason = Reason.MEMORY_WAIT.value if memory > lds else Reason.LDS_WAIT.value
    return max(memory, lds, unit.time[wave]), reason


@compiled
def _done_but(queue: int, wave: int, count: int, unit: Unit) -> int:
    """Returns when all but the youngest `count` instructions in a queue of a wave are done."""
    time = 0
    for place in range(unit.head[queue, wave], unit.tail[queue, wave] - count):
        time = max(time, unit.under_way[queue, wave, place % _QUEUE])
    return time


@compiled
def _place(queue: int, wave: int, unit: Unit) -> int:
    """Returns when there is a place in a queue of a wave, which has as many as its counter."""
    if unit.tail[queue, wave] - unit.head[queue, wave] < _QUEUE - 1:
        return 0
    return unit.under_way[queue, wave, unit.head[queue, wave] % _QUEUE]


@compiled
def _lds_free(path: int, rows: int, unit: Unit) -> int:
    """Returns when a path to the LDS takes an instruction that puts `rows` into its queue."""
    last = (unit.data[path] + min(rows, unit.data_rows) - 1) % unit.data_rows
    command = unit.command_free[path, unit.command[path] % unit.commands]
    return max(unit.lds_issue[path], unit.data_free[path, last], command)


# -- what an instruction does --------------------------------------------------------------------


@compiled
def _issue_other(wave: int, row: I32, registers: I32, unit: Unit) -> int:
    """Issues a scalar instruction, a wait or a hint; returns the cycles that it takes the wave."""
    kind, time = row[Column.KIND], unit.time[wave]
    if kind == Kind.SCALAR:
        unit.scalar[wave % _SIMDS] = time + row[Column.BUSY]
        for k in range(row[Column.WRITES], row[Column.END]):
            unit.ready[wave, registers[k]] = time + row[Column.LATENCY]
    elif kind == Kind.SCALAR_MEMORY:
        _enqueue(_LGKM, wave, time + unit.scalar_load, unit)
    elif kind == Kind.WAIT:
        _forget(_VM, wave, row[Column.FIRST], unit)
        _forget(_LGKM, wave, row[Column.SECOND], unit)
    elif kind == Kind.NOP:
        return unit.issue * row[Column.FIRST]
    elif kind == Kind.PRIORITY:
        unit.priority[wave] = row[Column.FIRST]
    return unit.issue


@compiled
def _issue_vector(wave: int, row: I32, registers: I32, unit: Unit) -> None:
    """Issues an instruction to the vector ALU or the matrix unit of a wave's SIMD."""
    simd, busy, time = wave % _SIMDS, row[Column.BUSY], unit.time[wave]
    unit.vector[simd] = time + busy
    ready, chain = time + row[Column.LATENCY], 0
    if row[Column.KIND] == Kind.MATRIX:
        end = time + row[Column.FIRST]
        unit.matrix[simd] = end + unit.matrix_gap
        unit.matrix_end[simd] = end
        unit.totals[Total.MATRIX_CYCLES] += row[Column.FIRST]
        ready, chain = end + unit.matrix_result, end + unit.matrix_chain
    else:
        unit.totals[Total.VECTOR_CYCLES] += busy
    for k in range(row[Column.WRITES], row[Column.END]):
        unit.ready[wave, registers[k]] = ready
        unit.chain[wave, registers[k]] = chain


@compiled
def _enqueue(queue: int, wave: int, done: int, unit: Unit) -> None:
    """Puts an instruction of a wave into one of its queues."""
    tail = unit.tail[queue, wave]
    if tail - unit.head[queue, wave] >= _QUEUE - 1:
        unit.head[queue, wave] += 1
    unit.under_way[queue, wave, tail % _QUEUE] = done
    unit.tail[queue, wave] = tail + 1


@compiled
def _forget(queue: int, wave: int, count: int, unit: Unit) -> None:
    """Takes all but the youngest `count` instructions out of a queue of a wave."""
    if count < NO_WAIT:
        unit.head[queue, wave] = max(unit.head[queue, wave], unit.tail[queue, wave] - count)


@compiled
def _issue_lds(wave: int, row: I32, counted: int, unit: Unit) -> None:
    """Issues an LDS instruction, for which the emulator has counted cycles; -1 if it has not."""
    path, cost, time = (wave % _SIMDS) // 2, row[Column.SECOND], unit.time[wave]
    cycles = counted if counted >= 0 else (cost + 1) // 2
    unit.lds_issue[path] = time + row[Column.BUSY]
    start = max(time, unit.lds_path[path])
    unit.lds_free = max(unit.lds_free, start) + cycles
    end = max(start + max(cost, cycles), int(unit.lds_free))
    unit.lds_path[path] = end
    unit.command_free[path, unit.command[path] % unit.commands] = end
    unit.command[path] += 1
    for number in range(row[Column.FIRST]):
        # The addresses of a write leave the queue when it begins, its data when it ends.
        early = number == 0 and row[Column.FIRST] > 1
        unit.data_free[path, unit.data[path] % unit.data_rows] = start if early else end
        unit.data[path] += 1
    done = end + unit.lds_round_trip
    _enqueue(_LGKM, wave, done, unit)
    unit.totals[Total.LDS_INSTRUCTIONS] += 1
    unit.totals[Total.LDS_LATENCY] += done - time
    unit.totals[Total.LDS_CYCLES] += cycles


@compiled
def _issue_memory(
    wave: int, row: I32, counted: int, lines: I64, repetition: int, unit: Unit
) -> None:
    """Issues an access to `counted` blocks of memory, which lie in `lines`.

    It is one of the `repetition`-th workgroup that does what a recorded one has done.
    """
    time = unit.time[wave]
    cycles = max(unit.issue, int(np.ceil(max(counted, 0) * unit.block_cycles)))
    unit.memory_free = time + cycles
    unit.totals[Total.MEMORY_CYCLES] += cycles
    done = time + cycles + unit.l1_latency
    for line in lines:
        if row[Column.FIRST] == 1:
            done = max(done, _beyond(time, True, unit) + unit.store_done)
        else:
            its = line if line >= 0 else repetition * _OWN_LINES - line
            done = max(done, _load_line(its, time, unit))
    if row[Column.SECOND] > 0:
        unit.lds_free = max(unit.lds_free, time) + row[Column.SECOND]
    tail = unit.tail[_VM, wave]
    if tail > unit.head[_VM, wave]:
        done = max(done, unit.under_way[_VM, wave, (tail - 1) % _QUEUE])
    _enqueue(_VM, wave, done, unit)


@compiled
def _load_line(line: int, time: int, unit: Unit) -> int:
    """Returns when a line is there that the L1 cache is asked for; the cache keeps it."""
    at, oldest = line % unit.sets, 0
    unit.totals[Total.LOADED_LINES] += 1
    for way in range(unit.ways):
        if unit.tags[at, way] == line:
            unit.used[at, way] = time
            return max(unit.filled[at, way], time + unit.l1_latency)
        if unit.used[at, way] < unit.used[at, oldest]:
            oldest = way
    unit.totals[Total.L1_MISSES] += 1
    unit.far_debt += unit.far_part
    far = unit.far_debt >= 1
    if far:
        unit.far_debt -= 1
    latency = unit.far_latency if far else unit.l2_latency
    filled = _beyond(time, far, unit) + latency
    unit.tags[at, oldest] = line
    unit.used[at, oldest] = time
    unit.filled[at, oldest] = filled
    return filled


@compiled
def _beyond(time: int, far: bool, unit: Unit) -> int:
    """Returns when the unit's share of the L2 cache, and of what is behind it, has moved a line."""
    unit.l2_free = max(unit.l2_free, float(time)) + unit.l2_line
    if not far:
        return int(unit.l2_free)
    unit.far_free = max(unit.far_free, unit.l2_free) + unit.far_line
    return int(unit.far_free)
