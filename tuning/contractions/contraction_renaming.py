# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which indices of distributed contractions are renamed: those that save cycles or instructions.

A renaming (`bank_model/step_renaming.py`) changes how wide the transfers of its block are, and with
that what the best layout of every LDS tile is that they touch. Each tile is traced once with all
accesses that its transfers could make, and each choice is judged by what the layout policy makes of
the tiles with the accesses that it takes:

    cost = LDS cycles + issue slots of LDS instructions,

of all waves of a workgroup, weighted by iterations. Blocks meet in tiles, as k and the columns of
one operand: `tuning/registers/renaming_search.py` decides on them in turns.

A choice is out of the question if a transfer to global memory would touch more blocks of it: the
coalescing model counts them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import product
from operator import add

import numpy as np
from iree.compiler import ir

from ...bank_model.accesses import LdsTile
from ...bank_model.coalescing import transactions_of_runs
from ...bank_model.errors import InvalidParameterError
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.step_renaming import Offsets, possible_merges
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.index.lane_values import LaneEvaluator, LaneValues
from ...dialect_utils.memory.flow import lds_allocations, roots_of
from ...dialect_utils.memory.joined_accesses import MOST_UNROLLED, BlockOrders, emitted_accesses
from ...dialect_utils.memory.lane_accesses import MovedVector, TracedAccess, run_offsets
from ...dialect_utils.memory.lds_accesses import AllocationAccesses, trace_allocation
from ...dialect_utils.memory.memref_types import static_strides, type_of
from ...passes.layout_policy import KnownTile, LayoutPolicy
from ..registers.renaming_search import NOTHING, RenamingCost, RenamingSearch
from .index_blocks import IndexBlock, IndexUse
from .lane_transfers import LaneTransfer
from .renamed_scatters import store_side_by_side
from .renamed_steps import MergedPair, rename_transfer

Merges = tuple[int, ...]
"""How many steps of each block become neighbours, in the order of the blocks."""


class BlockDecision(NamedTuple):
    """What became of one block, and why.

    Attributes:
        merged: how many steps became neighbours; 1 where it was not renamed.
        before, after: what the tiles cost that the block touches, without this renaming and with
            it, the other ones being as they were decided.
    """

    block: IndexBlock
    merged: int
    reason: str
    before: RenamingCost
    after: RenamingCost


class _Site(NamedTuple):
    """A transfer, with all blocks that occur in it.

    Attributes:
        uses: by the number of the block.
        moved: where its vector may lie instead, by the merges of its blocks in the order of `uses`.
    """

    transfer: LaneTransfer
    uses: Mapping[int, IndexUse]
    moved: Mapping[Merges, MovedVector]

    def chosen(self, merges: Sequence[int]) -> MovedVector | None:
        """Returns where the vector lies under a choice; None where it is."""
        return self.moved.get(tuple(merges[number] for number in self.uses))


