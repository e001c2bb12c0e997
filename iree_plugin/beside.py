# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what only decides in a fork, while passes change the function.

What stock's layouts would cost is a quarter of the time of our passes over one kernel. Only
decisions say it, so that nothing waits for it before the kernel is machine code. So it is with the
conflicts of copies, which a pass counts that changes the function, too: it runs in a fork and, with
nothing to count, here. Where the system has no process for it, it runs in turn. Where a fork is
killed or fails, the function is compiled again without any.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from iree.compiler import ir

from ..bank_model.quick_tuple import NamedTuple
from ..dialect_utils.diagnostics import Diagnostic
from ..passes.base import FunctionPass, PassContext
from ..passes.decisions import DecisionLog
from .embedding import Lost
from .forked_kernels import ForkedKernels

_NICER = 5
"""By how much what only decides stands back: where other kernels keep all processors busy, it would
have half of that of the kernel which all wait for. It has a quarter."""

Result = TypeVar("Result")


class _Running(NamedTuple):
    place: int
    fork: ForkedKernels
    take: Callable[[Any], None]
    lasts: bool


class Beside:
    """At most one work that runs in a fork.

    Args:
        context: what its decisions and messages are put into.
    """

    def __init__(self, context: PassContext) -> None:
        self._context = context
        self._running: _Running | None = None

    def drop(self, *, all_of_it: bool = True) -> None:
        """Ends what runs, and if not all then what does not last; what it would decide is lost."""
        if self._running is not None and (all_of_it or not self._running.lasts):
            self._running.fork.__exit__()
            self._running = None

    def start_pass(self, function: ir.Operation, step: FunctionPass) -> bool:
        """Starts a pass on a function as it is now; returns False where it has to run in turn.

        Raises:
            Lost: what has run before is lost.
        """
        return self.start(function, lambda: step.run(function, self._context))

    def start(
        self,
        function: ir.Operation,
        work: Callable[[], Result],
        take: Callable[[Result], None] = lambda _: None,
        *,
        lasts: bool = False,
    ) -> bool:
        """Starts work on a function as it is now; returns False where it has to be done in turn.

        Args:
            work: returns what can be pickled, and may decide and say something.
            take: called with the result by `settle`.
            lasts: whether the result is asked for even if the function's pipeline starts again.

        Raises:
            Lost: what has run before is lost.
        """
        self.settle()
        context, place = self._context, len(self._context.log.decisions)

        def in_fork(_: int) -> tuple[Result, DecisionLog, list[Diagnostic]]:
            os.nice(_NICER)
            said: list[Diagnostic] = []
            context.sink.consume = said.append
            result = work()
            return result, context.log.since(place), said

        fork = ForkedKernels(function.context, [0], in_fork)
        if fork:
            self._running = _Running(place, fork, take, lasts)
        return bool(fork)

    def settle(self) -> None:
        """Waits for what runs, and puts its decisions where it would have put them.

        Raises:
            Lost: it is lost.
        """
        if self._running is None:
            return
        place, fork, take, _ = self._running
        sent = fork.sent(0)
        self.drop()
        if sent is None:
            raise Lost
        result, decided, said = sent.result
        take(result)
        self._context.log.insert(place, decided)
        for diagnostic in said:
            self._context.sink.consume(diagnostic)
