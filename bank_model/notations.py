# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The swizzle notations of the field as one family of linear maps on offsets.

Every notation here moves element `o` of a flat allocation to an offset whose low bits are XORed
with higher bits of `o`. That is a *unit-triangular* matrix over F2: bit i of the result is bit i
of `o` plus bits above i. `LinearSwizzle` is that matrix; the notations are its special cases:

=====================  ==========================================================================
IREE xor_shuffle       `<row_width, access_width, row_stride, per_phase>`, elements
IREE rotate_rows       linear only with two groups per row, where rotating is XOR
CuTe Swizzle<B,M,S>    bits [M, M+B) ^= bits [M+S, M+S+B); units are those of the layout
TMA 32B, 64B, 128B     Swizzle<1,4,3>, <2,4,3>, <3,4,3> on bytes
Triton                 `vec, perPhase, maxPhase` on rows of the innermost dimension
Wave                   `swizzle_unit, max_phase` on rows
CK Tile                `KPack, MLdsLayer, RowMul` on rows of KPerBlock elements
=====================  ==========================================================================

Two notations describe the same layout exactly when their `LinearSwizzle`s are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np
import numpy.typing as npt

from . import f2
from .accesses import LdsTile
from .errors import InvalidParameterError, is_power_of_two, require_positive, require_power_of_two
from .layouts import Layout
from .swizzles import RotateRows, Swizzle, XorShuffle

IntArray = npt.NDArray[np.integer]


@dataclass(frozen=True)
class NotExpressible:
    """The answer that a notation cannot describe a layout, and why."""

    reason: str

    def __str__(self) -> str:
        return f"not expressible: {self.reason}"


