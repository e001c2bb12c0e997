# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each mitigation and level splices into a codegen pipeline: one table of steps.

`compile_settings` says in a line what each mitigation and each level is for. A row of `STEPS` says
where a pass goes, and which of them it is part of. The edits of a mode follow from the table, and
so does what an earlier pass has to know of later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from iree.compiler import ir

from ..dialect_utils.gpu_target import chip_of
from ..dialect_utils.lowering_config import multiplies_by_mma_sync
from ..passes.accesses.align_lds_accesses import AlignLdsAccesses
from ..passes.accesses.join_lds_accesses import JoinLdsAccesses
from ..passes.accesses.verify_lds_conflicts import VerifyLdsConflicts
from ..passes.base import FunctionPass
from ..passes.contractions.rename_contractions import RenameContractions
from ..passes.contractions.transpose_bytes import TransposeBytes
from ..passes.contractions.unroll_private_loops import UnrollPrivateLoops
from ..passes.fragments.arrange_operands import ArrangeOperands
from ..passes.fragments.form_ldmatrix import FormLdmatrix
from ..passes.fragments.form_transpose_loads import FormTransposeLoads
from ..passes.fragments.form_wgmma import FormWgmma
from ..passes.fragments.join_products import JoinProducts
from ..passes.fragments.multiply_integers import MultiplyIntegers
from ..passes.fragments.multiply_unsigned import MultiplyUnsigned
from ..passes.fragments.order_contractions import OrderContractions
from ..passes.fragments.order_fragments import OrderFragments
from ..passes.fragments.order_scaled_operands import OrderScaledOperands
from ..passes.fragments.reload_operands import ReloadOperands
from ..passes.numerics.keep_maxima import KeepMaxima
from ..passes.numerics.native_bf16 import NativeBf16
from ..passes.numerics.native_exp2 import NativeExp2
from ..passes.numerics.scale_differences import ScaleDifferences
from ..passes.numerics.shorten_exponentials import ShortenExponentials
from ..passes.numerics.sum_probabilities import SumProbabilities
from ..passes.overlap.delay_copies import DelayCopies
from ..passes.overlap.form_direct_loads import FormDirectLoads
from ..passes.overlap.hold_workgroups import HoldWorkgroups
from ..passes.overlap.load_ahead import LoadAhead
from ..passes.overlap.load_operands_ahead import LoadOperandsAhead
from ..passes.overlap.mix_exponentials import MixExponentials
from ..passes.overlap.overlap_copies import OverlapCopies
from ..passes.overlap.raise_priority import RaisePriority
from ..passes.overlap.share_lds import ShareLds
from ..passes.padding.count_stock_layouts import CountStockLayouts
from ..passes.padding.pad_unhinted_allocs import PadUnhintedAllocs
from ..passes.padding.warn_unhinted_allocs import WarnUnhintedAllocs
from ..passes.registers.defer_lane_sums import DeferLaneSums
from ..passes.registers.rename_registers import RenameRegisters
from ..passes.registers.reorder_keys import ReorderKeys
from ..passes.registers.transpose_tiles import TransposeTiles
from ..passes.shapes.exclude_absent_keys import ExcludeAbsentKeys
from ..passes.shapes.fold_transposes import FoldTransposes
from ..passes.shapes.index_unit_loops import IndexUnitLoops
from ..passes.shapes.keep_mask_bounds import KeepMaskBounds
from ..passes.shapes.peel_last_step import PeelLastStep
from ..passes.shapes.restore_shapes import RestoreShapes
from ..passes.shapes.share_copies import ShareCopies
from ..passes.shapes.stage_operands import StageOperands
from ..passes.swizzles.absorb_swizzle_hints import AbsorbSwizzleHints
from ..passes.swizzles.flatten_swizzle_hints import FlattenSwizzleHints
from ..passes.swizzles.hint_vector_allocs import HintVectorAllocs
from ..passes.swizzles.reinsert_swizzle_hints import ReinsertSwizzleHints
from ..passes.swizzles.resolve_swizzle_hints import ResolveSwizzleHints
from ..passes.swizzles.swizzle_lds_allocs import SwizzleLdsAllocs
from ..passes.tiles.carry_integers import CarryIntegers
from ..passes.tiles.check_products import CheckProducts
from ..passes.tiles.enlarge_matmuls import EnlargeMatmuls
from ..passes.tiles.implicit_gemm import ImplicitGemm
from ..passes.tiles.join_rows import JoinRows
from ..passes.tiles.lane_matmuls import is_lane_tiled_matmul
from ..passes.tiles.lane_tiles import is_tiled_by_lanes
from ..passes.tiles.merge_blocked_sizes import MergeBlockedSizes
from ..passes.tiles.retile import Retile, RetileMode
from ..passes.tiles.tile_by_lanes import TileByLanes
from ..passes.tiles.tile_dynamic_matmuls import TileDynamicMatmuls
from ..passes.tiles.tile_elements import TileElements
from ..passes.tiles.tile_matmuls_by_lanes import TileMatmulsByLanes
from ..passes.tiles.transpose_contractions import TransposeContractions
from ..passes.tiles.use_larger_instructions import UseLargerInstructions
from ..passes.tiles.use_matrix_instructions import UseMatrixInstructions
from .compile_settings import LEVELLED, LEVELS, MITIGATIONS, Mode
from .pipeline_edit import CODEGEN_PIPELINES, COPYING, LOWERED, TILING, PipelineEdit, Position
from .recording import RESOLVE_SWIZZLE_HINTS as _RESOLVE

