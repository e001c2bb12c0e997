# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes an attention of a product, a softmax and another product.

JAX, and PyTorch's eager attentions, are exported as they are defined:

    %s = linalg.batch_matmul ins(%q, %k : ...) ... -> tensor<48x1024x1024xf16>
    %w = linalg.softmax dimension(2) ins(%masked : tensor<48x1024x1024xf32>) ...
    %o = linalg.batch_matmul ins(%weights, %v : ...) ... -> tensor<48x1024x64xf16>

IREE 3.13 writes scores and weights to memory, and its softmax reads the scores three times. An
`iree_linalg_ext.attention` keeps them in registers. What stands between the softmax and the
products is followed by `score_chains.py`. Scores are not rounded to the type that the
program has for them, and sums are in another order: outputs are right to rounding.

It is done where a tile of matrix instructions is predicted to take less time than moving scores and
weights does alone.

Runs on functions of the program, before dispatches are formed and all other passes there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import LOG2_E, element_bits
from ...dialect_utils.operations import erase_unused, has_operation, operations_in, replace_by
from ...passes.base import PassContext
from ...passes.decisions import Action
from ..costs.split_cost import copy_microseconds
from .key_splits import least_microseconds
from .program_attention import Operand, ProgramAttention
from .program_pass import ProgramAttentionPass
from .score_chains import Product, Scores, product_before, scores_behind

_SOFTMAX = "linalg.softmax"
_RESULT = 2
_SCALE_OF_Q = math.log(2.0)
"""The scale of an attention whose Q stays as it is: IREE 3.13 multiplies it by log2 e, which makes
1, and Q by the product, which it would round to the type of Q."""


class _Raised(NamedTuple):
    """What is predicted of an attention.

    Attributes:
        time: its predicted microseconds; 0 where nothing was predicted.
        whole: those that moving scores and weights takes without it.
    """

    time: float = 0.0
    whole: float = 0.0

    def __str__(self) -> str:
        if not self.time:
            return "a softmax between two products is an attention"
        return (
            f"an attention is predicted to take {self.time:.1f} us, and moving the scores and "
            f"weights of its softmax alone {self.whole:.1f} us"
        )


@dataclass(frozen=True)
class RaiseAttention(ProgramAttentionPass):
    """Makes attentions of softmaxes between products.

    Attributes:
        always: whether that does not depend on the prediction.
        unmeasured: whether it is done, too, on GPUs on which the model was not compared with
            measured times.
    """

    name: ClassVar[str] = "bankwise-raise-attention"
    summary: ClassVar[str] = "make attentions of softmaxes between products"

    always: bool = False
    unmeasured: bool = False

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has a softmax."""
        return has_operation(function, _SOFTMAX)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the softmaxes of `function`; never fails."""
        function = function.operation
        for operation in operations_in(function, _SOFTMAX):
            with context.refusals_said(operation.location, "it stays a softmax"):
                self._raise(function, operation, context)

    def _raise(self, function: ir.Operation, softmax: ir.Operation, context: PassContext) -> None:
        """Makes an attention of what a softmax is part of.

        Raises:
            Refusal: it stays as it is.
        """
        self.check_place(softmax)
        parts = _Parts.around(softmax)
        made = parts.emitted()
        try:
            raised = _Raised() if self.always else self._predicted(parts, made, function, context)
            if objection := context.users_configuration():
                raise Refusal(objection)
        except Refusal:
            erase_unused(made.results)
            raise
        detail = " x ".join(map(str, parts.extents))
        self.record_change(context, function, made, Action.RAISE, str(raised), detail)
        parts.replace_with(made)

    def _predicted(
        self, parts: _Parts, made: ir.Operation, function: ir.Operation, context: PassContext
    ) -> _Raised:
        """Returns what is predicted of the attention that was made of some parts.

        Raises:
            Refusal: nothing is predicted, or not that it takes less time.
        """
        target, circumstances = self.predicted_on(function, context)
        attention = ProgramAttention.of(made)
        time = least_microseconds(attention, target.matrix_instructions, circumstances)
        raised = _Raised(time, copy_microseconds(parts.moved_bytes, circumstances.processor))
        if time > raised.whole:
            raise Refusal(str(raised))
        if not self.unmeasured:
            self.check_gain(raised, target, circumstances)
        return raised


