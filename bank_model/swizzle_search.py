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
bank bits only permute banks and stay empty; so does every column that no vector needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .constraints import BankConstraints
from .notations import LinearSwizzle


@dataclass(frozen=True)
class SearchSpace:
    """Which bits a swizzle may touch, as word-index bits.

    Bits from `group_bit` up may change, where `target_mask` allows; bits below `bits` exist.
    Bit t of `(t, lane_bits)` in `static_targets` lies below the group. It may change by sources
    outside of `lane_bits` only: they are the same in all lanes of the accesses wider than the bit,
    which then stay whole, with their words in another order.
    """

    bits: int
    group_bit: int
    target_mask: int
    static_targets: tuple[tuple[int, int], ...] = ()

    @property
    def all_targets(self) -> int:
        """Every bit that some source may change."""
        mask = self.target_mask
        for target, _ in self.static_targets:
            mask |= 1 << target
        return mask

    def targets_of(self, source: int) -> int:
        """The bits that bit `source` may be XORed into."""
        mask = self.target_mask & ~((1 << self.group_bit) - 1)
        for target, lane_bits in self.static_targets:
            if not lane_bits >> source & 1:
                mask |= 1 << target
        return mask & ((1 << source) - 1)


@dataclass(frozen=True)
class FieldXor:
    """One `xor_shuffle` on word-index bits: [target, target+width) ^= [source, source+width)."""

    target: int
    width: int
    source: int

    def swizzle(self) -> LinearSwizzle:
        """As a linear swizzle on word indices."""
        return LinearSwizzle.of(
            {self.source + i: 1 << (self.target + i) for i in range(self.width)}
        )


def field_xors(space: SearchSpace) -> list[FieldXor]:
    """Every single `xor_shuffle` of the space, the simplest first.

    Fewer bits are less arithmetic, and a wide group leaves wide accesses whole.
    """
    found: list[FieldXor] = []
    lowest = min((t for t, _ in space.static_targets), default=space.group_bit)
    for target in range(lowest, space.target_mask.bit_length()):
        for source in range(target + 1, space.bits):
            width = 1
            while (
                source + width <= space.bits
                and target + width <= source
                and space.targets_of(source + width - 1) >> (target + width - 1) & 1
            ):
                found.append(FieldXor(target, width, source))
                width += 1
    return sorted(found, key=lambda x: (x.width, -x.target, x.source))


