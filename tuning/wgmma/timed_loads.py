# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads that are issued while `wgmma` runs.

Those for the next iteration of a loop stand before it:

    %next = vector.load %global[...]              gpu.barrier
    gpu.barrier                                   wgmma ... commit
    wgmma ... commit                      ->      ld.global, of all that the next iteration stores
    wgmma wait                                    bar.warp.sync
    ...                                           wgmma wait
    scf.yield %next                               ...

They become loads that ptxas does not move behind `bar.warp.sync` (`tuning/copies/plain_loads.py`).
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

from collections.abc import Collection
from itertools import takewhile

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.memory.memref_types import is_workgroup_memref
from ...dialect_utils.memory.store_free_segments import leaves_memory_alone
from ...dialect_utils.operations import dependents, operations_of
from ..copies.plain_loads import loads_for_next, plain_load

_LOAD, _ASSEMBLY = "vector.load", "llvm.inline_asm"
_STAY = "bar.warp.sync -1;"
"""Loads of what may be written are not moved behind it."""


def timed_loads(first: ir.Operation) -> list[ir.Operation]:
    """Rewrites the loads for the next iteration in front of the barrier that precedes an operation.

    Returns:
        What they have become, which may be moved behind the barrier in this order.
    """
    made: list[ir.Operation] = []
    for load in list(loads_for_next(first)):
        made += plain_load(load)
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
    needing = dependents(contractions, behind)
    loads = [
        made
        for each in behind
        if each.name == _LOAD
        and each not in needing
        and not is_workgroup_memref(each.operands[0].type)
        for made in plain_load(each, bits)
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


def _stay_before(operation: ir.Operation) -> ir.Operation:
    """Emits what loads that may be written are not moved behind."""
    Builder.before(operation).assembly(_STAY)
    block = operations_of(operation.block)
    return block[block.index(operation) - 1]
