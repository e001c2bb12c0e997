# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembly text as data."""

from __future__ import annotations

import pytest

from bankwise.emulator.assembly import parse_assembly, parse_kernel
from bankwise.emulator.emulation_errors import EmulationError
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

from .small_kernels import assembly, run


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


@pytest.mark.parametrize(
    "text",
    [
        *("v_mov_b32_e32 v0, v[3:1]", "?", "v_mov_b32_e32 v0, v1 row mask", "v_mov_b32 v0,, v1"),
        *("v_mov_b32 v0, v1,", "v_mov_b32 v0, v1, [", "v_mov_b32 v0, v1)", "v_mov_b32 v0, (v1]"),
        *("v_mov_b32 v0, v256", "v_mov_b64 v[0:1], v[255:256]", "s_mov_b32 s0, s102"),
        *("s_mov_b64 s[1:2], 0", "s_load_dwordx4 s[2:5], s[0:1], 0x0", "s_mov_b32 s0, 08"),
        *("s_mov_b32 s0, 0x123456789abcdef01", "v_mov_b32\0 v0, v1", "v_mov_b32 v0, v1\u2028"),
        *("v_mov_b32 v0, v1 op_sel:[]", "v_mov_b32 v0, v1 clamp clamp", "v_mov_b32 v0, v1 mul:08"),
    ],
)
def test_unreadable_instructions(text: str) -> None:
    with pytest.raises(AssemblyError):
        parse_instruction(text, 1)


def test_numbers_are_read_as_assemblers_read_them() -> None:
    operands = parse_instruction("s_test 010, -0x10, 0, -1.5", 1).operands
    assert [each.value for each in operands] == [
        Literal(8),
        Literal(-16),
        Literal(0),
        Literal(-1.5),
    ]


def test_a_kernel_with_labels() -> None:
    text = assembly(
        "\tv_mov_b32_e32 v0, 1 ; a comment\n.LBB0_1:\n\ts_branch .LBB0_1", lds_bytes=512
    )
    kernel = parse_assembly(text)["k"]
    assert [i.mnemonic for i in kernel.instructions] == ["v_mov_b32_e32", "s_branch", "s_endpgm"]
    assert kernel.labels == {".LBB0_1": 1}
    assert (kernel.arch, kernel.lds_bytes, kernel.metadata.required_size) == (
        "gfx942",
        512,
        (64, 1, 1),
    )
    assert text.splitlines()[kernel.instructions[1].line - 1].strip() == "s_branch .LBB0_1"


@pytest.mark.parametrize(
    ("remove", "message"),
    [
        (".am", "not AMD GPU assembly"),
        (".amdgcn_target", "names no chip"),
        (".end_amdgpu_metadata", "truncated"),
        (".end_amdhsa_kernel", "unfinished .amdhsa_kernel"),
        ("s_endpgm", "no s_endpgm"),
    ],
)
def test_truncated_and_foreign_files(remove: str, message: str) -> None:
    lines = assembly("\ts_nop 0").splitlines()
    text = "\n".join(line for line in lines if remove not in line)
    with pytest.raises(AssemblyError, match=message) as error:
        parse_assembly(text, "kernel.s")
    assert str(error.value).startswith("kernel.s:")


def test_a_branch_to_nowhere() -> None:
    with pytest.raises(AssemblyError, match=r"^k\.s:3: no label '\.LBB9'"):
        parse_assembly(assembly("\ts_branch .LBB9"), "k.s")


def test_preloaded_arguments_skip_their_loads() -> None:
    code = (
        "\ts_load_dwordx2 s[8:9], s[0:1], 0x0\n\ts_waitcnt lgkmcnt(0)\n\ts_branch .LBB0_0\n.LBB0_0:"
    )
    preload = "\t\t.amdhsa_user_sgpr_kernarg_preload_length 2"
    assert parse_assembly(assembly(code, directives=preload))["k"].entry == 3
    assert parse_assembly(assembly(code))["k"].entry == 0


