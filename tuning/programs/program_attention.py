# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An attention of a program, as it is before IREE forms dispatches.

An `iree_linalg_ext.attention` there takes whole tensors, which exporters often make for it. Where g
heads of Q share a head of K and V, for one, they repeat each of these g times:

    %r = linalg.generic ... ins(%k : tensor<2x4096x128xf16>) -> tensor<2x4x4096x128xf16>
    %c = tensor.collapse_shape %r [[0, 1], [2], [3]] : ... into tensor<8x4096x128xf16>

This module looks behind such tensors: the loop over 8 heads becomes one over 2 and one over 4, of
which K and V have the first one only. The rows of the attention then are those of two loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.indexing_maps import MAPS, copied_loops, loops_of
from ...dialect_utils.lowering_config import integers
from ...dialect_utils.operations import (
    attributes_of,
    defining_operation,
    has_operation,
    likeness,
    operands_with,
)
from ..attention.attention_tiles import AttentionLoops, K, MemoryRows, Q, V
from ..tiles.tiled_operation import Maps, loop_extents

ATTENTION = "iree_linalg_ext.attention"
_INDEX = "iree_linalg_ext.index"
_EQUAL_ROWS = 2
_COLLAPSE = "tensor.collapse_shape"


@dataclass(frozen=True)
class Operand:
    """A tensor that an attention takes or makes.

    Attributes:
        value: the tensor; that of the result is the attention's own.
        loops: the loops that index its dimensions, several for a dimension that is several of them.
    """

    value: ir.Value
    loops: tuple[tuple[int, ...], ...]

    @property
    def dims(self) -> tuple[int, ...]:
        """Returns the loops that index it, one after the other."""
        return tuple(loop for group in self.loops for loop in group)

    def with_loop_split(self, loop: int, parts: Sequence[int]) -> Operand:
        """Returns the operand with other loops in the place of one."""
        changed = (
            tuple(part for each in group for part in (parts if each == loop else (each,)))
            for group in self.loops
        )
        return replace(self, loops=tuple(changed))

    @property
    def groups(self) -> list[list[int]]:
        """Returns, for each dimension of the tensor, the numbers of its loops in `dims`."""
        places = iter(range(len(self.dims)))
        return [[next(places) for _ in group] for group in self.loops]

    def expanded(self, at: Builder, sizes: Callable[[Sequence[int]], Sequence[int]]) -> ir.Value:
        """Emits the tensor with a dimension for each of its loops.

        Args:
            sizes: returns how long some loops are.
        """
        if len(self.dims) == len(self.loops):
            return self.value
        element = ir.ShapedType(self.value.type).element_type
        kind = at.tensor_type(sizes(self.dims), element)
        return at.expand_shape(self.value, kind, self.groups)


