# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the device codegen of a compile in this process, so that Python passes can take part.

Each GPU function's own pipeline, recorded from the installed compiler, runs with our passes spliced
in, and the function is marked `#iree_codegen.no_pipeline`, so that stock does not run it again.

Passes of ours before the function is tiled may give it another configuration, even one for another
pipeline. Which passes come behind them is asked of the function as it is configured then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import field, replace
from functools import cache, partial
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING

from iree.compiler import ir

from ..bank_model.families import family_of
from ..bank_model.lds_tables import known_targets
from ..bank_model.quick_dataclass import dataclass
from ..bank_model.quick_tuple import NamedTuple
from ..dialect_utils.diagnostics import Diagnostic, PassFailure
from ..dialect_utils.gpu_target import GpuTargetInfo, gpu_target_of
from ..dialect_utils.grid import workgroups_of
from ..dialect_utils.kernels import variants_of
from ..dialect_utils.operations import children
from ..passes.base import FunctionPass
from ..passes.layout_steps import verifying_edits
from ..passes.mode import ASKING, LEVELLED
from ..passes.pipeline_edit import (
    TILING,
    NativePass,
    PipelineEdit,
    PipelineStep,
    PlannedPass,
    is_same_pass,
    made,
    splice,
)
from . import unverified
from .atomic_file import is_stream_or_device
from .beside import Beside
from .compile_settings import CompileSettings
from .device_functions import DeviceFunction, device_functions, gpu_functions
from .diagnostic_capture import captured_diagnostics
from .early_import import load_no_more
from .embedding import Lost
from .finished_kernels import Finished, FinishedKernels, executable_of, finish, shell_before
from .forked_kernels import (
    ForkedKernels,
    Sent,
    longest_of,
    may_fork,
    print_sent,
    printed_bytes,
    tell,
)
from .function_copy import FunctionCopy
from .mitigation import mitigation_edits
from .passes_ahead import PassesAhead
from .plugins import check_anchors, installed_plugins
from .recording import Recording, RecordingError, RecordingKey, RecordingStore, codegen_flags
from .replay import NativeFailure, PassRunner, RecoverableFailure, ReplayError, StockFailure
from .rooms import TUNING, has_tuning, rooms_of
from .second_attempt import (
    UnresolvedHints,
    check_resolved,
    drop_hints,
    go_without,
    said_unless,
    taken_back_on_failure,
)
from .summary import AS_STOCK, KernelCost

if TYPE_CHECKING:
    from ..dialect_utils.tuned_operation import TunedOperation
    from ..passes.decisions import DecisionLog
    from ..tuning.advice import Advice
    from ..tuning.forced_tile import ForceTile


class _Spliced(NamedTuple):
    """The pipeline of one function, with edits made.

    Attributes:
        configuring: the passes before the function is tiled, which may change its configuration.
        codegen: what stock runs on the function then, before it lowers it to LLVM.
        lowering: the first part of that.
        optional: the passes that the function can do without.
    """

    configuring: Sequence[PipelineStep]
    codegen: Sequence[PipelineStep]
    lowering: Sequence[PipelineStep]
    optional: Sequence[FunctionPass | PlannedPass]

    @staticmethod
    def of(
        function: DeviceFunction, recording: Recording, edits: Iterable[PipelineEdit]
    ) -> _Spliced:
        """Makes the edits that are for a function.

        Raises:
            PipelineEditError: an anchor is ambiguous, or missing though required.
        """
        holds = {only: only(function.op) for only in {edit.only for edit in edits} if only}
        made = [edit for edit in edits if edit.only is None or holds[edit.only]]
        codegen, lowering = splice(recording.stages, made, function.pipeline)
        steps = (step for edit in made if edit.optional for step in edit.passes)
        optional = [each for each in steps if not isinstance(each, NativePass)]
        names = [step.name for step in codegen]
        first = names.index(TILING) if TILING in names else 0
        return _Spliced(codegen[:first], codegen[first:], lowering, optional)

    def lowers_early(self, function: ir.Operation) -> bool:
        """Returns whether the first part of the LLVM lowering runs here rather than in stock.

        It does when a spliced pass has work there.
        """
        ours = (step for step in self.lowering if not isinstance(step, NativePass))
        return any(made(step).has_work(function) for step in ours)


