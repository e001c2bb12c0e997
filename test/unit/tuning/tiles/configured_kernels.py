# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configured functions as IREE makes them, to be read, changed, and varied by tests."""

from __future__ import annotations

from dataclasses import dataclass

from ...functions import gpu_target, launched

_MMA_SYNC = "#iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>"
_DERIVED = "#iree_gpu.derived_thread_config"


@dataclass(frozen=True)
class AttentionIr:
    """An attention Q (b, m, k), K (b, t, k), V (b, t, n) for sm_80.

    The texts are those of its configuration; `mask` gives it a mask (b, m, t).
    """

    b: int = 16
    m: int = 4096
    n: int = 128
    k: int = 128
    t: int = 4096
    v_map: str = "d0, d4, d2"
    mask: bool = False
    lanes: str = "128, 1, 1"
    staged: str = "promote_operands = [0, 1, 2]"
    tiles: str = "reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 32, 0, 0]"
    basis: str = "[1, 4, 1, 1, 1]"
    staged_keys: str = "promote_operands = [0, 1]"
    staged_values: str = f"promote_operands = [1], promotion_types = [{_DERIVED}]"
    also: str = ""
    arch: str = "sm_80"
    dtype: str = "f16"

    def text(self) -> str:
        """Returns a module of one function."""
        sizes = {"d0": self.b, "d1": self.m, "d2": self.n, "d3": self.k, "d4": self.t}
        v = "x".join(str(sizes[loop]) for loop in self.v_map.split(", "))
        shapes = [f"{self.b}x{self.m}x{self.k}", f"{self.b}x{self.t}x{self.k}", v]
        q, k, v = (f"tensor<{each}x{self.dtype}>" for each in shapes)
        mask = f"tensor<{self.b}x{self.m}x{self.t}x{self.dtype}>"
        output, row = f"tensor<{self.b}x{self.m}x{self.n}xf32>", f"tensor<{self.b}x{self.m}xf32>"
        maps = ["d0, d1, d3", "d0, d4, d3", self.v_map, ""]
        maps += ["d0, d1, d4"] if self.mask else []
        maps += ["d0, d1, d2", "d0, d1", "d0, d1"]
        affine = ", ".join(f"affine_map<(d0, d1, d2, d3, d4) -> ({each})>" for each in maps)
        operands = f"%q, %k, %v, %s{', %mask' if self.mask else ''}"
        types = f"{q}, {k}, {v}, {self.dtype}{f', {mask}' if self.mask else ''}"
        return f"""
func.func @f(%q: {q}, %k: {k}, %v: {v}, %s: {self.dtype}, %mask: {mask}, %o: {output}, %r: {row})
    attributes {{{gpu_target(self.arch)}, {self._translation_info()}}} {{
  {self.also}
  %0:3 = iree_linalg_ext.online_attention <indexing_maps = [{affine}],
      decomposition_config = {{{self._decomposition()}}}>
      {{lowering_config = #iree_gpu.lowering_config<{{{self.staged}, {self.tiles}}}>}}
      ins({operands} : {types})
      outs(%o, %r, %r : {output}, {row}, {row}) {{
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  }} -> {output}, {row}, {row}
  return
}}"""

    def _decomposition(self) -> str:
        def product(name: str, staged: str, loops: str) -> str:
            return (
                f"{name} = {{lowering_config = #iree_gpu.lowering_config<{{"
                f"mma_kind = {_MMA_SYNC}, {staged}, "
                f"subgroup_basis = [{self.basis}, [{loops}]]}}>}}"
            )

        values = product("pv_attrs", self.staged_values, "0, 1, 2, 4")
        return f"{values}, {product('qk_attrs', self.staged_keys, '0, 1, 3, 4')}"

    def _translation_info(self) -> str:
        flush = "iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math"
        return launched(self.lanes, 32, f'{flush}<"preserve-sign">')


@dataclass(frozen=True)
class MatmulIr:
    """A matmul A (b, m, k) * B (b, k, n) for sm_80; the texts are those of its configuration."""

    b: int = 8
    m: int = 256
    n: int = 256
    k: int = 512
    a_map: str = "d0, d1, d3"
    b_map: str = "d0, d3, d2"
    lanes: str = "128, 1, 1"
    mma: str = _MMA_SYNC
    staged: str = "promote_operands = [0, 1]"
    tiles: str = "reduction = [0, 0, 0, 8], subgroup = [0, 2, 4, 0], workgroup = [1, 64, 64, 0]"
    acc: str = "convert_acc_gemm, "
    also: str = ""
    arch: str = "sm_80"

    def text(self) -> str:
        """Returns a module of one function."""
        sizes = {"d0": self.b, "d1": self.m, "d2": self.n, "d3": self.k}

        def operand(loops: str, kind: str) -> str:
            return f"tensor<{'x'.join(str(sizes[loop]) for loop in loops.split(', '))}x{kind}>"

        a, b = operand(self.a_map, "f16"), operand(self.b_map, "f16")
        c = operand("d0, d1, d2", "f32")
        maps = (self.a_map, self.b_map, "d0, d1, d2")
        affine = ", ".join(f"affine_map<(d0, d1, d2, d3) -> ({each})>" for each in maps)
        config = f"{self.acc}mma_kind = {self.mma}, {self.staged}, {self.tiles}"
        options = (
            "gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, "
            "no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>"
        )
        return f"""
func.func @f(%a: {a}, %b: {b}, %c: {c}) -> {c}
    attributes {{{gpu_target(self.arch)}, {launched(self.lanes, 32, options, "TileAndFuse")}}} {{
  {self.also}
  %0 = linalg.generic {{indexing_maps = [{affine}],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%a, %b : {a}, {b}) outs(%c : {c})
      attrs = {{lowering_config = #iree_gpu.lowering_config<{{{config}}}>}} {{
  ^bb0(%x: f16, %y: f16, %z: f32):
    %1 = arith.extf %x : f16 to f32
    %2 = arith.extf %y : f16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %z, %3 : f32
    linalg.yield %4 : f32
  }} -> {c}
  return %0 : {c}
}}"""


ALSO_CONFIGURED = (
    "%empty = tensor.empty() : tensor<4xf32>\n"
    "%zero = arith.constant 0.0 : f32\n"
    "%fill = linalg.fill {lowering_config = #iree_gpu.lowering_config<{workgroup = [4]}>} "
    "ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>"
)
"""An operation that decides on workgroups too."""
