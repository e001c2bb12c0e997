# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work on kernels in forked processes, in a process of its own without other threads."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import os, signal, sys
from iree.compiler import ir
from bankwise.iree_plugin.forked_kernels import ForkedKernels, may_fork

def work(number):
    if number == 3:
        raise ValueError
    if number == 5:
        os.kill(os.getpid(), signal.SIGSEGV)
    print(f"said by {number}", file=sys.stderr)
    os.write(2, b"and by the compiler\\n")
    return os.getpid(), "x" * number * 100_000

context = ir.Context()
kernels = [number for number in range(8) if number != 1]
with ForkedKernels(context, kernels, work) as forks:
    found = {number: forks.sent(number) for number in range(8)}
kinds = {None if each is None else len(each.result[1]) for each in found.values()}
print(sorted(kinds - {None}), [n for n in (1, 3, 5) if found[n] is not None])
print(found[2].printed, os.getpid() in {each.result[0] for each in found.values() if each})
print(may_fork(), context.get_num_threads() > 0)
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("none is left")
"""


def test_kernels_are_worked_on_in_forks_and_what_fails_there_is_left() -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{0}})\n{_PROGRAM}"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    sizes, printed, *rest = run.stdout.splitlines()
    # One processor has one fork, which ends at the fifth kernel.
    assert sizes == "[0, 200000, 400000] []"
    assert printed == r"b'said by 2\nand by the compiler\n' False"
    assert rest == ["True True", "none is left"]
    assert run.stderr == ""
