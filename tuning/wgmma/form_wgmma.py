# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-form-wgmma`: four warps multiply by one `wgmma` that reads from the LDS itself.

    %b = nvgpu.ldmatrix %tile[...]                 wgmma.fence
    %d0 = nvgpu.mma.sync(%a, %b0, %c0)             %d = wgmma.mma_async %c, %a, descriptor of %tile
    %d1 = nvgpu.mma.sync(%a, %b1, %c1)      ->     wgmma.commit_group
    ...                                            wgmma.wait_group 0

Hopper's matrix units reach their rate only by `wgmma`: on an H200 `mma.sync` has about 60 % of it.
The `mma.sync` of one A whose B operands are side by side in one tile are replaced, where it is
proven that a descriptor gives these operands (`described_operands.py`). A is read by a descriptor,
too, where that is proven of 64 rows; otherwise it stays in registers, or is stored before a loop
that does not change it (`stored_factors.py`). Outputs are the same bits.

In a segment without a store or a barrier, the contractions of a stage (`contraction_order.py`)
come behind everything that they need, and are waited for before the segment ends. So nothing writes
the tile, or a register of A, while a `wgmma` reads it. A group whose A and B are both read by
descriptors may run on while the next iteration begins (`groups_under_way.py`).

Lanes compute while `wgmma` run. An attention multiplies the probabilities of 16 keys by V as soon
as it has them, and computes those of the next keys, and the sums of all, before it waits:

    exp2 of keys 0 to 15    wgmma    exp2 of keys 16 to 31    wgmma    ...    sums    wait

A mask is loaded while the scores are multiplied (`timed_loads.py`).

Copies of later iterations that stand before the segment are issued behind the first group, and
before it is waited for: what loads A would stand behind them in the queue of the LDS otherwise.
Among the `wgmma` of a group, where ptxas leaves them, they gain next to nothing: 35 matmuls and
convolutions take 0.99 times as long in the mean on an H200, 0.89 (f16 150x11008x4096) to 1.19 times
(210x1536x8960, B transposed).

What threads write to the LDS becomes visible to the matrix units by `fence.proxy.async`, which goes
before each barrier (PTX ISA, "Async proxy") but those behind which another one comes before the
units read, such as the barrier that lets copies begin.

Runs on resolved accesses, behind everything that changes where tiles lie and when they are copied,
for GPUs with `descriptor_tiles` (sm_90a).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import groupby, takewhile
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.descriptor_tiles import GROUP_WARPS
from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.builders import Builder
from ...dialect_utils.described_tiles import forget_described_tile, has_described_tile
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.index_cloner import THREAD_ID
from ...dialect_utils.loops import IF, YIELD, Carried
from ...dialect_utils.memory.lds_ops import BARRIER, COPIES_END, COPY
from ...dialect_utils.memory.memref_types import shown_type
from ...dialect_utils.memory.store_free_segments import leaves_memory_alone
from ...dialect_utils.operations import (
    dependents,
    has_operation,
    operations_in,
    operations_of,
)
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import Action
from ..fragments.contraction_order import ContractionOrder
from ..ldmatrix.ldmatrix_emission import thread_x
from .groups_under_way import may_be_under_way, sums_under_way
from .timed_loads import loads_behind, timed_loads
from .wgmma_emission import WgmmaEmitter
from .wgmma_groups import GroupPlanner, WgmmaGroup, may_form_groups

_COPYING = frozenset({COPY, COPIES_END})
_ISSUING = _COPYING | {IF, YIELD}
_ASSEMBLY = "llvm.inline_asm"
_PROXY_FENCE = "fence.proxy.async.shared::cta;"


