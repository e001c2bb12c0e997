# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Splits the keys of attentions with few rows over workgroups, and merges the parts.

IREE gives a workgroup some rows of an attention and all keys. With 8 heads of 128 rows and 8,192
keys, most multiprocessors of a GPU have no workgroup, and the others go over all keys one after the
other. This pass lets every workgroup go over a part of the keys:

    %ks = tensor.expand_shape %k [[0], [1, 2], [3]] : tensor<8x8192x128xf16>
        into tensor<8x16x512x128xf16>
    %o, %m, %s = iree_linalg_ext.online_attention ... ins(%q, %ks, %vs, %scale)
        -> tensor<16x8x128x128xf32>, tensor<16x8x128xf32>, tensor<16x8x128xf32>

For each part of a row there is an output that is not divided by the sum of exponentials yet, the
maximum m of the scores, and that sum s. One elementwise kernel reads all parts of a row at once,
with m the greatest maximum:

    output = (sum of exp2(m_i - m) o_i) / (sum of exp2(m_i - m) s_i)

This is what the kernel of an attention does, too, when it goes from one step of keys to the next,
in another order: outputs are right to rounding. How many parts there are is decided by the
predicted time (`tuning/programs/key_splits.py`).

A row whose scores are all -inf has NaN, as without the pass: all of its sums are 0. Where some
parts of a row have only such scores, their maximum is the lowest number, and exp2(m_i - m) is 0.

IREE has folded a loop over a single row away, and a matrix instruction needs rows. A single row is
therefore computed twice.

Runs on functions of the program, before dispatches are formed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.operations import (
    defining_operation,
    operands_with,
    operations_in,
    redirect,
)
from ...passes.base import PassContext
from ...passes.decisions import Action
from ..attention.attention_tiles import Q
from .key_splits import KeySplits, key_splits
from .program_attention import ATTENTION, ProgramAttention
from .program_pass import ProgramAttentionPass

_LOWEST = -3.4028234663852886e38
"""What IREE begins the maximum of a row with: the lowest f32."""
_SINGLE_BITS = 32


