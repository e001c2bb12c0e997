# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what only decides in a fork, while passes change the function.

What stock's layouts would cost is a quarter of the time of our passes over one kernel. Only
decisions say it, so that nothing waits for it before the pipeline has run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from iree.compiler import ir

from ..dialect_utils.diagnostics import Diagnostic
from ..passes.base import FunctionPass, PassContext
from ..passes.decisions import DecisionLog
from .embedding import StepError
from .forked_kernels import ForkedKernels

Result = TypeVar("Result")


class _Running(NamedTuple):
    name: str
    function: ir.Operation
    place: int
    fork: ForkedKernels
    take: Callable[[Any], None]


class Beside:
    """At most one work that runs in a fork.

    Args:
        context: what its decisions and messages are put into.
    """

    def __init__(self, context: PassContext) -> None:
        self._context = context
        self._running: _Running | None = None

    def drop(self) -> None:
        """Ends what runs; what it would have decided is lost."""
        if self._running is not None:
            self._running.fork.__exit__()
            self._running = None

    def start_pass(self, function: ir.Operation, step: FunctionPass) -> None:
        """Starts a pass on a function as it is now.

        Raises:
            StepError: what has run before failed, which has been said.
        """
        self.start(function, step.name, lambda: step.run(function, self._context))

    def start(
        self,
        function: ir.Operation,
        name: str,
        work: Callable[[], Result],
        take: Callable[[Result], None] = lambda _: None,
    ) -> None:
        """Starts work on a function as it is now.

        Args:
            work: returns what can be pickled, and may decide and say something.
            take: called with the result by `settle`.

        Raises:
            StepError: what has run before failed, which has been said.
        """
        self.settle()
        context, place = self._context, len(self._context.log.decisions)

        def in_fork(_: int) -> tuple[Result, DecisionLog, list[Diagnostic]]:
            said: list[Diagnostic] = []
            context.sink.consume = said.append
            result = work()
            return result, context.log.since(place), said

        fork = ForkedKernels(function.context, [0], in_fork)
        self._running = _Running(name, function, place, fork, take)

    def settle(self) -> None:
        """Waits for what runs, and puts its decisions where it would have put them.

        Raises:
            StepError: it failed, which has been said.
        """
        if self._running is None:
            return
        name, function, place, fork, take = self._running
        sent = fork.sent(0)
        self.drop()
        if sent is None:
            text = f"{name} failed in a process of its own; with --bankwise-dump-ir it says why"
            function.location.emit_error(text)
            raise StepError(text)
        result, decided, said = sent.result
        take(result)
        self._context.log.insert(place, decided)
        for diagnostic in said:
            self._context.sink.consume(diagnostic)