def test_one_kernel_of_several_is_read() -> None:
    """The other one may hold what nobody can read."""
    first = assembly("\ts_nop 0")
    unknown = "\t\t.amdhsa_accum_offset alignto(other.num_vgpr, 4)"
    second = assembly("\tv_mov_b32_e32 v0, v[3:1]", directives=unknown).replace("k:", "other:")
    second = second.replace("amdhsa_kernel k", "amdhsa_kernel other").replace(": k", ": other")
    metadata = first[first.index("amdhsa.kernels:\n") :].removeprefix("amdhsa.kernels:\n")
    text = first[: first.index("\t.amdgpu_metadata")] + second.replace("...\n", metadata, 1)
    text = text[: text.index("\t.end_amdgpu_metadata") + len("\t.end_amdgpu_metadata\n")]
    assert parse_kernel(text, "two.s", "k").name == "k"
    with pytest.raises(AssemblyError, match=r"alignto\(other.num_vgpr, 4\)' has no integer value"):
        parse_assembly(text)
    with pytest.raises(AssemblyError, match="ends before it starts"):
        parse_assembly(text.replace(unknown, ""))
    with pytest.raises(AssemblyError, match=r"^two.s: several kernels, .*--kernel: k, other$"):
        parse_kernel(text, "two.s")
    with pytest.raises(AssemblyError, match=r"^two.s: no kernel 'K'; the file holds k, other$"):
        parse_kernel(text, "two.s", "K")


def test_the_chip_must_be_an_emulated_one_and_the_one_asked_for() -> None:
    with pytest.raises(AssemblyError, match="is for gfx942, not for gfx950"):
        parse_kernel(assembly(""), arch="gfx950")
    with pytest.raises(AssemblyError, match="is for gfx908; the emulator runs gfx90a, gfx942, "):
        parse_kernel(assembly("", arch="gfx908"))
    with pytest.raises(AssemblyError, match="is for gfx10-1-generic; the emulator runs"):
        parse_kernel(assembly("", arch="gfx10-1-generic"))


@pytest.mark.parametrize(
    ("generic", "asked", "chip"),
    [
        ("gfx9-4-generic", "", "gfx942"),
        ("gfx9-4-generic", "gfx950", "gfx950"),
        ("gfx11-generic", "", "gfx1100"),
        ("gfx11-generic", "gfx1151", "gfx1151"),
        ("gfx12-generic", "gfx1201", "gfx1201"),
    ],
)
def test_generic_code_runs_on_each_of_its_chips(generic: str, asked: str, chip: str) -> None:
    assert parse_kernel(assembly("", arch=generic), arch=asked).arch == chip
    with pytest.raises(AssemblyError, match="not for gfx1250"):
        parse_kernel(assembly("", arch=generic), arch="gfx1250")


@pytest.mark.parametrize(
    ("code", "directives", "message"),
    [
        ("v_mov_b32 v8, 0", "next_free_vgpr 8", "no v8: its .amdhsa_next_free_vgpr gives it 8"),
        ("v_mov_b32 v7, 0", "next_free_vgpr 1", ""),
        ("v_mov_b32 v8, 0", "accum_offset 8", "no v8: its .amdhsa_accum_offset gives it 8"),
        ("v_accvgpr_write_b32 a64, 0", "accum_offset 64", "no a64: .* gives it 64 accumulation"),
        ("v_accvgpr_write_b32 a63, 0", "accum_offset 64", ""),
        ("v_mov_b64 v[7:8], 0", "next_free_vgpr 8", r"no v\[7:8\]: "),
        ("s_mov_b32 s16, 0", "next_free_sgpr 8", "no s16: its .amdhsa_next_free_sgpr gives it 16"),
        ("s_mov_b32 s15, 0", "next_free_sgpr 8", ""),
        ("s_mov_b64 vcc, 0", "next_free_sgpr 8", ""),
    ],
)
def test_the_code_names_no_more_registers_than_the_kernel_has(
    code: str, directives: str, message: str
) -> None:
    text = assembly(f"\t{code}", directives=f"\t\t.amdhsa_{directives}")
    if message:
        with pytest.raises(AssemblyError, match=rf"^k\.s:3: the kernel has {message}"):
            parse_kernel(text, "k.s")
    else:
        parse_kernel(text, "k.s")


