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
instructions do not divide the sizes, these are enlarged (`passes/shapes/enlarged_shapes.py`), and
so are numbers of rows and keys that only the program knows. Of these IREE 3.13 compiles no
attention without a mask ("Padding OnlineAttention without existing mask is not yet supported").

Where the rows are an odd multiple of 8, IREE 3.13 takes AMD's instructions with 8 rows for heads of
64, and then fails to compile them ("'iree_codegen.inner_tiled' op operand #0 inner tile
'tensor<1x16xf16>' is incompatible with expected MMA tile type"). Such attentions get instructions
with 16 rows.

Sums are made in another order than without the pass: outputs are right to rounding.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import lcm
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.tile_cost import AttentionTile
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import gpu_target_of, lds_limit
from ..base import FunctionPass, PassContext
from .attention_tiles import (
    ContractionKinds,
    K,
    Q,
    V,
    WarpTiledAttention,
    configured_attention,
    contractions_of,
    only_attention,
)
from .enlarged_attention import EnlargedAttention
from .scalar_attention import scalar_operation
from .tiled_operation import Circumstances

_WARPS = (8, 4, 2, 1)
_INSTRUCTIONS_HIGH = (1, 2)
_KEY_STEPS = (128, 64, 32, 16)
_WIDER_COLUMNS = (16, 32)
_DEEP = 32
"""The summed elements of the deeper of AMD's instructions with 16 rows and columns."""
_SUMMED = {"F32": 4}
"""Those of the usual one, where they are not 16."""
_LEAST_ROWS = 16
"""The rows of the least instruction by which IREE compiles an attention."""


@dataclass(frozen=True)
class UseMatrixInstructions(FunctionPass):
    """Configures attentions for matrix instructions where IREE's configuration is a poor one.

    Attributes:
        overlap, reloads, native_exponentials: whether passes follow that do so, as for
            `bankwise-retile`.
    """

    name: ClassVar[str] = "bankwise-use-matrix-instructions"
    summary: ClassVar[str] = "let attentions of all heads and sizes use matrix instructions"
    later_passes_may_refuse: ClassVar[bool] = True
    kept: ClassVar[str] = "configuration"

    overlap: bool = True
    reloads: bool = True
    native_exponentials: bool = True

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the configuration of `function`; never fails."""
        function = function.operation
        circumstances = Circumstances.of(
            function,
            context.test_target,
            other_order=True,
            overlap=self.overlap,
            reloads=self.reloads,
            native_exponentials=self.native_exponentials,
        )
        try:
            attention = matrix_attention(function, circumstances, context.test_target)
            if attention is not None and (objection := context.users_configuration()):
                raise Refusal(objection)
        except Refusal as refusal:
            message = f"the attention keeps IREE's instructions: {refusal.reason}"
            context.sink.remark(function.location, message)
            return
        if attention is None:
            return
        attention.configure(function)
        operation, tile = attention.tiled.operation, str(attention.tiled.tile)
        reason = f"{tile}, by matrix instructions in the place of {attention.replaced}"
        self.record_tile(context, function, operation, tile, reason)


@dataclass(frozen=True)
class MatrixAttention:
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
            Refusal: something uses the attention or its operands that cannot have other sizes.
        """
        enlarged = EnlargedAttention.of(tiled.operation, tiled.loops, attention.sizes, tiled.sizes)
        return MatrixAttention(tiled, enlarged, replaced)

    def configure(self, function: ir.Operation) -> None:
        """Gives the attention its tile, and the tensors of its function their shapes."""
        self.tiled.configure(function, self.tiled.tile)
        self.enlarged.apply(function)


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
    found = [configured_attention(function, operation, each) for each in _kinds(operation, listed)]
    # The deepest instructions are the best, unless more of the head is computed in vain.
    for attention in sorted(found, key=lambda each: each.of_whole_instructions().head):
        tiled = [
            each
            for tile in _tiles(attention)
            if (each := attention.enlarged(tile)).staged_bytes(tile) <= limit
            and each.is_copied_evenly(tile)
        ]
        if tiled:
            best = min(tiled, key=lambda each: _cost(each, circumstances))
            return MatrixAttention.of(attention, best, replaced)
    raise Refusal("no tile of matrix instructions fits in the LDS and is copied evenly")


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


def _tiles(attention: WarpTiledAttention) -> Iterator[AttentionTile]:
    """Yields the tiles that an attention may have, of whole heads.

    More columns than the head has are zeros that more lanes of a row can copy side by side.
    """
    high = max(attention.scores[0], attention.outputs[0])
    deep = lcm(attention.scores[1], attention.outputs[2])
    least = attention.of_whole_instructions().columns
    wider = _WIDER_COLUMNS if len(attention.loops.columns) == 1 else ()
    columns = sorted({least, *(-(-least // each) * each for each in wider)})
    for warps, count, keys, width in product(_WARPS, _INSTRUCTIONS_HIGH, _KEY_STEPS, columns):
        if keys % deep == 0:
            yield AttentionTile(warps * count * high, width, keys, warps)


def _cost(attention: WarpTiledAttention, circumstances: Circumstances | None) -> tuple[float, ...]:
    """Returns what is least of the best tile: the predicted time, and what is computed in vain."""
    tile = attention.tile
    time = 0.0
    if circumstances is not None:
        time = circumstances.time(circumstances.work(attention, tile))
        if tile.warps < circumstances.processor.least_warps:
            time = math.inf
    return time, attention.rows * attention.keys * tile.columns, -tile.warps, -tile.keys


def _kinds(operation: ir.Operation, listed: tuple[str, ...]) -> Iterator[ContractionKinds]:
    """Yields the instructions of both contractions that a GPU has, the best ones first.

    They are those that IREE takes for heads that it has a configuration for: the outputs' has the
    scores in registers as the scores' leaves them there.
    """
    kinds = {ir.ShapedType(operation.operands[each].type).element_type for each in (Q, K, V)}
    if len(kinds) != 1:
        raise Refusal("the elements of Q, K and V differ")
    name = str(kinds.pop()).upper()
    sync, deep = f"NV_MMA_SYNC_F32_16x8x16_{name}", f"MFMA_F32_16x16x{_DEEP}_{name}"
    usual = f"MFMA_F32_16x16x{_SUMMED.get(name, 16)}_{name}"
    if sync in listed:
        yield ContractionKinds.of(f"mma_layout<{sync}>", f"mma_layout<{sync}>", operation)
    elif usual in listed:
        plain = f"mma_layout<{usual}, col_major = true>"
        if deep in listed:
            yield ContractionKinds.of(f"mma_layout<{deep}, col_major = true>", plain, operation)
        elif name == "F16":
            wide = f"virtual_mma_layout<V{deep}, col_major = true>"
            yield ContractionKinds.of(wide, plain, operation)
        yield ContractionKinds.of(plain, plain, operation)
    else:
        raise Refusal(f"there is no matrix instruction for {name.lower()}")
