# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What given layouts of one tile cost, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import lcm

from .accesses import LdsAccess, LdsTile
from .layouts import AccessCost, Layout, PaddedLayout, PlainLayout, access_costs, machine_batches
from .lds_rules import Lds
from .quick_tuple import NamedTuple

STOCK_PADDING_BITS = 64
"""What IREE's own pass appends to every row of an LDS allocation."""


def stock_padding(tile: LdsTile, accesses: Iterable[LdsAccess] = ()) -> Layout:
    """Returns the rows of IREE's padding pass: padded by the elements that fit into 64 bits.

    Elements wider than that are not padded. Where an access needs aligned addresses, several rows
    are padded by more elements, so that each of them is as aligned as without padding.
    """
    elements = STOCK_PADDING_BITS // tile.element_bits
    if tile.elements > tile.row_elements:
        unit = lcm(*(access.alignment for access in accesses))
        elements = -(-elements // unit) * unit
    return PaddedLayout(elements) if elements else PlainLayout()


class LayoutCount(NamedTuple):
    """One layout of a tile and the exact cost of every access under it."""

    layout: Layout
    lds_bytes: int
    conflict_cycles: int
    """Weighted, of one workgroup."""
    costs: tuple[AccessCost, ...]
    """Per access, without weights."""


def count_layout(
    lds: Lds, tile: LdsTile, layout: Layout, accesses: Sequence[LdsAccess]
) -> LayoutCount:
    """Counts `layout` exactly; raises what `layouts.machine_accesses` raises."""
    costs = access_costs(lds, tile, layout, accesses)
    conflicts = sum(a.weight * c.conflict_cycles for a, c in zip(accesses, costs, strict=True))
    return LayoutCount(layout, layout.size_bytes(tile), conflicts, costs)


def instruction_names(
    lds: Lds, tile: LdsTile, layout: Layout, accesses: Sequence[LdsAccess]
) -> tuple[tuple[str, int], ...]:
    """Returns the machine instructions that the accesses become under `layout`: (name, how many).

    Counted as the code has them, each once for all waves; widest first.
    """
    found: Counter[str] = Counter()
    widths: dict[str, int] = {}
    for machine, owners in machine_batches(lds, tile, layout, accesses):
        found[machine.instruction.name] += len(owners)
        widths[machine.instruction.name] = machine.instruction.width_bytes
    return tuple(sorted(found.items(), key=lambda item: (-widths[item[0]], item[0])))
