# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the emulator on a whole attention grid, and on one workgroup of the longest shapes.

python -m bankwise.bench.emulator_speed [--all]

Of the 110 shapes, a workgroup's time depends on the sequence's length, the head dimension and the
type; by default those with the longest sequence are timed, with `--all` every distinct one.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from ..bank_model.lds_tables import lds_of
from ..emulator.assembly import parse_assembly
from ..emulator.dispatch import Dispatch
from ..emulator.global_memory import GlobalMemory
from ..emulator.kernel_launch import launch
from ..runtime.dtypes import dtype_of
from ..sweep.swept_kernels import Attention, swept_attentions
from ..sweep.tables import markdown_lines
from .runs import compile_source

ARCH = "gfx942"
DTYPES = ("f16", "f32")


def seconds(kernel: Attention, workgroups: list[tuple[int, int, int]] | None) -> float:
    """Returns the seconds that emulating some workgroups, or a grid of 32, under `auto` takes."""
    ((name, text),) = compile_source(kernel.source(), ARCH, "auto").items()
    (compiled,) = parse_assembly(text.decode(), name).values()
    dtype = dtype_of(kernel.dtype)
    random = np.random.default_rng(0)
    values = random.standard_normal(kernel.seq * kernel.head_dim).astype(dtype)
    memory = GlobalMemory()
    inputs = [memory.allocate(values) for _ in range(3)]
    arguments = np.array([*inputs, memory.allocate(values.nbytes)], np.uint64).tobytes()
    started = time.perf_counter()
    dispatch = Dispatch.of(compiled, (32, 1, 1))
    launch(dispatch, lds_of(ARCH), arguments, memory, workgroups)
    return time.perf_counter() - started


def main() -> int:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every distinct shape of a workgroup")
    everything = parser.parse_args().all
    lines = [["attention", "workgroups", "seconds"]]
    grid = Attention(1, 1024, 128, "f16")
    lines.append([grid.name, "32, the whole grid", f"{seconds(grid, None):.1f}"])
    for dtype in DTYPES:
        # One batch has the same workgroups as many.
        shapes = {(a.seq, a.head_dim) for a in swept_attentions(dtype)}
        longest = max(seq for seq, _ in shapes)
        for seq, head_dim in sorted(shapes):
            if everything or seq == longest:
                kernel = Attention(1, seq, head_dim, dtype)
                lines.append([kernel.name, "1", f"{seconds(kernel, [(0, 0, 0)]):.1f}"])
    print(markdown_lines(lines, text_columns=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
