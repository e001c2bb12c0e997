# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The assembly text that the AMDGPU backend prints, as data.

An instruction such as

    v_pk_add_f32 v[2:3], v[4:5], -v[6:7] op_sel_hi:[1,0]

becomes a mnemonic, sources (operands with sign modifiers) and modifiers by name. Nothing is
interpreted here: what a mnemonic means is said where it is executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import yaml

from .data_sections import NO_DATA, DataError, DataImage, DataReader, uncommented


class AssemblyError(ValueError):
    """Text that is not a kernel this emulator can read; the message holds the line."""


@dataclass(frozen=True)
class Register:
    """The `count` consecutive 32-bit registers from `index` on of a file.

    Files are `s` (scalar), `v` (vector) and `a` (accumulation).
    """

    file: str
    index: int
    count: int = 1

    def __str__(self) -> str:
        if self.count == 1:
            return f"{self.file}{self.index}"
        return f"{self.file}[{self.index}:{self.index + self.count - 1}]"


# Encodings of special scalar registers as source operands (CDNA3 ISA, table 9).
VCC = Register("s", 106, 2)
M0 = Register("s", 124)
EXEC = Register("s", 126, 2)
SCALAR_REGISTERS = 128
_SPECIAL = {
    "vcc": VCC,
    "vcc_lo": Register("s", 106),
    "vcc_hi": Register("s", 107),
    "m0": M0,
    "exec": EXEC,
    "exec_lo": Register("s", 126),
    "exec_hi": Register("s", 127),
    "flat_scratch": Register("s", 102, 2),
    "flat_scratch_lo": Register("s", 102),
    "flat_scratch_hi": Register("s", 103),
    "xnack_mask": Register("s", 104, 2),
}


def scalar_name(index: int) -> str:
    """Returns how the text spells the 32-bit scalar register that has an encoding."""
    for name, register in _SPECIAL.items():
        if register == Register("s", index):
            return name
    return f"s{index}"


@dataclass(frozen=True)
class Literal:
    """A number in the text: an integer, or a float whose width the instruction decides."""

    value: int | float

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Name:
    """Any other word: a label, `off`, `hwreg(HW_REG_MODE, 4, 2)`, `vmcnt(0)`."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Relocation:
    """Half of an address that a linker fills in: `symbol@rel32@lo+4`.

    Attributes:
        kind: `rel32`, `gotpcrel32` or `abs32`; see `linking`.
        high: whether it is the upper half.
        addend: the number that is added to the whole address.
    """

    symbol: str
    kind: str
    high: bool
    addend: int

    def __str__(self) -> str:
        return f"{self.symbol}@{self.kind}@{'hi' if self.high else 'lo'}{self.addend:+d}"


@dataclass(frozen=True)
class Operand:
    """A register, number or word with the modifiers of a source.

    Attributes:
        negate: whether a float's sign is changed.
        absolute: whether a float's sign is cleared, before it may be changed.
        sign_extend: whether the part of a register that SDWA selects is extended by its sign.
    """

    value: Register | Literal | Name | Relocation
    negate: bool = False
    absolute: bool = False
    sign_extend: bool = False

    @property
    def register(self) -> Register:
        """Returns the register that this operand must be.

        Raises:
            AssemblyError: it is something else.
        """
        if not isinstance(self.value, Register):
            raise AssemblyError(f"'{self.value}' where a register is expected")
        return self.value


Modifier = str | int | tuple[int, ...] | bool


@dataclass(frozen=True)
class Instruction:
    """One instruction; `line` counts from 1 in the file."""

    mnemonic: str
    operands: tuple[Operand, ...]
    modifiers: Mapping[str, Modifier]
    line: int
    text: str

    def integer(self, name: str, default: int = 0) -> int:
        """Returns the integer modifier `name`."""
        value = self.modifiers.get(name, default)
        if not isinstance(value, int):
            raise AssemblyError(f"'{name}' is not a number")
        return value

    def integers(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the list modifier `name`."""
        value = self.modifiers.get(name, default)
        if not isinstance(value, tuple):
            raise AssemblyError(f"'{name}' is not a list")
        return value

    def word(self, name: str, default: str = "") -> str:
        """Returns the modifier `name` that is a word."""
        value = self.modifiers.get(name, default)
        if not isinstance(value, str):
            raise AssemblyError(f"'{name}' is not a word")
        return value


