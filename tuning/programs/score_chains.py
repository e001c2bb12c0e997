# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the scores of an attention are made for a softmax, and what is made of its weights.

Where an exporter writes an attention as it is defined, operations on whole tensors stand between
the product of Q and K, the softmax and the product with V:

    scores -> extf -> expand_shape -> divf 8.0 -> select %mask, -inf -> softmax
    weights -> truncf -> transpose -> collapse_shape -> product with V

This module follows them from the softmax to both products, and says which of the softmax's loops
index each dimension there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.indexing_maps import (
    GENERIC,
    PRODUCTS,
    loops_of,
    product_loops,
    summed_loops,
)
from ...dialect_utils.lowering_config import integers, is_configured
from ...dialect_utils.operations import (
    children,
    defining_operation,
    number_of,
    operands_with,
    terminator,
)
from .program_attention import Operand

Groups = tuple[tuple[int, ...], ...]
"""For each dimension of a tensor the loops that index it."""

_COLLAPSE, _EXPAND = "tensor.collapse_shape", "tensor.expand_shape"
_MOST_OPERATIONS = 4
"""The most operations of a body, the last one included, of which a step is made."""
_FLOATS = (ir.F16Type, ir.BF16Type, ir.F32Type)
_FILL = "linalg.fill"
_CONVERSIONS = ("arith.extf", "arith.truncf")


class Product(NamedTuple):
    """A product of two tensors of floating-point numbers, whose sums begin with zeros.

    Attributes:
        loops: those of both operands and of the result.
        groups: for each of them the loops of the softmax that it is, where it is known.
    """

    operation: ir.Operation
    loops: tuple[tuple[int, ...], ...]
    groups: Mapping[int, tuple[int, ...]]

    @staticmethod
    def of(operation: ir.Operation, known: int, groups: Groups) -> Product:
        """Reads a product of which the loops of an operand, or of the result, are known.

        Args:
            known: 0 or 1 for an operand, 2 for the result.
            groups: the loops of the softmax in each dimension of it.

        Raises:
            Refusal: it is something else.
        """
        if operation.name not in PRODUCTS:
            raise Refusal(f"{operation.name} is no product that it knows")
        loops = product_loops(operation)
        kinds = [ir.ShapedType(each.type).element_type for each in operation.operands]
        if not all(isinstance(each, _FLOATS) for each in kinds):
            raise Refusal("its products are not of f16, bf16 and f32")
        if is_configured(operation):
            raise Refusal("its product has a configuration")
        begin = defining_operation(operation.operands[-1])
        if begin is None or begin.name != _FILL or number_of(begin.operands[0]) != 0.0:
            raise Refusal("its products are added to something")
        return Product(operation, loops, dict(zip(loops[known], groups, strict=True)))

    def operand(self, number: int) -> Operand:
        """Returns an operand, or with 2 the result, all of whose loops are known."""
        value = self.operation.results[0] if number == 2 else self.operation.operands[number]
        return Operand(value, tuple(self.groups[loop] for loop in self.loops[number]))

    @property
    def summed(self) -> list[int]:
        """Returns the loops that are summed over."""
        return [loop for loop in self.loops[0] if loop not in self.loops[2]]

    def with_group(self, loop: int, group: tuple[int, ...]) -> Product:
        """Returns the product with one more loop known."""
        return self._replace(groups={**self.groups, loop: group})


class Scores(NamedTuple):
    """The product that scores are, and what is done to them before the softmax.

    Attributes:
        scale: what they are multiplied by.
        mask: what is added then, or of i1 says which scores stay.
    """

    product: Product
    scale: float
    mask: Operand | None


