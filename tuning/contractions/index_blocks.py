# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The indices of contractions that may be renamed, and all transfers that must go along.

An `IndexBlock` is one index of one or more contractions: the rows of a result, its columns, or what
is summed over. Its *uses* are the transfers with memory in which the index occurs. For all of them
it is proven, on the offsets of all lanes, that they access the block as
`bank_model/step_renaming.py` says. What is not proven is a `Refusal`, and nothing of it is renamed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.step_renaming import (
    Slot,
    StepRenaming,
    are_slots,
    ignores,
    is_uniform,
    slot_places,
)
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.lane_values import LaneEvaluator
from ...dialect_utils.memory.memref_types import static_strides, type_of
from ...dialect_utils.operations import operations_in
from .accumulators import AccumulatorFlow
from .lane_contractions import INNER_TILED, LaneContraction, OperandRead
from .lane_exchange import check_exchange
from .lane_transfers import LaneTransfer
from .masked_scatters import MaskedScatter, masked_scatter


class IndexUse(NamedTuple):
    """A transfer in which the index occurs.

    Attributes:
        outer: the dimension of the transfer that counts the steps.
        inner: the next one, within a step.
    """

    transfer: LaneTransfer
    outer: int
    inner: int

    @property
    def steps(self) -> int:
        """Returns how many steps a lane transfers."""
        return self.transfer.extents[self.outer]


class IndexBlock(NamedTuple):
    """An index that may be renamed.

    Attributes:
        uses: all transfers in which it occurs.
        summed: whether it is summed over, so that a renaming changes the order of a sum.
        steps: the steps of a wave over its block.
        scatters: all masked scatters in which it occurs; then it is the columns of a result.
        slots, unit: as `StepRenaming` has them.
        aligned: the largest number of steps of which every wave's block begins at a multiple, and
            into which the memory divides.
    """

    uses: tuple[IndexUse, ...]
    scatters: tuple[MaskedScatter, ...]
    summed: bool
    steps: int
    slots: int
    unit: int
    aligned: int

    def renaming(self, merged: int) -> StepRenaming:
        """Returns the renaming that makes so many steps neighbours."""
        return StepRenaming(self.slots, self.unit, merged)


_APART = "steps do not lie side by side in memory"

Blocks = tuple[list[IndexBlock], list[Refusal]]


def index_blocks(function: ir.Operation, evaluator: LaneEvaluator) -> Blocks:
    """Returns the indices that may be renamed, and why others may not."""
    contractions: dict[ir.Operation, LaneContraction] = {}
    refusals: list[Refusal] = []
    for operation in operations_in(function, INNER_TILED):
        try:
            contractions[operation] = LaneContraction.of(operation)
        except Refusal as refusal:
            refusals.append(refusal)
    finder = _Finder(evaluator, contractions)
    blocks: list[IndexBlock] = []
    searches: list[Callable[[], IndexBlock | None]] = []
    for contraction in contractions.values():
        searches += [
            lambda contraction=contraction, loop=loop: finder.summed(contraction, loop)
            for loop in sorted(contraction.summed)
        ]
        searches += [
            lambda contraction=contraction, position=position: finder.kept(contraction, position)
            for position in range(len(contraction.loops[2]))
        ]
    for search in searches:
        try:
            block = search()
        except Refusal as refusal:
            refusals.append(refusal)
            continue
        if block is not None and block.steps > 1:
            blocks.append(block)
    return blocks, refusals


