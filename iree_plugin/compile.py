# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise.compile`: from MLIR to a vmfb with conflict-free LDS layouts, in one call."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from iree.compiler.api import Output, Session, Source

from ..dialect_utils.diagnostics import Diagnostic, DiagnosticSink
from ..passes.base import PassContext
from ..passes.decisions import DecisionLog
from .compile_settings import MITIGATIONS
from .embedding import OutputFormat, output_bytes
from .first_phases import run_first_phases
from .mitigation import mitigation_edits
from .pipeline_edit import PipelineEdit, installed_plugins
from .replay import PassRunner, ReplayError
from .stepped_compile import SteppedCompile
from .temporary_files import temporary_directory


class CompileError(RuntimeError):
    """A compile failed; the message holds the compiler's diagnostics, one a line."""


def compile(
    source: str | os.PathLike[str],
    flags: Sequence[str] = (),
    mitigation: str = "auto",
    *,
    edits: Sequence[PipelineEdit] = (),
    decisions: DecisionLog | None = None,
) -> bytes:
    """Compiles MLIR for the devices that `flags` name.

    Args:
        source: a path, or the MLIR text itself (recognized by a line break in it).
        flags: flags of `iree-compile`, such as `--iree-hal-target-device=hip`.
        mitigation: `auto`, `swizzle`, `pad`, `none` or `stock`.
        edits: further passes to splice into the codegen pipelines, beside those of the installed
            plugins.
        decisions: filled with what each LDS allocation got, and why.

    Returns:
        The vmfb.

    Raises:
        CompileError: the input does not compile.
        TypeError: a flag that is no text, one text for all flags, an edit that is no PipelineEdit.
        ValueError: an unknown mitigation.
        OSError: the source file cannot be read.
        PipelineEditError: an edit's anchor does not fit a pipeline.
    """
    _check_flags(flags)
    _check_edits(edits)
    _check_mitigation(mitigation)
    _check_source(source)
    session = Session()
    try:
        try:
            session.set_flags(*flags)
        except ValueError as error:
            # Some of iree-compile's flags exist only on a process's command line.
            if edits or decisions is not None:
                raise CompileError(str(error)) from error
            return _compile_in_child(source, flags, mitigation)
        return _compile_in_session(session, source, flags, mitigation, edits, decisions)
    finally:
        session.close()


def _check_flags(flags: Sequence[str]) -> None:
    if isinstance(flags, str | bytes):
        raise TypeError(f"flags is the single text {flags!r}; give a list of flags, such as [...]")
    for flag in flags:
        if not isinstance(flag, str):
            raise TypeError(f"flags holds {flag!r}, which is no text; write it as '--flag=value'")


def _check_edits(edits: Sequence[PipelineEdit]) -> None:
    for edit in edits:
        if not isinstance(edit, PipelineEdit):
            raise TypeError(
                f"edits holds {edit!r}, which is no PipelineEdit; make one with "
                "bankwise.PipelineEdit.before, .after or .replace"
            )


def _check_mitigation(given: str) -> None:
    if given not in MITIGATIONS:
        known = ", ".join(f"'{name}'" for name in MITIGATIONS)
        raise ValueError(f"mitigation is {given!r}; it can be {known}")


def _check_source(source: str | os.PathLike[str]) -> None:
    """Raises OSError where a source is no text and cannot be read as a file."""
    if _is_text(source):
        return
    try:
        Path(source).open("rb").close()
    except OSError as error:
        if not isinstance(source, str) or "{" not in source:
            raise
        # No kernel is written without a brace, and hardly any file is named with one.
        reason = f"{error.strerror} (MLIR text is recognized by a line break: end it with one)"
        raise type(error)(error.errno, reason, source) from None


def _is_text(source: str | os.PathLike[str]) -> bool:
    return isinstance(source, str) and "\n" in source


@contextlib.contextmanager
def collecting_compile(
    session: Session,
    flags: Sequence[str],
    mitigation: str,
    edits: Sequence[PipelineEdit],
    decisions: DecisionLog | None,
) -> Iterator[tuple[SteppedCompile, list[str]]]:
    """A compile, and the diagnostics that its passes emit; a failed pass is a CompileError."""
    messages: list[str] = []

    def collect(diagnostic: Diagnostic) -> None:
        messages.append(str(diagnostic))

    context = PassContext(
        sink=DiagnosticSink(collect), log=decisions if decisions is not None else DecisionLog()
    )
    compilation = SteppedCompile(
        session=session,
        context=context,
        edits=lambda: [*mitigation_edits(mitigation), *installed_plugins(), *edits],
        flags=flags,
        runner=PassRunner(session, context),
    )
    try:
        yield compilation, messages
    except ReplayError as error:
        raise CompileError("\n".join(messages or [str(error)])) from error
    finally:
        compilation.close()


def open_source(session: Session, source: str | os.PathLike[str]) -> Source:
    """A path, or MLIR text, as the compiler reads it; OSError where it cannot be read."""
    if _is_text(source):
        text = str(source).encode() + b"\0"
        return Source.wrap_buffer(session, text, buffer_name="<text>")
    _check_source(source)
    return Source.open_file(session, os.fspath(source))


def _compile_in_session(
    session: Session,
    source: str | os.PathLike[str],
    flags: Sequence[str],
    mitigation: str,
    edits: Sequence[PipelineEdit],
    decisions: DecisionLog | None,
) -> bytes:
    with collecting_compile(session, flags, mitigation, edits, decisions) as (
        compilation,
        messages,
    ):
        opened = open_source(session, source)
        first = compilation.invocation()
        first.send_diagnostics(messages.append)
        started = run_first_phases(first, opened, console_diagnostics=False)
        result = compilation.finish(first) if started else None
        if result is None:
            raise CompileError("\n".join(messages))
        output = Output.open_membuffer()
        result.write(output, OutputFormat.VM_BYTECODE)
        return output_bytes(output)


def _compile_in_child(
    source: str | os.PathLike[str], flags: Sequence[str], mitigation: str
) -> bytes:
    with temporary_directory("bankwise-") as directory:
        output = directory / "module.vmfb"
        compile_in_child(source, flags, mitigation, output)
        return output.read_bytes()


def compile_in_child(
    source: str | os.PathLike[str],
    flags: Sequence[str],
    mitigation: str,
    output: Path,
) -> None:
    """Compiles into a file, in a process of its own, which takes all flags of `iree-compile`.

    Args:
        output: a path in an existing directory, where the source's text may be put too.

    Raises:
        CompileError: the input does not compile.
    """
    path = Path(source) if not _is_text(source) else output.with_name("source.mlir")
    if _is_text(source):
        path.write_text(str(source))
    command = [sys.executable, "-m", "bankwise.tools.compile", str(path), "-o", str(output)]
    command += [f"--bankwise-mitigation={mitigation}", *flags]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if run.returncode != 0:
        raise CompileError(run.stderr.strip())
