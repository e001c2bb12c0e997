# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory of the GPU: buffers at 48-bit addresses with gaps that nobody may touch."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .atomics import AtomicOp, update, update_undefined
from .byte_access import PADDING, ByteAccess, Bytes, Offsets, Words, words_of
from .data_sections import DataImage
from .emulation_errors import GlobalAccessError, UndefinedReadError
from .host_calls import HostCalls
from .undefined import Origins, Undefined, UndefinedBytes

LaneMask = npt.NDArray[np.bool_]
WaveIds = npt.NDArray[np.intp]

_FIRST_ADDRESS = 0x7F10_0000_0000
_ALIGNMENT = 256
_GUARD_BYTES = 1 << 16
# Kernels access a null pointer at an offset.
_NULL_BYTES = 1 << 32


@dataclass(eq=False)
class _Buffer:
    start: int
    size: int
    data: Bytes
    """The buffer's bytes, then padding."""
    name: str = ""
    read_only: bool = False
    written: bool = False
    """Whether a kernel has stored to the buffer."""
    shadow: UndefinedBytes | None = None
    """The undefined bits of `data`, once there were some."""
    unknown: str = ""
    """Why nobody knows the bytes; empty if they are known, or `shadow` says which are not."""
    padding: int = 0
    """How many bytes behind the end are padding that a load may reach."""

    @property
    def end(self) -> int:
        return self.start + self.size


