# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which swizzle hints can be resolved: the one rule for emitting them and for resolving them.

A chain of hints is listed from the allocation outwards: with chain (S0, S1), logical element `o`
lies at element `S0(S1(o))` of the allocation.

Three things must hold.

* Every swizzle permutes the allocation. `rotate_rows` adds modulo the groups N of a row, which
  permutes them for any N; `xor_shuffle` XORs with numbers below N, which stays below N only for N
  a power of two (N = 3: 2 ^ 1 = 3 leaves the row). Both keep an element inside its row, so whole
  rows must fill the allocation.
* The elements of one access lie next to each other also after swizzling. A swizzle moves groups
  of `access_width` elements as a whole and by multiples of `access_width`. So an aligned run of g
  elements stays in one piece, and stays aligned to g, when g divides `access_width`. Along a chain
  that holds for every link when g is the greatest common divisor of the access widths; for widths
  that are multiples of each other it is the smallest.

      widths 8 and 4, so g = 4:   offset  0 1 2 3 | 4 5 6 7 | 8 9 10 11 | ...
                                          one run   one run   one run

* Each access either is made of whole runs, at which it is split, or lies inside one run, or has a
  size that fits neither. The last are vectors of 3 * 2^k elements, which a lane copies of rows of
  48 or 96 elements: some begin at a run and others inside one, and they are split wherever some
  lane reaches the end of a run. What is known of the offset, `offset = residue (mod multiple)`,
  decides which of the three an access is.

      runs of 4, vectors of 6 at 0, 6, 12, ...:   0 1 2 3 | 4 5 6 7 | 8 9 10 11
                                                  a a a a | a a b b | b b b  b
      split at 4 for a and at 2 for b:            a a,a a | a a b b | b b,b  b
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from enum import Enum
from functools import cached_property
from math import gcd, lcm
from typing import TYPE_CHECKING

import numpy as np

from .accesses import LdsAccess, LdsTile
from .errors import is_power_of_two
from .layouts import Layout, LayoutKind, PaddedLayout, SwizzledLayout
from .quick_dataclass import dataclass, replace
from .quick_tuple import NamedTuple
from .swizzles import Swizzle

if TYPE_CHECKING:
    import numpy.typing as npt


HINT_KINDS = frozenset({LayoutKind.XOR_SHUFFLE, LayoutKind.CHAIN})
"""The families of layouts that are hinted."""

MOST_HINTS = 4
"""The most hints on one allocation, where nothing else is asked for."""


class AccessFootprint(NamedTuple):
    """What is known of one access: `count` contiguous elements from an offset.

    The offset is congruent to `residue` modulo `multiple`; `multiple` 0 means that it equals
    `residue`, 1 that nothing is known. An access that is `whole` cannot be split, and moves by
    multiples of `alignment` elements only: that is what its instruction needs
    (`dialect_utils/memory/lds_ops.py`). Of other accesses the rewriter restates how they are
    aligned.
    """

    count: int  # pyright: ignore[reportIncompatibleMethodOverride]
    multiple: int
    residue: int = 0
    whole: bool = False
    alignment: int = 1


class Placement(Enum):
    """How an access lies relative to the contiguous runs of a chain."""

    INSIDE = "inside one run"
    SPLIT = "made of whole runs"
    PARTS = "made of parts of runs"


def contiguous_run(chain: Sequence[Swizzle]) -> int:
    """Returns the elements of the aligned runs that `chain` keeps whole; 0 if it is empty."""
    return gcd(*(swizzle.access_width for swizzle in chain))


def placement(run: int, access: AccessFootprint) -> Placement | None:
    """Returns how `access` provably lies relative to runs of `run` elements; None if neither way.

    With d = gcd(multiple, run), the offset within its run is one of residue mod d, residue mod
    d + d, ..., residue mod d + (run - d). The last of them must leave room for `count` elements.
    Runs of 8, offset = 2 (mod 4): it begins at 2 or 6 of a run, so 2 elements fit and 3 do not.
    """
    step = gcd(access.multiple, run)
    first = access.residue % step
    if first + access.count <= step:
        return Placement.INSIDE
    if step == run and first == 0 and access.count % run == 0:
        return Placement.SPLIT
    # What might be whole runs, or inside of one, is better asked where it begins.
    return Placement.PARTS if access.count % run and run % access.count else None


def split_points(run: int, access: AccessFootprint) -> list[int]:
    """Returns the first elements of the pieces of an access that is made of runs or their parts.

    It is split wherever a run may begin. Of a vector of 6 elements and runs of 4, these are 0 and 4
    if it begins at a run, 0 and 2 if it begins in the middle of one, and 0, 2 and 4 if that depends
    on the lane.
    """
    step = gcd(access.multiple, run)
    return [0, *(at for at in range(1, access.count) if (access.residue + at) % step == 0)]


