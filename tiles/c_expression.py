# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where an element of a tile lies, as C to paste into HIP or CUDA.

The logical offset `o` of an element counts the rows' elements, padding included: `row * 64 +
column`. A layout is an expression in `o`. A linear swizzle is one XOR per distance of source and
target bits, all of them of the same `o`:

    bits 3, 4, 5 ^= bits 6, 7, 8, and bit 1 ^= bit 9:    o ^ ((o >> 3) & 0x38) ^ ((o >> 8) & 0x2)

Other swizzles write down their own formula (`Swizzle.place`). Everything is integer arithmetic of
numbers that are not negative, so that Python's value, with `//` for `/`, is C's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from ..bank_model.accesses import LdsTile
from ..bank_model.errors import is_power_of_two
from ..bank_model.layouts import MAX_USEFUL_ALIGNMENT, Layout, PlainLayout, SwizzledLayout
from ..bank_model.lds_rules import AccessKind
from ..bank_model.linear_layout import LinearLayout
from ..bank_model.linear_swizzle import LinearSwizzle, NotExpressible
from ..bank_model.strided_layout import Mode, StridedLayout
from ..bank_model.swizzles import XorShuffle, linear_chain
from .vector_moves import VectorMove, Way

OFFSET = "o"


@dataclass(frozen=True)
class CCode:
    """A layout of a tile in C.

    Attributes:
        indices: the names of the tile's indices, as `row` and `column`.
        offset: an expression of the offset `o` in the indices.
        place: an expression in `o` of the element's number in the allocation.
        subscript: the index to use instead of the last one, where the layout leaves every element
            in its row and the indices say where, else empty: `column ^ ((row << 3) & 0x38)`.
        pitch: elements from one row to the next.
        element_bits: the bits of an element.
        moves: the vectors that do not move as a whole.
        along: the index that runs along a vector; empty where none does.
    """

    indices: tuple[str, ...]
    offset: str
    place: str
    subscript: str
    pitch: int
    element_bits: int = 8
    moves: tuple[VectorMove, ...] = ()
    along: str = ""

    def function(self, name: str = "place") -> str:
        """Returns a device function that takes the indices and returns the element's number.

        Where the layout does not keep the vectors of the accesses whole, functions follow that
        store and load them.
        """
        arguments = ", ".join(f"int {index}" for index in self.indices)
        parts = [
            *([f"// {self.unit_note(name)}"] if self.unit_note(name) else []),
            f"__device__ __forceinline__ int {name}({arguments}) {{",
            f"  const int {OFFSET} = {self.offset};",
            f"  return {self.place};",
            "}",
        ]
        for move in self.moves:
            parts += self._mover(move, name, arguments)
        return "\n".join(parts)

    def unit_note(self, name: str = "place") -> str:
        """Returns what a place counts, where it is no whole bytes; else nothing."""
        if self.element_bits >= 8:
            return ""
        shared = f", {8 // self.element_bits} to a byte" if 8 % self.element_bits == 0 else ""
        return (
            f"{name} counts elements of {self.element_bits} bits{shared}: the byte is "
            f"{name}(...) * {self.element_bits} / 8"
        )

    def mover(self, move: VectorMove) -> str:
        """Returns the name of the function that moves a vector; empty where there is none."""
        written = move.way in (Way.PARTED, Way.REORDERED) and self.along
        if not written or self.element_bits % 8:
            return ""
        return f"{'store' if move.kind is AccessKind.WRITE else 'load'}_{move.elements}"

    def _mover(self, move: VectorMove, name: str, arguments: str) -> Iterator[str]:
        """Yields the lines of the function that moves a vector."""
        mover = self.mover(move)
        given = ", ".join(self.indices)
        yield ""
        yield f"// Vectors of {move.elements} do not lie at {name}({given}) as a whole."
        if not mover:
            yield f"// {_verb(move).capitalize()} each element at its own place."
            return
        writes = move.kind is AccessKind.WRITE
        const, values = ("", "const T *values") if writes else ("const ", "T *values")
        yield "template <typename T>"
        yield (f"__device__ __forceinline__ void {mover}({const}T *tile, {arguments}, {values}) {{")
        if move.way is Way.PARTED:
            yield from self._parts(move, name, writes)
        else:
            yield from self._exchanged(move, name, writes)
        yield "}"

    def _bytes(self, move: VectorMove) -> int:
        """Returns how parts of a vector are aligned, in a tile that is aligned to 16 bytes."""
        elements = move.elements if move.way is Way.REORDERED else move.part
        return min(elements * self.element_bits // 8, MAX_USEFUL_ALIGNMENT)

    def _parts(self, move: VectorMove, name: str, writes: bool) -> Iterator[str]:
        moved = ", ".join(
            f"{index} + k" if index == self.along else index for index in self.indices
        )
        there = f"__builtin_assume_aligned(tile + {name}({moved}), {self._bytes(move)})"
        ends = f"{there},\n                     values + k" if writes else f"values + k, {there}"
        yield "#pragma unroll"
        yield f"  for (int k = 0; k < {move.elements}; k += {move.part})"
        yield f"    __builtin_memcpy({ends}, {move.part} * sizeof(T));"

    def _exchanged(self, move: VectorMove, name: str, writes: bool) -> Iterator[str]:
        count = move.elements
        yield f"  const int first = {name}({', '.join(self.indices)});"
        yield f"  T parts[{count}];"
        there = f"__builtin_assume_aligned(tile + first / {count} * {count}, {self._bytes(move)})"
        if writes:
            yield f"  __builtin_memcpy(parts, values, {count} * sizeof(T));"
        else:
            yield f"  __builtin_memcpy(parts, {there},\n                   {count} * sizeof(T));"
        yield "#pragma unroll"
        yield f"  for (int step = {move.part}; step < {count}; step *= 2)"
        yield "#pragma unroll"
        yield f"    for (int k = 0; k < {count}; ++k)"
        yield "      if (!(k & step)) {"
        yield "        const T low = parts[k], high = parts[k + step];"
        yield "        parts[k] = first & step ? high : low;"
        yield "        parts[k + step] = first & step ? low : high;"
        yield "      }"
        if writes:
            yield f"  __builtin_memcpy({there}, parts,\n                   {count} * sizeof(T));"
        else:
            yield f"  __builtin_memcpy(values, parts, {count} * sizeof(T));"


def _verb(move: VectorMove) -> str:
    return "store" if move.kind is AccessKind.WRITE else "load"


def c_code(
    layout: Layout, tile: LdsTile, moves: Sequence[VectorMove] = (), along: int | None = None
) -> CCode:
    """Returns `layout` in C.

    Args:
        moves: how the vectors of the accesses move.
        along: the dimension that runs along a vector, if one does.
    """
    code = _placed(layout, tile)
    parted = tuple(dict.fromkeys(move for move in moves if move.way is not Way.WHOLE))
    index = "" if along is None else code.indices[along]
    return replace(code, element_bits=tile.element_bits, moves=parted, along=index)


def _indices(rank: int) -> tuple[str, ...]:
    if rank == 1:
        return ("element",)
    if rank == 2:
        return ("row", "column")
    return (*(f"i{number}" for number in range(rank - 1)), "column")


def _placed(layout: Layout, tile: LdsTile) -> CCode:
    if isinstance(layout, StridedLayout):
        return _strided(layout, tile)
    if isinstance(layout, LinearLayout):
        return _by_bases(layout, tile)
    padding = 0 if isinstance(layout, PlainLayout) else layout.padding_elements
    pitch = tile.row_elements + padding
    indices = _indices(len(tile.shape))
    place, subscript = OFFSET, ""
    if isinstance(layout, SwizzledLayout):
        linear = linear_chain(layout.swizzles)
        if isinstance(linear, LinearSwizzle):
            place = _linear(linear)
        else:
            symbol = _Term(OFFSET)
            for swizzle in reversed(layout.swizzles):
                symbol = swizzle.place(symbol)
            place = symbol.text
        if len(indices) == 2:
            subscript = _subscript(layout, linear, pitch)
    elif len(indices) == 2:
        subscript = indices[-1]
    return CCode(indices, _offset(indices, tile, pitch), place, subscript, pitch)


def _strided(layout: StridedLayout, tile: LdsTile) -> CCode:
    indices = _indices(len(tile.shape))
    terms = [
        term
        for index, modes in zip(indices, layout.dimensions, strict=True)
        for term in _digits(index, modes)
    ]
    if layout.base or not terms:
        terms.append(str(layout.base))
    linear = LinearSwizzle() if layout.step is None else layout.step.linear
    return CCode(indices, " + ".join(terms), _linear(linear), "", tile.row_elements)


def _by_bases(layout: LinearLayout, tile: LdsTile) -> CCode:
    masks: dict[int, int] = {}
    for source, column in enumerate(layout.columns):
        for target in range(column.bit_length()):
            if column >> target & 1:
                masks[source - target] = masks.get(source - target, 0) | 1 << target
    moved = " ^ ".join(
        f"({_shifted(OFFSET, -distance)} & {mask:#x})" for distance, mask in sorted(masks.items())
    )
    gaps = [f"({moved}) / {gap.interval} * {gap.padding}" for gap in layout.gaps]
    place = " + ".join([f"({moved})", *gaps]) if gaps else moved
    indices, row = _indices(len(tile.shape)), tile.row_elements
    return CCode(indices, _offset(indices, tile, row), place, "", row)


def _digits(index: str, modes: Sequence[Mode]) -> Iterator[str]:
    """Yields what each digit of an index adds to the offset."""
    below = 1
    size = prod(mode.size for mode in modes)
    for mode in modes:
        text = index if below == 1 else f"{index} / {below}"
        below *= mode.size
        text = text if below == size else f"{text} % {mode.size}"
        if mode.size > 1 and mode.stride:
            yield text if mode.stride == 1 else f"{text} * {mode.stride}"


def _offset(indices: tuple[str, ...], tile: LdsTile, pitch: int) -> str:
    text = indices[0]
    sizes = (*tile.shape[1:-1], pitch) if len(indices) > 1 else ()
    for index, size in zip(indices[1:], sizes, strict=True):
        text = f"({text})" if " " in text else text
        text = f"{text} * {size} + {index}"
    return text


def _linear(swizzle: LinearSwizzle) -> str:
    masks: dict[int, int] = {}
    for source, targets in swizzle.columns:
        for target in range(source):
            if targets >> target & 1:
                masks[source - target] = masks.get(source - target, 0) | 1 << target
    return " ^ ".join(
        [OFFSET, *(f"(({OFFSET} >> {d}) & {m:#x})" for d, m in sorted(masks.items()))]
    )


def _subscript(layout: SwizzledLayout, linear: LinearSwizzle | NotExpressible, pitch: int) -> str:
    """Returns the column in memory, where only the row's number moves it; else nothing."""
    if isinstance(linear, LinearSwizzle) and is_power_of_two(pitch):
        return _linear_subscript(linear, pitch.bit_length() - 1)
    (first, *others) = layout.swizzles
    if others or not isinstance(first, XorShuffle) or pitch % first.row_width:
        return ""
    groups, step = first.groups_per_row, first.row_stride * first.per_phase
    if step % pitch or not is_power_of_two(first.access_width) or not is_power_of_two(groups):
        return ""
    row = "row" if step == pitch else f"row / {step // pitch}"
    return f"column ^ ({row} % {groups} * {first.access_width})"


def _linear_subscript(swizzle: LinearSwizzle, row_bit: int) -> str:
    masks: dict[int, int] = {}
    for source, targets in swizzle.columns:
        if source < row_bit or targets >> row_bit:
            return ""
        for target in range(row_bit):
            if targets >> target & 1:
                # How far the row's bit is shifted to the left.
                up = target - (source - row_bit)
                masks[up] = masks.get(up, 0) | 1 << target
    terms = [
        f"({_shifted('row', up)} & {mask:#x})" for up, mask in sorted(masks.items(), reverse=True)
    ]
    return " ^ ".join(["column", *terms])


def _shifted(name: str, up: int) -> str:
    if not up:
        return name
    return f"({name} << {up})" if up > 0 else f"({name} >> {-up})"


class _Term:
    """A value of a C program, for the formulas of swizzles: each operation writes itself down."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _joined(self, symbol: str, other: _Term | int) -> _Term:
        right = other._operand if isinstance(other, _Term) else str(other)
        return _Term(f"{self._operand} {symbol} {right}")

    @property
    def _operand(self) -> str:
        return f"({self.text})" if " " in self.text else self.text

    def __add__(self, other: _Term | int) -> _Term:
        return self._joined("+", other)

    def __sub__(self, other: _Term | int) -> _Term:
        return self._joined("-", other)

    def __mul__(self, other: _Term | int) -> _Term:
        return self._joined("*", other)

    def __floordiv__(self, other: _Term | int) -> _Term:
        return self._joined("/", other)

    def __mod__(self, other: _Term | int) -> _Term:
        return self._joined("%", other)

    def __xor__(self, other: _Term | int) -> _Term:
        return self._joined("^", other)
