# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The whole tile as a grid: every element with its bank, or with the lane that accesses it.

There are two views, and each of them differs from one layout to another:

* *by bank*: the tile as the program sees it, rows down and columns across. A cell holds the bank
  on which its elements lie. In a plain layout a column of the tile often has one bank; a swizzle
  spreads it over all of them.
* *by lane*: the tile as it lies in memory, lines down and banks across. A cell holds the lane that
  accesses what lies there. Lanes of one phase that lie below each other wait for each other.

Neither view is a drawing yet: `tile_grid_picture.py` and `tile_grid_text.py` draw it. Rows and
columns beyond some number are left out, and the caption says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd

import numpy as np
import numpy.typing as npt

from ..bank_model.accesses import LdsAccess, LdsTile
from ..bank_model.errors import is_power_of_two
from ..bank_model.layouts import MAX_USEFUL_ALIGNMENT, Layout
from ..bank_model.lds_rules import Lds

IntArray = npt.NDArray[np.int64]

MOST_ROWS = 32
MOST_COLUMNS = 32
"""Of a view by bank; a view by lane has a column for every bank."""
_MOST_WORDS = 4
"""Of a cell: what one lane accesses at once."""
_NONE = -1


@dataclass(frozen=True)
class GridCell:
    """A cell of a grid, which may be several columns wide.

    Attributes:
        row: its row, counted from the first that is shown.
        column: its first column.
        texts: what is said of each of its columns.
        colour: the bank or the phase whose colour it has.
        title: what a reader sees who points at it.
    """

    row: int
    column: int
    texts: tuple[str, ...]
    colour: int
    title: str


@dataclass(frozen=True, eq=False)
class TileGrid:
    """One view of a tile in one layout.

    Attributes:
        columns: how many columns are shown.
        column_step: by how much the numbers above the columns grow.
        rows: the numbers of the rows that are shown.
        row_name: what a row is, "row" or "line".
        cells: what is known of the tile, row after row.
        colours: the number of banks, or of phases, among which the colours are shared out.
        caption: what the grid shows, in a sentence.
        titled: whether a reader who points at a cell learns more than its row, its column and its
            text say already.
    """

    columns: int
    column_step: int
    rows: tuple[int, ...]
    row_name: str
    cells: tuple[GridCell, ...]
    colours: int
    caption: str
    titled: bool


