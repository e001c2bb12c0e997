# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Global memory: buffers, descriptors, address forms, atomics, loads into the LDS."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.emulator.errors import EmulationError, GlobalAccessError
from bankwise.emulator.global_memory import GlobalMemory

from .small_kernels import LANES, descriptor, run

DATA = np.random.default_rng(0).integers(0, 256, 1024).astype(np.uint8)
WORDS = DATA.view(np.uint32)


@pytest.fixture
def memory() -> GlobalMemory:
    """Returns one buffer with DATA at `address(memory)`, another of zeros behind it."""
    made = GlobalMemory()
    made.allocate(DATA)
    made.allocate(1024)
    return made


def address(memory: GlobalMemory, buffer: int = 0) -> int:
    return memory._starts[buffer]


def pair(value: int) -> tuple[int, int]:
    return value & 0xFFFFFFFF, value >> 32


@pytest.mark.parametrize("width", [4, 8, 12, 16])
@pytest.mark.parametrize("stride", [16, 7])
def test_buffer_loads_add_base_offsets(memory: GlobalMemory, width: int, stride: int):
    count = width // 4
    suffix, data = ("", "v10") if count == 1 else (f"x{count}", f"v[10:{9 + count}]")
    machine = run(
        f"\tbuffer_load_dword{suffix} {data}, v1, s[4:7], s8 offen offset:12",
        vectors={1: stride * (LANES % 50)},
        scalars=descriptor(memory, address(memory), 1024) | {8: 8},
        memory=memory,
    )
    for k in range(count):
        first = stride * (LANES % 50) + 20 + 4 * k
        expected = [int.from_bytes(DATA[a : a + 4].tobytes(), "little") for a in first]
        assert machine.vgpr[10 + k][0].tolist() == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ubyte", lambda old, byte, half: byte),
        ("sbyte", lambda old, byte, half: (byte ^ 0x80) - 0x80 & 0xFFFFFFFF),
        ("ushort", lambda old, byte, half: half),
        ("sshort", lambda old, byte, half: (half ^ 0x8000) - 0x8000 & 0xFFFFFFFF),
        ("short_d16", lambda old, byte, half: old & 0xFFFF0000 | half),
        ("short_d16_hi", lambda old, byte, half: old & 0xFFFF | half << 16),
        ("ubyte_d16", lambda old, byte, half: old & 0xFFFF0000 | byte),
        ("sbyte_d16_hi", lambda o, b, h: o & 0xFFFF | ((b ^ 0x80) - 0x80 & 0xFFFF) << 16),
    ],
)
@pytest.mark.parametrize(
    "form", ["buffer_load_{} v10, v1, s[4:7], 0 offen", "global_load_{} v10, v1, s[8:9]"]
)
def test_narrow_loads(memory: GlobalMemory, name: str, expected, form: str):
    where = 3 * LANES + 1
    low, high = pair(address(memory))
    machine = run(
        "\t" + form.format(name),
        vectors={1: where, 10: 0x89ABCDEF},
        scalars=descriptor(memory, address(memory), 1024) | {8: low, 9: high},
        memory=memory,
    )
    byte = DATA[where].astype(np.int64)
    half = byte + 256 * DATA[where + 1].astype(np.int64)
    assert (machine.vgpr[10][0] == expected(0x89ABCDEF, byte, half)).all()


def test_words_out_of_range_load_zero(memory: GlobalMemory):
    """num_records 40: lane 2 reads bytes 32 to 47, of which two words are in range."""
    machine = run(
        "\tbuffer_load_dwordx4 v[10:13], v1, s[4:7], 0 offen",
        vectors={1: 16 * LANES},
        scalars=descriptor(memory, address(memory), 40),
        memory=memory,
    )
    got = machine.vgpr[10:14, 0, :4].T.ravel()
    assert got.tolist() == [*WORDS[:10].tolist(), *[0] * 6]


