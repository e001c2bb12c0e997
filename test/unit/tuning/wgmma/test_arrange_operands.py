# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-arrange-operands` moves elements together with all accesses to them.

What each access reads or writes is followed lane by lane, before and after the pass: the element
of the tile as the program numbers them must be the one at the place that `ArrangedTile` says.
"""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bank_model.descriptor_tiles import ArrangedTile
from bankwise.dialect_utils.gpu_target import launch_of
from bankwise.dialect_utils.index.lane_values import LaneEvaluator, LaneValues
from bankwise.dialect_utils.memory.memref_types import row_major_strides, type_of
from bankwise.dialect_utils.operations import operations_in
from bankwise.dialect_utils.swizzle_hint import is_hint
from bankwise.passes.swizzles.swizzle_lds_allocs import SwizzleLdsAllocs
from bankwise.tuning.wgmma.arrange_operands import ArrangeOperands

from ...functions import (
    HERE,
    Edit,
    Kept,
    Parsed,
    assert_kept,
    each_kept,
    edited,
    launched,
    lds,
    parse,
    run,
)
from .test_form_wgmma import LOADED, ROW, TARGET, halves, mma

TILE = lds("64x128xf16")
# 128 threads store the 64 rows of 128 columns, 8 elements at a time, and multiply by columns 32 to
# 47 of the k from 64 on.
K_MAJOR = f"""
func.func @f(%a: vector<4x2xf16>, %c: vector<2x2xf32>, %d: vector<2x2xf32>, %v: vector<8xf16>)
    -> (vector<2x2xf32>, vector<2x2xf32>) attributes {{{launched("128, 1, 1", 32)}}} {{
  %t = gpu.thread_id x
  %m = memref.alloc() : {TILE} {HERE}
  %wr = affine.apply affine_map<(t) -> (t floordiv 16)>(%t)
  %wc = affine.apply affine_map<(t) -> (t mod 16 * 8)>(%t)
  vector.store %v, %m[%wr, %wc] : {TILE}, vector<8xf16>
  gpu.barrier
  %r0 = affine.apply {ROW}(%t)
  %r = affine.apply affine_map<(r) -> (r + 32)>(%r0)
  %g = affine.apply affine_map<(t) -> (t mod 32 floordiv 8 mod 2 * 8 + 64)>(%t)
  %b = nvgpu.ldmatrix %m[%r, %g] numTiles = 4 transpose = false : {TILE} -> {LOADED}
  {halves("b", "b")}
  {mma("x", "a", "b0", "c")}
  {mma("y", "a", "b1", "d")}
  return %x, %y : vector<2x2xf32>, vector<2x2xf32>
}}
"""
# The same of a tile of 64 k and 128 columns, of which the columns 64 to 79 are multiplied by, and
# the k from 16 on: lane l gives the k l mod 16 of the columns 8 (l / 16).
MN_MAJOR = edited(
    K_MAJOR,
    ("%r = affine.apply affine_map<(r) -> (r + 32)>(%r0)", ""),
    (f"%r0 = affine.apply {ROW}(%t)", "%r = affine.apply affine_map<(t) -> (t mod 16 + 16)>(%t)"),
    ("(t mod 32 floordiv 8 mod 2 * 8 + 64)", "(t mod 32 floordiv 16 * 8 + 64)"),
    ("transpose = false", "transpose = true"),
)
KERNELS = {"K-major": K_MAJOR, "MN-major": MN_MAJOR}


def elements(parsed: Parsed, name: str) -> np.ndarray:
    """Returns the elements of the allocation that the lanes of an access name, row by row."""
    (access,) = parsed.operations(name)
    number = 1 if name == "vector.store" else 0
    buffer, *indices = list(access.operands)[number:]
    launch = launch_of(parsed.function)
    assert launch is not None
    strides = row_major_strides(type_of(buffer).shape)
    found = LaneEvaluator(launch).element(indices, strides)
    assert isinstance(found, LaneValues)
    return found.full(launch)


@pytest.mark.parametrize("text", KERNELS.values(), ids=KERNELS)
def test_accesses_follow_their_elements(text: str) -> None:
    before, after = parse(text), parse(text)
    run(after, ArrangeOperands(), target=TARGET)
    (allocation,) = after.operations("memref.alloc")
    assert type_of(allocation).shape == [2, 64, 64]
    (hint,) = [each for each in operations_in(after.module.operation) if is_hint(each)]
    assert "xor_shuffle<64, 8, 64, 1>" in str(hint)
    arranged = ArrangedTile.of(64, 128, 2)
    assert arranged is not None
    for name in ("vector.store", "nvgpu.ldmatrix"):
        moved = arranged.parts[0].swizzle.apply(elements(after, name))
        assert (moved == arranged.place(elements(before, name))).all()


def test_columns_that_the_widest_mode_leaves_have_a_tile_of_their_own() -> None:
    """64 of 80 columns are stored, and the last 16 multiply; then 64 of 80 and the same others."""
    last, own = "(t mod 32 floordiv 8 mod 2 * 8 + 64)", "(t mod 8 * 8)"
    edits = [("(t mod 16 * 8)", own), ("(t floordiv 16)", "(t floordiv 8)")]
    text = edited(K_MAJOR, *edits).replace("64x128xf16", "64x80xf16")
    assert last in text
    before, after = parse(text), parse(text)
    run(after, ArrangeOperands(), target=TARGET)
    shapes = [type_of(each).shape for each in after.operations("memref.alloc")]
    assert shapes == [[1, 64, 64], [1, 64, 16]]
    hints = [str(each) for each in operations_in(after.module.operation) if is_hint(each)]
    assert len(hints) == 2
    assert "xor_shuffle<64, 8, 64, 1>" in hints[0] and "xor_shuffle<16, 8, 64, 1>" in hints[1]
    arranged = ArrangedTile.of(64, 80, 2)
    assert arranged is not None
    accesses = zip(("vector.store", "nvgpu.ldmatrix"), arranged.parts, (0, 64 * 64), strict=True)
    for name, part, begin in accesses:
        moved = begin + part.swizzle.apply(elements(after, name))
        assert (moved == arranged.place(elements(before, name))).all()


def test_a_tile_that_a_store_keeps_together_has_one_mode() -> None:
    """Ten lanes store a row of 80 columns, so that an instruction stores to all parts of it."""
    edits = [("(t mod 16 * 8)", "(t mod 10 * 8)"), ("(t floordiv 16)", "(t floordiv 10)")]
    text = edited(K_MAJOR, *edits).replace("64x128xf16", "64x80xf16")
    parsed = parse(text)
    run(parsed, ArrangeOperands(), target=TARGET)
    (allocation,) = parsed.operations("memref.alloc")
    assert type_of(allocation).shape == [5, 64, 16]
    (hint,) = [str(each) for each in operations_in(parsed.module.operation) if is_hint(each)]
    assert "xor_shuffle<16, 8, 64, 1>" in hint


def test_a_tile_of_a_is_arranged_too() -> None:
    """Lane l gives the row l mod 16 of its warp's 16, and from lane 16 on the second 8 of the k."""
    read = f"""%n = memref.alloc() : {lds("64x64xf16")} {HERE}
  %ra = affine.apply affine_map<(t) -> (t floordiv 32 * 16 + t mod 16)>(%t)
  %ga = affine.apply affine_map<(t) -> (t mod 32 floordiv 16 * 8)>(%t)
  %e = nvgpu.ldmatrix %n[%ra, %ga] numTiles = 4 transpose = false : {lds("64x64xf16")} -> {LOADED}
  %b = nvgpu.ldmatrix"""
    text = edited(K_MAJOR, ("%b = nvgpu.ldmatrix", read)).replace("(%a,", "(%e,")
    parsed = parse(text)
    run(parsed, ArrangeOperands(), target=TARGET)
    hints = [str(each) for each in operations_in(parsed.module.operation) if is_hint(each)]
    assert len(hints) == 2 and all("xor_shuffle<64, 8, 64, 1>" in each for each in hints)
    apart = parse(text.replace("floordiv 32 * 16 + t mod 16", "floordiv 32 * 8 + t mod 16"))
    run(apart, ArrangeOperands(), target=TARGET)
    assert sum(is_hint(each) for each in operations_in(apart.module.operation)) == 1