STOCK_PAD_PASS = "iree-codegen-gpu-reduce-bank-conflicts"
_PAD_CONVOLUTIONS = "iree-codegen-gpu-pad-convs"
_TO_IGEMM = "iree-codegen-convolution-to-igemm"
_DECOMPOSE = "iree-linalg-ext-decompose-attention"
_PACK = "iree-codegen-gpu-pack-to-intrinsics"
_COMBINE_SOURCES = "iree-codegen-combine-source-layout-transformation"
_VECTOR_ALLOC = "iree-codegen-gpu-vector-alloc"
_VECTORIZE_COPIES = "iree-codegen-vectorize-memref-copy"
_UNROLL_LOOPS = "iree-codegen-unroll-annotated-loops"
_DISTRIBUTE = "iree-llvmgpu-vector-distribute"
_LOWER_GPU_OPS = "iree-gpu-lower-ops"
_VECTOR_LOWERING = "iree-llvmgpu-vector-lowering"
_ABSORB = "iree-codegen-absorb-swizzle-hint-to-alloc"
_REINSERT = "iree-codegen-reinsert-swizzle-hints"
_MAY_BE_MISSING = (STOCK_PAD_PASS, _ABSORB, _TO_IGEMM)
"""A kernel may have the padding switched off, only pipelines that prefetch stow hints, and only
some convolutions become products of matrices."""

_VECTOR_DISTRIBUTE = frozenset({"VectorDistribute"})
_TILE_AND_FUSE = frozenset({"TileAndFuse"})
_COPYING = frozenset({COPYING})
_LOWERED = frozenset({LOWERED})

_AUTO, _SWIZZLE, _PAD, _NONE = (frozenset({name}) for name in ("auto", "swizzle", "pad", "none"))
_SWIZZLING = frozenset(LEVELLED)
_ALL = _SWIZZLING | _PAD | _NONE
"""All mitigations of ours: what is wrong in stock is right in each of them."""
_COUNTED = _SWIZZLING | _PAD
"""The mitigations whose layouts are compared with stock's."""


class Place(NamedTuple):
    """Where passes go in the pipelines of some kinds."""

    position: Position
    anchor: str
    pipelines: frozenset[str] = CODEGEN_PIPELINES


class Setting(NamedTuple):
    """What the options of a pass depend on.

    Attributes:
        mode: the mode of the compile.
        stock_pads: whether the pipeline pads allocations, unless something takes the place of that.
    """

    mode: Mode
    stock_pads: bool

    def runs(self, kind: type[FunctionPass]) -> bool:
        """Returns whether a pass of this kind is part of the mode."""
        return any(step.kind is kind for step in _steps_of(self.mode))

    @property
    def is_fast(self) -> bool:
        """Returns whether outputs need only be right to rounding."""
        return _reaches(self.mode, "fast")


