# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the device codegen of a compile in this process, so that Python passes can take part.

Each GPU function's own pipeline, recorded from the installed compiler, runs with our passes spliced
in, and the function is marked `#iree_codegen.no_pipeline`, so that stock does not run it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from iree.compiler import ir

from ..dialect_utils.diagnostics import PassFailure
from ..passes.base import FunctionPass
from ..passes.swizzles.hint_ownership import has_hints
from .compile_settings import CompileSettings, joined_flags
from .device_functions import DeviceFunction, device_functions
from .mitigation import mitigation_edits, verifying_edits
from .pipeline_edit import PipelineEdit, PipelineEditError, PipelineStep, installed_plugins
from .recording import Recording, RecordingError, RecordingStore
from .replay import PassRunner, RecoverableFailure, ReplayError
from .second_attempt import FunctionCopy, drop_hints, taken_back_on_failure

# Flags that cannot change which passes a device function goes through.
_HARMLESS_FLAG = re.compile(
    r"--?(iree-(hal|rocm-target|hip-target|cuda-target|input|vm|dispatch-creation|flow|stream|"
    r"global-opt|preprocessing|llvmcpu|execution-model|scheduling|parameter)|mlir-|"
    r"iree-gpu-test-target)"
)


def codegen_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """Returns the flags among `flags` on which a codegen pipeline may depend, sorted.

    A value that follows its flag as a word of its own is joined to it.
    """
    joined = joined_flags(flags)
    return tuple(sorted(flag for flag in joined if not _HARMLESS_FLAG.match(flag)))


def splice(
    recording: Recording, edits: Iterable[PipelineEdit], pipeline: str
) -> tuple[list[PipelineStep], list[PipelineStep]]:
    """Returns the codegen and lowering stages of `recording` with the edits made in order.

    Only edits for `pipeline` count. An edit goes to the stage that holds its anchor; an anchor in
    both needs an `occurrence`, which then counts within the codegen stage.

    Raises:
        PipelineEditError: an anchor is ambiguous, or missing though required.
    """
    stages: list[list[PipelineStep]] = [
        list(recording.codegen_steps),
        list(recording.lowering_steps),
    ]
    for edit in edits:
        if pipeline not in edit.pipelines or not edit.fits(stages):
            continue
        holders = [s for s in stages if any(step.name == edit.anchor for step in s)]
        if len(holders) == 2 and edit.occurrence is None:
            raise PipelineEditError(
                f"anchor '{edit.anchor}' occurs in codegen and in the LLVM lowering; "
                "name a pass that occurs once, or set `occurrence`"
            )
        stage = holders[0] if holders else stages[0]
        stage[:] = edit.apply(stage)
    return stages[0], stages[1]


