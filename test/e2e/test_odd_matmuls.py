# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls whose sizes no tile divides, which IREE pads in every step."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.python_compile import compile
from bankwise.passes.decisions import Action
from bankwise.passes.pipeline_edit import PipelineEdit
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Matmul, random_operands
from bankwise.tuning.matmuls.enlarge_matmuls import EnlargeMatmuls
from bankwise.tuning.workarounds.fold_transposes import FoldTransposes

from .program_runs import run_beside_stock

FIRST = "iree-codegen-tile-and-distribute-to-workgroups-using-forall-op"
COMBINE_SOURCES = "iree-codegen-combine-source-layout-transformation"
FUSED = frozenset({"TileAndFuse"})
# The passes are for NVIDIA; on the emulator AMD's instructions multiply.
ENLARGE = PipelineEdit.before(FIRST, EnlargeMatmuls(), pipelines=FUSED)
FOLD = PipelineEdit.before(COMBINE_SOURCES, FoldTransposes(), pipelines=FUSED)
RAGGED_BATCH = (Path(__file__).parents[2] / "docs/for_iree/ragged_batch.mlir").read_text()


def with_epilogue(m: int, n: int, k: int, residual: str) -> str:
    """Returns a matmul, a bias of its columns and a residual.

    Args:
        residual: the dimensions of the residual, of `m` and `n`.
    """
    sizes = {"m": m, "n": n}
    shape = "".join(f"{sizes[each]}x" for each in residual)
    return f"""
func.func @matmul(%a: tensor<{m}x{k}xf16>, %b: tensor<{k}x{n}xf16>, %bias: tensor<{n}xf32>,
                  %more: tensor<{shape}f16>) -> tensor<{m}x{n}xf16> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %p = linalg.matmul ins(%a, %b : tensor<{m}x{k}xf16>, tensor<{k}x{n}xf16>)
      outs(%init : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %o = tensor.empty() : tensor<{m}x{n}xf16>
  %r = linalg.generic {{
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>,
                       affine_map<(m, n) -> ({", ".join(residual)})>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%p, %bias, %more : tensor<{m}x{n}xf32>, tensor<{n}xf32>, tensor<{shape}f16>)
      outs(%o : tensor<{m}x{n}xf16>) {{
  ^bb0(%x: f32, %y: f32, %z: f16, %out: f16):
    %0 = arith.addf %x, %y : f32
    %1 = math.absf %0 : f32
    %2 = arith.extf %z : f16 to f32
    %3 = arith.addf %1, %2 : f32
    %4 = arith.truncf %3 : f32 to f16
    linalg.yield %4 : f16
  }} -> tensor<{m}x{n}xf16>
  return %r : tensor<{m}x{n}xf16>
}}
"""


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "kernel",
    [
        Matmul(100, 77, 50, "f16"),
        Matmul(33, 70, 129, "bf16", transposed=True),
        Matmul(130, 50, 70, "f16", transposed=True),
    ],
    ids=lambda each: each.name,
)
def test_sizes_of_whole_tiles_keep_all_bits(kernel: Matmul) -> None:
    inputs = random_operands(kernel)
    inputs[0][0, 0], inputs[0][1, 1], inputs[1][-1, -1] = np.inf, -0.0, np.nan
    ours, log = run_beside_stock(kernel.source(), inputs, [ENLARGE])
    assert [each.action for each in log if each.pass_name == EnlargeMatmuls.name] == [Action.RETILE]
    assert ours.counters[Counted.MFMA] > 0
    assert ours.counters[Counted.CONFLICTS] == 0


@pytest.mark.sampled("arch", "mode", every=3)
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("mode", ["pad", "auto/layout", "auto/exact", "auto/fast"])
def test_a_batch_does_not_read_the_next_one(arch: str, mode: str) -> None:
    """Its sums have 20 elements, and a step has 16: stock adds rows of the next batch."""
    random = np.random.default_rng(6)
    a, b = (random.standard_normal((2, 20, size)).astype(np.float16) for size in (7, 18))
    a[1, 0, 0], b[1, 0, 0] = np.inf, np.nan
    right = np.einsum("bkm,bkn->bmn", a.astype(np.float64), b.astype(np.float64))
    (output,) = run_emulated(RAGGED_BATCH, target_flags(arch), mode, [a, b]).outputs
    np.testing.assert_allclose(output, right, rtol=1e-5, atol=1e-5)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("kernel", "copies"),
    [
        (Matmul(250, 200, 264, "f16"), "cp.async.cg.shared.global"),
        (Matmul(250, 201, 263, "f16"), ""),
        (Matmul(250, 202, 262, "f16"), "cp.async.ca.shared.global"),
    ],
    ids=lambda each: each.name if isinstance(each, Matmul) else "",
)
def test_rows_of_an_even_length_are_copied_past_the_registers(kernel: Matmul, copies: str) -> None:
    code = compile(kernel.source(), target_flags("sm_80"), "auto/exact").decode("latin-1")
    found = {
        each for each in ("cp.async.cg.shared.global", "cp.async.ca.shared.global") if each in code
    }
    assert found == ({copies} if copies else set())


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("shape", "residual"),
    [((33, 70, 130), "nm"), ((100, 78, 50), "mn"), ((65, 40, 48), "m"), ((130, 51, 67), "mn")],
)
def test_epilogues_that_read_other_tensors_keep_all_bits(
    shape: tuple[int, int, int], residual: str
) -> None:
    m, n, k = shape
    random = np.random.default_rng(5)
    sizes = {"m": m, "n": n}
    shapes = [(m, k), (k, n), (n,), tuple(sizes[each] for each in residual)]
    types = (np.float16, np.float16, np.float32, np.float16)
    drawn = zip(shapes, types, strict=True)
    inputs = [random.standard_normal(each, np.float32).astype(kind) for each, kind in drawn]
    inputs[3].flat[-1], inputs[3].flat[0] = np.nan, np.inf
    ours, log = run_beside_stock(with_epilogue(*shape, residual), inputs, [ENLARGE, FOLD])
    assert [each.action for each in log if each.pass_name == EnlargeMatmuls.name] == [Action.RETILE]
    assert ours.counters[Counted.MFMA] > 0


@pytest.mark.sampled
@pytest.mark.parametrize("shape", [(1024, 768, 512), (1002, 778, 506)])
def test_residuals_are_read_by_vectors(shape: tuple[int, int, int]) -> None:
    code = compile(with_epilogue(*shape, "mn"), target_flags("sm_80"), "auto/exact")
    found = Counter(re.findall(r"(?:ld\.global|cp\.async)[\w.]*", code.decode("latin-1")))
    assert found["cp.async.commit_group"]
    assert found["ld.global.nc.v2.b16"] >= 16
    assert not any(each.endswith(".nc.b16") for each in found)
