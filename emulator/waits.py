# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds uses of registers that a load has not written yet, without running the kernel.

Memory instructions leave their results behind later than the instructions that follow them. The
hardware counts how many are under way, and `s_waitcnt vmcnt(2)` lets a wave wait until at most 2 of
one kind are (CDNA3 ISA, 4.4). An emulator that executes in order gives the right result without any
wait, where the chip reads what the register held before. So the waits are checked on their own.

*Queues.* What is issued to one queue finishes in the order of issue, so `vmcnt(2)` says that all
but the youngest two have finished:

* VECTOR: `buffer_*` and `global_*`, loads, stores and atomics alike, counted by vmcnt;
* LDS: `ds_*`, also those that only exchange lanes, counted by lgkmcnt;
* SCALAR: `s_load_*` and its kind, counted by lgkmcnt. They finish in any order: only 0 helps;
* FLAT_VECTOR and FLAT_LDS: `flat_*` is counted by both, since an address may turn out to be either.
  Only 0 helps, of both counters.

If LDS and SCALAR are both under way, lgkmcnt(3) still says that at most 3 of LDS are.

*Ages.* For a register that a load will write, its age is how many instructions of the load's queue
have been issued since. A wait for n settles the registers of age n and above. Along different paths
to one place the ages differ; the smallest one is the bound that holds for all paths. The search
follows the control flow until no age changes any more, as LLVM's SIInsertWaitcnts does, the pass
that puts the waits there. A worked example, with the ages of v1 and v2 behind each line:

    buffer_load_dword v1, ...           v1: 0
    buffer_load_dword v2, ...           v1: 1, v2: 0
    s_waitcnt vmcnt(1)                  v2: 0
    v_add_f32_e32 v3, v1, v2            an error: v2 needs vmcnt(0)

A load may overwrite what an older load of its own queue has yet to write, as these finish in order.
Bytes of the LDS that a load writes directly are looked after as the kernel runs (`lds.py`), as are
accesses to the LDS that are under way when their wave passes a barrier. Registers that M0 indexes
are checked by the register that the text names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from .assembly import Kernel
from .instruction_text import (
    M0,
    VCC,
    AssemblyError,
    Instruction,
    Literal,
    Name,
    Register,
    scalar_name,
)


class Queue(Enum):
    """The queues of instructions that finish in order; a `flat_*` instruction is in two of them."""

    VECTOR = "vector memory"
    LDS = "LDS"
    SCALAR = "scalar memory"
    FLAT_VECTOR = "flat, by vmcnt"
    FLAT_LDS = "flat, by lgkmcnt"


_LARGEST_AGE: Mapping[Queue, int] = {Queue.VECTOR: 62, Queue.LDS: 14}
"""The largest age in each queue that is in order, one less than the counter's largest value.

The largest value of a counter is no wait."""


@dataclass(frozen=True)
class WaitCounts:
    """The most instructions that may be under way behind a wait; None for any number."""

    vm: int | None = None
    lgkm: int | None = None


_LARGEST_COUNT: Mapping[str, int] = {"vmcnt": 63, "lgkmcnt": 15, "expcnt": 7}
_COUNT = re.compile(r"(vmcnt|lgkmcnt|expcnt)(_sat)?\((0x[0-9a-fA-F]{1,8}|0|[1-9]\d{,8})\)")


def wait_counts(instruction: Instruction) -> WaitCounts:
    """Returns what `s_waitcnt` waits for, which its operand says by names or by 16 bits.

    The encoding has vmcnt in bits 15:14 and 3:0, expcnt in 6:4 and lgkmcnt in 11:8 (CDNA3 ISA,
    SOPP).

    Raises:
        AssemblyError: it waits for something else.
    """
    if len(instruction.operands) != 1:
        raise AssemblyError("s_waitcnt takes counters to wait for, as vmcnt(0) lgkmcnt(0)")
    value = instruction.operands[0].value
    if isinstance(value, Literal) and value.value in range(1 << 16):
        word = int(value.value)
        vm, lgkm = word & 15 | word >> 14 << 4 & 48, word >> 8 & 15
        return WaitCounts(vm if vm < 63 else None, lgkm if lgkm < 15 else None)
    text = value.text if isinstance(value, Name) else ""
    counts = {found[1]: _count(found) for found in _COUNT.finditer(text)}
    if _COUNT.sub("", text).strip(" &,") or not counts:
        raise AssemblyError(f"'{value}' where counters to wait for are expected")
    return WaitCounts(counts.get("vmcnt"), counts.get("lgkmcnt"))


