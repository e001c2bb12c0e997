# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the code of all kernels that are measured here, without running them.

    python -m bankwise.bench.code_checks waits [--every N] [--jobs N] [-o DIR]
    python -m bankwise.bench.code_checks operands [--every N] [--jobs N] [-o DIR]
    python -m bankwise.bench.code_checks operands FILE.s ...

`waits` compiles the 110 attention shapes in f16, f32 and bf16 for gfx942 and the kernels of
`matmul_table` for gfx942 and gfx950, each with `none`, `stock` and `auto`. It follows all paths of
their assembly, and finds uses of what has not arrived (`emulator.waits`). `operands` compiles these
kernels for gfx950, with `stock` and with `auto` at all levels, or reads assembly files. It finds
packed instructions that may read old values (`emulator.operand_reuse`). Each row says what both
checks find. Finished rows are appended to the output at once; the same command goes on from there.
Rows of other sources of the passes or the emulator do not count.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..emulator.assembly import Kernel, parse_assembly
from ..emulator.chips import CDNA3, CDNA4
from ..emulator.operand_reuse import suspect_reads
from ..emulator.timing.constants import TIMED_CHIPS
from ..emulator.waits import check_waits
from ..runtime.emulated_module import compile_for_emulation
from ..sweep.cases import target_flags
from ..sweep.swept_kernels import AnyKernel
from . import matmul_table
from .benchmark import Benchmark, BenchRow, table, total
from .emulated_runs import MODES
from .runs import attention_cases

Case = tuple[AnyKernel, str, str]
"""A kernel, a chip and a mode."""

_DTYPES = ("f16", "f32", "bf16")
_LEVELS = ("stock", "auto/layout", "auto/exact", "auto/fast", "auto/fast/on")


@dataclass(frozen=True)
class CodeRow(BenchRow):
    """What was found in one module.

    Attributes:
        kernels: how many GPU kernels the module has.
        missing: a message for each instruction that lacks a wait.
        unfinished: how many barriers accesses to the LDS may be under way at.
        suspected: a message for each packed instruction that may read old values.
    """

    kernels: int = 0
    missing: list[str] = field(default_factory=list)
    unfinished: int = 0
    suspected: list[str] = field(default_factory=list)

    def measured(self, case: Case) -> CodeRow:
        """Compiles and checks a kernel."""
        kernel, chip, mode = case
        with compile_for_emulation(kernel.source(), target_flags(chip), mode) as module:
            kernels = list(module.kernels.values())
        reports = [(kernel, check_waits(kernel)) for kernel in kernels]
        return replace(
            self,
            kernels=len(kernels),
            missing=[
                f"{kernel.name}:{kernel.instructions[found.instruction].line}: "
                f"{found.message(kernel)}"
                for kernel, report in reports
                for found in report.missing
            ],
            unfinished=sum(len(report.unfinished) for _, report in reports),
            suspected=suspected(kernels),
        )

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        return super().faults + self.missing + self.suspected


def suspected(kernels: Iterable[Kernel]) -> list[str]:
    """Returns a message for each packed instruction that may read old values."""
    return [found.message(kernel) for kernel in kernels for found in suspect_reads(kernel)]


def wait_cases(every: int) -> list[Case]:
    """Returns every `every`-th kernel of the attention sweep and of the table of matmuls."""
    attentions = attention_cases({CDNA3: _DTYPES}, every)
    kernels = [*attentions, *matmul_table.cases(TIMED_CHIPS)[::every]]
    return [(*kernel, mode) for kernel in kernels for mode in MODES]


def operand_cases(every: int) -> list[Case]:
    """Returns every `every`-th kernel for gfx950, with `stock` and at all levels."""
    kernels = [*attention_cases({CDNA4: _DTYPES}), *matmul_table.cases((CDNA4,))][::every]
    return [(*kernel, mode) for kernel in kernels for mode in _LEVELS]


CHECKS = {"waits": wait_cases, "operands": operand_cases}


def summary(rows: Sequence[CodeRow]) -> str:
    """Returns a table with one line per chip and mode."""
    columns = {
        "modules": len,
        "failed": total("failed"),
        "kernels": total("kernels"),
        "missing waits": total("missing"),
        "barriers with LDS under way": total("unfinished"),
        "suspected": total("suspected"),
    }
    return table(rows, ("target", "mode"), columns)


def _read(file: str) -> Mapping[str, Kernel]:
    """Returns the kernels of an assembly file, as a type of arguments."""
    try:
        return parse_assembly(Path(file).read_text(), file)
    except (OSError, ValueError) as error:
        raise ArgumentTypeError(str(error)) from None


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("check", choices=CHECKS, help="what is looked for")
    about = "assembly whose operands are looked at in the place of compiled kernels"
    parser.add_argument("files", nargs="*", type=_read, metavar="FILE.s", help=about)


def _cases(arguments: Namespace) -> list[Case]:
    if not arguments.files:
        return CHECKS[arguments.check](arguments.every)
    messages = suspected(kernel for kernels in arguments.files for kernel in kernels.values())
    print("\n".join(messages) or "nothing is suspected")
    raise SystemExit(bool(messages))


BENCHMARK = Benchmark(
    "code",
    CodeRow,
    _cases,
    summary,
    every="kernel",
    output=Path("out") / "code_checks.json",
    arguments=_arguments,
)


if __name__ == "__main__":
    sys.exit(BENCHMARK.main(__doc__))
