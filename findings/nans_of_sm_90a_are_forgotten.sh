#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: `arith.maximumf` forgets NaNs in code for an sm_90a, and keeps them in code for an sm_90.
# Version: iree-base-compiler 3.13.0; no GPU is needed to see it.
# Input: a program that names its GPU itself, by `#iree_gpu.target<arch = "sm_90a", ...>`, since `--iree-cuda-target`
#   does not know this one: `arith.maximumf` of 64 pairs of f32. The same program with `sm_90`.
# Seen: `max.f32` for sm_90a, whose result is the other operand where one is NaN, and `max.NaN.f32` for sm_90.
# Expected: `max.NaN.f32`, which each GPU from sm_80 on has; `arith.maximumf` is NaN where an operand is.
# Where: `getCUDAComputeCapability` reads no number out of `sm_90a`, because of the letter, so that the code is lowered
#   as for GPUs before sm_80.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > sm_90a.mlir <<'MLIR'
#target = #iree_gpu.target<arch = "sm_90a", features = "+ptx84", wgp = <compute = fp32|int32, storage = b32,
    subgroup = shuffle, subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64],
    max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 232448,
    max_workgroup_counts = [65535, 65535, 65535]>>
#code = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>
#map = affine_map<(i) -> (i)>
module attributes {hal.device.targets = [#hal.device.target<"cuda", [#code]> : !hal.device]} {
  func.func @greater(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
    %empty = tensor.empty() : tensor<64xf32>
    %greater = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
        ins(%a, %b : tensor<64xf32>, tensor<64xf32>) outs(%empty : tensor<64xf32>) {
      ^bb0(%x: f32, %y: f32, %out: f32):
        %m = arith.maximumf %x, %y : f32
        linalg.yield %m : f32
    } -> tensor<64xf32>
    return %greater : tensor<64xf32>
  }
}
MLIR
sed s/sm_90a/sm_90/ sm_90a.mlir > sm_90.mlir
for chip in sm_90 sm_90a; do
  venv/bin/iree-compile $chip.mlir --iree-hal-dump-executable-files-to=$chip -o /dev/null
  echo "$chip: $(grep -hoE 'max[.a-zA-Z]*f32' $chip/*.ptx | sort -u | xargs)"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: max.f32 was seen for sm_90a" >&2; exit 1; }
sm_90: max.NaN.f32
sm_90a: max.f32
EXPECTED
