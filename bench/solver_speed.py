# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the layout solver on every allocation of the 110 attention shapes.

python -m bankwise.bench.solver_speed [--every N] [--jobs N]

Each shape is compiled for each target and type of `compile_sweep`, up to the pass that hints
allocations, and what that pass would ask the solver is kept. Allocations that pose the same
problem (target, tile, accesses) are timed once: `solve` alone, the best of three runs.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from typing import ClassVar

import numpy as np
from iree.compiler import ir

from ..bank_model.accesses import LdsAccess, LdsTile
from ..bank_model.solver import LayoutDecision, LayoutKind, SolverOptions, solve
from ..bank_model.swizzle_legality import HintRules
from ..bank_model.targets import target as target_of
from ..dialect_utils.diagnostics import PassFailure, Refusal
from ..dialect_utils.gpu_target import lds_model
from ..dialect_utils.memory.memref_types import tile_of
from ..dialect_utils.memory.staged_tensors import accesses_of, is_workgroup_alloc
from ..dialect_utils.memory.vector_layouts import infer_vector_layouts
from ..dialect_utils.operations import operations_in
from ..iree_plugin.compile import CompileError, compile
from ..iree_plugin.pipeline_edit import PipelineEdit
from ..passes.base import FunctionPass, PassContext
from ..passes.swizzles.hint_vector_allocs import HintVectorAllocs
from ..sweep.cases import target_flags
from ..sweep.engine import Workers, measured
from ..sweep.kernels import Attention
from ..sweep.progress import tracked
from ..sweep.tables import markdown_lines
from .benchmark import bench_parser
from .compile_sweep import DTYPES
from .runs import attention_cases

MEDIAN_MS, WORST_MS = 10.0, 50.0
OPTIONS = SolverOptions(
    frozenset({LayoutKind.XOR_SHUFFLE, LayoutKind.CHAIN}), max_chain=HintVectorAllocs().max_chain
)


@dataclass(frozen=True)
class Problem:
    """What the solver is asked about one allocation."""

    arch: str
    tile: LdsTile
    accesses: tuple[LdsAccess, ...]

    @property
    def key(self) -> bytes:
        """Returns a key that equal problems share."""
        digest = sha256(repr((self.arch, self.tile)).encode())
        for a in self.accesses:
            active = None if a.active is None else a.active.tobytes()
            digest.update(repr((a.kind, a.count, a.weight, a.elements.shape, active)).encode())
            digest.update(a.elements.tobytes())
        return digest.digest()


@dataclass(frozen=True)
class _CollectProblems(FunctionPass):
    """Appends what the solver is asked to `problems`, and ends the compile."""

    name: ClassVar[str] = "collect-layout-problems"
    summary: ClassVar[str] = "collect what the layout solver is asked"

    problems: list[Problem] = field(compare=False)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        allocations = list(filter(is_workgroup_alloc, operations_in(function)))
        if not allocations:
            return
        try:
            lds, launch = lds_model(function, context.test_target)
        except Refusal:
            return
        layouts = infer_vector_layouts(function)
        for alloc in allocations:
            tile = tile_of(ir.RankedTensorType(alloc.results[0].type))
            accesses = accesses_of(alloc, tile, layouts, launch)
            self.problems.append(Problem(lds.arch, tile, accesses))
        raise PassFailure(function.location, "all allocations are known")


def problems_of(case: tuple[Attention, str]) -> list[Problem]:
    """Returns what the solver is asked about each allocation of one kernel."""
    kernel, arch = case
    problems: list[Problem] = []
    collect = _CollectProblems(problems)
    edit = PipelineEdit.after("iree-codegen-gpu-vector-alloc", collect, required=True)
    try:
        compile(kernel.source(), target_flags(arch), "none", edits=[edit])
    except CompileError:
        if not problems:
            raise
    return problems


@dataclass(frozen=True)
class Timing:
    """One problem, the fastest of several decisions on it, and how many allocations pose it."""

    problem: Problem
    allocations: int
    milliseconds: float
    decision: LayoutDecision


def timed(problem: Problem, allocations: int, runs: int = 3) -> Timing:
    """Solves `problem` several times."""
    lds = target_of(problem.arch)

    def once() -> tuple[float, LayoutDecision]:
        started = time.perf_counter()
        rules = HintRules.of(problem.tile, problem.accesses)
        options = OPTIONS._replace(rules=rules)
        decision = solve(lds, problem.tile, problem.accesses, options)
        return (time.perf_counter() - started) * 1e3, decision

    milliseconds, decision = min((once() for _ in range(runs)), key=lambda run: run[0])
    return Timing(problem, allocations, milliseconds, decision)


def summary(timings: list[Timing]) -> str:
    """Returns figures per target and over all, in which each allocation counts."""
    head = ("target", "allocations", "problems", "median ms", "99 % ms", "worst ms")
    lines = [[*head, "conflicts left"]]
    for arch in [*sorted({t.problem.arch for t in timings}), "all"]:
        group = [t for t in timings if arch in (t.problem.arch, "all")]
        times = np.repeat([t.milliseconds for t in group], [t.allocations for t in group])
        left = sum(t.decision.conflict_cycles * t.allocations for t in group)
        figures = (np.median(times), np.percentile(times, 99), times.max())
        counted = (str(len(times)), str(len(group)))
        lines.append([arch, *counted, *(f"{f:.1f}" for f in figures), f"{left:,}"])
    return markdown_lines(lines, text_columns=1)


def main() -> int:
    """Measures all decisions; exits with 1 when they are slower than the project promises."""
    arguments = bench_parser(__doc__, "compiles", every="attention shape").parse_args()
    chosen = attention_cases(DTYPES, arguments.every)
    distinct: dict[bytes, Problem] = {}
    counts: Counter[bytes] = Counter()
    without = 0
    found = measured(chosen, problems_of, Workers(arguments.jobs))
    for problems in tracked(found, "collecting allocations", len(chosen), "kernels"):
        without += not problems
        for problem in problems:
            distinct.setdefault(problem.key, problem)
            counts[problem.key] += 1
    timings = [
        timed(problem, counts[key])
        for key, problem in tracked(distinct.items(), "solving", len(distinct), "problems")
    ]
    print(
        f"{len(chosen)} kernels, {counts.total()} allocations, {len(distinct)} distinct problems"
        f" ({without} kernels without allocations)"
    )
    print(summary(timings))
    worst = max(timings, key=lambda t: t.milliseconds)
    accesses = ", ".join(
        f"{n} {kind}s of {count}"
        for (kind, count), n in Counter(
            (a.kind.value, a.count) for a in worst.problem.accesses
        ).items()
    )
    print(
        f"worst: {worst.problem.tile} on {worst.problem.arch}, {accesses}: "
        f"{worst.milliseconds:.1f} ms, {worst.decision.reason}"
    )
    times = np.repeat([t.milliseconds for t in timings], [t.allocations for t in timings])
    return int(np.median(times) > MEDIAN_MS or times.max() > WORST_MS)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