@dataclass(frozen=True)
class LinearSwizzle:
    """A unit-triangular linear map on offsets.

    `columns` lists (source bit, mask of target bits), ascending by source: where the offset has
    the source bit, the mask is XORed in. All targets lie below their source; masks are not 0.
    So `((3, 0b011),)` sends 8 to 11 and 9 to 10. Units (elements, bytes) are the caller's.
    """

    columns: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        for source, targets in self.columns:
            if not 0 < targets < 1 << source:
                raise InvalidParameterError(
                    "columns", (source, targets), f"target masks 1 .. 2**{source} - 1"
                )
        if any(a[0] >= b[0] for a, b in pairwise(self.columns)):
            raise InvalidParameterError("columns", self.columns, "ascending distinct source bits")

    @staticmethod
    def of(columns: Mapping[int, int] | Iterable[tuple[int, int]]) -> LinearSwizzle:
        """From source bit -> target mask; several masks of one source add up, 0 is left out."""
        pairs: Iterable[tuple[int, int]] = (
            cast("Mapping[int, int]", columns).items() if isinstance(columns, Mapping) else columns
        )
        total: dict[int, int] = {}
        for source, targets in pairs:
            total[source] = total.get(source, 0) ^ targets
        return LinearSwizzle(tuple((s, t) for s, t in sorted(total.items()) if t))

    def apply(self, offsets: IntArray) -> npt.NDArray[np.int64]:
        """Where the elements at logical `offsets` (any shape) lie."""
        o = np.asarray(offsets, dtype=np.int64)
        moved = o
        for source, targets in self.columns:
            moved = moved ^ (o >> source & 1) * targets
        return moved

    @property
    def bits(self) -> int:
        """Offset bits that take part, counted from 0."""
        return self.columns[-1][0] + 1 if self.columns else 0

    @property
    def targets(self) -> int:
        """The mask of all bits that change."""
        mask = 0
        for _, targets in self.columns:
            mask |= targets
        return mask

    @property
    def group_elements(self) -> int:
        """Consecutive elements that stay together: the access width; 0 for the identity."""
        return self.targets & -self.targets

    def matrix(self, bits: int) -> tuple[int, ...]:
        """The full matrix on offsets of `bits` bits, by columns."""
        if bits < self.bits:
            raise InvalidParameterError("bits", bits, f"integers >= {self.bits}")
        masks = dict(self.columns)
        return tuple(1 << bit ^ masks.get(bit, 0) for bit in range(bits))

    @staticmethod
    def from_matrix(columns: Iterable[int]) -> LinearSwizzle | NotExpressible:
        """From a square matrix by columns, where it is unit-triangular."""
        found: list[tuple[int, int]] = []
        for source, column in enumerate(columns):
            if column.bit_length() != source + 1:
                return NotExpressible(
                    f"offset bit {source} maps to {column:#b}; a swizzle only adds lower bits"
                )
            if column ^ 1 << source:
                found.append((source, column ^ 1 << source))
        return LinearSwizzle(tuple(found))

    def then(self, outer: LinearSwizzle) -> LinearSwizzle:
        """The swizzle that applies this one first and `outer` to its result."""
        bits = max(self.bits, outer.bits)
        result = LinearSwizzle.from_matrix(f2.product(outer.matrix(bits), self.matrix(bits)))
        assert isinstance(result, LinearSwizzle)  # Unit-triangular matrices form a group.
        return result

    def scaled(self, log2_factor: int) -> LinearSwizzle:
        """The same swizzle in units 2**log2_factor times as fine (elements to bytes, say).

        A negative factor makes the units coarser; raises InvalidParameterError when groups are
        smaller than the new unit.
        """
        if log2_factor < 0 and self.columns and self.group_elements < 1 << -log2_factor:
            raise InvalidParameterError(
                "log2_factor", log2_factor, f"groups of {self.group_elements} units stay whole"
            )
        shift = log2_factor
        return LinearSwizzle(
            tuple((s + shift, t << shift if shift >= 0 else t >> -shift) for s, t in self.columns)
        )

    def as_xor_shuffle(self) -> XorShuffle | NotExpressible:
        """As one `xor_shuffle`, in the same units."""
        steps = _single_segment(self)
        if isinstance(steps, NotExpressible):
            return steps
        target, width, source = steps
        return _xor_shuffle(target, width, source)

    def as_cute(self) -> CuteSwizzle | NotExpressible:
        """As one CuTe `Swizzle<B,M,S>`, in the same units."""
        if not self.columns:
            return CuteSwizzle(0, 0, 0)
        steps = _single_segment(self)
        if isinstance(steps, NotExpressible):
            return steps
        target, width, source = steps
        return CuteSwizzle(width, target, source - target)

    def as_tma(self, element_bytes: int) -> TmaSwizzle | NotExpressible:
        """As a TMA mode, for elements of `element_bytes` (a power of two)."""
        require_power_of_two("element_bytes", element_bytes)
        in_bytes = self.scaled(element_bytes.bit_length() - 1)
        for span in (32, 64, 128):
            if TmaSwizzle(span).linear() == in_bytes:
                return TmaSwizzle(span)
        return NotExpressible("TMA XORs byte bits 4 .. 6 with bits 7 .. 9, or fewer of them")

    def as_triton(self, row_elements: int) -> TritonSwizzle | NotExpressible:
        """As Triton's `vec, perPhase, maxPhase` on rows of `row_elements`."""
        require_power_of_two("row_elements", row_elements)
        row_bit = row_elements.bit_length() - 1
        if not self.columns:
            return TritonSwizzle(1, 1, 1, row_elements)
        steps = _single_segment(self)
        if isinstance(steps, NotExpressible):
            return steps
        target, width, source = steps
        if source < row_bit:
            return NotExpressible(f"offset bit {source} is no row bit of rows of {row_elements}")
        if target + width > row_bit:
            return NotExpressible(f"offset bit {target + width - 1} lies outside the row")
        return TritonSwizzle(1 << target, 1 << (source - row_bit), 1 << width, row_elements)

    def as_wave(self, row_elements: int) -> WaveSwizzle | NotExpressible:
        """As Wave's `swizzle_unit, max_phase` on rows of `row_elements`."""
        triton = self.as_triton(row_elements)
        if isinstance(triton, NotExpressible):
            return triton
        if triton.per_phase != 1:
            return NotExpressible("Wave advances its phase with every row (perPhase 1)")
        return WaveSwizzle(triton.vec, triton.max_phase, row_elements)

    def as_ck_tile(self, k_per_block: int) -> CkTileSwizzle | NotExpressible:
        """As CK Tile's `KPack, MLdsLayer, RowMul` on rows of `k_per_block` elements."""
        require_power_of_two("k_per_block", k_per_block)
        steps = _single_segment(self)
        if isinstance(steps, NotExpressible):
            return steps
        target, _, _ = steps
        bits = self.bits
        for layer in range(max(bits - k_per_block.bit_length() + 2, 1)):
            groups = (k_per_block << layer) >> target
            for mul in range(max(groups.bit_length(), 1)):
                if groups < 1:
                    continue
                candidate = CkTileSwizzle(k_per_block, 1 << target, 1 << layer, 1 << mul)
                if candidate.linear() == self:
                    return candidate
        return NotExpressible(
            "CK Tile XORs all groups of a row with consecutive row bits from bit 0"
        )

    def factor(self, shortest: bool = True) -> tuple[XorShuffle, ...]:
        """A chain of `xor_shuffle`s, in the order of `SwizzledLayout.swizzles`.

        The chain (S0, S1, ...) stands for S0(S1(...(offset))); empty for the identity. It is a
        shortest one as far as the search for shorter chains reaches: always for chains of up to
        3, in practice up to 4 or 5. Without `shortest` that search, which can take a tenth of a
        second, is left out.
        """
        chain = _shortest_chain(self) if shortest else _short_chain(self)
        return tuple(_xor_shuffle(*segment) for segment in chain)


