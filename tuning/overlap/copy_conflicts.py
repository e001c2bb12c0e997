# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What changes in the bank conflicts of a tile where `cp.async` takes the place of its stores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from iree.compiler import ir

from ...bank_model.accesses import LdsAccess, LdsTile
from ...bank_model.errors import InvalidParameterError
from ...bank_model.layouts import PlainLayout, access_copy, layout_conflicts
from ...bank_model.lds_rules import Lds
from ...bank_model.lds_tables import copy_instruction
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.shown_text import counted
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import Launch
from ...dialect_utils.index.lane_values import (
    LaneEvaluator,
    LaneValues,
    Loop,
    Unknown,
    combine,
)
from ...dialect_utils.memory.copied_addresses import WORST_WORKGROUP, CopiedAddresses, CopiedLanes
from ...dialect_utils.memory.lane_accesses import LaneAccesses
from ...dialect_utils.memory.lds_ops import footprint_of
from ...dialect_utils.memory.memref_types import tile_of, type_of
from ...dialect_utils.memory.surroundings import surroundings_of
from ...dialect_utils.memory.traced_views import TracedView
from ..copies.staged_copies import StagedCopy, StagedTile, StagingLoop
from .rotated_slots import bypasses_l1


class CopyConflicts(NamedTuple):
    """The conflict cycles of a workgroup, all iterations together.

    Attributes:
        by_stores: those of the stores to a tile; None if they are not known.
        by_copies: those of the copies in their place; None if they are not known.
        exact: whether the latter are exact, or the most that they may be.
        reason: why something is not known.
    """

    by_stores: int | None = None
    by_copies: int | None = None
    exact: bool = True
    reason: str = ""

    def __str__(self) -> str:
        if self.by_copies is None:
            return f"the bank conflicts of its cp.async are not counted: {self.reason}"
        most = "" if self.exact or not self.by_copies else "up to "
        cycles = counted(self.by_copies, "conflict cycle", separator=",")
        return f"its cp.async have {most}{cycles}"


class ConflictCounter:
    """Counts the bank conflicts of stores to tiles, and of the copies that they become.

    It remembers what lanes compute, so that the function must stay as it is.
    """

    def __init__(self, function: ir.Operation, lds: Lds, launch: Launch) -> None:
        """Counts in a function, for a GPU."""
        self._function, self._lds = function, lds
        self._evaluator = LaneEvaluator(launch)
        self._addresses = CopiedAddresses(function, self._evaluator)

    def count(
        self, tile: StagedTile, loop: StagingLoop, before: int | None = None
    ) -> CopyConflicts:
        """Returns the conflicts of all stores to a tile of a loop, and of all copies.

        Args:
            before: of how many iterations the copies are issued before the loop, if the loop issues
                all others without a branch: those of its last iterations read nothing, and of all
                in it the program says how many bytes they read. None if there is a branch.
        """
        try:
            return self._counted(tile, loop, before)
        except (Refusal, InvalidParameterError) as error:
            return CopyConflicts(reason=str(error))

    def _counted(self, staged: StagedTile, loop: StagingLoop, before: int | None) -> CopyConflicts:
        tile = tile_of(type_of(staged.allocation))
        reads = [self._read(copy) for copy in staged.copies]
        accesses = self._accesses_of(staged, tile, reads)
        copied, exact = self._cost(tile, accesses)
        if before is not None:
            inside = [self._without_branch(read, loop, before) for read in reads]
            in_loop, exact = self._cost(tile, self._accesses_of(staged, tile, inside))
            iterations = loop.trip_count or 1
            copied = in_loop + copied * min(before, iterations) // iterations
        exact = exact and not any(WORST_WORKGROUP in each.assumptions for each in reads)
        stores = [replace(each, copied=None, instruction="") for each in accesses]
        stored = layout_conflicts(self._lds, tile, PlainLayout(), stores)
        return CopyConflicts(stored, copied, exact)

    def _cost(self, tile: LdsTile, accesses: Iterable[LdsAccess]) -> tuple[int, bool]:
        """Returns the conflicts of copies, and whether they are exact."""
        copied, exact = 0, True
        for access in accesses:
            cost = access_copy(self._lds, tile, PlainLayout(), access)
            if cost is None:
                raise Refusal(f"no {access.instruction} on {self._lds.arch}")
            copied += access.weight * cost.conflict_cycles
            exact = exact and cost.exact
        return copied, exact

    def _without_branch(self, read: CopiedLanes, loop: StagingLoop, before: int) -> CopiedLanes:
        """Returns what a copy in the loop reads that is for an iteration `before` later ones."""
        reads: LaneValues | Unknown = read.reads
        if loop.trip_count is not None:
            around = surroundings_of(loop.operation, self._function, self._evaluator)
            there = np.arange(loop.trip_count) < loop.trip_count - before
            axis = Loop(around.loops, loop.trip_count)
            mask = LaneValues(there.astype(np.int64)[:, None, None], (axis,))
            reads = combine(np.multiply, reads, mask)
        if isinstance(reads, Unknown):
            raise Refusal(reads.reason)
        return read._replace(reads=reads, may_read_nothing=True)

    def _read(self, copy: StagedCopy) -> CopiedLanes:
        conditions = [] if copy.choice is None else [copy.choice.operands[0]]
        return self._addresses.of_load(copy.load, conditions)

    def _accesses_of(
        self, staged: StagedTile, tile: LdsTile, reads: Iterable[CopiedLanes]
    ) -> list[LdsAccess]:
        """Returns what all stores to a tile write, as the copies that they become."""
        return [
            each
            for copy, read in zip(staged.copies, reads, strict=True)
            for each in self._accesses(staged, tile, copy, read)
        ]

    def _accesses(
        self, staged: StagedTile, tile: LdsTile, copy: StagedCopy, read: CopiedLanes
    ) -> list[LdsAccess]:
        """Returns what a store writes, as the `cp.async` that it becomes."""
        name = copy_instruction(copy.bytes, bypasses_l1(copy))
        footprint = footprint_of(copy.store, 1)._replace(instruction=name)
        around = surroundings_of(copy.store, self._function, self._evaluator)
        view = TracedView.of(staged.allocation.results[0])
        lanes = LaneAccesses(
            tile, view, around, self._evaluator, copy.store, footprint, copied=read
        )
        traced, _ = lanes.traced(0)
        return [each.access for each in traced]
