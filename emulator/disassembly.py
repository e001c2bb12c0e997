# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The disassembly of a code object, as `llvm-objdump` prints it, as kernels.

    0000000000001500 <k>:
        s_load_dwordx2 s[4:5], s[0:1], 0x0       // 000000001500: C0060100 00000000
        s_cbranch_scc1 6                         // 000000001518: BF850006 <k+0x34>

What a kernel needs besides its code stands in the section `.rodata` and in a note, so that all of
it is printed by

    llvm-objdump -d -j .text -j .rodata k.co; llvm-readelf --notes k.co

An instruction's place is its address in the code object. A code object is linked already: the
distances between code and data stand in the code, and only the address of the whole is missing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from .assembly import AssemblyFile, Kernel, chosen_kernel
from .call_graph import GET_PC, JUMPS, ScalarConstants
from .chips import Chip
from .data_sections import NO_DATA, DataImage, reached_places
from .function_code import BRANCHES, FunctionCode, ends_flow
from .instruction_text import AssemblyError, Instruction, Literal, Name, Operand, parse_instruction

_FORMAT = "file format elf64-amdgpu"
_SECTION = re.compile(r"^Disassembly of section (\S+):")
_SYMBOL = re.compile(r"^([0-9a-fA-F]+) <(.+)>:\s*$")
_LINE = re.compile(r"^\s+(\S.*?)\s*// ([0-9A-Fa-f]{8,16}):((?: [0-9A-Fa-f]{8})+)(?:\s*<.*>)?\s*$")
_METADATA_START = re.compile(r"^\s*(AMDGPU Metadata:\s*)?---\s*$")
_MOST_SCALARS = 112
_UNDECODED = (".long", "<unknown>", "v_illegal", "s_illegal")
_NEEDED = (
    "no {} in this disassembly: print all that a kernel needs by `llvm-objdump -d -j .text "
    "-j .rodata FILE; llvm-readelf --notes FILE`, or give the code object itself"
)


def is_disassembly(text: str) -> bool:
    """Returns whether a text is what llvm-objdump prints of an AMD GPU's code object."""
    return _FORMAT in text[:4096]


def parse_disassembly(
    text: str, source: str, name: str = "", arch: str = "", data: DataImage = NO_DATA
) -> Kernel:
    """Returns one kernel of a disassembly, as `parse_kernel` does of assembly.

    Args:
        data: the data of the code object, by their addresses there; none where it is not at hand.

    Raises:
        AssemblyError: `parse_kernel` documents it; or the kernel needs data and there are none.
    """
    return chosen_kernel(DisassembledFile(text, source, arch, data), name, arch)


class _Line(NamedTuple):
    number: int
    address: int
    code: str
    words: tuple[int, ...]


class _Part(NamedTuple):
    """The instructions from a symbol on, the addresses that they branch to, and those they name."""

    instructions: list[Instruction]
    branches: list[int]
    named: list[int]


