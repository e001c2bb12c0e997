# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which counters of the profilers the bank model predicts, and what it predicts of a workgroup."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ...bank_model.layout_counts import LayoutCount
from ...bank_model.targets import AccessKind
from ..conflict_report import LDMATRIX_NAME, AccessGroup, FunctionReport

READS, WRITES = frozenset({AccessKind.READ}), frozenset({AccessKind.WRITE})
BOTH = READS | WRITES


@dataclass(frozen=True)
class Prediction:
    """What a counter counts in one workgroup of a kernel whose report is given."""

    of: Callable[[FunctionReport], int]

    @staticmethod
    def of_groups(
        kinds: frozenset[AccessKind], count: Callable[[AccessGroup, LayoutCount], int]
    ) -> Prediction:
        """Predicts the sum of what the groups of accesses of some kinds count in their layouts."""
        return Prediction(
            lambda report: sum(
                count(group, each.standing)
                for each in report.allocations
                if each.standing is not None
                for group in each.groups
                if group.kind in kinds
            )
        )


def _by_ldmatrix(group: AccessGroup, count: LayoutCount) -> int:
    is_ldmatrix = group.accesses[0].instruction == LDMATRIX_NAME
    return group.lds_cycles(count) if is_ldmatrix else 0


def _by_loads(group: AccessGroup, count: LayoutCount) -> int:
    return group.lds_cycles(count) - _by_ldmatrix(group, count)


_Count = Callable[[AccessGroup, LayoutCount], int]


def _copied(counted: _Count, by_copies: bool) -> _Count:
    """Returns what counts `cp.async` alone, or everything else."""
    return lambda group, count: counted(group, count) if group.is_copy == by_copies else 0


_BY_DESCRIPTORS = Prediction(lambda report: sum(a.descriptor_cycles for a in report.allocations))
_NO_CONFLICTS = Prediction(lambda _: 0)
"""Descriptors have none (`described_reads.py`)."""

_NCU_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
_NCU_COPY_CONFLICTS = "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts"
_NCU_CYCLES = (
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared",
)


def _of_ncu() -> Iterator[tuple[str, Prediction]]:
    of_groups, all_cycles = Prediction.of_groups, AccessGroup.lds_cycles
    for suffix, kinds in (("", BOTH), ("_op_ld", READS)):
        yield f"{_NCU_CONFLICTS}{suffix}.sum", of_groups(kinds, AccessGroup.conflict_cycles)
        for name in _NCU_CYCLES:
            # The instructions' own counter tells `ldmatrix` from other loads.
            told_apart = kinds == READS and name == _NCU_CYCLES[0]
            yield f"{name}{suffix}.sum", of_groups(kinds, _by_loads if told_apart else all_cycles)
    stored, copied = (_copied(AccessGroup.conflict_cycles, each) for each in (False, True))
    yield f"{_NCU_CONFLICTS}_op_st.sum", of_groups(WRITES, stored)
    yield f"{_NCU_COPY_CONFLICTS}.sum", of_groups(WRITES, copied)
    for name in _NCU_CYCLES:
        yield f"{name}_op_st.sum", of_groups(WRITES, _copied(all_cycles, by_copies=False))
    yield f"{_NCU_CYCLES[0]}_op_ldgsts.sum", of_groups(WRITES, _copied(all_cycles, by_copies=True))
    yield f"{_NCU_CYCLES[0]}_op_ldsm.sum", of_groups(READS, _by_ldmatrix)
    yield f"{_NCU_CONFLICTS}_op_gmma.sum", _NO_CONFLICTS
    yield f"{_NCU_CYCLES[-1]}_op_gmma.sum", _BY_DESCRIPTORS


PREDICTIONS: Mapping[str, Prediction] = {
    "SQ_LDS_BANK_CONFLICT": Prediction.of_groups(BOTH, AccessGroup.conflict_cycles),
    "SQ_LDS_IDX_ACTIVE": Prediction.of_groups(BOTH, AccessGroup.lds_cycles),
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
