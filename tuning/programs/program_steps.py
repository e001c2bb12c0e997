# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The passes that change a program before IREE forms its dispatches, in the order of a compile."""

from __future__ import annotations

from ...passes.base import FunctionPass
from ...passes.mode import Mode
from ..convolutions.slice_strided_images import SliceStridedImages
from ..workarounds.widen_sums import WidenSums
from .fold_broadcasts import FoldBroadcasts
from .join_reductions import JoinReductions
from .pad_heads import PadHeads
from .raise_attention import RaiseAttention
from .share_masks import ShareMasks
from .specialize_sizes import SpecializeSizes
from .split_keys import SplitKeys
from .split_rows import SplitRows
from .split_sums import SplitSums


def program_passes(mode: Mode) -> tuple[FunctionPass, ...]:
    """Returns the passes of a mode that has some."""

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
        SplitSums(**where),
        SplitRows(),
        JoinReductions(),
    )
