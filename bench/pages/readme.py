# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The part of the README that quotes records: the ladder of the levels."""

from __future__ import annotations

from ..gpu.modes import EXACT, FAST, LAYOUT, NONE, STOCK
from ..gpu.references import CUBLAS, FLASH
from ..gpu.timed_kernels import ATTENTION, MATMUL
from .ladder import kernels
from .overview import CUDNN, mean, times, wrapped
from .records import Records


def sections(records: Records) -> dict[str, str]:
    """Returns the parts of the page by their names."""
    return {"ladder": _ladder(records) + "\n"}


def _ladder(records: Records) -> str:
    """Returns the figures of the levels, and the picture of them with its text."""
    ratios = records.times
    where = ratios.record.conditions

    def of(function: str, series: str, base: str = STOCK) -> str:
        return times(mean(ratios, function, series, base))

    many, few = (len(kernels(ratios, function)) for function in (ATTENTION, MATMUL))
    text = (
        f"Kernel times on one {where.device}, of code compiled for {where.target}, over those of "
        f"stock IREE (geometric means): {many} f16 attentions take {of(ATTENTION, LAYOUT)} with "
        f"`layout`, **{of(ATTENTION, EXACT)}** with `exact` and **{of(ATTENTION, FAST)}** with "
        f"`fast`, which is {of(ATTENTION, FAST, FLASH)} of FlashAttention-2's time; {few} f16 "
        f"matmuls take {of(MATMUL, LAYOUT)} with `layout` and **{of(MATMUL, EXACT)}** with "
        f"`exact`, which is {of(MATMUL, EXACT, CUBLAS)} of cuBLAS's."
    )
    shown = (
        f"Times over stock IREE's, geometric means. Attentions: no mitigation "
        f"{of(ATTENTION, NONE)}, layouts {of(ATTENTION, LAYOUT)}, "
        f"exact {of(ATTENTION, EXACT)}, fast {of(ATTENTION, FAST)}, "
        f"FlashAttention-2 {of(ATTENTION, FLASH)}, cuDNN {of(ATTENTION, CUDNN)}. "
        f"Matmuls: no mitigation {of(MATMUL, NONE)}, layouts {of(MATMUL, LAYOUT)}, "
        f"exact {of(MATMUL, EXACT)}, cuBLAS {of(MATMUL, CUBLAS)}"
    )
    return f"{wrapped(text)}\n\n![{shown}](docs/ladder.svg)"
