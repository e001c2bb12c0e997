# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts in which each bit of a place moves an element by its own coordinates, as Triton's.

A *basis* says, for each bit of a place in memory, which coordinates that bit stands for: with the
bases `[0, 1], [0, 2], [1, 1]` the place 5 = 101 in binary holds the element whose coordinates are
(0, 1) XOR (1, 1) = (1, 0). Such a layout is a matrix over F2, and every swizzle of a tile whose
sizes are powers of two is one. *Gaps* may follow: behind every `interval` elements of that order
lie `padding` unused ones, and several pairs add up.

Sources: TritonGPUAttrDefs.td (`shared_linear`, `padded_shared`) and LinearLayout.h.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from . import f2
from .accesses import LdsTile
from .errors import (
    InvalidParameterError,
    is_power_of_two,
    require_integer,
    require_positive,
    require_power_of_two,
)
from .linear_swizzle import LinearSwizzle, NotExpressible
from .quick_dataclass import dataclass
from .quick_tuple import NamedTuple
from .strided_layout import Mode, StridedLayout

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt


IntArray: TypeAlias = "npt.NDArray[np.integer]"
_MOST_BITS = 31


class Gap(NamedTuple):
    """Behind every `interval` elements, a power of two, lie `padding` unused ones."""

    interval: int
    padding: int


