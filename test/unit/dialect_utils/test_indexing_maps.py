# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the loops of a `linalg.generic` index."""

from __future__ import annotations

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.dialect_utils.indexing_maps import (
    GENERIC,
    index_by_loops,
    loops_of,
    maps_of,
    renumber_loops,
    set_maps,
    summed_loops,
)
from bankwise.dialect_utils.operations import operations_in


def summing(read: str) -> ir.Operation:
    """Returns an operation that sums what it reads, over the last of its three loops."""
    module = ir.Module.parse(
        f"""
        func.func @f(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {{
          %r = linalg.generic {{
              indexing_maps = [affine_map<(m, n, k) -> ({read})>, affine_map<(m, n, k) -> (m, n)>],
              iterator_types = ["parallel", "parallel", "reduction"]}}
              ins(%a : tensor<?x?xf32>) outs(%b : tensor<?x?xf32>) {{
            ^bb0(%x: f32, %y: f32):
              %s = arith.addf %x, %y : f32
              linalg.yield %s : f32
          }} -> tensor<?x?xf32>
          return %r : tensor<?x?xf32>
        }}""",
        Session().context,
    )
    (generic,) = operations_in(module.operation, GENERIC)
    return generic


def test_loops_are_read_and_replaced():
    generic = summing("m, k")
    assert (loops_of(generic), summed_loops(generic)) == (((0, 2), (0, 1)), {2})
    set_maps(generic, reversed(maps_of(generic)))
    assert loops_of(generic) == ((0, 1), (0, 2))
    index_by_loops(generic, 4, [[3], [1, 0]])
    assert loops_of(generic) == ((3,), (1, 0))
    renumber_loops(generic, [3, 1])
    assert (loops_of(generic), maps_of(generic)[0].n_dims) == (((0,), (1,)), 2)


def test_more_than_loops_is_refused():
    with pytest.raises(Refusal, match="indexed by more than loops"):
        loops_of(summing("m + n, k"))
