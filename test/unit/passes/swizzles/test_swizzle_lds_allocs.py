# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Allocations that keep their layout, each with the reason."""

from __future__ import annotations

from bankwise.passes.base import PassContext, UnresolvedHint
from bankwise.passes.decisions import Action
from bankwise.passes.padding.pad_unhinted_allocs import PadUnhintedAllocs
from bankwise.passes.swizzles.resolve_swizzle_hints import ResolveSwizzleHints
from bankwise.passes.swizzles.swizzle_lds_allocs import SwizzleLdsAllocs

from ...functions import Edit, Kept, assert_kept, each_kept, edited, launched, lds, parse, run

# Every lane reads the first element of a row.
COLUMN = f"""
!tile = {lds("64x64xf32")}
func.func @f(%n: index, %c: i1, %to: memref<64x64xf32>, %lds: !tile, %m: vector<4xi1>,
    %p: vector<4xf32>) attributes {{{launched()}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : !tile // here
  %r = memref.load %a[%x, %c0] : !tile
  return
}}
func.func private @other(!tile)
"""
_READ = "%r = memref.load %a[%x, %c0] : !tile"


def _and(*lines: str) -> Edit:
    """Returns the edit that adds lines behind the read."""
    return "  return", "\n".join((*lines, "  return"))


def _view(name: str, line: str, kind: str) -> str:
    return f"%{name} = {line} : !tile to {lds(kind)}"


_ROW = "1x64xf32, strided<[64, 1], offset: ?>"
_TURNED = "64x64xf32, strided<[1, 64]>"
_HALF = lds("32x64xf32, strided<[64, 1]>")

KEPT: Kept = {
    # Rows are read as they lie.
    "no conflict": ("its plain layout has no bank conflict", ("%a[%x, %c0]", "%a[%c0, %x]")),
    "unknown index": (
        "an access is not known: memref.load: index depends on the block argument of func.func",
        _and("%s = memref.load %a[%n, %c0] : !tile"),
    ),
    "dynamic shape": (
        "its shape is dynamic",
        ("!tile = memref<64x", "!tile = memref<?x"),
        ("alloc()", "alloc(%n)"),
    ),
    # A view at an offset that is not known may alias any row.
    "unknown view": (
        "an access is not known: memref.load: offset depends on the block argument of func.func",
        _and(
            _view("v", "memref.subview %a[%n, 0] [1, 64] [1, 1]", _ROW),
            f"%s = memref.load %v[%c0, %x] : {lds(_ROW)}",
        ),
    ),
    # The memory escapes.
    "call": ("used by func.call", _and("func.call @other(%a) : (!tile) -> ()")),
    "atomic": (
        "used by memref.atomic_rmw",
        _and("%s = memref.atomic_rmw addf %r, %a[%x, %c0] : (f32, !tile) -> f32"),
    ),
    "copied": ("used by memref.copy", _and("memref.copy %a, %to : !tile to memref<64x64xf32>")),
    # The rows are looked at in another way, which no swizzle follows.
    "recast": (
        "memref.reinterpret_cast addresses its memory in another order",
        _and(
            _view(
                "v",
                "memref.reinterpret_cast %a to offset: [0], sizes: [64, 64], strides: [1, 64]",
                _TURNED,
            ),
            f"%s = memref.load %v[%x, %c0] : {lds(_TURNED)}",
        ),
    ),
    # Memory that is cast to another element type.
    "bytes": (
        "memref.view addresses its memory in another order",
        ("!tile = memref<64x64xf32", "!tile = memref<16384xi8"),
        (
            _READ,
            f"{_view('v', 'memref.view %a[%c0][]', '64x64xf32')}\n"
            f"%r = memref.load %v[%x, %c0] : {lds('64x64xf32')}",
        ),
    ),
    "masked": (
        "used by vector.maskedload",
        _and(
            "%s = vector.maskedload %a[%x, %c0], %m, %p : !tile, vector<4xi1>, vector<4xf32>"
            " into vector<4xf32>"
        ),
    ),
    "out of bounds": (
        "a vector.transfer_read may be out of bounds",
        _and("%s = vector.transfer_read %a[%x, %c0], %r : !tile, vector<4xf32>"),
    ),
    # One value may be this memory or any other.
    "meets an argument": (
        "it meets memory that is no LDS allocation",
        (_READ, f"%s = arith.select %c, %a, %lds : !tile\n{_READ.replace('%a', '%s')}"),
    ),
    # A loop carries views, whose rows begin elsewhere.
    "carried view": (
        "a view of it meets other memory",
        (
            _READ,
            f"%u = memref.subview %a[0, 0] [32, 64] [1, 1] : !tile to {_HALF}\n"
            f"%f = scf.for %i = %c0 to %c8 step %c1 iter_args(%q = %u) -> ({_HALF}) {{\n"
            f"%r = memref.load %q[%i, %c0] : {_HALF}\nscf.yield %q : {_HALF}\n}}",
        ),
    ),
    # A matrix that is read with one leading dimension cannot lie in swizzled rows.
    "matrix of a subgroup": (
        "gpu.subgroup_mma_load_matrix wants rows that are one stride apart",
        ("!tile = memref<64x64xf32", "!tile = memref<64x64xf16"),
        (
            _READ,
            '%r = "gpu.subgroup_mma_load_matrix"(%a, %c0, %c0) <{leadDimension = 64 : index}>'
            ' : (!tile, index, index) -> !gpu.mma_matrix<16x16xf16, "AOp">',
        ),
    ),
}


