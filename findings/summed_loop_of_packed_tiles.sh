#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: threads share out the summed tiles of a `linalg.mmt4d` that no matrix instruction multiplies, so that each
#   output is the product of one tile. A warning says "tiling is not thread safe at axis #2", and the exit code is 0.
# Version: iree-base-compiler 3.13.0, for cuda and hip.
# Input: a product of packed matrices in f32, whose sums go over 16 tiles of 1 element, compiled for sm_80.
# Seen: a configuration with a tile of 1 for the third loop, the summed one, in `thread`, and no step for it in
#   `reduction`. The kernel has no loop, and one multiplication for each element of the output.
# Expected: a kernel that adds 16 products for each of the 64 elements of a tile.
# Where: the configuration of contractions takes the last three loops but one for rows, columns and summed elements.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > packed.mlir <<'MLIR'
func.func @main(%a: tensor<8x16x8x1xf32>, %b: tensor<8x16x8x1xf32>) -> tensor<8x8x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8x8x8xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8x8x8xf32>) -> tensor<8x8x8x8xf32>
  %product = linalg.mmt4d ins(%a, %b : tensor<8x16x8x1xf32>, tensor<8x16x8x1xf32>)
      outs(%filled : tensor<8x8x8x8xf32>) -> tensor<8x8x8x8xf32>
  return %product : tensor<8x8x8x8xf32>
}
MLIR
options=(--iree-hal-target-device=cuda --iree-cuda-target=sm_80)
venv/bin/iree-compile packed.mlir "${options[@]}" --compile-to=executable-configurations -o configured.mlir
venv/bin/iree-compile packed.mlir "${options[@]}" --iree-hal-dump-executable-files-to=files -o packed.vmfb \
  2> warnings
{
  grep -o 'reduction = [^]]*], thread = [^]]*]' configured.mlir
  grep -o 'tiling is not thread safe at axis #2' warnings
  # A loop branches back; the guard of surplus threads branches forward, once.
  echo "$(grep -h -c 'fma.rn.f32' files/*.ptx) products in a thread, $(grep -h -c 'bra' files/*.ptx) branch"
} | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: 64 products and no loop were seen" >&2; exit 1; }
reduction = [0, 0, 0, 0, 0, 1], thread = [1, 1, 1, 16, 0, 0]
tiling is not thread safe at axis #2
64 products in a thread, 1 branch
EXPECTED
