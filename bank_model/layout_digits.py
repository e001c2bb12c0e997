# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nested layouts as digits: which lane bit or register bit each digit of an index is.

An index of a dimension of size 2^k * q, with q odd, is written with k binary digits and, on top of
them, one digit of base q. A nested layout says for every digit what holds it: a bit of the register
number (of its batch, outer or element tile), a bit of the lane, or a bit of the wave.

Example: 64 = [batch 4] x [thread 16] with the thread stride 1. Digits 0 to 3 are lane bits 0 to 3,
digits 4 and 5 are the bits of the batch. Lane l holds l, l + 16, l + 32 and l + 48. With the digits
in the order (4, 5, 0, 1, 2, 3), from the lowest, lane l holds 4l to 4l + 3: that is the nested
layout [thread 16] x [element 4]. The registers are the same, and so are the lanes; only which index
each of them stands for is another.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

from .nested_layout import NestedLayout
from .quick_tuple import NamedTuple


class Holder(Enum):
    """What a digit of an index is a digit of."""

    REGISTER = "register"
    LANE = "lane"
    WAVE = "wave"


_REGISTER_LEVELS = ("batch", "outer", "element")
"""The tiles that registers hold, in the order in which the registers of a lane are numbered."""


class LayoutDigit(NamedTuple):
    """A digit of a dimension's index, and what holds it.

    Attributes:
        base: 2, or the odd part of a size.
        place: of a register, the tile (0 to 2, as in `batch, outer, element`); otherwise 0.
        weight: what a step of the digit adds to the number in the tile, to the thread id, or to the
            number of the wave.
    """

    holder: Holder
    base: int
    place: int
    weight: int


def digits_of(size: int) -> tuple[int, ...]:
    """Returns the bases of the digits of an index below `size`, from the lowest digit."""
    twos = (size & -size).bit_length() - 1
    odd = size >> twos
    return (2,) * twos + ((odd,) if odd > 1 else ())


@lru_cache(maxsize=256)
def layout_digits(layout: NestedLayout) -> tuple[tuple[LayoutDigit, ...], ...] | None:
    """Returns what holds the digits of each dimension, from the lowest digit.

    Returns None where the tiles do not divide an index into the digits of its size, as
    [subgroup 2] x [batch 3] x [thread 16].
    """
    found = tuple(_dimension_digits(layout, dim) for dim in range(layout.rank))
    for digits, size in zip(found, layout.shape, strict=True):
        if tuple(digit.base for digit in digits) != digits_of(size):
            return None
    return found


def _dimension_digits(layout: NestedLayout, dim: int) -> tuple[LayoutDigit, ...]:
    tiles = (
        (Holder.REGISTER, 2, layout.element_tile[dim], 1),
        (Holder.LANE, 0, layout.thread_tile[dim], layout.thread_strides[dim]),
        (Holder.REGISTER, 1, layout.outer_tile[dim], 1),
        (Holder.REGISTER, 0, layout.batch_tile[dim], 1),
        (Holder.WAVE, 0, layout.subgroup_tile[dim], layout.subgroup_strides[dim]),
    )
    digits: list[LayoutDigit] = []
    for holder, place, size, weight in tiles:
        for base in digits_of(size):
            digits.append(LayoutDigit(holder, base, place, weight))
            weight *= base
    return tuple(digits)


def layout_with_digits(dimensions: Sequence[Sequence[LayoutDigit]]) -> NestedLayout | None:
    """Returns the nested layout whose digits are held by these holders, from the lowest digit.

    The registers below the lanes become the element tile, those above them the batch tile. Returns
    None where there is no such layout: the lanes of a dimension must be consecutive digits of the
    thread id, and above its registers there may be consecutive digits of the wave.
    """
    columns = [_column(digits) for digits in dimensions]
    if None in columns:
        return None
    rows = zip(*(column for column in columns if column is not None), strict=True)
    elements, threads, thread_strides, batches, waves, wave_strides = map(tuple, rows)
    ones = (1,) * len(columns)
    return NestedLayout(waves, batches, ones, threads, elements, wave_strides, thread_strides)


