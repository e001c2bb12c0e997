#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: on AMD GPUs `tl.atomic_max` and `tl.atomic_min` of signed integers compare them as unsigned ones where lanes of
#   a wave meet at one address. The maximum of -6 and 994 is -6 there, and the minimum is 994.
# Version: Triton 3.9.0, for gfx942 and gfx950; no GPU is needed to see it. Code for gfx90a and gfx1201 is right.
# Input: 256 integers, whose maximum goes to one address by one `tl.atomic_max` and whose minimum goes to another by
#   one `tl.atomic_min`; once all of it in i32, and once in u32, for gfx942.
# Seen: Triton's own IR says `max` and `min` for i32, `umax` and `umin` for u32. The instructions that go to memory
#   differ accordingly, but the six steps that combine the lanes of a wave before them are `v_max_u32` and `v_min_u32`
#   for both.
# Expected: `v_max_i32` and `v_min_i32` for i32.
# Where: the lowering of `tt.atomic_rmw` to LLVM IR for AMD GPUs, which emits `llvm.umax` and `llvm.umin` for both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet triton==3.9.0

cat > extremes.py <<'PYTHON'
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def extremes(values, most, least, COUNT: tl.constexpr):
    lane = tl.arange(0, COUNT)
    value = tl.load(values + lane)
    tl.atomic_max(most + lane * 0, value)
    tl.atomic_min(least + lane * 0, value)


for element in ("i32", "u32"):
    signature = {"values": "*" + element, "most": "*" + element, "least": "*" + element, "COUNT": "constexpr"}
    source = ASTSource(extremes, signature, {"COUNT": 256})
    compiled = triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options={"num_warps": 4})
    for stage in ("ttir", "amdgcn"):
        with open(f"{element}.{stage}", "w") as file:
            file.write(compiled.asm[stage])
PYTHON
TRITON_CACHE_DIR="$folder/cache" TRITON_DEFAULT_FP_FUSION=1 venv/bin/python extremes.py
for element in i32 u32; do
  operations=$(grep -oE 'tt.atomic_rmw u?(max|min)' $element.ttir | sed 's/.* //' | xargs)
  # All that compares for a maximum or a minimum, by lane and in memory, each kind once, in the order of the code.
  instructions=$(grep -oE '(v_(max|min)|global_atomic_[su](max|min))[a-z0-9_]*' $element.amdgcn |
    sed 's/_e32//' | uniq | xargs)
  echo "$element ($operations): $instructions"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: lanes compared signed integers as unsigned ones" >&2; exit 1; }
i32 (max min): v_max_u32 global_atomic_smax v_min_u32 global_atomic_smin
u32 (umax umin): v_max_u32 global_atomic_umax v_min_u32 global_atomic_umin
EXPECTED
