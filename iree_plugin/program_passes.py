# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The passes that change a program before IREE forms its dispatches.

All other passes work on one kernel at a time. Into how many kernels an attention is cut is decided
before. Behind IREE's phase `global-optimization` every exported attention is an
`iree_linalg_ext.attention` of tensors, and V is transposed where the kernel that makes V can do so.
Copies that all workgroups read are kernels of their own.
A batch of matmuls by copies of one matrix reads these copies from memory behind that phase, and so
do attentions with copies of a mask. IREE has made a softmax of what is one.
IREE makes kernels for ranges of sizes of what is annotated with them.
Every convolution is a `linalg.generic` there, and IREE has sliced what it slices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .compile_settings import LEVELLED, LEVELS, PHASES, CompileSettings, Mode

if TYPE_CHECKING:
    from ..passes.base import FunctionPass

BEFORE_DISPATCHES = "global-optimization"
"""The phase behind which the passes run."""
LEVEL_THAT_CHANGES_PROGRAMS = list(LEVELS)[-1]


def changes_programs(settings: CompileSettings) -> bool:
    """Returns whether a compile that generates code has passes that change programs."""
    mode = settings.mode
    return (
        settings.generates_code
        and PHASES.index(settings.compile_from) <= PHASES.index(BEFORE_DISPATCHES)
        and mode.mitigation in LEVELLED
        and mode.level == LEVEL_THAT_CHANGES_PROGRAMS
        and mode.retile != "off"
    )


def program_passes(mode: Mode) -> tuple[FunctionPass, ...]:
    """Returns the passes of a mode that has some."""
    from ..passes.tiles.fold_broadcasts import FoldBroadcasts
    from ..passes.tiles.pad_heads import PadHeads
    from ..passes.tiles.raise_attention import RaiseAttention
    from ..passes.tiles.share_masks import ShareMasks
    from ..passes.tiles.slice_strided_images import SliceStridedImages
    from ..passes.tiles.specialize_sizes import SpecializeSizes
    from ..passes.tiles.split_keys import SplitKeys
    from ..passes.tiles.widen_sums import WidenSums

    where = {"unmeasured": mode.retile == "on"}
    return (
        RaiseAttention(**where),
        WidenSums(),
        FoldBroadcasts(),
        ShareMasks(),
        SliceStridedImages(),
        PadHeads(**where),
        SplitKeys(**where),
        SpecializeSizes(**where),
    )
