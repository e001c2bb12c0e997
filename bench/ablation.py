# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each pass of `exact` and `fast` is worth: kernels compiled without it, and what they take.

    python -m bankwise.bench.ablation compile DIR [--set SET]           # where the compiler is
    python -m bench.gpu_times measure DIR -o SET.json                   # where the GPU is
    python -m bankwise.bench.ablation predict rows.json                 # for gfx942, anywhere
    python -m bankwise.bench.ablation table [SET.json ...] [rows.json ...]

`compile` compiles every kernel of a set of `gpu_times` as it is, and once more without each pass of
`tuning/` that has changed something in it. Later passes know that the pass is missing, as they do
at a lower level. `predict` does the same with attentions and matmuls for gfx942, which the emulator
runs by sample, with the predicted time of the whole grid. Only what compiles to other code is
measured.

The table has a row for each pass: how many kernels and modes get other code without it, and the
geometric mean of the time without it over the time with it, for each set. A pass that brings less
than 1 % in each of them, and is no fix, is not worth its lines.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any
from unittest.mock import patch

from ..emulator.counters import Counted
from ..iree_plugin import mitigation
from ..iree_plugin.python_compile import compile
from ..iree_plugin.rooms import rooms_of
from ..passes.base import FunctionPass
from ..passes.pipeline_edit import PassClass, PlannedPass
from ..runtime.dtypes import element_type_of
from ..sweep.cases import (
    Case,
    SweptKernel,
    attention_kernel,
    matmul_kernel,
    named_kernels,
    target_flags,
)
from ..sweep.engine import Workers, measured
from ..sweep.measure import measure
from ..sweep.rows import installed_versions
from ..sweep.swept_kernels import Attention, Matmul
from ..sweep.tables import markdown_lines
from ..tuning.programs import program_steps
from .benchmark import count
from .documents import Document
from .gpu.command_steps import Step, jobs, modules, only, output, take_step
from .gpu.inputs import operand_type
from .gpu.modes import EXACT, FAST
from .gpu.record import Record
from .gpu.timed_kernels import CompiledKernels, TimedKernel
from .gpu.timed_sets import SETS
from .program_families import all_programs
from .program_families.convolutions import NHWC, negated
from .program_families.program import Program, file_source

_WITHOUT = "-without-"
_PREFIX = "bankwise-"
_PREDICTED = "gfx942, predicted"
_KERNELS = (
    *(attention_kernel(Attention(*shape, "f16")) for shape in ((16, 1024, 128), (8, 512, 64))),
    attention_kernel(Attention(16, 4096, 128, "f16")),
    attention_kernel(Attention(12, 197, 64, "f16")),
    attention_kernel(Attention(8, 1000, 96, "f16")),
    attention_kernel(Attention(8, 512, 64, "f32")),
    attention_kernel(Attention(4, 512, 128, "bf16")),
    *(matmul_kernel(Matmul(1024, 1024, 1024, each)) for each in ("f16", "bf16", "i8", "f32")),
    matmul_kernel(Matmul(1024, 1024, 1024, "f16", transposed=True)),
    matmul_kernel(Matmul(1000, 1000, 1000, "f16")),
    matmul_kernel(Matmul(197, 768, 3072, "f16")),
    SweptKernel(
        *("linear_layer", "f16", file_source("layer_of_copies_f16"), ""),
        ("2x3x7x64xf16", "48x64xf16"),
    ),
)
_PROGRAMS = ("matmul_dynamic_f32_70x50x40", "softmax_f32")
"""Programs of `bench/program_families` in which passes change something that leave these alone."""


@dataclass(frozen=True)
class Prediction:
    """What is predicted of a kernel in a mode, without a pass or with all of them.

    Attributes:
        without: the pass that is left out; empty for none.
        microseconds: the predicted time of the whole grid; None where the kernel failed.
        conflicts, lds: conflict cycles and LDS instructions of the grid, or of its sample.
        error: why it failed.
    """

    kernel: str
    mode: str
    without: str
    microseconds: float | None
    conflicts: int = 0
    lds: int = 0
    error: str = ""


@dataclass(frozen=True)
class Predictions(Document):
    """What `predict` found."""

    rows: tuple[Prediction, ...]


def _tuning_passes() -> tuple[type[FunctionPass], ...]:
    _, tuning = rooms_of()
    return tuning.passes