def _column(digits: Sequence[LayoutDigit]) -> tuple[int, int, int, int, int, int] | None:
    """Returns element tile, thread tile and stride, batch tile, subgroup tile and stride."""
    order = (Holder.REGISTER, Holder.LANE, Holder.REGISTER, Holder.WAVE)
    sizes, strides = [1, 1, 1, 1], [0, 0, 0, 0]
    level = 0
    for digit in digits:
        while level < len(order) and order[level] is not digit.holder:
            level += 1
        if level == len(order):
            return None
        if digit.holder is not Holder.REGISTER:
            if sizes[level] == 1:
                strides[level] = digit.weight
            elif strides[level] * sizes[level] != digit.weight:
                return None
        sizes[level] *= digit.base
    element, thread, batch, wave = sizes
    return element, thread, strides[1], batch, wave, strides[3]


class RegisterOrder(NamedTuple):
    """How the registers of one layout are read in the order of another one's.

    The registers of a lane are numbered as `iree_vector_ext.to_simt` orders them: batch tiles of
    all dimensions, then outer tiles, then element tiles, the last running fastest.

    Attributes:
        held: the sizes of all tiles in the order of the first layout's registers.
        expanded: the same numbers, cut into single digits.
        permutation: which digit of `expanded` each digit of the second layout's registers is.
        wanted: the sizes of all tiles in the order of the second layout's registers.
    """

    held: tuple[int, ...]
    expanded: tuple[int, ...]
    permutation: tuple[int, ...]
    wanted: tuple[int, ...]

    def inverse(self) -> RegisterOrder:
        """Returns how the registers of the second layout become those of the first."""
        expanded = tuple(self.expanded[axis] for axis in self.permutation)
        inverse = tuple(self.permutation.index(axis) for axis in range(len(expanded)))
        return RegisterOrder(self.wanted, expanded, inverse, self.held)


Named = Sequence[Sequence[tuple[int, LayoutDigit]]]
"""The digits of each dimension, from the lowest, each with a name that is its own."""


def register_order(held: NestedLayout, names: Named, wanted: NestedLayout) -> RegisterOrder:
    """Returns how registers of `held` become those of `wanted`.

    Args:
        names: the digits of `held`, each named by the position, counted over all dimensions, of the
            digit of `wanted` that has the same holder.
    """
    dimensions = layout_digits(held)
    targets = layout_digits(wanted)
    if dimensions is None or targets is None:
        raise ValueError("a layout that does not divide into digits has no order of registers")
    named = [
        [(name, digit) for (name, _), digit in zip(row, digits, strict=True)]
        for row, digits in zip(names, dimensions, strict=True)
    ]
    numbers = iter(range(sum(map(len, targets))))
    goal = [[(next(numbers), digit) for digit in digits] for digits in targets]
    have, want = _registers(named), _registers(goal)
    place = {name: position for position, (name, _) in enumerate(have)}
    return RegisterOrder(
        held=simt_shape(held),
        expanded=tuple(base for _, base in have),
        permutation=tuple(place[name] for name, _ in want),
        wanted=simt_shape(wanted),
    )


def simt_shape(layout: NestedLayout) -> tuple[int, ...]:
    """Returns the shape of the registers of a lane: all batch, then outer, then element tiles."""
    return (*layout.batch_tile, *layout.outer_tile, *layout.element_tile)


def _registers(dimensions: Named) -> list[tuple[int, int]]:
    """Returns (name, base) of the digits of the register number, from the highest."""
    found: list[tuple[int, int]] = []
    for place, _ in enumerate(_REGISTER_LEVELS):
        for digits in dimensions:
            found += [
                (name, digit.base)
                for name, digit in reversed(digits)
                if digit.holder is Holder.REGISTER and digit.place == place
            ]
    return found
