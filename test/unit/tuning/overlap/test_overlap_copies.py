# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every iteration reads the slot that its own copies went to, and none that is being filled.

Copies of which this is not known stay as they are.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iree.compiler import ir

from bankwise.dialect_utils.copy_slots import has_noted_slots, note_slots
from bankwise.dialect_utils.described_tiles import note_described_tile
from bankwise.dialect_utils.gpu_target import Launch
from bankwise.dialect_utils.index.lane_values import LaneEvaluator, LaneValues
from bankwise.dialect_utils.operations import defining_operation, operations_in, parents_of
from bankwise.tuning.overlap.overlap_copies import OverlapCopies, early_part

from ...functions import (
    Edit,
    Kept,
    Parsed,
    PassRun,
    assert_kept,
    each_kept,
    edited,
    launched,
    parse,
    run,
)

_TILE = 256

_SOURCE = """
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
!tile = memref<256xf16, #gpu.address_space<workgroup>>
func.func @f(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32>
    attributes {INFO} {
  %c0 = arith.constant 0 : index
  %lower = arith.constant LOWER : index
  %upper = arith.constant UPPER : index
  %step = arith.constant STEP : index
  %t = gpu.thread_id x
  %m = memref.alloc() : !tile
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0)
      flags(ReadOnly) : memref<4096x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<4096x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  %r = scf.for %i = %lower to %upper step %step iter_args(%x = %c) -> vector<2x2xf32> { // here
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<4096x256xf16>, vector<8xf16>
    vector.store %v, %m[%at] : !tile, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : !tile -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16]
        : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}
"""


_BARRIER = "    gpu.barrier memfence [#gpu.address_space<workgroup>]\n"
_ALLOC, _LOOP, _LAST = "  %m = memref.alloc() : !tile\n", "  %r = scf.for", "    scf.yield %y"
_STORE = "vector.store %v, %m[%at]"
_ARRANGED = (_ALLOC, "  %m = memref.alloc() {bankwise.arranged} : !tile\n")
_OTHER = "memref.alloc() : memref<8xf16>\n"


def _by_iteration(value: ir.Value) -> list[int]:
    """Returns what the first lane has in each iteration that makes a difference."""
    found = LaneEvaluator(Launch((32, 1, 1), 32)).evaluate(value)
    assert isinstance(found, LaneValues)
    return found.values.reshape(-1, found.values.shape[-1])[:, 0].tolist()


