# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What accesses demand of a linear swizzle: vectors that must stay out of the banks' kernel.

Take one phase of an LDS instruction whose lanes and words are laid out linearly. The words that
the phase touches are then a coset w + U of a linear subspace U of the word-index bits. A swizzle
sends word x to L(x), on bank L(x) mod banks. Two touched words share a bank exactly when their
difference d in U has L(d) = 0 in all bank bits: d lies in the kernel K of "bank after swizzle".
So every bank is hit by |U ∩ K| words, and

    conflict cycles of the phase = |U ∩ K| - 1 = number of nonzero vectors of U in K.

Summed over all phases of all accesses, this is a sum over vectors: each nonzero vector d of each U
carries a weight, how often its phase runs, and costs that weight if L(d) is 0 in the bank bits. The
solver needs to know no more of a kernel. Typically these are some dozens of vectors.

Worked example: 32 banks, lanes 0-31 read the words 0, 32, 64, ... of a column. U is spanned by
32, 64, 128, 256, 512. Without a swizzle all of U lies in K: 31 conflict cycles. With bits 0-4
XORed with bits 5-9 no nonzero vector does: none.

The words of a phase may be no coset, because of odd strides or masked lanes. Then the differences
of all pairs of its words take the place of U, up to `MAX_DIFFERENCES`. Such costs only say which
swizzles are worth an exact count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from . import f2
from .accesses import LdsAccess, LdsTile
from .conflicts import merged_issues, served_lanes
from .errors import up_to_power_of_two
from .layouts import MachineAccess, PlainInGroups, PlainLayout, machine_batches
from .lds_rules import Lds
from .quick_dataclass import dataclass

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt


# Differences beyond these are left out. Gathers without any structure have tens of thousands, and
# no layout helps them.
MAX_DIFFERENCES = 1500
_MOST_KEPT = 1024

Ints: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True, eq=False)
class PhaseSets:
    """The words that the phases of some accesses touch, up to shifts, and how often they do."""

    subspaces: Mapping[tuple[tuple[int, ...], int], int]
    """The weight of each (reduced basis, bank mask) of linear phases."""
    uneven: Mapping[tuple[tuple[int, ...], int], int]
    """The weight of each (words, bank mask) of the other phases."""
    bank_counts: frozenset[int]
    phases: int
    """Weighted phases that the accesses run: their cycles without any conflict."""
    instructions: int
    """Weighted machine instructions of all waves."""
    least_instructions: int
    """The instructions if the backend pairs all that it may: half of these, and all others."""


