# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One instruction of the assembly text that the AMDGPU backend prints, as data.

An instruction such as

    v_pk_add_f32 v[2:3], v[4:5], -v[6:7] op_sel_hi:[1,0]

becomes a mnemonic, sources (operands with sign modifiers) and modifiers by name. Nothing is
interpreted here: what a mnemonic means is said where it is executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from .chips import CDNA3, CHIPS, Chip
from .expressions import integer
from .mnemonics import shared_name


class AssemblyError(ValueError):
    """Text that is not a kernel this emulator can read; the message holds the line."""


@dataclass(frozen=True)
class Register:
    """The `count` consecutive 32-bit registers from `index` on of a file.

    Files are `s` (scalar), `v` (vector) and `a` (accumulation).

    Attributes:
        half: `l` or `h` where the text names one half of a vector register, as `v5.h` does.
    """

    file: str
    index: int
    count: int = 1
    half: str = ""

    def __str__(self) -> str:
        if self.file == "s" and self.index == NULL.index:
            return "null"
        if self.count == 1:
            return f"{self.file}{self.index}{self.half and '.'}{self.half}"
        return f"{self.file}[{self.index}:{self.index + self.count - 1}]"


# Encodings of special scalar registers as source operands (CDNA3 ISA, table 9). They are the places
# of these registers in a machine of any chip: RDNA encodes M0 as 125, and as 124 a register that
# reads as zero and takes no result, `null`, which lies behind all others here. Nothing tells where
# they lie, because no text counts them.
VCC = Register("s", 106, 2)
TTMP = Register("s", 108, 16)
M0 = Register("s", 124)
EXEC = Register("s", 126, 2)
NULL = Register("s", 128, 16)
SCALAR_REGISTERS = NULL.index + NULL.count
_SPECIAL = {
    "vcc": VCC,
    "vcc_lo": Register("s", 106),
    "vcc_hi": Register("s", 107),
    "m0": M0,
    "exec": EXEC,
    "exec_lo": Register("s", 126),
    "exec_hi": Register("s", 127),
}
_CDNA_ONLY = {
    "flat_scratch": Register("s", 102, 2),
    "flat_scratch_lo": Register("s", 102),
    "flat_scratch_hi": Register("s", 103),
    "xnack_mask": Register("s", 104, 2),
}
_RDNA_ONLY = {"null": NULL}


NAMED_VECTORS = 256
"""The vector registers that an instruction can name; gfx1250 has more (`high_registers.py`)."""


def special_registers(chip: Chip) -> Mapping[str, Register]:
    """Returns the scalar registers of a chip that have names."""
    return _SPECIALS[chip.is_rdna]


_SPECIALS = ({**_SPECIAL, **_CDNA_ONLY}, {**_SPECIAL, **_RDNA_ONLY})


def scalar_name(index: int, chip: Chip = CHIPS[CDNA3]) -> str:
    """Returns how the text spells the 32-bit scalar register at an index."""
    for name, register in special_registers(chip).items():
        if register == Register("s", index):
            return name
    if TTMP.index <= index < TTMP.index + TTMP.count:
        return f"ttmp{index - TTMP.index}"
    return f"s{index}"


def is_null(register: Register) -> bool:
    """Returns whether a register takes no result."""
    return register.file == "s" and register.index == NULL.index


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
    """Half of an address that a linker fills in, `symbol@rel32@lo+4`, or all of it.

    Attributes:
        kind: `rel32`, `gotpcrel32` or `abs32`; or `rel64` or `abs64`, which have no halves; see
            `linking`.
        high: whether it is the upper half.
        addend: the number that is added to the whole address.
    """

    symbol: str
    kind: str
    high: bool
    addend: int

    def __str__(self) -> str:
        half = "" if self.is_whole else "@hi" if self.high else "@lo"
        return f"{self.symbol}@{self.kind}{half}{self.addend:+d}"

    @property
    def is_whole(self) -> bool:
        """Returns whether it is all 64 bits."""
        return self.kind.endswith("64")


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

    def scalars(self, count: int) -> Register:
        """Returns the scalar registers, so many, that this operand must be.

        Raises:
            AssemblyError: it is something else.
        """
        register = self.register
        if register == NULL:
            return replace(NULL, count=count)
        if register.file != "s" or register.count != count:
            expected = "a scalar register is" if count == 1 else f"{count} scalar registers are"
            raise AssemblyError(f"{register} where {expected} expected")
        return register


