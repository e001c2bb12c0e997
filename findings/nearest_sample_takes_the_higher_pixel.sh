#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a sample of an image by its nearest pixel takes the higher one where it lies halfway between two; ONNX and PyTorch
#   take the even one.
# Version: iree-base-compiler 3.13.0, for every target; seen here on the CPU.
# Input: `onnx.GridSample` of mode `nearest` with aligned corners, of one row of three pixels, 10, 20 and 30, at the places
#   -0.5, 0 and 0.5: these are 0.5, 1 and 1.5 in pixels.
# Seen: 20, 20, 30.
# Right: 10, 20, 30. ONNX's own tests of the operator, `test_gridsample_nearest` and the two with `align_corners` beside
#   it, have such places and fail.
# Where: the importer's lowering of `aten.grid_sampler` compares what is left behind the floor with 0.5 (`cmpf olt`), and
#   takes the pixel above where it is equal. `math.roundeven` of the place is what the two define.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > sample.mlir <<'MLIR'
func.func @main(%x: !torch.vtensor<[1,1,1,3],f32>, %places: !torch.vtensor<[1,1,3,2],f32>) -> !torch.vtensor<[1,1,1,3],f32>
    attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %0 = torch.operator "onnx.GridSample"(%x, %places)
      {torch.onnx.align_corners = 1 : si64, torch.onnx.mode = "nearest", torch.onnx.padding_mode = "zeros"}
      : (!torch.vtensor<[1,1,1,3],f32>, !torch.vtensor<[1,1,3,2],f32>) -> !torch.vtensor<[1,1,1,3],f32>
  return %0 : !torch.vtensor<[1,1,1,3],f32>
}
MLIR
venv/bin/iree-compile sample.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
  --iree-llvmcpu-target-cpu=generic -o sample.vmfb
venv/bin/iree-run-module --device=local-task --module=sample.vmfb --function=main --input=1x1x1x3xf32=10,20,30 \
  --input=1x1x3x2xf32=-0.5,0,0,0,0.5,0 2>&1 | grep -o '\[\[\[.*' | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: the nearest pixel was the higher of two" >&2; exit 1; }
[[[20 20 30]]]
EXPECTED
