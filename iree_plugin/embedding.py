# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IREE's embedding API, with the calls that `iree.compiler.api` does not wrap.

The wheel's `Session` and `Invocation` know whole compiles only. Stepping a compile by phases needs
C functions of the same library, reached here by ctypes (`embedding_api.h` documents them).
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import re
from collections.abc import Callable, Iterator
from ctypes import CFUNCTYPE, byref, c_bool, c_char, c_char_p, c_int, c_size_t, c_void_p
from enum import IntEnum
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from iree.compiler import version
from iree.compiler.api import Invocation, Output, Session, Source, ctypes_dl

from .described_target import understood_flags

if TYPE_CHECKING:
    # Brings NumPy along, which the calls below do not need.
    from iree.compiler import ir

    from ..dialect_utils.diagnostics import Diagnostic

_library = ctypes_dl._dylib


def _declare(name: str, result: object, *arguments: object) -> None:
    # Without argument types ctypes cuts the pointers to 32 bits.
    function = getattr(_library, name)
    function.restype = result
    function.argtypes = list(arguments)


for _name in ("CompileFromPhase", "CompileToPhase", "DumpCompilationPhasesTo"):
    _declare(f"ireeCompilerInvocationSet{_name}", None, c_void_p, c_char_p)
_declare("ireeCompilerInvocationSetVerifyIR", None, c_void_p, c_bool)
_declare("ireeCompilerInvocationSetupRemarks", c_bool, c_void_p, c_char_p, c_char_p)
_declare("ireeCompilerInvocationOutputHALExecutable", c_void_p, c_void_p, c_void_p)
_declare("ireeCompilerInvocationOutputVMCSource", c_void_p, c_void_p, c_void_p)
_declare("ireeCompilerInvocationPipeline", c_bool, c_void_p, c_int)
_declare("ireeCompilerSessionBorrowContext", c_void_p, c_void_p)
_declare("mlirContextEnableMultithreading", None, c_void_p, c_bool)
_declare("ireeCompilerInvocationImportStealModule", c_bool, c_void_p, c_void_p)


class _Name(ctypes.Structure):
    """MLIR's `MlirStringRef`."""

    _fields_ = (("data", c_void_p), ("length", c_size_t))


_declare("mlirOperationGetFirstRegion", c_void_p, c_void_p)
_declare("mlirRegionGetNextInOperation", c_void_p, c_void_p)
_declare("mlirRegionGetFirstBlock", c_void_p, c_void_p)
_declare("mlirBlockGetNextInRegion", c_void_p, c_void_p)
_declare("mlirBlockGetFirstOperation", c_void_p, c_void_p)
_declare("mlirOperationGetNextInBlock", c_void_p, c_void_p)
_declare("mlirOperationGetName", c_void_p, c_void_p)
_declare("mlirIdentifierStr", _Name, c_void_p)
_SPLIT_CALLBACK = CFUNCTYPE(None, c_void_p, c_void_p)
_declare("ireeCompilerSourceSplit", c_void_p, c_void_p, _SPLIT_CALLBACK, c_void_p)
_NAME_CALLBACK = CFUNCTYPE(None, c_char_p, c_void_p)
for _name in ("ireeCompilerEnumerateRegisteredHALTargetBackends", "ireeCompilerEnumeratePlugins"):
    _declare(_name, None, _NAME_CALLBACK, c_void_p)
# iree_compiler_diagnostic_severity_t
_SEVERITIES = ("note", "warning", "error", "remark")
_PLACE = re.compile(r".*?:\d+:\d+: ")
_DIAGNOSTIC_CALLBACK = CFUNCTYPE(None, c_int, c_void_p, c_size_t, c_void_p)
_declare(
    "ireeCompilerInvocationEnableCallbackDiagnostics",
    None,
    c_void_p,
    c_int,
    _DIAGNOSTIC_CALLBACK,
    c_void_p,
)


class Pipeline(IntEnum):
    """The compile pipelines of the embedding API (`iree_compiler_pipeline_t`)."""

    STD = 0
    HAL_EXECUTABLE = 1
    PRECOMPILE = 2
    VM = 3


