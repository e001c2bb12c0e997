# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which loads fill the registers of a warp's matrix multiplications.

An operand of `nvgpu.mma.sync` is a vector with a row per 32-bit register of the lane: 4 registers
of 2 f16 for A in 16x8x16, 2 for B. Two kinds of loads fill a register, once vectors are flat:

    %a = vector.load %m[%r, %k] : ..., vector<2xf16>            neighbours: one load
    %b = vector.load %m[%k, %c] : ..., vector<1xf16>            a column: a load per element,
    %d = vector.load %m[%k1, %c] : ..., vector<1xf16>           with k1 = k + 1

The loads are found behind the operations that only take vectors apart and put them together, and
behind elementwise arithmetic with constants, as the scaling of an attention's queries. What stands
between a load and its register does not matter here: whoever replaces the load keeps its value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ..element_moves import Move, element_count, moves_of
from ..element_types import element_bits
from ..operations import defining_operation
from .lds_ops import LDMATRIX
from .memref_types import is_workgroup_memref

MMA = "nvgpu.mma.sync"
REGISTER_BITS = 32

LOADS = frozenset({"vector.load", "memref.load"})
"""What may load elements of registers."""
_MATRIX_LOADS = frozenset({LDMATRIX})
"""What loads whole registers, each from a matrix."""

Registers = tuple[tuple[ir.Operation, ...], ...]
"""Per register the load of all its elements, or a load of each of them."""


class Fragment(NamedTuple):
    """The loads of one operand, in the order of its registers."""

    registers: Registers

    @property
    def loads(self) -> tuple[ir.Operation, ...]:
        """Returns the loads of all registers."""
        return tuple(load for register in self.registers for load in register)


def fragments_in(contractions: Iterable[ir.Operation]) -> list[Fragment]:
    """Returns the operands that LDS loads fill, each once, in the order of their first use.

    Args:
        contractions: the `nvgpu.mma.sync` of a function, in the order of its text.
    """
    found: dict[Registers, Fragment] = {}
    loaded = _LoadedElements()
    # Many contractions have an operand in common.
    operands = dict.fromkeys(
        each for contraction in contractions for each in list(contraction.operands)[:2]
    )
    for operand in operands:
        registers = _registers(operand, loaded)
        if registers is not None:
            found.setdefault(registers, Fragment(registers))
    return list(found.values())


class LoadedMatrix(NamedTuple):
    """An 8x8 matrix that an `ldmatrix` reads, and the number that it has there."""

    load: ir.Operation
    number: int


