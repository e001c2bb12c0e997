# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A `vector.scatter` of what a lane has of a result, where columns beyond an edge are masked.

Where the tile of a workgroup reaches beyond the edge of a matrix, IREE scatters single elements.
Each has an index and a bit of a mask, which are computed as vectors:

    %column = ...                           16 * step + lane % 16 + ..., for each element
    %in = arith.cmpi ult, %column, %edge
    %index = ...                            row * width + column + ...
    vector.scatter %out[%c0] [%index], %in, %value : memref<13000xf32>, ...

With its columns renamed, a lane has `merged` neighbours in as many steps. They are stored at once
if the edge cannot go through between them, so it must be a multiple of `merged`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.step_renaming import Offsets, Slot, ignores
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.index_bits import IndexBits, low_bit
from ...dialect_utils.index.index_ops import block_owner
from ...dialect_utils.index.lane_values import LaneEvaluator, Unknown
from ...dialect_utils.memory.copies_before_ends import conjuncts
from ...dialect_utils.memory.flow import connected_to
from ...dialect_utils.memory.memref_types import static_strides
from ...dialect_utils.memory.surroundings import maps_to_workgroups
from ...dialect_utils.operations import constant_value, defining_operation, parents_of
from .element_sums import ElementSum, element_sum

SCATTER = "vector.scatter"

