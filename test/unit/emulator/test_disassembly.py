# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Disassembly as LLVM 19 prints it: branches, calls, and what is not reached."""

from __future__ import annotations

import re

import pytest

from bankwise.emulator.data_sections import DataImage, Region
from bankwise.emulator.disassembly import is_disassembly, parse_disassembly
from bankwise.emulator.emulation_errors import EmulationError, GlobalAccessError
from bankwise.emulator.global_memory import GlobalMemory
from bankwise.emulator.instruction_text import AssemblyError

from .small_kernels import launched, run, undefined_bits

TEXT = """
k.co:\tfile format elf64-amdgpu

Disassembly of section .rodata:

0000000000000440 <k.kd>:
.amdhsa_kernel k
\t.amdhsa_accum_offset 8
\t.amdhsa_next_free_vgpr 8
\t.amdhsa_reserve_vcc 0
\t.amdhsa_next_free_sgpr 40
\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
.end_amdhsa_kernel

Disassembly of section .text:

0000000000001500 <k>:
\ts_load_dwordx2 s[4:5], s[0:1], 0x0                         // 000000001500: C0060100 00000000
\tv_mov_b32_e32 v1, 0                                        // 000000001508: 7E020280
\ts_mov_b32 s8, 3                                            // 00000000150C: BE880083
\tv_mov_b32_e32 v2, 7                                        // 000000001510: 7E040287

0000000000001514 <again>:
\tv_add_u32_e32 v2, 1, v2                                    // 000000001514: 68040481
\ts_sub_u32 s8, s8, 1                                        // 000000001518: 80888108
\ts_cmp_lg_u32 s8, 0                                         // 00000000151C: BF078008
\ts_cbranch_scc1 65532                                       // 000000001520: BF85FFFC <again>
\ts_getpc_b64 s[6:7]                                         // 000000001524: BE861C00
\ts_add_u32 s6, s6, 40                                       // 000000001528: 8006FF06 00000028
\ts_addc_u32 s7, s7, 0                                       // 000000001530: 8207FF07 00000000
\ts_swappc_b64 s[30:31], s[6:7]                              // 000000001538: BE9E1E06
\ts_waitcnt lgkmcnt(0)                                       // 00000000153C: BF8CC07F
\tglobal_store_dword v1, v2, s[4:5]                          // 000000001540: DC708000 00040201
\ts_endpgm                                                   // 000000001548: BF810000
\t.long 0x00000000                                           // 00000000154C: 00000000

0000000000001550 <g>:
\tv_lshlrev_b32_e32 v2, 1, v2                                // 000000001550: 24040481
\ts_setpc_b64 s[30:31]                                       // 000000001554: BE801D1E

0000000000001558 <never>:
\t.long 0xffffffff                                           // 000000001558: FFFFFFFF
    AMDGPU Metadata:
        ---
amdhsa.kernels:
  - .args:
      - {.address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer}
    .kernarg_segment_size: 8
    .name: k
    .reqd_workgroup_size: [64, 1, 1]
    .symbol: k.kd
amdhsa.target: amdgcn-amd-amdhsa--gfx942
...
"""


def test_a_kernel_with_what_it_reaches():
    assert is_disassembly(TEXT)
    kernel = parse_disassembly(TEXT, "k.txt")
    assert len(kernel.instructions) == 17
    assert kernel.functions == (15,)
    assert kernel.labels == {".L1514": 4}
    assert launched(kernel, 1)[0].tolist() == [20]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("BF85FFFC <again>", "BF85FFFB <k+0x10>", ""),
        ("BF85FFFC <again>", "BF850FFF", r"k.txt:27: it branches to 0x5520, where no"),
        (
            "s_add_u32 s6, s6, 40 ",
            "s_add_u32 s6, s6, 0x4000 ",
            "needs data at 0x5528, which a disa",
        ),
        ("s_add_u32 s6, s6, 40 ", "s_add_u32 s6, s6, 48 ", "'.long 0xffffffff' is no instruction"),
        ("\ts_endpgm ", "\ts_nop 0 ", "'.long 0x00000000' is no instruction that LLVM knows"),
        (".amdhsa_kernel k", ".amdhsa_kernel j", "no metadata for kernel 'j'"),
        ("<k>:", "<j>:", "no code of kernel 'k' is disassembled"),
    ],
)
def test_what_cannot_be_followed_is_refused(old: str, new: str, message: str):
    assert old in TEXT
    if not message:
        assert launched(parse_disassembly(TEXT.replace(old, new), "k.txt"), 1)[0].tolist() == [16]
        return
    with pytest.raises(AssemblyError, match=message):
        parse_disassembly(TEXT.replace(old, new), "k.txt")


def test_a_jump_into_an_instruction_is_refused():
    text = re.sub(r"s_add_u32 s6, s6, 40 ", "s_add_u32 s6, s6, 46 ", TEXT)
    with pytest.raises(EmulationError, match="goes to 0x"):
        launched(parse_disassembly(text, "k.txt"), 1)


def test_a_descriptor_may_count_more_scalars_than_a_kernel_can_name():
    """LLVM prints the count of a descriptor, which is in units of 16."""
    text = TEXT.replace("next_free_sgpr 40", "next_free_sgpr 112")
    found, _ = launched(parse_disassembly(text, "k.txt"), 1)
    assert found.tolist() == [20]


def test_a_kernel_loads_its_own_code():
    """Nobody knows what it is, and it does not matter to who only wants it in a cache."""
    memory = GlobalMemory()
    base = memory.place(DataImage((Region(0x440, bytes(64)), Region(0x2000, b"abcd")), end=0x2100))
    code = "\tglobal_load_dword v2, v1, s[4:5]\n\tglobal_load_dword v3, v1, s[4:5] offset:256"
    scalars = {4: base + 0x1500 & 0xFFFFFFFF, 5: base + 0x1500 >> 32}
    machine = run(code, vectors={1: 0}, scalars=scalars, memory=memory)
    assert (undefined_bits(machine, "v2") == 0xFFFFFFFF).all()
    assert memory.read(base + 0x2000, 4).tobytes() == b"abcd"
    with pytest.raises(GlobalAccessError, match="a store to the kernel's code"):
        run("\tglobal_store_dword v1, v1, s[4:5]", vectors={1: 0}, scalars=scalars, memory=memory)
