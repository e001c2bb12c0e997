# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each mitigation splices into a codegen pipeline."""

from __future__ import annotations

from enum import Enum

from ..passes.absorb_swizzle_hints import AbsorbSwizzleHints
from ..passes.align_lds_accesses import AlignLdsAccesses
from ..passes.base import FunctionPass
from ..passes.flatten_swizzle_hints import FlattenSwizzleHints
from ..passes.hint_vector_allocs import HintVectorAllocs
from ..passes.pad_unhinted_allocs import PadUnhintedAllocs
from ..passes.reinsert_swizzle_hints import ReinsertSwizzleHints
from ..passes.resolve_swizzle_hints import ResolveSwizzleHints
from ..passes.swizzle_lds_allocs import SwizzleLdsAllocs
from ..passes.verify_lds_conflicts import VerifyLdsConflicts
from ..passes.warn_unhinted_allocs import WarnUnhintedAllocs
from .pipeline_edit import CODEGEN_PIPELINES, LOWERED, PipelineEdit, Position
from .recording import RESOLVE_SWIZZLE_HINTS


class Mitigation(Enum):
    """How bank conflicts are dealt with."""

    AUTO = "auto"
    """A swizzle where one is legal and useful, else the best padding within stock's LDS bytes.

    A function whose swizzle hints our passes cannot treat is compiled without them, or as by
    `STOCK`."""
    SWIZZLE = "swizzle"
    """Swizzles only; a warning for each conflicting allocation that gets none."""
    PAD = "pad"
    """The best padding only."""
    NONE = "none"
    """No padding and no swizzle: the baseline of measurements."""
    STOCK = "stock"
    """Exactly what the stock compiler does, replayed."""


STOCK_PAD_PASS = "iree-codegen-gpu-reduce-bank-conflicts"
_UNROLL_LOOPS = "iree-codegen-unroll-annotated-loops"
_VECTOR_LOWERING = "iree-llvmgpu-vector-lowering"
ABSORB_PASS = "iree-codegen-absorb-swizzle-hint-to-alloc"

_BEFORE, _AFTER, _REPLACE = Position.BEFORE, Position.AFTER, Position.REPLACE

_VECTOR_DISTRIBUTE = frozenset({"VectorDistribute"})
_TILE_AND_FUSE = frozenset({"TileAndFuse"})
_LOWERED = frozenset({LOWERED})


def mitigation_edits(mitigation: Mitigation) -> list[PipelineEdit]:
    """The edits of `mitigation`, for VectorDistribute, TileAndFuse and lowered functions."""
    if mitigation is Mitigation.STOCK:
        return []
    edits: list[PipelineEdit] = []

    def edit(
        pipelines: frozenset[str],
        position: Position,
        anchor: str,
        *passes: FunctionPass,
        required: bool = True,
        beside: str = "",
        without: str = "",
    ) -> None:
        edits.append(
            PipelineEdit(
                anchor,
                position,
                passes,
                pipelines,
                required=required,
                beside=beside,
                without=without,
                # What is asked for by name is done, or is an error.
                optional=mitigation is Mitigation.AUTO,
            )
        )

    if mitigation is not Mitigation.NONE:
        # Made first, while the pass that it stands behind is there.
        edit(CODEGEN_PIPELINES | _LOWERED, _AFTER, RESOLVE_SWIZZLE_HINTS, AlignLdsAccesses())
    swizzles = mitigation in (Mitigation.AUTO, Mitigation.SWIZZLE)
    if swizzles:
        flatten = FlattenSwizzleHints()
        variants = [(False, "", "")]
        if mitigation is Mitigation.AUTO:
            # A kernel may have the padding switched off; then nothing can be left to it.
            variants = [(True, STOCK_PAD_PASS, ""), (False, "", STOCK_PAD_PASS)]
        for deferring, beside, without in variants:
            hint = HintVectorAllocs(defer_to_padding=deferring)
            anchor = "iree-codegen-gpu-vector-alloc"
            edit(_VECTOR_DISTRIBUTE, _AFTER, anchor, hint, beside=beside, without=without)
            # Right before the loop-invariant code motion that precedes the padding.
            swizzle = (SwizzleLdsAllocs(defer_to_padding=deferring), flatten)
            edit(_TILE_AND_FUSE, _AFTER, _UNROLL_LOOPS, *swizzle, beside=beside, without=without)
        edit(_VECTOR_DISTRIBUTE, _BEFORE, "iree-llvmgpu-vector-distribute", flatten)
        # Distribution allocates more LDS, for reductions across subgroups.
        deferring = mitigation is Mitigation.AUTO
        late = SwizzleLdsAllocs(defer_to_padding=deferring, unhinted_only=True)
        last = SwizzleLdsAllocs(unhinted_only=True)
        edit(_VECTOR_DISTRIBUTE, _BEFORE, STOCK_PAD_PASS, late, flatten, required=False)
        edit(
            _VECTOR_DISTRIBUTE, _AFTER, "iree-gpu-lower-ops", last, flatten, without=STOCK_PAD_PASS
        )
        edit(_LOWERED, _BEFORE, _VECTOR_LOWERING, SwizzleLdsAllocs(), flatten)
    if mitigation is Mitigation.PAD:
        edit(_LOWERED, _BEFORE, _VECTOR_LOWERING, PadUnhintedAllocs())
    instead_of_padding: dict[Mitigation, list[FunctionPass]] = {
        Mitigation.AUTO: [PadUnhintedAllocs()],
        Mitigation.PAD: [PadUnhintedAllocs()],
        Mitigation.SWIZZLE: [WarnUnhintedAllocs()],
        Mitigation.NONE: [],
    }
    edit(
        CODEGEN_PIPELINES,
        _REPLACE,
        STOCK_PAD_PASS,
        *instead_of_padding[mitigation],
        required=False,
    )
    if swizzles:
        reinsert = "iree-codegen-reinsert-swizzle-hints"
        # Only pipelines that prefetch stow hints on allocations.
        edit(_VECTOR_DISTRIBUTE, _REPLACE, ABSORB_PASS, AbsorbSwizzleHints(), required=False)
        edit(_VECTOR_DISTRIBUTE | _LOWERED, _REPLACE, reinsert, ReinsertSwizzleHints())
        resolve = ResolveSwizzleHints(one_layout=True)
        edit(_VECTOR_DISTRIBUTE, _REPLACE, RESOLVE_SWIZZLE_HINTS, resolve)
        # Hints in a lowered function are its writer's: stock would drop some that are sound.
        edit(_LOWERED, _REPLACE, RESOLVE_SWIZZLE_HINTS, ResolveSwizzleHints())
        # Here hints may be stock's own, for direct loads to LDS: stock's passes stay for them.
        absorb = AbsorbSwizzleHints(only_own=True)
        edit(_TILE_AND_FUSE, _BEFORE, ABSORB_PASS, absorb, required=False)
        edit(_TILE_AND_FUSE, _BEFORE, reinsert, ReinsertSwizzleHints(only_own=True))
        resolve = ResolveSwizzleHints(only_own=True, one_layout=True)
        edit(_TILE_AND_FUSE, _BEFORE, RESOLVE_SWIZZLE_HINTS, resolve)
    return edits


def verifying_edits() -> list[PipelineEdit]:
    """The edits that fail a compile with bank conflicts; made before those of a mitigation.

    They look at the resolved offsets, which go to the backend as they are.
    """
    every = CODEGEN_PIPELINES | _LOWERED
    passes = (VerifyLdsConflicts(),)
    return [PipelineEdit(RESOLVE_SWIZZLE_HINTS, _AFTER, passes, every, required=True)]
