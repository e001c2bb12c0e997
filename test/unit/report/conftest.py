# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small report, and the same with hostile names, for the tests of the formats."""

from __future__ import annotations

from dataclasses import replace

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.report.conflict_report import functions_in, report_function
from bankwise.report.contents import Contents, number_report

INFO = (
    "#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> "
    "workgroup_size = [64, 1, 1] subgroup_size = 64>"
)
TILE = "memref<64x32xf32, #gpu.address_space<workgroup>>"
EVIL = '<script>alert(1)</script>|`\\"&'


def source(name: str) -> str:
    return f"""func.func @{name}() attributes {{translation_info = {INFO}}} {{
      %c0 = arith.constant 0 : index
      %x = gpu.thread_id x
      %m = memref.alloc() : {TILE}
      %n = memref.alloc() : {TILE}
      %v = memref.load %m[%x, %c0] : {TILE}
      memref.store %v, %n[%x, %c0] : {TILE}
      %u = memref.load %n[%c0, %c0] : {TILE}
      return
    }}"""


@pytest.fixture
def kernel_text() -> str:
    """Returns the kernel of the report."""
    return source("kernel")


@pytest.fixture
def evil_text() -> str:
    """Returns text that would be a program in a page that does not escape it."""
    return EVIL


@pytest.fixture(scope="module")
def contents() -> Contents:
    with Session().context, ir.Location.unknown():
        module = ir.Module.parse(source("kernel"))
        reports = [report_function(f, "gfx942") for f in functions_in(module.operation)]
    functions = number_report([("dir/a.mlir", report) for report in reports], ["dir/a.mlir"])
    return Contents(("dir/a.mlir",), ("bankwise-report", "dir/a.mlir"), "", functions, True)


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