@dataclass(frozen=True)
class CuteSwizzle:
    """CuTe / CUTLASS `Swizzle<B, M, S>`: bits [M, M+B) ^= bits [M+S, M+S+B).

    cute/swizzle.hpp; `shift` S must be at least B in size. A negative S exchanges source and
    target there, which is no unit-triangular map: not in this family.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if self.bits < 0:
            raise InvalidParameterError("bits", self.bits, "integers >= 0")
        if self.base < 0:
            raise InvalidParameterError("base", self.base, "integers >= 0")
        if self.shift < self.bits:
            raise InvalidParameterError("shift", self.shift, f"integers >= bits ({self.bits})")

    def linear(self) -> LinearSwizzle:
        """As a linear swizzle, in the units of the CuTe layout."""
        return LinearSwizzle.of(
            {self.base + self.shift + i: 1 << (self.base + i) for i in range(self.bits)}
        )


@dataclass(frozen=True)
class TmaSwizzle:
    """The swizzle mode of a TMA descriptor: CU_TENSOR_MAP_SWIZZLE_32B, _64B or _128B, on bytes.

    16-byte chunks of the span are XORed with the number of the 128-byte line (CUDA driver API,
    PTX ISA "swizzling modes").
    """

    span_bytes: int

    def __post_init__(self) -> None:
        if self.span_bytes not in (32, 64, 128):
            raise InvalidParameterError("span_bytes", self.span_bytes, "32, 64, 128")

    def linear(self) -> LinearSwizzle:
        """As a linear swizzle on byte offsets."""
        return CuteSwizzle(self.span_bytes.bit_length() - 5, 4, 3).linear()


@dataclass(frozen=True)
class TritonSwizzle:
    """Triton's swizzled shared encoding `vec, perPhase, maxPhase`, on rows of `row_elements`.

    The group of `vec` elements in column block c of row r goes to block
    `c ^ (r / perPhase) % maxPhase` (TritonGPUAttrDefs.td).
    """

    vec: int
    per_phase: int
    max_phase: int
    row_elements: int

    def __post_init__(self) -> None:
        for name in ("vec", "per_phase", "max_phase", "row_elements"):
            require_power_of_two(name, getattr(self, name))
        if self.vec * self.max_phase > self.row_elements:
            raise InvalidParameterError(
                "max_phase", self.max_phase, f"powers of two up to {self.row_elements // self.vec}"
            )

    def linear(self) -> LinearSwizzle:
        """As a linear swizzle on elements."""
        target = self.vec.bit_length() - 1
        source = (self.row_elements * self.per_phase).bit_length() - 1
        width = self.max_phase.bit_length() - 1
        return LinearSwizzle.of({source + i: 1 << (target + i) for i in range(width)})


@dataclass(frozen=True)
class WaveSwizzle:
    """Wave's shared-memory swizzle: units of `swizzle_unit` elements, `max_phase` phases.

    Row r, column c goes to unit `(c / swizzle_unit) ^ (r % max_phase)` of the same row.
    """

    swizzle_unit: int
    max_phase: int
    row_elements: int

    def __post_init__(self) -> None:
        TritonSwizzle(self.swizzle_unit, 1, self.max_phase, self.row_elements)

    def linear(self) -> LinearSwizzle:
        """As a linear swizzle on elements."""
        return TritonSwizzle(self.swizzle_unit, 1, self.max_phase, self.row_elements).linear()


@dataclass(frozen=True)
class CkTileSwizzle:
    """CK Tile's XOR layout of a tile with rows of `k_per_block` elements.

    `m_lds_layer` rows make one LDS row of `k_per_block * m_lds_layer / k_pack` groups. Group k0 of
    LDS row m goes to group `k0 ^ (m * row_mul) % groups` (lds_index_swapping.rst; `row_mul` is the
    factor that kernels set by hand where one step per row is too little).
    """

    k_per_block: int
    k_pack: int
    m_lds_layer: int = 1
    row_mul: int = 1

    def __post_init__(self) -> None:
        for name in ("k_per_block", "k_pack", "m_lds_layer", "row_mul"):
            require_power_of_two(name, getattr(self, name))
        if self.k_pack > self.k_per_block * self.m_lds_layer:
            raise InvalidParameterError(
                "k_pack", self.k_pack, f"powers of two up to {self.k_per_block * self.m_lds_layer}"
            )

    def linear(self) -> LinearSwizzle:
        """As a linear swizzle on elements."""
        row = (self.k_per_block * self.m_lds_layer).bit_length() - 1
        target = self.k_pack.bit_length() - 1
        mul = self.row_mul.bit_length() - 1
        return LinearSwizzle.of(
            {row + i: 1 << (target + mul + i) for i in range(max(row - target - mul, 0))}
        )


Notation = (
    LinearSwizzle
    | XorShuffle
    | RotateRows
    | CuteSwizzle
    | TmaSwizzle
    | TritonSwizzle
    | WaveSwizzle
    | CkTileSwizzle
)


def linear_swizzle(notation: Notation) -> LinearSwizzle | NotExpressible:
    """Any notation as a linear swizzle, in the notation's own units."""
    if isinstance(notation, LinearSwizzle):
        return notation
    if isinstance(notation, XorShuffle):
        return _linear_xor_shuffle(notation)
    if isinstance(notation, RotateRows):
        if notation.groups_per_row == 1:
            return LinearSwizzle()
        if notation.groups_per_row > 2:
            return NotExpressible("adding the row number to the column carries between bits")
        if not is_power_of_two(notation.access_width):
            return NotExpressible(f"access_width {notation.access_width} is no power of two")
        source = notation.row_width.bit_length() - 1
        return LinearSwizzle(((source, notation.access_width),))
    return notation.linear()


