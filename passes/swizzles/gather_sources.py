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
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import arith

from ...bank_model.errors import is_power_of_two
from ...bank_model.swizzles import Swizzle, chain_period
from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.gpu_target import Launch
from ...dialect_utils.index.index_builder import EmittedIndex, IndexBuilder
from ...dialect_utils.index.index_ops import compute_after_operands, dimension_of
from ...dialect_utils.index.lane_values import LaneEvaluator, LaneValues, Unknown, combine, constant
from ...dialect_utils.memory.flow import FOR_BOUNDS, ways_to
from ...dialect_utils.memory.lds_accesses import Gather
from ...dialect_utils.memory.lds_ops import SUBVIEW, view_row
from ...dialect_utils.memory.memref_types import static_strides, type_of
from ...dialect_utils.operations import (
    attributes_of,
    defining_operation,
    mixed_operands,
    parents_of,
    segments_of,
)
from .swizzle_arithmetic import xor_terms

_LANE_IDS = frozenset({"gpu.thread_id", "gpu.lane_id"})
_SAME_IN_A_WAVE = frozenset(
    {
        *("arith.constant", "ub.poison", "memref.get_global"),
        *("gpu.block_id", "gpu.block_dim", "gpu.grid_dim", "gpu.cluster_id"),
        *("gpu.subgroup_id", "gpu.num_subgroups", "gpu.subgroup_size", "gpu.subgroup_broadcast"),
        *("hal.interface.workgroup.id", "hal.interface.workgroup.count"),
        *("hal.interface.workgroup.size", "hal.interface.constant.load"),
    }
)
"""Operations whose results are the same in all lanes of a wave, whatever their operands."""
_SAME_FOR_SAME_OPERANDS = frozenset(
    {"hal.interface.binding.subspan", "memref.alloc", "memref.dim", "memref.load"}
)
"""Operations that give lanes with equal operands equal results, and that are not made again."""
_HINT = "iree_codegen.index_hint"


def _is_arithmetic(operation: ir.Operation) -> bool:
    """Returns whether an operation can be made again on other operands."""
    name = operation.name
    is_computed = name.startswith(("arith.", "affine.", "index."))
    return is_computed or view_row(operation) is not None or name in ("util.assume.int", _HINT)


_LOWER, _STEP = 0, 2
"""The operands of an `scf.for`."""


def _is_induction(value: ir.Value) -> bool:
    """Returns whether a value is the induction variable of an `scf.for`."""
    block = value.owner
    is_first = isinstance(block, ir.Block) and ir.BlockArgument(value).arg_number == 0
    return is_first and block.owner.operation.name == "scf.for"


def _same_in_waves(found: LaneValues) -> bool:
    """Returns whether the lanes of each wave have the same value, in each trip."""
    return bool((found.values == found.values[..., :1]).all())


@dataclass
class LaneDependence:
    """Which values differ between the lanes of a wave, in one function under one launch."""

    evaluator: LaneEvaluator
    _known: dict[ir.Value, bool | Unknown] = field(default_factory=dict, init=False, repr=False)

    def of(self, value: ir.Value) -> bool | Unknown:
        """Returns whether lanes differ; unknown if they may and the value cannot be made again."""
        return compute_after_operands(value, self._known, self._undecided, self._judge)

    def check_surroundings(self, operation: ir.Operation, function: ir.Operation) -> None:
        """Makes sure that the lanes of a wave run `operation` together.

        Raises:
            Refusal: they may not.
        """
        inner = operation
        for outer in parents_of(operation):
            if len(inner.block.region.blocks) > 1:
                raise Refusal("it is in unstructured control flow")
            together = True
            if outer.name == "scf.if":
                together = self.of(outer.operands[0]) is False
            elif outer.name == "scf.for":
                together = self._have_equal_trips(outer)
            elif outer != function and outer.name != "scf.forall":
                raise Refusal(f"it is inside {outer.name}")
            if not together:
                raise Refusal(f"the lanes of a wave may differ in whether an {outer.name} runs it")
            if outer == function:
                return
            inner = outer

    def _have_equal_trips(self, loop: ir.Operation) -> bool:
        """Returns whether the lanes of a wave run an `scf.for` equally often.

        A loop from the thread's number to 128 in steps of 256 does, though the number differs.
        """
        if all(self.of(bound) is False for bound in list(loop.operands)[:FOR_BOUNDS]):
            return True
        trips = self.evaluator.loop_range(loop)
        return not isinstance(trips, Unknown) and _same_in_waves(trips.running)

    def _follows_lower_bound(self, argument: ir.BlockArgument) -> bool:
        """Returns whether lanes count a loop's trips alike, each from a lower bound of its own."""
        loop = argument.owner.owner.operation
        if not _is_induction(argument):
            return False
        return self.of(loop.operands[_STEP]) is False and self._have_equal_trips(loop)

    def _is_known_uniform(self, value: ir.Value) -> bool:
        if not isinstance(value.type, ir.IndexType | ir.IntegerType):
            return False
        found = self.evaluator.evaluate(value)
        if isinstance(found, Unknown):
            return False
        return _same_in_waves(found)

    def _undecided(self, value: ir.Value) -> Sequence[ir.Value]:
        """Returns the operands that decide on a value; none where its lanes are known to agree."""
        return () if self._is_known_uniform(value) else _operands(value)

    def _judge(self, value: ir.Value, operands: Sequence[ir.Value]) -> bool | Unknown:
        if self._is_known_uniform(value):
            return False
        judged = [self._known[each] for each in operands]
        refusals = [each for each in judged if isinstance(each, Unknown)]
        varies = any(judged)
        owner = value.owner
        if isinstance(owner, ir.Block):
            argument = ir.BlockArgument(value)
            if varies and not refusals and self._follows_lower_bound(argument):
                return True
            return _judge_argument(argument, varies, refusals)
        name = owner.operation.name
        if name in _LANE_IDS:
            return True
        if name in _SAME_IN_A_WAVE:
            return False
        if refusals:
            return refusals[0]
        if _is_arithmetic(owner.operation):
            return varies
        same = name in _SAME_FOR_SAME_OPERANDS and not varies
        return False if same else Unknown(f"the result of {name}")