def test_padding_of_gigabytes_is_refused() -> None:
    parse_kernel(assembly("\t.fill 64, 4, 0xbf800000"))
    with pytest.raises(AssemblyError, match=r"^k\.s:3: .*: code has at most 1048576 s_nop"):
        parse_kernel(assembly("\t.fill 1000000000, 4, 0xbf800000"), "k.s")


def test_the_metadata_may_name_the_chip() -> None:
    lines = assembly("").replace("---\n", "---\namdhsa.target: amdgcn-amd-amdhsa--gfx950:xnack-\n")
    text = "\n".join(line for line in lines.splitlines() if ".amdgcn_target" not in line)
    assert parse_kernel(text).arch == "gfx950"


def test_code_by_hand_has_its_own_labels_comments_and_end() -> None:
    text = assembly("/* two\n   lines */\tv_mov_b32_e32 v0, 1 // one\nloop: s_branch loop")
    kernel = parse_kernel(text.replace(".Lfunc_end0:", ".size k, .-k"))
    assert [i.mnemonic for i in kernel.instructions] == ["v_mov_b32_e32", "s_branch", "s_endpgm"]
    assert kernel.labels == {"loop": 1}
    assert text.splitlines()[kernel.instructions[0].line - 1].endswith("v_mov_b32_e32 v0, 1 // one")


@pytest.mark.parametrize("directive", [".macro add", ".rept 3", ".if 1", '.include "x.s"'])
def test_macros_are_not_expanded(directive: str) -> None:
    with pytest.raises(AssemblyError, match=r":3: the emulator expands no \.\w+: let `llvm-mc"):
        parse_kernel(assembly(f"\t{directive}"))


def test_registers_may_be_counted_by_the_assembler() -> None:
    text = assembly("").replace("next_free_vgpr 128", "next_free_vgpr .amdgcn.next_free_vgpr")
    assert "next_free_vgpr" not in parse_kernel(text).directives
    with pytest.raises(
        AssemblyError, match=r":\d+: '.amdhsa_accum_offset SIZE' has no integer val"
    ):
        parse_kernel(assembly("", directives="\t\t.amdhsa_accum_offset SIZE"))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(((((alignto(max(1, k.num_vgpr), 4)/4)-1)&~65536)&63)+1)*4", 48),
        ("((((((alignto(max(1, k.num_vgpr), 4))/4)-1)&(~65536))&63)+1)*4", 48),
        ("totalnumvgprs(k.num_agpr, k.num_vgpr)", 48 + 3),
        ("totalnumvgprs(0, k.num_vgpr)", 46),
        ("0x10 + or(0, k.num_agpr) ; a comment", 17),
    ],
)
def test_directives_may_be_expressions_of_what_stands_behind_them(expression: str, value: int):
    """LLVM writes them for kernels that call functions, and `.set` after the kernel."""
    text = assembly("", directives=f"\t\t.amdhsa_accum_offset {expression}")
    text += "\t.set k.num_vgpr, max(46, amdgpu.max_num_vgpr)\n\t.set k.num_agpr, 3\n"
    text += "\t.set amdgpu.max_num_vgpr, 0\n"
    # The text between the metadata and the end of the file is not read for data.
    before, metadata, behind = text.partition("\t.end_amdgpu_metadata\n")
    start = before.index("\t.amdgpu_metadata")
    moved = before[:start] + behind + before[start:] + metadata
    assert parse_kernel(moved).directives["accum_offset"] == value


@pytest.mark.parametrize(
    "expression", ["max(", "max(1", "max()", "alignto(1)", "alignto(1, 0)", ","]
)
def test_expressions_that_cannot_be_read(expression: str) -> None:
    with pytest.raises(AssemblyError, match="has no integer value: the expression"):
        parse_kernel(assembly("", directives=f"\t\t.amdhsa_accum_offset {expression}"))