@dataclass(frozen=True)
class FormWgmma(FunctionPass):
    """Replaces groups of `nvgpu.mma.sync` by `wgmma.mma_async`.

    Attributes:
        chosen_only: leave functions alone whose tile was not chosen for `wgmma`.
    """

    name: ClassVar[str] = "bankwise-form-wgmma"
    summary: ClassVar[str] = "multiply by wgmma, which reads swizzled tiles from the LDS itself"

    chosen_only: bool = False

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` multiplies matrices on a GPU whose units read tiles.

        A note on its tile is forgotten, too.
        """
        may_form = may_form_groups(function, None, chosen_only=self.chosen_only)
        return may_form or has_described_tile(function)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the contractions for which it is proven; never fails."""
        function = function.operation
        may_form = may_form_groups(function, context.test_target, chosen_only=self.chosen_only)
        forget_described_tile(function)
        if not may_form:
            return
        with function.context:
            try:
                planner = GroupPlanner.of(function, context.test_target)
            except Refusal as refusal:
                remark = f"no contraction becomes wgmma: {refusal.reason}"
                context.sink.remark(function.location, remark)
                return
            emitter = WgmmaEmitter(
                planner.prover,
                planner.stored,
                lambda: thread_x(function, operations_in(function, THREAD_ID)),
            )
            forming = _Forming(planner, emitter)
            for segment in list(planner.segments()):
                forming.form(segment)
            if forming.formed:
                for barrier in filter(_is_last_before_reads, operations_in(function, BARRIER)):
                    Builder.before(barrier).assembly(_PROXY_FENCE)
            self._report(function, forming, context)

    def _report(self, function: ir.Operation, forming: _Forming, context: PassContext) -> None:
        for allocation, count in forming.formed.items():
            memory = allocation.results[0]
            reason = "the addresses of all lanes prove that a descriptor gives these operands"
            detail = f"{count} wgmma"
            text = f"operands from {shown_type(memory.type)} are read by {detail}: {reason}"
            context.sink.remark(memory.location, text)
            self.record(context, function, memory, Action.WGMMA, reason, detail=detail)
        for location, reason in forming.waiting:
            context.sink.remark(location, f"an iteration waits for its wgmma: {reason}")
        for (location, reason), count in forming.planner.kept.items():
            context.sink.remark(location, f"{count} products stay mma.sync: {reason}")


@dataclass
class _Forming:
    """What has become of the contractions of a function.

    Attributes:
        formed: how many `wgmma` read each allocation.
        waiting: why groups that read both operands by descriptors are waited for in an iteration.
    """

    planner: GroupPlanner
    emitter: WgmmaEmitter
    formed: Counter[ir.Operation] = field(default_factory=Counter)
    waiting: list[tuple[ir.Location, str]] = field(default_factory=list)

    def form(self, segment: list[ir.Operation]) -> None:
        """Replaces the contractions of the stages of a segment for which it is proven."""
        order = ContractionOrder.of(segment)
        stages = self.planner.plan(order)
        if not stages:
            return
        copies = [*timed_loads(segment[0]), *_copies_before(segment[0])]
        parts_of = {stage: _in_parts(groups, stage) for stage, groups in stages.items()}
        order.move(_in_stages(order, parts_of))
        for stage, parts in parts_of.items():
            meanwhile = self._meanwhile(stage, parts)
            under_way = self._under_way(stages[stage])
            try:
                self.emitter.multiply(parts, [*copies, *meanwhile], under_way)
                copies = []
            except Refusal as refusal:
                self.planner.keep(_contractions(stages[stage]), refusal)
            else:
                self._count(stages[stage])

    def _meanwhile(self, stage: int, parts: Sequence[Sequence[WgmmaGroup]]) -> list[ir.Operation]:
        """Returns what is done while the groups of a stage run, of what stands behind them.

        Where a workgroup has eight warps, two of them share the registers of a multiprocessor, and
        a mask of i1 would be spilled: 60 bytes a lane of 16x2048x64, and 204 of 24x2048x128.
        """
        if stage:
            return _independent(parts)
        launch = self.planner.prover.launch
        if launch.threads > GROUP_WARPS * launch.subgroup_size:
            return []
        contractions = {each for part in parts for each in _contractions(part)}
        return loads_behind(contractions, self.planner.prover.bits)

    def _under_way(self, groups: Sequence[WgmmaGroup]) -> list[Carried]:
        """Returns the sums of groups that may run on into the next iteration; none otherwise."""
        if not may_be_under_way(groups):
            return []
        try:
            return sums_under_way(groups, self.planner.prover.evaluator)
        except Refusal as refusal:
            self.waiting.append((groups[0].contractions[0].location, refusal.reason))
            return []

    def _count(self, groups: Iterable[WgmmaGroup]) -> None:
        for group in groups:
            self.formed.update(dict.fromkeys((run.allocation for run in group.runs), 1))


def _is_last_before_reads(barrier: ir.Operation) -> bool:
    """Returns whether `wgmma` may read behind a barrier, before threads meet at the next one."""
    block = operations_of(barrier.block)
    for each in block[block.index(barrier) + 1 :]:
        if each.name == BARRIER:
            return False
        if has_operation(each, BARRIER, _ASSEMBLY):
            return True
    return True


def _copies_before(first: ir.Operation) -> list[ir.Operation]:
    """Returns what issues copies right before a segment, and can as well do so inside it.

    A copy may be done at any time until it is waited for, so that no read of the segment may read
    what it writes.
    """
    block = operations_of(first.block)
    found: list[ir.Operation] = []
    for each in reversed(block[: block.index(first)]):
        inside = operations_in(each)
        copies = any(inner.name in _COPYING for inner in inside)
        used = any(len(list(result.uses)) for result in each.results)
        if not all(inner.name in _ISSUING or leaves_memory_alone(inner) for inner in inside):
            break
        if copies and used:
            break
        if copies:
            found.append(each)
    return found[::-1]


def _in_parts(groups: Sequence[WgmmaGroup], stage: int) -> list[list[WgmmaGroup]]:
    """Returns the groups of a stage in parts between which lanes compute.

    Those of the first stage are one part. Of groups that multiply what lanes compute from other
    results, those with one A in registers are a part: it runs while lanes compute the next A.
    """
    if stage == 0 or not all(group.in_registers for group in groups):
        return [list(groups)]
    return [list(part) for _, part in groupby(groups, key=lambda group: group.factor)]


def _in_stages(
    order: ContractionOrder, stages: Mapping[int, Sequence[Sequence[WgmmaGroup]]]
) -> Iterator[int]:
    """Yields the contractions by stages and parts, behind everything else that a part needs."""
    place_of = {each: place for place, each in enumerate(order.segment)}
    for stage, places in order.by_stages.items():
        parts = [[place_of[each] for each in _contractions(part)] for part in stages.get(stage, ())]
        for part in parts or [places]:
            needed = dict.fromkeys(source for place in part for source in order.operands(place))
            yield from (place for place in sorted(needed) if place not in places)
            yield from part


def _contractions(groups: Iterable[WgmmaGroup]) -> list[ir.Operation]:
    return [each for group in groups for each in group.contractions]


def _independent(parts: Sequence[Sequence[WgmmaGroup]]) -> list[ir.Operation]:
    """Returns what stands behind groups in their segment and needs none of their results."""
    contractions = {each for part in parts for each in _contractions(part)}
    block = operations_of(next(iter(contractions)).block)
    last = max(place for place, each in enumerate(block) if each in contractions)
    behind = [*takewhile(leaves_memory_alone, block[last + 1 :])]
    needing = dependents(contractions, behind)
    return [each for each in behind if each not in needing]
