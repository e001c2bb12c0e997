# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a contraction over many loops becomes a matmul: groups of loops are joined.

IREE keeps the loops over the height and the width of a convolution's output, and tiles each of
them. Here one loop is made of all loops over rows, one of those over columns, and one of those over
summed elements: n, h and w of 8, 14 and 14 become 1568 rows. The tensors get the shapes that these
loops have, and bindings remember how their elements are found (`tuning/shapes/strided_buffers.py`).
Elementwise operations behind the result get the same loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from math import prod

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.index.loop_sums import LoopSum, loop_lengths, loop_sums
from ...dialect_utils.indexing_maps import (
    GENERIC,
    ITERATORS,
    index_by_loops,
    maps_of,
    set_maps,
    summed_loops,
)
from ...dialect_utils.lowering_config import (
    CONFIG,
    MMA_KIND,
    PROMOTED,
    REDUCTION,
    WORKGROUP,
    LoweringConfig,
)
from ...dialect_utils.memory.lds_ops import COLLAPSE_SHAPE, EXPAND_SHAPE, SUBVIEW
from ...dialect_utils.memory.memref_types import static_strides, type_of
from ...dialect_utils.operations import children, defining_operation, mixed_operands
from ..matmuls.matmul_tiles import (
    ADDED_LATER,
    PADDING,
    SUBGROUP,
    generic_root,
    has_matrix_instruction,
)
from ..matmuls.stock_sums import SummedLoop
from ..shapes.enlarged_shapes import (
    LOAD,
    STORE,
    SUBSPAN,
    WHOLE_VIEWS,
    note_strided,
    with_shape,
)
from ..shapes.strided_buffers import StridedBuffer, joined_digits

PADDING_CONV = "padding_conv"
_FILL, _EMPTY, _INDEX = "linalg.fill", "tensor.empty", "linalg.index"
_NUMBERS = "arith.constant"
_VIEWS = WHOLE_VIEWS | {SUBVIEW, EXPAND_SHAPE, COLLAPSE_SHAPE}
_A, _B, _C = range(3)
_PARTS = (1, 2, 4, 8)
"""Into how many parts sums may be split."""
Sums = tuple[LoopSum, ...]
"""What indexes the dimensions of a tensor."""
_Ordering = Callable[[set[int], Sequence[Sums], Sequence[int]], tuple[int, ...]]
"""Returns the loops over summed elements in the order in which they are summed."""


