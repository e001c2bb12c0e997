# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-order-fragments`: fragments have the order that their matrix instruction has.

A lane holds 8 elements of the first operand of `mma.sync.m16n8k16` and 4 sums. They are of two rows
each, 8 rows apart, and the order in which registers hold them is part of the instruction. IREE 3.13
cuts operands and results into tiles of one instruction, whose two dimensions it puts in the order
of the loops. Where the loop over columns is numbered before that over rows, tiles of the result
hold columns by rows:

    %c = linalg.pack %init inner_dims_pos = [1, 2] inner_tiles = [8, 16]
    %d = iree_codegen.inner_tiled ins(%a, %b) outs(%c)
           <..., permutations = [[0, 1], [1, 0], [1, 0]]>
    %e = linalg.unpack %d inner_dims_pos = [1, 2] inner_tiles = [8, 16]

A lane then has its sums in the order (0, 0), (8, 0), (0, 1), (8, 1) of rows and columns, and gives
them to an instruction that takes them for (0, 0), (0, 1), (8, 0), (8, 1). So it is for the first
operand, where the loop over summed elements comes before that over rows. Outputs are wrong, in
silence. Here tiles of both get the rows first, and so do tiles that are computed of the result
elementwise; what is cut into tiles stays as it is. Tiles of the second operand may have either
order: its elements differ in one dimension alone.

On AMD GPUs a lane has one row of the first operand, and most sums of a lane differ in one dimension
alone, so that the order of the loops does not matter. It does for instructions that multiply
several blocks, such as `MFMA_F32_16x16x1x4B_F32`, whose lanes have four rows of each of four
blocks. Tiles of their result have blocks, rows and columns in the order of the loops, too, and get
that of the instruction. A convolution with several filters of each channel is such a product.

Runs right behind `iree-codegen-gpu-pack-to-intrinsics`, where the tiles are made.

