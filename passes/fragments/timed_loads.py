# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads for the next iteration of a loop that are issued while `wgmma` runs.

    %next = vector.load %global[...]              gpu.barrier
    gpu.barrier                                   wgmma ... commit
    wgmma ... commit                      ->      ld.global, of all that the next iteration stores
    wgmma wait                                    bar.warp.sync
    ...                                           wgmma wait
    scf.yield %next                               ...

What nobody writes is loaded by `ld.global.nc`, which ptxas moves to the end of the iteration, as it
has the fewest registers then; the next one waits for all of it. So global memory is read as if it
might be written, by machine instructions that ptxas does not move behind a barrier of a warp. In
front of the other barrier, all warps would issue their loads before one multiplies, and the fence
there may wait for loads. f16 16x1024x75 on an H200, 128 rows and 64 keys a step: 49.1 us by
`ld.global.nc`, 37.4 us by `ld.global` in front of the barrier, and 37.2 us behind it.
"""

from __future__ import annotations

from collections.abc import Iterator

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.loops import IF, YIELD
from ...dialect_utils.memory.lds_ops import BARRIER, promised_alignment
from ...dialect_utils.memory.memref_types import (
    is_contiguous,
    is_workgroup_memref,
    strides_and_offset,
    whole_element_bits,
)
from ...dialect_utils.memory.store_free_segments import leaves_memory_alone
from ...dialect_utils.operations import operands_with, operations_in, operations_of
from .live_registers import REGISTER_BITS

_LOAD, _STORE = "vector.load", "vector.store"
_VECTORS = {1: "", 2: ".v2", 4: ".v4"}
"""How PTX spells a load of so many registers."""
_CONSTRAINTS = {16: "=h", 32: "=r"}
_GLOBAL_LOAD = (
    "{{ .reg .u64 at; cvta.to.global.u64 at, {address}; "
    "ld.global{vector}.b{bits} {{{results}}}, [at]; }}"
)
_STAY = "bar.warp.sync -1;"
"""Loads of what may be written are not moved behind it."""


def timed_loads(first: ir.Operation) -> list[ir.Operation]:
    """Rewrites the loads for the next iteration in front of the barrier that precedes an operation.

    Returns:
        What they have become, which may be moved behind the barrier in this order.
    """
    made: list[ir.Operation] = []
    for load in list(_loads_before(first)):
        made += _rewritten(load)
    if made:
        Builder.before(first).assembly(_STAY)
        block = operations_of(first.block)
        made.append(block[block.index(first) - 1])
    return made


def _loads_before(first: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the loads between the last two barriers that the end of the block alone uses."""
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


def _rewritten(load: ir.Operation) -> list[ir.Operation]:
    """Returns the operations that take the place of a load; none where it stays.

    It does where it is of another size than registers have, or of less alignment.
    """
    memory, *indices = load.operands
    kind, buffer = ir.VectorType(load.results[0].type), ir.MemRefType(memory.type)
    size = whole_element_bits(kind) or 0
    words, bits = max(1, size // REGISTER_BITS), min(size, REGISTER_BITS)
    element_bytes = (element_bits(kind.element_type) or 0) // 8
    if (
        (words not in _VECTORS or bits not in _CONSTRAINTS or words * bits != size)
        or 8 * (promised_alignment(load) or element_bytes) % size
        or not (buffer.has_static_shape and is_contiguous(buffer))
        or strides_and_offset(buffer)[1] != 0
    ):
        return []
    at = Builder.before(load)
    begin = len(operations_of(load.block)), operations_of(load.block).index(load)
    place = at.linearize(indices, buffer.shape) if len(indices) > 1 else indices[0]
    address = at.addi(at.address(memory), at.muli(place, at.index(element_bytes)))
    text = _GLOBAL_LOAD.format(
        vector=_VECTORS[words],
        bits=bits,
        results=", ".join(f"${number}" for number in range(words)),
        address=f"${words}",
    )
    constraints = [*[_CONSTRAINTS[bits]] * words, "l"]
    kinds = [at.integer_type(bits)] * words
    made = at.assembly(text, [at.index_cast(address, 64)], constraints, kinds)
    value = at.bitcast(at.from_elements(made, [words]), kind.shape, kind.element_type)
    load.results[0].replace_all_uses_with(value)
    block = operations_of(load.block)
    before, first = begin
    load_place = first + len(block) - before
    load.erase()
    return block[first:load_place]