@dataclass(frozen=True, eq=False)
class BankConstraints:
    """Differences of word indices; each costs its weight if a swizzle makes its bank bits 0.

    The arrays have one entry for each difference. They are made when they are first asked for: the
    bounds do without them.
    """

    subspaces: Mapping[tuple[tuple[int, ...], int], int]
    """The weight of each (reduced basis, bank mask) of the linear phases."""
    uneven: Mapping[tuple[tuple[int, ...], int], int]
    """The weight of each (words, bank mask) of the others."""
    common_bank_bits: int
    """The bits below this one are bank bits of every instruction."""
    bank_bits: int
    """The bits below this one are bank bits of some instruction."""

    @property
    def exact(self) -> bool:
        """Returns whether all phases are linear, and costs exact numbers of conflict cycles."""
        return not self.uneven

    @cached_property
    def vectors(self) -> Ints:
        """Returns the differences."""
        return np.array([vector for vector, _ in self._weights], dtype=np.int64)

    @cached_property
    def bank_masks(self) -> Ints:
        """Returns the bank bits of the instructions that touch the words."""
        return np.array([mask for _, mask in self._weights], dtype=np.int64)

    @cached_property
    def weights(self) -> Ints:
        """Returns how often phases run that touch the words."""
        return np.array([*self._weights.values()], dtype=np.int64)

    @cached_property
    def _weights(self) -> dict[tuple[int, int], int]:
        total = _differences(self.uneven)
        for (basis, bank_mask), weight in self.subspaces.items():
            for vector in f2.span(basis)[1:]:
                # The highest bit of a vector never changes: among the bank bits it costs nothing.
                if vector.bit_length() > bank_mask.bit_length():
                    total[vector, bank_mask] += weight
        return dict(sorted(total.items()))

    @cached_property
    def _uneven_sets(self) -> tuple[tuple[Ints, Ints, Ints], ...]:
        """Returns (words [phases, words], bank masks, weights), by the number of words."""
        return _by_width(self.uneven)

    def cost(self, images: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Returns the costs [...] of swizzles that map the vectors to `images` [..., vectors]."""
        return ((images & self.bank_masks) == 0) @ self.weights

    def pigeonhole_bound(
        self, target_mask: int, vanishing: Sequence[tuple[int, Sequence[int]]] = ()
    ) -> int:
        """Returns conflict cycles that no swizzle can undercut that changes only `target_mask`.

        In each U, the vectors that are 0 in the bank bits which nothing changes form a subspace.
        The swizzle maps it into the t bank bits that may change, so that at least 2**(dimension -
        t) of its vectors go to 0. For example, four row bits do not fit into three changeable bank
        bits: the 16 words of that U then lie on 8 banks, two on each, so that the bound is 1 for
        each time that the phase runs. The same holds for any set of words with equal fixed bits.

        `vanishing` pairs a bit with vectors whose images are 0 in all bits up to it, because
        accesses stay whole. In the span of these vectors those bits offer no room.
        """
        bound = self._linear_bound(target_mask, vanishing)
        for shared, weights in self._crowds(target_mask, vanishing):
            bound += int(shared.max(axis=(0, 2), initial=0) @ weights)
        return bound

    def least_cost(
        self, target_mask: int, vanishing: Sequence[tuple[int, Sequence[int]]] = ()
    ) -> int:
        """Returns a `cost` that no swizzle can undercut that changes only bits of `target_mask`.

        A phase that is not linear costs more than its conflict cycles: all pairs of its words that
        share a bank. Of 16 words on 8 banks these are 8 pairs, but one conflict cycle.
        """
        if len(self.vectors) > MAX_DIFFERENCES:
            # Not all pairs were counted.
            return self.pigeonhole_bound(target_mask, vanishing)
        bound = self._linear_bound(target_mask, vanishing)
        for shared, weights in self._crowds(target_mask, vanishing):
            bound += int(shared.sum(axis=2).max(axis=0, initial=0) @ weights)
        return bound

    def _linear_bound(
        self, target_mask: int, vanishing: Sequence[tuple[int, Sequence[int]]]
    ) -> int:
        """Returns the `pigeonhole_bound` of the linear phases, which is also their least cost."""
        bound = 0
        for (basis, bank_mask), weight in self.subspaces.items():
            excess = 0
            for bit, vectors in ((-1, basis), *vanishing):
                if bit >= 0 and not bank_mask >> bit & 1:
                    continue
                free = target_mask >> (bit + 1) << (bit + 1)
                room = (bank_mask & free).bit_count()
                if len(basis) - room <= excess:
                    continue
                dimension = _dimension_inside(basis, tuple(vectors), bank_mask & ~free)
                excess = max(excess, dimension - room)
            bound += weight * ((1 << excess) - 1)
        return bound

    def _crowds(
        self, target_mask: int, vanishing: Sequence[tuple[int, Sequence[int]]]
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yields how crowded the banks of phases are that are not linear, and their weights.

        The n words of a phase that agree in all bits that cannot tell them apart lie on 2**room
        banks. Spread evenly, word i of them shares its bank with i >> room earlier ones. That is
        the array [1 + vanishing, phases, words]: first for swizzles without further demands, then
        for words that the vectors of an entry of `vanishing` tell apart alone.
        """
        for words, bank_masks, weights in self._uneven_sets:
            places = np.arange(words.shape[1])
            shared: list[Ints] = []
            for bit, basis in ((-1, ()), *vanishing):
                cosets = words if bit >= 0 else np.zeros_like(words)
                for vector in reversed(f2.reduced_basis(basis)):
                    cosets = np.minimum(cosets, cosets ^ vector)
                fixed = words & (bank_masks & ~target_mask)[:, None]
                alike = np.sort(cosets << bank_masks.max().item().bit_length() | fixed, axis=1)
                first = np.ones(words.shape, dtype=np.bool_)
                first[:, 1:] = alike[:, 1:] != alike[:, :-1]
                before = places - np.maximum.accumulate(np.where(first, places, 0), axis=1)
                free = target_mask >> (bit + 1) << (bit + 1)
                shared.append(before >> np.bitwise_count(bank_masks & free)[:, None])
            yield np.array(shared), weights


@lru_cache(_MOST_KEPT)
def _dimension_inside(basis: tuple[int, ...], vectors: tuple[int, ...], mask: int) -> int:
    """Returns the dimension of what lies in both spans and is 0 in the bits of `mask`.

    The cases of a tile, of which there are dozens, have the same few spans.
    """
    crowd = f2.intersection(basis, vectors)
    return len(crowd) - f2.rank(vector & mask for vector in crowd)


def phase_sets(
    lds: Lds, tile: LdsTile, accesses: Sequence[LdsAccess], group: int | None
) -> PhaseSets:
    """Returns the phases of `accesses` if groups of `group` elements stay together.

    With None for a group, everything stays together. A word has `lds.bank_width_bytes`, and a
    group is at least a word.
    """
    subspaces: dict[tuple[tuple[int, ...], int], int] = {}
    uneven: dict[tuple[tuple[int, ...], int], int] = {}
    banks: set[int] = set()
    phases = instructions = paired = 0
    weights = np.array([a.weight for a in accesses], dtype=np.int64)
    layout = PlainLayout() if group is None else PlainInGroups(group)
    for machine, owner in machine_batches(lds, tile, layout, accesses):
        banks.add(machine.instruction.banks)
        issued = int(weights[owner].sum()) * machine.addresses.shape[-2]
        instructions += issued
        if lds.pairs(machine.instruction):
            paired += issued
        bank_mask = machine.instruction.banks - 1
        for words, weight in _phases(machine, weights[owner], lds.bank_width_bytes):
            phases += weight
            basis = f2.basis_of_members(words)
            if basis is not None:
                key = _without_low_block(basis, bank_mask)
                subspaces[key] = subspaces.get(key, 0) + weight
            else:
                key = (tuple(words), bank_mask)
                uneven[key] = uneven.get(key, 0) + weight
    least = instructions - paired // 2
    return PhaseSets(subspaces, uneven, frozenset(banks), phases, instructions, least)


def _without_low_block(basis: tuple[int, ...], bank_mask: int) -> tuple[tuple[int, ...], int]:
    """Returns the basis of U and its bank mask without the lowest bits, if U contains all of these.

    If U contains the words 0 .. 2**q - 1, a unit-triangular swizzle maps them onto themselves. Take
    any d of the rest whose image is 0 in the bank bits from q on. Exactly one of these words makes
    the sum 0 in all bank bits. So |U ∩ K| can be counted in units of 2**q words. For example, lanes
    that move 4 words each collide exactly if their blocks of 4 words lie on the same 4 banks.
    """
    q = 0
    while 1 << q in basis and bank_mask >> q & 1:
        q += 1
    return tuple(v for v in basis if v >> q), bank_mask >> q << q


def bank_constraints(parts: Iterable[PhaseSets]) -> BankConstraints:
    """Returns the constraints of all phases of `parts`."""
    subspaces: Counter[tuple[tuple[int, ...], int]] = Counter()
    uneven: Counter[tuple[tuple[int, ...], int]] = Counter()
    banks: set[int] = set()
    for part in parts:
        subspaces.update(part.subspaces)
        uneven.update(part.uneven)
        banks |= part.bank_counts
    return BankConstraints(
        subspaces,
        uneven,
        min(banks, default=1).bit_length() - 1,
        max(banks, default=1).bit_length() - 1,
    )


def _differences(uneven: Mapping[tuple[tuple[int, ...], int], int]) -> Counter[tuple[int, int]]:
    """Returns the weight of each difference of two words of a phase, with its bank mask."""
    most = max((words[-1] for words, _ in uneven), default=0)
    sums: dict[int, Ints] = {}
    for (words, bank_mask), weight in uneven.items():
        if sum(map(np.count_nonzero, sums.values())) > MAX_DIFFERENCES:
            break
        if bank_mask not in sums:
            sums[bank_mask] = np.zeros(1 << most.bit_length(), dtype=np.int64)
        touched = np.array(words)
        np.add.at(sums[bank_mask], (touched[:, None] ^ touched).ravel(), weight)
        # Each word differs from itself by nothing.
        sums[bank_mask][0] = 0
    # Both orders of a pair are in the sum.
    return Counter(
        {
            (vector, bank_mask): int(of_mask[vector]) // 2
            for bank_mask, of_mask in sums.items()
            for vector in np.flatnonzero(of_mask).tolist()
        }
    )


def _by_width(
    uneven: Mapping[tuple[tuple[int, ...], int], int],
) -> tuple[tuple[Ints, Ints, Ints], ...]:
    """Returns the words, bank masks and weights of phases, with an entry for each number of words.

    The words of an entry are an array [phases, words].
    """
    found: dict[int, list[tuple[tuple[int, ...], int, int]]] = {}
    for (words, bank_mask), weight in uneven.items():
        found.setdefault(len(words), []).append((words, bank_mask, weight))
    return tuple(
        (np.array(words), np.array(masks), np.array(weights))
        for words, masks, weights in (zip(*sets, strict=True) for sets in found.values())
    )


def _phases(
    machine: MachineAccess, weights: npt.NDArray[np.int64], word_bytes: int
) -> list[tuple[list[int], int]]:
    """Returns the distinct sets of touched words, ascending, with their weights.

    Each set is XORed with one of its words. So 0 is the first word of every set, and sets that are
    shifted copies of each other become equal.
    """
    instruction = machine.instruction
    width = instruction.width_bytes
    rows = places = machine.addresses.reshape(-1, machine.addresses.shape[-1])
    repeated = np.repeat(weights, len(rows) // len(weights)).tolist()
    alignment = up_to_power_of_two(max(width, word_bytes))
    if machine.active is None and width <= word_bytes:
        rows = rows // word_bytes
        span = np.zeros(1, dtype=np.int64)
        aligned = not (machine.addresses % width).any()
    else:
        aligned = machine.active is None and not (rows % alignment).any()
        rows = rows // word_bytes
        span = np.arange(-(-width // word_bytes))
    merged: dict[tuple[bytes, bool], int] = {}
    if aligned:
        ones = merged_issues(instruction, places, None)
        kinds = [False] * len(rows) if ones is None else ones.tolist()
        for row, one, weight in zip(rows ^ rows[:, :1], kinds, repeated, strict=True):
            if weight:
                key = row.tobytes(), one
                merged[key] = merged.get(key, 0) + weight
        result: dict[tuple[int, ...], int] = {}
        for (key, one), weight in merged.items():
            phases = np.asarray(instruction.merged_phases if one else instruction.phases)
            lanes = np.frombuffer(key, dtype=np.int64)[phases]
            words = ((lanes ^ lanes[:, :1])[..., None] ^ span).reshape(len(phases), -1)
            for phase in words.tolist():
                touched = tuple(sorted(set(phase)))
                result[touched] = result.get(touched, 0) + weight
        return [(list(words), weight) for words, weight in result.items()]
    return _uneven_phases(machine, repeated, word_bytes)


def _uneven_phases(
    machine: MachineAccess, weights: list[int], word_bytes: int
) -> list[tuple[list[int], int]]:
    """Returns what `_phases` returns for masked or unaligned accesses, lane by lane."""
    rows = machine.addresses.reshape(-1, machine.addresses.shape[-1])
    active = None if machine.active is None else machine.active.reshape(rows.shape)
    width = machine.instruction.width_bytes
    result: dict[tuple[int, ...], int] = {}
    for index, (row, weight) in enumerate(zip(rows.tolist(), weights, strict=True)):
        if not weight:
            continue
        on = None if active is None else active[index]
        for phase in served_lanes(machine.instruction, rows[index], on):
            touched: set[int] = set()
            for lane in phase:
                if on is None or on[lane]:
                    first, last = row[lane] // word_bytes, (row[lane] + width - 1) // word_bytes
                    touched.update(range(first, last + 1))
            if touched:
                origin = min(touched)
                key = tuple(sorted(word ^ origin for word in touched))
                result[key] = result.get(key, 0) + weight
    return [(list(words), weight) for words, weight in result.items()]
