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
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ..emulator.chips import CDNA3, CDNA4
from ..iree_plugin.atomic_file import write_output
from ..runtime.dtypes import dtype_of
from ..runtime.emulated_run import run_emulated
from ..sweep.cases import target_flags
from ..sweep.engine import Workers, measured
from ..sweep.swept_kernels import Attention
from ..sweep.tables import markdown_lines
from ..tuning.forced_tile import ForceTile
from .benchmark import RESULTS, record_arguments
from .emulated_runs import MarkingDevice
from .forced_tiles.forcing import TileError, predicted_microseconds
from .forced_tiles.pairs import TiledKernel, Tiling, modelled_pairs
from .forced_tiles.ranks import (
    Comparison,
    mean_logarithmic_error,
    rank_correlation,
    ratio_error,
)
from .gpu.modes import FAST

NAME = "timing_tiles"
TARGETS = (CDNA3, CDNA4)


@dataclass(frozen=True)
class Row:
    """A kernel with a tile, and what the model of a compute unit predicts.

    Attributes:
        tile: its label (`forced_tiles/pairs.py`).
        microseconds: the predicted time of the grid; 0 where the kernel did not compile.
        registers: those of a lane.
        lds_bytes: those of a workgroup.
        workgroups: how many run on a compute unit at once.
        error: why it did not compile; empty if it did.
    """

    kernel: str
    target: str
    tile: str
    microseconds: float
    registers: int = 0
    lds_bytes: int = 0
    workgroups: int = 0
    error: str = ""


def kernels_of(target: str) -> list[TiledKernel]:
    """Returns the kernels of a target; IREE gives matmuls on gfx950 a form that has one tile."""
    pairs = modelled_pairs()
    return [each for each in pairs if target == CDNA3 or isinstance(each.kernel, Attention)]


def modelled_row(kernel: TiledKernel, label: str, tile: Tiling, target: str) -> Row:
    """Returns what is predicted of a kernel with a tile, of which a workgroup runs.

    Where a tile is forced, keys are not split: the kernel stays the one that the tile is for.
    """
    force = ForceTile(tile)
    dtype = dtype_of(kernel.kernel.dtype)
    inputs = [np.full(shape, 0.5, dtype) for shape in kernel.kernel.operands]
    try:
        run = run_emulated(
            kernel.kernel.source(),
            target_flags(target),
            FAST,
            inputs,
            forced=force,
            device=partial(MarkingDevice, whole_grid=0, timing=True),
        )
        if force.refusals:
            raise TileError(force.refusals[0])
    except Exception as error:
        # Whatever fails, the other times are wanted.
        return Row(kernel.kernel.name, target, label, 0.0, error=str(error).splitlines()[0])
    (record,) = run.records
    assert record.timing is not None
    return Row(
        *(kernel.kernel.name, target, label, round(record.timing.microseconds.expected, 2)),
        registers=record.kernel.directives.get("next_free_vgpr", 0),
        lds_bytes=record.lds_bytes,
        workgroups=record.timing.occupancy.resident,
    )


def comparisons(rows: Sequence[Row]) -> list[Comparison]:
    """Returns the times of a record, and what the formula predicts for the same tiles today."""
    found: list[Comparison] = []
    for target in TARGETS:
        for kernel in kernels_of(target):
            name, tiles = kernel.kernel.name, kernel.by_label()
            times = {
                row.tile: row.microseconds
                for row in rows
                if (row.kernel, row.target) == (name, target) and not row.error
            }
            if times:
                wanted = [tiles[each] for each in times]
                predicted = predicted_microseconds(kernel, wanted, target, FAST)
                both = dict(zip(times, predicted, strict=True))
                found.append(Comparison(f"{name}, {target}", times, both, None))
    return found


def correlation(found: Sequence[Comparison]) -> float:
    """Returns the rank correlation of both predictions over all pairs."""
    pairs = [(each.predicted[tile], time) for each in found for tile, time in each.measured.items()]
    return rank_correlation([one for one, _ in pairs], [other for _, other in pairs])


