# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets warps sum parts of each element of a matmul, which are added through the LDS.

`bankwise-tile-convolutions-by-lanes` splits the sums of a matmul whose workgroups are few into
parts, and gives each part warps of its own:

    C[m, n] = sum over p, k of A[m, p, k] * B[p, k, n]         subgroup_basis of p: 4

IREE tiles that for a workgroup. Behind that this pass makes the loop over the parts a parallel one.
The parts of each element go through the LDS to one lane, which adds them, and all warps share what
is computed and stored then:

    P[p, m, n] = sum over k of A[m, p, k] * B[p, k, n]
    %p = iree_vector_ext.to_layout %P to layout(p in one lane, m and n over all lanes)
             {shared_memory_conversion}
    C[m, n] = sum over p of %p[p, m, n]

(To leave it to IREE 3.13 to add what warps have summed would be wrong: where all lanes have other
elements, it reads back the first part alone.)
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.nested_layout import NestedLayout
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.gpu_target import launch_of
from ...dialect_utils.indexing_maps import GENERIC, loops_of, summed_loops
from ...dialect_utils.lowering_config import BASIS, CONFIG, LANE_BASIS, LoweringConfig, basis_of
from ...dialect_utils.operations import operands_with, operations_in, redirect
from ...passes.base import FunctionPass, PassContext

_VECTOR = 4
"""How many elements beside each other a lane reads at once."""


class AddParts(FunctionPass):
    """Adds the parts of sums that warps have made."""

    name: ClassVar[str] = "bankwise-add-parts"
    summary: ClassVar[str] = "let warps sum parts of each element of a matmul"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether warps are to sum parts in `function`."""
        return any(_part_of(each) is not None for each in operations_in(function, GENERIC))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the matmuls whose sums are in parts.

        Raises:
            PassFailure: it is not known how many lanes there are.
        """
        function = function.operation
        launch = launch_of(function, context.test_target)
        for root in operations_in(function, GENERIC):
            part = _part_of(root)
            if part is None:
                continue
            if launch is None:
                raise PassFailure(root.location, "it is not known how many lanes sum parts")
            _add_parts(root, part, launch.threads, launch.subgroup_size)


def _part_of(generic: ir.Operation) -> int | None:
    """Returns the loop over the parts of the sums of a matmul; None where there is none."""
    if CONFIG not in generic.attributes:
        return None
    try:
        config = LoweringConfig.of(generic.attributes[CONFIG])
    except Refusal:
        return None
    if not {BASIS, LANE_BASIS} <= config.entries.keys():
        return None
    counts, order = basis_of(config)
    summed = summed_loops(generic)
    found = [
        loop
        for loop, place in enumerate(order)
        if loop in summed and counts[place] > 1 and len(summed) > 1
    ]
    return found[0] if len(found) == 1 else None


def _add_parts(root: ir.Operation, part: int, threads: int, lanes: int) -> None:
    """Makes the loop over the parts of a matmul parallel, and adds what that gives.

    Args:
        threads: those of a workgroup.
        lanes: those of a warp.
    """
    a, b, sums = root.operands
    loops = loops_of(root)
    kind = ir.RankedTensorType(sums.type)
    parts = ir.ShapedType(a.type).shape[loops[0].index(part)]
    uses = operands_with(root.results[0])
    at = Builder.before(root)
    shape = [parts, *kind.shape]
    zeros = at.fill(
        at.constant(kind.element_type, 0.0), at.empty(at.tensor_type(shape, kind.element_type))
    )
    summed = at.contraction([a, b], zeros, [*loops[:2], (part, *loops[2])])
    summed.owner.attributes[CONFIG] = root.attributes[CONFIG]
    shared = at.through_lds(summed, _shared_layout(shape, threads, lanes))
    redirect(uses, at.summed(shared, sums))
    root.erase()


def _shared_layout(shape: list[int], threads: int, lanes: int) -> NestedLayout:
    """Returns the layout in which all lanes share elements, each with all parts of its own.

    Args:
        shape: parts, batch dimensions of one element, rows and columns.
    """
    *outer, rows, columns = shape
    vector = max(1, min(_VECTOR, columns, rows * columns // threads))
    across = min(lanes, columns // vector)
    down = lanes // across
    warps = threads // lanes
    warps_down = min(warps, rows // down)
    warps_across = warps // warps_down
    ones, zeros = (1,) * len(outer), (0,) * len(outer)
    batches = (rows // (down * warps_down), columns // (vector * across * warps_across))
    assert prod(batches) * vector * threads == rows * columns, (shape, threads)
    return NestedLayout(
        subgroup_tile=(*ones, warps_down, warps_across),
        batch_tile=(*outer, *batches),
        outer_tile=(*ones, 1, 1),
        thread_tile=(*ones, down, across),
        element_tile=(*ones, 1, vector),
        subgroup_strides=(*zeros, warps_across, 1),
        thread_strides=(*zeros, across, 1),
    )
