# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Segments of blocks in which loads may move."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.memory.store_free_segments import (
    places_in_segments,
    store_free_segments,
)

from ...functions import parse

LOAD = "memref.load %m[%i] : memref<8xf32>"


@pytest.mark.parametrize(
    ("between", "is_one"),
    [
        ("%x = arith.addf %f, %f : f32", True),
        ("%v = vector.from_elements %f : vector<1xf32>", True),
        (f"%x = {LOAD}", True),
        ("%n = memref.cast %m : memref<8xf32> to memref<?xf32>", True),
        ("%n = arith.select %b, %m, %m : memref<8xf32>", False),
        ("memref.store %f, %m[%i] : memref<8xf32>", False),
        ("vector.store %w, %m[%i] : memref<8xf32>, vector<2xf32>", False),
        ("gpu.barrier", False),
        ("call @g() : () -> ()", False),
        (f"affine.for %k = 0 to 4 {{ %x = {LOAD} }}", False),
        (f"scf.if %b {{ %x = {LOAD} }}", False),
    ],
)
def test_loads_share_a_segment_where_nothing_between_may_write(between: str, is_one: bool) -> None:
    text = f"""
      func.func private @g()
      func.func @f(%m: memref<8xf32>, %i: index, %f: f32, %b: i1, %w: vector<2xf32>) {{
        %first = {LOAD}
        {between}
        %last = {LOAD}
        return
      }}"""
    parsed = parse(text)
    operations = parsed.operations()
    loads = [each for each in operations if each.name == "memref.load"]
    numbers = [number for number, _ in places_in_segments(operations, {"memref.load"}).values()]
    parts = list(store_free_segments(loads[0].block))
    # The load of a region shares a segment with none outside it.
    assert (len({*numbers}) == 1) == is_one
    assert len({*numbers}) == (1 if is_one else 3 if len(loads) == 3 else 2)
    assert [loads[0] in part and loads[-1] in part for part in parts].count(True) == is_one
