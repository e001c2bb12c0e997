# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the emulator with and without machine code, on small loops and on whole attention grids.

python -m bankwise.bench.emulator_speed [--rounds N] [--all]

Speeds are instructions that waves execute in a second of CPU time, in millions. Both ways run in
turn in one process, and must leave the same bytes and counters.

With `--all` one workgroup of each shape of the public sweep is timed, too: of the 110 shapes, its
time depends on the sequence's length, the head dimension and the type.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..bank_model.lds_tables import lds_of
from ..emulator.assembly import Kernel, parse_assembly
from ..emulator.dispatch import Dispatch
from ..emulator.global_memory import GlobalMemory
from ..emulator.kernel_launch import launch
from ..emulator.supervision import COMPILE_AFTER, Supervision
from ..runtime.dtypes import dtype_of
from ..sweep.swept_kernels import Attention, swept_attentions
from ..sweep.tables import markdown_lines
from .runs import compile_source
from .small_loops import SMALL_LOOPS

ARCH = "gfx942"
DTYPES = ("f16", "f32")
Workgroup = tuple[int, int, int]


class Run(NamedTuple):
    """What a run took, executed and left.

    Attributes:
        seconds: of CPU time.
        executed: the instructions that waves executed.
        memory: the bytes of the last buffer.
    """

    seconds: float
    executed: int
    memory: bytes


def run(
    kernel: Kernel,
    grid: Workgroup,
    buffers: Sequence[object],
    compile_after: int,
    workgroups: list[Workgroup] | None = None,
) -> Run:
    """Runs a kernel that takes the addresses of buffers, or zeros of a number of bytes."""
    memory = GlobalMemory()
    addresses = [memory.allocate(each) for each in buffers]  # type: ignore[arg-type]
    arguments = np.array(addresses, np.uint64).tobytes()
    supervision = Supervision(max_steps=1 << 40, compile_after=compile_after)
    started = time.process_time()
    place = (Dispatch.of(kernel, grid), lds_of(ARCH), arguments, memory, workgroups)
    counters = launch(*place, supervision=supervision)
    seconds = time.process_time() - started
    last = memory.read(addresses[-1], memory.size_at(addresses[-1])).tobytes()
    return Run(seconds, int(counters.executions.sum()), last)


def attention(kernel: Attention, mode: str) -> tuple[Kernel, list[object]]:
    """Returns the kernel of an attention with its inputs and the place of its output."""
    ((name, text),) = compile_source(kernel.source(), ARCH, mode).items()
    (compiled,) = parse_assembly(text.decode(), name).values()
    random = np.random.default_rng(0)
    values = random.standard_normal(kernel.seq * kernel.head_dim).astype(dtype_of(kernel.dtype))
    return compiled, [values, values, values, values.nbytes]


def row(name: str, waves: str, kernel: Kernel, grid: Workgroup, buffers: list[object]) -> list[str]:
    """Returns a line of the table.

    Raises:
        RuntimeError: the two ways leave other bytes, or execute other instructions.
    """
    steps, code = (run(kernel, grid, buffers, after) for after in (0, COMPILE_AFTER))
    if steps[1:] != code[1:]:
        raise RuntimeError(f"{name}: machine code does something else than the steps")
    speeds = [each.executed / each.seconds / 1e6 for each in (steps, code)]
    shown = [f"{speed:.3f}" for speed in speeds]
    return [name, waves, f"{steps.executed:,}", *shown, f"{speeds[1] / speeds[0]:.1f}"]


def main() -> int:
    """Prints tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every distinct shape of a workgroup")
    parser.add_argument(
        "--rounds", type=int, default=100_000, help="of all workgroups in small loops"
    )
    chosen = parser.parse_args()
    lines = [["kernel", "waves", "instructions", "steps, M/s", "machine code, M/s", "times"]]
    for name, loop in SMALL_LOOPS.items():
        (kernel,) = parse_assembly(loop.text(chosen.rounds // loop.workgroups), "loop.s").values()
        waves = loop.workgroups * loop.threads // 64
        lines.append(row(name, str(waves), kernel, (loop.workgroups, 1, 1), [4096]))
    for mode, dtype in (("auto", "f16"), ("auto/fast/off", "f32")):
        shape = Attention(1, 1024, 128, dtype)
        lines.append(row(f"{shape.name}, {mode}", "128", *_grid(shape, mode)))
    print(markdown_lines(lines, text_columns=1))
    if chosen.all:
        print(markdown_lines(_of_each_shape(), text_columns=2))
    return 0


def _grid(shape: Attention, mode: str) -> tuple[Kernel, Workgroup, list[object]]:
    kernel, buffers = attention(shape, mode)
    return kernel, (32, 1, 1), buffers


def _of_each_shape() -> list[list[str]]:
    """Returns the seconds of a workgroup of each shape; one batch has the workgroups of many."""
    lines = [["attention", "workgroups", "seconds"]]
    for dtype in DTYPES:
        for seq, head_dim in sorted({(a.seq, a.head_dim) for a in swept_attentions(dtype)}):
            shape = Attention(1, seq, head_dim, dtype)
            kernel, buffers = attention(shape, "auto")
            found = run(kernel, (32, 1, 1), buffers, COMPILE_AFTER, [(0, 0, 0)])
            lines.append([shape.name, "1", f"{found.seconds:.1f}"])
    return lines


if __name__ == "__main__":
    sys.exit(main())
