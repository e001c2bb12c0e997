# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nested layouts of copies: which thread of a workgroup moves which elements of a tile.

A copy brings a tile from global memory to the LDS through the registers of all threads. Any layout
is right; they differ in how wide a lane's accesses are, and in how many blocks of global memory an
instruction touches. All layouts are compared in which a thread moves whole runs of a row, of one
width, and in which the threads divide the tile evenly.

Worked example: 64 x 96 elements of f16 and 128 threads. With runs of 8 elements, 16 bytes, a row
has 12 of them, and the tile 768. 4 threads along the row and 32 below each other move 4 x 8
elements of 32 rows at once, and 3 x 2 such batches are the tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from math import gcd, prod
from typing import TYPE_CHECKING

import numpy as np

from ...bank_model.coalescing import transactions_of
from ...bank_model.descriptor_tiles import ArrangedTile
from ...bank_model.lds_rules import AccessKind, Lds
from ...bank_model.nested_layout import NestedLayout, TilePart
from ...bank_model.quick_tuple import NamedTuple
from .least_cost import least_cost

if TYPE_CHECKING:
    import numpy.typing as npt

_WIDTHS_BITS = (128, 64, 32, 16, 8)
LEAST_ASYNC_BYTES = 4
"""The fewest bytes that `cp.async` copies."""
BLOCK_ROWS, _BLOCK_COLUMNS = 4, (8, 4, 2)
"""The rows of a block that a thread transposes, four of which are 8 bytes of 2-byte elements, and
its columns, the best first: with 2 a thread still has 16 bytes of neighbours."""


