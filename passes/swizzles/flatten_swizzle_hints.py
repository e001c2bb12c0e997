# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-flatten-swizzle-hints`: hinted allocations become one-dimensional.

A swizzle permutes the elements of a flat buffer, and hints are resolved on flat buffers only. An
n-D allocation with hints therefore becomes a flat one; users see it through `memref.expand_shape`,
which `iree-codegen-fold-memref-alias-ops` later folds into their indices. Unlike the stock pass
(FlattenSwizzleHintAllocs.cpp, which wants the hint to be the allocation's only use), it takes
chains of hints, several hints, and other users beside them.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.memory.flat_allocations import flatten_allocation
from ...dialect_utils.memory.lds_ops import ALLOC
from ...dialect_utils.memory.memref_types import check_flat, shown_type, type_of
from ...dialect_utils.operations import defining_operation
from ...dialect_utils.swizzle_hint import hints_in, unhinted
from ..base import FunctionPass, PassContext
from .hint_ownership import has_hints


class FlattenSwizzleHints(FunctionPass):
    """Flattens every static row-major `memref.alloc` of rank > 1 that has swizzle hints.

    Where that is not possible, the hints stay as they are and a remark says why. Hints on tensors
    are left to bufferization.
    """

    name: ClassVar[str] = "bankwise-flatten-swizzle-hints"
    summary: ClassVar[str] = "make allocations with swizzle hints one-dimensional"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has swizzle hints."""
        return has_hints(function)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Flattens what can be flattened; never fails."""
        function = function.operation
        with function.context:
            for hinted, hints in _hints_on_tiles(function):
                what_stays = f"swizzle hint of {shown_type(hinted.type)} is left as it is"
                with context.refusals_said(hints[0].location, what_stays):
                    flatten_allocation(_flattenable(hinted))


def _hints_on_tiles(function: ir.Operation) -> list[tuple[ir.Value, list[ir.Operation]]]:
    """Returns the hints on memrefs that are not flat, by what each innermost hint is on.

    Flat ones stay out: flattening an allocation erases flat views of it, which may be hinted too.
    """
    grouped: dict[ir.Value, list[ir.Operation]] = {}
    for hint in hints_in(function):
        buffer = unhinted(hint.operands[0])
        if isinstance(buffer.type, ir.MemRefType) and buffer.type.rank != 1:
            grouped.setdefault(buffer, []).append(hint)
    return list(grouped.items())


def _flattenable(buffer: ir.Value) -> ir.Operation:
    """Returns the allocation that a hinted buffer is.

    Raises:
        Refusal: it is none that can be flattened.
    """
    allocation = defining_operation(buffer)
    if allocation is None:
        block = buffer.owner
        assert isinstance(block, ir.Block)
        parent = block.owner.operation.name
        raise Refusal(f"its operand is an argument of {parent}, not a memref.alloc")
    if allocation.name != ALLOC:
        raise Refusal(f"its operand comes from {allocation.name}, not from a memref.alloc")
    check_flat(type_of(buffer))
    return allocation
