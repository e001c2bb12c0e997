# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls and convolutions under each mitigation, run on the emulated chips, as one table.

python -m bankwise.bench.matmul_table [--jobs 1] [--chips gfx942,gfx950] [--every N]
    [-o bench/results]

Every kernel is compiled with `none`, `stock` and `auto`; small grids run whole, of large ones the
first and the last workgroup. A row fails where a compile or a run fails, outputs differ, a result
is wrong, conflicts are left without a reason, or more LDS is taken than stock takes. Finished rows
are kept in DIR/matmul_table.json at once, and the same command goes on from there; rows of other
sources of the passes or the emulator do not count. matmul_table.md and .csv are written at the end.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..emulator.chips import CDNA3, CDNA4
from ..emulator.counters import BANK_CONFLICTS
from ..iree_plugin.atomic_file import write_output
from ..sweep.kernels import Convolution, Matmul, Product, random_operands
from ..sweep.rows import installed_versions
from ..sweep.tables import markdown_lines
from .emulated_products import TOLERANCE, Run, emulate, largest_error
from .emulated_rows import (
    COUNTERS,
    FIGURES_HEAD,
    INTERRUPTED,
    MITIGATIONS,
    RESULTS,
    Figures,
    KeptRows,
    figures_line,
    fill_rows,
    first_line,
    reasons_of,
)
from .matmul_rows import Row

DTYPES = {
    CDNA3: ("f16", "bf16", "f32", "i8", "f8E4M3FNUZ"),
    CDNA4: ("f16", "bf16", "f32", "i8", "f8E4M3FN"),
}
TRANSPOSED_DTYPES = ("f16", "i8")
SHAPES = ((128, 128, 128), (256, 384, 1024), (512, 512, 512), (1024, 1024, 1024),
          (2048, 2048, 2048), (4096, 4096, 4096), (16, 4096, 4096), (4096, 16, 1024),
          (100, 130, 70), (1000, 1000, 1000))  # fmt: skip
"""m, n, k."""
CONVOLUTIONS = (
    Convolution(1, 34, 34, 64, 128, 3, "f16"),
    Convolution(1, 34, 34, 64, 128, 3, "i8"),
    Convolution(1, 32, 32, 64, 128, 1, "f16"),
    Convolution(1, 33, 33, 64, 128, 3, "f16", stride=2),
    Convolution(2, 19, 23, 40, 72, 3, "f16"),
)

Case = tuple[Product, str]


def cases(chips: Sequence[str]) -> list[Case]:
    """Kernels and the chips to compile them for."""
    matmuls = [
        (Matmul(*shape, dtype, transposed), chip)
        for chip in chips
        for dtype in DTYPES[chip]
        for transposed in ((False, True) if dtype in TRANSPOSED_DTYPES else (False,))
        for shape in SHAPES
    ]
    return [*matmuls, *((conv, chip) for chip in chips for conv in CONVOLUTIONS)]


def empty_row(case: Case) -> Row:
    """The row of a kernel that has not run."""
    kernel, chip = case
    source = hashlib.sha256(kernel.source().encode()).hexdigest()[:12]
    tolerance = TOLERANCE[kernel.accumulator]
    code = installed_versions().code
    return Row(kernel.name, chip, source, code, tolerance, dtype=kernel.dtype)


def measure(case: Case) -> Row:
    """The row of one kernel; what fails is in the row too."""
    kernel, chip = case
    operands = random_operands(kernel)
    runs: dict[str, Run] = {}
    errors: dict[str, str] = {}
    for mitigation in MITIGATIONS:
        try:
            runs[mitigation] = emulate(kernel, chip, mitigation, operands)
        except Exception as error:
            # Whatever fails, the other figures are wanted.
            errors[mitigation] = f"{type(error).__name__}: {error}"
    row = replace(empty_row(case), errors=errors)
    if not runs:
        return row
    distinct = {run.output.tobytes(): run for run in runs.values()}
    whole = [run for run in runs.values() if run.emulated == run.workgroups]
    return replace(
        row,
        figures={mitigation: _figures(run) for mitigation, run in runs.items()},
        written=min(int(run.written.sum()) for run in runs.values()),
        unwritten=max((int((~run.written).sum()) for run in whole), default=0),
        equal=len(distinct) == 1,
        error=max(largest_error(kernel, operands, run) for run in distinct.values()),
        reasons=reasons_of(runs["auto"].decisions) if "auto" in runs else (),
    )


def _figures(run: Run) -> Figures:
    counters = {name: run.counters[name] for name in COUNTERS}
    return Figures(counters, run.lds_bytes, run.workgroups, run.emulated)


