# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes that are enlarged to whole tiles while a function is compiled.

IREE tiles an operation by matrix instructions where tiles divide its sizes. An attention of 1000
rows and heads of 100 therefore gets the shapes of one with 1024 rows and heads of 112: those of its
operands and results, of all that is computed elementwise from them or for them, and of the buffers
that they are loaded from and stored to. The function then means this:

    what is read beyond the end of a buffer is zero, and what is written there is dropped.

`bankwise-restore-shapes` gives the buffers their true shapes back, once tiles are spread over
lanes, and makes each access do exactly that. Until then a binding remembers its shape:

    %q = hal.interface.binding.subspan ... {bankwise.shape = array<i64: 8, 1000, 100>}
        : memref<8x1024x112xf16>

A size that the program computes is rounded up by the program, and the shape holds the negative of
what it is a multiple of then:

    %rounded = affine.apply affine_map<()[s0] -> ((s0 ceildiv 64) * 64)>()[%rows]
    %q = hal.interface.binding.subspan ... {bankwise.shape = array<i64: 8, -64, 100>}
        : memref<8x?x112xf16>{%rounded}

A view of a part of a buffer that is read becomes a binding of its own, which remembers where its
elements are (`strided_buffers.py`).

Zeros in the rows of K and V and in the columns of Q and K change no sum, as long as the scores of
rows of K beyond the end do not count; `bankwise-exclude-absent-keys` sees to that. So it matters
that what lies beyond an end is zero when it reaches the attention: an elementwise operation between
a buffer and Q, K or V must keep zeros.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from math import prod

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.handed_attributes import ENLARGED_BINDINGS, KEYS, SHAPE
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.indexing_maps import GENERIC, loops_of, summed_loops
from ...dialect_utils.memory.buffer_starts import BUFFER_CAST
from ...dialect_utils.memory.lds_ops import ASSUME_ALIGNMENT, EXPAND_SHAPE, SUBVIEW
from ...dialect_utils.memory.memref_types import (
    contiguous_type,
    is_contiguous,
    strides_and_offset,
    type_of,
)
from ...dialect_utils.operations import children, defining_operation, operations_in, value_behind
from ..costs.gathered_copies import Gather
from .strided_buffers import StridedBuffer

WHOLE_VIEWS = frozenset({ASSUME_ALIGNMENT, BUFFER_CAST, "memref.cast"})
"""Views of a whole buffer, with its shape."""
_PARTS = frozenset({SUBVIEW, EXPAND_SHAPE})
"""Views of parts of a buffer, or with another shape."""
SUBSPAN = "hal.interface.binding.subspan"
LOAD, STORE = "iree_codegen.load_from_buffer", "iree_codegen.store_to_buffer"
_YIELD = "linalg.yield"
_EMPTY, _SLICE = "tensor.empty", "tensor.extract_slice"
_CASTS = frozenset({"arith.extf", "arith.truncf", "arith.negf"})
_SUMS = frozenset({"arith.addf", "arith.subf"})
_NUMBER = "arith.constant"
UNDEFINED_FOR_ZEROS = ("arith.div", "arith.rem", "arith.ceildiv", "arith.floordiv")

Shape = tuple[int, ...]
"""The size of each dimension: `DYNAMIC` for one that the program computes."""


def computed_size(multiple: int) -> int:
    """Returns what stands in a shape for a computed size that is rounded up to a multiple."""
    return DYNAMIC if multiple == 1 else -multiple


def is_rounded(size: int) -> bool:
    """Returns whether a size of a shape is a computed one that is rounded up."""
    return DYNAMIC < size < 0


def unrounded(value: ir.Value, size: int, bits: IndexBits) -> ir.Value:
    """Returns the computed size that a value is, rounded up.

    Args:
        size: what `computed_size` gives for the multiple.

    Raises:
        Refusal: the value is something else.
    """
    definition = defining_operation(value)
    if definition is not None and definition.name == "affine.apply":
        computed = ir.AffineMapAttr(definition.attributes["map"])
        if computed.value == _rounding(-size, value.context):
            return definition.operands[0]
    if bits.multiple([value], [1]) % -size == 0:
        # The compiler has found out that there is nothing to round.
        return value
    raise Refusal(f"a size is not known to be a multiple of {-size}")


