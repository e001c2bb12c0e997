# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading the tiles of configured functions, and writing others."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from iree.compiler import ir

from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.tuning.attention.attention_tiles import (
    LoopShare,
    WarpTiledAttention,
    warp_tiled_attention,
)
from bankwise.tuning.costs.tile_cost import AttentionTile, MatmulTile
from bankwise.tuning.matmuls.matmul_tiles import WarpTiledMatmul, warp_tiled_matmul
from bankwise.tuning.tiles.tiled_operation import Circumstances

from ...functions import parse
from ...processors import GFX942
from .configured_kernels import ALSO_CONFIGURED, AttentionIr, MatmulIr


def attention_in(function: ir.Operation) -> WarpTiledAttention:
    found = warp_tiled_attention(function)
    assert found is not None
    return found


def matmul_in(function: ir.Operation) -> WarpTiledMatmul:
    found = warp_tiled_matmul(function)
    assert found is not None
    return found


@pytest.mark.parametrize("mask", [False, True])
def test_an_attention_is_read(mask: bool) -> None:
    parsed = parse(AttentionIr(b=2, m=1024, n=96, k=64, t=512, mask=mask).text())
    found = attention_in(parsed.function)
    assert found.tile == AttentionTile(rows=64, columns=32, keys=64, warps=4)
    assert (found.batch, found.rows, found.columns) == (2, 1024, 96)
    assert (found.head, found.keys, found.element_bytes) == (64, 512, 2)
    assert found.scores == found.outputs == (16, 8, 16)
    assert warp_tiled_matmul(parsed.function) is None


@pytest.mark.parametrize(("loops", "b_map"), [((1, 2, 3), "d0, d3, d2"), ((1, 2, 3), "d0, d2, d3")])
def test_a_matmul_is_read(loops: tuple[int, ...], b_map: str) -> None:
    parsed = parse(MatmulIr(b_map=b_map).text())
    found = matmul_in(parsed.function)
    assert found.tile == MatmulTile(rows=64, columns=64, summed=128, row_warps=2, column_warps=2)
    assert (found.batch, found.rows, found.columns, found.summed) == (8, 256, 256, 512)
    assert (found.loops, found.element_bytes) == (loops, 2)
    assert warp_tiled_attention(parsed.function) is None


WARPS = st.sampled_from((1, 2, 4, 8))


@given(
    WARPS,
    st.sampled_from((1, 2)),
    st.sampled_from((32, 64, 128)),
    st.sampled_from((16, 64)),
    st.sampled_from((1, 2, 3)),
    st.booleans(),
)
def test_an_attention_s_tile_is_what_was_written(
    warps: int, high: int, columns: int, step: int, stages: int, staged: bool
):
    parsed = parse(AttentionIr().text())
    before = str(parsed)
    stock = attention_in(parsed.function).tile
    tile = AttentionTile(
        *(warps * 16 * high, columns, step, warps), stages=stages, staged_queries=staged
    )
    attention_in(parsed.function).configure(parsed.function, tile)
    assert parsed.module.operation.verify()
    assert attention_in(parsed.function).tile == tile
    assert f"workgroup_size = [{32 * warps}, 1, 1]" in str(parsed)
    attention_in(parsed.function).configure(parsed.function, stock)
    assert attention_in(parsed.function).tile == stock
    if staged and stages == 1:
        assert str(parsed) == before


@pytest.mark.parametrize(
    ("ways", "promoted", "scores", "outputs"),
    [
        ({"staged_keys": False}, "[0, 2]", "[0]", "[1]"),
        ({"staged_queries": False, "staged_keys": False}, "[2]", "[]", "[1]"),
        (
            {"staged_queries": False, "staged_keys": False, "staged_values": False},
            *("[]", "[]", "[]"),
        ),
    ],
)
def test_operands_need_not_be_staged(
    ways: dict[str, bool], promoted: str, scores: str, outputs: str
) -> None:
    parsed = parse(AttentionIr().text())
    attention = attention_in(parsed.function)
    tile = AttentionTile(64, 64, 64, 4, **ways)
    written = attention.attributes(tile)
    assert f"promote_operands = {promoted}," in str(written["lowering_config"])
    for name, expected in (("qk_attrs", scores), ("pv_attrs", outputs)):
        contraction = str(written["decomposition_config"][name])
        assert f"promote_operands = {expected}," in contraction
    sizes = [64 * attention.head, 64 * attention.head, 64 * 64]
    kept = [f"staged_{each}" not in ways for each in ("queries", "keys", "values")]
    staged = sum(size for size, is_kept in zip(sizes, kept, strict=True) if is_kept)
    assert attention.staged_bytes(tile) == 2 * staged


@given(WARPS, WARPS, st.sampled_from((1, 2)), st.sampled_from((1, 4)), st.sampled_from((16, 64)))
def test_a_matmul_s_tile_is_what_was_written(down: int, across: int, m: int, n: int, step: int):
    parsed = parse(MatmulIr().text())
    before = str(parsed)
    stock = matmul_in(parsed.function).tile
    tile = MatmulTile(down * m * 16, across * n * 8, step, down, across)
    matmul_in(parsed.function).configure(parsed.function, tile)
    assert parsed.module.operation.verify()
    assert matmul_in(parsed.function).tile == tile
    assert f"workgroup_size = [{32 * tile.warps}, 1, 1]" in str(parsed)
    assert "prefetch_num_stages = 2" in str(parsed)
    matmul_in(parsed.function).configure(parsed.function, stock)
    assert str(parsed) == before


