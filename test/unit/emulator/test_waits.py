# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Uses of registers before a load has written them, found without running the kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.emulator.chips import CHIPS
from bankwise.emulator.emulation_errors import MissingWaitError
from bankwise.emulator.instruction_text import AssemblyError, parse_instruction
from bankwise.emulator.waits import MissingWait, Queue, check_waits, waited_for

from .small_kernels import kernel, run


def missing(code: str, arch: str = "gfx942") -> list[tuple[int, str, int, str]]:
    """Returns the line of the use, the register, the line of the load and the wait needed.

    The code starts in line 1.
    """
    parsed = kernel("\n".join(f"\t{line.strip()}" for line in code.strip().splitlines()), arch=arch)
    first = parsed.instructions[0].line

    def line(index: int) -> int:
        return parsed.instructions[index].line - first + 1

    return [
        (
            line(found.instruction),
            found.register,
            line(found.load),
            found.needed.removeprefix("s_waitcnt "),
        )
        for found in check_waits(parsed).missing
    ]


def test_counts_of_older_and_younger_loads() -> None:
    loads = """global_load_dword v1, v0, s[2:3]
               global_load_dword v2, v0, s[2:3] offset:4
               global_store_dword v0, v9, s[2:3]
               """
    assert missing(loads + "v_mov_b32_e32 v4, v1") == [(4, "v1", 1, "vmcnt(2)")]
    assert missing(loads + "v_mov_b32_e32 v4, v2") == [(4, "v2", 2, "vmcnt(1)")]
    assert missing(loads + "s_waitcnt vmcnt(2)\nv_mov_b32_e32 v4, v1") == []
    assert missing(loads + "s_waitcnt vmcnt(3)\nv_mov_b32_e32 v4, v1") == [(5, "v1", 1, "vmcnt(2)")]
    assert missing(loads + "s_waitcnt vmcnt(2)\nv_mov_b32_e32 v4, v2") == [(5, "v2", 2, "vmcnt(1)")]
    assert missing(loads + "s_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v4, v1") != []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        # Every kind of load.
        ("ds_read_b32 v1, v0\nv_mov_b32_e32 v4, v1", (2, "v1", 1, "lgkmcnt(0)")),
        ("ds_read_b128 v[4:7], v0\nv_mov_b32_e32 v1, v7", (2, "v7", 1, "lgkmcnt(0)")),
        ("ds_read_u16_d16_hi v1, v0\nv_mov_b32_e32 v4, v1", (2, "v1", 1, "lgkmcnt(0)")),
        ("ds_bpermute_b32 v1, v0, v2\nv_mov_b32_e32 v4, v1", (2, "v1", 1, "lgkmcnt(0)")),
        ("ds_swizzle_b32 v1, v0 offset:1\nv_mov_b32_e32 v4, v1", (2, "v1", 1, "lgkmcnt(0)")),
        ("ds_add_rtn_u32 v1, v0, v2\nv_mov_b32_e32 v4, v1", (2, "v1", 1, "lgkmcnt(0)")),
        ("s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_mov_b32 s6, s5", (2, "s5", 1, "lgkmcnt(0)")),
        ("s_memtime s[4:5]\ns_mov_b32 s6, s5", (2, "s5", 1, "lgkmcnt(0)")),
        ("s_load_dwordx2 vcc, s[0:1], 0x0\ns_cbranch_vccz .Lend\n.Lend:",
         (2, "vcc_lo", 1, "lgkmcnt(0)")),
        ("buffer_load_dword v1, v0, s[4:7], 0 offen\nv_mov_b32_e32 v4, v1",
         (2, "v1", 1, "vmcnt(0)")),
        ("buffer_load_dword a1, v0, s[4:7], 0 offen\nv_accvgpr_read_b32 v4, a1",
         (2, "a1", 1, "vmcnt(0)")),
        ("flat_load_dword v1, v[2:3]\nv_mov_b32_e32 v4, v1", (2, "v1", 1, "vmcnt(0) lgkmcnt(0)")),
        ("global_atomic_add v1, v0, v2, s[2:3] sc0\nv_mov_b32_e32 v4, v1",
         (2, "v1", 1, "vmcnt(0)")),
        ("buffer_atomic_add v1, v0, s[4:7], 0 offen sc0\nv_mov_b32_e32 v4, v1",
         (2, "v1", 1, "vmcnt(0)")),
        # Every kind of use.
        ("ds_read_b32 v1, v0\nds_write_b32 v0, v1", (2, "v1", 1, "lgkmcnt(0)")),
        ("ds_read_b32 v1, v0\nds_read_b32 v2, v1", (2, "v1", 1, "lgkmcnt(0)")),
        ("ds_read_b32 v1, v0\nglobal_store_dword v1, v2, s[2:3]", (2, "v1", 1, "lgkmcnt(0)")),
        ("ds_read_b32 v1, v0\nv_mov_b32_e32 v1, 0", (2, "v1", 1, "lgkmcnt(0)")),
        ("ds_read_b32 v1, v0\nglobal_load_dword v1, v0, s[2:3]", (2, "v1", 1, "lgkmcnt(0)")),
        ("ds_read_b32 v1, v0\nv_mfma_f32_32x32x1_2b_f32 a[0:31], v0, v1, 0",
         (2, "v1", 1, "lgkmcnt(0)")),
        ("s_load_dword s4, s[0:1], 0x0\ns_load_dword s4, s[0:1], 0x4", (2, "s4", 1, "lgkmcnt(0)")),
        ("s_load_dword m0, s[0:1], 0x0\nbuffer_load_dword v0, s[4:7], 0 offen lds",
         (2, "m0", 1, "lgkmcnt(0)")),
        ("buffer_load_dword v1, v0, s[4:7], 0 offen\nbuffer_atomic_add v1, v0, s[4:7], 0 offen sc0",
         (2, "v1", 1, "vmcnt(0)")),
    ],
)  # fmt: skip
def test_a_missing_wait(code: str, found: tuple[int, str, int, str]) -> None:
    assert missing(code) == [found]
    load, *rest = code.splitlines()
    assert missing("\n".join([load, f"s_waitcnt {found[3]}", *rest])) == []


