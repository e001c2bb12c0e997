# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proving that the narrow LDS loads of a warp read 8x8 matrices as `ldmatrix` does.

`ldmatrix` reads matrices of 8 rows of 16 bytes and gives each lane one 32-bit register of each
matrix. Lanes 8 m to 8 m + 7 hold the addresses of the rows of matrix m. With 16-bit elements,

    lane 4 r + c gets columns 2 c and 2 c + 1 of row r          plain
    lane 4 g + t gets rows 2 t and 2 t + 1 of column g          `transpose`

So loads of two neighbours are plain matrix m if lane 4 r + c reads 2 c elements behind lane 4 r:
row r starts where lane 4 r reads. Two loads of one element are a transposed matrix if lane 4 g + t
reads g elements behind lane t: rows 2 t and 2 t + 1 start where lane t reads.

Worked example: lane l of 32 reads 2 f16 at [l / 4, 2 (l mod 4)] of a 16x16 tile, and again 8 rows
below. Lane 4 r reads at [r, 0], lane 4 r + c at [r, 2 c]: these are two plain matrices, and lanes
0 to 15 give their rows [0, 0], [1, 0], ..., [15, 0].
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field
from operator import add, mul, sub
from typing import TYPE_CHECKING, Any

import numpy as np
from iree.compiler import ir

from ...bank_model.descriptor_tiles import LANES
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.swizzle_legality import contiguous_run
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import Launch
from ...dialect_utils.index.lane_values import (
    LaneEvaluator,
    LaneValues,
    Unknown,
    check_full_warps,
)
from ...dialect_utils.memory.flow import is_lds_allocation
from ...dialect_utils.memory.lane_dependence import LaneDependence
from ...dialect_utils.memory.lds_ops import LDMATRIX, Misaligned, in_elements, view_row
from ...dialect_utils.memory.memref_types import tile_of, type_of
from ...dialect_utils.memory.mma_operands import REGISTER_BITS, Registers
from ...dialect_utils.memory.surroundings import surroundings_of
from ...dialect_utils.memory.traced_views import TracedView
from ...dialect_utils.operations import defining_operation

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt


INSTRUCTION = "ldmatrix"
"""Its name in the tables of the chips that have it."""
ROW_BYTES = 16
ROWS = 8

_NOT_ALIKE = "they are not equally far apart in all lanes"
_UNEVEN = "their matrices are not evenly apart"

_FAR = 1 << 62
"""Constants of indices are smaller, so that their differences are 64-bit integers."""

LaneNumbers: TypeAlias = "npt.NDArray[np.int64]"
"""A number of each lane of a wave."""

Steps = tuple[int, ...]
"""A distance in elements along each dimension of a memref."""


def source_lane(row: int, transposed: bool) -> int:
    """Returns the lane of a load whose indices start row `row` of a matrix."""
    return row // 2 if transposed else 4 * row


class MatrixAddresses(NamedTuple):
    """Where `ldmatrix` starts its rows, told by the lanes of one of the loads that it replaces.

    Row r of matrix m starts, along each dimension, where the lane `source_lane(r, transposed)` of
    `origin` reads, plus `first`, plus `parity` if r is odd, plus `low` if m is odd, plus `high` if
    m >= 2.
    """

    origin: ir.Operation
    """The first of the loads in their block: its indices are known before any of them."""
    matrices: int
    transposed: bool
    first: Steps
    parity: Steps
    low: Steps
    high: Steps

    def steps(self, lane: Any) -> tuple[Any, ...]:
        """Returns the distances of the row that `lane` gives from where its source lane reads.

        For an array of lanes, they are arrays.
        """
        odd, second, third = lane % 2, lane // 8 % 2, lane // 16 % 2
        columns = zip(self.first, self.parity, self.low, self.high, strict=True)
        return tuple(n + odd * p + second * m + third * h for n, p, m, h in columns)


class _Reading(NamedTuple):
    """Where a load reads, told from other loads.

    Attributes:
        buffer: the memref.
        patterns: for each index what lanes and iterations differ in (`LaneValues.pattern`), by a
            number.
        at: what is added to that.
    """

    buffer: ir.Value
    patterns: tuple[int, ...]
    at: Steps


