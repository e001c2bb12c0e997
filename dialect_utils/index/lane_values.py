# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The value that an index or integer SSA value has in every lane of one workgroup.

A GPU function runs once per thread, so `%row = affine.apply ...(%thread_id_x)` is really a whole
table: one number per lane of each wave. This module computes that table exactly, with NumPy, by
walking up the operations that define the value. What is the same for all workgroups only through
memory or the grid (loads, workgroup ids, function arguments) is not known here and comes back as
`Unknown` with the operation to blame.

A value inside loops differs from iteration to iteration. It then has one leading axis per loop it
depends on, outermost first, so that a value that ignores a loop costs nothing for it:

    scf.for %i = %c0 to %c4 step %c1 {         workgroup_size = [128, 1, 1] subgroup_size = 64
      %a = arith.addi %thread_id_x, %c1        values [2, 64],    loops ()
      %b = arith.addi %a, %i                   values [4, 2, 64], loops (loop of %i)
    }

Semantics are those of the dialects' documentation: `index` is a 64-bit integer here (the values
that address LDS fit in any index width), iN wraps at N bits. Where an operation's result is
undefined (division by zero, a shift beyond the width) the value is `Unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from iree.compiler import ir

from ...bank_model.descriptor_tiles import LANES
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ..diagnostics import Refusal
from ..gpu_target import Launch
from ..loops import FOR, bounds_of, is_induction, loop_depth
from ..operations import constant_value, defining_operation
from .index_cloner import is_uniform
from .index_ops import (
    affine_results,
    basis_of,
    bit_width,
    block_owner,
    compute_after_operands,
    computed_from,
    defining,
    digit_bases,
    dimension_of,
    linearized,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt

IntArray: TypeAlias = "npt.NDArray[np.int64]"
BoolArray: TypeAlias = "npt.NDArray[np.bool_]"

_ADD, _SUBTRACT, _QUOTIENT, _REMAINDER = "arith.addi", "arith.subi", "arith.divui", "arith.remui"

MAX_LANE_VALUES = 1 << 22
"""The most numbers that one value may hold; beyond it, enumerating the loops is refused."""


def thread_ids(launch: Launch) -> IntArray:
    """Returns linear thread ids [waves, subgroup_size]; lanes beyond the workgroup count on.

    Thread (x, y, z) has the id x + y * Dx + z * Dx * Dy; its wave is id // subgroup_size and its
    lane id % subgroup_size.
    """
    ids = np.arange(launch.waves * launch.subgroup_size, dtype=np.int64)
    return ids.reshape(launch.waves, launch.subgroup_size)


def thread_places(launch: Launch) -> tuple[IntArray, IntArray, IntArray]:
    """Returns the x, y and z of each lane [waves, subgroup_size]."""
    x, y = _size(launch, 0), _size(launch, 1)
    ids = thread_ids(launch)
    return ids % x, ids // x % y, ids // (x * y)


def existing_lanes(launch: Launch) -> BoolArray:
    """Returns the lanes [waves, subgroup_size] that hold a thread.

    The last wave may not be full.
    """
    return thread_ids(launch) < launch.threads


def check_full_warps(launch: Launch) -> None:
    """Makes sure that the threads of a workgroup are whole warps of neighbours along x.

    Raises:
        Refusal: they are not.
    """
    if launch.subgroup_size != LANES or not existing_lanes(launch).all():
        raise Refusal("a warp of the workgroup is not full")
    if launch.workgroup_size[0] % LANES:
        raise Refusal("the lanes of a warp are not neighbours along x")


def _size(launch: Launch, dimension: int) -> int:
    return (*launch.workgroup_size, 1, 1, 1)[dimension]


class Loop(NamedTuple):
    """An `scf.for` that a value depends on: how many loops surround it, and its iterations.

    Loops around one operation nest in each other, so the depth tells them apart.
    """

    depth: int
    iterations: int


class Unknown(NamedTuple):
    """A value that cannot be computed for one workgroup, and the operation that is to blame."""

    reason: str


@dataclass(frozen=True, eq=False)
class LaneValues:
    """A known value: int64 [*iterations of loops, waves or 1, lanes or 1]; 1 where all are equal.

    Integers narrower than 64 bits are held sign-extended, so a true i1 is -1.
    """

    values: IntArray
    loops: tuple[Loop, ...] = ()

    @property
    def uniform(self) -> int | None:
        """Returns the value when it is the same in all lanes and iterations, else None."""
        flat = self.values.reshape(-1)
        return int(flat[0]) if flat.size and (flat == flat[0]).all() else None

    def pattern(self) -> tuple[Hashable, int]:
        """Returns what differs between lanes and iterations, and the number that is added to it.

        Two values have the same pattern if and only if they differ by the same number in all lanes
        and iterations, which then is the difference of their numbers. An axis along which nothing
        differs is no part of the pattern. Of a value without any iteration the number is 0.
        """
        if not self.values.size:
            return (self.loops, self.values.shape), 0
        number = self.values.flat[0]
        rest, loops = self.values - number, list[Loop]()
        for axis, size in enumerate(rest.shape):
            if size == 1:
                continue
            first = rest[(slice(None),) * axis + (slice(1),)]
            if (rest == first).all():
                rest = first
            elif axis < len(self.loops):
                loops.append(self.loops[axis])
        return (tuple(loops), rest.shape[-2:], rest.tobytes()), int(number)

    def full(self, launch: Launch) -> IntArray:
        """Returns the values as [*iterations, waves, subgroup_size]."""
        shape = (*(loop.iterations for loop in self.loops), launch.waves, launch.subgroup_size)
        return np.broadcast_to(self.values, shape)

    def truth(self) -> LaneValues:
        """Returns 1 where the value is not zero, and 0 elsewhere."""
        return LaneValues((self.values != 0).astype(np.int64), self.loops)


def constant(value: int) -> LaneValues:
    """Returns the value that is `value` everywhere."""
    return LaneValues(np.array(((value,),), dtype=np.int64))


def align(values: Sequence[LaneValues]) -> tuple[tuple[Loop, ...], list[IntArray]]:
    """Gives all values the same loops; returns these and arrays that broadcast together."""
    loops = values[0].loops if values else ()
    if all(value.loops == loops for value in values):
        return loops, [value.values for value in values]
    loops = tuple(sorted({loop for value in values for loop in value.loops}))
    aligned: list[IntArray] = []
    for value in values:
        shape = [loop.iterations if loop in value.loops else 1 for loop in loops]
        aligned.append(value.values.reshape(*shape, *value.values.shape[-2:]))
    return loops, aligned


def combine(function: Callable[..., Any], *values: LaneValues | Unknown) -> LaneValues | Unknown:
    """Applies a NumPy function lane by lane.

    Returns Unknown when the result would be too large, and the first value that is unknown.
    """
    known: list[LaneValues] = []
    for each in values:
        if isinstance(each, Unknown):
            return each
        known.append(each)
    loops, arrays = align(known)
    # Together they are no more than their product, which is counted sooner.
    if prod(each.size for each in arrays) > MAX_LANE_VALUES:
        size = prod(np.broadcast_shapes(*(each.shape for each in arrays)))
        if size > MAX_LANE_VALUES:
            what = f"{size} values over all iterations of the loops"
            return Unknown(f"{what} are too many to enumerate")
    return LaneValues(np.asarray(function(*arrays), dtype=np.int64), loops)


class LoopRange(NamedTuple):
    """The iterations of an `scf.for`: its induction variable, and where a lane still iterates."""

    induction: LaneValues
    running: LaneValues
    """1 where the lane executes the iteration, 0 where its loop has ended."""
    loop: Loop

    @property
    def uniform(self) -> bool:
        """Returns whether all lanes execute all iterations."""
        return bool((self.running.values != 0).all())


@dataclass
class LaneEvaluator:
    """Evaluates values of one function under one launch, remembering what it has computed.

    Attributes:
        given: values that are known from elsewhere, such as the workgroup's number.
    """

    launch: Launch
    given: Mapping[ir.Value, LaneValues | Unknown] = field(default_factory=dict)
    _known: dict[ir.Value, LaneValues | Unknown] = field(
        default_factory=dict, init=False, repr=False
    )

    def __post_init__(self) -> None:
        self._known.update(self.given)

    def evaluate(self, value: ir.Value) -> LaneValues | Unknown:
        """Returns the value in all lanes, or why it cannot be known."""
        return compute_after_operands(value, self._known, _operands_of, self._compute)

    def known(self, value: ir.Value, what: str = "an index") -> LaneValues:
        """Returns the value in all lanes.

        Args:
            what: the value as a refusal names it.

        Raises:
            Refusal: it cannot be known.
        """
        found = self.evaluate(value)
        if isinstance(found, Unknown):
            raise Refusal(f"{what} depends on the {found.reason}")
        return found

    def element(
        self,
        indices: Iterable[ir.Value | int],
        strides: Iterable[int],
        begin: LaneValues | Unknown | None = None,
    ) -> LaneValues | Unknown:
        """Returns a buffer's element that indices denote, counted from `begin` if it is given."""
        total = constant(0) if begin is None else begin
        for index, stride in zip(indices, strides, strict=True):
            value = constant(index) if isinstance(index, int) else self.evaluate(index)
            total = combine(lambda t, v, by=stride: t + v * by, total, value)
        return total

    def loop_range(self, loop: ir.Operation) -> LoopRange | Unknown:
        """Returns the iterations of an `scf.for`, one axis for all of them.

        Returns Unknown where the bounds are not known.
        """
        bounds: list[LaneValues] = []
        for operand in bounds_of(loop):
            bound = self.evaluate(operand)
            if isinstance(bound, Unknown):
                return bound
            bounds.append(bound)
        return _enumerate_iterations(loop, bounds)

    def trip_count(self, loop: ir.Operation) -> int | Unknown:
        """Returns how often an `scf.for` runs when all lanes agree on it.

        The iterations are never enumerated.
        """
        bounds: list[int] = []
        for operand in bounds_of(loop):
            bound = self.evaluate(operand)
            if isinstance(bound, Unknown):
                return bound
            if bound.uniform is None:
                return Unknown("scf.for with bounds that differ between lanes or iterations")
            bounds.append(bound.uniform)
        lower, upper, step = bounds
        if step < 1:
            return Unknown("scf.for with a step below 1")
        if _is_unsigned(loop) and min(lower, upper) < 0:
            return Unknown("scf.for that compares negative bounds unsigned")
        return max(0, -(-(upper - lower) // step))

    def _compute(self, value: ir.Value, operands: Sequence[ir.Value]) -> LaneValues | Unknown:
        width = bit_width(value.type)
        if width is None:
            return Unknown(f"value of type {value.type}")
        arguments: list[LaneValues] = []
        for operand in operands:
            argument = self._known[operand]
            if isinstance(argument, Unknown):
                turns = _turns_of(value)
                return argument if turns is None else turns
            arguments.append(argument)
        if isinstance(value, ir.BlockArgument):
            return self._block_argument(value, arguments)
        operation = defining(value)
        name = _name(operation)
        if name in _SOURCES:
            return _SOURCES[name](operation, self.launch)
        return _computed(operation, name, ir.OpResult(value).result_number, width, arguments)

    def _block_argument(
        self, value: ir.BlockArgument, bounds: list[LaneValues]
    ) -> LaneValues | Unknown:
        owner = block_owner(value)
        if owner.name != FOR:
            return Unknown(f"block argument of {owner.name}")
        if value.arg_number != 0:
            return Unknown("value carried around an scf.for")
        iterations = _enumerate_iterations(owner, bounds)
        return iterations if isinstance(iterations, Unknown) else iterations.induction


def compute_result(
    operation: ir.Operation, result: int, operands: list[LaneValues]
) -> LaneValues | Unknown:
    """Returns result number `result` of an integer or index operation on known operands."""
    return _computed(
        operation, _name(operation), result, bit_width(operation.results[result].type), operands
    )


def _computed(
    operation: ir.Operation,
    name: str,
    result: int,
    width: int | None,
    operands: list[LaneValues],
) -> LaneValues | Unknown:
    if name not in _computing() or width is None:
        return Unknown(f"result of {name}")
    computed = _computing()[name](operation, result, operands)
    if isinstance(computed, Unknown) or width == 64:
        return computed
    return LaneValues(_wrap(computed.values, width), computed.loops)


def _name(operation: ir.Operation) -> str:
    return operation.operation.name


def _wrap(values: IntArray, width: int) -> IntArray:
    """Keeps the low `width` bits, sign-extended: 200 is -56 as i8."""
    shift = 64 - width
    return (values << shift) >> shift if shift else values


def _unsigned(values: IntArray, width: int) -> npt.NDArray[np.uint64]:
    """Returns the same `width` bits read as an unsigned number: i8 -56 is 200."""
    return values.view(np.uint64) & np.uint64((1 << width) - 1)


def _operands_of(value: ir.Value) -> list[ir.Value]:
    return computed_from(value, _computing())


def _is_unsigned(loop: ir.Operation) -> bool:
    return "unsignedCmp" in loop.attributes


def _enumerate_iterations(loop: ir.Operation, bounds: list[LaneValues]) -> LoopRange | Unknown:
    """Returns the iterations of a loop with these bounds.

    Iteration t of a lane has the value lower + t * step, and is executed while that is below upper.
    """
    lower, upper, step = bounds
    if step.values.size == 0 or step.values.min() < 1:
        return Unknown("scf.for with a step below 1")
    if _is_unsigned(loop) and min(lower.values.min(), upper.values.min()) < 0:
        return Unknown("scf.for that compares negative bounds unsigned")
    counts = combine(lambda lo, up, by: -((lo - up) // by), lower, upper, step)
    if isinstance(counts, Unknown):
        return counts
    iterations = max(0, int(counts.values.max())) if counts.values.size else 0
    if iterations > MAX_LANE_VALUES:
        return Unknown(f"scf.for with {iterations} iterations, too many to enumerate")
    axis = Loop(loop_depth(loop), iterations)
    numbers = LaneValues(np.arange(iterations, dtype=np.int64).reshape(-1, 1, 1), (axis,))
    induction = combine(lambda lo, by, t: lo + by * t, lower, step, numbers)
    if isinstance(induction, Unknown):
        return induction
    running = combine(lambda iv, up: iv < up, induction, upper)
    return running if isinstance(running, Unknown) else LoopRange(induction, running, axis)


def _turns_of(value: ir.Value) -> LaneValues | None:
    """Returns what slots that take turns in a loop of unknown length are numbered.

        %t = (%i - lower) / step        the number of the iteration
        %s = (%t + c) mod n             known for n iterations, after which it repeats

    A loop that begins elsewhere has the same numbers, the first of them with a later iteration.
    None stands for a value of another form.
    """
    turns = defining_operation(value)
    if turns is None or turns.name != _REMAINDER:
        return None
    count, later, number = constant_value(turns.operands[1]), 0, turns.operands[0]
    added = defining_operation(number)
    if added is not None and added.name == _ADD:
        later, number = constant_value(added.operands[1]), added.operands[0]
    quotient = defining_operation(number)
    if quotient is None or quotient.name != _QUOTIENT:
        return None
    begun, step = quotient.operands
    difference = defining_operation(begun)
    first: int | None = 0
    if difference is not None and difference.name == _SUBTRACT:
        begun, first = difference.operands[0], constant_value(difference.operands[1])
    if not is_induction(begun) or not count or first is None or later is None:
        return None
    loop = block_owner(ir.BlockArgument(begun))
    begin, _, by = bounds_of(loop)
    stride = constant_value(by)
    if not is_uniform(begin) or not stride or stride != constant_value(step):
        return None
    if min(count, stride, later) < 0 or (constant_value(begin) or first) < first:
        return None
    numbers = (np.arange(count, dtype=np.int64) + later) % count
    return LaneValues(numbers.reshape(-1, 1, 1), (Loop(loop_depth(loop), count),))


# Values that depend on the lane and the launch alone.

_Source = Callable[[ir.Operation, Launch], LaneValues | Unknown]


def _thread_id(operation: ir.Operation, launch: Launch) -> LaneValues:
    return LaneValues(thread_places(launch)[dimension_of(operation)])


def _constant(operation: ir.Operation, launch: Launch) -> LaneValues | Unknown:
    attribute = operation.attributes["value"]
    if isinstance(attribute, ir.BoolAttr):
        return constant(-1 if attribute.value else 0)
    if isinstance(attribute, ir.IntegerAttr):
        width = bit_width(attribute.type) or 64
        value = attribute.value & ((1 << width) - 1)
        return constant(value - (1 << width) if value >> (width - 1) else value)
    return Unknown(f"constant {attribute}")


_SOURCES: Mapping[str, _Source] = MappingProxyType(
    {
        "arith.constant": _constant,
        "gpu.thread_id": _thread_id,
        "gpu.lane_id": lambda op, launch: LaneValues(thread_ids(launch)[:1]),
        "gpu.subgroup_id": lambda op, launch: LaneValues(
            thread_ids(launch)[:, :1] // launch.subgroup_size
        ),
        "gpu.block_dim": lambda op, launch: constant(_size(launch, dimension_of(op))),
        "gpu.subgroup_size": lambda op, launch: constant(launch.subgroup_size),
        "gpu.num_subgroups": lambda op, launch: constant(launch.waves),
    }
)


# Values computed from others: (operation, result number, operands) -> value, before wrapping to
# the result's width.

_Computed = Callable[[ir.Operation, int, list[LaneValues]], LaneValues | Unknown]


def _operand_width(operation: ir.Operation) -> int:
    return bit_width(operation.operands[0].type) or 64


def _lane_wise(function: Callable[..., Any]) -> _Computed:
    """Returns an operation on sign-extended values whose low bits are right whatever the width."""
    return lambda operation, result, operands: combine(function, *operands)


def _on_unsigned(function: Callable[..., Any]) -> _Computed:
    """Returns an operation on the operands read as unsigned numbers of their own width."""

    def compute(
        operation: ir.Operation, result: int, operands: list[LaneValues]
    ) -> LaneValues | Unknown:
        width = _operand_width(operation)

        def on_arrays(*arrays: IntArray) -> IntArray:
            value = np.asarray(function(*(_unsigned(a, width) for a in arrays)))
            return value.astype(np.uint64).view(np.int64)

        return combine(on_arrays, *operands)

    return compute


def _dividing(computed: _Computed) -> _Computed:
    """Returns a division: undefined when some lane divides by zero."""

    def compute(
        operation: ir.Operation, result: int, operands: list[LaneValues]
    ) -> LaneValues | Unknown:
        if (operands[1].values == 0).any():
            return Unknown(f"{_name(operation)} by zero")
        # NumPy warns where the least number is divided by -1, which wraps.
        with np.errstate(over="ignore"):
            return computed(operation, result, operands)

    return compute


def _shifting(computed: _Computed) -> _Computed:
    """Returns a shift: undefined when some lane shifts by the width or more."""

    def compute(
        operation: ir.Operation, result: int, operands: list[LaneValues]
    ) -> LaneValues | Unknown:
        width = _operand_width(operation)
        if (_unsigned(operands[1].values, width) >= width).any():
            return Unknown(f"{_name(operation)} by the width of its type or more")
        return computed(operation, result, operands)

    return compute


def _toward_zero(a: IntArray, b: IntArray) -> IntArray:
    # NumPy rounds down; C and MLIR round a negative quotient up.
    inexact_negative = (a % b != 0) & ((a < 0) != (b < 0))
    return a // b + inexact_negative


@cache
def _predicates() -> tuple[_Computed, ...]:
    """Returns what arith.cmpi compares by: eq ne slt sle sgt sge ult ule ugt uge, as it numbers
    them."""
    return (
        _lane_wise(np.equal),
        _lane_wise(np.not_equal),
        _lane_wise(np.less),
        _lane_wise(np.less_equal),
        _lane_wise(np.greater),
        _lane_wise(np.greater_equal),
        _on_unsigned(np.less),
        _on_unsigned(np.less_equal),
        _on_unsigned(np.greater),
        _on_unsigned(np.greater_equal),
    )


def _compare(
    operation: ir.Operation, result: int, operands: list[LaneValues]
) -> LaneValues | Unknown:
    predicate = ir.IntegerAttr(operation.attributes["predicate"]).value
    return _predicates()[predicate](operation, result, operands)


def _select(
    operation: ir.Operation, result: int, operands: list[LaneValues]
) -> LaneValues | Unknown:
    return combine(lambda c, a, b: np.where(c != 0, a, b), *operands)


def _pass_through(operation: ir.Operation, result: int, operands: list[LaneValues]) -> LaneValues:
    return operands[0]


def _subgroup_broadcast(
    operation: ir.Operation, result: int, operands: list[LaneValues]
) -> LaneValues | Unknown:
    value = operands[0]
    if value.values.shape[-1] == 1 or (value.values == value.values[..., :1]).all():
        return LaneValues(value.values[..., :1], value.loops)
    lane = operands[1].uniform if len(operands) == 2 else None
    if lane is None:
        # Which lanes are active here is not known, so neither is the first of them.
        return Unknown("gpu.subgroup_broadcast of a value that differs between lanes")
    if not 0 <= lane < value.values.shape[-1]:
        return Unknown(f"gpu.subgroup_broadcast from lane {lane}")
    return LaneValues(value.values[..., lane : lane + 1], value.loops)


class _LaneArithmetic:
    """Affine expressions lane by lane; what is unknown stays unknown."""

    def constant(self, value: int) -> LaneValues | Unknown:
        """Returns the number in all lanes."""
        return constant(value)

    def binary(
        self,
        expression: ir.AffineBinaryExpr,
        left: LaneValues | Unknown,
        right: LaneValues | Unknown,
    ) -> LaneValues | Unknown:
        """Returns the sum, product, remainder or quotient in each lane."""
        if isinstance(left, Unknown):
            return left
        if isinstance(right, Unknown):
            return right
        if isinstance(expression, ir.AffineAddExpr):
            return combine(np.add, left, right)
        if isinstance(expression, ir.AffineMulExpr):
            return combine(np.multiply, left, right)
        if (right.values <= 0).any():
            return Unknown("affine division by a number below 1")
        if isinstance(expression, ir.AffineModExpr):
            return combine(np.mod, left, right)
        if isinstance(expression, ir.AffineFloorDivExpr):
            return combine(np.floor_divide, left, right)
        # Not -(-a // b): the smallest integer has no negative.
        return combine(lambda a, b: a // b + (a % b != 0), left, right)


def _affine_reduce(function: Callable[..., Any]) -> _Computed:
    """Makes affine.apply, min or max: the map's results, reduced by `function`."""

    def compute(
        operation: ir.Operation, result: int, operands: list[LaneValues]
    ) -> LaneValues | Unknown:
        total, *others = affine_results(operation, operands, _LaneArithmetic())
        for value in others:
            total = combine(function, total, value)
        return total

    return compute


def _delinearize(
    operation: ir.Operation, result: int, operands: list[LaneValues]
) -> LaneValues | Unknown:
    """Returns digit `result` of a mixed-radix number: by (4, 16), 83 is 1, 1, 3.

    All digits but the first are taken modulo their base.
    """
    number, *dynamic = operands
    least = [int(each.values.min(initial=1)) for each in dynamic]
    if min(basis_of(operation, least, int), default=1) <= 0:
        return Unknown("affine.delinearize_index by a number below 1")
    sizes = digit_bases(operation, dynamic, int)
    above, own = sizes[result:], sizes[result - 1 : result] if result else []
    used = [each for each in (*above, *own) if isinstance(each, LaneValues)]

    def digit(value: Any, *given: Any) -> Any:
        known = iter(given)
        for size in above:
            value = value // (next(known) if isinstance(size, LaneValues) else size)
        for size in own:
            value = value % (next(known) if isinstance(size, LaneValues) else size)
        return value

    return combine(digit, number, *used)


def _linearize(
    operation: ir.Operation, result: int, operands: list[LaneValues]
) -> LaneValues | Unknown:
    def number(*arrays: Any) -> Any:
        return linearized(operation, arrays, int, lambda total, base, digit: total * base + digit)

    return combine(number, *operands) if operands else constant(0)


def _quotient_up(a: Any, b: Any) -> Any:
    return a // b + (a % b != 0).astype(np.uint64)


@cache
def _computing() -> Mapping[str, _Computed]:
    """Returns what computes values of operations, by their names. NumPy may not be loaded when this
    module is."""
    return {
        "arith.addi": _lane_wise(np.add),
        "arith.subi": _lane_wise(np.subtract),
        "arith.muli": _lane_wise(np.multiply),
        "arith.divsi": _dividing(_lane_wise(_toward_zero)),
        "arith.divui": _dividing(_on_unsigned(np.floor_divide)),
        "arith.ceildivsi": _dividing(_lane_wise(lambda a, b: a // b + (a % b != 0))),
        "arith.ceildivui": _dividing(_on_unsigned(_quotient_up)),
        "arith.floordivsi": _dividing(_lane_wise(np.floor_divide)),
        "arith.remsi": _dividing(_lane_wise(np.fmod)),
        "arith.remui": _dividing(_on_unsigned(np.mod)),
        "arith.andi": _lane_wise(np.bitwise_and),
        "arith.ori": _lane_wise(np.bitwise_or),
        "arith.xori": _lane_wise(np.bitwise_xor),
        "arith.shli": _shifting(_lane_wise(np.left_shift)),
        "arith.shrsi": _shifting(_lane_wise(np.right_shift)),
        "arith.shrui": _shifting(_on_unsigned(np.right_shift)),
        "arith.minsi": _lane_wise(np.minimum),
        "arith.maxsi": _lane_wise(np.maximum),
        "arith.minui": _on_unsigned(np.minimum),
        "arith.maxui": _on_unsigned(np.maximum),
        "arith.cmpi": _compare,
        "arith.select": _select,
        "arith.index_cast": _pass_through,
        "arith.index_castui": _on_unsigned(lambda a: a),
        "arith.extsi": _pass_through,
        "arith.extui": _on_unsigned(lambda a: a),
        "arith.trunci": _pass_through,
        "scf.if": _select,
        "affine.apply": _affine_reduce(np.add),
        "affine.min": _affine_reduce(np.minimum),
        "affine.max": _affine_reduce(np.maximum),
        "affine.delinearize_index": _delinearize,
        "affine.linearize_index": _linearize,
        "gpu.subgroup_broadcast": _subgroup_broadcast,
        "iree_codegen.index_hint": _pass_through,
        "util.assume.int": _pass_through,
        "util.optimization_barrier": _pass_through,
    }
