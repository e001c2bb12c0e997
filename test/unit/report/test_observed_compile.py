# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of the passes' decisions belongs to which allocation of a report."""

from __future__ import annotations

from bankwise.bank_model.accesses import LdsTile
from bankwise.bank_model.layout_counts import LayoutCount
from bankwise.bank_model.layouts import Layout, PaddedLayout, PlainLayout, SwizzledLayout
from bankwise.bank_model.swizzles import XorShuffle
from bankwise.passes.decisions import Action, Decision, DecisionLog
from bankwise.passes.padding.pad_unhinted_allocs import PadUnhintedAllocs
from bankwise.passes.swizzles.hint_vector_allocs import HintVectorAllocs
from bankwise.report.conflict_report import AllocationReport, FunctionReport
from bankwise.report.observed_compile import with_decisions
from bankwise.tuning.ldmatrix.form_ldmatrix import FormLdmatrix

SWIZZLED = SwizzledLayout((XorShuffle(32, 1),))


def allocation(kind: str, layout: Layout, conflicts: int = 0, line: str = "") -> AllocationReport:
    count = LayoutCount(layout, 0, conflicts, ())
    tile = LdsTile((64, 32), 32)
    return AllocationReport(kind, "", 0, tile=tile, before=count, standing=count, decision=line)


def decision(kind: str, action: Action, reason: str, detail: str = "") -> Decision:
    by = HintVectorAllocs if action is Action.HINT else PadUnhintedAllocs
    return Decision(by.name, "f", kind, "", action, reason, detail)


def lines(*pairs: tuple[AllocationReport, Decision | None]) -> list[str]:
    log = DecisionLog([each for _, each in pairs if each is not None][::-1])
    report = FunctionReport("f", "", allocations=tuple(found for found, _ in pairs))
    return [found.decision for found in with_decisions(report, log).allocations]


def test_decisions_are_matched_by_tile_and_layout() -> None:
    padded = allocation("memref<64x33xf32>", PaddedLayout(1))
    assert lines(
        (
            allocation("memref<2048xf32>", SWIZZLED, line="swizzled"),
            decision("tensor<64x32xf32>", Action.HINT, "proven", str(SWIZZLED)),
        ),
        (padded, decision("memref<64x32xf32>", Action.PAD, "62 -> 0", "4 bytes per row")),
        (
            allocation("memref<64x32xf32>", PlainLayout(), 62, "plain; proposed: padding"),
            decision("memref<64x32xf32>", Action.KEEP, "too big"),
        ),
    ) == [
        "swizzled; proven",
        "padded by 4 bytes per row: 62 -> 0",
        "kept plain: too big; proposed: padding",
    ]


def test_a_decision_on_another_tile_is_not_taken() -> None:
    plain = allocation("memref<64x32xf32>", PlainLayout(), 62, "plain; none")
    for kind in ("memref<64x32xf16>", "memref<32x64xf32>", "memref<164x32xf32>"):
        assert lines((plain, decision(kind, Action.KEEP, "why"))) == ["plain; none"]


def test_equal_tiles_are_told_apart_by_their_swizzles() -> None:
    other = SwizzledLayout((XorShuffle(32, 2),))
    kind = "tensor<64x32xf32>"
    assert lines(
        (
            allocation("memref<2048xf32>", SWIZZLED, line="a"),
            decision(kind, Action.HINT, "first", str(SWIZZLED)),
        ),
        (
            allocation("memref<2048xf32>", other, line="b"),
            decision(kind, Action.HINT, "second", str(other)),
        ),
    ) == ["a; first", "b; second"]


def test_padding_that_no_pass_of_ours_decided_is_stocks() -> None:
    padded = allocation("memref<64x34xf32>", PaddedLayout(2), line="padded by 8 bytes a row")
    assert lines((padded, None)) == ["padded by 8 bytes a row; stock's padding"]


def test_reads_by_ldmatrix_are_told_in_the_order_of_the_allocations() -> None:
    kind = "memref<64x32xf32>"
    by = FormLdmatrix.name
    first = Decision(by, "f", kind, "", Action.LDMATRIX, "proven", "4 loads become 1")
    other = Decision(by, "f", "memref<8xf32>", "", Action.KEEP, "of another memref")
    second = Decision(by, "f", kind, "", Action.KEEP, "a barrier between", "2 loads")
    tiles = (
        allocation(kind, PlainLayout(), line="plain"),
        allocation("memref<2048xf32>", SWIZZLED, line="swizzled"),
        allocation("memref<16x16xf16>", PlainLayout(), line="third"),
    )
    report = FunctionReport("f", "", allocations=tiles)
    log = DecisionLog()
    for each in (first, other, second):
        log.add(each, FormLdmatrix.layout_round)
    assert [each.decision for each in with_decisions(report, log).allocations] == [
        "plain; 4 loads become 1",
        "swizzled; no ldmatrix: a barrier between",
        "third",
    ]
