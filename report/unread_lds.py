# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LDS that `read_allocations` does not list: memory of a caller, and memory on lower levels of IR.

What is not listed cannot be counted, and a report that is silent about it would look like one on a
kernel without LDS.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from iree.compiler import ir

from ..dialect_utils.diagnostics import Refusal
from ..dialect_utils.memory.memref_types import WORKGROUP, is_workgroup_memref
from ..dialect_utils.operations import operations_in

_LOWER_LEVELS = re.compile(
    r"memref<.*, (?:3(?: : \w+)?|#spirv\.storage_class<Workgroup>)>"
    r"|memref<\*x.*, #gpu\.address_space<workgroup>>"
    r"|!llvm\.ptr<3>"
    r"|!spirv\.ptr<.*, Workgroup>"
)
"""Types of LDS, after GPU memory spaces have become those of a lower dialect, and of any rank."""


def unread_lds(function: ir.Operation) -> Refusal | None:
    """Returns why `function` has LDS that `read_allocations` does not list; None if it has none."""
    for kind in _lds_of_callers(function):
        return Refusal(
            f"it gets LDS as an argument, {kind}, and only what it allocates itself is read"
        )
    known: dict[ir.Type, bool] = {}
    for value in _values(function):
        if value.type not in known:
            known[value.type] = _LOWER_LEVELS.fullmatch(str(value.type)) is not None
        if known[value.type]:
            return Refusal(
                f"it has LDS as {value.type}, and only allocations in {WORKGROUP} are read"
            )
    return None


def _lds_of_callers(function: ir.Operation) -> Iterator[ir.Type]:
    for region in function.regions:
        for block in list(region.blocks)[:1]:
            yield from (each.type for each in block.arguments if is_workgroup_memref(each.type))


def _values(function: ir.Operation) -> Iterator[ir.Value]:
    for operation in (function, *operations_in(function)):
        yield from operation.results
        for region in operation.regions:
            for block in region.blocks:
                yield from block.arguments