@dataclass
class MatrixOperands:
    """Finds the matrices that `ldmatrix` brings to the operands of contractions, as they are."""

    _loaded: _LoadedElements = field(
        default_factory=lambda: _LoadedElements(_MATRIX_LOADS, through_arithmetic=False)
    )

    def of(self, operand: ir.Value) -> tuple[LoadedMatrix, ...] | None:
        """Returns the matrix of each register; None where something else fills one."""
        shape = _register_shape(operand)
        if shape is None:
            return None
        registers, count = shape
        found: list[LoadedMatrix] = []
        for first in range(0, registers * count, count):
            elements = [self._loaded.behind(operand, first + k) for k in range(count)]
            whole = [each for each in elements if each is not None]
            if len(whole) < count:
                return None
            load, at = whole[0]
            if at % count or whole != [(load, at + k) for k in range(count)]:
                return None
            found.append(LoadedMatrix(load.operation, at // count))
        return tuple(found)


def _register_shape(operand: ir.Value) -> tuple[int, int] | None:
    """Returns the registers of an operand and the elements of each; None for another form."""
    kind = ir.VectorType(operand.type)
    bits, shape = element_bits(kind.element_type), kind.shape
    if bits is None or len(shape) != 2 or bits * shape[1] != REGISTER_BITS:
        return None
    return shape[0], shape[1]


def _registers(operand: ir.Value, loaded: _LoadedElements) -> Registers | None:
    """Returns the loads of each register; None where other things fill one, or no LDS loads."""
    shape = _register_shape(operand)
    if shape is None:
        return None
    rows, count = shape
    registers: list[tuple[ir.Operation, ...]] = []
    for first in range(0, rows * count, count):
        register = _register([loaded.behind(operand, first + k) for k in range(count)])
        if register is None:
            return None
        registers.append(register)
    # What is one kind of load in one register and the other in another is no matrix.
    return tuple(registers) if len({len(register) for register in registers}) == 1 else None


class _Load(NamedTuple):
    """A load from the LDS, and how many elements it loads."""

    operation: ir.Operation
    elements: int


def _register(elements: list[tuple[_Load, int] | None]) -> tuple[ir.Operation, ...] | None:
    """Returns the load of a register, or those of its two elements; None for anything else."""
    found = [element for element in elements if element is not None]
    if len(found) < len(elements):
        return None
    loads = [load for load, _ in found]
    numbers = [number for _, number in found]
    in_order = numbers == list(range(len(numbers)))
    if all(load is loads[0] for load in loads) and in_order and loads[0].elements == len(loads):
        return (loads[0].operation,)
    apart = (
        len(loads) == 2 and loads[0] is not loads[1] and loads[0].elements == loads[1].elements == 1
    )
    return tuple(load.operation for load in loads) if apart else None


# Elements of vectors, followed to where they are loaded.


@dataclass
class _LoadedElements:
    """Follows elements to their loads, and reads each operation on the ways once.

    Attributes:
        names: the operations that load.
        through_arithmetic: whether to follow them through elementwise arithmetic with constants.
    """

    names: frozenset[str] = LOADS
    through_arithmetic: bool = True
    _ways: dict[ir.Value, _Load | Move | None] = field(default_factory=dict)
    """For a value its LDS load, or the way back from its elements; None where that ends."""
    _buffers: dict[ir.Value, bool] = field(default_factory=dict)
    """Whether memrefs are in workgroup memory."""
    _counts: dict[ir.Type, int] = field(default_factory=dict)
    """The elements of vector types, and of scalars."""

    def behind(self, vector: ir.Value, number: int) -> tuple[_Load, int] | None:
        """Returns the LDS load behind an element and the number that it has there."""
        value = vector
        while True:
            if value not in self._ways:
                self._read(value)
            way = self._ways[value]
            if way is None:
                return None
            if isinstance(way, _Load):
                return way, number
            before = way(number)
            if before is None:
                return None
            value, number = before

    def _read(self, value: ir.Value) -> None:
        """Reads the operation of a value, for all of its results."""
        operation = defining_operation(value)
        if operation is None:
            self._ways[value] = None
        elif operation.name in self.names:
            is_lds = self._is_lds(operation.operands[0])
            self._ways[value] = _Load(operation, self._count(value.type)) if is_lds else None
        elif (moves := moves_of(operation)) is not None:
            # Most operations have one result.
            results = operation.results if len(moves) > 1 else (value,)
            self._ways.update(zip(results, moves, strict=True))
        else:
            follows = self.through_arithmetic
            self._ways[value] = _through_arithmetic(operation, value) if follows else None

    def _count(self, kind: ir.Type) -> int:
        if kind not in self._counts:
            self._counts[kind] = element_count(kind)
        return self._counts[kind]

    def _is_lds(self, buffer: ir.Value) -> bool:
        if buffer not in self._buffers:
            self._buffers[buffer] = is_workgroup_memref(buffer.type)
        return self._buffers[buffer]


def _through_arithmetic(operation: ir.Operation, value: ir.Value) -> Move | None:
    """Elementwise arithmetic on one vector that is no constant: its element is as numbered."""
    if operation.name.partition(".")[0] not in ("arith", "math") or len(operation.results) != 1:
        return None
    varying = [each for each in operation.operands if not _is_constant(each)]
    if len(varying) != 1 or element_count(varying[0].type) != element_count(value.type):
        return None
    return lambda number: (varying[0], number)


def _is_constant(value: ir.Value) -> bool:
    operation = defining_operation(value)
    return operation is not None and operation.name == "arith.constant"
