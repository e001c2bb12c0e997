# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is said of a crash of the compiler. A program that ends itself stands for the compiler."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bankwise.iree_plugin import plugins
from bankwise.passes.mode import Mode
from bankwise.tools import crash_report
from bankwise.tools.crash_report import explain, pass_of_crash, status_of

PRINTED = """\
a.mlir:1:1: warning: odd
// -----// IR Dump Before CSEPass: cse //----- //
module {}
// -----// IR Dump Before FlattenSwizzleHints: bankwise-flatten-swizzle-hints //----- //
module {}
"""
ASKED_FOR_PASSES = "'--mlir-print-ir-before-all' in sys.argv"
STOCK = "; --bankwise-mitigation=stock compiles as iree-compile does"
CRASHES = "; --bankwise-mitigation=stock, which is iree-compile's code, crashes too"


@pytest.mark.parametrize(
    ("said", "where"), [("", ""), ("error: no\n", ""), (PRINTED, " in FlattenSwizzleHints")]
)
def test_a_crash_is_in_the_last_pass_that_began(
    said: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = f"import os, sys; {ASKED_FOR_PASSES} and os.write(2, {said.encode()!r}); os.abort()"
    monkeypatch.setattr(crash_report, "_COMPILE", program.replace("{", "{{").replace("}", "}}"))
    assert pass_of_crash(["a.mlir"]) == where


@pytest.mark.parametrize(
    ("tool", "name", "line"),
    [
        ("report", "SIGSEGV", "the compiler crashed (SIGSEGV); bankwise-compile says of the same "
         "input where"),
        ("compile", "SIGKILL", "the compiler was killed (SIGKILL), as where memory runs out"),
        ("compile", "SIGXCPU", "the compiler was ended by SIGXCPU"),
        ("compile", "SIGABRT", "the compiler crashed (SIGABRT) on what came from standard input; "
         "give it a file to learn more"),
    ],
)  # fmt: skip
def test_other_ends_are_a_line(
    tool: str, name: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["bankwise-compile", "-"])
    assert explain(tool, signal.Signals[name]) == line


@pytest.mark.parametrize(
    ("program", "status"),
    [("import sys; sys.exit(3)", 3), ("import os; os.abort()", -signal.SIGABRT)],
)
def test_the_status_of_another_compile(
    program: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crash_report, "_COMPILE", program)
    assert status_of(["a.mlir"]) == status


def test_a_compile_without_an_end_has_no_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crash_report, "_MOST_SECONDS", 0.1)
    monkeypatch.setattr(crash_report, "_COMPILE", "import time; time.sleep(60)")
    assert status_of(["a.mlir"]) is None


def test_with_plugins_stock_is_not_all_of_iree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "may_be_installed", lambda group: True)
    monkeypatch.setattr(crash_report, "status_of", lambda words: -signal.SIGSEGV)
    assert crash_report._what_helps([], Mode()) == (
        "; --bankwise-mitigation=stock, which is iree-compile's code and the passes of plugins, "
        "crashes too"
    )


@pytest.mark.parametrize(
    ("name", "mode", "status", "advice"),
    [
        ("SIGSEGV", "--bankwise-level=fast", 0, STOCK),
        ("SIGABRT", "--bankwise-level=fast", -signal.SIGABRT, CRASHES),
        ("SIGABRT", "--bankwise-level=fast", 1, ""),
        ("SIGABRT", "--bankwise-level=fast", None, ""),
        ("SIGABRT", "--bankwise-mitigation=stock", 0, ""),
    ],
)
def test_a_compile_that_crashes_is_explained_in_one_line(
    name: str, mode: str, status: int | None, advice: str, tmp_path: Path
) -> None:
    program = (
        "import os, resource, signal\n"
        "from bankwise.tools import commands, crash_report\n"
        "def work(*_):\n"
        "    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        f"    os.kill(os.getpid(), signal.{name})\n"
        "commands._work = work\n"
        "crash_report.pass_of_crash = lambda words: ' in CSEPass of ' + ' '.join(words)\n"
        f"crash_report.status_of = lambda words: {status}\n"
        "commands.compile_command()\n"
    )
    flags = ["--iree-hal-target-device=hip", mode, "--bankwise-decisions=d.json"]
    command = [sys.executable, "-c", program, "a.mlir", *flags, "-o", "a.vmfb"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    usual = "" if "stock" in mode else "--bankwise-mitigation=auto "
    again = (
        "a.mlir --iree-hal-target-device=hip --compile-mode=std --compile-from=start "
        f"--compile-to=end {usual}{mode}"
    )
    error = f"'a.mlir': the compiler crashed ({name}) in CSEPass of {again}{advice}"
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"bankwise-compile: error: {error}\n"
    assert list(tmp_path.iterdir()) == []
