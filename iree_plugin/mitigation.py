# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each mitigation splices into a codegen pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from ..passes.absorb_swizzle_hints import AbsorbSwizzleHints
from ..passes.base import FunctionPass
from ..passes.flatten_swizzle_hints import FlattenSwizzleHints
from ..passes.hint_vector_allocs import HintVectorAllocs
from ..passes.pad_unhinted_allocs import PadUnhintedAllocs
from ..passes.reinsert_swizzle_hints import ReinsertSwizzleHints
from ..passes.resolve_swizzle_hints import ResolveSwizzleHints
from .pipeline_edit import PipelineEdit
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


_VECTOR_DISTRIBUTE = frozenset({"VectorDistribute"})


def mitigation_edits(mitigation: Mitigation) -> list[PipelineEdit]:
    """The edits of `mitigation`; they touch VectorDistribute pipelines only."""

    def after(anchor: str, *passes: FunctionPass) -> PipelineEdit:
        return PipelineEdit.after(anchor, *passes, pipelines=_VECTOR_DISTRIBUTE, required=True)

    def replace(anchor: str, passes: Sequence[FunctionPass]) -> PipelineEdit:
        return PipelineEdit.replace(anchor, *passes, pipelines=_VECTOR_DISTRIBUTE)

    if mitigation is Mitigation.STOCK:
        return []
    pads = mitigation in (Mitigation.AUTO, Mitigation.PAD)
    edits = [
        replace("iree-codegen-gpu-reduce-bank-conflicts", [PadUnhintedAllocs()] if pads else [])
    ]
    if mitigation in (Mitigation.AUTO, Mitigation.SWIZZLE):
        only = mitigation is Mitigation.SWIZZLE
        edits += [
            after("iree-codegen-gpu-vector-alloc", HintVectorAllocs(warn_unhinted=only)),
            after("iree-codegen-hoist-statically-bound-allocations", FlattenSwizzleHints()),
            replace("iree-codegen-absorb-swizzle-hint-to-alloc", [AbsorbSwizzleHints()]),
            replace("iree-codegen-reinsert-swizzle-hints", [ReinsertSwizzleHints()]),
            replace(RESOLVE_SWIZZLE_HINTS, [ResolveSwizzleHints()]),
        ]
    return edits
