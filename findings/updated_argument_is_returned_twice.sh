#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a function that returns an argument, and the argument with a row replaced, returns the latter twice.
# Version: iree-base-compiler 3.13.0, for every target; seen here on the CPU.
# Input: two rows of ones, and a row of fives that takes the place of the first one (`tensor.insert_slice`).
# Seen: rows of fives and ones for both results, in whichever order they are returned.
# Right: ones alone for the argument. A tensor is a value: what is made of it does not change it. Where the second result is the
#   sum of the argument with itself, a copy is made, and both are right.
# Where: `hal.tensor.export` of what `hal.tensor.import` gives is folded to the argument's buffer. The update is the only use of
#   the import then, so that `iree-stream-materialize-copy-on-write` puts no copy in front of it, and the row is written to
#   the buffer that is returned.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > updated_first.mlir <<'MLIR'
func.func @main(%x: tensor<2x3xf32>, %row: tensor<1x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %updated = tensor.insert_slice %row into %x[0, 0] [1, 3] [1, 1] : tensor<1x3xf32> into tensor<2x3xf32>
  return %updated, %x : tensor<2x3xf32>, tensor<2x3xf32>
}
MLIR
sed 's/return %updated, %x/return %x, %updated/' updated_first.mlir > updated_last.mlir
for program in updated_first updated_last; do
  venv/bin/iree-compile $program.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
    --iree-llvmcpu-target-cpu=generic -o $program.vmfb
  venv/bin/iree-run-module --device=local-task --module=$program.vmfb --function=main --input=2x3xf32=1 \
    --input=1x3xf32=5 2>&1 | grep -o '=\[.*' | sed "s/^/$program /"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: an argument and its update were the same" >&2; exit 1; }
updated_first =[5 5 5][1 1 1]
updated_first =[5 5 5][1 1 1]
updated_last =[5 5 5][1 1 1]
updated_last =[5 5 5][1 1 1]
EXPECTED
