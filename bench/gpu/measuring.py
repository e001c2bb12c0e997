# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measuring everything in a directory, and going on where an earlier run stopped."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.util
import re
import tempfile
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .command_steps import modules, only
from .gpu_machine import Machine, conditions
from .inputs import INPUTS, NORMAL
from .profiler import CLOCKS
from .record import Conditions, Errors, Failure, Record, Reference, Row, wrong_rows
from .references import has_torch, measure_references, reference_cases
from .runtime_programs import runtime_programs
from .timed_kernels import ATTENTION, CompiledKernels, TimedKernel, module_digests

if TYPE_CHECKING:
    from .float64 import SampledAttention
    from .sampled_products import SampledProduct

Case = tuple[str, str]
"""A kernel's name, and a mode or another library."""


@dataclass(frozen=True)
class Wanted:
    """What a run shall measure.

    Attributes:
        directory: the directory of the compiled kernels.
        output: the file of the record.
        only: a regular expression that is searched in what `TimedKernel.case` returns.
        inputs: what the inputs of attentions are, a key of `inputs.INPUTS`.
        clocks: what happens to the clocks, a key of `profiler.CLOCKS`.
        libraries: whether PyTorch's kernels are measured too.
    """

    directory: Path
    output: Path
    only: str
    inputs: str
    clocks: str
    libraries: bool = True

    def has(self, kernel: TimedKernel, series: str) -> bool:
        """Returns whether a kernel in a mode, or in another library, shall be measured."""
        return re.search(self.only, kernel.case(series)) is not None


def _add_conditions(parser: ArgumentParser) -> None:
    about = "; ".join(f"{name}: {text}" for name, text in INPUTS.items())
    parser.add_argument("--inputs", choices=INPUTS, default=NORMAL, help=f"of attentions: {about}")
    about = "; ".join(f"{name}: {text}" for name, text in CLOCKS.items())
    parser.add_argument("--clocks", choices=CLOCKS, default="base", help=about)


MEASURE_ARGUMENTS = (
    modules,
    only(
        "measure the kernels in whose names it is found; the name of a mode or a library follows, "
        "as in 'attention_2x1024x128_f16 auto/fast' or 'matmul_2048x2048x2048_f16 cublas'"
    ),
    _add_conditions,
)
"""What a step that measures takes, beside the file that it writes."""


def wanted(arguments: Namespace, *, libraries: bool = True) -> Wanted:
    """Returns what the arguments of a measuring step ask for.

    Args:
        libraries: whether PyTorch's kernels are measured too.
    """
    a = arguments
    return Wanted(a.directory, a.output, a.only, a.inputs, a.clocks, libraries)


@dataclass
class Results:
    """The results so far. Whenever one is added, the whole file is written again."""

    output: Path
    compiled: CompiledKernels
    modules: dict[Case, str]
    conditions: Conditions
    versions: dict[str, str]
    rows: dict[Case, Row] = field(default_factory=dict)
    references: dict[Case, Reference] = field(default_factory=dict)
    failures: dict[Case, Failure] = field(default_factory=dict)

    def take_over(self, old: Record) -> None:
        """Keeps of an older record the rows whose modules are still the same, and references.

        Raises:
            RuntimeError: it was measured under other conditions.
        """
        if old.conditions != self.conditions:
            changed = [
                f"{name} is {new!r} and was {old_value!r}"
                for name, new in dataclasses.asdict(self.conditions).items()
                if new != (old_value := getattr(old.conditions, name))
            ]
            raise RuntimeError(f"{self.output} has other conditions: {', '.join(changed)}")
        names = {kernel.name for kernel in self.compiled.kernels}
        for row in old.rows:
            if self.modules.get((row.kernel, row.mode)) == row.module:
                self.rows[row.kernel, row.mode] = row
        for each in old.references:
            if each.kernel in names:
                self.references[each.kernel, each.series] = each
        self.versions = {**old.versions, **self.versions}

    def add(self, row: Row) -> None:
        """Adds a row, and prints its time."""
        print(f"{row.kernel} {row.mode}: {row.figures.milliseconds:.4f} ms", flush=True)
        self.rows[row.kernel, row.mode] = row
        self.write()

    def add_references(self, found: list[Reference], versions: dict[str, str]) -> None:
        """Adds the times of other libraries, and prints them."""
        for each in found:
            time = "refused" if each.milliseconds is None else f"{each.milliseconds:.4f} ms"
            print(f"{each.kernel} {each.series}: {time}", flush=True)
            self.references[each.kernel, each.series] = each
        self.versions.update(versions)
        self.write()

    def fail(self, kernel: str, series: str, message: str) -> None:
        """Adds a failure, and prints it."""
        print(f"{kernel} {series} failed: {message}", flush=True)
        self.failures[kernel, series] = Failure(kernel, series, message)
        self.write()

    def record(self) -> Record:
        """Returns the record of what is known."""
        rows = [self.rows[case] for case in self.modules if case in self.rows]
        return Record(
            self.conditions,
            datetime.date.today().isoformat(),
            {**self.compiled.versions, **self.versions},
            self.compiled.kernels,
            tuple(rows),
            tuple(self.references.values()),
            tuple(self.failures.values()),
        )

    def write(self) -> None:
        """Writes the record to the file."""
        self.record().write(self.output)


