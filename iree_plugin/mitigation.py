# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each mitigation splices into a codegen pipeline.

`compile_settings.MITIGATIONS` says in a line what each mode is for; `MODES` below lists what it
changes in the pipelines of VectorDistribute, TileAndFuse and lowered functions. A new mode is one
entry in each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from iree.compiler import ir

from ..dialect_utils.operations import attributes_of, operations_in
from ..passes.accesses.align_lds_accesses import AlignLdsAccesses
from ..passes.accesses.join_lds_accesses import JoinLdsAccesses
from ..passes.accesses.verify_lds_conflicts import VerifyLdsConflicts
from ..passes.base import FunctionPass
from ..passes.contractions.rename_contractions import RenameContractions
from ..passes.contractions.transpose_bytes import TransposeBytes
from ..passes.fragments.form_ldmatrix import FormLdmatrix
from ..passes.fragments.order_products import OrderProducts
from ..passes.fragments.reload_operands import ReloadOperands
from ..passes.numerics.native_bf16 import NativeBf16
from ..passes.numerics.native_exp2 import NativeExp2
from ..passes.overlap.overlap_copies import OverlapCopies
from ..passes.padding.pad_unhinted_allocs import PadUnhintedAllocs
from ..passes.padding.warn_unhinted_allocs import WarnUnhintedAllocs
from ..passes.registers.defer_lane_sums import DeferLaneSums
from ..passes.registers.rename_registers import RenameRegisters
from ..passes.swizzles.absorb_swizzle_hints import AbsorbSwizzleHints
from ..passes.swizzles.flatten_swizzle_hints import FlattenSwizzleHints
from ..passes.swizzles.hint_vector_allocs import HintVectorAllocs
from ..passes.swizzles.reinsert_swizzle_hints import ReinsertSwizzleHints
from ..passes.swizzles.resolve_swizzle_hints import ResolveSwizzleHints
from ..passes.swizzles.swizzle_lds_allocs import SwizzleLdsAllocs
from ..passes.tiles.retile import Retile, RetileMode
from ..passes.tiles.transpose_products import TransposeProducts
from .compile_settings import Mode
from .pipeline_edit import CODEGEN_PIPELINES, LOWERED, PipelineEdit, Position
from .recording import RESOLVE_SWIZZLE_HINTS

STOCK_PAD_PASS = "iree-codegen-gpu-reduce-bank-conflicts"
_FIRST = "iree-codegen-tile-and-distribute-to-workgroups-using-forall-op"
_VECTOR_ALLOC = "iree-codegen-gpu-vector-alloc"
_VECTORIZE_COPIES = "iree-codegen-vectorize-memref-copy"
_UNROLL_LOOPS = "iree-codegen-unroll-annotated-loops"
_DISTRIBUTE = "iree-llvmgpu-vector-distribute"
_LOWER_GPU_OPS = "iree-gpu-lower-ops"
_VECTOR_LOWERING = "iree-llvmgpu-vector-lowering"
_ABSORB = "iree-codegen-absorb-swizzle-hint-to-alloc"
_REINSERT = "iree-codegen-reinsert-swizzle-hints"

_VECTOR_DISTRIBUTE = frozenset({"VectorDistribute"})
_TILE_AND_FUSE = frozenset({"TileAndFuse"})
_LOWERED = frozenset({LOWERED})
_EVERY = CODEGEN_PIPELINES | _LOWERED


@dataclass(frozen=True)
class Level:
    """What a mode that swizzles may do besides.

    Attributes:
        tiling: chooses the tile of a workgroup, before all other passes; None leaves it to stock.
        configuring: passes on the configured function, before its pipeline runs.
        renaming: passes that change the register layouts of vectors, right before memory layouts
            are chosen.
        products: passes that change those of matrix products whose lanes are known already.
        lowering: passes on what these leave, before vectors are lowered.
        matrices: whether operands of `mma.sync` are read by `ldmatrix`, which gives each lane what
            it needs; then nothing is renamed.
        summing: passes in the place of `renaming` in functions whose operands are read so.
        tiles: passes on tiles whose layouts are resolved.
        arithmetic: passes on flat vectors, before IREE expands their arithmetic.
    """

    tiling: Retile | None = None
    configuring: tuple[FunctionPass, ...] = ()
    renaming: tuple[FunctionPass, ...] = ()
    products: tuple[FunctionPass, ...] = ()
    lowering: tuple[FunctionPass, ...] = ()
    matrices: bool = False
    summing: tuple[FunctionPass, ...] = ()
    tiles: tuple[FunctionPass, ...] = ()
    arithmetic: tuple[FunctionPass, ...] = ()


