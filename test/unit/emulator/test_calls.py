# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls, returns, long branches, tables of functions, and what a kernel reaches of a file."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.emulator.assembly import DYNAMIC_STACK_BYTES, Kernel, parse_kernel
from bankwise.emulator.call_graph import CallGraph
from bankwise.emulator.emulation_errors import EmulationError, MissingWaitError, StepLimitError
from bankwise.emulator.instruction_text import AssemblyError
from bankwise.emulator.supervision import Supervision

from .small_kernels import LANES, assembly, launched

CALL = """\
\ts_getpc_b64 s[16:17]
\ts_add_u32 s16, s16, {name}@rel32@lo+4
\ts_addc_u32 s17, s17, {name}@rel32@hi+12
\ts_swappc_b64 s[30:31], s[16:17]
"""
TABLE_CALL = """\
\ts_getpc_b64 s[16:17]
\ts_add_u32 s16, s16, {name}@{kind}@lo+{low}
\ts_addc_u32 s17, s17, {name}@{kind}@hi+{high}
\ts_load_dwordx2 s[16:17], s[16:17], 0x0
\ts_waitcnt lgkmcnt(0)
\ts_swappc_b64 s[30:31], s[16:17]
"""
BEGIN = "\ts_load_dwordx2 s[2:3], s[0:1], 0x0\n\ts_mov_b32 s32, 0\n\tv_lshlrev_b32_e32 v9, 2, v0\n"
END = "\ts_waitcnt lgkmcnt(0)\n\tglobal_store_dword v9, v0, s[2:3]"
RETURN = "\ts_setpc_b64 s[30:31]\n"
ADD_7 = "add_7:\n\ts_waitcnt lgkmcnt(0)\n\tv_add_u32_e32 v0, 7, v0\n" + RETURN
DOUBLE = "double:\n\ts_waitcnt lgkmcnt(0)\n\tv_lshlrev_b32_e32 v0, 1, v0\n" + RETURN
UNKNOWN = "nobody:\n\ts_sendmsghalt 3\n" + RETURN


def kernel(code: str, functions: str, directives: str = "", arch: str = "gfx942") -> Kernel:
    """Returns a kernel that stores v0 at the end, in a file with some functions and data."""
    text = assembly(BEGIN + code + END, kernarg_bytes=8, directives=directives, arch=arch)
    at = text.index("\t.amdgpu_metadata")
    return parse_kernel(f"{text[:at]}\t.text\n{functions}{text[at:]}", "calls.s")


def result(code: str, functions: str, directives: str = "") -> list[int]:
    """Returns what the 64 lanes store."""
    return launched(kernel(code, functions, directives), 64)[0].tolist()


def test_a_call_comes_back_behind_itself():
    code = CALL.format(name="add_7") + CALL.format(name="double") + CALL.format(name="add_7")
    assert result(code, ADD_7 + DOUBLE) == ((LANES + 7) * 2 + 7).tolist()


def test_calls_of_gfx1250_compute_addresses_of_64_bits():
    code = BEGIN.replace("s_load_dwordx2", "s_load_b64") + (
        "\ts_get_pc_i64 s[16:17]\n\ts_add_nc_u64 s[16:17], s[16:17], add_7@rel64+4\n"
        "\ts_swap_pc_i64 s[30:31], s[16:17]\n\ts_wait_kmcnt 0x0\n"
        "\tglobal_store_b32 v9, v0, s[2:3]"
    )
    function = "add_7:\n\tv_add_nc_u32_e32 v0, 7, v0\n\ts_set_pc_i64 s[30:31]\n"
    text = assembly(code, kernarg_bytes=8, arch="gfx1250", threads=32)
    at = text.index("\t.amdgpu_metadata")
    parsed = parse_kernel(f"{text[:at]}\t.text\n{function}{text[at:]}", "calls.s")
    assert launched(parsed, 32)[0].tolist() == (LANES[:32] + 7).tolist()


def test_a_function_calls_another_and_keeps_its_return_address():
    outer = "outer:\n\ts_mov_b64 s[40:41], s[30:31]\n" + CALL.format(name="add_7")
    outer += "\ts_setpc_b64 s[40:41]\n"
    assert result(CALL.format(name="outer"), outer + ADD_7) == (LANES + 7).tolist()


def test_a_call_may_name_its_label():
    assert result("\ts_call_b64 s[30:31], add_7\n", ADD_7) == (LANES + 7).tolist()


