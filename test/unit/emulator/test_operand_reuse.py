# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed instructions that may read old values beside matrix instructions, on gfx950."""

from __future__ import annotations

import pytest

from bankwise.emulator.operand_reuse import suspect_reads

from .small_kernels import kernel

FIRST = "v_mfma_f32_16x16x32_f16 v[0:3], v[16:19], v[20:23], v[0:3]"
SAME_A = "v_mfma_f32_16x16x32_f16 v[4:7], v[16:19], v[24:27], v[4:7]"
SAME_B = "v_mfma_f32_16x16x32_f16 v[4:7], v[28:31], v[20:23], v[4:7]"
OTHER = "v_mfma_f32_16x16x32_f16 v[4:7], v[28:31], v[24:27], v[4:7]"
ODD = "v_pk_mul_f32 v[8:9], v[8:9], v[10:11] op_sel:[0,1]"
EVEN = "v_pk_mul_f32 v[8:9], v[8:9], v[10:11] op_sel_hi:[1,0]"
ALU = "v_add_f32_e32 v12, v12, v12"


def suspected(*lines: str, arch: str = "gfx950") -> list[tuple[int, int, int]]:
    """Returns the lines of each packed instruction and of its matrix instructions, from 0."""
    code = "\n".join(line if line.endswith(":") else f"\t{line}" for line in lines)
    found = suspect_reads(kernel(code, arch=arch))
    return [(each.packed, each.first, each.second) for each in found]


@pytest.mark.parametrize("second", [SAME_A, SAME_B])
def test_between_and_behind_two_that_share_an_operand(second: str) -> None:
    assert suspected(FIRST, ODD, second) == [(1, 0, 2)]
    assert suspected(FIRST, second, ALU, ODD) == [(3, 0, 1)]


@pytest.mark.parametrize(
    "lines",
    [
        (FIRST, ODD, OTHER),
        (FIRST, EVEN, SAME_A),
        (FIRST, SAME_A, EVEN),
        (FIRST, ODD),
        (FIRST, OTHER, SAME_A.replace("v[24:27]", "v[32:35]"), ODD),
        (FIRST, SAME_A, *[ALU] * 16, ODD),
        (FIRST, ODD, *[ALU] * 16, SAME_A),
    ],
    ids=[
        "nothing shared",
        "even",
        "even behind",
        "one",
        "not in a row",
        "long behind",
        "long before",
    ],
)
def test_others_are_not_suspected(lines: tuple[str, ...]) -> None:
    assert suspected(*lines) == []


def test_other_chips_are_not_suspected() -> None:
    older = [line.replace("16x16x32_f16", "16x16x16_f16") for line in (FIRST, ODD, SAME_A)]
    older = [line.replace("v[16:19]", "v[16:17]").replace("v[20:23]", "v[20:21]") for line in older]
    older = [line.replace("v[24:27]", "v[24:25]") for line in older]
    assert suspected(*older, arch="gfx942") == []


def test_the_iterations_of_a_loop_are_in_a_row() -> None:
    """The only matrix instruction of a loop shares its own operands in the next iteration."""
    loop = ("again:", FIRST, ODD, "s_cbranch_scc1 again")
    assert suspected(*loop) == [(1, 0, 0)]
    assert suspected(FIRST, ODD, "s_branch done", SAME_A, "done:", OTHER) == []


def test_the_message_names_the_lines() -> None:
    code = "\n".join(f"\t{line}" for line in (FIRST, ODD, SAME_A))
    parsed = kernel(code, arch="gfx950")
    (found,) = suspect_reads(parsed)
    lines = [parsed.instructions[index].line for index in (1, 2, 0)]
    assert found.message(parsed) == (
        f"small.s:{lines[0]}: v_pk_mul_f32 may read an old value on gfx950: the matrix instruction "
        f"of line {lines[1]} takes an operand from the registers of the one of line {lines[2]} "
        "(llvm/llvm-project issue 206825)"
    )
