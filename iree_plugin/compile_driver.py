# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `bankwise-compile` does: sources in, one atomically written output out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from iree.compiler.api import Output, Session, Source

from .atomic_file import AtomicFile, check_output, is_stream_or_device, write_output
from .compile_settings import PHASES, CompileSettings
from .embedding import OutputFormat, Pipeline, SteppedInvocation, output_bytes, split_source
from .first_phases import has_codegen, run_first_phases

if TYPE_CHECKING:
    # Whatever needs MLIR's bindings loads beside the first phases: see `early_import`.
    from iree.compiler import ir

    from ..passes.base import PassContext
    from .pipeline_edit import PipelineEdit
    from .replay import IrDumps, IrPrinting


class DriverError(RuntimeError):
    """An input, directory or option that cannot be used."""


def compile_to_output(options: CompileSettings) -> bool:
    """Compiles as `options` say; the process's flags have been set.

    Returns:
        False when the compiler has reported an error. The output file then is as it was before.

    Raises:
        DriverError: an input, directory or phase that cannot be used, or a plugin's edit that
            does not fit.
        OutputError: an output that cannot be written.
    """
    _check_phases(options)
    assert options.input is not None
    session = Session()
    with contextlib.ExitStack() as stack:
        source = open_file(session, options.input)
        output = stack.enter_context(_atomic_output(options.output))
        if options.decisions is not None:
            check_output(options.decisions)
        dump_directory = None if options.dump_ir is None else _directory(options.dump_ir)
        codegen = _Codegen(session, options, dump_directory)
        sources = split_source(session, source) if options.split_input else [source]
        compiled = [_compile_one(session, options, each, codegen, output.file) for each in sources]
        if not all(compiled):
            return False
        if options.decisions is not None:
            write_output(options.decisions, codegen.decisions_json().encode())
        output.keep()
    return True


def compile_to_module(session: Session, options: CompileSettings) -> ir.Operation | None:
    """Compiles as `options` say, and returns the module after their last phase.

    The process's flags have been set; what the output file should be is not looked at.

    Returns:
        None when the compiler has reported an error.

    Raises:
        DriverError, OutputError: as for `compile_to_output`.
    """
    _check_phases(options)
    assert options.input is not None
    with contextlib.ExitStack() as stack:
        source = open_file(session, options.input)
        if options.decisions is not None:
            check_output(options.decisions)
        dump_directory = None if options.dump_ir is None else _directory(options.dump_ir)
        codegen = _Codegen(session, options, dump_directory)
        result = _run(stack, session, options, source, codegen)
        if result is None:
            return None
        if options.decisions is not None:
            write_output(options.decisions, codegen.decisions_json().encode())
        return result.export()


def _check_phases(options: CompileSettings) -> None:
    for flag, phase in (
        ("--compile-from", options.compile_from),
        ("--compile-to", options.compile_to),
    ):
        if phase not in PHASES:
            raise DriverError(f"{flag}: '{phase}' is not a phase (phases: {', '.join(PHASES)})")
    if PHASES.index(options.compile_from) >= PHASES.index(options.compile_to):
        raise DriverError(
            f"--compile-from={options.compile_from} must precede --compile-to={options.compile_to}"
        )


def open_file(session: Session, path: str) -> Source:
    """The input at `path`, `-` for stdin; DriverError where it cannot be opened."""
    if path != "-":
        # The compiler's own message for a missing file names no path.
        try:
            with Path(path).open("rb"):
                pass
        except OSError as error:
            raise DriverError(f"cannot open input '{path}': {error.strerror}") from None
    return Source.open_file(session, path)


def _compile_one(
    session: Session,
    options: CompileSettings,
    source: Source,
    codegen: _Codegen,
    output: Output,
) -> bool:
    with contextlib.ExitStack() as stack:
        result = _run(stack, session, options, source, codegen)
        if result is None:
            return False
        result.write(output, _output_format(options), bytecode_version=options.bytecode_version)
    return True


def _run(
    stack: contextlib.ExitStack,
    session: Session,
    options: CompileSettings,
    source: Source,
    codegen: _Codegen,
) -> SteppedInvocation | None:
    """The invocation that holds the result, closed with `stack`; None after a diagnostic."""
    invocation = SteppedInvocation(session, verify=options.verify)
    stack.callback(invocation.close)
    if options.dump_phases_to:
        invocation.dump_phases_to(options.dump_phases_to)
    if options.remarks_filter:
        invocation.setup_remarks(options.remarks_filter, options.remarks_file)
    if options.compile_mode != "std":
        return _run_whole(invocation, source, options)
    phases = (options.compile_from, options.compile_to)
    if not run_first_phases(invocation, source, start=phases[0], end=phases[1]):
        return None
    return codegen.finish(stack, invocation) if has_codegen(*phases) else invocation


