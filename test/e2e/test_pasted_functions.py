# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C functions of answers, pasted into HIP, compiled by clang: values and conflicts are as said."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import bankwise
from bankwise.emulator.counters import Counted
from bankwise.tiles.counts import CountedLayout

from .clang_assembly import COMPILER
from .pasted_kernels import pasted

A, AT = "mfma_f32_16x16x16_f16:A", "mfma_f32_16x16x16_f16:AT"
CASES = [
    # Tile, write, read, threads, and which layout: one of an answer, or the caller's.
    ("64x64xf16", "rows:128", "columns", 64, "swizzled"),
    ("64x64xf16", "rows:128", "columns", 64, "padded"),
    ("64x64xf16", "rows:128", A, 64, "best"),
    ("64x64xf16", "rows:128", AT, 64, "best"),
    ("64x64xf16", "rows:128", AT, 256, "padded"),
    ("64x64xf16", "rows:128", "columns:128", 64, "best"),
    ("64x64xf16", "rows:64", "columns:32", 64, "best"),
    ("64x64xf16", "columns:128", "rows:128", 64, "best"),
    ("64x64xf16", "columns", "rows:128", 64, "best"),
    ("32x32xf32", "rows:128", "columns", 64, "best"),
    ("32x32xf32", "rows:128", "columns", 64, "padded"),
    ("32x64xf32", "columns:64", "columns:128", 64, "best"),
    ("32x40xf32", "rows:128", "columns:64", 64, "best"),
    ("64x64xf8", "rows:128", "columns:32", 64, "best"),
    ("64x128xf8", "rows:64", "columns", 64, "best"),
    ("32x32xf64", "rows:128", "columns", 64, "best"),
    ("64x128xi4", "rows:128", "columns:16", 64, "best"),
    ("2x32x64xf16", "rows:128", "columns:64", 64, "best"),
    ("64x64xf16", "rows:128", "columns:128", 64, "padded:4"),
    ("64x64xf16", "rows:128", "rows:128", 64, "Swizzle<3, 2, 4>"),
    ("64x64xf16", "rows.T:128", "columns.T:64", 64, "Swizzle<3,3,3> o 0 o (64,64):(1,64)"),
    ("64x64xf16", "rows.T:128", "columns.T:64", 64, "Swizzle<3,2,4> o 0 o (64,64):(1,64)"),
]


def asked(tile: str, write: str, read: str, threads: int, layout: str) -> CountedLayout:
    """Returns one layout of an answer, or a count of the caller's layout."""
    if layout in ("best", "padded", "swizzled"):
        found = bankwise.solve("gfx942", tile, write=write, read=read, threads=threads)
        return found.best if layout == "best" else found.layouts[layout]
    return bankwise.count("gfx942", tile, write=write, read=read, threads=threads, layout=layout)


def check(counted: CountedLayout, folder: Path) -> None:
    done = pasted(counted, folder)
    for read, expected in zip(done.read, done.expected, strict=True):
        np.testing.assert_array_equal(read, expected)
    counters = done.run.counters
    assert counters[Counted.CONFLICTS] == counted.conflict_cycles


@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.nightly if number else ())
        for number, case in enumerate(CASES)
    ],
    ids=lambda case: " ".join(map(str, case)),
)
def test_a_pasted_function_is_right(case: tuple[str, str, str, int, str], tmp_path: Path) -> None:
    check(asked(*case), tmp_path)
