# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the waits of all kernels that are measured here, without running them.

python -m bankwise.bench.wait_check [--every N] [--jobs N] [-o waits.jsonl]

Compiles the 110 attention shapes in f16, f32 and bf16 for gfx942 and the kernels of `matmul_table`
for gfx942 and gfx950, each with `none`, `stock` and `auto`, and follows all paths of their assembly
(`emulator.waits`). Finished rows are appended to the output at once; the same command goes on from
there. Rows of other sources of the passes or the emulator do not count.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..emulator.chips import CDNA3, EMULATED_CHIPS
from ..emulator.waits import check_waits
from ..runtime.emulated_module import compile_for_emulation
from ..sweep.cases import target_flags
from ..sweep.kernels import AnyKernel
from . import matmul_table
from .benchmark import RESULTS, Benchmark, BenchRow, table, total
from .emulated_runs import MITIGATIONS
from .runs import attention_cases

Case = tuple[AnyKernel, str, str]
"""A kernel, a chip and a mitigation."""


@dataclass(frozen=True)
class WaitRow(BenchRow):
    """What was found in one module.

    Attributes:
        kernels: how many GPU kernels the module has.
        instructions: how many instructions these kernels have.
        waits: how many of the instructions are `s_waitcnt`.
        missing: a message for each instruction that lacks a wait.
        unfinished: how many barriers accesses to the LDS may be under way at.
    """

    kernels: int = 0
    instructions: int = 0
    waits: int = 0
    missing: list[str] = field(default_factory=list)
    unfinished: int = 0

    def measured(self, case: Case) -> WaitRow:
        """Compiles and checks a kernel."""
        kernel, chip, mitigation = case
        with compile_for_emulation(kernel.source(), target_flags(chip), mitigation) as module:
            kernels = list(module.kernels.values())
        instructions = [each for kernel in kernels for each in kernel.instructions]
        reports = [(kernel, check_waits(kernel)) for kernel in kernels]
        return replace(
            self,
            kernels=len(kernels),
            instructions=len(instructions),
            waits=sum(each.mnemonic == "s_waitcnt" for each in instructions),
            missing=[
                f"{kernel.name}:{kernel.instructions[found.instruction].line}: "
                f"{found.message(kernel)}"
                for kernel, report in reports
                for found in report.missing
            ],
            unfinished=sum(len(report.unfinished) for _, report in reports),
        )

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        return super().faults + self.missing


def cases(every: int) -> list[Case]:
    """Returns every `every`-th kernel of the attention sweep and of the table of matmuls."""
    attentions = attention_cases({CDNA3: ("f16", "f32", "bf16")}, every)
    kernels = [*attentions, *matmul_table.cases(EMULATED_CHIPS)[::every]]
    return [(kernel, chip, mitigation) for kernel, chip in kernels for mitigation in MITIGATIONS]


def summary(rows: Sequence[WaitRow]) -> str:
    """Returns a table with one line per chip and mitigation."""
    columns = {
        "modules": len,
        "failed": total("failed"),
        "kernels": total("kernels"),
        "instructions": total("instructions"),
        "waits": total("waits"),
        "missing waits": total("missing"),
        "barriers with LDS under way": total("unfinished"),
    }
    return table(rows, ("target", "mode"), columns)


BENCHMARK = Benchmark(
    "waits",
    WaitRow,
    lambda arguments: cases(arguments.every),
    summary,
    every="attention shape",
    output=RESULTS / "wait_check.jsonl",
)


if __name__ == "__main__":
    sys.exit(BENCHMARK.main(__doc__))
