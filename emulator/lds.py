# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The LDS of all workgroups of a machine: its bytes, their undefined bits, and races.

Two waves of a workgroup *race* if both touch a byte between two barriers, and one of them writes
the byte, or one updates it with an atomic while the other reads it. Accesses are noted as they
happen. They are checked when their workgroup comes to its next barrier.

The check looks at *granules*, blocks of 1, 2 or 4 bytes. It finds for each granule the lowest and
the highest wave that touched it, and the kinds of all accesses to it. There is a race where the two
waves differ and the kinds may not meet. Granules are as large as they can be while every store and
atomic since the barriers touches whole granules. Whoever touches any byte of a granule then meets
everyone who writes or updates it, so the check is exact.

Worked example: wave 0 stores bytes 4 and 5, and wave 1 loads byte 6. The store makes granules of 2
bytes. It touches granule 2, the load touches granule 3, and there is no race. If wave 1 loads byte
5 instead, granule 2 has the waves 0 and 1 and the kinds WRITES and READS, which is a race.

Some compilers let several waves store the same value to a byte by one instruction, where a tile has
fewer elements than the workgroup has lanes. Where that shall be no race (`equal_stores_race`), such
an access counts for the lowest wave alone.

A wave may signal a barrier and wait for it later (`barriers.py`). What it accesses between the two
is ordered with nothing that other waves do up to their next signal, so it counts before the barrier
and behind it.

Loops touch the same bytes again and again. The `IssuedAccess` of an instruction is therefore made
once for equal addresses, and a set of accesses between two barriers that had no race is not checked
again.

