# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rates by which tiles are compared, and what others know of the same chips."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bankwise.bank_model.lds_tables import lds_of
from bankwise.bench.timing_pieces import piece
from bankwise.emulator.dispatch import Dispatch
from bankwise.emulator.timing.constants import CHIPS, TIMED_CHIPS
from bankwise.emulator.timing.occupancy import occupancy

from ...processors import known_processor


@pytest.mark.parametrize("arch", TIMED_CHIPS)
def test_a_processor_is_the_chip_of_the_timing_model(arch: str) -> None:
    """The two models share no table: the emulator knows no tiles."""
    processor, chip = known_processor(arch), CHIPS[arch]
    assert processor.multiprocessors == chip.units.value
    assert processor.lds_bytes == lds_of(arch).workgroup_bytes
    kernel = piece("s_nop 0", arch)
    few = {"group_segment_fixed_size": 0, "next_free_vgpr": 1}
    kernel = replace(kernel, directives={**kernel.directives, **few})
    assert occupancy(Dispatch.of(kernel, (1 << 16, 1, 1)), chip).resident == processor.max_warps


@pytest.mark.parametrize("arch", ["gfx942", "gfx950", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"])
def test_warps_are_waves_of_the_lds_model(arch: str) -> None:
    assert known_processor(arch).lanes == lds_of(arch).wave_size
