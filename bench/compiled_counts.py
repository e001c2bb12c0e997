# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What compiles for an AMD GPU leave and have, on any chip: conflicts, LDS instructions, registers.

python -m bankwise.bench.compiled_counts [--targets gfx1100 gfx1151 gfx1201] [--only REGEX]
    [--modes stock auto] [--every N] [--jobs 2] [-o bench/results]

The kernels are the programs of `program_families` and the 110 attention shapes in f16 and f32.
`bankwise-compile` compiles each in each mode, verifying where the mode is ours, and its assembly is
counted. Nothing runs: whether code of a chip does what it should is for `bench/programs.py`.

A row fails where a compile of ours fails and stock's does not, or where verification finds an
access that has conflicts, or may have some, and no decision gives a reason. Programs whose kernel
races as stock makes it are left out: their pipeline is left to stock. Finished rows are kept in
DIR/compiled_counts.json at once, and the same command goes on from there; rows of other sources of
the passes do not count. compiled_counts.md is written at the end.
"""

from __future__ import annotations

import re
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..bank_model.families import AMD
from ..bank_model.json_text import read_json
from ..bank_model.lds_tables import known_targets
from ..emulator.timing.constants import TIMED_CHIPS
from ..iree_plugin.compiled_accesses import widths_of
from ..passes.mode import Mode
from ..sweep.swept_kernels import swept_attentions
from ..sweep.tables import markdown_lines
from .benchmark import RESULTS, Benchmark, BenchRow, each_mode, first_line, pattern
from .emulated_rows import digest, faults_of, notes
from .emulated_runs import is_ours
from .program_families import all_programs
from .program_families.program import is_for
from .runs import assembly_in, run_compiler

TARGETS = ("gfx1100", "gfx1151", "gfx1201")
MODES = ("stock", "auto")
_DTYPES = ("f16", "f32")
_DECISIONS = "decisions.json"
_METADATA = {
    "registers": re.compile(rb"^\s+(?:- )?\.vgpr_count:\s+(\d+)", re.MULTILINE),
    "spills": re.compile(rb"^\s+(?:- )?\.vgpr_spill_count:\s+(\d+)", re.MULTILINE),
    "private_bytes": re.compile(rb"^\s+(?:- )?\.private_segment_fixed_size:\s+(\d+)", re.MULTILINE),
    "lds_bytes": re.compile(rb"^\s+(?:- )?\.group_segment_fixed_size:\s+(\d+)", re.MULTILINE),
}
"""What the metadata of a code object says of its kernels."""


class Source(NamedTuple):
    """A module, by its text.

    Attributes:
        flags: of the compiler, beside those that name the target.
        targets: the chips that it is for, as those of a `Program`.
    """

    name: str
    text: str
    flags: tuple[str, ...] = ()
    targets: tuple[str, ...] = TIMED_CHIPS


Case = tuple[Source, str, tuple[str, ...]]
"""A module, a chip and the modes."""


@dataclass(frozen=True)
class Compiled:
    """What a module has in one mode. Every instruction of the assembly counts once.

    That says little where a loop is unrolled: what runs is in the counts of the decisions.

    Attributes:
        before, after: the conflict cycles of a workgroup of each kernel, of stock's layouts and of
            those that decisions leave, together; None where a decision has no count, since an
            access is not known.
        issued_before, issued_after: their LDS instructions, likewise.
        left: the decisions that leave some, or have no count, with their reasons.
        unverified: why verification fails; empty where it passes, and for stock.
        loads, narrow_loads, stores: LDS instructions, those of two places counted as two; narrow
            ones move less than 4 bytes of a lane.
        registers, spills, private_bytes, lds_bytes: the most of a kernel.
    """

    before: int | None = None
    after: int | None = None
    issued_before: int | None = None
    issued_after: int | None = None
    left: tuple[str, ...] = ()
    unverified: str = ""
    loads: int = 0
    narrow_loads: int = 0
    stores: int = 0
    registers: int = 0
    spills: int = 0
    private_bytes: int = 0
    lds_bytes: int = 0


@dataclass(frozen=True)
class CompiledRow(BenchRow):
    """One module for one chip.

    Attributes:
        source: a digest of the module, its flags and the modes.
        figures: by mode, where it compiles.
    """

    source: str = ""
    figures: dict[str, Compiled] = field(default_factory=dict)

    @classmethod
    def of_case(cls, case: Case) -> CompiledRow:
        """Returns the row of a module that has not been compiled."""
        source, target, modes = case
        return cls(source.name, target, source=digest(source.text, *source.flags, *modes))

    @property
    def key(self) -> tuple[str, ...]:
        """Returns a key that rows of the same measurement share."""
        return *super().key, self.source

    def measured(self, case: Case) -> CompiledRow:
        """Compiles a module in all modes."""
        source, target, modes = case
        found, errors = each_mode(modes, lambda mode: compiled(source, target, mode))
        return replace(self, figures=found, errors=errors)

    @property
    def failed(self) -> bool:
        """Returns whether the row is to be measured again: not where stock fails, too."""
        return bool(self.errors) and "stock" not in self.errors

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        found = [] if "stock" in self.errors else super().faults
        for mode, figures in self.figures.items():
            if figures.unverified and not figures.left:
                found.append(f"{mode}: {figures.unverified}")
        return found

    @property
    def remaining(self) -> list[str]:
        """Returns what decisions leave, with their reasons."""
        return [f"{mode}: {left}" for mode, each in self.figures.items() for left in each.left]


def compiled(source: Source, target: str, mode: str) -> Compiled:
    """Compiles a module; what verification says against it is in the result.

    Raises:
        RuntimeError: it does not compile. The message is the tool's.
    """
    flags = [*Mode.parse(mode).flags(), *source.flags, "--iree-hal-dump-executable-files-to=."]
    unverified = ""
    with tempfile.TemporaryDirectory(prefix="bankwise-bench-") as name:
        directory = Path(name)
        flags.append(f"--bankwise-decisions={_DECISIONS}")

        def run(*more: str) -> None:
            run_compiler(directory, "bankwise-compile", source.text, target, *flags, *more)

        try:
            run(*(["--bankwise-verify"] if is_ours(mode) else []))
        except RuntimeError as error:
            if not is_ours(mode):
                raise
            run()
            unverified = first_line(str(error))
        decisions = read_json((directory / _DECISIONS).read_text())["decisions"]
        texts = assembly_in(directory).values()
        return _counted(decisions, texts, unverified)


def _counted(
    decisions: Sequence[dict[str, Any]], assembly: Iterable[bytes], unverified: str
) -> Compiled:
    texts = list(assembly)
    standing = [each for each in decisions if each["stands"]]
    stock = [each for each in decisions if each["action"] == "stock"]
    exchanges = [each for each in decisions if each["action"] == "exchange"]
    widths = Counter[Any]()
    for text in texts:
        for found in widths_of(text.decode()).values():
            widths += found

    def accesses(kind: str, below: int = 1 << 10) -> int:
        return sum(n for (each, size), n in widths.items() if each.value == kind and size < below)

    return Compiled(
        *(_sum(stock, "conflict_cycles_after"), _sum(standing, "conflict_cycles_after")),
        *(_sum([*found, *exchanges], "lds_instructions_after") for found in (stock, standing)),
        left=tuple(
            f"{each['allocation']}: {each['action']}: {each['reason']} "
            f"({each['conflict_cycles_after']} conflict cycles)"
            for each in standing
            if each["conflict_cycles_after"] != 0
        ),
        unverified=unverified,
        loads=accesses("read"),
        narrow_loads=accesses("read", 4),
        stores=accesses("write"),
        **{
            name: max((int(each) for text in texts for each in shown.findall(text)), default=0)
            for name, shown in _METADATA.items()
        },
    )


def _sum(decisions: Sequence[dict[str, Any]], count: str) -> int | None:
    found = [each[count] for each in decisions]
    return None if None in found else sum(found)


def sources() -> list[Source]:
    """Returns the programs and the attentions."""
    programs = [
        Source(each.name, each.source, each.flags, each.targets)
        for each in all_programs()
        if not each.race
    ]
    attentions = [each for dtype in _DTYPES for each in swept_attentions(dtype)]
    return [*programs, *(Source(each.name, each.source()) for each in attentions)]


def cases(
    targets: Sequence[str], modes: Sequence[str], only: str | re.Pattern[str] = "", every: int = 1
) -> list[Case]:
    """Returns every `every`-th of the modules whose name `only` finds, each for all its chips."""
    chosen = [each for each in sources() if re.search(only, each.name)][::every]
    return [
        (each, target, tuple(modes))
        for target in targets
        for each in chosen
        if is_for(each.targets, target)
    ]


def summary(rows: Sequence[CompiledRow]) -> str:
    """Returns a table with a line per chip and mode."""
    lines = [[*_HEAD]]
    for target in dict.fromkeys(row.target for row in rows):
        its_rows = [row for row in rows if row.target == target]
        for mode in dict.fromkeys(mode for row in its_rows for mode in row.figures):
            lines.append(_cells(its_rows, target, mode))
    return markdown_lines(lines, text_columns=2)


_HEAD = ("chip", "mode", "modules", "stock fails, too", "failed", "with LDS", "conflict cycles",
         "LDS instructions", "narrow loads", "registers", "with spills", "spills")  # fmt: skip


def _cells(rows: Sequence[CompiledRow], target: str, mode: str) -> list[str]:
    """Returns the line of a mode. Its sums are over the modules that compile in all modes."""
    whole = [row.figures for row in rows if not row.errors]
    found = [figures[mode] for figures in whole]
    # What stock's layouts cost, ours say: stock's compile has no decisions.
    ours = [next((f for m, f in each.items() if is_ours(m)), Compiled()) for each in whole]
    known = [
        (each.before, each.issued_before) if not is_ours(mode) else (own.after, own.issued_after)
        for each, own in zip(ours, found, strict=True)
        if None not in (each.before, each.after, each.issued_before, each.issued_after)
    ]
    figures = [
        *(len(rows), sum("stock" in row.errors for row in rows)),
        *(sum(bool(row.faults) for row in rows), sum(each.lds_bytes > 0 for each in found)),
        *(sum(cycles or 0 for cycles, _ in known), sum(issued or 0 for _, issued in known)),
        *(sum(each.narrow_loads for each in found), sum(each.registers for each in found)),
        *(sum(each.spills > 0 for each in found), sum(each.spills for each in found)),
    ]
    return [target, mode, *(f"{each:,}" for each in figures)]


def markdown(rows: Sequence[CompiledRow]) -> str:
    """Returns the summary, and what is to be said of single rows."""
    failing = [(row, first_line(row.errors["stock"])) for row in rows if "stock" in row.errors]
    remaining = [(row, text) for row in rows for text in row.remaining]
    spilling = [(row, text) for row in rows for text in _spills(row)]
    parts = [
        "# Compiles for chips, by what they say and by their assembly",
        "`python -m bankwise.bench.compiled_counts`: the programs of `bench/program_families` and "
        "the 110 attention shapes in f16 and f32, every one verified where the mode is Bankwise's. "
        "Conflict cycles and LDS instructions are those of one workgroup of each kernel by the "
        "bank model, where all are known; narrow loads, which move less than 4 bytes of a lane, "
        "and registers stand in the assembly. Nothing of it has run.",
        summary(rows),
        *notes("Failed", faults_of(rows), "chip", "module", "what"),
        *notes("Conflicts left, and why", remaining, "chip", "module", "allocation"),
        *notes("What stock does not compile", failing, "chip", "module", "why"),
        *notes("More spilled registers than stock", spilling, "chip", "module", "what"),
    ]
    return "\n\n".join(parts) + "\n"


def _spills(row: CompiledRow) -> list[str]:
    """Returns the modes that spill more than stock."""
    stock = row.figures.get("stock")
    if stock is None:
        return []
    return [
        f"{mode}: {each.spills:,} registers of {each.registers:,}, stock {stock.spills:,}"
        for mode, each in row.figures.items()
        if each.spills > stock.spills
    ]


def _arguments(parser: ArgumentParser) -> None:
    known = [each for each in known_targets() if each.startswith(AMD.prefix)]
    parser.add_argument("--targets", nargs="+", choices=known, default=TARGETS, help="the chips")
    parser.add_argument("--modes", nargs="+", default=MODES, help="stock, auto, auto/fast, ...")
    about = "modules in whose names it is found"
    parser.add_argument("--only", type=pattern, default="", metavar="REGEX", help=about)


BENCHMARK = Benchmark(
    "compiles",
    CompiledRow,
    lambda arguments: cases(arguments.targets, arguments.modes, arguments.only, arguments.every),
    summary,
    texts={"md": markdown},
    every="module",
    output=RESULTS / "compiled_counts.json",
    arguments=_arguments,
)


if __name__ == "__main__":
    sys.exit(BENCHMARK.main(__doc__))
