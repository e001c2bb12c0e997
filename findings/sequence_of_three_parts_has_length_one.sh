#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a tensor that is split into parts of several given sizes becomes a sequence of one part.
# Version: iree-base-compiler 3.13.0, for every target; seen here on the CPU.
# Input: `onnx.SplitToSequence` of six elements by the sizes 1, 2 and 3, and `onnx.SequenceLength` of what it gives.
# Seen: 1, whatever the sizes are: it is a constant of the compiled program.
# Right: 3. ONNX defines that a tensor of sizes has one for each part, and its own `test_sequence_model8` (of `simple`) fails for it.
# Where: the importer's lowering of `onnx.SplitToSequence`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > length.mlir <<'MLIR'
func.func @main(%x: !torch.vtensor<[6],f32>, %sizes: !torch.vtensor<[3],si64>) -> !torch.vtensor<[],si64>
    attributes {torch.onnx_meta.ir_version = 7 : si64, torch.onnx_meta.opset_version = 12 : si64} {
  %parts = torch.operator "onnx.SplitToSequence"(%x, %sizes)
      : (!torch.vtensor<[6],f32>, !torch.vtensor<[3],si64>) -> !torch.list<vtensor<[?],f32>>
  %length = torch.operator "onnx.SequenceLength"(%parts)
      : (!torch.list<vtensor<[?],f32>>) -> !torch.vtensor<[],si64>
  return %length : !torch.vtensor<[],si64>
}
MLIR
venv/bin/iree-compile length.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
  --iree-llvmcpu-target-cpu=generic -o length.vmfb
venv/bin/iree-run-module --device=local-task --module=length.vmfb --function=main --input=6xf32=1,2,3,4,5,6 \
  --input=3xi64=1,2,3 2>&1 | grep 'i64=' | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: a sequence of three parts had the length 1" >&2; exit 1; }
i64=1
EXPECTED
