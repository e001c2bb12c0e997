# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a memref.alloc to its accesses: views, footprints, surroundings, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bank_model.layouts import (
    PaddedLayout,
    PlainLayout,
    SwizzledLayout,
    layout_conflicts,
)
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.swizzles import XorShuffle
from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.dialect_utils.gpu_target import Launch
from bankwise.dialect_utils.memory.lane_accesses import Overrun
from bankwise.dialect_utils.memory.lds_accesses import AllocationAccesses, ordinary_accesses

from ...functions import LDS, lds, parse, traced

LAUNCH = Launch((8, 1, 1), 4)
"""Two waves of four lanes: lane l of wave w is thread 4 * w + l."""

TILE = lds("8x16xf16")


def function_text(body: str, tile: str = TILE) -> str:
    return f"""
      func.func @f(%arg: index, %condition: i1, %mask: vector<4xi1>, %from: memref<64xf16>) {{
        %x = gpu.thread_id x
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c8 = arith.constant 8 : index
        %pad = arith.constant 0.0 : f16
        %m = memref.alloc() : {tile}
        {body}
        return
      }}"""


def trace(body: str, tile: str = TILE, launch: Launch = LAUNCH) -> AllocationAccesses:
    (found,) = traced(parse(function_text(body, tile)), launch)
    return found


def firsts(found: AllocationAccesses) -> list[list[int]]:
    """Returns elements of all lanes of both waves, one list per access."""
    assert not found.unknown
    return [access.elements.ravel().tolist() for access in found.accesses]


def transfer(indices: str, vector: str, permutation: str = "", tile: str = TILE) -> str:
    """Returns a read in bounds; its map is the identity where no permutation is given."""
    bounds = ", ".join(["true"] * (vector.count("x") + 1))
    how = f", permutation_map = affine_map<(i, j) -> ({permutation})>" if permutation else ""
    return (
        f"%r = vector.transfer_read %m[{indices}], %pad {{in_bounds = [{bounds}]{how}}} "
        f": {tile}, vector<{vector}xf16>"
    )


LANES = range(8)


def test_row_of_a_transfer_is_one_access() -> None:
    found = trace(transfer("%x, %c8", "1x4"))
    assert firsts(found) == [[16 * t + 8 for t in LANES]]
    (access,) = found.accesses
    assert (access.kind, access.count, access.weight) == (AccessKind.READ, 4, 1)
    assert access.elements.shape == (2, 4)
    assert access.active is None
    assert found.tile.shape == (8, 16)


COLUMN_TILE = lds("64x1xf16")
TRANSFERS = {
    "a column": (
        transfer("%c2, %x", "3x1"),
        TILE,
        [[16 * row + t for t in LANES] for row in (2, 3, 4)],
        1,
    ),
    "rows that become columns": (
        transfer("%c0, %x", "4x2", "j, i"),
        TILE,
        [[*LANES], [*range(16, 24)]],
        4,
    ),
    "one dimension": (transfer("%c0, %x", "2", "i"), TILE, [[*LANES], [*range(16, 24)]], 1),
    "a broadcast, which reads once": (
        transfer("%x, %c0", "5x4", "0, j"),
        TILE,
        [[16 * t for t in LANES]],
        4,
    ),
    "rows of one element, which are not consecutive": (
        transfer("%x, %c0", "4x1", tile=COLUMN_TILE),
        COLUMN_TILE,
        [[t + row for t in LANES] for row in range(4)],
        1,
    ),
}


@pytest.mark.parametrize(("body", "tile", "expected", "count"), TRANSFERS.values(), ids=TRANSFERS)
def test_a_transfer_is_one_access_per_row_of_the_memref(
    body: str, tile: str, expected: list[list[int]], count: int
) -> None:
    found = trace(body, tile)
    assert firsts(found) == expected
    assert {access.count for access in found.accesses} == {count}


