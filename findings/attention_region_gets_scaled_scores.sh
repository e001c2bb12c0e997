#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: the region of `iree_linalg_ext.attention` gets scores that are already multiplied by log2(e), so that a
#   region that is not linear, as the soft cap of Gemma 2, computes something else than it says.
# Version: iree-base-compiler and iree-base-runtime 3.13.0, on the CPU backend; hip and cuda decompose it alike.
# Input: one attention of four equal rows and four keys. Its region is tanh. The scores are 1, 1, 0 and 0, and V is 1
#   where the score is, so that the output is 2 exp(tanh(1)) / (2 exp(tanh(1)) + 2) = 0.681702.
# Seen: 0.650182, which is that with tanh(log2(e)) / log2(e) in the place of tanh(1). Nothing is reported.
# Where: `iree-linalg-ext-decompose-attention` multiplies the scale by log2(e), for the `exp2` behind the region.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > attention.mlir <<'MLIR'
#q = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#k = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#v = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#s = affine_map<(b, m, n, k1, k2) -> ()>
#o = affine_map<(b, m, n, k1, k2) -> (b, m, n)>
func.func @main(%q: tensor<1x4x4xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
  %scale = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<1x4x4xf32>
  %out = iree_linalg_ext.attention <{indexing_maps = [#q, #k, #v, #s, #o]}>
      ins(%q, %k, %v, %scale : tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, f32)
      outs(%empty : tensor<1x4x4xf32>) {
    ^bb0(%score: f32):
      %capped = math.tanh %score : f32
      iree_linalg_ext.yield %capped : f32
  } -> tensor<1x4x4xf32>
  return %out : tensor<1x4x4xf32>
}
MLIR
venv/bin/iree-compile attention.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
  --iree-llvmcpu-target-cpu=generic -o attention.vmfb
seen=$(venv/bin/iree-run-module --module=attention.vmfb --device=local-task --function=main \
  --input="1x4x4xf32=1 0 0 0 1 0 0 0 1 0 0 0 1 0 0 0" \
  --input="1x4x4xf32=1 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0" \
  --input="1x4x4xf32=1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 0" | grep -oE '0\.[0-9]{6}' | sort -u)
echo "$seen"
[ "$seen" = 0.650182 ] || { echo "changed: 0.650182 was seen (right is 0.681702)" >&2; exit 1; }
