# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replaces the tile of a workgroup by the one that is predicted to take the least time.

IREE chooses tiles by rules that know neither what an LDS layout costs nor how much of it fits. Its
tile of a 16x4096x128 f16 attention for CUDA is

    workgroup = [1, 64, 32, 0, 0]

64 rows and 32 of 128 columns, so that every score is computed four times. With the whole head in a
workgroup it is computed once, and the kernel takes a quarter of the time. For a matmul the
tile decides how many products are made of what a step brings into the LDS.

All tiles that the sizes divide into are compared by a model of the GPU (`costs/tile_cost.py`).
Another tile is taken where it saves 3 % of the predicted time or more, and

* with `mode=auto`, only on GPUs on which the model was compared with measured times, and on AMD's,
  on which it was compared with the predictions of a more exact model (`emulator/timing/`), where it
  saves 10 % or more, or 6.5 % of a matmul on 2-byte elements; elsewhere a remark names the tile and
  what it would save; `mode=on` takes it anyway;
* only where the configuration is IREE's own: a user's stands.

Outputs are bitwise the same, unless `other-order` allows attentions to take another number of keys
a step, and matmuls without matrix instructions another number of summed elements. Then sums are
made in another order.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from iree.compiler import ir

from ..bank_model.quick_dataclass import dataclass
from ..dialect_utils import carried_integers
from ..dialect_utils.described_tiles import note_described_tile, note_held_workgroups
from ..dialect_utils.diagnostics import PassFailure, Refusal
from ..dialect_utils.gpu_target import gpu_target_of, lds_limit
from ..dialect_utils.memory.barrier_order import check_barriers
from ..dialect_utils.memory.flow import allocated_bytes
from ..dialect_utils.tuned_operation import TunedOperation
from ..passes.base import FunctionPass, PassContext
from ..passes.decisions import Action, LayoutRound
from .attention.attention_tiles import warp_tiled_attention
from .costs.tile_cost import AnyTile, AttentionTile
from .matmuls.matmul_tiles import warp_tiled_matmul
from .matmuls.scalar_matmul_tiles import thread_tiled_matmul
from .retile_mode import RetileMode
from .tiles.tile_choice import TileChoice, tile_choice
from .tiles.tiled_operation import Circumstances, TiledOperation, doubt

_FLAG = "--bankwise-retile=on"


