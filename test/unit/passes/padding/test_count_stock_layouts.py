# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What stock's layouts cost: 64 bits of padding where there is room, or what is there."""

from __future__ import annotations

import pytest

from bankwise.passes.decisions import Action, Decision
from bankwise.passes.padding.count_stock_layouts import CountStockLayouts

from ...functions import gpu_target, launched, parse, run

SPACE = "#gpu.address_space<workgroup>"
COLUMN = f"""
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %tile = memref.alloc() : memref<64x32xf32, {SPACE}>
  %value = memref.load %tile[%x, %c0] : memref<64x32xf32, {SPACE}>
"""


def kernel(body: str) -> str:
    return f"func.func @f() attributes {{{launched()}}} {{ {body} return }}"


def counted(body: str, options: str = "") -> Decision:
    found = run(parse(kernel(body)), CountStockLayouts.from_options(options), target="gfx942")
    assert found.decision.action is Action.STOCK
    assert not found.context.log.stands(found.decision)
    return found.decision


def figures(decision: Decision) -> tuple[int | None, ...]:
    return (
        *(decision.lds_bytes_before, decision.lds_bytes_after),
        *(decision.conflict_cycles_before, decision.conflict_cycles_after),
        *(decision.lds_instructions_before, decision.lds_instructions_after),
    )


def test_stock_pads_rows_by_64_bits() -> None:
    # Rows of 34 words: lanes 0 and 16 of a phase of 32 lanes meet in bank 0, as 1 and 17 in bank 2.
    assert figures(counted(COLUMN)) == (8192, 8704, 62, 2, 1, 1)


def test_stock_does_not_pad_lowered_functions() -> None:
    assert figures(counted(COLUMN, "padded=false")) == (8192, 8192, 62, 62, 1, 1)


def test_stock_pads_nothing_where_that_needs_more_lds_than_there_is() -> None:
    assert figures(counted(COLUMN.replace("64x32xf32", "512x32xf32"))) == (
        65536,
        65536,
        62,
        62,
        1,
        1,
    )


def test_neighbours_count_as_the_backend_joins_them() -> None:
    # Rows of 16 bytes and stock's 8: alone, four reads have 3 conflicts in each of two phases.
    names = ("%c0", "%c1", "%c2", "%c3")
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in range(4))
    tile = f"memref<64x4xf32, {SPACE}>"
    reads = "\n".join(f"%v{n} = memref.load %tile[%x, {c}] : {tile}" for n, c in enumerate(names))
    body = f"{constants}\n%x = gpu.thread_id x\n%tile = memref.alloc() : {tile}\n{reads}"
    assert figures(counted(body, "padded=false")) == (1024, 1024, 0, 0, 1, 1)


def test_direct_stores_are_no_lds_instructions() -> None:
    store = f"""
  %from = memref.alloc() : memref<2048xf32>
  amdgpu.gather_to_lds %from[%c0], %tile[%c0, %c0]
      : vector<4xf32>, memref<2048xf32>, memref<64x32xf32, {SPACE}>
"""
    assert figures(counted(COLUMN + store, "padded=false"))[4:] == (1, 1)


def test_reads_count_as_what_stock_makes_of_them_behind_the_place() -> None:
    """The rows of 32 bytes follow each other, and 32 lanes read 64 banks of them at once by
    `ds_read_b64_tr_b16`. In stock's rows of 10 words, row 7 has the banks 6 to 13, of which row 0
    and row 1 have some: that is a cycle more for either half of the wave. Of each lane alone, four
    reads would be counted."""
    tile, x = f"memref<16x16xbf16, {SPACE}>", "iree_codegen.index_hint %lane"
    body = f"""
  %zero = ub.poison : bf16
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x upper_bound 64
  %lane:2 = affine.delinearize_index %x into (4, 16) : index, index
  %row = {x}#0(#iree_gpu.lane_constant<16>) : index
  %column = {x}#1(#iree_gpu.lane_increment<16, aligned>) : index
  %k = affine.linearize_index disjoint [%row, %c0] by (4, 4) : index
  %tile = memref.alloc() : {tile}
  %v = vector.transfer_read %tile[%k, %column], %zero {{in_bounds = [true, true]}}
      : {tile}, vector<4x1xbf16>
  util.optimization_barrier %v : vector<4x1xbf16>
"""
    target = f"{launched()}, {gpu_target('gfx950')}"
    parsed = parse(f"func.func @f() attributes {{{target}}} {{ {body} return }}")
    text = str(parsed)
    found = run(parsed, CountStockLayouts(transposed=True), target="gfx950")
    assert figures(found.decision) == (512, 640, 0, 2, 1, 1)
    assert str(parsed) == text


def test_what_is_not_known_has_no_figures() -> None:
    loaded = f"""
  %c0 = arith.constant 0 : index
  %p = memref.alloc() : memref<64xindex>
  %x = memref.load %p[%c0] : memref<64xindex>
  %tile = memref.alloc() : memref<64x32xf32, {SPACE}>
  %value = memref.load %tile[%x, %c0] : memref<64x32xf32, {SPACE}>
"""
    decision = counted(loaded)
    assert set(figures(decision)) == {None}
    assert decision.reason.startswith("its accesses are not known: ")


@pytest.mark.parametrize("new", [0, 1])
def test_a_later_run_counts_what_is_allocated_since(new: int) -> None:
    parsed = parse(kernel(COLUMN))
    first = run(parsed, CountStockLayouts(), target="gfx942")
    body = COLUMN + COLUMN.replace("%", "%other_") * new
    both = parse(kernel(body))
    CountStockLayouts(rest_only=True).run(both.function, first.context)
    assert len(first.decisions) == 1 + new


def test_nobody_reads_it() -> None:
    parsed = parse(kernel(COLUMN))
    found = run(parsed, target="gfx942")
    found.context.explains = False
    CountStockLayouts().run(parsed.function, found.context)
    assert not found.decisions
