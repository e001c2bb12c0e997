#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a kernel that multiplies a row by a matrix, adds another row and takes the hyperbolic tangent has no code at all on AMD
#   GPUs, not even its end. Quotients of integers in the place of the tangent are not stored.
# Version: iree-base-compiler 3.13.0, for gfx942; no GPU is needed to see it.
# Input: 1x64 by 64x40 in f32, and the tangent of its sum with 1x40; the same with 16x64 and 16x40. ONNX's own tests of `RNN`,
#   `GRU` and `LSTM` have such products of 3 rows.
# Seen: the body of the first kernel is `unreachable` in LLVM's IR, and its assembly has no `s_endpgm`.
# Right: both kernels store what they compute.
# Where: `iree-codegen-gpu-pack-to-intrinsics` pads the added row to whole tiles by `ub.poison`. The device library's tangent
#   branches on it, which is undefined in LLVM, though no lane stores what it computes of that.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

for rows in 1 16; do
  cat > row.mlir <<MLIR
#same = affine_map<(m, n) -> (m, n)>
func.func @main(%a: tensor<${rows}x64xf32>, %b: tensor<64x40xf32>, %c: tensor<${rows}x40xf32>) -> tensor<${rows}x40xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<${rows}x40xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<${rows}x40xf32>) -> tensor<${rows}x40xf32>
  %product = linalg.matmul ins(%a, %b : tensor<${rows}x64xf32>, tensor<64x40xf32>)
      outs(%zeros : tensor<${rows}x40xf32>) -> tensor<${rows}x40xf32>
  %result = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%product, %c : tensor<${rows}x40xf32>, tensor<${rows}x40xf32>) outs(%empty : tensor<${rows}x40xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %sum = arith.addf %x, %y : f32
    %tanh = math.tanh %sum : f32
    linalg.yield %tanh : f32
  } -> tensor<${rows}x40xf32>
  return %result : tensor<${rows}x40xf32>
}
MLIR
  venv/bin/iree-compile row.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o /dev/null \
    --iree-hal-dump-executable-files-to="dump$rows"
  ends=$(cat "dump$rows"/*.rocmasm | grep -c s_endpgm || true)
  stores=$(cat "dump$rows"/*.rocmasm | grep -c -E '(buffer|global)_store' || true)
  echo "$rows rows: $ends ends, $([[ $stores -gt 0 ]] && echo stores || echo no stores)"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: the kernel of one row had no code" >&2; exit 1; }
1 rows: 0 ends, no stores
16 rows: 1 ends, stores
EXPECTED
