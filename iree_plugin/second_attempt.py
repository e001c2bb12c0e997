# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling one function another way, after a pass of ours could not treat its hints.

The function is put back to what it was before its pipeline ran, so that nothing of ours is left in
it, and what our passes have said and decided meanwhile is taken back. The second attempt then drops
the hints that the function came with, or leaves it to stock (`stepped_compile`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from iree.compiler import ir

from ..dialect_utils.diagnostics import Diagnostic
from ..dialect_utils.memory.lds_ops import GATHER
from ..dialect_utils.operations import operations_in
from ..dialect_utils.swizzle_hint import STOWED_SWIZZLE, hints_in, remove_hints
from ..passes.base import PassContext
from .replay import RecoverableFailure

_MAY_ORDER_DATA = frozenset({GATHER, "iree_gpu.async_dma", "iree_gpu.coalesced_gather_dma"})
"""Operations that store direct to LDS, or become operations that do."""


@dataclass
class FunctionCopy:
    """A copy of a function's attributes and body, to put the function back to them once.

    After that it holds the body that the function had, so that what refers to it stays valid.
    """

    copy: ir.Operation

    @staticmethod
    def of(function: ir.Operation) -> FunctionCopy:
        """Copies a function as it is now."""
        return FunctionCopy(function.clone(ip=False).operation)  # pyright: ignore[reportArgumentType]

    def restore(self, function: ir.Operation) -> None:
        """Makes `function`, of which this is a copy, what it was."""
        for name in [name for name in function.attributes if name not in self.copy.attributes]:
            del function.attributes[name]
        for name in self.copy.attributes:
            function.attributes[name] = self.copy.attributes[name]
        mine, its = self.copy.regions[0], function.regions[0]
        before, after = list(mine.blocks), list(its.blocks)
        for block in before:
            block.append_to(its)
        for block in after:
            block.append_to(mine)


@contextmanager
def taken_back_on_failure(context: PassContext) -> Iterator[None]:
    """Holds back what passes say, and takes it back with their decisions after a
    `RecoverableFailure`."""
    held: list[Diagnostic] = []
    consume = context.sink.consume
    decided, tuned = len(context.log.decisions), len(context.tuned)
    context.sink.consume = held.append
    try:
        yield
    except RecoverableFailure:
        held.clear()
        del context.log.decisions[decided:]
        del context.tuned[tuned:]
        context.assumptions.clear()
        raise
    finally:
        context.sink.consume = consume
        for diagnostic in held:
            consume(diagnostic)


def drop_hints(function: ir.Operation) -> bool:
    """Drops all swizzle hints of `function`, where that leaves what it computes as it is.

    A hint asks for a layout and changes no value, unless an operation beside it has put data in the
    order of the layout itself, as loads direct to LDS do.

    Returns:
        False, with nothing changed, where the function may have such operations.
    """
    operations = operations_in(function)
    if any(op.name in _MAY_ORDER_DATA for op in operations):
        return False
    for op in operations:
        if STOWED_SWIZZLE in op.attributes:
            del op.attributes[STOWED_SWIZZLE]
    remove_hints(hints_in(function))
    return True