@dataclass(frozen=True)
class LinearLayout:
    """A tile of powers of two whose places are XORs of the coordinates' bits, with gaps.

    Attributes:
        bases: for each bit of a place, the lowest first, the coordinates that it stands for;
            zeros stand for places that no element has.
        gaps: what is left unused between the places.
    """

    bases: tuple[tuple[int, ...], ...]
    gaps: tuple[Gap, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < len(self.bases) <= _MOST_BITS:
            raise InvalidParameterError("bases", len(self.bases), f"1 to {_MOST_BITS} of them")
        if len({len(basis) for basis in self.bases}) != 1:
            raise InvalidParameterError("bases", self.bases, "as many coordinates in each")
        for number in (number for basis in self.bases for number in basis):
            if require_integer("bases", number) < 0:
                raise InvalidParameterError("bases", number, "integers >= 0")
        for gap in self.gaps:
            require_power_of_two("interval", gap.interval)
            require_positive("padding", gap.padding)
        if self._columns is None:
            raise InvalidParameterError(
                "bases", self.bases, "bases that name every element of the tile once"
            )

    @staticmethod
    def of_columns(columns: Sequence[int], gaps: tuple[Gap, ...] = ()) -> LinearLayout:
        """Returns the layout of a tile of one dimension whose elements' bits have these places.

        The places are as many different XORs of the columns as there are elements.
        """
        used = [bit for bit in range(_MOST_BITS) if any(column >> bit & 1 for column in columns)]
        packed = [
            sum(1 << place for place, bit in enumerate(used) if column >> bit & 1)
            for column in columns
        ]
        inverse = f2.inverse(packed, len(columns))
        assert inverse is not None
        elements = iter(inverse)
        top = max(used, default=0) + 1
        bases = tuple((next(elements) if bit in used else 0,) for bit in range(top))
        return LinearLayout(bases, gaps)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Returns the sizes of the dimensions, those that the largest coordinates need."""
        return tuple(
            1 << max(basis[dimension] for basis in self.bases).bit_length()
            for dimension in range(len(self.bases[0]))
        )

    @property
    def padding_elements(self) -> int:
        """Returns 0: gaps are no part of a row."""
        return 0

    @property
    def swizzles(self) -> tuple[()]:
        """Returns none: it is no chain of IREE's attributes."""
        return ()

    @cached_property
    def _columns(self) -> tuple[int, ...] | None:
        """Returns for each bit of the row-major element its place; None where some has none."""
        bits = [size.bit_length() - 1 for size in self.shape]
        rows: list[int] = []
        for basis in self.bases:
            element = 0
            for width, number in zip(bits, basis, strict=True):
                element = element << width | number
            rows.append(element)
        # A bit of a place that stands for nothing is 0 in all places.
        used = [place for place, element in enumerate(rows) if element]
        inverse = f2.inverse([rows[place] for place in used], sum(bits))
        return None if inverse is None else tuple(_spread(column, used) for column in inverse)

    @property
    def columns(self) -> tuple[int, ...]:
        """Returns for each bit of the row-major element's number its place, without gaps."""
        assert self._columns is not None
        return self._columns

    def offsets(self, tile: LdsTile, elements: IntArray) -> npt.NDArray[np.int64]:
        """Returns physical element offsets of logical `elements` (any shape)."""
        if self.shape != tile.shape:
            raise InvalidParameterError("shape", self.shape, f"{tile.shape}, that of the tile")
        element = np.asarray(elements, dtype=np.int64)
        place = np.zeros(element.shape, dtype=np.int64)
        for bit, column in enumerate(self.columns):
            place ^= (element >> bit & 1) * column
        return place + sum(place // gap.interval * gap.padding for gap in self.gaps)

    def size_bytes(self, tile: LdsTile) -> int:
        """Returns LDS bytes up to the last element."""
        last = int(self.offsets(tile, np.arange(tile.elements)).max())
        return -(-(last + 1) * tile.element_bits // 8)

    def group_elements(self, tile: LdsTile) -> int:
        """Returns consecutive elements, counted from 0, that the layout keeps together."""
        return _group(self, tile)

    def simplified(self, tile: LdsTile) -> LinearSwizzle | StridedLayout | LinearLayout:
        """Returns the same layout as a swizzle of rows, or as strides and an XOR, if it is one."""
        rows = NotExpressible("there are gaps")
        if not self.gaps:
            rows = LinearSwizzle.from_matrix(self.columns)
        if isinstance(rows, LinearSwizzle):
            return rows
        found = self._strided(tile)
        return self if found is None else found

    def _strided(self, tile: LdsTile) -> StridedLayout | None:
        """Returns the layout by strides; None where it needs more than one XOR of fields."""
        tops = [column.bit_length() - 1 for column in self.columns]
        if len(set(tops)) < len(tops):
            return None
        moved = LinearSwizzle.of(
            (top, column ^ 1 << top) for top, column in zip(tops, self.columns, strict=True)
        )
        step = None
        if moved.columns:
            found = moved.field_step()
            if isinstance(found, NotExpressible) or self.gaps:
                return None
            step = found
        strides = [
            (1 << top) + sum((1 << top) // gap.interval * gap.padding for gap in self.gaps)
            for top in tops
        ]
        dimensions: list[tuple[Mode, ...]] = []
        for size in reversed(tile.shape):
            bits = size.bit_length() - 1
            dimensions.insert(0, _modes(strides[:bits]))
            del strides[:bits]
        return StridedLayout(tuple(dimensions), step)

    def __str__(self) -> str:
        offset = f"offset = [{', '.join(str(list(basis)) for basis in self.bases)}]"
        if not self.gaps:
            return f"#ttg.shared_linear<{{{offset}}}>"
        pairs = ", ".join(f"{interval}:+{padding}" for interval, padding in self.gaps)
        return f"#ttg.padded_shared<[{pairs}] {{{offset}}}>"


def _modes(strides: Sequence[int]) -> tuple[Mode, ...]:
    """Returns the digits of an index whose bits have these strides, joined where they can be."""
    modes: list[Mode] = []
    for stride in strides:
        if modes and modes[-1].size * modes[-1].stride == stride:
            modes[-1] = Mode(modes[-1].size * 2, modes[-1].stride)
        else:
            modes.append(Mode(2, stride))
    return tuple(modes) or (Mode(1, 0),)


def _spread(column: int, used: Sequence[int]) -> int:
    """Returns the bits of `column` at the places that are used."""
    return sum(1 << place for bit, place in enumerate(used) if column >> bit & 1)


@lru_cache(maxsize=8)
def _group(layout: LinearLayout, tile: LdsTile) -> int:
    places = layout.offsets(tile, np.arange(tile.elements))
    ends = np.flatnonzero(np.diff(places) != 1) + 1
    return gcd(tile.elements, *ends.tolist())


def linear_layout(swizzle: LinearSwizzle, tile: LdsTile) -> LinearLayout | NotExpressible:
    """Returns a swizzle of a tile's row-major elements by its bases."""
    for size in tile.shape:
        if not is_power_of_two(size):
            return NotExpressible(f"{size} is no power of two")
    bits = tile.elements.bit_length() - 1
    if swizzle.bits > bits or not bits:
        return NotExpressible("it repeats after more elements than the tile has")
    inverse = f2.inverse(swizzle.matrix(bits), bits)
    assert inverse is not None
    return LinearLayout(tuple(_coordinates(element, tile) for element in inverse))


def _coordinates(element: int, tile: LdsTile) -> tuple[int, ...]:
    found: list[int] = []
    for size in reversed(tile.shape):
        element, index = divmod(element, size)
        found.insert(0, index)
    return tuple(found)
