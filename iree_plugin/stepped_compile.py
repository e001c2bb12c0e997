# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One IREE compile, stopped before codegen so that Python passes can take part in it.

Stock compiles to phase `executable-configurations`. Each GPU function's own pipeline, recorded
from the installed compiler, then runs here with our passes spliced in, and the function is marked
`#iree_codegen.no_pipeline`. Stock goes on from that phase to the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from iree.compiler import ir
from iree.compiler.api import Session

from ..passes.base import FunctionPass, PassContext
from ..passes.hint_ownership import has_hints
from .compile_settings import PHASES, joined_flags
from .device_functions import DeviceFunction, children, device_functions
from .embedding import SteppedInvocation
from .first_phases import PHASE_BEFORE_CODEGEN, has_codegen
from .pipeline_edit import PipelineEdit, PipelineStep
from .recording import Recording, RecordingError, RecordingStore
from .replay import PassRunner, RecoverableFailure, ReplayError
from .second_attempt import FunctionCopy, drop_hints, taken_back_on_failure
from .splicing import splice
from .unverified_lds import AFTER_LLVM, report_unverified_lds

# Flags that cannot change which passes a device function goes through.
_HARMLESS_FLAG = re.compile(
    r"--?(iree-(hal|rocm-target|hip-target|cuda-target|input|vm|dispatch-creation|flow|stream|"
    r"global-opt|preprocessing|llvmcpu|execution-model|scheduling|parameter)|mlir-|"
    r"iree-gpu-test-target)"
)


def codegen_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """The flags among `flags` on which a codegen pipeline may depend, sorted.

    A value that follows its flag as a word of its own is joined to it.
    """
    joined = joined_flags(flags)
    return tuple(sorted(flag for flag in joined if not _HARMLESS_FLAG.match(flag)))


@dataclass
class SteppedCompile:
    """A compile whose codegen pipelines are edited.

    Attributes:
        session: the compiler session; its flags are set.
        context: shared with every Python pass.
        edits: returns what to splice into the recorded pipelines; called when codegen starts, so
            that the passes can be imported while the compiler runs its first phases.
        flags: the compile's flags, to tell which recording applies.
        runner: runs the spliced pipelines.
        recordings: where the pipelines come from.
        verify: whether the compiler verifies the IR between passes.
        dump_phases_to: directory for the IR after each phase, or empty.
        no_lds_unseen: whether LDS that our passes do not see is an error.
    """

    session: Session
    context: PassContext
    edits: Callable[[], Sequence[PipelineEdit]]
    flags: Sequence[str]
    runner: PassRunner
    recordings: RecordingStore = field(default_factory=RecordingStore)
    verify: bool = True
    dump_phases_to: str = ""
    no_lds_unseen: bool = False
    _replayed: set[str] = field(default_factory=set)
    _given_up: list[FunctionCopy] = field(default_factory=list)
    """Hold what functions had become when an optional pass failed, for Python's ops in it."""
    _open: list[SteppedInvocation] = field(default_factory=list)

    def close(self) -> None:
        """Ends all invocations; written outputs stay."""
        while self._open:
            self._open.pop().close()

    def invocation(self) -> SteppedInvocation:
        """A new invocation of the session, closed with this compile."""
        invocation = SteppedInvocation(self.session, verify=self.verify)
        if self.dump_phases_to:
            invocation.dump_phases_to(self.dump_phases_to)
        self._open.append(invocation)
        return invocation

    def finish(
        self, first: SteppedInvocation, *, start: str = "start", end: str = "end"
    ) -> SteppedInvocation | None:
        """Goes on with the compile from `start` to `end` whose first phases `first` has run.

        Args:
            first: an invocation on which `run_first_phases` has returned True.

        Returns:
            The invocation that holds the result, or None after a diagnostic.

        Raises:
            ReplayError: a pass failed; its diagnostics have been emitted.
            PipelineEditError: an edit does not fit a pipeline.
        """
        if not has_codegen(start, end):
            return first
        # Ours from here on; the first invocation stays open, for the diagnostics it prints.
        module = first.export()
        first.import_op(module)
        if end == "end" and all(op.name == "util.global" for op in children(module)):
            module.location.emit_error("the module is empty: there is nothing to compile")
            return None
        self.replay_module(module)
        start = PHASE_BEFORE_CODEGEN
        if self.no_lds_unseen and PHASES.index(AFTER_LLVM) < PHASES.index(end):
            lowered = self.invocation()
            lowered.import_op(module)
            lowered.set_phases(start, AFTER_LLVM)
            if not lowered.execute():
                return None
            module, start = lowered.export(), AFTER_LLVM
            lowered.import_op(module)
            if not report_unverified_lds(module, self._replayed):
                return None
        second = self.invocation()
        second.import_op(module)
        second.set_phases(start, end)
        return second if second.execute() else None

    def replay_module(self, module: ir.Operation) -> None:
        """Runs the edited pipeline of every GPU function of a configured module."""
        flags = codegen_flags(self.flags)
        functions = list(device_functions(module))
        edits = self.edits() if functions else []
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
            self._replayed.add(function.name)

    def _replay(
        self, function: DeviceFunction, recording: Recording, edits: Sequence[PipelineEdit]
    ) -> None:
        """Runs the edited pipeline; where an optional pass fails, another from the beginning.

        That is the same for the function without swizzle hints, if it came with any, and else
        stock's with the other edits.
        """
        if not any(edit.optional for edit in edits):
            self._run_edited(function, recording, edits)
            return
        before = FunctionCopy.of(function.op)
        try:
            with taken_back_on_failure(self.context):
                self._run_edited(function, recording, edits)
        except RecoverableFailure as failed:
            before.restore(function.op)
            self._given_up.append(before)
            for step in (step for edit in edits for step in edit.passes):
                if isinstance(step, FunctionPass):
                    step.forget(function.op)
            hinted = has_hints(function.op)
            if hinted and not drop_hints(function.op):
                failed.failure.location.emit_error(failed.failure.message)
                raise ReplayError(str(failed)) from None
            what = (
                f"the swizzle hints of function @{function.name} are dropped"
                if hinted
                else f"function @{function.name} is compiled as iree-compile would compile it"
            )
            self.context.sink.warning(
                failed.failure.location,
                f"{what}, because {failed.step.name} cannot go on: {failed.failure.message}",
            )
            rest = edits if hinted else [edit for edit in edits if not edit.optional]
            self._replay(function, recording, rest)

    def _run_edited(
        self, function: DeviceFunction, recording: Recording, edits: Sequence[PipelineEdit]
    ) -> None:
        codegen, lowering = splice(recording, edits, function.pipeline)
        optional = [
            step
            for edit in edits
            if edit.optional
            for step in edit.passes
            if isinstance(step, FunctionPass)
        ]
        self.runner.run(function.op, codegen, optional)
        if _lowers_early(function.op, lowering):
            self.runner.run(function.op, lowering, optional)

    def _leave_to_stock(self, function: DeviceFunction, reason: str) -> None:
        self.context.sink.warning(
            function.op.location, f"function @{function.name} keeps stock's layout: {reason}"
        )


def _lowers_early(function: ir.Operation, lowering: Sequence[PipelineStep]) -> bool:
    """Returns whether the first part of the LLVM lowering runs here rather than in stock.

    It does when a spliced pass has work there.
    """
    return any(isinstance(step, FunctionPass) and step.has_work(function) for step in lowering)
