# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Directives between the instructions of a kernel, and those that nobody knows."""

from __future__ import annotations

import pytest

from bankwise.emulator.assembly import parse_kernel
from bankwise.emulator.instruction_text import AssemblyError

from .small_kernels import assembly


@pytest.mark.parametrize(
    "directive",
    [
        ".long 0xbf920002",
        ".long 0xbf800000",
        ".word 1",
        ".byte 1",
        '.ascii "abcd"',
        ".fill 1, 4, 0xbf920002",
        ".fill 1, 2, 0xbf800000",
        ".fill 4",
        ".zero 4",
        ".space 4",
        ".quad k",
        ".uleb128 4",
        ".p2align 3, 0x0",
        ".p2alignl 6, 0xbf920002",
        ".balign 8, 0xbf",
    ],
)
def test_data_between_instructions_are_refused(directive: str):
    """On a GPU they would be instructions."""
    text = assembly(f"\ts_nop 0\n\t{directive} ; a comment")
    with pytest.raises(AssemblyError, match=r"^k\.s:4: '\..* puts data between instructions"):
        parse_kernel(text, "k.s")


@pytest.mark.parametrize(
    "directive",
    [
        *(".fill 63, 4, 0xbf800000", ".fill count, 4, 3212836864", ".p2alignl 6, 3212836864"),
        *(
            ".p2align 8",
            ".p2align 5, , 4",
            ".balign 256",
            ".p2align 2, 0x0",
            ".balign 4, 1",
            ".set count, 3",
        ),
        *("count = 3", ".loc 1 7 3", ".cfi_escape 0x0f, 0x03", ".type k,@function", ".globl k"),
        *('.ident "clang"', "# 1 file.c"),
    ],
)
def test_directives_that_put_nothing_but_nops_between_instructions(directive: str):
    text = assembly(f"\ts_nop 1\n\t{directive}").replace("k:\n", ".set count, 2\nk:\n", 1)
    kernel = parse_kernel(text)
    assert [each.text for each in kernel.instructions] == ["s_nop 1", "s_endpgm"]


@pytest.mark.parametrize("place", ["\tk:", "\ts_endpgm", "\t.amdgpu_metadata", ".end_amdgpu"])
def test_an_unknown_directive_is_refused_wherever_it_stands(place: str):
    text = assembly("\ts_nop 0").replace("k:\n", "\tk:\n", 1)
    at = text.index(place)
    if place == ".end_amdgpu":
        at = text.index("\n", at) + 1
    text = text[:at] + "\t.frobnicate 3\n" + text[at:]
    line = text[:at].count("\n") + 1
    with pytest.raises(
        AssemblyError, match=rf"^k\.s:{line}: the emulator does not know the directive '.frobnicate"
    ):
        parse_kernel(text, "k.s")


def test_an_unknown_directive_of_a_kernel_is_refused():
    text = assembly("", directives="\t\t.amdhsa_frobnicate 1")
    with pytest.raises(AssemblyError, match=r"^k\.s:\d+: .* the directive '\.amdhsa_frobnicate'"):
        parse_kernel(text, "k.s")


def test_what_is_no_directive_among_data_is_refused():
    text = assembly("").replace(
        "\t.amdhsa_kernel", '\t.section .rodata,"a"\n\tjunk\n\t.amdhsa_kernel', 1
    )
    with pytest.raises(AssemblyError, match=r":7: 'junk' is no directive, in section '.rodata'"):
        parse_kernel(text)


def test_a_label_may_be_there_only_once():
    with pytest.raises(AssemblyError, match=r"^k\.s:3: the label '\.LBB0_1' is there twice"):
        parse_kernel(assembly(".LBB0_1:\n.LBB0_1:\n\ts_nop 0"), "k.s")


def test_lines_end_where_an_assembler_ends_them():
    code = "\ts_nop 1 ; a comment\x0c s_trap 2\u2028s_trap 2\r\n\ts_nop 2\r\ts_nop 3"
    kernel = parse_kernel(assembly(code))
    assert [(each.text, each.line) for each in kernel.instructions] == [
        *(("s_nop 1", 3), ("s_nop 2", 4), ("s_nop 3", 5), ("s_endpgm", 6))
    ]


@pytest.mark.parametrize(
    "directive",
    [
        *(".zero 1 << 60", ".fill -1, 4", ".zero", ".p2align 60", ".p2align", ".balign -4"),
        *(".long 1 << 200", ".long " + "(" * 3000, ".long 08", ".p2align 3, 0, 1, 2"),
    ],
)
def test_data_of_impossible_sizes_are_refused(directive: str):
    data = f'\t.section .rodata,"a"\n\t{directive}\n'
    text = assembly("").replace("\t.amdhsa_kernel", data + "\t.amdhsa_kernel", 1)
    with pytest.raises(AssemblyError, match=r"^<text>:7: "):
        parse_kernel(text)


def test_symbols_that_are_defined_by_each_other_are_refused():
    text = assembly("", directives="\t\t.amdhsa_dx10_clamp a").replace("k:", "a = b\nb = a\nk:", 1)
    with pytest.raises(AssemblyError, match="has no integer value: the expression"):
        parse_kernel(text)
