#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: the determinant of a matrix that begins with a zero is NaN, without an error.
# Version: iree-base-compiler 3.13.0, for every target; seen here on the CPU.
# Input: `onnx.Det` of the matrices (1, 2; 3, 4), (0, 1; 1, 0) and (0, 0; 1, 5).
# Seen: -2 for the first, and NaN for the two others.
# Right: -2, -1 and 0. The operator is defined for every square matrix, and nothing in its text excludes zeros. ONNX's own
#   `test_det_2d` has such a matrix and fails.
# Where: the lowering of `aten.linalg_det` eliminates without exchanging rows, so it divides by the zero. It knows that, and
#   puts `cf.assert` with "unimplemented: determinants requiring permutations and singular matrices" into the body of the
#   `linalg.generic`. `iree-util-strip-debug-ops` takes that away from the dispatch, and what it guarded stays. A zero that
#   the elimination itself makes has the same end, such as in (1, 1, 2; 1, 1, 0; 0, 1, 1), whose determinant is 2.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > determinant.mlir <<'MLIR'
func.func @main(%x: !torch.vtensor<[2,2],f32>) -> !torch.vtensor<[],f32>
    attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %0 = torch.operator "onnx.Det"(%x) : (!torch.vtensor<[2,2],f32>) -> !torch.vtensor<[],f32>
  return %0 : !torch.vtensor<[],f32>
}
MLIR
venv/bin/iree-compile determinant.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
  --iree-llvmcpu-target-cpu=generic -o determinant.vmfb
for matrix in 1,2,3,4 0,1,1,0 0,0,1,5; do
  venv/bin/iree-run-module --device=local-task --module=determinant.vmfb --function=main --input=2x2xf32=$matrix 2>&1 |
    grep 'f32=' | sed "s/-NAN/NAN/; s/^f32=/$matrix: /"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: the determinants were NaN" >&2; exit 1; }
1,2,3,4: -2
0,1,1,0: NAN
0,0,1,5: NAN
EXPECTED