def test_offsets_of_lane_and_instruction_wrap_around(memory: GlobalMemory):
    # Compilers write 4 x - 4 + 8 with a negative offset in the lane; -8 + 4 is far out of range.
    machine = run(
        "\tbuffer_load_dword v10, v1, s[4:7], 0 offen offset:4",
        vectors={1: np.where(LANES == 0, 2**32 - 4, np.where(LANES == 1, 2**32 - 8, 0))},
        scalars=descriptor(memory, address(memory), 40),
        memory=memory,
    )
    assert machine.vgpr[10][0, :3].tolist() == [WORDS[0], 0, WORDS[1]]


def test_the_scalar_offset_takes_from_the_records(memory: GlobalMemory):
    machine = run(
        "\tbuffer_load_dword v10, v1, s[4:7], s8 offen",
        vectors={1: 4 * LANES},
        scalars=descriptor(memory, address(memory), 40) | {8: 32},
        memory=memory,
    )
    assert machine.vgpr[10][0, :3].tolist() == [WORDS[8], WORDS[9], 0]


def test_stores_out_of_range_are_dropped(memory: GlobalMemory):
    run(
        "\tbuffer_store_dwordx2 v[2:3], v1, s[4:7], 0 offen",
        vectors={1: 8 * LANES, 2: LANES, 3: 7},
        scalars=descriptor(memory, address(memory, 1), 28),
        memory=memory,
    )
    stored = memory.read(address(memory, 1), 64).view(np.uint32)
    assert stored.tolist() == [0, 7, 1, 7, 2, 7, 3, *[0] * 9]


def test_narrow_stores(memory: GlobalMemory):
    run(
        """\tbuffer_store_byte v2, v1, s[4:7], 0 offen
\tbuffer_store_short_d16_hi v2, v1, s[4:7], 0 offen offset:2
\tbuffer_store_byte_d16_hi v2, v1, s[4:7], 0 offen offset:1""",
        vectors={1: 4 * LANES, 2: 0x12345678},
        scalars=descriptor(memory, address(memory, 1), 1024),
        memory=memory,
    )
    assert memory.read(address(memory, 1), 4).tolist() == [0x78, 0x34, 0x34, 0x12]


def test_an_index_counts_strides(memory: GlobalMemory):
    scalars = descriptor(memory, address(memory), 3)
    scalars[5] |= 20 << 16
    machine = run(
        "\tbuffer_load_dword v10, v[1:2], s[4:7], 0 idxen offen offset:4",
        vectors={1: LANES, 2: 8},
        scalars=scalars,
        memory=memory,
    )
    expected = [WORDS[3], WORDS[8], WORDS[13], 0]
    assert machine.vgpr[10][0, :4].tolist() == expected


def test_an_index_without_a_stride_is_refused(memory: GlobalMemory):
    with pytest.raises(EmulationError, match="no model of an index"):
        run(
            "\tbuffer_load_dword v10, v1, s[4:7], 0 idxen",
            vectors={1: 0},
            scalars=descriptor(memory, address(memory), 64),
            memory=memory,
        )


def test_cache_swizzles_move_nothing(memory: GlobalMemory):
    """Bit 62 of the descriptor, with the stride that it works on; without `idxen` it is raw."""
    scalars = descriptor(memory, address(memory), 64)
    scalars[5] |= 1 << 30 | 128 << 16
    machine = run(
        "\tbuffer_load_dword v10, v1, s[4:7], 0 offen",
        vectors={1: 4 * LANES},
        scalars=scalars,
        memory=memory,
    )
    assert machine.vgpr[10][0, :18].tolist() == [*WORDS[:16].tolist(), 0, 0]


@pytest.mark.parametrize(("word", "bit"), [(5, 31), (7, 23)])
def test_swizzled_buffers_are_refused(memory: GlobalMemory, word: int, bit: int):
    scalars = descriptor(memory, address(memory), 64)
    scalars[word] |= 1 << bit
    with pytest.raises(EmulationError, match="no model of buffers that swizzle"):
        run(
            "\tbuffer_load_dword v10, v1, s[4:7], 0 offen",
            vectors={1: 0},
            scalars=scalars,
            memory=memory,
        )


