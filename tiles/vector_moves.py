# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a layout does to the vectors of a lane: whether one store at the first element's place moves
them, as `*(vector *)&tile[place(row, column)]` does.

A layout that frees accesses of conflicts may move parts of a vector to different places, or leave
it less aligned than its instruction needs. Then the vector takes several stores, or its parts
change their order. `VectorMove` says which, and `c_expression.py` writes it down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..bank_model.accesses import LdsAccess, LdsTile
from ..bank_model.errors import is_power_of_two
from ..bank_model.layouts import MAX_USEFUL_ALIGNMENT, Layout, PlainLayout
from ..bank_model.lds_rules import AccessKind
from ..bank_model.swizzle_legality import HintRules
from .vectors import IntArray


class Way(Enum):
    """How code moves a vector under a layout."""

    WHOLE = "one instruction at the place of its first element"
    REORDERED = "one instruction, its parts exchanged within it"
    PARTED = "an instruction for each part"
    SINGLY = "each element by itself"


class VectorMove(NamedTuple):
    """How vectors of one size move, in all lanes alike.

    Attributes:
        kind: whether they are written or read.
        elements: those of a vector, the caller's.
        part: the elements that stay together, and whose first one is aligned to them.
        way: how they move.
    """

    kind: AccessKind
    elements: int
    part: int
    way: Way


def vector_move(
    tile: LdsTile, layout: Layout, accesses: Sequence[LdsAccess], line: int, is_split: bool
) -> VectorMove:
    """Returns how the vectors of some accesses move, all of them of one kind and size.

    Args:
        line: the elements after which the index along memory ends; 0 where there is no such index.
        is_split: whether the layout is counted with several instructions for a vector.
    """
    kind, count = accesses[0].kind, accesses[0].count
    starts = _starts(accesses)
    if _keeps_whole(tile, layout, starts, count):
        return VectorMove(kind, count, count, Way.WHOLE)
    places = layout.offsets(tile, starts[:, None] + np.arange(count))
    inside = line and (starts % line + count <= line).all()
    if not inside or not is_power_of_two(count):
        return VectorMove(kind, count, 1, Way.SINGLY)
    if not is_split:
        exchanged = (places == places[:, :1] ^ np.arange(count)).all() and not (
            starts % count
        ).any()
        part = _unit(places[:, 0], count)
        return VectorMove(kind, count, part, Way.REORDERED if exchanged else Way.SINGLY)
    part = count
    while part > 1:
        parts = places.reshape(len(places), -1, part)
        if (
            not (parts != parts[..., :1] + np.arange(part)).any()
            and not (parts[..., 0] % part).any()
        ):
            break
        part //= 2
    return VectorMove(kind, count, part, Way.PARTED)


class VectorStarts:
    """Where the vectors of some accesses begin, for many layouts."""

    def __init__(self, accesses: Iterable[LdsAccess]) -> None:
        """Sorts the accesses by size."""
        alike: dict[int, list[LdsAccess]] = {}
        for access in accesses:
            alike.setdefault(access.count, []).append(access)
        self._starts = {count: _starts(same) for count, same in alike.items()}

    def kept(self, tile: LdsTile, layout: Layout) -> bool:
        """Returns whether each vector stays whole, and as aligned as in the plain layout."""
        return isinstance(layout, PlainLayout) or all(
            _keeps_whole(tile, layout, starts, count) for count, starts in self._starts.items()
        )


def _keeps_whole(tile: LdsTile, layout: Layout, starts: IntArray, count: int) -> bool:
    """Returns whether vectors of `count` elements stay whole that begin at `starts`."""
    if count == 1 or not starts.size:
        return True
    places = layout.offsets(tile, starts)
    if (places % _aligned(tile, starts, count)).any():
        return False
    return all((layout.offsets(tile, starts + k) == places + k).all() for k in range(1, count))


class WholeVectors(HintRules):
    """The rules for swizzles that keep all vectors whole and aligned."""

    @staticmethod
    def of_vectors(tile: LdsTile, accesses: Sequence[LdsAccess]) -> WholeVectors:
        """Returns the rules for the vectors of `accesses`."""
        whole = [
            replace(
                each,
                instruction=each.instruction or "a vector",
                alignment=max(each.alignment, _aligned(tile, _starts([each]), each.count)),
            )
            for each in accesses
            if each.count > 1 or each.instruction
        ]
        return WholeVectors(tile, HintRules.of(tile, whole).footprints)

    @cached_property
    def unit(self) -> int:
        """Returns the elements that swizzles move as a whole."""
        return max(1 << (each.count - 1).bit_length() for each in self.footprints)


def _starts(accesses: Sequence[LdsAccess]) -> IntArray:
    """Returns the distinct first elements of the lanes that take part."""
    parts = [
        each.elements.ravel() if each.active is None else each.elements[each.active]
        for each in accesses
    ]
    # Without the counts, which nobody needs, it would import `numpy.ma`.
    return np.unique(np.concatenate(parts), return_counts=True)[0]


def _aligned(tile: LdsTile, starts: IntArray, count: int) -> int:
    """Returns the elements to a multiple of which vectors are aligned in the plain layout."""
    if count == 1:
        return 1
    most = max(MAX_USEFUL_ALIGNMENT * 8 // tile.element_bits, 1)
    return _unit(starts, min(1 << (count - 1).bit_length(), most & -most))


def _unit(numbers: IntArray, most: int) -> int:
    """Returns the largest power of two, up to `most`, that divides all numbers."""
    common = int(np.bitwise_or.reduce(numbers)) | most
    return common & -common
