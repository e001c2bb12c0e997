# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that tests write as text, parse, and run passes over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from iree.compiler import ir
from iree.compiler.passmanager import PassManager

from bankwise.dialect_utils.diagnostics import (
    Diagnostic,
    DiagnosticSink,
    PassFailure,
    Severity,
    SourceLocation,
)
from bankwise.dialect_utils.gpu_target import Launch, launch_of
from bankwise.dialect_utils.index.lane_values import LaneEvaluator
from bankwise.dialect_utils.memory.flow import lds_allocations
from bankwise.dialect_utils.memory.lds_accesses import AllocationAccesses, trace_allocation
from bankwise.dialect_utils.operations import operations_in
from bankwise.passes.base import FunctionPass, PassContext
from bankwise.passes.decisions import Decision

LDS = "#gpu.address_space<workgroup>"


def lds(shape: str) -> str:
    """Returns the type of an allocation in the LDS, for example of shape `64x64xf16`."""
    return f"memref<{shape}, {LDS}>"


def launched(
    threads: str = "64, 1, 1",
    wave: int = 64,
    options: str = "",
    pipeline: str = "VectorDistribute",
) -> str:
    """Returns the attribute of a function that says with how many threads it is launched."""
    return (
        "translation_info = #iree_codegen.translation_info<pipeline = "
        f"#iree_gpu.pipeline<{pipeline}> workgroup_size = [{threads}] "
        f"subgroup_size = {wave}{f', {{{options}}}' if options else ''}>"
    )


def gpu_target(arch: str, lds_bytes: int = 166912) -> str:
    """Returns the attribute that names a function's GPU, and the LDS bytes of a workgroup."""
    return (
        'hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {'
        f'iree_codegen.target_info = #iree_gpu.target<arch = "{arch}", features = "", '
        "wgp = <compute = fp32, storage = b32, subgroup = none, subgroup_size_choices = [32], "
        "max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, "
        f"max_workgroup_memory_bytes = {lds_bytes}, max_workgroup_counts = [9, 9, 9]>>}}>"
    )


@dataclass(frozen=True)
class Parsed:
    """A module, which keeps its operations alive, and the first function that it has."""

    module: ir.Module

    @property
    def function(self) -> ir.Operation:
        return self.operations("func.func")[0]

    def operations(self, *names: str) -> list[ir.Operation]:
        """Returns the operations of these names, in the order of the text."""
        return operations_in(self.module.operation, *names)

    def run_native(self, passes: str) -> None:
        """Runs passes of the compiler's own over all functions."""
        PassManager.parse(f"builtin.module(func.func({passes}))").run(self.module.operation)

    def __str__(self) -> str:
        return str(self.module)


def parse(text: str) -> Parsed:
    return Parsed(ir.Module.parse(text))


@dataclass(frozen=True)
class PassRun:
    """What passes have decided, and what they have said."""

    context: PassContext
    said: list[Diagnostic]

    @property
    def decisions(self) -> list[Decision]:
        return list(self.context.log)

    @property
    def decision(self) -> Decision:
        """Returns the only decision."""
        (only,) = self.context.log
        return only

    @property
    def messages(self) -> list[str]:
        return [each.message for each in self.said]

    @property
    def warnings(self) -> list[str]:
        return [each.message for each in self.said if each.severity is Severity.WARNING]


def run(
    parsed: Parsed,
    *passes: FunctionPass,
    target: str | None = None,
    configured: str = "",
) -> PassRun:
    """Runs passes over a function, which must verify after each of them.

    Args:
        target: the GPU of a function that names none.
        configured: why IREE's configuration may be the user's own.
    """
    said: list[Diagnostic] = []
    sink = DiagnosticSink(said.append, remarks=True)
    context = PassContext(sink, users_configuration=lambda: configured, test_target=target)
    for each in passes:
        each.run(parsed.function, context)
        assert parsed.module.operation.verify()
    return PassRun(context, said)


HERE = "// here"
"""Ends the line that is spoken of, in the text of a function."""


Edit = tuple[str, str]
"""A part of a text, and what takes its place."""
Kept = Mapping[str, tuple[str, *tuple[Edit, ...]]]
"""Edits of a text after which passes leave it alone: by the name of a case, why, and the edits."""


def each_kept(cases: Kept) -> pytest.MarkDecorator:
    """Returns what runs a test for each case, with its `reason` and its `edits`."""
    parameters = [(reason, edits) for reason, *edits in cases.values()]
    return pytest.mark.parametrize(("reason", "edits"), parameters, ids=cases)


def edited(text: str, *edits: Edit) -> str:
    """Returns a text with other parts in the place of some that it has once."""
    for old, new in edits:
        assert text.count(old) == 1, f"{text.count(old)} times in the text: {old}"
        text = text.replace(old, new)
    return text


def assert_said(text: str, *passes: FunctionPass, said: str, target: str | None = None) -> Parsed:
    """Asserts that passes say this of each line `HERE`, and no more; returns what they leave."""
    parsed = parse(text)
    found = run(parsed, *passes, target=target).said
    assert all(said in each.message for each in found), found
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith(HERE)]
    assert lines and sorted(each.location.line for each in found if each.location) == lines
    return parsed


def assert_fails(text: str, step: FunctionPass, *, said: str, target: str | None = None) -> None:
    """Asserts that a pass fails at the line `HERE` of a text, for a reason, and changes nothing."""
    parsed = parse(text)
    with pytest.raises(PassFailure) as failure:
        run(parsed, step, target=target)
    assert said in failure.value.message
    place = SourceLocation.of(failure.value.location)
    assert place is not None
    assert text.splitlines()[place.line - 1].endswith(HERE)
    assert str(parsed) == str(parse(text))


def assert_kept(text: str, *passes: FunctionPass, said: str, target: str | None = None) -> None:
    """Asserts that passes change nothing in a text, and say why of each line `HERE`, no more."""
    parsed = assert_said(text, *passes, said=said, target=target)
    assert str(parsed) == str(parse(text))


def traced(
    parsed: Parsed,
    launch: Launch | None = None,
    unroll: int = 0,
    *,
    in_all_workgroups: bool = False,
) -> list[AllocationAccesses]:
    """Returns the accesses to each allocation in the LDS.

    Args:
        launch: that of a function without the attribute.
        unroll: the most iterations of a loop whose accesses are told apart.
        in_all_workgroups: whether copies of other workgroups are told apart.
    """
    launch = launch or launch_of(parsed.function)
    assert launch is not None
    evaluator = LaneEvaluator(launch)
    return [
        trace_allocation(
            each, parsed.function, evaluator, unroll, in_all_workgroups=in_all_workgroups
        )
        for each in lds_allocations(parsed.function)
    ]
