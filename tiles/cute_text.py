# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CuTe's layouts as `cute::print` writes them.

`Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)` has three parts, joined by ` o `. All but the
last one may be missing.

* `Swizzle<B,M,S>`, printed as `Sw<B,M,S>` or `S<B,M,S>`.
* An offset, `0` or `_0`, which is added before the swizzle, or a pointer, `smem_ptr[16b](unset)`.
  Behind a pointer CuTe swizzles the addresses of bytes, and else the numbers of elements.
* `shape:stride`, nested, with `_` before what the compiler knows. Its sizes, from the left, are
  those of the tile's dimensions, however they are nested: `((_128,_16),_1,_4)` is a tile of
  128 x 64. In a nested mode the first size runs fastest, as everywhere in CuTe.

The CuTe DSL prints the same, and `tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>` of
a tensor; FlyDSL prints `ComposedLayout<S<3,3,3> o 0 o (64,64):(64,1)>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from ..bank_model.accesses import LdsTile
from ..bank_model.errors import is_power_of_two
from ..bank_model.linear_swizzle import FieldStep
from ..bank_model.notations import CuteSwizzle
from ..bank_model.strided_layout import Mode, StridedLayout
from .tile_errors import LayoutTextError, shortened

_JOIN = re.compile(r"\s+o\s+|(?<=>)_(?=smem_ptr)")
SWIZZLE = re.compile(r"(?:Swizzle|Sw|S)\s*<\s*(\d{1,12})\s*,\s*(\d{1,12})\s*,\s*(-?\d{1,12})\s*>")
_POINTER = re.compile(r"smem_ptr\s*\[\s*(\d{1,3})b\s*\]\s*\(\s*(?:unset|0x[\da-fA-F]+|\d+)\s*\)")
_OFFSET = re.compile(r"_?(\d{1,9})")
_TOKEN = re.compile(r"\s*(?:_?(\d{1,9})(?!\d)|([(),]))")
_TENSOR = re.compile(
    r"tensor\s*<\s*ptr\s*<\s*([a-zA-Z]\w*)\s*,\s*smem\s*(?:,\s*align\s*<\s*\d+\s*>\s*)?"
    rf"(?:,\s*({SWIZZLE.pattern})\s*)?>\s+o\s+(.*)>",
    re.DOTALL,
)
"""What the CuTe DSL prints of a tensor in shared memory; its pointer swizzles bytes."""
_FLY = re.compile(r"(?:!fly\.(?:composed_layout|layout)|ComposedLayout|Layout)\s*<(.*)>", re.DOTALL)
"""What FlyDSL prints around a layout of CuTe's."""
_TYPE_BITS = re.compile(r"[a-zA-Z]+(\d+)")
_DEEPEST = 8
"""Levels of brackets."""

_Tree = int | list["_Tree"]


def looks_like_cute(text: str) -> bool:
    """Returns whether a text is meant as a layout of CuTe, and not as a swizzle alone."""
    if _TENSOR.fullmatch(text) or _FLY.fullmatch(text):
        return True
    *others, last = _JOIN.split(text)
    return bool(others) or re.fullmatch(r"[\d_(),\s]+:[\d_(),\s]+", last) is not None


def cute_layout(text: str, tile: LdsTile) -> StridedLayout:
    """Returns the layout that CuTe's text describes, of the tile's elements.

    Raises:
        LayoutTextError: it is none, or one of another tile.
        InvalidParameterError: a number in it has no meaning.
    """
    if tensor := _TENSOR.fullmatch(text):
        text = _behind_a_pointer(tensor[1], tensor[2], tensor[6])
    elif fly := _FLY.fullmatch(text):
        text = fly[1]
    *others, last = (part.strip() for part in _JOIN.split(text))
    dimensions = _dimensions(last, tile)
    swizzle = CuteSwizzle(0, 0, 0)
    if others and (match := SWIZZLE.fullmatch(others[0])):
        swizzle = CuteSwizzle(*map(int, match.groups()))
        del others[0]
    base = shift = 0
    if others:
        first = others.pop(0)
        if match := _POINTER.fullmatch(first):
            shift = _bits_below_an_element(int(match[1]), tile)
        elif match := _OFFSET.fullmatch(first):
            base = int(match[1])
        else:
            raise LayoutTextError(
                f"'{shortened(first)}' is no swizzle, no offset and no smem_ptr[16b](unset)"
            )
    if others:
        raise LayoutTextError("it has more parts than a swizzle, an offset and shape:stride")
    return StridedLayout(dimensions, _step(swizzle, shift), base)


def _behind_a_pointer(name: str, swizzle: str | None, layout: str) -> str:
    """Returns a layout of elements of the type `name` as `cute::print` writes it."""
    bits = _TYPE_BITS.match(name)
    if bits is None:
        raise LayoutTextError(f"'{shortened(name)}' is no type of elements")
    pointer = f"smem_ptr[{bits[1]}b](unset) o {layout}"
    return f"{swizzle} o {pointer}" if swizzle else pointer


_PAIR = re.compile(rf"({SWIZZLE.pattern})\s+o\s+_?0\s+o\s+(.*)", re.DOTALL)


def swizzle_of_bytes(text: str, tile: LdsTile) -> str | None:
    """Returns what a text would be if its swizzle moved bytes; None where nobody could mean that.

    The CuTe DSL prints `S<3,4,3> o 0 o (8,64):(64,1)` of a layout that counts elements, and of the
    atoms of which kernels make pairs of a layout and a swizzle of bytes.
    """
    match = _PAIR.fullmatch(text.strip())
    bits = tile.element_bits
    if match is None or not match[1].startswith("S<") or bits == 8:
        return None
    return f"{match[1]} o smem_ptr[{bits}b](unset) o {match[5]}"


def _bits_below_an_element(bits: int, tile: LdsTile) -> int:
    """Returns how far offsets of elements lie above those of bytes, in bits."""
    if bits != tile.element_bits:
        raise LayoutTextError(
            f"its elements have {bits} bits, and those of the tile {tile.element_bits}"
        )
    return bits_below_an_element(tile)


def bits_below_an_element(tile: LdsTile) -> int:
    """Returns the power of two of an element's bytes, which is negative for parts of a byte.

    Raises:
        LayoutTextError: it is no power of two.
    """
    if not is_power_of_two(tile.element_bits):
        raise LayoutTextError(
            f"it swizzles bytes, and elements of {tile.element_bits} bits are no 1, 2, 4, ... bytes"
        )
    return tile.element_bits.bit_length() - 4


def _step(swizzle: CuteSwizzle, shift: int) -> FieldStep | None:
    if not swizzle.bits:
        return None
    if swizzle.base < shift:
        raise LayoutTextError(
            f"it moves groups of {1 << swizzle.base} bytes, which are smaller than an element"
        )
    target = swizzle.base - shift
    return FieldStep(target, swizzle.bits, target + swizzle.shift)


def _dimensions(text: str, tile: LdsTile) -> tuple[tuple[Mode, ...], ...]:
    """Returns the modes of `shape:stride`, shared out among the tile's dimensions."""
    shape, colon, stride = text.partition(":")
    if not colon:
        raise LayoutTextError(
            f"'{shortened(text)}' is no layout; write shape:stride, as in (64,64):(64,1)"
        )
    modes = [mode for mode in _modes(_tree(shape), _tree(stride)) if mode.size != 1]
    found: list[tuple[Mode, ...]] = []
    rest = iter(modes)
    for size in tile.shape:
        own: list[Mode] = []
        while prod(mode.size for mode in own) < size:
            mode = next(rest, None)
            if mode is None:
                break
            own.append(mode)
        found.append(tuple(own) or (Mode(1, 0),))
    left_over = next(rest, None) is not None
    if left_over or tuple(prod(mode.size for mode in own) for own in found) != tile.shape:
        sizes = " x ".join(str(mode.size) for mode in modes) or "1"
        raise LayoutTextError(
            f"its sizes {sizes} do not make the dimensions of the tile, "
            f"{' x '.join(map(str, tile.shape))}, one after the other"
        )
    return tuple(found)


def modes_of_parts(text: str) -> tuple[tuple[Mode, ...], tuple[Mode, ...]]:
    """Returns the modes of both parts of a layout, such as its threads and its values.

    Raises:
        LayoutTextError: it is no layout of two parts.
    """
    shape, _, stride = text.partition(":")
    sizes, strides = _tree(shape), _tree(stride)
    if not (isinstance(sizes, list) and isinstance(strides, list) and len(sizes) == 2):
        raise LayoutTextError("it has not two parts, of threads and of values")
    if len(strides) != 2:
        raise LayoutTextError("its shape and its stride are not nested alike")
    first, second = (tuple(_modes(a, b)) for a, b in zip(sizes, strides, strict=True))
    if any(mode.size < 1 for mode in (*first, *second)):
        raise LayoutTextError("a size in it is 0")
    return first, second


def _tree(text: str) -> _Tree:
    """Returns nested numbers, `((8,4),16)` as lists."""
    position = 0
    open_lists: list[list[_Tree]] = [[]]
    wants_value = True
    while position < len(text.rstrip()):
        match = _TOKEN.match(text, position)
        if match is None or len(open_lists) > _DEEPEST:
            raise LayoutTextError(f"'{shortened(text)}' is no nested list of numbers")
        position = match.end()
        number, sign = match.groups()
        if wants_value != (bool(number) or sign == "("):
            raise LayoutTextError(f"'{shortened(text)}' is no nested list of numbers")
        if number:
            open_lists[-1].append(int(number))
        elif sign == "(":
            open_lists.append([])
        elif sign == ")":
            done = open_lists.pop()
            if not open_lists:
                raise LayoutTextError(f"'{shortened(text)}' has a bracket too many")
            open_lists[-1].append(done)
        wants_value = sign in ("(", ",")
    if len(open_lists) != 1 or len(open_lists[0]) != 1:
        raise LayoutTextError(f"'{shortened(text)}' is no nested list of numbers")
    return open_lists[0][0]


def _modes(shape: _Tree, stride: _Tree) -> Iterator[Mode]:
    """Yields the pairs of size and stride, from left to right."""
    if isinstance(shape, int) and isinstance(stride, int):
        yield Mode(shape, stride)
        return
    if isinstance(shape, int) or isinstance(stride, int) or len(shape) != len(stride):
        raise LayoutTextError("its shape and its stride are not nested alike")
    for size, step in zip(shape, stride, strict=True):
        yield from _modes(size, step)
