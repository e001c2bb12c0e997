# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembly text as data."""

from __future__ import annotations

import pytest

from bankwise.emulator.assembly import parse_assembly
from bankwise.emulator.instruction_text import (
    EXEC,
    VCC,
    AssemblyError,
    Literal,
    Name,
    Operand,
    Register,
    parse_instruction,
)

from .small_kernels import assembly


def operand(text: str) -> Operand:
    return parse_instruction(f"v_mov_b32_e32 v0, {text}", 1).operands[1]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("v7", Register("v", 7)),
        ("s[4:7]", Register("s", 4, 4)),
        ("a[2:3]", Register("a", 2, 2)),
        ("vcc", VCC),
        ("exec_hi", Register("s", EXEC.index + 1)),
        ("-16", Literal(-16)),
        ("0xff", Literal(255)),
        ("-4.0", Literal(-4.0)),
        ("off", Name("off")),
        ("hwreg(HW_REG_MODE, 4, 2)", Name("hwreg(HW_REG_MODE, 4, 2)")),
    ],
)
def test_operands(text: str, value: object) -> None:
    assert operand(text) == Operand(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-v1", Operand(Register("v", 1), negate=True)),
        ("|v1|", Operand(Register("v", 1), absolute=True)),
        ("-|v1|", Operand(Register("v", 1), negate=True, absolute=True)),
        ("sext(v1)", Operand(Register("v", 1), sign_extend=True)),
    ],
)
def test_source_modifiers(text: str, expected: Operand) -> None:
    assert operand(text) == expected


def test_modifiers_of_an_instruction() -> None:
    text = "v_pk_add_f32 v[2:3], v[4:5], -1.0 op_sel_hi:[1,0] neg_lo:[0,1] clamp mul:2"
    instruction = parse_instruction(text, 7)
    assert len(instruction.operands) == 3
    assert instruction.integers("op_sel_hi", ()) == (1, 0)
    assert instruction.integers("neg_lo", ()) == (0, 1)
    assert instruction.modifiers["clamp"] is True
    assert instruction.integer("mul") == 2
    assert (instruction.line, instruction.text) == (7, text)


def test_modifiers_of_dpp_and_sdwa() -> None:
    dpp = parse_instruction("v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2] row_mask:0xa", 1)
    assert dpp.integers("quad_perm", ()) == (1, 0, 3, 2)
    assert dpp.integer("row_mask") == 10
    mirror = parse_instruction("v_mov_b32_dpp v0, v1 row_half_mirror bound_ctrl:1", 1)
    assert mirror.modifiers["row_half_mirror"] is True
    sdwa = parse_instruction("v_or_b32_sdwa v0, v1, v2 dst_sel:BYTE_1 src0_sel:WORD_1", 1)
    assert sdwa.word("dst_sel") == "BYTE_1"
    assert len(sdwa.operands) == 3


def test_hints_keep_their_words() -> None:
    assert parse_instruction("s_waitcnt vmcnt(0) lgkmcnt(1)", 1).modifiers == {}


@pytest.mark.parametrize("text", ["v_mov_b32_e32 v0, v[3:1]", "?", "v_mov_b32_e32 v0, v1 row mask"])
def test_unreadable_instructions(text: str) -> None:
    with pytest.raises(AssemblyError):
        parse_instruction(text, 1)


def test_a_kernel_with_labels() -> None:
    text = assembly(
        "\tv_mov_b32_e32 v0, 1 ; a comment\n.LBB0_1:\n\ts_branch .LBB0_1", lds_bytes=512
    )
    kernel = parse_assembly(text)["k"]
    assert [i.mnemonic for i in kernel.instructions] == ["v_mov_b32_e32", "s_branch", "s_endpgm"]
    assert kernel.labels == {".LBB0_1": 1}
    assert (kernel.arch, kernel.lds_bytes, kernel.workgroup_size) == ("gfx942", 512, (64, 1, 1))
    assert text.splitlines()[kernel.instructions[1].line - 1].strip() == "s_branch .LBB0_1"


@pytest.mark.parametrize(
    ("remove", "message"),
    [
        (".amdgcn_target", "not AMD GPU assembly"),
        (".end_amdgpu_metadata", "truncated"),
        (".end_amdhsa_kernel", "unfinished .amdhsa_kernel"),
        ("s_endpgm", "no s_endpgm"),
        (".reqd_workgroup_size", "no required workgroup size"),
    ],
)
def test_truncated_and_foreign_files(remove: str, message: str) -> None:
    lines = assembly("\ts_nop 0").splitlines()
    text = "\n".join(line for line in lines if remove not in line)
    with pytest.raises(AssemblyError, match=message) as error:
        parse_assembly(text, "kernel.s")
    assert str(error.value).startswith("kernel.s:")


def test_a_branch_to_nowhere() -> None:
    with pytest.raises(AssemblyError, match=r"no label '\.LBB9'"):
        parse_assembly(assembly("\ts_branch .LBB9"))


def test_preloaded_arguments_skip_their_loads() -> None:
    code = (
        "\ts_load_dwordx2 s[8:9], s[0:1], 0x0\n\ts_waitcnt lgkmcnt(0)\n\ts_branch .LBB0_0\n.LBB0_0:"
    )
    preload = "\t\t.amdhsa_user_sgpr_kernarg_preload_length 2"
    assert parse_assembly(assembly(code, directives=preload))["k"].entry == 3
    assert parse_assembly(assembly(code))["k"].entry == 0
