# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the LDS allocations of a function cost, access by access, under four layouts.

* *before*: plain, row-major, whatever hints and padding the IR has;
* *padded*: stock's 64 bits behind every row, the baseline that everybody knows;
* *standing*: what the IR says, hints honoured;
* *chosen*: the standing one, or the solver's proposal where the IR is still undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from iree.compiler import ir

from ..bank_model.accesses import LdsAccess, LdsTile
from ..bank_model.errors import InvalidParameterError
from ..bank_model.issue import LayoutCosts
from ..bank_model.lane_pattern import LanePattern, lane_pattern
from ..bank_model.layout_counts import (
    LayoutCount,
    count_layout,
    instruction_names,
    stock_padding,
)
from ..bank_model.layouts import (
    MAX_USEFUL_ALIGNMENT,
    AccessCost,
    Layout,
    MachineAccess,
    PaddedLayout,
    PlainLayout,
    SwizzledLayout,
)
from ..bank_model.lds_rules import AccessKind, Lds
from ..bank_model.lds_tables import is_copy_instruction, lds_of
from ..bank_model.least_cycles import least_cycles
from ..bank_model.map_folding import FoldedMap, folded_map, instruction_of
from ..bank_model.readings import shown_readings
from ..bank_model.targets import arch_named
from ..dialect_utils.described_tiles import arranged_number
from ..dialect_utils.diagnostics import Refusal, SourceLocation
from ..dialect_utils.gpu_target import Launch, gpu_target_of, launch_of, lds_model, why_no_launch
from ..dialect_utils.grid import workgroups_of
from ..dialect_utils.lowering_config import has_padding_pass
from ..dialect_utils.memory.lds_reading import ReadAllocation, read_allocations
from ..dialect_utils.operations import parents_of, symbol_of
from ..passes.base import UnresolvedHint
from ..passes.layout_policy import KnownTile, LayoutPolicy, PaddingBudget
from .proposals import proposed_layouts

LDMATRIX_NAME = "ldmatrix"
LAYOUTS = ("before", "padded", "standing", "chosen")


@dataclass(frozen=True, eq=False)
class AccessGroup:
    """Accesses of one kind, width and pattern: the same lanes, moved by a constant.

    Unrolled code reads a tile by many of them. They are ordered by their first element, and
    `members` are their indices among all accesses of the allocation.
    """

    kind: AccessKind
    elements_per_lane: int
    weight: int
    issues: int
    """Executions that `weight` multiplies: one per wave, and per iteration where these differ."""
    issue_name: str
    """What an issue is: "wave", or "issue" where iterations are told apart."""
    accesses: tuple[LdsAccess, ...]
    members: tuple[int, ...]
    locations: tuple[str, ...]
    """Distinct source locations, in the order of the program."""
    pattern: LanePattern
    least_cycles: int
    """The fewest LDS cycles that one of the accesses takes in any layout, without its weight."""

    @property
    def is_copy(self) -> bool:
        """Returns whether the accesses are `cp.async`."""
        return is_copy_instruction(self.accesses[0].instruction)

    @property
    def runs(self) -> int:
        """Returns how often one workgroup issues one of the accesses, all waves together."""
        return self.weight * self.issues

    def costs(self, count: LayoutCount) -> tuple[AccessCost, ...]:
        """Returns the members' costs under a counted layout, without weights."""
        return tuple(count.costs[member] for member in self.members)

    def conflict_cycles(self, count: LayoutCount) -> int:
        """Returns the weighted conflict cycles of all members under a counted layout."""
        return self.weight * sum(cost.conflict_cycles for cost in self.costs(count))

    def lds_cycles(self, count: LayoutCount) -> int:
        """Returns the weighted LDS cycles of all members, conflict cycles included."""
        return self.weight * sum(cost.wavefronts for cost in self.costs(count))

    @property
    def ideal_cycles(self) -> int:
        """Returns the fewest weighted LDS cycles of all members in any layout."""
        return self.weight * len(self.members) * self.least_cycles


