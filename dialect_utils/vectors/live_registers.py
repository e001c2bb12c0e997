# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many registers a lane needs for the values of a loop.

The elements of vectors and the floats that live at one place of the loop's body are counted, each
with its bits:

* What the loop carries, and what it takes from before it, lives through the whole trip; the
  former only until its last use, behind which the next trip's value is computed.
* What a trip computes lives from its operation to its last use. Being stored is no use: the
  backend can store what a trip copies as soon as it is loaded, one piece after the other.
* What a trip reads from the LDS is counted where it is used first: the backend moves reads down to
  their uses, and brings products with the same operand together.

Addresses of LDS reads are counted too, a register for those that differ by constants, which are
parts of the instructions. Operations that only move elements are no instructions
(`element_moves.py`): their results are elements that are counted already. Constants, other indices
and what only nested regions use are not counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import accumulate

from iree.compiler import ir

from ...bank_model.targets import AccessKind
from ..element_types import element_bits
from ..memory.lds_ops import access_row
from ..memory.memref_types import is_workgroup_memref
from ..operations import defining_operation, is_inside, operations_in, operations_of
from .element_moves import Element, Move, element_count, is_move, moves_of

REGISTER_BITS = 32

_CONSTANT = "arith.constant"

_Span = tuple[int, int]
"""The first and the last place, or point, of something."""


def live_registers(
    loop: ir.Operation,
    reloaded: Collection[ir.Value] = (),
    reads: Iterable[ir.Operation] = (),
) -> int:
    """Returns the registers of 32 bits that values fill at the place where a loop needs most.

    Args:
        loop: an `scf.for`.
        reloaded: values from before the loop that are counted as if each trip read them from the
            LDS.
        reads: the operations before the loop that do this.
    """
    trip = _Trip(loop, reloaded)
    changes = [0] * trip.points
    for element in trip.uses:
        span = trip.life(element)
        if span is not None:
            bits = _element_bits(element[0].type)
            changes[span[0]] += bits
            changes[span[1] + 1] -= bits
    addresses = {_address(read) for read in (*trip.reads, *reads)}
    return -(-max(accumulate(changes)) // REGISTER_BITS) + len(addresses)


class _Trip:
    """The operations of a loop's body by their places, and where elements are used there.

    Operands of the operation at place p are alive at point 2 p, and its results at 2 p + 1.
    """

    def __init__(self, loop: ir.Operation, reloaded: Collection[ir.Value]) -> None:
        self.loop = loop
        block = loop.regions[0].blocks[0]
        self.carried = {*block.arguments}
        self.body = operations_of(block)
        self.definitions = {
            result: (operation, place)
            for place, operation in enumerate(self.body)
            for result in operation.results
        }
        self.points = 2 * len(self.body) + 1
        self.origins: dict[ir.Value, list[Element]] = {}
        self.ways: dict[ir.Value, Move | None] = {}
        """For a value the way back from its elements; None where no move has made it."""
        self.constants: set[ir.Value] = set()
        self.uses: dict[Element, _Span] = {}
        self.first_uses: dict[ir.Value, int] = {}
        """Where any element of a value is used first."""
        self.reads: list[ir.Operation] = []
        """The reads of the LDS."""
        self._find_uses()
        self.reloaded = {element for value in reloaded for element in self._elements_of(value)}

    def _find_uses(self) -> None:
        """Finds where elements are first and last used by what does more than move or store."""
        for place, outer in enumerate(self.body):
            for operation in operations_in(outer) if len(outer.regions) else (outer,):
                if is_move(operation):
                    continue
                if _accesses(operation, AccessKind.WRITE):
                    continue
                if _reads_lds(operation):
                    self.reads.append(operation)
                for operand in operation.operands:
                    for element in self._elements_of(operand):
                        first, _ = self.uses.setdefault(element, (place, place))
                        self.uses[element] = (first, place)
                        self.first_uses.setdefault(element[0], place)

    def life(self, element: Element) -> _Span | None:
        """Returns the points from and up to which an element lives.

        Returns None for what lives within the regions of one operation.
        """
        value, _ = element
        first, last = self.uses[element]
        if value in self.definitions:
            operation, place = self.definitions[value]
            if _reads_lds(operation):
                return 2 * self.first_uses[value], 2 * self.first_uses[value]
            return 2 * place + 1, 2 * last
        if value in self.carried:
            return 0, 2 * last
        if element in self.reloaded:
            return 2 * first, 2 * first
        return None if self._is_nested(value) else (0, self.points - 2)

    def _is_nested(self, value: ir.Value) -> bool:
        owner = value.owner
        around = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
        return is_inside(around, self.loop)

    def _definition(self, value: ir.Value) -> ir.Operation | None:
        known = self.definitions.get(value)
        return known[0] if known else defining_operation(value)

    def _elements_of(self, value: ir.Value) -> list[Element]:
        """Returns the elements, behind moves, that a vector or float consists of."""
        if value not in self.origins:
            count = element_count(value.type) if _element_bits(value.type) else 0
            found = (self._origin(value, number) for number in range(count))
            self.origins[value] = [element for element in found if element is not None]
        return self.origins[value]

    def _origin(self, value: ir.Value, number: int) -> Element | None:
        """Returns the element that a move has made `number` of `value`; None for a constant."""
        while True:
            if value not in self.ways:
                self._find_way(value)
            way = self.ways[value]
            before = None if way is None else way(number)
            if way is None or before is None:
                return None if value in self.constants else (value, number)
            value, number = before

    def _find_way(self, value: ir.Value) -> None:
        """Reads the operation of a value, for all of its results."""
        operation = self._definition(value)
        moves = None if operation is None else moves_of(operation)
        if operation is not None and moves is not None:
            results = operation.results if len(moves) > 1 else (value,)
            self.ways.update(zip(results, moves, strict=True))
            return
        self.ways[value] = None
        if operation is not None and operation.name == _CONSTANT:
            self.constants.add(value)


def _element_bits(kind: ir.Type) -> int:
    """Returns the bits of a float, or of an element of a vector; 0 for other types."""
    if isinstance(kind, ir.VectorType):
        return 0 if kind.scalable else element_bits(kind.element_type) or 0
    return kind.width if isinstance(kind, ir.FloatType) else 0


def _accesses(operation: ir.Operation, kind: AccessKind) -> bool:
    row = access_row(operation)
    return row is not None and row.kind is kind


def _reads_lds(operation: ir.Operation) -> bool:
    if not _accesses(operation, AccessKind.READ):
        return False
    return any(is_workgroup_memref(operand.type) for operand in operation.operands)


def _address(read: ir.Operation) -> frozenset[ir.Value]:
    """Returns what the indices of a read are sums of, without constants."""
    found: set[ir.Value] = set()
    pending = [operand for operand in read.operands if isinstance(operand.type, ir.IndexType)]
    while pending:
        value = pending.pop()
        operation = defining_operation(value)
        if operation is not None and operation.name == "arith.addi":
            pending += operation.operands
        elif operation is None or operation.name != _CONSTANT:
            found.add(value)
    return frozenset(found)
