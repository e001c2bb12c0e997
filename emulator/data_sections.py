# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The data of an assembly file: constants and variables that a kernel addresses by a symbol.

        .section    .rodata.cst32,"aM",@progbits,32
        .p2align    6, 0x0
    .L__constant_8xf32:
        .long   0x3f800000
        .zero   28

All sections of a file that are loaded become one `DataImage`: regions of bytes, symbols as places,
and relocations, which are the places that hold the address of a symbol. A place is a number of
bytes behind the start of the image; what may be written, and code, have places of their own far
behind what may only be read. An image has no address until it is put into the emulated memory. The
directives are those that LLVM's assembly printer writes for initialized data ("Using as", chapter
"Assembler Directives", says what they mean).

Code has no bytes here, because the emulator does not encode it. The place of an instruction is
that of its line in the file, `CODE_STEP` bytes a line, so that an address to which a kernel jumps
says which instruction it means, and one that was computed from the sizes of instructions says none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from .directives import (
    ALIGNMENTS,
    ASSIGNMENTS,
    COMMONS,
    SECTIONS,
    STRINGS,
    WIDTHS,
    check_known,
    says_nothing_of_bytes,
    split_directive,
)
from .expressions import (
    QUOTED,
    DataError,
    Expression,
    Value,
    directive_arguments,
    string_bytes,
    symbols_of,
    unquoted,
)

CODE_STEP = 1 << 8
"""The bytes by which the places of two neighbouring lines of code differ."""
# The places where variables and code begin.
_VARIABLES = 1 << 29
_CODE_START = 1 << 30


def code_place(line: int) -> int:
    """Returns the place of the instruction at a line, or of the first one behind it."""
    return _CODE_START + CODE_STEP * line


@dataclass(frozen=True)
class DataRelocation:
    """The `width` bytes at the place `offset`, which hold the address of the place `target`."""

    offset: int
    width: int
    target: int


@dataclass(frozen=True)
class UnknownData:
    """The `width` bytes at the place `offset`, which nobody knows; `reason` says why."""

    offset: int
    width: int
    reason: str


@dataclass(frozen=True)
class Region:
    """Bytes of an image, from the place `start` on."""

    start: int
    contents: bytes
    writable: bool = False

    @property
    def end(self) -> int:
        """Returns the place behind the last byte."""
        return self.start + len(self.contents)


@dataclass(frozen=True)
class Variable:
    """A variable that kernels may store to: its place, and its bytes."""

    place: int
    size: int


@dataclass(frozen=True, eq=False)
class DataImage:
    """The data of one file.

    Attributes:
        regions: the bytes in the order of their places, with zeros where a relocation stands.
        symbols: the places of the symbols in data, and of those that code refers to.
        labels: the places of the symbols before code.
        relocations: the bytes that depend on the address of the image.
        table: for each symbol whose address is read from the global offset table, the place of its
            entry.
        unknown: bytes that depend on symbols which the file does not define.
        variables: what kernels may store to, by name.
        end: a place behind all else in the file, where that is known.
    """

    regions: tuple[Region, ...] = ()
    symbols: Mapping[str, int] = field(default_factory=dict)
    relocations: tuple[DataRelocation, ...] = ()
    table: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=dict)
    unknown: tuple[UnknownData, ...] = ()
    variables: Mapping[str, Variable] = field(default_factory=dict)
    end: int = 0

    @property
    def extent(self) -> int:
        """Returns the bytes of address space that the image takes, code among them."""
        named = (*self.symbols.values(), *(each.target for each in self.relocations))
        has_code = any(place >= _CODE_START for place in named)
        last = self.regions[-1] if self.regions else Region(0, b"")
        return max(self.end, 2 * _CODE_START if has_code else last.end)

    def at(self, base: int) -> list[bytes]:
        """Returns the bytes of each region as they are when the image starts at address `base`."""
        placed = [bytearray(region.contents) for region in self.regions]
        for relocation in self.relocations:
            for region, contents in zip(self.regions, placed, strict=True):
                start = relocation.offset - region.start
                if 0 <= start < len(contents):
                    address = _bytes(base + relocation.target, relocation.width)
                    contents[start : start + relocation.width] = address
        return [bytes(contents) for contents in placed]


