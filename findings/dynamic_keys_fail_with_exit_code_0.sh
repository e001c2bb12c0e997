#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: an attention whose number of keys only the program knows gets an error and a module: `iree-compile` ends with
#   exit code 0, and the code that it writes is wrong.
# Version: iree-base-compiler 3.13.0, for cuda and hip; no GPU is needed to see it.
# Input: `iree_linalg_ext.attention` of one row of Q, with `tensor<1x?x32xf16>` for K, `tensor<1x?x16xf16>` for V and
#   no mask, compiled for sm_80.
# Seen: "Padding OnlineAttention without existing mask is not yet supported", exit code 0, and a module. In the kernel
#   each lane has private memory for the maxima, sums and outputs of all 256 lanes that share the keys, of which it
#   writes its own in the loop, and behind the loop reads all: an H200 gave infinities. With 512 keys, a number that
#   the program says, the kernel has no private memory, and nothing is reported.
# Expected: keys that are padded behind a mask, or an exit code that says that it failed.
# Where: the pass that pads the keys emits the error and does not fail. https://github.com/iree-org/iree/issues/22619
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > dynamic.mlir <<'MLIR'
#q = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#k = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#v = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#s = affine_map<(b, m, n, k1, k2) -> ()>
#o = affine_map<(b, m, n, k1, k2) -> (b, m, n)>
func.func @main(%q: tensor<1x1x32xf16>, %k: tensor<1x?x32xf16>, %v: tensor<1x?x16xf16>) -> tensor<1x1x16xf16> {
  %scale = arith.constant 1.0 : f16
  %empty = tensor.empty() : tensor<1x1x16xf16>
  %out = iree_linalg_ext.attention <{indexing_maps = [#q, #k, #v, #s, #o]}>
      ins(%q, %k, %v, %scale : tensor<1x1x32xf16>, tensor<1x?x32xf16>, tensor<1x?x16xf16>, f16)
      outs(%empty : tensor<1x1x16xf16>) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  } -> tensor<1x1x16xf16>
  return %out : tensor<1x1x16xf16>
}
MLIR
sed 's/1x?x/1x512x/g' dynamic.mlir > static.mlir
for keys in static dynamic; do
  code=0
  venv/bin/iree-compile $keys.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_80 -o $keys.vmfb \
    --mlir-print-ir-after=iree-llvmgpu-vector-distribute 2> $keys.log || code=$?
  [ -s $keys.vmfb ] && module='a module' || module='no module'
  echo "$keys: exit code $code, $module"
  grep -oE 'error: .*|memref.alloca\(\) : .*' $keys.log || true
done | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: an error, exit code 0 and a module were seen" >&2; exit 1; }
static: exit code 0, a module
dynamic: exit code 0, a module
error: Padding OnlineAttention without existing mask is not yet supported
memref.alloca() : memref<256xf32, #gpu.address_space<private>>
memref.alloca() : memref<256xf32, #gpu.address_space<private>>
memref.alloca() : memref<256x16xf32, #gpu.address_space<private>>
EXPECTED