_BEFORE, _AFTER, _REPLACE = Position.BEFORE, Position.AFTER, Position.REPLACE


def mitigation_edits(mode: Mode) -> list[PipelineEdit]:
    """Returns the edits of a mode, in the order in which they are made.

    Raises:
        KeyError: a part of the mode does not exist.
    """
    level = _LEVELS[mode.level]
    return list(MODES[mode.mitigation](replace(level, tiling=_tiling(level, mode.retile))))


def _tiling(level: Level, retile: str) -> Retile | None:
    if level.tiling is None or retile == "off":
        return None
    return replace(level.tiling, mode=RetileMode(retile))


def verifying_edits() -> list[PipelineEdit]:
    """Returns the edits that fail a compile with bank conflicts; they are made first.

    They look at the resolved offsets, which go to the backend as they are.
    """
    return [_edit(_EVERY, _AFTER, RESOLVE_SWIZZLE_HINTS, VerifyLdsConflicts())]


def _edit(
    pipelines: frozenset[str],
    position: Position,
    anchor: str,
    *passes: FunctionPass,
    required: bool = True,
    beside: str = "",
    without: str = "",
) -> PipelineEdit:
    return PipelineEdit(
        anchor, position, passes, pipelines, required=required, beside=beside, without=without
    )


def _auto(level: Level) -> list[PipelineEdit]:
    usual = [
        *_products(level),
        # A kernel may have the padding switched off; then nothing can be left to it.
        *_swizzled_early(level, defer_to_padding=True, beside=STOCK_PAD_PASS),
        *_swizzled_early(level, defer_to_padding=False, without=STOCK_PAD_PASS),
        *_swizzled_late(defer_to_padding=True),
        *_instead_of_padding(PadUnhintedAllocs()),
    ]
    late = (SwizzleLdsAllocs(defer_to_padding=True), FlattenSwizzleHints(), PadUnhintedAllocs())
    matrices = [
        *_read_as_matrices(level, *late, beside=STOCK_PAD_PASS),
        *_read_as_matrices(
            level, SwizzleLdsAllocs(), FlattenSwizzleHints(), without=STOCK_PAD_PASS
        ),
    ]
    edits = [
        *_around_layouts(level),
        *_by_operands(level, usual, matrices),
        *_hints_resolved(),
    ]
    # What the other modes are asked for by name is done, or is an error.
    return [replace(edit, optional=True) for edit in edits]


def _swizzle(level: Level) -> list[PipelineEdit]:
    usual = [
        *_products(level),
        *_swizzled_early(level, defer_to_padding=False),
        *_swizzled_late(defer_to_padding=False),
        *_instead_of_padding(WarnUnhintedAllocs()),
    ]
    late = (SwizzleLdsAllocs(), FlattenSwizzleHints(), WarnUnhintedAllocs())
    matrices = _read_as_matrices(level, *late)
    return [
        *_around_layouts(level),
        *_by_operands(level, usual, matrices),
        *_hints_resolved(),
    ]


def _pad(level: Level) -> list[PipelineEdit]:
    return [
        *_around_layouts(Level()),
        _edit(_LOWERED, _BEFORE, _VECTOR_LOWERING, PadUnhintedAllocs()),
        *_instead_of_padding(PadUnhintedAllocs()),
    ]


