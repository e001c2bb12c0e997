# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loops of an operation such as `linalg.generic`: which are summed over, and what they index.

    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                     affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]

has a map for each operand, whose results index the dimensions of the operand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from iree.compiler import ir

from .diagnostics import Refusal
from .operations import children

GENERIC = "linalg.generic"
MAPS, ITERATORS = "indexing_maps", "iterator_types"
PRODUCTS = {
    "linalg.matmul": ((0, 2), (2, 1), (0, 1)),
    "linalg.batch_matmul": ((0, 1, 3), (0, 3, 2), (0, 1, 2)),
}
"""Named products, and the loops that index their operands where they have no maps."""
_MEMOIZED = "linalg.memoized_indexing_maps"
"""In which MLIR keeps the maps of a named operation."""


def maps_of(operation: ir.Operation) -> list[ir.AffineMap]:
    """Returns the map of each operand."""
    return [ir.AffineMapAttr(each).value for each in ir.ArrayAttr(operation.attributes[MAPS])]


def set_maps(operation: ir.Operation, maps: Iterable[ir.AffineMap]) -> None:
    """Gives the operands other maps. The configuration still means the old loops."""
    attributes = [ir.AffineMapAttr.get(each) for each in maps]
    operation.attributes[MAPS] = ir.ArrayAttr.get(attributes, operation.context)
    if _MEMOIZED in operation.attributes:
        del operation.attributes[_MEMOIZED]


def loops_of(operation: ir.Operation) -> tuple[tuple[int, ...], ...]:
    """Returns the loops that index each operand's dimensions.

    Raises:
        Refusal: a dimension is indexed by something else than one loop.
    """
    maps = maps_of(operation)
    if not all(isinstance(each, ir.AffineDimExpr) for m in maps for each in m.results):
        raise Refusal("its operands are indexed by more than loops")
    return tuple(tuple(ir.AffineDimExpr(e).position for e in m.results) for m in maps)


def product_loops(operation: ir.Operation) -> tuple[tuple[int, ...], ...]:
    """Returns the loops that index the operands of one of `PRODUCTS`.

    Raises:
        Refusal: a dimension is indexed by something else than one loop.
    """
    return loops_of(operation) if MAPS in operation.attributes else PRODUCTS[operation.name]


def copied_loops(operation: ir.Operation) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Returns the loops that index the input and the output of a `linalg.generic` that only copies.

    None stands for other operations.
    """
    if operation.name != GENERIC or len(operation.operands) != 2:
        return None
    inside, block = children(operation), operation.regions[0].blocks[0]
    if len(inside) != 1 or list(inside[0].operands) != [block.arguments[0]]:
        return None
    try:
        read, written = loops_of(operation)
    except Refusal:
        return None
    return read, written


def copied_buffers(function: ir.Operation) -> ir.Operation | None:
    """Returns the `linalg.generic` that copies a buffer to another, if a function has only that."""
    found = [each for each in children(function) if each.name.startswith("linalg.")]
    if len(found) != 1 or found[0].results or copied_loops(found[0]) is None:
        return None
    return found[0]


def index_by_loops(operation: ir.Operation, count: int, loops: Iterable[Iterable[int]]) -> None:
    """Lets `loops`, of which there are `count`, index the dimensions of each operand."""
    dims = [ir.AffineDimExpr.get(loop, operation.context) for loop in range(count)]
    indices = ([dims[loop] for loop in each] for each in loops)
    set_maps(operation, (ir.AffineMap.get(count, 0, each, operation.context) for each in indices))


def renumber_loops(operation: ir.Operation, order: Sequence[int]) -> None:
    """Numbers loops by their places in `order`; those that are not there are left out."""
    loops = loops_of(operation)
    places = ([order.index(loop) for loop in each if loop in order] for each in loops)
    index_by_loops(operation, len(order), places)


def summed_loops(operation: ir.Operation) -> frozenset[int]:
    """Returns the loops that are summed over: all that are not parallel."""
    # As text: for an element alone the bindings import the dialect `linalg`, which is slow.
    kinds = str(operation.attributes[ITERATORS]).strip("[]").split(",")
    return frozenset(loop for loop, each in enumerate(kinds) if each and "parallel" not in each)
