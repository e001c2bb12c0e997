# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is said of a compiler that has died: in which pass, and whether stock's compiler dies, too.

Both are found out after a crash, by compiling again: the compiler names a pass before it runs it,
if asked to. A compile that ends well does not pay for it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable

from ..iree_plugin.atomic_file import is_stream_or_device
from ..iree_plugin.outer_compile import passed_on
from ..passes.mode import Mode
from .compile_arguments import parse_arguments

_CRASHES = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS")
_PASS_BEFORE = re.compile(r"// -----// IR Dump Before ([^:{ ]+)")
_NAMING_PASSES = (
    "--mlir-print-ir-before-all",
    "--mlir-disable-threading",
    "--mlir-elide-elementsattrs-if-larger=1",
    "--mlir-elide-resource-strings-if-larger=1",
)
_STOCK = Mode("stock")
_MOST_SECONDS = 120
"""How long stock's compile may take, so that it is recommended."""
_COMPILE = "import sys; from {package}.tools.compile import main; sys.exit(main(sys.argv[1:]))"


def explain(tool: str, number: signal.Signals) -> str:
    """Returns the error of a tool whose compiler was ended by a signal."""
    if number is signal.SIGKILL:
        return "the compiler was killed (SIGKILL), as where memory runs out"
    if number.name not in _CRASHES:
        return f"the compiler was ended by {number.name}"
    what = f"the compiler crashed ({number.name})"
    if tool != "compile":
        return f"{what}; bankwise-compile says of the same input where"
    # The command line could be read once before.
    settings = parse_arguments(sys.argv[1:])
    if settings.input is None or is_stream_or_device(settings.input):
        return f"{what} on what came from standard input; give it a file to learn more"
    what = f"'{settings.input}': {what}"
    # Outputs, dumps and printing happen in no second compile.
    program = [
        *(str(settings.input), *passed_on(settings.process_flags)),
        f"--compile-mode={settings.compile_mode}",
        f"--compile-from={settings.compile_from}",
        f"--compile-to={settings.compile_to}",
        *(["--split-input-file"] if settings.split_input else []),
    ]
    where = pass_of_crash([*program, *settings.mode.flags()])
    return f"{what}{where}{_what_helps(program, settings.mode)}"


def _what_helps(program: Iterable[str], mode: Mode) -> str:
    """Returns what is said of stock's compile of a program that has crashed in a mode.

    Args:
        program: a file, and all flags but those of the mode.
    """
    if mode == _STOCK:
        return ""
    stock = " ".join(_STOCK.flags())
    status = status_of([*program, *_STOCK.flags()])
    if status == 0:
        return f"; {stock} compiles as iree-compile does"
    if status is not None and status < 0:
        # Loading this loads the compiler, too.
        from ..iree_plugin.plugins import PLUGIN_GROUP, may_be_installed

        plugins = " and the passes of plugins" if may_be_installed(PLUGIN_GROUP) else ""
        return f"; {stock}, which is iree-compile's code{plugins}, crashes too"
    return ""


def status_of(arguments: Iterable[str]) -> int | None:
    """Returns the exit status of a compile that prints nothing.

    It is negative where a signal ends it, and None where it takes longer than `_MOST_SECONDS`.
    """
    try:
        done = subprocess.run(
            [*_compile(arguments), "-o", os.devnull],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def pass_of_crash(arguments: Iterable[str]) -> str:
    """Compiles once more; returns ` in` and the last pass that began, nothing where none did."""
    command = [*_compile(arguments), *_NAMING_PASSES, "-o", os.devnull]
    begun = ""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as run:
        assert run.stderr is not None
        try:
            for line in run.stderr:
                if found := _PASS_BEFORE.match(line):
                    begun = f" in {found[1]}"
        finally:
            run.kill()
    return begun


def _compile(arguments: Iterable[str]) -> list[str]:
    """Returns the command of a compile in a process of its own, which a crash ends."""
    program = _COMPILE.format(package=__name__.rsplit(".", 2)[0])
    return [sys.executable, "-c", program, *arguments]
