# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a kernel: groups of waves, branches, barriers.

All waves start as one group. A branch on which they disagree parts the group; groups that come to
the same instruction again are joined, if they have the same float mode. Among several groups the
one that is furthest behind in the text goes first, so that the two arms of a condition join right
after it. A group that goes round a loop in which it polls what another wave will store
(`polling.py`), or goes round any loop for very long, rests until all others have had their turn
(`turns.py`).

An instruction that reads undefined bits is run on trial (`spread.py`), except where the bits
matter: in a branch, or in the address of an access.

A wave that comes to a barrier waits until all waves of its workgroup that have not ended are there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial

import numpy as np
import numpy.typing as npt

from . import (
    barriers,
    calls,
    cross_lane,
    dual_issue,
    flat_memory,
    float8,
    hardware_state,
    indexed_registers,
    lds_instructions,
    matrix,
    memory_instructions,
    mode_instructions,
    packed_math,
    scalar_alu,
    scalar_floats,
    scalar_memory,
    scaled_conversions,
    vector_alu,
    wmma,
)
from .call_graph import JUMPS
from .compiled.branches import BARRIER, Branch, StepProgram
from .compiled.hot_code import HotCode
from .direct_loads import DirectLoads
from .emulation_errors import (
    EmulationError,
    LdsRaceError,
    MissingWaitError,
    StepLimitError,
    UndefinedReadError,
    UnknownInstructionError,
)
from .high_registers import SET_HIGH_BITS
from .host_calls import is_interrupt
from .instruction_text import EXEC, VCC, AssemblyError, Instruction, Literal, Name
from .mnemonics import lacks
from .polling import Poll, polling_loops
from .spread import condition, spread
from .step import BuildContext, Step
from .supervision import MAX_STEPS, Waits
from .turns import take_turns, waves_text
from .undefined import UndefinedBits
from .wait_paths import checked_waits
from .waits import (
    MissingWait,
    Queue,
    WaitReport,
    check_waits,
    is_direct_load,
    is_wait,
    queue_of_direct_loads,
    queues_of,
    wait_text,
    waited_for,
)
from .watched_instruction import check_all_seen, watched
from .wave_state import Machine, WaveGroup

_FAMILIES = (
    barriers,
    scalar_alu,
    scalar_floats,
    mode_instructions,
    hardware_state,
    vector_alu,
    packed_math,
    float8,
    scaled_conversions,
    cross_lane,
    matrix,
    wmma,
    lds_instructions,
    flat_memory,
    memory_instructions,
)

# Waits, hints and cache control: the emulator executes in order and has no caches. What barriers
# and the end of a wave do, the executor does itself.
_WITHOUT_EFFECT: Mapping[str, int | None] = {
    **dict.fromkeys(("s_nop", "s_sethalt"), 0xFFFF),
    "s_setprio": 3,
    **dict.fromkeys(("s_incperflevel", "s_decperflevel"), 0xF),
    **dict.fromkeys(("s_wakeup", "s_ttracedata")),
    "s_sleep": 0x7F,
    **dict.fromkeys(("s_clause", "s_set_inst_prefetch_distance"), 0xFFFF),
    # What it sets is known from the text (`high_registers.py`).
    SET_HIGH_BITS: 0xFFFF,
    **dict.fromkeys(("s_icache_inv", "s_dcache_inv", "s_dcache_wb", "s_endpgm")),
    **dict.fromkeys(("buffer_inv", "buffer_wbl2", "buffer_invl2", "buffer_wbinvl1")),
    **dict.fromkeys(("buffer_wbinvl1_vol", "s_dcache_inv_vol", "s_dcache_wb_vol")),
}
"""For each such instruction the largest number that its operand may be; None if it has none."""

HINTS = frozenset({"s_delay_alu", "s_wait_alu", "s_waitcnt_depctr"})
"""What the hardware is told of dependencies between instructions that it finds late or not at all.

LLVM puts them there; an emulator that executes in order has none to wait for.
"""

Waves = npt.NDArray[np.intp]


class _Flow(Enum):
    """The kinds of instructions that end a straight run; after MODE the waves' modes may differ."""

    BRANCH = "branch"
    MODE = "mode"
    BARRIER = "barrier"
    JUMP = "jump"
    END = "end"


Condition = Callable[[WaveGroup], npt.NDArray[np.bool_]]

