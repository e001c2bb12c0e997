# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which counters of the profilers the bank model predicts, and what it predicts of a workgroup."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ...bank_model.targets import AccessKind
from ..conflict_report import LDMATRIX_NAME, AllocationReport, FunctionReport

READS, WRITES = frozenset({AccessKind.READ}), frozenset({AccessKind.WRITE})
BOTH = READS | WRITES


@dataclass(frozen=True)
class Prediction:
    """What a counter counts of the accesses of some kinds, in one workgroup."""

    kinds: frozenset[AccessKind]
    of_allocation: Callable[[AllocationReport, frozenset[AccessKind]], int]

    def of(self, report: FunctionReport) -> int:
        """Returns the count of one workgroup in the code as it stands."""
        return sum(self.of_allocation(each, self.kinds) for each in report.allocations)


def _conflicts(allocation: AllocationReport, kinds: frozenset[AccessKind]) -> int:
    standing = allocation.standing
    if standing is None:
        return 0
    return sum(g.conflict_cycles(standing) for g in allocation.groups if g.kind in kinds)


def _cycles(allocation: AllocationReport, kinds: frozenset[AccessKind]) -> int:
    standing = allocation.standing
    if standing is None:
        return 0
    return sum(g.lds_cycles(standing) for g in allocation.groups if g.kind in kinds)


def _by_ldmatrix(allocation: AllocationReport, kinds: frozenset[AccessKind]) -> int:
    standing = allocation.standing
    if standing is None:
        return 0
    groups = (g for g in allocation.groups if g.accesses[0].instruction == LDMATRIX_NAME)
    return sum(g.lds_cycles(standing) for g in groups if g.kind in kinds)


def _by_loads(allocation: AllocationReport, kinds: frozenset[AccessKind]) -> int:
    return _cycles(allocation, kinds) - _by_ldmatrix(allocation, kinds)


def _descriptors(allocation: AllocationReport, _: frozenset[AccessKind]) -> int:
    return allocation.descriptor_cycles


def _no_conflicts(_: AllocationReport, __: frozenset[AccessKind]) -> int:
    """Returns that descriptors have none (`described_reads.py`)."""
    return 0


_NCU_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
_NCU_CYCLES = (
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared",
)


def _of_ncu() -> Iterator[tuple[str, Prediction]]:
    for suffix, kinds in (("", BOTH), ("_op_ld", READS), ("_op_st", WRITES)):
        yield f"{_NCU_CONFLICTS}{suffix}.sum", Prediction(kinds, _conflicts)
        for name in _NCU_CYCLES:
            # The instructions' own counter tells `ldmatrix` from other loads.
            told_apart = kinds == READS and name == _NCU_CYCLES[0]
            counted = _by_loads if told_apart else _cycles
            yield f"{name}{suffix}.sum", Prediction(kinds, counted)
    yield f"{_NCU_CYCLES[0]}_op_ldsm.sum", Prediction(READS, _by_ldmatrix)
    yield f"{_NCU_CONFLICTS}_op_gmma.sum", Prediction(READS, _no_conflicts)
    yield f"{_NCU_CYCLES[-1]}_op_gmma.sum", Prediction(READS, _descriptors)


PREDICTIONS: Mapping[str, Prediction] = {
    "SQ_LDS_BANK_CONFLICT": Prediction(BOTH, _conflicts),
    "SQ_LDS_IDX_ACTIVE": Prediction(BOTH, _cycles),
    **dict(_of_ncu()),
}
"""By the names of the counters, in the order in which they are shown."""

_COUNTED_BY_A_RUN = "only the compiled code says it; bankwise-run --counters predicts it"
UNPREDICTED: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "SQ_INSTS_LDS",
            "SQ_INSTS_VALU",
            "SQ_INSTS_MFMA",
            "SQ_INSTS_SALU",
            "SQ_INSTS_SMEM",
            "SQ_INSTS_BRANCH",
            "SQ_INSTS_VMEM_RD",
            "SQ_INSTS_VMEM_WR",
        ),
        _COUNTED_BY_A_RUN,
    ),
    "SQ_LDS_ADDR_CONFLICT": "equal addresses of atomics are not modelled",
    "SQ_LDS_UNALIGNED_STALL": "stalls of unaligned accesses are not modelled",
}
"""Counters about the LDS or the instructions that the bank model does not predict, and why."""
