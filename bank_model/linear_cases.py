# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ways in which linear swizzles can divide the accesses to a tile, each a search of its own.

The bank conflicts of a linear swizzle are linear algebra once it is known which wide accesses it
splits into which groups (`splitting.py`). So all linear swizzles are searched case by case:

1. nothing is split: groups are as wide as the widest instruction, or the words of every access
   are reordered alike in all lanes;
2. for each smaller group, each choice of classes of accesses that are split.

Cases with fewer machine instructions come first. Those that run more phases than the plain layout
are left out: `solve` does not consider such swizzles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .accesses import LdsAccess, LdsTile
from .constraints import BankConstraints, PhaseSets, bank_constraints, phase_sets
from .layouts import SubByteAccessError
from .splitting import Division, VectorClass, access_classes, split_divisions
from .swizzle_search import SearchSpace
from .targets import Target

# Two group sizes and five classes of vectors have 62 divisions; kernels have two or three classes.
_MAX_DIVISIONS = 64


@dataclass(frozen=True)
class LinearCase:
    """The swizzles that divide the accesses in one way."""

    division: Division
    constraints: BankConstraints
    space: SearchSpace
    instructions: int
    """Weighted machine instructions of all waves."""
    least_instructions: int
    """The fewest that these can be if the backend pairs all that it may."""
    phases: int
    """Weighted phases: the cycles without any conflict."""
    exact: bool
    """The cost of a swizzle is its exact number of weighted conflict cycles."""


class LinearCases:
    """All cases of a tile whose elements have a power of two of bits."""

    def __init__(
        self,
        target: Target,
        tile: LdsTile,
        accesses: Sequence[LdsAccess],
        groups: Sequence[int],
        unit: int = 1,
        block: int | None = None,
    ) -> None:
        """Sorts the accesses; those that never run are left out.

        `groups` are the group sizes to try, in elements, the largest first: powers of two from
        that of the widest instruction down to a word. `unit` and `block` as of `SolverOptions`;
        by default the block is the tile.
        """
        self.unit = unit
        self.block = tile.elements if block is None else block
        self.target = target
        self.tile = tile
        self.accesses = [
            a
            for a in accesses
            if a.weight and (a.elements.size if a.active is None else a.active.any())
        ]
        word = target.bank_width_bytes * 8
        self.to_words = tile.element_bits.bit_length() - word.bit_length()
        """Element bit i is word bit i + to_words."""
        self.group_bits = [max(g.bit_length() - 1 + self.to_words, 0) for g in groups]
        self.classes = access_classes(self.accesses, self.to_words)
        self.cut_off = False
        self._parts: dict[tuple[object, int | None], PhaseSets] = {}

    def cases(self, max_phases: int) -> Iterator[LinearCase]:
        """The cases that run at most `max_phases` phases, the fewest instructions first."""
        widest, lowest = self.group_bits[0], self.group_bits[-1]
        vectors = self.classes.vectors
        if self.classes.irregular or any(c.word_bits > widest for c in vectors):
            yield from self.possible(Division(widest), max_phases)
        if vectors or not self.classes.irregular:
            yield from self.possible(Division(lowest, vectors), max_phases)
        divisions = [d for bit in self.group_bits[1:] for d in split_divisions(self.classes, bit)]
        self.cut_off = len(divisions) > _MAX_DIVISIONS
        splitting = [
            case for d in divisions[:_MAX_DIVISIONS] for case in self.possible(d, max_phases)
        ]
        yield from sorted(splitting, key=lambda case: case.instructions)

    def possible(self, division: Division, max_phases: int) -> list[LinearCase]:
        """The case of one division, unless it runs too many phases or splits bytes."""
        try:
            parts = self.parts(division)
        except SubByteAccessError:
            return []
        phases = sum(part.phases for part in parts)
        if phases > max_phases:
            return []
        constraints = bank_constraints(parts)
        # Besides bank bits only those matter that decide what is split.
        highest = max(constraints.bank_bits, division.rows.stop)
        targets = 0
        for bit in range(division.group_bit, highest):
            # A swizzle with highest target t permutes aligned blocks of 2**(t+1), which must fit;
            # one with lowest target t moves runs of 2**t.
            element_bit = bit - self.to_words
            if element_bit < 0 or (1 << element_bit) % self.unit:
                continue
            if self.block % (2 << element_bit) == 0:
                targets |= 1 << bit
        bits = (self.tile.elements - 1).bit_length() + self.to_words
        space = SearchSpace(max(bits, 0), targets)
        exact = constraints.exact and not self.classes.irregular
        instructions = sum(part.instructions for part in parts)
        least = sum(part.least_instructions for part in parts)
        return [LinearCase(division, constraints, space, instructions, least, phases, exact)]

    def parts(self, division: Division) -> list[PhaseSets]:
        """The phases of all accesses under a division."""
        irregular_bit = division.group_bit if division.changes_group_bit else self.group_bits[0]
        parts = [
            self.part("narrow", self.classes.narrow, None),
            self.part("irregular", self.classes.irregular, irregular_bit),
        ]
        for vectors in self.classes.vectors:
            split = vectors in division.split
            parts.append(self.part(vectors, vectors.members, division.group_bit if split else None))
        return parts

    def part(
        self, key: str | VectorClass, members: Sequence[int], group_bit: int | None
    ) -> PhaseSets:
        """The phases of some accesses, counted once."""
        if (key, group_bit) not in self._parts:
            group = None if group_bit is None else 1 << max(group_bit - self.to_words, 0)
            accesses = [self.accesses[i] for i in members]
            self._parts[key, group_bit] = phase_sets(self.target, self.tile, accesses, group)
        return self._parts[key, group_bit]

    def cover_everything(self) -> bool:
        """Whether no linear swizzle within the phases of the plain layout is outside the cases.

        Swizzles inside a word split accesses to it. That no such split pays is checked here.
        """
        if self.cut_off or self.classes.irregular:
            return False
        for bit in range(-self.to_words):
            for access in self.accesses:
                if access.count > 1 << bit:
                    try:
                        split = phase_sets(self.target, self.tile, [access], 1 << bit)
                    except SubByteAccessError:
                        continue
                    if split.phases <= phase_sets(self.target, self.tile, [access], None).phases:
                        return False
        return True
