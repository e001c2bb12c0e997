# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `cp.async` changes in a report, which has been made before there is any.

Layouts are counted before `bankwise-overlap-copies` makes copies asynchronous
(`observed_compile.py`). So it is looked again right behind it: in the place of the stores to a tile
count the `cp.async` to its slots, as often as they are issued, with what their lanes read. Slots
are resolved by then, and what is copied is looked up in the tile: layouts that the tile could have
had are counted for `cp.async`, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from iree.compiler import ir

from ..bank_model.accesses import LdsAccess, LdsTile
from ..bank_model.async_copies import WHY_COPIES_CONFLICT
from ..bank_model.layouts import Layout, access_copy
from ..bank_model.lds_rules import AccessKind
from ..bank_model.lds_tables import is_copy_instruction
from ..bank_model.shown_text import counted
from ..dialect_utils.diagnostics import Refusal
from ..dialect_utils.gpu_target import Launch, launch_of
from ..dialect_utils.memory.lane_accesses import without_repetition
from ..dialect_utils.memory.lds_ops import COPY
from ..dialect_utils.memory.lds_reading import ReadAllocation, read_allocations
from ..dialect_utils.operations import operations_in
from ..passes.base import FunctionPass, PassContext
from .conflict_report import AllocationReport, FunctionReport, with_accesses
from .described_reads import SymbolPath, symbol_path


@dataclass(frozen=True)
class ObserveCopies(FunctionPass):
    """Looks where and what `cp.async` copies in every function."""

    name: ClassVar[str] = "bankwise-observe-copies"
    summary: ClassVar[str] = "see what cp.async copies to the LDS, and change nothing"

    seen: dict[SymbolPath, list[ReadAllocation]] = field(default_factory=dict, compare=False)
    """The allocations of functions that have copies."""

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Adds what is copied in `function` to `seen`."""
        function = function.operation
        with function.context:
            if operations_in(function, COPY):
                self.seen[symbol_path(function)] = read_allocations(function, launch_of(function))

    def forget(self, function: ir.Operation) -> None:
        """Takes what is copied in `function` out of `seen`."""
        self.seen.pop(symbol_path(function), None)

    def corrected(self, path: SymbolPath, report: FunctionReport) -> FunctionReport:
        """Returns the report on the function of a path, as it is with copies."""
        found = self.seen.get(path)
        if found is None or report.launch is None:
            return report
        if len(found) != len(report.allocations):
            reason = Refusal("its cp.async are not counted: other allocations are there by then")
            return replace(
                report,
                allocations=tuple(
                    replace(each, unknown=(*each.unknown, reason)) for each in report.allocations
                ),
            )
        pairs = zip(report.allocations, found, strict=True)
        allocations = tuple(_with_copies(each, read, report.launch) for each, read in pairs)
        return replace(report, allocations=allocations)


def _with_copies(
    report: AllocationReport, read: ReadAllocation, launch: Launch
) -> AllocationReport:
    """Returns the report on an allocation, which is `read` again behind the copies' forming."""
    copies = [each for each in read.accesses if is_copy_instruction(each.instruction)]
    if not copies:
        return report
    unknown = tuple(each for each in read.unknown if each not in report.unknown)
    with_unknown = replace(report, unknown=(*report.unknown, *unknown))
    if report.tile is None or report.standing is None or read.tile is None:
        return with_unknown
    slot = _Slot(report.tile, report.standing.layout, read.tile)
    try:
        copied = [slot.in_tile(each) for each in copies]
    except Refusal as refusal:
        return replace(with_unknown, unknown=(*with_unknown.unknown, refusal))
    described = report.described
    if described is not None:
        described = _recounted(described, copied, read, launch)
    found = _recounted(with_unknown, copied, read, launch)
    return replace(found, described=described)


def _recounted(
    report: AllocationReport,
    copies: Iterable[LdsAccess],
    read: ReadAllocation,
    launch: Launch,
) -> AllocationReport:
    """Returns a report with `cp.async` in the place of stores."""
    reads = [
        (member, access)
        for group in report.groups
        if group.kind is AccessKind.READ
        for member, access in zip(group.members, group.accesses, strict=True)
    ]
    kept = [access for _, access in sorted(reads, key=lambda each: each[0])]
    made = with_accesses(report, [*_merged(copies), *kept], launch)
    assumptions = tuple(dict.fromkeys((*report.assumptions, *read.assumptions)))
    remarks = (*made.remarks, *_copy_remarks(made))
    return replace(made, assumptions=assumptions, remarks=remarks)


def _copy_remarks(report: AllocationReport) -> list[str]:
    """Returns remarks on what is to be known of the copies' conflicts."""
    assert report.lds is not None
    assert report.tile is not None
    assert report.standing is not None
    found = [
        (group, access_copy(report.lds, report.tile, report.standing.layout, access))
        for group in report.groups
        for access in group.accesses
    ]
    copies = [(group, copy) for group, copy in found if copy is not None]
    cycles = sum(group.weight * copy.conflict_cycles for group, copy in copies)
    remarks: list[str] = []
    if cycles:
        conflicts = counted(cycles, "conflict cycle", separator=",")
        remarks.append(f"cp.async has {conflicts}: {WHY_COPIES_CONFLICT}")
    if not all(copy.exact for _, copy in copies):
        remarks.append("the conflict cycles of cp.async are the most that they may be")
    if not all(copy.exact_wavefronts for _, copy in copies):
        remarks.append(
            "the LDS cycles of cp.async of which some lanes may read nothing are those of most "
            "kernels: ptxas chooses between instructions"
        )
    return remarks


def _merged(accesses: Iterable[LdsAccess]) -> list[LdsAccess]:
    """Returns accesses of which equal ones, as those before a loop and in it, are one."""
    found: dict[object, LdsAccess] = {}
    for access in accesses:
        mask = None if access.active is None else access.active.tobytes()
        read = None if access.copied is None else access.copied.key
        key = (access.elements.tobytes(), access.count, access.instruction, mask, read)
        other = found.get(key)
        weight = access.weight + (0 if other is None else other.weight)
        found[key] = replace(access, weight=weight)
    return list(found.values())


class _Slot:
    """Which elements of a tile lie where in each of the slots that have taken its place."""

    def __init__(self, tile: LdsTile, layout: Layout, slots: LdsTile) -> None:
        """Looks up the places of all elements."""
        self._places = layout.offsets(tile, np.arange(tile.elements))
        size = layout.size_bytes(tile) * 8 // tile.element_bits
        number = slots.elements // size
        self._size = slots.elements // number if number and not slots.elements % number else 0
        self._same = tile.element_bits == slots.element_bits
        self._elements = np.full(max(self._size, size), -1, dtype=np.int64)
        self._elements[self._places] = np.arange(tile.elements)

    def in_tile(self, access: LdsAccess) -> LdsAccess:
        """Returns an access to the slots as one to the tile.

        Raises:
            Refusal: it reaches what is not in the tile.
        """
        if not self._size or not self._same:
            raise Refusal("its cp.async are not counted: it is not known which slots it has")
        elements: npt.NDArray[np.int64] = self._elements[access.elements % self._size]
        if (elements < 0).any():
            raise Refusal("its cp.async are not counted: they write behind the rows of the tile")
        return without_repetition(replace(access, elements=elements))
