# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real-life programs under each mitigation, run on the emulated chips, as one table.

python -m bankwise.bench.programs [--jobs 1] [--targets=gfx942,gfx950] [--only=REGEX] [--list]
    [-o bench/results]

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

import hashlib
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..emulator.chips import EMULATED_CHIPS
from ..emulator.counters import Counted
from ..emulator.errors import LdsRaceError
from ..runtime.emulated_run import EmulatedRun
from ..sweep.cases import target_flags
from ..sweep.rows import installed_versions
from .emulated_rows import (
    EmulatedRow,
    chip_tables,
    faults_of,
    make_table,
    notes,
    reasons_where,
)
from .emulated_runs import MITIGATIONS, run_mitigations
from .kept_rows import RESULTS
from .program_families import all_programs
from .program_families.program import Array, Program, largest_error
from .runs import bench_parser, compile_source

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

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        if self.race:
            raced = [m for m, text in self.errors.items() if text.startswith(_RACE)]
            return [f"{m} does not report the race" for m in MITIGATIONS if m not in raced]
        found = super().faults
        for counter, what in _NO_WORSE:
            stock, auto = (self.count(m, counter) for m in ("stock", "auto"))
            if stock is not None and auto is not None and auto > stock:
                found.append(f"auto has {auto:,} {what}, stock {stock:,}")
        if self.stock_identical is False:
            found.append("stock's assembly is not that of iree-compile")
        return found


def cases(targets: Sequence[str], only: str = "") -> list[Case]:
    """Returns the programs whose name `only` finds, each with a chip to run it on.

    `only` is a regular expression.
    """
    chosen = [program for program in all_programs() if re.search(only, program.name)]
    return [(p, target) for target in targets for p in chosen if target in p.targets]


def empty_row(case: Case) -> ProgramRow:
    """Returns the row of a program that has not run."""
    program, target = case
    text = "\0".join([program.source, *program.flags])
    source = hashlib.sha256(text.encode()).hexdigest()[:12]
    return ProgramRow(
        program.name,
        target,
        source,
        installed_versions().code,
        tolerance=program.tolerance,
        race=program.race,
    )


def measure(case: Case) -> ProgramRow:
    """Returns the row of one program; what fails is in the row too."""
    program, target = case
    inputs = program.draw_inputs()
    flags = (*target_flags(target), *program.flags)
    found = run_mitigations(program.source, flags, inputs, needs_process=program.needs_process)
    expected = program.expected(inputs) if found.runs else []
    row = empty_row(case).of_runs(found, lambda run: _error(run.outputs, expected))
    if "stock" not in found.runs:
        return row
    try:
        return replace(row, stock_identical=_is_stock(case, found.runs["stock"]))
    except RuntimeError as error:
        return replace(row, errors={**row.errors, "iree-compile": str(error)})


def _is_stock(case: Case, run: EmulatedRun) -> bool:
    program, target = case
    compiled = compile_source(program.name, program.source, target, None, program.flags)
    return set(compiled.assembly.values()) == {text.encode() for text in run.assembly.values()}


def _error(outputs: Sequence[Array], expected: Sequence[Array]) -> float:
    if len(outputs) != len(expected):
        return float("inf")
    return max(largest_error(*pair) for pair in zip(outputs, expected, strict=True))


def summary(rows: Sequence[ProgramRow]) -> str:
    """Returns one line about all rows."""
    with_lds = [row for row in rows if row.uses_lds]
    fewer = [row for row in with_lds if (row.count("auto", Counted.CONFLICTS) or 0) == 0]
    stock = [row for row in with_lds if (row.count("stock", Counted.CONFLICTS) or 0) == 0]
    return (
        f"{len(rows)} rows, {len(with_lds)} with LDS: {len(fewer)} of these without conflicts "
        f"under auto, {len(stock)} under stock; "
        f"{sum(row.stock_identical is True for row in rows)} with stock's assembly identical to "
        f"iree-compile's; {sum(bool(row.race) for row in rows)} with a race that is reported; "
        f"{sum(bool(row.faults) for row in rows)} failed"
    )


def markdown_table(rows: Sequence[ProgramRow]) -> str:
    """Returns the summary, the figures of each chip, and remarks on single rows."""
    parts = [
        "# Real-life programs on the emulated chips",
        "`python -m bankwise.bench.programs`: each program compiled with the mitigations "
        f"{' / '.join(MITIGATIONS)}, in this order in each cell. Counters are sums over all "
        "workgroups of all dispatches, LDS bytes those of the largest workgroup. The error is the "
        "largest of an output's elements against NumPy in float64 or exact integers, relative to "
        "the larger of the element's magnitude and the root mean square of the output; a row "
        "fails above the tolerance that its program states.",
        summary(rows),
    ]
    raced = [(row, row.race) for row in rows if row.race and not row.faults]
    left = reasons_where(rows, lambda row, mode: bool(row.count(mode, Counted.CONFLICTS)))
    parts += chip_tables([row for row in rows if not row.race], tolerances=True)
    parts += notes("Failed", faults_of(rows), "chip", "program", "what")
    parts += notes("Races in stock's own kernels", raced, "chip", "program", "race")
    parts += notes("Conflicts left, and why", left, "chip", "program", "allocation")
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Measures all programs; exits with 1 when a row fails."""
    parser = bench_parser(__doc__, "programs", jobs=1)
    parser.add_argument("--targets", default=",".join(EMULATED_CHIPS), help="of gfx942 and gfx950")
    parser.add_argument("--only", default="", metavar="REGEX", help="programs it finds in a name")
    parser.add_argument("--list", action="store_true", help="print the names and run nothing")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, help="directory")
    arguments = parser.parse_args()
    targets = arguments.targets.split(",")
    if unknown := [target for target in targets if target not in EMULATED_CHIPS]:
        parser.error(
            f"--targets: {', '.join(unknown)} cannot be emulated; use {','.join(EMULATED_CHIPS)}"
        )
    try:
        chosen = cases(targets, arguments.only)
    except re.error as error:
        parser.error(f"--only={arguments.only}: this is no regular expression: {error}")
    if not chosen:
        parser.error(f"--only={arguments.only}: no program has such a name; --list shows all")
    if arguments.list:
        print("\n".join(dict.fromkeys(program.name for program, _ in chosen)))
        return 0
    return make_table(
        arguments.output / "programs",
        ProgramRow,
        chosen,
        empty_row,
        measure,
        arguments.jobs,
        "programs",
        summary,
        {"md": markdown_table},
    )


if __name__ == "__main__":
    sys.exit(main())
