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
(`tuning/ldmatrix/matrix_fragments.py`), and where nothing between the loads may write memory.
It takes the place of the first of the loads. The four registers of an A operand make one
`ldmatrix`, those of two B operands make one too: `mma.sync` wants them side by side.

Runs on flat vectors, before the layout of the LDS is decided on: `bankwise-swizzle-lds-allocs`
then sees the rows of 16 bytes. Where the layout has been decided on already, it must keep them
whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.index_builder import IndexBuilder
from ...dialect_utils.index.index_cloner import THREAD_ID
from ...dialect_utils.index.lane_values import LaneEvaluator
from ...dialect_utils.memory.flat_allocations import align_allocation
from ...dialect_utils.memory.flow import is_lds_allocation, lds_allocation_of
from ...dialect_utils.memory.lds_ops import ALLOC
from ...dialect_utils.memory.memref_types import shown_type
from ...dialect_utils.memory.mma_operands import (
    LOADS,
    MMA,
    Fragment,
    Registers,
    fragments_in,
)
from ...dialect_utils.memory.store_free_segments import Place, places_in_segments
from ...dialect_utils.operations import operations_in
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import LayoutRound
from .ldmatrix_emission import LdmatrixEmitter, replace_load
from .matrix_fragments import INSTRUCTION, ROW_BYTES, FragmentProver, MatrixAddresses
from .operand_loads import LoadsOfMemref, OperandLoads


def _loads(registers: Registers) -> list[ir.Operation]:
    return [load for register in registers for load in register]


class FormLdmatrix(FunctionPass):
    """Replaces groups of LDS loads that read 8x8 matrices by `nvgpu.ldmatrix`."""

    name: ClassVar[str] = "bankwise-form-ldmatrix"
    summary: ClassVar[str] = "read matrix operands from the LDS by ldmatrix"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` multiplies matrices in a warp and has LDS allocations."""
        return all(_contractions_and_allocations(operations_in(function, MMA, ALLOC)))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the loads for which it is proven; never fails."""
        function = function.operation
        operations = operations_in(function)
        contractions, allocations = _contractions_and_allocations(operations)
        if not contractions or not allocations:
            return
        with function.context:
            model = context.lds_model(function, "no operand is read by ldmatrix")
            if model is None:
                return
            lds, launch = model
            if not lds.has(INSTRUCTION):
                return
            prover = FragmentProver(function, launch, LaneEvaluator(launch))
            fragments = fragments_in(contractions)
            plan = _Plan(prover, places_in_segments(operations, LOADS), OperandLoads(lds))
            plan.add(fragments)
            thread_ids = [each for each in operations if each.name == THREAD_ID]
            _carry_out(plan, LdmatrixEmitter(prover, IndexBuilder(function), thread_ids))
            self._report(function, plan.outcome.of_memrefs(allocations), context)

    def _report(
        self,
        function: ir.Operation,
        outcomes: Sequence[tuple[ir.Value, LoadsOfMemref]],
        context: PassContext,
    ) -> None:
        """Says for each memref what became of its loads."""
        for memref, loads in outcomes:
            remark = f"of {shown_type(memref.type)} {loads.shown}"
            context.sink.remark(memref.location, remark)
            self.record(context, function, memref, loads.action, loads.reason, detail=loads.detail)


def _contractions_and_allocations(
    operations: Sequence[ir.Operation],
) -> tuple[list[ir.Operation], list[ir.Operation]]:
    """Returns the contractions and the LDS allocations among operations, in their order."""
    contractions = [each for each in operations if each.name == MMA]
    return contractions, [each for each in operations if is_lds_allocation(each)]


class _Group(NamedTuple):
    """Loads that one `ldmatrix` replaces."""

    registers: Registers
    addresses: MatrixAddresses

    @property
    def loads(self) -> list[ir.Operation]:
        """Returns the loads of all its registers."""
        return _loads(self.registers)


_Waiting = dict[tuple[ir.Value, int, bool], list[_Group]]
"""Groups of two registers, by memref, by segment of a block, and by whether they are transposed."""


@dataclass
class _Plan:
    """Which loads become which `ldmatrix`, and why others do not."""

    prover: FragmentProver
    places: dict[ir.Operation, Place]
    """For each load the segment of a block without a store, and its place in it."""
    outcome: OperandLoads
    groups: list[_Group] = field(default_factory=list)

    def add(self, fragments: list[Fragment]) -> None:
        """Plans for operands in the order in which they are used."""
        taken: set[ir.Operation] = set()
        shared: dict[ir.Operation, None] = {}
        waiting: _Waiting = {}
        for fragment in fragments:
            if taken.isdisjoint(fragment.loads):
                taken.update(fragment.loads)
                self._add(fragment.registers, waiting)
            else:
                shared |= dict.fromkeys(fragment.loads)
        rest = [load for load in shared if load not in taken]
        self.outcome.keep(rest, "another operand has some of the loads of theirs")
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
                self.outcome.keep(_loads(registers), reason)
            else:
                half = len(registers) // 2
                self._add(registers[:half], waiting, reason)
                self._add(registers[half:], waiting, reason)
            return
        if len(registers) == 1 and len(group.loads) == 1:
            # One load would become one `ldmatrix`.
            self.outcome.keep(_loads(registers), why_not_whole)
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
                self.groups.append(self._joined(waiting, group))
            except Refusal:
                self.groups.append(waiting)
                waiting = group
            else:
                waiting = None
        if waiting is not None:
            self.groups.append(waiting)

    def _joined(self, one: _Group, other: _Group) -> _Group:
        """Returns the group of the registers of two groups.

        Raises:
            Refusal: their matrices are not evenly apart.
        """
        start, addresses = one.addresses, other.addresses
        if self.places[addresses.origin] < self.places[start.origin]:
            start = self.prover.seen_from(start, addresses.origin)
        return _Group(one.registers + other.registers, self.prover.joined(start, addresses))

    def _group(self, registers: Registers) -> _Group:
        """Returns the group that these registers make.

        Raises:
            Refusal: they make none.
        """
        loads = _loads(registers)
        buffer = loads[0].operands[0]
        if any(load.operands[0] != buffer for load in loads[1:]):
            raise Refusal("they read different memrefs")
        places = [self.places[load] for load in loads]
        if any(segment != places[0][0] for segment, _ in places):
            raise Refusal("a store, a barrier or a branch may come between them")
        first = loads[places.index(min(places))]
        return _Group(registers, self.prover.addresses(registers, first))


def _carry_out(plan: _Plan, emitter: LdmatrixEmitter) -> None:
    """Emits what is planned, and erases the loads."""
    erased: list[ir.Operation] = []
    read: dict[ir.Value, None] = {}
    for group in plan.groups:
        try:
            matrices = emitter.emit(group.addresses)
        except Refusal as refusal:
            plan.outcome.keep(group.loads, refusal.reason)
            continue
        for number, loads in enumerate(group.registers):
            for element, load in enumerate(loads):
                replace_load(load, matrices, number, element)
        plan.outcome.replace(group.registers, group.addresses.transposed)
        erased += group.loads
        read[group.addresses.origin.operands[0]] = None
    for buffer in read:
        allocation = lds_allocation_of(buffer)
        assert allocation is not None
        align_allocation(allocation, ROW_BYTES)
    for load in erased:
        load.erase()