def _rounding(multiple: int, context: ir.Context) -> ir.AffineMap:
    with context:
        size = ir.AffineSymbolExpr.get(0)
        return ir.AffineMap.get(0, 1, [ir.AffineExpr.get_ceil_div(size, multiple) * multiple])


class EnlargedShapes(NamedTuple):
    """The shapes that values of a function get, those whose shape changes.

    Attributes:
        shapes: of tensors and of the buffers of bindings.
    """

    shapes: Mapping[ir.Value, Shape]

    def apply(self, function: ir.Operation) -> None:
        """Gives the values their shapes; bindings remember the true ones."""
        for value, shape in self.shapes.items():
            true, definition = ir.ShapedType(value.type).shape, defining_operation(value)
            if definition is not None and definition.name in _PARTS:
                _bind_part(value, shape)
                continue
            if definition is not None and definition.name in (SUBSPAN, _EMPTY):
                _round_up(definition, shape)
            if definition is not None and definition.name == _NUMBER:
                definition.attributes["value"] = _with_zeros(definition, shape)
            static = [DYNAMIC if is_rounded(each) else each for each in shape]
            value.set_type(with_shape(value.type, static))
            if definition is not None and definition.name == SUBSPAN:
                sizes = zip(true, shape, strict=True)
                kept = [new if is_rounded(new) else old for old, new in sizes]
                definition.attributes[SHAPE] = ir.DenseI64ArrayAttr.get(kept, function.context)
        _list_bindings(function)


def note_strided(function: ir.Operation, buffers: Mapping[ir.Operation, StridedBuffer]) -> None:
    """Gives bindings the shapes of the indices by which their elements are found."""
    for binding, buffer in buffers.items():
        shape = buffer.shape
        binding.results[0].set_type(with_shape(binding.results[0].type, shape))
        binding.attributes[SHAPE] = ir.DenseI64ArrayAttr.get(shape, function.context)
        buffer.note(binding)
    _list_bindings(function)


class _Part(NamedTuple):
    """A view of a part of a buffer that is read.

    Attributes:
        binding: the whole buffer.
        elements: how those of the view are found.
        cast: what the binding goes through on AMD GPUs, if it does.
    """

    binding: ir.Operation
    elements: StridedBuffer
    cast: ir.Operation | None

    @staticmethod
    def of(view: ir.Value) -> _Part:
        """Returns what a view is a part of.

        Raises:
            Refusal: it is written, or something about it is known to the program alone.
        """
        binding = defining_operation(view)
        cast: ir.Operation | None = None
        while binding is not None and binding.name in _PARTS | {ASSUME_ALIGNMENT, BUFFER_CAST}:
            cast = binding if binding.name == BUFFER_CAST else cast
            binding = defining_operation(binding.operands[0])
        is_read = all(each.name in WHOLE_VIEWS | {LOAD} for each in _users_of(view))
        strides, offset = strides_and_offset(type_of(view))
        sizes = tuple(type_of(view).shape)
        if binding is None or binding.name != SUBSPAN or strides is None or offset is None:
            raise Refusal(f"{view.type} is no part of a buffer that is known")
        _check_binding(binding.results[0])
        whole = tuple(type_of(binding).shape)
        if not is_read or DYNAMIC in (*sizes, *whole, *strides, offset):
            raise Refusal(f"{view.type} is written, or has sizes that are not known")
        dims = (((size, stride),) for size, stride in zip(sizes, strides, strict=True))
        return _Part(binding, StridedBuffer(tuple(dims), prod(whole), offset), cast)


def _bind_part(view: ir.Value, shape: Shape) -> None:
    """Replaces a view of a part of a buffer by a binding of its own, which gets a shape."""
    binding, elements, cast = _Part.of(view)
    kind = contiguous_type(type_of(binding), shape)
    part = Builder.after(binding).like(binding, list(binding.operands), [kind])
    part.attributes[SHAPE] = ir.DenseI64ArrayAttr.get(elements.shape, part.context)
    elements.note(part)
    whole = part
    if cast is not None:
        kind = contiguous_type(type_of(cast), shape)
        whole = Builder.after(part).like(cast, [part.results[0]], [kind])
    view.replace_all_uses_with(whole.results[0])


