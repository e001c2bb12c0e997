# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Swizzles in the words of other frameworks, and why some have no word for them."""

from __future__ import annotations

import pytest

from bankwise.bank_model.accesses import LdsTile
from bankwise.bank_model.layouts import SwizzledLayout
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.swizzles import RotateRows, Swizzle, XorShuffle
from bankwise.tiles.framework_notations import notations

ROWS_OF_64 = LdsTile((64, 64), 16)
WAVE = "Wave's pass has one swizzle, XORs of 16 bytes with 8 rows, for gfx950 alone"


def written(*swizzles: Swizzle, tile: LdsTile = ROWS_OF_64, arch: str = "sm_90", padding: int = 0):
    found = notations(SwizzledLayout(swizzles, padding), tile, lds_of(arch))
    assert all(
        each.is_expressible is not each.text.startswith("not expressible: ") for each in found
    )
    return {each.name: each.text for each in found}


def test_one_swizzle_in_all_notations() -> None:
    assert written(XorShuffle(64, 8)) == {
        "bits": "o[3] ^= o[6], o[4] ^= o[7], o[5] ^= o[8]",
        "IREE": "#iree_codegen.xor_shuffle<64, 8, 64, 1>",
        "CuTe": "Swizzle<3, 3, 3>",
        "Triton": "vec = 8, perPhase = 1, maxPhase = 8",
        "Wave": f"not expressible: {WAVE}",
        "CK Tile": "KPerBlock = 64, KPack = 8, MLdsLayer = 1, RowMul = 1",
        "TMA": "CU_TENSOR_MAP_SWIZZLE_128B",
    }


def test_bits_of_a_chain_add_up() -> None:
    found = written(XorShuffle(16, 8, 512), XorShuffle(64, 8))
    assert found["bits"] == "o[3] ^= o[6] ^ o[9], o[4] ^= o[7], o[5] ^= o[8]"
    assert found["IREE"].count("#iree_codegen.xor_shuffle<") == 2
    for name in ("CuTe", "Wave", "CK Tile"):
        assert found[name].startswith("not expressible: ")
    assert found["Triton"].startswith("SharedLinearLayout(offset_bases=[[0, 1], [0, 2], [0, 4], ")


@pytest.mark.parametrize(
    ("tile", "arch", "swizzle", "reason"),
    [
        (ROWS_OF_64, "sm_80", XorShuffle(64, 8), "sm_80 has no TMA"),
        (ROWS_OF_64, "gfx942", XorShuffle(64, 8), "gfx942 has no TMA"),
        (LdsTile((64, 64), 4), "sm_90", XorShuffle(64, 32), "elements of 4 bits are no 1, 2, 4"),
        (LdsTile((64, 64), 24), "sm_90", XorShuffle(64, 8), "elements of 24 bits are no 1, 2, 4"),
        (ROWS_OF_64, "sm_90", XorShuffle(64, 4), "TMA XORs byte bits 4 .. 6"),
        (LdsTile((32, 128), 16), "sm_90", XorShuffle(64, 8), "rows of at most 128 bytes"),
    ],
)
def test_why_no_tma_mode(tile: LdsTile, arch: str, swizzle: Swizzle, reason: str) -> None:
    assert reason in written(swizzle, tile=tile, arch=arch)["TMA"]


def test_rows_that_are_no_power_of_two() -> None:
    found = written(XorShuffle(32, 8, 96), tile=LdsTile((64, 96), 16))
    assert "row_stride * per_phase 96 is no power of two" in found["bits"]
    linear = written(XorShuffle(32, 8, 64), tile=LdsTile((64, 96), 16))
    assert linear["CuTe"] == "Swizzle<2, 3, 3>"
    for name in ("Triton", "CK Tile"):
        assert linear[name].endswith("no power of two")


def test_what_adds_is_no_xor() -> None:
    found = written(RotateRows(64, 8))
    assert found["IREE"] == "#iree_codegen.rotate_rows<64, 8>"
    assert all("carries between bits" in found[name] for name in ("bits", "CuTe", "TMA"))


def test_what_pads_too_has_no_word() -> None:
    found = written(XorShuffle(16, 8, 80), padding=16)
    assert {found[name] for name in ("IREE", "Triton", "TMA")} == {
        "not expressible: its rows are padded, too"
    }
    even = written(XorShuffle(16, 8, 128), padding=64)
    assert even["CuTe"] == "Swizzle<1, 3, 4> o 0 o (64,64):(128,1)"
