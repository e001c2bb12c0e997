# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-mix-exponentials`: LLVM mixes products with exponentials in the loops of attentions.

    scf.for ... {                  scf.for ... {
      ...                            rocdl.iglp.opt 3
      amdgpu.mfma                    ...
      math.exp2              ->      amdgpu.mfma
      amdgpu.mfma                    math.exp2
    }                                amdgpu.mfma
                                   }

LLVM's usual scheduler for AMD GPUs looks at occupancy first, and leaves the products of a step side
by side, so that the matrix unit is idle while exponentials are computed. Two requests change that.
The attribute `"amdgpu-sched-strategy" = "iterative-ilp"` of the function lets instructions come as
early as their operands do. `rocdl.iglp.opt 3` (LLVM's `AMDGPUIGroupLP.cpp` calls it
"MFMAExpSimpleInterleave") lets products and exponentials of a loop alternate. Neither changes what
is computed: outputs keep their bits.

Products of 16 rows gain by that, and so do those of 32 (`bankwise-use-larger-instructions`) where a
step has few vector instructions (`bankwise-keep-maxima` and others). Whether a GPU is one for which
it gains stands in `tuning/costs/processors.py`.

A function stays as it is for which somebody has chosen attributes of LLVM's already, or of which a
loop is too long for LLVM.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal, refuse_for
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.loops import body_of, loops_around
from ...dialect_utils.lowering_config import (
    TRANSLATION_INFO,
    translation_info_of,
    with_function_attributes,
)
from ...dialect_utils.multiplications import EXPONENTIALS, MFMA
from ...dialect_utils.operations import operations_in, operations_of
from ...passes.base import FunctionPass, PassContext
from ..costs.processors import processor_of
from ..fragments.live_registers import LoopRegisters

_STRATEGY = {"amdgpu-sched-strategy": "iterative-ilp"}
MOST_OPERATIONS, MOST_OF_A_PRODUCT = 2000, 8
"""The most operations of a loop, unless it has no more than so many for each product.

Where lanes read single elements, most of a long loop are reads and addresses. If they come as early
as their operands do, registers hold too much, and LLVM takes long to find out what to store to
memory. The loop of f32 128x300x257 on gfx942 has 3,103 operations and 266 products: a compile takes
14 times as long as without both requests and spills 504 registers in place of 121; with the
strategy alone 10 times, and 511. That of 128x300x241 has 3,624 and 500: it compiles in twice the
time, spills 16 in place of 77, and is predicted to take 0.93 times as long.

Nor are they made where more registers are alive in an iteration than the half of a lane's that most
instructions can name: the other half keeps what is copied there and back. LLVM's register
allocation then looks for a long time for what to copy. With 134 keys and a head of 576 in bf16, of
which 300 are alive, a compile takes 7 times as long as without both requests, and the attention 1.2
times as predicted; with a head of 672 and 348 it is 12 times and 1.2. A head of 448 has 244, and
takes 0.8 of the time."""
_MOST_ALIVE = 0.5
"""The part of a lane's registers that may be alive in an iteration."""


class MixExponentials(FunctionPass):
    """Asks LLVM to mix products with exponentials, on GPUs for which that is predicted to gain."""

    name: ClassVar[str] = "bankwise-mix-exponentials"
    summary: ClassVar[str] = "let LLVM mix products with exponentials in the loops of attentions"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has loops with products and exponentials."""
        return bool(_mixing_loops(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Marks the loops and the function; never fails."""
        function = function.operation
        loops = _mixing_loops(function)
        processor = processor_of(gpu_features_of(function, context.test_target).arch)
        if processor is None or not processor.mixes_exponentials or not loops:
            return
        with context.refusals_said(function.location, "products and exponentials are not mixed"):
            refuse_for(_why_too_long(loops, processor.lane_registers))
            info = with_function_attributes(translation_info_of(function), _STRATEGY)
            if info is None:
                raise Refusal("the function has LLVM attributes")
            function.attributes[TRANSLATION_INFO] = info
            for loop in loops:
                body = operations_of(body_of(loop))
                first = next(each for each in body if each.name in EXPONENTIALS)
                Builder.before(first).mix_exponentials()
                context.sink.remark(loop.location, "LLVM mixes products with exponentials")


def _mixing_loops(function: ir.Operation) -> list[ir.Operation]:
    """Returns the loops with products and exponentials in their own bodies."""
    return [
        each
        for each in loops_around(operations_in(function, MFMA))
        if any(inner.name in EXPONENTIALS for inner in operations_of(body_of(each)))
    ]


def _why_too_long(loops: Sequence[ir.Operation], lane_registers: int) -> str | None:
    """Returns which loop LLVM would take too long for, if there is one.

    Args:
        lane_registers: the most registers that a lane can have.
    """
    for loop in loops:
        operations, products = len(operations_in(loop)), len(operations_in(loop, MFMA))
        if operations > max(MOST_OPERATIONS, MOST_OF_A_PRODUCT * products):
            return f"a loop has {operations:,} operations for {products:,} products"
        alive = LoopRegisters(loop).count()
        if alive > _MOST_ALIVE * lane_registers:
            return f"{alive} registers are alive in a loop, of {lane_registers}"
    return None
