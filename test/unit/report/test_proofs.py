# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--check-proofs`: what is checked of each allocation, and what every format says of it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.report.conflict_report import (
    AllocationReport,
    FunctionReport,
    functions_in,
    report_function,
)
from bankwise.report.contents import Contents, number_report
from bankwise.report.html import html_report
from bankwise.report.json_document import json_report
from bankwise.report.markdown import markdown_report
from bankwise.report.proofs import why_not_proven, with_checked_proofs
from bankwise.report.text import text_report

TILE = "memref<64x32xf32, #gpu.address_space<workgroup>>"
KERNEL = f"""func.func @kernel() attributes {{translation_info = #iree_codegen.translation_info<
    pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1]
    subgroup_size = 64>}} {{
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %m = memref.alloc() : {TILE}
  %v = memref.load %m[%x, %c0] : {TILE}
  memref.store %v, %m[%c0, %c0] : {TILE}
  return
}}"""
HOLDS = (
    "the proof of its layout holds: the 2 accesses, counted again lane by lane, have 62 conflict "
    "cycles in the plain layout and 0 in this one; no layout can have fewer"
)


@pytest.fixture(scope="module")
def report() -> FunctionReport:
    with Session().context, ir.Location.unknown():
        module = ir.Module.parse(KERNEL)
        (function,) = functions_in(module.operation)
        return report_function(function, "gfx942")


def shown(report: FunctionReport) -> Contents:
    functions = number_report([("a.mlir", report)], ["a.mlir"])
    return Contents(("a.mlir",), ("bankwise-report", "a.mlir"), "", functions, False)


def changed(report: FunctionReport, **fields: object) -> AllocationReport:
    """Returns the allocation after a check, with other fields before it."""
    (allocation,) = report.allocations
    wrong = replace(allocation, **fields)  # pyright: ignore[reportArgumentType]
    (checked,) = with_checked_proofs(replace(report, allocations=(wrong,))).allocations
    return checked


def test_every_format_says_that_a_proof_holds(report: FunctionReport) -> None:
    contents = shown(with_checked_proofs(report))
    for text in (text_report(contents), markdown_report(contents), html_report(contents)):
        assert HOLDS in " ".join(text.split())
    (function,) = json.loads(json_report(contents))["functions"]
    assert function["allocations"][0]["proof"] == {"holds": True, "text": HOLDS}


def test_nothing_is_said_without_a_check(report: FunctionReport) -> None:
    assert "proof of" not in text_report(shown(report))
    (function,) = json.loads(json_report(shown(report)))["functions"]
    assert function["allocations"][0]["proof"] is None


def test_a_wrong_count_is_found(report: FunctionReport) -> None:
    (allocation,) = report.allocations
    assert allocation.proposal is not None
    wrong = replace(allocation.proposal, conflict_cycles=1)
    found = changed(report, proposal=wrong)
    assert found.proof is not None
    assert not found.proof.holds
    reason = "the proof of its layout does not hold: conflict_cycles: claimed 1, counted 0"
    assert found.proof.text == reason
    failed = replace(report, allocations=(allocation, found, found))
    assert why_not_proven([failed]) == f"allocation 2 (and 1 more): {reason}"
    assert reason in " ".join(text_report(shown(failed)).split())


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
