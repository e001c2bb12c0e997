#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a tensor that is padded with its own reflection does not compile unless the edges are tiny.
# Version: iree-base-compiler 3.13.0; the same for the CPU, CUDA and HIP.
# Input: ONNX's `Pad` in mode `reflect`, of 64 elements by 32 on both sides, and by 1 on both sides.
# Seen: "inferred input/output operand #0 has shape's dimension #0 to be greater than or equal to 32" for the first one, and
#   nothing for the second one. Mode `edge` compiles with either.
# Right: both compile, as the second one does, which gives the right values.
# Where: the edge is a `linalg.generic` whose operand is indexed by `-d0 + 31`. A tile of it slices the operand as if it were read
#   forwards, and keeps the map.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

for mode in reflect edge; do
  for edge in 32 1; do
    padded="!torch.vtensor<[1,1,$((64 + 2 * edge))],f32>"
    cat > pad.mlir <<MLIR
func.func @main(%x: !torch.vtensor<[1,1,64],f32>) -> $padded attributes {torch.onnx_meta.opset_version = 18 : si64} {
  %0 = torch.vtensor.literal(dense<[0, 0, $edge, 0, 0, $edge]> : tensor<6xsi64>) : !torch.vtensor<[6],si64>
  %1 = torch.operator "onnx.Pad"(%x, %0) {torch.onnx.mode = "$mode"} : (!torch.vtensor<[1,1,64],f32>, !torch.vtensor<[6],si64>) -> $padded
  return %1 : $padded
}
MLIR
    said=$(venv/bin/iree-compile pad.mlir --iree-input-type=onnx --iree-hal-target-device=local \
      --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=generic -o /dev/null 2>&1) && said="" || true
    echo "$mode $edge $(grep -o -m1 'dimension #0 to be greater than or equal to 32' <<< "$said" || true)"
  done
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: reflected edges of 32 elements did not compile" >&2; exit 1; }
reflect 32 dimension #0 to be greater than or equal to 32
reflect 1 
edge 32 
edge 1 
EXPECTED