class _Codegen:
    """The compiles' codegen with our passes: what needs MLIR's bindings, loaded when it is used."""

    def __init__(
        self, session: Session, options: CompileSettings, dump_directory: Path | None
    ) -> None:
        self._session = session
        self._options = options
        self._dump_directory = dump_directory
        self._dumps: IrDumps | None = None

    @cached_property
    def _context(self) -> PassContext:
        from ..dialect_utils.diagnostics import DiagnosticSink
        from ..passes.base import PassContext

        return PassContext(sink=DiagnosticSink(remarks=self._options.remarks))

    def decisions_json(self) -> str:
        """The decisions of all compiles so far."""
        return self._context.log.to_json()

    def _dropped_hints(self) -> bool:
        """Whether a swizzle that was counted on has been dropped; a warning has said so."""
        from ..passes.decisions import Action

        return any(decision.action is Action.DROP for decision in self._context.log)

    def finish(
        self, stack: contextlib.ExitStack, first: SteppedInvocation
    ) -> SteppedInvocation | None:
        """Finishes a compile whose first phases have run; None after a diagnostic.

        What holds the result is closed with `stack`.
        """
        from .pipeline_edit import PipelineEditError
        from .replay import IrDumps, PassRunner, ReplayError
        from .stepped_compile import SteppedCompile

        options = self._options
        if self._dump_directory is not None and self._dumps is None:
            self._dumps = IrDumps(self._dump_directory)
        runner = PassRunner(self._session, self._context, _printing(options), self._dumps)
        compilation = SteppedCompile(
            session=self._session,
            context=self._context,
            edits=lambda: _edits(options),
            flags=options.process_flags,
            runner=runner,
            verify=options.verify,
            dump_phases_to=options.dump_phases_to,
            no_lds_unseen=options.verify_lds,
        )
        stack.callback(compilation.close)
        try:
            result = compilation.finish(first, start=options.compile_from, end=options.compile_to)
            if options.verify_lds and self._dropped_hints():
                raise DriverError("--bankwise-verify: swizzle hints were dropped, see the warnings")
            return result
        except ReplayError:
            return None
        except PipelineEditError as error:
            raise DriverError(str(error)) from None


def _edits(options: CompileSettings) -> Sequence[PipelineEdit]:
    from .mitigation import mitigation_edits, verifying_edits
    from .pipeline_edit import installed_plugins

    return [
        *(verifying_edits() if options.verify_lds else []),
        *mitigation_edits(options.mitigation),
        *installed_plugins(),
    ]


def _run_whole(
    invocation: SteppedInvocation, source: Source, options: CompileSettings
) -> SteppedInvocation | None:
    """The modes without device codegen: stock alone."""
    invocation.set_phases(options.compile_from, options.compile_to)
    pipeline = Pipeline.VM if options.compile_mode == "vm" else Pipeline.PRECOMPILE
    done = invocation.parse(source) and invocation.execute(pipeline)
    return invocation if done else None


def _output_format(options: CompileSettings) -> OutputFormat:
    mlir = (
        options.compile_to != "end"
        or options.compile_mode == "precompile"
        or options.output_format == "vm-asm"
    )
    if mlir:
        return OutputFormat.MLIR_BYTECODE if options.emit_bytecode else OutputFormat.MLIR
    return OutputFormat.VM_C if options.output_format == "vm-c" else OutputFormat.VM_BYTECODE


def _printing(options: CompileSettings) -> IrPrinting:
    from .replay import IrPrinting

    given = {flag.lstrip("-") for flag in options.process_flags}
    return IrPrinting(
        before=frozenset(options.print_before),
        after=frozenset(options.print_after),
        before_all="mlir-print-ir-before-all" in given,
        after_all="mlir-print-ir-after-all" in given,
        module_scope="mlir-print-ir-module-scope" in given,
    )


def _directory(path: str) -> Path:
    directory = Path(path)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DriverError(f"cannot make directory '{path}': {error.strerror}") from None
    return directory


class _OutputFile:
    """A compiler output: a file appears when it is kept, a stream is written then.

    The compiler ends the process where a stream takes no more, so that it never gets one.
    """

    def __init__(self, path: str, file: Output, atomic: AtomicFile | None) -> None:
        self.file = file
        self._path = path
        self._atomic = atomic

    def keep(self) -> None:
        if self._atomic is None:
            write_output(self._path, output_bytes(self.file))
            return
        self.file.keep()
        self.file.close()
        self._atomic.keep()


@contextlib.contextmanager
def _atomic_output(path: str) -> Iterator[_OutputFile]:
    with contextlib.ExitStack() as stack:
        atomic = None
        if not is_stream_or_device(path):
            atomic = stack.enter_context(AtomicFile(path))
        file = Output.open_membuffer()
        if atomic is not None:
            file = Output.open_file(str(atomic.temporary))
        stack.callback(file.close)
        yield _OutputFile(path, file, atomic)
