# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which loops of an operation index the dimensions of its operands, where several may index one.

The image of a convolution is indexed by (n, 2 * h + y, 2 * w + x, c).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ..diagnostics import Refusal
from ..indexing_maps import maps_of
from .index_ops import map_results

Key = TypeVar("Key", bound=Hashable)


class LoopSum(NamedTuple):
    """A sum of loops, each times a number, and of a constant.

    Attributes:
        factors: the numbers by the loops, none of them 0.
    """

    factors: Mapping[int, int]
    constant: int = 0

    @property
    def loop(self) -> int | None:
        """Returns the loop that the sum is; None where it is something else."""
        if list(self.factors.values()) != [1] or self.constant:
            return None
        return next(iter(self.factors))

    def of_others(self, loops: Mapping[int, int]) -> LoopSum:
        """Returns the sum with its loops called otherwise.

        Raises:
            Refusal: it has a loop for which there is no other.
        """
        if not self.factors.keys() <= loops.keys():
            raise Refusal("what is computed of its result has loops of its own")
        return LoopSum({loops[loop]: each for loop, each in self.factors.items()}, self.constant)


class _Sums:
    """The arithmetic of such sums."""

    def constant(self, value: int) -> LoopSum:
        return LoopSum({}, value)

    def binary(self, expression: ir.AffineBinaryExpr, left: LoopSum, right: LoopSum) -> LoopSum:
        if isinstance(expression, ir.AffineAddExpr):
            sums = added_factors(left.factors, right.factors)
            return LoopSum(sums, left.constant + right.constant)
        if isinstance(expression, ir.AffineMulExpr) and not (left.factors and right.factors):
            factor, other = (left, right) if right.factors else (right, left)
            times = factor.constant
            return LoopSum(added_factors({}, other.factors, times), other.constant * times)
        raise Refusal("its operands are indexed by more than sums of loops")


def added_factors(
    left: Mapping[Key, int], right: Mapping[Key, int], times: int = 1
) -> dict[Key, int]:
    """Returns the factors of a sum with another one, times a number; none of them is 0."""
    sums = dict(left)
    for key, factor in right.items():
        sums[key] = sums.get(key, 0) + times * factor
    return {key: factor for key, factor in sums.items() if factor}


def loop_sums(operation: ir.Operation) -> tuple[tuple[LoopSum, ...], ...]:
    """Returns what indexes each dimension of each operand, by its `indexing_maps`.

    Raises:
        Refusal: a dimension is indexed by something else than a sum of loops.
    """
    found: list[tuple[LoopSum, ...]] = []
    for affine_map in maps_of(operation):
        if affine_map.n_symbols:
            raise Refusal("its operands are indexed by more than sums of loops")
        loops = [LoopSum({loop: 1}) for loop in range(affine_map.n_dims)]
        found.append(tuple(map_results(affine_map, loops, _Sums())))
    return tuple(found)


def loop_lengths(operation: ir.Operation, sums: Sequence[Sequence[LoopSum]]) -> dict[int, int]:
    """Returns how long loops are that index a dimension of an operand by themselves."""
    return {
        each.loop: size
        for operand, dims in zip(operation.operands, sums, strict=True)
        for size, each in zip(ir.ShapedType(operand.type).shape, dims, strict=True)
        if each.loop is not None
    }
