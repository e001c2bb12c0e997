# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The check that no linear swizzle has fewer conflict cycles, by a search of its own.

The check follows the definition, and uses neither the solver's constraints nor its search. It goes
through every group size, and every choice of the accesses that are split into groups of that size.
For each choice it tries all unit-triangular matrices, column by column, and drops those that split
other accesses or cost too much.

What a matrix L costs, where the words that a phase touches are a coset of a subspace: each nonzero
difference d of two touched words is one conflict cycle if L(d) is 0 in the bank bits. A phase whose
words are no such coset is outside the theory, and the check says so.

Worked example: 4 banks, and a phase touches the words 0, 4, 8 and 12, so that the differences are
4, 8 and 12. Without a swizzle each of them has 0 in the bits 0 and 1: 3 conflict cycles, 4 words on
one bank. XORing bit 2 into bit 0 sends 4 to 5 and 12 to 13, and only 8 still hits bank 0: 1 cycle.
XORing bit 3 into bit 1 as well leaves none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .accesses import LdsAccess, LdsTile
from .errors import ProofError
from .layouts import Layout, PlainInGroups, PlainLayout, machine_accesses
from .lds_rules import Lds
from .quick_dataclass import dataclass
from .quick_tuple import NamedTuple
from .slow_count import count_slowly, served_together, words_of

_MAX_VECTOR_CLASSES = 8


