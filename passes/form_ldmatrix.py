# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-form-ldmatrix`: narrow LDS loads that fill a matrix operand become `nvgpu.ldmatrix`.

    %0 = vector.load %a[%r, %k0] : ..., vector<2xf16>         %f = nvgpu.ldmatrix %a[%i, %j]
    %1 = vector.load %a[%r8, %k0] : ..., vector<2xf16>             numTiles = 4 : ... -> 4x2xf16
    %2 = vector.load %a[%r, %k8] : ..., vector<2xf16>   ->    %0 = vector.extract %f[0]
    %3 = vector.load %a[%r8, %k8] : ..., vector<2xf16>        ...
    from_elements %0, %1, %2, %3 -> nvgpu.mma.sync            %3 = vector.extract %f[3]

The registers are the same ones with the same values, so results stay bitwise equal. Loads of single
elements of a column, as a row-major B needs them, become an `ldmatrix` that transposes.

An `ldmatrix` is formed where the addresses of all lanes prove it
(`dialect_utils/memory/matrix_fragments.py`), and where nothing between the loads may write memory.
It takes the place of the first of the loads. The four registers of an A operand make one
`ldmatrix`, those of two B operands make one too: `mma.sync` wants them side by side.

Runs on flat vectors, before the layout of the LDS is decided on: `bankwise-swizzle-lds-allocs`
then sees the rows of 16 bytes. Where the layout has been decided on already, it must keep them
whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from iree.compiler import ir

from ..dialect_utils.diagnostics import Refusal
from ..dialect_utils.gpu_target import lds_model
from ..dialect_utils.index.index_builder import IndexBuilder
from ..dialect_utils.index.lane_values import LaneEvaluator
from ..dialect_utils.memory.flat_allocations import align_allocation
from ..dialect_utils.memory.flow import lds_allocations
from ..dialect_utils.memory.ldmatrix_emission import LdmatrixEmitter, replace_load
from ..dialect_utils.memory.matrix_fragments import (
    INSTRUCTION,
    ROW_BYTES,
    FragmentProver,
    MatrixAddresses,
    lds_allocation_of,
)
from ..dialect_utils.memory.memref_types import shown_type
from ..dialect_utils.memory.mma_operands import MMA, Fragment, fragments_in
from ..dialect_utils.memory.stretches import stretches
from ..dialect_utils.operations import operations_in
from .base import FunctionPass, PassContext

Registers = tuple[tuple[ir.Operation, ...], ...]
"""The loads that fill each of some registers."""