class ContractionSearch:
    """The search for the renamings of one function, which it does not change before `finish`."""

    def __init__(
        self,
        function: ir.Operation,
        policy: LayoutPolicy,
        evaluator: LaneEvaluator,
        blocks: Sequence[IndexBlock],
    ) -> None:
        """Plans the possible transfers, and traces the tiles.

        Args:
            blocks: those that may be renamed.
        """
        self.policy, self.evaluator, self.blocks = policy, evaluator, blocks
        self._allocations = lds_allocations(function)
        self._roots: dict[ir.Operation, ir.Operation | None] = {}
        self._widest = [self._widest_merge(block) for block in blocks]
        self._sites = self._make_sites()
        self._traces: dict[ir.Operation, AllocationAccesses] = {}
        self._why_not: dict[ir.Operation, str] = {}
        touched = [self._root(site.transfer) for site in self._sites]
        for allocation in dict.fromkeys(root for root in touched if root is not None):
            self._trace(allocation, function)
        self._counted: dict[tuple[ir.Operation, tuple[MovedVector | None, ...]], RenamingCost] = {}

    def decide(self) -> list[BlockDecision]:
        """Returns the decision on each block."""
        search = RenamingSearch(1, lambda number: [self._widest[number]], self._cost)
        merges = search.choices(len(self.blocks))
        return [self._decision(number, search, merges) for number in range(len(self.blocks))]

    def finish(self, decisions: Sequence[BlockDecision]) -> None:
        """Puts the transfers that were decided on in the place of those that are there."""
        merges = [decision.merged for decision in decisions]
        for site in self._sites:
            pairs = self._pairs(site.uses, [merges[number] for number in site.uses])
            if pairs:
                rename_transfer(site.transfer, pairs)
        for block, merged in zip(self.blocks, merges, strict=True):
            if merged > 1:
                for scatter in block.scatters:
                    store_side_by_side(scatter, merged)

    # What is possible.

    def _widest_merge(self, block: IndexBlock) -> int:
        """Returns the most steps that some access to the LDS can take at once; 1 for none.

        Fewer steps are not tried: an access of half the width takes as many cycles, and two of them
        take two instructions unless the backend pairs them.
        """
        found: set[int] = {1}
        for use in block.uses:
            if self._root(use.transfer) is None or not _runs_along_rows(use):
                continue
            bits = _bits(use.transfer)
            if not block.summed and self._is_read_transposed(bits):
                continue
            found.update(possible_merges(block.steps, block.unit, bits))
        return max(
            merged
            for merged in found
            if block.aligned % merged == 0
            and all(self._keeps_transactions(use, block, merged) for use in block.uses)
        )

    def _is_read_transposed(self, bits: int) -> bool:
        """Returns whether the chip has an instruction that reads columns of a tile into rows.

        The backend uses it for the operand that the renaming would make wider, with as many
        instructions and no moves.
        """
        return self.policy.lds.has(f"ds_read_b64_tr_b{bits}")

    def _keeps_transactions(self, use: IndexUse, block: IndexBlock, merged: int) -> bool:
        if merged == 1 or self._root(use.transfer) is not None:
            return True
        renamed = MergedPair(use.outer, block.renaming(merged))
        before, after = (self._transactions(use.transfer, each) for each in ([], [renamed]))
        return after <= before

    def _root(self, transfer: LaneTransfer) -> ir.Operation | None:
        """Returns the allocation in the LDS that a transfer accesses, if it is one."""
        if transfer.operation not in self._roots:
            try:
                roots = [root.owner for root in roots_of(transfer.memory)]
            except Refusal:
                roots = []
            found = [each.operation for each in roots if not isinstance(each, ir.Block)]
            is_lds = len(roots) == len(found) == 1 and found[0] in self._allocations
            self._roots[transfer.operation] = found[0] if is_lds else None
        return self._roots[transfer.operation]

    def _make_sites(self) -> list[_Site]:
        uses: dict[ir.Operation, dict[int, IndexUse]] = {}
        for number, block in enumerate(self.blocks):
            for use in block.uses:
                uses.setdefault(use.transfer.operation, {})[number] = use
        sites: list[_Site] = []
        for of_blocks in uses.values():
            transfer = next(iter(of_blocks.values())).transfer
            moved: dict[Merges, MovedVector] = {}
            for merges in product(*({1, self._widest[number]} for number in of_blocks)):
                pairs = self._pairs(of_blocks, merges)
                if pairs:
                    moved[merges] = self._moved(transfer, pairs)
            sites.append(_Site(transfer, of_blocks, moved))
        return sites

    def _pairs(self, uses: Mapping[int, IndexUse], merges: Sequence[int]) -> list[MergedPair]:
        """Returns what is renamed of a transfer by the merges of the blocks that occur in it."""
        return [
            MergedPair(use.outer, self.blocks[number].renaming(merged))
            for (number, use), merged in zip(uses.items(), merges, strict=True)
            if merged > 1
        ]

    def _moved(self, transfer: LaneTransfer, pairs: Sequence[MergedPair]) -> MovedVector:
        """Returns where the vector of a transfer lies under a renaming."""
        before, _, _ = self._place(transfer, [])
        first, extents, strides = self._place(transfer, pairs)
        return MovedVector(LaneValues(first - before), extents, strides)

    def _place(
        self, transfer: LaneTransfer, pairs: Sequence[MergedPair]
    ) -> tuple[Offsets, tuple[int, ...], tuple[int, ...]]:
        """Returns the first element of each lane in a transfer's memory, extents, and strides."""
        starts = [transfer.offsets(dim, self.evaluator) for dim in range(len(transfer.extents))]
        extents = list(transfer.extents)
        strides = list(static_strides(type_of(transfer.memory)) or ())
        for pair in pairs:
            extents[pair.outer] //= pair.merged
            extents[pair.inner] *= pair.merged
            starts[pair.outer] = starts[pair.outer] // pair.merged
            starts[pair.inner] = starts[pair.inner] * pair.merged
            strides[pair.outer] *= pair.merged
        first = sum(start * stride for start, stride in zip(starts, strides, strict=True))
        return np.asarray(first), tuple(extents), tuple(strides)

    def _transactions(self, transfer: LaneTransfer, pairs: Sequence[MergedPair]) -> int:
        """Returns the blocks of global memory that a transfer touches under a renaming.

        Where the memory begins is not known, and taken to be the beginning of a block.
        """
        first, extents, strides = self._place(transfer, pairs)
        size, last = max(_bits(transfer) // 8, 1), len(extents) - 1
        along = last if strides[last] == 1 else None
        rows = np.array([*run_offsets(strides, extents, along)])[:, None, None]
        run = 1 if along is None else extents[last]
        return transactions_of_runs(self.policy.lds, (first + rows) * size, run * size)

    # What it costs.

    def _trace(self, allocation: ir.Operation, function: ir.Operation) -> None:
        try:
            moved = {site.transfer.operation: site.moved.values() for site in self._sites}
            traced = trace_allocation(allocation, function, self.evaluator, MOST_UNROLLED, moved)
        except Refusal as refusal:
            self._why_not[allocation] = str(refusal)
            return
        if traced.unknown:
            self._why_not[allocation] = f"an access to a tile is not known: {traced.unknown[0]}"
        elif traced.gathers:
            self._why_not[allocation] = "a tile is loaded directly from global memory"
        else:
            self._traces[allocation] = traced

    def _refusal(self, number: int) -> str | None:
        if self._widest[number] == 1:
            return "no access to the LDS becomes wider"
        return next(
            (self._why_not[tile] for tile in self._tiles(number) if tile in self._why_not), None
        )

    def _tiles(self, number: int) -> list[ir.Operation]:
        """Returns the tiles that a block touches."""
        roots = [self._root(use.transfer) for use in self.blocks[number].uses]
        return [root for root in dict.fromkeys(roots) if root is not None]

    def _cost(self, number: int, merges: Sequence[int]) -> RenamingCost | None:
        """Returns what the tiles of a block cost; None where that cannot be counted."""
        if self._refusal(number) is not None:
            return None
        try:
            costs = [self._tile_cost(tile, merges) for tile in self._tiles(number)]
        except InvalidParameterError:
            return None
        return reduce(add, costs, NOTHING)

    def _tile_cost(self, allocation: ir.Operation, merges: Sequence[int]) -> RenamingCost:
        chosen = {
            site.transfer.operation: site.chosen(merges)
            for site in self._sites
            if (root := self._root(site.transfer)) is not None and root == allocation
        }
        key = (allocation, tuple(chosen.values()))
        if key not in self._counted:
            traced = self._traces[allocation]
            taken = [each for each in traced.traced if each.moved is chosen.get(each.operation)]
            self._counted[key] = self._best_layout(traced.tile, taken)
        return self._counted[key]

    def _best_layout(self, tile: LdsTile, traced: Sequence[TracedAccess]) -> RenamingCost:
        orders = BlockOrders()
        emitted = emitted_accesses(tile, traced, orders=orders)
        known = KnownTile(
            tile,
            tuple(each.access for each in traced),
            emitted=lambda joins: (
                emitted_accesses(tile, traced, joins, orders) if joins else emitted
            ),
        )
        cost = self.policy.least_cost(known, emitted)
        return RenamingCost(cost.cycles, cost.instructions)

    def _decision(
        self, number: int, search: RenamingSearch[int], merges: Sequence[int]
    ) -> BlockDecision:
        block = self.blocks[number]
        reason = self._refusal(number)
        if reason is not None:
            return BlockDecision(block, 1, reason, NOTHING, NOTHING)
        reason = "it costs least" if merges[number] > 1 else "no renaming costs less"
        return BlockDecision(block, merges[number], reason, *search.change(number, merges))


def _bits(transfer: LaneTransfer) -> int:
    return element_bits(ir.VectorType(transfer.vector.type).element_type) or 0


def _runs_along_rows(use: IndexUse) -> bool:
    """Returns whether the block lies along the rows of the memory."""
    strides = static_strides(type_of(use.transfer.memory))
    return strides is not None and strides[use.inner] == 1
