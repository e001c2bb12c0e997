# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that forks compile to machine code, so that what IREE does after codegen runs beside
other kernels, too.

In a fork, an executable goes through IREE's phases as if it were all of a module:

    hal.executable @x { variant { export, module } }  ->  hal.executable @x { binary }

The host program needs the export, which only the compiled kernel has as a whole: its launch sizes,
and how many workgroups there are. So a shell of the executable, with a text in the place of the
code, takes its place until IREE has made the module of the VM. The machine code takes the place of
the shell's then. IREE's many passes over the whole module do not see the kernels meanwhile.

What IREE does with the export of a kernel whose pipeline has run is done to a copy, too. So the
shell is there while a fork makes machine code, and IREE works on the host program meanwhile. The
export has to become the same in the fork.

A shell's text is no code of any GPU, and a module in which one is left does not compile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from io import BytesIO

from iree.compiler import ir
from iree.compiler.api import Session
from iree.compiler.passmanager import PassManager

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
from .embedding import Lost, StepError, SteppedInvocation
from .executable_copies import EXECUTABLE, copy_executables

_BINARY = "hal.executable.binary"
_VARIANT, _MODULE, _FUNCTION = "hal.executable.variant", "builtin.module", "func.func"
_EXPORT = "hal.executable.export"
_DATA = {_BINARY: "data", "vm.rodata": "value"}
"""What has machine code behind the phase `SERIALIZED`, and behind that in which the module becomes
one of the VM, each with the name of the attribute that it is in."""
_PARTS = (_MODULE, _EXPORT, "hal.executable.variant_end")
_LAUNCH = (
    f"{_MODULE}(iree-codegen-reconcile-translation-info,iree-codegen-resolve-workgroup-count-hints)"
)
_EXPORTING = f"{_VARIANT}({_MODULE}(canonicalize,cse),iree-codegen-propagate-dispatch-config)"
"""What changes exports of the passes that IREE runs between codegen and the LLVM dialect."""
_OF_KNOWN_LAUNCHES = (_EXPORT, "arith.constant", "hal.return")
_LDS_BYTES = "workgroup_local_memory"
"""What only the fork knows of an export. It is part of the machine code."""
_TEXT = b"the place of a kernel that is compiled already: "
_PLACE = re.compile(_TEXT + rb"([0-9a-f]*)\.")
"""The text in a shell, with the name of the executable in hexadecimal digits of UTF-8. In a module
of the VM other characters than letters and digits have been replaced in names."""
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
    if executable is None or executable.name != EXECUTABLE or "objects" in variant.attributes:
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
    # An invocation may take the threads of its session, of which a fork has none.
    executable.context.enable_multithreading(False)
    try:
        module = copy_executables(executable.context, [executable])
        invocation.import_op(module.operation)
        invocation.execute(BEFORE_CODEGEN, AFTER_LLVM)
        (compiled,) = children(invocation.export(), EXECUTABLE)
        shell = _shell(compiled, executable.attributes["sym_visibility"])
        invocation.execute(AFTER_LLVM, SERIALIZED)
        (serialized,) = children(invocation.export(), EXECUTABLE)
        if len(children(serialized, _BINARY)) != 1:
            raise StepError(f"executable @{symbol_of(executable)} has no machine code")
        return Finished(shell, _bytecode(serialized))
    finally:
        invocation.close()


def shell_before(executable: ir.Operation) -> bytes | None:
    """Returns the shell that an executable will have, whose own codegen has run.

    Returns None where its launch depends on the sizes of a call, or the compiler does not say it.
    """
    module = copy_executables(executable.context, [executable])
    (alone,) = children(module.operation, EXECUTABLE)
    (variant,) = children(alone, _VARIANT)
    (inner,) = children(variant, _MODULE)
    try:
        PassManager.parse(_LAUNCH, module.context).run(inner)
        for function in children(inner, _FUNCTION):
            function.erase()
        PassManager.parse(_EXPORTING, module.context).run(variant)
    except (ir.MLIRError, ValueError):
        return None
    (export,) = children(variant, _EXPORT)
    if any(each.name not in _OF_KNOWN_LAUNCHES for each in operations_in(export)):
        return None
    return _shell(alone, executable.attributes["sym_visibility"])


