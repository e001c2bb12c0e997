# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls into the library: what is raised while it calls back."""

from __future__ import annotations

import pytest
from iree.compiler.api import Session, Source

from bankwise.iree_plugin.embedding import SteppedInvocation


def test_an_interrupt_in_a_callback_is_raised_behind_the_call(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def interrupt(_message: str) -> None:
        raise KeyboardInterrupt

    session = Session()
    invocation = SteppedInvocation(session)
    invocation.send_diagnostics(interrupt)
    source = Source.wrap_buffer(session, b"oops\n\0", buffer_name="text")
    with pytest.raises(KeyboardInterrupt):
        invocation.parse(source, console_diagnostics=False)
    assert "Exception ignored" not in capfd.readouterr().err
    invocation.close()
