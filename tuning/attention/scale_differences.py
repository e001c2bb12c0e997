# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-scale-differences`: an attention scales differences of scores, and not scores.

`bankwise-raise-attention` makes attentions that multiply each score by log2 e and by the program's
scale, so that `exp2` takes the place of `exp`:

    %x = (%score * log2 e) * scale              %x = %score
    %max = maximum of %old and all %x     ->    %max = maximum of %old and all %x
    %p = exp2(%x - %max)                        %p = exp2((%x - %max) * (scale * log2 e))
    %corr = exp2(%old - %max)                   %corr = exp2((%old - %max) * (scale * log2 e))

On the left, the products of large scores are rounded, and an error of 2^-24 of a score of 10^5 is
one of 0.006 in the exponent. Two scores that are nearly equal and have all of a row's weight then
share it otherwise than the program says. On the right, the difference of such scores is exact. No
compiler can contract the product and the subtraction to an `fma`, by which the largest score of a
row would not be the maximum of the row any more, and its exponential could overflow.

Where a mask of numbers is added, scores are scaled before as the program says, and only log2 e
comes later; a mask that hides scores by -inf hides them on any scale. Maxima that leave the loop,
for a kernel that merges parts of the keys, are scaled there, and the number that the maxima of no
key begin with stays what it is.

Runs behind `iree-linalg-ext-decompose-attention`, where each of these lines is a `linalg.generic`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import LOG2_E
from ...dialect_utils.indexing_maps import GENERIC, summed_loops
from ...dialect_utils.loops import carried_by_use
from ...dialect_utils.operations import (
    children,
    defining_operation,
    has_operation,
    number_of,
    operands_with,
    operations_in,
    redirect,
    terminator,
)
from ...passes.base import FunctionPass, PassContext

_LOWEST = float(np.finfo(np.float32).min)
_SMALLEST, _LARGEST = 2.0**-100, 2.0**100
"""The factors that differences are multiplied by without leaving the range of f32."""
_ADD, _SUBTRACT, _MULTIPLY, _MAXIMUM = "arith.addf", "arith.subf", "arith.mulf", "arith.maximumf"
_EXP2, _SELECT, _FILL = "math.exp2", "arith.select", "linalg.fill"


class ScaleDifferences(FunctionPass):
    """Scales the differences of scores and their maxima."""

    name: ClassVar[str] = "bankwise-scale-differences"
    summary: ClassVar[str] = "scale differences of scores, and not the scores of an attention"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has exponentials."""
        return has_operation(function, _EXP2)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites attentions that multiply their scores by log2 e; never fails."""
        for each in operations_in(function.operation, GENERIC):
            scaling = _Scaling.of(each)
            if scaling is None:
                continue
            with context.refusals_said(each.location, "scores are scaled before their maximum"):
                _Softmax.of(scaling).rewrite()


class _Scaling(NamedTuple):
    """An operation that multiplies scores by log2 e and by a scale.

    Attributes:
        source: the scores as they are.
        factor: what the body multiplies.
        scale: by what beside log2 e.
    """

    operation: ir.Operation
    source: ir.Value
    factor: ir.Value
    scale: float

    @staticmethod
    def of(operation: ir.Operation) -> _Scaling | None:
        """Reads an operation; None is another one."""
        if len(operation.results) != 1 or summed_loops(operation):
            return None
        value, factors = _yielded(operation), list[float]()
        while (product := defining_operation(value)) is not None:
            numbers = [number_of(each) for each in product.operands]
            if product.name != _MULTIPLY or numbers.count(None) != 1:
                return None
            factors += [each for each in numbers if each is not None]
            value = product.operands[numbers.index(None)]
        if LOG2_E not in factors or len(factors) > 2:
            return None
        factors.remove(LOG2_E)
        place = ir.BlockArgument(value).arg_number
        source = operation.operands[place]
        return _Scaling(operation, source, value, factors[0] if factors else 1.0)

    def scale_alone(self) -> None:
        """Multiplies scores by the scale alone, if that is not 1."""
        if self.scale == 1.0:
            redirect(operands_with(self.operation.results[0]), self.source)
            return
        end = terminator(self.operation.regions[0])
        at = Builder.before(end)
        end.operands[0] = at.mulf(self.factor, at.constant(self.factor.type, self.scale))


class _Softmax(NamedTuple):
    """What an attention does with its scores.

    Attributes:
        mask: the product with log2 e of a mask of numbers that is added to scores.
        exponents: the differences of which powers of 2 are computed.
        leaving: the maxima as they are at the end, if something else takes them.
    """

    scaling: _Scaling
    mask: ir.Operation | None
    exponents: tuple[ir.Operation, ...]
    leaving: ir.Value | None

    @staticmethod
    def of(scaling: _Scaling) -> _Softmax:
        """Finds the parts.

        Raises:
            Refusal: something else is done with the scores.
        """
        scores, mask = scaling.operation.results[0], None
        users = operands_with(scores)
        if len(users) == 1:
            masking, number = users[0]
            mask = _mask_of(masking, number)
            scores = masking.results[0]
            users = operands_with(scores)
        maxima = [user for user, number in users if _is_maximum(user, number)]
        if len(maxima) != 1 or len(users) != 2:
            raise Refusal("its scores are not only for their maximum and their exponentials")
        (maximum,) = maxima
        (other,) = (user for user, _ in users if user != maximum)
        new, old = maximum.results[0], maximum.operands[1]
        exponents, leaving = [_difference(other, scores, new)], None
        rest = [each for each in operands_with(new) if each[0] != other]
        for user, number in rest:
            carried = carried_by_use(user, number)
            if carried is None and user.name == GENERIC and old in [*user.operands]:
                exponents.append(_difference(user, old, new))
            elif carried is None or carried.argument != old:
                leaving = new
        carried = _check_begin(maximum)
        if carried is not None:
            known = {maximum, *(each.parent.operation for each in exponents)}
            if leaving is not None or any(user not in known for user, _ in operands_with(old)):
                raise Refusal("something else in the loop takes its maxima")
            leaving = carried if operands_with(carried) else None
        if (carried is not None or leaving is not None) and len(exponents) != 2:
            raise Refusal("its maxima are not compared with those before")
        return _Softmax(scaling, mask, tuple(exponents), leaving)

    def rewrite(self) -> None:
        """Multiplies the differences."""
        scale = self.scaling.scale
        factor = scale * math.log2(math.e)
        if self.mask is None and _SMALLEST < factor < _LARGEST:
            redirect(operands_with(self.scaling.operation.results[0]), self.scaling.source)
        else:
            factor = LOG2_E
            self.scaling.scale_alone()
            if self.mask is not None:
                (value,) = (each for each in self.mask.operands if number_of(each) is None)
                redirect(operands_with(self.mask.results[0]), value)
        for each in self.exponents:
            difference = each.results[0]
            users = operands_with(difference)
            at = Builder.after(each)
            redirect(users, at.mulf(difference, at.constant(difference.type, factor)))
        if self.leaving is not None:
            _scale_maxima(self.leaving, factor, self.exponents)


