# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that hold more than one kernel: several dispatches, devices and backends."""

from __future__ import annotations

from pathlib import Path

import pytest

from bankwise.sweep.swept_kernels import Attention

from .conftest import Tool

GFX942 = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")

MLP = """
func.func @mlp(%x: tensor<256x512xf16>, %w: tensor<512x512xf16>) -> tensor<256x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x512xf32>) -> tensor<256x512xf32>
  %product = linalg.matmul ins(%x, %w : tensor<256x512xf16>, tensor<512x512xf16>)
      outs(%init : tensor<256x512xf32>) -> tensor<256x512xf32>
  %result = linalg.softmax dimension(1) ins(%product : tensor<256x512xf32>)
      outs(%empty : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %result : tensor<256x512xf32>
}
"""

# Every lane adds: no LDS, and a pipeline that is not replayed on the CPU.
ADD = """
func.func @add(%a: tensor<4096xf32>, %b: tensor<4096xf32>) -> tensor<4096xf32> {
  %sum = arith.addf %a, %b : tensor<4096xf32>
  return %sum : tensor<4096xf32>
}
"""

TWO_DEVICES = """
func.func @product(%a: tensor<256x512xf16>, %b: tensor<512x512xf16>) -> tensor<256x512xf32>
    attributes {stream.affinity = #hal.device.promise<@first>} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x512xf32>) -> tensor<256x512xf32>
  %product = linalg.matmul ins(%a, %b : tensor<256x512xf16>, tensor<512x512xf16>)
      outs(%init : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %product : tensor<256x512xf32>
}
func.func @sum(%a: tensor<4096xf32>, %b: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {stream.affinity = #hal.device.promise<@second>} {
  %sum = arith.addf %a, %b : tensor<4096xf32>
  return %sum : tensor<4096xf32>
}
"""


def same_as_stock(tool: Tool, directory: Path, source: str, *flags: str) -> None:
    (directory / "in.mlir").write_text(source)
    ours = tool("bankwise-compile", "in.mlir", *flags, "-o=a", "--bankwise-mitigation=stock")
    assert ours.returncode == 0, ours.stderr
    stock = tool("iree-compile", "in.mlir", *flags, "-o=b")
    assert stock.returncode == 0, stock.stderr
    assert (directory / "a").read_bytes() == (directory / "b").read_bytes()
    auto = tool("bankwise-compile", "in.mlir", *flags, "-o=c")
    assert auto.returncode == 0, auto.stderr
    assert (directory / "c").stat().st_size > 0


@pytest.mark.nightly
def test_several_dispatches(tool: Tool, tmp_path: Path) -> None:
    same_as_stock(tool, tmp_path, MLP, *GFX942)


@pytest.mark.nightly
def test_several_functions_of_different_types(tool: Tool, tmp_path: Path) -> None:
    kernels = [
        Attention(1, 256, 64, dtype).source().replace("@attention", f"@attention_{dtype}")
        for dtype in ("f16", "f32")
    ]
    same_as_stock(tool, tmp_path, "\n".join(kernels), *GFX942)


@pytest.mark.nightly
def test_several_targets_of_one_device(tool: Tool, tmp_path: Path) -> None:
    same_as_stock(tool, tmp_path, MLP + ADD, "--iree-hal-target-device=hip",
                  "--iree-rocm-target=gfx950")  # fmt: skip


@pytest.mark.parametrize("second", [pytest.param("local", marks=pytest.mark.nightly), "cuda"])
def test_two_devices_in_one_module(tool: Tool, tmp_path: Path, second: str) -> None:
    flags = [
        "--iree-hal-target-device=first=hip",
        f"--iree-hal-target-device=second={second}",
        "--iree-rocm-target=gfx942",
    ]
    if second == "local":
        flags += ["--iree-hal-local-target-device-backends=llvm-cpu",
                  "--iree-llvmcpu-target-cpu=generic"]  # fmt: skip
    else:
        flags += ["--iree-cuda-target=sm_80"]
    same_as_stock(tool, tmp_path, TWO_DEVICES, *flags)


@pytest.mark.nightly
def test_a_module_for_the_cpu_alone(tool: Tool, tmp_path: Path) -> None:
    same_as_stock(tool, tmp_path, ADD, "--iree-hal-target-device=local",
                  "--iree-hal-local-target-device-backends=llvm-cpu",
                  "--iree-llvmcpu-target-cpu=generic")  # fmt: skip


@pytest.mark.nightly
@pytest.mark.sampled
@pytest.mark.parametrize("phase", ["executable-configurations", "executable-sources"])
def test_executables_that_iree_has_formed_already(tool: Tool, tmp_path: Path, phase: str) -> None:
    (tmp_path / "in.mlir").write_text(MLP)
    formed = tool("iree-compile", "in.mlir", *GFX942, f"--compile-to={phase}", "-o=formed.mlir")
    assert formed.returncode == 0, formed.stderr
    assert "hal.executable " in (tmp_path / "formed.mlir").read_text()
    flags = (*GFX942, f"--compile-from={phase}", "--bankwise-remarks", "--bankwise-verify")
    ours = tool("bankwise-compile", "formed.mlir", *flags, "-o=a.vmfb")
    assert ours.returncode == 0, ours.stderr
    assert "conflict cycles -> 0" in ours.stderr
