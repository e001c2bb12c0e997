# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports on allocations: what stands, what is proposed, and what is not known."""

from __future__ import annotations

import pytest

from bankwise.bank_model.layouts import Layout, PaddedLayout, PlainLayout, SwizzledLayout
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.swizzles import XorShuffle
from bankwise.dialect_utils.diagnostics import DiagnosticSink, Refusal
from bankwise.dialect_utils.kernels import functions_in
from bankwise.dialect_utils.memory.allocation_layout import standing_layout
from bankwise.dialect_utils.memory.flow import lds_allocations
from bankwise.passes.base import PassContext
from bankwise.passes.swizzles.swizzle_lds_allocs import SwizzleLdsAllocs
from bankwise.report.conflict_report import AllocationReport, report_function

from ..functions import launched, parse
from .small_reports import TILE, WS, kernel, module_of, report_of

LOAD = f"%v = memref.load %m[%x, %c0] : {TILE}"
MASKED_LOAD = f"""%mask = arith.constant dense<true> : vector<1xi1>
%other = arith.constant dense<0.0> : vector<1xf32>
%v = vector.maskedload %m[%x, %c0], %mask, %other
    : {TILE}, vector<1xi1>, vector<1xf32> into vector<1xf32>"""
HINT = f"%h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<32, 1>] : {TILE}"


def text_of(body: str, tile: str = TILE, attributes: str = "") -> str:
    alloc = f"%m = memref.alloc() {attributes} : {tile}\n" if tile else ""
    return kernel(alloc + body, threads=128)


def allocation_of(body: str, tile: str = TILE, attributes: str = "") -> AllocationReport:
    (allocation,) = report_of(text_of(body, tile, attributes)).allocations
    return allocation


def cycles(allocation: AllocationReport) -> list[int | None]:
    """Returns before, padded, standing, chosen."""
    counts = (allocation.before, allocation.padded, allocation.standing, allocation.chosen)
    return [None if count is None else count.conflict_cycles for count in counts]


def test_undecided_ir_gets_a_proposal() -> None:
    found = allocation_of(LOAD)
    # Two waves of two phases, 32 words on one bank; 8 bytes behind a row leave pairs of lanes.
    assert cycles(found) == [124, 4, 124, 0]
    assert found.is_proposed
    assert found.has_conflicts
    assert found.decision.startswith("proposed: swizzled with xor_shuffle<")
    assert found.chosen is not None
    assert found.chosen.lds_bytes == found.lds_bytes == 8192


_JOINED = """%o = affine.apply affine_map<()[s0] -> (s0 * 10)>()[%t]
scf.for %i = %c0 to %c10 step %c1 {
  %e = arith.addi %o, %i : index
  %l = memref.load %m[%e] : TILE
}"""


@pytest.mark.parametrize(
    ("body", "tile", "proposed"),
    [
        (LOAD, TILE, True),
        # Counted one by one these loads have conflicts, but the backend joins pairs of them.
        (_JOINED, f"memref<1280xi64, {WS}>", False),
    ],
)
def test_a_proposal_is_what_a_compile_chooses(body: str, tile: str, proposed: bool) -> None:
    body = "%c10 = arith.constant 10 : index\n" + body.replace("TILE", tile)
    found = allocation_of(body, tile)
    module = module_of(text_of(body, tile))
    (function,) = functions_in(module.operation)
    pass_context = PassContext(DiagnosticSink(consume=lambda _: None), test_target="gfx942")
    SwizzleLdsAllocs().run(function, pass_context)
    (decision,) = pass_context.log
    assert found.is_proposed is proposed
    assert decision.detail == (str(found.proposal.layout) if found.proposal else "")


def test_a_swizzle_that_a_compile_refuses_is_not_proposed() -> None:
    found = allocation_of(MASKED_LOAD)
    assert found.before
    assert found.before.conflict_cycles == 124
    assert found.proposal
    assert isinstance(found.proposal.layout, PaddedLayout)
    assert "not swizzled: used by vector.maskedload" in found.decision


