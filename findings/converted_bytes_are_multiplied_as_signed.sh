#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a product in StableHLO of unsigned bytes that are converted to f32 multiplies them as signed ones, on the CPU as well.
# Version: iree-base-compiler 3.13.0 and iree-base-runtime 3.13.0, for every target.
# Input: bytes 200, 201 and 2 as ui8, converted to f32 and multiplied with the identity; the converted bytes alone; and the same
#   product of the maximum of the converted bytes and themselves.
# Seen: -56, -55 and 2 for the first product. 200, 201 and 2 for the two others.
# Right: 200, 201 and 2 each time.
# Where: `iree-stablehlo-to-stablehlo-preprocessing` takes the conversion into the product, and the `linalg.matmul` that becomes of
#   it widens its i8 factors as signed numbers. The type ui8 is gone by then.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > product.mlir <<'MLIR'
func.func @main(%bytes: tensor<1x3xui8>, %b: tensor<3x3xf32>) -> tensor<1x3xf32> {
  %0 = stablehlo.convert %bytes : (tensor<1x3xui8>) -> tensor<1x3xf32>
  %1 = stablehlo.dot %0, %b : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<1x3xf32>
  return %1 : tensor<1x3xf32>
}
MLIR
sed 's/return %1/return %0/' product.mlir > converted.mlir
sed 's/  %1 = stablehlo.dot %0/  %2 = stablehlo.maximum %0, %0 : tensor<1x3xf32>\n  %1 = stablehlo.dot %2/' product.mlir > kept.mlir
for program in product converted kept; do
  venv/bin/iree-compile $program.mlir --iree-input-type=stablehlo --iree-hal-target-device=local \
    --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=generic -o $program.vmfb
  venv/bin/iree-run-module --device=local-task --module=$program.vmfb --function=main --input=1x3xui8=200,201,2 \
    --input=3x3xf32=1,0,0,0,1,0,0,0,1 2>&1 | grep -o '=\[.*' | sed "s/^/$program /"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: converted bytes were multiplied as signed ones" >&2; exit 1; }
product =[-56 -55 2]
converted =[200 201 2]
kept =[200 201 2]
EXPECTED
