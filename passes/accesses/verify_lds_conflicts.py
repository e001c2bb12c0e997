# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails a compile whose LDS accesses have bank conflicts, or may have.

Runs on the final IR, where every access has one flat offset; hints on it are honoured as
`bankwise-resolve-swizzle-hints` resolves them. An access is judged by one execution of one wave,
the worst of all waves, iterations and workgroups. An access that cannot be evaluated fails too: a
check that was not made has not been passed. So does one at an address that its instruction cannot
take (`dialect_utils/memory/lds_ops.py`), whoever has chosen the layout.

LLVM may join accesses to neighbouring elements, and what is joined may have no conflicts where its
parts have some. Whether it does is known from the compiled code alone
(`iree_plugin/compiled_accesses.py`): a compile asks that, if such conflicts are all that there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from iree.compiler import ir

from ...bank_model.accesses import AccessKind, LdsAccess
from ...bank_model.async_copies import WHY_COPIES_CONFLICT, CopyCost
from ...bank_model.bank_map import BankMap, worst_bank_map
from ...bank_model.conflicts import phase_costs
from ...bank_model.errors import InvalidParameterError
from ...bank_model.layouts import (
    MachineAccess,
    SwizzledLayout,
    access_copy,
    machine_accesses,
)
from ...bank_model.lds_rules import Lds
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.shown_text import counted
from ...dialect_utils.diagnostics import PassFailure, Refusal, location_at
from ...dialect_utils.gpu_target import lds_model
from ...dialect_utils.kernels import kernels_of
from ...dialect_utils.memory.lds_ops import Misaligned
from ...dialect_utils.memory.lds_reading import (
    ReadAllocation,
    check_aligned,
    read_allocations,
)
from ...dialect_utils.operations import symbol_of
from ..base import FunctionPass, PassContext, Unsettled, Width


