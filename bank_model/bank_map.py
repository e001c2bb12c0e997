# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which lane wants which word of which bank, in one phase of one instruction.

A bank map is the picture behind a count of conflict cycles: a bank with k words takes k cycles,
and the phase takes as many as its busiest bank.

Worked example, lanes 0 and 1 of one phase reading words 0 and 32 of 32 banks:

    bank      0    1    2  ...
    cycle 1   0
    cycle 2   1                 two words on bank 0: one conflict cycle
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .conflicts import phase_costs
from .errors import InvalidParameterError
from .layouts import MachineAccess
from .lds_rules import LdsInstruction
from .quick_tuple import NamedTuple


class BankWord(NamedTuple):
    """A word that a phase touches, and the lanes that share it."""

    word: int
    """Index of the 4-byte word, counted from the start of the tile."""
    lanes: tuple[int, ...]


class BankMap(NamedTuple):
    """One phase of one issue of a machine instruction."""

    instruction: LdsInstruction
    issue: int
    """Row of the access's addresses: which wave, or which execution."""
    phase: int
    """Index into `served`."""
    served: tuple[tuple[int, ...], ...]
    """The lanes of each phase of the issue; none for the second of two phases that are one."""
    words_by_bank: tuple[tuple[BankWord, ...], ...]
    """The distinct words on each bank, ascending."""

    @property
    def cycles(self) -> int:
        """Returns the cycles that the phase takes; 0 without active lanes."""
        return max(map(len, self.words_by_bank))

    @property
    def conflict_cycles(self) -> int:
        """Returns the cycles lost to conflicts."""
        return max(self.cycles - 1, 0)

    @property
    def conflicting_banks(self) -> tuple[int, ...]:
        """Returns the banks with more than one word."""
        return tuple(bank for bank, words in enumerate(self.words_by_bank) if len(words) > 1)

    @property
    def lanes_by_bank(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Returns the lanes that want each word of each bank: all that a picture shows."""
        return tuple(tuple(word.lanes for word in words) for words in self.words_by_bank)

    @property
    def lanes(self) -> tuple[int, ...]:
        """Returns the lanes of the phase."""
        return self.served[self.phase]

    @property
    def phases(self) -> int:
        """Returns how many phases the issue has, two that are one counted once."""
        return sum(map(bool, self.served))

    @property
    def number(self) -> int:
        """Returns which of these it is, from 1."""
        return sum(map(bool, self.served[: self.phase])) + 1


def bank_map(machine: MachineAccess, issue: int, phase: int, bank_width_bytes: int = 4) -> BankMap:
    """Returns the map of one phase of one issue; `machine.addresses` is [issues, wave_size].

    Raises InvalidParameterError for an issue or phase that does not exist.
    """
    instruction = machine.instruction
    for name, value, count in (
        ("issue", issue, len(machine.addresses)),
        ("phase", phase, len(instruction.phases)),
    ):
        if not 0 <= value < count:
            raise InvalidParameterError(name, value, f"0 to {count - 1}")
    active = None
    if machine.active is not None:
        active = np.broadcast_to(machine.active, machine.addresses.shape)[issue]
    banks: list[dict[int, list[int]]] = [{} for _ in range(instruction.banks)]
    served = machine.served(issue)
    for lane in served[phase]:
        if active is not None and not active[lane]:
            continue
        address = int(machine.addresses[issue, lane])
        last = (address + instruction.width_bytes - 1) // bank_width_bytes
        for word in range(address // bank_width_bytes, last + 1):
            banks[word % instruction.banks].setdefault(word, []).append(lane)
    words = tuple(
        tuple(BankWord(word, tuple(lanes)) for word, lanes in sorted(by_word.items()))
        for by_word in banks
    )
    return BankMap(instruction, issue, phase, served, words)


def phase_maps(machines: Sequence[MachineAccess], issues: Sequence[int]) -> Iterator[list[BankMap]]:
    """Yields a map in each of `machines` for each phase of the first of them.

    They are the instructions of one access in several layouts. Where these have other phases, the
    one is shown that serves the first lane. Phases in which one of them does nothing are left out.
    """
    first = machines[0]
    for issue in issues:
        for lanes in filter(None, first.served(issue)):
            maps = [bank_map(each, issue, _phase_of(lanes[0], each, issue)) for each in machines]
            if all(each.cycles for each in maps):
                yield maps


def _phase_of(lane: int, machine: MachineAccess, issue: int) -> int:
    return next(phase for phase, lanes in enumerate(machine.served(issue)) if lane in lanes)


def worst_phase(
    machines: Sequence[MachineAccess], bank_width_bytes: int = 4
) -> tuple[int, int, int] | None:
    """Returns (index into `machines`, issue, phase) of the first phase with the most cycles.

    None when there is no instruction at all. Addresses are [issues, wave_size].
    """
    worst: tuple[int, tuple[int, int, int]] | None = None
    for index, machine in enumerate(machines):
        costs = phase_costs(
            machine.instruction, machine.addresses, machine.active, bank_width_bytes
        )
        if not costs.size:
            continue
        issue, phase = np.unravel_index(int(costs.argmax()), costs.shape)
        cycles = int(costs[issue, phase])
        if worst is None or cycles > worst[0]:
            worst = cycles, (index, int(issue), int(phase))
    return None if worst is None else worst[1]


def worst_bank_map(machines: Sequence[MachineAccess], bank_width_bytes: int = 4) -> BankMap | None:
    """Returns the map of the phase with the most cycles; None when there is no instruction."""
    place = worst_phase(machines, bank_width_bytes)
    if place is None:
        return None
    index, issue, phase = place
    return bank_map(machines[index], issue, phase, bank_width_bytes)
