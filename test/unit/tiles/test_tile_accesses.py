# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accesses from patterns, formulas and functions: which element each lane touches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bankwise.bank_model.accesses import LdsAccess
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.tiles.lanes import Lanes
from bankwise.tiles.tile_accesses import AccessReader
from bankwise.tiles.tile_errors import TileArgumentError
from bankwise.tiles.tile_text import NamedTile


def reader(tile: str, arch: str = "gfx942", threads: int | None = None) -> AccessReader:
    lds = lds_of(arch)
    return AccessReader(lds, NamedTile.of(tile, lds), Lanes.of(threads, lds))


def read(tile: str, given: Any, arch: str = "gfx942", threads: int | None = None):
    (found,) = reader(tile, arch, threads).read(AccessKind.READ, given)
    return found.accesses


def test_rows_go_along_the_rows() -> None:
    accesses = read("32x64xf16", "rows:128")
    assert [access.count for access in accesses] == [8] * 4
    assert accesses[1].elements.tolist() == [[8 * (64 + lane) for lane in range(64)]]
    # Four waves deal with it at once.
    (access,) = read("32x64xf16", "rows:128", threads=256)
    assert access.elements.ravel().tolist() == list(range(0, 2048, 8))


def test_columns_go_down_the_columns() -> None:
    accesses = read("32x32xf32", "columns", "sm_80")
    assert len(accesses) == 32
    assert accesses[3].elements.tolist() == [[32 * lane + 3 for lane in range(32)]]
    (access, _) = read("32x16xf32", "columns:64:".rstrip(":"), "gfx942", 128)
    assert access.count == 2
    assert access.elements[0, :3].tolist() == [0, 16, 32]
    assert access.elements[0, 32:34].tolist() == [2, 18]


def test_what_is_not_filled_is_masked() -> None:
    (access,) = read("3x10xf32", "rows")
    assert access.active is not None
    assert access.active.sum() == 30
    assert access.elements[access.active].tolist() == list(range(30))


def test_blocks_of_lanes() -> None:
    accesses = read("16x64xf16", "blocked:8x8:64")
    assert len(accesses) == 4
    assert accesses[0].elements[0, [0, 1, 8, 63]].tolist() == [0, 4, 64, 7 * 64 + 28]
    # Along the rows first.
    assert [int(access.elements[0, 0]) for access in accesses] == [0, 32, 512, 544]


def test_neighbouring_registers_are_one_access() -> None:
    (access,) = read("16x16xf16", "(lane%16, lane//16*4 + reg)")
    assert (access.count, access.elements[0, 17]) == (4, 16 + 4)
    # A formula may ask for less.
    accesses = read("16x16xf16", "(lane%16, lane//16*4 + reg) : 32")
    assert [each.count for each in accesses] == [2, 2]
    # Columns lie apart.
    assert [each.count for each in read("16x16xf16", "(lane//16*4 + reg, lane%16)")] == [1] * 4
    # What no instruction aligns is not joined.
    (*each,) = read("1x136xf16", "lane*2 + 1 + k for k in range(2)")
    assert [one.count for one in each] == [1, 1]


def test_lanes_may_be_masked_in_some_steps() -> None:
    accesses = read("64x4xf32", "(lane, k) for k in range(4) if lane < 32 or k < 2")
    assert [access.count for access in accesses] == [2, 2]
    assert accesses[0].active is None
    assert accesses[1].active is not None
    assert accesses[1].active.sum() == 32


