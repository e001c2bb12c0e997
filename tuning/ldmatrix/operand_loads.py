# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What became of the loads that fill matrix operands, counted for every LDS allocation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from iree.compiler import ir

from ...bank_model.lds_rules import AccessKind, Lds
from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.memory.flow import lds_allocation_of
from ...dialect_utils.memory.mma_operands import REGISTER_BITS
from ...passes.decisions import Action

_PROVEN = "the addresses of all lanes prove that these loads read 8x8 matrices"
_NONE = "no narrow loads from it fill the registers of a matrix operand, alike in each register"


@dataclass
class LoadsOfMemref:
    """What became of the loads of one memref.

    Attributes:
        replaced: the loads that `ldmatrix` has replaced.
        instructions: how many `ldmatrix` there are in their place.
        transposing: how many of these transpose.
        cycles_before: the LDS cycles that the replaced loads take, each executed once by one warp
            and without bank conflicts.
        cycles_after: those that `ldmatrix` takes.
        kept: the loads that stay, by the reason.
    """

    replaced: int = 0
    instructions: int = 0
    transposing: int = 0
    cycles_before: int = 0
    cycles_after: int = 0
    kept: Counter[str] = field(default_factory=Counter)

    @property
    def action(self) -> Action:
        """Returns what the pass did with the memref."""
        return Action.LDMATRIX if self.replaced else Action.KEEP

    @property
    def shown(self) -> str:
        """Returns which loads are replaced and which are not, and why not, in a few words."""
        return (
            "; ".join(filter(None, (self._replaced, self._kept)))
            or f"nothing becomes ldmatrix: {_NONE}"
        )

    @property
    def reason(self) -> str:
        """Returns what proves the replacement, and why loads stay."""
        if self.replaced:
            return "; ".join(filter(None, (_PROVEN, self._kept)))
        return "; ".join(self.kept) or _NONE

    @property
    def detail(self) -> str:
        """Returns what is replaced and what that saves, or how many loads stay."""
        if not self.replaced:
            return f"{self.kept.total()} loads stay" if self.kept else ""
        return (
            f"{self._replaced}; LDS cycles of a warp, without conflicts: "
            f"{self.cycles_before} -> {self.cycles_after}"
        )

    @property
    def _replaced(self) -> str:
        if not self.replaced:
            return ""
        kind = f", {self.transposing} of them transposing" if self.transposing else ""
        return f"{self.replaced} loads become {self.instructions} ldmatrix{kind}"

    @property
    def _kept(self) -> str:
        counts = ", ".join(f"{count} ({reason})" for reason, count in self.kept.items())
        return f"loads kept: {counts}" if counts else ""


@dataclass
class OperandLoads:
    """What became of the loads of all memrefs of a function."""

    lds: Lds
    _of_memref: dict[ir.Value, LoadsOfMemref] = field(default_factory=dict)
    """By the result of the allocation, as the hash of an operation changes with its attributes;
    or by the memref itself, where it may be one of several allocations."""
    _keys: dict[ir.Value, ir.Value] = field(default_factory=dict)
    """By memref."""
    _known_cycles: dict[int, int] = field(default_factory=dict)

    def keep(self, loads: Sequence[ir.Operation], reason: str) -> None:
        """Notes that loads stay, and why."""
        for load in loads:
            self._of(load).kept[reason] += 1

    def replace(self, registers: Sequence[Sequence[ir.Operation]], transposing: bool) -> None:
        """Notes that one `ldmatrix` takes the place of the loads of some registers."""
        loads = [load for register in registers for load in register]
        outcome = self._of(loads[0])
        outcome.replaced += len(loads)
        outcome.instructions += 1
        outcome.transposing += transposing
        outcome.cycles_before += len(loads) * self._cycles(len(registers[0]))
        # The LDS serves the lanes of one matrix together.
        outcome.cycles_after += len(registers)

    def of_memrefs(
        self, allocations: Sequence[ir.Operation]
    ) -> list[tuple[ir.Value, LoadsOfMemref]]:
        """Returns what became of the loads of each allocation, and then of other memrefs."""
        found = {each.results[0]: LoadsOfMemref() for each in allocations}
        return list((found | self._of_memref).items())

    def _cycles(self, loads: int) -> int:
        """Returns the LDS cycles of each of the loads of a register, without bank conflicts."""
        if loads not in self._known_cycles:
            width = REGISTER_BITS // 8 // loads
            pieces = self.lds.legalize(AccessKind.READ, width, width)
            self._known_cycles[loads] = sum(len(piece.phases) for piece, _ in pieces)
        return self._known_cycles[loads]

    def _of(self, load: ir.Operation) -> LoadsOfMemref:
        memref = load.operands[0]
        if memref not in self._keys:
            allocation = lds_allocation_of(memref)
            self._keys[memref] = memref if allocation is None else allocation.results[0]
        return self._of_memref.setdefault(self._keys[memref], LoadsOfMemref())
