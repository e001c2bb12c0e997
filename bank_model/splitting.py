# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which wide accesses a linear swizzle splits, and which it leaves whole.

All bits are bits of a word index, and a swizzle is a unit-triangular matrix L. Its *group bit* g is
the lowest bit that it changes: groups of 2**g words stay together. An access of 2**k words is
made of several groups if k > g. It is split into these, unless L reorders them in the same way in
all lanes: then the compiler reorders registers and issues the whole access. An aligned
access of lane x, with the first word w(x), has its groups in an order that the bits g .. k-1 of
L(w(x)) tell. Let D be the span of the XOR differences between the first words of the lanes. Then

    the access stays whole exactly if the bits g .. k-1 of L(d) are 0 for all d in D.

Worked example: lanes read 4 words each from word 4 * lane on, so D has the basis 4, 8, 16, ...
XORing bit 2 into bit 0 makes the order differ between lanes 0 and 1: the access is split into
single words. If the lanes read every other vector, D has the basis 8, 16, ... Bit 2 is then the
same in all lanes and the access stays whole: L(8) = 8, L(16) = 16, and so on.

**Search and realization.** Row t of L tells which bits of a word are added up to bit t of its
image. Let the lowest m bits be those that are bank bits of every instruction. XORs among them only
exchange banks for each other and change no conflict, but they do change what is split. So the
search (`swizzle_search.py`) leaves the columns below m empty. At its end, `Division.realize` asks
whether adding some of the rows t+1 .. m-1 to each row t makes the accesses split, or stay whole, as
the search assumes.

For the accesses that stay whole, with k > t, row t must become 0 on the sum of their spaces D. That
is possible exactly if the bits t .. m-1 of no image L(d), with d in the sum, are a lone bit t,
since no other row could cancel that bit. In other words, L(d ^ 1 << t) must not be 0
in the bits t .. m-1. This has the form of a bank conflict, so it enters the search as a vector that
costs more than anything (`Division.lone_bits`).

Worked example: m = 2, and d = 4 is in D of an access of 2 words. L(4) = 5 has bit 0 set, and bit 1
is 0. Row 0 would need another row that is 1 on d to cancel it, and row 1 is 0 there: the access
cannot stay whole. With L(4) = 7 row 1 is added to row 0, which then is 0 on d.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from functools import cache, cached_property
from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np

from . import f2
from .accesses import LdsAccess
from .errors import is_power_of_two
from .linear_swizzle import LinearSwizzle
from .quick_dataclass import dataclass
from .quick_tuple import NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class VectorClass:
    """Aligned accesses of 2**word_bits words that every swizzle treats in the same way."""

    word_bits: int
    differences: tuple[int, ...]
    """The reduced basis of the XOR differences between the first words of lanes and issues."""
    members: tuple[int, ...] = field(compare=False)
    """Indices of the accesses."""


class AccessClasses(NamedTuple):
    """All accesses of a tile, sorted by what a swizzle can do to them."""

    vectors: tuple[VectorClass, ...]
    """Those that are aligned and wider than a word, the widest first."""
    narrow: tuple[int, ...]
    """Indices of those that are aligned and no wider than a word."""
    irregular: tuple[int, ...]
    """Indices of those that are not aligned to their size, or whose size is no power of two."""


