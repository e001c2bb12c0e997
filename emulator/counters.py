# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is counted while a kernel runs, per instruction of its text, and the totals of a run.

A new counter is a field of `Counters`, which the instruction that it counts adds to, and a row of
`RUN_COUNTERS`. Whoever shows or keeps totals (`bankwise-run`, sweeps) finds it there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Self

import numpy as np
import numpy.typing as npt

from .assembly import Kernel
from .chips import Chip
from .conflict_advice import ConflictingIssue
from .instruction_text import Instruction

Counts = npt.NDArray[np.int64]


class Counted(StrEnum):
    """The counters of a run that are asked for by name."""

    CONFLICTS = "SQ_LDS_BANK_CONFLICT"
    LDS = "SQ_INSTS_LDS"
    VALU = "SQ_INSTS_VALU"
    SALU = "SQ_INSTS_SALU"
    MFMA = "SQ_INSTS_MFMA"
    LDS_CYCLES = "LDS_CYCLES"
    LDS_FLOOR_CYCLES = "LDS_FLOOR_CYCLES"
    TRANSACTIONS = "GLOBAL_TRANSACTIONS_64B"


@dataclass(eq=False)
class Counters:
    """The counts of each instruction of a kernel, summed over waves.

    The arrays are [instructions], or [instructions, workgroups] where workgroups are told apart.

    Attributes:
        executions: how often some wave issued the instruction.
        lds_conflict_cycles: the cycles beyond one per phase, `SQ_LDS_BANK_CONFLICT`.
        lds_cycles: the cycles of all phases, conflicts included.
        lds_floor_cycles: the fewest cycles that the instruction's data volume takes.
        global_transactions: the 64-byte blocks of global memory that each wave touched.
        global_useful_bytes: the bytes of those blocks that lanes asked for.
        worst: for the instructions that conflict the issue of a wave that does most, by their
            places; it is not summed up.
    """

    executions: Counts
    lds_conflict_cycles: Counts
    lds_cycles: Counts
    lds_floor_cycles: Counts
    global_transactions: Counts
    global_useful_bytes: Counts

    def __post_init__(self) -> None:
        """Knows no issue that conflicts."""
        self.worst: dict[int, ConflictingIssue] = {}

    def note_conflicts(self, place: int, issue: ConflictingIssue) -> None:
        """Keeps an issue of an instruction if none has conflicted more."""
        if place not in self.worst or issue.conflicts > self.worst[place].conflicts:
            self.worst[place] = issue

    @classmethod
    def zeros(cls, *shape: int) -> Self:
        """Returns counters that have counted nothing.

        The arrays are [instructions] or [instructions, workgroups].
        """
        return cls(**{each.name: np.zeros(shape, np.int64) for each in fields(cls)})

    @classmethod
    def sum(cls, runs: Sequence[Self]) -> Self:
        """Returns the sums over at least one run of the same kernel."""
        return runs[0]._each(lambda *counts: np.add.reduce(counts), *runs[1:])

    def equals(self, other: Self) -> bool:
        """Returns whether another run of the same kernel counted the same for every instruction."""
        pairs = ((getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return all(np.array_equal(*pair) for pair in pairs)

    def of(self, workgroup: int) -> Self:
        """Returns the counts of one workgroup, by its place among those that are told apart."""
        return self._each(lambda counts: counts[:, workgroup].copy())

    def total(self) -> Self:
        """Returns the sums over the workgroups that are told apart."""
        return self._each(lambda counts: counts.sum(axis=1))

    def _each(self, function: Callable[..., Counts], *others: Self) -> Self:
        """Applies `function` to each field of these and of `others`."""
        runs = (self, *others)
        names = (each.name for each in fields(self))
        result = type(self)(**{n: function(*(getattr(run, n) for run in runs)) for n in names})
        for run in runs:
            for place, issue in run.worst.items():
                result.note_conflicts(place, issue)
        return result


def instruction_class(instruction: Instruction) -> str:
    """Returns the `SQ_INSTS_*` class that an instruction is counted in; empty if it is in none.

    Flat instructions are vector memory instructions, wherever they access: on MI300 SQ_INSTS_LDS
    does not include them, as it does on MI200 ("MI300 and MI200 Series performance counters and
    metrics", Instruction mix counters).

    rocprof counts matrix instructions as VALU instructions too (ROCm Compute Profiler, "Compute
    pipeline metrics": its VALU figure is SQ_INSTS_VALU - SQ_INSTS_MFMA). RDNA's `v_wmma_*` are
    counted as they are; an instruction `v_dual_*`, which is two, counts once.
    """
    name = instruction.mnemonic
    if name.startswith("ds_"):
        return "LDS"
    if name.startswith(("v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_")):
        return "MFMA"
    if name.startswith("v_"):
        return "VALU"
    if name.startswith(("buffer_", "global_", "flat_", "scratch_")):
        reads = "_load" in name
        return "VMEM_RD" if reads else "VMEM_WR"
    if name.startswith(_SCALAR_MEMORY):
        return "SMEM"
    if name.startswith(("s_branch", "s_cbranch")):
        return "BRANCH"
    return "" if name in _NO_WORK or name.startswith(_WAITS) else "SALU"


_SCALAR_MEMORY = (
    *("s_load", "s_buffer", "s_store", "s_atomic", "s_dcache", "s_gl1_inv", "s_prefetch"),
)
_WAITS = ("s_waitcnt", "s_wait_", "s_barrier")
_NO_WORK = frozenset(
    {
        *("s_nop", "s_endpgm", "s_sleep", "s_setprio", "s_delay_alu", "s_clause", "s_sendmsg"),
        "s_set_vgpr_msb",
    }
)


@dataclass(frozen=True)
class RunCounter:
    """One counter of a whole run.

    Attributes:
        name: the name by which rocprof knows the counter, where rocprof has it.
        total: computes the counter from the counts of a kernel's instructions, which are summed
            over workgroups, and from the executions of each instruction class.
    """

    name: str
    total: Callable[[Counters, Mapping[str, int]], int]


def _issued(name: str, *classes: str) -> RunCounter:
    """Returns the executions of the instructions of some classes."""
    return RunCounter(name, lambda _, issued: sum(issued.get(each, 0) for each in classes))


RUN_COUNTERS: tuple[RunCounter, ...] = (
    _issued(Counted.VALU, "VALU", "MFMA"),
    _issued(Counted.MFMA, "MFMA"),
    _issued(Counted.SALU, "SALU"),
    _issued("SQ_INSTS_SMEM", "SMEM"),
    _issued("SQ_INSTS_BRANCH", "BRANCH"),
    _issued("SQ_INSTS_VMEM_RD", "VMEM_RD"),
    _issued("SQ_INSTS_VMEM_WR", "VMEM_WR"),
    _issued(Counted.LDS, "LDS"),
    RunCounter(Counted.CONFLICTS, lambda counted, _: int(counted.lds_conflict_cycles.sum())),
    RunCounter(Counted.LDS_CYCLES, lambda counted, _: int(counted.lds_cycles.sum())),
    RunCounter(Counted.LDS_FLOOR_CYCLES, lambda counted, _: int(counted.lds_floor_cycles.sum())),
    RunCounter(Counted.TRANSACTIONS, lambda counted, _: int(counted.global_transactions.sum())),
    RunCounter("GLOBAL_USEFUL_BYTES", lambda counted, _: int(counted.global_useful_bytes.sum())),
)
"""The counters of a run in the order in which they are shown."""


def counter_names() -> list[str]:
    """Returns the names of the counters of a run in the order in which they are shown."""
    return [counter.name for counter in RUN_COUNTERS]


_SINCE_RDNA: Mapping[str, str] = {Counted.CONFLICTS: "SQC_LDS_BANK_CONFLICT"}


def shown_name(counter: str, chip: Chip) -> str:
    """Returns what rocprof calls a counter on a chip.

    In records a counter has one name for all chips: gfx9's.
    """
    return _SINCE_RDNA.get(counter, counter) if chip.is_rdna else counter


def totals(kernel: Kernel, counters: Counters) -> dict[str, int]:
    """Returns the counters of a whole run by name; `counters` are summed over workgroups."""
    issued: dict[str, int] = {}
    for instruction, count in zip(kernel.instructions, counters.executions.tolist(), strict=True):
        kind = instruction_class(instruction)
        issued[kind] = issued.get(kind, 0) + count
    return {counter.name: counter.total(counters, issued) for counter in RUN_COUNTERS}
