# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPU time that each pass takes to decide on a function.

python -m bankwise.bench.decision_time [--every N] [--runs N] [--jobs N]

Compiles the attentions and matmuls of `KERNELS` at the default level and, with `--every`, each Nth
kernel of `assembly_digests` too. Every compile has a process of its own, as with
`bankwise-compile`: nothing has been imported, cached or allocated by an earlier one. A function's
time in a pass is the median of its runs. The table has the median and the 95th percentile over all
functions on which the pass took more than a millisecond, which leaves out functions that the pass
has nothing to do with. Exits with 1 where the median of a pass is above 20 ms.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
from iree.compiler import ir
from rich.console import Console
from rich.table import Table

from ..iree_plugin.compile import compile as compile_module
from ..iree_plugin.compile_settings import Mode
from ..iree_plugin.early_import import load_passes
from ..iree_plugin.mitigation import mitigation_edits
from ..passes.base import FunctionPass, PassContext
from ..sweep.cases import target_flags
from ..sweep.kernels import Attention, Matmul
from ..sweep.progress import tracked
from .assembly_digests import Case, cases
from .runs import bench_parser

KERNELS = (
    Case.of(Attention(1, 1024, 128, "f16"), "gfx942"),
    Case.of(Attention(1, 1024, 128, "f32"), "gfx942"),
    Case.of(Attention(1, 1024, 128, "f16"), "sm_80"),
    Case.of(Matmul(2048, 2048, 2048, "f16"), "gfx942"),
    Case.of(Matmul(2048, 2048, 2048, "f16"), "gfx950"),
    Case.of(Matmul(1000, 1000, 1000, "f32"), "gfx942"),
    Case.of(Matmul(1000, 1000, 1000, "f32"), "gfx950"),
)

MEDIAN_MS = 20.0
_NO_WORK_MS = 1.0

Times = dict[str, list[float]]
"""Milliseconds of each pass, by its name, for the functions in their order."""


@dataclass(frozen=True)
class _Timed(FunctionPass):
    """A pass that does what another does, and appends how long that takes to `times`."""

    step: FunctionPass
    times: Times = field(compare=False)

    def __post_init__(self) -> None:
        for attribute in ("name", "summary", "later_passes_may_refuse"):
            object.__setattr__(self, attribute, getattr(self.step, attribute))

    def has_work(self, function: ir.Operation) -> bool:
        return self.step.has_work(function)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        started = time.process_time()
        try:
            self.step.run(function, context)
        finally:
            self.times[self.name].append((time.process_time() - started) * 1e3)

    def forget(self, function: ir.Operation) -> None:
        self.step.forget(function)


def times_of(case: Case) -> Times:
    """Compiles a case; returns how long each pass took."""
    flags = target_flags(case.target)
    load_passes(flags)
    times: Times = defaultdict(list)
    edits = [
        replace(
            edit,
            passes=tuple(
                _Timed(step, times) if isinstance(step, FunctionPass) else step
                for step in edit.passes
            ),
        )
        for edit in mitigation_edits(Mode())
    ]
    # The mode `stock` has no edits of its own.
    compile_module(case.source, flags, "stock", edits=edits)
    return dict(times)


def medians(runs: Sequence[Times]) -> Times:
    """Returns the median time of each pass and function over runs of the same case."""
    return {
        name: [statistics.median(each) for each in zip(*(run[name] for run in runs), strict=True)]
        for name in runs[0]
    }


def summary(found: Mapping[Case, Times]) -> Table:
    """Returns figures per pass."""
    table = Table("pass", "functions", "median ms", "95 % ms", "worst ms", "of")
    for name, times in by_pass(found).items():
        worst = max(times, key=lambda case: max(times[case]))
        flat = [each for one in times.values() for each in one]
        figures = (np.median(flat), np.percentile(flat, 95), max(flat))
        shown = f"{worst.name}, {worst.target}"
        table.add_row(name, str(len(flat)), *(f"{each:.1f}" for each in figures), shown)
    return table


def by_pass(found: Mapping[Case, Times]) -> dict[str, dict[Case, list[float]]]:
    """Returns the times of each pass by case, without those where the pass had no work."""
    passes: dict[str, dict[Case, list[float]]] = defaultdict(dict)
    for case, times in found.items():
        for name, each in times.items():
            working = [time for time in each if time > _NO_WORK_MS]
            if working:
                passes[name][case] = working
    return dict(sorted(passes.items()))


def main() -> int:
    """Measures all cases; exits with 1 where a pass takes longer than the project promises."""
    parser = bench_parser(__doc__, "compiles", jobs=1)
    parser.add_argument("--every", type=int, help="take every Nth kernel of assembly_digests too")
    parser.add_argument("--runs", type=int, default=3, help="compiles of each kernel")
    arguments = parser.parse_args()
    chosen = [*KERNELS, *(cases(arguments.every) if arguments.every else ())]
    repeated = [case for case in chosen for _ in range(arguments.runs)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(arguments.jobs, context, max_tasks_per_child=1) as pool:
        timed = tracked(pool.map(times_of, repeated), "compiling", len(repeated), "compiles")
        runs: dict[Case, list[Times]] = defaultdict(list)
        for case, times in zip(repeated, timed, strict=True):
            runs[case].append(times)
    found = {case: medians(times) for case, times in runs.items()}
    Console(width=120).print(summary(found))
    slow = [
        name
        for name, times in by_pass(found).items()
        if np.median([each for one in times.values() for each in one]) > MEDIAN_MS
    ]
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
