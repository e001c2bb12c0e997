# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What register layouts do to the 110 attention shapes, and whether the results stay right.

python -m bankwise.bench.register_layouts [--every N] [--jobs N] [-o rows.jsonl]

Compiles the attentions as `iree-compile` does and with the three levels of `auto`. On gfx942 and
gfx950 (f16, bf16, f32), the first and the last workgroup of each run on the emulator with random
inputs. For sm_80 (f16, bf16), the loads in the loops of the PTX are counted.

A row fails where at `exact` the output is not bitwise equal to stock's, conflicts or scalar reads
in loops are left, or a 16-bit type has no fewer LDS instructions than stock; and where at `fast`
the error is above stock's, or f32 has more than half of stock's LDS instructions. Errors are taken
against float64 over the elements that the workgroups wrote. The error of `fast` is above stock's
where its root mean square is more than 5 % above stock's. Thousands of elements make that a steady
figure: other orders of the same sums differ by up to 3 %. The largest error is that of a single
element and varies by half; it may be twice stock's and one unit in the last place of the largest
result, so that a single wrong element is found.

Finished rows are appended to the output at once; the same command goes on from there. Rows of other
sources of the passes or the emulator do not count. A report is written beside them, as Markdown.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..emulator.chips import EMULATED_CHIPS
from ..emulator.counters import Counted
from ..iree_plugin.compile import compile
from ..iree_plugin.temporary_files import temporary_directory
from ..runtime.emulated_run import EmulatedRun, run_emulated
from ..sweep.cases import target_flags
from ..sweep.kernels import Attention, random_operands
from ..sweep.tables import markdown_lines
from .benchmark import RESULTS, Benchmark, BenchRow, each_mode
from .emulated_runs import MarkingDevice, at_given_tiles, written
from .loop_reads import WORD_BITS, scalar_reads_in_loops, shared_loads_in_loops
from .reference_attention import attention_rows
from .runs import attention_cases

Array = npt.NDArray[Any]
Case = tuple[Attention, str]

STOCK, LAYOUT, EXACT, FAST = MODES = ("stock", "auto/layout", "auto/exact", "auto/fast")
COMPILED_ONLY = "sm_80"
DTYPES = dict.fromkeys(EMULATED_CHIPS, ("f16", "bf16", "f32")) | {COMPILED_ONLY: ("f16", "bf16")}

COUNTERS = {
    Counted.LDS: "LDS instructions",
    Counted.LDS_CYCLES: "LDS cycles",
    Counted.CONFLICTS: "conflict cycles",
    Counted.VALU: "VALU instructions",
    Counted.TRANSACTIONS: "64-byte blocks",
}
"""The counters of a row, and their heads in tables."""
LDS_BYTES, VGPRS, SCRATCH, SCALAR_READS, LOADS = (
    "LDS bytes",
    "VGPRs",
    "scratch bytes",
    "scalar reads in loops",
    "shared loads in loops",
)
_LOAD = "load of "
"""Stands before the width in the name of a figure that counts loads of one width."""
_VGPRS = re.compile(r"\.vgpr_count:\s+(\d+)")

RMS_NOISE = 1.05
"""How far above stock's the root mean square error of another order of the sums may be."""
LARGEST_NOISE = 2.0
"""How many times stock's the largest error may be; it is that of one element of thousands."""
F32_SHARE = 0.5
"""The share of stock's LDS instructions that f32 may have at `fast`."""


