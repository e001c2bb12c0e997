# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layout of an LDS allocation that costs the fewest LDS cycles.

Given every access to an allocation, `solve` returns the layout whose accesses cost least: weighted
LDS cycles, of phases and of conflicts, and an issue slot for each instruction (`issue.py` says why
and how much). A layout that splits wide accesses, or takes pairs of them apart, must save more
cycles than it adds instructions. None that takes more cycles than the plain layout is considered.
Among equals the solver prefers, in this order:

1. fewer LDS cycles;
2. layouts that need no more LDS than the plain one;
3. plain, one `xor_shuffle`, a chain of them, `rotate_rows`, padding, swizzle plus padding;
4. fewer LDS bytes;
5. fewer address patterns: accesses that differ by a constant offset share one address register
   if their physical offsets also differ by a constant, which holds as long as the XOR's source
   bits come from the lane id alone;
6. shorter chains and narrower XORs.

Linear swizzles are searched by linear algebra, one case for each way to split the accesses
(`linear_cases.py`, `constraints.py`, `swizzle_search.py`), paddings are all counted
(`paddings.py`), everything else is searched by exact count. Whatever was searched, the layout that
is returned has been counted exactly, and the decision carries a `Proof` that `proof.check`
verifies independently.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from functools import lru_cache
from itertools import product

from .accesses import LdsAccess, LdsTile
from .errors import InvalidParameterError, is_power_of_two, up_to_power_of_two
from .issue import ISSUE_CYCLES, LayoutCost, LayoutCosts
from .layouts import (
    ALL_KINDS,
    MAX_USEFUL_ALIGNMENT,
    AccessCost,
    Layout,
    LayoutKind,
    PaddedLayout,
    PlainLayout,
    SubByteAccessError,
    SwizzledLayout,
    layout_kind,
)
from .lds_rules import Lds
from .linear_cases import LinearCase, LinearCases
from .linear_swizzle import FieldStep
from .paddings import padding_amounts, padding_choices
from .proof import Optimality, Proof
from .quick_dataclass import dataclass
from .quick_tuple import NamedTuple
from .splitting import Division
from .swizzle_legality import HintRules
from .swizzle_search import (
    cheapest_fields,
    cheapest_swizzles,
    dividing_fields,
    field_steps,
    free_pairs,
)
from .swizzles import RotateRows, XorShuffle, xor_chain
from .vectorization import Vectorization, vectorization

_MOST_KEPT = 16
"""How many decisions are kept: a function has some tiles, of which several passes ask."""


class SolverOptions(NamedTuple):
    """What layouts the solver may choose.

    Attributes:
        kinds: the allowed families; PLAIN is always allowed.
        max_lds_bytes: the most bytes of the allocation, by default the target's LDS.
        max_chain: the most hints on it.
        paddings: the only amounts of padding to consider, in elements; by default any.
        rules: what swizzles must obey so that their hints can be resolved; by default nothing.
        claims_minimum: whether the decision says that it is a `LINEAR_MINIMUM` where it is one,
            which takes time to prove.
    """

    kinds: frozenset[LayoutKind] = ALL_KINDS
    max_lds_bytes: int | None = None
    max_chain: int = 8
    paddings: tuple[int, ...] | None = None
    rules: HintRules | None = None
    claims_minimum: bool = True


class LayoutDecision(NamedTuple):
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
        """Returns the decision in one line."""
        if self.kind is LayoutKind.PLAIN and not self.conflict_cycles:
            return "the plain layout has no bank conflicts"
        cycles = f"{self.plain_conflict_cycles} -> {self.conflict_cycles} conflict cycles"
        size = f"{self.plain_lds_bytes} -> {self.lds_bytes} LDS bytes"
        return f"{self.layout}: {cycles}, {size}; {self.optimality.value}"


class _Candidate(NamedTuple):
    layout: Layout
    cost: LayoutCost
    rank: tuple[object, ...]

    @property
    def conflicts(self) -> int:
        """Returns the weighted conflict cycles."""
        return self.cost.conflict_cycles

    @property
    def phases(self) -> int:
        """Returns the weighted LDS cycles that no conflict causes."""
        return self.cost.cycles - self.cost.conflict_cycles


