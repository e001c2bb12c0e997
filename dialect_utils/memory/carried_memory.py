# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The values that carry a memref on where it may meet others: choices and loops."""

from __future__ import annotations

from iree.compiler import ir

FOR_BOUNDS = 3
"""Operands of an `scf.for` before its initial values."""


def carried_values(user: ir.Operation, number: int) -> tuple[ir.Value, ...]:
    """The values that operand `number` of `user` becomes where others may meet it.

    `arith.select %c, %value, %other` gives its result; an initial or yielded value of an `scf.for`
    gives the loop's argument and its result. Empty for an operand that is not carried on.
    """
    if user.name == "arith.select" and number > 0:
        return (user.results[0],)
    if user.name == "scf.for" and number >= FOR_BOUNDS:
        return _loop_values(user, number - FOR_BOUNDS)
    if user.name == "scf.yield":
        parent = user.parent.operation
        if parent.name == "scf.for":
            return _loop_values(parent, number)
        if parent.name == "scf.if":
            return (parent.results[number],)
    return ()


def _loop_values(loop: ir.Operation, number: int) -> tuple[ir.Value, ir.Value]:
    return (loop.regions[0].blocks[0].arguments[1 + number], loop.results[number])
