# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs machine code for a group of waves, and hands on what it has counted and noted."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..lds import LdsState
from ..polling import Poll
from ..step import Step
from ..undefined import DefinedBits, UndefinedBits
from ..wave_state import Machine, WaveGroup
from .accesses import BufferField
from .machine_code import CALLBACK, CompiledFunction
from .regions import AT_BARRIER, Block, Exit, Field, Region
from .sites import MOST_PATTERNS, Kind, Site
from .tracing import Layout

_MOST_NOTES = 1 << 12


class Progress(Protocol):
    """What a region needs to know of the portion that runs, and changes."""

    steps: int
    next_look: int
    rounds: int
    ready: dict[tuple[int, int], npt.NDArray[np.intp]]
    polls: dict[int, Poll]

    def most_rounds(self) -> int:
        """Returns the round of a loop with which a turn ends."""
        ...

    def is_alone(self, group: WaveGroup) -> bool:
        """Returns whether no wave is outside of a group."""
        ...

    def unfinished(self, barrier: int) -> frozenset[int]:
        """Returns the accesses to the LDS that may be under way behind a barrier."""
        ...


@dataclass(eq=False)
class Compiled:
    """A region in machine code.

    Attributes:
        rounds: how often each block has run that is not counted yet.
        version: what `version_of` was when the machine was last seen to be as the code expects.
        waves: the waves for which the sites are ready, as bytes.
        misses: how often registers held undefined bits where the code reads them.
        harmless: notes of accesses to the LDS, all those between two barriers, with which a barrier
            was passed: they race with nothing.
    """

    region: Region
    blocks: Sequence[Block]
    layout: Layout
    function: CompiledFunction
    rounds: npt.NDArray[np.int64]
    version: tuple[object, ...] = ()
    waves: bytes = b""
    misses: int = 0
    harmless: set[bytes] = field(default_factory=set[bytes])

    def __post_init__(self) -> None:
        """Knows the sites by their instructions."""
        self.sites: dict[int, Site] = {site.pc: site for site in self.region.sites}
        if len(self.sites) != len(self.region.sites):
            raise ValueError("an instruction is in two blocks")

    def count(self, group: WaveGroup) -> None:
        """Adds to the counters what the code has executed for a group."""
        counters = group.machine.workgroup_counters
        for block, rounds in zip(self.blocks, self.rounds.tolist(), strict=True):
            if rounds:
                stop = block.stop + block.flows
                counters.executions[block.start : stop] += group.waves_of_workgroups * rounds
        self.rounds[:] = 0
        for site in self.region.sites:
            site.count(counters)

    def validate(self, machine: Machine) -> bool:
        """Returns whether the registers are as the code expects them; forgets all patterns."""
        region, layout = self.region, self.layout
        for defined, used, tracked in (
            (machine.s_defined, region.uses_s, layout.tracked_s),
            (machine.v_defined, region.uses_v, layout.tracked_v),
        ):
            if not all(_is_complete(defined, index) for index in used):
                return False
            for index in tracked:
                if defined.complete[index]:
                    defined.bits[index] = 0xFFFFFFFF
        for site in region.sites:
            site.forget(machine)
        self.harmless.clear()
        self.version, self.waves = version_of(machine), b""
        return True


def _is_complete(defined: DefinedBits, index: int) -> bool:
    return defined.undefined(index, slice(None)) is None


def address_of(array: npt.NDArray[np.generic]) -> int:
    """Returns where the elements of an array lie."""
    return array.__array_interface__["data"][0]


def version_of(machine: Machine) -> tuple[object, ...]:
    """Returns what changes where code may find a machine otherwise than it expects."""
    losses = machine.s_defined.losses, machine.v_defined.losses
    return machine, *losses, machine.lds.version, machine.memory.version