@dataclass(frozen=True)
class SplitKeys(ProgramAttentionPass):
    """Splits the keys of attentions where that is predicted to be faster.

    Attributes:
        parts: into how many parts, where that does not depend on the prediction; 0 where it does.
        unmeasured: whether it does so, too, on GPUs on which the model was not compared with
            measured times, and where it was compared with a more exact model and saves less than
            `MODELLED_GAIN`.
    """

    name: ClassVar[str] = "bankwise-split-keys"
    summary: ClassVar[str] = "share the keys of attentions with few rows among workgroups"

    parts: int = 0
    unmeasured: bool = False

    def __post_init__(self) -> None:
        self._expect("parts", self.parts == 0 or self.parts > 1, "0, or a number above 1")

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the attentions of `function`; never fails."""
        function = function.operation
        for operation in operations_in(function, ATTENTION):
            plan = partial(self._plan, function, operation, context)
            if found := context.planned(operation.location, "keys are not split", plan):
                splits, split = found
                detail = f"{splits.count} parts"
                named = (operation, Action.SPLIT, str(splits), detail)
                self.record_change(context, function, *named)
                split.apply()

    def _plan(
        self, function: ir.Operation, operation: ir.Operation, context: PassContext
    ) -> tuple[KeySplits, _Split]:
        """Returns into how many parts the keys of an attention are split, and what splits them.

        Raises:
            Refusal: they are not.
        """
        attention = ProgramAttention.of(operation)
        splits = self._splits(function, attention, context)
        return splits, _Split.of(attention, splits.count)

    def _splits(
        self, function: ir.Operation, attention: ProgramAttention, context: PassContext
    ) -> KeySplits:
        """Returns into how many parts the keys of an attention are split.

        Raises:
            Refusal: they are not.
        """
        self.check_place(attention.operation)
        if self.parts:
            return KeySplits(self.parts)
        target, circumstances = self.predicted_on(function, context)
        splits = key_splits(attention, target.matrix_instructions, circumstances)
        if not self.unmeasured:
            self.check_gain(splits, target, circumstances)
        return splits


@dataclass(frozen=True)
class _Split:
    """An attention whose keys are split.

    Attributes:
        count: the number of parts.
        keys: the loop over the keys.
    """

    attention: ProgramAttention
    count: int
    keys: int

    @staticmethod
    def of(attention: ProgramAttention, count: int) -> _Split:
        """Makes sure that the keys can be split into so many parts.

        Raises:
            Refusal: they cannot.
        """
        keys = attention.parts.keys
        if attention.extents[keys] % count:
            raise Refusal(f"its {attention.extents[keys]} keys are no {count} equal parts")
        element = ir.ShapedType(attention.output.value.type).element_type
        if not isinstance(element, ir.F16Type | ir.BF16Type | ir.F32Type):
            raise Refusal(f"its output is of {element}")
        return _Split(attention, count, keys)

    def apply(self) -> None:
        """Replaces the attention."""
        attention = self.attention
        output = attention.output.value
        made = defining_operation(output)
        assert made is not None
        at = Builder.before(made).at(attention.operation.location)
        inputs, loops = self._inputs(at)
        parts = self._online(at, inputs, loops)
        merged = self._merged(at, parts)
        kind = ir.RankedTensorType(output.type)
        if len(attention.output.dims) != kind.rank:
            merged = at.collapse_shape(merged, kind, attention.output.groups)
        redirect(operands_with(output), merged)
        if made != attention.operation:
            made.erase()
        attention.operation.erase()

    @property
    def _part(self) -> int:
        """Returns the loop over the parts."""
        return len(self.attention.order)

    def _sizes(self, loops: Sequence[int]) -> list[int]:
        """Returns how long loops of the split attention are."""
        keys = self.attention.extents[self.keys] // self.count
        sizes = {**self.attention.extents, self._part: self.count, self.keys: keys}
        return [sizes[loop] for loop in loops]

    def _inputs(self, at: Builder) -> tuple[list[ir.Value], list[tuple[int, ...]]]:
        """Emits the operands of the split attention; returns them and the loops of each."""
        values: list[ir.Value] = []
        loops: list[tuple[int, ...]] = []
        for operand in self.attention.inputs:
            expanded = operand.with_loop_split(self.keys, (self._part, self.keys))
            values.append(expanded.expanded(at, self._sizes))
            loops.append(expanded.dims)
        if self.attention.doubled is not None:
            loops[Q] = self.attention.doubled_dims(loops[Q])
            element = ir.ShapedType(values[Q].type).element_type
            twice = at.empty(at.tensor_type(self._sizes(loops[Q]), element))
            read = range(1, len(loops[Q]))
            values[Q] = at.parallel([values[Q]], [read], twice, lambda _, each, before: each)
        return values, loops

    def _online(
        self, at: Builder, inputs: Sequence[ir.Value], loops: Sequence[Sequence[int]]
    ) -> list[ir.Value]:
        """Emits the split attention; returns its outputs, maxima and sums."""
        attention = self.attention
        single = ir.F32Type.get(at.context)
        outputs: list[ir.Value] = []
        results: list[tuple[int, ...]] = []
        for dims, first in (
            (attention.output.dims, 0.0),
            (attention.row_dims, _LOWEST),
            (attention.row_dims, 0.0),
        ):
            results.append((self._part, *attention.doubled_dims(dims)))
            empty = at.empty(at.tensor_type(self._sizes(results[-1]), single))
            outputs.append(at.fill(at.constant(single, first), empty))
        order = [self._part, *attention.order]
        places = {loop: place for place, loop in enumerate(order)}
        maps = [[places[loop] for loop in dims] for dims in (*loops, *results)]
        indexing = at.indexing_maps(len(order), maps)
        return list(at.online_attention(attention.operation, inputs, outputs, indexing).results)

    def _merged(self, at: Builder, parts: Sequence[ir.Value]) -> ir.Value:
        """Emits the merge of the parts; returns the output."""
        attention, count = self.attention, self.count
        dims, rows = attention.output.dims, attention.row_dims
        place = {loop: number for number, loop in enumerate(dims)}
        taken = list(
            chain.from_iterable(
                (self._taken(at, tensor, theirs, number) for number in range(count))
                for tensor, theirs in zip(parts, (dims, rows, rows), strict=True)
            )
        )
        read = [[place[loop] for loop in theirs] for theirs in (dims, rows, rows)]
        loops = [each for each in read for _ in range(count)]
        element = ir.ShapedType(attention.output.value.type).element_type
        empty = at.empty(at.tensor_type(attention.sizes(dims), element))
        return at.parallel(taken, loops, empty, self._merge)

    def _taken(self, at: Builder, tensor: ir.Value, dims: Sequence[int], number: int) -> ir.Value:
        """Takes one of the parts, without the row that is there twice."""
        sizes, element = self.attention.sizes(dims), ir.ShapedType(tensor.type).element_type
        first = [1] if self.attention.doubled is None else [1, 1]
        offsets = [number, *([0] * (len(first) - 1 + len(sizes)))]
        return at.slice(tensor, at.tensor_type(sizes, element), offsets, [*first, *sizes])

    def _merge(self, at: Builder, *elements: ir.Value) -> ir.Value:
        """Emits an element of the output from those of all parts."""
        *parts, before = elements
        outputs, maxima, sums = (
            parts[first : first + self.count] for first in range(0, 3 * self.count, self.count)
        )
        greatest = _tree(at.maximumf, maxima)
        factors = [at.exp2(at.subf(each, greatest)) for each in maxima]
        output, total = (
            _tree(at.addf, [at.mulf(f, each) for f, each in zip(factors, of, strict=True)])
            for of in (outputs, sums)
        )
        one = at.constant(total.type, 1.0)
        result = at.mulf(at.divf(one, total), output)
        narrow = (element_bits(before.type) or _SINGLE_BITS) < _SINGLE_BITS
        return at.truncf(result, before.type) if narrow else result


def _tree(join: Callable[[ir.Value, ir.Value], ir.Value], values: Sequence[ir.Value]) -> ir.Value:
    """Emits values joined pair by pair, so that few of the operations wait for each other."""
    while len(values) > 1:
        pairs = [join(*values[n : n + 2]) for n in range(0, len(values) - 1, 2)]
        values = [*pairs, *values[len(values) & ~1 :]]
    return values[0]