def _list_bindings(function: ir.Operation) -> None:
    """Lets a function remember which bindings have to get another shape again."""
    bindings = operations_in(function, SUBSPAN)
    keys = sorted({_key(each) for each in bindings if SHAPE in each.attributes})
    names = [ir.StringAttr.get(each, function.context) for each in keys]
    function.attributes[ENLARGED_BINDINGS] = ir.ArrayAttr.get(names, function.context)


def enlarged_shapes(
    operation: ir.Operation,
    maps: Sequence[Sequence[int]],
    extents: Mapping[int, int],
    masked: Collection[ir.Operation] = (),
) -> EnlargedShapes:
    """Returns the shapes that values have if the loops of an operation are longer.

    Args:
        maps: the loops of the dimensions of each operand.
        extents: how long each loop becomes, or its `computed_size`.
        masked: the reductions that will leave out what lies beyond the end.

    Raises:
        Refusal: something uses the tensors that cannot have other shapes.
    """
    found = _Shapes(operation, masked)
    results = maps[len(maps) - len(operation.results) :]
    for values, loops in ((operation.operands, maps), (operation.results, results)):
        for value, dims in zip(values, loops, strict=True):
            found.note(value, tuple(extents[loop] for loop in dims))
    while found.pending:
        value = found.pending.pop()
        for touching in (defining_operation(value), *(use.owner.operation for use in value.uses)):
            found.spread(touching, value)
    for value, loops in zip(operation.operands, maps, strict=True):
        asked = tuple(extents[loop] for loop in loops)
        if loops and found.shapes.get(value, tuple(ir.ShapedType(value.type).shape)) != asked:
            raise Refusal(f"{value.type} would need two shapes")
    return EnlargedShapes(found.shapes)


def check_zeros(value: ir.Value, enlarged: EnlargedShapes) -> None:
    """Makes sure that a tensor is zero beyond its true end.

    Raises:
        Refusal: it may be something else there.
    """
    definition = defining_operation(value)
    if value not in enlarged.shapes or (definition is not None and definition.name == LOAD):
        return
    if definition is None or definition.name != GENERIC:
        raise Refusal(f"{value.type} may be something else than zero beyond its end")
    longer = _changed_loops(definition, enlarged.shapes)
    zeros: set[ir.Value] = set()
    block = definition.regions[0].blocks[0]
    taken = zip(definition.operands, loops_of(definition), block.arguments, strict=True)
    # The last operands only tell the shapes of the results.
    for operand, dims, argument in list(taken)[: -len(definition.results)]:
        if longer <= {*dims}:
            check_zeros(operand, enlarged)
            zeros.add(argument)
    for each in children(definition):
        if each.name == _YIELD:
            if not zeros.issuperset(each.operands):
                raise Refusal("what is computed of zeros need not be zero", each.location)
        elif keeps_zeros(each, zeros):
            zeros.update(each.results)


def restored_bindings(
    function: ir.Operation,
) -> list[tuple[ir.Operation, Shape, StridedBuffer | None]]:
    """Returns the bindings of `function` that are enlarged, with their true shapes; forgets them.

    With them comes how their elements are found, where that is not by their own dimensions.

    Raises:
        Refusal: one that was enlarged is not found any more.
    """
    if ENLARGED_BINDINGS not in function.attributes:
        return []
    names = {
        ir.StringAttr(each).value for each in ir.ArrayAttr(function.attributes[ENLARGED_BINDINGS])
    }
    found: list[tuple[ir.Operation, Shape, StridedBuffer | None]] = []
    for binding in operations_in(function, SUBSPAN):
        if SHAPE in binding.attributes:
            shape = tuple(ir.DenseI64ArrayAttr(binding.attributes[SHAPE]))
            found.append((binding, shape, StridedBuffer.of(binding)))
        elif _key(binding) in names:
            raise Refusal("a binding has lost its true shape", binding.location)
    if {_key(binding) for binding, *_ in found} != names:
        raise Refusal("a binding that was enlarged is missing")
    for binding, _, strided in found:
        del binding.attributes[SHAPE]
        if strided is not None:
            StridedBuffer.forget(binding)
    del function.attributes[ENLARGED_BINDINGS]
    return found