@pytest.mark.parametrize(
    ("body", "kind", "count"),
    [
        (f"%v = vector.load %m[%x, %c2] : {TILE}, vector<4xf16>", AccessKind.READ, 4),
        (f"%v = memref.load %m[%x, %c2] : {TILE}", AccessKind.READ, 1),
        (
            f"%v = arith.constant dense<0.0> : vector<4xf16> "
            f"vector.store %v, %m[%x, %c2] : {TILE}, vector<4xf16>",
            AccessKind.WRITE,
            4,
        ),
        (f"memref.store %pad, %m[%x, %c2] : {TILE}", AccessKind.WRITE, 1),
        (
            "%v = arith.constant dense<0.0> : vector<1x4xf16> "
            "vector.transfer_write %v, %m[%x, %c2] {in_bounds = [true, true]} "
            f": vector<1x4xf16>, {TILE}",
            AccessKind.WRITE,
            4,
        ),
    ],
)
def test_loads_and_stores(body: str, kind: AccessKind, count: int) -> None:
    found = trace(body)
    assert firsts(found) == [[16 * t + 2 for t in range(8)]]
    assert (found.accesses[0].kind, found.accesses[0].count) == (kind, count)
    assert found.assumptions == ()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (
            f"%v = vector.maskedload %m[%x, %c0], %mask, %p : {TILE}, vector<4xi1>, "
            "vector<4xf16> into vector<4xf16>",
            AccessKind.READ,
        ),
        (
            f"vector.maskedstore %m[%x, %c0], %mask, %p : {TILE}, vector<4xi1>, vector<4xf16>",
            AccessKind.WRITE,
        ),
        (
            "vector.transfer_write %p, %m[%x, %c0], %mask {in_bounds = [true]} "
            f": vector<4xf16>, {TILE}",
            AccessKind.WRITE,
        ),
    ],
)
def test_masked_accesses_count_in_full(body: str, kind: AccessKind) -> None:
    found = trace("%p = arith.constant dense<0.0> : vector<4xf16> " + body)
    assert firsts(found) == [[16 * t for t in range(8)]]
    assert (found.accesses[0].kind, found.accesses[0].count) == (kind, 4)
    assert len(found.assumptions) == 1
    assert "every element of a" in found.assumptions[0]


def masked(mask: str, indices: str = "%c0, %x", vector: str = "1x1", bounds: str = "true, true"):
    """Returns a read behind what makes its mask, or one without a mask."""
    made = f"%k = {mask} : vector<{vector}xi1>" if mask else ""
    return (
        f"%limit = arith.subi %c2, %x : index\n{made}\n"
        f"%r = vector.transfer_read %m[{indices}], %pad{', %k' * bool(mask)} "
        f"{{in_bounds = [{bounds}]}} : {lds('4x5xf16')}, vector<{vector}xf16>"
    )


def lanes(found: AllocationAccesses) -> list[list[int]]:
    """Returns the elements of the lanes that take part, one list per access."""
    assert not found.unknown
    on = [
        np.ones_like(access.elements, bool) if access.active is None else access.active
        for access in found.accesses
    ]
    return [each.elements[mask].tolist() for each, mask in zip(found.accesses, on, strict=True)]


MASKED = {
    # Lanes 2 and up have no element, and lane 5 and up would leave the row.
    "numbers of elements": (masked("vector.create_mask %c1, %limit"), [[0, 1]]),
    "more than there are": (masked("vector.create_mask %c8, %limit"), [[0, 1]]),
    "no elements": (masked("vector.create_mask %c0, %c1"), []),
    "a constant": (
        masked("vector.constant_mask [2, 1]", "%c0, %c1", "3x1"),
        [[1] * 8, [6] * 8],
    ),
    "all elements": (
        masked("arith.constant dense<true>", "%c0, %c2"),
        [[2] * 8],
    ),
    # From row 2 on, lanes 0 and 1 read two rows, and one; all others none.
    "some rows of a vector": (
        masked("vector.create_mask %limit, %c1", "%c2, %x", "2x1"),
        [[10, 11], [15]],
    ),
    "the bounds": (masked("", bounds="true, false"), [[*range(5)]]),
    "bounds of some rows": (
        masked("", "%c2, %c1", "3x1", "false, true"),
        [[11] * 8, [16] * 8],
    ),
    "the bounds and a mask": (
        masked("vector.create_mask %c1, %x", bounds="true, false"),
        [[1, 2, 3, 4]],
    ),
    "the mask of a region": (
        "%limit = arith.subi %c2, %x : index\n"
        "%k = vector.create_mask %c1, %limit : vector<1x1xi1>\n"
        "%r = vector.mask %k { vector.transfer_read %m[%c0, %x], %pad {in_bounds = [true, true]} "
        f": {lds('4x5xf16')}, vector<1x1xf16> }} : vector<1x1xi1> -> vector<1x1xf16>",
        [[0, 1]],
    ),
    "a masked load": (
        "%limit = arith.subi %c2, %x : index\n"
        "%k = vector.create_mask %limit : vector<1xi1>\n"
        "%p = arith.constant dense<0.0> : vector<1xf16>\n"
        f"%r = vector.maskedload %m[%c0, %x], %k, %p : {lds('4x5xf16')}, vector<1xi1>, "
        "vector<1xf16> into vector<1xf16>",
        [[0, 1]],
    ),
}


