# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-join-stores`: lanes exchange results, so that each stores more bytes at once.

A matrix instruction leaves two neighbouring columns of a row in each of four lanes. In f16 these
are 4 bytes, and the columns of the next instruction lie 16 bytes further on. A store then fills
half of each sector of 32 bytes that it reaches. Here lanes whose numbers differ in a bit exchange
results, for as long as that makes neighbours of what a lane stores:

    lane                  0         1         2         3
    columns               0, 1      2, 3      4, 5      6, 7        1st store
                          8, 9      10, 11    12, 13    14, 15      2nd
                          16, 17    18, 19    20, 21    22, 23      3rd
                          24, 25    26, 27    28, 29    30, 31      4th
    1 lane away           0 - 3     8 - 11    4 - 7     12 - 15     1st and 2nd
                          16 - 19   24 - 27   20 - 23   28 - 31     3rd and 4th
    2 lanes away          0 - 7     8 - 15    16 - 23   24 - 31     all of them

Microseconds on an H200, by code for sm_80 and for sm_90a:

    | kernel | pieces | joined | pieces | joined |
    | --- | ---: | ---: | ---: | ---: |
    | f16 8x56x56x64 by 256 of 1x1 | 14.5 | 11.3 | 17.2 | 11.2 |
    | f16 8x28x28x128 by 512 of 1x1 | 10.4 | 9.0 | 11.3 | 7.5 |
    | f16 8x14x14x256 by 1024 of 1x1 | 11.9 | 12.3 | 9.9 | 10.0 |
    | 25088x256x64, f32 results | 14.9 | 13.0 | 14.2 | 13.9 |
    | 4096x4096x128, f32 results | 41.3 | 37.8 | 33.3 | 31.5 |
    | attention 32x1024x128 at `fast`, f16 | 71.4 | 66.7 | 51.6 | 47.4 |

What is stored, and where, is the same. Of two stores the lanes whose bit is 0 get what both of them
have for the first one, and the others what both have for the second one. Lanes that fill whole
lines of memory together would gain nothing, and keep their stores. So do those that sum up each
result of 4 bytes by many instructions `mma.sync`: 0.996 of the time of 2048x2048x2048, whose
compile took 40 ms more.

Runs last on NVIDIA GPUs, on the indices that the stores have then. Stores under a condition are
joined where it holds in both lanes or in none: results are exchanged before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from itertools import pairwise
from math import gcd
from typing import ClassVar

import numpy as np
from iree.compiler import ir

from ...bank_model.accesses import LINE_BYTES
from ...bank_model.descriptor_tiles import LANES
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_moves import element_count, is_move
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import Launch, launch_of
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.index.index_cloner import is_index_arithmetic
from ...dialect_utils.index.index_sums import IndexSum, IndexSums
from ...dialect_utils.index.lane_values import IntArray, LaneEvaluator, Unknown, check_full_warps
from ...dialect_utils.loops import FOR, IF
from ...dialect_utils.memory.buffer_starts import start_alignment
from ...dialect_utils.memory.copies_before_ends import conjuncts, end_of, without_end
from ...dialect_utils.memory.flow import connected_to
from ...dialect_utils.memory.lane_dependence import LaneDependence
from ...dialect_utils.memory.memref_types import (
    is_workgroup_memref,
    shown_type,
    static_strides,
    type_of,
    whole_element_bits,
)
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.operations import (
    defining_operation,
    operations_in,
    operations_of,
    parents_of,
)
from ...passes.base import FunctionPass, PassContext

_STORE, _COMPARE = "vector.store", "arith.cmpi"
_BINDING = "hal.interface.binding.subspan"
_WORD_BITS, _WIDEST_BITS = 32, 128
_MANY = 64
"""From so many instructions a sum on, stores are little of the work: from 1,024 products of f16."""
_BITS = range(LANES.bit_length() - 1)


