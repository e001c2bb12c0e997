#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: an LSTM takes the lengths of its sequences and its peephole weights, and computes as if it had neither.
# Version: iree-base-compiler 3.13.0, for every target; seen here on the CPU.
# Input: `onnx.LSTM` with one hidden unit and one sequence of two ones. The weights of the input are 1, those of the recurrence
#   and the biases 0, and the cell begins with 1. Its last hidden value is asked for: once with the length 2 and
#   peephole weights 0, once with the length 1, and once with peephole weights 1.
# Seen: 0.661485 each time.
# Right: 0.661485, 0.627655 and 0.93287. By the operator's text `sequence_lens` has the length of each sequence of the batch,
#   `Y_h` is the hidden value behind its last step, and `P` is multiplied with the cell and added to what the input, output
#   and forget gates get. ONNX's own `test_lstm_with_peepholes` fails; no test of it has a shorter length.
# Where: the importer's `onnx.LSTM` reads the operands up to the initial cell; its `torch.prim.Loop` has as many steps as the
#   input is long, and gates without the cell. The operands 4 and 7 of the operator are arguments that nothing reads,
#   and no error says so. `onnx.GRU` and `onnx.RNN` do the same with the lengths.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > lstm.mlir <<'MLIR'
func.func @main(%x: !torch.vtensor<[2,1,1],f32>, %w: !torch.vtensor<[1,4,1],f32>, %r: !torch.vtensor<[1,4,1],f32>,
                %biases: !torch.vtensor<[1,8],f32>, %lengths: !torch.vtensor<[1],si32>, %hidden: !torch.vtensor<[1,1,1],f32>,
                %cell: !torch.vtensor<[1,1,1],f32>, %peepholes: !torch.vtensor<[1,3],f32>) -> !torch.vtensor<[1,1,1],f32>
    attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %0:2 = torch.operator "onnx.LSTM"(%x, %w, %r, %biases, %lengths, %hidden, %cell, %peepholes)
      {torch.onnx.hidden_size = 1 : si64}
      : (!torch.vtensor<[2,1,1],f32>, !torch.vtensor<[1,4,1],f32>, !torch.vtensor<[1,4,1],f32>, !torch.vtensor<[1,8],f32>,
         !torch.vtensor<[1],si32>, !torch.vtensor<[1,1,1],f32>, !torch.vtensor<[1,1,1],f32>, !torch.vtensor<[1,3],f32>)
      -> (!torch.none, !torch.vtensor<[1,1,1],f32>)
  return %0#1 : !torch.vtensor<[1,1,1],f32>
}
MLIR
venv/bin/iree-compile lstm.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
  --iree-llvmcpu-target-cpu=generic -o lstm.vmfb
for case in "2 0" "1 0" "2 1"; do
  read -r length peephole <<< "$case"
  venv/bin/iree-run-module --device=local-task --module=lstm.vmfb --function=main --input=2x1x1xf32=1 --input=1x4x1xf32=1 \
    --input=1x4x1xf32=0 --input=1x8xf32=0 --input=1xi32=$length --input=1x1x1xf32=0 --input=1x1x1xf32=1 \
    --input=1x3xf32=$peephole 2>&1 | grep 'xf32=' | sed "s/^/length $length, peepholes $peephole: /"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: neither lengths nor peepholes were read" >&2; exit 1; }
length 2, peepholes 0: 1x1x1xf32=[[0.661485]]
length 1, peepholes 0: 1x1x1xf32=[[0.661485]]
length 2, peepholes 1: 1x1x1xf32=[[0.661485]]
EXPECTED