@contextmanager
def left_out(kind: type[FunctionPass] | None) -> Iterator[None]:
    """Compiles without a pass inside the body; with all of them for None."""
    steps, program_passes = mitigation.steps(), program_steps.program_passes
    left = None if kind is None else PassClass.of(kind)
    kept = tuple(each for each in steps if left is None or each.kind != left)

    def others(mode: Any) -> tuple[FunctionPass | PlannedPass, ...]:
        kept = (each for each in program_passes(mode) if kind is None or each.name != kind.name)
        return tuple(kept)

    with (
        patch.object(mitigation, "steps", lambda: kept),
        patch.object(program_steps, "program_passes", others),
    ):
        yield


@contextmanager
def changing(passes: str = "") -> Iterator[set[type[FunctionPass]]]:
    """Yields a set that gets the passes which change something inside the body.

    Args:
        passes: a regular expression that is searched in their names.
    """
    found = set[type[FunctionPass]]()

    def watched(kind: type[FunctionPass], run: Callable[..., None]) -> Callable[..., None]:
        def observe(self: FunctionPass, function: Any, context: Any) -> None:
            before = str(function)
            run(self, function, context)
            if str(function) != before:
                found.add(kind)

        return observe

    with ExitStack() as watching:
        for kind in _tuning_passes():
            if re.search(passes, kind.name):
                watching.enter_context(patch.object(kind, "run", watched(kind, kind.run)))
        yield found


def without(mode: str, kind: type[FunctionPass]) -> str:
    """Returns the name of a mode without a pass."""
    return f"{mode}{_WITHOUT}{kind.name.removeprefix(_PREFIX)}"


# -- for a GPU -------------------------------------------------------------------------------------


def _compile_all(
    directory: Path, target: str, left: str, case: tuple[TimedKernel, str]
) -> tuple[TimedKernel, list[str]]:
    """Compiles a kernel in its modes, and without each pass that has work there.

    Returns:
        The kernel in the modes that were compiled, and what failed.
    """
    kernel, source = case
    modes, failed = list[str](), list[str]()
    flags = target_flags(target)
    for mode in (each for each in (EXACT, FAST) if each in kernel.modes):
        with changing(left) as passes:
            plain = compile(source, flags, mode)
        kernel.module(directory, mode).write_bytes(plain)
        modes.append(mode)
        for kind in sorted(passes, key=lambda each: each.name):
            series = without(mode, kind)
            try:
                with left_out(kind):
                    module = compile(source, flags, mode)
            except RuntimeError as error:
                failed.append(f"{kernel.name} {series}: {str(error).splitlines()[0]}")
                continue
            if module != plain:
                kernel.module(directory, series).write_bytes(module)
                modes.append(series)
    return replace(kernel, modes=tuple(modes), inexact=tuple(modes[1:])), failed


def _compile(arguments: Namespace) -> bool:
    a = arguments
    a.directory.mkdir(parents=True, exist_ok=True)
    chosen = [
        (kernel, source)
        for kernel, source in SETS[a.set]().items()
        if re.search(a.only, kernel.name)
    ]
    work = partial(_compile_all, a.directory, a.target, a.passes)
    found = list(measured(chosen[:: a.every], work, Workers(a.jobs)))
    for text in (text for _, failed in found for text in failed):
        print(text)
    kernels = tuple(sorted((kernel for kernel, _ in found), key=lambda each: each.name))
    CompiledKernels(a.target, vars(installed_versions()), kernels).write_list(a.directory)
    return True


def _compile_options(parser: ArgumentParser) -> None:
    parser.add_argument("--set", choices=SETS, default="attentions", help="what is compiled")
    parser.add_argument("--target", default="sm_80", metavar="GPU", help="the architecture")
    parser.add_argument("--every", type=count, default=1, help="take every Nth kernel")
    _add_passes(parser)


def _add_passes(parser: ArgumentParser) -> None:
    about = "leave out the passes in whose names it is found"
    parser.add_argument("--passes", default="", metavar="REGEX", help=about)


# -- predicted -------------------------------------------------------------------------------------


def _predict_all(left: str, case: Case) -> list[Prediction]:
    """Returns the prediction for a kernel, and those without each pass that has work there."""
    with changing(left) as passes:
        rows = [_prediction(case, None)]
    return rows + [_prediction(case, kind) for kind in sorted(passes, key=lambda each: each.name)]


def _prediction(case: Case, kind: type[FunctionPass] | None) -> Prediction:
    with left_out(kind):
        row = measure(case)
    name = "_".join(filter(None, (case.kernel.name, case.kernel.dtype)))
    missing = "" if kind is None else kind.name.removeprefix(_PREFIX)
    counted = row.grid or row.measured or {}
    times = row.predicted_microseconds
    time = None if times is None else times["expected"]
    conflicts, lds = counted.get(Counted.CONFLICTS, 0), counted.get(Counted.LDS, 0)
    return Prediction(name, case.mode, missing, time, conflicts, lds, row.error or "")


