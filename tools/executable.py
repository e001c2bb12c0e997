# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-executable`: conflict-free LDS layouts inside an `iree-compile` that stays as it is.

The compiler starts it for each executable (`--iree-hal-preprocess-executables-with`): it reads the
executable from standard input and writes the new one to standard output. Whatever goes wrong, the
executable goes through as it came, and one line says why.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from .. import __version__
from ..bank_model.shown_text import did_you_mean, shown_text
from ..iree_plugin.compile_settings import BEFORE_CODEGEN, BEFORE_CONFIGURATION, CompileSettings
from ..iree_plugin.executable_text import holds_resources, may_change, name_of
from ..iree_plugin.outer_compile import OuterCompile, passed_on, show_messages
from ..passes.mode import LEVELS, MITIGATIONS, MODE_PARTS, RETILE, Mode, gone_value, without_effect
from .compile_arguments import parse_arguments
from .endings import fail, file_error
from .usage import UsageError, check_choice, switch_of

PROGRAM = "bankwise-executable"

HELP = """\
OVERVIEW: Conflict-free LDS layouts inside an unmodified iree-compile

USAGE: iree-compile ... --iree-hal-preprocess-executables-with=bankwise-executable

Reads a hal.executable from standard input and writes the new one to standard output. What cannot
be compiled goes through unchanged, with a warning; the exit code is 0 then too.

OPTIONS:

  --print-completion=<shell>  Print a script that completes this command, for bash or zsh
  --help, --version

ENVIRONMENT (an empty value counts as none, except in BANKWISE_FLAGS, which may have none to name):

  BANKWISE_MITIGATION  {mitigations}: see bankwise-compile --help
  BANKWISE_LEVEL       {levels}
  BANKWISE_RETILE      {retile}
  BANKWISE_REMARKS     1: print what each allocation got and why, as remarks
  BANKWISE_SUMMARY     1: print what each executable has gained, in a line
  BANKWISE_DECISIONS   A file for the same as JSON, which all executables are collected in
  BANKWISE_FLAGS       The flags of the compile, where they cannot be seen: where the compiler is a
                       library in another program, and on systems other than Linux
"""

