# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Swizzles as Triton, Wave, CK Tile and TMA write them, and as XORs of bits, read back.

`framework_notations.py` writes what is read here. Rows are those of the tile's innermost dimension.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ..bank_model.accesses import LdsTile
from ..bank_model.errors import is_power_of_two
from ..bank_model.linear_layout import LinearLayout
from ..bank_model.linear_swizzle import LinearSwizzle
from ..bank_model.notations import CkTileSwizzle, TmaSwizzle, TritonSwizzle, WaveSwizzle
from ..bank_model.strided_layout import StridedLayout
from .cute_text import bits_below_an_element
from .tile_errors import LayoutTextError

Read = LinearSwizzle | StridedLayout | LinearLayout

_NUMBER = r"\d{1,9}"
_PAIR = re.compile(rf"(\w+)\s*=\s*({_NUMBER})")
_PAIRS = re.compile(rf"{_PAIR.pattern}(?:\s*,\s*{_PAIR.pattern})*")
_TMA = re.compile(
    r"(?:CU_TENSOR_MAP_SWIZZLE_)?(32|64|128)B(?:_ATOM_(32|64)B(_FLIP_8B)?)?", re.IGNORECASE
)
_NO_TMA = re.compile(r"CU_TENSOR_MAP_SWIZZLE_NONE", re.IGNORECASE)
_BIT = re.compile(r"o\[(\d{1,2})\]\s*\^=\s*(o\[\d{1,2}\](?:\s*\^\s*o\[\d{1,2}\])*)")
_MOST_BITS = 31


_TRITON = re.compile(
    r"(?:[#!](?:ttg|triton_gpu|ttng)\.\w|#\w+\s*=|tensor<\d|(?:\w+\.)*\w+Layout\s*\()"
)


def looks_like_triton(text: str) -> bool:
    """Returns whether a text is meant as a layout of Triton's IR or of Gluon."""
    return _TRITON.match(text) is not None


def framework_swizzle(text: str, tile: LdsTile) -> Read | None:
    """Returns what a framework's text says of `tile`; None where it is of none of them.

    Raises:
        LayoutTextError: it says something that cannot be, or that is not understood.
        InvalidParameterError: a number in it has no meaning.
    """
    if match := _TMA.fullmatch(text):
        mode = TmaSwizzle(int(match[1]), int(match[2] or 16), match[3] is not None)
        return _tma(mode, tile)
    if _NO_TMA.fullmatch(text):
        return LinearSwizzle()
    if text.startswith("o["):
        return _bits(text)
    if looks_like_triton(text):
        # Most questions do not need it.
        from .triton_shared import shared_layout
        from .triton_text import triton_encoding

        return shared_layout(triton_encoding(text), tile)
    if _PAIRS.fullmatch(text):
        given = _pairs(text)
        for names, read in _READERS.items():
            if names == frozenset(given):
                return read(_numbers(given), tile)
        known = "; ".join(", ".join(f"{name} = ..." for name in sorted(n)) for n in _READERS)
        raise LayoutTextError(f"no framework has these parameters together; there are {known}")
    return None


def _pairs(text: str) -> dict[str, str]:
    if _PAIRS.fullmatch(text) is None:
        raise LayoutTextError("its parameters are written name = number, with commas between")
    found = _PAIR.findall(text)
    if len({name for name, _ in found}) < len(found):
        raise LayoutTextError("it names a parameter twice")
    return dict(found)


def _numbers(given: Mapping[str, str]) -> dict[str, int]:
    for name, value in given.items():
        if not value.isdecimal():
            raise LayoutTextError(f"{name} is no number")
    return {name: int(value) for name, value in given.items()}


def _uneven(elements: int) -> None:
    if not is_power_of_two(elements):
        raise LayoutTextError(f"rows of {elements} elements are no power of two")


def _triton(given: Mapping[str, int], tile: LdsTile) -> LinearSwizzle:
    _uneven(tile.row_elements)
    return TritonSwizzle(
        given["vec"], given["perPhase"], given["maxPhase"], tile.row_elements
    ).in_matrices(tile.shape[-2] if len(tile.shape) > 2 else 0)


def _wave(given: Mapping[str, int], tile: LdsTile) -> LinearSwizzle:
    _uneven(tile.row_elements)
    found = WaveSwizzle(given["elements_per_thread"], tile.row_elements)
    if given["max_phase"] != found.MAX_PHASE:
        raise LayoutTextError(f"Wave's pass has max_phase = {found.MAX_PHASE}, a constant")
    return found.linear()


def _ck_tile(given: Mapping[str, int], tile: LdsTile) -> Read:
    if given["KPerBlock"] != tile.row_elements:
        raise LayoutTextError(
            f"KPerBlock is the elements of a row, and those of the tile are {tile.row_elements}"
        )
    return CkTileSwizzle(
        given["KPerBlock"], given["KPack"], given["MLdsLayer"], given["RowMul"]
    ).linear()


_READERS: Mapping[frozenset[str], Callable[[Mapping[str, int], LdsTile], Read]] = MappingProxyType(
    {
        frozenset({"vec", "perPhase", "maxPhase"}): _triton,
        frozenset({"elements_per_thread", "max_phase"}): _wave,
        frozenset({"KPerBlock", "KPack", "MLdsLayer", "RowMul"}): _ck_tile,
    }
)


def _tma(mode: TmaSwizzle, tile: LdsTile) -> LinearSwizzle:
    shift = bits_below_an_element(tile)
    row = tile.row_elements * tile.element_bits
    if row > mode.span_bytes * 8:
        raise LayoutTextError(
            f"a box in this mode has rows of at most {mode.span_bytes} bytes, and the tile's have "
            f"{row // 8}; write where several boxes lie as a layout of CuTe"
        )
    return mode.linear().scaled(-shift)


def _bits(text: str) -> LinearSwizzle:
    columns: list[tuple[int, int]] = []
    for part in text.split(","):
        match = _BIT.fullmatch(part.strip())
        if match is None:
            raise LayoutTextError("write XORs of bits as in o[3] ^= o[6], o[4] ^= o[7] ^ o[10]")
        target = int(match[1])
        for source in map(int, re.findall(r"\d+", match[2])):
            if not target < source < _MOST_BITS:
                raise LayoutTextError(
                    f"o[{source}] is added to o[{target}]; what is added is a higher bit, up to "
                    f"o[{_MOST_BITS - 1}]"
                )
            columns.append((source, 1 << target))
    return LinearSwizzle.of(columns)