@pytest.mark.parametrize(
    "code",
    [
        # In one queue a younger load finishes later, also where each brings half of a register.
        "ds_read_u16_d16 v1, v0\nds_read_u16_d16_hi v1, v0\ns_waitcnt lgkmcnt(0)\nv_not_b32 v1, v1",
        "global_load_dword v1, v0, s[2:3]\nglobal_load_dword v1, v0, s[2:3]",
        # Neither writes a register.
        "buffer_load_dword v0, s[4:7], 0 offen lds\nv_mov_b32_e32 v0, 0",
        "global_atomic_add v0, v2, s[2:3]\nv_mov_b32_e32 v2, 0",
        "ds_add_u32 v0, v2\nv_mov_b32_e32 v2, 0",
        # What a store reads, it reads as it is issued.
        "global_store_dword v0, v1, s[2:3]\nv_mov_b32_e32 v1, 0",
        # No one uses it.
        "ds_read_b32 v1, v0",
        "s_load_dword s4, s[0:1], 0x0",
        # The address may be replaced by what is loaded.
        "ds_read_b32 v0, v0\ns_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v1, v0",
    ],
)
def test_no_wait_is_needed(code: str) -> None:
    assert missing(code) == []


def test_scalar_loads_finish_in_any_order() -> None:
    code = """s_load_dword s4, s[0:1], 0x0
              s_load_dword s5, s[0:1], 0x4
              s_waitcnt lgkmcnt(1)
              s_mov_b32 s6, s4"""
    assert missing(code) == [(4, "s4", 1, "lgkmcnt(0)")]


def test_lds_keeps_its_order_beside_scalar_loads() -> None:
    """lgkmcnt(1) leaves one of three under way: not both of the LDS, but maybe the scalar one."""
    code = """ds_read_b32 v1, v0
              s_load_dword s4, s[0:1], 0x0
              ds_read_b32 v2, v0 offset:4
              s_waitcnt lgkmcnt(1)
              v_mov_b32_e32 v5, v1
              v_mov_b32_e32 v6, v2
              s_mov_b32 s5, s4"""
    assert missing(code) == [(6, "v2", 3, "lgkmcnt(0)"), (7, "s4", 2, "lgkmcnt(0)")]


