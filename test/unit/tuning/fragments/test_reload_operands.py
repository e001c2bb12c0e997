# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands that are read in a loop, and those that stay in registers as they cannot be."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.operations import operations_of
from bankwise.tuning.fragments.reload_operands import ReloadOperands

from ...functions import Edit, Kept, assert_kept, assert_said, each_kept, edited, launched

# Two operands of 4 registers, one of 2 and an accumulator of 4 live through the loop, and 20 are
# added for the rest.
RELOADED = f"""
!tile = memref<512xf16, #gpu.address_space<workgroup>>
func.func @f(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index,
    %mask: vector<8xi1>, %yes: i1) -> vector<2x2xf32> attributes {{{launched("32, 1, 1", 32)}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : !tile
  vector.store %v, %tile[%i] : !tile, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : !tile -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : !tile -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s : vector<4x2xf16>
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {{ // here
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16]
        : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16]
        : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }}
  memref.dealloc %tile : !tile
  return %r : vector<2x2xf32>
}}
"""
STORE = "vector.store %v, %tile[%i] : !tile, vector<8xf16>"
BEFORE, LAST, BEHIND = "  %r = scf.for", "    scf.yield %z", "  memref.dealloc %tile : !tile\n"
SECOND = "%q1 = arith.mulf %m1, %s : vector<4x2xf16>"
MAY_BE_WRITTEN = "it may be written after its first read"

KEPT: Kept = {
    "stored in the loop": (MAY_BE_WRITTEN, (LAST, f"    {STORE}\n{LAST}")),
    "stored between the reads": (MAY_BE_WRITTEN, ("  %m1", f"  {STORE}\n  %m1")),
    # Warps leave the loop at different times.
    "stored behind the loop": (MAY_BE_WRITTEN, (BEHIND, f"  {STORE}\n{BEHIND}")),
    # A use outside of the loop needs the registers.
    "used behind the loop": (
        "what is read is used by arith.addf outside of the loop",
        (BEHIND, f"  %w = arith.addf %q0, %q1 : vector<4x2xf16>\n{BEHIND}"),
    ),
    "used otherwise": (
        "what is read is used by arith.addf in the loop",
        (LAST, f"    %w = arith.addf %q0, %q1 : vector<4x2xf16>\n{LAST}"),
    ),
    # All reads are multiplied, or none.
    "read behind the loop": (
        "it is read elsewhere than before the loop, too",
        (
            BEHIND,
            "  %w = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false"
            f" : !tile -> vector<4x2xf16>\n{BEHIND}",
        ),
    ),
    # All that is read is multiplied alike where it is stored.
    "multiplied by two constants": (
        "what is read is multiplied in different ways",
        (SECOND, f"%s1 = arith.constant dense<0.25> : vector<4x2xf16>\n{SECOND}"),
        ("%m1, %s :", "%m1, %s1 :"),
    ),
    "multiplied in part": (
        "only a part of what is read is multiplied",
        (SECOND, ""),
        ("(%q1, %b, %y)", "(%m1, %b, %y)"),
    ),
    "multiplied twice": (
        "what is read is used by arith.mulf outside of the loop",
        (SECOND, f"{SECOND.replace('%q1', '%once')}\n  {SECOND.replace('%m1', '%once')}"),
    ),
    "multiplied by many numbers": (
        "what is read is used by arith.mulf outside of the loop",
        (
            SECOND,
            "%s1 = arith.constant dense<[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]>"
            f" : vector<4x2xf16>\n  {SECOND.replace('%s', '%s1')}",
        ),
    ),
    # Beside other operations such a multiplication may become another one.
    "fast math": (
        "what is read is multiplied with fast-math flags",
        ("%m0, %s :", "%m0, %s fastmath<reassoc> :"),
        ("%m1, %s :", "%m1, %s fastmath<reassoc> :"),
    ),
    # Only what is stored as a whole is multiplied.
    "masked store": (
        "what vector.maskedstore writes cannot be multiplied",
        (STORE, "vector.maskedstore %tile[%i], %mask, %v : !tile, vector<8xi1>, vector<8xf16>"),
    ),
    # The backend would move reads out of the loop again.
    "no barrier in the loop": (
        "the loop has no barrier that keeps the reads in it",
        ("    gpu.barrier memfence [#gpu.address_space<workgroup>]\n", ""),
    ),
    # Nothing is known of what it writes, and when.
    "used by an atomic": (
        "it is used by memref.atomic_rmw",
        (
            BEFORE,
            "  %h = arith.constant 1.0 : f16\n"
            f"  %old = memref.atomic_rmw addf %h, %tile[%i] : (f16, !tile) -> f16\n{BEFORE}",
        ),
    ),
    # What lies in the other memory is not known.
    "may be other memory": (
        "a value may be this memory or another",
        (
            STORE,
            f"{STORE}\n  %two = memref.alloc() : !tile\n"
            "  %some = arith.select %yes, %tile, %two : !tile\n"
            f"  {STORE.replace('%tile', '%some')}",
        ),
    ),
    # The memory must live as long as the loop.
    "freed before the loop": (
        "it is freed before the loop ends",
        (BEHIND, ""),
        (BEFORE, f"{BEHIND}{BEFORE}"),
    ),
    # The next iteration of the outer loop would write while other warps still read.
    "in a loop": (
        "the loop is inside scf.for",
        (
            f"  {STORE}",
            "  %o = scf.for %u = %c0 to %c4 step %c1 iter_args(%outer = %acc)"
            f" -> (vector<2x2xf32>) {{\n  {STORE}",
        ),
        (BEHIND, f"  scf.yield %r : vector<2x2xf32>\n  }}\n{BEHIND}"),
        ("return %r", "return %o"),
    ),
}


