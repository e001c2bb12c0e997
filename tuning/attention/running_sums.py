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

from iree.compiler import ir

from ...bank_model.layout_digits import (
    Holder,
    LayoutDigit,
    RegisterOrder,
    layout_digits,
    register_order,
)
from ...bank_model.nested_layout import NestedLayout
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.carried_loops import with_initial_values
from ...dialect_utils.loops import FOR, Carried, carried_values
from ...dialect_utils.memory.vector_layouts import VectorLayouts, op_name
from ...dialect_utils.operations import (
    defining_operation,
    is_splat_of_zero,
    operands_with,
    operations_in,
    redirect,
    terminator,
)
from ..registers.register_moves import converted


class RunningSum(NamedTuple):
    """A sum that a loop carries.

    Attributes:
        carried: the sum, as the loop carries it.
        reduction: the `vector.multi_reduction` that adds an iteration's terms.
        scaling: the multiplication of the sum so far, if there is one.
        cut: how the terms are cut into rows, lanes and registers.
    """

    carried: Carried
    reduction: ir.Operation
    scaling: ir.Operation | None
    cut: CutTerms

    @property
    def argument(self) -> ir.Value:
        """Returns the sum so far, in the loop."""
        return self.carried.argument

    @property
    def loop(self) -> ir.Operation:
        """Returns the loop."""
        return self.carried.loop


class CutTerms(NamedTuple):
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
    for loop in operations_in(function, FOR):
        sums = (_running_sum(carried, layouts) for carried in carried_values(loop))
        found += [each for each in sums if each is not None]
    return found


def _running_sum(carried: Carried, layouts: VectorLayouts) -> RunningSum | None:
    reduction = defining_operation(carried.yielded)
    if reduction is None or op_name(reduction) != "vector.multi_reduction":
        return None
    if "add" not in str(reduction.attributes["kind"]) or reduction.parent != carried.loop:
        return None
    if not isinstance(reduction.results[0].type, ir.VectorType):
        return None
    if not is_splat_of_zero(carried.initial):
        return None
    argument = carried.argument
    scaling = _scaling(reduction.operands[1], argument)
    added = reduction.operands[1] if scaling is None else scaling.results[0]
    if scaling is None and added != argument:
        return None
    # Nothing else may see the sum so far.
    if any(_uses(value) != 1 for value in {argument, added, reduction.results[0]}):
        return None
    cut = _cut(reduction, layouts)
    return None if cut is None else RunningSum(carried, reduction, scaling, cut)


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
    kind = reduction.attributes["kind"]
    before = Builder.before(each.loop).at(location)
    zeros = before.constant(before.vector_type(each.cut.own.shape, element), 0)
    new = _with_value(each.carried, zeros)
    at = Builder.before(reduction)
    so_far = at.to_layout(new.argument, each.cut.own)
    if each.scaling is not None:
        so_far = _scaled(at, each.scaling, so_far, each.cut)
    terms = converted(at, reduction.operands[0], each.cut.layout, each.cut.order, each.cut.cut)
    added = _summed(at, kind, terms, so_far)
    terminator(new.loop.regions[0]).operands[new.number] = at.to_layout(added, each.cut.own)
    reduction.erase()
    if each.scaling is not None:
        each.scaling.erase()
    uses = operands_with(new.result)
    behind = Builder.after(new.loop).at(location)
    lanes = behind.to_layout(new.result, each.cut.own)
    row = behind.constant(behind.vector_type(each.cut.row.shape, element), 0)
    redirect(uses, behind.to_layout(_summed(behind, kind, lanes, row), each.cut.row))


def _with_value(carried: Carried, initial: ir.Value) -> Carried:
    """Returns a value of another type in the place of a carried one, in a loop in that of the loop.

    Uses of the old value in it, and of the old result, are left to the caller: the old argument
    becomes the new one, whose type differs.
    """
    values = [each.initial for each in carried_values(carried.loop)]
    values[carried.number] = initial
    return Carried(with_initial_values(carried.loop, values), carried.number)


def _scaled(at: Builder, scaling: ir.Operation, so_far: ir.Value, cut: CutTerms) -> ir.Value:
    """Returns every lane's sum times the scale of its row."""
    shape, rank = cut.own.shape, cut.own.rank
    # The other operand is the sum so far, which is of the new type by now.
    scale = next(v for v in scaling.operands if v.type != so_far.type)
    wide = at.broadcast(scale, (shape[-1], *shape[:-1]))
    wide = at.transpose(wide, [*range(1, rank), 0])
    return at.like(scaling, [so_far, wide], [so_far.type]).results[0]


def _summed(at: Builder, kind: ir.Attribute, terms: ir.Value, so_far: ir.Value) -> ir.Value:
    """Returns the sum over the last dimension of `terms`, added to `so_far`."""
    unknown = ir.Location.unknown(terms.context)
    return at.at(unknown).multi_reduction(kind, terms, so_far, [ir.VectorType(terms.type).rank - 1])
