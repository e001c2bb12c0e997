# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small report, and the same with hostile names, for the tests of the formats."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bankwise.report.contents import Contents

from .small_reports import TILE, contents_of, kernel, report_of

EVIL = '<script>alert(1)</script>|`\\"&'


KERNEL = kernel(f"""%m = memref.alloc() : {TILE}
      %n = memref.alloc() : {TILE}
      %v = memref.load %m[%x, %c0] : {TILE}
      memref.store %v, %n[%x, %c0] : {TILE}
      %u = memref.load %n[%c0, %c0] : {TILE}""")


@pytest.fixture
def kernel_text() -> str:
    """Returns the kernel of the report."""
    return KERNEL


@pytest.fixture
def evil_text() -> str:
    """Returns text that would be a program in a page that does not escape it."""
    return EVIL


@pytest.fixture(scope="module")
def contents() -> Contents:
    return contents_of(report_of(KERNEL), file="dir/a.mlir", maps=True)


@pytest.fixture
def evil(contents: Contents) -> Contents:
    """Returns the same with hostile names wherever the input can put one."""
    (function,) = contents.functions
    allocation, *_ = function.allocations
    hostile = replace(
        allocation,
        report=replace(allocation.report, type=EVIL, location=f"{EVIL}:1:2", decision=EVIL),
    )
    report = replace(function.report, name=EVIL)
    changed = replace(function, report=report, file=EVIL, allocations=(hostile,))
    return replace(
        contents, inputs=(EVIL,), command=("bankwise-report", EVIL), functions=(changed,)
    )