def test_no_other_swizzle_comes_on_top() -> None:
    """Stores to columns in blocks of 64 bytes conflict, and the layout stays all the same."""
    text = edited(
        K_MAJOR,
        ("(t floordiv 16)", "(t floordiv 12)"),
        ("(t mod 16 * 8)", "(t mod 12 * 8)"),
        ("* 8 + 64)", "* 8 + 32)"),
    ).replace("64x128xf16", "64x96xf16")
    parsed = parse(text)
    run(parsed, ArrangeOperands(), target=TARGET)
    arranged = str(parsed)
    assert "xor_shuffle<32, 8, 64, 1>" in arranged
    said = run(parsed, SwizzleLdsAllocs(), target=TARGET).said
    assert any("it has the layout of descriptors" in str(each) for each in said)
    assert str(parsed) == arranged


@pytest.mark.parametrize(
    ("rows", "columns", "bytes_", "modes"),
    [
        (64, 64, 2, [128]),
        (64, 96, 2, [128, 64]),
        (64, 80, 2, [128, 32]),
        (64, 112, 2, [128, 64, 32]),
        (64, 256, 1, [128]),
        (64, 32, 2, [64]),
        (48, 80, 2, []),
        (32, 48, 2, [64, 32]),
        (16, 96, 2, [128, 64]),
        (8, 96, 2, []),
    ],
)
def test_each_mode_has_the_columns_that_wider_ones_leave(
    rows: int, columns: int, bytes_: int, modes: list[int]
) -> None:
    """Where a part would begin at no multiple of 1,024 bytes, one mode has all columns, or none."""
    tile = ArrangedTile.of(rows, columns, bytes_)
    if not modes:
        assert tile == ArrangedTile.in_one_mode(rows, columns, bytes_)
        return
    assert tile is not None
    assert [part.mode.row_bytes for part in tile.parts] == modes
    places = tile.place(np.arange(rows * columns))
    assert (np.sort(places) == np.arange(rows * columns)).all()