Modifier = str | int | tuple[int, ...] | bool


@dataclass(frozen=True)
class Instruction:
    """One instruction; `line` counts from 1 in the file.

    Attributes:
        mnemonic: the name under which the emulator knows the instruction (`mnemonics.py`).
        chip: the chip that executes it.
        lanes: the lanes of the waves that do.
        parts: the two instructions that one of `v_dual_*` consists of; none of any other. The
            operands are those of both.
    """

    mnemonic: str
    operands: tuple[Operand, ...]
    modifiers: Mapping[str, Modifier]
    line: int
    text: str
    chip: Chip = CHIPS[CDNA3]
    lanes: int = 64
    parts: tuple[Instruction, ...] = ()

    @property
    def spelled(self) -> str:
        """Returns the mnemonic as the text has it."""
        return self.text.split(None, 1)[0]

    @property
    def mask_words(self) -> int:
        """Returns how many scalar registers hold a bit for each lane."""
        return self.lanes // 32

    def integer(self, name: str, default: int = 0) -> int:
        """Returns the integer modifier `name`."""
        value = self.modifiers.get(name, default)
        if not isinstance(value, int):
            raise AssemblyError(f"'{name}' is not a number")
        return value

    def offset(self, least: int, most: int, name: str = "offset") -> int:
        """Returns the number from `least` to `most` that an offset is, 0 by default.

        Raises:
            AssemblyError: it is another number, which the encoding does not hold, or none.
        """
        value = self.integer(name)
        if not least <= value <= most:
            raise AssemblyError(f"{name}:{value} is not in the range of {least} to {most}")
        return value

    def integers(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the list modifier `name`, of numbers from 0 to 3."""
        value = self.modifiers.get(name, default)
        if not isinstance(value, tuple) or not all(0 <= each <= 3 for each in value):
            raise AssemblyError(f"'{name}' is not a list of small numbers")
        return value

    def word(self, name: str, default: str = "") -> str:
        """Returns the modifier `name` that is a word."""
        value = self.modifiers.get(name, default)
        if not isinstance(value, str):
            raise AssemblyError(f"'{name}' is not a word")
        return value


_MNEMONIC = re.compile(r"^[a-z]\w*$")
_REGISTER = re.compile(r"^([sva]|ttmp)(\d+)()$")
_RANGE = re.compile(r"^([sva]|ttmp)\[(\d+)(?::(\d+))?\]$")
_HALF = re.compile(r"^v(\d+)\.([lh])$")
_INTEGER = re.compile(r"^-?(0x[0-9a-fA-F]+|\d+)$")
_FLOAT = re.compile(r"^-?\d+\.\d*(e[+-]?\d+)?$")
_MODIFIER = re.compile(r"^([a-z]\w*):(.+)$")
_HINT_WORDS = frozenset(
    {
        *("s_waitcnt", "s_setreg_imm32_b32", "s_getreg_b32", "s_sendmsg", "s_delay_alu"),
        *("s_wait_alu", "s_waitcnt_depctr"),
    }
)
_DUAL = "v_dual_"
# What an assembler skips within `offset: 4`, `s[4 : 5]` and `s[ 4:5 ]`.
_BLANKS = re.compile(r"\s*(:)\s*|(?<=\[)\s+|\s+(?=\])")


def parse_instruction(
    code: str, line: int, chip: Chip = CHIPS[CDNA3], lanes: int = 64
) -> Instruction:
    """Reads one instruction that has no comment.

    Args:
        chip: the chip that executes it.
        lanes: the lanes of the waves that do.

    Raises:
        AssemblyError: it cannot be read.
    """
    if not code.isascii() or not code.replace("\t", " ").isprintable():
        raise AssemblyError(f"{code!a} holds what is no character of an instruction")
    if code.startswith(_DUAL):
        return _dual(code, line, chip, lanes)
    return _single(code, line, chip, lanes)


def _single(code: str, line: int, chip: Chip, lanes: int) -> Instruction:
    spelled, _, rest = code.partition(" ")
    spelled, tab, after = spelled.partition("\t")
    rest = _BLANKS.sub(lambda found: found[1] or "", (after if tab else rest).strip())
    if not _MNEMONIC.match(spelled):
        raise AssemblyError(f"'{code}' is no instruction")
    mnemonic = shared_name(chip, spelled)
    operands: list[Operand] = []
    modifiers: dict[str, Modifier] = {}
    if spelled in _HINT_WORDS:
        operands = [_operand(word, chip) for word in _split(rest, ",")]
        return Instruction(mnemonic, tuple(operands), MappingProxyType({}), line, code, chip, lanes)
    for part in _split(rest, ","):
        words = _split(part, " ")
        for position, word in enumerate(words):
            if position == 0 and not modifiers and not _is_modifier(word):
                operands.append(_operand(word, chip))
            else:
                name, value = _modifier(word)
                if name in modifiers:
                    raise AssemblyError(f"'{name}' is there twice")
                modifiers[name] = value
    return Instruction(
        mnemonic, tuple(operands), MappingProxyType(modifiers), line, code, chip, lanes
    )


def _dual(code: str, line: int, chip: Chip, lanes: int) -> Instruction:
    """Reads `v_dual_add_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v4`.

    The name of each part without `dual_` is that of the same instruction alone. A selection takes
    VCC where it names no mask.
    """
    halves = [half.strip() for half in code.split("::")]
    if len(halves) != 2 or not all(half.startswith(_DUAL) for half in halves):
        raise AssemblyError(f"'{code}' is no pair of {_DUAL}* with '::' between them")
    parts: list[Instruction] = []
    for half in halves:
        part = _single(f"v_{half.removeprefix(_DUAL)}", line, chip, lanes)
        if part.mnemonic == "v_cndmask_b32" and len(part.operands) == 3:
            mask = Operand(replace(VCC, count=part.mask_words))
            part = replace(part, operands=(*part.operands, mask))
        parts.append(part)
    operands = tuple(operand for part in parts for operand in part.operands)
    modifiers = MappingProxyType({})
    return Instruction("v_dual", operands, modifiers, line, code, chip, lanes, tuple(parts))


_FLAGS = frozenset(
    {
        *("offen", "idxen", "lds", "clamp", "glc", "slc", "sc0", "sc1", "nt", "gds"),
        *("row_mirror", "row_half_mirror"),
        *("dlc", "nv", "scale_offset", "tfe"),
        *("matrix_a_reuse", "matrix_b_reuse"),
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
    try:
        if _INTEGER.match(value):
            return name, integer(value)
        if value.startswith("[") and value.endswith("]"):
            return name, tuple(integer(each.strip()) for each in value[1:-1].split(","))
    except ValueError:
        raise AssemblyError(f"'{word}' cannot be read") from None
    return name, value


def _split(text: str, separator: str) -> list[str]:
    """Returns the pieces of a text between separators that no brackets hold.

    Several blanks separate as one does. Between two commas there must be something.

    Raises:
        AssemblyError: a piece is missing, or the brackets do not match.
    """
    pieces = [piece.strip() for piece in _pieces(text, separator)]
    if separator == "," and not all(pieces) and pieces != [""]:
        raise AssemblyError(f"'{text}' has nothing where an operand is expected")
    return [piece for piece in pieces if piece]


def _pieces(text: str, separator: str) -> Iterator[str]:
    open_brackets, start = "", 0
    for index, char in enumerate(text):
        if char in "([":
            open_brackets += char
        elif char in ")]":
            if open_brackets[-1:] != {")": "(", "]": "["}[char]:
                raise AssemblyError(f"the brackets of '{text}' do not match")
            open_brackets = open_brackets[:-1]
        elif char == separator and not open_brackets:
            yield text[start:index]
            start = index + 1
    if open_brackets:
        raise AssemblyError(f"the brackets of '{text}' do not match")
    yield text[start:]


def _operand(word: str, chip: Chip) -> Operand:
    negate = absolute = sign_extend = False
    inner = word
    if number := _literal(word):
        return Operand(number)
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
    return Operand(_value(inner, chip), negate, absolute, sign_extend)


# An operand holds 32 bits, and 64 in a few instructions.
_LITERAL_BITS = 64


def _literal(word: str) -> Literal | None:
    """Returns the number that a word is; None for other words."""
    if _FLOAT.match(word):
        return Literal(float(word))
    if not _INTEGER.match(word):
        return None
    try:
        value = integer(word)
    except ValueError:
        raise AssemblyError(f"'{word}' is no number") from None
    if not -(1 << _LITERAL_BITS - 1) <= value < 1 << _LITERAL_BITS:
        raise AssemblyError(f"'{word}' does not fit in {_LITERAL_BITS} bits")
    return Literal(value)


_RELOCATION = re.compile(
    r'^("[^"]*"|[.\w$]+)@(?:(rel32|gotpcrel32|abs32)@(lo|hi)|(rel64|abs64))'
    r"((?:[+-](?:0x[0-9a-fA-F]+|\d+))*)$"
)


def _value(word: str, chip: Chip) -> Register | Literal | Name | Relocation:
    if word in special_registers(chip):
        return special_registers(chip)[word]
    if match := _REGISTER.match(word) or _RANGE.match(word):
        return _register(word, chip, *match.groups())
    if chip.is_rdna and (match := _HALF.match(word)):
        return replace(_register(word, chip, "v", match[1], None), half=match[2])
    if number := _literal(word):
        return number
    if match := _RELOCATION.match(word):
        symbol, kind, half, whole, addends = match.groups()
        addend = sum(int(each, 0) for each in re.findall(r"[+-]\w+", addends))
        return Relocation(symbol.strip('"'), kind or whole, half == "hi", addend)
    return Name(word)


def _register(word: str, chip: Chip, file: str, first: str, last: str | None) -> Register:
    start = int(first)
    end = int(last) if last else start
    if end < start:
        raise AssemblyError(f"'{word}' ends before it starts")
    most = {
        "s": chip.scalars,
        "v": chip.vectors,
        "a": chip.vectors if chip.accumulators else 0,
        "ttmp": TTMP.count if chip.is_rdna else 0,
    }[file]
    if not most:
        raise AssemblyError(f"'{word}': a wave of {chip.name} has no register of this kind")
    if file == "v" and NAMED_VECTORS <= start < most:
        raise AssemblyError(
            f"'{word}': the last register that can be named is v{NAMED_VECTORS - 1}"
        )
    if end >= most:
        raise AssemblyError(f"'{word}': the last register is {file}{most - 1}")
    # The encoding of a scalar pair has no odd number, and more registers begin at multiples of 4.
    alignment = min(end - start + 1, 4) if file in ("s", "ttmp") else 1
    if start % (4 if alignment == 3 else alignment):
        raise AssemblyError(f"'{word}' begins at no multiple of {4 if alignment > 2 else 2}")
    if file == "ttmp":
        file, start, end = "s", start + TTMP.index, end + TTMP.index
    return Register(file, start, end - start + 1)
