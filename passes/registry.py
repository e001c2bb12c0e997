# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every Bankwise pass, one line each."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from .accesses.align_lds_accesses import AlignLdsAccesses
from .accesses.join_lds_accesses import JoinLdsAccesses
from .accesses.verify_lds_conflicts import VerifyLdsConflicts
from .base import FunctionPass
from .contractions.rename_contractions import RenameContractions
from .contractions.transpose_bytes import TransposeBytes
from .contractions.unroll_private_loops import UnrollPrivateLoops
from .fragments.arrange_operands import ArrangeOperands
from .fragments.form_ldmatrix import FormLdmatrix
from .fragments.form_transpose_loads import FormTransposeLoads
from .fragments.form_wgmma import FormWgmma
from .fragments.join_products import JoinProducts
from .fragments.multiply_integers import MultiplyIntegers
from .fragments.multiply_unsigned import MultiplyUnsigned
from .fragments.order_contractions import OrderContractions
from .fragments.order_fragments import OrderFragments
from .fragments.order_scaled_operands import OrderScaledOperands
from .fragments.reload_operands import ReloadOperands
from .numerics.keep_maxima import KeepMaxima
from .numerics.native_bf16 import NativeBf16
from .numerics.native_exp2 import NativeExp2
from .numerics.scale_differences import ScaleDifferences
from .numerics.shorten_exponentials import ShortenExponentials
from .numerics.sum_probabilities import SumProbabilities
from .overlap.delay_copies import DelayCopies
from .overlap.form_direct_loads import FormDirectLoads
from .overlap.hold_workgroups import HoldWorkgroups
from .overlap.load_ahead import LoadAhead
from .overlap.load_operands_ahead import LoadOperandsAhead
from .overlap.mix_exponentials import MixExponentials
from .overlap.overlap_copies import OverlapCopies
from .overlap.raise_priority import RaisePriority
from .overlap.share_lds import ShareLds
from .padding.count_stock_layouts import CountStockLayouts
from .padding.pad_unhinted_allocs import PadUnhintedAllocs
from .padding.warn_unhinted_allocs import WarnUnhintedAllocs
from .registers.defer_lane_sums import DeferLaneSums
from .registers.rename_registers import RenameRegisters
from .registers.reorder_keys import ReorderKeys
from .registers.transpose_tiles import TransposeTiles
from .shapes.exclude_absent_keys import ExcludeAbsentKeys
from .shapes.fold_transposes import FoldTransposes
from .shapes.index_unit_loops import IndexUnitLoops
from .shapes.keep_mask_bounds import KeepMaskBounds
from .shapes.peel_last_step import PeelLastStep
from .shapes.restore_shapes import RestoreShapes
from .shapes.share_copies import ShareCopies
from .shapes.stage_operands import StageOperands
from .swizzles.absorb_swizzle_hints import AbsorbSwizzleHints
from .swizzles.allocate_attributions import AllocateAttributions
from .swizzles.attribute_allocations import AttributeAllocations
from .swizzles.flatten_swizzle_hints import FlattenSwizzleHints
from .swizzles.hint_vector_allocs import HintVectorAllocs
from .swizzles.reinsert_swizzle_hints import ReinsertSwizzleHints
from .swizzles.resolve_swizzle_hints import ResolveSwizzleHints
from .swizzles.swizzle_lds_allocs import SwizzleLdsAllocs
from .tiles.carry_integers import CarryIntegers
from .tiles.check_products import CheckProducts
from .tiles.enlarge_matmuls import EnlargeMatmuls
from .tiles.fold_broadcasts import FoldBroadcasts
from .tiles.implicit_gemm import ImplicitGemm
from .tiles.join_rows import JoinRows
from .tiles.merge_blocked_sizes import MergeBlockedSizes
from .tiles.pad_heads import PadHeads
from .tiles.raise_attention import RaiseAttention
from .tiles.retile import Retile
from .tiles.share_masks import ShareMasks
from .tiles.slice_strided_images import SliceStridedImages
from .tiles.specialize_sizes import SpecializeSizes
from .tiles.split_keys import SplitKeys
from .tiles.tile_by_lanes import TileByLanes
from .tiles.tile_dynamic_matmuls import TileDynamicMatmuls
from .tiles.tile_elements import TileElements
from .tiles.tile_matmuls_by_lanes import TileMatmulsByLanes
from .tiles.transpose_contractions import TransposeContractions
from .tiles.use_larger_instructions import UseLargerInstructions
from .tiles.use_matrix_instructions import UseMatrixInstructions
from .tiles.widen_sums import WidenSums

