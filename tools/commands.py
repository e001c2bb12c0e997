# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs: each is ready for signals and closed streams before it imports its tool.

A signal that comes while Python itself starts cannot be dealt with here.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module

from .interruption import WORDS, Interrupted, run_interruptibly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


def compile_command() -> NoReturn:
    """Runs `bankwise-compile`."""
    # One compile makes little garbage, but imports many objects for a collector to look through.
    import gc

    gc.disable()
    _leave(_run("compile"))


def executable_command() -> NoReturn:
    """Runs `bankwise-executable`."""
    import gc

    gc.disable()  # As for `bankwise-compile`.
    _leave(_run("executable"))


def opt_command() -> NoReturn:
    """Runs `bankwise-opt`."""
    _leave(_run("opt"))


def report_command() -> NoReturn:
    """Runs `bankwise-report`."""
    _leave(_run("report"))


def run_command() -> NoReturn:
    """Runs `bankwise-run`."""
    _leave(_run("run"))


def sweep_command() -> NoReturn:
    """Runs `bankwise-sweep`, whose worker processes end only where Python ends in full."""
    sys.exit(_run("sweep"))


def tile_command() -> NoReturn:
    """Runs `bankwise-tile`."""
    import gc

    gc.disable()  # As for `bankwise-compile`.
    _leave(_run("tile"))


def _run(tool: str) -> int:
    """Runs a tool, from the moment on that signals are dealt with; returns its exit code."""
    program = f"bankwise-{tool}"
    # Processes of Python that it starts, workers of a sweep among them, would otherwise import
    # modules from the current folder, where a stranger may have put a `joblib.py`.
    os.environ["PYTHONSAFEPATH"] = "1"
    return run_interruptibly(program, lambda: _start(tool, program))


def _start(tool: str, program: str) -> int:
    from .endings import fail, open_standard_streams

    open_standard_streams()
    # Asked before a fork: that has a folder for temporary files of its own.
    unusable = _unusable_temporaries() if tool in (*_COMPILING, "sweep") else ""
    if unusable:
        return fail(program, unusable)
    if tool in _IN_ONE_PROCESS:
        return _work(tool, program)
    return _work_in_fork(tool, program, lambda: _leave(_work(tool, program)))


def _work_in_fork(tool: str, program: str, work: Callable[[], int]) -> int:
    """Works in a forked process; returns its exit code, and 1 and a line where it has crashed, or
    where there is none.

    Raises:
        Interrupted: a signal has ended it.
    """
    from .endings import fail, file_error
    from .forked_work import run_forked

    try:
        code = run_forked(work)
    except OSError as error:
        return fail(program, file_error(error))
    if code >= 0:
        return code
    number = signal.Signals(-code)
    if number in WORDS:
        raise Interrupted(number)
    if number is signal.SIGPIPE:
        return 128 + number
    from .crash_report import explain

    return fail(program, explain(tool, number))


_IN_ONE_PROCESS = ("executable", "sweep", "tile")
"""Tools that have the compiler in other processes than their own, or do not load it."""


_COMPILING = ("compile", "report", "run")
"""Tools that have flags for what are environment variables of `bankwise-executable`."""


def _work(tool: str, program: str) -> int:
    if tool == "compile":
        from ..iree_plugin.early_library import load_library_ahead
        from ..iree_plugin.later_import import imported_later

        load_library_ahead()
        # It looks at source code, which no compile does.
        with imported_later("inspect", get_annotations=lambda kind: kind.__annotations__):
            import_module("dataclasses")
    from .endings import exit_code_of

    if tool in _COMPILING:
        _warn_of_variables(program)
    if any(word.startswith("--print-completion") for word in sys.argv[1:]):
        from .completion import print_completion

        return exit_code_of(program, lambda: print_completion(tool, sys.argv[1:]))
    return exit_code_of(program, lambda: import_module(f".{tool}", __package__).main())


def _warn_of_variables(program: str) -> None:
    if not any(name.startswith("BANKWISE_") for name in os.environ):
        return
    from ..iree_plugin.compile_settings import unread_variables
    from .endings import warn

    unread = ", ".join(unread_variables(os.environ))
    if unread:
        warn(program, f"{unread}: read by bankwise-executable alone; give flags, see --help")


def _unusable_temporaries() -> str:
    """Returns what is wrong with the folder for temporary files; nothing if it can be used.

    Python would take another one, and LLVM does not: the compiler then fails with pages of IR, or
    with what the linker says of a file that was cut.
    """
    import resource

    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if 0 <= limit < _LEAST_BYTES:  # Infinity is negative.
        return f"files may have {limit:,} bytes (ulimit -f), and the compiler's have more"
    # In LLVM's order.
    names = [name for name in ("TMPDIR", "TMP", "TEMP", "TEMPDIR") if os.environ.get(name)]
    folder = os.environ[names[0]] if names else "/tmp"
    if names and not os.access(f"{folder}/", os.W_OK | os.X_OK):
        return f"{names[0]} is '{folder}', no folder that can be written to"
    try:
        free = os.statvfs(folder)
    except OSError:
        return ""
    if free.f_blocks > 0 and free.f_bavail * free.f_frsize < _LEAST_BYTES:
        return f"'{folder}', where temporary files go, is full"
    return ""


_LEAST_BYTES = 1 << 16
"""What the smallest compile needs for its temporary files."""


def _leave(code: int) -> NoReturn:
    from .endings import leave

    leave(code)
