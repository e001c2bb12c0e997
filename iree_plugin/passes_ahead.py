# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads the passes of a kernel's pipeline while the compiler's own passes run.

The bindings run a pass manager with the interpreter's lock, which the compiler's passes do not
need. Here they run without it, and a thread imports the next passes of ours meanwhile. The thread
ends with them: the process may be forked behind that.

MLIR's bindings build the Python object of a diagnostic before they take the lock, which ends the
process. So what the compiler says is not shown here: the kernel is compiled again, with the lock.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterable
from ctypes import CFUNCTYPE, c_char_p, c_int8, c_uint64, c_void_p, py_object
from typing import Any

from iree.compiler import ir
from iree.compiler.api import ctypes_dl
from iree.compiler.passmanager import PassManager

from ..passes.pipeline_edit import PipelineStep, PlannedPass
from .early_library import started_thread
from .embedding import Lost

_HANDLER = CFUNCTYPE(c_int8, c_void_p, c_void_p)
_SUCCESS = 1


def _function(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    # A function of its own: others declare other types of the same function.
    made = library[name]
    made.restype = result
    made.argtypes = list(arguments)
    return made


_library = ctypes_dl._dylib
_attach = _function(
    *(_library, "mlirContextAttachDiagnosticHandler", c_uint64),
    *(c_void_p, _HANDLER, c_void_p, c_void_p),
)
_detach = _function(_library, "mlirContextDetachDiagnosticHandler", None, c_void_p, c_uint64)
_run = _function(_library, "mlirPassManagerRunOnOp", c_int8, c_void_p, c_void_p)
_name_of = _function(ctypes.pythonapi, "PyCapsule_GetName", c_char_p, py_object)
_pointer_in = _function(ctypes.pythonapi, "PyCapsule_GetPointer", c_void_p, py_object, c_char_p)


class PassesAhead:
    """The passes of a pipeline that are not loaded yet.

    Args:
        steps: the pipeline, in the order in which it runs.
    """

    def __init__(self, steps: Iterable[PipelineStep]) -> None:
        kinds = (step.kind for step in steps if isinstance(step, PlannedPass))
        self._waiting = [*dict.fromkeys(kinds)][::-1]
        self._enough = False
        self._begins = threading.Event()

    def __bool__(self) -> bool:
        """Returns whether there is something to load."""
        while self._waiting and self._waiting[-1].is_loaded:
            self._waiting.pop()
        return bool(self._waiting)

    def run(self, managers: Iterable[PassManager], operation: ir.Operation) -> None:
        """Runs the compiler's passes, and loads some of ours, one at least, where there may be a
        thread.

        Raises:
            Lost: one has failed, or has something to say, which nobody has heard.
        """
        context, target = _pointer(operation.context), _pointer(operation)
        said: list[object] = []
        hear = _HANDLER(lambda *_: said.append(None) or _SUCCESS)
        handler = _attach(context, hear, None, None)
        self._enough = False
        self._begins.clear()
        thread = started_thread(self._load)
        # Not before: while it loads a module the thread keeps the lock, which is needed to get to
        # the compiler.
        self._begins.set()
        try:
            succeeded = all(_run(_pointer(manager), target) for manager in managers)
        finally:
            self._enough = True
            _detach(context, handler)
            if thread is not None:
                thread.join()
        if said or not succeeded:
            raise Lost

    def _load(self) -> None:
        self._begins.wait()
        while self:
            # Whoever needs what cannot be imported will see why.
            with contextlib.suppress(Exception):
                self._waiting.pop().loaded()
            if self._enough:
                break


def _pointer(wrapped: ir.Context | ir.Operation | PassManager) -> int:
    """Returns what an object of the bindings wraps."""
    capsule = wrapped._CAPIPtr
    return _pointer_in(capsule, _name_of(capsule))