MODES: dict[str, Callable[[Level], Sequence[PipelineEdit]]] = {
    "auto": _auto,
    "swizzle": _swizzle,
    "pad": _pad,
    "none": lambda level: _instead_of_padding(),
    "stock": lambda level: [],
}
"""The edits of every mode, in the order in which they are made. The modes that swizzle get what
else the level lets them do."""

_LEVELS: dict[str, Level] = {
    "layout": Level(),
    "exact": Level(
        tiling=Retile(),
        renaming=(RenameRegisters(),),
        products=(RenameContractions(),),
        lowering=(TransposeBytes(),),
        tiles=(OverlapCopies(), ReloadOperands(), OrderProducts()),
        matrices=True,
    ),
    "fast": Level(
        Retile(other_keys=True, native_exponentials=True),
        (TransposeProducts(),),
        (RenameRegisters(reductions=True), DeferLaneSums()),
        (RenameContractions(reductions=True),),
        (TransposeBytes(),),
        matrices=True,
        summing=(DeferLaneSums(),),
        tiles=(OverlapCopies(), ReloadOperands(), OrderProducts()),
        arithmetic=(NativeExp2(), NativeBf16()),
    ),
}
"""What every level of `compile_settings.LEVELS` does before tiles are swizzled."""


# What the modes are made of.


def _by_operands(
    level: Level, usual: Sequence[PipelineEdit], matrices: Sequence[PipelineEdit]
) -> list[PipelineEdit]:
    """Returns edits for functions that multiply by `mma.sync`, and edits for all others."""
    if not level.matrices:
        return list(usual)
    return [
        *(replace(edit, only=_multiplies_otherwise) for edit in usual),
        *(replace(edit, only=_multiplies_in_warps) for edit in matrices),
        *(replace(edit, only=_multiplies_in_warps) for edit in _instead_of_padding()),
    ]


_WARP_PRODUCT = "NV_MMA_SYNC"


def _multiplies_in_warps(function: ir.Operation) -> bool:
    """Returns whether the configuration of an operation asks for `mma.sync`."""
    return any(
        _WARP_PRODUCT in str(attribute)
        for operation in operations_in(function)
        for attribute in attributes_of(operation).values()
    )


def _multiplies_otherwise(function: ir.Operation) -> bool:
    return not _multiplies_in_warps(function)


def _read_as_matrices(
    level: Level, *swizzle: FunctionPass, beside: str = "", without: str = ""
) -> list[PipelineEdit]:
    """Returns edits that let `ldmatrix` read operands, and choose memory layouts for that.

    Addresses are known where vectors are flat: layouts are chosen there, and not early.
    """
    edits = [
        _edit(
            CODEGEN_PIPELINES,
            _BEFORE,
            _REINSERT,
            FormLdmatrix(),
            JoinLdsAccesses(),
            *swizzle,
            beside=beside,
            without=without,
        )
    ]
    if level.summing:
        edits.append(
            _edit(
                _VECTOR_DISTRIBUTE,
                _AFTER,
                _VECTOR_ALLOC,
                *level.summing,
                beside=beside,
                without=without,
            )
        )
    return edits


def _products(level: Level) -> list[PipelineEdit]:
    places = (
        (_TILE_AND_FUSE, _AFTER, _VECTORIZE_COPIES, level.products),
        (_TILE_AND_FUSE, _BEFORE, _VECTOR_LOWERING, level.lowering),
    )
    return [
        _edit(pipelines, position, anchor, *passes)
        for pipelines, position, anchor, passes in places
        if passes
    ]


def _around_layouts(level: Level) -> list[PipelineEdit]:
    """Returns the edits before and behind all layouts, the same for all functions.

    They are made while the passes beside which they stand are there. Behind the layouts, alignments
    are known, and arithmetic is not expanded yet.
    """
    last = (AlignLdsAccesses(), *level.tiles, *level.arithmetic)
    edits = [_edit(_EVERY, _AFTER, RESOLVE_SWIZZLE_HINTS, *last)]
    if level.tiling is not None:
        edit = _edit(CODEGEN_PIPELINES, _BEFORE, _FIRST, level.tiling)
        # The compiler may find that it cannot distribute a tile, in all modes.
        edits.append(replace(edit, optional=True))
    if level.configuring:
        edits.append(_edit(_VECTOR_DISTRIBUTE, _BEFORE, _FIRST, *level.configuring))
    return edits


