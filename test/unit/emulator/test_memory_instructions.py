# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Global memory: buffers, descriptors, address forms, atomics, loads into the LDS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.emulator.emulation_errors import EmulationError, GlobalAccessError
from bankwise.emulator.global_memory import GlobalMemory
from bankwise.emulator.wave_state import Machine

from .small_kernels import LANES, NARROW_LOADS, descriptor, run, undefined_bits

DATA = np.random.default_rng(0).integers(0, 256, 1024).astype(np.uint8)
WORDS = DATA.view(np.uint32)


class Buffers:
    """A buffer with DATA, and another of 1024 zeros behind it."""

    def __init__(self) -> None:
        self.memory = GlobalMemory()
        self.addresses = [self.memory.allocate(each) for each in (DATA, 1024)]

    def run(
        self,
        code: str,
        vectors: Mapping[int, npt.ArrayLike] | None = None,
        size: int = 1024,
        buffer: int = 0,
        scalars: Mapping[int, npt.ArrayLike] | None = None,
        **options: Any,
    ) -> Machine:
        """Runs code with the descriptor of `size` bytes of a buffer in s[4:7].

        Its address is thus in s[4:5].
        """
        given = {**descriptor(self.memory, self.addresses[buffer], size), **(scalars or {})}
        return run("\t" + code, vectors=vectors, scalars=given, memory=self.memory, **options)

    def stored(self, size: int) -> npt.NDArray[np.uint32]:
        """Returns the first words of the second buffer."""
        return self.memory.read(self.addresses[1], size).view(np.uint32)


@pytest.fixture
def buffers() -> Buffers:
    return Buffers()


@pytest.mark.parametrize("width", [4, 8, 12, 16])
@pytest.mark.parametrize("stride", [16, 7])
def test_buffer_loads_add_base_offsets(buffers: Buffers, width: int, stride: int):
    count = width // 4
    suffix, data = ("", "v10") if count == 1 else (f"x{count}", f"v[10:{9 + count}]")
    code = f"buffer_load_dword{suffix} {data}, v1, s[4:7], s8 offen offset:12"
    machine = buffers.run(code, {1: stride * (LANES % 50)}, scalars={8: 8})
    for k in range(count):
        first = stride * (LANES % 50) + 20 + 4 * k
        expected = [int.from_bytes(DATA[a : a + 4].tobytes(), "little") for a in first]
        assert machine.vgpr[10 + k][0].tolist() == expected


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        *(("ubyte", "u8"), ("sbyte", "i8"), ("ushort", "u16"), ("sshort", "i16")),
        *(("short_d16", "u16_d16"), ("short_d16_hi", "u16_d16_hi")),
        *(("ubyte_d16", "u8_d16"), ("sbyte_d16_hi", "i8_d16_hi")),
    ],
)
@pytest.mark.parametrize(
    "form", ["buffer_load_{} v10, v1, s[4:7], 0 offen", "global_load_{} v10, v1, s[4:5]"]
)
def test_narrow_loads(buffers: Buffers, name: str, meaning: str, form: str):
    where = 3 * LANES + 1
    machine = buffers.run(form.format(name), {1: where, 10: 0x89ABCDEF})
    byte = DATA[where].astype(np.int64)
    half = byte + 256 * DATA[where + 1].astype(np.int64)
    assert (machine.vgpr[10][0] == NARROW_LOADS[meaning](0, byte, half)).all()


LOAD = "buffer_load_dword v10, v1, s[4:7], 0 offen"


def test_words_out_of_range_load_zero(buffers: Buffers):
    """num_records 40: lane 2 reads bytes 32 to 47, of which two words are in range."""
    code = "buffer_load_dwordx4 v[10:13], v1, s[4:7], 0 offen"
    got = buffers.run(code, {1: 16 * LANES}, 40).vgpr[10:14, 0, :4].T.ravel()
    assert got.tolist() == [*WORDS[:10].tolist(), *[0] * 6]


def test_offsets_of_lane_and_instruction_wrap_around(buffers: Buffers):
    # Compilers write 4 x - 4 + 8 with a negative offset in the lane; -8 + 4 is far out of range.
    offsets = np.where(LANES == 0, 2**32 - 4, np.where(LANES == 1, 2**32 - 8, 0))
    machine = buffers.run(f"{LOAD} offset:4", {1: offsets}, 40)
    assert machine.vgpr[10][0, :3].tolist() == [WORDS[0], 0, WORDS[1]]


def test_the_scalar_offset_takes_from_the_records(buffers: Buffers):
    code = "buffer_load_dword v10, v1, s[4:7], s8 offen"
    machine = buffers.run(code, {1: 4 * LANES}, 40, scalars={8: 32})
    assert machine.vgpr[10][0, :3].tolist() == [WORDS[8], WORDS[9], 0]


