# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile time, CPU and peak memory of bankwise-compile over iree-compile, as whole processes.

python -m bankwise.bench.compile_time [--pairs N]

The two run in turn on the same input, once before the clock starts: Python then has compiled its
modules, as `pip install` does. Figures are medians of the ratios of pairs within one run. That of
CPU time, user's and system's, is the ratio of the least times: a busy machine only adds to them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from ..sweep.cases import target_flags
from ..sweep.swept_kernels import Attention, Kernel, Matmul
from ..sweep.tables import markdown_lines
from .runs import BIN

CASES: tuple[tuple[Kernel, str], ...] = (
    (Attention(1, 1024, 128, "f16"), "gfx942"),
    (Attention(1, 1024, 128, "f32"), "gfx942"),
    (Attention(1, 1024, 128, "f16"), "sm_80"),
    (Matmul(2048, 2048, 2048, "f16"), "gfx942"),
)


class Run(NamedTuple):
    """What a process took: wall seconds, CPU seconds, and the KiB that it had at most."""

    wall: float
    cpu: float
    memory: int


def run_once(command: list[str]) -> Run:
    """Runs a process, and returns what it and the processes that it waited for took."""
    # Where this is set, every run compiles every module again, which no user sees.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    child = os.posix_spawn(command[0], command, environment)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        raise RuntimeError(f"failed: {' '.join(command)}")
    return Run(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def main() -> int:
    """Prints a table of medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7, help="runs of each tool")
    arguments = parser.parse_args()
    lines = [["kernel", "target", "iree-compile s", "bankwise s", "time", "CPU", "memory"]]
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
        stock, ours = (list(each) for each in zip(*pairs, strict=True))
        seconds = [f"{statistics.median(each.wall for each in runs):.2f}" for runs in (stock, ours)]
        time_ratio = statistics.median(ours.wall / stock.wall for stock, ours in pairs)
        cpu_ratio = min(each.cpu for each in ours) / min(each.cpu for each in stock)
        memory_ratio = statistics.median(each.memory for each in ours) / statistics.median(
            each.memory for each in stock
        )
        ratios = [f"{each:.2f}x" for each in (time_ratio, cpu_ratio, memory_ratio)]
        lines.append([kernel.name, target, *seconds, *ratios])
    print(markdown_lines(lines, text_columns=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
