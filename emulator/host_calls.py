# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel asks the host for while it runs: to print (`printf`, `assert`, `device_print`).

The library of the device (ROCm's device-libs, ockl) and its runtime share a buffer of packets, to
which the hidden argument `hidden_hostcall_buffer` points:

    buffer     0 headers, 8 payloads, 16 signal, 24 free stack, 32 ready stack, 40 index mask
    header     0 next packet, 8 active lanes, 16 service (4 bytes), 20 control (4 bytes)
    payload    64 lanes of 8 words of 64 bits

A wave takes a packet from the free stack, fills it, puts it on the ready stack, adds to the signal,
sends an interrupt, and waits until bit 0 of the control is cleared; then it finds two results in
the first words of its lanes. A packet is named by its index in the bits of the mask, above which
there is a number that counts its uses; 0 is no packet.

What is printed comes in pieces, lane by lane: the first word of a lane is bit 0 for the first
piece, bit 1 for the last one, bits 7:5 for how many words follow, and from bit 8 on the number of
the message, which the host gives. The message is a word of which bit 0 chooses stderr, the format
as a string, and the arguments, each in a word of its own, strings in as many as they need.
"""

from __future__ import annotations

import re
import struct
import sys
from typing import Any, Protocol

import numpy as np

from .assembly import Kernel
from .emulation_errors import EmulationError

_HEADER, _LANE, _PAYLOAD, _SIGNAL = 24, 64, 4096, 64
_LANES = 64
_MOST_PACKETS = 64
_PRINT = 2
"""The number of the service that prints."""
_SERVICES = {1: "a call of a function", 3: "memory (malloc)", 4: "a report of a sanitizer"}


class _Memory(Protocol):
    def allocate(self, contents: int | bytes, *, name: str = "") -> int: ...
    def read(self, address: int, count: int) -> Any: ...
    def write(self, address: int, contents: bytes) -> None: ...
    def check_defined(self, address: int, count: int, what: str) -> None: ...


def calls_host(kernel: Kernel) -> bool:
    """Returns whether a kernel sends interrupts to the host."""
    return any(
        instruction.mnemonic == "s_sendmsg" and is_interrupt(str(instruction.operands[0].value))
        for instruction in kernel.instructions
        if instruction.operands
    )


def is_interrupt(message: str) -> bool:
    """Returns whether the operand of `s_sendmsg` is the message by which a wave calls the host."""
    return message in ("sendmsg(MSG_INTERRUPT)", "1")


class HostCalls:
    """The buffer of packets in the memory of a launch, and the messages that are under way.

    Attributes:
        address: of the buffer.
    """

    def __init__(self, memory: _Memory, waves: int) -> None:
        packets = min(waves, _MOST_PACKETS)
        self._memory = memory
        self._mask = (1 << max(packets - 1, 1).bit_length()) - 1
        mailbox = memory.allocate(8, name="the mailbox of calls of the host")
        signal = struct.pack("<QQQQ", 1, 0, mailbox, 0) + bytes(_SIGNAL - 32)
        doorbell = memory.allocate(signal, name="the signal of calls of the host")
        names = [self._mask + 1 + index for index in range(packets)]
        nexts = [0, *names[:-1]]
        headers = b"".join(struct.pack("<QQQ", each, 0, 0) for each in nexts)
        self._headers = memory.allocate(headers, name="the headers of calls of the host")
        self._payloads = memory.allocate(packets * _PAYLOAD, name="the packets of host calls")
        fields = (self._headers, self._payloads, doorbell, names[-1], 0, self._mask)
        self.address = memory.allocate(struct.pack("<6Q", *fields), name="hidden_hostcall_buffer")
        self._messages: dict[int, list[int]] = {}
        self._last = 0

    def serve(self) -> None:
        """Does what the packets on the ready stack ask for.

        Raises:
            EmulationError: for something else than to print.
        """
        (packet,) = self._words(self.address + 32, 1)
        self._memory.write(self.address + 32, bytes(8))
        order: list[int] = []
        while packet:
            index = packet & self._mask
            order.append(index)
            (packet,) = self._words(self._headers + index * _HEADER, 1)
        # The first to be put on the stack lies at its bottom.
        for index in reversed(order):
            self._serve(index)

    def _words(self, address: int, count: int) -> list[int]:
        self._memory.check_defined(address, 8 * count, "What a wave hands the host")
        return self._memory.read(address, 8 * count).view(np.uint64).tolist()

    def _serve(self, index: int) -> None:
        header = self._headers + index * _HEADER
        _, active, kind = self._words(header, 3)
        service = kind & 0xFFFFFFFF
        if service != _PRINT:
            what = _SERVICES.get(service, f"service {service}")
            raise EmulationError(
                f"the kernel calls the host for {what}, and the emulator only prints"
            )
        for lane in range(_LANES):
            if active >> lane & 1:
                self._take(self._payloads + index * _PAYLOAD + lane * _LANE)
        self._memory.write(header + 20, bytes(4))

    def _take(self, slot: int) -> None:
        """Takes a piece of a lane's message, and answers it."""
        (piece,) = self._words(slot, 1)
        if piece & 1:
            self._last += 1
            self._messages[self._last] = []
            piece = piece & 0xFE | self._last << 8
        message = self._messages.get(piece >> 8)
        if message is None:
            raise EmulationError("the kernel goes on with a message that it has not begun")
        message += self._words(slot + 8, piece >> 5 & 7)
        answer = piece
        if piece & 2:
            del self._messages[piece >> 8]
            answer = _print(message)
        self._memory.write(slot, struct.pack("<QQ", answer & (1 << 64) - 1, 0))


def _print(message: list[int]) -> int:
    """Prints a message, and returns what `printf` returns."""
    control, *words = message
    try:
        text = formatted(words)
    except (IndexError, ValueError, TypeError):
        return -1
    stream = sys.stderr if control & 1 else sys.stdout
    stream.write(text)
    return len(text)


_CONVERSION = re.compile(
    r"%(?:%|(?P<flags>[-+ #0]*)(?P<width>\*|\d*)(?:\.(?P<digits>\*|\d*))?"
    r"(?P<size>hh|h|ll|l|j|z|t|L)?(?P<kind>[diouxXcsfFeEgGaAp]))"
)
_BITS = {"hh": 8, "h": 16, None: 32}
"""The bits of an integer by what stands before its letter; others have 64."""


def formatted(words: list[int]) -> str:
    """Returns what `printf` of C prints.

    Args:
        words: the format as a string, and its arguments, as words of 64 bits.

    Raises:
        IndexError, ValueError, TypeError: the words are too few, or Python cannot format one.
    """
    rest = list(words)
    template = _string(rest)

    def replacement(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        width, digits = (_count(found[name], rest) for name in ("width", "digits"))
        kind = found["kind"]
        value, kind = _argument(kind, found["size"], rest)
        spec = f"%{found['flags']}{width}" + (f".{digits or 0}" if digits is not None else "")
        return (spec + kind) % value

    return _CONVERSION.sub(replacement, template)


def _string(rest: list[int]) -> str:
    """Takes a string, which ends in a zero, from the front of words."""
    data = b""
    while b"\0" not in data:
        data += struct.pack("<Q", rest.pop(0))
    return data[: data.index(b"\0")].decode(errors="replace")


def _count(text: str | None, rest: list[int]) -> str | None:
    return str(_signed(rest.pop(0), 32)) if text == "*" else text


def _signed(word: int, bits: int) -> int:
    word &= (1 << bits) - 1
    return word - (word >> bits - 1 << bits)


def _argument(kind: str, size: str | None, rest: list[int]) -> tuple[object, str]:
    """Takes an argument; returns it, and the letter by which Python formats it."""
    if kind == "s":
        return _string(rest), kind
    word = rest.pop(0)
    bits = _BITS.get(size, 64)
    if kind in "di":
        return _signed(word, bits), "d"
    if kind in "ouxX":
        return word & (1 << bits) - 1, kind
    if kind == "c":
        return chr(word & 0xFF), kind
    if kind == "p":
        return hex(word), "s"
    (number,) = struct.unpack("<d", struct.pack("<Q", word))
    if kind in "aA":
        text = float(number).hex()
        return text if kind == "a" else text.upper(), "s"
    return number, kind
