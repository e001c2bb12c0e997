# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operations, transposes and copies: which elements each loop moves.

    linalg.generic {indexing_maps = [(d0, d1, d2) -> (d0, d2), (d0, d1, d2) -> (d1, d0, d2)],
                    iterator_types = ["parallel", "parallel", "parallel"]}

reads an operand along `d0` and `d2`, and writes along all loops, so that each element that is read
becomes as many as `d1` has.
"""

from __future__ import annotations

from math import gcd, prod

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.indexing_maps import GENERIC, loops_of, summed_loops
from ...dialect_utils.memory.lds_ops import ASSUME_ALIGNMENT, SUBVIEW, is_view_in_order
from ...dialect_utils.memory.memref_types import strides_and_offset, type_of
from ...dialect_utils.operations import (
    defining_operation,
    has_operation,
    mixed_operands,
    operands_with,
    segments_of,
)
from ..shapes.enlarged_shapes import LOAD, STORE, SUBSPAN

_INDEX = "linalg.index"
_BITS, _BYTES = 8, 16


class MovedTensor(NamedTuple):
    """A tensor that an elementwise operation reads or writes.

    Attributes:
        loops: those that index its dimensions, from the outermost to the innermost.
        size: the bytes of an element.
        aligned: a power of two elements. Rows that are read or written begin at multiples of it.
    """

    loops: tuple[int, ...]
    size: int
    aligned: int


class Elements(NamedTuple):
    """An operation whose loops are all parallel.

    Attributes:
        extents: how long each loop is.
        reads: the tensors that it reads.
        writes: those that it writes.
        by_index: whether elements depend on where they are, too.
    """

    extents: tuple[int, ...]
    reads: tuple[MovedTensor, ...]
    writes: tuple[MovedTensor, ...]
    by_index: bool

    def innermost(self, tensor: MovedTensor) -> int | None:
        """Returns the loop along which a tensor's elements are neighbours; None for one element."""
        return next((loop for loop in reversed(tensor.loops) if self.extents[loop] > 1), None)

    def bytes_of(self, tensor: MovedTensor) -> int:
        """Returns how many bytes a tensor has."""
        return tensor.size * prod(self.extents[loop] for loop in tensor.loops)


def elements_of(operation: ir.Operation) -> Elements:
    """Returns the loops and tensors of an elementwise operation on tensors or buffers.

    Raises:
        Refusal: it is none, or its sizes are not known.
    """
    if operation.name != GENERIC or summed_loops(operation):
        raise Refusal("its elements are not computed one by one")
    extents: dict[int, int] = {}
    reads: list[MovedTensor] = []
    writes: list[MovedTensor] = []
    inputs = len(segments_of(operation)[0])
    results = [*operation.results] or list(operation.operands)[inputs:]
    values = [*list(operation.operands)[:inputs], *results]
    for number, (value, loops) in enumerate(zip(values, loops_of(operation), strict=True)):
        if not isinstance(value.type, ir.ShapedType):
            continue  # A number is in a register.
        kind = ir.ShapedType(value.type)
        if not kind.has_rank or DYNAMIC in kind.shape:
            raise Refusal("its sizes are not all known")
        bits = element_bits(kind.element_type)
        if bits is None or bits % _BITS:
            raise Refusal(f"its elements are {kind.element_type}")
        extents |= zip(loops, kind.shape, strict=True)
        moved = MovedTensor(loops, bits // _BITS, aligned_elements(value, bits // _BITS))
        (reads if number < inputs else writes).append(moved)
    if {*extents} != {*range(len(extents))}:
        raise Refusal("the length of a loop is not known")
    sizes = tuple(extents[each] for each in range(len(extents)))
    return Elements(sizes, (*reads,), (*writes,), has_operation(operation, _INDEX))


def aligned_elements(value: ir.Value, size: int) -> int:
    """Returns of how many elements the start of each row of a tensor or a buffer is a multiple.

    It is the least of all buffers that a tensor is loaded from and stored to, and at most as many
    as have 16 bytes.
    """
    found = _BYTES // size
    for buffer in buffers_of(value):
        strides, _ = strides_and_offset(type_of(buffer))
        if strides is None or DYNAMIC in strides:
            return 1
        sizes = zip(type_of(buffer).shape, strides, strict=True)
        *outer, inner = [stride for extent, stride in sizes if extent != 1] or [1]
        start = _start(buffer)
        if inner != 1 or start is None:
            return 1
        found = gcd(found, start, *outer)
    return found


def buffers_of(value: ir.Value) -> list[ir.Value]:
    """Returns the buffers that a value is loaded from and stored to, or that it is."""
    if isinstance(value.type, ir.MemRefType):
        return [value]
    stored = [user.operands[1] for user, _ in operands_with(value) if user.name == STORE]
    load = defining_operation(value)
    return stored + ([load.operands[0]] if load is not None and load.name == LOAD else [])


def _start(buffer: ir.Value) -> int | None:
    """Returns how many elements behind an aligned address a buffer starts; None if unknown."""
    start = 0
    while (view := defining_operation(buffer)) is not None and view.name != SUBSPAN:
        if view.name == SUBVIEW:
            offsets = mixed_operands(view, "static_offsets", 1)
            strides, _ = strides_and_offset(type_of(view.operands[0]))
            if strides is None or DYNAMIC in strides:
                return None
            for offset, stride in zip(offsets, strides, strict=True):
                if not isinstance(offset, int):
                    return None
                start += offset * stride
        elif not is_view_in_order(view) and view.name != ASSUME_ALIGNMENT:
            return None
        buffer = view.operands[0]
    if view is None or "alignment" not in view.attributes:
        return None
    return start if ir.IntegerAttr(view.attributes["alignment"]).value % _BYTES == 0 else None
