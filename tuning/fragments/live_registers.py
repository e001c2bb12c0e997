# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many registers a lane needs for the values of a loop.

The elements of vectors and the floats that live at one place of the loop's body are counted, each
with its bits:

* What the loop carries, and what it takes from before it, lives through the whole iteration; the
  former only until its last use, behind which the next iteration's value is computed.
* What an iteration computes lives from its operation to its last use. Being stored is no use: the
  backend can store what an iteration copies as soon as it is loaded, one piece after the other.
* What an iteration reads from the LDS is counted where it is used first: the backend moves reads
  down to their uses, and brings contractions with the same operand together.

Addresses of LDS reads are counted too, a register for those that differ by constants, which are
parts of the instructions. Operations that only move elements are no instructions
(`element_moves.py`): their results are elements that are counted already. Constants, other indices
and what only nested regions use are not counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum, auto
from itertools import accumulate

from iree.compiler import ir

from ...bank_model.lds_rules import AccessKind
from ...dialect_utils.element_moves import element_count, is_move, moves_of
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.index.index_ops import compute_after_operands
from ...dialect_utils.loops import body_of, operations_by_place
from ...dialect_utils.memory.lds_ops import access_row
from ...dialect_utils.memory.memref_types import is_workgroup_memref
from ...dialect_utils.operations import (
    constant_value,
    defining_operation,
    is_inside,
    operations_of,
    reached_from,
)

REGISTER_BITS = 32
MOST_REGISTERS = 255
"""The registers of a lane (CUDA C++ Programming Guide, technical specifications per compute
capability: 32-bit registers per thread, 5.0 and later)."""
WORKGROUP_REGISTERS = 65536
"""Those of all lanes of a workgroup together (there: 32-bit registers per thread block)."""
_REGISTER_STEP = 8
"""A warp's registers are allotted in steps of 256, which is 8 for each of its lanes."""
UNCOUNTED = 20
"""The registers beside those of `LoopRegisters`: what computes addresses and copies tiles."""

_CONSTANT = "arith.constant"

_Form = tuple[int, int]
"""The elements of a type, and the bits of each, which are 0 where it is not counted."""
_Span = tuple[int, int]
"""The first and the last place, or point, of something."""


def lane_registers(threads: int) -> int:
    """Returns how many registers a lane of a workgroup of so many lanes has at most."""
    share = WORKGROUP_REGISTERS // threads
    return min(MOST_REGISTERS, share - share % _REGISTER_STEP)


