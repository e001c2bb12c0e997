#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: values beyond the range of an 8-bit float become NaN or infinity where `onnx.QuantizeLinear` has to saturate.
# Version: iree-base-compiler 3.13.0, for every target; seen here on the CPU.
# Input: `onnx.QuantizeLinear` of 100, 100000 and -100000 with scale 1 and zero point 0 into each of the four types, with
#   `saturate = 1`, which is also its default.
# Seen: NaN for the second and the third in f8E4M3FN, f8E4M3FNUZ and f8E5M2FNUZ, and infinities in f8E5M2.
# Right: the greatest finite value of the type with the sign of the input: 448, 240, 57344 and 57344. The operator's text says so
#   for `saturate` true, by the same table as for `onnx.Cast`. What is seen is right for `saturate = 0`. ONNX's own
#   `test_quantizelinear_e4m3fn` fails for it, and `test_castlike_FLOAT_to_FLOAT8E4M3FN` and its kin, whose input has infinities.
# Where: the importer makes `aten.to.dtype` of the quotient for these types, which becomes `arith.truncf`, and that does not
#   saturate. Nothing reads the attribute; integers get the clamp that these types lack.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > quantize.mlir <<'MLIR'
func.func @main(%x: !torch.vtensor<[3],f32>, %scale: !torch.vtensor<[],f32>, %zero: !torch.vtensor<[],TYPE>)
    -> !torch.vtensor<[3],TYPE>
    attributes {torch.onnx_meta.ir_version = 9 : si64, torch.onnx_meta.opset_version = 19 : si64} {
  %0 = torch.operator "onnx.QuantizeLinear"(%x, %scale, %zero) {torch.onnx.saturate = 1 : si64}
      : (!torch.vtensor<[3],f32>, !torch.vtensor<[],f32>, !torch.vtensor<[],TYPE>) -> !torch.vtensor<[3],TYPE>
  return %0 : !torch.vtensor<[3],TYPE>
}
MLIR
for type in f8E4M3FN f8E4M3FNUZ f8E5M2 f8E5M2FNUZ; do
  sed "s/TYPE/$type/g" quantize.mlir > $type.mlir
  venv/bin/iree-compile $type.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
    --iree-llvmcpu-target-cpu=generic -o $type.vmfb
  venv/bin/iree-run-module --device=local-task --module=$type.vmfb --function=main --input=3xf32=100,100000,-100000 \
    --input=f32=1 --input=$type=0 2>&1 | grep '3xf8' | sed 's/-NAN/NAN/g'
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: 8-bit floats were not saturated" >&2; exit 1; }
3xf8E4M3FN=96 NAN NAN
3xf8E4M3FNUZ=96 NAN NAN
3xf8E5M2=96 INF -INF
3xf8E5M2FNUZ=96 NAN NAN
EXPECTED
