# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of waits on paths whose branches test the same registers."""

from __future__ import annotations

import pytest

from bankwise.bank_model.lds_tables import lds_of
from bankwise.emulator import wait_paths
from bankwise.emulator.emulation_errors import MissingWaitError
from bankwise.emulator.executor import Program
from bankwise.emulator.step import BuildContext
from bankwise.emulator.supervision import Waits
from bankwise.emulator.wait_paths import checked_waits

from .small_kernels import kernel

LOAD = "\tglobal_load_dword v2, v1, s[4:5]\n"
SECOND = "\tglobal_load_dword v3, v1, s[4:5] offset:4\n"
WAIT = "\ts_waitcnt vmcnt({})\n"


def code(first: str, second: str, between: str = "") -> str:
    """Returns code that loads once more unless `first` branches, and waits for all if `second`
    does."""
    return (
        f"{LOAD}{first} .Lone\n{SECOND}.Lone:\n{between}{second} .Lall\n{WAIT.format(1)}"
        f"\ts_branch .Luse\n.Lall:\n{WAIT.format(0)}.Luse:\n\tv_mov_b32_e32 v4, v2\n"
    )


def branch(test: str, jump: str = "s_cbranch_scc1") -> str:
    return f"\t{test}\n\t{jump}"


EQUAL = branch("s_cmp_eq_u32 s8, 1")
COPY = "\ts_cmp_eq_u32 s8, 1\n\ts_cselect_b64 s[10:11], {}\n\ts_cmp_eq_u32 s8, 1\n\ts_cbranch_scc1"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (EQUAL, EQUAL),
        (EQUAL, branch("s_cmp_lg_u32 s8, 1", "s_cbranch_scc0")),
        (EQUAL, branch("s_cmpk_eq_i32 s8, 0x1")),
        (branch("s_cmp_lt_i32 s8, 2"), branch("s_cmp_lt_i32 s8, 3")),
        (branch("s_cmp_lt_i32 s8, 0"), branch("s_cmp_gt_u32 s8, 0x7fffffff")),
        (branch("s_cmp_lt_u32 s8, s9"), branch("s_cmp_gt_u32 s9, s8")),
        (branch("s_cmp_lt_u32 s8, s9"), branch("s_cmp_ge_u32 s8, s9", "s_cbranch_scc0")),
        (branch("s_cmp_eq_u64 s[8:9], s[12:13]"), branch("s_cmp_eq_u64 s[8:9], s[12:13]")),
        (branch("s_bitcmp1_b32 s8, 0"), branch("s_bitcmp1_b32 s8, 0")),
        (branch("s_and_b32 s9, s8, 3"), branch("s_and_b32 s10, s8, 3")),
        (COPY.format("-1, 0"), branch("s_and_b64 vcc, exec, s[10:11]", "s_cbranch_vccnz")),
        (COPY.format("0, -1"), branch("s_and_b64 vcc, exec, s[10:11]", "s_cbranch_vccz")),
        (COPY.format("-1, 0"), branch("s_mov_b64 vcc, s[10:11]", "s_cbranch_vccnz")),
        (
            "\ts_cmp_eq_u32 s8, 1\n\ts_cselect_b32 s9, 1, 0\n"
            "\ts_cmp_lg_u32 s9, 0\n\ts_cbranch_scc1",
            branch("s_cmp_eq_u32 s9, 0", "s_cbranch_scc0"),
        ),
        (
            branch("v_cmp_eq_u32_e32 vcc, s8, v0", "s_cbranch_vccnz"),
            branch("v_cmp_eq_u32_e32 vcc, s8, v0", "s_cbranch_vccnz"),
        ),
    ],
)
def test_branches_that_test_the_same_go_the_same_way(first: str, second: str):
    found = checked_waits(kernel(code(first, second)))
    assert (found.missing, found.doubtful) == ((), ())