def test_instructions_know_their_lines_in_the_source() -> None:
    code = """\ts_nop 0
\t.file\t1 "/home/me" "kernel.hip" md5 0x12
\t.loc\t1 7 3 is_stmt 0 ; kernel.hip:7:3
\ts_nop 1
\ts_nop 2
\t.loc\t1 0 0
\ts_nop 3
\t.loc\t2 9 0
\ts_nop 4"""
    locations = parse_kernel(assembly(code)).locations
    assert [str(each) for each in locations] == [
        *("None", "kernel.hip:7", "kernel.hip:7", "None", "None", "None")
    ]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (".args: [{.size: 8, .value_kind: by_value}]", "argument 0: .offset is no number"),
        (".args: [{.offset: 0, .size: 8}]", "argument 0: no .value_kind"),
        (".args: [{.offset: -8, .size: 8, .value_kind: by_value}]", ".offset is no number"),
        (".args: 3", ".args is no list of arguments"),
        (".args: [3]", ".args is no list of arguments"),
        (".reqd_workgroup_size: [x, 1, 1]", ".reqd_workgroup_size is no list of 3 sizes"),
        (".reqd_workgroup_size: [64, off, 1]", ".reqd_workgroup_size is no list of 3 sizes"),
        (".reqd_workgroup_size: [64, 0, 1]", ".reqd_workgroup_size is no list of 3 sizes"),
        (".reqd_workgroup_size: 64", ".reqd_workgroup_size is no list of 3 sizes"),
        (".max_flat_workgroup_size: many", ".max_flat_workgroup_size is no number"),
    ],
)
def test_metadata_that_says_too_little(entry: str, reason: str) -> None:
    text = assembly("").replace(".reqd_workgroup_size: [64, 1, 1]", entry)
    with pytest.raises(AssemblyError, match=f"kernel 'k'.* {reason}"):
        parse_kernel(text)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("---\n", "---\n\0", "the metadata is no YAML"),
        ("---\n", "---\n\t[\n", "the metadata is no YAML: .*, in its line 2"),
        ("---\n", "---\na: 2001-99-99\n", "the metadata is no YAML"),
        ("---\n", "---\na: " + "[" * 1000 + "\n", "the metadata is no YAML"),
        ("amdhsa.kernels:", "kernels:", "the metadata is no list of kernels with names"),
        (".name: k", ".nam: k", "the metadata is no list of kernels with names"),
        ("kernarg_segment_size: 0", "kernarg_segment_size: 9999999", "is 9999999, more than"),
        ("kernarg_segment_size: 0", "kernarg_segment_size: true", "is no number"),
    ],
)
def test_metadata_that_cannot_be_read(old: str, new: str, reason: str) -> None:
    with pytest.raises(AssemblyError, match=rf"^k\.s:\d+: .*{reason}"):
        parse_kernel(assembly("").replace(old, new), "k.s")


@pytest.mark.parametrize(
    "directive",
    [
        *("private_segment_fixed_size 131057", "next_free_vgpr 513", "system_vgpr_workitem_id 3"),
        *("user_sgpr_count -1", "float_denorm_mode_32 4"),
    ],
)
def test_directives_have_a_largest_value(directive: str) -> None:
    with pytest.raises(AssemblyError, match=r"^k\.s:\d+: '\.amdhsa_.* is not from 0 to \d+$"):
        parse_kernel(assembly("", directives=f"\t\t.amdhsa_{directive}"), "k.s")


def test_names_may_be_marked_as_strings() -> None:
    entry = ".args:\n      - {.name: !str n, .offset: 0, .size: 4, .value_kind: by_value}"
    text = assembly("").replace(".reqd_workgroup_size: [64, 1, 1]", entry)
    assert parse_kernel(text).arguments[0].name == "n"


def test_arguments_know_their_lines() -> None:
    entry = ".args:\n      - .offset: 0\n        .size: 8\n        .value_kind: by_value"
    text = assembly("").replace(".reqd_workgroup_size: [64, 1, 1]", entry)
    metadata = parse_kernel(text).metadata
    lines = text.splitlines()
    assert lines[metadata.line - 1] == "  - .name: k"
    assert lines[metadata.arguments[0].line - 1] == "      - .offset: 0"


