# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools in a process of their own: how they end is how the program ends, and a crash is a line."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

_PROGRAM = """
import os, resource, signal, sys, time
from bankwise.tools.supervision import supervised
def work():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    {work}
sys.exit(supervised("bankwise-x", work, lambda name: f"it crashed ({{name}})"))
"""


def ended(work: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _PROGRAM.format(work=work)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_an_exit_code_is_passed_on() -> None:
    run = ended("print('done', flush=True); os._exit(7)")
    assert (run.returncode, run.stdout, run.stderr) == (7, "done\n", "")


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS"])
def test_a_crash_is_one_line(name: str) -> None:
    run = ended(f"os.kill(os.getpid(), signal.{name})")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"bankwise-x: error: it crashed ({name})\n"


def test_a_killed_compiler_is_one_line() -> None:
    run = ended("os.kill(os.getpid(), signal.SIGKILL)")
    assert run.returncode == 1
    assert run.stderr.startswith("bankwise-x: error: the compiler was killed (SIGKILL)")


def test_a_reader_that_goes_away_ends_the_program_as_before() -> None:
    run = ended("signal.signal(signal.SIGPIPE, 0); os.kill(os.getpid(), signal.SIGPIPE)")
    assert (run.returncode, run.stderr) == (-signal.SIGPIPE, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_program_alone_reaches_the_work(number: signal.Signals) -> None:
    work = (
        f"signal.signal({int(number)}, lambda *_: os._exit(9)); print('up', flush=True); "
        "time.sleep(60)"
    )
    # What a shell runs in the background ignores SIGINT, and so do the programs that it starts.
    usual = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command = [sys.executable, "-c", usual + _PROGRAM.format(work=work)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()
        run.send_signal(number)
        assert run.wait(60) == 9


def test_the_work_ends_with_a_program_that_is_killed() -> None:
    work = "print(os.getpid(), flush=True); time.sleep(60)"
    command = [sys.executable, "-c", _PROGRAM.format(work=work)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        worker = int(run.stdout.readline())
        run.kill()
        # The pipe ends when nobody holds it any more.
        begin = time.monotonic()
        assert (run.stdout.read(), worker > 0) == ("", True)
        assert time.monotonic() - begin < 30
