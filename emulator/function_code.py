# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The code of a kernel and of the functions that it reaches, out of a file of many.

A kernel reaches what it names: a label of a branch, a function whose address it computes, and the
functions whose addresses lie in data that it names, such as a table. Nothing else of the file is
read, so that an instruction which nobody knows refuses only the kernels that may come to it.

The code that a label begins goes on to the end of its function: `.size`, another section, a label
`.Lfunc_end0`, or the end of the file behind an instruction that control flow does not pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from .chips import Chip
from .data_sections import ASSIGNMENT, DataError, DataReader, code_place, uncommented
from .directives import SECTIONS, WIDTHS, check_between_instructions, split_directive
from .instruction_text import (
    AssemblyError,
    Instruction,
    Literal,
    Name,
    Operand,
    Relocation,
    parse_instruction,
)
from .source_locations import LocationReader, SourceLine


class EncodedCodeError(AssemblyError):
    """Code that is written as numbers, which an assembler and a disassembler make readable."""


LABEL = re.compile(r'^("[^"]+"|[.\w$]+):')
# What ends the code of a function, besides the label that compilers put there.
_ENDS_CODE = frozenset({".size", ".section", *SECTIONS, ".amdhsa_kernel", ".amdgpu_metadata"})
BRANCHES = ("s_branch", "s_cbranch", "s_call_b64", "s_subvector")
"""How the mnemonics of instructions begin that name a label to which control goes."""
_NEVER_PASSED = ("s_endpgm", "s_branch", "s_setpc", "s_trap")
_CALLS = ("s_swappc", "s_call")
_PADDING = frozenset({"s_nop", "s_code_end"})


@dataclass
class FunctionCode:
    """The code of a kernel, and behind it that of the functions that it reaches.

    Attributes:
        labels: for each label the index of the instruction that follows it.
        locations: for each instruction its line in the source, where the file says so.
        start: the index of the kernel's first instruction.
        functions: for each function behind the kernel the index of its first instruction.
    """

    instructions: list[Instruction] = field(default_factory=list[Instruction])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    locations: list[SourceLine | None] = field(default_factory=list[SourceLine | None])
    start: int = 0
    functions: list[int] = field(default_factory=list[int])

    def add(self, part: _Part) -> None:
        """Adds the code of a function behind all other."""
        for entry in part.entries:
            if isinstance(entry, str):
                self.labels[entry] = len(self.instructions)
            else:
                instruction, location = entry
                self.instructions.append(instruction)
                self.locations.append(location)


@dataclass
class _Part:
    """Code from one line to the end of a function: labels, and instructions with their places."""

    start: int
    end: int
    entries: list[str | tuple[Instruction, SourceLine | None]]

    @property
    def instructions(self) -> Iterator[Instruction]:
        return (entry[0] for entry in self.entries if not isinstance(entry, str))


def ends_flow(code: Iterable[Instruction]) -> bool:
    """Returns whether control flow cannot pass the end of some code.

    Behind the call of a function that does not return there may be nothing.
    """
    instructions = [each for each in code if each.mnemonic not in _PADDING]
    return bool(instructions) and instructions[-1].mnemonic.startswith((*_NEVER_PASSED, *_CALLS))


