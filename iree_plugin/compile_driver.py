# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `bankwise-compile` does: sources in, one atomically written output out."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence

from iree.compiler.api import Output, Session, Source

from .atomic_file import (
    check_distinct,
    check_output,
    write_output,
)
from .compile_settings import NOTE, CompileSettings
from .embedding import OutputFormat, output_memory, split_source
from .stepped_compile import CompileError, SteppedCompile, open_file


def compile_to_output(options: CompileSettings) -> None:
    """Compiles as `options` say; the process's flags have been set.

    Where it fails, the output file is as it was before.

    Raises:
        CompileError: the compiler has reported an error, which has been printed.
        DriverError: an input, directory or phase that cannot be used.
        PipelineEditError: a plugin's edit that does not fit.
        OutputError: an output that cannot be written.
    """
    assert options.input is not None
    outputs = {
        "-o": options.output,
        "--bankwise-decisions": options.decisions,
        "--bankwise-write-tuning-spec": options.tuning_spec,
        "--remarks-output-file": options.remarks_file if options.remarks_filter else None,
    }
    check_distinct([options.input], outputs)
    session = Session()
    with SteppedCompile(session, options, summarizes=not options.quiet, forks=True) as compilation:
        source = open_file(session, options.input)
        sources = split_source(session, source) if options.split_input else [source]
        try:
            check_output(options.output)
            # The compiler ends the process where a stream or a disk takes no more, without naming
            # it, so that it never gets one.
            with contextlib.closing(Output.open_membuffer()) as memory:
                with records_written(compilation):
                    _compile_all(compilation, sources, memory)
                write_output(options.output, output_memory(memory))
            print_summary(compilation)
        finally:
            # What does not compile otherwise may do so with that.
            print_note(compilation.advice_text("--bankwise-level=fast"))


def print_summary(compilation: SteppedCompile, subject: str = "") -> None:
    """Prints to standard error what a compile has gained, if it was asked to count that.

    Args:
        subject: what the line begins with.
    """
    text = compilation.summary_text() if compilation.summarizes else ""
    if text:
        print(f"{subject}{text}", file=sys.stderr)


def print_note(text: str) -> None:
    """Prints a note to standard error, if there is something to say."""
    if text:
        print(f"{NOTE}{text}", file=sys.stderr)


def _compile_all(compilation: SteppedCompile, sources: Sequence[Source], output: Output) -> None:
    """Writes the results of all sources behind each other; an error stops none of the others."""
    settings = compilation.settings
    failed: CompileError | None = None
    for source in sources:
        try:
            result = compilation.run(source)
            form = _output_format(settings)
            result.write(output, form, bytecode_version=settings.bytecode_version)
        except CompileError as error:
            failed = error
        finally:
            compilation.close()
    if failed is not None:
        raise failed


@contextlib.contextmanager
def records_written(compilation: SteppedCompile) -> Iterator[None]:
    """Writes what the body's compiles have decided where the settings say, if the body succeeds:
    the decisions, and the chosen tiles as a tuning spec.

    Raises:
        OutputError: they cannot be written, which is found out before the body runs.
    """
    decisions, spec = compilation.settings.decisions, compilation.settings.tuning_spec
    for path in (decisions, spec):
        if path is not None:
            check_output(path)
    yield
    if decisions is not None:
        write_output(decisions, compilation.context.log.to_json().encode())
    if spec is not None:
        from .tuning_spec import tuning_spec

        write_output(spec, tuning_spec(compilation.context.tuned).encode())


def _output_format(options: CompileSettings) -> OutputFormat:
    mlir = (
        options.compile_to != "end"
        or options.compile_mode == "precompile"
        or options.output_format == "vm-asm"
    )
    if mlir:
        return OutputFormat.MLIR_BYTECODE if options.emit_bytecode else OutputFormat.MLIR
    return OutputFormat.VM_C if options.output_format == "vm-c" else OutputFormat.VM_BYTECODE
