# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads that ptxas leaves where they stand.

What a kernel does not write is loaded by `ld.global.nc`. ptxas moves such loads across barriers,
and loads for the next iteration of a loop to its end, as it has the fewest registers then: the next
iteration waits for all of them. `ld.global` loads what others might write. ptxas moves it behind no
barrier:

    %next = vector.load %global[...]      ->      ld.global
    gpu.barrier                                   bar.sync
    products                                      products

LLVM has no word for it, so that these loads are machine instructions.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.loops import IF, YIELD
from ...dialect_utils.memory.lds_ops import ASSUME_ALIGNMENT, BARRIER, promised_alignment
from ...dialect_utils.memory.memref_types import (
    is_contiguous,
    is_workgroup_memref,
    strides_and_offset,
    whole_element_bits,
)
from ...dialect_utils.memory.store_free_segments import leaves_memory_alone
from ...dialect_utils.operations import (
    defining_operation,
    operands_with,
    operations_in,
    operations_of,
)
from ..fragments.live_registers import REGISTER_BITS

_LOAD, _STORE = "vector.load", "vector.store"
_VECTORS = {1: "", 2: ".v2", 4: ".v4"}
"""How PTX spells a load of so many registers."""
_CONSTRAINTS = {8: "=h", 16: "=h", 32: "=r"}
_LEAST_REGISTER_BITS = 16
_GLOBAL_LOAD = "ld.global{vector}.b{bits} {{{results}}}, [{address}];"


def loads_for_next(first: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the loads of global memory that the next iteration of a loop uses, and no other one.

    They stand between the last two barriers in front of an operation of the loop.
    """
    block = operations_of(first.block)
    before = block[: block.index(first)]
    barriers = [place for place, each in enumerate(before) if each.name == BARRIER]
    if not barriers:
        return
    *earlier, last = (-1, *barriers)
    region = before[earlier[-1] + 1 : last]
    for place, each in enumerate(region):
        if each.name != _LOAD or is_workgroup_memref(each.operands[0].type):
            continue
        ends = all(user == block[-1] for user, _ in operands_with(each.results[0]))
        if ends and all(map(_leaves_global_memory_alone, region[place:])):
            yield each


def _leaves_global_memory_alone(operation: ir.Operation) -> bool:
    """Returns whether an operation writes nothing but the LDS, as far as that is plain to see."""
    return all(
        each.name in (IF, YIELD)
        or leaves_memory_alone(each)
        or (each.name == _STORE and is_workgroup_memref(each.operands[1].type))
        for each in operations_in(operation)
    )


def plain_load(load: ir.Operation, index_bits: IndexBits | None = None) -> list[ir.Operation]:
    """Returns the operations that take the place of a load; none where it stays.

    It does where it is of another size than registers have, or of less alignment.

    Args:
        index_bits: what is known of the indices, from which the alignment follows, too.
    """
    memory, *indices = load.operands
    kind, buffer = ir.VectorType(load.results[0].type), ir.MemRefType(memory.type)
    size = whole_element_bits(kind) or 0
    words, bits = max(1, size // REGISTER_BITS), min(size, REGISTER_BITS)
    element_bytes = (element_bits(kind.element_type) or 0) // 8
    if (
        (words not in _VECTORS or bits not in _CONSTRAINTS or words * bits != size)
        or 8 * max(promised_alignment(load), _alignment(load, index_bits), element_bytes) % size
        or not (buffer.has_static_shape and is_contiguous(buffer))
        or strides_and_offset(buffer)[1] != 0
    ):
        return []
    at = Builder.before(load)
    before = operations_of(load.block)
    first = before.index(load)
    place = at.linearize(indices, buffer.shape) if len(indices) > 1 else indices[0]
    if words > 1:
        # LLVM finds distances that are constants between such pointers.
        address = at.global_place(memory, place, kind.element_type)
    else:
        # An instruction multiplies a place by the size, and adds the start.
        byte = at.addi(at.address(memory), at.muli(place, at.index(element_bytes)))
        address = at.index_cast(byte, 64)
    text = _GLOBAL_LOAD.format(
        vector=_VECTORS[words],
        bits=bits,
        results=", ".join(f"${number}" for number in range(words)),
        address=f"${words}",
    )
    constraints = [*[_CONSTRAINTS[bits]] * words, "l"]
    kinds = [at.integer_type(max(bits, _LEAST_REGISTER_BITS))] * words
    made = at.assembly(text, [address], constraints, kinds)
    loaded = at.from_elements(made, [words])
    if bits < _LEAST_REGISTER_BITS:
        # The lower byte of a register comes first.
        loaded = at.extract_slice(at.bitcast(loaded, [2], at.integer_type(bits)), 0, 1)
    value = at.bitcast(loaded, kind.shape, kind.element_type)
    load.results[0].replace_all_uses_with(value)
    block = operations_of(load.block)
    load.erase()
    return block[first : first + len(block) - len(before)]


def _alignment(load: ir.Operation, index_bits: IndexBits | None) -> int:
    """Returns bytes of which the address of a load is a multiple; 0 where nothing is known."""
    memory, *indices = load.operands
    view = defining_operation(memory)
    if index_bits is None or view is None or view.name != ASSUME_ALIGNMENT:
        return 0
    buffer = ir.MemRefType(memory.type)
    begins = ir.IntegerAttr(view.attributes["alignment"]).value
    strides, _ = strides_and_offset(buffer)
    if strides is None:
        return 0
    size = (element_bits(buffer.element_type) or 0) // 8
    return gcd(begins, index_bits.multiple(indices, strides) * size)
