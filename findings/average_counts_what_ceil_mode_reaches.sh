#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: an average pool that counts its padding also counts places behind the padding, where `ceil_mode` lets a window end.
# Version: iree-base-compiler 3.13.0, for every target; seen here on the CPU.
# Input: `onnx.AveragePool` of four sixes with windows of three in steps of two, without padding, `ceil_mode` and
#   `count_include_pad` 1.
# Seen: 6 and 4. The second window has two sixes and ends one place behind the input; 12 is divided by 3.
# Right: 6 and 6. `count_include_pad` lets the operator's own `pads` count, and there are none. ONNX's reference
#   evaluator and onnxruntime divide 12 by 2, as PyTorch does. ONNX's own
#   `test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True` fails for it.
# Where: the importer does not hand `ceil_mode` on. It makes `aten.avg_pool1d` with the padding [0, 1] and `ceil_mode` false, and
#   nothing tells its own padding from the operator's any more. With `count_include_pad` 0 the values are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > pool.mlir <<'MLIR'
func.func @main(%x: !torch.vtensor<[1,1,4],f32>) -> !torch.vtensor<[1,1,2],f32>
    attributes {torch.onnx_meta.ir_version = 9 : si64, torch.onnx_meta.opset_version = 19 : si64} {
  %0 = torch.operator "onnx.AveragePool"(%x)
      {torch.onnx.ceil_mode = 1 : si64, torch.onnx.count_include_pad = 1 : si64, torch.onnx.kernel_shape = [3 : si64],
       torch.onnx.strides = [2 : si64]}
      : (!torch.vtensor<[1,1,4],f32>) -> !torch.vtensor<[1,1,2],f32>
  return %0 : !torch.vtensor<[1,1,2],f32>
}
MLIR
venv/bin/iree-compile pool.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
  --iree-llvmcpu-target-cpu=generic -o pool.vmfb
venv/bin/iree-run-module --device=local-task --module=pool.vmfb --function=main --input=1x1x4xf32=6,6,6,6 2>&1 |
  grep 'xf32=' | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: a place behind the padding was counted" >&2; exit 1; }
1x1x2xf32=[[6 4]]
EXPECTED
