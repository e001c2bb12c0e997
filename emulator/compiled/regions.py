# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The code of a *region*: straight runs of instructions and the branches between them.

A region is entered at the beginning of one of its blocks. It is left

* at the beginning of a block that is not its own, or behind which another group waits,
* at a branch on which the waves disagree, or before which the executor has something to do,
* before an instruction that reads undefined bits, or behind one that has made some,

and always so that the instructions before that place are done, and nothing of what is behind it.
An instruction without code is called as a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum, auto
from typing import NamedTuple

from ..instruction_text import EXEC, VCC
from ..step import Step
from .accesses import FUNCTIONS, put_lds_key, put_memory_key, site_field
from .branches import BARRIER, Branch
from .code import Code, LaneLoop
from .sites import Kind, Site, SiteField
from .tracing import Layout, TracingGroup


class Field(IntEnum):
    """The numbers that a region and its caller share, 8 bytes each, by their places."""

    VGPR = 0
    SGPR = auto()
    SCC = auto()
    V_BITS = auto()
    S_BITS = auto()
    ROWS = auto()
    COUNT = auto()
    CALLBACK = auto()
    BLOCKS = auto()
    """The address of the rounds of each block."""
    LOWEST = auto()
    """The first instruction at which another group waits."""
    STEPS = auto()
    """The steps so far."""
    NEXT_LOOK = auto()
    """The steps beyond which the executor looks."""
    ROUNDS = auto()
    """The rounds of loops so far."""
    MOST_ROUNDS = auto()
    """The round of a loop that the executor has to count."""
    EXEC_CHANGED = auto()
    """Whether code has changed EXEC since a step has run."""
    POLLS = auto()
    """The address of the rounds of each polling loop at which nobody has to look."""
    LDS = auto()
    LDS_STRIDE = auto()
    PER = auto()
    """The waves of a workgroup."""
    BUFFERS = auto()
    """The address of what code knows of the buffers of memory."""
    BUFFER_COUNT = auto()
    CHANGED = auto()
    """Some bit, if a store has changed a byte of memory."""
    NOTES = auto()
    """The address of the accesses to the LDS that are to be noted."""
    NOTE_COUNT = auto()
    EPOCH = auto()
    """The number of the time since the last barrier, in which an access is noted once."""
    SIGN = auto()
    """The highest of 64 bits."""
    START = auto()
    """Where the straight run begins that is not counted yet, when the region is left."""
    PC = auto()
    """Where the waves are then."""


class Exit(IntEnum):
    """Why a region is left."""

    PLAIN = 0
    UNDEFINED = auto()
    """Some bits that the next instructions read may be undefined."""
    STEP = auto()
    """A step wants it."""


AT_BARRIER = -1 << 63
"""What code hands over where it calls at a barrier, in the place of a number of steps."""


class Block(NamedTuple):
    """Instructions from `start` up to `stop`, which run one after the other.

    Attributes:
        branch: the branch at `stop`; None if the next block begins there.
        flows: whether the instruction at `stop` is one of the control flow.
    """

    start: int
    stop: int
    branch: Branch | None
    flows: bool


class Region(NamedTuple):
    """The text of a module with the code of a region.

    Attributes:
        text: the module, which defines `@region`.
        tables: arrays that the code reads and writes, and which must stay where they are.
        functions: what it calls by the number -1, -2, ... in the place of an instruction.
        reads_s, reads_v: the scalar (with SCC) and vector registers that it reads or writes in
            code and which are not tracked.
        written_v: the vector registers that it writes in code.
        calls: its instructions that are steps.
        sites: its instructions that access the LDS or memory in code.
    """

    text: str
    tables: Sequence[object]
    functions: Sequence[Callable[[], object]]
    uses_s: frozenset[int]
    uses_v: frozenset[int]
    written_v: frozenset[int]
    calls: frozenset[int]
    sites: Sequence[Site]


_POINTERS = (Field.VGPR, Field.SGPR, Field.SCC, Field.V_BITS, Field.S_BITS, Field.ROWS,
             Field.BLOCKS, Field.POLLS, Field.CALLBACK, Field.BUFFERS, Field.NOTES)  # fmt: skip


