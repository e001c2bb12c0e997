# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real-life programs in each mode, run on the emulated chips, as one table.

python -m bankwise.bench.programs [--jobs 1] [--targets gfx942 gfx950] [--only REGEX]
    [-o bench/results]

All chips that the emulator runs can be targets; programs that name the matrix instructions of
others have no code there.

Every program of `program_families` is compiled with `none`, `stock` and `auto`, and all its
workgroups run. A row fails where a compile or a run fails, outputs differ, a result is not what
NumPy computes, `auto` has more conflicts, more LDS cycles or more LDS bytes than `stock`, or the
assembly of `stock` is not byte for byte that of iree-compile. Finished rows are kept in
DIR/programs.json at once, and the same command goes on from there; rows of other sources of the
passes or the emulator do not count. Where stock IREE itself makes a kernel with a race, the row
fails unless every run is refused with that race. programs.md is written at the end, for the rows of
the command.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..emulator.counters import Counted
from ..emulator.emulation_errors import LdsRaceError
from ..emulator.timing.constants import TIMED_CHIPS
from ..iree_plugin.invocations import CompileError
from ..runtime.emulated_run import EmulatedRun
from ..sweep.cases import target_flags
from .benchmark import RESULTS, Benchmark, each_mode, emulated_arguments
from .emulated_rows import EmulatedRow, chip_tables, digest, faults_of, notes, reasons_where
from .emulated_runs import MODES, run_modes
from .program_families import all_programs
from .program_families.program import Array, Program, largest_error
from .runs import compile_source

Case = tuple[Program, str]

_NO_WORSE = ((Counted.CONFLICTS, "conflict cycles"), (Counted.LDS_CYCLES, "LDS cycles"))
_RACE = LdsRaceError.__name__


@dataclass(frozen=True)
class ProgramRow(EmulatedRow):
    """One program on one chip. The error is that of `program_families.program.largest_error`.

    Attributes:
        stock_identical: whether the assembly of `stock` is that of iree-compile; None where
            `stock` failed.
        race: the race of stock's own kernel, see `Program`; empty where the program must run.
    """

    stock_identical: bool | None = None
    race: str = ""

    @classmethod
    def of_case(cls, case: Case) -> ProgramRow:
        """Returns the row of a program that has not run."""
        program, target = case
        source = digest(program.source, *program.flags)
        tolerance, race = program.tolerance, program.race
        return cls(program.name, target, source=source, tolerance=tolerance, race=race)

    def measured(self, case: Case) -> ProgramRow:
        """Runs a program in all modes."""
        program, target = case
        inputs = program.draw_inputs()
        flags = (*target_flags(target), *program.flags)
        found = run_modes(program.source, flags, inputs, needs_process=program.needs_process)
        expected = program.expected(inputs) if found.runs else []
        row = self.of_runs(found, lambda run: _error(run.outputs, expected))
        if "stock" not in found.runs:
            return row
        same, errors = each_mode(["iree-compile"], lambda _: _is_stock(case, found.runs["stock"]))
        return replace(row, stock_identical=same.get("iree-compile"), errors=row.errors | errors)

    @property
    def is_uncompiled(self) -> bool:
        """Returns whether iree-compile has no code of the program for a chip without a table of
        times, and neither have we: it may name an instruction, say, that another family has."""
        fails = (self.errors.get(mode, "").startswith(CompileError.__name__) for mode in self.modes)
        return self.target not in TIMED_CHIPS and all(fails)

    @property
    def failed(self) -> bool:
        """Returns whether the row is to be measured again."""
        return super().failed and not self.is_uncompiled

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        if self.is_uncompiled:
            return []
        if self.race:
            raced = [m for m, text in self.errors.items() if text.startswith(_RACE)]
            return [f"{m} does not report the race" for m in MODES if m not in raced]
        found = super().faults
        for counter, what in _NO_WORSE:
            stock, auto = (self.count(m, counter) for m in ("stock", "auto"))
            if stock is not None and auto is not None and auto > stock:
                found.append(f"auto has {auto:,} {what}, stock {stock:,}")
        if self.stock_identical is False:
            found.append("stock's assembly is not that of iree-compile")
        return found


