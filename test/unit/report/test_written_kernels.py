# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Report and verification count random hand-written kernels as the definition does."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from iree.compiler import ir

from bankwise.dialect_utils.diagnostics import PassFailure
from bankwise.dialect_utils.kernels import functions_in
from bankwise.passes.accesses.verify_lds_conflicts import VerifyLdsConflicts
from bankwise.passes.base import PassContext
from bankwise.report.conflict_report import FunctionReport
from bankwise.report.sources import report_module
from bankwise.report.verdict import why_failed
from bankwise.test.written_kernels import Kernel, conflict_cycles, kernels, may_be_changed

from .small_reports import module_of


def counted(reports: list[FunctionReport]) -> int:
    """Returns the conflict cycles of the code as it stands; fails where they are not known."""
    total = 0
    for report in reports:
        for allocation in report.allocations:
            assert not allocation.unknown, allocation.unknown[0].reason
            assert allocation.standing is not None
            total += allocation.standing.conflict_cycles
    return total


def verified(module: ir.Operation, arch: str) -> str:
    """Returns what verification objects to; nothing where it does not."""
    for function in functions_in(module):
        try:
            VerifyLdsConflicts().run(function, PassContext(test_target=arch))
        except PassFailure as failure:
            return failure.message
    return ""


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(kernels())
def test_counts_are_those_of_the_definition(kernel: Kernel) -> None:
    frame = kernel.frame
    module = module_of(kernel.text).operation
    expected = conflict_cycles(kernel)
    reports = report_module(module, None if frame.names_gpu else frame.arch)
    found = counted(reports)
    # The report counts what the backend makes of unrolled loops, which no definition says.
    assert found == expected or may_be_changed(kernel)
    objection = why_failed([("a", each) for each in reports], ["a"], compiled=False)
    assert bool(objection) == bool(found), objection
    failure = verified(module_of(kernel.text).operation, frame.arch)
    assert bool(failure) == bool(expected), failure
    assert "cannot be" not in failure
