# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-part-scatters`: elements between which there are gaps are stored one by one.

IREE stores the padded result of a product through its indices:

    vector.scatter %part[%c0] [%places], %mask, %sums : memref<272xf32, strided<[3]>>, ...

Where the groups of a convolution are the last dimension of its result, each workgroup has one
element of three, and so has the view of memory that it stores to. `iree-convert-to-nvvm` makes
`llvm.intr.masked.scatter` of views without gaps only, and leaves others as they are, which is an
error when LLVM gets them ("LLVM Translation failed for operation:
builtin.unrealized_conversion_cast"). So it is with `vector.gather`. Here each element is stored, or
loaded, where its mask holds.

Runs right before `iree-llvmgpu-vector-lowering`, which makes instructions of vectors.

This works around IREE 3.13 (`docs/for_iree.md#stores-with-gaps-on-cuda`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.memory.memref_types import strides_and_offset
from ...dialect_utils.operations import operations_in
from ...passes.base import FunctionPass, PassContext

_SCATTER, _GATHER = "vector.scatter", "vector.gather"


class PartScatters(FunctionPass):
    """Stores and loads single elements where the memory of a vector's elements has gaps."""

    name: ClassVar[str] = "bankwise-part-scatters"
    summary: ClassVar[str] = "store elements one by one where there are gaps between them"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` scatters to, or gathers from, memory with gaps."""
        return any(True for _ in _with_gaps(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the accesses; never fails."""
        for access in list(_with_gaps(function.operation)):
            memory, *first, places, mask, values = access.operands
            at = Builder.before(access)
            elements = [at.elements(each) for each in (places, mask, values)]
            *outer, last = first
            loaded: list[ir.Value] = []
            for place, holds, value in zip(*elements, strict=True):
                indices = [*outer, at.addi(last, place)]
                if access.name == _SCATTER:
                    _store(at, holds, value, memory, indices)
                else:
                    loaded.append(_load(at, holds, value, memory, indices))
            if loaded:
                result = access.results[0]
                result.replace_all_uses_with(at.joined(loaded, result.type))
            access.erase()


def _store(
    at: Builder, holds: ir.Value, value: ir.Value, memory: ir.Value, indices: Sequence[ir.Value]
) -> None:
    at.if_(holds, lambda inside: inside.store_element(value, memory, indices))


def _load(
    at: Builder, holds: ir.Value, other: ir.Value, memory: ir.Value, indices: Sequence[ir.Value]
) -> ir.Value:
    """Returns an element of memory where a condition holds, and another value elsewhere."""
    return at.if_(
        holds,
        lambda inside: [inside.load_element(memory, indices)],
        lambda inside: [other],
        [other.type],
    ).results[0]


def _with_gaps(function: ir.Operation) -> Iterator[ir.Operation]:
    """Yields scatters to, and gathers from, memory whose last dimension has gaps."""
    for access in operations_in(function, _SCATTER, _GATHER):
        kind = access.operands[0].type
        if isinstance(kind, ir.MemRefType):
            strides, _ = strides_and_offset(kind)
            if strides and strides[-1] != 1:
                yield access
