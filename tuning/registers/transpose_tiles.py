# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-transpose-tiles`: lanes transpose what they copy to the LDS, not what they read there.

Matrix instructions of AMD's take from a lane some neighbours of an operand along the index that is
summed over, such as four keys of a column of V. In memory the columns are neighbours. IREE copies V
as it lies there, and every wave transposes all of it after it has read it, by two `v_perm_b32` for
four elements. Here a lane copies blocks of 4 keys and 2, 4 or 8 columns and transposes these, once
for all waves of the workgroup:

    %c = iree_vector_ext.to_layout %v                       vector<64x128xf16>
    %b = four keys of a column become neighbours            vector<16x128x4xf16>
    %w = vector.transfer_write %b, %tile                    tensor<16x128x4xf16, workgroup>
    %r = vector.transfer_read %w

The vectors go through `to_simt` and `to_simd` as in `renamed_transfers.py`: between them are the
registers of a lane, which get another order. Where the tile lies in the LDS is decided later. All
values are the same bits.

Blocks of which a lane has several side by side, and those of 2 columns, are those of odd heads,
such as 72, 100 and 160.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.layout_digits import simt_shape
from ...bank_model.lds_tables import lds_of
from ...bank_model.nested_layout import NestedLayout
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.copy_slots import loads_directly
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.memory.memref_types import WORKGROUP
from ...dialect_utils.operations import (
    TRANSFER_READ,
    TRANSFER_WRITE,
    defining_operation,
    operands_with,
    operations_in,
    redirect,
    segments_of,
)
from ...passes.base import FunctionPass, PassContext
from ..costs.copy_layouts import BLOCK_ROWS, block_layout

_TO_LAYOUT = "iree_vector_ext.to_layout"
_BARRIER, _ALLOCATION = "iree_gpu.value_barrier", "bufferization.alloc_tensor"
_REORDERING = frozenset(
    {
        _TO_LAYOUT,
        "iree_vector_ext.to_simt",
        "iree_vector_ext.to_simd",
        "vector.shape_cast",
        "vector.transpose",
    }
)
_BITS = 16


