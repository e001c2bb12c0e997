# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The language in which AMD's ISA documents say what an instruction does, translated to Python.

A text becomes a Python function that runs one lane of one instruction: registers in, registers
out. Written from the documents' own conventions ("Instruction pseudocode", CDNA3 ISA chapter 12),
without a look at the emulator:

    D0.u32 = S0.u32 + S1.u32                 typed views of registers
    tmp[31 : 16].f16 = f32_to_f16(S1.f32)    fields
    64'U(x), 16'0x7c00, 1.0F, 0xffULL        conversions and literals with widths
    c ? a : b, { high, low }                 selection and concatenation
    if .. then .. elsif .. else .. endif
    for i in 0 : 31 do .. break .. endfor
    F = lambda(x) ( .. )

Integer arithmetic is done in 32 bits, or 64 and 65 where an operand has them, and wraps. Float
arithmetic is exact and rounded once.
"""

from __future__ import annotations

import math
import operator as operators
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any


class PseudocodeError(ValueError):
    """Text in the language that this translator does not know."""


# Values.

_MANTISSA = {16: 10, 32: 23, 64: 52}


@dataclass(frozen=True)
class Value:
    """`bits` of a type: unsigned, signed, float (`f`) or bfloat (`bf`) of `width` bits."""

    bits: int
    width: int
    kind: str = "u"

    @property
    def integer(self) -> int:
        """Returns the number, if it is an integer."""
        if self.kind == "i" and self.bits >> self.width - 1:
            return self.bits - (1 << self.width)
        return self.bits

    @property
    def real(self) -> float:
        """Returns the number as a Python float: exact."""
        if self.kind == "bf":
            return Value(self.bits << 16, 32, "f").real
        if self.kind != "f":
            return float(self.integer)
        mantissa = _MANTISSA[self.width]
        exponent, fraction = self.exponent, self.bits & (1 << mantissa) - 1
        sign = -1.0 if self.bits >> self.width - 1 else 1.0
        largest = (1 << self.width - 1 - mantissa) - 1
        if exponent == largest:
            return math.nan if fraction else sign * math.inf
        scale = max(exponent, 1) - (largest >> 1) - mantissa
        return sign * math.ldexp(fraction + (bool(exponent) << mantissa), scale)

    @property
    def exponent(self) -> int:
        """Returns the exponent field of a float."""
        mantissa = _MANTISSA[self.width]
        return self.bits >> mantissa & (1 << self.width - 1 - mantissa) - 1

    @property
    def is_nan(self) -> bool:
        """Returns whether this is a float that is not a number."""
        return self.kind in ("f", "bf") and math.isnan(self.real)

    @property
    def quiet_bit(self) -> int:
        """Returns the bit that tells quiet NaNs."""
        return 1 << _MANTISSA[self.width] - 1

    def view(self, kind: str, width: int) -> Value:
        """Returns the low `width` bits as another type."""
        return Value(self.bits & (1 << width) - 1, width, "u" if kind == "b" else kind)

    def index(self, number: Value) -> Value:
        """Returns a bit."""
        return Value(self.bits >> number.integer & 1, 1)

    def part(self, low: Value, count: Value) -> Value:
        """Returns some bits from the one numbered `low` on."""
        return Value(self.bits >> low.integer & (1 << count.integer) - 1, count.integer)

    def slice(self, first: Value, last: Value) -> Value:
        """Returns some bits, in reversed order if the first one is the lower one."""
        high, low = first.integer, last.integer
        if high >= low:
            return Value(self.bits >> low & (1 << high - low + 1) - 1, high - low + 1)
        return _joined(*(self.index(integer(at)) for at in range(high, low + 1)))


def integer(number: int, width: int = 32, kind: str = "i") -> Value:
    """Returns an integer value, which wraps."""
    return Value(number & (1 << width) - 1, width, kind)


def real(number: float | Fraction, width: int, toward_zero: bool = False) -> Value:
    """Returns the float of `width` bits nearest to `number`, or the next one toward zero.

    Ties go to even.
    """
    mantissa = _MANTISSA[width]
    bias = (1 << width - 2 - mantissa) - 1
    infinity = (2 * bias + 1) << mantissa
    if isinstance(number, float):
        if math.isnan(number):
            return Value(infinity | 1 << mantissa - 1, width, "f")
        sign = int(math.copysign(1, number) < 0) << width - 1
        if math.isinf(number):
            return Value(sign | infinity, width, "f")
    else:
        sign = int(number < 0) << width - 1
    size = abs(Fraction(number))
    if not size:
        return Value(sign, width, "f")
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    exponent = max(exponent, 1 - bias)
    units = size / Fraction(2) ** (exponent - mantissa)
    count = math.floor(units) if toward_zero else round(units)
    bits = (exponent + bias - 1 << mantissa) + count
    return Value(sign | min(bits, infinity - toward_zero), width, "f")


def truth(flag: bool) -> Value:
    """Returns a condition's value."""
    return Value(int(flag), 1, "u")