def test_stores_out_of_range_are_dropped(buffers: Buffers):
    code = "buffer_store_dwordx2 v[2:3], v1, s[4:7], 0 offen"
    buffers.run(code, {1: 8 * LANES, 2: LANES, 3: 7}, 28, buffer=1)
    assert buffers.stored(64).tolist() == [0, 7, 1, 7, 2, 7, 3, *[0] * 9]
    assert buffers.memory.out_of_range == 61


def test_narrow_stores(buffers: Buffers):
    code = """buffer_store_byte v2, v1, s[4:7], 0 offen
\tbuffer_store_short_d16_hi v2, v1, s[4:7], 0 offen offset:2
\tbuffer_store_byte_d16_hi v2, v1, s[4:7], 0 offen offset:1"""
    buffers.run(code, {1: 4 * LANES, 2: 0x12345678}, buffer=1)
    assert buffers.stored(4).view(np.uint8).tolist() == [0x78, 0x34, 0x34, 0x12]


def test_an_index_counts_strides(buffers: Buffers):
    high = (buffers.addresses[0] >> 32) | 20 << 16
    code = "buffer_load_dword v10, v[1:2], s[4:7], 0 idxen offen offset:4"
    machine = buffers.run(code, {1: LANES, 2: 8}, 3, scalars={5: high})
    assert machine.vgpr[10][0, :4].tolist() == [WORDS[3], WORDS[8], WORDS[13], 0]


def test_an_index_without_a_stride_is_refused(buffers: Buffers):
    with pytest.raises(EmulationError, match="no model of an index"):
        buffers.run("buffer_load_dword v10, v1, s[4:7], 0 idxen", {1: 0}, 64)


def test_cache_swizzles_move_nothing(buffers: Buffers):
    """Bit 62 of the descriptor, with the stride that it works on; without `idxen` it is raw."""
    high = (buffers.addresses[0] >> 32) | 1 << 30 | 128 << 16
    machine = buffers.run(LOAD, {1: 4 * LANES}, 64, scalars={5: high})
    assert machine.vgpr[10][0, :18].tolist() == [*WORDS[:16].tolist(), 0, 0]


@pytest.mark.parametrize(("word", "bit"), [(5, 31), (7, 23)])
def test_swizzled_buffers_are_refused(buffers: Buffers, word: int, bit: int):
    plain = descriptor(buffers.memory, buffers.addresses[0], 64)
    with pytest.raises(EmulationError, match="no model of buffers that swizzle"):
        buffers.run(LOAD, {1: 0}, 64, scalars={word: plain[word] | 1 << bit})


def test_a_descriptor_larger_than_its_buffer_is_found_out(buffers: Buffers):
    offsets = np.stack([LANES * 0, np.where(LANES == 3, 1024, 0)])
    with pytest.raises(
        GlobalAccessError, match=r"byte 1024 of a buffer of 1024 \(wave 1, lane 3\)"
    ):
        buffers.run(LOAD, {1: offsets}, 4096, threads=128)


def test_an_inactive_lane_may_point_anywhere(buffers: Buffers):
    start = buffers.addresses[0]
    vectors = {1: (start + 4 & 0xFFFFFFFF) + LANES, 2: (start >> 32) + LANES, 10: 9}
    machine = buffers.run("global_load_dword v10, v[1:2], off offset:-4", vectors, active=1)
    assert machine.vgpr[10][0, :2].tolist() == [WORDS[0], 9]


def test_one_access_may_reach_several_buffers(buffers: Buffers):
    memory, (first, second) = buffers.memory, buffers.addresses
    low = np.where(LANES % 2, first & 0xFFFFFFFF, second & 0xFFFFFFFF)
    code = "global_load_dword v10, v[1:2], off\n\tglobal_store_dword v[1:2], v3, off offset:8"
    machine = buffers.run(code, {1: low, 2: first >> 32, 3: LANES})
    assert (machine.vgpr[10][0] == np.where(LANES % 2, WORDS[0], 0)).all()
    assert memory.read(first + 8, 4).view(np.uint32)[0] == 63
    assert memory.read(second + 8, 4).view(np.uint32)[0] == 62


def test_stores_of_one_wave_keep_the_last_lane(buffers: Buffers):
    buffers.run("global_store_dword v1, v2, s[4:5]", {1: 0, 2: LANES}, buffer=1)
    assert buffers.stored(4)[0] == 63


