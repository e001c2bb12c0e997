# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the rows of a reduction are spread over warps and lanes.

    lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32], [0, 1]],
        partial_reduction = [0, 800], subgroup_basis = [[4, 1], [0, 1]], thread = [0, 1],
        workgroup = [4, 0]}>

Four warps have a row each, of 25 times 32 elements. What is computed with the sums has `serial` in
the place of `partial_reduction`, and the same numbers. A row that is no multiple of them is
computed as a longer one (`tuning/shapes/enlarged_shapes.py`).
"""

from __future__ import annotations

from math import prod

from iree.compiler import ir

from ...bank_model.errors import up_to_power_of_two
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.indexing_maps import ITERATORS, summed_loops
from ...dialect_utils.lowering_config import (
    BASIS,
    CONFIG,
    LANE_BASIS,
    PARTIAL,
    THREAD,
    WORKGROUP,
    LoweringConfig,
    basis_attribute,
    numbers_attribute,
)
from ..costs.processors import Processor

SERIAL = "serial"
"""How many elements of a row a step has, where they are reduced and where they are not."""


_LANES_OF_WORKGROUP = 1024
_WARPS = (1, 2, 4, 8, 16, 32)
"""How many may share a row. With other numbers IREE masks what they exchange."""
_LEAST_WARPS = 4
"""Of a workgroup, and of a multiprocessor, where there are rows for them."""
_LEAST_LANES = 4
_FEW_ELEMENTS, _MOST_ELEMENTS = 8, 32
"""How many elements of a row a lane has at least, where the rows are long, and at most."""
_FULL_ELEMENTS = 16
"""How many it has where warps share a row without a rest."""
_MOST_REGISTERS = 40
"""How many it keeps at most, where these are a whole row or no more warps can share it."""
_LEAST_VECTORS = 4
_SCALED_VECTORS, _MOST_SCALED = 8, 64
"""How many vectors a lane has of long rows that are multiplied by what their sums give, and how
many elements at most."""


_SCALED_REGISTERS, _FEWER_REGISTERS = 96, 80
"""The registers that ptxas gives a lane of an RMS norm with so many vectors, and those with which
it spills 24 bytes."""


class RowTile(NamedTuple):
    """What a workgroup has of the rows, and what a lane has of a row.

    Attributes:
        vector: how many neighbours a lane has together.
        lanes: how many lanes of a warp share a row, a power of two.
        warps: how many warps share a row.
        vectors: how many vectors a lane has in a step.
        rows: how many rows a workgroup has.
    """

    vector: int
    lanes: int
    warps: int
    vectors: int
    rows: int

    @property
    def step(self) -> int:
        """Returns how many elements of a row a step has."""
        return self.vector * self.lanes * self.warps * self.vectors

    def length(self, row: int) -> int:
        """Returns how long a row is that is rounded up to whole steps."""
        return -(-row // self.step) * self.step

    def workgroup_warps(self, warp_size: int) -> int:
        """Returns how many warps a workgroup has."""
        return self.warps * self.rows * self.lanes // warp_size

    def configure(
        self, operation: ir.Operation, row: int, outer: int | None, warp_size: int, *, is_root: bool
    ) -> None:
        """Gives an operation its part of the configuration.

        Args:
            row: the loop of the operation along rows.
            outer: the one from row to row, if it has one.
            is_root: whether it decides on the workgroups.
        """
        context = operation.context
        order = range(len(ir.ArrayAttr(operation.attributes[ITERATORS])))
        lanes, warps = {row: self.lanes}, {row: self.warps}
        if outer is not None:
            lanes[outer] = warp_size // self.lanes
            warps[outer] = self.workgroup_warps(warp_size) // self.warps
        thread = {row: self.vector, outer: int(self.lanes < warp_size)}
        step = {row: self.step}
        entries = {
            LANE_BASIS: basis_attribute([lanes.get(n, 1) for n in order], order, context),
            BASIS: basis_attribute([warps.get(n, 1) for n in order], order, context),
            THREAD: numbers_attribute([thread.get(n, 0) for n in order], context),
            PARTIAL if summed_loops(operation) else SERIAL: numbers_attribute(
                [step.get(n, 0) for n in order], context
            ),
        }
        if is_root:
            rows = {row: 0, outer: self.rows}
            sizes = [rows.get(n, 1) for n in order]
            entries[WORKGROUP] = numbers_attribute(sizes, context)
        operation.attributes[CONFIG] = LoweringConfig(entries).attribute(context)

    def __str__(self) -> str:
        lanes = prod((self.lanes, self.warps))
        rows = "a row" if self.rows == 1 else f"{self.rows} rows"
        return f"{rows}, of each of which {lanes} lanes have {self.vectors} x {self.vector} a step"


class Rows(NamedTuple):
    """The rows that a function reduces.

    Attributes:
        length: how many elements a row has.
        total: how many rows there are.
        beside: how many of them lie along one loop; 1 where not all operations have it.
        neighbours: how many elements a lane can read and write together, a power of two.
        is_scaled: whether the elements are computed again with what is reduced, and no exponentials
            of them, as norms do.
    """

    length: int
    total: int
    beside: int
    neighbours: int
    is_scaled: bool = False

    @property
    def vectors(self) -> int:
        """Returns how many vectors a row has."""
        return -(-self.length // self.neighbours)


def row_tile(rows: Rows, warp_size: int, processor: Processor) -> RowTile:
    """Returns how rows are spread over warps and lanes.

    A lane keeps what it has of a row in registers, if that is no more than 32 elements, so that the
    row is read once. Longer rows are shared by more warps, up to a whole workgroup, and beyond that
    read step by step. Times on an H200 with as many warps a row, over the least:

    | softmax | 1 | 2 | 4 | 8 | 16 | 32 |
    | --- | --- | --- | --- | --- | --- | --- |
    | 3000x777 f16 | 1.00 | 1.03 | 1.08 | 1.34 | | |
    | 4096x4096 f16 | 1.45 | 1.10 | 1.00 | 1.01 | 1.16 | |
    | 160x6625 f32 | | | 1.19 | 1.00 | 1.05 | 1.26 |

    Rows that warps share without a rest have 16 elements a lane, so that many warps find registers.
    RMS norms and layer norms of f16 take so many times as long with 32 elements a lane as with 16:
    8192x1024 1.02, 4096x2048 1.09 and 1.06, 2048x4096 1.05 and 1.04, 1024x8192 1.02.

    Short rows share a warp: 512x33 f32 takes 0.90 times as long with four rows as with one.
    """
    lanes = _lanes(rows, warp_size)
    most = _LANES_OF_WORKGROUP // warp_size
    if lanes == warp_size and (scaled := _scaled_tile(rows, lanes, processor)) is not None:
        return scaled
    counts = [each for each in _WARPS if each <= most] if lanes == warp_size else [1]

    def elements(warps: int) -> int:
        return -(-rows.vectors // (lanes * warps)) * rows.neighbours

    def suffices(warps: int) -> bool:
        found = elements(warps)
        if rows.total * warps < processor.multiprocessors * _LEAST_WARPS:
            return found <= max(rows.neighbours, _FEW_ELEMENTS)
        divides = found * lanes * warps == rows.length
        return found <= (_MOST_REGISTERS if divides else _MOST_ELEMENTS)

    def divides_well(warps: int) -> bool:
        return elements(warps) * lanes * warps == rows.length and elements(warps) <= _FULL_ELEMENTS

    found = next(filter(suffices, counts), counts[-1])
    more = (each for each in counts if each >= found and divides_well(each))
    warps = next(more, found)
    vectors = elements(warps) // rows.neighbours
    if elements(warps) > _MOST_REGISTERS:
        vectors = _step(vectors, rows.neighbours)
    together = _together(rows, lanes, warps, warp_size, processor)
    return RowTile(rows.neighbours, lanes, warps, vectors, together)


def _together(rows: Rows, lanes: int, warps: int, warp_size: int, processor: Processor) -> int:
    """Returns how many rows a workgroup has."""
    together = max(1, _LEAST_WARPS // warps)
    all_warps = rows.total * lanes * warps // warp_size
    while together > 1 and all_warps < together * warps * processor.multiprocessors:
        together //= 2
    together *= warp_size // lanes
    while together > warp_size // lanes and _is_wasteful(rows.beside, together):
        together //= 2
    return together


def _scaled_tile(rows: Rows, lanes: int, processor: Processor) -> RowTile | None:
    """Returns the tile of a norm of long rows, if it is another than that of other reductions.

    Norms have 128 bytes a lane where that leaves four warps or more to a row. Microseconds on an
    H200 with as many warps a row, and at `exact`, the medians of nine runs or more:

    | row | 4 | 8 | 16 | `exact` |
    | --- | --- | --- | --- | --- |
    | RMS norm 1024x8192 f16 | 11.0 | 11.4 | 11.3 | 10.9 |
    | RMS norm 4096x8192 f16 | 32.7 | 33.5 | 35.3 | 47.4 |
    | RMS norm 2048x8192 bf16 | 18.4 | 18.2 | 19.3 | 28.2 |
    | RMS norm 1024x4096 f32 | 9.9 | 10.9 | 10.8 | 10.8 |
    | layer norm 1024x8192 f16 | 12.1 | 12.3 | 12.7 | 18.2 |
    | layer norm 1024x4096 f32 | 9.9 | 10.2 | | 17.6 |
    | softmax 1024x8192 f16 | 24.0 | 16.1 | 15.7 | 30.9 |
    | softmax 2048x4096 f32 | 20.1 | 18.4 | | 34.9 |
    """
    if not rows.is_scaled or not processor.measured:
        return None
    elements, least = rows.neighbours * _SCALED_VECTORS, processor.multiprocessors * _LEAST_WARPS
    for warps in _WARPS:
        is_long = warps >= _LEAST_WARPS and rows.total * warps >= least
        if is_long and elements * lanes * warps == rows.length and elements <= _MOST_SCALED:
            return RowTile(rows.neighbours, lanes, warps, _SCALED_VECTORS, 1)
    return None


def workgroups_at_once(tile: RowTile, rows: Rows, warp_size: int, processor: Processor) -> int:
    """Returns how many workgroups of a norm a multiprocessor is to hold, so that all rows are
    computed at once; 0 where ptxas need not be asked for that, or asking does not suffice.

    RMS norm 768x8192 f16 takes 9.1 us on an H200 where 6 are held, and 10.0 where 5 are, 660 in
    all. Where there are more rows, fewer registers cost more than they gain: 1024x8192 takes 11.9
    us and 11.5, 1536x8192 16.0 and 14.9, 4096x8192 35.7 and 33.0.
    """
    is_scaled = rows.is_scaled and tile.vectors == _SCALED_VECTORS and tile.warps == _LEAST_WARPS
    if not is_scaled or not processor.measured:
        return 0
    threads = tile.workgroup_warps(warp_size) * warp_size
    usual, more = (
        processor.registers // (each * threads) for each in (_SCALED_REGISTERS, _FEWER_REGISTERS)
    )
    workgroups = -(-rows.total // (tile.rows * processor.multiprocessors))
    return workgroups if usual < workgroups <= more else 0


def _lanes(rows: Rows, warp_size: int) -> int:
    """Returns how many lanes of a warp share a row."""
    lanes = min(up_to_power_of_two(-(-rows.length // _FEW_ELEMENTS)), warp_size)
    lanes = max(lanes, min(_LEAST_LANES, up_to_power_of_two(rows.vectors)))
    while lanes < warp_size and _is_wasteful(rows.beside, warp_size // lanes):
        lanes *= 2
    return lanes


def _step(vectors: int, neighbours: int) -> int:
    """Returns how many vectors of a row a lane has in a step, where it has so many in all."""
    least = max(_LEAST_VECTORS, _FEW_ELEMENTS // neighbours)
    return min(range(least, least + least // 2 + 1), key=lambda n: -(-vectors // n) * n)


def _is_wasteful(count: int, together: int) -> bool:
    """Returns whether more than an eighth of the rows of workgroups would not be there."""
    return 8 * count < 7 * (-(-count // together) * together)
