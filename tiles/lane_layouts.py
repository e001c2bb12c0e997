# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the lanes access, as other frameworks print it: Triton's and CuTe's layouts of registers.

=====================  =========================================================================
Triton                 `#ttg.blocked<...>`, `#ttg.dot_op<...>` and the like, and what Gluon
                       prints, `BlockedLayout(...)`: `triton_lanes.py`
CuTe                   a thread-value layout, `((8,16),8):((128,1),16) tiler (16,64)`, or all that
                       a tiled copy prints. Thread t holds as value v the element at index
                       m + M n of the tiler of M x N
=====================  =========================================================================

A layout says how many threads there are. One that is smaller than the tile repeats over it. An
element that a lane holds twice is accessed once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from ..bank_model.accesses import LdsTile
from ..bank_model.strided_layout import Mode
from .cute_text import modes_of_parts
from .framework_text import looks_like_triton
from .tile_errors import AccessError, LayoutTextError
from .triton_lanes import LANE, REGISTER, WARP, lane_bases, warps_of
from .triton_text import triton_encoding

IntArray = npt.NDArray[np.int64]
_MOST_STEPS = 1 << 16
_THREAD_VALUE = re.compile(
    r"(\([\d_(),\s]+\)\s*:\s*\([\d_(),\s]+\))(?:\s*,?\s*tiler\s*(\([\d_:,\s]+\)))?", re.IGNORECASE
)
_TILED_COPY = re.compile(
    r".*Tiler[ _]MN:\s*(\([^)]*\)).*?(?:TV Layout tiled|TiledLayout_TV):\s*"
    r"(\([\d_(),\s]+\):\([\d_(),\s]+\)).*",
    re.DOTALL,
)


@dataclass(frozen=True, eq=False)
class LaneLayout:
    """Which elements threads hold.

    Attributes:
        elements: [steps, threads], row-major numbers. Steps that lie side by side come in order.
        wave_size: the lanes of a warp that the layout is made for; 0 where it does not say.
    """

    elements: IntArray
    wave_size: int = 0


def threads_of(text: str, wave_size: int) -> int:
    """Returns how many threads a layout of registers has, in waves of `wave_size`.

    Raises:
        AccessError: it cannot be read.
    """
    try:
        if looks_like_triton(text):
            return warps_of(triton_encoding(text)) * wave_size
        layout, _ = _parts(text)
        threads, _ = modes_of_parts(layout)
        return prod(mode.size for mode in threads)
    except LayoutTextError as error:
        raise AccessError(str(error)) from None


def lane_layout(text: str, tile: LdsTile) -> LaneLayout:
    """Returns what a layout of registers says of a tile.

    Raises:
        AccessError: it cannot be read, or is one of another tile.
    """
    try:
        return _triton(text, tile) if looks_like_triton(text) else _cute(text, tile)
    except LayoutTextError as error:
        raise AccessError(str(error)) from None


def _triton(text: str, tile: LdsTile) -> LaneLayout:
    bases = lane_bases(triton_encoding(text), tile.shape).found
    # What moves to a neighbour comes first.
    registers = sorted(_numbers([b for b in bases[REGISTER] if any(b)], tile))
    if 1 << len(registers) > _MOST_STEPS:
        raise LayoutTextError("a lane holds too many elements")
    threads = _numbers([*bases[LANE], *bases[WARP]], tile)
    elements = _xors(registers)[:, None] ^ _xors(threads)[None]
    return LaneLayout(elements, 1 << len(bases[LANE]))


def _numbers(bases: Sequence[tuple[int, ...]], tile: LdsTile) -> list[int]:
    found: list[int] = []
    for basis in bases:
        number = 0
        for size, coordinate in zip(tile.shape, basis, strict=True):
            number = number * size + coordinate
        found.append(number)
    return found


def _xors(numbers: Sequence[int]) -> IntArray:
    found = np.zeros(1, dtype=np.int64)
    for number in numbers:
        found = np.concatenate([found, found ^ number])
    return found


def _parts(text: str) -> tuple[str, str | None]:
    """Returns a thread-value layout, and the tiler's text."""
    if copy := _TILED_COPY.fullmatch(text):
        return copy[2], copy[1]
    if match := _THREAD_VALUE.fullmatch(text):
        return match[1], match[2]
    raise LayoutTextError(
        "of a tiled MMA its operand's layout is read alone, such as what tv_layout_A_tiled prints, "
        "with the sizes that it covers behind it: '((4,8),(2,2,2)):((32,1),(16,8,128)) "
        "tiler (16,16)'"
    )


def _cute(text: str, tile: LdsTile) -> LaneLayout:
    layout, tiler = _parts(text)
    threads, values = modes_of_parts(layout)
    index = _places(values)[:, None] + _places(threads)[None]
    covered = int(index.max()) + 1
    if len(tile.shape) > 2:
        raise LayoutTextError("thread-value layouts are read for tiles of two dimensions")
    rows, columns = tile.shape if len(tile.shape) == 2 else (tile.elements, 1)
    m, n = _tiler(tiler) if tiler else (rows, columns)
    if tiler is None and covered != tile.elements:
        raise LayoutTextError(
            f"it covers {covered:,} elements, and the tile has {tile.elements:,}; write the sizes "
            "that it covers behind it, as in 'tiler (16,64)'"
        )
    if covered > m * n or rows % m or columns % n:
        raise LayoutTextError(
            f"it covers {covered:,} elements of a tiler of {m} x {n}, of which the tile of "
            f"{rows} x {columns} is not made"
        )
    inside = index % m * columns + index // m
    # Neighbours come one behind the other, and an element that is held twice once.
    inside = inside[np.argsort(inside[:, 0], kind="stable")]
    changes = np.ones(len(inside), dtype=bool)
    changes[1:] = (inside[1:] != inside[:-1]).any(axis=1)
    inside = inside[changes]
    blocks = np.add.outer(np.arange(0, rows, m) * columns, np.arange(0, columns, n)).ravel()
    return LaneLayout((blocks[:, None, None] + inside).reshape(-1, inside.shape[1]))


def _places(modes: Sequence[Mode]) -> IntArray:
    """Returns the index of each thread or value, the first mode running fastest."""
    if prod(mode.size for mode in modes) > _MOST_STEPS:
        raise LayoutTextError("it has too many elements")
    found = np.zeros(1, dtype=np.int64)
    for mode in modes:
        found = np.add.outer(np.arange(mode.size, dtype=np.int64) * mode.stride, found).ravel()
    return found


def _tiler(text: str) -> tuple[int, int]:
    sizes: list[int] = []
    for part in text.strip("() ").split(","):
        size, _, stride = part.replace("_", "").partition(":")
        if not size.strip().isdecimal() or (stride.strip() or "1") != "1" or not int(size):
            raise LayoutTextError(f"its tiler {text} is not read; write two sizes, as in (16,64)")
        sizes.append(int(size))
    if len(sizes) != 2:
        raise LayoutTextError(f"its tiler {text} has not two sizes, as in (16,64)")
    return sizes[0], sizes[1]
