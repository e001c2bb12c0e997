# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the rows or columns of an accumulator come from, and where they go.

An accumulator starts as a constant, goes around loops and through contractions, and is stored in
the end, often after elementwise operations. All values on that way have the same rows and columns.
They are followed from one of them, each with the two of its dimensions that hold one index: the
steps, and the lane's part of one step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.index_ops import block_owner
from ...dialect_utils.loops import FOR, YIELD, Carried, carried_as, carried_by_use
from ...dialect_utils.operations import (
    TRANSFER_READ,
    TRANSFER_WRITE,
    defining_operation,
    reached_from,
    splat_of,
)
from .lane_contractions import INNER_TILED
from .lane_memory import is_of_one_lane, kept_values, memory_of
from .masked_scatters import SCATTER

BROADCAST = "vector.broadcast"

Dims = tuple[int, int]
"""The dimension of the steps, and the one within a step."""


@dataclass
class AccumulatorFlow:
    """Everything that has the rows, or the columns, of one accumulator.

    Attributes:
        contractions: the contractions that add to it, with the dimensions in their results.
        transfers: the transfers of it and of what is combined with it.
        scatters: the masked scatters of it, with the dimensions in what they store before it is
            made a flat vector.
        repeated: the reads of what must be the same for all rows, or columns, as a bias of each
            column is for all rows.
    """

    contractions: dict[ir.Operation, Dims] = field(default_factory=dict)
    transfers: dict[ir.Operation, Dims] = field(default_factory=dict)
    scatters: dict[ir.Operation, Dims] = field(default_factory=dict)
    repeated: dict[ir.Operation, None] = field(default_factory=dict)
    _seen: dict[ir.Value, Dims] = field(default_factory=dict)

    @staticmethod
    def of(value: ir.Value, dims: Dims) -> AccumulatorFlow:
        """Follows `value` forwards and backwards.

        Raises:
            Refusal: an operation is met that is not understood.
        """
        flow = AccumulatorFlow()
        pending = [(value, dims)]
        while pending:
            value, dims = pending.pop()
            if value in flow._seen:
                if flow._seen[value] != dims:
                    raise Refusal("an accumulator meets itself transposed")
                continue
            flow._seen[value] = dims
            pending += flow._neighbours(value, dims)
        return flow

    def _neighbours(self, value: ir.Value, dims: Dims) -> Iterator[tuple[ir.Value, Dims]]:
        yield from self._through_definition(value, dims)
        for use in value.uses:
            yield from self._through_use(use.owner.operation, use.operand_number, dims)

    def _through_definition(self, value: ir.Value, dims: Dims) -> Iterator[tuple[ir.Value, Dims]]:
        if isinstance(value, ir.BlockArgument):
            loop = block_owner(value)
            if loop.name != FOR:
                raise Refusal(f"an accumulator is an argument of {loop.name}", loop.location)
            yield from _around_loop(loop, carried_as(value), dims)
            return
        operation = defining_operation(value)
        assert operation is not None
        if operation.name == "arith.constant":
            if splat_of(value) is None:
                raise Refusal("a constant differs between elements", operation.location)
        elif operation.name == FOR:
            yield from _around_loop(operation, carried_as(value), dims)
        elif operation.name == TRANSFER_READ:
            yield from self._through_transfer(operation, dims)
        elif operation.name == BROADCAST:
            yield from self._before_broadcast(operation, dims)
        else:
            yield from self._through(operation, value, dims)

    def _through_transfer(
        self, transfer: ir.Operation, dims: Dims
    ) -> Iterator[tuple[ir.Value, Dims]]:
        memory = memory_of(transfer)
        if is_of_one_lane(memory):
            yield from ((value, dims) for value in kept_values(memory, dims))
        else:
            self.transfers[transfer] = dims

    def _scattered(self, flat: ir.Operation, dims: Dims) -> None:
        for use in flat.results[0].uses:
            user = use.owner.operation
            if user.name != SCATTER or use.operand_number != len(user.operands) - 1:
                raise Refusal(f"an accumulator meets {flat.name}", flat.location)
            self.scatters[user] = dims

    def _before_broadcast(
        self, operation: ir.Operation, dims: Dims
    ) -> Iterator[tuple[ir.Value, Dims]]:
        """Yields what is broadcast if it has the steps; otherwise it must be the same for all."""
        source = operation.operands[0]
        if _has_both(operation, dims):
            missing = _missing(operation)
            yield source, (dims[0] - missing, dims[1] - missing)
            return
        for value in reached_from([source], _elements_from):
            origin = defining_operation(value)
            if origin is not None and origin.name == TRANSFER_READ:
                self.repeated[origin] = None
            elif origin is None or not (_elements_from(value) or origin.name == "arith.constant"):
                raise Refusal("an accumulator meets a number of each lane", operation.location)

    def _through_use(
        self, user: ir.Operation, number: int, dims: Dims
    ) -> Iterator[tuple[ir.Value, Dims]]:
        if user.name == TRANSFER_WRITE and number == 0:
            yield from self._through_transfer(user, dims)
        elif user.name == "vector.shape_cast":
            self._scattered(user, dims)
        elif user.name == BROADCAST:
            missing = _missing(user)
            dims = (dims[0] + missing, dims[1] + missing)
            if not _has_both(user, dims):
                raise Refusal("an accumulator is broadcast along its rows", user.location)
            yield user.results[0], dims
        elif user.name == FOR or (user.name == YIELD and user.parent.name == FOR):
            yield from _around_loop(user, carried_by_use(user, number), dims)
        else:
            yield from self._through(user, user.operands[number], dims)

    def _through(
        self, operation: ir.Operation, value: ir.Value, dims: Dims
    ) -> Iterator[tuple[ir.Value, Dims]]:
        """Yields the other values of an operation one of whose values has these dimensions."""
        if operation.name == INNER_TILED:
            if value in list(operation.operands)[:2]:
                raise Refusal("an accumulator is multiplied again", operation.location)
            self.contractions[operation] = dims
            yield operation.operands[2], dims
            yield operation.results[0], dims
        elif operation.name == "vector.transpose":
            order = list(ir.DenseI64ArrayAttr(operation.attributes["permutation"]))
            if value == operation.results[0]:
                yield operation.operands[0], (order[dims[0]], order[dims[1]])
            else:
                yield operation.results[0], (order.index(dims[0]), order.index(dims[1]))
        elif _is_elementwise(operation):
            yield from ((each, dims) for each in (*operation.operands, *operation.results))
        else:
            raise Refusal(f"an accumulator meets {operation.name}", operation.location)