@dataclass(frozen=True)
class WholeTile:
    """A tile whose layouts are shown with the same cells, so that they can be compared.

    Attributes:
        tile: the tile.
        word_bits: the bits of a bank's word.
        banks: the number of banks.
        cell_elements: the elements of a cell of the view by bank; in all of the layouts they lie
            side by side.
        most_rows: the most rows or lines that are shown.
    """

    tile: LdsTile
    word_bits: int
    banks: int
    cell_elements: int
    most_rows: int = MOST_ROWS

    @staticmethod
    def of(
        lds: Lds,
        tile: LdsTile,
        layouts: Sequence[Layout],
        accesses: Sequence[LdsAccess],
        most_rows: int = MOST_ROWS,
        banks: int | None = None,
    ) -> WholeTile:
        """Returns the tile on the banks of `lds`, with cells that fit all of `layouts`.

        Some chips have more banks for some instructions: `banks` says how many there are for the
        accesses, by default the most. A cell is no larger than what all of them
        take at once, but at least a word where that stays together.
        """
        word_bits = 8 * lds.bank_width_bytes
        banks = banks or max(each.banks for each in lds.instructions)
        whole = WholeTile(tile, word_bits, banks, 1, most_rows)
        if tile.element_bits > word_bits or not is_power_of_two(tile.element_bits):
            return whole
        together = gcd(whole.row_elements, *(layout.group_elements(tile) for layout in layouts))
        taken = gcd(*(access.count for access in accesses))
        wanted = max(taken & -taken, word_bits // tile.element_bits)
        cell = min(together & -together, wanted, MAX_USEFUL_ALIGNMENT * 8 // tile.element_bits)
        bits = min(cell * tile.element_bits, word_bits)
        firsts = np.arange(0, tile.elements, cell)
        for layout in layouts:
            if (layout.offsets(tile, firsts) * tile.element_bits % bits).any():
                return whole
        return replace(whole, cell_elements=cell)

    @property
    def row_elements(self) -> int:
        """Returns the elements of a row; a tile without rows has one for each line of banks."""
        if len(self.tile.shape) > 1:
            return self.tile.row_elements
        line = max(self.banks * self.word_bits // self.tile.element_bits, 1)
        return min(self.tile.elements, line)

    # -- by bank -----------------------------------------------------------------------------

    def by_bank(self, layout: Layout) -> TileGrid:
        """Returns the tile as the program sees it, each cell with the banks of its elements."""
        rows = -(-self.tile.elements // self.row_elements)
        shown_rows = min(rows, self.most_rows)
        # A column is a word, or an element where that is larger or does not share its word.
        span = max(self.cell_elements * self.tile.element_bits // self.word_bits, 1)
        span = span if self.cell_elements > 1 else 1
        cells = min(self.row_elements // self.cell_elements, MOST_COLUMNS // span)
        return TileGrid(
            columns=cells * span,
            column_step=self.cell_elements // span,
            rows=tuple(range(shown_rows)),
            row_name="row",
            cells=tuple(self._bank_cells(layout, shown_rows, cells, span)),
            colours=self.banks,
            caption=self._bank_caption(shown_rows, rows, cells, self.cell_elements // span),
            titled=False,
        )

    def _bank_cells(self, layout: Layout, rows: int, cells: int, span: int) -> Iterator[GridCell]:
        tile, size = self.tile, self.cell_elements
        first = np.arange(rows)[:, None] * self.row_elements + np.arange(cells) * size
        exists = first + size <= tile.elements
        bits = layout.offsets(tile, np.where(exists, first, 0)) * tile.element_bits
        words = bits // self.word_bits
        lasts = (bits + size * tile.element_bits - 1) // self.word_bits
        for row, cell in np.argwhere(exists).tolist():
            word, last = int(words[row, cell]), int(lasts[row, cell])
            banks = [str((word + column) % self.banks) for column in range(span)]
            where = f"bank {word % self.banks}, word {word}"
            if last > word:
                where = f"banks {banks[0]} to {last % self.banks}, words {word} to {last}"
            title = f"{element_names(tile, int(first[row, cell]), size)}: {where}"
            yield GridCell(row, cell * span, tuple(banks), word % self.banks, title)

    def _bank_caption(self, rows: int, all_rows: int, cells: int, step: int) -> str:
        columns = cells * self.cell_elements
        cut: list[str] = []
        if rows < all_rows:
            cut.append(f"the first {rows} of {all_rows} rows")
        if columns < self.row_elements:
            cut.append(f"the first {columns} of {self.row_elements} columns")
        what = " and ".join(cut) or "the whole tile"
        size = "an element" if step == 1 else f"{step} elements"
        return f"The bank of each element: {what}; a column is {size}, a number is the bank"

    # -- by lane -----------------------------------------------------------------------------

    def by_lane(
        self,
        layout: Layout,
        accesses: Sequence[LdsAccess],
        phases: Sequence[Sequence[int]],
        issue_name: str = "wave",
        lies: tuple[LdsTile, Layout] | None = None,
    ) -> TileGrid:
        """Returns the tile as it lies in memory, each word with the first lane that accesses it.

        All of the `accesses`, of which there is at least one, have waves of equal size. A word that
        several lanes access has a `+`. A cell has the colour of its lane's phase, which is one of
        `phases`: the lanes that the instruction serves together. `issue_name` says what an issue
        is, "wave" or "issue". Where accesses count the elements of another tile, which lie in the
        same places, `lies` is that tile with its layout.
        """
        touched = _Touched.of(self, *(lies or (self.tile, layout)), accesses, issue_name)
        lines = -(-layout.size_bytes(self.tile) * 8 // (self.word_bits * self.banks))
        shown = min(lines, self.most_rows)
        phases = [lanes for lanes in phases if lanes]
        phase_of = {lane: phase for phase, lanes in enumerate(phases) for lane in lanes}
        cells = tuple(self._lane_cells(touched, layout, shown, phase_of))
        some = f"the first {shown} of {lines}" if shown < lines else f"all {lines}"
        several = "lines" if lines > 1 else "line"
        size = self.banks * self.word_bits // 8
        return TileGrid(
            columns=self.banks,
            column_step=1,
            rows=tuple(range(shown)),
            row_name="line",
            cells=cells,
            colours=len(phases),
            titled=True,
            caption=(
                f"The lane of each word: {some} {several} of {size} bytes, banks across; a number "
                "is the lane that accesses the word first, with + where others do, too"
                f"{', and a colour its phase' if len(phases) > 1 else ''}"
            ),
        )

    def _lane_cells(
        self, touched: _Touched, layout: Layout, lines: int, phase_of: Mapping[int, int]
    ) -> Iterator[GridCell]:
        words = range(lines * self.banks)
        elements = elements_in_words(words, self.tile, layout, self.word_bits)
        for line in range(lines):
            column = 0
            while column < self.banks:
                word = line * self.banks + column
                width = 1
                if touched.first[word] != _NONE:
                    # A cell of a picture does not reach from one stripe into the next.
                    width = touched.run(word, _MOST_WORDS - column % _MOST_WORDS)
                    lane = touched.lane(word)
                    text = f"{lane}{'+' if touched.shared[word] else ''}"
                    inside = {e for each in range(word, word + width) for e in elements[each]}
                    title = f"{_names(self.tile, sorted(inside))}; {touched.who(word)}"
                    yield GridCell(line, column, (text,) * width, phase_of[lane], title)
                column += width


@dataclass(frozen=True, eq=False)
class _Touched:
    """Which lane accesses which word first.

    Attributes:
        first: for each word the access, the wave and the lane as one number; -1 for none.
        shared: for each word whether other lanes access it, too.
        accesses, waves, lanes: how many there are.
        issue_name: what a wave is called.
    """

    first: IntArray
    shared: npt.NDArray[np.bool_]
    accesses: int
    waves: int
    lanes: int
    issue_name: str

    @staticmethod
    def of(
        whole: WholeTile,
        tile: LdsTile,
        layout: Layout,
        accesses: Sequence[LdsAccess],
        issue_name: str,
    ) -> _Touched:
        """Returns what `accesses` to `tile` touch in `layout`."""
        waves = max(len(access.elements) for access in accesses)
        lanes = accesses[0].elements.shape[1]
        size = -(-layout.size_bytes(tile) * 8 // (whole.word_bits * whole.banks)) * whole.banks
        most = len(accesses) * waves * lanes
        first, least = np.full(size, most), np.full(size, most)
        greatest = np.full(size, _NONE)
        for number, access in enumerate(accesses):
            elements = access.elements[..., None] + np.arange(access.count)
            who = np.arange(access.elements.size).reshape(*access.elements.shape, 1)
            who = np.broadcast_to(who, elements.shape)
            if access.active is not None:
                elements, who = elements[access.active], who[access.active]
            bits = layout.offsets(tile, elements.ravel()) * tile.element_bits
            start, end = bits // whole.word_bits, (bits + tile.element_bits - 1) // whole.word_bits
            for apart in range(int((end - start).max(initial=-1)) + 1):
                reaches = start + apart <= end
                words, by = (start + apart)[reaches], who.ravel()[reaches]
                np.minimum.at(first, words, number * waves * lanes + by)
                np.minimum.at(least, words, by)
                np.maximum.at(greatest, words, by)
        first[first == most] = _NONE
        return _Touched(first, least < greatest, len(accesses), waves, lanes, issue_name)

    def lane(self, word: int) -> int:
        """Returns the lane that accesses a word first."""
        return int(self.first[word]) % self.lanes

    def run(self, word: int, most: int) -> int:
        """Returns how many words from this one on a lane accesses at once, at most `most`."""
        others = slice(word, word + most)
        alike = self.first[others] == self.first[word]
        alike &= self.shared[others] == self.shared[word]
        return most if alike.all() else int(alike.argmin())

    def who(self, word: int) -> str:
        """Returns who accesses a word first, such as `lane 5 of wave 0, access 2 of 16`."""
        access, place = divmod(int(self.first[word]), self.waves * self.lanes)
        wave = f" of {self.issue_name} {place // self.lanes}" if self.waves > 1 else ""
        which = f", access {access + 1} of {self.accesses}" if self.accesses > 1 else ""
        others = ", and others" if self.shared[word] else ""
        return f"lane {place % self.lanes}{wave}{which}{others}"


def elements_in_words(
    words: Sequence[int], tile: LdsTile, layout: Layout, word_bits: int
) -> dict[int, list[int]]:
    """Returns the row-major elements that lie in each of `words`, in any part, ascending."""
    found: dict[int, list[int]] = {word: [] for word in words}
    starts = layout.offsets(tile, np.arange(tile.elements)) * tile.element_bits
    first, last = starts // word_bits, (starts + tile.element_bits - 1) // word_bits
    for element in np.flatnonzero(np.isin(first, words) | np.isin(last, words)).tolist():
        for word in range(int(first[element]), int(last[element]) + 1):
            if word in found:
                found[word].append(element)
    return found


def element_names(tile: LdsTile, first: int, count: int) -> str:
    """Returns the names of elements side by side, such as `row 3, columns 4 to 7`."""
    if len(tile.shape) == 1:
        return f"element {first}" if count == 1 else f"elements {first} to {first + count - 1}"
    row, column = divmod(first, tile.row_elements)
    if count == 1:
        return f"row {row}, column {column}"
    return f"row {row}, columns {column} to {column + count - 1}"


def _names(tile: LdsTile, elements: Sequence[int]) -> str:
    """Returns the names of ascending elements; those of a run in a row have one name."""
    names: list[str] = []
    start = 0
    for end in range(1, len(elements) + 1):
        goes_on = end < len(elements) and elements[end] == elements[end - 1] + 1
        if not goes_on or elements[end] % tile.row_elements == 0:
            names.append(element_names(tile, elements[start], end - start))
            start = end
    return " and ".join(names)
