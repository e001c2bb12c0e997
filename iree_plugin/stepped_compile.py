# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a compile in steps: it stops IREE before codegen, so that Python passes can take part.

    source --(stock's phases)--> configured module --(CodegenReplay)--> module without pipelines
           --(stock's phases)--> result

Only the middle part needs MLIR's bindings, NumPy and our passes. It is imported when it is used: a
tool can load it in a thread while the compiler's library runs the phases before it without the
interpreter's lock (`early_import`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from iree.compiler.api import Session, Source

from ..bank_model.quick_dataclass import dataclass
from ..bank_model.shown_text import did_you_mean
from ..passes.mode import LEVELLED
from .atomic_file import is_stream_or_device
from .compile_settings import (
    AFTER_LLVM,
    BEFORE_CODEGEN,
    CONSTANT_EVALUATION,
    EVALUATED,
    PHASES,
    CompileSettings,
    has_codegen,
)
from .described_target import DEVICES_ASSIGNED, DescribedTarget
from .early_import import begin_loading, program_changed
from .embedding import Lost, Pipeline, StepError, SteppedInvocation, work_in_one_thread
from .ending_forks import wait_for_ending
from .invocations import CompileError, Invocations
from .program_passes import (
    BEFORE_DISPATCHES,
    LEVEL_THAT_CHANGES_PROGRAMS,
    change_program,
    changes_programs,
    keep_unsigned,
    keeps_unsigned,
    may_be_wrong,
    reaches_programs,
    repair_program,
)
from .rooms import missing_room

if TYPE_CHECKING:
    from iree.compiler import ir
    from iree.compiler.passmanager import PassManager

    from ..dialect_utils.diagnostics import Diagnostic
    from ..passes.base import PassContext
    from ..passes.decisions import DecisionLog
    from ..passes.pipeline_edit import PipelineEdit
    from ..tuning.advice import Advice
    from ..tuning.forced_tile import ForceTile
    from .codegen_replay import CodegenReplay
    from .replay import IrPrinting, PassRunner
    from .summary import KernelCost

_SMALL_BYTES = 1 << 13

Step: TypeAlias = "str | Callable[[ir.Operation], None]"
"""A phase up to which stock compiles, or what works on the module between two phases."""

_PIPELINES = {"std": Pipeline.STD, "vm": Pipeline.VM, "precompile": Pipeline.PRECOMPILE}


class DriverError(RuntimeError):
    """An input, directory or option that cannot be used."""


@dataclass
class SteppedCompile:
    """Compiles sources in one session; to be used in a `with` statement, which closes it.

    Attributes:
        session: the compiler session; its flags are set.
        settings: how to compile, and between which phases. What is read and written is the
            caller's affair.
        edits: passes to splice in beside those of the mitigation and of installed plugins.
        decisions: filled with what each LDS allocation got, and why.
        console: whether diagnostics are printed; otherwise a CompileError holds them.
        general: whether code for a variant of a GPU, such as sm_90a, becomes code for sm_90,
            because somebody else lowers and assembles it.
        forced: takes the place of the pass that chooses tiles, which are IREE's own choice then.
        summarizes: whether somebody asks for `summary_text`.
        forks: whether the process may be forked, so that kernels are compiled beside each other.
        advice: what functions of all sources would gain from another level.
        invocations: they have read the sources.

    Raises:
        DriverError: the settings' phases, or the directory for dumps, cannot be used, or the
            passes of the level are not installed.
    """

    session: Session
    settings: CompileSettings
    edits: Sequence[PipelineEdit] = ()
    decisions: DecisionLog | None = None
    console: bool = True
    general: bool = False
    forced: ForceTile | None = None
    summarizes: bool = False
    forks: bool = False
    advice: list[Advice] = field(default_factory=list, init=False)
    invocations: Invocations = field(init=False)
    _kernels: list[KernelCost] = field(default_factory=list)
    _replays: list[CodegenReplay] = field(default_factory=list)
    _expects: bool = True
    _noted: Sequence[int] = (0, 0, 0, 0)
    """How many decisions, tuned operations, advices and costs of kernels earlier sources have."""
    _managers: dict[str, PassManager] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_phases(self.settings)
        if reason := missing_room(self.settings.mode):
            raise DriverError(reason)
        if self.settings.dump_ir is not None:
            _make_directory(self.settings.dump_ir)
        self.invocations = Invocations(self.session, self.settings, self.console)

    def __enter__(self) -> SteppedCompile:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()
        wait_for_ending()

    @cached_property
    def described(self) -> DescribedTarget | None:
        """Returns the GPU that the flags name, if it is described here because IREE does not."""
        gpu = DescribedTarget.of_flags(self.settings.process_flags)
        return gpu.general if gpu is not None and self.general else gpu

    def close(self) -> None:
        """Ends all invocations; written outputs stay, and another source can be compiled."""
        self.invocations.close()
        self._drop()
        self._managers.clear()

    def run(self, source: Source, end: str = "") -> SteppedInvocation:
        """Compiles `source` and returns the invocation that holds the result, until `close`.

        Args:
            end: the last phase; that of the settings if it is empty.

        Raises:
            CompileError: the compiler, or a pass, has reported an error.
            DriverError: everything was to be verified, and swizzle hints were dropped.
            PipelineEditError: an edit does not fit a pipeline.
        """
        while True:
            try:
                invocation = self._run(source, end)
                for replay in self._replays:
                    replay.settle()
                break
            except Lost:
                # A fork was killed, or could not work: all of it again, and nothing is expected of
                # forks; or without any. And nothing is evaluated ahead of the compiler.
                self.forks, self._expects = self.forks and self._expects, False
            for each, length in zip(self._lists(), self._noted, strict=True):
                del each[length:]
            self._drop()
        if self._replays:
            self._noted = [len(each) for each in self._lists()]
        return invocation

    def _lists(self) -> Sequence[list[Any]]:
        """Returns what grows with each kernel of all sources."""
        context = self.context
        return context.log.decisions, context.tuned, self.advice, self._kernels

    def _drop(self) -> None:
        """Ends what still runs beside a compile."""
        for replay in self._replays:
            replay.drop()
        self._replays.clear()

    def _run(self, source: Source, end: str) -> SteppedInvocation:
        """Compiles `source`; what only decides may still run beside."""
        if self.forks and _is_small(self.settings.input):
            work_in_one_thread(self.session)
        invocation = self.invocations.read(source)
        begin_loading()
        reached, pipeline = self.settings.compile_from, _PIPELINES[self.settings.compile_mode]
        with self._reported():
            for step in self._steps(invocation, end or self.settings.compile_to):
                if not isinstance(step, str):
                    step(invocation.export())
                elif step != reached:
                    invocation.execute(reached, step, pipeline)
                    reached = step
                    if step == BEFORE_CODEGEN and end != BEFORE_CODEGEN:
                        invocation.verify_each_pass(self.settings.verifies_each_pass)
        return invocation

    def _steps(self, invocation: SteppedInvocation, end: str) -> Iterator[Step]:
        """Yields what a compile up to phase `end` does. Each step is made when its turn has come:
        it may need what is not loaded before, and depend on what the steps before it have found.
        """
        settings, start, gpu = self.settings, self.settings.compile_from, self.described
        changes = changes_programs(settings) and self.forced is None
        if keeps_unsigned(settings):
            yield partial(keep_unsigned, runner=self._runner)
        if not changes:
            program_changed()
        if gpu is not None:
            # Of a mode without device codegen stock runs all phases at once.
            steps = settings.compile_mode == "std"
            known = max(start, DEVICES_ASSIGNED, key=PHASES.index) if steps else end
            yield min(known, end, key=PHASES.index)
            yield gpu.describe
        evaluates = self._expects and settings.evaluates_constants
        if evaluates and PHASES.index(end) > PHASES.index(EVALUATED):
            yield from self._evaluating_steps(invocation)
        if reaches_programs(settings):
            yield BEFORE_DISPATCHES
            if changes:
                yield partial(change_program, mode=settings.mode, runner=self._runner)
                program_changed()
            elif may_be_wrong(invocation):
                yield partial(repair_program, runner=self._runner)
        if settings.compile_mode == "std" and has_codegen(start, end):
            yield from self._codegen_steps(end)
        else:
            yield end

    def _evaluating_steps(self, invocation: SteppedInvocation) -> Iterator[Step]:
        """Yields what evaluates constants faster than the compiler does."""
        self.session.set_flags(f"--{CONSTANT_EVALUATION}=false")
        try:
            yield EVALUATED
        finally:
            self.session.set_flags(f"--{CONSTANT_EVALUATION}=true")
        if invocation.holds("util.initializer"):
            from .constant_globals import evaluate_constants

            yield partial(evaluate_constants, session=self.session)

    def _codegen_steps(self, end: str) -> Iterator[Step]:
        yield BEFORE_CODEGEN
        if end == "end":
            from .device_functions import refuse_empty

            yield refuse_empty
        replay = self._new_replay()
        yield replay.run
        gpu = self.described
        if gpu is not None and gpu.is_variant:
            yield partial(gpu.rename, other=gpu.general)
            yield AFTER_LLVM
            yield partial(gpu.general.rename, other=gpu)
        if replay.shares_lds:
            from ..tuning.workarounds.own_lds import separate_lds

            yield AFTER_LLVM
            yield separate_lds
        if self.settings.verify_lds:
            yield AFTER_LLVM
            yield from self._verifying_steps(replay)
        if replay.finished:
            # Forks make machine code meanwhile.
            yield end
            yield replay.put_binaries
        yield end
        if self.settings.verify_lds and self._dropped_hints():
            raise DriverError("--bankwise-verify: swizzle hints were dropped, see the warnings")

    def _verifying_steps(self, replay: CodegenReplay) -> Iterator[Step]:
        """Yields what fails where our passes have not seen all LDS, or have seen conflicts that the
        compiled code has."""
        from .compiled_accesses import settle
        from .device_functions import report_unverified_lds

        yield partial(report_unverified_lds, verified=replay.replayed)
        if unsettled := self.context.unsettled:
            yield partial(settle, unsettled=unsettled, invocations=self.invocations)
            unsettled.clear()

    def _dropped_hints(self) -> bool:
        """Returns whether a chosen swizzle was dropped later. The user has been warned of that."""
        from ..passes.decisions import Action

        return any(decision.action is Action.DROP for decision in self.context.log)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Makes a CompileError of the failure of a step, with what has been said."""
        try:
            yield
        except StepError as error:
            # The compiler can show no source any more once it has been read again.
            if (unsaid := error.unsaid(self._what_helps)) is not None:
                self.context.sink.consume(unsaid)
            raise self.invocations.failure(str(error)) from error

    def configured_module(self, source: Source) -> ir.Operation:
        """Compiles `source` to where its device functions carry their codegen configurations.

        Raises:
            CompileError: the compiler has reported an error.
        """
        return self.run(source, BEFORE_CODEGEN).export()

    def refuse_empty(self, module: ir.Operation) -> None:
        """Reports an error where a configured module has nothing that could run.

        Raises:
            CompileError: it is so.
        """
        from .device_functions import refuse_empty

        with self._reported():
            refuse_empty(module)

    def replay(self, module: ir.Operation) -> set[str]:
        """Runs the edited pipelines of the GPU functions of a configured module.

        Returns:
            The names of the functions whose pipelines have run. All others are left to stock.

        Raises:
            CompileError: a pass failed.
            PipelineEditError: an edit does not fit a pipeline.
        """
        replay = self._new_replay()
        with self._reported():
            replay.run(module)
        return replay.replayed

    def _new_replay(self) -> CodegenReplay:
        from .codegen_replay import CodegenReplay
        from .finished_kernels import may_finish

        replay = CodegenReplay(
            self._runner,
            self.settings,
            self.edits,
            forced=self.forced,
            summarizes=self.summarizes,
            advice=self.advice,
            kernels=self._kernels,
            forks=self.forks and self._hides_nothing(),
            finishes=self.described is None and may_finish(self.settings),
            expects=self._expects,
        )
        self._replays.append(replay)
        return replay

    def _hides_nothing(self) -> bool:
        """Returns whether all that is asked for of a kernel can be sent by a fork."""
        settings = self.settings
        runner = self._runner
        prints = runner.flagged or any(runner.printing) or runner.dumps is not None
        others = self.edits or self.forced is not None or settings.remarks_filter
        return not (prints or others or settings.verify_lds or self.invocations.holds)

    def _what_helps(self) -> str:
        """Returns what to do where stock does not compile the source; empty if that fails, too."""
        fast = LEVEL_THAT_CHANGES_PROGRAMS
        settings, source = self.settings, self.invocations.source
        if source is None or settings.mitigation not in LEVELLED or settings.level == fast:
            return ""
        again = replace(
            settings,
            level=fast,
            remarks=False,
            verify_lds=False,
            dump_ir=None,
            dump_phases_to="",
        )
        with SteppedCompile(
            self.session, again, self.edits, console=False, general=self.general
        ) as trial:
            try:
                trial.run(source)
            except CompileError:
                return ""
        return f"--bankwise-level={fast} compiles it"

    def advice_text(self, flag: str) -> str:
        """Returns what is said of the advice, with what asks for the level; empty without any."""
        if not self.advice:
            return ""
        from ..tuning.advice import advice_text

        return advice_text(self.advice, flag)

    def summary_text(self) -> str:
        """Returns in one line what the compiles have gained; nothing where they make no code."""
        from .summary import summary_text

        return summary_text(self._kernels, self.settings)

    @cached_property
    def context(self) -> PassContext:
        """Returns what the passes of all sources share."""
        from ..dialect_utils.diagnostics import DiagnosticSink, print_to_stderr, said_once
        from ..passes.base import PassContext
        from ..passes.decisions import DecisionLog

        def collect(diagnostic: Diagnostic) -> None:
            self.invocations.messages.append(str(diagnostic))

        consume = collect if self.invocations.holds else print_to_stderr
        sink = DiagnosticSink(said_once(consume), self.settings.remarks, brief=True)
        log = DecisionLog() if self.decisions is None else self.decisions
        settings = self.settings
        asked = self.invocations.users_configuration if self.forced is None else str
        logged = self.decisions is not None or settings.decisions is not None or settings.remarks
        return PassContext(
            sink,
            log,
            users_configuration=asked,
            unsettled=[] if settings.verify_lds else None,
            explains=logged or self.summarizes,
            details=logged,
        )

    @cached_property
    def _runner(self) -> PassRunner:
        from .replay import IrDumps, PassRunner

        directory = self.settings.dump_ir
        dumps = None if directory is None else IrDumps(Path(directory))
        flagged = any(flag.lstrip("-").startswith("mlir-") for flag in self.settings.process_flags)
        return PassRunner(
            self.session,
            self.context,
            _printing(self.settings),
            dumps,
            flagged=flagged,
            managers=self._managers,
        )


def open_file(session: Session, path: str) -> Source:
    """Opens the input at `path`, `-` for stdin; raises DriverError where it cannot."""
    # What a pipe holds can be read once.
    if not is_stream_or_device(path):
        # The compiler's own message for a missing file names no path.
        try:
            with Path(path).open("rb"):
                pass
        except OSError as error:
            raise DriverError(f"cannot open input '{path}': {error.strerror}") from None
    return source_of_file(session, path)


def source_of_file(session: Session, path: str) -> Source:
    """Returns a file, which can be read, for the compiler; `-` is stdin.

    The compiler prints names as they are. Where a name would reach the terminal with control
    characters, the file is read here, and its name is shown as text.
    """
    if path.isprintable():
        return Source.open_file(session, path)
    from .input_text import InputText

    return InputText.read(path).source(session)


def _is_small(path: str | None) -> bool:
    """Returns whether a source is so short that it is a program of few kernels."""
    try:
        return path is not None and 0 < Path(path).stat().st_size <= _SMALL_BYTES
    except OSError:
        return False


def check_phases(settings: CompileSettings) -> None:
    """Raises DriverError for a phase that does not exist, and for phases in the wrong order."""
    start, end = settings.compile_from, settings.compile_to
    for flag, phase in (("--compile-from", start), ("--compile-to", end)):
        if phase not in PHASES:
            known, hint = ", ".join(PHASES), did_you_mean(phase, PHASES)
            raise DriverError(f"{flag}: '{phase}' is not a phase (phases: {known}){hint}")
    if PHASES.index(start) >= PHASES.index(end):
        raise DriverError(f"--compile-from={start} must precede --compile-to={end}")


def _make_directory(path: str) -> None:
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DriverError(f"cannot make directory '{path}': {error.strerror}") from None


def _printing(settings: CompileSettings) -> IrPrinting:
    from .replay import IrPrinting

    given = {flag.lstrip("-") for flag in settings.process_flags}
    return IrPrinting(
        before=frozenset(settings.print_before),
        after=frozenset(settings.print_after),
        before_all="mlir-print-ir-before-all" in given,
        after_all="mlir-print-ir-after-all" in given,
        module_scope="mlir-print-ir-module-scope" in given,
    )
