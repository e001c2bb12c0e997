# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shares long rows of reductions and softmaxes among workgroups, where there are few.

A workgroup reduces a row. Of a sum over a million elements one multiprocessor reads all, and the
others have nothing to do. This pass reduces parts of rows, and then the parts:

    %x2 = tensor.expand_shape %x [[0, 1]] : tensor<1000000xf32> into tensor<125x8000xf32>
    %parts = linalg.generic {... ["parallel", "reduction"]} ins(%x2) ... -> tensor<125xf32>
    %sum = linalg.generic {... ["reduction"]} ins(%parts) ... -> tensor<f32>

Where no number of parts divides a row, one more kernel copies it into a longer one. What is behind
the row there changes nothing: the last element again for a maximum, zeros for a sum of what zeros
keep zero, and -inf for a softmax. A softmax is computed as the maximum, the sum of exponentials and
what follows from both, of which the first two are split.

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
from typing import ClassVar, NamedTuple

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.indexing_maps import GENERIC, loops_of, summed_loops
from ...dialect_utils.lowering_config import is_configured
from ...dialect_utils.operations import (
    children,
    has_operation,
    operands_with,
    operations_in,
    parents_of,
    redirect,
)
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import LayoutRound
from ..attention.attention_tiles import LOG2_E
from ..costs.processors import Processor, processor_of
from ..elements.row_masks import Combiner, combiners_of
from ..shapes.enlarged_shapes import keeps_zeros
from .program_rows import is_arithmetic, loop_lengths, row_reductions

_SOFTMAX = "linalg.softmax"
_KERNEL = 2.4
"""The microseconds that a small kernel takes (H200)."""
_BYTES_A_MICROSECOND, _OF_SOFTMAX = 36_000, 6_600
"""What one workgroup reduces (f32 1x1000003 takes 112 us on an H200), and what it computes of a
softmax (1x32003: 19.3 us)."""
_KERNELS, _KERNELS_OF_SOFTMAX = 1, 4
"""How many more there are where rows are split."""
_IDLE = 4
"""Of so many multiprocessors at most one has a row."""
_RUN = 128
"""The elements that a warp reads together, by which parts of longer rows are rounded up."""
_LEAST = 256
"""Of a part."""
_IDEMPOTENT = frozenset(
    {
        *("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"),
        *("arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui", "arith.andi", "arith.ori"),
    }
)
"""What changes nothing where an element comes twice."""


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
    """Into how many parts of which length rows are split; all together may be longer than a row.

    Attributes:
        row: how long a row is.
        behind: what a longer row has behind it; None for its last element.
    """

    workgroups: int
    length: int
    row: int
    behind: float | None

    @property
    def is_longer(self) -> bool:
        """Returns whether rows are copied into longer ones."""
        return self.workgroups * self.length > self.row

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
    parts = _parts(outer, row, microseconds, _KERNELS, processor)
    if parts is not None and parts.is_longer:
        return parts._replace(behind=_neutral_source(reduction))
    return parts


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
    parts = _parts(outer, row, microseconds, _KERNELS_OF_SOFTMAX, processor)
    return None if parts is None else parts._replace(behind=-math.inf)


def _neutral_source(reduction: ir.Operation) -> float | None:
    """Returns what may stand behind a row without changing its reduction; None for its end again.

    Raises:
        Refusal: it is not known.
    """
    (combiner,) = combiners_of(reduction)
    if combiner.operation.name in _IDEMPOTENT:
        return None
    *elements, _ = reduction.regions[0].blocks[0].arguments
    *loops, result = loops_of(reduction)
    along = [len(result) in dims for dims in loops]
    zeros = {each for each, is_along in zip(elements, along, strict=True) if is_along}
    for each in children(reduction):
        if each == combiner.operation and each.operands[combiner.element] in zeros:
            if each.name == "arith.addf":
                return 0.0
        elif keeps_zeros(each, zeros):
            zeros.update(each.results)
    raise Refusal(f"no number of workgroups divides {loop_lengths(reduction)[-1]} elements")


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
    dividing = [each for each in range(wanted, wanted // 2, -1) if row % each == 0]
    if dividing:
        count = next((each for each in dividing if row // each % _RUN == 0), dividing[0])
        found = _Parts(count, row // count, row, None)
    else:
        length = -(-row // (wanted * _RUN)) * _RUN
        found = _Parts(-(-row // length), length, row, None)
    kernels += found.is_longer
    return found if microseconds > kernels * _KERNEL else None


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
    redirect(operands_with(softmax.results[0]), made)
    softmax.erase()
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
        whole = at.generic(
            [of_parts.results[0]],
            init,
            at.looped(row + 1, [range(row + 1), result]),
            lambda at, each, before: _combined(at, combiner, each, before),
        )
        redirect(operands_with(reduction.results[0]), whole.results[0])
        reduction.erase()
        members = [whole, *_following(whole)]
        results = members[-1].results
        users = operands_with(results[0])
        alone = Builder.after(members[-1]).at(whole.location).dispatch_region(results)
        end = children(alone)[-1]
        for each in members:
            each.move_before(end)
        redirect(users, alone.results[0])

    def _split(self, at: Builder, value: ir.Value) -> ir.Value:
        """Emits a tensor whose last dimension becomes the parts and their elements."""
        parts, kind = self.parts, ir.RankedTensorType(value.type)
        *outer, _ = kind.shape
        value = _longer(at, value, parts) if parts.is_longer else value
        split = at.tensor_type([*outer, parts.workgroups, parts.length], kind.element_type)
        last = len(outer)
        return at.expand_shape(value, split, [*([each] for each in range(last)), [last, last + 1]])

    def _body(self, at: Builder, *elements: ir.Value) -> ir.Value:
        """Emits what the reduction does with an element."""
        old = self.reduction.regions[0].blocks[0].arguments
        values = dict(zip(old, elements, strict=True))
        *inside, end = children(self.reduction)
        for each in inside:
            operands = [values.get(operand, operand) for operand in each.operands]
            values.update(zip(each.results, at.clone(each, operands).results, strict=True))
        return values[end.operands[0]]


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


def _longer(at: Builder, value: ir.Value, parts: _Parts) -> ir.Value:
    """Emits a copy of a tensor with longer rows.

    What indexes a flat tensor is one kernel; a `tensor.pad` would be two.
    """
    kind, row = ir.RankedTensorType(value.type), parts.row
    *outer, _ = kind.shape
    flat = at.tensor_type([prod(kind.shape)], kind.element_type)
    source = at.collapse_shape(value, flat, [[*range(kind.rank)]]) if outer else value

    def element(at: Builder, *indices: ir.Value) -> list[ir.Value]:
        *before, column = indices
        place = at.minui(column, at.index(row - 1))
        if before:
            place = at.addi(at.muli(at.linearize(before, outer), at.index(row)), place)
        found = at.element(source, [place])
        if parts.behind is None:
            return [found]
        there = at.cmpi("ult", column, at.index(row))
        return [at.select(there, found, at.constant(kind.element_type, parts.behind))]

    longer = at.tensor_type([*outer, parts.workgroups * parts.length], kind.element_type)
    (made,) = at.computed([longer], element, {})
    return made
