#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a `stablehlo.sort` with `is_stable = true` changes the order of equal elements.
# Version: iree-base-compiler and iree-base-runtime 3.13.0, on the CPU; code for GPUs has the same loops.
# Input: the row 3 2 2 1 in f32, sorted with the places 0 1 2 3.
# Seen: the places 3 2 1 0, where 3 1 2 0 is right: the first 2 comes before the second one.
# Where: the loops of `iree_linalg_ext.sort` exchange neighbours unless the first one comes before the second one, so
#   that each comparison exchanges equal ones.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > sort.mlir <<'MLIR'
func.func @main(%row: tensor<4xf32>) -> tensor<4xi32> {
  %places = stablehlo.iota dim = 0 : tensor<4xi32>
  %sorted:2 = "stablehlo.sort"(%row, %places) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %before = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %before : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  return %sorted#1 : tensor<4xi32>
}
MLIR
venv/bin/iree-compile sort.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
  --iree-llvmcpu-target-cpu=generic -o sort.vmfb
seen=$(venv/bin/iree-run-module --module=sort.vmfb --device=local-task --function=main --input="4xf32=3 2 2 1" \
  | grep '^4xi32=' | sed 's/.*=//')
echo "places of the sorted elements: $seen"
[[ "$seen" == "3 2 1 0" ]] || { echo "changed: the places were 3 2 1 0" >&2; exit 1; }
