# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what only decides in a fork, while the compiler makes machine code of the function.

What stock's layouts would cost is a quarter of the time of our passes over one kernel. Only
decisions say it, so that nothing waits for it before the kernel is machine code. So it is with the
conflicts of copies, which a pass counts that changes the function, too: it runs in a fork and, with
nothing to count, here. Each of these works on a copy of the function as it was in its place.

The fork is made when passes have changed the function for the last time. What a process writes to
behind a fork is copied page by page first, which took as long as the fork itself. Where the fork is
killed or fails, or the system has no process for it, the function is compiled again without any.
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
from .function_copy import FunctionCopy

_NICER = 5
"""By how much what only decides stands back: where other kernels keep all processors busy, it would
have half of that of the kernel which all wait for. It has a quarter."""

Result = TypeVar("Result")


class _Work(NamedTuple):
    """What is to be done in the fork.

    Attributes:
        function: as it was in the place of the work.
        place: that of its decisions.
    """

    function: FunctionCopy
    place: int
    work: Callable[[], Any]
    take: Callable[[Any], None]
    lasts: bool


class Beside:
    """Works on one function, which run one behind another in one fork.

    Args:
        context: what its decisions and messages are put into.
    """

    def __init__(self, context: PassContext) -> None:
        self._context = context
        self._works: list[_Work] = []
        self._fork: ForkedKernels | None = None

    def drop(self, *, all_of_it: bool = True) -> None:
        """Ends what runs, and forgets what is to run, all of it or what does not last."""
        self._works = [] if all_of_it else [each for each in self._works if each.lasts]
        if self._fork is not None:
            self._fork.__exit__()
            self._fork = None

    def add_pass(self, function: ir.Operation, step: FunctionPass) -> None:
        """Adds the run of a pass on a function as it is now."""
        self.add(function, lambda: step.run(function, self._context))

    def add(
        self,
        function: ir.Operation,
        work: Callable[[], Result],
        take: Callable[[Result], None] = lambda _: None,
        *,
        lasts: bool = False,
    ) -> None:
        """Adds work on a function as it is now.

        Args:
            work: returns what can be pickled, and may decide and say something.
            take: called with the result by `settle`.
            lasts: whether the result is asked for even if the function's pipeline starts again.
        """
        place = len(self._context.log.decisions)
        self._works.append(_Work(FunctionCopy.of(function), place, work, take, lasts))

    def begin(self, function: ir.Operation) -> None:
        """Lets a fork do all work on a function, on which no pass works here any more."""
        context, works = self._context, self._works
        nicer = os.getpriority(os.PRIO_PROCESS, 0) + _NICER

        def in_fork(number: int) -> tuple[Any, DecisionLog, list[Diagnostic]]:
            os.setpriority(os.PRIO_PROCESS, 0, nicer)
            said: list[Diagnostic] = []
            context.sink.consume = said.append
            decided = len(context.log.decisions)
            works[number].function.restore(function)
            result = works[number].work()
            return result, context.log.since(decided), said

        if works:
            self._fork = ForkedKernels(function.context, [*range(len(works))], in_fork, most=1)

    def settle(self) -> None:
        """Waits for what has begun, and puts its decisions where it would have put them.

        Raises:
            Lost: it is lost.
        """
        fork, works, inserted = self._fork, self._works, 0
        sent = [None if fork is None else fork.sent(number) for number in range(len(works))]
        self.drop()
        done = [each.result for each in sent if each is not None]
        if len(done) < len(works):
            raise Lost
        for each, (result, decided, said) in zip(works, done, strict=True):
            each.take(result)
            self._context.log.insert(each.place + inserted, decided)
            inserted += len(decided.decisions)
            for diagnostic in said:
                self._context.sink.consume(diagnostic)
