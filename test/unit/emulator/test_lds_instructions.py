# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each LDS instruction moves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.emulator.emulation_errors import EmulationError, LdsAddressError
from bankwise.emulator.lds_instructions import swizzle_lanes
from bankwise.emulator.wave_state import Machine

from .small_kernels import LANES, NARROW_LOADS, run

RANDOM = np.random.default_rng(0)
BYTES = RANDOM.integers(0, 256, 2048).astype(np.uint8)
WORDS = BYTES.view(np.uint32)


def run_filled(
    instruction: str, vectors: dict[int, npt.ArrayLike], arch: str = "gfx942", lds_bytes: int = 512
) -> Machine:
    """Runs an instruction on LDS that holds BYTES[:512]."""
    fill = "\tds_write_b32 v1, v2\n\tds_write_b32 v1, v3 offset:256\n\t"
    filled = {1: 4 * LANES, 2: WORDS[:64], 3: WORDS[64:128], **vectors}
    return run(fill + instruction, arch=arch, vectors=filled, lds_bytes=lds_bytes)


def at(addresses: np.ndarray, width: int) -> np.ndarray:
    """Returns the little-endian numbers at `addresses` of BYTES."""
    return np.array([int.from_bytes(BYTES[a : a + width].tobytes(), "little") for a in addresses])


