# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signals as exceptions, where a tool goes on after them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from bankwise.tools.signals import Interrupted, raised_signals


@pytest.fixture(autouse=True)
def heeded_signals() -> Iterator[None]:
    """Lets a test hear SIGINT, which a shell makes what it starts in the background ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (15, 143, "terminated"), (1, 129, "hung up")],
)
def test_the_first_signal_is_raised_and_the_handlers_come_back(
    number: int, code: int, word: str
) -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(Interrupted, match=word) as caught, raised_signals():
        os.kill(os.getpid(), number)
        for _ in range(1000):
            pass
    assert caught.value.exit_code == code
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with raised_signals():
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
