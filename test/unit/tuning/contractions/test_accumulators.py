# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What has the rows or columns of an accumulator, and what ends the search for it."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.tuning.contractions.accumulators import AccumulatorFlow

from .lane_functions import IN_BOUNDS, LaneFunction

SUM, PRIVATE = "vector<4x4xf32>", "memref<4x4xf32, #gpu.address_space<private>>"
READ = f"vector.transfer_read %t[%c0, %c0], %pad {IN_BOUNDS[2]} : memref<4x4xf32>, {SUM}"


def flow_of(body: str) -> tuple[LaneFunction, AccumulatorFlow]:
    """Follows %sum, whose columns are its second dimension."""
    found = LaneFunction.of(
        f"%t = memref.alloc() : memref<4x4xf32>\n%sum = arith.constant dense<0.0> : {SUM}\n{body}"
    )
    constant = next(
        each for each in found.all("arith.constant") if str(each.results[0].type) == SUM
    )
    return found, AccumulatorFlow.of(constant.results[0], (0, 1))


def written(value: str) -> str:
    return f"vector.transfer_write %{value}, %t[%c0, %c0] {IN_BOUNDS[2]} : {SUM}, memref<4x4xf32>"


@pytest.mark.parametrize(
    ("body", "dims"),
    [
        ("", (0, 1)),
        (f"%x = arith.mulf %sum, %sum : {SUM}\n" + written("x"), (0, 1)),
        (f"%x = vector.transpose %sum, [1, 0] : {SUM} to vector<4x4xf32>\n" + written("x"),
         (1, 0)),
        (f"%x = scf.for %k = %c0 to %i step %c1 iter_args(%a = %sum) -> ({SUM}) {{\n"
         f"%y = arith.addf %a, %a : {SUM}\nscf.yield %y : {SUM}\n}}\n" + written("x"), (0, 1)),
        (f"%kept = memref.alloca() : {PRIVATE}\n"
         f"vector.transfer_write %sum, %kept[%c0, %c0] {IN_BOUNDS[2]} : {SUM}, {PRIVATE}\n"
         f"%x = vector.transfer_read %kept[%c0, %c0], %pad {IN_BOUNDS[2]} : {PRIVATE}, {SUM}\n"
         + written("x"), (0, 1)),
    ],
)  # fmt: skip
def test_dimensions_are_followed_to_the_transfers(body: str, dims: tuple[int, int]) -> None:
    found, flow = flow_of(body or written("sum"))
    assert flow.transfers == {found.all("vector.transfer_write")[-1]: dims}
    assert not flow.repeated and not flow.scatters and not flow.contractions


def test_what_is_added_is_read_with_the_same_dimensions_or_is_the_same_for_all() -> None:
    found, flow = flow_of(f"""
      %a = {READ}
      %b = vector.transfer_read %bias[%column], %pad {IN_BOUNDS[1]} : memref<16xf32>, vector<1xf32>
      %c = vector.broadcast %b : vector<1xf32> to {SUM}
      %x = arith.addf %sum, %a : {SUM}
      %y = arith.addf %x, %c : {SUM}
    """)
    one, other = found.all("vector.transfer_read")
    assert flow.transfers == {one: (0, 1)}
    assert list(flow.repeated) == [other]


def test_what_is_computed_of_copies_is_looked_at_once() -> None:
    """There are 2^99 ways back to the read."""
    read = f"vector.transfer_read %bias[%column], %pad {IN_BOUNDS[1]} : memref<16xf32>"
    steps = [f"%v{n + 1} = arith.addf %v{n}, %v{n} : vector<1xf32>" for n in range(99)]
    copied = f"%c = vector.broadcast %v99 : vector<1xf32> to {SUM}"
    added = f"%x = arith.addf %sum, %c : {SUM}"
    found, flow = flow_of("\n".join([f"%v0 = {read}, vector<1xf32>", *steps, copied, added]))
    assert list(flow.repeated) == found.all("vector.transfer_read")


def test_a_scatter_has_the_dimensions_of_what_was_made_flat() -> None:
    found, flow = flow_of(f"""
      %x = vector.shape_cast %sum : {SUM} to vector<16xf32>
      %places = vector.step : vector<16xindex>
      %mask = arith.constant dense<true> : vector<16xi1>
      vector.scatter %global[%c0] [%places], %mask, %x
          : memref<960xf32>, vector<16xindex>, vector<16xi1>, vector<16xf32>
    """)
    assert flow.scatters == {found.all("vector.scatter")[0]: (0, 1)}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"%x = vector.shuffle %sum, %sum [0, 1] : {SUM}, {SUM}", "meets vector.shuffle"),
        (f"%x = vector.shape_cast %sum : {SUM} to vector<16xf32>\nvector.print %x : vector<16xf32>",
         "meets vector.shape_cast"),
        ("%n = arith.index_cast %lane : index to i32\n%f = arith.sitofp %n : i32 to f32\n"
         f"%v = vector.broadcast %f : f32 to {SUM}\n%x = arith.addf %sum, %v : {SUM}",
         "meets a number of each lane"),
        (f"%v = arith.constant dense<{[[0.0, 1.0, 2.0, 3.0]] * 4}> : {SUM}\n"
         f"%x = arith.addf %sum, %v : {SUM}", "differs between elements"),
        (f"%x = scf.if %cond -> ({SUM}) {{\nscf.yield %sum : {SUM}\n}} else {{\n"
         f"scf.yield %sum : {SUM}\n}}", "meets scf.yield"),
        ("%y = arith.constant dense<0.0> : vector<1x4xf32>\n"
         f"%x = vector.broadcast %y : vector<1x4xf32> to {SUM}\n"
         f"%z = arith.addf %sum, %x : {SUM}", "along its rows"),
        (f"%kept = memref.alloca() : {PRIVATE}\n"
         f"vector.transfer_write %sum, %kept[%c0, %c0] {IN_BOUNDS[2]} : {SUM}, {PRIVATE}\n"
         f"%x = vector.transfer_read %kept[%c0, %c0], %pad {IN_BOUNDS[2]} "
         f": {PRIVATE}, vector<1x4xf32>", "keeps parts of what is renamed"),
        (f"%y = vector.transpose %sum, [1, 0] : {SUM} to {SUM}\n"
         f"%x = arith.addf %sum, %y : {SUM}", "meets itself transposed"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(body: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        flow_of("%cond = arith.cmpi ult, %lane, %i : index\n" + body)
