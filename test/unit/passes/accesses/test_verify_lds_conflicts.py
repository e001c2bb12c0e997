# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which accesses pass the verification of conflicts, and what is said of the others."""

from __future__ import annotations

import pytest

from bankwise.passes.accesses.verify_lds_conflicts import VerifyLdsConflicts

from ...functions import (
    HERE,
    Edit,
    Kept,
    assert_fails,
    each_kept,
    edited,
    launched,
    lds,
    parse,
    run,
)

# Lanes read one row.
ROW = f"""
!tile = {lds("64x64xf32")}
!flat = {lds("4096xf32")}
func.func @f(%n: index, %v: f32) attributes {{{launched()}}} {{
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : !tile
  %r = memref.load %a[%c0, %x] : !tile
  return
}}
"""
_ALLOC, _LOAD = ROW.splitlines()[-4:-2]
_COLUMN = (
    "ds_{}_b32 takes 32 cycles where lanes 0, 1, 2, 3, 4, 5, 6, 7, ... (32 lanes) want 32 words of "
    "bank 0"
)


def _hinted(access_width: int, *use: str) -> tuple[Edit, ...]:
    """Returns edits that hint a flat allocation, which lines use as `%h`."""
    hint = f"%h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, {access_width}>]"
    return (_ALLOC, "%a = memref.alloc() : !flat"), (_LOAD, "\n".join((f"{hint} : !flat", *use)))


FAILS: Kept = {
    # All rows of 64 words begin at bank 0.
    "column": (
        f"read of 1 element a lane of memref<64x64xf32> has 62 conflict cycles: "
        f"{_COLUMN.format('read')}",
        (_LOAD, f"%r = memref.load %a[%x, %c0] : !tile {HERE}"),
    ),
    # Element by element they have conflicts, by 16 bytes they have none.
    "joined": (
        "ds_read_b32 takes 4 cycles where lanes 0, 8, 16, 24 want 4 words of bank 0 (and 3 more "
        "such accesses), unless LLVM joins it with its neighbours; bankwise-compile "
        "--bankwise-verify asks the compiled code",
        ("64x64xf32", "64x4xf32"),
        (
            _LOAD,
            f"%r = memref.load %a[%x, %c0] : !tile {HERE}\n"
            + "\n".join(
                f"%c{n} = arith.constant {n} : index\n%r{n} = memref.load %a[%x, %c{n}] : !tile"
                for n in (1, 2, 3)
            ),
        ),
    ),
    # The worst access is named, the others are counted.
    "worst": (
        f"write of 1 element a lane of memref<64x64xf32> has 62 conflict cycles: "
        f"{_COLUMN.format('write')} (and 2 more such accesses)",
        (
            _LOAD,
            f"""memref.store %v, %a[%x, %c0] : !tile {HERE}
            %two = affine.apply affine_map<()[s0] -> (s0 * 2)>()[%x]
            %f = memref.collapse_shape %a [[0, 1]] : !tile into !flat
            memref.store %v, %f[%two] : !flat
            %quarter = affine.apply affine_map<()[s0] -> (s0 floordiv 4)>()[%x]
            %r = memref.load %a[%quarter, %c0] : !tile""",
        ),
    ),
    # A hint that cannot be resolved is none: the vector may cross its groups.
    "dropped hint": (
        "read of 4 elements a lane of memref<4096xf32>",
        *_hinted(
            4,
            "%o = affine.apply affine_map<()[s0] -> (s0 * 64 + 2)>()[%x]",
            f"%r = vector.load %h[%o] : !flat, vector<4xf32> {HERE}",
        ),
    ),
    # What cannot be evaluated has not been verified.
    "unknown index": (
        "an access to memref<64x64xf32> cannot be verified: memref.load: index depends on the "
        "block argument of func.func",
        (_LOAD, f"%r = memref.load %a[%n, %x] : !tile {HERE}"),
    ),
    "atomic": (
        "an access to memref<64x64xf32> cannot be verified: used by memref.atomic_rmw",
        (_LOAD, f"%r = memref.atomic_rmw addf %v, %a[%c0, %x] : (f32, !tile) -> f32 {HERE}"),
    ),
    "dynamic LDS": (
        "an access to memref<?x64xf32> cannot be verified: its shape is dynamic",
        ("!tile = memref<64x", "!tile = memref<?x"),
        (_ALLOC, f"%a = memref.alloc(%n) : !tile {HERE}"),
    ),
    # Without a launch nothing is known.
    "no launch": (
        "LDS accesses to memref<64x64xf32> cannot be verified: the function has no "
        "translation_info with workgroup and subgroup size",
        (f"{launched()}}} {{", "} {"),
        (_ALLOC, f"{_ALLOC} {HERE}"),
    ),
}