def test_a_flat_load_needs_both_counters() -> None:
    code = "flat_load_dword v1, v[2:3]\ns_waitcnt {}\nv_mov_b32_e32 v4, v1"
    for half in ("vmcnt(0)", "lgkmcnt(0)"):
        assert missing(code.format(half)) == [(3, "v1", 1, "vmcnt(0) lgkmcnt(0)")]


def test_the_worst_path_counts() -> None:
    code = """global_load_dword v1, v0, s[2:3]
              s_cbranch_scc0 .Lshort
              global_load_dword v2, v0, s[2:3]
              .Lshort:
              s_waitcnt vmcnt(1)
              v_mov_b32_e32 v4, v1"""
    assert missing(code) == [(6, "v1", 1, "vmcnt(0)")]


def test_a_load_of_the_last_iteration_of_a_loop() -> None:
    code = """v_mov_b32_e32 v1, 0
              .Lloop:
              v_add_f32_e32 v4, v4, v1
              ds_read_b32 v1, v0
              s_cbranch_scc1 .Lloop"""
    assert missing(code) == [(3, "v1", 4, "lgkmcnt(0)")]
    waiting = code.replace("v_add_f32", "s_waitcnt lgkmcnt(0)\nv_add_f32")
    assert missing(waiting) == []


def test_a_pipelined_loop() -> None:
    """Two loads are always under way; the older one is settled by vmcnt(1)."""
    code = """global_load_dword v1, v0, s[2:3]
              global_load_dword v2, v0, s[2:3]
              .Lloop:
              s_waitcnt vmcnt({})
              v_add_f32_e32 v4, v4, v1
              global_load_dword v1, v0, s[2:3]
              s_waitcnt vmcnt({})
              v_add_f32_e32 v4, v4, v2
              global_load_dword v2, v0, s[2:3]
              s_cbranch_scc1 .Lloop"""
    assert missing(code.format(1, 1)) == []
    assert missing(code.format(2, 1)) == [(5, "v1", 1, "vmcnt(1)")]
    assert missing(code.format(1, 2)) == [(8, "v2", 2, "vmcnt(1)")]


def test_accesses_under_way_at_a_barrier() -> None:
    code = "\tds_write_b32 v0, v1\n\tds_read_b32 v2, v0 offset:64\n{}\ts_barrier"
    for wait, expected in (
        ("", {0, 1}),
        ("\ts_waitcnt lgkmcnt(1)\n", {1}),
        ("\ts_waitcnt lgkmcnt(0)\n", set()),
    ):
        (found,) = check_waits(kernel(code.format(wait))).unfinished.values() or ({},)
        assert set(found) == expected


def test_accesses_of_one_path_at_a_barrier() -> None:
    """On the path through the branch, the first write is the youngest and may be under way."""
    code = """\tds_write_b32 v0, v1
\ts_cbranch_scc0 .Lskip
\tds_write_b32 v0, v1 offset:512
.Lskip:
\ts_waitcnt lgkmcnt({})
\ts_barrier"""
    assert check_waits(kernel(code.format(1))).unfinished == {4: {0, 2}}
    assert check_waits(kernel(code.format(0))).unfinished == {}
    skipped = code.replace("\tds_write_b32 v0, v1\n", "", 1)
    assert check_waits(kernel(skipped.format(1))).unfinished == {3: {1}}


def test_the_message() -> None:
    parsed = kernel("\tds_read_b32 v1, v0\n\tv_mov_b32_e32 v2, v1")
    (found,) = check_waits(parsed).missing
    assert found == MissingWait(1, "v1", 0, "s_waitcnt lgkmcnt(0)")
    assert found.message(parsed) == (
        "v1 is used before the load of line 3 ('ds_read_b32 v1, v0') has written it for certain: "
        "'s_waitcnt lgkmcnt(0)' is needed between them"
    )


V, F, L, FL, S = Queue.VECTOR, Queue.FLAT_VECTOR, Queue.LDS, Queue.FLAT_LDS, Queue.SCALAR
STORES = Queue.STORES