class OutputFormat(IntEnum):
    """What an invocation writes."""

    VM_BYTECODE = 0
    MLIR = 1
    MLIR_BYTECODE = 2
    VM_C = 3
    HAL_EXECUTABLE = 4


class Lost(Exception):
    """A fork was killed, or its work failed; nothing has been said of that."""


class StepError(RuntimeError):
    """A step of a compile failed: the compiler, or a pass."""

    def unsaid(self, what_helps: Callable[[], str]) -> Diagnostic | None:
        """Returns what has not been emitted yet; None where all has been.

        Args:
            what_helps: finds out what the user may do; empty where nothing is known.
        """
        return None


def compiler_version() -> str:
    """Returns the compiler's own version, such as `3.13.0rc20261016` in the 3.13.0 wheel."""
    return version.VERSION


def compiler_tool(name: str) -> Path:
    """Returns the path of a program of the compiler's wheel, such as `iree-compile`."""
    # The package is not imported: that is for `iree.compiler.ir` alone (`early_import`).
    spec = find_spec("iree.compiler._mlir_libs")
    folders = spec and spec.submodule_search_locations
    assert folders, "the compiler's library, which is loaded, lies in this package"
    return Path(folders[0]) / name


def set_process_flags(program: str, flags: list[str]) -> None:
    """Parses `flags` as the process's command line, as `iree-compile` does.

    May be called before the first session, and again with equal flags. The library itself prints
    a message and exits with 1 on a flag it does not know, and with 0 after `--help` and
    `--version`. The help has no overview: the programs print their own before it.
    """
    _set_process_flags(program, tuple(flags))


@cache
def _set_process_flags(program: str, flags: tuple[str, ...]) -> None:
    # `ctypes_dl._initializeGlobalCL` does the same, but calls every program "ctypes" in its help.
    words = [word.encode() for word in (program, *understood_flags(flags))]
    arguments = (c_char_p * len(words))(*words)
    _library.ireeCompilerSetupGlobalCL(len(words), arguments, b"", False)


def _enumerate(function: str) -> list[str]:
    names: list[str] = []

    @_NAME_CALLBACK
    def add(name: bytes, _user_data: object) -> None:
        names.append(name.decode())

    getattr(_library, function)(add, None)
    return names


def target_backends() -> list[str]:
    """Returns the registered HAL target backends."""
    return _enumerate("ireeCompilerEnumerateRegisteredHALTargetBackends")


def compiler_plugins() -> list[str]:
    """Returns the compiler plugins that the library holds."""
    return _enumerate("ireeCompilerEnumeratePlugins")


