# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The read-only data of an assembly file: constants that a kernel addresses by a symbol.

        .section    .rodata.cst32,"aM",@progbits,32
        .p2align    6, 0x0
    .L__constant_8xf32:
        .long   0x3f800000
        .zero   28

All read-only sections of a file become one `DataImage`: bytes, symbols as offsets into them, and
relocations, which are the places that hold the address of a symbol. An image has no address until
it is put into the emulated memory. The directives are those that LLVM's assembly printer writes for
initialized data ("Using as", chapter "Assembler Directives", says what they mean).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .directives import (
    ALIGNMENTS,
    ASSIGNMENTS,
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
    unquoted,
)


@dataclass(frozen=True)
class DataRelocation:
    """The `width` bytes at `offset` of an image, which hold the address of its byte `target`."""

    offset: int
    width: int
    target: int


@dataclass(frozen=True, eq=False)
class DataImage:
    """The read-only data of one assembly file.

    Attributes:
        contents: the bytes, with zeros where a relocation stands.
        symbols: the places of the symbols as offsets into `contents`.
        relocations: the bytes that depend on the address of the image.
        table: for each symbol whose address is read from the global offset table, the offset of
            its entry.
    """

    contents: bytes = b""
    symbols: Mapping[str, int] = field(default_factory=dict)
    relocations: tuple[DataRelocation, ...] = ()
    table: Mapping[str, int] = field(default_factory=dict)

    def at(self, base: int) -> bytes:
        """Returns the bytes as they are when the image starts at address `base`."""
        placed = bytearray(self.contents)
        for relocation in self.relocations:
            end = relocation.offset + relocation.width
            placed[relocation.offset : end] = _bytes(base + relocation.target, relocation.width)
        return bytes(placed)


NO_DATA = DataImage()

_LABEL = re.compile(rf"^({QUOTED}|[.\w$]+):\s*")
_SECTION = re.compile(rf"^({QUOTED}|[^\s,]+)(?:,\s*\"([^\"]*)\")?")
_COMMENT = re.compile(rf"({QUOTED})|;.*|//.*")
ASSIGNMENT = re.compile(rf"^({QUOTED}|[\w$][.\w$]*|\.[.\w$]+)\s*=(?!=)\s*(.*)")
"""Matches `symbol = expression`, which is short for `.set symbol, expression`."""
_READ_ONLY = (".rodata", ".data.rel.ro")
_CODE = ".text"
# Sections that take part in a running program although a kernel may write them.
_WRITABLE = (".data", ".bss", ".tbss", ".tdata")

# More than any kernel's constants take.
_MOST_BYTES = 1 << 28
_KERNEL_DESCRIPTOR_BYTES = 64


def uncommented(line: str) -> str:
    """Returns a line without its comment and surrounding blanks; quoted text is kept as it is."""
    if ";" not in line and "//" not in line:
        return line.strip()
    return _COMMENT.sub(lambda match: match[1] or "", line).strip()


class DataReader:
    """Collects the read-only data of a file, line by line."""

    def __init__(self) -> None:
        self._contents = bytearray()
        self._symbols: dict[str, int] = {}
        self._elsewhere: dict[str, str] = {}
        self._assigned: dict[str, str] = {}
        self._relocations: list[DataRelocation] = []
        self._table: dict[str, int] = {}
        self._section = ".text"
        self._inside_kernel_block = False
        # Differences of symbols are known only when all symbols are.
        self._open: list[tuple[int, int, str, int]] = []

    @property
    def in_data(self) -> bool:
        """Returns whether the current section holds read-only data."""
        return self._section.startswith(_READ_ONLY)

    def read_line(self, line: str, number: int) -> None:
        """Takes the next line, whose number counts from 1; DataError where it cannot be read."""
        code = uncommented(line)
        while match := _LABEL.match(code):
            self._define(unquoted(match[1]))
            code = code[match.end() :]
        if found := ASSIGNMENT.match(code):
            self._assigned[unquoted(found[1])] = found[2]
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
            self._assigned[unquoted(symbol.strip())] = text.strip()
        elif name == ".amdhsa_kernel":
            self._inside_kernel_block = True
        elif name == ".end_amdhsa_kernel":
            self._inside_kernel_block = False
            if self.in_data:
                self._contents += bytes(_KERNEL_DESCRIPTOR_BYTES)
        elif self.in_data and not self._inside_kernel_block and not says_nothing_of_bytes(name):
            self._directive(name, rest, number)

    def number(self, text: str) -> int:
        """Returns the number that an expression is; DataError if it is none."""
        return self._number(text)

    def finish(self) -> None:
        """Fills in what the symbols' places decide.

        Raises:
            DataError: a symbol is missing; the message starts with the line's number and a colon.
        """
        for offset, width, text, number in self._open:
            try:
                value = self._value(text)
            except DataError as error:
                raise DataError(f"{number}: {error}") from None
            if value.in_image:
                self._relocations.append(DataRelocation(offset, width, value.number))
            else:
                self._contents[offset : offset + width] = _bytes(value.number, width)

    def refer(self, symbol: str, *, by_table: bool) -> None:
        """Notes that code refers to `symbol`, directly or through the global offset table.

        Raises:
            DataError: no read-only section of the file defines it.
        """
        place = self._lookup(symbol)
        if not place.in_image:
            raise DataError(f"the symbol '{symbol}' is a number, not an address")
        self._symbols[symbol] = place.number
        if by_table and symbol not in self._table:
            self._align(8)
            entry = len(self._contents)
            self._table[symbol] = entry
            self._relocations.append(DataRelocation(entry, 8, place.number))
            self._contents += bytes(8)

    def image(self) -> DataImage:
        """Returns the image of all that was read."""
        return DataImage(
            bytes(self._contents),
            MappingProxyType(self._symbols),
            tuple(self._relocations),
            MappingProxyType(self._table),
        )

    def _lookup(self, symbol: str) -> Value:
        """Returns what a symbol stands for: its place, or what `.set` says."""
        if symbol in self._symbols:
            return Value(self._symbols[symbol], in_image=True)
        if symbol in self._assigned:
            return self._value(self._assigned[symbol])
        if self._elsewhere.get(symbol, "").startswith(_CODE):
            raise DataError(
                f"'{symbol}' is a function, and the emulator runs no calls: let the compiler "
                "inline it"
            )
        if symbol in self._elsewhere:
            raise DataError(
                f"the symbol '{symbol}' lies in section '{self._elsewhere[symbol]}'; the emulator "
                "holds read-only data alone"
            )
        raise DataError(f"the file defines no symbol '{symbol}'")

    def _define(self, symbol: str) -> None:
        if self.in_data:
            self._symbols[symbol] = len(self._contents)
        elif self._section.startswith((*_WRITABLE, _CODE)):
            self._elsewhere[symbol] = self._section

    def _enter(self, text: str) -> None:
        match = _SECTION.match(text)
        if match is None:
            raise DataError(f"'.section {text}' names no section")
        self._section = unquoted(match[1])
        if self.in_data:
            # Sections of one name go on where they ended; here they only must not overlap.
            self._align(256)

    def _put(self, data: bytes) -> None:
        self._reserve(len(data))
        self._contents += data

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
                self._open.append((len(self._contents), WIDTHS[name], text, number))
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

    def _value(self, text: str) -> Value:
        return Expression(text, self._lookup).value()


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
