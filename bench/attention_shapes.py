# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions as models have them at `fast`, on the emulated chips, against round shapes.

python -m bankwise.bench.attention_shapes [--targets gfx942 gfx950] [--only REGEX] [--jobs 1]
    [-o bench/results]

These are the attentions that `python -m bankwise.bench.gpu_times compile DIR --set attentions`
compiles for a GPU. The first and the last workgroup of each run with random inputs. An attention
for which stock has no matrix instructions is compared with the round shape next to it: heads and
columns are the next multiple of 64, rows and keys the next multiple of 128. What is compared are
the LDS instructions and LDS cycles of whole grids for each multiplication that the attention itself
asks for: what a tile computes beyond the end of a tensor counts as nothing. Counts of whole grids
are extrapolated from both workgroups.

Fewer rows than a matrix instruction has count as that many in the ratios: K and V go through the
LDS whole for one row as for all rows of an instruction. 4 rows of 128 and 4096 keys that copy K and
V once, and read them once, have 3 times the LDS instructions of 128 rows for each multiplication.

Tiles are IREE's, or those of `bankwise-use-matrix-instructions` where it has only scalar ones. The
tile of a round shape is the one that `fast` chooses, as that of the attention beside it is chosen:
its copies then go the same way. Where `fast` splits its keys, it is IREE's tile and no keys are
split, since no sample of two kernels can run. IREE has folded the loop over a single row away, so
that only a program whose keys are split can have matrix instructions for it: such an attention is
compiled as `fast` splits it, and runs whole.

A row fails where

* a compile or a run fails, or a result is wrong;
* the kernel has no matrix instructions, or an access of it has bank conflicts;
* a lane reaches beyond the end of a tensor;
* LDS instructions or LDS cycles for each multiplication are more than 1.25 times the round shape's.

--only takes the attentions that a regular expression finds in the name. Finished rows are kept in
DIR/attention_shapes.json at once, and the same command goes on from there; rows of other sources of
the passes or the emulator do not count. attention_shapes.md is written at the end.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..emulator.counters import Counted, instruction_class
from ..passes.decisions import DecisionLog
from ..runtime.emulated_module import compile_for_emulation
from ..runtime.emulated_run import EmulatedRun, run_emulated
from ..runtime.host_values import HostProgramError
from ..sweep.cases import target_flags
from ..sweep.tables import markdown_lines
from .benchmark import RESULTS, Benchmark, BenchRow, each_mode, emulated_arguments, table, total
from .emulated_rows import Reason, reasons_of
from .emulated_runs import MarkingDevice, at_given_tiles, written
from .gpu.modes import FAST, STOCK
from .gpu.timed_sets import attentions_of_models
from .program_families.attention import Attention
from .program_families.program import TOLERANCE, largest_error
from .reference_attention import attention_rows

Array = npt.NDArray[Any]
Case = tuple[Attention, str]

HEADS, ROWS = 64, 128
"""What the head and the columns of a round shape are multiples of, and its rows and keys."""
_INSTRUCTION = 16
"""The rows, columns and summed elements of the matrix instructions that compute attentions."""
_ANY_GRID = 2**31
MOST = 1.25
"""How many times a round shape's LDS instructions and cycles an attention may have."""
COUNTERS = (Counted.MFMA, Counted.LDS, Counted.LDS_CYCLES, Counted.CONFLICTS)
COMPARED = {Counted.LDS: "LDS instructions", Counted.LDS_CYCLES: "LDS cycles"}


@dataclass(frozen=True)
class Counts:
    """What an attention counts at `fast`.

    Attributes:
        counters: of the workgroups that ran.
        workgroups, emulated: how many the grids have, and how many ran.
        multiplications: how many the attention asks for.
        error: the largest of what the workgroups wrote, as `largest_error` takes it.
        out_of_range: how many accesses of lanes reached beyond the end of a tensor.
        reasons: what each allocation got, and why.
    """

    counters: dict[str, int]
    workgroups: int
    emulated: int
    multiplications: int
    error: float
    out_of_range: int
    reasons: tuple[Reason, ...] = ()

    def each(self, counter: str) -> float:
        """Returns a counter of the whole grid for each multiplication."""
        return self.counters[counter] * self.workgroups / self.emulated / self.multiplications