def linear_chain(swizzles: Iterable[Swizzle]) -> LinearSwizzle | NotExpressible:
    """The chain (S0, S1, ...) of `SwizzledLayout`, S0(S1(...)), as one linear swizzle."""
    total = LinearSwizzle()
    for swizzle in swizzles:
        linear = linear_swizzle(swizzle)
        if isinstance(linear, NotExpressible):
            return linear
        total = linear.then(total)
    return total


def _linear_xor_shuffle(s: XorShuffle) -> LinearSwizzle | NotExpressible:
    if s.groups_per_row == 1:
        return LinearSwizzle()
    for name in ("access_width", "groups_per_row"):
        if not is_power_of_two(getattr(s, name)):
            return NotExpressible(f"{name} {getattr(s, name)} is no power of two")
    step = s.row_stride * s.per_phase
    if not is_power_of_two(step):
        return NotExpressible(f"row_stride * per_phase {step} is no power of two")
    source, target = step.bit_length() - 1, s.access_width.bit_length() - 1
    width = s.groups_per_row.bit_length() - 1
    return LinearSwizzle.of({source + i: 1 << (target + i) for i in range(width)})


Segment = tuple[int, int, int]
"""(lowest target bit, number of bits, lowest source bit): one xor_shuffle."""


def _xor_shuffle(target: int, width: int, source: int) -> XorShuffle:
    row_width = 1 << (target + width)
    return XorShuffle(row_width, 1 << target, max(1 << source, row_width), 1)


