# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets attentions use matrix instructions that IREE computes by scalar ones, or not at all.

IREE configures an attention for matrix instructions where its tiles of rows, columns and keys
divide the sizes; the head, for one, must be a multiple of 32 or 64. Every other attention it
computes row by row, with a reduction that the lanes share:

    lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 128, 0],
        workgroup = [1, 1, 0, 0, 32]}>

That takes up to a hundred times as long. This pass gives such an attention the configuration that
IREE gives to others, with the tile that is predicted to take the least time, and
`bankwise-stage-operands` makes the copies for which IREE derives no layout. Where the tile or the
instructions do not divide the sizes, these are enlarged (`tuning/shapes/enlarged_shapes.py`), and
so are numbers of rows and keys that only the program knows. Of these IREE 3.13 compiles no
attention without a mask ("Padding OnlineAttention without existing mask is not yet supported").

Where the rows are an odd multiple of 8, IREE 3.13 takes AMD's instructions with 8 rows for heads of
64, and then fails to compile them ("'iree_codegen.inner_tiled' op operand #0 inner tile
'tensor<1x16xf16>' is incompatible with expected MMA tile type"). Such attentions get instructions
with 16 rows.

Sums are made in another order than without the pass: outputs are right to rounding.

Runs on the configured function, before its pipeline.

Part of it works around IREE 3.13 (`docs/for_iree.md#rows-that-are-an-odd-multiple-of-8`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.gpu_target import gpu_target_of, lds_limit
from ...dialect_utils.lowering_config import WarpLaunch
from ...passes.base import PassContext
from ..tiles.planned_pass import NewTile, PlannedPass
from ..tiles.size_ranges import asked_sizes
from ..tiles.tile_choice import LEAST_GAIN
from ..tiles.tiled_operation import Circumstances
from ..tiles.tiling_pass import TilingPass
from .attention_tiles import (
    K,
    Q,
    V,
    WarpTiledAttention,
    attention_loops,
    contractions_of,
    only_attention,
)
from .enlarged_attention import EnlargedAttention
from .matrix_tilings import matrix_attentions, ranked_tilings
from .scalar_attention import scalar_attention, scalar_operation

_LEAST_ROWS = 16
"""The rows of the least instruction by which IREE compiles an attention."""


class UseMatrixInstructions(PlannedPass["MatrixAttention"], TilingPass):
    """Configures attentions for matrix instructions where IREE's configuration is a poor one."""

    name: ClassVar[str] = "bankwise-use-matrix-instructions"
    summary: ClassVar[str] = "let attentions of all heads and sizes use matrix instructions"
    what_stays: ClassVar[str] = "the attention keeps IREE's instructions"
    kept: ClassVar[str] = "configuration"

    def _plan(self, function: ir.Operation, context: PassContext) -> MatrixAttention | None:
        circumstances = self.circumstances(function, context.test_target)
        return matrix_attention(function, circumstances, context.test_target)

    def _take(self, function: ir.Operation, context: PassContext, plan: MatrixAttention) -> NewTile:
        """Rewrites the configuration of `function`.

        Raises:
            PassFailure: the loops of the attention cannot be put in another order.
        """
        try:
            plan.configure(function)
        except Refusal as refusal:
            raise PassFailure(function.location, refusal.reason) from refusal
        tiled = plan.tiled
        reason = f"{tiled.tile}, by matrix instructions in the place of {plan.replaced}"
        return tiled.operation, tiled.tile, reason


class MatrixAttention(NamedTuple):
    """An attention as matrix instructions compute it.

    Attributes:
        tiled: the attention with sizes that its tile divides.
        enlarged: what follows from these sizes for the function.
        replaced: the instructions that IREE would take.
    """

    tiled: WarpTiledAttention
    enlarged: EnlargedAttention
    replaced: str

    @staticmethod
    def of(
        attention: WarpTiledAttention, tiled: WarpTiledAttention, replaced: str
    ) -> MatrixAttention:
        """Finds what follows for the function from the sizes that a tile divides.

        Raises:
            Refusal: something uses the attention or its operands that cannot have other sizes, or
                the reads of two operands would be one.
        """
        if _reads_q_as_others(tiled):
            raise Refusal("its only step of keys is its only tile of rows, of the same tensor")
        enlarged = EnlargedAttention.of(tiled.operation, tiled.loops, attention.sizes, tiled.sizes)
        return MatrixAttention(tiled, enlarged, replaced)

    def configure(self, function: ir.Operation) -> None:
        """Gives the attention its tile, and the tensors of its function their shapes.

        Raises:
            Refusal: its loops cannot be put in the order that the instructions need.
        """
        tiled = self.tiled.with_rows_first()
        tiled.configure(function, tiled.tile)
        self.enlarged.apply(function)


def _reads_q_as_others(tiled: WarpTiledAttention) -> bool:
    """Returns whether one tile of Q is all of it, and all that one step reads of K or V.

    The compiler makes one read of two equal ones, which cannot have two layouts.
    """
    query, key, value = (tiled.operation.operands[number] for number in (Q, K, V))
    rows = math.prod(tiled.sizes[loop] for loop in tiled.loops.rows)
    keys = tiled.sizes[tiled.loops.keys]
    is_whole = tiled.tile.rows >= rows and tiled.tile.keys >= keys
    return is_whole and query in (key, value)


def matrix_attention(
    function: ir.Operation, circumstances: Circumstances | None, test_target: str | None = None
) -> MatrixAttention | None:
    """Returns the attention of `function` as matrix instructions would compute it.

    None stands for a function without an attention that IREE computes by scalar instructions, or
    fails to compile.

    Raises:
        Refusal: there is one that matrix instructions cannot compute.
    """
    operation, replaced = scalar_operation(function), "scalar ones"
    if operation is None:
        operation, replaced = _operation_of_few_rows(function), "some that IREE does not compile"
    if operation is None:
        return None
    target = gpu_target_of(function, test_target)
    listed = () if target is None else target.matrix_instructions
    limit = lds_limit(function, test_target)
    sized, launch = attention_loops(operation), WarpLaunch.of(function)
    found = matrix_attentions(operation, sized, listed, launch)
    asked = found[0].asked
    sizes = () if asked is None else asked_sizes(operation, asked)
    attention, tilings = ranked_tilings(found, circumstances, limit, sizes)
    _check_time(function, tilings[0], circumstances)
    made = _first_possible(attention, tilings, replaced)
    if made.tiled is not tilings[0]:
        _check_time(function, made.tiled, circumstances)
    return made


def _first_possible(
    attention: WarpTiledAttention, tilings: Sequence[WarpTiledAttention], replaced: str
) -> MatrixAttention:
    """Returns the first whose sizes all can have that use the attention or its operands.

    One tensor that is K and V, say, cannot have other columns as V than as K.

    Raises:
        Refusal: there is none; the reason is that of the first.
    """
    reasons: list[Refusal] = []
    for each in tilings:
        try:
            return MatrixAttention.of(attention, each, replaced)
        except Refusal as refusal:
            reasons.append(refusal)
    raise reasons[0]


def _check_time(
    function: ir.Operation, best: WarpTiledAttention, circumstances: Circumstances | None
) -> None:
    """Makes sure that scalar instructions are not predicted to be faster, as for a few short rows.

    Raises:
        Refusal: they are, on a GPU on which the predictions were compared with measured times.
    """
    if circumstances is None or not circumstances.processor.measured:
        return
    try:
        scalar = scalar_attention(function)
        alone = math.inf if scalar is None else scalar.microseconds(circumstances.processor)
    except Refusal:
        # There is no prediction for a configuration of another form than IREE's.
        return
    time = circumstances.time(circumstances.work(best, best.tile))
    if alone < time * (1 - LEAST_GAIN):
        raise Refusal(f"{best.tile} is predicted to take {time:.1f} us, and they {alone:.1f} us")


def _operation_of_few_rows(function: ir.Operation) -> ir.Operation | None:
    """Returns the attention whose instructions have fewer rows than IREE compiles, if it is one."""
    operation = only_attention(function)
    if operation is None:
        return None
    try:
        contractions = contractions_of(operation).values()
        few = any(each.instruction[0] < _LEAST_ROWS for each in contractions)
    except Refusal:
        # It is no configuration that IREE 3.13 makes for matrix instructions.
        return None
    return operation if few else None