def copy_layouts(
    shape: Sequence[int], element_bits: int, threads: int, run: int
) -> Iterator[NestedLayout]:
    """Yields the layouts in which all threads share a copy evenly.

    Args:
        shape: of the tile, in elements.
        run: how many elements of a row lie in memory without a gap that an access may not cross,
            at multiples of which rows begin too; an access is no wider than what divides it.
    """
    for width in _WIDTHS_BITS:
        elements = width // element_bits
        if elements and shape[-1] % elements == 0 and run % elements == 0:
            runs = (*shape[:-1], shape[-1] // elements)
            for tile in _thread_tiles(runs, threads):
                yield _layout(runs, tile, elements)


@cache
def widest_share(rows: int, columns: int, element_bytes: int, threads: int) -> int:
    """Returns the bytes that a thread copies at once where all share a tile evenly.

    It is 0 for a tile that they cannot share evenly.
    """
    layout = next(copy_layouts((rows, columns), 8 * element_bytes, threads, columns), None)
    return 0 if layout is None else layout.element_tile[-1] * element_bytes


def block_layout(shape: Sequence[int], threads: int) -> NestedLayout | None:
    """Returns a layout in which threads copy blocks of `BLOCK_ROWS` rows and some columns.

    Blocks are as wide as can be, and as many of them as can stand side by side. 128 threads copy
    64 x 80 elements in blocks of 4 x 2: 16 x 8 of them stand on 16 x 40 blocks, five times.

    None stands for a tile that the threads cannot share in this way.
    """
    *outer, rows, columns = shape
    if prod(outer) != 1 or rows % BLOCK_ROWS:
        return None
    ones, zeros, blocks = (1,) * len(outer), (0,) * len(outer), rows // BLOCK_ROWS
    for width in _BLOCK_COLUMNS:
        runs = columns // width if columns % width == 0 else 0
        ways = (each for each in range(runs, 0, -1) if runs % each == 0 and threads % each == 0)
        across = next((each for each in ways if blocks % (threads // each) == 0), None)
        if across is None:
            continue
        down = threads // across
        return NestedLayout(
            (*ones, 1, 1),
            (*ones, blocks // down, runs // across),
            (*ones, 1, 1),
            (*ones, down, across),
            (*ones, BLOCK_ROWS, width),
            (*zeros, 0, 0),
            (*zeros, across, 1),
        )
    return None


@cache
def shares_blocks(rows: int, columns: int, threads: int) -> bool:
    """Returns whether threads can share a tile as `block_layout` says."""
    return block_layout((rows, columns), threads) is not None


def share_evenly(shapes: Iterable[Sequence[int]], threads: int) -> bool:
    """Returns whether there are layouts in which all threads share copies of these shapes evenly.

    Accesses may be as narrow as an element.
    """
    return all(_is_shared(shape, threads) for shape in shapes)


def _is_shared(shape: Sequence[int], threads: int) -> bool:
    """Returns whether there are thread tiles.

    Where there are, one has as many threads along each dimension as that takes of those that are
    left: so the fewest are left for the others, and divide whatever others would divide.
    """
    for size in shape:
        threads //= gcd(size, threads)
    return threads == 1


def best_copy_layout(
    lds: Lds,
    part: TilePart,
    shape: Sequence[int],
    threads: int,
    run: int,
) -> NestedLayout | None:
    """Returns the layout whose copies touch the fewest blocks of global memory.

    Among equals, it is one with the fewest instructions. None stands for a tile that the threads
    cannot share evenly.

    Args:
        part: the memory that the tile lies in; its elements are whole bytes.
        shape: of the tile, in elements.
        threads: of the workgroup.
        run: as for `copy_layouts`.
    """

    layouts = [*copy_layouts(shape, part.tile.element_bits, threads, run)]

    def cost(number: int) -> tuple[tuple[int, ...], NestedLayout]:
        layout = layouts[number]
        return (transactions(lds, layout, part, threads), prod(layout.batch_tile)), layout

    bounds = [(least_transactions(lds, each, part), prod(each.batch_tile)) for each in layouts]
    found = least_cost(bounds, cost)
    return None if found is None else found[1]


def least_transactions(lds: Lds, layout: NestedLayout, part: TilePart) -> int:
    """Returns what `transactions` is never below: an instruction has no more of a block than there
    is, unless elements are one another's."""
    if len(part.mapped(layout.rank)) < layout.rank:
        return 0
    return -(-prod(layout.shape) * part.tile.element_bits // 8 // lds.transaction_bytes)


def transactions(lds: Lds, layout: NestedLayout, part: TilePart, threads: int) -> int:
    """Returns how many blocks of global memory a transfer of this layout touches."""
    size = part.tile.element_bits // 8
    found = layout.accesses(part, AccessKind.READ, threads=threads, wave_size=lds.wave_size)
    return transactions_of(lds, found, size)


class CopyPatches(NamedTuple):
    """Copies of neighbouring columns of a tile, all of one width, in an order.

    Copies come in patches, and in a patch row by row. Patches come row by row, too, or column by
    column.

    Attributes:
        rows, across: the rows of a patch, and the copies in each.
        patches: how many of them lie side by side.
        below: how many lie below each other, if they come column by column; otherwise 0.
        begin: how many copies of the tile come before.
        first: how many copies a row of the tile has before these columns.
    """

    rows: int
    across: int
    patches: int
    below: int = 0
    begin: int = 0
    first: int = 0

    @property
    def copies(self) -> int:
        """Returns how many copies a patch has."""
        return self.rows * self.across

    def places(self, copies: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], ...]:
        """Returns the rows of the copies with these numbers, and their places in the rows."""
        patch, inside = np.divmod(copies - self.begin, self.copies)
        if self.below:
            column, row = np.divmod(patch, self.below)
        else:
            row, column = np.divmod(patch, self.patches)
        row = row * self.rows + inside // self.across
        return row, self.first + column * self.across + inside % self.across


class CopyOrder(NamedTuple):
    """The order in which the threads of a workgroup make the copies of a tile, all of one width.

    Attributes:
        row: how many copies a row has.
        parts: in the order in which they are copied.
    """

    row: int
    parts: tuple[CopyPatches, ...]

    @property
    def is_by_rows(self) -> bool:
        """Returns whether copies come row by row."""
        return all(part.copies == 1 and not part.below for part in self.parts)

    @staticmethod
    def by_rows(shape: Sequence[int], width: int) -> CopyOrder:
        """Returns the order of copies of `width` elements that goes through whole rows."""
        row = shape[-1] // width
        return CopyOrder(row, (CopyPatches(1, 1, row),))

    @staticmethod
    def for_descriptors(
        shape: Sequence[int], width: int, element_bytes: int, threads: int, *, again: bool = True
    ) -> CopyOrder:
        """Returns the order for a tile that is arranged for descriptors, if it can be.

        Where the blocks of an `ArrangedTile` have less of a row than fills the banks, neighbouring
        threads write to as many rows of a block as do. Blocks come one behind the other, so that a
        thread has the same place in each. All threads copy to the same part of a tile at a time.
        What goes through registers is stored element by element, and gains nothing by wide blocks,
        in which a thread has more rows.

        Args:
            again: whether a loop copies the tile again and again.
        """
        rows, columns = prod(shape[:-1]), shape[-1]
        is_async = again and width * element_bytes >= LEAST_ASYNC_BYTES
        ways = (ArrangedTile.of, ArrangedTile.in_one_mode)[0 if is_async else 1 :]
        for arrange in ways:
            tile = arrange(rows, columns, element_bytes)
            is_plain = tile is None or (len(tile.parts) == 1 and tile.parts[0].line_rows == 1)
            if tile is None or is_plain or columns == tile.parts[0].width:
                break
            copies = [part.line_rows * part.width // width for part in tile.parts]
            counts = [rows * part.columns // width for part in tile.parts]
            if not any(threads % each for each in copies) and not any(
                each % threads for each in counts[:-1]
            ):
                return CopyOrder(columns // width, tuple(_patches_of(tile, width)))
        return CopyOrder.by_rows(shape, width)

    def part_of(self, number: int) -> CopyPatches:
        """Returns the part to which a copy belongs."""
        return next(part for part in reversed(self.parts) if part.begin <= number)

    def places(self, copies: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Returns which copies of the tile, counted row by row, those with these numbers are."""
        places = np.zeros_like(copies)
        for part in self.parts:
            behind = copies >= part.begin
            row, column = part.places(copies[behind])
            places[behind] = row * self.row + column
        return places


def _patches_of(tile: ArrangedTile, width: int) -> Iterator[CopyPatches]:
    """Yields the patches of each part of a tile, which fill the banks, column by column."""
    for part in tile.parts:
        yield CopyPatches(
            part.line_rows,
            part.width // width,
            part.blocks,
            part.rows // part.line_rows,
            part.first * part.rows // width,
            part.first // width,
        )


def _thread_tiles(sizes: Sequence[int], threads: int) -> Iterator[tuple[int, ...]]:
    """Yields the tiles of so many threads whose sizes divide `sizes`."""
    if len(sizes) == 0:
        if threads == 1:
            yield ()
        return
    most = gcd(sizes[0], threads)
    for count in range(1, most + 1):
        if most % count == 0:
            for rest in _thread_tiles(sizes[1:], threads // count):
                yield (count, *rest)


def _layout(runs: Sequence[int], tile: Sequence[int], elements: int) -> NestedLayout:
    """Returns the layout of a thread tile; neighbouring threads are neighbours along the row."""
    ones, zeros = (1,) * len(runs), (0,) * len(runs)
    strides = [prod(tile[dim + 1 :]) if count > 1 else 0 for dim, count in enumerate(tile)]
    return NestedLayout(
        subgroup_tile=ones,
        batch_tile=tuple(size // count for size, count in zip(runs, tile, strict=True)),
        outer_tile=ones,
        thread_tile=tuple(tile),
        element_tile=(*ones[:-1], elements),
        subgroup_strides=zeros,
        thread_strides=tuple(strides),
    )
