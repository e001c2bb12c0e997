# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that a compile works on in forked processes become what they become in one process."""

from __future__ import annotations

from pathlib import Path

from .conftest import Tool

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


def test_forks_change_nothing(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "two.mlir").write_text(_PROGRAM)
    flags = ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80", "--bankwise-remarks")
    said: list[str] = []
    # Who asks for the IR behind each pass has all kernels worked on in one process.
    for name, more in (("forked", ()), ("alone", ("--bankwise-dump-ir=ir",))):
        outputs = ("-o", f"{name}.vmfb", f"--bankwise-decisions={name}.json")
        result = tool("bankwise-compile", "two.mlir", *flags, *outputs, *more)
        assert result.returncode == 0, result.stderr
        said.append(result.stderr)
    assert said[0] == said[1] != ""
    for kind in ("vmfb", "json"):
        one, other = (tmp_path / f"{name}.{kind}" for name in ("forked", "alone"))
        assert one.read_bytes() == other.read_bytes()
