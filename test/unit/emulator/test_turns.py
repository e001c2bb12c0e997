# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of waves that wait for each other: in a workgroup, and in the grid (`turns.py`)."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from bankwise.emulator import executor, kernel_launch
from bankwise.emulator.emulation_errors import LdsRaceError, StepLimitError
from bankwise.emulator.polling import polling_loops
from bankwise.emulator.supervision import Supervision
from bankwise.emulator.turns import waves_text

from .small_kernels import assembly, kernel, launched, run

BUFFER = "\ts_load_dwordx2 s[4:5], s[0:1], 0x0\n\tv_mov_b32_e32 v1, 0\n\ts_waitcnt lgkmcnt(0)\n"
WAVE = "\tv_readfirstlane_b32 s3, v0\n\ts_lshr_b32 s3, s3, 6\n"
POLL_LDS = """{label}:
\tds_read_b32 v2, v1 offset:{at}
\ts_waitcnt lgkmcnt(0)
\tv_readfirstlane_b32 s6, v2
\ts_cmp_eq_u32 s6, 0
\ts_cbranch_scc1 {label}
"""
CLEAR = """\ts_cmp_lg_u32 s3, 0
\ts_cbranch_scc1 .Lclear
\tds_write_b32 v1, v1
\tds_write_b32 v1, v1 offset:4
\ts_waitcnt lgkmcnt(0)
.Lclear:
\ts_barrier
"""
ONE = "\tv_mov_b32_e32 v3, 1\n"


def result(code: str, threads: int = 64, grid: int = 1, words: int = 4, **options: Any):
    """Returns the words that a kernel leaves in its buffer of zeros."""
    source = assembly(BUFFER + code, threads=threads, lds_bytes=1024, kernarg_bytes=8)
    return launched(source, words, grid=(grid, 1, 1), **options)[0]


def message(last: int) -> str:
    """Returns code by which the first wave of 2 stores data and a flag; the other polls the flag.

    The text has the code of wave `last` behind that of the other.
    """
    send = "\tds_write_b32 v1, v4 offset:4\n\tds_write_b32 v1, v3\n\ts_endpgm\n"
    receive = POLL_LDS.format(label=".Lpoll", at=0) + (
        "\tds_read_b32 v5, v1 offset:4\n\ts_waitcnt lgkmcnt(0)\n"
        "\tglobal_store_dword v1, v5, s[4:5]\n\ts_endpgm\n"
    )
    first, second = (send, receive) if last else (receive, send)
    branch = f"\ts_cmp_eq_u32 s3, {last}\n\ts_cbranch_scc1 .Lsecond\n"
    return f"{WAVE}{CLEAR}{ONE}\tv_mov_b32_e32 v4, 42\n{branch}{first}.Lsecond:\n{second}"


@pytest.mark.parametrize("last", [0, 1])
def test_a_wave_waits_for_another_one_of_its_workgroup(last: int):
    assert result(message(last), threads=128)[0] == 42


def test_data_that_no_flag_orders_race():
    early = message(0).replace(".Lpoll:", "\tds_read_b32 v6, v1 offset:4\n.Lpoll:")
    with pytest.raises(LdsRaceError, match=r"race on LDS byte 4 of workgroup 0: wave 0 writes it"):
        result(early, threads=128)


def test_data_that_are_stored_behind_their_flag_race():
    data, flag = "\tds_write_b32 v1, v4 offset:4\n", "\tds_write_b32 v1, v3\n"
    with pytest.raises(LdsRaceError, match=r"race on LDS byte 4 of workgroup 0"):
        result(message(0).replace(data + flag, flag + data), threads=128)


def test_a_flag_that_two_waves_store_races():
    code = message(0).replace("s_cmp_eq_u32 s3, 0", "s_cmp_lt_u32 s3, 2")
    with pytest.raises(LdsRaceError, match=r"race on LDS byte [04] of workgroup 0"):
        result(code, threads=192)


def test_a_flag_that_is_stored_in_parts_races():
    """Only an aligned store of one word is there as a whole."""
    code = message(0).replace("ds_write_b32 v1, v3\n", "ds_write_b96 v1, v[3:5]\n")
    code = code.replace("v_mov_b32_e32 v4, 42", "v_mov_b32_e32 v4, 42\n\tv_mov_b32_e32 v5, 0")
    with pytest.raises(LdsRaceError, match=r"race on LDS byte 0 of workgroup 0: wave 0 writes it"):
        result(code, threads=128)


