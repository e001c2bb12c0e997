# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of one to eight waves that go round a loop, to time the emulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_TEXT = """\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
k:
{code}
\ts_endpgm
.Lfunc_end0:
\t.amdhsa_kernel k
\t\t.amdhsa_group_segment_fixed_size 4096
\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t\t.amdhsa_user_sgpr_count 2
\t\t.amdhsa_next_free_vgpr 32
\t\t.amdhsa_accum_offset 32
\t\t.amdhsa_float_denorm_mode_32 3
\t.end_amdhsa_kernel
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .name: k
    .kernarg_segment_size: 8
    .reqd_workgroup_size: [{threads}, 1, 1]
...
\t.end_amdgpu_metadata
"""

_LOOP = """{before}
\ts_mov_b32 s20, 0
.LOOP:
{body}
\ts_add_i32 s20, s20, 1
\ts_cmp_lt_i32 s20, {{rounds}}
\ts_cbranch_scc1 .LOOP"""

_INTEGERS = _LOOP.format(
    before="\tv_mov_b32_e32 v1, v0\n\tv_mov_b32_e32 v2, 3",
    body="""\tv_add_u32_e32 v1, v1, v2
\tv_mul_lo_u32 v2, v2, v1
\tv_xor_b32_e32 v1, v1, v2
\tv_lshlrev_b32_e32 v3, 3, v1
\tv_cmp_lt_u32_e32 vcc, v3, v2
\tv_cndmask_b32_e32 v1, v1, v3, vcc
\tv_alignbit_b32 v2, v2, v1, 7
\ts_lshl_b32 s21, s20, 1""",
)
_FLOATS = _LOOP.format(
    before="\tv_cvt_f32_u32_e32 v1, v0\n\tv_mov_b32_e32 v2, 0x3f7fff00\n\tv_mov_b32_e32 v4, 1.0",
    body="""\tv_fma_f32 v1, v1, v2, v4
\tv_mul_f32_e32 v3, v1, v2
\tv_add_f32_e32 v4, v3, v1
\tv_rcp_f32_e32 v4, v4
\tv_max_f32_e32 v3, v3, v4
\tv_sub_f32_e32 v1, v1, v3
\tv_exp_f32_e32 v5, v4""",
)
_REDUCTION = _LOOP.format(
    before="\tv_lshlrev_b32_e32 v1, 2, v0\n\tv_mov_b32_e32 v2, v0",
    body="""\tds_write_b32 v1, v2
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\tv_xor_b32_e32 v4, 4, v1
\tds_read_b32 v3, v4
\ts_waitcnt lgkmcnt(0)
\tv_add_u32_e32 v2, v2, v3
\ts_barrier""",
)
_SCAN = """\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_lshl_b32 s7, s2, 6
\tv_mov_b32_e32 v1, s7
\tv_mov_b32_e32 v4, v0
\ts_mov_b32 s20, 0
\ts_waitcnt lgkmcnt(0)
.LOOP:
\ts_add_i32 s20, s20, 1
\tv_add_u32_dpp v4, v4, v4 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1
\tv_add_u32_dpp v4, v4, v4 row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:1
\tv_add_u32_dpp v4, v4, v4 row_shr:4 row_mask:0xf bank_mask:0xf bound_ctrl:1
\tv_add_u32_dpp v4, v4, v4 row_shr:8 row_mask:0xf bank_mask:0xf bound_ctrl:1
\ts_cmp_eq_u32 s2, 0
\ts_cbranch_scc1 .STORE
.SPIN:
\tglobal_load_dword v2, v1, s[4:5] offset:-64 sc1
\ts_waitcnt vmcnt(0)
\tv_readfirstlane_b32 s6, v2
\ts_cmp_lt_u32 s6, s20
\ts_cbranch_scc1 .SPIN
.STORE:
\tv_mov_b32_e32 v3, s20
\tglobal_store_dword v1, v3, s[4:5] sc1
\ts_waitcnt vmcnt(0)
\ts_cmp_lt_u32 s20, {rounds}
\ts_cbranch_scc1 .LOOP"""


@dataclass(frozen=True)
class SmallLoop:
    """A kernel of few waves.

    Attributes:
        code: its instructions, with a place for the number of rounds.
        threads: the threads of a workgroup.
        workgroups: how many workgroups there are.
    """

    code: str
    threads: int = 64
    workgroups: int = 1

    def text(self, rounds: int) -> str:
        """Returns the assembly; the kernel `k` takes the address of 64 bytes for each workgroup."""
        return _TEXT.format(code=self.code.format(rounds=rounds), threads=self.threads)


SMALL_LOOPS: Mapping[str, SmallLoop] = {
    "integers": SmallLoop(_INTEGERS),
    "floats": SmallLoop(_FLOATS, threads=128),
    "a reduction in the LDS": SmallLoop(_REDUCTION, threads=256),
    "a scan with spins": SmallLoop(_SCAN, workgroups=8),
}
"""Loops of integers, of floats, with barriers, and of workgroups that wait for each other."""