def access_classes(accesses: Sequence[LdsAccess], to_words: int) -> AccessClasses:
    """Sorts accesses, each of which has some active lane.

    Bit i of an element index is bit i + `to_words` of a word index.
    """
    narrow: list[int] = []
    irregular: list[int] = []
    vectors: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    bases: dict[bytes, tuple[int, ...]] = {}
    for index, access in enumerate(accesses):
        starts = access.starts.ravel()
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
    """A way to divide the wide accesses: some stay whole, the others are split into groups.

    Attributes:
        group_bit: the swizzle changes no lower bit.
        whole: accesses wider than a group that are reordered at most.
        split: accesses that are split into groups.
        changes_group_bit: whether the swizzle must change bit `group_bit`, so that accesses are
            split there.
    """

    group_bit: int
    whole: tuple[VectorClass, ...] = ()
    split: tuple[VectorClass, ...] = ()
    changes_group_bit: bool = False

    @property
    def rows(self) -> range:
        """Returns the bits whose images decide what is split."""
        widest = max((c.word_bits for c in (*self.whole, *self.split)), default=0)
        return range(self.group_bit, max(widest, self.group_bit + self.changes_group_bit))

    @cached_property
    def differences(self) -> npt.NDArray[np.int64]:
        """Returns the bases of all classes as an array [vectors], those that stay whole first."""
        bases = [d for c in (*self.whole, *self.split) for d in c.differences]
        return np.array(bases, dtype=np.int64)

    def keeps_whole(self, images: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Returns which swizzles leave the accesses of `whole` whole.

        `images` [..., vectors] are the vectors of `differences` under each swizzle; the result has
        the leading dimensions.
        """
        blocks = [(1 << c.word_bits) - 1 for c in self.whole for _ in c.differences]
        low = np.array(blocks, dtype=np.int64)
        return ((images[..., : len(low)] & low) == 0).all(axis=-1)

    def holds(self, images: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Returns which swizzles with this group bit divide the accesses in this way.

        `images` and the result have the form that `keeps_whole` documents.
        """
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
        """Returns each bit of `rows`, with a basis of differences whose images must be 0 there."""
        wholes = [[c.differences for c in self.whole if c.word_bits > row] for row in self.rows]
        bases = [f2.reduced_basis(chain.from_iterable(w)) for w in wholes]
        return list(zip(self.rows, bases, strict=True))

    def lone_bits(self, bank_bits: int) -> tuple[list[int], list[int]]:
        """Returns vectors, and masks of bits in which their images must not be 0.

        Otherwise the accesses of `whole` cannot stay whole; the module says why. The images are
        those under a swizzle without columns below `bank_bits`. Such a swizzle leaves a unit vector
        of D below `bank_bits` as it is. It can cancel its own bit, which the mask leaves out.
        """
        vectors: list[int] = []
        masks: list[int] = []
        for row, space in self.vanishing:
            units = [d for d in space if d.bit_count() == 1 and not d >> bank_bits]
            above = ((1 << bank_bits) - 1) >> row << row
            mask = (above | 1 << row) & ~sum(units)
            for d in f2.span(d for d in space if d not in units)[1:]:
                # A vector whose highest bit is a bank bit keeps that bit, which is above the row.
                if d >> bank_bits:
                    vectors.append(d ^ 1 << row)
                    masks.append(mask)
        return vectors, masks

    def realize(self, swizzle: LinearSwizzle, bank_bits: int, targets: int) -> LinearSwizzle | None:
        """Returns `swizzle` followed by XORs of bits below `bank_bits`, to divide as it should.

        Row by row, from the lowest, the search notes which masks of higher rows can be added, and
        which classes of `split` they split. Only bits of `targets` are changed. Returns None if no
        XORs divide the accesses in this way.
        """
        moved = iter(swizzle.apply(self.differences).tolist())
        of_whole, of_split = (
            [(c.word_bits, [next(moved) for _ in c.differences]) for c in classes]
            for classes in (self.whole, self.split)
        )
        # (classes that are split, whether the group bit changes) -> masks added to the rows so far.
        reached: dict[tuple[int, bool], tuple[int, ...]] = {(0, False): ()}
        for row in self.rows:
            sources = ((1 << bank_bits) - 1) >> (row + 1) << (row + 1) if targets >> row & 1 else 0
            changed = row == self.group_bit and bool(swizzle.targets >> row & 1)
            options: dict[tuple[int, bool], int] = {}
            kept = {image for bits, images in of_whole if bits > row for image in images}
            cut = [(1 << i, images) for i, (bits, images) in enumerate(of_split) if bits > row]
            for mask in submasks(sources):
                functional = mask | 1 << row
                if _varies(kept, functional):
                    continue
                hit = sum(number for number, images in cut if _varies(images, functional))
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


def _varies(images: Iterable[int], functional: int) -> bool:
    """Returns whether the parity of the bits in `functional` is odd for one of the images."""
    return any((image & functional).bit_count() & 1 for image in images)


@cache
def submasks(mask: int) -> tuple[int, ...]:
    """Returns all masks within `mask`, those with the fewest bits first."""
    found = [0]
    subset = mask
    while subset:
        found.append(subset)
        subset = (subset - 1) & mask
    return tuple(sorted(found, key=lambda m: (m.bit_count(), m)))


def split_divisions(classes: AccessClasses, group_bit: int) -> Iterator[Division]:
    """Yields the ways to split some accesses into groups of 2**group_bit words."""
    wider = [c for c in classes.vectors if c.word_bits > group_bit]
    # Lanes that all begin at the same word have their groups in the same order.
    able = [c for c in wider if c.differences]
    for number in range(0 if classes.irregular else 1, len(able) + 1):
        for split in combinations(able, number):
            whole = tuple(c for c in wider if c not in split)
            yield Division(group_bit, whole, split, changes_group_bit=True)