def registered_dialects() -> list[str]:
    """Returns the dialects that a session's context knows, in alphabetical order.

    The C API counts them, but does not name them. `iree-opt` of the same wheel does.
    """
    import subprocess  # Not part of a compile.

    command = [compiler_tool("iree-opt"), "--show-dialects"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return listed.partition(":")[2].strip().split(",")


def split_source(session: Session, source: Source) -> list[Source]:
    """Splits a source at its `// -----` lines."""
    pointers: list[int] = []

    @_SPLIT_CALLBACK
    def add(pointer: int, _user_data: object) -> None:
        pointers.append(pointer)

    ctypes_dl._handle_error(_library.ireeCompilerSourceSplit(source._source_p, add, None))
    return [Source(session, c_void_p(pointer), source) for pointer in pointers]


def bytecode_source(session: Session, bytecode: bytes, name: str) -> Source:
    """Returns what the compiler parses, at an address that is a multiple of a page.

    Resources of a module may be aligned, and the compiler refuses bytecode that is not aligned as
    they are. Nothing aligns the contents of `bytes`.
    """
    page = mmap.mmap(-1, len(bytecode))
    page.write(bytecode)
    buffer = (c_char * len(bytecode)).from_buffer(page)
    pointer = c_void_p()
    ctypes_dl._handle_error(
        _library.ireeCompilerSourceWrapBuffer(
            session._session_p, name.encode(), buffer, len(bytecode), False, byref(pointer)
        )
    )
    return Source(session, pointer, buffer)


def work_in_one_thread(session: Session) -> None:
    """Lets the compiler do all work of a session in the thread that calls it.

    To wake threads and to wait for them, which each pass over several operations does, takes longer
    than what they do for a small program.
    """
    context = _library.ireeCompilerSessionBorrowContext(session._session_p)
    _library.mlirContextEnableMultithreading(context, False)


@contextlib.contextmanager
def one_thread(context: ir.Context) -> Iterator[None]:
    """Lets the compiler work in one thread until the body ends, and then as it did before."""
    several = context.get_num_threads() > 1
    context.enable_multithreading(False)
    try:
        yield
    finally:
        if several:
            context.enable_multithreading(True)


class SteppedInvocation:
    """One invocation that can stop after a phase and go on from one."""

    def __init__(self, session: Session, *, verify: bool = True) -> None:
        self.invocation: Invocation = session.invocation()
        self._pointer: c_void_p = self.invocation._inv_p
        self._interrupted: list[BaseException] = []
        self._exported: ir.Operation | None = None
        self._lent: ir.Operation | None = None
        self.verify_each_pass(verify)

    def verify_each_pass(self, verify: bool) -> None:
        """Says whether the module is verified behind each pass, from the next phase on. It is
        verified in either case when a module is taken in."""
        _library.ireeCompilerInvocationSetVerifyIR(self._pointer, verify)

    def close(self) -> None:
        """Ends the invocation."""
        self.invocation.close()

    def dump_phases_to(self, directory: str) -> None:
        """Writes the IR after each phase into `directory`."""
        _library.ireeCompilerInvocationSetDumpCompilationPhasesTo(self._pointer, directory.encode())

    def setup_remarks(self, category: str, output_file: str) -> None:
        """Writes LLVM-style remarks whose category matches `category` to `output_file`."""
        _library.ireeCompilerInvocationSetupRemarks(
            self._pointer, category.encode(), output_file.encode()
        )

    def send_diagnostics(self, consume: Callable[[str], None]) -> None:
        """Sends diagnostics, each `file:line:column: severity: message`, to `consume`.

        Takes effect with the next source or op; without it they go to the console.
        """
        interrupted = self._interrupted

        @_DIAGNOSTIC_CALLBACK
        def receive(severity: int, text: int, size: int, _user_data: object) -> None:
            try:
                message = ctypes.string_at(text, size).decode(errors="replace").strip()
                # The library puts the place before the message, but not the severity.
                place = _PLACE.match(message)
                rest = message[place.end() :] if place else message
                consume(f"{place[0] if place else ''}{_SEVERITIES[severity]}: {rest}")
            except BaseException as error:
                # No exception passes through the library: Ctrl-C would be lost here.
                interrupted.append(error)

        self._diagnostic_callback = receive  # The library keeps only its address.
        _library.ireeCompilerInvocationEnableCallbackDiagnostics(self._pointer, 0, receive, None)

    def parse(self, source: Source, *, console_diagnostics: bool = True) -> bool:
        """Parses and verifies `source`; returns False after a diagnostic."""
        if console_diagnostics:
            self.invocation.enable_console_diagnostics()
        return _heard(self.invocation.parse_source(source), self._interrupted)

    def import_op(self, op: ir.Operation) -> None:
        """Makes `op` (a module or a function) what the invocation works on; `op` stays ours."""
        self._exported, self._lent = None, op
        self.invocation.import_module(op)

    def export(self) -> ir.Operation:
        """Takes the module out of the invocation, until that works on it again.

        The op, and all that is made from it, may live longer than the session: the session gives
        its context away first, so that Python ends it after the last op. With a context that ends
        with the session, an op in some traceback would be freed after its context, which ends the
        process.
        """
        session = self.invocation.session
        assert session is not None and session.context is not None
        self._exported = self.invocation.export_module()
        return self._exported

    def holds(self, *names: str, nested: bool = False) -> bool:
        """Returns whether the module that the invocation works on holds operations of some names.

        No bindings are needed for that.

        Args:
            nested: whether those count that are inside others, too, and not at the module's top.
        """
        if self._exported is not None:
            from ..dialect_utils.operations import children, has_operation

            found = has_operation if nested else children
            return bool(found(self._exported, *names))
        # An invocation gives nothing away that it works on for somebody else.
        lent = None if self._lent is None else _address(self._lent)
        module = lent or _library.ireeCompilerInvocationExportStealModule(self._pointer)
        wanted = {name.encode() for name in names}
        found = any(_name_of(each) in wanted for each in _operations_in(module, nested))
        if lent is None:
            _library.ireeCompilerInvocationImportStealModule(self._pointer, module)
        return found

    def execute(
        self, start: str = "start", end: str = "end", pipeline: Pipeline = Pipeline.STD
    ) -> None:
        """Runs a pipeline from after phase `start` up to and including phase `end`.

        A module that was taken out is verified before.

        Raises:
            StepError: the compiler has reported an error.
        """
        if self._exported is not None:
            self.import_op(self._exported)
        _library.ireeCompilerInvocationSetCompileFromPhase(self._pointer, start.encode())
        _library.ireeCompilerInvocationSetCompileToPhase(self._pointer, end.encode())
        succeeded = _library.ireeCompilerInvocationPipeline(self._pointer, int(pipeline))
        if not _heard(succeeded, self._interrupted):
            raise StepError

    def run_passes(self, pipeline: str) -> bool:
        """Runs a textual list of passes on the op, under the process's pass manager flags."""
        succeeded = self.invocation.execute_text_pass_pipeline(pipeline)
        return _heard(succeeded, self._interrupted)

    def run_on(self, op: ir.Operation, pipeline: str) -> bool:
        """Runs a textual list of passes on `op` alone, and ends the invocation."""
        try:
            self.import_op(op)
            return self.run_passes(pipeline)
        finally:
            self.close()

    def write(
        self, output: Output, form: OutputFormat, *, bytecode_version: int | None = None
    ) -> None:
        """Writes the result.

        Raises:
            ValueError: the result cannot be written in that form.
        """
        if self._exported is not None:
            self.import_op(self._exported)
        if form is OutputFormat.VM_BYTECODE:
            self.invocation.output_vm_bytecode(output)
        elif form is OutputFormat.MLIR:
            self.invocation.output_ir(output)
        elif form is OutputFormat.MLIR_BYTECODE:
            version = -1 if bytecode_version is None else bytecode_version
            self.invocation.output_ir_bytecode(output, version)
        else:
            name = "HALExecutable" if form is OutputFormat.HAL_EXECUTABLE else "VMCSource"
            function = getattr(_library, f"ireeCompilerInvocationOutput{name}")
            ctypes_dl._handle_error(function(self._pointer, output._output_p))


def _operations_in(parent: int, nested: bool) -> Iterator[int]:
    """Yields where the library has the operations in another one, and those inside them."""
    region = _library.mlirOperationGetFirstRegion(parent)
    while region:
        block = _library.mlirRegionGetFirstBlock(region)
        while block:
            operation = _library.mlirBlockGetFirstOperation(block)
            while operation:
                yield operation
                if nested:
                    yield from _operations_in(operation, nested)
                operation = _library.mlirOperationGetNextInBlock(operation)
            block = _library.mlirBlockGetNextInRegion(block)
        region = _library.mlirRegionGetNextInOperation(region)


def _name_of(operation: int) -> bytes:
    """Returns the name of what the library has there."""
    identifier = _library.mlirIdentifierStr(_library.mlirOperationGetName(operation))
    return ctypes.string_at(identifier.data, identifier.length)


def _address(op: ir.Operation) -> int:
    """Returns where the library has an op."""
    name = ctypes_dl.MLIR_PYTHON_CAPSULE_OPERATION
    return ctypes_dl.PyCapsule_GetPointer(op._CAPIPtr, name)


def _heard(succeeded: bool, interrupted: list[BaseException]) -> bool:
    """Returns what a call into the library has; raises what was raised in a callback of it."""
    if interrupted:
        raise interrupted.pop(0)
    return succeeded


def output_bytes(output: Output) -> bytes:
    """Returns the content of a memory output."""
    return bytes(output_memory(output))


def output_memory(output: Output) -> memoryview:
    """Returns the content of a memory output where it lies, until the output is closed."""
    contents = c_void_p()
    size = ctypes.c_uint64()
    ctypes_dl._handle_error(
        _library.ireeCompilerOutputMapMemory(output._output_p, byref(contents), byref(size))
    )
    if not size.value:
        return memoryview(b"")
    return memoryview((ctypes.c_char * size.value).from_address(contents.value or 0)).cast("B")
