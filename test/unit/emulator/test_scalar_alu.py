# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of scalar arithmetic the pseudocode does not cover: constants, mixed conditions."""

from __future__ import annotations

import numpy as np

from .lane_programs import mask, run_lanes


def test_a_negative_constant_is_extended_to_64_bits() -> None:
    assert mask(run_lanes("s_mov_b64 s[2:3], -1"), 2) == 2**64 - 1
    assert (
        mask(run_lanes("s_and_b64 s[2:3], s[0:1], -16", scalars={0: 0xFF, 1: 1}), 2) == 0x1000000F0
    )


def test_compact_constants_are_16_bits() -> None:
    machine = run_lanes("s_movk_i32 s2, 0xff80\ns_cmpk_eq_i32 s2, 0xff80")
    assert machine.sgpr[2, 0] == 0xFFFFFF80
    assert machine.scc[0]
    assert run_lanes("s_cmpk_lt_u32 s2, 0xff80", scalars={2: 0xFF7F}).scc[0]


def test_wide_bit_fields_stop_at_the_register() -> None:
    scalars = {0: 0x87654321, 1: 40 << 16 | 4}
    assert run_lanes("s_bfe_u32 s2, s0, s1", scalars=scalars).sgpr[2, 0] == 0x08765432
    assert run_lanes("s_bfe_i32 s2, s0, s1", scalars=scalars).sgpr[2, 0] == 0xF8765432


def test_exec_decides_at_once() -> None:
    machine = run_lanes(
        "s_and_saveexec_b64 s[2:3], s[0:1]\nv_mov_b32_e32 v0, 7\ns_mov_b64 exec, s[2:3]",
        {0: 1},
        {0: 0b110, 1: 0},
    )
    assert machine.vgpr[0, 0, :4].tolist() == [1, 7, 7, 1]
    assert mask(machine, 126) == 2**64 - 1
    assert machine.scc[0]


def test_every_scalar_pair_is_read_before_it_is_written() -> None:
    machine = run_lanes("s_lshl_b64 s[0:1], s[0:1], s0", scalars={0: 33, 1: 0})
    assert mask(machine, 0) == 33 << 33
    assert np.array_equal(machine.sgpr[:2, 0], [0, 66])