_CONDITIONS: dict[str, Condition] = {
    "s_branch": lambda g: np.ones(g.count, bool),
    "s_cbranch_scc0": lambda g: ~g.scc(),
    "s_cbranch_scc1": lambda g: g.scc(),
    "s_cbranch_vccz": lambda g: g.lane_bits(VCC.index) == 0,
    "s_cbranch_vccnz": lambda g: g.lane_bits(VCC.index) != 0,
    "s_cbranch_execz": lambda g: g.lane_bits(EXEC.index) == 0,
    "s_cbranch_execnz": lambda g: g.lane_bits(EXEC.index) != 0,
}


class Program:
    """The instructions of a kernel, ready to run.

    Raises:
        EmulationError: an instruction that the emulator does not know, or one that uses a register
            before a load has written it; the message names file, line and kernel.
    """

    def __init__(self, context: BuildContext) -> None:
        self.kernel = context.kernel
        self.steps: list[Step] = []
        # Whether each instruction accesses memory, so that its operands but data must be defined.
        self.accesses: list[bool] = []
        self.flow: dict[int, tuple[_Flow, Condition | None, int]] = {}
        # For each instruction the first one from there on that `flow` holds, or the end.
        self.next_flow: list[int] = []
        try:
            indexed = indexed_registers.indexed_instructions(self.kernel)
        except AssemblyError as error:
            raise EmulationError(str(error)) from error
        for index, instruction in enumerate(self.kernel.instructions):
            flow = self._add(context, instruction, index in indexed)
            if flow:
                self.flow[index] = flow
                self.next_flow += [index] * (index + 1 - len(self.next_flow))
        self.jumps = calls.Jumps(self.kernel)
        self.polling_loops = polling_loops(self.kernel)
        polls = frozenset(i for loop in self.polling_loops.values() for i in loop.polls)
        names = {i: self.kernel.instructions[i].mnemonic for i in polls}
        self.polled_lds = frozenset(i for i in polls if names[i].startswith(("ds_", "flat_")))
        self.swaps_lds = any(_SWAPS_LDS.match(i.mnemonic) for i in self.kernel.instructions)
        self.warnings: list[str] = []
        waits = self._check_waits(context.waits)
        count = len(self.steps)
        self.next_flow += [count] * (count - len(self.next_flow))
        self.loads_directly = any(map(is_direct_load, self.kernel.instructions))
        if self.loads_directly:
            pairs = zip(self.kernel.instructions, self.steps, strict=True)
            self.steps = [_settling(instruction, step) for instruction, step in pairs]
        # For each barrier the accesses to the LDS that no wait has ended.
        self.unfinished = waits.unfinished
        code = StepProgram(
            self.steps,
            self.accesses,
            self._branches(),
            self.next_flow,
            tuple(self.polling_loops),
        )
        self.hot_code = HotCode(self.kernel, code)

    def _branches(self) -> dict[int, Branch | None]:
        """Returns the branches among the instructions of the control flow."""
        found: dict[int, Branch | None] = {}
        for index, (kind, _, target) in self.flow.items():
            condition = self.kernel.instructions[index].mnemonic.rpartition("_")[2]
            found[index] = Branch(condition, target) if kind is _Flow.BRANCH else None
            if self.kernel.instructions[index].mnemonic == "s_barrier":
                found[index] = Branch(BARRIER, index + 1)
        return found

    def _check_waits(self, wanted: Waits) -> WaitReport:
        """Looks for uses of registers that a load has not written yet for certain.

        Raises:
            MissingWaitError: there is one, and such are errors.
        """
        if wanted is Waits.OFF:
            return check_waits(self.kernel)
        found = checked_waits(self.kernel)
        for missing in found.missing:
            error = self._missing_wait(missing)
            if wanted is Waits.ERROR:
                raise error
            self.warnings.append(str(error))
        if found.doubtful:
            more = len(found.doubtful) - 1
            others = f"; uses like this: {more + 1}" if more else ""
            text = f", on a path of which it is not known whether a wave can take it{others}"
            self.warnings.append(str(self._missing_wait(found.doubtful[0], text)))
        return found.report

    def _missing_wait(self, missing: MissingWait, more: str = "") -> MissingWaitError:
        error = MissingWaitError(missing.message(self.kernel) + more)
        self.locate(error, self.kernel.instructions[missing.instruction])
        return error

    def _add(
        self, context: BuildContext, instruction: Instruction, indexed: bool
    ) -> tuple[_Flow, Condition | None, int] | None:
        """Adds the step of the next instruction; returns what `flow` has for it.

        Raises:
            EmulationError: the emulator does not know the instruction, or one of its operands.
        """
        seen = watched(instruction)
        try:
            flow = self._flow(seen)
            self.steps.append((_build_indexed if indexed else _build)(context, seen))
            check_all_seen(seen)
        except UnknownInstructionError as error:
            located, cause = error, None
        except AssemblyError as error:
            located, cause = EmulationError(str(error)), error
        except (IndexError, ValueError, OverflowError) as error:
            # Who makes a step takes the operands apart as if they were there.
            count = len(instruction.operands)
            reason = f"'{instruction.mnemonic}' does not take these {count} operands"
            located, cause = EmulationError(reason), error
        else:
            self.accesses.append(_is_access(instruction))
            return flow
        self.locate(located, instruction)
        if not self._is_called(len(self.accesses)):
            raise located from cause
        # The kernel may never come there.
        del self.steps[len(self.accesses) :]
        self.steps.append(_refusing(located))
        self.accesses.append(False)
        return None

    def _is_called(self, index: int) -> bool:
        """Returns whether an instruction is a function's, to which a kernel may never come."""
        return bool(self.kernel.functions) and index >= self.kernel.functions[0]

    def locate(self, error: EmulationError, instruction: Instruction, *details: str) -> None:
        """Adds the place and the text of an instruction, and more lines of details, to an error."""
        error.locate(
            f"{self.kernel.source}:{instruction.line}",
            f"in kernel '{self.kernel.name}': {instruction.text}",
            *details,
        )

    def _flow(self, instruction: Instruction) -> tuple[_Flow, Condition | None, int] | None:
        name = instruction.mnemonic
        if name == "s_endpgm":
            return _Flow.END, None, 0
        if name in barriers.HELD_AT:
            return _Flow.BARRIER, None, 0
        if name in mode_instructions.MODE_CHANGES:
            return _Flow.MODE, None, 0
        if name in JUMPS:
            return _Flow.JUMP, None, 0
        if name in _CONDITIONS:
            (operand,) = instruction.operands
            target = operand.value
            if not isinstance(target, Name) or target.text not in self.kernel.labels:
                raise UnknownInstructionError(instruction, f"no label '{target}'")
            return _Flow.BRANCH, _CONDITIONS[name], self.kernel.labels[target.text]
        return None

    def run_straight(self, group: WaveGroup, start: int, stop: int) -> None:
        """Runs the instructions from `start` up to `stop`, none of which is in `flow`.

        Raises:
            EmulationError: the one at `group.pc` does what a program must not do.
        """
        steps, pc = self.steps, start
        while pc < stop:
            try:
                while pc < stop:
                    group.pc = pc
                    steps[pc](group)
                    pc += 1
            except UndefinedBits as found:
                if self.accesses[pc]:
                    raise _undefined_read(group, found, "The address of this access") from None
                spread(steps[pc], group, self.kernel.instructions[pc])
                pc += 1

    def decide(self, group: WaveGroup, pc: int) -> npt.NDArray[np.bool_]:
        """Returns the waves [n] that take the branch at `pc`.

        Raises:
            UndefinedReadError: the condition depends on undefined bits.
        """
        evaluate = self.flow[pc][1]
        group.pc = pc
        assert evaluate is not None
        try:
            try:
                return evaluate(group)
            except UndefinedBits:
                return condition(evaluate, group, self.kernel.instructions[pc])
        except UndefinedBits as found:
            raise _undefined_read(group, found, "The condition of this branch") from None

    def run(
        self,
        machine: Machine,
        max_steps: int = MAX_STEPS,
        watch: Callable[[int, Instruction], None] | None = None,
    ) -> None:
        """Runs all waves of `machine` to their end.

        Args:
            max_steps: the most steps (`supervision.py`), which bounds endless loops.
            watch: is told now and then the steps so far, and the last instruction.

        Raises:
            EmulationError: something undefined happened; the message holds the instruction.
            StepLimitError: the run took more steps, or can have no end.
        """
        portions = iter([Portion(self, machine, max_steps, watch)])
        resident = len(machine.workgroups)
        for _ in take_turns(lambda _: next(portions, None), resident, machine.memory):
            pass


