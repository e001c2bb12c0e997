# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise.compile`: from MLIR to a vmfb with conflict-free LDS layouts, in one call."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from iree.compiler.api import Output, Session, Source

from ..passes.decisions import DecisionLog
from ..passes.mode import Mode
from ..passes.pipeline_edit import PipelineEdit
from .atomic_file import is_stream_or_device
from .compile_settings import NOTE, CompileSettings, unread_variables
from .described_target import understood_flags
from .embedding import OutputFormat, SteppedInvocation, output_bytes
from .program_flags import check_python_flags
from .stepped_compile import CompileError, SteppedCompile, source_of_file
from .temporary_files import temporary_directory


def compile(
    source: str | os.PathLike[str],
    flags: Sequence[str] = (),
    mode: str = "auto",
    *,
    edits: Sequence[PipelineEdit] = (),
    decisions: DecisionLog | None = None,
) -> bytes:
    """Compiles MLIR for the devices that `flags` name.

    Args:
        source: a path, or the MLIR text itself (recognized by a line break in it).
        flags: flags of `iree-compile`, such as `--iree-hal-target-device=hip`.
        mode: `auto`, `swizzle`, `pad`, `none` or `stock`; a level may follow it, as in
            `auto/layout`, `auto/exact` or `auto/fast`, and behind that whether the tiles of
            workgroups are replaced by faster ones, as in `auto/exact/on` or `auto/fast/off`.
        edits: further passes to splice into the codegen pipelines, beside those of the installed
            plugins.
        decisions: filled with what each LDS allocation got, and why.

    Returns:
        The vmfb. A warning names attentions that the level `fast` would compute much faster.

    Raises:
        CompileError: the input does not compile.
        TypeError: a flag that is no text, one text for all flags, an edit that is no PipelineEdit.
        ValueError: an unknown mitigation or level, or one that nothing would come of; a flag that
            names an output, or another mode than a whole compile.
        OSError: the source file cannot be read.
        PipelineEditError: an edit's anchor does not fit a pipeline, or what it holds is no pass.
    """
    _check_flags(flags)
    _check_edits(edits)
    settings = settings_of(flags, mode)
    _check_source(source)
    with closing(Session()) as session:
        if not takes_flags(session, flags, alone=bool(edits) or decisions is not None):
            return _compile_in_child(source, flags, mode)
        with SteppedCompile(session, settings, edits, decisions, console=False) as compilation:
            result = compilation.run(open_source(session, source))
            advice = compilation.advice_text("the mitigation 'auto/fast'")
            if advice:
                warnings.warn(advice, stacklevel=2)
            return _module_bytes(result)


def _module_bytes(compiled: SteppedInvocation) -> bytes:
    output = Output.open_membuffer()
    compiled.write(output, OutputFormat.VM_BYTECODE)
    return output_bytes(output)


def settings_of(flags: Sequence[str], mode: str) -> CompileSettings:
    """Returns the settings of a compile from Python.

    Raises:
        ValueError: an unknown mode, or a flag of which nothing would come.
    """
    if not isinstance(mode, str):
        raise TypeError(f"the mitigation is {mode!r}; give a text, such as 'auto/exact'")
    given = Mode.parse(mode)
    check_python_flags(flags)
    unread = ", ".join(unread_variables(os.environ))
    if unread:
        message = (
            f"{unread}: read by bankwise-executable alone; the argument for the mitigation says it"
        )
        warnings.warn(message, stacklevel=3)
    return CompileSettings(
        mitigation=given.mitigation,
        level=given.level,
        retile=given.retile,
        process_flags=tuple(flags),
    )


def takes_flags(session: Session, flags: Sequence[str], *, alone: bool) -> bool:
    """Gives a session its flags; returns False where only a process's command line takes them.

    Args:
        alone: whether the compile can happen in this process alone.

    Raises:
        CompileError: it cannot, and the session does not take the flags.
    """
    try:
        session.set_flags(*understood_flags(flags))
    except ValueError as error:
        if alone:
            raise CompileError(str(error)) from error
        return False
    return True


def _check_flags(flags: Sequence[str]) -> None:
    if isinstance(flags, str | bytes):
        raise TypeError(f"flags is the single text {flags!r}; give a list of flags, such as [...]")
    for flag in flags:
        if not isinstance(flag, str):
            raise TypeError(f"flags holds {flag!r}, which is no text; write it as '--flag=value'")


def _check_edits(edits: Sequence[PipelineEdit]) -> None:
    if isinstance(edits, PipelineEdit):
        raise TypeError("edits is a single PipelineEdit; give a list of edits, such as [...]")
    for edit in edits:
        if not isinstance(edit, PipelineEdit):
            raise TypeError(
                f"edits holds {edit!r}, which is no PipelineEdit; make one with "
                "bankwise.PipelineEdit.before, .after or .replace"
            )
        edit.check()


def _check_source(source: str | os.PathLike[str]) -> None:
    """Raises OSError where a source is no text and cannot be read as a file, and TypeError where it
    is neither."""
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"source is {source!r}; give a path, or a text of MLIR")
    if not os.fspath(source):
        raise FileNotFoundError("source is an empty text; give a path, or a text of MLIR")
    if _is_text(source):
        return
    if is_stream_or_device(os.fspath(source)):  # It can be read once.
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


def open_source(session: Session, source: str | os.PathLike[str]) -> Source:
    """Opens a path, or MLIR text, for the compiler; raises OSError if it cannot be read."""
    if _is_text(source):
        text = str(source).encode() + b"\0"
        return Source.wrap_buffer(session, text, buffer_name="<text>")
    _check_source(source)
    return source_of_file(session, os.fspath(source))


_PROGRAMS_WORDS = re.compile(
    r"^bankwise-compile: (?:error: )?|  Try: 'bankwise-compile --help'$", re.MULTILINE
)
"""What the program says to whoever has called it from a shell."""


def _compile_in_child(source: str | os.PathLike[str], flags: Sequence[str], mode: str) -> bytes:
    with temporary_directory("bankwise-") as directory:
        output = directory / "module.vmfb"
        compile_in_child(source, flags, mode, output)
        return output.read_bytes()


def compile_in_child(
    source: str | os.PathLike[str],
    flags: Sequence[str],
    mode: str,
    output: Path,
) -> None:
    """Compiles into a file, in a process of its own, which takes all flags of `iree-compile`.

    Args:
        mode: a mitigation, and a level if there is one, as in `compile`.
        output: a path in an existing directory, where the source's text may be put too.

    Raises:
        CompileError: the input does not compile.
    """
    path = Path(source) if not _is_text(source) else output.with_name("source.mlir")
    if _is_text(source):
        path.write_text(str(source))
    # With `-P` nothing in the current folder is taken for a module.
    command = [sys.executable, "-P", "-m", "bankwise.tools.compile", str(path), "-o", str(output)]
    command += [*Mode.parse(mode).flags(), *flags]
    # What nobody reads has been said here.
    unread = unread_variables(os.environ)
    environment = {name: value for name, value in os.environ.items() if name not in unread}
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
    if run.returncode != 0:
        raise CompileError(_PROGRAMS_WORDS.sub("", run.stderr).strip())
    for line in run.stderr.splitlines():
        if line.startswith(NOTE):
            warnings.warn(line.removeprefix(NOTE), stacklevel=4)
