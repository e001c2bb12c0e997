# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes one dimension of two where IREE has parted a dynamic size of a matmul.

IREE knows of some sizes that they are multiples of a number: a batch of 2 sequences of a dynamic
length has 2 * s rows. It parts them, so that a tile may have all of the known number:

    %half = affine.apply affine_map<()[s0] -> (s0 floordiv 2)>()[%rows]
    %view = memref.expand_shape %a [[0, 1], [2]] output_shape [%half, 2, 64]
        : memref<?x64xf16> into memref<?x2x64xf16>
    %x = iree_codegen.load_from_buffer %view : memref<?x2x64xf16> -> tensor<?x2x64xf16>

A number below the rows of a matrix instruction is of no use, and IREE takes scalar instructions.
This pass takes the parting back for all tensors of such a function, so that
`bankwise-tile-dynamic-matmuls` finds rows that are a single loop:

    %x = iree_codegen.load_from_buffer %a : memref<?x64xf16> -> tensor<?x64xf16>

Runs on the configured function, before its pipeline.

This works around IREE 3.13 (`docs/for_iree.md#parted-sizes`).
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.indexing_maps import (
    GENERIC,
    ITERATORS,
    loops_of,
    renumber_loops,
    summed_loops,
)
from ...dialect_utils.lowering_config import CONFIG
from ...dialect_utils.memory.lds_ops import EXPAND_SHAPE
from ...dialect_utils.memory.memref_types import type_of
from ...dialect_utils.operations import (
    children,
    defining_operation,
    operands_with,
    operations_in,
    replace_by,
)
from ...passes.base import PassContext
from ..matmuls.dynamic_matmuls import dynamic_matmul, matrix_instruction, scalar_matmul_root
from ..shapes.enlarged_shapes import LOAD, STORE
from ..tiles.planned_pass import PlannedPass

_FILL, _EMPTY = "linalg.fill", "tensor.empty"


class MergeBlockedSizes(PlannedPass["_Merger"]):
    """Merges the dimensions into which IREE has parted dynamic sizes of a scalar matmul."""

    name: ClassVar[str] = "bankwise-merge-blocked-sizes"
    summary: ClassVar[str] = "make one dimension of a dynamic size that the compiler has parted"
    what_stays: ClassVar[str] = "a dynamic size stays parted"
    kept: ClassVar[str] = "parted sizes"

    def _plan(self, function: ir.Operation, context: PassContext) -> _Merger | None:
        return _merger_of(function, context.test_target)

    def _take(self, function: ir.Operation, context: PassContext, plan: _Merger) -> None:
        """Rewrites the tensors of `function`.

        Raises:
            PassFailure: the matmul keeps its scalar instructions nevertheless.
        """
        plan.apply()
        # The configuration is that of the parted sizes, until the next pass replaces it.
        try:
            dynamic_matmul(function, None, context.test_target)
        except Refusal as refusal:
            raise PassFailure(function.location, refusal.reason) from refusal


def merges_sizes(function: ir.Operation) -> bool:
    """Returns whether the pass merges sizes of `function`."""
    try:
        return _merger_of(function) is not None
    except Refusal:
        return False


def _merger_of(function: ir.Operation, test_target: str | None = None) -> _Merger | None:
    """Returns what is to be merged in a function with a scalar matmul.

    Raises:
        Refusal: it cannot be merged, or that would be of no use.
    """
    root = scalar_matmul_root(function)
    if root is None:
        return None
    merger = _Merger(root)
    merger.plan(function)
    if not merger.views:
        return None
    matrix_instruction(function, root, test_target)
    return merger