class _RowStarts(NamedTuple):
    """Where the rows of 16 bytes start that the lanes of one load tell.

    Attributes:
        at: the constants of that load's indices.
        behind: by how many elements the rows start behind multiples of 16 bytes.
        lowest: the least index along the last dimension of the memref.
        highest: the greatest one.
    """

    at: Steps
    behind: frozenset[int]
    lowest: int
    highest: int


class _Memref(NamedTuple):
    """What is known of a memref that loads read.

    Attributes:
        view: what it shows of its allocation.
        row_elements: the elements of 16 bytes.
        parted: why rows of 16 bytes are not whole in the LDS; empty where they are.
    """

    view: TracedView
    row_elements: int
    parted: str

    @staticmethod
    def of(buffer: ir.Value, evaluator: LaneEvaluator) -> _Memref:
        """Reads a memref.

        Raises:
            Refusal: what it shows is not known, or its elements fill no registers.
        """
        view, row_elements = _view_of(buffer, evaluator), _row_elements(buffer)
        if isinstance(view.chain, Unknown):
            return _Memref(view, row_elements, view.chain.reason)
        is_parted = contiguous_run(view.chain) % row_elements
        parted = "a swizzle takes the rows of 16 bytes apart" if is_parted else ""
        return _Memref(view, row_elements, parted)


_Like = tuple[ir.Value, tuple[int, ...], bool]
"""A memref, the patterns of indices, and whether loads with these are transposed."""


