# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling a module so that its kernels can run on the emulator: assembly and host program."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from iree.compiler import ir
from iree.compiler.api import Output, Session, Source

from ..emulator.assembly import AssemblyError, Kernel, parse_assembly
from ..passes.decisions import DecisionLog
from .compile import CompileError, collecting_compile, open_source
from .embedding import OutputFormat, output_bytes
from .first_phases import run_first_phases
from .mitigation import Mitigation
from .pipeline_edit import PipelineEdit
from .stepped_compile import SteppedCompile

_LAST_PHASE_OF_HOST_PROGRAM = "executable-targets"


@dataclass(frozen=True)
class EmulatedModule:
    """A compiled module; to be used in a `with` statement, which ends the compiler's session.

    Attributes:
        host: the module after phase `executable-targets`, for `HostProgram`.
        kernels: every kernel by name.
        assembly: the text of each kernel's file.
        vmfb: the module for the runtime.
        session: the compiler's session; `host` and its context do not need it.
    """

    host: ir.Operation
    kernels: Mapping[str, Kernel]
    assembly: Mapping[str, str]
    vmfb: bytes
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
    mitigation: str | Mitigation = Mitigation.AUTO,
    *,
    edits: Sequence[PipelineEdit] = (),
    decisions: DecisionLog | None = None,
) -> EmulatedModule:
    """Compiles MLIR for an AMD GPU and keeps what the emulator needs.

    Args:
        source: a path, or the MLIR text itself (recognized by a line break in it).
        flags: flags of `iree-compile`, which name a hip target.
        mitigation, edits, decisions: as of `bankwise.compile`.

    Raises:
        CompileError: the input does not compile.
        OSError: the source cannot be read.
        AssemblyError: the compiler's assembly cannot be read.
    """
    mitigation = Mitigation(mitigation)
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="bankwise-emulate-"))
        session = Session()
        on_failure = stack.enter_context(contextlib.ExitStack())
        on_failure.callback(session.close)
        dump = f"--iree-hal-dump-executable-files-to={directory}"
        try:
            session.set_flags(*flags, dump)
        except ValueError as error:
            raise CompileError(str(error)) from error
        with collecting_compile(session, flags, mitigation, edits, decisions) as compiling:
            host, vmfb = _compile(*compiling, open_source(session, source))
        kernels, assembly = _read_kernels(Path(directory))
        on_failure.pop_all()
    return EmulatedModule(host, kernels, assembly, vmfb, session)


def _compile(
    compilation: SteppedCompile, messages: list[str], source: Source
) -> tuple[ir.Operation, bytes]:
    first = compilation.invocation()
    first.send_diagnostics(messages.append)
    phase = _LAST_PHASE_OF_HOST_PROGRAM
    started = run_first_phases(first, source, end=phase, console_diagnostics=False)
    translated = compilation.finish(first, end=phase) if started else None
    if translated is None:
        raise CompileError("\n".join(messages))
    module = translated.export()
    host = module.clone()
    rest = compilation.invocation()
    rest.send_diagnostics(messages.append)
    rest.import_op(module)
    rest.set_phases(phase, "end")
    if not rest.execute():
        raise CompileError("\n".join(messages))
    output = Output.open_membuffer()
    rest.write(output, OutputFormat.VM_BYTECODE)
    return host, output_bytes(output)


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
