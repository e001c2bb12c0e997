# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Receiving the compiler's diagnostics in Python.

The bindings build the Python object of a diagnostic before they take the interpreter lock, which
ends the process when the call into the library has released it, as ctypes does. Here the calls
that can report keep the lock. No other thread may then report, so the context must be
single-threaded.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from ctypes import c_bool, c_char_p, c_void_p

from iree.compiler import ir
from iree.compiler.api import Session, Source, ctypes_dl

from ..dialect_utils.diagnostics import Diagnostic, Severity, SourceLocation
from .embedding import SteppedInvocation, one_thread

_library = ctypes.PyDLL(ctypes_dl._dylib._name)


def _declare(name: str, *arguments: object) -> Callable[..., bool]:
    function = getattr(_library, f"ireeCompilerInvocation{name}")
    function.restype = c_bool
    function.argtypes = list(arguments)
    return function


_parse_source = _declare("ParseSource", c_void_p, c_void_p)
_run_pass_pipeline = _declare("RunPassPipeline", c_void_p, c_char_p)

_SEVERITIES = {
    ir.DiagnosticSeverity.ERROR: Severity.ERROR,
    ir.DiagnosticSeverity.WARNING: Severity.WARNING,
    ir.DiagnosticSeverity.NOTE: Severity.NOTE,
    ir.DiagnosticSeverity.REMARK: Severity.REMARK,
}


class CapturedInvocation(SteppedInvocation):
    """An invocation whose diagnostics Python handlers may receive."""

    def __init__(self, session: Session, *, verify: bool = True) -> None:
        super().__init__(session, verify=verify)
        self._verify = verify

    def parse(self, source: Source, *, console_diagnostics: bool = False) -> bool:
        """Parses and verifies `source`; returns False after a diagnostic."""
        if console_diagnostics:
            self.invocation.enable_console_diagnostics()
        self.invocation._sources.append(source)
        return _parse_source(self._pointer, source._source_p)

    def import_op(self, op: ir.Operation) -> None:
        """Makes `op` what the invocation works on, without verifying it first."""
        self.verify_each_pass(False)
        super().import_op(op)
        self.verify_each_pass(self._verify)

    def run_passes(self, pipeline: str) -> bool:
        """Runs a textual list of passes on the op."""
        return _run_pass_pipeline(self._pointer, pipeline.encode())


@contextlib.contextmanager
def captured_diagnostics(
    context: ir.Context, consume: Callable[[Diagnostic], None]
) -> Iterator[None]:
    """Sends every diagnostic of `context`, each note as its own, to `consume` alone."""

    def handle(diagnostic: ir.Diagnostic) -> bool:
        for each in _flatten(diagnostic):
            consume(each)
        return True

    with one_thread(context):
        handler = context.attach_diagnostic_handler(handle)
        try:
            yield
        finally:
            handler.detach()


def _flatten(diagnostic: ir.Diagnostic) -> Iterator[Diagnostic]:
    location = SourceLocation.of(diagnostic.location)
    yield Diagnostic(_SEVERITIES[diagnostic.severity], diagnostic.message, location)
    for note in diagnostic.notes:
        yield from _flatten(note)
