# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets lanes share the rows of a softmax, a norm or another reduction, whatever their length.

Where no power of two divides the length of a row, IREE gives each row to a lane, which reads its
elements one by one, while its neighbours read other rows:

    lowering_config = #iree_gpu.lowering_config<{reduction = [0, 3], thread = [1, 0],
        workgroup = [32, 0]}>

This pass lets the lanes of a warp, or of several, have neighbouring elements of a row
(`tuning/elements/row_tiles.py`). A row that is no whole number of them is computed as a longer one:
what lies beyond its end is not read (`tuning/shapes/restore_shapes.py`), and does not count
(`tuning/elements/row_masks.py`). Rows that lanes share already are spread over more warps, where
there are too few rows or these are long.

A sum is made in another order than without the pass: outputs are right to rounding. A maximum, and
what else does not depend on an order, is the same bits; without `other-order` only functions are
changed that reduce by such operations alone.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import gcd, prod
from typing import ClassVar

from iree.compiler import ir
from iree.compiler.passmanager import PassManager

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import ask_for_workgroups, gpu_features_of
from ...dialect_utils.indexing_maps import GENERIC, ITERATORS, loops_of, summed_loops
from ...dialect_utils.lowering_config import (
    BASIS,
    CONFIG,
    TRANSLATION_INFO,
    LoweringConfig,
    WarpLaunch,
    changed_info,
)
from ...dialect_utils.multiplications import EXPONENTIALS
from ...dialect_utils.operations import (
    has_no_numbers,
    has_operation,
    operands_with,
    operations_in,
)
from ...passes.base import PassContext
from ..costs.processors import Processor, processor_of
from ..shapes.enlarged_shapes import (
    EnlargedShapes,
    check_elementwise,
    computed_size,
    enlarged_shapes,
)
from ..tiles.planned_pass import NewTile, PlannedPass
from ..tiles.tiled_operation import loop_sizes
from .arg_reductions import ArgReduction
from .elements import aligned_elements, buffers_of
from .row_loops import indexed, is_of_one_lane, loops_along, row_root
from .row_masks import combiners_of, leave_out
from .row_tiles import Rows, RowTile, row_tile, workgroups_at_once

_KEPT = "lanes keep their rows"
_COMPUTE_AGAIN = "iree-codegen-rematerialize-parallel-ops"
"""Of a row that is longer than a step, a lane would have what is read again in local memory."""
_FILL = "linalg.fill"
_MANY = 4096
"""How many rows are assumed where only the program knows it."""


@dataclass(frozen=True)
class ShareRows(PlannedPass["_SharedRows"]):
    """Spreads rows over lanes and warps.

    Attributes:
        other_order: whether sums may be made in another order.
    """

    name: ClassVar[str] = "bankwise-share-rows"
    summary: ClassVar[str] = "let lanes share rows of any length"
    what_stays: ClassVar[str] = _KEPT
    kept: ClassVar[str] = "lanes of rows"

    other_order: bool = True

    def _plan(self, function: ir.Operation, context: PassContext) -> _SharedRows | None:
        return _planned(function, context.test_target, other_order=self.other_order)

    def _take(
        self, function: ir.Operation, context: PassContext, plan: _SharedRows
    ) -> NewTile | None:
        searches = [each for each in map(ArgReduction.of, plan.along) if each is not None]
        for search in searches:
            search.part()
        again = partial(self._plan, function, context)
        found: _SharedRows | None = plan
        if searches:
            found = context.planned(function.location, self.what_stays, again)
        if found is None:
            return None
        if found.tile.step < found.length and any(map(_is_read_again, found.along)):
            PassManager.parse(f"{function.name}({_COMPUTE_AGAIN})", function.context).run(function)
            found = context.planned(function.location, self.what_stays, again)
            if found is None:
                return None
        found.apply(function)
        return found.root, found.tile, str(found.tile)


def gains_by_another_order(function: ir.Operation) -> bool:
    """Returns whether each row of a function is one lane's, unless sums are made in another order.

    Raises:
        Refusal: something is not understood.
    """
    root = row_root(function)
    if root is None:
        return False
    by_threads = not is_of_one_lane(function)
    if by_threads and BASIS in LoweringConfig.of(root.attributes[CONFIG]).entries:
        return False
    return (
        _planned(function, None, other_order=True) is not None
        and _planned(function, None, other_order=False) is None
    )


class _SharedRows(NamedTuple):
    """A function that reduces rows.

    Attributes:
        root: the reduction that decides on its workgroups.
        along: the loop along rows of each operation that has one.
        outer: the loop from row to row of some of these; none where they share no such loop.
        length: how many elements a row has.
        shapes: those that tensors get.
        held: how many workgroups a multiprocessor is to hold; 0 where that is left to ptxas.
    """

    root: ir.Operation
    along: Mapping[ir.Operation, int]
    outer: Mapping[ir.Operation, int]
    length: int
    launch: WarpLaunch
    tile: RowTile
    shapes: EnlargedShapes
    held: int = 0

    def apply(self, function: ir.Operation) -> None:
        """Configures the operations and the function, and lengthens the rows."""
        warp_size = self.launch.warp_size
        for each in operations_in(function, _FILL, GENERIC):
            if CONFIG in each.attributes and (each.name == _FILL or _has_no_loops(each)):
                del each.attributes[CONFIG]
        for operation, loop in self.along.items():
            outer, is_root = self.outer.get(operation), operation == self.root
            self.tile.configure(operation, loop, outer, warp_size, is_root=is_root)
        pipeline = ir.Attribute.parse("#iree_gpu.pipeline<VectorDistribute>", function.context)
        info = self.launch.with_warps(self.tile.workgroup_warps(warp_size))
        function.attributes[TRANSLATION_INFO] = changed_info(info, pipeline=pipeline)
        if self.held:
            ask_for_workgroups(function, self.held)
        if not self.shapes.shapes:
            return
        self.shapes.apply(function)
        if self.tile.length(self.length) != self.length:
            for operation, loop in self.along.items():
                if summed_loops(operation):
                    leave_out(operation, loop, self.length)


