# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which digits of a function's vector indices may be renamed together.

Nothing in a tile's computation cares which index of a dimension is called by which name, as long as
all vectors agree. To know who has to agree, the index of every dimension of every vector is cut
into digits (`bank_model/layout_digits.py`), and digits that are the same number are united:

    %b = vector.transpose %a, [1, 0]       the digits of %a's dimension 0 are those of %b's 1
    %c = vector.shape_cast %b : 64x8 to 4x16x8       64 = 4 * 16: digits 4, 5 and digits 0 to 3
    %d = arith.addf %c, %e                 the digits of %c, %d and %e are the same

An operation gives the digits *roles*: a reduction keeps some and sums over others, a contraction
has digits of rows, of columns, and of the contracted index, a transfer has digits for each
dimension of the memory. Exchanging two digits everywhere changes nothing for an operation in which
they have the same role. So digits with the same roles in all operations form a *class*, and every
permutation of a class is a renaming that changes no result: only the addresses of the transfers
change.

What an operation does that is not known here may depend on positions. Its digits are *pinned*, with
the operation as the reason. A permutation of digits that are reduced or contracted changes the
order of a sum: the result is right to rounding, but not the same bits.

Example, an attention's second contraction `P[m, k] * V[k, n]`: V is read from memory with the
digits of n as columns; n is never reduced; the output has it as columns. So all digits of n are one
class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from enum import Enum
from itertools import permutations
from math import prod

from iree.compiler import ir

from ...bank_model.layout_digits import digits_of
from ...bank_model.lds_rules import AccessKind
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.indexing_maps import maps_of
from ...dialect_utils.loops import FOR, IF, YIELD, carried_values
from ...dialect_utils.memory.lds_ops import is_in_bounds, is_masked
from ...dialect_utils.memory.staged_tensors import transfer_dims
from ...dialect_utils.memory.vector_layouts import is_elementwise, op_name
from ...dialect_utils.operations import (
    TRANSFER_READ,
    TRANSFER_WRITE,
    defining_operation,
    operations_in,
    terminator,
)

DigitNames = tuple[tuple[int, ...], ...]
"""The digits of a vector by their names: per dimension, from the lowest digit."""


_Rows = list[list[int]]
"""The digits of each dimension of a vector, or of each iterator of a contraction."""


class ClassKind(Enum):
    """What a function does with the digits of a class."""

    FREE = "free"
    """They are never summed over: every renaming is exact."""
    REDUCED = "reduced"
    CONTRACTED = "contracted"


class NamedTransfer(NamedTuple):
    """A transfer between a vector and memory.

    Attributes:
        names: the digits of the vector.
        memory_dims: the dimension of the memory that each dimension of the vector runs along; None
            for one that is broadcast.
    """

    op: ir.Operation
    kind: AccessKind
    names: DigitNames
    memory_dims: tuple[int | None, ...]

    @property
    def vector(self) -> ir.Value:
        """Returns the vector that is read or written."""
        return self.op.results[0] if self.kind is AccessKind.READ else self.op.operands[0]

    @property
    def memory(self) -> ir.Value:
        """Returns the tensor or memref that is read or written."""
        return self.op.operands[0 if self.kind is AccessKind.READ else 1]


class DimensionClass(NamedTuple):
    """Digits that may be permuted among each other.

    Attributes:
        digits: their names; only digits of base 2 are worth renaming.
        pinned: why they must not be renamed, if so.
    """

    digits: frozenset[int]
    kind: ClassKind
    pinned: Refusal | None = None


class DimensionClasses(NamedTuple):
    """The classes of a function, and the transfers in which they occur."""

    classes: tuple[DimensionClass, ...]
    transfers: tuple[NamedTransfer, ...]

    def transfers_of(self, each: DimensionClass) -> tuple[NamedTransfer, ...]:
        """Returns the transfers whose vectors have digits of the class."""
        return tuple(
            transfer
            for transfer in self.transfers
            if any(name in each.digits for row in transfer.names for name in row)
        )


def dimension_classes(function: ir.Operation | ir.OpView) -> DimensionClasses:
    """Finds the classes of all vectors in `function`."""
    walk = _Walk()
    for op in operations_in(function):
        walk.visit(op)
    return walk.result()