def _undefined_read(group: WaveGroup, found: UndefinedBits, what: str) -> UndefinedReadError:
    return UndefinedReadError(found.message(what, group.machine.memory.origins))


_SWAPS_LDS = re.compile("ds_cmpst|flat_atomic_cmpswap")
_MEMORY_PREFIXES = ("buffer_", "global_", "flat_", "scratch_", *scalar_memory.PREFIXES, "ds_")


def _is_access(instruction: Instruction) -> bool:
    name = instruction.mnemonic
    return name.startswith(_MEMORY_PREFIXES) and name not in lds_instructions.EXCHANGE_MNEMONICS


def _build(context: BuildContext, instruction: Instruction, part: bool = False) -> Step:
    if not part and (missing := lacks(instruction.chip, instruction.spelled)):
        raise UnknownInstructionError(instruction, missing)
    if instruction.mnemonic in HINTS:
        tuple(instruction.operands)
        return lambda group: None
    name = instruction.mnemonic
    if name in _CONDITIONS:
        return lambda group: None
    if instruction.mnemonic in JUMPS:
        return calls.build_jump(instruction)
    if instruction.mnemonic in _WITHOUT_EFFECT:
        return _without_effect(instruction)
    if is_wait(instruction):
        waited_for(instruction)
        return lambda group: None
    if instruction.mnemonic == "s_sendmsg":
        return _message(instruction)
    if instruction.mnemonic == "s_trap":
        immediate(instruction, 0xFF)
        return _trap
    for family in _FAMILIES:
        step = family.build(context, instruction)
        if step is not None:
            return _refuse_overflow(step) if _F16_WITHOUT_OVERFLOW.match(name) else step
    step = indexed_registers.build(instruction, partial(_build, context))
    step = step or dual_issue.build(instruction, partial(_build, context, part=True))
    if step is None:
        raise UnknownInstructionError(instruction)
    return step


