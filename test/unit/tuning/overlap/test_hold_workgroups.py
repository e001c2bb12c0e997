# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-hold-workgroups` asks for what the LDS holds, where registers can hold it too."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.described_tiles import has_held_workgroups, note_held_workgroups
from bankwise.dialect_utils.gpu_target import ASKED_WORKGROUPS as WORKGROUPS
from bankwise.tuning.overlap.hold_workgroups import HoldWorkgroups

from ...functions import HERE, launched, lds, parse, run


def kernel(
    threads: int = 256,
    lds_kib: int = 96,
    registers: int = 100,
    operation: str = "math.exp2",
    copied: int = 0,
    between: str = "",
    computed: str = "",
) -> str:
    """Returns a loop that carries registers in a workgroup whose LDS descriptors name.

    Args:
        copied: how many elements a lane copies to the LDS through registers.
        between: what stands between these copies.
        computed: an operation on the element LOADED, whose result a lane stores in its place.
    """
    tile, values = lds(f"{lds_kib * 512}xf16"), f"vector<{registers}xf32>"
    copies = f"\n    {between}\n    ".join(
        f"""%g{number} = memref.load %global[%i] : memref<64xf16>
    {computed and f"%s{number} = {computed.replace('LOADED', f'%g{number}')} : f16"}
    memref.store %{"s" if computed else "g"}{number}, %m[%i] : {tile}"""
        for number in range(copied)
    )
    return f"""
func.func @f(%v: {values}, %n: index, %global: memref<64xf16>) -> {values}
    attributes {{{launched(f"{threads}, 1, 1", 32)}}} {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %nothing = arith.constant 0.0 : f16
  %inside = arith.cmpi slt, %zero, %n : index
  %m = memref.alloc() : {tile} {HERE}
  %p = memref.extract_aligned_pointer_as_index %m : {tile} -> index {{bankwise.described}}
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %v) -> {values} {{
    {copies}
    %e = {operation} %a : {values}
    scf.yield %e : {values}
  }}
  return %r : {values}
}}
"""


def held(text: str, target: str) -> int:
    """Returns how many workgroups the pass asks for; 0 for a function that it leaves alone."""
    parsed = parse(text)
    run(parsed, HoldWorkgroups(), target=target)
    attributes = parsed.function.attributes
    return ir.IntegerAttr(attributes[WORKGROUPS]).value if WORKGROUPS in attributes else 0


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (kernel(), 2),
        (kernel(lds_kib=48), 2),
        (kernel(lds_kib=128), 0),
        (kernel(threads=128, lds_kib=128), 2),
        (kernel(threads=64, lds_kib=128), 2),
        (kernel(registers=136), 2),
        (kernel(registers=137), 0),
        (kernel(threads=128, lds_kib=48), 4),
        (kernel(threads=128, lds_kib=36, registers=77), 4),
        (kernel(threads=128, lds_kib=36, registers=76), 5),
        (kernel(registers=127, copied=9), 2),
        (kernel(registers=127, copied=10), 0),
        (kernel(registers=127, copied=10, computed="arith.select %inside, LOADED, %nothing"), 0),
        (kernel(registers=127, copied=10, computed="arith.negf LOADED"), 2),
        (kernel(registers=135, copied=10, between="gpu.barrier"), 2),
        (kernel(operation="math.absf"), 0),
    ],
    ids=[
        "both",
        "LDS for four",
        "LDS for one",
        "all registers for two",
        "no more than a few",
        "a few too many",
        "too many",
        "threads",
        "none to spare of five",
        "five",
        "copies",
        "too many copies",
        "too many copies with a mask",
        "computed values",
        "copies in parts",
        "no exp2",
    ],
)
def test_as_many_are_held_as_lds_and_registers_allow(text: str, number: int) -> None:
    assert held(text, "sm_90a") == number


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_other_code_keeps_its_registers(target: str) -> None:
    assert held(kernel(), target) == 0


def by_lanes(threads: int, operation: str = "math.exp2", inside: bool = True) -> str:
    """Returns a loop beside or around an instruction whose operands lanes have in registers."""
    product = """%d = nvgpu.mma.sync (%x, %y, %z) mmaShape = [16, 8, 16] :
        (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>"""
    return f"""
func.func @f(%x: vector<4x2xf16>, %y: vector<2x2xf16>, %z: vector<2x2xf32>, %n: index)
    -> vector<2x2xf32> attributes {{{launched(f"{threads}, 1, 1", 32)}}} {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  {"" if inside else product.replace("%d", "%c")}
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %z) -> vector<2x2xf32> {{
    {product if inside else "%d = arith.negf %a : vector<2x2xf32>"}
    %e = {operation} %d : vector<2x2xf32>
    scf.yield %e : vector<2x2xf32>
  }}
  return %r : vector<2x2xf32>
}}
"""


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    ("text", "number"),
    [
        (by_lanes(128), 2),
        (by_lanes(32), 2),
        (by_lanes(256), 0),
        (by_lanes(128, "math.absf"), 0),
        (by_lanes(128, inside=False), 0),
    ],
    ids=["all registers for two", "one warp", "too few for two", "no exp2", "no product in it"],
)
def test_attentions_by_lanes_get_all_registers_that_a_lane_can_have(
    target: str, text: str, number: int
) -> None:
    assert held(text, target) == number


@pytest.mark.parametrize(
    ("threads", "noted", "number"),
    # Two workgroups of 128 threads leave each lane 255 registers.
    [(128, 1, 2), (128, 2, 2), (128, 5, 4), (256, 1, 0), (256, 2, 2)],
)
def test_no_more_are_held_than_the_tile_was_chosen_for(
    threads: int, noted: int, number: int
) -> None:
    parsed = parse(kernel(threads=threads, lds_kib=48))
    note_held_workgroups(parsed.function, noted)
    run(parsed, HoldWorkgroups(), target="sm_90a")
    attributes = parsed.function.attributes
    found = ir.IntegerAttr(attributes[WORKGROUPS]).value if WORKGROUPS in attributes else 0
    assert found == number and not has_held_workgroups(parsed.function)


def test_a_note_is_forgotten_where_nothing_is_described() -> None:
    parsed = parse(kernel().replace("{bankwise.described}", ""))
    note_held_workgroups(parsed.function, 2)
    assert HoldWorkgroups().has_work(parsed.function)
    run(parsed, HoldWorkgroups(), target="sm_90a")
    assert not has_held_workgroups(parsed.function)
