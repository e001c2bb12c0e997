# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The invocations of a compiler session: they read a source, and say what is wrong with it.

A configured module does not say who has configured it. Where a pass asks whether a user has chosen
tiles and pipelines, so that they are not IREE's choice, the flags are searched, and the source is
read again as it came, unless no name of such an attribute is in its file.
"""

from __future__ import annotations

import mmap
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from iree.compiler.api import Session, Source

from ..bank_model.quick_dataclass import dataclass
from .atomic_file import is_stream_or_device
from .compile_settings import CompileSettings, joined_flags
from .described_target import missing_target, unknown_amd_target, unknown_cuda_target
from .embedding import StepError, SteppedInvocation, compiler_version

if TYPE_CHECKING:
    from iree.compiler import ir

_ATTRIBUTES = (
    "compilation_info",
    "lowering_config",
    "translation_info",
    "decomposition_config",
    "iree_codegen.tuning_spec_mlirbc",
)
_ESCAPE = re.compile(rb"\\[0-9A-Fa-f]{2}")
_UNSIGNED = re.compile(rb"[<x](ui\d+|i1)\b")
_BYTECODE = b"ML\xefR"
_FLAGS = (
    "iree-codegen-tuning-spec-path",
    "iree-codegen-enable-default-tuning-specs",
    "iree-codegen-transform-dialect-library",
)


class CompileError(RuntimeError):
    """A compile failed; the message holds the compiler's diagnostics, one a line, unless they have
    been printed."""


@dataclass
class Invocations:
    """The open invocations of a session; to be used in a `with` statement, which closes them.

    Attributes:
        session: the compiler session; its flags are set.
        settings: how invocations are made, and which flags the process has.
        console: whether diagnostics are printed; otherwise a CompileError holds them.
        source: what was read last, until `close`.
        messages: the diagnostics that have not been printed.
        holds: whether diagnostics are kept rather than printed at once.
    """

    session: Session
    settings: CompileSettings
    console: bool = True
    source: Source | None = field(default=None, init=False)
    messages: list[str] = field(default_factory=list, init=False)
    holds: bool = field(init=False)
    _open: list[SteppedInvocation] = field(default_factory=list, init=False)
    _users_configuration: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        # The compiler says in many lines that it does not know a GPU, in the place of which one
        # shall stand.
        flags = self.settings.process_flags
        self._unknown_gpu = unknown_cuda_target(flags) or unknown_amd_target(flags)
        self.holds = not self.console or bool(self._unknown_gpu)

    def __enter__(self) -> Invocations:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all invocations; written outputs stay, and another source can be read."""
        self._print_held()
        while self._open:
            self._open.pop().close()
        self.source = None

    def read(self, source: Source) -> SteppedInvocation:
        """Reads `source` and verifies it; its invocation receives all later diagnostics too.

        Raises:
            CompileError: the source is not valid.
        """
        invocation = self._begin()
        if source is not self.source:
            self.source, self._users_configuration = source, None
            if self.settings.remarks_filter:
                invocation.setup_remarks(self.settings.remarks_filter, self.settings.remarks_file)
        if self.holds:
            invocation.send_diagnostics(self.messages.append)
        if not invocation.parse(source, console_diagnostics=not self.holds):
            raise self.failure()
        return invocation

    def resume(self, module: ir.Operation, start: str, end: str) -> SteppedInvocation:
        """Compiles `module` from after phase `start` up to phase `end`.

        Raises:
            CompileError: the compiler has reported an error.
        """
        invocation = self._begin()
        invocation.import_op(module)
        try:
            invocation.execute(start, end)
        except StepError as error:
            raise self.failure() from error
        return invocation

    def _begin(self) -> SteppedInvocation:
        invocation = SteppedInvocation(self.session, verify=self.settings.verify)
        self._open.append(invocation)
        if self.settings.dump_phases_to:
            invocation.dump_phases_to(self.settings.dump_phases_to)
        return invocation

    def users_configuration(self) -> str:
        """Returns why the configurations of the source may be the user's own; empty if not."""
        if self._users_configuration is None:
            self._users_configuration = configuring_flag(self.settings.process_flags)
            if (
                not self._users_configuration
                and self.source is not None
                and may_configure(self.settings.input)
            ):
                # Reading it twice is less work than to look at every program before its codegen.
                # The invocation stays open, because it receives the diagnostics from here on.
                again = self.read(self.source)
                self._users_configuration = configuring_attribute(again.export())
        return self._users_configuration

    def failure(self, otherwise: str = "") -> CompileError:
        """Returns the error that holds what the compiler has said, or else another text."""
        messages = "\n".join(self.messages) or otherwise
        if said := self._unknown_gpu and missing_target(
            self._unknown_gpu, messages, compiler_version()
        ):
            messages, self.messages[:] = said, [said]
        self._print_held()
        return CompileError(messages)

    def _print_held(self) -> None:
        """Prints what was only kept because of a GPU that the compiler may not know."""
        if self.console and self.holds:
            for message in self.messages:
                print(message, file=sys.stderr)
            self.messages.clear()


def configuring_flag(flags: Sequence[str]) -> str:
    """Returns why the flags make configurations the user's own; empty where they do not."""
    for flag in joined_flags(flags):
        name, _, value = flag.lstrip("-").partition("=")
        if name in _FLAGS and value != "false":
            return f"--{name} is given"
    return ""


def may_configure(path: str | None) -> bool:
    """Returns whether a source may have configurations of its own. False is certain.

    Args:
        path: the file that it is all of, or a part of; None where that is not known.
    """
    return _may_hold(path, lambda text: any(text.find(name.encode()) >= 0 for name in _ATTRIBUTES))


def may_multiply_unsigned(path: str | None) -> bool:
    """Returns whether a source may have products of StableHLO with unsigned factors. False is
    certain.

    Args:
        path: as of `may_configure`.
    """
    return _may_hold(path, lambda text: text.find(b"stablehlo") >= 0 and _holds_unsigned(text))


def _holds_unsigned(text: mmap.mmap) -> bool:
    """Returns whether the text names a type of unsigned integers or of booleans; bytecode may."""
    return text[: len(_BYTECODE)] == _BYTECODE or _UNSIGNED.search(text) is not None


def _may_hold(path: str | None, looked_for: Callable[[mmap.mmap], bool]) -> bool:
    """Returns whether a source may hold some names. False is certain.

    Text and bytecode hold names as they are, unless characters are escaped, and to look for them is
    faster than to read the program.
    """
    if path is None or is_stream_or_device(path):
        return True
    try:
        with (
            Path(path).open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text,
        ):
            return looked_for(text) or _ESCAPE.search(text) is not None
    except (OSError, ValueError):
        return True


def configuring_attribute(program: ir.Operation) -> str:
    """Returns why a program makes configurations the user's own; empty where it does not."""
    from ..dialect_utils.operations import operations_in

    for operation in operations_in(program):
        for name in _ATTRIBUTES:
            if name in operation.attributes:
                return f"the program has a {name} of its own"
    return ""