def _cast(value: Value, width: int, kind: str) -> Value:
    if kind == "b":
        kind = "u"
    if kind == value.kind == "bf":
        return value
    if kind in ("f", "bf"):
        if value.kind not in ("f", "bf"):
            return Value(value.bits & (1 << width) - 1, width, kind)
        return _float_cast(value, width)
    if value.kind in ("f", "bf"):
        raise PseudocodeError("a float cast to an integer")
    return integer(value.integer, width, kind)


def _float_cast(value: Value, width: int) -> Value:
    """Casts to another width; a NaN keeps its top bits, also the quiet bit."""
    if value.kind == "bf":
        value = Value(value.bits << 16, 32, "f")
    if not value.is_nan:
        return real(value.real, width)
    shift = _MANTISSA[width] - _MANTISSA[value.width]
    fraction = value.bits & (1 << _MANTISSA[value.width]) - 1
    fraction = fraction << shift if shift >= 0 else fraction >> -shift or 1 << _MANTISSA[width] - 1
    sign = value.bits >> value.width - 1
    infinity = (1 << width - 1) - (1 << _MANTISSA[width])
    return Value(sign << width - 1 | infinity | fraction, width, "f")


# Text to Python.

_TOKEN = re.compile(
    r"""\s+ | //[^\n]*
    | (?P<cast>\d+'(?:BF|[FUIB])\b)
    | (?P<sized>\d+'-?(?:0x[0-9a-f]+|\d+\.\d+|\d+)U?)
    | (?P<number>0x[0-9a-fA-F]+(?:U?LL|U)? | \d+\.\d+F? | \d+(?:U?LL|U|F)?)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<op>\*\*|<<|>>|<>|<=|>=|==|!=|&&|\|\||\+:|\+=|-=|[-+*/%&|^~!<>=?:;,.(){}\[\]])
    """,
    re.VERBOSE,
)
_BINARY = [
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "<>"),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/"),
    ("**",),
]
_TYPE = re.compile(r"^(bf|[fuib])(\d+)$")


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise PseudocodeError(f"'{text[position : position + 20]}' cannot be read")
        position = match.end()
        if match.lastgroup:
            found.append(match[0])
    return found