class ProgramAttention(NamedTuple):
    """An attention of a program.

    Attributes:
        order: its loops, the outermost one first.
        extents: how long each loop is.
        inputs: Q, K, V, the scale, and a mask if there is one.
        output: the result, or what alone is made of it by transposing it.
        doubled: a loop of two equal rows that no operand has, where there is a single row.
    """

    operation: ir.Operation
    order: tuple[int, ...]
    extents: Mapping[int, int]
    inputs: tuple[Operand, ...]
    output: Operand
    doubled: int | None = None

    @staticmethod
    def of(operation: ir.Operation) -> ProgramAttention:
        """Reads an `iree_linalg_ext.attention`, and looks behind what is made for it and of it.

        Raises:
            Refusal: its loops or sizes are not known, or its scores depend on where they are.
        """
        found = ProgramAttention.as_written(operation)
        return found._with_transposed_output()._without_repetition()._with_rows()

    @staticmethod
    def as_written(operation: ir.Operation) -> ProgramAttention:
        """Reads an `iree_linalg_ext.attention` of the tensors that it has.

        Raises:
            Refusal: its loops or sizes are not known, or its scores depend on where they are.
        """
        maps = loops_of(operation)
        extents = loop_extents(operation, maps, (Q, K, V))
        values = [*operation.operands][:-1]
        if any(DYNAMIC in ir.ShapedType(each.type).shape for each in _tensors(operation)):
            raise Refusal("its sizes are not all known")
        if len(maps) != len(values) + 1 or len(operation.results) != 1:
            raise Refusal("its operands are not those of an attention of tensors")
        if has_operation(operation, _INDEX):
            raise Refusal("its scores depend on the numbers of rows and keys")
        if {*attributes_of(operation)} != {MAPS}:
            raise Refusal("it has a configuration")
        inputs, output = (
            [
                Operand(value, tuple((loop,) for loop in dims))
                for value, dims in zip(those, theirs, strict=True)
            ]
            for those, theirs in ((values, maps[:-1]), (operation.results, maps[-1:]))
        )
        loops = range(len(extents))
        return ProgramAttention(
            operation, tuple(loops), dict(enumerate(extents)), tuple(inputs), output[0]
        )

    @property
    def likeness(self) -> Hashable:
        """Returns what two attentions have in common that are computed alike from other values."""
        operands = tuple(each.loops for each in (*self.inputs, self.output))
        extents = tuple(self.extents.items())
        return likeness(self.operation), self.order, extents, operands, self.doubled

    @property
    def maps(self) -> Maps:
        """Returns the loops of the operands of an online attention, each by its place in `order`.

        The last two are those of the maxima and sums of rows.
        """
        place = {loop: number for number, loop in enumerate(self.order)}
        query, *others = (each.dims for each in self.inputs)
        rows = self.row_dims
        dims = (self.doubled_dims(query), *others, self.doubled_dims(self.output.dims))
        return tuple(
            tuple(place[loop] for loop in each)
            for each in (*dims, self.doubled_dims(rows), self.doubled_dims(rows))
        )

    @property
    def row_dims(self) -> tuple[int, ...]:
        """Returns the loops of the output that are no columns of it."""
        query, key, value = ({*self.inputs[each].dims} for each in (Q, K, V))
        columns = value - key - query
        return tuple(loop for loop in self.output.dims if loop not in columns)

    def doubled_dims(self, dims: Sequence[int]) -> tuple[int, ...]:
        """Returns the loops of Q, or of a result, behind that of two equal rows if there is one."""
        return tuple(dims) if self.doubled is None else (self.doubled, *dims)

    @property
    def parts(self) -> AttentionLoops:
        """Returns the loops by their parts in the attention.

        Raises:
            Refusal: a part is missing.
        """
        found = AttentionLoops.of(self.maps, len(self.order))
        named = {
            name: tuple(self.order[place] for place in getattr(found, name))
            for name in ("batch", "rows", "head", "columns")
        }
        return AttentionLoops(**named, keys=self.order[found.keys])

    def memory_rows(self, number: int, along: int) -> MemoryRows:
        """Returns an operand as it lies in memory.

        Args:
            along: a loop of the dimension along which rows lie.
        """
        groups = self.inputs[number].loops
        shape = tuple(math.prod(self.sizes(group)) for group in groups)
        row = next(size for size, group in zip(shape, groups, strict=True) if along in group)
        return MemoryRows(shape, row)

    def with_rows_of(self, head: int, columns: int) -> ProgramAttention:
        """Returns the attention with a head, and with columns of the output, that are so long.

        Each of them is a single loop. Its operation and operands stay as they are.
        """
        parts = self.parts
        extents = {**self.extents, parts.head[-1]: head, parts.columns[-1]: columns}
        return self._replace(extents=extents)

    def sizes(self, loops: Sequence[int]) -> list[int]:
        """Returns how long some loops are."""
        return [self.extents[loop] for loop in loops]

    def _with_transposed_output(self) -> ProgramAttention:
        """Returns the attention with the output that is made from its own by transposing it."""
        uses = operands_with(self.output.value)
        if len(uses) != 1 or not _is_copy(user := uses[0][0]) or uses[0][1] != 0:
            return self
        read, written = loops_of(user)
        if len(read) != len(written) or user.block != self.operation.block:
            return self
        groups = dict(zip(read, self.output.loops, strict=True))
        output = Operand(user.results[0], tuple(groups[loop] for loop in written))
        return self._replace(output=output)

    def _with_rows(self) -> ProgramAttention:
        """Returns the attention with a loop of two equal rows, if there is only one row.

        IREE folds a loop over one row away, and with it the rows of a matrix instruction.
        """
        query, key, value = ({*self.inputs[each].dims} for each in (Q, K, V))
        rows = query.intersection(self.output.dims) - key - value
        if math.prod(self.sizes([*rows])) > 1:
            return self
        doubled = len(self.order)
        return self._replace(
            order=(*self.order, doubled),
            extents={**self.extents, doubled: _EQUAL_ROWS},
            doubled=doubled,
        )

    def _without_repetition(self) -> ProgramAttention:
        """Returns the attention of the tensors that K and V are made from by repeating them."""
        key, value = (Repeated.behind(self.inputs[each], self.extents) for each in (K, V))
        if key is None or value is None or key.split != value.split:
            return self
        found, parts = self, {}
        for loop, sizes in key.split.items():
            parts[loop] = (loop, *range(len(found.order), len(found.order) + len(sizes) - 1))
            found = found.with_loop_split(loop, parts[loop], sizes)
        query, _, _, *others = found.inputs
        inputs = (query, key.operand(parts), value.operand(parts), *others)
        return found._replace(inputs=inputs)

    def with_loop_split(
        self, loop: int, parts: Sequence[int], sizes: Sequence[int]
    ) -> ProgramAttention:
        """Returns the attention with loops of these sizes in the place of one."""
        place = self.order.index(loop)
        return self._replace(
            order=(*self.order[:place], *parts, *self.order[place + 1 :]),
            extents={**self.extents, **dict(zip(parts, sizes, strict=True))},
            inputs=tuple(each.with_loop_split(loop, parts) for each in self.inputs),
            output=self.output.with_loop_split(loop, parts),
        )


