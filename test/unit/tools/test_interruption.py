# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A signal is one line, whatever becomes of the exception that it raises."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import os, signal
from bankwise.tools.interruption import run_interruptibly

def main():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except BaseException:
        pass
    raise ImportError("multiarray failed to import") from None

os._exit(run_interruptibly("bankwise-x", main))
"""


def test_code_in_c_may_make_another_error_of_it() -> None:
    """As NumPy does while it is loaded."""
    run = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("", "bankwise-x: error: terminated\n")
    assert run.returncode == 128 + 15
