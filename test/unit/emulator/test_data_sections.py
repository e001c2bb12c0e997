# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read-only data: what directives write, where symbols lie, and how code reaches them."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest

from bankwise.emulator.assembly import Kernel, parse_assembly
from bankwise.emulator.chips import CHIPS
from bankwise.emulator.data_sections import DataError, DataImage, DataReader, Region
from bankwise.emulator.emulation_errors import EmulationError, LaunchError
from bankwise.emulator.global_memory import GlobalMemory
from bankwise.emulator.instruction_text import AssemblyError

from .small_kernels import assembly, launched


def read(text: str) -> DataImage:
    """Returns the image of some lines in `.rodata`."""
    reader = DataReader()
    for number, line in enumerate(["\t.section\t.rodata", *text.splitlines()]):
        reader.read_line(line, number)
    reader.finish()
    return reader.image()


def contents(image: DataImage) -> bytes:
    """Returns the bytes of an image that has no variables."""
    (region,) = image.regions
    return region.contents


@pytest.mark.parametrize(
    ("directives", "expected"),
    [
        (".byte 1, 0x80, -1", "0180ff"),
        (".short 0x3c00 ; 0x3c00", "003c"),
        (".long 0x3f800000 // one", "0000803f"),
        (".quad -2", "feffffffffffffff"),
        (".octa 0x0102030405060708090a0b0c0d0e0f10", "100f0e0d0c0b0a090807060504030201"),
        ('.ascii "a;b\\n\\"\\\\\\001\\3777"', "613b620a225c01ff37"),
        ('.ascii "a,b", "c"', "612c6263"),
        ('.asciz "hi"', "686900"),
        (".zero 3", "000000"),
        (".zero 2, 255", "ffff"),
        (".skip 1", "00"),
        (".fill 3", "000000"),
        (".fill 2, 2, 0x1234", "34123412"),
        (".fill 1, 8, 0x112233445566", "6655443300000000"),
        (".byte 1\n.p2align 2, 0xff\n.byte 2", "01ffffff02"),
        (".byte 1\n.p2align 3, 0, 4\n.byte 2", "0102"),
        (".byte 1\n.balign 2\n.byte 2", "010002"),
        (".byte 1 + 2 * 3 - (1 << 2)", "03"),
        # LLVM's `|` binds tighter than `+`.
        (".byte 1 + 2 | 4", "07"),
        (".byte ~0 & 0x0f, -7 / 2, -7 % 2", "0ffdff"),
        (".set four, 4\n.byte four * 2", "08"),
        (".byte end - start\nstart:\n.zero 2\nend:\n.byte 9", "02000009"),
    ],
)
def test_directives_write_the_bytes_that_the_assembler_writes(directives: str, expected: str):
    assert contents(read(directives)).hex() == expected


def test_addresses_in_data_follow_the_image():
    image = read(".quad table + 8\n.long table\ntable:\n.quad 5, 6")
    assert contents(image).hex() == "00" * 12 + "0500000000000000" + "0600000000000000"
    (placed,) = image.at(0x7F10_0000_0100)
    assert struct.unpack_from("<QI", placed) == (0x7F10_0000_0114, 0x10C)
    assert image.symbols["table"] == 12


def test_code_and_debug_sections_are_no_data():
    reader = DataReader()
    lines = (
        *("\t.text", "\t.long 1", "k:", '\t.section\t.debug_str,"MS",@progbits,1', "\t.long 2"),
        *('\t.section\t".rodata.a b","a",@progbits', "here:", "\t.byte 3", "\t.amdhsa_kernel k"),
        *("\t.amdhsa_next_free_vgpr 1", "\t.end_amdhsa_kernel", "there:"),
    )
    for number, line in enumerate(lines):
        reader.read_line(line, number)
    reader.finish()
    image = reader.image()
    assert contents(image) == b"\3" + bytes(64)
    assert dict(image.symbols) == {"here": 0, "there": 65}


@pytest.mark.parametrize(
    ("directives", "message"),
    [
        (".uleb128 3", "does not know the data directive '.uleb128'"),
        (".long 1 +", "1: the expression '1 +' cannot be read"),
        ("a:\n.long a * 2", "2: the expression 'a * 2' cannot be read"),
        ("a:\n.zero a", "'a' is an address where a number is expected"),
        (".fill 1, 9", "up to 8 bytes at a time, not 9"),
        (".ascii abc", "'abc' is no string"),
        (".byte 1 / 0", "cannot be read"),
    ],
)
def test_data_that_cannot_be_read_is_refused(directives: str, message: str):
    with pytest.raises(DataError, match=re.escape(message)):
        read(directives)


# Code.

