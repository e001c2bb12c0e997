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

from dataclasses import dataclass
from math import prod

from iree.compiler import ir

from ..element_types import element_bits
from ..operations import defining_operation, operations_in
from ..vectors.element_moves import Element, element_before, element_count, is_move
from .memref_types import is_workgroup_memref

MMA = "nvgpu.mma.sync"
REGISTER_BITS = 32

_LOADS = ("vector.load", "memref.load")


@dataclass(frozen=True)
class Fragment:
    """The loads of one operand, in the order of its registers."""

    registers: tuple[tuple[ir.Operation, ...], ...]
    """Per register the load of all its elements, or a load of each of them."""

    @property
    def loads(self) -> tuple[ir.Operation, ...]:
        """Returns the loads of all registers."""
        return tuple(load for register in self.registers for load in register)

    @property
    def is_transposed(self) -> bool:
        """Returns whether every element of a register has a load of its own."""
        return len(self.registers[0]) > 1


def fragments_in(function: ir.Operation) -> list[Fragment]:
    """Returns the operands that LDS loads fill, each once, in the order of their first use."""
    found: dict[tuple[tuple[ir.Operation, ...], ...], Fragment] = {}
    products = operations_in(function, MMA)
    # Many products have an operand in common.
    operands = dict.fromkeys(each for product in products for each in list(product.operands)[:2])
    for registers in map(_registers, operands):
        if registers is not None:
            found.setdefault(registers, Fragment(registers))
    return list(found.values())


def _registers(operand: ir.Value) -> tuple[tuple[ir.Operation, ...], ...] | None:
    """Returns the loads of each register; None where other things fill one, or no LDS loads."""
    kind = ir.VectorType(operand.type)
    bits = element_bits(kind.element_type)
    if bits is None or kind.rank != 2 or bits * kind.shape[1] != REGISTER_BITS:
        return None
    count = kind.shape[1]
    registers: list[tuple[ir.Operation, ...]] = []
    for first in range(0, prod(kind.shape), count):
        register = _register([_loaded(operand, first + k) for k in range(count)])
        if register is None:
            return None
        registers.append(register)
    # What is one kind of load in one register and the other in another is no matrix.
    return tuple(registers) if len({len(register) for register in registers}) == 1 else None


def _register(
    elements: list[tuple[ir.Operation, int] | None],
) -> tuple[ir.Operation, ...] | None:
    loads: list[ir.Operation] = []
    numbers: list[int] = []
    for element in elements:
        if element is None:
            return None
        loads.append(element[0])
        numbers.append(element[1])
    sizes = [element_count(load.results[0].type) for load in loads]
    if len(set(loads)) == 1 and numbers == list(range(len(loads))) == list(range(sizes[0])):
        return (loads[0],)
    apart = len(set(loads)) == len(loads) and len(loads) == 2
    return tuple(loads) if apart and sizes == [1, 1] else None


# Elements of vectors, followed to where they are loaded.


def _loaded(vector: ir.Value, number: int) -> tuple[ir.Operation, int] | None:
    """Returns the LDS load behind an element and the number that it has there."""
    place: Element | None = (vector, number)
    while place is not None:
        value, number = place
        operation = defining_operation(value)
        if operation is None:
            return None
        if operation.name in _LOADS:
            return (operation, number) if is_workgroup_memref(operation.operands[0].type) else None
        step = element_before if is_move(operation) else _through_arithmetic
        place = step(operation, value, number)
    return None


def _through_arithmetic(operation: ir.Operation, value: ir.Value, number: int) -> Element | None:
    """Elementwise arithmetic on one vector that is no constant: its element is as numbered."""
    if operation.name.partition(".")[0] not in ("arith", "math") or len(operation.results) != 1:
        return None
    varying = [each for each in operation.operands if not _is_constant(each)]
    if len(varying) != 1 or element_count(varying[0].type) != element_count(value.type):
        return None
    return varying[0], number


def _is_constant(value: ir.Value) -> bool:
    operation = defining_operation(value)
    return operation is not None and operation.name == "arith.constant"
