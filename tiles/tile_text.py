# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles as text: `64x64xf16` has 64 rows of 64 elements of 16 bits."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..bank_model.accesses import LdsTile
from ..bank_model.layouts import PlainLayout
from ..bank_model.lds_rules import Lds
from .tile_errors import AccessError, TileArgumentError, shortened

_TILE = re.compile(r"\s*((?:\d+x)+)(\w{1,30})\s*", re.ASCII)
_NUMBERED = re.compile(
    r"(?:bf|tf|fp|f|bfloat|float|uint|int|i|ui|si|u|s|b)(\d{1,3})(?:_?e\d+m\d+\w*|_t)?", re.ASCII
)
_MINIFLOAT = re.compile(r"e(\d)m(\d)\w*", re.ASCII)
_NAMED_BITS = {
    "half": 16,
    "bfloat": 16,
    "float": 32,
    "single": 32,
    "double": 64,
    "char": 8,
    "byte": 8,
    "short": 16,
    "int": 32,
    "uint": 32,
}
_MOST_BITS = 128
_MOST_CHARACTERS = 200


@dataclass(frozen=True)
class NamedTile:
    """A tile, and its type as it was written."""

    tile: LdsTile
    text: str

    @staticmethod
    def of(given: str | LdsTile, lds: Lds) -> NamedTile:
        """Returns the tile that `given` names, which fits into the LDS of `lds`.

        Raises:
            TileArgumentError: it names none, or one that is too large.
        """
        if isinstance(given, str):
            named = _parsed(given)
        elif isinstance(given, LdsTile):
            named = NamedTile(given, _shown(given))
        else:
            raise TileArgumentError(
                "tile",
                f"{shortened(repr(given))} is neither text, such as 64x64xf16, nor an LdsTile",
            )
        size = PlainLayout().size_bytes(named.tile)
        if size > lds.workgroup_bytes:
            raise TileArgumentError(
                "tile",
                f"{named.text} takes {size} bytes, and a workgroup has {lds.workgroup_bytes} on "
                f"{lds.arch}; give a smaller tile",
            )
        return named

    @property
    def rows(self) -> int:
        """Returns the rows, those of all outer dimensions together."""
        return self.tile.elements // self.tile.row_elements

    @property
    def transposed(self) -> NamedTile:
        """Returns the tile with its rows and columns exchanged; itself where it has one row."""
        *outer, last = self.tile.shape
        sizes = (*outer[:-1], last, *outer[-1:])
        return NamedTile(LdsTile(sizes, self.tile.element_bits), f"{self.text} transposed")

    def vector_elements(self, bits: int) -> int:
        """Returns the elements of a vector of `bits` bits; raises AccessError where it has none."""
        element = self.tile.element_bits
        if bits < 1 or bits % element:
            raise AccessError(
                f"{bits} bits are no whole elements of {element} bits; give a multiple of {element}"
            )
        return bits // element


def _parsed(text: str) -> NamedTile:
    shown = shortened(text)
    match = _TILE.fullmatch(text.lower()) if len(text) <= _MOST_CHARACTERS else None
    if match is None:
        raise TileArgumentError(
            "tile", f"'{shown}' is no tile; write its sizes and its type, such as 64x64xf16"
        )
    sizes = tuple(int(size) for size in match[1][:-1].split("x"))
    bits = _bits(match[2])
    if bits is None:
        raise TileArgumentError(
            "tile",
            f"'{shown}' is no tile: '{match[2]}' is no type that is known; write f16, bf16, half, "
            "e4m3, fp8, i4 or the like",
        )
    if not 1 <= bits <= _MOST_BITS:
        raise TileArgumentError(
            "tile", f"'{shown}' has elements of {bits} bits; types have 1 to {_MOST_BITS} bits"
        )
    if min(sizes) < 1:
        raise TileArgumentError("tile", f"'{shown}' has a size of 0; sizes begin at 1")
    return NamedTile(LdsTile(sizes, bits), text.strip())


def _bits(name: str) -> int | None:
    """Returns the bits of a type's name; None for an unknown one."""
    if numbered := _NUMBERED.fullmatch(name):
        return int(numbered[1])
    if match := _MINIFLOAT.fullmatch(name):
        exponent, mantissa = int(match[1]), int(match[2])
        # Without a mantissa they are scales, which have no sign.
        return exponent + mantissa + (1 if mantissa else 0)
    return _NAMED_BITS.get(name)


def _shown(tile: LdsTile) -> str:
    return f"{'x'.join(map(str, tile.shape))}xb{tile.element_bits}"
