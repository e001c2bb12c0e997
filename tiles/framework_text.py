# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Swizzles as Triton, Wave, CK Tile and TMA write them, and as XORs of bits, read back.

`notations.py` writes what is read here. Rows are those of the tile's innermost dimension.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

from ..bank_model.accesses import LdsTile
from ..bank_model.errors import is_power_of_two
from ..bank_model.linear_swizzle import FieldStep, LinearSwizzle, NotExpressible
from ..bank_model.notations import CkTileSwizzle, TmaSwizzle, TritonSwizzle, WaveSwizzle
from ..bank_model.strided_layout import Mode, StridedLayout
from .cute_text import bits_below_an_element
from .errors import LayoutTextError

Read = LinearSwizzle | StridedLayout

_NUMBER = r"\d{1,9}"
_PAIR = re.compile(rf"(\w+)\s*=\s*({_NUMBER}|true|false|\[[\d,\s]{{0,60}}\])")
_PAIRS = re.compile(rf"{_PAIR.pattern}(?:\s*,\s*{_PAIR.pattern})*")
_ATTRIBUTE = re.compile(
    r"(?:#\w+\s*=\s*)?#(?:ttg|triton_gpu)\.(swizzled_shared|shared|nvmma_shared)\s*"
    r"<\s*\{(.*)\}\s*>",
    re.DOTALL,
)
_TMA = re.compile(r"(?:CU_TENSOR_MAP_SWIZZLE_)?(32|64|128)B", re.IGNORECASE)
_NO_TMA = re.compile(r"CU_TENSOR_MAP_SWIZZLE_NONE", re.IGNORECASE)
_BIT = re.compile(r"o\[(\d{1,2})\]\s*\^=\s*(o\[\d{1,2}\](?:\s*\^\s*o\[\d{1,2}\])*)")
_MOST_BITS = 31
_CLUSTER = frozenset({"CTAsPerCGA", "CTASplitNum", "CTAOrder"})
"""Of a cluster of blocks; each block has the whole tile where all splits are 1."""


def framework_swizzle(text: str, tile: LdsTile) -> Read | None:
    """Returns what a framework's text says of `tile`; None where it is of none of them.

    Raises:
        LayoutTextError: it says something that cannot be, or that is not understood.
        InvalidParameterError: a number in it has no meaning.
    """
    if match := _TMA.fullmatch(text):
        return _tma(int(match[1]), tile)
    if _NO_TMA.fullmatch(text):
        return LinearSwizzle()
    if text.startswith("o["):
        return _bits(text)
    if match := _ATTRIBUTE.fullmatch(text):
        return _attribute(match[1], _pairs(match[2].strip()), tile)
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


def _triton(given: Mapping[str, int], tile: LdsTile) -> Read:
    swizzle = _triton_step(given, tile.row_elements, tile.shape[-2] if len(tile.shape) > 2 else 0)
    return LinearSwizzle() if swizzle is None else swizzle.linear


def _triton_step(given: Mapping[str, int], row: int, rows: int) -> FieldStep | None:
    """Returns the XOR of Triton's parameters; with several matrices of `rows`, phases stay inside.

    `rows` is 0 for a single matrix.
    """
    _uneven(row)
    step = (
        TritonSwizzle(given["vec"], given["perPhase"], given["maxPhase"], row).linear().field_step()
    )
    if isinstance(step, NotExpressible):
        return None
    if rows:
        _uneven(rows)
        width = min(step.width, (row * rows).bit_length() - 1 - step.source)
        return FieldStep(step.target, width, step.source) if width > 0 else None
    return step


def _wave(given: Mapping[str, int], tile: LdsTile) -> Read:
    _uneven(tile.row_elements)
    return WaveSwizzle(given["swizzle_unit"], given["max_phase"], tile.row_elements).linear()


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
        frozenset({"swizzle_unit", "max_phase"}): _wave,
        frozenset({"KPerBlock", "KPack", "MLdsLayer", "RowMul"}): _ck_tile,
    }
)


def _tma(span: int, tile: LdsTile) -> LinearSwizzle:
    swizzle = TmaSwizzle(span).linear()
    shift = bits_below_an_element(tile)
    row = tile.row_elements * tile.element_bits
    if row > span * 8:
        raise LayoutTextError(
            f"a box in this mode has rows of at most {span} bytes, and the tile's have {row // 8}; "
            "write where several boxes lie as a layout of CuTe"
        )
    return swizzle.scaled(-shift)


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


# Triton's attributes.


def _attribute(name: str, given: dict[str, str], tile: LdsTile) -> Read:
    for field in _CLUSTER & given.keys():
        value = given.pop(field)
        if field == "CTASplitNum" and set(_list(value)) - {1}:
            raise LayoutTextError("several blocks share its tensor; give the tile of one of them")
    if given.pop("hasLeadingOffset", "false") != "false":
        raise LayoutTextError("hasLeadingOffset is not understood; write the nvmma_shared of today")
    if name == "nvmma_shared":
        return _nvmma(given, tile)
    order = _list(given.pop("order", "")) or list(reversed(range(len(tile.shape))))
    wanted = {"vec", "perPhase", "maxPhase"}
    if set(given) != wanted:
        raise LayoutTextError("its parameters are vec, perPhase, maxPhase and order")
    return _in_order(_numbers(given), order, tile)


def _list(text: str) -> list[int]:
    found = [each.strip() for each in text.strip("[]").split(",") if each.strip()]
    if any(len(each) > 9 or not each.isdecimal() for each in found):
        raise LayoutTextError(f"'{text}' is no list of numbers")
    return [int(each) for each in found]


def _in_order(given: Mapping[str, int], order: list[int], tile: LdsTile) -> StridedLayout:
    """Returns the tile with the dimensions in `order`, the one that runs fastest first."""
    rank = len(tile.shape)
    if sorted(order) != list(range(rank)):
        raise LayoutTextError(f"order has to name the tile's {rank} dimensions, 0 to {rank - 1}")
    sizes = [tile.shape[dimension] for dimension in order]
    strides = {dimension: prod(sizes[:place]) for place, dimension in enumerate(order)}
    dimensions = tuple((Mode(size, strides[d]),) for d, size in enumerate(tile.shape))
    step = _triton_step(given, sizes[0], sizes[1] if rank > 2 else 0) if rank > 1 else None
    return StridedLayout(dimensions, step)


def _nvmma(given: dict[str, str], tile: LdsTile) -> StridedLayout:
    transposed = given.pop("transposed", "false")
    padded = given.pop("fp4Padded", "false")
    numbers = _numbers(given)
    bits = numbers.pop("elementBitWidth", tile.element_bits)
    span = numbers.pop("swizzlingByteWidth", None)
    if span is None or numbers or padded != "false" or transposed not in ("true", "false"):
        raise LayoutTextError(
            "its parameters are swizzlingByteWidth, transposed and elementBitWidth, and no other"
        )
    if bits != tile.element_bits:
        raise LayoutTextError(
            f"its elements have {bits} bits, and those of the tile {tile.element_bits}"
        )
    rank = len(tile.shape)
    if transposed == "true" and rank != 2:
        raise LayoutTextError("only a tile of two dimensions can be transposed")
    order = [0, 1] if transposed == "true" else list(reversed(range(rank)))
    layout = _in_order({"vec": 1, "perPhase": 1, "maxPhase": 1}, order, tile)
    if not span:
        return layout
    step = _tma(span, LdsTile((tile.shape[order[0]],), tile.element_bits)).field_step()
    return StridedLayout(layout.dimensions, None if isinstance(step, NotExpressible) else step)