@dataclass(frozen=True)
class KernelArgument:
    """A kernel argument: its place and size in the kernarg segment, and its kind."""

    offset: int
    size: int
    kind: str


@dataclass(frozen=True)
class Kernel:
    """One kernel of an assembly file.

    Attributes:
        instructions: in the order of the text; a program counter is an index into them.
        labels: for each label the index of the instruction that follows it.
        entry: the index of the instruction where a wave starts.
        directives: the values of the `.amdhsa_*` directives, by their names without the prefix.
        workgroup_size: the number of work items in x, y and z.
        data: the read-only data of the kernel's file.
    """

    name: str
    arch: str
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    entry: int
    directives: Mapping[str, int]
    arguments: tuple[KernelArgument, ...]
    kernarg_bytes: int
    workgroup_size: tuple[int, int, int]
    source: str = field(default="", repr=False)
    data: DataImage = field(default=NO_DATA, repr=False)

    @property
    def lds_bytes(self) -> int:
        """Returns bytes of statically allocated LDS."""
        return self.directives.get("group_segment_fixed_size", 0)

    @property
    def private_bytes(self) -> int:
        """Returns bytes of memory that each work item has for itself, as for spilled registers."""
        return self.directives.get("private_segment_fixed_size", 0)


def parse_assembly(text: str, source: str = "<text>") -> dict[str, Kernel]:
    """Returns the kernels of an assembly file, by name.

    Raises:
        AssemblyError: the text is no gfx9 assembly or is truncated, or an instruction cannot be
            read; the message starts with `source` and the line.
    """
    return _Parser(text, source).parse()


_LABEL = re.compile(r"^([.\w$]+):")
_MNEMONIC = re.compile(r"^[a-z]\w*$")
_TARGET = re.compile(r'\.amdgcn_target\s+"[^"]*-(gfx\w+?)(?::[^"]*)?"')
_REGISTER = re.compile(r"^([sva])(\d+)$")
_RANGE = re.compile(r"^([sva])\[(\d+)(?::(\d+))?\]$")
_INTEGER = re.compile(r"^-?(0x[0-9a-fA-F]+|\d+)$")
_FLOAT = re.compile(r"^-?\d+\.\d*(e[+-]?\d+)?$")
_MODIFIER = re.compile(r"^([a-z]\w*):(.+)$")
_HINT_WORDS = frozenset({"s_waitcnt", "s_setreg_imm32_b32", "s_getreg_b32", "s_sendmsg"})


