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
from ...dialect_utils.element_moves import Element, Move, element_count, is_move, moves_of
from ...dialect_utils.element_types import element_bits
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
        self._numbers: dict[Element, int] = {}
        """The numbers of the elements, in the order in which they are met."""
        self._of_values: dict[ir.Value, list[int]] = {}
        """For a value the elements, behind moves, that it consists of."""
        self._first: list[int] = []
        """The place of the first use of each element, and below of the last one."""
        self._last: list[int] = []
        self._ways: dict[ir.Value, Move | None] = {}
        """For a value the way back from its elements; None where no move has made it."""
        self._constants: set[ir.Value] = set()
        self._bits: dict[ir.Type, int] = {}
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
        used: dict[ir.Value, list[int]] = {}
        for (value, _), number in self._numbers.items():
            used.setdefault(value, []).append(number)
        again = {number for value in reloaded for number in self._elements_of(value)}
        for value, numbers in used.items():
            bits = self._bits_of(value.type)
            for start, end in self._lives(value, numbers, again):
                changes[start] += bits
                changes[end + 1] -= bits
        addresses = {_address(read) for read in (*self._reads, *reads)}
        return -(-max(accumulate(changes)) // REGISTER_BITS) + len(addresses)

    def _find_uses(self) -> None:
        """Finds where elements are first and last used by what does more than move or store."""
        for place, operation in operations_by_place(self._body):
            kind = self._kind(operation)
            if kind is _Kind.NO_USE:
                continue
            if kind is _Kind.READ and self._is_lds(operation):
                self._reads.append(operation)
                self._read.update(operation.results)
            for operand in operation.operands:
                for number in self._elements_of(operand):
                    self._last[number] = place
                    if self._first[number] < 0:
                        self._first[number] = place

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

    def _bits_of(self, kind: ir.Type) -> int:
        if kind not in self._bits:
            self._bits[kind] = _element_bits(kind)
        return self._bits[kind]

    def _elements_of(self, value: ir.Value) -> list[int]:
        """Returns the elements, behind moves, that a vector or float consists of."""
        if value not in self._of_values:
            kind = value.type
            count = element_count(kind) if self._bits_of(kind) else 0
            found = (self._origin(value, number) for number in range(count))
            self._of_values[value] = [
                self._number(element) for element in found if element is not None
            ]
        return self._of_values[value]

    def _number(self, element: Element) -> int:
        if element not in self._numbers:
            self._numbers[element] = len(self._numbers)
            self._first.append(-1)
            self._last.append(-1)
        return self._numbers[element]

    def _origin(self, value: ir.Value, number: int) -> Element | None:
        """Returns the element that a move has made `number` of `value`; None for a constant."""
        while True:
            if value not in self._ways:
                self._find_way(value)
            way = self._ways[value]
            before = None if way is None else way(number)
            if before is None:
                return None if value in self._constants else (value, number)
            value, number = before

    def _find_way(self, value: ir.Value) -> None:
        """Reads the operation of a value, for all of its results."""
        operation = self._definition(value)
        moves = None if operation is None else moves_of(operation)
        if operation is not None and moves is not None:
            results = operation.results if len(moves) > 1 else (value,)
            self._ways.update(zip(results, moves, strict=True))
            return
        self._ways[value] = None
        if operation is not None and operation.name == _CONSTANT:
            self._constants.add(value)


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
