# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flat instructions, of which every lane's address says whether it is in LDS, private or global."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.emulator.apertures import PRIVATE_BASE, SHARED_BASE
from bankwise.emulator.counters import totals
from bankwise.emulator.emulation_errors import (
    EmulationError,
    GlobalAccessError,
    LdsAddressError,
    LdsRaceError,
    UndefinedReadError,
)
from bankwise.emulator.global_memory import GlobalMemory
from bankwise.emulator.wave_state import Machine

from .small_kernels import LANES, run, undefined_bits

SPACES = LANES % 3
"""Lanes 0, 3, ... access the LDS, lanes 1, 4, ... private and the others global memory."""
WAIT = "\ts_waitcnt vmcnt(0) lgkmcnt(0)\n"
run_flat = partial(run, lds_bytes=1024, private_bytes=16)


def addresses(memory: GlobalMemory) -> dict[int, np.ndarray]:
    """Returns registers with an address of 16 bytes for each lane in v[2:3]."""
    start = memory.allocate(1024)
    places = [SHARED_BASE + 16 * LANES, PRIVATE_BASE + 0 * LANES, start + 16 * LANES]
    chosen = np.choose(SPACES, places)
    return {2: chosen & 0xFFFFFFFF, 3: chosen >> 32}


def flat(
    code: str, vectors: Mapping[int, npt.ArrayLike] | None = None, **options: object
) -> Machine:
    memory = GlobalMemory()
    given = {**addresses(memory), **(vectors or {})}
    return run_flat(code, vectors=given, memory=memory, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_words_go_to_all_three_and_come_back(count: int):
    suffix = "" if count == 1 else f"x{count}"
    data, back = (f"v[{first}:{first + count - 1}]" for first in (10, 20))
    given = {10 + k: 1000 * k + LANES for k in range(count)}
    machine = flat(
        f"\tflat_store_dword{suffix} v[2:3], {data}\n{WAIT}"
        f"\tflat_load_dword{suffix} {back}, v[2:3]",
        given,
    )
    for k in range(count):
        assert (machine.vgpr[20 + k][0] == 1000 * k + LANES).all()
    lds = machine.lds.bytes.view(np.uint32).reshape(64, 4)[:, :count]
    assert (lds[SPACES == 0] == (1000 * np.arange(count) + LANES[SPACES == 0, None])).all()
    assert not lds[SPACES != 0].any()
    counters = machine.counters
    # Each of the two instructions is one of vector memory.
    issued = totals(machine.kernel, counters)
    names = ("SQ_INSTS_LDS", "SQ_INSTS_VMEM_RD", "SQ_INSTS_VMEM_WR")
    assert [issued[name] for name in names] == [0, 1, 1]
    # Of 64 lanes 21 access global memory, and nobody but them is counted as its traffic.
    assert counters.global_useful_bytes.tolist() == [21 * 4 * count, 0, 21 * 4 * count, 0]
    assert (counters.lds_cycles[[0, 2]] > 0).all()


def test_the_address_may_be_overwritten():
    code = f"\tflat_store_dwordx2 v[2:3], v[10:11]\n{WAIT}\tflat_load_dwordx2 v[2:3], v[2:3]"
    machine = flat(code, {10: LANES, 11: 7})
    assert (machine.vgpr[2][0] == LANES).all()
    assert (machine.vgpr[3][0] == 7).all()


@pytest.mark.parametrize(
    ("store", "load", "expected"),
    [
        ("byte", "ubyte", 0xF0),
        ("byte", "sbyte", 0xFFFFFFF0),
        ("short", "ushort", 0x80F0),
        ("short", "sshort", 0xFFFF80F0),
        ("byte_d16_hi", "ubyte_d16", 0x00000077),
        ("short_d16_hi", "short_d16_hi", 0xAA770000),
        ("short", "sbyte_d16", 0x0000FFF0),
    ],
)
def test_narrow_ones(store: str, load: str, expected: int):
    code = (
        f"\tflat_store_{store} v[2:3], v10 offset:4\n{WAIT}\tflat_load_{load} v20, v[2:3] offset:4"
    )
    machine = flat(code, {10: 0xAA7780F0, 20: 0x12345678})
    assert (machine.vgpr[20][0] == expected).all()


@pytest.mark.parametrize(
    ("name", "data", "before", "after"),
    [
        ("add", "v10", 5, 5 + LANES),
        ("umax", "v10", 5, np.maximum(5, LANES)),
        # v10 is the new value, and v11 what the old one is compared with.
        ("cmpswap", "v[10:11]", 5, np.where(LANES % 2, LANES, 5)),
        ("swap", "v10", 5, LANES),
    ],
)
@pytest.mark.parametrize("returns", [True, False])
def test_atomics(name: str, data: str, before: int, after: object, returns: bool):
    result, bit = ("v20, ", " sc0") if returns else ("", "")
    machine = flat(
        f"\tflat_store_dword v[2:3], v9\n{WAIT}\tflat_atomic_{name} {result}v[2:3], {data}{bit}\n"
        f"{WAIT}\tflat_load_dword v21, v[2:3]",
        {9: before, 10: LANES, 11: np.where(LANES % 2, 5, 6), 20: 99},
    )
    assert (machine.vgpr[21][0] == after).all()
    assert (machine.vgpr[20][0] == (before if returns else 99)).all()


def test_8_bytes_of_private_memory_have_no_atomic():
    with pytest.raises(EmulationError, match="an atomic on 8 bytes of private memory"):
        flat("\tflat_atomic_add_x2 v[2:3], v[10:11]", {10: 1, 11: 1}, active=2)


def test_inactive_lanes_access_nothing():
    lanes = (1 << 64) - 1 >> 32
    machine = flat("\tflat_store_dword v[2:3], v10", {10: 1}, active=lanes)
    stored = machine.lds.bytes.view(np.uint32).reshape(64, 4)[:, 0]
    assert (stored == ((SPACES == 0) & (LANES < 32))).all()


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        (SHARED_BASE + 1024, LdsAddressError, "4 bytes at LDS address 1024"),
        (PRIVATE_BASE + 16, EmulationError, "each work item has 16 bytes of it"),
        (0x10, GlobalAccessError, "before all buffers"),
        (3 << 48, GlobalAccessError, "are in no buffer"),
    ],
)
def test_addresses_of_nothing(address: int, error: type[EmulationError], message: str):
    vectors = {2: address & 0xFFFFFFFF, 3: address >> 32}
    with pytest.raises(error, match=message) as found:
        flat("\tflat_load_dword v10, v[2:3]", vectors)
    assert "small.s:3" in str(found.value)
    assert "flat_load_dword v10, v[2:3]" in str(found.value)


