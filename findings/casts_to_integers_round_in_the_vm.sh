#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: `arith.fptosi` and `arith.fptoui` round to the nearest integer where IREE's VM executes them.
# Version: iree-base-compiler and iree-base-runtime 3.13.0; in programs for any device these are the scalars that the
#   host computes, such as sizes, and on the backend vmvx all elements.
# Input: 0.5 and -2.7 in f32, cast to i32 by a function on scalars.
# Seen: 1 and -3, halves away from zero; MLIR's page of `arith` asks for rounding towards zero, which gives 0 and -2,
#   and so do kernels of the backend llvm-cpu.
# Where: the VM's operations `vm.cast.f32.si32` and `vm.cast.f32.ui32`, whose integers are those of C's `lroundf`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > cast.mlir <<'MLIR'
func.func @host(%x: f32) -> i32 {
  %integer = arith.fptosi %x : f32 to i32
  return %integer : i32
}
func.func @kernel(%x: tensor<2xf32>) -> tensor<2xi32> {
  %empty = tensor.empty() : tensor<2xi32>
  %integers = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>],
                              iterator_types = ["parallel"]}
      ins(%x : tensor<2xf32>) outs(%empty : tensor<2xi32>) {
    ^bb0(%in: f32, %unused: i32):
      %integer = arith.fptosi %in : f32 to i32
      linalg.yield %integer : i32
  } -> tensor<2xi32>
  return %integers : tensor<2xi32>
}
MLIR
venv/bin/iree-compile cast.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
  --iree-llvmcpu-target-cpu=generic -o cast.vmfb
run() { venv/bin/iree-run-module --module=cast.vmfb --device=local-task "$@" | grep -oE 'i32=.*' | sed 's/i32=//'; }
host="$(run --function=host --input=0.5) $(run --function=host --input=-2.7)"
kernel=$(run --function=kernel --input="2xf32=0.5 -2.7")
echo "0.5 and -2.7 as integers: $host on the host, $kernel in a kernel"
[[ "$host" == "1 -3" && "$kernel" == "0 -2" ]] || { echo "changed: they were 1 -3 and 0 -2" >&2; exit 1; }