def solve(
    lds: Lds,
    tile: LdsTile,
    accesses: Iterable[LdsAccess],
    options: SolverOptions | None = None,
    costs: LayoutCosts | None = None,
) -> LayoutDecision:
    """Returns the best layout for `tile` under `accesses`, all of them to the same allocation.

    Layouts that take more LDS cycles than the plain one are not considered, nor swizzles that make
    the accesses run more phases: slivers of an access rarely conflict but cost more cycles than the
    conflicts they avoid.
    `costs` may be those of the same target, tile and accesses, if the caller counts layouts too.

    Among linear swizzles the result has the fewest conflict cycles, and `LINEAR_MINIMUM` says so,
    if accesses are aligned to their size, every phase touches an affine set of words, there are
    no more than about five kinds of vectors, and the search ends within `_MAX_NODES` columns.
    Otherwise it is the best that was found.

    Raises InvalidParameterError for an access outside the tile, for another wave size than the
    target's, and for a tile that does not fit the LDS; SubByteAccessError for accesses that start
    inside a byte.
    """
    if costs is None:
        costs = LayoutCosts(lds, tile, tuple(accesses))
    return _Solver(costs, options or SolverOptions()).solve()


def solve_once(costs: LayoutCosts, options: SolverOptions) -> LayoutDecision:
    """Returns what `solve` returns, and keeps it: passes ask for the same tile one after another.

    Where lanes store directly, rules are more than what accesses demand, and nothing is kept.
    """
    rules = options.rules
    if rules is not None and rules.stores:
        return _Solver(costs, options).solve()
    demands = options._replace(rules=None), None if rules is None else rules.footprints
    key = (costs.lds, costs.tile, *demands, *(access.key for access in costs.accesses))
    return _solved(_Problem(key, costs, options))


@dataclass(frozen=True)
class _Problem:
    """What is to be solved: two with one key have the same decision."""

    key: tuple[object, ...]
    costs: LayoutCosts = field(compare=False)
    options: SolverOptions = field(compare=False)


@lru_cache(_MOST_KEPT)
def _solved(problem: _Problem) -> LayoutDecision:
    """Returns the decision on a problem."""
    return _Solver(problem.costs, problem.options).solve()