def test_a_function_calls_itself():
    """It adds 0 + 1 + 2 + 3 + 4, and keeps the number and the return address on the stack."""
    recursive = (
        """\
sum:
\ts_waitcnt vmcnt(0) lgkmcnt(0)
\ts_cmp_eq_u32 s20, 0
\ts_cbranch_scc1 .Lzero
\tv_mov_b32_e32 v1, s30
\tv_mov_b32_e32 v2, s31
\tv_mov_b32_e32 v3, s20
\tscratch_store_dword off, v1, s32
\tscratch_store_dword off, v2, s32 offset:4
\tscratch_store_dword off, v3, s32 offset:8
\ts_add_i32 s32, s32, 12
\ts_sub_u32 s20, s20, 1
"""
        + CALL.format(name="sum")
        + """\
\ts_sub_u32 s32, s32, 12
\tscratch_load_dword v1, off, s32
\tscratch_load_dword v2, off, s32 offset:4
\tscratch_load_dword v3, off, s32 offset:8
\ts_waitcnt vmcnt(0)
\tv_readfirstlane_b32 s30, v1
\tv_readfirstlane_b32 s31, v2
\tv_add_u32_e32 v0, v0, v3
\ts_setpc_b64 s[30:31]
.Lzero:
\tv_mov_b32_e32 v0, 0
"""
        + RETURN
    )
    dynamic = "\t\t.amdhsa_uses_dynamic_stack 1"
    code = "\ts_mov_b32 s20, {}\n" + CALL.format(name="sum")
    assert result(code.format(4), recursive, dynamic) == [10] * 64
    deepest = DYNAMIC_STACK_BYTES // 12
    with pytest.raises(EmulationError, match=f"each work item has {DYNAMIC_STACK_BYTES} bytes"):
        result(code.format(deepest + 1), recursive, dynamic)


@pytest.mark.parametrize(
    "branch",
    [
        # As LLVM relaxes a branch that is too long.
        "\ts_getpc_b64 s[8:9]\n.Lpost:\n\ts_add_u32 s8, s8, (.Lfar-.Lpost)&4294967295\n"
        "\ts_addc_u32 s9, s9, (.Lfar-.Lpost)>>32\n\ts_setpc_b64 s[8:9]\n",
        # As Tensile writes it: LLVM takes a label for the distance from the literal to it.
        "\ts_getpc_b64 s[8:9]\n\ts_add_i32 s10, .Lfar, 4\n\ts_add_u32 s8, s8, s10\n"
        "\ts_addc_u32 s9, s9, 0\n\ts_setpc_b64 s[8:9]\n",
        "\ts_getpc_b64 s[8:9]\n\ts_add_u32 s8, s8, .Lfar+4\n\ts_addc_u32 s9, s9, 0\n"
        "\ts_setpc_b64 s[8:9]\n",
    ],
)
def test_a_long_branch(branch: str):
    code = branch + "\tv_mov_b32_e32 v0, 1\n.Lfar:\n"
    assert result(code, "") == LANES.tolist()


def test_a_long_branch_backwards():
    code = "\ts_mov_b32 s20, 3\n.Lagain:\n\tv_add_u32_e32 v0, 5, v0\n\ts_sub_u32 s20, s20, 1\n"
    code += "\ts_cmp_eq_u32 s20, 0\n\ts_cbranch_scc1 .Lout\n\ts_getpc_b64 s[8:9]\n"
    code += "\ts_add_i32 s10, .Lagain, 4\n\ts_abs_i32 s10, s10\n\ts_sub_u32 s8, s8, s10\n"
    code += "\ts_subb_u32 s9, s9, 0\n\ts_setpc_b64 s[8:9]\n.Lout:\n"
    assert result(code, "") == (LANES + 15).tolist()


@pytest.mark.parametrize("section", [".data.rel.ro", ".data", '.section .mine,"aw",@progbits'])
@pytest.mark.parametrize(("number", "expected"), [(0, LANES + 7), (1, LANES * 2)])
def test_a_table_of_functions(section: str, number: int, expected: np.ndarray):
    table = f"\t{section}\n\t.p2align 3\ntable:\n\t.quad add_7, double\n"
    code = TABLE_CALL.format(name="table", kind="rel32", low=4 + 8 * number, high=12 + 8 * number)
    assert result(code, ADD_7 + DOUBLE + table) == expected.tolist()


def test_a_call_by_the_global_offset_table():
    code = TABLE_CALL.format(name="double", kind="gotpcrel32", low=4, high=12)
    assert result(code, ADD_7 + DOUBLE) == (LANES * 2).tolist()


def test_waves_of_one_group_call_different_functions():
    """Each lane's function is taken in turn, as compilers call through pointers that differ."""
    table = "\t.data\n\t.p2align 3\ntable:\n\t.quad add_7, double\n"
    code = """\
\ts_waitcnt lgkmcnt(0)
\ts_getpc_b64 s[16:17]
\ts_add_u32 s16, s16, table@rel32@lo+4
\ts_addc_u32 s17, s17, table@rel32@hi+12
\tv_and_b32_e32 v4, 1, v0
\tv_lshlrev_b32_e32 v4, 3, v4
\tglobal_load_dwordx2 v[2:3], v4, s[16:17]
\ts_waitcnt vmcnt(0)
\ts_mov_b64 s[44:45], exec
.Lloop:
\tv_readfirstlane_b32 s18, v2
\tv_readfirstlane_b32 s19, v3
\tv_cmp_eq_u64_e32 vcc, s[18:19], v[2:3]
\ts_and_saveexec_b64 s[46:47], vcc
\ts_swappc_b64 s[30:31], s[18:19]
\ts_xor_b64 exec, exec, s[46:47]
\ts_cbranch_execnz .Lloop
\ts_mov_b64 exec, s[44:45]
"""
    expected = np.where(LANES % 2, LANES * 2, LANES + 7)
    assert result(code, ADD_7 + DOUBLE + table) == expected.tolist()