@pytest.mark.parametrize(("body", "expected"), MASKED.values(), ids=MASKED)
def test_lanes_that_are_masked_off_access_nothing(body: str, expected: list[list[int]]) -> None:
    found = trace(body, lds("4x5xf16"))
    assert lanes(found) == expected
    assert found.assumptions == ()


def test_a_mask_of_rows_that_become_columns_runs_along_those_of_the_memref() -> None:
    how = "permutation_map = affine_map<(i, j) -> (j, i)>, in_bounds = [true, true]"
    body = (
        "%k = vector.create_mask %c2, %c1 : vector<4x1xi1>\n"
        f"%r = vector.transfer_read %m[%c0, %c1], %pad, %k {{{how}}} "
        f": {lds('4x5xf16')}, vector<1x4xf16>"
    )
    assert lanes(trace(body, lds("4x5xf16"))) == [[1] * 8, [6] * 8]


WHY_UNMASKED = {
    "a mask that is not known": (
        masked("vector.create_mask %c1, %arg"),
        "which lanes its mask keeps from there is not known (a mask that depends on the block ",
    ),
    "a part of a vector": (
        masked("vector.create_mask %c1, %limit", "%c0, %x", "1x2"),
        "",
    ),
    "a part of a vector that would leave the row": (
        masked("", "%c0, %x", "1x2", "true, false"),
        "a lane accesses a part of its vector; let it be one element long",
    ),
}


@pytest.mark.parametrize(("body", "why"), WHY_UNMASKED.values(), ids=WHY_UNMASKED)
def test_masks_that_do_not_tell_what_is_accessed(body: str, why: str) -> None:
    found = trace(body, lds("4x5xf16"))
    if why:
        (unknown,) = found.unknown
        assert not isinstance(unknown, Overrun)
        assert f"index outside the view's bounds: {why}" in unknown.reason
    else:
        # Lane 1 has one element of its two.
        assert lanes(found) == [[0, 1]]
        assert found.assumptions == ("every element of a masked vector.transfer_read is accessed",)


# Views.


