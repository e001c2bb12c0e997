#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a quantized matmul with a batch dimension multiplies the bytes without taking their zero points away.
# Version: iree-base-compiler 3.13.0, for every target; seen here on the CPU.
# Input: `onnx.QLinearMatMul` of 1x2 by 2x1 i8 with all scales 1: (5, 6) with zero point 1 by (7, 8) with zero point 2, into zero
#   point 0. Once as matrices, and once with a batch of 1 in front.
# Seen: 50 for the matrices and 83 for the batch, which is 5 * 7 + 6 * 8.
# Right: 50 for both, (5 - 1) * (7 - 2) + (6 - 1) * (8 - 2). The operator multiplies as `numpy.matmul` does, so leading
#   dimensions are its batch, and each value is `(byte - zero_point) * scale`. Unsigned bytes lose their zero points, too, and are
#   multiplied as signed ones. ONNX's four tests `test_qlinearmatmul_3D_*` fail for it.
# Where: the importer makes `aten.mm` of the matrices and `aten.bmm` of the batch, both of `!torch.qint8`. The lowering of
#   `aten.mm` to linalg asks for the zero points of its operands, that of `aten.bmm` does not: a plain `linalg.batch_matmul` of
#   i8 is left, and the zero points are arguments that nothing reads. `onnx.MatMulInteger` of the same batch is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > batch.mlir <<'MLIR'
func.func @main(%a: !torch.vtensor<[1,1,2],si8>, %zero_of_a: !torch.vtensor<[],si8>, %b: !torch.vtensor<[1,2,1],si8>,
                %zero_of_b: !torch.vtensor<[],si8>, %one: !torch.vtensor<[],f32>, %zero: !torch.vtensor<[],si8>)
    -> !torch.vtensor<[1,1,1],si8>
    attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %0 = torch.operator "onnx.QLinearMatMul"(%a, %one, %zero_of_a, %b, %one, %zero_of_b, %one, %zero)
      : (!torch.vtensor<[1,1,2],si8>, !torch.vtensor<[],f32>, !torch.vtensor<[],si8>, !torch.vtensor<[1,2,1],si8>,
         !torch.vtensor<[],f32>, !torch.vtensor<[],si8>, !torch.vtensor<[],f32>, !torch.vtensor<[],si8>)
      -> !torch.vtensor<[1,1,1],si8>
  return %0 : !torch.vtensor<[1,1,1],si8>
}
MLIR
sed 's/vtensor<\[1,/vtensor<[/g' batch.mlir > matrices.mlir
for program in "matrices " "batch 1x"; do
  read -r name batch <<< "$program"
  venv/bin/iree-compile $name.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
    --iree-llvmcpu-target-cpu=generic -o $name.vmfb
  venv/bin/iree-run-module --device=local-task --module=$name.vmfb --function=main --input=${batch}1x2xi8=5,6 --input=i8=1 \
    --input=${batch}2x1xi8=7,8 --input=i8=2 --input=f32=1 --input=i8=0 2>&1 | grep 'xi8=' | sed "s/^/$name: /"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: the batch lost its zero points" >&2; exit 1; }
matrices: 1x1xi8=[50]
batch: 1x1x1xi8=[[83]]
EXPECTED
