# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules as the importers of ONNX and torch write them, compiled and run on the emulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.bench.reference_attention import attention, softmax
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


CONVOLUTION = """
func.func @main_graph(%x: !torch.vtensor<[1,3,10,10],f32>, %w: !torch.vtensor<[4,3,3,3],f32>)
    -> !torch.vtensor<[1,4,4,4],f32> attributes {
    torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %b = torch.operator "onnx.Constant"()
      {torch.onnx.value = dense<[0.5, -0.25, 1.0, 2.0]> : tensor<4xf32>}
      : () -> !torch.vtensor<[4],f32>
  %c = torch.operator "onnx.Conv"(%x, %w, %b)
      {torch.onnx.kernel_shape = [3 : si64, 3 : si64], torch.onnx.strides = [1 : si64, 1 : si64],
       torch.onnx.pads = [0 : si64, 0 : si64, 0 : si64, 0 : si64], torch.onnx.group = 1 : si64,
       torch.onnx.dilations = [1 : si64, 1 : si64]}
      : (!torch.vtensor<[1,3,10,10],f32>, !torch.vtensor<[4,3,3,3],f32>, !torch.vtensor<[4],f32>)
      -> !torch.vtensor<[1,4,8,8],f32>
  %r = torch.operator "onnx.Relu"(%c)
      : (!torch.vtensor<[1,4,8,8],f32>) -> !torch.vtensor<[1,4,8,8],f32>
  %p = torch.operator "onnx.MaxPool"(%r)
      {torch.onnx.kernel_shape = [2 : si64, 2 : si64], torch.onnx.strides = [2 : si64, 2 : si64]}
      : (!torch.vtensor<[1,4,8,8],f32>) -> !torch.vtensor<[1,4,4,4],f32>
  return %p : !torch.vtensor<[1,4,4,4],f32>
}
"""


def convolution(x: Array, w: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), axis=(2, 3))
    sums = np.einsum("nchwij,ocij->nohw", windows, w)
    sums += np.array([0.5, -0.25, 1.0, 2.0])[None, :, None, None]
    return np.maximum(sums, 0).reshape(1, 4, 4, 2, 4, 2).max(axis=(3, 5))