@pytest.mark.parametrize("load", ["global_load_d16_u8 v1, v0, s[2:3]", "ds_load_u16_d16 v1, v0"])
@pytest.mark.parametrize(
    ("use", "register"),
    [
        # What has to do with the other half alone need not wait.
        ("v_mov_b16_e32 v4.l, v1.h", ""),
        ("v_mov_b16_e32 v1.h, v4.l", ""),
        ("buffer_load_d16_hi_i8 v1, v0, s[4:7], 0 offen", ""),
        ("ds_load_u8_d16_hi v1, v0", ""),
        ("ds_store_b8_d16_hi v0, v1", ""),
        ("global_store_d16_hi_b16 v0, v1, s[2:3]", ""),
        ("v_mov_b16_e32 v4.l, v1.l", "v1.l"),
        ("v_mov_b16_e32 v1.l, v4.l", "v1.l"),
        ("v_mov_b32_e32 v4, v1", "v1.l"),
        ("ds_store_b16 v0, v1", "v1.l"),
        ("ds_store_b8_d16_hi v1, v2", "v1.l"),
        ("buffer_store_b8 v1, v0, s[4:7], 0 offen", "v1.l"),
        ("global_store_b32 v0, v1, s[2:3]", "v1.l"),
    ],
)
def test_halves_of_a_register_are_loaded_apart_since_rdna3(
    load: str, use: str, register: str
) -> None:
    found = [each[1] for each in missing(f"{load}\n{use}", "gfx1100")]
    assert found == ([register] if register else [])


def test_arithmetic_of_gfx1250_may_change_the_other_half() -> None:
    code = "global_load_d16_b16 v1, v0, s[2:3]\n"
    assert missing(code + "v_mov_b16_e32 v1.h, v4.l", "gfx1250")[0][1] == "v1.l"
    assert missing(code + "global_load_d16_hi_b16 v1, v0, s[2:3]", "gfx1250") == []


def vm(count: int) -> dict[Queue, int]:
    """Returns what a wait for loads from memory says."""
    return {V: count, F: count}


def lgkm(count: int) -> dict[Queue, int]:
    """Returns what a wait for the LDS and for scalar memory says, where one counter has both."""
    return {L: count, S: count, FL: count}


@pytest.mark.parametrize(
    ("arch", "text", "counts"),
    [
        ("gfx942", "s_waitcnt vmcnt(0)", vm(0)),
        ("gfx942", "s_waitcnt vmcnt(2) lgkmcnt(0)", {**vm(2), **lgkm(0)}),
        ("gfx942", "s_waitcnt vmcnt(2) & expcnt(1) & lgkmcnt(3)", {**vm(2), **lgkm(3)}),
        ("gfx942", "s_waitcnt expcnt(0)", {}),
        ("gfx942", "s_waitcnt 0", {**vm(0), **lgkm(0)}),
        ("gfx942", "s_waitcnt 0xcf7f", {}),
        ("gfx942", "s_waitcnt 0xc07f", lgkm(0)),
        ("gfx942", "s_waitcnt 0x8f71", vm(33)),
        # The numbers of RDNA3 are those that llvm-mc writes for the names.
        ("gfx1100", "s_waitcnt vmcnt(0) lgkmcnt(1)", {**vm(0), **lgkm(1)}),
        ("gfx1100", "s_waitcnt 0x17", {**vm(0), **lgkm(1)}),
        ("gfx1100", "s_waitcnt 0xfc07", lgkm(0)),
        ("gfx1100", "s_waitcnt 0xfff7", {}),
        ("gfx1100", "s_waitcnt lgkmcnt(40)", lgkm(40)),
        ("gfx1151", "s_waitcnt_vscnt null, 0x0", {STORES: 0}),
        ("gfx1100", "s_waitcnt_vmcnt null, 0x3", vm(3)),
        ("gfx1100", "s_waitcnt_lgkmcnt null, 2", lgkm(2)),
        ("gfx1100", "s_waitcnt_expcnt null, 0", {}),
        ("gfx1201", "s_wait_loadcnt 0x3", vm(3)),
        ("gfx1201", "s_wait_loadcnt 0x3f", {}),
        ("gfx1201", "s_wait_storecnt 0x0", {STORES: 0}),
        ("gfx1200", "s_wait_dscnt 0x24", {L: 36, FL: 36}),
        ("gfx1201", "s_wait_kmcnt 0x0", {S: 0}),
        ("gfx1201", "s_wait_kmcnt 0x1f", {}),
        ("gfx1201", "s_wait_loadcnt_dscnt 0x102", {**vm(1), L: 2, FL: 2}),
        ("gfx1201", "s_wait_storecnt_dscnt 0x3f02", {L: 2, FL: 2}),
        ("gfx1201", "s_wait_samplecnt 0x0", {}),
        ("gfx1201", "s_wait_bvhcnt 0x0", {}),
        ("gfx1201", "s_wait_expcnt 0x0", {}),
        ("gfx1201", "s_wait_idle", {**vm(0), **lgkm(0), STORES: 0}),
        ("gfx1100", "s_wait_idle", {**vm(0), **lgkm(0), STORES: 0}),
        ("gfx1250", "s_wait_asynccnt 0x1", {Queue.ASYNC: 1}),
        ("gfx1250", "s_wait_tensorcnt 0x0", {}),
        ("gfx1250", "s_wait_xcnt 0x0", {}),
    ],
)
def test_what_a_wait_waits_for(arch: str, text: str, counts: dict[Queue, int]) -> None:
    assert waited_for(parse_instruction(text, 1, CHIPS[arch])) == counts