class JoinStores(FunctionPass):
    """Lets lanes exchange what they store to global memory in pieces of less than 16 bytes."""

    name: ClassVar[str] = "bankwise-join-stores"
    summary: ClassVar[str] = "let lanes exchange results, so that each stores 16 bytes at once"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether lanes of `function` store short pieces to global memory."""
        return any(map(_is_short, operations_in(function, _STORE)))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Joins the stores that may be joined."""
        function = function.operation
        launch = launch_of(function, context.test_target)
        if launch is None:
            return
        joiner, rows = _Joiner(function, launch), list[_Row]()
        for run in list(_runs(function)):
            with context.refusals_said(run.stores[0].location, "stores stay as they are"):
                rows += joiner.rows(run)
        for row in rows:
            left = row.join()
            memory = row.run.memory
            text = f"of {shown_type(memory.type)} {len(row.stores)} stores become {left} wider"
            context.sink.remark(row.run.stores[0].location, text)
        for row in rows:
            for store in row.stores.values():
                store.erase()


def _is_short(store: ir.Operation) -> bool:
    value, memory, *_ = store.operands
    kind = ir.VectorType(value.type)
    bits = whole_element_bits(kind) or 0
    is_whole = len(kind.shape) == 1 and bits in (_WORD_BITS, 2 * _WORD_BITS)
    return is_whole and not is_workgroup_memref(memory.type)


def _elements(kind: ir.Type) -> int:
    """Returns how many f32 or i32 a value is."""
    if not isinstance(kind, ir.VectorType) or element_bits(kind.element_type) != _WORD_BITS:
        return 0
    return element_count(kind)


class _Run(NamedTuple):
    """Stores to a memref that follow each other, with nothing between them but arithmetic.

    Attributes:
        condition: that on which they are executed; None where there is none.
        place: the operation before which results are exchanged.
    """

    stores: Sequence[ir.Operation]
    condition: ir.Value | None
    place: ir.Operation

    @staticmethod
    def of(stores: Sequence[ir.Operation]) -> _Run:
        around = stores[0].block.owner.operation
        if around.name != IF:
            return _Run(stores, None, stores[-1])
        return _Run(stores, around.operands[0], around)

    @property
    def memory(self) -> ir.Value:
        """Returns the memref."""
        return self.stores[0].operands[1]


def _runs(function: ir.Operation) -> Iterator[_Run]:
    """Yields all stores of short pieces, in runs."""
    for block in dict.fromkeys(each.block for each in operations_in(function, _STORE)):
        stores = list[ir.Operation]()
        for operation in operations_of(block):
            is_store = operation.name == _STORE and _is_short(operation)
            is_beside = is_move(operation) or is_index_arithmetic(operation)
            if stores and not is_beside and not (is_store and _kind(stores[0]) == _kind(operation)):
                yield _Run.of(stores)
                stores = []
            stores += [operation] * is_store
        if stores:
            yield _Run.of(stores)


def _kind(store: ir.Operation) -> tuple[ir.Value, ir.Type]:
    """Returns the memref of a store, and the type of what it stores."""
    return store.operands[1], store.operands[0].type


class _Stage(NamedTuple):
    """One exchange of results.

    Attributes:
        bit: the bit in which the numbers of the lanes differ.
        away: how many elements the second store is behind the first one.
        length: how many elements a lane stores at once before it.
    """

    bit: int
    away: int
    length: int


