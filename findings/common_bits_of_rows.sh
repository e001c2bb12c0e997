#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: of the bits that all integers of a row have, AMD GPUs find the lowest one alone.
# Version: iree-base-compiler 3.13.0, for gfx942; no GPU is needed to see it.
# Input: `arith.andi` over rows of 1024 i32, in a `linalg.generic` that begins with -1.
# Seen: lanes begin with 1, the neutral element of `and` for i1, where that for i32 is -1.
# Where: `iree-llvmgpu-vector-distribute`, where it makes the accumulator of a distributed `vector.multi_reduction`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > common.mlir <<'MLIR'
func.func @main(%rows: tensor<4x1024xi32>) -> tensor<4xi32> {
  %all = arith.constant -1 : i32
  %empty = tensor.empty() : tensor<4xi32>
  %begin = linalg.fill ins(%all : i32) outs(%empty : tensor<4xi32>) -> tensor<4xi32>
  %out = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%rows : tensor<4x1024xi32>) outs(%begin : tensor<4xi32>) {
    ^bb0(%x: i32, %common: i32):
      %next = arith.andi %x, %common : i32
      linalg.yield %next : i32
  } -> tensor<4xi32>
  return %out : tensor<4xi32>
}
MLIR
venv/bin/iree-compile common.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o /dev/null \
  --mlir-print-ir-after=iree-llvmgpu-vector-distribute --mlir-print-local-scope 2> distributed.mlir
begin=$(grep -m1 -oE 'vector.multi_reduction <and>, %[a-z0-9_]+, %[a-z0-9_]+' distributed.mlir | grep -oE '%[a-z0-9_]+$')
seen=$(grep -m1 -oE "$begin = arith.constant .*" distributed.mlir | sed 's/.*= //')
echo "lanes begin a reduction by andi with $seen"
[[ "$seen" == *'<1>'* ]] || { echo "changed: lanes began with 1" >&2; exit 1; }