@pytest.mark.parametrize(
    ("arch", "text", "why"),
    [
        ("gfx942", "s_waitcnt vscnt(0)", "where counters to wait for are expected"),
        ("gfx942", "s_waitcnt vmcnt(0) foo", "where counters to wait for are expected"),
        ("gfx942", "s_waitcnt lgkmcnt(16)", "lgkmcnt counts up to 15"),
        ("gfx1100", "s_waitcnt vmcnt(64)", "vmcnt counts up to 63"),
        ("gfx942", "s_waitcnt_vscnt null, 0", "gfx942 has no 's_waitcnt_vscnt': it waits by 's_wa"),
        ("gfx1100", "s_waitcnt_vscnt s3, 0", "'s3' where only 'null' is modelled"),
        ("gfx1100", "s_wait_loadcnt 0", "gfx1100 has no 's_wait_loadcnt': it waits by 's_waitcnt'"),
        ("gfx1201", "s_waitcnt vmcnt(0)", "gfx1201 has no 's_waitcnt': it waits by 's_wait_load"),
        ("gfx1201", "s_waitcnt_vscnt null, 0", "it waits by 's_wait_loadcnt' and its kind"),
        ("gfx942", "s_wait_idle", "gfx942 has no 's_wait_idle'"),
        ("gfx1201", "s_wait_loadcnt 0x40", "loadcnt counts up to 63"),
        ("gfx1201", "s_wait_kmcnt 0x20", "kmcnt counts up to 31"),
        ("gfx1201", "s_wait_asynccnt 0", "gfx1201 has no 'asynccnt' to wait for"),
        ("gfx1201", "s_wait_dscnt s3", "'s3' where a number from 0 to 65535 is expected"),
    ],
)
def test_what_is_no_wait(arch: str, text: str, why: str) -> None:
    with pytest.raises(AssemblyError, match=re.escape(why)):
        waited_for(parse_instruction(text, 1, CHIPS[arch]))


RDNA3_LOADS = "global_load_b32 v1, v0, s[2:3]\nglobal_store_b32 v0, v9, s[2:3]\n"