STEPPED = lds("4xf16, strided<[2], offset: ?>")
OUTER = lds("4x8xf16, strided<[16, 1], offset: 40>")
INNER = lds("2x2xf16, strided<[32, 1], offset: ?>")
EXPANDED, COLLAPSED = lds("8x4x4xf16"), lds("32x4xf16")
DYNAMIC = lds("?x?xf16, strided<[?, ?], offset: ?>")
LOWER_HALF = lds("4x16xf16, strided<[16, 1], offset: 64>")
REINTERPRETED = lds("4x8xf16, strided<[32, 1], offset: 16>")
FLAT = lds("128xf16")
VIEWS = {
    "a subview with steps and a dropped dimension": (
        f"""%s = memref.subview %m[%c2, 4] [1, 4] [1, 2] : {TILE} to {STEPPED}
            %i = arith.remui %x, %c2 : index
            %v = memref.load %s[%i] : {STEPPED}""",
        TILE,
        [36, 38] * 4,
    ),
    # Element (2 + i + 2 * 1, 8 + 3) of the allocation.
    "a subview of a subview at the lane": (
        f"""%s = memref.subview %m[2, 8] [4, 8] [1, 1] : {TILE} to {OUTER}
            %i = arith.remui %x, %c2 : index
            %t = memref.subview %s[%i, 3] [2, 2] [2, 1] : {OUTER} to {INNER}
            %v = memref.load %t[%c1, %c0] : {INNER}""",
        TILE,
        [16 * (4 + i) + 11 for i in (0, 1) * 4],
    ),
    "an expanded and a collapsed shape": (
        f"""%e = memref.expand_shape %m [[0], [1, 2]] output_shape [8, 4, 4]
              : {TILE} into {EXPANDED}
            %c = memref.collapse_shape %e [[0, 1], [2]] : {EXPANDED} into {COLLAPSED}
            %v = vector.load %c[%x, %c0] : {COLLAPSED}, vector<4xf16>""",
        TILE,
        [4 * t for t in LANES],
    ),
    "a cast, which keeps what is known": (
        f"""%d = memref.cast %m : {TILE} to {DYNAMIC}
            %v = memref.load %d[%x, %c1] : {DYNAMIC}""",
        TILE,
        [16 * t + 1 for t in LANES],
    ),
    "a reinterpret_cast, which counts from the start of the allocation": (
        f"""%s = memref.subview %m[4, 0] [4, 16] [1, 1] : {TILE} to {LOWER_HALF}
            %r = memref.reinterpret_cast %s to offset: [16], sizes: [4, 8], strides: [32, 1]
              : {LOWER_HALF} to {REINTERPRETED}
            %v = memref.load %r[%c1, %c0] : {REINTERPRETED}""",
        TILE,
        [16 + 32] * 8,
    ),
    "a hint, which keeps logical elements": (
        f"""%h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<16, 4>] : {FLAT}
            %e = memref.expand_shape %h [[0, 1]] output_shape [8, 16] : {FLAT} into {TILE}
            %v = memref.load %e[%x, %c1] : {TILE}""",
        FLAT,
        [16 * t + 1 for t in LANES],
    ),
}


@pytest.mark.parametrize(("body", "tile", "expected"), VIEWS.values(), ids=VIEWS)
def test_accesses_are_followed_through_views(body: str, tile: str, expected: list[int]) -> None:
    assert firsts(trace(body, tile)) == [expected]


def test_dealloc_is_no_access() -> None:
    found = trace(f"memref.dealloc %m : {TILE}")
    assert found.accesses == ()
    assert found.unknown == ()


# Surroundings.


def load(row: str = "%x", column: str = "%c0") -> str:
    return f"%v = memref.load %m[{row}, {column}] : {TILE}"


def test_loop_the_access_ignores_multiplies_its_weight() -> None:
    body = f"scf.for %i = %c0 to %c8 step %c2 {{ scf.for %j = %c0 to %c2 step %c1 {{ {load()} }} }}"
    (access,) = trace(body).accesses
    assert access.weight == 8
    assert access.elements.shape == (2, 4)


def test_loop_the_access_depends_on_is_enumerated() -> None:
    body = (
        f"scf.for %i = %c0 to %c8 step %c2 {{ scf.for %j = %c0 to %c2 step %c1 {{"
        f" {load(column='%i')} }} }}"
    )
    (access,) = trace(body).accesses
    assert access.weight == 2
    assert access.elements[:, 1].tolist() == [
        16 + i if w == 0 else 80 + i for i in (0, 2, 4, 6) for w in (0, 1)
    ]


def test_double_buffering_is_counted_as_two_sets_of_addresses() -> None:
    body = (
        "%many = arith.constant 1024 : index\n"
        "scf.for %i = %c0 to %many step %c1 {"
        " %b = affine.apply affine_map<(d0) -> (d0 mod 2)>(%i)"
        f" {load(row='%x', column='%b')} }}"
    )
    (access,) = trace(body).accesses
    assert access.weight == 512
    assert sorted(access.elements[:, 0].tolist()) == [0, 1, 64, 65]


def test_loop_of_unknown_length_counts_once() -> None:
    found = trace(f"scf.for %i = %c0 to %arg step %c2 {{ {load()} }}")
    assert found.accesses[0].weight == 1
    assert found.assumptions == (
        "a loop of unknown length counts once (block argument of func.func)",
    )