@dataclass
class CodegenReplay:
    """The codegen of one module's GPU functions, each by its own pipeline with edits made.

    Attributes:
        runner: runs the spliced pipelines.
        settings: what the compile was asked for.
        more_edits: what to splice in after the edits of the mitigation and of installed plugins.
        recordings: where the pipelines come from.
        replayed: the names of the functions whose pipelines have run here.
    """

    runner: PassRunner
    settings: CompileSettings
    more_edits: Sequence[PipelineEdit] = ()
    recordings: RecordingStore = field(default_factory=RecordingStore)
    replayed: set[str] = field(default_factory=set)
    _given_up: list[FunctionCopy] = field(default_factory=list)
    """What functions had become when an optional pass failed, kept for Python's ops in it."""

    def run(self, module: ir.Operation) -> None:
        """Runs the edited pipeline of every GPU function of a configured module.

        Raises:
            ReplayError: a pass failed; its diagnostics have been emitted.
            PipelineEditError: an edit does not fit a pipeline.
        """
        flags = codegen_flags(self.settings.process_flags)
        functions = list(device_functions(module))
        edits = self._edits() if functions else []
        text = ""
        for function in functions:
            key = function.recording_key(flags)
            recording = self.recordings.find(key)
            if recording is None:
                text = text or module.get_asm(use_local_scope=True)
                try:
                    recording = self.recordings.get(key, text, function.name)
                except RecordingError as error:
                    self._leave_to_stock(function, str(error))
                    continue
            self._replay(function, recording, edits)
            function.mark_done()
            self.replayed.add(function.name)

    def _edits(self) -> list[PipelineEdit]:
        return [
            *(verifying_edits() if self.settings.verify_lds else []),
            *mitigation_edits(self.settings.mode),
            *installed_plugins(),
            *self.more_edits,
        ]

    def _replay(
        self, function: DeviceFunction, recording: Recording, edits: Sequence[PipelineEdit]
    ) -> None:
        """Runs the edited pipeline; where an optional pass fails, another from the beginning.

        The second pipeline is the same for the function without its swizzle hints, if it came with
        any; else it is stock's with the edits that are not optional.
        """
        if not any(edit.optional for edit in edits):
            self._run_edited(function, recording, edits)
            return
        before = FunctionCopy.of(function.op)
        try:
            with taken_back_on_failure(self.runner.context):
                self._run_edited(function, recording, edits)
        except RecoverableFailure as failed:
            before.restore(function.op)
            self._given_up.append(before)
            for step in (step for edit in edits for step in edit.passes):
                if isinstance(step, FunctionPass):
                    step.forget(function.op)
            what, rest = self._without(failed, function, edits)
            self.runner.context.sink.warning(
                failed.failure.location,
                f"{what}, because {failed.step.name} cannot go on: {failed.failure.message}",
            )
            self._replay(function, recording, rest)

    def _without(
        self, failed: RecoverableFailure, function: DeviceFunction, edits: Sequence[PipelineEdit]
    ) -> tuple[str, Sequence[PipelineEdit]]:
        """Returns what a function is compiled without, and the edits to compile it with.

        Raises:
            ReplayError: the hints that the function came with cannot be dropped.
        """
        if failed.step.later_passes_may_refuse:
            rest = [
                replace(edit, passes=tuple(step for step in edit.passes if step != failed.step))
                for edit in edits
            ]
            return f"function @{function.name} keeps its {failed.step.kept}", rest
        if not has_hints(function.op):
            what = f"function @{function.name} is compiled as iree-compile would compile it"
            return what, [edit for edit in edits if not edit.optional]
        if not drop_hints(function.op):
            failed.failure.location.emit_error(failed.failure.message)
            raise ReplayError(str(failed)) from None
        return f"the swizzle hints of function @{function.name} are dropped", edits

    def _run_edited(
        self, function: DeviceFunction, recording: Recording, edits: Sequence[PipelineEdit]
    ) -> None:
        holds = {only: only(function.op) for only in {edit.only for edit in edits} if only}
        made = [edit for edit in edits if edit.only is None or holds[edit.only]]
        codegen, lowering = splice(recording, made, function.pipeline)
        optional = [
            step
            for edit in made
            if edit.optional
            for step in edit.passes
            if isinstance(step, FunctionPass)
        ]
        self.runner.run(function.op, codegen, optional)
        if _lowers_early(function.op, lowering):
            self.runner.run(function.op, lowering, optional)
        self._check_assumptions(function, optional)

    def _check_assumptions(
        self, function: DeviceFunction, optional: Sequence[FunctionPass]
    ) -> None:
        """Checks what the passes that the function can do without have assumed of later ones.

        Raises:
            RecoverableFailure: one has assumed what does not hold.
        """
        assumptions = self.runner.context.assumptions
        try:
            for step, check in assumptions:
                if step in optional:
                    try:
                        check(function.op)
                    except PassFailure as failure:
                        raise RecoverableFailure(step, failure) from None
        finally:
            assumptions.clear()

    def _leave_to_stock(self, function: DeviceFunction, reason: str) -> None:
        self.runner.context.sink.warning(
            function.op.location, f"function @{function.name} keeps stock's layout: {reason}"
        )


def _lowers_early(function: ir.Operation, lowering: Sequence[PipelineStep]) -> bool:
    """Returns whether the first part of the LLVM lowering runs here rather than in stock.

    It does when a spliced pass has work there.
    """
    return any(isinstance(step, FunctionPass) and step.has_work(function) for step in lowering)