@dataclass
class FragmentProver:
    """Decides which groups of loads in one function are matrices.

    What has been proven of one load is proven of all that read it elsewhere by a constant.
    """

    function: ir.Operation
    launch: Launch
    evaluator: LaneEvaluator
    _executed: set[ir.Block] = field(default_factory=set)
    """Blocks that all lanes of a warp execute together."""
    _memrefs: dict[ir.Value, _Memref] = field(default_factory=dict)
    _patterns: dict[Hashable, int] = field(default_factory=dict)
    """The numbers of all patterns."""
    _indices: dict[ir.Value, tuple[int, int]] = field(default_factory=dict)
    """The number of an index's pattern, and its constant."""
    _readings: dict[ir.Operation, _Reading] = field(default_factory=dict)
    _matrices: set[_Like] = field(default_factory=set)
    """Of which loads it is known that their lanes read a matrix."""
    _starts: dict[_Like, _RowStarts] = field(default_factory=dict)

    def addresses(self, registers: Registers, first: ir.Operation) -> MatrixAddresses:
        """Returns where the rows start of the matrices that fill 1, 2 or 4 registers.

        Args:
            registers: the loads of each register, all of one memref and in one block.
            first: the one of them that comes first in the block.

        Raises:
            Refusal: they are no matrices, or `ldmatrix` cannot read them.
        """
        block = first.block
        if block not in self._executed:
            self._check_all_lanes(first)
            self._executed.add(block)
        origin = self._reading(first)
        memref = self._memref(origin.buffer)
        readings = [[self._reading(load) for load in loads] for loads in registers]
        if any(each.patterns != origin.patterns for loads in readings for each in loads):
            raise Refusal(_NOT_ALIKE)
        like = (origin.buffer, origin.patterns, len(registers[0]) > 1)
        self._check_lanes(first, like, memref)
        at = [[each.at for each in loads] for loads in readings]
        found = _evenly_apart(first, origin.at, at)
        for register, places in zip(registers, at, strict=True):
            for load, place in zip(register, places, strict=True):
                self._check_rows(load, place, like, memref)
        return found

    def joined(self, one: MatrixAddresses, other: MatrixAddresses) -> MatrixAddresses:
        """Returns where the rows of two groups of two matrices start, read by one `ldmatrix`.

        The groups read one memref, both or none of them transposed. The origin stays that of `one`.

        Raises:
            Refusal: the matrices are not evenly apart.
        """
        away = self.distance(other.origin, one.origin)
        if (one.parity, one.low) != (other.parity, other.low):
            raise Refusal(_UNEVEN)
        high = tuple(map(add, away, _between(other.first, one.first)))
        return one._replace(matrices=4, high=high)

    def seen_from(self, addresses: MatrixAddresses, origin: ir.Operation) -> MatrixAddresses:
        """Returns the same rows told by the lanes of another load, a constant away."""
        first = tuple(map(add, addresses.first, self.distance(addresses.origin, origin)))
        return addresses._replace(origin=origin, first=first)

    def indices(self, load: ir.Operation) -> list[LaneValues]:
        """Returns what each index of a load is in every lane.

        Raises:
            Refusal: one of them is not known.
        """
        return list(map(self.evaluator.known, list(load.operands)[1:]))

    def distance(self, load: ir.Operation, other: ir.Operation) -> Steps:
        """Returns how far a load reads behind another one, the same in all lanes and iterations.

        Raises:
            Refusal: it is not the same, or not known.
        """
        one, two = self._reading(load), self._reading(other)
        if one.patterns != two.patterns:
            raise Refusal(_NOT_ALIKE)
        return _between(one.at, two.at)

    def _reading(self, load: ir.Operation) -> _Reading:
        """Returns where a load reads.

        Raises:
            Refusal: an index is not known, or the load is never executed.
        """
        found = self._readings.get(load)
        if found is None:
            buffer, *indices = load.operands
            parts = [self._split(index) for index in indices]
            patterns = tuple(pattern for pattern, _ in parts)
            found = _Reading(buffer, patterns, tuple(at for _, at in parts))
            self._readings[load] = found
        return found

    def _split(self, index: ir.Value) -> tuple[int, int]:
        if index not in self._indices:
            value = self.evaluator.known(index)
            pattern, at = value.pattern()
            if not value.values.size or abs(at) >= _FAR:
                raise Refusal(_NOT_ALIKE)
            self._indices[index] = self._patterns.setdefault(pattern, len(self._patterns)), at
        return self._indices[index]

    def _memref(self, buffer: ir.Value) -> _Memref:
        if buffer not in self._memrefs:
            self._memrefs[buffer] = _Memref.of(buffer, self.evaluator)
        return self._memrefs[buffer]

    def _check_all_lanes(self, load: ir.Operation) -> None:
        """Makes sure that all lanes of a warp execute `load` together."""
        check_full_warps(self.launch)
        around = surroundings_of(load, self.function, self.evaluator)
        if around.assumptions:
            try:
                LaneDependence(self.evaluator).check_surroundings(load, self.function)
            except Refusal as refusal:
                raise Refusal(f"not all lanes may take part: {refusal.reason}") from refusal
        for mask in around.masks:
            if (mask.values != mask.values[..., :1]).any():
                raise Refusal("not all lanes take part")

    def _check_lanes(self, load: ir.Operation, like: _Like, memref: _Memref) -> None:
        """Makes sure that the lanes of a load read a matrix with rows along the last dimension."""
        if memref.view.strides[-1] != 1:
            raise Refusal("neighbours along the last dimension are not neighbours in memory")
        if like in self._matrices:
            return
        lanes, transposed = np.arange(LANES), like[-1]
        if transposed:
            source, behind = lanes % 4, lanes // 4
        else:
            source, behind = lanes // 4 * 4, lanes % 4 * (memref.row_elements // 4)
        if not lanes_are_behind(self.indices(load), self.launch, source, behind):
            raise Refusal("their lanes do not read the rows or columns of an 8x8 matrix")
        self._matrices.add(like)

    def _check_rows(self, load: ir.Operation, at: Steps, like: _Like, memref: _Memref) -> None:
        """Makes sure that every row that lanes of a load start is 16 aligned bytes in a row.

        Args:
            at: the constants of its indices.
        """
        if memref.parted:
            raise Refusal(memref.parted)
        view, row_elements = memref.view, memref.row_elements
        starts = self._row_starts(load, at, like, memref)
        step = _between(at, starts.at)
        moved = sum(map(mul, step, view.strides))
        if any((each + moved) % row_elements for each in starts.behind):
            raise Misaligned(LDMATRIX, ROW_BYTES, load.location)
        right = step[-1]
        if starts.lowest + right < 0 or starts.highest + right + row_elements > view.sizes[-1]:
            raise Refusal("a row of 16 bytes leaves the last dimension of the memref")

    def _row_starts(
        self, load: ir.Operation, at: Steps, like: _Like, memref: _Memref
    ) -> _RowStarts:
        """Returns where the lanes that start rows read, of this load or one a constant away.

        Raises:
            Refusal: that is not known.
        """
        if like not in self._starts:
            sources = [source_lane(row, like[-1]) for row in range(ROWS)]
            view, indices = memref.view, list(load.operands)[1:]
            first = self.evaluator.element(indices, view.strides, view.offset)
            if isinstance(first, Unknown):
                raise Refusal(f"an offset depends on the {first.reason}")
            elements = first.full(self.launch)[..., sources]
            behind = frozenset((elements % memref.row_elements).ravel().tolist())
            column = self.indices(load)[-1].full(self.launch)[..., sources]
            self._starts[like] = _RowStarts(at, behind, int(column.min()), int(column.max()))
        return self._starts[like]

    def expected(self, found: MatrixAddresses) -> list[LaneValues]:
        """Returns the index along each dimension at which the row of each lane starts.

        Only the 8 lanes of each matrix are there.
        """
        lanes = range(ROWS * found.matrices)
        sources = [source_lane(lane % ROWS, found.transposed) for lane in lanes]
        return [
            LaneValues(value.full(self.launch)[..., sources] + steps, value.loops)
            for value, steps in zip(
                self.indices(found.origin), found.steps(np.array(lanes)), strict=True
            )
        ]


