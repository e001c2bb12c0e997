# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules as the importers of ONNX and torch write them, compiled and run on the emulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bankwise.bench.reference_attention import softmax
from bankwise.runtime.emulated_run import run_emulated

FLAGS = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")
Array = npt.NDArray[Any]
RANDOM = np.random.default_rng(7)


def uniform(*shape: int) -> Array:
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


WEIGHTS = uniform(32, 16)
MLP = """
func.func @main_graph(%x: !torch.vtensor<[4,32],f32>) -> !torch.vtensor<[4,16],f32> attributes {
    torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %none = torch.constant.none
  %w = torch.operator "onnx.Constant"() {torch.onnx.value = dense_resource<w> : tensor<32x16xf32>}
      : () -> !torch.vtensor<[32,16],f32>
  %b = torch.operator "onnx.Constant"() {torch.onnx.value = dense<[BIAS]> : tensor<16xf32>}
      : () -> !torch.vtensor<[16],f32>
  %0 = torch.operator "onnx.Gemm"(%x, %w, %b)
      {torch.onnx.alpha = 1.0 : f32, torch.onnx.beta = 1.0 : f32}
      : (!torch.vtensor<[4,32],f32>, !torch.vtensor<[32,16],f32>, !torch.vtensor<[16],f32>)
      -> !torch.vtensor<[4,16],f32>
  %1 = torch.operator "onnx.Relu"(%0)
      : (!torch.vtensor<[4,16],f32>) -> !torch.vtensor<[4,16],f32>
  %2 = torch.operator "onnx.Softmax"(%1) {torch.onnx.axis = -1 : si64}
      : (!torch.vtensor<[4,16],f32>) -> !torch.vtensor<[4,16],f32>
  return %2 : !torch.vtensor<[4,16],f32>
}
{-# dialect_resources: { builtin: { w: "0x04000000HEX" } } #-}
""".replace("BIAS", ", ".join(f"{0.125 * i}" for i in range(16))).replace(
    "HEX", WEIGHTS.tobytes().hex().upper()
)


def mlp(x: Array) -> Array:
    return softmax(np.maximum(x @ WEIGHTS.astype(np.float64) + 0.125 * np.arange(16), 0))


def test_a_model_from_onnx_is_right_under_all_mitigations():
    """Its weights are constants, and the function that is called waits for another's fence."""
    flags, x = (*FLAGS, "--iree-input-type=onnx"), uniform(4, 32)
    found: set[bytes] = set()
    for mitigation in ("none", "stock", "auto"):
        (output,) = run_emulated(MLP, flags, mitigation, [x]).outputs
        wanted = mlp(x)
        assert np.abs(output - wanted).max() <= 5e-6 * np.abs(wanted).max()
        found.add(output.tobytes())
    assert len(found) == 1


def test_narrow_weights_are_dequantized():
    """The weights are 4-bit integers, two in a byte, given as bytes."""
    source = """
func.func @main(%w: tensor<64xi4>, %s: tensor<64xf16>) -> tensor<64xf16> {
  %e = tensor.empty() : tensor<64xf16>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%w, %s : tensor<64xi4>, tensor<64xf16>) outs(%e : tensor<64xf16>) {
  ^bb0(%a: i4, %b: f16, %o: f16):
    %f = arith.sitofp %a : i4 to f16
    %m = arith.mulf %f, %b : f16
    linalg.yield %m : f16
  } -> tensor<64xf16>
  return %r : tensor<64xf16>
}
"""
    weights = RANDOM.integers(-8, 8, 64).astype(np.int8)
    scales = uniform(64).astype(np.float16)
    for mitigation in ("none", "auto"):
        (output,) = run_emulated(source, FLAGS, mitigation, [weights, scales]).outputs
        np.testing.assert_array_equal(output, weights.astype(np.float16) * scales)
