# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hand-written kernels with swizzle hints of their own, compiled by stock and by us, and run."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

# Two steps: 64 lanes load 512 elements direct to the LDS, whose rows of 16 groups of 8 are permuted
# at the source as the hint says, and each lane reads the 8 elements at an offset of its own.
_KERNEL = """
#translation = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline
    workgroup_size = [64, 1, 1] subgroup_size = 64>
#lds = #gpu.address_space<workgroup>
#raw = #amdgpu.address_space<fat_raw_buffer>
#any = strided<[1], offset: ?>
stream.executable private @kernels {
  stream.executable.export public @k workgroups() -> (index, index, index) {
    %one = arith.constant 1 : index
    stream.return %one, %one, %one : index, index, index
  }
  builtin.module {
    func.func @k(%a_binding: !stream.binding, %t_binding: !stream.binding,
                 %c_binding: !stream.binding) attributes {translation_info = #translation} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %plain = stream.binding.subspan %a_binding[%c0] : !stream.binding -> memref<1024xf16>
      %a = amdgpu.fat_raw_buffer_cast %plain resetOffset
          : memref<1024xf16> to memref<1024xf16, #raw>
      %c = stream.binding.subspan %c_binding[%c0] : !stream.binding -> memref<1024xf16, #any>
      %table = stream.binding.subspan %t_binding[%c0] : !stream.binding -> memref<64xi32, #any>
      %t = gpu.thread_id x upper_bound 64
      %alloc = memref.alloc() : memref<1024xf16, #lds>
      %row = affine.apply affine_map<(t) -> (t floordiv 16)>(%t)
      %column = affine.apply affine_map<(t) -> (t mod 16)>(%t)
      %moved = arith.xori %row, %column : index
      %entry = memref.load %table[%t] : memref<64xi32, #any>
      %from_table = arith.index_cast %entry : i32 to index
      %own = affine.apply affine_map<(t) -> (t * 8)>(%t)
      scf.for %i = %c0 to %c2 step %c1 {
        %start = affine.apply affine_map<(i) -> (i * STRIDE)>(%i)
        %part = memref.subview %alloc[%start] [512] [1] : memref<1024xf16, #lds>
            to memref<512xf16, #any, #lds>
        %h = iree_codegen.swizzle_hint %part[#iree_codegen.xor_shuffle<128, 8>]
            : memref<512xf16, #any, #lds>
        %s = affine.apply affine_map<(i, r, x) -> (i * 512 + r * 128 + x * 8)>(%i, %row, %moved)
        amdgpu.gather_to_lds %a[%s], %h[%c0]
            : vector<8xf16>, memref<1024xf16, #raw>, memref<512xf16, #any, #lds>
        gpu.barrier
        %v = vector.load %h[%OFFSET] : memref<512xf16, #any, #lds>, vector<8xf16>
        %d = affine.apply affine_map<(i, t) -> (i * 512 + t * 8)>(%i, %t)
        vector.store %v, %c[%d] : memref<1024xf16, #any>, vector<8xf16>
        gpu.barrier
      }
      return
    }
  }
}
func.func @k(%a: tensor<1024xf16>, %t: tensor<64xi32>) -> tensor<1024xf16> {
  %r = flow.dispatch @kernels::@k(%a, %t) : (tensor<1024xf16>, tensor<64xi32>) -> tensor<1024xf16>
  return %r : tensor<1024xf16>
}
"""


def _run(mitigation: str, offset: str, stride: int, table: np.ndarray) -> tuple[np.ndarray, dict]:
    values = np.random.default_rng(0).standard_normal(1024).astype(np.float16)
    source = _KERNEL.replace("OFFSET", offset).replace("STRIDE", str(stride))
    run = run_emulated(source, target_flags("gfx950"), mitigation, [values, table])
    (output,) = run.outputs
    offsets = table if offset == "from_table" else np.arange(64) * 8
    wanted = [values[step * 512 :][offsets[:, None] + np.arange(8)] for step in range(2)]
    np.testing.assert_array_equal(output, np.ravel(wanted))
    return output, run.counters


_ALIGNED = np.random.default_rng(1).permutation(64).astype(np.int32) * 8


@pytest.mark.parametrize(
    ("offset", "stride"),
    [("own", 512), ("from_table", 0), ("from_table", 512)],
    ids=["frames shorter than the period", "offsets from a table", "both"],
)
def test_hinted_gathers_give_what_stock_gives(offset: str, stride: int):
    runs = {m: _run(m, offset, stride, _ALIGNED)[1] for m in ("stock", "auto")}
    for name in ("SQ_INSTS_LDS", "SQ_LDS_BANK_CONFLICT", "LDS_CYCLES"):
        assert runs["auto"][name] == runs["stock"][name]


def test_offsets_inside_groups_read_the_right_elements():
    """Stock takes for granted that groups are read as a whole, and reads other elements here."""
    _run("auto", "from_table", 512, np.random.default_rng(2).integers(0, 504, 64, np.int32))