FIRST = "%q0 = arith.mulf %m0, %s : vector<4x2xf16>"
READ: dict[str, tuple[list[str], int, list[Edit]]] = {
    "multiplied where they are stored": ([], 1, []),
    # What takes an operand apart and puts it together goes with its reads; what nobody uses is
    # dropped.
    "apart and together": (
        ["vector.shape_cast", "vector.shape_cast"],
        1,
        [
            (
                FIRST,
                "%flat = arith.constant dense<1.250000e-01> : vector<8xf16>\n"
                "  %f0 = vector.shape_cast %m0 : vector<4x2xf16> to vector<8xf16>\n"
                "  %g0 = arith.mulf %f0, %flat : vector<8xf16>\n"
                "  %q0 = vector.shape_cast %g0 : vector<8xf16> to vector<4x2xf16>",
            ),
            (
                SECOND,
                f"%dead = vector.extract %m1[0] : vector<2xf16> from vector<4x2xf16>\n  {SECOND}",
            ),
        ],
    ),
    "not multiplied": ([], 0, [(FIRST, ""), (SECOND, ""), ("(%q0,", "(%m0,"), ("(%q1,", "(%m1,")]),
}


@pytest.mark.parametrize(("moved", "products", "edits"), READ.values(), ids=READ)
def test_operands_that_registers_cannot_hold_are_read_in_the_loop(
    moved: list[str], products: int, edits: list[Edit]
) -> None:
    said = (
        "operands from memref<512xf16> are read in every iteration: "
        "the loop needs about 34 registers of 33, and 32 so"
    )
    text = edited(RELOADED, *edits)
    parsed = assert_said(text, ReloadOperands(most_registers=33), said=said, target="sm_80")
    (loop,) = parsed.operations("scf.for")
    read, multiplied = "nvgpu.ldmatrix", "nvgpu.mma.sync"
    inside = [each.name for each in operations_of(loop.regions[0].blocks[0])]
    one_by_one = ["gpu.barrier", read, *moved, multiplied, read, multiplied, "scf.yield"]
    assert inside == one_by_one
    assert len(parsed.operations("nvgpu.ldmatrix")) == 2
    # All of what is stored is multiplied at once.
    scaled = [str(each.results[0].type) for each in parsed.operations("arith.mulf")]
    assert scaled == ["vector<8xf16>"] * products
    assert not parsed.operations("vector.extract")


@each_kept(KEPT)
def test_operands_stay_in_registers(reason: str, edits: list[Edit]) -> None:
    said = f"operands from memref<512xf16> stay in registers: {reason}"
    text = edited(RELOADED, *edits)
    assert_kept(text, ReloadOperands(most_registers=33), said=said, target="sm_80")