# What a kernel does not reach.


@pytest.mark.parametrize(
    "other",
    [
        UNKNOWN,
        "bad:\n\tv_mov_b32_e32 v0, v[3:1]\n" + RETURN,
        "bad:\n\ts_getpc_b64 s[4:5]\n\ts_add_u32 s4, s4, elsewhere@rel32@lo+4\n" + RETURN,
        "endless:\n\tv_nop\n",
        "\t.data\ntable:\n\t.quad elsewhere\n",
        UNKNOWN + "\t.section .data.rel.ro\ntable:\n\t.quad nobody\n",
        "\t.section .tbss\nlocal:\n\t.zero 4\n",
    ],
)
def test_what_a_kernel_does_not_reach_refuses_nothing(other: str):
    assert result("", other) == LANES.tolist()


def test_a_function_is_refused_where_a_wave_comes_to_it():
    dead = "\ts_cmp_eq_u32 s0, s0\n\ts_cbranch_scc1 .Lpast\n" + CALL.format(name="nobody")
    assert result(dead + ".Lpast:\n", UNKNOWN) == LANES.tolist()
    with pytest.raises(EmulationError, match=r"^calls.s:\d+: .*'s_sendmsghalt'"):
        result(CALL.format(name="nobody"), UNKNOWN)


def test_data_that_nobody_knows_is_refused_where_it_matters():
    table = "\t.data\ntable:\n\t.quad elsewhere, add_7\n"
    known = TABLE_CALL.format(name="table", kind="rel32", low=12, high=20)
    assert result(known, ADD_7 + table) == (LANES + 7).tolist()
    unknown = TABLE_CALL.format(name="table", kind="rel32", low=4, high=12)
    with pytest.raises(EmulationError, match=r"jump is undefined .* no symbol 'elsewhere' \(line"):
        result(unknown, ADD_7 + table)


@pytest.mark.parametrize(
    ("code", "functions", "message"),
    [
        ("\ts_getpc_b64 s[8:9]\n\ts_add_u32 s8, s8, 8\n\ts_setpc_b64 s[8:9]\n", "", "goes to 0x"),
        ("\ts_mov_b64 s[8:9], 0\n\ts_setpc_b64 s[8:9]\n", "", "goes to 0x0, which is no address"),
        ("\ts_setpc_b64 s[8:9]\n", "", "The address of this jump is undefined"),
    ],
)
def test_a_jump_to_no_instruction(code: str, functions: str, message: str):
    with pytest.raises(EmulationError, match=message):
        result(code, functions)


def test_code_without_an_end_is_refused():
    with pytest.raises(AssemblyError, match=r"calls.s:\d+: control flow passes the last"):
        result(CALL.format(name="open"), "open:\n\tv_nop\n\t.data\n")


def test_endless_recursion_ends():
    call = CALL.format(name="loop")
    with pytest.raises(StepLimitError):
        launched(kernel(call, "loop:\n" + call + RETURN), 64, supervision=Supervision(1000))


# Waits.


def test_a_wait_that_is_missing_in_a_function_is_found():
    load = "\tglobal_load_dword v5, v9, s[2:3]\n"
    use = "use:\n\tv_add_u32_e32 v0, v5, v0\n" + RETURN
    wait = "\ts_waitcnt lgkmcnt(0)\n" + load
    with pytest.raises(MissingWaitError, match="v5 is used before the load"):
        result(wait + CALL.format(name="use"), use)
    waited = use.replace("use:\n", "use:\n\ts_waitcnt vmcnt(0)\n")
    assert result(wait + CALL.format(name="use"), waited) == LANES.tolist()


def test_what_a_function_loads_is_waited_for_behind_its_calls():
    loads = "loads:\n\ts_waitcnt lgkmcnt(0)\n\tglobal_load_dword v5, v9, s[2:3]\n" + RETURN
    with pytest.raises(MissingWaitError, match="v5 is used before the load"):
        result(CALL.format(name="loads") + "\tv_add_u32_e32 v0, v5, v0\n", loads)


def test_the_targets_of_calls_are_known():
    parsed = kernel(CALL.format(name="add_7") + CALL.format(name="double"), ADD_7 + DOUBLE)
    names = [each.mnemonic for each in parsed.instructions]
    jumps = [index for index, name in enumerate(names) if name in ("s_swappc_b64", "s_setpc_b64")]
    _, _, returns, _ = jumps
    graph = CallGraph(parsed)
    assert graph.followers(returns) == [jumps[0] + 1, jumps[1] + 1]
