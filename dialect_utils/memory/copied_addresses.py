# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where in global memory the lanes of a `cp.async` read, as far as its bank conflicts depend on it.

These depend on how addresses differ between the lanes of a warp, and on where in a line of 128
bytes they lie. A workgroup's number or a buffer's address need not be known for that: an index is a
number that each lane has, and one that all lanes of a warp share, of which a multiple is known.

    %row = affine.apply (d0 * 64 + s0 floordiv 8)[%workgroup, %thread]      of memref<?x128xf16>
    lanes 0, 0, ..., 1, 1, ..., and a multiple of 64 rows, which are whole lines

Where the rows of some workgroups are others, as at the end of a matmul whose sizes its tile does
not divide, that says nothing. It is looked what the lanes read in every workgroup then. Of
workgroups that read from the same places of lines, one stands for all. If only the program knows
where rows end, as many lanes as there can be read before that end (`copies_before_ends.py`).

Buffers are taken to begin at a line, as those of IREE's CUDA driver do; the IR promises 64 bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import reduce
from itertools import product
from math import gcd, prod
from types import MappingProxyType

import numpy as np
from iree.compiler import ir

from ...bank_model.accesses import LINE_BYTES, CopySources, from_lines
from ...bank_model.distinct_numbers import distinct_numbers
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ..diagnostics import Refusal
from ..dynamic_sizes import DYNAMIC
from ..gpu_target import Launch
from ..index.index_bits import Congruence, IndexBits
from ..index.index_ops import (
    affine_results,
    compute_after_operands,
    computed_from,
    defining,
    linearized,
)
from ..index.lane_values import (
    MAX_LANE_VALUES,
    BoolArray,
    IntArray,
    LaneEvaluator,
    LaneValues,
    Loop,
    Unknown,
    align,
    combine,
    constant,
)
from ..index.workgroups import (
    WORKGROUP_DEPTH,
    parts_of_workgroups,
    workgroup_numbers,
    workgroups,
)
from ..operations import defining_operation, mixed_operands, segments_of
from .buffer_starts import start_alignment
from .copies_before_ends import (
    ROWS_FROM_ZERO,
    End,
    conjuncts,
    end_of,
    read_condition,
    without_end,
)
from .lane_dependence import LaneDependence
from .lds_ops import SUBVIEW, is_view_in_order
from .memref_types import strides_and_offset, type_of, whole_element_bits

ASSUMPTION = f"global memory that cp.async reads begins at a multiple of {LINE_BYTES} bytes"
_MOST_WORKGROUPS = 1 << 16
"""The most workgroups that are looked at one by one."""
_MOST_ENDS = 1 << 10
"""The most ends of rows that are looked at one by one."""
_NUMBERS_AT_ONCE = 1 << 19
"""How many numbers the workgroups may have together that are looked at at once."""
_NUMBERS_KEPT = 1 << 16
"""How many numbers a value of several workgroups may be, if it is kept for the next copy."""
WORST_WORKGROUP = (
    "where some workgroups read other rows by cp.async than others, that with most bank conflicts "
    "counts"
)
_ZERO = Congruence(0, 0)
_READS = LaneValues(np.ones((1, 1), dtype=np.int64))
_NOTHING = constant(0)


