# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--check-proofs`: what is checked of each allocation, and what every format says of it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bankwise.report.conflict_report import AllocationReport, FunctionReport
from bankwise.report.html import html_report
from bankwise.report.json_document import json_report
from bankwise.report.markdown import markdown_report
from bankwise.report.proofs import why_not_proven, with_checked_proofs
from bankwise.report.text import text_report

from .small_reports import TILE, contents_of, kernel, report_of

KERNEL = kernel(f"""%m = memref.alloc() : {TILE}
  %v = memref.load %m[%x, %c0] : {TILE}
  memref.store %v, %m[%c0, %c0] : {TILE}""")
HOLDS = (
    "the proof of its layout holds: the 2 accesses, counted again lane by lane, have 62 conflict "
    "cycles in the plain layout and 0 in this one; no layout can have fewer"
)


@pytest.fixture(scope="module")
def report() -> FunctionReport:
    return report_of(KERNEL)


def changed(report: FunctionReport, **fields: object) -> AllocationReport:
    """Returns the allocation after a check, with other fields before it."""
    (allocation,) = report.allocations
    wrong = replace(allocation, **fields)  # pyright: ignore[reportArgumentType]
    (checked,) = with_checked_proofs(replace(report, allocations=(wrong,))).allocations
    return checked


def test_every_format_says_that_a_proof_holds(report: FunctionReport) -> None:
    contents = contents_of(with_checked_proofs(report))
    for text in (text_report(contents), markdown_report(contents), html_report(contents)):
        assert HOLDS in " ".join(text.split())
    (function,) = json.loads(json_report(contents))["functions"]
    assert function["allocations"][0]["proof"] == {"holds": True, "text": HOLDS}


def test_nothing_is_said_without_a_check(report: FunctionReport) -> None:
    assert "proof of" not in text_report(contents_of(report))
    (function,) = json.loads(json_report(contents_of(report)))["functions"]
    assert function["allocations"][0]["proof"] is None


def test_a_wrong_count_is_found(report: FunctionReport) -> None:
    (allocation,) = report.allocations
    assert allocation.proposal is not None
    wrong = allocation.proposal._replace(conflict_cycles=1)
    found = changed(report, proposal=wrong)
    assert found.proof is not None
    assert not found.proof.holds
    reason = "the proof of its layout does not hold: conflict_cycles: claimed 1, counted 0"
    assert found.proof.text == reason
    failed = replace(report, allocations=(allocation, found, found))
    assert why_not_proven([failed]) == f"allocation 2 (and 1 more): {reason}"
    assert reason in " ".join(text_report(contents_of(failed)).split())


def test_a_layout_that_nobody_chose_may_be_bad(report: FunctionReport) -> None:
    """The standing layout is only counted: nothing is claimed of others."""
    found = changed(report, undecided=False, is_ours=False)
    assert found.proof is not None
    assert found.proof.holds
    assert found.proof.text.endswith("62 conflict cycles in the plain layout and 62 in this one")
    assert why_not_proven([report]) == ""


MUTATED = """
import sys
from bankwise.bank_model import proof
from bankwise.bank_model.layouts import AccessCost
from bankwise.tools.report import main
proof.count_slowly = lambda *_: AccessCost(1, 2, 1)
sys.exit(main(sys.argv[1:]))
"""


def test_the_tool_fails_if_a_proof_does_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "kernel.mlir"
    path.write_text(KERNEL)
    command = [sys.executable, "-c", MUTATED, str(path), "--target=gfx942", "--check-proofs"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("bankwise-report: error: --check-proofs: allocation 1: the proof of its")
    assert "costs[0]: claimed" in line
    assert "the proof of its layout does not hold" in " ".join(result.stdout.split())