def _export_of(shell: bytes, context: ir.Context) -> str:
    """Returns the export of a shell, without what only the fork knows of it."""
    module = ir.Module.parse(shell, context)
    (export,) = operations_in(module.operation, _EXPORT)
    if _LDS_BYTES in export.attributes:
        del export.attributes[_LDS_BYTES]
    return export.get_asm(use_local_scope=True)


def _shell(executable: ir.Operation, visibility: ir.Attribute) -> bytes:
    """Returns a compiled executable without its code, which stays as it is."""
    (variant,) = children(executable, _VARIANT)
    (inner,) = children(variant, _MODULE)
    name = symbol_of(executable)
    text = _TEXT + name.encode().hex().encode() + b"."
    data = f'dense<"0x{text.hex()}"> : vector<{len(text)}xi8>'
    placeholder = f'#hal.executable.object<{{path = "{name}.compiled", data = {data}}}>'
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
    """The executables of a module that forks have finished, or are at work on."""

    _binaries: dict[str, bytes] = field(default_factory=dict)
    _expected: dict[str, str] = field(default_factory=dict)
    """The exports in the shells of those whose machine code is not there yet."""
    _left: list[ir.Operation] = field(default_factory=list)
    """Those in whose places shells are before. Something may still refer to their parts."""

    def __bool__(self) -> bool:
        """Returns whether there is one."""
        return bool(self._binaries or self._expected)

    def expect(self, executable: ir.Operation, shell: bytes) -> str:
        """Puts the shell of an executable in its place before there is machine code.

        Returns:
            the name by which that is known.
        """
        name = symbol_of(executable)
        _put_before(executable, shell)
        self._left.append(executable.detach_from_parent())
        self._expected[name] = _export_of(shell, executable.context)
        return name

    def complete(self, name: str, finished: Finished, context: ir.Context) -> None:
        """Keeps the machine code of an executable that was expected.

        Raises:
            Lost: the kernel is launched otherwise than its shell says.
        """
        if _export_of(finished.shell, context) != self._expected.pop(name):
            raise Lost
        self._binaries[name] = finished.binary

    def put_shell(self, executable: ir.Operation, finished: Finished) -> None:
        """Puts the shell of an executable in its place, and keeps its machine code.

        Raises:
            ir.MLIRError, ValueError: the shell cannot be read. The executable is as it was then.
        """
        _put_before(executable, finished.shell)
        self._binaries[symbol_of(executable)] = finished.binary
        executable.erase()

    def put_binaries(self, module: ir.Operation) -> None:
        """Puts the machine code of all executables in the places of their shells.

        Args:
            module: after phase `SERIALIZED` or a later one.

        Raises:
            Lost: there is a shell whose machine code is not known.
        """
        for place, data in _machine_codes(module):
            shell = _PLACE.search(memoryview(ir.DenseIntElementsAttr(place.attributes[data])))
            if shell is None:
                continue
            binary = self._binaries.get(bytes.fromhex(shell[1].decode()).decode())
            if binary is None:
                raise Lost
            place.attributes[data] = _code_in(binary, module.context)


def _put_before(executable: ir.Operation, shell: bytes) -> None:
    module = ir.Module.parse(shell, executable.context)
    (read,) = children(module.operation)
    ir.InsertionPoint(executable).insert(read.detach_from_parent())


def _machine_codes(module: ir.Operation) -> Iterator[tuple[ir.Operation, str]]:
    """Yields what holds the machine code of an executable, or other data of a module of the VM, and
    the name of the attribute."""
    for operation in operations_in(module, *_DATA):
        name = _DATA[operation.name]
        if isinstance(operation.attributes[name], ir.DenseElementsAttr):
            yield operation, name


def _code_in(binary: bytes, context: ir.Context) -> ir.Attribute:
    """Returns the file that the runtime loads of a serialized executable."""
    read = ir.Module.parse(binary, context)
    (executable,) = children(read.operation)
    (code,) = children(executable, _BINARY)
    return code.attributes[_DATA[_BINARY]]