@given(
    st.lists(st.integers(1, 24), min_size=1, max_size=3),
    st.integers(1, 96),
    st.integers(1, 8),
    st.sampled_from((1, 2, 4)),
)
def test_a_workgroup_has_the_most_of_the_innermost_loops(
    extents: list[int], size: int, warps: int, least: int
) -> None:
    multiples = [1] * (len(extents) - 1) + [least]
    shares = [
        (tiles, along)
        for tiles in product(*(_divisors(each) for each in extents))
        if prod(tiles) == size
        for along in product(*(_divisors(each) for each in tiles))
        if prod(along) == warps
        and not any(t % (w * m) for t, w, m in zip(tiles, along, multiples, strict=True))
    ]
    best = max(shares, key=lambda each: (each[0][::-1], each[1][::-1]), default=None)
    found = LoopShare.of(extents, size, warps, least)
    if best is None or found is None:
        assert found is best
    else:
        assert found.tiles == best[0]
        assert (found.tiles, found.warps) in shares


def _divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


def test_tiles_that_do_not_divide_are_not_taken() -> None:
    parsed = parse(AttentionIr(n=96, t=192).text())
    attention = attention_in(parsed.function)
    assert attention.takes(AttentionTile(128, 96, 64, 8))
    for rows, columns, step, warps in (
        *((48, 96, 64, 1), (64, 64, 64, 4), (64, 96, 128, 4), (64, 96, 24, 4)),
        *((64, 96, 64, 8), (128, 96, 64, 3), (64, 12, 64, 4)),
    ):
        assert not attention.takes(AttentionTile(rows, columns, step, warps))
    parsed = parse(MatmulIr(m=192, k=96, tiles=MatmulIr.tiles.replace(" 8]", " 2]")).text())
    matmul = matmul_in(parsed.function)
    assert matmul.takes(MatmulTile(64, 64, 32, 4, 2))
    for tile in (
        (128, 64, 32, 4, 2),
        (64, 96, 32, 2, 2),
        (64, 64, 64, 2, 2),
        (32, 64, 32, 4, 1),
        (64, 64, 8, 2, 2),
    ):
        assert not matmul.takes(MatmulTile(*tile))


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (AttentionIr(staged="promote_operands = [1]"), "staged in the LDS"),
        (AttentionIr(staged="promote_operands = [1, 2]"), "other operands in the LDS"),
        (AttentionIr(staged_keys="promote_operands = [1]"), "other operands in the LDS"),
        (AttentionIr(staged_values="promote_operands = [0, 1]"), "other operands in the LDS"),
        (AttentionIr(staged=AttentionIr.staged + ", padding = [1]"), "padding"),
        (AttentionIr(staged_keys=AttentionIr.staged_keys + ", thread = [1]"), "thread"),
        (AttentionIr(basis="[1, 2, 2, 1, 1]"), "more than rows"),
        (AttentionIr(basis="[1, 2, 1, 1, 1]"), "all warps"),
        (AttentionIr(lanes="32, 4, 1"), "no row of warps"),
        (AttentionIr(m=32), "do not divide"),
        (AttentionIr(v_map="d0, d4"), "has no columns"),
        (AttentionIr(tiles=AttentionIr.tiles.replace("[1, 64", "[2, 64")), "tiled otherwise"),
        (AttentionIr(tiles=AttentionIr.tiles.replace("0, 0, 64]", "0, 64, 64]")), "otherwise"),
        (MatmulIr(staged="promote_operands = [0, 1, 2]"), "not its two operands"),
        (MatmulIr(staged=MatmulIr.staged + ", padding = [1, 64, 64, 16]"), "padding"),
        (MatmulIr(mma="#iree_gpu.derived_thread_config"), "shape"),
        (MatmulIr(lanes="256, 1, 1"), "all warps"),
        (MatmulIr(m=32), "do not divide"),
        (MatmulIr(a_map="d1, d3", b_map="d0, d3, d2"), "columns are no single loop"),
        (MatmulIr(tiles=MatmulIr.tiles.replace("[1, 64", "[2, 64")), "tiled otherwise"),
        (MatmulIr(tiles=MatmulIr.tiles.replace("[0, 2", "[1, 2")), "tiled otherwise"),
        (MatmulIr(tiles=MatmulIr.tiles.replace("2, 4", "3, 4")), "evenly"),
        (MatmulIr(acc=""), "what it adds to"),
        (MatmulIr(also=ALSO_CONFIGURED), "several operations"),
    ],
)
def test_what_is_not_understood_is_refused(kernel: AttentionIr | MatmulIr, reason: str) -> None:
    parsed = parse(kernel.text())
    read = warp_tiled_attention if isinstance(kernel, AttentionIr) else warp_tiled_matmul
    with pytest.raises(Refusal, match=reason):
        read(parsed.function)


def test_larger_instructions_are_predicted_where_they_divide_a_tile() -> None:
    text = AttentionIr(arch="gfx942").text()
    parsed = parse(text.replace("NV_MMA_SYNC_F32_16x8x16_F16", "MFMA_F32_16x16x16_F16"))
    attention = attention_in(parsed.function)
    assert attention.larger is not None
    assert (attention.larger.scores, attention.larger.outputs) == ((32, 32, 8), (32, 32, 8))
    known = Circumstances(GFX942, 65536, ldmatrix=False, larger_instructions=True)
    high = AttentionTile(128, 128, 64, 4)
    found = [attention.work(each, known).larger for each in (high, high._replace(rows=64))]
    assert found == [True, False]
    assert not attention.work(high, known._replace(larger_instructions=False)).larger
    assert attention_in(parse(text).function).larger is None