def _around_loop(
    loop: ir.Operation, carried: Carried | None, dims: Dims
) -> Iterator[tuple[ir.Value, Dims]]:
    if carried is None:
        raise Refusal("an accumulator bounds a loop", loop.location)
    for value in (carried.initial, carried.argument, carried.yielded, carried.result):
        yield value, dims


def _missing(broadcast: ir.Operation) -> int:
    """Returns how many dimensions a broadcast puts in front."""
    source = broadcast.operands[0].type
    rank = source.rank if isinstance(source, ir.VectorType) else 0
    return ir.VectorType(broadcast.results[0].type).rank - rank


def _has_both(broadcast: ir.Operation, dims: Dims) -> bool:
    """Returns whether what is broadcast has both dimensions of the result, or else none.

    Raises:
        Refusal: it has one of them.
    """
    source, missing = broadcast.operands[0].type, _missing(broadcast)
    before = [*[0] * missing, *(source.shape if isinstance(source, ir.VectorType) else ())]
    after = ir.VectorType(broadcast.results[0].type).shape
    has = [before[dim] == after[dim] for dim in dims]
    # One element within a step is of any step.
    if has[0] != has[1] and before[dims[1]] != 1:
        raise Refusal("an accumulator meets vector.broadcast along its rows", broadcast.location)
    return has[0] and has[1]


def _elements_from(value: ir.Value) -> Sequence[ir.Value]:
    """Returns what the elements of a value are copies of, or computed from one by one."""
    origin = defining_operation(value)
    if origin is None:
        return ()
    copies = origin.name in (BROADCAST, "vector.transpose")
    return origin.operands if copies or _is_elementwise(origin) else ()


def _is_elementwise(operation: ir.Operation) -> bool:
    values = [*operation.operands, *operation.results]
    if operation.name.split(".")[0] not in ("arith", "math") or not operation.results:
        return False
    if not all(isinstance(each.type, ir.VectorType) for each in values):
        return False
    return len({tuple(ir.VectorType(each.type).shape) for each in values}) == 1
