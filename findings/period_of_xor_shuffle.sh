#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a swizzled tile's element has two places, according to how its offset is written.
# Version: iree-opt of iree-base-compiler 3.13.0.
# Input: two loads of element 70 through one hint `#iree_codegen.xor_shuffle<8, 1, 8, 2>`: at the constant 70, and at
#   6 + 64. Row 8 of the tile is XORed with 8 / 2 = 4, so that the element lies at 66.
# Seen: the first load reads 66, the second 70.
# Where: `iree-codegen-resolve-swizzle-hints` swizzles `%at` alone in `%at + constant` where the constant is a multiple
#   of the swizzle's period. It takes row_width^2 / access_width = 64 for the period; with a row_stride and a
#   per_phase it is row_stride * per_phase * row_width / access_width = 128.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > loads.mlir <<'MLIR'
func.func private @at_plus_64(%tile: memref<256xf32>, %at: index) -> vector<1xf32> {
  %c64 = arith.constant 64 : index
  %sum = arith.addi %at, %c64 : index
  %hint = iree_codegen.swizzle_hint %tile[#iree_codegen.xor_shuffle<8, 1, 8, 2>] : memref<256xf32>
  %value = vector.load %hint[%sum] : memref<256xf32>, vector<1xf32>
  return %value : vector<1xf32>
}
func.func @at_70(%tile: memref<256xf32>) -> vector<1xf32> {
  %c70 = arith.constant 70 : index
  %hint = iree_codegen.swizzle_hint %tile[#iree_codegen.xor_shuffle<8, 1, 8, 2>] : memref<256xf32>
  %value = vector.load %hint[%c70] : memref<256xf32>, vector<1xf32>
  return %value : vector<1xf32>
}
func.func @at_6_plus_64(%tile: memref<256xf32>) -> vector<1xf32> {
  %c6 = arith.constant 6 : index
  %value = call @at_plus_64(%tile, %c6) : (memref<256xf32>, index) -> vector<1xf32>
  return %value : vector<1xf32>
}
MLIR
passes='builtin.module(func.func(iree-codegen-resolve-swizzle-hints),inline,canonicalize,symbol-dce)'
seen=$(venv/bin/iree-opt loads.mlir --pass-pipeline="$passes" | grep -oE '@at_[0-9a-z_]+|constant [0-9]+' | xargs)
echo "$seen"
[ "$seen" = '@at_70 constant 66 @at_6_plus_64 constant 70' ] || { echo "changed: 66 and 70 were seen" >&2; exit 1; }
