#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a plain matmul whose result is in f16 does not compile for AMD GPUs with matrix instructions where its sizes are
#   multiples of an instruction's.
# Version: iree-base-compiler 3.13.0, for gfx942; no GPU is needed to see it.
# Input: `linalg.matmul` of 64x64 f16 with the result, and so the sum, in f16 and in f32; the one in f16 with sides of
#   60 as well, which no instruction divides.
# Seen: "'func.func' op failed to distribute" for 64x64 in f16. The one in f32 and that of 60x60 compile.
# Where: the configuration takes MFMA_F32_16x16x16_F16 for it, whose sums are in f32, and no pass converts them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > f16_64.mlir <<'MLIR'
func.func @main(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>) -> tensor<64x64xRESULT> {
  %zero = arith.constant 0.0 : RESULT
  %empty = tensor.empty() : tensor<64x64xRESULT>
  %fill = linalg.fill ins(%zero : RESULT) outs(%empty : tensor<64x64xRESULT>) -> tensor<64x64xRESULT>
  %out = linalg.matmul ins(%a, %b : tensor<64x64xf16>, tensor<64x64xf16>) outs(%fill : tensor<64x64xRESULT>)
      -> tensor<64x64xRESULT>
  return %out : tensor<64x64xRESULT>
}
MLIR
sed 's/RESULT/f32/g' f16_64.mlir > f32_64.mlir
sed -i 's/RESULT/f16/g' f16_64.mlir
sed 's/64x64/60x60/g' f16_64.mlir > f16_60.mlir
for matmul in f32_64 f16_60 f16_64; do
  code=0
  venv/bin/iree-compile $matmul.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o out.vmfb \
    2> $matmul.log || code=$?
  echo "$matmul: exit code $code"
  grep -m1 -oE 'error: .*' $matmul.log || true
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: a matmul of 64x64 in f16 was refused" >&2; exit 1; }
f32_64: exit code 0
f16_60: exit code 0
f16_64: exit code 1
error: 'func.func' op failed to distribute
EXPECTED
