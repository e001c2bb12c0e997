# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of numbers and symbols in the directives of an assembly file, and quoted names.

    .long   .Lend-.Lstart
    .amdhsa_accum_offset ((alignto(max(1, k.num_vgpr), 4)/4-1)&63)*4+4

The functions are those by which LLVM's backend says how many registers a kernel needs that calls
others (llvm/lib/Target/AMDGPU/MCTargetDesc/AMDGPUMCExpr.h).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

QUOTED = r'"(?:[^"\\]|\\.)*"'


class DataError(ValueError):
    """A directive or symbol that cannot be read; the message does not say where it stands."""


@dataclass(frozen=True)
class Value:
    """A number, or the place `number` bytes behind the start of the image."""

    number: int
    in_image: bool = False


def unquoted(name: str) -> str:
    """Returns the name of a symbol, which may stand between quotation marks."""
    return string_bytes(name).decode(errors="replace") if name.startswith('"') else name


def integer(text: str) -> int:
    """Returns an integer as an assembler reads it: `0x1f`, `-31`, and `037` in octal.

    Raises:
        ValueError: the text is no integer.
    """
    digits = text.removeprefix("-")
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdecimal()
    return int(text, 8 if octal else 0)


def directive_arguments(text: str) -> list[str]:
    """Returns what stands between the commas of a directive that no quotation marks hold."""
    if not text.strip():
        return []
    hidden = re.sub(QUOTED, lambda match: "_" * len(match[0]), text)
    commas = [match.start() for match in re.finditer(",", hidden)]
    bounds = zip([-1, *commas], [*commas, len(text)], strict=True)
    return [text[before + 1 : end].strip() for before, end in bounds]


_ESCAPE = re.compile(rb'\\(?:([0-7]{1,3})|x([0-9a-fA-F]+)|([bfnrt"\\]))')
_LETTERS = {b"b": 8, b"f": 12, b"n": 10, b"r": 13, b"t": 9, b'"': 34, b"\\": 92}


def string_bytes(text: str) -> bytes:
    """Returns the bytes of a quoted string."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        raise DataError(f"'{text}' is no string")

    def byte(match: re.Match[bytes]) -> bytes:
        octal, hexadecimal, letter = match.groups()
        if letter:
            return bytes([_LETTERS[letter]])
        return bytes([int(octal or hexadecimal, 8 if octal else 16) & 0xFF])

    return _ESCAPE.sub(byte, text[1:-1].encode())


_TOKEN = re.compile(rf"\s*(0[xX][0-9a-fA-F]+|\d+|{QUOTED}|[.\w$]+|<<|>>|[-+*/%&|^~(),])")
# These are the ranks of LLVM's assembler parser, where `|` binds tighter than `+`.
_PRECEDENCE = {"+": 1, "-": 1, "|": 2, "^": 2, "&": 2, "*": 3, "/": 3, "%": 3, "<<": 3, ">>": 3}


def _all_vectors(accumulation: int, vectors: int) -> int:
    """Returns the registers that a wave takes; accumulation registers begin at a multiple of 4."""
    return -(-vectors // 4) * 4 + accumulation if accumulation else vectors


# No directive holds a number of more bits than `.octa` does.
_BITS = 128

_FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "max": max,
    "or": lambda *values: int(any(values)),
    "alignto": lambda value, size: -(-value // size) * size,
    "totalnumvgprs": _all_vectors,
}


def _quotient(a: int, b: int) -> int:
    """Returns a quotient rounded towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_COMPUTE: Mapping[str, Callable[[int, int], int]] = {
    "|": operator.or_,
    "^": operator.xor,
    "&": operator.and_,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "*": operator.mul,
    "/": _quotient,
    "%": lambda a, b: a - b * _quotient(a, b),
}


def symbols_of(text: str) -> list[str]:
    """Returns the words of a text that an expression would take for symbols."""
    return [unquoted(word) for word in _TOKEN.findall(text) if _SYMBOL.match(word)]


_SYMBOL = re.compile(r'["._$A-Za-z]')


class Expression:
    """One expression of numbers and symbols, read from left to right."""

    def __init__(self, text: str, lookup: Callable[[str], Value]) -> None:
        self.text = text
        self.lookup = lookup
        self.tokens: list[str] = []
        position = 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            if match is None:
                raise self.error()
            self.tokens.append(match[1])
            position = match.end()

    def value(self) -> Value:
        try:
            result = self.binary(0)
        except RecursionError:
            # Either it is nested deeply, or symbols are defined by each other.
            raise self.error() from None
        if self.tokens:
            raise self.error()
        return result

    def error(self) -> DataError:
        return DataError(f"the expression '{self.text}' cannot be read")

    def binary(self, least: int) -> Value:
        """Reads operators that bind tighter than `least` and their operands, and computes them."""
        left = self.unary()
        while self.tokens and _PRECEDENCE.get(self.tokens[0], 0) > least:
            sign = self.tokens.pop(0)
            left = self.combine(sign, left, self.binary(_PRECEDENCE[sign]))
        return left

    def combine(self, sign: str, left: Value, right: Value) -> Value:
        """Computes one operator.

        An address plus or minus a number is an address, and the difference of two addresses is a
        number.
        """
        if sign == "+" and not (left.in_image and right.in_image):
            return Value(left.number + right.number, left.in_image or right.in_image)
        if sign == "-" and left.in_image >= right.in_image:
            return Value(left.number - right.number, left.in_image and not right.in_image)
        if sign in "+-" or left.in_image or right.in_image:
            raise self.error()
        shifts = sign in ("<<", ">>")
        if (sign in "/%" and right.number == 0) or (shifts and not 0 <= right.number < _BITS):
            raise self.error()
        return self.checked(_COMPUTE[sign](left.number, right.number))

    def checked(self, number: int) -> Value:
        """Returns a number as a value; DataError where no directive can hold so many bits."""
        if number.bit_length() > _BITS:
            raise self.error()
        return Value(number)

    def call(self, function: Callable[..., int]) -> int:
        """Reads the arguments of a function, which are numbers, and computes it."""
        values: list[int] = []
        while self.tokens.pop(0) != ")":
            value = self.binary(0) if self.tokens else Value(0, in_image=True)
            if value.in_image or not self.tokens:
                raise self.error()
            values.append(value.number)
        try:
            return function(*values)
        except (TypeError, ZeroDivisionError):
            raise self.error() from None

    def unary(self) -> Value:
        if not self.tokens:
            raise self.error()
        token = self.tokens.pop(0)
        if token == "(":
            inner = self.binary(0)
            if not self.tokens or self.tokens.pop(0) != ")":
                raise self.error()
            return inner
        if token in ("+", "-", "~"):
            inner = self.unary()
            if inner.in_image and token != "+":
                raise self.error()
            value = {"+": inner.number, "-": -inner.number, "~": ~inner.number}[token]
            return Value(value, inner.in_image)
        if token[0].isdigit():
            try:
                return self.checked(integer(token))
            except ValueError:
                raise self.error() from None
        if token in _PRECEDENCE or token in (")", ","):
            raise self.error()
        if token in _FUNCTIONS and self.tokens[:1] == ["("]:
            return Value(self.call(_FUNCTIONS[token]))
        return self.lookup(unquoted(token))
