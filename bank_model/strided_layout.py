# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts with a stride for each digit of an index, as CuTe writes them: `(64,64):(1,72)`.

Every dimension of the tile is cut into *modes*, the first of which runs fastest. Index 13 of a
dimension `(8,4)` has the digits 5 and 1, because 13 = 5 + 8 * 1; with the strides `(2,16)` it lies
at 5 * 2 + 1 * 16. The offsets of all dimensions and a base add up, and an XOR of two bit fields may
move the sum, as in `Swizzle<3,3,3> o 0 o (64,64):(1,64)`.

Row-major rows, with and without padding, are such layouts, too. They have classes of their own in
`layouts.py`, which say more; `row_padding` finds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import gcd, prod
from typing import TYPE_CHECKING

import numpy as np

from .accesses import LdsTile
from .distinct_numbers import distinct_numbers
from .errors import InvalidParameterError, require_integer, require_positive
from .linear_swizzle import FieldStep
from .quick_dataclass import dataclass
from .quick_tuple import NamedTuple
from .swizzles import XorShuffle

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt


IntArray: TypeAlias = "npt.NDArray[np.integer]"

_LARGEST_OFFSET = 1 << 31
"""Beyond what a workgroup's memory has, and small enough that no sum overflows."""


class Mode(NamedTuple):
    """A digit of an index: `size` values, `stride` elements apart."""

    size: int
    stride: int


@dataclass(frozen=True)
class StridedLayout:
    """A sum of strides for each dimension of a tile, which a swizzle may move.

    Attributes:
        dimensions: for each dimension of the tile its modes, the one that runs fastest first.
        step: the bit fields that a swizzle XORs; None without one.
        base: what is added to all offsets before the swizzle.
    """

    dimensions: tuple[tuple[Mode, ...], ...]
    step: FieldStep | None = None
    base: int = 0

    def __post_init__(self) -> None:
        dimensions = tuple(
            tuple(
                Mode(require_integer("size", mode.size), require_integer("stride", mode.stride))
                for mode in modes
            )
            for modes in self.dimensions
        )
        object.__setattr__(self, "dimensions", dimensions)
        object.__setattr__(self, "base", require_integer("base", self.base))
        last = self.base
        for mode in (mode for modes in self.dimensions for mode in modes):
            require_positive("size", mode.size)
            if mode.stride < 0:
                raise InvalidParameterError("stride", mode.stride, "integers >= 0")
            last += (mode.size - 1) * mode.stride
        if self.base < 0 or last >= _LARGEST_OFFSET:
            allowed = f"layouts whose offsets are 0 to {_LARGEST_OFFSET - 1}"
            raise InvalidParameterError("its last offset", last, allowed)

    @property
    def padding_elements(self) -> int:
        """Returns 0: what lies between rows is part of the strides."""
        return 0

    @property
    def swizzles(self) -> tuple[XorShuffle, ...]:
        """Returns the swizzle as IREE's attribute, if there is one."""
        return () if self.step is None else (XorShuffle.of(self.step),)

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the sizes of the dimensions."""
        return tuple(prod(mode.size for mode in modes) for modes in self.dimensions)

    def offsets(self, tile: LdsTile, elements: IntArray) -> npt.NDArray[np.int64]:
        """Returns physical element offsets of logical `elements` (any shape)."""
        if self.shape != tile.shape:
            raise InvalidParameterError("shape", self.shape, f"{tile.shape}, that of the tile")
        rest = np.asarray(elements, dtype=np.int64)
        total = np.full(rest.shape, self.base, dtype=np.int64)
        for size, modes in zip(reversed(tile.shape), reversed(self.dimensions), strict=True):
            rest, index = np.divmod(rest, size)
            for mode in modes:
                index, digit = np.divmod(index, mode.size)
                total += digit * mode.stride
        return total if self.step is None else self.step.linear.apply(total)

    def size_bytes(self, tile: LdsTile) -> int:
        """Returns LDS bytes up to the last element."""
        last = int(_places(self, tile).max())
        return -(-(last + 1) * tile.element_bits // 8)

    def group_elements(self, tile: LdsTile) -> int:
        """Returns consecutive elements, counted from 0, that the layout keeps together."""
        # A group ends where the next element does not lie behind the last one.
        ends = np.flatnonzero(np.diff(_places(self, tile)) != 1) + 1
        return gcd(tile.elements, *ends.tolist())

    def is_injective(self, tile: LdsTile) -> bool:
        """Returns whether no two elements lie at the same place."""
        return len(distinct_numbers(_places(self, tile))) == tile.elements

    def __str__(self) -> str:
        sizes = ",".join(_nested([mode.size for mode in modes]) for modes in self.dimensions)
        strides = ",".join(_nested([mode.stride for mode in modes]) for modes in self.dimensions)
        text = f"({sizes}):({strides})"
        if self.step is not None:
            target, width, _ = self.step
            swizzle = f"Swizzle<{width},{target},{self.step.distance}>"
            return f"{swizzle} o {self.base} o {text}"
        return f"{self.base} o {text}" if self.base else text


@lru_cache(maxsize=8)
def _places(layout: StridedLayout, tile: LdsTile) -> npt.NDArray[np.int64]:
    """Returns the offsets of all elements, which every access to the tile asks for again."""
    return layout.offsets(tile, np.arange(tile.elements))


def _nested(numbers: Sequence[int]) -> str:
    text = ",".join(map(str, numbers))
    return text if len(numbers) == 1 else f"({text})"


def row_padding(layout: StridedLayout, tile: LdsTile) -> int | None:
    """Returns the elements behind each row where all but the swizzle is row-major; else None.

    0 stands for rows without gaps.
    """
    unmoved = StridedLayout(layout.dimensions, base=layout.base)
    places = _places(unmoved, tile)
    row, rows = tile.row_elements, tile.elements // tile.row_elements
    padding = int(places[row]) - row if rows > 1 else 0
    expected = np.arange(tile.elements) // row * padding + np.arange(tile.elements)
    return padding if padding >= 0 and (places == expected).all() else None