class _Translator:
    """Makes the source of Python statements on the registers `R` and the functions `F`."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def take(self, *tokens: str) -> bool:
        if self.peek() in tokens:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise PseudocodeError(f"'{token}' expected, not '{self.peek()}'")

    def block(self, *ends: str) -> list[str]:
        """Returns the indented lines of all statements up to one of `ends`."""
        lines: list[str] = []
        while self.peek() and self.peek() not in ends:
            if not self.take(";"):
                lines += self.statement()
        return [f" {line}" for line in lines or ["pass"]]

    def statement(self) -> list[str]:
        if self.take("if"):
            return self.condition()
        if self.take("for"):
            name = self.next()
            self.expect("in")
            first = self.expression()
            self.expect(":")
            last = self.expression()
            self.expect("do")
            body = self.block("endfor")
            self.expect("endfor")
            head = f"for number in range({first}.integer, {last}.integer + 1):"
            return [head, f" R[{name!r}] = integer(number)", *body]
        if self.take("break"):
            return ["break"]
        if self.take("return"):
            return [f"return {self.expression()}"]
        if self.take("declare"):
            name, is_array = self.next(), False
            while self.peek() not in (";", ""):
                is_array |= self.next() == "["
            return [f"R[{name!r}] = {'_Array()' if is_array else 'Value(0, 64)'}"]
        if self.tokens[self.at + 1 : self.at + 3] == ["=", "lambda"]:
            return self.function()
        _, lines = self.assigned()
        if not lines:
            raise PseudocodeError(f"no statement before '{self.peek()}'")
        return lines

    def assigned(self) -> tuple[str, list[str]]:
        """Returns the value of `a = b = c`, `a += c` or `c`, and the lines that assign it."""
        start = self.at
        value = self.expression()
        operator = self.peek()
        if operator not in ("=", "+=", "-="):
            return value, []
        self.at = start
        place = self.place()
        self.next()
        right, lines = self.assigned()
        if operator != "=":
            right = f"_binary({operator[0]!r}, {value}, {right})"
        return right, [*lines, f"_assign({right}, {place})"]

    def place(self) -> str:
        if self.take("{"):
            return self.listed(self.place, "}")
        return self.postfix(f"_Place(R, {self.next()!r})")

    def listed(self, part: Callable[[], str], end: str) -> str:
        parts: list[str] = []
        while not self.take(end):
            parts.append(part())
            self.take(",")
        return ", ".join(parts)

    def condition(self) -> list[str]:
        lines: list[str] = []
        keyword = "if"
        while keyword != "endif":
            if keyword == "else":
                lines.append("else:")
            else:
                lines.append(f"{keyword.replace('elsif', 'elif')} {self.expression()}.bits:")
                self.expect("then")
            lines += self.block("elsif", "else", "endif")
            keyword = self.next()
        return lines

    def function(self) -> list[str]:
        name = self.next()
        for token in ("=", "lambda", "("):
            self.expect(token)
        names = self.listed(lambda: repr(self.next()), ")")
        self.expect("(")
        if self.peek() in ("if", "declare"):
            body = self.block(")")
        else:
            body = [f" return {self.expression()}"]
        self.expect(")")
        return [
            "def function(*values, outer=R):",
            f" R = {{**outer, **dict(zip([{names}], values, strict=True))}}",
            *body,
            f"R[{name!r}] = function",
        ]

    def expression(self) -> str:
        test = self.binary(0)
        if not self.take("?"):
            return test
        yes = self.expression()
        self.expect(":")
        return f"({yes} if {test}.bits else {self.expression()})"

    def binary(self, level: int) -> str:
        if level == len(_BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in _BINARY[level]:
            operator = self.next()
            right = self.binary(level + 1)
            if operator in ("&&", "||"):
                word = "and" if operator == "&&" else "or"
                left = f"truth(bool({left}.bits {word} {right}.bits))"
            elif operator == "==" and right.startswith("_unary"):
                left = f"_equal_with_sign({left}, {right})"
            else:
                left = f"_binary({operator!r}, {left}, {right})"
        return left

    def unary(self) -> str:
        if self.peek() in ("-", "+", "~", "!"):
            return f"_unary({self.next()!r}, {self.unary()})"
        return self.postfix(self.atom())

    def postfix(self, text: str) -> str:
        while True:
            if self.take("."):
                kind = self.next()
                found = _TYPE.match(kind)
                if found is None:
                    raise PseudocodeError(f"no type '{kind}'")
                text += f".view({found[1]!r}, {found[2]})"
            elif self.take("["):
                first = self.expression()
                if self.take("+:"):
                    text += f".part({first}, {self.expression()})"
                elif self.take(":"):
                    text += f".slice({first}, {self.expression()})"
                else:
                    text += f".index({first})"
                self.expect("]")
            else:
                return text

    def atom(self) -> str:
        token = self.next()
        if token == "(":
            text = self.expression()
            self.expect(")")
            return text
        if token == "{":
            return f"_joined({self.listed(self.expression, '}')})"
        if "'" in token:
            width, _, rest = token.partition("'")
            if rest in ("F", "U", "I", "B", "BF"):
                self.expect("(")
                text = self.expression()
                self.expect(")")
                return f"_cast({text}, {width}, {rest.lower()!r})"
            return repr(_sized(int(width), rest))
        if token[0].isdigit():
            return repr(_number(token))
        if self.take("("):
            arguments = self.listed(self.expression, ")")
            return f"R.get({token!r}, F.get({token!r}))({arguments})"
        return f"R[{token!r}]"


def _sized(width: int, text: str) -> Value:
    if "." in text:
        return real(float(text), width)
    unsigned = text.endswith("U") or "0x" in text
    return integer(int(text.rstrip("U"), 0), width, "u" if unsigned else "i")


def _number(text: str) -> Value:
    if text.startswith("0x"):
        digits = text.rstrip("UL")
        return integer(int(digits, 16), 64 if "L" in text or len(digits) > 10 else 32, "u")
    if "." in text or text.endswith("F"):
        return real(float(text.rstrip("F")), 32 if text.endswith("F") else 64)
    wide = 64 if "L" in text else 32
    return integer(int(text.rstrip("UL")), wide, "u" if "U" in text else "i")


# Running it.


class Pseudocode:
    """One instruction's text, ready to run."""

    def __init__(self, text: str, functions: Mapping[str, Callable[..., Value]]) -> None:
        lines = ["def run(R):", *_Translator(text).block()]
        defined: dict[str, Any] = {**globals(), "F": functions}
        exec("\n".join(lines), defined)
        self.execute: Callable[[dict[str, Any]], None] = defined["run"]

    def run(self, registers: Mapping[str, Value]) -> dict[str, Any]:
        """Returns the registers after one lane has run, and the temporaries."""
        names: dict[str, Any] = dict(registers)
        self.execute(names)
        return names


