# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts what the LDS allocations of a function would cost in the layouts that stock gives them.

Stands before the first pass of ours that changes how lanes access the LDS, and changes nothing. Its
decisions are what a compile's summary compares our layouts with (`iree_plugin/summary.py`). Stock
pads the rows of all allocations by 64 bits where the LDS has room for that, and keeps the layouts
of a function that comes lowered. On chips with reads that transpose, stock forms these behind that
place: there a copy of the function is counted, on which its passes have run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from iree.compiler import ir
from iree.compiler.passmanager import PassManager

from ...bank_model.errors import InvalidParameterError
from ...bank_model.issue import LayoutCosts, layout_cost
from ...bank_model.layout_counts import stock_padding
from ...bank_model.layouts import Layout, PlainLayout, SwizzledLayout
from ...bank_model.lds_rules import Lds
from ...bank_model.lds_tables import transposing_read
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.readings import shown_readings
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import Launch, lds_limit, lds_model
from ...dialect_utils.memory.flow import lds_allocations
from ...dialect_utils.memory.lds_reading import ReadAllocation, read_allocations
from ...dialect_utils.memory.staged_tensors import is_workgroup_alloc
from ...dialect_utils.operations import operations_in, symbol_of
from ..base import FunctionPass, PassContext
from ..decisions import Action, Decision, LayoutRound

_TRANSPOSING = "iree-gpu-unroll-to-intrinsics,canonicalize,cse,iree-rocdl-load-to-transpose-load"
"""The passes of stock from `iree-codegen-vectorize-memref-copy` to where reads that transpose are
formed."""


@dataclass(frozen=True)
class CountStockLayouts(FunctionPass):
    """Records what each LDS allocation costs in stock's layout; changes nothing."""

    name: ClassVar[str] = "bankwise-count-stock-layouts"
    summary: ClassVar[str] = "count what LDS allocations cost in the layouts that stock gives them"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    padded: bool = True
    """Stock pads the allocations of the function."""
    rest_only: bool = False
    """Count only those that an earlier run has not seen, because they are allocated since."""
    transposed: bool = False
    """Stock forms reads that transpose behind this place, if the chip has some."""

    def only_decides(self, function: ir.Operation, context: PassContext) -> bool:
        """Returns whether there are allocations, and somebody reads decisions."""
        return context.explains and _has_lds(function.operation)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Records a decision for each allocation; does nothing where nobody reads them."""
        function = function.operation
        if not self.only_decides(function, context):
            return
        try:
            lds, launch = lds_model(function, context.test_target)
        except Refusal:
            return
        if self.transposed and any(lds.has(transposing_read(64, bits)) for bits in (8, 16)):
            with _with_transposing_reads(function) as stock:
                self._count(stock, context, lds, launch)
        else:
            self._count(function, context, lds, launch)

    def _count(
        self, function: ir.Operation, context: PassContext, lds: Lds, launch: Launch
    ) -> None:
        read = read_allocations(function, launch, drops_unread=lds.drops_unread)
        pads = self.padded and _stock_bytes(read) <= lds_limit(function, context.test_target)
        seen = self._seen(function, context) if self.rest_only else Counter[str]()
        for each in read:
            kind = _shape(each.type)
            if self.rest_only and isinstance(each.layout, SwizzledLayout):
                # It was counted before it got its hint.
                continue
            if seen[kind]:
                seen[kind] -= 1
            else:
                context.log.add(self._counted(each, function, lds, pads), self.layout_round)

    def _seen(self, function: ir.Operation, context: PassContext) -> Counter[str]:
        """Returns the allocations that an earlier run has counted, and how many of each shape."""
        name = symbol_of(function)
        return Counter(
            _shape(each.allocation)
            for each in context.log
            if each.action is Action.STOCK and each.function == name
        )

    def _counted(
        self, read: ReadAllocation, function: ir.Operation, lds: Lds, pads: bool
    ) -> Decision:
        stock = _stock_layout(read, pads)
        named = (self.name, symbol_of(function), read.type, read.location, Action.STOCK)
        try:
            if read.tile is None or read.unknown:
                raise Refusal(read.unknown[0].reason if read.unknown else "it is no tile")
            counted = read.costing
            layouts = (PlainLayout(), stock)
            plain, padded = (layout_cost(lds, read.tile, each, counted) for each in layouts)
            # A direct store is no LDS instruction.
            issued = LayoutCosts(lds, read.tile, read.emitted(False) or counted)
        except (Refusal, InvalidParameterError) as error:
            return Decision(*named, f"its accesses are not known: {error}")
        is_first = len(read.counted) == len(read.accesses)
        return Decision(
            *named,
            "what stock's layout costs for its accesses",
            "padded by 64 bits" if stock == stock_padding(read.tile) else str(stock),
            PlainLayout().size_bytes(read.tile),
            stock.size_bytes(read.tile),
            plain.conflict_cycles,
            padded.conflict_cycles,
            issued.instructions(PlainLayout()) if is_first else plain.instructions,
            issued.instructions(stock) if is_first else padded.instructions,
            shown_readings(lds, read.tile, stock, counted),
        )


@contextmanager
def _with_transposing_reads(function: ir.Operation) -> Iterator[ir.Operation]:
    """Gives a copy of a function, as stock's passes change its reads; it goes with the body."""
    copy = function.clone(ir.InsertionPoint(function)).operation
    try:
        PassManager.parse(f"{copy.name}({_TRANSPOSING})", copy.context).run(copy)
        yield copy
    finally:
        copy.erase()


def _has_lds(function: ir.Operation) -> bool:
    return bool(lds_allocations(function)) or any(map(is_workgroup_alloc, operations_in(function)))


def _shape(kind: str) -> str:
    """Returns a type without the kind of what has it: a tensor becomes a memref."""
    return kind.partition("<")[2]


def _stock_bytes(allocations: list[ReadAllocation]) -> int:
    """Returns the LDS that the allocations take together where stock pads them."""
    return sum(
        (each.lds_bytes or 0)
        if each.tile is None
        else stock_padding(each.tile).size_bytes(each.tile)
        for each in allocations
    )


def _stock_layout(read: ReadAllocation, pads: bool) -> Layout:
    """Returns the layout that stock gives an allocation."""
    if isinstance(read.layout, SwizzledLayout):
        return read.layout
    if read.tile is None or not pads or read.never_padded or len(read.tile.shape) < 2:
        return PlainLayout()
    return stock_padding(read.tile)
