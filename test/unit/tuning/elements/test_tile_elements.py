# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What lanes and workgroups get of elementwise operations, and what keeps IREE's tile."""

from __future__ import annotations

from itertools import permutations
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.tuning.elements.element_tiles import element_tile
from bankwise.tuning.elements.elements import Elements, MovedTensor, elements_of
from bankwise.tuning.elements.tile_elements import TileElements

from ...functions import Kept, assert_kept, each_kept, edited, launched, parse, run
from ...processors import known_processor

ARCH = "sm_90a"
PROCESSOR = known_processor(ARCH)
TEXT = f"""
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>,
    #hal.pipeline.binding<storage_buffer>]>
func.func @f() attributes {{{launched("32, 1, 1", 32, pipeline="TileAndFuse")}}} {{ // here
  %c0 = arith.constant 0 : index
  %from = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0)
      : memref<1024x512xf16>
  %to = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0)
      : memref<1024x512xf16>
  %in = iree_codegen.load_from_buffer %from : memref<1024x512xf16> -> tensor<1024x512xf16>
  %empty = tensor.empty() : tensor<1024x512xf16>
  %r = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
      affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}}
      ins(%in : tensor<1024x512xf16>) outs(%empty : tensor<1024x512xf16>)
      attrs = {{lowering_config = #iree_gpu.lowering_config<{{
          thread = [1, 8], workgroup = [1, 256]}}>}} {{
  ^bb0(%x: f16, %o: f16):
    %y = arith.negf %x : f16
    linalg.yield %y : f16
  }} -> tensor<1024x512xf16>
  iree_codegen.store_to_buffer %r, %to : tensor<1024x512xf16> into memref<1024x512xf16>
  return
}}
"""

KEPT: Kept = {
    "indexed by a sum": (
        "its operands are indexed by more than loops",
        (
            "affine_map<(d0, d1) -> (d0, d1)>,\n",
            "affine_map<(d0, d1) -> (d0 floordiv 2, d1)>,\n",
        ),
    ),
    "two operations": (
        "another operation is computed with it",
        (
            "  iree_codegen.store_to_buffer %r,",
            "  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], "
            'iterator_types = ["parallel", "parallel"]} outs(%r : tensor<1024x512xf16>) {\n'
            "  ^bb0(%o: f16):\n    linalg.yield %o : f16\n  } -> tensor<1024x512xf16>\n"
            "  iree_codegen.store_to_buffer %s,",
        ),
    ),
}
UNSAID = {
    "staged in the LDS": ("thread = [1, 8]", "promote_operands = [0], thread = [1, 8]"),
    "has several warps": ("workgroup_size = [32, 1, 1]", "workgroup_size = [64, 1, 1]"),
    "reduction": ('["parallel", "parallel"]', '["parallel", "reduction"]'),
}


@each_kept(KEPT)
def test_iree_s_tile_stays_for_a_reason(reason: str, edits: tuple[tuple[str, str], ...]) -> None:
    assert_kept(edited(TEXT, *edits), TileElements(), said=reason, target=ARCH)


@pytest.mark.parametrize("edit", UNSAID.values(), ids=UNSAID)
def test_what_is_no_work_of_the_pass_stays(edit: tuple[str, str]) -> None:
    text = edited(TEXT, edit)
    parsed = parse(text)
    assert not run(parsed, TileElements(), target=ARCH).said
    assert str(parsed) == str(parse(text))


@pytest.mark.parametrize(("rows", "is_tiled"), [(1024, True), (528, True), (512, False)])
def test_every_multiprocessor_has_a_workgroup(rows: int, is_tiled: bool) -> None:
    """132 multiprocessors have 256 lanes each, with 8 elements of 512 a row: 528 rows."""
    text = TEXT.replace("1024x512", f"{rows}x512")
    parsed = parse(text)
    run(parsed, TileElements(), target=ARCH)
    assert (str(parsed) != str(parse(text))) == is_tiled


@pytest.mark.parametrize("arch", ["gfx942", "gfx950", "sm_75"])
def test_other_gpus_keep_iree_s_tile(arch: str) -> None:
    parsed = parse(TEXT)
    assert not run(parsed, TileElements(), target=arch).said
    assert str(parsed) == str(parse(TEXT))


def test_a_configuration_of_the_user_stays() -> None:
    parsed = parse(TEXT)
    found = run(parsed, TileElements(), target=ARCH, configured="it is yours")
    assert found.messages == ["the tile of its elements stays: it is yours"]
    assert str(parsed) == str(parse(TEXT))


def test_rows_that_begin_at_single_elements_have_no_vectors() -> None:
    part = "memref<1024x512xf16, strided<[520, 1], offset: OFFSET>>"
    view = "memref.subview %whole[0, OFFSET] [1024, 512] [1, 1] : memref<1024x520xf16>"
    padded = edited(
        TEXT,
        ("%from = hal", "%whole = hal"),
        (
            ": memref<1024x512xf16>\n  %to",
            f": memref<1024x520xf16>\n  %from = {view} to {part}\n  %to",
        ),
        ("%from : memref<1024x512xf16>", f"%from : {part}"),
    )
    for offset, aligned in ((0, 8), (1, 1), (2, 2), (4, 4), (6, 2), (8, 8)):
        parsed = parse(padded.replace("OFFSET", str(offset)))
        elements = elements_of(parsed.operations("linalg.generic")[0])
        assert elements.reads[0].aligned == aligned
        assert elements.writes[0].aligned == 8


@given(
    extents=st.lists(st.integers(1, 3000), min_size=1, max_size=4),
    data=st.data(),
)
def test_tiles_divide_loops_or_few_lanes_idle_and_lanes_write_neighbours(
    extents: list[int], data: st.DataObject
) -> None:
    loops = range(len(extents))
    sizes = st.sampled_from([1, 2, 4, 8])
    orders = st.sampled_from(list(permutations(loops)))
    parts = st.lists(st.sampled_from(loops), unique=True).map(tuple)

    def tensor(dims: tuple[int, ...]) -> MovedTensor:
        size = data.draw(sizes)
        return MovedTensor(dims, size, data.draw(st.sampled_from([1, 2, 4, 8, 16])))

    written = tensor(data.draw(orders))
    reads = tuple(tensor(each) for each in data.draw(st.lists(orders | parts, max_size=3)))
    elements = Elements(tuple(extents), reads, (written,), data.draw(st.booleans()))
    try:
        tile = element_tile(elements, PROCESSOR)
    except Refusal:
        return
    if tile is None:
        # A lane has at most a sector of what it writes, where that leaves lanes enough or not.
        assert prod(extents) < PROCESSOR.multiprocessors * 256 * (32 // written.size)
        return
    along = elements.innermost(written)
    ways = zip(extents, tile.workgroup, tile.thread, strict=True)
    for loop, (extent, workgroup, thread) in enumerate(ways):
        assert extent % thread == workgroup % thread == 0
        assert 8 * (-extent % workgroup) <= (extent if loop == along else 0)
    assert 96 <= tile.lanes <= 1024
    assert along is not None
    assert tile.thread[along] * written.size <= 32
    assert tile.workgroup[along] >= min(extents[along], 64 // written.size)
    assert prod(tile.thread) <= 32 * 32