def _slots_by_iteration(slot: ir.Value, iterations: int) -> list[int]:
    """Returns which slot a view of the tiles is, iteration by iteration."""
    view = defining_operation(slot)
    assert view is not None
    assert view.name == "memref.subview"
    values = [value // _TILE for value in _by_iteration(view.operands[1])]
    return values if len(values) == iterations else values * iterations


def _left(wait: ir.Operation) -> int:
    """Returns how many groups may be on their way behind a wait."""
    return ir.IntegerAttr(wait.attributes["numGroups"]).value


def _loop(numbers: tuple[int, int, int]) -> str:
    """Returns a loop with these bounds and this step."""
    source = _SOURCE.replace("INFO", launched("32, 1, 1", 32))
    for name, number in zip(("LOWER", "UPPER", "STEP"), numbers, strict=True):
        source = source.replace(name, str(number))
    return source


def _overlapped(
    numbers: tuple[int, int, int], slots: int, chip: str, *edits: Edit, described: bool = False
) -> tuple[Parsed, PassRun]:
    """Runs the pass over a loop with these bounds and this step.

    Args:
        described: whether its operands are to be read by descriptors, in loops without branches.
    """
    parsed = parse(edited(_loop(numbers), *edits))
    if described:
        note_described_tile(parsed.function)
    return parsed, run(parsed, OverlapCopies(slots=slots), target=chip)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 9),
    st.integers(1, 70),
    st.integers(2, 9),
    st.integers(2, 5),
    st.booleans(),
    st.booleans(),
)
def test_each_iteration_reads_what_was_copied_for_it(
    lower: int, step: int, iterations: int, slots: int, one_block: bool, arranged: bool
) -> None:
    numbers = (lower, lower + step * (iterations - 1) + 1, step)
    edits = [_ARRANGED] if arranged else []
    parsed, _ = _overlapped(numbers, slots, "sm_80", *edits, described=one_block)

    copies = parsed.operations("nvgpu.device_async_copy")
    # What descriptors give may still be read in the next iteration, if there are slots to spare.
    ahead = slots - (2 if arranged and slots > 3 else 1)
    first = [c for c in copies if all(p.name != "scf.for" for p in parents_of(c))]
    (later,) = (c for c in copies if c not in first)
    (read,) = parsed.operations("nvgpu.ldmatrix")
    assert len(first) == min(ahead, iterations)
    written = [slot for c in first for slot in _slots_by_iteration(c.operands[0], 1)]
    in_loop = _slots_by_iteration(later.operands[0], iterations)
    written += in_loop
    reads = _slots_by_iteration(read.operands[0], iterations)
    assert written[:iterations] == reads
    # What iteration t fills was read last in iteration t - 1 or before, and a barrier came since.
    assert all(filled != slot for filled, slot in zip(in_loop, reads, strict=True))
    if ahead < slots - 1:
        assert all(filled != slot for filled, slot in zip(in_loop[1:], reads, strict=False))
    waits = parsed.operations("nvgpu.device_async_wait")
    # Where matrix units have something to do, copies are issued before the wait.
    before_wait = ahead < slots - 1
    assert [_left(each) for each in waits] == [ahead - (not before_wait), 0][: 1 + one_block]
    loop = parsed.operations("scf.for")[0]
    order = ["gpu.barrier", "nvgpu.device_async_create_group", "nvgpu.device_async_wait"]
    if not before_wait:
        order = [order[2], order[0], order[1]]
    found = [each.name for each in operations_in(loop, *order)]
    assert found == [*order, *["gpu.barrier"] * before_wait]
    if one_block:
        # The last iterations copy for none: they read nothing.
        counts = _by_iteration(later.operands[-1])
        exists = [8] * (iterations - ahead) + [0] * ahead
        assert (counts * iterations)[:iterations] == exists[-iterations:]
    assert len(parsed.operations("nvgpu.device_async_create_group")) == ahead + 1


_IN_HALVES = (
    "    %v = vector.load %a[%i, %at] : memref<4096x256xf16>, vector<8xf16>\n"
    "    vector.store %v, %m[%at] : !tile, vector<8xf16>\n",
    "    %half = affine.apply affine_map<(t) -> (t * 8 + 4)>(%t)\n"
    "    %v = vector.load %a[%i, %at] : memref<4096x256xf16>, vector<4xf16>\n"
    "    vector.store %v, %m[%at] : !tile, vector<4xf16>\n"
    "    %w = vector.load %a[%i, %half] : memref<4096x256xf16>, vector<4xf16>\n"
    "    vector.store %w, %m[%half] : !tile, vector<4xf16>\n",
)


@pytest.mark.parametrize("one_block", [True, False])
def test_half_the_copies_are_issued_while_matrix_units_have_products_to_do(one_block: bool) -> None:
    """The rest closes the group, so that one group less may be on its way before."""
    edits = (_ARRANGED, _IN_HALVES)
    rows, slots = 16 if one_block else 40, 4
    parsed, _ = _overlapped((0, rows, 1), slots, "sm_80", *edits, described=True)
    (loop,) = parsed.operations("scf.for")
    barrier, copy = "gpu.barrier", "nvgpu.device_async_copy"
    wait, close = "nvgpu.device_async_wait", "nvgpu.device_async_create_group"
    inside = operations_in(loop, barrier, copy, wait, close, "nvgpu.mma.sync")
    names = [each.name for each in inside]
    assert names == [barrier, copy, wait, barrier, copy, close, "nvgpu.mma.sync"]
    assert _left(inside[2]) == slots - 3
    assert bool(parsed.operations("scf.if")) != one_block
    first, rest = (each for each in inside if each.name == copy)
    filled = [_slots_by_iteration(each.operands[0], slots)[:slots] for each in (first, rest)]
    assert filled == [[2, 3, 0, 1]] * 2
    assert [_by_iteration(each.operands[1])[0] for each in (first, rest)] == [0, 4]


