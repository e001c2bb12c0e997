# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each instruction needs of the hardware."""

from __future__ import annotations

from itertools import pairwise

import pytest

from bankwise.bench.timing_pieces import piece
from bankwise.emulator.timing.constants import CHIPS
from bankwise.emulator.timing.instruction_needs import (
    NO_WAIT,
    Column,
    Kind,
    code_bytes,
    kernel_code,
)

V, A, S, SCC = 0, 256, 512, 640
VCC = S + 106


def row(text: str, arch: str = "gfx942") -> tuple[list[int], list[set[int]]]:
    """Returns the columns up to SECOND, and the registers read, added to and written."""
    code = kernel_code(piece(text, arch), CHIPS[arch])
    columns = code.table[0].tolist()
    places = columns[Column.READS : Column.END + 1]
    parts = [set(code.registers[a:b].tolist()) for a, b in pairwise(places)]
    return columns[: Column.READS], parts


@pytest.mark.parametrize(
    ("text", "reads", "adds", "writes"),
    [
        ("v_add_f32_e32 v1, v2, v3", {2, 3}, set(), {1}),
        ("v_fmac_f32_e32 v1, v2, v3", {1, 2, 3}, set(), {1}),
        ("v_cndmask_b32_e32 v1, v2, v3, vcc", {2, 3, VCC, VCC + 1}, set(), {1}),
        ("v_cmp_gt_f32_e32 vcc, v2, v3", {2, 3}, set(), {VCC, VCC + 1}),
        ("v_add_co_u32_e32 v1, vcc, v2, v3", {2, 3}, set(), {1, VCC, VCC + 1}),
        ("v_accvgpr_read_b32 v1, a2", {A + 2}, set(), {1}),
        (
            "v_mfma_f32_16x16x16_f16 a[0:3], v[2:3], v[4:5], a[4:7]",
            {2, 3, 4, 5},
            {A + 4, A + 5, A + 6, A + 7},
            {A, A + 1, A + 2, A + 3},
        ),
        ("s_add_u32 s1, s2, s3", {S + 2, S + 3}, set(), {S + 1}),
        ("s_cmp_lg_u32 s1, 0", {S + 1}, set(), {SCC}),
        ("ds_read_b64 v[2:3], v1", {1}, set(), set()),
        ("ds_write_b64 v1, v[2:3]", {1, 2, 3}, set(), set()),
        ("ds_bpermute_b32 v1, v2, v3", {2, 3}, set(), set()),
        ("global_load_dword v1, v2, s[4:5]", {2, S + 4, S + 5}, set(), set()),
        ("global_store_dword v1, v2, s[4:5]", {1, 2, S + 4, S + 5}, set(), set()),
    ],
)
def test_registers(text: str, reads: set[int], adds: set[int], writes: set[int]) -> None:
    assert row(text)[1] == [reads, adds, writes]


@pytest.mark.parametrize(
    ("text", "arch", "rows", "path"),
    [
        ("ds_read_b32 v2, v1", "gfx942", 1, 4),
        ("ds_read_u8 v2, v1", "gfx942", 1, 4),
        ("ds_read_b64 v[2:3], v1", "gfx942", 1, 8),
        ("ds_read_b96 v[2:4], v1", "gfx942", 1, 16),
        ("ds_read_b128 v[2:5], v1", "gfx942", 1, 16),
        ("ds_read2_b64 v[2:5], v1 offset1:1", "gfx942", 1, 16),
        ("ds_read_b64 v[2:3], v1", "gfx950", 1, 4),
        ("ds_read_b96 v[2:4], v1", "gfx950", 1, 16),
        ("ds_read_b128 v[2:5], v1", "gfx950", 1, 8),
        ("ds_read_b64_tr_b16 v[2:3], v1", "gfx950", 1, 4),
        ("ds_write_b32 v1, v2", "gfx942", 2, 4),
        ("ds_write_b128 v1, v[2:5]", "gfx950", 5, 16),
        ("ds_write2_b64 v1, v[2:3], v[4:5] offset1:1", "gfx942", 5, 16),
    ],
)
def test_lds_instructions(text: str, arch: str, rows: int, path: int) -> None:
    """`rows` are places in the queue, `path` the cycles for which two SIMDs' path is busy."""
    columns, _ = row(text, arch)
    assert columns[Column.KIND] == Kind.LDS
    assert columns[Column.BUSY] == 4 * rows
    assert columns[Column.FIRST :] == [rows, path]


def test_waits_name_their_counters() -> None:
    assert row("s_waitcnt vmcnt(2)")[0][Column.FIRST :] == [2, NO_WAIT]
    assert row("s_waitcnt vmcnt(1) lgkmcnt(3)")[0][Column.FIRST :] == [1, 3]


@pytest.mark.parametrize(
    ("text", "cycles", "latency"),
    [
        ("v_add_f32_e32 v1, v2, v3", 4, 4),
        ("v_exp_f32_e32 v1, v2", 16, 16),
        ("v_rcp_iflag_f32_e32 v1, v2", 16, 16),
        ("v_mul_lo_u32 v1, v2, v3", 16, 16),
    ],
)
def test_rates_of_vector_instructions(text: str, cycles: int, latency: int) -> None:
    columns, _ = row(text)
    assert (columns[Column.BUSY], columns[Column.LATENCY]) == (cycles, latency)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("v_add_f32_e32 v1, v2, v3", 4),
        ("v_add_f32_e32 v1, 0x42280000, v3", 8),
        ("v_add_f32_e32 v1, 1.0, v3", 4),
        ("v_add_f32_e64 v1, v2, -v3", 8),
        ("v_fma_f32 v1, v2, v3, v4", 8),
        ("s_add_u32 s1, s2, 64", 4),
        ("s_add_u32 s1, s2, 65", 8),
        ("s_waitcnt lgkmcnt(0)", 4),
        ("ds_read_b32 v2, v1", 8),
        ("v_mfma_f32_4x4x1_16b_f32 a[0:3], v1, v2, a[0:3]", 8),
        ("v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3], v20, v21", 16),
    ],
)
def test_bytes_of_instructions(text: str, count: int) -> None:
    """The bytes are those that llvm-mc writes, for gfx950 where gfx942 lacks an instruction."""
    assert code_bytes(piece(text).instructions[0]) == count
