# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A swizzle in the words of other frameworks, or which of their layouts comes nearest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ..bank_model.accesses import LdsTile
from ..bank_model.errors import is_power_of_two
from ..bank_model.features import features_of
from ..bank_model.issue import LayoutCosts
from ..bank_model.layouts import Layout, LayoutKind, SwizzledLayout
from ..bank_model.lds_rules import Lds
from ..bank_model.linear_layout import linear_layout
from ..bank_model.linear_swizzle import FieldStep, LinearSwizzle, NotExpressible
from ..bank_model.notations import (
    CkTileSwizzle,
    CuteSwizzle,
    TmaSwizzle,
    TritonSwizzle,
    WaveSwizzle,
)
from ..bank_model.shown_text import counted
from ..bank_model.solver import SolverOptions
from ..bank_model.solver import solve as solve_layout
from ..bank_model.swizzle_legality import HintRules
from ..bank_model.swizzles import linear_chain, xor_chain
from .nearest import nearest

Words = str | NotExpressible


@dataclass(frozen=True)
class Notation:
    """A layout in the words of one framework.

    Attributes:
        name: whose words they are.
        text: the parameters, or `not expressible: ...`.
        is_expressible: whether there are any.
        note: what the words are of, where that is another layout than the one that was asked for.
    """

    name: str
    text: str
    is_expressible: bool
    note: str = ""

    @staticmethod
    def of(name: str, found: Words) -> Notation:
        """Returns the words, or the reason why there are none."""
        return Notation(name, str(found), not isinstance(found, NotExpressible))

    @property
    def shown(self) -> str:
        """Returns the words with their note."""
        return f"{self.text} ({self.note})" if self.note else self.text


@dataclass(frozen=True)
class _Writer:
    """How a framework writes swizzles.

    Attributes:
        write: returns the words for a swizzle of a tile's elements.
        others: yields those of the framework's own swizzles of a tile that may come nearest, for
            accesses with these costs.
    """

    write: Callable[[LinearSwizzle], Words]
    others: Callable[[LayoutCosts], Iterator[LinearSwizzle]]


def notations(
    layout: SwizzledLayout, tile: LdsTile, lds: Lds, costs: LayoutCosts | None = None
) -> tuple[Notation, ...]:
    """Returns `layout` in all notations, in units of elements but for TMA, which counts bytes.

    Args:
        costs: those of the accesses to the tile. A framework that cannot say this layout is then
            given the words of another one that costs no more, or of the nearest one.
    """
    linear = linear_chain(layout.swizzles)
    found = [Notation.of("bits", _bits(layout, linear)), Notation.of("IREE", _iree(layout))]
    for name, writer in _writers(tile, lds).items():
        if layout.padding_elements:
            words = _padded_cute(layout, linear, tile) if name == "CuTe" else None
            words = words or NotExpressible("its rows are padded, too")
        else:
            words = linear if isinstance(linear, NotExpressible) else writer.write(linear)
        written = Notation.of(name, words)
        if costs is not None and not written.is_expressible:
            written = _nearest(written, layout, writer, costs, tile)
        found.append(written)
    return tuple(found)


def _nearest(
    written: Notation, layout: Layout, writer: _Writer, costs: LayoutCosts, tile: LdsTile
) -> Notation:
    """Returns what comes nearest in the words of a framework that cannot say `layout`."""
    swizzles: dict[Layout, LinearSwizzle] = {
        SwizzledLayout(xor_chain(swizzle)): swizzle for swizzle in writer.others(costs)
    }
    legal = [
        each for each in swizzles if isinstance(each, SwizzledLayout) and each.is_bijection(tile)
    ]
    found = nearest(layout, legal, costs)
    words = None if found is None else writer.write(swizzles[found.layout])
    if found is None or not isinstance(words, str):
        return written
    cost, chosen = found.cost, found.chosen
    more = cost.instructions - chosen.instructions
    if cost.cycles <= chosen.cycles:
        note = f"another layout: no more LDS cycles, {counted(more, 'instruction')} more"
        if cost.rank[0] <= chosen.rank[0]:
            note = "another layout, which costs no more"
        return Notation(written.name, words, True, note)
    text = (
        f"{written.text}; the nearest is {words}: {cost.conflict_cycles:,} conflict cycles and "
        f"{cost.cycles:,} LDS cycles, here {chosen.conflict_cycles:,} and {chosen.cycles:,}"
    )
    return Notation(written.name, text, False)


def _writers(tile: LdsTile, lds: Lds) -> Mapping[str, _Writer]:
    row = tile.row_elements
    return {
        "CuTe": _Writer(_cute, _best_step),
        "Triton": _Writer(lambda swizzle: _triton(swizzle, tile), lambda _: iter(())),
        "Wave": _Writer(
            lambda swizzle: _wave(swizzle, tile, lds), lambda _: _wave_swizzles(tile, lds)
        ),
        "CK Tile": _Writer(lambda swizzle: _ck_tile(swizzle, row), lambda _: _ck_swizzles(tile)),
        "TMA": _Writer(
            lambda swizzle: _tma(swizzle, tile, lds), lambda _: _tma_swizzles(tile, lds)
        ),
    }


def _bits(layout: SwizzledLayout, linear: LinearSwizzle | NotExpressible) -> Words:
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


def _iree(layout: SwizzledLayout) -> Words:
    if layout.padding_elements:
        return NotExpressible("its rows are padded, too")
    return " of ".join(f"#iree_codegen.{swizzle}" for swizzle in layout.swizzles)


def _uneven(row_elements: int) -> NotExpressible | None:
    if is_power_of_two(row_elements):
        return None
    return NotExpressible(f"rows of {row_elements} elements are no power of two")