@each_kept(FAILS)
def test_what_fails(reason: str, edits: list[Edit]) -> None:
    assert_fails(edited(ROW, *edits), VerifyLdsConflicts(), said=reason, target="gfx942")


@pytest.mark.parametrize(
    "edits",
    [
        (),
        # A hint is honoured: column 0 of row r lies at bank r % 32.
        _hinted(
            1,
            "%e = memref.expand_shape %h [[0, 1]] output_shape [64, 64] : !flat into !tile",
            "%r = memref.load %e[%x, %c0] : !tile",
        ),
        # Without LDS there is nothing to know.
        ((launched(), ""), (_ALLOC, ""), (_LOAD, "")),
    ],
    ids=["row", "hinted column", "no LDS"],
)
def test_what_passes(edits: tuple[Edit, ...]) -> None:
    assert not run(parse(edited(ROW, *edits)), VerifyLdsConflicts(), target="gfx942").said


# Lanes copy rows of 64 bytes through the L1 cache, of which two come from the same half of a line.
COPY = f"""
!tile = {lds("128xf32")}
func.func @f(%g: memref<64x4096xf32>, %n: memref<?x?xf32>) attributes {{{launched("32", 32)}}} {{
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %at = affine.apply affine_map<(x) -> (x * 4)>(%x)
  %r, %c = affine.delinearize_index %at into (8, 16) : index, index
  %a = memref.alloc() : !tile
  %t = nvgpu.device_async_copy %g[%r, %c], %a[%at], 4 : memref<64x4096xf32> to !tile
  return
}}
"""


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (
            ("!tile\n  return", f"!tile {HERE}\n  return"),
            "cp.async.ca.16 to memref<128xf32> has 4 conflict cycles: of the lanes that copy 128 "
            "bytes, some write to the same bank, or read from the same place",
        ),
        (
            ("%g[%r, %c], %a[%at], 4 : memref<64x4096xf32> to !tile",
             f"%n[%r, %c], %a[%at], 4 : memref<?x?xf32> to !tile {HERE}"),
            "the bank conflicts of a cp.async are not counted: rows whose length is not known",
        ),
    ],
    ids=["conflicts", "not counted"],
)  # fmt: skip
def test_copies_that_fail(edit: Edit, reason: str) -> None:
    assert_fails(edited(COPY, edit), VerifyLdsConflicts(), said=reason, target="sm_80")


def test_copies_past_the_cache_pass() -> None:
    source = edited(COPY, ("%a[%at], 4 :", "%a[%at], 4 bypassL1 :"))
    assert not run(parse(source), VerifyLdsConflicts(), target="sm_80").said


# The same, of 4 bytes from rows of 200 words, of which the last of three workgroups has three.
RAGGED = f"""
!tile = {lds("128xf32")}
func.func @f(%g: memref<19x200xf32>) attributes {{{launched("32", 32)}}} {{
  %x = gpu.thread_id x
  %last = arith.constant 18 : index
  %a = memref.alloc() : !tile
  scf.forall (%w) in (3) {{
    %r = affine.apply affine_map<(w, x) -> (w * 8 + x floordiv 8)>(%w, %x)
    %c = affine.apply affine_map<(x) -> (x mod 8)>(%x)
    %i = arith.minui %r, %last : index
    %t = nvgpu.device_async_copy %g[%i, %c], %a[%x], 1 : memref<19x200xf32> to !tile
  }} {{mapping = [#iree_codegen.workgroup_mapping<x>]}}
  return
}}
"""


def test_copies_are_counted_in_all_workgroups() -> None:
    """The last workgroup reads its last row twice, from the same places."""
    source = edited(RAGGED, ("to !tile\n  }", f"to !tile {HERE}\n  }}"))
    said = "cp.async.ca.4 to memref<128xf32> has 1 conflict cycle"
    assert_fails(source, VerifyLdsConflicts(), said=said, target="sm_80")


def test_a_workgroup_without_such_rows_passes() -> None:
    source = edited(RAGGED, ("in (3)", "in (2)"))
    assert not run(parse(source), VerifyLdsConflicts(), target="sm_80").said
