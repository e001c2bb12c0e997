# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far `bankwise-join-attention-tiles` joins the tiles of an attention."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.dialect_utils.tiled_attention import only_attention
from bankwise.passes.base import PassContext
from bankwise.passes.join_attention_tiles import JoinAttentionTiles

SM_80_MEMORY = 166912


@dataclass(frozen=True)
class Case:
    """An attention: Q (b, m, k), K (b, t, k), V (b, t, n).

    `also` are further operations of the function.
    """

    b: int = 16
    m: int = 4096
    n: int = 128
    k: int = 128
    t: int = 4096
    dtype: str = "f16"
    threads: int = 128
    memory: int = SM_80_MEMORY
    arch: str = "sm_80"
    v_map: str = "d0, d4, d2"
    workgroup: str = "1, 64, 32, 0, 0"
    also: str = ""

    def module(self) -> str:
        q, keys = f"{self.b}x{self.m}x{self.k}", f"{self.b}x{self.t}x{self.k}"
        sizes = {"d0": self.b, "d1": self.m, "d2": self.n, "d3": self.k, "d4": self.t}
        v = "x".join(str(sizes[loop]) for loop in self.v_map.split(", "))
        q, keys, v = (f"tensor<{each}x{self.dtype}>" for each in (q, keys, v))
        output, row = f"tensor<{self.b}x{self.m}x{self.n}xf32>", f"tensor<{self.b}x{self.m}xf32>"
        maps = ("d0, d1, d3", "d0, d4, d3", self.v_map, "", "d0, d1, d2", "d0, d1", "d0, d1")
        affine = ", ".join(f"affine_map<(d0, d1, d2, d3, d4) -> ({each})>" for each in maps)
        config = f"reduction = [0, 0, 0, 0, 64], workgroup = [{self.workgroup}]"
        return f"""
func.func @f(%q: {q}, %k: {keys}, %v: {v}, %s: {self.dtype}, %o: {output}, %r: {row})
    attributes {{{self.target()}, translation_info = #iree_codegen.translation_info<pipeline =
      #iree_gpu.pipeline<VectorDistribute> workgroup_size = [{self.threads}, 1, 1]
      subgroup_size = 32>}} {{
  {self.also}
  %0:3 = iree_linalg_ext.online_attention <indexing_maps = [{affine}]>
      {{lowering_config = #iree_gpu.lowering_config<{{{config}}}>}}
      ins(%q, %k, %v, %s : {q}, {keys}, {v}, {self.dtype})
      outs(%o, %r, %r : {output}, {row}, {row}) {{
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  }} -> {output}, {row}, {row}
  return
}}"""

    def target(self) -> str:
        return (
            'hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {'
            f'iree_codegen.target_info = #iree_gpu.target<arch = "{self.arch}", features = "", '
            "wgp = <compute = fp32, storage = b32, subgroup = none, subgroup_size_choices = [32], "
            "max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, "
            f"max_workgroup_memory_bytes = {self.memory}, max_workgroup_counts = [9, 9, 9]>>}}>"
        )


CONFIGURED = (
    "%empty = tensor.empty() : tensor<4xf32>\n"
    "%zero = arith.constant 0.0 : f32\n"
    "%fill = linalg.fill {lowering_config = #iree_gpu.lowering_config<{workgroup = [4]}>} "
    "ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>"
)


@pytest.mark.parametrize(
    ("case", "tile"),
    [
        (Case(), 128),
        (Case(dtype="bf16"), 128),
        (Case(n=96), 96),
        # Workgroups: 16 x 16 x 4 are 1024, and 256 are left; of half as many, only two are joined.
        (Case(m=1024), 128),
        (Case(m=512), 64),
        (Case(m=256), 32),
        (Case(m=512, n=96), 32),
        # A lane holds 64 elements of the output and 64 pairs of Q.
        (Case(k=256), 128),
        (Case(k=512), 32),
        (Case(n=256), 128),
        (Case(n=256, threads=256), 256),
        # Q and K have 16 KiB each, and V 128 bytes for each column; twice that must fit.
        (Case(memory=2 * 3 * 16384), 128),
        (Case(memory=2 * 3 * 16384 - 1), 64),
        # What is not understood stays.
        (Case(n=80), 32),
        (Case(arch="gfx942"), 32),
        (Case(v_map="d0, d2, d4"), 128),
        (Case(also=CONFIGURED), 32),
        (Case(workgroup="1, 64, 32"), 128),
    ],
)
def test_tiles_are_joined_as_far_as_they_fit(case: Case, tile: int) -> None:
    with Session().context:
        module = ir.Module.parse(case.module())
        function = module.body.operations[0].operation
        JoinAttentionTiles().run(function, PassContext())
        assert module.operation.verify()
    (found,) = re.findall(r"workgroup = \[1, 64, (\d+)", str(module))
    assert int(found) == tile


@pytest.mark.parametrize(
    ("case", "rows", "tiles"),
    [
        # A lane holds 64 elements of the output, 32 pairs of Q, and 64 scores.
        (Case(n=64, k=64), True, [1, 128, 64, 0, 0]),
        (Case(n=64, k=64), False, [1, 64, 64, 0, 0]),
        # Twice the rows would leave 128 workgroups.
        (Case(m=1024, n=64, k=64), True, [1, 64, 64, 0, 0]),
        # A whole head of 128 columns leaves no registers for more rows; of 256, there is no tile.
        (Case(), True, [1, 64, 128, 0, 0]),
        (Case(n=256, k=64), True, [1, 64, 128, 0, 0]),
        (Case(n=64, k=64, threads=256), True, [1, 256, 64, 0, 0]),
        # The columns are not tiled.
        (Case(n=64, k=64, workgroup="1, 64, 0, 0, 0"), True, [1, 128, 0, 0, 0]),
        (Case(n=64, k=64, workgroup="1, 1, 64, 0, 0"), True, [1, 1, 64, 0, 0]),
    ],
)
def test_rows_are_joined_once_a_tile_has_all_columns(
    case: Case, rows: bool, tiles: list[int]
) -> None:
    with Session().context:
        module = ir.Module.parse(case.module())
        JoinAttentionTiles(rows=rows).run(module.body.operations[0].operation, PassContext())
    assert f"workgroup = {tiles}" in str(module)


def test_an_attention_is_read() -> None:
    with Session().context:
        module = ir.Module.parse(Case().module())
        attention = only_attention(module.body.operations[0].operation)
    assert attention is not None
    assert attention.extents == (16, 4096, 128, 128, 4096)
    assert attention.workgroup == (1, 64, 32, 0, 0)
    assert attention.reduction == (0, 0, 0, 0, 64)
    assert attention.columns == (2,)
    assert attention.rows == (1,)
    assert attention.scores == 64 * 64
    assert attention.workgroups == 16 * 64 * 4
    assert attention.output_elements == 64 * 32
    assert attention.query_bits == 64 * 128 * 16
    assert attention.operand_bytes == 2 * (64 * 128 + 64 * 128 + 64 * 32)