GAIN = [1.0, 0.9, 1.1, 1.2, 0.8] + [1.0] * 11
BIAS = [0.0, 0.1, -0.1, 0.2] + [0.5] * 12
BLOCK = """
func.func @main_graph(%ids: !torch.vtensor<[1,8],si64>, %table: !torch.vtensor<[20,16],f32>,
    %wqkv: !torch.vtensor<[16,48],f32>, %wo: !torch.vtensor<[16,16],f32>,
    %w1: !torch.vtensor<[16,32],f32>, %w2: !torch.vtensor<[32,16],f32>)
      -> !torch.vtensor<[1,8,16],f32> attributes {
    torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 20 : si64} {
  %g = torch.operator "onnx.Constant"()
      {torch.onnx.value = dense<GAIN> : tensor<16xf32>}
      : ()
      -> !torch.vtensor<[16],f32>
  %b = torch.operator "onnx.Constant"()
      {torch.onnx.value = dense<BIAS> : tensor<16xf32>}
      : ()
      -> !torch.vtensor<[16],f32>
  %scale = torch.operator "onnx.Constant"()
      {torch.onnx.value = dense<0.25> : tensor<f32>}
      : ()
      -> !torch.vtensor<[],f32>
  %e = torch.operator "onnx.Gather"(%table, %ids)
      {torch.onnx.axis = 0 : si64}
      : (!torch.vtensor<[20,16],f32>, !torch.vtensor<[1,8],si64>)
      -> !torch.vtensor<[1,8,16],f32>
  %n = torch.operator "onnx.LayerNormalization"(%e, %g, %b)
      {torch.onnx.axis = -1 : si64, torch.onnx.epsilon = 9.99999974E-6 : f32}
      : (!torch.vtensor<[1,8,16],f32>, !torch.vtensor<[16],f32>, !torch.vtensor<[16],f32>)
      -> !torch.vtensor<[1,8,16],f32>
  %qkv = torch.operator "onnx.MatMul"(%n, %wqkv)
      : (!torch.vtensor<[1,8,16],f32>, !torch.vtensor<[16,48],f32>)
      -> !torch.vtensor<[1,8,48],f32>
  %q, %k, %v = torch.operator "onnx.Split"(%qkv)
      {torch.onnx.axis = -1 : si64, torch.onnx.num_outputs = 3 : si64}
      : (!torch.vtensor<[1,8,48],f32>)
      -> (!torch.vtensor<[1,8,16],f32>, !torch.vtensor<[1,8,16],f32>,
          !torch.vtensor<[1,8,16],f32>)
  %kt = torch.operator "onnx.Transpose"(%k)
      {torch.onnx.perm = [0 : si64, 2 : si64, 1 : si64]}
      : (!torch.vtensor<[1,8,16],f32>)
      -> !torch.vtensor<[1,16,8],f32>
  %s = torch.operator "onnx.MatMul"(%q, %kt)
      : (!torch.vtensor<[1,8,16],f32>, !torch.vtensor<[1,16,8],f32>)
      -> !torch.vtensor<[1,8,8],f32>
  %ss = torch.operator "onnx.Mul"(%s, %scale)
      : (!torch.vtensor<[1,8,8],f32>, !torch.vtensor<[],f32>)
      -> !torch.vtensor<[1,8,8],f32>
  %p = torch.operator "onnx.Softmax"(%ss)
      {torch.onnx.axis = -1 : si64}
      : (!torch.vtensor<[1,8,8],f32>)
      -> !torch.vtensor<[1,8,8],f32>
  %o = torch.operator "onnx.MatMul"(%p, %v)
      : (!torch.vtensor<[1,8,8],f32>, !torch.vtensor<[1,8,16],f32>)
      -> !torch.vtensor<[1,8,16],f32>
  %ow = torch.operator "onnx.MatMul"(%o, %wo)
      : (!torch.vtensor<[1,8,16],f32>, !torch.vtensor<[16,16],f32>)
      -> !torch.vtensor<[1,8,16],f32>
  %x = torch.operator "onnx.Add"(%ow, %e)
      : (!torch.vtensor<[1,8,16],f32>, !torch.vtensor<[1,8,16],f32>)
      -> !torch.vtensor<[1,8,16],f32>
  %h = torch.operator "onnx.MatMul"(%x, %w1)
      : (!torch.vtensor<[1,8,16],f32>, !torch.vtensor<[16,32],f32>)
      -> !torch.vtensor<[1,8,32],f32>
  %ge = torch.operator "onnx.Gelu"(%h)
      {torch.onnx.approximate = "tanh"}
      : (!torch.vtensor<[1,8,32],f32>)
      -> !torch.vtensor<[1,8,32],f32>
  %f = torch.operator "onnx.MatMul"(%ge, %w2)
      : (!torch.vtensor<[1,8,32],f32>, !torch.vtensor<[32,16],f32>)
      -> !torch.vtensor<[1,8,16],f32>
  %y = torch.operator "onnx.Add"(%f, %x)
      : (!torch.vtensor<[1,8,16],f32>, !torch.vtensor<[1,8,16],f32>)
      -> !torch.vtensor<[1,8,16],f32>
  return %y : !torch.vtensor<[1,8,16],f32>
}
""".replace("GAIN", str(GAIN)).replace("BIAS", str(BIAS))


def block(ids: Array, table: Array, wqkv: Array, wo: Array, w1: Array, w2: Array) -> Array:
    gain, bias = np.array(GAIN), np.array(BIAS)
    embedded = table.astype(np.float64)[ids]
    centred = embedded - embedded.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt(embedded.var(axis=-1, keepdims=True) + 1e-5) * gain + bias
    query, key, value = np.split(scaled @ wqkv, 3, axis=-1)
    mixed = attention(query, key, value, 0.25) @ wo + embedded
    hidden = mixed @ w1
    gelu = 0.5 * hidden * (1 + np.tanh(np.sqrt(2 / np.pi) * (hidden + 0.044715 * hidden**3)))
    return gelu @ w2 + mixed


@pytest.mark.parametrize(
    ("source", "inputs", "reference"),
    [
        (MLP, [uniform(4, 32)], mlp),
        pytest.param(
            CONVOLUTION,
            [uniform(1, 3, 10, 10), uniform(4, 3, 3, 3)],
            convolution,
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            BLOCK,
            [
                RANDOM.integers(0, 20, (1, 8)),
                *(uniform(*s) for s in ((20, 16), (16, 48), (16, 16), (16, 32), (32, 16))),
            ],
            block,
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_models_from_onnx_are_right_under_all_mitigations(
    source: str, inputs: list[Array], reference: Callable[..., Array]
):
    """Their weights are constants, and the function that is called waits for another's fence."""
    flags = (*FLAGS, "--iree-input-type=onnx")
    found: set[bytes] = set()
    for mitigation in ("none", "stock", "auto"):
        (output,) = run_emulated(source, flags, mitigation, inputs).outputs
        wanted = reference(*inputs)
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
