# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a size may be that only the program knows, and kernels of their own for some sizes.

IREE makes several kernels of one whose operation carries ranges of sizes, and the program calls the
first one whose range has the size that it comes with; the last kernel takes what is left:

    linalg.matmul {bankwise.size_bounds = array<i64: 16, 256>, iree_codegen.specialization_ranges =
        #util<int.assumption.multi_array[[<umin = 0, umax = 16>], [<umin = 0, umax = 256>]]>} ...

In each kernel the size says what it can be, and the last one knows by the bounds what it cannot be:

    %rows = util.assume.int %asked<umin = 0, umax = 256> : index
    %size = iree_tensor_ext.dispatch.workload.ordinal %rows, 0 : index
    %a = hal.interface.binding.subspan ... : memref<?x4096xf16>{%size}
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iree.compiler import ir

from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.handed_attributes import SIZE_BOUNDS
from ...dialect_utils.indexing_maps import loops_of
from ...dialect_utils.operations import defining_operation
from ..shapes.enlarged_shapes import LOAD, binding_of

RANGES = "iree_codegen.specialization_ranges"
SIZES = tuple(1 << power for power in range(14))
"""The sizes for which times are predicted: up to 8192, of which each counts the same."""
_ASSUMED, _ORDINAL = "util.assume.int", "iree_tensor_ext.dispatch.workload.ordinal"
_LARGEST = re.compile(r"umax = (\d+)")
_BEFORE_SIZES = 1
"""The operands of a binding before its dynamic sizes: its offset."""


def note_ranges(operation: ir.Operation, loop: int, bounds: Sequence[int]) -> None:
    """Asks for a kernel for each range of lengths of a loop that ends at a bound, and for others.

    Args:
        operation: one of a program whose dispatches are not formed yet.
        bounds: in ascending order.
    """
    any_length = "<umin = 0>, " * loop
    ranges = ", ".join(f"[{any_length}<umin = 0, umax = {bound}>]" for bound in bounds)
    text = f"#util<int.assumption.multi_array[{ranges}]>"
    operation.attributes[RANGES] = ir.Attribute.parse(text, operation.context)
    operation.attributes[SIZE_BOUNDS] = ir.DenseI64ArrayAttr.get(bounds, operation.context)


def asked_sizes(operation: ir.Operation, loop: int) -> Sequence[int]:
    """Returns those of `SIZES` that a loop can be long in the kernel of an operation.

    Where there is none, it is the greatest length.
    """
    largest = _largest(operation, loop)
    if largest is None:
        return SIZES
    bounds = (
        ir.DenseI64ArrayAttr(operation.attributes[SIZE_BOUNDS])
        if SIZE_BOUNDS in operation.attributes
        else ()
    )
    least = max((bound for bound in bounds if bound < largest), default=0)
    return [size for size in SIZES if least < size <= largest] or [max(1, largest)]


def _largest(operation: ir.Operation, loop: int) -> int | None:
    """Returns the greatest length of a loop that the kernel is told; None if it is told nothing."""
    for value, loops in zip(operation.operands, loops_of(operation), strict=True):
        load = defining_operation(value)
        if loop not in loops or load is None or load.name != LOAD:
            continue
        binding = binding_of(load.operands[0])
        if binding is None:
            continue
        shape = list(ir.MemRefType(binding.results[0].type).shape)
        dim = loops.index(loop)
        if len(shape) != len(loops) or shape[dim] != DYNAMIC:
            continue
        size = binding.operands[_BEFORE_SIZES + shape[:dim].count(DYNAMIC)]
        ordinal = defining_operation(size)
        if ordinal is not None and ordinal.name == _ORDINAL:
            return _assumed(ordinal.operands[0])
    return None


def _assumed(value: ir.Value) -> int | None:
    """Returns the greatest number that is assumed of a value, if one is."""
    assumed = defining_operation(value)
    if assumed is None or assumed.name != _ASSUMED:
        return None
    number = list(assumed.results).index(value)
    found = [
        _LARGEST.search(str(each))
        for each in ir.ArrayAttr(ir.ArrayAttr(assumed.attributes["assumptions"])[number])
    ]
    known = [int(each[1]) for each in found if each is not None]
    return max(known) if known and len(known) == len(found) else None