class TransposeTiles(FunctionPass):
    """Transposes operands of 2-byte elements as they are copied to the LDS."""

    name: ClassVar[str] = "bankwise-transpose-tiles"
    summary: ClassVar[str] = "transpose operands as they are copied to the LDS, on AMD GPUs"
    later_passes_may_refuse: ClassVar[bool] = True

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the copies of `function` that several waves read across; never fails."""
        function = function.operation
        features = gpu_features_of(function, context.test_target)
        if not features.byte_permutes:
            return
        if loads_directly(function, context.test_target):
            return
        for read in operations_in(function, TRANSFER_READ):
            copied = _Copied.of(read)
            if copied is None or copied.threads <= lds_of(features.arch).wave_size:
                continue
            context.sink.remark(read.location, f"copies to {copied.tensor} are transposed")
            copied.rewrite()


class _Copied(NamedTuple):
    """A vector that threads copy to the LDS and read there.

    Attributes:
        source: the vector as it is read from memory.
        write: writes it to the LDS.
        barrier: lets threads wait until all have done so.
        read: reads it there.
        copying: the layout in which blocks are copied.
        reading: the layout in which it is read.
        threads: how many copy it.
    """

    source: ir.Value
    write: ir.Operation
    barrier: ir.Operation
    read: ir.Operation
    copying: NestedLayout
    reading: NestedLayout
    threads: int

    @property
    def tensor(self) -> ir.Type:
        """Returns the type of what it is copied to."""
        return self.write.operands[1].type

    @staticmethod
    def of(read: ir.Operation) -> _Copied | None:
        """Returns what a read of the LDS is of, if lanes want neighbours across memory."""
        barrier = defining_operation(read.operands[0])
        write = None if barrier is None else _single(barrier, _BARRIER)
        if barrier is None or write is None or write.name != TRANSFER_WRITE:
            return None
        copy, tile = (defining_operation(each) for each in list(write.operands)[:2])
        if copy is None or copy.name != _TO_LAYOUT or tile is None or tile.name != _ALLOCATION:
            return None
        source = defining_operation(copy.operands[0])
        if (
            source is None
            or not _is_plain(source)
            or not all(_is_whole(each) for each in (write, read))
        ):
            return None
        if any(len(operands_with(each.results[0])) != 1 for each in (source, copy, write, tile)):
            return None
        reading = _layout_read_across(read)
        given = _layout(copy)
        threads = prod(given.thread_tile) * prod(given.subgroup_tile)
        copying = block_layout(given.shape, threads)
        if reading is None or copying is None:
            return None
        return _Copied(copy.operands[0], write, barrier, read, copying, reading, threads)

    def rewrite(self) -> None:
        """Lets the LDS hold blocks of neighbours across memory."""
        at = Builder.before(self.write)
        vector = at.to_layout(self.source, self.copying)
        blocks = _in_blocks(at, vector, self.copying)
        tile = at.alloc_tensor(ir.VectorType(blocks.type), WORKGROUP)
        written = at.value_barrier(at.transfer_write(blocks, tile))
        at = Builder.before(self.read)
        again = at.to_layout(at.transfer_read(written, blocks.type), _blocked(self.reading))
        users = operands_with(self.read.results[0])
        redirect(users, _from_blocks(at, again, self.reading))
        tile_before = defining_operation(self.write.operands[1])
        copy = defining_operation(self.write.operands[0])
        for each in (self.read, self.barrier, self.write, copy, tile_before):
            assert each is not None
            each.erase()


def _single(operation: ir.Operation, name: str) -> ir.Operation | None:
    """Returns what makes the only operand of an operation with a name, if nothing else uses it."""
    if operation.name != name or len(operation.operands) != 1:
        return None
    if len(operands_with(operation.results[0])) != 1:
        return None
    return defining_operation(operation.operands[0])


def _is_plain(read: ir.Operation) -> bool:
    """Returns whether an operation reads elements of 2 bytes, of which all are there."""
    if read.name != TRANSFER_READ or segments_of(read)[-1]:
        return False
    inside = ir.ArrayAttr(read.attributes["in_bounds"])
    kind = ir.VectorType(read.results[0].type)
    return element_bits(kind.element_type) == _BITS and all(ir.BoolAttr(e).value for e in inside)


def _is_whole(transfer: ir.Operation) -> bool:
    """Returns whether a transfer is of a whole tile in the order of its dimensions."""
    vector = transfer.results[0] if transfer.name == TRANSFER_READ else transfer.operands[0]
    memory = transfer.operands[0 if transfer.name == TRANSFER_READ else 1]
    kind = ir.VectorType(vector.type)
    identity = ir.AffineMap.get_identity(kind.rank, transfer.context)
    same = ir.AffineMapAttr(transfer.attributes["permutation_map"]) == ir.AffineMapAttr.get(
        identity
    )
    return same and kind.rank >= 2 and list(kind.shape) == list(ir.ShapedType(memory.type).shape)


def _layout(to_layout: ir.Operation) -> NestedLayout:
    return NestedLayout.parse(str(to_layout.attributes["layout"]))


def _layout_read_across(read: ir.Operation) -> NestedLayout | None:
    """Returns the layout in which a vector is read, if lanes want neighbours across memory.

    What lanes want is the layout behind all that only gives registers another order.
    """
    value, layouts = read.results[0], list[NestedLayout]()
    while True:
        users = operands_with(value)
        if len(users) != 1 or users[0][0].name not in _REORDERING:
            break
        if users[0][0].name == _TO_LAYOUT:
            layouts.append(_layout(users[0][0]))
        value = users[0][0].results[0]
    wanted = [
        each for each in layouts if each.shape == tuple(ir.VectorType(read.results[0].type).shape)
    ]
    if not wanted:
        return None
    across = wanted[-1].element_tile[-2] % BLOCK_ROWS == 0 and wanted[-1].element_tile[-1] == 1
    return wanted[0] if across and wanted[0].element_tile[-2] % BLOCK_ROWS == 0 else None


def _blocked(layout: NestedLayout) -> NestedLayout:
    """Returns a layout in terms of blocks: rows in fours, columns, rows of a block."""

    def with_block(tile: Sequence[int], block: int) -> tuple[int, ...]:
        return (*tile, block)

    *outer, rows, columns = layout.element_tile
    return NestedLayout(
        with_block(layout.subgroup_tile, 1),
        with_block(layout.batch_tile, 1),
        with_block(layout.outer_tile, 1),
        with_block(layout.thread_tile, 1),
        (*outer, rows // BLOCK_ROWS, columns, BLOCK_ROWS),
        with_block(layout.subgroup_strides, 0),
        with_block(layout.thread_strides, 0),
    )


def _in_blocks(at: Builder, vector: ir.Value, layout: NestedLayout) -> ir.Value:
    """Returns a vector in terms of blocks, of which each lane keeps its elements."""
    target = _blocked(layout)
    rest, rows, columns = _registers(layout)
    value = at.shape_cast(at.to_simt(vector, simt_shape(layout)), (rest, rows, BLOCK_ROWS, columns))
    value = at.shape_cast(at.transpose(value, (0, 1, 3, 2)), simt_shape(target))
    return at.to_layout(at.to_simd(value, target.shape), target)


def _from_blocks(at: Builder, blocks: ir.Value, layout: NestedLayout) -> ir.Value:
    """Returns the vector of which `_in_blocks` makes blocks."""
    rest, rows, columns = _registers(layout)
    registers = at.to_simt(blocks, simt_shape(_blocked(layout)))
    value = at.transpose(at.shape_cast(registers, (rest, rows, columns, BLOCK_ROWS)), (0, 1, 3, 2))
    return at.to_layout(at.to_simd(at.shape_cast(value, simt_shape(layout)), layout.shape), layout)


def _registers(layout: NestedLayout) -> tuple[int, int, int]:
    """Returns how many elements of a lane are not in its smallest tile, and the blocks of that."""
    rows, columns = layout.element_tile[-2:]
    return prod(layout.batch_tile) * prod(layout.outer_tile), rows // BLOCK_ROWS, columns