_BELOW = {2: "slt", 6: "ult"}
"""The predicates of `arith.cmpi` that ask for less, by their numbers."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """A part of a mask: an index of each element is below a number.

    Attributes:
        of_columns: whether the index is a column.
    """

    operation: ir.Operation
    of_columns: bool


@dataclass(frozen=True, eq=False)
class MaskedScatter:
    """A scatter of which one dimension of the vector counts the steps of the columns.

    Attributes:
        value, index: what is stored, and where, as vectors of several dimensions.
        steps: the dimension of the steps.
        slot: the number of the lane's column in a step.
        comparisons: all of them must be true where an element is stored.
        aligned: the largest number of steps of which the columns that a lane gets of them are
            all stored, or none of them.
    """

    operation: ir.Operation
    value: ir.Value
    index: ir.Value
    steps: int
    slot: ir.Value
    comparisons: tuple[Comparison, ...]
    aligned: int

    @property
    def count(self) -> int:
        """Returns how many steps a lane stores."""
        return ir.VectorType(self.value.type).shape[self.steps]


def masked_scatter(
    operation: ir.Operation, steps: int, within: int, size: int, evaluator: LaneEvaluator
) -> MaskedScatter:
    """Returns what a scatter of columns stores.

    Args:
        steps: the dimension of the steps in what is stored, before it is made a flat vector.
        within: the one within a step.
        size: the columns of a step. Lane l has column l % size.

    Raises:
        Refusal: it is not understood, or the lanes do not store columns side by side.
    """
    where = operation.location
    memory, base, index, mask, value = _operands(operation)
    shape = ir.VectorType(value.type).shape
    if shape[within] != 1 or constant_value(base) != 0:
        raise Refusal("a lane scatters more than one slot", where)
    _check_alone(operation, memory)
    reader = _Reader(operation, evaluator, steps, size)
    found = reader.read(element_sum(index))
    if not found.of_columns:
        raise Refusal("the lanes do not scatter columns side by side", where)
    comparisons: list[Comparison] = []
    aligned = size
    for compared in _comparisons(mask):
        left, right = map(element_sum, compared.operands)
        part, edge = reader.read(left), reader.read(right)
        if edge.of_columns or (edge.varies and part.of_columns):
            raise Refusal("the edge of the columns differs between lanes", where)
        comparisons.append(Comparison(compared, part.of_columns))
        if part.of_columns:
            aligned = gcd(aligned, part.multiple, edge.multiple)
    slot = reader.slot_among(element_sum(index))
    return MaskedScatter(operation, value, index, steps, slot, tuple(comparisons), aligned)


def _operands(
    operation: ir.Operation,
) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value, ir.Value]:
    """Returns the memory, the offset in it, and the three vectors as they are before they are flat.

    Raises:
        Refusal: the memory has several dimensions, or a vector does not come from a shape cast.
    """
    if len(operation.operands) != 5:
        raise Refusal("a scatter to memory of several dimensions", operation.location)
    memory, base, *flat = operation.operands
    if static_strides(ir.MemRefType(memory.type)) != (1,):
        raise Refusal("a scatter to memory with gaps", operation.location)
    vectors: list[ir.Value] = []
    for each in flat:
        cast = defining_operation(each)
        if cast is None or cast.name != "vector.shape_cast":
            raise Refusal("a scatter of a vector that is no shape cast", operation.location)
        vectors.append(cast.operands[0])
    index, mask, value = vectors
    if len({tuple(ir.VectorType(each.type).shape) for each in vectors}) != 1:
        raise Refusal("a scatter of vectors with different shapes", operation.location)
    return memory, base, index, mask, value


def _check_alone(operation: ir.Operation, memory: ir.Value) -> None:
    """Makes sure that nothing else accesses the memory: lanes would have to wait for each other."""
    connected = connected_to(memory)
    if connected.hidden:
        raise connected.hidden[0]
    if any(use.user != operation for use in connected.sinks):
        raise Refusal("something else accesses what is scattered to", operation.location)


def _comparisons(mask: ir.Value) -> Iterator[ir.Operation]:
    """Yields the comparisons that are all true where a mask is.

    Raises:
        Refusal: the mask is something else.
    """
    for each in map(defining_operation, conjuncts(mask)):
        if each is None or each.name != "arith.cmpi":
            raise Refusal("a mask is no comparison of indices")
        if ir.IntegerAttr(each.attributes["predicate"]).value not in _BELOW:
            raise Refusal("a mask asks for something else than less", each.location)
        yield each


class _Read(NamedTuple):
    """What is known of a vector of indices.

    Attributes:
        of_columns: whether an element is `size * step + slot`, and what has no slot or step.
        varies: whether it differs between lanes, or elements, of different rows.
        multiple: a power of two that divides what is added to `size * step + slot`.
    """

    of_columns: bool
    varies: bool
    multiple: int


@dataclass
class _Reader:
    """Reads the indices of one scatter.

    Attributes:
        steps, size: as `masked_scatter` has them.
    """

    operation: ir.Operation
    evaluator: LaneEvaluator
    steps: int
    size: int

    def read(self, elements: ElementSum) -> _Read:
        """Returns what is known of some indices.

        Raises:
            Refusal: they depend on the slot or on the step, and are no columns.
        """
        launch = self.evaluator.launch
        lanes: Offsets = np.zeros((launch.waves, launch.subgroup_size), np.int64)
        shared = 0
        for value, factor in elements.terms.items():
            of_lanes = self._of_lanes(value)
            if of_lanes is None:
                shared = gcd(shared, factor * self._multiple_of(value))
            else:
                lanes = lanes + factor * of_lanes
        constants = np.moveaxis(elements.constants, self.steps, 0)
        steps = np.arange(len(constants)).reshape(-1, *[1] * (constants.ndim - 1))
        slots = np.arange(launch.subgroup_size) % self.size
        for of_columns in (False, True):
            rest = lanes - slots * of_columns
            apart = constants - self.size * steps * of_columns
            if ignores(rest, Slot.ROW, self.size) and (apart == apart[:1]).all():
                together = rest.reshape(-1, 1) + apart.reshape(1, -1)
                varies = bool((together != together[:1, :1]).any())
                multiple = gcd(shared, int(np.gcd.reduce(together, axis=None)))
                return _Read(of_columns, varies, low_bit(multiple))
        raise Refusal("the lanes do not scatter columns side by side", self.operation.location)

    def slot_among(self, elements: ElementSum) -> ir.Value:
        """Returns the number that is a lane's column in a step.

        Raises:
            Refusal: the indices are not computed from such a number.
        """
        slots = np.arange(self.evaluator.launch.subgroup_size) % self.size
        for value in elements.terms:
            of_lanes = self._of_lanes(value)
            if of_lanes is not None and (of_lanes == slots).all():
                return value
        raise Refusal("the column of a lane is no number of its own", self.operation.location)

    def _of_lanes(self, value: ir.Value) -> Offsets | None:
        """Returns a number in every lane; None if it is one for all lanes that is not known.

        Raises:
            Refusal: it may differ between lanes, and is not known or differs between iterations.
        """
        launch = self.evaluator.launch
        found = self.evaluator.evaluate(value)
        if not isinstance(found, Unknown):
            table = found.full(launch).reshape(-1, launch.waves, launch.subgroup_size)
            if (table == table[:1]).all():
                return table[0]
            if (table == table[:, :1, :1]).all():
                return None
        elif _is_shared(value):
            return None
        raise Refusal("an index of a scatter is not known", self.operation.location)

    def _multiple_of(self, value: ir.Value) -> int:
        function = next(each for each in parents_of(self.operation) if each.name.endswith("func"))
        return low_bit(IndexBits(function).of(value).multiple)


def _is_shared(value: ir.Value) -> bool:
    """Returns whether a number is computed from the place of the workgroup in the grid alone."""
    operation = defining_operation(value)
    if operation is None:
        owner = block_owner(ir.BlockArgument(value))
        return owner.name == "scf.forall" and maps_to_workgroups(owner)
    if operation.name in ("arith.constant", "hal.interface.workgroup.id"):
        return True
    is_followed = operation.name in ("affine.apply", "affine.min", "affine.max")
    return is_followed and all(map(_is_shared, operation.operands))