NEAR = """\
\ts_load_dwordx2 s[2:3], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\ts_getpc_b64 s[4:5]
\ts_add_u32 s4, s4, {symbol}@rel32@lo+{low}
\ts_addc_u32 s5, s5, {symbol}@rel32@hi+{high}
"""
TABLE = NEAR.format(symbol="table", low=4, high=12).replace("rel32", "gotpcrel32") + (
    "\ts_load_dwordx2 s[4:5], s[4:5], 0x0\n\ts_waitcnt lgkmcnt(0)\n"
)
ABSOLUTE = """\
\ts_load_dwordx2 s[2:3], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\ts_mov_b32 s4, table@abs32@lo
\ts_mov_b32 s5, table@abs32@hi
"""
COPY = """\
\tv_lshlrev_b32_e32 v1, 2, v0
\tglobal_load_dword v2, v1, s[4:5]
\ts_waitcnt vmcnt(0)
\tglobal_store_dword v1, v2, s[2:3]"""
DATA = '\t.section\t.rodata,"a",@progbits\n\t.p2align\t6\n.Lfiller:\n\t.zero\t{before}\ntable:\n'


WHOLE = """\
\ts_load_b64 s[2:3], s[0:1], 0x0
\ts_wait_kmcnt 0x0
\ts_get_pc_i64 s[4:5]
{between}\ts_add_nc_u64 s[4:5], s[4:5], table@rel64+{addend}
"""
COPY_ON_GFX1250 = """\
\tv_lshlrev_b32_e32 v1, 2, v0
\tglobal_load_b32 v2, v1, s[4:5]
\ts_wait_loadcnt 0x0
\tglobal_store_b32 v1, v2, s[2:3]"""


def parsed(code: str, before: int = 4, arch: str = "gfx942") -> Kernel:
    """Returns a kernel with a table of 66 numbers from 100 on, `before` bytes into the data."""
    values = "".join(f"\t.long {100 + number}\n" for number in range(66))
    text = assembly(code, kernarg_bytes=8, arch=arch, threads=CHIPS[arch].wave_sizes[0])
    data = DATA.format(before=before) + values + "\t.section .tdata\nlocal:\n\t.long 1\n"
    at = text.index("\t.amdgpu_metadata")
    return parse_assembly(text[:at] + data + text[at:], "small.s")["k"]


@pytest.mark.parametrize(
    ("code", "first"),
    [
        (NEAR.format(symbol="table", low=4, high=12), 100),
        # The compiler folds an offset of 8 bytes into both addends.
        (NEAR.format(symbol="table", low=12, high=20), 102),
        (NEAR.format(symbol=".Lfiller", low=8, high=16), 100),
        (TABLE, 100),
        (ABSOLUTE, 100),
    ],
)
def test_code_reaches_a_constant(code: str, first: int):
    result, _ = launched(parsed(code + COPY), 64)
    np.testing.assert_array_equal(result, first + np.arange(64))


@pytest.mark.parametrize(
    ("between", "addend", "first"),
    [
        ("", 4, 100),
        ("", 12, 102),
        # A literal of 64 bits takes 8 bytes, and one of 32 bits 4.
        ("\ts_add_nc_u64 s[6:7], s[4:5], 0x123456789a\n", 16, 100),
        ("\ts_add_nc_u64 s[6:7], s[4:5], 0x12345678\n", 12, 100),
    ],
)
def test_an_address_of_64_bits_on_gfx1250(between: str, addend: int, first: int):
    code = WHOLE.format(between=between, addend=addend) + COPY_ON_GFX1250
    result, _ = launched(parsed(code, arch="gfx1250"), 32)
    np.testing.assert_array_equal(result, first + np.arange(32))


def test_scalar_arithmetic_between_counts_its_bytes():
    """A move of a literal has 8 bytes, one of an inline constant 4."""
    code = NEAR.format(symbol="table", low=16, high=24).replace(
        "\ts_add_u32", "\ts_mov_b32 s8, 0x12345\n\ts_mov_b32 s9, 64\n\ts_add_u32"
    )
    assert launched(parsed(code + COPY), 64)[0][:2].tolist() == [100, 101]


def test_the_data_are_placed_once_and_cannot_be_stored_to():
    memory = GlobalMemory()
    kernel = parsed(NEAR.format(symbol="table", low=4, high=12) + COPY)
    launched(kernel, 64, memory=memory)
    assert memory.place(kernel.data) == memory.place(kernel.data)
    overwrite = COPY.replace("v1, v2, s[2:3]", "v1, v2, s[4:5]")
    with pytest.raises(EmulationError, match="a store to the kernel's read-only data"):
        launched(parsed(NEAR.format(symbol="table", low=4, high=12) + overwrite), 64, memory=memory)


