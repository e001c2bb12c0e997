# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-step-maxima`: a lane finds the maximum of a long row step by step.

Where no power of two divides the length of a row, IREE gives each row to a lane. Of a softmax it
tiles the sum of the exponentials, and not the maximum before it:

    %max = linalg.generic ... maxnumf                      all 6,625 elements at once
    %sum = linalg.generic ... attrs = {lowering_config =
        #iree_gpu.lowering_config<{reduction = [0, 5], thread = [1, 0], workgroup = [64, 0]}>}

So a lane is to hold the whole row in registers, and each element is some instructions. The time of
the compile grows with the square of the length: the processor works 19 s for rows of 6,625 f32 on
gfx942, and for 50,257, the words of a language model, it takes more than 8 GB of memory and does
not end in minutes. This pass lets the lane read the row in steps, as it does for the sum:

    %max = linalg.generic ... maxnumf ... attrs = {lowering_config =
        #iree_gpu.lowering_config<{reduction = [0, 125]}>}

which compiles in 0.2 s. The kernel's time stays there: 1.02 of IREE's on an H200, 0.97 with f16.
Shorter rows keep what IREE makes of them, whose compile ends: with steps, rows of 3,000 f32 took
1.24 of IREE's time on an H200, of 1,000 1.10 and of 777 1.09.

A maximum does not depend on the order of the elements: all results are the same bits. Reductions
that do, such as sums of floats, stay as they are. Where lanes may share rows, they do
(`tuning/elements/share_rows.py`), and there is nothing left to do here.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from contextlib import suppress
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.errors import divisors
from ...bank_model.shown_text import counted
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.indexing_maps import loops_of, summed_loops
from ...dialect_utils.lowering_config import (
    CONFIG,
    REDUCTION,
    LoweringConfig,
    numbers_attribute,
)
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import LayoutRound
from ..tiles.tiled_operation import loop_sizes
from .row_loops import loops_along, row_root
from .row_masks import combiners_of

_LONG = 4096
"""From how many elements of a row on its maximum is found in steps. For rows of 4,095 f32 IREE's
compile works 12 s for gfx942, 16 s for gfx1201 and 2 s for sm_80."""
_LEAST, _MOST = 8, 128
"""How many elements a step has, where the length of the row has such divisors."""


class StepMaxima(FunctionPass):
    """Reads rows in steps where their maxima are made of whole rows."""

    name: ClassVar[str] = "bankwise-step-maxima"
    summary: ClassVar[str] = "find the maximum of a long row step by step"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has rows of which each is one lane's."""
        return _root(function) is not None

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Configures the reductions that IREE has left without a tile; never fails."""
        root = _root(function.operation)
        if root is None:
            return
        # Whatever is not understood stays as IREE has it.
        with suppress(Refusal):
            for reduction, steps in _steps(root).items():
                count = len(loops_of(reduction)[0])
                numbers = numbers_attribute([steps.get(n, 0) for n in range(count)], root.context)
                config = LoweringConfig({REDUCTION: numbers})
                reduction.attributes[CONFIG] = config.attribute(root.context)
                elements = counted(prod(steps.values()), "element")
                context.sink.remark(reduction.location, f"a step has {elements} of a row")


def _root(function: ir.Operation) -> ir.Operation | None:
    """Returns the reduction whose tile says that each row is one lane's."""
    root = row_root(function)
    if root is None or CONFIG not in root.attributes:
        return None
    return root if REDUCTION in LoweringConfig.of(root.attributes[CONFIG]).entries else None


def _steps(root: ir.Operation) -> dict[ir.Operation, dict[int, int]]:
    """Returns the reductions to configure, and how many elements a step has along their loops.

    Raises:
        Refusal: something is not understood.
    """
    extents = loop_sizes(root, loops_of(root), range(len(root.operands)))
    summed = sorted(summed_loops(root))
    sizes = [extents[loop] for loop in summed]
    if min(sizes) <= 0 or prod(sizes) < _LONG:
        return {}
    along = [loops_along(root, loop) for loop in summed]
    found: dict[ir.Operation, dict[int, int]] = {}
    for operation in along[-1]:
        loops = [each.get(operation) for each in along]
        if CONFIG in operation.attributes or summed_loops(operation) != {*loops}:
            continue
        with suppress(Refusal):
            if not any(each.keeps_order for each in combiners_of(operation)):
                found[operation] = {loop: 1 for loop in loops if loop is not None}
                found[operation][max(found[operation])] = _step(sizes[-1])
    return found


def _step(length: int) -> int:
    """Returns how many neighbouring elements of a row a step has, a divisor of its length."""
    short = next(divisors(length, _MOST))
    longer = [each for each in divisors(length, 8 * _MOST) if each > _MOST]
    return longer[-1] if short < _LEAST and longer else short