A kernel whose waves wait for each other by words of the LDS needs another check, which knows what
happened before what (`lds_order.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntFlag

import numpy as np
import numpy.typing as npt

from .atomics import AtomicOp, update, update_undefined
from .byte_access import PADDING, ByteAccess, Offsets, Words
from .direct_loads import DirectLoads
from .emulation_errors import LdsAddressError, LdsRaceError
from .issued_access import WORD, Indices, IssuedAccess, LaneMask, Touched, WaveIds
from .lds_order import LdsOrder
from .undefined import NEVER_WRITTEN, Origins, Undefined, UndefinedBytes

_REMEMBERED_PATTERNS = 16
_WAVE_BITS = 16


class _Kind(IntFlag):
    """What an access does to the bytes that it touches."""

    READS = 1
    WRITES = 2
    UPDATES = 4
    ALIKE = 8
    """Together with WRITES: whoever stores to a byte stores the same value."""
    OPEN = 16
    """A wave has signalled a barrier before, and not waited for it yet."""


_RACING = np.array(
    [bool(k & _Kind.WRITES or (k & _Kind.READS and k & _Kind.UPDATES)) for k in range(32)]
)
"""Whether accesses of two waves race, by the union of their kinds."""


@dataclass(eq=False)
class _Patterns:
    """The accesses that one instruction has made so far.

    A key holds the bytes of the waves, of the base addresses and of the active lanes.

    Attributes:
        last_key: the key of the access that was made last.
        last: the access that was made last.
        waves: the array of waves of that access; the same array needs no comparison.
        known: the accesses by their keys.
    """

    last_key: tuple[bytes, bytes, bytes] | None = None
    last: IssuedAccess | None = None
    waves: WaveIds | None = None
    known: dict[tuple[bytes, bytes, bytes], IssuedAccess] | None = None


class LdsState:
    """The LDS of the workgroups of one machine.

    Args:
        size: the bytes of LDS that each workgroup has.
        waves_per_workgroup: wave w belongs to workgroup `w // waves_per_workgroup`.
        origins: the origins of the undefined values of the machine.
        equal_stores_race: whether waves race that store the same value by one instruction.

    Attributes:
        stride: the distance in bytes between the LDS of two workgroups in `bytes`.
        bytes: the LDS of all workgroups, one after the other.
        shadow: the undefined bits of `bytes`; at first all are undefined.
        direct_loads: the loads from memory to the LDS that are under way, if the kernel has such
            loads.
        signalled: [waves], the waves that have signalled a barrier and not passed it yet.
        wait_text: the instruction that waits for all accesses to the LDS, for messages.
        order: what happened before what, if the kernel polls words of the LDS; see `lds_order.py`.
    """

    def __init__(
        self,
        workgroups: int,
        size: int,
        waves_per_workgroup: int = 1,
        origins: Origins | None = None,
        equal_stores_race: bool = True,
    ) -> None:
        self.size = size
        self.equal_stores_race = equal_stores_race
        self.waves_per_workgroup = waves_per_workgroup
        self.stride = -(-size // PADDING) * PADDING
        self.bytes = np.zeros(workgroups * self.stride, np.uint8)
        self.shadow = UndefinedBytes(np.full(workgroups * self.stride, 0xFF, np.uint8))
        self._undefined_stores = 0
        self._origins = origins or Origins()
        self._patterns: dict[int, _Patterns] = {}
        self._made = 0
        self._generation = 0
        # The generation counts barriers. A note of it is of interest to a workgroup that has come
        # to no barrier since.
        self._since = np.zeros(workgroups, np.int64)
        self._noted: dict[tuple[int, int, _Kind], IssuedAccess] = {}
        # Instructions whose accesses before the last barrier may be under way behind it.
        self._unfinished: frozenset[int] = frozenset()
        # Instructions that accessed the LDS between the signal and the wait of the last barrier.
        self._between: frozenset[int] = frozenset()
        self.signalled = np.zeros(workgroups * waves_per_workgroup, bool)
        self._any_signalled = False
        self.wait_text = "s_waitcnt lgkmcnt(0)"
        self._harmless: set[frozenset[tuple[int, int, _Kind]]] = set()
        self.direct_loads: DirectLoads | None = None
        self.order: LdsOrder | None = None

    # -- addresses -------------------------------------------------------------------------------

    def access(
        self,
        instruction: int,
        waves: WaveIds,
        base: Words,
        offsets: tuple[int, ...],
        width: int,
        active: LaneMask | None,
        *,
        loads: bool = False,
    ) -> IssuedAccess:
        """Returns the access to `width` bytes from `base + offset` of each lane on.

        It has a part for each of `offsets`.

        Args:
            instruction: the index of the instruction, which always has the same offsets and width.
            waves: [n], the waves that execute it.
            base: [n, lanes], byte addresses as u32.
            active: [n, lanes], the lanes that take part; None if all do.
            loads: whether it only loads. A load that begins in the LDS that the kernel asks for may
                go on up to the next multiple of 16, where nothing is defined: what a workgroup gets
                comes in pieces of 256 bytes or more (LLVM's AMDGPUUsage, GRANULATED_LDS_SIZE), and
                LLVM loads 16 bytes where 10 are asked for at a multiple of 16.

        Raises:
            LdsAddressError: a lane's bytes do not lie within the LDS of its workgroup.
        """
        patterns = self._patterns.get(instruction)
        if patterns is None:
            patterns = self._patterns[instruction] = _Patterns()
        waves_key = b"" if waves is patterns.waves else waves.tobytes()
        if not waves_key and patterns.last_key is not None:
            waves_key = patterns.last_key[0]
        key = (waves_key, base.tobytes(), b"" if active is None else active.tobytes())
        if patterns.last is not None and key == patterns.last_key:
            return patterns.last
        if patterns.known is None or len(patterns.known) >= _REMEMBERED_PATTERNS:
            patterns.known = {}
        found = patterns.known.get(key)
        if found is None:
            found = self._resolve(instruction, waves, base, offsets, width, active, loads)
            patterns.known[key] = found
        patterns.last, patterns.last_key, patterns.waves = found, key, waves
        return found

    def _resolve(
        self,
        instruction: int,
        waves: WaveIds,
        base: Words,
        offsets: tuple[int, ...],
        width: int,
        active: LaneMask | None,
        loads: bool = False,
    ) -> IssuedAccess:
        # The sum wraps around in 32 bits.
        local = (base[None] + np.array(offsets, np.uint32)[:, None, None]).astype(np.int64)
        outside = local + width > (self.stride if loads else self.size)
        outside |= local >= self.size
        if active is not None:
            outside &= active
        if outside.any():
            part, row, lane = np.argwhere(outside)[0].tolist()
            raise LdsAddressError(
                f"{width} bytes at LDS address {int(local[part, row, lane])} "
                f"(wave {int(waves[row])}, lane {lane}): the workgroup has {self.size} bytes of LDS"
            )
        all_offsets = local + self._starts(waves)
        if active is not None:
            active = active.copy()
            all_offsets = all_offsets[:, active]
        self._made += 1
        place = ByteAccess(all_offsets, width)
        found = IssuedAccess(
            *(self._made, instruction, waves, local, active, width, all_offsets, place, {})
        )
        if _is_repeated(waves, local, active, self.waves_per_workgroup):
            found.workgroups = len(waves) // self.waves_per_workgroup
        return found

    def _starts(self, waves: WaveIds) -> Offsets:
        """Returns the places [n, 1] in `bytes` where the LDS of each wave's workgroup begins."""
        return (waves.astype(np.int64) // self.waves_per_workgroup * self.stride)[:, None]

    # -- accesses that are repeated (`compiled/sites.py`) -----------------------------------------

    @property
    def version(self) -> tuple[int, bool]:
        """Returns what changes where an access that could be repeated no longer can."""
        return self._undefined_stores, self._any_signalled

    @property
    def epoch(self) -> tuple[object, int]:
        """Returns what changes where accesses are to be noted anew."""
        return self._noted, self._generation

    def pass_harmless(self) -> None:
        """Does what `pass_barrier` does for all workgroups where nothing is noted.

        The accesses since the last barrier are known not to race, and no one is under way.
        """
        self._between = self._unfinished = frozenset()

    def last_access(self, instruction: int) -> IssuedAccess | None:
        """Returns the access that an instruction has made last."""
        patterns = self._patterns.get(instruction)
        return None if patterns is None else patterns.last

    def repeats(self, access: IssuedAccess) -> bool:
        """Returns whether an access that has been made is all defined, and noted as it was."""
        if self.order is not None or self.direct_loads is not None or self._any_signalled:
            return False
        return access.defined_at == self._undefined_stores

    def stores_alone(self, access: IssuedAccess) -> bool:
        """Returns whether what waves store needs no look at the values to be noted."""
        if self.equal_stores_race or self.waves_per_workgroup == 1:
            return True
        touched = self._touched(access, access.granule)
        return not (touched.highest > touched.lowest).any()

    def note_again(self, access: IssuedAccess, *, stores: bool) -> None:
        """Notes a load or a store that was repeated."""
        self._note(access, _Kind.WRITES if stores else _Kind.READS)

    # -- data ------------------------------------------------------------------------------------

    def load(
        self, access: IssuedAccess, never_written: Callable[[str], str]
    ) -> tuple[Words, Undefined | None]:
        """Returns the words that the lanes read, and their undefined bits if there are any.

        The words are [words, parts, n, lanes], or [words, parts, m] where only m lanes take part.

        Args:
            never_written: makes the text of an origin from the name of a byte to which nothing was
                written.

        Raises:
            MissingWaitError: a direct load may yet have to write one of the bytes.
        """
        self._check_landed(access, "is read")
        undefined = self._undefined(access, never_written)
        # Where nothing that is read is defined, a write of another wave would change nothing.
        if undefined is None or not self._all_undefined(access):
            self._note(access, _Kind.READS)
        return access.place.gather(self.bytes), undefined

    def store(self, access: IssuedAccess, words: Words, undefined: Undefined | None = None) -> None:
        """Stores words of the shape that `load` returns; of equal addresses the last one stays.

        Args:
            undefined: the undefined bits of `words`; None if there are none.

        Raises:
            MissingWaitError: a direct load may yet have to write one of the bytes.
        """
        self._check_landed(access, "is written")
        self._store(access, words, undefined)

    def store_directly(
        self, access: IssuedAccess, words: Words, undefined: Undefined | None = None
    ) -> None:
        """Stores words that a load brings, which are there for certain after a wait of its wave.

        The arguments are those of `store`.
        """
        self._store(access, words, undefined)
        if self.direct_loads is not None:
            self.direct_loads.begin(access, self._touched(access, WORD).granules)

    def settle(self, waves: WaveIds, count: int) -> None:
        """Ends the direct loads that are done after `waves` have waited for vmcnt(`count`).

        From then on they are stores like any other.
        """
        if self.direct_loads is None:
            return
        for load, done in self.direct_loads.settle(waves, count):
            if done.all():
                self._note(load.access, _Kind.WRITES)
                continue
            self._note(self._part(load.access, done), _Kind.WRITES)
            rest = self._part(load.access, ~done)
            words = self._touched(rest, WORD).granules
            self.direct_loads.begin(rest, words, load.numbers[~done])

    def _part(self, access: IssuedAccess, rows: npt.NDArray[np.bool_]) -> IssuedAccess:
        """Returns the part of an access, which has one part, that the waves `rows` [n] make."""
        (base,) = access.addresses[:, rows].astype(np.uint32)
        active = None if access.active is None else access.active[rows]
        waves = access.waves[rows]
        return self._resolve(access.instruction, waves, base, (0,), access.width, active)

    def _check_landed(self, access: IssuedAccess, what: str) -> None:
        """Refuses an access to bytes that a direct load may yet have to write.

        Args:
            what: says what happens to a byte, such as "is read".
        """
        if self.direct_loads is not None:
            self.direct_loads.check(self._touched(access, WORD).granules, what)

    def _store(self, access: IssuedAccess, words: Words, undefined: Undefined | None) -> None:
        access.place.scatter(self.bytes, words)
        self._note(access, self._kind_of_store(access, words, undefined))
        if undefined is not None:
            self._undefined_stores += 1
            self.shadow.store(access.offsets, access.width, undefined)
        elif access.defined_at != self._undefined_stores:
            self.shadow.store(access.offsets, access.width, None)
            access.defined_at = self._undefined_stores

    def _kind_of_store(
        self, access: IssuedAccess, words: Words, undefined: Undefined | None
    ) -> _Kind:
        """Returns what a store, which has been done, counts as."""
        if self.equal_stores_race or undefined is not None or self.waves_per_workgroup == 1:
            return _Kind.WRITES
        touched = self._touched(access, access.granule)
        if not (touched.highest > touched.lowest).any():
            return _Kind.WRITES
        kept = access.place.gather(self.bytes)
        bits = np.uint32((1 << 8 * min(access.width, WORD)) - 1)
        alike = bool((kept == words.reshape(kept.shape) & bits).all())
        return _Kind.WRITES | _Kind.ALIKE if alike else _Kind.WRITES

    def begin_update(self, access: IssuedAccess, compares: bool) -> None:
        """Notes an atomic, which races with plain reads and writes but not with other atomics.

        Args:
            compares: whether it is a compare-and-swap.

        Raises:
            MissingWaitError: a direct load may yet have to write one of the bytes.
        """
        self._check_landed(access, "is updated")
        self._note(access, _Kind.UPDATES, compares)

    def update(
        self,
        op: AtomicOp,
        access: IssuedAccess,
        data: list[Words],
        undefined: list[Undefined | None],
        never_written: Callable[[str], str],
    ) -> tuple[Words, Undefined | None]:
        """Notes and applies an atomic.

        Args:
            data: the words of each data operand, [words, m] for the m lanes that take part.
            undefined: the undefined bits of each data operand; None where there are none.
            never_written: see `load`.

        Returns:
            The words that were there before, [words, m], and their undefined bits.

        Raises:
            MissingWaitError: a direct load may yet have to write one of the bytes.
        """
        self.begin_update(access, op.compares)
        offsets = access.offsets.ravel()
        if self._undefined(access, never_written) is None and not any(undefined):
            return update(op, self.bytes, offsets, data), None
        self._undefined_stores += 1
        return update_undefined(op, self.bytes, self.shadow, offsets, data, undefined)

    def _undefined(
        self, access: IssuedAccess, never_written: Callable[[str], str]
    ) -> Undefined | None:
        """Returns the undefined bits of the bytes of an access; None if all are defined.

        That all are defined is remembered in the access. A byte to which nothing was written gets
        its first read as its origin.
        """
        if access.defined_at == self._undefined_stores:
            return None
        found = self.shadow.load(access.offsets, access.width)
        if found is None:
            access.defined_at = self._undefined_stores
            return None
        new = (found.bits != 0) & (found.origins == NEVER_WRITTEN)
        if new.any():
            word, part, *place = np.argwhere(new)[0].tolist()
            row, lane = place if len(place) == 2 else _active_lane(access, place[0])
            bits = int(found.bits[new][0])
            byte = int(access.addresses[part, row, lane]) + 4 * word
            byte += ((bits & -bits).bit_length() - 1) // 8
            name = f"LDS byte {byte} (wave {int(access.waves[row])}, lane {lane})"
            number = np.int32(self._origins.number(never_written(name)))
            found = Undefined(found.bits, np.where(new, number, found.origins))
            self._name_origins(access, number)
        return found

    def _all_undefined(self, access: IssuedAccess) -> bool:
        """Returns whether no bit that the access touches is defined."""
        return bool(
            (self.shadow.bits[access.offsets[..., None] + np.arange(access.width)] == 0xFF).all()
        )

    def _name_origins(self, access: IssuedAccess, number: np.int32) -> None:
        """Gives the bytes of an access to which nothing was written the origin `number`."""
        places = access.offsets[..., None] + np.arange(access.width)
        origins = self.shadow.origins[places]
        self.shadow.origins[places] = np.where(origins == NEVER_WRITTEN, number, origins)

    # -- races -----------------------------------------------------------------------------------

    def signal(self, waves: WaveIds) -> None:
        """Notes that waves have signalled a barrier for which they will wait later."""
        self.signalled[waves] = True
        self._any_signalled = True

    def pass_barrier(
        self, complete: npt.NDArray[np.bool_], unfinished: frozenset[int] = frozenset()
    ) -> None:
        """Checks and forgets the accesses that were made before a barrier.

        Args:
            complete: [workgroups], the workgroups whose waves have all come to the barrier.
            unfinished: the indices of instructions whose accesses may still be under way behind the
                barrier, because no wait ends them. They race with accesses behind it too.

        Raises:
            LdsRaceError: two waves raced before the barrier.
        """
        self.check_races(complete)
        carried = [
            (access, kind & ~_Kind.OPEN)
            for (*_, kind), access in self._noted.items()
            if access.instruction in unfinished or kind & _Kind.OPEN
        ]
        self._between = frozenset(
            access.instruction for (*_, kind), access in self._noted.items() if kind & _Kind.OPEN
        )
        self.signalled[np.repeat(complete, self.waves_per_workgroup)] = False
        self._any_signalled = bool(self.signalled.any())
        if self.order is not None:
            self.order.pass_barrier(complete)
        self._generation += 1
        self._since[complete] = self._generation
        if complete.all():
            self._noted = {}
            self._generation = 0
            self._since[:] = 0
        self._unfinished = unfinished
        if self.order is not None:
            self.order.checks = False
        for access, kind in carried:
            self._note(access, kind)
        if self.order is not None:
            self.order.checks = True

    def check_races(self, complete: npt.NDArray[np.bool_] | None = None) -> None:
        """Checks all accesses since the last barrier of each workgroup.

        Args:
            complete: [workgroups], the workgroups whose waves have all come to a barrier or to
                their end; None for all.

        Raises:
            LdsRaceError: two waves raced.
        """
        if self.order is not None:
            self.order.end_guesses(
                np.ones(len(self._since), bool) if complete is None else complete
            )
            self._check_order(self.order)
            return
        together = frozenset(self._noted)
        simple = not self._since.any()
        if self.waves_per_workgroup == 1 or (simple and together in self._harmless):
            return
        changed = [
            access.granule
            for (*_, kind), access in self._noted.items()
            if kind & ~_Kind.OPEN != _Kind.READS
        ]
        granule = min(changed, default=WORD)
        if len(self._raced_in_first(granule) if self._are_alike() else self._raced(granule)):
            raise self._race(int(self._raced(1)[0]))
        if simple:
            self._harmless.add(together)

    def _note(self, access: IssuedAccess, kind: _Kind, compares: bool = False) -> None:
        if self._any_signalled and self.signalled[access.waves].any():
            kind |= _Kind.OPEN
        self._noted[access.serial, self._generation, kind] = access
        if self.order is None:
            return
        if kind & _Kind.WRITES:
            self.order.store(access, bool(kind & _Kind.ALIKE))
        elif kind & _Kind.UPDATES:
            self.order.update(access, compares)
        else:
            self.order.load(access)

    def poll_by(self, instructions: frozenset[int], swaps: bool = False) -> None:
        """Looks for races by what happened before what, as some instructions poll.

        Args:
            swaps: whether there are compare-and-swaps.
        """
        waves = len(self._since) * self.waves_per_workgroup
        if (instructions or swaps) and self.waves_per_workgroup > 1:
            self.order = LdsOrder(len(self.bytes), waves, self.waves_per_workgroup, instructions)

    def _check_order(self, order: LdsOrder) -> None:
        found = order.found
        if found is not None:
            raise self._race_error(*found)

    def _are_alike(self) -> bool:
        """Returns whether all workgroups have made the same accesses."""
        every = len(self._since)
        return not self._since.any() and all(
            access.workgroups == every for access in self._noted.values()
        )

    def _raced_in_first(self, granule: int) -> Indices:
        """Returns what `_raced` does, for the first workgroup."""
        per = self.waves_per_workgroup
        lowest, highest, kinds = self._no_touches(self.stride // granule)
        for (*_, kind), access in self._noted.items():
            touched = access.touched.get(-granule)
            if touched is None:
                active = None if access.active is None else access.active[:per]
                place = access.waves[:per], access.addresses[:, :per], active
                touched = self._find_touched(*place, access.width, granule)
                access.touched[-granule] = touched
            at, low, high = touched.granules, touched.lowest, touched.highest
            if kind & _Kind.ALIKE:
                high = low
            lowest[at] = np.minimum(lowest[at], low)
            highest[at] = np.maximum(highest[at], high)
            kinds[at] |= int(kind)
        return np.flatnonzero((highest > lowest) & _RACING[kinds])

    @staticmethod
    def _no_touches(count: int) -> tuple[npt.NDArray[np.int32], ...]:
        """Returns the lowest and the highest wave and the kinds of granules nobody touched."""
        lowest = np.full(count, 1 << _WAVE_BITS, np.int32)
        return lowest, np.full(count, -1, np.int32), np.zeros(count, np.int32)

    def _raced(self, granule: int) -> Indices:
        """Returns the granules of `granule` bytes on which two waves raced, in ascending order."""
        lowest, highest, kinds = self._no_touches(len(self.bytes) // granule)
        simple = not self._since.any()
        for (_, generation, kind), access in self._noted.items():
            touched = self._touched(access, granule)
            at, low, high = touched.granules, touched.lowest, touched.highest
            if kind & _Kind.ALIKE:
                high = low
            if not simple:
                current = self._is_current(at * granule, generation)
                at, low, high = at[current], low[current], high[current]
            lowest[at] = np.minimum(lowest[at], low)
            highest[at] = np.maximum(highest[at], high)
            kinds[at] |= int(kind)
        return np.flatnonzero((highest > lowest) & _RACING[kinds])

    def _is_current(self, offsets: Offsets, generation: int) -> npt.NDArray[np.bool_]:
        """Returns for each place in `bytes` whether an access of `generation` to it still counts.

        It counts no longer once the workgroup of the place has come to a barrier.
        """
        return self._since[offsets // self.stride] <= generation

    def _touched(self, access: IssuedAccess, granule: int) -> Touched:
        """Returns the granules of `granule` bytes that an access touches."""
        found = access.touched.get(granule)
        if found is None:
            found = access.touched[granule] = self._find_touched(
                access.waves, access.addresses, access.active, access.width, granule
            )
        return found

    def _find_touched(
        self,
        waves: WaveIds,
        local: Offsets,
        active: LaneMask | None,
        width: int,
        granule: int,
    ) -> Touched:
        """Finds the granules of `granule` bytes that an access touches.

        Workgroups mostly touch the same bytes of their LDS. The granules of the first one are then
        found, and moved to the places of the others.

        Args:
            local: [parts, n, lanes], the addresses within the LDS of a workgroup.
        """
        per = self.waves_per_workgroup
        count = len(waves) // per
        if count > 1 and _is_repeated(waves, local, active, per):
            first = self._find_touched(
                waves[:per],
                local[:, :per],
                None if active is None else active[:per],
                width,
                granule,
            )
            moves = np.arange(count)[:, None]
            return Touched(
                (first.granules + moves * (self.stride // granule)).ravel(),
                (first.lowest + moves * per).ravel(),
                (first.highest + moves * per).ravel(),
            )
        offsets = local + self._starts(waves)
        owners = np.broadcast_to(waves[:, None], local.shape)
        if active is not None:
            offsets, owners = offsets[:, active], owners[:, active]
        if not offsets.size:
            nothing = np.zeros(0, np.int64)
            return Touched(nothing, nothing, nothing)
        owner = owners.ravel()[:, None].astype(np.int64)
        pairs = np.unique(_granules(offsets.ravel(), width, granule) << _WAVE_BITS | owner)
        granules, waves = pairs >> _WAVE_BITS, pairs & (1 << _WAVE_BITS) - 1
        changes = np.flatnonzero(granules[1:] != granules[:-1])
        first_of = np.concatenate([[0], changes + 1])
        last_of = np.concatenate([changes, [len(granules) - 1]])
        return Touched(granules[first_of], waves[first_of], waves[last_of])

    def _touches(self, byte: int) -> Iterator[tuple[_Kind, int, int]]:
        """Yields the kind, wave and instruction of each access to a byte, in their order."""
        for (_, generation, kind), access in self._noted.items():
            if not self._is_current(np.array([byte]), generation)[0]:
                continue
            touched = (access.offsets <= byte) & (byte < access.offsets + access.width)
            waves = np.unique(access.owners[touched]).tolist()
            for wave in waves[:1] if kind & _Kind.ALIKE else waves:
                yield kind, wave, access.instruction

    def _race(self, byte: int) -> LdsRaceError:
        """Returns the error that names the first access to `byte` that raced, and its opponent."""
        before: list[tuple[_Kind, int, int]] = []
        for kind, wave, instruction in self._touches(byte):
            for other_kind, other_wave, other_instruction in before:
                if wave != other_wave and _RACING[kind | other_kind]:
                    verbs = _verb(kind), _verb(other_kind)
                    return self._race_error(
                        *(byte, wave, verbs[0], instruction),
                        *(other_wave, verbs[1], other_instruction),
                    )
            before.append((kind, wave, instruction))
        raise AssertionError("a race without two accesses")

    def _race_error(
        self,
        byte: int,
        wave: int,
        verb: str,
        instruction: int,
        other: int,
        other_verb: str,
        other_instruction: int,
    ) -> LdsRaceError:
        """Returns the error of two accesses to a byte, each with its wave, verb and instruction."""
        return LdsRaceError(
            f"race on LDS byte {byte % self.stride} of workgroup "
            f"{byte // self.stride}: wave {wave} {verb} it",
            instruction,
            f"wave {other} {other_verb} it{self._why(other_instruction)}",
            other_instruction,
        )

    def _why(self, instruction: int) -> str:
        """Says why an access is still under way behind a barrier; empty if it is not."""
        if instruction in self._unfinished:
            return f" and passes a barrier without '{self.wait_text}'"
        between = instruction in self._between
        return " between the signal and the wait of a barrier" if between else ""


def _granules(offsets: Offsets, width: int, granule: int) -> Indices:
    """Returns the granules [m, k] that accesses from `offsets` [m] on touch.

    An access that touches fewer than k granules repeats its last one. Worked example: with a width
    of 4 and granules of 2 bytes, an access at byte 3 touches the granules 1, 2 and 3, and one at
    byte 4 the granules 2 and 3, as 2, 3 and 3.
    """
    first, last = offsets // granule, (offsets + (width - 1)) // granule
    span = int((last - first).max()) + 1
    return np.minimum(first[:, None] + np.arange(span), last[:, None])


def _is_repeated(
    waves: WaveIds, local: Offsets, active: LaneMask | None, per_workgroup: int
) -> bool:
    """Returns whether the waves make up whole neighbouring workgroups that touch the same bytes."""
    if len(waves) % per_workgroup or waves[0] % per_workgroup:
        return False
    if int(waves[-1]) - int(waves[0]) != len(waves) - 1:
        return False
    groups = local.reshape(len(local), -1, per_workgroup, local.shape[-1])
    if not (groups == groups[:, :1]).all():
        return False
    masks = None if active is None else active.reshape(-1, per_workgroup, active.shape[-1])
    return masks is None or bool((masks == masks[:1]).all())


def _verb(kind: _Kind) -> str:
    """Returns what an access does, as a verb: "reads"."""
    return ((kind & ~(_Kind.ALIKE | _Kind.OPEN)).name or "").lower()


def _active_lane(access: IssuedAccess, number: int) -> tuple[int, int]:
    """Returns the row and the lane of the active lane with this number among the active lanes."""
    assert access.active is not None
    row, lane = np.argwhere(access.active)[number].tolist()
    return row, lane
