# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Index formulas of lane and register, as `(lane%16, lane//16*4 + reg)`, read and evaluated safely.

A formula gives the row-major index of an element, one number per dimension of the tile, or a single
number that counts elements. It is a small part of Python:

* whole numbers, `+ - * // % & | ^ << >>`, comparisons, `a if condition else b`, brackets; `/` cuts
  off as it does in C;
* `lane`, 0 to the wave size - 1; `wave`; `thread`, which is `wave * wave_size + lane`; `reg`, which
  counts the elements of a lane;
* loops behind it: `(lane%16, lane//16*4 + reg) for reg in range(4)`. Any names may be looped over,
  the last loop runs fastest, and `if` behind a loop masks lanes off. Without a loop, `reg` counts
  the lane's share of the tile.

The text is parsed by Python's `ast` and walked over; nothing of it is ever executed.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from .tile_errors import AccessError, shortened

IntArray = npt.NDArray[np.int64]

_MOST_CHARACTERS = 1000
_MOST_NODES = 300
_MOST_STEPS = 1 << 12
_LARGEST = 1 << 31
LANE_NAMES = ("lane", "wave", "thread")
REGISTER = "reg"

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.floordiv,
        ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod,
        ast.BitAnd: operator.and_,
        ast.BitOr: operator.or_,
        ast.BitXor: operator.xor,
        ast.LShift: operator.lshift,
        ast.RShift: operator.rshift,
    }
)
_DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
_SHIFTS = (ast.LShift, ast.RShift)
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
    }
)


@dataclass(frozen=True)
class Loop:
    """A name that counts from `first` in steps, `size` times."""

    name: str
    first: int
    size: int
    step: int


@dataclass(frozen=True)
class IndexFormula:
    """A parsed formula.

    Attributes:
        text: as it was written.
        indices: one expression per dimension, or one of the element's number.
        loops: from the outermost to the innermost.
        conditions: what must hold for a lane to take part.
    """

    text: str
    indices: tuple[ast.expr, ...]
    loops: tuple[Loop, ...]
    conditions: tuple[ast.expr, ...]

    @staticmethod
    def parse(text: str) -> IndexFormula:
        """Reads a formula.

        Raises:
            AccessError: it is none, or not of the part of Python that is understood.
        """
        if len(text) > _MOST_CHARACTERS:
            raise AccessError(f"it has more than {_MOST_CHARACTERS} characters")
        body = _parsed(text)
        if sum(1 for _ in ast.walk(body)) > _MOST_NODES:
            raise AccessError(f"it has more than {_MOST_NODES} terms")
        loops: list[Loop] = []
        conditions: list[ast.expr] = []
        if isinstance(body, ast.GeneratorExp):
            for generator in body.generators:
                loops.append(_loop(generator))
                conditions += generator.ifs
            body = body.elt
        if isinstance(body, ast.Tuple) and not body.elts:
            raise AccessError("it has no index")
        if len({loop.name for loop in loops}) < len(loops):
            raise AccessError("two of its loops count the same name")
        indices = tuple(body.elts) if isinstance(body, ast.Tuple) else (body,)
        formula = IndexFormula(text, indices, tuple(loops), tuple(conditions))
        known = {*LANE_NAMES, REGISTER, *(loop.name for loop in loops)}
        for expression in (*indices, *conditions):
            _check(expression, known)
        return formula

    @property
    def counts_registers(self) -> bool:
        """Returns whether it uses `reg` without saying how far it counts."""
        looped = any(loop.name == REGISTER for loop in self.loops)
        return not looped and any(
            isinstance(node, ast.Name) and node.id == REGISTER
            for expression in (*self.indices, *self.conditions)
            for node in ast.walk(expression)
        )

    def values(
        self, waves: int, wave_size: int, registers: int
    ) -> tuple[tuple[IntArray, ...], npt.NDArray[np.bool_]]:
        """Returns the indices, each [steps, waves, lanes], and which lanes take part, likewise.

        Args:
            registers: how far `reg` counts where the formula does not say it.

        Raises:
            AccessError: a division by zero or the like, or too many steps.
        """
        loops = self.loops
        if self.counts_registers:
            loops = (*loops, Loop(REGISTER, 0, registers, 1))
        steps = prod(loop.size for loop in loops)
        if not 0 < steps <= _MOST_STEPS:
            raise AccessError(f"its loops have {steps} steps; there can be 1 to {_MOST_STEPS}")
        names = _names(loops, waves, wave_size)
        shape = (steps, waves, wave_size)
        active = np.ones(shape, dtype=bool)
        for condition in self.conditions:
            active &= _evaluated(condition, names) != 0
        indices = tuple(
            np.broadcast_to(_evaluated(index, names), shape).astype(np.int64)
            for index in self.indices
        )
        return indices, active