def test_loop_that_never_runs_has_no_access() -> None:
    assert trace(f"scf.for %i = %c8 to %c0 step %c1 {{ {load()} }}").accesses == ()


def test_loop_over_the_lanes_masks_those_that_are_done() -> None:
    # Lane t runs for t, t + 2, ... below 8.
    (access,) = trace(f"scf.for %i = %x to %c8 step %c2 {{ {load()} }}").accesses
    assert access.active is not None
    assert access.active.sum() == 4 + 4 + 3 + 3 + 2 + 2 + 1 + 1


def test_condition_masks_lanes_and_waves() -> None:
    body = "%b = arith.cmpi ult, %x, %c2 : index\n"
    (access,) = trace(body + f"scf.if %b {{ {load()} }}").accesses
    assert access.active is not None
    assert access.active.tolist() == [[True, True, False, False]]
    (access,) = trace(body + f"scf.if %b {{ }} else {{ {load()} }}").accesses
    assert access.active is not None
    assert access.active.tolist() == [[False, False, True, True], [True] * 4]


def test_condition_that_never_holds() -> None:
    body = f"%b = arith.cmpi ult, %c2, %c1 : index\nscf.if %b {{ {load()} }}"
    assert trace(body).accesses == ()


def test_unknown_condition_is_assumed_to_hold() -> None:
    found = trace(f"scf.if %condition {{ {load()} }}")
    assert found.accesses[0].active is None
    assert len(found.assumptions) == 1


def test_wave_that_is_not_full() -> None:
    (access,) = trace(load(), launch=Launch((6,), 4)).accesses
    assert access.active is not None
    assert access.active[1].tolist() == [True, True, False, False]


def test_inactive_lanes_may_be_out_of_bounds() -> None:
    # Thread 8 and later would read row 8 and later.
    body = f"%b = arith.cmpi ult, %x, %c8 : index\nscf.if %b {{ {load()} }}"
    found = trace(body, launch=Launch((16,), 4))
    assert found.unknown == ()
    assert [a.elements.shape for a in found.accesses] == [(2, 4)]


def test_workgroup_loop_runs_once() -> None:
    body = (
        f"scf.forall (%i) in (32) {{ {load()} }} {{mapping = [#iree_codegen.workgroup_mapping<x>]}}"
    )
    assert trace(body).accesses[0].weight == 1


# Refusals.


OVERRUNS = {
    "memref.load: index outside the view's bounds",
    "vector.load: index outside the view's bounds",
    "vector.load: vector that runs over the end of a row",
}
"""Refusals of accesses that are known to leave their row, or the allocation."""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (load(row="%arg"), "memref.load: index depends on the block argument of func.func"),
        (
            f"scf.forall (%i) in (32) {{ {load()} }} {{mapping = [#gpu.thread<x>]}}",
            "memref.load: inside scf.forall",
        ),
        (
            f"scf.while : () -> () {{ scf.condition(%condition) }} do {{ {load()} scf.yield }}",
            "memref.load: inside scf.while",
        ),
        (
            f"%a = memref.atomic_rmw addf %pad, %m[%x, %c0] : (f16, {TILE}) -> f16",
            "used by memref.atomic_rmw",
        ),
        (
            f"%e = memref.extract_aligned_pointer_as_index %m : {TILE} -> index",
            "used by memref.extract_aligned_pointer_as_index",
        ),
        (
            f"amdgpu.gather_to_lds %from[%c0], %m[%x, %c0] : f16, memref<64xf16>, {TILE}",
            "amdgpu.gather_to_lds: destination that differs between the lanes of a wave",
        ),
        (
            f"%s = memref.subview %m[0, 0] [%c2, 16] [1, 1] : {TILE} "
            f"to memref<?x16xf16, strided<[16, 1]>, {LDS}>",
            "memref.subview: view with dynamic sizes or strides",
        ),
        (
            f"%s = memref.subview %m[%arg, 0] [1, 16] [1, 1] : {TILE} "
            f"to memref<1x16xf16, strided<[16, 1], offset: ?>, {LDS}>\n"
            f"%v = memref.load %s[%c0, %c0] : memref<1x16xf16, strided<[16, 1], offset: ?>, {LDS}>",
            "memref.load: offset depends on the block argument of func.func",
        ),
        (load(row="%c8"), "memref.load: index outside the view's bounds"),
        (
            f"%v = vector.load %m[%x, %k] : {TILE}, vector<8xf16>",
            "vector.load: index outside the view's bounds",
        ),
        (
            f"%v = vector.transfer_read %m[%x, %k], %pad : {TILE}, vector<8xf16>",
            "vector.transfer_read: index outside the view's bounds: a lane accesses a part of its "
            "vector; let it be one element long",
        ),
        (
            f"%f = memref.collapse_shape %m [[0, 1]] : {TILE} into memref<128xf16, {LDS}>\n"
            f"%v = vector.load %f[%k] : memref<128xf16, {LDS}>, vector<8xf16>",
            "vector.load: vector that runs over the end of a row",
        ),
        (
            f"%v = vector.load %m[%x, %c0] : {TILE}, vector<[4]xf16>",
            "scalable vector vector<[4]xf16>",
        ),
        (f"func.call @g(%m) : ({TILE}) -> ()", "used by func.call"),
    ],
)
def test_refused_uses(body: str, reason: str) -> None:
    text = function_text("%k = arith.constant 12 : index\n" + body)
    (found,) = traced(parse(f"{text} func.func private @g({TILE})"), LAUNCH)
    (unknown,) = found.unknown
    assert unknown.reason == reason
    assert isinstance(unknown, Overrun) == (reason in OVERRUNS)
    assert found.accesses == ()


