# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every pass of the levels `exact` and `fast`, one line each."""

from __future__ import annotations

from ..passes.base import FunctionPass
from .arithmetic.native_bf16 import NativeBf16
from .arithmetic.native_division import NativeDivision
from .arithmetic.native_exp2 import NativeExp2
from .arithmetic.native_fma import NativeFma
from .arithmetic.shorten_exponentials import ShortenExponentials
from .attention.defer_lane_sums import DeferLaneSums
from .attention.exclude_absent_keys import ExcludeAbsentKeys
from .attention.keep_maxima import KeepMaxima
from .attention.peel_last_step import PeelLastStep
from .attention.reorder_keys import ReorderKeys
from .attention.scale_differences import ScaleDifferences
from .attention.sum_probabilities import SumProbabilities
from .attention.tile_by_lanes import TileByLanes
from .attention.transpose_contractions import TransposeContractions
from .attention.use_larger_instructions import UseLargerInstructions
from .attention.use_matrix_instructions import UseMatrixInstructions
from .contractions.rename_contractions import RenameContractions
from .contractions.transpose_bytes import TransposeBytes
from .convolutions.implicit_gemm import ImplicitGemm
from .convolutions.slice_strided_images import SliceStridedImages
from .convolutions.tile_convolutions_by_lanes import TileConvolutionsByLanes
from .convolutions.tile_windows import TileWindows
from .convolutions.unroll_windows import UnrollWindows
from .copies.form_direct_loads import FormDirectLoads
from .copies.share_copies import ShareCopies
from .copies.share_digits import ShareDigits
from .copies.spread_images import SpreadImages
from .copies.stage_operands import StageOperands
from .elements.align_rows import AlignRows
from .elements.join_rows import JoinRows
from .elements.load_before_sums import LoadBeforeSums
from .elements.peel_rows import PeelRows
from .elements.share_rows import ShareRows
from .elements.step_maxima import StepMaxima
from .elements.tile_elements import TileElements
from .fragments.join_products import JoinProducts
from .fragments.join_stores import JoinStores
from .fragments.order_contractions import OrderContractions
from .fragments.reload_operands import ReloadOperands
from .ldmatrix.form_ldmatrix import FormLdmatrix
from .ldmatrix.form_transpose_loads import FormTransposeLoads
from .matmuls.add_parts import AddParts
from .matmuls.enlarge_matmuls import EnlargeMatmuls
from .matmuls.keep_sum_order import KeepSumOrder
from .matmuls.tile_dynamic_matmuls import TileDynamicMatmuls
from .matmuls.tile_matmuls_by_lanes import TileMatmulsByLanes
from .overlap.delay_copies import DelayCopies
from .overlap.hold_workgroups import HoldWorkgroups
from .overlap.keep_loads_early import KeepLoadsEarly
from .overlap.load_ahead import LoadAhead
from .overlap.load_operands_ahead import LoadOperandsAhead
from .overlap.mix_exponentials import MixExponentials
from .overlap.overlap_copies import OverlapCopies
from .overlap.raise_priority import RaisePriority
from .overlap.share_lds import ShareLds
from .programs.fold_broadcasts import FoldBroadcasts
from .programs.join_reductions import JoinReductions
from .programs.pad_heads import PadHeads
from .programs.raise_attention import RaiseAttention
from .programs.share_masks import ShareMasks
from .programs.specialize_sizes import SpecializeSizes
from .programs.split_keys import SplitKeys
from .programs.split_rows import SplitRows
from .programs.split_sums import SplitSums
from .registers.rename_registers import RenameRegisters
from .registers.transpose_tiles import TransposeTiles
from .retile import Retile
from .shapes.restore_shapes import RestoreShapes
from .wgmma.arrange_operands import ArrangeOperands
from .wgmma.form_wgmma import FormWgmma
from .workarounds.carry_integers import CarryIntegers
from .workarounds.check_products import CheckProducts
from .workarounds.compare_elements import CompareElements
from .workarounds.convert_arguments import ConvertArguments
from .workarounds.copy_own_parts import CopyOwnParts
from .workarounds.define_padding import DefinePadding
from .workarounds.fold_transposes import FoldTransposes
from .workarounds.gather_reversed import GatherReversed
from .workarounds.gather_windows import GatherWindows
from .workarounds.hold_loads import HoldLoads
from .workarounds.index_unit_loops import IndexUnitLoops
from .workarounds.keep_equal_order import KeepEqualOrder
from .workarounds.keep_lanes_apart import KeepLanesApart
from .workarounds.keep_mask_bounds import KeepMaskBounds
from .workarounds.keep_unsigned import KeepUnsigned
from .workarounds.merge_blocked_sizes import MergeBlockedSizes
from .workarounds.multiply_integers import MultiplyIntegers
from .workarounds.multiply_unsigned import MultiplyUnsigned
from .workarounds.neutral_elements import NeutralElements
from .workarounds.order_fragments import OrderFragments
from .workarounds.order_products import OrderProducts
from .workarounds.order_scaled_operands import OrderScaledOperands
from .workarounds.part_scatters import PartScatters
from .workarounds.reduce_bytes import ReduceBytes
from .workarounds.round_up_keys import RoundUpKeys
from .workarounds.search_rows_alone import SearchRowsAlone
from .workarounds.sum_all_warps import SumAllWarps
from .workarounds.sum_packed_tiles import SumPackedTiles
from .workarounds.unroll_private_loops import UnrollPrivateLoops
from .workarounds.widen_sums import WidenSums

