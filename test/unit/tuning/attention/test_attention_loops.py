# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of an attention's loops are those that the compiler finds, as its bindings say."""

from __future__ import annotations

from itertools import permutations

import pytest
from iree.compiler import ir
from iree.compiler._mlir_libs._ireeCompilerDialects import iree_codegen

from bankwise.tuning.attention.attention_tiles import AttentionLoops

_ORDERS = 12
"""How many orders of the loops are tried, of all that there are."""


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    "operands",
    [
        "md kd kn mn",
        "bmd bkd bkn bmn",
        "bmd bkd bnk bmn",
        "bmhd bkhd bkhn bmhn",
        "bghmd bgkd bgkn bghmn",
        "bhmd bkd bkn bhmn",
        "bmde bkde bkn bmn",
        "bmd bkd bkno bmno",
        "bmd bkd kn bmn",
        "md bkd kn bmn",
        "md kd bkn bmn",
    ],
)
def test_parts_are_the_compilers(operands: str) -> None:
    """Q, K, V and the output are indexed by loops in any order."""
    names = operands.split()
    letters = sorted({*operands} - {" "})
    orders = list(permutations(letters))
    for order in orders[:: len(orders) // _ORDERS]:
        maps = [tuple(order.index(each) for each in name) for name in names]
        with ir.Context():
            dims = [ir.AffineDimExpr.get(loop) for loop in range(len(order))]
            affine = [ir.AffineMap.get(len(order), 0, [dims[i] for i in loops]) for loops in maps]
            theirs = iree_codegen.get_attention_op_detail(*affine)
        ours = AttentionLoops.of((*maps, (), ()), len(order))
        assert [*ours.batch] == theirs.batch_dims
        assert [*ours.rows] == theirs.m_dims
        assert [*ours.head] == theirs.k1_dims
        assert [*ours.columns] == theirs.n_dims
        assert [ours.keys] == theirs.k2_dims
        assert theirs.domain_rank == len(order)