def measure_kernel(
    machine: Machine, kernel: TimedKernel, modes: list[str], wanted: Wanted, results: Results
) -> None:
    """Measures a kernel in some modes. What fails is noted, and the next mode has its turn.

    Modules that are equal byte by byte are measured once: their times do not differ.
    """
    inputs = machine.write_inputs(kernel)
    sample = _sample(kernel, inputs)
    for mode in modes:
        module = results.modules[kernel.name, mode]
        same = (row for row in results.rows.values() if row.kernel == kernel.name)
        measured = {row.module: row for row in same}.get(module)
        if measured is not None:
            results.add(dataclasses.replace(measured, mode=mode))
            continue
        vmfb = kernel.module(wanted.directory, mode)
        try:
            output = machine.run(vmfb, kernel, inputs)
            errors: Errors | None = sample.errors(machine.output) if sample else None
            figures = machine.figures(vmfb, kernel, inputs)
        except (RuntimeError, ValueError) as error:
            results.fail(kernel.name, mode, str(error))
            continue
        results.add(Row(kernel.name, mode, module, output, figures, errors))


def _sample(kernel: TimedKernel, inputs: list[Path]) -> SampledAttention | SampledProduct | None:
    """Returns what outputs are compared with; None without NumPy."""
    if importlib.util.find_spec("numpy") is None:
        return None
    from .float64 import SampledAttention
    from .sampled_products import SampledProduct

    sampled = SampledAttention if kernel.function == ATTENTION else SampledProduct
    return sampled.of(kernel, inputs)


def measure_all(wanted: Wanted) -> bool:
    """Measures what is wanted and not known yet.

    Returns:
        Whether everything ran, and outputs equal those of the first mode where they must.

    Raises:
        RuntimeError: a program is missing, or the record is of other conditions.
        OSError: a file cannot be read or written.
    """
    compiled = CompiledKernels.of_directory(wanted.directory)
    found, versions = conditions(compiled.target, wanted.inputs, wanted.clocks)
    programs = runtime_programs()
    modules = module_digests(wanted.directory, compiled.kernels)
    results = Results(wanted.output, compiled, modules, found, versions)
    if wanted.output.exists():
        results.take_over(Record.read(wanted.output))
    with tempfile.TemporaryDirectory(prefix="bankwise-gpu-") as scratch:
        machine = Machine(programs, Path(scratch), wanted.inputs, wanted.clocks)
        if wanted.libraries:
            _measure_libraries(machine, wanted, results)
        for kernel in compiled.kernels:
            missing = [
                mode
                for mode in kernel.modes
                if wanted.has(kernel, mode) and (kernel.name, mode) not in results.rows
            ]
            if missing:
                measure_kernel(machine, kernel, missing, wanted, results)
    results.write()
    return not results.failures and not wrong_rows(compiled.kernels, results.rows.values())


def _measure_libraries(machine: Machine, wanted: Wanted, results: Results) -> None:
    cases = [
        case
        for case in reference_cases(results.compiled.kernels)
        if wanted.has(case.kernel, case.series)
        and (case.kernel.name, case.series) not in results.references
    ]
    if not cases:
        return
    if not has_torch():
        print("PyTorch is not installed: its kernels are not measured", flush=True)
        return
    try:
        results.add_references(*measure_references(cases, machine.scratch, machine.clocks))
    except RuntimeError as error:
        results.fail("PyTorch", "all", str(error))