def test_rows_that_a_compile_refuses_to_pad_are_not_proposed() -> None:
    transposed = f"memref<32x64xf32, strided<[1, 32]>, {WS}>"
    found = allocation_of(
        f"""%p = memref.transpose %m (i, j) -> (j, i) : {TILE} to {transposed}
        %v = memref.load %p[%c0, %x] : {transposed}""",
    )
    assert found.before
    assert found.before.conflict_cycles == 124
    assert not found.is_proposed
    assert found.has_conflicts


_COPIED = """
!tile = memref<32x32xf16, #gpu.address_space<workgroup>>
func.func @f(%g: memref<32x32xf16>, %mask: vector<8xi1>, %zero: vector<8xf16>)
    attributes {INFO} {
  %t = gpu.thread_id x upper_bound 128
  %m = memref.alloc() : !tile
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %c = affine.apply affine_map<(t) -> (t mod 4 * 8)>(%t)
  %0 = nvgpu.device_async_copy %g[%r, %c], %m[%r, %c], 8 bypassL1 : memref<32x32xf16> to !tile
  %1 = nvgpu.device_async_create_group %0
  nvgpu.device_async_wait %1
  %row = affine.apply affine_map<(t) -> (t mod 16)>(%t)
  %column = affine.apply affine_map<(t) -> ((t mod 32) floordiv 16 * 8)>(%t)
  READ
  return
}
"""


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize(
    ("read", "layout", "lds_bytes"),
    [
        (
            "%v = nvgpu.ldmatrix %m[%row, %column] numTiles = 4 transpose = false"
            " : !tile -> vector<4x2xf16>",
            SwizzledLayout((XorShuffle(32, 8, 64, 1),)),
            2048,
        ),
        (
            "%v = vector.maskedload %m[%row, %column], %mask, %zero"
            " : !tile, vector<8xi1>, vector<8xf16> into vector<8xf16>",
            PaddedLayout(8),
            2560,
        ),
    ],
    ids=["ldmatrix", "a masked read"],
)
def test_rows_of_a_copy_stay_whole(read: str, layout: Layout, lds_bytes: int) -> None:
    """`cp.async` copies 16 bytes at multiples of 16 bytes: 8 bytes of padding are not proposed."""
    launch = launched("128, 1, 1", 32)
    parsed = parse(_COPIED.replace("INFO", launch).replace("READ", read))
    (found,) = report_function(parsed.function, "sm_80").allocations
    assert found.before and found.padded and found.proposal
    assert found.before.conflict_cycles == 48
    assert (found.proposal.layout, found.proposal.lds_bytes) == (layout, lds_bytes)
    assert found.proposal.conflict_cycles == 0
    assert found.padded.layout == PaddedLayout(8)
    for group in found.groups:
        if group.is_copy:
            assert found.instructions(group, found.padded.layout) == (("cp.async.cg.16", 1),)


def test_a_layout_remarks_on_the_other_reading_of_a_chip() -> None:
    (found,) = report_of(text_of(LOAD), "gfx950", decided=True).allocations
    (remark,) = found.remarks
    assert cycles(found)[2] == 124
    assert remark.endswith("not 32 banks in 2 phases; conflict cycles would be 62, not 124")
    (settled,) = report_of(text_of(LOAD), "gfx942", decided=True).allocations
    assert settled.remarks == ()


def test_a_decided_plain_layout_stays_chosen() -> None:
    (found,) = report_of(text_of(LOAD), decided=True).allocations
    assert cycles(found) == [124, 4, 124, 124]
    assert not found.is_proposed
    assert found.decision.startswith("plain; proposed: ")


@pytest.mark.parametrize(
    "attributes", ["", "{iree_codegen.swizzle = #iree_codegen.xor_shuffle<32, 1>}"]
)
def test_hints_and_stowed_hints_stand(attributes: str) -> None:
    body = LOAD if attributes else f"{HINT}\n{LOAD.replace('%m', '%h')}"
    found = allocation_of(body, attributes=attributes)
    assert cycles(found) == [124, 4, 0, 0]
    assert not found.has_conflicts
    assert found.standing is not None
    assert found.standing.layout == SwizzledLayout((XorShuffle(32, 1),))


