# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds uses of registers that a load has not written yet, without running the kernel.

Memory instructions leave their results behind later than the instructions that follow them. The
hardware counts how many are under way, and `s_waitcnt vmcnt(2)` lets a wave wait until at most 2 of
one kind are (CDNA3 ISA, 4.4). An emulator that executes in order gives the right result without any
wait, where the chip reads what the register held before. So the waits are checked on their own.

*Queues.* What is issued to one queue finishes in the order of issue, so `vmcnt(2)` says that all
but the youngest two have finished:

* VECTOR: `buffer_*` and `global_*`, counted by vmcnt. On CDNA stores are among them. From RDNA on
  they are a queue of their own, STORES, together with atomics that return nothing;
* LDS: `ds_*`, also those that only exchange lanes, counted by lgkmcnt;
* SCALAR: `s_load_*` and its kind, counted by lgkmcnt. They finish in any order: only 0 helps;
* FLAT_VECTOR and FLAT_LDS: `flat_*` is counted by both, since an address may turn out to be either.
  Only 0 helps, of both counters. From RDNA on they keep their order, in VECTOR and in LDS;
* ASYNC: copies between memory and the LDS on gfx1250, which have a counter of their own.

If LDS and SCALAR are both under way, lgkmcnt(3) still says that at most 3 of LDS are. From RDNA4 on
each of these queues has a counter and an instruction of its own: `s_wait_loadcnt` for vmcnt,
`s_wait_storecnt` for RDNA3's vscnt, and for the parts of lgkmcnt `s_wait_dscnt` and `s_wait_kmcnt`.
Which queue keeps its order is what LLVM's SIInsertWaitcnts relies on.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from .assembly import Kernel
from .call_graph import JUMPS, CallGraph
from .chips import Chip, Isa
from .instruction_text import (
    M0,
    VCC,
    AssemblyError,
    Instruction,
    Literal,
    Name,
    Operand,
    Register,
    scalar_name,
)
from .memory_names import returns_value


class Queue(Enum):
    """The queues of instructions that finish in order; a `flat_*` instruction is in two of them."""

    VECTOR = "vector memory"
    STORES = "stores to vector memory"
    LDS = "LDS"
    SCALAR = "scalar memory"
    FLAT_VECTOR = "flat, by vmcnt"
    FLAT_LDS = "flat, by lgkmcnt"
    ASYNC = "copies between memory and the LDS"


_IN_ORDER = (Queue.VECTOR, Queue.LDS)
"""The queues with registers to be written that finish in the order of issue."""


class _Counter(NamedTuple):
    """A counter of a chip: its largest value, which is no wait, and the queues that it counts."""

    most: int
    queues: tuple[Queue, ...] = ()


_LOADS = (Queue.VECTOR, Queue.FLAT_VECTOR)
_LGKM = (Queue.LDS, Queue.SCALAR, Queue.FLAT_LDS)
# The widths of the counters are those of LLVM's AMDGPUBaseInfo.cpp.
_CDNA = {"vmcnt": _Counter(63, _LOADS), "lgkmcnt": _Counter(15, _LGKM), "expcnt": _Counter(7)}
_RDNA3 = {
    "vmcnt": _Counter(63, _LOADS),
    "lgkmcnt": _Counter(63, _LGKM),
    "vscnt": _Counter(63, (Queue.STORES,)),
    "expcnt": _Counter(7),
}
_RDNA4 = {
    "loadcnt": _Counter(63, _LOADS),
    "storecnt": _Counter(63, (Queue.STORES,)),
    "dscnt": _Counter(63, (Queue.LDS, Queue.FLAT_LDS)),
    "kmcnt": _Counter(31, (Queue.SCALAR,)),
    "samplecnt": _Counter(63),
    "bvhcnt": _Counter(7),
    "expcnt": _Counter(7),
}
# tensorcnt, of which LLVM states no width, counts what the emulator does not run. xcnt counts
# addresses that are yet to be translated, for which registers are kept in case an access is
# repeated: that they are kept is not checked.
_GFX1250 = {
    **_RDNA4,
    "asynccnt": _Counter(63, (Queue.ASYNC,)),
    "tensorcnt": _Counter(63),
    "xcnt": _Counter(63),
}
_FIELDS: Mapping[bool, Mapping[str, tuple[tuple[int, int], ...]]] = {
    False: {"vmcnt": ((0, 4), (14, 2)), "expcnt": ((4, 3),), "lgkmcnt": ((8, 4),)},
    True: {"expcnt": ((0, 3),), "lgkmcnt": ((4, 6),), "vmcnt": ((10, 6),)},
}
"""The bits of each counter in the operand of `s_waitcnt`, its lowest first, each part as a position
and a number of bits: on CDNA (CDNA3 ISA, SOPP), and on RDNA3 (LLVM's AMDGPUBaseInfo.cpp)."""


