# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling a module so that its kernels can run on the emulator: assembly and host program."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from iree.compiler import ir
from iree.compiler.api import Session, Source

from ..emulator.assembly import AssemblyError, Kernel, parse_assembly
from ..iree_plugin.compile import CompileError, collecting_compile, compile_in_child, open_source
from ..iree_plugin.compile_driver import compile_to_module
from ..iree_plugin.compile_settings import CompileSettings
from ..iree_plugin.embedding import SteppedInvocation
from ..iree_plugin.first_phases import run_first_phases
from ..iree_plugin.pipeline_edit import PipelineEdit
from ..iree_plugin.stepped_compile import SteppedCompile
from ..iree_plugin.temporary_files import temporary_directory
from ..passes.decisions import DecisionLog

_LAST_PHASE_OF_HOST_PROGRAM = "executable-targets"
_PHASE_THAT_WRITES_ASSEMBLY = "hal"


@dataclass(frozen=True)
class EmulatedModule:
    """A compiled module, for a `with` statement, which ends the compiler's session.

    Attributes:
        host: the module after phase `executable-targets`, for `HostProgram`.
        kernels: every kernel by name.
        assembly: the text of each kernel's file.
        session: the compiler's session; `host` and its context do not need it.
    """

    host: ir.Operation
    kernels: Mapping[str, Kernel]
    assembly: Mapping[str, str]
    session: Session

    def __enter__(self) -> EmulatedModule:
        return self

    def __exit__(self, *unused: object) -> None:
        self.session.close()

    @property
    def arch(self) -> str:
        """The chip that all kernels are for."""
        return next(iter(self.kernels.values())).arch if self.kernels else ""


def compile_for_emulation(
    source: str | os.PathLike[str],
    flags: Sequence[str],
    mitigation: str = "auto",
    *,
    edits: Sequence[PipelineEdit] = (),
    decisions: DecisionLog | None = None,
) -> EmulatedModule:
    """Compiles MLIR for an AMD GPU and keeps what the emulator needs.

    Args:
        source: a path, or the MLIR text itself (recognized by a line break in it).
        flags: flags of `iree-compile`, which name a hip target.
        mitigation, edits, decisions: `bankwise.compile` documents them.

    Raises:
        CompileError: the input does not compile.
        OSError: the source cannot be read.
        AssemblyError: the compiler's assembly cannot be read.
    """
    with _dumping_session() as (session, directory):
        dump = _dump_flag(directory)
        try:
            session.set_flags(*flags, dump)
        except ValueError as error:
            # Some of iree-compile's flags exist only on a process's command line.
            if edits or decisions is not None:
                raise CompileError(str(error)) from error
            host = _compile_in_child(session, source, [*flags, dump], mitigation)
        else:
            with collecting_compile(session, flags, mitigation, edits, decisions) as compiling:
                host = _compile(*compiling, open_source(session, source))
        return EmulatedModule(host, *_read_kernels(directory), session)


def compile_as_set(settings: CompileSettings) -> EmulatedModule | None:
    """Compiles as a command line says, and keeps what the emulator needs.

    The process's flags have been set. Diagnostics go to the console.

    Returns:
        None when the compiler has reported an error.

    Raises:
        DriverError, OutputError: `compile_driver.compile_to_output` raises them too.
        AssemblyError: the compiler's assembly cannot be read.
    """
    with _dumping_session() as (session, directory):
        session.set_flags(_dump_flag(directory))
        phases = replace(settings, compile_to=_LAST_PHASE_OF_HOST_PROGRAM)
        host = compile_to_module(session, phases)
        last = SteppedInvocation(session, verify=settings.verify)
        last.invocation.enable_console_diagnostics()
        written = host is not None and _write_assembly(last, host)
        last.close()
        if host is None or not written:
            session.close()
            return None
        for flag in settings.process_flags:
            # The session's flag took the place of the user's own, in part or as a whole.
            name, _, wanted = flag.lstrip("-").partition("=")
            if name in (_DUMP_FLAG, "iree-hal-dump-executable-files-to"):
                shutil.copytree(directory, wanted, dirs_exist_ok=True)
        return EmulatedModule(host, *_read_kernels(directory), session)


_DUMP_FLAG = "iree-hal-dump-executable-intermediates-to"


def _dump_flag(directory: Path) -> str:
    return f"--{_DUMP_FLAG}={directory}"


@contextlib.contextmanager
def _dumping_session() -> Iterator[tuple[Session, Path]]:
    """A session, which an error closes, and a directory for its files, which goes at the end."""
    with temporary_directory("bankwise-emulate-") as directory:
        session = Session()
        try:
            yield session, directory
        except BaseException:
            session.close()
            raise


def _compile(compilation: SteppedCompile, messages: list[str], source: Source) -> ir.Operation:
    first = compilation.invocation()
    first.send_diagnostics(messages.append)
    phase = _LAST_PHASE_OF_HOST_PROGRAM
    started = run_first_phases(first, source, end=phase, console_diagnostics=False)
    translated = compilation.finish(first, end=phase) if started else None
    if translated is None:
        raise CompileError("\n".join(messages))
    host = translated.export()
    last = compilation.invocation()
    last.send_diagnostics(messages.append)
    if not _write_assembly(last, host):
        raise CompileError("\n".join(messages))
    return host


def _write_assembly(invocation: SteppedInvocation, host: ir.Operation) -> bool:
    """Serializes the executables of a copy of `host`; returns False after a diagnostic."""
    invocation.import_op(host.clone())
    invocation.set_phases(_LAST_PHASE_OF_HOST_PROGRAM, _PHASE_THAT_WRITES_ASSEMBLY)
    return invocation.execute()


def _compile_in_child(
    session: Session, source: str | os.PathLike[str], flags: Sequence[str], mitigation: str
) -> ir.Operation:
    """Translates the module in a process of its own, and reads the result."""
    with temporary_directory("bankwise-emulate-") as directory:
        phases = [
            f"--compile-to={_PHASE_THAT_WRITES_ASSEMBLY}",
            f"--dump-compilation-phases-to={directory}",
        ]
        compile_in_child(source, [*flags, *phases], mitigation, directory / "last.mlir")
        (path,) = directory.glob(f"*.{_LAST_PHASE_OF_HOST_PROGRAM}.mlir")
        messages: list[str] = []
        invocation = SteppedInvocation(session)
        try:
            invocation.send_diagnostics(messages.append)
            opened = Source.open_file(session, str(path))
            if not invocation.parse(opened, console_diagnostics=False):
                raise CompileError("\n".join(messages))
            return invocation.export()
        finally:
            invocation.close()


def _read_kernels(directory: Path) -> tuple[dict[str, Kernel], dict[str, str]]:
    kernels: dict[str, Kernel] = {}
    assembly: dict[str, str] = {}
    for path in sorted(directory.glob("*.rocmasm")):
        text = path.read_text()
        for name, kernel in parse_assembly(text, path.name).items():
            if name in kernels:
                raise AssemblyError(f"{path.name}: kernel '{name}' exists in two executables")
            kernels[name] = kernel
            assembly[name] = text
    return kernels, assembly
