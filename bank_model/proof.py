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
    """No unit-triangular swizzle has fewer, of those whose rows fill the tile and that run no more
    phases than the plain layout; whatever accesses they split. Paddings and rotations were
    counted too."""
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
    total = cycles = 0
    for index, (access, claimed) in enumerate(zip(accesses, proof.costs, strict=True)):
        counted = count_slowly(target, proof.tile, proof.layout, access)
        if counted != claimed:
            raise ProofError(f"costs[{index}]: claimed {claimed}, counted {counted}")
        total += access.weight * counted.conflict_cycles
        cycles += access.weight * counted.wavefronts
    if total != proof.conflict_cycles:
        raise ProofError(f"conflict_cycles: claimed {proof.conflict_cycles}, counted {total}")
    plain, plain_cycles = _weighted(target, proof.tile, PlainLayout(), accesses)
    if plain != proof.plain_conflict_cycles:
        raise ProofError(
            f"plain_conflict_cycles: claimed {proof.plain_conflict_cycles}, counted {plain}"
        )
    if cycles > plain_cycles:
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
        for word in _words(instruction, target, address):
            banks.setdefault(word % instruction.banks, set()).add(word)
    return max(map(len, banks.values()), default=0)


def _words(instruction: LdsInstruction, target: Target, address: int) -> range:
    """The words that a lane touches."""
    width = target.bank_width_bytes
    return range(address // width, (address + instruction.width_bytes - 1) // width + 1)


def _weighted(
    target: Target, tile: LdsTile, layout: Layout, accesses: list[LdsAccess]
) -> tuple[int, int]:
    """Conflict cycles and all cycles."""
    costs = [(a.weight, count_slowly(target, tile, layout, a)) for a in accesses if a.weight]
    return (
        sum(weight * cost.conflict_cycles for weight, cost in costs),
        sum(weight * cost.wavefronts for weight, cost in costs),
    )


@dataclass(frozen=True, eq=False)
class _Vectors:
    """Accesses of the same width whose lanes' first words differ alike."""

    words: int
    differences: tuple[int, ...]
    """A basis of the XOR differences between the lanes' first words, if wider than a word."""
    accesses: list[LdsAccess]


def _check_linear_minimum(proof: Proof, target: Target, accesses: list[LdsAccess]) -> None:
    """No unit-triangular swizzle has fewer conflict cycles, whatever it splits.

    Left out, as the solver does, are swizzles that make the accesses run more phases than the
    plain layout and those whose rows do not fill the tile. For every group size and every choice
    of the vectors that are split into groups, all matrices are tried column by column.
    """
    tile, bits, word = proof.tile, proof.tile.element_bits, target.bank_width_bytes * 8
    if bits & (bits - 1):
        raise ProofError(f"optimality: {bits}-bit elements have no linear swizzles")
    smallest = max(1, bits // word)
    running = [a for a in accesses if a.weight and (a.active is None or a.active.any())]
    all_vectors = _sorted_vectors(running, bits, word, smallest)
    _check_words_stay_whole(target, tile, running)
    divisions: list[tuple[int, list[_Vectors]]] = [(smallest, [])]
    group = smallest
    while wider := [v for v in all_vectors if v.words > group and v.differences]:
        if len(wider) > _MAX_VECTOR_CLASSES:
            raise ProofError("optimality: too many kinds of vectors to try all ways to split them")
        for choice in range(1, 1 << len(wider)):
            divisions.append((group, [v for i, v in enumerate(wider) if choice >> i & 1]))
        group *= 2
    plain = {v: _Demands.of(target, tile, PlainLayout(), v.accesses) for v in all_vectors}
    grouped: dict[tuple[_Vectors, int], _Demands] = {}
    for group, split in divisions:
        layout = _Grouped(group * word // bits)
        for v in split:
            if (v, group) not in grouped:
                grouped[v, group] = _Demands.of(target, tile, layout, v.accesses)
        chosen = [grouped[v, group] if v in split else plain[v] for v in all_vectors]
        if sum(c.phases for c in chosen) > sum(p.phases for p in plain.values()):
            continue
        if not all(c.linear for c in chosen):
            raise ProofError("optimality: a phase is outside the linear theory")
        whole = [v for v in all_vectors if v.words > group and v not in split]
        banks = {count for c in chosen for count in c.banks}
        search = _ColumnSearch.of(tile, word, group, split, whole, banks)
        weighted = [demand for c in chosen for demand in c.weighted]
        ties = [(d, v.words - 1) for v in whole for d in v.differences]
        varied = [(d, i, v.words - 1) for i, v in enumerate(split) for d in v.differences]
        if search.beats(1, weighted, ties, varied, 0, proof.conflict_cycles):
            raise ProofError(
                f"optimality: a linear swizzle of groups of {layout.group} elements or more has "
                f"fewer than {proof.conflict_cycles} conflict cycles"
            )


_MAX_VECTOR_CLASSES = 8


def _sorted_vectors(
    accesses: list[LdsAccess], bits: int, word: int, smallest: int
) -> list[_Vectors]:
    """Accesses by width and lane differences; raises ProofError where they are not aligned."""
    found: dict[tuple[int, tuple[int, ...]], list[LdsAccess]] = {}
    for access in accesses:
        starts = access.elements if access.active is None else access.elements[access.active]
        lanes = [int(start) for start in starts.ravel()]
        if access.count & (access.count - 1) or any(start % access.count for start in lanes):
            raise ProofError("optimality: unaligned accesses are outside the linear theory")
        words = max(access.count * bits // word, 1)
        basis: list[int] = []
        for start in lanes if words > smallest else []:
            rest = (start * bits // word) ^ (lanes[0] * bits // word)
            for known in basis:
                rest = min(rest, rest ^ known)
            if rest:
                basis = [min(known, known ^ rest) for known in basis] + [rest]
        found.setdefault((words, tuple(sorted(basis))), []).append(access)
    return [_Vectors(words, basis, alike) for (words, basis), alike in found.items()]


def _check_words_stay_whole(target: Target, tile: LdsTile, accesses: list[LdsAccess]) -> None:
    """Swizzles that split an access inside a word run more phases than the plain layout."""
    group = 1
    while group * tile.element_bits < target.bank_width_bytes * 8:
        for access in accesses:
            if access.count > group and group * tile.element_bits % 8 == 0:
                plain = _phases_run(target, tile, PlainLayout(), [access])
                if _phases_run(target, tile, _Grouped(group), [access]) <= plain:
                    raise ProofError("optimality: splitting inside words is outside the theory")
        group *= 2


@dataclass(frozen=True)
class _Grouped(PlainLayout):
    group: int = 1

    def group_elements(self, tile: LdsTile) -> int:
        return self.group


def _phases_run(target: Target, tile: LdsTile, layout: Layout, accesses: list[LdsAccess]) -> int:
    """Weighted wavefronts that no conflict causes."""
    costs = [(a.weight, count_slowly(target, tile, layout, a)) for a in accesses if a.weight]
    return sum(weight * (c.wavefronts - c.conflict_cycles) for weight, c in costs)


@dataclass(frozen=True)
class _Demands:
    """What the phases of some accesses demand of a swizzle.

    Where the words of a phase form a coset of a subspace, its conflict cycles are the number of
    their differences that a swizzle sends to bank 0.
    """

    weighted: list[tuple[int, int, int]]
    """(difference of words, bank mask, weight)."""
    banks: set[int]
    phases: int
    """Weighted phases with any lane."""
    linear: bool
    """Whether all phases are such cosets."""

    @staticmethod
    def of(target: Target, tile: LdsTile, layout: Layout, accesses: list[LdsAccess]) -> _Demands:
        """The demands of accesses that are split as `layout` does."""
        found: dict[tuple[int, int], int] = {}
        banks: set[int] = set()
        phases, linear = 0, True
        for access in accesses:
            for m in machine_accesses(target, tile, layout, access):
                banks.add(m.instruction.banks)
                for issue, row in enumerate(m.addresses.tolist()):
                    for phase in m.instruction.phases:
                        words = {
                            word
                            for lane in phase
                            if m.active is None or m.active[issue, lane]
                            for word in _words(m.instruction, target, row[lane])
                        }
                        phases += access.weight * bool(words)
                        origin = min(words, default=0)
                        differences = {word ^ origin for word in words}
                        linear &= all(
                            a ^ b in differences for a in differences for b in differences
                        )
                        for d in differences - {0}:
                            key = (d, m.instruction.banks - 1)
                            found[key] = found.get(key, 0) + access.weight
        weighted = [(d, mask, weight) for (d, mask), weight in found.items()]
        return _Demands(weighted, banks, phases, linear)


@dataclass(frozen=True)
class _ColumnSearch:
    """All matrices that divide the vectors in one way. Masks and columns are of word bits."""

    columns: int
    group: int
    """Words of a group: the lowest bit that may change."""
    targets: int
    """The bits that may change."""
    order: int
    """The bits among them that tell the order of the words inside a vector."""
    renaming: int
    """Columns below this one only permute banks."""
    split: int
    """How many classes of vectors must be split."""

    @staticmethod
    def of(
        tile: LdsTile,
        word: int,
        group: int,
        split: list[_Vectors],
        whole: list[_Vectors],
        banks: set[int],
    ) -> _ColumnSearch:
        """The search of matrices that change no bit below `group`."""
        widest = max([group, *(v.words for v in (*split, *whole))])
        targets, bit = 0, group
        while bit < max(widest, *banks):
            if (tile.elements * tile.element_bits) % (2 * bit * word) == 0:
                targets |= bit
            bit *= 2
        last = (tile.elements * tile.element_bits - 1) // word
        renaming = min(banks).bit_length() - 1
        order = targets & (widest - 1)
        return _ColumnSearch(last.bit_length(), group, targets, order, renaming, len(split))

    def beats(
        self,
        source: int,
        demands: list[tuple[int, int, int]],
        ties: list[tuple[int, int]],
        varied: list[tuple[int, int, int]],
        changed: int,
        bound: int,
    ) -> bool:
        """Whether columns from `source` on can keep the weight on bank 0 below `bound`.

        The lists hold differences that the columns before have mapped: `demands` with their bank
        masks and weights, until they are complete; `ties` with the bits that must become 0, so
        that whole vectors stay whole; `varied` with the number of a class to be split, and the
        bits of which one must not be 0 in one of its differences. `changed` are all bits that
        columns changed.
        """
        if bound <= 0:
            return False
        if source == self.columns:
            divided = {i for d, i, low in varied if d & low}
            lowest = changed & -changed
            return len(divided) == self.split and (not self.split or lowest == self.group)
        mask = self.targets & ((1 << source) - 1)
        if source < self.renaming or not any(d >> source & 1 for d, _, _ in demands):
            # No conflict depends on this column, but the order inside vectors may.
            mask &= self.order
        column = mask
        while True:
            tied = [(d ^ column if d >> source & 1 else d, low) for d, low in ties]
            if not any(_top(d) == source and d & low for d, low in tied):
                cost = sum(
                    w for d, banks, w in demands if _top(d) == source and not (d ^ column) & banks
                )
                if self.beats(
                    source + 1,
                    [
                        (d ^ column if d >> source & 1 else d, banks, w)
                        for d, banks, w in demands
                        if _top(d) > source
                    ],
                    [(d, low) for d, low in tied if _top(d) > source],
                    [(d ^ column if d >> source & 1 else d, i, low) for d, i, low in varied],
                    changed | column,
                    bound - cost,
                ):
                    return True
            if not column:
                return False
            column = (column - 1) & mask


def _top(word: int) -> int:
    return word.bit_length() - 1