def why_no_permutation(chain: Iterable[Swizzle], num_elements: int | None) -> str | None:
    """Returns why `chain` does not permute a flat buffer in itself; None when it does.

    `num_elements` is as in `Swizzle.why_no_permutation`.
    """
    reasons = (swizzle.why_no_permutation(num_elements) for swizzle in chain)
    return next((reason for reason in reasons if reason is not None), None)


def why_not_rewritten(run: int, access: AccessFootprint) -> str | None:
    """Returns why `access` cannot be rewritten for runs of `run` elements; None when it can."""
    if access.count < 1:
        return f"access of {access.count} elements"
    if run % access.alignment:
        return (
            f"access of {access.count} elements needs an offset that is a multiple of "
            f"{access.alignment} elements, and the swizzle moves runs of {run}"
        )
    placed = placement(run, access)
    if placed is None:
        return _why_not_placed(run, access)
    if placed is not Placement.INSIDE and access.whole:
        return f"access of {access.count} elements cannot be split into runs of {run}"
    return None


def may_be_whole_runs(run: int, access: AccessFootprint) -> bool:
    """Returns whether `access` is made of whole runs if it begins where a run begins.

    That is a question to be asked at run time where nothing contradicts it: of an access of 8
    elements and runs of 8 at an offset that is not known, or known to be a multiple of 4.
    """
    return access.count % run == 0 and access.residue % gcd(access.multiple, run) == 0


def _why_not_placed(run: int, access: AccessFootprint) -> str:
    known = (
        f"is {access.residue}"
        if access.multiple == 0
        else "is not known"
        if access.multiple == 1
        else f"is only known to be {access.residue % access.multiple} modulo {access.multiple}"
    )
    if access.count >= run:
        return (
            f"access of {access.count} elements may begin inside a group of {run} contiguous "
            f"elements: its offset {known}"
        )
    return (
        f"access of {access.count} elements may cross a group of {run} contiguous elements: its "
        f"offset {known}"
    )


def behind_swizzles(
    chain: Sequence[Swizzle], tile: LdsTile, accesses: Iterable[LdsAccess]
) -> tuple[LdsAccess, ...]:
    """Returns accesses in the order of memory instead of the program's: where `chain` sends them.

    The chain is legal for them. One of several runs becomes one per run, as it will when resolved.
    """
    layout, run = SwizzledLayout(tuple(chain)), contiguous_run(chain)
    found: list[LdsAccess] = []
    for access in accesses:
        count = gcd(run, access.count) if access.count > run else access.count
        for start in range(0, access.count, count):
            elements = layout.offsets(tile, access.elements + start)
            found.append(replace(access, elements=elements, count=count))
    return tuple(found)


def footprints_of(accesses: Iterable[LdsAccess]) -> list[AccessFootprint]:
    """Returns what the offsets of all accesses of each width have in common."""
    alike: dict[tuple[int, bool, int], list[LdsAccess]] = {}
    for access in accesses:
        whole = bool(access.instruction)
        key = (access.count, whole, access.alignment if whole else 1)
        alike.setdefault(key, []).append(access)
    return [_footprint(*key, members) for key, members in sorted(alike.items())]


def _footprint(
    count: int, whole: bool, alignment: int, accesses: Sequence[LdsAccess]
) -> AccessFootprint:
    first = int(accesses[0].elements[0, 0])
    multiple = int(np.gcd.reduce([np.gcd.reduce(a.elements - first, None) for a in accesses]))
    residue = first % multiple if multiple else first
    return AccessFootprint(count, multiple, residue, whole, alignment)


@dataclass(frozen=True, eq=False)
class DirectStore:
    """What one `amdgpu.gather_to_lds` stores: lane l of a wave `count` elements from
    `first + l * count` on, wherever that is in the source.

    Attributes:
        firsts: [issues], the distinct elements of the allocation where waves begin.
        count: elements that a lane moves.
        lanes: lanes of a wave.
        partial: some wave runs it without all of its lanes.
    """

    firsts: npt.NDArray[np.int64]
    count: int
    lanes: int
    partial: bool = False

    @property
    def span(self) -> int:
        """Returns elements that a wave stores."""
        return self.count * self.lanes