class _Array(dict[int, Value]):
    """A declared array."""

    def index(self, number: Value) -> Value:
        return self[number.integer]


@dataclass(frozen=True)
class _Place:
    """Bits of a variable that can be assigned.

    Attributes:
        step: "name", "view" or "part", by what led here last.
    """

    names: dict[Any, Any]
    name: str | int
    low: int = 0
    width: int = 64
    kind: str = ""
    step: str = "name"
    backward: bool = False

    def view(self, kind: str, width: int) -> _Place:
        width = self.width if self.step == "part" else width
        return replace(self, width=width, kind=kind, step="view")

    def slice(self, first: Value, last: Value) -> _Place:
        high, bottom = first.integer, last.integer
        return _Place(
            self.names,
            self.name,
            self.low + min(high, bottom),
            abs(high - bottom) + 1,
            self.kind if self.kind == "u" else "",
            "part",
            high < bottom,
        )

    def index(self, number: Value) -> _Place:
        variable = self.names.get(self.name)
        if isinstance(variable, _Array):
            return _Place(variable, number.integer)
        return _Place(self.names, self.name, self.low + number.integer, 1, "u", "part")

    def set(self, value: Value) -> None:
        if self.step == "name":
            self.names[self.name] = value
            return
        if self.backward:
            raise PseudocodeError("an assignment to a reversed slice")
        converted = _cast(value, self.width, self.kind) if self.kind else value
        if self.step == "view" and self.low == 0 and self.name not in self.names:
            self.names[self.name] = converted
            return
        old = self.names.get(self.name, Value(0, 64))
        mask = (1 << self.width) - 1
        bits = old.bits & ~(mask << self.low) | (converted.bits & mask) << self.low
        self.names[self.name] = Value(bits, max(old.width, self.low + self.width))


def _assign(value: Value, *places: _Place) -> None:
    """Assigns to one place, or bits to several, of which the last one gets the lowest."""
    if len(places) == 1:
        places[0].set(value)
        return
    bits = value.bits
    for place in reversed(places):
        place.set(Value(bits, value.width))
        bits >>= place.width


def _joined(*parts: Value) -> Value:
    bits, width = 0, 0
    for part in parts:
        bits, width = bits << part.width | part.bits, width + part.width
    return Value(bits, width)


def _unary(operator: str, value: Value) -> Value:
    if operator == "!":
        return truth(not value.bits)
    if operator == "+":
        return value
    if value.kind == "f":
        return Value(value.bits ^ 1 << value.width - 1, value.width, "f")
    number = ~value.integer if operator == "~" else -value.integer
    width = value.width if operator == "~" else max(32, value.width)
    return integer(number, width, value.kind)


def _equal_with_sign(left: Value, right: Value) -> Value:
    """Compares with a signed number; only in `x == +0.0` and `x == -0.0` zeros have signs."""
    if right.real:
        return _binary("==", left, right)
    return truth(not left.real and left.bits >> left.width - 1 == right.bits >> right.width - 1)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operators.eq,
    "!=": operators.ne,
    "<>": lambda a, b: a < b or a > b,
    "<": operators.lt,
    ">": operators.gt,
    "<=": operators.le,
    ">=": operators.ge,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operators.add,
    "-": operators.sub,
    "*": operators.mul,
    "&": operators.and_,
    "|": operators.or_,
    "^": operators.xor,
    "<<": operators.lshift,
    ">>": operators.rshift,
}


def _binary(operator: str, left: Value, right: Value) -> Value:
    is_float = "f" in (left.kind, right.kind)
    a, b = (left.real, right.real) if is_float else (left.integer, right.integer)
    if operator in _COMPARISONS:
        return truth(_COMPARISONS[operator](a, b))
    if is_float:
        width = max(value.width for value in (left, right) if value.kind == "f")
        return real(_exact(operator, a, b), width)
    width = max(32, left.width, right.width)
    kind = "i" if left.kind == right.kind == "i" else "u"
    if operator in ("<<", ">>"):
        width, kind = max(32, left.width), left.kind
    return integer(_ARITHMETIC[operator](a, b), width, kind)