@dataclass
class _Digits:
    """The digits of all vectors, united where they are the same number."""

    of: dict[ir.Value, list[list[int]]] = field(default_factory=dict)
    parent: list[int] = field(default_factory=list)
    base: list[int] = field(default_factory=list)

    def vector(self, value: ir.Value) -> list[list[int]]:
        """Returns the digits of a vector, made when it is first seen.

        A vector of equal elements is the same under every renaming: each use has its own digits.
        """
        if value not in self.of:
            shape = ir.VectorType(value.type).shape
            digits = [[self._new(base) for base in digits_of(size)] for size in shape]
            if has_equal_elements(value):
                return digits
            self.of[value] = digits
        return self.of[value]

    def _new(self, base: int) -> int:
        self.parent.append(len(self.parent))
        self.base.append(base)
        return len(self.parent) - 1

    def find(self, digit: int) -> int:
        """Returns the name that all digits united with `digit` have."""
        while self.parent[digit] != digit:
            self.parent[digit] = self.parent[self.parent[digit]]
            digit = self.parent[digit]
        return digit

    def unite(self, ones: Sequence[int], others: Sequence[int]) -> bool:
        """Unites digits in order; returns False, with nothing done, if their bases differ."""
        if [self.base[d] for d in ones] != [self.base[d] for d in others]:
            return False
        for one, other in zip(ones, others, strict=True):
            self.parent[self.find(one)] = self.find(other)
        return True


