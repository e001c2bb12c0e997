# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps rows of K beyond its true end out of the softmax of an attention with enlarged shapes.

`bankwise-use-matrix-instructions` lets an attention of 1000 keys go over 1024 of them. The scores
of the last 24 are computed from zeros, and must not count. Before they are reduced to the maximum
of a row they become -inf, whose exponential is zero whatever the maximum is.

    %s = vector.multi_reduction <maximumf>, %scores, %maximum [1]

Where lanes share the keys of a step (`bankwise-round-up-keys`), each keeps the maximum of its own,
and the scores are what that is made of:

    %s = arith.maximumf %scores, %kept

Where the program computes how many keys there are, the end of the loop is that number, rounded up.
Such a loop may have no iteration, and IREE leaves in it what does not depend on the iteration: the
read of Q, which would be copied to the LDS in every step. The pass moves it before the loop.

Runs before `iree-codegen-gpu-vector-alloc`, where a tile of scores is one vector, and the loop over
the keys says where it begins.
"""

from __future__ import annotations

import math
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.loops import FOR, body_of, bounds_of
from ...dialect_utils.operations import (
    TRANSFER_READ,
    constant_value,
    defining_operation,
    is_inside,
    operands_with,
    operations_in,
    operations_of,
    parents_of,
    redirect,
    value_behind,
)
from ...passes.base import FunctionPass, PassContext
from ..shapes.enlarged_shapes import is_rounded, noted_keys, unrounded

_REDUCTION = "vector.multi_reduction"
_HOISTED = frozenset(
    {
        *(TRANSFER_READ, "iree_vector_ext.to_layout"),
        *("vector.broadcast", "vector.shape_cast", "vector.transpose"),
        *("arith.addf", "arith.extf", "arith.mulf", "arith.negf", "arith.subf", "arith.truncf"),
    }
)
"""Operations that can be carried out where the loop around them has no iteration."""


class ExcludeAbsentKeys(FunctionPass):
    """Gives scores of absent keys no part in the softmax."""

    name: ClassVar[str] = "bankwise-exclude-absent-keys"
    summary: ClassVar[str] = "keep rows beyond the true end of K out of the softmax"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites `function`, if its attention has more keys than there are.

        Raises:
            PassFailure: the scores are not found as IREE makes them.
        """
        function = function.operation
        noted = noted_keys(function)
        if noted is None:
            return
        found = [each for each in operations_in(function, _REDUCTION) if _is_maximum(each)]
        if len(found) != 1:
            message = f"{len(found)} reductions to a maximum in the place of that of the scores"
            raise PassFailure(function.location, message)
        (reduction,) = found
        loop = defining_operation(reduction.operands[0])
        if loop is not None and loop.name == FOR:
            _exclude_shared(loop, *noted)
        else:
            _exclude(reduction, *noted)


def _is_maximum(reduction: ir.Operation) -> bool:
    return "maximumf" in str(reduction.attributes["kind"])


def _exclude(reduction: ir.Operation, keys: int, enlarged: int) -> None:
    """Replaces the scores of absent keys by -inf, for all that uses the scores.

    Raises:
        PassFailure: no loop goes over the keys tile by tile.
    """
    scores = reduction.operands[0]
    dims = list(ir.DenseI64ArrayAttr(reduction.attributes["reduction_dims"]))
    if len(dims) != 1:
        raise PassFailure(reduction.location, "the scores of a row lie along several dimensions")
    loop = next((each for each in parents_of(reduction) if each.name == FOR), None)
    _mask(scores, dims[0], loop, reduction.location, keys, enlarged)


def _exclude_shared(loop: ir.Operation, keys: int, enlarged: int) -> None:
    """Replaces the scores of absent keys in a loop in which each lane keeps maxima of its own.

    Raises:
        PassFailure: the scores are not found as IREE makes them.
    """
    step = constant_value(bounds_of(loop)[2])
    maxima = [each for each in operations_of(body_of(loop)) if each.name == "arith.maximumf"]
    scores = [
        value
        for each in maxima
        for value, kept in (tuple(each.operands), tuple(each.operands)[::-1])
        if _is_carried(kept, loop)
    ]
    if len(maxima) != 1 or len(scores) != 1:
        raise PassFailure(loop.location, "the scores that lanes keep maxima of are not known")
    shape = ir.VectorType(scores[0].type).shape
    if shape.count(step) != 1:
        raise PassFailure(loop.location, "where the keys of a step lie is not known")
    _mask(scores[0], shape.index(step), loop, maxima[0].location, keys, enlarged)


def _is_carried(value: ir.Value, loop: ir.Operation) -> bool:
    """Returns whether a value is one that a loop carries, perhaps transposed."""
    value = value_behind(value, ("vector.transpose",))
    return defining_operation(value) is None and _is_computed_in(value, loop)


def _mask(
    scores: ir.Value,
    dim: int,
    loop: ir.Operation | None,
    location: ir.Location,
    keys: int,
    enlarged: int,
) -> None:
    """Replaces the scores of absent keys by -inf, for all that uses the scores.

    Args:
        dim: the dimension of keys.
        loop: goes over the keys, if one does.
        location: what uses the scores.

    Raises:
        PassFailure: no loop goes over the keys tile by tile.
    """
    kind = ir.VectorType(scores.type)
    step = kind.shape[dim]
    uses = operands_with(scores)
    if loop is not None and is_rounded(enlarged):
        _hoist_invariants(loop)
    at = Builder.behind(scores).at(location)
    if loop is not None and _goes_over(loop, enlarged, step) and _is_computed_in(scores, loop):
        left = at.subi(_count(at, loop, keys, enlarged), body_of(loop).arguments[0])
    elif loop is None and step == enlarged:
        left = at.index(keys)
    else:
        raise PassFailure(location, "no loop goes over the keys of the scores")
    there = at.cmpi("slt", at.step(step), at.splat(left, step))
    ones = [size if d == dim else 1 for d, size in enumerate(kind.shape)]
    there = at.broadcast(at.shaped(there, ones[dim:]), kind.shape)
    redirect(uses, at.select(there, scores, at.constant(kind, -math.inf)))


def _goes_over(loop: ir.Operation, enlarged: int, step: int) -> bool:
    """Returns whether a loop goes over the keys tile by tile, as far as its bounds are constant."""
    first, end, by = (constant_value(each) for each in bounds_of(loop))
    return (first, by) == (0, step) and (is_rounded(enlarged) or end == enlarged)


def _count(at: Builder, loop: ir.Operation, keys: int, enlarged: int) -> ir.Value:
    """Returns how many keys there are.

    Raises:
        PassFailure: the end of the loop over them is not what the program computes, rounded up.
    """
    if not is_rounded(enlarged):
        return at.index(keys)
    try:
        return unrounded(bounds_of(loop)[1], enlarged, IndexBits(loop))
    except Refusal as refusal:
        raise PassFailure(loop.location, refusal.reason) from refusal


def _hoist_invariants(loop: ir.Operation) -> None:
    """Moves reads of tensors and what is computed of them before a loop, where that is possible."""
    for each in operations_of(body_of(loop)):
        if each.name not in _HOISTED or isinstance(each.operands[0].type, ir.MemRefType):
            continue
        if not any(_is_computed_in(value, loop) for value in each.operands):
            each.move_before(loop)


def _is_computed_in(value: ir.Value, loop: ir.Operation) -> bool:
    definition = defining_operation(value)
    if definition is None:
        return ir.BlockArgument(value).owner == body_of(loop)
    return is_inside(definition, loop)
