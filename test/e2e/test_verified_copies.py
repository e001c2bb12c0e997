# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies by cp.async whose lanes read other rows in some workgroups, and their verification."""

from __future__ import annotations

from pathlib import Path

import pytest

from bankwise.bench.program_families.attention import Attention
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Matmul

from .conftest import Tool

RAGGED = Matmul(1000, 1000, 1000, "f16").source()
ODD = Matmul(1001, 777, 503, "f32").source()
SIZES = {"b": 2, "m": 77, "n": 64, "k1": 64, "k2": 77}
DYNAMIC = Attention("", "f16", SIZES, dynamic="m k2").program().source


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    ("source", "arch", "level", "error"),
    [
        (RAGGED, "sm_80", "exact", ""),
        (RAGGED, "sm_90a", "exact", ""),
        (ODD, "sm_80", "fast", "cp.async.ca.4 to memref<256x16xf32> has 1 conflict cycle: "),
        (DYNAMIC, "sm_80", "fast", ""),
        (DYNAMIC, "sm_90a", "fast", ""),
    ],
    ids=["ragged", "ragged-sm_90a", "odd", "dynamic", "dynamic-sm_90a"],
)
def test_copies_of_all_workgroups_are_verified(
    tool: Tool, tmp_path: Path, source: str, arch: str, level: str, error: str
) -> None:
    (tmp_path / "a.mlir").write_text(source)
    flags = (*target_flags(arch), f"--bankwise-level={level}", "--bankwise-verify")
    found = tool("bankwise-compile", "a.mlir", *flags, "-o", "a.vmfb")
    assert error in found.stderr and found.returncode == bool(error)