def has_enlarged_bindings(function: ir.Operation) -> bool:
    """Returns whether shapes of `function` are enlarged."""
    return ENLARGED_BINDINGS in function.attributes


def note_keys(function: ir.Operation, keys: int, enlarged: int) -> None:
    """Notes that only the first `keys` of the rows of K are there; sizes are those of a shape."""
    if keys != enlarged:
        function.attributes[KEYS] = ir.DenseI64ArrayAttr.get([keys, enlarged], function.context)


def noted_keys(function: ir.Operation) -> tuple[int, int] | None:
    """Returns how many rows K has and how many it has got, if that was noted; forgets it."""
    if KEYS not in function.attributes:
        return None
    keys, enlarged = ir.DenseI64ArrayAttr(function.attributes[KEYS])
    del function.attributes[KEYS]
    return keys, enlarged


def true_row(tensor: ir.Value) -> int | None:
    """Returns the true size of the last dimension of an enlarged buffer that a tensor is part of.

    None stands for a tensor that is not known to lie in such a buffer; 1 for a size that the
    program computes, of which no more is known.
    """
    buffer = _buffer_of(tensor)
    binding = None if buffer is None else binding_of(buffer)
    return None if binding is None else _noted_row(binding)


def true_shape(tensor: ir.Value) -> Shape | None:
    """Returns the true shape of the enlarged buffer that a tensor is part of, if it is known."""
    buffer = _buffer_of(tensor)
    return None if buffer is None else true_shape_of_buffer(buffer)


def _buffer_of(tensor: ir.Value) -> ir.Value | None:
    """Returns the buffer that a tensor is loaded from, or a part of it."""
    load = defining_operation(value_behind(tensor, (_SLICE,)))
    return None if load is None or load.name != LOAD else load.operands[0]


def true_row_of_buffer(buffer: ir.Value) -> int | None:
    """Returns the true size of the last dimension of a whole buffer, enlarged or not.

    None stands for a buffer that is not known; 1 for a size that the program computes.
    """
    binding = binding_of(buffer)
    if binding is None or StridedBuffer.of(binding) is not None:
        return None
    return _noted_row(binding) or max(ir.MemRefType(binding.results[0].type).shape[-1], 1)


def remembers_shape(buffer: ir.Value) -> bool:
    """Returns whether a whole buffer has another true shape than it has now."""
    binding = binding_of(buffer)
    return binding is not None and SHAPE in binding.attributes


def binding_of(buffer: ir.Value) -> ir.Operation | None:
    """Returns the binding that a value is all of."""
    binding = defining_operation(value_behind(buffer, WHOLE_VIEWS))
    return binding if binding is not None and binding.name == SUBSPAN else None


def gathered(value: ir.Value) -> Gather | None:
    """Returns how the elements of a tensor, or of a part of it, are copied to the LDS if other
    loops index its buffer and they do not lie there as `cp.async` copies them."""
    buffer = _buffer_of(value)
    binding = None if buffer is None else binding_of(buffer)
    strided = None if binding is None else StridedBuffer.of(binding)
    return None if binding is None or strided is None else strided.gather(binding.results[0])


def flat_binding(binding: ir.Operation) -> ir.Value:
    """Returns a static binding once more, with one dimension."""
    kind = ir.MemRefType(binding.results[0].type)
    kind = contiguous_type(kind, [prod(kind.shape)])
    return Builder.after(binding).like(binding, list(binding.operands), [kind]).results[0]


def flat_buffer(buffer: ir.Value) -> ir.Value:
    """Returns a static buffer that is a whole binding once more, with one dimension.

    On AMD GPUs accesses go through a descriptor of the buffer, which is made once more, too.
    """
    binding = binding_of(buffer)
    assert binding is not None
    flat = flat_binding(binding)
    cast = defining_operation(value_behind(buffer, WHOLE_VIEWS - {BUFFER_CAST}))
    if cast is None or cast.name != BUFFER_CAST:
        return flat
    kind = ir.MemRefType(cast.results[0].type)
    kind = contiguous_type(kind, [prod(kind.shape)])
    return Builder.behind(flat).like(cast, [flat], [kind]).results[0]