def test_the_code_may_end_with_the_file() -> None:
    text = assembly("\tv_mov_b32_e32 v0, 1")
    before, code = text.split("k:\n", 1)
    code, behind = code.split(".Lfunc_end0:\n")
    last = f"{before}{behind}\t.text\nk:\n{code}"
    assert len(parse_kernel(last).instructions) == 2
    with pytest.raises(AssemblyError, match=r"k\.s:\d+: the code of kernel 'k' has no end"):
        parse_kernel(last.replace("\ts_endpgm\n", ""), "k.s")


@pytest.mark.parametrize("end", ["---", "...", "", "---\n...", "---\n---"])
def test_what_ends_the_metadata(end: str) -> None:
    text = assembly("").replace("...\n", f"{end}\n")
    assert parse_kernel(text).name == "k"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("...\n", "---\na: 1\n", "the metadata is more than one document"),
        ("  - .name: k\n", "  - .name: k\n  - .name: k\n", "the metadata names two kernels 'k'"),
        ("k:\n", "k:\n\ts_endpgm\n.size k, .-k\nk:\n", "the label 'k' is there twice"),
        (
            "\t.end_amdhsa_kernel\n",
            "\t.end_amdhsa_kernel\n\t.amdhsa_kernel k\n\t.end_amdhsa_kernel\n",
            "two kernels have the name 'k'",
        ),
    ],
)
def test_what_is_there_twice(old: str, new: str, message: str) -> None:
    with pytest.raises(AssemblyError, match=rf"^k\.s:\d+: {message}"):
        parse_kernel(assembly("").replace(old, new, 1), "k.s")


@pytest.mark.parametrize(
    ("spaced", "plain"),
    [
        ("ds_read_b32 v0, v1 offset: 4", "ds_read_b32 v0, v1 offset:4"),
        ("ds_read_b32 v0, v1 offset :4", "ds_read_b32 v0, v1 offset:4"),
        (
            "v_mov_b32_dpp v0, v1 quad_perm: [1, 0, 3, 2]",
            "v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2]",
        ),
        ("s_mov_b64 s[ 4 : 5 ], 0", "s_mov_b64 s[4:5], 0"),
    ],
)
def test_blanks_within_modifiers_and_registers(spaced: str, plain: str) -> None:
    first, second = parse_instruction(spaced, 1), parse_instruction(plain, 1)
    assert (first.operands, first.modifiers) == (second.operands, second.modifiers)


def test_directives_for_the_linker_mean_nothing() -> None:
    assert parse_kernel(assembly("\t.set x, 1\n\t.no_dead_strip\tx\n\t.lto_discard x")).name == "k"


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
def test_labels_that_are_numbers(arch: str):
    """Both loops are named 1, and the second one leaves by the label 2 behind it."""
    code = """\ts_mov_b32 s8, 3
\ts_mov_b32 s9, 0
1:\ts_add_u32 s9, s9, 0x1f
\ts_sub_u32 s8, s8, 1
\ts_cmp_lg_u32 s8, 0
\ts_cbranch_scc1 1b
1:
\ts_add_u32 s8, s8, 1
\ts_cmp_eq_u32 s8, 5
\ts_cbranch_scc1 2f // 2b is another label
\ts_branch 1b
\ts_endpgm
2:"""
    machine = run(code, arch)
    assert machine.sgpr[8:10, 0].tolist() == [5, 3 * 31]


@pytest.mark.parametrize("use", ["1b", "2f", "3f"])
def test_a_number_that_labels_nothing(use: str):
    with pytest.raises(EmulationError, match=f"no label '{use}'|'{use}' cannot be read"):
        run(f"\ts_branch {use}\n1:\ts_nop 0\n")


def test_numbers_label_data():
    text = assembly(
        "\ts_getpc_b64 s[4:5]\n\ts_add_u32 s4, s4, t@rel32@lo+4\n"
        "\ts_addc_u32 s5, s5, t@rel32@hi+12\n"
        "\ts_load_dwordx2 s[8:9], s[4:5], 0x0\n\ts_waitcnt lgkmcnt(0)"
    )
    text += '\t.section .rodata,"a"\nt:\n1:\t.long 2f-1b\n\t.long 7\n2:\t.ascii "1b"\n'
    kernel = parse_assembly(text)["k"]
    assert kernel.data.regions[0].contents[-10:] == b"\x08\0\0\0\x07\0\0\x001b"
