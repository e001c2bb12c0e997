# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the lanes of a cp.async read, as far as the bank conflicts of the copy depend on it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bankwise.bank_model.accesses import CopySources
from bankwise.dialect_utils.gpu_target import Launch
from bankwise.dialect_utils.index.lane_values import IntArray
from bankwise.dialect_utils.memory.copied_addresses import WORST_WORKGROUP
from bankwise.dialect_utils.memory.copies_before_ends import ROWS_FROM_ZERO
from bankwise.dialect_utils.memory.lds_accesses import AllocationAccesses

from ...functions import Edit, Kept, each_kept, edited, parse, traced

LAUNCH = Launch((32, 1, 1), 32)
LANES = np.arange(32)

SOURCE = """
#space = #gpu.address_space<workgroup>
func.func @f(%count: index, %from: memref<64x96xf16>, %rows: memref<?x?xf16>) {
  %x = gpu.thread_id x
  %w = gpu.block_id x
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c96 = arith.constant 96 : index
  %m = memref.alloc() : memref<256xf16, #space>
  %at = affine.apply affine_map<(x) -> (x * 8)>(%x)
  BODY
  return
}"""


def trace(body: str) -> AllocationAccesses:
    (found,) = traced(parse(SOURCE.replace("BODY", body)), LAUNCH)
    return found


def copy(indices: str, source: str = "%from", kind: str = "memref<64x96xf16>") -> str:
    return (
        f"%t = nvgpu.device_async_copy {source}[{indices}], %m[%at], 8 bypassL1 : {kind} to "
        "memref<256xf16, #space>"
    )


def sources(body: str) -> CopySources:
    found = trace(body)
    assert not found.unknown and not found.uncounted
    (access,) = found.accesses
    assert access.instruction == "cp.async.cg.16" and access.copied is not None
    return access.copied


def test_rows_of_a_tile() -> None:
    found = sources(
        f"%r, %c = affine.delinearize_index %at into (4, 64) : index, index\n{copy('%r, %c')}"
    )
    assert (found.addresses == LANES // 8 * 192 + LANES % 8 * 16).all()
    assert found.reading.all() and found.shifts == (0,)


@pytest.mark.parametrize(
    ("rows", "shifts"), [(2, (0,)), (1, (0, 64))], ids=["whole lines", "half lines"]
)
def test_a_row_of_each_workgroup(rows: int, shifts: tuple[int, ...]) -> None:
    body = f"%r = affine.apply affine_map<(w, x) -> (w * {rows} + x)>(%w, %x)\n{copy('%r, %c0')}"
    found = sources(body)
    assert (found.addresses == LANES * 192).all() and found.shifts == shifts


def test_a_part_of_a_workgroups_number_is_divided() -> None:
    body = """%n = affine.apply affine_map<(w, x) -> ((w * 128 + x) floordiv 16)>(%w, %x)
      %k = affine.apply affine_map<(w, x) -> ((w * 128 + x) mod 16)>(%w, %x)
      %c = affine.apply affine_map<(k) -> (k * 8)>(%k)"""
    found = sources(f"{body}\n{copy('%n, %c')}")
    assert (found.addresses == LANES // 16 * 192 + LANES % 16 * 16).all()
    assert found.shifts == (0,)


def test_lanes_that_read_nothing() -> None:
    body = f"""%is = arith.cmpi ult, %at, %c96 : index
      %n = arith.select %is, %c8, %c0 : index
      {copy("%c0, %at").replace("], 8 ", "], 8, %n ")}"""
    found = sources(body)
    assert (found.reading == (LANES < 12)).all()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (copy("%x, %c0", "%rows", "memref<?x?xf16>"), "rows whose length is not known"),
        (
            "%v = memref.load %from[%x, %c0] : memref<64x96xf16>\n%i = arith.fptoui %v : f16 to i32"
            f"\n%r = arith.index_cast %i : i32 to index\n{copy('%r, %c0')}",
            "an index depends on the result of arith.fptoui",
        ),
        (copy("%c0, %at").replace("], 8 ", "], 8, %x "), "some lanes read a part"),
    ],
    ids=["unknown rows", "loaded index", "parts"],
)
def test_what_is_not_known_is_not_counted(body: str, reason: str) -> None:
    found = trace(body)
    (uncounted,) = found.uncounted
    assert "not counted" in uncounted.reason and reason in uncounted.reason
    (access,) = found.accesses
    assert access.copied is None


