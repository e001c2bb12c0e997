# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An interpreter of the language in which AMD's ISA documents say what an instruction does.

It runs one lane of one instruction: registers in, registers out. Written from the documents' own
conventions ("Instruction pseudocode", CDNA3 ISA chapter 12), without a look at the emulator:

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
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Node = tuple[Any, ...]


class PseudocodeError(ValueError):
    """Text in the language that this interpreter does not know."""


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


# Text to tree.

_TOKEN = re.compile(
    r"""\s+ | //[^\n]*
    | (?P<cast>\d+'(?:BF|[FUIB])\b)
    | (?P<sized>\d+'-?(?:0x[0-9a-f]+|\d+\.\d+|\d+)U?)
    | (?P<number>0x[0-9a-fA-F]+(?:U?LL|U)? | \d+\.\d+F? | \d+(?:U?LL|U|F)?)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<op>\*\*|<<|>>|<>|<=|>=|==|!=|&&|\|\||\+=|-=|[-+*/%&|^~!<>=?:;,.(){}\[\]])
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


class _Parser:
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

    def block(self, *ends: str) -> list[Node]:
        statements: list[Node] = []
        while self.peek() and self.peek() not in ends:
            if not self.take(";"):
                statements.append(self.statement())
        return statements

    def statement(self) -> Node:
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
            return ("for", name, first, last, body)
        if self.take("break"):
            return ("break",)
        if self.take("return"):
            return ("return", self.expression())
        if self.take("declare"):
            name, is_array = self.next(), False
            while self.peek() not in (";", ""):
                is_array |= self.next() == "["
            return ("declare", name, is_array)
        target = self.expression()
        if self.take("="):
            if self.take("lambda"):
                return ("set", target, self.function())
            value = self.expression()
            if self.take("="):
                # a = b = c: both get it.
                return ("both", target, value, self.expression())
            return ("set", target, value)
        if self.peek() in ("+=", "-="):
            operator = self.next()[0]
            return ("set", target, ("binary", operator, target, self.expression()))
        raise PseudocodeError(f"no statement before '{self.peek()}'")

    def condition(self) -> Node:
        arms: list[tuple[Node | None, list[Node]]] = []
        test: Node | None = self.expression()
        self.expect("then")
        while True:
            arms.append((test, self.block("elsif", "else", "endif")))
            if self.take("elsif"):
                test = self.expression()
                self.expect("then")
            elif self.take("else"):
                test = None
            else:
                self.expect("endif")
                return ("if", arms)

    def function(self) -> Node:
        self.expect("(")
        names = [self.next()]
        while self.take(","):
            names.append(self.next())
        self.expect(")")
        self.expect("(")
        if self.peek() in ("if", "declare"):
            body = self.block(")")
        else:
            body = [("return", self.expression())]
        self.expect(")")
        return ("lambda", names, body)

    def expression(self) -> Node:
        test = self.binary(0)
        if not self.take("?"):
            return test
        yes = self.expression()
        self.expect(":")
        return ("choose", test, yes, self.expression())

    def binary(self, level: int) -> Node:
        if level == len(_BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in _BINARY[level]:
            operator = self.next()
            left = ("binary", operator, left, self.binary(level + 1))
        return left

    def unary(self) -> Node:
        if self.peek() in ("-", "+", "~", "!"):
            operator = self.next()
            return ("unary", operator, self.unary())
        return self.postfix(self.atom())

    def postfix(self, node: Node) -> Node:
        while True:
            if self.take("."):
                node = ("view", node, self.next())
            elif self.take("["):
                first = self.expression()
                if self.take(":"):
                    node = ("slice", node, first, self.expression())
                else:
                    node = ("index", node, first)
                self.expect("]")
            else:
                return node

    def atom(self) -> Node:
        token = self.next()
        if token == "(":
            node = self.expression()
            self.expect(")")
            return node
        if token == "{":
            parts = [self.expression()]
            while self.take(","):
                parts.append(self.expression())
            self.expect("}")
            return ("join", parts)
        if "'" in token:
            width, _, rest = token.partition("'")
            if rest in ("F", "U", "I", "B", "BF"):
                self.expect("(")
                node = self.expression()
                self.expect(")")
                return ("cast", int(width), rest.lower(), node)
            return ("value", _sized(int(width), rest))
        if token[0].isdigit():
            return ("value", _number(token))
        if self.take("("):
            arguments = []
            while not self.take(")"):
                arguments.append(self.expression())
                self.take(",")
            return ("call", token, arguments)
        return ("name", token)


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


class _Break(Exception):
    pass


class _Return(Exception):
    def __init__(self, value: Value) -> None:
        self.value = value


Functions = Mapping[str, Callable[..., Value]]


class Pseudocode:
    """One instruction's text, ready to run."""

    def __init__(self, text: str, functions: Functions) -> None:
        parser = _Parser(text)
        self.body = parser.block()
        self.functions = functions

    def run(self, registers: Mapping[str, Value]) -> dict[str, Any]:
        """Returns the registers after one lane has run, and the temporaries."""
        names: dict[str, Any] = dict(registers)
        _Lane(names, self.functions).execute(self.body)
        return names


class _Lane:
    def __init__(self, names: dict[str, Any], functions: Functions) -> None:
        self.names = names
        self.functions = functions

    def execute(self, body: list[Node]) -> None:
        for node in body:
            self.statement(node)

    def statement(self, node: Node) -> None:
        match node:
            case ("set", target, ("lambda", names, body)):
                self.names[target[1]] = ("lambda", names, body)
            case ("set", target, value):
                self.assign(target, self.value(value))
            case ("both", first, second, value):
                self.assign(second, self.value(value))
                self.assign(first, self.value(value))
            case ("if", arms):
                for test, body in arms:
                    if test is None or self.value(test).bits:
                        self.execute(body)
                        break
            case ("for", name, first, last, body):
                try:
                    for number in range(self.value(first).integer, self.value(last).integer + 1):
                        self.names[name] = integer(number)
                        self.execute(body)
                except _Break:
                    pass
            case ("declare", name, is_array):
                self.names[name] = {} if is_array else Value(0, 64)
            case ("break",):
                raise _Break
            case ("return", value):
                raise _Return(self.value(value))
            case _:
                raise PseudocodeError(f"no meaning of {node}")

    def assign(self, target: Node, value: Value) -> None:
        match target:
            case ("name", name):
                self.names[name] = value
            case ("index", ("name", name), number) if isinstance(self.names.get(name), dict):
                self.names[name][self.value(number).integer] = value
            case ("join", parts):
                for part in reversed(parts):
                    self.assign(part, Value(value.bits, value.width, "u"))
                    value = Value(value.bits >> self.width_of(part), value.width, "u")
            case _:
                name, low, width, kind, backward = self.place(target)
                converted = _cast(value, width, kind) if kind else value
                if backward:
                    raise PseudocodeError("an assignment to a reversed slice")
                old = self.names.get(name, Value(0, 64))
                mask = (1 << width) - 1
                bits = old.bits & ~(mask << low) | (converted.bits & mask) << low
                size = max(old.width, low + width)
                whole = isinstance(target, tuple) and target[0] == "view" and low == 0
                typed = whole and name not in self.names
                self.names[name] = converted if typed else Value(bits, size, "u")

    def width_of(self, target: Node) -> int:
        return self.place(target)[2]

    def place(self, target: Node) -> tuple[str, int, int, str, bool]:
        """Returns the variable, lowest bit, width, type and direction of an assignable part."""
        match target:
            case ("name", name):
                return name, 0, 64, "", False
            case ("view", inner, kind):
                match_type = _TYPE.match(kind)
                if match_type is None:
                    raise PseudocodeError(f"no type '{kind}'")
                name, low, width, _, backward = self.place(inner)
                wanted = int(match_type[2])
                width = wanted if inner[0] in ("name", "view") else width
                return name, low, width, match_type[1], backward
            case ("slice", inner, first, last):
                name, low, _, kind, _ = self.place(inner)
                high, bottom = self.value(first).integer, self.value(last).integer
                kind = kind if kind in ("", "u") else ""
                return name, low + min(high, bottom), abs(high - bottom) + 1, kind, high < bottom
            case ("index", inner, number):
                name, low, _, _, _ = self.place(inner)
                return name, low + self.value(number).integer, 1, "u", False
        raise PseudocodeError(f"no place {target}")

    def value(self, node: Node) -> Value:
        match node:
            case ("value", value):
                return value
            case ("name", name):
                if name not in self.names:
                    raise PseudocodeError(f"no value of '{name}'")
                return self.names[name]
            case ("view", inner, kind):
                return self.view(self.value(inner), kind)
            case ("index", ("name", name), number) if isinstance(self.names.get(name), dict):
                return self.names[name][self.value(number).integer]
            case ("index", inner, number):
                at = self.value(number).integer
                return Value(self.value(inner).bits >> at & 1, 1)
            case ("slice", inner, first, last):
                return self.slice(self.value(inner), self.value(first), self.value(last))
            case ("cast", width, kind, inner):
                return _cast(self.value(inner), width, kind)
            case ("join", parts):
                bits, width = 0, 0
                for part in map(self.value, parts):
                    bits, width = bits << part.width | part.bits, width + part.width
                return Value(bits, width)
            case ("choose", test, yes, no):
                return self.value(yes if self.value(test).bits else no)
            case ("unary", operator, inner):
                return self.unary(operator, self.value(inner))
            case ("binary", operator, left, right):
                return self.binary(operator, left, right)
            case ("call", name, arguments):
                return self.call(name, [self.value(argument) for argument in arguments])
        raise PseudocodeError(f"no value of {node}")

    def view(self, value: Value, kind: str) -> Value:
        match_type = _TYPE.match(kind)
        if match_type is None:
            raise PseudocodeError(f"no type '{kind}'")
        letters, width = match_type[1], int(match_type[2])
        letters = "u" if letters == "b" else letters
        return Value(value.bits & (1 << width) - 1, width, letters)

    def slice(self, value: Value, first: Value, last: Value) -> Value:
        high, low = first.integer, last.integer
        if high >= low:
            return Value(value.bits >> low & (1 << high - low + 1) - 1, high - low + 1)
        bits = 0
        for at in range(high, low + 1):
            bits = bits << 1 | value.bits >> at & 1
        return Value(bits, low - high + 1)

    def call(self, name: str, arguments: list[Value]) -> Value:
        defined = self.names.get(name)
        if defined is None:
            if name not in self.functions:
                raise PseudocodeError(f"no function '{name}'")
            return self.functions[name](*arguments)
        _, names, body = defined
        inner = _Lane({**self.names, **dict(zip(names, arguments, strict=True))}, self.functions)
        try:
            inner.execute(body)
        except _Return as result:
            return result.value
        raise PseudocodeError(f"'{name}' returns nothing")

    def unary(self, operator: str, value: Value) -> Value:
        if operator == "!":
            return truth(not value.bits)
        if operator == "+":
            return value
        if value.kind == "f":
            return Value(value.bits ^ 1 << value.width - 1, value.width, "f")
        number = ~value.integer if operator == "~" else -value.integer
        width = value.width if operator == "~" else max(32, value.width)
        return integer(number, width, value.kind)

    def binary(self, operator: str, left_node: Node, right_node: Node) -> Value:
        left = self.value(left_node)
        if operator in ("&&", "||"):
            if bool(left.bits) == (operator == "||"):
                return truth(bool(left.bits))
            return truth(bool(self.value(right_node).bits))
        right = self.value(right_node)
        if operator == "==" and right_node[0] == "unary" and not right.real:
            # Only in `x == +0.0` and `x == -0.0` zeros have signs.
            return truth(
                not left.real and left.bits >> left.width - 1 == right.bits >> right.width - 1
            )
        if "f" in (left.kind, right.kind):
            return _float_binary(operator, left, right)
        return _integer_binary(operator, left, right)


def _compared(operator: str, a: float, b: float) -> bool | None:
    return {
        "==": a == b,
        "!=": a != b,
        "<>": a < b or a > b,
        "<": a < b,
        ">": a > b,
        "<=": a <= b,
        ">=": a >= b,
    }.get(operator)


def _float_binary(operator: str, left: Value, right: Value) -> Value:
    a, b = left.real, right.real
    compared = _compared(operator, a, b)
    if compared is not None:
        return truth(compared)
    width = max(value.width for value in (left, right) if value.kind == "f")
    return real(exact(operator, a, b), width)


def exact(operator: str, a: float, b: float) -> float | Fraction:
    """Returns a sum or product without rounding, where it is finite and not zero."""
    with_special = {"+": a + b, "-": a - b, "*": a * b}.get(operator)
    if with_special is None:
        raise PseudocodeError(f"no float '{operator}'")
    if not (math.isfinite(a) and math.isfinite(b)):
        return with_special
    x, y = Fraction(a), Fraction(b)
    result = {"+": x + y, "-": x - y, "*": x * y}[operator]
    return result if result else with_special


def _integer_binary(operator: str, left: Value, right: Value) -> Value:
    compared = _compared(operator, left.integer, right.integer)
    if compared is not None:
        return truth(compared)
    a, b = left.integer, right.integer
    width = max(32, left.width, right.width)
    kind = "i" if left.kind == right.kind == "i" else "u"
    if operator in ("<<", ">>"):
        width, kind = max(32, left.width), left.kind
    functions: dict[str, Callable[[], int]] = {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "&": lambda: a & b,
        "|": lambda: a | b,
        "^": lambda: a ^ b,
        "<<": lambda: a << b,
        ">>": lambda: a >> b,
    }
    if operator not in functions:
        raise PseudocodeError(f"no integer '{operator}'")
    return integer(functions[operator](), width, kind)


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
