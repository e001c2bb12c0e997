# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Direct loads to the LDS that store in swizzled order: each lane fetches for another one.

`amdgpu.gather_to_lds` stores the elements of lane l at `first + l * count`, which the hardware
fixes. For a swizzle S the place p = first + l * count is to hold the logical element S^-1(p), which
lane

    l' = (S^-1(first + l * count) - first) / count

of the same wave has fetched so far. So lane l now fetches from where l' did: what the source
indices are computed from is computed once more, with l' in the place of the lane's own number.
Waves fetch the same addresses as before, in another order of their lanes: no more blocks of global
memory are touched than before.

Worked example: 64 lanes store 8 elements each, S = xor_shuffle<64, 8>, first = 512. Lane 9 stores
at p = 584, in row 9, group 1. S^-1 is S: row 9 XORs 9 % 8 = 1, so p holds logical element 576, for
which lane 8 has fetched; l' = 8. Here first drops out, because swizzles repeat every 512 elements.

Only what differs between the lanes of a wave is computed again. Source indices that cannot be (they
come from memory, or around a loop) are refused beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce

import numpy as np
from iree.compiler import ir

from ...bank_model.errors import is_power_of_two
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.swizzles import Swizzle, chain_period
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.gpu_target import Launch
from ...dialect_utils.index.index_builder import IndexBuilder
from ...dialect_utils.index.index_cloner import (
    LANE_ID,
    THREAD_ID,
    IndexCloner,
)
from ...dialect_utils.index.index_ops import block_owner, dimension_of
from ...dialect_utils.index.lane_values import LaneEvaluator, Unknown, combine, constant
from ...dialect_utils.loops import bounds_of, is_induction
from ...dialect_utils.memory.flow import ways_to
from ...dialect_utils.memory.lane_dependence import LaneDependence
from ...dialect_utils.memory.lds_accesses import Gather
from ...dialect_utils.memory.lds_ops import SUBVIEW, view_row
from ...dialect_utils.memory.memref_types import static_strides, type_of
from ...dialect_utils.operations import (
    defining_operation,
    mixed_operands,
    segments_of,
)
from .swizzle_arithmetic import xor_terms


