# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the 110 attention shapes with `auto` and with stock padding, and compares LDS bytes.

python -m bankwise.bench.compile_sweep [--every N] [--jobs N] [-o rows.jsonl]

Finished rows are appended to the output at once; a sweep that was interrupted goes on from them.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ..sweep.engine import Workers
from ..sweep.kernels import Attention, swept_attentions
from ..sweep.rows_file import RowsFile
from .kept_rows import INTERRUPTED, RESULTS, CompiledRow, fill_rows
from .runs import bench_parser, compile_kernel

DTYPES = {
    "gfx942": ("f16", "bf16", "f32"),
    "gfx950": ("f16", "bf16", "f32"),
    "sm_80": ("f16", "bf16"),
}


@dataclass(frozen=True)
class Row(CompiledRow):
    """One kernel on one target. Conflict cycles are the model's, for one workgroup."""

    kernel: str
    dtype: str
    target: str
    stock_lds_bytes: int = 0
    lds_bytes: int = 0
    stock_lds_instructions: int = 0
    lds_instructions: int = 0
    stock_valu_instructions: int = 0
    valu_instructions: int = 0
    plain_conflicts: int = 0
    conflicts: int = 0
    actions: dict[str, int] = field(default_factory=dict)
    unmitigated: int = 0
    split: bool = False
    """Whether accesses are split to avoid conflicts, as a decision says."""
    error: str = ""


def cases(every: int) -> list[tuple[Attention, str]]:
    """Returns every `every`-th shape, for all targets and their types."""
    return [
        (attention, target)
        for target, dtypes in DTYPES.items()
        for dtype in dtypes
        for attention in swept_attentions(dtype)[::every]
    ]


def empty_row(case: tuple[Attention, str]) -> Row:
    """Returns the row of a case that has not been compiled."""
    kernel, target = case
    return Row(kernel.name, kernel.dtype, target)


def measure(case: tuple[Attention, str]) -> Row:
    """Compiles one case both ways."""
    row = empty_row(case)
    try:
        stock, ours = (compile_kernel(*case, mitigation) for mitigation in (None, "auto"))
    except RuntimeError as error:
        return replace(row, error=str(error))
    decided = [d for d in ours.decisions if d["stands"]]
    totals = [
        (sum(getattr(s, f"{kind}_instructions") for s in compiled.summaries.values()))
        for kind in ("lds", "valu")
        for compiled in (stock, ours)
    ]
    return replace(
        row,
        stock_lds_bytes=stock.lds_bytes,
        lds_bytes=ours.lds_bytes,
        stock_lds_instructions=totals[0],
        lds_instructions=totals[1],
        stock_valu_instructions=totals[2],
        valu_instructions=totals[3],
        plain_conflicts=sum(d["conflict_cycles_before"] or 0 for d in decided),
        conflicts=sum(d["conflict_cycles_after"] or 0 for d in decided),
        actions=dict(Counter(d["action"] for d in decided)),
        unmitigated=sum(
            d["action"] == "keep" and (d["conflict_cycles_before"] or 0) > 0 for d in decided
        ),
        split=any("split to avoid conflicts" in d["reason"] for d in decided),
    )


def summary(rows: list[Row]) -> Table:
    """Returns one line per target and type."""
    table = Table(
        "target", "type", "kernels", "failed", "LDS above stock", "conflicts plain -> auto",
        "conflicting, unmitigated", "LDS instr. above stock", "VALU auto/stock",
    )  # fmt: skip
    for target, dtype in sorted({(r.target, r.dtype) for r in rows}):
        group = [r for r in rows if (r.target, r.dtype) == (target, dtype)]
        stock_valu = sum(r.stock_valu_instructions for r in group)
        valu = sum(r.valu_instructions for r in group)
        table.add_row(
            target,
            dtype,
            str(len(group)),
            str(sum(bool(r.error) for r in group)),
            str(sum(r.lds_bytes > r.stock_lds_bytes for r in group)),
            f"{sum(r.plain_conflicts for r in group):,} -> {sum(r.conflicts for r in group):,}",
            str(sum(r.unmitigated for r in group)),
            str(sum(r.lds_instructions > r.stock_lds_instructions for r in group)),
            f"{valu / stock_valu:.3f}" if stock_valu else "-",
        )
    return table


def main() -> int:
    """Sweeps; exits with 1 when a kernel fails or takes more LDS than stock."""
    parser = bench_parser(__doc__, "compiles", every="attention shape")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "compile_sweep.jsonl")
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    # Each compile is a process of its own already.
    workers = Workers(arguments.jobs, "threading")
    with RowsFile(arguments.output, Row) as file:
        chosen = cases(arguments.every)
        rows, stopped = fill_rows(file, chosen, empty_row, measure, "compile sweep", workers)
    Console(width=160).print(summary(rows))
    bad = [r for r in rows if r.error or r.lds_bytes > r.stock_lds_bytes]
    for row in bad:
        print(f"{row.kernel} for {row.target}: {row.error or 'more LDS than stock'}")
    return INTERRUPTED if stopped else int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
