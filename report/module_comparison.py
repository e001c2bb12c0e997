# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A module as stock pads its LDS beside what Bankwise makes of it: figures, decisions, reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from ..iree_plugin.assembly_summary import AssemblySummary
from ..iree_plugin.python_compile import compile
from ..iree_plugin.temporary_files import temporary_directory
from ..passes.decisions import Decision, DecisionLog
from ..passes.padding.pad_unhinted_allocs import PadUnhintedAllocs
from ..passes.pipeline_edit import PipelineEdit
from ..passes.steps import STOCK_PAD_PASS


@dataclass(frozen=True)
class Compiled:
    """What one compile has left behind of a module with one kernel."""

    summary: AssemblySummary
    decisions: list[Decision]

    @property
    def conflict_cycles(self) -> int:
        """Returns those of one workgroup, by the model."""
        return sum(d.conflict_cycles_after or 0 for d in self.decisions)

    def allocations(self, title: str) -> Table:
        """Returns a table of what each allocation got, and why."""
        table = Table("allocation", "got", "LDS bytes", "conflict cycles", "why", title=title)
        for decision in self.decisions:
            before, after = decision.conflict_cycles_before, decision.conflict_cycles_after
            table.add_row(
                decision.allocation,
                decision.detail or "plain layout",
                f"{decision.lds_bytes_after:,}" if decision.lds_bytes_after is not None else "-",
                f"{before:,} -> {after:,}" if before is not None and after is not None else "-",
                decision.reason,
            )
        return table


@dataclass(frozen=True)
class Comparison:
    """A module compiled with stock's padding, and with Bankwise."""

    stock: Compiled
    ours: Compiled

    @staticmethod
    def of(source: Path, flags: Sequence[str]) -> Comparison:
        """Compiles a module with one kernel both ways.

        Raises:
            CompileError: it does not compile.
            OSError: it cannot be read.
        """
        # Stock's pass gives no reasons: ours pads alike with the same option, and logs.
        padding = PipelineEdit.replace(STOCK_PAD_PASS, PadUnhintedAllocs(padding_bits="64"))
        return Comparison(
            _compiled(source, flags, "stock", padding), _compiled(source, flags, "auto")
        )

    def tables(self) -> list[Table]:
        """Returns the figures of both, and a table of the allocations of each."""
        return [
            self._figures(),
            self.stock.allocations("stock padding"),
            self.ours.allocations("Bankwise"),
        ]

    def _figures(self) -> Table:
        stock, ours = self.stock, self.ours
        table = Table("", "stock padding", "Bankwise")
        rows = [("conflict cycles of a workgroup", stock.conflict_cycles, ours.conflict_cycles)]
        for label, name in (
            ("LDS bytes", "lds_bytes"),
            ("LDS instructions in the code", "lds_instructions"),
            ("VALU instructions in the code", "valu_instructions"),
        ):
            rows.append((label, getattr(stock.summary, name), getattr(ours.summary, name)))
        for label, before, after in rows:
            table.add_row(label, f"{before:,}", f"{after:,}")
        return table


def _compiled(source: Path, flags: Sequence[str], mode: str, *edits: PipelineEdit) -> Compiled:
    log = DecisionLog()
    with temporary_directory("bankwise-compare-") as directory:
        dumping = [*flags, f"--iree-hal-dump-executable-files-to={directory}"]
        compile(source, dumping, mode, edits=edits, decisions=log)
        (assembly,) = directory.glob("*.rocmasm")
        return Compiled(AssemblySummary.of(assembly), [d for d in log if log.stands(d)])