def scores_behind(softmax: ir.Operation, extents: Sequence[int]) -> Scores:
    """Looks for the product behind the input of a softmax.

    Args:
        extents: how long the loops are, one for each dimension.

    Raises:
        Refusal: what is between is not known, or something else reads it.
    """
    found = _Walk(softmax.operands[0], tuple((loop,) for loop in range(len(extents))))
    scale, mask = 1.0, None
    while True:
        operation = defining_operation(found.value)
        if operation is None or len(operands_with(found.value)) != 1:
            raise Refusal("its scores are not only for the softmax")
        if operation.name in PRODUCTS:
            return Scores(Product.of(operation, 2, found.groups), scale, mask)
        if operation.name in (_COLLAPSE, _EXPAND):
            source = _reshaped(operation, found.groups, extents, operation.name == _EXPAND)
            found = _Walk(operation.operands[0], source)
            continue
        step = _Step.of(operation)
        if step.mask is not None:
            if mask is not None or scale != 1.0:
                raise Refusal("its scores are changed behind the mask")
            mask = step.mask_operand(found.groups)
        scale *= step.factor
        groups = tuple(found.groups[loop] for loop in step.loops)
        found = _Walk(operation.operands[step.scores], groups)


def product_before(softmax: ir.Operation, extents: Sequence[int]) -> tuple[Product, int]:
    """Looks for the product that reads the result of a softmax, and for which operand it is.

    Args:
        extents: how long the loops are, one for each dimension.

    Raises:
        Refusal: what is between is not known, or something else reads it.
    """
    found = _Walk(softmax.results[0], tuple((loop,) for loop in range(len(extents))))
    while True:
        uses = operands_with(found.value)
        if len(uses) != 1:
            raise Refusal("its weights are not only for one product")
        ((user, number),) = uses
        if user.name in PRODUCTS and number < 2:
            return Product.of(user, number, found.groups), number
        found = _moved_on(user, number, found.groups, extents)


class _Walk(NamedTuple):
    """Where a walk is: a tensor, and the loops of its dimensions."""

    value: ir.Value
    groups: Groups


def _moved_on(
    operation: ir.Operation, number: int, groups: Groups, extents: Sequence[int]
) -> _Walk:
    """Returns what an operation makes of weights by reshaping, transposing or converting them.

    Args:
        number: which of its operands they are.

    Raises:
        Refusal: it does something else.
    """
    if operation.name in (_COLLAPSE, _EXPAND):
        reshaped = _reshaped(operation, groups, extents, operation.name == _COLLAPSE)
        return _Walk(operation.results[0], reshaped)
    step = _Step.of(operation)
    if step.scores != number or step.factor != 1.0 or step.mask is not None:
        raise Refusal("its weights are changed before the product with V")
    order = tuple(groups[step.loops.index(loop)] for loop in range(len(groups)))
    return _Walk(operation.results[0], order)


def _reshaped(
    operation: ir.Operation, groups: Groups, extents: Sequence[int], joins: bool
) -> Groups:
    """Returns the loops of the dimensions on the other side of a reshape.

    Args:
        joins: whether dimensions on this side are one on the other.
    """
    given = [integers(each) for each in ir.ArrayAttr(operation.attributes["reassociation"])]
    if joins:
        return tuple(tuple(loop for dim in each for loop in groups[dim]) for each in given)
    source, result = operation.operands[0].type, operation.results[0].type
    other = ir.ShapedType(source if operation.name == _COLLAPSE else result).shape
    parts: list[tuple[int, ...]] = []
    for group, dims in zip(groups, given, strict=True):
        parts += _parted(group, [other[dim] for dim in dims], extents)
    return tuple(parts)