def _counters(chip: Chip) -> Mapping[str, _Counter]:
    isa = chip.isa
    if isa is Isa.GFX1250:
        return _GFX1250
    if isa is Isa.RDNA4:
        return _RDNA4
    return _RDNA3 if chip.is_rdna else _CDNA


_COUNT = re.compile(r"(vmcnt|lgkmcnt|expcnt)(_sat)?\((0x[0-9a-fA-F]{1,8}|0|[1-9]\d{,8})\)")
_ONE = re.compile(r"^s_waitcnt_(vscnt|vmcnt|lgkmcnt|expcnt)$")
_SPLIT = re.compile(r"^s_wait_(?:(loadcnt|storecnt)_(dscnt)|([a-z]+cnt))$")
_SECOND_FIELD = 8

QueueCounts = Mapping[Queue, int]
"""For queues the most of their instructions that may be under way; for others any number may."""


def is_wait(instruction: Instruction) -> bool:
    """Returns whether an instruction waits for memory, on whatever chip."""
    name = instruction.mnemonic
    if not name.startswith("s_wait"):
        return False
    return name in ("s_waitcnt", "s_wait_idle") or bool(_ONE.match(name) or _SPLIT.match(name))


def waited_for(instruction: Instruction) -> QueueCounts:
    """Returns what an instruction that waits for memory waits for.

    Raises:
        AssemblyError: the chip has no such instruction or counter, or the operand is none.
    """
    counters = _counters(instruction.chip)
    counts = _counter_values(instruction, counters)
    waited: dict[Queue, int] = {}
    for name, count in counts.items():
        if name not in counters:
            raise AssemblyError(f"{instruction.chip.name} has no '{name}' to wait for")
        counter = counters[name]
        if count > counter.most:
            raise AssemblyError(f"'{instruction.text}': {name} counts up to {counter.most}")
        if count < counter.most:
            waited.update(dict.fromkeys(counter.queues, count))
    return waited


def _counter_values(
    instruction: Instruction, counters: Mapping[str, _Counter]
) -> Mapping[str, int]:
    """Returns for each counter that the text names its value."""
    name, chip = instruction.mnemonic, instruction.chip
    split = chip.has_split_counters
    one, parts = _ONE.match(name), _SPLIT.match(name)
    if name == "s_wait_idle" and chip.is_rdna and not instruction.operands:
        return dict.fromkeys(counters, 0)
    if (not split and parts) or (one and not chip.is_rdna) or (split and not parts):
        instead = "s_wait_loadcnt" if split else "s_waitcnt"
        raise AssemblyError(f"{chip.name} has no '{name}': it waits by '{instead}' and its kind")
    if one:
        null, count = instruction.operands
        if str(null.value) != "null":
            raise AssemblyError(f"'{null.value}' where only 'null' is modelled")
        return {one[1]: _number(count, 0xFFFF)}
    if name == "s_wait_idle":
        raise AssemblyError(
            f"'{name}' takes no operand" if chip.is_rdna else f"{chip.name} has no '{name}'"
        )
    if parts is None:
        return _named_counts(instruction, counters)
    (operand,) = instruction.operands
    value = _number(operand, 0xFFFF)
    if parts[3]:
        return {parts[3]: value}
    return {parts[1]: value >> _SECOND_FIELD, parts[2]: value & (1 << _SECOND_FIELD) - 1}