def test_a_number_of_rounds_is_no_flag():
    """The loop would go on for other reasons too, so that its load tells nothing of others."""
    code = message(0).replace(
        "\ts_cmp_eq_u32 s6, 0\n", "\ts_add_u32 s9, s9, 1\n\ts_cmp_ge_u32 s6, s9\n"
    )
    with pytest.raises(LdsRaceError, match=r"race on LDS byte 0 of workgroup 0"):
        result("\ts_mov_b32 s9, 0\n" + code, threads=128)


LOCK = f"""{WAVE}{CLEAR}{ONE}\ts_movk_i32 s9, 5
.Lagain:
.Lacquire:
\tds_cmpst_rtn_b32 v2, v1, v1, v3
\ts_waitcnt lgkmcnt(0)
\tv_readfirstlane_b32 s6, v2
\ts_cmp_lg_u32 s6, 0
\ts_cbranch_scc1 .Lacquire
\tds_read_b32 v5, v1 offset:4
\ts_waitcnt lgkmcnt(0)
\tv_add_u32_e32 v5, 1, v5
\tds_write_b32 v1, v5 offset:4
\ts_waitcnt lgkmcnt(0)
\tds_write_b32 v1, v1
\ts_sub_u32 s9, s9, 1
\ts_cmp_lg_u32 s9, 0
\ts_cbranch_scc1 .Lagain
\ts_barrier
\tds_read_b32 v5, v1 offset:4
\ts_waitcnt lgkmcnt(0)
\tglobal_store_dword v1, v5, s[4:5]
"""


def test_waves_take_a_lock_one_after_the_other():
    # Lane 0 alone takes the lock.
    assert result("\ts_mov_b64 exec, 1\n" + LOCK, threads=256)[0] == 20


def test_data_beside_a_lock_race():
    # The lock is given back before the sum is stored.
    code = LOCK.replace("\tds_write_b32 v1, v5 offset:4\n", "").replace(
        "\tds_write_b32 v1, v1\n\ts_sub",
        "\tds_write_b32 v1, v1\n\tds_write_b32 v1, v5 offset:4\n\ts_sub",
    )
    with pytest.raises(LdsRaceError, match="race on LDS byte 4 of workgroup 0"):
        result("\ts_mov_b64 exec, 1\n" + code, threads=256)


POLL = """{label}:
\tglobal_load_dword v2, v{address}, s[4:5] {offset} sc0 sc1
\ts_waitcnt vmcnt(0)
\tv_readfirstlane_b32 s6, v2
\ts_cmp_{condition}
\ts_cbranch_scc1 {label}
"""


def grid_barrier(count: int) -> str:
    """Returns code by which each workgroup counts itself, waits for all and stores the count."""
    poll = POLL.format(label=".Lpoll", address=1, offset="", condition=f"lg_u32 s6, {count}")
    return (
        "\ts_mov_b64 exec, 1\n\ts_add_u32 s8, s2, 1\n\ts_lshl_b32 s8, s8, 2\n"
        f"\tv_mov_b32_e32 v4, s8\n{ONE}\tglobal_atomic_add v1, v3, s[4:5]\n{poll}"
        "\tglobal_store_dword v4, v2, s[4:5]\n"
    )


@pytest.mark.parametrize(("count", "max_waves"), [(2, 256), (5, 1), (9, 4), (300, 256)])
def test_workgroups_of_a_grid_wait_for_each_other(count: int, max_waves: int):
    """Even if they do not fit into one portion, as far as the chip runs them at once."""
    words = result(grid_barrier(count), grid=count, words=count + 1, max_waves=max_waves)
    assert (words == count).all()


def look_back(step: int) -> str:
    """Returns a scan: each workgroup waits for the sum of the one that lies `step` ahead.

    The sums begin at the second word, that before the first workgroup's is given as 1.
    """
    condition = "eq_u32 s6, 0"
    poll = POLL.format(label=".Lpoll", address=4, offset="offset:4", condition=condition)
    return (
        "\ts_mov_b64 exec, 1\n"
        f"\ts_add_i32 s7, s2, {step}\n\ts_lshl_b32 s7, s7, 2\n\ts_lshl_b32 s8, s2, 2\n"
        "\tv_mov_b32_e32 v4, s7\n\tv_mov_b32_e32 v6, s8\n\tv_mov_b32_e32 v2, 1\n"
        f"\ts_cmp_eq_u32 s2, {0 if step < 0 else 39}\n\ts_cbranch_scc1 .Lfirst\n{poll}.Lfirst:\n"
        "\tv_add_u32_e32 v2, s2, v2\n\tglobal_store_dword v6, v2, s[4:5] offset:4 sc0 sc1\n"
    )


