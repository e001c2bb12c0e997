# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work in a forked process: its output, its messages, and every way in which it may end."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from collections.abc import Callable

import pytest

from bankwise.iree_plugin.forked_work import ForkedWork, run_forked


def test_output_and_messages_come_back() -> None:
    def work() -> bytes:
        print("a remark", file=sys.stderr)
        os.write(2, b"of the library\n")
        return b"result" * 100_000

    done = run_forked(work)
    assert done.output == b"result" * 100_000
    assert sorted(done.messages.splitlines()) == ["a remark", "of the library"]
    assert done.failure == ""


def abort() -> bytes:
    faulthandler.disable()  # pytest's would print where.
    os.abort()


def end_by_signal() -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b"never"


def fail() -> bytes:
    raise ValueError("it is wrong")


def leave() -> bytes:
    sys.exit(0)


@pytest.mark.parametrize(
    ("work", "messages", "failure"),
    [
        (abort, "", "the compiler was ended by SIGABRT"),
        (end_by_signal, "", "the compiler was ended by SIGKILL"),
        (lambda: os._exit(3), "", "the compiler ended with exit code 3"),
        (fail, "error: it is wrong\n", "the compiler ended with exit code 1"),
        (leave, "error: 0\n", "the compiler ended with exit code 1"),
    ],
    ids=["abort", "kill", "exit", "exception", "SystemExit"],
)
def test_a_failure_has_no_output(work: Callable[[], bytes], messages: str, failure: str) -> None:
    assert run_forked(work) == ForkedWork(b"", messages, failure)


def test_handlers_of_the_caller_do_not_hold_up_the_copy() -> None:
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:

        def work() -> bytes:
            os.kill(os.getpid(), signal.SIGTERM)
            return b"went on"

        assert run_forked(work).failure == "the compiler was ended by SIGTERM"
    finally:
        signal.signal(signal.SIGTERM, before)
