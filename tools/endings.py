# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the tools end: one line for an error, quiet when nobody reads on, no teardown."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import signal
import sys

from ..bank_model.shown_text import shown_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    # A tool that works in a fork loads `typing` there, while the compiler's library is loaded.
    from collections.abc import Callable
    from typing import NoReturn

_DETAIL = "\n  "
"""What begins a line of details, such as the instruction of an error of the emulator."""


def fail(program: str, message: str, code: int = 1) -> int:
    """Prints an error in one line, whatever names it holds; returns the exit code.

    Details of the error follow in lines of their own.
    """
    _say(f"{program}: error: {_DETAIL.join(map(shown_text, message.split(_DETAIL)))}")
    return code


def warn(program: str, message: str) -> None:
    """Prints a warning in one line, whatever names it holds."""
    _say(f"{program}: warning: {shown_text(message)}")


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # Where stderr takes nothing, the exit code says it.
        print(line, file=sys.stderr, flush=True)


def file_error(error: OSError) -> str:
    """Returns what such a line says of an OSError: the file, if it names one, and what is wrong."""
    place = f"'{error.filename}': " if error.filename else ""
    return f"{place}{error.strerror or error}"


def fail_with_file(program: str, error: OSError) -> int:
    """Prints an OSError that names a file; returns the exit code.

    Raises:
        OSError: it names none, as where the standard output takes no more.
    """
    if not error.filename:
        raise error
    return fail(program, file_error(error))


def stop_output() -> int:
    """Keeps the exit from writing to stdout again, after a BrokenPipeError; returns the code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def let_pipes_end_process() -> None:
    """Lets a closed pipe end the process silently: for the help that the compiler prints."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def open_standard_streams() -> None:
    """Gives a process that was started without standard streams (`<&-`, `>&-`) what fails politely.

    Python has None in their places, and the next file that is opened would become the standard
    output. A stream that is opened for the other direction takes both places: each use of it is an
    OSError, "Bad file descriptor", which the tools report. What goes to a closed stderr is dropped.
    """
    for descriptor, flags in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest number that is free is this one.
            os.open(os.devnull, flags)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    if isinstance(getattr(sys.stdout, "buffer", None), io.FileIO):
        # With PYTHONUNBUFFERED, what a full disk does not take of a text is lost without an error.
        raw = open(1, "wb", closefd=False)  # noqa: SIM115
        sys.stdout = io.TextIOWrapper(raw, sys.stdout.encoding, write_through=True)
    codecs.register_error(_PLAINLY, _plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_PLAINLY)


_PLAINLY = "bankwise-plainly"
_PLAIN = {"─": "-", "━": "-", "═": "=", "│": "|", "┃": "|", "║": "|", "…": "...", "µ": "u"}
_CORNERS = range(0x2500, 0x2580)


def _plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    """Returns what stands for characters that the encoding of a stream lacks.

    Lines of tables are those of ASCII; anything else becomes an escape.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    shown = (
        _PLAIN.get(each) or ("+" if ord(each) in _CORNERS else shown_text(each)) for each in missing
    )
    return "".join(each if each.isascii() else ascii(each)[1:-1] for each in shown), error.end


_NO_MEMORY = ("failed to map segment", "Cannot allocate memory")
"""What glibc says of a library that cannot be loaded for that."""


def exit_code_of(program: str, main: Callable[[], int]) -> int:
    """Runs a tool to its end, with all that it has printed written; returns its exit code."""
    code = 0
    try:
        try:
            code = main()
        except SystemExit as end:  # argparse, after --help.
            code = end.code if isinstance(end.code, int) else 0
        sys.stdout.flush()
    except BrokenPipeError:
        stop_output()
        return code or 1
    except (MemoryError, ImportError, OSError) as error:
        if isinstance(error, MemoryError) or any(each in str(error) for each in _NO_MEMORY):
            return fail(program, "this machine has too little memory for it")
        if isinstance(error, ImportError):
            raise
        if code == 0:
            fail(program, f"cannot write its output: {file_error(error)}")
        stop_output()
        return 1
    return code


def leave(code: int) -> NoReturn:
    """Ends the process without tearing down 330 MB of compiler."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)
