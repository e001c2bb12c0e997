// RUN: bankwise-opt %s --iree-gpu-test-target=gfx90a --pass-pipeline='builtin.module(func.func(bankwise-widen-sums))' --split-input-file --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-widen-sums))' --split-input-file --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --iree-gpu-test-target=gfx950 --pass-pipeline='builtin.module(func.func(bankwise-widen-sums))' --split-input-file --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// A window that slides over 8 places keeps its type where 128 divides what is summed: with sums in f32, IREE gives it a
// matrix instruction, and cannot lower it.

// CHECK-LABEL: func.func @places
// CHECK-NOT:   xf32>
// CHECK:       return
func.func @places(%a: tensor<2x6x128xf16>, %b: tensor<3x128x16xf16>, %c: tensor<2x4x16xf16>) -> tensor<2x4x16xf16> {
  // expected-remark @+1 {{its sum keeps its type: IREE chooses no matrix instruction for so few rows and columns}}
  %r = linalg.generic {indexing_maps = [affine_map<(n, w, f, x, c) -> (n, w + x, c)>, affine_map<(n, w, f, x, c) -> (x, c, f)>, affine_map<(n, w, f, x, c) -> (n, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<2x6x128xf16>, tensor<3x128x16xf16>) outs(%c : tensor<2x4x16xf16>) {
  ^bb0(%x: f16, %y: f16, %t: f16):
    %u = arith.mulf %x, %y : f16
    %v = arith.addf %t, %u : f16
    linalg.yield %v : f16
  } -> tensor<2x4x16xf16>
  return %r : tensor<2x4x16xf16>
}

// -----

// One over 9 places does not, nor one that sums another number.

// CHECK-LABEL: func.func @more
// CHECK:       outs(%{{.*}} : tensor<1x9x16xf32>)
// CHECK:       outs(%{{.*}} : tensor<1x8x16xf32>)
func.func @more(%a: tensor<1x11x128xf16>, %b: tensor<3x128x16xf16>, %c: tensor<1x9x16xf16>, %d: tensor<1x10x96xf16>, %e: tensor<3x96x16xf16>, %f: tensor<1x8x16xf16>) -> (tensor<1x9x16xf16>, tensor<1x8x16xf16>) {
  // expected-remark @+1 {{summed in f32}}
  %r = linalg.generic {indexing_maps = [affine_map<(n, w, f, x, c) -> (n, w + x, c)>, affine_map<(n, w, f, x, c) -> (x, c, f)>, affine_map<(n, w, f, x, c) -> (n, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<1x11x128xf16>, tensor<3x128x16xf16>) outs(%c : tensor<1x9x16xf16>) {
  ^bb0(%x: f16, %y: f16, %t: f16):
    %u = arith.mulf %x, %y : f16
    %v = arith.addf %t, %u : f16
    linalg.yield %v : f16
  } -> tensor<1x9x16xf16>
  // expected-remark @+1 {{summed in f32}}
  %s = linalg.generic {indexing_maps = [affine_map<(n, w, f, x, c) -> (n, w + x, c)>, affine_map<(n, w, f, x, c) -> (x, c, f)>, affine_map<(n, w, f, x, c) -> (n, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%d, %e : tensor<1x10x96xf16>, tensor<3x96x16xf16>) outs(%f : tensor<1x8x16xf16>) {
  ^bb0(%x: f16, %y: f16, %t: f16):
    %u = arith.mulf %x, %y : f16
    %v = arith.addf %t, %u : f16
    linalg.yield %v : f16
  } -> tensor<1x8x16xf16>
  return %r, %s : tensor<1x9x16xf16>, tensor<1x8x16xf16>
}
