# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which decisions say what the code has."""

from __future__ import annotations

from bankwise.passes.decisions import Action, Decision, DecisionLog


def _decision(action: Action, allocation: str, left: int, place: str = "a:1:1") -> Decision:
    return Decision(
        "pass",
        "f",
        allocation,
        place,
        action,
        "",
        conflict_cycles_before=8,
        conflict_cycles_after=left,
    )


def _log(*decisions: Decision) -> DecisionLog:
    log = DecisionLog()
    for decision in decisions:
        log.add(decision)
    return log


def test_a_hint_that_is_dropped_counts_as_dropped() -> None:
    """The allocation has become flat meanwhile."""
    hint = _decision(Action.HINT, "memref<2x4x8xf16>", 0)
    drop = _decision(Action.DROP, "memref<64xf16>", 8)
    log = _log(hint, drop)
    assert (log.stands(hint), log.stands(drop)) == (False, True)
    assert log.conflict_cycles_left() == 8


def test_only_hints_of_the_allocation_itself_are_dropped() -> None:
    hints = (
        _decision(Action.HINT, "memref<64xf16>", 0, "a:2:1"),
        _decision(Action.HINT, "memref<64xf32>", 0),
        _decision(Action.HINT, "memref<32xf16>", 0),
    )
    log = _log(*hints, _decision(Action.DROP, "memref<64xf16>", 8))
    assert all(map(log.stands, hints))


def test_of_two_equal_allocations_one_keeps_its_hint() -> None:
    first, second = (_decision(Action.HINT, "memref<8x?xf16>", 0) for _ in range(2))
    log = _log(first, second, _decision(Action.DROP, "memref<8x?xf16>", 8))
    assert [log.stands(first), log.stands(second)] == [False, True]
