# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which tiles `bankwise-retile` takes, and when it takes none."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from iree.compiler import ir

from bankwise.passes.decisions import Action
from bankwise.passes.mode import RETILE
from bankwise.tuning.costs.tile_cost import (
    AttentionShape,
    AttentionTile,
    attention_work,
    predicted_microseconds,
)
from bankwise.tuning.matmuls.matmul_tiles import MODELLED_HALF_GAIN
from bankwise.tuning.retile import Retile, RetileMode, tiled_operation
from bankwise.tuning.tiles.tile_choice import tile_choice, tile_time
from bankwise.tuning.tiles.tiled_operation import (
    MODELLED_GAIN,
    Circumstances,
    TiledOperation,
    doubt,
)

from ..functions import PassRun, parse, run
from ..processors import GFX942, SM80
from .tiles.configured_kernels import ALSO_CONFIGURED, AttentionIr, MatmulIr

PLAIN = Circumstances(SM80, 166912)


def tiled_in(function: ir.Operation) -> TiledOperation[Any]:
    found = tiled_operation(function)
    assert found is not None
    return found


def retiled(
    kernel: AttentionIr | MatmulIr, retile: Retile, configured: str = ""
) -> tuple[str, PassRun]:
    """Returns the function that the pass makes of a kernel, and what the pass recorded."""
    parsed = parse(kernel.text())
    found = run(parsed, retile, configured=configured)
    return str(parsed), found


@pytest.mark.parametrize("kernel", [AttentionIr(), MatmulIr(m=4096, n=4096, k=4096)])
def test_a_faster_tile_is_taken_and_recorded(kernel: AttentionIr | MatmulIr) -> None:
    _, found = retiled(kernel, Retile())
    (remark,), (tuned,), decision = found.messages, found.context.tuned, found.decision
    assert decision.action is Action.RETILE
    assert remark == f"tile of a workgroup: {decision.reason}"
    assert decision.detail in remark and "us, limited by" in remark
    assert tuned.compilation_info.count("workgroup_size = [") == 1
    assert "lowering_config" not in tuned.operation and "bankwise" not in tuned.operation


@pytest.mark.parametrize(
    ("arch", "sizes", "columns"),
    [
        # 3072 columns are 16 tiles of 192, with which three waves of workgroups are smaller.
        ("sm_90a", (3072, 3072, 3072), 192),
        ("sm_80", (3072, 3072, 3072), 128),
        # The last 32 of 160 columns need instructions of their own, where B lies along them.
        ("sm_90a", (2048, 5120, 5120), 128),
    ],
)
def test_tiles_by_descriptors_may_have_other_columns(
    arch: str, sizes: tuple[int, int, int], columns: int
) -> None:
    m, n, k = sizes
    _, found = retiled(MatmulIr(b=1, m=m, n=n, k=k, arch=arch), Retile())
    tile = re.fullmatch(r"\d+ x (\d+), .*", found.decision.detail)
    assert tile is not None and int(tile[1]) == columns


def test_few_rows_at_exact_are_multiplied_by_descriptors() -> None:
    """f16 8x128x64 with 8,192 keys takes 131 us on an H100, and 182 us by 32 rows and 2 warps."""
    kernel = AttentionIr(b=8, m=128, n=64, k=64, t=8192, arch="sm_90a")
    _, found = retiled(kernel, Retile())
    assert found.decision.detail.startswith("64 rows x 64 columns, 64 keys a step, 4 warps")


@pytest.mark.parametrize("kernel", [AttentionIr(), MatmulIr(m=4096, n=4096, k=4096)])
@pytest.mark.parametrize(
    ("arch", "mode", "configured", "why"),
    [
        ("sm_89", RetileMode.AUTO, "", "no time was measured on sm_89; --bankwise-retile=on"),
        ("sm_80", RetileMode.AUTO, "a flag is given", "a flag is given"),
        ("sm_89", RetileMode.ON, "a flag is given", "a flag is given"),
    ],
)
def test_a_faster_tile_is_named_where_it_is_not_taken(
    kernel: AttentionIr | MatmulIr, arch: str, mode: RetileMode, configured: str, why: str
) -> None:
    kernel = replace(kernel, arch=arch)
    text, found = retiled(kernel, Retile(mode), configured)
    (remark,) = found.messages
    assert text == str(parse(kernel.text()))
    assert f"it is not taken: {why}" in remark and "is predicted to take" in remark
    assert found.decision.action is Action.KEEP
    assert not found.context.tuned


@pytest.mark.parametrize(
    ("kernel", "slots"),
    [
        (MatmulIr(b=1, m=512, n=4096, k=4096, b_map="d0, d2, d3"), "4 : i64"),
        (MatmulIr(b=1, m=512, n=4096, k=4096), "2 : i64"),
        (AttentionIr(b=64, m=2048, t=2048, k=64, n=64), "4 : i64"),
        (AttentionIr(b=1, m=16384, t=16384), "2 : i64"),
    ],
)
def test_the_slots_of_copies_are_noted_with_a_new_tile(
    kernel: AttentionIr | MatmulIr, slots: str
) -> None:
    text, _ = retiled(kernel, Retile(other_order=True, native_exponentials=True))
    assert f"bankwise.slots = {slots}" in text
    without, _ = retiled(kernel, Retile(other_order=True, overlap=False))
    assert "bankwise.slots" not in without


