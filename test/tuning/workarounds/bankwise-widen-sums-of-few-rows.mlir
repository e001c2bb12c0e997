// RUN: bankwise-opt %s --iree-gpu-test-target=gfx950 --pass-pipeline='builtin.module(func.func(bankwise-widen-sums))' --split-input-file --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --iree-gpu-test-target=gfx90a --pass-pipeline='builtin.module(func.func(bankwise-widen-sums))' --split-input-file --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// Columns become rows.

// CHECK-LABEL: func.func @few_rows
// CHECK:       linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME:    ins(%arg1, %arg0 : tensor<128x64xf16>, tensor<8x128xf16>)
// CHECK:       linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME:    ins(%arg1, %arg0 : tensor<128x64xf16>, tensor<8x128xf16>)
func.func @few_rows(%a: tensor<8x128xf16>, %b: tensor<128x64xf16>, %c: tensor<8x64xf16>) -> (tensor<8x64xf16>, tensor<8x64xf16>) {
  // expected-remark @+1 {{summed in f32}}
  %r = linalg.matmul ins(%a, %b : tensor<8x128xf16>, tensor<128x64xf16>) outs(%c : tensor<8x64xf16>) -> tensor<8x64xf16>
  // expected-remark @+1 {{summed in f32}}
  %s = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<8x128xf16>, tensor<128x64xf16>) outs(%c : tensor<8x64xf16>) {
  ^bb0(%x: f16, %y: f16, %t: f16):
    %p = arith.mulf %x, %y : f16
    %q = arith.addf %t, %p : f16
    linalg.yield %q : f16
  } -> tensor<8x64xf16>
  return %r, %s : tensor<8x64xf16>, tensor<8x64xf16>
}

// -----

// CHECK-LABEL: func.func @few_rows_and_columns
// CHECK:       linalg.batch_matmul
func.func @few_rows_and_columns(%a: tensor<2x1x128xbf16>, %b: tensor<2x128x8xbf16>, %c: tensor<2x1x8xbf16>) -> tensor<2x1x8xbf16> {
  // expected-remark @+1 {{its sum keeps its type: IREE chooses no matrix instruction for so few rows and columns}}
  %r = linalg.batch_matmul ins(%a, %b : tensor<2x1x128xbf16>, tensor<2x128x8xbf16>) outs(%c : tensor<2x1x8xbf16>) -> tensor<2x1x8xbf16>
  return %r : tensor<2x1x8xbf16>
}

// -----

// Nine rows, sums of other lengths, and four rows of many columns are as on other GPUs.

// CHECK-LABEL: func.func @others
// CHECK:         ins(%arg0, %arg1 : tensor<9x128xf16>, tensor<128x64xf16>)
// CHECK:         ins(%arg2, %arg3 : tensor<8x96xf16>, tensor<96x64xf16>)
// CHECK:         ins(%arg4, %arg5 : tensor<4x128xf16>, tensor<128x100xf16>)
func.func @others(%a: tensor<9x128xf16>, %b: tensor<128x64xf16>, %c: tensor<8x96xf16>, %d: tensor<96x64xf16>, %e: tensor<4x128xf16>, %f: tensor<128x100xf16>, %i: tensor<9x64xf16>, %j: tensor<8x64xf16>, %k: tensor<4x100xf16>) -> (tensor<9x64xf16>, tensor<8x64xf16>, tensor<4x100xf16>) {
  // expected-remark @+1 {{summed in f32}}
  %o = linalg.matmul ins(%a, %b : tensor<9x128xf16>, tensor<128x64xf16>) outs(%i : tensor<9x64xf16>) -> tensor<9x64xf16>
  // expected-remark @+1 {{summed in f32}}
  %p = linalg.matmul ins(%c, %d : tensor<8x96xf16>, tensor<96x64xf16>) outs(%j : tensor<8x64xf16>) -> tensor<8x64xf16>
  // expected-remark @+1 {{summed in f32}}
  %q = linalg.matmul ins(%e, %f : tensor<4x128xf16>, tensor<128x100xf16>) outs(%k : tensor<4x100xf16>) -> tensor<4x100xf16>
  return %o, %p, %q : tensor<9x64xf16>, tensor<8x64xf16>, tensor<4x100xf16>
}
