#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a convolution whose filter is stored as (row, column, output channel, input channel) changes its value when it
#   becomes a matmul, and so does one whose filter has its columns before its rows.
# Version: iree-base-compiler and iree-base-runtime 3.13.0. The pass is part of the default pipeline of AMD GPUs; it is
#   run by iree-opt here, and its result on the CPU, so that no GPU is needed.
# Input: an image 3x3x2, filters 2x2x2x2 and their convolution as a `linalg.generic`, with f16 elements that count from
#   1. In the order (row, column, input channel, output channel) the pass leaves the value as it is.
# Seen: with the filter in the order (r, s, f, c) the convolution gives 444 532 564 684 804 988 924 1140, and behind the
#   pass 382 470 502 622 742 926 862 1078. In the order (s, r, c, f) it gives 436 480 564 624 820 912 948 1056, and
#   behind the pass 424 468 552 612 808 900 936 1044.
# Where: `iree-codegen-convolution-to-igemm` makes an `iree_linalg_ext.im2col` whose columns are numbered with channels
#   first, as `output_perm` has it, and leaves `input_k_perm` the identity, while the filter is numbered (r, s, c).
#   Of the other filter it lists the sizes of the window in the filter's order, and the matmul reads the windows in the
#   image's, so that they are multiplied by the transposed filter.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > rsfc.mlir <<'MLIR'
#image = affine_map<(y, x, f, r, s, c) -> (y + r, x + s, c)>
#filter = affine_map<(y, x, f, r, s, c) -> (r, s, f, c)>
#out = affine_map<(y, x, f, r, s, c) -> (y, x, f)>
func.func @conv(%image: tensor<3x3x2xf16>, %filter: tensor<2x2x2x2xf16>) -> tensor<2x2x2xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x2x2xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %out = linalg.generic {indexing_maps = [#image, #filter, #out],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%image, %filter : tensor<3x3x2xf16>, tensor<2x2x2x2xf16>) outs(%fill : tensor<2x2x2xf32>) {
    ^bb0(%a: f16, %b: f16, %sum: f32):
      %left = arith.extf %a : f16 to f32
      %right = arith.extf %b : f16 to f32
      %product = arith.mulf %left, %right : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
  } -> tensor<2x2x2xf32>
  return %out : tensor<2x2x2xf32>
}
MLIR
sed 's/(r, s, f, c)>/(r, s, c, f)>/' rsfc.mlir > rscf.mlir
sed 's/(r, s, f, c)>/(s, r, c, f)>/' rsfc.mlir > srcf.mlir

values() {
  venv/bin/iree-compile "$1" --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
    --iree-llvmcpu-target-cpu=generic -o out.vmfb
  venv/bin/iree-run-module --module=out.vmfb --device=local-task --function=conv \
    --input="3x3x2xf16=$(seq -s ' ' 1 18)" --input="2x2x2x2xf16=$(seq -s ' ' 1 16)" \
    | grep '^2x2x2xf32=' | sed 's/.*=//' | tr -s '[]' ' ' | xargs
}
for order in rscf rsfc srcf; do
  venv/bin/iree-opt "$order.mlir" -o "$order.matmul.mlir" \
    --pass-pipeline='builtin.module(func.func(iree-codegen-convolution-to-igemm,iree-linalg-ext-decompose-im2col))'
  echo "$order, as written:  $(values "$order.mlir")"
  echo "$order, as a matmul: $(values "$order.matmul.mlir")"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: other values were seen" >&2; exit 1; }
rscf, as written:  468 512 596 656 852 944 980 1088
rscf, as a matmul: 468 512 596 656 852 944 980 1088
rsfc, as written:  444 532 564 684 804 988 924 1140
rsfc, as a matmul: 382 470 502 622 742 926 862 1078
srcf, as written:  436 480 564 624 820 912 948 1056
srcf, as a matmul: 424 468 552 612 808 900 936 1044
EXPECTED
