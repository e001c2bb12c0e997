# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Access patterns with names: what kernels do again and again.

A pattern covers the whole tile once. What it covers it with, vectors or blocks, is dealt to the
workgroup in turn: a workgroup of one wave needs more accesses than one of four. Vectors have the
bits that stand behind the name (`rows:128`), by default those of one element.

=====================  =========================================================================
rows[:BITS]            neighbouring lanes access neighbouring vectors of a row
columns[:BITS]         neighbouring lanes access the same columns of neighbouring rows
blocked:RxC[:BITS]     a wave accesses R rows of C vectors; the lanes go along the rows first, and
                       so do the waves
=====================  =========================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ..bank_model.accesses import LdsAccess
from ..bank_model.targets import AccessKind, Target
from .errors import AccessError
from .lanes import Lanes
from .tile_text import NamedTile


@dataclass(frozen=True)
class PatternRequest:
    """A pattern that was asked for.

    Attributes:
        name: in lower case.
        words: what stands behind the name, between colons.
    """

    name: str
    words: tuple[str, ...]
    kind: AccessKind
    target: Target
    named: NamedTile
    lanes: Lanes

    def vector(self, words: Sequence[str]) -> int:
        """Returns the elements of a vector, of the bits that `words` names, if any.

        Rows of the tile must be made of such vectors.
        """
        tile = self.named.tile
        if not words:
            return 1
        if len(words) > 1 or not words[0].isdecimal():
            raise AccessError(
                f"'{':'.join(words)}' is no number of bits; write as in '{self.name}:128'"
            )
        count = self.named.vector_elements(int(words[0]))
        if tile.row_elements % count:
            raise AccessError(
                f"rows of {tile.row_elements} elements are not made of vectors of {count}; give "
                "fewer bits"
            )
        return count


def named_accesses(
    text: str, kind: AccessKind, target: Target, named: NamedTile, lanes: Lanes
) -> tuple[LdsAccess, ...]:
    """Returns the accesses of a pattern, such as `rows:128`.

    Raises:
        AccessError: there is no such pattern, or the tile is not made for it.
    """
    name, *words = (word.strip() for word in text.split(":"))
    pattern = _PATTERNS.get(name.lower())
    if pattern is None:
        raise AccessError(
            f"there is no pattern '{name}'; there are {', '.join(_PATTERNS)}, and formulas, such "
            "as '(lane%16, lane//16*4 + reg)'"
        )
    return pattern(PatternRequest(name.lower(), tuple(words), kind, target, named, lanes))


def _rows(request: PatternRequest) -> tuple[LdsAccess, ...]:
    count = request.vector(request.words)
    firsts = np.arange(0, request.named.tile.elements, count, dtype=np.int64)
    return request.lanes.deal_vectors(request.kind, firsts, count)


def _columns(request: PatternRequest) -> tuple[LdsAccess, ...]:
    count = request.vector(request.words)
    pitch, rows = request.named.tile.row_elements, request.named.rows
    starts = np.arange(0, pitch, count, dtype=np.int64)
    firsts = starts[:, None] + np.arange(rows, dtype=np.int64) * pitch
    return request.lanes.deal_vectors(request.kind, firsts.ravel(), count)


_BLOCK = re.compile(r"(\d+)x(\d+)")


def _blocked(request: PatternRequest) -> tuple[LdsAccess, ...]:
    size = request.lanes.wave_size
    match = _BLOCK.fullmatch(request.words[0]) if request.words else None
    rows, columns = (int(match[1]), int(match[2])) if match else (0, 0)
    if rows * columns != size:
        raise AccessError(
            f"a wave of {request.target.arch} has {size} lanes; write how they lie, as in "
            f"'blocked:{size // 8}x8'"
        )
    count = request.vector(request.words[1:])
    pitch = request.named.tile.row_elements
    width = columns * count
    if request.named.rows % rows or pitch % width:
        raise AccessError(
            f"the tile {request.named.text} is not made of blocks of {rows} x {width} elements"
        )
    first_rows = np.arange(0, request.named.rows, rows, dtype=np.int64)
    origins = first_rows[:, None] * pitch + np.arange(0, pitch, width, dtype=np.int64)
    lane = np.arange(size, dtype=np.int64)
    inside = lane // columns * pitch + lane % columns * count
    return request.lanes.deal_blocks(request.kind, origins.ravel(), inside[None], count)


_PATTERNS: Mapping[str, Callable[[PatternRequest], tuple[LdsAccess, ...]]] = MappingProxyType(
    {"rows": _rows, "columns": _columns, "blocked": _blocked}
)