class _Solver:
    """One decision; holds what several steps need."""

    def __init__(self, costs: LayoutCosts, options: SolverOptions) -> None:
        self.costs = costs
        self.lds = lds = costs.lds
        self.tile = tile = costs.tile
        self.accesses = costs.accesses
        self.options = options
        limit = lds.workgroup_bytes if options.max_lds_bytes is None else options.max_lds_bytes
        self.plain_bytes = PlainLayout().size_bytes(tile)
        if self.plain_bytes > limit:
            raise InvalidParameterError("tile", f"{self.plain_bytes} bytes", f"up to {limit} bytes")
        self.lds_limit = limit
        self.patterns = costs.patterns
        self.plain = self.count(PlainLayout())
        self.base_wavefronts = self.plain.phases
        self.nodes_left = _MAX_NODES
        self.least_illegal: int | None = None
        """The fewest conflict cycles of the linear swizzles that were left out as illegal."""

    def solve(self) -> LayoutDecision:
        """Tries the families of layouts in order of preference, until none can be better."""
        best = self.plain
        linear_minimum: int | None = None
        if best.conflicts:
            linear, linear_minimum = self.best_linear()
            best = min([best, *linear], key=lambda c: c.rank)
        for family in (self.rotations, self.paddings, self.swizzled_paddings):
            # Where nothing is left to save, another layout could only take as much.
            if best.conflicts or best.cost.instructions > self.plain.cost.instructions:
                best = min([best, *family()], key=lambda c: c.rank)
        optimality = Optimality.BEST_FOUND
        if best.conflicts == 0:
            optimality = Optimality.FLOOR
        elif linear_minimum is not None and linear_minimum >= best.conflicts:
            optimality = Optimality.LINEAR_MINIMUM
        return self.decide(best, optimality)

    def count(self, layout: Layout) -> _Candidate:
        """Counts a layout exactly."""
        cost = self.costs.of(layout)
        size = layout.size_bytes(self.tile)
        rank = (
            *cost.rank,
            size > self.plain_bytes,
            layout_kind(layout),
            size,
            self.patterns.count(layout),
            _arithmetic(layout),
        )
        return _Candidate(layout, cost, rank)

    def allows(self, layout: Layout) -> bool:
        """Returns whether options, rules and LDS size admit the layout."""
        if layout_kind(layout) not in self.options.kinds:
            return False
        if isinstance(layout, SwizzledLayout) and (
            len(layout.swizzles) > self.options.max_chain or not layout.is_bijection(self.tile)
        ):
            return False
        if layout.size_bytes(self.tile) > self.lds_limit:
            return False
        return self.options.rules is None or self.options.rules.allows(layout)

    def admits(self, group: int, conflicts: int) -> bool:
        """Returns whether the rules admit a linear swizzle that moves groups of `group` elements.

        Nothing else of it matters to the rules. `conflicts` is what it costs: what is left out must
        be known where the result is claimed to be the least.
        """
        if self.options.rules is None or self.options.rules.allows_run(group):
            return True
        if self.least_illegal is None or conflicts < self.least_illegal:
            self.least_illegal = conflicts
        return False

    def exact(self, layouts: Iterable[Layout], only_best: bool = False) -> Iterator[_Candidate]:
        """Counts the allowed layouts that take no more cycles than the plain one.

        Args:
            only_best: leaves out those with conflicts that cost more than one before them.
        """
        least: int | None = None
        for layout in filter(self.allows, layouts):
            try:
                cycles, conflicts = self.costs.cycles(layout)
            except SubByteAccessError:
                continue
            # Splitting accesses into slivers has few conflicts and many more phases.
            if cycles > self.plain.cost.cycles:
                continue
            if only_best and conflicts and least is not None and cycles > least:
                continue
            counted = self.count(layout)
            total = counted.cost.rank[0]
            least = total if least is None else min(least, total)
            yield counted

    # -- linear swizzles ---------------------------------------------------------------------

    def best_linear(self) -> tuple[list[_Candidate], int | None]:
        """Returns the best linear swizzles, and the least conflict cycles of all if that is proven.

        First looks for a swizzle without conflicts, case by case. If there is none, the fewest
        conflicts are searched. If there is one that needs more instructions than an earlier case,
        that case may have one that costs less, with fewer conflicts than the instructions saved.
        So may every case if not a linear swizzle but one of the `rotations` has no conflict.
        """
        linear_kinds = {LayoutKind.XOR_SHUFFLE, LayoutKind.CHAIN} & self.options.kinds
        if not linear_kinds or not is_power_of_two(self.tile.element_bits):
            return [], None
        rules = self.options.rules
        unit, block = (rules.unit, rules.block) if rules else (1, self.tile.elements)
        groups, counted = self.group_sizes(), self.costs.phases
        linear = LinearCases(self.lds, self.tile, self.accesses, groups, unit, block, counted)
        cases: list[LinearCase] = []
        found: list[_Candidate] = []

        def illegal(division: Division) -> bool:
            return self.has_illegal_alone(division, linear.to_words)

        for case in linear.cases(self.base_wavefronts, lambda each: not illegal(each)):
            cases.append(case)
            more, _ = self.search_case(case, linear.to_words, 1)
            found += more
            if any(c.conflicts == 0 for c in more):
                return found + self.cheaper_cases(cases[:-1], linear.to_words, found), None
        rotated = self.rotations()
        if any(c.conflicts == 0 for c in rotated):
            # The search is much shorter where its result has something to beat.
            found += rotated
            return found + self.cheaper_cases(cases, linear.to_words, found), None
        proven = self.options.claims_minimum and not (rules and rules.stores)
        fewest = min([self.plain.conflicts, *(c.conflicts for c in found)])
        for case in cases:
            more, complete = self.search_case(case, linear.to_words, fewest)
            found += more
            fewest = min([fewest, *(c.conflicts for c in more)])
            proven = proven and complete
        if proven and linear.cover_everything():
            others = linear.cases(self.base_wavefronts, illegal)
            proven = self.none_illegal_undercuts(others, linear.to_words, fewest)
            return found, fewest if proven else None
        return found, None

    def has_illegal_alone(self, division: Division, to_words: int) -> bool:
        """Returns whether every swizzle that divides the accesses so is illegal."""
        rules = self.options.rules
        run = 1 << max(division.group_bit - to_words, 0)
        return rules is not None and division.changes_group_bit and not rules.allows_run(run)

    def none_illegal_undercuts(
        self, cases: Iterable[LinearCase], to_words: int, fewest: int
    ) -> bool:
        """Returns whether it is proven that no illegal swizzle has less than `fewest` conflict
        cycles, neither in `cases` nor among those that were left out.

        Args:
            cases: those whose swizzles are all illegal.
        """
        for case in cases:
            if self.least_illegal is not None and self.least_illegal < fewest:
                return False
            _, complete = self.search_case(case, to_words, fewest)
            if not complete:
                return False
        return self.least_illegal is None or self.least_illegal >= fewest

    def cheaper_cases(
        self, cases: Sequence[LinearCase], to_words: int, found: Sequence[_Candidate]
    ) -> list[_Candidate]:
        """Returns the best swizzles of `cases` that may cost less than all of `found`."""
        more: list[_Candidate] = []
        for case in cases:
            total = min(candidate.cost.rank[0] for candidate in (self.plain, *found, *more))
            below = total - case.phases - ISSUE_CYCLES * case.least_instructions
            if below > 1:
                more += self.search_case(case, to_words, min(below, self.plain.conflicts))[0]
        return more

    def search_case(
        self, case: LinearCase, to_words: int, below: int
    ) -> tuple[list[_Candidate], bool]:
        """Returns the best swizzles of one case that cost less than `below`.

        Also says whether it is proven that none of the case has fewer conflict cycles than the best
        found (or than `below`). Short chains come first: a single step, then two, then any matrix.
        """
        kinds = self.options.kinds
        bound = case.constraints.pigeonhole_bound(case.space.targets, case.division.vanishing)
        if bound >= below:
            return [], case.exact
        ranked = cheapest_fields(case.constraints, case.division, field_steps(case.space))
        found: list[_Candidate] = []
        if LayoutKind.XOR_SHUFFLE in kinds:
            found += self.search_singles(case, ranked, to_words, below)
            if any(c.conflicts == 0 for c in found):
                return found, True
        if LayoutKind.CHAIN not in kinds or self.options.max_chain < 2:
            return found, False
        if len(case.constraints.vectors) > _MAX_VECTORS:
            return found, False
        pairs = free_pairs(
            case.constraints,
            case.division,
            # Where every swizzle has conflicts, no chain of two steps is free of them.
            [] if bound else ranked,
            lambda bit: self.admits(1 << (bit - to_words), 0),
        )
        if pairs:
            found += self.exact(self.by_arithmetic([_chain(to_words, o, i) for o, i in pairs]))
            if any(c.conflicts == 0 for c in found):
                return found, True
        least = min((c.conflicts for c in found), default=below)
        more, cost, complete = self.search_matrices(case, to_words, min(least, below))
        found += more
        reached = min((c.conflicts for c in found), default=below) <= cost
        return found, case.exact and complete and reached

    def search_singles(
        self,
        case: LinearCase,
        ranked: Sequence[tuple[int, FieldStep]],
        to_words: int,
        below: int,
    ) -> list[_Candidate]:
        """Returns the best single steps; if costs are inexact, some of the best are counted."""
        singles = [
            (cost, step)
            for cost, step in dividing_fields(case.division, ranked)
            if self.admits(1 << (step.target - to_words), cost)
        ]
        if below > 1 and not case.exact:
            some = (_chain(to_words, step) for _, step in singles[:_MAX_INEXACT])
            return list(self.exact(some, only_best=True))
        equals = [step for cost, step in singles if cost == singles[0][0] and cost < below]
        chains = [_chain(to_words, step) for step in equals[:_MAX_EQUALS]]
        return list(self.exact(self.by_arithmetic(chains)))

    def search_matrices(
        self, case: LinearCase, to_words: int, below: int
    ) -> tuple[list[_Candidate], int, bool]:
        """Searches all matrices: (swizzles, what they cost, whether the search is complete)."""
        space, rules = case.space, self.options.rules
        if rules is not None:
            bits = [bit for bit in range(space.targets.bit_length()) if space.targets >> bit & 1]
            refused = sum(1 << b for b in bits if not rules.allows_run(1 << (b - to_words)))
            space = space._replace(refused=refused)
        nodes = min(self.nodes_left, _MAX_NODES_PER_CASE)
        search = cheapest_swizzles(
            case.constraints, space, case.division, below, nodes, self.least_illegal
        )
        self.nodes_left -= search.nodes
        self.least_illegal = search.least_refused
        chains = [SwizzledLayout(xor_chain(s.scaled(-to_words))) for s in search.swizzles]
        return list(self.exact(self.by_arithmetic(chains))), search.cost, search.complete

    def by_arithmetic(self, layouts: Sequence[SwizzledLayout]) -> list[Layout]:
        """Returns the one of some layouts of equal cost that has the cheapest addresses."""
        fewest = min((len(x.swizzles) for x in layouts), default=0)
        shortest = [x for x in layouts if len(x.swizzles) == fewest]
        if len(shortest) < 2:
            return list(shortest)
        return [min(shortest, key=lambda x: (self.patterns.count(x), _arithmetic(x)))]

    def group_sizes(self) -> list[int]:
        """Returns group sizes to try, in elements, the largest first; powers of two.

        The largest leaves every machine access whole, the smallest is a word: a unit-triangular
        swizzle keeps the elements of a word together, and so does not move words by less.
        """
        bits = self.tile.element_bits
        widest = max(min(a.count * bits, MAX_USEFUL_ALIGNMENT * 8) for a in self.accesses)
        word = self.lds.bank_width_bytes * 8
        smallest = max(word // bits, 1, self.options.rules.unit if self.options.rules else 1)
        largest = max(up_to_power_of_two(-(-widest // bits)), smallest)
        sizes: list[int] = []
        while largest >= smallest:
            sizes.append(largest)
            largest //= 2
        return sizes

    # -- everything else ---------------------------------------------------------------------

    def rotations(self) -> list[_Candidate]:
        """Returns `rotate_rows`, and `xor_shuffle`s with a row stride that is no power of two."""
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
        found = list(self.exact(layouts[:_MAX_COUNTED], only_best=True))
        if all(c.conflicts for c in found):
            for counted in self.exact(self.distant_rows(), only_best=True):
                found.append(counted)
                if not counted.conflicts:
                    break
        return found

    def distant_rows(self) -> list[Layout]:
        """Returns swizzles that treat several rows alike, for rows that are no power of two.

        The rows of a bit of the row's number are no bit of an offset then, so that no linear
        swizzle tells them apart. With 32 banks, rows of 12 words begin at 8 different banks, and
        row 8 where row 0 does: `xor_shuffle<12, 6, 96, 1>` exchanges the halves of every second 8
        rows. What moves the largest groups comes first, because it splits no access.
        """
        row, tile = self.tile.row_elements, self.tile.elements
        if is_power_of_two(row):
            return []
        halves = [row >> k for k in range(1, 4) if row % (1 << k) == 0]
        layouts: list[Layout] = []
        for group in sorted({*halves, *self.group_sizes()}, reverse=True):
            for count, rows in product(_GROUPS_OF_A_ROW, _ROWS_ALIKE):
                width, stride = group * count, row * rows
                if stride < tile and stride % width == 0:
                    layouts.append(SwizzledLayout((XorShuffle(width, group, stride),)))
                if count == 2 and rows > 2 and tile % stride == 0 and row % group == 0:
                    layouts.append(SwizzledLayout((RotateRows(stride, group),)))
        allowed = [layout for layout in layouts if layout_kind(layout) in self.options.kinds]
        return allowed[:_MAX_DISTANT]

    def paddings(self) -> list[_Candidate]:
        """Returns the best of the `padding_choices`, if padding helps at all."""
        if LayoutKind.PADDING not in self.options.kinds:
            return []
        if self.options.paddings is not None:
            return list(self.exact(PaddedLayout(p) for p in self.options.paddings if p))
        *_, best = padding_choices(
            self.lds, self.tile, self.accesses, self.lds_limit, costs=self.costs
        )
        if not best.padding_elements:
            return []
        return list(self.exact([PaddedLayout(best.padding_elements)]))

    def swizzled_paddings(self) -> list[_Candidate]:
        """Returns one `xor_shuffle` of padded rows, for the paddings that keep vectors aligned."""
        if LayoutKind.SWIZZLE_AND_PADDING not in self.options.kinds:
            return []
        layouts: list[Layout] = []
        group = self.group_sizes()[0]
        for padding in padding_amounts(self.lds, self.tile, self.lds_limit):
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
            for now, before in zip(best.cost.accesses, self.plain.cost.accesses, strict=True)
        )
        proof = Proof(
            arch=self.lds.arch,
            tile=self.tile,
            layout=best.layout,
            lds_bytes=size,
            costs=best.cost.accesses,
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
            vectorization=vectorization(self.tile, self.accesses)._replace(split_accesses=split),
            costs=best.cost.accesses,
            proof=proof,
        )


# Bounds on exact counts and searches, so that a decision stays within some milliseconds.
_MAX_EQUALS = 16
_MAX_INEXACT = 12
_MAX_VECTORS = 1000
_MAX_NODES_PER_CASE = 1500
_MAX_NODES = 8000
_MAX_COUNTED = 16
_MAX_DISTANT = 64
_GROUPS_OF_A_ROW = (2, 4, 8)
_ROWS_ALIKE = (1, 2, 4, 8, 16, 32)


def _chain(to_words: int, *steps: FieldStep) -> SwizzledLayout:
    """Returns the chain of single swizzles of words, outermost first."""
    chains = [xor_chain(step.linear.scaled(-to_words)) for step in steps]
    return SwizzledLayout(tuple(swizzle for chain in chains for swizzle in chain))


def _arithmetic(layout: Layout) -> tuple[int, ...]:
    """Returns what the offset arithmetic costs: XORs, then XORed bits, then odd parameters."""
    if not isinstance(layout, SwizzledLayout):
        return (0,)
    bits = sum(s.groups_per_row.bit_length() - 1 for s in layout.swizzles)
    strides = sum(s.skips_rows for s in layout.swizzles)
    widths = sum(s.access_width for s in layout.swizzles)
    return (len(layout.swizzles), bits, strides, -widths)
