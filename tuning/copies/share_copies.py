# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets neighbouring lanes copy neighbouring parts of a tile, whatever the length of its rows.

A nested layout spreads the copy of a tile over lanes dimension by dimension, so that as many lanes
share a row as divide both. Of 9 x 16 bytes in a row none share one: 32 lanes copy from 32 rows at
once, and as 256 lanes do not share 64 x 9 copies of 16 bytes, each of them copies 4. Here lane t of
T makes the copies t, t + T, t + 2 T and so on of the whole tile, row by row, of 16 bytes each:

    64 rows of 9 copies, 256 lanes:  copy c = t + 256 i  of row c / 9, at c mod 9;
                                     the last time only lanes t < 64 have one

Each instruction touches as few lines of memory as there are, with the fewest instructions. What
arrives in the LDS is the same.

Where descriptors of `wgmma` are to read such a tile, its blocks have 64 or 32 bytes of each row
(`ArrangedTile`), and what a row has in each of them lies in the same half or quarter of the banks.
Neighbouring lanes then copy two or four rows of a block, which fill all banks, and then the rows
below. Blocks come one behind the other, so that a lane has the same place in each, and needs no
other registers for it:

    96 columns of f16, 3 blocks of 4 copies a row:
    lanes 0-3 row 0, 4-7 row 1, 8-11 row 2 of block 0, and so on; later the same of blocks 1 and 2

A tile is left alone unless lanes copy each of its elements once, from places that differ from
those in the tile by the same number in all lanes.

Runs behind `iree-llvmgpu-vector-distribute`, before `bankwise-restore-shapes`, which guards the
accesses that are made here like any others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import gcd, prod
from typing import ClassVar

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.copy_slots import loads_directly
from ...dialect_utils.described_tiles import has_described_tile
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import Launch
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.index.index_cloner import is_index_arithmetic, is_uniform
from ...dialect_utils.index.lane_values import LaneEvaluator, Unknown
from ...dialect_utils.loops import FOR, IF
from ...dialect_utils.memory.buffer_starts import start_alignment
from ...dialect_utils.memory.lds_ops import BARRIER, DEALLOC, is_in_bounds, is_masked
from ...dialect_utils.memory.memref_types import (
    is_workgroup_memref,
    row_major_strides,
    type_of,
)
from ...dialect_utils.memory.staged_tensors import transfer_dims
from ...dialect_utils.operations import (
    TRANSFER_READ,
    TRANSFER_WRITE,
    attributes_of,
    constant_value,
    defining_operation,
    operands_with,
    operations_in,
    operations_of,
    parents_of,
    segments_of,
)
from ...passes.base import FunctionPass, PassContext
from ..costs.copy_layouts import CopyOrder
from ..shapes.enlarged_shapes import (
    binding_of,
    flat_buffer,
    remembers_shape,
    true_row_of_buffer,
    true_shape_of_buffer,
)
from ..shapes.shifted_rows import word_elements
from ..shapes.strided_buffers import StridedBuffer
from .staged_copies import check_read_only

_ALLOC = "memref.alloc"
_LINEARIZE = "affine.linearize_index"
_WORD_BITS = 32
_BYTES = 16
"""What a lane copies at once at most."""


