# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the 110 attention shapes with `auto` and with stock padding, and compares LDS bytes.

python -m bankwise.bench.compile_sweep [--every N] [--jobs N] [-o rows.jsonl]

A row fails where a compile does, or where a kernel takes more LDS than stock. Finished rows are
appended to the output at once; a sweep that was interrupted goes on from them. Rows of other
sources of the passes do not count.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..sweep.kernels import Attention
from .benchmark import RESULTS, Benchmark, BenchRow, table, total
from .runs import attention_cases, compile_kernel

DTYPES = {
    "gfx942": ("f16", "bf16", "f32"),
    "gfx950": ("f16", "bf16", "f32"),
    "sm_80": ("f16", "bf16"),
}


@dataclass(frozen=True)
class Row(BenchRow):
    """One kernel on one target. Conflict cycles are the model's, for one workgroup."""

    dtype: str = ""
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

    @classmethod
    def of_case(cls, case: tuple[Attention, str]) -> Row:
        """Returns the row of a case that has not been compiled."""
        return cls(case[0].name, case[1], dtype=case[0].dtype)

    def measured(self, case: tuple[Attention, str]) -> Row:
        """Compiles one case both ways."""
        stock, ours = (compile_kernel(*case, mitigation) for mitigation in (None, "auto"))
        decided = [d for d in ours.decisions if d["stands"]]
        return replace(
            self,
            stock_lds_bytes=stock.lds_bytes,
            lds_bytes=ours.lds_bytes,
            stock_lds_instructions=stock.instructions("lds"),
            lds_instructions=ours.instructions("lds"),
            stock_valu_instructions=stock.instructions("valu"),
            valu_instructions=ours.instructions("valu"),
            plain_conflicts=sum(d["conflict_cycles_before"] or 0 for d in decided),
            conflicts=sum(d["conflict_cycles_after"] or 0 for d in decided),
            actions=dict(Counter(d["action"] for d in decided)),
            unmitigated=sum(
                d["action"] == "keep" and (d["conflict_cycles_before"] or 0) > 0 for d in decided
            ),
            split=any("split to avoid conflicts" in d["reason"] for d in decided),
        )

    @property
    def has_more_lds(self) -> bool:
        """Returns whether the kernel takes more LDS bytes than stock's."""
        return self.lds_bytes > self.stock_lds_bytes

    @property
    def has_more_instructions(self) -> bool:
        """Returns whether the kernel has more LDS instructions than stock's."""
        return self.lds_instructions > self.stock_lds_instructions

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        return super().faults + ["more LDS than stock"] * self.has_more_lds


def summary(rows: Sequence[Row]) -> str:
    """Returns a table with one line per target and type."""

    def conflicts(group: list[Row]) -> str:
        return f"{total('plain_conflicts')(group):,} -> {total('conflicts')(group):,}"

    def valu(group: list[Row]) -> str:
        stock = total("stock_valu_instructions")(group)
        return f"{total('valu_instructions')(group) / stock:.3f}" if stock else "-"

    columns = {
        "kernels": len,
        "failed": total("failed"),
        "LDS above stock": total("has_more_lds"),
        "conflicts plain -> auto": conflicts,
        "conflicting, unmitigated": total("unmitigated"),
        "LDS instr. above stock": total("has_more_instructions"),
        "VALU auto/stock": valu,
    }
    return table(rows, ("target", "dtype"), columns)


BENCHMARK = Benchmark(
    "compile sweep",
    Row,
    lambda arguments: attention_cases(DTYPES, arguments.every),
    summary,
    every="attention shape",
    output=RESULTS / "compile_sweep.jsonl",
    # Each compile is a process of its own already.
    backend="threading",
)

if __name__ == "__main__":
    sys.exit(BENCHMARK.main(__doc__))
