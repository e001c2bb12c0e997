# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the assembly of `--bankwise-mitigation=stock` with iree-compile's, byte by byte.

python -m bankwise.bench.stock_identity [--every N] [--jobs N]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..emulator.chips import EMULATED_CHIPS
from ..sweep.kernels import AnyKernel, Matmul
from .benchmark import Benchmark, BenchRow
from .kernels import PackedMatmul
from .runs import attention_cases, compile_kernel

Case = tuple[AnyKernel, str]


@dataclass(frozen=True)
class Row(BenchRow):
    """Whether both compilers emit the same assembly for a kernel."""

    identical: bool = False

    def measured(self, case: Case) -> Row:
        """Compiles a kernel by both."""
        ours, stock = (compile_kernel(*case, each).assembly for each in ("stock", None))
        return replace(self, identical=bool(stock) and ours == stock)

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        return super().faults or ["different"] * (not self.identical)


def cases(every: int) -> list[Case]:
    """Returns every `every`-th attention in f16 and f32 for gfx942, and matmuls.

    The matmuls are with and without edges, and of packed operands, which bufferization copies.
    """
    matmuls = [
        (Matmul(*shape, dtype), target)
        for shape, dtype in (((2048, 2048, 2048), "f16"), ((100, 130, 70), "bf16"))
        for target in EMULATED_CHIPS
    ]
    packed = [(PackedMatmul(4, 4, 8, dtype), "gfx942") for dtype in ("f16", "f32")]
    return [*attention_cases({"gfx942": ("f16", "f32")}, every), *matmuls, *packed]


def summary(rows: Sequence[Row]) -> str:
    """Returns a line on all rows."""
    same = sum(row.identical for row in rows)
    return f"{same} of {len(rows)} kernels byte-identical to stock"


BENCHMARK = Benchmark(
    "stock identity",
    Row,
    lambda arguments: cases(arguments.every),
    summary,
    every="attention shape",
    # Each compile is a process of its own already.
    backend="threading",
)


if __name__ == "__main__":
    sys.exit(BENCHMARK.main(__doc__))