def true_shape_of_buffer(buffer: ir.Value) -> Shape | None:
    """Returns the true shape of a whole buffer that is enlarged, and whose sizes are known."""
    binding = binding_of(buffer)
    if binding is None or SHAPE not in binding.attributes or StridedBuffer.of(binding) is not None:
        return None
    shape = tuple(ir.DenseI64ArrayAttr(binding.attributes[SHAPE]))
    return None if any(is_rounded(each) or each == DYNAMIC for each in shape) else shape


def _noted_row(binding: ir.Operation) -> int | None:
    """Returns the last of the true sizes that an enlarged binding remembers."""
    if SHAPE not in binding.attributes:
        return None
    return max(list(ir.DenseI64ArrayAttr(binding.attributes[SHAPE]))[-1], 1)


@dataclass(eq=False)
class _Shapes:
    """Finds out which values get which shape.

    Attributes:
        root: the operation that asks for the shapes.
        pending: the values with another shape whose definitions and uses were not looked at yet.
    """

    root: ir.Operation
    masked: Collection[ir.Operation] = ()
    shapes: dict[ir.Value, Shape] = field(default_factory=dict)
    pending: list[ir.Value] = field(default_factory=list)

    def note(self, value: ir.Value, shape: Shape) -> None:
        """Notes the shape that something asks for; scalars have none.

        Raises:
            Refusal: something else asks for another one, or the value has one that is not known.
        """
        if not isinstance(value.type, ir.RankedTensorType | ir.MemRefType):
            return
        old = tuple(ir.ShapedType(value.type).shape)
        known = self.shapes.get(value, old)
        if shape not in (known, old) and known != old:
            raise Refusal(f"{value.type} would need two shapes")
        if known == old and shape != old:
            self.pending.append(value)
            self.shapes[value] = shape

    def spread(self, touching: ir.Operation | None, value: ir.Value) -> None:
        """Notes the shapes that follow for an operation which defines or uses a value.

        Raises:
            Refusal: it is not understood.
        """
        if touching is None:
            raise Refusal(f"{value.type} is no buffer's, and cannot have another size")
        if touching == self.root:
            return
        if touching.name in (LOAD, STORE, "linalg.fill") or touching.name in WHOLE_VIEWS:
            for each in (*touching.operands, *touching.results):
                self.note(each, self.shapes[value])
        elif touching.name == GENERIC:
            self._spread_generic(touching)
        elif touching.name == SUBSPAN:
            _check_binding(value)
        elif touching.name in _PARTS and value in touching.results:
            _Part.of(value)
        elif touching.name == _NUMBER:
            _check_constant(touching, self.shapes[value])
        elif touching.name != _EMPTY:
            raise Refusal(f"{touching.name} uses what would be enlarged", touching.location)

    def _spread_generic(self, generic: ir.Operation) -> None:
        """Notes the shapes of what a `linalg.generic` takes and makes, whose loops get longer."""
        check_elementwise(generic, is_masked=generic in self.masked)
        values = [*generic.operands, *generic.results]
        maps = loops_of(generic)
        maps = (*maps, *maps[len(maps) - len(generic.results) :])
        extents: dict[int, int] = {}
        for value, dims in zip(values, maps, strict=True):
            if dims:
                old = tuple(ir.ShapedType(value.type).shape)
                for loop, size, new in zip(dims, old, self.shapes.get(value, old), strict=True):
                    if new != size or loop not in extents:
                        extents[loop] = new
        for value, dims in zip(values, maps, strict=True):
            self.note(value, tuple(extents[loop] for loop in dims))


def _check_binding(buffer: ir.Value) -> None:
    if not is_contiguous(ir.MemRefType(buffer.type)):
        raise Refusal(f"{buffer.type} is no buffer without gaps")
    names = {each.name for each in _users_of(buffer)}
    if LOAD in names and STORE in names:
        raise Refusal("a buffer is both read and written")


def _check_constant(constant: ir.Operation, shape: Shape) -> None:
    """Makes sure that zeros can be added to the numbers of a tensor.

    Raises:
        Refusal: they are stored elsewhere, or a size is not known.
    """
    numbers = constant.attributes["value"]
    element = ir.ShapedType(constant.results[0].type).element_type
    is_float = isinstance(element, ir.F16Type | ir.F32Type)
    is_here = is_float and isinstance(numbers, ir.DenseElementsAttr)
    if not is_here or min(shape, default=1) < 0:
        raise Refusal(f"{numbers.type} is a constant that cannot become longer", constant.location)