class _Walk:
    """One pass over the operations of a function."""

    def __init__(self) -> None:
        self.digits = _Digits()
        self.roles: list[tuple[str, list[int]]] = []
        self.summed: list[tuple[ClassKind, list[int]]] = []
        self.pins: list[tuple[list[int], Refusal]] = []
        self.transfers: list[NamedTransfer] = []
        self.visited = 0

    def visit(self, op: ir.Operation) -> None:
        """Unites, and gives roles to, the digits of the operands and results of `op`."""
        vectors = [v for v in (*op.operands, *op.results) if _is_vector(v)]
        self.visited += 1
        name = op_name(op)
        handler = _HANDLERS.get(name)
        if any(ir.VectorType(vector.type).scalable for vector in vectors):
            handler = None
        elif handler is None and is_elementwise(op):
            handler = _Walk._elementwise
        if handler is None:
            reason = f"{name} may depend on positions" if vectors else None
        else:
            reason = handler(self, op)
        parent = op.parent
        if parent is not None and op_name(parent) not in _KNOWN_PARENTS:
            reason = f"it is inside {op_name(parent)}, which may depend on positions"
        if reason is not None:
            self._pin(vectors, reason, op)
        if name != FOR:
            for region in op.regions:
                for block in region.blocks:
                    arguments = [a for a in block.arguments if _is_vector(a)]
                    self._pin(arguments, f"it is an argument in {op_name(op)}", op)

    def result(self) -> DimensionClasses:
        """Returns the classes of what was visited."""
        find = self.digits.find
        roles: dict[int, set[str]] = {}
        for role, digits in self.roles:
            for digit in digits:
                roles.setdefault(find(digit), set()).add(role)
        kinds: dict[int, ClassKind] = {}
        for kind, digits in self.summed:
            for digit in digits:
                # A contracted digit that is reduced elsewhere is summed over either way.
                kinds.setdefault(find(digit), kind)
        pinned: dict[int, Refusal] = {}
        for digits, refusal in self.pins:
            for digit in digits:
                pinned.setdefault(find(digit), refusal)
        groups: dict[frozenset[str], list[int]] = {}
        for digit in range(len(self.digits.parent)):
            if find(digit) == digit and self.digits.base[digit] == 2:
                groups.setdefault(frozenset(roles.get(digit, ())), []).append(digit)
        classes = tuple(_class_of(group, kinds, pinned) for group in groups.values())
        transfers = tuple(self._named(transfer) for transfer in self.transfers)
        return DimensionClasses(classes, transfers)

    def _named(self, transfer: NamedTransfer) -> NamedTransfer:
        names = tuple(tuple(map(self.digits.find, row)) for row in transfer.names)
        return NamedTransfer(transfer.op, transfer.kind, names, transfer.memory_dims)

    def _pin(self, vectors: Sequence[ir.Value], reason: str, op: ir.Operation) -> None:
        for vector in vectors:
            digits = [d for row in self.digits.vector(vector) for d in row]
            self.pins.append((digits, Refusal(reason, op.location)))

    def _role(self, role: str, digits: Sequence[Sequence[int]]) -> None:
        """Says that exactly these digits play a role in the operation that is visited."""
        self.roles.append(
            (f"{role} in operation {self.visited}", [d for row in digits for d in row])
        )

    def _same(self, one: ir.Value, other: ir.Value) -> bool:
        """Unites two vectors of the same shape, digit by digit."""
        rows = zip(self.digits.vector(one), self.digits.vector(other), strict=False)
        return all(self.digits.unite(a, b) for a, b in rows)

    # One method per kind of operation. Each returns why its vectors must be pinned, if so.

    def _nothing(self, op: ir.Operation) -> str | None:
        return None

    def _constant(self, op: ir.Operation) -> str | None:
        value = op.results[0]
        equal = not _is_vector(value) or has_equal_elements(value)
        return None if equal else "a constant has different elements"

    def _elementwise(self, op: ir.Operation) -> str | None:
        if op_name(op) == "iree_gpu.value_barrier":
            for operand, result in zip(op.operands, op.results, strict=True):
                if _is_vector(operand):
                    self._same(operand, result)
            return None
        first, *others = [v for v in (*op.operands, *op.results) if _is_vector(v)] or [None]
        if first is None:
            return None
        shape = ir.VectorType(first.type).shape
        for other in others:
            if ir.VectorType(other.type).shape != shape:
                return f"{op_name(op)} has vectors of different shapes"
            self._same(first, other)
        return None

    def _transpose(self, op: ir.Operation) -> str | None:
        source = self.digits.vector(op.operands[0])
        result = self.digits.vector(op.results[0])
        for row, dim in zip(
            result, ir.DenseI64ArrayAttr(op.attributes["permutation"]), strict=True
        ):
            self.digits.unite(row, source[dim])
        return None

    def _shape_cast(self, op: ir.Operation) -> str | None:
        source, result = (
            [d for row in reversed(self.digits.vector(v)) for d in row]
            for v in (op.operands[0], op.results[0])
        )
        if not self.digits.unite(source, result):
            return "a shape cast cuts through the digits of an index"
        return None

    def _broadcast(self, op: ir.Operation) -> str | None:
        if not _is_vector(op.operands[0]):
            return None
        source = self.digits.vector(op.operands[0])
        result = self.digits.vector(op.results[0])
        kept: list[list[int]] = []
        new = result[: len(result) - len(source)]
        for row, wider in zip(source, result[len(new) :], strict=True):
            if len(row) == len(wider) and self.digits.unite(row, wider):
                kept.append(wider)
            else:
                new.append(wider)
        self._role("kept", kept)
        self._role("repeated", new)
        return None

    def _multi_reduction(self, op: ir.Operation) -> str | None:
        dropped = set(ir.DenseI64ArrayAttr(op.attributes["reduction_dims"]))
        rows = self.digits.vector(op.operands[0])
        kept = [row for dim, row in enumerate(rows) if dim not in dropped]
        gone = [row for dim, row in enumerate(rows) if dim in dropped]
        for value in (op.operands[1], op.results[0]):
            if _is_vector(value):
                for row, other in zip(kept, self.digits.vector(value), strict=True):
                    self.digits.unite(row, other)
        self._role("kept", kept)
        self._role("reduced", gone)
        self.summed.append((ClassKind.REDUCED, [d for row in gone for d in row]))
        return None

    def _contract(self, op: ir.Operation) -> str | None:
        if len(op.operands) != 3 or not _is_vector(op.operands[2]):
            return "a contraction has masks or a scalar result"
        self._same(op.operands[2], op.results[0])
        rows = [self.digits.vector(v) for v in (*list(op.operands)[:2], op.results[0])]
        return self._contraction(op, rows)

    def _inner_tiled(self, op: ir.Operation) -> str | None:
        segments = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
        if list(segments) != [2, 1] or len(op.results) != 1:
            return f"{op_name(op)} does not contract two operands"
        self._same(op.operands[2], op.results[0])
        maps = [[str(result) for result in each.results] for each in maps_of(op.operation)]
        values = (*list(op.operands)[:2], op.results[0])
        ways = [self._untiled(value, len(own)) for value, own in zip(values, maps, strict=True)]
        rows = self._agreed(maps, ways)
        if rows is None:
            return f"{op_name(op)} has an operand whose tiles are of unknown origin"
        return self._contraction(op, rows)

    def _agreed(
        self, maps: Sequence[Sequence[str]], ways: Sequence[Sequence[_Rows]]
    ) -> list[_Rows] | None:
        """Returns the only way of each operand in which iterators have the same size everywhere.

        Args:
            maps: the iterators of each operand.
            ways: the digits that the iterators of each operand may have.
        """
        left = [list(each) for each in ways]
        sizes: dict[str, int] = {}
        for _ in left:
            for number, iterators in enumerate(maps):
                left[number] = [
                    rows
                    for rows in left[number]
                    if all(
                        sizes.get(iterator, self._size(row)) == self._size(row)
                        for iterator, row in zip(iterators, rows, strict=True)
                    )
                ]
                if len(left[number]) == 1:
                    sizes |= zip(iterators, map(self._size, left[number][0]), strict=True)
        return [rows for (rows,) in left] if all(len(each) == 1 for each in left) else None

    def _size(self, row: Sequence[int]) -> int:
        return prod(self.digits.base[digit] for digit in row)

    def _untiled(self, value: ir.Value, iterators: int) -> list[_Rows]:
        """Returns the digits that each iterator of an operand of `inner_tiled` may have.

        Which dimension inside a tile belongs to which iterator is no part of what an opaque
        `inner_tiled` says. It follows from the vector that was cut into tiles:

            %c = vector.shape_cast %v : vector<64x128xf16> to vector<4x16x4x32xf16>
            %t = vector.transpose %c, [0, 2, 3, 1]       4x4 tiles of 32x16
        """
        whole = self._whole(value, iterators)
        if whole is None:
            return []
        dims = self.digits.vector(whole)
        owner = {self.digits.find(d): dim for dim, row in enumerate(dims) for d in row}
        places: list[int | None] = []
        for row in self.digits.vector(value)[:iterators]:
            owners = {owner.get(self.digits.find(d), -1) for d in row}
            if len(owners) > 1 or -1 in owners:
                return []
            places.append(next(iter(owners), None))
        # A single tile has no digits: its iterator is one of those that are left.
        left = [dim for dim in range(len(dims)) if dim not in places]
        if places.count(None) != len(left):
            return []
        ways: list[_Rows] = []
        for order in permutations(left):
            others = iter(order)
            way = [dims[next(others) if place is None else place] for place in places]
            if way not in ways:
                ways.append(way)
        return ways

    def _whole(self, value: ir.Value, rank: int) -> ir.Value | None:
        """Returns the vector of `rank` dimensions that is cut into `value`, or put together of it.

        Only transposes and shape casts may lie between them.
        """
        current: ir.Value | None = value
        while current is not None:
            if ir.VectorType(current.type).rank == rank:
                return current
            op = defining_operation(current)
            current = op.operands[0] if op is not None and op_name(op) in _RESHAPES else None
        current = value
        while current is not None:
            if ir.VectorType(current.type).rank == rank:
                return current
            uses = [use.owner.operation for use in current.uses]
            op = next((user for user in uses if op_name(user) in _RESHAPES), None)
            if op is not None:
                # The uses come later in the text; to unite their digits twice changes nothing.
                _RESHAPES[op_name(op)](self, op)
            current = None if op is None else op.results[0]
        return None

    def _contraction(self, op: ir.Operation, rows: Sequence[Sequence[Sequence[int]]]) -> str | None:
        """Unites the digits of a contraction's iterators.

        Args:
            rows: for each operand and each result of its indexing map, the iterator's digits.
        """
        iterators: dict[int, list[tuple[int, Sequence[int]]]] = {}
        for number, affine_map in enumerate(maps_of(op.operation)):
            for result, row in zip(affine_map.results, rows[number], strict=True):
                if not isinstance(result, ir.AffineDimExpr):
                    return f"{op_name(op)} has an operand that is not indexed by iterators alone"
                iterators.setdefault(result.position, []).append((number, row))
        for position, uses in iterators.items():
            first = uses[0][1]
            if not all(self.digits.unite(first, other) for _, other in uses[1:]):
                return f"{op_name(op)} has operands whose sizes differ"
            self._role(f"iterator {position}", [first])
            if 2 not in {number for number, _ in uses}:
                self.summed.append((ClassKind.CONTRACTED, list(first)))
        return None

    def _for(self, op: ir.Operation) -> str | None:
        for carried in carried_values(op):
            if _is_vector(carried.result):
                for value in (carried.argument, carried.yielded, carried.initial):
                    self._same(carried.result, value)
        return None

    def _if(self, op: ir.Operation) -> str | None:
        for region in op.regions:
            if len(region.blocks):
                for result, value in zip(op.results, terminator(region).operands, strict=True):
                    if _is_vector(result):
                        self._same(result, value)
        return None

    def _yield(self, op: ir.Operation) -> str | None:
        parent = op.parent
        if parent is not None and op_name(parent) in (FOR, IF):
            return None
        return "it is yielded to an operation that may depend on positions"

    def _transfer(self, op: ir.Operation) -> str | None:
        kind = AccessKind.READ if op_name(op) == TRANSFER_READ else AccessKind.WRITE
        if is_masked(op):
            return "a transfer is masked"
        if not is_in_bounds(op):
            return "a transfer may leave its memory"
        dims = transfer_dims(op)
        if dims is None:
            return f"a transfer has the permutation map {op.attributes['permutation_map']}"
        transfer = NamedTransfer(op, kind, (), tuple(dims))
        rows = self.digits.vector(transfer.vector)
        names = tuple(map(tuple, rows))
        self.transfers.append(NamedTransfer(op, kind, names, tuple(dims)))
        for dim, row in enumerate(rows):
            self._role(f"dimension {dim}", [row])
        return None