class _Parts(NamedTuple):
    """The parts of an attention around a softmax.

    The loops of the softmax are numbered by its dimensions, the last of which is over the keys. The
    loop over the head and that over the columns follow.

    Attributes:
        extents: how long the loops are.
        weighted: the product with V.
        weights: what it multiplies by V.
        order: the loops in the order of batch, rows, head, keys and columns.
        inputs: Q, K, V and the mask if there is one.
        output: the loops of the attention's result.
    """

    extents: tuple[int, ...]
    softmax: ir.Operation
    scores: Scores
    weighted: Product
    weights: ir.Value
    order: tuple[int, ...]
    inputs: tuple[Operand, ...]
    output: tuple[int, ...]

    @staticmethod
    def around(softmax: ir.Operation) -> _Parts:
        """Finds the parts.

        Raises:
            Refusal: one is missing or of another form.
        """
        extents = tuple(ir.ShapedType(softmax.results[0].type).shape)
        if ir.IntegerAttr(softmax.attributes["dimension"]).value != len(extents) - 1:
            raise Refusal("it is not over the last dimension")
        if DYNAMIC in extents:
            raise Refusal("its sizes are not all known")
        keys, head, columns = len(extents) - 1, len(extents), len(extents) + 1
        scores = scores_behind(softmax, extents)
        query, key = _query_and_key(scores.product, keys, head)
        weighted, number = product_before(softmax, extents)
        value, result = _value_and_result(weighted, number, keys, columns)
        batch = [loop for loop in range(keys) if loop in key.dims]
        rows = [loop for loop in range(keys) if loop not in key.dims]
        if not rows or {*query.dims} != {*batch, *rows, head}:
            raise Refusal("its scores are of no rows")
        if {*value.dims} != {*batch, keys, columns} or {*key.dims} != {*batch, keys, head}:
            raise Refusal("V has other loops than K")
        inputs = (query, key, value, *([scores.mask] if scores.mask else []))
        sized = [*extents, _length(query, head), _length(value, columns)]
        return _Parts(
            tuple(sized),
            softmax,
            scores,
            weighted._replace(groups={**weighted.groups, **result}),
            weighted.operation.operands[number],
            (*batch, *rows, head, keys, columns),
            inputs,
            (*batch, *rows, columns),
        )

    @property
    def moved_bytes(self) -> int:
        """Returns how many bytes of scores and weights are written and read without the attention.

        The softmax is counted as if it read scores once.
        """
        elements = math.prod(ir.ShapedType(self.softmax.results[0].type).shape)
        kinds = (self.scores.product.operation.results[0].type, self.weights.type)
        bits = sum(element_bits(ir.ShapedType(each).element_type) or 0 for each in kinds)
        return 2 * elements * bits // 8

    def emitted(self) -> ir.Operation:
        """Emits the attention before the product with V."""
        operation = self.weighted.operation
        at = Builder.before(operation).at(self.softmax.location)
        values = [each.expanded(at, self._sizes) for each in self.inputs]
        values.insert(3, at.constant(ir.F32Type.get(at.context), _SCALE_OF_Q))
        place = {loop: number for number, loop in enumerate(self.order)}
        dims = [each.dims for each in self.inputs]
        dims.insert(3, ())
        maps = [[place[loop] for loop in each] for each in (*dims, self.output)]
        kind = at.tensor_type(
            self._sizes(self.output), ir.ShapedType(operation.results[0].type).element_type
        )
        factors = (LOG2_E, self.scores.scale)
        return at.scaling_attention(values, factors, kind, at.indexing_maps(len(place), maps))

    def replace_with(self, made: ir.Operation) -> None:
        """Lets the attention's result be that of the product with V."""
        operation = self.weighted.operation
        result = self.weighted.operand(_RESULT)
        at = Builder.before(operation).at(self.softmax.location)
        value, kind = made.results[0], ir.RankedTensorType(operation.results[0].type)
        if result.dims != self.output:
            empty = at.empty(at.tensor_type(self._sizes(result.dims), kind.element_type))
            read = [result.dims.index(loop) for loop in self.output]
            value = at.parallel([value], [read], empty, lambda _, each, before: each)
        if len(result.dims) != len(result.loops):
            value = at.collapse_shape(value, kind, result.groups)
        replace_by(operation, value)

    def _sizes(self, loops: Sequence[int]) -> list[int]:
        """Returns how long loops are."""
        return [self.extents[loop] for loop in loops]


def _query_and_key(product: Product, keys: int, head: int) -> tuple[Operand, Operand]:
    """Returns Q and K of the product that scores are.

    Raises:
        Refusal: one of its operands has no keys, or both.
    """
    (summed, *more) = product.summed
    if more:
        raise Refusal("its head is several loops")
    product = product.with_group(summed, (head,))
    query, key = product.operand(0), product.operand(1)
    if (keys,) in query.loops:
        query, key = key, query
    if (keys,) not in key.loops or keys in query.dims:
        raise Refusal("its keys are no dimension of one operand alone")
    return query, key


def _value_and_result(
    product: Product, number: int, keys: int, columns: int
) -> tuple[Operand, dict[int, tuple[int, ...]]]:
    """Returns V, and what its loops are, of the product with weights.

    Args:
        number: which operand has the weights.

    Raises:
        Refusal: the product does not sum over the keys alone, or has no columns.
    """
    new = [loop for loop in product.loops[1 - number] if loop not in product.groups]
    if len(product.summed) != 1 or product.groups.get(product.summed[0]) != (keys,):
        raise Refusal("the product with V is not summed over its keys alone")
    if len(new) != 1:
        raise Refusal("its columns are several loops, or none")
    product = product.with_group(new[0], (columns,))
    return product.operand(1 - number), {new[0]: (columns,)}


def _length(operand: Operand, loop: int) -> int:
    """Returns how long a loop is that is a dimension of an operand."""
    return ir.ShapedType(operand.value.type).shape[operand.loops.index((loop,))]