def _number(operand: Operand, most: int) -> int:
    """Returns the number from 0 to `most` that an operand must be."""
    value = operand.value
    if not isinstance(value, Literal) or value.value not in range(most + 1):
        raise AssemblyError(f"'{value}' where a number from 0 to {most} is expected")
    return int(value.value)


def _named_counts(instruction: Instruction, counters: Mapping[str, _Counter]) -> Mapping[str, int]:
    """Returns what `s_waitcnt` waits for, which its operand says by names or by 16 bits."""
    if len(instruction.operands) != 1:
        raise AssemblyError("s_waitcnt takes counters to wait for, as vmcnt(0) lgkmcnt(0)")
    value = instruction.operands[0].value
    if isinstance(value, Literal) and value.value in range(1 << 16):
        fields = _FIELDS[instruction.chip.is_rdna]
        return {name: _bits(int(value.value), parts) for name, parts in fields.items()}
    text = value.text if isinstance(value, Name) else ""
    counts = {found[1]: _count(found, counters) for found in _COUNT.finditer(text)}
    if _COUNT.sub("", text).strip(" &,") or not counts:
        raise AssemblyError(f"'{value}' where counters to wait for are expected")
    return counts


def _bits(word: int, parts: tuple[tuple[int, int], ...]) -> int:
    """Returns the number whose parts, its lowest bits first, lie in a word."""
    result = place = 0
    for position, bits in parts:
        result |= (word >> position & (1 << bits) - 1) << place
        place += bits
    return result


def _count(found: re.Match[str], counters: Mapping[str, _Counter]) -> int:
    """Returns the number of a match of `_COUNT`."""
    name, saturates, number = found.groups()
    count, most = int(number, 0), counters[name].most
    if count <= most:
        return count
    if saturates:
        return most
    raise AssemblyError(f"'{found[0]}': {name} counts up to {most}")


# -- what an instruction does ---------------------------------------------------------------------

RegisterKey = tuple[str, int]
"""The file and the number of one 32-bit register."""


def registers_of(register: Register) -> tuple[RegisterKey, ...]:
    """Returns the 32-bit registers that a register of the text has."""
    return tuple((register.file, register.index + k) for k in range(register.count))


def will_load(instruction: Instruction) -> tuple[RegisterKey, ...]:
    """Returns the registers that a load or an atomic brings something into; none for any other."""
    return _effect(instruction).loaded


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
    wait: QueueCounts | None = None


def queues_of(instruction: Instruction) -> tuple[Queue, ...]:
    """Returns the queues that a memory instruction is counted in; none for any other.

    Cache control (`buffer_inv`, `s_dcache_wb`) is not counted: it writes no register, and that it
    makes older instructions older would only excuse more.
    """
    name = instruction.mnemonic
    stores = instruction.chip.is_rdna and _is_store(instruction)
    if name.startswith(("buffer_", "tbuffer_", "global_", "scratch_")):
        if "_async_" in name:
            return (Queue.ASYNC,)
        vector = Queue.STORES if stores else Queue.VECTOR
        return (vector,) if _MEMORY_ACCESS.search(name) else ()
    if name.startswith("flat_"):
        if not _MEMORY_ACCESS.search(name):
            return ()
        if instruction.chip.is_rdna:
            # There both counters count down in the order of issue (LLVM, GCNSubtarget,
            # hasFlatLgkmVMemCountInOrder).
            return Queue.STORES if stores else Queue.VECTOR, Queue.LDS
        return Queue.STORES if stores else Queue.FLAT_VECTOR, Queue.FLAT_LDS
    if name.startswith("ds_"):
        return (Queue.LDS,) if name != "ds_nop" else ()
    return (Queue.SCALAR,) if name.startswith(_SCALAR_MEMORY) else ()


def _is_store(instruction: Instruction) -> bool:
    """Returns whether an access to memory brings nothing back."""
    name = instruction.mnemonic
    return "_store_" in name or ("_atomic_" in name and not returns_value(instruction))


