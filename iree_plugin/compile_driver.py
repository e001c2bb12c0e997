# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `bankwise-compile` does: sources in, one atomically written output out."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Iterator
from pathlib import Path

from iree.compiler.api import Output, Session, Source

from ..dialect_utils.diagnostics import DiagnosticSink
from ..passes.base import PassContext
from .atomic_file import AtomicFile, is_stream_or_device
from .compile_settings import PHASES, CompileSettings
from .embedding import OutputFormat, Pipeline, SteppedInvocation, split_source
from .pipeline_edit import PipelineEdit, installed_plugins
from .replay import IrDumps, IrPrinting, PassRunner, ReplayError
from .stepped_compile import SteppedCompile


class DriverError(RuntimeError):
    """An input, output or option that cannot be used."""


def compile_to_output(options: CompileSettings) -> bool:
    """Compiles as `options` say; the process's flags have been set.

    Returns:
        False when the compiler has reported an error. The output file then is as it was before.

    Raises:
        DriverError: a file, directory or phase that cannot be used.
        PipelineEditError: a plugin's edit does not fit.
    """
    _check_phases(options)
    assert options.input is not None
    if options.compile_mode == "std":
        _import_ahead()
    session = Session()
    context = PassContext(sink=DiagnosticSink(remarks=options.remarks))
    with contextlib.ExitStack() as stack:
        source = _open_source(session, options.input)
        output = stack.enter_context(_atomic_output(options.output))
        decisions = (
            stack.enter_context(_atomic_file(options.decisions)) if options.decisions else None
        )
        sources = split_source(session, source) if options.split_input else [source]
        compiled = [_compile_one(session, context, options, each, output.file) for each in sources]
        if not all(compiled):
            return False
        if decisions is not None:
            decisions.temporary.write_text(context.log.to_json())
            decisions.keep()
        output.keep()
    return True


def _edits(mitigation: str) -> list[PipelineEdit]:
    # The passes bring NumPy: imported here, they load while the compiler works; see _import_ahead.
    from .mitigation import Mitigation, mitigation_edits

    return [*mitigation_edits(Mitigation(mitigation)), *installed_plugins()]


_DIALECTS_IN_KERNELS = (
    *("affine", "amdgpu", "arith", "gpu", "hal", "iree_codegen", "iree_gpu"),
    *("math", "memref", "scf", "tensor", "vector"),
)


def _import_ahead() -> None:
    """Imports what the passes need in a thread, beside the compiler's first phases.

    The compiler runs without the interpreter's lock. MLIR's bindings import a dialect's module
    when they first meet an op of it; `numpy.ma` comes with the first `np.unique`.
    """
    modules = [
        f"{__package__}.mitigation",
        "numpy.ma",
        *(f"iree.compiler.dialects.{name}" for name in _DIALECTS_IN_KERNELS),
    ]

    def import_all() -> None:
        for module in modules:
            # Whoever needs the module will see why it cannot be imported.
            with contextlib.suppress(ImportError):
                importlib.import_module(module)

    threading.Thread(target=import_all, daemon=True).start()


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


def _open_source(session: Session, path: str) -> Source:
    if path != "-":
        # The compiler's own message for a missing file names no path.
        try:
            with Path(path).open("rb"):
                pass
        except OSError as error:
            raise DriverError(f"cannot open input '{path}': {error.strerror}") from None
    return Source.open_file(session, path)


def _compile_one(
    session: Session, context: PassContext, options: CompileSettings, source: Source, output: Output
) -> bool:
    flags = options.process_flags
    dumps = None
    if options.dump_ir is not None:
        dumps = IrDumps(_directory(options.dump_ir))
    compilation = SteppedCompile(
        session=session,
        context=context,
        edits=lambda: _edits(options.mitigation),
        flags=flags,
        runner=PassRunner(session, context, _printing(options), dumps),
        verify=options.verify,
        dump_phases_to=options.dump_phases_to,
    )
    try:
        first = compilation.invocation()
        if options.remarks_filter:
            first.setup_remarks(options.remarks_filter, options.remarks_file)
        if options.compile_mode == "std":
            result = compilation.run(
                first, source, start=options.compile_from, end=options.compile_to
            )
        else:
            result = _run_whole(first, source, options)
        if result is None:
            return False
        result.write(output, _output_format(options), bytecode_version=options.bytecode_version)
    except ReplayError:
        return False
    finally:
        compilation.close()
    return True


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


@contextlib.contextmanager
def _atomic_file(path: str) -> Iterator[AtomicFile]:
    try:
        atomic = AtomicFile(path)
    except OSError as error:
        raise DriverError(f"cannot write '{path}': {error.strerror}") from None
    try:
        yield atomic
    finally:
        atomic.discard()


class _OutputFile:
    """A compiler output, on a stream or device directly, on a file atomically."""

    def __init__(self, file: Output, atomic: AtomicFile | None) -> None:
        self.file = file
        self._atomic = atomic

    def keep(self) -> None:
        self.file.keep()
        self.file.close()
        if self._atomic is not None:
            self._atomic.keep()


@contextlib.contextmanager
def _atomic_output(path: str) -> Iterator[_OutputFile]:
    with contextlib.ExitStack() as stack:
        atomic = None
        if not is_stream_or_device(path):
            atomic = stack.enter_context(_atomic_file(path))
        file = Output.open_file(path if atomic is None else str(atomic.temporary))
        stack.callback(file.close)
        yield _OutputFile(file, atomic)