# CuTe: one swizzle, of rows that may be padded.


def _cute(swizzle: LinearSwizzle) -> Words:
    found = CuteSwizzle.of(swizzle)
    if isinstance(found, NotExpressible):
        return found
    return f"Swizzle<{found.bits}, {found.base}, {found.shift}>"


def _padded_cute(
    layout: SwizzledLayout, linear: LinearSwizzle | NotExpressible, tile: LdsTile
) -> str | None:
    """Returns a swizzle of padded rows, in which strides say where rows begin."""
    words = linear if isinstance(linear, NotExpressible) else _cute(linear)
    if isinstance(words, NotExpressible):
        return None
    strides = [1]
    pitch = tile.row_elements + layout.padding_elements
    for size in reversed(tile.shape[1:]):
        strides.insert(0, pitch if len(strides) == 1 else strides[0] * size)
    shape = ",".join(map(str, tile.shape))
    return f"{words} o 0 o ({shape}):({','.join(map(str, strides))})"


def _best_step(costs: LayoutCosts) -> Iterator[LinearSwizzle]:
    """Yields the single XOR of two fields that costs least, which the solver finds."""
    whole = [access for access in costs.accesses if access.instruction]
    rules = HintRules.of(costs.tile, whole) if whole else None
    kinds = frozenset({LayoutKind.XOR_SHUFFLE})
    options = SolverOptions(kinds=kinds, rules=rules, claims_minimum=False)
    found = solve_layout(costs.lds, costs.tile, costs.accesses, options, costs).layout
    linear = linear_chain(found.swizzles) if isinstance(found, SwizzledLayout) else None
    if isinstance(linear, LinearSwizzle):
        yield linear


# Triton: its own parameters, or any swizzle by bases.


def _triton(swizzle: LinearSwizzle, tile: LdsTile) -> Words:
    found = _uneven(tile.row_elements) or TritonSwizzle.of(swizzle, tile.row_elements)
    if isinstance(found, TritonSwizzle) and (
        len(tile.shape) < 3 or found.in_matrices(_matrix_rows(tile)) == swizzle
    ):
        return f"vec = {found.vec}, perPhase = {found.per_phase}, maxPhase = {found.max_phase}"
    bases = linear_layout(swizzle, tile)
    if isinstance(bases, NotExpressible):
        return found if isinstance(found, NotExpressible) else bases
    return f"SharedLinearLayout(offset_bases={[list(basis) for basis in bases.bases]})"


def _matrix_rows(tile: LdsTile) -> int:
    """Returns the rows that Triton counts together; of three dimensions, those of a matrix."""
    rows = tile.shape[-2] if len(tile.shape) > 2 else 0
    return rows if is_power_of_two(rows) else 0


# Wave: one swizzle, of which nothing can be chosen.


def _wave(swizzle: LinearSwizzle, tile: LdsTile, lds: Lds) -> Words:
    for found in _wave_swizzles(tile, lds):
        if found == swizzle:
            count = _WAVE_BITS // tile.element_bits
            return f"elements_per_thread = {count}, max_phase = {WaveSwizzle.MAX_PHASE}"
    return NotExpressible(
        "Wave's pass has one swizzle, XORs of 16 bytes with 8 rows, for gfx950 alone"
    )


_WAVE_BITS = 128
_WAVE_GENERATION = 4
"""The generation of matrix instructions, CDNA4, whose chips alone Wave swizzles for (gfx95)."""


def _wave_swizzles(tile: LdsTile, lds: Lds) -> Iterator[LinearSwizzle]:
    count, rest = divmod(_WAVE_BITS, tile.element_bits)
    row = tile.row_elements
    fits = not rest and is_power_of_two(row) and row >= count * WaveSwizzle.MAX_PHASE
    if features_of(lds.arch).matrix_generation == _WAVE_GENERATION and fits and len(tile.shape) > 1:
        yield WaveSwizzle(count, row).linear()


# CK Tile.


def _ck_tile(swizzle: LinearSwizzle, row_elements: int) -> Words:
    found = _uneven(row_elements) or CkTileSwizzle.of(swizzle, row_elements)
    if isinstance(found, NotExpressible):
        return found
    return (
        f"KPerBlock = {found.k_per_block}, KPack = {found.k_pack}, MLdsLayer = "
        f"{found.m_lds_layer}, RowMul = {found.row_mul}"
    )


def _ck_swizzles(tile: LdsTile) -> Iterator[LinearSwizzle]:
    """Yields XORs of all groups of a row, of 1 or more rows of the tile, with as many row bits."""
    row_bit = tile.row_elements.bit_length() - 1
    if not is_power_of_two(tile.row_elements):
        return
    for source in range(row_bit, tile.elements.bit_length() - 1):
        for target in range(source):
            step = FieldStep(target, source - target, source)
            if 1 << step.linear.bits <= tile.elements:
                yield step.linear


# TMA.


def _tma(swizzle: LinearSwizzle, tile: LdsTile, lds: Lds) -> Words:
    if not features_of(lds.arch).tensor_copies:
        return NotExpressible(f"{lds.arch} has no TMA")
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


def _tma_swizzles(tile: LdsTile, lds: Lds) -> Iterator[LinearSwizzle]:
    bits = tile.element_bits
    if not features_of(lds.arch).tensor_copies or bits % 8 or not is_power_of_two(bits):
        return
    for span in (128, 64, 32):
        if tile.row_elements * bits <= span * 8 and bits <= _CHUNK_BITS:
            found = TmaSwizzle(span).linear().scaled(4 - bits.bit_length())
            if 1 << found.bits <= tile.elements:
                yield found


_CHUNK_BITS = 128
"""What TMA moves as a whole."""
