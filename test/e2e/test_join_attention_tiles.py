# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an attention for sm_80 multiplies where its workgroups compute whole heads."""

from __future__ import annotations

import pytest

from bankwise import compile as compile_mlir
from bankwise.sweep.cases import target_flags
from bankwise.sweep.kernels import Attention

MULTIPLICATION = b"mma.sync.aligned.m16n8k16"
SCORES = 32
"""Instructions for 16 rows and 64 columns of scores, summed over 64."""


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_scores_are_computed_once(dtype: str) -> None:
    source = Attention(16, 1024, 64, dtype).source()
    exact, fast = (
        compile_mlir(source, target_flags("sm_80"), mode)
        for mode in ("auto/exact/off", "auto/fast/off")
    )
    # 4 or 8 tiles of 8 columns, summed over 64.
    assert exact.count(MULTIPLICATION) == SCORES + 4 * 4
    assert fast.count(MULTIPLICATION) == SCORES + 8 * 4
    assert b"ld.shared" not in fast
