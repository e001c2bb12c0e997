# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emitting `wgmma.mma_async` for groups of `mma.sync` that have been proven to be one.

    {d}, {a} = wgmma.fence {d}, {a}              all registers are written
    {d} = wgmma.mma_async {d}, {a}, descriptor   one for each step of k and each A
    ...
    wgmma.commit_group
    {d} = wgmma.wait_group 0 {d}, {a}            all of them are done

`wgmma.mma_async.m64nNk16` is four warps that execute N / 8 `mma.sync.m16n8k16` (PTX ISA,
"Asynchronous warpgroup level matrix instructions", register fragments): warp w of the warpgroup has
the rows 16 w to 16 w + 15, as A of `mma.sync` in four registers, and in its accumulators, one
`mma.sync` behind the other, the same elements as these. On an H200 all outputs are the same bits.

The instructions are written as assembly, because IREE has no lowering for `nvgpu.warpgroup`. The
fence takes and gives all registers, so that none is written behind it. Where lanes compute A while
other `wgmma` run, each A has a fence of its own, which leaves the sums alone. What waits does so
with the accumulators and reads A, so that nothing uses the former before, and nothing else is put
where A is. ptxas keeps all of them in place meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain

import numpy as np
from iree.compiler import ir

from ...bank_model.descriptor_tiles import (
    GROUP_BYTES,
    GROUP_WARPS,
    LANES,
    TILE_ALIGNMENT,
    DescribedOperand,
)
from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.handed_attributes import DESCRIBED
from ...dialect_utils.index.lane_values import Unknown, combine
from ...dialect_utils.loops import Carried
from ...dialect_utils.memory.flat_allocations import align_allocation
from ...dialect_utils.memory.flow import lds_allocation_of
from ...dialect_utils.memory.lds_ops import SUBVIEW
from ...dialect_utils.memory.memref_types import static_strides, type_of, whole_element_bits
from ...dialect_utils.memory.mma_operands import REGISTER_BITS
from ...dialect_utils.multiplications import ACCUMULATOR
from ...dialect_utils.operations import (
    defining_operation,
    mixed_operands,
    operands_with,
    redirect,
)
from ..ldmatrix.ldmatrix_emission import other_lane
from ..ldmatrix.matrix_fragments import ROWS
from .described_operands import DescribedRun, DescriptorProver
from .stored_factors import STORED_A, StoredFactors
from .wgmma_groups import WgmmaGroup

_FENCE = "wgmma.fence.sync.aligned;"
_WAIT = "wgmma.wait_group.sync.aligned %d;"
_ADDRESS_MASK = (1 << 18) - 1
_TRAP_IF_MISPLACED = (
    "{ .reg .pred misplaced; .reg .b64 rest; and.b64 rest, $0, %d; "
    "setp.ne.b64 misplaced, rest, 0; @misplaced trap; }"
)


