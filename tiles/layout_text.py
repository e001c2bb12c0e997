# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts as text: all that the answers print, and what other frameworks print.

=================  ==============================================================================
plain, padded      `plain`, `padded:8`, `padded by 8 elements`
IREE               `xor_shuffle<64, 8>`, `rotate_rows<64, 8>`, with and without `#iree_codegen.`
CuTe               `Swizzle<3, 3, 3>` of the row-major tile; whole layouts, `cute_text.py`
Triton, Wave,      parameters and attributes, `framework_text.py`
CK Tile, TMA
bits               `o[3] ^= o[6], o[4] ^= o[7]`, of the element's row-major number
=================  ==============================================================================

Swizzles of IREE and CuTe may be joined by ` of `, the one that is nearest to memory first, and
`, padded by 8` may follow. The name of the framework may stand before its words, as it does in an
answer: `Triton: vec = 8, perPhase = 1, maxPhase = 8`.
"""

from __future__ import annotations

import re
from dataclasses import fields

from ..bank_model.accesses import LdsTile
from ..bank_model.errors import InvalidParameterError
from ..bank_model.layouts import Layout, PaddedLayout, PlainLayout, SwizzledLayout
from ..bank_model.lds_rules import Lds
from ..bank_model.linear_swizzle import LinearSwizzle
from ..bank_model.notations import CuteSwizzle
from ..bank_model.shown_text import did_you_mean
from ..bank_model.strided_layout import StridedLayout, row_padding
from ..bank_model.swizzles import SWIZZLE_ATTRIBUTES, Swizzle, xor_chain
from .cute_text import SWIZZLE, cute_layout, looks_like_cute, swizzle_of_bytes
from .framework_text import framework_swizzle
from .tile_errors import LayoutTextError, TileArgumentError, shortened

_MOST_CHARACTERS = 4000
_LABEL = re.compile(r"(?:bits|IREE|CuTe|Triton|Wave|CK Tile|TMA)(?:\s*:\s*|\s+)(?=\S)")
_ATTRIBUTE = re.compile(r"(?:#iree_codegen\.)?(\w+)\s*<\s*(\d{1,10}(?:\s*,\s*\d{1,10})*)\s*>")
_PADDED = re.compile(r"padded\s*(?::|by)\s*(\d{1,99})(?:\s+elements)?")
_ALSO_PADDED = re.compile(rf"(.*\S)\s*,\s*{_PADDED.pattern}", re.DOTALL)
_SWIZZLES = ", ".join(
    f"{name}<{', '.join(field.name for field in fields(kind))}>"
    for name, kind in SWIZZLE_ATTRIBUTES.items()
)
_NAMES = ("plain", "padded", *SWIZZLE_ATTRIBUTES, "Swizzle")
_FORMS = (
    f"write plain, padded:8 (elements a row), {_SWIZZLES}, CuTe's Swizzle<B, M, S>, a chain of "
    "these joined by ' of ', CuTe's (64,64):(64,1), or what Triton, Wave, CK Tile and TMA call it"
)


def layout_of(given: str | Layout, tile: LdsTile, lds: Lds) -> Layout:
    """Returns the layout that `given` names, which gives each element of the tile its own place.

    Raises:
        TileArgumentError: it names none, or one that is larger than the LDS of `lds`.
    """
    if isinstance(given, str):
        try:
            layout = _read(given, tile)
        except LayoutTextError as error:
            raise _wrong(given, str(error)) from None
        except InvalidParameterError as error:
            raise _wrong(given, str(error)) from None
    elif isinstance(given, Layout):
        layout = given
    else:
        raise TileArgumentError(
            "layout", f"{shortened(repr(given))} is neither text nor a layout; {_FORMS}"
        )
    try:
        _check(layout, tile, lds)
    except InvalidParameterError as error:
        raise TileArgumentError("layout", f"{shortened(str(layout))}: {error}") from None
    return layout


def other_reading(given: str | Layout, tile: LdsTile) -> tuple[str, Layout] | None:
    """Returns what else a text may mean, in words that mean only that; None for most texts."""
    if not isinstance(given, str):
        return None
    text = given.strip()
    if label := _LABEL.match(text):
        text = text[label.end() :]
    words = swizzle_of_bytes(text, tile)
    if words is None:
        return None
    try:
        return words, in_rows(cute_layout(words, tile), tile)
    except (LayoutTextError, InvalidParameterError):
        return None


def _wrong(text: str, reason: str) -> TileArgumentError:
    return TileArgumentError("layout", f"'{shortened(text)}': {reason}")


def _unknown(text: str, what: str) -> TileArgumentError:
    """Returns the error for what begins with no layout's name, which names the nearest one."""
    word = re.split(r"\W", text.removeprefix("#iree_codegen."), maxsplit=1)[0]
    hint = "" if word in _NAMES else did_you_mean(word, _NAMES)
    return TileArgumentError("layout", f"{what}; {_FORMS}{hint}")


