# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls into the library: what is raised while it calls back, and in how many threads it works."""

from __future__ import annotations

import pytest
from iree.compiler.api import Session, Source

from bankwise.iree_plugin.embedding import (
    SteppedInvocation,
    one_thread,
    work_in_one_thread,
)
from bankwise.iree_plugin.forked_kernels import processors


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


@pytest.mark.skipif(processors() < 2, reason="the compiler has one thread in any case")
def test_a_body_in_one_thread_leaves_the_threads_as_they_were() -> None:
    session = Session()
    context = session.context
    assert context is not None
    several = context.get_num_threads()
    assert several > 1
    with one_thread(context):
        assert context.get_num_threads() == 1
    assert context.get_num_threads() == several
    work_in_one_thread(session)
    with one_thread(context):
        pass
    assert context.get_num_threads() == 1
    assert SteppedInvocation(session).invocation.session.context.get_num_threads() == 1


@pytest.mark.parametrize("lent", [False, True])
def test_what_a_module_holds_is_known_whoever_owns_it(lent: bool) -> None:
    session = Session()
    invocation = SteppedInvocation(session)
    text = b"util.initializer { util.return }\0"
    assert invocation.parse(Source.wrap_buffer(session, text, buffer_name="text"))
    if lent:
        # As after steps that change the program, of which the compiler runs the next phase.
        invocation.import_op(invocation.export())
    assert invocation.holds("util.initializer") and not invocation.holds("util.func")
    assert not invocation.holds("util.return")
    assert invocation.holds("util.func", "util.return", nested=True)
    invocation.close()
