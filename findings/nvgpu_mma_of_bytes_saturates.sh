#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: `nvgpu.mma.sync` of i8 adds with saturation, where the sums of `arith.addi` and `linalg.matmul`, which it takes
#   the place of, wrap around. No attribute of it asks for the one or the other.
# Version: the iree-opt of iree-base-compiler 3.13.0, whose `iree-convert-to-nvvm` uses MLIR's patterns of
#   `convert-nvgpu-to-nvvm`.
# Input: one `nvgpu.mma.sync` of 16x8x32 i8 with sums in i32.
# Seen: `nvvm.mma.sync` with `int_overflow = satfinite`: a sum that exceeds 2147483647 stays there.
# Where: the conversion sets the behaviour for all integers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > mma.mlir <<'MLIR'
#target = #iree_gpu.target<arch = "sm_80", features = "+ptx76", wgp = <compute = int32, storage = b32,
    subgroup = shuffle, subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024],
    max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912,
    max_workgroup_counts = [2147483647, 65535, 65535]>>
#code = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>
module attributes {hal.executable.target = #code} {
  func.func @mma() {
    %i = arith.constant 0 : index
    %a = arith.constant dense<127> : vector<4x4xi8>
    %b = arith.constant dense<127> : vector<2x4xi8>
    %tile = memref.alloc() : memref<2x2xi32, #gpu.address_space<workgroup>>
    %c = vector.load %tile[%i, %i] : memref<2x2xi32, #gpu.address_space<workgroup>>, vector<2x2xi32>
    %d = "nvgpu.mma.sync"(%a, %b, %c) <{mmaShape = [16, 8, 32]}>
        : (vector<4x4xi8>, vector<2x4xi8>, vector<2x2xi32>) -> vector<2x2xi32>
    vector.store %d, %tile[%i, %i] : memref<2x2xi32, #gpu.address_space<workgroup>>, vector<2x2xi32>
    return
  }
}
MLIR
seen=$(venv/bin/iree-opt mma.mlir --iree-convert-to-nvvm | grep -oE 'nvvm.mma.sync|int_overflow = [a-z]+' | xargs)
echo "$seen"
[ "$seen" = 'nvvm.mma.sync int_overflow = satfinite' ] || { echo "changed: satfinite was seen" >&2; exit 1; }
