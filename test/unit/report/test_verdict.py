# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--fail-on-conflicts` passes only what is known to have no conflicts."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.dialect_utils.gpu_target import Launch
from bankwise.report.conflict_report import AllocationReport, FunctionReport
from bankwise.report.verdict import warning, why_failed

CLEAN = FunctionReport("k", "", launch=Launch((64, 1, 1), 64))
CPU = FunctionReport("c", "", note="not a GPU dispatch", on_cpu=True)
HOST = FunctionReport("h", "")
UNREAD = FunctionReport("u", "", note="compiled for vulkan-spirv", unread=True)
UNKNOWN = FunctionReport(
    "f",
    "",
    "gfx942",
    allocations=(AllocationReport("m", "a:1:2", 4, unknown=(Refusal("it is odd", "a:3:4"),)),),
)


@pytest.mark.parametrize(
    ("functions", "compiled", "objection"),
    [
        ([CLEAN], True, ""),
        ([CLEAN], False, ""),
        ([CLEAN, HOST], False, ""),
        ([CLEAN, CPU], True, ""),
        ([CPU], True, ""),
        ([], True, ""),
        ([UNREAD], True, "1 function not read (@u): compiled for vulkan-spirv"),
        ([CLEAN, UNREAD], True, "1 function not read (@u): compiled for vulkan-spirv"),
        ([CPU, UNREAD, UNREAD], True, "2 functions not read (the first is @u): compiled for"),
        ([UNREAD], False, "1 function not read (@u)"),
        ([UNKNOWN], True, "1 allocation with uses that are not known, the first at a:3:4: it is"),
        ([HOST], False, "nothing was compiled and the input holds no kernel"),
        ([], False, "nothing was compiled and the input holds no kernel"),
    ],
)
def test_what_is_objected_to(functions: list[FunctionReport], compiled: bool, objection: str):
    found = why_failed([("a", each) for each in functions], ["a"], compiled=compiled)
    assert found.startswith(objection)
    assert bool(found) == bool(objection)


def test_a_file_passes_or_fails_whatever_files_it_is_given_with():
    def objection(*reports: tuple[str, FunctionReport]) -> str:
        return why_failed(reports, ["a", "b", "c"], compiled=False)

    kernels = [(file, CLEAN) for file in "abc"]
    assert not objection(*kernels)
    assert "'b' holds no kernel" in objection(kernels[0], ("b", HOST), kernels[2])
    assert "2 inputs (the first is 'b') hold no kernel" in objection(kernels[0])
    assert "the inputs hold no kernel" in objection()


def test_a_compile_without_gpu_code_passes_with_a_warning():
    assert "no GPU code, only 2 functions for the CPU" in warning(
        [("a", CPU), ("a", CPU)], compiled=True
    )
    assert "no GPU code; if it should have" in warning([], compiled=True)
    assert not warning([("a", CPU), ("a", CLEAN)], compiled=True)
    assert not warning([], compiled=False)