@pytest.mark.parametrize(
    ("arch", "code", "found"),
    [
        # Stores are no younger loads from RDNA on.
        ("gfx1100", RDNA3_LOADS + "v_mov_b32_e32 v4, v1", (3, "v1", 1, "vmcnt(0)")),
        ("gfx1201", RDNA3_LOADS + "v_mov_b32_e32 v4, v1", (3, "v1", 1, "s_wait_loadcnt 0x0")),
        ("gfx1100", "ds_load_b128 v[4:7], v0\nv_mov_b32_e32 v1, v7", (2, "v7", 1, "lgkmcnt(0)")),
        ("gfx1201", "ds_load_b128 v[4:7], v0\nv_mov_b32_e32 v1, v7",
         (2, "v7", 1, "s_wait_dscnt 0x0")),
        ("gfx1201", "ds_load_2addr_b64 v[4:7], v0\nds_load_b32 v8, v0\nds_store_b32 v0, v7",
         (3, "v7", 1, "s_wait_dscnt 0x1")),
        ("gfx1201", "ds_add_rtn_u32 v1, v0, v2\nv_mov_b32_e32 v4, v1",
         (2, "v1", 1, "s_wait_dscnt 0x0")),
        ("gfx1201", "s_load_b64 s[4:5], s[0:1], 0x0\ns_mov_b32 s6, s5",
         (2, "s5", 1, "s_wait_kmcnt 0x0")),
        ("gfx1201", "flat_load_b32 v1, v[2:3]\nv_mov_b32_e32 v4, v1",
         (2, "v1", 1, "s_wait_loadcnt_dscnt 0x0")),
        ("gfx1100", "global_atomic_add_u32 v1, v0, v2, s[2:3] glc\nv_mov_b32_e32 v4, v1",
         (2, "v1", 1, "vmcnt(0)")),
        ("gfx1201", "global_atomic_add_u32 v1, v0, v2, s[2:3] th:TH_ATOMIC_RETURN\n"
         "v_mov_b32_e32 v4, v1", (2, "v1", 1, "s_wait_loadcnt 0x0")),
        ("gfx1201", "scratch_load_b32 v1, off, off\nv_mov_b32_e32 v4, v1",
         (2, "v1", 1, "s_wait_loadcnt 0x0")),
        ("gfx1201", "s_barrier_signal_isfirst -1\ns_cbranch_scc0 .Lend\n.Lend:",
         (2, "scc", 1, "s_wait_kmcnt 0x0")),
    ],
)  # fmt: skip
def test_a_missing_wait_on_rdna(arch: str, code: str, found: tuple[int, str, int, str]) -> None:
    assert missing(code, arch) == [found]
    *before, last = code.splitlines()
    if ".Lend" in last:
        before, last = before[:1], "\n".join([*before[1:], last])
    wait = found[3] if found[3].startswith("s_wait") else f"s_waitcnt {found[3]}"
    assert missing("\n".join([*before, wait, last]), arch) == []


@pytest.mark.parametrize(
    "wait", ["s_wait_storecnt 0x0", "s_wait_dscnt 0x0", "s_wait_kmcnt 0x0", "s_wait_loadcnt 0x1"]
)
def test_another_counter_is_no_wait(wait: str) -> None:
    code = f"global_load_b32 v1, v0, s[2:3]\n{wait}\nv_mov_b32_e32 v4, v1"
    assert missing(code, "gfx1201") == [(3, "v1", 1, "s_wait_loadcnt 0x0")]


def test_accesses_under_way_at_a_signal() -> None:
    """What is under way as a wave signals may be so behind the barrier, whatever is waited for."""
    code = "\tds_store_b32 v0, v1\n{}\ts_barrier_signal -1\n{}\ts_barrier_wait -1"
    wait = "\ts_wait_dscnt 0x0\n"
    for before, behind, expected in (
        ("", "", {2: {0}}),
        ("", wait, {3: {0}}),
        (wait, "", {}),
        (wait, "\tds_store_b32 v0, v1\n", {}),
    ):
        parsed = kernel(code.format(before, behind), arch="gfx1201")
        assert check_waits(parsed).unfinished == expected


# -- against a machine that runs one path ----------------------------------------------------------


@dataclass(frozen=True)
class Op:
    """A load from memory or the LDS into a register, a use of one, or a wait."""

    kind: str
    number: int

    def text(self) -> str:
        return {
            "vector": f"global_load_dword v{self.number}, v0, s[2:3]",
            "lds": f"ds_read_b32 v{self.number}, v0",
            "use": f"v_mov_b32_e32 v9, v{self.number}",
            "vmcnt": f"s_waitcnt vmcnt({self.number})",
            "lgkmcnt": f"s_waitcnt lgkmcnt({self.number})",
        }[self.kind]


OPS = st.lists(
    st.builds(Op, st.sampled_from(("vector", "lds", "use", "vmcnt", "lgkmcnt")), st.integers(1, 4)),
    max_size=14,
)