@dataclass(frozen=True)
class Retile(FunctionPass):
    """Replaces the tile of a function by the one that is predicted to take the least time.

    Attributes:
        mode: on which GPUs.
        other_order: whether a step may sum another number of elements.
        overlap: whether a pass follows that lets copies overlap with contractions, as
            `bankwise-overlap-copies` does for NVIDIA.
        reloads: whether one follows that reads Q in every step where registers do not suffice, as
            `bankwise-reload-operands` does for NVIDIA.
        native_exponentials: whether one follows that makes an exponential one instruction there.
        larger_instructions: whether one follows that lets instructions multiply 32 rows on AMD, as
            `bankwise-use-larger-instructions` does.
        short_steps: whether those follow that make an attention's steps on 2-byte floats short
            there, as `bankwise-keep-maxima` and `bankwise-transpose-tiles` do.
    """

    name: ClassVar[str] = "bankwise-retile"
    summary: ClassVar[str] = "give workgroups the tile that is predicted to be the fastest"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE
    later_passes_may_refuse: ClassVar[bool] = True
    kept: ClassVar[str] = "tiles"

    mode: RetileMode = RetileMode.AUTO
    other_order: bool = False
    overlap: bool = True
    reloads: bool = True
    native_exponentials: bool = False
    larger_instructions: bool = False
    short_steps: bool = False

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the configuration of `function`; never fails."""
        function = function.operation
        target = gpu_target_of(function, context.test_target)
        circumstances = self.circumstances(function, context)
        if target is None or circumstances is None:
            if target is not None and self.mode is RetileMode.ON:
                reason = f"there is no prediction for {target.arch}"
                context.sink.remark(function.location, f"the tile of a workgroup stays: {reason}")
            return
        try:
            tiled = tiled_operation(function)
            choice = None if tiled is None else tile_choice(tiled, circumstances)
        except Refusal as refusal:
            reason = f"the tile of a workgroup stays: {refusal.reason}"
            context.sink.remark(function.location, reason, stays=True)
            return
        if choice is None:
            return
        times = choice.best_time, choice.stock_time
        why_not = doubt(*times, circumstances.processor, target.arch, choice.tiled.modelled_gain)
        self._decide(function, choice, why_not, context)

    def circumstances(self, function: ir.Operation, context: PassContext) -> Circumstances | None:
        """Returns what tiles of a function are judged by; None for a GPU without a model."""
        return Circumstances.of(
            function,
            context.test_target,
            other_order=self.other_order,
            overlap=self.overlap,
            reloads=self.reloads,
            native_exponentials=self.native_exponentials,
            larger_instructions=self.larger_instructions,
            short_steps=self.short_steps,
        )

    def _decide(
        self, function: ir.Operation, choice: TileChoice[Any], why_not: str, context: PassContext
    ) -> None:
        """Takes the chosen tile, or says why not.

        Args:
            why_not: why the tile may not be faster; empty where there is no doubt.
        """
        operation = choice.tiled.operation
        objection = ""
        if why_not and self.mode is not RetileMode.ON:
            objection = f"{why_not}; {_FLAG} takes it anyway"
        elif choice.gains:
            objection = context.users_configuration()
        if choice.described and not objection:
            note_described_tile(function)
            if isinstance(choice.best, AttentionTile):
                note_held_workgroups(function, choice.held)
        if choice.gains:
            self._replace(function, choice, objection, context)
        else:
            reason = f"the tile of a workgroup stays: {choice}"
            context.sink.remark(operation.location, reason, stays=True)

    def _replace(
        self, function: ir.Operation, choice: TileChoice[Any], objection: str, context: PassContext
    ) -> None:
        action, reason = Action.RETILE, str(choice)
        if objection:
            action, reason = Action.KEEP, f"{choice}; it is not taken: {objection}"
        else:
            self._configure(function, choice.tiled, choice.best, context)
        self.record_tile(context, function, choice.tiled.operation, choice.best, reason, action)

    def _configure(
        self,
        function: ir.Operation,
        tiled: TiledOperation[Any],
        tile: AnyTile,
        context: PassContext,
    ) -> None:
        """Makes a tile that of the operation, and notes it for a tuning spec."""
        operation = tiled.operation
        with context.refusals_said(operation.location, "no tuning spec can name the operation"):
            if carried_integers.is_marked(function):
                raise Refusal("it multiplies integers that are called f8")
            context.tuned.append(TunedOperation.of(operation, tiled.attributes(tile)))
        tiled.configure(function, tile)
        assume_tile(self, tile, context)


def assume_tile(step: FunctionPass, tile: AnyTile, context: PassContext) -> None:
    """Notes what the pass that has taken a tile assumes, to be checked behind the pipeline."""
    context.assumptions.append((step, partial(_check_lds, context=context)))
    if isinstance(tile, AttentionTile) and tile.held_stages > 1:
        context.assumptions.append((step, _check_barriers))


def _check_lds(function: ir.Operation, context: PassContext) -> None:
    """Checks that the LDS of a replaced tile fits, which was estimated when it was chosen.

    Raises:
        PassFailure: it does not fit.
    """
    limit = lds_limit(function, context.test_target)
    total = allocated_bytes(function)
    if total > limit:
        reason = f"its tile takes {total} bytes of LDS, of {limit}"
        raise PassFailure(function.location, reason)


def _check_barriers(function: ir.Operation) -> None:
    """Checks that IREE has kept the barriers of copies that are loaded a step ahead.

    Raises:
        PassFailure: it has not, or that is not known.
    """
    try:
        check_barriers(function)
    except Refusal as refusal:
        raise PassFailure(refusal.location or function.location, refusal.reason) from refusal


def tiled_operation(function: ir.Operation) -> TiledOperation[Any] | None:
    """Returns the attention or matmul that decides on the workgroups of `function`, if one does.

    Raises:
        Refusal: one does, but is of a form that is not understood.
    """
    return (
        warp_tiled_attention(function)
        or warp_tiled_matmul(function)
        or thread_tiled_matmul(function)
    )