class _Finder:
    """The search for the blocks of one function."""

    def __init__(
        self, evaluator: LaneEvaluator, contractions: dict[ir.Operation, LaneContraction]
    ) -> None:
        self.evaluator, self.contractions = evaluator, contractions
        self._met: set[tuple[ir.Operation, int]] = set()

    def summed(self, contraction: LaneContraction, loop: int) -> IndexBlock | None:
        """Returns the block of a loop that a contraction sums over; None where it has one step.

        Raises:
            Refusal: it must not be renamed.
        """
        where = contraction.operation.location
        if any(loop not in contraction.loops[number] for number in (0, 1)):
            raise Refusal("a loop that is summed over is none of both operands", where)
        uses: list[IndexUse] = []
        places: set[tuple[int, ...]] = set()
        units: set[int] = set()
        for number in (0, 1):
            read = contraction.read_of(number, self.evaluator)
            use, unit = _read_use(contraction, number, loop, read)
            if use.steps == 1:
                return None
            units.add(unit)
            places.add(self._places(use, Slot.DEPTH, contraction.size, unit))
            uses.append(use)
        if len(places) != 1 or len(units) != 1:
            raise Refusal("the operands do not pair the elements that lie alike", where)
        return self._block(uses, (), len(places.pop()), units.pop())

    def kept(self, contraction: LaneContraction, position: int) -> IndexBlock | None:
        """Returns the block of a dimension of a contraction's result.

        Returns None where it has one step, or another contraction of the accumulator had it
        already.

        Raises:
            Refusal: it must not be renamed.
        """
        if ir.VectorType(contraction.result.type).shape[position] == 1:
            return None
        if (contraction.operation, position) in self._met:
            return None
        number = contraction.operand_of(contraction.loops[2][position])
        inner = contraction.inner_dims(2)
        if number == 0 and len(inner) != 2:
            where = contraction.operation.location
            raise Refusal("the rows that a lane has of one instruction are no neighbours", where)
        dims = (position, inner[0] if number == 0 else inner[-1])
        flow = AccumulatorFlow.of(contraction.result, dims)
        uses: list[IndexUse] = []
        places: set[tuple[int, ...]] = set()
        for operation, (steps, _) in flow.contractions.items():
            use, found = self._operand_use(operation, steps, number, contraction.size)
            uses.append(use)
            places.add(found)
            self._met.add((operation, steps))
        for operation, (steps, within) in flow.transfers.items():
            transfer = LaneTransfer.of(operation, self.evaluator)
            use = IndexUse(transfer, steps, _within(transfer, steps, within))
            if number == 1:
                places.add(self._places(use, Slot.ROW, contraction.size, 1))
            else:
                self._check_rows(use, contraction.size)
            uses.append(use)
        if flow.scatters and number == 0:
            raise Refusal("rows of a result are scattered", contraction.operation.location)
        scatters = [
            masked_scatter(operation, *each, contraction.size, self.evaluator)
            for operation, each in flow.scatters.items()
        ]
        for operation in flow.repeated:
            self._check_repeated(operation, number, contraction.size)
        slots = contraction.size
        if places != {tuple(range(slots))}:
            where = contraction.operation.location
            raise Refusal("an operand and the result do not lie alike in the lanes", where)
        return self._block(uses, scatters, slots, 1, summed=False)

    def _operand_use(
        self, operation: ir.Operation, position: int, number: int, size: int
    ) -> tuple[IndexUse, tuple[int, ...]]:
        contraction = self.contractions.get(operation)
        if contraction is None:
            raise Refusal("an accumulator goes through a contraction that is not understood")
        loop = contraction.loops[2][position]
        if contraction.size != size or contraction.operand_of(loop) != number:
            raise Refusal("an accumulator goes through different contractions", operation.location)
        read = contraction.read_of(number, self.evaluator)
        outer = read.dims[contraction.loops[number].index(loop)]
        use = IndexUse(read.transfer, outer, _within(read.transfer, outer, outer + 1))
        return use, self._places(use, Slot.ROW, size, 1)

    def _places(self, use: IndexUse, slot: Slot, size: int, unit: int) -> tuple[int, ...]:
        """Returns where the slots of a use begin, once it is sure that it accesses a block."""
        where = use.transfer.operation.location
        offsets = use.transfer.offsets(use.inner, self.evaluator)
        places = slot_places(offsets, slot, size)
        if places is None or not are_slots(places, unit):
            raise Refusal("the lanes do not access slots side by side", where)
        if use.transfer.extents[use.inner] != unit:
            raise Refusal("a lane accesses more than one slot", where)
        self._check_surroundings(use, slot, size, len(places) * unit)
        return places

    def _check_rows(self, use: IndexUse, size: int) -> None:
        """Makes sure that lane l has the rows l // size * n of a result, and the n - 1 after it."""
        offsets = use.transfer.offsets(use.inner, self.evaluator)
        count = use.transfer.extents[use.inner]
        places = slot_places(offsets, Slot.DEPTH, size)
        if places is None or list(places) != list(range(0, size, count)):
            where = use.transfer.operation.location
            raise Refusal("the lanes do not have the rows of the result side by side", where)
        self._check_surroundings(use, Slot.DEPTH, size, size)

    def _check_repeated(self, operation: ir.Operation, number: int, size: int) -> None:
        """Makes sure that all lanes read the same that differ in their row, or column, alone."""
        transfer = LaneTransfer.of(operation, self.evaluator)
        slot = Slot.DEPTH if number == 0 else Slot.ROW
        for dim in range(len(transfer.starts)):
            if not ignores(transfer.offsets(dim, self.evaluator), slot, size):
                raise Refusal("what an accumulator meets differs between lanes", operation.location)

    def _check_surroundings(self, use: IndexUse, slot: Slot, size: int, places: int) -> None:
        transfer, where = use.transfer, use.transfer.operation.location
        kind = type_of(transfer.memory)
        strides = static_strides(kind)
        if use.inner != use.outer + 1 or strides is None or not kind.has_static_shape:
            raise Refusal(_APART, where)
        row = kind.shape[use.inner]
        if row != places or strides[use.outer] != row * strides[use.inner]:
            raise Refusal(_APART, where)
        for dim in range(kind.rank):
            offsets = transfer.offsets(dim, self.evaluator)
            if dim == use.outer and not is_uniform(offsets):
                raise Refusal("the lanes of a wave access different steps", where)
            if dim != use.inner and not ignores(offsets, slot, size):
                raise Refusal("an index depends on the slot of another one", where)

    def _block(
        self,
        uses: Sequence[IndexUse],
        scatters: Sequence[MaskedScatter],
        slots: int,
        unit: int,
        *,
        summed: bool = True,
    ) -> IndexBlock:
        if len({use.steps for use in uses} | {each.count for each in scatters}) != 1:
            raise Refusal("the transfers of an index have different steps")
        alike = [use.transfer.operation for use in uses]
        for use in uses:
            check_exchange(use.transfer, alike)
        aligned = gcd(*self._bounds(uses), *(each.aligned for each in scatters))
        return IndexBlock(tuple(uses), tuple(scatters), summed, uses[0].steps, slots, unit, aligned)

    def _bounds(self, uses: Sequence[IndexUse]) -> Iterator[int]:
        for use in uses:
            offsets = use.transfer.offsets(use.outer, self.evaluator)
            yield int(np.gcd.reduce(offsets, axis=None))
            yield type_of(use.transfer.memory).shape[use.outer]


