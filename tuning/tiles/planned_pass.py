# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What passes have in common that plan another configuration of a whole function."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import ClassVar, Generic, TypeVar

from iree.compiler import ir

from ...passes.base import FunctionPass, PassContext

Plan = TypeVar("Plan")

NewTile = tuple[ir.Operation, object, str]
"""An operation, the tile that it has got, and the reason that a decision gives."""


class PlannedPass(FunctionPass, Generic[Plan]):
    """A pass that first plans another configuration of a function, and then carries the plan out.

    Where planning is refused, the function stays as it is, and a remark says why.

    Attributes:
        what_stays: how a remark begins that says why nothing becomes of it.
    """

    what_stays: ClassVar[str]
    later_passes_may_refuse: ClassVar[bool] = True

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the configuration of `function` as planned, and what depends on it.

        Raises:
            PassFailure: what was planned turns out to be impossible.
        """
        function = function.operation
        plan = partial(self._plan, function, context)
        found = context.planned(function.location, self.what_stays, plan)
        tile = None if found is None else self._take(function, context, found)
        if tile is not None:
            self.record_tile(context, function, *tile)

    @abstractmethod
    def _plan(self, function: ir.Operation, context: PassContext) -> Plan | None:
        """Returns what becomes of a function; None stands for one that the pass is not for.

        Raises:
            Refusal: it stays, although it is one that the pass is for.
        """

    @abstractmethod
    def _take(self, function: ir.Operation, context: PassContext, plan: Plan) -> NewTile | None:
        """Rewrites a function as planned; returns the tile to record, if there is one.

        Raises:
            PassFailure: that turns out to be impossible.
        """
