# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work on kernels in forked processes, in a process of its own without other threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bankwise.iree_plugin.forked_kernels import longest_of

_PROGRAM = """
import os, signal, sys, threading, time
from iree.compiler import ir
from bankwise.iree_plugin.ending_forks import wait_for_ending
from bankwise.iree_plugin.forked_kernels import ForkedKernels, may_fork

def work(number):
    if number == 3:
        raise ValueError
    if number == 4:
        return lambda: "what cannot be sent"
    if number == 5:
        os.kill(os.getpid(), signal.SIGSEGV)
    print(f"said by {number}", file=sys.stderr)
    os.write(2, b"and by the compiler\\n")
    return os.getpid(), "x" * number * 100_000

context = ir.Context()
processors = 1
os.sched_getaffinity = lambda _: range(processors)

def left():
    wait_for_ending()
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return "none is left"
"""


def _run(program: str, *options: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-W", "error", *options, "-c", f"{_PROGRAM}{program}"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert run.stderr == ""
    return run.stdout.splitlines()


def test_kernels_are_worked_on_in_forks_and_what_fails_there_is_left() -> None:
    sizes, printed, *rest = _run("""
kernels = [number for number in range(8) if number != 1]
with ForkedKernels(context, kernels, work) as forks:
    found = {number: forks.sent(number) for number in range(8)}
kinds = {None if each is None else len(each.result[1]) for each in found.values()}
print(sorted(kinds - {None}), [n for n in (1, 3, 4, 5) if found[n] is not None])
print(found[2].printed, os.getpid() in {each.result[0] for each in found.values() if each})
print(left(), may_fork())
processors = 2
print(may_fork())
""")
    # One processor has one fork, which ends at the fifth kernel.
    assert sizes == "[0, 200000] []"
    assert printed == r"b'said by 2\nand by the compiler\n' False"
    assert rest == ["none is left False", "True"]


def test_a_kernel_that_fails_is_known_before_the_others_are_done() -> None:
    said = _run("""
def work(number):
    if number == 0:
        raise ValueError
    time.sleep(100)

with ForkedKernels(context, range(3), work) as forks:
    print(forks.sent(0))
print(left())
""")
    assert said == ["None", "none is left"]


def test_nobody_waits_for_forks_before_the_end_and_none_is_left_then() -> None:
    said = _run("""
import ctypes
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: what a fork leaves becomes ours.

def work(number):
    if number == 1:
        time.sleep(100)
    with ForkedKernels(context, [1], work):
        pass
    return ended()

def ended():
    return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT).si_status

with ForkedKernels(context, [0], work) as forks:
    # It tells of no other kernel, and has ended when that is known.
    print(forks.sent(0).result, forks.sent(1))
with ForkedKernels(context, [1], work):
    pass
print(ended(), left())
""")
    assert said == ["9 None", "9 none is left"]


def test_without_files_or_processes_or_with_other_threads_nothing_is_forked() -> None:
    said = _run("""
import resource
processors = 4

def forked():
    with ForkedKernels(context, range(3), work) as forks:
        return [forks.sent(number) is not None for number in range(3)]

print(forked())
waiting = threading.Event()
thread = threading.Thread(target=waiting.wait)
thread.start()
print(may_fork(), forked())
waiting.set()
thread.join()
open_files = len(os.listdir("/proc/self/fd"))
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
for more in (0, 1, 3, 5):
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files - 1 + more, most))
    answers = forked()
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print(len(answers), len(os.listdir("/proc/self/fd")) - open_files)

def no_more():
    raise BlockingIOError
os.fork = no_more
print(forked(), len(os.listdir("/proc/self/fd")) - open_files)
""")
    none = "[False, False, False]"
    assert said == ["[True, True, True]", f"False {none}", *["3 0"] * 4, f"{none} 0"]


def test_where_children_are_not_waited_for_no_other_process_is_ended() -> None:
    said = _run("""
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
ended = []
os.kill = lambda process, number: ended.append(process)
processors = 2
with ForkedKernels(context, range(3), work) as forks:
    print([forks.sent(number) is not None for number in range(3)])
    while any(os.path.exists(f"/proc/{each.process}") for each in forks._forks):
        time.sleep(0.01)
print(ended)
""")
    assert said == ["[True, True, True]", "[]"]


def test_a_fork_does_not_give_work_to_threads_that_it_has_not() -> None:
    # IREE's pool has no thread in a fork, and printing a module verifies its functions in threads.
    said = _run("""
from iree.compiler.api import Session
from bankwise.iree_plugin.embedding import one_thread
session = Session()
context = session.context
functions = "".join(f"func.func @f{n}() {{ return }}" for n in range(8))
module = ir.Module.parse(functions, context)
str(module)

def work(number):
    with one_thread(context):
        pass
    signal.alarm(20)
    return len(str(module))

with ForkedKernels(context, [0], work) as forks:
    print(forks.sent(0).result == len(str(module)))
""")
    assert said == ["True"]


def test_only_the_longest_of_many_kernels_have_several_forks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    available = 8
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(available), raising=False)
    assert longest_of([3, 0, 2]) == {0, 2, 3}
    assert longest_of(range(9, 0, -1)) == {*range(2, 10)}
