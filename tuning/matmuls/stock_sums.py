# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In which order IREE adds the products of a contraction without matrix instructions.

A thread that has a part of the result of known size adds by fused multiply-adds, from the last
element of a step to its first (`scalar_matmul_tiles.py`). Any other thread rounds each product, and
adds one after the other, from the first to the last: so does one that has a single element, as in
most convolutions, and one whose part ends with the result, as 16 of 100 columns do:

    lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 32], thread = [1, 16, 0],
        workgroup = [32, 128, 1]}>

(PTX of IREE 3.13 for sm_80: of 52 matmuls and convolutions, 41 have `mul.rn.f32` and `add.rn.f32`
alone, and the others `fma.rn.f32`, as this module says.) Where loops over summed elements have
steps, those over the steps are outside of those over the elements of a step. Of a step, the loops
come in their own order, except in a convolution along one dimension of images with channels first:
MLIR makes one `vector.contract` over the channels for each place of the window, so that the loop
over the window is outside of that over the channels.

What is added to the whole sum, such as a bias, comes first where one step has all elements and
loops alone index the operands: MLIR makes one `vector.contract` of a product and the addition
behind it. Else it comes last: a window, or a stride as in `affine_map<(f, x, c) -> (c, x * 2)>`, is
no `vector.contract`, however small the thread's part is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.handed_attributes import SUM_ORDER
from ...dialect_utils.index.loop_sums import LoopSum, loop_sums
from ...dialect_utils.indexing_maps import GENERIC
from ...dialect_utils.lowering_config import CONFIG, REDUCTION, THREAD, WORKGROUP, LoweringConfig
from ...dialect_utils.operations import has_zero_bits, operands_with, operations_of
from .scalar_matmul_tiles import MOST_ELEMENTS

_FILL = "linalg.fill"
_ADD = "arith.addf"
_ZERO = LoopSum({})


class SummedLoop(NamedTuple):
    """A loop over summed elements as IREE goes over it, or over its steps, or over one of these.

    Attributes:
        loop: the number of the loop of the operation.
        size: how often it runs.
    """

    loop: int
    size: int


class StockSums(NamedTuple):
    """How IREE adds the products of a contraction.

    Attributes:
        loops: those over summed elements, the outermost first. One with steps between which others
            lie stands there twice.
        group: how many neighbouring products are added from the last to the first; the groups are
            added from the first to the last.
        rounded: whether products are rounded before they are added.
        padded: whether products of zeros may be added, too, without changing bits.
        added: whether something is added to the sums; it is the first summand where `at_once`.
        at_once: whether one step has all products, and MLIR makes a contraction of them.
    """

    loops: tuple[SummedLoop, ...]
    group: int
    rounded: bool
    padded: bool
    added: bool = False
    at_once: bool = False

    def keeps(self, summed: int, step: int) -> bool:
        """Returns whether a tile can add the products in this order without changing a bit.

        Args:
            summed: how many elements are summed.
            step: how many of them a step of the tile has.
        """
        if self.added and self.at_once != (step >= summed):
            return False
        return step % self.group == 0 and (self.padded or summed % step == 0)


def stock_sums(
    root: ir.Operation, extents: Sequence[int], summed: Collection[int]
) -> StockSums | None:
    """Returns how IREE adds the products of a contraction; None where that is not known.

    Args:
        root: the contraction, as IREE has configured it.
        extents: how long each loop is.
        summed: the loops over summed elements.
    """
    try:
        config = LoweringConfig.of(root.attributes[CONFIG])
    except Refusal:
        return None
    if config.entries.keys() != {REDUCTION, THREAD, WORKGROUP}:
        return None
    workgroup, thread, steps = (
        config.per_loop(name, len(extents)) for name in (WORKGROUP, THREAD, REDUCTION)
    )
    parallel = [loop for loop in range(len(extents)) if loop not in summed]
    if not all(workgroup[loop] and thread[loop] for loop in parallel):
        return None
    if any(not steps[loop] or extents[loop] % steps[loop] for loop in summed):
        return None
    long = [loop for loop in summed if extents[loop] > 1]
    is_step = len(long) < 2 and all(steps[loop] == extents[loop] for loop in long)
    at_once = is_step and _is_indexed_by_loops(root)
    added = _is_added_to(root)
    elements = _vector([(extents[each], workgroup[each], thread[each]) for each in parallel])
    if elements == 1:
        order = _order(extents, steps, sorted(summed), _window(root))
        # A sum that begins with 0.0 never is -0.0, which a product of zeros would change.
        return StockSums(order, 1, True, _begins_with_zero(root), added, at_once)
    if elements > MOST_ELEMENTS or len(summed) > 1:
        return None
    (loop,) = summed
    # A fused multiply-add makes -0.0 of 0.0 and a product that is below all numbers but zero.
    order = (SummedLoop(loop, extents[loop]),)
    return StockSums(order, steps[loop], False, False, added, at_once)


