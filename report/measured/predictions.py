# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which counters of the profilers the bank model predicts, and what it predicts of a workgroup."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from ...bank_model.features import features_of
from ...bank_model.layout_counts import LayoutCount
from ...bank_model.lds_rules import AccessKind
from ...bank_model.lds_tables import copy_instruction
from ..conflict_report import LDMATRIX_NAME, AccessGroup, FunctionReport

READS, WRITES = frozenset({AccessKind.READ}), frozenset({AccessKind.WRITE})
BOTH = READS | WRITES


@dataclass(frozen=True)
class Prediction:
    """What a counter counts in one workgroup of a kernel whose report is given.

    Attributes:
        of: the count; of a share, None where the kernel has nothing of which it could be one.
        unit: what a share is in, behind its number: "%", or nothing for a ratio.
        is_share: whether it is a share, which has decimals and is the same for every grid.
        at_most: whether the counter may be less, because its whole is more than what is predicted.
        remark: what to know of a comparison, in a clause; empty if there is nothing.
    """

    of: Callable[[FunctionReport], float | None]
    unit: str = ""
    is_share: bool = False
    at_most: Callable[[FunctionReport], bool] = lambda _: False
    remark: Callable[[FunctionReport], str] = lambda _: ""

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


def _cycles_without_conflicts(group: AccessGroup, count: LayoutCount) -> int:
    return group.lds_cycles(count) - group.conflict_cycles(count)


def _by_loads(group: AccessGroup, count: LayoutCount) -> int:
    return group.lds_cycles(count) - _by_ldmatrix(group, count)


_Count = Callable[[AccessGroup, LayoutCount], int]


def _copied(counted: _Count, by_copies: bool) -> _Count:
    """Returns what counts `cp.async` alone, or everything else."""
    return lambda group, count: counted(group, count) if group.is_copy == by_copies else 0


_BYPASSING = copy_instruction(16, bypasses_l1=True)


def _through_l1(counted: _Count) -> _Count:
    """Returns what leaves out copies past the L1 cache."""

    def count(group: AccessGroup, layouts: LayoutCount) -> int:
        bypasses = group.accesses[0].instruction == _BYPASSING
        return 0 if bypasses else counted(group, layouts)

    return count


_BY_DESCRIPTORS = Prediction(lambda report: sum(a.descriptor_cycles for a in report.allocations))
_NO_CONFLICTS = Prediction(lambda _: 0)
"""Descriptors have none (`described_reads.py`)."""

_NCU_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
_NCU_COPY_CONFLICTS = "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts"
_NCU_CYCLES = (
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared",
)
_NCU_TOTAL = f"{_NCU_CYCLES[1]}.sum"
_NCU_BY_SOURCE = "memory_l1_wavefronts_shared"
_TOTAL_OF_ANOTHER_KIND = (
    "as an H200 counts it, it leaves out cp.async past the L1 cache, and has some cycles of each "
    "workgroup and barrier that no access takes; compare the parts by operation, "
    f"{_NCU_CYCLES[0]}_op_ld, _op_ldsm, _op_st and _op_ldgsts.sum, or {_NCU_BY_SOURCE}"
)
"""Seen in `ncu` 2025.3.1: 8,520 of 8,448 in 8 workgroups with a barrier; 4,360 of 4,608 where 512
of these are by `cp.async` of 16 bytes; 278,177 of 397,312 in an attention, where 131,072 are."""