class LoopRegisters:
    """What the body of an `scf.for` computes, and where it uses the elements of vectors.

    The body must stay as it is. Operands of the operation at place p are alive at point 2 p, and
    its results at 2 p + 1.
    """

    def __init__(self, loop: ir.Operation, body: Sequence[ir.Operation] = ()) -> None:
        """Reads the body of `loop`.

        Args:
            body: its operations, where a caller has them.
        """
        self._loop = loop
        block = body_of(loop)
        self._carried = {*block.arguments}
        self._body = body or operations_of(block)
        self._places = {
            result: place
            for place, operation in enumerate(self._body)
            for result in operation.results
        }
        self._begins: dict[ir.Value, int] = {}
        """The number of the first element of each value that no move has made, in the order in
        which they are met. The next ones have the next numbers."""
        self._origins: dict[ir.Value, Sequence[int]] = {}
        """For a value the elements, behind moves, that it consists of."""
        self._of_values: dict[ir.Value, Sequence[int]] = {}
        """The same, and none for values that are not counted."""
        self._first: list[int] = []
        """The place of the first use of each element, and below of the last one."""
        self._last: list[int] = []
        self._constants: set[ir.Value] = set()
        self._forms: dict[ir.Type, _Form] = {}
        self._kinds: dict[str, _Kind] = {}
        self._reads: list[ir.Operation] = []
        """The reads of the LDS, and below what they have read."""
        self._read: set[ir.Value] = set()
        self._buffers: dict[ir.Value, bool] = {}
        """Whether memrefs are in workgroup memory."""
        self._find_uses()

    def count(self, reloaded: Collection[ir.Value] = (), reads: Iterable[ir.Operation] = ()) -> int:
        """Returns the registers of 32 bits that values fill at the place where the loop needs most.

        Args:
            reloaded: values from before the loop that are counted as if each iteration read them
                from the LDS.
            reads: the operations before the loop that do this.
        """
        changes = [0] * (2 * len(self._body) + 1)
        again = {number for value in reloaded for number in self._elements_of(value)}
        for value, begin in self._begins.items():
            elements, bits = self._form(value)
            if value in self._constants or not bits:
                continue
            for start, end in self._lives(value, range(begin, begin + elements), again):
                changes[start] += bits
                changes[end + 1] -= bits
        addresses = {_address(read) for read in (*self._reads, *reads)}
        return -(-max(accumulate(changes)) // REGISTER_BITS) + len(addresses)

    def _find_uses(self) -> None:
        """Finds where elements are first and last used by what does more than move or store."""
        first, last = self._first, self._last
        for place, operation in operations_by_place(self._body):
            kind = self._kind(operation)
            if kind is _Kind.NO_USE:
                if is_move(operation):
                    self._move(operation)
                continue
            if kind is _Kind.READ and self._is_lds(operation):
                self._reads.append(operation)
                self._read.update(operation.results)
            for operand in operation.operands:
                for number in self._elements_of(operand):
                    last[number] = place
                    if first[number] < 0:
                        first[number] = place

    def _kind(self, operation: ir.Operation) -> _Kind:
        name = operation.name
        if name not in self._kinds:
            row = access_row(operation)
            access = None if row is None else row.kind
            is_unused = is_move(operation) or access is AccessKind.WRITE
            used = _Kind.READ if access is AccessKind.READ else _Kind.OTHER
            self._kinds[name] = _Kind.NO_USE if is_unused else used
        return self._kinds[name]

    def _is_lds(self, read: ir.Operation) -> bool:
        """Returns whether a read has an operand in workgroup memory."""
        for operand in read.operands:
            if operand not in self._buffers:
                self._buffers[operand] = is_workgroup_memref(operand.type)
            if self._buffers[operand]:
                return True
        return False

    def _lives(
        self, value: ir.Value, numbers: Sequence[int], reloaded: Collection[int]
    ) -> Iterator[_Span]:
        """Yields the points from and up to which the elements of a value live that are used.

        What lives within the regions of one operation is left out.
        """
        numbers = [number for number in numbers if self._first[number] >= 0]
        if not numbers:
            return
        first, last = self._first, self._last
        place = self._places.get(value)
        if value in self._read and place is not None:
            point = 2 * min(first[number] for number in numbers)
            yield from ((point, point) for _ in numbers)
        elif place is not None:
            yield from ((2 * place + 1, 2 * last[number]) for number in numbers)
        elif value in self._carried:
            yield from ((0, 2 * last[number]) for number in numbers)
        else:
            is_nested = self._is_nested(value)
            for number in numbers:
                if number in reloaded:
                    yield 2 * first[number], 2 * first[number]
                elif not is_nested:
                    yield 0, 2 * len(self._body) - 1

    def _is_nested(self, value: ir.Value) -> bool:
        owner = value.owner
        around = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
        return is_inside(around, self._loop)

    def _definition(self, value: ir.Value) -> ir.Operation | None:
        place = self._places.get(value)
        return defining_operation(value) if place is None else self._body[place]

    def _form(self, value: ir.Value) -> _Form:
        kind = value.type
        if kind not in self._forms:
            self._forms[kind] = element_count(kind), _element_bits(kind)
        return self._forms[kind]

    def _elements_of(self, value: ir.Value) -> Sequence[int]:
        """Returns the elements, behind moves, that a vector or float consists of."""
        if value not in self._of_values:
            _, bits = self._form(value)
            self._of_values[value] = self._origins_of(value) if bits else ()
        return self._of_values[value]

    def _origins_of(self, value: ir.Value) -> Sequence[int]:
        if value not in self._origins:
            compute_after_operands(value, self._origins, self._moved_from, self._behind_moves)
        return self._origins[value]

    def _moved_from(self, value: ir.Value) -> Sequence[ir.Value]:
        """Returns the operands of the move that has made a value; none where no move has."""
        operation = self._definition(value)
        if operation is None or not is_move(operation):
            return ()
        return list(operation.operands)

    def _behind_moves(self, value: ir.Value, operands: Sequence[ir.Value]) -> Sequence[int]:
        """Returns the elements of a value, of which those of what a move makes it of are known."""
        operation = self._definition(value)
        if operation is not None and operands:
            self._move(operation)
            return self._origins[value]
        if operation is not None and operation.name == _CONSTANT:
            self._constants.add(value)
        return self._new(value)

    def _move(self, operation: ir.Operation) -> None:
        """Finds the elements of what an operation moves."""
        for result, move in zip(operation.results, moves_of(operation) or (), strict=True):
            befores = [*filter(None, map(move, range(self._form(result)[0])))]
            self._origins[result] = [
                self._origins_of(before)[number] for before, number in befores
            ] or self._new(result)

    def _new(self, value: ir.Value) -> Sequence[int]:
        """Returns the elements of a value that no move has made, or one from a dynamic place.

        Of the latter a move tells none.
        """
        begin, (count, _) = len(self._first), self._form(value)
        self._begins[value] = begin
        self._first += [-1] * count
        self._last += [-1] * count
        return range(begin, begin + count)


class _Kind(Enum):
    """What operations with a name do with the vectors that they are given."""

    NO_USE = auto()
    """They move elements, or store them."""
    READ = auto()
    """They read memory."""
    OTHER = auto()


def _element_bits(kind: ir.Type) -> int:
    """Returns the bits of a float, or of an element of a vector; 0 for other types."""
    if isinstance(kind, ir.VectorType):
        return 0 if kind.scalable else element_bits(kind.element_type) or 0
    return kind.width if isinstance(kind, ir.FloatType) else 0


def _address(read: ir.Operation) -> frozenset[ir.Value]:
    """Returns what the indices of a read are sums of, without constants."""

    def terms(value: ir.Value) -> Sequence[ir.Value]:
        total = defining_operation(value)
        return () if total is None or total.name != "arith.addi" else total.operands

    indices = (each for each in read.operands if isinstance(each.type, ir.IndexType))
    found = reached_from(indices, terms)
    return frozenset(each for each in found if not terms(each) and constant_value(each) is None)
