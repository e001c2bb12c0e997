# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of rows in a program, before dispatches are formed.

    %sum = linalg.generic {indexing_maps = [(i, j) -> (i, j), (i, j) -> (i)],
        iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x777xf32>) ...

The loop along a row is the last one, and a row lies in memory as neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.indexing_maps import GENERIC, loops_of, summed_loops
from ...dialect_utils.operations import children, has_no_numbers, operations_in, parents_of
from ..elements.row_masks import LEAST_BITS, combiners_of
from ..shapes.enlarged_shapes import UNDEFINED_FOR_ZEROS
from ..tiles.tiled_operation import loop_sizes


def row_reductions(function: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the reductions of rows in a function that are in no dispatch yet."""
    for each in operations_in(function, GENERIC):
        if is_row_reduction(each) and not any(p.name.startswith("flow.") for p in parents_of(each)):
            yield each


def is_row_reduction(operation: ir.Operation) -> bool:
    """Returns whether a `linalg.generic` reduces the last dimension of a tensor to one number."""
    if len(summed_loops(operation)) != 1 or len(operation.results) != 1:
        return False
    try:
        *inputs, result = loops_of(operation)
        count = len(result) + 1
        # Of a product each operand lacks a loop.
        if result != tuple(range(count - 1)) or tuple(range(count)) not in inputs:
            return False
        combiners_of(operation)
    except Refusal:
        return False
    return is_arithmetic(operation) and all(list(dims) == sorted(dims) for dims in inputs)


def is_arithmetic(operation: ir.Operation) -> bool:
    """Returns whether a `linalg.generic` computes of tensors alone, by arithmetic that any elements
    may have."""
    if not has_no_numbers(operation):
        return False
    for operand in operation.operands:
        bits = element_bits(ir.ShapedType(operand.type).element_type)
        if bits is None or bits < LEAST_BITS:
            return False
    names = [each.name for each in children(operation)]
    return all(each.startswith(("arith.", "math.", "linalg.yield")) for each in names) and not any(
        each.startswith(UNDEFINED_FOR_ZEROS) and each != "arith.divf" for each in names
    )


def loop_lengths(operation: ir.Operation) -> tuple[int, ...]:
    """Returns how long the loops of an operation are.

    Raises:
        Refusal: a dimension is indexed by something else than one loop.
    """
    return loop_sizes(operation, loops_of(operation), range(len(operation.operands)))