def _kernel_of(program: Program) -> SweptKernel:
    """Returns a program as a sweep has it, with zeros as inputs."""
    inputs = (
        operand_type(each.shape, element_type_of(each.dtype)) for each in program.draw_inputs()
    )
    return SweptKernel(program.name, "", program.source, "", tuple(inputs))


def _predict(arguments: Namespace) -> bool:
    programs = [each for each in all_programs() if each.name in _PROGRAMS]
    strided = negated("conv_2d_nhwc_hwcf", NHWC, "f16", 3, 2, 14, 11, 40, f=33)
    kernels = [*_KERNELS, *map(_kernel_of, (*programs, strided))]
    if arguments.swept:
        kernels = named_kernels("attention", ["f16"], arguments.swept)
    cases = [
        Case(kernel, "gfx942", mode, 2, timing=True)
        for kernel in kernels
        for mode in (EXACT, FAST)
        if re.search(arguments.only, kernel.name)
    ]
    rows = list[Prediction]()
    for found in measured(cases, partial(_predict_all, arguments.passes), Workers(arguments.jobs)):
        rows += found
        Predictions(tuple(rows)).write(arguments.output)
    return True


def _predict_options(parser: ArgumentParser) -> None:
    about = "take every Nth of the 110 attentions of the public sweep, in f16"
    parser.add_argument("--swept", type=count, metavar="N", help=about)
    _add_passes(parser)


# -- the table -------------------------------------------------------------------------------------

Times = Mapping[tuple[str, str, str], float]
"""Times by kernel, mode and the pass that is left out, which is empty for none."""


def _times_of(path: Path) -> tuple[str, Times]:
    """Returns what a record is of, and its times."""
    if '"conditions"' in path.read_text():
        record = Record.read(path)
        times = {(row.kernel, *_parted(row.mode)): row.figures.milliseconds for row in record.rows}
        return f"{record.conditions.target}, {path.stem.split('.')[0]}", times
    rows = Predictions.read(path).rows
    known = {
        (row.kernel, row.mode, row.without): row.microseconds
        for row in rows
        if row.microseconds is not None
    }
    return _PREDICTED, known


def _parted(series: str) -> tuple[str, str]:
    mode, _, missing = series.partition(_WITHOUT)
    return mode, missing


def ratios(times: Times) -> dict[str, list[float]]:
    """Returns for each pass the times without it over those with it."""
    found = defaultdict[str, list[float]](list)
    for (kernel, mode, missing), time in times.items():
        if missing and (kernel, mode, "") in times:
            found[missing].append(time / times[kernel, mode, ""])
    return found


def table(sets: Mapping[str, Sequence[Times]]) -> str:
    """Returns a row for each pass, as Markdown: geometric mean, kernels and ends of each set.

    Args:
        sets: the times of each run on a set. Ratios are those of one run.
    """
    found = {name: defaultdict[str, list[float]](list) for name in sets}
    for name, runs in sets.items():
        for times in runs:
            for missing, values in ratios(times).items():
                found[name][missing] += values
    rows = []
    for kind in _tuning_passes():
        name = kind.name.removeprefix(_PREFIX)
        each = [_shown(ratios_of.get(name, [])) for ratios_of in found.values()]
        rows.append([f"`{kind.name}`", kind.__module__.split(".")[2], *each])
    return markdown_lines([["pass", "folder", *found], *rows], 2)


def _shown(values: Sequence[float]) -> str:
    if not values:
        return ""
    mean = geometric_mean(values)
    return f"{mean:.3f} ({len(values)}, {min(values):.2f} to {max(values):.2f})"


def _table(arguments: Namespace) -> bool:
    sets = defaultdict[str, list[Times]](list)
    for path in arguments.records:
        name, times = _times_of(path)
        sets[name].append(times)
    print(table(sets))
    return True


def _records(parser: ArgumentParser) -> None:
    parser.add_argument("records", type=Path, nargs="+", metavar="FILE.json")


_only = only("take the kernels in whose names it is found")

STEPS = {
    "compile": Step(
        "compile kernels with and without passes",
        _compile,
        (modules, _only, jobs(2, "kernels"), _compile_options),
    ),
    "predict": Step(
        "predict times for gfx942 with and without passes",
        _predict,
        (output("rows.json"), _only, jobs(2, "kernels"), _predict_options),
    ),
    "table": Step("print what each pass is worth", _table, (_records,)),
}


if __name__ == "__main__":
    sys.exit(take_step(__doc__, STEPS))
