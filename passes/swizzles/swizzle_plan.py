# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What both swizzling passes have in common: their options, and how they report what they did."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence

from iree.compiler import ir

from ...bank_model.layouts import Layout, PlainLayout, SwizzledLayout
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.swizzle_legality import MOST_HINTS
from ...bank_model.swizzles import Swizzle
from ...dialect_utils.copy_slots import loads_directly
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import Launch, gpu_target_of, lds_model
from ...dialect_utils.memory.memref_types import shown_type
from ..base import FunctionPass, PassContext
from ..decisions import Action
from ..layout_policy import LayoutChoice, LayoutPolicy


class SwizzlePlan(NamedTuple):
    """What happens to one allocation; without swizzles it stays plain."""

    reason: str
    swizzles: tuple[Swizzle, ...] = ()
    """The chain, from the allocation outwards."""
    lds_bytes: int | None = None
    before: int | None = None
    after: int | None = None
    instructions: tuple[int, int] | None = None
    """LDS instructions before and after, as the backend joins the accesses, if they are known."""
    doubts: tuple[str, ...] = ()
    """What else the conflicts after it may be, where sources on the chip disagree, in sentences."""

    @property
    def layout(self) -> Layout:
        """Returns the layout of the allocation by the plan."""
        return SwizzledLayout(self.swizzles) if self.swizzles else PlainLayout()

    @staticmethod
    def kept(
        reason: str,
        lds_bytes: int | None = None,
        conflicts: int | None = None,
        instructions: int | None = None,
    ) -> SwizzlePlan:
        """Returns the plan to leave an allocation as it is."""
        issued = None if instructions is None else (instructions, instructions)
        return SwizzlePlan(reason, (), lds_bytes, conflicts, conflicts, issued)

    @staticmethod
    def of(choice: LayoutChoice, lds_bytes: int) -> SwizzlePlan:
        """Returns the plan to swizzle as chosen.

        An allocation that is better padded is left to padding.
        """
        issued = choice.instructions
        if not isinstance(choice.layout, SwizzledLayout):
            plain = None if issued is None else issued[0]
            return SwizzlePlan.kept(choice.reason, lds_bytes, choice.before, plain)
        swizzles = choice.layout.swizzles
        return SwizzlePlan(choice.reason, swizzles, lds_bytes, choice.before, choice.after, issued)

    @property
    def shown_swizzles(self) -> str:
        """Returns the chain in a few words."""
        return " of ".join(map(str, self.swizzles))

    def remark(self, allocation: str) -> str:
        """Returns the decision in a sentence; `allocation` is the allocation's type."""
        if not self.swizzles:
            return f"allocation of {allocation} not swizzled: {self.reason}"
        if all(swizzle.groups_per_row == 1 for swizzle in self.swizzles):
            return (
                f"allocation of {allocation} not swizzled: {self.reason}; a hint that moves "
                "nothing lets its accesses share an address"
            )
        return (
            f"allocation of {allocation} swizzled with {self.shown_swizzles}: "
            f"{self.before} conflict cycles -> {self.after}"
        )


_REMEDY = "--iree-gpu-test-target=gfx942 names a GPU, and --block=64 the lanes of a workgroup"


@dataclass(frozen=True)
class SwizzlingPass(FunctionPass):
    """A pass that decides on LDS allocations and hints them: its options, and how it reports."""

    max_chain: int = MOST_HINTS
    """The most hints on one allocation."""
    direct: bool = False
    """Run on functions whose copies go to the LDS without registers, and on no others."""
    defer_to_padding: bool = False
    """Leave an allocation plain where padding it within stock's LDS size conflicts less. Only for
    pipelines that pad later."""
    warns: bool = False
    """Warn of a function of whose GPU or lanes too little is known, instead of a remark."""

    def __post_init__(self) -> None:
        self._expect("max_chain", self.max_chain >= 1, "a positive integer")

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Decides on the workgroup allocations of `function`, and emits the hints."""
        function = function.operation
        if loads_directly(function, context.test_target) != self.direct:
            return
        allocations = self.allocations_in(function)
        if not allocations:
            return
        try:
            lds, launch = lds_model(function, context.test_target)
        except Refusal as refusal:
            said = f"allocations not swizzled: {refusal}"
            if self.warns:
                known = gpu_target_of(function, context.test_target)
                remedy = "" if known else f"; {_REMEDY}"
                context.sink.warning(function.location, f"{said}{remedy}")
            else:
                context.sink.remark(function.location, said)
            for allocation in allocations:
                self._log(function, allocation, SwizzlePlan.kept(refusal.reason), context)
            return
        policy = LayoutPolicy(lds, self.max_chain)
        plans = self.swizzle(function, allocations, policy, launch, context)
        for allocation, plan in zip(allocations, plans, strict=True):
            kind = shown_type(allocation.results[0].type)
            stays = not plan.swizzles and plan.before == 0
            context.sink.remark(allocation.location, plan.remark(kind), stays=stays)
            self._log(function, allocation, plan, context)

    def why_unresolved(
        self, allocations: Iterable[ir.Operation], context: PassContext
    ) -> str | None:
        """Returns why hints on one of these could not be resolved before; None if they were."""
        for allocation in allocations:
            unresolved = context.unresolved.get(str(allocation.location))
            if unresolved is not None and unresolved.is_ours:
                return f"its swizzle hints could not be resolved: {unresolved.reason}"
        return None

    @abstractmethod
    def allocations_in(self, function: ir.Operation) -> list[ir.Operation]:
        """Returns the allocations that the pass decides on, in the order of the text."""

    @abstractmethod
    def swizzle(
        self,
        function: ir.Operation,
        allocations: Sequence[ir.Operation],
        policy: LayoutPolicy,
        launch: Launch,
        context: PassContext,
    ) -> list[SwizzlePlan]:
        """Emits the hints of `allocations`, and returns the decision on each of them."""

    def _log(
        self,
        function: ir.Operation,
        allocation: ir.Operation,
        plan: SwizzlePlan,
        context: PassContext,
    ) -> None:
        action = Action.HINT if plan.swizzles else Action.KEEP
        issued = plan.instructions or (None, None)
        self.record(
            context,
            function,
            allocation.results[0],
            action,
            plan.reason,
            detail=plan.shown_swizzles,
            lds_bytes_before=plan.lds_bytes,
            lds_bytes_after=plan.lds_bytes,
            conflict_cycles_before=plan.before,
            conflict_cycles_after=plan.after,
            lds_instructions_before=issued[0],
            lds_instructions_after=issued[1],
            other_readings=plan.doubts,
        )