def test_lds_that_nothing_was_written_to_is_undefined():
    machine = flat("\tflat_load_dword v20, v[2:3]")
    assert (undefined_bits(machine, "v20")[0] == np.where(SPACES == 0, 0xFFFFFFFF, 0)).all()


def test_an_undefined_address():
    with pytest.raises(UndefinedReadError, match="The address of this access"):
        run_flat("\tflat_load_dword v10, v[20:21]")


def test_two_waves_race():
    vectors = {2: 4 * LANES, 3: SHARED_BASE >> 32, 10: 1}
    with pytest.raises(LdsRaceError, match="wave 1 writes it"):
        run_flat("\tflat_store_dword v[2:3], v10", threads=128, vectors=vectors)


@pytest.mark.parametrize(
    ("wait", "races"), [("vmcnt(0)", True), ("lgkmcnt(1)", True), ("lgkmcnt(0)", False)]
)
def test_an_access_may_be_under_way_behind_a_barrier(wait: str, races: bool):
    """Each wave stores words, and reads those of the other one behind the barrier."""
    own = np.stack([4 * LANES, 256 + 4 * LANES])
    vectors = {2: own, 3: SHARED_BASE >> 32, 5: own[::-1], 10: 1}
    code = f"\tflat_store_dword v[2:3], v10\n\ts_waitcnt {wait}\n\ts_barrier\n\tds_read_b32 v11, v5"
    try:
        run_flat(code, threads=128, vectors=vectors)
    except LdsRaceError as error:
        assert races
        assert "passes a barrier without 's_waitcnt" in str(error)
    else:
        assert not races


def test_apertures_are_operands_of_64_bits():
    machine = run("\ts_mov_b64 s[4:5], src_shared_base\n\tv_mov_b64_e32 v[4:5], src_private_limit")
    assert machine.sgpr[4:6, 0].tolist() == [0, SHARED_BASE >> 32]
    assert machine.vgpr[4:6, 0, 0].tolist() == [0xFFFFFFFF, PRIVATE_BASE >> 32]
    with pytest.raises(EmulationError, match="src_shared_base"):
        run("\ts_mov_b32 s4, src_shared_base")


def test_a_trap_is_an_error():
    assert run("\ts_cbranch_execnz .LBB0_1\n\ts_trap 2\n.LBB0_1:").waves == 1
    with pytest.raises(EmulationError, match="the kernel stops itself by a trap") as error:
        run("\ts_trap 2")
    assert "small.s:3" in str(error.value)
