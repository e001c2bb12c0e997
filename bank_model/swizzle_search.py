# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search for a linear swizzle with the least cost under bank constraints.

All bits are bits of a word index. A constraint (`constraints.py`) is a vector with a weight, and a
swizzle costs the weights of the vectors that it sends to bank 0. The search chooses the matrix of a
swizzle column by column: column j says into which lower bits bit j is XORed. The image of a vector
is complete once the column of its highest bit is chosen. So the cost is a sum over columns:

    column j costs the weight of the vectors with highest bit j whose images hit bank 0.

Let f be the image of such a vector before column j is chosen. The vector hits bank 0 exactly if
column j equals f in the bank bits. So each vector forbids one value of the column, and the cost of
every value is read from a histogram of forbidden values.

Worked example: 4 banks, the bits 0 and 1, and the vectors 4 (100), 8 (1000) and 12 (1100), each of
weight 1. Column 2 must not be 00, because of vector 4: choose 01. Vector 12 then has the image 01
so far, so that column 3 must be neither 00 (vector 8) nor 01 (vector 12). The swizzle with columns
01 and 10 costs nothing; with the columns 01 and 01 it would cost 1.

The search is depth-first, and leaves a branch once its cost reaches that of the best swizzle so
far. So it is exact. Columns below the bank bits only exchange banks for each other, and columns on
which no vector depends change no cost: both stay empty.

What a swizzle costs also depends on which wide accesses it splits. Each search is for one way to
divide the accesses (`Division`). Some accesses stay whole if certain vectors do not hit bank 0 at
all, so that these vectors enter the search with a forbidding weight. Whether the other accesses are
split is asked when a swizzle is complete (`splitting.py`).

Rules may refuse swizzles by the lowest bit that they change. Of the refused ones only the least
cost is asked for, so that the search also leaves a branch that ends in refused ones alone, once its
cost reaches the least cost of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .constraints import BankConstraints
from .linear_swizzle import FieldStep, LinearSwizzle
from .quick_dataclass import dataclass
from .quick_tuple import NamedTuple
from .splitting import Division, submasks

if TYPE_CHECKING:
    import numpy.typing as npt


# Beyond any sum of weights: never affordable.
_FORBIDDEN = 1 << 40
# Each column looks at all vectors.
_MAX_VECTORS = 2000


class SearchSpace(NamedTuple):
    """What a search may choose.

    Attributes:
        bits: a word index has the bits below this one.
        targets: a mask of the bits that a swizzle may change.
        refused: those of them that may not be the lowest one that a swizzle changes.
    """

    bits: int
    targets: int
    refused: int = 0

    def targets_of(self, source: int) -> int:
        """Returns a mask of the bits into which bit `source` may be XORed."""
        return self.targets & ((1 << source) - 1)


def field_steps(space: SearchSpace) -> list[FieldStep]:
    """Returns every single `xor_shuffle` of the space, the simplest first.

    A step with fewer bits takes less arithmetic, and one that moves wide groups leaves wide
    accesses whole.
    """
    found: list[FieldStep] = []
    for target in range(space.targets.bit_length()):
        for source in range(target + 1, space.bits):
            width = 1
            while (
                source + width <= space.bits
                and target + width <= source
                and space.targets >> (target + width - 1) & 1
            ):
                found.append(FieldStep(target, width, source))
                width += 1
    return sorted(found, key=lambda x: (x.width, -x.target, x.source))