def summary(rows: Sequence[Row]) -> str:
    """One line about all rows."""
    counted = [row.count("auto", BANK_CONFLICTS) for row in rows]
    without = [row for row in rows if row.figures and not row.uses_lds]
    more = [row.instruction_ratio for row in rows if row.instruction_ratio > 1]
    largest = f", up to {max(more):.3f}x" if more else ""
    return (
        f"{len(rows)} rows: {counted.count(0)} with 0 conflicts "
        f"({len(without)} of them without LDS), "
        f"{sum(bool(count) for count in counted)} with conflicts, "
        f"{sum(row.extra_lds > 0 for row in rows)} with LDS above stock, "
        f"{len(more)} with more LDS instructions than stock{largest}, "
        f"{sum(bool(row.faults) for row in rows)} failed"
    )


def markdown_table(rows: Sequence[Row]) -> str:
    """The figures, then what is to be said about single rows."""
    parts = [
        "# Matmuls and convolutions on the emulated chips",
        "`python -m bankwise.bench.matmul_table`: each kernel compiled with the mitigations "
        f"{' / '.join(MITIGATIONS)}, in this order in each cell. Counters are sums over the "
        "workgroups that ran. The error is the largest of what they wrote, against float64, "
        "relative to the sum of the magnitudes of the products; up to "
        f"{TOLERANCE['f32']:.1e} is right, and 0 for i8.",
        summary(rows),
    ]
    for chip in dict.fromkeys(row.chip for row in rows):
        lines = [FIGURES_HEAD, *(figures_line(row) for row in rows if row.chip == chip)]
        parts += [f"## {chip}", markdown_lines(lines, text_columns=2)]
    notes = (
        ("Failed", [(row, fault) for row in rows for fault in row.faults]),
        (
            "Conflicts left, and why",
            _notes(rows, lambda row: bool(row.count("auto", BANK_CONFLICTS))),
        ),
        (
            "More LDS instructions than stock, and why",
            _notes(rows, lambda row: row.instruction_ratio > 1),
        ),
    )
    for title, noted in notes:
        if noted:
            lines = [["chip", "kernel", "what"]]
            lines += [[row.chip, row.kernel, text] for row, text in noted]
            parts += [f"## {title}", markdown_lines(lines, text_columns=3)]
    return "\n\n".join(parts) + "\n"


def _notes(rows: Sequence[Row], chosen: Callable[[Row], bool]) -> list[tuple[Row, str]]:
    return [(row, str(reason)) for row in rows if chosen(row) for reason in row.reasons]


def csv_table(rows: Sequence[Row]) -> str:
    """A line per row, nothing nested; empty fields are what is not known."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        ["chip", "kernel", "dtype", "workgroups", "emulated"]
        + [f"{m}_{name}" for m in MITIGATIONS for name in ("lds_bytes", *COUNTERS)]
        + ["bitwise_equal", "written", "error", "tolerance", "uses_lds", "faults", "reasons"]
        + [f"{m}_failure" for m in MITIGATIONS]
        + ["code"]
    )
    for row in rows:
        first = next(iter(row.figures.values()), None)
        cells: list[object] = [row.chip, row.kernel, row.dtype]
        cells += [first.workgroups, first.emulated] if first else ["", ""]
        for mitigation in MITIGATIONS:
            figures = row.figures.get(mitigation)
            cells += (
                [figures.lds_bytes, *(figures.counters[name] for name in COUNTERS)]
                if figures
                else [""] * (1 + len(COUNTERS))
            )
        cells += [row.equal, row.written, row.error, row.tolerance, row.uses_lds]
        cells += ["; ".join(row.faults), "; ".join(map(str, row.reasons))]
        cells += [first_line(row.errors.get(mitigation, "")) for mitigation in MITIGATIONS]
        writer.writerow([*cells, row.code])
    return file.getvalue()


def main() -> int:
    """Measures all kernels; exits with 1 when a row fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1, help="kernels at a time")
    parser.add_argument("--chips", default=",".join(DTYPES), help="of gfx942 and gfx950")
    parser.add_argument("--every", type=int, default=1, help="take every Nth kernel")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, help="directory")
    arguments = parser.parse_args()
    chips = arguments.chips.split(",")
    if unknown := [chip for chip in chips if chip not in DTYPES]:
        parser.error(f"--chips: no tables for {', '.join(unknown)}; use {', '.join(DTYPES)}")
    if arguments.every < 1:
        parser.error(f"--every={arguments.every}: expects a number from 1")
    chosen = cases(chips)[:: arguments.every]
    arguments.output.mkdir(parents=True, exist_ok=True)
    kept = KeptRows(arguments.output / "matmul_table.json", installed_versions().code, Row)
    rows, interrupted = fill_rows(kept, chosen, empty_row, measure, "matmuls", arguments.jobs)
    for suffix, text in (("md", markdown_table(rows)), ("csv", csv_table(rows))):
        write_output(str(arguments.output / f"matmul_table.{suffix}"), text.encode())
    print(summary(rows))
    if interrupted:
        return INTERRUPTED
    return 1 if any(row.faults for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