def _of_ncu() -> Iterator[tuple[str, Prediction]]:
    of_groups, all_cycles = Prediction.of_groups, AccessGroup.lds_cycles
    yield _NCU_BY_SOURCE, of_groups(BOTH, all_cycles)
    yield f"{_NCU_BY_SOURCE}_ideal", of_groups(BOTH, _cycles_without_conflicts)
    yield f"derived__{_NCU_BY_SOURCE}_excessive", of_groups(BOTH, AccessGroup.conflict_cycles)
    for suffix, kinds in (("", BOTH), ("_op_ld", READS)):
        yield f"{_NCU_CONFLICTS}{suffix}.sum", of_groups(kinds, AccessGroup.conflict_cycles)
        for name in _NCU_CYCLES:
            # The instructions' own counter tells `ldmatrix` from other loads.
            told_apart = kinds == READS and name == _NCU_CYCLES[0]
            yield f"{name}{suffix}.sum", of_groups(kinds, _by_loads if told_apart else all_cycles)
    stored, copied = (_copied(AccessGroup.conflict_cycles, each) for each in (False, True))
    yield f"{_NCU_CONFLICTS}_op_st.sum", of_groups(WRITES, stored)
    for name in (_NCU_COPY_CONFLICTS, f"{_NCU_CONFLICTS}_op_ldgsts"):
        yield f"{name}.sum", of_groups(WRITES, copied)
    for name in _NCU_CYCLES:
        yield f"{name}_op_st.sum", of_groups(WRITES, _copied(all_cycles, by_copies=False))
    by_copies = _copied(all_cycles, by_copies=True)
    yield f"{_NCU_CYCLES[0]}_op_ldgsts.sum", of_groups(WRITES, by_copies)
    through_l1 = of_groups(WRITES, _through_l1(by_copies))
    yield f"{_NCU_CYCLES[0]}_op_ldgsts_cache_access.sum", through_l1
    yield f"{_NCU_CYCLES[0]}_op_ldsm.sum", of_groups(READS, _by_ldmatrix)
    yield f"{_NCU_CONFLICTS}_op_gmma.sum", _NO_CONFLICTS
    yield f"{_NCU_CYCLES[-1]}_op_gmma.sum", _BY_DESCRIPTORS


_CONFLICTS = Prediction.of_groups(BOTH, AccessGroup.conflict_cycles)
_CYCLES = Prediction.of_groups(BOTH, AccessGroup.lds_cycles)


def _conflicts_of_cycles(report: FunctionReport) -> float | None:
    """Returns how much of the LDS cycles are conflict cycles, in per cent."""
    cycles, conflicts = _CYCLES.of(report), _CONFLICTS.of(report)
    return 100 * conflicts / cycles if cycles and conflicts is not None else None


def _conflicts_an_access(report: FunctionReport) -> float | None:
    """Returns conflict cycles over the other LDS cycles."""
    cycles, conflicts = _CYCLES.of(report), _CONFLICTS.of(report)
    return conflicts / (cycles - conflicts) if cycles and conflicts is not None else None


def _is_of_time(report: FunctionReport) -> bool:
    return features_of(report.arch).conflicts_of_time


def _share_of_time(report: FunctionReport) -> str:
    return (
        f"on {report.arch} it is the part of the kernel's time in which conflicts stall the LDS; "
        "predicted is their part of the LDS's cycles, which are no more than that time"
        if _is_of_time(report)
        else ""
    )


PREDICTIONS: Mapping[str, Prediction] = {
    "SQ_LDS_BANK_CONFLICT": _CONFLICTS,
    "SQ_LDS_IDX_ACTIVE": _CYCLES,
    # What gfx10 and newer call them.
    "SQC_LDS_BANK_CONFLICT": _CONFLICTS,
    "SQC_LDS_IDX_ACTIVE": _CYCLES,
    # As `counter_defs.yaml` of rocprofiler-sdk 1.0 defines them.
    "LDSBankConflict": Prediction(
        _conflicts_of_cycles, "%", is_share=True, at_most=_is_of_time, remark=_share_of_time
    ),
    "LdsBankConflict": Prediction(_conflicts_an_access, is_share=True),
    **dict(_of_ncu()),
    _NCU_TOTAL: replace(
        Prediction.of_groups(BOTH, _through_l1(AccessGroup.lds_cycles)),
        remark=lambda _: _TOTAL_OF_ANOTHER_KIND,
    ),
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
    **dict.fromkeys(
        ("SQ_WAIT_INST_LDS", "SQ_ACTIVE_INST_LDS", "ALUStalledByLDS", "LdsUtil", "LdsLatency"),
        "it depends on the kernel's time, which bankwise-run --timing predicts",
    ),
}
"""Counters about the LDS or the instructions that the bank model does not predict, and why."""

SHARES = frozenset(
    {
        *(name for name, prediction in PREDICTIONS.items() if prediction.is_share),
        *("ALUStalledByLDS", "LdsUtil", "LdsLatency"),
    }
)
"""Those that are no whole numbers."""


def is_about_lds(name: str) -> bool:
    """Returns whether a counter's name says that it is about the LDS, predicted or not."""
    return "lds" in name.lower().replace("ldst", "") or "mem_shared" in name
