# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which renamings of indices a function gets: register layouts are chosen with the memory layouts.

A renaming (`bank_model/register_renaming.py`) changes how wide the transfers of its class are, and
with that what the best memory layout of every tile is that they touch. So each candidate is judged
by what the layout policy makes of these tiles:

    cost = LDS cycles + issue slots of LDS instructions + moves of registers
         + blocks of global memory,

each weighted by the trips of the loops around it, of all waves of a workgroup. Cycles and slots are
those of `bank_model/issue.py`. A move is counted as one more slot: a wave's vector instruction
keeps one of the four SIMDs of a compute unit for four cycles, which is one cycle of the unit. So is
a block of global memory that a transfer touches, by the coalescing model: the L1 cache of a compute
unit takes 64 bytes in a cycle. Outputs are stored once, after the loop that reads tiles, so that a
renaming that saves in the loop may well store in more pieces.

A tile that is written and read by the same lanes costs nothing: it is not needed. Classes meet in
tiles, the rows and the columns of one: `renaming_search.py` decides on them in turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from iree.compiler import ir

from ...bank_model.accesses import LdsTile
from ...bank_model.coalescing import WIDEST_BYTES, transactions_of_runs
from ...bank_model.errors import InvalidParameterError
from ...bank_model.layout_digits import RegisterOrder
from ...bank_model.nested_layout import NestedLayout, TilePart
from ...bank_model.register_renaming import (
    Renamed,
    Renaming,
    candidates,
    composed,
    handed_over,
    most_neighbours,
    moves,
    renamed,
)
from ...bank_model.targets import AccessKind
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import Launch
from ...dialect_utils.memory.memref_types import tile_of
from ...dialect_utils.memory.staged_tensors import accesses_of, executions_of, transfers_of
from ...dialect_utils.memory.vector_layouts import VectorLayouts, op_name
from ...dialect_utils.operations import defining_operation
from ..layout_policy import KnownTile, LayoutPolicy
from .dimension_classes import (
    ClassKind,
    DimensionClass,
    DimensionClasses,
    Meeting,
)
from .renaming_search import NOTHING, RenamingCost, RenamingSearch


@dataclass(frozen=True)
class ClassDecision:
    """What became of one class, and why.

    Attributes:
        read: a transfer that could read more neighbours at once under another name.
    """

    read: Meeting
    reason: str
    renaming: Renaming = field(default_factory=dict)
    before: RenamingCost = NOTHING
    after: RenamingCost = NOTHING


@dataclass(frozen=True)
class RenamedMeeting:
    """A transfer that gets another layout."""

    meeting: Meeting
    logical: NestedLayout
    renamed: Renamed


@dataclass(frozen=True)
class HandedOver:
    """A vector that goes from its writer to its reader in registers, without a tile between."""

    write: Meeting
    written: NestedLayout
    read: Meeting
    wanted: NestedLayout
    order: RegisterOrder


@dataclass(frozen=True)
class _Tile:
    """An allocation in the LDS all of whose transfers are known."""

    alloc: ir.Operation
    tile: LdsTile
    transfers: frozenset[ir.Operation]


