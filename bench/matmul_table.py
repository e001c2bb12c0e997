# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls and convolutions in each mode, run on the emulated chips, as one table.

python -m bankwise.bench.matmul_table [--jobs 1] [--targets gfx942 gfx950] [--only REGEX]
    [--every N] [-o bench/results]

Every kernel is compiled with `none`, `stock`, `auto/layout`, `auto/exact` and `auto/fast`; small
grids run whole, of large ones the first and the last workgroup. A row fails where

* a compile or a run fails, or a result is wrong;
* outputs are not the same bits in all modes but `auto/fast`, which may sum in another order;
* a level leaves conflicts without a reason, or takes more LDS bytes than stock;
* `auto/exact` has more conflicts, LDS cycles or LDS instructions than `auto/layout`;
* `auto/fast` has more LDS instructions than stock, or more than 0.625 times stock's for f32.

--kernels takes the kernels that a regular expression finds in the name. Finished rows are kept in
DIR/matmul_table.json at once, and the same command goes on from there; rows of other sources of the
passes or the emulator do not count. matmul_table.md is written at the end.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..emulator.chips import CDNA3, CDNA4
from ..emulator.counters import Counted
from ..runtime.emulated_run import EmulatedRun
from ..sweep.cases import target_flags
from ..sweep.swept_kernels import Matmul, random_operands
from .benchmark import RESULTS, Benchmark, emulated_arguments, table
from .benchmark_kernels import Convolution, Product
from .emulated_rows import (
    EmulatedRow,
    chip_tables,
    digest,
    faults_of,
    notes,
    reasons_where,
)
from .emulated_runs import Array, run_modes, written

DTYPES = {
    CDNA3: ("f16", "bf16", "f32", "i8", "f8E4M3FNUZ"),
    CDNA4: ("f16", "bf16", "f32", "i8", "f8E4M3FN"),
}
TRANSPOSED_DTYPES = ("f16", "i8")
SHAPES = ((128, 128, 128), (256, 384, 1024), (512, 512, 512), (1024, 1024, 1024),
          (2048, 2048, 2048), (4096, 4096, 4096), (16, 4096, 4096), (4096, 16, 1024),
          (100, 130, 70), (1000, 1000, 1000))  # fmt: skip
"""The extents m, n and k of each matmul."""
CONVOLUTIONS = (
    Convolution(1, 34, 34, 64, 128, 3, "f16"),
    Convolution(1, 34, 34, 64, 128, 3, "i8"),
    Convolution(1, 32, 32, 64, 128, 1, "f16"),
    Convolution(1, 33, 33, 64, 128, 3, "f16", stride=2),
    Convolution(2, 19, 23, 40, 72, 3, "f16"),
)

LAYOUT, EXACT, FAST = "auto/layout", "auto/exact", "auto/fast"
MODES = ("none", "stock", LAYOUT, EXACT, FAST)
"""What is compared, in the order of the columns."""

MOST_INSTRUCTIONS = {"f32": 0.625}
"""The most LDS instructions of `auto/fast` relative to stock's, by the operands' type. For others
it is 1. Stock reads f32 one by one, or in pairs, where a lane can read four at once. Hardest are
tiles of 64x8 and 8x128 elements: stock takes 8 instructions, two of them to write. No layout takes
less than 5, because a lane reads 16 bytes of one tile and 32 of the other."""

WHOLE_GRID = 16
"""The most workgroups of a grid that runs whole. Of larger grids the first and the last run."""

TOLERANCE = {"i32": 0.0, "f32": 2.0**-20}
"""The largest error by the output's type, relative to the sum of the products' magnitudes. Integers
are exact, and sums in f32 are off by its last few bits."""

Case = tuple[Product, str]


@dataclass(frozen=True)
class Row(EmulatedRow):
    """One matmul or convolution on one chip. Errors are relative to the sum of the magnitudes.

    Attributes:
        dtype: the element type of the operands.
        written: how many elements of the output were written and compared.
        unwritten: how many elements were not written although the whole grid ran.
    """

    modes: ClassVar[tuple[str, ...]] = MODES

    dtype: str = ""
    written: int = 0
    unwritten: int = 0

    @classmethod
    def of_case(cls, case: Case) -> Row:
        """Returns the row of a kernel that has not run."""
        kernel, chip = case
        tolerance = TOLERANCE[kernel.accumulator]
        source = digest(kernel.source())
        return cls(kernel.name, chip, source=source, tolerance=tolerance, dtype=kernel.dtype)

    def measured(self, case: Case) -> Row:
        """Runs a kernel in all modes."""
        kernel, chip = case
        operands = random_operands(kernel)
        flags = target_flags(chip)
        found = run_modes(kernel.source(), flags, operands, MODES, whole_grid=WHOLE_GRID)
        row = self.of_runs(found, lambda run: largest_error(kernel, operands, run.outputs[0]))
        if not found.runs:
            return row
        masks = [(run, written(run.outputs[0])) for run in found.runs.values()]
        return replace(
            row,
            written=min(int(mask.sum()) for _, mask in masks),
            unwritten=max(int((~m).sum()) if _is_whole(run) else 0 for run, m in masks),
        )

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        found = super().faults
        if self.figures and not self.written:
            found.append("nothing was written")
        if self.unwritten:
            found.append(f"{self.unwritten} elements were not written")
        return [*found, *self._worse_levels()]

    def _worse_levels(self) -> list[str]:
        """Returns where a level is worse than it must be."""
        found: list[str] = []
        for counter in (Counted.CONFLICTS, Counted.LDS_CYCLES, Counted.LDS):
            layout, exact = self.count(LAYOUT, counter), self.count(EXACT, counter)
            if layout is not None and exact is not None and exact > layout:
                found.append(f"{EXACT} has {exact:,} {counter}, {LAYOUT} {layout:,}")
        most = MOST_INSTRUCTIONS.get(self.dtype, 1.0)
        if (ratio := self.instruction_ratio(FAST)) > most:
            found.append(f"{FAST} has {ratio:.3f}x stock's {Counted.LDS}, at most {most:g}x wanted")
        return found


