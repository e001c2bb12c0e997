# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of the benchmarks, run on the emulator as one mode compiles them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from unittest.mock import patch

import numpy as np

from bankwise.bench.program_families.program import Array, Program, largest_error
from bankwise.emulator.counters import Counted
from bankwise.passes.base import FunctionPass
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.passes.pipeline_edit import PipelineEdit
from bankwise.runtime.emulated_device import EmulatedDevice
from bankwise.runtime.emulated_module import EmulatedModule, compile_for_emulation
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.runtime.host_program import HostProgram
from bankwise.sweep.cases import target_flags
from bankwise.tuning.programs import program_steps


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

    def assert_exact(self, *, by_matrix: bool) -> None:
        """Asserts that every element is right, and may assert that matrix instructions multiply."""
        (expected,) = self.program.expected(self.inputs)
        np.testing.assert_array_equal(self.run.outputs[0], expected)
        assert not by_matrix or self.run.counters[Counted.MFMA] > 0

    def actions_of(self, name: str) -> list[Action]:
        """Returns what a pass has decided."""
        return [each.action for each in self.log if each.pass_name == name]

    def assert_tiled(self, name: str, *, matrix: bool = True) -> None:
        """Asserts that the result is right, and tiled by one pass, without bank conflicts.

        Of a program that has kernels for ranges of a size, each is tiled once.

        Args:
            matrix: whether matrix instructions multiply.
        """
        assert self.error <= self.program.tolerance
        tiled = [each for each in self.log if each.action is Action.RETILE]
        assert {each.pass_name for each in tiled} == {name}
        assert len({each.function for each in tiled}) == len(tiled)
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


def run_again(
    program: Program,
    arch: str = "gfx942",
    mode: str = "auto/fast",
    *,
    inputs: Sequence[Array] = (),
    edits: Sequence[PipelineEdit] = (),
    changing: Sequence[FunctionPass] = (),
) -> ProgramRun:
    """Returns what `run_program` does, but compiles a program once for all of its inputs.

    Args:
        changing: the passes that change programs, in the place of those of the mode.
    """
    module, log = _compiled(program.source, arch, mode, tuple(edits), tuple(changing))
    drawn, device = inputs or program.draw_inputs(), EmulatedDevice(module.kernels)
    host = HostProgram(module.host, device)
    (signature,) = host.signatures
    outputs = host.call(signature.name, drawn)
    run = EmulatedRun(outputs, device.records, module.assembly)
    return ProgramRun(program, drawn, run, log)


# The cases of a table that share a program are neighbours.
@lru_cache(maxsize=4)
def _compiled(
    source: str,
    arch: str,
    mode: str,
    edits: Sequence[PipelineEdit],
    changing: Sequence[FunctionPass],
) -> tuple[EmulatedModule, DecisionLog]:
    log = DecisionLog()
    forced = patch.object(program_steps, "program_passes", lambda mode: changing)
    with forced if changing else nullcontext():
        module = compile_for_emulation(source, target_flags(arch), mode, edits=edits, decisions=log)
    with module:
        return module, log


def run_beside_stock(
    source: str, inputs: Sequence[Array], edits: Sequence[PipelineEdit]
) -> tuple[EmulatedRun, DecisionLog]:
    """Returns what a program gives at `exact` with other passes, which are the bits of stock."""
    flags, log = target_flags("gfx942"), DecisionLog()
    stock = run_emulated(source, flags, "stock", inputs)
    ours = run_emulated(source, flags, "auto/exact", inputs, edits=edits, decisions=log)
    assert ours.outputs[0].tobytes() == stock.outputs[0].tobytes()
    return ours, log
