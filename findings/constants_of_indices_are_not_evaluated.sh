#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a constant expression is left to the start of the program where its first part has nothing but indices of loops,
#   and with it all that is computed from that, such as the tables of rotary position embeddings.
# Version: iree-base-compiler 3.13.0, for any GPU; none is needed to see it.
# Input: a vector of positions (`linalg.index`, converted to f32), multiplied by a constant vector of rates and put beside
#   itself, and added to an argument. Once the positions are as they come, and once 1 is added to them.
# Seen: without the addition two initializers are left behind `global-optimization`, with it none: all is evaluated at
#   compile time.
# Where: `iree-util-hoist-into-globals` gives the positions a global of their own. `ConstExprAnalysis` begins at constants and
#   loads of globals, and an initializer that has neither is no constant expression for `iree-consteval-jit-globals`, nor
#   is what loads that global ("has non-const-expr values", "has runtime-dependent global load").
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > positions.mlir <<'MLIR'
#i = affine_map<(i) -> (i)>
#rows = affine_map<(i, j) -> (i)>
#columns = affine_map<(i, j) -> (j)>
#both = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %rates = arith.constant dense<[1.0, 0.1, 0.01, 0.001]> : tensor<4xf32>
  %one = arith.constant 1.0 : f32
  %d = tensor.empty() : tensor<64xi64>
  %indices = linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]} outs(%d : tensor<64xi64>) {
  ^bb0(%out: i64):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i64
    linalg.yield %1 : i64
  } -> tensor<64xi64>
  %e = tensor.empty() : tensor<64xf32>
  %positions = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%indices : tensor<64xi64>) outs(%e : tensor<64xf32>) {
  ^bb0(%index: i64, %out: f32):
    %0 = arith.sitofp %index : i64 to f32
    // %1 = arith.addf %0, %one : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %f = tensor.empty() : tensor<64x4xf32>
  %angles = linalg.generic {indexing_maps = [#rows, #columns, #both], iterator_types = ["parallel", "parallel"]}
      ins(%positions, %rates : tensor<64xf32>, tensor<4xf32>) outs(%f : tensor<64x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x4xf32>
  %table = tensor.concat dim(1) %angles, %angles : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<64x8xf32>
  %sum = arith.addf %x, %table : tensor<64x8xf32>
  return %sum : tensor<64x8xf32>
}
MLIR
sed 's,// %1,%1,; /%1 = arith.addf/{n;s,%0,%1,}' positions.mlir > from_one.mlir
for program in positions from_one; do
  venv/bin/iree-compile $program.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_80 \
    --compile-to=global-optimization -o $program.out
  echo "$program: $(grep -c 'util.initializer' $program.out || true) initializers are left"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: constants of indices alone were not evaluated" >&2; exit 1; }
positions: 2 initializers are left
from_one: 0 initializers are left
EXPECTED