class GlobalMemory:
    """The buffers by address; every access must lie within one of them.

    A new buffer holds zeros, or what the host gives. What kernels store may be undefined.

    Attributes:
        origins: the origins of the undefined values of all kernels that use this memory.
        out_of_range: how many accesses of lanes have reached beyond the end that a descriptor of a
            buffer gives, where loads give zeros and stores do nothing. Loads to the LDS that lie
            wholly behind the end are not among them: lanes bring zeros by them.
        nulls: the pointers that kernels were given as null, for the message about an access.
        host_calls: the calls of the host by the kernel that was launched last; None if it has none.
        watched: whether somebody asks for `changes`.
        changes: how many accesses have changed a byte while the memory was watched.
    """

    def __init__(self) -> None:
        self.origins = Origins()
        self._buffers: list[_Buffer] = []
        self._starts: list[int] = []
        self._next = _FIRST_ADDRESS
        self._images: dict[DataImage, int] = {}
        self.out_of_range = 0
        self.nulls: list[str] = []
        self.host_calls: HostCalls | None = None
        self.watched = False
        self.changes = 0
        self._version = 0

    def place(self, image: DataImage) -> int:
        """Returns the address of a file's data.

        The data is put into memory when it is first asked for.
        """
        if image in self._images:
            return self._images[image]
        base = self._images[image] = self._next
        starts = [*(region.start for region in image.regions), sys.maxsize]
        for region, contents, after in zip(image.regions, image.at(base), starts[1:], strict=True):
            self._place_code(image, base + region.start)
            self._next = base + region.start
            what = "variables" if region.writable else "read-only data"
            self.allocate(contents, name=f"the kernel's {what}", read_only=not region.writable)
            if not region.writable:
                self._buffers[-1].padding = min(-region.end % PADDING, after - region.end)
        self._place_code(image, base + image.extent)
        self._next = max(self._next, base + _aligned(image.extent))
        for each in image.unknown:
            self._forget(base + each.offset, each.width, each.reason)
        return base

    def _place_code(self, image: DataImage, end: int) -> None:
        """Makes a buffer of what lies before an address in a code object: code, or nothing.

        Kernels load their own code to have it in a cache. Code of assembly has no bytes.
        """
        start = self._images[image]
        start = max(start, self._buffers[-1].end if self._buffers else 0)
        if image.end and end > start:
            self._next = start
            self.allocate(end - start, name="the kernel's code", read_only=True)
            self._buffers[-1].unknown = "the kernel's code, whose bytes the emulator does not keep"

    def _forget(self, address: int, count: int, reason: str) -> None:
        """Makes bytes undefined; `reason` says why nobody knows them."""
        buffer = self._holding(address, count)
        first = address - buffer.start
        shadow = self._shadow(buffer)
        shadow.bits[first : first + count] = 0xFF
        shadow.origins[first : first + count] = self.origins.number(reason)

    def allocate(
        self,
        contents: int | bytes | npt.NDArray[np.generic],
        *,
        name: str = "",
        read_only: bool = False,
    ) -> int:
        """Makes a buffer and returns its address; kernels cannot store to a `read_only` one.

        Args:
            contents: what the buffer holds, or a number of zero bytes.
            name: what messages call the buffer.
        """
        if isinstance(contents, int):
            size, initial = contents, None
        else:
            initial = _as_bytes(contents)
            size = len(initial)
        data = np.zeros(-(-size // PADDING) * PADDING, np.uint8)
        if initial is not None:
            data[:size] = initial
        start = self._next
        self._next += _aligned(size) + _GUARD_BYTES
        self._version += 1
        self._buffers.append(_Buffer(start, size, data, name, read_only))
        self._starts.append(start)
        return start

    @property
    def allocated(self) -> int:
        """Returns the bytes of all buffers."""
        return sum(buffer.size for buffer in self._buffers)

    @property
    def count(self) -> int:
        """Returns the number of buffers."""
        return len(self._buffers)

    @property
    def version(self) -> tuple[int, ...]:
        """Returns what changes where `plain_buffers` does."""
        return (self._version,)

    def note_change(self) -> None:
        """Notes that a byte has been changed in another way than by `store`."""
        self.changes += int(self.watched)

    def plain_buffers(self) -> list[tuple[int, int, Bytes, bool]]:
        """Returns address, end, bytes and whether they are read-only of each buffer.

        There are none where some bytes are undefined.
        """
        if any(buffer.shadow is not None for buffer in self._buffers):
            return []
        return [(b.start, b.end, b.data, b.read_only) for b in self._buffers]

    def note_store(self, number: int) -> None:
        """Notes that a kernel has stored to a buffer of `plain_buffers`."""
        self._buffers[number].written = True

    def spans(self) -> list[tuple[int, int]]:
        """Returns the address and the bytes of each buffer, in the order of addresses."""
        return [(buffer.start, buffer.size) for buffer in self._buffers]

    def name_null(self, name: str) -> None:
        """Notes a pointer that a kernel was given as null, so that an access can be explained."""
        if name not in self.nulls:
            self.nulls.append(name)

    def was_stored_to(self, address: int) -> bool:
        """Returns whether a kernel has stored to the buffer that begins at an address."""
        return self._holding(address, 0).written

    def size_at(self, address: int) -> int:
        """Returns the bytes of the buffer that begins at an address."""
        return self._holding(address, 0).size

    def read(self, address: int, count: int) -> Bytes:
        """Returns a copy of `count` bytes; raises GlobalAccessError outside of a buffer."""
        buffer = self._holding(address, count)
        offset = address - buffer.start
        result = np.zeros(count, np.uint8)
        _copy(buffer.data[offset : offset + count], result)
        return result

    def write(self, address: int, contents: bytes | npt.NDArray[np.generic]) -> None:
        """Stores `contents` from `address` on; GlobalAccessError outside of a buffer."""
        values = _as_bytes(contents)
        buffer = self._holding(address, len(values))
        offset = address - buffer.start
        _copy(values, buffer.data[offset : offset + len(values)])
        if buffer.shadow is not None:
            buffer.shadow.bits[offset : offset + len(values)] = 0

    def copy(self, source: int, target: int, count: int) -> None:
        """Copies `count` bytes, defined or not; GlobalAccessError outside of a buffer."""
        self.write(target, self.read(source, count))
        shadow = self._holding(source, count).shadow
        if shadow is not None:
            first = source - self._holding(source, count).start
            buffer = self._holding(target, count)
            start = target - buffer.start
            new = self._shadow(buffer)
            new.bits[start : start + count] = shadow.bits[first : first + count]
            new.origins[start : start + count] = shadow.origins[first : first + count]

    def check_defined(self, address: int, count: int, what: str) -> None:
        """Refuses undefined bytes that somebody outside of the kernels wants to use.

        Args:
            what: what the bytes are, as the beginning of a sentence.

        Raises:
            UndefinedReadError: a byte has undefined bits; the message names the first such byte.
        """
        buffer = self._holding(address, count)
        if buffer.shadow is None:
            return
        start = address - buffer.start
        found = np.flatnonzero(buffer.shadow.bits[start : start + count])
        if len(found):
            byte = int(found[0])
            origin = self.origins.text(int(buffer.shadow.origins[start + byte]))
            kept = np.delete(buffer.data[start : start + count], found)
            others = f"; the others are {kept.tobytes().hex(' ')}" if 0 < len(kept) <= 16 else ""
            raise UndefinedReadError(
                f"{what} is undefined in {len(found)} of {count} bytes, the first of which is byte "
                f"{byte}: it comes from {origin}{others}"
            )

    def _shadow(self, buffer: _Buffer) -> UndefinedBytes:
        """Returns the undefined bits of a buffer, which is given a shadow if it has none."""
        if buffer.shadow is None:
            self._version += 1
            buffer.shadow = UndefinedBytes(np.zeros(len(buffer.data), np.uint8))
        return buffer.shadow

    def load(
        self, addresses: Offsets, width: int, active: LaneMask | None, waves: WaveIds
    ) -> Words:
        """Returns the `width` bytes from each lane's address on, as words [words, n, lanes].

        Inactive lanes get zeros.

        Args:
            addresses: [n, lanes], byte addresses.
            active: [n, lanes], the lanes that take part; None if all do.
            waves: [n], the numbers of the waves, of which an error names one.

        Raises:
            GlobalAccessError: an active lane's bytes do not lie within one buffer.
        """
        if active is not None and not active.all():
            result = np.zeros((words_of(width), *addresses.shape), np.uint32)
            rows, lanes = np.nonzero(active)
            for buffer, chosen in self._by_buffer(addresses[active], width, waves, rows, lanes):
                offsets = addresses[active][chosen] - buffer.start
                values = ByteAccess(offsets, width).gather(buffer.data)
                result[:, rows[chosen], lanes[chosen]] = values
            return result
        buffer = self._only_buffer(addresses, width)
        if buffer is None:
            rows, lanes = (x.ravel() for x in np.indices(addresses.shape))
            flat = addresses.ravel()
            result = np.zeros((words_of(width), flat.size), np.uint32)
            for buffer, chosen in self._by_buffer(flat, width, waves, rows, lanes):
                offsets = flat[chosen] - buffer.start
                result[:, chosen] = ByteAccess(offsets, width).gather(buffer.data)
            return result.reshape(-1, *addresses.shape)
        offsets = addresses - buffer.start
        return ByteAccess(offsets, width).gather(buffer.data)

    def undefined(
        self, addresses: Offsets, width: int, active: LaneMask | None, waves: WaveIds
    ) -> Undefined | None:
        """Returns the undefined bits of what `load` returns for the same arguments.

        Returns None if there are none.
        """
        if all(buffer.shadow is None for buffer in self._buffers):
            return None
        if active is None:
            active = np.ones(addresses.shape, bool)
        bits = np.zeros((words_of(width), *addresses.shape), np.uint32)
        origins = np.zeros(bits.shape, np.int32)
        rows, lanes = np.nonzero(active)
        flat = addresses[active]
        for buffer, chosen in self._by_buffer(flat, width, waves, rows, lanes):
            if buffer.shadow is None:
                continue
            found = buffer.shadow.load(flat[chosen] - buffer.start, width)
            if found is not None:
                bits[:, rows[chosen], lanes[chosen]] = found.bits
                origins[:, rows[chosen], lanes[chosen]] = found.origins
        return Undefined(bits, origins) if bits.any() else None

    def store(
        self,
        addresses: Offsets,
        words: Words,
        width: int,
        active: LaneMask | None,
        waves: WaveIds,
        undefined: Undefined | None = None,
    ) -> None:
        """Stores words; where addresses are equal the value of the last lane stays.

        `load` documents the other arguments.

        Args:
            words: [words, n, lanes].
            undefined: the undefined bits of `words`; None if all are defined.

        Raises:
            GlobalAccessError: an active lane's bytes do not lie within one buffer, or the buffer
                is read-only.
        """
        if active is None:
            active = np.ones(addresses.shape, bool)
        rows, lanes = np.nonzero(active)
        flat, values = addresses[active], words[:, active]
        missing = None if undefined is None else undefined.at((slice(None), active))
        for buffer, chosen in self._by_buffer(flat, width, waves, rows, lanes):
            _begin_store(buffer)
            offsets = flat[chosen] - buffer.start
            place = ByteAccess(offsets, width)
            with self._watching(place, buffer):
                place.scatter(buffer.data, values[:, chosen])
            if missing is not None:
                part = missing.at((slice(None), chosen))
                self._shadow(buffer).store(offsets, width, part)
            elif buffer.shadow is not None:
                buffer.shadow.store(offsets, width, None)

    def update(
        self,
        op: AtomicOp,
        addresses: Offsets,
        data: list[Words],
        active: LaneMask | None,
        waves: WaveIds,
        undefined: Undefined | None = None,
    ) -> tuple[Words, Undefined | None]:
        """Applies an atomic to the addresses of the lanes, in the order of waves and lanes.

        `load` documents the other arguments.

        Args:
            data: the words of each data operand, [words, n, lanes].
            undefined: their undefined bits, [operands, words, n, lanes]; None if all are defined.

        Returns:
            The words [words, n, lanes] before, zeros in inactive lanes, and their undefined bits.

        Raises:
            GlobalAccessError: an active lane's bytes do not lie within one buffer, are not aligned
                to their number, or the buffer is read-only.
        """
        if active is None:
            active = np.ones(addresses.shape, bool)
        result = np.zeros((op.width // 4, *addresses.shape), np.uint32)
        bits, origins = np.zeros_like(result), np.zeros(result.shape, np.int32)
        rows, lanes = np.nonzero(active)
        flat, values = addresses[active], [words[:, active] for words in data]
        for buffer, chosen in self._by_buffer(flat, op.width, waves, rows, lanes):
            _begin_store(buffer)
            offsets = flat[chosen] - buffer.start
            touched = ByteAccess(offsets, op.width)
            if touched.alignment % op.width:
                raise GlobalAccessError(f"an atomic on {op.width} bytes not aligned to them")
            place = (slice(None), rows[chosen], lanes[chosen])
            operands = [words[:, chosen] for words in values]
            with self._watching(touched, buffer):
                if undefined is None and buffer.shadow is None:
                    result[place] = update(op, buffer.data, offsets, operands)
                    continue
                missing = [undefined and undefined.at((k, *place)) for k in range(len(data))]
                shadow = self._shadow(buffer)
                before = update_undefined(op, buffer.data, shadow, offsets, operands, missing)
            result[place], found = before
            if found is not None:
                bits[place], origins[place] = found.bits, found.origins
        return result, Undefined(bits, origins) if bits.any() else None

    @contextmanager
    def _watching(self, place: ByteAccess, buffer: _Buffer) -> Iterator[None]:
        """Counts what is done inside if it changes one of the bytes, and the memory is watched."""
        before = place.gather(buffer.data) if self.watched else None
        yield
        if before is not None and not np.array_equal(before, place.gather(buffer.data)):
            self.changes += 1

    def _only_buffer(self, addresses: Offsets, width: int) -> _Buffer | None:
        """Returns the buffer that holds all accesses, if one does."""
        if not addresses.size:
            return None
        low, high = int(addresses.min()), int(addresses.max())
        buffer = self._find(low)
        if buffer is None or high + width > buffer.end:
            return None
        return self._looked_into(buffer)

    def _looked_into(self, buffer: _Buffer) -> _Buffer:
        """Returns a buffer whose undefined bits are noted, as they are once it is accessed."""
        if buffer.unknown:
            reason, buffer.unknown = buffer.unknown, ""
            self._forget(buffer.start, buffer.size, reason)
        return buffer

    def _by_buffer(
        self,
        addresses: Offsets,
        width: int,
        waves: WaveIds,
        rows: npt.NDArray[np.intp],
        lanes: npt.NDArray[np.intp],
    ) -> list[tuple[_Buffer, slice | npt.NDArray[np.intp]]]:
        """Returns the buffers that accesses [m] touch, and for each the indices of its accesses.

        `rows` and `lanes` say where the accesses stand among `waves` and their lanes.
        """
        if not addresses.size:
            return []
        buffer = self._only_buffer(addresses, width)
        if buffer is not None:
            return [(buffer, slice(None))]
        starts = np.array(self._starts, np.int64)
        ends = np.array([b.end for b in self._buffers], np.int64)
        number = np.searchsorted(starts, addresses, side="right") - 1
        outside = number < 0
        if len(starts):
            outside |= addresses + width > ends[np.maximum(number, 0)]
        if outside.any():
            first = int(np.flatnonzero(outside)[0])
            if self._takes_padding(int(addresses[first]), width):
                return self._by_buffer(addresses, width, waves, rows, lanes)
            raise GlobalAccessError(
                f"{self._misplaced(int(addresses[first]), width)} "
                f"(wave {int(waves[rows[first]])}, lane {int(lanes[first])})"
            )
        return [
            (self._looked_into(self._buffers[i]), np.flatnonzero(number == i))
            for i in np.unique(number).tolist()
        ]

    def _takes_padding(self, address: int, count: int) -> bool:
        """Makes the padding of read-only data part of them if an access reaches it.

        LLVM loads more than a constant has, such as 4 f16 for its last 3, where the constant's
        alignment has room for them; what comes along is nobody's.

        Returns:
            Whether the access lies within the data and their padding.
        """
        buffer = self._find(address)
        if buffer is None or not buffer.padding or address + count > buffer.end + buffer.padding:
            return False
        end, padding, buffer.padding = buffer.end, buffer.padding, 0
        buffer.size += padding
        self._forget(end, padding, f"the padding behind {buffer.name}")
        return True

    def _find(self, address: int) -> _Buffer | None:
        """Returns the last buffer that begins at an address or before it."""
        index = bisect_right(self._starts, address) - 1
        return self._buffers[index] if index >= 0 else None

    def _holding(self, address: int, count: int) -> _Buffer:
        """Returns the buffer that holds `count` bytes; GlobalAccessError if none does."""
        buffer = self._find(address)
        if buffer is None or address + count > buffer.end:
            raise GlobalAccessError(self._misplaced(address, count))
        return buffer

    def _misplaced(self, address: int, count: int) -> str:
        """Returns the message about bytes that lie within no buffer."""
        near = self._find(address)
        place = "before all buffers"
        if near is not None and near.name:
            place = f"byte {address - near.start} of {near.name}, which has {near.size}"
        elif near is not None:
            place = f"byte {address - near.start} of a buffer of {near.size}"
        elif 0 <= address < _NULL_BYTES and self.nulls:
            place = f"null was passed for {' and '.join(self.nulls)}"
        return f"{count} bytes at address {address:#x} are in no buffer: {place}"


def _aligned(size: int) -> int:
    """Returns bytes, and as many more as the next buffer's alignment needs."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _begin_store(buffer: _Buffer) -> None:
    """Notes that a kernel stores to a buffer; GlobalAccessError if it must not."""
    if buffer.read_only:
        raise GlobalAccessError(f"a store to {buffer.name or 'a read-only buffer'}")
    buffer.written = True


_CHUNK = 1 << 20


def _copy(source: Bytes, target: Bytes) -> None:
    """Copies bytes, and leaves parts of `target` alone that hold the same bytes already.

    A buffer begins as pages of zeros, which take no memory until somebody writes to them. A large
    tensor of zeros, or one of which few workgroups have written their part, thus stays cheap.
    """
    for start in range(0, len(source), _CHUNK):
        part = slice(start, start + _CHUNK)
        if not np.array_equal(source[part], target[part]):
            target[part] = source[part]


def _as_bytes(contents: bytes | npt.NDArray[np.generic]) -> Bytes:
    if isinstance(contents, bytes):
        return np.frombuffer(contents, np.uint8)
    return np.ascontiguousarray(contents).reshape(-1).view(np.uint8)
