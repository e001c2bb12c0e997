# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pads the rows of LDS allocations that no swizzle hint takes care of.

    %a = memref.alloc() : memref<64x64xf16, #ws>

becomes, with 8 bytes of padding,

    %p = memref.alloc() : memref<64x68xf16, #ws>
    %a = memref.subview %p[0, 0] [64, 64] [1, 1] : ... to memref<64x64xf16, strided<[68, 1]>, #ws>

and every view of `%a` gets the type that follows from the new strides. With
`padding-bits=auto` the solver of the bank model decides, within the LDS that the stock 64-bit
padding would use: any number of whole elements, the fewest conflict cycles. Several allocations
share that LDS so that the sum of their conflict cycles is least (`bank_model/paddings.py`). With a
number it is that many bits for every allocation, as the stock pass
`iree-codegen-gpu-reduce-bank-conflicts` pads, down to the IR it leaves.

Some operations need aligned addresses in every layout
(`dialect_utils/memory/lds_ops.py`). Rows that these access are padded by multiples of
what they need, by more bits than asked for if need be, or not at all; a warning says so where the
bits were asked for.
"""

from __future__ import annotations

import re
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.copy_slots import loads_directly
from ...dialect_utils.memory.flat_allocations import align_allocation
from ...dialect_utils.memory.flow import is_hinted, lds_allocations
from ...dialect_utils.memory.memref_types import shown_type, type_of
from ..base import FunctionPass, PassContext
from ..decisions import Action
from .padded_rows import (
    bits_of_element,
    extra_bytes,
    needed_alignment,
    pad_rows,
)
from .padding_plan import PaddingPlan, plan_paddings

AUTO = "auto"


@dataclass(frozen=True)
class PadUnhintedAllocs(FunctionPass):
    """Pads each LDS allocation without a swizzle so that its accesses conflict least."""

    name: ClassVar[str] = "bankwise-pad-unhinted-allocs"
    summary: ClassVar[str] = "pad LDS allocations without a swizzle hint against bank conflicts"

    padding_bits: str = AUTO
    """`auto`, or the bits to append to every row; as many whole elements as they hold are."""
    lds_limit_bytes: int = 0
    """LDS bytes that the function may use; 0 means the target's limit."""
    unresolved_only: bool = False
    """Leave alone what has lost no hints that could not be resolved."""

    def __post_init__(self) -> None:
        bits = self.padding_bits
        self._expect(
            "padding_bits",
            bits == AUTO
            or (bool(re.fullmatch(r"\d{1,9}", bits)) and int(bits) % 8 == 0 != int(bits)),
            "auto or a number of bits that is a multiple of 8",
        )
        self._expect("lds_limit_bytes", self.lds_limit_bytes >= 0, "a number of bytes")

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Pads what can be padded; every allocation gets a decision.

        What is filled without registers gets its layout later, by `bankwise-swizzle-lds-allocs`.
        """
        if loads_directly(function.operation, context.test_target):
            return
        if self.unresolved_only and not context.unresolved:
            return
        bits = None if self.padding_bits == AUTO else int(self.padding_bits)
        plans = plan_paddings(function, context.test_target, bits, self.lds_limit_bytes)
        if self.unresolved_only:
            plans = [
                each
                if str(each.allocation.location) in context.unresolved
                else each.kept("stock pads none of a function that comes lowered")
                for each in plans
            ]
        for plan in plans:
            self._record(plan, function.operation, context)
            if plan.rewrite is not None:
                pad_rows(plan.allocation, plan.rewrite, keep_alignment=self.padding_bits == AUTO)
        if not any(plan.rewrite for plan in plans):
            return
        for allocation in lds_allocations(function.operation):
            # The allocation before it may have become longer.
            align_allocation(allocation, needed_alignment(allocation))

    def _record(self, plan: PaddingPlan, function: ir.Operation, context: PassContext) -> None:
        """Emits a remark on the allocation, and records a decision unless a hint has decided."""
        allocation = plan.allocation
        kind = type_of(allocation)
        text = shown_type(kind)
        before = after = None
        if kind.has_static_shape:
            before = after = bits_of_element(allocation) // 8 * prod(kind.shape)
        detail = ""
        message = f"allocation of {text} not padded: {plan.reason}"
        if plan.rewrite is not None:
            extra = extra_bytes(allocation, plan.rewrite.padding_elements)
            after = before + extra if before is not None else None
            padding = plan.rewrite.padding_elements * bits_of_element(allocation) // 8
            detail = f"{padding} bytes per row"
            message = f"allocation of {text} padded by {padding} bytes: {plan.reason}"
        hinted = is_hinted(allocation)
        stays = plan.rewrite is None and (hinted or plan.conflicts_after == 0)
        context.sink.remark(allocation.location, message, stays=stays)
        if plan.warning:
            context.sink.warning(allocation.location, f"allocation of {text}: {plan.warning}")
        if hinted:
            return
        issued = plan.instructions or (None, None)
        self.record(
            context,
            function,
            allocation.results[0],
            Action.PAD if plan.rewrite is not None else Action.KEEP,
            plan.reason,
            detail=detail,
            lds_bytes_before=before,
            lds_bytes_after=after,
            conflict_cycles_before=plan.conflicts_before,
            conflict_cycles_after=plan.conflicts_after,
            lds_instructions_before=issued[0],
            lds_instructions_after=issued[1],
            other_readings=plan.doubts,
        )