@dataclass(frozen=True)
class CheckedProof:
    """Whether an independent count confirms what a report says of an allocation, in a sentence."""

    holds: bool
    text: str


@dataclass(frozen=True, eq=False)
class AllocationReport:
    """Everything known of one LDS allocation.

    The counts are None where the model does not apply at all, for example without a target; they
    hold for all accesses only when `unknown` is empty.
    """

    type: str
    """The type in the IR, without its memory space."""
    location: str
    lds_bytes: int | None
    """The LDS bytes that it takes in the IR as it stands; None for a dynamic shape."""
    lds: Lds | None = None
    tile: LdsTile | None = None
    """The logical, unpadded tile."""
    groups: tuple[AccessGroup, ...] = ()
    unknown: tuple[Refusal, ...] = ()
    assumptions: tuple[str, ...] = ()
    """What was taken for granted where the program does not say it."""
    remarks: tuple[str, ...] = ()
    """What else to know when reading the counts."""
    before: LayoutCount | None = None
    padded: LayoutCount | None = None
    standing: LayoutCount | None = None
    proposal: LayoutCount | None = None
    """The solver's layout, where it has fewer conflict cycles than a standing plain one."""
    undecided: bool = False
    """Whether a proposal counts as chosen: the IR comes before the passes that decide."""
    dropped: str = ""
    """Why the hints on it count as dropped, if they do."""
    decision: str = ""
    """What stands or is proposed, and why, in one line."""
    is_ours: bool = False
    """Whether one of our passes has chosen, or would choose, the layout that is shown as chosen."""
    arranged_number: int | None = None
    """The number of a tile that is arranged for descriptors of `wgmma`."""
    described: AllocationReport | None = None
    """Of such a tile the report without what `ldmatrix` reads, which descriptors may do instead."""
    descriptor_cycles: int = 0
    """The LDS cycles of a workgroup in which descriptors read it; no access counts them."""
    proof: CheckedProof | None = None
    """None where nobody asked for the check, or nothing could be counted."""

    @property
    def layouts(self) -> Mapping[str, LayoutCount | None]:
        """Returns the counts of the four layouts by their names, which are `LAYOUTS`."""
        counts = (self.before, self.padded, self.standing, self.chosen)
        return dict(zip(LAYOUTS, counts, strict=True))

    @property
    def chosen(self) -> LayoutCount | None:
        """Returns the proposal of an undecided allocation, else what stands."""
        return self.proposal if self.is_proposed else self.standing

    @property
    def is_proposed(self) -> bool:
        """Returns whether `chosen` is only a proposal."""
        return self.undecided and self.proposal is not None

    def lds_cycles(self, count: LayoutCount) -> int:
        """Returns the LDS cycles of all accesses that are known, under a counted layout."""
        return sum(group.lds_cycles(count) for group in self.groups)

    @property
    def ideal_cycles(self) -> int:
        """Returns the fewest LDS cycles of all known accesses, each in its own best layout."""
        return sum(group.ideal_cycles for group in self.groups)

    @property
    def has_conflicts(self) -> bool:
        """Returns whether the IR as it stands has conflict cycles, or may have."""
        return bool(self.unknown) or self.standing is None or self.standing.conflict_cycles > 0

    def folded_map(self, group: AccessGroup, layout: Layout) -> FoldedMap | None:
        """Returns the worst phase of the group's accesses under `layout`, all others compared.

        Returns None where no lane is ever active.
        """
        assert self.lds is not None
        assert self.tile is not None
        return folded_map(self.lds, self.tile, layout, group.accesses)

    def machine_access(self, group: AccessGroup, layout: Layout, number: int) -> MachineAccess:
        """Returns the machine instruction of the group that has a number in its maps."""
        assert self.lds is not None
        assert self.tile is not None
        return instruction_of(self.lds, self.tile, layout, group.accesses, number)

    def phases(self, group: AccessGroup, layout: Layout) -> tuple[tuple[int, ...], ...]:
        """Returns the lanes that the group's first machine instruction serves together."""
        return self.machine_access(group, layout, 0).served(0)

    def instructions(self, group: AccessGroup, layout: Layout) -> tuple[tuple[str, int], ...]:
        """Returns the machine instructions of the group under `layout`.

        Each comes with the number of times that the code has it.
        """
        assert self.lds is not None
        assert self.tile is not None
        return instruction_names(self.lds, self.tile, layout, group.accesses)


