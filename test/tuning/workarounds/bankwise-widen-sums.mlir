// RUN: bankwise-opt %s --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-widen-sums))' --split-input-file --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// The sum begins with zeros, and is rounded once.

// CHECK-LABEL: func.func @zeros
// CHECK:       %[[Z:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<32x64xf32>)
// CHECK:       %[[S:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME:    ins(%arg0, %arg1 : tensor<32x16xbf16>, tensor<16x64xbf16>) outs(%[[Z]] : tensor<32x64xf32>)
// CHECK-NEXT:  ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: bf16, %[[T:.*]]: f32):
// CHECK-DAG:     %[[X:.*]] = arith.extf %[[A]]
// CHECK-DAG:     %[[Y:.*]] = arith.extf %[[B]]
// CHECK:         %[[P:.*]] = arith.mulf %[[X]], %[[Y]]
// CHECK:         arith.addf %[[T]], %[[P]]
// CHECK:       %[[R:.*]] = linalg.generic
// CHECK-SAME:    ins(%[[S]] : tensor<32x64xf32>) outs(%{{.*}} : tensor<32x64xbf16>)
// CHECK:         arith.truncf %{{.*}} : f32 to bf16
// CHECK:       return %[[R]]
func.func @zeros(%a: tensor<32x16xbf16>, %b: tensor<16x64xbf16>) -> tensor<32x64xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<32x64xbf16>
  %z = linalg.fill ins(%zero : bf16) outs(%e : tensor<32x64xbf16>) -> tensor<32x64xbf16>
  // expected-remark @+1 {{summed in f32, and rounded at the end}}
  %r = linalg.matmul ins(%a, %b : tensor<32x16xbf16>, tensor<16x64xbf16>) outs(%z : tensor<32x64xbf16>) -> tensor<32x64xbf16>
  return %r : tensor<32x64xbf16>
}

// -----

// What it is added to is widened, and B is transposed.

// CHECK-LABEL: func.func @added
// CHECK:       %[[Z:.*]] = linalg.generic
// CHECK-SAME:    ins(%arg2 : tensor<2x32x64xf16>) outs(%{{.*}} : tensor<2x32x64xf32>)
// CHECK:         arith.extf
// CHECK:       linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
// CHECK-SAME:    outs(%[[Z]] :
func.func @added(%a: tensor<2x32x16xf16>, %b: tensor<2x64x16xf16>, %c: tensor<2x32x64xf16>) -> tensor<2x32x64xf16> {
  // expected-remark @+1 {{summed in f32}}
  %r = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%a, %b : tensor<2x32x16xf16>, tensor<2x64x16xf16>) outs(%c : tensor<2x32x64xf16>) -> tensor<2x32x64xf16>
  return %r : tensor<2x32x64xf16>
}

// -----

// CHECK-LABEL: func.func @dynamic
// CHECK:       linalg.matmul
func.func @dynamic(%a: tensor<?x16xf16>, %b: tensor<16x64xf16>, %c: tensor<?x64xf16>) -> tensor<?x64xf16> {
  // expected-remark @+1 {{its sum keeps its type: its sizes are not all known}}
  %r = linalg.matmul ins(%a, %b : tensor<?x16xf16>, tensor<16x64xf16>) outs(%c : tensor<?x64xf16>) -> tensor<?x64xf16>
  return %r : tensor<?x64xf16>
}

// -----

// Wide sums, and those of integers, stay.

// CHECK-LABEL: func.func @wide
// CHECK:       linalg.matmul
// CHECK:       linalg.matmul
func.func @wide(%a: tensor<32x16xf16>, %b: tensor<16x64xf16>, %c: tensor<32x64xf32>, %i: tensor<32x16xi8>, %j: tensor<16x64xi8>, %k: tensor<32x64xi32>) -> (tensor<32x64xf32>, tensor<32x64xi32>) {
  %r = linalg.matmul ins(%a, %b : tensor<32x16xf16>, tensor<16x64xf16>) outs(%c : tensor<32x64xf32>) -> tensor<32x64xf32>
  %s = linalg.matmul ins(%i, %j : tensor<32x16xi8>, tensor<16x64xi8>) outs(%k : tensor<32x64xi32>) -> tensor<32x64xi32>
  return %r, %s : tensor<32x64xf32>, tensor<32x64xi32>
}

// -----

// A `linalg.generic` that adds products of its factors is such a sum, whatever indexes them.

// CHECK-LABEL: func.func @generic
// CHECK:       linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0 + d2, d3)>
// CHECK-SAME:    outs(%{{.*}} : tensor<8x16xf32>)
// CHECK:         arith.truncf %{{.*}} : f32 to f16
func.func @generic(%a: tensor<10x4xf16>, %b: tensor<3x4x16xf16>, %c: tensor<8x16xf16>) -> tensor<8x16xf16> {
  // expected-remark @+1 {{summed in f32}}
  %r = linalg.generic {indexing_maps = [affine_map<(w, f, x, c) -> (w + x, c)>, affine_map<(w, f, x, c) -> (x, c, f)>, affine_map<(w, f, x, c) -> (w, f)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<10x4xf16>, tensor<3x4x16xf16>) outs(%c : tensor<8x16xf16>) {
  ^bb0(%x: f16, %y: f16, %s: f16):
    %p = arith.mulf %x, %y : f16
    %q = arith.addf %s, %p : f16
    linalg.yield %q : f16
  } -> tensor<8x16xf16>
  return %r : tensor<8x16xf16>
}

// -----

// What rounds each product keeps its type.

// CHECK-LABEL: func.func @rounding
// CHECK-NOT:   tensor<8x16xf32>
// CHECK:       return
func.func @rounding(%a: tensor<8x4xf16>, %b: tensor<4x16xf16>, %c: tensor<8x16xf16>) -> tensor<8x16xf16> {
  %r = linalg.generic {indexing_maps = [affine_map<(w, f, c) -> (w, c)>, affine_map<(w, f, c) -> (c, f)>, affine_map<(w, f, c) -> (w, f)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<8x4xf16>, tensor<4x16xf16>) outs(%c : tensor<8x16xf16>) {
  ^bb0(%x: f16, %y: f16, %s: f16):
    %l = arith.extf %x : f16 to f32
    %k = arith.extf %y : f16 to f32
    %w = arith.mulf %l, %k : f32
    %p = arith.truncf %w : f32 to f16
    %q = arith.addf %s, %p : f16
    linalg.yield %q : f16
  } -> tensor<8x16xf16>
  return %r : tensor<8x16xf16>
}