@dataclass(frozen=True)
class FormLdmatrix(FunctionPass):
    """Replaces groups of LDS loads that read 8x8 matrices by `nvgpu.ldmatrix`."""

    name: ClassVar[str] = "bankwise-form-ldmatrix"
    summary: ClassVar[str] = "read matrix operands from the LDS by ldmatrix"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` multiplies matrices in a warp and has LDS allocations."""
        return bool(operations_in(function, MMA)) and bool(lds_allocations(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the loads for which it is proven; never fails."""
        function = function.operation
        if not self.has_work(function):
            return
        with function.context:
            try:
                chip, launch = lds_model(function, context.test_target)
            except Refusal:
                return
            if all(special.name != INSTRUCTION for special in chip.special_instructions):
                return
            prover = FragmentProver(function, launch, LaneEvaluator(launch))
            fragments = fragments_in(function)
            plan = _Plan(prover, _places(fragments))
            plan.add(fragments)
            _carry_out(plan, function)
            plan.report(context)


@dataclass(frozen=True)
class _Group:
    """Loads that one `ldmatrix` replaces."""

    registers: Registers
    addresses: MatrixAddresses

    @property
    def loads(self) -> list[ir.Operation]:
        """Returns the loads of all its registers."""
        return [load for register in self.registers for load in register]


_Waiting = dict[tuple[ir.Value, int, bool], list[_Group]]
"""Groups of two registers, by memref, by stretch of a block, and by whether they are transposed."""


@dataclass
class _Outcome:
    """What became of the loads of one allocation."""

    replaced: int = 0
    matrices: int = 0
    transposed: int = 0
    kept: int = 0
    reason: str = ""


@dataclass
class _Plan:
    """Which loads become which `ldmatrix`, and why others do not."""

    prover: FragmentProver
    places: dict[ir.Operation, tuple[int, int]]
    """For each load the stretch of a block without a store, and its place in it."""
    groups: list[_Group] = field(default_factory=list)
    outcomes: dict[ir.Value, _Outcome] = field(default_factory=dict)
    """By the memref of the allocation: the hash of an operation changes with its attributes."""

    def add(self, fragments: list[Fragment]) -> None:
        """Plans for operands in the order in which they are used."""
        taken: set[ir.Operation] = set()
        waiting: _Waiting = {}
        for fragment in fragments:
            if taken.isdisjoint(fragment.loads):
                taken.update(fragment.loads)
                self._add(fragment.registers, waiting)
        for groups in waiting.values():
            self._join(groups)
        self.groups.sort(key=lambda group: self.places[group.addresses.origin])

    def _add(
        self,
        registers: Registers,
        waiting: _Waiting,
        why_not_whole: str = "",
    ) -> None:
        """Plans for an operand or a part of one, which could not be read as a whole.

        What fills two registers is kept `waiting` for its like.
        """
        try:
            group = self._group(registers)
        except Refusal as refusal:
            reason = why_not_whole or refusal.reason
            if len(registers) == 1:
                self.keep(registers, reason)
            else:
                half = len(registers) // 2
                self._add(registers[:half], waiting, reason)
                self._add(registers[half:], waiting, reason)
            return
        if len(registers) == 1 and len(group.loads) == 1:
            # One load would become one `ldmatrix`.
            self.keep(registers, why_not_whole)
        elif len(registers) == 2:
            origin = group.addresses.origin
            key = (origin.operands[0], self.places[origin][0], group.addresses.transposed)
            waiting.setdefault(key, []).append(group)
        else:
            self.groups.append(group)

    def _join(self, groups: list[_Group]) -> None:
        """Joins groups of two registers with the next ones in the order of their use.

        The four registers are loaded for the first use, so that the other two wait for the second
        one: operands that are used long after each other would take more registers.
        """
        waiting: _Group | None = None
        for group in groups:
            if waiting is None:
                waiting = group
                continue
            try:
                self.groups.append(self._group(waiting.registers + group.registers))
            except Refusal:
                self.groups.append(waiting)
                waiting = group
            else:
                waiting = None
        if waiting is not None:
            self.groups.append(waiting)

    def _group(self, registers: Registers) -> _Group:
        """Returns the group that these registers make.

        Raises:
            Refusal: they make none.
        """
        loads = [load for register in registers for load in register]
        if len({load.operands[0] for load in loads}) > 1:
            raise Refusal("they read different memrefs")
        if len({self.places[load][0] for load in loads}) > 1:
            raise Refusal("a store, a barrier or a branch may come between them")
        first = min(loads, key=self.places.__getitem__)
        return _Group(registers, self.prover.addresses(registers, first))

    def keep(self, registers: Registers, reason: str) -> None:
        """Notes that loads stay, and why."""
        loads = [load for register in registers for load in register]
        outcome = self._outcome(loads[0])
        if outcome is not None:
            outcome.kept += len(loads)
            outcome.reason = outcome.reason or reason

    def replaced(self, group: _Group) -> None:
        """Notes that a group's loads have become an `ldmatrix`."""
        outcome = self._outcome(group.loads[0])
        assert outcome is not None
        outcome.replaced += len(group.loads)
        outcome.matrices += 1
        outcome.transposed += group.addresses.transposed

    def _outcome(self, load: ir.Operation) -> _Outcome | None:
        allocation = lds_allocation_of(load.operands[0])
        if allocation is None:
            return None
        return self.outcomes.setdefault(allocation.results[0], _Outcome())

    def report(self, context: PassContext) -> None:
        """Says for each allocation what became of its loads."""
        for memref, outcome in self.outcomes.items():
            parts: list[str] = []
            if outcome.replaced:
                kind = f", {outcome.transposed} of them transposing" if outcome.transposed else ""
                parts.append(f"{outcome.replaced} loads become {outcome.matrices} ldmatrix{kind}")
            if outcome.kept:
                parts.append(f"loads kept: {outcome.kept} ({outcome.reason})")
            text = f"of {shown_type(memref.type)} {'; '.join(parts)}"
            context.sink.remark(memref.location, text)


def _carry_out(plan: _Plan, function: ir.Operation) -> None:
    """Emits what is planned, and erases the loads."""
    emitter = LdmatrixEmitter(plan.prover, IndexBuilder(function))
    erased: list[ir.Operation] = []
    for group in plan.groups:
        try:
            matrices = emitter.emit(group.addresses)
        except Refusal as refusal:
            plan.keep(group.registers, refusal.reason)
            continue
        for number, loads in enumerate(group.registers):
            for element, load in enumerate(loads):
                replace_load(load, matrices, number, element)
        plan.replaced(group)
        erased += group.loads
        allocation = lds_allocation_of(group.addresses.origin.operands[0])
        assert allocation is not None
        align_allocation(allocation, ROW_BYTES)
    for load in erased:
        load.erase()


def _places(fragments: list[Fragment]) -> dict[ir.Operation, tuple[int, int]]:
    """Numbers the stretches of the blocks that hold loads, and the operations in each of them."""
    places: dict[ir.Operation, tuple[int, int]] = {}
    number = 0
    for fragment in fragments:
        for load in fragment.loads:
            if load in places:
                continue
            for stretch in stretches(load.block):
                number += 1
                places |= {each: (number, place) for place, each in enumerate(stretch)}
    return places