@dataclass(frozen=True)
class RegisterRow(BenchRow):
    """One attention on one target.

    Attributes:
        workgroups, emulated: how many the grid has, and how many ran; 0 where none did.
        figures: for each mode that did not fail the counters of the workgroups that ran, and
            figures of the assembly.
        rms, largest: for each mode the root mean square and the largest error of what was written.
        unit: one unit in the last place of the largest result that was written.
        equal: whether `exact` gives the same bits as stock; None where nothing ran.
    """

    dtype: str = ""
    workgroups: int = 0
    emulated: int = 0
    figures: dict[str, dict[str, int]] = field(default_factory=dict)
    rms: dict[str, float] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    unit: float = 0.0
    equal: bool | None = None

    @classmethod
    def of_case(cls, case: Case) -> RegisterRow:
        """Returns the row of a case that has not been measured."""
        return cls(case[0].name, case[1], dtype=case[0].dtype)

    def measured(self, case: Case) -> RegisterRow:
        """Measures one case in all modes."""
        return _compiled(self, case) if case[1] == COMPILED_ONLY else _emulated(self, case)

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        if self.errors:
            return super().faults
        stock, exact, fast = (self.figures[mode] for mode in (STOCK, EXACT, FAST))
        lds = Counted.LDS if self.emulated else LOADS
        narrow = self.dtype != "f32"
        found = {
            "the output of exact is not stock's": self.equal is False,
            f"{exact.get(Counted.CONFLICTS)} conflict cycles at exact": bool(
                exact.get(Counted.CONFLICTS)
            ),
            f"{exact[SCALAR_READS]} scalar reads in loops at exact": exact[SCALAR_READS] > 0,
            f"{exact[lds]:,} LDS instructions at exact, stock has {stock[lds]:,}": narrow
            and exact[lds] >= stock[lds],
            f"{fast[lds]:,} LDS instructions at fast, stock has {stock[lds]:,}": not narrow
            and fast[lds] > F32_SHARE * stock[lds],
        }
        return [text for text, wrong in found.items() if wrong] + self._deviations()

    def _deviations(self) -> list[str]:
        if not self.rms:
            return []
        (rms, stock_rms), (most, stock_most) = (
            (errors[FAST], errors[STOCK]) for errors in (self.rms, self.largest)
        )
        # Written as "not below", so that an error that is no number is a fault.
        found = {
            f"error {rms:.2e} at fast, stock has {stock_rms:.2e}": not rms <= RMS_NOISE * stock_rms,
            f"largest error {most:.2e} at fast, stock has {stock_most:.2e}": not most
            <= LARGEST_NOISE * stock_most + self.unit,
        }
        return [text for text, wrong in found.items() if wrong]

    def of_grid(self, mode: str, name: str) -> float:
        """Returns a figure; counters of a sample are scaled to the whole grid."""
        scale = self.workgroups / self.emulated if name in COUNTERS else 1
        return self.figures[mode].get(name, 0) * scale


def _compiled(row: RegisterRow, case: Case) -> RegisterRow:
    attention, target = case

    def loads(mode: str) -> dict[str, int]:
        with temporary_directory("bankwise-bench-") as directory:
            dumped = f"--iree-hal-dump-executable-binaries-to={directory}"
            compile(attention.source(), [*target_flags(target), dumped], mode)
            (ptx,) = directory.glob("*.ptx")
            found = shared_loads_in_loops(ptx.read_text())
        scalar = sum(n for name, n in found.items() if name.isdigit() and int(name) < WORD_BITS)
        widths = {f"{_LOAD}{name}": count for name, count in found.items()}
        return {LOADS: sum(found.values()), SCALAR_READS: scalar, **widths}

    figures, errors = each_mode(MODES, loads)
    return replace(row, figures=figures, errors=errors)


def _emulated(row: RegisterRow, case: Case) -> RegisterRow:
    attention, target = case
    operands = random_operands(attention, seed=7)
    # A grid of 0 workgroups is the largest that runs whole: of all others two workgroups run.
    device = partial(MarkingDevice, whole_grid=0)

    def run(mode: str) -> EmulatedRun:
        flags, sampled = target_flags(target), at_given_tiles(mode)
        return run_emulated(attention.source(), flags, sampled, operands, device=device)

    runs, errors = each_mode(MODES, run)
    if errors:
        return replace(row, errors=errors)
    outputs = {mode: run.outputs[0] for mode, run in runs.items()}
    part = written(outputs[STOCK])
    exact = attention_rows(operands, part, attention.head_dim**-0.5)
    deviations = {
        mode: np.abs(output[part].astype(np.float64) - exact) for mode, output in outputs.items()
    }
    first = runs[STOCK]
    return replace(
        row,
        workgroups=first.workgroups,
        emulated=first.emulated,
        figures={mode: _figures(run) for mode, run in runs.items()},
        rms={mode: _finite(np.sqrt((each**2).mean())) for mode, each in deviations.items()},
        largest={mode: _finite(each.max()) for mode, each in deviations.items()},
        unit=float(np.abs(exact).max() * ml_dtypes.finfo(outputs[STOCK].dtype).eps),
        equal=outputs[STOCK].tobytes() == outputs[EXACT].tobytes(),
    )


def _figures(run: EmulatedRun) -> dict[str, int]:
    kernels = [record.kernel for record in run.records]
    counts = [int(count) for text in run.assembly.values() for count in _VGPRS.findall(text)]
    return {
        **{name: run.counters.get(name, 0) for name in COUNTERS},
        LDS_BYTES: run.lds_bytes,
        VGPRS: max(counts, default=0),
        SCRATCH: max(kernel.private_bytes for kernel in kernels),
        SCALAR_READS: sum(map(scalar_reads_in_loops, kernels)),
    }


def _finite(value: np.floating[Any]) -> float:
    """Returns a number that JSON holds and that no error is above, where `value` is none."""
    return float(value) if np.isfinite(value) else sys.float_info.max


Cell = Callable[[Sequence[RegisterRow], str], str]
"""Returns what a column shows of some rows under one mode."""


def _head(name: str) -> str:
    return COUNTERS[Counted(name)] if name in COUNTERS else name