def _order(
    extents: Sequence[int], steps: Sequence[int], loops: Sequence[int], window: int | None
) -> tuple[SummedLoop, ...]:
    """Returns loops over summed elements in the order in which IREE adds rounded products.

    Args:
        window: the loop that is outside of the others within a step, if one is.
    """
    outside = [SummedLoop(loop, extents[loop] // steps[loop]) for loop in loops]
    of_step = sorted(loops, key=lambda loop: loop != window)
    inside = [SummedLoop(loop, steps[loop]) for loop in of_step]
    order: list[SummedLoop] = []
    for each in (*outside, *inside):
        if each.size == 1:
            continue
        if order and order[-1].loop == each.loop:
            order[-1] = SummedLoop(each.loop, extents[each.loop])
        else:
            order.append(each)
    return tuple(order) or (SummedLoop(loops[0], 1),)


def _window(root: ir.Operation) -> int | None:
    """Returns the loop over the window of a convolution that MLIR vectorizes place by place.

    It has the operands of `linalg.conv_1d_ncw_fcw`, and loops over its result in their order. MLIR
    takes any other convolution with channels first for a contraction over all its loops, and one
    with channels last has the loop over the window outside by its own order.
    """
    image, filters, result = loop_sums(root)
    if not len(image) == len(filters) == len(result) == 3:
        return None
    batch, filtered, place = result
    _, channel, window = filters
    is_one = image[:2] == (batch, channel) and filters[0] == filtered
    in_order = [*range(3)] == [each.loop for each in result]
    places = image[2].factors.keys()
    return window.loop if is_one and in_order and places == {place.loop, window.loop} else None


def _is_indexed_by_loops(root: ir.Operation) -> bool:
    """Returns whether a loop, or 0, indexes each dimension of the operands of a contraction."""
    indices = [each for operand in loop_sums(root) for each in operand]
    return all(each.loop is not None or each == _ZERO for each in indices)


def _begins_with_zero(root: ir.Operation) -> bool:
    """Returns whether the sums of a contraction begin with 0.0."""
    # To ask the value for its operation would import the bindings' module of linalg, which is slow.
    start, beside = root.operands[-1], operations_of(root.block)
    fill = next((each for each in beside if each.name == _FILL and each.results[0] == start), None)
    return fill is not None and has_zero_bits(fill.operands[0])


def _is_added_to(root: ir.Operation) -> bool:
    """Returns whether the result of a contraction is first of all added to something."""
    bodies = (
        (user.regions[0].blocks[0], number)
        for user, number in operands_with(root.results[0])
        if user.name == GENERIC
    )
    return any(
        user.name == _ADD
        for body, number in bodies
        for user, _ in operands_with(body.arguments[number])
    )


def _vector(loops: Sequence[tuple[int, int, int]]) -> int:
    """Returns how many elements threads multiply at once: 1 where that is not always the same.

    Args:
        loops: how long each loop of the result is, and a workgroup's and a thread's part of it.
    """
    elements = 1
    for extent, workgroup, thread in loops:
        tile = min(workgroup, extent)
        part = min(thread, tile)
        if part > 1 and (extent % tile or tile % part):
            return 1
        elements *= part
    return elements


class SumOrder(NamedTuple):
    """The order in which a function is to add products, as its attribute says it.

    Attributes:
        step: how many summed elements a step has, whose products begin with the last one; 0 once
            they are in order.
        group, rounded: as those of `StockSums`.
    """

    step: int
    group: int
    rounded: bool

    @staticmethod
    def of(function: ir.Operation) -> SumOrder | None:
        """Returns what a function notes, if it does."""
        if SUM_ORDER not in function.attributes:
            return None
        step, group, rounded = ir.DenseI64ArrayAttr(function.attributes[SUM_ORDER])
        return SumOrder(step, group, bool(rounded))

    def note(self, function: ir.Operation) -> None:
        """Notes it."""
        numbers = [self.step, self.group, int(self.rounded)]
        function.attributes[SUM_ORDER] = ir.DenseI64ArrayAttr.get(numbers, function.context)


def note_order(function: ir.Operation, step: int, sums: StockSums) -> None:
    """Notes that a function is to add products as IREE does.

    Args:
        step: how many summed elements a step of its tile has.
    """
    SumOrder(step, sums.group, sums.rounded).note(function)


def check_order(function: ir.Operation) -> None:
    """Checks that a function adds products in the order that it was to have.

    Raises:
        PassFailure: it does not.
    """
    if SUM_ORDER in function.attributes:
        raise PassFailure(function.location, "its products are added in another order")