@pytest.mark.parametrize(
    ("first", "second", "between"),
    [
        # Another register, another value, or the other way.
        (EQUAL, branch("s_cmp_eq_u32 s9, 1"), ""),
        (EQUAL, branch("s_cmp_eq_u32 s8, 2"), ""),
        (EQUAL, branch("s_cmp_eq_u32 s8, 1", "s_cbranch_scc0"), ""),
        (branch("s_cmp_lt_i32 s8, 3"), branch("s_cmp_lt_i32 s8, 2"), ""),
        (branch("s_cmp_lt_i32 s8, 0"), branch("s_cmp_lt_u32 s8, 0x80000000"), ""),
        (branch("s_cmp_lt_i32 s8, s9"), branch("s_cmp_lt_u32 s8, s9"), ""),
        # The register is written in between.
        (EQUAL, EQUAL, "\ts_add_u32 s8, s8, 1\n"),
        (EQUAL, EQUAL, "\ts_load_dword s8, s[4:5], 0x0\n\ts_waitcnt lgkmcnt(0)\n"),
        (EQUAL, EQUAL, "\tv_readfirstlane_b32 s8, v5\n"),
        (
            branch("v_cmp_eq_u32_e32 vcc, s8, v0", "s_cbranch_vccnz"),
            branch("v_cmp_eq_u32_e32 vcc, s8, v0", "s_cbranch_vccnz"),
            "\tv_add_u32_e32 v0, 1, v0\n",
        ),
        (
            branch("v_cmp_eq_u32_e32 vcc, s8, v0", "s_cbranch_vccnz"),
            branch("v_cmp_eq_u32_e32 vcc, s8, v0", "s_cbranch_vccnz"),
            "\ts_mov_b64 exec, 1\n",
        ),
        (
            COPY.format("0, -1"),
            branch("s_and_b64 vcc, exec, s[10:11]", "s_cbranch_vccnz"),
            "",
        ),
    ],
)
def test_branches_that_may_go_another_way_need_the_wait(first: str, second: str, between: str):
    found = checked_waits(kernel(code(first, second, between)))
    assert [(missing.register, missing.needed) for missing in found.missing] == [
        ("v2", "s_waitcnt vmcnt(0)")
    ]
    assert found.doubtful == ()


def test_what_is_moved_is_known():
    """The flag says whether there was a second load."""
    text = (
        f"{LOAD}\ts_mov_b32 s9, 0\n{EQUAL} .Lone\n{SECOND}\ts_mov_b32 s9, 1\n.Lone:\n"
        f"\ts_cmp_eq_u32 s9, 0\n\ts_cbranch_scc1 .Lall\n{WAIT.format(1)}\ts_branch .Luse\n"
        f".Lall:\n{WAIT.format(0)}.Luse:\n\tv_mov_b32_e32 v4, v2\n"
    )
    assert checked_waits(kernel(text)).missing == ()
    wrong = text.replace("s_mov_b32 s9, 0", "s_mov_b32 s9, 1")
    assert len(checked_waits(kernel(wrong)).missing) == 1


def test_a_loop_does_not_keep_what_it_changes():
    text = (
        f"\ts_mov_b32 s9, 0\n.Lagain:\n{LOAD}\ts_cmp_eq_u32 s9, 0\n\ts_cbranch_scc1 .Lfirst\n"
        f"\tv_mov_b32_e32 v4, v2\n.Lfirst:\n{WAIT.format(0)}\ts_add_u32 s9, s9, 1\n"
        "\ts_cmp_lt_u32 s9, 4\n\ts_cbranch_scc1 .Lagain\n"
    )
    assert len(checked_waits(kernel(text)).missing) == 1


COUNTED = "\ts_sub_u32 s9, s8, 1\n\ts_sub_u32 s9, s9, 1\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (branch("s_cmp_eq_u32 s8, 3"), f"{COUNTED}{branch('s_cmp_eq_u32 s9, 1')}"),
        (branch("s_cmp_lt_u32 s8, 2"), f"{COUNTED}{branch('s_cmp_ge_u32 s9, -2')}"),
        (
            f"\ts_mov_b32 s9, s8\n{branch('s_cmp_eq_u32 s8, 3')}",
            branch("s_addk_i32 s9, 0xfffe\n\ts_cmp_eq_u32 s9, 1"),
        ),
        (branch("s_cmpk_eq_i32 s8, 0xfffe"), branch("s_cmp_eq_u32 s8, -2")),
        (
            f"\ts_mov_b32 s9, s8\n{branch('s_cmp_eq_u32 s8, 3')}",
            branch("s_mov_b32 s8, 0\n\ts_add_u32 s10, 5, s9\n\ts_cmp_eq_u32 s10, 8"),
        ),
        (
            branch("s_and_b32 s8, s8, 1\n\ts_cmp_eq_u32 s8, 0"),
            branch("s_cmp_lg_u32 s8, 1"),
        ),
    ],
)
def test_sums_with_numbers_are_known(first: str, second: str):
    found = checked_waits(kernel(code(first, second)))
    assert (found.missing, found.doubtful) == ((), ())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (branch("s_cmp_eq_u32 s8, 3"), f"{COUNTED}{branch('s_cmp_eq_u32 s9, 2')}"),
        (branch("s_cmp_lt_i32 s8, 1"), f"{COUNTED}{branch('s_cmp_le_i32 s9, -2')}"),
        (branch("s_cmp_eq_u32 s8, 3"), branch("s_addk_i32 s8, 0xfffe\n\ts_cmp_eq_u32 s8, 3")),
        (
            branch("s_cmp_eq_u32 s8, 1\n\ts_cselect_b32 s8, 0, 1\n\ts_cmp_eq_u32 s8, 1"),
            branch("s_cmp_lg_u32 s8, 1"),
        ),
    ],
)
def test_other_sums_are_told_apart(first: str, second: str):
    assert len(checked_waits(kernel(code(first, second))).missing) == 1


