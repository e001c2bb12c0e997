// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-keep-equal-order))' | FileCheck %s

// CHECK-LABEL: func.func @with_places
// CHECK:       ^bb0(%[[A:.+]]: f32, %[[B:.+]]: f32, %[[P:.+]]: i32, %[[Q:.+]]: i32):
// CHECK:         %[[N:.+]] = arith.negf %[[A]]
// CHECK:         %[[BEFORE:.+]] = arith.cmpf olt, %[[N]], %[[B]]
// CHECK:         %[[M:.+]] = arith.negf %[[B]]
// CHECK:         %[[BEHIND:.+]] = arith.cmpf olt, %[[M]], %[[A]]
// CHECK:         %[[NOT:.+]] = arith.xori %[[BEHIND]], %true
// CHECK:         %[[STAY:.+]] = arith.ori %[[BEFORE]], %[[NOT]]
// CHECK:         iree_linalg_ext.yield %[[STAY]]
func.func @with_places(%x: tensor<2x4xf32>, %p: tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xi32>) {
  %0:2 = iree_linalg_ext.sort dimension(1) outs(%x, %p : tensor<2x4xf32>, tensor<2x4xi32>) {
  ^bb0(%a: f32, %b: f32, %c: i32, %d: i32):
    %n = arith.negf %a : f32
    %before = arith.cmpf olt, %n, %b : f32
    iree_linalg_ext.yield %before : i1
  } -> tensor<2x4xf32>, tensor<2x4xi32>
  return %0#0, %0#1 : tensor<2x4xf32>, tensor<2x4xi32>
}

// Equal integers are the same.
// CHECK-LABEL: func.func @integers
// CHECK-NOT:     arith.ori
func.func @integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = iree_linalg_ext.sort dimension(0) outs(%x : tensor<4xi32>) {
  ^bb0(%a: i32, %b: i32):
    %before = arith.cmpi slt, %a, %b : i32
    iree_linalg_ext.yield %before : i1
  } -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
