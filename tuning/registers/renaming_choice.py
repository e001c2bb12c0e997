# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which renamings of indices a function gets: register layouts are chosen with the memory layouts.

A renaming (`bank_model/register_renaming.py`) changes how wide the transfers of its class are, and
with that what the best memory layout of every tile is that they touch. So each candidate is judged
by what the layout policy makes of these tiles:

    cost = LDS cycles + issue slots of LDS instructions + moves of registers
         + blocks of global memory,

each weighted by the iterations of the loops around it, of all waves of a workgroup. Cycles and
slots are those of `bank_model/issue.py`. A move is counted as one more slot: a wave's vector
instruction keeps one of the four SIMDs of a compute unit for four cycles, which is one cycle of the
unit. So is a block of global memory that a transfer touches, by the coalescing model: the L1 cache
of a compute unit takes 64 bytes in a cycle. Outputs are stored once, after the loop that reads
tiles, so that a renaming that saves in the loop may well store in more pieces.

Operands of contractions that lanes read from global memory themselves have no tile. Their classes
are candidates too where the search is asked for it, and their loads count as issue slots beside the
blocks.

A tile that is written and read by the same lanes costs nothing: it is not needed. Classes meet in
tiles, the rows and the columns of one: `renaming_search.py` decides on them in turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial

from iree.compiler import ir

from ...bank_model.accesses import LdsAccess, LdsTile
from ...bank_model.coalescing import WIDEST_BYTES, transactions_of
from ...bank_model.cost_floor import cost_floor
from ...bank_model.errors import InvalidParameterError
from ...bank_model.layout_digits import RegisterOrder
from ...bank_model.lds_rules import AccessKind
from ...bank_model.nested_layout import NestedLayout, TilePart
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
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
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import Launch
from ...dialect_utils.memory.memref_types import tile_of
from ...dialect_utils.memory.staged_tensors import accesses_of, executions_of, transfers_of
from ...dialect_utils.memory.vector_layouts import VectorLayouts, op_name
from ...dialect_utils.operations import defining_operation
from ...passes.layout_policy import KnownTile, LayoutPolicy
from .dimension_classes import (
    ClassKind,
    DimensionClass,
    DimensionClasses,
    NamedTransfer,
)
from .renaming_search import NOTHING, RenamingCost, RenamingSearch


@dataclass(frozen=True)
class ClassDecision:
    """What became of one class, and why.

    Attributes:
        read: a transfer that could read more neighbours at once under another name.
    """

    read: NamedTransfer
    reason: str
    renaming: Renaming = field(default_factory=dict)
    before: RenamingCost = NOTHING
    after: RenamingCost = NOTHING


class RenamedTransfer(NamedTuple):
    """A transfer that gets another layout."""

    transfer: NamedTransfer
    logical: NestedLayout
    renamed: Renamed


class HandedOver(NamedTuple):
    """A vector that goes from its writer to its reader in registers, without a tile between."""

    write: NamedTransfer
    written: NestedLayout
    read: NamedTransfer
    wanted: NestedLayout
    order: RegisterOrder


class _Tile(NamedTuple):
    """An allocation in the LDS all of whose transfers are known."""

    alloc: ir.Operation
    tile: LdsTile
    transfers: frozenset[ir.Operation]


_Layouts = tuple[_Tile, tuple[tuple[ir.Value, NestedLayout], ...]]
"""A tile, and the layouts of the vectors that are written to it and read from it."""
_TileCost = Callable[[_Layouts], RenamingCost]