@dataclass(frozen=True, eq=False)
class FunctionReport:
    """The LDS allocations of one function."""

    name: str
    location: str
    arch: str = ""
    launch: Launch | None = None
    allocations: tuple[AllocationReport, ...] = ()
    note: str = ""
    """Why the function was not read; empty when it was."""
    unread: bool = False
    """Whether the function may use LDS that is not listed, as `note` says."""
    on_cpu: bool = False
    """Whether the function was compiled for a CPU, which has no LDS."""
    uncompiled: bool = False
    """Whether the function computes on tensors that no compile has distributed to lanes yet."""
    workgroups: int | None = None
    """The workgroups of one launch of a compiled kernel; None where they are not known."""

    @property
    def has_conflicts(self) -> bool:
        """Returns whether the function as it stands has conflict cycles, or may have."""
        return (
            self.unread or self.uncompiled or any(each.has_conflicts for each in self.allocations)
        )

    @property
    def is_device_code(self) -> bool:
        """Returns whether the function says how it is launched, or has LDS."""
        return self.launch is not None or bool(self.allocations)


def kernel_name(kernel: ir.Operation) -> str:
    """Returns the symbol of a function, or of that around a `gpu.launch`."""
    return next(filter(None, map(symbol_of, (kernel, *parents_of(kernel)))), "")


def function_location(function: ir.Operation) -> str:
    """Returns the function's `file:line:column`; empty without one."""
    return str(SourceLocation.of(function.location) or "")


_HOST_DIALECTS = frozenset({"flow", "func", "hal", "stream", "util"})
"""What calls a kernel, rather than computes."""


