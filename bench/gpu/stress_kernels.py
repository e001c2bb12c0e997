# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels that are launched over and over: those that wait for copies and products in all ways.

Matmuls issue all, half or none of their copies before they wait for those of the iteration before,
by the order of B and by where its rows begin, and have tiles of as many columns as gain. Attentions
load masks while `wgmma` runs, shift odd rows into place, and have heads and keys that no tile
divides.
"""

from __future__ import annotations

from ...sweep.kernels import Matmul
from .kernels import TimedKernel
from .modes import EXACT, FAST, STOCK, mode_for
from .timed_sets import model_attention, timed, timed_model

_MATMULS = (
    Matmul(1024, 1024, 1024, "f16"),
    Matmul(1024, 512, 2048, "f16"),
    Matmul(2048, 2048, 256, "f16"),
    Matmul(1500, 1000, 1500, "f16"),
    Matmul(1200, 1100, 1004, "bf16"),
    Matmul(1024, 1024, 1024, "f16", transposed=True),
    Matmul(1024, 512, 2048, "f16", transposed=True),
    Matmul(2048, 512, 1024, "bf16", transposed=True),
    Matmul(2000, 1000, 1000, "f16", transposed=True),
    Matmul(2000, 1500, 1000, "bf16", transposed=True),
    Matmul(1000, 1000, 1000, "f16"),
    Matmul(1000, 1000, 1000, "f16", transposed=True),
    Matmul(1536, 1536, 512, "f16"),
    Matmul(1536, 1536, 512, "f16", transposed=True),
    Matmul(2048, 1280, 512, "f16"),
)
_ODD, _ROUND = (STOCK, FAST), (STOCK, EXACT, FAST)
"""The modes of attentions for which stock has no matrix instructions, and of those for which it has
them."""
_ATTENTIONS = (
    (4, 256, 64, "f16", "", _ROUND),
    (4, 256, 64, "f16", "i1", _ROUND),
    (4, 256, 64, "bf16", "bf16", _ROUND),
    (4, 256, 64, "f16", "f32", _ROUND),
    (8, 512, 128, "f16", "i1", _ROUND),
    (4, 512, 128, "bf16", "", _ROUND),
    (16, 577, 64, "f16", "i1", _ODD),
    (8, 333, 64, "bf16", "bf16", _ODD),
    (16, 197, 72, "f16", "f32", _ODD),
    (12, 197, 72, "f16", "f16", _ODD),
    (12, 197, 75, "f16", "i1", _ODD),
    (12, 197, 75, "bf16", "", _ODD),
    (16, 333, 75, "f16", "", _ODD),
    (8, 333, 100, "f16", "", _ODD),
    (4, 300, 192, "bf16", "", _ODD),
)
"""Batch, rows, head, type, mask and modes."""


def sources(target: str) -> dict[TimedKernel, str]:
    """Returns the kernels, as compiled for a GPU, with their MLIR; stock's code is for sm_80."""
    made = {timed(each, (STOCK, EXACT)): each.source() for each in _MATMULS}
    for batch, rows, head, dtype, mask, modes in _ATTENTIONS:
        model = model_attention(batch, rows, head, dtype, mask=mask)
        made[timed_model(model, modes)] = model.program().source
    return {_only_for(kernel, target): source for kernel, source in made.items()}


def _only_for(kernel: TimedKernel, target: str) -> TimedKernel:
    """Returns a kernel whose modes but stock's name a GPU."""
    both = kernel.also_for(target)
    other = {mode_for(mode, target) for mode in kernel.modes}
    return both.without([mode for mode in kernel.modes if mode != STOCK and mode not in other])
