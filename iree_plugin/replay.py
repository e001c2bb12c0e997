# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a spliced pipeline over one function: native passes as text, ours as Python passes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import field
from importlib import import_module
from itertools import groupby
from pathlib import Path

from iree.compiler import ir
from iree.compiler.api import Session
from iree.compiler.passmanager import PassManager

from ..bank_model.quick_dataclass import dataclass
from ..bank_model.quick_tuple import NamedTuple
from ..dialect_utils.diagnostics import (
    Diagnostic,
    PassFailure,
    Refusal,
    Severity,
    SourceLocation,
    location_at,
    raised,
)
from ..dialect_utils.operations import children
from ..passes.base import FunctionPass, PassContext
from ..passes.pipeline_edit import NativePass, PipelineStep, PlannedPass, made
from .atomic_file import write_output
from .beside import Beside
from .diagnostic_capture import CapturedInvocation, captured_diagnostics
from .embedding import Lost, StepError, SteppedInvocation
from .native_callbacks import AROUND_NATIVE_PASS
from .passes_ahead import PassesAhead

_COLLECTING = frozenset(
    ("canonicalize", "iree-codegen-canonicalize", "iree-codegen-config-tracking-canonicalize")
)
"""Passes that collect the patterns of all dialects before they first run: 1.1 ms, which is longer
than canonicalizing most functions takes. A pipeline has twenty of them, of three kinds."""
# Passes of the recorded pipelines that have no textual name, as transform-dialect pattern sets
# that hold the same patterns.
_PATTERN_SETS = {"fold-tensor-subset-ops": "tensor.fold_tensor_subset_ops"}


class ReplayError(StepError):
    """A pass failed; its diagnostics have been emitted."""


class NativeFailure(ReplayError):
    """Passes of the compiler's own failed; nothing has been emitted.

    Attributes:
        errors: what they said.
    """

    def __init__(self, function: str, errors: Sequence[ir.DiagnosticInfo]) -> None:
        super().__init__(f"pipeline failed on {function}")
        self.errors = errors

    def emit(self) -> None:
        """Emits the errors."""
        for error in self.errors:
            _emit_again(error)


class StockFailure(ReplayError):
    """The compiler's passes fail on a function without ours, too; nothing has been emitted."""

    def __init__(self, failure: NativeFailure, place: ir.Location) -> None:
        super().__init__(str(failure))
        self._failure, self._place = failure, place

    def unsaid(self, what_helps: Callable[[], str]) -> Diagnostic:
        """Returns the first error, without the whole function, which its notes show."""
        said = [each.message.splitlines()[0] for each in self._failure.errors[:1]]
        place = self._failure.errors[0].location if said else self._place
        text = ": ".join(["iree-compile fails on this, too", *said])
        text += f"; {helps}" if (helps := what_helps()) else ""
        return Diagnostic(Severity.ERROR, text, SourceLocation.of(place))


class RecoverableFailure(Exception):
    """A pass that the caller can do without failed; nothing has been emitted.

    Attributes:
        step: the pass.
        failure: what it said, and where.
    """

    def __init__(self, step: FunctionPass, failure: PassFailure) -> None:
        super().__init__(f"{step.name} failed: {failure.message}")
        self.step = step
        self.failure = failure


class IrPrinting(NamedTuple):
    """Which of our passes' IR to print, as the `--mlir-print-ir-*` flags ask for."""

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    before_all: bool = False
    after_all: bool = False
    module_scope: bool = False

    def applies_to(self, name: str) -> tuple[bool, bool]:
        """Returns whether to print before and after the pass `name`."""
        return self.before_all or name in self.before, self.after_all or name in self.after


@dataclass
class IrDumps:
    """Writes the IR after each of our passes into numbered files of a directory.

    One is for a whole run: where parts of the input have functions of the same name, their files
    differ by the number alone.
    """

    directory: Path
    written: int = 0

    def write(self, function: ir.Operation, pass_name: str) -> None:
        """Writes `NN-<function>-<pass>.mlir`."""
        name = ir.StringAttr(function.attributes["sym_name"]).value
        self.written += 1
        path = self.directory / f"{self.written:02d}-{name}-{pass_name}.mlir"
        write_output(str(path), f"{function.get_asm(use_local_scope=True)}\n".encode())