def _check(layout: Layout, tile: LdsTile, lds: Lds) -> None:
    """Raises TileArgumentError where elements would share a place, or not fit into the LDS."""
    size = layout.size_bytes(tile)
    if size > lds.workgroup_bytes:
        raise TileArgumentError(
            "layout",
            f"{shortened(str(layout))}: the tile then takes {size} bytes, and a workgroup has "
            f"{lds.workgroup_bytes} on {lds.arch}",
        )
    if isinstance(layout, SwizzledLayout) and not layout.is_bijection(tile):
        raise TileArgumentError(
            "layout",
            f"{layout} does not permute the {layout.physical_elements(tile)} elements of the tile; "
            "its rows must fill them",
        )
    if isinstance(layout, StridedLayout) and not layout.is_injective(tile):
        raise TileArgumentError(
            "layout", f"{shortened(str(layout))} puts several elements at one place"
        )


def _read(given: str, tile: LdsTile) -> Layout:
    text = given.strip()
    if len(text) > _MOST_CHARACTERS:
        raise LayoutTextError(f"it has more than {_MOST_CHARACTERS} characters")
    if label := _LABEL.match(text):
        text = text[label.end() :]
    if text == "plain":
        return PlainLayout()
    if padded := _PADDED.fullmatch(text):
        return PaddedLayout(int(padded[1]))
    if looks_like_cute(text):
        return in_rows(cute_layout(text, tile), tile)
    padding = 0
    if also := _ALSO_PADDED.fullmatch(text):
        text, padding = also[1], int(also[2])
    read = framework_swizzle(text, tile)
    if isinstance(read, LinearSwizzle):
        return _swizzled(xor_chain(read), padding)
    if read is not None:
        if padding:
            raise LayoutTextError("its strides say where rows begin; it is not padded besides")
        return in_rows(read, tile) if isinstance(read, StridedLayout) else read
    return _swizzled(tuple(s for part in text.split(" of ") for s in _link(part.strip())), padding)


def _swizzled(swizzles: tuple[Swizzle, ...], padding: int = 0) -> Layout:
    if swizzles:
        return SwizzledLayout(swizzles, padding)
    return PaddedLayout(padding) if padding else PlainLayout()


def in_rows(layout: StridedLayout, tile: LdsTile) -> Layout:
    """Returns the layout as a swizzle of rows, where it is one that permutes them."""
    padding = row_padding(layout, tile)
    if padding is None:
        return layout
    linear = LinearSwizzle() if layout.step is None else layout.step.linear
    rows = _swizzled(xor_chain(linear), padding)
    permutes = not isinstance(rows, SwizzledLayout) or rows.is_bijection(tile)
    return rows if permutes else layout


def _link(text: str) -> tuple[Swizzle, ...]:
    """Returns one swizzle of a chain, of IREE or of CuTe."""
    if match := SWIZZLE.fullmatch(text):
        return xor_chain(CuteSwizzle(*map(int, match.groups())).linear())
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        raise _unknown(text, f"'{shortened(text)}' is no layout")
    name, numbers = match[1], [int(each) for each in match[2].split(",")]
    if name not in SWIZZLE_ATTRIBUTES:
        raise _unknown(name, f"there is no swizzle '{shortened(name)}'")
    try:
        return (SWIZZLE_ATTRIBUTES[name](*numbers),)
    except TypeError:
        raise LayoutTextError(f"it has other parameters; {_FORMS}") from None