def _count(found: re.Match[str]) -> int:
    """Returns the number of a match of `_COUNT`."""
    name, saturates, number = found.groups()
    count = int(number, 0)
    if count <= _LARGEST_COUNT[name]:
        return count
    if saturates:
        return _LARGEST_COUNT[name]
    raise AssemblyError(f"'{found[0]}': {name} counts up to {_LARGEST_COUNT[name]}")


# -- what an instruction does ---------------------------------------------------------------------

RegisterKey = tuple[str, int]
"""The file and the number of one 32-bit register."""


@dataclass(frozen=True)
class _Effect:
    """What an instruction means for the waits.

    Attributes:
        used: the registers that must have been written before it.
        loaded: the registers that it will write later.
        queues: the queues that it is in until it is done; none if it is done at once.
        wait: what the instruction waits for, if it is a wait.
    """

    used: tuple[RegisterKey, ...] = ()
    loaded: tuple[RegisterKey, ...] = ()
    queues: tuple[Queue, ...] = ()
    wait: WaitCounts | None = None


def queues_of(instruction: Instruction) -> tuple[Queue, ...]:
    """Returns the queues that a memory instruction is counted in; none for any other.

    Cache control (`buffer_inv`, `s_dcache_wb`) is not counted: it writes no register, and that it
    makes older instructions older would only excuse more.
    """
    name = instruction.mnemonic
    if name.startswith(("buffer_", "tbuffer_", "global_", "scratch_")):
        return (Queue.VECTOR,) if _MEMORY_ACCESS.search(name) else ()
    if name.startswith("flat_"):
        return Queue.FLAT_VECTOR, Queue.FLAT_LDS
    if name.startswith("ds_"):
        return (Queue.LDS,) if name != "ds_nop" else ()
    return (Queue.SCALAR,) if name.startswith(_SCALAR_MEMORY) else ()


_MEMORY_ACCESS = re.compile("_(load|store|atomic)_")
_SCALAR_MEMORY = (
    *("s_load_", "s_buffer_load_", "s_scratch_load_", "s_memtime", "s_memrealtime"),
    *("s_store_", "s_buffer_store_", "s_scratch_store_", "s_atomic_", "s_buffer_atomic_"),
)
_RESULT = re.compile(
    "_load_|_read|_rtn_|permute|swizzle|_memtime|_memrealtime|_load$|_consume|_append"
)


def is_direct_load(instruction: Instruction) -> bool:
    """Returns whether this is a load from memory into the LDS, which writes no register."""
    direct = bool(instruction.modifiers.get("lds")) or "_load_lds_" in instruction.mnemonic
    return direct and queues_of(instruction) == (Queue.VECTOR,)


def _effect(instruction: Instruction) -> _Effect:
    if instruction.mnemonic == "s_waitcnt":
        return _Effect(wait=wait_counts(instruction))
    keys = [
        tuple((value.file, value.index + k) for k in range(value.count))
        if isinstance(value := operand.value, Register)
        else ()
        for operand in instruction.operands
    ]
    implicit = _implicit(instruction)
    everything = tuple(key for part in (*keys, implicit) for key in part)
    queues = queues_of(instruction)
    if not queues or is_direct_load(instruction):
        return _Effect(used=everything, queues=queues)
    if "_atomic_" in instruction.mnemonic:
        returns = bool(instruction.modifiers.get("sc0") or instruction.modifiers.get("glc"))
        # The data register of a buffer atomic is read before it is written.
        reads_result = not instruction.mnemonic.startswith(("global_", "flat_"))
        used = everything if reads_result or not returns else everything[len(keys[0]) :]
        return _Effect(used=used, loaded=keys[0] if returns else (), queues=queues)
    if _RESULT.search(instruction.mnemonic):
        rest = tuple(key for part in (*keys[1:], implicit) for key in part)
        return _Effect(used=rest, loaded=keys[0], queues=queues)
    return _Effect(used=everything, queues=queues)


