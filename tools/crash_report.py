# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is said of a crash of the compiler: in which pass, and whether it happens without us too.

Both are found out after the crash, by compiling again: the compiler of the wheel prints a stack
trace, and names a pass before it runs it if asked to. A compile that ends well pays for neither.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence

from ..iree_plugin.compile_settings import CompileSettings
from ..iree_plugin.outer_compile import passed_on
from .compile_arguments import parse_arguments

_PASS_IN_TRACE = re.compile(r"(\w+Pass)(?:Base)?(?:<[^<>]*>)?::runOnOperation\(")
_PASS_BEFORE = re.compile(r"// -----// IR Dump Before ([^:{ ]+)")
_NAMING_PASSES = (
    "--mlir-print-ir-before-all",
    "--mlir-disable-threading",
    "--mlir-elide-elementsattrs-if-larger=1",
    "--mlir-elide-resource-strings-if-larger=1",
)
_PATIENCE_S = 600
_OURS = "import sys; from {package}.tools.compile import main; sys.exit(main(sys.argv[1:]))"


def explain(tool: str, crash: str) -> str:
    """Returns the error of a tool whose compiler was ended by the signal named `crash`."""
    if tool != "compile":
        return f"the compiler crashed ({crash}); bankwise-compile says of the same input where"
    # The command line could be read once before.
    settings = parse_arguments(sys.argv[1:])
    what = f"the compiler crashed ({crash})"
    if settings.input in (None, "-"):
        return f"{what} on what came from standard input; give it a file to learn more"
    what = f"'{settings.input}': {what}"
    try:
        return f"{what}{_compared_with_stock(settings)}"
    except (OSError, TimeoutError) as error:
        return f"{what}; nothing more is known: {error}"


def _compared_with_stock(settings: CompileSettings) -> str:
    # Outputs, dumps and printing happen in no second compile.
    again = [
        str(settings.input),
        *passed_on(settings.process_flags),
        f"--compile-mode={settings.compile_mode}",
        f"--compile-from={settings.compile_from}",
        f"--compile-to={settings.compile_to}",
        *(["--split-input-file"] if settings.split_input else []),
        f"-o={os.devnull}",
    ]
    from ..iree_plugin.embedding import compiler_tool

    stock = [str(compiler_tool("iree-compile")), *again]
    code, where = _second_compile(stock)
    if code < 0:
        # Without `llvm-symbolizer` in PATH, the stack trace has no names.
        where = where or _second_compile([*stock, *_NAMING_PASSES])[1]
        ended = signal.Signals(-code).name
        return (
            f"{where}, and so does iree-compile without Bankwise ({ended}, just tried): its stack "
            "trace is what IREE's developers need"
        )
    mode = settings.mode.flags()
    ours = _OURS.format(package=__name__.rsplit(".", 2)[0])
    _, where = _second_compile([sys.executable, "-c", ours, *again, *mode, *_NAMING_PASSES])
    otherwise = "compiles it" if code == 0 else "reports an error on it"
    return (
        f"{where}; iree-compile {otherwise} (just tried), so that Bankwise is to blame: please "
        "report it with the input. --bankwise-mitigation=stock compiles as iree-compile does"
    )


def _second_compile(command: Sequence[str]) -> tuple[int, str]:
    """Returns how a compile ended, as `Popen.returncode` says it, and `in_pass` of what it said.

    Raises:
        TimeoutError: it does not end.
    """
    given_up: list[bool] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as run:

        def give_up() -> None:
            given_up.append(True)
            run.kill()

        timer = threading.Timer(_PATIENCE_S, give_up)
        timer.start()
        assert run.stderr is not None
        where = in_pass(run.stderr)
        timer.cancel()
    if given_up:
        raise TimeoutError(f"iree-compile does not end within {_PATIENCE_S} s")
    return run.returncode, where


def in_pass(lines: Iterable[str]) -> str:
    """Returns ` in` and the pass in which a compile has crashed by what it said; nothing if it has
    not said it.

    That is the innermost one of a stack trace, else the last one that the IR was printed before.
    """
    begun = innermost = ""
    # All lines are read: a process that nobody listens to ends otherwise than it would.
    for line in lines:
        if found := _PASS_BEFORE.match(line):
            begun = f" in {found[1]}"
        elif not innermost and (found := _PASS_IN_TRACE.search(line)):
            innermost = f" in {found[1]}"
    return innermost or begun