This works around IREE 3.13 (`docs/for_iree.md#loops-of-matrix-instructions-on-cuda`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.indexing_maps import MAPS, loops_of
from ...dialect_utils.lowering_config import is_mma_sync
from ...dialect_utils.operations import (
    children,
    defining_operation,
    operands_with,
    operations_in,
)
from ...passes.base import FunctionPass, PassContext

_INNER_TILED, _GENERIC = "iree_codegen.inner_tiled", "linalg.generic"
_PACK, _UNPACK = "linalg.pack", "linalg.unpack"
_PERMUTATIONS = "permutations"
_PER_TILE = ("inner_dims_pos", "static_inner_tiles")
"""The attributes of `linalg.pack` and `linalg.unpack` that list the dimensions of a tile."""
_LEFT, _SUMS = 0, 2
"""The operands of a contraction whose tiles have rows."""
_WITH_BLOCKS = 3
"""The dimensions of a tile of the result where an instruction multiplies several blocks."""
Order = list[int]
"""By the dimensions of a tile that is in order, which of a tile that is not they are."""


class OrderFragments(FunctionPass):
    """Puts the dimensions of tiles in the order of the matrix instruction."""

    name: ClassVar[str] = "bankwise-order-fragments"
    summary: ClassVar[str] = "give fragments the order that their matrix instruction has"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether tiles of `function` have another order than their instruction."""
        return any(True for _ in _misordered(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites contractions whose tiles have another order than their instruction.

        Raises:
            PassFailure: something else makes or takes such tiles than IREE 3.13 lets do so.
        """
        for contraction, operands in list(_misordered(function.operation)):
            for number in operands:
                _put_in_order(contraction, number)
            text = "fragments have the order of its loops: they get that of the instruction"
            context.sink.remark(contraction.location, text)


def _misordered(function: ir.Operation) -> Iterator[tuple[ir.Operation, list[int]]]:
    """Yields the contractions of which operands have another order, and these operands."""
    for contraction in operations_in(function, _INNER_TILED):
        if _PERMUTATIONS in contraction.attributes:
            orders = [list(each) for each in _orders(contraction)]
            if is_mma_sync(contraction.attributes["kind"]):
                matter = [_LEFT, _SUMS]
            else:
                matter = [_SUMS] if len(orders[_SUMS]) == _WITH_BLOCKS else []
            if operands := [each for each in matter if orders[each] != sorted(orders[each])]:
                yield contraction, operands


def _orders(contraction: ir.Operation) -> list[ir.DenseI64ArrayAttr]:
    attribute = ir.ArrayAttr(contraction.attributes[_PERMUTATIONS])
    return [ir.DenseI64ArrayAttr(each) for each in attribute]


def _put_in_order(contraction: ir.Operation, number: int) -> None:
    """Puts the tiles of an operand in order, and those of the result that belongs to it.

    Raises:
        PassFailure: something else makes or takes the tiles than IREE 3.13 lets do so.
    """
    pack = defining_operation(contraction.operands[number])
    if pack is None or pack.name != _PACK:
        raise _failure(contraction)
    orders = _orders(contraction)
    found = list(orders[number])
    order = [found.index(each) for each in range(len(found))]
    at = Builder.before(pack)
    target = _ordered_empty(at, contraction, pack.operands[1], order)
    ordered = at.like(pack, [pack.operands[0], target, *list(pack.operands)[2:]], [target.type])
    _order_entries(ordered, order)
    contraction.operands[number] = ordered.results[0]
    if number == _SUMS:
        _order_result(contraction, contraction, order)
    orders[number] = ir.DenseI64ArrayAttr.get([*range(len(order))], contraction.context)
    contraction.attributes[_PERMUTATIONS] = ir.ArrayAttr.get(orders, contraction.context)


def _order_result(contraction: ir.Operation, operation: ir.Operation, order: Order) -> None:
    """Puts tiles that are results in order, and those that are computed of them.

    Raises:
        PassFailure: something uses them that cannot have them in another order.
    """
    result = operation.results[0]
    result.set_type(_with_last_ordered(ir.RankedTensorType(result.type), order))
    for user, number in operands_with(result):
        if user.name == _UNPACK and number == 0:
            _order_entries(user, order)
        elif user.name == _GENERIC:
            _order_loops(contraction, user, number, order)
            _order_result(contraction, user, order)
        else:
            raise _failure(contraction)


def _order_loops(
    contraction: ir.Operation, generic: ir.Operation, number: int, order: Order
) -> None:
    """Gives the last loops of what is computed from an operand the order that it has now.

    Raises:
        PassFailure: the operation does not take the tiles as they are, one after another.
    """
    try:
        maps = loops_of(generic)
    except Refusal as refusal:
        raise _failure(contraction) from refusal
    loops, output = range(len(maps[-1])), len(maps) - 1
    tile = maps[output][-len(order) :]
    if (
        len(generic.results) != 1
        or number == output
        or any(sorted(maps[each]) != [*loops] for each in (number, output))
        or maps[number][-len(order) :] != tile
        or any(each.name == "linalg.index" for each in children(generic))
    ):
        raise _failure(contraction)
    # The loop over dimension `order[n]` of a tile becomes that over dimension `n`.
    places = {tile[old]: tile[new] for new, old in enumerate(order)}
    renumbered = [
        indices if place in (number, output) else [places.get(loop, loop) for loop in indices]
        for place, indices in enumerate(maps)
    ]
    at = Builder.before(generic)
    generic.attributes[MAPS] = at.indexing_maps(len(loops), renumbered)
    empty = generic.operands[output]
    generic.operands[output] = _ordered_empty(at, contraction, empty, order)


def _ordered_empty(
    at: Builder, contraction: ir.Operation, tensor: ir.Value, order: Order
) -> ir.Value:
    """Returns an empty tensor like another one whose last dimensions are put in order.

    Raises:
        PassFailure: the other one is not empty.
    """
    empty = defining_operation(tensor)
    if empty is None or empty.name != "tensor.empty":
        raise _failure(contraction)
    kind = _with_last_ordered(ir.RankedTensorType(tensor.type), order)
    return at.like(empty, list(empty.operands), [kind]).results[0]


def _failure(contraction: ir.Operation) -> PassFailure:
    reason = (
        "its fragments have the order of its loops, of which IREE 3.13 makes wrong code, and "
        "cannot be put in another order"
    )
    return PassFailure(contraction.location, reason)


def _order_entries(operation: ir.Operation, order: Order) -> None:
    """Orders what a `linalg.pack` or `linalg.unpack` says of the dimensions of a tile."""
    for name in _PER_TILE:
        numbers = list(ir.DenseI64ArrayAttr(operation.attributes[name]))
        ordered = ir.DenseI64ArrayAttr.get([numbers[each] for each in order], operation.context)
        operation.attributes[name] = ordered


def _with_last_ordered(kind: ir.RankedTensorType, order: Order) -> ir.RankedTensorType:
    """Returns the type of a tensor whose last dimensions are put in order."""
    shape = list(kind.shape)
    outer, tile = shape[: -len(order)], shape[-len(order) :]
    with kind.context, ir.Location.unknown():
        return ir.RankedTensorType.get([*outer, *(tile[each] for each in order)], kind.element_type)