IN_WORKGROUPS = """
#space = #gpu.address_space<workgroup>
func.func @f(%from: memref<30x100xf16>) {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c29 = arith.constant 29 : index
  %c92 = arith.constant 92 : index
  %m = memref.alloc() : memref<256xf16, #space>
  %at = affine.apply affine_map<(x) -> (x * 8)>(%x)
  scf.forall (%i, %j) in (4, 2) {
    FIXED
    scf.for %k = %c0 to %c3 step %c1 {
      %r = affine.apply affine_map<(i, x) -> (i * 8 + x floordiv 4)>(%row, %x)
      %c = affine.apply affine_map<(j, k, x) -> (j * 64 + k * 32 + (x mod 4) * 8)>(%column, %k, %x)
      %inside = arith.cmpi ule, %r, %c29 : index
      %n = arith.select %inside, %c8, %c0 : index
      %r0 = arith.minui %r, %c29 : index
      %c00 = arith.minui %c, %c92 : index
      %t = nvgpu.device_async_copy %from[%r0, %c00], %m[%at], 8, %n bypassL1 : memref<30x100xf16>
        to memref<256xf16, #space>
    }
  } {mapping = [#iree_codegen.workgroup_mapping<y>, #iree_codegen.workgroup_mapping<x>]}
  return
}"""


def copied_in(row: str, column: str, *, in_all_workgroups: bool = False) -> CopySources | None:
    """Returns what is read in workgroups whose numbers these values are."""
    fixed = f"%row = affine.apply affine_map<(d0) -> (d0)>({row})"
    fixed += f"\n%column = affine.apply affine_map<(d0) -> (d0)>({column})"
    for number in range(4):
        fixed = f"%w{number} = arith.constant {number} : index\n{fixed}"
    parsed = parse(IN_WORKGROUPS.replace("FIXED", fixed))
    (found,) = traced(parsed, LAUNCH, in_all_workgroups=in_all_workgroups)
    (access,) = found.accesses
    assert (access.copied is None) == bool(found.uncounted)
    return access.copied


def issues_of(copied: CopySources | None) -> set[bytes]:
    """Returns what the lanes of each issue read, of those that read anything."""
    assert copied is not None and copied.shifts == (0,)
    placed = np.where(copied.reading, copied.addresses, 0)
    issues = zip(placed, copied.reading, strict=True)
    return {place.tobytes() + reads.tobytes() for place, reads in issues}


def test_workgroups_at_an_edge_are_told_apart() -> None:
    alone = (copied_in(f"%w{i}", f"%w{j}") for i in range(4) for j in range(2))
    found = copied_in("%i", "%j", in_all_workgroups=True)
    assert issues_of(found) == set().union(*map(issues_of, alone))


