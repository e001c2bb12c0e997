#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: the place of the largest element of a row (`iree_linalg_ext.arg_compare`, which ONNX's ArgMax becomes) does not compile for
#   GPUs where several warps share the row.
# Version: iree-base-compiler 3.13.0, for gfx942 and sm_80; no GPU is needed to see it.
# Input: 4 rows of 64, 256, 512, 1024 and 4096 f16.
# Seen: "'func.func' op failed to distribute" from 1,024 elements on for gfx942, and from 512 on for sm_80.
# Right: all compile, as shorter rows and a `linalg.generic` of the same search do.
# Where: the configuration gives rows to several subgroups (`subgroup_basis = [[1, 2], [0, 1]]`). What they have found is read from
#   workgroup memory with a layout, and `iree-llvmgpu-vector-distribute` leaves `iree_vector_ext.to_simd` behind.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

for length in 64 256 512 1024 4096; do
  cat > places.mlir <<MLIR
func.func @main(%x: tensor<4x${length}xf16>, %v: tensor<4xf16>, %p: tensor<4xi32>) -> tensor<4xi32> {
  %found:2 = iree_linalg_ext.arg_compare dimension(1) ins(%x : tensor<4x${length}xf16>)
      outs(%v, %p : tensor<4xf16>, tensor<4xi32>) {
  ^bb0(%element: f16, %best: f16):
    %is_better = arith.cmpf ogt, %element, %best : f16
    iree_linalg_ext.yield %is_better : i1
  } -> tensor<4xf16>, tensor<4xi32>
  return %found#1 : tensor<4xi32>
}
MLIR
  for target in hip--iree-rocm-target=gfx942 cuda--iree-cuda-target=sm_80; do
    status=compiles
    venv/bin/iree-compile places.mlir "--iree-hal-target-device=${target%%--*}" "--${target#*--}" -o /dev/null 2> errors ||
      status=$(grep -m 1 -o 'failed to distribute' errors)
    echo "$length for ${target##*=}: $status"
  done
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: rows that several warps share did not compile" >&2; exit 1; }
64 for gfx942: compiles
64 for sm_80: compiles
256 for gfx942: compiles
256 for sm_80: compiles
512 for gfx942: compiles
512 for sm_80: failed to distribute
1024 for gfx942: failed to distribute
1024 for sm_80: failed to distribute
4096 for gfx942: failed to distribute
4096 for sm_80: failed to distribute
EXPECTED