def _operands(value: ir.Value) -> list[ir.Value]:
    owner = value.owner
    if isinstance(owner, ir.Block):
        return list(owner.owner.operation.operands)[:FOR_BOUNDS] if _is_induction(value) else []
    operation = owner.operation
    if operation.name in _SAME_IN_A_WAVE or len(operation.regions):
        return []
    return list(operation.operands)


def _judge_argument(
    argument: ir.BlockArgument, varies: bool, refusals: Sequence[Unknown]
) -> bool | Unknown:
    parent = argument.owner.owner.operation
    entry = argument.owner == argument.owner.region.blocks[0]
    if parent.name == "scf.forall":
        return False
    if parent.name.endswith("func") and entry:
        # Bindings are a dispatch's; who calls a function with numbers may give each lane its own.
        is_number = isinstance(argument.type, ir.IndexType | ir.IntegerType)
        return Unknown("an argument of the function") if is_number else False
    if parent.name == "scf.for" and argument.arg_number == 0:
        if not varies and not refusals:
            return False
        return Unknown("a loop whose bounds differ between lanes")
    return Unknown(
        f"a value carried around an {parent.name}" if entry else "a value of another block"
    )


@dataclass(frozen=True)
class GatherPermuter:
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
        with ir.InsertionPoint(operation), operation.location:
            thread = _thread(launch)
            lane = _binary("arith.remui", thread, launch.subgroup_size)
            base: ir.Value | None = None
            if (gather.store.firsts % chain_period(chain)).any():
                base = _first_element(gather)
            other = _fetched_for(self.function, gather, chain, lane, base)
            self._check(gather, chain, other, base)
            renumbering = _Renumbering(self.dependence, launch, thread, lane, other)
            for number in range(_source_operands(operation)):
                operation.operands[number] = renumbering.of(operation.operands[number])

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
        first: LaneValues | Unknown = constant(int(store.firsts[0]))
        if base is not None:
            first = self.evaluator.evaluate(base)
        wanted: LaneValues | Unknown = Unknown("")
        if isinstance(found, LaneValues) and isinstance(first, LaneValues):
            wanted = combine(is_wanted, found, first, *gather.running)
        if isinstance(wanted, Unknown) or not wanted.values.all():
            raise PassFailure(
                gather.operation.location,
                f"the lanes that {gather.operation.name} fetches for are not the wanted ones",
            )


def _source_operands(gather: ir.Operation) -> int:
    """Returns how many operands, from the first on, say where a gather fetches from."""
    return sum(map(len, segments_of(gather)[:2]))


# -- arithmetic, at the current insertion point ---------------------------------------------------


def _constant(number: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), number)


def _binary(name: str, left: ir.Value, right: ir.Value | int) -> ir.Value:
    other = _constant(right) if isinstance(right, int) else right
    return ir.Operation.create(name, results=[left.type], operands=[left, other]).results[0]


def _thread_id(dimension: str) -> ir.Value:
    attributes = {"dimension": ir.Attribute.parse(f"#gpu.dim<{dimension}>")}
    kinds = [ir.IndexType.get()]
    return ir.Operation.create("gpu.thread_id", results=kinds, attributes=attributes).results[0]


