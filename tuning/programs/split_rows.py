# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shares long rows of reductions and softmaxes among workgroups, where there are few.

A workgroup reduces a row. Of a sum over a million elements one multiprocessor reads all, and the
others have nothing to do. This pass reduces parts of rows, and then the parts:

    %x2 = tensor.expand_shape %x [[0, 1]] : tensor<1000000xf32> into tensor<125x8000xf32>
    %parts = linalg.generic {... ["parallel", "reduction"]} ins(%x2) ... -> tensor<125xf32>
    %sum = linalg.generic {... ["reduction"]} ins(%parts) ... -> tensor<f32>

Where no number of parts divides a row, the parts leave out its end, which has no more elements than
there are parts. The kernel that reduces the parts reads an element of the end beside each of them,
and leaves out what the parts have already:

    %main = tensor.extract_slice %x[0] [999936] [1] ...
    %end = tensor.extract_slice %x[999875] [128] [1] ...     // the first 61 of these are in a part
    %sum = linalg.generic {... ["reduction"]} ins(%parts, %end) ... {
      %there = arith.cmpi uge, %place, %c61
      %more = arith.select %there, %e, %neutral
      ...

Of several rows these views are no whole tensors, and IREE would copy what the parts read. So the
parts are reduced in a dispatch that takes the rows as they are.

A softmax is computed as the maximum, the sum of exponentials and what follows from both, of which
the first two are split.

The parts are reduced in a dispatch of their own: IREE would give what it computes of whole rows
with the result the same single workgroup. Rows are split where that is predicted to save more than
the kernels cost. Elements are summed in another order, which is the same in each run: outputs are
right to rounding.

Runs on functions of the program, before dispatches are formed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import LOG2_E, element_bits
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.indexing_maps import GENERIC, loops_of, summed_loops
from ...dialect_utils.lowering_config import is_configured
from ...dialect_utils.operations import (
    children,
    defining_operation,
    has_operation,
    operands_with,
    operations_in,
    parents_of,
    redirect,
    replace_by,
)
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import LayoutRound
from ..costs.processors import Processor, processor_of
from ..elements.row_masks import Combiner, combiners_of
from .program_rows import is_arithmetic, loop_lengths, row_reductions

_SOFTMAX, _EXPAND = "linalg.softmax", "tensor.expand_shape"
_KERNEL = 2.4
"""The microseconds that a small kernel takes (H200)."""
_BYTES_A_MICROSECOND, _OF_SOFTMAX = 36_000, 6_600
"""What one workgroup reduces (f32 1x1000003 takes 112 us on an H200), and what it computes of a
softmax (1x32003: 19.3 us)."""
_KERNELS, _KERNELS_OF_SOFTMAX = 1, 4
"""How many more there are where rows are split."""
_IDLE = 4
"""Of so many multiprocessors at most one has a row."""
_RUNS = (128, 32, 8, 4, 1)
"""What the length of a part is a multiple of, the best first: a warp reads 128 elements at once."""
_LANES = 32
"""The end of a row is read beside the parts by so many lanes, or by a power of two."""
_LEAST = 256
"""Of a part."""


class SplitRows(FunctionPass):
    """Reduces parts of long rows, and then the parts."""

    name: ClassVar[str] = "bankwise-split-rows"
    summary: ClassVar[str] = "share long rows among workgroups, where there are few"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has a softmax or a reduction of rows."""
        return has_operation(function, _SOFTMAX) or any(True for _ in row_reductions(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the rows of `function`; never fails."""
        function = function.operation
        features = gpu_features_of(function, context.test_target)
        processor = processor_of(features.arch)
        if not features.mma_sync or processor is None:
            return
        for softmax in operations_in(function, _SOFTMAX):
            plan = partial(_parts_of_softmax, softmax, processor)
            if parts := context.planned(softmax.location, "a workgroup has a whole row", plan):
                context.sink.remark(softmax.location, str(parts))
                for each in _decomposed(softmax):
                    _Split(each, parts).apply()
        for reduction in row_reductions(function):
            plan = partial(_parts_of_reduction, reduction, processor)
            if parts := context.planned(reduction.location, "a workgroup has a whole row", plan):
                context.sink.remark(reduction.location, str(parts))
                _Split(reduction, parts).apply()


class _Parts(NamedTuple):
    """Into how many parts of which length rows are split.

    Attributes:
        row: how long a row is.
    """

    workgroups: int
    length: int
    row: int

    @property
    def main(self) -> int:
        """Returns how many elements all parts have together."""
        return self.workgroups * self.length

    def __str__(self) -> str:
        return f"{self.workgroups} workgroups share a row, with {self.length} elements each"


def _parts_of_reduction(reduction: ir.Operation, processor: Processor) -> _Parts | None:
    if is_configured(reduction):
        return None
    *outer, row = loop_lengths(reduction)
    full = [
        operand
        for operand, dims in zip(reduction.operands, loops_of(reduction), strict=True)
        if len(dims) == len(outer) + 1
    ]
    sizes = [element_bits(ir.ShapedType(each.type).element_type) or 0 for each in full]
    microseconds = row * sum(sizes) / 8 / _BYTES_A_MICROSECOND
    return _parts(outer, row, microseconds, _KERNELS, processor)


def _parts_of_softmax(softmax: ir.Operation, processor: Processor) -> _Parts | None:
    if any(each.name.startswith("flow.") for each in parents_of(softmax)):
        return None
    kind = ir.ShapedType(softmax.operands[0].type)
    *outer, row = kind.shape
    if ir.IntegerAttr(softmax.attributes["dimension"]).value != len(outer):
        return None
    if not isinstance(kind.element_type, ir.F16Type | ir.BF16Type | ir.F32Type):
        return None
    bits = element_bits(kind.element_type) or 0
    microseconds = row * bits / 8 / _OF_SOFTMAX
    return _parts(outer, row, microseconds, _KERNELS_OF_SOFTMAX, processor)


def _parts(
    outer: Sequence[int], row: int, microseconds: float, kernels: int, processor: Processor
) -> _Parts | None:
    """Returns into which parts rows are split; None where they stay whole.

    Args:
        outer: how many rows lie along each other dimension.
        microseconds: how long a workgroup takes for a row.
        kernels: how many more there are.

    Raises:
        Refusal: how long rows are, or how many there are, is not known.
    """
    if DYNAMIC in outer or row == DYNAMIC:
        raise Refusal("how many rows there are, or how long they are, is not known")
    rows = prod(outer)
    if not rows or rows * _IDLE > processor.multiprocessors or row < 2 * _LEAST:
        return None
    wanted = max(2, min(processor.multiprocessors // rows, row // _LEAST))
    if microseconds <= kernels * _KERNEL:
        return None
    counts = range(wanted, wanted // 2, -1)
    dividing = [each for each in counts if row % each == 0]
    if dividing:
        count = next((each for each in dividing if row // each % _RUNS[0] == 0), dividing[0])
        return _Parts(count, row // count, row)
    more = range(2 * wanted, wanted // 2, -1)
    counts = [each for each in more if each % _LANES == 0 or each.bit_count() == 1]
    found = (_Parts(each, row // each // run * run, row) for run in _RUNS for each in counts)
    return next(each for each in found if each.length and row - each.main <= each.workgroups)


def _decomposed(softmax: ir.Operation) -> list[ir.Operation]:
    """Replaces a softmax by what it is; returns the reductions of it."""
    at, source = Builder.before(softmax), softmax.operands[0]
    kind = ir.RankedTensorType(softmax.results[0].type)
    every, outer = range(kind.rank), range(kind.rank - 1)
    single = ir.F32Type.get(at.context)
    numbers = at.tensor_type(kind.shape[:-1], single)
    lowest, zero = (at.constant(single, each) for each in (-math.inf, 0.0))

    def wide(at: Builder, element: ir.Value) -> ir.Value:
        return element if element.type == single else at.extf(element, single)

    def power(at: Builder, element: ir.Value, greatest: ir.Value) -> ir.Value:
        below = at.subf(wide(at, element), greatest)
        return at.exp2(at.mulf(below, at.constant(single, LOG2_E)))

    def result(at: Builder, element: ir.Value, *others: ir.Value) -> ir.Value:
        greatest, total, before = others
        quotient = at.divf(power(at, element, greatest), total)
        return quotient if before.type == single else at.truncf(quotient, before.type)

    largest = at.generic(
        [source],
        at.fill(lowest, at.empty(numbers)),
        at.looped(kind.rank, [every, outer]),
        lambda at, each, before: at.maximumf(wide(at, each), before),
    )
    total = at.generic(
        [source, largest.results[0]],
        at.fill(zero, at.empty(numbers)),
        at.looped(kind.rank, [every, outer, outer]),
        lambda at, each, greatest, before: at.addf(power(at, each, greatest), before),
    )
    inputs = [source, largest.results[0], total.results[0]]
    made = at.parallel(inputs, [every, outer, outer], at.empty(kind), result)
    replace_by(softmax, made)
    return [largest, total]


class _Split(NamedTuple):
    """A reduction of rows that is split."""

    reduction: ir.Operation
    parts: _Parts

    def apply(self) -> None:
        """Replaces the reduction by one of parts, and one of these."""
        reduction = self.reduction
        at = Builder.before(reduction)
        (combiner,) = combiners_of(reduction)
        *inputs, init = reduction.operands
        *loops, result = loops_of(reduction)
        row, kind = len(result), ir.RankedTensorType(init.type)
        values = [
            self._split(at, value) if row in dims else value
            for value, dims in zip(inputs, loops, strict=True)
        ]
        indexed = [(*dims, row + 1) if row in dims else dims for dims in loops]
        neutral = at.constant(kind.element_type, combiner.neutral())
        partial_kind = at.tensor_type([*kind.shape, self.parts.workgroups], kind.element_type)
        of_parts = at.generic(
            values,
            at.fill(neutral, at.empty(partial_kind)),
            at.looped(row + 2, [*indexed, (*result, row)]),
            self._body,
        )
        summed = of_parts.results[0]
        if self._reads_views(inputs):
            summed = _with_views(of_parts)
        read, places = [summed], [tuple(range(row + 1))]
        if self.parts.main < self.parts.row:
            read += [
                self._end(at, value) if row in dims else value
                for value, dims in zip(inputs, loops, strict=True)
            ]
            places += loops
        whole = at.generic(read, init, at.looped(row + 1, [*places, result]), self._whole)
        replace_by(reduction, whole.results[0])
        members = [whole, *_following(whole)]
        _dispatched(members)

    def _reads_views(self, inputs: Sequence[ir.Value]) -> bool:
        """Returns whether the parts read views of rows that lie in memory, and are several."""
        row = len(ir.ShapedType(self.reduction.results[0].type).shape)
        rows = [each for each in inputs if ir.ShapedType(each.type).rank > row]
        makers = [defining_operation(each) for each in rows]
        is_computed = any(each is not None and each.name.startswith("linalg.") for each in makers)
        several = any(prod(ir.ShapedType(each.type).shape[:-1]) > 1 for each in rows)
        return self.parts.main < self.parts.row and several and not is_computed

    def _split(self, at: Builder, value: ir.Value) -> ir.Value:
        """Emits a tensor whose last dimension becomes the parts and their elements."""
        parts, kind = self.parts, ir.RankedTensorType(value.type)
        *outer, _ = kind.shape
        value = self._part(at, value, 0, parts.main)
        split = at.tensor_type([*outer, parts.workgroups, parts.length], kind.element_type)
        last = len(outer)
        return at.expand_shape(value, split, [*([each] for each in range(last)), [last, last + 1]])

    def _end(self, at: Builder, value: ir.Value) -> ir.Value:
        """Emits the last elements of rows, as many as there are parts."""
        return self._part(at, value, self.parts.row - self.parts.workgroups, self.parts.workgroups)

    def _part(self, at: Builder, value: ir.Value, first: int, count: int) -> ir.Value:
        """Emits the elements of rows from `first` on."""
        kind = ir.RankedTensorType(value.type)
        if count == self.parts.row:
            return value
        *outer, _ = kind.shape
        made = at.tensor_type([*outer, count], kind.element_type)
        return at.slice(value, made, [*[0] * len(outer), first], [*outer, count])

    def _body(self, at: Builder, *elements: ir.Value) -> ir.Value:
        """Emits what the reduction does with an element."""
        old = self.reduction.regions[0].blocks[0].arguments
        *inside, end = children(self.reduction)
        values = dict(zip(old, elements, strict=True))
        at.clone_all(inside, values)
        return values[end.operands[0]]

    def _whole(self, at: Builder, part: ir.Value, *elements: ir.Value) -> ir.Value:
        """Emits what reduces a part and, where elements are left, one of these beside it."""
        (combiner,) = combiners_of(self.reduction)
        *ends, before = elements
        if ends:
            old = self.reduction.regions[0].blocks[0].arguments
            inside = [each for each in children(self.reduction)[:-1] if each != combiner.operation]
            values = dict(zip(old, ends, strict=False))
            at.clone_all(inside, values)
            element = combiner.operation.operands[combiner.element]
            element = values.get(element, element)
            known = self.parts.workgroups - (self.parts.row - self.parts.main)
            place = at.loop_index(len(loops_of(self.reduction)[-1]))
            there = at.cmpi("uge", place, at.index(known))
            neutral = at.constant(element.type, combiner.neutral())
            part = _combined(at, combiner, at.select(there, element, neutral), part)
        return _combined(at, combiner, part, before)


def _with_views(of_parts: ir.Operation) -> ir.Value:
    """Makes a dispatch of a reduction of parts and of the views that it reads; returns its
    result."""
    makers = [defining_operation(each) for each in of_parts.operands]
    views = [each for each in makers if each is not None and each.name == _EXPAND]
    slices = [defining_operation(each.operands[0]) for each in views]
    return _dispatched([*(each for each in slices if each is not None), *views, of_parts])


def _dispatched(members: Sequence[ir.Operation]) -> ir.Value:
    """Makes a dispatch of operations of which the last one makes its result; returns that."""
    results = members[-1].results
    users = operands_with(results[0])
    alone = Builder.after(members[-1]).at(members[-1].location).dispatch_region(results)
    end = children(alone)[-1]
    for each in members:
        each.move_before(end)
    redirect(users, alone.results[0])
    return alone.results[0]


def _following(reduction: ir.Operation) -> Iterator[ir.Operation]:
    """Yields what is computed of each number that a reduction makes, one after another."""
    made = reduction
    while True:
        users = {user for user, _ in operands_with(made.results[0])}
        user = users.pop() if len(users) == 1 else None
        if user is None or user.name != GENERIC or user.block != reduction.block:
            return
        same = [each.type for each in user.results] == [each.type for each in made.results]
        if not same or summed_loops(user) or not is_arithmetic(user):
            return
        yield user
        made = user


def _combined(at: Builder, combiner: Combiner, element: ir.Value, before: ir.Value) -> ir.Value:
    operands = [before, before]
    operands[combiner.element] = element
    return at.clone(combiner.operation, operands).results[0]
