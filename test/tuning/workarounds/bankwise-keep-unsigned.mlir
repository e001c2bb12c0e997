// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-keep-unsigned))' --verify-diagnostics --bankwise-remarks | FileCheck %s

// CHECK-LABEL: func.func @bytes
//       CHECK: %[[X:.*]] = stablehlo.convert
//       CHECK: %[[MAX:.*]] = stablehlo.maximum %[[X]], %[[X]] : tensor<4x8xf32>
//       CHECK: stablehlo.dot %[[MAX]], %{{.*}} : (tensor<4x8xf32>, tensor<8x4xf32>)
func.func @bytes(%a: tensor<4x8xui8>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %x = stablehlo.convert %a : (tensor<4x8xui8>) -> tensor<4x8xf32>
  // expected-remark @below {{factor 0 is widened by zeros}}
  %r = stablehlo.dot %x, %b : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// A boolean is 1 where it is true. It is converted in two steps here, and moved between them.
// CHECK-LABEL: func.func @booleans
//       CHECK: %[[X:.*]] = stablehlo.convert {{.*}} -> tensor<?x8xf32>
//       CHECK: %[[MAX:.*]] = stablehlo.maximum %[[X]], %[[X]] : tensor<?x8xf32>
//       CHECK: stablehlo.dot_general %{{.*}}, %[[MAX]], contracting_dims
func.func @booleans(%a: tensor<4x8xf32>, %b: tensor<8x?xi1>) -> tensor<4x?xf32> {
  %w = stablehlo.convert %b : (tensor<8x?xi1>) -> tensor<8x?xi16>
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<8x?xi16>) -> tensor<?x8xi16>
  %x = stablehlo.convert %t : (tensor<?x8xi16>) -> tensor<?x8xf32>
  // expected-remark @below {{factor 1 is widened by zeros}}
  %r = stablehlo.dot_general %a, %x, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<?x8xf32>) -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// The product itself widens its factors.
// CHECK-LABEL: func.func @wide_result
//   CHECK-DAG: stablehlo.convert %arg0 : (tensor<4x8xui8>) -> tensor<4x8xui32>
//   CHECK-DAG: stablehlo.convert %arg1 : (tensor<8x4xui8>) -> tensor<8x4xui32>
//       CHECK: stablehlo.dot {{.*}} : (tensor<4x8xui32>, tensor<8x4xui32>) -> tensor<4x4xui32>
func.func @wide_result(%a: tensor<4x8xui8>, %b: tensor<8x4xui8>) -> tensor<4x4xui32> {
  // expected-remark @+2 {{factor 0 is widened by zeros}}
  // expected-remark @below {{factor 1 is widened by zeros}}
  %r = stablehlo.dot %a, %b : (tensor<4x8xui8>, tensor<8x4xui8>) -> tensor<4x4xui32>
  return %r : tensor<4x4xui32>
}

// Signed factors are widened as they should be, and those of the type of the result are not widened.
// CHECK-LABEL: func.func @kept
//   CHECK-NOT: stablehlo.maximum
//       CHECK: return
func.func @kept(%a: tensor<4x8xi8>, %b: tensor<8x4xf32>, %c: tensor<4x8xui8>, %d: tensor<8x4xui8>) -> (tensor<4x4xf32>, tensor<4x4xui8>) {
  %x = stablehlo.convert %a : (tensor<4x8xi8>) -> tensor<4x8xf32>
  %r = stablehlo.dot %x, %b : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %s = stablehlo.dot %c, %d : (tensor<4x8xui8>, tensor<8x4xui8>) -> tensor<4x4xui8>
  return %r, %s : tensor<4x4xf32>, tensor<4x4xui8>
}
