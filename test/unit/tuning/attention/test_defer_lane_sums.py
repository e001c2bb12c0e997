# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of a loop that stay in it because something in the loop needs them, or nothing is gained."""

from __future__ import annotations

import pytest

from bankwise.bank_model.nested_layout import NestedLayout
from bankwise.tuning.attention.defer_lane_sums import DeferLaneSums

from ...functions import Edit, edited, parse, run

_TERMS = NestedLayout((4, 1), (1, 4), (1, 1), (16, 4), (1, 4), (1, 0), (1, 16))
_ONE_LANE = NestedLayout((1, 1), (1, 1), (1, 1), (64, 1), (1, 64), (0, 0), (1, 0))

# The sum of an attention: it is scaled by what is the same for a whole row.
SCALED = f"""
!sum = vector<64xf32>
func.func @f(%x: vector<64x64xf32>, %scale: !sum, %n: index) -> !sum {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = arith.constant dense<0.000000e+00> : !sum
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %init, %other = %init) -> (!sum, !sum) {{
    %y = iree_vector_ext.to_layout %x to layout({_TERMS}) : vector<64x64xf32>
    %scaled = arith.mulf %scale, %sum : !sum
    %next = vector.multi_reduction <add>, %y, %scaled [1] : vector<64x64xf32> to !sum
    scf.yield %next, %other : !sum, !sum
  }}
  return %r#0 : !sum
}}
"""


def _other(value: str) -> Edit:
    """Returns the edit that lets the loop add a value to what else it carries."""
    yielded = "scf.yield %next, %{}"
    return yielded.format("other"), f"%o = arith.addf %other, {value} : !sum\n{yielded.format('o')}"


KEPT: dict[str, tuple[Edit, ...]] = {
    "another operation sees the sum of all lanes": (_other("%sum"),),
    "another operation uses what the loop carries on": (_other("%next"),),
    "the lanes would add the initial value four times": (("dense<0.0", "dense<1.0"),),
    # A maximum is needed in every iteration, and is no sum.
    "maximum": (("<add>", "<maximumf>"),),
    "multiplied by itself": (("mulf %scale, %sum", "mulf %sum, %sum"),),
    "shifted, not scaled": (("arith.mulf", "arith.addf"),),
    "one lane holds a whole row": ((str(_TERMS), str(_ONE_LANE)),),
}


def test_a_sum_that_is_scaled_is_deferred() -> None:
    parsed = parse(SCALED)
    run(parsed, DeferLaneSums())
    assert parsed.operations("iree_vector_ext.to_simt")


@pytest.mark.parametrize("edits", KEPT.values(), ids=KEPT)
def test_sums_that_stay(edits: tuple[Edit, ...]) -> None:
    text = edited(SCALED, *edits)
    parsed = parse(text)
    run(parsed, DeferLaneSums())
    assert str(parsed) == str(parse(text))
