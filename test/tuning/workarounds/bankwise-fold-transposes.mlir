// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-fold-transposes))' --mlir-print-local-scope | FileCheck %s

// Dimension 1 of the part is dimension 2 of what was transposed, which loop 2 reads.

// CHECK-LABEL: func.func @residual(
// CHECK-SAME:    %[[PRODUCT:.+]]: tensor<2x4x3xf32>, %[[PART:.+]]: tensor<2x3x4xf16>

// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK-SAME:      ins(%[[PRODUCT]], %[[PART]] :
func.func @residual(%product: tensor<2x4x3xf32>, %part: tensor<2x3x4xf16>, %out: tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {
  %e = tensor.empty() : tensor<2x4x3xf16>
  %t = linalg.transpose ins(%part : tensor<2x3x4xf16>) outs(%e : tensor<2x4x3xf16>) permutation = [0, 2, 1]
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%product, %t : tensor<2x4x3xf32>, tensor<2x4x3xf16>) outs(%out : tensor<2x4x3xf32>) {
  ^bb0(%x: f32, %y: f16, %z: f32):
    %0 = arith.extf %y : f16 to f32
    %1 = arith.addf %x, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x4x3xf32>
  return %r : tensor<2x4x3xf32>
}

// The permutation is no inverse of itself, and the loops of the operation are another order again.

// CHECK-LABEL: func.func @cycle(
// CHECK:         affine_map<(d0, d1, d2) -> (d1, d0, d2)>
func.func @cycle(%part: tensor<2x3x4xf32>, %out: tensor<3x2x4xf32>) -> tensor<3x2x4xf32> {
  %e = tensor.empty() : tensor<4x2x3xf32>
  %t = linalg.transpose ins(%part : tensor<2x3x4xf32>) outs(%e : tensor<4x2x3xf32>) permutation = [2, 0, 1]
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, j, i)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%t : tensor<4x2x3xf32>) outs(%out : tensor<3x2x4xf32>) {
  ^bb0(%x: f32, %z: f32):
    %1 = arith.negf %x : f32
    linalg.yield %1 : f32
  } -> tensor<3x2x4xf32>
  return %r : tensor<3x2x4xf32>
}

// What is written to is the result's, and a reduction is no epilogue.

// CHECK-LABEL: func.func @others(
// CHECK-COUNT-2: linalg.transpose
func.func @others(%part: tensor<3x4xf32>, %sums: tensor<4xf32>) -> (tensor<4x3xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4x3xf32>
  %e2 = tensor.empty() : tensor<4x3xf32>
  %t = linalg.transpose ins(%part : tensor<3x4xf32>) outs(%e : tensor<4x3xf32>) permutation = [1, 0]
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%sums : tensor<4xf32>) outs(%t : tensor<4x3xf32>) {
  ^bb0(%x: f32, %z: f32):
    %1 = arith.addf %x, %z : f32
    linalg.yield %1 : f32
  } -> tensor<4x3xf32>
  %u = linalg.transpose ins(%part : tensor<3x4xf32>) outs(%e2 : tensor<4x3xf32>) permutation = [1, 0]
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%u : tensor<4x3xf32>) outs(%sums : tensor<4xf32>) {
  ^bb0(%x: f32, %z: f32):
    %1 = arith.addf %x, %z : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %r, %s : tensor<4x3xf32>, tensor<4xf32>
}
