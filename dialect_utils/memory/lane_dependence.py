# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the lanes of a wave agree on a value, and whether they run an operation together.

The same is asked of all lanes of a workgroup, by `of_workgroup`.

A value that is not known may still be the same in all lanes: what is loaded from an argument of the
dispatch is, and so is what is computed from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ..diagnostics import Refusal
from ..index.index_cloner import LANE_ID, SAME_IN_A_WAVE, THREAD_ID, is_index_arithmetic
from ..index.index_ops import block_owner, compute_after_operands
from ..index.lane_values import LaneEvaluator, LaneValues, Unknown
from ..loops import FOR, IF, bounds_of, is_induction
from ..operations import parents_of
from .lds_ops import view_row

_SAME_FOR_SAME_OPERANDS = frozenset(
    {"hal.interface.binding.subspan", "memref.alloc", "memref.dim", "memref.load"}
)
"""Operations that give lanes with equal operands equal results, and that are not made again."""

_DIFFERENT_IN_WAVES = frozenset({"gpu.subgroup_id", "gpu.subgroup_broadcast", "memref.load"})
"""Operations whose results may differ between the waves of a workgroup: one may load later."""


@dataclass
class LaneDependence:
    """Which values differ between the lanes of a wave, in one function under one launch.

    Attributes:
        of_workgroup: whether the lanes of a workgroup are meant in the place of those of a wave.
    """

    evaluator: LaneEvaluator
    of_workgroup: bool = False
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
            if outer.name == IF:
                together = self.of(outer.operands[0]) is False
            elif outer.name == FOR:
                together = self._have_equal_trip_counts(outer)
            elif outer != function and outer.name != "scf.forall":
                raise Refusal(f"it is inside {outer.name}")
            if not together:
                raise Refusal(f"the lanes of a wave may differ in whether an {outer.name} runs it")
            if outer == function:
                return
            inner = outer

    def _have_equal_trip_counts(self, loop: ir.Operation) -> bool:
        """Returns whether the lanes of a wave run an `scf.for` equally often.

        A loop from the thread's number to 128 in steps of 256 does, though the number differs.
        """
        if all(self.of(bound) is False for bound in bounds_of(loop)):
            return True
        found = self.evaluator.loop_range(loop)
        return not isinstance(found, Unknown) and self._are_same(found.running)

    def _follows_lower_bound(self, argument: ir.BlockArgument) -> bool:
        """Returns whether lanes count iterations alike, each from a lower bound of its own."""
        loop = block_owner(argument)
        if not is_induction(argument):
            return False
        _, _, step = bounds_of(loop)
        return self.of(step) is False and self._have_equal_trip_counts(loop)

    def _is_known_uniform(self, value: ir.Value) -> bool:
        if not isinstance(value.type, ir.IndexType | ir.IntegerType):
            return False
        found = self.evaluator.evaluate(value)
        if isinstance(found, Unknown):
            return False
        return self._are_same(found)

    def _are_same(self, found: LaneValues) -> bool:
        """Returns whether the lanes have the same value, in each iteration."""
        first = found.values[..., :1, :1] if self.of_workgroup else found.values[..., :1]
        return bool((found.values == first).all())

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
        if name in (THREAD_ID, LANE_ID) or (self.of_workgroup and name in _DIFFERENT_IN_WAVES):
            return True
        if name in SAME_IN_A_WAVE:
            return False
        if refusals:
            return refusals[0]
        if is_index_arithmetic(owner.operation) or view_row(owner.operation) is not None:
            return varies
        same = name in _SAME_FOR_SAME_OPERANDS and not varies
        return False if same else Unknown(f"the result of {name}")


def _operands(value: ir.Value) -> list[ir.Value]:
    owner = value.owner
    if isinstance(owner, ir.Block):
        return bounds_of(owner.owner.operation) if is_induction(value) else []
    operation = owner.operation
    if operation.name in SAME_IN_A_WAVE or len(operation.regions):
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
    if is_induction(argument):
        if not varies and not refusals:
            return False
        return Unknown("a loop whose bounds differ between lanes")
    return Unknown(
        f"a value carried around an {parent.name}" if entry else "a value of another block"
    )
