# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one number of a report: it is the sum of what the tables say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bankwise.report.conflict_report import FunctionReport
from bankwise.report.contents import number_report
from bankwise.report.headline import Headline

from .small_reports import TILE, contents_of, kernel, report_of

BODY = f"""%m = memref.alloc() : {TILE}
  VIEW
  %n = memref.alloc() : {TILE}
  %v = memref.load %h[%x, %c0] : {TILE}
  memref.store %v, %n[%x, %c0] : {TILE}
  %u = memref.load %n[INDEX, %c0] : {TILE}"""
HINT = f"%h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<32, 1>] : {TILE}"
VIEW = f"%h = memref.cast %m : {TILE} to {TILE}"


def report(name: str, *, hinted: bool = False, index: str = "%x") -> FunctionReport:
    body = BODY.replace("VIEW", HINT if hinted else VIEW).replace("INDEX", index)
    return report_of(kernel(body, name, threads=128))


def test_the_headline_is_the_sum_of_the_rows() -> None:
    shown = contents_of(report("plain"), report("hinted", hinted=True))
    found = Headline.of(shown)
    assert found is not None
    rows = [access for allocation in shown.allocations for access in allocation.accesses]
    assert len(rows) == 6
    for name in ("before", "padded", "standing", "chosen"):
        total = 0
        for row in rows:
            count = row.allocation.layouts[name]
            assert count is not None
            total += row.group.conflict_cycles(count)
        assert getattr(found, name) == total
    assert (found.before, found.standing, found.chosen) == (6 * 124, 5 * 124, 0)
    # A proposal does not make the IR free of conflicts.
    assert (found.number, found.word, found.is_clean) == ("620", "proposed", False)
    assert found.what == "conflict cycles of a workgroup as the IR stands"
    assert str(found) == (
        "744 conflict cycles in the plain layout, 24 with stock's padding, 0 in the proposed one; "
        "620 as the IR stands"
    )


def test_allocations_that_are_left_out_do_not_count() -> None:
    one = report("f", hinted=True)
    functions = number_report([("a.mlir", one)], [], frozenset({1}))
    found = Headline.of(replace(contents_of(), functions=functions))
    assert found is not None
    assert (found.before, found.number, found.word) == (124, "0", "chosen")
    assert found.what == "conflict cycles of a workgroup in the chosen layout"
    assert found.is_clean
    assert str(found) == (
        "124 conflict cycles in the plain layout, 4 with stock's padding, 0 in the chosen one"
    )


@pytest.mark.parametrize(
    ("mitigation", "whose"),
    [("auto", ", for the accesses of this compile"), ("stock", ""), ("none", ""), ("", "")],
)
def test_it_says_whose_accesses_it_counts(mitigation: str, whose: str) -> None:
    """What ours has renamed and padded as stock pads is nobody's code."""
    found = Headline.of(replace(contents_of(report("f", hinted=True)), mitigation=mitigation))
    assert str(found).endswith(
        f"stock's padding, 0 in the proposed one{whose}; 248 as the IR stands"
    )


def test_what_is_not_known_is_no_zero() -> None:
    partly = Headline.of(contents_of(report("f", hinted=True, index="%unknown")))
    assert partly is not None
    assert not partly.is_clean
    assert partly.number == "at least 124"
    assert str(partly).startswith("at least 248 conflict cycles in the plain layout, at least ")
    unread = FunctionReport("g", "", note="left to the stock compiler", unread=True)
    nothing = Headline.of(contents_of(unread))
    assert nothing is not None
    assert (nothing.number, nothing.is_clean) == ("not known", False)
    assert str(nothing) == "the conflict cycles are not known"
    beside = Headline.of(contents_of(report("f", hinted=True), unread))
    assert beside is not None
    assert beside.number == "at least 248"
    assert not beside.is_clean


@pytest.mark.parametrize("reports", [(), (FunctionReport("host", ""),)])
def test_without_lds_there_is_no_headline(reports: tuple[FunctionReport, ...]) -> None:
    assert Headline.of(contents_of(*reports)) is None