NO_DATA = DataImage()

_LABEL = re.compile(rf"^({QUOTED}|[.\w$]+):\s*")
_SECTION = re.compile(rf"^({QUOTED}|[^\s,]+)(?:,\s*\"([^\"]*)\")?")
_COMMENT = re.compile(rf"({QUOTED})|;.*|//.*")
ASSIGNMENT = re.compile(rf"^({QUOTED}|[\w$][.\w$]*|\.[.\w$]+)\s*=(?!=)\s*(.*)")
"""Matches `symbol = expression`, which is short for `.set symbol, expression`."""


class _Kind(Enum):
    """What a section holds."""

    CODE = "code"
    READ_ONLY = "read-only data"
    WRITABLE = "variables"
    THREAD = "thread-local data"
    OTHER = "nothing that is loaded"


# How the names of sections begin whose kind needs no flags, with the longer names first.
_KINDS = {
    ".text": _Kind.CODE,
    ".rodata": _Kind.READ_ONLY,
    ".data.rel.ro": _Kind.READ_ONLY,
    ".data": _Kind.WRITABLE,
    ".bss": _Kind.WRITABLE,
    ".tdata": _Kind.THREAD,
    ".tbss": _Kind.THREAD,
}


def _kind(name: str, flags: str) -> _Kind:
    """Returns what a section holds, by its name, or else by its flags ("Using as", .section)."""
    for prefix, kind in _KINDS.items():
        if name == prefix or name.startswith(f"{prefix}."):
            return kind
    if "a" not in flags:
        return _Kind.OTHER
    if "x" in flags:
        return _Kind.CODE
    return _Kind.WRITABLE if "w" in flags else _Kind.READ_ONLY


# More than any kernel's data take.
_MOST_BYTES = 1 << 28
_KERNEL_DESCRIPTOR_BYTES = 64


def uncommented(line: str) -> str:
    """Returns a line without its comment and surrounding blanks; quoted text is kept as it is."""
    if ";" not in line and "//" not in line:
        return line.strip()
    return _COMMENT.sub(lambda match: match[1] or "", line).strip()


def reached_places(
    symbols: Iterable[int],
    relocations: Iterable[DataRelocation],
    places: Iterable[int],
    is_code: Callable[[int], bool],
) -> set[int]:
    """Returns the places of code that are reached from some places, by the addresses in data.

    Data from a symbol on to the next one belong to it.

    Args:
        symbols: the places of the symbols in data.
    """
    starts = sorted(set(symbols))
    targets: dict[int, list[int]] = {}
    for each in relocations:
        targets.setdefault(bisect_right(starts, each.offset), []).append(each.target)
    found: set[int] = set()
    seen: set[int] = set()
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        owner = bisect_right(starts, place)
        if is_code(place):
            found.add(place)
        elif owner not in seen:
            seen.add(owner)
            waiting += targets.get(owner, [])
    return found


class MissingSymbolError(DataError):
    """A symbol that the file does not define."""


