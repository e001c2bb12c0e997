# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hand-written kernels with swizzle hints of their own, compiled by stock and by us, and run."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

from .hinted_kernels import hinted_kernel

# Two steps: 64 lanes load 512 elements direct to the LDS, whose rows of 16 groups of 8 are permuted
# at the source as the hint says, and each lane reads the 8 elements at an offset of its own.
_STEPS = """
      %table = stream.binding.subspan %in1[%c0] : !stream.binding -> memref<64xi32, #any>
      %alloc = memref.alloc() : memref<1024xf16, #lds>
      %moved = arith.xori %row, %column : index
      %entry = memref.load %table[%t] : memref<64xi32, #any>
      %from_table = arith.index_cast %entry : i32 to index
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
      }"""


def _run(mitigation: str, offset: str, stride: int, table: np.ndarray) -> tuple[np.ndarray, dict]:
    values = np.random.default_rng(0).standard_normal(1024).astype(np.float16)
    source = hinted_kernel(
        _STEPS.replace("OFFSET", offset).replace("STRIDE", str(stride)), table=True
    )
    run = run_emulated(source, target_flags("gfx950"), mitigation, [values, table])
    (output,) = run.outputs
    offsets = table if offset == "from_table" else np.arange(64) * 8
    wanted = [values[step * 512 :][offsets[:, None] + np.arange(8)] for step in range(2)]
    np.testing.assert_array_equal(output, np.ravel(wanted))
    return output, run.counters


_ALIGNED = np.random.default_rng(1).permutation(64).astype(np.int32) * 8


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("offset", "stride"),
    [("from_table", 512), ("from_table", 0), ("own", 512)],
    ids=["both", "offsets from a table", "frames shorter than the period"],
)
def test_hinted_gathers_give_what_stock_gives(offset: str, stride: int):
    runs = {m: _run(m, offset, stride, _ALIGNED)[1] for m in ("stock", "auto")}
    for name in ("SQ_INSTS_LDS", "SQ_LDS_BANK_CONFLICT", "LDS_CYCLES"):
        assert runs["auto"][name] == runs["stock"][name]


def test_offsets_inside_groups_read_the_right_elements():
    """Stock takes for granted that groups are read as a whole, and reads other elements here."""
    _run("auto", "from_table", 512, np.random.default_rng(2).integers(0, 504, 64, np.int32))