class RegionWriter:
    """Writes the code of a region.

    Args:
        blocks: the blocks, by their beginnings.
        steps: the steps of all instructions of the program.
        layout: what the code may assume of the machine.
        polls: the branches at which the executor looks now and then whether waves poll.
        accesses: whether each instruction accesses memory.
    """

    def __init__(
        self,
        blocks: Mapping[int, Block],
        steps: Sequence[Step],
        layout: Layout,
        polls: Sequence[int],
        accesses: Sequence[bool],
    ) -> None:
        self.blocks = blocks
        self.steps = steps
        self.layout = layout
        self.polls = polls
        self.accesses = accesses
        self.code = Code(layout.lanes)
        self.uses_s: set[int] = set()
        self.uses_v: set[int] = set()
        self.written_v: set[int] = set()
        self.calls: set[int] = set()
        self.sites: list[Site] = []

    def write(self) -> Region:
        """Returns the region."""
        code = self.code
        for number, block in enumerate(self.blocks.values()):
            self._block(number, block)
        lines = code.finished()
        text = "\n".join(
            [FUNCTIONS, *self._declarations(), *self._beginning(), *lines, *self._end()]
        )
        return Region(
            text,
            tuple(code.tables),
            tuple(code.functions),
            frozenset(self.uses_s),
            frozenset(self.uses_v),
            frozenset(self.written_v),
            frozenset(self.calls),
            tuple(self.sites),
        )

    # -- the frame of the function ---------------------------------------------------------------

    def _declarations(self) -> list[str]:
        lines: list[str] = []
        for name, kind in self.code.constants.items():
            if name.startswith("@llvm."):
                result, _, rest = kind.partition(" (")
                lines.append(f"declare {result} {name}({rest}")
            else:
                lines.append(f"{name} = private constant {kind}, align 64")
        return lines

    def _beginning(self) -> list[str]:
        lines = ["define i64 @region(ptr %context, i64 %entry) {", "begin:", *self.code.allocas]
        for field in Field:
            name = field.name.lower()
            kind = "ptr" if field in _POINTERS else "i64"
            lines += [
                f"%at_{name} = getelementptr i64, ptr %context, i64 {int(field)}",
                f"%{name} = load {kind}, ptr %at_{name}, align 8",
            ]
        lines += ["%single = icmp eq i64 %count, 1", "switch i64 %entry, label %leave ["]
        lines += [f"i64 {start}, label %block{start}" for start in self.blocks]
        return [*lines, "]"]

    def _end(self) -> list[str]:
        return ["leave:", "ret i64 0", "}"]

    def _get(self, field: Field) -> str:
        return self.code.emit(f"load i64, ptr %at_{field.name.lower()}, align 8")

    def _set(self, field: Field, value: str | int) -> None:
        self.code.line(f"store i64 {value}, ptr %at_{field.name.lower()}, align 8")

    def _leave(self, start: int, pc: int, reason: Exit, done: int) -> None:
        """Leaves the region at `pc`, after `done` instructions that are not counted as steps."""
        if done:
            self._set(Field.STEPS, self.code.emit(f"add i64 {self._get(Field.STEPS)}, {done}"))
        self._set(Field.START, start)
        self._set(Field.PC, pc)
        self.code.line(f"ret i64 {int(reason)}")

    def _leave_if(self, condition: str, start: int, pc: int, reason: Exit, done: int) -> None:
        code = self.code
        out, on = code.label("out"), code.label("on")
        code.line(f"br i1 {condition}, label %{out}, label %{on}")
        code.start(out)
        self._leave(start, pc, reason, done)
        code.start(on)

    # -- blocks ----------------------------------------------------------------------------------

    def _block(self, number: int, block: Block) -> None:
        code = self.code
        code.start(f"block{block.start}")
        # Another group that waits in the block or at its end is met by the executor.
        beyond = code.emit(f"icmp sge i64 {block.stop}, {self._get(Field.LOWEST)}")
        self._leave_if(beyond, block.start, block.start, Exit.PLAIN, 0)
        pc = block.start
        while pc < block.stop:
            pc = self._segment(block, pc)
        length = block.stop - block.start
        if block.branch is not None:
            self._branch(number, block, block.branch)
        elif block.flows:
            self._leave(block.start, block.stop, Exit.PLAIN, length)
        else:
            self._count(number, length)
            self._go_on(block.stop)

    def _count(self, number: int, steps: int) -> None:
        code = self.code
        address = code.emit(f"getelementptr i64, ptr %blocks, i64 {number}")
        old = code.emit(f"load i64, ptr {address}, align 8")
        new = code.emit(f"add i64 {old}, 1")
        code.line(f"store i64 {new}, ptr {address}, align 8")
        self._set(Field.STEPS, code.emit(f"add i64 {self._get(Field.STEPS)}, {steps}"))

    def _go_on(self, pc: int) -> None:
        if pc in self.blocks:
            self.code.line(f"br label %block{pc}")
        else:
            self._leave(pc, pc, Exit.PLAIN, 0)

    def _segment(self, block: Block, pc: int) -> int:
        """Adds instructions of a block from `pc` on; returns where the next segment begins."""
        code, before = self.code, self.code.lines
        code.lines = []
        group = TracingGroup(code, self.layout)
        following = pc
        while following < block.stop and group.attempt(self.steps[following]):
            following += 1
            if group.writes_exec:
                break
        group.finish()
        lines, code.lines = code.lines, before
        if following == pc:
            if not (self.accesses[pc] and self._access(block, pc)):
                self._call(block, pc)
            return pc + 1
        if lines:
            self._use(group)
            self._check_defined(group, block, pc)
            self._over_waves(lines, group.addresses)
            if group.writes_exec:
                self._set(Field.EXEC_CHANGED, 1)
        return following

    def _use(self, group: TracingGroup) -> None:
        layout = self.layout
        self.uses_s |= group.used_s - layout.tracked_s
        self.uses_v |= group.used_v - layout.tracked_v
        self.written_v |= group.written_v

    def _over_waves(self, lines: list[str | LaneLoop], addresses: Mapping[str, str]) -> None:
        """Adds a loop over the waves of the group with the code of one.

        Args:
            addresses: what the code calls the addresses of the wave's registers.
        """
        code = self.code
        before, head, last, behind = map(code.label, ("waves", "wave", "last", "behind"))
        following, more = code.name(), code.name()
        wave, row = addresses["wave"], addresses["row"]
        code.place(before)
        code.line(f"br label %{head}")
        code.start(head)
        code.line(f"{wave} = phi i64 [0, %{before}], [{following}, %{last}]")
        place = code.emit(f"getelementptr i64, ptr %rows, i64 {wave}")
        code.line(f"{row} = load i64, ptr {place}, align 8")
        self._addresses(row, addresses)
        code.lines += lines
        code.place(last)
        code.line(f"{following} = add i64 {wave}, 1")
        code.line(f"{more} = icmp ult i64 {following}, %count")
        code.line(f"br i1 {more}, label %{head}, label %{behind}")
        code.start(behind)

    def _addresses(self, row: str, names: Mapping[str, str]) -> None:
        code, lanes = self.code, self.layout.lanes
        sizes = {"vgpr": 4 * lanes, "v_bits": 4 * lanes, "sgpr": 4, "s_bits": 4, "scc": 1}
        for file, size in sizes.items():
            name = names[file]
            offset = code.emit(f"mul i64 {row}, {size}")
            code.line(f"{name} = getelementptr i8, ptr %{file}, i64 {offset}")

    def _access(self, block: Block, pc: int) -> bool:
        """Adds an access to the LDS or to memory; returns whether it has code."""
        code, before, layout = self.code, self.code.lines, self.layout
        code.lines = []
        missing = code.alloca("i64")
        first = TracingGroup(code, layout, missing=missing)
        found = first.look(self.steps[pc])
        if found is None:
            code.lines = before
            return False
        site = Site(len(self.sites), pc, found.kind, found.width)
        if found.kind.in_lds:
            put_lds_key(first, found, site)
        else:
            put_memory_key(first, found, site, missing)
        first.finish()
        lines, code.lines = code.lines, []
        second = TracingGroup(code, layout, site)
        done = second.attempt(self.steps[pc])
        second.finish()
        access, code.lines = code.lines, before
        if not done:
            return False
        site.traffic = second.machine.traffic
        self.sites.append(site)
        self._use(first)
        self._use(second)
        self._check_defined(second, block, pc)
        code.line(f"store i64 0, ptr {missing}, align 8")
        self._over_waves(lines, first.addresses)
        self._look_up(block, site, missing)
        self._over_waves(access, second.addresses)
        code.place(f"done{pc}_{block.start}")
        return True

    def _look_up(self, block: Block, site: Site, missing: str) -> None:
        """Goes on where the pattern of a site is known, and else behind it after a step."""
        code, pc = self.code, site.pc
        known, unknown, try_ = map(code.label, ("known", "unknown", "try"))
        some = code.emit(f"load i64, ptr {missing}, align 8")
        code.line(f"br i1 {code.emit(f'icmp ne i64 {some}, 0')}, label %{unknown}, label %{try_}")
        code.start(try_)
        number = ""
        if site.kind is Kind.SCALAR_LOAD:
            code.line(f"br label %{known}")
        else:
            place = f"inttoptr (i64 {site.fields.ctypes.data} to ptr)"
            number = code.emit(f"call i64 @find(ptr {place})")
            none = code.emit(f"icmp slt i64 {number}, 0")
            code.line(f"br i1 {none}, label %{unknown}, label %{known}")
        code.start(unknown)
        self._call(block, pc)
        code.line(f"br label %done{pc}_{block.start}")
        code.start(known)
        if site.kind is Kind.SCALAR_LOAD:
            return
        hits = code.emit(f"inttoptr i64 {site_field(code, site, SiteField.HITS)} to ptr")
        hit = code.emit(f"getelementptr i64, ptr {hits}, i64 {number}")
        old = code.emit(f"load i64, ptr {hit}, align 8")
        code.line(f"store i64 {code.emit(f'add i64 {old}, 1')}, ptr {hit}, align 8")
        if site.kind.in_lds:
            self._note(site, number)

    def _note(self, site: Site, number: str) -> None:
        """Notes an access to the LDS, unless it has been since the last barrier."""
        code = self.code
        note, noted = code.label("note"), code.label("noted")
        flags = code.emit(f"inttoptr i64 {site_field(code, site, SiteField.NOTED)} to ptr")
        flag = code.emit(f"getelementptr i64, ptr {flags}, i64 {number}")
        old, epoch = code.emit(f"load i64, ptr {flag}, align 8"), self._get(Field.EPOCH)
        same = code.emit(f"icmp eq i64 {old}, {epoch}")
        code.line(f"br i1 {same}, label %{noted}, label %{note}")
        code.start(note)
        code.line(f"store i64 {epoch}, ptr {flag}, align 8")
        count = self._get(Field.NOTE_COUNT)
        entry = code.emit(f"getelementptr i64, ptr %notes, i64 {count}")
        what = code.emit(f"add i64 {number}, {site.number << 16}")
        code.line(f"store i64 {what}, ptr {entry}, align 8")
        self._set(Field.NOTE_COUNT, code.emit(f"add i64 {count}, 1"))
        code.line(f"br label %{noted}")
        code.start(noted)

    # -- what is not plain code ------------------------------------------------------------------

    def _call(self, block: Block, pc: int) -> None:
        """Calls an instruction as a step."""
        code = self.code
        self.calls.add(pc)
        before = code.emit(f"sub i64 {self._get(Field.STEPS)}, {block.start}")
        result = code.emit(f"call i64 %callback(i64 {pc}, i64 {before})")
        undone = code.emit(f"icmp eq i64 {result}, 1")
        self._leave_if(undone, block.start, pc, Exit.STEP, pc - block.start)
        done = code.emit(f"icmp eq i64 {result}, 2")
        self._leave_if(done, block.start, pc + 1, Exit.STEP, pc + 1 - block.start)

    def _check_defined(self, group: TracingGroup, block: Block, pc: int) -> None:
        """Leaves the region where a segment would read undefined bits."""
        if not group.reads_s and not group.reads_v:
            return
        code, layout = self.code, self.layout
        check = TracingGroup(code, layout)
        before, code.lines = code.lines, []
        missing = check.undefined(group.reads_s, group.reads_v)
        lines, code.lines = code.lines, before
        code.line(f"store i64 0, ptr {missing}, align 8")
        self._over_waves(lines, check.addresses)
        found = code.emit(f"load i64, ptr {missing}, align 8")
        some = code.emit(f"icmp ne i64 {found}, 0")
        self._leave_if(some, block.start, pc, Exit.UNDEFINED, pc - block.start)

    def _branch(self, number: int, block: Block, branch: Branch) -> None:
        """Adds the branch that ends a block."""
        code, length, pc = self.code, block.stop - block.start, block.stop
        steps = code.emit(f"add i64 {self._get(Field.STEPS)}, {length + 1}")
        looks = code.emit(f"icmp sgt i64 {steps}, {self._get(Field.NEXT_LOOK)}")
        self._leave_if(looks, block.start, pc, Exit.PLAIN, length)
        if branch.condition == BARRIER:
            result = code.emit(f"call i64 %callback(i64 {pc}, i64 {AT_BARRIER})")
            held = code.emit(f"icmp ne i64 {result}, 0")
            self._leave_if(held, block.start, pc, Exit.PLAIN, length)
            self._set(Field.ROUNDS, 0)
            self._follow(number, block, pc + 1)
            return
        self._branch_to(number, block, branch)

    def _branch_to(self, number: int, block: Block, branch: Branch) -> None:
        code, length, pc = self.code, block.stop - block.start, block.stop
        taken_to, not_taken = code.label("taken"), code.label("not_taken")
        if branch.condition == "branch":
            code.line(f"br label %{taken_to}")
        else:
            every, some = self._taken(block, branch.condition)
            mixed = code.emit(f"icmp ne i1 {every}, {some}")
            self._leave_if(mixed, block.start, pc, Exit.PLAIN, length)
            code.line(f"br i1 {every}, label %{taken_to}, label %{not_taken}")
            code.start(not_taken)
            self._follow(number, block, pc + 1)
        code.start(taken_to)
        if branch.target <= pc:
            if branch.target == pc:
                self._leave(block.start, pc, Exit.PLAIN, length)
                return
            if pc in self.polls:
                self._expect_unseen(block, self.polls.index(pc))
            rounds = code.emit(f"add i64 {self._get(Field.ROUNDS)}, 1")
            many = code.emit(f"icmp sge i64 {rounds}, {self._get(Field.MOST_ROUNDS)}")
            self._leave_if(many, block.start, pc, Exit.PLAIN, length)
            self._set(Field.ROUNDS, rounds)
        self._follow(number, block, branch.target)

    def _expect_unseen(self, block: Block, poll: int) -> None:
        """Leaves the region at a branch where the executor has to look whether the waves poll."""
        code, length = self.code, block.stop - block.start
        address = code.emit(f"getelementptr i64, ptr %polls, i64 {poll}")
        left = code.emit(f"load i64, ptr {address}, align 8")
        none = code.emit(f"icmp sle i64 {left}, 0")
        self._leave_if(none, block.start, block.stop, Exit.PLAIN, length)
        code.line(f"store i64 {code.emit(f'sub i64 {left}, 1')}, ptr {address}, align 8")

    def _follow(self, number: int, block: Block, following: int) -> None:
        """Goes on behind the branch of a block."""
        length = block.stop - block.start
        lowest = self._get(Field.LOWEST)
        behind = self.code.emit(f"icmp slt i64 {lowest}, {following}")
        self._leave_if(behind, block.start, block.stop, Exit.PLAIN, length)
        self._count(number, length + 1)
        self._go_on(following)

    def _taken(self, block: Block, condition: str) -> tuple[str, str]:
        """Returns whether all waves take a branch, and whether some do."""
        code, layout = self.code, self.layout
        every, some = code.alloca("i1"), code.alloca("i1")
        before, code.lines = code.lines, []
        group = TracingGroup(code, layout)
        found = _CONDITIONS[condition](group)
        group.finish()
        self._use(group)
        for slot, op in ((every, "and"), (some, "or")):
            old = code.emit(f"load i1, ptr {slot}, align 1")
            code.line(f"store i1 {code.emit(f'{op} i1 {old}, {found}')}, ptr {slot}, align 1")
        lines, code.lines = code.lines, before
        self._check_defined(group, block, block.stop)
        code.line(f"store i1 true, ptr {every}, align 1")
        code.line(f"store i1 false, ptr {some}, align 1")
        self._over_waves(lines, group.addresses)
        return tuple(code.emit(f"load i1, ptr {slot}, align 1") for slot in (every, some))  # type: ignore[return-value]


def _bits(register: int) -> Callable[[TracingGroup], str]:
    return lambda group: (group.lane_bits(register) == 0).use(lane=False)


def _not(condition: Callable[[TracingGroup], str]) -> Callable[[TracingGroup], str]:
    return lambda group: group.code.emit(f"xor i1 {condition(group)}, true")


_CONDITIONS: Mapping[str, Callable[[TracingGroup], str]] = {
    "scc1": lambda group: group.scc().use(lane=False),
    "scc0": _not(lambda group: group.scc().use(lane=False)),
    "vccz": _bits(VCC.index),
    "vccnz": _not(_bits(VCC.index)),
    "execz": _bits(EXEC.index),
    "execnz": _not(_bits(EXEC.index)),
}
