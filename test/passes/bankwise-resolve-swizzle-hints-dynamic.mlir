// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-resolve-swizzle-hints,canonicalize,cse))' --mlir-print-local-scope --verify-diagnostics | FileCheck %s

// Lengths and offsets that are not static.

// CHECK-LABEL: func.func @length_known_before_a_cast
//       CHECK:   memref.load %{{.+}}[%c64]
func.func @length_known_before_a_cast() -> f32 {
  %alloc = memref.alloc() : memref<4096xf32>
  %c68 = arith.constant 68 : index
  %cast = memref.cast %alloc : memref<4096xf32> to memref<?xf32>
  %0 = iree_codegen.swizzle_hint %cast[#iree_codegen.xor_shuffle<64, 4>] : memref<?xf32>
  %1 = memref.load %0[%c68] : memref<?xf32>
  return %1 : f32
}

// -----

// Whole rows, however many.
// CHECK-LABEL: func.func @whole_rows
//       CHECK:   memref.load %{{.+}}[%c64]
func.func @whole_rows(%n: index) -> f32 {
  %rows = affine.apply affine_map<()[s0] -> (s0 * 64)>()[%n]
  %alloc = memref.alloc(%rows) : memref<?xf32>
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<?xf32>
  %1 = memref.load %0[%c68] : memref<?xf32>
  return %1 : f32
}

// -----

// The part may end inside a row, but that row is in the allocation, and nothing else is done to it.
// CHECK-LABEL: func.func @part_of_whole_rows
//       CHECK:   memref.load %{{.+}}[%c64]
func.func @part_of_whole_rows(%n: index) -> f32 {
  %alloc = memref.alloc() : memref<4096xf32>
  %c68 = arith.constant 68 : index
  %part = memref.subview %alloc[1024] [%n] [1] : memref<4096xf32> to memref<?xf32, strided<[1], offset: 1024>>
  %0 = iree_codegen.swizzle_hint %part[#iree_codegen.xor_shuffle<64, 4>] : memref<?xf32, strided<[1], offset: 1024>>
  %1 = memref.load %0[%c68] : memref<?xf32, strided<[1], offset: 1024>>
  return %1 : f32
}

// -----

// What lies behind the part is used as well, and could lie in a row with its end.
// CHECK-LABEL: func.func @part_beside_others
//       CHECK:   memref.load %{{.+}}[%c68]
func.func @part_beside_others(%n: index, %v: f32) -> f32 {
  // expected-warning @+1 {{dynamic size: it is not known that rows of 64 elements fill the buffer}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c68 = arith.constant 68 : index
  memref.store %v, %alloc[%n] : memref<4096xf32>
  %part = memref.subview %alloc[0] [%n] [1] : memref<4096xf32> to memref<?xf32, strided<[1]>>
  %0 = iree_codegen.swizzle_hint %part[#iree_codegen.xor_shuffle<64, 4>] : memref<?xf32, strided<[1]>>
  memref.store %v, %0[%c68] : memref<?xf32, strided<[1]>>
  %1 = memref.load %0[%c68] : memref<?xf32, strided<[1]>>
  return %1 : f32
}

// -----

// Where the offset begins in a group is asked at run time.
// CHECK-LABEL: func.func @unknown_offset
//  CHECK-SAME:   (%[[O:.+]]: index, %{{.+}}: vector<4xf16>)
//       CHECK:   %[[IN:.+]] = arith.andi %[[O]], %c3
//       CHECK:   %[[IS:.+]] = arith.cmpi eq, %[[IN]], %c0
//       CHECK:   %[[V:.+]] = scf.if %[[IS]] -> (vector<4xf16>) {
//       CHECK:     vector.load %{{.+}}[%{{.+}}] alignment = 8 {{.*}}vector<4xf16>
//       CHECK:   } else {
//  CHECK-COUNT-4:   vector.load %{{.+}}[%{{.+}}] : {{.*}}vector<1xf16>
//       CHECK:   }
//       CHECK:   scf.if %[[IS]] {
//       CHECK:     vector.store %{{.+}}, %{{.+}}[%{{.+}}] alignment = 8 {{.*}}vector<4xf16>
//       CHECK:   } else {
//  CHECK-COUNT-4:   vector.store %{{.+}}[%{{.+}}] : {{.*}}vector<1xf16>
//       CHECK:   return %[[V]]
func.func @unknown_offset(%o: index, %v: vector<4xf16>) -> vector<4xf16> {
  %alloc = memref.alloc() : memref<4096xf16, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf16, #gpu.address_space<workgroup>>
  %1 = vector.load %0[%o] : memref<4096xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  gpu.barrier
  vector.store %v, %0[%o] : memref<4096xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  return %1 : vector<4xf16>
}

// -----

// There is no access to half a byte.
func.func @unknown_offset_of_nibbles(%o: index) -> vector<8xi4> {
  // expected-warning @+1 {{its offset is not known, and its elements are no whole bytes, to be accessed one by one}}
  %alloc = memref.alloc() : memref<4096xi4>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 8>] : memref<4096xi4>
  %1 = vector.load %0[%o] : memref<4096xi4>, vector<8xi4>
  return %1 : vector<8xi4>
}