class MissingPipeline(RecoverableFailure):
    """The compiler prints no pipeline for the configuration that a pass has given a function."""


class _Compiled(NamedTuple):
    """What a fork has made of a function.

    Attributes:
        body: the function as bytecode of MLIR; or all that has become of its executable.
        said: the diagnostics of our passes, each behind so many bytes of the compiler's.
        log: their decisions.
        tuned: the operations that got another configuration.
        advice: what the function would gain from another level.
        kernels: what its LDS costs, if somebody reads that.
    """

    body: bytes | Finished
    said: Sequence[tuple[int, Diagnostic]]
    log: DecisionLog
    tuned: Sequence[TunedOperation]
    advice: Sequence[Advice]
    kernels: Sequence[KernelCost]


@dataclass
class CodegenReplay:
    """The codegen of one module's GPU functions, each by its own pipeline with edits made.

    Attributes:
        runner: runs the spliced pipelines.
        settings: what the compile was asked for.
        more_edits: what to splice in after the edits of the mitigation and of installed plugins.
        forced: takes the place of the pass that chooses tiles.
        recordings: where the pipelines come from.
        replayed: the names of the functions whose pipelines have run here.
        shares_lds: whether kernels would be launched with the LDS of others, and need not be.
        advice: what functions would gain from another level.
        summarizes: whether somebody reads `kernels`.
        kernels: what the LDS of each GPU kernel costs in stock's layouts and in ours.
        forks: whether several functions are compiled beside each other, in forked processes.
        finishes: whether the forks make machine code of them.
        finished: those executables of which that has been made.
        expects: whether the host program may be compiled before that is there.
    """

    runner: PassRunner
    settings: CompileSettings
    more_edits: Sequence[PipelineEdit] = ()
    forced: ForceTile | None = None
    recordings: RecordingStore = field(default_factory=RecordingStore)
    replayed: set[str] = field(default_factory=set)
    shares_lds: bool = False
    advice: list[Advice] = field(default_factory=list)
    summarizes: bool = False
    kernels: list[KernelCost] = field(default_factory=list)
    forks: bool = False
    finishes: bool = False
    finished: FinishedKernels = field(default_factory=FinishedKernels)
    expects: bool = False
    _missing: set[str] = field(default_factory=set)
    """The functions of which it was said that a pipeline is missing."""
    _given_up: list[FunctionCopy] = field(default_factory=list)
    """What functions had become when an optional pass failed, kept for Python's ops in it."""
    _waiting: tuple[Beside, Callable[[], None]] | None = None
    """What still runs beside the compile of a single kernel, and what notes its result."""
    _expected: tuple[ForkedKernels, Sequence[str]] | None = None
    """The forks that still make machine code, and the names of what becomes of each kernel."""

    def run(self, module: ir.Operation) -> None:
        """Runs the edited pipeline of every GPU function of a configured module.

        Raises:
            StockFailure: the compiler's passes fail on a function without ours, too.
            ReplayError: a pass failed; its diagnostics have been emitted.
            PipelineEditError: an edit does not fit a pipeline.
        """
        variants = variants_of(module)
        functions = list(device_functions(variants))
        if len(functions) > 1:
            # They are worked on beside each other, though the program is small.
            module.context.enable_multithreading(True)
        if len(functions) == 1 and self.forks:
            load_no_more()
        recordings = self._recordings(module, functions)
        edits = self._edits(recordings) if functions else []
        self._warn(functions)
        if self.summarizes:
            self.kernels += [AS_STOCK] * (gpu_functions(variants) - len(functions))
        with self._beside(len(functions)), ExitStack() as end:
            forks = end.enter_context(self._forked(functions, recordings, edits))
            if forks is not None and self._are_expected(functions, recordings, forks):
                end.pop_all()
            else:
                self._take(functions, recordings, edits, forks)
        if self.settings.mitigation in LEVELLED and has_tuning():
            from ..tuning.workarounds.own_lds import shares_lds

            self.shares_lds = shares_lds(variants_of(module))

    def _take(
        self,
        functions: Sequence[DeviceFunction],
        recordings: Sequence[Recording | RecordingError],
        edits: Sequence[PipelineEdit],
        forks: ForkedKernels | None,
    ) -> None:
        """Takes what forks have made of functions, and compiles all others."""
        for number, function in enumerate(functions):
            recording = recordings[number]
            if isinstance(recording, RecordingError):
                self._leave_to_stock(function, str(recording))
                self.kernels.append(AS_STOCK)
                continue
            sent = None if forks is None else forks.sent(number)
            if sent is None or not self._take_over(function, sent):
                notes = self._compile_again_if_lost(function, recording, edits)
                if self.runner.beside is None:
                    notes()
                else:
                    self._waiting = self.runner.beside, notes
                    self._finish_beside(function)
                    self.runner.beside.begin(function.op)
            self.replayed.add(function.name)

    def settle(self) -> None:
        """Waits for what still decides beside the compile of a single kernel, and notes it.

        Raises:
            Lost: it is lost.
        """
        if self._waiting is not None:
            _, notes = self._waiting
            notes()
            self._waiting = None

    def _finish_beside(self, function: DeviceFunction) -> None:
        """Lets a fork make machine code of a single kernel, where its shell can be there before."""
        executable = executable_of(function.op) if self.finishes and self.expects else None
        if executable is None:
            return
        verify = self.settings.verifies_each_pass
        with ExitStack() as end:
            forks = ForkedKernels(
                executable.context,
                [0],
                lambda _: finish(self.runner.session, executable, verify=verify),
            )
            end.enter_context(forks)
            shell = shell_before(executable) if forks else None
            if shell is not None:
                self._expected = forks, [self.finished.expect(executable, shell)]
                end.pop_all()

    def _are_expected(
        self,
        functions: Sequence[DeviceFunction],
        recordings: Sequence[Recording | RecordingError],
        forks: ForkedKernels,
    ) -> bool:
        """Puts shells in the places of all kernels, if forks tell each of them."""
        executables = [executable_of(each.op) for each in functions]
        lacks_pipelines = any(isinstance(each, RecordingError) for each in recordings)
        if not (self.finishes and self.expects) or lacks_pipelines:
            return False
        if any(each is None for each in executables):
            return False
        told = [forks.sent(~number) for number in range(len(functions))]
        if any(each is None for each in told):
            return False
        names = [
            self.finished.expect(executable, sent.result)
            for executable, sent in zip(executables, told, strict=True)
            if executable is not None and sent is not None
        ]
        self._expected = forks, names
        self.replayed |= {each.name for each in functions}
        return True

    def put_binaries(self, module: ir.Operation) -> None:
        """Puts the machine code that forks have made into a module after phase `SERIALIZED` or a
        later one.

        Raises:
            Lost: a fork has not made it, there is a shell whose machine code is not known, or a
                kernel is launched otherwise than its shell says; or what has run beside is lost.
        """
        self.settle()  # The machine code takes longer.
        if self._expected is not None:
            forks, names = self._expected
            for number, name in enumerate(names):
                sent = forks.sent(number)
                if sent is None:
                    raise Lost
                finished = sent.result
                if isinstance(finished, _Compiled):
                    self._note(finished, sent.printed)
                    finished = finished.body
                else:
                    print_sent(sent.printed)
                assert isinstance(finished, Finished)
                self.finished.complete(name, finished, module.context)
            self._drop_forks()
        self.finished.put_binaries(module)

    def _drop_forks(self) -> None:
        if self._expected is not None:
            self._expected[0].__exit__()
            self._expected = None

    def drop(self) -> None:
        """Ends what still runs beside the compile, which has failed."""
        self._drop_forks()
        if self._waiting is not None:
            beside, _ = self._waiting
            beside.drop()
            self._waiting = None

    def _recordings(
        self, module: ir.Operation, functions: Sequence[DeviceFunction]
    ) -> list[Recording | RecordingError]:
        """Returns the pipelines of functions, or why there is none."""
        text = cache(lambda: module.get_asm(use_local_scope=True))
        found: list[Recording | RecordingError] = []
        for function in functions:
            key = function.recording_key(self._flags)
            try:
                found.append(self.recordings.get(key, text, function.name))
            except RecordingError as error:
                found.append(error)
        return found

    def _compile_again_if_lost(
        self, function: DeviceFunction, recording: Recording, edits: Sequence[PipelineEdit]
    ) -> Callable[[], None]:
        """Compiles a function, and where something is lost again, in one process and verified
        behind each pass.

        Returns:
            What `_compile` returns.

        Raises:
            StockFailure, ReplayError, PipelineEditError: see `run`.
        """
        context = self.runner.context
        before = FunctionCopy.of(function.op)
        lists = context.log.decisions, context.tuned, context.assumptions, self.advice
        lengths = [len(each) for each in lists]
        try:
            with said_unless(Lost, context.sink):
                return self._compile(function, recording, edits, before)
        except Lost:
            for each, length in zip(lists, lengths, strict=True):
                del each[length:]
            self._take_back(function, before, edits)
            self.runner.beside = None
            self.runner.each_verified = True
            return self._compile(function, recording, edits, before)

    def _compile(
        self,
        function: DeviceFunction,
        recording: Recording,
        edits: Sequence[PipelineEdit],
        before: FunctionCopy,
    ) -> Callable[[], None]:
        """Runs the edited pipeline of one function.

        Args:
            before: a copy of the function as it is.

        Returns:
            What waits for all that runs beside, and notes what the function has become; it may
            raise Lost.

        Raises:
            StockFailure, ReplayError, PipelineEditError: see `run`.
            Lost: what has run beside is lost.
        """
        self._advise(function)
        decided = len(self.runner.context.log.decisions)
        self.runner.context.unresolved.clear()
        is_stock = self._replay_or_blame(function, recording, edits, before)
        beside = self.runner.beside
        grid = workgroups_of(function.op) if self.summarizes else None
        function.mark_done()

        def note() -> None:
            if beside is not None:
                beside.settle()
            if self.summarizes:
                log = self.runner.context.log.since(decided)
                cost = AS_STOCK if is_stock else KernelCost.of(function.name, log, grid)
                self.kernels.append(cost)

        return note

    @contextmanager
    def _beside(self, count: int) -> Iterator[None]:
        """Lets passes that only decide run beside others, where no fork has other kernels, and
        verifies a kernel behind all passes that run in a row."""
        if count == 1 and self.forks and may_fork():
            self.runner.beside = Beside(self.runner.context)
        careless = self.runner.beside is not None and self._may_be_done_again()
        if careless:
            self.runner.each_verified = self.settings.verifies_each_pass
        try:
            with unverified.work() if careless else nullcontext():
                yield
        finally:
            self.runner.each_verified = True
            if self.runner.beside is not None:
                if self._waiting is None:
                    self.runner.beside.drop()
                self.runner.beside = None

    def _may_be_done_again(self) -> bool:
        """Returns whether the source can be read once more by a process that follows this one."""
        source = self.settings.input
        return unverified.is_watched() and source is not None and not is_stream_or_device(source)

    def _forked(
        self,
        functions: Sequence[DeviceFunction],
        recordings: Sequence[Recording | RecordingError],
        edits: Sequence[PipelineEdit],
    ) -> ForkedKernels | nullcontext[None]:
        """Returns forks that compile the functions, if there are several and forks can do it."""
        numbers = [n for n, each in enumerate(recordings) if isinstance(each, Recording)]
        if len(numbers) < 2 or not self.forks or not may_fork():
            return nullcontext()
        # What takes longest begins first, so that no fork is left with it when others have ended.
        numbers.sort(key=lambda number: functions[number].effort, reverse=True)
        # Each fork would ask for itself, and read the source for it.
        self.runner.context.users_configuration()
        longest = longest_of(numbers)

        def work(number: int) -> _Compiled:
            recording = recordings[number]
            assert isinstance(recording, Recording)
            beside = Beside(self.runner.context) if number in longest else None
            self.runner.beside = beside
            # What ends the process for invalid IR ends a fork, and is done again outside of it.
            self.runner.each_verified = self.settings.verifies_each_pass
            try:
                return self._compiled(number, functions[number], recording, edits)
            finally:
                if beside is not None:
                    beside.drop()

        return ForkedKernels(functions[0].op.context, numbers, work)

    def _compiled(
        self,
        number: int,
        function: DeviceFunction,
        recording: Recording,
        edits: Sequence[PipelineEdit],
    ) -> _Compiled:
        """Compiles a function in a fork, and returns all that is to be known of it elsewhere."""
        context = self.runner.context
        said: list[tuple[int, Diagnostic]] = []
        context.sink.consume = lambda diagnostic: said.append((printed_bytes(), diagnostic))
        before = len(context.log.decisions), len(context.tuned), len(self.advice), len(self.kernels)
        note = self._compile_again_if_lost(function, recording, edits)
        if self.runner.beside is not None:
            self.runner.beside.begin(function.op)
        body = self._compiled_body(number, function)
        note()
        log, tuned, advice, kernels = before
        return _Compiled(
            body,
            said,
            context.log.since(log),
            context.tuned[tuned:],
            self.advice[advice:],
            self.kernels[kernels:],
        )

    def _compiled_body(self, number: int, function: DeviceFunction) -> bytes | Finished:
        """Returns what a fork sends of a function that is compiled as far as it is here."""
        executable = executable_of(function.op) if self.finishes else None
        if executable is not None:
            if self.expects and (shell := shell_before(executable)) is not None:
                tell(number, shell)
            return finish(self.runner.session, executable, verify=self.settings.verifies_each_pass)
        body = BytesIO()
        function.op.write_bytecode(body)
        return body.getvalue()

    def _take_over(self, function: DeviceFunction, sent: Sent) -> bool:
        """Puts what a fork has made of a function in its place; returns whether that is valid."""
        compiled: _Compiled = sent.result
        try:
            if isinstance(compiled.body, Finished):
                executable = executable_of(function.op)
                assert executable is not None
                self.finished.put_shell(executable, compiled.body)
            else:
                module = ir.Module.parse(compiled.body, function.op.context)
                (made,) = children(module.operation)
                ir.InsertionPoint(function.op).insert(made.detach_from_parent())
                function.op.erase()
        except (ir.MLIRError, ValueError):
            return False
        self._note(compiled, sent.printed)
        return True

    def _note(self, compiled: _Compiled, printed: bytes) -> None:
        """Says what was said of a function in a fork, and notes what was decided."""
        context = self.runner.context
        shown = 0
        for place, diagnostic in compiled.said:
            print_sent(printed[shown:place])
            context.sink.consume(diagnostic)
            shown = place
        print_sent(printed[shown:])
        context.log.extend(compiled.log)
        context.tuned += compiled.tuned
        self.advice += compiled.advice
        self.kernels += compiled.kernels

    def _advise(self, function: DeviceFunction) -> None:
        """Notes what a function would gain from another level, if a room knows of something."""
        context, mode = self.runner.context, self.settings.mode
        asked = [each for each in rooms_of() if each.may_advise(function.op, mode)]

        def advices() -> list[Advice]:
            given = (each.advise(function.op, function.name, mode, context) for each in asked)
            return [each for each in given if each is not None]

        if self.runner.beside is None:
            self.advice += advices()
        elif asked:
            self.runner.beside.add(function.op, advices, self.advice.extend, lasts=True)

    @property
    def _flags(self) -> tuple[str, ...]:
        return codegen_flags(self.settings.process_flags)

    def _edits(self, recordings: Iterable[Recording | RecordingError]) -> list[PipelineEdit]:
        """Returns the edits of the mode and of others.

        Args:
            recordings: the pipelines that they are for.

        Raises:
            PipelineEditError: an edit of others names a pass that there is not.
        """
        edits = mitigation_edits(self.settings.mode)
        if self.forced is not None:
            from ..tuning.forced_tile import in_place_of_choice

            edits = in_place_of_choice(edits, self.forced)
        plugins = installed_plugins()
        # Passes of others may keep what they have seen of one kernel for the next.
        self.forks = self.forks and not plugins
        theirs = [*plugins, *self.more_edits]
        made = [*(verifying_edits() if self.settings.verify_lds else []), *edits, *theirs]
        if theirs:
            known = [each for each in recordings if isinstance(each, Recording)]
            steps = chain.from_iterable(chain.from_iterable(each.stages for each in known))
            spliced = chain.from_iterable(edit.passes for edit in made)
            check_anchors(theirs, {step.name for step in chain(steps, spliced)})
        return made

    def _replay_or_blame(
        self,
        function: DeviceFunction,
        recording: Recording,
        edits: Sequence[PipelineEdit],
        before: FunctionCopy,
    ) -> bool:
        """Runs the edited pipeline; where the compiler's passes fail in it, finds out whether they
        do without ours, too.

        Returns:
            What `_replay` returns.

        Raises:
            StockFailure: they do; nothing has been emitted.
            ReplayError: a pass failed; its diagnostics have been emitted.
        """
        try:
            with said_unless(StockFailure, self.runner.context.sink):
                try:
                    return self._replay(function, recording, edits, before)
                except NativeFailure as failure:
                    if edits and self.forced is None:
                        self._given_up.append(before.restore(function.op))
                        if self._fails_without_edits(function, recording):
                            raise StockFailure(failure, function.op.location) from failure
                    raise
        except NativeFailure as failure:
            failure.emit()
            raise

    def _fails_without_edits(self, function: DeviceFunction, recording: Recording) -> bool:
        """Returns whether the compiler's passes fail on a function that they alone work on."""
        said: list[Diagnostic] = []
        try:
            with captured_diagnostics(function.op.context, said.append):
                self._run(function, recording, [])
        except NativeFailure:
            return True
        except (ReplayError, RecoverableFailure):
            return False
        return False

    def _replay(
        self,
        function: DeviceFunction,
        recording: Recording,
        edits: Sequence[PipelineEdit],
        before: FunctionCopy,
    ) -> bool:
        """Runs the edited pipeline; where an optional pass fails, another from the beginning.

        The second pipeline is the same for the function without its swizzle hints, if it came with
        any; else it is stock's with the edits that are not optional. Where hints cannot be
        resolved, it is the same, and the allocations get layouts without these hints.

        Returns whether it is stock's.
        """
        if not edits:
            self._run(function, recording, edits)
            return True
        context = self.runner.context
        context.dropped.clear()
        self.runner.check = partial(check_resolved, context, before)
        try:
            with taken_back_on_failure(context):
                self._run(function, recording, edits)
        except UnresolvedHints as unresolved:
            self._take_back(function, before, edits)
            for dropped in unresolved.dropped:
                go_without(dropped, function.op, context)
            return self._replay(function, recording, edits, FunctionCopy.of(function.op))
        except RecoverableFailure as failed:
            self._take_back(function, before, edits)
            what, rest = self._without(failed, function, edits)
            # The passes that a missing pipeline stops, one after another, have one reason.
            if not (isinstance(failed, MissingPipeline) and function.name in self._missing):
                context.sink.warning(
                    failed.failure.location,
                    f"{what}, because {failed.step.name} cannot go on: {failed.failure.message}",
                )
            if isinstance(failed, MissingPipeline):
                self._missing.add(function.name)
            return self._replay(function, recording, rest, FunctionCopy.of(function.op))
        return False

    def _take_back(
        self, function: DeviceFunction, before: FunctionCopy, edits: Sequence[PipelineEdit]
    ) -> None:
        """Makes a function what it was, and lets passes forget what they have seen of it."""
        if self.runner.beside is not None:
            self.runner.beside.drop(all_of_it=False)
        self._given_up.append(before.restore(function.op))
        for step in (step for edit in edits for step in edit.passes):
            if isinstance(step, FunctionPass):
                step.forget(function.op)

    def _without(
        self, failed: RecoverableFailure, function: DeviceFunction, edits: Sequence[PipelineEdit]
    ) -> tuple[str, Sequence[PipelineEdit]]:
        """Returns what a function is compiled without, and the edits to compile it with.

        Raises:
            ReplayError: the hints that the function came with cannot be dropped.
        """
        if failed.step.later_passes_may_refuse:
            rest = [
                replace(
                    edit, passes=tuple(s for s in edit.passes if not is_same_pass(s, failed.step))
                )
                for edit in edits
            ]
            return f"function @{function.name} keeps its {failed.step.kept}", rest
        from ..passes.swizzles.hint_ownership import has_hints

        if not has_hints(function.op):
            what = f"function @{function.name} is compiled as iree-compile would compile it"
            return what, [edit for edit in edits if not edit.optional]
        if not drop_hints(function.op):
            failed.failure.location.emit_error(failed.failure.message)
            raise ReplayError(str(failed)) from None
        return f"the swizzle hints of function @{function.name} are dropped", edits

    def _run(
        self, function: DeviceFunction, recording: Recording, edits: Sequence[PipelineEdit]
    ) -> None:
        """Runs an edited pipeline, and checks what its passes have assumed of later ones.

        Raises:
            RecoverableFailure: a pass that the function can do without has failed, or has assumed
                what does not hold.
        """
        pipeline = _Spliced.of(function, recording, edits)
        self.runner.ahead = self._ahead(pipeline)
        blamed = self.runner.run(function.op, pipeline.configuring, pipeline.optional)
        function = function.as_configured()
        key = function.recording_key(self._flags)
        if key != recording.key:
            if blamed is None:
                raise PassFailure(function.op.location, f"{key} is not what was recorded")
            recording = self._recorded_as_configured(function, key, blamed)
        pipeline = _Spliced.of(function, recording, edits)
        self.runner.ahead = self._ahead(pipeline)
        self.runner.run(function.op, pipeline.codegen, pipeline.optional, blamed)
        if pipeline.lowers_early(function.op):
            self.runner.run(function.op, pipeline.lowering, pipeline.optional)
        assumptions = self.runner.context.assumptions
        try:
            for step, check in assumptions:
                if any(is_same_pass(each, step) for each in pipeline.optional):
                    try:
                        check(function.op)
                    except PassFailure as failure:
                        raise RecoverableFailure(step, failure) from None
        finally:
            assumptions.clear()

    def _recorded_as_configured(
        self, function: DeviceFunction, key: RecordingKey, blamed: FunctionPass
    ) -> Recording:
        """Returns the pipeline of the configuration that a pass has given a function.

        Raises:
            MissingPipeline: the compiler prints none.
        """
        try:
            return self.recordings.get(key, function.executable_alone, function.name)
        except RecordingError as error:
            failure = PassFailure(function.op.location, str(error))
            raise MissingPipeline(blamed, failure) from None

    def _ahead(self, pipeline: _Spliced) -> PassesAhead | None:
        """Returns what loads the passes of a pipeline while the compiler's run, where work of one
        kernel may run beside it at all."""
        if self.runner.beside is None:
            return None
        return PassesAhead([*pipeline.configuring, *pipeline.codegen, *pipeline.lowering])

    def _warn(self, functions: Sequence[DeviceFunction]) -> None:
        """Warns where a part of Bankwise is missing, and of each GPU without rules for its LDS."""
        if self.settings.mitigation == "stock":
            return
        if functions and not has_tuning():
            self.runner.context.sink.warning(
                functions[0].op.location,
                f"{TUNING} is not installed: what stock computes wrong stays wrong",
            )
        if self.settings.mitigation == "none":
            return
        warned: set[str] = set()
        for function in functions:
            info = gpu_target_of(function.op)
            if info is None or info.arch in warned:
                continue
            warned.add(info.arch)
            for missing in self._missing_of(info):
                self.runner.context.sink.warning(function.op.location, missing)

    def _missing_of(self, info: GpuTargetInfo) -> Iterator[str]:
        """Yields what is not known of a GPU that somebody relies on."""
        family = family_of(info.arch)
        if info.lds is None:
            known = [each for each in known_targets() if family_of(each) == family]
            yield (
                f"nothing is known of the LDS banks of {info.arch}, so that its kernels keep "
                f"stock's layouts (known: {', '.join(known)})"
            )
        if self.settings.mode.retile == ASKING and has_tuning():
            from ..tuning.costs.processors import modelled_targets, processor_of

            if processor_of(info.arch) is None:
                yield (
                    f"--bankwise-retile={ASKING}: the time of kernels on {info.arch} is not "
                    f"modelled, so that tiles stay (modelled: {', '.join(modelled_targets())})"
                )

    def _leave_to_stock(self, function: DeviceFunction, reason: str) -> None:
        self.runner.context.sink.warning(
            function.op.location, f"function @{function.name} keeps stock's layout: {reason}"
        )
