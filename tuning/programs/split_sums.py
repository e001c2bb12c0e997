# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shares the sums of products among workgroups, where tiles of the result are few.

A workgroup computes a tile of a product, and goes over all summed elements. Of 333x2048 sums of
5632 products there are so few tiles that most of an H200 has nothing to do. This pass sums parts,
and adds these:

    %a2 = tensor.expand_shape %a [[0], [1, 2]] : tensor<333x5632xf16> into tensor<333x4x1408xf16>
    %parts = linalg.generic {... (p, m, n, k) -> (m, p, k), (p, k, n), (p, m, n)} ins(%a2, %b2)
        -> tensor<4x333x2048xf32>
    %sums = linalg.generic {... (m, n, p) -> (p, m, n), (m, n)} ins(%parts) ...

Into how many parts is decided by the predicted time, of which that of the second kernel is a part.
Elements are added in another order, which is the same in each run: outputs are right to rounding.

Runs on functions of the program, before dispatches are formed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import gpu_target_of
from ...dialect_utils.indexing_maps import MAPS, loops_of
from ...dialect_utils.lowering_config import WarpLaunch, is_configured
from ...dialect_utils.operations import likeness, operations_in, parents_of, replace_by
from ...passes.base import PassContext
from ...passes.decisions import LayoutRound
from ..costs.row_sum_cost import RowSums
from ..costs.split_cost import copy_microseconds
from ..costs.tile_cost import least_microseconds, least_waiting
from ..matmuls.dynamic_matmuls import DynamicMatmul, ScalarLoops, multiplies, planned_matmul
from ..matmuls.lane_matmuls import lane_tilings, multiplies_floats
from ..tiles.tiled_operation import Circumstances, TiledOperation, check_saves, rounded_up
from ..tiles.tiling_pass import TilingPass

_COUNTS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
_LEAST = 128
"""How many elements a part has at least."""
_LEAST_GAIN, _LEAST_GAIN_OF_LANES = 0.25, 0.4
"""The part of the time that splitting has to save by prediction. On an H200 f16 128x512x8192 takes
24.0 us and in 4 parts 12.5, 7x3584x18944 55.8 and in 8 parts 36.0; f16 256x1024x4096, for which a
gain of 0.1 is predicted, 15.1 and 15.5, and f32 160x240x2048 with 0.26 12.7 and 12.7."""
_LANE_PARTS = (1, 2, 4, 8)
"""Into how many parts warps of a workgroup may split a sum where lanes multiply."""
_OPERANDS = 3
_SUM_BYTES = 4
_USUAL_SIZES, _USUAL_SIZES_OF_LANES = (16, 64, 128), (64, 128)
"""The rows and columns of the tiles by which a product is looked at first."""
_EXACT = 1 - 1e-9
"""Sums of floating-point numbers are right to that."""


class _Sums(NamedTuple):
    """What is predicted of the sums of a product.

    Attributes:
        parts: into how many they are split.
        time: the predicted microseconds with that.
        whole: those without it.
    """

    parts: int
    time: float
    whole: float

    def __str__(self) -> str:
        return (
            f"{self.parts} workgroups share a sum, which is predicted to take {self.time:.1f} us "
            f"in the place of {self.whole:.1f}"
        )


class _Tiling(NamedTuple):
    """A product with a tile.

    Attributes:
        least: the microseconds that it takes at least, in whatever number of parts.
    """

    least: float
    tiled: TiledOperation[Any]


