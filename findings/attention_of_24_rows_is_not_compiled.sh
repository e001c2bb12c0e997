#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: an attention whose number of rows is an odd multiple of 8 does not compile for GPUs with MFMA instructions.
# Version: iree-base-compiler 3.13.0, for gfx942 and gfx950; no GPU is needed to see it.
# Input: `iree_linalg_ext.attention` of 16, 24 and 32 rows in f16, with 64 keys and a head of 64, compiled for gfx942.
# Seen: 24 rows fail: "inner tile 'tensor<1x16xf16>' is incompatible with expected MMA tile type 'vector<8xf16>'".
#   16 and 32 rows compile.
# Where: the configuration offers VDMFMA_F32_8x16x64x2_F16, which has 8 rows, for attention, whose operands are not
#   distributed as this one takes them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > rows.mlir <<'MLIR'
#q = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#k = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#v = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#s = affine_map<(b, m, n, k1, k2) -> ()>
#o = affine_map<(b, m, n, k1, k2) -> (b, m, n)>
!rows = tensor<1xROWSx64xf16>
!keys = tensor<1x64x64xf16>
func.func @main(%q: !rows, %k: !keys, %v: !keys) -> !rows {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : !rows
  %out = iree_linalg_ext.attention <{indexing_maps = [#q, #k, #v, #s, #o]}>
      ins(%q, %k, %v, %scale : !rows, !keys, !keys, f16) outs(%empty : !rows) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  } -> !rows
  return %out : !rows
}
MLIR
for rows in 16 24 32; do
  code=0
  sed "s/ROWS/$rows/" rows.mlir > $rows.mlir
  venv/bin/iree-compile $rows.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o out.vmfb \
    2> $rows.log || code=$?
  echo "$rows rows: exit code $code"
  grep -m1 -oE "inner tile '.*" $rows.log || true
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: an attention of 24 rows was refused" >&2; exit 1; }
16 rows: exit code 0
24 rows: exit code 1
inner tile 'tensor<1x16xf16>' is incompatible with expected MMA tile type 'vector<8xf16>'
32 rows: exit code 0
EXPECTED