class DataReader:
    """Collects the data of a file and the places of its symbols, line by line.

    Attributes:
        code_lines: the line of each symbol that stands before code.
    """

    def __init__(self) -> None:
        self.code_lines: dict[str, int] = {}
        self._regions = {_Kind.READ_ONLY: bytearray(), _Kind.WRITABLE: bytearray()}
        self._symbols: dict[str, int] = {}
        self._thread_local: set[str] = set()
        self._twice: set[str] = set()
        self._assigned: dict[str, str] = {}
        self._reassigned: set[str] = set()
        self._sizes: dict[str, tuple[str, int]] = {}
        self._referred: dict[str, int] = {}
        self._relocations: list[DataRelocation] = []
        self._unknown: list[UnknownData] = []
        self._table: dict[str, int] = {}
        self._section = ".text"
        self._kind = _Kind.CODE
        self._inside_kernel_block = False
        # Differences of symbols are known only when all symbols are: the place of a number, its
        # width, its text, and its line.
        self._open: list[tuple[int, int, str, int]] = []

    @property
    def in_data(self) -> bool:
        """Returns whether the current section holds data."""
        return self._kind in self._regions

    @property
    def _contents(self) -> bytearray:
        return self._regions[self._kind]

    @property
    def _here(self) -> int:
        """Returns the place of the next byte of data."""
        start = _VARIABLES if self._kind is _Kind.WRITABLE else 0
        return start + len(self._contents)

    def read_line(self, line: str, number: int) -> None:
        """Takes the next line, whose number counts from 1; DataError where it cannot be read."""
        code = uncommented(line)
        while match := _LABEL.match(code):
            self._define(unquoted(match[1]), number)
            code = code[match.end() :]
        if found := ASSIGNMENT.match(code):
            self._assign(found[1], found[2])
            return
        if not code.startswith("."):
            if code and self.in_data and not code.startswith("#"):
                raise DataError(f"'{code}' is no directive, in section '{self._section}'")
            return
        name, rest = split_directive(code)
        check_known(name)
        if name == ".section":
            self._enter(rest)
        elif name in SECTIONS:
            self._enter(name)
        elif name in ASSIGNMENTS:
            symbol, _, text = rest.partition(",")
            self._assign(symbol.strip(), text.strip())
        elif name in COMMONS:
            self._common(directive_arguments(rest), number)
        elif name == ".amdhsa_kernel":
            self._inside_kernel_block = True
        elif name == ".end_amdhsa_kernel":
            self._inside_kernel_block = False
            if self.in_data:
                self._contents.extend(bytes(_KERNEL_DESCRIPTOR_BYTES))
        elif name == ".size" and self.in_data:
            symbol, _, text = rest.partition(",")
            self._sizes[unquoted(symbol.strip())] = text.strip(), self._here
        elif self.in_data and not self._inside_kernel_block and not says_nothing_of_bytes(name):
            self._directive(name, rest, number)

    def check_label(self, label: str) -> None:
        """Refuses a label that is there twice."""
        if label in self._twice:
            raise DataError(f"the label '{label}' is there twice")

    def number(self, text: str) -> int:
        """Returns the number that an expression is; DataError if it is none."""
        return self._number(text)

    def value(self, text: str) -> Value:
        """Returns the number or place that an expression is; DataError if it is none."""
        return self._value(text)

    def finish(self) -> None:
        """Fills in what the symbols' places decide.

        Raises:
            DataError: an expression cannot be read; the message starts with the line's number and a
                colon.
        """
        for place, width, text, number in self._open:
            try:
                value = self._value(text, place)
            except MissingSymbolError as error:
                # Only who uses these bytes needs to know.
                self._unknown.append(UnknownData(place, width, f"{error} (line {number})"))
                continue
            except DataError as error:
                raise DataError(f"{number}: {error}") from None
            if value.in_image:
                self._relocations.append(DataRelocation(place, width, value.number))
            else:
                writable = place >= _VARIABLES
                start = place - _VARIABLES if writable else place
                kind = _Kind.WRITABLE if writable else _Kind.READ_ONLY
                self._regions[kind][start : start + width] = _bytes(value.number, width)

    def names_symbols(self, text: str) -> bool:
        """Returns whether a word of an instruction names a symbol of the file."""
        return any(
            name in self.code_lines or name in self._symbols or name in self._assigned
            for name in symbols_of(text)
        )

    def refer(self, symbol: str, *, by_table: bool) -> int:
        """Notes that code refers to `symbol`, directly or through the global offset table.

        Args:
            symbol: it may also be an expression of symbols.

        Returns:
            The place of the symbol.

        Raises:
            DataError: no section of the file defines it.
        """
        place = self._value(symbol)
        if not place.in_image:
            raise DataError(f"the symbol '{symbol}' is a number, not an address")
        self._referred[symbol] = place.number
        if by_table and symbol not in self._table:
            table = self._regions[_Kind.READ_ONLY]
            table.extend(bytes(-len(table) % 8))
            self._table[symbol] = len(table)
            self._relocations.append(DataRelocation(len(table), 8, place.number))
            table.extend(bytes(8))
        return place.number

    def image(self) -> DataImage:
        """Returns the image of all that was read."""
        read_only, variables = (bytes(self._regions[kind]) for kind in self._regions)
        regions = (Region(0, read_only), Region(_VARIABLES, variables, writable=True))
        return DataImage(
            tuple(region for region in regions if region.contents),
            MappingProxyType({**self._symbols, **self._referred}),
            tuple(self._relocations),
            MappingProxyType(self._table),
            MappingProxyType({name: code_place(at) for name, at in self.code_lines.items()}),
            tuple(self._unknown),
            MappingProxyType(self._variables()),
        )

    def reached_code(self, places: Iterable[int]) -> set[int]:
        """Returns the lines of the code whose address the data has that begin at `places`.

        Data from a symbol on to the next one belong to it. What is reached from there counts too.
        """
        starts = {*self._symbols.values(), *self._table.values()}
        code = reached_places(starts, self._relocations, places, lambda at: at >= _CODE_START)
        return {(place - _CODE_START) // CODE_STEP for place in code}

    def _variables(self) -> dict[str, Variable]:
        """Returns the symbols in sections that may be written, with their sizes.

        A symbol without `.size` goes on to the next one.
        """
        places = {name: at for name, at in self._symbols.items() if at >= _VARIABLES}
        ends = sorted({*places.values(), _VARIABLES + len(self._regions[_Kind.WRITABLE])})
        found: dict[str, Variable] = {}
        for name, place in places.items():
            behind = ends[bisect_right(ends, place) :]
            size = behind[0] - place if behind else 0
            text, here = self._sizes.get(name, ("", 0))
            if text:
                with suppress(DataError):
                    size = self._value(text, here).number
            if size > 0 and place + size <= ends[-1] and not name.startswith(".L"):
                found[name] = Variable(place, size)
        return found

    def _lookup(self, symbol: str) -> Value:
        """Returns what a symbol stands for: its place, or what `.set` says."""
        self.check_label(symbol)
        if symbol in self._symbols:
            return Value(self._symbols[symbol], in_image=True)
        if symbol in self.code_lines:
            return Value(code_place(self.code_lines[symbol]), in_image=True)
        if symbol in self._reassigned:
            raise DataError(f"the symbol '{symbol}' is set to several values")
        if symbol in self._assigned:
            return self._value(self._assigned[symbol])
        if symbol in self._thread_local:
            raise DataError(f"the symbol '{symbol}' is thread-local, which no GPU has")
        raise MissingSymbolError(f"the file defines no symbol '{symbol}'")

    def _assign(self, symbol: str, text: str) -> None:
        name = unquoted(symbol)
        if self._assigned.setdefault(name, text) != text:
            self._reassigned.add(name)

    def _define(self, symbol: str, line: int) -> None:
        if self._kind in (_Kind.OTHER, _Kind.THREAD):
            if self._kind is _Kind.THREAD:
                self._thread_local.add(symbol)
            return
        if symbol in self._symbols or symbol in self.code_lines:
            self._twice.add(symbol)
        if self._kind is _Kind.CODE:
            self.code_lines[symbol] = line
        else:
            self._symbols[symbol] = self._here

    def _common(self, words: list[str], number: int) -> None:
        """Takes `.comm symbol, bytes, alignment`: a variable of zeros."""
        if not 2 <= len(words) <= 3:
            raise DataError("it expects a symbol, its bytes, and perhaps an alignment")
        before = self._section, self._kind
        self._enter(".bss")
        self._aligned(".balign", [self._number(text) for text in words[2:]] or [1])
        self._define(unquoted(words[0]), number)
        self._sizes[unquoted(words[0])] = words[1], self._here
        self._directive(".zero", words[1], number)
        self._section, self._kind = before

    def _enter(self, text: str) -> None:
        match = _SECTION.match(text)
        if match is None:
            raise DataError(f"'.section {text}' names no section")
        self._section = unquoted(match[1])
        self._kind = _kind(self._section, match[2] or "")
        if self.in_data:
            # Sections of one name go on where they ended; here they only must not overlap.
            self._align(256)

    def _put(self, data: bytes) -> None:
        self._reserve(len(data))
        self._contents.extend(data)

    def _reserve(self, count: int) -> None:
        """Refuses more bytes than a file of kernels has."""
        if not 0 <= count <= _MOST_BYTES - len(self._contents):
            raise DataError(f"a file's data may have {_MOST_BYTES >> 20} MiB")

    def _align(self, bytes_: int, fill: bytes = b"\0") -> None:
        missing = -len(self._contents) % bytes_
        self._reserve(missing)
        self._put((fill * missing)[:missing])

    def _directive(self, name: str, rest: str, number: int) -> None:
        words = directive_arguments(rest)
        if name in WIDTHS:
            for text in words:
                self._open.append((self._here, WIDTHS[name], text, number))
                self._put(bytes(WIDTHS[name]))
        elif name in STRINGS:
            for text in words:
                self._put(string_bytes(text) + (b"" if name == ".ascii" else b"\0"))
        elif name in _REPEATS:
            data, count = _REPEATS[name]([self._number(text) for text in words])
            self._reserve(len(data) * count)
            self._put(data * count)
        elif name in ALIGNMENTS:
            self._aligned(name, [self._number(text) if text else None for text in words])
        else:
            raise DataError(f"the emulator does not know the data directive '{name}'")

    def _aligned(self, name: str, words: list[int | None]) -> None:
        """Aligns what follows, as `.p2align boundary, fill, most` says."""
        boundary, fill, most = [*words, None, None, None][:3]
        power = name.startswith(".p2")
        largest = _MOST_BYTES.bit_length() if power else _MOST_BYTES
        if boundary is None or not 0 <= boundary < largest or len(words) > 3:
            raise DataError(f"{name} has no boundary that the emulator knows")
        if power:
            boundary = 1 << boundary
        missing = -len(self._contents) % max(1, boundary)
        if most is None or missing <= most:
            self._align(max(1, boundary), _bytes(fill or 0, ALIGNMENTS[name]))

    def _number(self, text: str) -> int:
        value = self._value(text)
        if value.in_image:
            raise DataError(f"'{text}' is an address where a number is expected")
        return value.number

    def _value(self, text: str, here: int | None = None) -> Value:
        """Returns what an expression is, in which `.` is the place `here`."""

        def lookup(symbol: str) -> Value:
            if symbol == "." and here is not None:
                return Value(here, in_image=True)
            return self._lookup(symbol)

        return Expression(text, lookup).value()


def _zeros(words: list[int]) -> tuple[bytes, int]:
    """Returns the byte of `.zero count, value`, and the count."""
    if not 1 <= len(words) <= 2:
        raise DataError("it expects a count, and perhaps a value")
    count, value = [*words, 0][:2]
    return bytes([value & 0xFF]), count


def _fill(words: list[int]) -> tuple[bytes, int]:
    """Returns the bytes of `.fill repeat, size, value` that are repeated, and how often.

    Only 4 bytes of the value count, and the others are zeros.
    """
    if not 1 <= len(words) <= 3:
        raise DataError("it expects a count, and perhaps a size and a value")
    repeat, size, value = (words + [1, 0][len(words) - 1 :])[:3]
    if not 0 <= size <= 8:
        raise DataError(f".fill writes up to 8 bytes at a time, not {size}")
    return _bytes(value & 0xFFFFFFFF, 8)[:size], repeat


_REPEATS: Mapping[str, Callable[[list[int]], tuple[bytes, int]]] = {
    ".zero": _zeros,
    ".space": _zeros,
    ".skip": _zeros,
    ".fill": _fill,
}


def _bytes(value: int, width: int) -> bytes:
    return (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