def test_scalar_loads(buffers: Buffers):
    machine = buffers.run(
        "s_load_dwordx2 s[12:13], s[4:5], 0x10\n"
        "\ts_load_dwordx8 s[16:23], s[4:5], s10 offset:0x8\n"
        "\ts_buffer_load_dwordx4 s[24:27], s[4:7], 0x20",
        size=44,
        scalars={10: 6},
    )
    assert machine.sgpr[12:14, 0].tolist() == WORDS[4:6].tolist()
    assert machine.sgpr[16:24, 0].tolist() == WORDS[3:11].tolist()
    assert machine.sgpr[24:28, 0].tolist() == [*WORDS[8:11].tolist(), 0]


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_scalar_stores(buffers: Buffers, arch: str):
    """The low bits of an address are ignored, and what lies behind a descriptor's end stays."""
    code = (
        "s_store_dwordx2 s[12:13], s[4:5], 0x12\n"
        "\ts_buffer_store_dwordx4 s[12:15], s[4:7], s10\n\ts_dcache_wb"
    )
    scalars = {10: 32, 12: 1, 13: 2, 14: 3, 15: 4}
    buffers.run(code, size=44, buffer=1, scalars=scalars, arch=arch)
    assert buffers.stored(64).tolist() == [0] * 4 + [1, 2] + [0] * 2 + [1, 2, 3] + [0] * 5


@pytest.mark.parametrize(
    ("code", "left", "returned"),
    [
        ("s_atomic_add s12, s[4:5], 0x0 glc", [10 + 3 * 7], [10, 17, 24]),
        ("s_atomic_add s12, s[4:5], s10 offset:-0x8", [10 + 3 * 7], [7, 7, 7]),
        ("s_atomic_dec s12, s[4:5], 0x0 glc", [7 - 2], [10, 7, 6]),
        ("s_buffer_atomic_umax_x2 s[12:13], s[4:7], 0x0 glc", [7, 1], [10, 7, 7]),
        # The second word is what the word in memory is compared with.
        ("s_atomic_cmpswap s[12:13], s[4:5], 0x0 glc", [10], [10, 10, 10]),
        ("s_atomic_cmpswap s[14:15], s[4:5], 0x0 glc", [9], [10, 9, 9]),
        ("s_buffer_atomic_swap s12, s[4:7], 0x400 glc", [10], [0, 0, 0]),
    ],
)
def test_scalar_atomics(buffers: Buffers, code: str, left: list[int], returned: list[int]):
    """Three waves take turns; `glc` asks for the word before."""
    buffers.memory.write(buffers.addresses[1], np.array([10], np.uint32))
    scalars = {10: 8, 12: 7, 13: 1, 14: 9, 15: 10}
    machine = buffers.run(code, buffer=1, scalars=scalars, threads=192)
    assert buffers.stored(4 * len(left)).tolist() == left
    first = 14 if "s[14" in code else 12
    assert machine.sgpr[first].tolist() == returned


def test_scalar_stores_of_undefined_bits(buffers: Buffers):
    code = """s_and_b32 s20, s20, 0xff
\ts_store_dword s20, s[4:5], 0x0
\ts_load_dword s21, s[4:5], 0x0"""
    machine = buffers.run(code, buffer=1)
    assert undefined_bits(machine, "s21").tolist() == [0xFF]


def test_rdna_has_no_scalar_stores(buffers: Buffers):
    with pytest.raises(EmulationError, match="gfx1100 has no 's_store_dword'"):
        buffers.run("s_store_dword s12, s[4:5], 0x0", arch="gfx1100")


def test_global_atomics_return_what_was_there(buffers: Buffers):
    machine = buffers.run(
        """global_atomic_add v10, v1, v2, s[4:5] sc0
\tglobal_atomic_add_f32 v1, v3, s[4:5] offset:4
\tglobal_atomic_cmpswap v11, v1, v[4:5], s[4:5] offset:8 sc0
\tglobal_atomic_pk_add_f16 v1, v6, s[4:5] offset:12""",
        {1: 0, 2: LANES, 3: 0x3F800000, 4: LANES + 5, 5: LANES, 6: 0x3C004000},
        buffer=1,
    )
    assert (machine.vgpr[10][0] == np.concatenate([[0], np.cumsum(LANES)[:-1]])).all()
    words = buffers.stored(16)
    assert words[0] == LANES.sum()
    assert words[1:2].view(np.float32)[0] == 64
    # Lanes 0, 5, 10, ... find what they compare with, and add 5.
    assert words[2] == 65 and machine.vgpr[11][0, :7].tolist() == [0, 5, 5, 5, 5, 5, 10]
    assert words[3:4].view(np.float16).tolist() == [128, 64]


