# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps rows of K beyond its true end out of the softmax of an attention with enlarged shapes.

`bankwise-use-matrix-instructions` lets an attention of 1000 keys go over 1024 of them. The scores
of the last 24 are computed from zeros, and must not count. Before they are reduced to the maximum
of a row they become -inf, whose exponential is zero whatever the maximum is.

    %s = vector.multi_reduction <maximumf>, %scores, %maximum [1]

Runs before `iree-codegen-gpu-vector-alloc`, where a tile of scores is one vector, and the loop over
the keys says where it begins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import PassFailure
from ...dialect_utils.index.index_ops import constant_value
from ...dialect_utils.loops import FOR, body_of, bounds_of
from ...dialect_utils.operations import operands_with, operations_in, parents_of, redirect
from ..base import FunctionPass, PassContext
from .enlarged_shapes import noted_keys

_REDUCTION = "vector.multi_reduction"


@dataclass(frozen=True)
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
        _exclude(found[0], *noted)


def _is_maximum(reduction: ir.Operation) -> bool:
    return "maximumf" in str(reduction.attributes["kind"])


def _exclude(reduction: ir.Operation, keys: int, enlarged: int) -> None:
    """Replaces the scores of absent keys by -inf, for all that uses the scores."""
    scores = reduction.operands[0]
    kind = ir.VectorType(scores.type)
    dims = list(ir.DenseI64ArrayAttr(reduction.attributes["reduction_dims"]))
    if len(dims) != 1:
        raise PassFailure(reduction.location, "the scores of a row lie along several dimensions")
    (dim,) = dims
    first = _first_key(reduction, kind.shape[dim], enlarged)
    uses = operands_with(scores)
    at = Builder.behind(scores).at(reduction.location)
    left = at.index(keys) if first is None else at.subi(at.index(keys), first)
    there = at.cmpi("slt", at.step(kind.shape[dim]), at.splat(left, kind.shape[dim]))
    ones = [size if d == dim else 1 for d, size in enumerate(kind.shape)]
    there = at.broadcast(at.shaped(there, ones[dim:]), kind.shape)
    redirect(uses, at.select(there, scores, at.constant(kind, -math.inf)))


def _first_key(reduction: ir.Operation, step: int, enlarged: int) -> ir.Value | None:
    """Returns the number of the first key of a tile of scores; None for 0.

    Raises:
        PassFailure: no loop goes over the keys tile by tile.
    """
    loop = next((each for each in parents_of(reduction) if each.name == FOR), None)
    if loop is None and step == enlarged:
        return None
    if loop is not None and [constant_value(each) for each in bounds_of(loop)] == [
        0,
        enlarged,
        step,
    ]:
        return body_of(loop).arguments[0]
    raise PassFailure(reduction.location, "no loop goes over the keys of the scores")
