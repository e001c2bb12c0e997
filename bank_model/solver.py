# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layout of an LDS allocation with the fewest bank-conflict cycles.

Given every access to an allocation, `solve` returns the layout with the fewest weighted conflict
cycles. Among equals it prefers, in this order:

1. layouts that need no more LDS than the plain one;
2. fewer machine instructions (wide accesses stay whole);
3. plain, one `xor_shuffle`, a chain of them, `rotate_rows`, padding, swizzle plus padding;
4. fewer LDS bytes;
5. fewer address patterns: accesses that differ by a constant offset share one address register
   if their physical offsets also differ by a constant, which holds as long as the XOR's source
   bits come from the lane id alone;
6. shorter chains and narrower XORs.

Linear swizzles are searched by linear algebra (`constraints.py`, `swizzle_search.py`), everything
else by exact count. Whatever was searched, the layout that is returned has been counted exactly,
and the decision carries a `Proof` that `proof.check` verifies independently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from .accesses import LdsAccess, LdsTile
from .address_patterns import AddressPatterns
from .constraints import BankConstraints, PlainInGroups, bank_constraints
from .errors import InvalidParameterError, is_power_of_two
from .layouts import (
    MAX_USEFUL_ALIGNMENT,
    AccessCost,
    Layout,
    PaddedLayout,
    PlainLayout,
    SubByteAccessError,
    SwizzledLayout,
    access_costs,
)
from .padding_counts import PaddedCounts
from .proof import Optimality, Proof
from .swizzle_search import (
    FieldXor,
    SearchSpace,
    cheapest_fields,
    cheapest_swizzles,
    field_xors,
    free_pairs,
)
from .swizzles import RotateRows, XorShuffle
from .targets import Target
from .vectorization import Vectorization, vectorization


class LayoutKind(IntEnum):
    """Families of layouts, the preferred ones first."""

    PLAIN = 0
    XOR_SHUFFLE = 1
    CHAIN = 2
    ROTATE_ROWS = 3
    PADDING = 4
    SWIZZLE_AND_PADDING = 5


ALL_KINDS = frozenset(LayoutKind)


def layout_kind(layout: Layout) -> LayoutKind:
    """The family that `layout` belongs to."""
    if isinstance(layout, PlainLayout):
        return LayoutKind.PLAIN
    if isinstance(layout, PaddedLayout):
        return LayoutKind.PADDING
    if layout.padding_elements:
        return LayoutKind.SWIZZLE_AND_PADDING
    if any(isinstance(s, RotateRows) for s in layout.swizzles):
        return LayoutKind.ROTATE_ROWS
    return LayoutKind.XOR_SHUFFLE if len(layout.swizzles) == 1 else LayoutKind.CHAIN


@dataclass(frozen=True)
class SolverOptions:
    """What layouts the solver may choose.

    `kinds` are the allowed families; PLAIN is always allowed. `max_lds_bytes` bounds the
    allocation (the target's LDS by default), `max_chain` the hints on it. `is_legal` is asked
    before a layout is chosen and may veto it, for reasons that the bank model does not know.
    """

    kinds: frozenset[LayoutKind] = ALL_KINDS
    max_lds_bytes: int | None = None
    max_chain: int = 8
    is_legal: Callable[[Layout], bool] | None = None


@dataclass(frozen=True)
class LayoutDecision:
    """The chosen layout of an allocation, what it costs, and the proof."""

    layout: Layout
    kind: LayoutKind
    conflict_cycles: int
    """Weighted, by exact count."""
    plain_conflict_cycles: int
    lds_bytes: int
    plain_lds_bytes: int
    address_patterns: int
    """Address registers that the accesses need, up to constant offsets."""
    optimality: Optimality
    vectorization: Vectorization
    costs: tuple[AccessCost, ...]
    """Per access, without weights."""
    proof: Proof

    @property
    def reason(self) -> str:
        """The decision in one line."""
        if self.kind is LayoutKind.PLAIN and not self.conflict_cycles:
            return "the plain layout has no bank conflicts"
        cycles = f"{self.plain_conflict_cycles} -> {self.conflict_cycles} conflict cycles"
        size = f"{self.plain_lds_bytes} -> {self.lds_bytes} LDS bytes"
        return f"{self.layout}: {cycles}, {size}; {self.optimality.value}"


