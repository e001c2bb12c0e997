# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic on single numbers, as host programs do it between dispatches.

Floats are Python floats that hold a value of their type: every result is rounded to its type once.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from iree.compiler import ir

from ..dialect_utils.index.lane_values import Unknown, compute_result, constant
from .host_values import HostProgramError, host_dtype, plain_value

ScalarOp = Callable[[ir.Operation, Sequence[Any]], Sequence[object]]


def _integers(op: ir.Operation, operands: Sequence[Any]) -> Sequence[object]:
    """Computes integer and index arithmetic as a wave of one lane does."""
    lanes = [constant(value) for value in operands]
    results: list[object] = []
    for number in range(len(op.results)):
        computed = compute_result(op, number, lanes)
        if isinstance(computed, Unknown):
            raise HostProgramError(computed.reason)
        results.append(computed.uniform)
    return results


def _float(function: Callable[..., Any], wide: type[np.floating] | None = None) -> ScalarOp:
    """Returns an operation on floats, computed in the result's type or in `wide`, then rounded."""

    def compute(op: ir.Operation, operands: Sequence[Any]) -> Sequence[object]:
        dtype = host_dtype(str(op.results[0].type))
        with np.errstate(all="ignore"):
            return [float(dtype.type(function(*map(wide or dtype.type, operands))))]

    return compute


def _float_of_integer(*, signed: bool) -> ScalarOp:
    def compute(op: ir.Operation, operands: Sequence[Any]) -> Sequence[object]:
        kind = op.operands[0].type
        value = int(operands[0])
        if not signed and isinstance(kind, ir.IntegerType):
            value &= (1 << kind.width) - 1
        return [float(host_dtype(str(op.results[0].type)).type(value))]

    return compute


def _integer_of_float(op: ir.Operation, operands: Sequence[Any]) -> Sequence[object]:
    if not math.isfinite(operands[0]):
        raise HostProgramError(f"{op.name} of {operands[0]}, which no integer holds")
    return [math.trunc(operands[0])]


def _bitcast(op: ir.Operation, operands: Sequence[Any]) -> Sequence[object]:
    source, target = host_dtype(str(op.operands[0].type)), host_dtype(str(op.results[0].type))
    value = np.array(operands[0]).astype(source).view(target)
    return [value.item() if target.kind in "iub" else float(value)]


# arith.cmpf's predicates in the order of their numbers: ordered ones, then unordered ones.
_RELATIONS = (operator.eq, operator.gt, operator.ge, operator.lt, operator.le, operator.ne)


def _compare_floats(op: ir.Operation, operands: Sequence[Any]) -> Sequence[object]:
    number = ir.IntegerAttr(op.attributes["predicate"]).value
    left, right = operands
    unordered = math.isnan(left) or math.isnan(right)
    if number in (0, 15):
        return [int(number == 15)]
    if number in (7, 14):
        return [int(unordered == (number == 14))]
    if unordered:
        return [int(number > 7)]
    return [int(_RELATIONS[(number - 1) % 7](left, right))]


_INTEGER_OPS = (
    *("arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"),
    *("arith.divsi", "arith.divui", "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi"),
    *("arith.remsi", "arith.remui", "arith.shli", "arith.shrsi", "arith.shrui", "arith.cmpi"),
    *("arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui", "arith.trunci"),
    *("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui"),
    *("affine.apply", "affine.min", "affine.max"),
)
_FLOAT_OPS: Mapping[str, Callable[..., Any]] = {
    "arith.addf": operator.add,
    "arith.subf": operator.sub,
    "arith.mulf": operator.mul,
    "arith.divf": operator.truediv,
    "arith.remf": np.fmod,
    "arith.negf": operator.neg,
    "arith.truncf": lambda a: a,
    "arith.extf": lambda a: a,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "math.absf": np.abs,
}
_MATH_OPS: Mapping[str, Callable[..., Any]] = {
    "math.sqrt": np.sqrt,
    "math.rsqrt": lambda a: 1 / np.sqrt(a),
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.log": np.log,
    "math.log2": np.log2,
    "math.tanh": np.tanh,
    "math.sin": np.sin,
    "math.cos": np.cos,
    "math.powf": np.power,
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.roundeven": np.rint,
    "math.trunc": np.trunc,
    "math.fma": lambda a, b, c: a * b + c,
}


def _align(_: ir.Operation, operands: Sequence[Any]) -> Sequence[object]:
    value, alignment = operands
    return [-(-value // alignment) * alignment]


SCALAR_OPS: Mapping[str, ScalarOp] = {
    **dict.fromkeys(_INTEGER_OPS, _integers),
    **{name: _float(function) for name, function in _FLOAT_OPS.items()},
    **{name: _float(function, np.float64) for name, function in _MATH_OPS.items()},
    "arith.constant": lambda op, _: [plain_value(op.attributes["value"])],
    "arith.select": lambda _, operands: [operands[1 if operands[0] else 2]],
    "arith.bitcast": _bitcast,
    "arith.cmpf": _compare_floats,
    "arith.sitofp": _float_of_integer(signed=True),
    "arith.uitofp": _float_of_integer(signed=False),
    "arith.fptosi": _integer_of_float,
    "arith.fptoui": _integer_of_float,
    "util.align": _align,
    "util.assume.int": lambda _, operands: operands,
    "util.optimization_barrier": lambda _, operands: operands,
}
"""Ops that only compute, by name."""
