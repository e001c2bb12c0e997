# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is counted while a kernel runs, per instruction of its text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from .assembly import Instruction, Kernel


class _CounterArrays:
    """One array per counter; all are parts of one, so that they are copied and added together.

    Attributes:
        executions: times the instruction was issued by some wave.
        lds_conflict_cycles: cycles beyond one per phase, `SQ_LDS_BANK_CONFLICT`.
        lds_cycles: phases run, conflicts included.
        lds_floor_cycles: the fewest cycles that the instructions' data volume takes.
        global_transactions: 64-byte blocks of global memory touched, per wave and instruction.
        global_useful_bytes: bytes that lanes asked for, of those blocks.
        lds: the three LDS counters, [3, ...], in this order.
    """

    def __init__(self, values: npt.NDArray[np.int64]) -> None:
        self._values = values
        self.executions = values[0]
        self.lds_conflict_cycles, self.lds_cycles, self.lds_floor_cycles = values[1:4]
        self.lds = values[1:4]
        self.global_transactions, self.global_useful_bytes = values[4:]


_COUNTERS = 6


class Counters(_CounterArrays):
    """Per-instruction counts, summed over waves; arrays are [instructions]."""

    def __init__(self, instructions: int) -> None:
        super().__init__(np.zeros((_COUNTERS, instructions), np.int64))

    def add(self, other: Counters) -> None:
        """Adds another run of the same kernel."""
        self._values += other._values

    def equals(self, other: Counters) -> bool:
        """Whether another run of the same kernel counted the same, instruction by instruction."""
        return np.array_equal(self._values, other._values)


class WorkgroupCounters(_CounterArrays):
    """The same counts, told apart by workgroup: the arrays are [instructions, workgroups]."""

    def __init__(self, instructions: int, workgroups: int) -> None:
        super().__init__(np.zeros((_COUNTERS, instructions, workgroups), np.int64))

    def of(self, workgroup: int) -> Counters:
        """The counts of one workgroup, by its place among those that run together."""
        result = Counters(len(self.executions))
        result._values[:] = self._values[:, :, workgroup]
        return result

    def total(self) -> Counters:
        """The sums over the workgroups."""
        result = Counters(len(self.executions))
        result._values[:] = self._values.sum(axis=2)
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
