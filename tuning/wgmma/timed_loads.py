# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads that are issued while `wgmma` runs.

Those for the next iteration of a loop stand before it:

    %next = vector.load %global[...]              gpu.barrier
    gpu.barrier                                   wgmma ... commit
    wgmma ... commit                      ->      ld.global, of all that the next iteration stores
    wgmma wait                                    bar.warp.sync
    ...                                           wgmma wait
    scf.yield %next                               ...

What nobody writes is loaded by `ld.global.nc`, which ptxas moves to the end of the iteration, as it
has the fewest registers then; the next one waits for all of it. Therefore these loads become
`ld.global`, as of memory that might be written, which ptxas does not move behind `bar.warp.sync`.
They stand behind `gpu.barrier`: in front of it, all warps would issue their loads before one
multiplies, and the fence there may wait for loads. f16 16x1024x75 on an H200, 128 rows and 64 keys
a step, takes 0.76 times as long by `ld.global` as by `ld.global.nc`.

Those of a mask, which is added to the products, stand behind it, and are issued before the wait:

    wgmma ... commit                              wgmma ... commit
    wgmma wait                                    ld.global, of the mask
    %mask = vector.load %global[...]      ->      bar.warp.sync
    ...                                           wgmma wait

To move `ld.global.nc` in front of the wait changes nothing: ptxas moves them back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import takewhile
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

_LOAD, _STORE, _ASSEMBLY = "vector.load", "vector.store", "llvm.inline_asm"
_VECTORS = {1: "", 2: ".v2", 4: ".v4"}
"""How PTX spells a load of so many registers."""
_CONSTRAINTS = {8: "=h", 16: "=h", 32: "=r"}
_LEAST_REGISTER_BITS = 16
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
    return [*made, _stay_before(first)] if made else []


def loads_behind(contractions: Collection[ir.Operation], bits: IndexBits) -> list[ir.Operation]:
    """Rewrites the loads behind contractions of a block that need none of their results.

    Returns:
        What they have become, behind what they need of what stands behind the contractions. It may
        be moved in front of the wait for these, in this order.
    """
    block = operations_of(next(iter(contractions)).block)
    last = max(contractions, key=block.index)
    behind = [*takewhile(leaves_memory_alone, block[block.index(last) + 1 :])]
    loads = [
        each for load in _independent_loads(contractions, behind) for each in _rewritten(load, bits)
    ]
    needed = {each for each in loads if each.name == _ASSEMBLY}
    if not needed:
        return []
    block = operations_of(last.block)
    stay = _stay_before(block[block.index(last) + 1])
    block = operations_of(last.block)
    found: list[ir.Operation] = []
    for each in reversed(block[block.index(last) + 1 :]):
        users = (use.owner.operation for result in each.results for use in result.uses)
        if each in needed or not needed.isdisjoint(users):
            needed.add(each)
            found.insert(0, each)
    return [*found, stay]


def _independent_loads(
    contractions: Collection[ir.Operation], behind: Iterable[ir.Operation]
) -> Iterator[ir.Operation]:
    """Yields the loads of global memory behind contractions that need none of their results."""
    needing = {*contractions}
    for each in behind:
        if any(defining_operation(operand) in needing for operand in each.operands):
            needing.add(each)
        elif each.name == _LOAD and not is_workgroup_memref(each.operands[0].type):
            yield each


def _stay_before(operation: ir.Operation) -> ir.Operation:
    """Emits what loads that may be written are not moved behind."""
    Builder.before(operation).assembly(_STAY)
    block = operations_of(operation.block)
    return block[block.index(operation) - 1]


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


def _rewritten(load: ir.Operation, index_bits: IndexBits | None = None) -> list[ir.Operation]:
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
    address = at.addi(at.address(memory), at.muli(place, at.index(element_bytes)))
    text = _GLOBAL_LOAD.format(
        vector=_VECTORS[words],
        bits=bits,
        results=", ".join(f"${number}" for number in range(words)),
        address=f"${words}",
    )
    constraints = [*[_CONSTRAINTS[bits]] * words, "l"]
    kinds = [at.integer_type(max(bits, _LEAST_REGISTER_BITS))] * words
    made = at.assembly(text, [at.index_cast(address, 64)], constraints, kinds)
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
