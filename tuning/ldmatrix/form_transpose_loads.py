# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-form-transpose-loads`: lanes swap what they read of a column by one LDS instruction.

    %0 = vector.load %v[%k, %n] : vector<1xf16>
    %1 = vector.load %v[%k1, %n] : vector<1xf16>          %c = amdgpu.transpose_load %v[%i, %j]
    %2 = vector.load %v[%k2, %n] : vector<1xf16>    ->        : vector<4xf16>
    %3 = vector.load %v[%k3, %n] : vector<1xf16>
    from_elements %0, %1, %2, %3 -> amdgpu.mfma

`ds_read_b64_tr_b16` of CDNA4 gives lane j of 16 the element j % 4 of what the lanes j / 4,
4 + j / 4, 8 + j / 4 and 12 + j / 4 have read, 8 bytes each. So lane 4 i + c reads four columns from
4 c on of row i, and each of the 16 lanes gets the four rows of its own column: V need not be
transposed when it is copied. The registers are the same ones with the same values.

It is formed where the addresses of all lanes prove that four loads of single elements read four
rows, equally far apart, of 16 neighbouring columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import chain
from typing import ClassVar

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.copy_slots import loads_directly
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_moves import element_count, origin_of
from ...dialect_utils.gpu_target import Launch
from ...dialect_utils.index.index_builder import IndexBuilder
from ...dialect_utils.index.index_cloner import THREAD_ID
from ...dialect_utils.index.lane_values import LaneEvaluator, LaneValues, existing_lanes
from ...dialect_utils.memory.flat_allocations import align_allocation
from ...dialect_utils.memory.flow import lds_allocation_of
from ...dialect_utils.memory.lane_dependence import LaneDependence
from ...dialect_utils.memory.memref_types import (
    has_identity_layout,
    is_workgroup_memref,
    shown_type,
    type_of,
)
from ...dialect_utils.memory.mma_operands import LOADS
from ...dialect_utils.memory.store_free_segments import Place, places_in_segments
from ...dialect_utils.multiplications import ACCUMULATOR, MFMA, multiplies_halves
from ...dialect_utils.operations import (
    defining_operation,
    erase_unused,
    has_operation,
    operands_with,
    operations_in,
    redirect,
)
from ...passes.base import FunctionPass, PassContext
from .ldmatrix_emission import other_lane, thread_x
from .matrix_fragments import lanes_are_behind

INSTRUCTION = "ds_read_b64_tr_b16"
"""Its name in the tables of the chips that have it."""
_ROWS, _COLUMNS = 4, 16
"""What 16 lanes read: 8 bytes of each, and each gets a column."""
_BYTES = 8


