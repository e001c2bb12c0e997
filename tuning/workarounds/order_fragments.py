# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-order-fragments`: fragments of `mma.sync` have the order that the instruction has.

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

On AMD GPUs a lane has one row of the first operand, and sums that differ in one dimension alone, so
that the order of the loops does not matter.

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


class OrderFragments(FunctionPass):
    """Puts the rows first in tiles of `mma.sync` that have rows."""

    name: ClassVar[str] = "bankwise-order-fragments"
    summary: ClassVar[str] = "give fragments of mma.sync the order that the instruction has"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether tiles of `function` have their rows last."""
        return any(True for _ in _misordered(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites contractions by `mma.sync` whose tiles have their rows last.

        Raises:
            PassFailure: something else makes or takes such tiles than IREE 3.13 lets do so.
        """
        for contraction, operands in list(_misordered(function.operation)):
            for number in operands:
                _put_rows_first(contraction, number)
            text = "its loops number the rows last: fragments get the order of mma.sync"
            context.sink.remark(contraction.location, text)


def _misordered(function: ir.Operation) -> Iterator[tuple[ir.Operation, list[int]]]:
    """Yields the contractions by `mma.sync` of which operands have their rows last, and these."""
    for contraction in operations_in(function, _INNER_TILED):
        if is_mma_sync(contraction.attributes["kind"]) and _PERMUTATIONS in contraction.attributes:
            orders = [list(each) for each in _orders(contraction)]
            if operands := [each for each in (_LEFT, _SUMS) if orders[each] == [1, 0]]:
                yield contraction, operands


def _orders(contraction: ir.Operation) -> list[ir.DenseI64ArrayAttr]:
    attribute = ir.ArrayAttr(contraction.attributes[_PERMUTATIONS])
    return [ir.DenseI64ArrayAttr(each) for each in attribute]


def _put_rows_first(contraction: ir.Operation, number: int) -> None:
    """Puts the rows of an operand first in its tiles, and those of the result that belongs to it.

    Raises:
        PassFailure: something else makes or takes the tiles than IREE 3.13 lets do so.
    """
    pack = defining_operation(contraction.operands[number])
    if pack is None or pack.name != _PACK:
        raise _failure(contraction)
    at = Builder.before(pack)
    target = _swapped_empty(at, contraction, pack.operands[1])
    swapped = at.like(pack, [pack.operands[0], target, *list(pack.operands)[2:]], [target.type])
    _swap_entries(swapped)
    contraction.operands[number] = swapped.results[0]
    if number == _SUMS:
        _swap_result(contraction, contraction)
    orders = _orders(contraction)
    orders[number] = ir.DenseI64ArrayAttr.get([0, 1], contraction.context)
    contraction.attributes[_PERMUTATIONS] = ir.ArrayAttr.get(orders, contraction.context)


def _swap_result(contraction: ir.Operation, operation: ir.Operation) -> None:
    """Puts the rows first in tiles that are results, and in those that are computed of them.

    Raises:
        PassFailure: something uses them that cannot have them in another order.
    """
    result = operation.results[0]
    result.set_type(_with_last_swapped(ir.RankedTensorType(result.type)))
    for user, number in operands_with(result):
        if user.name == _UNPACK and number == 0:
            _swap_entries(user)
        elif user.name == _GENERIC:
            _swap_loops(contraction, user, number)
            _swap_result(contraction, user)
        else:
            raise _failure(contraction)


def _swap_loops(contraction: ir.Operation, generic: ir.Operation, number: int) -> None:
    """Gives the last two loops of what is computed from an operand the order that it has now.

    Raises:
        PassFailure: the operation is not elementwise in that operand.
    """
    try:
        maps = loops_of(generic)
    except Refusal as refusal:
        raise _failure(contraction) from refusal
    *outer, first, second = identity = tuple(range(len(maps[-1])))
    output = len(maps) - 1
    if (
        len(generic.results) != 1
        or number == output
        or (maps[number], maps[output]) != (identity, identity)
        or any(each.name == "linalg.index" for each in children(generic))
    ):
        raise _failure(contraction)
    order = dict(zip(identity, (*outer, second, first), strict=True))
    renumbered = [
        loops if place in (number, output) else [order[loop] for loop in loops]
        for place, loops in enumerate(maps)
    ]
    at = Builder.before(generic)
    generic.attributes[MAPS] = at.indexing_maps(len(identity), renumbered)
    generic.operands[output] = _swapped_empty(at, contraction, generic.operands[output])


def _swapped_empty(at: Builder, contraction: ir.Operation, tensor: ir.Value) -> ir.Value:
    """Returns an empty tensor like another one whose last two dimensions are swapped.

    Raises:
        PassFailure: the other one is not empty.
    """
    empty = defining_operation(tensor)
    if empty is None or empty.name != "tensor.empty":
        raise _failure(contraction)
    kind = _with_last_swapped(ir.RankedTensorType(tensor.type))
    return at.like(empty, list(empty.operands), [kind]).results[0]


def _failure(contraction: ir.Operation) -> PassFailure:
    reason = (
        "its loops number the rows last, of which IREE 3.13 makes wrong code, and its fragments "
        "cannot be put in another order"
    )
    return PassFailure(contraction.location, reason)


def _swap_entries(operation: ir.Operation) -> None:
    """Swaps what a `linalg.pack` or `linalg.unpack` says of the two dimensions of a tile."""
    for name in _PER_TILE:
        first, second = ir.DenseI64ArrayAttr(operation.attributes[name])
        swapped = ir.DenseI64ArrayAttr.get([second, first], operation.context)
        operation.attributes[name] = swapped


def _with_last_swapped(kind: ir.RankedTensorType) -> ir.RankedTensorType:
    """Returns the type of a tensor whose last two dimensions are swapped."""
    *outer, first, second = kind.shape
    with kind.context, ir.Location.unknown():
        return ir.RankedTensorType.get([*outer, second, first], kind.element_type)
