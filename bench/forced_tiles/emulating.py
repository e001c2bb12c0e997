# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tiles do on an emulated AMD GPU: counters of the grid, from its first and last workgroup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...emulator.counters import Counted
from ...iree_plugin.forced_tile import ForceTile
from ...runtime.emulated_run import EmulatedRun, run_emulated
from ...sweep.cases import target_flags
from ...sweep.engine import Workers, measured
from ...sweep.kernels import random_operands
from ...sweep.tables import markdown_lines
from ..emulated_runs import Array, MarkingDevice, written
from ..gpu.modes import EXACT, STOCK
from .forcing import forcing_edits, predicted_microseconds
from .pairs import TiledKernel, emulated_pairs
from .report import microseconds

COUNTERS = {
    Counted.LDS: "LDS instructions",
    Counted.LDS_CYCLES: "LDS cycles",
    Counted.MFMA: "MFMA",
    Counted.CONFLICTS: "conflict cycles",
}
"""The counters of a tile, and their heads in the table."""


@dataclass(frozen=True)
class EmulatedTile:
    """One kernel with one tile, or as stock compiles it.

    Attributes:
        tile: the label of a tile, or `stock`.
        counters: of the whole grid; empty where the kernel did not run.
        lds_bytes: of a workgroup.
        predicted: microseconds; None for stock.
        equal: whether the bits are stock's in all elements that both runs wrote.
        error: why the kernel did not run; empty if it did.
    """

    kernel: str
    tile: str
    counters: dict[str, int]
    lds_bytes: int = 0
    predicted: float | None = None
    equal: bool | None = None
    error: str = ""


def emulated_tiles(kernel: TiledKernel, target: str) -> list[EmulatedTile]:
    """Runs a kernel as stock compiles it, and with each of its tiles."""
    name, tiles = kernel.kernel.name, kernel.by_label()
    operands = random_operands(kernel.kernel)
    stock = _run(kernel, target, STOCK, operands, None)
    found = [EmulatedTile(name, STOCK, _of_grid(stock), stock.lds_bytes)]
    predictions = predicted_microseconds(kernel, list(tiles.values()), target, EXACT)
    for (each, tile), predicted in zip(tiles.items(), predictions, strict=True):
        force = ForceTile(tile)
        try:
            run = _run(kernel, target, EXACT, operands, force)
        except Exception as error:
            # Whatever fails, the other figures are wanted.
            found.append(EmulatedTile(name, each, {}, predicted=predicted, error=str(error)))
            continue
        if force.refusals:
            found.append(EmulatedTile(name, each, {}, error=force.refusals[0]))
            continue
        equal = _equal(stock.outputs[0], run.outputs[0])
        found.append(EmulatedTile(name, each, _of_grid(run), run.lds_bytes, predicted, equal))
    return found


def _run(
    kernel: TiledKernel, target: str, mode: str, operands: Sequence[Array], force: ForceTile | None
) -> EmulatedRun:
    return run_emulated(
        kernel.kernel.source(),
        target_flags(target),
        mode,
        operands,
        edits=forcing_edits(mode, force) if force else (),
        # Of every grid the first and the last workgroup run.
        device=partial(MarkingDevice, whole_grid=0),
    )


def _of_grid(run: EmulatedRun) -> dict[str, int]:
    return {name: run.counters.get(name, 0) * run.workgroups // run.emulated for name in COUNTERS}


def _equal(stock: Array, other: Array) -> bool:
    both = written(stock) & written(other)
    return bool(both.any()) and np.array_equal(stock[both], other[both])


def emulated_table(target: str, only: str, jobs: int) -> str:
    """Returns the table of all kernels in whose names the regular expression `only` is found."""
    chosen = [each for each in emulated_pairs() if re.search(only, each.kernel.name)]
    measure = partial(emulated_tiles, target=target)
    found = {rows[0].kernel: rows for rows in measured(chosen, measure, Workers(jobs))}
    return markdown([row for each in chosen for row in found[each.kernel.name]])


def markdown(rows: Sequence[EmulatedTile]) -> str:
    """Returns a line for each tile, with ratios to stock."""
    head = ("kernel", "tile", "bits", *COUNTERS.values(), "LDS bytes", "predicted microseconds")
    lines: list[Sequence[str]] = [head]
    stock: dict[str, int] = {}
    for row in rows:
        if row.tile == STOCK:
            stock = row.counters
        if row.error:
            lines.append([row.kernel, row.tile, row.error.splitlines()[0], *[""] * (len(head) - 3)])
            continue
        bits = {None: "", True: "stock's", False: "others"}[row.equal]
        cells = [_cell(row.counters[name], stock[name]) for name in COUNTERS]
        predicted = "" if row.predicted is None else microseconds(row.predicted)
        lines.append([row.kernel, row.tile, bits, *cells, f"{row.lds_bytes:,}", predicted])
    return markdown_lines(lines, text_columns=3)


def _cell(count: int, stock: int) -> str:
    return f"{count:,} ({count / stock:.2f}x)" if stock else f"{count:,}"
