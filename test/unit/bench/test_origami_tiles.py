# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How two rankings of tiles are compared, with a stand-in for Origami, which is not installed."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

from bankwise.bench.origami_tiles import DTYPES, KINDS, Row, Sizes
from bankwise.bench.pages.records import Records

SIZES = (1024, 1024, 1024)


def by_volume(dtype: str, sizes: Sizes, tile: Sizes, held: int) -> float:
    """Returns cycles by which the tile with the most products is the best one."""
    return 1 / (tile[0] * tile[1] * tile[2])


def test_a_ranking_is_compared_tile_by_tile() -> None:
    row = Row.of("square", "f16", SIZES, by_volume)
    # 256 x 128 with 64 elements is as large; the first tile of these is taken.
    assert row.theirs[0] * row.theirs[1] * row.theirs[2] >= 256 * 128 * 64
    assert -1 <= row.correlation <= 1
    assert row.ours_of_theirs >= 1
    assert row.theirs_of_ours >= 1


def test_tiles_that_origami_does_not_take_are_not_ranked() -> None:
    def narrow(dtype: str, sizes: Sizes, tile: Sizes, held: int) -> float:
        return by_volume(dtype, sizes, tile, held) if tile[0] == 16 else sys.float_info.max

    row, every = (Row.of("square", "f16", SIZES, each) for each in (narrow, by_volume))
    assert row.tiles < every.tiles
    assert row.ours[0] == row.theirs[0] == 16


def test_the_record_has_all_products() -> None:
    found = Counter((row.kind, row.dtype) for row in Records().origami)
    assert found == {(k, d): len(sizes) for k, sizes in KINDS.items() for d in DTYPES}
    assert found.total() == 60


def test_without_origami_it_is_one_line() -> None:
    code = (
        "import sys; sys.modules['origami'] = None; from bankwise.bench.origami_tiles import main"
    )
    run = subprocess.run(
        [sys.executable, "-c", f"{code}; sys.exit(main())"], capture_output=True, text=True
    )
    assert run.returncode == 1
    assert run.stderr.startswith("origami_tiles: error: Origami is missing: pip install ")
    assert run.stderr.count("\n") == 1
