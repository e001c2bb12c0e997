# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""States how the loads and stores of loops along rows are aligned.

What is computed of a row that is longer than a step is an `scf.forall`, whose lanes have several
vectors a step:

    scf.forall (%i) = (0) to (81920) step (40960) {
      %x = vector.load %row[%o] : memref<81920xf16>, vector<8xf16>
      %y = vector.load %row[%o + 256] alignment = 16 : ...            <- here

The backend proves the first vector aligned, and gives up a step of arithmetic before it has proved
the others: each of their elements was a load and a store of its own. Of loops that carry a sum it
proves all.

Runs behind the passes that decide on the steps of a loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.index.index_ops import FORALL
from ...dialect_utils.memory.buffer_starts import start_alignment
from ...dialect_utils.memory.memref_types import static_strides, type_of
from ...dialect_utils.operations import has_operation, operations_in
from ...passes.base import FunctionPass, PassContext

_LOAD, _STORE = "vector.load", "vector.store"
_ALIGNMENT = "alignment"
_BYTE = 8


class AlignRows(FunctionPass):
    """States the alignment of vector loads and stores in loops along rows where it is known.

    What was stated before stays if it is more.
    """

    name: ClassVar[str] = "bankwise-align-rows"
    summary: ClassVar[str] = "state how vector accesses of loops along rows are aligned"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has a loop that carries nothing from step to step."""
        return has_operation(function, FORALL)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Adds `alignment` attributes; never fails."""
        function = function.operation
        bits = IndexBits(function)
        for loop in operations_in(function, FORALL):
            # What becomes workgroups or lanes is no loop of steps.
            if "mapping" in loop.attributes:
                continue
            for access in _accesses(loop):
                _state(access, bits)


class _Moved(NamedTuple):
    """A load or store of a vector."""

    operation: ir.Operation
    vector: ir.VectorType
    buffer: ir.Value
    indices: tuple[ir.Value, ...]


def _accesses(loop: ir.Operation) -> Iterator[_Moved]:
    for each in operations_in(loop, _LOAD, _STORE):
        stored = int(each.name == _STORE)
        moved = each.operands[0] if stored else each.results[0]
        buffer, *indices = list(each.operands)[stored:]
        yield _Moved(each, ir.VectorType(moved.type), buffer, tuple(indices))


def _state(access: _Moved, bits: IndexBits) -> None:
    kind = type_of(access.buffer)
    width, strides = element_bits(kind.element_type), static_strides(kind)
    if width is None or width % _BYTE or strides is None or access.vector.rank != 1:
        return
    size = width // _BYTE
    place = bits.multiple(access.indices, strides) * size
    whole = prod(access.vector.shape) * size
    found = gcd(place, start_alignment(access.buffer), whole)
    attributes = access.operation.attributes
    known = ir.IntegerAttr(attributes[_ALIGNMENT]).value if _ALIGNMENT in attributes else size
    if found > known and found & (found - 1) == 0:
        number = ir.IntegerType.get_signless(64, access.operation.context)
        attributes[_ALIGNMENT] = ir.IntegerAttr.get(number, found)