@dataclass(frozen=True)
class VerifyLdsConflicts(FunctionPass):
    """Fails for an LDS access with more conflict cycles than allowed, or not known."""

    name: ClassVar[str] = "bankwise-verify-lds-conflicts"
    summary: ClassVar[str] = "fail where an LDS access has, or may have, bank conflicts"
    on_all_functions: ClassVar[bool] = True

    max_cycles: int = 0
    """The most conflict cycles that one wave may have in one execution of an access."""

    def __post_init__(self) -> None:
        self._expect("max_cycles", self.max_cycles >= 0, "a number of cycles")

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Changes nothing.

        Raises:
            PassFailure: at the access with the most conflict cycles, or at one that is not known.
        """
        function = function.operation
        with function.context:
            faults: list[_Fault] = []
            joined = Counter[Width]()
            for kernel in kernels_of(function):
                faults += self._faults_of(kernel, context.test_target, joined)
            if not faults:
                return
            worst = max(faults, key=lambda fault: fault.rank)
            more = len(faults) - 1
            rest = f" (and {more} more such accesses)" if more else ""
            may_be_joined = all(fault.joined for fault in faults)
            if may_be_joined and context.unsettled is None:
                rest += _UNLESS_JOINED
            failure = PassFailure(location_at(worst.location, function), worst.message + rest)
            if context.unsettled is None or not may_be_joined:
                raise failure
            widths = frozenset[Width]().union(*(fault.joined for fault in faults))
            context.unsettled.append(Unsettled(symbol_of(function), failure, widths, joined))

    def _faults_of(
        self, kernel: ir.Operation, test_target: str | None, joined: Counter[Width]
    ) -> Iterator[_Fault]:
        """Yields what is wrong with the accesses of a function or of a `gpu.launch`.

        Args:
            joined: counts what the backend makes of them if it joins all that it may.
        """
        try:
            lds, launch = lds_model(kernel, test_target)
        except Refusal as refusal:
            for unread in read_allocations(kernel, None):
                message = f"LDS accesses to {unread.type} cannot be verified: {refusal}"
                place = location_at(unread.location, kernel)
                raise PassFailure(place, message) from refusal
            return
        for allocation in read_allocations(
            kernel, launch, in_all_workgroups=True, drops_unread=lds.drops_unread
        ):
            faults = list(self._faults(allocation, lds))
            yield from faults
            joined.update(width for width, _ in _joined(allocation, lds))

    def _faults(self, allocation: ReadAllocation, lds: Lds) -> Iterator[_Fault]:
        """Yields what is wrong with the accesses to one allocation."""
        for use in allocation.unknown:
            yield _Fault(
                use.location or allocation.location,
                f"an access to {allocation.type} cannot be verified: {use.reason}",
            )
        if allocation.tile is None:
            return
        joined = _joined_widths(allocation, lds)
        for access, machines in _standing_accesses(allocation, lds):
            try:
                check_aligned(allocation, access)
            except Misaligned as fault:
                yield _Fault(fault.location, fault.reason, misaligned=True)
                continue
            if isinstance(machines, InvalidParameterError):
                text = f"an access to {allocation.type} cannot be counted: {machines}"
                yield _Fault(access.location or allocation.location, text)
                continue
            copy = access_copy(lds, allocation.tile, allocation.layout, access)
            if copy is not None:
                if copy.most_conflicts > self.max_cycles:
                    text = _copy_message(allocation, access, copy)
                    place = access.location or allocation.location
                    yield _Fault(place, text, copy.most_conflicts)
                continue
            cycles = _worst_wave(machines)
            if cycles > self.max_cycles:
                worst = worst_bank_map(machines)
                assert worst is not None
                text = _message(allocation, access, cycles, worst)
                place = access.location or allocation.location
                whole = joined.get(access.kind, 0)
                least = access.count * allocation.tile.element_bits // 8
                apart = range(least, whole) if not access.instruction else ()
                widths = frozenset((access.kind, each) for each in apart)
                yield _Fault(place, text, cycles, joined=widths)


_UNLESS_JOINED = (
    ", unless LLVM joins it with its neighbours; bankwise-compile --bankwise-verify asks the "
    "compiled code"
)


def _joined(allocation: ReadAllocation, lds: Lds) -> list[tuple[Width, int]]:
    """Returns what the backend makes of the accesses if it joins all that it may.

    With each width come the conflict cycles of the worst wave. Nothing is returned where an access
    cannot be counted, or is split by a hint.
    """
    found: list[tuple[Width, int]] = []
    if allocation.tile is None or isinstance(allocation.layout, SwizzledLayout):
        return found
    for access in allocation.emitted(False) or ():
        try:
            machines = machine_accesses(lds, allocation.tile, allocation.layout, access)
        except InvalidParameterError:
            return []
        size = access.count * allocation.tile.element_bits // 8
        found.append(((access.kind, size), _worst_wave(machines)))
    return found


def _joined_widths(allocation: ReadAllocation, lds: Lds) -> dict[AccessKind, int]:
    """Returns the widest accesses of each kind that the backend may make, in bytes of a lane, where
    none of them has conflicts if it joins all that it may."""
    joined = _joined(allocation, lds)
    conflicting = {kind for (kind, _), cycles in joined if cycles}
    sizes: dict[AccessKind, int] = {}
    for (kind, size), _ in joined:
        if kind not in conflicting:
            sizes[kind] = max(size, sizes.get(kind, 0))
    return sizes


def _standing_accesses(
    allocation: ReadAllocation, lds: Lds
) -> Iterator[tuple[LdsAccess, tuple[MachineAccess, ...] | InvalidParameterError]]:
    """Yields each known access, with the machine accesses that it becomes.

    Where these are not known, the reason stands in their place.
    """
    if allocation.tile is None:
        return
    for access in allocation.accesses:
        try:
            yield access, machine_accesses(lds, allocation.tile, allocation.layout, access)
        except InvalidParameterError as error:
            yield access, error


class _Fault(NamedTuple):
    """An access that fails the check; `location` is `file:line:column` or empty."""

    location: str
    message: str
    cycles: int | None = None
    """The conflict cycles; None for an access that is not known."""
    misaligned: bool = False
    """The access is at an address that its instruction cannot take."""
    joined: frozenset[Width] = frozenset()
    """If the compiled code has no such instructions, the access is part of a wider one there, which
    has no conflicts. None where nothing wider can be made of it."""

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """Returns what cannot run counts most, what conflicts more than what is not known."""
        return self.misaligned, self.cycles is not None, self.cycles or 0


def _worst_wave(machines: tuple[MachineAccess, ...]) -> int:
    """Returns the conflict cycles of the wave that has most of them."""
    total: np.ndarray | None = None
    for machine in machines:
        costs = phase_costs(machine.instruction, machine.addresses, machine.active)
        lost = np.maximum(costs - 1, 0).sum(axis=1)
        total = lost if total is None else total + lost
    return 0 if total is None or not total.size else int(total.max())


def _copy_message(allocation: ReadAllocation, access: LdsAccess, copy: CopyCost) -> str:
    most = "" if copy.exact else "up to "
    cycles = counted(copy.most_conflicts, "conflict cycle")
    return f"{access.instruction} to {allocation.type} has {most}{cycles}: {WHY_COPIES_CONFLICT}"


def _message(allocation: ReadAllocation, access: LdsAccess, cycles: int, worst: BankMap) -> str:
    bank = max(worst.conflicting_banks, key=lambda b: len(worst.words_by_bank[b]))
    words = worst.words_by_bank[bank]
    lanes = sorted(lane for word in words for lane in word.lanes)
    return (
        f"{access.kind.value} of {counted(access.count, 'element')} a lane of {allocation.type} "
        f"has {counted(cycles, 'conflict cycle')}: {worst.instruction.name} takes {worst.cycles} "
        f"cycles where lanes {_shown(lanes)} want {len(words)} words of bank {bank}"
    )


def _shown(lanes: list[int]) -> str:
    """Returns lane numbers as text, without the rest of a long list."""
    most = 8
    text = ", ".join(map(str, lanes[:most]))
    return text if len(lanes) <= most else f"{text}, ... ({len(lanes)} lanes)"
