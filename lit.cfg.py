# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lit configuration: `lit -q test` from the repository root runs every .mlir test."""

import atexit
import os
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path

import lit.formats

from bankwise.test.tool_server import tool_server

# `config` is what lit executes this file with.
config = globals()["config"]

_source = Path(__file__).resolve().parent
_tools = Path(sys.executable).parent

config.name = "bankwise"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["unit", "e2e", "Inputs", ".venv", "bench", "build", "examples", "out"]
config.test_source_root = str(_source)
# Temporary files of the tests stay out of the sources; `out` is ignored by git.
config.test_exec_root = str(_source / "out" / "lit")

config.environment["PATH"] = os.pathsep.join([str(_tools), os.environ.get("PATH", os.defpath)])
for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR", "LD_LIBRARY_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

_until_exit = ExitStack()
atexit.register(_until_exit.close)
_server = _until_exit.enter_context(tool_server())

# Whole words, and not as part of a path or of a pass name such as bankwise-opt-something.
for name, tool in (
    ("FileCheck", "filecheck"),
    ("bankwise-opt", "bankwise-opt"),
    ("bankwise-compile", "bankwise-compile"),
    ("bankwise-report", "bankwise-report"),
    ("iree-opt", "iree-opt"),
    ("iree-compile", "iree-compile"),
):
    command = shlex.join(_server.command(tool))
    config.substitutions.append((rf"(?<![-\w/.]){name}(?![-\w/.])", command))
