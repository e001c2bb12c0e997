#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: where a product is added to a tensor that is read again, each lane's copy of its part of the tensor becomes one buffer of
#   workgroup memory, to which all lanes add.
# Version: iree-base-compiler 3.13.0, for gfx942; no GPU is needed to see it.
# Input: `y + (y + x @ w)` of 48x13 bytes by 13x31 f32, with the product as a `linalg.generic`; and the same with zeros in the place of
#   the inner y.
# Seen: a `memref.alloc` in `#gpu.address_space<workgroup>` inside of the `scf.forall` whose iterations are the lanes, without an index
#   of the lane, and workgroup memory in the kernel.
# Right: private memory, or none. With zeros there is no such allocation.
# Where: the allocation has the address space of the binding that y is in, and `gpuRequireMemSpaceAllocationFn` makes only those private
#   that are in private memory or in no address space.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

for begin in y zeros; do
  cat > sums.mlir <<MLIR
#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func @main(%x: tensor<48x13xi8>, %w: tensor<13x31xf32>, %y: tensor<48x31xf32>) -> tensor<48x31xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<48x31xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<48x31xf32>) -> tensor<48x31xf32>
  %sum = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<48x13xi8>, tensor<13x31xf32>) outs(%${begin} : tensor<48x31xf32>) {
  ^bb0(%a: i8, %b: f32, %before: f32):
    %f = arith.sitofp %a : i8 to f32
    %p = arith.mulf %f, %b : f32
    %s = arith.addf %before, %p : f32
    linalg.yield %s : f32
  } -> tensor<48x31xf32>
  %out = linalg.map { arith.addf } ins(%sum, %y : tensor<48x31xf32>, tensor<48x31xf32>) outs(%empty : tensor<48x31xf32>)
  return %out : tensor<48x31xf32>
}
MLIR
  venv/bin/iree-compile sums.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o /dev/null \
    --mlir-print-ir-after=iree-codegen-iree-comprehensive-bufferize 2> printed
  found=$(grep -A 100 'scf.forall .*' printed | grep -c 'memref.alloc(.*#gpu.address_space<workgroup>>' || true)
  echo "$begin: $([[ $found -gt 0 ]] && echo "lanes have one buffer" || echo "lanes have none")"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: lanes had one buffer for their sums" >&2; exit 1; }
y: lanes have one buffer
zeros: lanes have none
EXPECTED