def test_a_descriptor_larger_than_its_buffer_is_found_out(memory: GlobalMemory):
    with pytest.raises(
        GlobalAccessError, match=r"byte 1024 of a buffer of 1024 \(wave 1, lane 3\)"
    ):
        run(
            "\tbuffer_load_dword v10, v1, s[4:7], 0 offen",
            threads=128,
            vectors={1: np.stack([LANES * 0, np.where(LANES == 3, 1024, 0)])},
            scalars=descriptor(memory, address(memory), 4096),
            memory=memory,
        )


def test_an_inactive_lane_may_point_anywhere(memory: GlobalMemory):
    machine = run(
        "\tglobal_load_dword v10, v[1:2], off offset:-4",
        vectors={
            1: pair(address(memory) + 4)[0] + LANES,
            2: pair(address(memory))[1] + LANES,
            10: 9,
        },
        active=1,
        memory=memory,
    )
    assert machine.vgpr[10][0, :2].tolist() == [WORDS[0], 9]


def test_one_access_may_reach_several_buffers(memory: GlobalMemory):
    low = np.where(LANES % 2, pair(address(memory))[0], pair(address(memory, 1))[0])
    code = "\tglobal_load_dword v10, v[1:2], off\n\tglobal_store_dword v[1:2], v3, off offset:8"
    machine = run(code, vectors={1: low, 2: address(memory) >> 32, 3: LANES}, memory=memory)
    assert (machine.vgpr[10][0] == np.where(LANES % 2, WORDS[0], 0)).all()
    assert memory.read(address(memory) + 8, 4).view(np.uint32)[0] == 63
    assert memory.read(address(memory, 1) + 8, 4).view(np.uint32)[0] == 62


def test_stores_of_one_wave_keep_the_last_lane(memory: GlobalMemory):
    low, high = pair(address(memory, 1))
    run(
        "\tglobal_store_dword v1, v2, s[4:5]",
        vectors={1: 0, 2: LANES},
        scalars={4: low, 5: high},
        memory=memory,
    )
    assert memory.read(low | high << 32, 4).view(np.uint32)[0] == 63


def test_scalar_loads(memory: GlobalMemory):
    low, high = pair(address(memory))
    machine = run(
        "\ts_load_dwordx2 s[12:13], s[8:9], 0x10\n"
        "\ts_load_dwordx8 s[16:23], s[8:9], s10 offset:0x8\n"
        "\ts_buffer_load_dwordx4 s[24:27], s[4:7], 0x20",
        scalars=descriptor(memory, address(memory), 44) | {8: low, 9: high, 10: 6},
        memory=memory,
    )
    assert machine.sgpr[12:14, 0].tolist() == WORDS[4:6].tolist()
    assert machine.sgpr[16:24, 0].tolist() == WORDS[3:11].tolist()
    assert machine.sgpr[24:28, 0].tolist() == [*WORDS[8:11].tolist(), 0]


def test_global_atomics_return_what_was_there(memory: GlobalMemory):
    low, high = pair(address(memory, 1))
    machine = run(
        """\tglobal_atomic_add v10, v1, v2, s[4:5] sc0
\tglobal_atomic_add_f32 v1, v3, s[4:5] offset:4
\tglobal_atomic_cmpswap v11, v1, v[4:5], s[4:5] offset:8 sc0
\tglobal_atomic_pk_add_f16 v1, v6, s[4:5] offset:12""",
        vectors={1: 0, 2: LANES, 3: 0x3F800000, 4: LANES + 5, 5: LANES, 6: 0x3C004000},
        scalars={4: low, 5: high},
        memory=memory,
    )
    assert (machine.vgpr[10][0] == np.concatenate([[0], np.cumsum(LANES)[:-1]])).all()
    words = memory.read(low | high << 32, 16).view(np.uint32)
    assert words[0] == LANES.sum()
    assert words[1:2].view(np.float32)[0] == 64
    # Lanes 0, 5, 10, ... find what they compare with, and add 5.
    assert words[2] == 65 and machine.vgpr[11][0, :7].tolist() == [0, 5, 5, 5, 5, 5, 10]
    assert words[3:4].view(np.float16).tolist() == [128, 64]


