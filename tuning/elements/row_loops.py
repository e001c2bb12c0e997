# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which reduction of a function decides on its rows, and which loops go along them.

A softmax is a maximum, a sum and what is computed of both. Each is a `linalg.generic` with loops of
its own, which index the dimensions of tensors that they share:

    %max = linalg.generic {... (d0, d1) -> (d0, d1), (d0, d1) -> (d0)} ins(%x) ...
    %out = linalg.generic {... (d0, d1) -> (d1, d0), (d0, d1) -> (d1)} ins(%x, %max) ...

Loop `d0` of the first goes along the same dimension as `d1` of the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from iree.compiler import ir
from iree.compiler._mlir_libs._ireeCompilerDialects import iree_codegen

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.indexing_maps import GENERIC, loops_of, summed_loops
from ...dialect_utils.lowering_config import (
    BASIS,
    CONFIG,
    LANE_BASIS,
    PARTIAL,
    REDUCTION,
    THREAD,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    only_root,
)
from ...dialect_utils.operations import defining_operation, operands_with, operations_in

_BY_THREADS = frozenset({REDUCTION, THREAD, WORKGROUP})
_BY_LANES = frozenset({BASIS, LANE_BASIS, PARTIAL, THREAD, WORKGROUP})


def row_root(function: ir.Operation) -> ir.Operation | None:
    """Returns the reduction of rows that decides on the workgroups of a function, if there is one.

    IREE gives a tensor that is one row to a single lane, which no operation has a tile for.
    """
    root = only_root(function)
    if root is not None and root.name != GENERIC:
        return None
    if root is not None:
        is_known = LoweringConfig.of(root.attributes[CONFIG]).entries.keys() in (
            _BY_THREADS,
            _BY_LANES,
        )
        return root if root.name == GENERIC and is_known else None
    found = [each for each in operations_in(function, GENERIC) if summed_loops(each)]
    return found[-1] if found and is_of_one_lane(function) else None


def is_of_one_lane(function: ir.Operation) -> bool:
    """Returns whether a function has workgroups of one lane."""
    if TRANSLATION_INFO not in function.attributes:
        return False
    info = iree_codegen.TranslationInfoAttr(function.attributes[TRANSLATION_INFO])
    return prod(info.workgroup_size or [0]) == 1


def loops_along(root: ir.Operation, loop: int) -> dict[ir.Operation, int]:
    """Returns the loop of each operation that goes along the same dimension as one of `root`.

    Operations that share no tensor along that dimension are not there.

    Raises:
        Refusal: an operation has two such loops.
    """
    found, pending = {root: loop}, [root]
    while pending:
        operation = pending.pop()
        for value, dims in indexed(operation):
            if found[operation] not in dims:
                continue
            place = dims.index(found[operation])
            users = {user for user, _ in operands_with(value)} | {defining_operation(value)}
            for user in (each for each in users if each is not None and each.name == GENERIC):
                for other, theirs in indexed(user):
                    if other != value:
                        continue
                    if user not in found:
                        pending.append(user)
                    if found.setdefault(user, theirs[place]) != theirs[place]:
                        raise Refusal("an operation has rows along two loops")
    return found


def indexed(operation: ir.Operation) -> Iterator[tuple[ir.Value, tuple[int, ...]]]:
    """Yields the operands and the results of an operation, and the loops that index them."""
    loops, results = loops_of(operation), [*operation.results]
    yield from zip(operation.operands, loops, strict=True)
    yield from zip(results, loops[len(loops) - len(results) :], strict=True)
