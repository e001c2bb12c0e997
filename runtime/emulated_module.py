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

from ..dialect_utils.operations import children
from ..emulator.assembly import Kernel, parse_assembly
from ..emulator.instruction_text import AssemblyError
from ..iree_plugin.compile_driver import records_written
from ..iree_plugin.compile_settings import AFTER_LLVM, SERIALIZED, CompileSettings
from ..iree_plugin.compiled_accesses import DUMP_FLAG
from ..iree_plugin.executable_copies import EXECUTABLE, copy_executables
from ..iree_plugin.invocations import Invocations
from ..iree_plugin.python_compile import compile_in_child, open_source, settings_of, takes_flags
from ..iree_plugin.stepped_compile import SteppedCompile, open_file
from ..iree_plugin.temporary_files import temporary_directory
from ..passes.decisions import DecisionLog
from ..passes.pipeline_edit import PipelineEdit
from ..tuning.forced_tile import ForceTile

_LAST_PHASE_OF_HOST_PROGRAM = AFTER_LLVM


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
        """Returns the chip that all kernels are for."""
        return next(iter(self.kernels.values())).arch if self.kernels else ""


def compile_for_emulation(
    source: str | os.PathLike[str],
    flags: Sequence[str],
    mode: str = "auto",
    *,
    edits: Sequence[PipelineEdit] = (),
    decisions: DecisionLog | None = None,
    forced: ForceTile | None = None,
) -> EmulatedModule:
    """Compiles MLIR for an AMD GPU and keeps what the emulator needs.

    Args:
        source: a path, or the MLIR text itself (recognized by a line break in it).
        flags: flags of `iree-compile`, which name a hip target.
        mode, edits, decisions: `bankwise.compile` documents them.
        forced: gives the kernel one tile, in the place of the pass that chooses tiles.

    Raises:
        CompileError: the input does not compile.
        ValueError: an unknown mitigation.
        OSError: the source cannot be read.
        AssemblyError: the compiler's assembly cannot be read.
    """
    settings = _up_to_host_program(settings_of(flags, mode))
    with _dumping_session() as (session, directory):
        given = [*flags, _dump_flag(directory)]
        alone = bool(edits) or (decisions, forced) != (None, None)
        if takes_flags(session, given, alone=alone):
            with SteppedCompile(
                session, settings, edits, decisions, console=False, forced=forced
            ) as compilation:
                host = _compile(compilation, open_source(session, source))
        else:
            host = _compile_in_child(session, source, given, mode)
        return EmulatedModule(host, *_read_kernels(directory), session)


def compile_as_set(settings: CompileSettings) -> EmulatedModule:
    """Compiles as a command line says, and keeps what the emulator needs.

    The process's flags have been set. Diagnostics go to the console.

    Raises:
        CompileError, DriverError, OutputError, PipelineEditError: `compile_to_output` documents
            them.
        AssemblyError: the compiler's assembly cannot be read.
    """
    assert settings.input is not None
    with _dumping_session() as (session, directory):
        session.set_flags(_dump_flag(directory))
        source = open_file(session, settings.input)
        with (
            SteppedCompile(session, _up_to_host_program(settings)) as compilation,
            records_written(compilation),
        ):
            host = _compile(compilation, source)
        for flag in settings.process_flags:
            # The session's flag took the place of the user's own, in part or as a whole.
            name, _, wanted = flag.lstrip("-").partition("=")
            if name in (DUMP_FLAG, "iree-hal-dump-executable-files-to"):
                shutil.copytree(directory, wanted, dirs_exist_ok=True)
        return EmulatedModule(host, *_read_kernels(directory), session)


def _up_to_host_program(settings: CompileSettings) -> CompileSettings:
    return replace(settings, compile_to=_LAST_PHASE_OF_HOST_PROGRAM)


def _dump_flag(directory: Path) -> str:
    return f"--{DUMP_FLAG}={directory}"


@contextlib.contextmanager
def _dumping_session() -> Iterator[tuple[Session, Path]]:
    """Opens a session, which an error closes, and a directory for its files.

    The directory goes at the end.
    """
    with temporary_directory("bankwise-emulate-") as directory:
        session = Session()
        try:
            yield session, directory
        except BaseException:
            session.close()
            raise


def _compile(compilation: SteppedCompile, source: Source) -> ir.Operation:
    """Returns the host program, and has the compiler dump the assembly of its executables.

    For that a copy of them is serialized.
    """
    host = compilation.run(source).export()
    copies = copy_executables(host.context, children(host, EXECUTABLE))
    compilation.invocations.resume(copies.operation, _LAST_PHASE_OF_HOST_PROGRAM, SERIALIZED)
    return host


def _compile_in_child(
    session: Session, source: str | os.PathLike[str], flags: Sequence[str], mode: str
) -> ir.Operation:
    """Translates the module in a process of its own, and reads the result."""
    with temporary_directory("bankwise-emulate-") as directory:
        phases = [
            f"--compile-to={SERIALIZED}",
            f"--dump-compilation-phases-to={directory}",
        ]
        compile_in_child(source, [*flags, *phases], mode, directory / "last.mlir")
        (path,) = directory.glob(f"*.{_LAST_PHASE_OF_HOST_PROGRAM}.mlir")
        with Invocations(session, CompileSettings(), console=False) as reading:
            return reading.read(Source.open_file(session, str(path))).export()


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