def _swizzled(fields: Sequence[FieldXor], x: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Every swizzle of `fields` applied to `x` [..., vectors]: [fields, ..., vectors]."""
    columns = np.array([(f.target, f.width, f.source) for f in fields], dtype=np.int64)
    target, width, source = columns.T.reshape(3, -1, *[1] * x.ndim)
    return x ^ ((x >> source) & ((1 << width) - 1)) << target


def cheapest_fields(
    constraints: BankConstraints, fields: Sequence[FieldXor]
) -> list[tuple[int, FieldXor]]:
    """`fields` with their costs, cheapest first, in the given order among equals."""
    if not fields:
        return []
    costs = constraints.cost(_swizzled(fields, constraints.vectors)).tolist()
    order = sorted(range(len(fields)), key=costs.__getitem__)
    return [(costs[i], fields[i]) for i in order]


def free_pairs(
    constraints: BankConstraints,
    ranked: Sequence[tuple[int, FieldXor]],
    group_bit: int | None,
    max_pairs: int = 16,
) -> list[tuple[FieldXor, FieldXor]]:
    """Chains (outer, inner) of two `xor_shuffle`s without any cost.

    Tries the cheapest single ones with all others, in both orders: a quick look before the
    full search, for chains that are as short as can be. With `group_bit` one of the two must
    change that bit.
    """
    fields = [field for _, field in ranked]
    top = fields[:12]
    if not top:
        return []
    x = constraints.vectors
    found: list[tuple[int, FieldXor, FieldXor]] = []
    for outer, inner in ((fields, top), (top, fields)):
        costs = constraints.cost(_swizzled(outer, _swizzled(inner, x)))
        for i, j in np.argwhere(costs == 0).tolist():
            pair = (outer[i], inner[j])
            if group_bit is None or group_bit in (pair[0].target, pair[1].target):
                found.append((pair[0].width + pair[1].width, *pair))
    found.sort(key=lambda f: f[0])
    return [(outer, inner) for _, outer, inner in found[:max_pairs]]


@dataclass
class _Walk:
    """What the depth-first search found and how much it may still visit."""

    best_cost: int
    bound: int
    nodes_left: int
    max_solutions: int
    solutions: list[LinearSwizzle] = field(default_factory=list)
    complete: bool = True


@dataclass(frozen=True)
class SearchResult:
    """The cheapest swizzles found; `complete` if no swizzle of the space is cheaper.

    Without swizzles, `cost` is the bound that none found undercut.
    """

    cost: int
    swizzles: tuple[LinearSwizzle, ...]
    complete: bool


def cheapest_swizzles(
    constraints: BankConstraints,
    space: SearchSpace,
    uses_group: bool,
    below: int,
    max_nodes: int = 1500,
    max_solutions: int = 8,
) -> SearchResult:
    """The swizzles of least cost in `space`, some of them if there are many; cost < `below`.

    With `uses_group` only swizzles that really change bit `group_bit`, so that their groups are
    no larger than the constraints assume. The identity is left out. The search is deterministic:
    it ends when it has tried everything or has reached the pigeonhole bound (`complete`), or
    after `max_nodes` columns.
    """
    bound = constraints.pigeonhole_bound(space.all_targets)
    if bound >= below:
        return SearchResult(below, (), True)
    x = constraints.vectors
    columns = range(min(_bank_bits(constraints), space.bits), space.bits)
    tops = np.array([int(v).bit_length() - 1 for v in x])
    plan: list[_Column] = []
    for j in columns:
        finished = np.flatnonzero(tops == j)
        masks = constraints.bank_masks[finished]
        weights = constraints.weights[finished]
        passing = np.flatnonzero((x >> j & 1 == 1) & (tops > j))
        plan.append(_Column(j, finished, masks, weights, passing, _allowed_values(space, j)))
    walk = _Walk(below, bound, max_nodes, max_solutions)
    need = 1 << space.group_bit if uses_group else 0
    permute_banks = bool(
        space.target_mask & need and space.group_bit + 1 < min(_bank_bits(constraints), space.bits)
    )
    _descend(plan, 0, x.copy(), 0, [], need, permute_banks, walk)
    return SearchResult(walk.best_cost, tuple(walk.solutions), walk.complete)


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


def _bank_bits(constraints: BankConstraints) -> int:
    masks = constraints.bank_masks
    return int(masks.min()).bit_length() if masks.size else 0


def _allowed_values(space: SearchSpace, source: int) -> npt.NDArray[np.int64]:
    mask = space.targets_of(source)
    values, subset = [0], mask
    while subset:
        values.append(subset)
        subset = (subset - 1) & mask
    return np.array(sorted(values, key=lambda v: (v.bit_count(), v)), dtype=np.int64)


def _descend(
    plan: Sequence[_Column],
    depth: int,
    images: npt.NDArray[np.int64],
    cost: int,
    chosen: list[tuple[int, int]],
    need: int,
    permute_banks: bool,
    walk: _Walk,
) -> None:
    """Chooses the columns from `depth` on; `images` hold the vectors under those before.

    A solution must change the bits of `need`; with `permute_banks` an extra column may do it.
    """
    if depth == len(plan):
        used = 0
        for _, targets in chosen:
            used |= targets
        swizzle = LinearSwizzle.of(chosen)
        if used & need != need:
            # Permuting bank bits afterwards changes no cost, so it may as well change this one.
            if not permute_banks:
                return
            swizzle = swizzle.then(LinearSwizzle(((need.bit_length(), need),)))
        elif not used:
            return
        if cost < walk.best_cost:
            walk.best_cost = cost
            walk.solutions.clear()
        walk.solutions.append(swizzle)
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
    elif column.passing.size:
        costs = np.zeros(len(values), dtype=np.int64)
        order = range(len(values))
    else:
        # No vector has this bit: it can only serve to change the bits of `need`.
        costs = np.zeros(len(values), dtype=np.int64)
        order = [i for i, value in enumerate(values.tolist()) if value in (0, need)]
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
        _descend(plan, depth + 1, following, total, chosen, need, permute_banks, walk)
        if value:
            chosen.pop()
