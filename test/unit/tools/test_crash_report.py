# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is said of a crash of the compiler. A script that ends itself stands for the compiler."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bankwise.iree_plugin import embedding
from bankwise.tools import crash_report
from bankwise.tools.crash_report import explain, in_pass

TRACE = """\
 #4 0x00 mlir::iree_compiler::setVectorDistributionConfig(int) KernelConfig.cpp:0:0
 #6 0x00 mlir::(anonymous namespace)::LLVMGPUSelectLoweringStrategyPass::runOnOperation() X.cpp:0:0
 #9 0x00 mlir::IREE::HAL::(anonymous namespace)::ConfigureExecutablesPass::runOnOperation() Y.cpp
"""
PRINTED = """\
// -----// IR Dump Before CSEPass: cse //----- //
module {}
// -----// IR Dump Before FlattenSwizzleHints: bankwise-flatten-swizzle-hints //----- //
module {}
"""
CRASH = "kill -SEGV $$\n"
STOCK_TOO = (
    ", and so does iree-compile without Bankwise (SIGSEGV, just tried): its stack trace is what "
    "IREE's developers need"
)


def said(lines: str) -> str:
    return f"cat >&2 <<'END'\n{lines}END\n"


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        ("", ""),
        ("a.mlir:1:1: error: no\n", ""),
        (PRINTED, " in FlattenSwizzleHints"),
        (PRINTED + TRACE, " in LLVMGPUSelectLoweringStrategyPass"),
    ],
)
def test_the_pass_of_a_crash_is_the_innermost_that_is_named(lines: str, where: str) -> None:
    assert in_pass(lines.splitlines()) == where


@pytest.mark.parametrize(
    ("stock", "ours", "end"),
    [
        (said(TRACE) + CRASH, "", f" in LLVMGPUSelectLoweringStrategyPass{STOCK_TOO}"),
        # Without a symbolizer the pass is the last one in front of which the IR was printed.
        (f"case $* in *print-ir-before-all*)\n{said(PRINTED)};; esac\n{CRASH}", "",
         f" in FlattenSwizzleHints{STOCK_TOO}"),
        ("exit 0", PRINTED, " in FlattenSwizzleHints; iree-compile compiles it (just tried), so"),
        ("exit 1", PRINTED, " in FlattenSwizzleHints; iree-compile reports an error on it (just"),
    ],
    ids=["trace", "no symbolizer", "ours", "ours on what is wrong"],
)  # fmt: skip
def test_a_crash_is_in_a_pass_and_somebody_s(
    stock: str, ours: str, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "iree-compile"
    compiler.write_text(f"#!/bin/sh\n{stock}\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(embedding, "compiler_tool", lambda _: compiler)
    monkeypatch.setattr(crash_report, "_OURS", "import os, sys; os.write(2, sys.argv[-1].encode())")
    monkeypatch.setattr(crash_report, "_NAMING_PASSES", ("--mlir-print-ir-before-all", ours))
    monkeypatch.setattr(sys, "argv", ["bankwise-compile", "a.mlir", "-o", "a.vmfb"])
    message = explain("compile", "SIGSEGV")
    assert message.startswith(f"'a.mlir': the compiler crashed (SIGSEGV){end}")


def test_a_compile_that_crashes_is_explained_in_one_line(tmp_path: Path) -> None:
    program = (
        "import os, resource, signal, sys\n"
        "from bankwise.tools import commands, crash_report\n"
        "def work(*_):\n"
        "    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        "    os.kill(os.getpid(), signal.SIGSEGV)\n"
        "commands._work = work\n"
        "crash_report._second_compile = lambda _: (-signal.SIGSEGV, ' in CSEPass')\n"
        "commands.compile_command()\n"
    )
    command = [sys.executable, "-c", program, "a.mlir", "-o", "a.vmfb"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    error = f"'a.mlir': the compiler crashed (SIGSEGV) in CSEPass{STOCK_TOO}"
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"bankwise-compile: error: {error}\n"
    assert list(tmp_path.iterdir()) == []
