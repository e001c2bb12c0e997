# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The attentions whose errors are taken, with and without a mask."""

from __future__ import annotations

from ...sweep.kernels import Attention
from ..program_families.attention import Attention as ModelAttention
from ..program_families.attention import plain_sizes
from .kernels import TimedKernel
from .modes import EXACT, FAST, STOCK
from .timed_sets import timed, timed_model

MODES = (STOCK, EXACT, FAST)
_SHAPES = (
    (2, 1024, 128),
    (1, 1024, 64),
    (4, 512, 64),
    (1, 512, 256),
    (2, 384, 128),
    (8, 1024, 64),
    (3, 256, 128),
    (1, 2048, 128),
    (2, 640, 64),
    (2, 1024, 256),
)
"""Batch, sequence and head. Float64 takes at most a second for each."""


def sources() -> dict[TimedKernel, str]:
    """Returns the kernels with their MLIR."""
    found: dict[TimedKernel, str] = {}
    for dtype in ("f16", "bf16"):
        for batch, seq, head_dim in _SHAPES:
            plain = Attention(batch, seq, head_dim, dtype)
            known = timed(plain, MODES)
            found[known] = plain.source()
            name = f"{known.name}_masked"
            sizes = plain_sizes(batch, seq, head_dim)
            masked = ModelAttention(name, dtype, sizes, mask="b m k2", mask_dtype=dtype)
            found[timed_model(masked, MODES)] = masked.program().source
    return found
