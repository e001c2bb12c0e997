# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The matmul that a convolution becomes is the one that the compiler finds, as its bindings say."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest
from iree.compiler import ir
from iree.compiler._mlir_libs._ireeCompilerDialects import iree_codegen

from bankwise.dialect_utils.operations import symbol_of
from bankwise.tuning.convolutions.implicit_gemm import configured_contraction

from ...functions import parse

pytestmark = pytest.mark.usefixtures("context")

KERNELS = Path(__file__).parents[3] / "tuning/convolutions/bankwise-implicit-gemm.mlir"


def loops_of(affine_map: ir.AffineMap) -> set[int]:
    """Returns the loops that index an operand."""
    return {ir.AffineDimExpr(each).position for each in affine_map.results}


@pytest.mark.parametrize("name", ["channels_last", "channels_first", "epilogue"])
def test_loops_become_those_of_the_compilers_matmul(name: str) -> None:
    pieces = [parse(text) for text in KERNELS.read_text().split("// -----")]
    functions = [f for piece in pieces for f in piece.operations("func.func")]
    (function,) = (each for each in functions if symbol_of(each) == name)
    ours = configured_contraction(function)
    assert ours is not None
    theirs = iree_codegen.get_igemm_generic_conv_details(ours.operation)
    assert theirs is not None
    one, other, result = (loops_of(each.value) for each in theirs.igemm_contraction_maps)
    # The rows are those of the operand that Bankwise calls the left one, or of the other one.
    parts = {frozenset(one - other), frozenset(other - one)}
    *_, rows, columns, summed = (
        frozenset(theirs.conv_to_igemm_dim_map[loop] for loop in group) for group in ours.groups
    )
    assert {rows, columns} == parts and result == rows | columns
    assert summed == one & other
    for group, loops in zip(ours.groups[-3:], (rows, columns, summed), strict=True):
        assert ours.extent(group) == prod(theirs.igemm_loop_bounds[loop] for loop in loops)
