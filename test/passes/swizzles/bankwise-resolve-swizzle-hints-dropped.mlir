// RUN: bankwise-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(bankwise-resolve-swizzle-hints))' --bankwise-remarks --verify-diagnostics -o /dev/null
// RUN: bankwise-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(bankwise-resolve-swizzle-hints))' --mlir-print-local-scope 2>/dev/null | FileCheck %s

// No hint survives, and every layout is the plain one.

// CHECK-NOT: swizzle_hint
// CHECK-NOT: arith.xori

// expected-warning @+1 {{layout affine_map<(d0) -> (d0 mod 7)> is not strided}}
func.func @layout_map(%a: memref<4096xf32, affine_map<(d0) -> (d0 mod 7)>>) -> f32 {
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32, affine_map<(d0) -> (d0 mod 7)>>
  %1 = memref.load %0[%c0] : memref<4096xf32, affine_map<(d0) -> (d0 mod 7)>>
  return %1 : f32
}

// CHECK-LABEL: func.func @returned
//       CHECK:   %[[A:.+]] = memref.alloc
//       CHECK:   %[[V:.+]] = vector.load %[[A]][%c68]
//       CHECK:   return %[[A]], %[[V]]
func.func @returned() -> (memref<4096xf32>, vector<4xf32>) {
  // expected-warning @+1 {{unsupported user func.return}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = vector.load %0[%c68] : memref<4096xf32>, vector<4xf32>
  return %0, %1 : memref<4096xf32>, vector<4xf32>
}

// A tensor that was never bufferized.
// CHECK-LABEL: func.func @tensor
//       CHECK:   tensor.extract %arg0
// expected-warning @+1 {{tensor<4096xf32> is not a memref}}
func.func @tensor(%t: tensor<4096xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %h = iree_codegen.swizzle_hint %t[#iree_codegen.xor_shuffle<64, 4>] : tensor<4096xf32>
  %1 = tensor.extract %h[%c0] : tensor<4096xf32>
  return %1 : f32
}

// Two allocations: only the one with the bad access loses its hint.
// CHECK-LABEL: func.func @one_of_two
//       CHECK:   memref.load %alloc[%c68]
//       CHECK:   memref.load %alloc_0[%c64]
func.func @one_of_two(%o: index) -> (f32, f32, vector<2xf32>) {
  // expected-warning @+1 {{its offset is not known}}
  %alloc = memref.alloc() : memref<4096xf32>
  // expected-remark @+1 {{swizzle hints of memref<2048xf32> resolved (xor_shuffle<64, 4, 64, 1>): 1 accesses swizzled, 0 of them split}}
  %alloc2 = memref.alloc() : memref<2048xf32>
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = iree_codegen.swizzle_hint %alloc2[#iree_codegen.xor_shuffle<64, 4>] : memref<2048xf32>
  %2 = memref.load %0[%c68] : memref<4096xf32>
  %3 = memref.load %1[%c68] : memref<2048xf32>
  %4 = vector.load %0[%o] : memref<4096xf32>, vector<2xf32>
  return %2, %3, %4 : f32, f32, vector<2xf32>
}
