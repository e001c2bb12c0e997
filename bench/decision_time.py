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
from argparse import Namespace
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
from iree.compiler import ir

from ..iree_plugin.compile import compile as compile_module
from ..iree_plugin.compile_settings import Mode
from ..iree_plugin.early_import import load_passes
from ..iree_plugin.mitigation import mitigation_edits
from ..passes.base import FunctionPass, PassContext
from ..sweep.cases import target_flags
from ..sweep.kernels import Attention, Matmul
from ..sweep.rows_file import Rows
from ..sweep.tables import markdown_lines
from .assembly_digests import Case, cases
from .benchmark import Benchmark, BenchRow, bench_parser, count

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
    load_passes()
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


@dataclass(frozen=True)
class Row(BenchRow):
    """The times of one compile; the mode is the number of the run."""

    times: Times = field(default_factory=dict)

    def measured(self, case: tuple[Case, str, str]) -> Row:
        """Compiles a case in a process of its own."""
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            return replace(self, times=pool.submit(times_of, case[0]).result())


def by_pass(rows: Sequence[Row]) -> dict[str, dict[tuple[str, str], list[float]]]:
    """Returns the medians over runs by pass and kernel, for functions that the pass works on."""
    runs: dict[tuple[str, str], list[Times]] = defaultdict(list)
    for row in rows:
        runs[row.kernel, row.target].append(row.times)
    passes: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(dict)
    for kernel, times in runs.items():
        for name in times[0]:
            each_function = zip(*(run[name] for run in times), strict=True)
            medians = map(statistics.median, each_function)
            if working := [time for time in medians if time > _NO_WORK_MS]:
                passes[name][kernel] = working
    return dict(sorted(passes.items()))


def summary(rows: Sequence[Row]) -> str:
    """Returns a table with a line per pass."""
    lines = [["pass", "of", "functions", "median ms", "95 % ms", "worst ms"]]
    for name, times in by_pass([row for row in rows if not row.failed]).items():
        worst = max(times, key=lambda kernel: max(times[kernel]))
        flat = [each for one in times.values() for each in one]
        figures = (np.median(flat), np.percentile(flat, 95), max(flat))
        numbers = [str(len(flat)), *(f"{each:.1f}" for each in figures)]
        lines.append([name, ", ".join(worst), *numbers])
    return markdown_lines(lines, text_columns=2)


def _cases(arguments: Namespace) -> list[tuple[Case, str, str]]:
    chosen = [*KERNELS, *(cases(arguments.every) if arguments.every else ())]
    return [(case, case.target, f"run {n}") for case in chosen for n in range(arguments.runs)]


# A compile is a process of its own already.
BENCHMARK = Benchmark("compiling", Row, _cases, summary, backend="threading")


def main() -> int:
    """Measures all cases; exits with 1 where a pass takes longer than the project promises."""
    parser = bench_parser(__doc__, "compiles", jobs=1)
    parser.add_argument("--every", type=count, help="take every Nth kernel of assembly_digests too")
    parser.add_argument("--runs", type=count, default=3, help="compiles of each kernel")
    arguments = parser.parse_args()
    rows, _ = BENCHMARK.fill(Rows(), _cases(arguments), arguments.jobs)
    failed = BENCHMARK.report(rows)
    medians = (
        np.median([each for one in times.values() for each in one])
        for times in by_pass([row for row in rows if not row.failed]).values()
    )
    return int(failed or any(median > MEDIAN_MS for median in medians))


if __name__ == "__main__":
    sys.exit(main())