class _Row(NamedTuple):
    """Stores of a run to one row of a memref.

    Attributes:
        stores: by what is added to the index along the row.
        stages: how lanes exchange what they store.
    """

    run: _Run
    stores: Mapping[int, ir.Operation]
    stages: Sequence[_Stage]

    def join(self) -> int:
        """Emits the stores that do what all of these do, and returns how many they are."""
        at = Builder.before(self.run.place)
        kind = ir.VectorType(next(iter(self.stores.values())).operands[0].type)
        words = (whole_element_bits(kind) or 0) // _WORD_BITS
        word = at.integer_type(_WORD_BITS)
        pieces = {
            number: at.elements(at.bitcast(store.operands[0], [words], word))
            for number, store in sorted(self.stores.items())
        }
        behind, thread, left = at.index(0), at.thread_id("x"), 0
        lanes = at.constant(word, LANES)
        for bit, away, length in self.stages:
            pairs = _pairs(pieces, away)
            for number in sorted(pieces.keys() - {*pairs, *(each + away for each in pairs)}):
                self._store(number, pieces.pop(number), behind)
                left += 1
            upper = at.cmpi("ne", at.andi(thread, at.index(1 << bit)), at.index(0))
            other = partial(at.exchanged, distance=at.constant(word, 1 << bit), lanes=lanes)
            exchange = partial(_exchanged, at, upper, other)
            pieces = {each: exchange(pieces[each], pieces[each + away]) for each in pairs}
            moved = at.select(upper, at.index(away - length), at.index(0))
            behind = at.addi(behind, moved)
        for number, found in pieces.items():
            self._store(number, found, behind)
        return left + len(pieces)

    def _store(self, number: int, words: Sequence[ir.Value], behind: ir.Value) -> None:
        """Emits the store of some words, so many elements behind where a store was."""
        value, memory, *others, column = self.stores[number].operands
        at = Builder.before(self.run.stores[-1])
        element = ir.VectorType(value.type).element_type
        length = len(words) * _WORD_BITS // (whole_element_bits(element) or _WORD_BITS)
        vector = at.bitcast(at.from_elements(words, [len(words)]), [length], element)
        alignment = len(words) * _WORD_BITS // 8
        at.store(vector, memory, *others, at.addi(column, behind), alignment=alignment)


def _number(binding: ir.Operation) -> int:
    return ir.IntegerAttr(binding.attributes["binding"]).value


def _pairs(numbers: Collection[int], away: int) -> list[int]:
    """Returns numbers of which each stands for itself and the one that is so much greater."""
    found, taken = list[int](), set[int]()
    for each in sorted(numbers):
        if each not in taken and each + away in numbers:
            found.append(each)
            taken.add(each + away)
    return found


def _exchanged(
    at: Builder,
    upper: ir.Value,
    other: Callable[[ir.Value], ir.Value],
    first: Sequence[ir.Value],
    second: Sequence[ir.Value],
) -> list[ir.Value]:
    """Returns what two lanes have for the first store, or in the upper one for the second store.

    Args:
        upper: whether this is the upper one of the two lanes.
        other: returns what the other lane has for a word.
    """
    got = [other(at.select(upper, *each)) for each in zip(first, second, strict=True)]
    lower = [at.select(upper, *each) for each in zip(got, first, strict=True)]
    return lower + [at.select(upper, *each) for each in zip(second, got, strict=True)]


class _Lanes(NamedTuple):
    """What lanes add to an index, without its constant, and what divides all else.

    Attributes:
        values: what each lane adds [waves, lanes].
        divisor: what divides the rest, which all lanes of a warp have.
    """

    values: IntArray
    divisor: int

    def agree(self, bit: int) -> bool:
        """Returns whether lanes add the same whose numbers differ in a bit."""
        return bool((self.values[:, _others(bit)] == self.values).all())