def why_not_stored_directly(
    chain: Sequence[Swizzle], tile: LdsTile, stores: Iterable[DirectStore]
) -> str | None:
    """Returns why direct stores cannot write in the order of `chain`; None when they can.

    The hardware chooses where in the LDS a lane's elements go, so that the lane must fetch what
    the swizzle wants there: what another lane of the same wave would fetch. With S the swizzle, the
    lane that stores at p = first + l * count must fetch for the logical element S^-1(p). So

    * runs of `count` elements must stay whole,
    * S must permute the elements that a wave stores among themselves, and
    * S^-1 must be known: it is the reversed chain, if every link is an XOR and its own inverse.

    All of it is checked element by element.
    """
    for swizzle in chain:
        if not swizzle.IS_OWN_INVERSE or not is_power_of_two(swizzle.access_width):
            return f"{swizzle} is no XOR of groups of a power of two of elements"
    layout, reverse = SwizzledLayout(tuple(chain)), SwizzledLayout(tuple(reversed(chain)))
    elements = np.arange(tile.elements)
    if not layout.is_bijection(tile) or not reverse.is_bijection(tile):
        return "the swizzle does not permute the allocation"
    places = layout.offsets(tile, elements)
    if (reverse.offsets(tile, places) != elements).any():
        return "the swizzle's inverse is not the reversed chain"
    run = contiguous_run(chain)
    for store in stores:
        if store.partial:
            return "a wave stores directly without all of its lanes"
        if run % store.count or (store.firsts % store.count).any():
            return (
                f"a lane stores {store.count} elements directly, and the swizzle moves runs of "
                f"{run}"
            )
        for first in store.firsts.tolist():
            own = places[first : first + store.span]
            if len(own) < store.span or own.min() < first or own.max() >= first + store.span:
                return "the swizzle moves elements from one wave's direct store into another's"
    return None


@dataclass(frozen=True, eq=False)
class HintRules:
    """The rules that the swizzles of one allocation must obey for the resolver to carry them out.

    The solver searches only swizzles that obey. What accesses demand of a swizzle depends on
    nothing but the run of elements that it keeps in one piece, so that a linear swizzle is judged
    by the lowest bit that it changes.

    Attributes:
        tile: the allocation.
        footprints: what is known of its accesses.
        stores: direct stores, which are no accesses: they store in order whatever the layout, but
            not every layout can be stored in that way.
    """

    tile: LdsTile
    footprints: tuple[AccessFootprint, ...]
    stores: tuple[DirectStore, ...] = ()
    _runs: dict[int, str | None] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(
        tile: LdsTile, accesses: Iterable[LdsAccess], stores: Iterable[DirectStore] = ()
    ) -> HintRules:
        """Returns the rules for known accesses."""
        return HintRules(tile, tuple(footprints_of(accesses)), tuple(stores))

    @cached_property
    def unit(self) -> int:
        """Returns the elements that one lane stores directly: swizzles move them as a whole."""
        return lcm(*(store.count for store in self.stores))

    @cached_property
    def block(self) -> int:
        """Returns how many elements swizzles permute within themselves.

        These are what one wave stores directly.
        """
        block = gcd(self.tile.elements, *(store.span for store in self.stores))
        return gcd(block, *(int(np.gcd.reduce(store.firsts)) for store in self.stores))

    def allows_run(self, run: int) -> bool:
        """Returns whether all accesses can be rewritten for runs of `run` elements."""
        return self._why_no_run(run) is None and not any(store.partial for store in self.stores)

    def _why_no_run(self, run: int) -> str | None:
        if run not in self._runs:
            reasons = (why_not_rewritten(run, footprint) for footprint in self.footprints)
            self._runs[run] = next((reason for reason in reasons if reason is not None), None)
        return self._runs[run]

    def allows(self, layout: Layout) -> bool:
        """Returns whether the resolver can carry out a layout.

        Hints say nothing of padding, so that no swizzle of padded rows is allowed; and what is
        stored directly is stored without gaps.
        """
        if isinstance(layout, PaddedLayout):
            return not self.stores
        if not isinstance(layout, SwizzledLayout):
            return True
        return not layout.padding_elements and self.why_not(layout.swizzles) is None

    def why_not(self, chain: Sequence[Swizzle]) -> str | None:
        """Returns why the resolver cannot carry out hints `chain`; None when it can.

        The chain lists the swizzles from the allocation outwards.
        """
        if not chain:
            return "no swizzle"
        reason = why_no_permutation(chain, self.tile.elements)
        if reason is None:
            reason = self._why_no_run(contiguous_run(chain))
        if reason is not None or not self.stores:
            return reason
        if any(self.block % swizzle.row_width for swizzle in chain):
            return "a row of the swizzle reaches beyond what a wave stores directly"
        return why_not_stored_directly(chain, self.tile, self.stores)