def _sums_of(*names: str) -> dict[str, Cell]:
    """Returns columns with the sums over the kernels, and how many times stock's they are."""

    def cell(name: str, rows: Sequence[RegisterRow], mode: str) -> str:
        total, stock = (sum(row.of_grid(each, name) for row in rows) for each in (mode, STOCK))
        ratio = f" ({total / stock:.3f}x)" if stock and mode != STOCK else ""
        return f"{total:,.0f}{ratio}"

    return {_head(name): partial(cell, name) for name in names}


def _kernels_with(*names: str) -> dict[str, Cell]:
    """Returns columns with the number of kernels that have anything of a kind."""

    def cell(name: str, rows: Sequence[RegisterRow], mode: str) -> str:
        return str(sum(row.figures[mode][name] > 0 for row in rows))

    return {f"kernels with {name}": partial(cell, name) for name in names}


def _most_registers(rows: Sequence[RegisterRow], mode: str) -> str:
    return f"{max(row.figures[mode][VGPRS] for row in rows):,}"


def _error_over_stock(rows: Sequence[RegisterRow], mode: str) -> str:
    """Returns the largest ratio of root mean square errors."""
    ratios = [row.rms[mode] / row.rms[STOCK] if row.rms[STOCK] else math.inf for row in rows]
    return f"{max(ratios):.3f}x"


def _columns(rows: Sequence[RegisterRow], emulated: bool) -> dict[str, Cell]:
    if emulated:
        return {
            **_sums_of(*COUNTERS, LDS_BYTES),
            f"most {VGPRS}": _most_registers,
            **_kernels_with(SCRATCH, SCALAR_READS),
            "greatest error over stock's": _error_over_stock,
        }
    names = {name for row in rows for each in row.figures.values() for name in each}
    widths = sorted((n for n in names if n.startswith(_LOAD)), key=lambda n: (len(n), n))
    return {**_sums_of(LOADS, *widths), **_kernels_with(SCALAR_READS)}


def sums(rows: Sequence[RegisterRow], *, emulated: bool) -> list[list[str]]:
    """Returns a head, and a line for each target, type and mode with sums over the kernels."""
    complete = [r for r in rows if not r.errors and (r.target != COMPILED_ONLY) is emulated]
    columns = _columns(complete, emulated)
    lines = [["target", "type", "mode", "kernels", *columns]]
    for target, dtype in dict.fromkeys((row.target, row.dtype) for row in complete):
        group = [row for row in complete if (row.target, row.dtype) == (target, dtype)]
        for mode in MODES:
            cells = (cell(group, mode) for cell in columns.values())
            lines.append([target, dtype, mode, str(len(group)), *cells])
    return lines


def markdown(rows: Sequence[RegisterRow]) -> str:
    """Returns the sums, the rows that fail, and the LDS figures of all rows."""
    parts = [
        "# Register layouts of attentions",
        "`python -m bankwise.bench.register_layouts`: counters of whole grids, extrapolated from "
        "two workgroups of each kernel on the emulator. Errors are root mean squares against "
        "float64. For sm_80, the loads in the loops of the PTX by the bits that a thread gets.",
    ]
    parts += [
        markdown_lines(lines, text_columns=3)
        for emulated in (True, False)
        if len(lines := sums(rows, emulated=emulated)) > 1
    ]
    faults = [[row.target, row.kernel, fault] for row in rows for fault in row.faults]
    if faults:
        parts += ["## Failed", markdown_lines([["target", "kernel", "what"], *faults], 3)]
    parts += [f"## All rows: {' / '.join(MODES)}", markdown_lines(_row_lines(rows), 2)]
    return "\n\n".join(parts) + "\n"


def _row_lines(rows: Sequence[RegisterRow]) -> list[list[str]]:
    names = (Counted.LDS, Counted.LDS_CYCLES, Counted.VALU, LDS_BYTES, VGPRS, LOADS)
    lines = [["target", "kernel", *map(_head, names)]]
    for row in rows:
        if not row.errors:
            figures = [row.figures[mode] for mode in MODES]
            cells = [
                " / ".join(f"{each[name]:,}" for each in figures) if name in figures[0] else "-"
                for name in names
            ]
            lines.append([row.target, row.kernel, *cells])
    return lines


def shown(rows: Sequence[RegisterRow]) -> str:
    """Returns the sums of the chips that are emulated and of the others, and a line on failures."""
    tables = [markdown_lines(sums(rows, emulated=each), text_columns=3) for each in (True, False)]
    failed = sum(bool(row.faults) for row in rows)
    return "\n\n".join([*tables, f"{failed} of {len(rows)} rows failed"])


BENCHMARK = Benchmark(
    "attentions",
    RegisterRow,
    lambda arguments: attention_cases(DTYPES, arguments.every),
    shown,
    texts={"md": markdown},
    measures="kernels",
    every="attention shape",
    output=RESULTS / "register_layouts.jsonl",
)


if __name__ == "__main__":
    sys.exit(BENCHMARK.main(__doc__))
