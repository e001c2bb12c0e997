# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A wave that runs steps to write down what they do (`traced.py`).

Its registers are looked up in memory once, and written back at the end of a *segment*, a run of
instructions that touch nothing but registers. So a segment is done wave by wave.

Registers of which all bits are known to be defined are *complete*. Of the others the code keeps the
defined bits as `WaveGroup` does, and a segment that reads one is not begun where some bits that
count are undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..floats import flush_denormals
from ..instruction_text import EXEC, NULL
from ..mode_register import FloatMode
from ..undefined import Undefined
from ..wave_state import SCC, WaveGroup
from .accesses import Found, TracedMachine, move_of
from .code import CHUNK, Code
from .sites import Site
from .traced import NotTraced, Traced, splat, traced, where

FILES = ("vgpr", "sgpr", "scc", "v_bits", "s_bits")
"""The arrays of a machine that code reads and writes."""
_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)
_BOOL = np.dtype(bool)


@dataclass(frozen=True)
class Layout:
    """Where the registers of a machine lie, as far as code depends on it.

    Attributes:
        lanes: the lanes of a wave.
        waves: the waves of the machine.
        accum_offset: where accumulation registers begin.
        mode: the float mode of the waves.
        tracked_s: the scalar registers that are not complete, with SCC.
        tracked_v: the vector registers that are not.
    """

    lanes: int
    waves: int
    accum_offset: int
    mode: FloatMode
    tracked_s: frozenset[int]
    tracked_v: frozenset[int]


@dataclass
class _File:
    """The registers of a file that a segment has looked up.

    Attributes:
        values: what they hold.
        bits: the defined bits of those that are tracked and were written.
        dirty: those that were written and are not in memory.
    """

    values: dict[int, Traced] = field(default_factory=dict[int, Traced])
    bits: dict[int, Traced] = field(default_factory=dict[int, Traced])
    dirty: set[int] = field(default_factory=set[int])

    def copy(self) -> _File:
        """Returns a copy, which changes on its own."""
        return _File(dict(self.values), dict(self.bits), set(self.dirty))


