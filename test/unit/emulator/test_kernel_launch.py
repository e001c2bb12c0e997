# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What waves find in their registers, and launches that are refused."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from bankwise.bank_model.lds_tables import lds_of
from bankwise.emulator.assembly import parse_assembly
from bankwise.emulator.dispatch import Dispatch
from bankwise.emulator.emulation_errors import EmulationError, LaunchError
from bankwise.emulator.global_memory import GlobalMemory
from bankwise.emulator.kernel_launch import launch, launch_each

from .small_kernels import assembly, launched

PRELOADED = """\ts_load_dwordx2 s[2:3], s[0:1], 0x0
\ts_load_dword s4, s[0:1], 0x8
\ts_waitcnt lgkmcnt(0)
\ts_branch .LBB0_0
.LBB0_0:
"""
STORE = """\ts_mul_i32 s20, s{x}, 96
\tv_add_u32_e32 v1, s20, v0
\tv_lshlrev_b32_e32 v1, 2, v1
\tv_mov_b32_e32 v2, s{value}
\tglobal_store_dword v1, v2, s[2:3]"""


def text(code: str, preload: int = 0, **options: object) -> str:
    directives = ""
    if preload:
        directives = (
            f"\t\t.amdhsa_user_sgpr_kernarg_preload_length {preload}\n"
            f"\t\t.amdhsa_user_sgpr_count {2 + preload}"
        )
    return assembly(code, threads=96, kernarg_bytes=12, directives=directives, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("preload", [0, 3])
@pytest.mark.parametrize("max_waves", [256, 2])
def test_arguments_and_ids_reach_the_waves(preload: int, max_waves: int):
    """Workgroups of one and a half waves; the second argument goes to all elements."""
    loads = PRELOADED if preload else PRELOADED.replace("\ts_branch .LBB0_0\n.LBB0_0:\n", "")
    if not preload:
        loads = "\ts_mov_b32 s9, s2\n" + loads
    code = loads + STORE.format(x=2 + preload if preload else 9, value=4)
    stored, counters = launched(
        text(code, preload), 96 * 3, struct.pack("<I", 77), (3, 1, 1), max_waves=max_waves
    )
    assert (stored == 77).all()
    assert counters.executions[-1] == 6
    # Where arguments are preloaded, the loads for older firmware are skipped.
    assert counters.executions[0] == (0 if preload else 6)


def test_preloading_may_begin_later():
    """Two words from the second argument on; the kernel loads the first itself."""
    directives = """\t\t.amdhsa_user_sgpr_kernarg_preload_length 1
\t\t.amdhsa_user_sgpr_kernarg_preload_offset 2
\t\t.amdhsa_user_sgpr_count 3"""
    code = """\ts_load_dwordx2 s[6:7], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\tv_lshlrev_b32_e32 v1, 2, v0
\tv_mov_b32_e32 v2, s2
\tglobal_store_dword v1, v2, s[6:7]"""
    source = assembly(code, threads=96, kernarg_bytes=12, directives=directives)
    assert (launched(source, 96, struct.pack("<I", 77))[0] == 77).all()


def test_lanes_beyond_the_last_work_item_are_off():
    code = """\ts_load_dwordx2 s[6:7], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\tv_mov_b32_e32 v1, 0
\tv_mov_b32_e32 v2, 1
\tglobal_atomic_add v1, v2, s[6:7]"""
    source = assembly(code, threads=96, kernarg_bytes=8)
    assert launched(source, 1, grid=(2, 1, 1))[0] == 2 * 96


def test_chosen_workgroups_run_alone():
    code = """\ts_load_dwordx2 s[10:11], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\ts_mul_i32 s20, s3, 3
\ts_add_i32 s20, s20, s2
\ts_mul_i32 s20, s20, 96
\tv_add_u32_e32 v1, s20, v0
\tv_lshlrev_b32_e32 v1, 2, v1
\tv_mov_b32_e32 v2, 1
\tglobal_store_dword v1, v2, s[10:11]"""
    directives = "\t\t.amdhsa_system_sgpr_workgroup_id_y 1"
    source = assembly(code, threads=96, kernarg_bytes=12, directives=directives)
    chosen = [(2, 0, 0), (1, 1, 0)]
    stored, _ = launched(source, 96 * 6, bytes(4), (3, 2, 1), workgroups=chosen)
    stored = stored.reshape(6, 96)
    assert stored.any(axis=1).tolist() == [False, False, True, False, True, False]
    assert stored[[2, 4]].all()


@pytest.mark.parametrize("max_waves", [256, 1])
def test_workgroups_are_counted_apart(max_waves: int):
    """Workgroup n adds n times, so that each ends after another number of branches."""
    source = assembly(
        """\ts_mov_b32 s4, s2
.LBB0_1:
\ts_sub_u32 s4, s4, 1
\ts_cmp_lg_u32 s4, 0
\ts_cbranch_scc1 .LBB0_1""",
        threads=96,
    )
    kernel = parse_assembly(source)["k"]
    place = (Dispatch.of(kernel, (5, 1, 1)), lds_of("gfx942"), b"", GlobalMemory())
    each = launch_each(*place, [(4, 0, 0), (1, 0, 0), (4, 0, 0)], max_waves=max_waves)
    assert [counters.executions[1] for counters in each] == [2 * 4, 2 * 1, 2 * 4]
    assert each[0].equals(each[2])
    assert not each[0].equals(each[1])


@pytest.mark.parametrize("dimensions", [0, 1, 2])
def test_work_item_ids_are_packed(dimensions: int):
    source = assembly(
        """\ts_load_dwordx2 s[10:11], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\tv_mbcnt_lo_u32_b32 v1, -1, 0
\tv_mbcnt_hi_u32_b32 v1, -1, v1
\tv_lshlrev_b32_e32 v1, 2, v1
\tglobal_store_dword v1, v0, s[10:11]""",
        kernarg_bytes=8,
        directives=f"\t\t.amdhsa_system_vgpr_workitem_id {dimensions}",
    ).replace("[64, 1, 1]", "[4, 8, 2]")
    item = np.arange(64)
    ids = [item % 4, item // 4 % 8 << 10, item // 32 << 20]
    expected = sum(ids[: dimensions + 1])
    assert (launched(source, 64)[0] == expected).all()


@pytest.mark.parametrize(
    ("source", "arch", "grid", "workgroups", "reason"),
    [
        (text("", lds_bytes=65537), "gfx942", (1, 1, 1), None, "65537 bytes of LDS; .* has 65536"),
        (text(""), "gfx950", (1, 1, 1), None, "is for gfx942: emulate that, or compile for gfx950"),
        (text(""), "sm_80", (1, 1, 1), None, "sm_80 cannot be emulated"),
        (text(""), "gfx942", (1, 0, 1), None, "is empty"),
        (text(""), "gfx942", (2, 1, 1), [(2, 0, 0)], r"workgroup \(2, 0, 0\) is not in the grid"),
        (
            text("").replace("kernarg_segment_ptr", "private_segment_buffer"),
            "gfx942", (1, 1, 1), None, "asks for .amdhsa_user_sgpr_private_segment_buffer",
        ),
    ],
)  # fmt: skip
def test_launches_that_cannot_be(source: str, arch: str, grid, workgroups, reason: str):
    kernel = parse_assembly(source)["k"]
    with pytest.raises(LaunchError, match=reason):
        launch(Dispatch.of(kernel, grid), lds_of(arch), bytes(12), GlobalMemory(), workgroups)


def test_arguments_of_the_wrong_size():
    kernel = parse_assembly(text(""))["k"]
    with pytest.raises(LaunchError, match="takes 12 bytes of arguments, not 8"):
        launch(Dispatch.of(kernel, (1, 1, 1)), lds_of("gfx942"), bytes(8), GlobalMemory())


@pytest.mark.parametrize("max_waves", [256, 2])
def test_private_memory(max_waves: int):
    """Each work item finds there what it has put there, by constant and by computed addresses."""
    directives = """\t\t.amdhsa_enable_private_segment 1
\t\t.amdhsa_private_segment_fixed_size 24"""
    code = """\ts_load_dwordx2 s[6:7], s[0:1], 0x0
\ts_mul_i32 s20, s2, 96
\tv_add_u32_e32 v1, s20, v0
\tv_not_b32_e32 v2, v1
\tscratch_store_dwordx2 off, v[1:2], off offset:8
\ts_mov_b32 s8, 4
\tv_mov_b32_e32 v3, 8
\tscratch_store_byte v3, v2, s8 offset:-4
\tv_lshlrev_b32_e32 v4, 2, v1
\tscratch_load_dword v5, v3, off
\tscratch_load_dword v6, off, s8 offset:8
\ts_waitcnt vmcnt(0) lgkmcnt(0)
\tv_xor_b32_e32 v5, v5, v6
\tglobal_store_dword v4, v5, s[6:7]"""
    source = assembly(code, threads=96, kernarg_bytes=8, directives=directives)
    stored, counters = launched(source, 96 * 3, grid=(3, 1, 1), max_waves=max_waves)
    # The byte that was stored last is the low one of v1, inverted.
    item = np.arange(96 * 3, dtype=np.uint32)
    assert (stored == (~item ^ item ^ 0xFF)).all()
    # Only the stores to the output count as traffic.
    assert counters.global_useful_bytes.sum() == 4 * 96 * 3


def test_private_memory_has_an_end():
    code = "\tscratch_load_dword v5, v0, off offset:4\n\ts_waitcnt vmcnt(0)"
    directives = "\t\t.amdhsa_private_segment_fixed_size 24"
    kernel = parse_assembly(assembly(code, directives=directives))["k"]
    with pytest.raises(EmulationError, match="bytes 4 to 67: each work item has 24 bytes of it"):
        launch(Dispatch.of(kernel, (1, 1, 1)), lds_of("gfx942"), b"", GlobalMemory())
