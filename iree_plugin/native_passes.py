# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asking the compiler about its own passes, by their textual names and options."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator

from iree.compiler import ir
from iree.compiler.passmanager import PassManager

from ..passes.pipeline_text import (
    Piece,
    PipelineTextError,
    cut_pipeline,
    native_passes,
    parse_pipeline,
)

_NAME = re.compile(r"[A-Za-z][\w.-]*")
_POSITION = re.compile(r"MLIR Textual PassPipeline Parser:\d+:\d+: error: (.*)")
_ADDED = re.compile(r"failed to add `.*` with options `.*`( to inner pipeline)?")
_RESTRICTED = re.compile(r"restricted to '([^']+)' on a PassManager")


class NativePassError(ValueError):
    """A pass that the compiler does not have, or that does not take the options or the anchor."""


def check_native_pass(text: str, anchor: str) -> None:
    """Checks `name` or `name{options}` in a pass manager for ops named `anchor` (or `any`).

    Raises:
        NativePassError: the compiler's reason, in one line.
    """
    check_native_pipeline(f"{anchor}({text})")


def check_native_pipeline(text: str) -> None:
    """Checks a whole pipeline, wrapped in its anchor.

    Raises:
        NativePassError: the compiler's reason, in one line.
    """
    printed: list[str] = []
    try:
        with _printed_to_stderr(printed):
            PassManager.parse(text, ir.Context())
    except ValueError as error:
        raise NativePassError(_one_line("".join(printed) + str(error))) from None


def with_all_options(text: str, anchor: str) -> str:
    """Returns passes with the values of all their options, as the compiler writes them.

    A pass whose options the compiler writes in a way that it cannot read stays as it is.
    """
    written = str(PassManager.parse(f"{anchor}({text})", ir.Context()))
    try:
        read_pipeline(written)
        check_native_pipeline(written)
    except (NativePassError, PipelineTextError):
        return text
    return written.removeprefix(f"{anchor}(").removesuffix(")")


def read_pipeline(text: str) -> tuple[str, tuple[Piece, ...]]:
    """Returns the anchor and the pieces of a textual pipeline of our passes and the compiler's.

    Raises:
        PipelineTextError: the pipeline cannot be read or run.
    """
    root = parse_pipeline(text)
    for element, anchor in native_passes(root):
        try:
            check_native_pass(text[element.start : element.stop], anchor)
        except NativePassError as error:
            raise PipelineTextError(str(error), element.start) from None
    return root.anchor, tuple(cut_pipeline(text, root))


def is_native_pass(name: str) -> bool:
    """Returns whether the compiler has a pass or a named pipeline `name`."""
    if not _NAME.fullmatch(name):
        return False
    try:
        check_native_pass(name, "any")
    except NativePassError as error:
        return "does not refer to a registered pass" not in str(error)
    return True


def nest_for_module(text: str) -> str:
    """Wraps a pass that only runs on ops inside a module in a pass manager for these ops.

    Raises:
        NativePassError: see `check_native_pass`.
    """
    try:
        check_native_pass(text, "builtin.module")
    except NativePassError as error:
        restriction = _RESTRICTED.search(str(error))
        if restriction is None:
            raise
        return f"{restriction[1]}({text})"
    return text


@contextlib.contextmanager
def _printed_to_stderr(printed: list[str]) -> Iterator[None]:
    """Collects what the library itself prints, such as its reading of an option's value."""
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile("w+", errors="replace") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            printed.append(file.read())


def _one_line(report: str) -> str:
    """Returns the part of the compiler's report that says what is wrong."""
    position = _POSITION.search(report)
    if position:
        return position[1]
    lines = [line.strip() for line in report.splitlines() if line.strip()]
    reasons = [line for line in lines if not _ADDED.fullmatch(line)] or lines
    return "; ".join(re.sub("^(<Pass-Options-Parser>)?: ", "", line) for line in reasons)
