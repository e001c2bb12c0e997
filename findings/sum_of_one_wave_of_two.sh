#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a sum along a dimension that is spread over waves, and over no lanes of a wave, is the part of one wave.
# Version: iree-base-compiler 3.13.0, for gfx942; no GPU is needed to see it.
# Input: `vector.multi_reduction <add>` over 4 rows of 64 f32, of which each of two waves holds two, by an
#   `#iree_vector_ext.nested_layout` with `subgroup_tile = [2, 1]`.
# Seen: each wave adds up its two rows and writes the sum to workgroup memory, a `memref<2x64xf32>`. Behind the barrier
#   each lane reads one element, `vector<1x1xf32>`, and adds up that one; lanes exchange nothing. With ones a sum is 2.
# Expected: two elements, `vector<2x1xf32>`, and the sum of both, which is 4 with ones.
# Where: `iree-llvmgpu-vector-distribute`, in the layout of the second reduction: it takes the lanes along the summed
#   dimension for those that hold the sums of the waves, and there are none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > sum.mlir <<'MLIR'
#rows = #iree_vector_ext.nested_layout<subgroup_tile = [2, 1], batch_tile = [1, 1], outer_tile = [1, 1],
    thread_tile = [1, 64], element_tile = [2, 1], subgroup_strides = [1, 0], thread_strides = [0, 1]>
#waves = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute>
    workgroup_size = [128, 1, 1] subgroup_size = 64>
stream.executable private @kernels {
  stream.executable.export public @sum workgroups() -> (index, index, index) {
    %one = arith.constant 1 : index
    stream.return %one, %one, %one : index, index, index
  }
  builtin.module {
    func.func @sum(%from: !stream.binding, %to: !stream.binding) attributes {translation_info = #waves} {
      %first = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %zeros = arith.constant dense<0.0> : vector<64xf32>
      %source = stream.binding.subspan %from[%first] : !stream.binding -> memref<4x64xf32, strided<[64, 1], offset: ?>>
      %target = stream.binding.subspan %to[%first] : !stream.binding -> memref<64xf32, strided<[1], offset: ?>>
      %read = vector.transfer_read %source[%first, %first], %zero {in_bounds = [true, true]}
          : memref<4x64xf32, strided<[64, 1], offset: ?>>, vector<4x64xf32>
      %tile = iree_vector_ext.to_layout %read to layout(#rows) : vector<4x64xf32>
      %sums = vector.multi_reduction <add>, %tile, %zeros [0] : vector<4x64xf32> to vector<64xf32>
      vector.transfer_write %sums, %target[%first] {in_bounds = [true]}
          : vector<64xf32>, memref<64xf32, strided<[1], offset: ?>>
      return
    }
  }
}
func.func @main(%source: tensor<4x64xf32>) -> tensor<64xf32> {
  %sums = flow.dispatch @kernels::@sum(%source) : (tensor<4x64xf32>) -> tensor<64xf32>
  return %sums : tensor<64xf32>
}
MLIR
venv/bin/iree-compile sum.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o /dev/null \
  --mlir-print-ir-after=iree-llvmgpu-vector-distribute 2> distributed.mlir
# What moves between waves and what is added, in the order of the code, with its types alone.
grep -E 'memref.alloc\(|vector.transfer_(write|read) .*%alloc|multi_reduction|gpu.(shuffle|subgroup_reduce)' \
  distributed.mlir | sed -E 's/.*(memref\.alloc|vector\.[a-z_]+|gpu\.[a-z_]+).* : (.*)/\1: \2/' |
  sed 's/, #gpu.address_space<workgroup>//' | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: the sum of one wave was seen" >&2; exit 1; }
vector.multi_reduction: vector<1x1x1x1x2x1xf32> to vector<1x1x1xf32>
memref.alloc: memref<2x64xf32>
vector.transfer_write: vector<1x1xf32>, memref<2x64xf32>
vector.transfer_read: memref<2x64xf32>, vector<1x1xf32>
vector.multi_reduction: vector<1x1x1x1x1x1xf32> to vector<1x1x1xf32>
EXPECTED