@dataclass
class WgmmaEmitter:
    """Emits the `wgmma` of one function."""

    prover: DescriptorProver
    stored: StoredFactors
    thread_x: Callable[[], ir.Value]
    """Returns the thread id along x, at the entry of the function."""
    addresses: dict[ir.Operation, ir.Value] = field(default_factory=dict)
    """For each allocation its address."""

    def multiply(
        self,
        parts: Sequence[Sequence[WgmmaGroup]],
        meanwhile: Sequence[ir.Operation] = (),
        under_way: Sequence[Carried] = (),
    ) -> None:
        """Emits groups, those that others add to first, and lets their results be used.

        The contractions of a part stand behind each other in a block, and of a result that one of
        them adds to there is no other use.

        Args:
            parts: the groups, in parts between which lanes may compute what the next one needs.
            meanwhile: operations that are moved to before the groups are waited for.
            under_way: all their sums, if they are waited for in the next iteration of their loop.

        Raises:
            Refusal: no lane can compute where an operand starts; the contractions then stay.
        """
        groups = list(chain.from_iterable(parts))
        contractions = [each for group in groups for each in group.contractions]
        builders = [Builder.before(part[0].contractions[0]) for part in parts]
        described = [
            [(group, self._descriptor(at, group.run)) for group in part]
            for at, part in zip(builders, parts, strict=True)
        ]
        words = self._factors_described(builders[0], groups)
        in_registers = dict.fromkeys(each.factor for each in groups if each.in_registers)
        running = _RunningSums(contractions)
        for at, part in zip(builders, described, strict=True):
            _fence(at, part, running, words)
            running.add(at, part, words)
        at, made = builders[-1], running.made
        at.assembly("wgmma.commit_group.sync.aligned;")
        for each in meanwhile:
            each.move_before(parts[-1][0].contractions[0])
        if under_way:
            at.assembly(_WAIT % 1)
            _wait_behind_loop(under_way)
            waited = list(made.values())
        else:
            # What A was in is written again only when all are done.
            kept = [word for factor in in_registers for word in words[factor]]
            waited = _in_place(at, _WAIT % 0, list(made.values()), kept, ["r"] * len(kept))
        for result, registers in zip(made, waited, strict=True):
            result.replace_all_uses_with(at.joined(registers, result.type))
        for each in reversed(contractions):
            each.erase()

    def _factors_described(
        self, at: Builder, groups: Sequence[WgmmaGroup]
    ) -> dict[ir.Value, Sequence[ir.Value]]:
        """Emits the descriptors of the factors of groups, and the stores of those before a loop."""
        factors: dict[ir.Value, Sequence[ir.Value]] = {}
        for group in groups:
            if group.in_registers or group.factor in factors:
                continue
            if group.rows is not None:
                factors[group.factor] = [self._descriptor(at, group.rows)]
                continue
            assert group.loop is not None
            alike = [each.factor for each in groups if each.loop == group.loop]
            self.stored.store(alike, group.loop, group.run.allocation, self.thread_x())
            allocation, first = self.stored.place(group.factor)
            byte = at.index_cast(at.apply(first, self.thread_x()), 64)
            start = at.addi(self._address(allocation), byte)
            factors[group.factor] = [self._described(at, start, STORED_A)]
        return factors

    def _described(self, at: Builder, start: ir.Value, operand: DescribedOperand) -> ir.Value:
        """Emits the descriptor of an operand that starts at an address."""
        wide = at.integer_type(64)
        base = at.andi(start, at.constant(wide, _ADDRESS_MASK))
        return at.ori(_in_units(at, base), at.constant(wide, _signed(operand.high_bits)))

    def _descriptor(self, at: Builder, run: DescribedRun) -> ir.Value:
        """Emits the descriptor of a run.

        Raises:
            Refusal: no lane can compute where it starts.
        """
        first = self._described(at, self._base(at, run.first.load.operands[0]), run.operand)
        start = run.starts.uniform
        if start is not None:
            return at.addi(first, at.constant(at.integer_type(64), start // GROUP_BYTES))
        return at.addi(first, _in_units(at, at.index_cast(self._start(at, run), 64)))

    def _base(self, at: Builder, buffer: ir.Value) -> ir.Value:
        """Emits the address of a buffer in the LDS."""
        allocation = lds_allocation_of(buffer)
        assert allocation is not None
        total = self._address(allocation)
        operation = defining_operation(buffer)
        while operation is not None and operation != allocation:
            source = operation.operands[0]
            if operation.name == SUBVIEW:
                strides = _byte_strides(source)
                offsets = mixed_operands(operation, "static_offsets", 1)
                for offset, stride in zip(offsets, strides, strict=True):
                    elements = at.index(offset) if isinstance(offset, int) else offset
                    step = at.index_cast(at.muli(elements, at.index(stride)), 64)
                    total = at.addi(total, step)
            operation = defining_operation(source)
        return total

    def _address(self, allocation: ir.Operation) -> ir.Value:
        """Emits the address of an allocation, right behind it, and once."""
        if allocation not in self.addresses:
            align_allocation(allocation, TILE_ALIGNMENT)
            at = Builder.after(allocation)
            address = at.index_cast(at.address(allocation.results[0], DESCRIBED), 64)
            # IREE aligns its allocations to each other, but all of the LDS only to 16 bytes.
            at.assembly(_TRAP_IF_MISPLACED % (TILE_ALIGNMENT - 1), [address], ["l"])
            self.addresses[allocation] = address
        return self.addresses[allocation]

    def _start(self, at: Builder, run: DescribedRun) -> ir.Value:
        """Emits the byte of the buffer at which a run starts, the same in a whole warpgroup.

        Raises:
            Refusal: no lane can compute it.
        """
        evaluator = self.prover.evaluator
        buffer, *indices = run.first.load.operands
        strides = _byte_strides(buffer)
        # The lane of the first warp that has the address of the first row.
        lanes, lane = LANES * GROUP_WARPS, ROWS * run.first.number
        thread = at.apply(f"d0 floordiv {lanes} * {lanes} + {lane}", self.thread_x())
        cloner = other_lane(at, thread)
        clones = [cloner.clone(index) for index in indices]
        given = evaluator.element(clones, strides)
        if isinstance(given, Unknown):
            raise Refusal(f"an index depends on the {given.reason}")
        away = combine(np.subtract, given, run.starts)
        if isinstance(away, Unknown) or away.values.any():
            raise Refusal("no lane can compute where its operand starts")
        total = at.index(0)
        for clone, stride in zip(clones, strides, strict=True):
            total = at.addi(total, at.muli(clone, at.index(stride)))
        return total


def _byte_strides(buffer: ir.Value) -> list[int]:
    """Returns the bytes between neighbours along each dimension of a memref."""
    kind = type_of(buffer)
    strides, bits = static_strides(kind), whole_element_bits(kind.element_type)
    assert strides is not None and bits is not None
    return [stride * bits // 8 for stride in strides]


def _factor(at: Builder, a: ir.Value) -> list[ir.Value]:
    """Emits the registers of A, as integers."""
    rows = [at.extract(a, [row]) for row in range(ir.VectorType(a.type).shape[0])]
    words = [at.bitcast(row, [1], at.integer_type(REGISTER_BITS)) for row in rows]
    return [at.extract(word, [0]) for word in words]


def _in_units(at: Builder, count: ir.Value) -> ir.Value:
    """Emits how many of a descriptor's units of 16 bytes so many bytes are."""
    return at.shrui(count, at.constant(at.integer_type(64), GROUP_BYTES.bit_length() - 1))


def _wait_behind_loop(sums: Sequence[Carried]) -> None:
    """Lets what uses sums behind their loop wait for the last group."""
    at = Builder.after(sums[0].loop)
    uses = [operands_with(each.result) for each in sums]
    waited = _in_place(at, _WAIT % 0, [at.elements(each.result) for each in sums])
    for each, users, registers in zip(sums, uses, waited, strict=True):
        redirect(users, at.joined(registers, each.result.type))


class _RunningSums:
    """The sums of contractions, some of which add to the results of others.

    Attributes:
        begun: the contractions that add to none of these.
        held: the registers that the next contractions add to.
        made: the registers of the results that no other contraction adds to.
    """

    def __init__(self, contractions: Sequence[ir.Operation]) -> None:
        """Takes all contractions."""
        sums = {each.results[0] for each in contractions}
        self.begun = [each for each in contractions if each.operands[ACCUMULATOR] not in sums]
        self.held: dict[ir.Operation, Sequence[ir.Value]] = {}
        self.made: dict[ir.Value, Sequence[ir.Value]] = {}
        adding = (each for each in contractions if each not in self.begun)
        self._adder = {each.operands[ACCUMULATOR]: each for each in adding}

    def add(
        self,
        at: Builder,
        described: Iterable[tuple[WgmmaGroup, ir.Value]],
        words: Mapping[ir.Value, Sequence[ir.Value]],
    ) -> None:
        """Emits the `wgmma` of groups with their descriptors.

        Args:
            words: the registers of each factor A, or its descriptor.
        """
        for group, descriptor in described:
            factor = words[group.factor]
            registers = _in_place(
                at,
                group.instruction,
                [self.held[each] for each in group.contractions],
                [*factor, descriptor],
                [*["r" if group.in_registers else "l"] * len(factor), "l"],
            )
            for each, sum_ in zip(group.contractions, registers, strict=True):
                if each.results[0] in self._adder:
                    self.held[self._adder[each.results[0]]] = sum_
                else:
                    self.made[each.results[0]] = sum_


def _fence(
    at: Builder,
    described: Sequence[tuple[WgmmaGroup, ir.Value]],
    running: _RunningSums,
    words: dict[ir.Value, Sequence[ir.Value]],
) -> None:
    """Emits the fence behind which nothing writes the registers that groups are the first to take.

    Args:
        words: gets the registers of their factors.
    """
    contractions = {each for group, _ in described for each in group.contractions}
    begun = [each for each in running.begun if each in contractions]
    factors = dict.fromkeys(group.factor for group, _ in described)
    new = [each for each in factors if each not in words]
    if not begun and not new:
        return
    # Several may begin with the same zeros, each in registers of its own.
    first = [at.elements(each.operands[ACCUMULATOR]) for each in begun]
    fenced = _in_place(at, _FENCE, [*first, *(_factor(at, each) for each in new)])
    running.held.update(zip(begun, fenced, strict=False))
    words.update(zip(new, fenced[len(begun) :], strict=True))


def _in_place(
    at: Builder,
    text: str,
    sums: Sequence[Sequence[ir.Value]],
    operands: Sequence[ir.Value] = (),
    constraints: Sequence[str] = (),
) -> list[list[ir.Value]]:
    """Emits an instruction that changes values in their registers, and returns these.

    Args:
        sums: the values; `$0` is the first register of the first one.
        operands: what it reads besides, with the constraints of that.
    """
    flat = list(chain.from_iterable(sums))
    letters = ["=f" if isinstance(each.type, ir.FloatType) else "=r" for each in flat]
    same = [str(number) for number in range(len(flat))]
    kinds = [each.type for each in flat]
    made = iter(at.assembly(text, [*flat, *operands], [*letters, *same, *constraints], kinds))
    return [[next(made) for _ in part] for part in sums]


def _signed(bits: int) -> int:
    """Returns 64 bits as the number that a signed integer has then."""
    return bits - (1 << 64) if bits >> 63 else bits
