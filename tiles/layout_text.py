# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts as text: `plain`, `padded:8`, `xor_shuffle<64, 8>`, `Swizzle<3, 3, 3>`, and chains."""

from __future__ import annotations

import re

from ..bank_model.accesses import LdsTile
from ..bank_model.errors import InvalidParameterError
from ..bank_model.layouts import Layout, PaddedLayout, PlainLayout, SwizzledLayout
from ..bank_model.linear_swizzle import LinearSwizzle
from ..bank_model.notations import CuteSwizzle
from ..bank_model.swizzles import RotateRows, Swizzle, XorShuffle, xor_chain
from .errors import TileArgumentError

_SWIZZLE = re.compile(r"(?:#iree_codegen\.)?(\w+)\s*<([\d,\s]*)>")
_PADDED = re.compile(r"padded\s*:\s*(\d+)")
_FORMS = (
    "write plain, padded:8 (elements a row), xor_shuffle<row_width, access_width, row_stride, "
    "per_phase>, rotate_rows<row_width, access_width>, CuTe's Swizzle<B, M, S>, or a chain of "
    "swizzles joined by ' of ', the one that is nearest to memory first"
)


def layout_of(given: str | Layout, tile: LdsTile) -> Layout:
    """Returns the layout that `given` names, which permutes the tile's elements.

    Raises:
        TileArgumentError: it names none.
    """
    layout = _parsed(given.strip()) if isinstance(given, str) else given
    if isinstance(layout, SwizzledLayout) and not layout.is_bijection(tile):
        raise TileArgumentError(
            "layout",
            f"{layout} does not permute the {layout.physical_elements(tile)} elements of the tile; "
            "its rows must fill them",
        )
    return layout


def _parsed(text: str) -> Layout:
    if text == "plain":
        return PlainLayout()
    padded = _PADDED.fullmatch(text)
    if padded:
        return PaddedLayout(int(padded[1]))
    swizzles: list[Swizzle] = []
    for part in text.split(" of "):
        match = _SWIZZLE.fullmatch(part.strip())
        if match is None:
            raise TileArgumentError("layout", f"'{text}' is no layout; {_FORMS}")
        numbers = [int(each) for each in match[2].split(",") if each.strip()]
        try:
            swizzles += _swizzles(match[1], numbers)
        except InvalidParameterError as error:
            raise TileArgumentError("layout", f"'{part.strip()}': {error}; {_FORMS}") from None
        except TypeError:
            reason = f"'{part.strip()}': it has other parameters; {_FORMS}"
            raise TileArgumentError("layout", reason) from None
        except KeyError:
            reason = f"there is no swizzle '{match[1]}'; {_FORMS}"
            raise TileArgumentError("layout", reason) from None
    return SwizzledLayout(tuple(swizzles)) if swizzles else PlainLayout()


def _swizzles(name: str, numbers: list[int]) -> tuple[Swizzle, ...]:
    if name == "Swizzle":
        linear: LinearSwizzle = CuteSwizzle(*numbers).linear()
        return xor_chain(linear)
    return ({each.NAME: each for each in (XorShuffle, RotateRows)}[name](*numbers),)
