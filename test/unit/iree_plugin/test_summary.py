# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The line that says what a compile has gained."""

from __future__ import annotations

import pytest

from bankwise.iree_plugin.compile_settings import CompileSettings
from bankwise.iree_plugin.summary import AS_STOCK, KernelCost, summary_text
from bankwise.passes.decisions import Action, Decision, DecisionLog

ATTENTION = KernelCost(False, (2176, 0), (5536, 1952), 32)
NO_LDS = KernelCost(False, (0, 0), (0, 0), None)
DYNAMIC = KernelCost(False, (10, 4), (8, 8), None)
UNKNOWN = KernelCost(False, None, None, 4)
DESCRIBED = KernelCost(False, (100, 0), None, 2)
RETILED = KernelCost(False, (10, 0), (8, 8), 2, other_tiles=True)
RETILED_WITHOUT_LDS = KernelCost(False, (0, 0), (0, 0), 2, other_tiles=True)


@pytest.mark.parametrize(
    ("kernels", "line"),
    [
        ([], "no GPU kernels: everything is as iree-compile makes it"),
        (
            [ATTENTION],
            "1 kernel: 69,632 -> 0 conflict cycles, 177,152 -> 62,464 LDS instructions",
        ),
        (
            [ATTENTION, NO_LDS, AS_STOCK, AS_STOCK],
            "4 kernels: 69,632 -> 0 conflict cycles, 177,152 -> 62,464 LDS instructions; "
            "2 as stock",
        ),
        (
            [ATTENTION, DYNAMIC],
            "2 kernels: 69,642 -> 4 conflict cycles, 177,160 -> 62,472 LDS instructions; "
            "1 counted for one workgroup, because the grid is not known",
        ),
        (
            [ATTENTION, UNKNOWN],
            "2 kernels: 69,632 -> 0 conflict cycles, 177,152 -> 62,464 LDS instructions; "
            "1 not counted",
        ),
        ([ATTENTION, DESCRIBED], "2 kernels: 69,832 -> 0 conflict cycles"),
        (
            [RETILED, RETILED_WITHOUT_LDS, NO_LDS, AS_STOCK],
            "4 kernels: 20 -> 0 conflict cycles, 16 -> 16 LDS instructions; 1 as stock; "
            "1 in other tiles than stock's",
        ),
        ([UNKNOWN], "1 kernel: conflict cycles not known"),
        ([AS_STOCK], "1 kernel as stock"),
    ],
)
def test_line(kernels: list[KernelCost], line: str) -> None:
    assert summary_text(kernels, CompileSettings()) == line


@pytest.mark.parametrize("action", [Action.RETILE, Action.KEEP])
def test_a_kernel_has_other_tiles_where_a_decision_says_so(action: Action) -> None:
    decisions = [
        Decision("p", name, "linalg.generic", "", each, "", conflict_cycles_after=0)
        for name, each in (("f", action), ("g", Action.RETILE))
    ]
    cost = KernelCost.of("f", DecisionLog(decisions), 1)
    assert cost.other_tiles == (action is Action.RETILE)


def test_other_mitigations_and_compiles_without_code() -> None:
    kernels = [KernelCost(), KernelCost()]
    assert summary_text(kernels, CompileSettings(mitigation="stock")) == "2 kernels as stock"
    assert summary_text(kernels, CompileSettings(mitigation="none")).startswith("2 kernels without")
    assert summary_text([], CompileSettings(compile_to="flow")) == ""
