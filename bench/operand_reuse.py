# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Looks for packed instructions that may read old values on gfx950, without running the code.

python -m bankwise.bench.operand_reuse [FILE.s ...] [--every N] [--jobs N]

`emulator.operand_reuse` says what is looked for. With files, these are read. Without, the 110
attention shapes in f16, f32 and bf16 and the kernels of `matmul_table` are compiled for gfx950,
with `stock` and with `auto` at all levels, and a table says how many kernels of each mode have such
instructions, and how many. The exit code is 1 if one is found.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..emulator.assembly import Kernel, parse_assembly
from ..emulator.chips import CDNA4
from ..emulator.operand_reuse import suspect_reads
from ..runtime.emulated_module import compile_for_emulation
from ..sweep.cases import target_flags
from ..sweep.kernels import AnyKernel
from . import matmul_table
from .benchmark import Benchmark, BenchRow, bench_parser, table, total
from .runs import attention_cases

Case = tuple[AnyKernel, str, str]
"""A kernel, a chip and a mode."""

MODES = ("stock", "auto/layout", "auto/exact", "auto/fast", "auto/fast/on")


@dataclass(frozen=True)
class Row(BenchRow):
    """What a kernel has in one mode.

    Attributes:
        matrices: how many matrix instructions.
        suspected: a message for each packed instruction that may read old values.
    """

    matrices: int = 0
    suspected: list[str] = field(default_factory=list)

    def measured(self, case: Case) -> Row:
        """Compiles a kernel, and looks at its code."""
        kernel, target, mode = case
        with compile_for_emulation(kernel.source(), target_flags(target), mode) as module:
            kernels = list(module.kernels.values())
        matrices = sum("mfma" in each.mnemonic for code in kernels for each in code.instructions)
        return replace(self, matrices=matrices, suspected=suspected(kernels))

    @property
    def is_suspected(self) -> bool:
        """Returns whether an instruction may read old values."""
        return bool(self.suspected)

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        return super().faults + self.suspected


def cases(every: int) -> list[Case]:
    """Returns every `every`-th kernel for gfx950, in all modes."""
    attentions = attention_cases({CDNA4: ("f16", "f32", "bf16")})
    kernels = [*attentions, *matmul_table.cases((CDNA4,))][::every]
    return [(*kernel, mode) for kernel in kernels for mode in MODES]


def suspected(kernels: Iterable[Kernel]) -> list[str]:
    """Returns a message for each instruction that may read old values."""
    return [found.message(kernel) for kernel in kernels for found in suspect_reads(kernel)]


def read_files(files: Sequence[Path]) -> list[str]:
    """Returns what is suspected in assembly files.

    Raises:
        AssemblyError, OSError: a file cannot be read.
    """
    parsed = (parse_assembly(file.read_text(), str(file)) for file in files)
    return suspected(kernel for kernels in parsed for kernel in kernels.values())


def summary(rows: Sequence[Row]) -> str:
    """Returns a table with a line per mode."""
    columns = {
        "kernels": len,
        "matrix instructions": total("matrices"),
        "suspected in": total("is_suspected"),
        "suspected": total("suspected"),
    }
    return table(rows, ("mode",), columns)


BENCHMARK = Benchmark(
    "operand reuse", Row, lambda arguments: cases(arguments.every), summary, every="kernel"
)


def main() -> int:
    """Reads the files, or compiles all kernels; exits with 1 if something is suspected."""
    parser = bench_parser(__doc__, "compiles", every="kernel")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.s")
    arguments = parser.parse_args()
    if not arguments.files:
        return BENCHMARK.run(cases(arguments.every), arguments.jobs)
    try:
        messages = read_files(arguments.files)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    print("\n".join(messages) or "nothing is suspected")
    return int(bool(messages))


if __name__ == "__main__":
    sys.exit(main())
