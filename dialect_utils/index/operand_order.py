# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computing something of an SSA value from the same of what it is computed from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from iree.compiler import ir

Known = TypeVar("Known")


def compute_after_operands(
    value: ir.Value,
    known: dict[ir.Value, Known],
    operands_of: Callable[[ir.Value], Sequence[ir.Value]],
    compute: Callable[[ir.Value, Sequence[ir.Value]], Known],
) -> Known:
    """What `compute` says of `value`; that of its operands is in `known` by then.

    `known` remembers every value on the way. Values are visited without recursion: index
    arithmetic is deeper than Python's stack.
    """
    pending = [value]
    while pending:
        top = pending[-1]
        if top in known:
            pending.pop()
            continue
        operands = operands_of(top)
        missing = [operand for operand in operands if operand not in known]
        if missing:
            pending.extend(missing)
            continue
        known[top] = compute(top, operands)
        pending.pop()
    return known[value]
