// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-order-contractions{by-lanes=true}))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// Reads come right before the first multiplication that needs them. The sum keeps its order, and a read stays behind
// the store before it. A multiplication of scalars is none of matrices.

// CHECK-LABEL: func.func @reads
//       CHECK:   vector.store
//  CHECK-NEXT:   %[[A0:.+]] = vector.load %arg0[%arg1]
//  CHECK-NEXT:   %[[S0:.+]] = math.fma %[[A0]], %[[A0]], %arg3
//  CHECK-NEXT:   %[[A1:.+]] = vector.load %arg0[%arg2]
//  CHECK-NEXT:   %[[S1:.+]] = math.fma %[[A1]], %[[A0]], %[[S0]]
//  CHECK-NEXT:   math.fma %arg4, %arg4, %arg4 : f32
//  CHECK-NEXT:   return %[[S1]]
func.func @reads(%m: memref<512xf32, #gpu.address_space<workgroup>>, %i: index, %j: index, %c: vector<4xf32>, %x: f32) -> (vector<4xf32>, f32) {
  vector.store %c, %m[%i] : memref<512xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  %y = math.fma %x, %x, %x : f32
  %a1 = vector.load %m[%j] : memref<512xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  %a0 = vector.load %m[%i] : memref<512xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  // expected-remark @+1 {{2 products come in the order of their operands}}
  %s0 = math.fma %a0, %a0, %c : vector<4xf32>
  %s1 = math.fma %a1, %a0, %s0 : vector<4xf32>
  return %s1, %y : vector<4xf32>, f32
}
