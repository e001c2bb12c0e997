#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: `iree-llvmgpu-vector-lowering` transposes the sums of a product of vectors, and multiplies as if it had not.
# Version: iree-base-compiler 3.13.0; the pass is part of the GPU pipelines, and needs no GPU here.
# Input: one `vector.contract` of (k, m) and (k, n) with sums (n, m), whose loops are numbered (m, n, k), and again (n, m, k). The
#   numbers of loops are names: both mean the same.
# Seen: both make the same vectors of the factors, each element of %b twice and %a behind itself, which is the order (n, m).
#   With the first numbering, the sums are transposed before they are added, and the results once more: element (0, 1) of the sums is
#   added to the product that belongs to element (1, 0).
# Right: the second numbering, where nothing is transposed.
# Where: MLIR's lowering of contractions to elementwise multiplications, on which the pass builds.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

for numbering in "m, n, k" "n, m, k"; do
  cat > product.mlir <<MLIR
func.func @product(%a: vector<1x2xf32>, %b: vector<1x2xf32>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  %0 = vector.contract {
      indexing_maps = [affine_map<($numbering) -> (k, m)>, affine_map<($numbering) -> (k, n)>, affine_map<($numbering) -> (n, m)>],
      iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
      %a, %b, %c : vector<1x2xf32>, vector<1x2xf32> into vector<2x2xf32>
  return %0 : vector<2x2xf32>
}
MLIR
  echo "$numbering"
  venv/bin/iree-opt product.mlir --pass-pipeline='builtin.module(func.func(iree-llvmgpu-vector-lowering,canonicalize))' |
    grep -o -E 'shape_cast %arg0|from_elements .*|transpose %arg2'
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: sums were transposed without the products" >&2; exit 1; }
m, n, k
shape_cast %arg0
shape_cast %arg0
from_elements %1#0, %2#0 : vector<2xf32>
from_elements %1#1, %2#1 : vector<2xf32>
transpose %arg2
from_elements %19#0, %20#0, %19#1, %20#1 : vector<2x2xf32>
n, m, k
shape_cast %arg0
shape_cast %arg0
from_elements %1#0, %2#0 : vector<2xf32>
from_elements %1#1, %2#1 : vector<2xf32>
from_elements %18#0, %18#1, %19#0, %19#1 : vector<2x2xf32>
EXPECTED
