# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what a report says of each allocation, by `bank_model/proof.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..bank_model.accesses import LdsAccess
from ..bank_model.errors import ProofError
from ..bank_model.proof import Optimality, Proof, check
from .conflict_report import AllocationReport, CheckedProof, FunctionReport

_CLAIMS = {
    None: "",
    Optimality.FLOOR: "; no layout can have fewer",
    Optimality.LINEAR_MINIMUM: "; all linear swizzles were tried again, and none has fewer",
    Optimality.BEST_FOUND: "; nobody claims that no layout has fewer",
}


def with_checked_proofs(report: FunctionReport) -> FunctionReport:
    """Returns the report with the proof of every allocation checked that could be counted."""
    allocations = tuple(replace(each, proof=_checked(each)) for each in report.allocations)
    return replace(report, allocations=allocations)


def why_not_proven(reports: Sequence[FunctionReport]) -> str:
    """Returns which proof does not hold, in one line; empty where all of them hold."""
    allocations = [each for report in reports for each in report.allocations]
    failed = [
        (number, each.proof.text)
        for number, each in enumerate(allocations, 1)
        if each.proof is not None and not each.proof.holds
    ]
    if not failed:
        return ""
    number, text = failed[0]
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    return f"allocation {number}{more}: {text}"


def _checked(allocation: AllocationReport) -> CheckedProof | None:
    before, chosen = allocation.before, allocation.chosen
    if before is None or chosen is None or allocation.lds is None or allocation.tile is None:
        return None
    accesses = _accesses(allocation)
    claim = _claim(allocation)
    proof = Proof(
        arch=allocation.lds.arch,
        tile=allocation.tile,
        layout=chosen.layout,
        lds_bytes=chosen.lds_bytes,
        costs=chosen.costs,
        conflict_cycles=chosen.conflict_cycles,
        plain_conflict_cycles=before.conflict_cycles,
        optimality=claim,
    )
    try:
        check(proof, allocation.lds, accesses)
    except ProofError as error:
        return CheckedProof(False, f"the proof of its layout does not hold: {error}")
    known = " that are known" if allocation.unknown else ""
    return CheckedProof(
        True,
        f"the proof of its layout holds: the {len(accesses):,} accesses{known}, counted again lane "
        f"by lane, have {before.conflict_cycles:,} conflict cycles in the plain layout and "
        f"{chosen.conflict_cycles:,} in this one{_CLAIMS[claim]}",
    )


def _accesses(allocation: AllocationReport) -> list[LdsAccess]:
    """Returns the accesses of all groups, in the order of the counted costs."""
    members = [
        (member, access)
        for group in allocation.groups
        for member, access in zip(group.members, group.accesses, strict=True)
    ]
    return [access for _, access in sorted(members, key=lambda each: each[0])]


def _claim(allocation: AllocationReport) -> Optimality | None:
    """Returns what the decision claims about other layouts; None for a layout that is not ours."""
    assert allocation.chosen is not None
    if not allocation.is_ours:
        return None
    if not allocation.chosen.conflict_cycles:
        return Optimality.FLOOR
    if Optimality.LINEAR_MINIMUM.value in allocation.decision:
        return Optimality.LINEAR_MINIMUM
    return Optimality.BEST_FOUND
