# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts on the bits of an index or integer SSA value, the same for all threads and iterations.

The analysis answers "which bits can be 1", "how large can it get" and "what is it a multiple of".
For thread x of 64 in `affine.linearize_index [%r, %x] by (16, 64)`, with r a multiple of 2:

    may      ...1111 1110 111111      bits that may be 1
    must     ...0000 0000 000000      bits that are 1

The number of bits of `index` is not fixed: targets lower it to 32 or 64 bits. Facts hold for
both. To that end every value that is not known to lie in 0 .. 2^31 - 1 has unknown bits from bit
31 on; what remains known of such a value are its low bits, which wrapping arithmetic keeps.

Bit arithmetic is that of carry propagation: a sum bit is known when both addend bits and the
carry into it are, and the carry is known when adding the largest and adding the smallest values
agree on it (as in LLVM's KnownBits).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache, reduce
from math import gcd
from types import MappingProxyType

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ..gpu_target import Launch, launch_of
from ..loops import bounds_of
from .index_ops import (
    affine_results,
    basis_of,
    bit_width,
    compute_after_operands,
    computed_from,
    defining,
    digit_bases,
    dimension_of,
    forall_bounds,
    linearize_digits,
    linearized,
    mixed_radix,
)
from .lane_values import LaneEvaluator, Unknown

_ALL = (1 << 64) - 1
_BOUND = 1 << 31
"""Values below it are the same in every index width."""
_HIGH = _ALL ^ (_BOUND - 1)
_LARGEST_MULTIPLE = 1 << 62


def low_bit(number: int) -> int:
    """Returns the largest power of two that divides `number`; 0 for 0."""
    return number & -number


class Congruence(NamedTuple):
    """Value = residue (mod modulus); modulus 0 means equality."""

    modulus: int
    residue: int

    @property
    def divisor(self) -> int:
        """Returns the largest number that is known to divide the value; 0 where the value is 0."""
        return gcd(self.modulus, self.residue)

    def plus(self, other: Congruence) -> Congruence:
        """Returns what the sum with another value satisfies."""
        modulus = gcd(self.modulus, other.modulus)
        return Congruence(modulus, _reduced(self.residue + other.residue, modulus))

    def times(self, factor: int) -> Congruence:
        """Returns what the product with a number satisfies."""
        return Congruence(self.modulus * abs(factor), self.residue * factor)

    def either(self, other: Congruence) -> Congruence:
        """Returns what a value satisfies that satisfies one of both: 0 and 6 (mod 8) give 0 (mod
        2)."""
        modulus = gcd(self.modulus, other.modulus, self.residue - other.residue)
        return Congruence(modulus, _reduced(self.residue, modulus))


def _reduced(residue: int, modulus: int) -> int:
    return residue % modulus if modulus else residue


class Bits(NamedTuple):
    """Facts on one value.

    Attributes:
        may: the bits that may be 1, of 64.
        must: the bits that are 1.
        upper: the largest value, read as unsigned; below 2^31 or 2^64 - 1.
        multiple: a number that divides the value; 0 for the value 0. Where the value is not
            bounded, an odd factor of it rests on operations that are undefined when they wrap.
    """

    may: int
    must: int
    upper: int
    multiple: int

    @property
    def bounded(self) -> bool:
        """Returns whether the value is known to lie in 0 .. 2^31 - 1."""
        return self.upper < _BOUND

    @property
    def constant(self) -> int | None:
        """Returns the value when it is known and lies in 0 .. 2^31 - 1."""
        return self.may if self.bounded and self.may == self.must else None

    @property
    def congruence(self) -> Congruence:
        """Returns all that is known of the value modulo something, as one congruence.

        The low bits known give value = r (mod 2^k), `multiple` gives value = 0 (mod odd part);
        the Chinese remainder theorem joins them. With k = 2, r = 1 and odd part 3: 9 (mod 12).
        """
        if self.constant is not None:
            return Congruence(0, self.constant)
        power = low_bit(self.may ^ self.must)
        residue = self.must & (power - 1)
        odd = self.multiple // low_bit(self.multiple) if self.multiple else 1
        inverse = pow(odd, -1, power) if power > 1 else 0
        return Congruence(power * odd, odd * (residue * inverse % power))


def _facts(may: int, must: int, upper: int, multiple: int, exact: bool = False) -> Bits:
    """Brings facts to their normal form; `exact` when the operation is undefined if it wraps."""
    may, must = may & _ALL, must & _ALL
    bounded = upper < _BOUND
    if bounded:
        may &= (1 << upper.bit_length()) - 1
        must &= may
        upper = min(upper, may)
    else:
        if not exact:
            multiple = low_bit(multiple)
        may, must, upper = may | _HIGH, must & ~_HIGH, _ALL
    if may == 0:
        return Bits(0, 0, 0, 0)
    multiple = multiple or 1
    if multiple > _LARGEST_MULTIPLE:
        multiple = low_bit(multiple)
    may &= ~(low_bit(multiple) - 1)
    if may == 0:
        return Bits(0, 0, 0, 0)
    zeros = low_bit(may)
    if zeros > low_bit(multiple):
        multiple = multiple // low_bit(multiple) * zeros
    return Bits(may, must & may, upper, multiple)


UNKNOWN = Bits(_ALL, 0, _ALL, 1)


@lru_cache(256)
def constant_bits(value: int) -> Bits:
    """Returns the facts on a constant."""
    upper = value if 0 <= value < _BOUND else _ALL
    return _facts(value, value, upper, abs(value), exact=abs(value) < _BOUND)


def below(limit: int) -> Bits:
    """Returns the facts on a value in 0 .. limit - 1."""
    return _facts(_ALL, 0, limit - 1, 1) if limit > 0 else UNKNOWN


def _carried(a_may: int, a_must: int, b_may: int, b_must: int, carry: int) -> tuple[int, int]:
    """Returns bits (may, must) of a + b + carry, the carry known."""
    largest, smallest = a_may + b_may + carry, a_must + b_must + carry
    carry_zero = ~(largest ^ ~a_may ^ ~b_may)
    carry_one = smallest ^ a_must ^ b_must
    known = (~a_may | a_must) & (~b_may | b_must) & (carry_zero | carry_one)
    return ~(~largest & known) & _ALL, smallest & known & _ALL


def add(a: Bits, b: Bits, exact: bool = False) -> Bits:
    """Returns what is known of a + b."""
    may, must = _carried(a.may, a.must, b.may, b.must, 0)
    return _facts(may, must, a.upper + b.upper, gcd(a.multiple, b.multiple), exact)


def subtract(a: Bits, b: Bits, exact: bool = False) -> Bits:
    """Returns what is known of a - b, computed as a + ~b + 1.

    The difference is bounded when a is known to be at least b.
    """
    may, must = _carried(a.may, a.must, ~b.must & _ALL, ~b.may & _ALL, 1)
    fits = a.bounded and b.bounded and a.must >= b.upper
    upper = a.upper - b.must if fits else _ALL
    return _facts(may, must, upper, gcd(a.multiple, b.multiple), exact)


def multiply(a: Bits, b: Bits, exact: bool = False) -> Bits:
    """Returns what is known of a * b; a constant factor adds up shifted copies."""
    multiple = a.multiple * b.multiple
    if a.constant is not None:
        a, b = b, a
    upper = a.upper * b.upper if a.bounded and b.bounded else _ALL
    constant = b.constant
    if constant == 0 or a.constant == 0:
        return constant_bits(0)
    may, must = _ALL, 0
    if constant is not None and constant.bit_count() <= 8:
        factor = low_bit(constant)
        may, must = a.may * factor & _ALL, a.must * factor & _ALL
        while constant := constant ^ factor:
            factor = low_bit(constant)
            may, must = _carried(may, must, a.may * factor & _ALL, a.must * factor & _ALL, 0)
    return _facts(may, must, upper, multiple, exact)


def bit_and(a: Bits, b: Bits) -> Bits:
    """Returns what is known of a & b."""
    return _facts(a.may & b.may, a.must & b.must, min(a.upper, b.upper), 1)


def bit_or(a: Bits, b: Bits) -> Bits:
    """Returns what is known of a | b."""
    multiple = gcd(a.multiple, b.multiple) if a.may & b.may == 0 else 1
    may = a.may | b.may
    return _facts(may, a.must | b.must, may, multiple, exact=a.may & b.may == 0)


def bit_xor(a: Bits, b: Bits) -> Bits:
    """Returns what is known of a ^ b."""
    multiple = gcd(a.multiple, b.multiple) if a.may & b.may == 0 else 1
    may = (a.may | b.may) & ~(a.must & b.must)
    must = (a.must & ~b.may) | (b.must & ~a.may)
    return _facts(may, must, may, multiple, exact=a.may & b.may == 0)


def join(a: Bits, b: Bits) -> Bits:
    """Returns one of a and b."""
    upper = max(a.upper, b.upper)
    return _facts(a.may | b.may, a.must & b.must, upper, gcd(a.multiple, b.multiple), exact=True)


def minimum(a: Bits, b: Bits) -> Bits:
    """Returns the smaller of two values; the signed one only of bounded values."""
    upper = min(a.upper, b.upper)
    return _facts(a.may | b.may, a.must & b.must, upper, gcd(a.multiple, b.multiple), exact=True)


def shift_right(a: Bits, amount: int, arithmetic: bool = False) -> Bits:
    """Returns what is known of a >> amount.

    The arithmetic shift keeps the sign of a value that may be negative.
    """
    upper = a.upper >> amount if a.bounded or not arithmetic else _ALL
    may = a.may >> amount | (_HIGH if upper >= _BOUND else 0)
    multiple = a.multiple >> amount if a.multiple % (1 << amount) == 0 else 1
    return _facts(may, a.must >> amount, upper, multiple if a.bounded else low_bit(multiple))


def divide(a: Bits, divisor: int, arithmetic: bool = False) -> Bits:
    """Returns what is known of a / divisor, rounded down, for a positive divisor.

    The division is unsigned unless `arithmetic`.
    """
    if divisor & (divisor - 1) == 0:
        return shift_right(a, divisor.bit_length() - 1, arithmetic)
    if not a.bounded:
        return UNKNOWN
    multiple = a.multiple // divisor if a.multiple % divisor == 0 else 1
    return _facts(_ALL, 0, a.upper // divisor, multiple)


def remainder(a: Bits, divisor: int, euclidean: bool = False) -> Bits:
    """Returns what is known of a modulo a positive divisor.

    a is unsigned, or signed when `euclidean`.
    """
    if a.upper < divisor:
        return a
    if divisor & (divisor - 1) == 0:
        return _facts(a.may & (divisor - 1), a.must & (divisor - 1), divisor - 1, 1)
    # A wrapped value is congruent to the true one only modulo powers of two.
    multiple = a.multiple if a.bounded or euclidean else low_bit(a.multiple)
    multiple = gcd(multiple, divisor)
    return _facts(_ALL, 0, divisor - 1, multiple)


@dataclass
class IndexBits:
    """Known-bits analysis of one function, remembering what it has computed.

    Bounds of thread ids come from `upper_bound` of the id or from the workgroup size that the
    function states. With `lanes`, digits of a linearize_index whose bound no bits
    show are looked at in every lane.
    """

    function: ir.Operation
    lanes: LaneEvaluator | None = None
    _known: dict[ir.Value, Bits] = field(default_factory=dict)
    _launch: Launch | None = None
    _rests_on_lanes: bool = False
    """Whether all lanes have shown more of a value than the bits do."""

    def __post_init__(self) -> None:
        self._launch = launch_of(self.function) if self.lanes is None else self.lanes.launch

    def has_known_as_much(self, without_lanes: IndexBits) -> bool:
        """Returns whether bits alone, without lanes, show all that is known of values so far."""
        return not self._rests_on_lanes and self._launch == without_lanes._launch

    def of(self, value: ir.Value) -> Bits:
        """Returns the facts on `value`, of index or integer type."""
        return compute_after_operands(value, self._known, _operands_of, self._compute)

    def trip_count(self, loop: ir.Operation) -> int | None:
        """Returns how often an `scf.for` runs; None where its bounds are not known."""
        lower, upper, step = (self.of(bound).constant for bound in bounds_of(loop))
        if lower is None or upper is None or not step:
            return None
        return max(0, -(-(upper - lower) // step))

    def multiple(self, indices: Sequence[ir.Value], strides: Sequence[int]) -> int:
        """Returns elements of which the place that `indices` denote is a multiple, in every lane.

        0 is a multiple of everything.
        """
        multiple = 0
        for index, stride in zip(indices, strides, strict=True):
            multiple = gcd(multiple, self.of(index).congruence.divisor * stride)
        return multiple

    def _compute(self, value: ir.Value, dependencies: Sequence[ir.Value]) -> Bits:
        operands = [self._known[each] for each in dependencies]
        width = bit_width(value.type)
        if width is None:
            return UNKNOWN
        if isinstance(value, ir.BlockArgument):
            return _induction(operands or _bounds_of_forall(value))
        operation = defining(value)
        name = operation.name
        if name in _LAUNCH_BOUNDS:
            return _launch_bound(operation, self._launch)
        transfer = _TRANSFER.get(name)
        if transfer is None:
            return UNKNOWN
        if name == "affine.linearize_index" and self.lanes is not None:
            return self._linearized(operation, operands, self.lanes)
        result = ir.OpResult(value).result_number
        return _truncate(transfer(operation, result, operands), width)

    def _linearized(
        self, linearize: ir.Operation, operands: list[Bits], lanes: LaneEvaluator
    ) -> Bits:
        """Returns what `_linearize` does of digits that are below their bases where all lanes have
        such digits."""
        count = linearize_digits(linearize)
        basis = basis_of(linearize, operands[count:], constant_bits)
        bounded = operands[:count]
        for number, base in enumerate(basis, start=count - len(basis)):
            facts = bounded[number]
            if not base.constant or facts.upper < base.constant:
                continue
            exact = lanes.evaluate(linearize.operands[number])
            if isinstance(exact, Unknown) or not exact.values.size:
                continue
            if exact.values.min() >= 0 and exact.values.max() < base.constant:
                bounded[number] = _facts(facts.may, facts.must, base.constant - 1, facts.multiple)
                self._rests_on_lanes = True
        return mixed_radix(bounded, basis, constant_bits, _onward)


def _operands_of(value: ir.Value) -> list[ir.Value]:
    return computed_from(value, _TRANSFER)


def _truncate(facts: Bits, width: int) -> Bits:
    """Returns what is known of the low `width` bits as an unsigned number.

    Facts that are not bounded hold for 32 bits already.
    """
    limit = (1 << width) - 1
    if width >= 32 or facts.upper <= limit:
        return facts
    return _facts(facts.may & limit, facts.must & limit, limit, low_bit(facts.multiple))


def _induction(bounds: list[Bits]) -> Bits:
    """Returns what is known of an scf.for induction variable.

    It is lower + k * step, below upper, with lower >= 0 and step > 0.
    """
    lower, upper, step = bounds
    if not lower.bounded:
        return _facts(_ALL, 0, _ALL, gcd(lower.multiple, step.multiple))
    first, limit, stride = lower.constant, upper.upper, step.constant
    largest = limit - 1 if upper.bounded and limit > 0 else _ALL
    if stride and first is not None and largest != _ALL and largest >= first:
        largest -= (largest - first) % stride if upper.constant is not None else 0
    # The low bits that the step leaves alone are those of the lower bound.
    kept = low_bit(step.multiple) - 1
    may = (_ALL & ~kept) | (lower.may & kept)
    multiple = gcd(lower.multiple, step.multiple)
    return _facts(may, lower.must & kept, max(largest, 0), multiple, exact=True)


def _bounds_of_forall(argument: ir.BlockArgument) -> list[Bits]:
    """Returns what is known of the bounds and the step of an induction variable of an scf.forall.

    Of other arguments of blocks nothing is known.
    """
    bounds = forall_bounds(argument)
    return [UNKNOWN if value is None else constant_bits(value) for value in bounds]


_LAUNCH_BOUNDS = frozenset({"gpu.thread_id", "gpu.lane_id", "gpu.subgroup_id"})


def _launch_bound(operation: ir.Operation, launch: Launch | None) -> Bits:
    limits: list[int] = []
    if "upper_bound" in operation.attributes:
        limits.append(ir.IntegerAttr(operation.attributes["upper_bound"]).value)
    if launch is not None:
        if operation.name == "gpu.thread_id":
            limits.append((*launch.workgroup_size, 1, 1)[dimension_of(operation)])
        else:
            is_lane = operation.name == "gpu.lane_id"
            limits.append(launch.subgroup_size if is_lane else launch.waves)
    return below(min(limits)) if limits else UNKNOWN


_Transfer = Callable[[ir.Operation, int, list[Bits]], Bits]


def _exact(operation: ir.Operation) -> bool:
    """Returns whether the operation is undefined when it wraps as a signed number."""
    attributes = operation.attributes
    return "overflowFlags" in attributes and "nsw" in str(attributes["overflowFlags"])


def _wrapping(function: Callable[[Bits, Bits, bool], Bits]) -> _Transfer:
    """Returns an operation that may wrap, which makes no difference to a small result."""

    def compute(operation: ir.Operation, result: int, operands: list[Bits]) -> Bits:
        found = function(operands[0], operands[1], False)
        if found.bounded or not _exact(operation):
            return found
        return function(operands[0], operands[1], True)

    return compute


_PRODUCT = _wrapping(multiply)


def _binary(function: Callable[[Bits, Bits], Bits]) -> _Transfer:
    return lambda operation, _, operands: function(*operands)


def _sign_clear(facts: Bits, operation: ir.Operation) -> bool:
    """Returns whether an operand is known to be no negative number."""
    width = bit_width(operation.operands[0].type) or 64
    return facts.bounded and facts.upper < 1 << (width - 1)


def _signed(transfer: _Transfer) -> _Transfer:
    """Returns a signed operation that equals the unsigned one when no operand is negative."""

    def compute(operation: ir.Operation, result: int, operands: list[Bits]) -> Bits:
        if not all(_sign_clear(operand, operation) for operand in operands):
            return UNKNOWN
        return transfer(operation, result, operands)

    return compute


def _shift_left(operation: ir.Operation, _: int, operands: list[Bits]) -> Bits:
    amount = operands[1].constant
    if amount is None or amount >= 31:
        return UNKNOWN
    return _PRODUCT(operation, _, [operands[0], constant_bits(1 << amount)])


def _shift_right_unsigned(operation: ir.Operation, _: int, operands: list[Bits]) -> Bits:
    amount = operands[1].constant
    if amount is None or amount >= 31:
        return below(operands[0].upper + 1) if operands[0].bounded else UNKNOWN
    return shift_right(operands[0], amount)


def _quotient(operation: ir.Operation, _: int, operands: list[Bits]) -> Bits:
    divisor = operands[1].constant
    if divisor:
        return divide(operands[0], divisor)
    return below(operands[0].upper + 1) if operands[0].bounded else UNKNOWN


def _quotient_up(operation: ir.Operation, _: int, operands: list[Bits]) -> Bits:
    divisor = operands[1].constant
    if not divisor or not operands[0].bounded:
        return UNKNOWN
    return divide(add(operands[0], constant_bits(divisor - 1)), divisor)


def _rest(operation: ir.Operation, _: int, operands: list[Bits]) -> Bits:
    dividend, divisor = operands
    if divisor.constant:
        return remainder(dividend, divisor.constant)
    largest = min(dividend.upper, max(divisor.upper - 1, 0) if divisor.bounded else _ALL)
    return below(largest + 1) if largest < _BOUND else UNKNOWN


def _maximum(operation: ir.Operation, _: int, operands: list[Bits]) -> Bits:
    return join(*operands)


def _select(operation: ir.Operation, _: int, operands: list[Bits]) -> Bits:
    return join(*operands[-2:])


def _pass_through(operation: ir.Operation, _: int, operands: list[Bits]) -> Bits:
    return operands[0]


def _reinterpreted(operation: ir.Operation, _: int, operands: list[Bits]) -> Bits:
    """Zero-extends or truncates; of a value that may have its sign bit set, the low bits stay."""
    source = operands[0]
    return source if source.bounded else _facts(source.may, source.must, _ALL, source.multiple)


def _sign_extend(operation: ir.Operation, _: int, operands: list[Bits]) -> Bits:
    """Returns facts whose bits from the sign bit on are unknown unless that bit is known as 0."""
    source = operands[0]
    width = bit_width(operation.operands[0].type)
    if width is None or width >= 64:
        return _reinterpreted(operation, _, operands)
    if _sign_clear(source, operation):
        return source
    low = (1 << min(width - 1, 31)) - 1
    return _facts(source.may & low | _ALL & ~low, source.must & low, _ALL, low_bit(source.multiple))


def _constant(operation: ir.Operation, _: int, operands: list[Bits]) -> Bits:
    value = operation.attributes["value"]
    if not isinstance(value, ir.IntegerAttr | ir.BoolAttr):
        return UNKNOWN
    number = int(value.value)
    width = bit_width(operation.results[0].type) or 64
    return constant_bits(number if width == 64 else number & ((1 << width) - 1))


class _BitArithmetic:
    """Affine expressions: their arithmetic does not wrap, their mod and floordiv round down."""

    def constant(self, value: int) -> Bits:
        """Returns the facts on a number."""
        return constant_bits(value)

    def binary(self, expression: ir.AffineBinaryExpr, left: Bits, right: Bits) -> Bits:
        """Returns the facts on the sum, product, remainder or quotient."""
        if isinstance(expression, ir.AffineAddExpr):
            return add(left, right, exact=True)
        if isinstance(expression, ir.AffineMulExpr):
            return multiply(left, right, exact=True)
        divisor = right.constant
        if not divisor:
            return UNKNOWN
        if isinstance(expression, ir.AffineModExpr):
            return remainder(left, divisor, euclidean=True)
        if isinstance(expression, ir.AffineFloorDivExpr):
            return divide(left, divisor, arithmetic=True)
        if not left.bounded:
            return UNKNOWN
        return divide(add(left, constant_bits(divisor - 1)), divisor)


def _affine_apply(operation: ir.Operation, _: int, operands: list[Bits]) -> Bits:
    return affine_results(operation, operands, _BitArithmetic())[0]


def _affine_extremum(operation: ir.Operation, _: int, operands: list[Bits]) -> Bits:
    """Returns what is known of affine.min or affine.max, which is one of the map's results.

    The smallest result is below every bound of them.
    """
    results = affine_results(operation, operands, _BitArithmetic())
    is_minimum = operation.name == "affine.min" and all(r.bounded for r in results)
    return reduce(minimum if is_minimum else join, results)


def _delinearize(operation: ir.Operation, result: int, operands: list[Bits]) -> Bits:
    """Returns the facts on digit `result` of a mixed-radix number."""
    bases = digit_bases(operation, operands[1:], constant_bits)
    own = bases[result - 1] if result else None
    value = operands[0]
    for base in bases[result:]:
        if not base.constant:
            value = UNKNOWN
            break
        value = divide(value, base.constant, arithmetic=True)
    if own is None:
        return value
    if own.constant:
        return remainder(value, own.constant, euclidean=True)
    return below(own.upper) if own.bounded and own.upper else UNKNOWN


def _linearize(operation: ir.Operation, _: int, operands: list[Bits]) -> Bits:
    """Returns the mixed-radix number of the digits.

    `disjoint` promises that each digit is below its base. That is not relied on: passes that take
    constants out of digits keep the keyword, though what is left may be negative. See
    `IndexBits.lanes`.
    """
    return linearized(operation, operands, constant_bits, _onward)


def _onward(total: Bits, base: Bits, digit: Bits) -> Bits:
    return add(multiply(total, base, exact=True), digit, exact=True)


_TRANSFER: Mapping[str, _Transfer] = MappingProxyType(
    {
        "arith.constant": _constant,
        "arith.addi": _wrapping(add),
        "arith.subi": _wrapping(subtract),
        "arith.muli": _PRODUCT,
        "arith.shli": _shift_left,
        "arith.shrui": _shift_right_unsigned,
        "arith.shrsi": _signed(_shift_right_unsigned),
        "arith.andi": _binary(bit_and),
        "arith.ori": _binary(bit_or),
        "arith.xori": _binary(bit_xor),
        "arith.divui": _quotient,
        "arith.divsi": _signed(_quotient),
        "arith.floordivsi": _signed(_quotient),
        "arith.ceildivui": _quotient_up,
        "arith.ceildivsi": _signed(_quotient_up),
        "arith.remui": _rest,
        "arith.remsi": _signed(_rest),
        "arith.minui": _binary(minimum),
        "arith.minsi": _signed(_binary(minimum)),
        "arith.maxui": _maximum,
        "arith.maxsi": _maximum,
        "arith.select": _select,
        "arith.index_cast": _sign_extend,
        "arith.index_castui": _reinterpreted,
        "arith.extsi": _sign_extend,
        "arith.extui": _reinterpreted,
        "arith.trunci": _reinterpreted,
        "affine.apply": _affine_apply,
        "affine.min": _affine_extremum,
        "affine.max": _affine_extremum,
        "affine.delinearize_index": _delinearize,
        "affine.linearize_index": _linearize,
        "gpu.subgroup_broadcast": _pass_through,
        "iree_codegen.index_hint": _pass_through,
        "util.assume.int": _pass_through,
        "scf.if": _select,
    }
)
