# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets the epilogue of a matmul read another tensor by vectors.

Where the epilogue of a matmul reads a tensor that has the rows and columns of the result, such as a
residual, IREE transposes what a lane needs of it into the order of the matrix instruction's
results:

    %t = linalg.transpose ins(%part : tensor<2x2x1x4x2xf16>) permutation = [0, 3, 1, 2, 4]
    linalg.generic {indexing_maps = [#id, #id, ...]} ins(%product, %t : ...)

`iree-codegen-combine-source-layout-transformation` makes one `iree_linalg_ext.map_load` of the
transposition and of the slices before it, and this is lowered to loads of single elements. Right
before it, this pass lets the epilogue read the part that is not transposed:

    linalg.generic {indexing_maps = [#id, #permuted, ...]} ins(%product, %part : ...)

IREE then reads the part by vectors and transposes these in registers, as it does for tensors that
have the columns alone. No number is computed otherwise.

This works around IREE 3.13 (`docs/for_iree.md#ragged-matmuls-on-cuda`).
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.indexing_maps import GENERIC, maps_of, set_maps, summed_loops
from ...dialect_utils.operations import defining_operation, operations_in
from ...passes.base import FunctionPass, PassContext

_TRANSPOSE = "linalg.transpose"


class FoldTransposes(FunctionPass):
    """Lets elementwise operations read what is transposed for them in its own order."""

    name: ClassVar[str] = "bankwise-fold-transposes"
    summary: ClassVar[str] = "let epilogues of matmuls read other tensors by vectors"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the elementwise `linalg.generic` of `function`; never fails."""
        for generic in operations_in(function.operation, GENERIC):
            if summed_loops(generic):
                continue
            maps = maps_of(generic)
            # The last operands are what the results are written to.
            for number in range(len(generic.operands) - len(generic.results)):
                transpose = defining_operation(generic.operands[number])
                if transpose is not None and transpose.name == _TRANSPOSE:
                    maps[number] = _before(transpose, maps[number])
                    generic.operands[number] = transpose.operands[0]
            set_maps(generic, maps)


def _before(transpose: ir.Operation, reading: ir.AffineMap) -> ir.AffineMap:
    """Returns the map by which the operand of a transposition is read where its result was.

    Args:
        reading: the map by which the result is read.
    """
    results = list(reading.results)
    permutation = ir.DenseI64ArrayAttr(transpose.attributes["permutation"])
    # Dimension i of the result is dimension `permutation[i]` of the operand.
    for dim, source in enumerate(permutation):
        results[source] = reading.results[dim]
    return ir.AffineMap.get(reading.n_dims, reading.n_symbols, results, transpose.context)
