# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many workgroups fit a compute unit, and what it gets of the memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bankwise.bench.timing_pieces import piece
from bankwise.emulator.dispatch import Dispatch
from bankwise.emulator.timing.constants import CHIPS
from bankwise.emulator.timing.memory_levels import memory_share
from bankwise.emulator.timing.occupancy import Occupancy, occupancy
from bankwise.emulator.trace import BufferUse

MIB = 1 << 20


def placed(
    arch: str = "gfx942", waves: int = 4, lds: int = 0, registers: int = 64, grid: int = 1 << 16
) -> Occupancy:
    return occupancy(dispatch(arch, waves, lds, registers, grid), CHIPS[arch])


def dispatch(
    arch: str = "gfx942", waves: int = 4, lds: int = 0, registers: int = 64, grid: int = 1 << 16
) -> Dispatch:
    kernel = piece("s_nop 0", arch, waves)
    changed = {"group_segment_fixed_size": lds, "next_free_vgpr": registers}
    kernel = replace(kernel, directives={**kernel.directives, **changed})
    return Dispatch.of(kernel, (grid, 1, 1))


@pytest.mark.parametrize(
    ("options", "resident", "limit"),
    [
        ({"lds": 32768}, 2, "LDS"),
        ({"lds": 32769}, 1, "LDS"),
        ({"lds": 32768, "arch": "gfx950"}, 4, "LDS"),
        ({"registers": 128}, 4, "registers"),
        ({"registers": 129}, 3, "registers"),
        ({"registers": 257}, 1, "registers"),
        ({"registers": 32}, 8, "wave slots"),
        ({"registers": 32, "waves": 16}, 2, "wave slots"),
        ({"grid": 304}, 1, "grid"),
    ],
)
def test_the_scarcest_thing_limits(options: dict[str, int], resident: int, limit: str) -> None:
    found = placed(**options)  # type: ignore[arg-type]
    assert (found.resident, found.limit) == (resident, limit)


def test_workgroups_go_to_the_dies_in_turn() -> None:
    assert placed(grid=304).share == 1
    assert placed(grid=305).share == 2
    assert placed(grid=32).active_units == 32


def test_what_all_share_is_fetched_once_by_each_die() -> None:
    wide = dispatch(grid=608)
    its = occupancy(wide, CHIPS["gfx942"])
    shared = memory_share(wide, [BufferUse(MIB, MIB)], its, CHIPS["gfx942"])
    assert shared.far_bytes == 8 * MIB
    alone = memory_share(wide, [BufferUse(608 * MIB, MIB)], its, CHIPS["gfx942"])
    assert alone.far_bytes == 608 * MIB
    assert shared.far_line < alone.far_line
    assert (shared.fits_mall, alone.fits_mall) == (True, False)
    assert shared.far_cycles < alone.far_cycles
