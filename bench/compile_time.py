# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile time and peak memory of bankwise-compile over iree-compile, as whole processes.

python -m bankwise.bench.compile_time [--pairs N]

The two run in turn on the same input, once before the clock starts: Python then has compiled its
modules, as `pip install` does. Figures are medians of the ratios of pairs within one run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from ..sweep.cases import target_flags
from ..sweep.kernels import Attention, Kernel, Matmul
from ..sweep.tables import markdown_lines
from .runs import BIN

CASES: tuple[tuple[Kernel, str], ...] = (
    (Attention(1, 1024, 128, "f16"), "gfx942"),
    (Attention(1, 1024, 128, "f32"), "gfx942"),
    (Attention(1, 1024, 128, "f16"), "sm_80"),
    (Matmul(2048, 2048, 2048, "f16"), "gfx942"),
)


def run_once(command: list[str]) -> tuple[float, int]:
    """Runs a process; returns its wall seconds and its peak resident KiB."""
    # Where this is set, every run compiles every module again, which no user sees.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    child = os.posix_spawn(command[0], command, environment)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        raise RuntimeError(f"failed: {' '.join(command)}")
    return time.perf_counter() - started, usage.ru_maxrss


def main() -> int:
    """Prints a table of medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7, help="runs of each tool")
    arguments = parser.parse_args()
    lines = [["kernel", "target", "iree-compile s", "bankwise s", "time", "memory"]]
    for kernel, target in CASES:
        with tempfile.TemporaryDirectory(prefix="bankwise-bench-") as directory:
            source = Path(directory) / "kernel.mlir"
            source.write_text(kernel.source())
            rest = [str(source), *target_flags(target), "-o", os.devnull]
            pairs = [
                [
                    run_once([str(BIN / tool), *rest])
                    for tool in ("iree-compile", "bankwise-compile")
                ]
                for _ in range(arguments.pairs + 1)
            ][1:]
        stock, ours = (statistics.median(pair[i][0] for pair in pairs) for i in (0, 1))
        ratio = statistics.median(pair[1][0] / pair[0][0] for pair in pairs)
        memory = [statistics.median(pair[i][1] for pair in pairs) for i in (0, 1)]
        ratios = (f"{ratio:.2f}x", f"{memory[1] / memory[0]:.2f}x")
        lines.append([kernel.name, target, f"{stock:.2f}", f"{ours:.2f}", *ratios])
    print(markdown_lines(lines, text_columns=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
