# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An `iree_codegen.inner_tiled` of AMD matrix instructions on what the lanes hold.

    %a = vector.transfer_read %lhs[...] : ..., vector<2x1x8x4xf16>
    %b = vector.transpose %a, [0, 2, 1, 3] : vector<2x1x8x4xf16> to vector<2x8x1x4xf16>
    %c = iree_codegen.inner_tiled ins(%b, %d) outs(%e)
        <indexing_maps = [(d0, d1, d2) -> (d0, d2), ...], kind = #iree_gpu.mma_layout<...>>

The first dimensions of an operand are those of the loops in its indexing map; a step of them is one
matrix instruction. The others, the *inner* ones, are the lane's part of what the instruction takes.
"""

from __future__ import annotations

import re

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.lane_values import LaneEvaluator
from ...dialect_utils.indexing_maps import maps_of, summed_loops
from ...dialect_utils.operations import TRANSFER_READ, defining_operation, segments_of
from .lane_transfers import LaneTransfer

INNER_TILED = "iree_codegen.inner_tiled"

_KIND = re.compile(
    r"#iree_gpu\.(?:virtual_)?mma_layout<(?:V?MFMA|WMMA(?:R\d)?)_[A-Z0-9]+_(\d+)x(\d+)x\d+_\w+>"
)
"""An intrinsic whose result is not transposed: that would be said behind its name. Lane l has row
l % size of A, and column l % size of B and of the result, in each of them
(`test/unit/bank_model/test_matrix_layouts_of_iree.py` asks the compiler)."""

_CONVERSIONS = frozenset(
    f"arith.{name}" for name in ("extf", "truncf", "extsi", "extui", "sitofp", "uitofp")
)


class OperandRead(NamedTuple):
    """The read that an operand comes from.

    Attributes:
        dims: for each dimension of the operand, the one of the transfer that it is.
    """

    transfer: LaneTransfer
    dims: tuple[int, ...]


class LaneContraction(NamedTuple):
    """A contraction, and what is known of it.

    Attributes:
        size: the rows, and as many columns, that one instruction computes.
        loops: for the left operand, the right one, and the result, the loop of each of the first
            dimensions.
        summed: the loops that are summed over.
    """

    operation: ir.Operation
    size: int
    loops: tuple[tuple[int, ...], ...]
    summed: frozenset[int]

    @staticmethod
    def of(operation: ir.Operation) -> LaneContraction:
        """Returns the contraction that an `inner_tiled` is.

        Raises:
            Refusal: it is not understood.
        """
        where = operation.location
        kind = str(operation.attributes["kind"])
        match = _KIND.fullmatch(kind)
        if match is None or match[1] != match[2]:
            raise Refusal(f"the lanes of {kind} are not known", where)
        if "distributed = true" not in str(operation.attributes["semantics"]):
            raise Refusal("the contraction is not distributed to lanes", where)
        operands, results = segments_of(operation)
        if len(operands) != 2 or len(results) != 1:
            raise Refusal("it does not contract two operands", where)
        if not all(isinstance(each.type, ir.VectorType) for each in operation.operands):
            raise Refusal("its operands are no vectors", where)
        loops: list[tuple[int, ...]] = []
        for affine_map in maps_of(operation):
            dims = affine_map.results
            loops.append(tuple(ir.AffineDimExpr(each).position for each in dims))
        return LaneContraction(operation, int(match[1]), tuple(loops), summed_loops(operation))

    @property
    def result(self) -> ir.Value:
        """Returns the accumulator with the contractions added to it."""
        return self.operation.results[0]

    def inner_dims(self, number: int) -> tuple[int, ...]:
        """Returns the inner dimensions of an operand; number 2 is the accumulator."""
        rank = ir.VectorType(self.operation.operands[number].type).rank
        return tuple(range(len(self.loops[number]), rank))

    def operand_of(self, loop: int) -> int:
        """Returns the number of the operand that has a loop which is not summed over.

        Raises:
            Refusal: both have it, as where a batch is part of the contraction.
        """
        numbers = [number for number in (0, 1) if loop in self.loops[number]]
        if len(numbers) != 1:
            raise Refusal("a loop indexes both operands, or none", self.operation.location)
        return numbers[0]

    def read_of(self, number: int, evaluator: LaneEvaluator) -> OperandRead:
        """Returns the read that an operand comes from, through transposes and conversions.

        Raises:
            Refusal: it comes from elsewhere, or the read has other users.
        """
        value = self.operation.operands[number]
        dims = tuple(range(ir.VectorType(value.type).rank))
        while True:
            source = defining_operation(value)
            if source is None:
                raise Refusal("an operand is carried around a loop", self.operation.location)
            if len(list(value.uses)) != 1:
                raise Refusal("an operand has other users", source.location)
            if source.name == TRANSFER_READ:
                return OperandRead(LaneTransfer.of(source, evaluator), dims)
            if source.name == "vector.transpose":
                order = list(ir.DenseI64ArrayAttr(source.attributes["permutation"]))
                dims = tuple(order[dim] for dim in dims)
            elif source.name not in _CONVERSIONS:
                raise Refusal(f"an operand comes from {source.name}", source.location)
            value = source.operands[0]
