# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renaming the indices of a dimension, so that the registers of a lane are neighbours in memory.

Which lane and register holds which index of a dimension is a choice: if all vectors that share the
dimension call its indices by other names, nothing changes but the addresses of their transfers. A
*renaming* permutes the digits of the index (`layout_digits.py`): where a transfer had digit x, it
has digit r(x).

Example: the columns of V in an attention, 64 = [batch 4] x [thread 16]: lane l reads the columns
l, l + 16, l + 32 and l + 48 of a row, one at a time. With the digits of the batch moved below those
of the thread, it reads the columns 4l to 4l + 3 at once. The output has the columns with the digits
[batch 4] x [thread 4] x [element 4], where the two digits of the elements are called what the two
lowest digits of the thread are called in V. After the same renaming they are
[thread 4] x [element 16]: a lane has 16 neighbours, and stores them wider than before.

**Candidates.** What a renaming is for is that a lane finds its registers side by side. So the
candidates move some of the digits that registers hold to the lowest places, in their order, and
leave the others in theirs. A transfer moves at most 16 bytes per lane at once, and no lane has more
neighbours than it has registers along the dimension: that bounds every candidate.

**Moves.** Matrix instructions want elements of less than 32 bits packed, in the order of the
registers of the layout before the renaming. A word of 32 bits that is not loaded as such takes a
move (`v_perm_b32`, `prmt`) to be put together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import prod

from .coalescing import WIDEST_BYTES
from .layout_digits import (
    Holder,
    LayoutDigit,
    RegisterOrder,
    layout_digits,
    layout_with_digits,
    register_order,
    simt_shape,
)
from .nested_layout import NestedLayout
from .quick_tuple import NamedTuple

Renaming = Mapping[int, int]
"""The name that takes the place of each name; names that are not in it stay."""

DigitNames = Sequence[Sequence[int]]
"""The names of the digits of each dimension of a vector, from the lowest digit."""


class Renamed(NamedTuple):
    """A transfer's vector under a renaming.

    Attributes:
        layout: what the transfer has, in terms of memory.
        order: how its registers become those of the layout without the renaming.
    """

    layout: NestedLayout
    order: RegisterOrder


def renamed(layout: NestedLayout, names: DigitNames, renaming: Renaming) -> Renamed | None:
    """Returns a transfer's layout under a renaming; None where no nested layout is the same."""
    columns = _in_memory(layout, names, renaming)
    if columns is None:
        return None
    new = layout_with_digits([[digit for _, digit in column] for column in columns])
    if new is None:
        return None
    return Renamed(new, register_order(new, columns, layout))


def handed_over(
    written: NestedLayout,
    written_names: DigitNames,
    read: NestedLayout,
    read_names: DigitNames,
    renaming: Renaming,
) -> RegisterOrder | None:
    """Returns how a lane's registers that are written become those that are read.

    A vector that is written to a tile, and read from it as a whole, may lie in the same lanes
    before and after. Then the tile is not needed. Returns None where another lane reads an element.

    Example: with 16x16x4 contractions of f32 a lane has the columns 4t + e of a row of the first
    contraction, e = 0 to 3, and as an operand of the second one the columns 4s + t, s = 0 to 3. If
    the operand calls its column 4s + t by the name 4t + s, the lane has what it reads.
    """
    source = _in_memory(written, written_names, renaming)
    target = _in_memory(read, read_names, renaming)
    if source is None or target is None:
        return None
    reader: dict[int, int] = {}
    for row, other in zip(source, target, strict=True):
        for (number, digit), (wanted, held) in zip(row, other, strict=True):
            same = digit.holder is held.holder and digit.base == held.base
            if not same or (digit.holder is not Holder.REGISTER and digit != held):
                return None
            reader[number] = wanted
    digits = layout_digits(written)
    assert digits is not None
    numbers = iter(range(len(reader)))
    named = [[(reader[next(numbers)], digit) for digit in row] for row in digits]
    return register_order(written, named, read)


def _in_memory(
    layout: NestedLayout, names: DigitNames, renaming: Renaming
) -> list[list[tuple[int, LayoutDigit]]] | None:
    """Returns which digits of a layout the digits of its memory's indices are, after a renaming.

    Each comes with its number in the layout, counted over all dimensions. Returns None where the
    layout does not divide into digits, or the renaming mixes dimensions.
    """
    digits = layout_digits(layout)
    if digits is None:
        return None
    columns: list[list[tuple[int, LayoutDigit]]] = []
    before = 0
    for row, held in zip(names, digits, strict=True):
        named = dict(zip(row, enumerate(held, before), strict=True))
        before += len(held)
        if len(named) != len(row) or any(renaming.get(x, x) not in named for x in row):
            return None
        columns.append([named[renaming.get(x, x)] for x in row])
    return columns


def candidates(
    layout: NestedLayout, names: DigitNames, dim: int, digits: frozenset[int], element_bits: int
) -> Iterator[dict[int, int]]:
    """Yields the renamings that put more neighbours along `dim` into the registers of a lane.

    Args:
        dim: the dimension of the vector that runs along the rows of the memory.
        digits: those that may be permuted.
    """
    held = layout_digits(layout)
    if held is None:
        return
    row = names[dim]
    movable = [i for i, name in enumerate(row) if name in digits and held[dim][i].base == 2]
    registers = [i for i in movable if held[dim][i].holder is Holder.REGISTER]
    if movable != list(range(len(movable))):
        return
    widest = WIDEST_BYTES * 8 // element_bits
    for count in range(1, len(registers) + 1):
        chosen = registers[:count]
        if 1 << count > widest:
            return
        order = [*chosen, *(i for i in movable if i not in chosen)]
        if order != movable:
            yield {row[i]: row[order[i]] for i in movable}


def most_neighbours(layout: NestedLayout, dim: int) -> int:
    """Returns how many registers a lane has along `dim`: no renaming gives it more neighbours."""
    return layout.batch_tile[dim] * layout.outer_tile[dim] * layout.element_tile[dim]


def moves(
    loaded: NestedLayout, order: RegisterOrder | None, row_dim: int, element_bits: int
) -> int:
    """Returns how many words of 32 bits are put together from several loaded words, per lane.

    Args:
        loaded: the layout that the transfer has.
        order: how its registers become those that are used; None if they are used as they are.
        row_dim: the dimension of the vector that runs along the rows of the memory.
        element_bits: 32 or more never takes a move.
    """
    parts = 32 // element_bits
    if parts < 2:
        return 0
    count = prod(simt_shape(loaded))
    used = range(count) if order is None else _permuted(order)
    run = loaded.element_tile[row_dim]
    inner = prod(loaded.element_tile[row_dim + 1 :])

    def place(register: int) -> tuple[int, int]:
        """Returns the row of a register, by a number of its own, and its place in the row."""
        return register // inner // run * inner + register % inner, register // inner % run

    moved = 0
    for start in range(0, count, parts):
        word = [place(register) for register in used[start : start + parts]]
        row, first = word[0]
        loaded_as_such = first % parts == 0 and word == [(row, first + i) for i in range(parts)]
        moved += not loaded_as_such
    return moved


def _permuted(order: RegisterOrder) -> list[int]:
    """Returns the register of the first layout that each register of the second one is."""
    sizes = order.expanded
    strides = [prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    found = [0]
    for axis in order.permutation:
        found = [first + step * strides[axis] for first in found for step in range(sizes[axis])]
    return found


def composed(renamings: Sequence[Renaming]) -> dict[int, int]:
    """Returns the renaming of several classes at once; their names do not overlap."""
    return dict(chain.from_iterable(renaming.items() for renaming in renamings))