def _class_of(
    digits: Sequence[int], kinds: dict[int, ClassKind], pinned: dict[int, Refusal]
) -> DimensionClass:
    kind = next((kinds[digit] for digit in digits if digit in kinds), ClassKind.FREE)
    why = next((pinned[digit] for digit in digits if digit in pinned), None)
    return DimensionClass(frozenset(digits), kind, why)


def has_equal_elements(value: ir.Value) -> bool:
    """Returns whether a vector is a constant all of whose elements are equal, or undefined."""
    op = defining_operation(value)
    if op is None or op_name(op) != "arith.constant":
        return op is not None and op_name(op) == "ub.poison"
    elements = op.attributes["value"]
    return isinstance(elements, ir.DenseElementsAttr) and elements.is_splat


def _is_vector(value: ir.Value) -> bool:
    return isinstance(value.type, ir.VectorType)


_RESHAPES: dict[str, Callable[[_Walk, ir.Operation], str | None]] = {
    "vector.transpose": _Walk._transpose,
    "vector.shape_cast": _Walk._shape_cast,
}
_KNOWN_PARENTS = frozenset({"func.func", FOR, IF, "scf.forall"})
"""Operations whose regions run what is in them as it stands there."""

_HANDLERS: dict[str, Callable[[_Walk, ir.Operation], str | None]] = {
    "arith.constant": _Walk._constant,
    "ub.poison": _Walk._nothing,
    "iree_vector_ext.to_layout": _Walk._elementwise,
    "vector.broadcast": _Walk._broadcast,
    **_RESHAPES,
    "vector.multi_reduction": _Walk._multi_reduction,
    "vector.contract": _Walk._contract,
    "iree_codegen.inner_tiled": _Walk._inner_tiled,
    FOR: _Walk._for,
    IF: _Walk._if,
    YIELD: _Walk._yield,
    TRANSFER_READ: _Walk._transfer,
    TRANSFER_WRITE: _Walk._transfer,
}
"""How each operation whose effect on positions is known unites and tells apart digits."""