_TWO_WARPGROUPS = ("workgroup_size = [32, 1, 1]", "workgroup_size = [256, 1, 1]")
_TRANSPOSED = ("numTiles = 4 transpose = false", "numTiles = 4 transpose = true")


@pytest.mark.parametrize(
    ("row", "edits", "copies_before"),
    [
        # What units transpose is best copied early, unless rows begin within sectors, or a
        # warpgroup is alone.
        (256, [_TRANSPOSED, _TWO_WARPGROUPS], 2),
        (256, [_TRANSPOSED], 1),
        (264, [_TRANSPOSED, _TWO_WARPGROUPS], 0),
        (264, [_TRANSPOSED], 0),
        (264, [], 1),
    ],
)
def test_what_is_read_decides_how_many_copies_come_before_the_wait(
    row: int, edits: list[Edit], copies_before: int
) -> None:
    source = edited(_loop((0, 40, 1)), _ARRANGED, _IN_HALVES, *edits)
    parsed = parse(source.replace("memref<4096x256xf16>", f"memref<4096x{row}xf16>"))
    note_described_tile(parsed.function)
    run(parsed, OverlapCopies(slots=4), target="sm_80")
    (loop,) = parsed.operations("scf.for")
    copy, wait = "nvgpu.device_async_copy", "nvgpu.device_async_wait"
    inside = [each.name for each in operations_in(loop, copy, wait)]
    assert inside == [copy] * copies_before + [wait] + [copy] * (2 - copies_before)
    barriers = len(operations_in(loop, "gpu.barrier"))
    assert barriers == 1 + (copies_before > 0)


@pytest.mark.parametrize(
    ("columns", "copies", "part"),
    [(96, (6, 4), 0.5), (192, (12, 4), 0.375), (128, (16, 8), 0.25), (256, (16, 4), 0.5)],
)
def test_a_warpgroup_alone_issues_few_copies_early_but_half_of_those_of_256_columns(
    columns: int, copies: tuple[int, int], part: float
) -> None:
    """f16 150x11008x4096, 64 x 256, takes 48 us on an H200 with half of them, 55 with 6 of 20."""
    transposed, others = copies
    assert 64 * transposed == columns * others
    assert early_part(transposed, others) == part


def test_a_sum_that_the_loop_reads_keeps_matrix_units_waiting() -> None:
    """No slot is left alone for them then."""
    read = "    %s = arith.addf %y, %y : vector<2x2xf32>\n    scf.yield %s"
    parsed, _ = _overlapped((0, 64, 1), 4, "sm_80", _ARRANGED, (_LAST, read))
    assert len(parsed.operations("nvgpu.device_async_create_group")) == 4


def test_the_first_copies_of_a_loop_of_unknown_length_ask_whether_it_runs() -> None:
    unknown = ("%c: vector<2x2xf32>)", "%c: vector<2x2xf32>, %n: index)"), ("to %upper", "to %n")
    parsed = parse(edited(_loop((0, 1, 1)), *unknown))
    run(parsed, OverlapCopies(slots=2), target="sm_80")
    below: list[ir.Value] = []
    for copy in parsed.operations("nvgpu.device_async_copy"):
        guard = copy.parent
        assert guard is not None
        assert guard.name == "scf.if"
        condition = defining_operation(guard.operands[0])
        assert condition is not None
        assert re.search("= arith.cmpi slt, .+, %arg2 : index", str(condition))
        below.append(condition.operands[0])
    first, _ = below
    assert _by_iteration(first) == [0]


_EXPONENTIALS = (_LAST, f"    %e = math.exp2 %y : vector<2x2xf32>\n{_LAST.replace('%y', '%e')}")
_TWO_WARPS_A_SCHEDULER = ("workgroup_size = [32, 1, 1]", "workgroup_size = [160, 1, 1]")