def _evenly_apart(
    first: ir.Operation, origin: Steps, at: Sequence[Sequence[Steps]]
) -> MatrixAddresses:
    """Returns where rows start, if the matrices are evenly apart.

    Args:
        first: the load whose lanes tell it.
        origin: the constants of its indices.
        at: those of the loads of each register.

    Raises:
        Refusal: they are not.
    """
    nowhere = (0,) * len(origin)
    start = at[0][0]
    parity = _between(at[0][-1], start)
    low = _between(at[1][0], start) if len(at) > 1 else nowhere
    high = _between(at[2][0], start) if len(at) > 2 else nowhere
    away = _between(start, origin)
    found = MatrixAddresses(first, len(at), len(at[0]) > 1, away, parity, low, high)
    for number, loads in enumerate(at):
        for odd, each in enumerate(loads):
            # The other loads are those that the steps are told by.
            is_combined = number == 3 or (number and odd)
            if is_combined and found.steps(8 * number + odd) != _between(each, origin):
                raise Refusal(_UNEVEN)
    return found


def lanes_are_behind(
    indices: Sequence[LaneValues], launch: Launch, source: LaneNumbers, behind: LaneNumbers
) -> bool:
    """Returns whether each lane reads some elements behind another one, along the last dimension.

    Args:
        indices: where the lanes of a load read.
        source: the other lane of each lane of a wave.
        behind: how many elements lie between what they read.
    """
    *others, last = (index.full(launch) for index in indices)
    return bool((last == last[..., source] + behind).all()) and all(
        bool((index == index[..., source]).all()) for index in others
    )


def _view_of(buffer: ir.Value, evaluator: LaneEvaluator) -> TracedView:
    """Returns what a memref shows of its LDS allocation.

    Raises:
        Refusal: that is not known, or it is not one allocation.
    """
    operation = defining_operation(buffer)
    if is_lds_allocation(operation):
        assert operation is not None
        tile_of(type_of(operation))
        return TracedView.of(operation.results[0])
    if operation is None or view_row(operation) is None:
        raise Refusal("what they read may be one of several allocations")
    return _view_of(operation.operands[0], evaluator).through(operation, evaluator)


def _row_elements(buffer: ir.Value) -> int:
    bits = element_bits(type_of(buffer).element_type)
    if bits is None or REGISTER_BITS % bits:
        raise Refusal("their elements do not fill registers")
    return in_elements(ROW_BYTES, bits)


def _between(to: Steps, start: Steps) -> Steps:
    return tuple(map(sub, to, start))
