# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory and LDS instructions as RDNA has them: names, offsets, descriptors, lanes, private memory.

What they share with CDNA is tested in `test_memory_instructions.py` and `test_lds_instructions.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.emulator.apertures import PRIVATE_BASE, SHARED_BASE
from bankwise.emulator.chips import CHIPS
from bankwise.emulator.emulation_errors import EmulationError, GlobalAccessError
from bankwise.emulator.global_memory import GlobalMemory
from bankwise.emulator.wave_state import Machine

from .small_kernels import NARROW_LOADS, run

LANES = np.arange(32)
WIDE = np.arange(64)
DATA = np.random.default_rng(1).integers(0, 256, 4096).astype(np.uint8)
WORDS = DATA.view(np.uint32)
RDNA = ("gfx1100", "gfx1151", "gfx1201", "gfx1250")
WAVE64 = "\t\t.amdhsa_wavefront_size32 0"
RAW, INDEXED, STRUCTURED, UNCHECKED = 3, 1, 0, 2


def wait(arch: str, memory: bool = True) -> str:
    """Returns a wait for loads from memory, or for the LDS."""
    if not CHIPS[arch].has_split_counters:
        return f"s_waitcnt {'vmcnt' if memory else 'lgkmcnt'}(0)"
    return f"s_wait_{'loadcnt' if memory else 'dscnt'} 0x0"


class Buffers:
    """A buffer with DATA, and another of as many zeros."""

    def __init__(self) -> None:
        self.memory = GlobalMemory()
        self.addresses = [self.memory.allocate(each) for each in (DATA, len(DATA))]

    def descriptor(
        self, arch: str, size: int, check: int = RAW, stride: int = 0, buffer: int = 0
    ) -> dict[int, int]:
        """Returns a descriptor in s[4:7], as MLIR makes it for the chip."""
        address = self.addresses[buffer]
        low, high = address & 0xFFFFFFFF, address >> 32
        if arch == "gfx1250":
            return {4: low, 5: high | (size & 127) << 25, 6: size >> 7, 7: 0}
        return {4: low, 5: high | stride << 16, 6: size, 7: 0x01027000 | check << 28}

    def run(
        self,
        arch: str,
        code: str,
        vectors: Mapping[int, npt.ArrayLike] | None = None,
        scalars: Mapping[int, npt.ArrayLike] | None = None,
        threads: int = 32,
        **options: Any,
    ) -> Machine:
        """Runs code with the address of the first buffer in s[8:9], of the second in s[10:11]."""
        given = {
            8 + 2 * k + half: address >> 32 * half & 0xFFFFFFFF
            for k, address in enumerate(self.addresses)
            for half in (0, 1)
        }
        lines = "\n".join(f"\t{line.strip()}" for line in code.strip().splitlines())
        return run(
            lines, arch=arch, threads=threads, vectors=vectors, scalars=given | dict(scalars or {}),
            memory=self.memory, **options,
        )  # fmt: skip

    def stored(self, size: int) -> npt.NDArray[np.uint32]:
        return self.memory.read(self.addresses[1], size).view(np.uint32)


@pytest.fixture
def buffers() -> Buffers:
    return Buffers()


# -- buffers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", RDNA)
def test_a_checked_buffer_ends_at_its_records(buffers: Buffers, arch: str) -> None:
    """num_records 40: lane 2 reads bytes 32 to 47, of which two words are in range."""
    code = f"buffer_load_b128 v[10:13], v1, s[4:7], null offen\n{wait(arch)}"
    machine = buffers.run(arch, code, {1: 16 * LANES}, buffers.descriptor(arch, 40))
    assert machine.vgpr[10:14, 0, :4].T.ravel().tolist() == [*WORDS[:10].tolist(), *[0] * 6]


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize(
    ("check", "stride", "size", "index", "offset", "found"),
    [
        (UNCHECKED, 0, 4, None, 64, True),
        (UNCHECKED, 0, 0, None, 0, False),
        (INDEXED, 16, 3, 2, 20, True),
        (INDEXED, 16, 3, 3, 0, False),
        (STRUCTURED, 16, 3, 2, 12, True),
        (STRUCTURED, 16, 3, 2, 16, False),
        (STRUCTURED, 16, 3, 3, 0, False),
        (STRUCTURED, 16, 1, None, 12, True),
        (STRUCTURED, 16, 1, None, 13, False),
        (RAW, 0, 16, None, 12, True),
        (RAW, 0, 16, None, 13, False),
    ],
)
def test_what_is_out_of_range(
    buffers: Buffers, arch: str, check: int, stride: int, size: int, index: int | None,
    offset: int, found: bool,
) -> None:  # fmt: skip
    place = "v1, s[4:7], null offen" if index is None else "v[1:2], s[4:7], null idxen offen"
    vectors = {1: offset} if index is None else {1: index, 2: offset}
    code = f"buffer_load_b32 v10, {place}\n{wait(arch)}"
    scalars = buffers.descriptor(arch, size, check, stride)
    machine = buffers.run(arch, code, vectors, scalars)
    where = offset + stride * (index or 0)
    expected = int.from_bytes(DATA[where : where + 4].tobytes(), "little") if found else 0
    assert machine.vgpr[10, 0, 0] == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({5: 1 << 31}, "no model of buffers that swizzle"),
        ({5: 1 << 30}, "no model of buffers that swizzle"),
        ({7: 0x31827000}, "or add the lane"),
    ],
)
def test_descriptors_without_a_model(buffers: Buffers, words: dict[int, int], message: str) -> None:
    scalars = buffers.descriptor("gfx1100", 40)
    scalars |= {k: scalars[k] | word for k, word in words.items()}
    with pytest.raises(EmulationError, match=message):
        buffers.run("gfx1100", "buffer_load_b32 v10, off, s[4:7], null", {}, scalars)


def test_an_index_into_a_raw_buffer_is_refused(buffers: Buffers) -> None:
    code = "buffer_load_b32 v10, v1, s[4:7], null idxen"
    scalars = buffers.descriptor("gfx1201", 40, RAW, 16)
    with pytest.raises(EmulationError, match="checked as raw"):
        buffers.run("gfx1201", code, {1: 0}, scalars)
    scalars = buffers.descriptor("gfx1250", 128)
    scalars[7] = 1 << 12
    with pytest.raises(EmulationError, match="descriptor of gfx1250 with a stride or flags"):
        buffers.run("gfx1250", "buffer_load_b32 v10, off, s[4:7], null", {}, scalars)


def test_a_scalar_offset(buffers: Buffers) -> None:
    code = "buffer_load_b32 v10, v1, s[4:7], s12 offen offset:4\ns_waitcnt vmcnt(0)"
    scalars = {**buffers.descriptor("gfx1100", 40), 12: 24}
    machine = buffers.run("gfx1100", code, {1: 4 * LANES}, scalars)
    assert machine.vgpr[10, 0, :4].tolist() == [*WORDS[7:10].tolist(), 0]


# -- offsets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arch", "code", "range_"),
    [
        ("gfx1100", "buffer_load_b32 v10, off, s[4:7], null offset:4096", "0 to 4095"),
        ("gfx1201", "buffer_load_b32 v10, off, s[4:7], null offset:8388608", "0 to 8388607"),
        ("gfx1201", "buffer_load_b32 v10, off, s[4:7], null offset:-1", "0 to 8388607"),
        ("gfx1100", "global_load_b32 v10, v1, s[8:9] offset:4096", "-4096 to 4095"),
        ("gfx1201", "global_load_b32 v10, v1, s[8:9] offset:8388608", "-8388608 to 8388607"),
        ("gfx1100", "flat_load_b32 v10, v[2:3] offset:-1", "0 to 4095"),
        ("gfx1201", "scratch_load_b32 v10, off, off offset:8388608", "-8388608 to 8388607"),
        ("gfx1100", "s_load_b32 s12, s[8:9], 0x100000", "-1048576 to 1048575"),
        ("gfx1201", "s_load_b32 s12, s[8:9], 0x800000", "-8388608 to 8388607"),
        ("gfx1201", "ds_load_b32 v10, v1 offset:65536", "0 to 65535"),
        ("gfx1201", "ds_load_2addr_b32 v[10:11], v1 offset1:256", "0 to 255"),
    ],
)
def test_offsets_that_no_encoding_holds(
    buffers: Buffers, arch: str, code: str, range_: str
) -> None:
    with pytest.raises(EmulationError, match=f"is not in the range of {range_}"):
        buffers.run(arch, code, {1: 0, 2: 0, 3: 0}, lds_bytes=64)


@pytest.mark.parametrize(("arch", "offset"), [("gfx1100", -4096), ("gfx1201", -8388608)])
def test_negative_offsets(buffers: Buffers, arch: str, offset: int) -> None:
    code = f"global_load_b64 v[10:11], v1, s[8:9] offset:{offset}\n{wait(arch)}"
    machine = buffers.run(arch, code, {1: 8 * LANES - offset})
    assert machine.vgpr[10, 0].tolist() == WORDS[:64:2].tolist()
    assert machine.vgpr[11, 0].tolist() == WORDS[1:64:2].tolist()


# -- every kind of memory --------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ["gfx1103", "gfx1200"])
@pytest.mark.parametrize(
    ("memory", "lds"),
    [
        *(("u8", "u8"), ("i8", "i8"), ("u16", "u16"), ("i16", "i16")),
        *(("d16_b16", "u16_d16"), ("d16_hi_b16", "u16_d16_hi"), ("d16_u8", "u8_d16")),
        *(("d16_hi_i8", "i8_d16_hi"),),
    ],
)
def test_narrow_loads(buffers: Buffers, arch: str, memory: str, lds: str) -> None:
    where = 3 * LANES + 1
    byte = DATA[where].astype(np.int64)
    expected = NARROW_LOADS[lds](0x89ABCDEF, byte, byte + 256 * DATA[where + 1].astype(np.int64))
    for form in (f"global_load_{memory} v10, v1, s[8:9]", f"flat_load_{memory} v10, v[2:3]"):
        address = buffers.addresses[0] + where
        vectors = {1: where, 2: address & 0xFFFFFFFF, 3: address >> 32, 10: 0x89ABCDEF}
        waits = f"{wait(arch)}\n{wait(arch, False)}"
        assert (buffers.run(arch, f"{form}\n{waits}", vectors).vgpr[10, 0] == expected).all()
    copy = f"global_load_u8 v11, v1, s[8:9]\n{wait(arch)}\nds_store_b8 v1, v11"
    code = f"{copy}\n{copy.replace('s[8:9]', 's[8:9] offset:1').replace('v1, v11', 'v4, v11')}"
    code += f"\nds_load_{lds} v10, v1\n{wait(arch, False)}"
    vectors = {1: where, 4: where + 1, 10: 0x89ABCDEF}
    machine = buffers.run(arch, code, vectors, lds_bytes=128)
    assert (machine.vgpr[10, 0] == expected).all()


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize("words", [1, 2, 3, 4])
def test_stores_of_all_widths(buffers: Buffers, arch: str, words: int) -> None:
    data = "v10" if words == 1 else f"v[10:{9 + words}]"
    code = f"global_store_b{32 * words} v1, {data}, s[10:11] offset:8"
    vectors = {1: 4 * words * LANES} | {10 + k: 100 * LANES + k for k in range(words)}
    buffers.run(arch, code, vectors)
    expected = (100 * LANES[:, None] + np.arange(words)).ravel().tolist()
    assert buffers.stored(8 + 128 * words)[2:].tolist() == expected


@pytest.mark.parametrize(("arch", "lanes"), [("gfx1100", 32), ("gfx1201", 32), ("gfx1100", 64)])
@pytest.mark.parametrize(
    "place", ["off, off offset:16", "v1, off offset:12", "off, s12 offset:-16", "v1, s12"]
)
def test_private_memory(buffers: Buffers, arch: str, lanes: int, place: str) -> None:
    """Each lane has bytes of its own, two waves included."""
    if "v1, s12" in place:
        place += " offset:-20"
    stored = place.split()
    data = f"{stored[0]} v10, {' '.join(stored[1:])}"
    code = f"scratch_store_b32 {data}\nscratch_load_b32 v11, {place}\n{wait(arch)}"
    values = np.arange(2 * lanes).reshape(2, lanes)
    machine = buffers.run(
        arch, code, {1: 4, 10: values}, {12: 32}, threads=2 * lanes, private_bytes=64,
        directives=WAVE64 if lanes == 64 else "",
    )  # fmt: skip
    assert (machine.vgpr[11] == values).all()
    with pytest.raises(EmulationError, match="each work item has 16 bytes of it"):
        buffers.run(arch, code, {1: 4, 10: 0}, {12: 32}, private_bytes=16)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_flat_addresses_in_each_kind_of_memory(buffers: Buffers, arch: str) -> None:
    """Lane 0 accesses memory, lane 1 the LDS and lane 2 its private memory."""
    address = np.zeros(32, np.int64)
    address[:3] = buffers.addresses[1], SHARED_BASE, PRIVATE_BASE
    offset = " offset:-64" if arch == "gfx1201" else ""
    address[:3] += 64 if offset else 0
    waits = f"{wait(arch)}\n{wait(arch, False)}"
    code = f"""flat_store_b32 v[2:3], v10{offset}
               flat_load_b32 v11, v[2:3]{offset}
               {waits}
               ds_load_b32 v12, v4
               scratch_load_b32 v13, off, off
               {waits}"""
    vectors = {2: address & 0xFFFFFFFF, 3: address >> 32, 4: 0, 10: 7 + LANES}
    machine = buffers.run(arch, code, vectors, active=7, lds_bytes=64, private_bytes=8)
    assert machine.vgpr[11, 0, :3].tolist() == [7, 8, 9]
    assert buffers.stored(4)[0] == 7
    assert machine.vgpr[12, 0, 1] == 8 and machine.vgpr[13, 0, 2] == 9


@pytest.mark.parametrize("arch", RDNA)
def test_scalar_loads(buffers: Buffers, arch: str) -> None:
    code = """s_load_b32 s12, s[8:9], 0x6
              s_load_b64 s[14:15], s[8:9], s20 offset:0x10
              s_load_b256 s[24:31], s[8:9], null
              s_load_b512 s[32:47], s[8:9], s20 offset:-0x8"""
    scalars = {20: 8}
    machine = buffers.run(arch, code, scalars=scalars)
    found = machine.sgpr[:, 0]
    # The two low bits of an address do not count.
    assert found[12] == WORDS[1] and found[14:16].tolist() == WORDS[6:8].tolist()
    assert found[24:32].tolist() == WORDS[:8].tolist()
    assert found[32:48].tolist() == WORDS[:16].tolist()


def test_scalar_loads_of_gfx1250_may_count_elements(buffers: Buffers) -> None:
    """The constant offset counts bytes still."""
    code = """s_load_b32 s12, s[8:9], s20 offset:0x4 scale_offset
              s_load_b64 s[14:15], s[8:9], s20 offset:0x4 scale_offset"""
    found = buffers.run("gfx1250", code, scalars={20: 3}).sgpr[:, 0]
    assert found[12] == WORDS[4] and found[14:16].tolist() == WORDS[7:9].tolist()
    with pytest.raises(EmulationError, match="no model of 'scale_offset'"):
        buffers.run("gfx1201", code, scalars={20: 3})


def test_scalar_loads_of_rdna4(buffers: Buffers) -> None:
    code = """s_load_b96 s[12:14], s[8:9], 0x4
              s_load_u8 s16, s[8:9], 0x3
              s_load_i8 s17, s[8:9], 0x3
              s_load_u16 s18, s[8:9], 0x2
              s_load_i16 s19, s[8:9], 0x2
              s_buffer_load_b96 s[20:22], s[4:7], 0x20
              s_buffer_load_u16 s23, s[4:7], 0x26"""
    machine = buffers.run("gfx1201", code, scalars=buffers.descriptor("gfx1201", 40))
    found = machine.sgpr[:, 0].tolist()
    assert found[12:15] == WORDS[1:4].tolist()
    half = int(DATA[2]) | int(DATA[3]) << 8
    assert found[16] == DATA[3] and found[17] == int(DATA[3].astype(np.int8)) & 0xFFFFFFFF
    assert found[18] == half and found[19] == ((half ^ 0x8000) - 0x8000) & 0xFFFFFFFF
    assert found[20:23] == [*WORDS[8:10].tolist(), 0]
    assert found[23] == int(DATA[38]) | int(DATA[39]) << 8


def test_an_access_beyond_a_buffer_is_an_error(buffers: Buffers) -> None:
    with pytest.raises(GlobalAccessError, match=r"\(wave 0, lane 31\)"):
        buffers.run("gfx1201", "global_load_b32 v10, v1, s[8:9]", {1: 4 * LANES + len(DATA) - 124})


@pytest.mark.parametrize(
    ("arch", "code"),
    [
        ("gfx1100", "buffer_gl0_inv\nbuffer_gl1_inv\ns_gl1_inv\ns_icache_inv\ns_dcache_inv"),
        ("gfx1201", "global_inv scope:SCOPE_DEV\nglobal_wb scope:SCOPE_SYS\nglobal_wbinv\n"
         "s_icache_inv\ns_dcache_inv\ns_prefetch_inst_pc_rel 0x0, s4, 3"),
        ("gfx1250", "global_prefetch_b8 v1, s[8:9] scope:SCOPE_SE\ns_wait_xcnt 0x0"),
    ],
)  # fmt: skip
def test_caches_are_none(buffers: Buffers, arch: str, code: str) -> None:
    buffers.run(arch, code, {1: 0})


@pytest.mark.parametrize(
    ("arch", "hints"),
    [
        ("gfx1100", "glc slc dlc"),
        ("gfx1201", "th:TH_LOAD_NT scope:SCOPE_DEV"),
        ("gfx1201", "th:TH_LOAD_LU"),
    ],
)
def test_cache_hints_change_nothing(buffers: Buffers, arch: str, hints: str) -> None:
    machine = buffers.run(
        arch, f"global_load_b32 v10, v1, s[8:9] {hints}\n{wait(arch)}", {1: 4 * LANES}
    )
    assert machine.vgpr[10, 0].tolist() == WORDS[:32].tolist()


# -- the LDS, and lanes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arch", "lanes", "among"),
    [("gfx1100", 32, 32), ("gfx1100", 64, 32), ("gfx1201", 32, 32), ("gfx1201", 64, 64)],
)
def test_lanes_read_and_send_to_each_other(arch: str, lanes: int, among: int) -> None:
    """In waves of 64 lanes the halves of RDNA3 stay among themselves."""
    lane = np.arange(lanes)
    named = (7 * lane + 5) % lanes
    code = "\tds_bpermute_b32 v10, v1, v2 offset:4\n\tds_permute_b32 v11, v1, v2"
    machine = run(
        code, arch=arch, threads=lanes, vectors={1: 4 * named, 2: 100 + lane},
        directives=WAVE64 if lanes == 64 else "",
    )  # fmt: skip
    half = lane // among * among
    assert (machine.vgpr[10, 0] == 100 + (named + 1) % among + half).all()
    received = np.zeros(lanes, np.int64)
    received[named % among + half] = 100 + lane
    assert (machine.vgpr[11, 0] == received).all()


def test_a_permute_that_fetches_inactive_lanes() -> None:
    code = "\tds_bpermute_fi_b32 v10, v1, v2\n\tds_bpermute_b32 v11, v1, v2"
    vectors = {1: 4 * (LANES ^ 1), 2: 100 + LANES, 10: 1, 11: 1}
    machine = run(code, arch="gfx1201", threads=32, vectors=vectors, active=0b0111)
    assert machine.vgpr[10, 0, :4].tolist() == [101, 100, 103, 1]
    assert machine.vgpr[11, 0, :4].tolist() == [101, 100, 0, 1]


def test_a_swizzle_in_waves_of_32() -> None:
    code = "\tds_swizzle_b32 v10, v2 offset:swizzle(BROADCAST,32,9)"
    machine = run(code, arch="gfx1201", threads=32, vectors={2: LANES})
    assert (machine.vgpr[10] == 9).all()


@pytest.mark.parametrize(
    ("arch", "lanes", "name", "stride", "conflicts", "cycles"),
    [
        # 32 lanes read 16 bytes 256 bytes apart: each of 8 lanes meets the same 4 banks.
        ("gfx1100", 32, "ds_load_b128", 256, 28, 32),
        ("gfx1201", 32, "ds_load_b128", 256, 28, 32),
        ("gfx1201", 64, "ds_load_b128", 256, 56, 64),
        ("gfx1100", 32, "ds_load_b128", 16, 0, 4),
        ("gfx1201", 32, "ds_load_b128", 16, 0, 4),
        ("gfx1100", 32, "ds_load_b64", 8, 0, 2),
        ("gfx1100", 64, "ds_load_b64", 8, 0, 4),
        ("gfx1201", 32, "ds_load_b32", 128, 31, 32),
        ("gfx1201", 32, "ds_load_u16", 2, 0, 1),
    ],
)
def test_cycles_are_those_of_the_chips_lds(
    arch: str, lanes: int, name: str, stride: int, conflicts: int, cycles: int
) -> None:
    words = {"ds_load_b128": 4, "ds_load_b64": 2}.get(name, 1)
    data = "v10" if words == 1 else f"v[10:{9 + words}]"
    machine = run(
        f"\t{name} {data}, v1", arch=arch, threads=lanes, lds_bytes=32768,
        vectors={1: stride * np.arange(lanes)}, directives=WAVE64 if lanes == 64 else "",
    )  # fmt: skip
    counted = machine.counters
    assert (counted.lds_conflict_cycles[0], counted.lds_cycles[0]) == (conflicts, cycles)


@pytest.mark.parametrize(("arch", "cycles"), [("gfx1100", 8), ("gfx1151", 8), ("gfx1201", 4)])
def test_lanes_of_a_phase_are_those_of_the_chip(arch: str, cycles: int) -> None:
    """Lanes 20 to 23 meet the banks of lanes 0 to 3, which are of their phase on RDNA3 alone."""
    slot = LANES % 8 ^ LANES // 16 * 4
    machine = run(
        "\tds_load_b128 v[10:13], v1", arch=arch, threads=32, lds_bytes=512,
        vectors={1: 128 * (LANES // 8) + 16 * slot},
    )  # fmt: skip
    assert machine.counters.lds_cycles[0] == cycles


# -- transposing loads -----------------------------------------------------------------------------


def columns_of_8_lanes(words: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    """Returns for rows [32, 8] what lanes get where each 8 of them transpose their rows."""
    return np.concatenate([words[first : first + 8].T for first in range(0, 32, 8)])


@pytest.mark.parametrize(
    ("arch", "name"), [("gfx1201", "global_load_tr_b128"), ("gfx1250", "global_load_tr16_b128")]
)
def test_a_transposing_load_from_memory(buffers: Buffers, arch: str, name: str) -> None:
    order = np.random.default_rng(2).permutation(32)
    code = f"{name} v[10:13], v1, s[8:9]\n{wait(arch)}"
    machine = buffers.run(arch, code, {1: 16 * order})
    got = np.ascontiguousarray(machine.vgpr[10:14, 0].T).view(np.uint16)
    rows = DATA.view(np.uint16)[:256].reshape(32, 8)[order]
    assert (got == columns_of_8_lanes(rows)).all()


def test_a_transposing_load_of_16_bits_from_the_lds() -> None:
    rows = np.arange(256, dtype=np.uint16).reshape(32, 8)
    machine = _transposed("ds_load_tr16_b128", 4, rows.view(np.uint32))
    got = np.ascontiguousarray(machine.vgpr[10:14, 0].T).view(np.uint16)
    assert (got == columns_of_8_lanes(rows)).all()


def test_a_transposing_load_of_8_bits_from_the_lds() -> None:
    """As Triton's guide has it: D0 to D7 draw from S0 to S3 and from S8 to S11."""
    rows = np.arange(256, dtype=np.uint8).reshape(32, 8)
    machine = _transposed("ds_load_tr8_b64", 2, rows.view(np.uint32))
    got = np.ascontiguousarray(machine.vgpr[10:12, 0].T).view(np.uint8)
    sources = [0, 1, 2, 3, 8, 9, 10, 11]
    for lane in range(32):
        first = lane // 16 * 16 + (4 if lane % 16 >= 8 else 0)
        assert got[lane].tolist() == [rows[first + source, lane % 8] for source in sources]


def _transposed(name: str, words: int, rows: npt.NDArray[np.uint32]) -> Machine:
    """Runs a transposing load of rows [32, words], which lie in the LDS one behind the other."""
    code = f"""\tds_store_b{32 * words} v1, v[2:{1 + words}]
\ts_wait_dscnt 0x0
\t{name} v[10:{9 + words}], v1
\ts_wait_dscnt 0x0"""
    vectors = {1: 4 * words * LANES} | {2 + k: rows[:, k] for k in range(words)}
    return run(code, arch="gfx1250", threads=32, lds_bytes=512, vectors=vectors)


@pytest.mark.parametrize(
    ("arch", "code", "message"),
    [
        ("gfx1201", "global_load_tr_b64 v[10:11], v1, s[8:9]", "no text says which lanes exchange"),
        ("gfx1250", "ds_load_tr4_b64 v[10:11], v1", "no text says which lanes exchange"),
        ("gfx1250", "ds_load_tr6_b96 v[10:12], v1", "no text says which lanes exchange"),
        ("gfx1250", "ds_load_tr16_b128 v[10:13], v1 offset:8", "is not aligned to 16 bytes"),
    ],
)
def test_transposing_loads_without_a_model(
    buffers: Buffers, arch: str, code: str, message: str
) -> None:
    with pytest.raises(EmulationError, match=message):
        buffers.run(arch, code, {1: 16 * LANES}, lds_bytes=1024)
    with pytest.raises(EmulationError, match="in waves of 64"):
        buffers.run(
            "gfx1201", "global_load_tr_b128 v[10:11], v1, s[8:9]", threads=64, directives=WAVE64
        )