def test_a_hint_that_is_no_permutation_counts_as_dropped() -> None:
    tile = f"memref<64x33xf32, {WS}>"
    body = f"""%h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<32, 1>] : {tile}
               %v = memref.load %h[%x, %c0] : {tile}
               %u = memref.load %h[%c0, %c0] : {tile}"""
    found = allocation_of(body.replace("<32, 1>", "<48, 1>"), tile=tile)
    assert found.standing is not None
    assert isinstance(found.standing.layout, PlainLayout)
    assert "cannot be resolved and count as dropped" in found.decision


def test_padding_is_measured_against_the_rows_without_it() -> None:
    wide, row = f"memref<64x33xf32, {WS}>", f"memref<64x32xf32, strided<[33, 1]>, {WS}>"
    body = f"""%r = memref.subview %m[0, 0] [64, 32] [1, 1] : {wide} to {row}
               %v = memref.load %r[%x, %c1] : {row}"""
    found = allocation_of(body, tile=wide)
    assert cycles(found) == [124, 4, 0, 0]
    assert found.tile is not None
    assert found.tile.shape == (64, 32)
    assert found.standing is not None
    assert found.standing.layout == PaddedLayout(1)
    assert found.lds_bytes == 64 * 33 * 4
    (group,) = found.groups
    assert str(group.pattern) == "row = lane, column = 1"


def test_stock_pads_nothing_beyond_the_limit() -> None:
    tile = f"memref<512x32xf32, {WS}>"
    found = allocation_of(LOAD.replace(TILE, tile), tile=tile)
    assert found.padded is found.before
    # The same bytes fit with padding where more LDS may be used.
    (roomy,) = report_of(text_of(LOAD.replace(TILE, tile), tile), "gfx950").allocations
    assert roomy.padded is not None
    assert roomy.padded.lds_bytes == 512 * 34 * 4


@pytest.mark.parametrize(
    ("old", "new", "padded"),
    [
        ("", "", 4),
        (
            "subgroup_size = 64",
            "subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<"
            "no_reduce_shared_memory_bank_conflicts = true>}",
            124,
        ),
        ("#iree_gpu.pipeline<VectorDistribute>", "#iree_codegen.no_pipeline", 124),
    ],
    ids=["with the pass", "without", "lowered"],
)
def test_stock_pads_by_a_pass(old: str, new: str, padded: int) -> None:
    """A compile pads in its place; without it a tile that no swizzle is for stays plain."""
    text = text_of(MASKED_LOAD)
    (found,) = report_of(text.replace(old, new, 1)).allocations
    assert cycles(found) == [124, padded, 124, 0 if padded == 4 else 124]


def test_stock_leaves_joined_rows_alone() -> None:
    flat = f"memref<2048xf32, {WS}>"
    body = f"""%r = memref.collapse_shape %m [[0, 1]] : {TILE} into {flat}
               %v = memref.load %r[%x] : {flat}"""
    found = allocation_of(body)
    assert found.padded is found.before


def test_accesses_of_one_pattern_are_a_group() -> None:
    body = f"""%c2 = arith.constant 2 : index
               %v = memref.load %m[%x, %c2] : {TILE}
               %u = memref.load %m[%x, %c1] : {TILE}
               memref.store %u, %m[%x, %c0] : {TILE}
               %w = memref.load %m[%c0, %c0] : {TILE}"""
    found = allocation_of(body)
    shown = {(g.kind, len(g.members), str(g.pattern), g.runs) for g in found.groups}
    assert shown == {
        (AccessKind.READ, 2, "row = lane, column = i + 1; i = 0..1", 2),
        (AccessKind.WRITE, 1, "row = lane, column = 0", 2),
        (AccessKind.READ, 1, "row = 0, column = 0", 2),
    }
    before = found.before
    assert before is not None
    assert sum(g.conflict_cycles(before) for g in found.groups) == before.conflict_cycles


def test_loops_multiply() -> None:
    body = f"""%c5 = arith.constant 5 : index
               scf.for %i = %c0 to %c5 step %c1 {{ {LOAD} }}"""
    found = allocation_of(body)
    (group,) = found.groups
    assert (group.weight, group.issues, group.runs) == (5, 2, 10)
    assert found.before is not None
    assert group.conflict_cycles(found.before) == found.before.conflict_cycles == 5 * 124