@dataclass(frozen=True)
class _Candidate:
    layout: Layout
    costs: tuple[AccessCost, ...]
    conflicts: int
    rank: tuple[object, ...]


def solve(
    target: Target,
    tile: LdsTile,
    accesses: Iterable[LdsAccess],
    options: SolverOptions | None = None,
) -> LayoutDecision:
    """The best layout for `tile` under `accesses`, all of them to the same allocation.

    Layouts that make the accesses run more phases than the plain one does are not considered:
    slivers of an access rarely conflict but cost more cycles than the conflicts they avoid.

    Raises InvalidParameterError for an access outside the tile, for another wave size than the
    target's, and for a tile that does not fit the LDS; SubByteAccessError for accesses that start
    inside a byte.
    """
    return _Solver(target, tile, list(accesses), options or SolverOptions()).solve()


@dataclass(frozen=True)
class _Level:
    """The search for swizzles of groups of `group` elements."""

    group: int
    constraints: BankConstraints
    space: SearchSpace
    splits: bool
    """The groups may split accesses that larger groups leave whole."""
    to_words: int
    """Element bit i is word bit i + to_words."""


class _Solver:
    """One decision; holds what several steps need."""

    def __init__(
        self, target: Target, tile: LdsTile, accesses: list[LdsAccess], options: SolverOptions
    ) -> None:
        self.target = target
        self.tile = tile
        self.accesses = accesses
        self.options = options
        limit = target.lds_bytes if options.max_lds_bytes is None else options.max_lds_bytes
        self.plain_bytes = PlainLayout().size_bytes(tile)
        if self.plain_bytes > limit:
            raise InvalidParameterError("tile", f"{self.plain_bytes} bytes", f"up to {limit} bytes")
        self.lds_limit = limit
        self.patterns = AddressPatterns(tile, accesses)
        self.plain = self.count(PlainLayout())
        self.base_wavefronts = self.phases_run(self.plain)

    def solve(self) -> LayoutDecision:
        """Families in order of preference, until one has no conflict cycles."""
        best = self.plain
        linear_minimum: int | None = None
        if best.conflicts:
            linear, linear_minimum = self.best_linear()
            best = min([best, *linear], key=lambda c: c.rank)
        for family in (self.rotations, self.paddings, self.swizzled_paddings):
            if best.conflicts:
                best = min([best, *family()], key=lambda c: c.rank)
        optimality = Optimality.BEST_FOUND
        if best.conflicts == 0:
            optimality = Optimality.FLOOR
        elif linear_minimum is not None and linear_minimum >= best.conflicts:
            optimality = Optimality.LINEAR_MINIMUM
        return self.decide(best, optimality)

    def count(self, layout: Layout) -> _Candidate:
        """Counts a layout exactly."""
        costs = access_costs(self.target, self.tile, layout, self.accesses)
        conflicts = self.weighted(c.conflict_cycles for c in costs)
        size = layout.size_bytes(self.tile)
        rank = (
            conflicts,
            size > self.plain_bytes,
            self.weighted(c.instructions for c in costs),
            layout_kind(layout),
            size,
            self.patterns.count(layout),
            _arithmetic(layout),
        )
        return _Candidate(layout, costs, conflicts, rank)

    def weighted(self, per_access: Iterable[int]) -> int:
        """The sum over accesses, times their weights."""
        return sum(a.weight * n for a, n in zip(self.accesses, per_access, strict=True))

    def phases_run(self, candidate: _Candidate) -> int:
        """Wavefronts of a candidate that no conflict causes."""
        return self.weighted(c.wavefronts for c in candidate.costs) - candidate.conflicts

    def allows(self, layout: Layout) -> bool:
        """Whether options and LDS size admit the layout."""
        if layout_kind(layout) not in self.options.kinds:
            return False
        if isinstance(layout, SwizzledLayout) and (
            len(layout.swizzles) > self.options.max_chain or not layout.is_bijection(self.tile)
        ):
            return False
        if layout.size_bytes(self.tile) > self.lds_limit:
            return False
        return self.options.is_legal is None or self.options.is_legal(layout)

    def exact(self, layouts: Iterable[Layout]) -> Iterator[_Candidate]:
        """Counts the allowed layouts that run no more phases than the plain one."""
        for layout in layouts:
            if self.allows(layout):
                try:
                    counted = self.count(layout)
                except SubByteAccessError:
                    continue
                # Splitting accesses into slivers has few conflicts and many more phases.
                if self.phases_run(counted) <= self.base_wavefronts:
                    yield counted

    # -- linear swizzles ---------------------------------------------------------------------

    def best_linear(self) -> tuple[list[_Candidate], int | None]:
        """The best linear swizzles, and the least conflict cycles of all if that is proven.

        First looks for a swizzle without conflicts, of large groups, then of smaller ones. Only
        if there is none, the fewest conflicts are searched.
        """
        bits_per_word = self.target.bank_width_bytes * 8
        linear_kinds = {LayoutKind.XOR_SHUFFLE, LayoutKind.CHAIN} & self.options.kinds
        if not linear_kinds or not is_power_of_two(self.tile.element_bits):
            return [], None
        # Element bit i is word bit i + to_words.
        to_words = self.tile.element_bits.bit_length() - bits_per_word.bit_length()
        levels: list[_Level] = []
        for index, group in enumerate(self.group_sizes()):
            try:
                constraints = bank_constraints(self.target, self.tile, self.accesses, group)
            except SubByteAccessError:
                continue
            if constraints.phases > self.base_wavefronts:
                continue
            group_bit = max(group.bit_length() - 1 + to_words, 0)
            space = self.search_space(group_bit, to_words, constraints)
            if index == 0:
                space = replace(space, static_targets=self.static_targets(group_bit, to_words))
            level = _Level(group, constraints, space, index > 0, to_words)
            levels.append(level)
            found, _ = self.search_level(level, 1)
            if any(c.conflicts == 0 for c in found):
                return found, None
        found: list[_Candidate] = []
        minimum: int | None = self.plain.conflicts
        for level in levels:
            more, complete = self.search_level(level, self.plain.conflicts)
            found += more
            if not complete:
                minimum = None
            elif minimum is not None:
                minimum = min([minimum, *(c.conflicts for c in more)])
        if not levels or self.splits(levels[0].group) or self.splits(self.group_sizes()[-1]):
            # Some accesses may split while others are only reordered: that is not searched.
            minimum = None
        return found, minimum

    def search_level(self, level: _Level, below: int) -> tuple[list[_Candidate], bool]:
        """The best swizzles of one group size with a cost less than `below`.

        Also says whether none of that group size has fewer conflict cycles than the best found
        (or than `below`), proven.
        """
        exact = level.constraints.exact
        kinds = self.options.kinds
        found: list[_Candidate] = []
        if not level.space.all_targets:
            return found, exact
        if level.constraints.pigeonhole_bound(level.space.all_targets) >= below:
            return found, exact
        constraints, space = level.constraints, level.space
        ranked = cheapest_fields(constraints, field_xors(space))
        if LayoutKind.XOR_SHUFFLE in kinds:
            found += self.exact(self.single_layouts(level, ranked, below))
            if any(c.conflicts == 0 for c in found):
                return found, True
        if LayoutKind.CHAIN not in kinds or self.options.max_chain < 2:
            return found, False
        if len(constraints.vectors) > _MAX_VECTORS:
            return found, False
        pairs = free_pairs(constraints, ranked, space.group_bit if level.splits else None)
        if pairs:
            found += self.exact(self.by_arithmetic([self.chain(level, o, i) for o, i in pairs]))
            if any(c.conflicts == 0 for c in found):
                return found, True
        best = min((c.conflicts for c in found), default=below)
        search = cheapest_swizzles(constraints, space, level.splits, min(best, below))
        chains = [s.scaled(-level.to_words).factor(shortest=False) for s in search.swizzles]
        found += self.exact(self.by_arithmetic([SwizzledLayout(chain) for chain in chains]))
        reached = min((c.conflicts for c in found), default=below) <= search.cost
        return found, exact and search.complete and reached

    def single_layouts(
        self, level: _Level, ranked: list[tuple[int, FieldXor]], below: int
    ) -> list[Layout]:
        """The most promising single swizzles: the cheapest, or some if costs are not exact."""
        if level.splits:
            # Larger groups belong to another level.
            ranked = [(cost, x) for cost, x in ranked if x.target == level.space.group_bit]
        if below > 1 and not level.constraints.exact:
            return [self.chain(level, x) for _, x in ranked[:_MAX_INEXACT]]
        keep = [x for cost, x in ranked if cost == ranked[0][0] and cost < below]
        return self.by_arithmetic([self.chain(level, x) for x in keep[:_MAX_EQUALS]])

    def chain(self, level: _Level, *fields: FieldXor) -> SwizzledLayout:
        """The chain of single swizzles, outermost first."""
        swizzles = [f.swizzle().scaled(-level.to_words).factor(shortest=False) for f in fields]
        return SwizzledLayout(tuple(s for step in swizzles for s in step))

    def by_arithmetic(self, layouts: Sequence[SwizzledLayout]) -> list[Layout]:
        """Layouts of equal cost, the one with the cheapest addresses first.

        Only that one is kept, unless `is_legal` may veto it.
        """
        ranked: list[Layout] = sorted(
            layouts,
            key=lambda x: (_arithmetic(x)[0], self.patterns.count(x), _arithmetic(x)),
        )
        return ranked[:1] if self.options.is_legal is None else ranked

    def splits(self, group: int) -> bool:
        """Whether groups of this size split accesses, which then are not aligned to it."""
        grouped = access_costs(self.target, self.tile, PlainInGroups(group), self.accesses)
        return any(
            a.instructions != b.instructions for a, b in zip(grouped, self.plain.costs, strict=True)
        )

    def group_sizes(self) -> list[int]:
        """Group sizes to try, in elements, the largest first; powers of two.

        The largest leaves every machine access whole, the smallest is a word: groups within a
        word change nothing, because a unit-triangular swizzle keeps the elements of a word
        together.
        """
        bits = self.tile.element_bits
        widest = max(min(a.count * bits, MAX_USEFUL_ALIGNMENT * 8) for a in self.accesses)
        word = self.target.bank_width_bytes * 8
        smallest = max(word // bits, 1)
        largest = max(1 << (-(-widest // bits) - 1).bit_length(), smallest)
        sizes: list[int] = []
        while largest >= smallest:
            sizes.append(largest)
            largest //= 2
        return sizes

    def search_space(
        self, group_bit: int, to_words: int, constraints: BankConstraints
    ) -> SearchSpace:
        """The bits that a swizzle of the tile may use."""
        last_word = max(self.tile.elements - 1, 0)
        last_word = last_word << to_words if to_words > 0 else last_word >> -to_words
        # A swizzle whose highest target is bit t permutes aligned blocks of 2**(t+1) elements.
        bank_bits = int(constraints.bank_masks.max(initial=0)).bit_length()
        mask = 0
        for bit in range(group_bit, bank_bits):
            element_bit = bit - to_words
            if element_bit >= 0 and self.tile.elements % (2 << element_bit) == 0:
                mask |= 1 << bit
        return SearchSpace(last_word.bit_length(), group_bit, mask)

    def static_targets(self, group_bit: int, to_words: int) -> tuple[tuple[int, int], ...]:
        """Word bits below the group with the source bits that may not change them.

        These are the bits in which lanes or waves of an access wider than the bit differ.
        """
        found: list[tuple[int, int]] = []
        for bit in range(max(to_words, 0), group_bit):
            element_bit = bit - to_words
            lane_bits = 0
            for access in self.accesses:
                if access.count > 1 << element_bit and access.elements.size:
                    used = access.elements
                    used = used.ravel() if access.active is None else used[access.active]
                    if used.size:
                        lane_bits |= int(np.bitwise_or.reduce(used ^ used[0]))
            lane_bits = lane_bits << to_words if to_words > 0 else lane_bits >> -to_words
            if self.tile.elements % (2 << element_bit) == 0:
                found.append((bit, lane_bits))
        return tuple(found)

    # -- everything else ---------------------------------------------------------------------

    def rotations(self) -> list[_Candidate]:
        """`rotate_rows`, and `xor_shuffle`s with a row stride that is no power of two."""
        row = self.tile.row_elements
        groups = [g for g in self.group_sizes() if row % g == 0]
        layouts: list[Layout] = []
        if not is_power_of_two(row):
            for group in groups:
                width = group * 2
                while row % width == 0:
                    layouts += [
                        SwizzledLayout((XorShuffle(width, group, row, phase),))
                        for phase in (1, 2, 4)
                        if phase <= width // group
                    ]
                    width *= 2
        for group in groups:
            widths = {row, row * 2, *(group << k for k in range(1, 8))}
            layouts += [
                SwizzledLayout((RotateRows(width, group),))
                for width in sorted(widths)
                if width > group and self.tile.elements % width == 0 and width <= row * 2
            ]
        return list(self.exact(layouts[:_MAX_COUNTED]))

    def paddings(self) -> list[_Candidate]:
        """Every padding; bank and alignment repeat after one turn of the banks."""
        if LayoutKind.PADDING not in self.options.kinds:
            return []
        paddings = self.padding_amounts()
        predicted = PaddedCounts(self.target, self.tile, self.accesses).count(paddings)
        usable = [
            (conflicts, instructions, padding)
            for padding, (conflicts, instructions, phases) in zip(paddings, predicted, strict=True)
            if phases <= self.base_wavefronts
        ]
        found: list[_Candidate] = []
        for _, _, padding in sorted(usable):
            # Candidates come best first; later ones only matter when earlier ones are vetoed.
            found += self.exact([PaddedLayout(padding)])
            if found:
                break
        return found

    def padding_amounts(self) -> list[int]:
        """Paddings in elements: up to one turn of the banks, whole bytes, within the limit."""
        turn = max(i.banks for i in self.target.instructions) * self.target.bank_width_bytes
        bits, rows = self.tile.element_bits, self.tile.elements // self.tile.row_elements
        amounts: list[int] = []
        for padding in range(1, turn * 8 // bits + 1):
            if (self.tile.row_elements + padding) * bits % 8:
                continue
            if rows * (self.tile.row_elements + padding) * bits > self.lds_limit * 8:
                break
            amounts.append(padding)
        return amounts

    def swizzled_paddings(self) -> list[_Candidate]:
        """One `xor_shuffle` of padded rows, for the paddings that keep vectors aligned."""
        if LayoutKind.SWIZZLE_AND_PADDING not in self.options.kinds:
            return []
        layouts: list[Layout] = []
        group = self.group_sizes()[0]
        for padding in self.padding_amounts():
            pitch = self.tile.row_elements + padding
            if padding % group or pitch % (2 * group):
                continue
            width = 2 * group
            while pitch % width == 0:
                layouts += [
                    SwizzledLayout((XorShuffle(width, group, pitch, phase),), padding)
                    for phase in (1, 2, 4)
                    if phase <= width // group
                ]
                width *= 2
        return list(self.exact(layouts[:_MAX_COUNTED]))

    # -- the result --------------------------------------------------------------------------

    def decide(self, best: _Candidate, optimality: Optimality) -> LayoutDecision:
        """Wraps up the decision with its proof."""
        size = best.layout.size_bytes(self.tile)
        split = sum(
            now.instructions > before.instructions
            for now, before in zip(best.costs, self.plain.costs, strict=True)
        )
        proof = Proof(
            arch=self.target.arch,
            tile=self.tile,
            layout=best.layout,
            lds_bytes=size,
            costs=best.costs,
            conflict_cycles=best.conflicts,
            plain_conflict_cycles=self.plain.conflicts,
            optimality=optimality,
        )
        return LayoutDecision(
            layout=best.layout,
            kind=layout_kind(best.layout),
            conflict_cycles=best.conflicts,
            plain_conflict_cycles=self.plain.conflicts,
            lds_bytes=size,
            plain_lds_bytes=self.plain_bytes,
            address_patterns=self.patterns.count(best.layout),
            optimality=optimality,
            vectorization=replace(vectorization(self.tile, self.accesses), split_accesses=split),
            costs=best.costs,
            proof=proof,
        )


# Bounds on exact counts, so that a decision stays within some milliseconds.
_MAX_EQUALS = 16
_MAX_INEXACT = 12
_MAX_VECTORS = 1000
_MAX_COUNTED = 16


def _arithmetic(layout: Layout) -> tuple[int, ...]:
    """Cost of the offset arithmetic: XORs, then XORed bits, then oddities of the parameters."""
    if not isinstance(layout, SwizzledLayout):
        return (0,)
    bits = sum(s.groups_per_row.bit_length() - 1 for s in layout.swizzles)
    strides = sum(
        isinstance(s, XorShuffle) and s.row_stride != s.row_width for s in layout.swizzles
    )
    widths = sum(s.access_width for s in layout.swizzles)
    return (len(layout.swizzles), bits, strides, -widths)