def test_buffer_atomics_drop_lanes_out_of_range(buffers: Buffers):
    code = "buffer_atomic_add v2, v1, s[4:7], 0 offen"
    buffers.run(code, {1: 4 * (LANES % 4), 2: 1}, 12, buffer=1)
    assert buffers.stored(16).tolist() == [16, 16, 16, 0]


@pytest.mark.parametrize(
    ("arch", "suffix", "width"), [("gfx942", "", 4), ("gfx950", "x4", 16), ("gfx950", "x3", 12)]
)
def test_loads_to_the_lds(buffers: Buffers, arch: str, suffix: str, width: int):
    """Lane by lane from M0 + offset on, whatever the addresses."""
    code = f"buffer_load_dword{suffix} v1, s[4:7], 0 offen offset:16 lds"
    vectors = {1: 16 * (63 - LANES) % 900}
    machine = buffers.run(code, vectors, scalars={124: 32}, arch=arch, lds_bytes=2048)
    for lane in range(64):
        source = 16 * (63 - lane) % 900 + 16
        target = 48 + width * lane
        expected = DATA[source : source + width]
        assert (machine.lds.bytes[target : target + width] == expected).all()


def test_loads_to_the_lds_bring_zeros_from_behind_the_end(buffers: Buffers):
    """num_records 40 parts the words of lane 2; the lanes behind it bring nothing but zeros."""
    code = "buffer_load_dwordx4 v1, s[4:7], 0 offen lds"
    vectors, scalars = {1: 16 * LANES}, {124: 0}
    machine = buffers.run(code, vectors, 40, scalars=scalars, arch="gfx950", lds_bytes=1024)
    found = machine.lds.bytes.view(np.uint32)
    assert found.tolist() == [*WORDS[:10].tolist(), *[0] * 246]
    assert buffers.memory.out_of_range == 1


def test_global_load_to_the_lds(buffers: Buffers):
    code = "global_load_lds_dword v1, s[4:5]"
    machine = buffers.run(code, {1: 8 * LANES}, scalars={124: 0}, lds_bytes=256)
    assert (machine.lds.bytes.view(np.uint32) == WORDS[2 * LANES]).all()
    with pytest.raises(EmulationError, match="gfx942 moves 4 bytes"):
        buffers.run("global_load_lds_dwordx4 v1, s[4:5]")
    with pytest.raises(EmulationError, match="start at a multiple of 4 bytes"):
        buffers.run(code, {1: 8 * LANES}, scalars={124: 2}, lds_bytes=512)


def test_transactions_are_64_byte_blocks(buffers: Buffers):
    """Stride 8: each wave touches 512 bytes, half of them useful; the second issue is masked."""
    code = f"{LOAD}\n\tbuffer_load_dword v11, v1, s[4:7], 0 offen"
    counters = buffers.run(code, {1: 8 * LANES}, 128, threads=128).counters
    assert counters.global_transactions[:2].tolist() == [4, 4]
    assert counters.global_useful_bytes[:2].tolist() == [128, 128]


def test_transactions_of_parted_waves_go_to_their_workgroups(buffers: Buffers):
    """Wave 1 of workgroup 0 and both waves of workgroup 1 load; 256 bytes are 4 blocks."""
    code = f"s_cmp_eq_u32 s9, 0\n\ts_cbranch_scc1 .LBB0_1\n\t{LOAD}\n.LBB0_1:"
    waves = {9: np.array([0, 1, 1, 1])}
    machine = buffers.run(code, {1: 4 * LANES}, scalars=waves, threads=128, workgroups=2)
    assert machine.workgroup_counters.global_transactions[2].tolist() == [4, 8]


def test_reading_and_writing_from_the_host():
    memory = GlobalMemory()
    start = memory.allocate(np.arange(3, dtype=np.float32))
    memory.write(start + 4, np.full(1, 9, np.float32))
    assert memory.read(start, 12).view(np.float32).tolist() == [0, 9, 2]
    assert start % 256 == 0 and start < 1 << 48
    with pytest.raises(GlobalAccessError, match="byte 8 of a buffer of 12"):
        memory.read(start + 8, 8)
    with pytest.raises(GlobalAccessError, match="before all buffers"):
        memory.read(16, 4)


def test_zeros_overwrite(buffers: Buffers):
    """Copies leave alone what is equal already, and nothing else."""
    memory = buffers.memory
    large = memory.allocate(3 << 20)
    memory.write(large + (1 << 20) - 2, np.arange(1, 5, dtype=np.uint8))
    assert memory.read(large, 3 << 20).sum() == 10
    memory.write(large + (1 << 20) - 1, np.zeros(2, np.uint8))
    assert np.flatnonzero(memory.read(large, 3 << 20)).tolist() == [(1 << 20) - 2, (1 << 20) + 1]