class FormTransposeLoads(FunctionPass):
    """Replaces loads of single elements of a column by loads that transpose."""

    name: ClassVar[str] = "bankwise-form-transpose-loads"
    summary: ClassVar[str] = "read columns from the LDS by ds_read_b64_tr_b16, on CDNA4"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has matrix instructions of AMD's, and LDS."""
        return loads_directly(function, None) and has_operation(function, MFMA)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the loads for which it is proven; never fails."""
        function = function.operation
        model = context.lds_model(function)
        if model is None:
            return
        lds, launch = model
        if not lds.has(INSTRUCTION) or not loads_directly(function, context.test_target):
            return
        if launch.workgroup_size[0] % lds.wave_size or not existing_lanes(launch).all():
            return
        with function.context:
            columns = _Columns.of(function, launch)
            kept = columns.replace_all()
            erase_unused(columns.unused)
        for allocation, count in columns.replaced.items():
            text = f"of {shown_type(type_of(allocation))} {_ROWS * count} loads become {count}"
            context.sink.remark(allocation.location, f"{text} that transpose")
        for reason in dict.fromkeys(kept):
            context.sink.remark(function.location, f"columns are read by single elements: {reason}")


class _Base(NamedTuple):
    """Indices that lanes compute once, for loads that are a constant apart.

    Attributes:
        first: what the indices are computed right before.
        load: what reads the first row.
        steps: how far the rows are apart along each dimension.
        indices: where lanes read to get their columns of all rows.
    """

    first: ir.Operation
    load: ir.Operation
    steps: tuple[int, ...]
    indices: tuple[ir.Value, ...]


@dataclass
class _Columns:
    """The operands of a function, of which lanes read columns.

    Attributes:
        places: for each load the segment of a block without a store, and its place in it.
        replaced: how many loads of each allocation transpose.
        unused: the operands that others have replaced.
    """

    function: ir.Operation
    launch: Launch
    evaluator: LaneEvaluator
    places: dict[ir.Operation, Place]
    products: list[ir.Operation]
    replaced: dict[ir.Operation, int] = field(default_factory=dict)
    unused: list[ir.Value] = field(default_factory=list)
    _bases: list[_Base] = field(default_factory=list)

    @staticmethod
    def of(function: ir.Operation, launch: Launch) -> _Columns:
        """Reads a function."""
        operations = operations_in(function)
        products = [each for each in operations if each.name == MFMA]
        places = places_in_segments(operations, LOADS)
        return _Columns(function, launch, LaneEvaluator(launch), places, products)

    def replace_all(self) -> list[str]:
        """Replaces what is proven; returns why other columns are kept."""
        kept: list[str] = []
        products = filter(multiplies_halves, self.products)
        factors = (list(each.operands)[:ACCUMULATOR] for each in products)
        for operand in dict.fromkeys(chain.from_iterable(factors)):
            starts = range(0, element_count(operand.type), _ROWS)
            parts = [self._loads(operand, start) for start in starts]
            if not all(parts):
                continue
            try:
                self._replace(operand, [self._read(part) for part in parts])
            except Refusal as refusal:
                kept.append(refusal.reason)
        return kept

    def _loads(self, operand: ir.Value, first: int) -> list[ir.Operation]:
        """Returns the loads of single elements that make four elements of an operand.

        There are none where anything else makes one of them.
        """
        loads: list[ir.Operation] = []
        for number in range(first, min(first + _ROWS, element_count(operand.type))):
            value, _ = origin_of((operand, number))
            load = defining_operation(value)
            if load in self.places and element_count(value.type) == 1:
                assert load is not None
                loads += [load] if is_workgroup_memref(load.operands[0].type) else []
        return loads if len(loads) == _ROWS else []

    def _read(self, loads: Sequence[ir.Operation]) -> ir.Value:
        """Emits the load that transposes in the place of four loads.

        Raises:
            Refusal: it would not read the same.
        """
        buffer = loads[0].operands[0]
        if any(each.operands[0] != buffer for each in loads):
            raise Refusal("they are of different memrefs")
        segments = {self.places[each][0] for each in loads}
        if len(segments) > 1:
            raise Refusal("a store, a barrier or a branch may come between them")
        steps = self._steps(loads)
        first = min(loads, key=self.places.__getitem__)
        indices = self._shared(loads[0], steps, first) or self._computed(loads[0], steps, first)
        at = Builder.before(first)
        kind = at.vector_type([_ROWS], type_of(buffer).element_type)
        return at.transpose_load(buffer, indices, kind)

    def _steps(self, loads: Sequence[ir.Operation]) -> tuple[int, ...]:
        """Returns how far the rows are apart along each dimension.

        Raises:
            Refusal: lanes read no columns of equally distant rows, or not at multiples of 8 bytes.
        """
        LaneDependence(self.evaluator).check_surroundings(loads[0], self.function)
        rows = [list(map(self.evaluator.known, list(each.operands)[1:])) for each in loads]
        start = rows[0]
        steps = tuple(map(_even_step, zip(*rows, strict=True)))
        lanes = np.arange(self.launch.subgroup_size)
        behind = lanes % _COLUMNS
        if not lanes_are_behind(start, self.launch, lanes - behind, behind):
            raise Refusal("16 lanes do not read 16 neighbouring columns")
        kind = type_of(loads[0].operands[0])
        if not has_identity_layout(kind) or not kind.has_static_shape or steps[-1]:
            raise Refusal("neighbouring columns are not neighbours in memory")
        columns = start[-1].full(self.launch)[..., ::_COLUMNS]
        if (kind.rank > 1 and kind.shape[-1] % _ROWS) or (columns % _ROWS).any():
            raise Refusal("16 columns do not begin at a multiple of 8 bytes")
        return steps

    def _shared(
        self, load: ir.Operation, steps: tuple[int, ...], first: ir.Operation
    ) -> Sequence[ir.Value]:
        """Emits where lanes read by what is computed already, if it differs by constants."""
        known = self.evaluator.known
        read = [known(index).pattern() for index in list(load.operands)[1:]]
        for base in self._bases:
            is_behind = self.places[base.first] <= self.places[first]
            if base.load.block != load.block or base.steps != steps or not is_behind:
                continue
            there = [known(index).pattern() for index in list(base.load.operands)[1:]]
            if all(mine == other for (mine, _), (other, _) in zip(read, there, strict=True)):
                builder = IndexBuilder(self.function)
                away = [at - start for (_, at), (_, start) in zip(read, there, strict=True)]
                return [
                    builder.add_constant_before(first, index, number, no_unsigned_wrap=False)
                    for index, number in zip(base.indices, away, strict=True)
                ]
        return ()

    def _computed(
        self, load: ir.Operation, steps: tuple[int, ...], first: ir.Operation
    ) -> Sequence[ir.Value]:
        """Emits where lanes read, from where they have read the first row.

        Raises:
            Refusal: a lane cannot compute where another one has read.
        """
        at, lanes = Builder.before(first), np.arange(self.launch.subgroup_size)
        thread = thread_x(self.function, operations_in(self.function, THREAD_ID))
        cloner = other_lane(at, at.apply("d0 floordiv 16 * 16 + d0 mod 4 * 4", thread))
        indices: list[ir.Value] = []
        for old, step in zip(list(load.operands)[1:], steps, strict=True):
            index = cloner.clone(old)
            if step:
                index = at.apply(f"d0 + d1 floordiv 4 mod 4 * {step}", index, thread)
            source = lanes - lanes % _COLUMNS + lanes % 4 * 4
            known = self.evaluator.known(old).full(self.launch)
            wanted = known[..., source] + lanes // 4 % 4 * step
            if (self.evaluator.known(index).full(self.launch) != wanted).any():
                raise Refusal("a lane cannot compute where another one has read")
            indices.append(index)
        self._bases.append(_Base(first, load, steps, tuple(indices)))
        return indices

    def _replace(self, operand: ir.Value, read: Sequence[ir.Value]) -> None:
        """Puts what is read by loads that transpose in the place of an operand."""
        at = Builder.behind(operand)
        whole = read[0]
        if len(read) > 1:
            whole = at.poison(operand.type)
            for number, part in enumerate(read):
                whole = at.insert_slice(part, whole, number * _ROWS)
        redirect([(use, n) for use, n in operands_with(operand) if use.name == MFMA], whole)
        self.unused.append(operand)
        memory = read[0].owner.operation.operands[0]
        allocation = lds_allocation_of(memory)
        if allocation is not None:
            align_allocation(allocation, _BYTES)
            self.replaced[allocation] = self.replaced.get(allocation, 0) + len(read)


def _even_step(indices: tuple[LaneValues, ...]) -> int:
    """Returns how far apart the indices of four rows are.

    Raises:
        Refusal: that differs between lanes or rows.
    """
    patterns, places = zip(*(each.pattern() for each in indices), strict=True)
    step = places[1] - places[0]
    if len({*patterns}) > 1 or any(at - places[0] != n * step for n, at in enumerate(places)):
        raise Refusal("their rows are not equally far apart")
    return step