@pytest.mark.parametrize(
    ("rows", "slots", "edits", "branches"),
    [
        # Two workgroups with 230 slots of 512 bytes do not fit a multiprocessor of 228 KiB.
        (4600, 230, [], False),
        (4600, 230, [_EXPONENTIALS], True),
        (4600, 230, [_TWO_WARPS_A_SCHEDULER], True),
        # Two workgroups fit.
        (4600, 220, [], True),
        # More than every twentieth iteration would copy nothing.
        (4579, 230, [], True),
    ],
)
def test_a_branch_around_copies_goes_where_a_scheduler_has_one_warp(
    rows: int, slots: int, edits: list[Edit], branches: bool
) -> None:
    parsed = parse(edited(_loop((0, rows, 1)), *edits))
    run(parsed, OverlapCopies(slots=slots), target="sm_80")
    (later,) = (
        each
        for each in parsed.operations("nvgpu.device_async_copy")
        if any(parent.name == "scf.for" for parent in parents_of(each))
    )
    assert later.parent is not None
    assert (later.parent.name == "scf.if") == branches


@pytest.mark.parametrize(
    ("rows", "slots", "branches"), [(16, 4, False), (17, 4, True), (17, 3, False)]
)
def test_copies_before_the_wait_have_a_branch_in_loops_that_are_not_unrolled(
    rows: int, slots: int, branches: bool
) -> None:
    parsed, _ = _overlapped((0, rows, 1), slots, "sm_80", _ARRANGED, described=True)
    assert bool(parsed.operations("scf.if")) == branches


def test_a_copy_beyond_the_last_row_reads_nothing_and_fills_zeros() -> None:
    zeros = (
        (_LOOP, f"  %z = arith.constant dense<0.0> : vector<8xf16>\n{_LOOP}"),
        (_LOOP, f"  %end = arith.constant 700 : index\n{_LOOP}"),
        (
            "    %v",
            "    %in = arith.cmpi ule, %i, %end : index\n"
            "    %last = arith.minui %i, %end : index\n    %v",
        ),
        ("%a[%i, %at]", "%a[%last, %at]"),
        (_STORE, "%w = arith.select %in, %v, %z : vector<8xf16>\n    vector.store %w, %m[%at]"),
    )
    parsed = parse(edited(_loop((0, 1024, 256)), *zeros))
    run(parsed, OverlapCopies(slots=2), target="sm_80")
    copies = parsed.operations("nvgpu.device_async_copy")
    read = [(_by_iteration(each.operands[3]), _by_iteration(each.operands[5])) for each in copies]
    # Before the loop row 0, and in it 256, 512, 768 and, if there were another iteration, 1024.
    assert read == [([0], [8]), ([256, 512, 700, 700], [8, 8, 0, 0])]
    sizes = {ir.IntegerAttr(each.attributes["dstElements"]).value for each in copies}
    assert sizes == {8}


@pytest.mark.parametrize(("noted", "slots"), [(2, 2), (4, 4), (8, 8), (400, 4)])
def test_noted_slots_are_taken_where_they_fit_and_forgotten(noted: int, slots: int) -> None:
    parsed = parse(_loop((0, 64, 1)))
    note_slots(parsed.function, noted)
    assert OverlapCopies().has_work(parsed.function)
    found = run(parsed, OverlapCopies(), target="sm_80")
    assert f" gets {slots} slots " in found.messages[-1]
    assert not has_noted_slots(parsed.function)


def test_noted_slots_are_forgotten_where_nothing_is_overlapped() -> None:
    parsed = parse(_loop((0, 64, 1)))
    note_slots(parsed.function, 4)
    run(parsed, OverlapCopies(), target="gfx942")
    assert str(parsed) == str(parse(_loop((0, 64, 1))))


@pytest.mark.parametrize("chip", ["sm_75", "gfx942", "gfx950"])
def test_chips_without_asynchronous_copies_keep_theirs(chip: str) -> None:
    parsed, _ = _overlapped((0, 64, 1), 2, chip)
    assert not parsed.operations("nvgpu.device_async_copy")