class Contraction(NamedTuple):
    """A sum of products over any loops.

    Attributes:
        sums: what indexes its operands.
        extents: how long each loop is.
        groups: the loops that become one: those of the batch, if there are any, of the rows, of the
            columns, and of the summed elements, each from the outermost to the innermost.
        left: the number of the operand that has the rows.
        results: the loops that index each dimension of the result, and of what is computed from it
            elementwise.
    """

    operation: ir.Operation
    sums: tuple[Sums, ...]
    extents: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    left: int
    results: Mapping[ir.Value, tuple[int, ...]]

    @property
    def is_plain(self) -> bool:
        """Returns whether each group is one loop already, and each dimension is one."""
        single = all(each.loop is not None for sums in self.sums for each in sums)
        return single and all(len(each) == 1 for each in self.groups)

    @property
    def is_in_order(self) -> bool:
        """Returns whether loops are numbered as those of groups are, and rows come first."""
        return self.left == _A and [loop for group in self.groups for loop in group] == [
            *range(len(self.extents))
        ]

    @property
    def possible_parts(self) -> list[int]:
        """Returns into how many parts of one length its sums can be split."""
        return [each for each in _PARTS if self.extents[self._parted] % each == 0]

    @property
    def _parted(self) -> int:
        """Returns the loop over summed elements that is split into parts: the longest one."""
        return max(self.groups[-1], key=lambda loop: self.extents[loop])

    def in_parts(self, parts: int) -> Contraction:
        """Returns the contraction with a loop over parts of its sums before that over each part.

        Args:
            parts: one of `possible_parts`.
        """
        if parts == 1:
            return self
        parted, new = self._parted, len(self.extents)
        divided = self._divided(parted, self.extents[parted] // parts)
        groups = (*self.groups[:-1], (new,), self.groups[-1])
        return divided._replace(groups=groups)

    def in_order(self, loops: Sequence[SummedLoop]) -> Contraction:
        """Returns the contraction with its summed elements in an order of loops and their parts.

        Args:
            loops: the outermost first. Of two that are one loop, the first one is over parts of it.
        """
        made, names = self, list[int]()
        for loop, size in loops:
            name = loop
            if size < made.extents[loop]:
                name = len(made.extents)
                made = made._divided(loop, made.extents[loop] // size)
            names.append(name)
        single = (each for each in self.groups[-1] if self.extents[each] == 1)
        names += [each for each in single if each not in names]
        return made._replace(groups=(*self.groups[:-1], tuple(names)))

    def _divided(self, loop: int, length: int) -> Contraction:
        """Returns the contraction with one more loop, over parts of a loop, in no group yet.

        Args:
            length: that of a part.
        """
        extents = [*self.extents, self.extents[loop] // length]
        extents[loop] = length
        new = len(self.extents)
        sums = tuple(
            tuple(
                each._replace(factors={**each.factors, new: each.factors[loop] * length})
                if loop in each.factors
                else each
                for each in dims
            )
            for dims in self.sums
        )
        return self._replace(sums=sums, extents=tuple(extents))

    @property
    def results_groups(self) -> tuple[int, ...]:
        """Returns the numbers of the groups that index the result."""
        return tuple(
            number
            for number, group in enumerate(self.groups)
            if all(loop in self.results[self.operation.results[0]] for loop in group)
        )

    def extent(self, group: Sequence[int]) -> int:
        """Returns how long the loop of a group is."""
        return prod(self.extents[loop] for loop in group)


class NoMatricesError(Refusal):
    """The refusal of a sum of products that has no rows, no columns, or sums over nothing."""


def configured_contraction(function: ir.Operation) -> Contraction | None:
    """Returns the contraction by matrix instructions that decides on the workgroups of `function`.

    None stands for a function without one.

    Raises:
        Refusal: it is not understood.
    """
    operation = generic_root(function)
    if operation is None or not has_matrix_instruction(operation):
        return None
    config = LoweringConfig.of(operation.attributes[CONFIG])
    usual = (MMA_KIND, PROMOTED, REDUCTION, SUBGROUP, WORKGROUP)
    config.only(usual, (ADDED_LATER, PADDING, PADDING_CONV))
    if config.numbers(PROMOTED) != (_A, _B):
        raise Refusal("not its two operands are staged in the LDS")
    return _contraction(operation, partial(_kept_order, config))


def scalar_contraction(operation: ir.Operation) -> Contraction:
    """Returns a contraction that multiplies without matrix instructions.

    Its summed elements get the order that they have in memory, whatever IREE does.

    Raises:
        NoMatricesError: it multiplies no matrices, as depthwise convolutions do not.
        Refusal: it is not understood.
    """
    return _contraction(operation, _order_in_memory)


def _contraction(operation: ir.Operation, ordered: _Ordering) -> Contraction:
    """Returns a contraction.

    Args:
        ordered: returns the summed loops in their order.

    Raises:
        Refusal: it is not understood.
    """
    sums = loop_sums(operation)
    extents = _extents(operation, sums)
    a, b, c = ({loop for each in sums[n] for loop in each.factors} for n in (_A, _B, _C))
    if a | b | c != {*range(len(extents))} or (a ^ b) - c:
        raise Refusal("not all of its loops are known")
    order = [each.loop for each in sums[_C]]
    of_result = tuple(loop for loop in order if loop is not None)
    if len(of_result) != len(order) or c - (a | b):
        raise Refusal("its result is indexed by more than loops")
    results = _results(operation, of_result)
    # What a lane has of a row of the result should be neighbours in memory.
    stored = [loops for value, loops in results.items() if _is_stored(value)]
    neighbours = {*(stored or [of_result])[0][-1:]}
    left = _B if neighbours & (a - b) else _A
    rows, columns = (a - b, b - a) if left == _A else (b - a, a - b)
    parts = (a & b & c, rows, columns)
    parallel = [tuple(loop for loop in of_result if loop in part) for part in parts]
    summed = ordered(a & b - c, sums, extents)
    if not parallel[1] or not parallel[2] or not summed:
        raise NoMatricesError("it multiplies no matrices")
    groups = (*([parallel[0]] if parallel[0] else []), *parallel[1:], summed)
    return Contraction(operation, sums, extents, groups, left, results)


def _results(operation: ir.Operation, loops: tuple[int, ...]) -> dict[ir.Value, tuple[int, ...]]:
    """Returns the loops that index the result of a contraction and what is computed from it.

    Args:
        loops: those that index the result.

    Raises:
        Refusal: something else than elementwise operations and stores uses a result.
    """
    found = {operation.results[0]: loops}
    pending = [operation.results[0]]
    while pending:
        value = pending.pop()
        for use in value.uses:
            user = use.owner.operation
            if user.name == STORE or set(user.results) & found.keys():
                continue
            _check_elementwise(user)
            sums = loop_sums(user)
            names = _names(sums[use.operand_number], found[value])
            outputs = sums[len(sums) - len(user.results) :]
            for result, dims in zip(user.results, outputs, strict=True):
                order = [each.of_others(names).loop for each in dims]
                found[result] = tuple(loop for loop in order if loop is not None)
                if {*found[result]} != {*loops} or len(order) != len(loops):
                    raise Refusal("a result has other loops", user.location)
                pending.append(result)
    return found


def _is_stored(value: ir.Value) -> bool:
    return any(use.owner.operation.name == STORE for use in value.uses)


def _extents(operation: ir.Operation, sums: Sequence[Sums]) -> tuple[int, ...]:
    """Returns how long each loop is.

    Raises:
        Refusal: that is not known.
    """
    if any(DYNAMIC in ir.ShapedType(each.type).shape for each in operation.operands):
        raise Refusal("its sizes are not all known")
    found = loop_lengths(operation, sums)
    if {*found} != {*range(len(found))}:
        raise Refusal("the length of a loop is not known")
    return tuple(found[loop] for loop in range(len(found)))


def _order_in_memory(
    loops: set[int], sums: Sequence[Sums], extents: Sequence[int]
) -> tuple[int, ...]:
    """Returns the loops over summed elements in the order of an operand that they index alone.

    That is the filter of a convolution.
    """
    plain = [n for n in (_A, _B) if all(each.loop is not None for each in sums[n])]
    if not plain:
        return tuple(sorted(loops))
    return tuple(each.loop for each in sums[plain[-1]] if each.loop in loops)


def _kept_order(
    config: LoweringConfig, loops: set[int], sums: Sequence[Sums], extents: Sequence[int]
) -> tuple[int, ...]:
    """Returns the loops over summed elements in the order in which IREE sums.

    Raises:
        Refusal: that is not the order of one loop.
    """
    if len(loops) == 1:
        return tuple(loops)
    steps = config.numbers(REDUCTION)
    if len(steps) == len(extents):
        # Each loop has a step of its own, and the last one is in the instruction.
        order = tuple(sorted(loops))
        _, _, instruction = config.instruction
        if any(steps[loop] != 1 for loop in order[:-1]) or extents[order[-1]] % instruction:
            raise Refusal("its summed elements are no single loop")
        return order
    padding = config.numbers(PADDING_CONV)
    if any(padding[loop] and extents[loop] % padding[loop] for loop in loops if padding):
        raise Refusal("a loop over its summed elements is padded")
    if sum(each != 0 for each in steps) != 1:
        raise Refusal("its summed elements are several loops to IREE, too")
    # `iree_linalg_ext.im2col` makes one loop of them, in the order of the filter.
    filters = [n for n in (_A, _B) if all(each.loop is not None for each in sums[n])]
    places = [each.loop in loops for each in sums[filters[0]]] if len(filters) == 1 else []
    first = places.index(True) if True in places else 0
    if not places or not all(places[first : first + len(loops)]):
        raise Refusal("the order of its summed elements is not known")
    dims = sums[filters[0]][first : first + len(loops)]
    return tuple(each.loop for each in dims if each.loop is not None)


@dataclass(eq=False)
class JoinedLoops:
    """What becomes of the values and operations of a function when groups of loops become one.

    Attributes:
        shapes: the new shapes of tensors.
        maps: the numbers of the groups that index each operand of an operation from now on.
        buffers: the bindings whose elements are found otherwise.
        memory: for each load and store the number of the operand that is a buffer, and the binding.
    """

    contraction: Contraction
    shapes: dict[ir.Value, tuple[int, ...]] = field(default_factory=dict)
    maps: dict[ir.Operation, list[tuple[int, ...]]] = field(default_factory=dict)
    buffers: dict[ir.Operation, StridedBuffer] = field(default_factory=dict)
    memory: dict[ir.Operation, tuple[int, ir.Operation]] = field(default_factory=dict)

    def plan(self) -> None:
        """Finds out what becomes of everything.

        Raises:
            Refusal: something is not understood.
        """
        contraction, root = self.contraction, self.contraction.operation
        operands = [self._operand(n) for n in (_A, _B)]
        result = contraction.results_groups
        self.maps[root] = [*operands, result]
        self._started(root.operands[_C])
        for value in contraction.results:
            self.shapes[value] = self._shape(result)
            for use in value.uses:
                user = use.owner.operation
                if user.name == STORE:
                    self._stored(user, value, result)
                elif user not in self.maps:
                    self._elementwise(user, value, result)
        self._check_uses()

    def _shape(self, groups: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.contraction.extent(self.contraction.groups[each]) for each in groups)

    def _operand(self, number: int) -> tuple[int, ...]:
        """Plans an operand of the contraction; returns the groups that index it."""
        contraction = self.contraction
        kind = ir.ShapedType(contraction.operation.operands[number].type).element_type
        if not isinstance(kind, ir.FloatType):
            raise Refusal(f"it multiplies {kind}")
        *batch, rows, columns = contraction.results_groups
        summed = range(columns + 1, len(contraction.groups))
        own = rows if number == contraction.left else columns
        value, sums = contraction.operation.operands[number], contraction.sums[number]
        orders = [(*batch, own, *summed), (*batch, *summed, own)]
        load, binding = self._loaded(value)
        made = [self._strided(load.operands[0], sums, order) for order in orders]
        size = (element_bits(kind) or 8) // 8
        best = min(range(2), key=lambda each: made[each].sectors(len(orders[each]) - 1, size))
        self._bind(load, 0, binding, made[best])
        self.shapes[value] = made[best].shape
        return orders[best]

    def _loaded(self, value: ir.Value) -> tuple[ir.Operation, ir.Operation]:
        """Returns the load that a tensor is, and the binding that it loads.

        Raises:
            Refusal: the tensor is something else.
        """
        load = defining_operation(value)
        if load is None or load.name != LOAD:
            raise Refusal(f"{value.type} is not loaded from a buffer")
        return load, _binding_of(load.operands[0])

    def _strided(self, buffer: ir.Value, sums: Sums, groups: Sequence[int]) -> StridedBuffer:
        """Returns how the elements of a buffer are found by the indices of groups.

        Args:
            sums: what indexes the dimensions of the buffer.
        """
        binding, offset = _binding_of(buffer), _start_in_binding(buffer)
        strides = _known_strides(buffer)
        by_loop = dict.fromkeys(range(len(self.contraction.extents)), 0)
        for each, stride in zip(sums, strides, strict=True):
            offset += each.constant * stride
            for loop, factor in each.factors.items():
                by_loop[loop] += factor * stride
        if any(each < 0 for each in (offset, *by_loop.values())):
            raise Refusal("a buffer is read backwards")
        dims = [
            joined_digits([(self.contraction.extents[loop], by_loop[loop]) for loop in loops])
            for loops in (self.contraction.groups[each] for each in groups)
        ]
        return StridedBuffer(tuple(dims), prod(type_of(binding).shape), offset)

    def _bind(
        self, user: ir.Operation, number: int, binding: ir.Operation, buffer: StridedBuffer
    ) -> None:
        """Plans how the elements of a binding are found, which a load or store alone uses."""
        self.buffers[binding] = buffer
        self.memory[user] = (number, binding)

    def _started(self, value: ir.Value) -> None:
        """Plans the tensor that sums begin with, which is one number everywhere."""
        fill = defining_operation(value)
        if fill is None or fill.name != _FILL:
            raise Refusal("it adds to another tensor")
        self.shapes[value] = self._shape(self.contraction.results_groups)
        self._empty(fill.operands[-1])

    def _empty(self, value: ir.Value) -> None:
        definition = defining_operation(value)
        if definition is None or definition.name != _EMPTY:
            raise Refusal(f"{value.type} is written over")
        self.shapes[value] = self._shape(self.contraction.results_groups)

    def _stored(self, store: ir.Operation, value: ir.Value, result: Sequence[int]) -> None:
        binding = _binding_of(store.operands[1])
        sums = tuple(LoopSum({loop: 1}) for loop in self.contraction.results[value])
        buffer = self._strided(store.operands[1], sums, result)
        self._bind(store, 1, binding, buffer)

    def _elementwise(self, generic: ir.Operation, value: ir.Value, result: tuple[int, ...]) -> None:
        """Plans an elementwise operation on a value."""
        results, operands = self.contraction.results, list(generic.operands)
        sums = loop_sums(generic)
        names = _names(sums[operands.index(value)], results[value])
        inputs = len(operands) - len(generic.results)
        self.maps[generic] = []
        for number, (operand, dims) in enumerate(zip(operands, sums, strict=True)):
            renamed = tuple(each.of_others(names) for each in dims)
            if operand in results and results[operand] != tuple(each.loop for each in renamed):
                raise Refusal("a result is read in two orders", generic.location)
            if number >= inputs:
                self._empty(operand)
            if number >= inputs or operand in results:
                self.maps[generic].append(result)
            else:
                self.maps[generic].append(self._read(operand, renamed, result))

    def _read(self, value: ir.Value, sums: Sums, result: Sequence[int]) -> tuple[int, ...]:
        """Plans a tensor that is read beside the result; returns the groups that index it."""
        if not isinstance(value.type, ir.RankedTensorType):
            return ()
        loops = {loop for each in sums for loop in each.factors}
        groups = tuple(each for each in result if loops.intersection(self.contraction.groups[each]))
        if value in self.shapes:
            raise Refusal(f"{value.type} is read in two ways")
        if not groups and sums:
            raise Refusal(f"{value.type} is indexed by constants")
        if self._is_kept(value, sums, groups):
            return groups
        load, binding = self._loaded(value)
        if groups:
            buffer = self._strided(load.operands[0], sums, groups)
            self._bind(load, 0, binding, buffer)
            self.shapes[value] = buffer.shape
        return groups

    def _is_kept(self, value: ir.Value, sums: Sums, groups: Sequence[int]) -> bool:
        """Returns whether a tensor of constants is indexed by groups as it is."""
        definition = defining_operation(value)
        if definition is None or definition.name != _NUMBERS:
            return False
        indexed = [self.contraction.groups[each] for each in groups]
        return indexed == [(each.loop,) for each in sums]

    def _check_uses(self) -> None:
        """Makes sure that nothing else uses what gets another shape.

        Raises:
            Refusal: something does.
        """
        known = {*self.maps, *self.memory}
        for value in self.shapes:
            definition, uses = defining_operation(value), list(value.uses)
            assert definition is not None
            if definition.name == LOAD and len(uses) != 1:
                raise Refusal(f"{value.type} is read in two ways")
            for use in uses:
                user = use.owner.operation
                is_start = user.name == _FILL and user.results[0] in self.shapes
                if user not in known and not is_start:
                    raise Refusal(f"{user.name} uses it too", user.location)

    def apply(self, function: ir.Operation) -> None:
        """Gives everything its new shape."""
        for value, shape in self.shapes.items():
            value.set_type(with_shape(value.type, shape))
        for user, (number, binding) in self.memory.items():
            view = user.operands[number]
            user.operands[number] = binding.results[0]
            _erase_unused(view)
        note_strided(function, self.buffers)
        groups, results = len(self.contraction.groups), len(self.contraction.results_groups)
        for generic, operands in self.maps.items():
            if generic == self.contraction.operation:
                _set_loops(generic, groups, groups - results, operands)
            else:
                _set_loops(generic, results, 0, operands)
        self._order_operands()

    def _order_operands(self) -> None:
        """Lets the operand with the rows come first."""
        contraction, operation = self.contraction, self.contraction.operation
        if contraction.left == _B:
            # A product of two numbers has the same bits whichever comes first.
            first, second = operation.operands[_A], operation.operands[_B]
            operation.operands[_A], operation.operands[_B] = second, first
            maps = maps_of(operation)
            set_maps(operation, (maps[_B], maps[_A], maps[_C]))


def _binding_of(buffer: ir.Value) -> ir.Operation:
    """Returns the binding that a buffer is a part of, which nothing else uses.

    Raises:
        Refusal: there is none, or something else does.
    """
    while True:
        definition = defining_operation(buffer)
        if definition is None or len(list(buffer.uses)) != 1:
            raise Refusal("a buffer is used in two ways")
        if definition.name == SUBSPAN:
            if not type_of(buffer).has_static_shape:
                raise Refusal(f"the size of {buffer.type} is not known")
            return definition
        if definition.name not in _VIEWS:
            raise Refusal(f"{definition.name} makes a buffer")
        buffer = definition.operands[0]


def _start_in_binding(buffer: ir.Value) -> int:
    """Returns how many elements behind the start of its binding a view of it starts.

    Where the binding starts may be known at run time only, and does not matter.

    Raises:
        Refusal: that is not known.
    """
    start = 0
    while (view := defining_operation(buffer)) is not None and view.name in _VIEWS:
        buffer = view.operands[0]
        if view.name == SUBVIEW:
            offsets = mixed_operands(view, "static_offsets", 1)
            for offset, stride in zip(offsets, _known_strides(buffer), strict=True):
                if not isinstance(offset, int):
                    raise Refusal(f"where {view.results[0].type} lies is not known")
                start += offset * stride
    return start


def _known_strides(buffer: ir.Value) -> tuple[int, ...]:
    """Returns the strides of a buffer in elements; raises Refusal where they are not known."""
    strides = static_strides(type_of(buffer))
    if strides is None:
        raise Refusal(f"where the elements of {buffer.type} lie is not known")
    return strides


def _check_elementwise(operation: ir.Operation) -> None:
    """Makes sure that an operation computes each element by itself, wherever it lies.

    Raises:
        Refusal: it does not.
    """
    if operation.name != GENERIC:
        raise Refusal(f"{operation.name} uses its result", operation.location)
    if summed_loops(operation):
        raise Refusal("a reduction uses its result", operation.location)
    if any(each.name == _INDEX for each in children(operation)):
        raise Refusal("what is computed of its result depends on the place", operation.location)


def _names(dims: Sums, loops: Sequence[int]) -> Mapping[int, int]:
    """Returns the loops of a contraction by those of an elementwise operation on its result.

    Args:
        dims: what indexes the result in the operation.
        loops: those of the contraction that index it.
    """
    names = {each.loop: loop for each, loop in zip(dims, loops, strict=True)}
    found = {own: loop for own, loop in names.items() if own is not None}
    if len(found) != len(loops):
        raise Refusal("its result is read by something else than loops")
    return found


def _set_loops(
    generic: ir.Operation, loops: int, summed: int, operands: Sequence[Sequence[int]]
) -> None:
    """Gives a `linalg.generic` other loops, the last of which are summed over."""
    kinds = list(ir.ArrayAttr(generic.attributes[ITERATORS]))
    parallel = next(each for each in kinds if "parallel" in str(each))
    sums = [each for each in kinds if "parallel" not in str(each)][:1] * summed
    index_by_loops(generic, loops, operands)
    iterators = [*[parallel] * (loops - summed), *sums]
    generic.attributes[ITERATORS] = ir.ArrayAttr.get(iterators, generic.context)


def _erase_unused(value: ir.Value) -> None:
    """Erases the views of a buffer that nothing uses any more."""
    for view in _unused(value):
        view.erase()


def _unused(value: ir.Value) -> Iterator[ir.Operation]:
    definition = defining_operation(value)
    while definition is not None and definition.name in _VIEWS and not list(value.uses):
        value = definition.operands[0]
        yield definition
        definition = defining_operation(value)
