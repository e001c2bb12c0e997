# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the tools end: one line for an error, quiet when nobody reads on, no teardown."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def fail(program: str, message: str, code: int = 1) -> int:
    """Prints an error in one line; returns the exit code."""
    print(f"{program}: error: {message}", file=sys.stderr)
    return code


def file_error(error: OSError) -> str:
    """An OSError as the rest of such a line: which file, if it says so, and what is wrong."""
    place = f"'{error.filename}': " if error.filename else ""
    return f"{place}{error.strerror or error}"


def stop_output() -> int:
    """After a BrokenPipeError: keeps the exit from writing to stdout again; returns the code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def leave(code: int) -> NoReturn:
    """Ends the process without tearing down 330 MB of compiler."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