class RegisterSearch:
    """The search for the renamings of one function, which it does not change."""

    def __init__(
        self,
        policy: LayoutPolicy,
        launch: Launch,
        layouts: VectorLayouts,
        classes: DimensionClasses,
        allocations: Sequence[ir.Operation],
    ) -> None:
        """Reads where the allocations are accessed."""
        self.policy, self.launch, self.layouts, self.classes = policy, launch, layouts, classes
        self._layout_of: dict[ir.Operation, NestedLayout] = {}
        for meeting in classes.meetings:
            found = layouts.candidates(meeting.vector)
            if len(found) == 1 and found[0].shape == tuple(meeting.vector.type.shape):
                self._layout_of[meeting.op] = found[0]
        self._tiles: list[_Tile] = []
        self._unknown: dict[ir.Operation, Refusal] = {}
        for alloc in allocations:
            self._add_tile(alloc)
        self._counted: dict[object, RenamingCost] = {}
        self._renamed: dict[tuple[ir.Operation, tuple[int, ...]], Renamed | None] = {}

    def _add_tile(self, alloc: ir.Operation) -> None:
        try:
            transfers = frozenset(transfer.op for transfer in transfers_of(alloc))
        except Refusal:
            return
        try:
            tile = tile_of(ir.RankedTensorType(alloc.results[0].type))
        except Refusal as error:
            self._unknown |= dict.fromkeys(transfers, error)
            return
        self._tiles.append(_Tile(alloc, tile, transfers))

    def decide(self, kinds: frozenset[ClassKind]) -> list[ClassDecision]:
        """Returns the decisions on all classes of which a lane could read more neighbours at once.

        Args:
            kinds: classes of other kinds are left as they are.
        """
        undecided: list[DimensionClass] = []
        kept: list[ClassDecision] = []
        for each in self.classes.classes:
            read = self._widened_read(each)
            why = None if read is None else self._why_not(each, kinds)
            if read is not None and why is not None:
                kept.append(ClassDecision(read, why))
            elif read is not None:
                undecided.append(each)
        meetings = [self.classes.meetings_of(each) for each in undecided]

        def cost(number: int, renamings: Sequence[Renaming]) -> RenamingCost | None:
            together = composed(renamings)
            if any(self._new(each, together) is None for each in meetings[number]):
                return None
            return self._cost(meetings[number], together)

        search = RenamingSearch[Renaming](
            {}, lambda number: self._candidates(undecided[number], meetings[number]), cost
        )
        renamings = search.choices(len(undecided))
        decisions = [
            self._decision(each, number, search, renamings) for number, each in enumerate(undecided)
        ]
        return [*decisions, *kept]

    def handed_over(self, renaming: Renaming) -> list[HandedOver]:
        """Returns the vectors that need no tile under a renaming of the whole function."""
        found = [self._handed_over(tile, renaming) for tile in self._tiles]
        return [each for each in found if each is not None]

    def renamed_meetings(self, renaming: Renaming) -> list[RenamedMeeting]:
        """Returns the other transfers that a renaming of the whole function changes."""
        gone = {m.op for each in self.handed_over(renaming) for m in (each.write, each.read)}
        found: list[RenamedMeeting] = []
        for meeting in self.classes.meetings:
            if meeting.op not in gone and any(
                renaming.get(x, x) != x for row in meeting.names for x in row
            ):
                layout = self._layout_of[meeting.op]
                new = self._new(meeting, renaming)
                if new is None:
                    raise ValueError("a renaming was chosen that no layout expresses")
                found.append(RenamedMeeting(meeting, layout, new))
        return found

    def _why_not(self, each: DimensionClass, kinds: frozenset[ClassKind]) -> str | None:
        if each.pinned is not None:
            return str(each.pinned)
        if each.kind not in kinds:
            return f"it is {each.kind.value}: a renaming changes the order of a sum"
        meetings = self.classes.meetings_of(each)
        for meeting in meetings:
            if meeting.op in self._unknown:
                return str(self._unknown[meeting.op])
            if meeting.op not in self._layout_of:
                return "the layout of a transfer is not known"
        try:
            self._cost(meetings, {})
        except (Refusal, InvalidParameterError) as error:
            return str(error)
        return None

    def _candidates(self, each: DimensionClass, meetings: Sequence[Meeting]) -> list[Renaming]:
        found: list[Renaming] = []
        for meeting in meetings:
            dim = _row_dim(meeting)
            if dim is None or self._tile_of(meeting) is None or meeting.op not in self._layout_of:
                continue
            layout = self._layout_of[meeting.op]
            bits = element_bits(meeting.vector.type.element_type)
            for candidate in candidates(layout, meeting.names, dim, each.digits, bits or 0):
                if candidate not in found:
                    found.append(candidate)
        return found

    def _decision(
        self,
        each: DimensionClass,
        number: int,
        search: RenamingSearch[Renaming],
        renamings: Sequence[Renaming],
    ) -> ClassDecision:
        read, reason = self._widened_read(each), "no renaming costs less"
        assert read is not None
        if renamings[number]:
            reason = self._neighbours(read, composed(renamings))
        change = search.change(number, renamings)
        return ClassDecision(read, reason, renamings[number], *change)

    def _neighbours(self, read: Meeting, renaming: Renaming) -> str:
        """Returns how wide a read became, and why it is no wider."""
        dim, layout, new = _row_dim(read), self._layout_of[read.op], self._new(read, renaming)
        assert dim is not None and new is not None
        before, after = layout.element_tile[dim], new.layout.element_tile[dim]
        bits = element_bits(read.vector.type.element_type) or 0
        bound = "wider costs more"
        if after * bits == WIDEST_BYTES * 8:
            bound = "no access is wider"
        elif after == most_neighbours(layout, dim):
            bound = f"a lane holds {after} elements of a row"
        return f"{after} neighbours are read at once instead of {before}; {bound}"

    def _widened_read(self, each: DimensionClass) -> Meeting | None:
        """Returns a read of the LDS that a renaming of the class could widen, if there is one."""
        for meeting in self.classes.meetings_of(each):
            if meeting.kind is AccessKind.READ and self._candidates(each, [meeting]):
                return meeting
        return None

    # Counting.

    def _tile_of(self, meeting: Meeting) -> _Tile | None:
        return next((tile for tile in self._tiles if meeting.op in tile.transfers), None)

    def _new(self, meeting: Meeting, renaming: Renaming) -> Renamed | None:
        key = (meeting.op, tuple(renaming.get(x, x) for row in meeting.names for x in row))
        if key not in self._renamed:
            layout = self._layout_of[meeting.op]
            self._renamed[key] = renamed(layout, meeting.names, renaming)
        return self._renamed[key]

    def _cost(self, meetings: Sequence[Meeting], renaming: Renaming) -> RenamingCost:
        """Returns what the transfers, and all else that touches their tiles, cost."""
        tiles = dict.fromkeys(filter(None, map(self._tile_of, meetings)))
        total = NOTHING
        for tile in tiles:
            total += self._tile_cost(tile, renaming)
        for meeting in meetings:
            total += self._transfer_cost(meeting, renaming)
        return total

    def _handed_over(self, tile: _Tile, renaming: Renaming) -> HandedOver | None:
        """Returns how a tile's vector goes over in registers, if its lanes keep what they write."""
        pair = self._write_and_read(tile)
        if pair is None:
            return None
        write, read = pair
        written, wanted = self._layout_of[write.op], self._layout_of[read.op]
        order = handed_over(written, write.names, wanted, read.names, renaming)
        return None if order is None else HandedOver(write, written, read, wanted, order)

    def _write_and_read(self, tile: _Tile) -> tuple[Meeting, Meeting] | None:
        """Returns the only write to a tile and its only read, if each moves the whole tile."""
        whole = tuple(range(len(tile.tile.shape)))
        found = {
            meeting.kind: meeting
            for meeting in self.classes.meetings
            if meeting.op in tile.transfers
            and meeting.memory_dims == whole
            and tuple(meeting.vector.type.shape) == tile.tile.shape
            and meeting.op in self._layout_of
        }
        if len(tile.transfers) != 2 or len(found) != 2:
            return None
        write, read = found[AccessKind.WRITE], found[AccessKind.READ]
        memory = defining_operation(read.memory)
        if memory is not None and op_name(memory) == "iree_gpu.value_barrier":
            if len(memory.operands) > 1:
                # The barrier is also that of another tile.
                return None
            memory = defining_operation(memory.operands[0])
        return (write, read) if memory == write.op else None

    def _tile_cost(self, tile: _Tile, renaming: Renaming) -> RenamingCost:
        if self._handed_over(tile, renaming) is not None:
            return NOTHING
        changed: dict[ir.Value, NestedLayout] = {}
        for meeting in self.classes.meetings:
            if meeting.op in tile.transfers and meeting.op in self._layout_of:
                new = self._new(meeting, renaming)
                if new is not None:
                    changed[meeting.vector] = new.layout
        key = (tile, tuple(changed.items()))
        if key not in self._counted:
            layouts = self.layouts.with_layouts(changed)
            accesses = accesses_of(tile.alloc, tile.tile, layouts, self.launch)
            cost = self.policy.least_cost(KnownTile(tile.tile, accesses))
            single = sum(
                access.weight * each.instructions * self.launch.waves
                for access, each in zip(accesses, cost.accesses, strict=True)
            )
            self._counted[key] = RenamingCost(cost.cycles, cost.instructions, single)
        return self._counted[key]

    def _transfer_cost(self, meeting: Meeting, renaming: Renaming) -> RenamingCost:
        layout = self._layout_of.get(meeting.op)
        dim = _row_dim(meeting)
        new = None if layout is None else self._new(meeting, renaming)
        if layout is None or dim is None or new is None:
            return NOTHING
        key = (meeting.op, new)
        if key not in self._counted:
            trips = executions_of(meeting.op)
            bits = element_bits(meeting.vector.type.element_type) or 0
            moved = moves(new.layout, new.order, dim, bits) * self.launch.waves
            blocks = 0 if self._tile_of(meeting) else self._transactions(meeting, new.layout)
            self._counted[key] = RenamingCost(moves=moved * trips, transactions=blocks * trips)
        return self._counted[key]

    def _transactions(self, meeting: Meeting, layout: NestedLayout) -> int:
        """Returns the blocks of global memory that a transfer touches.

        Where the size of a dimension is not known, it is taken to be that of the vector: a larger
        one moves rows apart, for all renamings alike.
        """
        kind = meeting.memory.type
        extents = dict(zip(meeting.memory_dims, meeting.vector.type.shape, strict=True))
        shape = tuple(
            extents.get(dim, 1) if size == DYNAMIC else size for dim, size in enumerate(kind.shape)
        )
        tile = LdsTile(shape, element_bits(kind.element_type) or 8)
        part = TilePart(tile, meeting.memory_dims)
        width = self.launch.subgroup_size
        found = layout.accesses(part, meeting.kind, threads=self.launch.threads, wave_size=width)
        count = 0
        for access in found:
            size = access.count * tile.element_bits // 8
            first = access.elements * tile.element_bits // 8
            count += transactions_of_runs(self.policy.lds, first, size, access.active)
        return count


def _row_dim(meeting: Meeting) -> int | None:
    """Returns the vector's dimension that runs along the rows of the memory, if one does."""
    last = len(meeting.memory.type.shape) - 1
    dims = meeting.memory_dims
    return dims.index(last) if last in dims else None