def test_on_takes_what_was_not_measured() -> None:
    text, _ = retiled(AttentionIr(arch="sm_89"), Retile(RetileMode.ON))
    assert "128, 0, 0]" in text


@pytest.mark.parametrize(
    "kernel",
    [
        AttentionIr(arch="gfx1100"),
        AttentionIr(also=ALSO_CONFIGURED),
        AttentionIr(basis="[1, 2, 1, 1, 1]"),
        MatmulIr(staged=MatmulIr.staged + ", padding = [1, 64, 64, 16]"),
    ],
)
def test_what_is_not_understood_stays(kernel: AttentionIr | MatmulIr) -> None:
    text, found = retiled(kernel, Retile(RetileMode.ON))
    assert text == str(parse(kernel.text()))
    assert not found.decisions


def test_steps_change_only_where_they_may() -> None:
    parsed = parse(AttentionIr().text())
    attention = tiled_in(parsed.function)
    assert tile_choice(attention, PLAIN).best.keys == 64
    other = PLAIN._replace(other_order=True, overlap=True)
    assert tile_choice(attention, other).best.keys == 128


def test_lanes_of_amd_share_the_copies_of_other_tiles_evenly() -> None:
    """Of 16 keys with a head of 272, 512 lanes would copy 8.5 elements each: IREE fails."""
    parsed = parse(AttentionIr(b=1, m=1024, t=1024, k=272, n=64).text())
    attention = tiled_in(parsed.function)
    attention = replace(attention, launch=attention.launch._replace(warp_size=64))
    by_lanes = Circumstances(GFX942, 65536, other_order=True, ldmatrix=False)
    tiles = {(tile.warps, tile.keys) for tile in attention.candidates(by_lanes)}
    assert {(4, 16), (8, 64)} <= tiles
    assert (8, 16) not in tiles


@given(
    st.sampled_from((1, 4, 64)),
    st.sampled_from((256, 1024, 4096)),
    st.sampled_from((32, 64, 128, 256)),
    st.booleans(),
)
def test_no_other_tile_is_predicted_to_be_faster(batch: int, rows: int, head: int, other: bool):
    kernel = AttentionIr(b=batch, m=rows, t=rows, k=head, n=head)
    parsed = parse(kernel.text())
    attention = tiled_in(parsed.function)
    choice = tile_choice(attention, PLAIN._replace(other_order=other))

    def time(tile: AttentionTile) -> float:
        work = attention_work(AttentionShape(batch, rows, rows, head, head), tile, SM80)
        fits = work.lds_bytes <= PLAIN.lds_bytes
        return predicted_microseconds(work, SM80) if fits else math.inf

    assert choice.stock_time == time(attention.tile)
    assert choice.best_time == time(choice.best)
    assert attention.takes(choice.best)
    gains = [
        time(tile)
        for warps in (2, 4, 8)
        for high in (16, 32)
        for keys in ((16, 32, 64, 128) if other else (64,))
        if attention.takes(tile := AttentionTile(warps * high, head, keys, warps))
    ]
    least = min(gains)
    # Stock's tile computes scores again for each part of a head.
    handicap = 1.25 if attention.tile.columns < head else 1.0
    if least <= 0.97 * handicap * choice.stock_time:
        assert choice.gains and choice.best_time == least
    else:
        assert not choice.gains and choice.best == attention.tile


def test_tiles_stay_within_the_lds() -> None:
    parsed = parse(MatmulIr(b=1, m=4096, n=4096, k=4096).text())
    matmul = tiled_in(parsed.function)
    for limit in (8192, 16384, 49152, 166912):
        tile = tile_choice(matmul, PLAIN._replace(lds_bytes=limit)).best
        assert tile == matmul.tile or (tile.rows + tile.columns) * tile.summed * 2 <= limit
    without = tile_choice(matmul, PLAIN._replace(lds_bytes=8192))
    assert math.isinf(without.stock_time) and without.gains
    assert "does not fit" in str(without)


def test_the_time_of_one_tile_is_that_which_the_choice_compares() -> None:
    both = [parse(each.text()) for each in (AttentionIr(), MatmulIr(m=4096, n=4096))]
    attention, matmul = (tiled_in(each.function) for each in both)
    for circumstances in (PLAIN, PLAIN._replace(overlap=True, exponential=20.0)):
        for operation in (attention, matmul):
            choice = tile_choice(operation, circumstances)
            assert choice.gains
            assert tile_time(operation, choice.best, circumstances) == choice.best_time
            assert tile_time(operation, operation.tile, circumstances) == choice.stock_time
    with pytest.raises(TypeError, match=r"no tile of linalg\.generic"):
        tile_time(matmul, attention.tile, PLAIN)


def test_texts_say_how_much_must_be_saved_where_no_time_was_measured() -> None:
    for gain in (MODELLED_GAIN, MODELLED_HALF_GAIN):
        assert f"{100 * gain:g} %" in RETILE["auto"]
        said = doubt(100, 100, GFX942, "gfx942", gain)
        assert said.startswith(f"it saves less than {100 * gain:g}%, ")
