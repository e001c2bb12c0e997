# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that forks compile to machine code, so that what IREE does after codegen runs beside
other kernels, too.

In a fork, an executable goes through IREE's phases as if it were all of a module:

    hal.executable @x { variant { export, module } }  ->  hal.executable @x { binary }

The host program needs the export, which only the compiled kernel has as a whole: its launch sizes,
and how many workgroups there are. So a shell of the executable, with a text in the place of the
code, takes its place until IREE has serialized all executables. The binary takes the shell's place
then. IREE's many passes over the whole module do not see the kernels meanwhile.

A shell's text is no code of any GPU, and a module in which one is left does not compile.
"""

from __future__ import annotations

from dataclasses import field
from io import BytesIO

from iree.compiler import ir
from iree.compiler.api import Session

from ..bank_model.quick_dataclass import dataclass
from ..bank_model.quick_tuple import NamedTuple
from ..dialect_utils.operations import children, operations_in, symbol_of
from .compile_settings import (
    AFTER_LLVM,
    BEFORE_CODEGEN,
    PHASES,
    SERIALIZED,
    CompileSettings,
)
from .embedding import StepError, SteppedInvocation

_EXECUTABLE, _BINARY = "hal.executable", "hal.executable.binary"
_VARIANT, _MODULE, _FUNCTION = "hal.executable.variant", "builtin.module", "func.func"
_PARTS = (_MODULE, "hal.executable.export", "hal.executable.variant_end")
_TEXT = b"the place of a kernel that is compiled already"
_TYPE = f"vector<{len(_TEXT)}xi8>"
_SEEN = ("iree-hal-dump-", "iree-hal-substitute-", "iree-hal-preprocess-", "iree-hal-instrument-")
"""How flags begin that read or write kernels between codegen and the phase `SERIALIZED`."""


class Finished(NamedTuple):
    """What has become of an executable in a fork, both as bytecode of MLIR.

    Attributes:
        shell: the executable without its code.
        binary: a module that holds the executable, serialized.
    """

    shell: bytes
    binary: bytes


def may_finish(settings: CompileSettings) -> bool:
    """Returns whether forks may serialize the kernels of a compile: each is an executable of its
    own then, and nobody asks for what is between."""
    return (
        PHASES.index(settings.compile_to) >= PHASES.index(SERIALIZED)
        and not settings.links_executables
        and not settings.dump_phases_to
        and not any(flag.lstrip("-").startswith(_SEEN) for flag in settings.process_flags)
    )


def executable_of(function: ir.Operation) -> ir.Operation | None:
    """Returns the executable of a function; None where that has something else, too: other
    functions or variants, or what a user links with it."""
    inner = function.parent
    variant = inner and inner.parent
    executable = variant and variant.parent
    if executable is None or executable.name != _EXECUTABLE or "objects" in variant.attributes:
        return None
    alone = len(children(executable, _VARIANT)) == len(children(inner, _FUNCTION)) == 1
    parts = sorted(each.name for each in children(variant))
    return executable if alone and parts == sorted(_PARTS) else None


def finish(session: Session, executable: ir.Operation, *, verify: bool) -> Finished:
    """Compiles a configured executable, whose own codegen has run, to machine code.

    Args:
        verify: whether it is verified behind each pass, and not only before the first one and
            where it is in the LLVM dialect.

    Raises:
        StepError: the compiler has reported an error.
    """
    invocation = SteppedInvocation(session, verify=verify)
    # An invocation takes the threads of its session, of which a fork has none (`allow_threads`).
    executable.context.enable_multithreading(False)
    try:
        with ir.Location.unknown(executable.context):
            module = ir.Module.create()
            alone = executable.clone(ir.InsertionPoint(module.body))
        # The compiler drops private ones that no host program calls.
        visibility = executable.attributes["sym_visibility"]
        alone.attributes["sym_visibility"] = ir.StringAttr.get("public", executable.context)
        invocation.import_op(module.operation)
        invocation.execute(BEFORE_CODEGEN, AFTER_LLVM)
        (compiled,) = children(invocation.export(), _EXECUTABLE)
        shell = _shell(compiled, visibility)
        invocation.execute(AFTER_LLVM, SERIALIZED)
        (serialized,) = children(invocation.export(), _EXECUTABLE)
        if len(children(serialized, _BINARY)) != 1:
            raise StepError(f"executable @{symbol_of(executable)} has no machine code")
        return Finished(shell, _bytecode(serialized))
    finally:
        invocation.close()


def _shell(executable: ir.Operation, visibility: ir.Attribute) -> bytes:
    """Returns a compiled executable without its code, which stays as it is."""
    (variant,) = children(executable, _VARIANT)
    (inner,) = children(variant, _MODULE)
    path, code = f"{symbol_of(executable)}.compiled", _TEXT.hex()
    placeholder = f'#hal.executable.object<{{path = "{path}", data = dense<"0x{code}"> : {_TYPE}}}>'
    public = executable.attributes["sym_visibility"]
    inner.detach_from_parent()
    variant.attributes["objects"] = ir.Attribute.parse(f"[{placeholder}]", executable.context)
    executable.attributes["sym_visibility"] = visibility
    shell = _bytecode(executable)
    executable.attributes["sym_visibility"] = public
    del variant.attributes["objects"]
    ir.InsertionPoint.at_block_terminator(variant.regions[0].blocks[0]).insert(inner)
    return shell


def _bytecode(operation: ir.Operation) -> bytes:
    text = BytesIO()
    operation.write_bytecode(text)
    return text.getvalue()


@dataclass
class FinishedKernels:
    """The executables of a module that forks have finished."""

    _binaries: dict[str, bytes] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Returns whether there is one."""
        return bool(self._binaries)

    def put_shell(self, executable: ir.Operation, finished: Finished) -> None:
        """Puts the shell of an executable in its place, and keeps its machine code.

        Raises:
            ir.MLIRError, ValueError: the shell cannot be read. The executable is as it was then.
        """
        module = ir.Module.parse(finished.shell, executable.context)
        (shell,) = children(module.operation)
        ir.InsertionPoint(executable).insert(shell.detach_from_parent())
        self._binaries[symbol_of(executable)] = finished.binary
        executable.erase()

    def put_binaries(self, module: ir.Operation) -> None:
        """Puts the machine code of all executables in the places of their shells.

        Args:
            module: after phase `SERIALIZED`.

        Raises:
            StepError: there is a shell whose machine code is not known.
        """
        for executable in children(module, _EXECUTABLE):
            binary = self._binaries.get(symbol_of(executable))
            if binary is not None:
                read = ir.Module.parse(binary, module.context)
                (serialized,) = children(read.operation)
                (code,) = children(serialized, _BINARY)
                (placeholder,) = children(executable, _BINARY)
                ir.InsertionPoint(placeholder).insert(code.detach_from_parent())
                placeholder.erase()
        for binary in operations_in(module, _BINARY):
            if _TEXT in _bytes_of(binary):
                binary.location.emit_error("the machine code of this executable got lost")
                raise StepError


def _bytes_of(binary: ir.Operation) -> bytes:
    """Returns the file that the runtime loads."""
    return bytes(memoryview(ir.DenseIntElementsAttr(binary.attributes["data"])).cast("B"))
