# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search for a linear swizzle with the least cost under bank constraints.

Bits are word-index bits. With `constraints.py`, a swizzle is as good as the total weight of the
constraint vectors that it sends to bank 0. A unit-triangular swizzle is chosen column by column:
column j says which lower bits are XORed where bit j is set. A vector's image is complete once
the column of its highest bit is chosen, so

    cost = sum over columns j of the weight of the vectors with highest bit j that hit bank 0,

and a vector with highest bit j and image f without column j hits bank 0 exactly if column j
equals f in the bank bits. Choosing column j is thus a look-up in a histogram of forbidden
values, and depth-first search with the cost so far as its bound is exact. Columns below the
bank bits only permute banks and stay empty, and so does every column that nothing depends on.

What a swizzle costs depends on which wide accesses it splits. The search is for one `Division`
of them at a time: that accesses stay whole is a set of vectors that must not hit bank 0 at all,
that others are split is asked of each complete swizzle (`splitting.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .constraints import BankConstraints
from .linear_swizzle import FieldStep, LinearSwizzle
from .splitting import Division, submasks

# Beyond any sum of weights: never affordable.
_FORBIDDEN = 1 << 40
# Each column looks at all vectors.
_MAX_VECTORS = 2000


@dataclass(frozen=True)
class SearchSpace:
    """Bits below `bits` exist, as word-index bits; those of `targets` may be changed."""

    bits: int
    targets: int

    def targets_of(self, source: int) -> int:
        """The bits that bit `source` may be XORed into."""
        return self.targets & ((1 << source) - 1)


def field_steps(space: SearchSpace) -> list[FieldStep]:
    """Every single `xor_shuffle` of the space, the simplest first.

    Fewer bits are less arithmetic, and a wide group leaves wide accesses whole.
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
    """Every swizzle of `fields` applied to `x` [..., vectors]: [fields, ..., vectors]."""
    return _swizzled_each(fields, np.broadcast_to(x, (len(fields), *x.shape)))


def _swizzled_each(fields: Sequence[FieldStep], x: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The swizzles of `fields` applied to one row of `x` [fields, ...] each."""
    columns = np.array([(f.target, f.width, f.source) for f in fields], dtype=np.int64)
    target, width, source = columns.reshape(-1, 3).T.reshape(3, -1, *[1] * (x.ndim - 1))
    return x ^ ((x >> source) & ((1 << width) - 1)) << target


def cheapest_fields(
    constraints: BankConstraints, division: Division, fields: Sequence[FieldStep]
) -> list[tuple[int, FieldStep]]:
    """`fields` that keep whole what shall stay whole, with their costs, cheapest first.

    Among equals the given order stays.
    """
    keeps = division.keeps_whole(_swizzled(fields, division.differences))
    kept = [fields[i] for i in np.flatnonzero(keeps).tolist()]
    costs = constraints.cost(_swizzled(kept, constraints.vectors)).tolist()
    order = sorted(range(len(kept)), key=costs.__getitem__)
    return [(costs[i], kept[i]) for i in order]


def dividing_fields(
    division: Division, ranked: Sequence[tuple[int, FieldStep]]
) -> list[tuple[int, FieldStep]]:
    """Those of `ranked` that divide the accesses as they should on their own."""
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
    max_pairs: int = 16,
) -> list[tuple[FieldStep, FieldStep]]:
    """Chains (outer, inner) of two `xor_shuffle`s without any cost that divide the accesses so.

    Tries the cheapest single ones with all others, in both orders: a quick look before the
    full search, for chains that are as short as can be.
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
    return sorted(pairs, key=lambda pair: pair[0].width + pair[1].width)[:max_pairs]


@dataclass
class _Walk:
    """What the depth-first search is for, what it found and how much it may still visit."""

    division: Division
    bank_bits: int
    targets: int
    best_cost: int
    bound: int
    nodes_left: int
    max_solutions: int
    solutions: list[LinearSwizzle] = field(default_factory=list)
    complete: bool = True


@dataclass(frozen=True)
class SearchResult:
    """The cheapest swizzles found; `complete` if no swizzle of the space is cheaper.

    Without swizzles, `cost` is the bound that none found undercut. `nodes` columns were tried.
    """

    cost: int
    swizzles: tuple[LinearSwizzle, ...]
    complete: bool
    nodes: int = 0


def cheapest_swizzles(
    constraints: BankConstraints,
    space: SearchSpace,
    division: Division,
    below: int,
    max_nodes: int,
    max_solutions: int = 8,
) -> SearchResult:
    """The swizzles of least cost that divide the accesses so, some if there are many.

    Their cost is less than `below`; the identity is left out. The search is deterministic: it ends
    when it has tried everything or has reached the pigeonhole bound (`complete`), or after
    `max_nodes` columns.
    """
    bound = constraints.pigeonhole_bound(space.targets, division.vanishing)
    if bound >= below:
        return SearchResult(below, (), True)
    bank_bits = min(constraints.common_bank_bits, space.bits)
    vectors, masks = division.lone_bits(bank_bits)
    x = np.concatenate([constraints.vectors, np.array(vectors, dtype=np.int64)])
    bank_masks = np.concatenate([constraints.bank_masks, np.array(masks, dtype=np.int64)])
    weights = np.concatenate([constraints.weights, np.full(len(masks), _FORBIDDEN)])
    if len(x) > _MAX_VECTORS:
        return SearchResult(below, (), False)
    tops = np.array([v.bit_length() - 1 for v in x.tolist()])
    plan: list[_Column] = []
    for j in range(bank_bits, space.bits):
        finished = np.flatnonzero(tops == j)
        passing = np.flatnonzero((x >> j & 1 == 1) & (tops > j))
        choices = space.targets_of(j)
        if not finished.size and not passing.size:
            choices &= _dividing_targets(division, j)
        values = np.array(submasks(choices), dtype=np.int64)
        plan.append(_Column(j, finished, bank_masks[finished], weights[finished], passing, values))
    walk = _Walk(division, bank_bits, space.targets, below, bound, max_nodes, max_solutions)
    _descend(plan, 0, x, 0, [], walk)
    nodes = max_nodes - walk.nodes_left
    return SearchResult(walk.best_cost, tuple(walk.solutions), walk.complete, nodes)


def _dividing_targets(division: Division, source: int) -> int:
    """The bits that a column without any vectors may change, only to split accesses."""
    if any(d >> source & 1 for c in division.split for d in c.differences):
        return sum(1 << row for row in division.rows)
    return 1 << division.group_bit if division.changes_group_bit else 0


@dataclass(frozen=True, eq=False)
class _Column:
    source: int
    finished: npt.NDArray[np.intp]
    """Vectors whose highest bit is this column's."""
    masks: npt.NDArray[np.int64]
    weights: npt.NDArray[np.int64]
    """Their bank masks and weights."""
    passing: npt.NDArray[np.intp]
    """Vectors with a higher bit that also have this one."""
    values: npt.NDArray[np.int64]
    """Allowed target masks, the preferred ones first."""


def _descend(
    plan: Sequence[_Column],
    depth: int,
    images: npt.NDArray[np.int64],
    cost: int,
    chosen: list[tuple[int, int]],
    walk: _Walk,
) -> None:
    """Chooses the columns from `depth` on; `images` hold the vectors under those before."""
    if depth == len(plan):
        found = walk.division.realize(LinearSwizzle.of(chosen), walk.bank_bits, walk.targets)
        if found is None or not found.columns:
            return
        if cost < walk.best_cost:
            walk.best_cost = cost
            walk.solutions.clear()
        walk.solutions.append(found)
        return
    column = plan[depth]
    values = column.values
    if column.finished.size:
        # A vector hits bank 0 if the value equals its image in the bank bits. Where the column's
        # own bit is a bank bit, it is set in the image and in no value: they never are equal.
        forbidden = images[column.finished]
        costs = (((values[:, None] ^ forbidden) & column.masks) == 0) @ column.weights
        affordable = np.flatnonzero(costs <= walk.best_cost - cost)
        order = affordable[np.argsort(costs[affordable], kind="stable")].tolist()
    else:
        costs = np.zeros(len(values), dtype=np.int64)
        order = range(len(values))
    for i in order:
        total = cost + int(costs[i])
        # Equals of the best are collected only when nothing cheaper can be left to find.
        collecting = walk.best_cost == walk.bound and len(walk.solutions) < walk.max_solutions
        worth = total < walk.best_cost or (
            total == walk.best_cost and collecting and bool(walk.solutions)
        )
        if not worth:
            return
        value = int(values[i])
        if walk.nodes_left <= 0:
            walk.complete = walk.best_cost == walk.bound
            return
        walk.nodes_left -= 1
        following = images
        if value:
            following = images.copy()
            following[column.passing] ^= value
            chosen.append((column.source, value))
        _descend(plan, depth + 1, following, total, chosen, walk)
        if value:
            chosen.pop()
