# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-align-lds-accesses`: vector accesses to the LDS say how they are aligned.

    %o = affine.apply affine_map<(w) -> (w * 16)>(%w)
    vector.store %v, %a[%o] : memref<32xf32, #ws>, vector<8xf32>

becomes a store with `alignment = 16`, and so does the allocation. The layouts of this package are
chosen for wide LDS instructions, which the backend issues only for addresses that it can prove
aligned (`dialect_utils/memory/stated_alignment.py`). Accesses that a swizzle has moved say it
already; here the others do, of allocations that stay plain or are padded.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import ClassVar

from iree.compiler import ir

from ..dialect_utils.dynamic_sizes import DYNAMIC
from ..dialect_utils.gpu_target import launch_of
from ..dialect_utils.index.index_bits import IndexBits
from ..dialect_utils.index.lane_values import LaneEvaluator
from ..dialect_utils.memory.allocations import Untraceable, start_offsets
from ..dialect_utils.memory.lds_accesses import is_lds_allocation, lds_allocations
from ..dialect_utils.memory.stated_alignment import promised_alignment, state_alignment
from .base import FunctionPass, PassContext

_BUFFER_OPERAND = {"vector.load": 0, "vector.store": 1}


@dataclass(frozen=True)
class AlignLdsAccesses(FunctionPass):
    """States the alignment of vector loads and stores in LDS allocations where it is known.

    What was stated before stays if it is more. Accesses to anything that may be other memory are
    left alone.
    """

    name: ClassVar[str] = "bankwise-align-lds-accesses"
    summary: ClassVar[str] = "state how vector accesses to LDS allocations are aligned"

    def has_work(self, function: ir.Operation) -> bool:
        """Whether `function` has LDS allocations."""
        return bool(lds_allocations(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Adds `alignment` attributes; never fails."""
        function = function.operation
        if not self.has_work(function):
            return
        with function.context:
            launch = launch_of(function)
            bits = IndexBits(function, None if launch is None else LaneEvaluator(launch))

            def visit(operation: ir.Operation) -> ir.WalkResult:
                if operation.name in _BUFFER_OPERAND:
                    _align(operation, bits)
                return ir.WalkResult.ADVANCE

            function.walk(visit)


def _align(operation: ir.Operation, bits: IndexBits) -> None:
    number = _BUFFER_OPERAND[operation.name]
    buffer = operation.operands[number]
    allocations = _lds_allocations_of(buffer, bits)
    strides, _ = ir.MemRefType(buffer.type).get_strides_and_offset()
    if not allocations or DYNAMIC in strides:
        return
    multiple = 0
    for index, stride in zip(list(operation.operands)[number + 1 :], strides, strict=True):
        found = bits.of(index).congruence
        multiple = gcd(multiple, found.modulus * stride, found.residue * stride)
    promised = promised_alignment(operation)
    state_alignment(operation, buffer, multiple, allocations, bits, promised)


def _lds_allocations_of(buffer: ir.Value, bits: IndexBits) -> list[ir.Operation]:
    """What `buffer` may be a part of; nothing where that may be other memory than LDS."""
    starts = start_offsets(buffer, bits)
    if isinstance(starts, Untraceable):
        return []
    owners = [root.owner for root in starts]
    found = [owner.operation for owner in owners if not isinstance(owner, ir.Block)]
    return found if len(found) == len(owners) and all(map(is_lds_allocation, found)) else []