_FLAGS = "BANKWISE_FLAGS"
_TEXT_PHASES = (BEFORE_CONFIGURATION, BEFORE_CODEGEN)
"""Phases after which executables are there, but code for GPUs has not been generated."""
_VARIABLES = (
    *("BANKWISE_MITIGATION", "BANKWISE_LEVEL", "BANKWISE_RETILE"),
    *("BANKWISE_REMARKS", "BANKWISE_SUMMARY", "BANKWISE_DECISIONS", _FLAGS),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tool; returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "--version" in arguments:
        print(f"{PROGRAM} {__version__}")
        return 0
    if "--help" in arguments or "-h" in arguments:
        print(_help(), end="")
        return 0
    outer = OuterCompile.find()
    show_messages(outer)
    try:
        executable = sys.stdin.buffer.read()
    except OSError as error:
        return fail(PROGRAM, f"cannot read an executable from standard input: {error.strerror}")
    try:
        result = _new_executable(executable, arguments, outer)
    except Exception as error:
        # It promises that nothing that goes wrong here is the end of the compile.
        result = _unchanged(executable, f"{type(error).__name__}: {error}")
    sys.stdout.buffer.write(result)
    sys.stdout.buffer.flush()
    return 0


def _help() -> str:
    return HELP.format(
        mitigations=", ".join(MITIGATIONS), levels=", ".join(LEVELS), retile=", ".join(RETILE)
    )


def _new_executable(
    executable: bytes, arguments: Sequence[str], outer: OuterCompile | None
) -> bytes:
    """Returns what goes back to the compiler: the executable itself, if nothing better comes."""
    try:
        settings = _settings(arguments, os.environ, outer)
    except UsageError as error:
        return _unchanged(executable, str(error))
    if holds_resources(executable):
        # The compiler cannot compile what it has printed so, whatever the tool is, and for any GPU
        # or CPU.
        _warn(
            f"executable {name_of(executable)} holds a dense_resource constant, whose data "
            'iree-compile gives to no tool, so that it ends with "resource does not exist"; keep '
            "such constants out of executables by --iree-flow-inline-constants-max-byte-length=0, "
            "or use bankwise-compile"
        )
        return executable
    if not may_change(executable):
        return executable
    last = parse_arguments(_outer_flags(os.environ, outer)).compile_to
    if last in _TEXT_PHASES:
        _warn(
            f"executable {name_of(executable)} is lowered already in what --compile-to={last} "
            "writes; bankwise-compile writes it as it is in that phase"
        )
    try:
        code, output, messages = _compile_in_fork(executable, settings, outer)
    except OSError as error:
        return _unchanged(executable, file_error(error))
    if code != 0:
        return _unchanged(executable, _reason(messages) or _ending(code))
    _say(messages)
    return output or executable


def _settings(
    arguments: Sequence[str], environment: Mapping[str, str], outer: OuterCompile | None
) -> CompileSettings:
    """Returns what the environment and the outer compile's flags ask for.

    Raises:
        UsageError: they say what is wrong, or there are no flags to be seen.
    """
    if arguments:
        raise UsageError(f"unknown argument '{arguments[0]}'; settings are environment variables")
    for name in environment:
        if name.startswith("BANKWISE_") and name not in _VARIABLES:
            known, hint = ", ".join(_VARIABLES), did_you_mean(name, _VARIABLES)
            raise UsageError(f"unknown variable {name} (known: {known}){hint}")
    flags = parse_arguments(_outer_flags(environment, outer))
    mode = _mode(environment)
    return CompileSettings(
        mitigation=mode.mitigation,
        level=mode.level,
        retile=mode.retile,
        compile_from=BEFORE_CONFIGURATION,
        remarks=_switched_on("BANKWISE_REMARKS", environment),
        quiet=not _switched_on("BANKWISE_SUMMARY", environment),
        decisions=_decisions(environment.get("BANKWISE_DECISIONS", "")),
        verify=flags.verify,
        process_flags=passed_on(flags.process_flags),
    )


def _switched_on(name: str, environment: Mapping[str, str]) -> bool:
    """Returns whether a variable asks for something; raises UsageError for any word but 0 and 1."""
    return switch_of(f"{name}={environment.get(name) or '0'}")


def _mode(environment: Mapping[str, str]) -> Mode:
    given: dict[str, str] = {}
    for part, allowed in MODE_PARTS.items():
        name = _variable(part)
        if part == "retile" and (gone := gone_value(name, environment.get(name, ""))):
            raise UsageError(gone)
        if environment.get(name):
            check_choice(name, environment[name], allowed)
            given[part] = environment[name]
    mode = Mode(**given)
    ignored = without_effect(mode.mitigation, given.get("level"), mode.retile)
    if ignored:
        raise UsageError(f"{_variable(ignored.part)}={given[ignored.part]}: {ignored.reason}")
    return mode


def _variable(part: str) -> str:
    return f"BANKWISE_{part.upper()}"


def _outer_flags(environment: Mapping[str, str], outer: OuterCompile | None) -> Sequence[str]:
    if _FLAGS in environment:
        import shlex

        try:
            return shlex.split(environment[_FLAGS])
        except ValueError as error:
            raise UsageError(f"{_FLAGS}: {error}") from None
    if outer is None:
        raise UsageError(
            f"no iree-compile has started it, so that its flags cannot be seen; set {_FLAGS} to "
            "the flags of the compile, which may be none"
        )
    return outer.arguments


def _decisions(path: str) -> str | None:
    if path:
        from ..iree_plugin.atomic_file import OutputError, is_stream_or_device
        from ..iree_plugin.shared_decisions import check_decisions_file

        if is_stream_or_device(path):
            raise UsageError(f"BANKWISE_DECISIONS: '{path}' is no file that can be added to")
        try:
            check_decisions_file(Path(path))
        except OutputError as error:
            raise UsageError(f"BANKWISE_DECISIONS: {error}") from None
    return path or None


def _compile_in_fork(
    executable: bytes, settings: CompileSettings, outer: OuterCompile | None
) -> tuple[int, bytes, str]:
    """Returns how a compile in a process of its own has ended, as `run_forked` does, the new
    executable, and what was written to standard error.

    Raises:
        OSError: there is no place for its output, or no process can be started.
    """
    import tempfile

    from .forked_work import run_forked

    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:

        def work() -> int:
            os.dup2(messages.fileno(), 2)
            try:
                output.write(_compile(executable, settings, outer))
                output.flush()
            except BaseException as error:
                print(f"error: {error or type(error).__name__}", file=sys.stderr, flush=True)
                return 1
            return 0

        code = run_forked(work)
        for file in (output, messages):
            file.seek(0)
        return code, output.read(), messages.read().decode(errors="replace")


def _ending(code: int) -> str:
    if code < 0:
        return f"the compiler was ended by {signal.Signals(-code).name}"
    return f"the compiler ended with exit code {code}"


def _compile(executable: bytes, settings: CompileSettings, outer: OuterCompile | None) -> bytes:
    """Returns the new executable; loads the compiler."""
    from ..iree_plugin.early_import import import_beside_compiler

    import_beside_compiler()
    from ..iree_plugin import embedding
    from ..iree_plugin.executable_codegen import check_version, compile_executable

    if outer is not None:
        check_version(outer.program)
    embedding.set_process_flags(PROGRAM, list(settings.process_flags))
    return compile_executable(executable, settings)


def _unchanged(executable: bytes, reason: str) -> bytes:
    name = name_of(executable)
    _warn(f"executable {name} is compiled as iree-compile would compile it: {reason}")
    return executable


def _warn(message: str) -> None:
    _say(f"{PROGRAM}: warning: {shown_text(message)}\n")


def _reason(messages: str) -> str:
    """Returns the place and the text of the first error, else the first line that there is."""
    lines = messages.splitlines() or [""]
    error = next((line for line in lines if "error: " in line), lines[0])
    return error.replace("error: ", "", 1).removeprefix(f"{PROGRAM}: ").strip()


def _say(messages: str) -> None:
    """Writes messages to standard error at once, so that those of other executables stay apart."""
    with contextlib.suppress(OSError):  # The executable goes back whether anybody listens or not.
        if messages:
            os.write(2, messages.encode(errors="replace"))


if __name__ == "__main__":
    from .commands import executable_command

    executable_command()