def page(rows: Sequence[Row], found: Sequence[Comparison]) -> str:
    """Returns how well both predictions agree, and all times, as Markdown."""
    head = (
        "kernel",
        "tiles",
        "rank correlation",
        "best tile",
        "chosen tile",
        "its time over the best",
    )
    lines: list[Sequence[str]] = [head]
    for each in found:
        numbers = (str(len(each.measured)), f"{each.correlation:.3f}")
        lines.append(
            (each.kernel, *numbers, each.best, each.foreseen, f"{each.foreseen_loss:.3f}x")
        )
    losses = [each.foreseen_loss for each in found]
    parts = [
        "# Tiles on AMD GPUs: two predictions\n",
        f"Made by `python -m bankwise.bench.{NAME}`. No AMD GPU was used here.\n",
        f"{sum(len(each.measured) for each in found)} pairs of a kernel and a tile: the rank "
        f"correlation is {correlation(found):.3f} over all, and "
        f"{statistics.median(each.correlation for each in found):.3f} in the kernels' median. "
        f"The tile that the formula chooses takes at most {max(losses):.3f}x the time of the best "
        f"one, {statistics.median(losses):.3f}x in the median. The root mean square of the "
        f"logarithmic error is {mean_logarithmic_error(found):.3f}; among the tiles of one kernel, "
        f"whose common error does not change the choice, the standard deviation is "
        f"{ratio_error(found):.3f}.\n",
        markdown_lines(lines, text_columns=1) + "\n",
        "## All tiles, predicted microseconds\n",
        _tiles(rows, found) + "\n",
    ]
    return "\n".join(parts)


def _tiles(rows: Sequence[Row], found: Sequence[Comparison]) -> str:
    formula = {(each.kernel, tile): time for each in found for tile, time in each.predicted.items()}
    lines = [["kernel", "tile", "compute unit", "formula", "registers", "LDS bytes", "workgroups"]]
    for row in rows:
        kernel = f"{row.kernel}, {row.target}"
        if row.error:
            lines.append([kernel, row.tile, "does not compile", "", "", "", ""])
            continue
        figures = (f"{row.microseconds:.1f}", f"{formula[kernel, row.tile]:.1f}")
        of_kernel = (row.registers, row.lds_bytes, row.workgroups)
        lines.append([kernel, row.tile, *figures, *map(str, of_kernel)])
    return markdown_lines(lines, text_columns=2)


def read_rows(path: Path = RESULTS / f"{NAME}.json") -> list[Row]:
    """Returns the rows of the record."""
    return [Row(**row) for row in json.loads(path.read_text())["rows"]]


def main() -> int:
    """Writes the record; rows that are there already are taken again only where they are wanted."""
    arguments = record_arguments(__doc__, jobs=True)
    file = arguments.output / f"{NAME}.json"
    rows = {_case(row): row for row in (read_rows(file) if file.exists() else [])}
    cases = {
        _named(kernel.kernel.name, target, label): (kernel, label, tile, target)
        for target in TARGETS
        for kernel in kernels_of(target)
        for label, tile in kernel.by_label().items()
    }
    wanted = [
        each for case, each in cases.items() if case not in rows or re.search(arguments.only, case)
    ]
    for row in measured(wanted, _modelled, Workers(arguments.jobs)):
        rows[_case(row)] = row
        print(_case(row), row.error or f"{row.microseconds} us", flush=True)
        # A run that is stopped goes on where it was.
        write_output(str(file), _text(rows.values()).encode())
    ordered = [rows[case] for case in cases]
    write_output(str(file), _text(ordered, indent=1).encode())
    write_output(str(arguments.output / f"{NAME}.md"), page(ordered, comparisons(ordered)).encode())
    return 0


def _modelled(case: tuple[TiledKernel, str, Tiling, str]) -> Row:
    return modelled_row(*case)


def _text(rows: Iterable[Row], indent: int | None = None) -> str:
    """Returns rows as the record holds them."""
    text = json.dumps({"version": 1, "rows": [asdict(row) for row in rows]}, indent=indent)
    return text if indent is None else f"{text}\n"


def _case(row: Row) -> str:
    return _named(row.kernel, row.target, row.tile)


def _named(kernel: str, target: str, tile: str) -> str:
    return f"{kernel}, {target}, {tile}"


if __name__ == "__main__":
    sys.exit(main())