@dataclass(frozen=True)
class ShareCopies(FunctionPass):
    """Spreads copies of tiles over lanes in the order of memory.

    Attributes:
        direct: whether only copies that are to go to the LDS without registers are spread.
    """

    name: ClassVar[str] = "bankwise-share-copies"
    summary: ClassVar[str] = "let neighbouring lanes copy neighbouring parts of a tile"

    direct: bool = False

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the copies of all tiles that are understood; never fails."""
        function = function.operation
        model = context.lds_model(function)
        if model is None:
            return
        _, launch = model
        if prod(launch.workgroup_size) != launch.workgroup_size[0]:
            return
        if self.direct and not loads_directly(function, context.test_target):
            return
        described = has_described_tile(function)
        sharing = _Sharing(launch, LaneEvaluator(launch), IndexBits(function), described)
        for alloc in operations_in(function, _ALLOC):
            if not is_workgroup_memref(alloc.results[0].type):
                continue
            try:
                tile = sharing.tile(alloc)
            except Refusal as refusal:
                message = f"copies to {alloc.results[0].type} stay as they are: {refusal.reason}"
                context.sink.remark(alloc.location, message)
                continue
            if tile is not None:
                before = len(tile.copies)
                after = sharing.carry_out(tile)
                text = f"{before} copies of a lane to {alloc.results[0].type} become {after}"
                context.sink.remark(alloc.location, text)


class _Copy(NamedTuple):
    """The read of a part of a tile from global memory, and its write to the LDS."""

    read: ir.Operation
    write: ir.Operation

    @staticmethod
    def of(write: ir.Operation) -> _Copy:
        """Returns the copy that a write is part of.

        Raises:
            Refusal: it is part of none that is understood.
        """
        read = defining_operation(write.operands[0])
        if read is None or read.name != TRANSFER_READ:
            raise Refusal("what is written is not what a read brings")
        rank = len(type_of(write.operands[1]).shape)
        if (
            is_workgroup_memref(read.operands[0].type)
            or len(operands_with(read.results[0])) != 1
            or any(is_masked(each) or not is_in_bounds(each) for each in (read, write))
            or transfer_dims(write) != [*range(rank)]
            or None in (transfer_dims(read) or [None])
        ):
            raise Refusal("it is read or written in another way than element by element")
        return _Copy(read, write)

    @property
    def width(self) -> int:
        """Returns how many elements of a row a lane copies.

        Raises:
            Refusal: it copies parts of several rows.
        """
        shape = ir.VectorType(self.read.results[0].type).shape
        if prod(shape) != shape[-1]:
            raise Refusal("a lane copies parts of several rows at once")
        return shape[-1]


class _Tile(NamedTuple):
    """A tile whose copies are to be shared in another way.

    Attributes:
        origin: what is added to an index in the tile, for each dimension of the buffer: the
            dimension of the tile, if there is one, and the index of the tile's first element there.
        width: how many elements of a row are to be copied at once.
        order: which copy comes behind which.
    """

    alloc: ir.Operation
    copies: tuple[_Copy, ...]
    origin: tuple[tuple[int | None, ir.Value | None], ...]
    width: int
    order: CopyOrder

    @property
    def is_contiguous(self) -> bool:
        """Returns whether the tile is one run of elements in memory."""
        buffer = self.copies[0].read.operands[0]
        shape = type_of(self.alloc.results[0]).shape
        *_, row, column = (None, *(dim for dim, _ in self.origin))
        rows = [dim for dim, size in enumerate(shape[:-1]) if size > 1]
        return (
            not remembers_shape(buffer)
            and type_of(buffer).has_static_shape
            and column == len(shape) - 1
            and shape[-1] == type_of(buffer).shape[-1]
            and rows in ([], [row])
        )


@dataclass(frozen=True)
class _Sharing:
    """How the lanes of a workgroup share the copies of tiles.

    Attributes:
        described: whether tiles are to be read by descriptors.
    """

    launch: Launch
    lanes: LaneEvaluator
    bits: IndexBits
    described: bool
    flat: dict[ir.Value, ir.Value] = field(default_factory=dict)

    def tile(self, alloc: ir.Operation) -> _Tile | None:
        """Returns a tile whose copies can be shared in a better way than they are.

        None stands for one that nothing copies to by transfers, or that is shared so already.

        Raises:
            Refusal: its copies are not understood.
        """
        users = [user for user, _ in operands_with(alloc.results[0])]
        writes = [each for each in users if each.name == TRANSFER_WRITE]
        if not writes:
            return None
        if any(each.name not in (TRANSFER_WRITE, TRANSFER_READ, DEALLOC) for each in users):
            raise Refusal("not only transfers use it")
        copies = tuple(_Copy.of(each) for each in writes)
        if len({(each.read.block, each.write.block) for each in copies}) > 1:
            raise Refusal("its copies are made at several places")
        if len({each.read.operands[0] for each in copies}) > 1:
            raise Refusal("it is copied from several buffers")
        check_read_only(copies[0].read.operands[0])
        _check_together(copies, users)
        shape = type_of(alloc.results[0]).shape
        self._check_guards(copies[0])
        offsets = [self._offsets(each, shape) for each in copies]
        covered = [
            np.add.outer(each, np.arange(copy.width)).reshape(-1)
            for each, copy in zip(offsets, copies, strict=True)
        ]
        if not np.array_equal(np.sort(np.concatenate(covered)), np.arange(prod(shape))):
            raise Refusal("lanes do not copy each of its elements once")
        origins = [self._origin(each) for each in copies]
        if any(each != origins[0] for each in origins):
            raise Refusal("its copies do not lie together")
        width = self._width(copies[0], shape[-1], origins[0])
        order = self._order(copies[0], shape, width)
        in_order = self._are_in_order(offsets, order, width)
        if in_order and all(each.width == width for each in copies):
            return None
        return _Tile(alloc, copies, origins[0], width, order)

    def _order(self, copy: _Copy, shape: Sequence[int], width: int) -> CopyOrder:
        """Returns the order in which the copies of a tile of this shape shall be made."""
        bits = element_bits(type_of(copy.read.operands[0]).element_type) or 0
        if self.described and bits % 8 == 0:
            again = any(each.name == FOR for each in parents_of(copy.write))
            threads = self.launch.threads
            return CopyOrder.for_descriptors(shape, width, bits // 8, threads, again=again)
        return CopyOrder.by_rows(shape, width)

    def _are_in_order(self, offsets: Sequence[np.ndarray], order: CopyOrder, width: int) -> bool:
        """Returns whether lanes write to these places of a tile as an order says.

        Where copies are ordered row by row, lanes may change places with each other.
        """
        threads = np.arange(self.launch.threads)
        for number, each in enumerate(sorted(offsets, key=np.min)):
            expected = order.places(threads + number * self.launch.threads) * width
            found = np.sort(each) if order.is_by_rows else each
            if not np.array_equal(found, expected):
                return False
        return True

    def _check_guards(self, copy: _Copy) -> None:
        """Makes sure that all lanes write what they have read, wherever they read.

        Raises:
            Refusal: a condition between the read and the write may keep some from it.
        """
        for parent in parents_of(copy.write):
            if parent == copy.read.parent:
                return
            condition = self.lanes.evaluate(parent.operands[0]) if parent.name == IF else None
            if condition is None or isinstance(condition, Unknown) or not condition.uniform:
                break
        raise Refusal("not all lanes may write what they read")

    def _offsets(self, copy: _Copy, shape: Sequence[int]) -> np.ndarray:
        """Returns the place in the tile of what each lane writes.

        Raises:
            Refusal: it is not known.
        """
        indices = segments_of(copy.write)[2]
        place = self.lanes.element(indices, row_major_strides(shape))
        if isinstance(place, Unknown) or place.loops:
            raise Refusal("the place of a copy in the tile is not known")
        return place.full(self.launch).reshape(-1)[: self.launch.threads]

    def _origin(self, copy: _Copy) -> tuple[tuple[int | None, ir.Value | None], ...]:
        """Returns the `origin` of a tile by one of its copies.

        Raises:
            Refusal: what is added to an index differs between lanes.
        """
        source, written = segments_of(copy.read)[1], segments_of(copy.write)[2]
        dims = transfer_dims(copy.read) or []
        origin: list[tuple[int | None, ir.Value | None]] = []
        for number, index in enumerate(source):
            if number in dims:
                dim = dims.index(number)
                added = _difference(index, written[dim])
            else:
                dim, added = None, index
            if added is not None and not is_uniform(added):
                raise Refusal("lanes copy from places that are not known to lie together")
            origin.append((dim, added))
        return tuple(origin)

    def _width(
        self,
        copy: _Copy,
        row: int,
        origin: Sequence[tuple[int | None, ir.Value | None]],
    ) -> int:
        """Returns how many elements are copied at once.

        Raises:
            Refusal: rows are not rows of memory.
        """
        kind = type_of(copy.read.operands[0])
        bits = element_bits(kind.element_type)
        dims = transfer_dims(copy.read) or []
        true = _row_in_memory(copy.read.operands[0], bits or 0)
        if bits is None or true is None or dims[-1] != len(kind.shape) - 1:
            raise Refusal("its rows are not known to be rows of memory")
        _, first = origin[-1]
        begin = 0 if first is None else self.bits.multiple([first], [1])
        most = gcd(row, begin, max(1, _BYTES * 8 // bits))
        return most if _is_shifted(copy.read.operands[0], most) else gcd(true, most)

    def carry_out(self, tile: _Tile) -> int:
        """Rewrites the copies of a tile; returns how many a lane makes then."""
        shape, threads = type_of(tile.alloc.results[0]).shape, self.launch.threads
        runs = [*shape[:-1], shape[-1] // tile.width]
        at = Builder.before(_outermost(tile.copies[0]))
        thread = at.thread_id("x")
        count = -(-prod(runs) // threads)
        moved = [self._read(at, tile, runs, thread, number) for number in range(count)]
        left = prod(runs) - (count - 1) * threads
        for number, (value, indices) in enumerate(moved):
            write = tile.copies[0].write
            operands = [value, tile.alloc.results[0], *indices]
            if number < count - 1 or left == threads:
                at.like(write, operands)
            else:
                there = at.cmpi("ult", thread, at.index(left))
                at.if_(there, lambda inside, o=operands, w=write: _write(inside, w, o))
        for copy in tile.copies:
            copy.write.erase()
            copy.read.erase()
        return count

    def _flat(self, buffer: ir.Value) -> ir.Value:
        """Returns a whole static buffer with one dimension.

        It is a binding of its own: views are folded into the indices of accesses, by divisions.
        """
        if buffer not in self.flat:
            self.flat[buffer] = flat_buffer(buffer)
        return self.flat[buffer]

    def _read(
        self, at: Builder, tile: _Tile, runs: Sequence[int], thread: ir.Value, number: int
    ) -> tuple[ir.Value, list[ir.Value]]:
        """Emits one of the reads of a lane; returns its value and its indices in the tile."""
        threads = self.launch.threads
        begin = number * threads
        if begin + threads > prod(runs):
            thread = at.minui(thread, at.index(prod(runs) - 1 - begin))
        first_row, further, column = _place(at, tile, thread, number, threads)
        row = at.apply(f"d0 + {further}", first_row)
        indices = [*_digits(at, row, runs[:-1]), column]
        read = tile.copies[0].read
        memory, _, padding, *_ = segments_of(read)
        old = ir.VectorType(read.results[0].type)
        kind = at.vector_type([1] * (len(old.shape) - 1) + [tile.width], old.element_type)
        if tile.is_contiguous:
            if tile.order.is_by_rows:
                place, terms = f"d1 * {tile.width} + {begin * tile.width}", [thread]
            else:
                place, terms = f"d1 * {type_of(memory[0]).shape[-1]} + d2", [row, column]
            return at.shaped(self._read_run(at, tile, place, terms), list(kind.shape)), indices
        places: list[ir.Value] = []
        for dim, added in tile.origin:
            index = None if dim is None else indices[dim]
            if further and index == row:
                # A constant that is added last becomes part of the instruction.
                first = first_row if added is None else at.addi(first_row, added)
                flags = ir.Attribute.parse("#arith.overflow<nsw, nuw>", first.context)
                places.append(at.add_without_wrap(first, at.index(further), flags))
                continue
            terms = [each for each in (index, added) if each is not None]
            places.append(terms[0] if len(terms) == 1 else at.addi(*terms))
        made = at.like(read, [*memory, *places, *padding], [kind])
        return made.results[0], indices

    def _read_run(
        self, at: Builder, tile: _Tile, place: str, terms: Sequence[ir.Value]
    ) -> ir.Value:
        """Emits the read of a part of a tile that is one run of elements in memory.

        Args:
            place: where the part begins in the tile, an affine expression of `terms`: d1, d2.
        """
        (buffer,), *_ = segments_of(tile.copies[0].read)
        kind, zero = type_of(buffer), at.index(0)
        origin = at.linearize([added or zero for _, added in tile.origin], kind.shape)
        begin = at.apply(f"d0 + {place}", origin, *terms)
        bytes_each = (element_bits(kind.element_type) or 8) // 8
        aligned = gcd(tile.width * bytes_each, start_alignment(buffer))
        part = at.vector_type([tile.width], kind.element_type)
        return at.load(part, self._flat(buffer), [begin], max(bytes_each, aligned))


def _row_in_memory(buffer: ir.Value, bits: int) -> int | None:
    """Returns how many elements of a row lie side by side, from multiples of that number on.

    None stands for what is not known, and for elements of less than a word that are found
    otherwise than by their indices: `cp.async` copies words.
    """
    binding = binding_of(buffer)
    strided = None if binding is None else StridedBuffer.of(binding)
    if strided is None:
        return true_row_of_buffer(buffer)
    return strided.aligned_run if bits == _WORD_BITS else None


def _is_shifted(buffer: ir.Value, count: int) -> bool:
    """Returns whether so many elements of odd rows of a buffer are read by words and shifted."""
    shape = true_shape_of_buffer(buffer)
    if shape is None:
        return False
    element, start = type_of(buffer).element_type, start_alignment(buffer)
    word = word_elements(shape, shape[-1], element, start)
    return word > 0 and count % word == 0


def _check_together(copies: Sequence[_Copy], users: Sequence[ir.Operation]) -> None:
    """Makes sure that a tile is neither read nor waited for between the writes to it.

    Raises:
        Refusal: it is.
    """
    writes = [each.write for each in copies]
    block = operations_of(writes[0].block)
    places = [place for place, each in enumerate(block) if each in writes]
    between = block[places[0] : places[-1]]
    if any(each.name == BARRIER or (each in users and each not in writes) for each in between):
        raise Refusal("its copies are made one after the other")


def _place(
    at: Builder, tile: _Tile, thread: ir.Value, number: int, threads: int
) -> tuple[ir.Value, int, ir.Value]:
    """Emits the row and the column of the copy `thread + number * threads`.

    Returns:
        a row, how many rows the copy is further down, and the column.
    """
    order = tile.order.part_of(number * threads)
    number -= order.begin // threads
    inner, patches = order.below or order.patches, threads // order.copies
    # Where the same lane has the same part of a row again, that is some rows further down; of a
    # column of patches, some columns further on.
    again = inner // gcd(inner, patches)
    further, first = number // again * again * patches // inner, number % again * patches
    patch = f"(d0 floordiv {order.copies} + {first})"
    outer, inside = f"({patch} floordiv {inner} + {further})", f"({patch} mod {inner})"
    rows = 0
    if inner % patches == 0:
        # No lane goes on behind the end of a row or a column of patches.
        outer, inside = str(further), patch
        if order.below:
            rows, inside = first * order.rows, f"(d0 floordiv {order.copies})"
    down, on = (inside, outer) if order.below else (outer, inside)
    row = f"{down} * {order.rows} + d0 mod {order.copies} floordiv {order.across}"
    begin = order.first * tile.width
    column = f"({on} * {order.across} + d0 mod {order.across}) * {tile.width} + {begin}"
    return at.apply(row, thread), rows, at.apply(column, thread)


def _write(at: Builder, write: ir.Operation, operands: Sequence[ir.Value]) -> None:
    at.like(write, operands)


def _digits(at: Builder, row: ir.Value, sizes: Sequence[int]) -> list[ir.Value]:
    """Emits the indices along dimensions of these sizes whose row by row number is given."""
    rows = stride = prod(sizes)
    digits: list[ir.Value] = []
    for size in sizes:
        stride //= size
        if size == 1:
            digits.append(at.index(0))
        else:
            digit = row if size == rows else at.apply(f"d0 floordiv {stride} mod {size}", row)
            digits.append(digit)
    return digits


def _outermost(copy: _Copy) -> ir.Operation:
    """Returns what stands beside the read of a copy and holds its write."""
    found = copy.write
    while found.block != copy.read.block:
        parent = found.parent
        assert parent is not None
        found = parent.operation
    return found


def _difference(index: ir.Value, other: ir.Value) -> ir.Value | None:
    """Returns what an index has more than another one, where both are sums of digits.

    None stands for nothing.

    Raises:
        Refusal: that is not known.
    """
    first, second = defining_operation(index), defining_operation(other)
    if first is None or second is None:
        if index == other:
            return None
        raise Refusal("places in memory are not known to lie as those in the tile")
    if _is_same(index, other):
        return None
    if (
        first.name != _LINEARIZE
        or second.name != _LINEARIZE
        or first.attributes["static_basis"] != second.attributes["static_basis"]
        or len(first.operands) != len(second.operands)
        or constant_value(second.operands[len(second.operands) - 1]) != 0
        or not all(map(_is_same, list(first.operands)[:-1], list(second.operands)[:-1]))
    ):
        raise Refusal("places in memory are not known to lie as those in the tile")
    return first.operands[len(first.operands) - 1]


def _is_same(value: ir.Value, other: ir.Value) -> bool:
    """Returns whether two values are computed in the same way."""
    if value == other:
        return True
    first, second = defining_operation(value), defining_operation(other)
    if first is None or second is None or first.name != second.name:
        return False
    if not is_index_arithmetic(first) or len(first.operands) != len(second.operands):
        return False
    numbers = (ir.OpResult(value).result_number, ir.OpResult(other).result_number)
    kept, others = (
        {name: each for name, each in attributes_of(operation).items() if name != "disjoint"}
        for operation in (first, second)
    )
    return (
        numbers[0] == numbers[1]
        and kept == others
        and all(map(_is_same, first.operands, second.operands))
    )