PASSES: tuple[type[FunctionPass], ...] = (
    RaiseAttention,
    PadHeads,
    SplitKeys,
    FoldBroadcasts,
    WidenSums,
    ShareMasks,
    SliceStridedImages,
    SpecializeSizes,
    CheckProducts,
    UseMatrixInstructions,
    TileByLanes,
    MergeBlockedSizes,
    TileMatmulsByLanes,
    TileDynamicMatmuls,
    TileElements,
    JoinRows,
    CarryIntegers,
    ImplicitGemm,
    EnlargeMatmuls,
    Retile,
    UseLargerInstructions,
    TransposeContractions,
    ScaleDifferences,
    OrderFragments,
    OrderScaledOperands,
    MultiplyUnsigned,
    IndexUnitLoops,
    ExcludeAbsentKeys,
    StageOperands,
    FoldTransposes,
    ShareCopies,
    RestoreShapes,
    KeepMaskBounds,
    RenameRegisters,
    ReorderKeys,
    DeferLaneSums,
    TransposeTiles,
    HintVectorAllocs,
    RenameContractions,
    UnrollPrivateLoops,
    JoinLdsAccesses,
    SwizzleLdsAllocs,
    FlattenSwizzleHints,
    CountStockLayouts,
    PadUnhintedAllocs,
    WarnUnhintedAllocs,
    FormLdmatrix,
    FormTransposeLoads,
    FormDirectLoads,
    ArrangeOperands,
    AllocateAttributions,
    AttributeAllocations,
    AbsorbSwizzleHints,
    TransposeBytes,
    ReinsertSwizzleHints,
    ResolveSwizzleHints,
    ShortenExponentials,
    JoinProducts,
    KeepMaxima,
    SumProbabilities,
    NativeExp2,
    NativeBf16,
    AlignLdsAccesses,
    MixExponentials,
    RaisePriority,
    OverlapCopies,
    DelayCopies,
    LoadAhead,
    FormWgmma,
    ShareLds,
    HoldWorkgroups,
    LoadOperandsAhead,
    ReloadOperands,
    OrderContractions,
    PeelLastStep,
    MultiplyIntegers,
    VerifyLdsConflicts,
)
"""The passes in the order of a compile."""


class NamedPipeline(NamedTuple):
    """Passes, ours and the compiler's, that one name stands for; they run on every function."""

    summary: str
    steps: tuple[str, ...]


PIPELINES: Mapping[str, NamedPipeline] = MappingProxyType(
    {
        "bankwise-layouts": NamedPipeline(
            "swizzle LDS so that it has no bank conflicts: swizzle, flatten, fold, resolve",
            (
                AllocateAttributions.name,
                f"{SwizzleLdsAllocs.name}{{warns}}",
                FlattenSwizzleHints.name,
                "iree-codegen-fold-memref-alias-ops",
                "canonicalize",
                "cse",
                ResolveSwizzleHints.name,
                AttributeAllocations.name,
                "canonicalize",
                "cse",
            ),
        )
    }
)
"""The pipelines by their textual names."""


_NEARLY = 0.05
"""How much less alike than the closest name another one may be that is suggested beside it."""


class PassNameError(ValueError):
    """A contributed pass that has the name of another one, or one that no pipeline can have."""


class UnknownPassError(ValueError):
    """A name of the `bankwise-` family that no pass has."""


_contributed: dict[str, type[FunctionPass]] = {}
_NAME = re.compile(r"[A-Za-z][\w.-]*")


def contribute_passes(kinds: Iterable[type[FunctionPass]]) -> None:
    """Lets pipelines name passes that are not ours, too.

    Raises:
        PassNameError: another pass has the name of one of them, or it is no name.
    """
    for kind in kinds:
        known = registered_passes().get(kind.name)
        if known is kind:
            continue
        if known is not None or kind.name in PIPELINES:
            raise PassNameError(f"'{kind.name}' is the name of another pass")
        if not _NAME.fullmatch(kind.name):
            raise PassNameError(f"'{kind.name}' is no name of a pass")
        _contributed[kind.name] = kind


def contributed_passes() -> dict[str, type[FunctionPass]]:
    """Returns the passes that are not ours, by their textual names."""
    return dict(_contributed)


def registered_passes() -> dict[str, type[FunctionPass]]:
    """Returns the passes by their textual names, ours in the order of a compile first."""
    return {each.name: each for each in PASSES} | _contributed


def make_pass(name: str, options: str) -> FunctionPass:
    """Makes the pass `name` with textual options.

    Raises:
        UnknownPassError: no pass has this name; the message suggests the closest ones.
        PassOptionError: an unknown option or a value of the wrong kind.
    """
    passes = registered_passes()
    if name not in passes:
        close = " or ".join(f"'{each}'" for each in _closest(name, [*passes, *PIPELINES]))
        hint = f"; did you mean {close}?" if close else ""
        raise UnknownPassError(f"'{name}' does not refer to a registered pass{hint}")
    return passes[name].from_options(options)


def _closest(name: str, passes: Iterable[str]) -> list[str]:
    """Returns the closest name of a pass, and the next one if it is nearly as close."""
    close = difflib.get_close_matches(name, passes, n=2)
    ratios = [difflib.SequenceMatcher(None, each, name).ratio() for each in close]
    return [each for each, ratio in zip(close, ratios, strict=True) if ratio > ratios[0] - _NEARLY]