def _read_use(
    contraction: LaneContraction, number: int, loop: int, read: OperandRead
) -> tuple[IndexUse, int]:
    """Returns where a loop that is summed over occurs in a read, and the elements of a slot."""
    extents = read.transfer.extents
    dims = [read.dims[dim] for dim in contraction.inner_dims(number)]
    outer = read.dims[contraction.loops[number].index(loop)]
    long = [dim for dim in dims if extents[dim] > 1]
    if len(long) > 1:
        where = read.transfer.operation.location
        raise Refusal("a lane has elements along two dimensions of an instruction", where)
    within = _within(read.transfer, outer, long[0] if long else outer + 1)
    return IndexUse(read.transfer, outer, within), extents[within]


def _within(transfer: LaneTransfer, outer: int, expected: int) -> int:
    """Returns the dimension within a step.

    Dimensions of one element are interchangeable, and where their order does not matter the program
    has no transpose: which of them is meant is found by where the lanes begin.
    """
    following = outer + 1
    if (
        following == len(transfer.extents)
        or transfer.extents[following] != transfer.extents[expected]
    ):
        raise Refusal("steps do not lie side by side in memory", transfer.operation.location)
    if following != expected and transfer.extents[following] != 1:
        raise Refusal("steps do not lie side by side in memory", transfer.operation.location)
    return following