class TracingGroup(WaveGroup):
    """One wave of a group, whose registers are values in the code.

    Args:
        site: the instruction whose access is written; None where steps end at their accesses.
        missing: the address of a u64 that gets some bit where code must not go on; empty where it
            cannot do otherwise.

    Attributes:
        reads_s: the tracked scalar registers that must be defined where the segment begins.
        reads_v: the tracked vector registers that must be; true where in all lanes.
        used_s: the scalar registers, with SCC, that the segment reads or writes.
        used_v: the vector registers that it does.
        written_v: the vector registers that it writes.
        writes_exec: whether it has changed EXEC.
    """

    def __init__(
        self, code: Code, layout: Layout, site: Site | None = None, missing: str = ""
    ) -> None:
        self.code = code
        self.site = site
        self.missing = missing
        code.leave = self.leave_loop
        self.layout = layout
        self.lanes = layout.lanes
        self.count = 1
        self.all_waves = False
        self.mode = layout.mode
        self.machine: Any = TracedMachine(self, layout.accum_offset, looks=site is None)
        self.waves: Any = None
        self.pc = 0
        self.reads_s: set[int] = set()
        self.reads_v: dict[int, bool] = {}
        self.written_v: set[int] = set()
        self.used_s: set[int] = set()
        self.used_v: set[int] = set()
        self.writes_exec = False
        self.addresses = {name: code.name() for name in (*FILES, "wave", "row")}
        self._start: Traced | None = None
        self._move: Traced | None = None
        self._s = _File()
        self._v = _File()
        self._masks: dict[int, Traced] = {}
        # Halves of lane masks that a loop collects: where, and which half.
        self._collected: dict[int, tuple[str, int]] = {}

    # -- attempts --------------------------------------------------------------------------------

    def attempt(self, step: Callable[[WaveGroup], None]) -> bool:
        """Adds the code of a step; returns whether there is some, and changes nothing if not."""
        code, loop = self.code, self.code.loop
        lines = len(code.lines)
        rounds = (len(loop.body), len(loop.tail)) if loop else (0, 0)
        files = self._s.copy(), self._v.copy(), dict(self._masks), dict(self._collected)
        before = set(self.reads_s), dict(self.reads_v), self.writes_exec
        sets = set(self.written_v), set(self.used_s), set(self.used_v)
        try:
            with np.errstate(all="ignore"):
                step(self)
        except Exception:
            # Whatever a step cannot do with values, it does with arrays.
            del code.lines[lines:]
            code.loop = loop
            if loop:
                del loop.body[rounds[0] :], loop.tail[rounds[1] :]
            self._s, self._v, self._masks, self._collected = files
            self.reads_s, self.reads_v, self.writes_exec = before
            self.written_v, self.used_s, self.used_v = sets
            return False
        return True

    def look(self, step: Callable[[WaveGroup], None]) -> Found | None:
        """Adds the code of a step up to its access, which it returns; None if it comes to none."""
        found: Found | None = None

        def until_access(group: WaveGroup) -> None:
            nonlocal found
            try:
                step(group)
            except Found as access:
                found = access

        return found if self.attempt(until_access) else None

    # -- the wave --------------------------------------------------------------------------------

    @property
    def active(self) -> Traced:
        """Returns the lanes that EXEC enables, which are not all."""
        return _Active(self)

    @active.setter
    def active(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, value: Any
    ) -> None:
        raise NotTraced("EXEC by another way than its registers")

    def active_lanes(self) -> Traced:  # type: ignore[override]
        """Returns what `active` does."""
        return self.active

    def holds(self, condition: Any) -> bool:
        """Has code go on only where a condition holds in all active lanes; says that it does."""
        if self.site is not None:
            # The code in front of the access has looked.
            return True
        if not self.missing:
            raise NotTraced("a condition on which code cannot turn back")
        code = self.code
        fails: Any = ~traced(code, condition, _BOOL)
        if fails.lane:
            fails = np.logical_and(fails, self.exec_lanes())
            lanes = code.emit(f"bitcast <{CHUNK} x i1> {fails.use(True)} to i{CHUNK}", lane=True)
            bits = code.emit(f"zext i{CHUNK} {lanes} to i64", lane=True)
        else:
            bits = code.emit(f"zext i1 {fails.use(False)} to i64")
        self._collect(self.missing, bits, lane=fails.lane)
        return True

    def exec_bits(self) -> Traced:
        """Returns EXEC as a u64 of the wave."""
        return self._mask_bits(EXEC.index)

    def exec_lanes(self) -> Traced:
        """Returns EXEC in the open loop."""
        self.code.open_loop()
        found = self._masks.get(EXEC.index)
        if found is None or found.loop is not self.code.loop:
            found = self._masks[EXEC.index] = self._lanes_of(self.exec_bits())
        return found

    def lds_start(self) -> Traced:
        """Returns the address here of the LDS of the wave's workgroup."""
        if self._start is None:
            code = self.code
            workgroup = code.emit(f"udiv i64 {self.addresses['row']}, %per")
            offset = code.emit(f"mul i64 {workgroup}, %lds_stride")
            self._start = Traced(code, code.emit(f"add i64 %lds, {offset}"), _U64)
        return self._start

    def move(self) -> Traced:
        """Returns what is added to the wave's addresses in memory to find the bytes here."""
        if self._move is None:
            assert self.site is not None
            text = move_of(self.code, self.site, self.addresses["wave"])
            self._move = Traced(self.code, text, np.int64)
        return self._move

    def note_change(self, lanes: Any) -> None:
        """Notes whether a store has changed a byte in some of the lanes."""
        code = self.code
        slot = code.alloca("i64")
        code.line(f"store i64 0, ptr {slot}, align 8")
        short = code.emit(f"bitcast <{CHUNK} x i1> {lanes.use(True)} to i{CHUNK}", lane=True)
        self._collect(slot, code.emit(f"zext i{CHUNK} {short} to i64", lane=True), lane=True)
        self.leave_loop()
        found = code.emit(f"load i64, ptr {slot}, align 8")
        self._collect("%at_changed", found)

    def refresh_exec(self) -> None:
        """Has EXEC in its registers."""

    def _mask_bits(self, index: int) -> Traced:
        low = self.s(index).astype(_U64)
        return low | self.s(index + 1).astype(_U64) << np.uint64(32) if self.lanes == 64 else low

    def _lanes_of(self, bits: Traced) -> Traced:
        code = self.code
        loop = code.open_loop()
        shifted = code.emit(f"lshr i64 {bits.use(False)}, {loop.counter}", lane=True)
        short = code.emit(f"trunc i64 {shifted} to i{CHUNK}", lane=True)
        text = code.emit(f"bitcast i{CHUNK} {short} to <{CHUNK} x i1>", lane=True)
        return Traced(code, text, _BOOL, loop)

    # -- scalar registers ------------------------------------------------------------------------

    def s(self, index: int) -> Traced:  # type: ignore[override]
        """Returns a scalar register."""
        if index in self.layout.tracked_s and index not in self._s.bits:
            self._expect_begun()
            self.reads_s.add(index)
        return self._word(index)

    def _expect_begun(self) -> None:
        """Refuses a check of bits for which another EXEC counts than where the segment begins."""
        if self.writes_exec:
            raise NotTraced("a register that is tracked behind a new EXEC")

    def _word(self, index: int) -> Traced:
        self.used_s.add(index)
        found = self._s.values.get(index)
        if index in self._collected:
            slot, half = self._collected.pop(index)
            self.leave_loop()
            whole = self.code.emit(f"load i64, ptr {slot}, align 8")
            shifted = self.code.emit(f"lshr i64 {whole}, {32 * half}")
            text = self.code.emit(f"trunc i64 {shifted} to i32")
            found = self._s.values[index] = Traced(self.code, text, _U32)
        if found is None:
            address = self._s_address("sgpr", index)
            text = self.code.emit(f"load i32, ptr {address}, align 4")
            found = self._s.values[index] = Traced(self.code, text, _U32)
        return found

    def _s_address(self, file: str, index: int) -> str:
        offset = 4 * self.layout.waves * index
        return self.code.emit(f"getelementptr i8, ptr {self.addresses[file]}, i64 {offset}")

    def set_s(self, index: int, value: Any) -> None:  # type: ignore[override]
        """Writes a scalar register."""
        if isinstance(value, np.ndarray) and value.dtype == object:
            (value,) = value.ravel()
        word = traced(self.code, value, _U32)
        if word.lane:
            raise NotTraced("the values of lanes in a scalar register")
        if EXEC.index <= index < EXEC.index + EXEC.count:
            self.leave_loop()
            self.writes_exec = True
        self._forget_masks(index)
        self._collected.pop(index, None)
        self._s.values[index] = Traced(self.code, word.text, _U32)
        self._defined_s(index)

    def _defined_s(self, index: int) -> None:
        self._s.dirty.add(index)
        self.used_s.add(index)
        if index in self.layout.tracked_s:
            self._s.bits[index] = traced(self.code, np.uint32(0xFFFFFFFF))

    def _forget_masks(self, index: int) -> None:
        for first in (index, index - 1):
            self._masks.pop(first, None)

    def scc(self) -> Traced:  # type: ignore[override]
        """Returns the scalar condition code."""
        if SCC in self.layout.tracked_s and SCC not in self._s.bits:
            self.reads_s.add(SCC)
        self.used_s.add(SCC)
        found = self._s.values.get(SCC)
        if found is None:
            byte = self.code.emit(f"load i8, ptr {self.addresses['scc']}, align 1")
            text = self.code.emit(f"trunc i8 {byte} to i1")
            found = self._s.values[SCC] = Traced(self.code, text, _BOOL)
        return found

    def set_scc(self, value: Any) -> None:  # type: ignore[override]
        """Writes the scalar condition code."""
        found = traced(self.code, value, _BOOL)
        if found.lane:
            raise NotTraced("the values of lanes in SCC")
        self._s.values[SCC] = Traced(self.code, found.text, _BOOL)
        self._defined_s(SCC)

    def lane_mask(self, index: int) -> Traced:  # type: ignore[override]
        """Returns the lane mask from a scalar register on."""
        self.code.open_loop()
        found = self._masks.get(index)
        if found is not None and found.loop is self.code.loop:
            return found
        bits = self._mask_bits(index)
        found = self._masks[index] = self._lanes_of(bits)
        return found

    def lane_bits(self, index: int) -> Any:
        """Returns the lane mask from a scalar register on as a number."""
        return self.s64(index) if self.lanes == 64 else self.s(index)

    def set_lane_mask(self, index: int, mask: Any) -> None:  # type: ignore[override]
        """Writes a lane mask, in which inactive lanes give 0."""
        if index == NULL.index:
            return
        code = self.code
        found = traced(code, mask, _BOOL)
        loop = code.open_loop()
        within: Any = np.logical_and(found, self.exec_lanes())
        slot = code.alloca("i64")
        code.line(f"store i64 0, ptr {slot}, align 8")
        name = within.use(lane=True)
        short = code.emit(f"bitcast <{CHUNK} x i1> {name} to i{CHUNK}", lane=True)
        wide = code.emit(f"zext i{CHUNK} {short} to i64", lane=True)
        shifted = code.emit(f"shl i64 {wide}, {loop.counter}", lane=True)
        self._collect(slot, shifted, lane=True)
        writes_exec = EXEC.index - 1 <= index <= EXEC.index + 1
        for k in range(self.lanes // 32):
            self._forget_masks(index + k)
            self._collected[index + k] = slot, k
            self._defined_s(index + k)
        self._masks[index] = within
        if writes_exec:
            self.leave_loop()
            self.writes_exec = True

    # -- vector registers ------------------------------------------------------------------------

    def _v_address(self, file: str, index: int) -> str:
        layout, loop = self.layout, self.code.open_loop()
        base = 4 * layout.waves * layout.lanes * index
        first = self.code.emit(
            f"getelementptr i8, ptr {self.addresses[file]}, i64 {base}", lane=True
        )
        return self.code.emit(f"getelementptr i32, ptr {first}, i64 {loop.counter}", lane=True)

    def _load_v(self, file: str, index: int) -> Traced:
        address = self._v_address(file, index)
        text = self.code.emit(f"load <{CHUNK} x i32>, ptr {address}, align 4", lane=True)
        return Traced(self.code, text, _U32, self.code.loop)

    def _register(self, index: int) -> Traced:
        """Returns the words of a register, defined or not."""
        self.used_v.add(index)
        self.code.open_loop()
        found = self._v.values.get(index)
        if found is None:
            found = self._v.values[index] = self._load_v("vgpr", index)
        return found

    def _note_read(self, index: int, every_lane: bool) -> None:
        if index in self.layout.tracked_v and (every_lane or index not in self._v.bits):
            self._expect_begun()
            if every_lane and index in self.written_v:
                raise NotTraced("all lanes of a register that is tracked")
            if index not in self.written_v:
                self.reads_v[index] = self.reads_v.get(index, False) or every_lane

    def v(self, index: int, every_lane: bool = False) -> Traced:  # type: ignore[override]
        """Returns a vector register."""
        self._note_read(index, every_lane)
        return self._register(index).copy()

    def v_f32(self, index: int) -> Traced:  # type: ignore[override]
        """Returns a vector register as f32, without denormals if the mode flushes them."""
        values = self.v(index).view(np.float32)
        return flush_denormals(values) if self.mode.flush_f32 else values  # type: ignore[arg-type]

    def set_v(self, index: int, value: Any, lanes: Any = None) -> None:  # type: ignore[override]
        """Writes a vector register in the active lanes, or in `lanes` if given."""
        if lanes is not None and index in self.layout.tracked_v:
            raise NotTraced("some lanes of a register that is tracked")
        word = traced(self.code, value, _U32)
        mask = self.exec_lanes() if lanes is None else traced(self.code, lanes, _BOOL)
        self._write_v(index, where(mask, word, self._register(index)), mask)

    def _write_v(self, index: int, words: Traced, mask: Traced, half: int = 0xFFFFFFFF) -> None:
        if not words.lane:
            text = splat(self.code, words.text, _U32)
            words = Traced(self.code, text, _U32, self.code.loop)
        self._v.values[index] = words
        self._v.dirty.add(index)
        self.written_v.add(index)
        if index in self.layout.tracked_v:
            bits = self._v.bits.get(index)
            if bits is None or bits.loop is not self.code.loop:
                bits = self._load_v("v_bits", index)
            known = where(mask, np.uint32(half), np.uint32(0))
            self._v.bits[index] = bits | known

    def set_half(self, index: int, value: Any, shift: int, lanes: Any = None) -> None:  # type: ignore[override]
        """Writes 16 bits of a vector register; the other half stays as it is, defined or not."""
        half = np.uint32(0xFFFF << shift)
        old = self._register(index)
        words = old & ~half | traced(self.code, value, _U32) << np.uint32(shift) & half
        mask = self.exec_lanes() if lanes is None else traced(self.code, lanes, _BOOL)
        if index in self.layout.tracked_v:
            raise NotTraced("half of a register that is tracked")
        self._write_v(index, where(mask, words, old), mask, int(half))

    def set_f32(self, index: int, values: Any) -> None:
        """Writes f32 values."""
        self.set_v(index, values.view(_U32))

    def v_moved(
        self, index: int, moved: Callable[[Any], Any], used: Callable[[WaveGroup], Any]
    ) -> Any:
        """Returns a vector register after `moved` has moved words between lanes."""
        self._note_read(index, every_lane=True)
        return moved(self._register(index).copy())

    def v_of_lane(self, index: int, lanes: Any) -> Any:
        """Returns a vector register of one lane."""
        self._note_read(index, every_lane=True)
        self.used_v.add(index)
        self.leave_loop()
        code, layout = self.code, self.layout
        lane = traced(code, lanes, _U64).use(lane=False)
        base = 4 * layout.waves * layout.lanes * index
        first = code.emit(f"getelementptr i8, ptr {self.addresses['vgpr']}, i64 {base}")
        address = code.emit(f"getelementptr i32, ptr {first}, i64 {lane}")
        return Traced(code, code.emit(f"load i32, ptr {address}, align 4"), _U32)

    def block(self, index: int, count: int, every_lane: bool = False) -> Any:
        """Returns vector registers as an array of values."""
        found = np.empty(count, object)
        for k in range(count):
            found[k] = self.v(index + k, every_lane)
        return found

    def set_block(self, index: int, values: Any, lanes: Any = None) -> None:
        """Writes vector registers."""
        for k, value in enumerate(values):
            self.set_v(index + k, value, lanes)

    def block_or_undefined(self, index: int, count: int) -> tuple[Any, Undefined | None]:
        """Returns what `block` does; nothing is undefined."""
        return self.block(index, count), None

    def set_block_or_undefined(self, index: int, words: Any, undefined: Undefined | None) -> None:
        """Writes vector registers, whose bits are defined."""
        self.set_block(index, words)

    def set_s_or_undefined(self, index: int, value: Any, undefined: Undefined | None) -> None:
        """Writes a scalar register, whose bits are defined."""
        self.set_s(index, value)

    # -- ends ------------------------------------------------------------------------------------

    def leave_loop(self) -> None:
        """Ends the open loop, behind which the registers are in memory."""
        code, loop = self.code, self.code.loop
        if loop is None:
            return
        for index in sorted(self._v.dirty):
            for file, values in (("vgpr", self._v.values), ("v_bits", self._v.bits)):
                value = values.get(index)
                if value is not None and value.loop is loop:
                    address = self._v_address(file, index)
                    text = value.use(lane=True)
                    code.line(f"store <{CHUNK} x i32> {text}, ptr {address}, align 4", lane=True)
        self._v.dirty.clear()
        self._v.values.clear()
        self._masks.clear()
        code.close_loop()

    def finish(self) -> None:
        """Ends the segment, behind which all registers are in memory."""
        self.leave_loop()
        code = self.code
        for index in sorted(self._s.dirty):
            value = self._s.values[SCC] if index == SCC else self._word(index)
            if index == SCC:
                byte = code.emit(f"zext i1 {value.use(False)} to i8")
                code.line(f"store i8 {byte}, ptr {self.addresses['scc']}, align 1")
            else:
                address = self._s_address("sgpr", index)
                code.line(f"store i32 {value.use(False)}, ptr {address}, align 4")
            if index in self.layout.tracked_s:
                address = self._s_address("s_bits", index)
                code.line(f"store i32 -1, ptr {address}, align 4")

    def undefined(self, scalars: Iterable[int], vectors: Mapping[int, bool]) -> str:
        """Adds a look for undefined bits; returns the address of a u64 that gets some bit then.

        Args:
            scalars: scalar registers.
            vectors: vector registers; true where the bits of inactive lanes count too.
        """
        code = self.code
        slot = code.alloca("i64")
        for index in sorted(scalars):
            word = code.emit(f"load i32, ptr {self._s_address('s_bits', index)}, align 4")
            missing = code.emit(f"xor i32 {word}, -1")
            self._collect(slot, code.emit(f"zext i32 {missing} to i64"))
        for index, every_lane in sorted(vectors.items()):
            bits = self._load_v("v_bits", index)
            some: Any = bits != np.uint32(0xFFFFFFFF)
            if not every_lane:
                some = np.logical_and(some, self.exec_lanes())
            lanes = code.emit(f"bitcast <{CHUNK} x i1> {some.use(True)} to i{CHUNK}", lane=True)
            self._collect(slot, code.emit(f"zext i{CHUNK} {lanes} to i64", lane=True), lane=True)
        self.finish()
        return slot

    def _collect(self, slot: str, bits: str, lane: bool = False) -> None:
        code = self.code
        old = code.emit(f"load i64, ptr {slot}, align 8", lane)
        new = code.emit(f"or i64 {old}, {bits}", lane)
        code.line(f"store i64 {new}, ptr {slot}, align 8", lane)


class _Active(Traced):
    """The lanes that EXEC enables, as a condition of each lane that is not computed before its use.

    Attributes:
        group: the wave.
    """

    is_exec = True

    def __init__(self, group: TracingGroup) -> None:
        found = group.exec_lanes()
        super().__init__(found.code, found.text, found.dtype, found.loop)
        self.group = group

    def argmax(self, axis: int) -> Traced:
        """Returns the lowest active lane; 0 if none is."""
        code, bits = self.code, self.group.exec_bits().use(False)
        name = "@llvm.cttz.i64"
        code.constants.setdefault(name, "i64 (i64, i1)")
        lowest = code.emit(f"call i64 {name}(i64 {bits}, i1 false)")
        return Traced(code, code.emit(f"and i64 {lowest}, 63"), np.int64)
