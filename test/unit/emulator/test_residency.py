# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of how many workgroups a chip runs at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bankwise.emulator.chips import CHIPS
from bankwise.emulator.dispatch import Dispatch
from bankwise.emulator.residency import COMPUTE_UNITS, residency, resident_workgroups

from .small_kernels import kernel


def dispatch(arch: str, registers: int, threads: int = 256, lds_bytes: int = 0) -> Dispatch:
    parsed = kernel("\ts_nop 0", arch=arch, threads=threads, lds_bytes=lds_bytes)
    directives = {**parsed.directives, "next_free_vgpr": registers}
    return Dispatch.of(replace(parsed, directives=directives), (1, 1, 1))


def test_each_chip_has_a_row():
    assert COMPUTE_UNITS.keys() >= CHIPS.keys()


@pytest.mark.parametrize(
    ("arch", "registers", "lds_bytes", "workgroups"),
    [
        ("gfx942", 32, 0, 8),
        ("gfx942", 65, 0, 7),
        ("gfx942", 512, 0, 1),
        ("gfx942", 32, 65536, 1),
        ("gfx942", 32, 16385, 3),
        ("gfx950", 32, 20481, 7),
        ("gfx950", 32, 20480, 8),
        # Eight waves of 32 lanes, and two SIMDs of a unit with 16 slots each.
        ("gfx1100", 96, 0, 4),
        ("gfx1100", 97, 0, 3),
        ("gfx1102", 96, 0, 2),
    ],
)
def test_workgroups_of_a_compute_unit(arch: str, registers: int, lds_bytes: int, workgroups: int):
    """By LLVM's occupancies: 97 registers of gfx1100 are 5 blocks of 24, of which 12 waves fit."""
    launch = dispatch(arch, registers, lds_bytes=lds_bytes)
    assert residency(launch).workgroups == workgroups
    assert resident_workgroups(launch) == workgroups * COMPUTE_UNITS[arch].units


def test_a_workgroup_runs_even_if_it_fills_more_than_a_unit():
    assert residency(dispatch("gfx942", 512, threads=1024)).workgroups == 1
