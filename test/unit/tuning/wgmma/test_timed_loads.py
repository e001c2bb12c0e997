# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads for the next iteration become machine instructions that a barrier of a warp holds back."""

from __future__ import annotations

import re

import pytest

from bankwise.tuning.wgmma.timed_loads import timed_loads

from ...functions import Edit, edited, parse

LDS, GLOBAL = "memref<512xf16, #gpu.address_space<workgroup>>", "memref<64x96xf16>"
LOAD = f"%w = vector.load %from[%next, %i] alignment = 8 : {GLOBAL}, vector<4xf16>\n"
KERNEL = f"""
func.func @f(%from: {GLOBAL}, %to: {GLOBAL}, %m: {LDS}, %v: vector<4xf16>, %i: index) {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %l = scf.for %k = %0 to %i step %1 iter_args(%u = %v) -> (vector<4xf16>) {{
    gpu.barrier
    vector.store %u, %m[%i] : {LDS}, vector<4xf16>
    %next = arith.addi %k, %1 : index
    {LOAD}    gpu.barrier
    %first = vector.load %m[%0] : {LDS}, vector<4xf16>
    scf.yield %w : vector<4xf16>
  }}
  return
}}
"""


def timed(text: str) -> tuple[list[str], str]:
    """Returns the names of what loads become in front of `%first`, and the function then."""
    parsed = parse(text)
    first = parsed.operations("vector.load")[-1]
    made = timed_loads(first)
    for each in made:
        each.move_before(first)
    assert parsed.module.operation.verify()
    return [each.name for each in made], str(parsed)


def test_a_load_becomes_one_of_what_may_be_written() -> None:
    names, text = timed(KERNEL)
    assert names.count("llvm.inline_asm") == 2 and names[-1] == "llvm.inline_asm"
    order = ("vector.store", "gpu.barrier", "ld.global.v2.b32 {$0, $1}", "bar.warp.sync")
    body = text[text.index("vector.store") :]
    places = [body.index(each) for each in order]
    assert places == sorted(places)
    # Row and column of the element: 96 k + i.
    assert "by (64, 96)" in text and re.search(r"llvm.getelementptr %\w+\[%\w+\].*, f16", text)
    assert "vector.load %arg0" not in text


AGAIN = "%x = arith.addf %w, %w : vector<4xf16>\n"
WRITE = f"vector.store %u, %to[%0, %0] : {GLOBAL}, vector<4xf16>\n"
ONWARDS = "memref<64x96xf16, strided<[96, 1], offset: 8>>"


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param(((" alignment = 8", ""),), id="elements alone are aligned"),
        pytest.param(((LOAD, LOAD + AGAIN),), id="it is used in this iteration"),
        pytest.param(((LOAD, LOAD + WRITE),), id="something writes global memory"),
        pytest.param(((LOAD, LOAD + "gpu.barrier\n"),), id="another barrier comes before"),
        pytest.param(
            ((f"%from: {GLOBAL}", f"%from: {ONWARDS}"), (LOAD, LOAD.replace(GLOBAL, ONWARDS))),
            id="it starts behind its address",
        ),
        pytest.param(
            ((LOAD, LOAD.replace("%from[%next, %i]", "%m[%next]").replace(GLOBAL, LDS)),),
            id="it reads the LDS",
        ),
    ],
)
def test_other_loads_stay(edits: tuple[Edit, ...]) -> None:
    names, text = timed(edited(KERNEL, *edits))
    assert names == [] and "inline_asm" not in text