@dataclass(frozen=True)
class SplitSums(TilingPass):
    """Splits the sums of products where that is predicted to be faster.

    Attributes:
        unmeasured: whether it does so, too, on GPUs on which the model was not compared with
            measured times.
    """

    name: ClassVar[str] = "bankwise-split-sums"
    summary: ClassVar[str] = "share the sums of products among workgroups, where tiles are few"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    unmeasured: bool = False

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has a product of known sizes."""
        return any(True for _ in _products(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the products of `function`; never fails."""
        function = function.operation
        circumstances = self.circumstances(function, context.test_target)
        if circumstances is None:
            return
        fills = operations_in(function, "linalg.fill")
        filled = {result for fill in fills for result in fill.results}
        decided: dict[Hashable, _Sums | Refusal | None] = {}
        for product in list(_products(function)):
            # No dispatch has the product yet: nothing but itself says how its operands lie in
            # memory. The layers of a model ask the same again and again.
            asked = likeness(product), product.operands[2] in filled
            plan = partial(self._plan, function, product, circumstances, context)
            plan = partial(_once, decided, asked, plan)
            if found := context.planned(product.location, "a workgroup has whole sums", plan):
                context.sink.remark(product.location, str(found))
                _split(product, found.parts)

    def _plan(
        self,
        function: ir.Operation,
        product: ir.Operation,
        circumstances: Circumstances,
        context: PassContext,
    ) -> _Sums | None:
        """Returns into how many parts the sums are split; None where they stay whole.

        Raises:
            Refusal: nothing is predicted of the product, or not surely that it gets faster.
        """
        loops = ScalarLoops.of(function, product)
        summed = loops.extents[loops.tiled[2]]
        counts = [n for n in _COUNTS if summed % n == 0 and summed // n >= _LEAST]
        if not counts:
            return None
        matmul = _by_matrices(function, product, loops, circumstances, context.test_target)
        elements = math.prod(ir.ShapedType(product.results[0].type).shape)
        moved_by = {
            count: copy_microseconds(
                (2 * count + 1) * elements * _SUM_BYTES, circumstances.processor
            )
            for count in counts
        }
        kept = 1 - (_LEAST_GAIN_OF_LANES if multiplies_floats(product) else _LEAST_GAIN)
        fewest = min(moved_by.values())
        found = _not_split(matmul, product, loops, circumstances, lambda t: (t + fewest) / kept)
        if found is None:
            return None
        tilings, whole = found
        best = _Sums(1, kept * whole, whole)
        for count, moved in moved_by.items():
            most = best.time - moved
            time = _microseconds(tilings, loops.tiled[2], count, circumstances, most)
            if time < most or (time == most and best.parts == 1):
                best = _Sums(count, time + moved, whole)
        if best.parts == 1:
            return None
        target = gpu_target_of(function, context.test_target)
        assert target is not None
        if not self.unmeasured:
            check_saves(best, best.time, whole, circumstances.processor, target.arch)
        return best


def _not_split(
    matmul: DynamicMatmul | None,
    product: ir.Operation,
    loops: ScalarLoops,
    circumstances: Circumstances,
    enough: Callable[[float], float],
) -> tuple[Sequence[_Tiling], float] | None:
    """Returns a product with each tile, and the least predicted microseconds of it with whole sums.

    Args:
        enough: tells from the microseconds that a product in parts takes at least which time of one
            with whole sums is so short that no number of parts saves enough of it.

    Returns:
        None where there is such a time.

    Raises:
        Refusal: lanes cannot compute it.
    """
    # IREE gives each sum a workgroup of its own where there are few.
    whole = own = _own(product, loops).microseconds(circumstances.processor)
    tilings: Sequence[_Tiling] = ()
    for tiled in (_tiled_usually, _tilings):
        tilings = tiled(matmul, product, loops, circumstances)
        least = min((each.least for each in tilings), default=0.0)
        most = enough(_EXACT * least)
        whole = min(own, _microseconds(tilings, loops.tiled[2], 1, circumstances, enough=most))
        if whole < most:
            return None
    return tilings, whole


def _by_matrices(
    function: ir.Operation,
    product: ir.Operation,
    loops: ScalarLoops,
    circumstances: Circumstances,
    test_target: str | None,
) -> DynamicMatmul | None:
    """Returns a product that matrix instructions compute; None where lanes multiply.

    Raises:
        Refusal: neither can compute it.
    """
    launch = WarpLaunch.of_one_warp(circumstances.processor.lanes, product.context)
    try:
        found = planned_matmul(function, product, loops, launch, test_target)
        # That is refused, too, where the elements differ in size.
        return found if found.element_bytes else None
    except Refusal:
        if multiplies_floats(product) and circumstances.processor.fma_cycles:
            return None
        raise


def _least_of_all(
    matmul: DynamicMatmul | None, loops: ScalarLoops, circumstances: Circumstances
) -> float:
    """Returns the microseconds that a product takes at least, with any tile, in any parts: all
    multiprocessors multiply all the time."""
    processor = circumstances.processor
    cycles, waits, products = 0.0, 0.0, math.prod(loops.extents)
    if matmul is None:
        cycles = products / processor.lanes * processor.fma_cycles
    elif not processor.described_cycles:  # Of tiles that descriptors give it is not known.
        cycles = products / math.prod(matmul.instruction) * processor.matrix_cycles
        waits = least_waiting(processor)
    cycles = processor.launch_cycles + waits + cycles / processor.multiprocessors
    return cycles / processor.megahertz


def _tiled_usually(
    matmul: DynamicMatmul | None,
    product: ir.Operation,
    loops: ScalarLoops,
    circumstances: Circumstances,
) -> Sequence[_Tiling]:
    """Returns a product with the tiles by which it is looked at first.

    Raises:
        Refusal: lanes cannot compute it.
    """
    if matmul is not None:
        tilings = matmul.tilings(_USUAL_SIZES)
    else:
        launch = WarpLaunch.of_one_warp(circumstances.processor.lanes, product.context)
        tilings = lane_tilings(product, loops, launch, sizes=_USUAL_SIZES_OF_LANES)
    least = _least_of_all(matmul, loops, circumstances)
    return [_Tiling(least, each) for each in tilings]


def _tilings(
    matmul: DynamicMatmul | None,
    product: ir.Operation,
    loops: ScalarLoops,
    circumstances: Circumstances,
) -> Sequence[_Tiling]:
    """Returns a product with each tile of matrix instructions, or of lanes where there are none,
    those first that may take the least time.

    Raises:
        Refusal: lanes cannot compute it.
    """
    if matmul is not None:
        tilings = matmul.tilings()
    else:
        launch = WarpLaunch.of_one_warp(circumstances.processor.lanes, product.context)
        tilings = lane_tilings(product, loops, launch, _LANE_PARTS)
    found = [_Tiling(_least(each, circumstances), each) for each in tilings]
    return sorted(found, key=lambda each: each.least)


def _least(tiled: TiledOperation[Any], circumstances: Circumstances) -> float:
    """Returns the microseconds that a product with a tile takes at least."""
    work = tiled.work(tiled.tile, circumstances)
    # Where a part is a single step, no descriptors give operands.
    if work.described and tiled.tile.summed >= _LEAST:
        return 0.0
    return least_microseconds(work, circumstances.processor)


def _own(product: ir.Operation, loops: ScalarLoops) -> RowSums:
    """Returns a product as IREE computes it whose result has few elements."""
    _, column, summed = loops.tiled
    strided = any(dims[-1] != summed for dims in loops_of(product)[:2])
    columns, length = loops.extents[column], loops.extents[summed]
    return RowSums(math.prod(loops.extents) // (columns * length), columns, length, strided)


def _once(
    decided: dict[Hashable, _Sums | Refusal | None],
    asked: Hashable,
    plan: Callable[[], _Sums | None],
) -> _Sums | None:
    """Returns what `plan` does, which is called once for all that ask the same.

    Raises:
        Refusal: `plan` refuses.
    """
    if asked not in decided:
        try:
            decided[asked] = plan()
        except Refusal as refusal:
            decided[asked] = refusal
    found = decided[asked]
    if isinstance(found, Refusal):
        raise Refusal(found.reason, found.location)
    return found


def _microseconds(
    tilings: Sequence[_Tiling],
    summed: int,
    count: int,
    circumstances: Circumstances,
    most: float = math.inf,
    enough: float = 0.0,
) -> float:
    """Returns the least predicted time of a product whose sums are in parts.

    Args:
        tilings: with the least bound first.
        summed: the loop over the summed elements.
        count: into how many parts they are split.
        most: longer times are not asked for; infinity stands for them.
        enough: of shorter times any will do.
    """
    least = math.inf
    for bound, each in tilings:
        if least < enough:
            break
        if bound > min(least, most):
            continue
        extents = list(each.extents)
        extents[summed] = -(-extents[summed] // count)
        part = each.changed(extents=rounded_up(extents, each.multiples))
        for tile in circumstances.ways(part, each.tile):
            work = part.work(tile, circumstances)
            time = circumstances.time(work._replace(workgroups=work.workgroups * count))
            least = min(least, time)
    return least if least <= most else math.inf


def _split(product: ir.Operation, count: int) -> None:
    """Replaces a product by one of parts of the sums, and a sum of these.

    Args:
        count: how many parts.
    """
    at = Builder.before(product)
    *factors, init = product.operands
    *loops, result = loops_of(product)
    (summed,) = {*loops[0]} - {*result}
    # The parts are the outermost loop, and what is summed stays the innermost one.
    number = {loop: place + 1 for place, loop in enumerate((*result, summed))}
    values, indexed = [], []
    for value, dims in zip(factors, loops, strict=True):
        values.append(_expanded(at, value, dims.index(summed), count))
        taken = [[0, number[loop]] if loop == summed else [number[loop]] for loop in dims]
        indexed.append([loop for each in taken for loop in each])
    kind = ir.RankedTensorType(init.type)
    zero = at.constant(kind.element_type, 0.0)
    rank = kind.rank
    parts = at.fill(zero, at.empty(at.tensor_type([count, *kind.shape], kind.element_type)))
    attributes = at.looped(rank + 2, [*indexed, range(rank + 1)])
    made = at.sum_of_products(values, parts, attributes)
    places = [rank, *range(rank)]
    added = at.generic(
        [made],
        init,
        at.looped(rank + 1, [places, range(rank)]),
        lambda at, each, before: at.addf(before, each),
    )
    replace_by(product, added.results[0])


def _expanded(at: Builder, value: ir.Value, dimension: int, count: int) -> ir.Value:
    """Emits a tensor of which a dimension becomes the parts and their elements."""
    kind = ir.RankedTensorType(value.type)
    shape = list(kind.shape)
    split = [*shape[:dimension], count, shape[dimension] // count, *shape[dimension + 1 :]]
    groups = [
        [dim + (dim > dimension)] if dim != dimension else [dim, dim + 1]
        for dim in range(len(shape))
    ]
    return at.expand_shape(value, at.tensor_type(split, kind.element_type), groups)


def _products(function: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the products of floating-point matrices of known sizes that no dispatch has yet."""
    for each in operations_in(function):
        if not each.name.startswith("linalg.") or len(each.operands) != _OPERANDS:
            continue
        if MAPS not in each.attributes or is_configured(each) or not multiplies(each):
            continue
        kinds = [ir.ShapedType(operand.type) for operand in each.operands]
        if any(DYNAMIC in kind.shape for kind in kinds):
            continue
        is_float = all(isinstance(kind.element_type, ir.FloatType) for kind in kinds)
        in_single = element_bits(kinds[-1].element_type) == 8 * _SUM_BYTES
        if is_float and in_single and not any(p.name.startswith("flow.") for p in parents_of(each)):
            yield each
