# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One bank map in the place of many equal ones: the worst phase, and which others are the same.

Unrolled code has hundreds of phases to an access, one per instruction, wave and phase of the
instruction, and nearly all of them give the same picture. Here all of them are compared:

* *The same map*: every bank serves the same words, shared by the same lanes. Lanes are counted
  inside their phase, because phase 2 has other lanes than phase 1.
* *The same on other banks*: the banks have changed places, as they do where an access is the
  neighbour of another one.

Worked example, two waves that read a column of a tile whose rows fill all banks:

    wave 0    lanes 0-31 on bank 0
    wave 1    lanes 0-31 on bank 0     the same map
    and one column further:
    wave 0    lanes 0-31 on bank 1     the same on other banks
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from .accesses import LdsAccess, LdsTile
from .bank_map import BankMap, bank_map, worst_phase
from .layouts import Layout, MachineAccess, machine_accesses
from .lds_rules import Lds
from .quick_tuple import NamedTuple

Place = tuple[int, int, int]
"""(index of the instruction, issue, phase)."""
_BankCells = tuple[tuple[int, ...], ...]
"""The words of a bank, each as the positions in their phase of the lanes that want it."""


class FoldedMap(NamedTuple):
    """The phase that takes the most cycles, and what all other phases of the accesses look like.

    Attributes:
        shown: the map of that phase.
        instruction: the number of the machine instruction that it is a phase of.
        instructions: how many machine instructions the accesses are.
        phases: how many phases have an active lane, in all instructions and issues together.
        same: the (instruction, issue, phase) that have the same map, the shown one among them.
        moved: how many of the other phases have the same map on other banks.
        other_cycles: the fewest and the most cycles of those that look different; None without one.
    """

    shown: BankMap
    instruction: int
    instructions: int
    phases: int
    same: tuple[Place, ...]
    moved: int
    other_cycles: tuple[int, int] | None

    @property
    def same_by_axis(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
        """Returns the instructions, the issues and the phases whose combinations are `same`.

        None where `same` is no such block.
        """
        instructions, issues, phases = (
            tuple(sorted({place[axis] for place in self.same})) for axis in range(3)
        )
        block = set(product(instructions, issues, phases))
        return (instructions, issues, phases) if block == set(self.same) else None


def folded_map(
    lds: Lds, tile: LdsTile, layout: Layout, accesses: Sequence[LdsAccess]
) -> FoldedMap | None:
    """Returns the map of the worst phase of accesses under `layout`, with all others compared.

    Returns None where no lane is ever active. Raises what `machine_accesses` raises.
    """
    machines = _machines(lds, tile, layout, accesses)
    return fold_maps(machines, lds.bank_width_bytes)


def instruction_of(
    lds: Lds, tile: LdsTile, layout: Layout, accesses: Sequence[LdsAccess], number: int
) -> MachineAccess:
    """Returns the machine instruction of accesses under `layout` that has a number in their maps.

    Raises what `machine_accesses` raises.
    """
    return _machines(lds, tile, layout, accesses)[number]


def _machines(
    lds: Lds, tile: LdsTile, layout: Layout, accesses: Sequence[LdsAccess]
) -> list[MachineAccess]:
    return [
        machine for access in accesses for machine in machine_accesses(lds, tile, layout, access)
    ]


def fold_maps(machines: Sequence[MachineAccess], bank_width_bytes: int = 4) -> FoldedMap | None:
    """Returns the map of the worst phase of machine instructions, with all others compared.

    The addresses of `machines` are [issues, wave_size]. Returns None where no lane is ever active.
    """
    worst = worst_phase(machines, bank_width_bytes)
    if worst is None:
        return None
    shown = bank_map(machines[worst[0]], *worst[1:], bank_width_bytes)
    if not shown.cycles:
        return None
    cells = _cells(shown)
    moved_cells = _without_banks(cells)
    same: list[Place] = []
    moved = 0
    others: list[int] = []
    for found, places in _distinct_maps(machines, bank_width_bytes):
        alike = found.instruction.name == shown.instruction.name
        if alike and _cells(found) == cells:
            same += places
        elif alike and _without_banks(_cells(found)) == moved_cells:
            moved += len(places)
        else:
            others += [found.cycles] * len(places)
    phases = len(same) + moved + len(others)
    cycles = (min(others), max(others)) if others else None
    return FoldedMap(shown, worst[0], len(machines), phases, tuple(sorted(same)), moved, cycles)


def _distinct_maps(
    machines: Sequence[MachineAccess], bank_width_bytes: int
) -> Iterator[tuple[BankMap, list[Place]]]:
    """Yields the maps of all phases with active lanes, with the places that have each of them.

    A map may come more than once: places share one if their addresses differ by whole lines.
    """
    by_addresses: dict[object, list[Place]] = {}
    for index, machine in enumerate(machines):
        for key, issue, phase in _phase_keys(machine, bank_width_bytes):
            by_addresses.setdefault(key, []).append((index, issue, phase))
    for places in by_addresses.values():
        index, issue, phase = places[0]
        yield bank_map(machines[index], issue, phase, bank_width_bytes), places


def _phase_keys(machine: MachineAccess, bank_width_bytes: int) -> Iterator[tuple[object, int, int]]:
    """Yields (key, issue, phase); places with equal keys have the same map."""
    instruction = machine.instruction
    line = instruction.banks * bank_width_bytes
    active = np.ones(machine.addresses.shape, dtype=bool)
    if machine.active is not None:
        active = np.broadcast_to(machine.active, machine.addresses.shape)
    for issue in range(len(machine.addresses)):
        for phase, served in enumerate(machine.served(issue)):
            lanes = list(served)
            on, own = active[issue, lanes], machine.addresses[issue, lanes]
            if on.any():
                relative = np.where(on, own - own[on].min() // line * line, -1)
                yield (instruction.name, relative.tobytes()), issue, phase


def _cells(found: BankMap) -> tuple[_BankCells, ...]:
    """Returns what every bank serves, whatever the order of its words."""
    position: Mapping[int, int] = {lane: at for at, lane in enumerate(found.lanes)}
    return tuple(
        tuple(sorted(tuple(position[lane] for lane in word.lanes) for word in words))
        for words in found.words_by_bank
    )


def _without_banks(cells: tuple[_BankCells, ...]) -> tuple[_BankCells, ...]:
    return tuple(sorted(bank for bank in cells if bank))
