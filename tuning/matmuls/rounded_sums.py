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
steps, those over the steps are outside of those over the elements of a step.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from iree.compiler import ir

from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.handed_attributes import ROUNDED_PRODUCTS
from ...dialect_utils.lowering_config import CONFIG, REDUCTION, THREAD, WORKGROUP, LoweringConfig


class SummedLoop(NamedTuple):
    """A loop over summed elements as IREE goes over it, or over its steps, or over one of these.

    Attributes:
        loop: the number of the loop of the operation.
        size: how often it runs.
    """

    loop: int
    size: int


def rounded_order(
    root: ir.Operation, extents: Sequence[int], summed: Collection[int]
) -> tuple[SummedLoop, ...] | None:
    """Returns the loops over summed elements as IREE adds rounded products, the outermost first.

    One with steps between which others lie stands there twice. None stands for an operation whose
    products are not rounded, or of which that is not known.

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
    if _multiplies_vectors([(extents[each], workgroup[each], thread[each]) for each in parallel]):
        return None
    loops = sorted(summed)
    outside = [SummedLoop(loop, extents[loop] // steps[loop]) for loop in loops]
    inside = [SummedLoop(loop, steps[loop]) for loop in loops]
    order: list[SummedLoop] = []
    for each in (*outside, *inside):
        if order and order[-1].loop == each.loop:
            order[-1] = SummedLoop(each.loop, extents[each.loop])
        elif each.size > 1:
            order.append(each)
    return tuple(order) or (SummedLoop(loops[0], 1),)


def _multiplies_vectors(loops: Sequence[tuple[int, int, int]]) -> bool:
    """Returns whether threads have parts of several elements, of a size that is always the same.

    Args:
        loops: how long each loop of the result is, and a workgroup's and a thread's part of it.
    """
    elements = 1
    for extent, workgroup, thread in loops:
        tile = min(workgroup, extent)
        part = min(thread, tile)
        if part > 1 and (extent % tile or tile % part):
            return False
        elements *= part
    return elements > 1


def note_rounded(function: ir.Operation, step: int) -> None:
    """Notes that products of a function are to be rounded, and added from the first to the last.

    Args:
        step: how many summed elements a step has.
    """
    kind = ir.IntegerType.get_signless(64, function.context)
    function.attributes[ROUNDED_PRODUCTS] = ir.IntegerAttr.get(kind, step)


def check_rounded(function: ir.Operation) -> None:
    """Checks that the products that were to be rounded are.

    Raises:
        PassFailure: they are not.
    """
    if ROUNDED_PRODUCTS in function.attributes:
        raise PassFailure(function.location, "its products are added in another order")