class GatherPermuter(NamedTuple):
    """Rewrites the sources of gathers in one function."""

    function: ir.Operation
    evaluator: LaneEvaluator
    dependence: LaneDependence

    @staticmethod
    def of(function: ir.Operation, evaluator: LaneEvaluator) -> GatherPermuter:
        """Returns the permuter of a function whose launch is the evaluator's."""
        return GatherPermuter(function, evaluator, LaneDependence(evaluator))

    def check(self, gather: Gather) -> None:
        """Makes sure that the lanes of `gather` can fetch for each other.

        Raises:
            Refusal: they cannot.
        """
        if not is_power_of_two(gather.store.count):
            count = gather.store.count
            raise Refusal(f"its lanes store {count} elements, which are no power of two")
        if gather.store.partial:
            raise Refusal("some lanes of a wave take no part in it")
        self.dependence.check_surroundings(gather.operation, self.function)
        for number in range(_source_operands(gather.operation)):
            differs = self.dependence.of(gather.operation.operands[number])
            if isinstance(differs, Unknown):
                raise Refusal(f"its source depends on {differs.reason}")
        try:
            _displacements(gather.memref)
        except Refusal as refusal:
            raise Refusal(f"it stores to {refusal}") from refusal

    def permute(self, gather: Gather, chain: Sequence[Swizzle]) -> None:
        """Lets `gather` fetch for the places that `chain` gives its elements.

        The chain is one that `why_not_stored_directly` accepts, and `check` has no objection.

        Raises:
            PassFailure: the emitted lane numbers are not the expected ones.
        """
        operation, launch = gather.operation, self.evaluator.launch
        at = Builder.before(operation)
        thread = _thread(at, launch)
        lane = at.remui(thread, at.index(launch.subgroup_size))
        base: ir.Value | None = None
        if (gather.store.firsts % chain_period(chain)).any():
            base = _first_element(at, gather)
        other = _fetched_for(at, self.function, gather, chain, lane, base)
        self._check(gather, chain, other, base)
        renumbering = _Renumbering(self.dependence, launch, at, thread, lane, other)
        for number in range(_source_operands(operation)):
            operation.operands[number] = renumbering.cloner.clone(operation.operands[number])

    def _check(
        self, gather: Gather, chain: Sequence[Swizzle], other: ir.Value, base: ir.Value | None
    ) -> None:
        """Evaluates what was emitted, lane by lane, against the swizzles themselves."""
        store = gather.store
        lanes = np.arange(self.evaluator.launch.subgroup_size)

        def is_wanted(found: np.ndarray, first: np.ndarray, *running: np.ndarray) -> np.ndarray:
            element = first + lanes * store.count
            for swizzle in chain:
                element = swizzle.apply(element)
            right = (found == (element - first) // store.count) & np.isin(first, store.firsts)
            # Waves that do not run the gather may come to anything.
            return reduce(np.logical_or, (on == 0 for on in running), right)

        found = self.evaluator.evaluate(other)
        known = constant(int(store.firsts[0]))
        first = known if base is None else self.evaluator.evaluate(base)
        wanted = combine(is_wanted, found, first, *gather.running)
        if isinstance(wanted, Unknown) or not wanted.values.all():
            raise PassFailure(
                gather.operation.location,
                f"the lanes that {gather.operation.name} fetches for are not the wanted ones",
            )


def _source_operands(gather: ir.Operation) -> int:
    """Returns how many operands, from the first on, say where a gather fetches from."""
    return sum(map(len, segments_of(gather)[:2]))


# Arithmetic.


def _thread(at: Builder, launch: Launch) -> ir.Value:
    """Returns the linear id of the thread in its workgroup: x + Dx * (y + Dy * z)."""
    sizes = (*launch.workgroup_size, 1, 1)[:3]
    total = at.thread_id("x")
    stride = sizes[0]
    for dimension, size in (("y", sizes[1]), ("z", sizes[2])):
        if size > 1:
            total = at.addi(total, at.muli(at.thread_id(dimension), at.index(stride)))
        stride *= size
    return total


def _first_element(at: Builder, gather: Gather) -> ir.Value:
    """Returns the element of the allocation at which lane 0 of the wave stores."""
    displacements = _displacements(gather.memref)
    strides = static_strides(type_of(gather.memref))
    assert strides is not None
    total: ir.Value | None = None
    for number, stride in (*displacements, *zip(gather.indices, strides, strict=True)):
        value = at.index(number) if isinstance(number, int) else number
        term = value if stride == 1 else at.muli(value, at.index(stride))
        total = term if total is None else at.addi(total, term)
    return at.index(0) if total is None else total


def _displacements(memref: ir.Value) -> list[tuple[ir.Value | int, int]]:
    """Returns how far behind its allocation a memref starts.

    The distance is a sum of products of a number or value and a factor. What loops and choices
    carry must be whole allocations.

    Raises:
        Refusal: names what is in the way.
    """
    found: list[tuple[ir.Value | int, int]] = []
    value = memref
    while True:
        view = defining_operation(value)
        row = view_row(view)
        if view is None or row is None:
            if not _is_whole(value):
                raise Refusal("a part of memory that is carried or chosen")
            return found
        if view.name == SUBVIEW:
            strides = static_strides(type_of(view.operands[0]))
            if strides is None:
                raise Refusal("memory without static strides")
            found += zip(mixed_operands(view, "static_offsets", 1), strides, strict=True)
        elif not row.same_start:
            raise Refusal(f"the result of {view.name}")
        value = view.operands[0]


def _is_whole(value: ir.Value) -> bool:
    """Returns whether everything that a value may be starts where its allocation does."""
    try:
        rows = [view_row(defining_operation(each)) for each in ways_to(value)]
    except Refusal:
        return False
    return all(row is None or row.same_start for row in rows)


def _fetched_for(
    at: Builder,
    function: ir.Operation,
    gather: Gather,
    chain: Sequence[Swizzle],
    lane: ir.Value,
    base: ir.Value | None,
) -> ir.Value:
    """Returns the lane of the same wave that has fetched what each lane is to store.

    Without a `base` waves begin where the swizzles repeat.
    """
    count = gather.store.count
    element = at.muli(lane, at.index(count))
    if base is not None:
        element = at.addi(element, base)
    for swizzle in chain:
        element = _swizzled(at, function, swizzle, element)
    if base is not None:
        element = at.subi(element, base)
    return at.divui(element, at.index(count))


def _swizzled(at: Builder, function: ir.Operation, swizzle: Swizzle, element: ir.Value) -> ir.Value:
    """Emits where a swizzle sends an element, which is never negative."""
    terms = xor_terms(swizzle)
    if terms is None:
        return swizzle.place(IndexBuilder(function).index(element)).value
    for term in terms:
        moved = at.shrui(element, at.index(term.distance))
        element = at.xori(element, at.andi(moved, at.index(term.mask)))
    return element


@dataclass(frozen=True)
class _Renumbering:
    """Computes values once more, for the lane `other` of the same wave instead of `lane`."""

    dependence: LaneDependence
    launch: Launch
    at: Builder
    thread: ir.Value
    lane: ir.Value
    other: ir.Value

    @cached_property
    def cloner(self) -> IndexCloner:
        """Returns what emits the values that the other lane has."""
        return IndexCloner(self.at, self._leaf)

    def _leaf(self, value: ir.Value) -> ir.Value | None:
        if self.dependence.of(value) is False:
            return value
        operation = defining_operation(value)
        if operation is None:
            return self._induction(value) if is_induction(value) else value
        if operation.name in (THREAD_ID, LANE_ID):
            return self._lane_id(operation)
        return None

    def _induction(self, value: ir.Value) -> ir.Value:
        """Returns what an induction variable is in the other lane, in the same iteration."""
        lower, _, _ = bounds_of(block_owner(ir.BlockArgument(value)))
        other = self.cloner.clone(lower)
        return self.at.addi(other, self.at.subi(value, lower))

    def _lane_id(self, operation: ir.Operation) -> ir.Value:
        if operation.name == LANE_ID:
            return self.other
        at, dimension = self.at, dimension_of(operation)
        sizes = (*self.launch.workgroup_size, 1, 1)[:3]
        thread = at.addi(at.subi(self.thread, self.lane), self.other)
        for size in sizes[:dimension]:
            thread = at.divui(thread, at.index(size)) if size > 1 else thread
        # For the last dimension this only says how large the number can be, which saves divisions.
        return at.remui(thread, at.index(sizes[dimension]))
