# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cost of an access from the definition: lane by lane and word by word, in plain Python.

The proof checker counts with this, and the tests hold the fast counts against it. It shares nothing
with them but the tables of the hardware and the formulas of the layouts.

Worked example: the lanes 0 and 1 of a phase read 4 bytes each at the byte addresses 0 and 128.
These are the words 0 and 32, and with 32 banks both lie on bank 0: the phase takes 2 cycles, and
one of them is a conflict. At the addresses 0 and 2 both lanes want word 0: 1 cycle, no conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import gcd

import numpy as np

from .accesses import CopySources, LdsAccess, LdsTile
from .errors import ProofError
from .layouts import MAX_USEFUL_ALIGNMENT, AccessCost, Layout, PaddedLayout, PlainLayout
from .lds_rules import AccessKind, Lds, LdsInstruction, Sharing
from .quick_tuple import NamedTuple


class _Lane(NamedTuple):
    """A lane that takes part in an issue, and the first logical element that it accesses."""

    issue: int
    lane: int
    start: int


def count_slowly(lds: Lds, tile: LdsTile, layout: Layout, access: LdsAccess) -> AccessCost:
    """Returns the cost of one access; raises ProofError where the layout cannot serve it."""
    lanes = [
        _Lane(issue, lane, int(start))
        for issue, row in enumerate(access.elements)
        for lane, start in enumerate(row)
        if access.active is None or access.active[issue, lane]
    ]
    if not lanes:
        return AccessCost(0, 0, 0)
    starts = [each.start for each in lanes]
    runs = _runs(layout.group_elements(tile), access.count, starts)
    if _only_reorders(tile, layout, starts, access.count, runs):
        steps = np.arange(access.count)
        lowest = {start: int(layout.offsets(tile, start + steps).min()) for start in starts}
        moved = np.vectorize(lambda start: lowest.get(start, 0))(access.elements)
        return count_slowly(lds, tile, PlainLayout(), replace(access, elements=moved))
    if access.copied is not None and len(runs) == 1:
        addresses = _addresses(tile, layout, lanes, 0, access.count)
        return _copy_cost(lds, access, access.copied, addresses)
    total = AccessCost(0, 0, 0)
    for first, count in runs:
        addresses = _addresses(tile, layout, lanes, first, count)
        cost = _run_cost(lds, access.kind, count * tile.element_bits // 8, addresses)
        total = AccessCost(*(a + b for a, b in zip(_numbers(total), _numbers(cost), strict=True)))
    return total


def _numbers(cost: AccessCost) -> tuple[int, int, int]:
    return cost.conflict_cycles, cost.wavefronts, cost.instructions


def _runs(group: int, count: int, starts: Sequence[int]) -> list[tuple[int, int]]:
    """Returns the runs (first, count) of an access: one ends where some lane ends a group."""
    runs: list[tuple[int, int]] = []
    first = 0
    for k in range(1, count + 1):
        if k == count or any((start + k) % group == 0 for start in starts):
            runs.append((first, k - first))
            first = k
    return runs


def _only_reorders(
    tile: LdsTile, layout: Layout, starts: list[int], count: int, runs: list[tuple[int, int]]
) -> bool:
    """Returns whether a swizzle reorders the elements of an access in its block, alike for all."""
    if isinstance(layout, PlainLayout | PaddedLayout):
        return False
    if len(runs) < 2 or len({n for _, n in runs}) > 1:
        return False
    firsts = np.array(starts)[:, None]
    if not firsts.size or (firsts % layout.group_elements(tile)).any():
        return False
    places = layout.offsets(tile, firsts + np.arange(count))
    bases = places.min(axis=1, keepdims=True)
    orders = {tuple(order) for order in (places - bases).tolist()}
    if (bases % count).any() or len(orders) != 1:
        return False
    return sorted(orders.pop()) == list(range(count))


def _addresses(
    tile: LdsTile, layout: Layout, lanes: Iterable[_Lane], first: int, count: int
) -> dict[tuple[int, int], int]:
    """Returns the byte address of a run for each (issue, lane)."""
    steps = np.arange(first, first + count)
    addresses: dict[tuple[int, int], int] = {}
    each = list(lanes)
    if not each:
        return addresses
    starts = np.array([start for _, _, start in each])[:, None]
    lying = layout.offsets(tile, starts + steps).tolist()
    for (issue, lane, start), places in zip(each, lying, strict=True):
        if places != list(range(places[0], places[0] + count)):
            raise ProofError(
                f"layout: the {count} elements from element {start + first} on, which one "
                "instruction accesses, do not lie next to each other"
            )
        bits = places[0] * tile.element_bits
        if bits % 8 or count * tile.element_bits % 8:
            raise ProofError(f"layout: element {start + first} starts inside a byte")
        addresses[issue, lane] = bits // 8
    return addresses


def _run_cost(
    lds: Lds, kind: AccessKind, width: int, addresses: dict[tuple[int, int], int]
) -> AccessCost:
    """Returns the cost of a run of `width` bytes."""
    common = gcd(MAX_USEFUL_ALIGNMENT, *addresses.values())
    pieces = lds.legalize(kind, width, common)
    conflicts = wavefronts = 0
    for instruction, offset in pieces:
        for issue in sorted({issue for issue, _ in addresses}):
            there = {lane: addresses[i, lane] + offset for i, lane in addresses if i == issue}
            for cost in phases_cost(instruction, lds, there):
                wavefronts += cost
                conflicts += max(cost - 1, 0)
    return AccessCost(conflicts, wavefronts, len(pieces))


def served_together(
    instruction: LdsInstruction, addresses: Mapping[int, int]
) -> list[tuple[int, ...]]:
    """Returns the lanes of each phase, where two phases are one if neighbours want the same.

    Args:
        addresses: the byte address of each active lane.
    """
    phases = list(instruction.phases)
    if instruction.merging is None:
        return phases
    for distance in (1, 2):
        pairs = [(lane, lane ^ distance) for lane in addresses if lane ^ distance in addresses]
        if all(addresses[one] == addresses[other] for one, other in pairs):
            return [phases[n] + phases[n + 1] for n in range(0, len(phases), 2)]
    return phases


def _copy_cost(
    lds: Lds, access: LdsAccess, copied: CopySources, addresses: dict[tuple[int, int], int]
) -> AccessCost:
    """Returns the cost of a `cp.async`, as `async_copies.py` says it, at most for any shift."""
    (whole,) = (each for each in lds.special_instructions if each.name == access.instruction)
    conflicts = wavefronts = 0
    for issue in sorted({issue for issue, _ in addresses}):
        lanes = [lane for number, lane in addresses if number == issue]
        reads = {lane: bool(copied.reading[issue, lane]) for lane in lanes}
        there = {lane: addresses[issue, lane] for lane in lanes}
        costs: list[tuple[int, int]] = []
        for shift in copied.shifts:
            here = {lane: int(copied.addresses[issue, lane]) + shift for lane in lanes}
            costs.append(_copy_issue(whole, there, here, reads, copied.may_read_nothing))
        conflicts += max(found for found, _ in costs)
        wavefronts += max(found for _, found in costs)
    return AccessCost(conflicts, wavefronts, 1)


def _copy_issue(
    whole: LdsInstruction,
    there: dict[int, int],
    here: dict[int, int],
    reads: dict[int, bool],
    may_read_nothing: bool,
) -> tuple[int, int]:
    """Returns the conflicts and the wavefronts of one issue."""
    line, chunk = 128, 16
    fills = 0
    if whole.name.startswith("cp.async.cg"):
        kept = {there[lane]: here[lane] for lane in there if reads[lane]}
        moves = {
            (a // 32, b // 32): frozenset((x // chunk % 2, y // chunk % 2) for y, x in kept.items()
            if (x // 32, y // 32) == (a // 32, b // 32))
            for b, a in kept.items()
        }  # fmt: skip
        fills = _fills(moves)
        if all(reads.values()) and not may_read_nothing:
            return 0, fills
    conflicts = phases = 0
    for phase in whole.phases:
        used = [lane for lane in phase if lane in there]
        phases += bool(used)
        conflicts += max(
            (
                sum(
                    (there[a] - there[b]) % line == 0
                    or ((here[a] - here[b]) % line == 0 and reads[a] and reads[b])
                    for b in used
                )
                - 1
                for a in used
            ),
            default=0,
        )
    if fills and all(reads.values()):
        return conflicts, fills
    return conflicts, phases + conflicts + fills


def _fills(moves: Mapping[tuple[int, int], frozenset[tuple[int, int]]]) -> int:
    """Returns how many wavefronts write sectors that move alike.

    Args:
        moves: which halves of a sector (source, target) go to which halves.
    """
    alike: dict[tuple[object, ...], list[int]] = {}
    for (source, target), halves in moves.items():
        for crossed in (False, True):
            part = frozenset(half for half in halves if (half[0] != half[1]) == crossed)
            if part:
                key = (source // 4, target // 4, (source - target) % 2, part)
                alike.setdefault(key, []).append(source)
    return sum(max(map(sources.count, sources)) for sources in alike.values())


def phases_cost(instruction: LdsInstruction, lds: Lds, addresses: Mapping[int, int]) -> list[int]:
    """Returns the cycles of each phase of an issue.

    Args:
        addresses: the byte address of each active lane.
    """
    return [
        _phase_cost(instruction, lds, [addresses[lane] for lane in phase if lane in addresses])
        for phase in served_together(instruction, addresses)
    ]


def _phase_cost(instruction: LdsInstruction, lds: Lds, addresses: list[int]) -> int:
    banks: dict[int, set[tuple[int, int]]] = {}
    shares = instruction.sharing is Sharing.WORD
    for number, address in enumerate(addresses):
        for word in words_of(instruction, lds, address):
            banks.setdefault(word % instruction.banks, set()).add((word, 0 if shares else number))
    times = 2 if instruction.sharing is Sharing.LANE_TWICE else 1
    return times * max(map(len, banks.values()), default=0)


def words_of(instruction: LdsInstruction, lds: Lds, address: int) -> range:
    """Returns the words that a lane touches at a byte address."""
    width = lds.bank_width_bytes
    return range(address // width, (address + instruction.width_bytes - 1) // width + 1)