def first_use_without_wait(ops: list[Op]) -> int | None:
    """Finds the use by queues of what is under way, as slow as the waits allow.

    The oldest comes first.
    """
    queues: dict[str, list[int]] = {"vector": [], "lds": []}
    of_counter = {"vmcnt": "vector", "lgkmcnt": "lds"}
    for index, op in enumerate(ops):
        if op.kind in queues:
            other = "lds" if op.kind == "vector" else "vector"
            if op.number in queues[other]:
                return index
            queues[op.kind].append(op.number)
        elif op.kind == "use":
            if any(op.number in queue for queue in queues.values()):
                return index
        else:
            queue = queues[of_counter[op.kind]]
            del queue[: max(0, len(queue) - op.number)]
    return None


@settings(max_examples=200, deadline=None)
@given(OPS)
def test_straight_code(ops: list[Op]) -> None:
    found = check_waits(kernel("\n".join(f"\t{op.text()}" for op in ops))).missing
    expected = first_use_without_wait(ops)
    assert (found[0].instruction if found else None) == expected


@settings(max_examples=100, deadline=None)
@given(OPS, OPS, OPS, st.booleans())
def test_branches_and_loops(first: list[Op], second: list[Op], last: list[Op], loop: bool) -> None:
    """A finding somewhere exactly if one of the paths has one: each arm, or some iterations."""

    def lines(ops: list[Op]) -> str:
        return "".join(f"\t{op.text()}\n" for op in ops)

    if loop:
        paths = [first + second * iterations + last for iterations in range(1, 5)]
        code = f"{lines(first)}.Lloop:\n{lines(second)}\ts_cbranch_scc1 .Lloop\n{lines(last)}"
    else:
        paths = [first + second + last, first + last]
        code = f"{lines(first)}\ts_cbranch_scc0 .Lend\n{lines(second)}.Lend:\n{lines(last)}"
    expected = any(first_use_without_wait(path) is not None for path in paths)
    assert bool(check_waits(kernel(code)).missing) == expected


def test_a_kernel_without_its_wait_does_not_run() -> None:
    with pytest.raises(MissingWaitError) as error:
        run("\tds_read_b32 v1, v0\n\tv_mov_b32_e32 v2, v1", lds_bytes=256)
    assert str(error.value).splitlines() == [
        "small.s:4: v1 is used before the load of line 3 ('ds_read_b32 v1, v0') has written it for "
        "certain: 's_waitcnt lgkmcnt(0)' is needed between them",
        "  in kernel 'k': v_mov_b32_e32 v2, v1",
    ]


def test_flat_accesses_keep_their_order_from_rdna_on() -> None:
    code = "scratch_load_{0} v1, off, off\nflat_load_{0} v2, v[4:5]\n"
    code += "s_waitcnt vmcnt(1)\nv_mov_b32_e32 v3, v1"
    assert missing(code.format("b32"), "gfx1100") == []
    assert missing(code.format("dword"), "gfx942") == [(4, "v1", 1, "vmcnt(0)")]


@pytest.mark.parametrize(
    ("arch", "wait"), [("gfx942", "s_waitcnt vmcnt({})"), ("gfx1201", "s_wait_loadcnt {:#x}")]
)
def test_a_counter_that_is_at_its_end(arch: str, wait: str):
    """LLVM waits until 62 are under way where more came after a load: then that load is there."""
    load = (
        "global_load_b32 v{}, v0, s[2:3]"
        if arch == "gfx1201"
        else "global_load_dword v{}, v0, s[2:3]"
    )
    code = "\n".join(load.format(number) for number in (*range(1, 6), *[6] * 61))
    settled = f"{code}\n{wait.format(62)}\nv_not_b32 v63, v"
    assert [missing(settled + str(number), arch) for number in (1, 3, 4)] == [[], [], []]
    (found,) = missing(settled + "5", arch)
    assert found[3] == wait.format(61).removeprefix("s_waitcnt ")
    (found,) = missing(f"{code}\nv_not_b32 v63, v1", arch)
    assert found[3] == wait.format(62).removeprefix("s_waitcnt ")