@pytest.mark.parametrize("step", [-1, 1])
@pytest.mark.parametrize("max_waves", [3, 256])
def test_a_scan_looks_back(step: int, max_waves: int):
    words = result(look_back(step), grid=40, words=42, max_waves=max_waves)
    numbers = np.arange(40)
    sums = 1 + (numbers.cumsum() if step < 0 else numbers[::-1].cumsum()[::-1])
    assert (words[1:41] == sums).all()


def test_a_wave_may_count_how_long_it_waits():
    """Its registers change in every round, and its loop has two ends."""
    code = look_back(1).replace(
        "\ts_waitcnt vmcnt(0)",
        "\ts_waitcnt vmcnt(0)\n\ts_sleep 1\n\ts_add_u32 s9, s9, 1\n\ts_cmp_eq_u32 s9, 0x10000\n"
        "\ts_cbranch_scc1 .Lfirst",
    )
    words = result("\ts_mov_b32 s9, 0\n" + code, grid=40, words=42, max_waves=3)
    assert words[1] == 1 + sum(range(40))


def test_lanes_that_wait_leave_a_loop_one_by_one():
    code = f"""{WAVE}{CLEAR}{ONE}\tv_lshlrev_b32_e32 v4, 2, v0
\tds_write_b32 v4, v1 offset:64
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\ts_mov_b64 s[10:11], 0
\ts_cmp_eq_u32 s3, 1
\ts_cbranch_scc1 .Lsend
.Lpoll:
\tds_read_b32 v2, v4 offset:320
\ts_waitcnt lgkmcnt(0)
\tv_cmp_ne_u32_e32 vcc, 0, v2
\ts_or_b64 s[10:11], vcc, s[10:11]
\ts_andn2_b64 exec, exec, s[10:11]
\ts_cbranch_execnz .Lpoll
\ts_mov_b64 exec, -1
\tglobal_store_dword v4, v2, s[4:5]
\ts_endpgm
.Lsend:
\tds_write_b32 v4, v0 offset:64
\tv_cmp_eq_u32_e32 vcc, 64, v0
\ts_and_b64 exec, exec, vcc
\tds_write_b32 v4, v0 offset:64
"""
    words = result(code, threads=128, words=64)
    assert (words == np.arange(64, 128)).all()


def test_waves_that_wait_for_nothing_are_named_at_once():
    code = message(0).replace("\tds_write_b32 v1, v3\n", "")
    with pytest.raises(StepLimitError) as error:
        result(code, threads=256, supervision=Supervision(max_steps=1000))
    place, *lines = str(error.value).splitlines()
    assert place.endswith(
        ": the waves wait for each other without end: each has had its turn, and no register, LDS "
        "or memory has changed"
    )
    assert lines[1].startswith("  3 waves (1-3) at line ")
    assert lines[1].endswith(": s_cbranch_scc1 .Lpoll")


def test_waves_at_a_barrier_are_named_with_those_for_which_they_wait():
    code = message(0).replace("\tds_write_b32 v1, v3\n", "\ts_barrier\n")
    with pytest.raises(StepLimitError) as error:
        result(code, threads=128)
    assert [line.split(" at line ")[0] for line in str(error.value).splitlines()[2:]] == [
        *("  wave 1", "  wave 0")
    ]


def test_a_loop_that_changes_something_ends_at_the_limit():
    code = message(0).replace("\tds_write_b32 v1, v3\n", "")
    code = code.replace("\ts_cmp_eq_u32 s6, 0", "\ts_add_u32 s9, s9, 1\n\ts_cmp_eq_u32 s6, 0")
    with pytest.raises(StepLimitError, match=r"has not ended after 1,000 steps"):
        result("\ts_mov_b32 s9, 0\n" + code, 128, supervision=Supervision(max_steps=1000))


