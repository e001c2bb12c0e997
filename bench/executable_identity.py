# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares `bankwise-executable` inside `iree-compile` with `bankwise-compile`, byte by byte.

python -m bankwise.bench.executable_identity [--every N] [--jobs N] [-o rows.jsonl]

Assembly (.rocmasm, PTX) and the whole module are compared: of the 110 attention shapes in f16 and
f32 for gfx942, of 20 matmuls for it, and of 20 f16 attentions for sm_80. The wall time of each
compile stands beside that of a plain `iree-compile`; with one job it is undisturbed. Finished rows
are appended to the output at once; a run that was interrupted goes on from them.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ..sweep.cases import target_flags
from ..sweep.engine import Workers
from ..sweep.kernels import AnyKernel, swept_attentions
from ..sweep.rows_file import RowsFile
from .kept_rows import INTERRUPTED, CompiledRow, fill_rows
from .matmul_table import cases as matmuls
from .runs import BIN, bench_parser

HOOK = "--iree-hal-preprocess-executables-with=bankwise-executable"
MATMULS = 20
CUDA_ATTENTIONS = 20

Case = tuple[AnyKernel, str]


@dataclass(frozen=True)
class Row(CompiledRow):
    """One kernel, compiled three ways. Times are wall seconds of whole processes."""

    kernel: str
    target: str
    identical_assembly: bool = False
    identical_module: bool = False
    differs_from_stock: bool = False
    stock_s: float = 0.0
    inside_s: float = 0.0
    bankwise_compile_s: float = 0.0
    error: str = ""

    @property
    def identical(self) -> bool:
        """Returns whether both ways give the same bytes."""
        return self.identical_assembly and self.identical_module


def cases(every: int) -> list[Case]:
    """Returns every `every`-th kernel of each kind."""
    attentions = [
        (attention, "gfx942")
        for dtype in ("f16", "f32")
        for attention in swept_attentions(dtype)[::every]
    ]
    products = matmuls(["gfx942"], "matmul")
    on_cuda = [(attention, "sm_80") for attention in swept_attentions("f16")]
    return [
        *attentions,
        *_spread(products, MATMULS)[::every],
        *_spread(on_cuda, CUDA_ATTENTIONS)[::every],
    ]


def _spread(chosen: Sequence[Case], count: int) -> list[Case]:
    """Returns `count` of the cases, as far apart as they can be."""
    return [chosen[i * len(chosen) // count] for i in range(count)]


def empty_row(case: Case) -> Row:
    """Returns the row of a case that has not been compiled."""
    kernel, target = case
    return Row(kernel.name, target)


@dataclass(frozen=True)
class _Compiled:
    assembly: dict[str, bytes]
    module: bytes
    seconds: float


def measure(case: Case) -> Row:
    """Compiles one case three ways."""
    row = empty_row(case)
    try:
        stock = _compile(case, "iree-compile")
        inside = _compile(case, "iree-compile", HOOK)
        ours = _compile(case, "bankwise-compile")
    except RuntimeError as error:
        return replace(row, error=str(error))
    return replace(
        row,
        identical_assembly=bool(ours.assembly) and inside.assembly == ours.assembly,
        identical_module=inside.module == ours.module,
        differs_from_stock=ours.assembly != stock.assembly,
        stock_s=round(stock.seconds, 3),
        inside_s=round(inside.seconds, 3),
        bankwise_compile_s=round(ours.seconds, 3),
    )


def _compile(case: Case, tool: str, *flags: str) -> _Compiled:
    kernel, target = case
    with tempfile.TemporaryDirectory(prefix="bankwise-bench-") as name:
        directory = Path(name)
        (directory / "kernel.mlir").write_text(kernel.source())
        # Of the IR no dumps: locations would be those in the dumped files.
        kinds = ("intermediates", "binaries")
        dumps = [f"--iree-hal-dump-executable-{kind}-to=." for kind in kinds]
        command = [str(BIN / tool), "kernel.mlir", *target_flags(target), *flags, *dumps]
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("BANKWISE_")}
        path = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
        started = time.perf_counter()
        run = subprocess.run(
            [*command, "-o", "kernel.vmfb"],
            cwd=directory,
            env={**inherited, **path},
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - started
        # A warning is an executable that has come back unchanged.
        if run.returncode != 0 or "bankwise-executable: warning:" in run.stderr:
            raise RuntimeError(f"{tool}: {run.stderr.strip()[-2000:]}")
        files = [*directory.glob("*.rocmasm"), *directory.glob("*.ptx")]
        module = (directory / "kernel.vmfb").read_bytes()
        return _Compiled({f.name: f.read_bytes() for f in files}, module, seconds)


def summary(rows: Sequence[Row]) -> Table:
    """Returns one line per target."""
    table = Table(
        "target", "kernels", "identical", "other than stock's", "iree-compile s", "with the tool",
        "bankwise-compile",
    )  # fmt: skip
    for target in sorted({row.target for row in rows}):
        group = [row for row in rows if row.target == target]
        known = [row for row in group if not row.failed]
        times = [statistics.median(row.stock_s for row in known)] if known else []
        ratios = [
            statistics.median(getattr(row, name) / row.stock_s for row in known)
            for name in ("inside_s", "bankwise_compile_s")
            if known
        ]
        table.add_row(
            target,
            str(len(group)),
            str(sum(row.identical for row in group)),
            str(sum(row.differs_from_stock for row in group)),
            *(f"{seconds:.2f}" for seconds in times),
            *(f"{ratio:.2f}x" for ratio in ratios),
        )
    return table


def main() -> int:
    """Compares all cases; exits with 1 when one differs or fails."""
    parser = bench_parser(__doc__, "kernels", jobs=1, every="kernel")
    default = Path("out") / "executable_identity.jsonl"
    parser.add_argument("-o", "--output", type=Path, default=default)
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    # Each compile is a process of its own already.
    workers = Workers(arguments.jobs, "threading")
    with RowsFile(arguments.output, Row) as file:
        chosen = cases(arguments.every)
        rows, stopped = fill_rows(file, chosen, empty_row, measure, "executable identity", workers)
    Console(width=120).print(summary(rows))
    bad = [row for row in rows if not row.identical]
    for row in bad:
        print(f"{row.kernel} for {row.target}: {row.error or 'different'}")
    return INTERRUPTED if stopped else int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
