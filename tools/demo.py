# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`make demo`: compiles the example attentions for gfx942, with stock padding and with Bankwise."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ..iree_plugin.assembly import AssemblySummary

EXAMPLES = ("attention_f16", "attention_f32")
FLAGS = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")


@dataclass(frozen=True)
class Compiled:
    """What one compile left behind."""

    summary: AssemblySummary
    decisions: list[dict[str, Any]]


def main() -> int:
    """Compiles the examples under both mitigations and prints what came of them."""
    console = Console(soft_wrap=True)
    examples = Path(__file__).resolve().parent.parent / "examples"
    try:
        for name in EXAMPLES:
            source = examples / f"{name}.mlir"
            stock = _compile(source, "stock")
            ours = _compile(source, "auto")
            console.print(f"\n[bold]{name}[/bold], gfx942, batch 1, sequence 1024, head 128")
            console.print(_figures(stock.summary, ours.summary))
            console.print(_allocations(ours.decisions))
    except subprocess.CalledProcessError as error:
        print(error.stderr, file=sys.stderr, end="")
        return 1
    return 0


def _compile(source: Path, mitigation: str) -> Compiled:
    with tempfile.TemporaryDirectory(prefix="bankwise-demo-") as directory:
        decisions = Path(directory) / "decisions.json"
        command = [
            sys.executable,
            "-m",
            "bankwise.tools.compile",
            str(source),
            *FLAGS,
            f"--bankwise-mitigation={mitigation}",
            f"--bankwise-decisions={decisions}",
            f"--iree-hal-dump-executable-files-to={directory}",
            f"-o={directory}/module.vmfb",
        ]
        subprocess.run(command, check=True, capture_output=True, text=True)
        (assembly,) = Path(directory).glob("*.rocmasm")
        return Compiled(
            AssemblySummary.of(assembly), json.loads(decisions.read_text())["decisions"]
        )


def _figures(stock: AssemblySummary, ours: AssemblySummary) -> Table:
    table = Table("", "stock padding", "Bankwise")
    for label, attribute in (
        ("LDS bytes", "lds_bytes"),
        ("LDS instructions", "lds_instructions"),
        ("VALU instructions", "valu_instructions"),
    ):
        table.add_row(label, f"{getattr(stock, attribute):,}", f"{getattr(ours, attribute):,}")
    return table


def _allocations(decisions: list[dict[str, Any]]) -> Table:
    table = Table("allocation", "got", "conflict cycles, plain -> chosen", "why")
    for decision in decisions:
        if not decision["stands"]:
            continue
        before, after = decision["conflict_cycles_before"], decision["conflict_cycles_after"]
        cycles = f"{before:,} -> {after:,}" if before is not None and after is not None else "-"
        got = str(decision["detail"] or "plain layout")
        table.add_row(str(decision["allocation"]), got, cycles, str(decision["reason"]))
    return table


if __name__ == "__main__":
    sys.exit(main())
