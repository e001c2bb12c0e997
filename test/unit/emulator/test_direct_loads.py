# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes that a load brings straight to the LDS, touched before and after the waits."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.emulator.emulation_errors import (
    EmulationError,
    LdsAddressError,
    LdsRaceError,
    MissingWaitError,
)
from bankwise.emulator.global_memory import GlobalMemory
from bankwise.emulator.wave_state import Machine

from .small_kernels import LANES, descriptor, run

WORDS = np.arange(256, dtype=np.uint32) + 1000
LOAD = "\ts_mov_b32 m0, s9\n\tbuffer_load_dword v0, s[4:7], 0 offen lds\n"
OTHER_LOAD = "\tglobal_load_dword v5, v0, s[10:11]\n"
OWN = 4 * LANES


def run_waves(code: str, threads: int = 128) -> Machine:
    """Runs waves that each have a word in memory and one in their part of the LDS.

    v0 and v1 are addresses of each lane's own word in memory and in the wave's half of the LDS, v2
    those in the half of wave 0; s9 is where the wave's half begins.
    """
    memory = GlobalMemory()
    address = memory.allocate(WORDS)
    first = np.arange(threads // 64) * 256
    vectors = {0: OWN, 1: OWN + first[:, None], 2: OWN, 3: 7, 5: 0}
    scalars = {**descriptor(memory, address, 1024), 9: first, 12: np.arange(threads // 64)}
    scalars |= {10: address & 0xFFFFFFFF, 11: address >> 32}
    return run(
        code, threads=threads, lds_bytes=512, vectors=vectors, scalars=scalars, memory=memory
    )


@pytest.mark.parametrize(
    ("access", "what"),
    [
        ("ds_read_b32 v4, v1", "is read"),
        ("ds_read_u8 v4, v1 offset:3", "is read"),
        ("ds_write_b32 v1, v3", "is written"),
        ("ds_add_u32 v1, v3", "is updated"),
    ],
)
def test_a_wave_touches_what_it_loads(access: str, what: str) -> None:
    with pytest.raises(MissingWaitError) as error:
        run_waves(f"{LOAD}\t{access}", threads=64)
    assert str(error.value).splitlines()[0] == (
        f"small.s:5: LDS byte 0 {what} before the load of line 4 ('buffer_load_dword v0, s[4:7], 0 "
        "offen lds') has written it for certain: wave 0, which loads it, needs 's_waitcnt "
        "vmcnt(0)' before, and any other wave a barrier behind that wait"
    )
    machine = run_waves(f"{LOAD}\ts_waitcnt vmcnt(0)\n\t{access}", threads=64)
    assert machine.vgpr[4, 0, 5] in (0, 3, 1005)


@pytest.mark.parametrize(("count", "enough"), [(0, True), (2, True), (3, False), (63, False)])
def test_a_wait_counts_what_came_since(count: int, enough: bool) -> None:
    code = f"{LOAD}{OTHER_LOAD}{OTHER_LOAD}\ts_waitcnt vmcnt({count})\n\tds_read_b32 v4, v1"
    if enough:
        assert (run_waves(code, threads=64).vgpr[4, 0] == WORDS[:64]).all()
        return
    with pytest.raises(MissingWaitError, match=r"needs 's_waitcnt vmcnt\(2\)' before"):
        run_waves(code, threads=64)


def test_other_bytes_may_be_touched() -> None:
    code = "\ts_mov_b32 m0, 256\n" + LOAD.split("\n", 1)[1]
    run_waves(f"{code}\tds_write_b32 v2, v3\n\tds_read_b32 v4, v2", threads=64)


def test_a_second_load_to_the_same_bytes() -> None:
    """The marks are those of the younger load: they stay after a wait for the older one."""
    code = f"{LOAD}{LOAD}\ts_waitcnt vmcnt(1)\n\tds_read_b32 v4, v1"
    with pytest.raises(MissingWaitError, match="load of line 6"):
        run_waves(code, threads=64)


READ_BY_ALL = "\tds_read_b32 v4, v2\n"
WAIT, BARRIER = "\ts_waitcnt vmcnt(0)\n", "\ts_barrier\n"


def test_another_wave_reads_behind_a_barrier() -> None:
    machine = run_waves(LOAD + WAIT + BARRIER + READ_BY_ALL)
    assert (machine.vgpr[4] == WORDS[:64]).all()


def test_a_barrier_that_is_passed_without_the_wait() -> None:
    with pytest.raises(MissingWaitError, match=r"small.s:6: .* wave 0, which loads it"):
        run_waves(LOAD + BARRIER + READ_BY_ALL)


def test_a_wait_behind_the_barrier_is_of_no_use_to_other_waves() -> None:
    with pytest.raises(LdsRaceError, match="wave 1 reads it"):
        run_waves(LOAD + BARRIER + WAIT + READ_BY_ALL)
    run_waves(LOAD + BARRIER + WAIT + BARRIER + READ_BY_ALL)


def test_waves_that_wait_on_different_paths() -> None:
    """Wave 0 waits and reads; wave 1 goes another way and does not wait before it reads."""
    parts = """\ts_cmp_eq_u32 s12, 0
\ts_cbranch_scc0 .LBB0_1
\ts_waitcnt vmcnt(0)
.LBB0_1:
\tds_read_b32 v4, v1"""
    with pytest.raises(MissingWaitError, match="wave 1, which loads it"):
        run_waves(LOAD + parts)
    machine = run_waves(LOAD + parts.replace("\tds_read", "\ts_waitcnt vmcnt(0)\n\tds_read"))
    assert (machine.vgpr[4] == WORDS[:64]).all()


def test_lanes_that_load_nothing_are_not_waited_for() -> None:
    off = "\ts_mov_b64 exec, 0xff\n"
    rest = "\ts_mov_b64 exec, 0xff00\n\tds_write_b32 v1, v3\n\tds_read_b32 v4, v1"
    run_waves(off + LOAD + rest, threads=64)
    with pytest.raises(MissingWaitError):
        run_waves(off + LOAD + rest.replace("0xff00", "0xff80"), threads=64)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("ds_write_b32 v1, v3", "ds_read_b32 v4, v2"),
        ("ds_read_b32 v4, v2", "ds_write_b32 v1, v3"),
    ],
)
def test_lds_accesses_that_go_on_behind_a_barrier(first: str, second: str) -> None:
    """Nothing says which of the two comes first, if no wait ends the first before the barrier."""
    start = f"\tds_write_b32 v1, v3\n\ts_waitcnt lgkmcnt(0)\n{BARRIER}"
    code = f"{start}\t{first}\n{{}}{BARRIER}\t{second}"
    with pytest.raises(LdsRaceError) as error:
        run_waves(code.format(""))
    assert "and passes a barrier without 's_waitcnt lgkmcnt(0)'" in str(error.value)
    run_waves(code.format("\ts_waitcnt lgkmcnt(0)\n"))


def test_accesses_to_other_bytes_may_go_on_behind_a_barrier() -> None:
    run_waves(f"\tds_write_b32 v1, v3\n{BARRIER}\tds_read_b32 v4, v1")


ASYNC = "\tglobal_load_async_to_lds_b32 v1, v0, s[10:11]\n"


def run_on_gfx1250(code: str) -> Machine:
    """Runs a wave of 32 lanes that have a word in memory at v0, and one in the LDS at v1."""
    memory = GlobalMemory()
    address = memory.allocate(WORDS)
    vectors = {
        0: 4 * np.arange(32),
        1: 4 * np.arange(32)[::-1],
        2: 2 * np.arange(32),
        5: 8 * np.arange(32),
    }
    scalars = {10: address & 0xFFFFFFFF, 11: address >> 32}
    options = {"threads": 32, "lds_bytes": 1024, "memory": memory}
    return run(code, arch="gfx1250", vectors=vectors, scalars=scalars, **options)  # type: ignore[arg-type]


def test_gfx1250_loads_to_bytes_that_lanes_name() -> None:
    """The offset counts in memory and in the LDS."""
    load = ASYNC.replace("[10:11]", "[10:11] offset:16")
    code = f"{load}\ts_wait_asynccnt 0x0\n\tds_load_b32 v4, v1 offset:16\n"
    assert (run_on_gfx1250(code).vgpr[4, 0] == WORDS[4:36]).all()


def test_gfx1250_scales_offsets_by_what_an_access_moves() -> None:
    code = """\tglobal_load_async_to_lds_b64 v5, v2, s[10:11] scale_offset
\ts_wait_asynccnt 0x0
\tds_load_b64 v[6:7], v5"""
    machine = run_on_gfx1250(code)
    assert (machine.vgpr[6:8, 0] == np.stack([WORDS[:128:4], WORDS[1:128:4]])).all()


MASK = """\tv_cmp_gt_u32_e32 vcc_lo, 0x40, v0
\tv_cndmask_b32_e32 v1, 0x7fffffff, v1, vcc_lo
\tv_cndmask_b32_e32 v0, 0x100000, v0, vcc_lo
"""
"""Half of the lanes have an address that lies in no LDS, and another in no buffer."""


def test_gfx1250_masks_lanes_by_an_address_in_no_lds() -> None:
    store = "\tds_store_b32 v5, v2\n\tds_store_b32 v5, v2 offset:4\n\ts_wait_dscnt 0x0\n"
    masked = ASYNC + "\tds_store_b32 v1, v2 offset:512\n"
    code = (
        f"\tv_mov_b32_e32 v6, v1\n{store}{MASK}{masked}\ts_wait_asynccnt 0x0\n\ts_wait_dscnt 0x0\n"
    )
    machine = run_on_gfx1250(f"{code}\tds_load_b32 v4, v6\n\ts_wait_dscnt 0x0\n")
    loaded, place = machine.vgpr[4, 0], np.arange(32)[::-1]
    assert (loaded[:16] == WORDS[:16]).all()
    assert (loaded[16:] == 2 * (place[16:] // 2)).all()


def test_other_chips_mask_no_lanes_so() -> None:
    code = "\tv_mov_b32_e32 v1, 0x7fffffff\n\tds_store_b32 v1, v1"
    with pytest.raises(LdsAddressError, match="4 bytes at LDS address 2147483647"):
        run(code, arch="gfx1201", lds_bytes=1024)


@pytest.mark.parametrize(
    ("wait", "needed"),
    [("", "0x0"), ("s_wait_loadcnt 0x0", "0x0"), ("s_wait_asynccnt 0x1", "0x0")],
)
def test_gfx1250_waits_for_its_own_counter(wait: str, needed: str) -> None:
    code = f"{ASYNC}\t{wait}\n\tds_load_b32 v4, v1" if wait else f"{ASYNC}\tds_load_b32 v4, v1"
    with pytest.raises(MissingWaitError, match=f"needs 's_wait_asynccnt {needed}' before"):
        run_on_gfx1250(code)


@pytest.mark.parametrize(
    ("arch", "code", "message"),
    [
        ("gfx1250", "global_load_async_to_lds_b8 v1, v0, s[10:11]", "no model of this copy"),
        ("gfx1250", "global_store_async_from_lds_b32 v0, v1, s[10:11]", "no model of this copy"),
        ("gfx1201", "global_load_async_to_lds_b32 v1, v0, s[10:11]", "gfx1201 has no 'global_load"),
        ("gfx1201", "global_load_b32 v1, v0, s[10:11] scale_offset", "no model of 'scale_offset'"),
    ],
)
def test_copies_without_a_model(arch: str, code: str, message: str) -> None:
    with pytest.raises(EmulationError, match=message):
        run(f"\t{code}", arch=arch, threads=32, lds_bytes=64)