def test_functions_are_called_with_arrays() -> None:
    (access,) = read("16x16xf16", lambda lane, reg: (lane % 16, lane // 16 * 4 + reg))
    (same,) = read("16x16xf16", "(lane%16, lane//16*4 + reg)")
    assert access.count == same.count
    assert np.array_equal(access.elements, same.elements)


def test_several_arguments_and_given_accesses() -> None:
    own = LdsAccess(AccessKind.READ, np.arange(64), 1, location="mine")
    first, second = reader("16x16xf16").read(AccessKind.READ, ["rows:128", own])
    assert str(first) == "read rows:128"
    assert str(second) == "read mine"
    assert second.accesses == (own,)


@pytest.mark.parametrize(
    ("tile", "given", "reason"),
    [
        ("16x16xf16", "row", "there is no pattern 'row'; there are rows, columns, blocked"),
        ("16x16xf16", "rows:12", "12 bits are no whole elements of 16 bits"),
        ("16x16xf16", "rows:x", "'x' is no number of bits; write as in 'rows:128'"),
        ("16x20xf16", "rows:128", "rows of 20 elements are not made of vectors of 8"),
        ("16x16xf16", "blocked:4x4", "a wave of gfx942 has 64 lanes"),
        ("16x16xf16", "blocked", "a wave of gfx942 has 64 lanes"),
        ("12x16xf16", "blocked:8x8", "not made of blocks of 8 x 8"),
        ("16x16xf16", "(lane, reg)", r"lane 16 of wave 0 is at \(16, 0\) in step 0, outside"),
        ("16x16xf16", "(lane, 0, 0)", "it has 3 indices, and the tile 16x16xf16 takes 2"),
        ("16x16xf16", "lane if lane else lane + x", "`x` is not known"),
        ("16x16xf16", "lane for k in range(2) if lane > 99", "no lane takes part"),
        ("16x17xf16", "lane + reg", "272 elements are not shared evenly by 64 threads"),
        ("16x16xf16", "(reg, lane%16) : 64", "4 elements, 64 bits, are not side by side"),
        ("16x16xf16", 7, "7 is neither text"),
        ("16x16xf16", lambda x: x, "its parameter `x` is none of lane, wave, thread, reg"),
        ("16x16xf16", lambda lane: lane + 999, "the text of a formula says how far reg counts"),
        ("16x16xf16", lambda lane: lane / 2, "no whole number"),
        ("16x16xf16", LdsAccess(AccessKind.WRITE, np.arange(64), 1), "it is a write"),
        ("16x16xf16", LdsAccess(AccessKind.READ, np.arange(32), 1), "it has 32 lanes"),
        ("4x4xf16", LdsAccess(AccessKind.READ, np.arange(64), 1), "leaves the tile's elements"),
    ],
)
def test_what_cannot_be_read_names_the_argument(tile: str, given: Any, reason: str) -> None:
    with pytest.raises(TileArgumentError, match=rf"^read: .*{reason}"):
        read(tile, given)


@pytest.mark.parametrize(
    ("tile", "reason"),
    [
        ("64x64", "'64x64' is no tile"),
        ("x64xf16", "is no tile"),
        ("64x64xhalves", "'halves' is no type that is known; write f16, bf16, half, e4m3"),
        ("0x64xf16", "has a size of 0"),
        ("64xf999", "types have 1 to 128 bits"),
        ("512x512xf32", "1048576 bytes, and a workgroup has 65536 on gfx942"),
    ],
)
def test_what_is_no_tile(tile: str, reason: str) -> None:
    with pytest.raises(TileArgumentError, match=rf"^tile: .*{reason}"):
        reader(tile)


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        *(("8x8xbf16", 16), ("8x8xf8E4M3FNUZ", 8), ("8x8xi4", 4), ("8x8xtf32", 32), ("8xui8", 8)),
        *(("8x8xe4m3", 8), ("8x8xE5M2", 8), ("8x8xe4m3fn", 8), ("8x8xbf8", 8), ("8x8xfp8", 8)),
        *(("8x8xhalf", 16), ("8x8xfloat", 32), ("8x8xdouble", 64), ("8x8xbfloat16", 16)),
        *(("8x8xfloat8_e4m3fn", 8), ("8x8xint8_t", 8), ("8x8xuint4", 4), ("8x8xint", 32)),
        *(("8x8xe2m1", 4), ("8x8xe3m2", 6), ("8x8xe8m0", 8), ("8x8xchar", 8)),
    ],
)
def test_types_have_bits(text: str, bits: int) -> None:
    assert reader(text).named.tile.element_bits == bits


@pytest.mark.parametrize("threads", [0, 32, 100, 2048, -64])
def test_threads_are_whole_waves(threads: int) -> None:
    with pytest.raises(TileArgumentError, match=r"^threads: .*waves of 64"):
        reader("8x8xf32", threads=threads)