def _parsed(text: str) -> ast.expr:
    """Returns what stands in `text`, which may have loops behind it."""
    # Only in brackets are loops an expression.
    for written in (text, f"({text})"):
        try:
            with warnings.catch_warnings():
                # Python warns of what is no formula anyway, such as `1if`.
                warnings.simplefilter("ignore")
                body = ast.parse(written.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if written == text or isinstance(body, ast.GeneratorExp):
            return body
    raise AccessError("it is not a formula as Python writes it")


def _loop(generator: ast.comprehension) -> Loop:
    target, call = generator.target, generator.iter
    wrong = AccessError("a loop is written `for reg in range(4)`, with whole numbers")
    if not isinstance(target, ast.Name) or not isinstance(call, ast.Call) or call.keywords:
        raise wrong
    if not isinstance(call.func, ast.Name) or call.func.id != "range":
        raise wrong
    numbers: list[int] = []
    for argument in call.args:
        if not isinstance(argument, ast.Constant) or type(argument.value) is not int:
            raise wrong
        numbers.append(argument.value)
    if not 1 <= len(numbers) <= 3 or max(numbers) > _LARGEST or numbers[2:] == [0]:
        raise wrong
    if target.id in LANE_NAMES:
        raise AccessError(f"`{target.id}` is known already; loop over another name")
    counted = range(*numbers)
    return Loop(target.id, counted.start, len(counted), counted.step)


def _names(loops: Sequence[Loop], waves: int, wave_size: int) -> dict[str, IntArray]:
    """Returns the values of all names, which broadcast to [steps, waves, lanes]."""
    lane = np.arange(wave_size, dtype=np.int64).reshape(1, 1, -1)
    wave = np.arange(waves, dtype=np.int64).reshape(1, -1, 1)
    names = {"lane": lane, "wave": wave, "thread": wave * wave_size + lane}
    steps = np.arange(prod(loop.size for loop in loops), dtype=np.int64)
    inner = 1
    for loop in reversed(loops):
        names[loop.name] = (loop.first + steps // inner % loop.size * loop.step).reshape(-1, 1, 1)
        inner *= loop.size
    return names


_ALLOWED = (
    *(
        ast.BinOp,
        ast.UnaryOp,
        ast.USub,
        ast.UAdd,
        ast.Not,
        ast.Compare,
        ast.BoolOp,
        ast.And,
        ast.Or,
    ),
    *(ast.IfExp, ast.Constant, ast.Name, ast.Load, *_BINARY, *_COMPARISONS),
)


def _check(expression: ast.expr, known: set[str]) -> None:
    """Raises AccessError for anything that is not understood."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Name) and node.id not in known:
            raise AccessError(
                f"`{shortened(node.id)}` is not known; there are {', '.join(LANE_NAMES)}, "
                f"{REGISTER}, and what a loop behind the formula counts, as in `for reg in "
                "range(4)`"
            )
        if isinstance(node, ast.Constant) and type(node.value) is not int:
            raise AccessError(f"{shortened(repr(node.value))} is no whole number")
        if not isinstance(node, _ALLOWED):
            raise AccessError(
                f"`{_shown(node) if isinstance(node, ast.expr) else type(node).__name__}` is "
                "not understood; write whole numbers, + - * // % & | ^ << >>, comparisons, and `a "
                "if condition else b`"
            )


def _shown(node: ast.expr) -> str:
    return shortened(ast.unparse(node))


def _evaluated(node: ast.expr, names: Mapping[str, IntArray]) -> IntArray:
    """Returns the value of a checked expression. No number on the way exceeds 2^31, so that none
    overflows."""
    value = np.asarray(_value(node, names), dtype=np.int64)
    if value.size and max(int(value.max()), -int(value.min())) > _LARGEST:
        raise AccessError(f"`{_shown(node)}` is beyond 2^31")
    return value


def _value(node: ast.expr, names: Mapping[str, IntArray]) -> Any:
    if isinstance(node, ast.Constant):
        # As an array it would not fit where the number has more than 64 bits.
        return max(min(int(str(node.value)), _LARGEST + 1), -_LARGEST - 1)
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.BinOp):
        return _binary(node, _evaluated(node.left, names), _evaluated(node.right, names))
    if isinstance(node, ast.UnaryOp):
        operand = _evaluated(node.operand, names)
        if isinstance(node.op, ast.Not):
            return operand == 0
        return -operand if isinstance(node.op, ast.USub) else operand
    if isinstance(node, ast.BoolOp):
        truths = [_evaluated(each, names) != 0 for each in node.values]
        combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        total = truths[0]
        for truth in truths[1:]:
            total = combine(total, truth)
        return total
    if isinstance(node, ast.IfExp):
        chosen = _evaluated(node.test, names) != 0
        return np.where(chosen, _evaluated(node.body, names), _evaluated(node.orelse, names))
    assert isinstance(node, ast.Compare)
    sides = [_evaluated(each, names) for each in (node.left, *node.comparators)]
    holds = np.ones((), dtype=bool)
    for compared, left, right in zip(node.ops, sides, sides[1:], strict=False):
        holds = holds & _COMPARISONS[type(compared)](left, right)
    return holds


def _binary(node: ast.BinOp, left: IntArray, right: IntArray) -> IntArray:
    if isinstance(node.op, _DIVISIONS):
        if (right <= 0).any() or (left < 0).any():
            # C and Python disagree about what is negative.
            raise AccessError(
                f"`{_shown(node)}` divides what is negative, or by what is not positive"
            )
    elif isinstance(node.op, _SHIFTS) and ((right < 0) | (right > 31)).any():
        raise AccessError(f"`{_shown(node)}` shifts by less than 0 or more than 31")
    return _BINARY[type(node.op)](left, right)