def _planned(
    function: ir.Operation, test_target: str | None, *, other_order: bool
) -> _SharedRows | None:
    """Returns how the rows of a function are shared; None where IREE's way is as good.

    Raises:
        Refusal: something is not understood.
    """
    processor = processor_of(gpu_features_of(function, test_target).arch)
    root = None if processor is None else row_root(function)
    if processor is None or root is None or len(summed_loops(root)) != 1:
        return None
    if not all(map(has_no_numbers, operations_in(function, GENERIC))):
        raise Refusal("a number is no vector that lanes could share")
    (loop,) = summed_loops(root)
    extents = loop_sizes(root, loops_of(root), range(len(root.operands)))
    if extents[loop] <= 0:
        raise Refusal("how long a row is is not known")
    if not any(len({*dims}) == len(extents) for dims in loops_of(root)[:-1]):
        # Each operand of a matmul lacks a loop.
        return None
    along = loops_along(root, loop)
    if _adds_in_order(function, along) and not other_order:
        return None
    outer, launch = _outer(root, extents), _launch(function, processor)
    beside = {} if outer is None else loops_along(root, outer)
    if not {*beside} >= {*along}:
        beside = {}
    sizes = [_MANY if size == DYNAMIC else size for size in extents]
    rows = Rows(
        length=extents[loop],
        total=prod(size for each, size in enumerate(sizes) if each != loop),
        neighbours=gcd(_neighbours(along), extents[loop]),
        beside=sizes[outer] if beside and outer is not None else 1,
        is_scaled=not all(map(summed_loops, along)) and not has_operation(function, *EXPONENTIALS),
    )
    tile = row_tile(rows, launch.warp_size, processor)
    lengths = dict(enumerate(extents)) | {loop: tile.length(rows.length)}
    if beside and outer is not None:
        is_known = extents[outer] != DYNAMIC
        whole = -(-extents[outer] // tile.rows) * tile.rows
        lengths[outer] = whole if is_known else computed_size(tile.rows)
    reductions = [each for each in along if summed_loops(each)]
    check_elementwise(root, is_masked=True)
    shapes = enlarged_shapes(root, loops_of(root), lengths, reductions)
    # Norms with several sums have more in registers.
    held = (
        workgroups_at_once(tile, rows, launch.warp_size, processor) if len(reductions) == 1 else 0
    )
    return _SharedRows(root, along, beside, rows.length, launch, tile, shapes, held)


def _has_no_loops(operation: ir.Operation) -> bool:
    """Returns whether a `linalg.generic` computes one number of others."""
    return not len(ir.ArrayAttr(operation.attributes[ITERATORS]))


def _is_read_again(operation: ir.Operation) -> bool:
    """Returns whether other operations read what one computes elementwise."""
    users = (user for result in operation.results for user, _ in operands_with(result))
    return not summed_loops(operation) and any(user.name == GENERIC for user in users)


def _launch(function: ir.Operation, processor: Processor) -> WarpLaunch:
    if is_of_one_lane(function):
        return WarpLaunch.of_one_warp(processor.lanes, function.context)
    return WarpLaunch.as_row(function)


def _adds_in_order(function: ir.Operation, along: Mapping[ir.Operation, int]) -> bool:
    """Returns whether another order of the elements of rows may give other bits.

    Raises:
        Refusal: something else is reduced than rows, or it is not known how.
    """
    found = False
    for each in operations_in(function):
        of_number = each.name == _FILL or (each.name == GENERIC and _has_no_loops(each))
        if CONFIG in each.attributes and each not in along and not of_number:
            raise Refusal("it is computed with something that has no rows", each.location)
        if each.name != GENERIC:
            continue
        summed = summed_loops(each)
        if (each in along and not summed <= {along[each]}) or (each not in along and summed):
            raise Refusal("not only rows are reduced", each.location)
        if summed and ArgReduction.of(each) is None:
            found |= any(combiner.keeps_order for combiner in combiners_of(each))
    return found


def _outer(root: ir.Operation, extents: Sequence[int]) -> int | None:
    """Returns the innermost loop from row to row of a reduction, if there are several rows."""
    found = [loop for loop in loops_of(root)[-1] if extents[loop] != 1]
    return found[-1] if found else None


def _neighbours(along: Mapping[ir.Operation, int]) -> int:
    """Returns how many neighbours of a row a lane can read and write together.

    Raises:
        Refusal: the elements of rows are no neighbours.
    """
    found = []
    for operation, loop in along.items():
        for value, dims in indexed(operation):
            if loop not in dims or not buffers_of(value):
                continue
            if dims[-1] != loop:
                raise Refusal("rows lie across", operation.location)
            bits = element_bits(ir.ShapedType(value.type).element_type)
            if bits is None or bits % 8:
                raise Refusal(f"elements are {value.type.element_type}")
            found.append(aligned_elements(value, bits // 8))
    return min(found, default=1)
