#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: `--iree-hal-preprocess-executables-with` fails on every program with a resource as a constant, even where the
#   tool is `cat`, which hands the executable back as it was.
# Version: iree-base-compiler 3.13.0. Models that PyTorch exports have such constants.
# Input: a product with a `dense_resource` of four f32, compiled without the flag and with it.
# Seen: without the flag it compiles; with it, "error: resource does not exist".
# Where: the executable is printed for the tool without the `dialect_resources` that it refers to.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > scaled.mlir <<'MLIR'
func.func @scaled(%x: tensor<4xf32>) -> tensor<4xf32> {
  %by = arith.constant dense_resource<factors> : tensor<4xf32>
  %y = arith.mulf %x, %by : tensor<4xf32>
  return %y : tensor<4xf32>
}
{-#
  dialect_resources: {
    builtin: {
      factors: "0x040000000000803F000000400000404000008040"
    }
  }
#-}
MLIR
compiled() {
  venv/bin/iree-compile scaled.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
    --iree-llvmcpu-target-cpu=generic -o scaled.vmfb "$@" 2> errors && echo compiles ||
    grep -o -m1 'error: resource.*' errors
}
seen="$(compiled) / $(compiled --iree-hal-preprocess-executables-with=cat)"
echo "$seen"
[ "$seen" = 'compiles / error: resource does not exist' ] || { echo "changed: it failed with the flag" >&2; exit 1; }
