# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports on the functions of MLIR files, which are read and not compiled."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from iree.compiler.api import Session, Source

from ..dialect_utils.conflict_report import FunctionReport, functions_in, report_function
from .compile_driver import DriverError
from .embedding import SteppedInvocation
from .opt_driver import SPLIT_MARKER, STDIN_NAME, split_text

_BYTECODE_MAGIC = b"ML\xefR"


def report_files(
    paths: Sequence[str], arch: str | None = None, *, split_input: bool = False
) -> list[tuple[str, FunctionReport]] | None:
    """The reports on all functions of all files, as (path, report).

    Args:
        paths: MLIR text or bytecode; `-` is stdin.
        arch: count for this architecture instead of the functions' own targets.
        split_input: read the parts between `// -----` as modules of their own.

    Returns:
        None when a file does not parse, which has been printed.

    Raises:
        DriverError: a file that cannot be read.
    """
    texts = [(path, _read(path)) for path in paths]
    session = Session()
    reports: list[tuple[str, FunctionReport]] = []
    for path, text in texts:
        split = split_input and not text.startswith(_BYTECODE_MAGIC)
        for part in split_text(text, SPLIT_MARKER.encode()) if split else [text]:
            found = _report_part(session, path, part, arch)
            if found is None:
                return None
            reports += [(path, report) for report in found]
    return reports


def _read(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise DriverError(f"cannot open input '{path}': {error.strerror}") from None


def _report_part(
    session: Session, path: str, text: bytes, arch: str | None
) -> list[FunctionReport] | None:
    # Text is read up to a final zero, bytecode up to the length of the buffer.
    end = b"" if text.startswith(_BYTECODE_MAGIC) else b"\0"
    name = STDIN_NAME if path == "-" else path
    source = Source.wrap_buffer(session, text + end, buffer_name=name)
    invocation = SteppedInvocation(session)
    try:
        if not invocation.parse(source):
            return None
        module = invocation.export()
        return [report_function(function, arch) for function in functions_in(module)]
    finally:
        invocation.close()