def _parted(
    group: Sequence[int], sizes: Sequence[int], extents: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    """Yields which of a dimension's loops are each of the dimensions that it is parted into.

    Raises:
        Refusal: a loop would be parted.
    """
    left = list(group)
    for number, size in enumerate(sizes):
        taken: list[int] = []
        while math.prod(extents[loop] for loop in taken) < size and left:
            taken.append(left.pop(0))
        if number == len(sizes) - 1:
            taken += left
        if not taken or math.prod(extents[loop] for loop in taken) != size:
            raise Refusal("its scores are reshaped otherwise than by whole dimensions")
        yield tuple(taken)


class _Step(NamedTuple):
    """What an elementwise operation does to scores.

    Attributes:
        scores: the number of the operand that has them.
        factor: what they are multiplied by.
        mask: the number of the operand that is added to them, or of i1 says which stay.
    """

    operation: ir.Operation
    scores: int
    factor: float = 1.0
    mask: int | None = None

    @staticmethod
    def of(operation: ir.Operation) -> _Step:
        """Reads an operation.

        Raises:
            Refusal: it does something else.
        """
        if operation.name != GENERIC or len(operation.results) != 1 or summed_loops(operation):
            raise Refusal(f"{operation.name} changes its scores")
        loops = loops_of(operation)
        if loops[-1] != (*range(len(loops[-1])),):
            raise Refusal("its scores are indexed by more than loops")
        (inner,) = operation.regions[0].blocks
        step = _Step(operation, -1)._behind(terminator(operation.regions[0]).operands[0], inner)
        if sorted(step.loops) != [*loops[-1]] or len(children(operation)) > _MOST_OPERATIONS:
            raise Refusal("its scores are changed in a way that it does not know")
        return step

    @property
    def loops(self) -> tuple[int, ...]:
        """Returns the loops that index the scores; the output's dimensions are the loops."""
        return loops_of(self.operation)[self.scores]

    def mask_operand(self, groups: Groups) -> Operand:
        """Returns the mask, with the loops that index it."""
        assert self.mask is not None
        read = loops_of(self.operation)[self.mask]
        if any(len(groups[loop]) != 1 for loop in read):
            raise Refusal("a dimension of its mask is several loops")
        return Operand(self.operation.operands[self.mask], tuple(groups[loop] for loop in read))

    def _behind(self, value: ir.Value, block: ir.Block) -> _Step:
        """Follows a value of the body to the element of the scores that it is computed from."""
        operation = defining_operation(value)
        if operation is None:
            return self._replace(scores=_number_in(block, value))
        name, operands = operation.name, list(operation.operands)
        if name in _CONVERSIONS:
            return self._behind(operands[0], block)
        if name in ("arith.mulf", "arith.divf"):
            first, second = (self._number(each, block) for each in operands)
            if name == "arith.divf" and second:
                return self._replace(factor=self.factor / second)._behind(operands[0], block)
            if name == "arith.mulf" and (first is None) != (second is None):
                factor, rest = (second, operands[0]) if first is None else (first, operands[1])
                assert factor is not None
                return self._replace(factor=self.factor * factor)._behind(rest, block)
        if self.mask is None and self.factor == 1.0:
            if name == "arith.addf":
                return self._masked(operands, block)
            if name == "arith.select" and self._number(operands[2], block) == -math.inf:
                mask = _number_in(block, operands[0])
                return self._replace(mask=mask)._behind(operands[1], block)
        raise Refusal(f"{name} changes its scores")

    def _masked(self, operands: Sequence[ir.Value], block: ir.Block) -> _Step:
        """Follows the scores of a sum of scores and a mask, both of them elements of operands."""
        numbers = [_number_in(block, each) for each in operands]
        for scores, mask in (numbers, reversed(numbers)):
            source = defining_operation(self.operation.operands[scores])
            if source is not None and _leads_to_product(source):
                return self._replace(scores=scores, mask=mask)
        raise Refusal("it is not known which of two tensors has its scores")

    def _number(self, value: ir.Value, block: ir.Block) -> float | None:
        """Returns the constant that a value of the body is."""
        if defining_operation(value) is not None:
            return number_of(value)
        number = _number_in(block, value)
        return number_of(self.operation.operands[number])


def _number_in(block: ir.Block, value: ir.Value) -> int:
    """Returns which argument of a block a value is.

    Raises:
        Refusal: it is none.
    """
    for number, argument in enumerate(block.arguments):
        if argument == value:
            return number
    raise Refusal("its scores are changed in a way that it does not know")


def _leads_to_product(operation: ir.Operation) -> bool:
    """Returns whether what is only moved and computed element by element is a product."""
    while operation.name not in PRODUCTS:
        if operation.name not in (GENERIC, _COLLAPSE, _EXPAND):
            return False
        if operation.name == GENERIC and summed_loops(operation):
            return False
        sources = [defining_operation(each) for each in list(operation.operands)[:1]]
        if not sources or sources[0] is None:
            return False
        operation = sources[0]
    return True
