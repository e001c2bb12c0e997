# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registers that M0 chooses: `s_set_gpr_idx_*`, `s_movrels` and `s_movreld`."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.emulator.emulation_errors import EmulationError

from .small_kernels import LANES, run

TABLE = {10 + k: 100 * k + LANES for k in range(4)}
"""v10 to v13."""


def test_move_from_an_indexed_register() -> None:
    code = """
\ts_set_gpr_idx_on s8, gpr_idx(SRC0)
\tv_mov_b32_e32 v5, v10
\ts_set_gpr_idx_off
\tv_mov_b32_e32 v6, v10"""
    machine = run(code, vectors=TABLE, scalars={8: 2})
    assert (machine.vgpr[5, 0] == 200 + LANES).all()
    assert (machine.vgpr[6, 0] == LANES).all()


def test_waves_of_different_indices() -> None:
    code = """
\ts_set_gpr_idx_on s8, gpr_idx(DST)
\tv_mov_b32_e32 v10, v5
\ts_set_gpr_idx_off"""
    machine = run(code, threads=256, vectors={**TABLE, 5: 7}, scalars={8: [3, 0, 3, 1]})
    written = [[(machine.vgpr[10 + k, wave] == 7).all() for k in range(4)] for wave in range(4)]
    assert np.array_equal(written, np.eye(4, dtype=bool)[[3, 0, 3, 1]])


def test_only_named_places_are_indexed_and_only_lanes_that_take_part() -> None:
    code = """
\ts_set_gpr_idx_on s8, gpr_idx(SRC1,DST)
\tv_add_u32_e32 v20, v10, v10
\ts_set_gpr_idx_off"""
    before = {20 + k: 0 for k in range(4)}
    machine = run(code, vectors={**TABLE, **before}, scalars={8: 3}, active=0xFF)
    assert np.array_equal(machine.vgpr[23, 0], np.where(LANES < 8, 300 + 2 * LANES, 0))
    assert not machine.vgpr[20:23].any()


def test_index_and_places_change_while_registers_are_indexed() -> None:
    code = """
\ts_set_gpr_idx_on s8, 1
\tv_mov_b32_e32 v5, v10
\ts_set_gpr_idx_idx s9
\tv_mov_b32_e32 v6, v10
\ts_set_gpr_idx_mode gpr_idx()
\tv_mov_b32_e32 v7, v10
\ts_set_gpr_idx_off"""
    machine = run(code, vectors=TABLE, scalars={8: 0x101, 9: 3})
    assert [int(machine.vgpr[5 + k, 0, 0]) for k in range(3)] == [100, 300, 0]


def test_moves_of_indexed_scalars() -> None:
    code = """
\ts_movrels_b32 s4, s20
\ts_movrels_b64 s[6:7], s[20:21]
\ts_movreld_b32 s30, s21"""
    table = {20 + k: [10 + k, 50 + k] for k in range(4)}
    machine = run(code, threads=128, scalars={**table, 124: [1, 2]})
    assert machine.sgpr[4].tolist() == [11, 52]
    assert machine.sgpr[6:8].tolist() == [[11, 52], [12, 53]]
    assert machine.sgpr[31, 0] == 11
    assert machine.sgpr[32, 1] == 51


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "\ts_set_gpr_idx_on s8, gpr_idx(SRC0)\n\tv_mov_b32_e32 v5, v10\n\ts_set_gpr_idx_off",
            r"small.s:4: the index in M0 names v210, which the kernel does not have",
        ),
        (
            "\ts_set_gpr_idx_on s8, gpr_idx(SRC0)\n.L1:\n\tv_nop\n\ts_set_gpr_idx_off",
            r"small.s:5: there is no model of control flow between",
        ),
        (
            "\ts_set_gpr_idx_on s8, gpr_idx(SRC0)\n\tv_readlane_b32 s1, v0, s2",
            r"small.s:4: there is no model of 'v_readlane_b32' with indexed registers",
        ),
        ("\ts_set_gpr_idx_on s8, gpr_idx(SRC4)", "'SRC4' is none of SRC0, SRC1, SRC2, DST"),
    ],
)
def test_what_is_refused(code: str, message: str) -> None:
    with pytest.raises(EmulationError, match=message):
        run(code, vectors=TABLE, scalars={8: 200})
