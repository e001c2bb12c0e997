# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives enlarged buffers their true shapes back, and keeps accesses inside them.

What is read beyond the end of a buffer is zero, and what is written there is dropped
(`enlarged_shapes.py`):

    %x = vector.transfer_read %q[%b, %m, %k]                   // memref<8x1024x112xf16>

becomes

    %row = arith.minui %m, 999                                 // memref<8x1000x100xf16>
    %column = arith.minui %k, 92
    %there = %m < 1000 and %k < 100
    %r = vector.load %q[%b, %row, %column] {alignment = 8}
    %x = arith.select %there, %r, 0

and a write stands in an `scf.if %there`. Only what may leave the true shape is guarded. An access
that may reach over an end is parted into pieces that lie inside or outside as a whole: 8 elements
at a multiple of 8 in rows of 100 elements are parted into two times 4. AMD's lanes read all 8 at
once (`unaligned_rows.py`). Of other copies to the LDS whose pieces would be single elements, whole
words are read (`shifted_rows.py`), and so of parts of images that begin anywhere.

Runs behind `iree-llvmgpu-vector-distribute`, where an access is that of one lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import reduce
from itertools import product
from math import gcd, prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.errors import up_to_power_of_two
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.memory.buffer_starts import start_alignment
from ...dialect_utils.memory.lds_ops import (
    EXPAND_SHAPE,
    SUBVIEW,
    is_in_bounds,
    is_masked,
)
from ...dialect_utils.memory.memref_types import contiguous_type, row_major_strides, type_of
from ...dialect_utils.memory.staged_tensors import transfer_dims
from ...dialect_utils.operations import (
    TRANSFER_READ,
    TRANSFER_WRITE,
    mixed_operands,
    operands_with,
    redirect,
    segments_of,
)
from ...passes.base import FunctionPass, PassContext
from .enlarged_shapes import (
    WHOLE_VIEWS,
    Shape,
    binding_of,
    flat_binding,
    has_enlarged_bindings,
    is_rounded,
    restored_bindings,
    unrounded,
)
from .shifted_rows import ShiftedRows, word_elements
from .strided_buffers import StridedBuffer
from .unaligned_rows import UnalignedRows, is_read_unaligned

_HALF_WORD, _WORD = 16, 32


