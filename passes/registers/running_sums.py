# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums that a loop carries, and that lanes add up among each other in every iteration.

    %r = scf.for ... iter_args(%sum = %zero) -> (vector<64xf32>) {
      %scaled = arith.mulf %scale, %sum : vector<64xf32>
      %next = vector.multi_reduction <add>, %x, %scaled [1] : vector<64x64xf32> to vector<64xf32>
      scf.yield %next
    }

Several lanes hold the elements of a row of %x, so that each iteration exchanges partial sums among
them. But the scale is the same for a whole row: every lane can keep the sum of its own elements,
and the lanes add theirs up once, behind the loop. With %x cut into rows, lanes and registers:

    %r = scf.for ... iter_args(%own = %zeros) -> (vector<64x4xf32>) {
      %wide = (%scale, for each of the 4 lanes of a row)
      %scaled = arith.mulf %wide, %own : vector<64x4xf32>
      %next = vector.multi_reduction <add>, %cut, %scaled [2]
          : vector<64x4x16xf32> to vector<64x4xf32>
      scf.yield %next
    }
    %sum = vector.multi_reduction <add>, %r, %zero [1] : vector<64x4xf32> to vector<64xf32>

The terms are the same and their order is another one: results are right to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler import ir

from ...bank_model.layout_digits import (
    Holder,
    LayoutDigit,
    RegisterOrder,
    layout_digits,
    register_order,
)
from ...bank_model.nested_layout import NestedLayout
from ...dialect_utils.memory.flow import FOR_BOUNDS
from ...dialect_utils.memory.vector_layouts import VectorLayouts, op_name
from ...dialect_utils.operations import attributes_of, defining_operation, operations_in, terminator
from .register_moves import RegisterMoves


@dataclass(frozen=True)
class RunningSum:
    """A sum that a loop carries.

    Attributes:
        number: which of the loop's values it is.
        reduction: the `vector.multi_reduction` that adds an iteration's terms.
        scaling: the multiplication of the sum so far, if there is one.
        cut: how the terms are cut into rows, lanes and registers.
    """

    loop: ir.Operation
    number: int
    reduction: ir.Operation
    scaling: ir.Operation | None
    cut: CutTerms

    @property
    def argument(self) -> ir.Value:
        """Returns the sum so far, in the loop."""
        return self.loop.regions[0].blocks[0].arguments[self.number + 1]


@dataclass(frozen=True)
class CutTerms:
    """The terms of a sum with the dimension that is summed over cut into lanes and registers.

    Attributes:
        layout: the layout of the terms before.
        order: how the registers of `layout` become those of `cut`.
        cut: the layout after: rows, the lanes of a row, the registers of a lane.
        own: the layout of every lane's own sum: rows and the lanes of a row.
        row: the layout of the sum of a row.
    """

    layout: NestedLayout
    order: RegisterOrder
    cut: NestedLayout
    own: NestedLayout
    row: NestedLayout


def running_sums(function: ir.Operation, layouts: VectorLayouts) -> list[RunningSum]:
    """Returns the sums that lanes exchange in every iteration, of all loops of `function`."""
    found: list[RunningSum] = []
    for loop in operations_in(function, "scf.for"):
        for number in range(len(loop.results)):
            each = _running_sum(loop, number, layouts)
            if each is not None:
                found.append(each)
    return found


def _running_sum(loop: ir.Operation, number: int, layouts: VectorLayouts) -> RunningSum | None:
    reduction = defining_operation(terminator(loop.regions[0]).operands[number])
    if reduction is None or op_name(reduction) != "vector.multi_reduction":
        return None
    if "add" not in str(reduction.attributes["kind"]) or reduction.parent != loop:
        return None
    if not isinstance(reduction.results[0].type, ir.VectorType):
        return None
    if not _is_zero(loop.operands[FOR_BOUNDS + number]):
        return None
    argument = loop.regions[0].blocks[0].arguments[number + 1]
    scaling = _scaling(reduction.operands[1], argument)
    carried = reduction.operands[1] if scaling is None else scaling.results[0]
    if scaling is None and carried != argument:
        return None
    # Nothing else may see the sum so far.
    if any(_uses(value) != 1 for value in {argument, carried, reduction.results[0]}):
        return None
    cut = _cut(reduction, layouts)
    return None if cut is None else RunningSum(loop, number, reduction, scaling, cut)


