#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a program from ONNX or PyTorch reads the bytes of an argument in f64 as if they were f32.
# Version: iree-base-compiler 3.13.0, for every target; seen here on the CPU, with default flags.
# Input: `onnx.Cast` of 1, 2, 3 and 4 from f64 to f32.
# Seen: 0, 1.875, 0 and 2, which are the bits of the f64 numbers 1 and 2.
# Right: 1, 2, 3 and 4, as with `--iree-input-demote-f64-to-f32=false`. ONNX's own tests of `Cast`, `Einsum` and others that
#   have f64 fail; those that return f64 end with an error, since the result has half of the bytes of its type.
# Where: `iree-input-conversion-demote-f64-to-f32`, which runs by default. It changes the result of `hal.tensor.import`, whose
#   `target_encoding` stays f64, and puts no conversion between the two. A function on tensors of `func.func` gets another
#   signature instead, with a warning.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > cast.mlir <<'MLIR'
func.func @main(%x: !torch.vtensor<[4],f64>) -> !torch.vtensor<[4],f32>
    attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %0 = torch.operator "onnx.Cast"(%x) {torch.onnx.to = 1 : si64} : (!torch.vtensor<[4],f64>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
MLIR
for demote in true false; do
  venv/bin/iree-compile cast.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
    --iree-llvmcpu-target-cpu=generic --iree-input-demote-f64-to-f32=$demote -o cast.vmfb
  venv/bin/iree-run-module --device=local-task --module=cast.vmfb --function=main --input=4xf64=1,2,3,4 2>&1 |
    grep 'xf32='
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: f64 was read as f32" >&2; exit 1; }
4xf32=0 1.875 0 2
4xf32=1 2 3 4
EXPECTED