def _implicit(instruction: Instruction) -> tuple[RegisterKey, ...]:
    """Returns the registers that an instruction reads although its text does not name them."""
    name = instruction.mnemonic
    if name.startswith(("s_cbranch_vcc", "v_div_fmas")):
        return tuple(("s", VCC.index + k) for k in range(VCC.count))
    if name.startswith(("s_movrel", "s_set_gpr_idx", "s_sendmsg")) or is_direct_load(instruction):
        return (("s", M0.index),)
    return ()


# -- what is under way -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pending:
    """A load that has yet to write a register: its queue, its age and its index."""

    queue: Queue
    age: int
    load: int


_Numbers = dict[RegisterKey, tuple[int, int]]
"""The number of the load that will write each register, and the load's index in the text."""


@dataclass
class _State:
    """What may be under way at one place.

    The instructions of a queue are numbered as they are issued, so that a number is a birthday: the
    age is the difference to the last number, and nothing has to be touched as time goes by.

    Attributes:
        loads: for each queue the registers that are yet to be written.
        accesses: the queues and the numbers of the instructions that access the LDS, by their index
            in the text.
        issued: the last number of each queue.
    """

    loads: dict[Queue, _Numbers] = field(default_factory=lambda: {queue: {} for queue in Queue})
    accesses: dict[int, tuple[Queue, int]] = field(default_factory=dict)
    issued: dict[Queue, int] = field(default_factory=lambda: dict.fromkeys(Queue, 0))

    def age(self, queue: Queue, number: int) -> int:
        """Returns how many instructions of a queue came after `number`.

        It is 0 if the order says nothing.
        """
        return min(self.issued[queue] - number, _LARGEST_AGE.get(queue, 0))

    def wait(self, counts: WaitCounts) -> None:
        """Forgets what is certainly done after a wait."""
        for queue, count in (
            (Queue.VECTOR, counts.vm),
            (Queue.LDS, counts.lgkm),
            (Queue.SCALAR, counts.lgkm),
            (Queue.FLAT_VECTOR, counts.vm),
            (Queue.FLAT_LDS, counts.lgkm),
        ):
            if count is None:
                continue
            loads = self.loads[queue]
            for key in [k for k, (number, _) in loads.items() if self.age(queue, number) >= count]:
                del loads[key]
        if counts.lgkm is not None:
            old = [i for i, place in self.accesses.items() if self.age(*place) >= counts.lgkm]
            for index in old:
                del self.accesses[index]

    def issue(self, index: int, effect: _Effect) -> None:
        """Puts an instruction into its queues."""
        for queue in effect.queues:
            self.issued[queue] += 1
            for key in effect.loaded:
                self.loads[queue][key] = self.issued[queue], index
            if queue in (Queue.LDS, Queue.FLAT_LDS):
                self.accesses[index] = queue, self.issued[queue]

    def pending(self, key: RegisterKey, but: Queue | None = None) -> _Pending | None:
        """Returns the load that has yet to write a register; None if there is none.

        Loads in the queue `but` do not count.
        """
        for queue, loads in self.loads.items():
            found = loads.get(key)
            if found is not None and queue is not but:
                number, index = found
                return _Pending(queue, self.age(queue, number), index)
        return None

    def join(self, other: _State) -> bool:
        """Adds what may be under way on another path to here; returns whether that was news."""
        news = False
        for queue in Queue:
            mine = self.loads[queue]
            for key, (number, index) in other.loads[queue].items():
                age = other.age(queue, number)
                if key not in mine or age < self.age(queue, mine[key][0]):
                    mine[key] = self.issued[queue] - age, index
                    news = True
        for index, (queue, number) in other.accesses.items():
            age = other.age(queue, number)
            if index not in self.accesses or age < self.age(*self.accesses[index]):
                self.accesses[index] = queue, self.issued[queue] - age
                news = True
        return news

    def copy(self) -> _State:
        """Returns a copy, which changes on its own."""
        loads = {queue: dict(numbers) for queue, numbers in self.loads.items()}
        return _State(loads, dict(self.accesses), dict(self.issued))


# -- the search ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MissingWait:
    """A register that is used before a load has written it.

    Attributes:
        instruction: the index of the instruction that uses the register.
        load: the index of the load.
        needed: the wait that would be enough, such as `vmcnt(2)`.
    """

    instruction: int
    register: str
    load: int
    needed: str

    def message(self, kernel: Kernel) -> str:
        """Returns what is wrong, in one sentence that names the load and the wait."""
        load = kernel.instructions[self.load]
        return (
            f"{self.register} is used before the load of line {load.line} "
            f"('{' '.join(load.text.split())}') has written it for certain: "
            f"'s_waitcnt {self.needed}' is needed between them"
        )


