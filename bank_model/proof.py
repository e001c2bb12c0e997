# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proof objects of the solver and their independent checker.

The checker shares nothing with the solver but the hardware tables and the layouts' formulas: it
walks lane by lane and word by word, in plain Python, and believes no number of the proof.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from math import gcd

import numpy as np

from .accesses import LdsAccess, LdsTile
from .layouts import AccessCost, Layout, PlainLayout, SwizzledLayout, machine_accesses
from .targets import LdsInstruction, Target


class Optimality(Enum):
    """What is known about layouts with fewer conflict cycles."""

    FLOOR = "no conflicts left: no layout has fewer"
    """Zero conflict cycles: every phase already runs in the cycles its data volume needs."""
    LINEAR_MINIMUM = "no linear swizzle has fewer (exhaustive search)"
    """All unit-triangular swizzles were searched; paddings and rotations were counted too."""
    BEST_FOUND = "the fewest found"
    """Nothing is proven."""


class ProofError(ValueError):
    """A claim of a proof does not hold; the message names it."""


@dataclass(frozen=True)
class Proof:
    """What the solver claims about one allocation, in numbers that a checker can recount."""

    arch: str
    tile: LdsTile
    layout: Layout
    lds_bytes: int
    costs: tuple[AccessCost, ...]
    """Per access, unweighted."""
    conflict_cycles: int
    """Weighted, under `layout`."""
    plain_conflict_cycles: int
    """Weighted, under the plain layout."""
    optimality: Optimality


def check(proof: Proof, target: Target, accesses: Iterable[LdsAccess]) -> None:
    """Verifies every claim of `proof` by counting; raises ProofError for the first wrong one.

    LINEAR_MINIMUM is verified by a search of its own over all matrices.
    """
    accesses = list(accesses)
    if proof.arch != target.arch:
        raise ProofError(f"arch: the proof is about {proof.arch}, not {target.arch}")
    if len(proof.costs) != len(accesses):
        raise ProofError(f"costs: {len(proof.costs)} for {len(accesses)} accesses")
    _check_placement(proof)
    total = 0
    for index, (access, claimed) in enumerate(zip(accesses, proof.costs, strict=True)):
        counted = count_slowly(target, proof.tile, proof.layout, access)
        if counted != claimed:
            raise ProofError(f"costs[{index}]: claimed {claimed}, counted {counted}")
        total += access.weight * counted.conflict_cycles
    if total != proof.conflict_cycles:
        raise ProofError(f"conflict_cycles: claimed {proof.conflict_cycles}, counted {total}")
    plain = _weighted_conflicts(target, proof.tile, PlainLayout(), accesses)
    if plain != proof.plain_conflict_cycles:
        raise ProofError(
            f"plain_conflict_cycles: claimed {proof.plain_conflict_cycles}, counted {plain}"
        )
    if proof.conflict_cycles > proof.plain_conflict_cycles:
        raise ProofError("layout: worse than the plain one")
    if proof.optimality is Optimality.FLOOR and total:
        raise ProofError(f"optimality: {total} conflict cycles are above the floor, 0")
    if proof.optimality is not Optimality.FLOOR and not total:
        raise ProofError("optimality: 0 conflict cycles are the floor")
    if proof.optimality is Optimality.LINEAR_MINIMUM:
        _check_linear_minimum(proof, target, accesses)


def _check_placement(proof: Proof) -> None:
    """Every element has a place of its own inside the allocation."""
    tile = proof.tile
    places = proof.layout.offsets(tile, np.arange(tile.elements)).tolist()
    if len(set(places)) != len(places):
        raise ProofError("layout: two elements share a place")
    size = proof.layout.size_bytes(tile)
    if size != proof.lds_bytes:
        raise ProofError(f"lds_bytes: claimed {proof.lds_bytes}, counted {size}")
    if min(places) < 0 or (max(places) + 1) * tile.element_bits > size * 8:
        raise ProofError("layout: an element lies outside the allocation")
    if isinstance(proof.layout, SwizzledLayout) and not proof.layout.is_bijection(tile):
        raise ProofError("layout: a swizzle of the chain does not permute the allocation")