def test_columns_that_no_mode_divides_are_not_arranged() -> None:
    assert ArrangedTile.of(64, 72, 2) is None
    assert ArrangedTile.of(4, 64, 2) is None


KEPT: Kept = {
    "an access across blocks": (
        "an access may leave its block of columns",
        ("(t mod 16 * 8)", "(t mod 16 * 8 + 4 * (t floordiv 64))"),
    ),
    "another use": (
        "memref.collapse_shape uses it",
        (
            "gpu.barrier",
            f"%flat = memref.collapse_shape %m [[0, 1]] : {TILE} into {lds('8192xf16')}\n"
            f"vector.store %v, %flat[%wc] : {lds('8192xf16')}, vector<8xf16>\ngpu.barrier",
        ),
    ),
    "a column that is not known": (
        "a column depends on the ",
        ("%v: vector<8xf16>)", "%v: vector<8xf16>, %where: index)"),
        ("%m[%wr, %wc]", "%m[%wr, %where]"),
    ),
}


@each_kept(KEPT)
def test_a_tile_stays_that_blocks_would_take_apart(reason: str, edits: list[Edit]) -> None:
    said = f"is not arranged for wgmma: {reason}"
    assert_kept(edited(K_MAJOR, *edits), ArrangeOperands(), said=said, target=TARGET)


@pytest.mark.parametrize("edit", [("[128, 1, 1]", "[64, 1, 1]"), ("gpu.barrier", "")])
def test_tiles_without_groups_keep_their_layout(edit: Edit) -> None:
    """A tile that no `wgmma` could read then is left to the other passes."""
    text = edited(K_MAJOR, edit)
    parsed = parse(text)
    assert not run(parsed, ArrangeOperands(), target=TARGET).said
    assert str(parsed) == str(parse(text))