PASSES: tuple[type[FunctionPass], ...] = (
    CompareElements,
    ConvertArguments,
    CopyOwnParts,
    RaiseAttention,
    PadHeads,
    SplitKeys,
    KeepUnsigned,
    SplitRows,
    SplitSums,
    FoldBroadcasts,
    JoinReductions,
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
    ShareRows,
    StepMaxima,
    PeelRows,
    AlignRows,
    LoadBeforeSums,
    CarryIntegers,
    ImplicitGemm,
    TileConvolutionsByLanes,
    TileWindows,
    UnrollWindows,
    KeepSumOrder,
    AddParts,
    EnlargeMatmuls,
    Retile,
    UseLargerInstructions,
    TransposeContractions,
    ScaleDifferences,
    OrderFragments,
    OrderScaledOperands,
    MultiplyUnsigned,
    NeutralElements,
    ReduceBytes,
    HoldLoads,
    DefinePadding,
    PartScatters,
    OrderProducts,
    IndexUnitLoops,
    ExcludeAbsentKeys,
    StageOperands,
    FoldTransposes,
    GatherReversed,
    GatherWindows,
    KeepEqualOrder,
    SumPackedTiles,
    SumAllWarps,
    RoundUpKeys,
    SearchRowsAlone,
    ShareCopies,
    SpreadImages,
    RestoreShapes,
    KeepLanesApart,
    KeepMaskBounds,
    RenameRegisters,
    ReorderKeys,
    DeferLaneSums,
    TransposeTiles,
    RenameContractions,
    UnrollPrivateLoops,
    FormLdmatrix,
    FormTransposeLoads,
    FormDirectLoads,
    ArrangeOperands,
    TransposeBytes,
    ShortenExponentials,
    JoinProducts,
    JoinStores,
    KeepMaxima,
    SumProbabilities,
    NativeExp2,
    NativeDivision,
    NativeFma,
    NativeBf16,
    MixExponentials,
    RaisePriority,
    OverlapCopies,
    DelayCopies,
    LoadAhead,
    ShareDigits,
    KeepLoadsEarly,
    FormWgmma,
    ShareLds,
    HoldWorkgroups,
    LoadOperandsAhead,
    ReloadOperands,
    OrderContractions,
    PeelLastStep,
    MultiplyIntegers,
)
"""The passes in the order of a compile."""