def cases(chips: Sequence[str], only: str | re.Pattern[str] = "") -> list[Case]:
    """Returns the kernels whose name `only` finds, each with a chip to compile it for.

    `only` is a regular expression.
    """
    matmuls = [
        (Matmul(*shape, dtype, transposed), chip)
        for chip in chips
        for dtype in DTYPES[chip]
        for transposed in ((False, True) if dtype in TRANSPOSED_DTYPES else (False,))
        for shape in SHAPES
    ]
    convolutions = [(conv, chip) for chip in chips for conv in CONVOLUTIONS]
    return [case for case in (*matmuls, *convolutions) if re.search(only, case[0].name)]


def _is_whole(run: EmulatedRun) -> bool:
    return run.emulated == run.workgroups


def largest_error(kernel: Product, operands: Sequence[Array], output: Array) -> float:
    """Returns the largest error of what was written, relative to its products' magnitudes.

    These magnitudes are summed for each element. A term that is missing or wrong is far beyond the
    tolerance then, however long the sum is.
    """
    part = written(output)
    a, b = (each.astype(np.float64) for each in operands)
    expected = kernel.product(a, b, part)
    magnitude = kernel.product(np.abs(a), np.abs(b), part)
    difference = np.abs(output[part].astype(np.float64) - expected)
    # Where the magnitude is 0 all products are, and so must be the output.
    relative = difference / np.where(magnitude > 0, magnitude, np.finfo(np.float64).tiny)
    return float(relative.max(initial=0.0)) if np.isfinite(relative).all() else math.inf


def summary(rows: Sequence[Row]) -> str:
    """Returns a table with a line per chip."""

    def conflicts(mode: str) -> Callable[[list[Row]], int]:
        return lambda group: sum(bool(row.count(mode, Counted.CONFLICTS)) for row in group)

    def more(mode: str) -> Callable[[list[Row]], int]:
        return lambda group: sum(row.instruction_ratio(mode) > 1 for row in group)

    levels = (LAYOUT, EXACT, FAST)
    columns: dict[str, Callable[[list[Row]], object]] = {
        "rows": len,
        "failed": lambda group: sum(bool(row.faults) for row in group),
        "with LDS above stock": lambda group: sum(row.extra_lds > 0 for row in group),
        **{f"with conflicts at {mode}": conflicts(mode) for mode in ("stock", *levels)},
        **{f"with more LDS instructions at {mode}": more(mode) for mode in levels},
    }
    return table(rows, ["target"], columns)


def markdown_table(rows: Sequence[Row]) -> str:
    """Returns the figures, and then remarks on single rows."""
    parts = [
        "# Matmuls and convolutions on the emulated chips",
        "`python -m bankwise.bench.matmul_table`: each kernel compiled in the modes "
        f"{' / '.join(MODES)}, in this order in each cell. Counters are sums over the "
        "workgroups that ran. The error is the largest of what they wrote, against float64, "
        "relative to the sum of the magnitudes of the products; up to "
        f"{TOLERANCE['f32']:.1e} is right, and 0 for i8.",
        summary(rows),
    ]
    head = ("chip", "kernel", "what")
    left = reasons_where(rows, lambda row, mode: bool(row.count(mode, Counted.CONFLICTS)))
    more = reasons_where(rows, lambda row, mode: mode == FAST and row.instruction_ratio(mode) > 1)
    parts += chip_tables(rows)
    parts += notes("Failed", faults_of(rows), *head)
    parts += notes("Conflicts left, and why", left, *head)
    parts += notes(f"More LDS instructions than stock in {FAST}, and why", more, *head)
    return "\n\n".join(parts) + "\n"


BENCHMARK = Benchmark(
    "matmuls",
    Row,
    lambda arguments: cases(arguments.targets, arguments.only)[:: arguments.every],
    summary,
    texts={"md": markdown_table},
    measures="kernels",
    jobs=1,
    every="kernel",
    output=RESULTS / "matmul_table.json",
    arguments=emulated_arguments,
)


if __name__ == "__main__":
    sys.exit(BENCHMARK.main(__doc__))
