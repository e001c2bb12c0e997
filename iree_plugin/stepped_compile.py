# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a compile in steps: it stops IREE before codegen, so that Python passes can take part.

    source --(stock's phases)--> configured module --(CodegenReplay)--> module without pipelines
           --(stock's phases)--> result

Only the middle part needs MLIR's bindings, NumPy and our passes. It is imported when it is used: a
tool can load it in a thread while the compiler's library runs the phases before it without the
interpreter's lock (`early_import`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from iree.compiler.api import Session, Source

from ..passes.mode import LEVELLED
from .compile_settings import AFTER_LLVM, BEFORE_CODEGEN, PHASES, CompileSettings, has_codegen
from .described_target import DEVICES_ASSIGNED, DescribedTarget
from .embedding import Pipeline, SteppedInvocation, compiler_version
from .missing_target import missing_target, unknown_cuda_target
from .program_passes import BEFORE_DISPATCHES, LEVEL_THAT_CHANGES_PROGRAMS, changes_programs
from .rooms import has_tuning, missing_room

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


class CompileError(RuntimeError):
    """A compile failed; the message holds the compiler's diagnostics, one a line, unless they have
    been printed."""


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
        advice: what functions of all sources would gain from another level.

    Raises:
        DriverError: the settings' phases, or the directory for dumps, cannot be used.
    """

    session: Session
    settings: CompileSettings
    edits: Sequence[PipelineEdit] = ()
    decisions: DecisionLog | None = None
    console: bool = True
    general: bool = False
    forced: ForceTile | None = None
    summarizes: bool = False
    advice: list[Advice] = field(default_factory=list, init=False)
    _kernels: list[KernelCost] = field(default_factory=list)
    _messages: list[str] = field(default_factory=list)
    _open: list[SteppedInvocation] = field(default_factory=list)
    _replays: list[CodegenReplay] = field(default_factory=list)
    _managers: dict[str, PassManager] = field(default_factory=dict)
    _source: Source | None = None
    _users_configuration: str | None = None

    def __post_init__(self) -> None:
        check_phases(self.settings)
        check_level(self.settings)
        if self.settings.dump_ir is not None:
            _make_directory(self.settings.dump_ir)

    def __enter__(self) -> SteppedCompile:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    @property
    def messages(self) -> Sequence[str]:
        """Returns the diagnostics that were not printed."""
        return self._messages

    @cached_property
    def described(self) -> DescribedTarget | None:
        """Returns the GPU that the flags name, if it is described here because IREE does not."""
        gpu = DescribedTarget.of_flags(self.settings.process_flags)
        return gpu.general if gpu is not None and self.general else gpu

    def close(self) -> None:
        """Ends all invocations; written outputs stay, and another source can be compiled."""
        self._print_held()
        while self._open:
            self._open.pop().close()
        self._replays.clear()
        self._managers.clear()

    def run(self, source: Source) -> SteppedInvocation:
        """Compiles `source` and returns the invocation that holds the result, until `close`.

        Raises:
            CompileError: the compiler, or a pass, has reported an error.
            DriverError: everything was to be verified, and swizzle hints were dropped.
            PipelineEditError: an edit does not fit a pipeline.
        """
        settings = self.settings
        if settings.compile_mode != "std":
            return self._run_whole(source)
        first = self._first_phases(source)
        if not has_codegen(settings.compile_from, settings.compile_to):
            return first
        module = self._module_of(first)
        if settings.compile_to == "end":
            self.refuse_empty(module)
        self.replay(module)
        start = BEFORE_CODEGEN
        result = None
        gpu = self.described
        together = self._shares_lds(module)
        if settings.verify_lds or together or (gpu is not None and gpu.is_variant):
            if gpu is not None:
                gpu.rename(module, gpu.general)
            result = self.resume(module, start, AFTER_LLVM)
            module, start = self._module_of(result), AFTER_LLVM
            if gpu is not None:
                gpu.general.rename(module, gpu)
            if together:
                self._separate_lds(module)
        if settings.verify_lds:
            self._verify(module)
        if result is None or settings.compile_to != AFTER_LLVM:
            result = self.resume(module, start, settings.compile_to)
        if settings.verify_lds and self._dropped_hints():
            raise DriverError("--bankwise-verify: swizzle hints were dropped, see the warnings")
        return result

    def parse(self, source: Source) -> SteppedInvocation:
        """Reads `source` and verifies it; its invocation receives all later diagnostics too.

        Raises:
            CompileError: the source is not valid.
        """
        first = self._invocation()
        if self.settings.remarks_filter:
            first.setup_remarks(self.settings.remarks_filter, self.settings.remarks_file)
        self._parse_into(first, source)
        return first

    def _parse_into(self, invocation: SteppedInvocation, source: Source) -> None:
        if self._holds:
            invocation.send_diagnostics(self._messages.append)
        self._check(invocation.parse(source, console_diagnostics=not self._holds))

    def configured_module(self, source: Source) -> ir.Operation:
        """Compiles `source` to where its device functions carry their codegen configurations.

        Raises:
            CompileError: the compiler has reported an error.
        """
        return self._module_of(self._first_phases(source))

    def refuse_empty(self, module: ir.Operation) -> None:
        """Reports an error where a configured module has nothing that could run.

        Raises:
            CompileError: it is so.
        """
        from ..dialect_utils.operations import children

        if all(op.name == "util.global" for op in children(module)):
            module.location.emit_error("the module is empty: there is nothing to compile")
            raise self._failure()

    def replay(self, module: ir.Operation) -> set[str]:
        """Runs the edited pipelines of the GPU functions of a configured module.

        Returns:
            The names of the functions whose pipelines have run. All others are left to stock.

        Raises:
            CompileError: a pass failed.
            PipelineEditError: an edit does not fit a pipeline.
        """
        from .codegen_replay import CodegenReplay
        from .replay import ReplayError, StockFailure

        replay = CodegenReplay(
            self._runner,
            self.settings,
            self.edits,
            forced=self.forced,
            summarizes=self.summarizes,
        )
        self._replays.append(replay)
        try:
            replay.run(module)
        except StockFailure as error:
            # The compiler can show no source any more once it has been read again.
            self.context.sink.consume(error.diagnostic(self._what_helps()))
            raise self._failure(str(error)) from error
        except ReplayError as error:
            raise self._failure(str(error)) from error
        self.advice += replay.advice
        self._kernels += replay.kernels
        return replay.replayed

    def _what_helps(self) -> str:
        """Returns what to do where stock does not compile the source; empty if that fails, too."""
        fast = LEVEL_THAT_CHANGES_PROGRAMS
        settings, source = self.settings, self._source
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

    def resume(self, module: ir.Operation, start: str, end: str) -> SteppedInvocation:
        """Compiles `module` from after phase `start` up to phase `end`.

        Raises:
            CompileError: the compiler has reported an error.
        """
        invocation = self._invocation()
        invocation.import_op(module)
        invocation.set_phases(start, end)
        self._check(invocation.execute())
        return invocation

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
        from ..dialect_utils.diagnostics import DiagnosticSink, print_to_stderr, remarks_once
        from ..passes.base import PassContext
        from ..passes.decisions import DecisionLog

        def collect(diagnostic: Diagnostic) -> None:
            self._messages.append(str(diagnostic))

        consume = collect if self._holds else print_to_stderr
        sink = DiagnosticSink(remarks_once(consume), self.settings.remarks, brief=True)
        log = DecisionLog() if self.decisions is None else self.decisions
        settings = self.settings
        logged = self.decisions is not None or settings.decisions is not None
        return PassContext(
            sink,
            log,
            users_configuration=self._why_configured,
            unsettled=[] if settings.verify_lds else None,
            explains=logged or settings.remarks or self.summarizes,
        )

    def _why_configured(self) -> str:
        """Returns why the configurations of the source in work may be the user's own."""
        from .users_configuration import configuring_attribute, configuring_flag

        if self.forced is not None:
            return ""
        if self._users_configuration is None:
            self._users_configuration = configuring_flag(self.settings.process_flags)
            if not self._users_configuration and self._source is not None:
                # Reading it twice is less work than to look at every program before its codegen.
                # The invocation stays open, because it receives the diagnostics from here on.
                again = self._invocation()
                self._parse_into(again, self._source)
                self._users_configuration = configuring_attribute(self._module_of(again))
        return self._users_configuration

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

    def _invocation(self) -> SteppedInvocation:
        invocation = SteppedInvocation(self.session, verify=self.settings.verify)
        self._open.append(invocation)
        if self.settings.dump_phases_to:
            invocation.dump_phases_to(self.settings.dump_phases_to)
        return invocation

    def _run_whole(self, source: Source) -> SteppedInvocation:
        """Compiles by a mode without device codegen, which is stock's alone."""
        settings = self.settings
        invocation = self.parse(source)
        invocation.set_phases(settings.compile_from, settings.compile_to)
        pipeline = Pipeline.VM if settings.compile_mode == "vm" else Pipeline.PRECOMPILE
        self._check(invocation.execute(pipeline))
        if self.described is not None:
            self.described.describe(self._module_of(invocation))
        return invocation

    def _first_phases(self, source: Source) -> SteppedInvocation:
        """Compiles up to codegen, or to the last phase if that comes first."""
        start, end = self.settings.compile_from, self.settings.compile_to
        first = self.parse(source)
        self._source, self._users_configuration = source, None
        if has_codegen(start, end):
            end = BEFORE_CODEGEN
        if self.described is not None:
            if PHASES.index(start) < PHASES.index(DEVICES_ASSIGNED):
                reached = min(DEVICES_ASSIGNED, end, key=PHASES.index)
                first.set_phases(start, reached)
                self._check(first.execute())
                start = reached
            self.described.describe(self._module_of(first))
        if changes_programs(self.settings) and self.forced is None:
            if start != BEFORE_DISPATCHES:
                first.set_phases(start, BEFORE_DISPATCHES)
                self._check(first.execute())
            module = self._module_of(first)
            self._change_program(module)
            return self.resume(module, BEFORE_DISPATCHES, end)
        if start != end:
            first.set_phases(start, end)
            self._check(first.execute())
        return first

    def _change_program(self, module: ir.Operation) -> None:
        """Runs the passes that change a program before its dispatches are formed.

        Raises:
            CompileError: a pass failed.
        """
        from ..dialect_utils.operations import children
        from ..tuning.programs.program_steps import program_passes
        from .replay import ReplayError

        passes = program_passes(self.settings.mode)
        functions = [each for each in children(module) if "function_type" in each.attributes]
        try:
            for function in functions:
                for each in passes:
                    if each.has_work(function):
                        self._runner.run_python_pass(function, each)
        except ReplayError as error:
            raise self._failure(str(error)) from error

    def _module_of(self, invocation: SteppedInvocation) -> ir.Operation:
        """Returns the module, ours from here on; its invocation stays open for the diagnostics."""
        module = invocation.export()
        invocation.import_op(module)
        return module

    def _shares_lds(self, module: ir.Operation) -> bool:
        """Returns whether kernels would be launched with the LDS of others, and need not be."""
        if self.settings.mitigation not in LEVELLED or not has_tuning():
            return False
        from ..tuning.workarounds.own_lds import shares_lds

        return shares_lds(module)

    def _separate_lds(self, module: ir.Operation) -> None:
        """Gives kernels their own LDS, in a module after phase `AFTER_LLVM`."""
        from ..tuning.workarounds.own_lds import separate_lds

        separate_lds(module)

    def _verify(self, module: ir.Operation) -> None:
        """Raises CompileError where our passes have not seen all LDS, or have seen conflicts that
        the compiled code has.

        Args:
            module: after phase `AFTER_LLVM`.
        """
        from .compiled_accesses import settle
        from .device_functions import report_unverified_lds

        self._check(report_unverified_lds(module, self._replays[-1].replayed))
        unsettled = self.context.unsettled
        if unsettled:
            self._check(settle(unsettled, self.session, module, self.resume))
            unsettled.clear()

    def _dropped_hints(self) -> bool:
        """Returns whether a chosen swizzle was dropped later. The user has been warned of that."""
        from ..passes.decisions import Action

        return any(decision.action is Action.DROP for decision in self.context.log)

    def _check(self, succeeded: bool) -> None:
        if not succeeded:
            raise self._failure()

    def _failure(self, otherwise: str = "") -> CompileError:
        messages = "\n".join(self._messages) or otherwise
        if said := self._unknown_gpu and missing_target(
            self._unknown_gpu, messages, compiler_version()
        ):
            messages, self._messages[:] = said, [said]
        self._print_held()
        return CompileError(messages)

    @cached_property
    def _unknown_gpu(self) -> str:
        """Returns the GPU of the flags if the compiler may not know it. It says so by all of its
        IR, in the place of which one line shall stand."""
        return unknown_cuda_target(self.settings.process_flags)

    @property
    def _holds(self) -> bool:
        """Returns whether diagnostics are kept rather than printed at once."""
        return not self.console or bool(self._unknown_gpu)

    def _print_held(self) -> None:
        """Prints what was only kept because of a GPU that the compiler may not know."""
        if self.console and self._holds:
            for message in self._messages:
                print(message, file=sys.stderr)
            self._messages.clear()


def open_file(session: Session, path: str) -> Source:
    """Opens the input at `path`, `-` for stdin; raises DriverError where it cannot."""
    if path != "-":
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


def check_phases(settings: CompileSettings) -> None:
    """Raises DriverError for a phase that does not exist, and for phases in the wrong order."""
    start, end = settings.compile_from, settings.compile_to
    for flag, phase in (("--compile-from", start), ("--compile-to", end)):
        if phase not in PHASES:
            raise DriverError(f"{flag}: '{phase}' is not a phase (phases: {', '.join(PHASES)})")
    if PHASES.index(start) >= PHASES.index(end):
        raise DriverError(f"--compile-from={start} must precede --compile-to={end}")


def check_level(settings: CompileSettings) -> None:
    """Raises DriverError for a level whose passes are not installed."""
    if reason := missing_room(settings.mode):
        raise DriverError(reason)


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