def cases(targets: Sequence[str], only: str | re.Pattern[str] = "") -> list[Case]:
    """Returns the programs whose name `only` finds, each with a chip to run it on.

    `only` is a regular expression.
    """
    chosen = [program for program in all_programs() if re.search(only, program.name)]
    return [(p, target) for target in targets for p in chosen if p.is_for(target)]


def _is_stock(case: Case, run: EmulatedRun) -> bool:
    program, target = case
    assembly = compile_source(program.source, target, None, program.flags)
    return set(assembly.values()) == {text.encode() for text in run.assembly.values()}


def _error(outputs: Sequence[Array], expected: Sequence[Array]) -> float:
    if len(outputs) != len(expected):
        return float("inf")
    return max(largest_error(*pair) for pair in zip(outputs, expected, strict=True))


def summary(rows: Sequence[ProgramRow]) -> str:
    """Returns one line about all rows."""
    with_lds = [row for row in rows if row.uses_lds]
    uncompiled = sum(row.is_uncompiled for row in rows)
    fewer = [row for row in with_lds if (row.count("auto", Counted.CONFLICTS) or 0) == 0]
    stock = [row for row in with_lds if (row.count("stock", Counted.CONFLICTS) or 0) == 0]
    return (
        f"{len(rows)} rows, {len(with_lds)} with LDS: {len(fewer)} of these without conflicts "
        f"under auto, {len(stock)} under stock; "
        f"{sum(row.stock_identical is True for row in rows)} with stock's assembly identical to "
        f"iree-compile's; {sum(bool(row.race) for row in rows)} with a race that is reported; "
        + (f"{uncompiled} that iree-compile has no code of; " if uncompiled else "")
        + f"{sum(bool(row.faults) for row in rows)} failed"
    )


def markdown_table(rows: Sequence[ProgramRow]) -> str:
    """Returns the summary, the figures of each chip, and remarks on single rows."""
    parts = [
        "# Real-life programs on the emulated chips",
        "`python -m bankwise.bench.programs`: each program compiled in the modes "
        f"{' / '.join(MODES)}, in this order in each cell. Counters are sums over all "
        "workgroups of all dispatches, LDS bytes those of the largest workgroup. The error is the "
        "largest of an output's elements against NumPy in float64 or exact integers, relative to "
        "the larger of the element's magnitude and the root mean square of the output; a row "
        "fails above the tolerance that its program states.",
        summary(rows),
    ]
    raced = [(row, row.race) for row in rows if row.race and not row.faults]
    left = reasons_where(rows, lambda row, mode: bool(row.count(mode, Counted.CONFLICTS)))
    shown = [row for row in rows if not (row.race or row.is_uncompiled)]
    parts += chip_tables(shown, tolerances=True)
    missing = [(row, row.errors["stock"].splitlines()[0]) for row in rows if row.is_uncompiled]
    parts += notes("Without code of iree-compile", missing, "chip", "program", "what it says")
    parts += notes("Failed", faults_of(rows), "chip", "program", "what")
    parts += notes("Races in stock's own kernels", raced, "chip", "program", "race")
    parts += notes("Conflicts left, and why", left, "chip", "program", "allocation")
    return "\n\n".join(parts) + "\n"


BENCHMARK = Benchmark(
    "programs",
    ProgramRow,
    lambda arguments: cases(arguments.targets, arguments.only),
    summary,
    texts={"md": markdown_table},
    measures="programs",
    jobs=1,
    output=RESULTS / "programs.json",
    arguments=emulated_arguments,
)


if __name__ == "__main__":
    sys.exit(BENCHMARK.main(__doc__))