Options = Callable[[Setting], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Step:
    """A pass, where it goes, and when.

    Attributes:
        place: where it goes; steps of the same place run in the order of the table.
        kind: the class of the pass. None puts nothing in the place of the anchor.
        options: the fields of the pass that do not have their usual values, or a function that
            returns them; None for no pass.
        mitigations: those that it is part of.
        since: the first level that it is part of; it is part of the later ones too.
        by_mma_sync: whether it is for functions that multiply by `mma.sync`, or for all others.
            None says for all. Where no step of a mode is for the former, they count as others.
        only: tells for which functions it is, where that is another question.
        stock_pads: whether it is for pipelines that pad allocations, or for those that do not. None
            says for both.
        optional: whether a function can do without it in all modes. In the mode `auto` it can do
            without most of them; what other modes are asked for by name is done, or is an error.
        corrects: whether outputs would be wrong without it, so that no function does.
    """

    place: Place
    kind: type[FunctionPass] | None
    options: Options | Mapping[str, Any] = field(default_factory=dict)
    mitigations: frozenset[str] = _SWIZZLING
    since: str = "layout"
    by_mma_sync: bool | None = None
    only: Callable[[ir.Operation], bool] | None = None
    stock_pads: bool | None = None
    optional: bool = False
    corrects: bool = False

    def edits(self, mode: Mode, *, tells_apart: bool) -> Iterator[PipelineEdit]:
        """Yields the edits that make the step.

        Args:
            tells_apart: whether functions that multiply by `mma.sync` have steps of their own.
        """
        only = self.only
        if tells_apart and only is None:
            only = _multiplying(self.by_mma_sync)
        settings = [
            Setting(mode, pads) for pads in (True, False) if self.stock_pads in (None, pads)
        ]
        made = {each.stock_pads: self._passes(each) for each in settings}
        depends = len({*made.values()}) > 1 or len(made) == 1
        for pads, passes in made.items() if depends else [*made.items()][:1]:
            if passes is not None:
                yield PipelineEdit(
                    self.place.anchor,
                    self.place.position,
                    passes,
                    self.place.pipelines,
                    required=self.place.anchor not in _MAY_BE_MISSING,
                    beside=STOCK_PAD_PASS if depends and pads else "",
                    without=STOCK_PAD_PASS if depends and not pads else "",
                    only=only,
                    optional=not self.corrects and (self.optional or mode.mitigation == "auto"),
                )

    def _passes(self, setting: Setting) -> tuple[FunctionPass, ...] | None:
        """Returns what goes to the place; None where the place stays as it is."""
        if self.kind is None:
            return ()
        options = self.options(setting) if callable(self.options) else self.options
        return None if options is None else (self.kind(**options),)


def _multiplying(by_mma_sync: bool | None) -> Callable[[ir.Operation], bool] | None:
    """Returns what tells the functions that multiply by `mma.sync`, or those that do not.

    Args:
        by_mma_sync: which of them; None for all functions, about which nothing is to be told.
    """
    return None if by_mma_sync is None else _MULTIPLYING[by_mma_sync]


def _multiplies_otherwise(function: ir.Operation) -> bool:
    return not multiplies_by_mma_sync(function)


def _multiplies_by_lanes(function: ir.Operation) -> bool:
    """Returns whether lanes multiply tiles of ours in a function."""
    return is_tiled_by_lanes(function) or is_lane_tiled_matmul(function)


def _has_mma_sync(function: ir.Operation) -> bool:
    """Returns whether the GPU of a function has `mma.sync`."""
    chip = chip_of(function, None)
    return chip is not None and chip.mma_sync


_MULTIPLYING = {True: multiplies_by_mma_sync, False: _multiplies_otherwise}


def _tiles(setting: Setting) -> dict[str, Any]:
    return {
        "overlap": setting.runs(OverlapCopies),
        "reloads": setting.runs(ReloadOperands),
        "native_exponentials": setting.runs(NativeExp2),
        "larger_instructions": setting.runs(UseLargerInstructions) and setting.mode.retile != "off",
        "short_steps": setting.runs(KeepMaxima),
    }


def _retile(setting: Setting) -> dict[str, Any] | None:
    if setting.mode.retile == "off":
        return None
    mode, fast = RetileMode(setting.mode.retile), setting.is_fast
    return {"mode": mode, "other_order": fast, **_tiles(setting)}


def _where_retiling(setting: Setting) -> dict[str, Any] | None:
    return None if setting.mode.retile == "off" else {}


def _overlapping(setting: Setting) -> dict[str, Any]:
    return {"overlap": setting.runs(OverlapCopies)}


def _enlarging(setting: Setting) -> dict[str, Any]:
    return {"other_tiles": setting.mode.retile != "off", **_overlapping(setting)}


def _unless_fast(setting: Setting) -> dict[str, Any] | None:
    return None if setting.is_fast else {}


def _rounding(setting: Setting) -> dict[str, Any]:
    return {"same_nans": not setting.is_fast}


def _reductions(setting: Setting) -> dict[str, Any]:
    return {"reductions": setting.is_fast}


def _renaming(setting: Setting) -> dict[str, Any]:
    return {"without_tiles": setting.is_fast, **_reductions(setting)}


def _padding(setting: Setting) -> dict[str, Any]:
    return {"defer_to_padding": setting.mode.mitigation == "auto" and setting.stock_pads}


def _stock(setting: Setting) -> dict[str, Any]:
    return {"padded": setting.stock_pads}


def _rest(setting: Setting) -> dict[str, Any]:
    return {**_stock(setting), "rest_only": True}


def _early(setting: Setting) -> dict[str, Any]:
    return {**_padding(setting), "share_addresses": setting.runs(RenameContractions)}


def _unhinted(setting: Setting) -> dict[str, Any]:
    return {**_padding(setting), "unhinted_only": True}


def _joining(setting: Setting) -> dict[str, Any]:
    return {"keep_copies": setting.runs(OverlapCopies)}


def _swizzled(place: Place, options: Options = _padding, **when: Any) -> tuple[Step, ...]:
    """Returns the steps that swizzle the allocations of flat or bufferized vectors."""
    joining: Options | Mapping[str, Any] = _joining if when.get("by_mma_sync") else {}
    return (
        Step(place, JoinLdsAccesses, joining, **when),
        Step(place, SwizzleLdsAllocs, options, **when),
        Step(place, FlattenSwizzleHints, **when),
    )


_BY_LANES = {"by_lanes": True}
_CHOSEN = {"chosen_only": True}
_DIRECT = {"direct": True}
_BEFORE, _AFTER, _REPLACE = Position.BEFORE, Position.AFTER, Position.REPLACE
_START = Place(_BEFORE, TILING)
_DISTRIBUTED_START = Place(_BEFORE, TILING, _VECTOR_DISTRIBUTE)
_FUSED_START = Place(_BEFORE, TILING, _TILE_AND_FUSE)
_ELEMENTS = Place(_BEFORE, TILING, _TILE_AND_FUSE | _COPYING)
_CONVOLUTIONS = Place(_BEFORE, _PAD_CONVOLUTIONS, _TILE_AND_FUSE)
_AS_MATRICES = Place(_AFTER, _TO_IGEMM, _TILE_AND_FUSE)
_DECOMPOSED = Place(_AFTER, _DECOMPOSE, _VECTOR_DISTRIBUTE)
_TILED_TO_INSTRUCTIONS = Place(_AFTER, _PACK)
_LANE_TILES = Place(_AFTER, _PACK, _VECTOR_DISTRIBUTE)
_BEFORE_VECTOR_ALLOCS = Place(_BEFORE, _VECTOR_ALLOC, _VECTOR_DISTRIBUTE)
_VECTOR_ALLOCS = Place(_AFTER, _VECTOR_ALLOC, _VECTOR_DISTRIBUTE)
_INSTRUCTIONS = Place(_BEFORE, _LOWER_GPU_OPS)
_SLICES = Place(_BEFORE, _COMBINE_SOURCES, _TILE_AND_FUSE)
_COPIES = Place(_AFTER, _VECTORIZE_COPIES, _TILE_AND_FUSE)
_ANNOTATED = Place(_BEFORE, _UNROLL_LOOPS, _TILE_AND_FUSE)
# Right before the loop-invariant code motion that precedes the padding.
_UNROLLED = Place(_AFTER, _UNROLL_LOOPS, _TILE_AND_FUSE)
_TRANSPOSES = Place(_BEFORE, _VECTOR_LOWERING, _TILE_AND_FUSE)
_DISTRIBUTION = Place(_BEFORE, _DISTRIBUTE, _VECTOR_DISTRIBUTE)
_BEHIND_DISTRIBUTION = Place(_AFTER, _DISTRIBUTE, _VECTOR_DISTRIBUTE)
# What distribution allocates, for reductions across subgroups, is there from here on.
_DISTRIBUTED = Place(_BEFORE, STOCK_PAD_PASS, _VECTOR_DISTRIBUTE)
_DISTRIBUTED_UNPADDED = Place(_AFTER, _LOWER_GPU_OPS, _VECTOR_DISTRIBUTE)
_LOWERED_START = Place(_BEFORE, _VECTOR_LOWERING, _LOWERED)
_STOCK_PAD = Place(_REPLACE, STOCK_PAD_PASS)
# Vectors are flat, so that addresses are known: for `ldmatrix`, layouts are chosen here.
_FLAT = Place(_BEFORE, _REINSERT)
_FLAT_VECTORS = Place(_BEFORE, _REINSERT, _VECTOR_DISTRIBUTE)
# Alignments are known behind the layouts, and arithmetic is not expanded yet.
_RESOLVED = Place(_AFTER, _RESOLVE, CODEGEN_PIPELINES | _LOWERED)

STEPS: tuple[Step, ...] = (
    Step(_CONVOLUTIONS, CheckProducts, mitigations=_ALL, corrects=True),
    Step(_DISTRIBUTED_START, CheckProducts, mitigations=_ALL, corrects=True),
    Step(_AS_MATRICES, CheckProducts, mitigations=_ALL, corrects=True),
    Step(_DISTRIBUTED_START, UseMatrixInstructions, _tiles, since="fast", optional=True),
    Step(_DISTRIBUTED_START, TileByLanes, _tiles, since="fast", optional=True),
    Step(_START, MergeBlockedSizes, since="fast", optional=True),
    Step(_START, TileMatmulsByLanes, _tiles, since="fast", optional=True),
    Step(_START, TileDynamicMatmuls, _overlapping, since="fast", optional=True),
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
    # Of integers it is not known before `CarryIntegers` that they are multiplied by `mma.sync`.
    Step(
        _FUSED_START, EnlargeMatmuls, _enlarging, since="exact", only=_has_mma_sync, optional=True
    ),
    # The compiler may find that it cannot distribute a tile, in all modes.
    Step(_START, Retile, _retile, since="exact", optional=True),
    Step(_DISTRIBUTED_START, UseLargerInstructions, _where_retiling, since="fast", optional=True),
    Step(_DISTRIBUTED_START, TransposeContractions, since="fast"),
    Step(_DECOMPOSED, ScaleDifferences, since="fast"),
    Step(_TILED_TO_INSTRUCTIONS, OrderFragments, since="exact", by_mma_sync=True),
    Step(_LANE_TILES, IndexUnitLoops, since="exact", optional=True),
    Step(_BEFORE_VECTOR_ALLOCS, ExcludeAbsentKeys, since="fast"),
    Step(_BEFORE_VECTOR_ALLOCS, StageOperands, since="fast"),
    # Register layouts, and the memory layouts of what a pipeline allocates before it prefetches.
    Step(
        _VECTOR_ALLOCS, CountStockLayouts, _stock, mitigations=_SWIZZLING | _PAD, by_mma_sync=False
    ),
    Step(_VECTOR_ALLOCS, RenameRegisters, _renaming, since="exact", by_mma_sync=False),
    Step(_VECTOR_ALLOCS, ReorderKeys, since="fast", by_mma_sync=True),
    Step(_VECTOR_ALLOCS, DeferLaneSums, since="fast"),
    Step(_VECTOR_ALLOCS, TransposeTiles, since="fast", by_mma_sync=False),
    Step(_VECTOR_ALLOCS, HintVectorAllocs, _padding, by_mma_sync=False),
    Step(_SLICES, FoldTransposes, since="exact", by_mma_sync=True, optional=True),
    # Right products come before equal ones: stock takes the scales of other blocks.
    Step(_COPIES, OrderScaledOperands, mitigations=_SWIZZLING | _PAD, corrects=True),
    Step(_COPIES, RestoreShapes, since="exact"),
    Step(_COPIES, KeepMaskBounds, mitigations=_SWIZZLING | _PAD, corrects=True),
    Step(_INSTRUCTIONS, MultiplyUnsigned, mitigations=_ALL, corrects=True),
    Step(_COPIES, CountStockLayouts, _stock, _COUNTED, by_mma_sync=False),
    Step(_COPIES, RenameContractions, _reductions, since="exact", by_mma_sync=False),
    Step(_ANNOTATED, UnrollPrivateLoops, since="exact", by_mma_sync=True),
    *_swizzled(_UNROLLED, _early, by_mma_sync=False),
    Step(_TRANSPOSES, TransposeBytes, since="exact", by_mma_sync=False),
    Step(_DISTRIBUTION, FlattenSwizzleHints, by_mma_sync=False),
    Step(_BEHIND_DISTRIBUTION, ShareCopies, since="fast", by_mma_sync=True),
    Step(_BEHIND_DISTRIBUTION, ShareCopies, _DIRECT, since="fast", by_mma_sync=False),
    Step(_BEHIND_DISTRIBUTION, RestoreShapes, since="fast"),
    # The layouts of what is allocated later, and of functions that come lowered.
    Step(
        _DISTRIBUTED,
        CountStockLayouts,
        _rest,
        mitigations=_SWIZZLING | _PAD,
        by_mma_sync=False,
        stock_pads=True,
    ),
    *_swizzled(_DISTRIBUTED, _unhinted, by_mma_sync=False, stock_pads=True),
    Step(
        _DISTRIBUTED_UNPADDED,
        CountStockLayouts,
        _rest,
        mitigations=_SWIZZLING | _PAD,
        by_mma_sync=False,
        stock_pads=False,
    ),
    *_swizzled(_DISTRIBUTED_UNPADDED, _unhinted, by_mma_sync=False, stock_pads=False),
    Step(_LOWERED_START, CountStockLayouts, {"padded": False}, _COUNTED),
    *_swizzled(_LOWERED_START, by_mma_sync=False),
    Step(_LOWERED_START, PadUnhintedAllocs, mitigations=_PAD),
    # Stock pads none of these: only what was to be swizzled, and cannot be, is.
    Step(_LOWERED_START, PadUnhintedAllocs, {"unresolved_only": True}, _AUTO),
    # In the place of stock's padding.
    Step(_STOCK_PAD, PadUnhintedAllocs, mitigations=_AUTO | _PAD, by_mma_sync=False),
    Step(_STOCK_PAD, WarnUnhintedAllocs, mitigations=_SWIZZLE, by_mma_sync=False),
    Step(_STOCK_PAD, None, mitigations=_NONE),
    Step(_STOCK_PAD, None, since="exact", by_mma_sync=True),
    # What goes to the LDS without registers gets its layout in that form.
    Step(_FLAT_VECTORS, FormTransposeLoads, since="fast", by_mma_sync=False),
    Step(_FLAT_VECTORS, FormDirectLoads, since="fast", by_mma_sync=False),
    Step(_FLAT_VECTORS, SwizzleLdsAllocs, _DIRECT, since="fast", by_mma_sync=False),
    Step(_FLAT_VECTORS, FlattenSwizzleHints, since="fast", by_mma_sync=False),
    # Operands of `mma.sync` are read by `ldmatrix`, which gives each lane what it needs.
    Step(_FLAT, CountStockLayouts, _stock, since="exact", by_mma_sync=True),
    Step(_FLAT, FormLdmatrix, since="exact", by_mma_sync=True),
    # The matrix units of Hopper read some tiles themselves, in layouts of their own.
    Step(_FLAT, ArrangeOperands, _CHOSEN, since="exact", by_mma_sync=True),
    *_swizzled(_FLAT, since="exact", by_mma_sync=True),
    Step(_FLAT, PadUnhintedAllocs, {}, _AUTO, since="exact", by_mma_sync=True, stock_pads=True),
    Step(_FLAT, WarnUnhintedAllocs, {}, _SWIZZLE, since="exact", by_mma_sync=True),
    # Hints are treated in the place of stock's passes.
    Step(Place(_REPLACE, _ABSORB, _VECTOR_DISTRIBUTE), AbsorbSwizzleHints),
    Step(Place(_REPLACE, _REINSERT, _VECTOR_DISTRIBUTE | _LOWERED), ReinsertSwizzleHints),
    Step(Place(_REPLACE, _RESOLVE, _VECTOR_DISTRIBUTE), ResolveSwizzleHints, {"one_layout": True}),
    # Hints in a lowered function are its writer's: stock would drop some that are sound.
    Step(Place(_REPLACE, _RESOLVE, _LOWERED), ResolveSwizzleHints),
    # Here hints may be stock's own, for direct loads to LDS: stock's passes stay for them.
    Step(Place(_BEFORE, _ABSORB, _TILE_AND_FUSE), AbsorbSwizzleHints, {"only_own": True}),
    Step(Place(_BEFORE, _REINSERT, _TILE_AND_FUSE), ReinsertSwizzleHints, {"only_own": True}),
    Step(
        Place(_BEFORE, _RESOLVE, _TILE_AND_FUSE),
        ResolveSwizzleHints,
        {"only_own": True, "one_layout": True},
    ),
    # What is done to tiles whose layouts are resolved, and to flat vectors.
    Step(_RESOLVED, AlignLdsAccesses, mitigations=_SWIZZLING | _PAD),
    Step(_RESOLVED, OverlapCopies, since="exact"),
    Step(_RESOLVED, LoadAhead, since="exact", by_mma_sync=True),
    Step(_RESOLVED, FormWgmma, _CHOSEN, since="exact", by_mma_sync=True),
    Step(_RESOLVED, ShareLds, since="exact", by_mma_sync=True),
    Step(_RESOLVED, HoldWorkgroups, since="exact", by_mma_sync=True),
    Step(_RESOLVED, LoadOperandsAhead, since="exact", by_mma_sync=True),
    Step(_RESOLVED, ReloadOperands, since="exact"),
    Step(_RESOLVED, OrderContractions, since="exact"),
    # The same for lanes that multiply, where they do so by tiles of ours.
    Step(_RESOLVED, ReloadOperands, _BY_LANES, since="fast", only=_multiplies_by_lanes),
    Step(_RESOLVED, OrderContractions, _BY_LANES, since="fast", only=_multiplies_by_lanes),
    Step(_RESOLVED, PeelLastStep, since="fast", by_mma_sync=True),
    # What the instructions read and how they overlap is decided on while they are known.
    Step(_RESOLVED, MultiplyIntegers, since="exact", optional=True),
    Step(_RESOLVED, JoinProducts, since="fast", by_mma_sync=False),
    Step(_RESOLVED, KeepMaxima, since="fast"),
    Step(_RESOLVED, DelayCopies, since="fast", by_mma_sync=True),
    Step(_RESOLVED, SumProbabilities, since="fast", by_mma_sync=False),
    Step(_RESOLVED, MixExponentials, since="fast", by_mma_sync=False),
    Step(_RESOLVED, RaisePriority, since="exact", by_mma_sync=False),
    Step(_RESOLVED, ShortenExponentials, _unless_fast, since="exact"),
    Step(_RESOLVED, NativeExp2, since="fast"),
    Step(_RESOLVED, NativeBf16, _rounding, since="exact"),
)
"""The steps of all modes. An earlier one stands before a later one of the same place."""


def _reaches(mode: Mode, level: str) -> bool:
    """Returns whether a mode does what a level does."""
    ranks = {name: rank for rank, name in enumerate(LEVELS)}
    return ranks[mode.level] >= ranks[level]


def _steps_of(mode: Mode) -> list[Step]:
    """Returns the steps of a mode.

    Raises:
        KeyError: a part of the mode does not exist.
    """
    if mode.mitigation not in MITIGATIONS:
        raise KeyError(mode.mitigation)
    return [
        step for step in STEPS if mode.mitigation in step.mitigations and _reaches(mode, step.since)
    ]


def mitigation_edits(mode: Mode) -> list[PipelineEdit]:
    """Returns the edits of a mode, in the order in which they are made.

    Raises:
        KeyError: a part of the mode does not exist.
    """
    steps = _steps_of(mode)
    tells_apart = any(step.by_mma_sync for step in steps)
    before, after, instead = (
        [each for each in steps if each.place.position is position]
        for position in (_BEFORE, _AFTER, _REPLACE)
    )
    # Each edit puts its passes next to the anchor, which has to be there still.
    made = (*before, *reversed(after), *instead)
    return [edit for step in made for edit in step.edits(mode, tells_apart=tells_apart)]


def verifying_edits() -> list[PipelineEdit]:
    """Returns the edits that fail a compile with bank conflicts; they are made first.

    They look at the resolved offsets, which go to the backend as they are.
    """
    place, verify = _RESOLVED, VerifyLdsConflicts()
    return [PipelineEdit.after(place.anchor, verify, pipelines=place.pipelines, required=True)]
