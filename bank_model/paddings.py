# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which paddings of a tile are worth their LDS bytes, and how tiles share an LDS budget.

Padding appends unused elements to each row, so that row r starts on another bank than row r - 1.
Which amount is best depends on all readers and writers at once; bank and alignment repeat after
one turn of the banks, so that all amounts can be counted.

What makes a padding better, in this order (`issue.py` says why):

1. fewer weighted LDS cycles, each instruction counted with its issue slot;
2. fewer weighted LDS cycles;
3. fewer LDS bytes.

An amount that takes the alignment of wide accesses away splits them into slivers, which rarely
conflict but may need more phases, and every phase costs a cycle as a conflict does. On gfx942 the
four b32 pieces of a 16-byte access take as many phases as the whole, on gfx950 twice as many. Bytes
are only spent against conflicts: a tile without conflicts is not padded. No amount moves an access
into words that begins at them in the plain tile. On AMD such an access stays whole, but the
hardware waits for it (`SQ_LDS_UNALIGNED_STALL`), and nobody has published how long.

Worked example: a 64 x 64 tile of f16 on gfx942, each lane reads 16 bytes of its own row. Rows are
128 bytes = 32 banks apart, so that all 8 lanes of a phase hit the same 4 banks: 7 conflict cycles
in each of 8 phases. The choices are

    padding      conflict cycles   cycles   instructions   LDS bytes
    none         56                64       1              8192
    2 (4 B)      0                 8        2              8448
    4 (8 B)      0                 8        1              8704
    8 (16 B)     0                 8        1              9216

The two halves of a 16-byte access are one `ds_read2_b64`, so that 16 bytes are no better than 8.
With a budget of 8600 bytes the best are 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import gcd

from .accesses import LdsAccess, LdsTile
from .issue import ISSUE_CYCLES, LayoutCosts
from .layouts import PaddedLayout, PlainLayout, misaligned_element
from .lds_rules import Lds
from .quick_tuple import NamedTuple


class PaddingChoice(NamedTuple):
    """Elements appended to each row of a tile, and what the tile then costs and occupies."""

    padding_elements: int
    conflict_cycles: int
    """Weighted, of one workgroup."""
    cycles: int
    """All LDS cycles, likewise."""
    instructions: int
    """LDS instructions issued by all waves, weighted."""
    lds_bytes: int

    @property
    def cost(self) -> tuple[int, int]:
        """Returns cycles with issue slots, then cycles alone, of which less is better.

        LDS bytes only decide between equal costs.
        """
        return self.cycles + ISSUE_CYCLES * self.instructions, self.cycles


def padding_choices(
    lds: Lds,
    tile: LdsTile,
    accesses: Iterable[LdsAccess],
    max_lds_bytes: int | None = None,
    is_legal: Callable[[PaddedLayout], bool] | None = None,
    costs: LayoutCosts | None = None,
) -> tuple[PaddingChoice, ...]:
    """Returns the choices worth considering, no padding first; each next one is larger and better.

    The best choice within some LDS bytes is therefore the last one that fits. All of
    `padding_amounts` are tried, except those that `is_legal` vetoes and those that leave an access
    less aligned than it must be. None takes more cycles than the plain tile. `costs` are those of
    the same target, tile and accesses, for a caller that counts layouts too. What
    `layouts.machine_accesses` raises is raised here too.
    """
    accesses = tuple(accesses)
    costs = costs or LayoutCosts(lds, tile, accesses)
    cost = costs.of(PlainLayout())
    plain = PaddingChoice(
        padding_elements=0,
        conflict_cycles=cost.conflict_cycles,
        cycles=cost.cycles,
        instructions=cost.instructions,
        lds_bytes=PlainLayout().size_bytes(tile),
    )
    if not plain.conflict_cycles:
        return (plain,)
    choices = [plain]
    waves = min(len(access.elements) for access in accesses)
    amounts = padding_amounts(lds, tile, max_lds_bytes)
    for padding, (conflicts, unpaired, phases) in zip(amounts, costs.padded(amounts), strict=True):
        cycles = phases + conflicts
        # At best all are pairs.
        if cycles + ISSUE_CYCLES * max(waves * unpaired // 2, 1) >= choices[-1].cost[0]:
            continue
        layout = PaddedLayout(padding)
        if is_legal is not None and not is_legal(layout):
            continue
        issued = costs.instructions(layout)
        choice = PaddingChoice(padding, conflicts, cycles, issued, layout.size_bytes(tile))
        if choice.cost >= choices[-1].cost or cycles > plain.cycles:
            continue
        if not keeps_words(costs, layout):
            continue
        if all(misaligned_element(tile, layout, access) is None for access in accesses):
            choices.append(choice)
    return tuple(choices)


def keeps_words(costs: LayoutCosts, layout: PaddedLayout) -> bool:
    """Returns whether no more machine accesses begin inside words than in the plain tile."""
    word_bits = costs.lds.bank_width_bytes * 8
    whole = layout.padding_elements * costs.tile.element_bits % word_bits == 0
    if not costs.lds.unaligned or whole:
        return True
    return costs.inside_words(layout) <= costs.inside_words(PlainLayout())


def padding_amounts(lds: Lds, tile: LdsTile, max_lds_bytes: int | None = None) -> tuple[int, ...]:
    """Returns the paddings that differ in bank or alignment, in elements, ascending.

    The distance of two rows starts over, modulo the bytes of one turn of the banks, when the
    padding is a multiple of them: for f32 and 32 banks after 32 elements, for 24-bit elements
    after 128. Rows that would start inside a byte and tiles above `max_lds_bytes` are left out.
    """
    turn_bits = max(i.banks for i in lds.instructions) * lds.bank_width_bytes * 8
    amounts: list[int] = []
    for padding in range(1, turn_bits // gcd(turn_bits, tile.element_bits) + 1):
        if (tile.row_elements + padding) * tile.element_bits % 8:
            continue
        if max_lds_bytes is not None and PaddedLayout(padding).size_bytes(tile) > max_lds_bytes:
            break
        amounts.append(padding)
    return tuple(amounts)


def share_lds(
    tiles: Sequence[Sequence[PaddingChoice]], budget_bytes: int
) -> tuple[PaddingChoice, ...]:
    """Returns one of its `padding_choices` per tile: the cheapest that fit `budget_bytes` together.

    Costs add up, so that a byte goes where it saves most; between equal costs fewer bytes win.
    When not even the plain tiles fit, they stay plain.

    No combination is missed: of those of the first tiles, one that is larger and no cheaper than
    another is dropped before the next tile is added, which then adds the same to both.
    """
    combinations: list[_Combination] = [_Combination(0, (0, 0), ())]
    for choices in tiles:
        extended = [c.with_choice(choice) for c in combinations for choice in choices]
        combinations = []
        for combination in sorted(extended, key=lambda c: (c.lds_bytes, c.cost)):
            if not combinations or combination.cost < combinations[-1].cost:
                combinations.append(combination)
    fitting = [c for c in combinations if c.lds_bytes <= budget_bytes]
    return fitting[-1].choices if fitting else tuple(choices[0] for choices in tiles)


class _Combination(NamedTuple):
    """A choice for each of the first tiles, and the sums over them."""

    lds_bytes: int
    cost: tuple[int, int]
    choices: tuple[PaddingChoice, ...]

    def with_choice(self, choice: PaddingChoice) -> _Combination:
        total, cycles = self.cost
        return _Combination(
            self.lds_bytes + choice.lds_bytes,
            (total + choice.cost[0], cycles + choice.cost[1]),
            (*self.choices, choice),
        )
