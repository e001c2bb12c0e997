# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the loops of a `linalg.generic` index."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.dialect_utils.indexing_maps import (
    GENERIC,
    copied_loops,
    index_by_loops,
    loops_of,
    maps_of,
    renumber_loops,
    set_maps,
    summed_loops,
)

from ..functions import Parsed, parse

SUM = "%s = arith.addf %x, %y : f32 linalg.yield %s : f32"


def generic(read: str, body: str = SUM) -> Parsed:
    """Returns an operation on what it reads, with a sum over the last of its three loops."""
    return parse(f"""
        func.func @f(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {{
          %r = linalg.generic {{
              indexing_maps = [affine_map<(m, n, k) -> ({read})>, affine_map<(m, n, k) -> (m, n)>],
              iterator_types = ["parallel", "parallel", "reduction"]}}
              ins(%a : tensor<?x?xf32>) outs(%b : tensor<?x?xf32>) {{
            ^bb0(%x: f32, %y: f32):
              {body}
          }} -> tensor<?x?xf32>
          return %r : tensor<?x?xf32>
        }}""")


def test_loops_are_read_and_replaced():
    parsed = generic("m, k")
    (summing,) = parsed.operations(GENERIC)
    assert (loops_of(summing), summed_loops(summing)) == (((0, 2), (0, 1)), {2})
    set_maps(summing, reversed(maps_of(summing)))
    assert loops_of(summing) == ((0, 1), (0, 2))
    index_by_loops(summing, 4, [[3], [1, 0]])
    assert loops_of(summing) == ((3,), (1, 0))
    renumber_loops(summing, [3, 1])
    assert (loops_of(summing), maps_of(summing)[0].n_dims) == (((0,), (1,)), 2)


def test_more_than_loops_is_refused():
    parsed = generic("m + n, k")
    with pytest.raises(Refusal, match="indexed by more than loops"):
        loops_of(*parsed.operations(GENERIC))


@pytest.mark.parametrize(
    ("read", "body", "loops"),
    [
        ("k, m", "linalg.yield %x : f32", ((2, 0), (0, 1))),
        ("k, m", "linalg.yield %y : f32", None),
        ("k, m", SUM, None),
        ("m + n, k", "linalg.yield %x : f32", None),
    ],
)
def test_only_copies_have_loops_of_copies(read: str, body: str, loops: object):
    parsed = generic(read, body)
    assert copied_loops(*parsed.operations(GENERIC)) == loops


def test_what_computes_one_number_sums_over_nothing():
    parsed = parse("""
        func.func @f(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
          %r = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>],
              iterator_types = []} ins(%a : tensor<f32>) outs(%b : tensor<f32>) {
            ^bb0(%x: f32, %y: f32):
              %n = arith.negf %x : f32
              linalg.yield %n : f32
          } -> tensor<f32>
          return %r : tensor<f32>
        }""")
    (negated,) = parsed.operations(GENERIC)
    assert summed_loops(negated) == frozenset()