@dataclass(frozen=True)
class ShapeRow(BenchRow):
    """One attention on one chip.

    Attributes:
        stock: how many matrix instructions stock's kernel has in its text; None where stock fails.
        round: the name of the round shape next to it; empty where it is compared with none.
        fast: what the attention counts; None where that failed.
        neighbour: what the round shape counts.
        floor: what `least_computed` returns for the attention.
        rows_counted: how many rows count in the ratios for each row that the attention has.
        tolerance: the largest error of a right result.
    """

    stock: int | None = None
    round: str = ""
    fast: Counts | None = None
    neighbour: Counts | None = None
    floor: float = 1.0
    rows_counted: float = 1.0
    tolerance: float = field(default=0.0, kw_only=True)

    @classmethod
    def of_case(cls, case: Case) -> ShapeRow:
        """Returns the row of an attention that has not run."""
        attention, chip = case
        return cls(
            *(attention.name, chip),
            floor=least_computed(attention),
            rows_counted=max(1.0, _INSTRUCTION / _rows(attention)),
            tolerance=TOLERANCE[attention.dtype],
        )

    def measured(self, case: Case) -> ShapeRow:
        """Runs an attention, and the round shape next to it where stock has it not."""
        attention, chip = case
        stock, _ = each_mode([STOCK], lambda _: _matrix_instructions(attention, chip))
        row = replace(self, stock=stock.get(STOCK))
        near = round_shape(attention)
        runs = {FAST: partial(_counts, attention, chip)}
        if not row.stock and near.sizes != attention.sizes:
            runs[near.name] = partial(_round_counts, near, chip)
            row = replace(row, round=near.name)
        found, errors = each_mode([*runs], lambda name: runs[name]())
        return replace(row, fast=found.get(FAST), neighbour=found.get(near.name), errors=errors)

    @property
    def has_matrix_instructions(self) -> bool:
        """Returns whether the attention uses matrix instructions at `fast`."""
        return self.fast is not None and self.fast.counters[Counted.MFMA] > 0

    @property
    def label_of_shape(self) -> str:
        """Returns the sizes and what else the name says, such as `12x197x64 f16`."""
        return self.kernel.removeprefix("attention_").replace("_", " ")

    def ratio(self, counter: str) -> float | None:
        """Returns a counter for each multiplication over the round shape's, if there is one.

        Rows that an instruction has and the attention has not count, too.
        """
        if self.fast is None or self.neighbour is None:
            return None
        return self.fast.each(counter) / self.rows_counted / self.neighbour.each(counter)

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        found = super().faults
        if self.fast is None:
            return found
        counters = self.fast.counters
        if not self.has_matrix_instructions:
            found.append("no matrix instructions")
        if conflicts := counters[Counted.CONFLICTS]:
            why = "; ".join(str(each) for each in self.fast.reasons if each.cycles_after)
            found.append(f"{conflicts:,} conflict cycles: {why or 'without a reason'}")
        # Written as "not below", so that an error that is no number is a fault.
        if not self.fast.error <= self.tolerance:
            found.append(f"results are wrong: error {self.fast.error:.1e}")
        if self.fast.out_of_range:
            found.append(f"{self.fast.out_of_range:,} accesses beyond the end of a tensor")
        for counter, what in COMPARED.items():
            if (ratio := self.ratio(counter)) is not None and ratio > MOST:
                found.append(f"{ratio:.2f}x the {what} of {self.round}")
        return found