def _thread(launch: Launch) -> ir.Value:
    """Returns the linear id of the thread in its workgroup: x + Dx * (y + Dy * z)."""
    sizes = (*launch.workgroup_size, 1, 1)[:3]
    total = _thread_id("x")
    stride = sizes[0]
    for dimension, size in (("y", sizes[1]), ("z", sizes[2])):
        if size > 1:
            part = _binary("arith.muli", _thread_id(dimension), stride)
            total = _binary("arith.addi", total, part)
        stride *= size
    return total


def _first_element(gather: Gather) -> ir.Value:
    """Returns the element of the allocation at which lane 0 of the wave stores."""
    displacements = _displacements(gather.memref)
    strides = static_strides(type_of(gather.memref))
    assert strides is not None
    total: ir.Value | None = None
    for number, stride in (*displacements, *zip(gather.indices, strides, strict=True)):
        value = _constant(number) if isinstance(number, int) else number
        term = value if stride == 1 else _binary("arith.muli", value, stride)
        total = term if total is None else _binary("arith.addi", total, term)
    return _constant(0) if total is None else total


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
    element = _binary("arith.muli", lane, count)
    if base is not None:
        element = _binary("arith.addi", element, base)
    for swizzle in chain:
        element = _swizzled(function, swizzle, element)
    if base is not None:
        element = _binary("arith.subi", element, base)
    return _binary("arith.divui", element, count)


def _swizzled(function: ir.Operation, swizzle: Swizzle, element: ir.Value) -> ir.Value:
    """Emits where a swizzle sends an element, which is never negative."""
    terms = xor_terms(swizzle)
    if terms is None:
        return swizzle.place(EmittedIndex(IndexBuilder(function), element, element)).value
    for term in terms:
        moved = _binary("arith.andi", _binary("arith.shrui", element, term.distance), term.mask)
        element = _binary("arith.xori", element, moved)
    return element


@dataclass
class _Renumbering:
    """Computes values once more, for the lane `other` of the same wave instead of `lane`."""

    dependence: LaneDependence
    launch: Launch
    thread: ir.Value
    lane: ir.Value
    other: ir.Value
    _made: dict[ir.Value, ir.Value] = field(default_factory=dict, init=False, repr=False)

    def of(self, value: ir.Value) -> ir.Value:
        """Returns what `value` is in the other lane."""
        return compute_after_operands(value, self._made, self._changing, self._remake)

    def _changing(self, value: ir.Value) -> Sequence[ir.Value]:
        """Returns what has to be made again before `value` is."""
        operation = defining_operation(value)
        if self.dependence.of(value) is False:
            return ()
        if operation is None:
            return [_lower_bound(value)] if _is_induction(value) else ()
        return list(operation.operands)

    def _remake(self, value: ir.Value, _: Sequence[ir.Value]) -> ir.Value:
        operation = defining_operation(value)
        if self.dependence.of(value) is False:
            return value
        if operation is None:
            return self._induction(value) if _is_induction(value) else value
        if operation.name in _LANE_IDS:
            return self._lane_id(operation)
        operands = [self._made[each] for each in operation.operands]
        if operation.name == _HINT:
            # What the hint says of neighbouring lanes no longer holds.
            return operands[0]
        attributes = attributes_of(operation)
        kinds = [result.type for result in operation.results]
        made = ir.Operation.create(
            operation.name, results=kinds, operands=operands, attributes=attributes
        )
        self._made.update(zip(operation.results, made.results, strict=True))
        return self._made[value]

    def _induction(self, value: ir.Value) -> ir.Value:
        """Returns what an induction variable is in the other lane, in the same trip."""
        lower = _lower_bound(value)
        ahead = _binary("arith.subi", value, lower)
        return _binary("arith.addi", self._made[lower], ahead)

    def _lane_id(self, operation: ir.Operation) -> ir.Value:
        if operation.name == "gpu.lane_id":
            return self.other
        dimension = dimension_of(operation)
        sizes = (*self.launch.workgroup_size, 1, 1)[:3]
        wave = _binary("arith.subi", self.thread, self.lane)
        thread = _binary("arith.addi", wave, self.other)
        for size in sizes[:dimension]:
            thread = _binary("arith.divui", thread, size) if size > 1 else thread
        # For the last dimension this only says how large the number can be, which saves divisions.
        return _binary("arith.remui", thread, sizes[dimension])


def _lower_bound(induction: ir.Value) -> ir.Value:
    """Returns where the loop of an induction variable begins."""
    block = induction.owner
    assert isinstance(block, ir.Block)
    return block.owner.operation.operands[_LOWER]
