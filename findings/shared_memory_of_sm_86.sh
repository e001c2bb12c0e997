#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: the compiler takes an sm_86 to have as much shared memory as an sm_80, while its sm_89 is right.
# Version: iree-base-compiler 3.13.0.
# Input: a product of 64 x 64 x 64 in f32, compiled for sm_80, sm_86 and sm_89 up to its configuration.
# Seen: `max_workgroup_memory_bytes` is 166912, which is 163 KiB, for sm_80 and sm_86, and 101376 for sm_89.
# Expected: 101376, which is 99 KiB, for sm_86 as well: the maximum of a thread block in the table of compute
#   capabilities of NVIDIA's CUDA C++ programming guide. No launch with more succeeds there.
# Where: `KnownTargets.cpp`, which describes sm_86 as the whole of Ampere.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > matmul.mlir <<'MLIR'
func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %product = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%fill : tensor<64x64xf32>)
      -> tensor<64x64xf32>
  return %product : tensor<64x64xf32>
}
MLIR
for chip in sm_80 sm_86 sm_89; do
  venv/bin/iree-compile matmul.mlir --iree-hal-target-device=cuda --iree-cuda-target=$chip \
    --compile-to=executable-configurations -o configured.mlir
  echo "$chip $(grep -o -m1 'max_workgroup_memory_bytes = [0-9]*' configured.mlir)"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: 166912 bytes were seen for sm_86" >&2; exit 1; }
sm_80 max_workgroup_memory_bytes = 166912
sm_86 max_workgroup_memory_bytes = 166912
sm_89 max_workgroup_memory_bytes = 101376
EXPECTED
