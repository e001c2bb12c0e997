# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each mitigation splices into a codegen pipeline."""

from __future__ import annotations

from enum import Enum

from ..passes.absorb_swizzle_hints import AbsorbSwizzleHints
from ..passes.base import FunctionPass
from ..passes.flatten_swizzle_hints import FlattenSwizzleHints
from ..passes.hint_vector_allocs import HintVectorAllocs
from ..passes.pad_unhinted_allocs import PadUnhintedAllocs
from ..passes.reinsert_swizzle_hints import ReinsertSwizzleHints
from ..passes.resolve_swizzle_hints import ResolveSwizzleHints
from ..passes.warn_unhinted_allocs import WarnUnhintedAllocs
from .pipeline_edit import PipelineEdit, Position
from .recording import RESOLVE_SWIZZLE_HINTS


class Mitigation(Enum):
    """How bank conflicts are dealt with."""

    AUTO = "auto"
    """A swizzle where one is legal and useful, else the best padding within stock's LDS bytes."""
    SWIZZLE = "swizzle"
    """Swizzles only; a warning for each conflicting allocation that gets none."""
    PAD = "pad"
    """The best padding only."""
    NONE = "none"
    """No padding and no swizzle: the baseline of measurements."""
    STOCK = "stock"
    """Exactly what the stock compiler does, replayed."""


PAD_PASS = "iree-codegen-gpu-reduce-bank-conflicts"
ABSORB_PASS = "iree-codegen-absorb-swizzle-hint-to-alloc"

_VECTOR_DISTRIBUTE = frozenset({"VectorDistribute"})


def mitigation_edits(mitigation: Mitigation) -> list[PipelineEdit]:
    """The edits of `mitigation`; they touch VectorDistribute pipelines only."""

    def edit(
        position: Position, anchor: str, *passes: FunctionPass, required: bool = True
    ) -> PipelineEdit:
        return PipelineEdit(anchor, position, passes, _VECTOR_DISTRIBUTE, required=required)

    if mitigation is Mitigation.STOCK:
        return []
    instead_of_padding: dict[Mitigation, list[FunctionPass]] = {
        Mitigation.AUTO: [PadUnhintedAllocs()],
        Mitigation.PAD: [PadUnhintedAllocs()],
        Mitigation.SWIZZLE: [WarnUnhintedAllocs()],
        Mitigation.NONE: [],
    }
    edits = [edit(Position.REPLACE, PAD_PASS, *instead_of_padding[mitigation], required=False)]
    if mitigation in (Mitigation.AUTO, Mitigation.SWIZZLE):
        hint = HintVectorAllocs(defer_to_padding=mitigation is Mitigation.AUTO)
        edits += [
            edit(Position.AFTER, "iree-codegen-gpu-vector-alloc", hint),
            edit(Position.BEFORE, "iree-llvmgpu-vector-distribute", FlattenSwizzleHints()),
            # Only pipelines that prefetch stow hints on allocations.
            edit(Position.REPLACE, ABSORB_PASS, AbsorbSwizzleHints(), required=False),
            edit(Position.REPLACE, "iree-codegen-reinsert-swizzle-hints", ReinsertSwizzleHints()),
            edit(Position.REPLACE, RESOLVE_SWIZZLE_HINTS, ResolveSwizzleHints()),
        ]
    return edits