def test_a_column_is_swizzled() -> None:
    parsed = parse(COLUMN)
    run(parsed, SwizzleLdsAllocs(), target="gfx942")
    assert parsed.operations("iree_codegen.swizzle_hint")


def test_a_decision_says_what_stores_of_equal_words_may_cost() -> None:
    store = ("%v = arith.constant 1.0 : f32", "%row = arith.divui %x, %c8 : index")
    stored = "memref.store %v, %a[%c0, %row] : !tile"
    text = COLUMN.replace(
        _READ, "\n  ".join((*store, stored, "%r = memref.load %a[%c0, %x] : !tile"))
    )
    (decision,) = run(parse(text), SwizzleLdsAllocs(), target="gfx942").decisions
    (said,) = decision.other_readings
    assert (decision.action, decision.conflict_cycles_after) == (Action.KEEP, 0)
    assert "ds_write_b32 serves lanes that want the same word one after the other" in said
    # Eight lanes for each word: 7 cycles more in both phases.
    assert said.endswith("conflict cycles would be 14, not 0")


@each_kept(KEPT)
def test_allocations_that_keep_their_layout(reason: str, edits: list[Edit]) -> None:
    text = edited(COLUMN, *edits)
    assert_kept(text, SwizzleLdsAllocs(), said=f"not swizzled: {reason}", target="gfx942")


def test_neighbours_that_the_backend_joins_are_left_together() -> None:
    """The backend unrolls the loops and joins neighbouring iterations.

    That are five b128 accesses a lane without a conflict. Counted one by one, b64 accesses have 16
    conflict cycles, and a swizzle that parts the pairs has none.
    """
    text = f"""
    !tile = {lds("640xi64")}
    func.func @f(%v: i64) -> i64 attributes {{{launched()}}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c10 = arith.constant 10 : index
      %zero = arith.constant 0 : i64
      %x = gpu.thread_id x upper_bound 64
      %a = memref.alloc() : !tile // here
      scf.for %i = %c0 to %c10 step %c1 {{
        %o = affine.apply affine_map<(d0)[s0] -> (s0 * 10 + d0)>(%i)[%x]
        memref.store %v, %a[%o] : !tile
      }}
      gpu.barrier
      %sum = scf.for %i = %c0 to %c10 step %c1 iter_args(%s = %zero) -> (i64) {{
        %o = affine.apply affine_map<(d0)[s0] -> (s0 * 10 + d0)>(%i)[%x]
        %z = memref.load %a[%o] : !tile
        %n = arith.addi %s, %z : i64
        scf.yield %n : i64
      }}
      return %sum : i64
    }}"""
    said = (
        "allocation of memref<640xi64> not swizzled: the best swizzle would make its accesses cost "
        "more, once the backend has unrolled and joined them"
    )
    assert_kept(text, SwizzleLdsAllocs(), said=said, target="gfx942")


# Each lane fetches 16 bytes, and reads 16 bytes of a row.
GATHER = f"""
!tile = {lds("8x32xf32")}
func.func @f(%from: memref<65536xf32>, %flags: memref<64xi1>, %table: memref<64xindex>,
    %base: index, %any: i1) -> vector<4xf32> attributes {{{launched()}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : !tile // here
  %place = affine.apply affine_map<(t) -> (t * 4)>(%x)
  amdgpu.gather_to_lds %from[%place], %a[%c0, %c0] : vector<4xf32>, memref<65536xf32>, !tile
  %row = affine.apply affine_map<(t) -> (t mod 8)>(%x)
  %column = affine.apply affine_map<(t) -> (t floordiv 8 * 4)>(%x)
  %r = vector.load %a[%row, %column] : !tile, vector<4xf32>
  return %r : vector<4xf32>
}}
"""
_PLACE, _GATHER = GATHER.splitlines()[-7:-5]


def _inside(head: str, *, tail: str = "}") -> Edit:
    return _GATHER, f"{head}\n{_GATHER}\n{tail}"


