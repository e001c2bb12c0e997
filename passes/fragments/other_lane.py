# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computing an index as another lane of the warp has it.

    %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)             %t = gpu.thread_id x

is t / 4 in thread t. Lane 4 (l mod 8) of its warp has it as

    %u = affine.apply affine_map<(t) -> (t floordiv 32 * 32 + t mod 8 * 4)>(%t)
    %s = affine.apply affine_map<(t) -> (t floordiv 4)>(%u)

So the operations between the thread id and the index are made anew, of the other lane's thread id.
Nothing is exchanged between lanes: what an index depends on besides is the same for the warp, or
the index is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.index_ops import compute_after_operands, dimension_of
from ...dialect_utils.operations import defining_operation

THREAD_ID = "gpu.thread_id"

_COPIED = ("affine.", "arith.")
_UNIFORM = frozenset({"arith.constant", "gpu.block_id", "gpu.block_dim", "gpu.subgroup_id"})
_PASSED_ON = frozenset({"iree_codegen.index_hint"})
"""What they say of a value holds for the lanes in their order."""


@dataclass
class OtherLane:
    """Emits indices of another lane at the insertion point that is current.

    `thread_x` is the thread id along x of that lane. Warps must lie along x.
    """

    thread_x: ir.Value
    _made: dict[ir.Value, ir.Value] = field(default_factory=dict)
    _copies: dict[ir.Operation, ir.Operation] = field(default_factory=dict)

    def index(self, value: ir.Value) -> ir.Value:
        """Returns the index that the other lane has where this one has `value`.

        The induction variable of a loop counts as the same in both lanes.

        Raises:
            Refusal: it depends on the lane in a way that is not understood.
        """
        return compute_after_operands(value, self._made, _followed, self._emit)

    def _emit(self, value: ir.Value, operands: Sequence[ir.Value]) -> ir.Value:
        operation = defining_operation(value)
        if operation is None:
            return _induction(value)
        name = operation.name
        if name == THREAD_ID:
            return self.thread_x if dimension_of(operation) == 0 else value
        if name in _UNIFORM:
            return value
        if not _is_followed(operation):
            raise Refusal(f"an index depends on the result of {name}")
        others = [self._made[operand] for operand in operands]
        if name in _PASSED_ON:
            return others[0]
        if others == list(operands):
            return value
        return self._copy(operation, others).results[ir.OpResult(value).result_number]

    def _copy(self, operation: ir.Operation, operands: Sequence[ir.Value]) -> ir.Operation:
        if operation not in self._copies:
            copy = operation.clone().operation
            for position, operand in enumerate(operands):
                copy.operands[position] = operand
            self._copies[operation] = copy
        return self._copies[operation]


def _is_followed(operation: ir.Operation) -> bool:
    is_arithmetic = operation.name.startswith(_COPIED) and not len(operation.regions)
    return operation.name in _PASSED_ON or (is_arithmetic and operation.name not in _UNIFORM)


def _followed(value: ir.Value) -> list[ir.Value]:
    operation = defining_operation(value)
    return [] if operation is None or not _is_followed(operation) else list(operation.operands)


def _induction(value: ir.Value) -> ir.Value:
    """Returns a block argument that is the induction variable of a loop."""
    block = value.owner
    assert isinstance(block, ir.Block)
    loop = block.owner.operation
    if loop.name != "scf.for" or ir.BlockArgument(value).arg_number != 0:
        raise Refusal(f"an index depends on a block argument of {loop.name}")
    return value
