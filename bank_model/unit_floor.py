# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The conflicts that remain in every layout that moves runs of elements as a whole.

A direct store writes `unit` elements of each lane to neighbouring places of the LDS, so that these
stay together in every layout. A word keeps its place in its unit of W words, and this place is its
bank modulo W. Of B banks only B / W have a given remainder modulo W. So if a phase wants n distinct
words with the same remainder, some bank must deliver at least ceil(n / (B / W)) of them, wherever
the layout puts the units.

Worked example: units of 16 bytes (W = 4) and 64 banks. Each of 32 lanes reads the first 8 bytes of
a unit: 32 words have remainder 0, and 32 words have remainder 1. There are 16 banks for each
remainder. So some bank delivers two words, and the phase takes two cycles instead of one in any
layout.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .accesses import LdsAccess, LdsTile
from .distinct_numbers import distinct_numbers
from .layouts import MachineAccess, PlainLayout, machine_accesses
from .lds_rules import Lds


def unit_conflict_floor(lds: Lds, tile: LdsTile, accesses: Iterable[LdsAccess], unit: int) -> int:
    """Returns the weighted conflict cycles of every layout that moves `unit` elements together.

    A layout may split an access that is wider than a unit, or that crosses from one unit into
    another. Nothing is claimed for such accesses.
    """
    unit_words = unit * tile.element_bits // (8 * lds.bank_width_bytes)
    if unit_words < 2:
        return 0
    total = 0
    for access in accesses:
        if (access.starts % unit).max(initial=0) + access.count > unit:
            continue
        for machine in machine_accesses(lds, tile, PlainLayout(), access):
            total += access.weight * _floor(machine, unit_words, lds.bank_width_bytes)
    return total


def _floor(machine: MachineAccess, unit_words: int, bank_bytes: int) -> int:
    """Returns the conflict cycles of one machine instruction that no layout avoids."""
    banks = machine.instruction.banks
    if unit_words > banks:
        return 0
    each = np.arange(max(machine.instruction.width_bytes // bank_bytes, 1))
    words = machine.addresses[..., None] // bank_bytes + each
    lost = 0
    for issue, (row, on) in enumerate(zip(words, _active(machine), strict=True)):
        for phase in filter(None, machine.served(issue)):
            lanes = np.array(phase)
            wanted = distinct_numbers(row[lanes[on[lanes]]])
            alike = np.bincount(wanted % unit_words, minlength=1).max(initial=0)
            lost += max(-(-int(alike) * unit_words // banks), 1) - 1
    return lost


def _active(machine: MachineAccess) -> np.ndarray:
    if machine.active is None:
        return np.ones(machine.addresses.shape, bool)
    return machine.active
