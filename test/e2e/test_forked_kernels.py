# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that a compile works on in forked processes become what they become in one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .conftest import Tool


def run_here(directory: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )


_PROGRAM = """
func.func @f(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>, %z: tensor<512x64xf32>)
    -> (tensor<64x64xf32>, tensor<512x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%x, %y : tensor<64x64xf16>, tensor<64x64xf16>)
    outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %n = tensor.empty() : tensor<512x64xf32>
  %s = linalg.softmax dimension(1) ins(%z : tensor<512x64xf32>)
    outs(%n : tensor<512x64xf32>) -> tensor<512x64xf32>
  return %p, %s : tensor<64x64xf32>, tensor<512x64xf32>
}
"""
_WITH_PROCESSORS = """
import os, sys
from bankwise.iree_plugin.beside import Beside
from bankwise.iree_plugin.embedding import Lost
from bankwise.iree_plugin.replay import PassRunner
from bankwise.tools.compile import main

processors, parent, begin = int(sys.argv[1]), os.getpid(), Beside.begin

def begin_here(self, function):
    open(f"beside-{os.getppid() == parent}", "w").close()
    begin(self, function)

def lose(self, function, passes):
    if not self.each_verified and "matmul" in str(function.attributes["sym_name"]):
        open("lost", "w").close()
        raise Lost

Beside.begin, PassRunner._verify = begin_here, lose
os.sched_getaffinity = lambda _: range(processors)
sys.exit(main(sys.argv[2:]))
"""


def test_forks_change_nothing(tool: Tool, tmp_path: Path) -> None:
    """With a processor for each of 2 kernels, what only decides has forks of the kernels' forks.

    A fork compiles a kernel again where something in it is lost.
    """
    (tmp_path / "two.mlir").write_text(_PROGRAM)
    flags = ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80", "--bankwise-remarks")

    def arguments(name: str) -> tuple[str, ...]:
        outputs = ("-o", f"{name}.vmfb", f"--bankwise-decisions={name}.json")
        return ("two.mlir", *flags, *outputs)

    forked = run_here(tmp_path, _WITH_PROCESSORS, "2", *arguments("forked"))
    # Who asks for the IR behind each pass has all kernels worked on in one process.
    alone = tool("bankwise-compile", *arguments("alone"), "--bankwise-dump-ir=ir")
    assert (forked.returncode, forked.stderr) == (0, alone.stderr) != (0, "")
    assert (tmp_path / "beside-True").exists() and not (tmp_path / "beside-False").exists()
    assert (tmp_path / "lost").exists()
    for kind in ("vmfb", "json"):
        one, other = (tmp_path / f"{name}.{kind}" for name in ("forked", "alone"))
        assert one.read_bytes() == other.read_bytes()


_PRODUCT = """
func.func @f(%x: tensor<512x256xf16>, %y: tensor<256x512xf16>, %z: tensor<512x512xf32>)
    -> tensor<512x512xf32> {
  %p = linalg.matmul ins(%x, %y : tensor<512x256xf16>, tensor<256x512xf16>)
    outs(%z : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %p : tensor<512x512xf32>
}
"""
_LOST = """
import os, sys
from bankwise.iree_plugin.forked_kernels import ForkedKernels
from bankwise.tools.compile import main

kept, fork, work = int(sys.argv[1]), ForkedKernels._fork, ForkedKernels._work_on

def fork_one(self, numbers):
    global kept
    kept -= 1
    return fork(self, numbers)

def work_on(self, numbers, results):
    os._exit(1) if kept < 0 else work(self, numbers, results)

ForkedKernels._fork, ForkedKernels._work_on = fork_one, work_on
os.sched_getaffinity = lambda _: (0, 1)
code = main(sys.argv[2:])
print(kept)
sys.exit(code)
"""


def test_a_kernel_whose_forks_are_lost_is_compiled_without(tool: Tool, tmp_path: Path) -> None:
    """Neither what is counted nor what advises is missing then."""
    (tmp_path / "one.mlir").write_text(_PRODUCT)
    flags = (*("one.mlir", "--iree-hal-target-device=cuda"), "--iree-cuda-target=sm_80")
    alone = tool("bankwise-compile", *flags, "-o", "alone.vmfb", "--bankwise-dump-ir=ir")
    # The first fork makes machine code, the second one decides, and a third one does that when the
    # program is compiled again. Both times it is asked when the host program is compiled.
    for kept, started in (0, 3), (1, 3):
        lost = run_here(tmp_path, _LOST, str(kept), *flags, "-o", "lost.vmfb")
        assert (lost.returncode, lost.stderr) == (0, alone.stderr) != (0, "")
        assert lost.stdout == f"{kept - started}\n"
        assert (tmp_path / "lost.vmfb").read_bytes() == (tmp_path / "alone.vmfb").read_bytes()


_CRASHES = """
import os, resource, sys
from bankwise.iree_plugin.replay import PassRunner
from bankwise.tools.commands import compile_command

def crash(self, function, passes):
    if not self.each_verified:
        print("crashed", flush=True)
        os.abort()

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
PassRunner._verify = crash
os.sched_getaffinity = lambda _: (0, 1)
compile_command()
"""


def test_a_kernel_that_crashes_unverified_is_compiled_with_verification(
    tool: Tool, tmp_path: Path
) -> None:
    (tmp_path / "one.mlir").write_text(_PRODUCT)
    flags = (*("one.mlir", "--iree-hal-target-device=cuda"), "--iree-cuda-target=sm_80")
    alone = tool("bankwise-compile", *flags, "-o", "alone.vmfb")
    crashed = run_here(tmp_path, _CRASHES, *flags, "-o", "crashed.vmfb")
    assert (crashed.returncode, crashed.stderr) == (0, alone.stderr)
    assert crashed.stdout == "crashed\n"
    assert (tmp_path / "crashed.vmfb").read_bytes() == (tmp_path / "alone.vmfb").read_bytes()
    # Nobody can read the standard input once more, so that all is verified.
    with (tmp_path / "one.mlir").open() as source:
        read = subprocess.run(
            [sys.executable, "-c", _CRASHES, "-", *flags[1:], "-o", "read.vmfb"],
            cwd=tmp_path,
            capture_output=True,
            stdin=source,
        )
    assert (read.returncode, read.stdout) == (0, b"")


_WITHOUT_THREADS = """
import sys, threading
from bankwise.tools.commands import compile_command

def start(self):
    print("asked", flush=True)
    raise RuntimeError("can't start new thread")

threading.Thread.start = start
compile_command()
"""


def test_without_threads_a_compile_is_the_same(tool: Tool, tmp_path: Path) -> None:
    """Those that open the library, import what comes later, and load passes only save time."""
    (tmp_path / "one.mlir").write_text(_PRODUCT)
    flags = (*("one.mlir", "--iree-hal-target-device=cuda"), "--iree-cuda-target=sm_80")
    alone = tool("bankwise-compile", *flags, "-o", "alone.vmfb")
    without = run_here(tmp_path, _WITHOUT_THREADS, *flags, "-o", "without.vmfb")
    assert (without.returncode, without.stderr) == (0, alone.stderr)
    assert {*without.stdout.split()} == {"asked"}
    assert (tmp_path / "without.vmfb").read_bytes() == (tmp_path / "alone.vmfb").read_bytes()