class RegisterSearch:
    """The search for the renamings of one function, which it does not change."""

    def __init__(
        self,
        policy: LayoutPolicy,
        launch: Launch,
        layouts: VectorLayouts,
        classes: DimensionClasses,
        allocations: Sequence[ir.Operation],
        without_tiles: bool = False,
    ) -> None:
        """Reads where the allocations are accessed.

        Args:
            without_tiles: whether classes are renamed, too, that no allocation has.
        """
        self._without_tiles = without_tiles
        self.policy, self.launch, self.layouts, self.classes = policy, launch, layouts, classes
        self._layout_of: dict[ir.Operation, NestedLayout] = {}
        for transfer in classes.transfers:
            found = layouts.candidates(transfer.vector)
            if len(found) == 1 and found[0].shape == tuple(transfer.vector.type.shape):
                self._layout_of[transfer.op] = found[0]
        self._tiles: list[_Tile] = []
        self._unknown: dict[ir.Operation, Refusal] = {}
        for alloc in allocations:
            self._add_tile(alloc)
        self._counted: dict[object, RenamingCost] = {}
        self._accessed: dict[_Layouts, tuple[LdsAccess, ...]] = {}
        self._floors: dict[_Layouts, RenamingCost] = {}
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

    def decide(self, kinds: frozenset[ClassKind], details: bool = True) -> list[ClassDecision]:
        """Returns the decisions on all classes of which a lane could read more neighbours at once.

        Args:
            kinds: classes of other kinds are left as they are.
            details: whether somebody reads what the decisions save.
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
        transfers = [self.classes.transfers_of(each) for each in undecided]

        def cost(
            of_tile: _TileCost, number: int, renamings: Sequence[Renaming]
        ) -> RenamingCost | None:
            together = composed(renamings)
            if any(self._new(each, together) is None for each in transfers[number]):
                return None
            return self._cost(transfers[number], together, of_tile)

        search = RenamingSearch[Renaming](
            {},
            lambda number: self._candidates(undecided[number], transfers[number]),
            partial(cost, self._tile_cost),
            partial(cost, self._tile_floor),
        )
        renamings = search.choices(len(undecided))
        decisions = [
            self._decision(each, number, renamings, search if details else None)
            for number, each in enumerate(undecided)
        ]
        return [*decisions, *kept]

    def handed_over(self, renaming: Renaming) -> list[HandedOver]:
        """Returns the vectors that need no tile under a renaming of the whole function."""
        found = [self._handed_over(tile, renaming) for tile in self._tiles]
        return [each for each in found if each is not None]

    def renamed_transfers(self, renaming: Renaming) -> list[RenamedTransfer]:
        """Returns the other transfers that a renaming of the whole function changes."""
        gone = {m.op for each in self.handed_over(renaming) for m in (each.write, each.read)}
        found: list[RenamedTransfer] = []
        for transfer in self.classes.transfers:
            if transfer.op not in gone and any(
                renaming.get(x, x) != x for row in transfer.names for x in row
            ):
                layout = self._layout_of[transfer.op]
                new = self._new(transfer, renaming)
                if new is None:
                    raise ValueError("a renaming was chosen that no layout expresses")
                found.append(RenamedTransfer(transfer, layout, new))
        return found

    def _why_not(self, each: DimensionClass, kinds: frozenset[ClassKind]) -> str | None:
        if each.pinned is not None:
            return str(each.pinned)
        if each.kind not in kinds:
            return f"it is {each.kind.value}: a renaming changes the order of a sum"
        transfers = self.classes.transfers_of(each)
        for transfer in transfers:
            if transfer.op in self._unknown:
                return str(self._unknown[transfer.op])
            if transfer.op not in self._layout_of:
                return "the layout of a transfer is not known"
        try:
            self._cost(transfers, {}, self._tile_floor)
        except (Refusal, InvalidParameterError) as error:
            return str(error)
        return None

    def _candidates(
        self, each: DimensionClass, transfers: Sequence[NamedTransfer]
    ) -> list[Renaming]:
        found: list[Renaming] = []
        no_tiles = self._have_no_tiles(self.classes.transfers_of(each))
        for transfer in transfers:
            dim = _row_dim(transfer)
            if dim is None or transfer.op not in self._layout_of:
                continue
            if self._tile_of(transfer) is None and not (
                no_tiles and self._without_tiles and transfer.kind is AccessKind.READ
            ):
                continue
            layout = self._layout_of[transfer.op]
            bits = element_bits(transfer.vector.type.element_type)
            for candidate in candidates(layout, transfer.names, dim, each.digits, bits or 0):
                if candidate not in found:
                    found.append(candidate)
        return found

    def _decision(
        self,
        each: DimensionClass,
        number: int,
        renamings: Sequence[Renaming],
        search: RenamingSearch[Renaming] | None,
    ) -> ClassDecision:
        read, reason = self._widened_read(each), "no renaming costs less"
        assert read is not None
        if renamings[number]:
            reason = self._neighbours(read, composed(renamings))
        change = (NOTHING, NOTHING) if search is None else search.change(number, renamings)
        return ClassDecision(read, reason, renamings[number], *change)

    def _neighbours(self, read: NamedTransfer, renaming: Renaming) -> str:
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

    def _widened_read(self, each: DimensionClass) -> NamedTransfer | None:
        """Returns a read of the LDS that a renaming of the class could widen, if there is one."""
        for transfer in self.classes.transfers_of(each):
            if transfer.kind is AccessKind.READ and self._candidates(each, [transfer]):
                return transfer
        return None

    # Counting.

    def _tile_of(self, transfer: NamedTransfer) -> _Tile | None:
        return next((tile for tile in self._tiles if transfer.op in tile.transfers), None)

    def _have_no_tiles(self, transfers: Sequence[NamedTransfer]) -> bool:
        return not any(map(self._tile_of, transfers))

    def _new(self, transfer: NamedTransfer, renaming: Renaming) -> Renamed | None:
        key = (transfer.op, tuple(renaming.get(x, x) for row in transfer.names for x in row))
        if key not in self._renamed:
            layout = self._layout_of[transfer.op]
            self._renamed[key] = renamed(layout, transfer.names, renaming)
        return self._renamed[key]

    def _cost(
        self, transfers: Sequence[NamedTransfer], renaming: Renaming, of_tile: _TileCost
    ) -> RenamingCost:
        """Returns what the transfers, and all else that touches their tiles, cost."""
        tiles = dict.fromkeys(filter(None, map(self._tile_of, transfers)))
        total = NOTHING
        for tile in tiles:
            if self._handed_over(tile, renaming) is None:
                total += of_tile(self._layouts_of(tile, renaming))
        for transfer in transfers:
            total += self._transfer_cost(transfer, renaming, counts_loads=not tiles)
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

    def _write_and_read(self, tile: _Tile) -> tuple[NamedTransfer, NamedTransfer] | None:
        """Returns the only write to a tile and its only read, if each moves the whole tile."""
        whole = tuple(range(len(tile.tile.shape)))
        found = {
            transfer.kind: transfer
            for transfer in self.classes.transfers
            if transfer.op in tile.transfers
            and transfer.memory_dims == whole
            and tuple(transfer.vector.type.shape) == tile.tile.shape
            and transfer.op in self._layout_of
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

    def _layouts_of(self, tile: _Tile, renaming: Renaming) -> _Layouts:
        changed: dict[ir.Value, NestedLayout] = {}
        for transfer in self.classes.transfers:
            if transfer.op in tile.transfers and transfer.op in self._layout_of:
                new = self._new(transfer, renaming)
                if new is not None:
                    changed[transfer.vector] = new.layout
        return tile, tuple(changed.items())

    def _accesses_to(self, key: _Layouts) -> tuple[LdsAccess, ...]:
        """Returns the accesses to a tile by transfers that have these layouts."""
        if key not in self._accessed:
            tile, changed = key
            layouts = self.layouts.with_layouts(dict(changed))
            self._accessed[key] = accesses_of(tile.alloc, tile.tile, layouts, self.launch)
        return self._accessed[key]

    def _tile_cost(self, key: _Layouts) -> RenamingCost:
        """Returns what a tile costs in the layout that is the best for its accesses."""
        if key not in self._counted:
            tile, accesses = key[0].tile, self._accesses_to(key)
            cost = self.policy.least_cost(KnownTile(tile, accesses))
            single = sum(
                access.weight * each.instructions * self.launch.waves
                for access, each in zip(accesses, cost.accesses, strict=True)
            )
            self._counted[key] = RenamingCost(cost.cycles, cost.instructions, single)
        return self._counted[key]

    def _tile_floor(self, key: _Layouts) -> RenamingCost:
        """Returns what a tile costs at least."""
        if key not in self._floors:
            floor = cost_floor(self.policy.lds, key[0].tile, self._accesses_to(key))
            self._floors[key] = RenamingCost(*floor)
        return self._floors[key]

    def _transfer_cost(
        self, transfer: NamedTransfer, renaming: Renaming, *, counts_loads: bool
    ) -> RenamingCost:
        layout = self._layout_of.get(transfer.op)
        dim = _row_dim(transfer)
        new = None if layout is None else self._new(transfer, renaming)
        if layout is None or dim is None or new is None:
            return NOTHING
        key = (transfer.op, new, counts_loads)
        if key not in self._counted:
            iterations = executions_of(transfer.op)
            bits = element_bits(transfer.vector.type.element_type) or 0
            moved = moves(new.layout, new.order, dim, bits) * self.launch.waves
            blocks = 0 if self._tile_of(transfer) else self._transactions(transfer, new.layout)
            loads = 0
            if counts_loads and transfer.kind is AccessKind.READ:
                loads = len(self._accesses(transfer, new.layout)) * self.launch.waves
            self._counted[key] = RenamingCost(
                moves=moved * iterations,
                transactions=blocks * iterations,
                global_loads=loads * iterations,
            )
        return self._counted[key]

    def _transactions(self, transfer: NamedTransfer, layout: NestedLayout) -> int:
        """Returns the blocks of global memory that a transfer touches."""
        size = (element_bits(transfer.memory.type.element_type) or 8) // 8
        return transactions_of(self.policy.lds, self._accesses(transfer, layout), size)

    def _accesses(self, transfer: NamedTransfer, layout: NestedLayout) -> tuple[LdsAccess, ...]:
        """Returns the accesses of all waves to global memory by which a vector is transferred.

        Where the size of a dimension is not known, it is taken to be that of the vector: a larger
        one moves rows apart, for all renamings alike.
        """
        kind = transfer.memory.type
        extents = dict(zip(transfer.memory_dims, transfer.vector.type.shape, strict=True))
        shape = tuple(
            extents.get(dim, 1) if size == DYNAMIC else size for dim, size in enumerate(kind.shape)
        )
        tile = LdsTile(shape, element_bits(kind.element_type) or 8)
        part = TilePart(tile, transfer.memory_dims)
        width = self.launch.subgroup_size
        return layout.accesses(part, transfer.kind, threads=self.launch.threads, wave_size=width)


def _row_dim(transfer: NamedTransfer) -> int | None:
    """Returns the vector's dimension that runs along the rows of the memory, if one does."""
    last = len(transfer.memory.type.shape) - 1
    dims = transfer.memory_dims
    return dims.index(last) if last in dims else None
