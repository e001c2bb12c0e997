# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of the levels `exact` and `fast`, beside those of `passes/layout_steps.py`, and what is
right at all levels that stock has wrong."""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from ..dialect_utils.gpu_target import gpu_features_of
from ..dialect_utils.lowering_config import only_root
from ..dialect_utils.operations import ONLINE_ATTENTION
from ..passes.layout_steps import (
    COPIES,
    REINSERT,
    RESOLVED,
    STOCK_PAD,
    TILE_AND_FUSE,
    VECTOR_ALLOCS,
    VECTOR_DISTRIBUTE,
    CountStockLayouts,
    FlattenSwizzleHints,
    HintVectorAllocs,
    PadUnhintedAllocs,
    ReinsertSwizzleHints,
    SwizzleLdsAllocs,
    WarnUnhintedAllocs,
    stock,
    swizzled,
)
from ..passes.pipeline_edit import COPYING, TILING, Position, pass_classes
from ..passes.steps import (
    ALL,
    AUTO,
    CONVOLUTION_TO_IGEMM,
    PAD,
    SWIZZLE,
    SWIZZLING,
    Place,
    Setting,
    Step,
)
from .retile_mode import RetileMode
from .tiles.lane_tiled import is_lane_tiled_matmul

NativeBf16, NativeDivision, NativeExp2, NativeFma = pass_classes(
    f"{__package__}.arithmetic", "NativeBf16", "NativeDivision", "NativeExp2", "NativeFma"
)
(ShortenExponentials,) = pass_classes(f"{__package__}.arithmetic", "ShortenExponentials")
DeferLaneSums, ExcludeAbsentKeys, KeepMaxima = pass_classes(
    f"{__package__}.attention", "DeferLaneSums", "ExcludeAbsentKeys", "KeepMaxima"
)
PeelLastStep, ReorderKeys, ScaleDifferences = pass_classes(
    f"{__package__}.attention", "PeelLastStep", "ReorderKeys", "ScaleDifferences"
)
SumProbabilities, TileByLanes, TransposeContractions = pass_classes(
    f"{__package__}.attention", "SumProbabilities", "TileByLanes", "TransposeContractions"
)
UseLargerInstructions, UseMatrixInstructions = pass_classes(
    f"{__package__}.attention", "UseLargerInstructions", "UseMatrixInstructions"
)
RenameContractions, TransposeBytes = pass_classes(
    f"{__package__}.contractions", "RenameContractions", "TransposeBytes"
)
ImplicitGemm, TileConvolutionsByLanes, TileWindows = pass_classes(
    f"{__package__}.convolutions", "ImplicitGemm", "TileConvolutionsByLanes", "TileWindows"
)
(UnrollWindows,) = pass_classes(f"{__package__}.convolutions", "UnrollWindows")
FormDirectLoads, ShareCopies, ShareDigits = pass_classes(
    f"{__package__}.copies", "FormDirectLoads", "ShareCopies", "ShareDigits"
)
SpreadImages, StageOperands = pass_classes(f"{__package__}.copies", "SpreadImages", "StageOperands")
AlignRows, JoinRows, LoadBeforeSums = pass_classes(
    f"{__package__}.elements", "AlignRows", "JoinRows", "LoadBeforeSums"
)
PeelRows, ShareRows, StepMaxima, TileElements = pass_classes(
    f"{__package__}.elements", "PeelRows", "ShareRows", "StepMaxima", "TileElements"
)
JoinProducts, JoinStores, OrderContractions, ReloadOperands = pass_classes(
    f"{__package__}.fragments", "JoinProducts", "JoinStores", "OrderContractions", "ReloadOperands"
)
FormLdmatrix, FormTransposeLoads = pass_classes(
    f"{__package__}.ldmatrix", "FormLdmatrix", "FormTransposeLoads"
)
AddParts, EnlargeMatmuls, TileDynamicMatmuls = pass_classes(
    f"{__package__}.matmuls", "AddParts", "EnlargeMatmuls", "TileDynamicMatmuls"
)
KeepSumOrder, TileMatmulsByLanes = pass_classes(
    f"{__package__}.matmuls", "KeepSumOrder", "TileMatmulsByLanes"
)
DelayCopies, HoldWorkgroups, KeepLoadsEarly, LoadAhead = pass_classes(
    f"{__package__}.overlap", "DelayCopies", "HoldWorkgroups", "KeepLoadsEarly", "LoadAhead"
)
LoadOperandsAhead, MixExponentials, OverlapCopies = pass_classes(
    f"{__package__}.overlap", "LoadOperandsAhead", "MixExponentials", "OverlapCopies"
)
RaisePriority, ShareLds = pass_classes(f"{__package__}.overlap", "RaisePriority", "ShareLds")
RenameRegisters, TransposeTiles = pass_classes(
    f"{__package__}.registers", "RenameRegisters", "TransposeTiles"
)
(RestoreShapes,) = pass_classes(f"{__package__}.shapes", "RestoreShapes")
ArrangeOperands, FormWgmma = pass_classes(f"{__package__}.wgmma", "ArrangeOperands", "FormWgmma")
CarryIntegers, CheckProducts, FoldTransposes = pass_classes(
    f"{__package__}.workarounds", "CarryIntegers", "CheckProducts", "FoldTransposes"
)
DefinePadding, GatherReversed, GatherWindows, IndexUnitLoops = pass_classes(
    f"{__package__}.workarounds",
    *("DefinePadding", "GatherReversed", "GatherWindows", "IndexUnitLoops"),
)
KeepLanesApart, KeepMaskBounds, MergeBlockedSizes = pass_classes(
    f"{__package__}.workarounds", "KeepLanesApart", "KeepMaskBounds", "MergeBlockedSizes"
)
MultiplyIntegers, MultiplyUnsigned = pass_classes(
    f"{__package__}.workarounds", "MultiplyIntegers", "MultiplyUnsigned"
)
NeutralElements, OrderFragments, OrderScaledOperands = pass_classes(
    f"{__package__}.workarounds", "NeutralElements", "OrderFragments", "OrderScaledOperands"
)
HoldLoads, OrderProducts, PartScatters, ReduceBytes = pass_classes(
    f"{__package__}.workarounds", "HoldLoads", "OrderProducts", "PartScatters", "ReduceBytes"
)
KeepEqualOrder, RoundUpKeys, SearchRowsAlone = pass_classes(
    f"{__package__}.workarounds", "KeepEqualOrder", "RoundUpKeys", "SearchRowsAlone"
)
SumAllWarps, SumPackedTiles, UnrollPrivateLoops = pass_classes(
    f"{__package__}.workarounds", "SumAllWarps", "SumPackedTiles", "UnrollPrivateLoops"
)
(Retile,) = pass_classes(f"{__package__}", "Retile")

_PAD_CONVOLUTIONS = "iree-codegen-gpu-pad-convs"
_DECOMPOSE = "iree-linalg-ext-decompose-attention"
_PACK = "iree-codegen-gpu-pack-to-intrinsics"
_COALESCED_COPIES = "iree-codegen-gpu-convert-to-coalesced-dma"
_COMBINE_SOURCES = "iree-codegen-combine-source-layout-transformation"
_VECTOR_ALLOC = "iree-codegen-gpu-vector-alloc"
_BUFFERIZE = "iree-codegen-iree-comprehensive-bufferize"
_UNROLL_LOOPS = "iree-codegen-unroll-annotated-loops"
_DISTRIBUTE = "iree-llvmgpu-vector-distribute"
_LOWER_GPU_OPS = "iree-gpu-lower-ops"
_VECTOR_LOWERING = "iree-llvmgpu-vector-lowering"
_BY_LANES = {"by_lanes": True}
_CHOSEN = {"chosen_only": True}
_DIRECT = {"direct": True}
_ORDERED = {"ordered": True}
_BEFORE, _AFTER = Position.BEFORE, Position.AFTER
_START = Place(_BEFORE, TILING)
_DISTRIBUTED_START = Place(_BEFORE, TILING, VECTOR_DISTRIBUTE)
_BEHIND_TILING = Place(_AFTER, TILING, VECTOR_DISTRIBUTE)
_FUSED_START = Place(_BEFORE, TILING, TILE_AND_FUSE)
_COPYING_START = Place(_BEFORE, TILING, frozenset({COPYING}))
_ELEMENTS = Place(_BEFORE, TILING, TILE_AND_FUSE | frozenset({COPYING}))
_ROWS = Place(_BEFORE, TILING, VECTOR_DISTRIBUTE | TILE_AND_FUSE | frozenset({COPYING}))
_CONVOLUTIONS = Place(_BEFORE, _PAD_CONVOLUTIONS, TILE_AND_FUSE)
_AS_IMAGES = Place(_BEFORE, CONVOLUTION_TO_IGEMM, TILE_AND_FUSE)
_AS_MATRICES = Place(_AFTER, CONVOLUTION_TO_IGEMM, TILE_AND_FUSE)
_DECOMPOSED = Place(_AFTER, _DECOMPOSE, VECTOR_DISTRIBUTE)
_TILED_TO_INSTRUCTIONS = Place(_AFTER, _PACK)
_STEPS_OF_TILES = Place(_BEFORE, _COALESCED_COPIES, TILE_AND_FUSE)
_LANE_TILES = Place(_AFTER, _PACK, VECTOR_DISTRIBUTE)
_BEFORE_VECTOR_ALLOCS = Place(_BEFORE, _VECTOR_ALLOC, VECTOR_DISTRIBUTE)
_INSTRUCTIONS = Place(_BEFORE, _LOWER_GPU_OPS)
_SLICES = Place(_BEFORE, _COMBINE_SOURCES, TILE_AND_FUSE)
_BUFFERS = Place(_AFTER, _BUFFERIZE)
_ANNOTATED = Place(_BEFORE, _UNROLL_LOOPS, TILE_AND_FUSE)
_TRANSPOSES = Place(_BEFORE, _VECTOR_LOWERING, TILE_AND_FUSE)
_VECTORS = Place(_BEFORE, _VECTOR_LOWERING)
_BEHIND_DISTRIBUTION = Place(_AFTER, _DISTRIBUTE, VECTOR_DISTRIBUTE)
# Vectors are flat, so that addresses are known: for `ldmatrix`, layouts are chosen here.
_FLAT = Place(_BEFORE, REINSERT, before=ReinsertSwizzleHints)
_FLAT_VECTORS = _FLAT._replace(pipelines=VECTOR_DISTRIBUTE)
# Indices are renamed before tiles get layouts, and shapes are restored before these are counted.
_UNHINTED = VECTOR_ALLOCS._replace(before=HintVectorAllocs)
_FIRST_COPIES = COPIES._replace(before=CountStockLayouts)


def _multiplies_by_lanes(function: ir.Operation) -> bool:
    """Returns whether lanes multiply tiles of ours in a function."""
    root = only_root(function)
    if root is None or root.name != ONLINE_ATTENTION:
        return is_lane_tiled_matmul(function)
    from .attention.lane_tiles import is_tiled_by_lanes

    return is_tiled_by_lanes(function)


def _lacks_mma_sync(function: ir.Operation) -> bool:
    """Returns whether the GPU of a function has no `mma.sync`."""
    return not _has_mma_sync(function)


def _has_mma_sync(function: ir.Operation) -> bool:
    """Returns whether the GPU of a function has `mma.sync`."""
    return gpu_features_of(function, None).mma_sync


def _tiles(setting: Setting) -> dict[str, Any]:
    return {
        "overlap": OverlapCopies in setting.kinds,
        "reloads": ReloadOperands in setting.kinds,
        "native_exponentials": NativeExp2 in setting.kinds,
        "larger_instructions": UseLargerInstructions in setting.kinds
        and setting.mode.retile != "off",
        "short_steps": KeepMaxima in setting.kinds,
    }


def _lane_tiles(setting: Setting) -> dict[str, Any] | None:
    if setting.reaches("fast"):
        return _tiles(setting)
    return None if setting.mode.retile == "off" else {"same_bits": True, **_tiles(setting)}


def _retile(setting: Setting) -> dict[str, Any] | None:
    if setting.mode.retile == "off":
        return None
    mode, fast = RetileMode(setting.mode.retile), setting.reaches("fast")
    return {"mode": mode, "other_order": fast, **_tiles(setting)}


def _where_retiling(setting: Setting) -> dict[str, Any] | None:
    return None if setting.mode.retile == "off" else {}


def _sharing_rows(setting: Setting) -> dict[str, Any] | None:
    if setting.mode.retile == "off":
        return None
    return {"other_order": setting.reaches("fast")}


def _overlapping(setting: Setting) -> dict[str, Any]:
    return {"overlap": OverlapCopies in setting.kinds}


def _enlarging(setting: Setting) -> dict[str, Any]:
    return {"other_tiles": setting.mode.retile != "off", **_overlapping(setting)}


def _where_faster(setting: Setting) -> dict[str, Any] | None:
    if setting.mode.retile == "off":
        return None
    return {"faster_only": setting.mode.retile != "on", **_overlapping(setting)}


def _known_too(setting: Setting) -> dict[str, Any]:
    faster = _where_faster(setting)
    return _overlapping(setting) if faster is None else {"known_sizes": True, **faster}


def _unless_fast(setting: Setting) -> dict[str, Any] | None:
    return None if setting.reaches("fast") else {}


def _rounding(setting: Setting) -> dict[str, Any]:
    return {"same_nans": not setting.reaches("fast")}


def _reductions(setting: Setting) -> dict[str, Any]:
    return {"reductions": setting.reaches("fast")}


def _renaming(setting: Setting) -> dict[str, Any]:
    return {"without_tiles": setting.reaches("fast"), **_reductions(setting)}


def _joining(setting: Setting) -> dict[str, Any]:
    return {"keep_copies": OverlapCopies in setting.kinds}


STEPS: tuple[Step, ...] = (
    Step(_CONVOLUTIONS, CheckProducts, mitigations=ALL, corrects=True),
    Step(_DISTRIBUTED_START, CheckProducts, mitigations=ALL, corrects=True),
    Step(_AS_IMAGES, GatherWindows, mitigations=ALL, corrects=True),
    Step(_AS_MATRICES, CheckProducts, mitigations=ALL, corrects=True),
    Step(_DISTRIBUTED_START, UseMatrixInstructions, _tiles, since="fast", optional=True),
    Step(_DISTRIBUTED_START, TileByLanes, _tiles, since="fast", optional=True),
    Step(_DISTRIBUTED_START, SumAllWarps, mitigations=ALL, corrects=True),
    Step(_DISTRIBUTED_START, RoundUpKeys, mitigations=ALL, corrects=True),
    Step(_COPYING_START, SearchRowsAlone, mitigations=ALL, corrects=True),
    Step(_ROWS, KeepEqualOrder, mitigations=ALL, corrects=True),
    Step(_FUSED_START, SumPackedTiles, mitigations=ALL, corrects=True),
    Step(_START, GatherReversed, mitigations=ALL, corrects=True),
    Step(_START, MergeBlockedSizes, since="fast", optional=True),
    Step(_START, TileConvolutionsByLanes, _lane_tiles, since="exact", optional=True),
    Step(_FUSED_START, TileWindows, since="fast", optional=True),
    Step(_START, TileMatmulsByLanes, _lane_tiles, since="exact", optional=True),
    Step(_START, TileDynamicMatmuls, _known_too, since="fast", optional=True),
    Step(_ROWS, ShareRows, _sharing_rows, since="exact", optional=True),
    Step(_FUSED_START, StepMaxima, since="exact", optional=True),
    Step(
        _ELEMENTS,
        TileElements,
        _where_retiling,
        since="exact",
        only=_has_mma_sync,
        optional=True,
    ),
    Step(
        _DISTRIBUTED_START,
        JoinRows,
        _where_retiling,
        since="exact",
        only=_has_mma_sync,
        optional=True,
    ),
    Step(_FUSED_START, CarryIntegers, since="exact", optional=True),
    Step(_CONVOLUTIONS, ImplicitGemm, since="exact", by_mma_sync=True, optional=True),
    Step(
        _CONVOLUTIONS,
        ImplicitGemm,
        _where_faster,
        since="fast",
        only=_lacks_mma_sync,
        optional=True,
    ),
    Step(
        _FUSED_START,
        EnlargeMatmuls,
        _where_faster,
        since="fast",
        only=_lacks_mma_sync,
        optional=True,
    ),
    # Of integers it is not known before `CarryIntegers` that they are multiplied by `mma.sync`.
    Step(
        _FUSED_START, EnlargeMatmuls, _enlarging, since="exact", only=_has_mma_sync, optional=True
    ),
    # The compiler may find that it cannot distribute a tile, in all modes.
    Step(_START, Retile, _retile, since="exact", optional=True),
    Step(_DISTRIBUTED_START, UseLargerInstructions, _where_retiling, since="fast", optional=True),
    Step(_DISTRIBUTED_START, TransposeContractions, since="fast"),
    Step(_BEHIND_TILING, AddParts, since="fast"),
    Step(_DECOMPOSED, ScaleDifferences, since="fast"),
    Step(_TILED_TO_INSTRUCTIONS, OrderFragments, mitigations=ALL, corrects=True),
    Step(_STEPS_OF_TILES, SpreadImages, since="exact", by_mma_sync=True),
    # On AMD GPUs stock's code is right, and adds in another order.
    Step(_LANE_TILES, IndexUnitLoops, mitigations=ALL, only=_has_mma_sync, corrects=True),
    Step(_LANE_TILES, IndexUnitLoops, since="fast", only=_lacks_mma_sync),
    # Keys that are rounded up in all modes are absent in all modes.
    Step(_BEFORE_VECTOR_ALLOCS, ExcludeAbsentKeys, mitigations=ALL, corrects=True),
    Step(_BEFORE_VECTOR_ALLOCS, StageOperands, since="fast"),
    Step(_UNHINTED, RenameRegisters, _renaming, since="exact", by_mma_sync=False),
    Step(_UNHINTED, ReorderKeys, since="fast", by_mma_sync=True),
    Step(_UNHINTED, DeferLaneSums, since="fast"),
    Step(_UNHINTED, TransposeTiles, since="fast", by_mma_sync=False),
    Step(_SLICES, FoldTransposes, since="exact", by_mma_sync=True, optional=True),
    Step(_SLICES, FoldTransposes, since="fast", only=_lacks_mma_sync, optional=True),
    # Right products come before equal ones: stock takes the scales of other blocks.
    Step(_FIRST_COPIES, OrderScaledOperands, mitigations=SWIZZLING | PAD, corrects=True),
    Step(_FIRST_COPIES, RestoreShapes, {"ahead": True}, since="exact"),
    Step(_FIRST_COPIES, KeepMaskBounds, mitigations=SWIZZLING | PAD, corrects=True),
    Step(_INSTRUCTIONS, MultiplyUnsigned, mitigations=ALL, corrects=True),
    Step(COPIES, RenameContractions, _reductions, since="exact", by_mma_sync=False),
    Step(_BEHIND_DISTRIBUTION, NeutralElements, mitigations=ALL, corrects=True),
    Step(_BEHIND_DISTRIBUTION, ReduceBytes, mitigations=ALL, only=_lacks_mma_sync, corrects=True),
    Step(_ANNOTATED, UnrollPrivateLoops, since="exact", by_mma_sync=True),
    Step(_ANNOTATED, UnrollWindows, since="fast"),
    Step(_BUFFERS, KeepLanesApart, mitigations=ALL, corrects=True),
    Step(_VECTORS, OrderProducts, mitigations=ALL, corrects=True),
    Step(_VECTORS, PartScatters, mitigations=ALL, only=_has_mma_sync, corrects=True),
    Step(_TRANSPOSES, TransposeBytes, since="exact", by_mma_sync=False),
    Step(_BEHIND_DISTRIBUTION, ShareCopies, since="fast", by_mma_sync=True),
    Step(_BEHIND_DISTRIBUTION, ShareCopies, since="exact", only=is_lane_tiled_matmul),
    Step(_BEHIND_DISTRIBUTION, ShareCopies, _DIRECT, since="fast", by_mma_sync=False),
    Step(_BEHIND_DISTRIBUTION, RestoreShapes, mitigations=ALL, corrects=True),
    Step(STOCK_PAD, None, since="exact", by_mma_sync=True),
    # What goes to the LDS without registers gets its layout in that form.
    Step(_FLAT_VECTORS, FormTransposeLoads, since="fast", by_mma_sync=False),
    Step(_FLAT_VECTORS, FormDirectLoads, since="fast", by_mma_sync=False),
    Step(_FLAT_VECTORS, SwizzleLdsAllocs, _DIRECT, since="fast", by_mma_sync=False),
    Step(_FLAT_VECTORS, FlattenSwizzleHints, since="fast", by_mma_sync=False),
    # Operands of `mma.sync` are read by `ldmatrix`, which gives each lane what it needs.
    Step(_FLAT, CountStockLayouts, stock, since="exact", by_mma_sync=True),
    Step(_FLAT, FormLdmatrix, since="exact", by_mma_sync=True),
    # The matrix units of Hopper read some tiles themselves, in layouts of their own.
    Step(_FLAT, ArrangeOperands, _CHOSEN, since="exact", by_mma_sync=True),
    *swizzled(_FLAT, joining=_joining, since="exact", by_mma_sync=True),
    Step(_FLAT, PadUnhintedAllocs, {}, AUTO, since="exact", by_mma_sync=True, stock_pads=True),
    Step(_FLAT, WarnUnhintedAllocs, {}, SWIZZLE, since="exact", by_mma_sync=True),
    Step(RESOLVED, OverlapCopies, since="exact"),
    Step(RESOLVED, LoadAhead, since="exact", by_mma_sync=True),
    Step(RESOLVED, FormWgmma, _CHOSEN, since="exact", by_mma_sync=True),
    Step(RESOLVED, ShareLds, since="exact", by_mma_sync=True),
    Step(RESOLVED, HoldWorkgroups, since="exact", by_mma_sync=True),
    Step(RESOLVED, LoadOperandsAhead, since="exact", by_mma_sync=True),
    Step(RESOLVED, ReloadOperands, since="exact"),
    Step(RESOLVED, OrderContractions, since="exact"),
    # The same for lanes that multiply, where they do so by tiles of ours.
    Step(RESOLVED, KeepSumOrder, _ORDERED, since="exact"),
    Step(RESOLVED, ReloadOperands, _BY_LANES, since="exact", only=_multiplies_by_lanes),
    Step(RESOLVED, OrderContractions, _BY_LANES, since="exact", only=_multiplies_by_lanes),
    Step(RESOLVED, KeepSumOrder, since="exact"),
    Step(RESOLVED, PeelLastStep, since="fast", by_mma_sync=True),
    Step(RESOLVED, PeelRows, since="exact", only=_has_mma_sync),
    Step(RESOLVED, AlignRows, since="exact", only=_has_mma_sync),
    Step(RESOLVED, LoadBeforeSums, since="exact", only=_has_mma_sync),
    # What the instructions read and how they overlap is decided on while they are known.
    Step(RESOLVED, MultiplyIntegers, since="exact", optional=True),
    Step(RESOLVED, JoinProducts, since="fast", by_mma_sync=False),
    Step(RESOLVED, KeepMaxima, since="fast"),
    Step(RESOLVED, DelayCopies, since="fast", by_mma_sync=True),
    Step(RESOLVED, SumProbabilities, since="fast", by_mma_sync=False),
    Step(RESOLVED, MixExponentials, since="fast", by_mma_sync=False),
    Step(RESOLVED, RaisePriority, since="exact", by_mma_sync=False),
    Step(RESOLVED, ShortenExponentials, _unless_fast, since="exact"),
    Step(RESOLVED, NativeExp2, since="fast"),
    Step(RESOLVED, NativeDivision, since="fast"),
    Step(RESOLVED, NativeBf16, _rounding, since="exact"),
    # Behind all that multiplies and adds.
    Step(RESOLVED, NativeFma, since="exact", only=_has_mma_sync),
    # What looks at loads and indices has done so.
    Step(RESOLVED, ShareDigits, since="exact", by_mma_sync=True),
    Step(RESOLVED, KeepLoadsEarly, since="exact", by_mma_sync=True),
    Step(RESOLVED, JoinStores, since="exact", by_mma_sync=True),
    Step(RESOLVED, HoldLoads, mitigations=ALL, only=_lacks_mma_sync, corrects=True),
    Step(RESOLVED, DefinePadding, mitigations=ALL, corrects=True),
)
"""The steps. An earlier one stands before a later one of the same place."""
