# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scaled matmuls on the emulated gfx950: right against float64, and without conflicts."""

from __future__ import annotations

import pytest

from bankwise.bench.scaled_matmuls import RIGHT, Row, ScaledMatmul, document


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f4E2M1FN", "f8E4M3FN"])
def test_a_ragged_matmul(dtype: str) -> None:
    row = Row.measure(ScaledMatmul(100, 130, 224, dtype))
    assert row.failures == {}
    assert {mode for mode, error in row.error.items() if error > RIGHT} <= {"stock"}
    assert row.conflicts["auto/exact"] == row.conflicts["auto/fast"] == 0
    assert row.instructions["auto/exact"] <= row.instructions["stock"]
    # IREE reads 8-bit operands in another order than the hardware, docs/for_iree.md.
    assert row.equal == (dtype == "f4E2M1FN") == (row.error["stock"] <= RIGHT)
    assert row.kernel in document([row], [])


@pytest.mark.nightly
def test_with_one_scale_for_each_row_no_order_counts() -> None:
    row = Row.measure(ScaledMatmul(128, 128, 256, "f8E5M2", uniform=True))
    assert max(row.error.values()) <= RIGHT