# Instructions with results of f16 or bf16 of which no document says what FP16_OVFL does.
_F16_WITHOUT_OVERFLOW = re.compile(
    r"v_(wmma|swmmac)_b?f16_|v_dot2_b?f16_|v_s_\w+_f16|s_\w+_f16|v_cvt_scalef32_(pk_)?f16_"
    r"|v_cvt_pk_f16_[fb][p8]|v_cvt_sr_|v_pk_\w+_bf16"
)


def _refuse_overflow(step: Step) -> Step:
    def checked(group: WaveGroup) -> None:
        if group.mode.fp16_overflow:
            raise EmulationError("the emulator has no model of this instruction with FP16_OVFL set")
        step(group)

    return checked


def _message(instruction: Instruction) -> Step:
    """Returns the step of a message to the host, or that a wave needs no vector registers more."""
    (operand,) = instruction.operands
    text = str(operand.value)
    if is_interrupt(text):
        return _call_host
    if not instruction.chip.is_rdna or text not in ("sendmsg(MSG_DEALLOC_VGPRS)", "3"):
        raise UnknownInstructionError(instruction, f"the emulator has no model of '{text}'")
    return lambda group: None


def _call_host(group: WaveGroup) -> None:
    calls = group.machine.memory.host_calls
    if calls is None:
        raise EmulationError("the kernel calls the host, and has no hidden_hostcall_buffer for it")
    calls.serve()


def _without_effect(instruction: Instruction) -> Step:
    most = _WITHOUT_EFFECT[instruction.mnemonic]
    if most is not None:
        immediate(instruction, most)
    return lambda group: None


def immediate(instruction: Instruction, most: int) -> int:
    """Returns the number from 0 to `most` that is the only operand of an instruction.

    Raises:
        AssemblyError: its operand is something else.
    """
    if len(instruction.operands) == 1:
        value = instruction.operands[0].value
        if isinstance(value, Literal) and isinstance(value.value, int) and 0 <= value.value <= most:
            return value.value
    raise AssemblyError(f"'{instruction.mnemonic}' takes one number from 0 to {most}")


def _refusing(error: EmulationError) -> Step:
    """Returns the step of an instruction that is an error where a wave comes to it."""

    def step(group: WaveGroup) -> None:
        raise error

    return step


def _trap(group: WaveGroup) -> None:
    raise EmulationError("the kernel stops itself by a trap")