class Runner:
    """Runs the code of one program.

    Args:
        steps: the steps of its instructions, which code calls where it has none.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._context = (ctypes.c_int64 * len(Field))()
        self._address = ctypes.addressof(self._context)
        self._callback = CALLBACK(self._call)
        self._notes = np.zeros(_MOST_NOTES, np.int64)
        self._buffers = np.zeros((1, len(BufferField)), np.int64)
        self._memory: tuple[object, ...] = ()
        self._polls = np.zeros(1, np.int64)
        self._error: BaseException | None = None
        self._group: WaveGroup | None = None
        self._running: Compiled | None = None
        self._touched: list[Compiled] = []
        self._portion: Progress | None = None
        self._machine: Machine | None = None
        self._epoch: tuple[object, int] = (None, 0)
        # The region that came to a barrier, with the notes of all accesses since the last one.
        self._at_barrier: tuple[Compiled, bytes] | None = None
        self._context[Field.CALLBACK] = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        self._context[Field.NOTES] = address_of(self._notes)
        self._context[Field.SIGN] = -1 << 63

    def run(
        self, compiled: Compiled, portion: Progress, group: WaveGroup, pc: int
    ) -> tuple[int, int, Exit]:
        """Runs code from `pc` on.

        Returns:
            The beginning of the straight run that is not counted yet, where the group is, and why
            the code was left.

        Raises:
            EmulationError: what a step raises.
        """
        context, machine = self._context, group.machine
        self._portion = portion
        if self._group is not group:
            self._enter(group)
        if compiled is not self._running or not compiled.waves:
            self._choose(compiled, group)
        self._begin_epoch(machine.lds)
        ready = portion.ready
        context[Field.LOWEST] = min(ready)[0] if ready else len(self._steps) + 1
        context[Field.STEPS] = portion.steps
        context[Field.NEXT_LOOK] = portion.next_look
        context[Field.ROUNDS] = portion.rounds
        context[Field.MOST_ROUNDS] = portion.most_rounds()
        if portion.polls:
            self._polls = np.array([poll.unseen() for poll in portion.polls.values()], np.int64)
            context[Field.POLLS] = address_of(self._polls)
        if group.mode.flush_f32:
            machine.forget_normal(compiled.region.written_v)
        reason = compiled.function.call(self._address, pc)
        self._refresh(group)
        self._note_all(machine.lds)
        if context[Field.CHANGED]:
            context[Field.CHANGED] = 0
            machine.memory.note_change()
        portion.steps, portion.rounds = context[Field.STEPS], context[Field.ROUNDS]
        if portion.polls:
            for poll, left in zip(portion.polls.values(), self._polls.tolist(), strict=True):
                poll.skip(poll.unseen() - left)
        error, self._error = self._error, None
        if error is not None:
            raise error
        return context[Field.START], context[Field.PC], Exit(reason)

    def flush(self, group: WaveGroup) -> None:
        """Hands on what code has counted for a group that ends here."""
        if self._group is not group:
            return
        for compiled in self._touched:
            compiled.count(group)
        self._note_stores(group)
        self._touched, self._group, self._running = [], None, None

    # -- before a run ----------------------------------------------------------------------------

    def _enter(self, group: WaveGroup) -> None:
        """Writes down where the registers of a group are."""
        if self._group is not None:
            self.flush(self._group)
        context, machine = self._context, group.machine
        self._group, self._running = group, None
        if self._machine is not machine:
            self._machine = machine
            self._move_to(machine)
        context[Field.ROWS] = address_of(group.waves)
        context[Field.COUNT] = group.count

    def _move_to(self, machine: Machine) -> None:
        """Writes down where the registers of a machine are."""
        context = self._context
        arrays = {
            Field.VGPR: machine.vgpr,
            Field.SGPR: machine.sgpr,
            Field.SCC: machine.scc,
            Field.V_BITS: machine.v_defined.bits,
            Field.S_BITS: machine.s_defined.bits,
            Field.LDS: machine.lds.bytes,
        }
        for place, array in arrays.items():
            context[place] = address_of(array)
        context[Field.LDS_STRIDE] = machine.lds.stride
        context[Field.PER] = machine.waves_per_workgroup
        context[Field.EXEC_CHANGED] = context[Field.NOTE_COUNT] = 0

    def _choose(self, compiled: Compiled, group: WaveGroup) -> None:
        """Gets ready for another region, or for one that has forgotten its patterns."""
        memory = group.machine.memory
        if self._memory != (memory, *memory.version):
            self._note_stores(group)
            self._memory = (memory, *memory.version)
            rows = [
                (start, end, address_of(data) - start, read_only, 0)
                for start, end, data, read_only in memory.plain_buffers()
            ]
            self._buffers = np.array(rows or [(0,) * len(BufferField)], np.int64)
            self._context[Field.BUFFERS] = address_of(self._buffers)
            self._context[Field.BUFFER_COUNT] = len(rows)
        waves = group.waves.tobytes()
        if compiled.waves != waves:
            compiled.waves = waves
            compiled.harmless.clear()
            for site in compiled.region.sites:
                site.select(group)
        self._running = compiled
        self._context[Field.BLOCKS] = address_of(compiled.rounds)
        if compiled not in self._touched:
            self._touched.append(compiled)

    def _begin_epoch(self, lds: LdsState) -> None:
        """Has accesses to the LDS noted again behind a barrier."""
        noted, generation = lds.epoch
        before, self._at_barrier = self._at_barrier, None
        if noted is not self._epoch[0] or generation != self._epoch[1]:
            self._epoch = noted, generation
            self._context[Field.EPOCH] += 1
            if before is not None:
                before[0].harmless.add(before[1])

    # -- what code leaves behind -----------------------------------------------------------------

    def _refresh(self, group: WaveGroup) -> None:
        if self._context[Field.EXEC_CHANGED]:
            self._context[Field.EXEC_CHANGED] = 0
            group.refresh_exec()

    def _note_all(self, lds: LdsState) -> None:
        """Notes the accesses to the LDS that code has carried out, in their order."""
        count = self._context[Field.NOTE_COUNT]
        if not count:
            return
        self._context[Field.NOTE_COUNT] = 0
        assert self._running is not None
        sites = self._running.region.sites
        for note in self._notes[:count].tolist():
            site = sites[note >> 16]
            assert site.patterns is not None
            access = site.patterns.accesses[note & 0xFFFF]
            assert access is not None
            lds.note_again(access, stores=site.kind is Kind.LDS_STORE)

    def _note_stores(self, group: WaveGroup) -> None:
        for number in np.flatnonzero(self._buffers[:, BufferField.STORED]).tolist():
            group.machine.memory.note_store(number)
            self._buffers[number, BufferField.STORED] = 0

    # -- what code calls -------------------------------------------------------------------------

    def _call(self, pc: int, before: int) -> int:
        """Runs an instruction as a step; returns 0 if the code may go on.

        1 says that it has not been done, and 2 that it has but that the machine is no longer as
        the code expects it. A negative `pc` stands for a function of the region, and
        `AT_BARRIER` says that it is a barrier.
        """
        group, compiled = self._group, self._running
        assert group is not None and compiled is not None
        if before == AT_BARRIER:
            return self._barrier(pc, group, compiled)
        if pc < 0:
            compiled.region.functions[-1 - pc]()
            return 0
        machine = group.machine
        try:
            self._refresh(group)
            self._note_all(machine.lds)
            group.pc, machine.steps_before = pc, before
            self._steps[pc](group)
        except UndefinedBits:
            return 1
        except BaseException as error:
            self._error = error
            return 1
        if group.mode.flush_f32:
            machine.forget_normal(compiled.region.written_v)
        if version_of(machine) != compiled.version:
            return 2
        site = compiled.sites.get(pc)
        if site is not None and site.learn(group, self._context[Field.EPOCH]):
            compiled.harmless.clear()
        return 0

    def _barrier(self, pc: int, group: WaveGroup, compiled: Compiled) -> int:
        """Passes a barrier with all waves, if it is known that nothing races; returns 0 then."""
        portion, lds = self._portion, group.machine.lds
        assert portion is not None
        if lds.epoch[0] or not portion.is_alone(group) or portion.unfinished(pc):
            return 1
        count = self._context[Field.NOTE_COUNT]
        notes = self._notes[:count].tobytes()
        if notes not in compiled.harmless:
            self._at_barrier = compiled, notes
            return 1
        lds.pass_harmless()
        self._context[Field.NOTE_COUNT] = 0
        self._context[Field.EPOCH] += 1
        return 0


assert _MOST_NOTES >= MOST_PATTERNS
