# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`make demo`: compiles the example attentions for gfx942, with stock padding and with Bankwise."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .. import CompileError, compile
from ..iree_plugin.assembly import AssemblySummary
from ..iree_plugin.mitigation import STOCK_PAD_PASS
from ..iree_plugin.pipeline_edit import PipelineEdit
from ..iree_plugin.temporary_files import temporary_directory
from ..passes.decisions import Decision, DecisionLog
from ..passes.pad_unhinted_allocs import PadUnhintedAllocs
from .endings import fail, file_error

EXAMPLES = ("attention_f16", "attention_f32")
FLAGS = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")
TABLE_WIDTH = 130


@dataclass(frozen=True)
class Compiled:
    """What one compile has left behind."""

    summary: AssemblySummary
    decisions: list[Decision]

    @property
    def conflict_cycles(self) -> int:
        """Returns those of one workgroup, by the model."""
        return sum(d.conflict_cycles_after or 0 for d in self.decisions)


def main() -> int:
    """Compiles the examples under both mitigations and prints what came of them."""
    console = Console(width=TABLE_WIDTH)
    examples = Path(str(resources.files("bankwise") / "examples"))
    # Stock's pass gives no reasons: ours pads alike with the same option, and logs.
    stock_padding = PipelineEdit.replace(STOCK_PAD_PASS, PadUnhintedAllocs(padding_bits="64"))
    try:
        for name in EXAMPLES:
            source = examples / f"{name}.mlir"
            stock = _compile(source, "stock", stock_padding)
            ours = _compile(source, "auto")
            console.print(f"\n[bold]{name}[/bold], gfx942, batch 1, sequence 1024, head 128")
            console.print(_figures(stock, ours))
            console.print(_allocations("stock padding", stock.decisions))
            console.print(_allocations("Bankwise", ours.decisions))
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        return fail("demo", file_error(error))
    return 0


def _compile(source: Path, mitigation: str, *edits: PipelineEdit) -> Compiled:
    log = DecisionLog()
    with temporary_directory("bankwise-demo-") as directory:
        flags = [*FLAGS, f"--iree-hal-dump-executable-files-to={directory}"]
        compile(source, flags, mitigation, edits=edits, decisions=log)
        (assembly,) = directory.glob("*.rocmasm")
        return Compiled(AssemblySummary.of(assembly), [d for d in log if log.stands(d)])


def _figures(stock: Compiled, ours: Compiled) -> Table:
    table = Table("", "stock padding", "Bankwise")
    rows = [("conflict cycles of a workgroup", stock.conflict_cycles, ours.conflict_cycles)]
    for label, attribute in (
        ("LDS bytes", "lds_bytes"),
        ("LDS instructions in the code", "lds_instructions"),
        ("VALU instructions in the code", "valu_instructions"),
    ):
        rows.append((label, getattr(stock.summary, attribute), getattr(ours.summary, attribute)))
    for label, before, after in rows:
        table.add_row(label, f"{before:,}", f"{after:,}")
    return table


def _allocations(title: str, decisions: list[Decision]) -> Table:
    table = Table("allocation", "got", "LDS bytes", "conflict cycles", "why", title=title)
    for decision in decisions:
        before, after = decision.conflict_cycles_before, decision.conflict_cycles_after
        table.add_row(
            decision.allocation,
            decision.detail or "plain layout",
            f"{decision.lds_bytes_after:,}" if decision.lds_bytes_after is not None else "-",
            f"{before:,} -> {after:,}" if before is not None and after is not None else "-",
            decision.reason,
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