def test_known_accesses_are_kept_beside_unknown_ones() -> None:
    found = trace(f"{load()}\n%w = memref.load %m[%arg, %c0] : {TILE}")
    assert len(found.accesses) == 1
    assert len(found.unknown) == 1


@pytest.mark.parametrize(
    ("tile", "reason"),
    [
        (lds("f16"), "it has rank 0"),
        (lds("4x8xi4"), "its elements of type i4 do not fill bytes"),
        (
            lds("4x8xvector<2xf16>"),
            "its elements of type vector<2xf16> do not fill bytes",
        ),
        (
            lds("4x8xf16, strided<[16, 1]>"),
            "its layout strided<[16, 1]> is not row-major",
        ),
    ],
)
def test_allocations_that_are_no_tiles(tile: str, reason: str) -> None:
    with pytest.raises(Refusal) as refused:
        trace("", tile)
    assert refused.value.reason == reason


# Real code: the accesses to two tiles of IREE's f16 and f32 attention for gfx942, cut out of the
# IR before iree-codegen-gpu-reduce-bank-conflicts. 256 threads, 64 lanes.

F16_VALUE_TILE = lds("64x64xf16")
F16_EXCERPT = f"""
  %w:2 = affine.delinearize_index %x into (32, 8) : index, index
  %column = affine.linearize_index disjoint [%w#1, %c0] by (8, 8) : index
  %one = arith.constant dense<0.0> : vector<1x8xf16>
  vector.transfer_write %one, %m[%w#0, %column] {{in_bounds = [true, true]}}
    : vector<1x8xf16>, {F16_VALUE_TILE}
  %r:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %k = affine.linearize_index disjoint [%r#1, %c0] by (4, 4) : index
  %v = vector.transfer_read %m[%k, %r#2], %pad {{in_bounds = [true, true]}}
    : {F16_VALUE_TILE}, vector<4x1xf16>
"""

F32_KEY_TILE = lds("16x128xf32")
F32_EXCERPT = f"""
  %zero = arith.constant 0.0 : f32
  %w:2 = affine.delinearize_index %x into (8, 32) : index, index
  %column = affine.linearize_index disjoint [%w#1, %c0] by (32, 4) : index
  %one = arith.constant dense<0.0> : vector<1x4xf32>
  vector.transfer_write %one, %m[%w#0, %column] {{in_bounds = [true, true]}}
    : vector<1x4xf32>, {F32_KEY_TILE}
  %r:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %v = vector.transfer_read %m[%r#2, %r#1], %zero {{in_bounds = [true, true]}}
    : {F32_KEY_TILE}, vector<1x1xf32>
"""