def check_linear_minimum(
    lds: Lds, tile: LdsTile, accesses: Sequence[LdsAccess], conflict_cycles: int
) -> None:
    """Raises ProofError if some linear swizzle has fewer than `conflict_cycles`.

    Left out, as the solver does, are swizzles that make the accesses run more phases than the plain
    layout, and those whose rows do not fill the tile. Also raises ProofError where the accesses are
    outside the theory, so that nothing can be said about all swizzles.
    """
    bits, word = tile.element_bits, lds.bank_width_bytes * 8
    if bits & (bits - 1):
        raise ProofError(f"optimality: {bits}-bit elements have no linear swizzles")
    smallest = max(1, bits // word)
    running = [a for a in accesses if a.weight and a.starts.size]
    vectors = _sorted_vectors(running, bits, word, smallest)
    _check_words_stay_whole(lds, tile, running)
    plain = {v: _Demands.of(lds, tile, PlainLayout(), v.accesses) for v in vectors}
    most_phases = sum(demands.phases for demands in plain.values())
    grouped: dict[tuple[_Vectors, int], _Demands] = {}
    for group, split in _divisions(vectors, smallest):
        layout = PlainInGroups(group * word // bits)
        for v in split:
            if (v, group) not in grouped:
                grouped[v, group] = _Demands.of(lds, tile, layout, v.accesses)
        chosen = [grouped[v, group] if v in split else plain[v] for v in vectors]
        if sum(demands.phases for demands in chosen) > most_phases:
            continue
        if not all(demands.linear for demands in chosen):
            raise ProofError("optimality: the words of a phase are outside the linear theory")
        whole = [v for v in vectors if v.words > group and v not in split]
        banks = {count for demands in chosen for count in demands.banks}
        search = _ColumnSearch.of(tile, word, group, split, whole, banks)
        if search.beats(1, _Partial.of(chosen, split, whole), conflict_cycles):
            raise ProofError(
                f"optimality: a linear swizzle of groups of {layout.group} elements or more has "
                f"fewer than {conflict_cycles} conflict cycles"
            )


@dataclass(frozen=True, eq=False)
class _Vectors:
    """Accesses of one width, in words, whose lanes' first words have the same differences."""

    words: int
    differences: tuple[int, ...]
    """A basis of the XOR differences between the lanes' first words, if wider than a word."""
    accesses: list[LdsAccess]


def _divisions(vectors: Sequence[_Vectors], smallest: int) -> Iterator[tuple[int, list[_Vectors]]]:
    """Yields every (words of a group, vectors that are split into such groups)."""
    yield smallest, []
    group = smallest
    while wider := [v for v in vectors if v.words > group and v.differences]:
        if len(wider) > _MAX_VECTOR_CLASSES:
            raise ProofError("optimality: too many kinds of vectors to try all ways to split them")
        for choice in range(1, 1 << len(wider)):
            yield group, [v for i, v in enumerate(wider) if choice >> i & 1]
        group *= 2


def _sorted_vectors(
    accesses: list[LdsAccess], bits: int, word: int, smallest: int
) -> list[_Vectors]:
    """Returns the accesses by width and lane differences; raises ProofError for unaligned ones."""
    found: dict[tuple[int, tuple[int, ...]], list[LdsAccess]] = {}
    for access in accesses:
        lanes = [int(start) for start in access.starts.ravel()]
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


def _check_words_stay_whole(lds: Lds, tile: LdsTile, accesses: list[LdsAccess]) -> None:
    """Raises ProofError if splitting an access inside a word runs no more phases than before."""
    group = 1
    while group * tile.element_bits < lds.bank_width_bytes * 8:
        for access in accesses:
            if access.count > group and group * tile.element_bits % 8 == 0:
                plain = _phases_run(lds, tile, PlainLayout(), access)
                if _phases_run(lds, tile, PlainInGroups(group), access) <= plain:
                    raise ProofError("optimality: splitting inside words is outside the theory")
        group *= 2


def _phases_run(lds: Lds, tile: LdsTile, layout: Layout, access: LdsAccess) -> int:
    """Returns the weighted cycles that no conflict causes."""
    cost = count_slowly(lds, tile, layout, access)
    return access.weight * (cost.wavefronts - cost.conflict_cycles)


class _Demands(NamedTuple):
    """What the phases of some accesses demand of a swizzle."""

    weighted: list[tuple[int, int, int]]
    """(difference of touched words, bank mask, weight): what a zero in the bank bits costs."""
    banks: set[int]
    phases: int
    """Weighted phases with any lane."""
    linear: bool
    """Whether the words of every phase are a coset of a subspace."""

    @staticmethod
    def of(lds: Lds, tile: LdsTile, layout: Layout, accesses: list[LdsAccess]) -> _Demands:
        """Returns the demands of accesses that are split as `layout` splits them."""
        found: dict[tuple[int, int], int] = {}
        banks: set[int] = set()
        phases, linear = 0, True
        for access in accesses:
            for bank_count, words in _touched(lds, tile, layout, access):
                banks.add(bank_count)
                phases += access.weight * bool(words)
                origin = min(words, default=0)
                differences = {word ^ origin for word in words}
                linear &= all(a ^ b in differences for a in differences for b in differences)
                for d in differences - {0}:
                    key = (d, bank_count - 1)
                    found[key] = found.get(key, 0) + access.weight
        weighted = [(d, mask, weight) for (d, mask), weight in found.items()]
        return _Demands(weighted, banks, phases, linear)


def _touched(
    lds: Lds, tile: LdsTile, layout: Layout, access: LdsAccess
) -> Iterator[tuple[int, set[int]]]:
    """Yields the number of banks and the touched words of every phase of an access."""
    for m in machine_accesses(lds, tile, layout, access):
        for issue, row in enumerate(m.addresses.tolist()):
            used = [x for x in range(len(row)) if m.active is None or m.active[issue, x]]
            for phase in served_together(m.instruction, {lane: row[lane] for lane in used}):
                lanes = [x for x in phase if x in used]
                words = (words_of(m.instruction, lds, row[lane]) for lane in lanes)
                yield m.instruction.banks, {word for touched in words for word in touched}


class _Partial(NamedTuple):
    """A matrix of which some columns are chosen: what its vectors are under these columns.

    A difference leaves `demands` and `ties` when the column of its highest bit is chosen, because
    no later column changes it.
    """

    demands: list[tuple[int, int, int]]
    """(difference, bank mask, weight): costs the weight if it becomes 0 in the bank bits."""
    ties: list[tuple[int, int]]
    """(difference, mask): must become 0 in the mask, so that a whole vector stays whole."""
    varied: list[tuple[int, int, int]]
    """(difference, class, mask): of each class that is split, one must not be 0 in its mask."""
    changed: int = 0
    """The bits that the chosen columns change."""

    @staticmethod
    def of(chosen: list[_Demands], split: list[_Vectors], whole: list[_Vectors]) -> _Partial:
        """Returns the start: no column is chosen yet."""
        return _Partial(
            [demand for demands in chosen for demand in demands.weighted],
            [(d, v.words - 1) for v in whole for d in v.differences],
            [(d, i, v.words - 1) for i, v in enumerate(split) for d in v.differences],
        )

    def with_column(self, source: int, column: int) -> tuple[_Partial, int] | None:
        """Returns the matrix with one column more, and what that column costs.

        Returns None if the column splits a vector that must stay whole.
        """

        def image(difference: int) -> int:
            return difference ^ column if difference >> source & 1 else difference

        ties = [(image(d), low) for d, low in self.ties]
        if any(_top(d) == source and d & low for d, low in ties):
            return None
        demands = [(image(d), banks, weight) for d, banks, weight in self.demands]
        complete = [each for each in demands if _top(each[0]) == source]
        following = _Partial(
            [each for each in demands if _top(each[0]) > source],
            [each for each in ties if _top(each[0]) > source],
            [(image(d), i, low) for d, i, low in self.varied],
            self.changed | column,
        )
        return following, sum(weight for d, banks, weight in complete if not d & banks)


class _ColumnSearch(NamedTuple):
    """All matrices that divide the vectors in one way. Masks and columns are of word bits."""

    columns: int
    group: int
    """Words of a group: the lowest bit that may change."""
    targets: int
    """The bits that may change."""
    order: int
    """The bits among them that tell the order of the words inside a vector."""
    renaming: int
    """Columns below this one only exchange banks for each other."""
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
        """Returns the search of matrices that change no bit below `group`."""
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

    def beats(self, source: int, partial: _Partial, bound: int) -> bool:
        """Returns whether the columns from `source` on can be chosen to cost less than `bound`."""
        if bound <= 0:
            return False
        if source == self.columns:
            return self.divides(partial)
        allowed = self.targets & ((1 << source) - 1)
        if source < self.renaming or not any(d >> source & 1 for d, _, _ in partial.demands):
            # No conflict depends on this column, but the order inside vectors may.
            allowed &= self.order
        column = allowed
        while True:
            following = partial.with_column(source, column)
            if following and self.beats(source + 1, following[0], bound - following[1]):
                return True
            if not column:
                return False
            column = (column - 1) & allowed

    def divides(self, complete: _Partial) -> bool:
        """Returns whether a matrix splits all that must be split, into groups of `group` words."""
        divided = {i for d, i, low in complete.varied if d & low}
        lowest = complete.changed & -complete.changed
        return len(divided) == self.split and (not self.split or lowest == self.group)


def _top(word: int) -> int:
    return word.bit_length() - 1
