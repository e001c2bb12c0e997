# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables as ncu prints them and as reports show them, and programs in place of real ones."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bankwise.bench.gpu.profiler import LAUNCHES, METRICS
from bankwise.bench.gpu.record import Figures

FIGURES = Figures(
    milliseconds=0.05,
    instructions=1_234_567,
    ldmatrix=16,
    shared_loads=32,
    load_conflicts=7,
    store_conflicts=3,
    registers=128,
    occupancy=6.25,
    workgroups=96,
)
"""What `ncu_table` says."""


def ncu_table(
    *,
    launches: int = LAUNCHES,
    unit: str = "us",
    times: Sequence[str] = ("49.0", "51.0", "50.0", "9,000.5", "1.0"),
    others: dict[str, str] | None = None,
    kernels: Sequence[str] = ("matmul_dispatch_0",),
) -> str:
    """Returns what `ncu --csv` prints, between lines of the program and of ncu itself."""
    cells = {
        "instructions": "1,234,567",
        "ldmatrix": "16",
        "shared_loads": "32",
        "load_conflicts": "7",
        "store_conflicts": "3",
        "registers": "128",
        "occupancy": "6.25",
        **(others or {}),
    }
    head = ("ID", "Kernel Name", "Grid Size", "Section Name", "Metric Name", "Metric Unit")
    lines = ["==PROF== Connected to process 1", "BM_matmul 0.1 ms"]
    lines.append(",".join(f'"{field}"' for field in (*head, "Metric Value")))
    for launch in range(launches):
        kernel = kernels[launch % len(kernels)]
        for name, value in {"nanoseconds": times[launch], **cells}.items():
            its_unit = unit if name == "nanoseconds" else "inst"
            fields = (launch, kernel, "(4, 1, 24)", "metrics", METRICS[name], its_unit, value)
            lines.append(",".join(f'"{field}"' for field in fields))
    return "\n".join([*lines, "==PROF== Disconnected"])


def program(path: Path, text: str) -> None:
    """Writes a program in Python."""
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)


def section(text: str, title: str) -> list[list[str]]:
    """Returns the cells of the table below a title."""
    lines = text.split(f"## {title}\n\n")[1].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