def _yielded(operation: ir.Operation) -> ir.Value:
    """Returns what the body of a `linalg.generic` with one result computes."""
    return terminator(operation.regions[0]).operands[0]


def _argument(operation: ir.Operation, value: ir.Value) -> ir.Value:
    """Returns the element of an operand in the body of a `linalg.generic`."""
    return operation.regions[0].blocks[0].arguments[[*operation.operands].index(value)]


def _mask_of(masking: ir.Operation, number: int) -> ir.Operation | None:
    """Returns what multiplies the mask that is added to scores by log2 e; None is one of -inf.

    Args:
        number: which operand has the scores.

    Raises:
        Refusal: something else is done with them.
    """
    if masking.name != GENERIC or len(masking.results) != 1 or summed_loops(masking):
        raise Refusal(f"{masking.name} changes its scores")
    scores = masking.regions[0].blocks[0].arguments[number]
    total = defining_operation(_yielded(masking))
    if total is None or total.name != _ADD or list(total.operands).count(scores) != 1:
        raise Refusal("its scores are changed in a way that it does not know")
    (added,) = (defining_operation(each) for each in total.operands if each != scores)
    numbers = [number_of(each) for each in added.operands] if added is not None else []
    if added is not None and added.name == _SELECT and {*numbers[1:]} == {0.0, -math.inf}:
        return None
    if added is not None and added.name == _MULTIPLY and LOG2_E in numbers:
        return added
    raise Refusal("its mask is of a form that it does not know")


def _is_maximum(operation: ir.Operation, number: int) -> bool:
    """Returns whether an operation computes the maxima of rows of operand 0."""
    if operation.name != GENERIC or number != 0 or len(operation.operands) != 2:
        return False
    maximum = defining_operation(_yielded(operation))
    if maximum is None or maximum.name != _MAXIMUM or len(summed_loops(operation)) != 1:
        return False
    return {*maximum.operands} == {*operation.regions[0].blocks[0].arguments}


def _difference(operation: ir.Operation, value: ir.Value, maxima: ir.Value) -> ir.Operation:
    """Returns the difference of a value and of new maxima in a body that yields its power of 2.

    Raises:
        Refusal: the body computes something else.
    """
    if operation.name == GENERIC and len(children(operation)) == 3:
        power = defining_operation(_yielded(operation))
        difference = defining_operation(power.operands[0]) if power is not None else None
        if power is not None and difference is not None and power.name == _EXP2:
            wanted = [_argument(operation, each) for each in (value, maxima)]
            if difference.name == _SUBTRACT and [*difference.operands] == wanted:
                return difference
    raise Refusal("its scores are not only for their maximum and their exponentials")


def _check_begin(maximum: ir.Operation) -> ir.Value | None:
    """Makes sure that maxima begin with the lowest number; returns those that a loop ends with.

    Raises:
        Refusal: they begin with something else, or the loop does something else with them.
    """
    begin, result = maximum.operands[1], None
    if isinstance(begin.owner, ir.Block):
        uses = [carried_by_use(*each) for each in operands_with(maximum.results[0])]
        carried = next((each for each in uses if each is not None and each.argument == begin), None)
        if carried is None:
            raise Refusal("its maxima are not those that a loop carries")
        begin, result = carried.initial, carried.result
    fill = defining_operation(begin)
    number = number_of(fill.operands[0]) if fill is not None and fill.name == _FILL else None
    if number is None or number > _LOWEST:
        raise Refusal("its maxima do not begin with the lowest number")
    return result


def _scale_maxima(maxima: ir.Value, factor: float, exponents: Sequence[ir.Operation]) -> None:
    """Multiplies maxima where something else takes them; the lowest number stays as it is."""
    inside = {each.parent.operation for each in exponents}
    users = [
        (user, number)
        for user, number in operands_with(maxima)
        if user not in inside and carried_by_use(user, number) is None
    ]

    def scaled(at: Builder, value: ir.Value, _: ir.Value) -> ir.Value:
        lowest = at.constant(value.type, _LOWEST)
        product = at.mulf(value, at.constant(value.type, factor))
        return at.select(at.cmpf("ogt", value, lowest), product, lowest)

    at = Builder.behind(maxima)
    kind = ir.RankedTensorType(maxima.type)
    empty = at.empty(at.tensor_type(kind.shape, kind.element_type))
    redirect(users, at.parallel([maxima], [range(kind.rank)], empty, scaled))
