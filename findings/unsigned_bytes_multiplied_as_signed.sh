#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: on AMD GPUs a matmul of unsigned bytes is multiplied as one of signed bytes.
# Version: iree-base-compiler and iree-base-runtime 3.13.0, for gfx942; no GPU is needed to see it.
# Input: A and B of 16x32 i8, which the body of a `linalg.generic` extends by `arith.extui`, multiplies and adds in i32.
#   With all bytes 255 a sum is 32 * 255 * 255 = 2080800, which is what the CPU backend computes.
# Seen: the code for gfx942 is, instruction by instruction, that of the same program with `arith.extsi`, whose sum is
#   32 * -1 * -1 = 32. Its v_mfma_i32_16x16x32_i8 reads bytes as signed, and nothing corrects it.
# Where: `iree-codegen-gpu-pack-to-intrinsics` puts the instruction in the place of the body, and the extensions are
#   gone with it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > matmul.mlir <<'MLIR'
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @main(%a: tensor<16x32xi8>, %b: tensor<16x32xi8>) -> tensor<16x16xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<16x16xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<16x16xi32>) -> tensor<16x16xi32>
  %out = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<16x32xi8>, tensor<16x32xi8>) outs(%fill : tensor<16x16xi32>) {
    ^bb0(%x: i8, %y: i8, %sum: i32):
      %left = arith.extui %x : i8 to i32
      %right = arith.extui %y : i8 to i32
      %product = arith.muli %left, %right : i32
      %next = arith.addi %sum, %product : i32
      linalg.yield %next : i32
  } -> tensor<16x16xi32>
  return %out : tensor<16x16xi32>
}
MLIR
venv/bin/iree-compile matmul.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
  --iree-llvmcpu-target-cpu=generic -o cpu.vmfb
cpu=$(venv/bin/iree-run-module --module=cpu.vmfb --device=local-task --function=main \
  --input=16x32xi8=255 --input=16x32xi8=255 | grep -oE '[0-9]{3,}' | sort -u)
sed 's/arith.extui/arith.extsi/' matmul.mlir > signed.mlir
for source in matmul signed; do
  venv/bin/iree-compile "$source.mlir" --iree-hal-target-device=hip --iree-rocm-target=gfx942 \
    --iree-hal-dump-executable-files-to="$source" -o gpu.vmfb
  # The instructions alone: names and the source's lines differ.
  grep -hE '^\s+[a-z]+_[a-z0-9_]+\s' "$source"/*.rocmasm | grep -v '^\s*\.' | sed 's/;.*//' > "$source.instructions"
done
product=$(grep -oE 'v_mfma[a-z0-9_]*' matmul.instructions)
same=$(cmp -s matmul.instructions signed.instructions && echo 'the same code' || echo 'other code')
seen="CPU: $cpu, gfx942: $product, $same as for signed bytes"
echo "$seen"
[ "$seen" = 'CPU: 2080800, gfx942: v_mfma_i32_16x16x32_i8, the same code as for signed bytes' ] ||
  { echo "changed: the same code was seen for signed and unsigned bytes" >&2; exit 1; }
