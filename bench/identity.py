# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what compiles give that must give the same, byte by byte.

    python -m bankwise.bench.identity stock [--every N] [--jobs N] [-o DIR]
    python -m bankwise.bench.identity executable [--every N] [--jobs N] [-o DIR]

`stock` compares `bankwise-compile --bankwise-mitigation=stock` with `iree-compile`: for every Nth
attention in f16 and f32 for gfx942, and for matmuls with and without edges and of packed operands,
which bufferization copies. `executable` compares `bankwise-executable` inside `iree-compile` with
`bankwise-compile`: for the 110 attention shapes in f16 and f32 for gfx942, for 20 matmuls for it,
and for 20 f16 attentions for sm_80.

Assembly (.rocmasm, PTX) and the whole module are compared. The wall time of each compile stands
beside that of a plain `iree-compile`; with one job it is undisturbed. Finished rows are appended to
the output at once; a run that was interrupted goes on from them. Rows of other sources of the
passes do not count.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from ..emulator.timing.constants import TIMED_CHIPS
from ..sweep.swept_kernels import AnyKernel, Matmul
from .benchmark import Benchmark, BenchRow, table, total
from .benchmark_kernels import PackedMatmul
from .matmul_table import cases as matmuls
from .runs import MODULE, assembly_in, attention_cases, run_compiler

HOOK = "--iree-hal-preprocess-executables-with=bankwise-executable"
MATMULS = 20
CUDA_ATTENTIONS = 20

Kernel = TypeVar("Kernel")

STOCK, EXECUTABLE = "stock", "executable"
Case = tuple[AnyKernel, str, str]
"""A kernel, a target, and what is compared."""


@dataclass(frozen=True)
class Row(BenchRow):
    """One kernel, compiled in up to three ways. Times are wall seconds of whole processes."""

    identical_assembly: bool = False
    identical_module: bool = False
    differs_from_stock: bool = False
    stock_s: float = 0.0
    inside_s: float = 0.0
    bankwise_compile_s: float = 0.0

    def measured(self, case: Case) -> Row:
        """Compiles one case in all ways."""
        kernel, target, compared = case
        flags = ["--bankwise-mitigation=stock"] if compared == STOCK else []
        stock = _compile(kernel, target, "iree-compile")
        inside = stock if compared == STOCK else _compile(kernel, target, "iree-compile", HOOK)
        ours = _compile(kernel, target, "bankwise-compile", *flags)
        return replace(
            self,
            identical_assembly=bool(ours.assembly) and inside.assembly == ours.assembly,
            identical_module=inside.module == ours.module,
            differs_from_stock=ours.assembly != stock.assembly,
            stock_s=round(stock.seconds, 3),
            inside_s=round(inside.seconds, 3),
            bankwise_compile_s=round(ours.seconds, 3),
        )

    @property
    def identical(self) -> bool:
        """Returns whether both ways give the same bytes."""
        return self.identical_assembly and self.identical_module

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        return super().faults or ["different"] * (not self.identical)


def stock_cases(every: int) -> list[Case]:
    """Returns every `every`-th attention, and matmuls."""
    matmuls = [
        (Matmul(*shape, dtype), target)
        for shape, dtype in (((2048, 2048, 2048), "f16"), ((100, 130, 70), "bf16"))
        for target in TIMED_CHIPS
    ]
    packed = [(PackedMatmul(4, 4, 8, dtype), "gfx942") for dtype in ("f16", "f32")]
    attentions = attention_cases({"gfx942": ("f16", "f32")}, every)
    return [(kernel, target, STOCK) for kernel, target in (*attentions, *matmuls, *packed)]


def executable_cases(every: int) -> list[Case]:
    """Returns every `every`-th kernel of each kind."""
    chosen = (
        *attention_cases({"gfx942": ("f16", "f32")}, every),
        *_spread(matmuls(["gfx942"], "matmul"), MATMULS)[::every],
        *_spread(attention_cases({"sm_80": ("f16",)}), CUDA_ATTENTIONS)[::every],
    )
    return [(kernel, target, EXECUTABLE) for kernel, target in chosen]


CASES = {STOCK: stock_cases, EXECUTABLE: executable_cases}


def _spread(chosen: Sequence[Kernel], count: int) -> list[Kernel]:
    """Returns `count` of the cases, as far apart as they can be."""
    return [chosen[i * len(chosen) // count] for i in range(count)]


@dataclass(frozen=True)
class _Compiled:
    assembly: dict[str, bytes]
    module: bytes
    seconds: float


def _compile(kernel: AnyKernel, target: str, tool: str, *flags: str) -> _Compiled:
    # Of the IR no dumps: locations would be those in the dumped files.
    kinds = ("intermediates", "binaries")
    dumps = [f"--iree-hal-dump-executable-{kind}-to=." for kind in kinds]
    # Else each tool decides by itself whether the kernels of a module become one executable.
    dumps.append("--iree-hal-link-executables=true")
    with tempfile.TemporaryDirectory(prefix="bankwise-bench-") as name:
        directory = Path(name)
        seconds = run_compiler(directory, tool, kernel.source(), target, *flags, *dumps)
        return _Compiled(assembly_in(directory), (directory / MODULE).read_bytes(), seconds)


def _over_stock(name: str) -> Callable[[list[Row]], str]:
    """Returns what shows the median of the times of one way over those of iree-compile."""

    def shown(rows: list[Row]) -> str:
        ratios = [getattr(row, name) / row.stock_s for row in rows if not row.failed]
        return f"{statistics.median(ratios):.2f}x" if ratios else ""

    return shown


def _stock_seconds(rows: list[Row]) -> str:
    known = [row.stock_s for row in rows if not row.failed]
    return f"{statistics.median(known):.2f}" if known else ""


def summary(rows: Sequence[Row]) -> str:
    """Returns a table with one line per target."""
    columns = {
        "kernels": len,
        "identical": total("identical"),
        "other than stock's": total("differs_from_stock"),
        "iree-compile s": _stock_seconds,
        "with the tool": _over_stock("inside_s"),
        "bankwise-compile": _over_stock("bankwise_compile_s"),
    }
    return table(rows, ("mode", "target"), columns)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("compared", choices=CASES, help="what is compared")


BENCHMARK = Benchmark(
    "identity",
    Row,
    lambda arguments: CASES[arguments.compared](arguments.every),
    summary,
    measures="kernels",
    jobs=1,
    every="kernel",
    output=Path("out") / "identity.json",
    # Each compile is a process of its own already.
    backend="threading",
    arguments=_arguments,
)


if __name__ == "__main__":
    sys.exit(BENCHMARK.main(__doc__))
