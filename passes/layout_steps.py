# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of the level `layout`: where tiles are swizzled and padded, and hints resolved."""

from __future__ import annotations

from typing import Any

from .mode import Mode
from .pipeline_edit import (
    CODEGEN_PIPELINES,
    LOWERED,
    RESOLVE_SWIZZLE_HINTS,
    PassClass,
    PipelineEdit,
    PlannedPass,
    Position,
    pass_classes,
)
from .steps import (
    ABSORB,
    AUTO,
    COUNTED,
    NONE,
    PAD,
    STOCK_PAD_PASS,
    SWIZZLE,
    SWIZZLING,
    Options,
    Place,
    Setting,
    Step,
)

AlignLdsAccesses, CountExchanges, JoinLdsAccesses, VerifyLdsConflicts = pass_classes(
    f"{__package__}.accesses",
    *("AlignLdsAccesses", "CountExchanges", "JoinLdsAccesses", "VerifyLdsConflicts"),
)
CountStockLayouts, PadUnhintedAllocs, WarnUnhintedAllocs = pass_classes(
    f"{__package__}.padding", "CountStockLayouts", "PadUnhintedAllocs", "WarnUnhintedAllocs"
)
AbsorbSwizzleHints, FlattenSwizzleHints, HintVectorAllocs = pass_classes(
    f"{__package__}.swizzles", "AbsorbSwizzleHints", "FlattenSwizzleHints", "HintVectorAllocs"
)
ReinsertSwizzleHints, ResolveSwizzleHints, SwizzleLdsAllocs = pass_classes(
    f"{__package__}.swizzles", "ReinsertSwizzleHints", "ResolveSwizzleHints", "SwizzleLdsAllocs"
)
VECTOR_DISTRIBUTE, TILE_AND_FUSE = frozenset({"VectorDistribute"}), frozenset({"TileAndFuse"})
FROM_OTHERS = frozenset({LOWERED})
REINSERT = "iree-codegen-reinsert-swizzle-hints"
_VECTOR_ALLOC = "iree-codegen-gpu-vector-alloc"
_VECTORIZE_COPIES = "iree-codegen-vectorize-memref-copy"
_UNROLL_LOOPS = "iree-codegen-unroll-annotated-loops"
_DISTRIBUTE = "iree-llvmgpu-vector-distribute"
_LOWER_GPU_OPS = "iree-gpu-lower-ops"
_VECTOR_LOWERING = "iree-llvmgpu-vector-lowering"

_BEFORE, _AFTER, _REPLACE = Position.BEFORE, Position.AFTER, Position.REPLACE
VECTOR_ALLOCS = Place(_AFTER, _VECTOR_ALLOC, VECTOR_DISTRIBUTE)
COPIES = Place(_AFTER, _VECTORIZE_COPIES, TILE_AND_FUSE)
# Right before the loop-invariant code motion that precedes the padding.
_UNROLLED = Place(_AFTER, _UNROLL_LOOPS, TILE_AND_FUSE)
_DISTRIBUTION = Place(_BEFORE, _DISTRIBUTE, VECTOR_DISTRIBUTE)
# What distribution allocates, for reductions across subgroups, is there from here on.
_DISTRIBUTED = Place(_BEFORE, STOCK_PAD_PASS, VECTOR_DISTRIBUTE)
_DISTRIBUTED_UNPADDED = Place(_AFTER, _LOWER_GPU_OPS, VECTOR_DISTRIBUTE)
_LOWERED_START = Place(_BEFORE, _VECTOR_LOWERING, FROM_OTHERS)
STOCK_PAD = Place(_REPLACE, STOCK_PAD_PASS)
# Alignments are known behind the layouts, and arithmetic is not expanded yet.
RESOLVED = Place(_AFTER, RESOLVE_SWIZZLE_HINTS, CODEGEN_PIPELINES | FROM_OTHERS)


def padding(setting: Setting) -> dict[str, Any]:
    return {"defer_to_padding": setting.mode.mitigation == "auto" and setting.stock_pads}


def stock(setting: Setting) -> dict[str, Any]:
    return {"padded": setting.stock_pads}


def _before_transposing(setting: Setting) -> dict[str, Any]:
    return {**stock(setting), "transposed": True}


def _rest(setting: Setting) -> dict[str, Any]:
    return {**stock(setting), "rest_only": True}


def _early(setting: Setting) -> dict[str, Any]:
    return {**padding(setting), "share_addresses": setting.reaches("exact")}


def _joining(setting: Setting) -> dict[str, Any]:
    return {"keep_copies": setting.reaches("fast")}


def _unhinted(setting: Setting) -> dict[str, Any]:
    return {**padding(setting), "unhinted_only": True}