def _with_zeros(constant: ir.Operation, shape: Shape) -> ir.Attribute:
    """Returns the numbers of a constant with zeros behind them; a splat is one everywhere."""
    numbers = ir.DenseElementsAttr(constant.attributes["value"])
    kind = with_shape(numbers.type, shape)
    if numbers.is_splat:
        return ir.DenseElementsAttr.get_splat(kind, numbers.get_splat_value())
    known = np.array(numbers)
    longer = np.zeros(shape, known.dtype)
    longer[tuple(slice(size) for size in known.shape)] = known
    return ir.DenseElementsAttr.get(longer, type=kind.element_type, context=kind.context)


def _users_of(buffer: ir.Value) -> Iterator[ir.Operation]:
    """Yields the users of a whole buffer."""
    for use in buffer.uses:
        user = use.owner.operation
        yield user
        if user.name in WHOLE_VIEWS:
            yield from _users_of(user.results[0])


def check_elementwise(generic: ir.Operation, *, is_masked: bool = False) -> None:
    """Makes sure that a `linalg.generic` may compute more elements than it did.

    Raises:
        Refusal: it reduces, reads memory, or need not be defined for all numbers.
    """
    if summed_loops(generic) and not is_masked:
        raise Refusal("a reduction uses what would be enlarged", generic.location)
    for each in children(generic):
        is_arithmetic = each.name.startswith(("arith.", "math."))
        if each.name.startswith(UNDEFINED_FOR_ZEROS) and each.name != "arith.divf":
            raise Refusal(f"{each.name} is not defined for zeros", each.location)
        if not is_arithmetic and each.name not in (_YIELD, "linalg.index"):
            raise Refusal(f"{each.name} uses what would be enlarged", each.location)


def _changed_loops(generic: ir.Operation, shapes: Mapping[ir.Value, Shape]) -> set[int]:
    """Returns the loops of a `linalg.generic` that become longer."""
    changed: set[int] = set()
    for operand, dims in zip(generic.operands, loops_of(generic), strict=True):
        if operand in shapes:
            sizes = zip(dims, ir.ShapedType(operand.type).shape, shapes[operand], strict=True)
            changed.update(loop for loop, old, new in sizes if old != new)
    return changed


def keeps_zeros(operation: ir.Operation, zeros: set[ir.Value]) -> bool:
    """Returns whether an operation makes zero of operands that are zero."""
    known = [operand in zeros for operand in operation.operands]
    if operation.name in _CASTS or operation.name in _SUMS:
        return all(known)
    if operation.name != "arith.mulf":
        return False
    pairs = zip(operation.operands, known, strict=True)
    return any(known) and all(is_zero or _is_finite(each) for each, is_zero in pairs)


def _is_finite(value: ir.Value) -> bool:
    """Returns whether a value is a constant number other than an infinity or NaN."""
    definition = defining_operation(value)
    if definition is None or definition.name != _NUMBER:
        return False
    number = definition.attributes["value"]
    return isinstance(number, ir.FloatAttr) and math.isfinite(number.value)


def _round_up(operation: ir.Operation, shape: Shape) -> None:
    """Rounds the computed sizes up that an operation takes for the shape of its result."""
    dims = [d for d, each in enumerate(operation.results[0].type.shape) if each == DYNAMIC]
    first = len(operation.operands) - len(dims)
    for number, dim in enumerate(dims, first):
        if is_rounded(shape[dim]):
            at = Builder.before(operation)
            rounding = _rounding(-shape[dim], operation.context)
            operation.operands[number] = at.apply(rounding, operation.operands[number])


def with_shape(kind: ir.Type, shape: Sequence[int]) -> ir.Type:
    """Returns the type of a tensor or of a contiguous buffer with another shape."""
    if isinstance(kind, ir.RankedTensorType):
        with kind.context, ir.Location.unknown():
            return ir.RankedTensorType.get(list(shape), kind.element_type, kind.encoding)
    return contiguous_type(ir.MemRefType(kind), shape)


def _key(binding: ir.Operation) -> str:
    """Returns what tells an enlarged binding from others: its number and its type."""
    return f"{binding.attributes['binding']} {binding.results[0].type}"