def test_a_loop_that_changes_memory_alone_ends_at_the_limit():
    """Somebody might wait for the number that it counts up to."""
    code = look_back(1).replace(
        "\ts_waitcnt vmcnt(0)",
        "\tglobal_atomic_add v1, v2, s[4:5] offset:164\n\ts_waitcnt vmcnt(0)",
    )
    code = code.replace("\tv_add_u32_e32 v2", "\ts_endpgm\n\tv_add_u32_e32 v2")
    code = code.replace("v1, v2, s[4:5]", "v1, v7, s[4:5]")
    with pytest.raises(StepLimitError, match=r"has not ended after 1,000 steps"):
        result(
            f"\tv_mov_b32_e32 v7, 1\n{code}",
            grid=40,
            words=42,
            supervision=Supervision(max_steps=1000),
        )


@pytest.mark.parametrize("max_waves", [5, 256])
def test_more_workgroups_than_run_at_once_wait_for_ever(
    max_waves: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(kernel_launch, "resident_workgroups", lambda dispatch: 8)
    assert (result(grid_barrier(8), grid=8, words=9, max_waves=max_waves) == 8).all()
    with pytest.raises(StepLimitError, match="the chip runs 8 workgroups at once, and others have"):
        result(grid_barrier(9), grid=9, words=10, max_waves=max_waves)


@pytest.mark.parametrize("max_waves", [1, 256])
def test_a_loop_that_nobody_recognizes_lets_others_go_on(
    max_waves: int, monkeypatch: pytest.MonkeyPatch
):
    """What is loaded decides by way of another branch."""
    monkeypatch.setattr(executor, "_ROUNDS_OF_A_TURN", 20)
    monkeypatch.setattr(executor, "_ROUNDS_OF_A_PORTION", 20)
    through = (
        "\tv_cmp_ne_u32_e32 vcc, 0, v2\n\ts_movk_i32 s6, 0\n\ts_cbranch_vccz .Lzero\n"
        "\ts_movk_i32 s6, 1\n.Lzero:\n"
    )
    code = look_back(1).replace("\tv_readfirstlane_b32 s6, v2\n", through)
    assert not polling_loops(kernel(code))
    assert result(code, grid=40, words=42, max_waves=max_waves)[1] == 1 + sum(range(40))


def test_names_of_waves():
    assert waves_text([3]) == "wave 3"
    assert waves_text([7, 0, 1, 2]) == "4 waves (0-2, 7)"
    assert waves_text([0, 2, 4, 6, 8]) == "5 waves (0, 2, 4, 6, ...)"


GUESS = "\tds_read_b32 v3, v1\n\ts_waitcnt lgkmcnt(0)\n"
SWAP = "\tds_cmpst_rtn_b32 v4, v1, v3, v2\n\ts_waitcnt lgkmcnt(0)\n"
ADD = "\tds_add_u32 v1, v2\n\ts_waitcnt lgkmcnt(0)\n"
NARROW = "\tds_read_u16 v3, v1\n\ts_waitcnt lgkmcnt(0)\n"


@pytest.mark.parametrize(
    ("code", "races"),
    [
        (GUESS + SWAP, False),
        (GUESS + SWAP + GUESS + SWAP + ADD, False),
        (ADD + GUESS + SWAP, False),
        (GUESS + ADD, True),
        (GUESS + ADD + SWAP, False),
        (GUESS + SWAP + GUESS, True),
        (NARROW + SWAP, True),
        ("\ts_barrier\n" + GUESS + SWAP + "\ts_barrier\n" + GUESS, False),
        (GUESS + "\ts_barrier\n" + SWAP, False),
        (SWAP + GUESS + "\ts_barrier\n" + SWAP, True),
        (GUESS + SWAP + "\tds_write_b32 v1, v2\n\ts_waitcnt lgkmcnt(0)\n", True),
    ],
)
def test_a_guess_that_a_swap_checks_is_no_race(code: str, races: bool):
    """Compilers make atomics of loops that load a word plainly first; both waves run the code."""
    place = 4 * np.arange(128).reshape(2, 64)
    begin = "\tds_write_b32 v5, v0\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n"
    vectors = {0: 0, 1: 4 * np.arange(64), 2: 1, 5: place}
    with pytest.raises(LdsRaceError, match="race on LDS byte") if races else nullcontext():
        run(begin + code, threads=128, lds_bytes=512, vectors=vectors)