def _is_zero(value: ir.Value) -> bool:
    op = defining_operation(value)
    if op is None or op_name(op) != "arith.constant":
        return False
    elements = op.attributes["value"]
    if not isinstance(elements, ir.DenseFPElementsAttr) or not elements.is_splat:
        return False
    return ir.FloatAttr(elements.get_splat_value()).value == 0.0


def _scaling(value: ir.Value, argument: ir.Value) -> ir.Operation | None:
    op = defining_operation(value)
    if op is None or op_name(op) != "arith.mulf":
        return None
    # A square of the sum would be no scaling.
    return op if [operand == argument for operand in op.operands].count(True) == 1 else None


def _uses(value: ir.Value) -> int:
    return len(list(value.uses))


def _cut(reduction: ir.Operation, layouts: VectorLayouts) -> CutTerms | None:
    """Returns how the terms are cut; None where no lanes exchange sums, or it is not known."""
    dims = list(ir.DenseI64ArrayAttr(reduction.attributes["reduction_dims"]))
    found = layouts.candidates(reduction.operands[0])
    if len(found) != 1 or len(dims) != 1:
        return None
    layout, dim = found[0], dims[0]
    digits = layout_digits(layout)
    if digits is None or layout.shape != tuple(reduction.operands[0].type.shape):
        return None
    lanes = layout.subgroup_tile[dim] * layout.thread_tile[dim]
    if lanes == 1:
        return None
    registers = layout.batch_tile[dim] * layout.outer_tile[dim] * layout.element_tile[dim]
    row = layout.project([v == dim for v in range(layout.rank)])
    own = _joined(
        row,
        NestedLayout(
            *((layout.subgroup_tile[dim],), (1,), (1,), (layout.thread_tile[dim],), (1,)),
            *((layout.subgroup_strides[dim],), (layout.thread_strides[dim],)),
        ),
    )
    one = (1,)
    cut = _joined(own, NestedLayout(one, one, one, one, (registers,), (0,), (0,)))
    return CutTerms(layout, _order(layout, digits, dim, cut), cut, own, row)


def _order(
    layout: NestedLayout, digits: Sequence[Sequence[LayoutDigit]], dim: int, cut: NestedLayout
) -> RegisterOrder:
    """Returns how registers of `layout` become those of `cut`, which lists kept dimensions first.

    The registers of a lane keep their order along the dimension that is summed over.
    """
    kept = [row for v, row in enumerate(digits) if v != dim]
    lanes = [d for d in digits[dim] if d.holder is not Holder.REGISTER]
    numbers: dict[tuple[int, int], int] = {}
    number = 0
    for v, row in enumerate(digits):
        if v != dim:
            for place in range(len(row)):
                numbers[v, place] = number
                number += 1
    assert number == sum(map(len, kept))
    behind = number + len(lanes)
    for place, digit in enumerate(digits[dim]):
        if digit.holder is Holder.REGISTER:
            numbers[dim, place] = behind
            behind += 1
        else:
            numbers[dim, place] = number
            number += 1
    named = [
        [(numbers[v, place], digit) for place, digit in enumerate(row)]
        for v, row in enumerate(digits)
    ]
    return register_order(layout, named, cut)


def _joined(one: NestedLayout, other: NestedLayout) -> NestedLayout:
    """Returns the layout of a vector with the dimensions of both."""
    return NestedLayout(
        one.subgroup_tile + other.subgroup_tile,
        one.batch_tile + other.batch_tile,
        one.outer_tile + other.outer_tile,
        one.thread_tile + other.thread_tile,
        one.element_tile + other.element_tile,
        one.subgroup_strides + other.subgroup_strides,
        one.thread_strides + other.thread_strides,
    )