def test_buffer_atomics_drop_lanes_out_of_range(memory: GlobalMemory):
    run(
        "\tbuffer_atomic_add v2, v1, s[4:7], 0 offen",
        vectors={1: 4 * (LANES % 4), 2: 1},
        scalars=descriptor(memory, address(memory, 1), 12),
        memory=memory,
    )
    assert memory.read(address(memory, 1), 16).view(np.uint32).tolist() == [16, 16, 16, 0]


@pytest.mark.parametrize(
    ("arch", "suffix", "width"), [("gfx942", "", 4), ("gfx950", "x4", 16), ("gfx950", "x3", 12)]
)
def test_loads_to_the_lds(memory: GlobalMemory, arch: str, suffix: str, width: int):
    """Lane by lane from M0 + offset on, whatever the addresses."""
    machine = run(
        f"\tbuffer_load_dword{suffix} v1, s[4:7], 0 offen offset:16 lds",
        arch=arch,
        vectors={1: 16 * (63 - LANES) % 900},
        scalars=descriptor(memory, address(memory), 1024) | {124: 32},
        lds_bytes=2048,
        memory=memory,
    )
    for lane in range(64):
        source = 16 * (63 - lane) % 900 + 16
        target = 48 + width * lane
        expected = DATA[source : source + width]
        assert (machine.lds.bytes[target : target + width] == expected).all()


def test_global_load_to_the_lds(memory: GlobalMemory):
    low, high = pair(address(memory))
    machine = run(
        "\tglobal_load_lds_dword v1, s[4:5]",
        vectors={1: 8 * LANES},
        scalars={4: low, 5: high, 124: 0},
        lds_bytes=256,
        memory=memory,
    )
    assert (machine.lds.bytes.view(np.uint32) == WORDS[2 * LANES]).all()
    with pytest.raises(EmulationError, match="gfx942 moves 4 bytes"):
        run("\tglobal_load_lds_dwordx4 v1, s[4:5]", memory=memory)


def test_a_load_to_the_lds_starts_at_a_word(memory: GlobalMemory):
    low, high = pair(address(memory))
    with pytest.raises(EmulationError, match="start at a multiple of 4 bytes"):
        run(
            "\tglobal_load_lds_dword v1, s[4:5]",
            vectors={1: 8 * LANES},
            scalars={4: low, 5: high, 124: 2},
            lds_bytes=512,
            memory=memory,
        )


def test_transactions_are_64_byte_blocks(memory: GlobalMemory):
    """Stride 8: each wave touches 512 bytes, half of them useful; the second issue is masked."""
    machine = run(
        "\tbuffer_load_dword v10, v1, s[4:7], 0 offen\n"
        "\tbuffer_load_dword v11, v1, s[4:7], 0 offen",
        threads=128,
        vectors={1: 8 * LANES},
        scalars=descriptor(memory, address(memory), 128),
        memory=memory,
    )
    assert machine.counters.global_transactions[:2].tolist() == [4, 4]
    assert machine.counters.global_useful_bytes[:2].tolist() == [128, 128]


def test_transactions_of_parted_waves_go_to_their_workgroups(memory: GlobalMemory):
    """Wave 1 of workgroup 0 and both waves of workgroup 1 load; 256 bytes are 4 blocks."""
    machine = run(
        """\ts_cmp_eq_u32 s9, 0
\ts_cbranch_scc1 .LBB0_1
\tbuffer_load_dword v10, v1, s[4:7], 0 offen
.LBB0_1:""",
        threads=128,
        workgroups=2,
        vectors={1: 4 * LANES},
        scalars={**descriptor(memory, address(memory), 1024), 9: np.array([0, 1, 1, 1])},
        memory=memory,
    )
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


def test_zeros_overwrite(memory: GlobalMemory):
    """Copies leave alone what is equal already, and nothing else."""
    large = memory.allocate(3 << 20)
    memory.write(large + (1 << 20) - 2, np.arange(1, 5, dtype=np.uint8))
    assert memory.read(large, 3 << 20).sum() == 10
    memory.write(large + (1 << 20) - 1, np.zeros(2, np.uint8))
    assert np.flatnonzero(memory.read(large, 3 << 20)).tolist() == [(1 << 20) - 2, (1 << 20) + 1]
