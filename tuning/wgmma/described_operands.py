# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proving that descriptors can give the operands of contractions, from where warps read them.

A warp of `mma.sync` reads its own B, by `ldmatrix`. A warpgroup, four consecutive warps, can take
B from the LDS by one descriptor (`bank_model/descriptor_tiles.py`). It is the same B where

* each operand's matrices lie where the descriptor says, in all iterations;
* the four warps read the same;
* all warps of the workgroup come there together;
* between whatever writes the tile and the reads, all warps meet at a barrier. What is written has
  to be made known to the matrix units before that (`fence.proxy.async`).

A of a warpgroup has 64 rows, of which each warp reads 16. A descriptor gives them where the rows of
each warp follow those of the warp before. Where a descriptor gives B, registers may hold A.

Each of them is proven from the final addresses, whatever has laid out the tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
from iree.compiler import ir

from ...bank_model.descriptor_tiles import (
    GROUP_WARPS,
    LANES,
    TILE_ALIGNMENT,
    ArrangedTile,
    DescribedOperand,
    described_operand,
)
from ...bank_model.lds_rules import AccessKind
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import Launch
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.index.lane_values import (
    LaneEvaluator,
    LaneValues,
    Loop,
    Unknown,
    align,
)
from ...dialect_utils.loops import FOR, IF
from ...dialect_utils.memory.barrier_order import orders_lds
from ...dialect_utils.memory.buffer_starts import begins_at_multiple_of
from ...dialect_utils.memory.flow import lds_allocation_of
from ...dialect_utils.memory.lane_dependence import LaneDependence
from ...dialect_utils.memory.lds_ops import BARRIER, COPIES_WAIT, COPY, DEALLOC, access_row
from ...dialect_utils.memory.memref_types import (
    is_workgroup_memref,
    static_strides,
    type_of,
    whole_element_bits,
)
from ...dialect_utils.memory.mma_operands import LoadedMatrix
from ...dialect_utils.operations import defining_operation, operations_in, operations_of, parents_of
from ..ldmatrix.matrix_fragments import ROWS

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt


_MOST_TILES = 32
"""The most operands of 8 columns that an instruction takes."""
_TRANSPOSED_BITS = 16
_FACTOR_BLOCKS = 2
"""The blocks of eight rows that a warp has of A."""

IntArray: TypeAlias = "npt.NDArray[np.int64]"
Matrices = tuple[LoadedMatrix, ...]


class DescribedRun(NamedTuple):
    """B operands that lie side by side, which one descriptor gives.

    Attributes:
        operand: how it does.
        tiles: the numbers of the operands, in the order of their columns.
        starts: [*iterations, warps], the byte of the buffer at which the descriptor starts.
        first: the matrix whose first row lies there.
    """

    operand: DescribedOperand
    tiles: tuple[int, ...]
    starts: LaneValues
    first: LoadedMatrix

    @property
    def allocation(self) -> ir.Operation:
        """Returns the tile that the operands are parts of."""
        allocation = lds_allocation_of(self.first.load.operands[0])
        assert allocation is not None
        return allocation


