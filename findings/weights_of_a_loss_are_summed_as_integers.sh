#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: the mean of a weighted cross entropy is divided by the sum of the weights' integer parts, so weights below one make it
#   infinite.
# Version: iree-base-compiler 3.13.0, for every target; seen here on the CPU.
# Input: `onnx.SoftmaxCrossEntropyLoss` with `reduction = "mean"` of two rows of two zeros with the labels 0 and 1, and both
#   classes with the weight 1, 0.5 or 1.5.
# Seen: 0.693147, infinity and 1.03972.
# Right: log 2 = 0.693147 each time. By the operator's text the mean is the sum of the weighted losses divided by the sum of the
#   weights that they got, and the weights are floats. ONNX's own `test_sce_mean_weight` and the three that begin with
#   that name and compile beside it (`_ii`, `_log_prob`, `_ii_log_prob`) give infinity.
# Where: the importer makes `aten.cross_entropy_loss`. `torch-decompose-complex-ops` gives the sum of the gathered weights the
#   type of the labels (`torch.aten.sum ... !torch.vtensor<[2],f32> -> !torch.vtensor<*,si64>`), and so each weight goes
#   through `arith.fptosi` before it is added.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > loss.mlir <<'MLIR'
func.func @main(%scores: !torch.vtensor<[2,2],f32>, %labels: !torch.vtensor<[2],si64>, %weights: !torch.vtensor<[2],f32>)
    -> !torch.vtensor<[],f32>
    attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %0 = torch.operator "onnx.SoftmaxCrossEntropyLoss"(%scores, %labels, %weights) {torch.onnx.reduction = "mean"}
      : (!torch.vtensor<[2,2],f32>, !torch.vtensor<[2],si64>, !torch.vtensor<[2],f32>) -> !torch.vtensor<[],f32>
  return %0 : !torch.vtensor<[],f32>
}
MLIR
venv/bin/iree-compile loss.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
  --iree-llvmcpu-target-cpu=generic -o loss.vmfb
for weight in 1 0.5 1.5; do
  venv/bin/iree-run-module --device=local-task --module=loss.vmfb --function=main --input=2x2xf32=0 --input=2xi64=0,1 \
    --input=2xf32=$weight 2>&1 | grep 'f32=' | sed "s/^f32=/weights $weight: /"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: the weights were summed as integers" >&2; exit 1; }
weights 1: 0.693147
weights 0.5: INF
weights 1.5: 1.03972
EXPECTED