def count_slowly(target: Target, tile: LdsTile, layout: Layout, access: LdsAccess) -> AccessCost:
    """The cost of one access, from the definition, lane by lane."""
    issues = [
        [
            (lane, int(start))
            for lane, start in enumerate(row)
            if access.active is None or access.active[issue, lane]
        ]
        for issue, row in enumerate(access.elements)
    ]
    lanes = [start for issue in issues for _, start in issue]
    if not lanes:
        return AccessCost(0, 0, 0)
    group = layout.group_elements(tile)
    first, runs = 0, list[tuple[int, int]]()
    for k in range(1, access.count + 1):
        if k == access.count or any((start + k) % group == 0 for start in lanes):
            runs.append((first, k - first))
            first = k
    if _only_reorders(tile, layout, lanes, access.count, runs):
        lowest = {s: min(layout.offsets(tile, s + np.arange(access.count)).tolist()) for s in lanes}
        access = replace(access, elements=np.vectorize(lambda s: lowest.get(s, 0))(access.elements))
        return count_slowly(target, tile, PlainLayout(), access)
    conflicts = wavefronts = instructions = 0
    for first, count in runs:
        steps = np.arange(first, first + count)
        addresses: dict[tuple[int, int], int] = {}
        common = 16
        for number, issue in enumerate(issues):
            for lane, start in issue:
                places = layout.offsets(tile, start + steps).tolist()
                if places != list(range(places[0], places[0] + count)):
                    raise ProofError(f"layout: elements {start + first} .. are not contiguous")
                bits = places[0] * tile.element_bits
                if bits % 8 or count * tile.element_bits % 8:
                    raise ProofError(f"layout: element {start + first} starts inside a byte")
                addresses[number, lane] = bits // 8
                common = gcd(common, bits // 8)
        pieces = target.legalize(access.kind, count * tile.element_bits // 8, common & -common)
        instructions += len(pieces)
        for instruction, offset in pieces:
            for number in range(len(issues)):
                for phase in instruction.phases:
                    cost = _phase_cost(
                        instruction,
                        target,
                        [
                            addresses[number, lane] + offset
                            for lane in phase
                            if (number, lane) in addresses
                        ],
                    )
                    wavefronts += cost
                    conflicts += max(cost - 1, 0)
    return AccessCost(conflicts, wavefronts, instructions)


def _only_reorders(
    tile: LdsTile, layout: Layout, lanes: list[int], count: int, runs: list[tuple[int, int]]
) -> bool:
    """Whether a swizzle reorders the elements of an access in its block, alike in all lanes."""
    if not isinstance(layout, SwizzledLayout) or len(runs) < 2 or len({n for _, n in runs}) > 1:
        return False
    orders: set[tuple[int, ...]] = set()
    for start in lanes:
        places = layout.offsets(tile, start + np.arange(count)).tolist()
        base = min(places)
        if base % count or start % layout.group_elements(tile):
            return False
        orders.add(tuple(place - base for place in places))
    return len(orders) == 1 and sorted(orders.pop()) == list(range(count))


def _phase_cost(instruction: LdsInstruction, target: Target, addresses: list[int]) -> int:
    banks: dict[int, set[int]] = {}
    for address in addresses:
        for byte in range(address, address + instruction.width_bytes):
            word = byte // target.bank_width_bytes
            banks.setdefault(word % instruction.banks, set()).add(word)
    return max(map(len, banks.values()), default=0)


def _weighted_conflicts(
    target: Target, tile: LdsTile, layout: Layout, accesses: list[LdsAccess]
) -> int:
    return sum(
        a.weight * count_slowly(target, tile, layout, a).conflict_cycles
        for a in accesses
        if a.weight
    )


def _check_linear_minimum(proof: Proof, target: Target, accesses: list[LdsAccess]) -> None:
    """No unit-triangular swizzle has fewer conflict cycles, whatever its group size.

    Group sizes that make the accesses run more phases than the plain layout are left out, as the
    solver does. Where the words of every phase form a coset of a subspace, the conflict cycles
    are the weights of the differences that the swizzle sends to bank 0. Columns of the matrix
    are tried one by one, as long as the differences that they complete stay below the
    claimed number.
    """
    bits = proof.tile.element_bits
    word_bits = target.bank_width_bytes * 8
    if bits & (bits - 1):
        raise ProofError(f"optimality: {bits}-bit elements have no linear swizzles")
    widest = max(a.count * bits // 8 for a in accesses)
    group_bytes = max(16 if widest > 16 else 1 << (widest - 1).bit_length(), bits // 8, 4)
    top = group_bytes
    base = _phases_run(target, proof.tile, PlainLayout(), accesses)
    while group_bytes >= max(target.bank_width_bytes, bits // 8):
        group = group_bytes * 8 // bits
        if _phases_run(target, proof.tile, _Grouped(group), accesses) > base:
            group_bytes //= 2
            continue
        demands = _demands(proof.tile, target, accesses, group, group_bytes == top)
        highest = (proof.tile.elements * bits - 1) // word_bits
        allowed = 0
        for bit in range(8):
            block = (2 << bit) * word_bits // bits
            if 1 << bit >= group_bytes // 4 and block and proof.tile.elements % block == 0:
                allowed |= 1 << bit
        if _beats(demands, 0, highest.bit_length(), allowed, proof.conflict_cycles):
            raise ProofError(
                f"optimality: a linear swizzle of groups of {group} elements has fewer "
                f"than {proof.conflict_cycles} conflict cycles"
            )
        group_bytes //= 2


@dataclass(frozen=True)
class _Grouped(PlainLayout):
    group: int = 1

    def group_elements(self, tile: LdsTile) -> int:
        return self.group


def _phases_run(target: Target, tile: LdsTile, layout: Layout, accesses: list[LdsAccess]) -> int:
    """Weighted wavefronts that no conflict causes."""
    costs = [(a.weight, count_slowly(target, tile, layout, a)) for a in accesses if a.weight]
    return sum(weight * (c.wavefronts - c.conflict_cycles) for weight, c in costs)


def _demands(
    tile: LdsTile, target: Target, accesses: list[LdsAccess], group: int, whole: bool
) -> list[tuple[int, int, int]]:
    """(difference, bank mask, weight) of all phases under groups of `group` elements."""
    found: dict[tuple[int, int], int] = {}
    for access in accesses:
        if not access.weight:
            continue
        machine = machine_accesses(target, tile, _Grouped(group), access)
        if whole and len(machine) != len(machine_accesses(target, tile, PlainLayout(), access)):
            raise ProofError("optimality: unaligned accesses are outside the linear theory")
        for m in machine:
            for issue, row in enumerate(m.addresses.tolist()):
                for phase in m.instruction.phases:
                    words = {
                        byte // target.bank_width_bytes
                        for lane in phase
                        if m.active is None or m.active[issue, lane]
                        for byte in range(row[lane], row[lane] + m.instruction.width_bytes)
                    }
                    origin = min(words, default=0)
                    differences = {word ^ origin for word in words}
                    if any(a ^ b not in differences for a in differences for b in differences):
                        raise ProofError("optimality: a phase is outside the linear theory")
                    for d in differences - {0}:
                        key = (d, m.instruction.banks - 1)
                        found[key] = found.get(key, 0) + access.weight
    return [(d, mask, weight) for (d, mask), weight in found.items()]


def _beats(
    demands: list[tuple[int, int, int]], source: int, bits: int, allowed: int, bound: int
) -> bool:
    """Whether columns from `source` on can keep the weight on bank 0 below `bound`.

    `demands` hold the differences that are not complete, mapped by the columns before.
    """
    if bound <= 0:
        return False
    if source == bits:
        return True
    done = [d for d in demands if _top(d[0]) == source]
    rest = [d for d in demands if _top(d[0]) > source]
    mask = allowed & ((1 << source) - 1)
    if not any(d[0] >> source & 1 for d in demands):
        mask = 0
    column = mask
    while True:
        cost = sum(w for d, banks, w in done if not (d ^ column) & banks)
        moved = [(d ^ column if d >> source & 1 else d, banks, w) for d, banks, w in rest]
        if _beats(moved, source + 1, bits, allowed, bound - cost):
            return True
        if not column:
            return False
        column = (column - 1) & mask


def _top(word: int) -> int:
    return word.bit_length() - 1