def test_the_worst_phase_is_drawn() -> None:
    found = allocation_of(LOAD)
    (group,) = found.groups
    assert found.before is not None
    assert found.chosen is not None
    before = found.folded_map(group, found.before.layout)
    after = found.folded_map(group, found.chosen.layout)
    assert before is not None
    assert after is not None
    assert (before.shown.cycles, before.shown.conflicting_banks) == (32, (0,))
    assert (after.shown.cycles, after.shown.conflicting_banks) == (1, ())


def test_neighbours_count_as_the_backend_joins_them() -> None:
    body = f"""%z = arith.constant dense<0.0> : vector<2xf32>
               %c2 = arith.constant 2 : index
               vector.store %z, %m[%x, %c0] : {TILE}, vector<2xf32>
               vector.store %z, %m[%x, %c2] : {TILE}, vector<2xf32>"""
    body += f"\n%read = memref.load %m[%c0, %c0] : {TILE}"
    group, _ = allocation_of(body).groups
    assert (group.elements_per_lane, len(group.members)) == (4, 1)
    apart = body.replace("constant 2 : index", "constant 4 : index")
    group, _ = allocation_of(apart).groups
    assert (group.elements_per_lane, len(group.members)) == (2, 2)
    hinted = body.replace("%m", "%h")
    hint = f"%h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<32, 4>] : {TILE}"
    group, _ = allocation_of(f"{hint}\n{hinted}").groups
    assert (group.elements_per_lane, len(group.members)) == (4, 1)


def test_neighbours_in_an_argument_count_one_by_one_with_a_remark() -> None:
    text = text_of(
        f"""%c2 = arith.constant 2 : index
            %v = vector.load %m[%x, %c0] : {TILE}, vector<2xf32>
            %u = vector.load %m[%x, %c2] : {TILE}, vector<2xf32>""",
        tile="",
    )
    named = text.replace("(%unknown", f"(%m: {TILE}, %unknown")
    (found,) = report_of(named).allocations
    assert len(found.groups[0].members) == 2
    assert "neighbouring reads count one by one" in found.remarks[0]


def test_a_function_without_a_target_is_listed_with_the_reason() -> None:
    report = report_of(text_of(LOAD), None)
    (found,) = report.allocations
    assert cycles(found) == [None] * 4
    assert found.lds_bytes == 8192
    assert found.decision == "not known: the function has no GPU target"
    assert report.has_conflicts


def test_what_cannot_be_followed_is_kept_and_nothing_is_proposed() -> None:
    body = f"""{LOAD}
               %o = memref.alloc() : {TILE}
               %p = memref.extract_aligned_pointer_as_index %m : {TILE} -> index
               %q = memref.extract_aligned_pointer_as_index %o : {TILE} -> index"""
    first, second = report_of(text_of(body)).allocations
    assert cycles(second) == [0, 0, 0, 0]
    assert second.has_conflicts
    assert [use.reason for use in first.unknown] == [
        "used by memref.extract_aligned_pointer_as_index"
    ]
    assert cycles(first) == [124, 4, 124, 124]
    assert first.has_conflicts


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{HINT}\n{LOAD}\n{LOAD.replace('%m', '%h').replace('%v', '%u')}", "different swizzles"),
        (
            f"""%r = memref.subview %m[16, 0] [32, 32] [1, 1]
                  : {TILE} to memref<32x32xf32, strided<[32, 1], offset: 512>, {WS}>
                %g = iree_codegen.swizzle_hint %r[#iree_codegen.xor_shuffle<32, 1>]
                  : memref<32x32xf32, strided<[32, 1], offset: 512>, {WS}>""",
            "on a part of the allocation",
        ),
    ],
)
def test_layouts_that_the_ir_does_not_say(body: str, message: str) -> None:
    module = module_of(text_of(body))
    (allocation,) = lds_allocations(module.body.operations[0].operation)
    with pytest.raises(Refusal, match=message):
        standing_layout(allocation.results[0])
