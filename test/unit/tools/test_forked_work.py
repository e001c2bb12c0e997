# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work in a forked process: every way in which it may end, and what is left then."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

_PROGRAM = """
import os, resource, signal, sys, tempfile, time
from pathlib import Path
from bankwise.iree_plugin.temporary_files import temporary_directory, temporary_neighbour
from bankwise.tools.forked_work import run_forked
from bankwise.tools.interruption import run_interruptibly
def work():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    {work}
# What a shell runs in the background ignores SIGINT, and so do the programs that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
def main():
    print("ended", run_forked(work), flush=True)
    return 0
os._exit(run_interruptibly("bankwise-x", main))
"""


def started(work: str, folder: Path) -> subprocess.Popen[str]:
    """Starts a program that forks, whose temporary files are to come into `folder`."""
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM.format(work=work)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={"TMPDIR": str(folder)},
    )


_UNVERIFIED = """
    from bankwise.iree_plugin import unverified
    if not unverified.is_watched():
        return 9
    with unverified.work():
        {how}
    return 8
"""
"""Returns 9 where it is done again."""


@pytest.mark.parametrize(
    ("work", "code", "error"),
    [
        ("return 7", 7, ""),
        ("sys.exit(0)", 1, "SystemExit: 0"),
        ("raise ValueError('it is wrong')", 1, "ValueError: it is wrong"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV, ""),
        ("os.abort()", -signal.SIGABRT, ""),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, ""),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, ""),
        (_UNVERIFIED.format(how="os.abort()"), 9, ""),
        (_UNVERIFIED.format(how="os._exit(1)"), 9, ""),
        (_UNVERIFIED.format(how="os.kill(os.getpid(), signal.SIGKILL)"), -signal.SIGKILL, ""),
        (_UNVERIFIED.format(how="pass"), 8, ""),
    ],
)
def test_how_it_ends_is_said(work: str, code: int, error: str, tmp_path: Path) -> None:
    output, errors = started(work, tmp_path).communicate(timeout=60)
    assert output == f"ended {code}\n"
    assert errors.strip().endswith(error) and bool(errors) == bool(error)


_NO_PROCESS = """
import errno, os, signal, sys
from bankwise.tools import commands

def fork():
    raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

os.fork = fork
sys.argv[1:] = ["--version"]
code = commands._run("compile")
print(code, signal.pthread_sigmask(signal.SIG_BLOCK, ()))
"""


def test_it_is_said_that_no_process_can_be_started(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", _NO_PROCESS], capture_output=True, text=True, cwd=tmp_path
    )
    reason = "no process can be started: Resource temporarily unavailable"
    assert (run.stdout, run.stderr) == ("1 set()\n", f"bankwise-compile: error: {reason}\n")


LEFT_BEHIND = (
    "temporary_directory('x-').__enter__(); tempfile.mkstemp(); "
    "temporary_neighbour(Path.cwd() / 'out'); "
)


def test_nothing_temporary_outlives_a_crash(tmp_path: Path) -> None:
    work = f"{LEFT_BEHIND}print(len(os.listdir()), flush=True); os.abort()"
    output, errors = started(work, tmp_path).communicate(timeout=60)
    assert (output, errors) == (f"2\nended {-signal.SIGABRT}\n", "")
    assert list(tmp_path.iterdir()) == []


_SIGNAL_AT = """
from bankwise.iree_plugin import temporary_files
def then_told(function):
    def called(*arguments, **named):
        result = function(*arguments, **named)
        os.kill(os.getpid(), signal.SIGTERM)
        return result
    return called
def told_before(function):
    def called(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        return function(*arguments)
    return called
{where}
"""


@pytest.mark.parametrize(
    "where",
    [
        "temporary_files._new_folder = then_told(temporary_files._new_folder)",
        "temporary_files._remove = told_before(temporary_files._remove)",
    ],
)
def test_a_signal_while_the_folder_is_made_or_removed_leaves_none(
    where: str, tmp_path: Path
) -> None:
    program = _PROGRAM.replace("os._exit", _SIGNAL_AT.format(where=where) + "os._exit")
    run = subprocess.run(
        [sys.executable, "-c", program.format(work="return 7")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"TMPDIR": str(tmp_path)},
    )
    assert run.returncode == 128 + signal.SIGTERM
    assert (run.stdout, run.stderr) == ("", "bankwise-x: error: terminated\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_program_alone_ends_both(number: signal.Signals, tmp_path: Path) -> None:
    # A call into C, as one into the compiler, in which no handler of Python's runs.
    call = "print('up', flush=True); import ctypes; ctypes.PyDLL(None).sleep(60)"
    with started(LEFT_BEHIND + call, tmp_path) as run:
        assert run.stdout is not None and run.stderr is not None
        run.stdout.readline()
        begin = time.monotonic()
        run.send_signal(number)
        # The pipes end when nobody holds them any more.
        assert run.stdout.read() == ""
        words = {1: "hung up", 2: "interrupted", 15: "terminated"}
        assert run.stderr.read() == f"bankwise-x: error: {words[number]}\n"
        assert run.wait(60) == 128 + number
        assert time.monotonic() - begin < 30
    assert list(tmp_path.iterdir()) == []


def test_it_ends_with_a_program_that_is_killed(tmp_path: Path) -> None:
    with started("print('up', flush=True); time.sleep(60)", tmp_path) as run:
        assert run.stdout is not None
        run.stdout.readline()
        begin = time.monotonic()
        run.kill()
        assert run.stdout.read() == ""
        assert time.monotonic() - begin < 30