_MEMORY_ACCESS = re.compile("_(load|store|atomic)_")
_SCALAR_MEMORY = (
    *("s_load_", "s_buffer_load_", "s_scratch_load_", "s_memtime", "s_memrealtime"),
    *("s_store_", "s_buffer_store_", "s_scratch_store_", "s_atomic_", "s_buffer_atomic_"),
    "s_barrier_signal_isfirst",
)
_RESULT = re.compile(
    "_load_|_read|_rtn_|permute|swizzle|_memtime|_memrealtime|_load$|_consume|_append"
)


def is_direct_load(instruction: Instruction) -> bool:
    """Returns whether this is a load from memory into the LDS, which writes no register."""
    name = instruction.mnemonic
    direct = bool(instruction.modifiers.get("lds")) or "_load_lds_" in name
    direct = direct and name.startswith(("buffer_", "global_"))
    return direct or "_load_async_to_lds_" in name


def queue_of_direct_loads(chip: Chip) -> Queue:
    """Returns the queue of loads from memory into the LDS."""
    return Queue.ASYNC if chip.isa is Isa.GFX1250 else Queue.VECTOR


def _effect(instruction: Instruction, halved: frozenset[RegisterKey] = frozenset()) -> _Effect:
    """Returns what an instruction means, where the registers `halved` are looked at by halves."""
    if is_wait(instruction):
        return _Effect(wait=waited_for(instruction))
    keys = [
        _keys(instruction, number, value, halved)
        if isinstance(value := operand.value, Register)
        else ()
        for number, operand in enumerate(instruction.operands)
    ]
    implicit = _implicit(instruction)
    everything = tuple(key for part in (*keys, implicit) for key in part)
    queues = queues_of(instruction)
    if instruction.mnemonic == "s_barrier_signal_isfirst":
        return _Effect(used=everything, loaded=(_SCC,), queues=queues)
    if not queues or is_direct_load(instruction):
        return _Effect(used=everything, queues=queues)
    name = instruction.mnemonic
    if "_atomic_" in name:
        returns = returns_value(instruction)
        # The data register of a buffer atomic is read before it is written.
        reads_result = not name.startswith(("global_", "flat_"))
        used = everything if reads_result or not returns else everything[len(keys[0]) :]
        # Of a compare-and-swap it is the half that has the new value.
        result = keys[0][: len(keys[0]) // 2] if reads_result and _SWAP.search(name) else keys[0]
        return _Effect(used=used, loaded=result if returns else (), queues=queues)
    if _RESULT.search(instruction.mnemonic):
        rest = tuple(key for part in (*keys[1:], implicit) for key in part)
        return _Effect(used=rest, loaded=keys[0], queues=queues)
    return _Effect(used=everything, queues=queues)


_SWAP = re.compile("_atomic_f?cmpswap")

# From RDNA3 on the two halves of a vector register are loaded apart: what loads, stores or computes
# with one of them need not wait for what loads the other one (LLVM's SIInsertWaitcnts looks at
# halves too). Only a VALU instruction of gfx1250 may change the whole register (LLVM,
# GCNSubtarget, hasD16Writes32BitVgpr).
_HALF_LOAD = re.compile(r"_load_(?!.*format).*d16")
_HALF_DATA = re.compile(r"_(?:load|store)_.*(d16_hi)|_load_.*d16|_store_[bu](?:8|16)$")


def _halved(kernel: Kernel) -> frozenset[RegisterKey]:
    """Returns the vector registers of which a load brings half."""
    return frozenset(
        key
        for instruction in kernel.instructions
        if instruction.chip.is_rdna and _HALF_LOAD.search(instruction.mnemonic)
        for key in registers_of(instruction.operands[0].register)
    )


def _keys(
    instruction: Instruction, number: int, register: Register, halved: frozenset[RegisterKey]
) -> tuple[RegisterKey, ...]:
    """Returns the registers, or their halves, that an operand names."""
    keys = registers_of(register)
    if halved.isdisjoint(keys):
        return keys
    name, halves = instruction.mnemonic, register.half or "lh"
    if queues_of(instruction):
        data = int("_store_" in name and not name.startswith(("buffer_", "tbuffer_")))
        found = _HALF_DATA.search(name)
        if found and number == data:
            halves = "h" if found[1] else "l"
    elif instruction.chip.isa is Isa.GFX1250:
        halves = "lh"
    return tuple((f"v.{half}", key[1]) for key in keys for half in halves)


def _implicit(instruction: Instruction) -> tuple[RegisterKey, ...]:
    """Returns the registers that an instruction reads although its text does not name them."""
    name = instruction.mnemonic
    if name.startswith(("s_cbranch_vcc", "v_div_fmas")):
        return registers_of(VCC)
    if name.startswith(_READ_SCC):
        return (_SCC,)
    direct = is_direct_load(instruction) and "_async_" not in name
    if name.startswith(("s_movrel", "s_set_gpr_idx", "s_sendmsg")) or direct:
        return registers_of(M0)
    return ()


_SCC: RegisterKey = "scc", 0
_READ_SCC = (
    *("s_cbranch_scc", "s_cselect", "s_cmov", "s_addc_", "s_subb_", "s_add_co_ci"),
    "s_sub_co_ci",
)


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
class State:
    """What may be under way at one place.

    The instructions of a queue are numbered as they are issued, so that a number is a birthday: the
    age is the difference to the last number, and nothing has to be touched as time goes by.

    Attributes:
        most: the largest age in each queue that is in order, one less than its counter's largest
            value.
        loads: for each queue the registers that are yet to be written.
        accesses: the queues and the numbers of the instructions that access the LDS, by their index
            in the text.
        issued: the last number of each queue.
        signalled: the instructions that accessed the LDS and were under way when the wave signalled
            a barrier for which it has not waited yet.
    """

    most: Mapping[Queue, int]
    loads: dict[Queue, _Numbers] = field(default_factory=lambda: {queue: {} for queue in Queue})
    accesses: dict[int, tuple[Queue, int]] = field(default_factory=dict)
    issued: dict[Queue, int] = field(default_factory=lambda: dict.fromkeys(Queue, 0))
    signalled: frozenset[int] = frozenset()

    def age(self, queue: Queue, number: int) -> int:
        """Returns how many instructions of a queue came after `number`.

        It is 0 if the order says nothing.
        """
        return min(self.issued[queue] - number, self.most.get(queue, 0))

    def wait(self, counts: QueueCounts) -> None:
        """Forgets what is certainly done after a wait."""
        for queue, count in counts.items():
            loads = self.loads[queue]
            for key in [k for k, (number, _) in loads.items() if self.age(queue, number) >= count]:
                del loads[key]
        for index, (queue, number) in list(self.accesses.items()):
            if queue in counts and self.age(queue, number) >= counts[queue]:
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

    def join(self, other: State) -> bool:
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
        if not other.signalled <= self.signalled:
            self.signalled |= other.signalled
            news = True
        return news

    def copy(self) -> State:
        """Returns a copy, which changes on its own."""
        loads = {queue: dict(numbers) for queue, numbers in self.loads.items()}
        return State(self.most, loads, dict(self.accesses), dict(self.issued), self.signalled)


# -- the search ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MissingWait:
    """A register that is used before a load has written it.

    Attributes:
        instruction: the index of the instruction that uses the register.
        load: the index of the load.
        needed: the wait that would be enough, such as `s_waitcnt vmcnt(2)`.
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
            f"'{self.needed}' is needed between them"
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
    return Search(kernel).run()


class Search:
    """Follows the control flow until nothing that may be under way is new."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        halved = _halved(kernel)
        self.effects = [_effect(instruction, halved) for instruction in kernel.instructions]
        counters = _counters(kernel.chip).values()
        limits = {queue: counter.most - 1 for counter in counters for queue in counter.queues}
        self.limits = {queue: limits[queue] for queue in _IN_ORDER}
        self.calls = CallGraph(kernel)
        self.starts = self.block_starts()
        self.before: dict[int, State] = {}
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
            or instruction.mnemonic in JUMPS
        )
        labels = self.kernel.labels.values()
        return {0, self.kernel.entry, *labels, *self.kernel.functions, *behind}

    def run(self) -> WaitReport:
        # The start of the text too: firmware that does not preload arguments begins there.
        roots = {0, self.kernel.entry}
        self.before = {start: State(self.limits) for start in roots}
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

    def walk(self, start: int, state: State, report: bool = False) -> list[int]:
        """Takes `state` through a block; returns where control goes from there."""
        last = start
        for index in self.block(start):
            self.pass_over(index, state, report)
            last = index
        return self.followers(last)

    def block(self, start: int) -> range:
        """Returns the instructions of the block that begins at an index."""
        stop = start + 1
        while stop < len(self.kernel.instructions) and stop not in self.starts:
            stop += 1
        return range(start, min(stop, len(self.kernel.instructions)))

    def pass_over(self, index: int, state: State, report: bool) -> None:
        """Takes `state` behind an instruction, and with `report` notes what is wrong there."""
        effect, name = self.effects[index], self.kernel.instructions[index].mnemonic
        if effect.wait is not None:
            state.wait(effect.wait)
        else:
            if report:
                self.look(index, effect, state)
            state.issue(index, effect)
        if name in ("s_barrier_signal", "s_barrier_wait"):
            signals = name == "s_barrier_signal"
            state.signalled = frozenset(state.accesses) if signals else frozenset()

    def followers(self, last: int) -> list[int]:
        """Returns where control goes from the last instruction of a block.

        The first one of two is where a branch goes if it is taken.
        """
        if last >= len(self.kernel.instructions):
            return []
        instruction = self.kernel.instructions[last]
        name = instruction.mnemonic
        if name == "s_endpgm":
            return []
        if name in JUMPS:
            return self.calls.followers(last)
        behind = [last + 1] if last + 1 < len(self.kernel.instructions) else []
        if not name.startswith(("s_branch", "s_cbranch")):
            return behind
        target = instruction.operands[0].value
        label = target.text if isinstance(target, Name) else ""
        taken = [self.kernel.labels[label]] if label in self.kernel.labels else []
        return taken if name == "s_branch" else [*taken, *behind]

    def look(self, index: int, effect: _Effect, state: State) -> None:
        """Notes what is wrong at one instruction, and forgets it, so that it is reported once."""
        # What is loaded may replace what an older load of the same queue brings.
        in_order = effect.queues[0] if effect.queues and effect.queues[0] in _IN_ORDER else None
        for keys, but in ((effect.used, None), (effect.loaded, in_order)):
            for key in keys:
                found = state.pending(key, but)
                if found is None:
                    continue
                missing = MissingWait(index, _name(key), found.load, self.needed(found))
                self.missing.setdefault(index, missing)
                for loads in state.loads.values():
                    loads.pop(key, None)
        name = self.kernel.instructions[index].mnemonic
        if name == "s_barrier" and state.accesses:
            self.unfinished[index] = frozenset(state.accesses)
        elif name == "s_barrier_wait" and state.signalled:
            self.unfinished[index] = state.signalled

    def needed(self, pending: _Pending) -> str:
        """Returns the wait after which a load is done, as the chip's assembly has it."""
        queues = queues_of(self.kernel.instructions[pending.load])
        flat = len(queues) > 1
        return wait_text(
            self.kernel.chip, queues if flat else (pending.queue,), 0 if flat else pending.age
        )


def wait_text(chip: Chip, queues: Sequence[Queue], count: int) -> str:
    """Returns the instruction that waits until at most `count` of queues are under way."""
    names = [
        next(name for name, counter in _counters(chip).items() if queue in counter.queues)
        for queue in queues
    ]
    if chip.has_split_counters:
        number = sum(count << _SECOND_FIELD * place for place in range(len(names)))
        return f"s_wait_{'_'.join(names)} {number:#x}"
    return "s_waitcnt " + " ".join(f"{name}({count})" for name in names)


def _name(key: RegisterKey) -> str:
    if key == _SCC:
        return "scc"
    file, index = key
    kind, _, half = file.partition(".")
    return scalar_name(index) if file == "s" else f"{kind}{index}{'.' * bool(half)}{half}"