class _Parser:
    def __init__(self, text: str, source: str) -> None:
        self.lines = text.splitlines()
        self.source = source
        self.data = DataReader()

    def error(self, line: int, message: str) -> AssemblyError:
        return AssemblyError(f"{self.source}:{line}: {message}")

    def parse(self) -> dict[str, Kernel]:
        target = next((m for line in self.lines if (m := _TARGET.search(line))), None)
        if target is None:
            raise self.error(1, "no .amdgcn_target line: not AMD GPU assembly")
        arch = target[1]
        metadata = self.metadata()
        directives = self.directives()
        if not directives:
            raise self.error(len(self.lines), "no .amdhsa_kernel block: the file is truncated")
        self.read_data()
        kernels: dict[str, Kernel] = {}
        for name, values in directives.items():
            if name not in metadata:
                raise self.error(len(self.lines), f"no metadata for kernel '{name}'")
            kernels[name] = self.kernel(name, arch, values, metadata[name])
        # One image for all: code says which entries the global offset table has.
        data = self.data.image()
        return {name: replace(kernel, data=data) for name, kernel in kernels.items()}

    def read_data(self) -> None:
        """Reads the data sections."""
        for number, line in enumerate(self.lines, 1):
            if line.strip() == ".amdgpu_metadata":
                break
            try:
                self.data.read_line(line, number)
            except DataError as error:
                raise self.error(number, str(error)) from None
        try:
            self.data.finish()
        except DataError as error:
            raise AssemblyError(f"{self.source}:{error}") from None

    def metadata(self) -> dict[str, Mapping[str, object]]:
        """Returns the `.amdgpu_metadata` document's kernels by name."""
        try:
            start = next(i for i, x in enumerate(self.lines) if x.strip() == ".amdgpu_metadata")
            end = next(i for i, x in enumerate(self.lines) if x.strip() == ".end_amdgpu_metadata")
        except StopIteration:
            raise self.error(
                len(self.lines), "no .amdgpu_metadata block: the file is truncated"
            ) from None
        try:
            document = yaml.safe_load("\n".join(self.lines[start + 1 : end]))
            return {kernel[".name"]: kernel for kernel in document["amdhsa.kernels"]}
        except (yaml.YAMLError, KeyError, TypeError):
            raise self.error(start + 1, "the metadata cannot be read") from None

    def directives(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        current: dict[str, int] | None = None
        for number, line in enumerate(self.lines, 1):
            words = line.split()
            if not words:
                continue
            if words[0] == ".amdhsa_kernel":
                current = found.setdefault(words[1], {})
            elif words[0] == ".end_amdhsa_kernel":
                current = None
            elif current is not None and words[0].startswith(".amdhsa_"):
                try:
                    current[words[0].removeprefix(".amdhsa_")] = int(words[1], 0)
                except (IndexError, ValueError):
                    raise self.error(number, f"'{line.strip()}' has no integer value") from None
        if current is not None:
            raise self.error(len(self.lines), "unfinished .amdhsa_kernel block")
        return found

    def kernel(
        self, name: str, arch: str, directives: Mapping[str, int], metadata: Mapping[str, object]
    ) -> Kernel:
        instructions: list[Instruction] = []
        labels: dict[str, int] = {}
        inside = False
        for number, line in enumerate(self.lines, 1):
            code = uncommented(line)
            while match := _LABEL.match(code):
                label = match[1]
                if label == name:
                    inside = True
                elif inside and label.startswith(".Lfunc_end"):
                    return self.complete(name, arch, instructions, labels, directives, metadata)
                elif inside:
                    labels[label] = len(instructions)
                code = code[match.end() :].strip()
            if inside and code and not code.startswith("."):
                try:
                    instructions.append(parse_instruction(code, number))
                except AssemblyError as error:
                    raise self.error(number, str(error)) from None
        raise self.error(len(self.lines), f"the code of kernel '{name}' has no end")

    def refer(self, relocation: Relocation, line: int) -> None:
        """Notes that the code needs a symbol; AssemblyError if the file does not hold it."""
        try:
            by_table = relocation.kind == "gotpcrel32"
            self.data.refer(relocation.symbol, by_table=by_table)
        except DataError as error:
            raise self.error(line, str(error)) from None

    def complete(
        self,
        name: str,
        arch: str,
        instructions: list[Instruction],
        labels: dict[str, int],
        directives: Mapping[str, int],
        metadata: Mapping[str, object],
    ) -> Kernel:
        for instruction in instructions:
            for operand in instruction.operands:
                value = operand.value
                if isinstance(value, Relocation):
                    self.refer(value, instruction.line)
                label = value.text if isinstance(value, Name) else ""
                if label.startswith(".L") and label not in labels:
                    raise self.error(instruction.line, f"no label '{label}'")
        if not instructions or not any(i.mnemonic == "s_endpgm" for i in instructions):
            raise self.error(len(self.lines), f"kernel '{name}' has no s_endpgm")
        size = metadata.get(".reqd_workgroup_size")
        if not isinstance(size, list) or len(size) != 3:
            raise self.error(len(self.lines), f"kernel '{name}' has no required workgroup size")
        arguments = metadata.get(".args", [])
        assert isinstance(arguments, list)
        return Kernel(
            name=name,
            arch=arch,
            instructions=tuple(instructions),
            labels=MappingProxyType(labels),
            entry=_entry(instructions, labels, directives),
            directives=MappingProxyType(dict(directives)),
            arguments=tuple(
                KernelArgument(a[".offset"], a[".size"], a[".value_kind"]) for a in arguments
            ),
            kernarg_bytes=int(str(metadata.get(".kernarg_segment_size", 0))),
            workgroup_size=(int(size[0]), int(size[1]), int(size[2])),
            source=self.source,
        )


def _entry(
    instructions: list[Instruction], labels: Mapping[str, int], directives: Mapping[str, int]
) -> int:
    """Returns the instruction where waves start, behind the loads of preloaded arguments.

    Firmware that preloads kernel arguments into SGPRs skips the loads that do the same for older
    firmware (LLVM AMDGPU usage, "Preloaded Kernel Arguments").
    """
    if not directives.get("user_sgpr_kernarg_preload_length", 0):
        return 0
    for index, instruction in enumerate(instructions):
        if instruction.mnemonic == "s_branch":
            target = instruction.operands[0].value
            if isinstance(target, Name) and labels.get(target.text) == index + 1:
                return index + 1
            return 0
        if not instruction.mnemonic.startswith(("s_load", "s_waitcnt")):
            return 0
    return 0


def parse_instruction(code: str, line: int) -> Instruction:
    """Reads one instruction that has no comment; AssemblyError if it cannot be read."""
    mnemonic, _, rest = code.partition(" ")
    mnemonic, tab, after = mnemonic.partition("\t")
    rest = (after if tab else rest).strip()
    if not _MNEMONIC.match(mnemonic):
        raise AssemblyError(f"'{code}' is no instruction")
    if mnemonic in _HINT_WORDS:
        words = tuple(_operand(word) for word in _split(rest, ","))
        return Instruction(mnemonic, words, MappingProxyType({}), line, code)
    operands: list[Operand] = []
    modifiers: dict[str, Modifier] = {}
    for part in _split(rest, ","):
        words = _split(part, " ")
        for position, word in enumerate(words):
            if position == 0 and not modifiers and not _is_modifier(word):
                operands.append(_operand(word))
            else:
                name, value = _modifier(word)
                modifiers[name] = value
    return Instruction(mnemonic, tuple(operands), MappingProxyType(modifiers), line, code)


_FLAGS = frozenset(
    {
        *("offen", "idxen", "lds", "clamp", "glc", "slc", "sc0", "sc1", "nt", "gds"),
        *("row_mirror", "row_half_mirror"),
    }
)


def _is_modifier(word: str) -> bool:
    return word in _FLAGS or (_MODIFIER.match(word) is not None and word[:1] != "[")


def _modifier(word: str) -> tuple[str, Modifier]:
    if word in _FLAGS:
        return word, True
    match = _MODIFIER.match(word)
    if match is None:
        raise AssemblyError(f"'{word}' cannot be read")
    name, value = match.groups()
    if _INTEGER.match(value):
        return name, int(value, 0)
    if value.startswith("[") and value.endswith("]"):
        return name, tuple(int(x, 0) for x in value[1:-1].split(","))
    return name, value


def _split(text: str, separator: str) -> list[str]:
    """Returns the pieces of a text between separators that no brackets hold.

    Empty pieces are left out.
    """
    return list(_pieces(text, separator))


def _pieces(text: str, separator: str) -> Iterator[str]:
    depth, start = 0, 0
    for index, char in enumerate(text + separator):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == separator and depth == 0:
            piece = text[start:index].strip()
            if piece:
                yield piece
            start = index + 1


def _operand(word: str) -> Operand:
    negate = absolute = sign_extend = False
    inner = word
    if _INTEGER.match(word):
        return Operand(Literal(int(word, 0)))
    if _FLOAT.match(word):
        return Operand(Literal(float(word)))
    if inner.startswith("-"):
        negate, inner = True, inner[1:]
    if inner.startswith("neg(") and inner.endswith(")"):
        negate, inner = True, inner[4:-1]
    if inner.startswith("|") and inner.endswith("|") and len(inner) > 2:
        absolute, inner = True, inner[1:-1]
    elif inner.startswith("abs(") and inner.endswith(")"):
        absolute, inner = True, inner[4:-1]
    elif inner.startswith("sext(") and inner.endswith(")"):
        sign_extend, inner = True, inner[5:-1]
    return Operand(_value(inner), negate, absolute, sign_extend)


_RELOCATION = re.compile(
    r'^("[^"]*"|[.\w$]+)@(rel32|gotpcrel32|abs32)@(lo|hi)((?:[+-](?:0x[0-9a-fA-F]+|\d+))*)$'
)


def _value(word: str) -> Register | Literal | Name | Relocation:
    if word in _SPECIAL:
        return _SPECIAL[word]
    if match := _REGISTER.match(word):
        return Register(match[1], int(match[2]))
    if match := _RANGE.match(word):
        first = int(match[2])
        last = int(match[3]) if match[3] else first
        if last < first:
            raise AssemblyError(f"'{word}' ends before it starts")
        return Register(match[1], first, last - first + 1)
    if _INTEGER.match(word):
        return Literal(int(word, 0))
    if _FLOAT.match(word):
        return Literal(float(word))
    if match := _RELOCATION.match(word):
        symbol, kind, half, addends = match.groups()
        addend = sum(int(each, 0) for each in re.findall(r"[+-]\w+", addends))
        return Relocation(symbol.strip('"'), kind, half == "hi", addend)
    return Name(word)
