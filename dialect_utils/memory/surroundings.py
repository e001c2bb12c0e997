# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often, and in which lanes, an operation runs in one execution of its function."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property, reduce

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ..diagnostics import Refusal
from ..index.lane_values import (
    LaneEvaluator,
    LaneValues,
    Unknown,
    combine,
    constant,
    existing_lanes,
)
from ..loops import FOR, IF
from ..operations import parents_of


@dataclass
class Surroundings:
    """What the loops and conditions around an operation say about its execution."""

    iterations: dict[int, int] = field(default_factory=dict)
    """Iterations of the surrounding loops on which all lanes agree, by depth."""
    masks: list[LaneValues] = field(default_factory=list)
    """The lanes and iterations in which it runs are those in which none of these is 0."""
    assumptions: list[str] = field(default_factory=list)
    loops: int = 0
    """How many `scf.for` are around it."""

    @cached_property
    def running(self) -> LaneValues | Unknown:
        """Returns whether it runs, 1 or 0; the masks must be complete."""
        return combine(lambda *masks: reduce(np.minimum, masks), constant(1), *self.masks)


def surroundings_of(
    operation: ir.Operation, function: ir.Operation, evaluator: LaneEvaluator
) -> Surroundings:
    """Reads the operations around `operation`, from `function` inwards.

    Raises:
        Refusal: one of them is not understood.
    """
    path: list[tuple[ir.Operation, ir.Operation]] = []
    inner = operation
    for outer in parents_of(operation):
        path.append((outer, inner))
        inner = outer
        if outer == function:
            break
    else:
        raise Refusal("use outside the function")
    found = Surroundings()
    exists = existing_lanes(evaluator.launch)
    if not exists.all():
        found.masks.append(LaneValues(exists.astype(np.int64)))
    for outer, inner in reversed(path):
        if outer.name == FOR:
            _add_loop(found, outer, evaluator)
        elif outer.name == IF:
            _add_condition(found, outer, inner, evaluator)
        elif outer != function and outer.name != "vector.mask" and not _is_for_workgroups(outer):
            # The mask of a region is one of what is inside it.
            raise Refusal(f"inside {outer.name}")
    return found


def _add_loop(found: Surroundings, loop: ir.Operation, evaluator: LaneEvaluator) -> None:
    count = evaluator.trip_count(loop)
    if isinstance(count, int):
        found.iterations[found.loops] = count
    else:
        span = evaluator.loop_range(loop)
        if isinstance(span, Unknown):
            found.assumptions.append(f"a loop of unknown length counts once ({span.reason})")
        else:
            found.masks.append(span.running)
    found.loops += 1


def _add_condition(
    found: Surroundings, choice: ir.Operation, inner: ir.Operation, evaluator: LaneEvaluator
) -> None:
    condition = evaluator.evaluate(choice.operands[0])
    if isinstance(condition, Unknown):
        found.assumptions.append(
            f"a condition that is not known holds in all lanes ({condition.reason})"
        )
        return
    holds = condition.truth()
    if inner.block.region != choice.regions[0]:
        holds = LaneValues(1 - holds.values, holds.loops)
    found.masks.append(holds)


def _is_for_workgroups(outer: ir.Operation) -> bool:
    return outer.name == "scf.forall" and maps_to_workgroups(outer)


def maps_to_workgroups(forall: ir.Operation) -> bool:
    """Returns whether every workgroup executes one iteration of the loop."""
    if "mapping" not in forall.attributes:
        return False
    mapping = ir.ArrayAttr(forall.attributes["mapping"])
    return len(mapping) > 0 and all("workgroup_mapping" in str(item) for item in mapping)
