# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs passes that only decide in a fork, while later passes change the function.

What stock's layouts would cost is a quarter of the time of our passes over one kernel. Only
decisions say it, so that nothing waits for it before the pipeline has run.
"""

from __future__ import annotations

from typing import NamedTuple

from iree.compiler import ir

from ..dialect_utils.diagnostics import Diagnostic
from ..passes.base import FunctionPass, PassContext
from ..passes.decisions import DecisionLog
from .embedding import StepError
from .forked_kernels import ForkedKernels


class _Running(NamedTuple):
    step: FunctionPass
    function: ir.Operation
    place: int
    fork: ForkedKernels


class PassesBeside:
    """At most one pass that runs in a fork.

    Args:
        context: what its decisions and messages are put into.
    """

    def __init__(self, context: PassContext) -> None:
        self._context = context
        self._running: _Running | None = None

    def drop(self) -> None:
        """Ends the pass that runs; what it would have decided is lost."""
        if self._running is not None:
            self._running.fork.__exit__()
            self._running = None

    def start(self, function: ir.Operation, step: FunctionPass) -> None:
        """Starts a pass on a function as it is now.

        Raises:
            StepError: the one that has run before failed, which has been said.
        """
        self.settle()
        context, place = self._context, len(self._context.log.decisions)

        def work(_: int) -> tuple[DecisionLog, list[Diagnostic]]:
            said: list[Diagnostic] = []
            context.sink.consume = said.append
            step.run(function, context)
            return context.log.since(place), said

        self._running = _Running(step, function, place, ForkedKernels(function.context, [0], work))

    def settle(self) -> None:
        """Waits for the pass that runs, and puts its decisions where it would have put them.

        Raises:
            StepError: it failed, which has been said.
        """
        if self._running is None:
            return
        step, function, place, fork = self._running
        sent = fork.sent(0)
        self.drop()
        if sent is None:
            text = (
                f"{step.name} failed in a process of its own; with --bankwise-dump-ir it says why"
            )
            function.location.emit_error(text)
            raise StepError(text)
        decided, said = sent.result
        self._context.log.insert(place, decided)
        for diagnostic in said:
            self._context.sink.consume(diagnostic)
