# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules for the emulator: constants that kernels carry along, and ends that must not crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bankwise.iree_plugin.python_compile import CompileError
from bankwise.runtime.emulated_run import run_emulated

FLAGS = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")
BIAS = """
func.func @main(%a: tensor<4xf32>, %i: tensor<4xi8>) -> (tensor<4xf32>, tensor<4xi8>) {
  %b = arith.constant dense<[1.0, 2.0, 3.0, 9.0]> : tensor<4xf32>
  %j = arith.constant dense<[34, 59, 92, 0]> : tensor<4xi8>
  %r = arith.addf %a, %b : tensor<4xf32>
  %s = arith.addi %i, %j : tensor<4xi8>
  return %r, %s : tensor<4xf32>, tensor<4xi8>
}
"""


@pytest.mark.parametrize("mitigation", ["none", "stock", "auto"])
def test_kernels_read_their_constants(mitigation: str):
    """The second constant is printed as a string with quotes, semicolon and backslash."""
    inputs = [np.array([1, 1, 1, 1], np.float32), np.array([1, 0, 0, 1], np.int8)]
    run = run_emulated(BIAS, FLAGS, mitigation, inputs)
    np.testing.assert_array_equal(run.outputs[0], np.array([2, 3, 4, 10], np.float32))
    np.testing.assert_array_equal(run.outputs[1], np.array([35, 59, 92, 1], np.int8))


def test_flags_that_only_a_process_takes_go_to_a_child():
    """A session refuses them; the module then is compiled in a process of its own."""
    inputs = [np.ones(4, np.float32), np.zeros(4, np.int8)]
    flags = (*FLAGS, "--iree-codegen-llvmgpu-use-igemm=false")
    run = run_emulated(BIAS, flags, "auto", inputs)
    np.testing.assert_array_equal(run.outputs[0], np.array([2, 3, 4, 10], np.float32))
    with pytest.raises(CompileError, match="iree-nonesuch"):
        run_emulated(BIAS, (*FLAGS, "--iree-nonesuch"), "auto", inputs)


BROKEN = """
import sys
import bankwise.runtime.emulated_module as emulated_module
from bankwise.emulator.instruction_text import AssemblyError
from bankwise.tools.run import main

def broken(text, name):
    raise AssemblyError(f"{name}:1: broken")

emulated_module.parse_assembly = broken
arguments = [sys.argv[1], "--device=emulated-gfx942"]
KEEP
"""


@pytest.mark.sampled
@pytest.mark.parametrize(
    "keep",
    [
        "sys.exit(main(arguments))",
        # The module lives on in a traceback up to the interpreter's end.
        "try:\n  emulated_module.compile_for_emulation(sys.argv[1], FLAGS)\n"
        "except AssemblyError as error:\n  sys.kept = error\n"
        "  print('error: ' + str(error), file=sys.stderr)\nsys.exit(1)",
    ],
)
def test_a_kernel_that_cannot_be_read_ends_the_tool_in_order(keep: str, tmp_path: Path):
    source = tmp_path / "bias.mlir"
    source.write_text(BIAS)
    script = BROKEN.replace("KEEP", keep.replace("FLAGS", repr(FLAGS)))
    result = subprocess.run(
        [sys.executable, "-c", script, str(source)], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 1, result.stderr
    lines = [line for line in result.stderr.splitlines() if not line.startswith("device: ")]
    assert len(lines) == 1 and lines[0].endswith("rocmasm:1: broken")
