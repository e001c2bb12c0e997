# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which wide accesses a linear swizzle splits, and which it leaves whole.

Bits are word-index bits, a swizzle L is unit-triangular, and its *group bit* g is the lowest bit
that it changes: groups of 2**g words stay together. An access of 2**k > 2**g words is split into
groups, unless L reorders its groups alike in all lanes. With k > g and the access aligned, the
order of lane x's groups is given by the bits g .. k-1 of L(x's first word). So with D the span of
the XOR differences between the first words of the lanes,

    the access stays whole exactly if bits g .. k-1 of L(d) are 0 for all d in D.

Worked example: lanes read 4 words each from word 4 * lane on, so D has the basis 4, 8, 16, ...
XORing bit 0 with bit 2 makes the order differ between lanes 0 and 1: the access is split into
single words. If the lanes read every other vector (D = 8, 16, ...), bit 2 is the same in all lanes
and the access stays whole: L(8) = 8, L(16) = 16, ...

**Search and realization.** Row t of L tells which bits of a word are added up to bit t of its
image. XORs among the lowest m bits, those that are bank bits of every instruction, only rename
banks and change no conflict, but they do change what is split. So the search (`swizzle_search.py`)
leaves the columns below m empty, and asks at its end whether adding some of the rows t+1 .. m-1
to each row t makes the accesses split, or stay whole, as assumed. For the accesses that stay
whole, with k > t, row t must become 0 on the sum of their D. That is possible exactly if no d in
the sum has an image whose bits t .. m-1 are a lone bit t, which no other row could cancel:
L(d ^ 1 << t) must not be 0 in bits t .. m-1. This has the form of a bank conflict, so it enters
the search as a vector that costs more than anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

from . import f2
from .accesses import LdsAccess
from .errors import is_power_of_two
from .linear_swizzle import LinearSwizzle


@dataclass(frozen=True)
class VectorClass:
    """Aligned accesses of 2**word_bits words that every swizzle treats alike."""

    word_bits: int
    differences: tuple[int, ...]
    """Reduced basis of the XOR differences between the first words of lanes and issues."""
    members: tuple[int, ...] = field(compare=False)
    """Indices of the accesses."""


@dataclass(frozen=True)
class AccessClasses:
    """All accesses of a tile, by what a swizzle can do to them."""

    vectors: tuple[VectorClass, ...]
    """Aligned and wider than a word, the widest first."""
    narrow: tuple[int, ...]
    """Aligned and no wider than a word."""
    irregular: tuple[int, ...]
    """Not aligned to their size, or of a size that is no power of two."""


def access_classes(accesses: Sequence[LdsAccess], to_words: int) -> AccessClasses:
    """Sorts accesses, each with some active lane; element bit i is word bit i + to_words."""
    narrow: list[int] = []
    irregular: list[int] = []
    vectors: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    bases: dict[bytes, tuple[int, ...]] = {}
    for index, access in enumerate(accesses):
        starts = access.elements if access.active is None else access.elements[access.active]
        starts = starts.ravel()
        word_bits = access.count.bit_length() - 1 + to_words
        if not is_power_of_two(access.count) or (starts % access.count).any():
            irregular.append(index)
        elif word_bits <= max(to_words, 0):
            narrow.append(index)
        else:
            # A group is at least a word, so bits inside a word never differ here.
            moved = starts ^ starts[0]
            moved = moved << to_words if to_words > 0 else moved >> -to_words
            key = moved.tobytes()
            if key not in bases:
                bases[key] = f2.reduced_basis_of_many(moved)
            vectors.setdefault((word_bits, bases[key]), []).append(index)
    classes = [VectorClass(k, basis, tuple(members)) for (k, basis), members in vectors.items()]
    classes.sort(key=lambda c: -c.word_bits)
    return AccessClasses(tuple(classes), tuple(narrow), tuple(irregular))


