# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Issuing the first copies of a loop before what stands in front of the loop waits for memory.

    %q = vector.load %queries[...]                nvgpu.device_async_copy %keys[...], %slot[...]
    vector.store %q, %tile[...]                   %q = vector.load %queries[...]
    gpu.barrier                            ->     vector.store %q, %tile[...]
    nvgpu.device_async_copy ...                   gpu.barrier
    scf.for ...                                   scf.for ...

An attention brings Q to the registers by way of the LDS before its loop over K and V. Where the
first copies of K and V are issued behind that, a workgroup waits for memory twice.

The copies read memory that the kernel does not write, and only the loop uses the LDS that they
write: they may stand anywhere before the loop where their addresses are known. Those of the first
iteration alone go there: with those of three, 40x1024x88 in f16 takes three registers more than
ptxas has for it, and 5 % longer on an H200.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from ...dialect_utils.index.index_cloner import is_index_arithmetic
from ...dialect_utils.loops import FOR
from ...dialect_utils.memory.lds_ops import Access, row_of
from ...dialect_utils.operations import operations_of, parents_of


def issue_early(copies: Sequence[ir.Operation]) -> None:
    """Moves what issues copies before the first access to memory in front of it.

    It stays where an address is not known there. It moves across no other loop.

    Args:
        copies: operations of one block, in their order, which depend on no access to memory.
    """
    block = operations_of(copies[0].block)
    front = block[: block.index(copies[0])]
    loops = [place for place, each in enumerate(front) if each.name == FOR]
    behind = range(loops[-1] + 1 if loops else 0, len(front))
    first = next((place for place in behind if isinstance(row_of(front[place]), Access)), None)
    if first is None:
        return
    moved = set(copies)
    for operation in reversed(front[first:]):
        users = {use.owner.operation for each in operation.results for use in each.uses}
        if any(not moved.isdisjoint((user, *parents_of(user))) for user in users):
            if not is_index_arithmetic(operation):
                return
            moved.add(operation)
    for operation in (*front[first:], *copies):
        if operation in moved:
            operation.move_before(front[first])
