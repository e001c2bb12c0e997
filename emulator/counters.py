# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is counted while a kernel runs, per instruction of its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import numpy as np
import numpy.typing as npt

from .assembly import Instruction, Kernel


@dataclass(eq=False)
class _CounterArrays:
    """One array per counter.

    Attributes:
        executions: times the instruction was issued by some wave.
        lds_conflict_cycles: cycles beyond one per phase, `SQ_LDS_BANK_CONFLICT`.
        lds_cycles: phases run, conflicts included.
        lds_floor_cycles: the fewest cycles that the instructions' data volume takes.
        global_transactions: 64-byte blocks of global memory touched, per wave and instruction.
        global_useful_bytes: bytes that lanes asked for, of those blocks.
    """

    executions: npt.NDArray[np.int64] = field(init=False)
    lds_conflict_cycles: npt.NDArray[np.int64] = field(init=False)
    lds_cycles: npt.NDArray[np.int64] = field(init=False)
    lds_floor_cycles: npt.NDArray[np.int64] = field(init=False)
    global_transactions: npt.NDArray[np.int64] = field(init=False)
    global_useful_bytes: npt.NDArray[np.int64] = field(init=False)

    def _clear(self, *shape: int) -> None:
        for name in _ARRAYS:
            setattr(self, name, np.zeros(shape, np.int64))


_ARRAYS = tuple(each.name for each in fields(_CounterArrays))


@dataclass(eq=False)
class Counters(_CounterArrays):
    """Per-instruction counts, summed over waves; arrays are [instructions]."""

    instructions: int

    def __post_init__(self) -> None:
        self._clear(self.instructions)

    def add(self, other: Counters) -> None:
        """Adds another run of the same kernel."""
        for name in _ARRAYS:
            getattr(self, name)[:] += getattr(other, name)

    def equals(self, other: Counters) -> bool:
        """Whether another run of the same kernel counted the same, instruction by instruction."""
        return all(np.array_equal(getattr(self, n), getattr(other, n)) for n in _ARRAYS)


@dataclass(eq=False)
class WorkgroupCounters(_CounterArrays):
    """The same counts, told apart by workgroup: the arrays are [instructions, workgroups]."""

    instructions: int
    workgroups: int

    def __post_init__(self) -> None:
        self._clear(self.instructions, self.workgroups)

    def of(self, workgroup: int) -> Counters:
        """The counts of one workgroup, by its place among those that run together."""
        result = Counters(self.instructions)
        for name in _ARRAYS:
            getattr(result, name)[:] = getattr(self, name)[:, workgroup]
        return result

    def total(self) -> Counters:
        """The sums over the workgroups."""
        result = Counters(self.instructions)
        for name in _ARRAYS:
            getattr(result, name)[:] = getattr(self, name).sum(axis=1)
        return result


def instruction_class(instruction: Instruction) -> str:
    """The `SQ_INSTS_*` class that an instruction is counted in; empty for those that are in none.

    rocprof counts matrix instructions as VALU instructions too (ROCm Compute Profiler, "Compute
    pipeline metrics": its VALU figure is SQ_INSTS_VALU - SQ_INSTS_MFMA).
    """
    name = instruction.mnemonic
    if name.startswith("ds_"):
        return "LDS"
    if name.startswith(("v_mfma_", "v_smfmac_")):
        return "MFMA"
    if name.startswith("v_"):
        return "VALU"
    if name.startswith(("buffer_", "global_", "flat_", "scratch_")):
        reads = "_load" in name
        return "VMEM_RD" if reads else "VMEM_WR"
    if name.startswith(("s_load", "s_buffer_load", "s_store", "s_dcache")):
        return "SMEM"
    if name.startswith(("s_branch", "s_cbranch")):
        return "BRANCH"
    if name in ("s_nop", "s_waitcnt", "s_barrier", "s_endpgm", "s_sleep", "s_setprio"):
        return ""
    return "SALU"


def totals(kernel: Kernel, counters: Counters) -> Mapping[str, int]:
    """The counters of a whole run, named as rocprof names them."""
    issued: dict[str, int] = {}
    for instruction, count in zip(kernel.instructions, counters.executions.tolist(), strict=True):
        kind = instruction_class(instruction)
        issued[kind] = issued.get(kind, 0) + count
    mfma = issued.get("MFMA", 0)
    return {
        "SQ_INSTS_VALU": issued.get("VALU", 0) + mfma,
        "SQ_INSTS_MFMA": mfma,
        "SQ_INSTS_SALU": issued.get("SALU", 0),
        "SQ_INSTS_SMEM": issued.get("SMEM", 0),
        "SQ_INSTS_BRANCH": issued.get("BRANCH", 0),
        "SQ_INSTS_VMEM_RD": issued.get("VMEM_RD", 0),
        "SQ_INSTS_VMEM_WR": issued.get("VMEM_WR", 0),
        "SQ_INSTS_LDS": issued.get("LDS", 0),
        "SQ_LDS_BANK_CONFLICT": int(counters.lds_conflict_cycles.sum()),
        "LDS_CYCLES": int(counters.lds_cycles.sum()),
        "LDS_FLOOR_CYCLES": int(counters.lds_floor_cycles.sum()),
        "GLOBAL_TRANSACTIONS_64B": int(counters.global_transactions.sum()),
        "GLOBAL_USEFUL_BYTES": int(counters.global_useful_bytes.sum()),
    }