def swizzled(
    place: Place,
    options: Options = padding,
    joining: Options = _joining,
    **when: Any,
) -> tuple[Step, ...]:
    """Returns the steps that swizzle the allocations of flat or bufferized vectors.

    Args:
        options: those of the pass that swizzles.
        joining: those of the pass that joins narrow accesses before.
        when: fields of the steps.
    """
    return (
        Step(place, JoinLdsAccesses, joining, **when),
        Step(place, SwizzleLdsAllocs, options, **when),
        Step(place, FlattenSwizzleHints, **when),
    )


STEPS: tuple[Step, ...] = (
    # Register layouts, and the memory layouts of what a pipeline allocates before it prefetches.
    Step(VECTOR_ALLOCS, CountStockLayouts, stock, mitigations=SWIZZLING | PAD, by_mma_sync=False),
    Step(VECTOR_ALLOCS, HintVectorAllocs, padding, by_mma_sync=False),
    Step(COPIES, CountStockLayouts, _before_transposing, COUNTED, by_mma_sync=False),
    *swizzled(_UNROLLED, _early, by_mma_sync=False),
    Step(_DISTRIBUTION, FlattenSwizzleHints, by_mma_sync=False),
    # The layouts of what is allocated later, and of functions that come lowered.
    Step(
        _DISTRIBUTED,
        CountStockLayouts,
        _rest,
        mitigations=SWIZZLING | PAD,
        by_mma_sync=False,
        stock_pads=True,
    ),
    *swizzled(_DISTRIBUTED, _unhinted, by_mma_sync=False, stock_pads=True),
    Step(
        _DISTRIBUTED_UNPADDED,
        CountStockLayouts,
        _rest,
        mitigations=SWIZZLING | PAD,
        by_mma_sync=False,
        stock_pads=False,
    ),
    *swizzled(_DISTRIBUTED_UNPADDED, _unhinted, by_mma_sync=False, stock_pads=False),
    Step(_LOWERED_START, CountStockLayouts, {"padded": False}, COUNTED),
    *swizzled(_LOWERED_START, by_mma_sync=False),
    Step(_LOWERED_START, PadUnhintedAllocs, mitigations=PAD),
    # Stock pads none of these: only what was to be swizzled, and cannot be, is.
    Step(_LOWERED_START, PadUnhintedAllocs, {"unresolved_only": True}, AUTO),
    # In the place of stock's padding.
    Step(STOCK_PAD, PadUnhintedAllocs, mitigations=AUTO | PAD, by_mma_sync=False),
    Step(STOCK_PAD, WarnUnhintedAllocs, mitigations=SWIZZLE, by_mma_sync=False),
    Step(STOCK_PAD, None, mitigations=NONE),
    # Hints are treated in the place of stock's passes.
    Step(Place(_REPLACE, ABSORB, VECTOR_DISTRIBUTE), AbsorbSwizzleHints),
    Step(Place(_REPLACE, REINSERT, VECTOR_DISTRIBUTE | FROM_OTHERS), ReinsertSwizzleHints),
    Step(
        Place(_REPLACE, RESOLVE_SWIZZLE_HINTS, VECTOR_DISTRIBUTE),
        ResolveSwizzleHints,
        {"one_layout": True},
    ),
    # Hints in a lowered function are its writer's: stock would drop some that are sound.
    Step(Place(_REPLACE, RESOLVE_SWIZZLE_HINTS, FROM_OTHERS), ResolveSwizzleHints),
    # Here hints may be stock's own, for direct loads to LDS: stock's passes stay for them.
    Step(Place(_BEFORE, ABSORB, TILE_AND_FUSE), AbsorbSwizzleHints, {"only_own": True}),
    Step(Place(_BEFORE, REINSERT, TILE_AND_FUSE), ReinsertSwizzleHints, {"only_own": True}),
    Step(
        Place(_BEFORE, RESOLVE_SWIZZLE_HINTS, TILE_AND_FUSE),
        ResolveSwizzleHints,
        {"only_own": True, "one_layout": True},
    ),
    # What is done to tiles whose layouts are resolved, and to flat vectors.
    Step(RESOLVED, AlignLdsAccesses, mitigations=SWIZZLING | PAD),
)
"""The steps, in the order of a compile where they have the same place."""


def counting_edits(mode: Mode) -> list[PipelineEdit]:
    """Returns the edits that count what stands in the end; they are made before those of a mode."""
    return [_on_resolved(CountExchanges)] if mode.mitigation in SWIZZLING | PAD else []


def verifying_edits() -> list[PipelineEdit]:
    """Returns the edits that fail a compile with bank conflicts; they are made first.

    They look at the resolved offsets, which go to the backend as they are.
    """
    return [_on_resolved(VerifyLdsConflicts)]


def _on_resolved(kind: PassClass) -> PipelineEdit:
    """Returns the edit for a pass that looks at what the pipelines have made of the layouts."""
    place, step = RESOLVED, PlannedPass(kind)
    return PipelineEdit.after(place.anchor, step, pipelines=place.pipelines, required=True)
