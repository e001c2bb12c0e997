# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What passes have in common that change attentions of a program before dispatches are formed."""

from __future__ import annotations

from typing import ClassVar, Protocol

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import GpuTargetInfo, gpu_target_of
from ...dialect_utils.operations import has_operation, parents_of
from ...passes.base import PassContext
from ...passes.decisions import LayoutRound
from ..tiles.tiled_operation import Circumstances, check_saves
from ..tiles.tiling_pass import TilingPass
from .program_attention import ATTENTION


class PredictedChange(Protocol):
    """A change whose text says what it is and what is predicted for it.

    Attributes:
        time: the predicted microseconds with it.
        whole: those without it.
    """

    @property
    def time(self) -> float: ...

    @property
    def whole(self) -> float: ...


@dataclass(frozen=True)
class ProgramAttentionPass(TilingPass):
    """A pass that changes attentions of a program before dispatches are formed."""

    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has an attention."""
        return has_operation(function, ATTENTION)

    def check_place(self, attention: ir.Operation) -> None:
        """Raises Refusal where an attention is in a dispatch already."""
        if any(each.name.startswith(("hal.", "flow.")) for each in parents_of(attention)):
            raise Refusal("the attention is in a dispatch already")

    def predicted_on(
        self, function: ir.Operation, context: PassContext
    ) -> tuple[GpuTargetInfo, Circumstances]:
        """Returns the GPU of a function, and what tiles are judged by there.

        Raises:
            Refusal: there is no prediction.
        """
        circumstances = self.predicted(function, context.test_target)
        target = gpu_target_of(function, context.test_target)
        assert target is not None
        return target, circumstances

    def check_gain(
        self, change: PredictedChange, target: GpuTargetInfo, circumstances: Circumstances
    ) -> None:
        """Raises Refusal where it is not sure that a change saves time."""
        check_saves(change, change.time, change.whole, circumstances.processor, target.arch)