def _instead_of_padding(*passes: FunctionPass) -> list[PipelineEdit]:
    return [_edit(CODEGEN_PIPELINES, _REPLACE, STOCK_PAD_PASS, *passes, required=False)]


def _swizzled_early(
    level: Level, *, defer_to_padding: bool, beside: str = "", without: str = ""
) -> list[PipelineEdit]:
    """Returns edits that swizzle what a pipeline allocates at first, before it prefetches.

    `beside` and `without` are those of the edits.
    """
    hint = HintVectorAllocs(defer_to_padding=defer_to_padding)
    # Right before the loop-invariant code motion that precedes the padding.
    swizzle = (
        JoinLdsAccesses(),
        SwizzleLdsAllocs(defer_to_padding=defer_to_padding, share_addresses=bool(level.products)),
        FlattenSwizzleHints(),
    )
    return [
        _edit(
            _VECTOR_DISTRIBUTE,
            _AFTER,
            _VECTOR_ALLOC,
            *(*level.renaming, hint),
            beside=beside,
            without=without,
        ),
        _edit(_TILE_AND_FUSE, _AFTER, _UNROLL_LOOPS, *swizzle, beside=beside, without=without),
    ]


def _swizzled_late(*, defer_to_padding: bool) -> list[PipelineEdit]:
    """Returns edits that swizzle what distribution allocates, for reductions across subgroups, and
    the LDS of functions that come lowered."""
    join, flatten = JoinLdsAccesses(), FlattenSwizzleHints()
    late = SwizzleLdsAllocs(defer_to_padding=defer_to_padding, unhinted_only=True)
    last = SwizzleLdsAllocs(unhinted_only=True)
    return [
        _edit(_VECTOR_DISTRIBUTE, _BEFORE, _DISTRIBUTE, flatten),
        _edit(_VECTOR_DISTRIBUTE, _BEFORE, STOCK_PAD_PASS, join, late, flatten, required=False),
        _edit(
            _VECTOR_DISTRIBUTE, _AFTER, _LOWER_GPU_OPS, join, last, flatten, without=STOCK_PAD_PASS
        ),
        _edit(_LOWERED, _BEFORE, _VECTOR_LOWERING, join, SwizzleLdsAllocs(), flatten),
    ]


def _hints_resolved() -> list[PipelineEdit]:
    """Returns the edits that treat hints: in place of stock's passes, or before them where
    hints may be stock's own."""
    resolve = ResolveSwizzleHints(one_layout=True)
    resolve_own = ResolveSwizzleHints(only_own=True, one_layout=True)
    return [
        # Only pipelines that prefetch stow hints on allocations.
        _edit(_VECTOR_DISTRIBUTE, _REPLACE, _ABSORB, AbsorbSwizzleHints(), required=False),
        _edit(_VECTOR_DISTRIBUTE | _LOWERED, _REPLACE, _REINSERT, ReinsertSwizzleHints()),
        _edit(_VECTOR_DISTRIBUTE, _REPLACE, RESOLVE_SWIZZLE_HINTS, resolve),
        # Hints in a lowered function are its writer's: stock would drop some that are sound.
        _edit(_LOWERED, _REPLACE, RESOLVE_SWIZZLE_HINTS, ResolveSwizzleHints()),
        # Here hints may be stock's own, for direct loads to LDS: stock's passes stay for them.
        _edit(_TILE_AND_FUSE, _BEFORE, _ABSORB, AbsorbSwizzleHints(only_own=True), required=False),
        _edit(_TILE_AND_FUSE, _BEFORE, _REINSERT, ReinsertSwizzleHints(only_own=True)),
        _edit(_TILE_AND_FUSE, _BEFORE, RESOLVE_SWIZZLE_HINTS, resolve_own),
    ]
