# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The accesses to a function's allocations, as it has them and as the backend may emit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from iree.compiler import ir

from ...bank_model.accesses import LdsAccess, LdsTile
from ...bank_model.quick_dataclass import dataclass
from ..index.lane_values import LaneEvaluator
from .joined_accesses import (
    MOST_UNROLLED,
    BlockOrders,
    emitted_accesses,
    stand_among_conditions,
)
from .lds_accesses import (
    AllocationAccesses,
    first_accesses,
    ordinary_accesses,
    trace_memory,
)
from .memref_types import tile_of, type_of
from .traced_views import TracedView
from .unread_memory import is_never_read


@dataclass
class AllocationTraces:
    """The traces of the allocations of a function that stays as it is, each made once.

    All methods raise a `Refusal` for an allocation that is no tile.

    Attributes:
        in_all_workgroups, without_bytes, text_order: as `trace_memory` has them.
        drops_unread: whether nothing is done to allocations that nobody reads, as `Lds` has it.
    """

    function: ir.Operation
    evaluator: LaneEvaluator
    in_all_workgroups: bool = False
    without_bytes: bool = False
    text_order: Mapping[ir.Operation, int] | None = None
    drops_unread: bool = False
    _written: dict[ir.Operation, AllocationAccesses] = field(default_factory=dict)
    _unrolled: dict[ir.Operation, AllocationAccesses] = field(default_factory=dict)
    _emitted: dict[tuple[object, ...], tuple[LdsAccess, ...]] = field(default_factory=dict)
    _orders: BlockOrders = field(default_factory=BlockOrders)

    def written(self, allocation: ir.Operation) -> AllocationAccesses:
        """Returns the accesses as the program has them."""
        if allocation not in self._written:
            traced = self._trace(allocation)
            self._written[allocation] = traced
        return self._written[allocation]

    def unrolled(self, allocation: ir.Operation) -> AllocationAccesses:
        """Returns the accesses with loops unrolled as the backend unrolls them."""
        if allocation not in self._unrolled:
            traced = self._written.get(allocation)
            if traced is None or not traced.in_straight_lines:
                traced = self._trace(allocation, MOST_UNROLLED)
                if traced.in_straight_lines:
                    self._written[allocation] = traced
            self._unrolled[allocation] = traced
        return self._unrolled[allocation]

    def _trace(self, allocation: ir.Operation, unroll: int = 0) -> AllocationAccesses:
        memory = allocation.results[0]
        tile = tile_of(type_of(memory))
        if self.leaves_out(memory):
            return AllocationAccesses(tile, (), (), ())
        return self.of_memory(tile, {memory: TracedView.of(memory)}, unroll)

    def leaves_out(self, memory: ir.Value) -> bool:
        """Returns whether the backend leaves out LDS of the function, because nobody reads it."""
        return self.drops_unread and is_never_read(memory)

    def of_memory(
        self, tile: LdsTile, memory: Mapping[ir.Value, TracedView], unroll: int = 0
    ) -> AllocationAccesses:
        """Returns the accesses to memory that no allocation makes, as the program has them."""
        return trace_memory(
            *(tile, memory, self.function, self.evaluator, unroll),
            in_all_workgroups=self.in_all_workgroups,
            without_bytes=self.without_bytes,
            text_order=self.text_order,
        )

    def emitted(
        self,
        allocations: Sequence[ir.Operation],
        through_conditions: bool = False,
        *,
        gathers: bool = False,
        left_out: frozenset[ir.Operation] = frozenset(),
    ) -> tuple[LdsAccess, ...]:
        """Returns what is done to allocations that share a layout, as the backend may emit it.

        Args:
            through_conditions: as `emitted_accesses` has it.
            gathers: whether direct stores are among the accesses.
            left_out: operations whose accesses count as those of other allocations.
        """
        traces = [self.unrolled(each) for each in allocations]
        accesses = ordinary_accesses(traces)
        if gathers:
            accesses = [each for traced in traces for each in traced.traced]
        if left_out:
            accesses = [each for each in accesses if each.operation not in left_out]
        through = through_conditions and stand_among_conditions(accesses, self._orders)
        key = (*allocations, gathers, through, left_out)
        if key not in self._emitted:
            found = emitted_accesses(traces[0].tile, accesses, through, self._orders)
            self._emitted[key] = found
        return self._emitted[key]

    def counted(
        self, allocation: ir.Operation, counted: set[ir.Operation]
    ) -> tuple[LdsAccess, ...]:
        """Returns what is done to an allocation by operations that are not `counted` yet, as the
        backend may emit it, and adds these operations to them.

        So an operation that may access several allocations counts once, with the first of them.
        """
        left_out = frozenset(counted)
        first_accesses(self.written(allocation), counted)
        return self.emitted([allocation], gathers=True, left_out=left_out)