@dataclass(frozen=True)
class RestoreShapes(FunctionPass):
    """Restores the true shapes of buffers whose shapes were enlarged.

    Attributes:
        ahead: whether loads of copies to the LDS are to be known to a pass of IREE that lets them
            run a step ahead, on GPUs for which it has one.
    """

    name: ClassVar[str] = "bankwise-restore-shapes"
    summary: ClassVar[str] = "keep tiles that are larger than their tensors inside their buffers"

    ahead: bool = False

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites all accesses to enlarged buffers of `function`.

        Raises:
            PassFailure: an access is of a form that is not understood.
        """
        function = function.operation
        if not has_enlarged_bindings(function):
            return
        bits = IndexBits(function)
        features = gpu_features_of(function, context.test_target)
        try:
            for binding, shape, strided in restored_bindings(function):
                enlarged = tuple(type_of(binding).shape)
                restored = _Restoration(
                    bits,
                    shape,
                    enlarged,
                    features.unaligned_loads,
                    features.mma_sync,
                    self.ahead and features.prefetches,
                    strided=strided,
                )
                restored.carry_out(binding)
        except Refusal as refusal:
            message = f"an access to an enlarged buffer stays unguarded: {refusal.reason}"
            raise PassFailure(function.location, message) from refusal


class _View(NamedTuple):
    """A part of a buffer, or all of it.

    Attributes:
        buffer: the whole buffer.
        steps: the operations that make the view of the buffer, the first one first.
    """

    buffer: ir.Value
    steps: tuple[ir.Operation, ...] = ()

    def indices(self, at: Builder, indices: Sequence[ir.Value]) -> list[ir.Value]:
        """Emits the indices into the buffer of an element of the view."""
        found = list(indices)
        for step in reversed(self.steps):
            fold = _behind_subview if step.name == SUBVIEW else _behind_expansion
            found = fold(at, step, found)
        return found


def _behind_subview(at: Builder, view: ir.Operation, indices: list[ir.Value]) -> list[ir.Value]:
    """Emits the indices into the source of a subview whose elements are neighbours there."""
    if any(each != 1 for each in mixed_operands(view, "static_strides", 3)):
        raise Refusal("a part of it has gaps", view.location)
    offsets = mixed_operands(view, "static_offsets", 1)
    sizes = mixed_operands(view, "static_sizes", 2)
    left = list(zip(type_of(view).shape, indices, strict=True))
    found: list[ir.Value] = []
    for offset, size in zip(offsets, sizes, strict=True):
        first = at.index(offset) if isinstance(offset, int) else offset
        if left and left[0][0] == size:
            found.append(at.addi(first, left.pop(0)[1]))
        elif size == 1:
            # The view has one dimension less, and the index along it would be 0.
            found.append(first)
        else:
            raise Refusal("a part of it has sizes that are not known", view.location)
    return found


def _behind_expansion(at: Builder, view: ir.Operation, indices: list[ir.Value]) -> list[ir.Value]:
    """Emits the indices into the source of an `expand_shape`."""
    shape = type_of(view).shape
    found: list[ir.Value] = []
    for group in ir.ArrayAttr(view.attributes["reassociation"]):
        dims = [ir.IntegerAttr(each).value for each in ir.ArrayAttr(group)]
        place = indices[dims[0]]
        for dim in dims[1:]:
            place = at.addi(at.muli(place, at.index(shape[dim])), indices[dim])
        found.append(place)
    return found


class _Access(NamedTuple):
    """A read or write of a lane.

    Attributes:
        vector: the shape of what is moved; () for one element.
        dims: the dimension of the view along which each dimension of the vector lies.
        moved: what is written; None for a read.
    """

    operation: ir.Operation
    vector: Shape
    dims: tuple[int, ...]
    indices: tuple[ir.Value, ...]
    moved: ir.Value | None

    @property
    def is_of_rows(self) -> bool:
        """Returns whether the last dimension of what is moved lies along rows of the view."""
        return bool(self.dims) and self.dims[-1] == len(self.indices) - 1


def _access_of(operation: ir.Operation, number: int) -> _Access:
    """Returns the access that an operation makes to its operand of this number.

    Raises:
        Refusal: it is none that is understood.
    """
    name, operands = operation.name, list(operation.operands)
    if name in (TRANSFER_READ, TRANSFER_WRITE):
        if is_masked(operation) or not is_in_bounds(operation):
            raise Refusal("a transfer is masked", operation.location)
        dims = transfer_dims(operation)
        if dims is None or None in dims:
            raise Refusal("a transfer broadcasts", operation.location)
        known = tuple(each for each in dims if each is not None)
        if name == TRANSFER_READ:
            _, indices, *_ = segments_of(operation)
            return _Access(operation, _shape(operation.results[0]), known, tuple(indices), None)
        (vector,), _, indices, _ = segments_of(operation)
        return _Access(operation, _shape(vector), known, tuple(indices), vector)
    if name in ("vector.load", "memref.load"):
        shape, indices, moved = _shape(operation.results[0]), operands[1:], None
    elif name in ("vector.store", "memref.store") and number == 1:
        shape, indices, moved = _shape(operands[0]), operands[2:], operands[0]
    else:
        raise Refusal(f"{name} uses it", operation.location)
    last = range(len(indices) - len(shape), len(indices))
    return _Access(operation, shape, tuple(last), tuple(indices), moved)


def _shape(value: ir.Value) -> Shape:
    return tuple(value.type.shape) if isinstance(value.type, ir.VectorType) else ()


@dataclass(eq=False)
class _Restoration:
    """Restores one binding.

    Attributes:
        shape, enlarged: the true shape and the one that the buffer has had.
        unaligned: whether lanes load vectors from any address.
        permutes: whether they choose bytes of words as NVIDIA's do.
        prefetched: whether a pass of IREE follows that loads the copies of a step to the LDS a step
            ahead. It knows them by their `vector.transfer_read` and `vector.transfer_write`.
        computed: the sizes that the program computes and that were rounded up, by their dimension.
        strided: how the elements are found; None where the buffer has the true shape.
        flat: the whole buffer with one dimension, if something reads it so.
    """

    bits: IndexBits
    shape: Shape
    enlarged: Shape
    unaligned: bool = False
    permutes: bool = False
    prefetched: bool = False
    computed: dict[int, ir.Value] = field(default_factory=dict)
    strided: StridedBuffer | None = None
    flat: ir.Value | None = None
    accesses: list[tuple[_View, _Access]] = field(default_factory=list)
    views: list[ir.Operation] = field(default_factory=list)

    def carry_out(self, binding: ir.Operation) -> None:
        """Restores the shape of the buffer, and guards what accesses it."""
        self._restore_computed_sizes(binding)
        self._restore(binding.results[0])
        for view, access in self.accesses:
            if access.moved is None:
                self._read(view, access)
            else:
                self._write(view, access, access.moved)
        for view in reversed(self.views):
            view.erase()

    def _restore_computed_sizes(self, binding: ir.Operation) -> None:
        """Gives a binding the sizes that the program computes, where they were rounded up."""
        dims = [dim for dim, size in enumerate(self.enlarged) if size == DYNAMIC]
        first = len(binding.operands) - len(dims)
        for number, dim in enumerate(dims, first):
            if is_rounded(self.shape[dim]):
                rounded = binding.operands[number]
                true = unrounded(rounded, self.shape[dim], self.bits)
                if true != rounded:
                    self.computed[dim] = true
                    binding.operands[number] = true
        self.shape = tuple(DYNAMIC if is_rounded(each) else each for each in self.shape)

    def _restore(self, buffer: ir.Value) -> None:
        """Restores the type of a whole buffer, and finds the accesses to it."""
        kind = type_of(buffer)
        if tuple(kind.shape) != self.enlarged:
            raise Refusal(f"a view of it is {kind}")
        shape = self.shape if self.strided is None else (self.strided.elements,)
        buffer.set_type(contiguous_type(kind, shape))
        for user, number in reversed(operands_with(buffer)):
            if user.name in WHOLE_VIEWS:
                self._restore(user.results[0])
            else:
                self._find(user, number, _View(buffer))

    def _find(self, user: ir.Operation, number: int, view: _View) -> None:
        """Finds the accesses behind a use of a view."""
        if user.name not in (SUBVIEW, EXPAND_SHAPE):
            self.accesses.append((view, _access_of(user, number)))
            return
        self.views.append(user)
        part = _View(view.buffer, (*view.steps, user))
        for each, operand in reversed(operands_with(user.results[0])):
            self._find(each, operand, part)

    def _read(self, view: _View, access: _Access) -> None:
        """Replaces a read by reads that do not leave the buffer."""
        result = access.operation.results[0]
        uses = operands_with(result)
        at = Builder.before(access.operation)
        scalar = result.type.element_type if access.vector else result.type
        rows = self._unaligned(at, view, access)
        shifted = None if rows is not None else self._shifted(at, view, access)
        shifted = self._gathered(at, view, access) if shifted is None else shifted
        if shifted is not None:
            redirect(uses, at.shaped(shifted, access.vector))
            access.operation.erase()
            return
        copy = _copied_to(access.operation)
        ahead = self.prefetched and copy is not None
        parts: list[ir.Value] = []
        for piece in self._pieces(at, view, access, whole=rows is not None):
            if rows is None:
                in_parts = self.permutes and copy is not None
                part = _load(at, view.buffer, piece, scalar, ahead=ahead, in_parts=in_parts)
            else:
                part = self._load_unaligned(at, rows, piece, ahead=ahead)
            if piece.there is not None:
                part = at.select(piece.there, part, at.constant(part.type, 0))
            parts.append(part)
        if len(parts) > 1 and copy is not None and not ahead:
            _store_parts(copy, parts)
        else:
            whole = parts[0] if len(parts) == 1 else _joined(at, parts, scalar)
            redirect(uses, at.shaped(whole, access.vector) if access.vector else whole)
        access.operation.erase()

    def _shifted(self, at: Builder, view: _View, access: _Access) -> ir.Value | None:
        """Emits a copy of a part of a row by words, where its pieces would be single elements.

        None stands for another read.
        """
        binding, count = binding_of(view.buffer), prod(access.vector)
        if binding is None or self.strided is not None or _copied_to(access.operation) is None:
            return None
        if not access.is_of_rows or count != access.vector[-1]:
            return None
        element, start = type_of(view.buffer).element_type, start_alignment(view.buffer)
        word = word_elements(self.shape, self.shape[-1], element, start)
        begin = view.indices(at, access.indices)
        if not word or count % word or self.bits.multiple(begin[-1:], [1]) % count:
            return None
        piece = self._guarded(at, view.buffer, begin, 1)
        steps = [f"d{dim} * {by}" for dim, by in enumerate(row_major_strides(self.shape))]
        place = at.apply(" + ".join(steps), *piece.indices)
        self.flat = self.flat or flat_binding(binding)
        rows = ShiftedRows(self.flat, word, self.shape[-1])
        may_end = self.bits.of(begin[-1]).upper > self.shape[-1] - count
        read = rows.read(at, place, begin[-1], count, may_end=may_end)
        if piece.there is None:
            return read
        return at.select(piece.there, read, at.constant(read.type, 0))

    def _gathered(self, at: Builder, view: _View, access: _Access) -> ir.Value | None:
        """Emits a copy of parts of an image by words, where these are fewer loads.

        None stands for another read.
        """
        strided, count = self.strided, prod(access.vector)
        if strided is None or not self.permutes or _copied_to(access.operation) is None:
            return None
        gather = strided.gather(view.buffer)
        if gather is None or not access.is_of_rows or count != access.vector[-1]:
            return None
        begin = view.indices(at, access.indices)
        width = gcd(count, gather.run, self.bits.multiple(begin[-1:], [1]))
        words = gather.words(width)
        multiple = gcd(gather.multiple, width * gather.step)
        if words is None:
            return None
        rows = ShiftedRows(view.buffer, words.elements, strided.elements)
        firsts = ([*begin[:-1], at.addi(begin[-1], at.index(n))] for n in range(0, count, width))
        pieces = [self._guarded(at, view.buffer, each, width) for each in firsts]
        element = type_of(view.buffer).element_type
        pairs: list[ir.Value] = []
        for piece in pieces:
            found = rows.pairs(at, piece.indices[0], width, gather.step, multiple)
            if piece.there is not None:
                zero = at.constant(found[0].type, 0)
                found = [at.select(piece.there, each, zero) for each in found]
            pairs += found
        return at.bitcast(at.from_elements(pairs, [len(pairs)]), [count], element)

    def _unaligned(self, at: Builder, view: _View, access: _Access) -> UnalignedRows | None:
        """Returns what reads each row of a vector at once, where its pieces would be narrower.

        None stands for a read of pieces.
        """
        binding = binding_of(view.buffer)
        if not self.unaligned or binding is None or self.strided is not None:
            return None
        if not access.is_of_rows or not self._is_enlarged(len(self.shape) - 1):
            return None
        count, row = access.vector[-1], self.shape[-1]
        if not is_read_unaligned(row, count, type_of(view.buffer).element_type):
            return None
        column = view.indices(at, access.indices)[-1]
        whole = self.bits.multiple([column], [1]) % count == 0
        return UnalignedRows(binding.results[0]) if whole else None

    def _load_unaligned(
        self, at: Builder, rows: UnalignedRows, piece: _Piece, *, ahead: bool
    ) -> ir.Value:
        may_end = self.bits.of(piece.indices[-1]).upper > self.shape[-1] - piece.elements
        return rows.read(at, piece.indices, piece.elements, may_end=may_end, ahead=ahead)

    def _write(self, view: _View, access: _Access, moved: ir.Value) -> None:
        """Replaces a write by writes that do not leave the buffer."""
        at = Builder.before(access.operation)
        pieces = list(self._pieces(at, view, access))
        flat = at.shaped(moved, [prod(access.vector)]) if access.vector else moved
        for number, piece in enumerate(pieces):
            part = flat
            if len(pieces) > 1:
                part = at.extract_slice(flat, number * piece.elements, piece.elements)
            store = _storing(part, view.buffer, piece)
            if piece.there is None:
                store(at)
            else:
                at.if_(piece.there, store)
        access.operation.erase()

    def _pieces(
        self, at: Builder, view: _View, access: _Access, *, whole: bool = False
    ) -> Iterator[_Piece]:
        """Emits the indices of the pieces of an access, in the order of the vector's elements.

        Args:
            whole: whether a piece is a row of the vector, of which the first element is inside.
        """
        width = access.vector[-1] if access.vector else 1
        begin = view.indices(at, access.indices)
        run = self._divisors()[-1] if self.strided is None else self._strided_run(access)
        if not access.is_of_rows:
            width = 1
        elif not whole and (run != self.shape[-1] or self._is_enlarged(len(self.shape) - 1)):
            width = gcd(width, run)
            if width > 1:
                width = gcd(width, self.bits.multiple(begin[-1:], [1]))
        outer = [range(size) for size in access.vector[:-1]]
        inner = range(0, access.vector[-1] if access.vector else 1, width)
        for *place, column in product(*outer, inner):
            indices = list(access.indices)
            moved = dict(zip(access.dims, [*place, column] if access.dims else (), strict=True))
            for dim, by in moved.items():
                indices[dim] = at.addi(indices[dim], at.index(by)) if by else indices[dim]
            root = view.indices(at, indices) if any(moved.values()) else begin
            reach = 1 if whole else width
            piece = self._guarded(at, view.buffer, root, reach if access.vector else 0)
            yield piece._replace(elements=width) if whole else piece

    def _strided_run(self, access: _Access) -> int:
        """Returns how many neighbours an access to a strided buffer may have.

        `cp.async` copies words past the registers, if they are aligned as they are wide.
        """
        assert self.strided is not None
        if access.moved is not None or _copied_to(access.operation) is None:
            return self.strided.run
        (vector,) = access.operation.results
        is_word = element_bits(ir.VectorType(vector.type).element_type) == _WORD
        return self.strided.aligned_run if is_word else self.strided.run

    def _is_enlarged(self, dim: int) -> bool:
        return dim in self.computed or self.shape[dim] != self.enlarged[dim]

    def _divisors(self) -> list[int]:
        """Returns a number that divides each size: the size itself where it is known."""
        return [
            size if size != DYNAMIC else self._known_divisor(dim)
            for dim, size in enumerate(self.shape)
        ]

    def _known_divisor(self, dim: int) -> int:
        return self.bits.multiple([self.computed[dim]], [1]) if dim in self.computed else 1

    def _guarded(
        self, at: Builder, buffer: ir.Value, indices: Sequence[ir.Value], elements: int
    ) -> _Piece:
        """Emits the indices of a piece that stay inside the buffer, and whether it lies there."""
        inside: list[ir.Value] = []
        clamped = list(indices)
        width = max(elements, 1)
        for dim, index in enumerate(indices):
            reach = width if dim == len(self.shape) - 1 else 1
            if not self._is_enlarged(dim):
                continue
            if dim in self.computed:
                last = at.subi(self.computed[dim], at.index(reach))
                inside.append(at.cmpi("sle", index, last))
                # Nothing is inside of a buffer without elements.
                clamped[dim] = at.minui(index, at.maxsi(last, at.index(0)))
            elif self.bits.of(index).upper > self.shape[dim] - reach:
                last = at.index(self.shape[dim] - reach)
                inside.append(at.cmpi("ule", index, last))
                clamped[dim] = at.minui(index, last)
        kind = type_of(buffer)
        bits = element_bits(kind.element_type)
        if bits is None or bits % 8:
            raise Refusal(f"its elements are {kind.element_type}")
        strides = row_major_strides(self._divisors())
        if self.strided is not None:
            clamped, strides = [self.strided.element(at, clamped)], (1,)
        size = bits // 8
        alignment = gcd(start_alignment(buffer), up_to_power_of_two(width * size))
        if size % alignment:
            # That of an element needs no index to be known.
            alignment = gcd(alignment, size * self.bits.multiple(clamped, strides))
        there = reduce(at.andi, inside) if inside else None
        return _Piece(tuple(clamped), elements, max(alignment, size), there)


class _Piece(NamedTuple):
    """Neighbouring elements of an access that lie inside the buffer or outside as a whole.

    Attributes:
        indices: of the first one, moved inside the buffer if it is not there.
        elements: how many there are; 0 for one that is no vector.
        alignment: bytes of which the address is a multiple.
        there: whether the piece lies inside; None where it always does.
    """

    indices: tuple[ir.Value, ...]
    elements: int
    alignment: int
    there: ir.Value | None


def _load(
    at: Builder,
    buffer: ir.Value,
    piece: _Piece,
    scalar: ir.Type,
    *,
    ahead: bool,
    in_parts: bool,
) -> ir.Value:
    """Emits the load of a piece.

    Args:
        ahead: whether it is to be known as one that may run a step ahead.
        in_parts: whether an address that is less aligned than the piece is wide needs several
            loads. LLVM would put together at once what they bring, and so wait for it in the
            iteration that loads (`tuning/overlap/load_ahead.py`).
    """
    if piece.elements == 0:
        return at.load_element(buffer, piece.indices)
    kind = at.vector_type([piece.elements], scalar)
    if ahead:
        return at.transfer_read(buffer, kind, piece.indices)
    width = piece.alignment * 8 // (element_bits(scalar) or 8)
    if not in_parts or width >= piece.elements:
        return at.load(kind, buffer, piece.indices, piece.alignment)
    *outer, first = piece.indices
    places = (at.addi(first, at.index(each)) for each in range(0, piece.elements, width))
    kind = at.vector_type([width], scalar)
    parts = [at.load(kind, buffer, [*outer, each], piece.alignment) for each in places]
    return _joined(at, parts, scalar)


def _storing(part: ir.Value, buffer: ir.Value, piece: _Piece) -> Callable[[Builder], None]:
    """Returns what emits the write of a piece."""

    def store(at: Builder) -> None:
        if piece.elements == 0:
            at.store_element(part, buffer, piece.indices)
        else:
            at.store(part, buffer, *piece.indices, alignment=piece.alignment)

    return store


def _copied_to(read: ir.Operation) -> ir.Operation | None:
    """Returns the write of a row to memory that alone uses what is read, if there is one."""
    uses = operands_with(read.results[0])
    if len(uses) != 1 or uses[0][0].name != TRANSFER_WRITE or uses[0][1] != 0:
        return None
    write = uses[0][0]
    if write.results or is_masked(write) or not is_in_bounds(write):
        return None
    _, _, indices, _ = segments_of(write)
    shape, dims = _shape(read.results[0]), transfer_dims(write)
    last = range(len(indices) - len(shape), len(indices))
    return write if dims == [*last] and prod(shape) == shape[-1] else None


def _store_parts(write: ir.Operation, parts: Sequence[ir.Value]) -> None:
    """Writes parts of a row one by one, so that each of them can be copied past the registers."""
    _, (memory,), (*outer, first), _ = segments_of(write)
    at = Builder.before(write)
    (count,) = ir.VectorType(parts[0].type).shape
    for number, part in enumerate(parts):
        at.store(part, memory, *outer, at.addi(first, at.index(number * count)))
    write.erase()


def _joined(at: Builder, parts: Sequence[ir.Value], scalar: ir.Type) -> ir.Value:
    """Emits the vector of rank 1 that has the elements of its parts, one behind the other."""
    (count,) = ir.VectorType(parts[0].type).shape
    length = count * len(parts)
    if count == 1 and element_bits(scalar) == _HALF_WORD and length % 2 == 0:
        return at.bitcast(_words(at, parts), [length], scalar)
    whole = at.constant(at.vector_type([length], scalar), 0)
    for number, part in enumerate(parts):
        whole = at.insert_slice(part, whole, number * count)
    return whole


def _words(at: Builder, halves: Sequence[ir.Value]) -> ir.Value:
    """Emits the vector of the words that pairs of elements of 16 bits make.

    LLVM's AMDGPU backend ends with "Cannot select" where it makes a vector of four of single bf16.
    """
    half = at.integer_type(_HALF_WORD)
    wide = [
        at.extui(at.extract(at.bitcast(each, [1], half), [0]), 2 * _HALF_WORD) for each in halves
    ]
    shift = at.constant(wide[0].type, _HALF_WORD)
    pairs = zip(wide[::2], wide[1::2], strict=True)
    words = [at.ori(low, at.shli(high, shift)) for low, high in pairs]
    return at.from_elements(words, [len(words)])