class Repeated(NamedTuple):
    """What an operand is made from by repeating it.

    Attributes:
        value: the tensor.
        split: the sizes of the loops into which loops of the attention are split.
        dims: for each dimension of the tensor, a loop of the attention and which of its parts.
    """

    value: ir.Value
    split: Mapping[int, tuple[int, ...]]
    dims: tuple[tuple[int, int], ...]

    @staticmethod
    def behind(operand: Operand, extents: Mapping[int, int]) -> Repeated | None:
        """Looks behind an operand each of whose dimensions has one loop; None finds nothing."""
        value = operand.value
        definition = defining_operation(value)
        rank = ir.ShapedType(value.type).rank
        groups = [(dim,) for dim in range(rank)]
        if definition is not None and definition.name == _COLLAPSE:
            given = ir.ArrayAttr(definition.attributes["reassociation"])
            groups = [integers(each) for each in given]
            value = definition.operands[0]
            definition = defining_operation(value)
        if definition is None or not _is_copy(definition):
            return None
        shape = ir.ShapedType(value.type).shape
        parts = {
            dim: (loop, part)
            for group, (loop,) in zip(groups, operand.loops, strict=True)
            for part, dim in enumerate(group)
        }
        split = {
            loop: tuple(shape[dim] for dim in group)
            for group, (loop,) in zip(groups, operand.loops, strict=True)
            if len(group) > 1
        }
        if any(math.prod(sizes) != extents[loop] for loop, sizes in split.items()):
            return None
        read, _ = loops_of(definition)
        return Repeated(definition.operands[0], split, tuple(parts[dim] for dim in read))

    def operand(self, parts: Mapping[int, Sequence[int]]) -> Operand:
        """Returns the tensor as an operand of an attention whose loops have been split."""
        return Operand(
            self.value, tuple((parts.get(loop, (loop,))[part],) for loop, part in self.dims)
        )


def _tensors(operation: ir.Operation) -> Iterator[ir.Value]:
    """Yields the operands and the results that are tensors."""
    for each in (*operation.operands, *operation.results):
        if isinstance(each.type, ir.RankedTensorType):
            yield each


def _is_copy(operation: ir.Operation) -> bool:
    """Returns whether an operation only repeats the elements of a tensor, or transposes them."""
    loops = copied_loops(operation)
    if loops is None:
        return False
    read, written = loops
    return written == (*range(len(written)),) and len({*read}) == len(read)
