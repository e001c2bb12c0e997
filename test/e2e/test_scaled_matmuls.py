# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scaled matmuls on the emulated gfx950: right against float64, and without conflicts."""

from __future__ import annotations

import pytest

from bankwise.bench.scaled_matmuls import CHIP, RIGHT, Row, ScaledMatmul, markdown


@pytest.mark.nightly
@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f4E2M1FN", "f8E4M3FN"])
def test_a_ragged_matmul(dtype: str) -> None:
    row = Row.measure((ScaledMatmul(100, 130, 224, dtype), CHIP))
    assert row.faults == []
    assert {mode for mode, error in row.error.items() if error > RIGHT} <= {"stock"}
    assert row.conflicts["auto/exact"] == row.conflicts["auto/fast"] == 0
    assert row.instructions["auto/exact"] <= row.instructions["stock"]
    # IREE reads 8-bit operands in another order than the hardware, docs/for_iree.md.
    assert row.equal == (dtype == "f4E2M1FN") == (row.error["stock"] <= RIGHT)
    assert row.kernel in markdown([row])


@pytest.mark.nightly
def test_with_one_scale_for_each_row_no_order_counts() -> None:
    row = Row.measure((ScaledMatmul(128, 128, 256, "f8E5M2", uniform=True), CHIP))
    assert max(row.error.values()) <= RIGHT


def test_wrong_outputs_fail_but_those_of_stock() -> None:
    row = Row("kernel", CHIP, error={"stock": 1.0, "auto/exact": 2 * RIGHT, "auto/fast": RIGHT})
    assert row.faults == [f"auto/exact is wrong by {2 * RIGHT:.1e}"]