@dataclass(eq=False)
class _Merger:
    """Merges two dimensions of some tensors.

    Attributes:
        root: the matmul, whose configuration is replaced afterwards.
        views: what shows buffers with parted sizes, with the first of the two dimensions.
        tensors: the tensors with parted sizes, with the first of the two dimensions.
        loops: the two loops over them of each `linalg.generic`.
    """

    root: ir.Operation
    views: dict[ir.Operation, int] = field(default_factory=dict)
    tensors: dict[ir.Value, int] = field(default_factory=dict)
    loops: dict[ir.Operation, tuple[int, int]] = field(default_factory=dict)
    _pending: list[ir.Value] = field(default_factory=list)

    def plan(self, function: ir.Operation) -> None:
        """Finds what is to be changed.

        Raises:
            Refusal: something uses parted tensors that is not understood.
        """
        for view in operations_in(function, EXPAND_SHAPE):
            first = _parted_dimension(view)
            if first is not None:
                self.views[view] = first
                for user, _ in operands_with(view.results[0]):
                    self._note_access(user, first)
        while self._pending:
            value = self._pending.pop()
            for touching in (defining_operation(value), *(u for u, _ in operands_with(value))):
                self._spread(touching, value)

    def _note_access(self, user: ir.Operation, first: int) -> None:
        if user.name not in (LOAD, STORE):
            raise Refusal(f"{user.name} uses a view", user.location)
        self._note(user.results[0] if user.name == LOAD else user.operands[0], first)

    def _note(self, value: ir.Value, first: int) -> None:
        if self.tensors.setdefault(value, first) != first:
            raise Refusal(f"{value.type} is parted twice")
        if value not in self._pending:
            self._pending.append(value)

    def _spread(self, touching: ir.Operation | None, value: ir.Value) -> None:
        """Notes what follows for an operation that defines or uses a parted tensor."""
        first = self.tensors[value]
        if touching is None:
            raise Refusal(f"{value.type} is no buffer's")
        if touching.name in (LOAD, STORE):
            buffer = touching.operands[0 if touching.name == LOAD else 1]
            if self.views.get(defining_operation(buffer) or touching) != first:
                raise Refusal(f"{buffer.type} is parted otherwise", touching.location)
        elif touching.name == GENERIC:
            if touching not in self.loops:
                self._spread_generic(touching, value, first)
        elif touching.name == _FILL:
            for each in (touching.operands[1], touching.results[0]):
                if each not in self.tensors:
                    self._note(each, first)
        elif touching.name == _EMPTY:
            _whole_size(touching, first)
        else:
            raise Refusal(f"{touching.name} uses a parted tensor", touching.location)

    def _spread_generic(self, generic: ir.Operation, value: ir.Value, first: int) -> None:
        maps = loops_of(generic)
        if generic != self.root and CONFIG in generic.attributes:
            raise Refusal("another operation is configured too", generic.location)
        if any(each.name == "linalg.index" for each in children(generic)):
            raise Refusal("an operation asks for its place", generic.location)
        values = [*generic.operands, *generic.results]
        dims = [*maps, *maps[len(maps) - len(generic.results) :]]
        outer, inner = dims[values.index(value)][first : first + 2]
        if len(summed_loops(generic) & {outer, inner}) == 1:
            raise Refusal("one of the parts is summed", generic.location)
        self.loops[generic] = outer, inner
        for each, loops in zip(values, dims, strict=True):
            if outer in loops or inner in loops:
                place = loops.index(outer) if outer in loops else -1
                if place < 0 or loops[place + 1 : place + 2] != (inner,):
                    raise Refusal(f"{each.type} has but one of the parts", generic.location)
                if each not in self.tensors:
                    self._note(each, place)

    def apply(self) -> None:
        """Merges the dimensions."""
        for view in self.views:
            replace_by(view, view.operands[0])
        for value, first in self.tensors.items():
            definition = defining_operation(value)
            if definition is not None and definition.name == _EMPTY:
                number, size = _whole_size(definition, first)
                definition.operands[number] = size
            value.set_type(_merged(ir.RankedTensorType(value.type), first))
        for generic, (_, inner) in self.loops.items():
            _merge_loops(generic, inner)


def _parted_dimension(view: ir.Operation) -> int | None:
    """Returns the first of the two dimensions into which a view parts a dynamic one, if it does."""
    shape = type_of(view).shape
    groups = [
        [ir.IntegerAttr(each).value for each in ir.ArrayAttr(group)]
        for group in ir.ArrayAttr(view.attributes["reassociation"])
    ]
    parted = [group for group in groups if len(group) > 1]
    if len(parted) != 1 or len(parted[0]) != 2:
        return None
    first, second = parted[0]
    return first if shape[first] == DYNAMIC and shape[second] != DYNAMIC else None


def _whole_size(empty: ir.Operation, first: int) -> tuple[int, ir.Value]:
    """Returns the number of the operand with a parted size, and the size before it was parted.

    Raises:
        Refusal: it is not known.
    """
    shape = ir.RankedTensorType(empty.results[0].type).shape
    number = list(shape[:first]).count(DYNAMIC)
    definition = defining_operation(empty.operands[number])
    if definition is not None and definition.name == "affine.apply":
        with empty.context:
            part = ir.AffineExpr.get_floor_div(ir.AffineSymbolExpr.get(0), shape[first + 1])
            parting = ir.AffineMap.get(0, 1, [part])
        if ir.AffineMapAttr(definition.attributes["map"]).value == parting:
            return number, definition.operands[0]
    raise Refusal("the size of an empty tensor is not known", empty.location)


def _merged(kind: ir.RankedTensorType, first: int) -> ir.RankedTensorType:
    shape = [*kind.shape[:first], DYNAMIC, *kind.shape[first + 2 :]]
    with kind.context, ir.Location.unknown():
        return ir.RankedTensorType.get(shape, kind.element_type, kind.encoding)


def _merge_loops(generic: ir.Operation, inner: int) -> None:
    """Takes the inner one of two merged loops out of a `linalg.generic`."""
    iterators = list(ir.ArrayAttr(generic.attributes[ITERATORS]))
    left = [loop for loop in range(len(iterators)) if loop != inner]
    renumber_loops(generic, left)
    kept = [iterators[loop] for loop in left]
    generic.attributes[ITERATORS] = ir.ArrayAttr.get(kept, generic.context)
