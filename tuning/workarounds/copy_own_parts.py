# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-copy-own-parts`: a part of a tensor is copied before it becomes another part of it.

A cache whose rows move up by one is written in this way:

    %rows = tensor.extract_slice %cache[1, 0] [63, 512] [1, 1]
    %moved = tensor.insert_slice %rows into %cache[0, 0] [63, 512] [1, 1]

IREE 3.13 takes the tensor that is updated and the one that is read for a single use of one tensor,
and updates it in place. Rows are copied within one buffer, which the runtime refuses where it sees
that they overlap, and which is undefined where it does not. Columns are read and written by one
kernel, which does not compile for GPUs, and gives wrong values on the CPU. So it is with
`iree_linalg_ext.scatter`, and where the part is reshaped on its way. What is computed from the part
is right: a kernel of its own makes it, into memory of its own.

This pass puts a `util.optimization_barrier` between the two, so that IREE makes the part first.

Runs on functions of the program, before dispatches are formed.

This works around IREE 3.13 (`docs/for_iree.md#parts-of-a-tensor-that-move-within-it`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.operations import operations_in, value_behind
from ...dialect_utils.program_operations import INSERT_SLICE, UPDATES
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import LayoutRound

_VIEWS = frozenset(
    (
        *("tensor.cast", "tensor.collapse_shape", "tensor.expand_shape", "tensor.extract_slice"),
        *("tensor.bitcast", "tensor.reshape", "iree_tensor_ext.bitcast"),
        *("flow.tensor.reshape", "flow.tensor.slice", "flow.tensor.tie_shape"),
    )
)
"""What IREE makes no kernel for, or one that only copies. The first operand is what is seen."""


class CopyOwnParts(FunctionPass):
    """Copies parts of tensors that become other parts of the same tensors."""

    name: ClassVar[str] = "bankwise-copy-own-parts"
    summary: ClassVar[str] = "copy a part of a tensor before it becomes another part of it"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` moves a part of a tensor within it."""
        return any(True for _ in _own_parts(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Copies the parts; never fails."""
        for update, number in list(_own_parts(function.operation)):
            at = Builder.before(update)
            update.operands[number] = at.made_first(update.operands[number])
            text = "what is written is copied first, because it is a part of what it is written to"
            context.sink.remark(update.location, text)


def _own_parts(function: ir.Operation) -> Iterator[tuple[ir.Operation, int]]:
    """Yields each update that writes what is a view of the updated tensor, and the operand."""
    for update in operations_in(function, *UPDATES):
        updated = 1 if update.name == INSERT_SLICE else len(update.operands) - 1
        whole = value_behind(update.operands[updated], _VIEWS)
        for number in range(updated):
            if value_behind(update.operands[number], _VIEWS) == whole:
                yield update, number