def round_shape(attention: Attention) -> Attention:
    """Returns the attention of the next round sizes."""
    multiples = {"m": ROWS, "k2": ROWS, "k1": HEADS, "n": HEADS}
    sizes = {
        dim: -(-size // multiples.get(dim, 1)) * multiples.get(dim, 1)
        for dim, size in attention.sizes.items()
    }
    name = f"{sizes['m']}x{sizes['k1']}"
    if sizes["k2"] != sizes["m"]:
        name += f", {sizes['k2']} keys"
    if sizes["n"] != sizes["k1"]:
        name += f", {sizes['n']} columns"
    return replace(attention, name=name, sizes=sizes)


def least_computed(attention: Attention) -> float:
    """Returns how much matrix instructions compute at least, over what the attention asks for.

    They have 16 rows and columns, and sum over 16 elements, so that sizes count as the next
    multiples of 16. Heads of Q that share a head of K and V are rows.
    """
    rows = _rows(attention)
    keys, head, columns = (attention.sizes[dim] for dim in ("k2", "k1", "n"))
    computed = _whole(rows) * _whole(keys) * (_whole(head) + _whole(columns))
    return computed / (rows * keys * (head + columns))


def _rows(attention: Attention) -> int:
    keys = attention.key.split()
    return math.prod(attention.sizes[dim] for dim in attention.query.split() if dim not in keys)


def _whole(size: int) -> int:
    return -(-size // _INSTRUCTION) * _INSTRUCTION


def _matrix_instructions(attention: Attention, chip: str) -> int:
    """Returns how many matrix instructions the text of stock's kernels has."""
    with compile_for_emulation(attention.program().source, target_flags(chip), STOCK) as module:
        kernels = module.kernels.values()
        return sum(instruction_class(each) == "MFMA" for k in kernels for each in k.instructions)


def _round_counts(attention: Attention, chip: str) -> Counts:
    """Runs two workgroups of a round shape in the tile that `fast` chooses, or else in IREE's."""
    try:
        return _counts(attention, chip, FAST)
    except HostProgramError:
        # Its keys are split, so that there are two kernels.
        return _counts(attention, chip)


def _counts(attention: Attention, chip: str, mode: str = at_given_tiles(FAST)) -> Counts:
    """Runs the first and the last workgroup of an attention, or all for a single row at `fast`."""
    program, log, is_single = attention.program(), DecisionLog(), _rows(attention) == 1
    inputs = program.draw_inputs()
    devices: list[MarkingDevice] = []

    def device(kernels: Any) -> MarkingDevice:
        # A grid of 0 workgroups is the largest that runs whole: of all others two workgroups run.
        devices.append(MarkingDevice(kernels, whole_grid=_ANY_GRID if is_single else 0))
        return devices[-1]

    flags, mode = target_flags(chip), FAST if is_single else mode
    run = run_emulated(program.source, flags, mode, inputs, decisions=log, device=device)
    sizes = attention.sizes
    batch = math.prod(size for dim, size in sizes.items() if dim not in ("m", "n", "k1", "k2"))
    return Counts(
        {name: run.counters.get(name, 0) for name in COUNTERS},
        run.workgroups,
        run.emulated,
        batch * sizes["m"] * sizes["k2"] * (sizes["k1"] + sizes["n"]),
        _error(attention, inputs, run),
        devices[0].memory.out_of_range,
        reasons_of(log, FAST),
    )


def _error(attention: Attention, inputs: Sequence[Array], run: EmulatedRun) -> float:
    """Returns the largest error of what was written; infinite where that is nothing."""
    (output,) = run.outputs
    part = written(output)
    if not part.any():
        return math.inf
    # Heads of K and V that several heads of Q share have no dimension for these.
    lead = attention.output.split()[:-2]
    dims = [attention.query, attention.key, attention.value, attention.mask]
    operands = [
        np.expand_dims(each, [i for i, dim in enumerate(lead) if dim not in named.split()])
        for each, named in zip(inputs, dims, strict=False)
    ]
    expected = attention_rows(operands, part, attention.score_factor)
    return largest_error(output[part], expected)


def summary(rows: Sequence[ShapeRow]) -> str:
    """Returns a table with a line per chip."""

    def within(counter: str) -> Callable[[list[ShapeRow]], str]:
        def shown(group: list[ShapeRow]) -> str:
            ratios = [ratio for row in group if (ratio := row.ratio(counter)) is not None]
            fewer = sum(ratio <= MOST for ratio in ratios)
            return f"{fewer} of {len(ratios)}, {max(ratios):.2f}x at most" if ratios else "-"

        return shown

    columns: dict[str, Callable[[list[ShapeRow]], object]] = {
        "attentions": len,
        "failed": lambda group: sum(bool(row.faults) for row in group),
        "matrix instructions in stock": lambda group: sum(bool(row.stock) for row in group),
        "at `fast`": total("has_matrix_instructions"),
        **{
            f"{what} at most {MOST:g}x the round shape's": within(counter)
            for counter, what in COMPARED.items()
        },
    }
    return table(rows, ["target"], columns)


def markdown(rows: Sequence[ShapeRow]) -> str:
    """Returns the summary, the figures of each chip, and why rows fail."""
    parts = [
        "# Attentions as models have them on the emulated chips",
        "`python -m bankwise.bench.attention_shapes`: attentions at `fast`, of each of which the "
        "first and the last workgroup ran. LDS instructions and LDS cycles are counts for 1,000 "
        "multiplications that the attention asks for, and the ratios are to those of the round "
        "shape next to it, in the tile that `fast` chooses for it, where stock has no matrix "
        "instructions for the attention itself; fewer than 16 rows count as 16 in the ratios. The "
        "floor is what matrix instructions compute at least over what the attention asks for: all "
        "sizes count as multiples of 16, which are their rows, columns and summed elements. The "
        "error is the largest of the elements that were written, against float64, relative to "
        "the larger of the element's magnitude and their root mean square.",
        summary(rows),
    ]
    for chip in dict.fromkeys(row.target for row in rows):
        lines = [_HEAD, *(_cells(row) for row in rows if row.target == chip)]
        parts += [f"## {chip}", markdown_lines(lines, text_columns=3)]
    faults = [[row.target, row.kernel, fault] for row in rows for fault in row.faults]
    if faults:
        parts += ["## Failed", markdown_lines([["chip", "attention", "what"], *faults], 3)]
    return "\n\n".join(parts) + "\n"


_HEAD = ["attention", "matrix instructions in stock", "round shape", "floor", "workgroups",
         "MFMA instructions", "conflict cycles",
         *(head for what in COMPARED.values() for head in (what, "ratio")),
         "error", "tolerance", "beyond the end"]  # fmt: skip


def _cells(row: ShapeRow) -> list[str]:
    stock = "fails" if row.stock is None else ("yes" if row.stock else "no")
    cells = [row.label_of_shape, stock, row.round or "-", f"{row.floor:.2f}x"]
    if row.fast is None:
        return [*cells, *["-"] * (len(_HEAD) - len(cells))]
    counts = row.fast.counters
    cells += [f"{row.fast.workgroups:,}", f"{counts[Counted.MFMA]:,}"]
    cells.append(f"{counts[Counted.CONFLICTS]:,}")
    for counter in COMPARED:
        ratio = row.ratio(counter)
        cells += [f"{1000 * row.fast.each(counter):.3f}", "-" if ratio is None else f"{ratio:.2f}x"]
    return [
        *cells,
        f"{row.fast.error:.1e}",
        f"{row.tolerance:.1e}",
        f"{row.fast.out_of_range:,}",
    ]


def cases(chips: Sequence[str], only: str | re.Pattern[str] = "") -> list[Case]:
    """Returns the attentions whose name `only` finds, each with a chip to run it on.

    `only` is a regular expression.
    """
    chosen = [each for each in attentions_of_models() if re.search(only, each.name)]
    return [(each, chip) for chip in chips for each in chosen]


BENCHMARK = Benchmark(
    "attentions",
    ShapeRow,
    lambda arguments: cases(arguments.targets, arguments.only),
    summary,
    texts={"md": markdown},
    measures="attentions",
    jobs=1,
    output=RESULTS / "attention_shapes.json",
    arguments=emulated_arguments,
)


if __name__ == "__main__":
    sys.exit(BENCHMARK.main(__doc__))
