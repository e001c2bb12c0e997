# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a layout costs: LDS cycles, and the issue slots of the instructions that take them.

**Cycles.** An LDS instruction takes one cycle for every phase in which a lane takes part, and one
for every bank conflict. All waves of a workgroup share the LDS, so that the cycles of all their
instructions add up. This is what decides first of all, because it is what the hardware counts.

**Instructions.** Conflicts can be bought off by splitting wide accesses into narrow ones. These
move as many bytes in as many cycles, but each of them is issued, waits in the LDS queue, and often
needs an address of its own. So an instruction costs `ISSUE_CYCLES` besides the cycles of its
phases, and a split has to save more than that. One cycle is the least that it can cost, and no
measured figure. A compute unit "selects a single SIMD to decode and issue each cycle" (AMD,
"Graphics Core Next Architecture" white paper, 2012, page 5; read as others quote it), and a wave
has one next instruction. LLVM's model of gfx942 says no more: one unit (`HWLGKM`) takes one LDS
instruction at a time, for one cycle, and may take longer (`SISchedule.td`, "can be between 2 and
64" cycles of latency). No source was found for how long the issue of one really takes on CDNA3. A
weight that is too small is the safe mistake here: more LDS cycles are only ever taken for at least
as many instructions fewer, and the solver considers no layout that takes more cycles than the plain
one. For NVIDIA the same weight is assumed.

    layout                     cycles   instructions   cost
    plain, b128, 8 conflicts   16       1              17
    split into two b64         8        2              10    pays: 7 less
    plain, b128, 1 conflict    9        1              10
    split into two b64         8        2              10    equal: fewer cycles win

**Pairs.** LLVM's load-store optimizer makes one `ds_read2` or `ds_write2` of two plain neighbours
of 4 or 8 bytes whose addresses differ by the same constant in every lane, if both constants fit its
8-bit offsets: up to 255 elements apart, or 255 * 64 in steps of 64 elements. Such a pair takes the
cycles of both and one issue slot. An access that is only aligned to 8 bytes is such a pair. Where a
swizzle makes the difference of two addresses depend on the lane, they need two registers and are no
pair any more: that is how a swizzle can cost instructions without splitting anything. A store is
not moved across another one through another register, which may be to the same place: where the
stores between two barriers go through several registers, only the halves of one store are a pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from .accesses import LdsAccess, LdsTile
from .address_patterns import AddressPatterns
from .layouts import (
    AccessCost,
    AlikeAccesses,
    Batch,
    Layout,
    access_costs_of,
    alike_accesses,
    counted_batches,
    machine_batches,
)
from .lds_rules import AccessKind, Lds, LdsInstruction
from .padding_counts import PaddedCounts
from .quick_dataclass import dataclass
from .quick_tuple import NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt

    from .constraints import PhaseSets
    from .linear_cases import CountedParts

ISSUE_CYCLES = 1
"""What an LDS instruction costs besides the cycles of its phases."""

_MOST_KEPT = 16
"""Of how many tiles costs are kept: a function has some, of which several passes ask."""
_FARTHEST = 255
"""The largest offset of a pair's half, in elements or in units of 64."""


class LayoutCost(NamedTuple):
    """What all accesses to a tile cost under a layout, weighted, in all waves of a workgroup."""

    cycles: int
    """LDS cycles: one for each phase that runs, and one for each conflict."""
    conflict_cycles: int
    """Those of the cycles that are conflicts."""
    instructions: int
    """LDS instructions issued, pairs counted once."""
    accesses: tuple[AccessCost, ...] = ()
    """Per access, without weights."""

    @property
    def rank(self) -> tuple[int, int]:
        """Returns cycles with issue slots, then cycles alone, of which less is better."""
        return self.cycles + ISSUE_CYCLES * self.instructions, self.cycles


def layout_cost(
    lds: Lds, tile: LdsTile, layout: Layout, accesses: Sequence[LdsAccess]
) -> LayoutCost:
    """Counts `layout` exactly; raises what `layouts.machine_accesses` raises."""
    return LayoutCosts(lds, tile, accesses).of(layout)


def costs_once(lds: Lds, tile: LdsTile, accesses: Sequence[LdsAccess]) -> LayoutCosts:
    """Returns the costs of layouts, and keeps them: passes ask for a tile one after another."""
    keys = tuple(access.alone_key for access in accesses)
    segments = tuple(access.segment for access in accesses)
    return _kept(_Asked((lds, tile, *keys), segments, tuple(accesses)))


@dataclass(frozen=True)
class _Asked:
    """Accesses whose costs are asked for: two with equal keys cost the same where nothing is
    paired, and two with equal segments, too, have the same pairs."""

    key: tuple[Any, ...]
    segments: tuple[int, ...]
    accesses: tuple[LdsAccess, ...] = field(compare=False)


@lru_cache(_MOST_KEPT)
def _kept(asked: _Asked) -> LayoutCosts:
    lds, tile, *_ = asked.key
    return LayoutCosts(lds, tile, asked.accesses, _unpaired(asked.key))


@lru_cache(_MOST_KEPT)
def _unpaired(key: tuple[object, ...]) -> _Unpaired:
    """Returns the counts that all costs with this key share."""
    return _Unpaired()


@dataclass(eq=False)
class _Unpaired:
    """What is counted of layouts, whatever the backend pairs.

    Attributes:
        phases: what searches among linear swizzles have counted.
    """

    cycles: dict[Layout, tuple[int, int]] = field(default_factory=dict)
    inside_words: dict[Layout, int] = field(default_factory=dict)
    phases: dict[CountedParts, PhaseSets] = field(default_factory=dict)
    padded: dict[tuple[int, ...], list[tuple[int, int, int]]] = field(default_factory=dict)


class LayoutCosts:
    """The costs of layouts of a tile for the same accesses, each counted once.

    A decision asks for some costs several times, as those of the plain layout, and counting is most
    of its time.
    """

    def __init__(
        self,
        lds: Lds,
        tile: LdsTile,
        accesses: Sequence[LdsAccess],
        unpaired: _Unpaired | None = None,
    ) -> None:
        """Counts nothing yet."""
        self.lds = lds
        self.tile = tile
        self.accesses = tuple(accesses)
        self._counted: dict[Layout, LayoutCost] = {}
        self._totals: dict[Layout, npt.NDArray[np.int64]] = {}
        self._last: tuple[Layout, Sequence[Batch]] | None = None
        """The machine accesses of the last layout, which are large."""
        self._issued: dict[Layout, int] = {}
        self._unpaired = _Unpaired() if unpaired is None else unpaired
        self._same: tuple[LayoutCosts, npt.NDArray[np.int64]] | None = None
        """The costs of the same accesses in other segments, and the number of each among these."""

    def regrouped(self, accesses: Sequence[LdsAccess]) -> LayoutCosts:
        """Returns the costs of other accesses.

        Where they are these in other segments, in any order, nothing is counted twice: that makes a
        difference to pairs alone.
        """
        found = LayoutCosts(self.lds, self.tile, accesses)
        numbers: dict[tuple[object, ...], list[int]] = {}
        for number, access in enumerate(self.accesses):
            numbers.setdefault(access.alone_key, []).append(number)
        order = [known.pop() for each in accesses if (known := numbers.get(each.alone_key))]
        if len(order) == len(accesses) == len(self.accesses):
            found._same = self, np.array(order, dtype=np.int64)
        return found

    @property
    def phases(self) -> dict[CountedParts, PhaseSets]:
        """Returns what searches among linear swizzles have counted."""
        return self._unpaired.phases

    @cached_property
    def patterns(self) -> AddressPatterns:
        """Returns the address registers that the accesses need under layouts."""
        return AddressPatterns(self.tile, self.accesses)

    def padded(self, amounts: tuple[int, ...]) -> list[tuple[int, int, int]]:
        """Returns `PaddedCounts.count` of some paddings."""
        counted = self._unpaired.padded
        if amounts not in counted:
            counts = PaddedCounts(self.lds, self.tile, self.accesses)
            counted[amounts] = counts.count(amounts)
        return counted[amounts]

    def inside_words(self, layout: Layout) -> int:
        """Returns the machine accesses of at least a word that begin inside one."""
        counted = self._unpaired.inside_words
        if layout not in counted:
            word = self.lds.bank_width_bytes
            counted[layout] = sum(
                len(owners)
                for machine, owners in self._machines(layout)
                if machine.instruction.width_bytes >= word and (machine.addresses % word).any()
            )
        return counted[layout]

    def of(self, layout: Layout) -> LayoutCost:
        """Returns `layout_cost` of `layout`, with its errors."""
        if layout not in self._counted:
            costs = access_costs_of(self._totals_of(layout))
            issued = self.instructions(layout)
            self._counted[layout] = LayoutCost(*self.cycles(layout), issued, costs)
        return self._counted[layout]

    def cycles(self, layout: Layout) -> tuple[int, int]:
        """Returns the cycles and the conflict cycles of `layout`, a part of the work of `of`."""
        counted = self._unpaired.cycles
        if layout not in counted:
            conflicts, cycles, _ = self._totals_of(layout) @ self._weights
            counted[layout] = int(cycles), int(conflicts)
        return counted[layout]

    @cached_property
    def _weights(self) -> npt.NDArray[np.int64]:
        return np.array([access.weight for access in self.accesses], dtype=np.int64)

    @cached_property
    def _alike(self) -> Sequence[AlikeAccesses]:
        return alike_accesses(self.lds, self.tile, self.accesses)

    def _machines(self, layout: Layout) -> Sequence[Batch]:
        """Returns the machine accesses."""
        if self._same is not None:
            others, order = self._same
            places = np.argsort(order)
            return [(each, places[owners]) for each, owners in others._machines(layout)]
        if self._last is None or self._last[0] != layout:
            batches = machine_batches(self.lds, self.tile, layout, self.accesses, self._alike)
            self._last = layout, batches
        return self._last[1]

    def _totals_of(self, layout: Layout) -> npt.NDArray[np.int64]:
        """Returns the costs of the accesses [fields of `AccessCost`, accesses]."""
        if layout not in self._totals:
            if self._same is None:
                self._totals[layout] = counted_batches(
                    self.lds, self.tile, layout, self.accesses, self._machines(layout)
                )
            else:
                others, order = self._same
                self._totals[layout] = others._totals_of(layout)[:, order]
        return self._totals[layout]

    def instructions(self, layout: Layout) -> int:
        """Returns the instructions of `layout` alone, which are counted in half the time."""
        if layout not in self._issued:
            self._issued[layout] = _issued(self.lds, self.accesses, self._machines(layout))
        return self._issued[layout]


class _Piece(NamedTuple):
    """A machine access: its address is a register of its own and a constant."""

    instruction: LdsInstruction
    owner: int
    weight: int
    """How often it is issued, in all waves."""
    segment: int
    register: tuple[int, bytes | None]
    """Equal for pieces whose addresses differ by the same constant in all lanes."""
    constant: int


def _issued(lds: Lds, accesses: Sequence[LdsAccess], batches: Sequence[Batch]) -> int:
    """Returns weighted instructions of all waves."""
    if not lds.paired_bytes:
        owners = chain.from_iterable(owners.tolist() for _, owners in batches)
        return sum(accesses[each].weight * len(accesses[each].elements) for each in owners)
    single = 0
    families: dict[tuple[object, ...], list[int]] = {}
    weights: dict[tuple[object, ...], int] = {}
    widths: dict[tuple[object, ...], int] = {}
    registers: dict[int, set[object]] = {}
    pieces = list(_pieces(accesses, batches))
    for piece in pieces:
        if piece.instruction.kind is AccessKind.WRITE:
            registers.setdefault(piece.segment, set()).add(piece.register)
    for piece in pieces:
        if not lds.pairs(piece.instruction):
            single += piece.weight
            continue
        alone = piece.segment < 0 or len(registers.get(piece.segment, ())) > 1
        place = (-1, piece.owner) if alone else (piece.segment, -1)
        key = (piece.instruction.name, piece.weight, *place, *piece.register)
        families.setdefault(key, []).append(piece.constant)
        weights[key] = piece.weight
        widths[key] = piece.instruction.width_bytes
    return single + sum(
        weights[key] * _pairs(sorted(constants), widths[key]) for key, constants in families.items()
    )


def _pieces(accesses: Sequence[LdsAccess], batches: Sequence[Batch]) -> Iterator[_Piece]:
    patterns: dict[bytes, int] = {}
    for machine, owners in batches:
        rows = machine.addresses
        firsts = rows[:, 0, 0]
        relative = (rows - firsts[:, None, None]).astype(np.int32)
        mask = None if machine.active is None else machine.active.tobytes()
        for member, owner in enumerate(owners.tolist()):
            pattern = patterns.setdefault(relative[member].tobytes(), len(patterns))
            weight = accesses[owner].weight * rows.shape[-2]
            segment = accesses[owner].segment
            constant = int(firsts[member])
            yield _Piece(machine.instruction, owner, weight, segment, (pattern, mask), constant)


def _pairs(starts: Sequence[int], width: int) -> int:
    """Returns the instructions for accesses at ascending constants, paired where possible."""
    count = position = 0
    while position < len(starts):
        count += 1
        if position + 1 < len(starts):
            apart = starts[position + 1] - starts[position]
            near = apart <= _FARTHEST * width and apart % width == 0
            far = apart <= 64 * _FARTHEST * width and apart % (64 * width) == 0
            position += bool(apart) and (near or far)
        position += 1
    return count
