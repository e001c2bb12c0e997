# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The elements of a tile numbered as they follow each other in memory.

An access takes elements that lie side by side in memory, whatever the program calls them. In the
column-major tile `(64,64):(1,64)` these are elements of a column. The bank model counts vectors of
consecutive numbers, so that accesses to such a tile are counted in *memory numbers*: the digits of
all indices, the one with the longest stride first. A swizzle does not belong to the numbers; it
moves what they number, as it does with rows.

    (64,64):(1,64)                      row r, column c has the number c * 64 + r
    ((8,4),(2,16)):((2,16),(1,64))      row r, column c: c / 2 * 64 + r * 2 + c % 2
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..bank_model.accesses import LdsAccess, LdsTile
from ..bank_model.layouts import Layout, PlainLayout, SwizzledLayout
from ..bank_model.linear_layout import LinearLayout
from ..bank_model.linear_swizzle import LinearSwizzle
from ..bank_model.strided_layout import Mode, StridedLayout
from ..bank_model.swizzles import xor_chain
from .layout_text import in_rows
from .vectors import IntArray, Vectors, joined, widest


@dataclass(frozen=True, eq=False)
class MemoryOrder:
    """A tile as it lies in memory.

    Attributes:
        tile: its sizes in memory, the one with the longest stride first.
        layout: where the elements of that tile lie.
        numbers: [elements], the number in `tile` of each row-major element of the program's tile.
    """

    tile: LdsTile
    layout: Layout
    numbers: IntArray

    @staticmethod
    def of(layout: Layout, tile: LdsTile) -> MemoryOrder | None:
        """Returns the order of a layout; None where it is that of the rows."""
        if isinstance(layout, LinearLayout):
            return MemoryOrder._of_bases(layout, tile)
        if not isinstance(layout, StridedLayout):
            return None
        modes = [mode for modes in layout.dimensions for mode in modes]
        # The sort is stable, so that the order does not depend on what has one element.
        by_stride = sorted(range(len(modes)), key=lambda each: -modes[each].stride)
        weights = np.ones(len(modes), dtype=np.int64)
        for farther, nearer in zip(by_stride[-2::-1], by_stride[:0:-1], strict=True):
            weights[farther] = weights[nearer] * modes[nearer].size
        dense = iter(weights.tolist())
        numbered = StridedLayout(
            tuple(tuple(Mode(mode.size, next(dense)) for mode in own) for own in layout.dimensions)
        )
        numbers = numbered.offsets(tile, np.arange(tile.elements))
        if (np.diff(numbers) == 1).all():
            return None
        sizes = _joined([modes[each] for each in by_stride if modes[each].size > 1])
        memory = LdsTile(tuple(mode.size for mode in sizes), tile.element_bits)
        lies = StridedLayout(tuple((mode,) for mode in sizes), layout.step, layout.base)
        return MemoryOrder(memory, in_rows(lies, memory), numbers)

    @staticmethod
    def _of_bases(layout: LinearLayout, tile: LdsTile) -> MemoryOrder | None:
        """Returns the order in which the highest bits of places come, which an XOR moves."""
        columns = layout.columns
        tops = [column.bit_length() - 1 for column in columns]
        order = sorted(range(len(columns)), key=tops.__getitem__)
        if len(set(tops)) < len(tops) or order == list(range(len(order))):
            return None
        elements = np.arange(tile.elements)
        numbers = np.zeros_like(elements)
        for place, bit in enumerate(order):
            numbers |= (elements >> bit & 1) << place
        memory = LdsTile((tile.elements,), tile.element_bits)
        moved = LinearLayout.of_columns([columns[bit] for bit in order], layout.gaps)
        found = moved.simplified(memory)
        if isinstance(found, LinearSwizzle):
            swizzles = xor_chain(found)
            return MemoryOrder(
                memory, SwizzledLayout(swizzles) if swizzles else PlainLayout(), numbers
            )
        return MemoryOrder(memory, found, numbers)

    @staticmethod
    def of_rows(tile: LdsTile) -> MemoryOrder:
        """Returns the order of the rows themselves."""
        return MemoryOrder(tile, PlainLayout(), np.arange(tile.elements))

    def transposed(self, tile: LdsTile) -> MemoryOrder:
        """Returns the same memory with numbers for the elements of the transposed tile.

        Args:
            tile: the tile before; its last two dimensions are exchanged.
        """
        numbers = self.numbers.reshape(tile.shape)
        numbers = np.swapaxes(numbers, -1, -2) if numbers.ndim > 1 else numbers
        return replace(self, numbers=numbers.ravel())

    def accesses(self, accesses: Sequence[LdsAccess], registers: int = 1) -> tuple[LdsAccess, ...]:
        """Returns accesses of row-major elements as those of memory numbers, joined and parted.

        A vector whose elements do not lie side by side in memory becomes several accesses.

        Args:
            registers: how many of the accesses, from the first one on, are registers of a lane that
                may be joined: those of an operand of a matrix instruction.
        """
        return tuple(
            access
            for first in range(0, len(accesses), registers)
            for access in self._of_registers(accesses[first : first + registers])
        )

    def along(self, tile: LdsTile) -> int | None:
        """Returns the dimension of `tile` that runs along memory, if one does."""
        numbers = self.numbers.reshape(tile.shape)
        for dimension, size in enumerate(tile.shape):
            line = numbers[tuple(slice(None) if d == dimension else 0 for d in range(numbers.ndim))]
            if size > 1 and (np.diff(line) == 1).all():
                return dimension
        return None

    def keep_whole(self, accesses: Sequence[LdsAccess]) -> bool:
        """Returns whether what one instruction accesses lies side by side in memory."""
        return all(self._vectors([each]).count == each.count for each in accesses)

    def _of_registers(self, accesses: Sequence[LdsAccess]) -> Iterator[LdsAccess]:
        first = accesses[0]
        firsts, active, count = self._vectors(accesses)
        for elements, mask in zip(firsts, active, strict=True):
            yield replace(first, elements=elements, count=count, active=mask)

    def _vectors(self, accesses: Sequence[LdsAccess]) -> Vectors:
        steps: list[IntArray] = []
        for access in accesses:
            mask = True if access.active is None else access.active
            # Lanes that take no part may point anywhere.
            elements = np.where(mask, access.elements, 0)
            steps += [elements + k * np.asarray(mask) for k in range(access.count)]
        numbers = self.numbers[np.stack(steps)]
        shape = numbers.shape
        masks = [
            np.ones(shape[1:], dtype=bool) if access.active is None else access.active
            for access in accesses
            for _ in range(access.count)
        ]
        active = np.stack(masks)
        whole = joined(numbers, active, accesses[0].count) if len(accesses) == 1 else None
        return whole or widest(numbers, active, self.tile.element_bits)


def _joined(modes: list[Mode]) -> list[Mode]:
    """Returns modes, the longest stride first, those as one that leave no gap between them."""
    found: list[Mode] = []
    for mode in modes:
        if found and found[-1].stride == mode.size * mode.stride:
            mode = Mode(found.pop().size * mode.size, mode.stride)
        found.append(mode)
    return found