@pytest.mark.parametrize("width", [4, 8, 12, 16])
@pytest.mark.parametrize("offset", [0, 4, 3])
def test_loads_of_words(width: int, offset: int):
    last = width // 4 - 1
    data = f"v[10:{10 + last}]" if last else "v10"
    machine = run_filled(f"ds_read_b{8 * width} {data}, v4 offset:{offset}", {4: 4 * LANES})
    for k in range(width // 4):
        assert (machine.vgpr[10 + k][0] == at(4 * LANES + offset + 4 * k, 4)).all()


@pytest.mark.parametrize("name", NARROW_LOADS)
@pytest.mark.parametrize("arch", ["gfx942", "gfx90a:xnack+:sramecc-", "gfx90a:sramecc+"])
def test_narrow_loads(name: str, arch: str):
    """Odd addresses too: a 16-bit value may lie anywhere.

    The other half of a register is cleared where registers have error correction.
    """
    old = RANDOM.integers(0, 2**32, 64)
    byte, half = (at(3 * LANES, width) for width in (1, 2))
    machine = run_filled(f"ds_read_{name} v10, v4", {4: 3 * LANES, 10: old}, arch=arch)
    stays = old if arch.endswith("sramecc-") else 0
    assert (machine.vgpr[10][0] == NARROW_LOADS[name](stays, byte, half)).all()


@pytest.mark.parametrize(
    ("instruction", "width", "shift"),
    [
        ("ds_write_b8 v4, v5", 1, 0),
        ("ds_write_b16 v4, v5", 2, 0),
        ("ds_write_b8_d16_hi v4, v5", 1, 16),
        ("ds_write_b16_d16_hi v4, v5", 2, 16),
        ("ds_write_b32 v4, v5", 4, 0),
        ("ds_write_b64 v4, v[5:6]", 8, 0),
        ("ds_write_b96 v4, v[5:7]", 12, 0),
        ("ds_write_b128 v4, v[5:8]", 16, 0),
    ],
)
def test_stores(instruction: str, width: int, shift: int):
    data = RANDOM.integers(0, 2**32, (4, 64)).astype(np.uint32)
    vectors = {4: 17 * LANES % 400, **{5 + k: data[k] for k in range(4)}}
    machine = run_filled(f"{instruction} offset:2", vectors)
    expected = BYTES[:512].copy()
    values = (data >> np.uint32(shift)).T.copy().view(np.uint8)
    for lane, start in enumerate(17 * LANES % 400 + 2):
        expected[start : start + width] = values[lane, :width]
    assert (machine.lds.bytes == expected).all()


@pytest.mark.parametrize(("form", "scale"), [("2_b32", 4), ("2st64_b32", 256)])
def test_two_offsets_count_elements(form: str, scale: int):
    machine = run(
        f"\tds_write{form} v1, v2, v3 offset0:1 offset1:2\n"
        f"\tds_read{form} v[10:11], v1 offset0:2 offset1:1",
        vectors={
            1: scale * 0 + 8 * LANES * (scale == 4) + 4 * LANES * (scale != 4),
            2: 7,
            3: LANES,
        },
        lds_bytes=1024,
    )
    assert (machine.vgpr[10][0] == LANES).all()
    assert (machine.vgpr[11][0] == 7).all() or scale == 4
    start = 8 if scale == 4 else 4
    words = machine.lds.bytes.view(np.uint32)
    assert (words[(start * LANES + 2 * scale) // 4] == LANES).all()


def test_pairs_of_64_bits():
    machine = run(
        "\tds_write2st64_b64 v1, v[2:3], v[4:5] offset1:1\n"
        "\tds_read2_b64 v[10:13], v1 offset1:64\n",
        vectors={1: 8 * LANES, 2: 1, 3: 2, 4: 3, 5: LANES},
        lds_bytes=1024,
    )
    assert [machine.vgpr[10 + k][0, 9] for k in range(4)] == [1, 2, 3, 9]


@pytest.mark.parametrize(("bits", "elements"), [(16, 4), (8, 8), (4, 16)])
def test_transposed_load_gives_each_lane_a_column(bits: int, elements: int):
    """16 columns, `elements` rows, row-major at 128 bytes for each 16 lanes."""
    machine = run_filled(f"ds_read_b64_tr_b{bits} v[10:11], v4", {4: 8 * LANES}, "gfx950")
    stored = np.unpackbits(BYTES[:512], bitorder="little").reshape(4, elements, 16, bits)
    words = machine.vgpr[10:12, 0].T.copy()
    got = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    got = got.reshape(4, 16, elements, bits)
    assert (got == stored.transpose(0, 2, 1, 3)).all()


def test_transposed_load_is_not_on_gfx942():
    with pytest.raises(EmulationError, match="gfx942 has no 'ds_read_b64_tr_b16'"):
        run("\tds_read_b64_tr_b16 v[10:11], v4", lds_bytes=512)


def test_inactive_lanes_neither_load_nor_store():
    code = "\tds_write_b32 v1, v2\n\ts_mov_b64 exec, 3\n\tds_write_b32 v1, v3\n\tds_read_b32 v2, v4"
    vectors = {1: 4 * LANES, 2: 5, 3: 6, 4: np.where(LANES < 2, 4 * LANES, 10**6)}
    machine = run(code, vectors=vectors, lds_bytes=256)
    assert (machine.lds.bytes.view(np.uint32) == np.where(LANES < 2, 6, 5)).all()
    assert (machine.vgpr[2][0] == np.where(LANES < 2, 6, 5)).all()


def test_the_offset_wraps_around_32_bits():
    machine = run(
        "\tds_write_b32 v1, v2 offset:512",
        vectors={1: (4 * LANES - 512) % 2**32, 2: LANES},
        lds_bytes=256,
    )
    assert (machine.lds.bytes.view(np.uint32) == LANES).all()


def test_a_load_may_end_behind_the_lds_that_it_begins_in():
    setup = {"vectors": {1: 0, 4: 16}, "lds_bytes": 22}
    load = "\tds_read_b64 v[2:3], v4"
    machine = run(f"\tds_write_b32 v4, v1\n\ts_waitcnt lgkmcnt(0)\n{load}", **setup)
    assert (machine.vgpr[2][0] == 0).all()
    writes = ("ds_write_b64 v4, v[2:3]", "ds_add_u64 v4, v[2:3]")
    for outside in ("ds_read_b64 v[2:3], v4 offset:8", *writes):
        with pytest.raises(LdsAddressError, match="the workgroup has 22 bytes of LDS"):
            run(f"\t{outside}", **setup)


def test_an_address_beyond_the_workgroup_is_an_error():
    with pytest.raises(LdsAddressError, match=r"4 bytes at LDS address 256 \(wave 1, lane 63\)"):
        run(
            "\tds_write_b32 v1, v2",
            threads=128,
            vectors={1: np.stack([4 * LANES, 4 * LANES + 4]), 2: 0},
            lds_bytes=256,
        )


def test_a_load_may_reach_up_to_the_next_multiple_of_16_bytes():
    """LLVM loads 16 bytes where a buffer has 10, at a multiple of 16; nothing is defined behind."""
    code = "\tds_write_b32 v1, v2\n\tds_read_b128 v[4:7], v1\n\ts_waitcnt lgkmcnt(0)"
    machine = run(code, vectors={1: 0, 2: 9}, lds_bytes=10)
    assert (machine.vgpr[4][0] == 9).all()
    with pytest.raises(LdsAddressError, match="16 bytes at LDS address 0 "):
        run(
            "\tds_write_b128 v1, v[4:7]",
            vectors={1: 0, **dict.fromkeys(range(4, 8), 1)},
            lds_bytes=10,
        )
    with pytest.raises(LdsAddressError, match="16 bytes at LDS address 16 "):
        run("\tds_read_b128 v[4:7], v1", vectors={1: 16}, lds_bytes=10)


ATOMICS = {
    "add_u32": lambda old, x: (old + x) % 2**32,
    "sub_u32": lambda old, x: (old - x) % 2**32,
    "rsub_u32": lambda old, x: (x - old) % 2**32,
    "inc_u32": lambda old, x: 0 if old >= x else old + 1,
    "dec_u32": lambda old, x: x if old == 0 or old > x else old - 1,
    "min_u32": min,
    "max_u32": max,
    "min_i32": lambda old, x: min(old, x, key=lambda v: (v ^ 2**31) - 2**31),
    "max_i32": lambda old, x: max(old, x, key=lambda v: (v ^ 2**31) - 2**31),
    "and_b32": lambda old, x: old & x,
    "or_b32": lambda old, x: old | x,
    "xor_b32": lambda old, x: old ^ x,
}


@pytest.mark.parametrize("name", ATOMICS)
def test_atomics_take_turns(name: str):
    """All lanes on three words, in lane order; each gets what was there before its turn."""
    data = RANDOM.integers(0, 2**32, 64)
    data[::5] %= 40
    where = 4 * (LANES % 3)
    stem, kind = name.rsplit("_", 1)
    machine = run_filled(f"ds_{stem}_rtn_{kind} v10, v4, v5", {4: where, 5: data})
    memory = {word: int(WORDS[word]) for word in range(3)}
    for lane in range(64):
        word = lane % 3
        assert machine.vgpr[10][0, lane] == memory[word]
        memory[word] = ATOMICS[name](memory[word], int(data[lane]))
    assert machine.lds.bytes.view(np.uint32)[:3].tolist() == list(memory.values())


def test_other_atomics():
    one = int(np.float32(1.5).view(np.uint32))
    machine = run(
        """\tds_write2_b32 v1, v2, v2 offset1:64
\tds_add_f32 v3, v4
\tds_max_f32 v3, v5 offset:4
\tds_add_u64 v3, v[6:7] offset:8
\tds_cmpst_rtn_b32 v10, v3, v2, v5 offset:16
\tds_wrxchg_rtn_b32 v11, v3, v5 offset:20""",
        vectors={1: 4 * LANES, 2: 0, 3: 0, 4: one, 5: LANES + one, 6: 0xFFFFFFFF, 7: 1},
        lds_bytes=512,
        active=0xFFFFFFFFFFFFFFFF,
    )
    words = machine.lds.bytes.view(np.uint32)
    assert words[0] == np.float32(96).view(np.uint32)
    assert words[1] == one + 63
    assert words[2:4].view(np.uint64)[0] == 0x1FFFFFFFF * 64
    assert words[4] == one and machine.vgpr[10][0, :3].tolist() == [0, one, one]
    assert words[5] == one + 63 and machine.vgpr[11][0, :3].tolist() == [0, one, one + 1]


def test_atomics_and_transposing_loads_need_their_alignment():
    with pytest.raises(EmulationError, match="not aligned"):
        run_filled("ds_add_u64 v4, v[2:3]", {4: 4})
    code = "ds_read_b64_tr_b16 v[10:11], v4 offset:4"
    with pytest.raises(EmulationError, match="transposing load of 8 bytes is not aligned"):
        run_filled(code, {4: 8 * LANES}, "gfx950", lds_bytes=1024)


def test_backward_permute_reads_the_named_lane():
    source = RANDOM.integers(0, 200, 64)
    machine = run(
        "\tds_bpermute_b32 v10, v1, v2 offset:4",
        vectors={1: 4 * source, 2: LANES + 100, 10: 7},
        active=0x0FFFFFFFFFFFFFFF,
    )
    lane = (source + 1) % 64
    expected = np.where(lane < 60, lane + 100, 0)
    assert (machine.vgpr[10][0] == np.where(LANES < 60, expected, 7)).all()


def test_forward_permute_lets_the_highest_sender_win():
    machine = run("\tds_permute_b32 v10, v1, v2", vectors={1: 4 * (LANES // 2), 2: LANES, 10: 7})
    assert (machine.vgpr[10][0] == np.where(LANES < 32, 2 * LANES + 1, 0)).all()


@pytest.mark.parametrize(
    ("pattern", "lane"),
    [
        ("swizzle(SWAP,16)", LANES ^ 16),
        ("swizzle(SWAP,1)", LANES ^ 1),
        ("swizzle(REVERSE,8)", LANES ^ 7),
        ("swizzle(BROADCAST,8,3)", LANES // 8 * 8 + 3),
        ("swizzle(QUAD_PERM,3,0,1,1)", LANES // 4 * 4 + np.array([3, 0, 1, 1] * 16)),
        ('swizzle(BITMASK_PERM,"01pip")', LANES & 0b100101 ^ 0b00010 | 0b01000),
        ("0x041f", LANES ^ 1),
        ("0x80ff", LANES | 3),
    ],
)
def test_swizzle_patterns(pattern: str, lane: np.ndarray):
    if "01pip" in pattern:
        # From the high bit: 0, 1, kept, inverted, kept; lanes 32.. read from lanes 32...
        lane = LANES & 32 | 8 | (LANES & 0b101) | (LANES & 2 ^ 2)
    machine = run(f"\tds_swizzle_b32 v10, v2 offset:{pattern}", vectors={2: LANES + 100})
    assert (machine.vgpr[10][0] == lane + 100).all()


def test_swizzle_of_an_inactive_lane_gives_zero():
    machine = run(
        "\tds_swizzle_b32 v10, v2 offset:swizzle(SWAP,1)",
        vectors={2: LANES + 100, 10: 7},
        active=0b0111,
    )
    assert machine.vgpr[10][0, :4].tolist() == [101, 100, 0, 7]


@settings(deadline=None)
@given(st.integers(0, 0x7FFF))
def test_swizzle_by_masks_follows_the_isa(code: int):
    keep, force, flip = code & 31, code >> 5 & 31, code >> 10
    for lane, source in enumerate(swizzle_lanes(code).tolist()):
        assert source == lane // 32 * 32 + (((lane % 32 & keep) | force) ^ flip)


# Of the text of `DS_SWIZZLE_B32` for CDNA3, which counts lanes from 1.
_FFT = {
    0x00: "1 11 9 19 5 15 d 1d 3 13 b 1b 7 17 f 1f 2 12 a 1a 6 16 e 1e 4 14 c 1c 8 18 10 20",
    0x10: "1 9 5 d 3 b 7 f 2 a 6 e 4 c 8 10 11 19 15 1d 13 1b 17 1f 12 1a 16 1e 14 1c 18 20",
}


@pytest.mark.parametrize("mask", _FFT)
def test_swizzle_of_an_fft_follows_the_isa(mask: int):
    expected = [int(word, 16) - 1 for word in _FFT[mask].split()]
    found = swizzle_lanes(0xE000 | mask).tolist()
    assert found == expected + [32 + lane for lane in expected]
    assert swizzle_lanes(0xE01F).tolist() == list(range(64))
    machine = run(f"\tds_swizzle_b32 v10, v2 offset:swizzle(FFT,{mask})", vectors={2: LANES})
    assert machine.vgpr[10][0].tolist() == found


@pytest.mark.parametrize(("direction", "step"), [(0, 1), (1, -1)])
def test_swizzle_that_rotates(direction: int, step: int):
    code = f"\tds_swizzle_b32 v10, v2 offset:swizzle(ROTATE,{direction},5)"
    expected = LANES & 32 | (LANES + 5 * step) % 32
    assert (run(code, vectors={2: LANES}).vgpr[10][0] == expected).all()
    # With a mask of 1, even and odd lanes stay among themselves.
    masked = swizzle_lanes(0xC000 | direction << 10 | 4 << 5 | 1)
    assert (masked == (LANES & 33 | (LANES + 4 * step) % 32 & 30)).all()


def test_unknown_swizzle_modes_are_refused():
    with pytest.raises(EmulationError, match="no model of swizzle mode FOO"):
        run("\tds_swizzle_b32 v10, v2 offset:swizzle(FOO,3)", vectors={2: 0})
