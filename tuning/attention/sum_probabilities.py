# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-sum-probabilities`: an attention adds up the probabilities that it multiplies.

    %p = arith.truncf %e : vector<4xf32> to vector<4xf16>
    %sum = vector.reduction <add>, %e : vector<4xf32> into f32

becomes, on AMD GPUs whose instruction v_dot2 multiplies two pairs of f16 and adds to f32,

    %p01 = llvm.call_intrinsic "llvm.amdgcn.cvt.pkrtz"(%e0, %e1)
    %p23 = llvm.call_intrinsic "llvm.amdgcn.cvt.pkrtz"(%e2, %e3)
    %s01 = llvm.call_intrinsic "llvm.amdgcn.fdot2"(%p01, %ones, 0, false)
    %sum = llvm.call_intrinsic "llvm.amdgcn.fdot2"(%p23, %ones, %s01, false)

That is two instructions for two probabilities, where CDNA3 has three to round them and two to add
them. The output of a row is its sum of products over the sum of its probabilities. Where both have
the same rounded probabilities, an error that all of them share, such as that of rounding towards
zero, is not in the quotient: what is left is the spread of the errors, which is that of rounding to
the nearest within 6 %.

Where differences of scores are multiplied (`bankwise-scale-differences`), probabilities stay
rounded to the nearest on all GPUs. Such an attention was two products and a softmax, whose Q stock
does not round either, so that most of the error is that of probabilities: rounded towards zero, f16
1x16x16 with 64 keys has 1.09 times stock's error on gfx942.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.element_moves import element_count, is_move, origin_of
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.operations import (
    defining_operation,
    has_operation,
    operands_with,
    operations_in,
)
from ...passes.base import FunctionPass, PassContext

_SUM, _ROUND, _EXP2 = "vector.reduction", "arith.truncf", "math.exp2"
_MULTIPLY = "arith.mulf"
_TOWARDS_ZERO, _ADD_PAIR = "llvm.amdgcn.cvt.pkrtz", "llvm.amdgcn.fdot2"
_PAIR = 2


class SumProbabilities(FunctionPass):
    """Adds up rounded probabilities in pairs, on GPUs that have an instruction for it."""

    name: ClassVar[str] = "bankwise-sum-probabilities"
    summary: ClassVar[str] = "add up the rounded probabilities of an attention in pairs"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` is for a GPU with the instruction, and has exponentials."""
        return gpu_features_of(function).adds_pairs and has_operation(function, _EXP2)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the sums of probabilities that are rounded to f16; never fails."""
        function = function.operation
        features = gpu_features_of(function, context.test_target)
        if not features.adds_pairs:
            return
        for each in operations_in(function, _SUM):
            roundings = _rounded_terms(each)
            if roundings:
                text = "probabilities are added up as they are rounded, in pairs"
                context.sink.remark(each.location, text)
                _rewrite(each, roundings, features.rounds_pairs or _are_scaled(roundings))


def _rounded_terms(reduction: ir.Operation) -> list[ir.Operation]:
    """Returns what rounds the terms of a sum to f16, if that and the sum alone use the terms."""
    vector = reduction.operands[0]
    is_sum = "add" in str(reduction.attributes["kind"])
    if not is_sum or vector.type.element_type != _f32(reduction):
        return []
    terms = [origin_of((vector, k)) for k in range(element_count(vector.type))]
    sources = list(dict.fromkeys(source for source, _ in terms))
    counts = [element_count(each.type) for each in sources]
    wanted = {(s, k) for s, count in zip(sources, counts, strict=True) for k in range(count)}
    # Each term is there once, and pairs are of the same vector.
    if len(terms) != len(wanted) or {*terms} != wanted or any(each % _PAIR for each in counts):
        return []
    roundings = [_rounding(source, reduction) for source in sources]
    found = [each for each in roundings if each is not None]
    return found if len(found) == len(sources) else []


def _are_scaled(roundings: Sequence[ir.Operation]) -> bool:
    """Returns whether exponents were multiplied before what is rounded was computed of them."""
    powers = [defining_operation(each.operands[0]) for each in roundings]
    exponents = [defining_operation(each.operands[0]) for each in powers if each is not None]
    return any(each is not None and each.name == _MULTIPLY for each in exponents)


def _f32(operation: ir.Operation) -> ir.Type:
    return ir.F32Type.get(operation.context)


def _rounding(source: ir.Value, reduction: ir.Operation) -> ir.Operation | None:
    """Returns what rounds a vector of exponentials to f16, if only that and a sum use it."""
    definition = defining_operation(source)
    if definition is None or definition.name != _EXP2 or ir.VectorType(source.type).rank != 1:
        return None
    found: list[ir.Operation] = []
    pending = [source]
    while pending:
        value = pending.pop()
        for user, _ in operands_with(value):
            if user.name == _ROUND and value == source:
                found.append(user)
            elif is_move(user):
                pending += user.results
            elif user != reduction:
                return None
    if len(found) != 1 or "roundingmode" in found[0].attributes:
        return None
    kind = ir.VectorType(found[0].results[0].type)
    return found[0] if isinstance(kind.element_type, ir.F16Type) else None


def _rewrite(reduction: ir.Operation, roundings: Sequence[ir.Operation], to_nearest: bool) -> None:
    """Adds up what is rounded.

    Args:
        to_nearest: whether it stays rounded to the nearest, and not towards zero, two at once.
    """
    pairs: list[ir.Value] = []
    for each in roundings:
        at, kind = Builder.behind(each.operands[0]), ir.VectorType(each.results[0].type)
        pair = at.vector_type([_PAIR], kind.element_type)
        firsts = range(0, element_count(kind), _PAIR)
        if to_nearest:
            whole = at.clone(each, list(each.operands)).results[0]
            pairs += [at.extract_slice(whole, first, _PAIR) for first in firsts]
        else:
            terms = at.elements(each.operands[0])
            made = [at.intrinsic(_TOWARDS_ZERO, terms[n : n + _PAIR], pair) for n in firsts]
            whole = at.poison(kind)
            for first, part in zip(firsts, made, strict=True):
                whole = at.insert_slice(part, whole, first)
            pairs += made
        each.results[0].replace_all_uses_with(whole)
        each.erase()
    at = Builder.before(reduction)
    ones, wraps = at.constant(pairs[0].type, 1), at.constant(at.integer_type(1), 0)
    total = at.constant(_f32(reduction), 0)
    for each in pairs:
        total = at.intrinsic(_ADD_PAIR, [each, ones, total, wraps], total.type)
    rest = list(reduction.operands)[1:]
    total = at.addf(total, rest[0]) if rest else total
    reduction.results[0].replace_all_uses_with(total)
    reduction.erase()
