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
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ..emulator.assembly import Kernel
from ..emulator.chips import CDNA3, EMULATED_CHIPS
from ..emulator.waits import check_waits
from ..runtime.emulated_module import compile_for_emulation
from ..sweep.cases import target_flags
from ..sweep.engine import Workers
from ..sweep.kernels import Attention, Product, swept_attentions
from ..sweep.rows import installed_versions
from ..sweep.rows_file import RowsFile
from . import matmul_table
from .emulated_runs import MITIGATIONS
from .kept_rows import INTERRUPTED, RESULTS, fill_rows
from .runs import bench_parser

_ATTENTION_DTYPES = ("f16", "f32", "bf16")

Case = tuple[Attention | Product, str, str]
"""A kernel, a chip and a mitigation."""


@dataclass(frozen=True)
class WaitRow:
    """What was found in one module.

    Attributes:
        code: a digest of the code that compiles and checks.
        kernels: how many GPU kernels the module has.
        instructions: how many instructions these kernels have.
        waits: how many of the instructions are `s_waitcnt`.
        missing: a message for each instruction that lacks a wait.
        unfinished: how many barriers accesses to the LDS may be under way at.
    """

    kernel: str
    chip: str
    mitigation: str
    code: str
    kernels: int = 0
    instructions: int = 0
    waits: int = 0
    missing: list[str] = field(default_factory=list)
    unfinished: int = 0
    error: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """Returns a key that rows of the same measurement share."""
        return self.kernel, self.chip, self.mitigation, self.code

    @property
    def failed(self) -> bool:
        """Returns whether the module could not be compiled or checked."""
        return bool(self.error)


def cases(every: int) -> list[Case]:
    """Returns every `every`-th kernel of the attention sweep and of the table of matmuls."""
    kernels: list[tuple[Attention | Product, str]] = [
        (attention, CDNA3)
        for dtype in _ATTENTION_DTYPES
        for attention in swept_attentions(dtype)[::every]
    ]
    kernels += matmul_table.cases(EMULATED_CHIPS)[::every]
    return [(kernel, chip, mitigation) for kernel, chip in kernels for mitigation in MITIGATIONS]


def empty_row(case: Case) -> WaitRow:
    """Returns the row of a case that has not been checked."""
    kernel, chip, mitigation = case
    return WaitRow(kernel.name, chip, mitigation, installed_versions().code)


def measure(case: Case) -> WaitRow:
    """Compiles and checks one case; what fails is in the row too."""
    kernel, chip, mitigation = case
    row = empty_row(case)
    try:
        with compile_for_emulation(kernel.source(), target_flags(chip), mitigation) as module:
            return _checked(row, module.kernels)
    except Exception as error:
        # Whatever fails, the other kernels are to be checked.
        return replace(row, error=f"{type(error).__name__}: {error}")


def _checked(row: WaitRow, kernels: Mapping[str, Kernel]) -> WaitRow:
    instructions = [each for kernel in kernels.values() for each in kernel.instructions]
    reports = [(kernel, check_waits(kernel)) for kernel in kernels.values()]
    return replace(
        row,
        kernels=len(kernels),
        instructions=len(instructions),
        waits=sum(each.mnemonic == "s_waitcnt" for each in instructions),
        missing=[
            f"{kernel.name}:{kernel.instructions[found.instruction].line}: {found.message(kernel)}"
            for kernel, report in reports
            for found in report.missing
        ],
        unfinished=sum(len(report.unfinished) for _, report in reports),
    )


def summary(rows: list[WaitRow]) -> Table:
    """Returns one line per chip and mitigation."""
    table = Table(
        "chip", "mitigation", "modules", "failed", "kernels", "instructions", "waits",
        "missing waits", "barriers with LDS under way",
    )  # fmt: skip
    for chip, mitigation in dict.fromkeys((row.chip, row.mitigation) for row in rows):
        group = [row for row in rows if (row.chip, row.mitigation) == (chip, mitigation)]
        sums = [
            sum(bool(row.error) for row in group),
            *(sum(getattr(row, name) for row in group) for name in _SUMMED),
            sum(len(row.missing) for row in group),
            sum(row.unfinished for row in group),
        ]
        table.add_row(chip, mitigation, f"{len(group):,}", *(f"{value:,}" for value in sums))
    return table


_SUMMED = ("kernels", "instructions", "waits")


def main() -> int:
    """Checks all cases; exits with 1 when a wait is missing or a case fails."""
    parser = bench_parser(__doc__, "compiles", every="attention shape")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "wait_check.jsonl")
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    workers = Workers(arguments.jobs)
    with RowsFile(arguments.output, WaitRow) as file:
        chosen = cases(arguments.every)
        rows, stopped = fill_rows(file, chosen, empty_row, measure, "waits", workers)
    Console(width=140).print(summary(rows))
    faults = [(row, text) for row in rows for text in [row.error] * row.failed + row.missing]
    for row, text in faults:
        print(f"{row.kernel} for {row.chip}, {row.mitigation}: {text}")
    return INTERRUPTED if stopped else int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
