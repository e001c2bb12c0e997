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

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from iree.compiler import ir

from ...bank_model.swizzle_legality import contiguous_run
from ..diagnostics import Refusal
from ..element_types import element_bits
from ..gpu_target import Launch
from ..index.lane_values import (
    LaneEvaluator,
    LaneValues,
    Unknown,
    combine,
    existing_lanes,
)
from ..operations import defining_operation
from .flow import is_lds_allocation
from .lds_ops import LDMATRIX, Misaligned, in_elements, view_row
from .memref_types import tile_of, type_of
from .mma_operands import REGISTER_BITS
from .surroundings import surroundings_of
from .traced_views import TracedView

INSTRUCTION = "ldmatrix"
"""Its name in the tables of the chips that have it."""
ROW_BYTES = 16
ROWS = 8
LANES = 32

Steps = tuple[int, ...]
"""A distance in elements along each dimension of a memref."""


@dataclass(frozen=True)
class MatrixAddresses:
    """Where `ldmatrix` starts its rows, told by the lanes of one of the loads that it replaces.

    Row r of matrix m starts, along each dimension, where the lane `source_lane(r)` of `origin`
    reads, plus `first`, plus `parity` if r is odd, plus `low` if m is odd, plus `high` if m >= 2.
    """

    origin: ir.Operation
    """The first of the loads in their block: its indices are known before any of them."""
    matrices: int
    transposed: bool
    first: Steps
    parity: Steps
    low: Steps
    high: Steps

    def source_lane(self, row: int) -> int:
        """Returns the lane whose indices start row `row` of each matrix."""
        return row // 2 if self.transposed else 4 * row

    def steps(self, lane: Any) -> tuple[Any, ...]:
        """Returns the distances of the row that `lane` gives from where its source lane reads.

        For an array of lanes, they are arrays.
        """
        bits = (1, lane % 2, lane // 8 % 2, lane // 16 % 2)
        parts = (self.first, self.parity, self.low, self.high)
        columns = zip(*parts, strict=True)
        return tuple(sum(b * n for b, n in zip(bits, column, strict=True)) for column in columns)


@dataclass(frozen=True)
class _RowStarts:
    """Where rows of 16 bytes start in the lanes of a load.

    Attributes:
        behind: by how many elements they start behind multiples of 16 bytes.
        lowest: the least index along the last dimension of the memref.
        highest: the greatest one.
    """

    behind: frozenset[int]
    lowest: int
    highest: int

    def moved(self, away: Steps, strides: tuple[int, ...], row_elements: int) -> _RowStarts:
        """Returns the same for a load that reads elsewhere by a constant in each dimension."""
        by = sum(n * stride for n, stride in zip(away, strides, strict=True))
        behind = frozenset((each + by) % row_elements for each in self.behind)
        return _RowStarts(behind, self.lowest + away[-1], self.highest + away[-1])


_Like = tuple[ir.Value, bool]
"""A memref, and whether loads of it are transposed."""


@dataclass
class FragmentProver:
    """Decides which groups of loads in one function are matrices."""

    function: ir.Operation
    launch: Launch
    evaluator: LaneEvaluator
    _steps: dict[tuple[ir.Value, ir.Value], int | None] = field(default_factory=dict)
    """By how much indices differ; None where not by the same in all lanes and trips."""
    _executed: set[ir.Block] = field(default_factory=set)
    """Blocks that all lanes of a warp execute together."""
    _views: dict[ir.Value, TracedView] = field(default_factory=dict)
    _matrices: dict[_Like, ir.Operation] = field(default_factory=dict)
    """A load whose lanes are known to read a matrix, and so do those of loads a constant away."""
    _starts: dict[_Like, tuple[ir.Operation, _RowStarts]] = field(default_factory=dict)
    """A load of which it is known where rows start, which tells it of loads a constant away."""

    def addresses(
        self, registers: Sequence[tuple[ir.Operation, ...]], first: ir.Operation
    ) -> MatrixAddresses:
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
        transposed = len(registers[0]) > 1
        buffer = first.operands[0]
        if buffer not in self._views:
            self._views[buffer] = _view_of(buffer, self.evaluator)
        view = self._views[buffer]
        row_elements = _row_elements(buffer)
        away = [[self.distance(load, first) for load in loads] for loads in registers]
        self._check_lanes(first, transposed, view, row_elements)
        parity = _between(away[0][-1], away[0][0])
        low = _between(away[1][0], away[0][0]) if len(away) > 1 else (0,) * len(parity)
        high = _between(away[2][0], away[0][0]) if len(away) > 2 else (0,) * len(parity)
        found = MatrixAddresses(first, len(registers), transposed, away[0][0], parity, low, high)
        for number, loads in enumerate(away):
            for odd, distance in enumerate(loads):
                if found.steps(8 * number + odd) != distance:
                    raise Refusal("their matrices are not evenly apart")
        self._check_rows(found, view, row_elements, [step for loads in away for step in loads])
        return found

    def indices(self, load: ir.Operation) -> list[LaneValues]:
        """Returns what each index of a load is in every lane.

        Raises:
            Refusal: one of them is not known.
        """
        return list(map(self._known, list(load.operands)[1:]))

    def distance(self, load: ir.Operation, other: ir.Operation) -> Steps:
        """Returns how far a load reads behind another one, the same in all lanes and trips.

        Raises:
            Refusal: it is not the same, or not known.
        """
        indices, others = (list(each.operands)[1:] for each in (load, other))
        return tuple(map(self._step, indices, others))

    def _step(self, index: ir.Value, other: ir.Value) -> int:
        """Returns by how much one index is more than another one."""
        pair = (index, other)
        if pair not in self._steps:
            values = self._known(index), self._known(other)
            away = combine(np.subtract, *values)
            self._steps[pair] = None if isinstance(away, Unknown) else away.uniform
        step = self._steps[pair]
        if step is None:
            raise Refusal("they are not equally far apart in all lanes")
        return step

    def _known(self, index: ir.Value) -> LaneValues:
        value = self.evaluator.evaluate(index)
        if isinstance(value, Unknown):
            raise Refusal(f"an index depends on the {value.reason}")
        return value

    def _check_all_lanes(self, load: ir.Operation) -> None:
        """Makes sure that all lanes of a warp execute `load` together."""
        if self.launch.subgroup_size != LANES or not existing_lanes(self.launch).all():
            raise Refusal("a warp of the workgroup is not full")
        if self.launch.workgroup_size[0] % LANES:
            raise Refusal("the lanes of a warp are not neighbours along x")
        around = surroundings_of(load, self.function, self.evaluator)
        if around.assumptions:
            raise Refusal(f"not all lanes may take part: {around.assumptions[0]}")
        for mask in around.masks:
            if (mask.values != mask.values[..., :1]).any():
                raise Refusal("not all lanes take part")

    def _check_lanes(
        self, load: ir.Operation, transposed: bool, view: TracedView, row_elements: int
    ) -> None:
        """Makes sure that the lanes of a load read a matrix with rows along the last dimension."""
        if view.strides[-1] != 1:
            raise Refusal("neighbours along the last dimension are not neighbours in memory")
        like = (load.operands[0], transposed)
        if like in self._matrices and self._away(load, self._matrices[like]) is not None:
            return
        lanes = np.arange(LANES)
        if transposed:
            source, behind = lanes % 4, lanes // 4
        else:
            source, behind = lanes // 4 * 4, lanes % 4 * (row_elements // 4)
        indices = [value.full(self.launch) for value in self.indices(load)]
        for dimension, values in enumerate(indices):
            is_last = dimension == len(indices) - 1
            if (values != values[..., source] + (behind if is_last else 0)).any():
                raise Refusal("their lanes do not read the rows or columns of an 8x8 matrix")
        self._matrices[like] = load

    def _away(self, load: ir.Operation, other: ir.Operation) -> Steps | None:
        """Returns how far a load reads behind another one, as `distance`; None if not known."""
        try:
            return self.distance(load, other)
        except Refusal:
            return None

    def _check_rows(
        self, found: MatrixAddresses, view: TracedView, row_elements: int, away: list[Steps]
    ) -> None:
        """Makes sure that every row is 16 aligned bytes in one row of the memref."""
        chain = view.chain
        if isinstance(chain, Unknown):
            raise Refusal(chain.reason)
        if contiguous_run(chain) % row_elements:
            raise Refusal("a swizzle takes the rows of 16 bytes apart")
        starts = self._row_starts(found, view, row_elements)
        for step in away:
            moved = sum(n * by for n, by in zip(step, view.strides, strict=True))
            if any((each + moved) % row_elements for each in starts.behind):
                raise Misaligned(LDMATRIX, ROW_BYTES, found.origin.location)
            end = starts.highest + step[-1] + row_elements
            if starts.lowest + step[-1] < 0 or end > view.sizes[-1]:
                raise Refusal("a row of 16 bytes leaves the last dimension of the memref")

    def _row_starts(
        self, found: MatrixAddresses, view: TracedView, row_elements: int
    ) -> _RowStarts:
        """Returns where the lanes of the origin that start rows read.

        Raises:
            Refusal: that is not known.
        """
        load = found.origin
        like = (load.operands[0], found.transposed)
        if like in self._starts:
            other, starts = self._starts[like]
            away = self._away(load, other)
            if away is not None:
                return starts.moved(away, view.strides, row_elements)
        sources = [found.source_lane(row) for row in range(ROWS)]
        first = view.element(list(load.operands)[1:], self.evaluator)
        if isinstance(first, Unknown):
            raise Refusal(f"an offset depends on the {first.reason}")
        elements = first.full(self.launch)[..., sources]
        behind = frozenset((elements % row_elements).ravel().tolist())
        column = self.indices(load)[-1].full(self.launch)[..., sources]
        starts = _RowStarts(behind, int(column.min()), int(column.max()))
        self._starts[like] = load, starts
        return starts

    def expected(self, found: MatrixAddresses) -> list[LaneValues]:
        """Returns the index along each dimension at which the row of each lane starts.

        Only the 8 lanes of each matrix are there.
        """
        lanes = range(ROWS * found.matrices)
        sources = [found.source_lane(lane % ROWS) for lane in lanes]
        return [
            LaneValues(value.full(self.launch)[..., sources] + steps, value.loops)
            for value, steps in zip(
                self.indices(found.origin), found.steps(np.array(lanes)), strict=True
            )
        ]


def lds_allocation_of(buffer: ir.Value) -> ir.Operation | None:
    """Returns the LDS allocation of which a memref is a view, if it can be no other memory."""
    operation = defining_operation(buffer)
    while operation is not None and view_row(operation) is not None:
        operation = defining_operation(operation.operands[0])
    return operation if is_lds_allocation(operation) else None


def _view_of(buffer: ir.Value, evaluator: LaneEvaluator) -> TracedView:
    """Returns what a memref shows of its LDS allocation.

    Raises:
        Refusal: that is not known, or it is not one allocation.
    """
    operation = defining_operation(buffer)
    if is_lds_allocation(operation):
        assert operation is not None
        tile_of(type_of(operation))
        return TracedView.of(operation)
    if operation is None or view_row(operation) is None:
        raise Refusal("what they read may be one of several allocations")
    return _view_of(operation.operands[0], evaluator).through(operation, evaluator)


def _row_elements(buffer: ir.Value) -> int:
    bits = element_bits(type_of(buffer).element_type)
    if bits is None or REGISTER_BITS % bits:
        raise Refusal("their elements do not fill registers")
    return in_elements(ROW_BYTES, bits)


def _between(to: Steps, start: Steps) -> Steps:
    return tuple(a - b for a, b in zip(to, start, strict=True))
