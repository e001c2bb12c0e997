#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: MLIR's canonicalizer drops a bound of a mask that may be 0, where a constant 1 stands before it.
# Version: iree-opt of iree-base-compiler 3.13.0, whose MLIR does it.
# Input: `vector.create_mask %one, %rows, %columns : vector<1x1x2xi1>`, cast to `vector<2xi1>`. %one is the constant 1,
#   so that the mask is false everywhere where %rows is 0.
# Seen: `vector.create_mask %columns : vector<2xi1>`. %rows is gone, and with 0 rows the mask is true. Masked reads
#   behind it read past the last row, which gives wrong sums in batched matmuls.
# Where: the pattern that folds `vector.shape_cast` into `vector.create_mask` looks at the first of the dimensions
#   of one element that it drops, and takes the others to be like it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > mask.mlir <<'MLIR'
func.func @mask(%rows: index, %columns: index) -> vector<2xi1> {
  %one = arith.constant 1 : index
  %mask = vector.create_mask %one, %rows, %columns : vector<1x1x2xi1>
  %flat = vector.shape_cast %mask : vector<1x1x2xi1> to vector<2xi1>
  return %flat : vector<2xi1>
}
MLIR
seen=$(venv/bin/iree-opt mask.mlir --canonicalize | grep -E 'func.func|create_mask')
echo "$seen"
expected='  func.func @mask(%arg0: index, %arg1: index) -> vector<2xi1> {
    %0 = vector.create_mask %arg1 : vector<2xi1>'
[ "$seen" = "$expected" ] || { echo "changed: the bound %arg0 was dropped before" >&2; exit 1; }