class SharedOffset(NamedTuple):
    """A number of each lane, and one that is added to it in all lanes of a warp.

    Of the latter all that is known is a congruence, which holds in every iteration.

    Where workgroups are told apart, a part of the number may depend on them and on no loop, and is
    kept beside the rest: all workgroups in all iterations are many times as many numbers.

    Attributes:
        lanes: the number of each lane, without `apart`.
        shared: what is known of the number that is added in all lanes.
        apart: what is added to `lanes` in each workgroup; it has the axis of workgroups alone.
    """

    lanes: LaneValues
    shared: Congruence = _ZERO
    apart: LaneValues = _NOTHING

    def times(self, factor: int) -> SharedOffset | Unknown:
        """Returns the product with a number."""
        lanes = combine(lambda values: values * factor, self.lanes)
        if isinstance(lanes, Unknown):
            return lanes
        apart = LaneValues(self.apart.values * factor, self.apart.loops)
        return SharedOffset(lanes, self.shared.times(factor), apart)

    def plus(self, other: SharedOffset) -> SharedOffset | Unknown:
        """Returns the sum."""
        lanes = combine(np.add, self.lanes, other.lanes)
        apart = combine(np.add, self.apart, other.apart)
        if isinstance(lanes, Unknown):
            return lanes
        if isinstance(apart, Unknown):
            return apart
        return SharedOffset(lanes, self.shared.plus(other.shared), apart)

    def divided(self, divisor: int) -> tuple[SharedOffset, SharedOffset] | Unknown:
        """Returns quotient, rounded down, and remainder, where the shared number does not carry."""
        if self.apart.loops:
            return Unknown("division of what differs between workgroups")
        modulus, residue = self.shared.modulus, self.shared.residue
        if divisor <= 0 or modulus % divisor:
            return Unknown(f"division of a number that is not known by {divisor}")
        quotient = combine(lambda values: (values + residue) // divisor, self.lanes)
        remainder = combine(lambda values: (values + residue) % divisor, self.lanes)
        if isinstance(quotient, Unknown):
            return quotient
        if isinstance(remainder, Unknown):
            return remainder
        shared = Congruence(modulus // divisor, 0)
        return SharedOffset(quotient, shared), SharedOffset(remainder)

    @property
    def number(self) -> int | None:
        """Returns the value where it is the same number everywhere, else None."""
        uniform = None if self.apart.loops else self.lanes.uniform
        is_known = self.shared.modulus == 0 and uniform is not None
        return uniform + self.shared.residue if is_known and uniform is not None else None

    @property
    def numbers(self) -> int:
        """Returns how many numbers it is in one workgroup."""
        loops, (lanes, apart) = align([self.lanes, self.apart])
        shape = np.broadcast_shapes(lanes.shape, apart.shape)
        return prod(shape) // prod(n for depth, n in loops if depth == WORKGROUP_DEPTH)

    @property
    def whole(self) -> LaneValues:
        """Returns the number of each lane, without the one that is shared."""
        loops, (lanes, apart) = align([self.lanes, self.apart])
        return LaneValues(lanes + apart, loops)


_Offset = SharedOffset | Unknown


class _SharedArithmetic:
    """Affine expressions on shared offsets."""

    def constant(self, value: int) -> _Offset:
        """Returns the number in all lanes."""
        return SharedOffset(constant(value))

    def binary(self, expression: ir.AffineBinaryExpr, left: _Offset, right: _Offset) -> _Offset:
        """Returns the sum, product, remainder or quotient."""
        if isinstance(left, Unknown):
            return left
        if isinstance(right, Unknown):
            return right
        if isinstance(expression, ir.AffineAddExpr):
            return left.plus(right)
        if isinstance(expression, ir.AffineMulExpr):
            return _product(left, right)
        number = right.number
        if number is None or isinstance(expression, ir.AffineCeilDivExpr):
            return Unknown("division by a number that is not known")
        divided = left.divided(number)
        if isinstance(divided, Unknown):
            return divided
        return divided[isinstance(expression, ir.AffineModExpr)]


def _product(left: SharedOffset, right: SharedOffset) -> _Offset:
    for one, other in ((left, right), (right, left)):
        if other.number is not None:
            return one.times(other.number)
    return Unknown("product of numbers that are not known")


def _affine(operation: ir.Operation, operands: list[SharedOffset]) -> _Offset:
    known: list[_Offset] = [*operands]
    return affine_results(operation, known, _SharedArithmetic())[0]


def _sum(operation: ir.Operation, operands: list[SharedOffset]) -> _Offset:
    return operands[0].plus(operands[1])


def _multiplied(operation: ir.Operation, operands: list[SharedOffset]) -> _Offset:
    return _product(*operands)


def _linearized(operation: ir.Operation, operands: list[SharedOffset]) -> _Offset:
    def onward(total: _Offset, base: _Offset, digit: _Offset) -> _Offset:
        if isinstance(total, Unknown):
            return total
        assert isinstance(base, SharedOffset) and isinstance(digit, SharedOffset)
        product = _product(total, base)
        return product if isinstance(product, Unknown) else product.plus(digit)

    known: list[_Offset] = [*operands]
    return linearized(operation, known, lambda size: SharedOffset(constant(size)), onward)


_COMPUTED: Mapping[str, Callable[[ir.Operation, list[SharedOffset]], _Offset]] = MappingProxyType(
    {
        "affine.apply": _affine,
        "affine.linearize_index": _linearized,
        "arith.addi": _sum,
        "arith.muli": _multiplied,
        "arith.index_cast": lambda operation, operands: operands[0],
    }
)


class CopiedLanes(NamedTuple):
    """What the lanes of a `cp.async` read.

    Attributes:
        offset: the byte that each lane reads first, counted from a line.
        reads: 1 where it reads, 0 where it writes zeros.
        may_read_nothing: whether the program decides, when it runs, which lanes read.
        assumptions: what was taken for granted of them.
    """

    offset: SharedOffset
    reads: LaneValues
    may_read_nothing: bool
    assumptions: tuple[str, ...]

    @property
    def values(self) -> list[LaneValues]:
        """Returns the values that `sources` takes in all lanes."""
        return [self.offset.whole, self.reads]

    @property
    def differs_apart(self) -> bool:
        """Returns whether workgroups differ in nothing that a loop changes."""
        others = {each.depth for each in self.reads.loops} - {WORKGROUP_DEPTH}
        return not others and all(each.depth != WORKGROUP_DEPTH for each in self.offset.lanes.loops)

    def of_worst_workgroup(self, width_bytes: int, launch: Launch) -> CopiedLanes:
        """Returns what is read in the workgroup whose lanes are most in each other's way.

        That is where they read, and if this one reads without conflicts, so do all others. All
        lanes take part. Where workgroups do not only differ apart, all of it is returned.

        Numbers that all lanes of a wave add put none in another one's way: iterations that differ
        in these alone are looked at once.

        Args:
            width_bytes: what a lane copies.
        """
        loops, differing = align([self.offset.apart, self.reads])
        if not loops or not self.differs_apart:
            return self
        apart, reads = np.broadcast_arrays(*differing)
        added, times = _differences(self.offset.lanes.values)
        lanes, conflicts = launch.subgroup_size, list[int]()
        size = max(1, _NUMBERS_AT_ONCE // (len(added) * launch.waves * lanes))
        for first in range(0, len(apart), size):
            part = slice(first, first + size)
            addresses = apart[part, None] + added
            shape = (*addresses.shape[:-1], lanes)
            reading = np.broadcast_to(reads[part, None] != 0, shape)
            read = CopySources(
                np.broadcast_to(addresses, shape).reshape(-1, lanes), reading.reshape(-1, lanes)
            )
            each = read.read_conflicts(width_bytes).reshape(shape[:-1]).sum(axis=-1)
            conflicts += (each @ times).tolist()
        worst = int(np.argmax(conflicts))
        offset = self.offset._replace(apart=LaneValues(apart[worst]))
        return self._replace(offset=offset, reads=LaneValues(reads[worst]))

    def sources(self, active: BoolArray, addresses: IntArray, reads: IntArray) -> CopySources:
        """Returns what is read in some issues; all arrays are [issues, wave_size]."""
        shared = self.offset.shared
        step = gcd(shared.modulus, LINE_BYTES)
        shifts = tuple(range(shared.residue % step, LINE_BYTES, step))
        reading = active & (reads != 0)
        return CopySources(addresses, reading, shifts, self.may_read_nothing).from_lines()


@dataclass
class CopiedAddresses:
    """The global addresses of one function under one launch, remembering what it has computed.

    Where workgroups have to be told apart, what is read has an axis for those that differ, of which
    each is there once.

    Attributes:
        in_workgroups: whether the evaluator knows the numbers of several workgroups.
    """

    function: ir.Operation
    evaluator: LaneEvaluator
    in_workgroups: bool = False
    _known: dict[ir.Value, _Offset] = field(default_factory=dict, init=False, repr=False)
    _of_workgroups: dict[Hashable, CopiedAddresses] = field(
        default_factory=dict, init=False, repr=False
    )

    def __post_init__(self) -> None:
        self._bits = IndexBits(self.function, self.evaluator)
        self._dependence = LaneDependence(self.evaluator)

    def of_copy(self, copy: ir.Operation) -> CopiedLanes:
        """Returns what the lanes of a `nvgpu.device_async_copy` read.

        Raises:
            Refusal: how lanes differ is not known.
        """
        _, _, (memory,), indices, counts = segments_of(copy)
        whole = ir.IntegerAttr(copy.attributes["dstElements"]).value
        known = [self.evaluator.evaluate(each) for each in counts]
        for each in known:
            if not isinstance(each, Unknown) and not np.isin(each.values, (0, whole)).all():
                raise Refusal("some lanes read a part of what they write")
        conditions = [read_condition(each, whole) for each in counts]
        return self._lanes(memory, indices, [each for each in conditions if each] or counts)

    def of_load(self, load: ir.Operation, conditions: Sequence[ir.Value]) -> CopiedLanes:
        """Returns what the lanes of a `vector.load` read, where a condition on it holds.

        Raises:
            Refusal: how lanes differ is not known.
        """
        memory, *indices = load.operands
        return self._lanes(memory, indices, conditions)

    def _lanes(
        self, memory: ir.Value, indices: Sequence[ir.Value], counts: Sequence[ir.Value]
    ) -> CopiedLanes:
        try:
            return self._lanes_of_one(memory, indices, counts)
        except Refusal as refusal:
            why = refusal
        try:
            return self._lanes_of_all(memory, indices, counts)
        except Refusal:
            found = self._lanes_before_ends(memory, indices, counts)
        if found is None:
            raise why
        return found

    def _lanes_of_all(
        self, memory: ir.Value, indices: Sequence[ir.Value], counts: Sequence[ir.Value]
    ) -> CopiedLanes:
        """Returns what is read in all workgroups, if they are known and not too many."""
        numbers = workgroup_numbers([memory, *indices, *counts])
        if not numbers or not 0 < workgroups(numbers) <= _MOST_WORKGROUPS:
            raise Refusal("it is not known which workgroups there are")

        def lanes_of(part: Mapping[ir.Value, LaneValues]) -> CopiedLanes:
            found = self._in_workgroups(part)._lanes_of_one(memory, indices, counts)
            if (count := found.offset.numbers) > MAX_LANE_VALUES:
                raise Refusal(f"{count} values of one workgroup are too many to enumerate")
            return found

        launch, count = self.evaluator.launch, workgroups(numbers)
        if count * launch.waves * launch.subgroup_size <= _NUMBERS_KEPT:
            # They may be too many where iterations have others of each.
            with suppress(Refusal):
                return _joined([lanes_of(next(parts_of_workgroups(numbers, count)))], launch)
        one = lanes_of(next(parts_of_workgroups(numbers, 1)))
        _, arrays = align([one.offset.apart, one.reads] if one.differs_apart else one.values)
        size = max(1, _NUMBERS_AT_ONCE // max(1, np.broadcast(*arrays).size))
        parts = [lanes_of(part) for part in parts_of_workgroups(numbers, size)]
        return _joined(parts, launch)

    def _in_workgroups(self, part: Mapping[ir.Value, LaneValues]) -> CopiedAddresses:
        """Returns what computes the addresses in workgroups whose numbers are given.

        It is remembered where its values are small: the copies of a tile are computed alike.
        """
        key = tuple((value, numbers.values.tobytes()) for value, numbers in part.items())
        if key in self._of_workgroups:
            return self._of_workgroups[key]
        launch = self.evaluator.launch
        evaluator = LaneEvaluator(launch, {**self.evaluator.given, **part})
        made = CopiedAddresses(self.function, evaluator, in_workgroups=True)
        count = max((each.values.size for each in part.values()), default=1)
        if count * launch.waves * launch.subgroup_size <= _NUMBERS_KEPT:
            self._of_workgroups[key] = made
        return made

    def _lanes_of_one(
        self, memory: ir.Value, indices: Sequence[ir.Value], counts: Sequence[ir.Value]
    ) -> CopiedLanes:
        """Returns what is read in any workgroup, or in those whose numbers are given."""
        offset, assumptions = self._bytes(memory, indices), [ASSUMPTION]
        read = self.evaluator.evaluate(counts[0]) if counts else _READS
        if isinstance(read, Unknown):
            if self._dependence.of(counts[0]) is not False:
                raise Refusal(f"how much it reads depends on the {read.reason}")
            assumptions.append(f"a cp.async reads what it may read ({read.reason})")
            read = _READS
        return CopiedLanes(offset, read.truth(), bool(counts), tuple(assumptions))

    def _lanes_before_ends(
        self, memory: ir.Value, indices: Sequence[ir.Value], conditions: Sequence[ir.Value]
    ) -> CopiedLanes | None:
        """Returns what is read of rows up to any ends; None where conditions are no such ends.

        Raises:
            Refusal: where lanes read is still not known.
        """
        terms = [each for condition in conditions for each in conjuncts(condition)]
        always, masks, ends = [_READS], list[list[LaneValues]](), list[End]()
        for term in terms:
            known, end = self.evaluator.evaluate(term), end_of(term)
            if not isinstance(known, Unknown):
                always.append(known.truth())
            elif end is None or self._dependence.of(end.last) is not False:
                return None
            else:
                ends.append(end)
                masks.append(_up_to_any(_known(self._number(end.place)).lanes))
        if not ends or prod(map(len, masks)) > _MOST_ENDS:
            return None
        offset = self._bytes(memory, [without_end(each, ends) for each in indices])
        assumptions = (ASSUMPTION, ROWS_FROM_ZERO)
        parts = [
            CopiedLanes(offset, _all_of(always, each), True, assumptions)
            for each in product(*masks)
        ]
        return _joined(parts, self.evaluator.launch)

    def _bytes(self, memory: ir.Value, indices: Sequence[ir.Value | int]) -> SharedOffset:
        """Returns the byte of an element of a memref."""
        kind = type_of(memory)
        strides, offset = strides_and_offset(kind)
        bits = whole_element_bits(kind.element_type)
        if strides is None or bits is None or bits % 8:
            raise Refusal(f"memory of type {kind}")
        total = self._start(memory, offset, bits // 8)
        for index, stride in zip(indices, strides, strict=True):
            number = _known(self._number(index))
            scaled = self._scaled(number, stride)
            total = _known(total.plus(_known(scaled.times(bits // 8))))
        return total

    def _start(self, memory: ir.Value, offset: int | None, size: int) -> SharedOffset:
        """Returns the byte at which a memref begins."""
        view = defining_operation(memory)
        if view is not None and is_view_in_order(view):
            source = view.operands[0]
            if start_alignment(memory) >= size and isinstance(source.type, ir.MemRefType):
                return self._start(source, strides_and_offset(type_of(source))[1], size)
        if view is not None and view.name == SUBVIEW:
            return self._bytes(view.operands[0], mixed_operands(view, "static_offsets", 1))
        if offset is None or offset == DYNAMIC:
            return SharedOffset(constant(0), Congruence(size, 0))
        return SharedOffset(constant(offset * size))

    def _scaled(self, number: SharedOffset, stride: int) -> SharedOffset:
        """Returns the elements of an index along a dimension."""
        if stride != DYNAMIC:
            return _known(number.times(stride))
        if number.number == 0:
            return number
        if number.whole.uniform is None:
            raise Refusal("rows whose length is not known")
        return SharedOffset(constant(0), Congruence(1, 0))

    def _number(self, index: ir.Value | int) -> _Offset:
        if isinstance(index, int):
            return SharedOffset(constant(index))
        return compute_after_operands(index, self._known, self._operands, self._compute)

    def _operands(self, value: ir.Value) -> Sequence[ir.Value]:
        if isinstance(value, ir.BlockArgument):
            return ()
        operands = computed_from(value, _COMPUTED)
        if operands and self.in_workgroups and isinstance(value.type, ir.IndexType):
            # What is added is kept apart. The sum in all workgroups and iterations is large.
            return operands
        return operands if isinstance(self.evaluator.evaluate(value), Unknown) else ()

    def _compute(self, value: ir.Value, operands: Sequence[ir.Value]) -> _Offset:
        numbers = [self._known[each] for each in operands]
        known = [each for each in numbers if not isinstance(each, Unknown)]
        if numbers and len(known) == len(numbers):
            operation = defining(value)
            computed = _COMPUTED[operation.name](operation, known)
            if not isinstance(computed, Unknown):
                return computed
        found = self.evaluator.evaluate(value)
        if not isinstance(found, Unknown):
            return _of_known(found)
        if self._dependence.of(value) is False:
            return SharedOffset(constant(0), self._bits.of(value).congruence)
        return found


def _of_known(values: LaneValues) -> SharedOffset:
    """Returns a value that is known in all lanes."""
    if [each.depth for each in values.loops] == [WORKGROUP_DEPTH]:
        return SharedOffset(_NOTHING, apart=values)
    return SharedOffset(values)


def _differences(values: IntArray) -> tuple[IntArray, IntArray]:
    """Returns by what the lanes of each wave differ, modulo a line, in iterations that are not
    alike [iterations, waves, lanes], and how many are like each of these [iterations]."""
    rest = ((values - values[..., :1]) % LINE_BYTES).reshape(-1, *values.shape[-2:])
    if not rest.any():
        return np.zeros((1, 1, 1), np.int64), np.ones(1, np.int64)
    alike = Counter(each.tobytes() for each in rest)
    found = np.frombuffer(b"".join(alike), np.int64).reshape(-1, *rest.shape[1:])
    return found, np.array([*alike.values()])


def _known(number: _Offset) -> SharedOffset:
    if isinstance(number, Unknown):
        raise Refusal(f"an index depends on the {number.reason}")
    return number


def _up_to_any(places: LaneValues) -> list[LaneValues]:
    """Returns for each last place, and for none, whether that of each lane lies up to it."""
    lasts = [int(places.values.min()) - 1, *distinct_numbers(places.values).tolist()]
    return [LaneValues((places.values <= each).astype(np.int64), places.loops) for each in lasts]


def _all_of(always: Sequence[LaneValues], masks: Sequence[LaneValues]) -> LaneValues:
    """Returns whether a lane is in all masks."""
    found = combine(lambda *each: reduce(np.minimum, each), *always, *masks)
    if isinstance(found, Unknown):
        raise Refusal(found.reason)
    return found


def _joined(parts: Sequence[CopiedLanes], launch: Launch) -> CopiedLanes:
    """Returns what is read in all parts of the workgroups, each of those that differ once.

    Addresses of one issue count from the first line that it reads.

    Raises:
        Refusal: how often a loop runs depends on the workgroup.
    """
    apart = all(part.differs_apart for part in parts)
    found: dict[bytes, tuple[IntArray, IntArray]] = {}
    around: set[tuple[Loop, ...]] = set()
    for part in parts:
        loops, arrays = align([part.offset.apart, part.reads] if apart else part.values)
        if not loops or loops[0].depth != WORKGROUP_DEPTH:
            loops, arrays = (Loop(WORKGROUP_DEPTH, 1), *loops), [each[None] for each in arrays]
        around.add(loops[1:])
        offsets, all_reads = (LaneValues(each, loops).full(launch) for each in arrays)
        for placed, reads in zip(from_lines(offsets, all_reads != 0), all_reads, strict=True):
            found.setdefault(placed.tobytes() + reads.tobytes(), (placed, reads))
    if len(around) != 1:
        raise Refusal("a loop runs more often in some workgroups than in others")
    axis = (Loop(WORKGROUP_DEPTH, len(found)), *around.pop())
    offset, reads = (LaneValues(np.stack(each), axis) for each in zip(*found.values(), strict=True))
    shared = reduce(Congruence.either, (part.offset.shared for part in parts))
    lanes, offset = (parts[0].offset.lanes, offset) if apart else (offset, _NOTHING)
    assumed = [each for part in parts for each in part.assumptions]
    if len(found) > 1:
        assumed.append(WORST_WORKGROUP)
    assumptions = tuple(dict.fromkeys(assumed))
    return CopiedLanes(
        SharedOffset(lanes, shared, offset), reads, parts[0].may_read_nothing, assumptions
    )
