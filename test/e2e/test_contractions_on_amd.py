# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and products whose tiles IREE pads, on the emulated gfx942: they become matmuls of
other tiles under `fast`, which compute the same."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bench.program_families.convolutions import NCHW, NHWC, Windowed
from bankwise.bench.program_families.matmuls import Contraction
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.tuning.matmuls.enlarge_matmuls import EnlargeMatmuls
from bankwise.tuning.matmuls.tile_dynamic_matmuls import TileDynamicMatmuls

from .program_runs import run_again

NGCHW = ("n g c h w", "g f c y x", "n g f h w")


def convolution(
    op: str, dims: tuple[str, str, str], dtype: str = "f32", stride: int = 1, **sizes: int
) -> Windowed:
    """Returns a convolution with windows of 3 x 3 elements, unless sizes say otherwise."""
    sizes = {"n": 1, "y": 3, "x": 3, **sizes}
    return Windowed(op, op, dtype, *dims, sizes, stride=stride)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "case",
    [
        convolution("conv_2d_nchw_fchw", NCHW, h=15, w=13, c=32, f=50),
        convolution("conv_2d_nchw_fchw", NCHW, n=2, h=9, w=15, c=17, f=33, stride=2),
        convolution("conv_2d_nchw_fchw", NCHW, "f16", n=2, h=12, w=14, c=64, f=66),
        convolution("conv_2d_nhwc_hwcf", NHWC, n=2, h=11, w=12, c=48, f=40),
        convolution("conv_2d_nhwc_hwcf", NHWC, "bf16", n=3, h=7, w=9, c=32, f=24, y=1, x=7),
        convolution("conv_2d_ngchw_gfchw", NGCHW, g=2, h=10, w=10, c=24, f=36),
    ],
    ids=lambda each: each.name,
)
def test_convolutions_become_matmuls_of_other_tiles(case: Windowed) -> None:
    run = run_again(case.program())
    assert run.error <= run.program.tolerance
    assert run.actions_of(EnlargeMatmuls.name) == [Action.RETILE]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("right", "dtype", "sizes"),
    [
        ("k n", "f32", {"m": 130, "n": 100, "k": 96}),
        ("n k", "f32", {"m": 70, "n": 130, "k": 77}),
        ("k n", "f16", {"m": 100, "n": 75, "k": 160}),
        ("b k n", "f32", {"b": 3, "m": 50, "n": 49, "k": 120}),
    ],
)
def test_products_get_other_tiles(right: str, dtype: str, sizes: dict[str, int]) -> None:
    left, output = ("b m k", "b m n") if "b" in sizes else ("m k", "m n")
    matmul = Contraction("", dtype, sizes, left, right, output, epilogue=("bias", "relu"))
    run = run_again(matmul.program())
    assert run.error <= run.program.tolerance
    assert run.actions_of(EnlargeMatmuls.name) == [Action.RETILE]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("right", "sizes"),
    [("n k", {"m": 4, "n": 120, "k": 480}), ("n k", {"m": 3, "n": 70, "k": 340})],
)
def test_few_rows_are_multiplied_by_matrix_instructions(right: str, sizes: dict[str, int]) -> None:
    matmul = Contraction("", "f32", sizes, "m k", right, "m n", epilogue=("bias", "relu"))
    run = run_again(matmul.program())
    assert run.error <= run.program.tolerance
    assert run.actions_of(TileDynamicMatmuls.name) == [Action.RETILE]


EACH = "affine_map<(n, f, h, w) -> (n, f, h, w)>"
RESULT = "tensor<1x48x13x12xf32>"
IMAGE, WEIGHTS, OTHER = (1, 32, 15, 14), (48, 32, 3, 3), (1, 96, 13, 12)
RESIDUAL = f"""
func.func @f(%image: tensor<1x32x15x14xf32>, %weights: tensor<48x32x3x3xf32>,
    %other: tensor<1x96x13x12xf32>) -> {RESULT} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {RESULT}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {RESULT}) -> {RESULT}
  %sum = linalg.conv_2d_nchw_fchw
      ins(%image, %weights : tensor<1x32x15x14xf32>, tensor<48x32x3x3xf32>)
      outs(%init : {RESULT}) -> {RESULT}
  %part = tensor.extract_slice %other[0, 48, 0, 0] [1, 48, 13, 12] [1, 1, 1, 1]
      : tensor<1x96x13x12xf32> to {RESULT}
  %r = linalg.generic {{indexing_maps = [{EACH}, {EACH}, {EACH}],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%sum, %part : {RESULT}, {RESULT}) outs(%empty : {RESULT}) {{
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  }} -> {RESULT}
  return %r : {RESULT}
}}"""


def test_residuals_are_added_to_convolutions() -> None:
    random = np.random.default_rng(5)
    inputs = [random.standard_normal(each, np.float32) for each in (IMAGE, WEIGHTS, OTHER)]
    (image, weights, other), log = inputs, DecisionLog()
    flags = target_flags("gfx942")
    run = run_emulated(RESIDUAL, flags, "auto/fast", inputs, decisions=log)
    windows = np.lib.stride_tricks.sliding_window_view(image[0], (3, 3), axis=(1, 2))
    right = np.einsum("chwyx,fcyx->fhw", windows, weights.astype(np.float64)) + other[0, 48:]
    assert np.abs(run.outputs[0][0] - right).max() <= 1e-5 * np.abs(right).max()
    taken = [each.pass_name for each in log if each.action is Action.RETILE]
    assert taken == [EnlargeMatmuls.name]
