# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conflicts that others have measured on an MI355X are those that the emulator counts."""

import pytest

from bankwise.bench.timing_points import DIRECT_LOADS, DirectMatmul, direct_matmuls, run_workgroups
from bankwise.emulator.counters import Counted, totals

MATMULS = list(direct_matmuls())


@pytest.mark.nightly
@pytest.mark.parametrize("matmul", MATMULS, ids=lambda matmul: matmul.name)
def test_matmuls_whose_operands_are_loaded_directly(matmul: DirectMatmul) -> None:
    """They have "LDS Bank Conflicts/Access" of ROCm Compute Profiler: cycles over those without."""
    record = run_workgroups(*matmul.launched, (0,), DIRECT_LOADS)
    counters = totals(record.kernel, record.counters)
    conflicts = counters[Counted.CONFLICTS]
    assert conflicts == matmul.conflicts * (counters[Counted.LDS_CYCLES] - conflicts)


def test_there_are_18_of_them() -> None:
    assert len(MATMULS) == 18