def test_the_workgroup_with_most_conflicts_stands_for_all() -> None:
    """Eight lanes read two rows, which are one row behind the end of the last workgroup's."""
    body = f"""%c18 = arith.constant 18 : index
      %g = gpu.block_id x upper_bound 3
      %i = affine.apply affine_map<(g, x) -> (g * 8 + x floordiv 4)>(%g, %x)
      %r = arith.minui %i, %c18 : index
      %c = affine.apply affine_map<(x) -> (x mod 4 * 8)>(%x)
      {copy("%r, %c")}"""
    (found,) = traced(parse(SOURCE.replace("BODY", body)), LAUNCH)
    (access,) = found.accesses
    assert WORST_WORKGROUP in found.assumptions and access.copied is not None
    rows = np.minimum(LANES // 4, 2)
    assert (access.copied.addresses == rows * 192 + LANES % 4 * 16).all()
    assert access.copied.read_conflicts(16).tolist() == [3]


IN_A_LOOP = """%c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c41 = arith.constant 41 : index
  %g = gpu.block_id x upper_bound 6
  scf.for %k = %c0 to %c6 step %c1 {
    %i = affine.apply affine_map<(g, x) -> (g * 8 + x floordiv 4)>(%g, %x)
    %r = arith.minui %i, %c41 : index
    %first = arith.cmpi ult, %k, %c5 : index
    %x0 = arith.select %first, %x, %c0 : index
    %c = affine.apply affine_map<(k, x, x0, r) -> (COLUMN)>(%k, %x, %x0, %r)
    %t = nvgpu.device_async_copy %from[%r, %c], %m[%at], 8 : memref<64x96xf16> to
      memref<256xf16, #space>
  }"""


COLUMNS: dict[str, tuple[str, Callable[[IntArray, IntArray], IntArray]]] = {
    "alike in all lanes": ("k * 8", lambda k, r: k * 8 + 0 * LANES),
    "alike in all iterations": ("k * 8 + x mod 4 * 8", lambda k, r: k * 8 + LANES % 4 * 8),
    "apart": ("x0 mod 8 * 8", lambda k, r: np.where(k < 5, LANES, 0) % 8 * 8),
    "at once": ("(x + k * 5 + r) mod 12 * 8", lambda k, r: (LANES + k * 5 + r) % 12 * 8),
}
"""How the columns of a lane depend on the iteration, beside a row that depends on the workgroup."""


@pytest.mark.parametrize("name", COLUMNS)
def test_iterations_count_where_they_differ(name: str) -> None:
    """The worst workgroup is the one whose conflicts are the most, of all iterations together."""
    k, row = np.arange(6)[:, None], np.minimum(np.arange(6)[:, None] * 8 + LANES // 4, 41)
    everywhere = np.ones((6, 32), dtype=bool)
    workgroups: list[CopySources] = []
    column, computed = COLUMNS[name]
    for r in row:
        places = r * 192 + 2 * computed(k, r)
        workgroups.append(CopySources(places, everywhere).from_lines())
    conflicts = [each.read_conflicts(16).sum() for each in workgroups]
    parsed = parse(SOURCE.replace("BODY", IN_A_LOOP.replace("COLUMN", column)))
    (found,), (in_all,) = (
        traced(parsed, LAUNCH, in_all_workgroups=each)[0].accesses for each in (False, True)
    )
    assert len(set(conflicts)) > 1
    assert issues_of(found.copied) == issues_of(workgroups[int(np.argmax(conflicts))])
    assert issues_of(in_all.copied) == set().union(*map(issues_of, workgroups))


def test_workgroups_that_read_alike_are_one() -> None:
    # Rows of workgroups 0, 1 and 2 begin at a line, or half a line behind it; 3 is at the edge.
    rows_alone = copied_in("%i", "%w0", in_all_workgroups=True)
    assert rows_alone is not None and len(rows_alone.addresses) == 3 * 3


def test_an_id_with_a_bound_is_a_number_of_the_workgroup() -> None:
    body = f"""%c63 = arith.constant 63 : index
      %g = gpu.block_id x upper_bound 5
      %i = affine.apply affine_map<(g, x) -> (g * 16 + x)>(%g, %x)
      %r = arith.minui %i, %c63 : index
      {copy("%r, %c0")}"""
    for text, counted in ((body, True), (body.replace(" upper_bound 5", ""), False)):
        parsed = parse(SOURCE.replace("BODY", text))
        (found,) = traced(parsed, LAUNCH, in_all_workgroups=True)
        assert bool(found.uncounted) != counted


def test_workgroups_that_read_nothing_are_others() -> None:
    body = f"""%g = gpu.block_id x upper_bound 5
      %some = arith.cmpi ult, %g, %x : index
      %n = arith.select %some, %c8, %c0 : index
      {copy("%c0, %c0").replace("], 8 ", "], 8, %n ")}"""
    (found,) = traced(parse(SOURCE.replace("BODY", body)), LAUNCH, in_all_workgroups=True)
    (access,) = found.accesses
    assert access.copied is not None
    assert (access.copied.reading == (np.arange(5)[:, None] < LANES)).all()


ENDS = """%rows = memref.dim %ragged, %c0 : memref<?x96xf16>
  %c1 = arith.constant 1 : index
  %last = arith.subi %rows, %c1 : index
  %r, %c = affine.delinearize_index %at into (4, 64) : index, index
  %inside = arith.cmpi sle, %r, %last : index
  %n = arith.select %inside, %c8, %c0 : index
  %end = arith.maxsi %last, %c0 : index
  %i = arith.minui %r, %end : index
  %t = nvgpu.device_async_copy %ragged[%i, %c], %m[%at], 8, %n bypassL1 : memref<?x96xf16>
    to memref<256xf16, #space>"""


def before_ends(*edits: Edit) -> AllocationAccesses:
    source = SOURCE.replace("%rows: memref<?x?xf16>", "%ragged: memref<?x96xf16>")
    (found,) = traced(
        parse(edited(source.replace("BODY", ENDS), *edits)), LAUNCH, in_all_workgroups=True
    )
    return found


def test_lanes_read_up_to_an_end_that_the_program_knows() -> None:
    found = before_ends()
    (access,) = found.accesses
    assert access.copied is not None and access.copied.may_read_nothing
    assert ROWS_FROM_ZERO in found.assumptions
    rows = LANES // 8
    assert (access.copied.reading == (rows <= np.arange(-1, 4)[:, None])).all()
    places = np.where(access.copied.reading, rows * 192 + LANES % 8 * 16, 0)
    assert (access.copied.addresses == places).all()


def test_every_number_of_rows_is_among_the_ends() -> None:
    (dynamic,) = before_ends().accesses
    known: set[bytes] = set()
    for number in range(7):
        rows = f"%rows = arith.constant {number} : index"
        (access,) = before_ends((ENDS.splitlines()[0], rows)).accesses
        known |= issues_of(access.copied)
    assert known == issues_of(dynamic.copied)


ELSEWHERE: Kept = {
    # Lanes behind the end read too.
    "no condition": ("result of memref.dim", ("], 8, %n", "], 8")),
    "another last row": (
        "result of memref.dim",
        ("%end = arith.maxsi %last, %c0", "%end = arith.subi %last, %c1"),
    ),
    "another place": ("result of memref.dim", ("arith.minui %r", "arith.minui %c")),
    "other lanes": ("result of memref.dim", ("arith.cmpi sle", "arith.cmpi sge")),
    # What is less than 0 is a large number without a sign, but the clamped place is 0.
    "unsigned": ("result of memref.dim", ("arith.cmpi sle", "arith.cmpi ule")),
    # Each lane has an end of its own.
    "an end of each lane": (
        "result of memref.dim",
        ("%last = arith.subi %rows, %c1", "%last = arith.subi %rows, %x"),
    ),
    "parts": ("result of memref.dim", ("%inside, %c8, %c0", "%inside, %c1, %c0")),
    "where it is not inside": ("result of memref.dim", ("%inside, %c8, %c0", "%inside, %c0, %c8")),
}


@each_kept(ELSEWHERE)
def test_ends_that_are_not_understood(reason: str, edits: list[Edit]) -> None:
    (uncounted,) = before_ends(*edits).uncounted
    assert reason in uncounted.reason
