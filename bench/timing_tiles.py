# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the model of tiles orders them on AMD GPUs as the model of a compute unit does.

python -m bankwise.bench.timing_tiles [-o bench/results] [--only REGEX] [--jobs 1]

Kernels are compiled with forced tiles, and a workgroup of each runs on the emulator, whose model
(`emulator/timing/`) predicts the time of the grid. `bankwise-retile` cannot compile every tile: it
asks a formula (`tuning/costs/tile_cost.py`). timing_tiles.json and timing_tiles.md say how well the
two agree. No time in them was measured on a GPU.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..emulator.chips import CDNA3, CDNA4
from ..runtime.dtypes import dtype_of
from ..runtime.emulated_run import run_emulated
from ..sweep.cases import target_flags
from ..sweep.swept_kernels import Attention
from ..sweep.tables import markdown_lines
from ..tuning.forced_tile import ForceTile
from .benchmark import RESULTS, Benchmark, BenchRow, pattern
from .emulated_runs import MarkingDevice
from .forced_tiles.forcing import TileError, predicted_microseconds
from .forced_tiles.pairs import TiledKernel, Tiling, modelled_pairs
from .forced_tiles.ranks import Comparison, ratio_error
from .forced_tiles.tile_comparisons import summary
from .gpu.modes import FAST

NAME = "timing_tiles"
TARGETS = (CDNA3, CDNA4)


Case = tuple[TiledKernel, str, str, Tiling]
"""A kernel, a target, and a tile with its label."""


@dataclass(frozen=True)
class Row(BenchRow):
    """A kernel with a tile, and what the model of a compute unit predicts; the mode is the tile.

    Attributes:
        microseconds: the predicted time of the grid; 0 where the kernel did not compile.
        registers: those of a lane.
        lds_bytes: those of a workgroup.
        workgroups: how many run on a compute unit at once.
    """

    microseconds: float = 0.0
    registers: int = 0
    lds_bytes: int = 0
    workgroups: int = 0

    @classmethod
    def of_case(cls, case: Case) -> Row:
        """Returns the row of a tile that has not run."""
        kernel, target, label, _ = case
        return cls(kernel.kernel.name, target, label)

    def measured(self, case: Case) -> Row:
        """Returns what is predicted of a kernel with a tile, of which a workgroup runs.

        Where a tile is forced, keys are not split: the kernel stays the one that the tile is for.
        """
        kernel, target, _, tile = case
        force, dtype = ForceTile(tile), dtype_of(kernel.kernel.dtype)
        inputs = [np.full(shape, 0.5, dtype) for shape in kernel.kernel.operands]
        device = partial(MarkingDevice, whole_grid=0, timing=True)
        source, flags = kernel.kernel.source(), target_flags(target)
        run = run_emulated(source, flags, FAST, inputs, forced=force, device=device)
        if force.refusals:
            raise TileError(force.refusals[0])
        (record,) = run.records
        assert record.timing is not None
        return replace(
            self,
            microseconds=round(record.timing.microseconds.expected, 2),
            registers=record.kernel.directives.get("next_free_vgpr", 0),
            lds_bytes=record.lds_bytes,
            workgroups=record.timing.occupancy.resident,
        )


def kernels_of(target: str) -> list[TiledKernel]:
    """Returns the kernels of a target; IREE gives matmuls on gfx950 a form that has one tile."""
    pairs = modelled_pairs()
    return [each for each in pairs if target == CDNA3 or isinstance(each.kernel, Attention)]


def cases(only: str | re.Pattern[str] = "") -> list[Case]:
    """Returns the kernels in whose names a regular expression is found, with their tiles."""
    return [
        (kernel, target, label, tile)
        for target in TARGETS
        for kernel in kernels_of(target)
        for label, tile in kernel.by_label().items()
        if re.search(only, kernel.kernel.name)
    ]


def comparisons(rows: Sequence[Row]) -> list[Comparison]:
    """Returns the times of a record, and what the formula predicts for the same tiles today."""
    found: list[Comparison] = []
    for target in TARGETS:
        for kernel in kernels_of(target):
            name, tiles = kernel.kernel.name, kernel.by_label()
            times = {
                row.mode: row.microseconds
                for row in rows
                if (row.kernel, row.target) == (name, target) and not row.failed
            }
            if times:
                wanted = [tiles[each] for each in times]
                predicted = predicted_microseconds(kernel, wanted, target, FAST)
                both = dict(zip(times, predicted, strict=True))
                found.append(Comparison(f"{name}, {target}", times, both, None))
    return found


def page(rows: Sequence[Row], found: Sequence[Comparison]) -> str:
    """Returns how well both predictions agree, and all times, as Markdown."""
    return f"""# Tiles on AMD GPUs: two predictions

Made by `python -m bankwise.bench.{NAME}`. No AMD GPU was used here: "measured" is what the \
model of a compute unit predicts, and "predicted" what the formula does.

{summary(found)}

Among the tiles of one kernel, whose common error does not change the choice, the standard \
deviation of that error is {ratio_error(found):.3f}.

## All tiles, predicted microseconds

{_tiles(rows, found)}
"""


def _tiles(rows: Sequence[Row], found: Sequence[Comparison]) -> str:
    formula = {(each.kernel, tile): time for each in found for tile, time in each.predicted.items()}
    lines = [["kernel", "tile", "compute unit", "formula", "registers", "LDS bytes", "workgroups"]]
    for row in rows:
        kernel = f"{row.kernel}, {row.target}"
        if row.failed:
            lines.append([kernel, row.mode, "does not compile", "", "", "", ""])
            continue
        figures = (f"{row.microseconds:.1f}", f"{formula[kernel, row.mode]:.1f}")
        of_kernel = (row.registers, row.lds_bytes, row.workgroups)
        lines.append([kernel, row.mode, *figures, *map(str, of_kernel)])
    return markdown_lines(lines, text_columns=2)


def read_rows() -> list[Row]:
    """Returns the rows of the record."""
    document = json.loads((RESULTS / f"{NAME}.json").read_text())
    return [Row.of_document(**row) for row in document["rows"]]


BENCHMARK = Benchmark(
    "tiles",
    Row,
    lambda arguments: cases(arguments.only),
    lambda rows: f"{len(rows)} tiles",
    texts={"md": lambda rows: page(rows, comparisons(rows))},
    measures="tiles",
    jobs=1,
    output=RESULTS / f"{NAME}.json",
    arguments=lambda parser: parser.add_argument("--only", type=pattern, default=""),
)


if __name__ == "__main__":
    sys.exit(BENCHMARK.main(__doc__))
