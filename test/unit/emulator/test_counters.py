# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counters by class, LDS cycles by the bank model, and the annotated text."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.emulator.annotate import annotate
from bankwise.emulator.chips import CHIPS
from bankwise.emulator.counters import Counted, Counters, shown_name, totals
from bankwise.emulator.global_memory import GlobalMemory

from .small_kernels import LANES, assembly, descriptor, run

WRITES = "\tds_write_b32 v1, v2\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32 v3, v1"


def lds_counts(machine) -> list[int]:
    counted = totals(machine.kernel, machine.counters)
    return [counted[name] for name in ("SQ_LDS_BANK_CONFLICT", "LDS_CYCLES", "LDS_FLOOR_CYCLES")]


@pytest.mark.parametrize(
    ("stride", "counts"),
    [
        # 2 phases of 32 lanes on 32 banks; at a stride of two words pairs of lanes share a bank.
        (4, [0, 4, 4]),
        (8, [4, 8, 4]),
        (128, [124, 128, 4]),
        (0, [0, 4, 4]),
    ],
)
def test_conflicts_of_words(stride: int, counts: list[int]):
    machine = run(
        WRITES if stride else WRITES.replace("ds_write_b32 v1", "ds_write_b32 v4"),
        vectors={1: stride * LANES, 2: 0, 4: stride * LANES},
        lds_bytes=8192,
    )
    assert lds_counts(machine) == counts


def test_both_halves_of_a_pair_count():
    """Each half is an access of 8 bytes: 4 phases of 16 lanes."""
    machine = run(
        "\tds_write2_b64 v1, v[2:3], v[4:5] offset1:1",
        vectors={1: 16 * LANES, **dict.fromkeys(range(2, 6), 0)},
        lds_bytes=2048,
    )
    assert lds_counts(machine) == [8, 16, 8]


def test_phases_are_the_chips():
    """64 banks serve 32 lanes of ds_read_b64 on gfx950, 32 banks 16 lanes on gfx942."""
    code = "\tds_write_b64 v1, v[2:3]\n\tds_read_b64 v[4:5], v1"
    for arch, reads in (("gfx942", 4), ("gfx950", 2)):
        machine = run(code, arch=arch, vectors={1: 8 * LANES, 2: 0, 3: 0}, lds_bytes=512)
        assert machine.counters.lds_cycles[:2].tolist() == [4, reads]


def test_inactive_lanes_cost_nothing():
    machine = run(
        "\tds_write_b32 v1, v2",
        vectors={1: 128 * LANES, 2: 0},
        lds_bytes=8192,
        active=0b101,
    )
    assert lds_counts(machine) == [1, 2, 1]


def test_repeated_instructions_count_each_time():
    """Three rounds at the same addresses, then at conflicting ones, for two workgroups."""
    code = """\ts_mov_b32 s10, 3
.LBB0_1:
\tds_write_b32 v1, v2
\ts_sub_u32 s10, s10, 1
\ts_cmp_lg_u32 s10, 0
\ts_cbranch_scc1 .LBB0_1
\tv_lshlrev_b32_e32 v1, 1, v1
\ts_mov_b32 s10, 1
\ts_add_u32 s11, s11, 1
\ts_cmp_lt_u32 s11, 2
\ts_cbranch_scc1 .LBB0_1"""
    machine = run(code, workgroups=2, vectors={1: 4 * LANES, 2: 0}, scalars={11: 0}, lds_bytes=1024)
    assert machine.counters.executions[1] == 8
    assert machine.counters.lds_conflict_cycles[1] == 2 * 2


def test_classes_of_instructions():
    memory = GlobalMemory()
    address = memory.allocate(1024)
    machine = run(
        """\ts_mov_b32 s10, 0
\ts_load_dword s11, s[4:5], 0x0
\tbuffer_load_dword v3, v1, s[4:7], 0 offen
\ts_waitcnt vmcnt(0)
\tbuffer_store_dword v3, v1, s[4:7], 0 offen
\tds_write_b32 v1, v3
\tds_swizzle_b32 v3, v3 offset:swizzle(SWAP,1)
\ts_waitcnt lgkmcnt(0)
\tv_mov_b32_e32 v4, 0
\tv_mfma_f32_16x16x4_f32 v[4:7], v4, v4, 0
\ts_waitcnt vmcnt(0)
\ts_barrier
\ts_branch .LBB0_1
.LBB0_1:""",
        threads=128,
        vectors={1: np.stack([4 * LANES, 256 + 4 * LANES])},
        scalars=descriptor(memory, address, 1024),
        lds_bytes=512,
        memory=memory,
    )
    counted = totals(machine.kernel, machine.counters)
    # rocprof's SQ_INSTS_VALU includes the matrix instructions.
    assert {name: value for name, value in counted.items() if name.startswith("SQ_INSTS")} == {
        "SQ_INSTS_VALU": 4,
        "SQ_INSTS_MFMA": 2,
        "SQ_INSTS_SALU": 2,
        "SQ_INSTS_SMEM": 2,
        "SQ_INSTS_BRANCH": 2,
        "SQ_INSTS_VMEM_RD": 2,
        "SQ_INSTS_VMEM_WR": 2,
        "SQ_INSTS_LDS": 4,
    }
    assert counted["GLOBAL_TRANSACTIONS_64B"] == 2 * 2 * 4
    assert counted["GLOBAL_USEFUL_BYTES"] == 2 * 2 * 256


