# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accesses as the backend joins them.

LLVM joins loads, and stores, of neighbouring elements that one lane makes close to each other into
accesses of up to 16 bytes, also those of a loop's trips, because it unrolls loops over the LDS:

    scf.for %i = 0 to 4 { %v = memref.load %a[4 * thread + %i] }        one ds_read_b128

Counted one by one, these four loads have conflicts that the code does not have; and a swizzle that
parts the four elements may look better than it is. Unrolled, a vector may also be aligned in some
trips only, and be whole there. So there are two readings of such a program. What LLVM does exactly
depends on what it can prove; this is the reading in which it unrolls and joins whatever it may:
accesses of one kind, in one block without barriers or accesses of the other kind between them, to
consecutive elements in all lanes, at an address aligned to their joint size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from iree.compiler import ir

from ...bank_model.accesses import LdsAccess, LdsTile
from ...bank_model.errors import is_power_of_two
from ...bank_model.layouts import MAX_USEFUL_ALIGNMENT
from .lds_accesses import TracedAccess

MOST_UNROLLED = 64
"""LLVM unrolls no loop whole that has more trips, as a rule."""


@dataclass(frozen=True)
class Emitted:
    """The accesses to a tile as the backend emits them, as far as that is known.

    Each says in its `segment` with which others it may be paired.
    """

    accesses: tuple[LdsAccess, ...]
    joined: bool
    """They are others than those of the program."""


def emitted_accesses(tile: LdsTile, accesses: Sequence[TracedAccess]) -> Emitted:
    """What becomes of the accesses of a program.

    `accesses` were traced with loops of up to `MOST_UNROLLED` trips unrolled, and are all that is
    done to the tile.
    """
    segments: dict[tuple[object, ...], list[LdsAccess]] = {}
    numbers: dict[tuple[object, ...], int] = {}
    places = _places(accesses)
    for each in accesses:
        place = places[each.operation]
        trip = 0 if place.spans_trips else each.trip
        number = numbers.setdefault((place.block, place.segment, trip), len(numbers))
        access = replace(each.access, segment=number)
        mask = None if access.active is None else access.active.tobytes()
        key = (place.block, place.segment, trip, access.weight)
        # What only one instruction can do is joined with nothing.
        alone = id(access) if access.instruction else None
        segments.setdefault((*key, access.elements.shape, mask, alone), []).append(access)
    found: list[LdsAccess] = []
    for segment in segments.values():
        for chain in _chains(segment):
            found += _chunks(tile, chain)
    # Unrolled, a vector may be aligned in some trips.
    apart = any(each.trip and each.access.count > 1 for each in accesses)
    return Emitted(tuple(found), apart or len(found) < len(accesses))


@dataclass(frozen=True)
class _Place:
    """Where an operation is: among which others LLVM may move it."""

    block: int
    """Number of the block."""
    segment: int
    """Number of the part of the block; barriers and the like are between the parts."""
    spans_trips: bool
    """It is a loop's body of one part, so that the next trip goes on where this one ends."""


def _places(accesses: Iterable[TracedAccess]) -> dict[ir.Operation, _Place]:
    kinds = {each.operation: each.access.kind for each in accesses}
    found: dict[ir.Operation, _Place] = {}
    seen: list[ir.Block] = []
    for block in (operation.block for operation in kinds):
        if block in seen:
            continue
        seen.append(block)
        segment, last = 0, None
        members: list[tuple[ir.Operation, int]] = []
        for operation in block.operations:
            kind = kinds.get(operation.operation)
            if _keeps_order(operation.operation) or (last is not None and kind not in (None, last)):
                segment += 1
                last = None
            if kind is not None:
                last = kind
                members.append((operation.operation, segment))
        number = len(seen)
        # What stands under a condition is in a block of its own in each trip.
        spans_trips = segment == 0 and block.owner.name == "scf.for"
        found.update((operation, _Place(number, part, spans_trips)) for operation, part in members)
    return found


def _keeps_order(operation: ir.Operation) -> bool:
    """Whether LDS accesses stay on their side of the operation."""
    return len(operation.regions) > 0 or "barrier" in operation.name or "call" in operation.name


def _chains(accesses: Sequence[LdsAccess]) -> Iterator[list[LdsAccess]]:
    """Each access once, in chains of which each begins where the one before ends in all lanes.

    Accesses to the same elements are in different chains: several buffers that share a layout are
    often filled right after each other.
    """
    beginnings: list[dict[bytes, LdsAccess]] = []
    for access in accesses:
        start = access.elements.tobytes()
        beginning = next((each for each in beginnings if start not in each), None)
        if beginning is None:
            beginning = {}
            beginnings.append(beginning)
        beginning[start] = access
    for beginning in beginnings:
        following = {
            id(access): beginning.get((access.elements + access.count).tobytes())
            for access in beginning.values()
        }
        preceded = {id(access) for access in following.values() if access is not None}
        for access in beginning.values():
            if id(access) in preceded:
                continue
            chain: list[LdsAccess] = []
            link: LdsAccess | None = access
            while link is not None:
                chain.append(link)
                link = following[id(link)]
            yield chain


def _chunks(tile: LdsTile, chain: Sequence[LdsAccess]) -> Iterator[LdsAccess]:
    """The chain in accesses of up to 16 bytes, each aligned to its size."""
    first = 0
    while first < len(chain):
        start = chain[first].elements * tile.element_bits // 8
        best, count = first + 1, 0
        for last in range(first, len(chain)):
            count += chain[last].count
            size = count * tile.element_bits // 8
            if size > MAX_USEFUL_ALIGNMENT:
                break
            if is_power_of_two(size) and not (start % size).any():
                best = last + 1
        joint = sum(access.count for access in chain[first:best])
        yield replace(chain[first], count=joint)
        first = best
