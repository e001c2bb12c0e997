# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the 110 attention shapes with `auto` and with stock padding, and compares LDS bytes.

python -m bankwise.bench.compile_sweep [--every N] [--jobs N] [-o rows.jsonl]

Finished rows are appended to the output at once; a sweep that was interrupted goes on from them.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from ..sweep.kernels import Attention, swept_attentions
from .runs import compile_kernel, compile_parser

RESULTS = Path(__file__).parent / "results" / "compile_sweep.jsonl"
DTYPES = {
    "gfx942": ("f16", "bf16", "f32"),
    "gfx950": ("f16", "bf16", "f32"),
    "sm_80": ("f16", "bf16"),
}


@dataclass(frozen=True)
class Row:
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
    """Every `every`-th shape, for all targets and their types."""
    return [
        (attention, target)
        for target, dtypes in DTYPES.items()
        for dtype in dtypes
        for attention in swept_attentions(dtype)[::every]
    ]


def measure(case: tuple[Attention, str]) -> Row:
    """Compiles one case both ways."""
    kernel, target = case
    try:
        stock = compile_kernel(kernel, target, None)
        ours = compile_kernel(kernel, target, "auto")
    except RuntimeError as error:
        return Row(kernel.name, kernel.dtype, target, error=str(error))
    decided = [d for d in ours.decisions if d["stands"]]
    totals = [
        (sum(getattr(s, f"{kind}_instructions") for s in compiled.summaries.values()))
        for kind in ("lds", "valu")
        for compiled in (stock, ours)
    ]
    return Row(
        kernel.name,
        kernel.dtype,
        target,
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


def finished_rows(path: Path) -> dict[tuple[str, str], Row]:
    """The rows of an earlier, perhaps interrupted, sweep."""
    if not path.exists():
        return {}
    rows = [Row(**json.loads(line)) for line in path.read_text().splitlines() if line.endswith("}")]
    return {(row.kernel, row.target): row for row in rows if not row.error}


def summary(rows: list[Row]) -> Table:
    """One line per target and type."""
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
    parser = compile_parser(__doc__)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    done = finished_rows(arguments.output)
    chosen = cases(arguments.every)
    open_cases = [(k, t) for k, t in chosen if (k.name, t) not in done]
    rows = [done[k.name, t] for k, t in chosen if (k.name, t) in done]
    with ThreadPoolExecutor(arguments.jobs) as pool, arguments.output.open("a") as file:
        for row in track(
            pool.map(measure, open_cases),
            "compile sweep",
            total=len(open_cases),
            console=Console(stderr=True),
        ):
            file.write(json.dumps(asdict(row)) + "\n")
            file.flush()
            rows.append(row)
    Console(width=160).print(summary(rows))
    bad = [r for r in rows if r.error or r.lds_bytes > r.stock_lds_bytes]
    for row in bad:
        print(f"{row.kernel} for {row.target}: {row.error or 'more LDS than stock'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