@dataclass
class PassRunner:
    """Runs pipeline steps on functions of one session.

    Attributes:
        session: the compiler session that owns the IR's context.
        context: shared with every Python pass.
        printing: which of our passes print their IR to stderr.
        dumps: where the IR after each of our passes is written, if anywhere.
        verify: whether the IR is verified behind our passes.
        each_verified: whether it is verified behind each of the compiler's, and not only where the
            next of these follow, behind ours; what fails then is to be done again with it, and is
            `Lost`.
        flagged: whether flags of the process are for the compiler's pass managers.
        check: called behind each of our passes; raises a `RecoverableFailure` where the function in
            work is to be compiled in another way.
        beside: runs passes that only decide behind all others; None lets them run in turn.
        ahead: loads passes of ours while the compiler's run; None lets each load before it runs.
        managers: those of the compiler's passes, by the pipeline of these. They are to be given up
            before the session's context is.
    """

    session: Session
    context: PassContext
    printing: IrPrinting = field(default_factory=IrPrinting)
    dumps: IrDumps | None = None
    verify: bool = True
    each_verified: bool = True
    flagged: bool = False
    check: Callable[[], None] | None = None
    beside: Beside | None = None
    ahead: PassesAhead | None = None
    managers: dict[str, PassManager] = field(default_factory=dict)

    def run(
        self,
        function: ir.Operation,
        steps: Sequence[PipelineStep],
        optional: Collection[FunctionPass | PlannedPass] = (),
        blamed: FunctionPass | None = None,
    ) -> FunctionPass | None:
        """Runs `steps` on `function`, in order.

        Args:
            blamed: the pass without which the caller tries again where one of the compiler's fails.
                Where there is one, passes that are not `optional` are recoverable, too.

        Returns:
            the pass that is blamed for what fails behind these steps.

        Raises:
            NativeFailure: a pass of the compiler's failed.
            ReplayError: another pass failed, and has said why.
            RecoverableFailure: one of the passes `optional` cannot process the function, or the
                compiler, or another pass, cannot go on with what it made; or `check` has raised it.
            Lost: passes of the compiler are to run again, verified one by one, because some have
                failed or the function is invalid.
        """
        unverified: list[str] = []
        for step in _segments(steps):
            if not isinstance(step, PlannedPass):
                self._verify(function, unverified)
            if not isinstance(step, list):
                ours, recoverable = made(step), step in optional
                if self._runs_beside(ours.only_decides, function, ours):
                    continue
                together = isinstance(step, PlannedPass) and not self._shows
                # One that no function does without may fail on what optional ones have made.
                again = recoverable or blamed is not None
                self._run_ours(function, ours, recoverable=again, verify=not together)
                if together:
                    unverified.append(ours.name)
                if ours.later_passes_may_refuse and recoverable:
                    blamed = ours
            elif step[0].name in _PATTERN_SETS:
                _apply_patterns(function, step[0].name)
            else:
                self.run_native_passes(function, step, blamed)
                if not self.each_verified:
                    unverified += [each.name for each in step]
        self._verify(function, unverified)
        return blamed

    @property
    def _shows(self) -> bool:
        """Returns whether somebody looks at the IR behind single passes."""
        return any(self.printing) or self.dumps is not None

    def _run_ours(
        self, function: ir.Operation, step: FunctionPass, *, recoverable: bool, verify: bool
    ) -> None:
        """Runs one of our passes, of which a fork may do what decisions alone say."""
        counts = self._runs_beside(step.mostly_counts, function, step)
        context = self.context.unheard() if counts else self.context
        self.run_python_pass(function, step, context, recoverable=recoverable, verify=verify)
        if self.check is not None:
            self.check()

    def _verify(self, function: ir.Operation, passes: list[str]) -> None:
        """Verifies what passes have made that have run behind each other.

        To verify a kernel takes longer than most of ours.

        Raises:
            ReplayError: it is invalid, which is said.
            Lost: it is invalid, and passes of the compiler's were not verified one by one.
        """
        if not passes or not self.verify:
            return
        try:
            function.verify()
        except ir.MLIRError as error:
            if not self.each_verified:
                raise Lost from error
            for diagnostic in error.error_diagnostics:
                _emit_again(diagnostic)
            raise ReplayError(f"{', '.join(passes)} failed") from error
        passes.clear()

    def _runs_beside(
        self,
        may: Callable[[ir.Operation, PassContext], bool],
        function: ir.Operation,
        step: FunctionPass,
    ) -> bool:
        """Lets a pass run beside, if its answer is that it may."""
        if self.beside is None or not may(function, self.context):
            return False
        self.beside.add_pass(function, step)
        return True

    def run_native_passes(
        self,
        function: ir.Operation,
        passes: Sequence[NativePass],
        blamed: FunctionPass | None = None,
    ) -> None:
        """Runs adjacent passes of the compiler, of which one with callbacks is alone.

        Args:
            blamed: the pass of ours without which the caller tries again after a failure.

        Raises:
            NativeFailure: a pass failed.
            ReplayError: one could not be called.
            RecoverableFailure: a pass failed, and `blamed` may be the reason.
            Lost: a pass failed while passes of ours were loaded, or has said something; or it is
                not known which one has failed.
        """
        around = AROUND_NATIVE_PASS.get(passes[0].name)
        if self.ahead and around is None and not self.flagged:
            self.ahead.run(self._managers_for(function, passes), function)
            return
        try:
            with nullcontext() if around is None else around(function):
                if blamed is None:
                    self._run_natively(function, passes)
                else:
                    self._run_refusable(function, passes, blamed)
        except PassFailure as error:
            error.location.emit_error(error.message)
            raise ReplayError(f"{passes[0].name} failed") from error

    def _run_natively(self, function: ir.Operation, passes: Sequence[NativePass]) -> None:
        errors = self._errors(function, passes, SteppedInvocation)
        if errors is not None:
            raise NativeFailure(str(function.attributes["sym_name"]), errors)

    def _run_refusable(
        self, function: ir.Operation, passes: Sequence[NativePass], blamed: FunctionPass
    ) -> None:
        """Runs passes of the compiler, and prints no error of theirs if one fails."""
        said: list[Diagnostic] = []
        with captured_diagnostics(function.context, said.append):
            errors = self._errors(function, passes, CapturedInvocation)
        if errors is not None:
            reasons = (each.message for each in (*errors, *said))
            reason = next(reasons, "the compiler gives no reason")
            raise RecoverableFailure(blamed, PassFailure(function.location, reason))
        for each in said:
            self.context.sink.consume(each)

    def _errors(
        self,
        function: ir.Operation,
        passes: Sequence[NativePass],
        invocation: type[SteppedInvocation],
    ) -> Sequence[ir.DiagnosticInfo] | None:
        """Runs passes of the compiler, and returns None if they succeed.

        Args:
            invocation: what runs them where flags are for pass managers, which those that Python
                makes do not read.

        Returns:
            the errors that have not been emitted, if a pass fails.
        """
        if self.flagged:
            return None if invocation(self.session).run_on(function, _text(passes)) else ()
        try:
            for manager in self._managers_for(function, passes):
                manager.run(function)
        except ir.MLIRError as error:
            if not self.each_verified:
                raise Lost from error
            return error.error_diagnostics
        return None

    def _managers_for(
        self, function: ir.Operation, passes: Sequence[NativePass]
    ) -> list[PassManager]:
        """Returns what runs passes of the compiler one behind another."""
        groups: list[list[NativePass]] = []
        for collecting, alike in groupby(passes, lambda each: each.name in _COLLECTING):
            group = [*alike]
            groups += [[each] for each in group] if collecting else [group]
        return [self._manager_for(function, _text(each)) for each in groups]

    def _manager_for(self, function: ir.Operation, text: str) -> PassManager:
        """Returns what runs passes of the compiler, which is kept for all functions."""
        pipeline = f"{function.name}({text})"
        manager = self.managers.get(pipeline)
        if manager is None:
            manager = PassManager.parse(pipeline, function.context)
            self.managers[pipeline] = manager
        manager.enable_verifier(self.each_verified)
        return manager

    def run_python_pass(
        self,
        function: ir.Operation,
        step: FunctionPass,
        context: PassContext | None = None,
        *,
        recoverable: bool = False,
        verify: bool = True,
    ) -> None:
        """Runs one of our passes as an MLIR pass, with MLIR's verification behind it.

        Args:
            context: what it decides in, if that is not the runner's.
            verify: whether its result is verified; else the caller does that.

        Raises:
            ReplayError: the pass failed, and has said why.
            RecoverableFailure: a `recoverable` pass has raised a PassFailure or a Refusal. A
                mistake in the pass, which raises something else, stays an error.
        """
        failures: list[PassFailure] = []
        deliberate: list[PassFailure] = []

        def run(op: ir.Operation, external_pass: object) -> None:
            try:
                step.run(op.operation, self.context if context is None else context)
            except (Exception, SystemExit) as error:  # A pass of a plugin may exit.
                failures.append(_as_failure(error, op, step))
                if isinstance(error, PassFailure | Refusal):
                    deliberate.append(failures[-1])
                external_pass.signal_pass_failure()  # pyright: ignore[reportAttributeAccessIssue]

        manager = self._manager_of(function, step, verify=verify)
        manager.add(run, name=type(step).__name__, argument=step.name, description=step.summary)
        try:
            manager.run(function)
        except ir.MLIRError as error:
            if recoverable and deliberate:
                raise RecoverableFailure(step, deliberate[0]) from None
            for failure in failures:
                failure.location.emit_error(failure.message)
            for diagnostic in error.error_diagnostics:
                _emit_again(diagnostic)
            raise ReplayError(f"{step.name} failed") from error
        if self.dumps is not None:
            self.dumps.write(function, step.name)

    def _manager_of(
        self, function: ir.Operation, step: FunctionPass, *, verify: bool
    ) -> PassManager:
        """Returns what runs one of our passes, still without it."""
        manager = PassManager("any", function.context)
        manager.enable_verifier(self.verify and verify)
        before, after = self.printing.applies_to(step.name)
        if before or after:
            function.context.enable_multithreading(False)
            manager.enable_ir_printing(
                print_before_all=before,
                print_after_all=after,
                print_module_scope=self.printing.module_scope,
            )
        return manager


