# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The code of loads and stores, and what stands for the LDS and memory while a step is traced.

An access is written in two parts. The first one puts together which bytes all waves access, so that
the pattern can be looked up (`sites.py`) and the bytes are known to be in one buffer. Nothing has
happened then, and an unknown pattern runs as a step. The second one is the step itself.
"""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

import numpy as np
import numpy.typing as npt

from .code import CHUNK, Code
from .sites import Kind, Site, SiteField
from .traced import NotTraced, Traced, traced

_I64, _U64, _U32 = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.uint32)
Words = npt.NDArray[np.object_]


class Found(Exception):
    """A step has come to its access: its kind, its width, the addresses, and whether it is traced.

    Attributes:
        addresses: of each lane, or of the wave.
    """

    def __init__(self, kind: Kind, width: int, addresses: Traced) -> None:
        super().__init__(kind)
        self.kind = kind
        self.width = width
        self.addresses = addresses


class _Nothing:
    """Counters that count nothing."""

    def __getattr__(self, name: str) -> _Nothing:
        return self

    def __getitem__(self, key: object) -> int:
        return 0

    def __setitem__(self, key: object, value: object) -> None:
        pass


class _Cycles:
    conflicts = all = floor = 0


class _Access:
    """The access of a traced wave to the LDS."""

    active = None
    cycles = _Cycles()
    wave_cycles = None

    def __init__(self, base: Traced, offsets: tuple[int, ...], width: int) -> None:
        self.base = base
        self.offsets = offsets
        self.width = width


class TracedLds:
    """The LDS as a traced step sees it.

    Args:
        group: the wave.
        looks: whether only the addresses are wanted.
    """

    def __init__(self, group: Any, looks: bool) -> None:
        self.group = group
        self.looks = looks
        self.base: Traced | None = None

    def access(
        self,
        pc: int,
        waves: Any,
        base: Traced,
        offsets: tuple[int, ...],
        width: int,
        active: Any,
        *,
        loads: bool,
    ) -> _Access:
        """Returns an access."""
        return _Access(traced(self.group.code, base, _U32), offsets, width)

    def load(self, access: _Access, never_written: Any) -> tuple[Words, None]:
        """Returns words [words, parts] of the wave."""
        if self.looks:
            raise Found(Kind.LDS_LOAD, access.width, access.base)
        words = np.empty((-(-access.width // 4), len(access.offsets)), object)
        for part, offset in enumerate(access.offsets):
            places = self._places(access, offset)
            for k in range(len(words)):
                words[k, part] = load_word(self.group, places, k, access.width)
        return words, None

    def store(self, access: _Access, words: Words, undefined: Any = None) -> None:
        """Stores words [words, parts], or [words] where there is one part."""
        if self.looks:
            raise Found(Kind.LDS_STORE, access.width, access.base)
        values = words.reshape(len(words), -1)
        for part, offset in enumerate(access.offsets):
            places = self._places(access, offset)
            for k in range(len(values)):
                store_word(self.group, places, k, access.width, values[k, part])

    def _places(self, access: _Access, offset: int) -> Any:
        local: Any = (access.base + np.uint32(offset)).astype(_U64)
        return local + self.group.lds_start()


class TracedMemory:
    """Memory as a traced step sees it; the arguments are those of `TracedLds`."""

    def __init__(self, group: Any, looks: bool) -> None:
        self.group = group
        self.looks = looks

    def load(self, addresses: Any, width: int, active: Any, waves: Any) -> Words:
        """Returns words [words] of the wave's lanes, or [words, 1, 1] of the wave."""
        code = self.group.code
        found = traced(code, addresses, _I64)
        # A scalar load has no lanes that take part.
        if active is not None and not _by_exec(active):
            raise NotTraced("a load of other lanes than the active ones")
        if self.looks:
            raise Found(Kind.SCALAR_LOAD if active is None else Kind.LOAD, width, found)
        count = -(-width // 4)
        if active is None:
            return _scalar_words(self.group, found, width, count)
        words = np.empty(count, object)
        places = self._places(found)
        for k in range(count):
            words[k] = load_word(self.group, places, k, width)
        return words

    def undefined(self, *place: Any) -> None:
        """Returns None: the code runs only where all of memory is defined."""

    def store(
        self, addresses: Any, words: Words, width: int, active: Any, waves: Any,
        undefined: Any = None,
    ) -> None:  # fmt: skip
        """Stores words [words] of the wave's lanes."""
        if not _by_exec(active):
            raise NotTraced("a store of other lanes than the active ones")
        found = traced(self.group.code, addresses, _I64)
        if self.looks:
            raise Found(Kind.STORE, width, found)
        places, count = self._places(found), len(words)
        before = [load_word(self.group, places, k, width) for k in range(count)]
        for k in range(count):
            store_word(self.group, places, k, width, words[k])
        # Somebody may want to know whether the store has changed a byte.
        self.group.leave_loop()
        after = [load_word(self.group, places, k, width) for k in range(count)]
        changed: Any = before[0] != after[0]
        for old, new in zip(before[1:], after[1:], strict=True):
            changed = changed | (old != new)
        self.group.note_change(np.logical_and(changed, self.group.exec_lanes()))

    def _places(self, addresses: Any) -> Any:
        return addresses + self.group.move()


def _by_exec(active: Any) -> bool:
    """Returns whether the lanes that take part are those that EXEC enables."""
    return isinstance(active, Traced) and active.is_exec


def _scalar_words(group: Any, address: Traced, width: int, count: int) -> Words:
    code = group.code
    words = np.empty((count, 1, 1), object)
    place = (address + group.move()).use(lane=False)
    kind = f"i{8 * min(width, 4)}"
    for k in range(count):
        at = code.emit(f"inttoptr i64 {code.emit(f'add i64 {place}, {4 * k}')} to ptr")
        text = code.emit(f"load {kind}, ptr {at}, align 1")
        words[k, 0, 0] = traced(code, Traced(code, text, f"u{min(width, 4)}"), _U32)
    return words


def _pointers(code: Code, places: Any, k: int) -> str:
    moved = places.use(lane=True)
    if k:
        steps = ", ".join([f"i64 {4 * k}"] * CHUNK)
        moved = code.emit(f"add <{CHUNK} x i64> {moved}, <{steps}>", lane=True)
    return code.emit(f"inttoptr <{CHUNK} x i64> {moved} to <{CHUNK} x ptr>", lane=True)


def load_word(group: Any, places: Any, k: int, width: int) -> Traced:
    """Returns word `k` of the bytes at each active lane's place, and zeros in the others."""
    code, size = group.code, min(width, 4)
    vector, mask = f"<{CHUNK} x i{8 * size}>", f"<{CHUNK} x i1>"
    name = f"@llvm.masked.gather.v{CHUNK}i{8 * size}.v{CHUNK}p0"
    code.constants.setdefault(name, f"{vector} (<{CHUNK} x ptr>, i32, {mask}, {vector})")
    active = group.exec_lanes().use(lane=True)
    text = code.emit(
        f"call {vector} {name}(<{CHUNK} x ptr> {_pointers(code, places, k)}, i32 1, "
        f"{mask} {active}, {vector} zeroinitializer)",
        lane=True,
    )
    return traced(code, Traced(code, text, f"u{size}", code.loop), _U32)


def store_word(group: Any, places: Any, k: int, width: int, value: Any) -> None:
    """Stores word `k` of the active lanes, in the order of lanes."""
    code, size = group.code, min(width, 4)
    vector, mask = f"<{CHUNK} x i{8 * size}>", f"<{CHUNK} x i1>"
    name = f"@llvm.masked.scatter.v{CHUNK}i{8 * size}.v{CHUNK}p0"
    code.constants.setdefault(name, f"void ({vector}, <{CHUNK} x ptr>, i32, {mask})")
    active = group.exec_lanes().use(lane=True)
    words = traced(code, value, _U32).astype(f"u{size}").use(lane=True)
    code.line(
        f"call void {name}({vector} {words}, <{CHUNK} x ptr> {_pointers(code, places, k)}, i32 1, "
        f"{mask} {active})",
        lane=True,
    )


class TracedMachine:
    """All that a step may ask the machine of a traced wave for.

    Args:
        group: the wave.
        accum_offset: where accumulation registers lie.
        looks: whether only the addresses of its access are wanted.
    """

    recorder = None
    workgroup_counters = _Nothing()

    def __init__(self, group: Any, accum_offset: int, looks: bool = False) -> None:
        self.accum_offset = accum_offset
        self.lds = TracedLds(group, looks)
        self.memory = TracedMemory(group, looks)
        self.traffic: Any = None

    def vector_index(self, register: Any) -> int:
        """Returns where a vector or accumulation register lies in `Machine.vgpr`."""
        return register.index + (self.accum_offset if register.file == "a" else 0)

    def count_traffic(self, traffic: Any, group: Any, target: Any, width: int) -> None:
        """Notes who counts the accesses to memory."""
        self.traffic = traffic


# -- which bytes are accessed --------------------------------------------------------------------


def site_field(code: Code, site: Site, place: SiteField) -> str:
    """Returns a number of a site."""
    address = site.fields.ctypes.data + 8 * place
    return code.emit(f"load i64, ptr inttoptr (i64 {address} to ptr), align 8")


def _at(code: Code, site: Site, place: SiteField, index: str, size: int) -> str:
    """Returns the address of an element of an array of a site."""
    offset = code.emit(f"mul i64 {index}, {size}")
    address = code.emit(f"add i64 {site_field(code, site, place)}, {offset}")
    return code.emit(f"inttoptr i64 {address} to ptr")


def put_lds_key(group: Any, found: Found, site: Site) -> None:
    """Puts the pattern of a wave's access to the LDS together: addresses and EXEC."""
    code, wave = group.code, group.addresses["wave"]
    lanes = code.lanes
    row = _at(code, site, SiteField.KEY, wave, 4 * lanes)
    masked = np.where(group.exec_lanes(), found.addresses, np.uint32(0))
    _store_lanes(code, row, "i32", masked)
    group.leave_loop()
    ends = code.emit(f"mul i64 %count, {4 * lanes}")
    start = code.emit(f"add i64 {site_field(code, site, SiteField.KEY)}, {ends}")
    mask = code.emit(f"add i64 {start}, {code.emit(f'mul i64 {wave}, 8')}")
    address = code.emit(f"inttoptr i64 {mask} to ptr")
    code.line(f"store i64 {group.exec_bits().use(False)}, ptr {address}, align 1")


def _store_lanes(code: Code, row: str, kind: str, value: Any) -> None:
    loop = code.open_loop()
    text = value.use(lane=True)
    address = code.emit(f"getelementptr {kind}, ptr {row}, i64 {loop.counter}", lane=True)
    code.line(f"store <{CHUNK} x {kind}> {text}, ptr {address}, align 1", lane=True)


_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def put_memory_key(group: Any, found: Found, site: Site, missing: str) -> None:
    """Puts the pattern of a wave's access to memory together, and finds the buffer.

    Args:
        missing: the address of an i64 that becomes 1 where there is no such buffer.
    """
    code, wave = group.code, group.addresses["wave"]
    if found.kind is Kind.SCALAR_LOAD:
        address = found.addresses.use(lane=False)
        _find_buffer(code, site, wave, address, address, missing)
        return
    active = group.exec_lanes()
    low = _extreme(code, "smin", np.where(active, found.addresses, np.int64(_MOST)), _MOST)
    high = _extreme(code, "smax", np.where(active, found.addresses, np.int64(_LEAST)), _LEAST)
    group.leave_loop()
    lowest, highest = _reduced(code, "smin", low), _reduced(code, "smax", high)
    none = code.emit(f"icmp eq i64 {group.exec_bits().use(False)}, 0")
    # A wave without active lanes accesses nothing, and where it does so does not matter.
    first = code.emit("load i64, ptr %buffers, align 8")
    lowest = code.emit(f"select i1 {none}, i64 {first}, i64 {lowest}")
    last = code.emit(f"sub i64 {first}, {found.width}")
    highest = code.emit(f"select i1 {none}, i64 {last}, i64 {highest}")
    _find_buffer(code, site, wave, lowest, highest, missing)
    block = Traced(code, code.emit(f"and i64 {lowest}, -64"), np.int64)
    row = _at(code, site, SiteField.KEY, wave, 8 * code.lanes)
    relative = np.where(group.exec_lanes(), found.addresses - block, np.int64(-1))
    _store_lanes(code, row, "i64", relative)


def _extreme(code: Code, name: str, values: Any, start: int) -> str:
    """Collects the least or largest of all lanes' i64; returns where, as a vector."""
    kind = f"<{CHUNK} x i64>"
    slot = code.alloca(kind)
    numbers = ", ".join([f"i64 {start}"] * CHUNK)
    code.line(f"store {kind} <{numbers}>, ptr {slot}, align 8")
    code.constants.setdefault(f"@llvm.{name}.v{CHUNK}i64", f"{kind} ({kind}, {kind})")
    old = code.emit(f"load {kind}, ptr {slot}, align 8", lane=True)
    text = f"call {kind} @llvm.{name}.v{CHUNK}i64({kind} {old}, {kind} {values.use(lane=True)})"
    code.line(f"store {kind} {code.emit(text, lane=True)}, ptr {slot}, align 8", lane=True)
    return slot


def _reduced(code: Code, name: str, slot: str) -> str:
    kind = f"<{CHUNK} x i64>"
    function = f"@llvm.vector.reduce.{name}.v{CHUNK}i64"
    code.constants.setdefault(function, f"i64 ({kind})")
    values = code.emit(f"load {kind}, ptr {slot}, align 8")
    return code.emit(f"call i64 {function}({kind} {values})")


def _find_buffer(
    code: Code, site: Site, wave: str, lowest: str, highest: str, missing: str
) -> None:
    """Finds the buffer that holds a wave's bytes, and notes how far it is from there to here."""
    stores = int(site.kind is Kind.STORE)
    end = code.emit(f"add i64 {highest}, {site.width}")
    slot = code.alloca("i64")
    found = code.emit(
        f"call i64 @buffer(ptr %buffers, i64 %buffer_count, i64 {lowest}, i64 {end}, "
        f"i64 {stores}, ptr {slot})"
    )
    old = code.emit(f"load i64, ptr {missing}, align 8")
    code.line(f"store i64 {code.emit(f'or i64 {old}, {found}')}, ptr {missing}, align 8")
    move = code.emit(f"load i64, ptr {slot}, align 8")
    code.line(f"store i64 {move}, ptr {_at(code, site, SiteField.MOVES, wave, 8)}, align 8")


def move_of(code: Code, site: Site, wave: str) -> str:
    """Returns what is added to a wave's addresses to find the bytes here."""
    return code.emit(f"load i64, ptr {_at(code, site, SiteField.MOVES, wave, 8)}, align 8")


class BufferField(IntEnum):
    """The numbers of a buffer that code knows, by their places."""

    START = 0
    END = auto()
    MOVE = auto()
    READ_ONLY = auto()
    STORED = auto()
    """Whether code has stored to it."""


FUNCTIONS = f"""
declare i32 @memcmp(ptr, ptr, i64)

define internal i64 @find(ptr %site) {{
begin:
  %key = load ptr, ptr %site, align 8
  %at_size = getelementptr i64, ptr %site, i64 {int(SiteField.SIZE)}
  %size = load i64, ptr %at_size, align 8
  %at_known = getelementptr i64, ptr %site, i64 {int(SiteField.PATTERNS)}
  %known = load ptr, ptr %at_known, align 8
  %at_count = getelementptr i64, ptr %site, i64 {int(SiteField.COUNT)}
  %count = load i64, ptr %at_count, align 8
  %at_last = getelementptr i64, ptr %site, i64 {int(SiteField.LAST)}
  %last = load i64, ptr %at_last, align 8
  %none = icmp eq i64 %count, 0
  br i1 %none, label %unknown, label %try
try:
  %next = phi i64 [0, %begin], [%following, %other]
  %sum = add i64 %last, %next
  %number = urem i64 %sum, %count
  %offset = mul i64 %number, %size
  %place = getelementptr i8, ptr %known, i64 %offset
  %order = call i32 @memcmp(ptr %place, ptr %key, i64 %size)
  %equal = icmp eq i32 %order, 0
  br i1 %equal, label %found, label %other
other:
  %following = add i64 %next, 1
  %more = icmp ult i64 %following, %count
  br i1 %more, label %try, label %unknown
found:
  store i64 %number, ptr %at_last, align 8
  ret i64 %number
unknown:
  ret i64 -1
}}

define internal i64 @buffer(ptr %buffers, i64 %count, i64 %low, i64 %end, i64 %stores, ptr %to) {{
begin:
  store i64 0, ptr %to, align 8
  br label %try
try:
  %number = phi i64 [0, %begin], [%following, %other]
  %some = icmp ult i64 %number, %count
  br i1 %some, label %look, label %missing
look:
  %index = mul i64 %number, {len(BufferField)}
  %buffer = getelementptr i64, ptr %buffers, i64 %index
  %start = load i64, ptr %buffer, align 8
  %at_end = getelementptr i64, ptr %buffer, i64 {int(BufferField.END)}
  %last = load i64, ptr %at_end, align 8
  %behind = icmp sge i64 %low, %start
  %before = icmp sle i64 %end, %last
  %inside = and i1 %behind, %before
  br i1 %inside, label %found, label %other
other:
  %following = add i64 %number, 1
  br label %try
found:
  %at_move = getelementptr i64, ptr %buffer, i64 {int(BufferField.MOVE)}
  %move = load i64, ptr %at_move, align 8
  store i64 %move, ptr %to, align 8
  %at_kind = getelementptr i64, ptr %buffer, i64 {int(BufferField.READ_ONLY)}
  %read_only = load i64, ptr %at_kind, align 8
  %at_stored = getelementptr i64, ptr %buffer, i64 {int(BufferField.STORED)}
  %stored = load i64, ptr %at_stored, align 8
  %now = or i64 %stored, %stores
  store i64 %now, ptr %at_stored, align 8
  %refused = and i64 %read_only, %stores
  ret i64 %refused
missing:
  ret i64 1
}}
"""
"""Functions in LLVM's IR that look up a pattern of a site and the buffer of some bytes."""