def computes_on_tensors(function: ir.Operation) -> bool:
    """Returns whether an op of `function` makes a tensor out of tensors, other than for a call.

    Such a function that says nothing of its launch has not been compiled: which LDS it will use
    is not decided yet.
    """
    found = False

    def look(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        op = op.operation
        if op.name.partition(".")[0] in _HOST_DIALECTS:
            return ir.WalkResult.ADVANCE
        found = _has_tensor(op.operands) and _has_tensor(op.results)
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    function.walk(look)
    return found


def _has_tensor(values: Iterable[ir.Value]) -> bool:
    return any(str(value.type).startswith(("tensor<", "!torch.vtensor<")) for value in values)


def report_function(
    function: ir.Operation,
    arch: str | None = None,
    *,
    decided: bool = False,
    only: Callable[[ir.Operation], bool] | None = None,
    unresolved: Mapping[str, UnresolvedHint] | None = None,
) -> FunctionReport:
    """Reads and counts every LDS allocation of `function`, which stays as it is.

    Args:
        arch: count for this architecture, whatever target the function has.
        decided: the passes that choose layouts have run: what stands is what they chose.
        only: tells which allocations to report on; None for all.
        unresolved: the allocations whose hints could not be resolved, as `PassContext` has them.
    """
    function = function.operation
    with function.context:
        info = gpu_target_of(function)
        launch = launch_of(function, arch=arch)
        shown_arch = arch or (info.arch if info is not None else "")
        try:
            lds = _lds(function, launch, arch)
        except Refusal as refusal:
            listed = read_allocations(function, None, refusal.reason)
            reports = [_unreadable(each) for each in listed]
        else:
            read = read_allocations(function, launch, drops_unread=lds.drops_unread)
            limit = None if arch or info is None else info.max_workgroup_memory_bytes
            fits = _stock_bytes(read) <= (limit or lds.workgroup_bytes)
            pads = fits and has_padding_pass(function)
            proposed = _Proposals(function, read, lds, arch or lds.arch, limit, unresolved or {})
            reports = [
                _report(each, lds, launch, pads, decided, proposed)
                for each in read
                if only is None or (each.operation is not None and only(each.operation))
            ]
    name, place = kernel_name(function), function_location(function)
    # IR of one's own has other ways to ask for its place in the grid.
    workgroups = workgroups_of(function) if decided else None
    return FunctionReport(name, place, shown_arch, launch, tuple(reports), workgroups=workgroups)


def _lds(function: ir.Operation, launch: Launch | None, arch: str | None) -> Lds:
    """Returns the bank model of `arch`, or of the function's own target.

    Raises:
        Refusal: there is none that fits the function's launch.
    """
    if arch is None:
        return lds_model(function, None)[0]
    lds = lds_of(arch_named(arch))
    if launch is None:
        raise Refusal(why_no_launch(function))
    if launch.subgroup_size != lds.wave_size:
        raise Refusal(
            f"waves of {launch.subgroup_size} lanes, but {arch} has waves of {lds.wave_size}"
        )
    return lds


@dataclass(frozen=True, eq=False)
class _Proposals:
    """What a compile would make of the allocations of a function that lie plain now."""

    function: ir.Operation
    allocations: Sequence[ReadAllocation]
    lds: Lds
    arch: str
    limit: int | None
    unresolved: Mapping[str, UnresolvedHint]

    def of(self, read: ReadAllocation) -> tuple[Layout, str]:
        """Returns the layout of an allocation, and why."""
        if read.operation is None:
            choice = LayoutPolicy(self.lds).propose(self._tensors[read])
            return choice.layout, choice.reason
        return self._memrefs.get(read.operation, (PlainLayout(), ""))

    @cached_property
    def _memrefs(self) -> Mapping[ir.Operation, tuple[Layout, str]]:
        return proposed_layouts(self.function, self.arch, self.limit, self.unresolved)

    @cached_property
    def _tensors(self) -> Mapping[ReadAllocation, KnownTile]:
        tiles = {
            each: LayoutCosts(self.lds, each.tile, each.accesses)
            for each in self.allocations
            if each.operation is None
            and not each.fixed
            and each.tile is not None
            and isinstance(each.layout, PlainLayout)
            and not each.unknown
        }
        budget = PaddingBudget(self.lds, tuple(tiles.values()))
        return {
            each: KnownTile(
                costs.tile, costs.accesses, padded=partial(budget.rows, number), costs=costs
            )
            if has_padding_pass(self.function)
            else KnownTile(costs.tile, costs.accesses, costs=costs)
            for number, (each, costs) in enumerate(tiles.items())
        }


def _stock_bytes(allocations: Sequence[ReadAllocation]) -> int:
    """Returns the LDS bytes of all allocations together if stock pads them."""
    return sum(
        (each.lds_bytes or 0)
        if each.tile is None
        else stock_padding(each.tile, each.accesses).size_bytes(each.tile)
        for each in allocations
    )


def _unreadable(read: ReadAllocation) -> AllocationReport:
    return AllocationReport(
        read.type,
        read.location,
        read.lds_bytes,
        unknown=read.unknown,
        decision=f"not known: {read.unknown[0].reason}",
    )


def _report(
    read: ReadAllocation,
    lds: Lds,
    launch: Launch | None,
    stock_pads: bool,
    decided: bool,
    proposed: _Proposals,
) -> AllocationReport:
    """Counts one allocation; `stock_pads` says whether stock would pad those of the function."""
    tile = read.tile
    if tile is None or launch is None:
        return _unreadable(read)
    try:
        # What may access several allocations counts with the first of them, so that sums are right.
        accesses = read.costing

        def counted(accesses: tuple[LdsAccess, ...]) -> AllocationReport:
            known = read, tile, accesses
            return _counted(*known, lds, launch, stock_pads, decided, proposed)

        report = counted(accesses)
        number = None if read.operation is None else arranged_number(read.operation)
        if number is None or not decided:
            return report
        described = counted(tuple(a for a in accesses if a.instruction != LDMATRIX_NAME))
        return replace(report, arranged_number=number, described=described)
    except InvalidParameterError as error:
        reason = Refusal(f"its accesses cannot be counted: {error}", read.location)
        return _unreadable(replace(read, unknown=(reason, *read.unknown)))


def _counted(
    read: ReadAllocation,
    tile: LdsTile,
    accesses: tuple[LdsAccess, ...],
    lds: Lds,
    launch: Launch,
    stock_pads: bool,
    decided: bool,
    proposed: _Proposals,
) -> AllocationReport:
    shares_accesses = len(read.counted) < len(read.accesses)

    def count(layout: Layout) -> LayoutCount:
        found = count_layout(lds, tile, layout, accesses)
        return found._replace(lds_bytes=0) if read.never_read else found

    before = count(PlainLayout())
    pads = stock_pads and not read.never_padded
    stock = stock_padding(tile, read.accesses) if pads else PlainLayout()
    layout = read.layout
    standing = before if isinstance(layout, PlainLayout) else count(layout)
    reason, proposal = "", None
    may_gain = before.conflict_cycles or shares_accesses
    if isinstance(layout, PlainLayout) and may_gain and not read.unknown and not read.fixed:
        better, reason = proposed.of(read)
        proposal = None if isinstance(better, PlainLayout) else count(better)
    groups = group_accesses(lds, tile, accesses, launch)
    shown = standing if proposal is None or decided else proposal
    joinable = _joinable(groups, tile) if read.emitted(True) is None else []
    report = AllocationReport(
        read.type,
        read.location,
        standing.lds_bytes,
        lds=lds,
        tile=tile,
        groups=groups,
        unknown=read.unknown,
        assumptions=read.assumptions,
        remarks=(*joinable, *shown_readings(lds, tile, shown.layout, accesses)),
        before=before,
        padded=before if isinstance(stock, PlainLayout) else count(stock),
        standing=standing,
        proposal=proposal,
        undecided=not decided,
        dropped=read.dropped,
        is_ours=proposal is not None and not decided,
    )
    if read.never_read:
        return replace(report, decision="nobody reads it, and the backend leaves it out")
    return replace(report, decision=_decision(report, tile, before, standing, reason, read.fixed))


def with_accesses(
    report: AllocationReport, accesses: Sequence[LdsAccess], launch: Launch
) -> AllocationReport:
    """Returns the report on a decided allocation as it is with other accesses."""
    lds, tile = report.lds, report.tile
    before, padded, standing = report.before, report.padded, report.standing
    assert lds and tile and before and padded and standing
    counts = [count_layout(lds, tile, each.layout, accesses) for each in (before, padded, standing)]
    groups = group_accesses(lds, tile, accesses, launch)
    made = replace(
        report,
        groups=groups,
        remarks=(*_joinable(groups, tile), *shown_readings(lds, tile, standing.layout, accesses)),
        before=counts[0],
        padded=counts[1],
        standing=counts[2],
        proposal=None,
    )
    return replace(made, decision=_decision(made, tile, counts[0], counts[2]))


def group_accesses(
    lds: Lds, tile: LdsTile, accesses: Sequence[LdsAccess], launch: Launch
) -> tuple[AccessGroup, ...]:
    """Groups accesses by kind, width, weight and pattern, in the order of the groups' first."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for index, access in enumerate(accesses):
        relative = access.elements - _first_element(access)
        if access.active is not None:
            relative = np.where(access.active, relative, 0)
        mask = None if access.active is None else access.active.tobytes()
        shape = (access.kind, access.count, access.weight, access.instruction, relative.shape)
        read = None if access.copied is None else access.copied.key
        alike.setdefault((*shape, relative.tobytes(), mask, read), []).append(index)
    groups: list[AccessGroup] = []
    for program_order in alike.values():
        members = sorted(program_order, key=lambda index: _first_element(accesses[index]))
        chosen = tuple(accesses[index] for index in members)
        first = chosen[0]
        issues = len(first.elements)
        issue_name = "wave" if issues == launch.waves else "issue"
        groups.append(
            AccessGroup(
                kind=first.kind,
                elements_per_lane=first.count,
                weight=first.weight,
                issues=issues,
                issue_name=issue_name,
                accesses=chosen,
                members=tuple(members),
                locations=tuple(dict.fromkeys(accesses[i].location for i in program_order)),
                pattern=lane_pattern(tile, chosen, issue_name),
                least_cycles=least_cycles(lds, tile, first),
            )
        )
    return tuple(groups)


def _joinable(groups: Sequence[AccessGroup], tile: LdsTile) -> list[str]:
    """Returns remarks on neighbouring accesses that the backend may join to an aligned wider one.

    Resolving a swizzle may split a vector; where its parts stay side by side, LLVM joins them.
    """
    notes: list[str] = []
    for kind in AccessKind:
        joined = False
        for group in groups:
            width = 2 * group.elements_per_lane
            if group.kind is kind and width * tile.element_bits <= MAX_USEFUL_ALIGNMENT * 8:
                firsts = {_first_element(access) for access in group.accesses}
                neighbours = {
                    first for first in firsts if first + group.elements_per_lane in firsts
                }
                joined |= any(
                    _first_element(access) in neighbours and _is_aligned(access, width)
                    for access in group.accesses
                )
        if joined:
            notes.append(
                f"neighbouring {kind.value}s count one by one, as the IR has them; the backend may "
                "join them"
            )
    return notes


def _is_aligned(access: LdsAccess, elements: int) -> bool:
    return not bool((access.starts % elements).any())


def _first_element(access: LdsAccess) -> int:
    """Returns the element of the first active lane."""
    return int(access.starts.flat[0]) if access.starts.size else 0


def shown_layout(layout: Layout, tile: LdsTile) -> str:
    """Returns a layout in a few words, with padding in bytes as in the passes' remarks."""
    if isinstance(layout, PaddedLayout):
        return f"padded by {layout.padding_elements * tile.element_bits // 8} bytes a row"
    return f"swizzled with {layout}" if isinstance(layout, SwizzledLayout) else str(layout)


def _decision(
    report: AllocationReport,
    tile: LdsTile,
    before: LayoutCount,
    standing: LayoutCount,
    reason: str = "",
    fixed: str = "",
) -> str:
    """Returns what stands or is proposed, and why, in one line."""
    parts: list[str] = []
    if report.dropped:
        why = report.dropped
        parts.append(f"its swizzle hints cannot be resolved and count as dropped: {why}")
    if not isinstance(standing.layout, PlainLayout):
        shown = shown_layout(standing.layout, tile)
        parts.append(f"{shown}: {_cycles(before.conflict_cycles, standing.conflict_cycles)}")
    elif report.unknown:
        uses = f"{len(report.unknown)} uses are" if len(report.unknown) > 1 else "1 use is"
        parts.append(f"plain; {uses} not known, so nothing can be proposed")
    elif not standing.conflict_cycles:
        parts.append("the plain layout has no bank conflicts")
    elif fixed:
        parts.append(f"plain: {fixed}")
    elif report.proposal is None:
        parts.append(
            "plain; nothing found within stock's LDS bytes has fewer than its "
            f"{standing.conflict_cycles:,} conflict cycles"
        )
    else:
        if not report.undecided:
            parts.append("plain")
        shown = shown_layout(report.proposal.layout, tile)
        better = _cycles(before.conflict_cycles, report.proposal.conflict_cycles)
        parts.append(f"proposed: {shown}: {better}; {reason}")
    return "; ".join(parts)


def _cycles(before: int, after: int) -> str:
    return f"{before:,} -> {after:,} conflict cycles"