def _loop(head: str, place: str) -> tuple[Edit, ...]:
    """Returns edits that put the gather into a loop, and let it fetch at a place of that."""
    line = f"%place = affine.apply affine_map<(t) -> ({place})>(%i)"
    return (_PLACE, ""), _inside(f"{head} {{\n{line}")


GATHERS_KEPT: Kept = {
    # Half of the wave does not run it, so that nobody fetches for the other half.
    "half a wave": (
        "some lanes of a wave take no part in it",
        _inside("%on = arith.cmpi ult, %x, %c32 : index\nscf.if %on {"),
    ),
    # Whether lanes run it together is not known.
    "unknown condition": (
        "the lanes of a wave may differ in whether an scf.if runs it",
        _inside("%on = memref.load %flags[%x] : memref<64xi1>\nscf.if %on {"),
    ),
    # Where a lane fetches comes from memory.
    "loaded index": (
        "its source depends on the result of memref.load",
        (_PLACE, "%place = memref.load %table[%x] : memref<64xindex>"),
    ),
    # Where a lane fetches is carried around a loop.
    "carried index": (
        "its source depends on a value carried around an scf.for",
        _inside(
            "scf.for %i = %c0 to %c4 step %c1 iter_args(%at = %place) -> (index) {",
            tail="%next = arith.addi %at, %c4 : index\nscf.yield %next : index\n}",
        ),
        ("%from[%place]", "%from[%at]"),
    ),
    # 3 elements are no power of two, and no swizzle moves them together.
    "three elements": (
        "its lanes store 3 elements, which are no power of two",
        ("(t * 4)", "(t * 3)"),
        (": vector<4xf32>, memref", ": vector<3xf32>, memref"),
    ),
    # Who calls the function may give each lane a number of its own.
    "argument": (
        "its source depends on an argument of the function",
        (_GATHER, f"%sum = arith.addi %base, %place : index\n{_GATHER}"),
        ("%from[%place]", "%from[%sum]"),
    ),
    # Which lanes come to a block is not known.
    "another block": (
        "it is in unstructured control flow",
        _inside("cf.cond_br %any, ^there, ^on\n^there:", tail="cf.br ^on\n^on:"),
    ),
    # Half of the lanes run the loop once more than the others.
    "other iterations": (
        "some lanes of a wave take no part in it",
        *_loop("scf.for %i = %x to %c96 step %c64", "t mod 64 * 4"),
    ),
    # Each lane goes on by steps of its own, so that the lanes differ in how far ahead they are.
    "other steps": (
        "its source depends on a loop whose bounds differ between lanes",
        *_loop(
            "%step = arith.addi %x, %c1 : index\n"
            "%end = affine.apply affine_map<(t) -> (t + (t + 1) * 3)>(%x)\n"
            "scf.for %i = %x to %end step %step",
            "t * 4",
        ),
    ),
}


def test_a_gather_is_swizzled() -> None:
    parsed = parse(GATHER)
    run(parsed, SwizzleLdsAllocs(), target="gfx950")
    assert parsed.operations("iree_codegen.swizzle_hint")


@each_kept(GATHERS_KEPT)
def test_gathers_whose_lanes_cannot_fetch_for_each_other(reason: str, edits: list[Edit]) -> None:
    said = (
        f"allocation of memref<8x32xf32> not swizzled: amdgpu.gather_to_lds stores to it: {reason}"
    )
    assert_kept(edited(GATHER, *edits), SwizzleLdsAllocs(), said=said, target="gfx950")


def test_a_hint_that_is_dropped_does_not_count() -> None:
    """Nobody has made the allocation flat: the code has the conflicts of the plain layout."""
    parsed = parse(COLUMN)
    ran = run(parsed, SwizzleLdsAllocs(), ResolveSwizzleHints(), target="gfx942")
    hint, drop = ran.decisions
    assert (hint.action, drop.action) == (Action.HINT, Action.DROP)
    assert hint.conflict_cycles_before == drop.conflict_cycles_after != 0
    assert drop.lds_bytes_after == 64 * 64 * 4
    assert ran.context.log.conflict_cycles_left() == drop.conflict_cycles_after


def test_what_could_not_be_resolved_keeps_its_layout() -> None:
    parsed = parse(COLUMN)
    context = PassContext(test_target="gfx942")
    (allocation,) = parsed.operations("memref.alloc")
    context.unresolved[str(allocation.location)] = UnresolvedHint("why", is_ours=True)
    SwizzleLdsAllocs().run(parsed.function, context)
    (kept,) = context.log
    assert kept.action is Action.KEEP
    assert kept.reason == "its swizzle hints could not be resolved: why"
    assert kept.conflict_cycles_after
    PadUnhintedAllocs(unresolved_only=True).run(parsed.function, context)
    assert [each.action for each in context.log] == [Action.KEEP, Action.PAD]
