# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What descriptors of `wgmma` change in a report, which has been made before there are any.

Layouts are counted before hints are resolved (`observed_compile.py`). By then `ldmatrix` reads all
operands. Later `bankwise-form-wgmma` lets `wgmma` read some tiles itself, and stores factors that a
loop does not change to memory of their own. So it is looked again right behind it:

* of a tile that no `ldmatrix` reads any more, only the other accesses count;
* the memory of stored factors is listed behind the other allocations;
* how long descriptors keep the LDS busy is said of each.

A descriptor gives a `wgmma` of a warpgroup 32 bytes of each of R rows, in R * 32 / 128 LDS cycles
and without bank conflicts: the swizzles that it knows are made for that. On an H200 ncu counts just
that for heads of 64 to 256 and for matmuls in both orders (counters `..._op_gmma`).

Worked example: `m64n96k16` whose A lies in the LDS, too: 96 * 32 / 128 = 24 cycles for B, 16 for A.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from iree.compiler import ir

from ..bank_model.descriptor_tiles import CYCLE_BYTES, GROUP_WARPS, LANES, STEP_BYTES
from ..dialect_utils.described_tiles import arranged_number, has_stored_factors
from ..dialect_utils.element_moves import is_move
from ..dialect_utils.gpu_target import launch_of
from ..dialect_utils.handed_attributes import DESCRIBED
from ..dialect_utils.memory.flow import lds_allocation_of, lds_allocations
from ..dialect_utils.memory.lds_ops import ADDRESS, LDMATRIX
from ..dialect_utils.memory.staged_tensors import executions_of
from ..dialect_utils.operations import defining_operation, operations_in, parents_of, symbol_of
from ..passes.base import FunctionPass, PassContext
from .conflict_report import AllocationReport, FunctionReport, report_function

SymbolPath = tuple[str, ...]
_ASSEMBLY = "llvm.inline_asm"
_WGMMA = re.compile(r"wgmma\.mma_async\.sync\.aligned\.m(\d+)n(\d+)k")


def symbol_path(function: ir.Operation) -> SymbolPath:
    """Returns the symbols of a function and of what is around it."""
    return tuple(symbol_of(each) for each in (function, *parents_of(function)))


@dataclass
class TileReads:
    """What reads a tile in place of lanes.

    Attributes:
        wgmma: how many `wgmma` read it by descriptors, as the code has them.
        cycles: how many LDS cycles of a workgroup that takes.
        ldmatrix: how many `ldmatrix` still read it.
    """

    wgmma: int = 0
    cycles: int = 0
    ldmatrix: int = 0

    def noted(self, allocation: AllocationReport) -> AllocationReport:
        """Returns the report on an allocation with what descriptors read."""
        line = f"{self.wgmma} wgmma read it by descriptors in {self.cycles:,} LDS cycles"
        if self.ldmatrix:
            line = f"{line}, in the place of some ldmatrix"
        line = f"{allocation.decision}; {line}, without bank conflicts"
        return replace(allocation, decision=line, descriptor_cycles=self.cycles)


@dataclass(frozen=True)
class DescribedReads:
    """What descriptors read in one function.

    Attributes:
        tiles: the reads of arranged tiles, by their numbers.
        stored: the allocations of stored factors.
    """

    tiles: Mapping[int, TileReads]
    stored: tuple[AllocationReport, ...]

    @staticmethod
    def of(function: ir.Operation) -> DescribedReads:
        """Returns what is read in a function in which `wgmma` has been formed."""
        reads = {each: TileReads() for each in lds_allocations(function)}
        launch = launch_of(function)
        threads = 0 if launch is None else launch.threads
        for operation in operations_in(function, _ASSEMBLY):
            for allocation, rows in _described_operands(operation):
                cycles = rows * STEP_BYTES // CYCLE_BYTES * executions_of(operation)
                found = reads[allocation]
                found.wgmma += 1
                found.cycles += cycles * threads // (LANES * GROUP_WARPS)
        for load in operations_in(function, LDMATRIX):
            allocation = lds_allocation_of(load.operands[0])
            if allocation is not None and _is_used(load):
                reads[allocation].ldmatrix += 1
        report = report_function(function, decided=True, only=has_stored_factors)
        stored = [each for each in reads if has_stored_factors(each)]
        numbers = {arranged_number(each): found for each, found in reads.items()}
        return DescribedReads(
            {number: found for number, found in numbers.items() if number is not None},
            tuple(
                reads[each].noted(found)
                for each, found in zip(stored, report.allocations, strict=True)
            ),
        )

    def counted(self, allocation: AllocationReport) -> AllocationReport:
        """Returns the report on an allocation without the `ldmatrix` that are gone."""
        number, described = allocation.arranged_number, allocation.described
        reads = None if number is None else self.tiles.get(number)
        if reads is None or described is None or not reads.wgmma:
            return allocation
        return reads.noted(allocation if reads.ldmatrix else described)


@dataclass(frozen=True)
class ObserveDescriptors(FunctionPass):
    """Looks what descriptors read in every function."""

    name: ClassVar[str] = "bankwise-observe-descriptors"
    summary: ClassVar[str] = "see which tiles wgmma reads itself, and change nothing"

    seen: dict[SymbolPath, DescribedReads] = field(default_factory=dict, compare=False)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Adds what is read in `function` to `seen`."""
        function = function.operation
        with function.context:
            self.seen[symbol_path(function)] = DescribedReads.of(function)

    def corrected(self, path: SymbolPath, report: FunctionReport) -> FunctionReport:
        """Returns the report on the function of a path, as it is with descriptors."""
        found = self.seen.get(path)
        if found is None:
            return report
        allocations = tuple(found.counted(each) for each in report.allocations)
        return replace(report, allocations=(*allocations, *found.stored))


def _described_operands(operation: ir.Operation) -> Iterator[tuple[ir.Operation, int]]:
    """Yields the allocations that a `wgmma` reads by descriptors, with the rows of each operand."""
    found = _WGMMA.match(ir.StringAttr(operation.attributes["asm_string"]).value)
    if found is None:
        return
    described = [each for each in operation.operands if str(each.type) == "i64"]
    # A, which may be in registers, comes before B.
    sizes = [int(size) for size in found.groups()][-len(described) :]
    for value, rows in zip(described, sizes, strict=True):
        yield _addressed(value), rows


def _addressed(descriptor: ir.Value) -> ir.Operation:
    """Returns the allocation whose address a descriptor is computed from."""
    pending = [descriptor]
    while pending:
        operation = defining_operation(pending.pop())
        if operation is None:
            continue
        if operation.name == ADDRESS and DESCRIBED in operation.attributes:
            allocation = lds_allocation_of(operation.operands[0])
            assert allocation is not None
            return allocation
        pending += operation.operands
    raise AssertionError("a descriptor has the address of an allocation")


def _is_used(load: ir.Operation) -> bool:
    """Returns whether something else than moves of elements uses what is read.

    What nothing uses is still there behind `bankwise-form-wgmma`, but not in the compiled code.
    """
    pending, seen = [load], set[ir.Operation]()
    while pending:
        operation = pending.pop()
        for use in (use for result in operation.results for use in result.uses):
            user = use.owner.operation
            if not is_move(user):
                return True
            if user not in seen:
                seen.add(user)
                pending.append(user)
    return False