def _exact(operator: str, a: float, b: float) -> float | Fraction:
    """Returns a sum or product without rounding, where it is finite and not zero."""
    with_special = _ARITHMETIC[operator](a, b)
    if not (math.isfinite(a) and math.isfinite(b)):
        return with_special
    return _ARITHMETIC[operator](Fraction(a), Fraction(b)) or with_special


# Functions of the language.


def _sign_extended(value: Value) -> Value:
    return integer(
        value.integer if value.kind == "i" else Value(value.bits, value.width, "i").integer, 64
    )


def _signext_from_bit(value: Value, count: Value) -> Value:
    if not count.bits:
        return Value(0, value.width, "i")
    low = Value(value.bits & (1 << count.bits) - 1, count.bits, "i")
    return integer(low.integer, value.width)


def _to_integer(width: int, kind: str) -> Callable[[Value], Value]:
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if kind == "i" else (0, (1 << width) - 1)

    def convert(value: Value) -> Value:
        number = value.real
        if math.isnan(number):
            return integer(0, width, kind)
        clipped = min(max(number, float(low)), float(high))
        return integer(math.trunc(clipped), width, kind)

    return convert


def _saturate(width: int, kind: str) -> Callable[[Value], Value]:
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if kind == "i" else (0, (1 << width) - 1)
    return lambda value: integer(min(max(value.integer, low), high), width, kind)


def _by_real(function: Callable[[float], float]) -> Callable[[Value], Value]:
    """Returns a function that leaves infinities and NaNs as they are, and a zero's sign."""

    def compute(value: Value) -> Value:
        number = value.real
        if not math.isfinite(number):
            return value
        return real(math.copysign(function(number), number), value.width)

    return compute


def _fma(a: Value, b: Value, c: Value) -> Value:
    x, y, z = a.real, b.real, c.real
    if all(map(math.isfinite, (x, y, z))):
        total = Fraction(x) * Fraction(y) + Fraction(z)
        if total:
            return real(total, a.width)
    return real(x * y + z, a.width)


def _quiet(value: Value) -> Value:
    return Value(value.bits | value.quiet_bit, value.width, value.kind)


def _round_to_bf16(value: Value) -> Value:
    if value.is_nan:
        return Value(value.bits >> 16 | 0x40, 16, "bf")
    # bf16 has f32's range: nearest among multiples of 2^16 of its bits.
    low = value.bits & 0xFFFF
    high = value.bits >> 16
    up = low > 0x8000 or (low == 0x8000 and high & 1)
    return Value(high + up, 16, "bf")


BUILTINS: dict[str, Callable[..., Value]] = {
    "signext": _sign_extended,
    "signext_from_bit": _signext_from_bit,
    "isNAN": lambda x: truth(x.is_nan),
    "isSignalNAN": lambda x: truth(x.is_nan and not x.bits & x.quiet_bit),
    "isQuietNAN": lambda x: truth(x.is_nan and bool(x.bits & x.quiet_bit)),
    "cvtToQuietNAN": _quiet,
    "sign": lambda x: truth(bool(x.bits >> x.width - 1)),
    "exponent": lambda x: integer(x.exponent),
    "abs": lambda x: Value(x.bits & ~(1 << x.width - 1), x.width, x.kind),
    "trunc": _by_real(math.trunc),
    "floor": _by_real(math.floor),
    "fma": _fma,
    "f32_to_f64": lambda x: _float_cast(x, 64),
    "f64_to_f32": lambda x: _float_cast(x, 32),
    "f16_to_f32": lambda x: _float_cast(x, 32),
    "f32_to_f16": lambda x: _float_cast(x, 16),
    "bf16_to_f32": lambda x: _float_cast(x, 32),
    "f32_to_bf16": _round_to_bf16,
    "u32_to_u16": _saturate(16, "u"),
    "i32_to_i16": _saturate(16, "i"),
    **{
        f"{k}32_to_f{w}": lambda x, w=w: real(Fraction(x.integer), w)
        for k in "iu"
        for w in (32, 64)
    },
    **{f"{k}16_to_f16": lambda x: real(Fraction(x.integer), 16) for k in "iu"},
    **{f"f{w}_to_{k}32": _to_integer(32, k) for k in "iu" for w in (32, 64)},
    **{f"f16_to_{k}16": _to_integer(16, k) for k in "iu"},
    **{
        f"{k}{w}_to_{k}32": lambda x, k=k: integer(x.integer, 32, k)
        for k in "iu"
        for w in (4, 8, 16)
    },
}
"""The functions that the documents use without defining them in the language."""