class DisassembledFile(AssemblyFile):
    """The disassembly of a code object."""

    place_step = 4

    def __init__(self, text: str, source: str, arch: str, data: DataImage) -> None:
        self._image = data
        self._symbols: list[tuple[int, str]] = []
        self._lines: list[_Line] = []
        self._named_code: set[int] = set()
        if ".amdhsa_kernel" not in text:
            raise AssemblyError(f"{source}:1: {_NEEDED.format('.amdhsa_kernel block')}")
        super().__init__(text, source, arch)

    def metadata_lines(self) -> tuple[int, int]:
        """Returns the indices of the lines before and behind the metadata."""
        start = next((i for i, x in enumerate(self.lines) if _METADATA_START.match(x)), None)
        if start is None:
            raise self.error(len(self.lines), _NEEDED.format("metadata"))
        ends = (i for i in range(start, len(self.lines)) if self.lines[i].startswith("..."))
        return start, next(ends, len(self.lines))

    def largest_values(self) -> Mapping[str, int]:
        """Returns the largest values; registers are what a kernel's descriptor counts, in 16s."""
        return {**super().largest_values(), "next_free_sgpr": _MOST_SCALARS}

    def read_data(self) -> None:
        """Reads the lines of code, in the order of their addresses."""
        in_code = False
        for number, line in enumerate(self.lines, 1):
            if found := _SECTION.match(line):
                in_code = not found[1].startswith((".rodata", ".data", ".bss"))
            elif in_code and (found := _SYMBOL.match(line)):
                self._symbols.append((int(found[1], 16), found[2]))
            elif in_code and (found := _LINE.match(line)):
                words = tuple(int(word, 16) for word in found[3].split())
                self._lines.append(_Line(number, int(found[2], 16), found[1], words))
        self._symbols.sort()
        self._lines.sort(key=lambda each: each.address)
        self._begun = {each.address for each in self._lines}
        self._addresses = {each.number: each.address for each in self._lines}
        self._starts = sorted({address for address, _ in self._symbols})

    def place(self, instruction: Instruction) -> int:
        """Returns the place of an instruction in the file."""
        return self._addresses[instruction.line]

    def image(self) -> DataImage:
        """Returns the data of the code object, and as symbols the functions that code names."""
        named = {_label(place): place for place in self._named_code}
        return replace(self._image, symbols={**self._image.symbols, **named})

    def read_code(self, name: str, chip: Chip, lanes: int) -> FunctionCode:
        """Returns the code of a kernel with what it reaches."""
        first = next((address for address, symbol in self._symbols if symbol == name), None)
        if first is None:
            raise self.error(len(self.lines), f"no code of kernel '{name}' is disassembled")
        parts: dict[int, _Part] = {}
        waiting = [first]
        while waiting:
            at = waiting.pop()
            start = self._starts[bisect_right(self._starts, at) - 1]
            if start in parts:
                continue
            part = parts[start] = self._read_part(start, chip, lanes)
            waiting += [*part.branches, *part.named]
            if not ends_flow(part.instructions) and (behind := self._behind(start)) is not None:
                waiting.append(behind)
        return self._joined(parts, first)

    def _behind(self, start: int) -> int | None:
        """Returns the next symbol behind one."""
        at = bisect_right(self._starts, start)
        return self._starts[at] if at < len(self._starts) else None

    def _joined(self, parts: dict[int, _Part], first: int) -> FunctionCode:
        """Returns the code of all parts: the kernel's, and behind it that of the others."""
        runs: list[list[int]] = []
        for start in sorted(parts):
            before = runs[-1][-1] if runs else None
            passes = before is not None and not ends_flow(parts[before].instructions)
            if passes and self._behind(before or 0) == start and start != first:
                runs[-1].append(start)
            else:
                runs.append([start])
        runs.sort(key=lambda run: run[0] != first)
        code = FunctionCode()
        for number, run in enumerate(runs):
            if not ends_flow(parts[run[-1]].instructions):
                line = parts[run[-1]].instructions[-1].line if parts[run[-1]].instructions else 1
                raise self.error(line, "control flow passes the last instruction of a function")
            if number:
                code.functions.append(len(code.instructions))
            for start in run:
                code.instructions += parts[start].instructions
        code.locations = [None] * len(code.instructions)
        indices = {self.place(each): index for index, each in enumerate(code.instructions)}
        for part in parts.values():
            for target in part.branches:
                code.labels[_label(target)] = indices[target]
        return code

    def _read_part(self, start: int, chip: Chip, lanes: int) -> _Part:
        """Reads the code from a symbol on to the next one."""
        end = self._behind(start)
        part = _Part([], [], [])
        constants = ScalarConstants(self._pointer)
        first = bisect_right(self._lines, start - 1, key=lambda each: each.address)
        for line in self._lines[first:]:
            if end is not None and line.address >= end:
                break
            if line.code.startswith(_UNDECODED):
                # Zeros and the like fill the space between functions.
                if ends_flow(part.instructions):
                    break
                raise self.error(line.number, f"'{line.code}' is no instruction that LLVM knows")
            try:
                instruction = parse_instruction(line.code, line.number, chip, lanes)
            except AssemblyError as error:
                raise self.error(line.number, str(error)) from None
            if instruction.mnemonic.startswith(BRANCHES):
                target = line.address + 4 + 4 * _signed(line.words[0] & 0xFFFF)
                *others, _ = instruction.operands
                operands = (*others, Operand(Name(_label(target))))
                instruction = replace(instruction, operands=operands)
                if target not in self._begun:
                    message = f"it branches to {target:#x}, where no instruction begins"
                    raise self.error(line.number, message)
                part.branches.append(target)
            part.instructions.append(instruction)
            part.named.extend(self._named(instruction, line, constants))
            if instruction.mnemonic in JUMPS or instruction.mnemonic.startswith(BRANCHES):
                constants = ScalarConstants(self._pointer)
        return part

    def _named(
        self, instruction: Instruction, line: _Line, constants: ScalarConstants
    ) -> Sequence[int]:
        """Returns the places of the code whose address an instruction has computed."""
        known = instruction
        if instruction.mnemonic == GET_PC:
            behind = Operand(Literal(line.address + self.place_step))
            known = replace(instruction, operands=(*instruction.operands, behind))
        constants.execute(known)
        if instruction.mnemonic != "s_addc_u32":
            return ()
        place = constants.pair(instruction.operands[0].register.index - 1)
        if place is None:
            return ()
        place &= _ADDRESSES
        if not self._is_code(place) and not self._image.regions:
            raise self.error(
                line.number,
                f"the kernel needs data at {place:#x}, which a disassembly lacks: give the code "
                "object",
            )
        if self._is_code(place):
            self._named_code.add(place)
        symbols = self._image.symbols.values()
        relocations = self._image.relocations
        return sorted(reached_places(symbols, relocations, [place], self._is_code))

    def _is_code(self, place: int) -> bool:
        return bool(self._lines) and self._lines[0].address <= place <= self._lines[-1].address

    def _pointer(self, place: int) -> int | None:
        return next((each.target for each in self._image.relocations if each.offset == place), None)


_ADDRESSES = (1 << 64) - 1


def _label(address: int) -> str:
    return f".L{address:x}"


def _signed(word: int) -> int:
    return (word ^ 0x8000) - 0x8000