def test_a_load_may_reach_the_padding_behind_the_data():
    """LLVM loads 4 f16 for the last 3 of a constant; what comes along is undefined."""
    memory = GlobalMemory()
    base = memory.place(DataImage((Region(0, bytes(range(22))), Region(24, b"next"))))
    waves, active = np.arange(1), np.ones((1, 1), bool)

    def load(offset: int, width: int) -> list[int]:
        words = memory.load(np.array([[base + offset]]), width, active, waves)
        undefined = memory.undefined(np.array([[base + offset]]), width, active, waves)
        return [*words[:, 0, 0], *(undefined.bits[:, 0, 0] if undefined else ())]

    assert load(16, 8) == [0x13121110, 0x1514, 0, 0xFFFF0000]
    assert load(16, 4) == [0x13121110]
    with pytest.raises(EmulationError, match=r"byte 20 of the .* data, which has 24"):
        load(20, 8)
    with pytest.raises(EmulationError, match=r"byte 4 of the .* data, which has 4"):
        load(28, 8)


@pytest.mark.parametrize(
    ("symbol", "message"),
    [
        (".Lnothing", "small.s:6: the file defines no symbol '.Lnothing'"),
        ("local", "small.s:6: the symbol 'local' is thread-local, which no GPU has"),
    ],
)
def test_a_symbol_without_data_is_located(symbol: str, message: str):
    with pytest.raises(AssemblyError, match=message):
        parsed(NEAR.format(symbol=symbol, low=4, high=12) + COPY)


def test_an_address_relative_to_an_unknown_place_is_refused():
    code = NEAR.format(symbol="table", low=4, high=12).replace(
        "\ts_add_u32", "\tv_mov_b32_e32 v9, v0\n\ts_add_u32"
    )
    with pytest.raises(LaunchError, match=r"small\.s:7: 's_add_u32 s4.*no s_getpc_b64 stands"):
        launched(parsed(code + COPY), 64)


# Variables.

INCREMENT = (
    NEAR.format(symbol="count", low=4, high=12)
    + """\
\ts_load_dword s6, s[4:5], 0x0
\ts_waitcnt lgkmcnt(0)
\ts_add_u32 s6, s6, 1
\tv_mov_b32_e32 v2, s6
\tv_mov_b32_e32 v1, 0
\tglobal_store_dword v1, v2, s[4:5]
\tglobal_store_dword v1, v2, s[2:3]"""
)


@pytest.mark.parametrize(
    ("definition", "start"),
    [
        ("\t.data\n\t.p2align 2\ncount:\n\t.long 41\n\t.size count, 4\n", 41),
        ("\t.bss\n\t.p2align 2\n\t.zero 8\ncount:\n\t.zero 4\n\t.size count, .-count\n", 0),
        ('\t.section .data.count,"aw",@progbits\ncount:\n\t.long 6\n', 6),
        ('\t.section .mine,"aw",@progbits\ncount:\n\t.long 6\n', 6),
        ("\t.comm count, 4, 4\n", 0),
        ("\t.lcomm count, 4\n", 0),
    ],
)
def test_a_variable_is_read_and_written(definition: str, start: int):
    text = assembly(INCREMENT, kernarg_bytes=8)
    at = text.index("\t.amdgpu_metadata")
    kernel = parse_assembly(text[:at] + definition + text[at:], "small.s")["k"]
    memory = GlobalMemory()
    for number in (1, 2):
        assert launched(kernel, 1, memory=memory)[0].tolist() == [start + number]
    place = kernel.data.variables["count"]
    assert memory.read(memory.place(kernel.data) + place.place, place.size).tolist() == [
        *(start + 2, 0, 0, 0)
    ]


def test_data_that_need_a_missing_symbol_are_unknown():
    (unknown,) = read(".byte 1\n.long nowhere").unknown
    assert (unknown.offset, unknown.width) == (1, 4)
    assert unknown.reason == "the file defines no symbol 'nowhere' (line 2)"


@pytest.mark.parametrize(
    "directive", [".zero 1 << 40", ".fill 1 << 40, 8, 1", ".skip 1 << 29", ".p2align 60"]
)
@pytest.mark.parametrize("section", [".rodata", ".data", ".bss"])
def test_gigabytes_of_data_are_refused(section: str, directive: str):
    reader = DataReader()
    reader.read_line(f"\t{section}", 1)
    with pytest.raises(DataError):
        reader.read_line("\t.byte 0", 2)
        reader.read_line(f"\t{directive}", 3)


def test_a_symbol_of_several_values_has_none():
    """An assembler takes the value that was set last before the place of use."""
    code = "\t.set bytes, 4\n\ts_mov_b32 s4, bytes\n\t.set bytes, 8\n\ts_mov_b32 s5, bytes"
    with pytest.raises(AssemblyError, match=r"small\.s:4: the symbol 'bytes' is set to several"):
        parse_assembly(assembly(code), "small.s")
    once = parse_assembly(assembly("\t.set bytes, 4\n\ts_mov_b32 s4, bytes+1"))["k"]
    assert str(once.instructions[0].operands[1].value) == "5"
