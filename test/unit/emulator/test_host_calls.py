# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of what a kernel has the host print."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from bankwise.emulator.emulation_errors import EmulationError, UndefinedReadError
from bankwise.emulator.global_memory import GlobalMemory
from bankwise.emulator.host_calls import HostCalls, formatted

from .small_kernels import run

BEGIN, END = 1, 2
PRINT = 2


def words(*values: int | float | str) -> list[int]:
    """Returns a message's words as a kernel writes them."""
    data = b""
    for value in values:
        if isinstance(value, str):
            text = value.encode() + b"\0"
            data += text + bytes(-len(text) % 8)
        else:
            data += struct.pack("<d" if isinstance(value, float) else "<q", value)
    return np.frombuffer(data, np.uint64).tolist()


def in_c(template: str, *values: int | float | str) -> str:
    """Returns what the C library prints."""
    buffer = ctypes.create_string_buffer(256)
    passed = [
        value.encode()
        if isinstance(value, str)
        else ctypes.c_double(value)
        if isinstance(value, float)
        else ctypes.c_long(value)
        for value in values
    ]
    ctypes.CDLL(None).snprintf(buffer, 256, template.encode(), *passed)
    return buffer.value.decode()


@pytest.mark.parametrize(
    ("template", "values"),
    [
        ("plain, 100%%\n", ()),
        ("%d %i %5d|%-5d|%05d|%+d", (-3, 0xFFFFFFFE, 42, 42, 42, 42)),
        ("%u %x %X %#x %o", (0xFFFFFFFF, 255, 255, 255, 8)),
        ("%lld %llu %lx %zu", (-(2**40), 2**40, 2**40, 7)),
        ("%hhd %hu", (0x1FF, 0x12345)),
        ("%f %.3f %10.2e %g %G", (1.5, 2.0 / 3, 12345.678, 1e-10, 1e20)),
        ("%s and %10s|%-10s|%.2s", ("a string that is longer than a word", "right", "left", "cut")),
        ("%c%c %*d|%.*f", (72, 105, 6, 42, 2, 3.14159)),
        ("%p", (0x7F1000000000,)),
        ("%f %f", (float("inf"), float("-inf"))),
    ],
)
def test_formats_are_those_of_c(template: str, values: tuple[int | float | str, ...]) -> None:
    assert formatted(words(template, *values)) == in_c(template, *values)


PRINTING = """
\ts_load_dwordx8 s[8:15], s[4:5], 0x0
\tv_lshlrev_b32_e32 v1, 6, v0
\tv_mov_b32_e32 v3, 0
\tv_mov_b32_e32 v10, 0
\ts_waitcnt lgkmcnt(0)
\tglobal_store_dwordx2 v1, v[2:3], s[10:11]
\tglobal_store_dwordx4 v1, v[4:7], s[10:11] offset:8
\tv_mov_b32_e32 v2, v0
\tglobal_store_dwordx2 v1, v[2:3], s[10:11] offset:24
\tv_mov_b32_e32 v2, exec_lo
\tglobal_store_dwordx2 v10, v[2:3], s[8:9] offset:8
\tglobal_store_dwordx2 v10, v[8:9], s[8:9] offset:16
\tv_mov_b32_e32 v2, s14
\tglobal_store_dwordx2 v10, v[2:3], s[4:5] offset:32
\ts_waitcnt vmcnt(0)
\ts_sendmsg sendmsg(MSG_INTERRUPT)
\tglobal_load_dword v14, v10, s[8:9] offset:20
\tglobal_load_dwordx2 v[16:17], v1, s[10:11]
\ts_waitcnt vmcnt(0)
"""
"""Two lanes take the only packet, and print their number by the format `l%d` and a line break."""


@pytest.mark.parametrize("stderr", [0, 1])
def test_lanes_print(stderr: int, capsys: pytest.CaptureFixture[str]) -> None:
    memory = GlobalMemory()
    memory.host_calls = HostCalls(memory, waves=1)
    address = memory.host_calls.address
    (text,) = words("l%d\n")
    vectors = {2: BEGIN | END | 3 << 5, 4: stderr, 5: 0, 6: text & 0xFFFFFFFF, 7: 0, 8: PRINT, 9: 1}
    scalars = {4: address & 0xFFFFFFFF, 5: address >> 32}
    machine = run(PRINTING, vectors=vectors, scalars=scalars, active=0b11, memory=memory)
    printed = capsys.readouterr()
    assert (printed.err if stderr else printed.out) == "l0\nl1\n"
    assert (printed.out if stderr else printed.err) == ""
    assert machine.vgpr[14, 0, :2].tolist() == [0, 0], "the wave may go on"
    assert machine.vgpr[16, 0, :2].tolist() == [3, 3], "what printf returns"


