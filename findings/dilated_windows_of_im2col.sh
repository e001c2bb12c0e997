#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a dilated convolution of an image without channels reads neighbouring pixels, as if it had no dilation, once it has
#   become a matmul.
# Version: iree-base-compiler and iree-base-runtime 3.13.0. Both passes are part of the default pipeline of AMD GPUs; they
#   are run by iree-opt here, and their result on the CPU, so that no GPU is needed.
# Input: two rows of ten pixels, 0 1 2 3 4 over and over, and windows of four pixels of f16, all factors of which are 1: first
#   pixels that are two apart, then pixels that are neighbours.
# Seen: with a dilation of 2 the convolution gives 7 6 10 9 for each row, and behind the passes 6 10 9 8, which are sums of
#   neighbours. Without dilation both give 6 10 9 8 7 6 10.
# Where: `iree-codegen-convolution-to-igemm` writes `dilations = [1, 2]`, and `iree-linalg-ext-decompose-im2col` takes slices
#   of four elements with a stride of 1 out of the image.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > apart.mlir <<'MLIR'
func.func @conv(%image: tensor<2x10xf16>, %filter: tensor<4x1xf16>) -> tensor<2x4x1xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x4x1xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
  %out = linalg.generic {
      indexing_maps = [affine_map<(row, x, f, w) -> (row, x + w * 2)>, affine_map<(row, x, f, w) -> (w, f)>,
                       affine_map<(row, x, f, w) -> (row, x, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%image, %filter : tensor<2x10xf16>, tensor<4x1xf16>) outs(%fill : tensor<2x4x1xf32>) {
    ^bb0(%a: f16, %b: f16, %sum: f32):
      %left = arith.extf %a : f16 to f32
      %right = arith.extf %b : f16 to f32
      %product = arith.mulf %left, %right : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
  } -> tensor<2x4x1xf32>
  return %out : tensor<2x4x1xf32>
}
MLIR
sed 's/w \* 2/w/; s/2x4x1xf32/2x7x1xf32/g' apart.mlir > neighbours.mlir

values() {
  venv/bin/iree-compile "$1" --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
    --iree-llvmcpu-target-cpu=generic -o out.vmfb
  venv/bin/iree-run-module --module=out.vmfb --device=local-task --function=conv \
    --input="2x10xf16=0 1 2 3 4 0 1 2 3 4 0 1 2 3 4 0 1 2 3 4" --input="4x1xf16=1" \
    | grep '^2x.x1xf32=' | sed 's/.*=//' | tr -s '[]' ' ' | xargs
}
for pixels in neighbours apart; do
  venv/bin/iree-opt "$pixels.mlir" -o "$pixels.matmul.mlir" \
    --pass-pipeline='builtin.module(func.func(iree-codegen-convolution-to-igemm,iree-linalg-ext-decompose-im2col))'
  echo "$pixels, as written:  $(values "$pixels.mlir")"
  echo "$pixels, as a matmul: $(values "$pixels.matmul.mlir")"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: other values were seen" >&2; exit 1; }
neighbours, as written:  6 10 9 8 7 6 10 6 10 9 8 7 6 10
neighbours, as a matmul: 6 10 9 8 7 6 10 6 10 9 8 7 6 10
apart, as written:  7 6 10 9 7 6 10 9
apart, as a matmul: 6 10 9 8 6 10 9 8
EXPECTED
