# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of the benchmarks, run on the emulator as one mode compiles them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bankwise.bench.program_families.program import Array, Program, largest_error
from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.pipeline_edit import PipelineEdit
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags


@dataclass(frozen=True)
class ProgramRun:
    """What a program gave for some inputs, with what was decided."""

    program: Program
    inputs: Sequence[Array]
    run: EmulatedRun
    log: DecisionLog

    @property
    def error(self) -> float:
        """Returns the largest error of the output, as `largest_error` defines it."""
        (expected,) = self.program.expected(self.inputs)
        return largest_error(self.run.outputs[0], expected)

    @property
    def bits(self) -> bytes:
        """Returns the output."""
        return self.run.outputs[0].tobytes()

    def actions_of(self, name: str) -> list[Action]:
        """Returns what a pass has decided."""
        return [each.action for each in self.log if each.pass_name == name]

    def assert_tiled(self, name: str, *, matrix: bool = True) -> None:
        """Asserts that the result is right, and tiled by one pass, without bank conflicts.

        Args:
            matrix: whether matrix instructions multiply.
        """
        assert self.error <= self.program.tolerance
        assert [each.pass_name for each in self.log if each.action is Action.RETILE] == [name]
        assert (self.run.counters[Counted.MFMA] > 0) == matrix
        assert self.run.counters[Counted.CONFLICTS] == 0
        assert self.log.conflict_cycles_left() == 0


def run_program(
    program: Program,
    arch: str = "gfx942",
    mode: str = "auto/fast",
    *,
    inputs: Sequence[Array] = (),
    edits: Sequence[PipelineEdit] = (),
) -> ProgramRun:
    """Returns what a program gives for its own inputs, or for some that are given."""
    log, drawn = DecisionLog(), inputs or program.draw_inputs()
    flags = target_flags(arch)
    run = run_emulated(program.source, flags, mode, drawn, edits=edits, decisions=log)
    return ProgramRun(program, drawn, run, log)


def run_beside_stock(
    source: str, inputs: Sequence[Array], edits: Sequence[PipelineEdit]
) -> tuple[EmulatedRun, DecisionLog]:
    """Returns what a program gives at `exact` with other passes, which are the bits of stock."""
    flags, log = target_flags("gfx942"), DecisionLog()
    stock = run_emulated(source, flags, "stock", inputs)
    ours = run_emulated(source, flags, "auto/exact", inputs, edits=edits, decisions=log)
    assert ours.outputs[0].tobytes() == stock.outputs[0].tobytes()
    return ours, log