def _single_segment(swizzle: LinearSwizzle) -> Segment | NotExpressible:
    """The bits of a swizzle that is one XOR of a bit field with a higher, disjoint one."""
    if not swizzle.columns:
        return NotExpressible("the identity swizzles nothing")
    source, first = swizzle.columns[0]
    target = first.bit_length() - 1
    width = len(swizzle.columns)
    for i, (s, t) in enumerate(swizzle.columns):
        if not is_power_of_two(t):
            return NotExpressible(f"offset bit {s} goes into several bits ({t:#b})")
        if s != source + i or t != 1 << (target + i):
            return NotExpressible("the XOR is not between two fields of neighbouring bits")
    if source < target + width:
        return NotExpressible("the XORed bit fields overlap")
    return target, width, source


def _segments_by_diagonal(swizzle: LinearSwizzle) -> list[Segment]:
    """Segments that add up to the swizzle, when no bit is both source and target.

    Such steps commute and their matrices add. A segment lies on one diagonal (source - target)
    of the matrix, so each maximal run on a diagonal is one segment and fewer cannot add up.
    """
    cells = {(s - t, t) for s, mask in swizzle.columns for t in range(s) if mask >> t & 1}
    segments: list[Segment] = []
    for distance, target in sorted(cells):
        if (distance, target - 1) not in cells:
            width = 1
            while (distance, target + width) in cells:
                width += 1
            segments.append((target, width, target + distance))
    return segments


def _shortest_chain(swizzle: LinearSwizzle) -> list[Segment]:
    """A shortest list of segments whose swizzles, applied last to first, make up `swizzle`.

    Breadth-first from both ends: products of up to k steps from the identity meet the swizzle
    times up to k inverse steps (a segment is its own inverse). Restricting a unit-triangular
    matrix to the bits between the lowest target and the highest source keeps products, so steps
    outside these bits never help. Where no bit is both source and target, the runs on the
    diagonals give a first answer, and only shorter ones are looked for.
    """
    known = _short_chain(swizzle)
    if len(known) <= 2:
        return known
    low = swizzle.group_elements.bit_length() - 1
    size = swizzle.bits - low
    goal = tuple(c >> low for c in swizzle.matrix(swizzle.bits)[low:])
    steps = {
        (target, width, source): _step_matrix(target, width, source, size)
        for target in range(size)
        for width in range(1, size - target)
        for source in range(target + width, size - width + 1)
    }
    identity = tuple(1 << bit for bit in range(size))
    front: dict[tuple[int, ...], list[Segment]] = {identity: []}
    back: dict[tuple[int, ...], list[Segment]] = {goal: []}
    front_edge, back_edge = dict(front), dict(back)
    for length in range(1, len(known)):
        # `front` holds products P = s1 s2 .., `back` holds goal times later steps undone.
        if length % 2:
            front_edge = _extend(front, front_edge, steps)
        else:
            back_edge = _extend(back, back_edge, steps)
        meeting = front_edge.keys() & back.keys() if length % 2 else back_edge.keys() & front.keys()
        if meeting:
            matrix = min(meeting)
            chain = front[matrix] + back[matrix][::-1]
            return [(t + low, w, s + low) for t, w, s in chain]
        if len(front) + len(back) > _CHAIN_SEARCH_LIMIT:
            break
    return known