def defer(each: RunningSum) -> None:
    """Lets every lane keep a sum of its own in the loop, and adds these up behind it."""
    reduction, location = each.reduction, each.reduction.location
    element = ir.VectorType(each.argument.type).element_type
    own = ir.VectorType.get(each.cut.own.shape, element, loc=location)
    kind = reduction.attributes["kind"]
    zeros = _zeros(own, ir.InsertionPoint(each.loop), location)
    loop = _with_value(each.loop, each.number, zeros)
    at = RegisterMoves(ir.InsertionPoint(reduction), location)
    so_far = at.laid_out(loop.regions[0].blocks[0].arguments[each.number + 1], each.cut.own)
    if each.scaling is not None:
        so_far = _scaled(each.scaling, so_far, each.cut, at)
    terms = at.converted(reduction.operands[0], each.cut.layout, each.cut.order, each.cut.cut)
    added = _summed(kind, terms, so_far, at.point)
    terminator(loop.regions[0]).operands[each.number] = at.laid_out(added, each.cut.own)
    reduction.erase()
    if each.scaling is not None:
        each.scaling.erase()
    result = loop.results[each.number]
    uses = [(use.owner.operation, use.operand_number) for use in result.uses]
    behind = RegisterMoves(ir.InsertionPoint.after(loop), location)
    row = ir.VectorType.get(each.cut.row.shape, element, loc=location)
    lanes = behind.laid_out(result, each.cut.own)
    whole = _summed(kind, lanes, _zeros(row, behind.point, location), behind.point)
    whole = behind.laid_out(whole, each.cut.row)
    for user, number in uses:
        user.operands[number] = whole


def _with_value(loop: ir.Operation, number: int, initial: ir.Value) -> ir.Operation:
    """Returns a loop in the place of `loop` that carries a value of another type.

    The body moves over. Uses of the old value in it, and of the old result, are left to the caller:
    the old argument becomes the new one, whose type differs.
    """
    operands = list(loop.operands)
    operands[FOR_BOUNDS + number] = initial
    types = [result.type for result in loop.results]
    types[number] = initial.type
    new = ir.Operation.create(
        "scf.for",
        results=types,
        operands=operands,
        attributes=attributes_of(loop),
        regions=1,
        loc=loop.location,
        ip=ir.InsertionPoint(loop),
    )
    old = loop.regions[0].blocks[0]
    kinds = [argument.type for argument in old.arguments]
    kinds[number + 1] = initial.type
    block = new.regions[0].blocks.append(*kinds, arg_locs=[loop.location] * len(kinds))
    for view in list(old.operations):
        block.append(view.operation)
    for before, after in zip(old.arguments, block.arguments, strict=True):
        before.replace_all_uses_with(after)
    for before, after in zip(loop.results, new.results, strict=True):
        before.replace_all_uses_with(after)
    loop.erase()
    return new


def _scaled(scaling: ir.Operation, so_far: ir.Value, cut: CutTerms, at: RegisterMoves) -> ir.Value:
    """Returns every lane's sum times the scale of its row."""
    shape, rank = cut.own.shape, cut.own.rank
    # The other operand is the sum so far, which is of the new type by now.
    scale = next(v for v in scaling.operands if v.type != so_far.type)
    wide = at.created("vector.broadcast", [scale], (shape[-1], *shape[:-1]))
    turned = ir.DenseI64ArrayAttr.get([*range(1, rank), 0], scaling.context)
    wide = at.created("vector.transpose", [wide], shape, permutation=turned)
    return at.created("arith.mulf", [so_far, wide], shape, **attributes_of(scaling))


def _summed(
    kind: ir.Attribute, terms: ir.Value, so_far: ir.Value, point: ir.InsertionPoint
) -> ir.Value:
    """Returns the sum over the last dimension of `terms`, added to `so_far`."""
    last = ir.VectorType(terms.type).rank - 1
    op = ir.Operation.create(
        "vector.multi_reduction",
        results=[so_far.type],
        operands=[terms, so_far],
        attributes={
            "kind": kind,
            "reduction_dims": ir.DenseI64ArrayAttr.get([last], terms.context),
        },
        loc=ir.Location.unknown(terms.context),
        ip=point,
    )
    return op.results[0]


def _zeros(kind: ir.VectorType, point: ir.InsertionPoint, location: ir.Location) -> ir.Value:
    zero = ir.FloatAttr.get(kind.element_type, 0.0, loc=location)
    op = ir.Operation.create(
        "arith.constant",
        results=[kind],
        attributes={"value": ir.DenseElementsAttr.get_splat(kind, zero)},
        loc=location,
        ip=point,
    )
    return op.results[0]