class Waves:
    """Waves of one lane, which take packets as the library of the device does."""

    def __init__(self, waves: int) -> None:
        self.memory = GlobalMemory()
        self.calls = HostCalls(self.memory, waves)
        self.headers, self.payloads, self.signal, *_, self.mask = self.read(self.calls.address, 6)

    def read(self, address: int, count: int) -> list[int]:
        return self.memory.read(address, 8 * count).view(np.uint64).tolist()

    def take(self) -> int:
        (packet,) = self.read(self.calls.address + 24, 1)
        assert packet != 0
        self.memory.write(
            self.calls.address + 24,
            self.memory.read(self.headers + 24 * (packet & self.mask), 8),
        )
        return packet

    def hand(self, packet: int, piece: int, *data: int, service: int = PRINT) -> None:
        index = packet & self.mask
        last = self.read(self.calls.address + 32, 1)
        self.memory.write(
            self.headers + 24 * index, struct.pack("<QQII", *last, 1 << 5, service, 1)
        )
        slot = self.payloads + 4096 * index + 64 * 5
        self.memory.write(slot, struct.pack(f"<{1 + len(data)}Q", piece | len(data) << 5, *data))
        self.memory.write(self.calls.address + 32, struct.pack("<Q", packet))

    def answer(self, packet: int) -> int:
        return self.read(self.payloads + 4096 * (packet & self.mask) + 64 * 5, 1)[0]


def test_messages_come_in_pieces(capsys: pytest.CaptureFixture[str]) -> None:
    """Two of them at once; each has the number that the host has given it."""
    waves = Waves(3)
    first, second = waves.take(), waves.take()
    assert len({packet & waves.mask for packet in (first, second, waves.take())}) == 3
    for packet in (first, second):
        waves.hand(packet, BEGIN, 0)
    waves.calls.serve()
    numbers = [waves.answer(packet) for packet in (first, second)]
    assert not any(number & (BEGIN | END) for number in numbers) and numbers[0] != numbers[1]
    for packet, number, text in zip((first, second), numbers, ("one\n", "two\n"), strict=True):
        waves.hand(packet, number & ~0xFF | END, *words(text))
    waves.calls.serve()
    assert capsys.readouterr().out == "one\ntwo\n"
    assert [waves.answer(packet) for packet in (first, second)] == [4, 4]


def test_a_format_without_its_arguments_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    waves = Waves(1)
    packet = waves.take()
    waves.hand(packet, BEGIN | END, 0, *words("%d\n"))
    waves.calls.serve()
    assert capsys.readouterr().out == "" and waves.answer(packet) == (1 << 64) - 1


@pytest.mark.parametrize(
    ("service", "piece", "message"),
    [
        (3, BEGIN, r"for memory \(malloc\), and the emulator only prints"),
        (9, BEGIN, "for service 9, and"),
        (PRINT, END | 77 << 8, "goes on with a message that it has not begun"),
    ],
)
def test_other_calls_are_refused(service: int, piece: int, message: str) -> None:
    waves = Waves(1)
    waves.hand(waves.take(), piece, service=service)
    with pytest.raises(EmulationError, match=message):
        waves.calls.serve()


def test_what_is_printed_must_be_defined() -> None:
    memory = GlobalMemory()
    memory.host_calls = HostCalls(memory, waves=1)
    address = memory.host_calls.address
    vectors = {2: BEGIN | END | 3 << 5, 4: 0, 5: 0, 6: 0, 8: PRINT, 9: 1}
    scalars = {4: address & 0xFFFFFFFF, 5: address >> 32}
    with pytest.raises(UndefinedReadError, match="What a wave hands the host is undefined"):
        run(PRINTING, vectors=vectors, scalars=scalars, active=0b11, memory=memory)