def test_runs_add_up():
    first, second = Counters.zeros(2), Counters.zeros(2)
    first.executions[:] = 1, 2
    second.executions[:] = 3, 4
    second.lds_cycles[1] = 5
    both = Counters.sum([first, second])
    assert both.executions.tolist() == [4, 6]
    assert both.lds_cycles.tolist() == [0, 5]


def test_annotation_marks_conflicts():
    code = "\tv_mov_b32_e32 v2, 0\n\tds_write_b32 v1, v2\n\tds_read_b32 v3, v2"
    machine = run(code, vectors={1: 8 * LANES}, lds_bytes=512)
    text = annotate(assembly(code, lds_bytes=512), machine.kernel, machine.counters)
    rows = text.splitlines()
    assert rows[0].split() == ["executions", "conflicts"]
    assert rows[1].strip() == "k:"
    assert rows[2].split() == ["1", "v_mov_b32_e32", "v2,", "0"]
    assert rows[3].split() == [">", "1", "2", "ds_write_b32", "v1,", "v2"]
    assert rows[4].split() == ["1", "ds_read_b32", "v3,", "v2"]
    assert rows[5].split() == ["1", "s_endpgm"]
    # Lane n writes at 8 n: four lanes of a phase of 32 meet every 128 bytes.
    assert rows[6:] == [
        "",
        "what would help, each tried alone on the bank model",
        f"  ds_write_b32 of line {machine.kernel.instructions[1].line}: 2 conflict cycles a wave; "
        "4 bytes of padding behind every 128 bytes: 0 or address ^ (address / 128 % 2 * 4): 0",
    ]


def test_annotation_sums_conflicts_up_by_source_line():
    """Lines 7 and 9 of the source conflict, and so does an instruction of no line."""
    code = """\t.file\t1 "kernel.hip"
\t.loc\t1 7 3
\tv_mov_b32_e32 v2, 0
\tds_write_b32 v1, v2
\tds_write_b32 v1, v2
\t.loc\t1 9 1
\tds_write_b32 v1, v2
\tds_read_b32 v3, v2
\t.loc\t1 0 0
\tds_write_b32 v1, v2"""
    machine = run(code, vectors={1: 8 * LANES}, lds_bytes=512)
    text = annotate(assembly(code, lds_bytes=512), machine.kernel, machine.counters)
    rows = text.splitlines()
    assert rows[0].split() == ["executions", "conflicts", "source"]
    assert [row.split() for row in rows[4:8]] == [
        ["1", "v_mov_b32_e32", "v2,", "0"],
        [">", "1", "2", "kernel.hip:7", "ds_write_b32", "v1,", "v2"],
        [">", "1", "2", "kernel.hip:7", "ds_write_b32", "v1,", "v2"],
        [".loc", "1", "9", "1"],
    ]
    code_rows = rows[: rows.index("conflict cycles by source line")]
    columns = {len(row) - len(row[row.index("ds_") :]) for row in code_rows if "ds_" in row}
    assert len(columns) == 1
    last = rows.index("what would help, each tried alone on the bank model")
    assert [row.split() for row in rows[last - 6 : last - 1]] == [
        ["conflict", "cycles", "by", "source", "line"],
        ["conflicts", "of", "all", "executions", "source"],
        ["4", "50.0%", "2", "kernel.hip:7"],
        ["2", "25.0%", "1", "(no", "source", "line)"],
        ["2", "25.0%", "1", "kernel.hip:9"],
    ]
    (help_,) = rows[last + 1 :]
    assert help_.startswith("  ds_write_b32 of line kernel.hip:7, kernel.hip:9, 12: 2 conflict")


@pytest.mark.parametrize(
    ("arch", "name"),
    [("gfx950", "SQ_LDS_BANK_CONFLICT"), ("gfx1100", "SQC_LDS_BANK_CONFLICT")],
)
def test_a_counter_is_called_as_on_the_chip(arch: str, name: str) -> None:
    assert shown_name(Counted.CONFLICTS, CHIPS[arch]) == name
    assert shown_name(Counted.LDS, CHIPS[arch]) == "SQ_INSTS_LDS"


def test_what_rdna_executes_is_counted() -> None:
    code = """\tds_store_b32 v1, v2
\ts_wait_dscnt 0x0
\ts_barrier_signal -1
\ts_barrier_wait -1
\tds_load_2addr_stride64_b32 v[4:5], v1 offset1:1
\ts_prefetch_data s[2:3], 0x0, s4, 0
\ts_mov_b32 s5, 0
\tv_mov_b32_e32 v3, v2"""
    vectors = {1: np.arange(0, 256, 4).reshape(2, 32), 2: 0}
    machine = run(code, arch="gfx1201", threads=64, lds_bytes=1024, vectors=vectors)
    counted = totals(machine.kernel, machine.counters)
    assert {name: count for name, count in counted.items() if count} == {
        "SQ_INSTS_VALU": 2,
        "SQ_INSTS_SALU": 2,
        "SQ_INSTS_SMEM": 2,
        "SQ_INSTS_LDS": 4,
        "LDS_CYCLES": 6,
        "LDS_FLOOR_CYCLES": 6,
    }
