# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where in its allocation a memref starts, and how many elements it has, as far as that is known.

Both are congruences: a subview that a loop moves on by 64 elements starts at 0 (mod 64).
"""

from __future__ import annotations

from math import gcd, prod

from iree.compiler import ir

from ..diagnostics import Refusal
from ..dynamic_sizes import DYNAMIC
from ..index.index_bits import Congruence, IndexBits
from ..operations import defining_operation, mixed_operands
from ..swizzle_hint import is_hint
from .flow import ways_to
from .lds_ops import ALLOCATIONS, ASSUME_ALIGNMENT, SUBVIEW, is_view_in_order, view_row
from .memref_types import strides_and_offset, type_of


def start_offsets(value: ir.Value, bits: IndexBits) -> dict[ir.Value, Congruence]:
    """Returns for each root of `value` what is known of the element where `value` starts.

    The element is one of that root. A view adds to the offset of its source; where values meet,
    what holds for all of them remains: a loop that alternates between the elements 0 and 2048
    carries 0 (mod 2048).

    Raises:
        Refusal: the roots are not known.
    """
    sources = ways_to(value)
    starts: dict[ir.Value, dict[ir.Value, Congruence]] = {
        each: {} if found else {each: _ZERO} for each, found in sources.items()
    }
    shifts = {each: _view_shift(each, bits) for each, found in sources.items() if found}
    changed = True
    # A modulus only ever becomes one of its divisors, so this ends.
    while changed:
        changed = False
        for each, found in sources.items():
            for source in found:
                for root, start in starts[source].items():
                    known = starts[each].get(root)
                    moved = start.plus(shifts[each])
                    joined = moved if known is None else known.either(moved)
                    if joined != known:
                        starts[each][root] = joined
                        changed = True
    return starts[value]


def _view_shift(value: ir.Value, bits: IndexBits) -> Congruence:
    """Returns how far behind its source `value` starts, if it is a view; 0 otherwise."""
    view = defining_operation(value)
    row = view_row(view)
    if view is None or row is None or row.same_start:
        return _ZERO
    if view.name != SUBVIEW:
        return _UNKNOWN
    strides, _ = strides_and_offset(type_of(view.operands[0]))
    if strides is None:
        return _UNKNOWN
    total = _ZERO
    for number, stride in zip(mixed_operands(view, "static_offsets", 1), strides, strict=True):
        known = _congruence(number, bits)
        if stride == DYNAMIC:
            total = total.plus(_ZERO if known == _ZERO else _UNKNOWN)
        else:
            total = total.plus(known.times(stride))
    return total


def length_of(value: ir.Value, bits: IndexBits) -> Congruence:
    """Returns what is known of how many elements a memref has, also where its type does not say it.

    A `memref.cast` of 1024 elements to `memref<?xf16>` has 1024, a `memref.subview` of %rows * 64
    elements has 0 (mod 64).
    """
    kind = type_of(value)
    if kind.has_static_shape:
        return Congruence(0, prod(kind.shape))
    operation = defining_operation(value)
    if operation is None:
        return _UNKNOWN
    if operation.name == SUBVIEW:
        sizes = mixed_operands(operation, "static_sizes", 2)
    elif operation.name in ALLOCATIONS:
        dynamic = iter(operation.operands)
        sizes = [next(dynamic) if size == DYNAMIC else size for size in kind.shape]
    elif is_view_in_order(operation) or is_hint(operation):
        source = operation.operands[0]
        return length_of(source, bits) if isinstance(source.type, ir.MemRefType) else _UNKNOWN
    else:
        return _UNKNOWN
    known = [_congruence(size, bits) for size in sizes]
    # Only what divides a product is kept of it.
    exact = all(each.modulus == 0 for each in known)
    total = prod(each.divisor for each in known)
    return Congruence(0, total) if exact or total == 0 else Congruence(total, 0)


def begins_at_multiple_of(value: ir.Value, bits: IndexBits) -> int:
    """Returns a number that divides the element of each root at which `value` starts.

    The number is 0, which every number divides, where `value` starts with its roots. It is 1 where
    nothing is known.
    """
    try:
        starts = start_offsets(value, bits)
    except Refusal:
        return 1
    return gcd(*(start.divisor for start in starts.values()))


_ZERO = Congruence(0, 0)
_UNKNOWN = Congruence(1, 0)


def _congruence(number: ir.Value | int, bits: IndexBits) -> Congruence:
    return Congruence(0, number) if isinstance(number, int) else bits.of(number).congruence


BUFFER_CAST = "amdgpu.fat_raw_buffer_cast"


def start_alignment(buffer: ir.Value) -> int:
    """Returns bytes of which the address of element 0 of a buffer is a multiple."""
    operation = defining_operation(buffer)
    if operation is None:
        return 1
    if operation.name == ASSUME_ALIGNMENT:
        return ir.IntegerAttr(operation.attributes["alignment"]).value
    if is_view_in_order(operation) or operation.name == BUFFER_CAST:
        return start_alignment(operation.operands[0])
    return 1
