# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pass that counts conflict cycles where, and as, `bankwise-verify-lds-conflicts` looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from iree.compiler import ir

from bankwise.bank_model.conflicts import phase_costs
from bankwise.bank_model.errors import InvalidParameterError
from bankwise.bank_model.layouts import machine_accesses
from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.dialect_utils.gpu_target import lds_model
from bankwise.dialect_utils.memory.lds_reading import read_allocations
from bankwise.dialect_utils.operations import symbol_of
from bankwise.iree_plugin.mitigation import mitigation_edits
from bankwise.passes.base import FunctionPass, PassContext
from bankwise.passes.layout_steps import verifying_edits
from bankwise.passes.mode import Mode
from bankwise.passes.pipeline_edit import PipelineEdit

Key = tuple[str, int]
"""("read" or "write", bytes of a lane in one access)."""


@dataclass(frozen=True)
class CountAccesses(FunctionPass):
    """Sums the conflict cycles of a workgroup, by function.

    Attributes:
        found: the cycles by the kind and width of the machine access.
        unknown: functions in which the cycles of an access are not known.
    """

    name: ClassVar[str] = "test-count-accesses"
    summary: ClassVar[str] = "count the conflicts that a verification sees"

    found: dict[str, Counter[Key]] = field(default_factory=dict, compare=False)
    unknown: set[str] = field(default_factory=set, compare=False)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        function = function.operation
        name = symbol_of(function)
        counted = self.found.setdefault(name, Counter())
        try:
            chip, launch = lds_model(function, None)
        except Refusal:
            self.unknown.add(name)
            return
        for allocation in read_allocations(function, launch):
            if allocation.unknown:
                self.unknown.add(name)
            if allocation.tile is None:
                continue
            for access in allocation.costing:
                try:
                    machines = machine_accesses(chip, allocation.tile, allocation.layout, access)
                except InvalidParameterError:
                    self.unknown.add(name)
                    continue
                for machine in machines:
                    costs = phase_costs(machine.instruction, machine.addresses, machine.active)
                    lost = int(np.maximum(costs - 1, 0).sum()) * access.weight
                    key = (machine.instruction.kind.value, machine.instruction.width_bytes)
                    counted[key] += lost

    def cycles(self, function: str) -> int | None:
        """Returns the conflict cycles of a function's workgroup; None if they are not known."""
        return None if function in self.unknown else sum(self.found[function].values())


def counting_edits(count: CountAccesses, mode: str) -> Sequence[PipelineEdit]:
    """Returns the edits of a mode, with `count` where verification stands.

    They are made on the pipelines of `stock`. The pass comes before the mode's own edits, because
    these put another pass in the place of its anchor.
    """
    (place,) = verifying_edits()
    edit = PipelineEdit(place.anchor, place.position, (count,), place.pipelines, required=True)
    return [edit, *mitigation_edits(Mode.parse(mode))]
