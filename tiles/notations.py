# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A swizzle in the words of other frameworks, or why they have no word for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..bank_model.accesses import LdsTile
from ..bank_model.errors import is_power_of_two
from ..bank_model.layouts import SwizzledLayout
from ..bank_model.linear_swizzle import LinearSwizzle, NotExpressible
from ..bank_model.notations import (
    CkTileSwizzle,
    CuteSwizzle,
    TmaSwizzle,
    TritonSwizzle,
    WaveSwizzle,
)
from ..bank_model.swizzles import linear_chain
from ..bank_model.targets import Target


@dataclass(frozen=True)
class Notation:
    """A layout in the words of one framework.

    Attributes:
        name: whose words they are.
        text: the parameters, or `not expressible: ...`.
        is_expressible: whether there are any.
    """

    name: str
    text: str
    is_expressible: bool

    @staticmethod
    def of(name: str, found: str | NotExpressible) -> Notation:
        """Returns the words, or the reason why there are none."""
        return Notation(name, str(found), not isinstance(found, NotExpressible))


def notations(layout: SwizzledLayout, tile: LdsTile, target: Target) -> tuple[Notation, ...]:
    """Returns `layout` in all notations, in units of elements but for TMA, which counts bytes."""
    linear = linear_chain(layout.swizzles)
    writers: dict[str, Callable[[LinearSwizzle], str | NotExpressible]] = {
        "CuTe": _cute,
        "Triton": lambda swizzle: _triton(swizzle, tile),
        "Wave": lambda swizzle: _wave(swizzle, tile.row_elements),
        "CK Tile": lambda swizzle: _ck_tile(swizzle, tile.row_elements),
        "TMA": lambda swizzle: _tma(swizzle, tile, target),
    }
    found = [Notation.of("bits", _bits(layout, linear)), Notation.of("IREE", _iree(layout))]
    for name, write in writers.items():
        if layout.padding_elements:
            words: str | NotExpressible = NotExpressible("its rows are padded, too")
        else:
            words = linear if isinstance(linear, NotExpressible) else write(linear)
        found.append(Notation.of(name, words))
    return tuple(found)


def _bits(layout: SwizzledLayout, linear: LinearSwizzle | NotExpressible) -> str | NotExpressible:
    """Returns which bits of the element's offset are XORed with which."""
    if isinstance(linear, NotExpressible):
        return linear
    sources: dict[int, list[str]] = {}
    for source, targets in linear.columns:
        for target in range(source):
            if targets >> target & 1:
                sources.setdefault(target, []).append(f"o[{source}]")
    each = [f"o[{t}] ^= {' ^ '.join(s)}" for t, s in sorted(sources.items())]
    if layout.padding_elements:
        # Then `o` counts the gaps, too.
        each.append(f"padded by {layout.padding_elements}")
    return ", ".join(each) or "plain"


def _iree(layout: SwizzledLayout) -> str | NotExpressible:
    if layout.padding_elements:
        return NotExpressible("its rows are padded, too")
    return " of ".join(f"#iree_codegen.{swizzle}" for swizzle in layout.swizzles)


def _cute(swizzle: LinearSwizzle) -> str | NotExpressible:
    found = CuteSwizzle.of(swizzle)
    if isinstance(found, NotExpressible):
        return found
    return f"Swizzle<{found.bits}, {found.base}, {found.shift}>"


def _uneven(row_elements: int) -> NotExpressible | None:
    if is_power_of_two(row_elements):
        return None
    return NotExpressible(f"rows of {row_elements} elements are no power of two")


def _triton(swizzle: LinearSwizzle, tile: LdsTile) -> str | NotExpressible:
    found = _uneven(tile.row_elements) or TritonSwizzle.of(swizzle, tile.row_elements)
    if isinstance(found, NotExpressible):
        return found
    if len(tile.shape) > 2:
        matrix = tile.shape[-2] * tile.row_elements
        if not is_power_of_two(matrix) or 1 << swizzle.bits > matrix:
            return NotExpressible("Triton counts the rows of each matrix anew")
    return f"vec = {found.vec}, perPhase = {found.per_phase}, maxPhase = {found.max_phase}"


def _wave(swizzle: LinearSwizzle, row_elements: int) -> str | NotExpressible:
    found = _uneven(row_elements) or WaveSwizzle.of(swizzle, row_elements)
    if isinstance(found, NotExpressible):
        return found
    return f"swizzle_unit = {found.swizzle_unit}, max_phase = {found.max_phase}"


def _ck_tile(swizzle: LinearSwizzle, row_elements: int) -> str | NotExpressible:
    found = _uneven(row_elements) or CkTileSwizzle.of(swizzle, row_elements)
    if isinstance(found, NotExpressible):
        return found
    return (
        f"KPerBlock = {found.k_per_block}, KPack = {found.k_pack}, MLdsLayer = "
        f"{found.m_lds_layer}, RowMul = {found.row_mul}"
    )


def _tma(swizzle: LinearSwizzle, tile: LdsTile, target: Target) -> str | NotExpressible:
    if not target.tensor_copies:
        return NotExpressible(f"{target.arch} has no TMA")
    if tile.element_bits % 8 or not is_power_of_two(tile.element_bits):
        return NotExpressible(f"elements of {tile.element_bits} bits are no 1, 2, 4, ... bytes")
    found = TmaSwizzle.of(swizzle, tile.element_bits // 8)
    if isinstance(found, NotExpressible):
        return found
    row = tile.row_elements * tile.element_bits // 8
    if row > found.span_bytes:
        return NotExpressible(
            f"a box in this mode has rows of at most {found.span_bytes} bytes, and the tile's "
            f"have {row}"
        )
    return f"CU_TENSOR_MAP_SWIZZLE_{found.span_bytes}B"