def test_slots_that_do_not_fit_are_refused() -> None:
    parsed, found = _overlapped((0, 64, 1), 1024, "sm_80")
    assert not parsed.operations("nvgpu.device_async_copy")
    assert found.messages[-1].endswith("1024 slots take 524288 bytes of LDS, of 166912")


KEPT: Kept = {
    "may be written": (
        "a copy reads a binding that the kernel may write",
        ("      flags(ReadOnly) :", "      :"),
    ),
    # There is no copy of 2 bytes.
    "narrow": (
        "a lane copies 2 bytes at multiples of 2",
        (": memref<4096x256xf16>, vector<8xf16>", ": memref<4096x256xf16>, vector<1xf16>"),
        (f"{_STORE} : !tile, vector<8xf16>", f"{_STORE} : !tile, vector<1xf16>"),
    ),
    # Odd lanes load from addresses that are no multiples of 16 bytes.
    "unaligned": (
        "a lane copies 16 bytes at multiples of 8",
        (_LOOP, f"  %half = affine.apply affine_map<(t) -> (t * 4)>(%t)\n{_LOOP}"),
        ("%a[%i, %at]", "%a[%i, %half]"),
    ),
    # A lane may read before others have stored.
    "copies and reads not parted": (
        "no barrier parts the copies to the tile from its reads",
        (f"{_BARRIER}    %f", "    %f"),
    ),
    # A lane may store what others still have to read.
    "iterations not parted": (
        "no barrier parts the reads of the tile from the next iteration's copies",
        (f"{_BARRIER}    %v", "    %v"),
    ),
    # Every iteration writes another part of the tile: reads meet what earlier ones have left.
    "moving": (
        "what is written of the tile differs from iteration to iteration",
        (
            "    %v",
            "    %place = affine.apply affine_map<(t, i) -> (t * 8 + i mod 512)>(%t, %i)\n    %v",
        ),
        (_STORE, "vector.store %v, %m[%place]"),
    ),
    # Where the copy reads is itself loaded.
    "looked up": (
        "an index depends on the result of memref.load",
        (_LOOP, f"  %k = memref.alloc() : memref<1024xindex>\n{_LOOP}"),
        ("    %v", "    %l = memref.load %k[%i] : memref<1024xindex>\n    %v"),
        ("%a[%i, %at]", "%a[%l, %at]"),
    ),
    "read behind the loop": (
        "the tile is used by vector.load otherwise",
        (
            "  return",
            f"  %z = vector.load %m[%c0] : !tile, vector<8xf16>\n  %to = {_OTHER}"
            "  vector.store %z, %to[%c0] : memref<8xf16>, vector<8xf16>\n  return",
        ),
    ),
    # What is stored is more than what was loaded.
    "changed": (
        "what is stored is not loaded in the same iteration",
        (_STORE, "%w = arith.addf %v, %v : vector<8xf16>\n    vector.store %w, %m[%at]"),
    ),
    # The value is used in registers, too.
    "used twice": (
        "what is copied is used elsewhere too",
        (
            _LAST,
            f"    %to = {_OTHER}"
            f"    vector.store %v, %to[%c0] : memref<8xf16>, vector<8xf16>\n{_LAST}",
        ),
    ),
    # How long an iteration takes is not known.
    "nothing is multiplied": (
        "the loop multiplies no matrices",
        (
            "%y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16]\n"
            "        : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>",
            "%y = arith.addf %x, %x : vector<2x2xf32>",
        ),
    ),
    "one iteration": ("the loop has one iteration", ("constant 1024", "constant 256")),
    # Every iteration has a tile of its own.
    "allocated inside": (
        "the tile is allocated in the loop",
        (_ALLOC, ""),
        (f"{_BARRIER}    %v", f"  {_ALLOC}{_BARRIER}    %v"),
    ),
}


@each_kept(KEPT)
def test_copies_are_not_overlapped(reason: str, edits: list[Edit]) -> None:
    said = f"copies to the LDS are not overlapped: {reason}"
    assert_kept(edited(_loop((0, 1024, 256)), *edits), OverlapCopies(), said=said, target="sm_80")
