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
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from ..emulator.assembly import parse_assembly
from ..emulator.chips import CDNA4
from ..emulator.operand_reuse import suspect_reads
from ..runtime.emulated_module import compile_for_emulation
from ..sweep.cases import target_flags
from ..sweep.kernels import AnyKernel, swept_attentions
from ..sweep.progress import tracked
from . import matmul_table
from .runs import bench_parser

MODES = ("stock", "auto/layout", "auto/exact", "auto/fast", "auto/fast/on")


@dataclass(frozen=True)
class Found:
    """What a kernel has in one mode: its matrix instructions, and what is suspected."""

    name: str
    mode: str
    matrices: int
    messages: tuple[str, ...]


def cases(every: int) -> list[AnyKernel]:
    """Returns every `every`-th kernel for gfx950."""
    attentions = chain.from_iterable(map(swept_attentions, ("f16", "f32", "bf16")))
    products = [kernel for kernel, chip in matmul_table.cases((CDNA4,)) if chip == CDNA4]
    return [*attentions, *products][::every]


def measure(kernel: AnyKernel, mode: str) -> Found:
    """Compiles a kernel, and looks at its code."""
    with compile_for_emulation(kernel.source(), target_flags(CDNA4), mode) as module:
        kernels = list(module.kernels.values())
    matrices = sum("mfma" in each.mnemonic for code in kernels for each in code.instructions)
    messages = [found.message(code) for code in kernels for found in suspect_reads(code)]
    return Found(kernel.name, mode, matrices, tuple(messages))


def read_files(files: Sequence[Path]) -> list[str]:
    """Returns what is suspected in assembly files.

    Raises:
        AssemblyError, OSError: a file cannot be read.
    """
    kernels = [
        kernel for file in files for kernel in parse_assembly(file.read_text(), str(file)).values()
    ]
    return [found.message(kernel) for kernel in kernels for found in suspect_reads(kernel)]


def _table(found: Sequence[Found]) -> list[str]:
    lines = ["| mode | kernels | matrix instructions | suspected in | suspected |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for mode in MODES:
        group = [each for each in found if each.mode == mode]
        hit = sum(bool(each.messages) for each in group)
        matrices, suspected = (
            sum(counts)
            for counts in ([e.matrices for e in group], [len(e.messages) for e in group])
        )
        lines.append(f"| {mode} | {len(group):,} | {matrices:,} | {hit:,} | {suspected:,} |")
    return lines


def main() -> int:
    """Reads the files, or compiles all kernels; exits with 1 if something is suspected."""
    parser = bench_parser(__doc__, "compiles", every="kernel")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.s")
    arguments = parser.parse_args()
    if arguments.files:
        try:
            messages = read_files(arguments.files)
        except (OSError, ValueError) as error:
            parser.error(str(error))
        print("\n".join(messages) or "nothing is suspected")
        return int(bool(messages))
    keys = [(kernel, mode) for kernel in cases(arguments.every) for mode in MODES]
    tasks = (delayed(measure)(*key) for key in keys)
    results: Any = Parallel(arguments.jobs, return_as="generator")(tasks)
    found: list[Found] = list(tracked(results, "operand reuse", len(keys), "compiles"))
    for each in found:
        for message in each.messages:
            print(f"{each.name}, {each.mode}: {message}")
    print("\n".join(_table(found)))
    return int(any(each.messages for each in found))


if __name__ == "__main__":
    sys.exit(main())