@dataclass(frozen=True)
class Division:
    """What a swizzle does to the wide accesses: some stay whole, some are split into groups."""

    group_bit: int
    """The swizzle changes no lower bit."""
    whole: tuple[VectorClass, ...] = ()
    """Wider than the group, reordered at most."""
    split: tuple[VectorClass, ...] = ()
    changes_group_bit: bool = False
    """The swizzle must change bit `group_bit`, so that accesses are split there."""

    @property
    def rows(self) -> range:
        """The bits that decide what is split."""
        widest = max((c.word_bits for c in (*self.whole, *self.split)), default=0)
        return range(self.group_bit, max(widest, self.group_bit + self.changes_group_bit))

    @cached_property
    def differences(self) -> npt.NDArray[np.int64]:
        """The bases of all classes, whole ones first: [vectors]."""
        bases = [d for c in (*self.whole, *self.split) for d in c.differences]
        return np.array(bases, dtype=np.int64)

    def keeps_whole(self, images: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether swizzles leave `whole` whole; `images` [..., vectors] are of `differences`."""
        blocks = [(1 << c.word_bits) - 1 for c in self.whole for _ in c.differences]
        low = np.array(blocks, dtype=np.int64)
        return ((images[..., : len(low)] & low) == 0).all(axis=-1)

    def holds(self, images: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether swizzles with this group bit divide so; `images` as of `keeps_whole`."""
        result = self.keeps_whole(images)
        first = sum(len(c.differences) for c in self.whole)
        for vectors in self.split:
            last = first + len(vectors.differences)
            low = (1 << vectors.word_bits) - 1
            result &= ((images[..., first:last] & low) != 0).any(axis=-1)
            first = last
        return result

    @cached_property
    def vanishing(self) -> list[tuple[int, tuple[int, ...]]]:
        """The bits of `rows`, each with a basis of the d whose images must have 0 there."""
        wholes = [[c.differences for c in self.whole if c.word_bits > row] for row in self.rows]
        bases = [f2.reduced_basis(chain.from_iterable(w)) for w in wholes]
        return list(zip(self.rows, bases, strict=True))

    def lone_bits(self, bank_bits: int) -> tuple[list[int], list[int]]:
        """Vectors that must not become 0 in the bits of their masks, if `whole` is to stay whole.

        The images are those under a swizzle without columns below `bank_bits`. A unit vector of D
        there stays as it is and can cancel its own bit, so that bit is left out of the mask.
        """
        vectors: list[int] = []
        masks: list[int] = []
        for row, space in self.vanishing:
            units = [d for d in space if d.bit_count() == 1 and not d >> bank_bits]
            above = ((1 << bank_bits) - 1) >> row << row
            mask = (above | 1 << row) & ~sum(units)
            for d in f2.span(d for d in space if d not in units)[1:]:
                # With its highest bit among the bank bits it keeps that bit, above the row.
                if d >> bank_bits:
                    vectors.append(d ^ 1 << row)
                    masks.append(mask)
        return vectors, masks

    def realize(self, swizzle: LinearSwizzle, bank_bits: int, targets: int) -> LinearSwizzle | None:
        """`swizzle` followed by XORs among the bits below `bank_bits` so that it divides so.

        Only bits of `targets` are changed; None if there are no such XORs.
        """
        moved = swizzle.apply(self.differences).tolist()
        images = dict(zip(self.differences.tolist(), moved, strict=True))
        # (classes split so far, group bit changed) -> masks XORed into the rows so far.
        reached: dict[tuple[int, bool], tuple[int, ...]] = {(0, False): ()}
        for row in self.rows:
            sources = ((1 << bank_bits) - 1) >> (row + 1) << (row + 1) if targets >> row & 1 else 0
            changed = row == self.group_bit and bool(swizzle.targets >> row & 1)
            options: dict[tuple[int, bool], int] = {}
            for mask in submasks(sources):
                hit = self._splits(images, row, mask | 1 << row)
                if hit is not None:
                    options.setdefault((hit, changed or (row == self.group_bit and mask > 0)), mask)
                    if not self.changes_group_bit:
                        break
            following: dict[tuple[int, bool], tuple[int, ...]] = {}
            for (split, used), masks in reached.items():
                for (hit, uses), mask in options.items():
                    following.setdefault((split | hit, used or uses), (*masks, mask))
            reached = following
        every = (1 << len(self.split)) - 1
        for (split, used), masks in reached.items():
            if split == every and used >= self.changes_group_bit:
                extra = LinearSwizzle.of(
                    (source, 1 << row)
                    for row, mask in zip(self.rows, masks, strict=True)
                    for source in range(mask.bit_length())
                    if mask >> source & 1
                )
                return swizzle.then(extra) if extra.columns else swizzle
        return None

    def _splits(self, images: dict[int, int], row: int, functional: int) -> int | None:
        """The classes of `split` that a row splits, as a bit mask; None if it splits a whole one.

        The row maps an image to the parity of its bits in `functional`.
        """

        def varies(vectors: VectorClass) -> bool:
            return vectors.word_bits > row and any(
                (images[d] & functional).bit_count() & 1 for d in vectors.differences
            )

        if any(varies(vectors) for vectors in self.whole):
            return None
        return sum(1 << i for i, vectors in enumerate(self.split) if varies(vectors))


@cache
def submasks(mask: int) -> tuple[int, ...]:
    """All masks within `mask`, those with the fewest bits first."""
    found = [0]
    subset = mask
    while subset:
        found.append(subset)
        subset = (subset - 1) & mask
    return tuple(sorted(found, key=lambda m: (m.bit_count(), m)))


def split_divisions(classes: AccessClasses, group_bit: int) -> Iterator[Division]:
    """The ways to split some accesses into groups of 2**group_bit words."""
    wider = [c for c in classes.vectors if c.word_bits > group_bit]
    # Where all lanes begin at the same word there is nothing to reorder differently.
    able = [c for c in wider if c.differences]
    for number in range(0 if classes.irregular else 1, len(able) + 1):
        for split in combinations(able, number):
            whole = tuple(c for c in wider if c not in split)
            yield Division(group_bit, whole, split, changes_group_bit=True)
