# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ways in which linear swizzles can divide the accesses to a tile, each a search of its own.

The bank conflicts of a linear swizzle are linear algebra once it is known which wide accesses it
splits into which groups (`splitting.py`). So linear swizzles are searched case by case:

1. Nothing is split. Either groups are as wide as the widest instruction, or the words of every
   access are reordered in the same way in all lanes.
2. For each smaller group there is a case for each choice of classes of accesses that are split.

Cases with fewer machine instructions come first. Cases that run more phases than the plain layout
are left out, because `solve` does not consider such swizzles.

Worked example: on gfx942 a tile of f32 is written 16 bytes a lane and read 4 bytes a lane. The
reads are as narrow as a word. The writes are one class of vectors, of 4 words, so that there are
three cases: the writes stay whole, reordered at most; they are split into two pieces of 2 words;
they are split into single words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import itemgetter

from .accesses import LdsAccess, LdsTile
from .constraints import BankConstraints, PhaseSets, bank_constraints, phase_sets
from .layouts import SubByteAccessError
from .lds_rules import Lds
from .quick_tuple import NamedTuple
from .splitting import Division, VectorClass, access_classes, split_divisions
from .swizzle_search import SearchSpace

# Two group sizes and five classes of vectors have 62 divisions; kernels have two or three classes.
_MAX_DIVISIONS = 64


CountedParts = tuple[str | VectorClass, int | None]
"""Some of the accesses, and the bit above which they are split; None if they stay whole."""


class LinearCase(NamedTuple):
    """All swizzles that divide the accesses in one way."""

    division: Division
    constraints: BankConstraints
    space: SearchSpace
    instructions: int
    """Weighted machine instructions of all waves."""
    least_instructions: int
    """The instructions if the backend pairs all that it may."""
    phases: int
    """Weighted phases: the LDS cycles without any conflict."""
    exact: bool
    """Whether the cost of a swizzle is its exact number of weighted conflict cycles."""


class LinearCases:
    """All cases of a tile whose elements have a power of two of bits."""

    def __init__(
        self,
        lds: Lds,
        tile: LdsTile,
        accesses: Sequence[LdsAccess],
        groups: Sequence[int],
        unit: int = 1,
        block: int | None = None,
        counted: dict[CountedParts, PhaseSets] | None = None,
    ) -> None:
        """Sorts the accesses; those that never run are left out.

        Args:
            groups: the group sizes to try, in elements, the largest first: powers of two from that
                of the widest instruction down to a word.
            unit: swizzles move aligned runs of so many elements as a whole.
            block: swizzles permute aligned blocks of so many elements within themselves; by default
                the whole tile.
            counted: the phases that searches among the same accesses count, each once.
        """
        self.unit = unit
        self.block = tile.elements if block is None else block
        self.lds = lds
        self.tile = tile
        self.accesses = [each for each in accesses if each.weight and each.starts.size]
        word = lds.bank_width_bytes * 8
        self.to_words = tile.element_bits.bit_length() - word.bit_length()
        """Bit i of an element index is bit i + to_words of a word index."""
        self.group_bits = [max(g.bit_length() - 1 + self.to_words, 0) for g in groups]
        self.classes = access_classes(self.accesses, self.to_words)
        self.cut_off = False
        self._parts = {} if counted is None else counted

    def cases(
        self, max_phases: int, asked: Callable[[Division], bool] = lambda division: True
    ) -> Iterator[LinearCase]:
        """Yields the cases of at most `max_phases` phases, the fewest instructions first.

        Args:
            asked: whether a division is asked for.
        """
        widest, lowest = self.group_bits[0], self.group_bits[-1]
        vectors = self.classes.vectors
        if self.classes.irregular or any(c.word_bits > widest for c in vectors):
            yield from self.possible(Division(widest), max_phases, asked)
        if vectors or not self.classes.irregular:
            yield from self.possible(Division(lowest, vectors), max_phases, asked)
        every = (d for bit in self.group_bits[1:] for d in split_divisions(self.classes, bit))
        # Of many classes of accesses there are too many divisions to list.
        divisions = [*islice(every, _MAX_DIVISIONS + 1)]
        self.cut_off = len(divisions) > _MAX_DIVISIONS
        splitting = [
            (sum(part.instructions for part in parts), number, division, parts)
            for number, division in enumerate(divisions[:_MAX_DIVISIONS])
            if asked(division) and (parts := self.short_parts(division, max_phases))
        ]
        # A case takes long to make, and the first ones are often enough.
        for _, _, division, parts in sorted(splitting, key=itemgetter(0, 1)):
            yield self.case(division, parts)

    def possible(
        self, division: Division, max_phases: int, asked: Callable[[Division], bool]
    ) -> list[LinearCase]:
        """Returns the case of a division that is asked for, or nothing if it runs too many phases
        or splits bytes."""
        parts = self.short_parts(division, max_phases) if asked(division) else []
        return [self.case(division, parts)] if parts else []

    def short_parts(self, division: Division, max_phases: int) -> list[PhaseSets]:
        """Returns the phases of all accesses, or nothing if these are too many or split bytes."""
        try:
            parts = self.parts(division)
        except SubByteAccessError:
            return []
        return parts if sum(part.phases for part in parts) <= max_phases else []

    def case(self, division: Division, parts: Sequence[PhaseSets]) -> LinearCase:
        """Returns the case of a division whose phases are known."""
        constraints = bank_constraints(parts)
        # Besides bank bits only those matter that decide what is split.
        highest = max(constraints.bank_bits, division.rows.stop)
        targets = 0
        for bit in range(division.group_bit, highest):
            # A swizzle whose highest changed bit is t permutes aligned blocks of 2**(t+1), which
            # must fill the block; one whose lowest changed bit is t moves runs of 2**t.
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
        phases = sum(part.phases for part in parts)
        return LinearCase(division, constraints, space, instructions, least, phases, exact)

    def parts(self, division: Division) -> list[PhaseSets]:
        """Returns the phases of all accesses under a division."""
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
        """Returns the phases of some accesses, which are counted once."""
        if (key, group_bit) not in self._parts:
            group = None if group_bit is None else 1 << max(group_bit - self.to_words, 0)
            accesses = [self.accesses[i] for i in members]
            self._parts[key, group_bit] = phase_sets(self.lds, self.tile, accesses, group)
        return self._parts[key, group_bit]

    def cover_everything(self) -> bool:
        """Returns whether every linear swizzle that `solve` may choose is in one of the cases.

        Swizzles inside a word are in none of them. They split accesses to the word, and this checks
        that each such split runs more phases than the plain layout.
        """
        if self.cut_off or self.classes.irregular:
            return False
        for bit in range(-self.to_words):
            for access in self.accesses:
                if access.count > 1 << bit:
                    try:
                        split = phase_sets(self.lds, self.tile, [access], 1 << bit)
                    except SubByteAccessError:
                        continue
                    if split.phases <= phase_sets(self.lds, self.tile, [access], None).phases:
                        return False
        return True
