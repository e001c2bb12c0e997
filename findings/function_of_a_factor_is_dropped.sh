#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a function that the body of a matmul applies to a factor is not computed where a matrix instruction
#   multiplies: the sum of exp(a) * b becomes that of a * b.
# Version: iree-base-compiler and iree-base-runtime 3.13.0, for gfx942 and sm_80; no GPU is needed to see it.
# Input: A and B of 16x32 f16. The body of a `linalg.generic` takes `math.exp` of A's element, extends both to f32,
#   multiplies and adds. With A = 0 and B = 1 a sum is 32, which is what the CPU backend computes.
# Seen: the code for gfx942 and for sm_80 has matrix instructions and no exponential, so that the sum is 0. Nothing is
#   reported.
# Where: `iree-codegen-gpu-pack-to-intrinsics` puts the instruction in the place of the body, as long as it adds a
#   product, whatever it does to one operand before.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0 iree-base-runtime==3.13.0

cat > exponential.mlir <<'MLIR'
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @main(%a: tensor<16x32xf16>, %b: tensor<16x32xf16>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x16xf32>) -> tensor<16x16xf32>
  %out = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<16x32xf16>, tensor<16x32xf16>) outs(%fill : tensor<16x16xf32>) {
    ^bb0(%x: f16, %y: f16, %sum: f32):
      %exponential = math.exp %x : f16
      %left = arith.extf %exponential : f16 to f32
      %right = arith.extf %y : f16 to f32
      %product = arith.mulf %left, %right : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
  } -> tensor<16x16xf32>
  return %out : tensor<16x16xf32>
}
MLIR
venv/bin/iree-compile exponential.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
  --iree-llvmcpu-target-cpu=generic -o cpu.vmfb
cpu=$(venv/bin/iree-run-module --module=cpu.vmfb --device=local-task --function=main \
  --input=16x32xf16=0 --input=16x32xf16=1 | grep '^16x16xf32=' | sed 's/.*=//' | tr -s '[] ' '\n' | sort -u | xargs)
venv/bin/iree-compile exponential.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 \
  --iree-hal-dump-executable-files-to=gfx942 -o gpu.vmfb
venv/bin/iree-compile exponential.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_80 \
  --iree-hal-dump-executable-files-to=sm_80 -o gpu.vmfb
{
  echo "CPU: $cpu"
  # f16 exponentials are `v_exp_f16` or `v_exp_f32`, and `ex2` or polynomials, which have `fma`.
  echo "gfx942: $(grep -ohE 'v_(mfma|exp|fma_|pk_fma)[a-z0-9_]*' gfx942/*.rocmasm | sort -u | xargs)"
  echo "sm_80: $(grep -ohE '(mma.sync|ex2|fma)[a-z0-9_.]*' sm_80/*.ptx | sort -u | xargs)"
} | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: code without an exponential was seen" >&2; exit 1; }
CPU: 32
gfx942: v_mfma_f32_16x16x16_f16
sm_80: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
EXPECTED