class CodeReader:
    """Reads the code of a kernel with what it reaches.

    Args:
        lines: those of the file, without block comments.
        data: has read them all.
        error: makes an error of a line and a message.
    """

    def __init__(
        self,
        lines: Sequence[str],
        data: DataReader,
        chip: Chip,
        lanes: int,
        error: Callable[[int, str], AssemblyError],
    ) -> None:
        self.lines, self.data, self.chip, self.lanes = lines, data, chip, lanes
        self.error = error
        self._parts: dict[int, _Part] = {}

    def read(self, name: str) -> FunctionCode:
        """Returns the code of a kernel; AssemblyError if some of it cannot be read."""
        if name not in self.data.code_lines:
            raise self.error(len(self.lines), f"the code of kernel '{name}' has no label '{name}:'")
        first = self.data.code_lines[name]
        own = self._read_part(first, name)
        waiting = [own]
        while waiting:
            reached = self._reached(waiting.pop())
            waiting += [part for line in sorted(reached) if (part := self._extended(line))]
        for part in self._parts.values():
            if len(self._parts) > 1 and not ends_flow(part.instructions):
                where = part.end - 1
                raise self.error(where, "control flow passes the last instruction of a function")
        code = FunctionCode()
        code.add(own)
        code.start = next((i for i, each in enumerate(code.instructions) if each.line >= first), 0)
        for end in sorted(self._parts):
            part = self._parts[end]
            if part is not own:
                code.functions.append(len(code.instructions))
                code.add(part)
        code.labels.pop(name, None)
        return code

    def _extended(self, line: int) -> _Part | None:
        """Reads the code from a line on; None if that has been read."""
        for part in self._parts.values():
            if part.start <= line < part.end:
                return None
        return self._read_part(line)

    def _read_part(self, start: int, name: str = "") -> _Part:
        """Reads from a line to the end of its function, or to what has been read of it already."""
        known = {part.start: part for part in self._parts.values()}
        locations = LocationReader()
        for line in self._source_files:
            locations.read_line(line)
        part = _Part(start, len(self.lines) + 1, [])
        for number, code in self._code_lines(start):
            if number in known and number > start:
                # What was read begins in the middle of this function.
                rest = known[number]
                part.entries += rest.entries
                rest.start, rest.entries = start, part.entries
                return rest
            if code is None:
                part.end = number
                break
            try:
                self._read_line(code, number, part, locations)
            except (AssemblyError, DataError) as error:
                located = self.error(number, str(error))
                encoded = split_directive(code)[0] in WIDTHS
                raise EncodedCodeError(*located.args) if encoded else located from None
        else:
            if not ends_flow(part.instructions):
                whose = f"kernel '{name}'" if name else f"the function of line {start}"
                raise self.error(len(self.lines), f"the code of {whose} has no end")
        self._parts[part.end] = part
        return part

    def _read_line(self, line: str, number: int, part: _Part, locations: LocationReader) -> None:
        """Takes a line that `_code_lines` yields.

        Raises:
            AssemblyError, DataError: it can be no part of the code; the message names no place.
        """
        if match := LABEL.match(line):
            label = match[1].strip('"')
            self.data.check_label(label)
            part.entries.append(label)
            return
        locations.read_line(line)
        if line.startswith("."):
            check_between_instructions(line, self.data.number)
        elif not line.startswith("#") and not ASSIGNMENT.match(line):
            instruction = parse_instruction(line, number, self.chip, self.lanes)
            part.entries.append((self._with_numbers(instruction), locations.current))

    @property
    def _source_files(self) -> list[str]:
        """Returns the directives that name source files, which all functions share."""
        if self._files is None:
            codes = (uncommented(line) for line in self.lines if ".file" in line)
            self._files = [code for code in codes if code.startswith(".file")]
        return self._files

    _files: list[str] | None = None

    def _code_lines(self, start: int) -> Iterator[tuple[int, str | None]]:
        """Yields the lines of code from a line on without comments, with their numbers.

        A label stands on a line of its own. At the end of the function None is yielded.
        """
        for number in range(start, len(self.lines) + 1):
            code = uncommented(self.lines[number - 1])
            while match := LABEL.match(code):
                if match[1].startswith(".Lfunc_end"):
                    yield number, None
                    return
                yield number, match[0]
                code = code[match.end() :].strip()
            if code and split_directive(code)[0] in _ENDS_CODE:
                yield number, None
                return
            if code:
                yield number, code

    def _reached(self, part: _Part) -> set[int]:
        """Returns the lines of the labels that code names, itself or by the data that it names."""
        places: list[int] = []
        for instruction in part.instructions:
            for operand in instruction.operands:
                value = operand.value
                try:
                    if isinstance(value, Relocation):
                        by_table = value.kind == "gotpcrel32"
                        places.append(self.data.refer(value.symbol, by_table=by_table))
                    elif isinstance(value, Name) and value.text in self.data.code_lines:
                        places.append(code_place(self.data.code_lines[value.text]))
                    elif isinstance(value, Name) and value.text.startswith(".L"):
                        raise DataError(f"no label '{value.text}'")
                except DataError as error:
                    raise self.error(instruction.line, str(error)) from None
        return self.data.reached_code(places)

    def _with_numbers(self, instruction: Instruction) -> Instruction:
        """Returns an instruction with numbers for symbols, and for expressions of symbols.

        A label alone, or with a number added, is relative to the program counter, as LLVM's
        assembler reads it (`needsPCRel` of AMDGPUMCCodeEmitter). A branch keeps its label.

        Raises:
            DataError: an expression of symbols has no value.
        """
        if instruction.mnemonic.startswith(BRANCHES):
            return instruction
        operands = tuple(map(self._with_number, instruction.operands))
        return (
            instruction
            if operands == instruction.operands
            else replace(instruction, operands=operands)
        )

    def _with_number(self, operand: Operand) -> Operand:
        text = operand.value.text if isinstance(operand.value, Name) else ""
        if not text or not self.data.names_symbols(text):
            return operand
        value = self.data.value(text)
        if value.in_image:
            return replace(operand, value=Relocation(text, "rel32", high=False, addend=0))
        return replace(operand, value=Literal(value.number))