def conflicts(found: AllocationAccesses, padding: int) -> list[int]:
    layout = PaddedLayout(padding) if padding else PlainLayout()
    return [
        layout_conflicts(lds_of("gfx942"), found.tile, layout, [access])
        for access in found.accesses
    ]


def test_f16_attention_value_tile() -> None:
    found = trace(F16_EXCERPT, F16_VALUE_TILE, Launch((256, 1, 1), 64))
    write, *reads = found.accesses
    assert (write.kind, write.count, len(reads)) == (AccessKind.WRITE, 8, 4)
    assert write.elements[1].tolist() == [64 * (8 + lane // 8) + lane % 8 * 8 for lane in range(64)]
    for row, read in enumerate(reads):
        lanes = np.arange(64)
        assert (read.elements == 64 * (4 * (lanes // 16) + row) + lanes % 16).all()
    # Plain: 8 lanes write one row, all banks once. A phase of 32 lanes reads two rows, 512 bytes
    # apart: the same 8 banks twice, so 1 conflict x 2 phases x 4 waves.
    assert conflicts(found, 0) == [0, 8, 8, 8, 8]
    # 8 bytes: the rows 4 apart move by 8 banks. Writes become two aligned b64 halves.
    assert conflicts(found, 4) == [0, 0, 0, 0, 0]


def test_f32_attention_key_tile() -> None:
    found = trace(F32_EXCERPT, F32_KEY_TILE, Launch((256, 1, 1), 64))
    # Plain: 16 rows of 512 bytes on one bank, in 2 phases of 4 waves.
    assert conflicts(found, 0) == [0, 15 * 2 * 4]
    # 8 bytes: row r starts 2 * r banks on, and the reads are free; the writes pay. They are two
    # b64 halves of 16 bytes apart: 16 lanes cover 8 even pairs of banks twice, 4 phases each.
    assert conflicts(found, 2) == [4 * 4 * 2, 0]


def test_transposing_load_reads_a_vector_at_each_lane() -> None:
    found = trace(f"%v = amdgpu.transpose_load %m[%x, %c8] : {TILE} -> vector<4xf16>")
    assert firsts(found) == [[16 * t + 8 for t in range(8)]]
    (access,) = found.accesses
    assert (access.kind, access.count) == (AccessKind.READ, 4)
    assert access.instruction == "ds_read_b64_tr_b16"


def test_a_transposing_load_of_gfx1250_has_its_row() -> None:
    found = trace(f"%v = amdgpu.transpose_load %m[%x, %c8] : {TILE} -> vector<8xf16>")
    (access,) = found.accesses
    ((instruction, _),) = lds_of("gfx1250").legalize(access.kind, 16, 16, access.instruction)
    assert instruction.name == "ds_load_tr16_b128"


WAVE_ROW = """
  %wave = gpu.subgroup_id : index
  amdgpu.gather_to_lds %from[%x], {buffer}[%wave, %c8] : vector<2xf16>, memref<64xf16>, {tile}
"""


def test_gather_to_lds_writes_lane_after_lane_behind_the_wave() -> None:
    found = trace(WAVE_ROW.format(buffer="%m", tile=TILE))
    assert firsts(found) == [[8, 10, 12, 14, 24, 26, 28, 30]]
    (access,) = found.accesses
    assert (access.kind, access.count) == (AccessKind.WRITE, 2)


def test_gather_to_lds_knows_nothing_of_swizzles() -> None:
    # Rows of 8 elements, groups of 2: group g of row r lies at g ^ r % 4.
    hint = f"%h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<8, 2>] : {TILE}"
    found = trace(hint + WAVE_ROW.format(buffer="%h", tile=TILE))
    # Physical elements 8 .. 15 are row 1, 24 .. 31 row 3.
    assert firsts(found) == [[10, 8, 14, 12, 30, 28, 26, 24]]
    (access,) = found.accesses
    layout = SwizzledLayout((XorShuffle(8, 2),))
    physical = layout.offsets(found.tile, access.elements).ravel().tolist()
    assert physical == [8, 10, 12, 14, 24, 26, 28, 30]


ROTATION = """
  %o = memref.alloc() : {tile}
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%p = %m, %q = %o) -> ({tile}, {tile}) {{
    %v = memref.load %p[%x, %c0] : {tile}
    scf.yield %q, %p : {tile}, {tile}
  }}
"""


def test_rotating_buffers_all_have_the_accesses() -> None:
    traces = traced(parse(function_text(ROTATION.format(tile=TILE))), LAUNCH)
    for found in traces:
        assert firsts(found) == [[16 * t for t in range(8)]]
        assert found.assumptions == (
            "whatever accesses one of several buffers that meet accesses each of them",
        )


def test_rotating_buffers_are_read_once_per_iteration() -> None:
    body = f"memref.store %v0, %m[%x, %c1] : {TILE}\n" + ROTATION.format(tile=TILE)
    parsed = parse(function_text(f"%v0 = arith.constant 0.0 : f16\n{body}"))
    traces = traced(parsed, LAUNCH)
    assert [len(found.accesses) for found in traces] == [2, 1]
    both = [each.access for each in ordinary_accesses(traces)]
    assert sorted((str(a.kind), a.weight) for a in both) == [
        (str(AccessKind.READ), 8),
        (str(AccessKind.WRITE), 1),
    ]


def test_a_buffer_that_a_loop_only_carries_meets_no_other() -> None:
    found = trace(
        f"%r = scf.for %i = %c0 to %c8 step %c1 iter_args(%p = %m) -> ({TILE}) {{"
        f"%v = memref.load %p[%x, %c0] : {TILE} scf.yield %p : {TILE} }}",
    )
    assert firsts(found) == [[16 * t for t in range(8)]]
    assert [access.weight for access in found.accesses] == [8]
    assert found.assumptions == ()


HALF = lds("4x16xf16, strided<[16, 1], offset: ?>")


def test_one_of_two_halves_is_both() -> None:
    body = "\n".join(
        f"%s{i} = memref.subview %m[{row}, 0] [4, 16] [1, 1] : {TILE} to {HALF}"
        for i, row in enumerate(("%c0", "%c4"))
    )
    found = trace(
        f"""%c4 = arith.constant 4 : index {body}
            %h = arith.select %condition, %s0, %s1 : {HALF}
            %v = memref.load %h[%c1, %x] : {HALF}""",
    )
    assert sorted(firsts(found)) == [[16 + t for t in range(8)], [80 + t for t in range(8)]]
    assert len(found.assumptions) == 1


def test_a_loop_that_carries_halves_uses_what_the_iteration_before_has_yielded() -> None:
    # Iteration i reads row i of the half that the iteration before has yielded: i % 2.
    found = trace(
        f"""%c4 = arith.constant 4 : index
            %s = memref.subview %m[%c0, 0] [4, 16] [1, 1] : {TILE} to {HALF}
            %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%h = %s) -> ({HALF}) {{
              %v = memref.load %h[%i, %x] : {HALF}
              %row = affine.apply affine_map<(d0) -> ((d0 + 1) mod 2 * 4)>(%i)
              %n = memref.subview %m[%row, 0] [4, 16] [1, 1] : {TILE} to {HALF}
              scf.yield %n : {HALF}
            }}
            %w = memref.load %r[%c1, %x] : {HALF}""",
    )
    assert not found.unknown
    lane_0 = {tuple(access.elements[::2, 0].tolist()) for access in found.accesses}
    initially, by_turns, behind = (0, 16, 32, 48), (0, 64 + 16, 32, 64 + 48), (16,)
    assert lane_0 == {initially, by_turns, behind}


def test_a_loop_that_carries_an_unknown_part_is_unknown() -> None:
    found = trace(
        f"""%s = memref.subview %m[%arg, 0] [4, 16] [1, 1] : {TILE} to {HALF}
            %h = arith.select %condition, %s, %s : {HALF}""",
    )
    assert {u.reason for u in found.unknown} == {
        "arith.select: it carries the allocation at offsets that are not known: "
        "they depend on the block argument of func.func"
    }
