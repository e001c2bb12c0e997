# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, and matmuls over several loops, that are computed as plain matmuls."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from bankwise.bench.program_families.convolutions import NCHW, NHWC, Windowed
from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.python_compile import compile
from bankwise.passes.decisions import Action
from bankwise.passes.pipeline_edit import RESOLVE_SWIZZLE_HINTS, PipelineEdit
from bankwise.sweep.cases import target_flags
from bankwise.tuning.convolutions.implicit_gemm import ImplicitGemm
from bankwise.tuning.matmuls.enlarge_matmuls import EnlargeMatmuls
from bankwise.tuning.overlap.load_ahead import LoadAhead
from bankwise.tuning.workarounds.fold_transposes import FoldTransposes

from .program_runs import run_beside_stock

PLACES = {
    "iree-codegen-gpu-pad-convs": ImplicitGemm(),
    "iree-codegen-tile-and-distribute-to-workgroups-using-forall-op": EnlargeMatmuls(),
    "iree-codegen-combine-source-layout-transformation": FoldTransposes(),
}
# The passes are for NVIDIA; on the emulator AMD's instructions multiply.
EDITS = [
    PipelineEdit.before(anchor, each, pipelines=frozenset({"TileAndFuse"}), optional=True)
    for anchor, each in PLACES.items()
]


def convolution(op: str, dims: tuple[str, str, str], stride: int = 1, **sizes: int) -> Windowed:
    """Returns a convolution of f16."""
    name = "_".join([op, f"s{stride}", *(f"{key}{size}" for key, size in sizes.items())])
    return Windowed(name, op, "f16", *dims, sizes, stride=stride)


def nchw(n: int, side: int, c: int, f: int, window: int, stride: int = 1) -> Windowed:
    """Returns a convolution whose image has its channels first."""
    sizes = {"n": n, "h": side, "w": side, "c": c, "f": f, "y": window, "x": window}
    return convolution("conv_2d_nchw_fchw", NCHW, stride, **sizes)


def nhwc(n: int, side: int, c: int, f: int, window: int, stride: int = 1) -> Windowed:
    """Returns a convolution whose image has its channels last."""
    sizes = {"n": n, "h": side, "w": side, "c": c, "f": f, "y": window, "x": window}
    return convolution("conv_2d_nhwc_hwcf", NHWC, stride, **sizes)


CASES = [
    nhwc(2, 10, 32, 32, 3),
    nhwc(3, 7, 48, 33, 3),
    nhwc(1, 12, 3, 32, 5),
    nhwc(2, 9, 32, 48, 1, stride=2),
    nhwc(2, 64, 3, 64, 8, stride=8),
    nchw(2, 10, 32, 32, 3),
    nchw(1, 9, 17, 40, 3, stride=2),
    nchw(2, 64, 3, 64, 8, stride=8),
    nchw(2, 9, 32, 48, 1, stride=2),
    nchw(2, 8, 32, 64, 1),
    convolution("conv_1d_nwc_wcf", ("n w c", "x c f", "n w f"), n=2, w=66, c=32, f=64, x=3),
    convolution("conv_1d_ncw_fcw", ("n c w", "f c x", "n f w"), 2, n=1, w=131, c=24, f=72, x=3),
    convolution("conv_2d_nhwc_fhwc", ("n h w c", "f y x c", "n h w f"), n=2, h=11, w=9, c=16, f=48,
                y=3, x=2),
]  # fmt: skip


@pytest.mark.sampled(every=13)
@pytest.mark.parametrize("case", CASES, ids=lambda each: each.name)
def test_convolutions_keep_all_bits(case: Windowed) -> None:
    random = np.random.default_rng(7)
    inputs = [random.standard_normal(each).astype(np.float16) for each in case.operands]
    inputs[0].flat[-1], inputs[0].flat[0], inputs[1].flat[5] = np.nan, np.inf, -0.0
    ours, log = run_beside_stock(case.source(), inputs, EDITS)
    assert [each.action for each in log if each.pass_name == EnlargeMatmuls.name] == [Action.RETILE]
    assert ours.counters[Counted.MFMA] > 0
    assert ours.counters[Counted.CONFLICTS] == 0


def test_windows_as_high_as_the_image_keep_their_loops() -> None:
    """IREE sums over the height of the window by itself there, which is another order."""
    dims = ("n h w c", "f y x c", "n h w f")
    case = convolution("conv_2d_nhwc_fhwc", dims, n=2, c=20, f=64, h=4, w=4, y=4, x=2)
    random = np.random.default_rng(7)
    inputs = [random.standard_normal(each).astype(np.float16) for each in case.operands]
    _, log = run_beside_stock(case.source(), inputs, EDITS)
    assert not [each for each in log if each.pass_name == EnlargeMatmuls.name]