@dataclass(frozen=True)
class WaitReport:
    """What the search found.

    Attributes:
        missing: uses without a wait, the first one of each instruction, in the order of the text.
        unfinished: for each barrier, as an index, the instructions whose accesses to the LDS may be
            under way when a wave passes it; only barriers with such are there.
    """

    missing: tuple[MissingWait, ...]
    unfinished: Mapping[int, frozenset[int]]


def check_waits(kernel: Kernel) -> WaitReport:
    """Follows all paths through a kernel, whose instructions the emulator knows."""
    return _Search(kernel).run()


class _Search:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.effects = [_effect(instruction) for instruction in kernel.instructions]
        self.starts = self.block_starts()
        self.before: dict[int, _State] = {}
        self.missing: dict[int, MissingWait] = {}
        self.unfinished: dict[int, frozenset[int]] = {}

    def block_starts(self) -> set[int]:
        """Returns the indices where straight runs of instructions begin.

        These are labels, and places behind branches.
        """
        behind = (
            index + 1
            for index, instruction in enumerate(self.kernel.instructions)
            if instruction.mnemonic.startswith(("s_branch", "s_cbranch", "s_endpgm"))
        )
        return {0, self.kernel.entry, *self.kernel.labels.values(), *behind}

    def run(self) -> WaitReport:
        # The start of the text too: firmware that does not preload arguments begins there.
        roots = {0, self.kernel.entry}
        self.before = {start: _State() for start in roots}
        # In the order of the text: most of what leads to a block is known when it is looked at.
        waiting = set(roots)
        while waiting:
            start = min(waiting)
            waiting.remove(start)
            state = self.before[start].copy()
            for follower in self.walk(start, state):
                known = self.before.get(follower)
                if known is None:
                    self.before[follower] = state.copy()
                    waiting.add(follower)
                elif known.join(state):
                    waiting.add(follower)
        for start in sorted(self.before):
            self.walk(start, self.before[start].copy(), report=True)
        missing = tuple(self.missing[index] for index in sorted(self.missing))
        return WaitReport(missing, self.unfinished)

    def walk(self, start: int, state: _State, report: bool = False) -> list[int]:
        """Takes `state` through a block; returns where control goes from there."""
        instructions = self.kernel.instructions
        index = start
        while index < len(instructions):
            instruction, effect = instructions[index], self.effects[index]
            if effect.wait is not None:
                state.wait(effect.wait)
            else:
                if report:
                    self.look(index, effect, state)
                state.issue(index, effect)
            name = instruction.mnemonic
            if name == "s_endpgm":
                return []
            if name.startswith(("s_branch", "s_cbranch")):
                target = instruction.operands[0].value
                label = target.text if isinstance(target, Name) else ""
                taken = [self.kernel.labels[label]] if label in self.kernel.labels else []
                return taken if name == "s_branch" else [*taken, index + 1]
            index += 1
            if index in self.starts:
                return [index]
        return []

    def look(self, index: int, effect: _Effect, state: _State) -> None:
        """Notes what is wrong at one instruction, and forgets it, so that it is reported once."""
        # What is loaded may replace what an older load of the same queue brings.
        in_order = effect.queues[0] if effect.queues and effect.queues[0] in _LARGEST_AGE else None
        for keys, but in ((effect.used, None), (effect.loaded, in_order)):
            for key in keys:
                found = state.pending(key, but)
                if found is None:
                    continue
                missing = MissingWait(index, _name(key), found.load, _needed(found))
                self.missing.setdefault(index, missing)
                for loads in state.loads.values():
                    loads.pop(key, None)
        if self.kernel.instructions[index].mnemonic == "s_barrier" and state.accesses:
            self.unfinished[index] = frozenset(state.accesses)


def _needed(pending: _Pending) -> str:
    """Returns the wait after which a load is done, as `s_waitcnt` takes it."""
    if pending.queue is Queue.VECTOR:
        return f"vmcnt({pending.age})"
    if pending.queue in (Queue.LDS, Queue.SCALAR):
        return f"lgkmcnt({pending.age})"
    return "vmcnt(0) lgkmcnt(0)"


def _name(key: RegisterKey) -> str:
    file, index = key
    return scalar_name(index) if file == "s" else f"{file}{index}"
