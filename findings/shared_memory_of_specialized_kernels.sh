#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: each kernel of an executable for CUDA is launched with the shared memory of all kernels of that executable.
# Version: iree-base-compiler 3.13.0; no GPU is needed to see it.
# Input: a matmul of `tensor<?x1024xf16>`, compiled for sm_80 once as it is, and once with `specialization_ranges` of
#   one range of rows, which makes a second kernel beside it.
# Seen: `workgroup_local_memory` is 40 bytes for the one kernel, and 80 bytes for each of the two. With larger tiles the
#   sum may be more than the GPU has, and the module cannot be loaded: "requires 245760B of shared memory and exceeds
#   the device maximum of 232448B per block", on an H200.
# Expected: 40 bytes for each of the two.
# Where: `iree-convert-to-nvvm` lays out the shared memory of all functions of a module one behind the other.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > two.mlir <<'MLIR'
func.func @main(%a: tensor<?x1024xf16>, %b: tensor<1024x1024xf16>) -> tensor<?x1024xf32> {
  %first = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %a, %first : tensor<?x1024xf16>
  %empty = tensor.empty(%rows) : tensor<?x1024xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x1024xf32>) -> tensor<?x1024xf32>
  %product = linalg.matmul
      {iree_codegen.specialization_ranges = #util<int.assumption.multi_array[[<umin = 0, umax = 16>]]>}
      ins(%a, %b : tensor<?x1024xf16>, tensor<1024x1024xf16>) outs(%fill : tensor<?x1024xf32>) -> tensor<?x1024xf32>
  return %product : tensor<?x1024xf32>
}
MLIR
sed '/specialization_ranges/d' two.mlir > one.mlir
for kernels in one two; do
  venv/bin/iree-compile $kernels.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_80 \
    --compile-to=executable-targets -o targets.mlir
  echo "$kernels: $(grep -o 'workgroup_local_memory = [0-9]*' targets.mlir | xargs)"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: 80 bytes were seen for kernels of 40" >&2; exit 1; }
one: workgroup_local_memory = 40
two: workgroup_local_memory = 80 workgroup_local_memory = 80
EXPECTED
