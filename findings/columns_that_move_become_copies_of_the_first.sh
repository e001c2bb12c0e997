#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: columns that move within a matrix become copies of the first one, and rows are refused when the program runs.
# Version: iree-base-compiler 3.13.0 and iree-base-runtime 3.13.0; columns do not compile for GPUs.
# Input: a matrix of which all columns but the last move to the right by one, as in a state that forgets its oldest entry
#   (`tensor.extract_slice` of a tensor, and `tensor.insert_slice` into the same one); then rows that move down by one.
# Seen: the first element of each row in all of its columns; "source and target ranges must not overlap within the same buffer"
#   for the rows.
# Right: each element one column to the right, and one row down. With `util.optimization_barrier` on the part both are right.
# Where: both uses of the tensor become one operand of a dispatch, which is tied to the result (`readwrite`), so that
#   `iree-stream-materialize-copy-on-write` sees no second use that needs a copy. What is contiguous becomes a
#   `stream.async.copy` within one resource.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

move() { # move TO SIZES TYPE: the part at the origin moves there
  cat <<MLIR
func.func @main(%x: tensor<3x9xf32>) -> tensor<3x9xf32> {
  %part = tensor.extract_slice %x[0, 0] [$2] [1, 1] : tensor<3x9xf32> to tensor<$3>
  %moved = tensor.insert_slice %part into %x[$1] [$2] [1, 1] : tensor<$3> into tensor<3x9xf32>
  return %moved : tensor<3x9xf32>
}
MLIR
}
move "0, 1" "3, 8" 3x8xf32 > columns.mlir
move "1, 0" "2, 9" 2x9xf32 > rows.mlir
for program in columns rows; do
  sed -E 's/( *)(%moved = tensor.insert_slice )%part (.* : )(tensor<[^>]*>)/\1%made = util.optimization_barrier %part : \4\n\1\2%made \3\4/' \
    $program.mlir > made_$program.mlir
done
for program in columns rows made_columns made_rows; do
  venv/bin/iree-compile $program.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
    --iree-llvmcpu-target-cpu=generic -o $program.vmfb
  { venv/bin/iree-run-module --device=local-task --module=$program.vmfb --function=main \
    --input=3x9xf32=$(seq -s, 0 26) 2>&1 || true; } |
    grep -o -E '=\[.*|source and target ranges must not overlap' | sed "s/^/$program /"
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: what moves within a tensor was wrong, or refused" >&2; exit 1; }
columns =[0 0 0 0 0 0 0 0 0][9 9 9 9 9 9 9 9 9][18 18 18 18 18 18 18 18 18]
rows source and target ranges must not overlap
made_columns =[0 0 1 2 3 4 5 6 7][9 9 10 11 12 13 14 15 16][18 18 19 20 21 22 23 24 25]
made_rows =[0 1 2 3 4 5 6 7 8][0 1 2 3 4 5 6 7 8][9 10 11 12 13 14 15 16 17]
EXPECTED