PATCHES = """
func.func @main(%i: tensor<2x3x64x64xf16>, %w: tensor<96x3x16x16xf16>, %b: tensor<96xf16>,
                %p: tensor<1x16x96xf16>) -> tensor<2x16x96xf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x96x4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x96x4x4xf32>) -> tensor<2x96x4x4xf32>
  %r = linalg.conv_2d_nchw_fchw
      {dilations = dense<1> : tensor<2xi64>, strides = dense<16> : tensor<2xi64>}
      ins(%i, %w : tensor<2x3x64x64xf16>, tensor<96x3x16x16xf16>)
      outs(%f : tensor<2x96x4x4xf32>) -> tensor<2x96x4x4xf32>
  %c = tensor.collapse_shape %r [[0], [1], [2, 3]]
      : tensor<2x96x4x4xf32> into tensor<2x96x16xf32>
  %o = tensor.empty() : tensor<2x16x96xf16>
  %t = linalg.generic {
      indexing_maps = [affine_map<(n, m, f) -> (n, f, m)>, affine_map<(n, m, f) -> (f)>,
                       affine_map<(n, m, f) -> (0, m, f)>, affine_map<(n, m, f) -> (n, m, f)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%c, %b, %p : tensor<2x96x16xf32>, tensor<96xf16>, tensor<1x16x96xf16>)
      outs(%o : tensor<2x16x96xf16>) {
  ^bb0(%x: f32, %y: f16, %z: f16, %out: f16):
    %0 = arith.extf %y : f16 to f32
    %1 = arith.addf %x, %0 : f32
    %2 = arith.truncf %1 : f32 to f16
    %3 = arith.addf %2, %z : f16
    linalg.yield %3 : f16
  } -> tensor<2x16x96xf16>
  return %t : tensor<2x16x96xf16>
}
"""
"""Patches of images become rows, as vision transformers begin: a bias and the place of a patch,
which is the same for all images, are added, and the result is transposed."""


@pytest.mark.nightly
def test_epilogues_have_the_loops_of_the_matmul() -> None:
    random = np.random.default_rng(8)
    shapes = [(2, 3, 64, 64), (96, 3, 16, 16), (96,), (1, 16, 96)]
    inputs = [random.standard_normal(each).astype(np.float16) for each in shapes]
    _, log = run_beside_stock(PATCHES, inputs, EDITS)
    assert Action.RETILE in {each.action for each in log if each.pass_name == EnlargeMatmuls.name}


@pytest.mark.sampled
@pytest.mark.parametrize("case", [nchw(1, 9, 17, 40, 3, stride=2), nhwc(3, 7, 48, 33, 3)])
def test_loads_of_the_next_iteration_keep_all_bits(case: Windowed) -> None:
    random = np.random.default_rng(9)
    inputs = [random.standard_normal(each).astype(np.float16) for each in case.operands]
    ahead = PipelineEdit.after(RESOLVE_SWIZZLE_HINTS, LoadAhead(everywhere=True))
    run_beside_stock(case.source(), inputs, [*EDITS, ahead])


# Rows of 56 pixels are read by words, and rows of 7 pixel by pixel. ptxas would move `ld.global.nc`
# behind the products.
@pytest.mark.parametrize(("size", "load"), [(58, b"ld.global.v4.b32"), (9, b"ld.global.b16")])
def test_images_are_loaded_before_the_contraction(size: int, load: bytes) -> None:
    code = compile(nchw(8, size, 64, 64, 3).source(), target_flags("sm_80"), "auto/exact")
    found = re.findall(re.escape(load) + rb"|bar\.sync|mma\.sync", code)
    loop = found[found.index(b"bar.sync") :]
    assert b"ld.global.nc" not in code[code.index(b"bar.sync") :]
    loads = loop.index(load)
    assert loop[:loads].count(b"bar.sync") == 1
    assert b"mma.sync" not in loop[:loads] and b"bar.sync" in loop[loads : loop.index(b"mma.sync")]


def copies(source: str) -> Counter[str]:
    """Returns the accesses to global memory of code for CUDA."""
    code = compile(source, target_flags("sm_80"), "auto/exact").decode("latin-1")
    return Counter(re.findall(r"(?:[ls][dt]\.global|cp\.async)[\w.]*", code))


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    "source",
    [
        PATCHES,
        nhwc(8, 16, 256, 256, 3).source(),
        nhwc(8, 7, 512, 512, 3).source(),
        nhwc(8, 56, 256, 512, 1, stride=2).source(),
        nchw(8, 56, 256, 256, 1).source(),
    ],
)
def test_neighbours_are_copied_past_the_registers(source: str) -> None:
    found = copies(source)
    assert found["cp.async.cg.shared.global"]
    assert not any(each.endswith(".nc.b16") for each in found)
