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

from .expressions import QUOTED, DataError, Expression, Value, string_bytes, unquoted


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
_READ_ONLY = (".rodata", ".data.rel.ro")
_CODE = ".text"
# Sections that take part in a running program although a kernel may write them.
_WRITABLE = (".data", ".bss", ".tbss", ".tdata")

_WIDTHS: Mapping[str, int] = {
    **dict.fromkeys((".byte", ".1byte"), 1),
    **dict.fromkeys((".short", ".hword", ".value", ".2byte"), 2),
    **dict.fromkeys((".long", ".int", ".word", ".4byte"), 4),
    **dict.fromkeys((".quad", ".8byte", ".xword"), 8),
    ".octa": 16,
}
# What stands between data and says nothing of its bytes.
_SILENT = frozenset(
    {
        *(".type", ".size", ".globl", ".global", ".local", ".weak", ".hidden", ".protected"),
        *(".internal", ".ident", ".addrsig", ".addrsig_sym", ".file", ".loc", ".amdgpu_hsa_kernel"),
    }
)
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
        if not code.startswith("."):
            return
        name, _, rest = code.replace("\t", " ").partition(" ")
        rest = rest.strip()
        if name == ".section":
            self._enter(rest)
        elif name in (".text", ".data", ".bss"):
            self._section = name
        elif name in (".set", ".equ"):
            symbol, _, text = rest.partition(",")
            self._assigned[unquoted(symbol.strip())] = text.strip()
        elif name == ".amdhsa_kernel":
            self._inside_kernel_block = True
        elif name == ".end_amdhsa_kernel":
            self._inside_kernel_block = False
            if self.in_data:
                self._contents += bytes(_KERNEL_DESCRIPTOR_BYTES)
        elif self.in_data and not self._inside_kernel_block and name not in _SILENT:
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

    def _align(self, bytes_: int, fill: int = 0) -> None:
        self._contents += bytes([fill]) * (-len(self._contents) % bytes_)

    def _directive(self, name: str, rest: str, number: int) -> None:
        if name in _WIDTHS:
            for text in _arguments(rest):
                self._open.append((len(self._contents), _WIDTHS[name], text, number))
                self._contents += bytes(_WIDTHS[name])
        elif name in (".ascii", ".asciz", ".string"):
            for text in _arguments(rest):
                self._contents += string_bytes(text) + (b"" if name == ".ascii" else b"\0")
        elif name in _REPEATS:
            self._contents += _REPEATS[name]([self._number(text) for text in _arguments(rest)])
        elif name in (".p2align", ".balign", ".align"):
            self._aligned(name, rest)
        else:
            raise DataError(f"the emulator does not know the data directive '{name}'")

    def _aligned(self, name: str, rest: str) -> None:
        words = [self._number(text) for text in rest.split(",") if text.strip()]
        size = words[0] if name == ".balign" else 1 << words[0]
        missing = -len(self._contents) % size
        if len(words) > 2 and missing > words[2]:
            return
        self._align(size, words[1] & 0xFF if len(words) > 1 else 0)

    def _number(self, text: str) -> int:
        value = self._value(text)
        if value.in_image:
            raise DataError(f"'{text}' is an address where a number is expected")
        return value.number

    def _value(self, text: str) -> Value:
        return Expression(text, self._lookup).value()


def _zeros(words: list[int]) -> bytes:
    """Returns the bytes of `.zero count, value`."""
    count, value = [*words, 0][:2]
    return bytes([value & 0xFF]) * count


def _fill(words: list[int]) -> bytes:
    """Returns the bytes of `.fill repeat, size, value`.

    Only 4 bytes of the value count, and the others are zeros.
    """
    repeat, size, value = (words + [1, 0][len(words) - 1 :])[:3]
    if size > 8:
        raise DataError(f".fill writes up to 8 bytes at a time, not {size}")
    return _bytes(value & 0xFFFFFFFF, 8)[:size] * repeat


_REPEATS: Mapping[str, Callable[[list[int]], bytes]] = {
    ".zero": _zeros,
    ".space": _zeros,
    ".skip": _zeros,
    ".fill": _fill,
}


def _bytes(value: int, width: int) -> bytes:
    return (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")


def _arguments(text: str) -> list[str]:
    """Returns the parts of a directive between commas that no quotation marks hold."""
    found = re.findall(rf"(?:{QUOTED}|[^,\"])+", text)
    return [part.strip() for part in found if part.strip()]