def _build_indexed(context: BuildContext, instruction: Instruction) -> Step:
    return indexed_registers.indexed(instruction, partial(_build, context))


def _settling(instruction: Instruction, step: Step) -> Step:
    """Returns a step that counts what the counter of direct loads counts, or ends such loads.

    It is for kernels that have direct loads.
    """
    queue = queue_of_direct_loads(instruction.chip)
    if is_wait(instruction):
        count = waited_for(instruction).get(queue)
        if count is not None:
            return lambda group: group.machine.lds.settle(group.waves, count)
    if queue not in queues_of(instruction):
        return step

    def counted(group: WaveGroup) -> None:
        loads = group.machine.lds.direct_loads
        assert loads is not None
        loads.count(group.waves)
        step(group)

    return counted


_STEPS_BETWEEN_LOOKS = 1000


# A group that goes round loops for so many rounds lets others take their turns: in the first case
# those of its portion, in the second those of other portions too.
_ROUNDS_OF_A_TURN = 1 << 12
_ROUNDS_OF_A_PORTION = 1 << 16


class Portion:
    """A portion of a launch: some workgroups that run together as one machine.

    Args:
        max_steps: the most steps (`supervision.py`).
        watch: is told now and then the steps so far, and the last instruction.
        first: the place of the first workgroup among those of the launch.

    Attributes:
        machine: the state of the waves.
    """

    def __init__(
        self,
        program: Program,
        machine: Machine,
        max_steps: int,
        watch: Callable[[int, Instruction], None] | None = None,
        first: int = 0,
    ) -> None:
        self.first = first
        self.program = program
        self.machine = machine
        self.max_steps = max_steps
        self.watch = watch
        self.steps = 0
        # The number of steps at which somebody looks whether there are too many.
        self.next_look = min(_STEPS_BETWEEN_LOOKS, max_steps)
        # Groups by program counter and number of their mode; their waves are ascending.
        self.ready: dict[tuple[int, int], Waves] = {}
        self.waiting: dict[int, list[Waves]] = {}
        # Groups that have had their turn, as `ready` has them; and where they rest, by wave.
        self.resting: dict[tuple[int, int], Waves] = {}
        self.rests_at = np.zeros(machine.waves, np.intp)
        self.polls = {pc: Poll(loop) for pc, loop in program.polling_loops.items()}
        # The rounds of loops since waves have last rested, waited at a barrier, or ended.
        self.rounds = 0
        self.ended = np.zeros(machine.waves, bool)
        lds = machine.lds
        lds.wait_text = wait_text(program.kernel.chip, (Queue.LDS,), 0)
        lds.poll_by(program.polled_lds, program.swaps_lds)
        if program.loads_directly:
            lds.direct_loads = DirectLoads(program.kernel, machine.waves, len(lds.bytes))
        self.enqueue(program.kernel.entry, np.arange(machine.waves))

    def advance(self) -> bool:
        """Runs until all waves have ended, and returns True, or until all wait for others.

        Waves that can go on have all done so then.
        """
        # What the hardware does without an exception, it does silently.
        with np.errstate(all="ignore"):
            while self.ready or self.waiting or self.resting:
                if not self.ready:
                    self.release_barrier()
                if not self.ready:
                    self.ready, self.resting = self.resting, {}
                    return False
                first = min(self.ready)
                self.run_group(first[0], self.ready.pop(first))
        self.check_races(self.machine.lds.check_races)
        return True

    def live_workgroups(self) -> int:
        """Returns how many workgroups have waves that have not ended."""
        return int((~self.ended.reshape(-1, self.machine.waves_per_workgroup).all(axis=1)).sum())

    def digest(self) -> bytes:
        """Returns what is equal where neither registers nor LDS nor the waves' places differ."""
        machine = self.machine
        state = hashlib.blake2b()
        for values in (machine.sgpr, machine.scc, machine.vgpr, machine.lds.bytes, self.ended):
            state.update(np.ascontiguousarray(values).tobytes())
        for place, waves in sorted(self.ready.items()):
            state.update(f"{place} {waves.tolist()}".encode())
        arrived = sorted((pc, [w.tolist() for w in waves]) for pc, waves in self.waiting.items())
        state.update(str(arrived).encode())
        return state.digest()

    def stuck(self, detail: str) -> StepLimitError:
        """Returns the error that names where the waves are, all of which wait for others."""
        self.check_races(self.machine.lds.check_races)
        instructions = self.program.kernel.instructions
        places: dict[int, list[int]] = {}
        for waves in self.ready.values():
            for wave in waves.tolist():
                places.setdefault(int(self.rests_at[wave]), []).append(wave)
        for pc, groups in self.waiting.items():
            places.setdefault(pc - 1, []).extend(wave for each in groups for wave in each.tolist())
        error = StepLimitError(
            "the waves wait for each other without end: each has had its turn, and no register, "
            f"LDS or memory has changed{detail}"
        )
        lines = [
            f"{waves_text(waves)} at line {instructions[pc].line}: {instructions[pc].text}"
            for pc, waves in sorted(places.items())
        ]
        self.program.locate(error, instructions[min(places)], *lines)
        return error

    def check_races(self, check: Callable[[], None]) -> None:
        """Runs a check for races, and adds the text of both instructions to its error."""
        try:
            check()
        except LdsRaceError as error:
            program = self.program
            instructions = program.kernel.instructions
            other = instructions[error.other_instruction]
            before = f"and before, {error.other} at line {other.line}: {other.text}"
            program.locate(error, instructions[error.instruction], before)
            raise

    def enqueue(self, pc: int, waves: Waves, rest: bool = False) -> None:
        """Lets `waves` go on at `pc`, together with those of the same mode that wait there.

        With `rest` they do so after all others have had their turn.
        """
        groups = self.resting if rest else self.ready
        modes = self.machine.mode_of[waves]
        for mode in np.unique(modes).tolist():
            alike = waves[modes == mode]
            if (pc, mode) in groups:
                alike = np.sort(np.concatenate([groups[pc, mode], alike]))
            groups[pc, mode] = alike

    def release_barrier(self) -> None:
        """Lets workgroups go on whose live waves all wait."""
        if not self.waiting:
            return
        per = self.machine.waves_per_workgroup
        arrived = np.zeros(self.machine.waves, bool)
        for groups in self.waiting.values():
            for waves in groups:
                arrived[waves] = True
        complete = np.logical_and.reduce((arrived | self.ended).reshape(-1, per), axis=1)
        released = np.repeat(complete, per)
        waiting, self.waiting = self.waiting, {}
        # A wave that has passed a barrier goes on behind it.
        unfinished = frozenset().union(
            *(self.program.unfinished.get(pc - 1, frozenset()) for pc in waiting)
        )
        for pc, groups in waiting.items():
            for waves in groups:
                self.enqueue(pc, waves[released[waves]])
                held = waves[~released[waves]]
                if len(held):
                    self.waiting.setdefault(pc, []).append(held)
        if not complete.any() and not self.resting:
            raise EmulationError(
                f"kernel '{self.program.kernel.name}': waves wait at a barrier that the others of "
                "their workgroup never reach"
            )
        if self.ready:
            self.check_races(lambda: self.machine.lds.pass_barrier(complete, unfinished))

    def run_group(self, pc: int, waves: Waves) -> None:
        """Runs a group until a branch parts it, or until it comes to a barrier, a new mode, its end
        or another group."""
        program, machine = self.program, self.machine
        instructions = program.kernel.instructions
        group, mode = WaveGroup(machine, waves), int(machine.mode_of[waves[0]])
        # Where the straight run of instructions began that is not counted yet.
        start = pc
        hot = program.hot_code if machine.recorder is None else None
        while pc < len(instructions):
            try:
                resumed = None if hot is None else hot.run(self, group, pc)
            except EmulationError as error:
                program.locate(error, instructions[group.pc])
                raise
            if resumed is not None:
                start, pc = resumed
            # A group of the same mode that waits ahead is met there, and joined.
            ahead = [other for other, its_mode in self.ready if its_mode == mode and other >= pc]
            try:
                stop = min([program.next_flow[pc], *ahead])
                machine.steps_before = self.steps - pc
                program.run_straight(group, pc, stop)
                self.steps += stop - pc + 1
                pc = stop
                if self.steps > self.next_look:
                    self.look(pc)
                if (pc, mode) in self.ready or pc == len(instructions):
                    break
                following = self.follow(group, pc)
            except EmulationError as error:
                program.locate(error, instructions[group.pc])
                raise
            self.count(group, start, pc + 1)
            if following is None:
                program.hot_code.flush(group)
                return
            start = pc = following
        program.hot_code.flush(group)
        if (pc, mode) not in self.ready:
            raise EmulationError(f"kernel '{program.kernel.name}' runs past its last instruction")
        self.count(group, start, pc)
        self.enqueue(pc, waves)

    def count(self, group: WaveGroup, start: int, stop: int) -> None:
        """Counts that a group has executed the instructions from `start` up to `stop`."""
        machine = self.machine
        machine.workgroup_counters.executions[start:stop] += group.waves_of_workgroups
        if machine.recorder is not None:
            machine.recorder.executed(group.waves, start, stop)

    def follow(self, group: WaveGroup, pc: int) -> int | None:
        """Executes the instruction of the control flow at `pc`.

        Returns:
            Where the whole group goes on; None if it goes on later, in parts, or not at all.
        """
        waves = group.waves
        kind, _, target = self.program.flow[pc]
        if kind is _Flow.END:
            self.ended[waves] = True
            self.rounds = 0
            return None
        if kind is _Flow.BARRIER:
            self.rounds = 0
            group.pc = pc
            self.program.steps[pc](group)
            self.waiting.setdefault(pc + 1, []).append(waves)
            return None
        if kind is _Flow.MODE:
            group.pc = pc
            self.program.steps[pc](group)
            self.enqueue(pc + 1, waves)
            return None
        if kind is _Flow.JUMP:
            return self.jump(group, pc)
        taken = self.program.decide(group, pc)
        if target == pc and taken.any():
            # A branch changes nothing that it depends on.
            group.pc = pc
            raise StepLimitError("this branch to itself has no end")
        if target <= pc and taken.any() and self.has_had_its_turn(group, pc):
            self.rests_at[waves[taken]] = pc
            self.enqueue(target, waves[taken], rest=True)
            if not taken.all():
                self.enqueue(pc + 1, waves[~taken])
            return None
        if taken.any() and not taken.all():
            self.enqueue(target, waves[taken])
            self.enqueue(pc + 1, waves[~taken])
            return None
        following = target if taken.all() else pc + 1
        if self.ready and min(self.ready)[0] < following:
            # Someone is behind: let them catch up.
            self.enqueue(following, waves)
            return None
        return following

    def jump(self, group: WaveGroup, pc: int) -> int | None:
        """Executes a call, or another jump to an address in registers, as `follow` does."""
        group.pc = pc
        targets = self.program.jumps.targets(group, pc)
        self.program.steps[pc](group)
        rest = bool((targets <= pc).any()) and self.has_had_its_turn(group, pc)
        self.rests_at[group.waves] = pc
        for target in np.unique(targets).tolist():
            self.enqueue(target, group.waves[targets == target], rest)
        return None

    def has_had_its_turn(self, group: WaveGroup, pc: int) -> bool:
        """Returns whether a group that branches back at `pc` lets others go on first."""
        self.rounds += 1
        if self.rounds >= self.most_rounds():
            self.rounds = 0
            return True
        poll = self.polls.get(pc)
        if poll is None or not poll.repeats(group):
            return False
        self.rounds = 0
        return True

    def is_alone(self, group: WaveGroup) -> bool:
        """Returns whether no wave is outside of a group."""
        return group.all_waves and not (self.ready or self.waiting or self.resting)

    def unfinished(self, barrier: int) -> frozenset[int]:
        """Returns the accesses to the LDS that may be under way behind a barrier."""
        return self.program.unfinished.get(barrier, frozenset())

    def most_rounds(self) -> int:
        """Returns the round of a loop with which the turn of a group ends."""
        return _ROUNDS_OF_A_TURN if self.ready or self.waiting else _ROUNDS_OF_A_PORTION

    def look(self, pc: int) -> None:
        """Ends a run that takes too many steps, and says how far it is."""
        instructions = self.program.kernel.instructions
        last = instructions[min(pc, len(instructions) - 1)]
        if self.steps > self.max_steps:
            error = StepLimitError(
                f"the kernel has not ended after {self.max_steps:,} steps: it loops without end, "
                "or needs a higher limit (--max-steps=N, in Python max_steps=N)"
            )
            self.program.locate(error, last)
            raise error
        self.next_look = min(self.steps + _STEPS_BETWEEN_LOOKS, self.max_steps)
        if self.watch is not None:
            self.watch(self.steps, last)