def _fills_lines(starts: IntArray, size: int) -> bool:
    """Returns whether the lanes of a warp together store whole lines of memory.

    Args:
        starts: the byte at which each lane stores [waves, lanes].
        size: how many bytes it stores.
    """
    # NumPy's own function for this is loaded when it is called.
    lines = {*(starts[0] // LINE_BYTES).tolist()}
    return len(lines) * LINE_BYTES <= LANES * size


def _others(bit: int) -> IntArray:
    """Returns for each lane the one whose number differs in a bit."""
    return np.arange(LANES) ^ (1 << bit)


def _is_upper(bit: int) -> IntArray:
    """Returns 1 for each lane whose number has a bit, and 0 for the others."""
    return np.arange(LANES) >> bit & 1


@dataclass
class _Joiner:
    """Decides on the stores of one function."""

    function: ir.Operation
    launch: Launch
    _sums: dict[ir.Value | None, IndexSums] = field(default_factory=dict)
    _checked: dict[ir.Value, str] = field(default_factory=dict)
    """Why the stores to a memref may not be joined; empty where they may be."""

    def __post_init__(self) -> None:
        self._evaluator = LaneEvaluator(self.launch)
        self._bits = IndexBits(self.function, self._evaluator)
        self._dependence = LaneDependence(self._evaluator)

    def rows(self, run: _Run) -> list[_Row]:
        """Returns the rows of a run whose stores are joined.

        Raises:
            Refusal: they may not be joined.
        """
        check_full_warps(self.launch)
        self._check(run)
        self._check_memory(run.memory)
        guards = [] if run.condition is None else self._guards(run.condition)
        rows = dict[object, dict[int, ir.Operation]]()
        for store in run.stores:
            *others, last = self._indices(store)
            key = tuple(each.constant for each in others)
            rows.setdefault(key, {})[last.constant] = store
        found = [_Row(run, row, self._stages(row, guards)) for row in rows.values()]
        return [row for row in found if row.stages]

    @cached_property
    def _sums_long(self) -> bool:
        """Whether each sum of matrix instructions `mma.sync` is one of many."""
        for loop in operations_in(self.function, FOR):
            products = operations_in(loop, MMA)
            made = sum(_elements(each.results[0].type) for each in products)
            kept = sum(map(_elements, (each.type for each in loop.results))) if made else 0
            trips = self._evaluator.trip_count(loop) if kept else 0
            if not isinstance(trips, Unknown) and trips * made >= max(_MANY * kept, 1):
                return True
        return False

    def _check(self, run: _Run) -> None:
        """Makes sure that all lanes of a warp exchange results where a run's are exchanged, and
        that it is worth it."""
        if _elements(run.stores[0].operands[0].type) and self._sums_long:
            raise Refusal("they take little of the time")
        self._dependence.check_surroundings(run.place, self.function)
        if any(each.name == FOR for each in parents_of(run.place)):
            raise Refusal("they are in a loop")
        values = [store.operands[0] for store in run.stores]
        inner = (defining_operation(each) for each in values)
        if run.condition is not None and any(
            each is not None and each.block == run.stores[0].block for each in inner
        ):
            raise Refusal("what they store is computed under a condition")
        if run.condition is not None and run.stores[0].block.region != run.place.regions[0]:
            raise Refusal("they are executed where a condition does not hold")

    def _check_memory(self, memory: ir.Value) -> None:
        """Makes sure that lanes do nothing to a memref but store to each element once."""
        if memory not in self._checked:
            try:
                self._check_uses(memory)
                self._checked[memory] = ""
            except Refusal as refusal:
                self._checked[memory] = refusal.reason
        if self._checked[memory]:
            raise Refusal(self._checked[memory])

    def _check_uses(self, memory: ir.Value) -> None:
        connected = connected_to(memory)
        if connected.hidden:
            raise connected.hidden[0]
        (binding, *others) = map(defining_operation, connected.roots)
        if others or binding is None or binding.name != _BINDING:
            raise Refusal("they store to no binding")
        bindings = operations_in(self.function, _BINDING)
        if [_number(each) for each in bindings].count(_number(binding)) > 1:
            raise Refusal("their binding is there more than once")
        places, length = list[Sequence[IndexSum]](), 0
        for user in (use.user for use in connected.sinks):
            if user.name != _STORE or user.operands[1] != memory:
                raise Refusal("something else accesses the same memory")
            places.append(self._indices(user))
            length = max(length, ir.VectorType(user.operands[0].type).shape[-1])
        if any([each.factors for each in places[0]] != [e.factors for e in at] for at in places):
            raise Refusal("it is not known how far apart they store")
        constants = sorted(tuple(each.constant for each in place) for place in places)
        for one, other in pairwise(constants):
            if one[:-1] == other[:-1] and other[-1] - one[-1] < length:
                raise Refusal("two of them store to the same place")

    def _indices(self, store: ir.Operation) -> list[IndexSum]:
        """Returns the indices of a store, as they are where it is executed."""
        condition = _Run.of([store]).condition
        if condition not in self._sums:
            ends = map(end_of, [] if condition is None else conjuncts(condition))
            whole = [each for each in ends if each is not None and not each.signed]
            self._sums[condition] = IndexSums(partial(without_end, ends=whole))
        return [self._sums[condition].of(each) for each in list(store.operands)[2:]]

    def _guards(self, condition: ir.Value) -> list[_Lanes]:
        """Returns what conditions compare in which lanes may differ.

        Raises:
            Refusal: such a condition is no comparison.
        """
        found, sums = list[_Lanes](), IndexSums()
        for each in conjuncts(condition):
            if self._dependence.of(each) is False:
                continue
            comparison = defining_operation(each)
            if comparison is None or comparison.name != _COMPARE:
                raise Refusal("it is not known in which lanes their condition holds")
            found += (self._lanes(sums.of(operand)) for operand in comparison.operands)
        return found

    def _lanes(self, index: IndexSum) -> _Lanes:
        """Returns what lanes add to an index.

        Raises:
            Refusal: that is not known.
        """
        values, divisor = np.zeros((self.launch.waves, LANES), np.int64), 0
        for value, factor in index.factors.items():
            found = self._evaluator.evaluate(value)
            if isinstance(found, Unknown):
                if self._dependence.of(value) is not False:
                    raise Refusal(f"an index depends on the {found.reason}")
                known = self._bits.of(value).congruence
                divisor = gcd(divisor, known.modulus * factor, known.residue * factor)
            elif found.loops:
                raise Refusal("an index depends on a loop")
            else:
                values = values + factor * found.full(self.launch)
        return _Lanes(values, divisor)

    def _stages(self, row: Mapping[int, ir.Operation], guards: Sequence[_Lanes]) -> list[_Stage]:
        """Returns how the lanes of a row exchange what they store.

        Raises:
            Refusal: where they store is not known.
        """
        store = next(iter(row.values()))
        value, memory, *_ = store.operands
        kind, strides = ir.VectorType(value.type), static_strides(type_of(memory))
        bits = whole_element_bits(kind.element_type)
        if strides is None or strides[-1] != 1 or bits is None:
            raise Refusal("neighbours along the last dimension are not neighbours in memory")
        indices = self._indices(store)
        lanes = list(map(self._lanes, indices))
        start, divisor = lanes[-1].values * 0, start_alignment(memory) * 8 // bits
        for each, index, stride in zip(lanes, indices, strides, strict=True):
            start = start + stride * each.values
            start += stride * index.constant * (each is not lanes[-1])
            divisor = gcd(divisor, stride * each.divisor)
        found = list[_Stage]()
        if _fills_lines(start * bits // 8, kind.shape[-1] * bits // 8):
            return found
        # Lanes that are neighbours in memory are so in a row, which has a second store behind both.
        alike = [bit for bit in _BITS if all(each.agree(bit) for each in guards)]
        numbers, length = sorted(row), kind.shape[-1]
        while length * bits < _WIDEST_BITS and len(numbers) > 1:
            away = min(b - a for a, b in pairwise(numbers))
            pairs = _pairs(numbers, away)
            for bit in alike:
                moved = _is_upper(bit) * (away - length)
                begins = (start + moved + each for each in pairs)
                near = start[:, _others(bit)] - start == length - 2 * length * _is_upper(bit)
                if (
                    near.all()
                    and divisor % (2 * length) == 0
                    and not any((each % (2 * length)).any() for each in begins)
                ):
                    break
            else:
                break
            found.append(_Stage(bit, away, length))
            start, numbers, length = start + moved, pairs, 2 * length
        return found
