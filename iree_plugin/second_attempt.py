# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling one function another way, after a pass of ours could not treat its hints.

The function is put back to what it was before its pipeline ran, so that nothing of ours is left in
it, and what our passes have said and decided meanwhile is taken back. The second attempt then drops
the hints that the function came with, or leaves it to stock (`codegen_replay`). Where single hints
could not be resolved, it goes without these, and their allocations get another layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from iree.compiler import ir

from ..dialect_utils.diagnostics import Diagnostic, DiagnosticSink
from ..dialect_utils.operations import operations_in
from ..dialect_utils.swizzle_hint import STOWED_SWIZZLE, hints_in, is_hint, remove_hints
from ..passes.base import DroppedHints, PassContext, UnresolvedHint
from .function_copy import FunctionCopy
from .replay import RecoverableFailure

_MAY_BECOME_DIRECT = frozenset({"iree_gpu.async_dma", "iree_gpu.coalesced_gather_dma"})
"""Operations that become operations which store direct to LDS."""


@contextmanager
def said_unless(failure: type[Exception], sink: DiagnosticSink) -> Iterator[None]:
    """Holds back what passes say until the body ends, and takes it back after a failure."""
    held: list[Diagnostic] = []
    consume, sink.consume = sink.consume, held.append
    try:
        yield
    except failure:
        held.clear()
        raise
    finally:
        sink.consume = consume
        for diagnostic in held:
            consume(diagnostic)


@contextmanager
def taken_back_on_failure(context: PassContext) -> Iterator[None]:
    """Holds back what passes say, and takes it back with their decisions after a
    `RecoverableFailure`."""
    decided, tuned = len(context.log.decisions), len(context.tuned)
    try:
        with said_unless(RecoverableFailure, context.sink):
            yield
    except RecoverableFailure:
        del context.log.decisions[decided:]
        del context.tuned[tuned:]
        context.assumptions.clear()
        raise


class UnresolvedHints(RecoverableFailure):
    """Some hints were dropped, so that the layouts that they stand for are in no code."""

    def __init__(self, dropped: Sequence[DroppedHints]) -> None:
        Exception.__init__(self, *map(str, dropped))
        self.dropped = tuple(dropped)


def check_resolved(context: PassContext, before: FunctionCopy) -> None:
    """Makes sure that no hint was dropped whose allocation a second attempt would treat otherwise.

    Args:
        before: the function in work before its pipeline ran.

    Raises:
        UnresolvedHints: one was.
    """
    for dropped in context.dropped:
        ours = {place for place, known in context.unresolved.items() if known.is_ours}
        if not dropped.allocations <= ours or _came_with(before.copy, dropped):
            raise UnresolvedHints(context.dropped)


def go_without(dropped: DroppedHints, function: ir.Operation, context: PassContext) -> None:
    """Prepares a function that is as it was before its pipeline for going without some hints.

    Those that it came with are removed, with the warning that `dropped` stands for. Hints of ours
    are not emitted again.
    """
    own = _came_with(function, dropped)
    unresolved = UnresolvedHint(dropped.reason, is_ours=not own)
    context.unresolved |= dict.fromkeys(dropped.allocations, unresolved)
    if not own:
        return
    for operation in own:
        if STOWED_SWIZZLE in operation.attributes:
            del operation.attributes[STOWED_SWIZZLE]
    remove_hints(filter(is_hint, own))
    context.sink.warning(dropped.location, str(dropped))


def _came_with(function: ir.Operation, dropped: DroppedHints) -> list[ir.Operation]:
    """Returns those of some hints that `function` has, and the allocations with stowed ones."""
    return [
        each
        for each in operations_in(function)
        if (is_hint(each) and str(each.location) in dropped.hints)
        or (STOWED_SWIZZLE in each.attributes and str(each.location) in dropped.allocations)
    ]


def drop_hints(function: ir.Operation) -> bool:
    """Drops all swizzle hints of `function`, where that leaves what it computes as it is.

    A hint asks for a layout and changes no value, unless an operation beside it has put data in the
    order of the layout itself, as loads direct to LDS do.

    Returns:
        False, with nothing changed, where the function may have such operations.
    """
    from ..dialect_utils.memory.lds_ops import GATHER

    operations = operations_in(function)
    if any(op.name == GATHER or op.name in _MAY_BECOME_DIRECT for op in operations):
        return False
    for op in operations:
        if STOWED_SWIZZLE in op.attributes:
            del op.attributes[STOWED_SWIZZLE]
    remove_hints(hints_in(function))
    return True