def _as_failure(error: BaseException, op: ir.Operation, step: FunctionPass) -> PassFailure:
    """Returns what `error` means for the user: a pass's own failure, or a mistake in the pass.

    A refusal that a pass does not catch is its failure: what it has changed so far may be half.
    """
    if isinstance(error, Refusal):
        return PassFailure(location_at(error.location, op), f"{step.name}: {error.reason}")
    if not isinstance(error, PassFailure):
        return PassFailure(op.location, f"{step.name} raised {raised(error)}")
    # Who calls it may be a plugin, which no type checker has seen.
    place = error.location if isinstance(error.location, ir.Location) else op.location
    return PassFailure(place, str(error.message))


def _emit_again(diagnostic: ir.DiagnosticInfo) -> None:
    """Emits an error that the pass manager has caught; notes go along as text."""
    notes = [f"\nnote: {note.message}" for note in diagnostic.notes]
    diagnostic.location.emit_error(diagnostic.message + "".join(notes))


def _segments(
    steps: Sequence[PipelineStep],
) -> Iterator[FunctionPass | PlannedPass | list[NativePass]]:
    """Groups adjacent native passes that are run by their text, so that each text is parsed once.

    A pass with callbacks, or without a text, is a group of its own.
    """
    for is_text, neighbours in groupby(steps, _is_text):
        if is_text:
            yield [step for step in neighbours if isinstance(step, NativePass)]
            continue
        for step in neighbours:
            yield [step] if isinstance(step, NativePass) else step


def _text(passes: Sequence[NativePass]) -> str:
    """Returns the list of passes as the compiler reads it."""
    return ",".join(map(str, passes))


def _is_text(step: PipelineStep) -> bool:
    special = step.name in _PATTERN_SETS or step.name in AROUND_NATIVE_PASS
    return isinstance(step, NativePass) and not special


def _apply_patterns(function: ir.Operation, name: str) -> None:
    """Applies the patterns of an unnamed pass greedily, by the transform dialect."""
    # The wheel's `dialects.transform.interpreter` wraps this, and brings all op views along.
    interpreter = import_module("iree.compiler._mlir_libs._mlirTransformInterpreter")
    script = ir.Module.parse(
        "module attributes {transform.with_named_sequence} {\n"
        "  transform.named_sequence @apply(%f: !transform.any_op {transform.readonly}) {\n"
        "    transform.apply_patterns to %f {\n"
        f"      transform.apply_patterns.{_PATTERN_SETS[name]}\n"
        "    } : !transform.any_op\n"
        "    transform.yield\n"
        "  }\n"
        "}",
        function.context,
    )
    (sequence,) = children(script.operation)
    interpreter.apply_named_sequence(function, sequence, script.operation)