def _swizzled(fields: Sequence[FieldStep], x: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Applies every step to all of `x` [..., vectors]; returns [fields, ..., vectors]."""
    return _swizzled_each(fields, np.broadcast_to(x, (len(fields), *x.shape)))


def _swizzled_each(fields: Sequence[FieldStep], x: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Applies each step to its own row of `x` [fields, ...]."""
    columns = np.array([(f.target, f.width, f.source) for f in fields], dtype=np.int64)
    target, width, source = columns.reshape(-1, 3).T.reshape(3, -1, *[1] * (x.ndim - 1))
    return x ^ ((x >> source) & ((1 << width) - 1)) << target


def cheapest_fields(
    constraints: BankConstraints, division: Division, fields: Sequence[FieldStep]
) -> list[tuple[int, FieldStep]]:
    """Returns the steps that keep whole what `division` keeps whole, with costs, cheapest first.

    Steps of equal cost stay in the given order.
    """
    keeps = division.keeps_whole(_swizzled(fields, division.differences))
    kept = [fields[i] for i in np.flatnonzero(keeps).tolist()]
    costs = constraints.cost(_swizzled(kept, constraints.vectors)).tolist()
    order = sorted(range(len(kept)), key=costs.__getitem__)
    return [(costs[i], kept[i]) for i in order]


def dividing_fields(
    division: Division, ranked: Sequence[tuple[int, FieldStep]]
) -> list[tuple[int, FieldStep]]:
    """Returns those of `ranked` that alone divide the accesses as `division` says."""
    if not division.changes_group_bit:
        return list(ranked)
    holds = division.holds(_swizzled([field for _, field in ranked], division.differences))
    return [
        (cost, field)
        for (cost, field), split in zip(ranked, holds.tolist(), strict=True)
        if split and field.target == division.group_bit
    ]


def free_pairs(
    constraints: BankConstraints,
    division: Division,
    ranked: Sequence[tuple[int, FieldStep]],
    admits: Callable[[int], bool] = lambda bit: True,
    max_pairs: int = 16,
) -> list[tuple[FieldStep, FieldStep]]:
    """Returns chains (outer, inner) of two steps that cost nothing and divide as `division` says.

    Each of the cheapest steps is tried with all others, in both orders. That is a quick look before
    the full search, and finds chains that are as short as can be. `admits` is asked about the
    lowest bit that a chain changes.
    """
    fields = [field for _, field in ranked]
    top = fields[:12]
    if not top:
        return []
    pairs: list[tuple[FieldStep, FieldStep]] = []
    for outer, inner in ((fields, top), (top, fields)):
        costs = constraints.cost(_swizzled(outer, _swizzled(inner, constraints.vectors)))
        pairs += [(outer[i], inner[j]) for i, j in np.argwhere(costs == 0).tolist()]
    # With the same lowest bits the two undo each other there, and only split accesses.
    pairs = [(o, i) for o, i in pairs if (o.target, o.source) != (i.target, i.source)]
    if division.changes_group_bit:
        pairs = [(o, i) for o, i in pairs if division.group_bit in (o.target, i.target)]
    if not pairs:
        return []
    outers, inners = zip(*pairs, strict=True)
    images = _swizzled_each(outers, _swizzled(inners, division.differences))
    pairs = [pairs[i] for i in np.flatnonzero(division.holds(images)).tolist()]
    pairs = [(o, i) for o, i in pairs if admits(min(o.target, i.target))]
    return sorted(pairs, key=lambda pair: pair[0].width + pair[1].width)[:max_pairs]


class SearchResult(NamedTuple):
    """The result of a search.

    Attributes:
        cost: what each of `swizzles` costs; without any, the bound that none undercut.
        swizzles: the cheapest that were found.
        complete: no swizzle of the space that is not refused is cheaper, and no refused one is
            cheaper than both `cost` and `least_refused`.
        nodes: how many columns were tried.
        least_refused: the least cost of the refused ones that were seen; None without any.
    """

    cost: int
    swizzles: tuple[LinearSwizzle, ...]
    complete: bool
    nodes: int = 0
    least_refused: int | None = None


def cheapest_swizzles(
    constraints: BankConstraints,
    space: SearchSpace,
    division: Division,
    below: int,
    max_nodes: int,
    least_refused: int | None = None,
    max_solutions: int = 8,
) -> SearchResult:
    """Searches for the cheapest swizzles that divide the accesses as `division` says.

    The identity is left out, and so is what the space refuses. If many swizzles are equally cheap,
    some of them are returned. The search is deterministic.

    Args:
        below: only swizzles that cost less than this are of interest.
        least_refused: what a refused swizzle is known to cost, if that is known of one.
        max_nodes: the search gives up after this many columns. Otherwise it is complete: it has
            tried everything, or has found a swizzle that costs no more than the pigeonhole bound.
    """
    bound = constraints.least_cost(space.targets, division.vanishing)
    if bound >= below:
        return SearchResult(below, (), True, least_refused=least_refused)
    if max_nodes <= 0:
        return SearchResult(below, (), False, least_refused=least_refused)
    bank_bits = min(constraints.common_bank_bits, space.bits)
    vectors, masks = division.lone_bits(bank_bits)
    x = np.concatenate([constraints.vectors, np.array(vectors, dtype=np.int64)])
    bank_masks = np.concatenate([constraints.bank_masks, np.array(masks, dtype=np.int64)])
    weights = np.concatenate([constraints.weights, np.full(len(masks), _FORBIDDEN)])
    if len(x) > _MAX_VECTORS:
        return SearchResult(below, (), False, least_refused=least_refused)
    tops = np.array([v.bit_length() - 1 for v in x.tolist()])
    columns: list[_Column] = []
    for j in range(bank_bits, space.bits):
        finished = np.flatnonzero(tops == j)
        passing = np.flatnonzero((x >> j & 1 == 1) & (tops > j))
        choices = space.targets_of(j)
        if not finished.size and not passing.size:
            choices &= _dividing_targets(division, j)
        values = np.array(submasks(choices), dtype=np.int64)
        masks = bank_masks[finished]
        columns.append(_Column(j, finished, masks, weights[finished], passing, values))
    walk = _Walk(division, bank_bits, space, below, bound, max_nodes, max_solutions, least_refused)
    walk.descend(columns, x, 0, [])
    nodes = max_nodes - walk.nodes_left
    found = tuple(walk.solutions)
    return SearchResult(walk.best_cost, found, walk.complete, nodes, walk.least_refused)


def _dividing_targets(division: Division, source: int) -> int:
    """Returns the bits that a column may change if no vector depends on it: to split accesses."""
    if any(d >> source & 1 for c in division.split for d in c.differences):
        return sum(1 << row for row in division.rows)
    return 1 << division.group_bit if division.changes_group_bit else 0


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of the matrix that is to be chosen, and the vectors that depend on it."""

    source: int
    finished: npt.NDArray[np.intp]
    """Indices of the vectors whose highest bit is this column's."""
    masks: npt.NDArray[np.int64]
    weights: npt.NDArray[np.int64]
    """Their bank masks and weights."""
    passing: npt.NDArray[np.intp]
    """Indices of the vectors that have this bit and a higher one."""
    values: npt.NDArray[np.int64]
    """Allowed target masks, the preferred ones first."""

    def ranked(
        self, images: npt.NDArray[np.int64], affordable: int
    ) -> tuple[npt.NDArray[np.int64], Sequence[int]]:
        """Returns what each value of the column costs, and the affordable values, cheapest first.

        `images` are those of all vectors under the columns before this one.
        """
        if not self.finished.size:
            return np.zeros(len(self.values), dtype=np.int64), range(len(self.values))
        # A vector hits bank 0 if the value equals its image in the bank bits. Where the column's
        # own bit is a bank bit, it is set in the image and in no value: they never are equal.
        forbidden = images[self.finished]
        costs = (((self.values[:, None] ^ forbidden) & self.masks) == 0) @ self.weights
        choices = np.flatnonzero(costs <= affordable)
        return costs, choices[np.argsort(costs[choices], kind="stable")].tolist()


@dataclass
class _Walk:
    """The state of one depth-first search: its goal, what it has found, what it may still visit."""

    division: Division
    bank_bits: int
    space: SearchSpace
    best_cost: int
    bound: int
    nodes_left: int
    max_solutions: int
    least_refused: int | None
    solutions: list[LinearSwizzle] = field(default_factory=list)
    complete: bool = True

    def descend(
        self,
        columns: Sequence[_Column],
        images: npt.NDArray[np.int64],
        cost: int,
        chosen: list[tuple[int, int]],
    ) -> None:
        """Chooses `columns`; those before are `chosen`, and `images` are the vectors under them."""
        if not columns:
            self.finish(cost, chosen)
            return
        column = columns[0]
        costs, order = column.ranked(images, self.best_cost - cost)
        for i in order:
            total, value = cost + int(costs[i]), int(column.values[i])
            if not self.is_worth(total):
                return
            following = [*chosen, (column.source, value)] if value else chosen
            if self.is_settled(total, following):
                continue
            if self.nodes_left <= 0:
                self.complete = self.best_cost == self.bound
                return
            self.nodes_left -= 1
            moved = images
            if value:
                moved = images.copy()
                moved[column.passing] ^= value
            self.descend(columns[1:], moved, total, following)

    def is_worth(self, cost: int) -> bool:
        """Returns whether a swizzle of this cost is still of interest.

        Swizzles that cost as much as the best are collected only when none can be cheaper.
        """
        if cost < self.best_cost:
            return True
        collecting = self.best_cost == self.bound and len(self.solutions) < self.max_solutions
        return cost == self.best_cost and collecting and bool(self.solutions)

    def is_settled(self, cost: int, chosen: Sequence[tuple[int, int]]) -> bool:
        """Returns whether all swizzles that begin with these columns are refused, and cost no less
        than one that was.

        What a column changes no later one changes back, nor does `Division.realize`: that adds to a
        row the rows above it, each of which has its own bit.
        """
        if self.least_refused is None or cost < self.least_refused:
            return False
        required = 1 << self.division.group_bit if self.division.changes_group_bit else 0
        return bool(self.hopeless & required) or any(each & self.hopeless for _, each in chosen)

    @cached_property
    def hopeless(self) -> int:
        """Returns a mask of the bits such that whatever changes one of them is refused: all that
        may be changed up to it are refused as the lowest."""
        allowed = self.space.targets & ~self.space.refused
        return self.space.refused & ((allowed & -allowed) - 1)

    def finish(self, cost: int, chosen: Sequence[tuple[int, int]]) -> None:
        """Keeps a complete swizzle if it divides the accesses as it should, and is not refused."""
        chain = LinearSwizzle.of(chosen)
        found = self.division.realize(chain, self.bank_bits, self.space.targets)
        if found is None or not found.columns:
            return
        if found.group_elements & self.space.refused:
            if self.least_refused is None or cost < self.least_refused:
                self.least_refused = cost
            return
        if cost < self.best_cost:
            self.best_cost = cost
            self.solutions.clear()
        self.solutions.append(found)