# Matrices kept while looking for a shorter chain; all chains of up to 3 steps fit for 12 bits.
_CHAIN_SEARCH_LIMIT = 20000


def _step_matrix(target: int, width: int, source: int, size: int) -> tuple[int, ...]:
    columns = [1 << bit for bit in range(size)]
    for i in range(width):
        columns[source + i] ^= 1 << (target + i)
    return tuple(columns)


def _extend(
    seen: dict[tuple[int, ...], list[Segment]],
    edge: dict[tuple[int, ...], list[Segment]],
    steps: Mapping[Segment, tuple[int, ...]],
) -> dict[tuple[int, ...], list[Segment]]:
    """Multiplies the matrices of `edge` by every step on the right; adds the new ones to `seen`."""
    grown: dict[tuple[int, ...], list[Segment]] = {}
    for matrix, chain in edge.items():
        for segment in steps:
            target, width, source = segment
            columns = list(matrix)
            for i in range(width):
                columns[source + i] ^= matrix[target + i]
            product = tuple(columns)
            if product not in seen:
                grown[product] = [*chain, segment]
                seen[product] = grown[product]
    return grown


def _short_chain(swizzle: LinearSwizzle) -> list[Segment]:
    """A chain that is found without search; a shortest one if it has at most 2 steps."""
    if not swizzle.columns:
        return []
    single = _single_segment(swizzle)
    return _elimination_chain(swizzle) if isinstance(single, NotExpressible) else [single]


def _elimination_chain(swizzle: LinearSwizzle) -> list[Segment]:
    """A chain by splitting off whole rows, lowest target first; exact, not always shortest."""
    sources = {s for s, _ in swizzle.columns}
    if not any(swizzle.targets >> s & 1 for s in sources):
        return _segments_by_diagonal(swizzle)
    # L = (I + row t of L) * rest as the rows below t of the rest are clear: L(x)_t only adds
    # bits above t, which the rest has already changed, so undo the rest on the row first.
    low = swizzle.group_elements.bit_length() - 1
    row = LinearSwizzle.of((s, 1 << low) for s, mask in swizzle.columns if mask >> low & 1)
    others = LinearSwizzle.of((s, mask & ~(1 << low)) for s, mask in swizzle.columns)
    # swizzle(x) = others(x) + row(x); the row reads bits above `low`, so it may go first.
    return _elimination_chain(others) + _segments_by_diagonal(row)


def picture(
    layout: Swizzle | LinearSwizzle | Layout,
    tile: LdsTile,
    group: int = 1,
    max_rows: int | None = None,
) -> str:
    """The tile as it lies in memory, one character per element, as the attribute docs draw it.

    Every group of `group` logical elements has its own digit (0-9, A-Z, a-z, then again from 0);
    a dot is padding. Rows are the tile's physical rows.

    `picture(XorShuffle(16, 4), LdsTile((2, 16), 8), 4)` is::

        0000 1111 2222 3333
        5555 4444 7777 6666
    """
    require_positive("group", group)
    elements = np.arange(tile.elements)
    if isinstance(layout, XorShuffle | RotateRows | LinearSwizzle):
        offsets, pitch = layout.apply(elements), tile.row_elements
    else:
        offsets = layout.offsets(tile, elements)
        pitch = (
            layout.size_bytes(tile) * 8 // tile.element_bits // (tile.elements // tile.row_elements)
        )
    memory = np.full(max(int(offsets.max()) + 1, tile.elements // tile.row_elements * pitch), -1)
    memory[offsets] = elements // group
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    lines: list[str] = []
    for start in range(0, len(memory), pitch)[: max_rows if max_rows else None]:
        row = "".join("." if g < 0 else digits[g % 62] for g in memory[start : start + pitch])
        lines.append(" ".join(row[i : i + group] for i in range(0, len(row), group)))
    return "\n".join(lines)