RETURN = f"{WAIT.format(0)}\ts_setpc_b64 s[30:31]"


@pytest.mark.parametrize(("second", "missing"), [(".Lf", 0), (".Lg", 1)])
def test_a_function_returns_to_its_caller(second: str, missing: int):
    """The second caller's use of v3 has nothing to do with what the first one loads."""
    text = (
        f"{LOAD}\ts_call_b64 s[30:31], .Lf\n\tv_mov_b32_e32 v4, v2\n{SECOND}"
        f"\ts_call_b64 s[30:31], {second}\n\tv_mov_b32_e32 v4, v3\n\ts_endpgm\n"
        f".Lf:\n{RETURN}\n.Lg:\n\ts_setpc_b64 s[30:31]"
    )
    assert len(checked_waits(kernel(text)).missing) == missing


def test_what_depends_on_an_atomic_is_doubtful():
    """Here the last workgroup goes on, and one alone is never told that it is."""
    text = (
        f"{LOAD}\ts_atomic_dec s9, s[4:5], 0x0 glc\n\ts_waitcnt lgkmcnt(0)\n"
        "\ts_cmp_lg_u32 s9, 1\n\ts_cbranch_scc1 .Lend\n\tv_mov_b32_e32 v4, v2\n"
        "\tv_mov_b32_e32 v5, v3\n.Lend:\n"
    ).replace(LOAD, LOAD + SECOND)
    parsed = kernel(text)
    found = checked_waits(parsed)
    assert (len(found.missing), len(found.doubtful)) == (0, 2)
    (text,) = Program(BuildContext(parsed, lds_of("gfx942"))).warnings
    assert "whether a wave can take it; uses like this: 2" in text


APART = "".join(
    f"\ts_cmp_eq_u32 s{register}, 1\n\ts_cbranch_scc1 .L{register}\n\tv_nop\n.L{register}:\n"
    for register in range(20, 26)
)


AGAIN = "".join(
    f"\ts_cmp_eq_u32 s{register}, 1\n\ts_cbranch_scc1 .Lagain{register}\n\tv_nop\n"
    f".Lagain{register}:\n"
    for register in range(20, 26)
)
"""Branches without which what is known of the registers would be forgotten."""


def test_a_use_behind_too_many_paths_is_doubtful(monkeypatch: pytest.MonkeyPatch):
    """It is a warning, and the kernel runs."""
    parsed = kernel(code(EQUAL, EQUAL, APART) + AGAIN)
    monkeypatch.setattr(wait_paths, "_MOST_PATHS", 8)
    found = checked_waits(parsed)
    assert (found.missing, len(found.doubtful)) == ((), 1)
    (text,) = Program(BuildContext(parsed, lds_of("gfx942"))).warnings
    assert "on a path of which it is not known whether a wave can take it\n" in text
    monkeypatch.setattr(wait_paths, "_MOST_PATHS", 1 << 8)
    assert checked_waits(parsed).doubtful == ()


def test_what_becomes_of_a_use_without_a_wait():
    parsed = kernel(f"{LOAD}\tv_mov_b32_e32 v4, v2")

    def program(waits: Waits) -> Program:
        return Program(BuildContext(parsed, lds_of("gfx942"), waits))

    with pytest.raises(MissingWaitError):
        program(Waits.ERROR)
    (text,) = program(Waits.WARN).warnings
    assert text.startswith("small.s:4: v2 is used before the load of line 3")
    assert program(Waits.OFF).warnings == []
