# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-share-lds` gives a tile the memory of another one only where no use can meet."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.memory.memref_types import type_of
from bankwise.passes.decisions import Action
from bankwise.tuning.overlap.share_lds import ShareLds

from ...functions import Edit, edited, launched, lds, parse, run

TARGET = "sm_90a"
EARLY, LATE = lds("8192xf16"), lds("32768xf16")
# Two workgroups with 80 KiB fit in 227 KiB, and three with 64 KiB.
KERNEL = f"""
func.func @f(%v: vector<8xf16>, %g: memref<65536xf16>) -> vector<8xf16>
    attributes {{{launched("128, 1, 1", 32)}}} {{
  %t = gpu.thread_id x
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 4 : index
  %q = memref.alloc() : {EARLY}
  %k = memref.alloc() : {LATE}
  %p = memref.extract_aligned_pointer_as_index %k : {LATE} -> index {{bankwise.described}}
  %w = affine.apply affine_map<(t) -> (t * 8)>(%t)
  vector.store %v, %q[%w] : {EARLY}, vector<8xf16>
  gpu.barrier
  %r = vector.load %q[%zero] : {EARLY}, vector<8xf16>
  %last = scf.for %i = %zero to %n step %one iter_args(%sum = %r) -> (vector<8xf16>) {{
    gpu.barrier
    vector.store %v, %k[%w] : {LATE}, vector<8xf16>
    gpu.barrier
    %x = vector.load %k[%zero] : {LATE}, vector<8xf16>
    %y = arith.addf %sum, %x : vector<8xf16>
    scf.yield %y : vector<8xf16>
  }}
  return %last : vector<8xf16>
}}
"""


def test_the_first_tile_lies_in_the_second_one() -> None:
    parsed = parse(KERNEL)
    done = run(parsed, ShareLds(), target=TARGET)
    (allocation,) = parsed.operations("memref.alloc")
    assert type_of(allocation).shape == [32768]
    assert done.decision.action is Action.SHARE
    # All have read the first tile before the loop writes the second one.
    text = str(parsed)
    assert text.count("gpu.barrier") == 4
    assert text.rindex("gpu.barrier", 0, text.index("scf.for")) > text.index("vector.load")


KEPT: dict[str, tuple[Edit, ...]] = {
    "read in the loop": (
        (
            "%x = vector.load %k[%zero]",
            "%o = vector.load %q[%zero] : " + EARLY + ", vector<8xf16>\n%x = vector.load %k[%zero]",
        ),
    ),
    "read behind the loop": (
        ("return %last", "%o = vector.load %q[%zero] : " + EARLY + ", vector<8xf16>\nreturn %last"),
    ),
    "read by a descriptor": (
        (
            "%w = affine",
            "%z = memref.extract_aligned_pointer_as_index %q : "
            + EARLY
            + " -> index {bankwise.described}\n%w = affine",
        ),
    ),
    "address taken for something else": (
        (
            "%w = affine",
            "%z = memref.extract_aligned_pointer_as_index %q : " + EARLY + " -> index\n%w = affine",
        ),
    ),
    "larger than the other": (
        (
            f"%k = memref.alloc() : {LATE}",
            f"%k0 = memref.alloc() : {lds('4096xf16')}\n%k = memref.alloc() : {LATE}\n"
            f"vector.store %v, %k[%zero] : {LATE}, vector<8xf16>",
        ),
    ),
    "no more workgroups fit": (
        (
            "%q = memref.alloc()",
            f"%other = memref.alloc() : {lds('48000xf16')}\n%q = memref.alloc()",
        ),
        (
            "return %last",
            f"vector.store %v, %other[%zero] : {lds('48000xf16')}, vector<8xf16>\nreturn %last",
        ),
    ),
    "no operand is read by a descriptor": ((" {bankwise.described}", ""),),
}


@pytest.mark.parametrize("edits", KEPT.values(), ids=KEPT)
def test_tiles_that_may_meet_stay_apart(edits: tuple[Edit, ...]) -> None:
    text = edited(KERNEL, *edits)
    parsed = parse(text)
    run(parsed, ShareLds(), target=TARGET)
    assert str(parsed) == str(parse(text))
