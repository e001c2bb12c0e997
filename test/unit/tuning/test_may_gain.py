# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tuning/may_gain: which kernels need not be asked what they would gain."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.indexing_maps import GENERIC
from bankwise.dialect_utils.operations import ONLINE_ATTENTION
from bankwise.tuning.may_gain import may_gain


def config(entry: str) -> str:
    return f"#iree_gpu.lowering_config<{{{entry}, workgroup = [64, 64, 0]}}>"


MATRICES = config("mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>")
THREADS, ROWS = config("thread = [4, 4, 0]"), config("partial_reduction = [0, 0, 64]")


@pytest.mark.parametrize(
    ("roots", "expected"),
    [
        ([(GENERIC, MATRICES)], False),
        ([(GENERIC, THREADS)], True),
        ([(GENERIC, MATRICES), (GENERIC, THREADS)], True),
        ([], True),
        ([(ONLINE_ATTENTION, MATRICES)], False),
        ([(ONLINE_ATTENTION, ROWS)], True),
        ([("linalg.matmul", MATRICES)], True),
    ],
)
def test_where_matrix_instructions_compute_all_nothing_is_to_gain(
    context: ir.Context, roots: list[tuple[str, str]], expected: bool
) -> None:
    module = ir.Module.parse("func.func @f() { return }", context)
    function = module.body.operations[0].operation
    with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]), ir.Location.unknown():
        for name, text in roots:
            # It is never verified, so that it needs no operands.
            ir.Operation.create(name, attributes={"lowering_config": ir.Attribute.parse(text)})
    assert may_gain(function) is expected