@dataclass
class DescriptorProver:
    """Decides which B operands of one function descriptors can give.

    Attributes:
        arranged: allocations that are judged as if they were arranged for descriptors.
    """

    function: ir.Operation
    launch: Launch
    evaluator: LaneEvaluator
    bits: IndexBits
    arranged: Mapping[ir.Operation, ArrangedTile] = field(default_factory=dict)
    _groups: dict[Matrices, LaneValues] = field(default_factory=dict)
    _runs: dict[tuple[Matrices, ...], list[DescribedRun]] = field(default_factory=dict)
    _together: set[ir.Block] = field(default_factory=set)
    """Blocks that all warps of a workgroup execute together."""

    def check_together(self, operation: ir.Operation) -> None:
        """Makes sure that all warps of the workgroup come to an operation together.

        Raises:
            Refusal: they may not, or they make no whole warpgroups.
        """
        if operation.block in self._together:
            return
        if self.launch.subgroup_size != LANES or self.launch.threads % (LANES * GROUP_WARPS):
            raise Refusal("its warps are no whole warpgroups of four")
        dependence = LaneDependence(self.evaluator, of_workgroup=True)
        try:
            dependence.check_surroundings(operation, self.function)
        except Refusal as refusal:
            raise Refusal(f"not all warps may take part: {refusal.reason}") from refusal
        self._together.add(operation.block)

    def check_written_before_barrier(self, loads: Iterable[ir.Operation]) -> None:
        """Makes sure that all warps meet at a barrier between a write to a tile and reads of it.

        Args:
            loads: reads of one segment in which nothing writes, in their order. So the last one of
                each tile stands for all.

        Raises:
            Refusal: they may not.
        """
        last = {lds_allocation_of(load.operands[0]): load for load in loads}
        for allocation, load in last.items():
            if allocation is None:
                raise Refusal("what it reads may be one of several allocations")
            between = [inner for each in _behind_barriers(load) for inner in operations_in(each)]
            # Nothing may read what a copy brings before somebody has waited for it.
            waits = any(each.name == COPIES_WAIT for each in between)
            if any(may_write(each, allocation) for each in between if waits or each.name != COPY):
                text = "no barrier may stand between what writes its tile and what reads it"
                raise Refusal(text)

    def check_buffer(self, buffer: ir.Value) -> None:
        """Makes sure that a buffer starts where the swizzle of a descriptor begins.

        Raises:
            Refusal: it may not.
        """
        bits = whole_element_bits(type_of(buffer).element_type)
        if bits is None or static_strides(type_of(buffer)) is None:
            raise Refusal("the elements or strides of its tile are not known")
        first = begins_at_multiple_of(buffer, self.bits) * bits // 8
        if first % TILE_ALIGNMENT:
            raise Refusal(f"its tile starts at no multiple of {TILE_ALIGNMENT} bytes")
        if LaneDependence(self.evaluator, of_workgroup=True).of(buffer) is not False:
            raise Refusal("its tile may start elsewhere for another warp")

    def runs(self, operands: Sequence[Matrices]) -> list[DescribedRun]:
        """Returns descriptors that together give some operands, each once.

        Args:
            operands: of each B operand the matrices of its registers.

        Raises:
            Refusal: there are no such descriptors.
        """
        key = tuple(operands)
        if key not in self._runs:
            self._runs[key] = self._found_runs(operands)
        return self._runs[key]

    def factor(self, matrices: Matrices) -> DescribedRun:
        """Returns the descriptor that gives an operand A of 64 rows, 16 of each warp.

        Args:
            matrices: of the rows 0 to 7 and 8 to 15 of a warp the first 8 of the k, then the
                others.

        Raises:
            Refusal: there is no such descriptor.
        """
        if len(matrices) != 2 * _FACTOR_BLOCKS:
            raise Refusal("A is no four matrices")
        transposed = {each.load.attributes["transpose"] for each in matrices}
        if len(transposed) > 1:
            raise Refusal("some matrices of A are transposed, and some are not")
        halves = [self._groups_of_pair(matrices[n::_FACTOR_BLOCKS]) for n in range(_FACTOR_BLOCKS)]
        loops, arrays = align([LaneValues(groups, loops) for loops, groups in halves])
        blocks = np.stack(np.broadcast_arrays(*arrays), axis=-2)
        of_warpgroup = GROUP_WARPS * _FACTOR_BLOCKS
        together = blocks.reshape(*blocks.shape[:-3], -1, of_warpgroup, blocks.shape[-1])
        found = described_operand(together, ir.BoolAttr(transposed.pop()).value)
        if found is None:
            raise Refusal("A is no rectangle of a tile in a descriptor's layout")
        operand, starts = found
        of_warps = np.repeat(starts, GROUP_WARPS, axis=-1)[..., np.newaxis]
        return DescribedRun(operand, (), LaneValues(of_warps, loops), matrices[0])

    def _found_runs(self, operands: Sequence[Matrices]) -> list[DescribedRun]:
        groups = [self._groups_of(each) for each in operands]
        transposed = {matrix.load.attributes["transpose"] for each in operands for matrix in each}
        if len(transposed) > 1:
            raise Refusal("some of its matrices are transposed, and some are not")
        mn_major = ir.BoolAttr(transposed.pop()).value
        buffers: dict[ir.Value, list[int]] = {}
        for tile, matrices in enumerate(operands):
            buffers.setdefault(matrices[0].load.operands[0], []).append(tile)
        found: list[DescribedRun] = []
        for tiles in buffers.values():
            found += self._runs_of(operands, groups, tiles, mn_major)
        return found

    def _runs_of(
        self,
        operands: Sequence[Matrices],
        groups: Sequence[LaneValues],
        tiles: Iterable[int],
        mn_major: bool,
    ) -> Iterator[DescribedRun]:
        """Yields descriptors that together give the operands of one buffer.

        Raises:
            Refusal: there are no such descriptors.
        """
        places = sorted(tiles, key=lambda tile: int(groups[tile].values.flat[0]))
        while places:
            for count in range(min(_MOST_TILES, len(places)), 1, -1):
                run = self._run(operands, groups, tuple(places[:count]), mn_major)
                if run is not None:
                    yield run
                    del places[:count]
                    break
            else:
                raise Refusal("its operands are no rectangle of a tile in a descriptor's layout")

    def _run(
        self,
        operands: Sequence[Matrices],
        groups: Sequence[LaneValues],
        tiles: tuple[int, ...],
        mn_major: bool,
    ) -> DescribedRun | None:
        loops, arrays = align([groups[tile] for tile in tiles])
        together = np.stack(np.broadcast_arrays(*arrays), axis=-2)
        found = described_operand(together, mn_major)
        if found is None:
            return None
        operand, starts = found
        # Values have an axis for lanes, too.
        return DescribedRun(
            operand, tiles, LaneValues(starts[..., np.newaxis], loops), operands[tiles[0]][0]
        )

    def _groups_of(self, matrices: Matrices) -> LaneValues:
        """Returns [*iterations, warps, 16]: the bytes of the buffer at which groups start.

        Raises:
            Refusal: they are not known, or differ between the warps of a warpgroup.
        """
        if matrices not in self._groups:
            self._groups[matrices] = self._read_groups(matrices)
        return self._groups[matrices]

    def _read_groups(self, matrices: Matrices) -> LaneValues:
        if len(matrices) != 2:
            raise Refusal("its operands are no pairs of matrices")
        loops, groups = self._groups_of_pair(matrices)
        warps = groups.reshape(*groups.shape[:-2], -1, GROUP_WARPS, groups.shape[-1])
        if (warps != warps[..., :1, :]).any():
            raise Refusal("the four warps of a warpgroup read different operands")
        return LaneValues(groups, loops)

    def _groups_of_pair(self, matrices: Matrices) -> tuple[tuple[Loop, ...], IntArray]:
        """Returns [*iterations, warps, 16]: the bytes at which the groups of two matrices start.

        Args:
            matrices: those of the first 8 of the k, and of the others.

        Raises:
            Refusal: they are not known.
        """
        buffer = matrices[0].load.operands[0]
        if any(each.load.operands[0] != buffer for each in matrices):
            raise Refusal("its operands are matrices of several memrefs")
        mn_major = ir.BoolAttr(matrices[0].load.attributes["transpose"]).value
        bits = whole_element_bits(type_of(buffer).element_type)
        if bits is None or (mn_major and bits != _TRANSPOSED_BITS):
            raise Refusal(
                f"its elements have other than {_TRANSPOSED_BITS} bits and are transposed"
            )
        loops, rows = align([self._row_starts(each, bits // 8) for each in matrices])
        # K-major, the two halves of a column's k lie side by side; MN-major, the k count on.
        join = np.concatenate if mn_major else _interleave
        return loops, join(np.broadcast_arrays(*rows), axis=-1)

    def _row_starts(self, matrix: LoadedMatrix, element_bytes: int) -> LaneValues:
        """Returns [*iterations, warps, 8]: the bytes at which the rows of a matrix start."""
        buffer, *indices = matrix.load.operands
        strides = static_strides(type_of(buffer)) or ()
        elements = self.evaluator.element(indices, strides)
        if isinstance(elements, Unknown):
            raise Refusal(f"an index depends on the {elements.reason}")
        first = ROWS * matrix.number
        lanes = elements.full(self.launch)[..., first : first + ROWS]
        allocation = defining_operation(buffer)
        if allocation is not None and allocation in self.arranged:
            lanes = self.arranged[allocation].place(lanes)
        return LaneValues(lanes * element_bytes, elements.loops)


def _interleave(arrays: Sequence[IntArray], axis: int) -> IntArray:
    return np.stack(arrays, axis).reshape(*arrays[0].shape[:-1], -1)


# What happens between the last barriers and an operation.


def _behind_barriers(operation: ir.Operation) -> Iterator[ir.Operation]:
    """Yields what may run between the last barrier of all warps and an operation.

    Raises:
        Refusal: control flow is not understood.
    """
    looked: set[ir.Block] = set()
    pending = [operation]
    while pending:
        inner = pending.pop()
        if (yield from _before_in_block(operations_of(inner.block), inner)):
            continue
        outer = next(iter(parents_of(inner)))
        if outer.name == FOR and inner.block not in looked:
            # The iteration before ends where the body ends.
            looked.add(inner.block)
            (yield from _before_in_block(operations_of(inner.block), None))
        if outer.name in (FOR, IF, "scf.forall"):
            pending.append(outer)
        elif not outer.name.endswith("func"):
            raise Refusal(f"it is inside {outer.name}")


def _before_in_block(
    block: Sequence[ir.Operation], end: ir.Operation | None
) -> Iterator[ir.Operation]:
    """Yields the operations before one, from the last barrier on; returns whether there is one.

    Args:
        end: the operation; None for the end of the block.
    """
    before = list(block)
    if end is not None:
        before = before[: before.index(end)]
    for each in reversed(before):
        if each.name == BARRIER and orders_lds(each):
            return True
        yield each
    return False


def may_write(operation: ir.Operation, allocation: ir.Operation) -> bool:
    """Returns whether an operation may write an LDS allocation."""
    row = access_row(operation)
    if operation.name == DEALLOC or (row is not None and row.kind is AccessKind.READ):
        return False
    if len(operation.results) and any(
        isinstance(each.type, ir.MemRefType) for each in operation.results
    ):
        # A view; what is done to it is seen where that is done.
        return False
    reached = (
        lds_allocation_of(each) for each in operation.operands if is_workgroup_memref(each.type)
    )
    return any(each is None or each == allocation for each in reached)
